//! One launch: the blocks of a grid, spread over the threads of the machine.
//!
//! Small launches stay on the calling thread: waking others costs more than the work. How the grid is cut
//! decides nothing but speed, since blocks do not see each other.

use super::threads;
use crate::cc::KernelFn;
use crate::driver::Few;
use crate::{Block, Error, Pool};
use std::ffi::c_void;

/// Below this much work, in elements streamed, a launch stays on the calling thread.
const ALONE: u64 = 1 << 16;
/// What a task should have at least, where it can.
const GRAIN: u64 = 1 << 14;
/// Many more tasks than threads, so that nobody waits long for the slowest: a core may be taken away for a while.
const TASKS_PER_THREAD: u64 = 64;
/// As many elements as this keep the threads of any machine busy.
pub(super) const PLENTY: u64 = GRAIN * TASKS_PER_THREAD * 1024;
/// Scratch memories start on cache lines.
const LINE: usize = 64;
/// Bytes between scratch memories. Where two start a multiple of 4,096 bytes apart, loads from one wait for stores to the other: the
/// processor compares the low bits of addresses first.
const APART: usize = 4 * LINE;

/// A launch, made ready.
pub(super) struct Launch<'a> {
    /// The code.
    pub(super) kernel: KernelFn,
    /// Addresses of the global and constant memories.
    pub(super) memories: &'a [*mut c_void],
    /// The scratch memories of a block.
    pub(super) scratch: &'a Layout,
    /// Scalar parameters.
    pub(super) scalars: &'a [u64],
    /// Size variables.
    pub(super) sizes: &'a [i64],
    /// Blocks of the grid.
    pub(super) blocks: u64,
    /// An estimate, in elements streamed.
    pub(super) work: u64,
}

// SAFETY: the pointers are only handed to the kernel, whose blocks may run at the same time by the promise of `run`.
unsafe impl Sync for Launch<'_> {}

/// Into how many tasks a launch is cut.
pub(super) fn tasks(work: u64, blocks: u64, threads: u64) -> u64 {
    if work < ALONE || threads < 2 {
        return 1;
    }
    work.div_ceil(GRAIN).clamp(2, TASKS_PER_THREAD * threads).min(blocks)
}

impl Launch<'_> {
    /// Runs every block of the grid.
    ///
    /// # Safety
    /// The kernel's library is loaded; the memories cover the kernel's shapes at these sizes and nobody else writes
    /// them, or reads those it writes, during the launch; the scratch sizes are those of the kernel; blocks do not race.
    pub(super) unsafe fn run(&self, pool: &Pool) -> Result<(), Error> {
        if self.blocks == 0 {
            return Ok(());
        }
        let threads = if self.work < ALONE { 1 } else { threads::count() as u64 };
        let tasks = tasks(self.work, self.blocks, threads);
        if tasks <= 1 {
            let own = self.take_scratch(pool)?;
            // SAFETY: the caller's promise; the scratch is this task's alone.
            unsafe { self.run_blocks(0, self.blocks as i64, &own) };
            return Ok(());
        }
        // All memory is taken before anything runs, so that there is one place to fail.
        let seats = tasks.min(threads) as usize;
        let scratch = (0..seats).map(|_| self.take_scratch(pool)).collect::<Result<Vec<_>, _>>()?;
        let border = |k: u64| (self.blocks as u128 * k as u128 / tasks as u128) as i64;
        threads::share(tasks, seats, &|seat, own| {
            for task in own {
                // SAFETY: the caller's promise; the scratch is this seat's alone.
                unsafe { self.run_blocks(border(task), border(task + 1), &scratch[seat]) };
            }
        });
        Ok(())
    }

    /// # Safety
    /// As [`Launch::run`], and the scratch is nobody else's.
    unsafe fn run_blocks(&self, begin: i64, end: i64, scratch: &Scratch) {
        let start = |(k, &offset): (usize, &usize)| match scratch {
            Scratch::None => std::ptr::null_mut(),
            Scratch::Together(block) => block.start().wrapping_add(offset).cast(),
            Scratch::Apart(blocks) => blocks[k].start().cast(),
        };
        let starts: Few<*mut c_void> = self.scratch.offsets.iter().enumerate().map(start).collect();
        let memories = self.memories.as_ptr();
        let sizes = self.sizes.as_ptr();
        let scalars = self.scalars.as_ptr();
        // SAFETY: the caller's promise; all lists outlive the call.
        unsafe { (self.kernel)(memories, starts.as_ptr(), scalars, sizes, begin, end) }
    }

    fn take_scratch(&self, pool: &Pool) -> Result<Scratch, Error> {
        let Layout { memories, bytes, .. } = self.scratch;
        if memories.is_empty() {
            return Ok(Scratch::None);
        }
        let take = |bytes: &usize| pool.take(*bytes, &"scratch memory");
        if pool.is_exact() {
            return Ok(Scratch::Apart(memories.iter().map(take).collect::<Result<_, _>>()?));
        }
        take(bytes).map(Scratch::Together)
    }
}

/// Where the scratch memories of a block are in the memory of its task.
pub(super) struct Layout {
    /// The bytes of each.
    memories: Vec<usize>,
    offsets: Vec<usize>,
    bytes: usize,
}

impl Layout {
    /// One behind the other, of so many bytes each.
    pub(super) fn new(memories: &[usize]) -> Result<Layout, Error> {
        let too_large = || Error::TooLarge {
            what: "the scratch memory of a block".to_string(),
            why: "it has more bytes than the address space".to_string(),
        };
        let mut offsets = vec![];
        let mut total = 0usize;
        for &bytes in memories {
            offsets.push(total);
            let room = bytes.checked_next_multiple_of(LINE).and_then(|room| room.checked_add(APART));
            total = room.and_then(|room| total.checked_add(room)).ok_or_else(too_large)?;
        }
        Ok(Layout { memories: memories.to_vec(), offsets, bytes: total })
    }
}

/// The scratch memories of one task.
enum Scratch {
    /// The kernel has none.
    None,
    /// One behind the other.
    Together(Block),
    /// Each in memory of its own, where a sanitizer looks on.
    Apart(Vec<Block>),
}

#[cfg(test)]
mod tests {
    use super::tasks;

    #[test]
    fn small_launches_stay_whole() {
        assert_eq!(tasks(100, 100, 8), 1);
        assert_eq!(tasks(1 << 30, 100, 1), 1);
        assert_eq!(tasks(1 << 30, 1, 8), 1);
        assert_eq!(tasks(1 << 15, 100, 8), 1);
        assert_eq!(tasks(1 << 16, 100, 8), 4);
        assert_eq!(tasks(1 << 17, 100, 8), 8);
        assert_eq!(tasks(1 << 30, 1000, 8), 512);
        assert_eq!(tasks(1 << 30, 20, 8), 20);
    }
}
