//! Operators and conversions as C expressions.
//!
//! Everything here is a function of values; nothing is written out. Spellings come from the operator table: an infix
//! symbol where C means the same as we do, otherwise the prelude's function `name_type`, or `s_name_type` on scalars.

use super::value::{Lane, LaneForm, Value, scalar_type};
use crate::back::tree::{Binding, Infix, Prefix, Tree};
use crate::ops::{Operator, Signature};
use crate::ranges::low::is_closed;
use crate::ranges::{Range, counts_width};
use crate::types::{Scalar, Ty};

/// A constant.
pub(super) fn constant(value: Scalar) -> Value {
    let range = (value.ty == Ty::I64).then(|| (value.as_int(), value.as_int()));
    Value::uniform(value.ty, literal(value)).within(range)
}

fn literal(value: Scalar) -> Tree {
    // The digits of the smallest number are past the largest.
    let smallest = |text: &str| Tree::literal(value, false, text);
    match value.ty {
        Ty::F16 | Ty::BF16 | Ty::F32 => float(value, "f"),
        Ty::F64 => float(value, ""),
        Ty::Bool => Tree::literal(value, false, if value.is_true() { "1" } else { "0" }),
        Ty::I64 if value.as_int() == i64::MIN as i128 => smallest("(-9223372036854775807LL - 1)"),
        Ty::I32 if value.as_int() == i32::MIN as i128 => smallest("(-2147483647 - 1)"),
        ty => {
            let number = value.as_int();
            let suffix = match ty {
                Ty::I64 if number.abs() > i32::MAX as i128 => "LL",
                Ty::U64 => "ULL",
                Ty::U32 => "u",
                _ => "",
            };
            Tree::literal(value, number < 0, format!("{}{suffix}", number.unsigned_abs()))
        }
    }
}

fn float(value: Scalar, suffix: &str) -> Tree {
    let x = value.as_f64();
    if x.is_nan() {
        return Tree::literal(value, false, format!("__builtin_nan{suffix}(\"\")"));
    }
    if x.is_infinite() {
        return Tree::literal(value, x < 0.0, format!("__builtin_inf{suffix}()"));
    }
    let size = x.abs();
    let digits = if value.ty == Ty::F64 { format!("{size:?}") } else { format!("{:?}", size as f32) };
    Tree::literal(value, x.is_sign_negative(), format!("{digits}{suffix}"))
}

/// A number of elements.
pub(super) fn count(n: u64) -> Tree {
    Tree::literal(Scalar::from_int(Ty::I64, n.into()), false, n.to_string())
}

/// The value as a vector of that lane type.
pub(super) fn spread(value: &Value, lane: Lane) -> Tree {
    match &value.form {
        LaneForm::Uniform(e) if lane == Lane::Mask => Tree::call("all_i32", [Tree::prefix(Prefix::Minus, e.clone())]),
        LaneForm::Uniform(e) if lane == Lane::WideMask => {
            Tree::call("all_i64", [Tree::prefix(Prefix::Minus, e.clone())])
        }
        LaneForm::Uniform(e) if lane == Lane::I32 && value.ty == Ty::I64 && !is_number(e) => {
            Tree::call("all_i32", [Tree::cast("i32", e.clone())])
        }
        LaneForm::Uniform(e) => Tree::call(format!("all_{}", lane.name()), [e.clone()]),
        LaneForm::Affine(base) if lane == Lane::I32 => {
            Tree::infix(Infix::Add, Tree::call("iota_i32", []), Tree::cast("i32", base.clone()))
        }
        LaneForm::Affine(base) => Tree::infix(Infix::Add, Tree::call("iota_i64", []), base.clone()),
        LaneForm::Clamped(base, low, high) => {
            let moving = Value { form: LaneForm::Affine(base.clone()), ..value.clone() };
            let [low, high] = [low, high].map(|e| spread(&Value::uniform(Ty::I64, e.clone()), lane));
            Tree::call(format!("clamp_{}", lane.name()), [spread(&moving, lane), low, high])
        }
        LaneForm::Vector(own, e) if *own == lane => e.clone(),
        LaneForm::Vector(Lane::WideMask, e) => Tree::call("narrow_mask", [e.clone()]),
        LaneForm::Vector(_, e) if lane == Lane::WideMask => Tree::call("widen_mask", [e.clone()]),
        LaneForm::Vector(own, e) => Tree::call(format!("cast_{}_{}", own.name(), lane.name()), [e.clone()]),
    }
}

