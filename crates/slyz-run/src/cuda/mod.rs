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
mod opened;

use crate::device::Seal;
use crate::driver::{Compiled, KernelLauncher};
use crate::memo::Memo;
use crate::{ArrayData, Buffer, Device, Error, Executable, Launcher, hash};
use engine::Gpu;
use opened::Opened;
use slyz_sir::choices::Precision;
use slyz_sir::launch::Template;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::types::Ty;
use slyz_sir::verify;
use std::sync::{Arc, Mutex, PoisonError};

/// Compiled programs that are kept when nobody uses them.
const KEPT_GRAPHS: usize = 256;

/// The CUDA device.
pub struct Cuda {
    number: i32,
    precision: Option<Precision>,
    at_work: Mutex<Option<Arc<AtWork>>>,
}

/// An opened GPU and what was compiled for it.
struct AtWork {
    opened: Arc<Opened>,
    memo: Memo<dyn Executable>,
    launchers: Memo<dyn Launcher>,
}

impl Cuda {
    /// The device's name.
    pub const NAME: &'static str = "cuda";

    /// A device on the GPU with that number, as the driver counts them.
    pub fn new(number: i32) -> Cuda {
        Cuda { number, precision: None, at_work: Mutex::default() }
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

    /// The GPU, opened at the first use, and again once it was lost. A failure is not kept: a driver may be installed later.
    fn at_work(&self) -> Result<Arc<AtWork>, Error> {
        let mut slot = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at_work) = &*slot
            && at_work.opened.alive().is_ok()
        {
            return Ok(at_work.clone());
        }
        let precision = match self.precision {
            Some(precision) => precision,
            None => crate::precision::from_environment()?,
        };
        let opened = Arc::new(Opened::new(self.number, precision)?);
        let memo = Memo::new(KEPT_GRAPHS);
        let launchers = Memo::new(KEPT_GRAPHS);
        Ok(slot.insert(Arc::new(AtWork { opened, memo, launchers })).clone())
    }
}

impl Device for Cuda {
    fn name(&self) -> &str {
        Cuda::NAME
    }

    fn describe(&self) -> String {
        match self.at_work() {
            Ok(at_work) => format!("cuda: {}", at_work.opened.describe()),
            Err(error) => format!("cuda: not usable here: {error}"),
        }
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: what is left without a test is inside.
        unsafe { self.compile_trusted(&confine::program(program.clone())) }
    }

    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        let at_work = self.at_work()?;
        at_work.memo.get(hash::structural(program), || {
            verify::program(program)?;
            // SAFETY: the caller's promise.
            Ok(Arc::new(unsafe { Compiled::new(Gpu(at_work.opened.clone()), program) }?))
        })
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        let at_work = self.at_work()?;
        at_work
            .launchers
            .get(hash::of(&**kernel), || Ok(Arc::new(KernelLauncher::new(Gpu(at_work.opened.clone()), kernel)?)))
    }

    fn upload(&self, data: ArrayData<'_>) -> Result<Buffer, Error> {
        crate::driver::resident(&Gpu(self.at_work()?.opened.clone()), Ty::U8, data)
    }

    fn synchronize(&self) -> Result<(), Error> {
        let slot = self.at_work.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A GPU that nobody has opened has nothing to do.
        slot.map_or(Ok(()), |at_work| at_work.opened.synchronize())
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}
