//! A compiled plan, and a call of it: check, allocate, launch, count, give the results.
//!
//! Buffers are allocated where they are first used, since their shapes may hang on a count.

use super::check::{check, scratch_memories};
use super::launch::{self, Launch};
use super::library::Library;
use super::toolchain::Toolchain;
use super::{Backend, Cpu, cost};
use crate::device::Seal;
use crate::kernels::{bound_memories, extents};
use crate::signature::{Bound, Signature, Sizes, elements};
use crate::{Argument, ArrayData, Block, Buffer, Clock, Error, Executable, LaunchTime, Output, Pool, profile};
use slyz_sir::graph::Graph;
use slyz_sir::kernel::{Access, BufferId, BufferUse, Plan, ScalarArg, Space, Step};
use slyz_sir::size::Size;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// From this extent, and from twice as many elements, narrow code does not do.
pub(super) const WIDE_EXTENT: u64 = 1 << 30;

/// A plan with its code.
pub(super) struct CpuExecutable {
    signature: Signature,
    plan: Plan,
    backend: Backend,
    toolchain: Arc<Toolchain>,
    source: String,
    /// Code for 32-bit indices; `None` for a plan without kernels.
    narrow: Option<Arc<Library>>,
    /// Code for any size, built when a call first needs it.
    wide: Mutex<Option<Arc<Library>>>,
    /// By kernel.
    facts: Vec<KernelFacts>,
}

/// Results of this many bytes would only push other data out of the caches on their way to memory.
pub(super) const STREAMED: usize = 32 << 20;

/// What is worth knowing about a kernel before it is launched.
struct KernelFacts {
    extents: Vec<Size>,
    /// The last estimate of the code's work, with the sizes and blocks it holds for; calls repeat.
    work: Mutex<Option<(Vec<i64>, u64, u64)>>,
}

impl CpuExecutable {
    pub(super) fn new(graph: &Graph, backend: Backend, toolchain: Arc<Toolchain>) -> Result<CpuExecutable, Error> {
        let signature = Signature::of(graph);
        let plan = (backend.lower)(graph);
        check(&plan, &signature)?;
        let source = (backend.emit)(&plan, false)?;
        let narrow = if plan.kernels.is_empty() {
            None
        } else {
            // SAFETY: the backend keeps the promise of `Cpu::with_backend`.
            Some(Arc::new(unsafe { toolchain.library(&source, plan.kernels.len()) }?))
        };
        let facts = plan.kernels.iter().map(|k| KernelFacts { extents: extents(k), work: Mutex::default() }).collect();
        Ok(CpuExecutable { signature, plan, backend, toolchain, source, narrow, wide: Mutex::default(), facts })
    }

    fn library(&self, wide: bool) -> Result<Arc<Library>, Error> {
        let missing = || self.broken("it has no code".to_string());
        if !wide {
            return self.narrow.clone().ok_or_else(missing);
        }
        let mut slot = self.wide.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = &*slot {
            return Ok(library.clone());
        }
        let source = (self.backend.emit)(&self.plan, true)?;
        // SAFETY: the backend keeps the promise of `Cpu::with_backend`.
        let library = Arc::new(unsafe { self.toolchain.library(&source, self.plan.kernels.len()) }?);
        Ok(slot.insert(library).clone())
    }

    fn broken(&self, why: String) -> Error {
        Error::Plan { name: self.signature.name.clone(), why }
    }
}

impl Executable for CpuExecutable {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        let (sizes, args) = self.signature.check(sizes, args, |_| false)?;
        let slots = self.plan.buffers.iter().map(|_| Slot::Empty).collect();
        let mut call = Call { executable: self, pool: Pool::global(), sizes, args, slots };
        for step in &self.plan.steps {
            call.step(step)?;
        }
        self.plan.results.iter().map(|(id, shape)| call.output(*id, shape)).collect()
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.plan)
    }

    fn device(&self) -> &str {
        Cpu::NAME
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}

/// One call in progress.
struct Call<'e, 'a> {
    executable: &'e CpuExecutable,
    pool: &'static Pool,
    sizes: Sizes<'e>,
    args: Vec<Bound<'a>>,
    slots: Vec<Slot<'a>>,
}

/// What stands behind a buffer of the plan.
enum Slot<'a> {
    /// Not used yet.
    Empty,
    /// The caller's bytes; never written.
    Lent(&'a [u8]),
    /// Ours to write: a block and how many of its bytes count.
    Owned(Block, usize),
    /// Shared with a result or an argument; not written any more.
    Shared(Buffer),
    /// Used no more.
    Freed,
}

