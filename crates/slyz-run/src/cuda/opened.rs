//! A GPU with its context and a stream. Several streams of a GPU share its context, its memory and code.

use super::ahead;
use super::code::{self, Code};
use super::condition::Condition;
use super::matrices::Library;
use super::staging::{LARGE, Staging};
use crate::Error;
use crate::disk::{CacheConfig, DiskCache};
use crate::memo::Memo;
use cudarc::driver::{result, sys};
use slyz_sir::choices::Precision;
use slyz_sir::lower::gpu::Machine;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Kernels that are kept when nobody uses them.
const KEPT_KERNELS: usize = 1024;

/// What kernels are written for.
pub(super) const MACHINE: Machine = Machine { runs_ahead: true, ..Machine::cuda() };

/// What streams of a GPU share.
pub(super) struct Card {
    pub(super) kernels: Memo<Code>,
    /// What loops of graphs need, looked for when the first wants it.
    condition: OnceLock<Option<Arc<Condition>>>,
    /// Why nothing works any more.
    lost: OnceLock<String>,
    /// All of them.
    streams: Mutex<Vec<Weak<Opened>>>,
}

impl Card {
    /// Waits for what all streams were given, one by one: while launches are kept the driver waits for no whole context.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        // Who ends waits for its own work.
        let here: Vec<Arc<Opened>> = self.streams().iter().filter_map(Weak::upgrade).collect();
        here.iter().try_for_each(|stream| stream.synchronize())
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Weak<Opened>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A GPU at work, by a stream.
pub(crate) struct Opened {
    pub(super) card: Arc<Card>,
    /// Which of its streams, from 0.
    pub(super) number_of_stream: u32,
    /// As the driver counts GPUs.
    pub(super) number: i32,
    /// The driver's version: 12040 for 12.4; 0 where nobody wants graphs.
    pub(super) driver: i32,
    device: sys::CUdevice,
    pub(super) context: sys::CUcontext,
    /// All work that is given by this one is in its order.
    pub(super) stream: sys::CUstream,
    pub(super) machine: Machine,
    /// The shared memory that a block may ask for.
    pub(super) most_shared: u64,
    pub(super) precision: Precision,
    /// 90 for `sm_90`.
    pub(super) capability: u32,
    /// What the compiler is asked for: `sm_90`.
    pub(super) architecture: String,
    /// The compiler's version, where there is one.
    pub(super) compiler: Option<(i32, i32)>,
    pub(super) disk: Option<DiskCache>,
    /// cuBLASLt, looked for when the first product wants it.
    matrices: OnceLock<Option<Library>>,
    /// Locked memory, taken when the first large transfer wants it.
    staging: OnceLock<Option<Staging>>,
    name: String,
    memory: u64,
}

// SAFETY: the driver's handles may be used by any thread; each makes the context its own before a call.
unsafe impl Send for Opened {}
// SAFETY: the same.
unsafe impl Sync for Opened {}

/// Is there a file of the driver's that a GPU has?
pub(super) fn is_likely() -> bool {
    if cfg!(target_os = "linux") {
        return ["/dev/nvidiactl", "/dev/dxg"].iter().any(|file| std::path::Path::new(file).exists());
    }
    cfg!(target_os = "windows")
}

/// An error where there is no NVRTC.
pub(super) fn need_compiler() -> Result<(), Error> {
    // SAFETY: the library is only looked for.
    if unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        return Ok(());
    }
    let why = "libnvrtc cannot be loaded; install CUDA's toolkit, or the Python package nvidia-cuda-nvrtc-cu12, and have the folder of \
               libnvrtc.so or libnvrtc.so.12 in LD_LIBRARY_PATH";
    Err(Error::NoCuda { what: "no compiler".to_string(), why: why.to_string() })
}

/// What the compiler is asked for: code of the GPU, or the newest PTX that it knows where the GPU is newer.
fn architecture(own: i32) -> String {
    use cudarc::nvrtc::sys::{nvrtcGetNumSupportedArchs, nvrtcGetSupportedArchs};
    let mut count = 0;
    // SAFETY: the number lives, and then as many as it says.
    let known = unsafe {
        let counted = nvrtcGetNumSupportedArchs(&mut count).result().is_ok();
        let mut known = vec![0; usize::try_from(count).unwrap_or(0)];
        let listed = counted && nvrtcGetSupportedArchs(known.as_mut_ptr()).result().is_ok();
        if listed { known } else { vec![] }
    };
    match known.into_iter().max() {
        Some(newest) if newest < own => format!("compute_{newest}"),
        _ => format!("sm_{own}"),
    }
}

