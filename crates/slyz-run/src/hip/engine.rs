//! A GPU as the driver sees it: arrays of its memory, kernels, and a stream that runs them in order.

use super::Hip;
use super::array::HipArray;
use super::code::{self, Code};
use super::opened::Opened;
use crate::driver::held::{self, Held};
use crate::driver::{
    Described, Engine, Launch, Limits, Narrow, Piece, Unrecorded, Variant, WIDE, limits_of, lowered, shared_memory_fits,
};
use crate::{ArrayData, Buffer, Clock, DeviceMemory, Error};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::Expected;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::types::Ty;
use std::fmt::Display;
use std::sync::Arc;

/// What is copied to see how fast copies are.
const COPIED: usize = 256 << 20;

/// A GPU at work.
#[derive(Clone)]
pub(crate) struct Gpu(pub(super) Arc<Opened>);

impl Engine for Gpu {
    const NAME: &'static str = Hip::NAME;
    const PLACE: &'static str = " on the GPU";
    const NARROW: Narrow = Narrow { elements: WIDE, extent: WIDE };
    const PLANS_BY_SIZE: bool = true;
    /// Those for NVIDIA's GPUs may count on 32 lanes: where there are no others, what they mean is run.
    const LANGUAGE: Option<Language> = Some(Language::Hip);

    type Array<'a> = Arc<HipArray>;
    /// Launches go to the stream at once.
    type Queue = ();
    /// Kernels are kept by GPU, whatever plans they are of.
    type Code = ();
    type Numbers = Described<Code>;
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
        Some(limits_of(&self.0.machine))
    }

    fn copy_bandwidth(&self) -> Result<f64, Error> {
        let what = &"a copy that is measured";
        let from = HipArray::new(&self.0, COPIED, what)?;
        let to = HipArray::new(&self.0, COPIED, what)?;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            best = best.min(self.timed(|| from.copy_to(&to, COPIED, what))?);
        }
        Ok(2.0 * COPIED as f64 / best)
    }

    fn holds(&self, buffer: &Buffer) -> bool {
        HipArray::of(buffer, &self.0).is_some()
    }

    fn allocate<'a>(&self, (): &mut (), bytes: usize, what: &dyn Display) -> Result<Self::Array<'a>, Error> {
        Ok(Arc::new(HipArray::new(&self.0, bytes, what)?))
    }

    fn upload<'a>(&self, _: Ty, data: ArrayData<'a>, what: &dyn Display) -> Result<Arc<HipArray>, Error> {
        held::to_read(&self.0, data, what)
    }

    fn own(
        &self,
        (): &mut (),
        data: &mut Buffer,
        what: &dyn Display,
    ) -> Result<(Arc<HipArray>, Option<Buffer>), Error> {
        held::to_write(&self.0, data, what)
    }

    fn download(&self, from: &Arc<HipArray>, into: &mut [u8]) -> Result<(), Error> {
        from.read(0, into)
    }

    fn buffer(&self, array: Arc<HipArray>, bytes: usize) -> Result<Buffer, Error> {
        Ok(Buffer::on_device(array, bytes))
    }

    fn lower(&self, program: &Program, expected: &Expected, _in_pieces: bool, choice: Choice) -> Plan {
        lowered(&self.0.machine, self.precision(None), program, expected, choice)
    }

    fn machine(&self) -> String {
        format!("{:?} {} {}", self.0.machine, self.0.describe(), self.0.precision)
    }

    fn source(&self, variant: &Variant<Gpu>) -> Result<String, Error> {
        variant.texts(|kernel| Ok(code::text(&self.0, kernel, true)?.0))
    }

    fn number(&self, piece: &Piece<'_, Gpu>) -> Result<Described<Code>, Error> {
        let code = code::code(&self.0, piece.kernel, piece.hash(), !piece.measures.wide)?;
        let uniforms = &code.description.uniforms;
        Described::new(piece, code.clone(), uniforms, self.0.machine.max_blocks)
    }

    unsafe fn launch(&self, (): &mut (), launch: &Launch<'_, '_, Gpu>) -> Result<(), Error> {
        self.0.enter()?;
        let scalars = launch.scalars_by_value(|buffer, into| {
            self.upload(Ty::U8, ArrayData::Buffer(buffer), &"a scalar on the GPU")?.read(0, into)
        })?;
        for numbers in launch.pieces.iter().filter(|numbers| !numbers.grid.contains(&0)) {
            let description = &numbers.code.description;
            let mut values = numbers.values(description, |place| launch.arrays[place].address, &scalars);
            let kernel = numbers.code.function;
            // SAFETY: the kernel is loaded, and its arguments are as described; the caller's promise for what they lead to.
            unsafe { self.0.library.launch(kernel, numbers.grid, description.block, self.0.stream, &mut values) }
                .map_err(|error| {
                    self.0.trouble(error, &format_args!("the launch of kernel `{}`", description.name), 0)
                })?;
        }
        Ok(())
    }

    unsafe fn time(&self, queue: &mut (), launch: &Launch<'_, '_, Gpu>) -> Result<(f64, Clock), Error> {
        self.0.synchronize()?;
        // SAFETY: the caller's promise.
        let seconds = self.timed(|| unsafe { self.launch(queue, launch) })?;
        Ok((seconds, Clock::Device))
    }

    /// The memory that threads of a block share fits the GPU.
    fn accept(&self, kernel: &Kernel) -> Result<(), Error> {
        shared_memory_fits::<Gpu>(kernel, self.0.machine.shared_bytes)
    }
}

impl Gpu {
    /// Seconds that the GPU takes for what is given to the stream.
    fn timed(&self, act: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
        self.0.enter()?;
        let measured = self.0.library.timed(self.0.stream, act);
        measured.map_err(|error| self.0.trouble(error, &"a measured launch", 0))?
    }
}