/// A literal without a sign.
fn is_number(tree: &Tree) -> bool {
    tree.value().is_some_and(|value| value.as_int() >= 0)
}

/// As an operand of an infix operator: a scalar may stand beside a vector as it is.
fn operand(value: &Value, lane: Lane) -> Tree {
    match &value.form {
        LaneForm::Uniform(e) if value.ty != Ty::Bool && (value.ty != Ty::I64 || lane == Lane::I64) => {
            // The scalar must have the lane's type, or C would convert the wrong side.
            if scalar_type(value.ty) == lane.scalar() && (lane == Lane::I32 || !is_bare(e)) {
                e.clone()
            } else {
                Tree::cast(lane.scalar(), e.clone())
            }
        }
        _ => spread(value, lane),
    }
}

/// A bare integer literal is an `int` to C, which only fits `i32` lanes.
fn is_bare(tree: &Tree) -> bool {
    tree.value().is_some_and(|value| match value.ty {
        Ty::Bool | Ty::I8 | Ty::I16 | Ty::I32 | Ty::U8 | Ty::U16 => true,
        Ty::I64 => value.as_int().abs() <= i32::MAX as i128,
        Ty::U32 | Ty::U64 | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => false,
    })
}

/// The infix operator that the table spells an operator with, where C means the same.
fn spelled(operator: Operator) -> Option<Infix> {
    operator.row().infix.and_then(Infix::spelled)
}

fn is_comparison(infix: Infix) -> bool {
    matches!(infix.binding(), Binding::Relation | Binding::Equality)
}

/// Operators whose meaning depends on the width of a narrow type, not only on that of its lanes.
fn knows_width(operator: Operator) -> bool {
    operator.sees_width() || matches!(operator, Operator::Shl | Operator::Shr)
}

