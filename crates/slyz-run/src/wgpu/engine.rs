//! A GPU as the driver sees it: arrays of its memory, pipelines, and commands that are submitted together.

use super::Wgpu;
use super::adapter::Opened;
use super::array::GpuArray;
use super::clock;
use super::command::{Command, Copy, Queue, uniform_buffer};
use super::geometry::{Geometry, Needs, WIDE, target};
use crate::driver::{Engine, Launch, Limits, Narrow, Piece, Trouble, Unrecorded, Variant};
use crate::{ArrayData, Buffer, Clock, DeviceMemory, Error, shaders};
use slyz_sir::back::{naga, words};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan, Space};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{self, Expected};
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::size::Size;
use slyz_sir::types::Ty;
use std::fmt::Display;
use std::sync::Arc;

/// An adapter at work.
#[derive(Clone)]
pub(crate) struct Gpu(pub(super) Arc<Opened>);

impl Engine for Gpu {
    const NAME: &'static str = Wgpu::NAME;
    const PLACE: &'static str = " on the GPU";
    const NARROW: Narrow = Narrow { elements: WIDE, extent: WIDE };
    const PLANS_BY_SIZE: bool = true;
    const LANGUAGE: Option<Language> = Some(Language::Wgsl);

    type Array<'a> = Arc<GpuArray>;
    type Queue = Queue;
    /// Pipelines are kept by adapter, whatever plans they are of.
    type Code = ();
    type Numbers = Arc<Geometry>;
    type Recording = Unrecorded;

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn precision(&self, asked: Option<Precision>) -> Precision {
        asked.unwrap_or(self.0.target.precision)
    }

    fn alive(&self) -> Result<(), Error> {
        self.0.alive()
    }

    fn limits(&self) -> Option<Limits> {
        let limits = &self.0.limits;
        Some(Limits {
            buffer_bytes: limits.max_buffer_size,
            launch: gpu::Limits {
                window_bytes: self.0.window_bytes / 16 * 16,
                alignment: u64::from(limits.min_storage_buffer_offset_alignment).max(16),
                blocks: limits.max_compute_workgroups_per_dimension.into(),
            },
            block: [
                limits.max_compute_workgroup_size_x,
                limits.max_compute_workgroup_size_y,
                limits.max_compute_workgroup_size_z,
            ],
            threads: limits.max_compute_invocations_per_workgroup,
        })
    }

    fn copy_bandwidth(&self) -> Result<f64, Error> {
        clock::copy_bandwidth(&self.0)
    }

    fn holds(&self, buffer: &Buffer) -> bool {
        GpuArray::of(buffer, &self.0).is_some()
    }

    fn allocate<'a>(&self, queue: &mut Queue, bytes: usize, what: &dyn Display) -> Result<Self::Array<'a>, Error> {
        let bytes = bytes as u64;
        let most = bytes.saturating_add(bytes / 2).saturating_add(256);
        let fits = |array: &Arc<GpuArray>| (bytes..=most).contains(&array.buffer().size());
        match queue.spare.iter().position(fits) {
            Some(place) => Ok(queue.spare.swap_remove(place)),
            None => Ok(Arc::new(GpuArray::new(&self.0, bytes, what)?)),
        }
    }

