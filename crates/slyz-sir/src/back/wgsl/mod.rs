//! WGSL as the standard has it, a [`Dialect`] of the C-like writer: text that people read and browsers accept.
//!
//! | SIR | in registers | in a buffer |
//! |---|---|---|
//! | `i8 i16`, `u8 u16` | `i32`, `u32`, kept in range after every operator | packed into words of 32 bits |
//! | `bool` | `bool` | a byte of a word |
//! | `f16 bf16` | `f32`, rounded after every operator | packed |
//! | `i64`, as a position | `i32` or `u32` | – |
//! | `i64 u64 f64`, as data | with the extensions that naga has for them | the same |
//!
//! Writes to packed elements are atomic on their words: threads that share a word do not disturb each other.
//!
//! A file has one kernel. Group 0 binds its buffers by the numbers of the [`Description`], and behind them one uniform struct of 4-byte fields
//! (8 bytes where an extension is used): the description's uniforms in order.

mod cells;
mod layout;

use super::EmitError;
use super::clike::{self, Cell, Declared, Description, Dialect, Helpers, PlaceName, Step, Uniform};
use super::tree::{Infix, Prefix, Tree};
use super::words;
use crate::choices::Precision;
use crate::code::{AtomicOp, Scope, SubgroupOp};
use crate::expand;
use crate::kernel::{Kernel, Memory, Space};
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::program::Program;
use crate::ranges::Facts;
use crate::types::{Scalar, Ty, int_range};

/// What a browser has: blocks, memory and storage buffers by WebGPU's default limits, and positions of 32 bits. Threads take one element
/// each, as people write it.
pub const MACHINE: Machine = Machine { max_positions: 1 << 30, vector_bytes: 0, ..Machine::webgpu() };

/// Words of the language, its functions, and names that files have.
const RESERVED: &str = include_str!("words.txt");

/// Is it a word of the language?
fn is_word(name: &str) -> bool {
    RESERVED.split_whitespace().any(|word| word == name)
}

/// What the language calls an operator, if it has it: names of several words are written as one.
fn own_name(operator: Operator) -> String {
    let words = match operator {
        Operator::Rsqrt => "inverse_sqrt",
        Operator::Popcount => "count_one_bits",
        Operator::LeadingZeros => "count_leading_zeros",
        Operator::TrailingZeros => "count_trailing_zeros",
        other => other.row().c,
    };
    let mut parts = words.split('_');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..]));
    std::iter::once(first.to_string()).chain(rest).collect()
}

/// The dialect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wgsl {
    /// How close results are to the table.
    pub precision: Precision,
    /// 64-bit integers, which the standard does not have.
    pub int64: bool,
    /// `f64`, which the standard does not have.
    pub float64: bool,
}

/// The file of a kernel, and what a launch of it needs to know.
///
/// ```
/// use slyz_sir::{back::wgsl::{self, Wgsl}, choices::Precision, text::parse_kernel};
/// let kernel = parse_kernel("kernel neg<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {
///   global read input: f32[n]  global write output: f32[n]
///   %i: i64 = global.x  %n: i64 = extent n  %inside: bool = lt %i, %n
///   if %inside { %x: f32 = load input[%i]  %y: f32 = neg %x  store output[%i], %y } else {}
/// }")?;
/// let (text, _) = wgsl::emit(&kernel, &Wgsl { precision: Precision::Native, ..Wgsl::default() })?;
/// assert!(text.contains("    if thread.x < sizes.n {\n        output[thread.x] = -input[thread.x];"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit(kernel: &Kernel, dialect: &Wgsl) -> Result<(String, Description), EmitError> {
    let words = expand::float_atomics(kernel);
    let kernel = words.as_ref().unwrap_or(kernel);
    layout::check(kernel)?;
    let (text, mut descriptions) = clike::emit(dialect, &[kernel])?;
    let Some(description) = descriptions.pop() else {
        return Err(EmitError::Form { kernel: kernel.name.clone(), what: "no description".to_string() });
    };
    Ok((format!("{}{text}", layout::heading(&description)), description))
}

/// In words of 32 bits where nothing else is said.
fn is_packed(ty: Ty) -> bool {
    matches!(ty, Ty::Bool | Ty::I8 | Ty::U8 | Ty::I16 | Ty::U16 | Ty::F16 | Ty::BF16)
}

