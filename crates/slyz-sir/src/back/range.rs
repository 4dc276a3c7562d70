//! How large positions get: which of a kernel's `i64`s fit 32 bits.
//!
//! SIR counts in `i64`; GPUs are happier, and listings shorter, with `u32` and `i32`. A position gets the narrowest of
//! `u32`, `i32`, `i64` that holds everything it can be. What this knows: constants, extents, places of threads,
//! counters of loops, and arithmetic on them. What it does not: data, states of loops, and what conditions imply.

use crate::code::{Body, Id, Op, Place, Type};
use crate::kernel::Kernel;
pub(crate) use crate::range::{Range, counts_width, exact};
use crate::size::Size;
use crate::types::Ty;
use std::collections::HashMap;

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
