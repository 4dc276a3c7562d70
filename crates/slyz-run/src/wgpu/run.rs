//! A compiled plan, and a call of it: check, upload, launch, count, submit.

use super::Wgpu;
use super::adapter::Opened;
use super::array::GpuArray;
use super::clock::{copy_bandwidth, measured};
use super::groups::Key;
use super::memory::{Lent, Role, take};
use super::variant::{Calls, Geometry, Needs, Prepared, Variant, module};
use super::window;
use crate::device::Seal;
use crate::memo::Memo;
use crate::signature::{Bound, Signature, Sizes};
use crate::{Argument, ArrayData, Buffer, Clock, DeviceMemory, Error, Executable, LaunchTime, Output, hash, profile};
use slyz_sir::back::naga;
use slyz_sir::kernel::{BufferId, BufferUse, Plan, ScalarArg, Step};
use slyz_sir::lower::gpu::{Expected, Machine};
use slyz_sir::pass;
use slyz_sir::program::Program;
use slyz_sir::size::Size;
use std::sync::Arc;

/// Plans that an executable keeps.
const KEPT_VARIANTS: usize = 16;

/// A program, and what it became for the sizes of its calls.
pub(super) struct WgpuExecutable {
    signature: Signature,
    program: Program,
    machine: Machine,
    opened: Arc<Opened>,
    source: String,
    /// The plan that expects nothing.
    usual: Arc<Variant>,
    variants: Memo<Variant>,
    calls: Calls,
}

impl WgpuExecutable {
    pub(super) fn new(program: &Program, opened: Arc<Opened>) -> Result<WgpuExecutable, Error> {
        let signature = Signature::of(program);
        let program = pass::optimize(program);
        if !opened.target.int64 {
            naga::check_narrow(&program)?;
        }
        let machine = naga::machine_for(&program, opened.machine);
        let usual = Arc::new(Variant::new(&program, &machine, &Expected::default())?);
        // What cannot be written at all is an error now. The driver sees kernels when calls need them.
        let mut source = String::new();
        for kernel in &usual.plan.kernels {
            source += &format!(
                "// {}\n{}\n",
                kernel.name,
                naga::wgsl(&module(&opened, kernel, Needs { narrow: true, long: false })?)?
            );
        }
        let (variants, calls) = (Memo::new(KEPT_VARIANTS), Calls::default());
        Ok(WgpuExecutable { signature, program, machine, opened, source, usual, variants, calls })
    }

    /// The plan for some sizes.
    fn variant(&self, sizes: &Sizes) -> Result<Arc<Variant>, Error> {
        let expected = Expected::of(sizes.values());
        let large = window::is_large(&self.opened, &self.usual.plan, sizes);
        self.variants.get(hash::of(&(&expected, large)), || {
            let machine = if large { self.machine.in_pieces() } else { self.machine };
            let variant = Variant::new(&self.program, &machine, &expected)?;
            Ok(if variant.plan == self.usual.plan { self.usual.clone() } else { Arc::new(variant) })
        })
    }

    fn broken(&self, why: String) -> Error {
        Error::Plan { name: self.signature.name.clone(), why }
    }
}

impl Executable for WgpuExecutable {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        self.opened.alive()?;
        let resident = |buffer: &Buffer| GpuArray::of(buffer, &self.opened).is_some();
        let (sizes, args) = self.signature.check(sizes, args, resident)?;
        let prepared = self.calls.of(sizes.values(), || self.variant(&sizes))?;
        let plan = &prepared.variant.plan;
        let slots = plan.buffers.iter().map(|_| Slot::Empty).collect();
        let (executable, commands, spare) = (self, vec![], vec![]);
        let mut call = Call { executable, prepared: &prepared, counted: false, sizes, args, slots, spare, commands };
        for (place, step) in plan.steps.iter().enumerate() {
            call.step(place, step)?;
        }
        call.submit()?;
        plan.results.iter().map(|(id, shape)| call.output(*id, shape)).collect()
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.usual.plan)
    }

    fn device(&self) -> &str {
        Wgpu::NAME
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }

    fn copy_bandwidth(&self, _device: &str) -> Result<f64, Error> {
        copy_bandwidth(&self.opened)
    }
}

