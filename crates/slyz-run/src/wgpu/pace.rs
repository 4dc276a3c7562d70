//! How far a program may run ahead of the GPU.
//!
//! Calls do not wait, so a program that reads nothing could hand over work without end, and all of it lies in memory. So do
//! small uploads, which wgpu keeps until the next submission.

use super::adapter::Opened;
use crate::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Between this many submissions and twice as many are on their way at most.
const AHEAD: u64 = 256;

/// Bytes of uploads that may wait for a submission.
const WRITTEN: u64 = 32 << 20;

/// Counts submissions, and bytes that wait for one.
#[derive(Default)]
pub(super) struct Pace {
    count: AtomicU64,
    written: AtomicU64,
    mark: Mutex<Option<wgpu::SubmissionIndex>>,
}

impl Pace {
    /// Notes bytes that wgpu has taken. When they are many they are submitted.
    pub(super) fn written(&self, opened: &Opened, bytes: u64) -> Result<(), Error> {
        if self.written.fetch_add(bytes, Ordering::Relaxed) + bytes < WRITTEN {
            return Ok(());
        }
        let index = opened.guarded(&"a copy to the GPU", bytes, || opened.queue.submit([]))?;
        self.submitted(opened, index)
    }

    /// Notes a submission. From time to time an old one is waited for.
    pub(super) fn submitted(&self, opened: &Opened, index: wgpu::SubmissionIndex) -> Result<(), Error> {
        self.written.store(0, Ordering::Relaxed);
        if !(self.count.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(AHEAD) {
            return Ok(());
        }
        let before = self.mark.lock().unwrap_or_else(PoisonError::into_inner).replace(index);
        match before {
            Some(before) => opened.wait_for(before),
            None => Ok(()),
        }
    }
}
