//! Operators and conversions as C expressions.
//!
//! Everything here is a function of values; nothing is written out. Spellings come from the operator table: an infix
//! symbol where C means the same as we do, otherwise the prelude's function `name_type`, or `s_name_type` on scalars.

use super::value::{Bind, Expr, Form, Lane, Value, is_number, scalar_type};
use crate::ops::{Operator, Signature};
use crate::ranges::low::is_closed;
use crate::ranges::{Range, counts_width};
use crate::types::{Scalar, Ty};

/// A constant.
pub(super) fn constant(value: Scalar) -> Value {
    let text = match value.ty {
        Ty::Bool => (value.bits != 0).to_string().replace("true", "1").replace("false", "0"),
        Ty::F16 | Ty::BF16 | Ty::F32 => float_text(value.as_f64() as f32 as f64, "f"),
        Ty::F64 => float_text(value.as_f64(), ""),
        Ty::I64 if value.as_int() == i64::MIN as i128 => "(-9223372036854775807LL - 1)".into(),
        Ty::I64 if value.as_int().abs() > i32::MAX as i128 => format!("{}LL", value.as_int()),
        Ty::U64 => format!("{}ULL", value.as_int()),
        Ty::U32 => format!("{}u", value.as_int()),
        Ty::I32 if value.as_int() == i32::MIN as i128 => "(-2147483647 - 1)".into(),
        _ => value.as_int().to_string(),
    };
    let bind = if text.starts_with('-') { Bind::Unary } else { Bind::Atom };
    let range = (value.ty == Ty::I64).then(|| (value.as_int(), value.as_int()));
    Value::uniform(value.ty, Expr::new(text, bind)).within(range)
}

fn float_text(x: f64, suffix: &str) -> String {
    if x.is_nan() {
        return format!("__builtin_nan{suffix}(\"\")");
    }
    if x.is_infinite() {
        return format!("{}__builtin_inf{suffix}()", if x < 0.0 { "-" } else { "" });
    }
    let text = if suffix == "f" { format!("{:?}", x as f32) } else { format!("{x:?}") };
    format!("{text}{suffix}")
}

/// The value as a vector of that lane type.
pub(super) fn spread(value: &Value, lane: Lane) -> Expr {
    match &value.form {
        Form::Uniform(e) if lane == Lane::Mask => Expr::call("all_i32", &[format!("-{}", e.under(Bind::Unary))]),
        Form::Uniform(e) if lane == Lane::I32 && value.ty == Ty::I64 && !is_number(&e.text) => {
            Expr::call("all_i32", &[format!("(i32){}", e.under(Bind::Unary))])
        }
        Form::Uniform(e) => Expr::call(&format!("all_{}", lane.name()), std::slice::from_ref(&e.text)),
        Form::Affine(base) if lane == Lane::I32 => {
            Expr::new(format!("iota_i32() + (i32){}", base.under(Bind::Atom)), Bind::Sum)
        }
        Form::Affine(base) => Expr::new(format!("iota_i64() + {}", base.right_of(Bind::Sum)), Bind::Sum),
        Form::Clamped(base, low, high) => {
            let moving = Value { form: Form::Affine(base.clone()), ..value.clone() };
            let bounds = [low, high].map(|e| spread(&Value::uniform(Ty::I64, e.clone()), lane).text);
            let args = [&[spread(&moving, lane).text], &bounds[..]].concat();
            Expr::call(&format!("clamp_{}", lane.name()), &args)
        }
        Form::Vector(own, e) if *own == lane => e.clone(),
        Form::Vector(own, e) => {
            Expr::call(&format!("cast_{}_{}", own.name(), lane.name()), std::slice::from_ref(&e.text))
        }
    }
}

