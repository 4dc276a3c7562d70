//! A compiled plan, and a call of it: check, allocate, launch, count, give the results.
//!
//! Buffers are allocated where they are first used, since their shapes may hang on a count.

use super::check::check;
use super::code::Code;
use super::launch::Launch;
use super::numbers::{Arithmetic, Numbers, result};
use super::toolchain::Toolchain;
use super::{Backend, Cpu, Few};
use crate::device::Seal;
use crate::kernels::bound_memories;
use crate::signature::{Bound, Signature, Sizes};
use crate::{
    Argument, ArrayData, Block, Buffer, BuildTime, Clock, Error, Executable, LaunchTime, Output, Pool, profile,
};
use slyz_sir::kernel::{BufferId, BufferUse, Plan, ScalarArg, Step};
use slyz_sir::program::Program;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A plan with its code.
pub(super) struct CpuExecutable {
    signature: Signature,
    plan: Plan,
    backend: Backend,
    toolchain: Arc<Toolchain>,
    source: String,
    built: BuildTime,
    /// Code for 32-bit indices.
    narrow: Code,
    /// Code for any size, built when a call first needs it.
    wide: OnceLock<Code>,
    /// Held by whoever builds it.
    widening: Mutex<()>,
    arithmetic: Arithmetic,
}

impl CpuExecutable {
    pub(super) fn new(program: &Program, backend: Backend, toolchain: Arc<Toolchain>) -> Result<CpuExecutable, Error> {
        let start = Instant::now();
        let signature = Signature::of(program);
        let plan = (backend.lower)(program);
        check(&plan, &signature)?;
        let passes = start.elapsed();
        let (narrow, source, time) = Code::build(&plan, false, backend, &toolchain)?;
        let built = BuildTime { passes, ..time };
        let (wide, widening, arithmetic) = (OnceLock::new(), Mutex::default(), Arithmetic::new(&plan));
        Ok(CpuExecutable { signature, plan, backend, toolchain, source, built, narrow, wide, widening, arithmetic })
    }

    fn code(&self, wide: bool) -> Result<&Code, Error> {
        if !wide {
            return Ok(&self.narrow);
        }
        if let Some(code) = self.wide.get() {
            return Ok(code);
        }
        let _one_at_a_time = self.widening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = self.wide.get() {
            return Ok(code);
        }
        let (code, _, _) = Code::build(&self.plan, true, self.backend, &self.toolchain)?;
        Ok(self.wide.get_or_init(|| code))
    }

    fn broken(&self, why: String) -> Error {
        Error::Plan { name: self.signature.name.clone(), why }
    }
}

impl Executable for CpuExecutable {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        let (sizes, args) = self.signature.check(sizes, args, |_| false)?;
        let numbers = self.arithmetic.of_call(&self.plan, &sizes)?;
        let slots = self.plan.buffers.iter().map(|_| Slot::Empty).collect();
        let (pool, numbers, memories) = (Pool::global(), numbers.as_deref(), Few::new());
        let mut call = Call { executable: self, pool, sizes, numbers, args, slots, memories };
        for number in 0..self.plan.steps.len() {
            call.step(number)?;
        }
        let mut outputs = Vec::with_capacity(self.plan.results.len());
        for number in 0..self.plan.results.len() {
            outputs.push(call.output(number)?);
        }
        Ok(outputs)
    }

    fn build_time(&self) -> Option<BuildTime> {
        Some(self.built)
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
    /// Where the sizes are all known before.
    numbers: Option<&'e Numbers>,
    args: Vec<Bound<'a>>,
    slots: Vec<Slot<'a>>,
    /// Of the launch in progress.
    memories: Few<*mut c_void>,
}

/// What stands behind a buffer of the plan.
enum Slot<'a> {
    /// Not used yet.
    Empty,
    /// The caller's; never written.
    Lent(ArrayData<'a>),
    /// Ours to write: a block and how many of its bytes count.
    Owned(Block, usize),
    /// A copy of an argument, or shared with a result; not written any more.
    Shared(Buffer),
    /// Used no more.
    Freed,
}

