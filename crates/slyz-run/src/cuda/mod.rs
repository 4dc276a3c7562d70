//! The CUDA device: GPUs of NVIDIA, by the driver's own interface.
//!
//! ```text
//! program ── optimize, lower for the GPU ──> plan ── emit ──> CUDA C++ ── NVRTC ──> CUBIN ── driver ──> results
//! ```
//!
//! Driver and NVRTC are loaded when the device is first used; a machine without them gives a typed error then, and runs everything
//! else. Work goes to one stream, in order: a call gives launches to the GPU and comes back, and its results stay there until somebody
//! reads them. CUBINs are kept on disk by source, architecture and compiler.

mod array;
mod code;
mod engine;
mod matrices;
mod opened;

use crate::device::Seal;
use crate::driver::{AtWork, Engine as _, Slot};
use crate::{ArrayData, Buffer, Device, Error, Executable, Launcher};
use engine::Gpu;
use opened::Opened;
use slyz_sir::choices::Precision;
use slyz_sir::launch::Template;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::types::Ty;
use slyz_sir::verify;
use std::sync::Arc;

/// The CUDA device.
pub struct Cuda {
    number: i32,
    precision: Option<Precision>,
    slot: Slot<Gpu>,
}

impl Cuda {
    /// The device's name.
    pub const NAME: &'static str = "cuda";

    /// A device on the GPU with that number, as the driver counts them.
    pub fn new(number: i32) -> Cuda {
        Cuda { number, precision: None, slot: Slot::default() }
    }

    /// The same, with a precision for programs and kernels that ask for none. Without it the environment variable `SLYZ_PRECISION` says
    /// which, or else it is [`Precision::Table`].
    pub fn with_precision(self, precision: Precision) -> Cuda {
        Cuda { precision: Some(precision), ..self }
    }

    /// Does the system show a GPU of NVIDIA?
    pub fn is_likely() -> bool {
        opened::is_likely()
    }

    /// Are there a GPU, its driver and NVRTC?
    pub fn is_usable() -> bool {
        opened::is_likely() && opened::Opened::new(0, Precision::Table).is_ok()
    }

    fn at_work(&self) -> Result<Arc<AtWork<Gpu>>, Error> {
        self.slot.get(|| {
            let precision = match self.precision {
                Some(precision) => precision,
                None => crate::precision::from_environment()?,
            };
            Ok(Gpu(Arc::new(Opened::new(self.number, precision)?)))
        })
    }
}

impl Device for Cuda {
    fn name(&self) -> &str {
        Cuda::NAME
    }

    fn describe(&self) -> String {
        match self.at_work() {
            Ok(at_work) => format!("cuda: {}", at_work.engine.0.describe()),
            Err(error) => format!("cuda: not usable here: {error}"),
        }
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: what is left without a test is inside.
        unsafe { self.compile_trusted(&confine::program(program.clone())) }
    }

    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.at_work()?.compile_trusted(program) }
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        self.at_work()?.prepare(kernel)
    }

    fn upload(&self, data: ArrayData<'_>) -> Result<Buffer, Error> {
        crate::driver::resident(&self.at_work()?.engine, Ty::U8, data)
    }

    fn synchronize(&self) -> Result<(), Error> {
        // A GPU that nobody has opened has nothing to do.
        self.slot.seen().map_or(Ok(()), |at_work| at_work.engine.0.synchronize())
    }

    fn copy_bandwidth(&self) -> Result<f64, Error> {
        self.at_work()?.engine.copy_bandwidth()
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}