/// As an operand of an infix operator: a scalar may stand beside a vector as it is.
fn operand(value: &Value, lane: Lane) -> Expr {
    match &value.form {
        Form::Uniform(e) if lane != Lane::Mask && (value.ty != Ty::I64 || lane == Lane::I64) => {
            // The scalar must have the lane's type, or C would convert the wrong side.
            if scalar_type(value.ty) == lane.scalar() && is_typed(&e.text, lane) {
                e.clone()
            } else {
                Expr::new(format!("({}){}", lane.scalar(), e.under(Bind::Unary)), Bind::Unary)
            }
        }
        _ => spread(value, lane),
    }
}

/// Bare integer literals are `int`, which only fits `i32` lanes.
fn is_typed(text: &str, lane: Lane) -> bool {
    let literal = text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
    !literal || lane == Lane::I32
}

fn level(symbol: &str) -> Bind {
    match symbol {
        "*" | "/" => Bind::Product,
        "+" | "-" => Bind::Sum,
        "&" | "|" | "^" => Bind::Bits,
        _ => Bind::Compare,
    }
}

/// Operators whose meaning depends on the width of a narrow type, not only on that of its lanes.
fn knows_width(operator: Operator) -> bool {
    use Operator::{LeadingZeros, Popcount, Shl, Shr, TrailingZeros};
    matches!(operator, Shl | Shr | Popcount | LeadingZeros | TrailingZeros)
}

/// Brings the result of an operator computed in wider lanes back to a narrow type.
fn narrowed(operator: Operator, ty: Ty, expr: Expr) -> Expr {
    use Operator::{Abs, Add, Clamp, Div, Fma, Max, Min, Mul, Neg, Not, Select, Sign, Sub};
    let exact = matches!(operator, Min | Max | Clamp | Select | Sign);
    let overflows = matches!(operator, Add | Sub | Mul | Neg | Not | Abs | Div | Fma);
    let wrap = match ty {
        Ty::F16 | Ty::BF16 => !exact && !matches!(operator, Neg | Abs),
        Ty::I8 | Ty::I16 | Ty::U8 | Ty::U16 => overflows,
        _ => false,
    };
    match (wrap, ty.is_float()) {
        (false, _) => expr,
        (true, true) => Expr::call(&format!("round_{ty}"), &[expr.text]),
        (true, false) => Expr::call(&format!("wrap_{ty}"), &[expr.text]),
    }
}

/// What an `i64` can be, where that is known.
type Known = Option<(i128, i128)>;

/// An operator of the table. `range` is what its result can be; `low` says that nobody asks for more than the low word of it.
pub(super) fn apply(operator: Operator, args: &[&Value], result: Ty, range: Known, low: bool) -> Value {
    let value = if args.iter().all(|a| a.is_uniform()) {
        Value::uniform(result, scalar_apply(operator, args))
    } else if let Some(moved) = moved(operator, args) {
        moved
    } else if let Some(mask) = edge(operator, args) {
        mask
    } else {
        vector_apply(operator, args, result, range, low)
    };
    value.within(range)
}

/// A position moved by the same distance in all lanes stays affine, and one that is clamped is so but for the edges.
fn moved(operator: Operator, args: &[&Value]) -> Option<Value> {
    if let (Operator::Clamp, [Value { form: Form::Affine(base), .. }, low, high]) = (operator, args)
        && args.iter().all(|a| a.is_small())
        && let (Form::Uniform(low), Form::Uniform(high)) = (&low.form, &high.form)
    {
        return Some(Value { ty: Ty::I64, form: Form::Clamped(base.clone(), low.clone(), high.clone()), range: None });
    }
    let (symbol, base, by) = match (operator, &args.first()?.form, args.get(1).map(|a| &a.form)) {
        (Operator::Add, Form::Affine(base), Some(Form::Uniform(by))) => ("+", base, by),
        (Operator::Add, Form::Uniform(by), Some(Form::Affine(base))) => ("+", base, by),
        (Operator::Sub, Form::Affine(base), Some(Form::Uniform(by))) => ("-", base, by),
        _ => return None,
    };
    Some(Value { ty: Ty::I64, form: Form::Affine(Expr::infix(base, symbol, by, Bind::Sum)), range: None })
}

