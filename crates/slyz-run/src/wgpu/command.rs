//! Launches on their way to the GPU: what a call has recorded, and its submission.

use super::adapter::Opened;
use super::array::GpuArray;
use super::clock::measured;
use super::geometry::Geometry;
use super::groups::Key;
use super::memory::{Lent, Role, take};
use super::transfer::{mapped, receive};
use crate::{Clock, Error};
use std::fmt::Display;
use std::sync::Arc;

/// What a call has not submitted yet.
#[derive(Default)]
pub(crate) struct Queue {
    /// They come before all launches.
    pub(super) copies: Vec<Copy>,
    pub(super) commands: Vec<Command>,
    /// Temporaries that the plan needs no more. Other arrays that kernels of this call write may have them, but no upload:
    /// that comes before all commands.
    pub(super) spare: Vec<Arc<GpuArray>>,
}

/// A copy on the GPU.
pub(super) struct Copy {
    pub(super) from: Arc<GpuArray>,
    pub(super) to: Arc<GpuArray>,
    pub(super) bytes: u64,
}

/// A launch with its memory.
pub(super) struct Command {
    pub(super) launch: Arc<Geometry>,
    pub(super) arrays: Vec<Arc<GpuArray>>,
    pub(super) uniform: Arc<Lent>,
    /// Scalars that are on the GPU, with their places in the uniform buffer and their bytes.
    pub(super) scalars: ScalarCopies,
}

pub(super) type ScalarCopies = Vec<(Arc<GpuArray>, u64, u64)>;

impl Queue {
    /// Gives everything to the GPU. Nothing waits for it to be done.
    pub(super) fn submit(&mut self, opened: &Opened, what: &dyn Display) -> Result<(), Error> {
        if self.commands.is_empty() && self.copies.is_empty() {
            return Ok(());
        }
        let rest = self.commands.len();
        self.submit_first(opened, rest, what, |_| {}).map(|_| ())
    }

    /// Gives everything to the GPU, and waits for the last launch of an array only, whose first bytes it takes: while the host
    /// wakes up and goes on, the GPU has the launches behind it to do.
    pub(super) fn read_back(
        &mut self,
        opened: &Arc<Opened>,
        from: &GpuArray,
        into: &mut [u8],
        what: &dyn Display,
    ) -> Result<(), Error> {
        let is_used = |command: &Command| command.arrays.iter().any(|array| array.number() == from.number());
        let count = self.commands.iter().rposition(is_used).map_or(0, |last| last + 1);
        let staging = take(opened, Role::Download, into.len() as u64, &"a count on its way to the host")?;
        let bytes = (into.len() as u64).next_multiple_of(4);
        let index = self.submit_first(opened, count, what, |encoder| {
            encoder.copy_buffer_to_buffer(from.buffer(), 0, staging.buffer(), 0, bytes);
        })?;
        let mapping = mapped(opened, staging.buffer(), bytes)?;
        let behind = self.submit(opened, what);
        let received = receive(opened, staging.buffer(), index, mapping, 0, into);
        behind.and(received)
    }

    /// Submits the first commands, and what is done behind them.
    fn submit_first(
        &mut self,
        opened: &Opened,
        count: usize,
        what: &dyn Display,
        behind: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<wgpu::SubmissionIndex, Error> {
        let index = opened.guarded(what, 0, || {
            let mut encoder = opened.device.create_command_encoder(&Default::default());
            self.copies.iter().for_each(|copy| copy.encode(&mut encoder));
            let mut rest = &self.commands[..count];
            while let Some(first) = rest.first() {
                first.copy_scalars(&mut encoder);
                // One pass for all launches up to the next copy.
                let count = 1 + rest[1..].iter().take_while(|command| command.scalars.is_empty()).count();
                let (run, after) = rest.split_at(count);
                let mut pass = encoder.begin_compute_pass(&Default::default());
                run.iter().for_each(|command| command.encode(opened, &mut pass));
                rest = after;
            }
            behind(&mut encoder);
            opened.queue.submit([encoder.finish()])
        });
        // What is kept might be what was refused.
        let index = index.inspect_err(|_| opened.groups.clear())?;
        self.copies.clear();
        self.commands.drain(..count);
        opened.pace.submitted(opened, index.clone())?;
        Ok(index)
    }

    /// Runs each command by itself, waits for it, and says how long all took.
    pub(super) fn submit_measured(&mut self, opened: &Arc<Opened>) -> Result<(f64, Clock), Error> {
        let (mut seconds, mut clock) = (0.0, Clock::Device);
        let mut copies = std::mem::take(&mut self.copies);
        for command in self.commands.drain(..) {
            let (piece, by) = measured(opened, |encoder, timestamp_writes| {
                copies.drain(..).for_each(|copy| copy.encode(encoder));
                command.copy_scalars(encoder);
                let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                command.encode(opened, &mut encoder.begin_compute_pass(&descriptor));
            })?;
            seconds += piece;
            clock = by;
        }
        self.copies = copies;
        Ok((seconds, clock))
    }
}

impl Copy {
    fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.copy_buffer_to_buffer(self.from.buffer(), 0, self.to.buffer(), 0, self.bytes);
    }
}

/// A buffer for the sizes and scalars of a launch.
pub(super) fn uniform_buffer(opened: &Arc<Opened>, mut bytes: Vec<u8>, size: u64) -> Result<Lent, Error> {
    bytes.resize(size as usize, 0);
    let what = &"the sizes of a launch";
    let lent = take(opened, Role::Uniform, size, what)?;
    opened.guarded(what, size, || opened.queue.write_buffer(lent.buffer(), 0, &bytes))?;
    Ok(lent)
}

impl Command {
    fn copy_scalars(&self, encoder: &mut wgpu::CommandEncoder) {
        for (from, place, bytes) in &self.scalars {
            encoder.copy_buffer_to_buffer(from.buffer(), 0, self.uniform.buffer(), *place, *bytes);
        }
    }

    fn encode(&self, opened: &Opened, pass: &mut wgpu::ComputePass) {
        let Geometry { built, grid: [x, y, z], bound, .. } = &*self.launch;
        let pipeline = &built.pipeline;
        let arrays = self.arrays.iter().zip(bound).map(|(array, &(offset, bytes))| {
            let left = array.buffer().size().saturating_sub(offset);
            (array.number(), array.buffer(), offset, bytes.min(left))
        });
        let uniform = (self.uniform.number(), self.uniform.buffer(), 0, pipeline.interface.uniform_bytes);
        let bound = arrays.chain([uniform]);
        let mut key = Key::new(built.number);
        bound.clone().for_each(|(number, _, offset, size)| key.push(number, offset, size));
        let group = opened.groups.get(key, || {
            let entries: Vec<wgpu::BindGroupEntry> = bound
                .zip(0..)
                .map(|((_, buffer, offset, size), binding)| {
                    let size = std::num::NonZeroU64::new(size);
                    let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
                    wgpu::BindGroupEntry { binding, resource }
                })
                .collect();
            let layout = &pipeline.layout;
            let entries = &entries[..];
            opened.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries })
        });
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(*x, *y, *z);
    }
}
