//! The OpenCL device: whatever platforms the system's loader of OpenCL knows.
//!
//! ```text
//! program ── optimize, lower for the GPU ──> plan ── emit ──> OpenCL C ── the platform's compiler ──> binary ──> results
//! ```
//!
//! The loader is opened when the device is first used; a machine without it gives a typed error then, and runs everything else. Work goes to
//! one queue, in order: a call gives launches to the device and comes back, and its results stay there until somebody reads them.
//! Binaries are kept on disk by source, options, device and driver.

mod array;
mod code;
mod engine;
mod found;
mod memory;
mod opened;

pub use found::{OpenClSummary, found};

use crate::device::Seal;
use crate::driver::{AtWork, Engine as _, Slot};
use crate::{ArrayData, Buffer, Device, Error, Executable, Launcher};
use engine::Processor;
use opened::Opened;
use slyz_sir::choices::Precision;
use slyz_sir::launch::Template;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::types::Ty;
use slyz_sir::verify;
use std::sync::Arc;

/// The OpenCL device.
pub struct OpenCl {
    wish: String,
    precision: Option<Precision>,
    slot: Slot<Processor>,
}

impl OpenCl {
    /// The device's name.
    pub const NAME: &'static str = "opencl";

    /// A device on what has that in its name or its platform's: GPUs first.
    pub fn new(wish: Option<&str>) -> OpenCl {
        OpenCl { wish: wish.unwrap_or_default().to_string(), precision: None, slot: Slot::default() }
    }

    /// The same, with a precision for programs and kernels that ask for none. Without it the environment variable `SLYZ_PRECISION` says
    /// which, or else it is [`Precision::Table`].
    pub fn with_precision(self, precision: Precision) -> OpenCl {
        OpenCl { precision: Some(precision), ..self }
    }

    /// Is the device that it would take a GPU or an accelerator, and no CPU?
    pub fn is_hardware(wish: Option<&str>) -> bool {
        let hardware = || found::with_chosen(wish.unwrap_or_default(), |chosen| Ok(!chosen.summary.software));
        found::is_likely() && hardware().unwrap_or(false)
    }

    fn at_work(&self) -> Result<Arc<AtWork<Processor>>, Error> {
        self.slot.get(|| {
            let precision = match self.precision {
                Some(precision) => precision,
                None => crate::precision::from_environment()?,
            };
            Ok(Processor(Arc::new(Opened::new(&self.wish, precision)?)))
        })
    }
}

impl Device for OpenCl {
    fn name(&self) -> &str {
        OpenCl::NAME
    }

    fn describe(&self) -> String {
        match self.at_work() {
            Ok(at_work) => format!("opencl: {}", at_work.engine.0.summary),
            Err(error) => format!("opencl: not usable here: {error}"),
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
        // A device that nobody has opened has nothing to do.
        self.slot.seen().map_or(Ok(()), |at_work| at_work.engine.0.synchronize())
    }

    fn copy_bandwidth(&self) -> Result<f64, Error> {
        self.at_work()?.engine.copy_bandwidth()
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}
