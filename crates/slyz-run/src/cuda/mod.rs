//! The CUDA device: GPUs of NVIDIA, by the driver's own interface.
//!
//! ```text
//! program ── optimize, lower for the GPU ──> plan ── emit ──> CUDA C++ ── NVRTC ──> CUBIN ── driver ──> results
//! ```
//!
//! Driver and NVRTC are loaded when the device is first used; a machine without them gives a typed error then, and runs everything
//! else. Work goes to one stream, in order: a call gives launches to the GPU and comes back, and its results stay there until somebody
//! reads them. CUBINs are kept on disk by source, architecture and compiler.

pub(crate) mod ahead;
mod array;
mod code;
mod condition;
mod engine;
mod matrices;
mod opened;
mod recording;
#[cfg(feature = "cudarc")]
pub mod slices;
mod staging;

pub(crate) use array::Keeper;
pub use code::ptx;

use crate::driver::{OpensWhenUsed, Shared, Slot};
use crate::{Buffer, Error};
use engine::Gpu;
use opened::Opened;
use slyz_sir::choices::Precision;
use std::sync::Arc;

/// The device on a GPU that everybody shares.
pub(crate) fn shared(number: i32) -> Arc<Cuda> {
    static DEVICES: Shared<Cuda> = Shared::new();
    DEVICES.get(number, Cuda::new)
}

/// The address of memory of a GPU, and the number of the GPU. Work on it is done when this comes back.
pub(crate) fn address(buffer: &Buffer) -> Result<Option<(u64, i32)>, Error> {
    let Some(array) = buffer.device_memory::<array::CudaArray>() else { return Ok(None) };
    array.finished()?;
    Ok(Some((array.address, array.number())))
}

/// Memory of a GPU that somebody else owns, as a buffer.
pub(crate) fn adopt(number: i32, address: u64, bytes: usize, keeper: Box<dyn Keeper>) -> Result<Buffer, Error> {
    let at_work = shared(number).at_work()?;
    let array = array::CudaArray::lent(&at_work.engine.0, address, bytes, keeper)?;
    Ok(Buffer::on_device(Arc::new(array), bytes))
}

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
}

impl OpensWhenUsed for Cuda {
    type Engine = Gpu;

    fn slot(&self) -> &Slot<Gpu> {
        &self.slot
    }

    fn open(&self, precision: Precision) -> Result<Gpu, Error> {
        Ok(Gpu(Arc::new(Opened::new(self.number, precision)?)))
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
