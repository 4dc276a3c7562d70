//! A compiled plan, and a call of it: check, upload, launch, count, submit.

use super::Wgpu;
use super::adapter::Opened;
use super::array::GpuArray;
use super::memory::{Lent, Role, take};
use super::pipeline::{Pipeline, bound, pipeline};
use crate::signature::{Bound, Signature, Sizes};
use crate::{Argument, ArrayData, Buffer, DeviceMemory, Error, Executable, Output};
use slyz_sir::back::naga::{self, EmitError};
use slyz_sir::code::{Body, Op};
use slyz_sir::graph::Graph;
use slyz_sir::kernel::{BufferId, BufferUse, Kernel, Plan, ScalarArg, Step};
use slyz_sir::lower::gpu::{Machine, lower};
use slyz_sir::ops::Operator;
use slyz_sir::size::Size;
use slyz_sir::types::Ty;
use slyz_sir::{pass, verify};
use std::sync::Arc;

/// A plan with its pipelines.
pub(super) struct WgpuExecutable {
    signature: Signature,
    plan: Plan,
    opened: Arc<Opened>,
    source: String,
    pipelines: Vec<Pipeline>,
}

impl WgpuExecutable {
    pub(super) fn new(graph: &Graph, opened: Arc<Opened>) -> Result<WgpuExecutable, Error> {
        let signature = Signature::of(graph);
        let graph = pass::optimize(graph);
        if !opened.target.int64 {
            check_narrow(&graph)?;
        }
        let mut machine = opened.machine;
        if has_small_types(&graph.body) {
            // A block's memory has a word for every element.
            machine = Machine { shared_bytes: machine.shared_bytes / 4, ..machine };
        }
        let plan = lower(&graph, &machine);
        verify::plan(&plan).map_err(|error| Error::Plan { name: signature.name.clone(), why: error.to_string() })?;
        let (mut source, mut pipelines) = (String::new(), vec![]);
        for kernel in &plan.kernels {
            let module = naga::emit(kernel, &opened.target)?;
            source += &format!("// {}\n{}\n", kernel.name, naga::wgsl(&module)?);
            pipelines.push(pipeline(&opened, kernel, module)?);
        }
        Ok(WgpuExecutable { signature, plan, opened, source, pipelines })
    }

    fn broken(&self, why: String) -> Error {
        Error::Plan { name: self.signature.name.clone(), why }
    }
}

/// Where positions are 32-bit numbers, code may not make larger ones out of them, nor work on 64-bit data.
fn check_narrow(graph: &Graph) -> Result<(), Error> {
    let lacks = |what: &str| {
        Error::Shader(EmitError::Lacks {
            kernel: graph.name.clone(),
            what: what.into(),
            feature: "SHADER_INT64",
            remedy: "Use 32-bit integers",
        })
    };
    fn multiplies(body: &Body) -> bool {
        body.stmts.iter().any(|stmt| {
            let wide = stmt.binds.first().is_some_and(|b| b.ty.elem() == Ty::I64);
            let grows = matches!(&stmt.op, Op::Apply(Operator::Mul | Operator::Fma | Operator::Shl, _));
            wide && grows || stmt.op.bodies().into_iter().any(multiplies)
        })
    }
    let given = graph.body.params.iter().any(|p| p.ty.elem() == Ty::I64);
    let results = |stmt: &slyz_sir::code::Stmt| {
        stmt.binds.iter().any(|b| graph.body.results.contains(&b.id) && b.ty.elem() == Ty::I64)
    };
    if given || graph.body.stmts.iter().any(results) {
        return Err(lacks("64-bit integers (arrays or scalars of i64)"));
    }
    if graph.functions.iter().map(|f| &f.body).chain([&graph.body]).any(multiplies) {
        return Err(lacks("64-bit integers (products of i64)"));
    }
    Ok(())
}

