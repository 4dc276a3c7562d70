//! The device that is used when nobody names one: the CPU, or a GPU for the calls that are faster there.
//!
//! Best first: hardware behind wgpu, the CPU, software adapters, the interpreter. A machine that shows no GPU just has the CPU
//! device. Elsewhere nothing is asked of a driver before a call is large enough to be worth it; then adapters are listed and
//! both devices measured, once, and each call goes where [`decide`] says. Code is compiled for a device when a call first goes
//! there. A GPU that lacks what a function needs, or runs out of memory, leaves the call to the CPU and says so once.

mod launch;
mod measure;
mod policy;

pub use policy::{Load, Measured, Side, Verdict, decide};

use crate::device::Seal;
use crate::{Argument, ArrayData, Buffer, BuildTime, Device, Error, Executable, Launcher, Output, warn};
use slyz_sir::code::Type;
use slyz_sir::explain::{Count, explain_on};
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::meaning;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::road::{ProgramRoad, Strategy};
use slyz_sir::size::Size;
use slyz_sir::verify;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Calls that move and compute less than this many bytes and operators are not worth asking for a GPU.
const FLOOR: f64 = 65536.0;

/// The best of the devices for each call.
pub struct Auto {
    pair: Arc<Pair>,
}

/// The CPU, and the GPU if there is one.
struct Pair {
    cpu: Arc<dyn Device>,
    gpu: OnceLock<Option<Gpu>>,
    find: fn() -> Option<Arc<dyn Device>>,
}

struct Gpu {
    device: Arc<dyn Device>,
    measured: Measured,
}

impl Auto {
    /// The device's name.
    pub const NAME: &'static str = "auto";

    /// A device that chooses between two. The second one is found when a call is large enough, and measured then.
    pub(crate) fn new(cpu: Arc<dyn Device>, find: fn() -> Option<Arc<dyn Device>>) -> Auto {
        Auto { pair: Arc::new(Pair { cpu, gpu: OnceLock::new(), find }) }
    }

    /// A device that chooses between two, by numbers that are given or measured now. Tests use it to take a software adapter for
    /// hardware.
    pub fn between(cpu: Arc<dyn Device>, gpu: Arc<dyn Device>, measured: Option<Measured>) -> Result<Auto, Error> {
        let measured = match measured {
            Some(measured) => measured,
            None => measure::measure(&*cpu, &*gpu)?,
        };
        let auto = Auto::new(cpu, || None);
        let _ = auto.pair.gpu.set(Some(Gpu { device: gpu, measured }));
        Ok(auto)
    }

    /// What was measured, where there is a GPU.
    pub fn measured(&self) -> Option<Measured> {
        self.pair.gpu().map(|gpu| gpu.measured)
    }
}

impl Pair {
    /// The GPU, looked for at the first time.
    fn gpu(&self) -> Option<&Gpu> {
        let find = || {
            let device = (self.find)()?;
            match measure::kept(&*self.cpu, &*device) {
                Ok(measured) => Some(Gpu { device, measured }),
                Err(error) => {
                    warn::warn_once("auto", &format!("the GPU is not used: {error}"));
                    None
                }
            }
        };
        self.gpu.get_or_init(find).as_ref()
    }

    /// Are both devices of this crate? A GPU that is found later is.
    fn is_own(&self, seal: Seal) -> bool {
        let gpu = self.gpu.get().and_then(Option::as_ref);
        self.cpu.is_own(seal) && gpu.is_none_or(|gpu| gpu.device.is_own(seal))
    }
}

impl Device for Auto {
    fn name(&self) -> &str {
        Auto::NAME
    }

