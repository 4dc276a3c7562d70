//! A GPU as the driver sees it: arrays of its memory, kernels, and a stream that runs them in order.

use super::Cuda;
use super::array::CudaArray;
use super::code::{self, Code};
use super::matrices::Product;
use super::opened::Opened;
use super::recording::{Capture, Recording};
use crate::driver::held::{self, Held};
use crate::driver::{
    Described, Engine, Launch, Limits, Narrow, Piece, Variant, WIDE, limits_of, lowered, shared_memory_fits,
};
use crate::{ArrayData, Buffer, Clock, DeviceMemory, Error};
use cudarc::driver::{result, sys};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::{Expected, Machine};
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::types::Ty;
use std::ffi::c_void;
use std::fmt::Display;
use std::sync::Arc;

/// What is copied to see how fast copies are.
const COPIED: usize = 256 << 20;

/// A GPU at work.
#[derive(Clone)]
pub(crate) struct Gpu(pub(super) Arc<Opened>);

/// A launch with numbers for its sizes.
pub(crate) enum Numbers {
    Kernel(Described<Code>),
    /// A product of matrices that the library makes.
    Product(Product),
}

/// Launches that are kept, while they are.
#[derive(Default)]
pub(crate) struct Queue(Option<Capture>);

impl Queue {
    /// Where launches go.
    fn stream(&self, opened: &Opened) -> sys::CUstream {
        self.0.as_ref().map_or(opened.stream, |capture| capture.stream)
    }
}

impl Engine for Gpu {
    const NAME: &'static str = Cuda::NAME;
    const PLACE: &'static str = " on the GPU";
    const NARROW: Narrow = Narrow { elements: WIDE, extent: WIDE };
    const PLANS_BY_SIZE: bool = true;
    const LANGUAGE: Option<Language> = Some(Language::Cuda);
    const RECORDS: bool = true;

    type Array<'a> = Arc<CudaArray>;
    /// Launches go to the stream at once, unless they are kept.
    type Queue = Queue;
    /// Kernels are kept by GPU, whatever plans they are of.
    type Code = ();
    type Numbers = Numbers;
    type Recording = Recording;

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
        Some(limits_of(&self.0.machine))
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

    fn allocate<'a>(&self, _: &mut Queue, bytes: usize, what: &dyn Display) -> Result<Self::Array<'a>, Error> {
        Ok(Arc::new(CudaArray::new(&self.0, bytes, what)?))
    }