fn has_small_types(body: &Body) -> bool {
    let small = |ty: Ty| ty.bits() < 32;
    let vars = body.params.iter().chain(body.stmts.iter().flat_map(|s| &s.binds));
    vars.map(|v| v.ty.elem()).any(small) || body.stmts.iter().flat_map(|s| s.op.bodies()).any(has_small_types)
}

impl Executable for WgpuExecutable {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        self.opened.alive()?;
        let resident = |buffer: &Buffer| GpuArray::of(buffer, &self.opened).is_some();
        let (sizes, args) = self.signature.check(sizes, args, resident)?;
        let slots = self.plan.buffers.iter().map(|_| Slot::Empty).collect();
        let mut call =
            Call { executable: self, sizes, args, slots, spare: vec![], used: vec![], uniforms: vec![], encoder: None };
        for step in &self.plan.steps {
            call.step(step)?;
        }
        call.submit()?;
        self.plan.results.iter().map(|(id, shape)| call.output(*id, shape)).collect()
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.plan)
    }

    fn device(&self) -> &str {
        Wgpu::NAME
    }
}

/// One call in progress. All memory that it uses is held until its commands are submitted: a pool that had it before might
/// lend it to a call of another thread, whose commands would come first.
struct Call<'e, 'a> {
    executable: &'e WgpuExecutable,
    sizes: Sizes<'e>,
    args: Vec<Bound<'a>>,
    slots: Vec<Slot>,
    /// Temporaries that the plan needs no more. Other arrays that kernels of this call write may have them, but no upload:
    /// that comes before all commands.
    spare: Vec<Arc<GpuArray>>,
    /// Arguments that commands use.
    used: Vec<Arc<GpuArray>>,
    uniforms: Vec<Lent>,
    /// Commands that are not submitted yet.
    encoder: Option<wgpu::CommandEncoder>,
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

impl Call<'_, '_> {
    fn step(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Launch { kernel, buffers, scalars } => self.launch(*kernel, buffers, scalars),
            Step::Count { size, from } => {
                let role = self.executable.plan.buffers.get(from.0 as usize).map(|b| b.role);
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
        let (buffer, opened) = (&executable.plan.buffers[index], &executable.opened);
        let (_, bytes) = self.sizes.extent(buffer.ty, &buffer.shape)?;
        let name = &executable.signature.name;
        let what = match buffer.role {
            BufferUse::Argument(place) => {
                let Some(Bound::Array(data)) = self.args.get(place) else {
                    return Err(executable.broken(format!("argument {place} is not an array")));
                };
                let here = match data {
                    ArrayData::Buffer(buffer) => GpuArray::of(buffer, opened),
                    ArrayData::Host(_) => None,
                };
                let array = match here {
                    Some(array) => array,
                    None => {
                        let what = format!("argument {} of \"{name}\" on the GPU", place + 1);
                        Arc::new(GpuArray::upload(opened, data.bytes()?, &what)?)
                    }
                };
                self.used.push(array.clone());
                return Ok(array);
            }
            BufferUse::Result(place) => format!("result {place} of \"{name}\" on the GPU"),
            BufferUse::Temporary => format!("a temporary array of \"{name}\" on the GPU"),
        };
        let most = (bytes as u64).saturating_add(bytes as u64 / 2).saturating_add(256);
        let fits = |array: &Arc<GpuArray>| (bytes as u64..=most).contains(&array.buffer().size());
        if let Some(place) = self.spare.iter().position(fits) {
            return Ok(self.spare.swap_remove(place));
        }
        Ok(Arc::new(GpuArray::new(opened, bytes as u64, &what)?))
    }

    fn launch(&mut self, index: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> Result<(), Error> {
        let executable = self.executable;
        let opened = &executable.opened;
        let (kernel, pipeline) = (&executable.plan.kernels[index], &executable.pipelines[index]);
        let limit = opened.limits.max_storage_buffer_binding_size;
        let mut arrays = vec![];
        for (memory, id) in bound(kernel).zip(buffers) {
            let (_, bytes) = self.sizes.extent(memory.ty, &memory.shape)?;
            if bytes as u64 > limit {
                return Err(Error::TooLarge {
                    what: format!("the array {} of {}", memory.name, kernel.name),
                    why: format!("{bytes} bytes, and a kernel of this GPU sees at most {limit}"),
                });
            }
            let array = self.fill(*id)?.clone();
            // What is bound is the array: kernels take its length for theirs, and the buffer may be larger than a binding.
            let shape = &executable.plan.buffers[id.0 as usize];
            let (_, bytes) = self.sizes.extent(shape.ty, &shape.shape)?;
            let size = (bytes as u64).max(16).next_multiple_of(16).min(array.buffer().size());
            arrays.push((array, size));
        }
        let grid = self.sizes.shape(&kernel.grid)?;
        if grid.contains(&0) {
            return Ok(());
        }
        let most = u64::from(opened.limits.max_compute_workgroups_per_dimension);
        if grid.iter().any(|&blocks| blocks > most) {
            return Err(Error::TooLarge {
                what: format!("the grid of {}", kernel.name),
                why: format!("{grid:?} blocks, and this GPU allows {most} in each direction"),
            });
        }
        let uniform = self.uniform(kernel, pipeline, scalars)?;
        let bindings = arrays.iter().map(|(array, size)| (array.buffer(), *size));
        let bindings = bindings.chain([(uniform.buffer(), pipeline.uniform_bytes)]);
        let entries: Vec<wgpu::BindGroupEntry> = bindings
            .zip(0..)
            .map(|((buffer, size), binding)| {
                let size = std::num::NonZeroU64::new(size);
                let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size });
                wgpu::BindGroupEntry { binding, resource }
            })
            .collect();
        let encoder = &mut self.encoder;
        opened.guarded(&format!("a launch of {}", kernel.name), 0, || {
            let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &pipeline.layout, entries: &entries };
            let group = opened.device.create_bind_group(&descriptor);
            let encoder = encoder.get_or_insert_with(|| opened.device.create_command_encoder(&Default::default()));
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(grid[0] as u32, grid[1] as u32, grid[2] as u32);
        })?;
        self.uniforms.push(uniform);
        Ok(())
    }

