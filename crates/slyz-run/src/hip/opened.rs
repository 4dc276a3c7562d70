//! A GPU of AMD with its stream.

use super::code::Code;
use super::library::{Handle, Hip as Library, Refused};
use crate::Error;
use crate::disk::{CacheConfig, DiskCache};
use crate::memo::Memo;
use slyz_sir::back::cuda::Vendor;
use slyz_sir::choices::Precision;
use slyz_sir::lower::gpu::Machine;
use std::fmt::Display;
use std::path::Path;
use std::sync::OnceLock;

/// Kernels that are kept when nobody uses them.
const KEPT_KERNELS: usize = 1024;

/// A GPU at work.
pub(crate) struct Opened {
    pub(super) library: Library,
    /// As the driver counts GPUs.
    number: i32,
    /// All work is in its order.
    pub(super) stream: Handle,
    pub(super) vendor: Vendor,
    pub(super) machine: Machine,
    pub(super) precision: Precision,
    /// What the compiler is asked for: `gfx90a:sramecc+:xnack-`.
    pub(super) architecture: String,
    /// The compiler's version.
    pub(super) compiler: (i32, i32),
    pub(super) kernels: Memo<Code>,
    pub(super) disk: Option<DiskCache>,
    name: String,
    memory: u64,
    lost: OnceLock<String>,
}

/// Is there the file of the driver that a GPU of AMD has, or a folder that somebody names?
pub(super) fn is_likely() -> bool {
    std::env::var_os(super::library::VARIABLE).is_some_and(|folder| !folder.is_empty())
        || std::path::Path::new("/dev/kfd").exists()
}

/// Whether wavefronts have 64 lanes: GPUs for computing, whose names begin with gfx9, have those.
fn has_wide_waves(architecture: &str) -> bool {
    architecture.starts_with("gfx9")
}

impl Opened {
    pub(super) fn new(number: i32, folder: Option<&Path>, precision: Precision) -> Result<Opened, Error> {
        let mut library = Library::load(folder)?;
        let missing = |what: &str, why: String| Error::NoHip { what: what.to_string(), why };
        let failed = |error: Refused| missing("the driver has no GPU for us", error.why);
        let count = library.count().map_err(failed)?;
        if !(0..count).contains(&number) {
            let why = format!(
                "the driver shows {count} GPUs, which are counted from 0; is /dev/kfd there, and are you in the groups render and video?"
            );
            return Err(missing(&format!("no GPU has the number {number}"), why));
        }
        library.set_device(number).map_err(failed)?;
        let (name, memory) = library.name_and_memory(number).map_err(failed)?;
        let architecture = library.architecture(number).map_err(failed)?;
        if !architecture.starts_with("gfx") {
            let why = "the driver does not tell; update ROCm".to_string();
            return Err(missing(&format!("the architecture of {name} is unknown"), why));
        }
        let stream = library.create_stream().map_err(failed)?;
        library.try_memory(stream);
        let vendor = Vendor::Amd { wide_waves: has_wide_waves(&architecture) };
        Ok(Opened {
            compiler: library.compiler_version(),
            library,
            number,
            stream,
            vendor,
            machine: Machine { runs_ahead: true, ..vendor.machine() },
            precision,
            architecture,
            kernels: Memo::new(KEPT_KERNELS),
            disk: CacheConfig::from_env().open(),
            name,
            memory,
            lost: OnceLock::new(),
        })
    }

    pub(super) fn describe(&self) -> String {
        let Opened { name, architecture, compiler: (major, minor), .. } = self;
        format!("{name} ({architecture}, {} MiB), hiprtc {major}.{minor}", self.memory >> 20)
    }

    /// An error once the driver has given up.
    pub(super) fn alive(&self) -> Result<(), Error> {
        match self.lost.get() {
            Some(why) => Err(Error::DeviceLost { why: why.clone() }),
            None => Ok(()),
        }
    }

    /// Makes the GPU this thread's.
    pub(super) fn enter(&self) -> Result<(), Error> {
        self.alive()?;
        self.library.set_device(self.number).map_err(|error| self.trouble(error, &"to be used", 0))
    }

    /// What the driver has to say. After some errors nothing works any more.
    pub(super) fn trouble(&self, error: Refused, what: &dyn Display, bytes: u64) -> Error {
        if error.is_out_of_memory() {
            return Error::OutOfMemory { what: what.to_string(), bytes };
        }
        if error.is_fatal() {
            let _ = self.lost.set(error.why.clone());
            return Error::DeviceLost { why: error.why };
        }
        Error::Driver { what: what.to_string(), why: error.why }
    }

    /// Waits for all work.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        self.enter()?;
        self.library.wait_for_stream(self.stream).map_err(|error| self.trouble(error, &"to wait for it", 0))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = self.library.set_device(self.number);
        let _ = self.library.wait_for_stream(self.stream);
        // SAFETY: nobody has the stream any more.
        unsafe { self.library.destroy_stream(self.stream) };
    }
}

#[cfg(test)]
mod tests {
    use super::has_wide_waves;

    #[test]
    fn lanes_by_architecture() {
        assert!(["gfx908", "gfx90a:sramecc+:xnack-", "gfx942"].into_iter().all(has_wide_waves));
        assert!(!["gfx1030", "gfx1100", "gfx1201"].into_iter().any(has_wide_waves));
    }
}
