//! Clocks of the GPU.

use super::adapter::Opened;
use super::array::GpuArray;
use super::engine::Gpu;
use super::memory::{Role, take};
use super::transfer::read;
use crate::driver::Compiled;
use crate::{Argument, ArrayData, Buffer, Clock, Error, Executable, profile};
use slyz_sir::types::Ty;
use std::sync::Arc;
use std::time::Instant;

/// Has the GPU do something by itself, and waits. With timestamps the seconds are those of the pass that writes them;
/// without, those from the submission to its end as the host sees them.
pub(super) fn measured(
    opened: &Arc<Opened>,
    act: impl FnOnce(&mut wgpu::CommandEncoder, Option<wgpu::ComputePassTimestampWrites>),
) -> Result<(f64, Clock), Error> {
    let what = &"a measured launch";
    opened.synchronize()?;
    if !opened.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
        let mut encoder = opened.guarded(what, 0, || opened.device.create_command_encoder(&Default::default()))?;
        opened.guarded(what, 0, || act(&mut encoder, None))?;
        let start = Instant::now();
        let index = opened.guarded(what, 0, || opened.queue.submit([encoder.finish()]))?;
        opened.wait_for(index)?;
        return Ok((start.elapsed().as_secs_f64(), Clock::Host));
    }
    let ticks = take(opened, Role::Ticks, 256, what)?;
    let into = GpuArray::new(opened, 256, what)?;
    opened.guarded(what, 0, || {
        let ty = wgpu::QueryType::Timestamp;
        let query_set = &opened.device.create_query_set(&wgpu::QuerySetDescriptor { label: None, ty, count: 2 });
        let beginning_of_pass_write_index = Some(0);
        let end_of_pass_write_index = Some(1);
        let writes =
            wgpu::ComputePassTimestampWrites { query_set, beginning_of_pass_write_index, end_of_pass_write_index };
        let mut encoder = opened.device.create_command_encoder(&Default::default());
        act(&mut encoder, Some(writes));
        encoder.resolve_query_set(query_set, 0..2, ticks.buffer(), 0);
        encoder.copy_buffer_to_buffer(ticks.buffer(), 0, into.buffer(), 0, 16);
        opened.queue.submit([encoder.finish()])
    })?;
    let mut bytes = [0; 16];
    read(opened, into.buffer(), 0, &mut bytes)?;
    let [from, to] = [0, 8].map(|at| bytes[at..at + 8].iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte)));
    let nanoseconds = to.saturating_sub(from) as f64 * f64::from(opened.queue.get_timestamp_period());
    Ok((nanoseconds * 1e-9, Clock::Device))
}

/// Reads and writes as much as a copy; one that only copied would be no kernel at all.
const COPY: &str = "program copy<N>(%x: f32[N]) -> f32[N] {
  %one: f32 = const 1.0
  %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %one  yield %b }
  return %y }";

/// Bytes that a copy reads and writes in a second, by the faster of two ways: drivers copy by engines that can be slower than
/// kernels.
pub(super) fn copy_bandwidth(opened: &Arc<Opened>) -> Result<f64, Error> {
    if let Some(&known) = opened.bandwidth.get() {
        return Ok(known);
    }
    let wanted: u64 = if opened.is_software() { 32 << 20 } else { 256 << 20 };
    let most = opened.limits.max_buffer_size.min(opened.limits.max_storage_buffer_binding_size);
    let bytes = wanted.min(most / 256 * 256);
    let seconds = by_driver(opened, bytes)?.min(by_kernel(opened, bytes)?).max(1e-9);
    Ok(*opened.bandwidth.get_or_init(|| 2.0 * bytes as f64 / seconds))
}

fn by_driver(opened: &Arc<Opened>, bytes: u64) -> Result<f64, Error> {
    const TURNS: usize = 3;
    const COPIES: usize = 8;
    let what = &"a measurement of the memory";
    let a = GpuArray::new(opened, bytes, what)?;
    let b = GpuArray::new(opened, bytes, what)?;
    let copy = |count: usize| -> Result<f64, Error> {
        let mut encoder = opened.guarded(what, 0, || opened.device.create_command_encoder(&Default::default()))?;
        opened.guarded(what, 0, || {
            for turn in 0..count {
                let (from, to) = if turn % 2 == 0 { (&a, &b) } else { (&b, &a) };
                encoder.copy_buffer_to_buffer(from.buffer(), 0, to.buffer(), 0, bytes);
            }
        })?;
        opened.synchronize()?;
        let start = Instant::now();
        let index = opened.guarded(what, 0, || opened.queue.submit([encoder.finish()]))?;
        opened.wait_for(index)?;
        Ok(start.elapsed().as_secs_f64())
    };
    copy(2)?;
    // What a submission costs is in both, and goes; on a busy machine more may go, but not most.
    let (mut few, mut many) = (f64::MAX, f64::MAX);
    for _ in 0..TURNS {
        few = few.min(copy(2)?);
        many = many.min(copy(2 + COPIES)?);
    }
    Ok(((many - few) / COPIES as f64).max(many / (2 * COPIES) as f64))
}

fn by_kernel(opened: &Arc<Opened>, bytes: u64) -> Result<f64, Error> {
    const TURNS: usize = 5;
    let broken = |why: String| Error::Plan { name: "copy".to_string(), why };
    let program = slyz_sir::text::parse_program(COPY).map_err(|error| broken(error.to_string()))?;
    // SAFETY: the program reads and writes each position of arrays that are all as long as each other.
    let executable = unsafe { Compiled::new(Gpu(opened.clone()), &program) }?;
    let from = GpuArray::new(opened, bytes, &"a measurement of the memory")?;
    let data = Buffer::on_device(Arc::new(from), bytes as usize);
    let n = bytes / 4;
    let ty = Ty::F32;
    let shape = vec![n].into();
    let data = ArrayData::Buffer(&data);
    let argument = [Argument::Array { ty, shape, data }];
    let mut best = f64::MAX;
    for _ in 0..TURNS {
        let (result, launches) = profile(|| executable.run(&[Some(n)], &argument));
        result?;
        best = best.min(launches.iter().map(|launch| launch.seconds).sum());
    }
    Ok(best)
}
