//! Small functions that a file carries where a plain spelling of an operator would mean something else.
//!
//! Each is written once per file, before what uses it, and only when something does. The meanings are those of the
//! operator table; what is plain in every C-like language is not here.

use super::expr::literal;
use super::{Description, Dialect};
use crate::back::tree::{Prefix, Tree};
use crate::ops::Operator;
use crate::types::{Scalar, Ty, int_range};
use std::cell::RefCell;

/// The functions of a file, in the order they must stand.
///
/// Whoever spells an expression may add one.
#[derive(Default)]
pub struct Helpers {
    list: RefCell<Vec<(String, String)>>,
}

impl Helpers {
    /// Adds a function unless it is there, and gives its name.
    pub fn add(&self, name: &str, text: impl FnOnce() -> String) -> String {
        if !self.list.borrow().iter().any(|(known, _)| known == name) {
            let text = text();
            self.list.borrow_mut().push((name.to_string(), text));
        }
        name.to_string()
    }

    pub(super) fn texts(&self) -> Vec<String> {
        self.list.borrow().iter().map(|(_, text)| text.clone()).collect()
    }
}

/// A number as C writes it, with what the language puts behind integers of 64 bits, signed and not.
pub fn number(value: Scalar, negative: bool, digits: &str, [signed, unsigned]: [&str; 2]) -> Tree {
    let suffix = match value.ty {
        Ty::F32 | Ty::BF16 | Ty::F16 => "f",
        Ty::U32 => "u",
        Ty::I64 => signed,
        Ty::U64 => unsigned,
        _ => "",
    };
    Tree::literal(value, negative, format!("{digits}{suffix}"))
}

