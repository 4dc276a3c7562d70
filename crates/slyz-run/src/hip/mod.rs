//! The HIP device: GPUs of AMD, by ROCm's runtime.
//!
//! ```text
//! program ── optimize, lower for the GPU ──> plan ── emit ──> HIP ── hiprtc ──> code object ── driver ──> results
//! ```
//!
//! The libraries are loaded when the device is first used; a machine without them gives a typed error then, and runs everything else. Work
//! goes to one stream, in order: a call gives launches to the GPU and comes back, and its results stay there until somebody reads them.
//! Code objects are kept on disk by source, architecture and compiler.
//!
//! Tests run it on stand-ins for the libraries (`tests/shim/amd`); nobody has run it on AMD's hardware yet. Beside the CUDA device it does without
//! locked memory for large transfers and without a library for products of matrices.

mod array;
mod code;
mod engine;
mod library;
mod opened;

use crate::Error;
use crate::driver::{OpensWhenUsed, Shared, Slot};
use engine::Gpu;
use opened::Opened;
use slyz_sir::choices::Precision;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The device on a GPU that everybody shares.
pub(crate) fn shared(number: i32) -> Arc<Hip> {
    static DEVICES: Shared<Hip> = Shared::new();
    DEVICES.get(number, Hip::new)
}

/// The HIP device.
pub struct Hip {
    number: i32,
    folder: Option<PathBuf>,
    precision: Option<Precision>,
    slot: Slot<Gpu>,
}

impl Hip {
    /// The device's name.
    pub const NAME: &'static str = "hip";
    /// What others call it.
    pub const ALIAS: &'static str = "rocm";

    /// A device on the GPU with that number, as the driver counts them.
    pub fn new(number: i32) -> Hip {
        Hip { number, folder: None, precision: None, slot: Slot::default() }
    }

    /// The same with ROCm's libraries from that folder. Without it they are looked for where the environment variable `SLYZ_HIP` says, among the
    /// system's libraries, and in `/opt/rocm/lib`.
    pub fn with_libraries(self, folder: &Path) -> Hip {
        Hip { folder: Some(folder.to_path_buf()), ..self }
    }

    /// The same, with a precision for programs and kernels that ask for none. Without it the environment variable `SLYZ_PRECISION` says
    /// which, or else it is [`Precision::Table`].
    pub fn with_precision(self, precision: Precision) -> Hip {
        Hip { precision: Some(precision), ..self }
    }

    /// Does the system show a GPU of AMD?
    pub fn is_likely() -> bool {
        opened::is_likely()
    }

    /// Are there a GPU, its driver and hiprtc?
    pub fn is_usable() -> bool {
        opened::is_likely() && Opened::new(0, None, Precision::Table).is_ok()
    }
}

impl OpensWhenUsed for Hip {
    type Engine = Gpu;

    fn slot(&self) -> &Slot<Gpu> {
        &self.slot
    }

    fn open(&self, precision: Precision) -> Result<Gpu, Error> {
        Ok(Gpu(Arc::new(Opened::new(self.number, self.folder.as_deref(), precision)?)))
    }

    fn precision(&self) -> Option<Precision> {
        self.precision
    }

    fn describe(engine: &Gpu) -> String {
        engine.0.describe()
    }

    fn synchronize(engine: &Gpu) -> Result<(), Error> {
        engine.0.synchronize()
    }
}
