//! Kernels that people write: what is known before a launch says with how many threads.
//!
//! The size variables of such a kernel stand in one order, so that a launcher can fill them in without asking:
//! `grid_x grid_y grid_z` (blocks), `threads_x threads_y threads_z` (threads that were asked for), then the extents of the bound
//! memories, axis by axis. Its `block` is `[1, 1, 1]` and its grid `[grid_x, grid_y, grid_z]` until [`Template::shaped`] says more.
//!
//! Where an access is not known to be inside, an [`Op::Check`] stands in front of it: inside or not, and if not, the fault is told.

use crate::code::{Body, Op, Place};
use crate::kernel::{Kernel, Memory, Space};
use std::fmt;

/// Size variables in front of the extents: three for the grid, three for the threads.
pub const LAUNCH_SIZES: usize = 6;

/// The most threads along an axis. A launcher refuses more, so that code may add small numbers to the index of a thread and
/// know that nothing wraps around.
pub const MOST_THREADS: u64 = 1 << 48;

/// The most blocks along an axis of a grid over which blocks are folded ([`Template::shaped`]): what every GPU has.
pub const MOST_FOLDED: u64 = 65_535;

/// The most threads of a subgroup on any device: what WGSL allows, and as many bits as a ballot of Vulkan has.
pub const LARGEST_SUBGROUP: u32 = 128;

/// A kernel without its launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    /// The code for one thread.
    pub kernel: Kernel,
    /// The elements of the kernel's constant memories, in the order of the memories; bits as in [`Scalar`](crate::types::Scalar).
    pub constants: Vec<Vec<u64>>,
}

impl Template {
    /// Do its threads meet: at barriers, or in what a subgroup does together?
    pub fn meets(&self) -> bool {
        holds(&self.kernel.body, &|op| {
            matches!(
                op,
                Op::Barrier(_)
                    | Op::Subgroup(..)
                    | Op::Mma(..)
                    | Op::LoadFragment { .. }
                    | Op::Lanes { .. }
                    | Op::Prefixes { .. }
            )
        })
    }

    /// Does it see how its threads are grouped: by where they stand in a block or subgroup, or by memory that a block shares?
    pub fn sees_blocks(&self) -> bool {
        let shares = |m: &Memory| match m.space {
            Space::Shared | Space::Scratch => true,
            Space::Global(_) | Space::Constant | Space::Local => false,
        };
        self.kernel.memories.iter().any(shares)
            || holds(&self.kernel.body, &|op| match op {
                Op::Place(place, _) => *place != Place::Global,
                _ => false,
            })
    }

    /// How many axes of threads it reads: the highest dimension of a place, and one. Zero where all threads do the same.
    pub fn axes(&self) -> usize {
        (0..3)
            .rev()
            .find(|&d| holds(&self.kernel.body, &|op| matches!(op, Op::Place(_, at) if *at == d)))
            .map_or(0, |d| usize::from(d) + 1)
    }

    /// May its blocks be counted over x and y of a grid ([`Template::shaped`])? Only where nobody could tell.
    pub fn folds(&self) -> bool {
        self.axes() <= 1 && !self.meets() && !self.sees_blocks()
    }
}

/// Is there such an operation anywhere in the code?
fn holds(body: &Body, wanted: &dyn Fn(&Op) -> bool) -> bool {
    body.stmts.iter().any(|stmt| wanted(&stmt.op) || stmt.op.bodies().into_iter().any(|inner| holds(inner, wanted)))
}

/// An access outside a memory, refused by a check: it read and wrote nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Name of the kernel.
    pub kernel: String,
    /// Name of the tensor or array.
    pub memory: String,
    /// Where it was accessed.
    pub index: Vec<i64>,
    /// Its extents.
    pub shape: Vec<u64>,
    /// The thread's index in the whole grid.
    pub thread: [u64; 3],
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let list = |numbers: &[String]| numbers.join(", ");
        let index: Vec<String> = self.index.iter().map(i64::to_string).collect();
        let shape: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let [x, y, z] = self.thread;
        write!(
            f,
            "kernel `{}`: `{}[{}]` is out of bounds in thread ({x}, {y}, {z}): its shape is [{}]. That access read and \
             wrote nothing; guard it with an `if`, or launch fewer threads",
            self.kernel,
            self.memory,
            list(&index),
            list(&shape)
        )
    }
}