impl Call<'_, '_> {
    fn step(&mut self, step: &Step) -> Result<(), Error> {
        match step {
            Step::Launch { kernel, buffers, scalars } => self.launch(*kernel, buffers, scalars),
            Step::Count { size, from } => {
                let bytes: [u8; 8] = match &self.slots[from.0 as usize] {
                    Slot::Owned(block, 8) => block.bytes()[..8].try_into().ok(),
                    Slot::Owned(..) | Slot::Empty | Slot::Lent(_) | Slot::Shared(_) | Slot::Freed => None,
                }
                .ok_or_else(|| self.executable.broken(format!("the count in buffer {} was not made", from.0)))?;
                let count = u64::try_from(i64::from_ne_bytes(bytes));
                let count = count.map_err(|_| self.executable.broken("a count is negative".to_string()))?;
                self.sizes.count(*size, count)
            }
            Step::Free(id) => {
                self.slots[id.0 as usize] = Slot::Freed;
                Ok(())
            }
        }
    }

    fn launch(&mut self, index: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> Result<(), Error> {
        let executable = self.executable;
        let (kernel, facts) = (&executable.plan.kernels[index], &executable.facts[index]);
        let (mut memories, mut largest) = (Vec::<*mut c_void>::with_capacity(buffers.len()), 0);
        let (mut wide, mut written) = (false, 0usize);
        for (memory, id) in bound_memories(kernel).zip(buffers) {
            let (count, bytes) = self.sizes.extent(memory.ty, &memory.shape)?;
            largest = largest.max(count);
            wide |= self.is_wide(count, &memory.shape)?;
            if memory.space == Space::Global(Access::Write) {
                written = written.saturating_add(bytes);
            }
            let (start, len) = self.place(*id)?;
            if len < bytes {
                let why = format!("{} of {} has {bytes} bytes, its buffer {len}", memory.name, kernel.name);
                return Err(executable.broken(why));
            }
            memories.push(start.cast());
        }
        let mut scratch = vec![];
        for memory in scratch_memories(kernel) {
            let (count, bytes) = self.sizes.extent(memory.ty, &memory.shape)?;
            wide |= self.is_wide(count, &memory.shape)?;
            scratch.push(bytes);
        }
        for size in &facts.extents {
            wide |= self.sizes.eval(size)? >= WIDE_EXTENT;
        }
        let blocks = elements(&self.sizes.shape(&kernel.grid)?).filter(|&n| n <= i64::MAX as u64);
        let blocks = blocks.ok_or_else(|| Error::TooLarge {
            what: format!("the grid of {}", kernel.name),
            why: "it has more blocks than the index type, 2^63 - 1, can count".to_string(),
        })?;
        let scalars: Vec<u64> = scalars.iter().map(|scalar| self.scalar(*scalar)).collect();
        let mut words = self.sizes.words();
        let work = largest.max(self.code_work(index, blocks, largest, &words));
        // Behind the sizes stands whether results go past the caches.
        words.push((written >= STREAMED) as i64);
        let library = executable.library(wide)?;
        let code = library.kernel(index).ok_or_else(|| executable.broken(format!("no code for {}", kernel.name)))?;
        let (memories, scratch, scalars, sizes) = (&memories[..], &scratch[..], &scalars[..], &words[..]);
        let launch = Launch { kernel: code, memories, scratch, scalars, sizes, blocks, work };
        // SAFETY: `library` lives until the end of this function. Each memory has the bytes its shape needs, checked
        // above; those that are written are blocks that this call owns and that have one name in the launch, and those
        // that are read are borrowed by the call or shared and never written (`check`). Blocks do not race: the promise of
        // `Cpu::with_backend`.
        let run = || unsafe { launch.run(self.pool) };
        if !profile::listening() {
            return run();
        }
        let start = Instant::now();
        run()?;
        let (seconds, clock) = (start.elapsed().as_secs_f64(), Clock::Host);
        let (read, written) = profile::traffic(&executable.plan, kernel, buffers, self.sizes.values());
        let (kernel, device) = (kernel.name.clone(), Cpu::NAME.to_string());
        profile::tell(LaunchTime { kernel, device, seconds, clock, read, written });
        Ok(())
    }

    /// Is an array beyond what narrow code can index?
    fn is_wide(&self, elements: u64, shape: &[Size]) -> Result<bool, Error> {
        Ok(elements >= 2 * WIDE_EXTENT || self.sizes.shape(shape)?.iter().any(|&extent| extent >= WIDE_EXTENT))
    }

    /// Work that the memories do not show, from the code. Not asked when the memories alone keep all threads busy.
    fn code_work(&self, index: usize, blocks: u64, elements: u64, words: &[i64]) -> u64 {
        let threads = rayon::current_num_threads() as u64;
        if blocks < 2
            || threads < 2
            || launch::tasks(elements, u64::MAX, threads) == launch::tasks(u64::MAX, u64::MAX, threads)
        {
            return 0;
        }
        let mut last = self.executable.facts[index].work.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((sizes, grid, work)) if sizes == words && *grid == blocks => *work,
            Some(_) | None => {
                let value = |var: slyz_sir::size::SizeVar| words.get(var.0 as usize).map(|&n| n as u64);
                let work = cost::work(&self.executable.plan.kernels[index], blocks, &value);
                *last = Some((words.to_vec(), blocks, work));
                work
            }
        }
    }

