//! Pipelines that the driver has compiled, kept on disk between processes.
//!
//! wgpu hands out what the driver has cached, and takes it back when an adapter is opened. An adapter has one entry in the
//! disk cache, which checks that nobody but us has written it; wgpu checks that adapter and driver are the same. Only
//! Vulkan does this; elsewhere the driver may keep a cache of its own.

use crate::disk::{CacheConfig, DiskCache};
use crate::hash;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use wgpu::{AdapterInfo, Device, Features};

/// An entry is written whole. After that it is left alone for so many times the time it took, so that programs of many
/// kernels do not spend theirs on it; the last of them may then have to be compiled again by the next process.
const REST: u32 = 20;
/// Entries only grow. One of more than this share of the disk cache is begun anew.
const SHARE: u64 = 4;

/// The cache of an adapter at work.
pub(super) struct PipelineCache {
    cache: wgpu::PipelineCache,
    disk: DiskCache,
    key: [u8; 32],
    stored: Mutex<Stored>,
}

/// What is on disk.
struct Stored {
    /// Its hash.
    sum: [u8; 32],
    /// When it may be written again.
    due: Instant,
}

impl PipelineCache {
    /// The adapter's cache with what earlier processes have left; `None` where the adapter or the user has none.
    pub(super) fn open(device: &Device, info: &AdapterInfo, config: CacheConfig) -> Option<PipelineCache> {
        if !device.features().contains(Features::PIPELINE_CACHE) {
            return None;
        }
        let most = config.bytes / SHARE;
        let name = wgpu::util::pipeline_cache_key(info)?;
        let pieces = ["pipelines", env!("CARGO_PKG_VERSION"), &name, &info.name, &info.driver_info];
        let key = hash::of_pieces(&pieces.map(str::as_bytes));
        let disk = config.open()?;
        let data = disk.load(&key).filter(|data| data.len() as u64 <= most);
        let descriptor = wgpu::PipelineCacheDescriptor { label: Some("slyz"), data: data.as_deref(), fallback: true };
        // SAFETY: the data came from `get_data` of such a cache: the entry is in a folder and a file that only this user
        // can write, and the hash of key and data in front of it is right. wgpu itself checks adapter and driver.
        let cache = unsafe { device.create_pipeline_cache(&descriptor) };
        let stored = Stored { sum: hash::of_pieces(&[&data.unwrap_or_default()]), due: Instant::now() };
        let stored = Mutex::new(stored);
        Some(PipelineCache { cache, disk, key, stored })
    }

    /// What pipelines are made with.
    pub(super) fn handle(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Writes what has come since the last time, unless that was just now.
    pub(super) fn keep(&self) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        if start < stored.due {
            return;
        }
        let Some(data) = self.cache.get_data() else { return };
        let sum = hash::of_pieces(&[&data]);
        if stored.sum != sum {
            self.disk.store(&self.key, &data);
            stored.sum = sum;
        }
        stored.due = Instant::now() + start.elapsed() * REST;
    }
}