    fn describe(&self) -> String {
        let Some(Gpu { device, measured: m }) = self.pair.gpu() else {
            return format!("auto: {}, since no GPU is usable here", self.pair.cpu.name());
        };
        let giga = |rate: f64| rate / 1e9;
        format!(
            "auto: {}, or {} for arguments that are there and for calls that are faster there: a call takes {:.0} µs, \
             upload {:.1} GB/s, download {:.1} GB/s, {:.0} billion operators a second; on the CPU {:.1} GB/s, {:.0} billion",
            self.pair.cpu.name(),
            device.name(),
            m.gpu_call * 1e6,
            giga(m.upload),
            giga(m.download),
            giga(m.gpu_operators),
            giga(m.cpu_bytes),
            giga(m.cpu_operators)
        )
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: what is left without a test is inside.
        unsafe { self.compile_trusted(&confine::program(program.clone())) }
    }

    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        Ok(Arc::new(AutoExecutable {
            pair: self.pair.clone(),
            program: program.clone(),
            operators: OnceLock::new(),
            on_cpu: OnceLock::new(),
            on_gpu: OnceLock::new(),
            refused: AtomicBool::new(false),
            by_cpu: meaning::runs_in(program, Language::C),
        }))
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        Ok(Arc::new(launch::AutoLauncher::new(self.pair.clone(), kernel)?))
    }

    /// On the GPU, where there is one that takes it: calls follow their arguments.
    fn upload(&self, data: ArrayData<'_>) -> Result<Buffer, Error> {
        match self.pair.gpu().map(|gpu| gpu.device.upload(data)) {
            Some(Ok(buffer)) => Ok(buffer),
            Some(Err(error)) if !falls_back(&error) => Err(error),
            Some(Err(_)) | None => self.pair.cpu.upload(data),
        }
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.pair.cpu.synchronize()?;
        match self.pair.gpu.get() {
            Some(Some(gpu)) => gpu.device.synchronize(),
            Some(None) | None => Ok(()),
        }
    }

    /// The GPU's, where there is one.
    fn copy_bandwidth(&self) -> Result<f64, Error> {
        self.pair.gpu().map_or(&self.pair.cpu, |gpu| &gpu.device).copy_bandwidth()
    }

    /// A program has one form for both: the CPU's where there is nothing else.
    fn wants_panels(&self) -> bool {
        self.pair.gpu().is_none()
    }

    fn is_own(&self, seal: Seal) -> bool {
        self.pair.is_own(seal)
    }
}

/// A program, compiled where its calls go.
struct AutoExecutable {
    pair: Arc<Pair>,
    /// Its positions are inside: somebody vouched for them, or they are tested.
    program: Program,
    /// How many operators a call applies, by its sizes.
    operators: OnceLock<Count>,
    on_cpu: OnceLock<Arc<dyn Executable>>,
    on_gpu: OnceLock<Arc<dyn Executable>>,
    /// The GPU cannot run this program.
    refused: AtomicBool,
    /// The CPU can: no raw kernel in it is for GPUs alone.
    by_cpu: bool,
}

/// Operators of a program, weighed by their costs, as they are left when it is fused for the CPU.
fn operators(program: &Program) -> Count {
    explain_on(program, &ProgramRoad::to(Strategy::Cores)).work().flops()
}

/// The executable in the slot, compiled if it is the first time.
fn compiled<'s>(
    slot: &'s OnceLock<Arc<dyn Executable>>,
    device: &dyn Device,
    program: &Program,
) -> Result<&'s Arc<dyn Executable>, Error> {
    if let Some(executable) = slot.get() {
        return Ok(executable);
    }
    // Devices compile a program once, however many threads ask.
    // SAFETY: it is the program of an `AutoExecutable`.
    let executable = unsafe { device.compile_trusted(program) }?;
    Ok(slot.get_or_init(|| executable))
}

impl AutoExecutable {
    fn cpu(&self) -> Result<&Arc<dyn Executable>, Error> {
        compiled(&self.on_cpu, &*self.pair.cpu, &self.program)
    }

    /// What a call moves and computes. Sizes that are counted during the call count as nothing.
    fn load(&self, sizes: &[Option<u64>], mut load: Load) -> Load {
        let value = |var: slyz_sir::size::SizeVar| sizes.get(var.0 as usize).copied().flatten();
        for stmt in &self.program.body.stmts {
            for bind in stmt.binds.iter().filter(|bind| self.program.body.results.contains(&bind.id)) {
                load.result_bytes += bytes(&bind.ty, &value);
            }
        }
        let count = self.operators.get_or_init(|| operators(&self.program));
        load.operators = count.at(&value).unwrap_or(0) as f64;
        load
    }

