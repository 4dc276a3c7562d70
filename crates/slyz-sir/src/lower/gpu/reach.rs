//! Which elements of its memories some blocks of a kernel can touch, given the sizes of a call.
//!
//! Every `i64` of the kernel gets the range of what it can be in these blocks, from places, extents, counters of loops and
//! arithmetic on them; an access touches what lies between the ends of its index. What this does not know: data and states
//! of loops, which may be anything, and what follows from a condition that some of the blocks meet. So the answer is never too small, and exact for code whose
//! blocks work on pieces of arrays.

use crate::code::{Body, Id, MemId, Op, Place, Type};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::range::{Range, exact};
use crate::size::{Size, SizeError, SizeVar};
use crate::types::{Ty, int_range};
use std::collections::HashMap;

/// Past it, an index is not the result of arithmetic on positions.
const POSITIONS: Range = Range { lo: -(1 << 62), hi: 1 << 62 };

/// What blocks touch of one memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// Flat positions.
    pub elements: std::ops::Range<u64>,
    /// Some index may be anything.
    pub anywhere: bool,
}

/// What the blocks touch of each memory of the kernel.
pub(super) fn reach(
    kernel: &Kernel,
    sizes: &[Option<u64>],
    blocks: &[std::ops::Range<u64>; 3],
) -> Result<Vec<Reach>, SizeError> {
    let nothing = || Reach { elements: 0..0, anywhere: false };
    let touched = kernel.memories.iter().map(|_| nothing()).collect();
    let mut walk = Walk { kernel, sizes, blocks, ranges: HashMap::new(), touched };
    walk.body(&kernel.body)?;
    Ok(walk.touched)
}

/// The range of every integer of the kernel that has one in a launch with these sizes.
#[cfg(feature = "naga")]
pub(crate) fn ranges(kernel: &Kernel, sizes: &[Option<u64>]) -> Result<HashMap<Id, Range>, SizeError> {
    let mut blocks = [0..1, 0..1, 0..1];
    for (blocks, size) in blocks.iter_mut().zip(&kernel.grid) {
        blocks.end = value(size, sizes)?.max(1);
    }
    let touched = kernel.memories.iter().map(|_| Reach { elements: 0..0, anywhere: false }).collect();
    let mut walk = Walk { kernel, sizes, blocks: &blocks, ranges: HashMap::new(), touched };
    walk.body(&kernel.body)?;
    Ok(walk.ranges)
}

/// The value of a size of the call.
pub(super) fn value(size: &Size, sizes: &[Option<u64>]) -> Result<u64, SizeError> {
    size.eval(&|SizeVar(v)| sizes.get(v as usize).copied().flatten())
}

const NO: Range = Range { lo: 0, hi: 0 };
const YES: Range = Range { lo: 1, hi: 1 };

/// What a condition on integers is where ranges tell.
fn holds(operator: Operator, args: &[Range]) -> Option<Range> {
    let known = |no: bool, yes: bool| no.then_some(NO).or(yes.then_some(YES));
    match (operator, args) {
        (Operator::Lt, [a, b]) => known(a.lo >= b.hi, a.hi < b.lo),
        (Operator::Ge, [a, b]) => known(a.hi < b.lo, a.lo >= b.hi),
        (Operator::Gt, [a, b]) => known(a.hi <= b.lo, a.lo > b.hi),
        (Operator::Le, [a, b]) => known(a.lo > b.hi, a.hi <= b.lo),
        (Operator::And, [a, b]) if [a, b].iter().all(|x| x.within(Range::new(0, 1))) => {
            Some(Range::new(a.lo * b.lo, a.hi * b.hi))
        }
        (Operator::And, [a, b]) => known(*a == NO || *b == NO, false),
        _ => None,
    }
}

struct Walk<'k> {
    kernel: &'k Kernel,
    sizes: &'k [Option<u64>],
    blocks: &'k [std::ops::Range<u64>; 3],
    /// Of integers; what is not here may be anything.
    ranges: HashMap<Id, Range>,
    touched: Vec<Reach>,
}

