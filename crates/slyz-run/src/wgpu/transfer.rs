//! Data on its way between the host and a GPU.
//!
//! Little data goes through wgpu's own staging (up) or a buffer of the pool (down). Much data goes in pieces through a few
//! buffers that the host maps: while the GPU copies one piece, the host fills or empties the next, and the memory this
//! takes has a bound however large the array is.

use super::adapter::Opened;
use super::memory::{Role, release, take};
use crate::Error;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;
use wgpu::BufferUsages;

/// Bytes of a piece.
const PIECE: usize = 16 << 20;
/// From so many bytes on an array goes in pieces.
const MUCH: usize = 4 << 20;
/// Buffers for pieces in each direction, for all threads.
const PIECES: usize = 4;
/// How long to wait for an answer before looking after it.
const LOOK: Duration = Duration::from_millis(20);
/// Buffers that one transfer uses.
const IN_TURN: usize = 2;

/// The buffers for pieces in one direction.
pub(super) struct Staging {
    usage: BufferUsages,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    free: Vec<Piece>,
    lent: usize,
}

/// A buffer for a piece, and the latest work of the GPU on it.
struct Piece {
    buffer: wgpu::Buffer,
    busy: Option<wgpu::SubmissionIndex>,
}

/// Buffers of one transfer.
struct Pieces<'a> {
    staging: &'a Staging,
    pieces: Vec<Piece>,
    lent: usize,
    /// The transfer went well, so that none is mapped and others can have them.
    whole: bool,
}

impl Staging {
    pub(super) fn up() -> Staging {
        let usage = BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC;
        Staging { usage, state: Mutex::default(), returned: Condvar::new() }
    }

    pub(super) fn down() -> Staging {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        Staging { usage, state: Mutex::default(), returned: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One buffer or two; where others use all, one of them is waited for.
    fn take(&self, opened: &Opened) -> Result<Pieces<'_>, Error> {
        let mut state = self.lock();
        while state.lent >= PIECES {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let lent = IN_TURN.min(PIECES - state.lent);
        state.lent += lent;
        let keep = state.free.len().saturating_sub(lent);
        let pieces = state.free.split_off(keep);
        drop(state);
        let mut taken = Pieces { staging: self, pieces, lent, whole: false };
        let size = PIECE as u64;
        let usage = self.usage;
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let make = || opened.guarded(&"room for a transfer", size, || opened.device.create_buffer(&descriptor));
        while taken.pieces.len() < lent {
            let buffer = match make() {
                Ok(buffer) => buffer,
                // One will do.
                Err(_) if !taken.pieces.is_empty() => break,
                Err(Error::OutOfMemory { .. }) => {
                    release(opened)?;
                    make()?
                }
                Err(error) => return Err(error),
            };
            taken.pieces.push(Piece { buffer, busy: None });
        }
        Ok(taken)
    }
}

impl Drop for Pieces<'_> {
    fn drop(&mut self) {
        let mut state = self.staging.lock();
        state.lent -= self.lent;
        if self.whole {
            state.free.append(&mut self.pieces);
        }
        self.staging.returned.notify_all();
    }
}

/// A buffer that is about to be mapped.
pub(super) struct Mapping(mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>);

impl Mapping {
    /// The driver answers when the GPU does not use the buffer any more and somebody polls.
    fn start(buffer: &wgpu::Buffer, mode: wgpu::MapMode, size: u64) -> Mapping {
        let (send, receive) = mpsc::channel();
        buffer.map_async(mode, 0..size, move |done| {
            // Where the receiver is gone nobody asks any more.
            let _ = send.send(done);
        });
        Mapping(receive)
    }

    /// To be called when the GPU is done with the buffer. The answer comes from whichever thread polls; none comes from a GPU
    /// that is lost meanwhile.
    fn wait(self, opened: &Opened) -> Result<(), Error> {
        let refused = |why: String| Error::Driver { what: "to map memory".into(), why };
        loop {
            match self.0.recv_timeout(LOOK) {
                Ok(answer) => return answer.map_err(|error| refused(error.to_string())),
                Err(mpsc::RecvTimeoutError::Timeout) => opened.look()?,
                Err(error @ mpsc::RecvTimeoutError::Disconnected) => return Err(refused(error.to_string())),
            }
        }
    }
}

fn unreadable(error: wgpu::MapRangeError) -> Error {
    Error::Driver { what: "to map memory".into(), why: error.to_string() }
}

/// Copies the host's bytes to the beginning of a buffer, behind all work that was submitted before.
pub(super) fn write(opened: &Opened, to: &wgpu::Buffer, bytes: &[u8], what: &dyn fmt::Display) -> Result<(), Error> {
    // wgpu copies whole words.
    let (words, rest) = bytes.split_at(bytes.len() / 4 * 4);
    if words.len() >= MUCH {
        write_pieces(opened, to, words)?;
    }
    opened.guarded(what, bytes.len() as u64, || {
        if (1..MUCH).contains(&words.len()) {
            opened.queue.write_buffer(to, 0, words);
        }
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            opened.queue.write_buffer(to, words.len() as u64, &last);
        }
    })?;
    opened.pace.written(opened, if words.len() < MUCH { words.len() as u64 } else { 4 })
}

