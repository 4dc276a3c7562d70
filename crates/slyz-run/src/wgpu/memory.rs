//! Memory of the GPU: buffers that are used again, up to a bound on what is kept.

use super::adapter::Opened;
use crate::Error;
use crate::pool::mebibytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{BufferUsages, Limits};

/// The default bound of what is kept.
const KEPT_BYTES: u64 = 512 << 20;

/// What a buffer is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Arrays that kernels work on.
    Array,
    /// Sizes and scalars of a launch.
    Uniform,
    /// On its way to the host.
    Download,
}

impl Role {
    fn usage(self) -> BufferUsages {
        match self {
            Role::Array => BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            Role::Uniform => BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            Role::Download => BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        }
    }
}

/// Buffers that nobody uses now.
pub(super) struct Memory {
    limit: u64,
    largest: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bytes: u64,
    buffers: HashMap<(Role, u64), Vec<wgpu::Buffer>>,
}

/// A buffer in use; it is kept for others when dropped.
pub(super) struct Lent {
    opened: Arc<Opened>,
    role: Role,
    buffer: wgpu::Buffer,
}

impl Lent {
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    pub(super) fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.opened.memory.keep(self.role, self.buffer.clone());
    }
}

impl Memory {
    pub(super) fn new(limits: &Limits) -> Memory {
        let megabytes = std::env::var("SLYZ_GPU_POOL_MB").ok();
        Memory {
            limit: mebibytes("SLYZ_GPU_POOL_MB", megabytes, KEPT_BYTES),
            largest: limits.max_buffer_size,
            kept: Mutex::default(),
        }
    }

    fn keep(&self, role: Role, buffer: wgpu::Buffer) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let size = buffer.size();
        if kept.bytes + size <= self.limit {
            kept.bytes += size;
            kept.buffers.entry((role, size)).or_default().push(buffer);
        }
    }

    fn find(&self, role: Role, size: u64) -> Option<wgpu::Buffer> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.buffers.get_mut(&(role, size)).and_then(Vec::pop);
        if found.is_some() {
            kept.bytes -= size;
        }
        found
    }

    /// Gives everything that is kept back to the driver.
    fn trim(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

/// Few sizes, so that buffers fit again: powers of two, then quarters between them.
fn rounded(bytes: u64) -> u64 {
    let bytes = bytes.max(256);
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.next_multiple_of(step)
}

/// A buffer of at least that many bytes.
pub(super) fn take(opened: &Arc<Opened>, role: Role, bytes: u64, what: &str) -> Result<Lent, Error> {
    let size = rounded(bytes).min(opened.memory.largest.max(bytes) / 4 * 4).max(bytes.next_multiple_of(4));
    if size > opened.memory.largest {
        return Err(Error::TooLarge {
            what: what.to_string(),
            why: format!("{bytes} bytes, and a buffer of this GPU has at most {}", opened.memory.largest),
        });
    }
    let lent = |buffer| Lent { opened: opened.clone(), role, buffer };
    if let Some(buffer) = opened.memory.find(role, size) {
        return Ok(lent(buffer));
    }
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage: role.usage(), mapped_at_creation: false };
    let make = || opened.guarded(what, bytes, || opened.device.create_buffer(&descriptor));
    match make() {
        Err(Error::OutOfMemory { .. }) => {
            opened.memory.trim();
            make().map(lent)
        }
        made => made.map(lent),
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn sizes() {
        assert_eq!([0, 1, 256, 257, 1000, 1025].map(rounded), [256, 256, 256, 512, 1024, 1280]);
        assert_eq!(rounded((1 << 20) + 1), (1 << 20) + (1 << 18));
    }
}
