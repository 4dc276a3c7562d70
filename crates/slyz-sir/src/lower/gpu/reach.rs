//! Which elements of its memories some blocks of a kernel can touch, given the sizes of a call.
//!
//! An access touches what lies between the ends of its index, in these blocks (`ranges`). What this does not know: data, which
//! may be anything, and what follows from a condition that some of the blocks meet. So the answer is never too small, and exact for code whose
//! blocks work on pieces of arrays.

use crate::code::{Id, MemId, Op, Stmt};
use crate::kernel::Kernel;
use crate::ranges::{self, Ask, Facts, Range, Walk};
use crate::size::{Size, SizeError, SizeVar};

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
    let mut touches = Touches { kernel, sizes, touched, failed: None };
    ranges::walk(kernel, &Facts::of_call(sizes).in_blocks(blocks), &mut touches);
    touches.failed.map_or(Ok(touches.touched), Err)
}

/// The value of a size of the call.
pub(super) fn value(size: &Size, sizes: &[Option<u64>]) -> Result<u64, SizeError> {
    size.eval(&|SizeVar(v)| sizes.get(v as usize).copied().flatten())
}

/// Notes what every access touches.
struct Touches<'k> {
    kernel: &'k Kernel,
    sizes: &'k [Option<u64>],
    touched: Vec<Reach>,
    failed: Option<SizeError>,
}

impl Ask for Touches<'_> {
    fn at(&mut self, walk: &Walk, stmt: &Stmt) {
        let touched = match &stmt.op {
            Op::Load { memory, index } => self.touch(walk, *memory, index, stmt.binds.len()),
            Op::Store { memory, index, values } => self.touch(walk, *memory, index, values.len()),
            Op::Atomic { memory, index, .. } => self.touch(walk, *memory, index, 1),
            _ => Ok(()),
        };
        self.failed = self.failed.take().or(touched.err());
    }
}

impl Touches<'_> {
    /// An access to consecutive elements. It is inside the memory, whatever the ranges of its index allow.
    fn touch(&mut self, walk: &Walk, MemId(memory): MemId, index: &[Id], count: usize) -> Result<(), SizeError> {
        let (mut first, mut last, mut known) = (0u64, 0u64, true);
        for (axis, &id) in self.kernel.memories[memory as usize].shape.iter().zip(index) {
            let extent = value(axis, self.sizes)?;
            let range = walk.refined(id);
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
