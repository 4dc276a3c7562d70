//! An array in the memory of a GPU.

use super::Hip;
use super::library::Copy;
use super::opened::Opened;
use crate::driver::held::Held;
use crate::{Buffer, DeviceMemory, Error};
use std::fmt::Display;
use std::sync::Arc;

/// Memory of a GPU. It is taken and given back in the order of the stream, so that whoever drops it may have given the GPU work on
/// it that is not done.
pub(crate) struct HipArray {
    opened: Arc<Opened>,
    pub(super) address: u64,
    bytes: usize,
}

impl HipArray {
    /// Memory for an array, with anything in it.
    pub(super) fn new(opened: &Arc<Opened>, bytes: usize, what: &dyn Display) -> Result<HipArray, Error> {
        opened.enter()?;
        // Accesses of several elements at once may go past the end of a short array.
        let bytes = bytes.max(1).next_multiple_of(16);
        let address =
            opened.library.allocate(bytes, opened.stream).map_err(|error| opened.trouble(error, what, bytes as u64))?;
        Ok(HipArray { opened: opened.clone(), address, bytes })
    }

    /// Copies the first bytes, in the order of the stream.
    pub(super) fn copy_to(&self, to: &HipArray, bytes: usize, what: &dyn Display) -> Result<(), Error> {
        let opened = &self.opened;
        let bytes = bytes.min(self.bytes).min(to.bytes);
        // SAFETY: both have so many bytes.
        unsafe { opened.library.copy(to.address, self.address, bytes, Copy::Within, opened.stream) }
            .map_err(|error| opened.trouble(error, what, bytes as u64))
    }
}

impl Held for HipArray {
    type Opened = Opened;

    fn upload(opened: &Arc<Opened>, data: &[u8], what: &dyn Display) -> Result<HipArray, Error> {
        let array = HipArray::new(opened, data.len(), what)?;
        if !data.is_empty() {
            let from = data.as_ptr() as u64;
            // SAFETY: both have so many bytes, and the copy is waited for.
            unsafe { opened.library.copy(array.address, from, data.len(), Copy::Upload, opened.stream) }
                .map_err(|error| opened.trouble(error, what, data.len() as u64))?;
            opened.synchronize()?;
        }
        Ok(array)
    }

    fn copied(&self, opened: &Arc<Opened>, bytes: usize, what: &dyn Display) -> Result<HipArray, Error> {
        let copy = HipArray::new(opened, bytes, what)?;
        self.copy_to(&copy, bytes, what)?;
        Ok(copy)
    }

    fn of(buffer: &Buffer, opened: &Arc<Opened>) -> Option<Arc<HipArray>> {
        buffer.device_memory::<HipArray>().filter(|array| Arc::ptr_eq(&array.opened, opened))
    }
}

impl Drop for HipArray {
    fn drop(&mut self) {
        if self.opened.enter().is_ok() {
            // SAFETY: nobody has the memory any more, and what the stream does with it comes first.
            unsafe { self.opened.library.free(self.address, self.opened.stream) };
        }
    }
}

impl DeviceMemory for HipArray {
    fn device(&self) -> &str {
        Hip::NAME
    }

    fn read(&self, start: usize, into: &mut [u8]) -> Result<(), Error> {
        self.opened.enter()?;
        let count = into.len().min(self.bytes.saturating_sub(start));
        if count == 0 {
            return Ok(());
        }
        let to = into.as_mut_ptr() as u64;
        let from = self.address + start as u64;
        // SAFETY: both have so many bytes, and the copy is waited for.
        unsafe { self.opened.library.copy(to, from, count, Copy::Download, self.opened.stream) }
            .map_err(|error| self.opened.trouble(error, &"to read an array", 0))?;
        self.opened.synchronize()
    }
}