fn call(function: &str, args: impl IntoIterator<Item = Tree>) -> Tree {
    Tree::call(function, args)
}

fn word(number: u32) -> Tree {
    Tree::literal(Scalar::from_int(Ty::U32, number.into()), false, format!("{number}u"))
}

impl Wgsl {
    /// An error where a program works on integers that the file would hold in 32 bits, and that may need more.
    pub fn check_program(&self, program: &Program) -> Result<(), EmitError> {
        self.checked(&program.name, || words::wide_in_program(program, MACHINE.max_positions))
    }

    /// The same for a kernel that somebody wrote.
    pub fn check_kernel(&self, kernel: &Kernel) -> Result<(), EmitError> {
        let places =
            MACHINE.max_blocks.into_iter().zip(kernel.block).map(|(blocks, threads)| blocks * u64::from(threads));
        let places = places.max().unwrap_or(1);
        let facts = Facts::with_axes(kernel, MACHINE.max_positions);
        let facts = facts.with_extents(MACHINE.max_positions).with_places(places);
        self.checked(&kernel.name, || words::wide_in_kernel(kernel, &facts, MACHINE.max_positions))
    }

    fn checked(&self, name: &str, wide: impl FnOnce() -> Option<String>) -> Result<(), EmitError> {
        let found = if self.int64 { None } else { wide() };
        let error = |what: String| EmitError::Extension {
            kernel: name.to_string(),
            language: self.language(),
            what: format!("64-bit integers ({what})"),
            extension: "int64",
        };
        found.map_or(Ok(()), |what| Err(error(what)))
    }

    /// In the type that operators of a narrow type are computed in.
    fn computed(&self, from: Ty, to: Ty, x: Tree) -> Tree {
        let name = |ty: Ty| self.scalar(ty).unwrap_or("");
        if name(from) == name(to) { x } else { call(name(to), [x]) }
    }

    fn is_nan(&self, ty: Ty, helpers: &Helpers) -> String {
        if ty == Ty::F64 {
            return helpers.add("is_nan_f64", || "fn is_nan_f64(x: f64) -> bool {\n    return x != x;\n}\n".into());
        }
        helpers.add("is_nan_f32", || {
            "fn is_nan_f32(x: f32) -> bool {\n    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;\n}\n".into()
        })
    }

    fn round_bf16(&self, helpers: &Helpers) -> String {
        let is_nan = self.is_nan(Ty::F32, helpers);
        helpers.add("round_bf16", || {
            format!(
                "fn round_bf16(x: f32) -> f32 {{
    let bits = bitcast<u32>(x);
    let nearest = (bits + 0x7fffu + ((bits >> 16u) & 1u)) & 0xffff0000u;
    return bitcast<f32>(select(nearest, bits | 0x400000u, {is_nan}(x)));
}}
"
            )
        })
    }

    /// A helper for a builtin that has another form.
    fn remainder(&self, ty: Ty, helpers: &Helpers) -> String {
        let t = self.scalar(ty).unwrap_or("f32");
        let name = format!("rem_{ty}");
        helpers.add(&name, || format!("fn {name}(a: {t}, b: {t}) -> {t} {{\n    return a % b;\n}}\n"))
    }
}

