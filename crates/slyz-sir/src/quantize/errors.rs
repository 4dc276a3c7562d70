//! How far off results are at most where numbers are smaller: bounds that hold for every call whose arguments stay in their ranges.
//!
//! ```text
//! %x: f32 = at %a[%i]        %a holds -2 ..= 2, in f16: |x| ≤ 2,         off by at most 2⁻¹¹·2 + 2⁻²⁴
//! %y: f32 = mul %x, %x                                  |y| ≤ 4,         off by at most 2·2·0.00098 + 0.00098² and a rounding
//! %z: f32 = tanh %y                                     tanh(-4 ..= 4),  as far off: its slope is nowhere above 1
//! ```
//!
//! One walk through the program finds for every name an interval of what it is over `f32`, and how far what it is over smaller numbers may
//! be from that. All elements of an array have one interval, and names that depend on each other are taken as if they did not, so bounds are
//! too large rather than too small. What reads nothing that is smaller is the same in both programs, but for floats that are added: in
//! another program they may be added in another order. Operators are as exact as the table promises.
//!
//! It does not follow loops with many turns, monoids of one's own, bits of floats, or operators near numbers that they have no value for.
//! There nothing is proven, and the reason is told ([`Why`]).

use super::{Request, Site, Small, bytes, halves, left_out};
use crate::class;
use crate::code::{Body, Id, Monoid, Op, Stmt, Type};
use crate::ops::Operator;
use crate::pass;
use crate::program::Program;
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty, int_range};
use crate::write::{Lines, Write};
use std::collections::HashMap;
use std::fmt;

/// What is known of calls.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The sizes of the calls that it is about; a bound is for the worst of them.
    pub sizes: Vec<Vec<Option<u64>>>,
    /// The least and the greatest number of each argument, and infinities where they are not known.
    pub arguments: Vec<(f64, f64)>,
}

/// Why nothing is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no range for what comes in.
    Range,
    /// An extent has no number.
    Extent,
    /// The numbers may not fit.
    Large(Ty),
    /// An operator that is not followed.
    Operator(Operator),
    /// An operator may get what it has no value for.
    Edge(Operator),
    /// Bits of a float.
    Bits,
    /// A fold, scan or scatter by something else than an operator that is followed.
    Monoid,
    /// Smaller numbers decide where something goes.
    Order,
    /// A loop.
    Loop,
    /// A kernel by hand.
    Raw,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Why::Range => f.write_str("how large its numbers get is not known"),
            Why::Extent => f.write_str("an extent is not known"),
            Why::Large(ty) => write!(f, "numbers may get larger than {ty} has"),
            Why::Operator(operator) => write!(f, "`{}` is not followed", operator.row().name),
            Why::Edge(operator) => write!(f, "`{}` may get a number that it has no value for", operator.row().name),
            Why::Bits => f.write_str("bits of numbers are not followed"),
            Why::Monoid => f.write_str("a monoid of one's own is not followed"),
            Why::Order => f.write_str("smaller numbers decide where something goes"),
            Why::Loop => f.write_str("a loop of many turns is not followed"),
            Why::Raw => f.write_str("a kernel by hand is not followed"),
        }
    }
}

/// How far off each result is at most, where all candidates but those that are left out are smaller.
///
/// ```
/// use slyz_sir::{quantize::{Known, Request, Small, errors}, text::parse_program};
/// let program = parse_program("program half<N>(%x: f32[N]) -> f32[N] {
///   %half: f32 = const 0.5
///   %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = mul %a, %half  yield %b }
///   return %y
/// }")?;
/// let known = Known { sizes: vec![vec![Some(100)]], arguments: vec![(-3.0, 3.0)] };
/// let request = Request { weights: Some(vec![0]), ..Request::new(Small::F16) };
/// let off = errors(&program, &request, &known)[0].clone()?;
/// assert!((0.0007..0.0008).contains(&off), "a half of 3 · 2⁻¹¹");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn errors(program: &Program, request: &Request, known: &Known) -> Vec<Result<f64, Why>> {
    let program = pass::optimize(program);
    let sites = match request.small {
        Small::I8 => bytes::sites(&program),
        Small::F16 | Small::BF16 => halves::sites(&program, request),
    };
    let chosen = sites.into_iter().enumerate().filter(|(number, _)| left_out(request, *number).is_none());
    let sites = chosen.filter_map(|(_, site)| site).collect();
    let mut walk =
        Walk { program: &program, known, small: request.small, sites, at: HashMap::new(), tests: HashMap::new() };
    for (number, param) in program.body.params.iter().enumerate() {
        let all = Bounds::all(param.ty.elem());
        let given = known.arguments.get(number).copied().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let is_inside = param.ty.elem().is_float() && given.0 <= given.1;
        let bounds = if is_inside { Bounds::exact(given.0, given.1) } else { all };
        walk.at.insert(param.id, bounds);
    }
    walk.stmts(&program.body);
    let result = |id: &Id| {
        let bounds = walk.get(*id);
        bounds.why.map_or(Ok(bounds.off), Err)
    };
    program.body.results.iter().map(result).collect()
}

