//! A device of OpenCL as the driver sees it: arrays of its memory, kernels, and a queue that runs them in order.

use super::OpenCl;
use super::array::{ClArray, forget};
use super::code::{self, Code};
use super::opened::Opened;
use crate::driver::held::{self, Held};
use crate::driver::{Engine, Launch, Limits, Narrow, Piece, Unrecorded, Variant, Word, lowered, shared_memory_fits};
use crate::{ArrayData, Buffer, Clock, DeviceMemory, Error};
use opencl3::command_queue::{CommandQueue, enqueue_copy_buffer, enqueue_nd_range_kernel};
use opencl3::error_codes::ClError;
use opencl3::event::{CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START, get_event_profiling_info, wait_for_events};
use opencl3::kernel::set_kernel_arg;
use opencl3::types::cl_event;
use slyz_sir::back::opencl::MOST_NARROW;
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{self, Expected};
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::types::Ty;
use std::fmt::Display;
use std::ptr::null;
use std::sync::{Arc, PoisonError};

/// From so many elements or turns on positions do not fit 32 bits. Threads of the last blocks stand a little past the end.
const WIDE: u64 = MOST_NARROW - (1 << 22);
/// What is copied to see how fast copies are.
const COPIED: usize = 64 << 20;

/// A device at work.
#[derive(Clone)]
pub(crate) struct Processor(pub(super) Arc<Opened>);

/// A launch with numbers for its sizes.
pub(crate) struct Numbers {
    code: Arc<Code>,
    /// Threads in x, y, z.
    threads: [usize; 3],
    /// What the kernel is told, behind its arrays.
    words: Vec<Word>,
}

impl Engine for Processor {
    const NAME: &'static str = OpenCl::NAME;
    const PLACE: &'static str = " on the OpenCL device";
    const NARROW: Narrow = Narrow { elements: WIDE, extent: WIDE };
    const PLANS_BY_SIZE: bool = true;
    const LANGUAGE: Option<Language> = Some(Language::OpenCl);

    type Array<'a> = Arc<ClArray>;
    /// Launches go to the driver's queue at once.
    type Queue = ();
    /// Kernels are kept by device, whatever plans they are of.
    type Code = ();
    type Numbers = Numbers;
    type Recording = Unrecorded;

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn precision(&self, asked: Option<Precision>) -> Precision {
        asked.unwrap_or(self.0.precision)
    }

    fn alive(&self) -> Result<(), Error> {
        self.0.alive()
    }

    fn limits(&self) -> Option<Limits> {
        let most = self.0.summary.array;
        Some(Limits {
            buffer_bytes: most,
            launch: gpu::Limits { window_bytes: most, alignment: 256, blocks: self.0.machine.max_blocks[0] },
            block: self.0.block,
            threads: self.0.machine.max_threads,
        })
    }

    fn copy_bandwidth(&self) -> Result<f64, Error> {
        let what = &"a copy that is measured";
        let from = ClArray::new(&self.0, COPIED, what)?;
        let to = ClArray::new(&self.0, COPIED, what)?;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            self.0.synchronize()?;
            let queue = self.0.measured.get();
            // SAFETY: both have so many bytes.
            let done = unsafe { enqueue_copy_buffer(queue, from.memory(), to.memory(), 0, 0, COPIED, 0, null()) };
            let event = done.map_err(|error| self.0.trouble(error, what, 0))?;
            best = best.min(self.seconds(&[event])?);
        }
        Ok(2.0 * COPIED as f64 / best)
    }

    fn holds(&self, buffer: &Buffer) -> bool {
        ClArray::of(buffer, &self.0).is_some()
    }

    fn allocate<'a>(&self, (): &mut (), bytes: usize, what: &dyn Display) -> Result<Self::Array<'a>, Error> {
        Ok(Arc::new(ClArray::new(&self.0, bytes, what)?))
    }

    fn upload<'a>(&self, _: Ty, data: ArrayData<'a>, what: &dyn Display) -> Result<Arc<ClArray>, Error> {
        held::to_read(&self.0, data, what)
    }

    fn own(&self, (): &mut (), data: &mut Buffer, what: &dyn Display) -> Result<(Arc<ClArray>, Option<Buffer>), Error> {
        held::to_write(&self.0, data, what)
    }

    fn download(&self, from: &Arc<ClArray>, into: &mut [u8]) -> Result<(), Error> {
        from.read(0, into)
    }

    fn buffer(&self, array: Arc<ClArray>, bytes: usize) -> Result<Buffer, Error> {
        Ok(Buffer::on_device(array, bytes))
    }

    fn lower(&self, program: &Program, expected: &Expected, _in_pieces: bool, choice: Choice) -> Plan {
        lowered(&self.0.machine, self.precision(None), program, expected, choice)
    }

    fn machine(&self) -> String {
        format!("{:?} {:?} {}", self.0.machine, self.0.summary, self.0.precision)
    }

    fn source(&self, variant: &Variant<Processor>) -> Result<String, Error> {
        variant.texts(|kernel| Ok(code::text(&self.0, kernel, true)?.0))
    }

    fn number(&self, piece: &Piece<'_, Processor>) -> Result<Numbers, Error> {
        let Piece { kernel, .. } = *piece;
        if piece.bound.iter().any(|&(offset, _)| offset != 0) {
            return Err(Error::TooLarge {
                what: format!("the launch of {}", kernel.name),
                why: "its arrays are larger than this device sees at once".to_string(),
            });
        }
        let code = code::code(&self.0, kernel, piece.hash(), !piece.measures.wide)?;
        let words = piece.words(&code.description.uniforms)?;
        let blocks = piece.blocks(self.0.machine.max_blocks)?;
        let threads = std::array::from_fn(|d| blocks[d] as usize * kernel.block[d].max(1) as usize);
        Ok(Numbers { code, threads, words })
    }

    unsafe fn launch(&self, (): &mut (), launch: &Launch<'_, '_, Processor>) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        let events = unsafe { self.run(&self.0.queue, launch) }?;
        events.into_iter().for_each(forget);
        Ok(())
    }

    unsafe fn time(&self, (): &mut (), launch: &Launch<'_, '_, Processor>) -> Result<(f64, Clock), Error> {
        self.0.synchronize()?;
        // SAFETY: the caller's promise; nothing else is under way.
        let events = unsafe { self.run(&self.0.measured, launch) }?;
        Ok((self.seconds(&events)?, Clock::Device))
    }

    fn submit(&self, (): &mut (), what: &dyn Display) -> Result<(), Error> {
        self.0.queue.flush().map_err(|error| self.0.trouble(error, what, 0))
    }

    /// The memory that threads of a block share fits the device.
    fn accept(&self, kernel: &Kernel) -> Result<(), Error> {
        shared_memory_fits::<Processor>(kernel, self.0.machine.shared_bytes)
    }
}