/// One call in progress. All memory that it uses is held until its commands are submitted: a pool that had it before might
/// lend it to a call of another thread, whose commands would come first.
struct Call<'e, 'a> {
    executable: &'e WgpuExecutable,
    prepared: &'e Prepared,
    /// Has a size been counted?
    counted: bool,
    sizes: Sizes<'e>,
    args: Vec<Bound<'a>>,
    slots: Vec<Slot>,
    /// Temporaries that the plan needs no more. Other arrays that kernels of this call write may have them, but no upload:
    /// that comes before all commands.
    spare: Vec<Arc<GpuArray>>,
    /// Not submitted yet.
    commands: Vec<Command>,
}

/// What stands behind a buffer of the plan.
enum Slot {
    /// Not used yet.
    Empty,
    /// On the GPU.
    Here(Arc<GpuArray>),
    /// Used no more.
    Freed,
}

/// A launch with its memory.
pub(super) struct Command {
    /// The step of the plan.
    pub(super) place: usize,
    pub(super) launch: Arc<Geometry>,
    pub(super) arrays: Vec<Arc<GpuArray>>,
    pub(super) uniform: Arc<Lent>,
    /// Scalars that are on the GPU, with their places in the uniform buffer and their bytes.
    pub(super) scalars: ScalarCopies,
}

impl Call<'_, '_> {
    fn step(&mut self, place: usize, step: &Step) -> Result<(), Error> {
        match step {
            Step::Launch { kernel, buffers, scalars } => self.launch(place, *kernel, buffers, scalars),
            Step::Count { size, from } => {
                let role = self.prepared.variant.plan.buffers.get(from.0 as usize).map(|b| b.role);
                let array = match &self.slots[from.0 as usize] {
                    Slot::Here(array) if role == Some(BufferUse::Temporary) => array.clone(),
                    Slot::Here(_) | Slot::Empty | Slot::Freed => {
                        return Err(self.executable.broken(format!("the count in buffer {} was not made", from.0)));
                    }
                };
                self.submit()?;
                let mut bytes = [0; 8];
                array.read(&mut bytes)?;
                let count = u64::try_from(i64::from_le_bytes(bytes));
                let count = count.map_err(|_| self.executable.broken("a count is negative".to_string()))?;
                self.counted = true;
                self.sizes.count(*size, count)
            }
            Step::Free(id) => {
                if let Slot::Here(array) = std::mem::replace(&mut self.slots[id.0 as usize], Slot::Freed) {
                    self.spare.push(array);
                }
                Ok(())
            }
        }
    }

    /// The array behind a buffer. It is made at its first use; an argument from elsewhere is uploaded then.
    fn fill(&mut self, id: BufferId) -> Result<&Arc<GpuArray>, Error> {
        let index = id.0 as usize;
        if let Slot::Empty = self.slots[index] {
            self.slots[index] = Slot::Here(self.make(index)?);
        }
        match &self.slots[index] {
            Slot::Here(array) => Ok(array),
            Slot::Empty | Slot::Freed => {
                Err(self.executable.broken(format!("buffer {} is used after it was freed", id.0)))
            }
        }
    }