/// Brings the result of an operator computed in wider lanes back to a narrow type.
fn narrowed(operator: Operator, ty: Ty, tree: Tree) -> Tree {
    use Operator::{Abs, Add, Clamp, Div, Fma, Max, Min, Mul, Neg, Not, Select, Sign, Sub};
    let exact = matches!(operator, Min | Max | Clamp | Select | Sign);
    let overflows = matches!(operator, Add | Sub | Mul | Neg | Not | Abs | Div | Fma);
    let wrap = match ty {
        Ty::F16 | Ty::BF16 => !exact && !matches!(operator, Neg | Abs),
        Ty::I8 | Ty::I16 | Ty::U8 | Ty::U16 => overflows,
        _ => false,
    };
    match (wrap, ty.is_float()) {
        (false, _) => tree,
        (true, true) => Tree::call(format!("round_{ty}"), [tree]),
        (true, false) => Tree::call(format!("wrap_{ty}"), [tree]),
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
    if let (Operator::Clamp, [Value { form: LaneForm::Affine(base), .. }, low, high]) = (operator, args)
        && args.iter().all(|a| a.is_small())
        && let (LaneForm::Uniform(low), LaneForm::Uniform(high)) = (&low.form, &high.form)
    {
        return Some(Value {
            ty: Ty::I64,
            form: LaneForm::Clamped(base.clone(), low.clone(), high.clone()),
            range: None,
        });
    }
    let (infix, base, by) = match (operator, &args.first()?.form, args.get(1).map(|a| &a.form)) {
        (Operator::Add, LaneForm::Affine(base), Some(LaneForm::Uniform(by))) => (Infix::Add, base, by),
        (Operator::Add, LaneForm::Uniform(by), Some(LaneForm::Affine(base))) => (Infix::Add, base, by),
        (Operator::Sub, LaneForm::Affine(base), Some(LaneForm::Uniform(by))) => (Infix::Sub, base, by),
        _ => return None,
    };
    let moved = Tree::infix(infix, base.clone(), by.clone());
    Some(Value { ty: Ty::I64, form: LaneForm::Affine(moved), range: None })
}

/// Neighbouring positions on one side of an end are the first lanes or the last, and the end is one of them at most, which takes no
/// 64-bit lanes to find out.
fn edge(operator: Operator, args: &[&Value]) -> Option<Value> {
    use Operator::{Eq, Ge, Gt, Le, Lt, Ne};
    let [a, b] = args else { return None };
    if a.is_small() && b.is_small() {
        return None;
    }
    let (operator, base, end) = match (&a.form, &b.form) {
        (LaneForm::Affine(base), LaneForm::Uniform(end)) => (operator, base, end),
        (LaneForm::Uniform(end), LaneForm::Affine(base)) => {
            let turned = match operator {
                Lt => Gt,
                Le => Ge,
                Gt => Lt,
                Ge => Le,
                Eq | Ne => operator,
                _ => return None,
            };
            (turned, base, end)
        }
        _ => return None,
    };
    // A position that wraps around in some lane is not next to that before it. The range is that of lanes that are on.
    let moving = if matches!(a.form, LaneForm::Affine(_)) { a } else { b };
    let first = i128::from(i64::MIN) + 64;
    let last = i128::from(i64::MAX) - 64;
    if moving.range.is_none_or(|(low, high)| low < first || high > last) {
        return None;
    }
    let below = |name: &str| Tree::call(name, [base.clone(), end.clone()]);
    let above = |name: &str| Tree::prefix(Prefix::Complement, below(name));
    let mask = match operator {
        Lt => below("next_lt"),
        Le => below("next_le"),
        Ge => above("next_lt"),
        Gt => above("next_le"),
        Eq => below("next_eq"),
        Ne => above("next_eq"),
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
    let moving = |v: &&&Value| !v.is_uniform();
    if ty == Ty::Bool && is_bitwise(operator) && data.iter().filter(moving).all(|v| v.is_wide_mask()) {
        lane = Lane::WideMask;
    }
    let infix = spelled(operator).filter(|infix| match infix.binding() {
        Binding::Relation | Binding::Equality => ty != Ty::Bool,
        Binding::Bits => true,
        _ => ty != Ty::Bool,
    });
    let compares_wide = lane.is_wide() && infix.is_some_and(is_comparison);
    let result_lane = match (result, ty) {
        (Ty::Bool, _) if compares_wide => Lane::WideMask,
        (Ty::Bool, Ty::Bool) => lane,
        (Ty::Bool, _) => Lane::Mask,
        _ => lane,
    };
    let all = |data: &[&Value]| data.iter().map(|v| spread(v, lane)).collect::<Vec<Tree>>();
    let tree = match (operator, infix) {
        (_, Some(infix)) => {
            let tree = Tree::infix(infix, operand(data[0], lane), operand(data[1], lane));
            if compares_wide { Tree::cast("vi64", tree) } else { tree }
        }
        (Operator::Div, None) if ty == Ty::F32 && is_costly_divisor(data[1]) => {
            Tree::call("div_all_f32", [spread(data[0], lane), scalar(data[1])])
        }
        (Operator::Div, None) if matches!(lane, Lane::F32 | Lane::F64) => {
            Tree::infix(Infix::Div, operand(data[0], lane), operand(data[1], lane))
        }
        (Operator::Neg, None) => Tree::prefix(Prefix::Minus, spread(data[0], lane)),
        (Operator::Not, None) => Tree::prefix(Prefix::Complement, spread(data[0], lane)),
        (Operator::Fma, None) if !ty.is_float() => {
            let product = Tree::infix(Infix::Mul, spread(data[0], lane), spread(data[1], lane));
            Tree::infix(Infix::Add, product, spread(data[2], lane))
        }
        (Operator::Select, None) => match extreme(args, lane) {
            Some(name) => Tree::call(format!("{name}_{}", lane.name()), all(data)),
            None => blend(lane, args[0], spread(data[0], lane), spread(data[1], lane)),
        },
        // Past the lanes there is nothing but the sign.
        (Operator::Shr, None) if ty == Ty::I64 && lane == Lane::I32 && shifts.is_some() => {
            let by = Tree::call("all_i32", [Tree::int(shifts.unwrap_or_default() as i64)]);
            Tree::call("shr_i32", [spread(data[0], lane), by])
        }
        (Operator::Powi, None) => {
            let args = [spread(data[0], lane), spread(data[1], Lane::I32)];
            Tree::call(format!("powi_{}", lane.name()), args)
        }
        (_, None) => {
            let suffix = if knows_width(operator) && lane != Lane::I32 || ty != Ty::I64 && knows_width(operator) {
                ty.name()
            } else {
                lane.name()
            };
            Tree::call(format!("{}_{suffix}", row.name), all(data))
        }
    };
    let tree = if result == Ty::Bool { tree } else { narrowed(operator, ty, tree) };
    Value::vector(result, result_lane, tree)
}

/// `a * b + c` where it does not matter whether it rounds once or twice.
pub(super) fn multiply_and_add(args: &[&Value], ty: Ty) -> Value {
    let lane = Lane::of(ty);
    let tree = Tree::call(format!("mla_{}", lane.name()), args.iter().map(|arg| spread(arg, lane)));
    Value::vector(ty, lane, tree)
}

fn is_bitwise(operator: Operator) -> bool {
    matches!(operator, Operator::And | Operator::Or | Operator::Xor | Operator::Not)
}

/// The first where the mask is on, else the second.
pub(super) fn blend(lane: Lane, mask: &Value, a: Tree, b: Tree) -> Tree {
    let (function, as_wide) =
        if lane.is_wide() && mask.is_wide_mask() { ("pick", Lane::WideMask) } else { ("select", Lane::Mask) };
    Tree::call(format!("{function}_{}", lane.name()), [spread(mask, as_wide), a, b])
}

/// The machine's own minimum or maximum, where a choice between two floats is one: `a < b ? a : b`.
fn extreme(args: &[&Value], lane: Lane) -> Option<&'static str> {
    let LaneForm::Vector(_, mask) = &args[0].form else { return None };
    let (infix, left, right) = mask.without_cast().as_infix()?;
    let [a, b] = [args[1], args[2]].map(|value| operand(value, lane));
    let forward = *left == a && *right == b;
    let backward = *left == b && *right == a;
    if !matches!(lane, Lane::F32 | Lane::F64) || !(forward || backward) {
        return None;
    }
    match infix {
        Infix::Lt => Some(if forward { "lesser" } else { "greater" }),
        Infix::Gt => Some(if forward { "greater" } else { "lesser" }),
        _ => None,
    }
}

/// Is the divisor the same in all lanes, and not a power of two, which compilers turn into a product?
fn is_costly_divisor(value: &Value) -> bool {
    let LaneForm::Uniform(e) = &value.form else { return false };
    let finite = e.value().map(Scalar::as_f64).filter(|d| d.is_finite());
    finite.is_none_or(|d| (d as f32).to_bits() & 0x007f_ffff != 0)
}

fn scalar(value: &Value) -> Tree {
    match &value.form {
        LaneForm::Uniform(e) => e.clone(),
        LaneForm::Affine(_) | LaneForm::Clamped(..) | LaneForm::Vector(..) => {
            unreachable!("only uniform values are scalars")
        }
    }
}

/// One lane of a vector, as a scalar.
pub(super) fn taken(lane: Lane, vector: Tree, number: Tree) -> Tree {
    let taken = Tree::call(format!("lane_{}", lane.scalar()), [vector, number]);
    if matches!(lane, Lane::Mask | Lane::WideMask) { Tree::prefix(Prefix::Minus, taken) } else { taken }
}

/// Takes lane 0 of what a vector function says about scalars.
pub(super) fn through_lanes(lane: Lane, vector: Tree) -> Tree {
    taken(lane, vector, Tree::int(0))
}

fn scalar_apply(operator: Operator, args: &[&Value]) -> Tree {
    use Operator as O;
    let row = operator.row();
    let data = if row.signature == Signature::Select { &args[1..] } else { args };
    let ty = data[0].ty;
    let mut e: Vec<Tree> = args.iter().map(|a| scalar(a)).collect();
    // Two bare literals are `int` to C, and so would be what is made of them.
    let first = args.len() - data.len();
    let bare = ty == Ty::I64 && e[first..].iter().take(2).all(is_bare);
    if bare && matches!(operator, O::Add | O::Sub | O::Mul | O::Fma | O::Select) {
        e[first] = Tree::cast("i64", e[first].clone());
    }
    let cast = |tree: Tree| match ty {
        Ty::I8 | Ty::I16 | Ty::U8 | Ty::U16 => Tree::cast(ty.name(), tree),
        Ty::F16 | Ty::BF16 => {
            through_lanes(Lane::F32, Tree::call(format!("round_{ty}"), [Tree::call("all_f32", [tree])]))
        }
        _ => tree,
    };
    let between = |infix: Infix| Tree::infix(infix, e[0].clone(), e[1].clone());
    match operator {
        // gcc makes `-x` of `0.0 - x` where `x` is a converted integer, and a negative zero of 0 then. An argument it leaves alone.
        O::Sub if ty.is_float() && is_zero(&e[0]) => {
            let suffix = if ty == Ty::F64 { "f64" } else { "f32" };
            cast(Tree::call(format!("s_sub_{suffix}"), e))
        }
        _ if let Some(infix) = spelled(operator) => {
            let tree = between(infix);
            if is_comparison(infix) || infix.binding() == Binding::Bits { tree } else { cast(tree) }
        }
        O::Div if ty.is_float() => cast(between(Infix::Div)),
        O::Neg => cast(Tree::prefix(Prefix::Minus, e[0].clone())),
        O::Not if ty == Ty::Bool => Tree::prefix(Prefix::Not, e[0].clone()),
        O::Not => cast(Tree::prefix(Prefix::Complement, e[0].clone())),
        O::Select => Tree::choice(e[0].clone(), e[1].clone(), e[2].clone()),
        O::Fma if !ty.is_float() => cast(Tree::infix(Infix::Add, between(Infix::Mul), e[2].clone())),
        _ if ty.is_int() || is_cheap_on_scalars(operator) => {
            let suffix = if matches!(ty, Ty::F16 | Ty::BF16) { "f32" } else { ty.name() };
            let tree = Tree::call(format!("s_{}_{suffix}", row.name), e);
            if ty.is_float() && !matches!(operator, O::IsNan | O::IsFinite) { cast(tree) } else { tree }
        }
        _ => {
            let result = if row.signature == Signature::Test { Ty::Bool } else { ty };
            let spread_args: Vec<Value> =
                data.iter().map(|v| Value::vector(v.ty, Lane::of(v.ty), spread(v, Lane::of(v.ty)))).collect();
            let refs: Vec<&Value> = spread_args.iter().collect();
            let LaneForm::Vector(lane, tree) = vector_apply(operator, &refs, result, None, false).form else {
                unreachable!("an operator on vectors gives a vector")
            };
            through_lanes(lane, tree)
        }
    }
}

/// Is it the literal `0.0`?
fn is_zero(tree: &Tree) -> bool {
    let value = tree.value().filter(|value| value.ty.is_float()).map(Scalar::as_f64);
    value.is_some_and(|x| x == 0.0 && x.is_sign_positive())
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
        LaneForm::Uniform(e) => Value::uniform(to, scalar_cast(to, from, e)).within(range),
        LaneForm::Affine(_) | LaneForm::Clamped(..) | LaneForm::Vector(..) => {
            let narrow = value.ty == Ty::I64 && value.is_small();
            let own = match &value.form {
                LaneForm::Vector(Lane::WideMask, _) => Lane::Mask,
                LaneForm::Vector(lane, _) => *lane,
                _ if narrow => Lane::I32,
                _ => Lane::I64,
            };
            let x = spread(value, own);
            // Small integers become positions without leaving their lanes.
            let stays = to == Ty::I64 && range.is_some_and(|r| r.1 <= i32::MAX as i128);
            let (lane, tree) = match (own, to) {
                (Lane::I32, Ty::I64) => (Lane::I32, x),
                (Lane::U32, Ty::I64) if stays => (Lane::I32, Tree::call("bits_u32_i32", [x])),
                (Lane::Mask, Ty::I64) => (Lane::I32, Tree::infix(Infix::And, x, Tree::int(1))),
                (Lane::I32, Ty::I32) if narrow => (Lane::I32, x),
                (own, to) => (Lane::of(to), Tree::call(format!("cast_{}_{to}", own.name()), [x])),
            };
            Value::vector(to, lane, tree).within(range)
        }
    }
}