impl Dialect for Wgsl {
    fn language(&self) -> &'static str {
        "WGSL"
    }

    fn nests(&self, memory: &Memory) -> bool {
        layout::nests(memory)
    }

    fn head(&self) -> &'static str {
        ""
    }

    fn scalar(&self, ty: Ty) -> Option<&'static str> {
        Some(match ty {
            Ty::Bool => "bool",
            Ty::I8 | Ty::I16 | Ty::I32 => "i32",
            Ty::U8 | Ty::U16 | Ty::U32 => "u32",
            Ty::F16 | Ty::BF16 | Ty::F32 => "f32",
            Ty::I64 if self.int64 => "i64",
            Ty::U64 if self.int64 => "u64",
            Ty::F64 if self.float64 => "f64",
            Ty::I64 | Ty::U64 | Ty::F64 => return None,
        })
    }

    fn remedy(&self, ty: Ty) -> &'static str {
        match ty {
            Ty::F64 => {
                "use f32, ask for the extension float64, which Vulkan devices have and browsers have not, or build for the target c"
            }
            _ => {
                "use i32 or u32, ask for the extension int64, which Vulkan devices have and browsers have not, or build for the targets c or metal"
            }
        }
    }

    fn literal(&self, value: Scalar, negative: bool, digits: &str) -> Tree {
        let suffix = match value.ty {
            Ty::U8 | Ty::U16 | Ty::U32 => "u",
            Ty::I64 => "li",
            Ty::U64 => "lu",
            Ty::F64 => "lf",
            _ => "",
        };
        Tree::literal(value, negative, format!("{digits}{suffix}"))
    }

    /// There is no literal, and no constant expression may have such a value: a variable hides the bits.
    fn special(&self, value: Scalar, helpers: &Helpers) -> Tree {
        let x = value.as_f64();
        let (name, bits) = if x.is_nan() { ("nan_f32", "0x7fc00000u") } else { ("infinity_f32", "0x7f800000u") };
        helpers.add(name, || {
            format!(
                "var<private> {name}_bits: u32 = {bits};\n\nfn {name}() -> f32 {{\n    return bitcast<f32>({name}_bits);\n}}\n"
            )
        });
        let number = self.computed(Ty::F32, value.ty, call(name, []));
        if x < 0.0 { Tree::prefix(Prefix::Minus, number) } else { number }
    }

    fn positions(&self) -> Ty {
        if self.int64 { Ty::I64 } else { Ty::I32 }
    }

    fn converts(&self) -> bool {
        false
    }

    fn wraps(&self) -> bool {
        true
    }

    fn divides(&self) -> bool {
        true
    }

    fn promoted(&self, ty: Ty) -> Ty {
        if ty.is_signed() { Ty::I32 } else { Ty::U32 }
    }

    fn rounds(&self, ty: Ty) -> bool {
        matches!(ty, Ty::F16 | Ty::BF16)
    }

    fn shift_amount(&self) -> Ty {
        Ty::U32
    }

    fn cast(&self, from: Ty, to: Ty, x: Tree, helpers: &Helpers) -> Tree {
        let value = self.computed(from, to, x);
        let fits = || {
            let whole = |ty: Ty| if ty == Ty::Bool { (0, 1) } else { int_range(ty) };
            let (low, high) = whole(from);
            let (least, most) = whole(to);
            least <= low && high <= most
        };
        match to {
            Ty::F16 if from != Ty::F16 => call("quantizeToF16", [value]),
            Ty::BF16 if from != Ty::BF16 => call(&self.round_bf16(helpers), [value]),
            Ty::I8 | Ty::I16 if !fits() => call("extractBits", [value, word(0), word(to.bits())]),
            Ty::U8 | Ty::U16 if !fits() => Tree::infix(Infix::And, value, word((1 << to.bits()) - 1)),
            _ => value,
        }
    }

    fn choice(&self, condition: Tree, a: Tree, b: Tree) -> Tree {
        call("select", [b, a, condition])
    }

    fn bits(&self, from: Ty, to: Ty, x: Tree) -> Tree {
        let name = self.scalar(to).unwrap_or("u32");
        let signed = |x: Tree| match to {
            Ty::I16 => call("extractBits", [call("bitcast<i32>", [x]), word(0), word(16)]),
            _ => x,
        };
        let zero = || Tree::literal(Scalar::f32(0.0), false, "0.0");
        match (from, to) {
            (Ty::F16, _) => signed(call("pack2x16float", [call("vec2<f32>", [x, zero()])])),
            (Ty::BF16, _) => signed(Tree::infix(Infix::Shr, call("bitcast<u32>", [x]), word(16))),
            (_, Ty::F16) => Tree::member(call("unpack2x16float", [self.computed(from, Ty::U32, x)]), "x"),
            (_, Ty::BF16) => {
                let high = Tree::infix(Infix::Shl, self.computed(from, Ty::U32, x), word(16));
                call("bitcast<f32>", [high])
            }
            _ => call(&format!("bitcast<{name}>"), [x]),
        }
    }

    fn space(&self, _: Space) -> &'static str {
        ""
    }

    fn function_head(&self, name: &str, parameters: &[(String, String)], result: &str) -> String {
        let parameters: Vec<String> = parameters.iter().map(|(ty, name)| format!("{name}: {ty}")).collect();
        format!("fn {name}({}) -> {result}", parameters.join(", "))
    }

    fn procedure_head(&self, name: &str, parameters: &[(String, String)]) -> String {
        let parameters: Vec<String> = parameters.iter().map(|(ty, name)| format!("{name}: {ty}")).collect();
        format!("fn {name}({})", parameters.join(", "))
    }

    fn passes_memories(&self) -> bool {
        false
    }

    fn declare(&self, declared: Declared, ty: &str, name: &str, value: Option<&Tree>) -> String {
        match (declared, value) {
            (_, None) => format!("var {name}: {ty};"),
            (Declared::Once, Some(value)) => format!("let {name} = {value};"),
            (Declared::Changing, Some(value)) => format!("var {name} = {value};"),
        }
    }

    fn local_array(&self, ty: &str, name: &str, elements: Option<u64>) -> String {
        match elements {
            Some(elements) => format!("var {name}: array<{ty}, {elements}>;"),
            None => format!("var {name}: {ty};"),
        }
    }

    fn if_head(&self, condition: &Tree) -> String {
        format!("if {condition}")
    }

    fn while_head(&self, condition: Option<&Tree>) -> String {
        condition.map_or("loop".to_string(), |condition| format!("while {condition}"))
    }

    fn for_head(&self, [_, name]: [&str; 2], first: &Tree, compared: &Tree, step: Step<'_>) -> String {
        let next = step.text(name, &format!("{name}++"));
        format!("for (var {name} = {first}; {compared}; {next})")
    }

    fn goes_without_braces(&self) -> bool {
        false
    }

    fn unused(&self, call: &Tree) -> String {
        let stands = call.function().is_some_and(|name| name.starts_with("atomic") && name != "atomicLoad");
        if stands { format!("{call};") } else { format!("_ = {call};") }
    }

    fn record(&self, name: &str, fields: &[(String, String)]) -> String {
        layout::record(name, fields)
    }

    fn record_value(&self, name: &str, values: &[String]) -> String {
        format!("{name}({})", values.join(", "))
    }

    fn signature(&self, description: &Description) -> String {
        layout::signature(self, description)
    }

    fn uniform(&self, uniform: &Uniform) -> Tree {
        layout::field(uniform)
    }

    fn read(&self, cell: &Cell, element: Tree, helpers: &Helpers) -> Tree {
        cells::read(self, cell, element, helpers)
    }

    fn read_together(&self, cell: &Cell, element: &Tree) -> Option<Tree> {
        let pointer = || Tree::prefix(Prefix::Address, element.clone());
        (!cell.atomic).then(|| call("workgroupUniformLoad", [pointer()]))
    }

    fn write(&self, cell: &Cell, element: Tree, value: Tree, helpers: &Helpers) -> String {
        cells::write(self, cell, element, value, helpers)
    }

    fn place(&self, place: PlaceName, dimension: u8, _: usize) -> Tree {
        layout::place(place, dimension)
    }

    fn barrier(&self, _: Scope, global: bool) -> Vec<String> {
        let barriers = ["storageBarrier();", "workgroupBarrier();"];
        barriers[usize::from(!global)..].iter().map(|barrier| barrier.to_string()).collect()
    }

    fn fence(&self, _: Scope) -> String {
        "storageBarrier();".to_string()
    }

    /// At `Native` the language's own functions are right by definition; otherwise only those that round correctly are.
    fn lacks(&self, operator: Operator, ty: Ty) -> bool {
        let missing = !is_word(&own_name(operator)) && operator != Operator::Rem || ty == Ty::F64;
        let precise = self.precision != Precision::Native && !matches!(operator, Operator::Fma | Operator::Rsqrt);
        (missing || precise) && expand::operator(operator, ty).is_some()
    }

    fn wide_bits(&self, operator: Operator, helpers: &Helpers) -> (String, Ty) {
        let name = format!("{}_u64", operator.name());
        let f = own_name(operator);
        let value = match operator {
            Operator::LeadingZeros => format!("u64(select(32u + {f}(low), {f}(high), high != 0u))"),
            Operator::TrailingZeros => format!("u64(select(32u + {f}(high), {f}(low), low != 0u))"),
            operator if operator.counts_bits() => format!("u64({f}(low) + {f}(high))"),
            _ => format!("(u64({f}(low)) << 32u) | u64({f}(high))"),
        };
        let halves = "    let low = u32(x);\n    let high = u32(x >> 32u);\n";
        helpers.add(&name, || format!("fn {name}(x: u64) -> u64 {{\n{halves}    return {value};\n}}\n"));
        (name, Ty::U64)
    }

    fn divide(&self, operator: Operator, _: Ty, _: &Helpers) -> String {
        operator.name().to_string()
    }

    fn extreme(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        if self.precision == Precision::Native || !ty.is_float() {
            return operator.name().to_string();
        }
        let is_nan = self.is_nan(ty, helpers);
        let t = self.scalar(ty).unwrap_or("f32");
        let sign = if operator == Operator::Min { "<" } else { ">" };
        let name = format!("{}_{ty}", operator.name());
        helpers.add(&name, || {
            format!("fn {name}(a: {t}, b: {t}) -> {t} {{\n    return select(b, a, a {sign} b || {is_nan}(b));\n}}\n")
        })
    }

    /// Conversions of the language saturate; what they make of a NaN is the device's.
    fn to_int(&self, from: Ty, to: Ty, helpers: &Helpers) -> String {
        let t = self.scalar(to).unwrap_or("i32");
        let narrow = to.bits() < 32;
        if self.precision == Precision::Native && !narrow {
            return t.to_string();
        }
        let f = self.scalar(from).unwrap_or("f32");
        let name = if from == Ty::F32 { format!("to_{to}") } else { format!("{from}_to_{to}") };
        let (low, high) = int_range(to);
        let x = if narrow { format!("clamp(x, {low}.0, {high}.0)") } else { "x".to_string() };
        let zero = if to.is_signed() { "0" } else { "0u" };
        let value = match self.precision {
            Precision::Native => format!("{t}({x})"),
            // The language stops at the largest number that is a float, too.
            _ if !narrow => {
                let suffix = if to.is_signed() { "" } else { "u" };
                let most = format!("select({t}(x), {high}{suffix}, x >= {}.0)", high + 1);
                format!("select({most}, {zero}, {}(x))", self.is_nan(from, helpers))
            }
            _ => format!("select({t}({x}), {zero}, {}(x))", self.is_nan(from, helpers)),
        };
        helpers.add(&name, || format!("fn {name}(x: {f}) -> {t} {{\n    return {value};\n}}\n"))
    }

    fn absolute(&self, _: Ty, _: &Helpers) -> String {
        "abs".to_string()
    }

    fn sign(&self, ty: Ty, helpers: &Helpers) -> String {
        if ty.is_float() && self.precision != Precision::Native {
            let t = self.scalar(ty).unwrap_or("f32");
            let name = format!("sign_{ty}");
            let value = "select(select(x, -1.0, x < 0.0), 1.0, x > 0.0)";
            return helpers.add(&name, || format!("fn {name}(x: {t}) -> {t} {{\n    return {value};\n}}\n"));
        }
        if ty.is_float() || ty.is_signed() {
            return "sign".to_string();
        }
        helpers.add("sign_u32", || "fn sign_u32(x: u32) -> u32 {\n    return min(x, 1u);\n}\n".to_string())
    }

    fn dot4(&self, helpers: &Helpers) -> String {
        // The language multiplies bytes that both have a sign: those of `a` are moved below, and what is missing is added.
        helpers.add("dot4", || {
            "fn dot4(a: i32, b: i32, c: i32) -> i32 {\n    \
             let signed = bitcast<u32>(b);\n    \
             return c + dot4I8Packed(bitcast<u32>(a) ^ 0x80808080u, signed) + 128 * dot4I8Packed(0x01010101u, signed);\n}\n"
                .to_string()
        })
    }

    fn function(&self, operator: Operator, ty: Ty, helpers: &Helpers) -> String {
        match operator {
            Operator::IsNan => self.is_nan(ty, helpers),
            Operator::IsFinite => helpers.add("is_finite_f32", || {
                "fn is_finite_f32(x: f32) -> bool {\n    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;\n}\n"
                    .to_string()
            }),
            Operator::Rem => self.remainder(ty, helpers),
            other => own_name(other),
        }
    }

    fn has_atomic(&self, op: AtomicOp, ty: Ty) -> bool {
        use Operator::{Add, And, Max, Min, Or, Sub, Xor};
        let known = match op {
            AtomicOp::Update(operator) => matches!(operator, Add | Sub | Min | Max | And | Or | Xor),
            _ => true,
        };
        known && matches!(ty, Ty::I32 | Ty::U32)
    }

    fn atomic(&self, name: &str, _: Space, _: Ty, element: Tree, value: Option<Tree>) -> Tree {
        let function = match name {
            "fetch_add" => "atomicAdd",
            "fetch_sub" => "atomicSub",
            "fetch_min" => "atomicMin",
            "fetch_max" => "atomicMax",
            "fetch_and" => "atomicAnd",
            "fetch_or" => "atomicOr",
            "fetch_xor" => "atomicXor",
            "load" => "atomicLoad",
            _ => "atomicExchange",
        };
        call(function, [Tree::prefix(Prefix::Address, element)].into_iter().chain(value))
    }

    fn compare_exchange(&self, _: Space, ty: Ty, element: Tree, args: [Tree; 2], helpers: &Helpers) -> Tree {
        cells::compare_exchange(self, ty, element, args, helpers)
    }

    fn subgroup(&self, op: SubgroupOp, ty: Ty, args: &[Tree]) -> Option<Tree> {
        let name = function_of_subgroup(op)?;
        let plain = matches!(ty, Ty::I32 | Ty::U32 | Ty::F32) || matches!(op, SubgroupOp::Any | SubgroupOp::All);
        match ty {
            _ if plain => Some(call(name, args.iter().cloned())),
            Ty::Bool if !matches!(op, SubgroupOp::Reduce(_) | SubgroupOp::Scan(_)) => {
                let number = call("u32", [args[0].clone()]);
                let moved = call(name, [number].into_iter().chain(args[1..].iter().cloned()));
                Some(Tree::infix(Infix::Ne, moved, word(0)))
            }
            _ => None,
        }
    }

    fn lane_number(&self) -> Ty {
        Ty::U32
    }

    fn active_lanes(&self) -> &'static str {
        ""
    }

    fn lanes_below(&self) -> &'static str {
        ""
    }

    fn walks_lanes(&self) -> bool {
        false
    }

    fn is_place(&self, name: &str) -> bool {
        layout::is_place(name)
    }

    fn is_reserved(&self, name: &str) -> bool {
        is_word(name) || name.starts_with("__")
    }

    fn counts_threads(&self) -> bool {
        false
    }

    fn machine(&self) -> Machine {
        MACHINE
    }

    fn max_buffers(&self) -> usize {
        64
    }
}

