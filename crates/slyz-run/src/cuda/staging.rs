//! Large transfers: several threads copy pieces to or from memory that the GPU reads and writes by itself, while it does.
//!
//! ```text
//! worker 0   │ copy piece 0 │ copy piece 2 │ copy piece 4 │ …       between the host's array and locked memory
//! worker 1   │ copy piece 1 │ copy piece 3 │ …
//! GPU                       │ 0 │ 1 │ 2    │ 3 │ …                  between locked memory and its own
//! ```
//!
//! The driver alone does it with one thread, and fresh memory of the host costs that thread more than the copy.

use super::opened::Opened;
use crate::Error;
use cudarc::driver::{result, sys};
use std::sync::{Mutex, PoisonError};

/// Bytes from which it pays.
pub(super) const LARGE: usize = 8 << 20;
/// Bytes of a piece.
const PIECE: usize = 2 << 20;
/// The most threads that copy.
const WORKERS: usize = 8;
/// Pieces of a worker that are under way.
const SLOTS: usize = 2;

/// Locked memory, and for each piece of it what says that the GPU is done with it.
pub(super) struct Staging {
    start: *mut u8,
    /// One transfer has it all.
    done: Mutex<Vec<sys::CUevent>>,
    workers: usize,
}

// SAFETY: the memory is only used by who has the lock, by workers of its own, each at pieces of its own.
unsafe impl Send for Staging {}
// SAFETY: the same.
unsafe impl Sync for Staging {}

/// What a worker does with its slots; workers have numbers.
type Work<'a> = dyn Fn(&[Slot], usize) -> Result<(), result::DriverError> + Sync + 'a;

/// A piece of locked memory that a worker has.
struct Slot {
    start: *mut u8,
    done: sys::CUevent,
}

// SAFETY: it is one worker's.
unsafe impl Send for Slot {}

impl Staging {
    /// `None` where the system does not lock so much memory.
    pub(super) fn new(opened: &Opened) -> Option<Staging> {
        opened.enter().ok()?;
        let workers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(WORKERS);
        let slots = workers * SLOTS;
        // SAFETY: the context is entered; the memory stays until the process ends.
        let start = unsafe { result::malloc_host(slots * PIECE, 0) }.ok()?.cast::<u8>();
        let event = |_| result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).ok();
        let done = (0..slots).map(event).collect::<Option<Vec<_>>>()?;
        Some(Staging { start, done: Mutex::new(done), workers })
    }

    /// Runs all workers.
    fn share(&self, opened: &Opened, work: &Work<'_>) -> Result<(), Error> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = |worker: usize| -> Vec<Slot> {
            let numbers = worker * SLOTS..(worker + 1) * SLOTS;
            // SAFETY: there are so many pieces.
            numbers.map(|n| Slot { start: unsafe { self.start.add(n * PIECE) }, done: done[n] }).collect()
        };
        let outcomes: Vec<Result<(), Error>> = std::thread::scope(|scope| {
            let failed = |why: String| Error::Driver { what: "a transfer".to_string(), why };
            let start = |worker: usize| {
                let slots = slots(worker);
                // The system may have no thread left.
                std::thread::Builder::new().spawn_scoped(scope, move || {
                    opened.enter()?;
                    work(&slots, worker).map_err(|error| opened.trouble(error, &"a transfer", 0))
                })
            };
            let workers: Vec<_> = (0..self.workers).map(start).collect();
            let end = |worker: std::io::Result<std::thread::ScopedJoinHandle<'_, Result<(), Error>>>| {
                let worker = worker.map_err(|error| failed(error.to_string()))?;
                worker.join().unwrap_or_else(|_| Err(failed("its thread ended".to_string())))
            };
            workers.into_iter().map(end).collect()
        });
        outcomes.into_iter().collect()
    }

    /// The pieces of a worker: their numbers, where they start, and how long they are.
    fn pieces(&self, worker: usize, bytes: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let starts = (worker * PIECE..bytes).step_by(self.workers * PIECE);
        starts.enumerate().map(move |(number, start)| (number, start, PIECE.min(bytes - start)))
    }

    /// Copies to the GPU. The host's memory has been read when this comes back; the GPU's is written in the order of the stream.
    ///
    /// # Safety
    /// There are so many bytes at the address.
    pub(super) unsafe fn upload(&self, opened: &Opened, to: sys::CUdeviceptr, from: &[u8]) -> Result<(), Error> {
        self.share(opened, &|slots, worker| {
            for (number, start, length) in self.pieces(worker, from.len()) {
                let slot = &slots[number % SLOTS];
                // SAFETY: the slot is this worker's, and what was copied from it is there; it has the bytes of a piece, and the
                // caller's promise is for the address.
                unsafe {
                    result::event::synchronize(slot.done)?;
                    let locked = std::slice::from_raw_parts_mut(slot.start, length);
                    locked.copy_from_slice(&from[start..start + length]);
                    result::memcpy_htod_async(to + start as u64, locked, opened.stream)?;
                    result::event::record(slot.done, opened.stream)?;
                }
            }
            Ok(())
        })
    }

    /// Copies from the GPU, behind all work that it was given.
    ///
    /// # Safety
    /// There are so many bytes at the address.
    pub(super) unsafe fn download(
        &self,
        opened: &Opened,
        from: sys::CUdeviceptr,
        into: &mut [u8],
    ) -> Result<(), Error> {
        let bytes = into.len();
        let goal = Goal(into.as_mut_ptr());
        self.share(opened, &|slots, worker| {
            let goal = &goal;
            let fetch = |number: usize, start: usize, length: usize| {
                let slot = &slots[number % SLOTS];
                // SAFETY: as above.
                unsafe {
                    result::event::synchronize(slot.done)?;
                    let locked = std::slice::from_raw_parts_mut(slot.start, length);
                    result::memcpy_dtoh_async(locked, from + start as u64, opened.stream)?;
                    result::event::record(slot.done, opened.stream)
                }
            };
            let mut pieces = self.pieces(worker, bytes);
            let mut next = pieces.next();
            if let Some((number, start, length)) = next {
                fetch(number, start, length)?;
            }
            while let Some((number, start, length)) = next {
                next = pieces.next();
                if let Some((number, start, length)) = next {
                    fetch(number, start, length)?;
                }
                let slot = &slots[number % SLOTS];
                // SAFETY: the piece is there, and this part of the goal is nobody else's.
                unsafe {
                    result::event::synchronize(slot.done)?;
                    std::ptr::copy_nonoverlapping(slot.start, goal.0.add(start), length);
                }
            }
            Ok(())
        })
    }
}

/// Where what is downloaded goes.
struct Goal(*mut u8);

// SAFETY: workers write to parts of their own.
unsafe impl Sync for Goal {}