    /// The GPU that a call is to run on, if any.
    fn gpu_for(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Option<&Gpu> {
        if self.refused.load(Ordering::Relaxed) {
            return None;
        }
        if !self.by_cpu {
            return self.pair.gpu();
        }
        let mut load = Load::default();
        for arg in args {
            if let Argument::Array { data, .. } = arg {
                match data {
                    ArrayData::Buffer(buffer) if !buffer.is_host() => load.gpu_bytes += buffer.len() as f64,
                    ArrayData::Buffer(_) | ArrayData::Host(_) => load.host_bytes += data.len() as f64,
                }
            }
        }
        let load = self.load(sizes, load);
        if load.gpu_bytes == 0.0 && load.host_bytes + load.result_bytes + load.operators < FLOOR {
            return None;
        }
        let gpu = self.pair.gpu()?;
        (decide(&gpu.measured, &load).side == Side::Gpu).then_some(gpu)
    }
}

/// Bytes of a value of the type, where its sizes are known.
fn bytes(ty: &Type, value: &dyn Fn(slyz_sir::size::SizeVar) -> Option<u64>) -> f64 {
    let extents = ty.shape().iter().map(|size: &Size| size.eval(value).unwrap_or(0) as f64);
    extents.product::<f64>() * ty.elem().bytes() as f64
}

impl Executable for AutoExecutable {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        self.run_into(sizes, args, &mut [])
    }

