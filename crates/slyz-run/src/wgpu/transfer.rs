//! Data on its way between the host and a GPU.

use super::adapter::Opened;
use super::memory::{Role, take};
use crate::Error;
use std::sync::{Arc, mpsc};

/// Copies the host's bytes to the beginning of a buffer, behind all work that was submitted before.
pub(super) fn write(opened: &Arc<Opened>, to: &wgpu::Buffer, bytes: &[u8], what: &str) -> Result<(), Error> {
    opened.guarded(what, bytes.len() as u64, || {
        // wgpu copies whole words.
        let (words, rest) = bytes.split_at(bytes.len() / 4 * 4);
        if !words.is_empty() {
            opened.queue.write_buffer(to, 0, words);
        }
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            opened.queue.write_buffer(to, words.len() as u64, &last);
        }
    })
}

/// Copies the beginning of a buffer to the host, behind all work that was submitted before.
pub(super) fn read(opened: &Arc<Opened>, from: &wgpu::Buffer, into: &mut [u8]) -> Result<(), Error> {
    opened.alive()?;
    if into.is_empty() {
        return Ok(());
    }
    let size = (into.len() as u64).next_multiple_of(4);
    let staging = take(opened, Role::Download, size, "an array on its way to the host")?;
    let (send, receive) = mpsc::channel();
    opened
        .guarded("a copy to the host", size, || {
            let mut encoder = opened.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(from, 0, staging.buffer(), 0, size);
            let index = opened.queue.submit([encoder.finish()]);
            staging.buffer().map_async(wgpu::MapMode::Read, 0..size, move |done| {
                // The receiver outlives the wait; where it is gone nobody asks any more.
                let _ = send.send(done.map_err(|error| error.to_string()));
            });
            opened.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None })
        })?
        .map_err(|error| Error::Driver { what: "to wait for a result".into(), why: error.to_string() })?;
    let refused = |why: String| Error::Driver { what: "to read a result".into(), why };
    receive.recv().map_err(|error| refused(error.to_string()))?.map_err(refused)?;
    {
        let view = staging.buffer().get_mapped_range(0..size).map_err(|error| refused(error.to_string()))?;
        into.copy_from_slice(&view[..into.len()]);
    }
    staging.buffer().unmap();
    Ok(())
}
