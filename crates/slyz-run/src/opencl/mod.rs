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

use crate::Error;
use crate::driver::{OpensWhenUsed, Slot};
use engine::Processor;
use opened::Opened;
use slyz_sir::choices::Precision;
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
}

impl OpensWhenUsed for OpenCl {
    type Engine = Processor;

    fn slot(&self) -> &Slot<Processor> {
        &self.slot
    }

    fn open(&self, precision: Precision) -> Result<Processor, Error> {
        Ok(Processor(Arc::new(Opened::new(&self.wish, precision)?)))
    }

    fn precision(&self) -> Option<Precision> {
        self.precision
    }

    fn describe(engine: &Processor) -> String {
        engine.0.summary.to_string()
    }

    fn synchronize(engine: &Processor) -> Result<(), Error> {
        engine.0.synchronize()
    }
}
