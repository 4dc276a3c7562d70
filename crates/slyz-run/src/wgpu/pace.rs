//! How far a program may run ahead of the GPU.
//!
//! Calls do not wait, so a program that reads nothing could hand over work without end, and all of it lies in memory.

use super::adapter::Opened;
use crate::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Between this many submissions and twice as many are on their way at most.
const AHEAD: u64 = 256;

/// Counts submissions.
#[derive(Default)]
pub(super) struct Pace {
    count: AtomicU64,
    mark: Mutex<Option<wgpu::SubmissionIndex>>,
}

impl Pace {
    /// Notes a submission. From time to time an old one is waited for.
    pub(super) fn submitted(&self, opened: &Opened, index: wgpu::SubmissionIndex) -> Result<(), Error> {
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