fn write_pieces(opened: &Opened, to: &wgpu::Buffer, words: &[u8]) -> Result<(), Error> {
    let what = &"a copy to the GPU";
    let mut taken = opened.up.take(opened)?;
    let count = taken.pieces.len();
    for (k, data) in words.chunks(PIECE).enumerate() {
        let (Piece { buffer, busy }, size) = (&mut taken.pieces[k % count], data.len() as u64);
        let mapping = opened.guarded(what, size, || Mapping::start(buffer, wgpu::MapMode::Write, size))?;
        match busy.take() {
            Some(index) => opened.wait_for(index)?,
            None => opened.look()?,
        }
        mapping.wait(opened)?;
        buffer.get_mapped_range_mut(0..size).map_err(unreadable)?.copy_from_slice(data);
        buffer.unmap();
        *busy = Some(opened.guarded(what, size, || {
            let mut encoder = opened.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(buffer, 0, to, (k * PIECE) as u64, size);
            opened.queue.submit([encoder.finish()])
        })?);
    }
    taken.whole = true;
    Ok(())
}

/// Copies the bytes of a buffer from `start` on to the host, behind all work that was submitted before.
pub(super) fn read(opened: &Arc<Opened>, from: &wgpu::Buffer, start: usize, into: &mut [u8]) -> Result<(), Error> {
    opened.alive()?;
    if into.is_empty() {
        return Ok(());
    }
    // wgpu copies whole words.
    let before = start % 4;
    if into.len() < MUCH {
        let bytes = before + into.len();
        let staging = take(opened, Role::Download, bytes as u64, &"an array on its way to the host")?;
        let (index, mapping) = send(opened, from, (start - before) as u64, staging.buffer(), bytes)?;
        return receive(opened, staging.buffer(), index, mapping, before, into);
    }
    let (start, into) = if before == 0 {
        (start, into)
    } else {
        let (first, rest) = into.split_at_mut(4 - before);
        read(opened, from, start, first)?;
        (start + first.len(), rest)
    };
    let mut taken = opened.down.take(opened)?;
    let mut parts: VecDeque<&mut [u8]> = into.chunks_mut(PIECE).collect();
    let mut sent = VecDeque::new();
    let mut k = 0;
    // As many pieces as there are buffers are on their way, the host takes the first, and so on.
    while !parts.is_empty() || !sent.is_empty() {
        while sent.len() < taken.pieces.len()
            && let Some(part) = parts.pop_front()
        {
            let buffer = &taken.pieces[k % taken.pieces.len()].buffer;
            let (index, mapping) = send(opened, from, (start + k * PIECE) as u64, buffer, part.len())?;
            sent.push_back((buffer, index, mapping, part));
            k += 1;
        }
        if let Some((buffer, index, mapping, part)) = sent.pop_front() {
            receive(opened, buffer, index, mapping, 0, part)?;
        }
    }
    drop(sent);
    taken.whole = true;
    Ok(())
}

/// Has the GPU copy some bytes to a buffer that the host can map.
fn send(
    opened: &Opened,
    from: &wgpu::Buffer,
    offset: u64,
    to: &wgpu::Buffer,
    bytes: usize,
) -> Result<(wgpu::SubmissionIndex, Mapping), Error> {
    let size = (bytes as u64).next_multiple_of(4);
    let what = &"a copy to the host";
    let sent = opened.guarded(what, size, || {
        let mut encoder = opened.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from, offset, to, 0, size);
        let index = opened.queue.submit([encoder.finish()]);
        (index, Mapping::start(to, wgpu::MapMode::Read, size))
    });
    sent.inspect_err(|_| give_up(opened, to))
}

/// Begins to map what a copy that was submitted goes to.
pub(super) fn mapped(opened: &Opened, to: &wgpu::Buffer, size: u64) -> Result<Mapping, Error> {
    let mapping = opened.guarded(&"a copy to the host", size, || Mapping::start(to, wgpu::MapMode::Read, size));
    mapping.inspect_err(|_| give_up(opened, to))
}

/// Waits for the copy and takes the bytes behind the first ones.
pub(super) fn receive(
    opened: &Opened,
    from: &wgpu::Buffer,
    index: wgpu::SubmissionIndex,
    mapping: Mapping,
    before: usize,
    into: &mut [u8],
) -> Result<(), Error> {
    let size = ((before + into.len()) as u64).next_multiple_of(4);
    let mapped = opened.wait_for(index).and_then(|()| mapping.wait(opened)).and_then(|()| {
        let view = from.get_mapped_range(0..size).map_err(unreadable)?;
        into.copy_from_slice(&view[before..before + into.len()]);
        Ok(())
    });
    match mapped {
        Ok(()) => from.unmap(),
        Err(_) => give_up(opened, from),
    }
    mapped
}

/// Whoever has the buffer next must find it as new.
fn give_up(opened: &Opened, buffer: &wgpu::Buffer) {
    // The failure is told already.
    let _ = opened.guarded(&"to unmap memory", 0, || buffer.unmap());
}