impl std::error::Error for Why {}

/// The arguments whose ranges `extremes` tells: floats that an `f32` holds.
pub fn measured(program: &Program) -> Vec<usize> {
    let holds = |ty: Ty| matches!(ty, Ty::F32 | Ty::F16 | Ty::BF16);
    (0..program.body.params.len()).filter(|&k| holds(program.body.params[k].ty.elem())).collect()
}

/// Statements that tell the least and the greatest number of each measured argument, as two `f32` each. One that is no number makes
/// both infinite, and so does an argument without elements.
pub(super) fn extremes(program: &Program, lines: &mut Lines) -> Vec<Id> {
    let ends = [(Operator::Min, f32::NEG_INFINITY), (Operator::Max, f32::INFINITY)];
    let mut results = vec![];
    for number in measured(program) {
        let param = &program.body.params[number];
        let ty = param.ty.elem();
        let shape = param.ty.shape().to_vec();
        for (operator, nothing) in ends {
            let told = |w: &mut Lines, value: Id| {
                let wide = if ty == Ty::F32 { value } else { w.push(Op::Cast(Ty::F32, value), Ty::F32) };
                let is_nan = w.apply(Operator::IsNan, &[wide], Ty::Bool);
                let nothing = w.constant(Scalar::f32(nothing));
                w.apply(Operator::Select, &[is_nan, nothing, wide], Ty::F32)
            };
            if shape.is_empty() {
                results.push(told(lines, param.id));
                continue;
            }
            let body = lines.nested(&vec![Ty::I64; shape.len()], |w, index| {
                let value = w.push(Op::At { array: param.id, index: index.to_vec() }, ty);
                vec![told(w, value)]
            });
            let neutral = lines.constant(Scalar::f32(-nothing));
            let combine = lines.nested(&[Ty::F32; 2], |w, pair| vec![w.apply(operator, pair, Ty::F32)]);
            let monoid = Monoid { neutral: vec![neutral], combine, commutative: true };
            results.push(lines.push(Op::Fold { shape: shape.clone(), body, monoid }, Ty::F32));
        }
    }
    results
}

/// What a name may be.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// What it is over `f32`: at least that.
    low: f64,
    /// At most that. Both are finite where it can be no NaN and no infinity.
    high: f64,
    /// How far off it may be over smaller numbers.
    off: f64,
    /// Why that is not known; it is infinite then.
    why: Option<Why>,
}

impl Bounds {
    fn exact(low: f64, high: f64) -> Bounds {
        Bounds { low, high, off: 0.0, why: None }
    }

    fn point(value: f64) -> Bounds {
        Bounds::exact(value, value)
    }

    /// Anything of a type.
    fn all(ty: Ty) -> Bounds {
        let (low, high) = match ty {
            Ty::Bool => (0.0, 1.0),
            _ if ty.is_float() => (f64::NEG_INFINITY, f64::INFINITY),
            _ => (int_range(ty).0 as f64, int_range(ty).1 as f64),
        };
        Bounds::exact(low, high)
    }

    fn unknown(self, why: Why) -> Bounds {
        Bounds { off: f64::INFINITY, why: self.why.or(Some(why)), ..self }
    }

    fn is_exact(&self) -> bool {
        self.off == 0.0
    }