    fn run_into(
        &self,
        sizes: &[Option<u64>],
        args: &[Argument<'_>],
        into: &mut [Option<&mut Buffer>],
    ) -> Result<Vec<Output>, Error> {
        if let Some(gpu) = self.gpu_for(sizes, args) {
            let code = compiled(&self.on_gpu, &*gpu.device, &self.program);
            let done = code.and_then(|code| code.run_into(sizes, args, into));
            match done {
                Err(error) if falls_back(&error) => {
                    if is_final(&error) {
                        self.refused.store(true, Ordering::Relaxed);
                    }
                    let (name, cpu) = (&self.program.name, self.pair.cpu.name());
                    let key = format!("auto {name} {error}");
                    warn::warn_once(&key, &format!("\"{name}\" runs on the device \"{cpu}\" instead: {error}"));
                }
                done => return done,
            }
        }
        self.cpu()?.run_into(sizes, args, into)
    }

    /// The CPU's.
    fn source(&self) -> &str {
        self.cpu().map_or("", |code| code.source())
    }

    /// The CPU's.
    fn plan(&self) -> Option<&Plan> {
        self.cpu().ok()?.plan()
    }

    fn device(&self) -> &str {
        Auto::NAME
    }

    fn is_own(&self, seal: Seal) -> bool {
        self.pair.is_own(seal)
    }

    /// The CPU's.
    fn build_time(&self) -> Option<BuildTime> {
        self.cpu().ok()?.build_time()
    }

    fn copy_bandwidth(&self, device: &str) -> Result<f64, Error> {
        match self.pair.gpu.get() {
            Some(Some(gpu)) if gpu.device.name() == device => gpu.device.copy_bandwidth(),
            Some(_) | None => self.pair.cpu.copy_bandwidth(),
        }
    }

    fn choice(&self, sizes: &[Option<u64>]) -> Option<String> {
        let cpu = self.pair.cpu.name();
        if self.refused.load(Ordering::Relaxed) {
            return Some(format!("calls run on {cpu}: the GPU cannot run this function"));
        }
        let Some(gpu) = self.pair.gpu() else { return Some(format!("calls run on {cpu}: there is no GPU to use")) };
        let name = gpu.device.name();
        if !self.by_cpu {
            return Some(format!("calls run on {name}: a raw kernel is not written for the CPU, and has no meaning"));
        }
        let known = |k: usize| sizes.get(k).copied().flatten().is_some();
        let counted = |k: usize| self.program.sizes[k].origin == slyz_sir::size::SizeOrigin::Counted;
        if !(0..self.program.sizes.len()).all(|k| known(k) || counted(k)) {
            return Some(format!(
                "calls run on {name} if their arguments are there or if that is faster, else on {cpu}; give sizes to see which"
            ));
        }
        let value = |var: slyz_sir::size::SizeVar| sizes.get(var.0 as usize).copied().flatten();
        let host_bytes =
            self.program.body.params.iter().filter(|p| !p.ty.shape().is_empty()).map(|p| bytes(&p.ty, &value));
        let load = self.load(sizes, Load { host_bytes: host_bytes.sum(), ..Load::default() });
        Some(tell(&load, &decide(&gpu.measured, &load), cpu, name))
    }
}

/// A verdict about a call from the host, in words.
fn tell(load: &Load, verdict: &Verdict, cpu: &str, gpu: &str) -> String {
    let bytes = load.host_bytes + load.result_bytes;
    if bytes + load.operators < FLOOR {
        return format!("a call with these sizes runs on {cpu}: it is too small for a GPU");
    }
    let side = match verdict.side {
        Side::Cpu => cpu,
        Side::Gpu => gpu,
    };
    let threshold = if verdict.threshold.is_finite() {
        format!("from about {} on {gpu} is faster", megabytes(verdict.threshold))
    } else {
        format!("{gpu} is faster only for arguments that are there")
    };
    format!(
        "a call with these sizes runs on {side}: {} of arguments and results take about {} on {cpu}, {} on {gpu}; {threshold}",
        megabytes(bytes),
        milliseconds(verdict.cpu),
        milliseconds(verdict.gpu)
    )
}

fn megabytes(bytes: f64) -> String {
    if bytes < 1e6 { format!("{:.0} kB", bytes / 1e3) } else { format!("{:.1} MB", bytes / 1e6) }
}

fn milliseconds(seconds: f64) -> String {
    if seconds < 1e-3 { format!("{:.0} µs", seconds * 1e6) } else { format!("{:.1} ms", seconds * 1e3) }
}

/// May the CPU succeed where the GPU has failed?
fn falls_back(error: &Error) -> bool {
    match error {
        Error::OutOfMemory { .. } | Error::TooLarge { .. } | Error::Plan { .. } => true,
        #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "shaders"))]
        Error::Shader(_) => true,
        #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
        Error::DeviceLost { .. } | Error::Driver { .. } => true,
        #[cfg(feature = "cuda")]
        Error::NoCuda { .. } => true,
        #[cfg(feature = "hip")]
        Error::NoHip { .. } => true,
        #[cfg(feature = "opencl")]
        Error::NoOpenCl { .. } => true,
        #[cfg(feature = "wgpu")]
        Error::NoAdapter { .. } => true,
        // No GPU of `auto` says so.
        #[cfg(feature = "openvino")]
        Error::NoOpenVino { .. } | Error::Model(_) | Error::OpenVino { .. } => false,
        #[cfg(feature = "cudarc")]
        Error::NotShared { .. } => false,
        Error::UnknownDevice { .. }
        | Error::NotLent { .. }
        | Error::Setting { .. }
        | Error::Program(_)
        | Error::Emit(_)
        | Error::NoCompiler { .. }
        | Error::CompilerFailed { .. }
        | Error::CompilerHangs { .. }
        | Error::Temporary { .. }
        | Error::Cache { .. }
        | Error::Load { .. }
        | Error::Bundle { .. }
        | Error::ArgumentCount { .. }
        | Error::Argument { .. }
        | Error::Sizes { .. }
        | Error::Requirement { .. }
        | Error::Parameter { .. }
        | Error::Threads { .. }
        | Error::Fault(_)
        | Error::Kernel(_)
        | Error::Stopped(_)
        | Error::Turns { .. }
        | Error::Later { .. }
        | Error::Interpreter(_) => false,
    }
}

/// Will it fail the same way with other arguments?
fn is_final(error: &Error) -> bool {
    match error {
        Error::Plan { .. } => true,
        #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "shaders"))]
        Error::Shader(_) => true,
        #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
        Error::DeviceLost { .. } => true,
        #[cfg(feature = "cuda")]
        Error::NoCuda { .. } => true,
        #[cfg(feature = "hip")]
        Error::NoHip { .. } => true,
        #[cfg(feature = "opencl")]
        Error::NoOpenCl { .. } => true,
        #[cfg(feature = "wgpu")]
        Error::NoAdapter { .. } => true,
        _ => false,
    }
}