/// Neighbouring positions on one side of an end are the first lanes or the last, which takes no 64-bit lanes to find out.
fn edge(operator: Operator, args: &[&Value]) -> Option<Value> {
    use Operator::{Ge, Gt, Le, Lt};
    let [a, b] = args else { return None };
    if a.is_small() && b.is_small() {
        return None;
    }
    let (operator, base, end) = match (&a.form, &b.form) {
        (Form::Affine(base), Form::Uniform(end)) => (operator, base, end),
        (Form::Uniform(end), Form::Affine(base)) => {
            let turned = match operator {
                Lt => Gt,
                Le => Ge,
                Gt => Lt,
                Ge => Le,
                _ => return None,
            };
            (turned, base, end)
        }
        _ => return None,
    };
    // A position that wraps around in some lane is not next to that before it. The range is that of lanes that are on.
    let moving = if matches!(a.form, Form::Affine(_)) { a } else { b };
    let (first, last) = (i128::from(i64::MIN) + 64, i128::from(i64::MAX) - 64);
    if moving.range.is_none_or(|(low, high)| low < first || high > last) {
        return None;
    }
    let args = [base.text.clone(), end.text.clone()];
    let below = |name: &str| Expr::call(name, &args);
    let above = |name: &str| Expr::new(format!("~{}", below(name).text), Bind::Unary);
    let mask = match operator {
        Lt => below("next_lt"),
        Le => below("next_le"),
        Ge => above("next_lt"),
        Gt => above("next_le"),
        _ => return None,
    };
    Some(Value::vector(Ty::Bool, Lane::Mask, mask))
}

fn known(values: &[&Value]) -> Vec<Range> {
    values.iter().map(|value| value.range.map_or(Range::FULL, |(low, high)| Range::new(low, high))).collect()
}

fn vector_apply(operator: Operator, args: &[&Value], result: Ty, range: Known, low: bool) -> Value {
    let row = operator.row();
    let data = if row.signature == Signature::Select { &args[1..] } else { args };
    let ty = data[0].ty;
    let mut lane = Lane::of(ty);
    let by = data.get(1).and_then(|by| by.range).filter(|(low, high)| low == high && (0..64).contains(low));
    let shifts = by.filter(|_| operator == Operator::Shr).map(|(by, _)| by.min(31));
    let fits = |r: Known| r.is_some_and(|(a, b)| a >= i32::MIN as i128 && b <= i32::MAX as i128);
    let narrow = shifts.is_some() || !counts_width(operator, &known(data));
    if ty == Ty::I64 && data.iter().all(|v| v.is_small()) && (row.signature == Signature::Test || fits(range) && narrow)
    {
        lane = Lane::I32;
    }
    if low && ty == Ty::I64 && is_closed(operator) {
        lane = Lane::I32;
    }
    let result_lane = if result == Ty::Bool { Lane::Mask } else { lane };
    let infix = row.infix.filter(|s| match level(s) {
        Bind::Compare => !lane.is_wide() && lane != Lane::Mask,
        Bind::Bits => true,
        _ => lane != Lane::Mask,
    });
    let expr = match (operator, infix) {
        (_, Some(symbol)) => Expr::infix(&pair(data, lane).0, symbol, &pair(data, lane).1, level(symbol)),
        (Operator::Div, None) if ty == Ty::F32 && is_costly_divisor(data[1]) => {
            Expr::call("div_all_f32", &[spread(data[0], lane).text, scalar_text(data[1]).text])
        }
        (Operator::Div, None) if matches!(lane, Lane::F32 | Lane::F64) => {
            Expr::infix(&pair(data, lane).0, "/", &pair(data, lane).1, Bind::Product)
        }
        (Operator::Neg, None) => Expr::new(format!("-{}", spread(data[0], lane).under(Bind::Atom)), Bind::Unary),
        (Operator::Not, None) => Expr::new(format!("~{}", spread(data[0], lane).under(Bind::Atom)), Bind::Unary),
        (Operator::Fma, None) if !ty.is_float() => {
            let product = Expr::infix(&spread(data[0], lane), "*", &spread(data[1], lane), Bind::Product);
            Expr::infix(&product, "+", &spread(data[2], lane), Bind::Sum)
        }
        (Operator::Select, None) => {
            let mask = spread(args[0], Lane::Mask).text;
            let [a, b] = [data[0], data[1]].map(|v| spread(v, lane).text);
            Expr::call(&format!("select_{}", lane.name()), &[mask, a, b])
        }
        // Past the lanes there is nothing but the sign.
        (Operator::Shr, None) if ty == Ty::I64 && lane == Lane::I32 && shifts.is_some() => {
            let by = shifts.unwrap_or_default();
            Expr::call("shr_i32", &[spread(data[0], lane).text, format!("all_i32({by})")])
        }
        (Operator::Powi, None) => {
            let args = [spread(data[0], lane).text, spread(data[1], Lane::I32).text];
            Expr::call(&format!("powi_{}", lane.name()), &args)
        }
        (_, None) => {
            let suffix = if knows_width(operator) && lane != Lane::I32 || ty != Ty::I64 && knows_width(operator) {
                ty.name()
            } else {
                lane.name()
            };
            let args: Vec<String> = data.iter().map(|v| spread(v, lane).text).collect();
            Expr::call(&format!("{}_{suffix}", row.name), &args)
        }
    };
    let expr = if result == Ty::Bool { expr } else { narrowed(operator, ty, expr) };
    Value::vector(result, result_lane, expr)
}