impl Call<'_, '_> {
    fn step(&mut self, number: usize) -> Result<(), Error> {
        match &self.executable.plan.steps[number] {
            Step::Launch { kernel, buffers, scalars } => self.launch(number, *kernel, buffers, scalars),
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

    fn launch(&mut self, step: usize, index: usize, buffers: &[BufferId], scalars: &[ScalarArg]) -> Result<(), Error> {
        let executable = self.executable;
        let kernel = &executable.plan.kernels[index];
        let counted;
        let numbers = match self.numbers.and_then(|numbers| numbers.launches[step].as_ref()) {
            Some(numbers) => numbers,
            None => {
                counted = executable.arithmetic.of_launch(kernel, index, &self.sizes)?;
                &counted
            }
        };
        self.memories.clear();
        for (place, (id, &bytes)) in buffers.iter().zip(&numbers.memories).enumerate() {
            let (start, len) = self.place(*id)?;
            if len < bytes {
                let name = bound_memories(kernel).nth(place).map_or("", |memory| &memory.name);
                return Err(executable.broken(format!("{name} of {} has {bytes} bytes, its buffer {len}", kernel.name)));
            }
            self.memories.push(start.cast());
        }
        let scalars: Few<u64> = scalars.iter().map(|scalar| self.scalar(*scalar)).collect();
        let code = executable.code(numbers.wide)?.kernel(index);
        let code = code.ok_or_else(|| executable.broken(format!("no code for {}", kernel.name)))?;
        let launch = Launch {
            kernel: code,
            memories: &self.memories,
            scratch: &numbers.scratch,
            scalars: &scalars,
            sizes: &numbers.words,
            blocks: numbers.blocks,
            work: numbers.work,
        };
        // SAFETY: the code lives as long as the executable. Each memory has the bytes its shape needs, checked
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
            Slot::Lent(data) => Ok((data.bytes()?.as_ptr().cast_mut(), data.len())),
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
                // C wants elements on their natural addresses.
                Some(Bound::Array(ArrayData::Host(bytes))) if bytes.as_ptr().addr() % buffer.ty.bytes() != 0 => {
                    Slot::Shared(Buffer::copy_of(bytes)?)
                }
                Some(Bound::Array(data)) => Slot::Lent(*data),
                Some(Bound::Scalar(_)) | None => {
                    return Err(self.executable.broken(format!("argument {place} is not an array")));
                }
            },
            BufferUse::Result(_) | BufferUse::Temporary => {
                let bytes = match self.numbers {
                    Some(numbers) => numbers.buffers[index],
                    None => self.sizes.extent(buffer.ty, &buffer.shape)?.1,
                };
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

    fn output(&mut self, number: usize) -> Result<Output, Error> {
        let executable = self.executable;
        let (id, shape) = &executable.plan.results[number];
        let (id, index) = (*id, id.0 as usize);
        let ty = executable.plan.buffers[index].ty;
        let (shape, bytes) = match self.numbers {
            Some(numbers) => numbers.results[number].clone(),
            None => result(&executable.plan, &self.sizes, id, shape)?,
        };
        let untouched = matches!(self.slots[index], Slot::Empty);
        self.fill(id)?;
        let data = match std::mem::replace(&mut self.slots[index], Slot::Freed) {
            Slot::Lent(ArrayData::Host(bytes)) => Buffer::copy_of(bytes)?,
            Slot::Lent(ArrayData::Buffer(buffer)) => buffer.to_host()?,
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
        // The same buffer may be a second result.
        if executable.plan.results[number + 1..].iter().any(|(later, _)| *later == id) {
            self.slots[index] = Slot::Shared(data.clone());
        }
        let data = if data.len() == bytes { data } else { data.prefix(bytes) };
        Ok(Output { ty, shape, data })
    }
}