impl Processor {
    /// Gives the pieces of a launch to a queue.
    ///
    /// # Safety
    /// As [`Engine::launch`].
    unsafe fn run(&self, queue: &CommandQueue, launch: &Launch<'_, '_, Processor>) -> Result<Vec<cl_event>, Error> {
        self.0.alive()?;
        let scalars = launch.scalars_by_value(|buffer, into| {
            self.upload(Ty::U8, ArrayData::Buffer(buffer), &"a scalar on the device")?.read(0, into)
        })?;
        let mut events = vec![];
        for numbers in launch.pieces.iter().filter(|numbers| !numbers.threads.contains(&0)) {
            // SAFETY: the caller's promise.
            let event = unsafe { self.enqueue(queue, numbers, launch.arrays, &scalars) };
            let name = &numbers.code.description.name;
            let what = format_args!("the launch of kernel `{name}`");
            events.push(event.map_err(|error| self.0.trouble(error, &what, 0))?);
        }
        Ok(events)
    }

    /// # Safety
    /// As [`Engine::launch`].
    unsafe fn enqueue(
        &self,
        queue: &CommandQueue,
        numbers: &Numbers,
        arrays: &[&Arc<ClArray>],
        scalars: &[u64],
    ) -> Result<cl_event, ClError> {
        let description = &numbers.code.description;
        let kernel = numbers.code.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = 0;
        for buffer in &description.buffers {
            let memory = arrays[buffer.place].memory();
            // SAFETY: the argument is one of that type, and is copied.
            unsafe { set_kernel_arg(kernel.0, index, size_of_val(&memory), (&raw const memory).cast()) }?;
            index += 1;
        }
        for (word, uniform) in numbers.words.iter().zip(&description.uniforms) {
            let value = word.value(scalars).to_le_bytes();
            // SAFETY: the argument has so many bytes, and is copied.
            unsafe { set_kernel_arg(kernel.0, index, uniform.ty.bytes(), value.as_ptr().cast()) }?;
            index += 1;
        }
        let block = description.block.map(|side| side as usize);
        let threads = numbers.threads.as_ptr();
        // SAFETY: the kernel has all its arguments, as described; three numbers each are read.
        Ok(unsafe { enqueue_nd_range_kernel(queue.get(), kernel.0, 3, null(), threads, block.as_ptr(), 0, null()) }?)
    }

    /// Seconds from the start of the first to the end of the last, by the device's clock.
    fn seconds(&self, events: &[cl_event]) -> Result<f64, Error> {
        let (Some(&first), Some(&last)) = (events.first(), events.last()) else { return Ok(0.0) };
        let ask = || -> Result<f64, ClError> {
            wait_for_events(events)?;
            let start = u64::from(get_event_profiling_info(first, CL_PROFILING_COMMAND_START)?);
            let end = u64::from(get_event_profiling_info(last, CL_PROFILING_COMMAND_END)?);
            Ok(end.saturating_sub(start) as f64 * 1e-9)
        };
        let told = ask().map_err(|error| self.0.trouble(error, &"a measured launch", 0));
        events.iter().copied().for_each(forget);
        told
    }
}