impl Walk<'_> {
    fn get(&self, id: Id) -> Range {
        self.ranges.get(&id).copied().unwrap_or(Range::FULL)
    }

    fn body(&mut self, body: &Body) -> Result<(), SizeError> {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::If { cond, args, then, otherwise } => {
                    // A side that none of the blocks takes does not count: the end of an array has one of its own.
                    let sides = match self.get(*cond) {
                        NO => vec![otherwise],
                        YES => vec![then],
                        _ => vec![then, otherwise],
                    };
                    for side in &sides {
                        for (param, arg) in side.params.iter().zip(args) {
                            self.ranges.insert(param.id, self.get(*arg));
                        }
                        self.body(side)?;
                    }
                    for (k, bind) in stmt.binds.iter().enumerate() {
                        let results = sides.iter().map(|side| self.get(side.results[k]));
                        let range = results.reduce(Range::union).unwrap_or(Range::FULL);
                        self.ranges.insert(bind.id, range);
                    }
                }
                Op::For { lo, hi, body, .. } => {
                    let (lo, hi) = (self.get(*lo), self.get(*hi));
                    if let Some(counter) = body.params.first() {
                        self.ranges.insert(counter.id, Range::new(lo.lo, (hi.hi - 1).max(lo.lo)));
                    }
                    self.body(body)?;
                }
                Op::Load { memory, index } => self.touch(*memory, index, stmt.binds.len())?,
                Op::Store { memory, index, values } => self.touch(*memory, index, values.len())?,
                Op::Atomic { memory, index, .. } => self.touch(*memory, index, 1)?,
                op => {
                    // Other types wrap around elsewhere.
                    if let [bind] = &stmt.binds[..]
                        && matches!(bind.ty, Type::Scalar(Ty::I64 | Ty::Bool))
                        && let Some(range) = self.op(op)?
                    {
                        self.ranges.insert(bind.id, range);
                    }
                    op.bodies().into_iter().try_for_each(|body| self.body(body))?;
                }
            }
            // What a narrow type holds is known even of data.
            for bind in &stmt.binds {
                if let Type::Scalar(ty) = bind.ty
                    && !self.ranges.contains_key(&bind.id)
                    && ty.is_int()
                    && ty.bits() <= 32
                {
                    let (lo, hi) = int_range(ty);
                    self.ranges.insert(bind.id, Range::new(lo, hi));
                }
            }
        }
        Ok(())
    }

    fn op(&self, op: &Op) -> Result<Option<Range>, SizeError> {
        let exactly = |n: i128| Some(Range::new(n, n));
        Ok(match op {
            Op::Const(value) if value.ty == Ty::I64 => exactly(value.as_int()),
            Op::Extent(size) => exactly(value(size, self.sizes)?.into()),
            Op::Apply(operator, args) => {
                let args: Vec<Range> = args.iter().map(|&arg| self.get(arg)).collect();
                holds(*operator, &args).or_else(|| exact(*operator, &args).map(Range::or_full))
            }
            Op::Cast(Ty::I64, arg) => self.ranges.get(arg).copied(),
            Op::Place(place, dimension) => Some(self.place(*place, usize::from(*dimension).min(2))?),
            _ => None,
        })
    }

    fn place(&self, place: Place, d: usize) -> Result<Range, SizeError> {
        let (blocks, threads) = (&self.blocks[d], i128::from(self.kernel.block[d]));
        let (first, past) = (i128::from(blocks.start), i128::from(blocks.end));
        Ok(match place {
            Place::Global => Range::new(first * threads, past * threads - 1),
            Place::Local => Range::new(0, threads - 1),
            Place::Block => Range::new(first, past - 1),
            Place::BlockDim => Range::new(threads, threads),
            Place::GridDim => {
                let blocks = value(&self.kernel.grid[d], self.sizes)?.into();
                Range::new(blocks, blocks)
            }
            Place::Lane => Range::new(0, 127),
            Place::SubgroupSize => Range::new(1, 128),
        })
    }

    /// An access to consecutive elements. It is inside the memory, whatever the ranges of its index allow.
    fn touch(&mut self, MemId(memory): MemId, index: &[Id], count: usize) -> Result<(), SizeError> {
        let (mut first, mut last, mut known) = (0u64, 0u64, true);
        for (axis, &id) in self.kernel.memories[memory as usize].shape.iter().zip(index) {
            let (extent, range) = (value(axis, self.sizes)?, self.get(id));
            let Some(most) = extent.checked_sub(1) else { return Ok(()) };
            known &= range.within(POSITIONS);
            let inside = |n: i128| n.clamp(0, most.into()) as u64;
            let next = |flat: u64, n: i128| flat.checked_mul(extent).and_then(|flat| flat.checked_add(inside(n)));
            first = next(first, range.lo).ok_or(SizeError::Overflow)?;
            last = next(last, range.hi).ok_or(SizeError::Overflow)?;
        }
        let all = Size::product(&self.kernel.memories[memory as usize].shape);
        let past = (last + count as u64).min(value(&all, self.sizes)?);
        let touched = &mut self.touched[memory as usize];
        let old = touched.elements.clone();
        touched.elements = if old.is_empty() { first..past } else { old.start.min(first)..old.end.max(past) };
        touched.anywhere |= !known;
        Ok(())
    }
}
