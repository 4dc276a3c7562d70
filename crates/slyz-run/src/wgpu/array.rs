//! An array in the memory of a GPU.

use super::Wgpu;
use super::adapter::Opened;
use super::memory::{Lent, Role, take};
use super::transfer::{read, write};
use crate::{Buffer, DeviceMemory, Error};
use std::fmt;
use std::sync::Arc;

/// Memory of a GPU that is written once: by an upload, or by the kernels of one call.
///
/// Whoever drops it may have given the GPU work on it that is not done. That is safe: the memory goes back to a pool, and
/// all that can happen to it from there, a kernel or a copy that writes it, is a command behind that work in the same queue.
pub(crate) struct GpuArray {
    lent: Lent,
}

impl GpuArray {
    /// Memory for an array, with anything in it.
    pub(super) fn new(opened: &Arc<Opened>, bytes: u64, what: &dyn fmt::Display) -> Result<GpuArray, Error> {
        Ok(GpuArray { lent: take(opened, Role::Array, bytes, what)? })
    }

    /// Memory with a copy of the host's bytes.
    pub(super) fn upload(opened: &Arc<Opened>, bytes: &[u8], what: &dyn fmt::Display) -> Result<GpuArray, Error> {
        let array = GpuArray::new(opened, bytes.len() as u64, what)?;
        write(opened, array.buffer(), bytes, what)?;
        Ok(array)
    }

    /// The array that a buffer is, if it is one of that GPU.
    pub(super) fn of(buffer: &Buffer, opened: &Arc<Opened>) -> Option<Arc<GpuArray>> {
        buffer.device_memory::<GpuArray>().filter(|array| Arc::ptr_eq(array.lent.opened(), opened))
    }

    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        self.lent.buffer()
    }

    pub(super) fn number(&self) -> u64 {
        self.lent.number()
    }
}

impl DeviceMemory for GpuArray {
    fn device(&self) -> &str {
        Wgpu::NAME
    }

    fn read(&self, start: usize, into: &mut [u8]) -> Result<(), Error> {
        read(self.lent.opened(), self.buffer(), start, into)
    }
}