fn function_of_subgroup(op: SubgroupOp) -> Option<&'static str> {
    Some(match op {
        SubgroupOp::Any => "subgroupAny",
        SubgroupOp::All => "subgroupAll",
        SubgroupOp::Reduce(Operator::Add) => "subgroupAdd",
        SubgroupOp::Reduce(Operator::Mul) => "subgroupMul",
        SubgroupOp::Reduce(Operator::Min) => "subgroupMin",
        SubgroupOp::Reduce(Operator::Max) => "subgroupMax",
        SubgroupOp::Reduce(Operator::And) => "subgroupAnd",
        SubgroupOp::Reduce(Operator::Or) => "subgroupOr",
        SubgroupOp::Reduce(Operator::Xor) => "subgroupXor",
        SubgroupOp::Scan(Operator::Add) => "subgroupInclusiveAdd",
        SubgroupOp::Scan(Operator::Mul) => "subgroupInclusiveMul",
        SubgroupOp::Reduce(_) | SubgroupOp::Scan(_) | SubgroupOp::Ballot => return None,
        SubgroupOp::Shuffle => "subgroupShuffle",
        SubgroupOp::ShuffleXor => "subgroupShuffleXor",
        SubgroupOp::ShuffleUp => "subgroupShuffleUp",
        SubgroupOp::ShuffleDown => "subgroupShuffleDown",
        SubgroupOp::Broadcast => "subgroupBroadcastFirst",
    })
}