fn scalar_cast(to: Ty, from: Ty, e: &Tree) -> Tree {
    let plain = |ty: &str| Tree::cast(ty, e.clone());
    match to {
        Ty::Bool => Tree::infix(Infix::Ne, e.clone(), Tree::int(0)),
        Ty::F16 | Ty::BF16 => {
            let lane = Lane::of(from);
            let wide = spread(&Value::uniform(from, e.clone()), lane);
            through_lanes(Lane::F32, Tree::call(format!("cast_{}_{to}", lane.name()), [wide]))
        }
        Ty::F32 if matches!(from, Ty::F16 | Ty::BF16) => e.clone(),
        Ty::F32 | Ty::F64 => plain(to.name()),
        _ if from.is_float() => {
            let from = if from == Ty::F64 { "f64" } else { "f32" };
            Tree::call(format!("s_cast_{from}_{to}"), [e.clone()])
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
    let tree = Tree::call(format!("bits_{from}_{to}"), [x]);
    match &value.form {
        LaneForm::Uniform(_) => Value::uniform(to, through_lanes(Lane::of(to), tree)),
        LaneForm::Affine(_) | LaneForm::Clamped(..) | LaneForm::Vector(..) => Value::vector(to, Lane::of(to), tree),
    }
}

/// The linear index of a position, as a uniform start and a moving rest.
///
/// Lanes may wrap on the way: what comes out is inside the memory, so its low 32 bits are enough where memories are small.
pub(super) fn linear(index: &[Value], strides: &[Tree], wide: bool) -> (Option<Tree>, Option<Value>) {
    let mut start: Option<Tree> = None;
    let mut moving: Option<Value> = None;
    let lane = if wide { Lane::I64 } else { Lane::I32 };
    let plus = |sum: Option<Tree>, term: Tree| match sum {
        Some(sum) => Tree::infix(Infix::Add, sum, term),
        None => term,
    };
    for (value, stride) in index.iter().zip(strides) {
        let times = |tree: Tree, stride: Tree| Tree::infix(Infix::Mul, tree, stride);
        let one = stride.is_int(1);
        match &value.form {
            LaneForm::Uniform(e) if e.is_int(0) => {}
            LaneForm::Uniform(e) => {
                let term = if one { e.clone() } else { times(e.clone(), stride.clone()) };
                start = Some(plus(start, term));
            }
            LaneForm::Affine(_) | LaneForm::Clamped(..) if one && moving.is_none() => moving = Some(value.clone()),
            _ => {
                let term = spread(value, lane);
                let stride = spread(&Value::uniform(Ty::I64, stride.clone()), lane);
                let term = if one { term } else { times(term, stride) };
                let before = moving.take().map(|m| spread(&m, lane));
                moving = Some(Value::vector(Ty::I64, lane, plus(before, term)));
            }
        }
    }
    (start, moving)
}
