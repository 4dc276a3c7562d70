//! One launch: the blocks of a grid, spread over the threads of the machine.
//!
//! Small launches stay on the calling thread: waking others costs more than the work. How the grid is cut
//! decides nothing but speed, since blocks do not see each other.

use super::library::KernelFn;
use crate::{Block, Error, Pool};
use rayon::prelude::*;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// Below this much work, in elements streamed, a launch stays on the calling thread.
const ALONE: u64 = 1 << 17;
/// What a task should have at least, where it can.
const GRAIN: u64 = 1 << 16;
/// Many more tasks than threads, so that nobody waits long for the slowest: a core may be taken away for a while.
const TASKS_PER_THREAD: u64 = 64;
/// Scratch memories start on cache lines.
const LINE: usize = 64;

/// A launch, made ready.
pub(super) struct Launch<'a> {
    /// The code.
    pub(super) kernel: KernelFn,
    /// Addresses of the global and constant memories.
    pub(super) memories: &'a [*mut c_void],
    /// Bytes of each scratch memory of a block.
    pub(super) scratch: &'a [usize],
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
        let threads = rayon::current_num_threads() as u64;
        let tasks = tasks(self.work, self.blocks, threads).max(1);
        // All memory is taken before anything runs, so that there is one place to fail. A task borrows what the task before
        // it on some thread gave back: it is in the cache still.
        let scratch = (0..tasks.min(threads)).map(|_| self.take_scratch(pool)).collect::<Result<Vec<_>, _>>()?;
        let scratch = Mutex::new(scratch);
        let task = |task: u64| {
            let border = |k: u64| (self.blocks as u128 * k as u128 / tasks as u128) as i64;
            let own = borrow(&scratch);
            // SAFETY: the caller's promise; the scratch is this task's alone until it is given back.
            unsafe { self.run_blocks(border(task), border(task + 1), &own) };
            scratch.lock().unwrap_or_else(PoisonError::into_inner).push(own);
        };
        if tasks == 1 {
            task(0);
        } else {
            (0..tasks as usize).into_par_iter().with_max_len(1).for_each(|k| task(k as u64));
        }
        Ok(())
    }

    /// # Safety
    /// As [`Launch::run`], and the scratch is nobody else's.
    unsafe fn run_blocks(&self, begin: i64, end: i64, scratch: &Scratch) {
        let start = |(k, &offset): (usize, &usize)| {
            let block = scratch.blocks.get(k).or(scratch.blocks.last());
            block.map_or(std::ptr::null_mut(), |b| b.start().wrapping_add(offset).cast())
        };
        let starts: Vec<*mut c_void> = scratch.offsets.iter().enumerate().map(start).collect();
        let (memories, sizes, scalars) = (self.memories.as_ptr(), self.sizes.as_ptr(), self.scalars.as_ptr());
        // SAFETY: the caller's promise; all lists outlive the call.
        unsafe { (self.kernel)(memories, starts.as_ptr(), scalars, sizes, begin, end) }
    }

    fn take_scratch(&self, pool: &Pool) -> Result<Scratch, Error> {
        let too_large = || Error::TooLarge {
            what: "the scratch memory of a block".to_string(),
            why: "it has more bytes than the address space".to_string(),
        };
        if pool.is_exact() {
            let blocks = self.scratch.iter().map(|&bytes| pool.take(bytes, &"scratch memory"));
            return Ok(Scratch { offsets: vec![0; self.scratch.len()], blocks: blocks.collect::<Result<_, _>>()? });
        }
        let (mut offsets, mut total) = (vec![], 0usize);
        for &bytes in self.scratch {
            offsets.push(total);
            let room = bytes.checked_next_multiple_of(LINE).and_then(|room| total.checked_add(room));
            total = room.ok_or_else(too_large)?;
        }
        let blocks = if offsets.is_empty() { vec![] } else { vec![pool.take(total, &"scratch memory")?] };
        Ok(Scratch { offsets, blocks })
    }
}

/// Takes one of the scratches. There are as many as threads, so somebody who waits here waits for a task that runs.
fn borrow(scratch: &Mutex<Vec<Scratch>>) -> Scratch {
    loop {
        if let Some(own) = scratch.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return own;
        }
        std::thread::yield_now();
    }
}

/// The scratch memories of one task: in one block, or, where a sanitizer looks on, each in its own.
struct Scratch {
    offsets: Vec<usize>,
    blocks: Vec<Block>,
}

#[cfg(test)]
mod tests {
    use super::tasks;

    #[test]
    fn small_launches_stay_whole() {
        assert_eq!(tasks(100, 100, 8), 1);
        assert_eq!(tasks(1 << 30, 100, 1), 1);
        assert_eq!(tasks(1 << 30, 1, 8), 1);
        assert_eq!(tasks(1 << 16, 100, 8), 1);
        assert_eq!(tasks(1 << 17, 100, 8), 2);
        assert_eq!(tasks(1 << 19, 100, 8), 8);
        assert_eq!(tasks(1 << 30, 1000, 8), 512);
        assert_eq!(tasks(1 << 30, 20, 8), 20);
    }
}