    fn scalar(&self, ScalarArg::Argument(place): ScalarArg) -> u64 {
        match self.args.get(place) {
            Some(Bound::Scalar(scalar)) => scalar.bits,
            // `check` has seen that the parameter is a scalar, and `Signature::check` that so is the argument.
            Some(Bound::Array(_)) | None => 0,
        }
    }

    /// Where a buffer is and how long; it is made when this is the first use.
    fn place(&mut self, id: BufferId) -> Result<(*mut u8, usize), Error> {
        self.fill(id)?;
        match &self.slots[id.0 as usize] {
            Slot::Lent(bytes) => Ok((bytes.as_ptr().cast_mut(), bytes.len())),
            Slot::Owned(block, len) => Ok((block.start(), *len)),
            Slot::Shared(buffer) => Ok((buffer.bytes()?.as_ptr().cast_mut(), buffer.len())),
            Slot::Empty | Slot::Freed => {
                Err(self.executable.broken(format!("buffer {} is used after it was freed", id.0)))
            }
        }
    }

    fn fill(&mut self, id: BufferId) -> Result<(), Error> {
        let index = id.0 as usize;
        if !matches!(self.slots[index], Slot::Empty) {
            return Ok(());
        }
        let buffer = &self.executable.plan.buffers[index];
        self.slots[index] = match buffer.role {
            BufferUse::Argument(place) => match self.args.get(place) {
                Some(Bound::Array(ArrayData::Buffer(buffer))) => Slot::Shared(buffer.to_host()?),
                // C wants elements on their natural addresses.
                Some(Bound::Array(ArrayData::Host(bytes))) if bytes.as_ptr().addr() % buffer.ty.bytes() != 0 => {
                    Slot::Shared(Buffer::copy_of(bytes)?)
                }
                Some(Bound::Array(ArrayData::Host(bytes))) => Slot::Lent(bytes),
                Some(Bound::Scalar(_)) | None => {
                    return Err(self.executable.broken(format!("argument {place} is not an array")));
                }
            },
            BufferUse::Result(_) | BufferUse::Temporary => {
                let (_, bytes) = self.sizes.extent(buffer.ty, &buffer.shape)?;
                let name = &self.executable.signature.name;
                let block = match buffer.role {
                    BufferUse::Result(place) => self.pool.take(bytes, &format_args!("result {place} of \"{name}\"")),
                    BufferUse::Temporary | BufferUse::Argument(_) => {
                        self.pool.take(bytes, &format_args!("a temporary array of \"{name}\""))
                    }
                };
                Slot::Owned(block?, bytes)
            }
        };
        Ok(())
    }

    fn output(&mut self, id: BufferId, shape: &[Size]) -> Result<Output, Error> {
        let executable = self.executable;
        let index = id.0 as usize;
        let ty = executable.plan.buffers[index].ty;
        let (_, bytes) = self.sizes.extent(ty, shape)?;
        let untouched = matches!(self.slots[index], Slot::Empty);
        self.fill(id)?;
        let data = match std::mem::replace(&mut self.slots[index], Slot::Freed) {
            Slot::Lent(bytes) => Buffer::copy_of(bytes)?,
            Slot::Owned(_, _) if untouched && bytes > 0 => {
                return Err(executable.broken(format!("nothing writes the result in buffer {}", id.0)));
            }
            Slot::Owned(block, len) => Buffer::new(block, len),
            Slot::Shared(buffer) => buffer,
            Slot::Empty | Slot::Freed => {
                return Err(executable.broken(format!("the result in buffer {} was freed", id.0)));
            }
        };
        if data.len() < bytes {
            return Err(executable.broken(format!("the result in buffer {} is smaller than its shape", id.0)));
        }
        self.slots[index] = Slot::Shared(data.clone());
        Ok(Output { ty, shape: self.sizes.shape(shape)?, data: data.prefix(bytes) })
    }
}
