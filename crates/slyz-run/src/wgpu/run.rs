//! A compiled plan, and a call of it: check, upload, launch, count, download.

use super::Wgpu;
use super::adapter::Opened;
use super::memory::{Lent, Role, take};
use super::pipeline::{Pipeline, bound, pipeline};
use crate::signature::{Bound, Signature, Sizes};
use crate::{Argument, Buffer, Error, Executable, Output, Pool};
use slyz_sir::back::naga::{self, EmitError};
use slyz_sir::code::{Body, Op};
use slyz_sir::graph::Graph;
use slyz_sir::kernel::{BufferId, BufferUse, Kernel, Plan, ScalarArg, Step};
use slyz_sir::lower::gpu::{Machine, lower};
use slyz_sir::ops::Operator;
use slyz_sir::types::Ty;
use slyz_sir::{pass, verify};
use std::sync::{Arc, mpsc};

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
        let (sizes, args) = self.signature.check(sizes, args)?;
        self.opened.alive()?;
        let slots = self.plan.buffers.iter().map(|_| None).collect();
        let mut call = Call { executable: self, sizes, args, slots, uniforms: vec![], encoder: None };
        for step in &self.plan.steps {
            call.step(step)?;
        }
        call.outputs()
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

/// One call in progress. All buffers live until it ends: commands that use them may not be submitted yet.
struct Call<'e, 'a> {
    executable: &'e WgpuExecutable,
    sizes: Sizes<'e>,
    args: Vec<Bound<'a>>,
    slots: Vec<Option<Lent>>,
    uniforms: Vec<Lent>,
    /// Commands that are not submitted yet.
    encoder: Option<wgpu::CommandEncoder>,
}

