//! Pipelines that the driver has compiled, kept on disk between processes.
//!
//! wgpu hands out what the driver has cached, and takes it back when an adapter is opened. An adapter has one entry in the
//! disk cache, which checks that nobody but us has written it; wgpu checks that adapter and driver are the same. Only
//! Vulkan does this; elsewhere the driver may keep a cache of its own.

use crate::disk::{CacheConfig, DiskCache};
use crate::hash;
use std::sync::{Mutex, PoisonError};
use wgpu::{AdapterInfo, Device, Features};

/// Entries only grow. One of more than this share of the disk cache is begun anew.
const SHARE: u64 = 4;

/// The cache of an adapter at work.
pub(super) struct PipelineCache {
    cache: wgpu::PipelineCache,
    disk: DiskCache,
    key: [u8; 32],
    /// The hash of what is on disk.
    stored: Mutex<[u8; 32]>,
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
        let stored = Mutex::new(hash::of_pieces(&[&data.unwrap_or_default()]));
        Some(PipelineCache { cache, disk, key, stored })
    }

    /// What pipelines are made with.
    pub(super) fn handle(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Writes what has come since the last time.
    pub(super) fn keep(&self) {
        let Some(data) = self.cache.get_data() else { return };
        let sum = hash::of_pieces(&[&data]);
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if *stored != sum {
            self.disk.store(&self.key, &data);
            *stored = sum;
        }
    }
}
