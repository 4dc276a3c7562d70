//! A device with its context and its queues.

use super::code::Code;
use super::found::{Found, OpenClSummary, with_chosen};
use super::memory::Memory;
use crate::Error;
use crate::disk::{CacheConfig, DiskCache};
use crate::memo::Memo;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::Device;
use opencl3::error_codes as codes;
use opencl3::error_codes::ClError;
use slyz_sir::back::opencl::{Extras, MOST_NARROW, OpenCl as Dialect};
use slyz_sir::choices::Precision;
use slyz_sir::lower::gpu::Machine;
use std::fmt::Display;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// Kernels that are kept when nobody uses them.
const KEPT_KERNELS: usize = 1024;
/// What NVIDIA's driver says once a kernel has gone wrong.
const BROKEN: i32 = -9999;

/// A device at work.
pub(crate) struct Opened {
    pub(super) device: Device,
    pub(super) context: Context,
    /// All work is in its order.
    pub(super) queue: CommandQueue,
    /// For launches that are measured, when there is no other work.
    pub(super) measured: CommandQueue,
    pub(super) machine: Machine,
    extras: Extras,
    pub(super) standard: &'static str,
    pub(super) block: [u32; 3],
    pub(super) precision: Precision,
    pub(super) summary: OpenClSummary,
    pub(super) memory: Memory,
    pub(super) kernels: Memo<Code>,
    pub(super) disk: Option<DiskCache>,
    lost: OnceLock<String>,
}

impl Opened {
    pub(super) fn new(wish: &str, precision: Precision) -> Result<Opened, Error> {
        with_chosen(wish, |found| Opened::of(found, precision))
    }

    fn of(found: Found, precision: Precision) -> Result<Opened, Error> {
        let Found { device, summary, machine, extras, block, standard } = found;
        let failed = |error: ClError| Error::NoOpenCl {
            what: format!("{} cannot be opened", summary.name),
            why: error.to_string(),
        };
        let context = Context::from_devices(&[device.id()], &[], None, null_mut()).map_err(failed)?;
        // SAFETY: the device is the context's.
        let queue = |properties| unsafe { CommandQueue::create(&context, device.id(), properties) }.map_err(failed);
        let plain = queue(0)?;
        let measured = queue(CL_QUEUE_PROFILING_ENABLE)?;
        let memory = Memory::new(&summary);
        // Platforms for CPUs keep what they compile themselves, and compile it once more for whoever asks for a binary.
        let disk = if summary.software { None } else { CacheConfig::from_env().open() };
        Ok(Opened {
            device,
            context,
            queue: plain,
            measured,
            machine,
            extras,
            standard,
            block,
            precision,
            summary,
            memory,
            kernels: Memo::new(KEPT_KERNELS),
            disk,
            lost: OnceLock::new(),
        })
    }

    /// How kernels are written.
    pub(super) fn dialect(&self, precision: Precision, narrow: bool) -> Dialect {
        let max_positions = if narrow { MOST_NARROW } else { self.machine.max_positions };
        Dialect { precision, machine: Machine { max_positions, ..self.machine }, extras: self.extras }
    }

    /// An error once the driver has given up.
    pub(super) fn alive(&self) -> Result<(), Error> {
        match self.lost.get() {
            Some(why) => Err(Error::DeviceLost { why: why.clone() }),
            None => Ok(()),
        }
    }

    /// What the driver has to say. After some errors nothing works any more.
    pub(super) fn trouble(&self, error: impl Into<ClError>, what: &dyn Display, bytes: u64) -> Error {
        let error = error.into();
        let why = format!("{error} ({})", error.0);
        match error.0 {
            codes::CL_MEM_OBJECT_ALLOCATION_FAILURE | codes::CL_OUT_OF_HOST_MEMORY => {
                Error::OutOfMemory { what: what.to_string(), bytes }
            }
            codes::CL_DEVICE_NOT_AVAILABLE | codes::CL_INVALID_CONTEXT | codes::CL_INVALID_COMMAND_QUEUE | BROKEN => {
                let _ = self.lost.set(why.clone());
                Error::DeviceLost { why }
            }
            _ => Error::Driver { what: what.to_string(), why },
        }
    }

    /// Waits for all work.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        self.alive()?;
        self.queue.finish().map_err(|error| self.trouble(error, &"to wait for it", 0))
    }
}