impl Call<'_, '_> {
    fn step(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Launch { kernel, buffers, scalars } => self.launch(*kernel, buffers, scalars),
            Step::Count { size, from } => {
                let mut bytes = [0; 8];
                let place = self.executable.plan.buffers.get(from.0 as usize).map(|b| b.role);
                if !matches!(place, Some(BufferUse::Temporary)) || self.slots[from.0 as usize].is_none() {
                    return Err(self.executable.broken(format!("the count in buffer {} was not made", from.0)));
                }
                self.download(&[(*from, 8)], |_, data| bytes.copy_from_slice(data))?;
                let count = u64::try_from(i64::from_le_bytes(bytes));
                let count = count.map_err(|_| self.executable.broken("a count is negative".to_string()))?;
                self.sizes.count(*size, count)
            }
            // Kept until the call ends.
            Step::Free(_) => Ok(()),
        }
    }

    /// Makes the buffer at its first use; an argument is uploaded then.
    fn fill(&mut self, id: BufferId) -> Result<(), Error> {
        let index = id.0 as usize;
        if self.slots[index].is_some() {
            return Ok(());
        }
        let executable = self.executable;
        let buffer = &executable.plan.buffers[index];
        let (_, bytes) = self.sizes.extent(buffer.ty, &buffer.shape)?;
        let name = &executable.signature.name;
        let what = match buffer.role {
            BufferUse::Argument(place) => format!("argument {} of \"{name}\" on the GPU", place + 1),
            BufferUse::Result(place) => format!("result {place} of \"{name}\" on the GPU"),
            BufferUse::Temporary => format!("a temporary array of \"{name}\" on the GPU"),
        };
        let lent = take(&executable.opened, Role::Array, bytes as u64, &what)?;
        if let (BufferUse::Argument(place), Some(to)) = (buffer.role, lent.buffer()) {
            let Some(Bound::Array(data)) = self.args.get(place) else {
                return Err(executable.broken(format!("argument {place} is not an array")));
            };
            let data = data.bytes();
            let opened = &executable.opened;
            opened.guarded(&what, bytes as u64, || {
                // wgpu copies whole words.
                let (words, rest) = data.split_at(data.len() / 4 * 4);
                if !words.is_empty() {
                    opened.queue.write_buffer(to, 0, words);
                }
                if !rest.is_empty() {
                    let mut last = [0; 4];
                    last[..rest.len()].copy_from_slice(rest);
                    opened.queue.write_buffer(to, words.len() as u64, &last);
                }
            })?;
        }
        self.slots[index] = Some(lent);
        Ok(())
    }

    fn launch(&mut self, index: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> Result<(), Error> {
        let executable = self.executable;
        let opened = &executable.opened;
        let (kernel, pipeline) = (&executable.plan.kernels[index], &executable.pipelines[index]);
        let limit = opened.limits.max_storage_buffer_binding_size;
        for (memory, id) in bound(kernel).zip(buffers) {
            let (_, bytes) = self.sizes.extent(memory.ty, &memory.shape)?;
            if bytes as u64 > limit {
                return Err(Error::TooLarge {
                    what: format!("the array {} of {}", memory.name, kernel.name),
                    why: format!("{bytes} bytes, and a kernel of this GPU sees at most {limit}"),
                });
            }
            self.fill(*id)?;
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
        let mut resources = vec![];
        for id in buffers {
            let lent = self.slots[id.0 as usize].as_ref().and_then(Lent::buffer);
            let buffer = lent.ok_or_else(|| executable.broken(format!("buffer {} is not there", id.0)))?;
            // What is bound is the array: kernels take its length for theirs, and the buffer may be larger than a binding.
            let shape = &executable.plan.buffers[id.0 as usize];
            let (_, bytes) = self.sizes.extent(shape.ty, &shape.shape)?;
            let size = (bytes as u64).max(16).next_multiple_of(16).min(buffer.size());
            let size = std::num::NonZeroU64::new(size);
            resources.push(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size }));
        }
        if let Some(buffer) = uniform.buffer() {
            let size = std::num::NonZeroU64::new(pipeline.uniform_bytes);
            resources.push(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size }));
        }
        let entries: Vec<wgpu::BindGroupEntry> = resources
            .into_iter()
            .zip(0..)
            .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
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
        if let Some(buffer) = lent.buffer() {
            opened.guarded("the sizes of a launch", 0, || opened.queue.write_buffer(buffer, 0, &bytes))?;
        }
        Ok(lent)
    }

    /// Submits what is waiting, waits for it, and hands out the bytes of some buffers.
    fn download(&mut self, what: &[(BufferId, usize)], mut give: impl FnMut(usize, &[u8])) -> Result<(), Error> {
        let executable = self.executable;
        let opened = &executable.opened;
        let mut staged = vec![];
        for (k, (id, bytes)) in what.iter().enumerate().filter(|(_, (_, bytes))| *bytes > 0) {
            let size = (*bytes as u64).next_multiple_of(4);
            let staging = take(opened, Role::Download, size, "a result on its way to the host")?;
            let from = self.slots[id.0 as usize].as_ref().and_then(Lent::buffer);
            let (Some(from), Some(to)) = (from, staging.buffer()) else {
                return Err(executable.broken(format!("nothing writes the result in buffer {}", id.0)));
            };
            let encoder = &mut self.encoder;
            opened.guarded("a copy of a result", size, || {
                let encoder = encoder.get_or_insert_with(|| opened.device.create_command_encoder(&Default::default()));
                encoder.copy_buffer_to_buffer(from, 0, to, 0, size);
            })?;
            staged.push((k, *bytes, size, staging));
        }
        let Some(encoder) = self.encoder.take() else { return Ok(()) };
        let (send, receive) = mpsc::channel();
        opened
            .guarded("the launches of a call", 0, || {
                let index = opened.queue.submit([encoder.finish()]);
                for (_, _, size, staging) in &staged {
                    if let Some(buffer) = staging.buffer() {
                        let send = send.clone();
                        // The receiver outlives the wait; where it is gone nobody asks any more.
                        buffer.map_async(wgpu::MapMode::Read, 0..*size, move |done| {
                            let _ = send.send(done.map_err(|error| error.to_string()));
                        });
                    }
                }
                opened.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None })
            })?
            .map_err(|error| Error::Driver { what: "to wait for a call".into(), why: error.to_string() })?;
        drop(send);
        let refused = |why: String| Error::Driver { what: "to read a result".into(), why };
        for _ in &staged {
            receive.recv().map_err(|error| refused(error.to_string()))?.map_err(refused)?;
        }
        for (k, bytes, size, staging) in &staged {
            let Some(buffer) = staging.buffer() else { continue };
            {
                let view = buffer.get_mapped_range(0..*size).map_err(|error| refused(error.to_string()))?;
                give(*k, &view[..*bytes]);
            }
            buffer.unmap();
        }
        Ok(())
    }

    fn outputs(&mut self) -> Result<Vec<Output>, Error> {
        let executable = self.executable;
        let (mut wanted, mut shapes, mut blocks) = (vec![], vec![], vec![]);
        for (id, shape) in &executable.plan.results {
            let buffer = &executable.plan.buffers[id.0 as usize];
            let (_, bytes) = self.sizes.extent(buffer.ty, shape)?;
            let name = &executable.signature.name;
            let mut block = Pool::global().take(bytes, &format_args!("a result of \"{name}\""))?;
            let mut on_gpu = bytes;
            if let BufferUse::Argument(place) = buffer.role {
                let Some(Bound::Array(data)) = self.args.get(place) else {
                    return Err(executable.broken(format!("argument {place} is not an array")));
                };
                block.bytes_mut()[..bytes].copy_from_slice(&data.bytes()[..bytes]);
                on_gpu = 0;
            }
            wanted.push((*id, on_gpu));
            shapes.push((buffer.ty, self.sizes.shape(shape)?, bytes));
            blocks.push(block);
        }
        self.download(&wanted, |k, data| blocks[k].bytes_mut()[..data.len()].copy_from_slice(data))?;
        let outputs = blocks.into_iter().zip(shapes);
        Ok(outputs.map(|(block, (ty, shape, bytes))| Output { ty, shape, data: Buffer::new(block, bytes) }).collect())
    }
}
