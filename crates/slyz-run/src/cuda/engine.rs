//! A GPU as the driver sees it: arrays of its memory, kernels, and a stream that runs them in order.

use super::Cuda;
use super::array::CudaArray;
use super::code::{self, Code};
use super::matrices::Product;
use super::opened::Opened;
use crate::driver::{Engine, Launch, Limits, Narrow, Piece, Variant, Word, shared_memory_fits};
use crate::{ArrayData, Buffer, Clock, DeviceMemory, Error};
use cudarc::driver::{result, sys};
use slyz_sir::back::cuda::MOST_NARROW;
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{self, Expected};
use slyz_sir::pass;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::road::{ProgramRoad, Strategy};
use slyz_sir::types::Ty;
use std::ffi::c_void;
use std::fmt::Display;
use std::sync::Arc;

/// From so many elements or turns on positions do not fit 32 bits. Threads of the last blocks stand a little past the end.
const WIDE: u64 = MOST_NARROW - (1 << 22);
/// What is copied to see how fast copies are.
const COPIED: usize = 256 << 20;

/// A GPU at work.
#[derive(Clone)]
pub(crate) struct Gpu(pub(super) Arc<Opened>);

/// A launch with numbers for its sizes.
pub(crate) enum Numbers {
    Kernel(KernelNumbers),
    /// A product of matrices that the library makes.
    Product(Product),
}

pub(crate) struct KernelNumbers {
    code: Arc<Code>,
    grid: [u32; 3],
    /// Where what is bound of each array begins.
    offsets: Vec<u64>,
    /// What the kernel is told, behind its arrays: the value of a size, or the place of a scalar.
    words: Vec<Word>,
}

impl Engine for Gpu {
    const NAME: &'static str = Cuda::NAME;
    const PLACE: &'static str = " on the GPU";
    const NARROW: Narrow = Narrow { elements: WIDE, extent: WIDE };
    const PLANS_BY_SIZE: bool = true;
    const LANGUAGE: Language = Language::Cuda;

    type Array<'a> = Arc<CudaArray>;
    /// Launches go to the stream at once.
    type Queue = ();
    /// Kernels are kept by GPU, whatever plans they are of.
    type Code = ();
    type Numbers = Numbers;

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn plans_by_size(&self) -> bool {
        self.0.compiler.is_some()
    }

    fn precision(&self, asked: Option<Precision>) -> Precision {
        asked.unwrap_or(self.0.precision)
    }

    fn alive(&self) -> Result<(), Error> {
        self.0.alive()
    }

    fn limits(&self) -> Option<Limits> {
        Some(Limits {
            buffer_bytes: u64::MAX / 2,
            launch: gpu::Limits { window_bytes: u64::MAX / 2, alignment: 256, blocks: self.0.machine.max_blocks[0] },
            block: [1024, 1024, 64],
            threads: 1024,
        })
    }

