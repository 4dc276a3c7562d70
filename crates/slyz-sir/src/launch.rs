//! Kernels that people write: what is known before a launch says with how many threads.
//!
//! The size variables of such a kernel stand in one order, so that a launcher can fill them in without asking:
//! `grid_x grid_y grid_z` (blocks), `threads_x threads_y threads_z` (threads that were asked for), then the extents of the bound
//! memories, axis by axis. Its `block` is `[1, 1, 1]` and its grid `[grid_x, grid_y, grid_z]` until [`Template::shaped`] says more.
//!
//! Where an access is not known to be inside, an [`Op::Check`](crate::code::Op::Check) stands in front of it: inside or not, and if not, the fault is told.

use crate::kernel::Kernel;
use std::fmt;

/// Size variables in front of the extents: three for the grid, three for the threads.
pub const LAUNCH_SIZES: usize = 6;

/// A kernel without its launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    /// The code for one thread.
    pub kernel: Kernel,
    /// The elements of the kernel's constant memories, in the order of the memories; bits as in [`Scalar`](crate::types::Scalar).
    pub constants: Vec<Vec<u64>>,
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