/// An infinity or NaN, given the language's expressions of the two, in single and in double precision.
pub fn beyond_numbers(value: Scalar, [infinity, nan]: [[&'static str; 2]; 2]) -> Tree {
    let x = value.as_f64();
    let spelled = if x.is_nan() { nan } else { infinity };
    let number = Tree::name(spelled[usize::from(value.ty == Ty::F64)]);
    if x < 0.0 { Tree::prefix(Prefix::Minus, number) } else { number }
}

/// The parameters of a kernel: its buffers behind what the language says of pointers, and its uniforms.
pub fn parameters(
    d: &Description,
    pointer: impl Fn(&str, &str) -> String,
    stored: impl Fn(Ty) -> &'static str,
) -> String {
    let buffers = d.buffers.iter().map(|buffer| {
        let access = if buffer.written { "" } else { "const " };
        pointer(&format!("{access}{}", stored(buffer.ty)), &buffer.name)
    });
    let uniforms = d.uniforms.iter().map(|uniform| format!("{} {}", stored(uniform.ty), uniform.name));
    buffers.chain(uniforms).collect::<Vec<String>>().join(",\n    ")
}

/// An element of floats as a word of a type: `*(unsigned*)&x[i]`.
pub fn as_word(ty: &str, element: Tree) -> Tree {
    Tree::prefix(Prefix::Deref, Tree::cast(format!("{ty}*"), Tree::prefix(Prefix::Address, element)))
}

/// The name of a type that the language has; whoever asks has looked.
fn name_of(dialect: &dyn Dialect, ty: Ty) -> &'static str {
    dialect.scalar(ty).unwrap_or("void")
}

fn int(dialect: &dyn Dialect, ty: Ty, value: i128, helpers: &Helpers) -> Tree {
    literal(dialect, Scalar::from_int(ty, value), helpers)
}

/// Integer division and remainder, total.
pub fn divide(dialect: &dyn Dialect, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
    let name = format!("{}_{ty}", operator.name());
    let t = name_of(dialect, ty);
    let inline = dialect.inline();
    let [zero, minus_one] = [0, -1].map(|n| int(dialect, ty, n, helpers));
    let (sign, by_zero) = if operator == Operator::Div { ("/", Tree::name("a")) } else { ("%", zero.clone()) };
    // The smallest number by -1 does not fit: it stays itself, and leaves nothing.
    let by_minus_one = match (operator, ty.is_signed()) {
        (_, false) => String::new(),
        (Operator::Div, true) => {
            let u = name_of(dialect, unsigned(ty));
            format!("    if (b == {minus_one}) return ({t})(0 - ({u})a);\n")
        }
        (_, true) => format!("    if (b == {minus_one}) return {zero};\n"),
    };
    helpers.add(&name, || {
        format!(
            "{inline} {t} {name}({t} a, {t} b) {{\n{by_minus_one}    return b == {zero} ? {by_zero} : ({t})(a {sign} b);\n}}\n"
        )
    })
}

/// `c` and the sum of four products of bytes: those of `a` without a sign, those of `b` with one.
pub fn dot4(dialect: &dyn Dialect, helpers: &Helpers) -> String {
    let [int, word] = [Ty::I32, Ty::U32].map(|ty| name_of(dialect, ty));
    let inline = dialect.inline();
    let byte = |shift: u32| {
        let a = format!("({int})(({word})a >> {shift} & 0xffu)");
        let b = format!("(({int})(({word})b << {}) >> 24)", 24 - shift);
        format!("{a} * {b}")
    };
    let sum = [0, 8, 16, 24].map(byte).join("\n        + ");
    helpers.add("dot4", || {
        format!(
            "{inline} {int} dot4({int} a, {int} b, {int} c) {{\n    return ({int})(({word})c + ({word})({sum}));\n}}\n"
        )
    })
}

/// The unsigned type of that width.
pub(super) fn unsigned(ty: Ty) -> Ty {
    match ty {
        Ty::I8 => Ty::U8,
        Ty::I16 => Ty::U16,
        Ty::I32 => Ty::U32,
        Ty::I64 => Ty::U64,
        other => other,
    }
}

/// The smaller or larger: a NaN loses, and of two zeros the second wins; 64-bit integers have no function everywhere.
pub fn extreme(dialect: &dyn Dialect, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
    let name = format!("{}_{ty}", operator.name());
    let t = name_of(dialect, ty);
    let inline = dialect.inline();
    let sign = if operator == Operator::Min { "<" } else { ">" };
    let nan = if ty.is_float() {
        format!(" || {}(b)", dialect.function(Operator::IsNan, ty, helpers))
    } else {
        String::new()
    };
    helpers.add(&name, || format!("{inline} {t} {name}({t} a, {t} b) {{ return a {sign} b{nan} ? a : b; }}\n"))
}

/// A float of single or double precision as an integer: saturating, 0 for NaN.
pub fn to_int(dialect: &dyn Dialect, from: Ty, to: Ty, helpers: &Helpers) -> String {
    let name = if from == Ty::F32 { format!("to_{to}") } else { format!("{from}_to_{to}") };
    let (low, high) = int_range(to);
    let t = name_of(dialect, to);
    let f = name_of(dialect, from);
    let inline = dialect.inline();
    let is_nan = dialect.function(Operator::IsNan, from, helpers);
    // The smallest number of the type is a power of two or zero, and so is the first one past it: both are exact.
    let exact = |n: i128| {
        let value = Scalar::from_f64(from, n as f64);
        dialect.literal(value, n < 0, &format!("{}.0", n.unsigned_abs()))
    };
    let bottom = exact(low);
    let top = exact(high + 1);
    let least = int(dialect, to, low, helpers);
    let most = int(dialect, to, high, helpers);
    helpers.add(&name, || {
        format!(
            "{inline} {t} {name}({f} x) {{\n    if ({is_nan}(x)) return 0;\n    if (x <= {bottom}) return {least};\n    \
             if (x >= {top}) return {most};\n    return ({t})x;\n}}\n"
        )
    })
}

/// The size of a signed integer; that of the smallest is itself.
pub fn absolute(dialect: &dyn Dialect, ty: Ty, helpers: &Helpers) -> String {
    let t = name_of(dialect, ty);
    let u = name_of(dialect, unsigned(ty));
    let inline = dialect.inline();
    let name = format!("abs_{ty}");
    helpers.add(&name, || format!("{inline} {t} {name}({t} x) {{ return x < 0 ? ({t})(0 - ({u})x) : x; }}\n"))
}

/// -1, 0 or 1; a zero or NaN is itself.
pub fn sign(dialect: &dyn Dialect, ty: Ty, helpers: &Helpers) -> String {
    let t = name_of(dialect, ty);
    let inline = dialect.inline();
    let name = format!("sign_{ty}");
    let (one, rest) = match ty.is_float() {
        true => (literal(dialect, Scalar::from_f64(ty, 1.0), helpers), "x"),
        false => (Tree::int(1), "0"),
    };
    let below = if ty.is_signed() || ty.is_float() { format!("x < 0 ? -{one} : ") } else { String::new() };
    helpers.add(&name, || format!("{inline} {t} {name}({t} x) {{ return x > 0 ? {one} : {below}{rest}; }}\n"))
}

/// Bits of 64-bit integers, by halves.
pub fn wide_bits(dialect: &dyn Dialect, operator: Operator, helpers: &Helpers) -> (String, Ty) {
    let u64 = name_of(dialect, Ty::U64);
    let u32 = name_of(dialect, Ty::U32);
    let inline = dialect.inline();
    let name = format!("{}_u64", operator.name());
    let f = dialect.function(operator, Ty::U32, helpers);
    let halves = format!("{u32} low = ({u32})x, high = ({u32})(x >> 32);");
    let value = match operator {
        Operator::LeadingZeros => format!("high != 0 ? {f}(high) : 32 + {f}(low)"),
        Operator::TrailingZeros => format!("low != 0 ? {f}(low) : 32 + {f}(high)"),
        operator if operator.counts_bits() => format!("{f}(low) + {f}(high)"),
        _ => format!("({u64}){f}(low) << 32 | {f}(high)"),
    };
    helpers.add(&name, || format!("{inline} {u64} {name}({u64} x) {{\n    {halves}\n    return {value};\n}}\n"));
    (name, Ty::U64)
}
