//! Memory of the GPU: buffers that are used again, up to a bound on what is kept.

use super::adapter::Opened;
use crate::Error;
use crate::driver::stock::{Numbered, Stock, rounded};
use crate::pool::mebibytes;
use std::fmt;
use std::sync::Arc;
use wgpu::{BufferUsages, Limits};

/// The default bound of what is kept, where nobody knows how much there is; else it is half of that.
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
    /// What the GPU's clock says.
    Ticks,
}

impl Role {
    fn usage(self) -> BufferUsages {
        match self {
            Role::Array => BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            Role::Uniform => BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            Role::Download => BufferUsages::MAP_READ | BufferUsages::COPY_DST,
            Role::Ticks => BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC,
        }
    }
}

/// The memory of a GPU.
pub(super) struct Memory {
    pub(super) stock: Stock<Role, wgpu::Buffer>,
    largest: u64,
}

/// A buffer in use; it is kept for others when dropped.
pub(super) struct Lent {
    opened: Arc<Opened>,
    role: Role,
    inner: Numbered<wgpu::Buffer>,
}

impl Lent {
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        &self.inner.memory
    }

    pub(super) fn number(&self) -> u64 {
        self.inner.number
    }

    pub(super) fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let released = self.opened.memory.stock.keep(self.role, self.inner.clone());
        if !released.is_empty() {
            self.opened.groups.forget(&released.iter().map(|buffer| buffer.number).collect::<Vec<_>>());
        }
    }
}

impl Memory {
    /// Of a GPU with so many bytes, where that is known. One in software shares them with the host: little is kept, and since
    /// it promises what it does not have, the last of it is not asked for.
    pub(super) fn new(limits: &Limits, bytes: Option<u64>, software: bool) -> Memory {
        let kept = bytes.filter(|_| !software).map_or(KEPT_BYTES, |all| all / 2);
        let most = bytes.filter(|_| software).map_or(u64::MAX, |all| all / 10 * 9);
        let megabytes = std::env::var("SLYZ_GPU_POOL_MB").ok();
        let kept = mebibytes("SLYZ_GPU_POOL_MB", megabytes, kept);
        Memory { stock: Stock::new(kept, most), largest: limits.max_buffer_size }
    }
}

/// A buffer of at least that many bytes.
///
/// Where the driver has none, all that is kept goes back, the GPU is waited for, since what it works with is freed only
/// then, and it is asked once more.
pub(super) fn take(opened: &Arc<Opened>, role: Role, bytes: u64, what: &dyn fmt::Display) -> Result<Lent, Error> {
    let memory = &opened.memory;
    let too_large = || Error::TooLarge {
        what: what.to_string(),
        why: format!("{bytes} bytes, and a buffer of this GPU has at most {}", memory.largest),
    };
    if bytes > memory.largest / 4 * 4 {
        return Err(too_large());
    }
    let size = rounded(bytes).min(memory.largest / 4 * 4).max(bytes.next_multiple_of(4));
    let lent = |inner| Lent { opened: opened.clone(), role, inner };
    if let Some(buffer) = memory.stock.find(role, size) {
        return Ok(lent(buffer));
    }
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage: role.usage(), mapped_at_creation: false };
    let make = || {
        if !memory.stock.has_room(size) {
            return Err(Error::OutOfMemory { what: what.to_string(), bytes });
        }
        opened.guarded(what, bytes, || opened.device.create_buffer(&descriptor))
    };
    let made = match make() {
        Err(Error::OutOfMemory { .. }) => {
            release(opened)?;
            make()
        }
        made => made,
    };
    Ok(lent(memory.stock.number(size, made?)))
}

/// Gives all memory that is not in use back to the driver.
pub(super) fn release(opened: &Opened) -> Result<(), Error> {
    opened.memory.stock.trim();
    opened.groups.clear();
    opened.synchronize()
}