/// Is the divisor the same in all lanes, and not a power of two, which compilers turn into a product?
fn is_costly_divisor(value: &Value) -> bool {
    let Form::Uniform(e) = &value.form else { return false };
    let literal = e.text.trim_end_matches('f').parse::<f32>();
    literal.map_or(true, |d| d.to_bits() & 0x007f_ffff != 0)
}

/// Two operands of an infix operator, at least one of them a vector.
fn pair(args: &[&Value], lane: Lane) -> (Expr, Expr) {
    (operand(args[0], lane), operand(args[1], lane))
}

fn scalar_text(value: &Value) -> Expr {
    match &value.form {
        Form::Uniform(e) => e.clone(),
        Form::Affine(_) | Form::Clamped(..) | Form::Vector(..) => unreachable!("only uniform values are scalars"),
    }
}

/// Takes lane 0 of what a vector function says about scalars.
fn through_lanes(lane: Lane, expr: Expr) -> Expr {
    let taken = Expr::call(&format!("lane_{}", lane.scalar()), &[expr.text, "0".into()]);
    if lane == Lane::Mask { Expr::new(format!("-{}", taken.text), Bind::Unary) } else { taken }
}

fn scalar_apply(operator: Operator, args: &[&Value]) -> Expr {
    use Operator as O;
    let row = operator.row();
    let data = if row.signature == Signature::Select { &args[1..] } else { args };
    let ty = data[0].ty;
    let mut e: Vec<Expr> = args.iter().map(|a| scalar_text(a)).collect();
    // Two bare literals are `int` to C, and so would be what is made of them.
    let first = args.len() - data.len();
    let bare = ty == Ty::I64 && e[first..].iter().take(2).all(|x| !is_typed(&x.text, Lane::I64));
    if bare && matches!(operator, O::Add | O::Sub | O::Mul | O::Fma | O::Select) {
        e[first] = Expr::new(format!("(i64){}", e[first].under(Bind::Unary)), Bind::Unary);
    }
    let cast = |expr: Expr| match ty {
        Ty::I8 | Ty::I16 | Ty::U8 | Ty::U16 => Expr::new(format!("({ty}){}", expr.under(Bind::Unary)), Bind::Unary),
        Ty::F16 | Ty::BF16 => {
            through_lanes(Lane::F32, Expr::call(&format!("round_{ty}"), &[format!("all_f32({})", expr.text)]))
        }
        _ => expr,
    };
    match operator {
        // gcc makes `-x` of `0.0 - x` where `x` is a converted integer, and a negative zero of 0 then. An argument it leaves alone.
        O::Sub if ty.is_float() && matches!(e[0].text.as_str(), "0.0" | "0.0f") => {
            let suffix = if ty == Ty::F64 { "f64" } else { "f32" };
            cast(Expr::call(&format!("s_sub_{suffix}"), &[e[0].text.clone(), e[1].text.clone()]))
        }
        _ if row.infix.is_some() => {
            let symbol = row.infix.unwrap_or("+");
            let bind = level(symbol);
            let expr = Expr::infix(&e[0], symbol, &e[1], bind);
            if matches!(bind, Bind::Sum | Bind::Product) { cast(expr) } else { expr }
        }
        O::Div if ty.is_float() => cast(Expr::infix(&e[0], "/", &e[1], Bind::Product)),
        O::Neg => cast(Expr::new(format!("-{}", e[0].under(Bind::Atom)), Bind::Unary)),
        O::Not if ty == Ty::Bool => Expr::new(format!("!{}", e[0].under(Bind::Atom)), Bind::Unary),
        O::Not => cast(Expr::new(format!("~{}", e[0].under(Bind::Atom)), Bind::Unary)),
        O::Select => {
            let [c, a, b] = [&e[0], &e[1], &e[2]].map(|x| x.right_of(Bind::Choice));
            Expr::new(format!("{c} ? {a} : {b}"), Bind::Choice)
        }
        O::Fma if !ty.is_float() => {
            cast(Expr::infix(&Expr::infix(&e[0], "*", &e[1], Bind::Product), "+", &e[2], Bind::Sum))
        }
        _ if ty.is_int() || is_cheap_on_scalars(operator) => {
            let suffix = if matches!(ty, Ty::F16 | Ty::BF16) { "f32" } else { ty.name() };
            let texts: Vec<String> = e.iter().map(|x| x.text.clone()).collect();
            let expr = Expr::call(&format!("s_{}_{suffix}", row.name), &texts);
            if ty.is_float() && !matches!(operator, O::IsNan | O::IsFinite) { cast(expr) } else { expr }
        }
        _ => {
            let result = if row.signature == Signature::Test { Ty::Bool } else { ty };
            let spread_args: Vec<Value> =
                data.iter().map(|v| Value::vector(v.ty, Lane::of(v.ty), spread(v, Lane::of(v.ty)))).collect();
            let refs: Vec<&Value> = spread_args.iter().collect();
            let Form::Vector(lane, expr) = vector_apply(operator, &refs, result, None, false).form else {
                unreachable!("an operator on vectors gives a vector")
            };
            through_lanes(lane, expr)
        }
    }
}