    /// The sizes and scalars of a launch.
    fn uniform(&self, kernel: &Kernel, pipeline: &Pipeline, scalars: &[ScalarArg]) -> Result<Lent, Error> {
        let opened = &self.executable.opened;
        let mut bytes = vec![];
        for size in &pipeline.extents {
            let value = self.sizes.eval(size)?;
            if value > opened.machine.max_positions {
                return Err(Error::TooLarge {
                    what: format!("an axis of {}", kernel.name),
                    why: format!("it has {value} positions, and this GPU counts to {}", opened.machine.max_positions),
                });
            }
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        for &ScalarArg::Argument(place) in scalars {
            let bits = match self.args.get(place) {
                Some(Bound::Scalar(scalar)) => scalar.bits,
                Some(Bound::Array(_)) | None => {
                    return Err(self.executable.broken(format!("argument {place} is not a scalar")));
                }
            };
            bytes.extend_from_slice(&bits.to_le_bytes());
        }
        bytes.resize(pipeline.uniform_bytes as usize, 0);
        let lent = take(opened, Role::Uniform, bytes.len() as u64, "the sizes of a launch")?;
        let buffer = lent.buffer();
        opened.guarded("the sizes of a launch", 0, || opened.queue.write_buffer(buffer, 0, &bytes))?;
        Ok(lent)
    }

    /// Submits the commands that are waiting. Nothing waits for them to be done.
    fn submit(&mut self) -> Result<(), Error> {
        let Some(encoder) = self.encoder.take() else { return Ok(()) };
        let opened = &self.executable.opened;
        opened.guarded("the launches of a call", 0, || opened.queue.submit([encoder.finish()]))?;
        self.uniforms.clear();
        Ok(())
    }

    fn output(&mut self, id: BufferId, shape: &[Size]) -> Result<Output, Error> {
        let executable = self.executable;
        let buffer = &executable.plan.buffers[id.0 as usize];
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
