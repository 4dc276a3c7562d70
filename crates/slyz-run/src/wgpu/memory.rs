//! Memory of the GPU: buffers that are used again, up to a bound on what is kept.

use super::adapter::Opened;
use crate::pool::mebibytes;
use crate::{Error, PoolStats};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Buffers that nobody uses now.
pub(super) struct Memory {
    limit: u64,
    largest: u64,
    /// What the driver is taken to have.
    most: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Each list from the buffer that was given back first to the latest.
    kept: HashMap<(Role, u64), VecDeque<(u64, Numbered)>>,
    clock: u64,
    stats: PoolStats,
    buffers: u64,
}

/// A buffer and its number, which no other has; what was made for it is found by the number.
#[derive(Clone)]
struct Numbered {
    number: u64,
    buffer: wgpu::Buffer,
}

/// A buffer in use; it is kept for others when dropped.
pub(super) struct Lent {
    opened: Arc<Opened>,
    role: Role,
    inner: Numbered,
}

impl Lent {
    pub(super) fn buffer(&self) -> &wgpu::Buffer {
        &self.inner.buffer
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
        let released = self.opened.memory.keep(self.role, self.inner.clone());
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
        Memory {
            limit: mebibytes("SLYZ_GPU_POOL_MB", megabytes, kept),
            largest: limits.max_buffer_size,
            most: AtomicU64::new(most),
            state: Mutex::default(),
        }
    }

    /// Makes as if the driver had so many bytes only.
    pub(super) fn pretend(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    fn has_room(&self, size: u64) -> bool {
        let stats = self.lock().stats;
        (stats.live_bytes + stats.kept_bytes) as u64 + size <= self.most.load(Ordering::Relaxed)
    }

    pub(super) fn stats(&self) -> PoolStats {
        self.lock().stats
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a buffer, and gives out those that there is no room for any more.
    fn keep(&self, role: Role, buffer: Numbered) -> Vec<Numbered> {
        let size = buffer.buffer.size();
        let mut state = self.lock();
        state.stats.live_bytes -= size as usize;
        if size > self.limit {
            return vec![buffer];
        }
        let released = state.shrink_to(self.limit - size);
        state.clock += 1;
        let now = state.clock;
        state.stats.kept_bytes += size as usize;
        state.stats.kept_blocks += 1;
        state.kept.entry((role, size)).or_default().push_back((now, buffer));
        released
    }

    fn find(&self, role: Role, size: u64) -> Option<Numbered> {
        let mut state = self.lock();
        let (_, found) = state.kept.get_mut(&(role, size)).and_then(VecDeque::pop_back)?;
        state.stats.kept_bytes -= size as usize;
        state.stats.kept_blocks -= 1;
        state.stats.live_bytes += size as usize;
        state.stats.reused += 1;
        Some(found)
    }

    fn number(&self, buffer: wgpu::Buffer) -> Numbered {
        let mut state = self.lock();
        state.buffers += 1;
        state.stats.fresh += 1;
        state.stats.live_bytes += buffer.size() as usize;
        Numbered { number: state.buffers, buffer }
    }

    /// Gives everything that is kept back to the driver.
    fn trim(&self) {
        let released = self.lock().shrink_to(0);
        drop(released);
    }
}

impl State {
    /// Takes out the buffers that were not used for longest until no more than `limit` bytes are kept.
    fn shrink_to(&mut self, limit: u64) -> Vec<Numbered> {
        let mut released = vec![];
        while self.stats.kept_bytes as u64 > limit {
            let age = |list: &VecDeque<(u64, Numbered)>| list.front().map_or(u64::MAX, |(time, _)| *time);
            let Some((&key, list)) = self.kept.iter_mut().min_by_key(|(_, list)| age(list)) else { break };
            released.extend(list.pop_front().map(|(_, buffer)| buffer));
            if list.is_empty() {
                self.kept.remove(&key);
            }
            self.stats.kept_bytes -= key.1 as usize;
            self.stats.kept_blocks -= 1;
        }
        released
    }
}

/// Few sizes, so that buffers fit again: powers of two, then quarters between them.
fn rounded(bytes: u64) -> u64 {
    let bytes = bytes.max(256);
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.next_multiple_of(step)
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
    if let Some(buffer) = memory.find(role, size) {
        return Ok(lent(buffer));
    }
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage: role.usage(), mapped_at_creation: false };
    let make = || {
        if !memory.has_room(size) {
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
    Ok(lent(memory.number(made?)))
}

/// Gives all memory that is not in use back to the driver.
pub(super) fn release(opened: &Opened) -> Result<(), Error> {
    opened.memory.trim();
    opened.groups.clear();
    opened.synchronize()
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