/// Float operators that the prelude has a scalar form of.
fn is_cheap_on_scalars(operator: Operator) -> bool {
    use Operator as O;
    matches!(
        operator,
        O::Min
            | O::Max
            | O::Clamp
            | O::Abs
            | O::Sign
            | O::Sqrt
            | O::Floor
            | O::Ceil
            | O::Trunc
            | O::Round
            | O::Fma
            | O::Rem
            | O::IsNan
            | O::IsFinite
            | O::Recip
    )
}

/// A conversion. `range` is what its result can be.
pub(super) fn cast(to: Ty, value: &Value, range: Known) -> Value {
    let from = value.ty;
    if from == to {
        return value.clone();
    }
    match &value.form {
        Form::Uniform(e) => Value::uniform(to, scalar_cast(to, from, e)).within(range),
        Form::Affine(_) | Form::Clamped(..) | Form::Vector(..) => {
            let narrow = value.ty == Ty::I64 && value.is_small();
            let own = match &value.form {
                Form::Vector(lane, _) => *lane,
                _ if narrow => Lane::I32,
                _ => Lane::I64,
            };
            let x = spread(value, own);
            // Small integers become positions without leaving their lanes.
            let stays = to == Ty::I64 && range.is_some_and(|r| r.1 <= i32::MAX as i128);
            let (lane, expr) = match (own, to) {
                (Lane::I32, Ty::I64) => (Lane::I32, x),
                (Lane::U32, Ty::I64) if stays => (Lane::I32, Expr::call("bits_u32_i32", &[x.text])),
                (Lane::Mask, Ty::I64) => (Lane::I32, Expr::infix(&x, "&", &Expr::atom("1"), Bind::Bits)),
                (Lane::I32, Ty::I32) if narrow => (Lane::I32, x),
                (own, to) => (Lane::of(to), Expr::call(&format!("cast_{}_{to}", own.name()), &[x.text])),
            };
            Value::vector(to, lane, expr).within(range)
        }
    }
}