    fn is_finite(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// The largest size.
    fn size(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// The largest size in either program.
    fn reach(&self) -> f64 {
        self.size() + self.off
    }

    /// What it is in either program.
    fn around(&self) -> (f64, f64) {
        (self.low - self.off, self.high + self.off)
    }

    /// Both together.
    fn or(&self, other: &Bounds) -> Bounds {
        Bounds {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            off: self.off.max(other.off),
            why: self.why.or(other.why),
        }
    }
}

/// Half a unit in the last place, for a number of size one.
fn unit(ty: Ty) -> f64 {
    match ty {
        Ty::F16 => 2f64.powi(-11),
        Ty::BF16 => 2f64.powi(-8),
        Ty::F64 => 2f64.powi(-53),
        _ => 2f64.powi(-24),
    }
}

/// What may be taken for zero, and more than half the distance of the smallest numbers.
fn smallest(ty: Ty) -> f64 {
    match ty {
        Ty::F16 => 2f64.powi(-24),
        Ty::F64 => f64::MIN_POSITIVE,
        _ => f32::MIN_POSITIVE.into(),
    }
}

fn largest(ty: Ty) -> f64 {
    match ty {
        Ty::F16 => 65504.0,
        Ty::F64 => f64::MAX,
        // Those of bf16 end a little below; that is no matter for what is rounded once.
        Ty::BF16 => 3.38e38,
        _ => f32::MAX.into(),
    }
}

/// A result with its rounding, in both programs. `ulp` is how far off the operator itself may be.
fn rounded(ty: Ty, low: f64, high: f64, off: f64, ulp: f64) -> Bounds {
    if !ty.is_float() {
        let all = Bounds::all(ty);
        let fits = low - off >= all.low && high + off <= all.high;
        return match off == 0.0 {
            _ if fits => Bounds { low, high, off, why: None },
            true => all,
            false => all.unknown(Why::Large(ty)),
        };
    }
    // A little more than half a unit, because 16 bits are rounded twice.
    let part = (1.001 + 2.0 * ulp) * unit(ty);
    // Rounding passes no zero.
    let apart = |x: f64| if x == 0.0 { 0.0 } else { 2.0 * part * x.abs() + smallest(ty) };
    let found = Bounds { low: low - apart(low), high: high + apart(high), off, why: None };
    let off = match off == 0.0 {
        true => 0.0,
        // The last factor is for the rounding of these lines.
        false => (off + 2.0 * part * found.reach() + 2.0 * smallest(ty)) * (1.0 + 1e-12),
    };
    let found = Bounds { off, ..found };
    match off == 0.0 {
        // It does not hold of NaN.
        _ if low <= high && found.reach() <= largest(ty) => found,
        true => Bounds::all(ty),
        false => Bounds::all(ty).unknown(Why::Large(ty)),
    }
}

/// What is rounded in one of the programs only.
fn stored(of: Bounds, small: Small) -> Bounds {
    if !of.is_finite() {
        return of.unknown(Why::Range);
    }
    let ty = small.ty();
    let off = of.off + unit(ty) * of.reach() + smallest(ty);
    match of.reach() + off <= largest(ty) {
        true => Bounds { off, ..of },
        false => of.unknown(Why::Large(ty)),
    }
}

/// What an operator of one operand gives between `low` and `high`, and how steep it is at most between `from` and `to`, which is further:
/// by its line in `slopes.txt`. An error where it has no line, or no slope somewhere there.
fn sloped(operator: Operator, ends: (f64, f64), (from, to): (f64, f64)) -> Result<(f64, f64, f64), Why> {
    let lines = include_str!("slopes.txt").lines().map(|line| line.split_whitespace().collect::<Vec<&str>>());
    let line = lines.into_iter().find(|words| words.first() == Some(&operator.row().name));
    let (Some(meaning), Some(words)) = (operator.row().on_floats, line) else { return Err(Why::Operator(operator)) };
    let [_, form, place, slope, numbers @ ..] = &words[..] else { return Err(Why::Operator(operator)) };
    let number = |k: usize| numbers.get(k).and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
    let (by, rate, moved) = (number(0), number(1), number(2));
    let nearest = |(low, high): (f64, f64)| if low > 0.0 { low } else { (-high).max(0.0) };
    let (from, to) = (from + moved, to + moved);
    let has_slope = match *place {
        "positive" => from > 0.0,
        "nonzero" => nearest((from, to)) > 0.0,
        _ => true,
    };
    if !has_slope {
        return Err(Why::Edge(operator));
    }
    let steep = match *slope {
        "most" => by,
        "grows" => by * (rate * to).exp(),
        "size" => by * (rate * from.abs().max(to.abs())).exp(),
        _ => by * nearest((from, to)).powf(rate),
    };
    let at = |x: f64| meaning(Ty::F64, &[x]);
    let (first, last) = (at(ends.0), at(ends.1));
    let (low, high) = match *form {
        "rising" => (first, last),
        "falling" => (last, first),
        "even" => (at(nearest(ends)), first.max(last)),
        _ => (-1.0, 1.0),
    };
    Ok((low, high, steep))
}

/// Products of any of these with any of those.
fn products(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// An operator of operands that are numbers in both programs.
fn arithmetic(operator: Operator, ty: Ty, of: &[Bounds]) -> Bounds {
    let ulp = f64::from(operator.row().ulp + operator.row().own);
    let exact = of.iter().all(Bounds::is_exact);
    let opaque = |why: Why| if exact { Bounds::all(ty) } else { Bounds::all(ty).unknown(why) };
    let product = |a: &Bounds, b: &Bounds| {
        let (low, high) = products((a.low, a.high), (b.low, b.high));
        (low, high, a.size() * b.off + b.size() * a.off + a.off * b.off)
    };
    match (operator, of) {
        (Operator::Add, [a, b]) => rounded(ty, a.low + b.low, a.high + b.high, a.off + b.off, ulp),
        (Operator::Sub, [a, b]) => rounded(ty, a.low - b.high, a.high - b.low, a.off + b.off, ulp),
        (Operator::Mul, [a, b]) => {
            let (low, high, off) = product(a, b);
            rounded(ty, low, high, off, ulp)
        }
        (Operator::Fma, [a, b, c]) => {
            let (low, high, off) = product(a, b);
            rounded(ty, low + c.low, high + c.high, off + c.off, ulp)
        }
        (Operator::Div, [a, b]) if ty.is_float() => {
            let (from, to) = b.around();
            let nearest = if from > 0.0 { from } else { -to };
            if nearest.is_nan() || nearest <= 0.0 {
                return opaque(Why::Edge(operator));
            }
            let (low, high) = products((a.low, a.high), (1.0 / b.high, 1.0 / b.low));
            let off = (a.off + low.abs().max(high.abs()) * b.off) / nearest;
            rounded(ty, low, high, off, ulp + 1.0)
        }
        (Operator::Neg, [a]) => rounded(ty, -a.high, -a.low, a.off, ulp),
        (Operator::Abs, [a]) => {
            let low = if a.low > 0.0 { a.low } else { (-a.high).max(0.0) };
            rounded(ty, low, a.size(), a.off, ulp)
        }
        (Operator::Min, [a, b]) => Bounds { low: a.low.min(b.low), high: a.high.min(b.high), ..a.or(b) },
        (Operator::Max, [a, b]) => Bounds { low: a.low.max(b.low), high: a.high.max(b.high), ..a.or(b) },
        (Operator::Clamp, [x, a, b]) => {
            let clamp = |x: f64, low: f64, high: f64| x.max(low).min(high);
            Bounds { low: clamp(x.low, a.low, b.low), high: clamp(x.high, a.high, b.high), ..x.or(a).or(b) }
        }
        (Operator::Sign, [a]) => {
            let (from, to) = a.around();
            let off = if a.is_exact() || from > 0.0 || to < 0.0 { 0.0 } else { 2.0 };
            Bounds { low: -1.0, high: 1.0, off, why: None }
        }
        (Operator::Floor | Operator::Ceil | Operator::Round | Operator::Trunc, [a]) => {
            let off = if a.is_exact() { 0.0 } else { a.off + 1.0 };
            rounded(ty, a.low - 1.0, a.high + 1.0, off, ulp)
        }
        (Operator::Powi, [a, n]) if n.low == n.high && n.is_exact() && (1.0..=64.0).contains(&n.low) => {
            let size = a.size().powf(n.low);
            let low = if n.low % 2.0 == 0.0 { 0.0 } else { -size };
            rounded(ty, low, size, n.low * a.reach().powf(n.low - 1.0) * a.off, ulp + n.low)
        }
        // Its slope is not bounded near zero, and yet it is not far off.
        (Operator::Sqrt, [a]) if a.around().0 >= 0.0 => {
            let slope = if a.around().0 > 0.0 { 0.5 / a.around().0.sqrt() } else { f64::INFINITY };
            let off = if a.is_exact() { 0.0 } else { a.off.sqrt().min(slope * a.off) };
            rounded(ty, a.low.sqrt(), a.high.sqrt(), off, ulp)
        }
        (_, [a]) if ty.is_float() => match sloped(operator, (a.low, a.high), a.around()) {
            Ok((low, high, steep)) => {
                // Where a slope is next to nothing, results are rounded all the same.
                let off = if exact { 0.0 } else { (steep * a.off * (1.0 + 1e-9)).max(f64::MIN_POSITIVE) };
                rounded(ty, low, high, off, ulp + 1.0)
            }
            Err(why) => opaque(why),
        },
        _ => opaque(Why::Operator(operator)),
    }
}

/// A comparison.
fn compared(operator: Operator, a: &Bounds, b: &Bounds) -> Bounds {
    let (a_from, a_to) = a.around();
    let (b_from, b_to) = b.around();
    let told = match operator {
        _ if !a.is_finite() || !b.is_finite() => None,
        Operator::Lt | Operator::Le if a_to < b_from => Some(1.0),
        Operator::Lt | Operator::Le if a_from > b_to => Some(0.0),
        Operator::Gt | Operator::Ge if a_from > b_to => Some(1.0),
        Operator::Gt | Operator::Ge if a_to < b_from => Some(0.0),
        Operator::Eq if a_to < b_from || a_from > b_to => Some(0.0),
        Operator::Ne if a_to < b_from || a_from > b_to => Some(1.0),
        _ => None,
    };
    let is_same = a.is_exact() && b.is_exact();
    told.map_or(Bounds { low: 0.0, high: 1.0, off: if is_same { 0.0 } else { 1.0 }, why: None }, Bounds::point)
}

/// One of two, where the choice may be another in the other program. `near` says that they are the same where the choice changes.
fn chosen(cond: &Bounds, a: &Bounds, b: &Bounds, near: bool) -> Bounds {
    match (cond.low, cond.high) {
        (1.0, 1.0) if cond.is_exact() => return *a,
        (0.0, 0.0) if cond.is_exact() => return *b,
        _ => {}
    }
    let both = a.or(b);
    if cond.is_exact() || both.why.is_some() || near {
        return both;
    }
    if !both.is_finite() || cond.why.is_some() {
        return both.unknown(cond.why.unwrap_or(Why::Range));
    }
    let apart = (a.high - b.low).max(b.high - a.low) + a.off.max(b.off);
    Bounds { off: apart.max(both.off), ..both }
}

/// Is a monoid without operators that round?
fn is_choice(combine: &Body) -> bool {
    combine.stmts.iter().all(|stmt| match &stmt.op {
        Op::Const(_) => true,
        Op::Apply(operator, _) => {
            let floats = stmt.binds.iter().any(|bind| bind.ty.elem().is_float());
            !floats || matches!(operator, Operator::Min | Operator::Max | Operator::Select)
        }
        _ => false,
    })
}

/// Does the order in which a fold in it adds count?
fn may_regroup(body: &Body) -> bool {
    body.stmts.iter().any(|stmt| {
        let monoid = match &stmt.op {
            Op::Fold { monoid, .. } | Op::Scan { monoid, .. } | Op::Scatter { monoid, .. } => Some(monoid),
            _ => None,
        };
        let anew = monoid.is_some_and(|monoid| !is_choice(&monoid.combine));
        anew || stmt.op.bodies().into_iter().any(may_regroup)
    })
}

/// The most turns that are followed one by one.
const MOST_TURNS: f64 = 64.0;

struct Walk<'g> {
    program: &'g Program,
    known: &'g Known,
    small: Small,
    sites: Vec<Site>,
    at: HashMap<Id, Bounds>,
    /// What is compared, in order of size, to choose by.
    tests: HashMap<Id, [Id; 2]>,
}

impl<'g> Walk<'g> {
    fn get(&self, id: Id) -> Bounds {
        self.at.get(&id).copied().unwrap_or(Bounds::all(Ty::F64).unknown(Why::Range))
    }

    /// The least and the most that a size is.
    fn extent(&self, size: &Size) -> (f64, f64) {
        if let Some(extent) = size.constant() {
            return (extent as f64, extent as f64);
        }
        let mut found = (f64::INFINITY, 0f64);
        for sizes in &self.known.sizes {
            let Ok(extent) = size.eval(&|SizeVar(var)| sizes.get(var as usize).copied().flatten()) else {
                return (0.0, f64::INFINITY);
            };
            found = (found.0.min(extent as f64), found.1.max(extent as f64));
        }
        if self.known.sizes.is_empty() { (0.0, f64::INFINITY) } else { found }
    }

    fn extents(&self, shape: &[Size]) -> (f64, f64) {
        shape.iter().map(|size| self.extent(size)).fold((1.0, 1.0), |all, one| (all.0 * one.0, all.1 * one.1))
    }

    /// The results of a body at the positions of a shape.
    fn body(&mut self, shape: &[Size], body: &'g Body) -> Vec<Bounds> {
        for (param, size) in body.params.iter().zip(shape) {
            let last = (self.extent(size).1 - 1.0).clamp(0.0, i64::MAX as f64);
            self.at.insert(param.id, Bounds::exact(0.0, last));
        }
        self.run(body)
    }

    fn with(&mut self, args: &[Bounds], body: &'g Body) -> Vec<Bounds> {
        self.at.extend(body.params.iter().map(|param| param.id).zip(args.iter().copied()));
        self.run(body)
    }

    fn run(&mut self, body: &'g Body) -> Vec<Bounds> {
        self.stmts(body);
        body.results.iter().map(|&id| self.get(id)).collect()
    }

    fn stmts(&mut self, body: &'g Body) {
        for stmt in &body.stmts {
            let found = self.stmt(stmt);
            self.at.extend(stmt.binds.iter().map(|bind| bind.id).zip(found));
        }
    }

    fn stmt(&mut self, stmt: &'g Stmt) -> Vec<Bounds> {
        let ty = stmt.binds.first().map_or(Ty::Bool, |bind| bind.ty.elem());
        match &stmt.op {
            Op::Const(value) => {
                let number = if value.ty.is_float() { value.as_f64() } else { value.as_int() as f64 };
                vec![if number.is_nan() { Bounds::all(ty) } else { Bounds::point(number) }]
            }
            Op::Extent(size) => {
                let (low, high) = self.extent(size);
                vec![Bounds::exact(low, high.min(i64::MAX as f64))]
            }
            Op::Apply(operator, args) => vec![self.apply(stmt.binds[0].id, *operator, ty, args)],
            Op::Cast(to, of) => vec![cast(*to, &self.get(*of))],
            Op::Call(function, args) => {
                let program = self.program;
                let args: Vec<Bounds> = args.iter().map(|&id| self.get(id)).collect();
                self.with(&args, &program.functions[function.0 as usize].body)
            }
            Op::If { cond, args, then, otherwise } => {
                let cond = self.get(*cond);
                let args: Vec<Bounds> = args.iter().map(|&id| self.get(id)).collect();
                let a = self.with(&args, then);
                let b = self.with(&args, otherwise);
                a.iter().zip(&b).map(|(a, b)| chosen(&cond, a, b, false)).collect()
            }
            Op::For { lo, hi, step, init, body } => self.repeated(stmt, [*lo, *hi, *step], init, body),
            Op::At { array, index } => {
                let element = self.read(*array);
                let moves = index.iter().map(|&id| self.get(id)).find(|place| !place.is_exact());
                vec![match moves {
                    None => element,
                    Some(place) if place.why.is_some() || !element.is_finite() => {
                        element.unknown(place.why.unwrap_or(Why::Range))
                    }
                    Some(_) => Bounds { off: element.high - element.low + element.off, ..element },
                }]
            }
            Op::Tabulate { shape, body } => self.body(shape, body),
            Op::Fold { shape, body, monoid } => {
                let terms = self.body(shape, body);
                let sum = stmt.binds[0].id;
                let product = self.sites.iter().find_map(|site| match site {
                    Site::Product { sum: found, factors } if *found == sum => Some(*factors),
                    _ => None,
                });
                let many = self.extents(shape);
                match product {
                    Some(factors) => vec![self.bytes(factors, many)],
                    None => self.folded(stmt, &terms, monoid, many),
                }
            }
            Op::Scan { shape, body, monoid } => {
                let terms = self.body(shape, body);
                let most = shape.last().map_or(1.0, |size| self.extent(size).1);
                self.folded(stmt, &terms, monoid, (1.0, most))
            }
            Op::Scatter { shape, body, target, onto, monoid } => {
                let found = self.body(shape, body);
                let (places, terms) = found.split_at(target.len());
                let most = self.extents(shape).1;
                let last = monoid.combine.results.len() == 1
                    && monoid.combine.params.get(1).map(|param| param.id) == Some(monoid.combine.results[0]);
                let sums = if last { terms.to_vec() } else { self.folded(stmt, terms, monoid, (1.0, most)) };
                let moves = places.iter().any(|place| !place.is_exact());
                let mut results = vec![];
                for (k, sum) in sums.into_iter().enumerate() {
                    let start = onto.get(k).map_or(self.get(monoid.neutral[k]), |&array| self.read(array));
                    let ty = stmt.binds[k].ty.elem();
                    let adds = monoid.operator() == Some(Operator::Add);
                    let both =
                        if adds { arithmetic(Operator::Add, ty, &[start, sum]).or(&start) } else { start.or(&sum) };
                    results.push(if moves { both.unknown(Why::Order) } else { both });
                }
                results
            }
            Op::Filter { extent, body, .. } => {
                let found = self.body(std::slice::from_ref(extent), body);
                let moves = !found[0].is_exact();
                found[1..].iter().map(|value| if moves { value.unknown(Why::Order) } else { *value }).collect()
            }
            Op::Sort { shape, widths, body } => {
                let found = self.body(shape, body);
                let (keys, values) = found.split_at(widths.len());
                let moves = keys.iter().find(|key| !key.is_exact());
                let why = |key: &Bounds| key.why.unwrap_or(Why::Order);
                values.iter().map(|value| moves.map_or(*value, |key| value.unknown(why(key)))).collect()
            }
            Op::Bitcast(..) => self.opaque(stmt, Why::Bits),
            Op::While { .. } => self.opaque(stmt, Why::Loop),
            Op::Raw(_) => self.opaque(stmt, Why::Raw),
            // Programs have none of these.
            class!(Place) | class!(Memory) | class!(Meeting) => self.opaque(stmt, Why::Raw),
        }
    }

    /// An element of an array, as it is read.
    fn read(&self, array: Id) -> Bounds {
        let element = self.get(array);
        let is_stored = self.sites.iter().any(|site| matches!(site, Site::Stored(id) if *id == array));
        if is_stored { stored(element, self.small) } else { element }
    }

    /// Something that nobody looks into: the same in both programs where what it reads is.
    fn opaque(&self, stmt: &Stmt, why: Why) -> Vec<Bounds> {
        let mut read = vec![];
        stmt.op.each_operand(&mut |id| read.push(id));
        stmt.op.bodies().iter().for_each(|body| body.each_free(&mut |id| read.push(id)));
        let found = read.into_iter().map(|id| self.read(id)).find(|bounds| !bounds.is_exact());
        let regroups = stmt.op.bodies().into_iter().any(may_regroup);
        let why = match found {
            Some(bounds) => Some(bounds.why.unwrap_or(why)),
            None => regroups.then_some(why),
        };
        let all = |ty: &Type| Bounds::all(ty.elem());
        stmt.binds.iter().map(|bind| why.map_or(all(&bind.ty), |why| all(&bind.ty).unknown(why))).collect()
    }

    fn apply(&mut self, name: Id, operator: Operator, ty: Ty, args: &[Id]) -> Bounds {
        let of: Vec<Bounds> = args.iter().map(|&id| self.get(id)).collect();
        let why = of.iter().find_map(|bounds| bounds.why);
        if let Some(why) = why {
            return Bounds::all(ty).unknown(why);
        }
        let exact = of.iter().all(Bounds::is_exact);
        match (operator, &of[..]) {
            (Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge, [a, b]) => {
                self.tests.insert(name, [args[0], args[1]]);
                compared(operator, a, b)
            }
            (Operator::Eq | Operator::Ne, [a, b]) => compared(operator, a, b),
            (Operator::Select, [cond, a, b]) => {
                // A number or the other, by which is larger: where the choice changes, they are the same.
                let by = self.tests.get(&args[0]);
                let near = by.is_some_and(|by| *by == [args[1], args[2]] || *by == [args[2], args[1]]);
                chosen(cond, a, b, near && a.is_finite() && b.is_finite())
            }
            (Operator::IsNan, [a]) if a.is_finite() => Bounds::point(0.0),
            (Operator::IsFinite, [a]) if a.is_finite() => Bounds::point(1.0),
            _ if ty == Ty::Bool && exact => Bounds::all(ty),
            (Operator::And | Operator::Or | Operator::Xor | Operator::Not, _) if ty == Ty::Bool => {
                Bounds { off: 1.0, ..Bounds::all(ty) }
            }
            (_, of) if of.iter().all(Bounds::is_finite) => arithmetic(operator, ty, of),
            _ if exact => Bounds::all(ty),
            _ => Bounds::all(ty).unknown(Why::Range),
        }
    }

    fn repeated(&mut self, stmt: &'g Stmt, [lo, hi, step]: [Id; 3], init: &[Id], body: &'g Body) -> Vec<Bounds> {
        let [lo, hi, step] = [lo, hi, step].map(|id| self.get(id));
        let known = [lo, hi, step].iter().all(|bounds| bounds.is_exact() && bounds.low == bounds.high);
        let turns = ((hi.low - lo.low) / step.low).ceil().max(0.0);
        // NaN where there is no step.
        if !known || turns.is_nan() || turns > MOST_TURNS {
            return self.opaque(stmt, Why::Loop);
        }
        let mut state: Vec<Bounds> = init.iter().map(|&id| self.get(id)).collect();
        for turn in 0..turns as u32 {
            let counter = Bounds::point(lo.low + f64::from(turn) * step.low);
            state = self.with(&[&[counter], &state[..]].concat(), body);
        }
        state
    }

    /// Terms combined, so many at least and at most.
    fn folded(&self, stmt: &Stmt, terms: &[Bounds], monoid: &Monoid, many: (f64, f64)) -> Vec<Bounds> {
        let ty = stmt.binds[0].ty.elem();
        let keeps = |operator: Operator, ty: Ty| match operator {
            Operator::Min | Operator::Max => true,
            Operator::And | Operator::Or => ty == Ty::Bool,
            _ => false,
        };
        match (monoid.operator(), terms) {
            (Some(Operator::Add), [term]) => return vec![sum(ty, term, many)],
            (Some(operator), [term]) if keeps(operator, ty) => {
                let nothing = self.get(monoid.neutral[0]);
                return vec![if many.0 > 0.0 { *term } else { term.or(&nothing) }];
            }
            _ => {}
        }
        let all = |k: usize| Bounds::all(stmt.binds[k].ty.elem());
        let differs = terms.iter().find(|term| !term.is_exact());
        let floats = terms.iter().zip(&stmt.binds).any(|(_, bind)| bind.ty.elem().is_float());
        let why = match differs {
            Some(term) => Some(term.why.unwrap_or(Why::Monoid)),
            None if floats && !is_choice(&monoid.combine) => Some(Why::Monoid),
            None => None,
        };
        (0..terms.len()).map(|k| why.map_or(all(k), |why| all(k).unknown(why))).collect()
    }

    /// A sum of so many products of bytes, where it was one of floats.
    fn bytes(&self, [a, b]: [Id; 2], many: (f64, f64)) -> Bounds {
        let [a, b] = [a, b].map(|id| self.get(id));
        let all = Bounds::all(Ty::F32);
        if let Some(why) = a.why.or(b.why) {
            return all.unknown(why);
        }
        if !many.1.is_finite() {
            return all.unknown(Why::Extent);
        }
        if !a.is_finite() || !b.is_finite() {
            return all.unknown(Why::Range);
        }
        // A step is the largest size of a row over 127, and what is rounded to steps is off by half of one, and by the rounding of its
        // quotient; where steps are too small to be divided by, so is all of the row.
        let [in_a, in_b] =
            [&a, &b].map(|side| Bounds { off: side.off + 0.5002 * side.reach() / 127.0 + 2f64.powi(-110), ..*side });
        let (low, high) = products((a.low, a.high), (b.low, b.high));
        let off = in_a.size() * in_b.off + in_b.size() * in_a.off + in_a.off * in_b.off;
        let term = Bounds { low, high, off, why: None };
        // Products of a small and a large scale lose what is below the smallest number.
        let lost = smallest(Ty::F32) * (a.reach() + b.reach() + many.1);
        let found = sum(Ty::F32, &term, many);
        Bounds { off: found.off + lost, ..found }
    }
}

/// A conversion, in both programs.
fn cast(to: Ty, of: &Bounds) -> Bounds {
    let all = Bounds::all(to);
    if of.is_exact() && !of.is_finite() {
        return all;
    }
    if let Some(why) = of.why {
        return all.unknown(why);
    }
    if !of.is_finite() {
        return all.unknown(Why::Range);
    }
    let (from, till) = of.around();
    match to {
        Ty::Bool if from > 0.0 || till < 0.0 => Bounds::point(1.0),
        Ty::Bool => Bounds { off: if of.is_exact() { 0.0 } else { 1.0 }, ..all },
        _ if to.is_float() => rounded(to, of.low, of.high, of.off, 0.0),
        // Toward zero; the largest and smallest stay.
        _ => {
            let off = if of.is_exact() { 0.0 } else { (of.off + 1.0).floor() };
            let found = rounded(to, of.low.floor(), of.high.ceil(), off, 0.0);
            Bounds { low: found.low.max(all.low), high: found.high.min(all.high), ..found }
        }
    }
}

/// A sum of terms, so many at least and at most; floats are added in any order.
fn sum(ty: Ty, term: &Bounds, (least, most): (f64, f64)) -> Bounds {
    let all = Bounds::all(ty);
    if let Some(why) = term.why {
        return all.unknown(why);
    }
    if !most.is_finite() || !term.is_finite() {
        let why = if most.is_finite() { Why::Range } else { Why::Extent };
        return if ty.is_float() || !term.is_exact() { all.unknown(why) } else { all };
    }
    let low = (least * term.low).min(most * term.low);
    let high = (least * term.high).max(most * term.high);
    let off = most * term.off;
    if !ty.is_float() {
        return rounded(ty, low, high, off, 0.0);
    }
    // Each of so many additions rounds once, in either program, whatever their order.
    let lost = (most + 4.0) * unit(ty) * 1.06;
    if lost > 0.1 {
        return all.unknown(Why::Large(ty));
    }
    let part = lost * most * (2.0 * term.size() + term.off);
    let slack = lost * most * term.size();
    rounded(ty, low - slack, high + slack, off + part, 0.0)
}
