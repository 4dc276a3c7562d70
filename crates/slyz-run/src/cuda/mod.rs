//! The CUDA device: GPUs of NVIDIA, by the driver's own interface.
//!
//! ```text
//! program ── optimize, lower for the GPU ──> plan ── emit ──> CUDA C++ ── NVRTC ──> CUBIN ── driver ──> results
//! ```
//!
//! Driver and NVRTC are loaded when the device is first used; a machine without them gives a typed error then, and runs everything
//! else. Work goes to a stream, in order: a call gives launches to the GPU and comes back, and its results stay there until somebody
//! reads them. A device of its own stream (`cuda#1`, [`Cuda::on_stream`]) shares the GPU with the others: calls overlap, and events put those in order that have to do
//! with one array (`order`). CUBINs are kept on disk by source, architecture and compiler.

pub(crate) mod ahead;
mod array;
mod code;
mod condition;
mod engine;
mod matrices;
mod opened;
mod order;
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
    shared_on(number, 0)
}

/// The device on a stream of a GPU that everybody shares.
fn shared_on(number: i32, stream: u32) -> Arc<Cuda> {
    static DEVICES: Shared<Cuda, (i32, u32)> = Shared::new();
    DEVICES.get((number, stream), |(number, stream)| Cuda::on_stream(number, stream))
}

/// The device that a name with numbers stands for: `cuda:1` is the second GPU, `cuda#2` and `cuda:1#2` have streams of their own.
pub(crate) fn named(name: &str) -> Option<Arc<Cuda>> {
    let rest = name.strip_prefix(Cuda::NAME).filter(|rest| !rest.is_empty())?;
    let (gpu, stream) = match rest.split_once('#') {
        Some((gpu, stream)) => (gpu, stream.parse().ok()?),
        None => (rest, 0),
    };
    let number = match gpu.strip_prefix(':') {
        Some(number) => number.parse().ok()?,
        None if gpu.is_empty() => 0,
        None => return None,
    };
    Some(shared_on(number, stream))
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
    /// 0 for the one that was there first.
    stream: u32,
    precision: Option<Precision>,
    slot: Slot<Gpu>,
}

impl Cuda {
    /// The device's name.
    pub const NAME: &'static str = "cuda";

    /// A device on the GPU with that number, as the driver counts them.
    pub fn new(number: i32) -> Cuda {
        Cuda::on_stream(number, 0)
    }

    /// A device on that GPU whose work goes to a stream of its own, unless that is 0. It shares memory and code with the device `cuda` (or `cuda:1`, by the number):
    /// independent calls overlap, and calls that have to do with one array are put in order.
    ///
    /// ```no_run
    /// use slyz_run::{Device, cuda::Cuda};
    /// let other = Cuda::on_stream(0, 1); // the same as `slyz_run::device(Some("cuda#1"))`
    /// println!("{}", other.describe());
    /// ```
    pub fn on_stream(number: i32, stream: u32) -> Cuda {
        Cuda { number, stream, precision: None, slot: Slot::default() }
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
        let opened = match self.stream {
            0 => Opened::new(self.number, precision)?,
            stream => Opened::beside(&shared(self.number).at_work()?.engine.0, stream, precision)?,
        };
        Ok(Gpu(opened.known()))
    }

    fn precision(&self) -> Option<Precision> {
        self.precision
    }

    fn describe(engine: &Gpu) -> String {
        match engine.0.number_of_stream {
            0 => engine.0.describe(),
            stream => format!("{}, stream {stream}", engine.0.describe()),
        }
    }

    fn synchronize(engine: &Gpu) -> Result<(), Error> {
        engine.0.synchronize()
    }
}