fn scalar_cast(to: Ty, from: Ty, e: &Expr) -> Expr {
    let plain = |ty: &str| Expr::new(format!("({ty}){}", e.under(Bind::Unary)), Bind::Unary);
    match to {
        Ty::Bool => Expr::new(format!("{} != 0", e.right_of(Bind::Compare)), Bind::Compare),
        Ty::F16 | Ty::BF16 => {
            let lane = Lane::of(from);
            let wide = spread(&Value::uniform(from, e.clone()), lane);
            through_lanes(Lane::F32, Expr::call(&format!("cast_{}_{to}", lane.name()), &[wide.text]))
        }
        Ty::F32 if matches!(from, Ty::F16 | Ty::BF16) => e.clone(),
        Ty::F32 | Ty::F64 => plain(to.name()),
        _ if from.is_float() => {
            let from = if from == Ty::F64 { "f64" } else { "f32" };
            Expr::call(&format!("s_cast_{from}_{to}"), std::slice::from_ref(&e.text))
        }
        _ => plain(to.name()),
    }
}

/// The same bits as another type.
pub(super) fn bitcast(to: Ty, value: &Value) -> Value {
    let from = value.ty;
    if from == to {
        return value.clone();
    }
    let lane = Lane::of(from);
    let x = spread(value, lane);
    let expr = Expr::call(&format!("bits_{from}_{to}"), &[x.text]);
    match &value.form {
        Form::Uniform(_) => Value::uniform(to, through_lanes(Lane::of(to), expr)),
        Form::Affine(_) | Form::Clamped(..) | Form::Vector(..) => Value::vector(to, Lane::of(to), expr),
    }
}

/// The linear index of a position, as a uniform start and a moving rest.
///
/// Lanes may wrap on the way: what comes out is inside the memory, so its low 32 bits are enough where memories are small.
pub(super) fn linear(index: &[Value], strides: &[Expr], wide: bool) -> (Option<Expr>, Option<Value>) {
    let mut start: Option<Expr> = None;
    let mut moving: Option<Value> = None;
    let lane = if wide { Lane::I64 } else { Lane::I32 };
    for (value, stride) in index.iter().zip(strides) {
        let scaled = |e: &Expr| {
            if stride.text == "1" { e.clone() } else { Expr::infix(e, "*", stride, Bind::Product) }
        };
        match &value.form {
            Form::Uniform(e) if e.text == "0" => {}
            Form::Uniform(e) => start = Some(start.map_or(scaled(e), |s| Expr::infix(&s, "+", &scaled(e), Bind::Sum))),
            Form::Affine(_) | Form::Clamped(..) if stride.text == "1" && moving.is_none() => {
                moving = Some(value.clone())
            }
            _ => {
                let stride_value = Value::uniform(Ty::I64, stride.clone());
                let mut term = spread(value, lane);
                if stride.text != "1" {
                    term = Expr::infix(&term, "*", &spread(&stride_value, lane), Bind::Product);
                }
                let before = moving.take().map(|m| spread(&m, lane));
                let sum = before.map_or(term.clone(), |b| Expr::infix(&b, "+", &term, Bind::Sum));
                moving = Some(Value::vector(Ty::I64, lane, sum));
            }
        }
    }
    (start, moving)
}