impl Opened {
    pub(super) fn new(number: i32, precision: Precision) -> Result<Opened, Error> {
        let missing = |what: &str, why: String| Error::NoCuda { what: what.to_string(), why };
        // SAFETY: the library is only looked for.
        if !unsafe { sys::is_culib_present() } {
            let why = "libcuda.so.1 cannot be loaded; install NVIDIA's driver".to_string();
            return Err(missing("no driver", why));
        }
        let compiler = match need_compiler() {
            Ok(()) => Some(code::version()),
            Err(_) if ahead::is_carried() => None,
            Err(error) => return Err(error),
        };
        let failed = |error: result::DriverError| missing("the driver has no GPU for us", error.to_string());
        result::init().map_err(failed)?;
        let device = result::device::get(number).map_err(failed)?;
        let name = result::device::get_name(device).map_err(failed)?;
        // SAFETY: the device is the driver's.
        let (context, memory) = unsafe {
            let context = result::primary_ctx::retain(device).map_err(failed)?;
            result::ctx::set_current(context).map_err(failed)?;
            (context, result::device::total_mem(device).map_err(failed)? as u64)
        };
        let ask = |what| {
            // SAFETY: the device is the driver's.
            unsafe { result::device::get_attribute(device, what) }.map_err(failed)
        };
        use sys::CUdevice_attribute_enum as Attribute;
        let major = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        // Bundles are made where nobody knows the GPU, and carry nothing for more.
        let most_shared = most_shared(device).max(MACHINE.shared_bytes);
        let machine = match compiler {
            Some(_) => Machine { multiplies: major >= 8, ..MACHINE.with_shared(most_shared) },
            None => MACHINE,
        };
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(failed)?;
        keep_memory(device);
        let card = Card {
            kernels: Memo::new(KEPT_KERNELS),
            condition: OnceLock::new(),
            lost: OnceLock::new(),
            streams: Mutex::default(),
        };
        Ok(Opened {
            card: Arc::new(card),
            number_of_stream: 0,
            number,
            driver: driver_version(),
            device,
            context,
            stream,
            machine,
            most_shared,
            precision,
            capability: u32::try_from(10 * major + minor).unwrap_or(0),
            architecture: match compiler {
                Some(_) => architecture(10 * major + minor),
                None => format!("sm_{}", 10 * major + minor),
            },
            compiler,
            disk: CacheConfig::from_env().open(),
            matrices: OnceLock::new(),
            staging: OnceLock::new(),
            name,
            memory,
        })
    }

    /// The same GPU by another stream. Code and memory are shared; what one call at a time works with is not.
    pub(super) fn beside(first: &Opened, number_of_stream: u32, precision: Precision) -> Result<Opened, Error> {
        first.enter()?;
        let trouble = |error| first.trouble(error, &"to open another stream", 0);
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(trouble)?;
        // SAFETY: the device is the driver's; the context is released with what is made here.
        let context = unsafe { result::primary_ctx::retain(first.device) }.map_err(trouble)?;
        Ok(Opened {
            card: first.card.clone(),
            number_of_stream,
            number: first.number,
            driver: first.driver,
            device: first.device,
            context,
            stream,
            machine: first.machine,
            most_shared: first.most_shared,
            precision,
            capability: first.capability,
            architecture: first.architecture.clone(),
            compiler: first.compiler,
            disk: CacheConfig::from_env().open(),
            matrices: OnceLock::new(),
            staging: OnceLock::new(),
            name: first.name.clone(),
            memory: first.memory,
        })
    }

    /// The same, known to the others.
    pub(super) fn known(self) -> Arc<Opened> {
        let opened = Arc::new(self);
        opened.card.streams().push(Arc::downgrade(&opened));
        opened
    }

    /// Are both streams of one GPU, which was not lost between?
    pub(super) fn is_beside(&self, other: &Opened) -> bool {
        Arc::ptr_eq(&self.card, &other.card)
    }

    /// Is the GPU newer than the compiler? Then it gives PTX, for the driver to compile.
    pub(super) fn is_newer(&self) -> bool {
        self.architecture.starts_with("compute")
    }

    pub(super) fn describe(&self) -> String {
        let Opened { name, architecture, .. } = self;
        let compiler = match self.compiler {
            Some((major, minor)) => format!("NVRTC {major}.{minor}"),
            None => "no NVRTC (what bundles have runs)".to_string(),
        };
        let matrices =
            if self.matrices().is_some() { "cuBLASLt" } else { "no cuBLASLt (products of matrices are our own)" };
        format!("{name} ({architecture}, {} MiB), {compiler}, {matrices}", self.memory >> 20)
    }

    /// cuBLASLt, where it is installed.
    pub(super) fn matrices(&self) -> Option<&Library> {
        self.matrices.get_or_init(|| self.enter().ok().and_then(|()| Library::open())).as_ref()
    }

