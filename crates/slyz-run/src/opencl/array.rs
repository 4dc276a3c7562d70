//! An array in the memory of a device.

use super::OpenCl;
use super::memory::{self, Piece};
use super::opened::Opened;
use crate::driver::held::Held;
use crate::driver::stock::Numbered;
use crate::{Buffer, DeviceMemory, Error};
use opencl3::command_queue::{enqueue_copy_buffer, enqueue_read_buffer, enqueue_write_buffer};
use opencl3::event::release_event;
use opencl3::types::{CL_BLOCKING, cl_event, cl_mem};
use std::fmt::Display;
use std::ptr::null;
use std::sync::Arc;

/// Memory of a device, which goes back to its stock when it is dropped: later users come behind in the order of the queue.
pub(crate) struct ClArray {
    opened: Arc<Opened>,
    piece: Numbered<Arc<Piece>>,
    pub(super) bytes: usize,
}

/// Nobody asks for it any more.
pub(super) fn forget(event: cl_event) {
    // SAFETY: the event is ours.
    let _ = unsafe { release_event(event) };
}

impl ClArray {
    /// Memory for an array, with anything in it.
    pub(super) fn new(opened: &Arc<Opened>, bytes: usize, what: &dyn Display) -> Result<ClArray, Error> {
        let piece = memory::take(opened, bytes as u64, what)?;
        Ok(ClArray { opened: opened.clone(), piece, bytes })
    }

    /// The driver's handle.
    pub(super) fn memory(&self) -> cl_mem {
        self.piece.memory.0
    }
}

impl Held for ClArray {
    type Opened = Opened;

    fn upload(opened: &Arc<Opened>, data: &[u8], what: &dyn Display) -> Result<ClArray, Error> {
        let array = ClArray::new(opened, data.len(), what)?;
        if !data.is_empty() {
            let from = data.as_ptr().cast();
            // SAFETY: the memory has so many bytes, and the host's are read before the call comes back.
            let done = unsafe {
                enqueue_write_buffer(opened.queue.get(), array.memory(), CL_BLOCKING, 0, data.len(), from, 0, null())
            };
            forget(done.map_err(|error| opened.trouble(error, what, data.len() as u64))?);
        }
        Ok(array)
    }

    fn copied(&self, opened: &Arc<Opened>, bytes: usize, what: &dyn Display) -> Result<ClArray, Error> {
        let copy = ClArray::new(opened, bytes, what)?;
        if bytes > 0 {
            // SAFETY: both have so many bytes.
            let done = unsafe {
                enqueue_copy_buffer(opened.queue.get(), self.memory(), copy.memory(), 0, 0, bytes, 0, null())
            };
            forget(done.map_err(|error| opened.trouble(error, what, bytes as u64))?);
        }
        Ok(copy)
    }

    fn of(buffer: &Buffer, opened: &Arc<Opened>) -> Option<Arc<ClArray>> {
        buffer.device_memory::<ClArray>().filter(|array| Arc::ptr_eq(&array.opened, opened))
    }
}

impl Drop for ClArray {
    fn drop(&mut self) {
        self.opened.memory.keep(self.piece.clone());
    }
}

impl DeviceMemory for ClArray {
    fn device(&self) -> &str {
        OpenCl::NAME
    }

    fn read(&self, start: usize, into: &mut [u8]) -> Result<(), Error> {
        self.opened.alive()?;
        let count = into.len().min(self.bytes.saturating_sub(start));
        if count == 0 {
            return Ok(());
        }
        let to = into.as_mut_ptr().cast();
        let queue = self.opened.queue.get();
        // SAFETY: the memory has so many bytes, and so has the host's; the call waits for them.
        let done = unsafe { enqueue_read_buffer(queue, self.memory(), CL_BLOCKING, start, count, to, 0, null()) };
        forget(done.map_err(|error| self.opened.trouble(error, &"to read an array", count as u64))?);
        Ok(())
    }
}