    fn upload<'a>(&self, _: Ty, data: ArrayData<'a>, what: &dyn Display) -> Result<Arc<CudaArray>, Error> {
        held::to_read(&self.0, data, what)
    }

    fn own(
        &self,
        _: &mut Queue,
        data: &mut Buffer,
        what: &dyn Display,
    ) -> Result<(Arc<CudaArray>, Option<Buffer>), Error> {
        held::to_write(&self.0, data, what)
    }

    fn download(&self, from: &Arc<CudaArray>, into: &mut [u8]) -> Result<(), Error> {
        from.read(0, into)
    }

    fn buffer(&self, array: Arc<CudaArray>, bytes: usize) -> Result<Buffer, Error> {
        Ok(Buffer::on_device(array, bytes))
    }

    fn lower(&self, program: &Program, expected: &Expected, _in_pieces: bool, choice: Choice) -> Plan {
        let plan = |machine: &Machine| lowered(machine, self.precision(None), program, expected, choice);
        let counts_on_library = plan(&self.0.machine);
        let asks = counts_on_library.kernels.iter().any(|kernel| kernel.product.is_some());
        if !asks || self.0.matrices().is_some() {
            return counts_on_library;
        }
        plan(&Machine { has_products: false, ..self.0.machine })
    }

    fn machine(&self) -> String {
        format!("{:?} {} {}", self.0.machine, self.0.describe(), self.0.precision)
    }

    fn source(&self, variant: &Variant<Gpu>) -> Result<String, Error> {
        variant.texts(|kernel| Ok(code::text(&self.0, kernel, true)?.0))
    }

    fn number(&self, piece: &Piece<'_, Gpu>) -> Result<Numbers, Error> {
        let Piece { kernel, sizes, .. } = *piece;
        let precision = kernel.precision.unwrap_or(self.0.precision);
        if let Some(product) = Product::of(&self.0, kernel, precision, &|size| sizes.eval(size))? {
            return Ok(Numbers::Product(product));
        }
        let code = code::code(&self.0, kernel, piece.hash(), !piece.measures.wide)?;
        let uniforms = &code.description.uniforms;
        Ok(Numbers::Kernel(Described::new(piece, code.clone(), uniforms, self.0.machine.max_blocks)?))
    }

    unsafe fn launch(&self, queue: &mut Queue, launch: &Launch<'_, '_, Gpu>) -> Result<(), Error> {
        self.0.enter()?;
        let scalars = launch.scalars_by_value(|buffer, into| {
            self.upload(Ty::U8, ArrayData::Buffer(buffer), &"a scalar on the GPU")?.read(0, into)
        })?;
        let stream = queue.stream(&self.0);
        for numbers in launch.pieces {
            // SAFETY: the caller's promise.
            unsafe {
                match numbers {
                    Numbers::Kernel(numbers) => self.run(numbers, launch.arrays, &scalars, stream),
                    Numbers::Product(product) => product.run(&self.0, stream, &|place| launch.arrays[place].address),
                }
            }?;
        }
        Ok(())
    }

    unsafe fn time(&self, queue: &mut Queue, launch: &Launch<'_, '_, Gpu>) -> Result<(f64, Clock), Error> {
        self.0.synchronize()?;
        let queue = std::cell::RefCell::new(queue);
        // SAFETY: the caller's promise.
        let seconds = self.timed(&|| unsafe { self.launch(&mut queue.borrow_mut(), launch) })?;
        Ok((seconds, Clock::Device))
    }

    fn place(&self, array: &Arc<CudaArray>) -> u64 {
        array.address
    }

    fn begin_recording(&self, queue: &mut Queue, while_it_holds: bool) -> Result<bool, Error> {
        queue.0 = Capture::new(&self.0, while_it_holds)?;
        Ok(queue.0.is_some())
    }

    fn end_recording(
        &self,
        queue: &mut Queue,
        holds: Option<&Arc<CudaArray>>,
        arrays: Vec<Arc<CudaArray>>,
    ) -> Result<Option<Recording>, Error> {
        queue.0.take().map(|capture| capture.end(holds.map(|holds| holds.address), arrays)).transpose()
    }

    unsafe fn replay(&self, _: &mut Queue, recording: &Recording) -> Result<(), Error> {
        recording.run()
    }

    /// The memory that threads of a block share fits the GPU.
    fn accept(&self, kernel: &Kernel) -> Result<(), Error> {
        shared_memory_fits::<Gpu>(kernel, self.0.most_shared)
    }
}

impl Gpu {
    /// # Safety
    /// As [`Engine::launch`].
    unsafe fn run(
        &self,
        numbers: &Described<Code>,
        arrays: &[&Arc<CudaArray>],
        scalars: &[u64],
        stream: sys::CUstream,
    ) -> Result<(), Error> {
        let Described { code, grid, .. } = numbers;
        let description = &code.description;
        if grid.contains(&0) {
            return Ok(());
        }
        let mut values = numbers.values(description, |place| arrays[place].address, scalars);
        let mut parameters: Vec<*mut c_void> = values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
        let [x, y, z] = *grid;
        let [bx, by, bz] = description.block;
        // SAFETY: the kernel is loaded; its parameters are as described, and live during the call, which copies them.
        unsafe {
            result::launch_kernel(code.function, (x, y, z), (bx, by, bz), code.shared_bytes, stream, &mut parameters)
        }
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
