//! How large positions get: which of a kernel's `i64`s fit 32 bits.
//!
//! SIR counts in `i64`; GPUs are happier, and listings shorter, with `u32` and `i32`. A position gets the narrowest of
//! `u32`, `i32`, `i64` that holds everything it can be. What this knows: constants, extents, places of threads,
//! counters of loops, and arithmetic on them. What it does not: data, states of loops, and what conditions imply.

use crate::code::{Body, Id, Op, Place, Type};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Ty, int_range};
use std::collections::HashMap;

/// Everything between two numbers, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub lo: i128,
    pub hi: i128,
}

impl Range {
    pub const FULL: Range = Range { lo: i64::MIN as i128, hi: i64::MAX as i128 };

    pub fn new(lo: i128, hi: i128) -> Range {
        Range { lo, hi }
    }

    pub fn of(ty: Ty) -> Range {
        let (lo, hi) = if ty == Ty::Bool { (0, 1) } else { int_range(ty) };
        Range { lo, hi }
    }

    pub fn within(self, outer: Range) -> bool {
        outer.lo <= self.lo && self.hi <= outer.hi
    }

    pub fn union(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The narrowest type that holds it.
    pub fn ty(self) -> Ty {
        [Ty::U32, Ty::I32].into_iter().find(|&ty| self.within(Range::of(ty))).unwrap_or(Ty::I64)
    }

    /// The range itself, unless it is past 64 bits: the value has wrapped around then.
    pub fn or_full(self) -> Range {
        if self.within(Range::FULL) { self } else { Range::FULL }
    }

    fn corners(self, other: Range, f: impl Fn(i128, i128) -> i128) -> Range {
        let at = [f(self.lo, other.lo), f(self.lo, other.hi), f(self.hi, other.lo), f(self.hi, other.hi)];
        Range { lo: at.into_iter().fold(at[0], i128::min), hi: at.into_iter().fold(at[0], i128::max) }
    }
}

/// The exact range of an operator's result, before it wraps around.
pub(crate) fn exact(operator: Operator, args: &[Range]) -> Option<Range> {
    Some(match (operator, args) {
        (Operator::Add, [a, b]) => Range::new(a.lo + b.lo, a.hi + b.hi),
        (Operator::Sub, [a, b]) => Range::new(a.lo - b.hi, a.hi - b.lo),
        (Operator::Mul, [a, b]) => a.corners(*b, |a, b| a * b),
        (Operator::Neg, [a]) => Range::new(-a.hi, -a.lo),
        (Operator::Fma, [a, b, c]) => {
            let product = a.corners(*b, |a, b| a * b);
            Range::new(product.lo + c.lo, product.hi + c.hi)
        }
        (Operator::Min, [a, b]) => Range::new(a.lo.min(b.lo), a.hi.min(b.hi)),
        (Operator::Max, [a, b]) => Range::new(a.lo.max(b.lo), a.hi.max(b.hi)),
        (Operator::Clamp, [x, low, high]) => Range::new(x.lo.max(low.lo).min(high.lo), x.hi.max(low.hi).min(high.hi)),
        // By zero it is the dividend, by anything else it is no further from zero.
        (Operator::Div, [a, b]) if b.lo > 0 => a.corners(*b, |a, b| a / b),
        (Operator::Div, [a, b]) if a.lo >= 0 && b.lo >= 0 => Range::new(0, a.hi),
        // Between two multiples of a number remainders only grow.
        (Operator::Rem, [a, b]) if a.lo >= 0 && b.lo > 0 && b.lo == b.hi && a.lo / b.lo == a.hi / b.lo => {
            Range::new(a.lo % b.lo, a.hi % b.lo)
        }
        (Operator::Rem, [a, b]) if a.lo >= 0 && b.lo >= 0 => Range::new(0, a.hi.min((b.hi - 1).max(0))),
        (Operator::Rem, [_, b]) => {
            let most = (b.lo.abs().max(b.hi.abs()) - 1).max(0);
            Range::new(-most, most)
        }
        (Operator::Select, [_, a, b]) => a.union(*b),
        (Operator::Abs, [a]) if a.lo >= 0 => *a,
        (Operator::And, [a, b]) if a.lo >= 0 && b.lo >= 0 => Range::new(0, a.hi.min(b.hi)),
        (Operator::Shr, [a, b]) if a.lo >= 0 && b.lo == b.hi && (0..63).contains(&b.lo) => {
            Range::new(a.lo >> b.lo, a.hi >> b.lo)
        }
        (Operator::Shl, [a, b]) if a.lo >= 0 && b.lo == b.hi && (0..63).contains(&b.lo) => {
            Range::new(a.lo << b.lo, a.hi << b.lo)
        }
        _ => return None,
    })
}

/// What sizes of a call are known not to exceed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    /// Positions of an axis.
    pub axis: u64,
    /// The value of any size that the code mentions, products of axes included.
    pub extent: u64,
}

