//! Bind groups, kept by what they bind: calls repeat, and with a pool of memory so do their buffers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Groups that are kept.
const KEPT_GROUPS: usize = 256;

/// Bind groups by pipeline and buffers. A group holds its buffers, so those whose buffers the pool lets go are forgotten.
#[derive(Default)]
pub(super) struct Groups {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    clock: u64,
    groups: HashMap<Box<[u64]>, (u64, wgpu::BindGroup)>,
}

/// What a group binds: the number of its pipeline, then number, offset and size of each buffer.
#[derive(Default)]
pub(super) struct Key(Vec<u64>);

impl Key {
    pub(super) fn new(pipeline: u64) -> Key {
        Key(vec![pipeline])
    }

    pub(super) fn push(&mut self, buffer: u64, offset: u64, size: u64) {
        self.0.extend([buffer, offset, size]);
    }
}

impl Groups {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The group of that key, or else what `make` makes.
    pub(super) fn get(&self, key: Key, make: impl FnOnce() -> wgpu::BindGroup) -> wgpu::BindGroup {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        if let Some((time, group)) = state.groups.get_mut(&key.0[..]) {
            *time = now;
            return group.clone();
        }
        drop(state);
        let group = make();
        let mut state = self.lock();
        if state.groups.len() >= KEPT_GROUPS {
            let oldest = state.groups.iter().min_by_key(|(_, (time, _))| *time).map(|(key, _)| key.clone());
            oldest.map(|oldest| state.groups.remove(&oldest));
        }
        state.groups.insert(key.0.into_boxed_slice(), (now, group.clone()));
        group
    }

    /// Drops the groups with one of these buffers.
    pub(super) fn forget(&self, buffers: &[u64]) {
        self.lock().groups.retain(|key, _| !key[1..].chunks(3).any(|bound| buffers.contains(&bound[0])));
    }

    pub(super) fn clear(&self) {
        self.lock().groups.clear();
    }
}