    fn make(&mut self, index: usize) -> Result<Arc<GpuArray>, Error> {
        let executable = self.executable;
        let (buffer, opened) = (&self.prepared.variant.plan.buffers[index], &executable.opened);
        let name = &executable.signature.name;
        if let BufferUse::Argument(place) = buffer.role {
            let Some(Bound::Array(data)) = self.args.get(place) else {
                return Err(executable.broken(format!("argument {place} is not an array")));
            };
            let here = match data {
                ArrayData::Buffer(buffer) => GpuArray::of(buffer, opened),
                ArrayData::Host(_) => None,
            };
            return match here {
                Some(array) => Ok(array),
                None => {
                    let what = format_args!("argument {} of \"{name}\" on the GPU", place + 1);
                    Ok(Arc::new(GpuArray::upload(opened, data.bytes()?, &what)?))
                }
            };
        }
        let (_, bytes) = self.sizes.extent(buffer.ty, &buffer.shape)?;
        let most = (bytes as u64).saturating_add(bytes as u64 / 2).saturating_add(256);
        let fits = |array: &Arc<GpuArray>| (bytes as u64..=most).contains(&array.buffer().size());
        if let Some(place) = self.spare.iter().position(fits) {
            return Ok(self.spare.swap_remove(place));
        }
        let array = match buffer.role {
            BufferUse::Result(place) => {
                GpuArray::new(opened, bytes as u64, &format_args!("result {place} of \"{name}\" on the GPU"))
            }
            BufferUse::Temporary | BufferUse::Argument(_) => {
                GpuArray::new(opened, bytes as u64, &format_args!("a temporary array of \"{name}\" on the GPU"))
            }
        };
        Ok(Arc::new(array?))
    }