/// What a size can be where every axis has at most `most` positions.
pub(super) fn of_size(size: &Size, most: u64) -> Range {
    let of = |size: &Size| of_size(size, most);
    let hi = match size {
        Size::Const(n) => return Range::new(*n as i128, *n as i128),
        Size::Var(_) => most as i128,
        Size::Add(a, b) => {
            let (a, b) = (of(a), of(b));
            return Range::new(a.lo + b.lo, (a.hi + b.hi).min(i64::MAX as i128));
        }
        Size::Mul(a, b) => of(a).hi.saturating_mul(of(b).hi),
        Size::Min(a, b) => of(a).hi.min(of(b).hi),
        Size::CeilDiv(a, n) => (of(a).hi + *n as i128 - 1) / (*n).max(1) as i128,
        Size::Tri(a) => of(a).hi.saturating_mul(of(a).hi + 1) / 2,
    };
    match size.constant() {
        Some(n) => Range::new(n as i128, n as i128),
        None => Range::new(0, hi.min(i64::MAX as i128)),
    }
}

/// The range of every `i64` of a kernel that has one. `threads` is how many threads there are.
pub(super) fn of_kernel(
    kernel: &Kernel,
    threads: &[Size; 3],
    most: Most,
    types: &HashMap<Id, Ty>,
) -> HashMap<Id, Range> {
    let mut analysis = Analysis { kernel, threads, most, types, ranges: HashMap::new() };
    analysis.body(&kernel.body);
    for function in &kernel.functions {
        analysis.body(&function.body);
    }
    analysis.ranges
}

struct Analysis<'k> {
    kernel: &'k Kernel,
    threads: &'k [Size; 3],
    most: Most,
    types: &'k HashMap<Id, Ty>,
    ranges: HashMap<Id, Range>,
}

impl Analysis<'_> {
    fn get(&self, id: Id) -> Range {
        let by_type = || self.types.get(&id).filter(|ty| !ty.is_float()).map_or(Range::FULL, |&ty| Range::of(ty));
        self.ranges.get(&id).copied().unwrap_or_else(by_type)
    }

    fn body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::If { args, then, otherwise, .. } => {
                    for body in [then, otherwise] {
                        for (param, arg) in body.params.iter().zip(args) {
                            if param.ty == Type::Scalar(Ty::I64) {
                                self.ranges.insert(param.id, self.get(*arg));
                            }
                        }
                        self.body(body);
                    }
                    for (bind, (a, b)) in stmt.binds.iter().zip(then.results.iter().zip(&otherwise.results)) {
                        if bind.ty == Type::Scalar(Ty::I64) {
                            self.ranges.insert(bind.id, self.get(*a).union(self.get(*b)));
                        }
                    }
                }
                Op::For { lo, hi, step, body, .. } => {
                    let (lo, hi, step) = (self.get(*lo), self.get(*hi), self.get(*step));
                    if let Some(counter) = body.params.first().filter(|p| p.ty == Type::Scalar(Ty::I64)) {
                        // The counter is also compared one step past the end.
                        let last = (hi.hi - 1).max(lo.lo);
                        let past = Range::new(lo.lo, (hi.hi - 1 + step.hi).max(lo.hi)).or_full();
                        let range = Range::new(lo.lo, last);
                        self.ranges.insert(counter.id, if past.ty() == range.ty() { range } else { past });
                    }
                    self.body(body);
                }
                op => {
                    if let [bind] = &stmt.binds[..] {
                        let range = if bind.ty == Type::Scalar(Ty::I64) { self.op(op) } else { None };
                        self.ranges.extend(range.map(|range| (bind.id, range)));
                    }
                    op.bodies().into_iter().for_each(|body| self.body(body));
                }
            }
        }
    }

    fn op(&self, op: &Op) -> Option<Range> {
        Some(match op {
            Op::Const(value) if value.ty == Ty::I64 => Range::new(value.as_int(), value.as_int()),
            Op::Extent(size) => self.extent(size),
            Op::Apply(operator, args) => {
                let args: Vec<Range> = args.iter().map(|&a| self.get(a)).collect();
                exact(*operator, &args)?.or_full()
            }
            Op::Place(place, d) => self.place(*place, *d as usize),
            Op::Cast(Ty::I64, arg) if !self.types.get(arg).is_some_and(|ty| ty.is_float()) => {
                let range = self.get(*arg);
                if range.within(Range::FULL) { range } else { Range::FULL }
            }
            _ => return None,
        })
    }

    fn extent(&self, size: &Size) -> Range {
        let range = of_size(size, self.most.axis);
        if size.constant().is_some() { range } else { Range::new(range.lo, range.hi.min(self.most.extent.into())) }
    }

    fn place(&self, place: Place, d: usize) -> Range {
        let below = |size: &Size| Range::new(0, (of_size(size, self.most.axis).hi - 1).clamp(0, u32::MAX as i128));
        let block = self.kernel.block.get(d).copied().unwrap_or(1) as i128;
        match place {
            Place::Global => below(&self.threads[d.min(2)]),
            Place::Local => Range::new(0, block - 1),
            Place::Block => below(&self.kernel.grid[d.min(2)]),
            Place::BlockDim => Range::new(block, block),
            Place::GridDim => {
                Range::new(0, of_size(&self.kernel.grid[d.min(2)], self.most.axis).hi.clamp(0, u32::MAX as i128))
            }
            Place::Lane => Range::new(0, 63),
            Place::SubgroupSize => Range::new(1, 64),
        }
    }
}