    fn upload<'a>(&self, _: Ty, data: ArrayData<'a>, what: &dyn Display) -> Result<Arc<GpuArray>, Error> {
        let here = match data {
            ArrayData::Buffer(buffer) => GpuArray::of(buffer, &self.0),
            ArrayData::Host(_) => None,
        };
        match here {
            Some(array) => Ok(array),
            None => Ok(Arc::new(GpuArray::upload(&self.0, data.bytes()?, what)?)),
        }
    }

    fn own(
        &self,
        queue: &mut Queue,
        data: &mut Buffer,
        what: &dyn Display,
    ) -> Result<(Arc<GpuArray>, Option<Buffer>), Error> {
        if self.holds(data)
            && let Some(own) = data.own_device_memory::<GpuArray>()
        {
            return Ok((own, None));
        }
        let to = match GpuArray::of(data, &self.0) {
            // Somebody else sees it.
            Some(from) => {
                let to = Arc::new(GpuArray::new(&self.0, data.len() as u64, what)?);
                let bytes = (data.len() as u64).next_multiple_of(4);
                if bytes > 0 {
                    queue.copies.push(Copy { from, to: to.clone(), bytes });
                }
                to
            }
            None => Arc::new(GpuArray::upload(&self.0, data.bytes()?, what)?),
        };
        let buffer = Buffer::on_device(to.clone(), data.len());
        Ok((to, Some(buffer)))
    }

    fn download(&self, from: &Arc<GpuArray>, into: &mut [u8]) -> Result<(), Error> {
        from.read(0, into)
    }

    fn free(&self, queue: &mut Queue, array: Arc<GpuArray>) {
        queue.spare.push(array);
    }

    fn buffer(&self, array: Arc<GpuArray>, bytes: usize) -> Result<Buffer, Error> {
        Ok(Buffer::on_device(array, bytes))
    }

    fn begin(&self, program: &Program) -> Result<Program, Error> {
        shaders::begun(program, &self.0.target, &self.0.machine)
    }

    fn machine(&self) -> String {
        format!("{:?} {} {}", self.0.machine, self.0.describe(), self.0.target.precision)
    }

    fn lower(&self, program: &Program, expected: &Expected, in_pieces: bool, choice: Choice) -> Plan {
        let machine = self.0.machine;
        let machine = if in_pieces { machine.in_pieces() } else { machine };
        shaders::lowered(program, machine, self.precision(None), expected, choice)
    }

    fn source(&self, variant: &Variant<Gpu>) -> Result<String, Error> {
        let mut texts = vec![];
        for kernel in &variant.plan.kernels {
            let target = target(&self.0, kernel, Needs { narrow: true, long: false });
            let text = match shaders::wgsl(kernel, &target) {
                Some(text) => text.to_string(),
                None => naga::emit(kernel, &target).and_then(|module| naga::wgsl(&module)).map_err(Error::Shader)?,
            };
            texts.push((&kernel.name, text));
        }
        if let (Some(_), [(_, text)]) = (&variant.template, &texts[..]) {
            return Ok(text.clone());
        }
        Ok(texts.iter().map(|(name, text)| format!("// {name}\n{text}\n")).collect())
    }

    fn number(&self, piece: &Piece<'_, Gpu>) -> Result<Arc<Geometry>, Error> {
        Ok(Arc::new(Geometry::new(&self.0, piece)?))
    }

    unsafe fn launch(&self, queue: &mut Queue, launch: &Launch<'_, '_, Gpu>) -> Result<(), Error> {
        let opened = &self.0;
        for geometry in launch.pieces {
            let mut scalars = vec![];
            for &(place, buffer) in launch.resident {
                let array = self.upload(Ty::U8, ArrayData::Buffer(buffer), &"a scalar on the GPU")?;
                scalars.push((array, geometry.place_of_scalar(place), buffer.len() as u64));
            }
            let write = || {
                uniform_buffer(opened, geometry.told(launch.scalars), geometry.built.pipeline.interface.uniform_bytes)
            };
            // What is copied into is not another launch's.
            let uniform =
                if scalars.is_empty() { geometry.uniform(launch.scalars, write)? } else { Arc::new(write()?) };
            let arrays = launch.arrays.iter().map(|&array| array.clone()).collect();
            queue.commands.push(Command { launch: geometry.clone(), arrays, uniform, scalars });
        }
        Ok(())
    }

    unsafe fn time(&self, queue: &mut Queue, launch: &Launch<'_, '_, Gpu>) -> Result<(f64, Clock), Error> {
        // SAFETY: the caller's promise.
        unsafe { self.launch(queue, launch) }?;
        queue.submit_measured(&self.0)
    }

    fn submit(&self, queue: &mut Queue, what: &dyn Display) -> Result<(), Error> {
        queue.submit(&self.0, what)
    }

    fn read_back(
        &self,
        queue: &mut Queue,
        from: &Arc<GpuArray>,
        into: &mut [u8],
        what: &dyn Display,
    ) -> Result<(), Error> {
        queue.read_back(&self.0, from, into, what)
    }

    /// The memory that threads of a block share fits the GPU. However small an element is, it takes a word there.
    fn accept(&self, kernel: &Kernel) -> Result<(), Error> {
        let shared = kernel.memories.iter().filter(|memory| memory.space == Space::Shared);
        let bytes = shared.fold(0u64, |sum, memory| {
            let count = Size::product(&memory.shape).constant().unwrap_or(u64::MAX);
            sum.saturating_add(count.saturating_mul(memory.ty.bytes().max(4) as u64))
        });
        let most = u64::from(self.0.limits.max_compute_workgroup_storage_size);
        if bytes <= most {
            return Ok(());
        }
        Err(Error::TooLarge {
            what: format!("the threadgroup memory of kernel `{}`", kernel.name),
            why: format!("{bytes} bytes, and a block of this GPU has {most}"),
        })
    }

    fn accept_form(&self, trusted: &dyn Fn() -> Result<Kernel, Trouble>) -> Result<(), Trouble> {
        if !self.0.target.int64 {
            // The code that tells knows how to do without; what somebody wrote may not.
            words::check_narrow_kernel(&trusted()?, WIDE).map_err(Error::Shader)?;
        }
        Ok(())
    }
}
