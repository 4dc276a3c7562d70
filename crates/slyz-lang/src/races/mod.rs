//! Threads of a block that meet at an element of threadgroup memory with no barrier between them.
//!
//! A kernel is run without its data: one small block of threads in step, where numbers that follow from the index of a thread are known
//! and what comes from memory is not. Every access since the last barrier is remembered; a second one by another thread to the same element, one
//! of the two a write, is a race.
//!
//! ```text
//! tile[t] = x[i]               thread 1 writes tile[1]
//! out[i] = tile[t + 1]         thread 0 reads tile[1]: nothing orders the two
//! ```
//!
//! Parts: `value` is what threads know of a number, `run` runs statements, `log` remembers accesses.
//!
//! A race is *sure* where both accesses surely happen and their indices are known. Where a condition or an index is not, or hangs on what
//! the launch passes, it is possible only. What is not found: races that need larger blocks, more turns than are tried, or other scalars than
//! the ones that are tried. The interpreter finds those, with the data at hand.

mod log;
mod run;
mod value;

use crate::lower::Placed;
use crate::span::Span;
use log::Touched;
use slyz_sir::code::{Op, Place};
use slyz_sir::kernel::{Kernel, Space};

/// The threads of the block that is tried, by the number of axes along which threads can tell where they stand.
///
/// Small, because code for blocks of one size counts in steps of it: what is a race in a larger block may be none in the block that is meant.
const BLOCKS: [&[u32]; 4] = [&[], &[16], &[4, 4], &[2, 2, 2]];

/// What launches pass for integers, and whether that is likely: more than a block has threads, and next to nothing.
const PASSED: [(u32, bool); 2] = [(70, true), (1, false)];

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Touch {
    Read,
    Write,
    Atomic,
}

/// One side of a race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub touch: Touch,
    pub thread: [u32; 3],
    pub span: Span,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    pub memory: String,
    /// The element, where its index is known.
    pub index: Option<Vec<i64>>,
    pub first: Side,
    pub second: Side,
    /// It happens in every launch with a block of some size.
    pub sure: bool,
    /// Axes along which threads differ.
    pub axes: usize,
}

/// The races of a kernel: one for each access that comes second.
pub(crate) fn find(placed: &Placed) -> Vec<Race> {
    let kernel = &placed.template.kernel;
    let shared = |m: &slyz_sir::kernel::Memory| m.space == Space::Shared;
    let Some(block) = block(kernel).filter(|_| kernel.memories.iter().any(shared)) else { return vec![] };
    let axes = (0..3).rev().find(|&d| block[d] > 1).map_or(1, |d| d + 1);
    let mut found = log::Found::new();
    for (passed, likely) in PASSED {
        for (access, touched) in run::run(kernel, block, passed) {
            let sure = touched.sure && likely;
            if found.get(&access).is_none_or(|known| sure && !known.sure) {
                found.insert(access, Touched { sure, ..touched });
            }
        }
    }
    let race = |touched: Touched| {
        let side = |(touch, thread, access): (Touch, u32, usize)| {
            let span = placed.accesses.get(access).copied().unwrap_or_default();
            Side { touch, thread: value::position(block, thread), span }
        };
        let declared = &kernel.memories[touched.memory.0 as usize];
        let memory = declared.name.clone();
        let rank = declared.shape.len();
        let index = touched.index.map(|index| index.into_iter().take(rank).collect());
        let first = side(touched.first);
        let second = side(touched.second);
        Race { memory, index, first, second, sure: touched.sure, axes }
    };
    found.into_values().map(race).collect()
}

/// The block to try. An axis of which only the index in the whole grid is read may have blocks of one thread.
fn block(kernel: &Kernel) -> Option<[u32; 3]> {
    let mut reads = [[false; 3]; 2];
    each_op(&kernel.body, &mut |op| {
        let Op::Place(place, d) = op else { return };
        match place {
            Place::Local => reads[0][usize::from(*d) % 3] = true,
            Place::Global => reads[1][usize::from(*d) % 3] = true,
            Place::Lane => reads[0][0] = true,
            Place::Block | Place::BlockDim | Place::GridDim | Place::SubgroupSize => {}
        }
    });
    let axes = if reads[0].contains(&true) { reads[0] } else { reads[1] };
    let mut extents = BLOCKS[axes.iter().filter(|&&read| read).count()].iter();
    let block = axes.map(|read| if read { extents.next().copied().unwrap_or(1) } else { 1 });
    axes.contains(&true).then_some(block)
}

fn each_op(body: &slyz_sir::code::Body, f: &mut dyn FnMut(&Op)) {
    for stmt in &body.stmts {
        f(&stmt.op);
        stmt.op.bodies().into_iter().for_each(|body| each_op(body, f));
    }
}