    /// What a loop of a graph ends with, where that can be had.
    pub(super) fn condition(&self) -> Option<Arc<Condition>> {
        self.card.condition.get_or_init(|| Condition::new(self).map(Arc::new)).clone()
    }

    /// The architecture for PTX: `compute_90`.
    pub(super) fn virtual_architecture(&self) -> String {
        self.architecture.replace("sm_", "compute_")
    }

    /// Locked memory for a transfer of so many bytes, if that pays.
    pub(super) fn staging(&self, bytes: usize) -> Option<&Staging> {
        if bytes < LARGE {
            return None;
        }
        self.staging.get_or_init(|| Staging::new(self)).as_ref()
    }

    /// An error once the driver has given up.
    pub(super) fn alive(&self) -> Result<(), Error> {
        match self.card.lost.get() {
            Some(why) => Err(Error::DeviceLost { why: why.clone() }),
            None => Ok(()),
        }
    }

    /// Makes the GPU this thread's.
    pub(super) fn enter(&self) -> Result<(), Error> {
        self.alive()?;
        // SAFETY: the context lives as long as the process.
        unsafe { result::ctx::set_current(self.context) }.map_err(|error| self.trouble(error, &"to be used", 0))
    }

    /// What the driver has to say. After some errors nothing works any more.
    pub(super) fn trouble(&self, error: result::DriverError, what: &dyn Display, bytes: u64) -> Error {
        use sys::cudaError_enum as Cuda;
        let why = error.to_string();
        match error.0 {
            Cuda::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory { what: what.to_string(), bytes },
            Cuda::CUDA_ERROR_ILLEGAL_ADDRESS
            | Cuda::CUDA_ERROR_LAUNCH_FAILED
            | Cuda::CUDA_ERROR_LAUNCH_TIMEOUT
            | Cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | Cuda::CUDA_ERROR_MISALIGNED_ADDRESS
            | Cuda::CUDA_ERROR_HARDWARE_STACK_ERROR
            | Cuda::CUDA_ERROR_ECC_UNCORRECTABLE
            | Cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED => {
                let _ = self.card.lost.set(why.clone());
                Error::DeviceLost { why }
            }
            _ => Error::Driver { what: what.to_string(), why },
        }
    }

    /// What one stream is given from now on comes behind all that another was given.
    pub(super) fn follow(&self, later: sys::CUstream, earlier: sys::CUstream) -> Result<(), Error> {
        self.enter()?;
        let trouble = |error| self.trouble(error, &"to order streams", 0);
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(trouble)?;
        // SAFETY: the event lives until it is destroyed, and what waits for it remembers; whoever asks has both streams.
        unsafe {
            let recorded = result::event::record(event, earlier);
            let waiting = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            let ordered = recorded.and_then(|()| result::stream::wait_event(later, event, waiting));
            let _ = result::event::destroy(event);
            ordered.map_err(trouble)
        }
    }

    /// Waits for all work.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        self.enter()?;
        // SAFETY: the stream lives as long as the GPU.
        unsafe { result::stream::synchronize(self.stream) }.map_err(|error| self.trouble(error, &"to wait for it", 0))
    }
}

/// One is what it is, and no other.
impl PartialEq for Opened {
    fn eq(&self, other: &Opened) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: nobody has the stream any more. Errors have nobody to tell.
        unsafe {
            let _ = result::ctx::set_current(self.context);
            let _ = result::stream::synchronize(self.stream);
            let _ = result::stream::destroy(self.stream);
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

/// The shared memory that a block may ask for. What drivers do not tell is as little as any GPU has.
fn most_shared(device: sys::CUdevice) -> u64 {
    let what = sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    // SAFETY: the device is the driver's.
    let told = unsafe { result::device::get_attribute(device, what) };
    told.ok().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
}

/// The driver's version; the least where it does not tell, or must do without its graphs.
fn driver_version() -> i32 {
    if std::env::var("SLYZ_GRAPHS").is_ok_and(|value| value == "0") {
        return 0;
    }
    let mut version = 0;
    // SAFETY: the number lives.
    let told = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    told.map_or(0, |()| version)
}

/// Lets the driver's pool keep what is freed: asking the system again takes far longer than a launch.
fn keep_memory(device: sys::CUdevice) {
    let mut most = u64::MAX;
    // SAFETY: the pool is the device's own, and the number lives. Without it calls are slower.
    unsafe {
        if let Ok(pool) = result::device::get_default_mem_pool(device) {
            let threshold = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            let _ = result::mem_pool::set_attribute(pool, threshold, (&raw mut most).cast());
        }
    }
}