    fn launch(&mut self, place: usize, index: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> Result<(), Error> {
        let (opened, prepared) = (&self.executable.opened, self.prepared);
        let make = || -> Result<Vec<Arc<Geometry>>, Error> {
            let all = Geometry::all(opened, &prepared.variant, &self.sizes, index, buffers)?;
            Ok(all.into_iter().map(Arc::new).collect())
        };
        let counted = if self.counted { make()? } else { vec![] };
        let launches = if self.counted { &counted } else { prepared.launch(place, make)? };
        let mut arrays = Vec::with_capacity(buffers.len());
        for id in buffers {
            arrays.push(self.fill(*id)?.clone());
        }
        for launch in launches {
            let (uniform, scalars) = self.uniform(launch, scalars)?;
            let (launch, arrays) = (launch.clone(), arrays.clone());
            self.commands.push(Command { place, launch, arrays, uniform, scalars });
        }
        Ok(())
    }

    /// The sizes and scalars of a launch. A scalar that is on the GPU is not waited for.
    fn uniform(&self, launch: &Geometry, scalars: &[ScalarArg]) -> Result<(Arc<Lent>, ScalarCopies), Error> {
        let (mut words, mut copies) = (Vec::with_capacity(scalars.len()), vec![]);
        for (k, &ScalarArg::Argument(place)) in scalars.iter().enumerate() {
            words.push(match self.args.get(place) {
                Some(Bound::Scalar(scalar)) => scalar.bits,
                Some(Bound::Array(ArrayData::Buffer(buffer))) => {
                    let array = GpuArray::of(buffer, &self.executable.opened);
                    let array =
                        array.ok_or_else(|| self.executable.broken(format!("argument {place} is elsewhere")))?;
                    copies.push((array, 8 * (launch.words.len() + k) as u64, buffer.len() as u64));
                    0
                }
                Some(Bound::Array(ArrayData::Host(_))) | None => {
                    return Err(self.executable.broken(format!("argument {place} is not a scalar")));
                }
            });
        }
        let opened = &self.executable.opened;
        let write = || {
            let bytes: Vec<u8> = launch.words.iter().chain(&words).flat_map(|word| word.to_le_bytes()).collect();
            uniform_buffer(opened, bytes, launch.built.pipeline.uniform_bytes)
        };
        let uniform = if copies.is_empty() { launch.uniform(&words, write)? } else { Arc::new(write()?) };
        Ok((uniform, copies))
    }

    /// Submits the commands that are waiting. Nothing waits for them to be done.
    fn submit(&mut self) -> Result<(), Error> {
        if self.commands.is_empty() {
            return Ok(());
        }
        let opened = &self.executable.opened;
        let commands = &self.commands;
        if profile::listening() {
            self.submit_measured()?;
            self.commands.clear();
            return Ok(());
        }
        let index = opened.guarded(&"the launches of a call", 0, || {
            let mut encoder = opened.device.create_command_encoder(&Default::default());
            let mut rest = &commands[..];
            while let Some(first) = rest.first() {
                first.copy_scalars(&mut encoder);
                // One pass for all launches up to the next copy.
                let count = 1 + rest[1..].iter().take_while(|command| command.scalars.is_empty()).count();
                let (run, behind) = rest.split_at(count);
                let mut pass = encoder.begin_compute_pass(&Default::default());
                run.iter().for_each(|command| command.encode(opened, &mut pass));
                rest = behind;
            }
            opened.queue.submit([encoder.finish()])
        });
        // What is kept might be what was refused.
        let index = index.inspect_err(|_| opened.groups.clear())?;
        self.commands.clear();
        opened.pace.submitted(opened, index)
    }

    /// Runs each command by itself, waits for it, and tells how long the steps of the plan took.
    fn submit_measured(&self) -> Result<(), Error> {
        let (opened, plan) = (&self.executable.opened, &self.prepared.variant.plan);
        for pieces in self.commands.chunk_by(|a, b| a.place == b.place) {
            let (mut seconds, mut clock) = (0.0, Clock::Device);
            for command in pieces {
                let (piece, by) = measured(opened, |encoder, timestamp_writes| {
                    command.copy_scalars(encoder);
                    let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
                    command.encode(opened, &mut encoder.begin_compute_pass(&descriptor));
                })?;
                seconds += piece;
                clock = by;
            }
            if let Step::Launch { kernel, buffers, .. } = &plan.steps[pieces[0].place] {
                let kernel = &plan.kernels[*kernel];
                let (read, written) = profile::traffic(plan, kernel, buffers, self.sizes.values());
                let (kernel, device) = (kernel.name.clone(), Wgpu::NAME.to_string());
                profile::tell(LaunchTime { kernel, device, seconds, clock, read, written });
            }
        }
        Ok(())
    }

    fn output(&mut self, id: BufferId, shape: &[Size]) -> Result<Output, Error> {
        let executable = self.executable;
        let buffer = &self.prepared.variant.plan.buffers[id.0 as usize];
        let (ty, (_, bytes)) = (buffer.ty, self.sizes.extent(buffer.ty, shape)?);
        let shape = self.sizes.shape(shape)?;
        // An argument that comes from a buffer is that buffer, and one that nothing reads has no need to be on the GPU.
        if let BufferUse::Argument(place) = buffer.role {
            let data = match (self.args.get(place), &self.slots[id.0 as usize]) {
                (Some(Bound::Array(ArrayData::Buffer(buffer))), _) => (*buffer).clone(),
                (Some(Bound::Array(_)), Slot::Here(array)) => Buffer::on_device(array.clone(), bytes),
                (Some(Bound::Array(ArrayData::Host(data))), _) => Buffer::copy_of(data)?,
                (Some(Bound::Scalar(_)) | None, _) => {
                    return Err(executable.broken(format!("argument {place} is not an array")));
                }
            };
            return Ok(Output { ty, shape, data: data.prefix(bytes) });
        }
        if matches!(self.slots[id.0 as usize], Slot::Empty) && bytes > 0 {
            return Err(executable.broken(format!("nothing writes the result in buffer {}", id.0)));
        }
        let array = self.fill(id)?.clone();
        if array.buffer().size() < bytes as u64 {
            return Err(executable.broken(format!("the result in buffer {} is smaller than its shape", id.0)));
        }
        Ok(Output { ty, shape, data: Buffer::on_device(array, bytes) })
    }
}

pub(super) type ScalarCopies = Vec<(Arc<GpuArray>, u64, u64)>;

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

    pub(super) fn encode(&self, opened: &Opened, pass: &mut wgpu::ComputePass) {
        let Geometry { built, grid: [x, y, z], bound, .. } = &*self.launch;
        let pipeline = &built.pipeline;
        let arrays = self.arrays.iter().zip(bound).map(|(array, &(offset, bytes))| {
            let left = array.buffer().size().saturating_sub(offset);
            (array.number(), array.buffer(), offset, bytes.min(left))
        });
        let uniform = (self.uniform.number(), self.uniform.buffer(), 0, pipeline.uniform_bytes);
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
            let (layout, entries) = (&pipeline.layout, &entries[..]);
            opened.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries })
        });
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(*x, *y, *z);
    }
}