    fn copy_bandwidth(&self) -> Result<f64, Error> {
        let what = &"a copy that is measured";
        let [from, to] = [(); 2].map(|()| CudaArray::new(&self.0, COPIED, what));
        let (from, to) = (from?, to?);
        let copy = || {
            // SAFETY: both have so many bytes.
            unsafe { result::memcpy_dtod_async(to.address, from.address, COPIED, self.0.stream) }
        };
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            best = best.min(self.timed(&|| copy().map_err(|error| self.0.trouble(error, what, 0)))?);
        }
        Ok(2.0 * COPIED as f64 / best)
    }

    fn holds(&self, buffer: &Buffer) -> bool {
        CudaArray::of(buffer, &self.0).is_some()
    }

    fn allocate<'a>(&self, (): &mut (), bytes: usize, what: &dyn Display) -> Result<Self::Array<'a>, Error> {
        Ok(Arc::new(CudaArray::new(&self.0, bytes, what)?))
    }

    fn upload<'a>(&self, _: Ty, data: ArrayData<'a>, what: &dyn Display) -> Result<Arc<CudaArray>, Error> {
        let here = match data {
            ArrayData::Buffer(buffer) => CudaArray::of(buffer, &self.0),
            ArrayData::Host(_) => None,
        };
        match here {
            Some(array) => Ok(array),
            None => Ok(Arc::new(CudaArray::upload(&self.0, data.bytes()?, what)?)),
        }
    }

    fn own(
        &self,
        (): &mut (),
        data: &mut Buffer,
        what: &dyn Display,
    ) -> Result<(Arc<CudaArray>, Option<Buffer>), Error> {
        if CudaArray::of(data, &self.0).is_some_and(|array| !array.is_lent())
            && let Some(own) = data.own_device_memory::<CudaArray>()
        {
            return Ok((own, None));
        }
        let to = match CudaArray::of(data, &self.0) {
            // Somebody else sees it.
            Some(from) => {
                let to = CudaArray::new(&self.0, data.len(), what)?;
                // SAFETY: both have so many bytes.
                unsafe { result::memcpy_dtod_async(to.address, from.address, data.len(), self.0.stream) }
                    .map_err(|error| self.0.trouble(error, what, 0))?;
                to
            }
            None => CudaArray::upload(&self.0, data.bytes()?, what)?,
        };
        let to = Arc::new(to);
        let buffer = Buffer::on_device(to.clone(), data.len());
        Ok((to, Some(buffer)))
    }

    fn download(&self, from: &Arc<CudaArray>, into: &mut [u8]) -> Result<(), Error> {
        from.read(0, into)
    }

    fn free(&self, (): &mut (), array: Arc<CudaArray>) {
        drop(array);
    }

    fn buffer(&self, array: Arc<CudaArray>, bytes: usize) -> Result<Buffer, Error> {
        Ok(Buffer::on_device(array, bytes))
    }

    fn begin(&self, program: &Program) -> Result<Program, Error> {
        Ok(pass::optimize(program))
    }

    fn lower(&self, program: &Program, expected: &Expected, _in_pieces: bool, choice: Choice) -> Plan {
        let road = ProgramRoad::to(Strategy::Threads(self.0.machine, expected.clone()));
        ProgramRoad { choice, ..road }.lower(program)
    }

    fn machine(&self) -> String {
        format!("{:?} {} {}", self.0.machine, self.0.describe(), self.0.precision)
    }

    fn source(&self, variant: &Variant<Gpu>) -> Result<String, Error> {
        let text = |kernel: &Kernel| Ok(code::text(&self.0, kernel, true)?.0);
        let texts: Vec<String> = variant.plan.kernels.iter().map(text).collect::<Result<_, Error>>()?;
        Ok(texts.join("\n"))
    }

    fn number(&self, piece: &Piece<'_, Gpu>) -> Result<Numbers, Error> {
        let Piece { kernel, sizes, .. } = *piece;
        let precision = kernel.precision.unwrap_or(self.0.precision);
        if let Some(product) = Product::of(&self.0, kernel, precision, &|size| sizes.eval(size))? {
            return Ok(Numbers::Product(product));
        }
        let code = code::code(&self.0, kernel, piece.hash(), !piece.measures.wide)?;
        let words = piece.words(&code.description.uniforms)?;
        let grid = piece.blocks(self.0.machine.max_blocks)?;
        let offsets = piece.bound.iter().map(|&(offset, _)| offset).collect();
        Ok(Numbers::Kernel(KernelNumbers { code, grid, offsets, words }))
    }

    unsafe fn launch(&self, (): &mut (), launch: &Launch<'_, '_, Gpu>) -> Result<(), Error> {
        self.0.enter()?;
        let scalars = launch.scalars_by_value(|buffer, into| {
            self.upload(Ty::U8, ArrayData::Buffer(buffer), &"a scalar on the GPU")?.read(0, into)
        })?;
        for numbers in launch.pieces {
            // SAFETY: the caller's promise.
            unsafe {
                match numbers {
                    Numbers::Kernel(numbers) => self.run(numbers, launch.arrays, &scalars),
                    Numbers::Product(product) => product.run(&self.0, &|place| launch.arrays[place].address),
                }
            }?;
        }
        Ok(())
    }

    unsafe fn time(&self, queue: &mut (), launch: &Launch<'_, '_, Gpu>) -> Result<(f64, Clock), Error> {
        self.0.synchronize()?;
        let queue = std::cell::RefCell::new(queue);
        // SAFETY: the caller's promise.
        let seconds = self.timed(&|| unsafe { self.launch(&mut queue.borrow_mut(), launch) })?;
        Ok((seconds, Clock::Device))
    }

    fn submit(&self, (): &mut (), _: &dyn Display) -> Result<(), Error> {
        Ok(())
    }

    /// The memory that threads of a block share fits the GPU.
    fn accept(&self, kernel: &Kernel) -> Result<(), Error> {
        shared_memory_fits::<Gpu>(kernel, self.0.machine.shared_bytes)
    }
}

impl Gpu {
    /// # Safety
    /// As [`Engine::launch`].
    unsafe fn run(&self, numbers: &KernelNumbers, arrays: &[&Arc<CudaArray>], scalars: &[u64]) -> Result<(), Error> {
        let KernelNumbers { code, grid, offsets, words } = numbers;
        let description = &code.description;
        if grid.contains(&0) {
            return Ok(());
        }
        let address = |place: usize| arrays[place].address + offsets.get(place).copied().unwrap_or(0);
        let mut values: Vec<u64> = description.buffers.iter().map(|buffer| address(buffer.place)).collect();
        values.extend(words.iter().map(|word| word.value(scalars)));
        // The driver reads as many bytes of each as its type has, from the low end.
        let mut parameters: Vec<*mut c_void> = values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
        let [x, y, z] = *grid;
        let [bx, by, bz] = description.block;
        // SAFETY: the kernel is loaded; its parameters are as described, and live during the call, which copies them.
        unsafe { result::launch_kernel(code.function, (x, y, z), (bx, by, bz), 0, self.0.stream, &mut parameters) }
            .map_err(|error| self.0.trouble(error, &format_args!("the launch of kernel `{}`", description.name), 0))
    }

    /// Seconds that the GPU takes for what is given to the stream.
    fn timed(&self, act: &dyn Fn() -> Result<(), Error>) -> Result<f64, Error> {
        self.0.enter()?;
        let trouble = |error| self.0.trouble(error, &"a measured launch", 0);
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(trouble);
        let (start, end) = (event()?, event()?);
        // SAFETY: the events live until they are destroyed below.
        let seconds = unsafe {
            result::event::record(start, self.0.stream).map_err(trouble)?;
            act()?;
            result::event::record(end, self.0.stream).map_err(trouble)?;
            result::event::synchronize(end).map_err(trouble)?;
            let milliseconds = result::event::elapsed(start, end).map_err(trouble)?;
            let _ = result::event::destroy(start);
            let _ = result::event::destroy(end);
            f64::from(milliseconds) * 1e-3
        };
        Ok(seconds)
    }
}
