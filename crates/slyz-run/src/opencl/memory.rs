//! Memory of a device: pieces that are used again, up to a bound on what is kept.

use super::found::OpenClSummary;
use super::opened::Opened;
use crate::Error;
use crate::driver::stock::{Numbered, Stock, rounded};
use crate::pool::mebibytes;
use opencl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use opencl3::types::cl_mem;
use std::fmt::Display;
use std::ptr::null_mut;
use std::sync::Arc;

/// What is kept of memory that the device shares with the host.
const KEPT_BYTES: u64 = 512 << 20;

/// The memory of a device.
pub(super) struct Memory {
    stock: Stock<(), Arc<Piece>>,
    largest: u64,
}

/// A piece of memory. The driver frees it when the work on it is done.
pub(super) struct Piece(pub(super) cl_mem);

// SAFETY: the driver's handles may be used by any thread.
unsafe impl Send for Piece {}
// SAFETY: the same.
unsafe impl Sync for Piece {}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody has it any more.
        let _ = unsafe { release_mem_object(self.0) };
    }
}

impl Memory {
    /// A CPU promises what the host does not have: the last of it is not asked for.
    pub(super) fn new(summary: &OpenClSummary) -> Memory {
        let kept = if summary.software { KEPT_BYTES } else { summary.memory / 2 };
        let most = if summary.software { summary.memory / 10 * 9 } else { u64::MAX };
        let kept = mebibytes("SLYZ_GPU_POOL_MB", std::env::var("SLYZ_GPU_POOL_MB").ok(), kept);
        Memory { stock: Stock::new(kept, most), largest: summary.array }
    }

    /// Keeps a piece for others. What the device still does with it comes before what they do.
    pub(super) fn keep(&self, piece: Numbered<Arc<Piece>>) {
        drop(self.stock.keep((), piece));
    }
}

/// Memory of at least that many bytes.
///
/// Where the driver has none, all that is kept goes back, the device is waited for, and the driver is asked once more.
pub(super) fn take(opened: &Opened, bytes: u64, what: &dyn Display) -> Result<Numbered<Arc<Piece>>, Error> {
    opened.alive()?;
    let memory = &opened.memory;
    if bytes > memory.largest {
        return Err(Error::TooLarge {
            what: what.to_string(),
            why: format!("{bytes} bytes, and an array of this device has at most {}", memory.largest),
        });
    }
    // Accesses of several elements at once may go past the end of a short array.
    let size = rounded(bytes).min(memory.largest).max(bytes);
    if let Some(piece) = memory.stock.find((), size) {
        return Ok(piece);
    }
    let make = || {
        if !memory.stock.has_room(size) {
            return Err(Error::OutOfMemory { what: what.to_string(), bytes });
        }
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        // SAFETY: the context lives, and no memory of the host's is named.
        let made = unsafe { create_buffer(opened.context.get(), CL_MEM_READ_WRITE, length, null_mut()) };
        made.map(|memory| Arc::new(Piece(memory))).map_err(|error| opened.trouble(error, what, bytes))
    };
    let made = match make() {
        Err(Error::OutOfMemory { .. }) => {
            memory.stock.trim();
            opened.synchronize()?;
            make()
        }
        made => made,
    };
    Ok(memory.stock.number(size, made?))
}
