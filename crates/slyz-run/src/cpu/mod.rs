//! The CPU device: generated C, built by the system's compiler, run by all cores.
//!
//! ```text
//! program ── optimize, lower ──> plan ── emit ──> C ── toolchain (disk cache) ──> library ── driver ──> results
//! ```
//!
//! Compiled programs are kept in memory by structural hash, shared objects on disk by content hash.
//! Where there is no compiler, or none that comes to an end, the interpreter takes over, and says so once.

mod ahead;
mod code;
mod engine;
mod launch;
mod team;
mod threads;

pub use crate::cc::CpuConfig;
pub(crate) use ahead::Ahead;

use crate::cc::Toolchain;
use crate::device::Seal;
use crate::driver::{Compiled, KernelLauncher};
use crate::memo::Memo;
use crate::{Device, Error, Executable, Interpreter, Launcher, hash, warn};
use engine::Cores;
use slyz_sir::back::EmitError;
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::lower::Choice;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::road::{ProgramRoad, Strategy};
use slyz_sir::verify;
use std::sync::Arc;

/// Compiled programs that are kept when nobody uses them.
const KEPT_GRAPHS: usize = 512;

/// The part of the compiler that a CPU device calls.
#[derive(Clone, Copy)]
pub struct Backend {
    /// A program as launches.
    pub lower: fn(&Program, Choice) -> Plan,
    /// The kernels of a plan as one C file; `wide` code works for any size. Kernel `k` is the function
    /// `void slyz_kernel_k(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end)`,
    /// which runs the blocks `begin..end` of the grid, counted with x fastest.
    pub emit: fn(&Plan, bool) -> Result<String, EmitError>,
}

impl Backend {
    /// That of `slyz-sir`.
    fn own() -> Backend {
        let lower =
            |program: &Program, choice: Choice| ProgramRoad { choice, ..ProgramRoad::to(Strategy::Cores) }.end(program);
        Backend { lower, emit: slyz_sir::back::c::emit }
    }
}

/// The CPU device.
pub struct Cpu {
    cores: Cores,
    memo: Memo<dyn Executable>,
    launchers: Memo<dyn Launcher>,
}

impl Cpu {
    /// The device's name.
    pub const NAME: &'static str = "cpu";

    /// A device with its own caches. Programs share the one of [`crate::device`].
    pub fn new(config: CpuConfig) -> Cpu {
        // SAFETY: the backend of `slyz-sir` writes C that touches the elements of the plan's memories and nothing else.
        unsafe { Cpu::with_backend(config, Backend::own()) }
    }

    /// A device that compiles with another backend.
    ///
    /// # Safety
    /// The code that the backend emits is loaded and run. For sizes within the plan it must touch the elements of
    /// its memories only, write only those it may write, and give two blocks of a grid nothing to race for.
    pub unsafe fn with_backend(config: CpuConfig, backend: Backend) -> Cpu {
        let memo = Memo::new(KEPT_GRAPHS);
        let launchers = Memo::new(KEPT_GRAPHS);
        let cores = Cores { backend, toolchain: Arc::new(Toolchain::new(config)) };
        Cpu { cores, memo, launchers }
    }

    /// # Safety
    /// As [`Device::compile_trusted`].
    unsafe fn build(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: the caller's promise.
        match unsafe { Compiled::new(self.cores.clone(), program) } {
            Ok(executable) => Ok(Arc::new(executable)),
            Err(error) if interpreter_takes_over(&error) => Interpreter.compile(program),
            Err(error) => Err(error),
        }
    }
}

impl Device for Cpu {
    fn name(&self) -> &str {
        Cpu::NAME
    }

    fn describe(&self) -> String {
        format!("cpu: {} threads, {}", threads::count(), self.cores.toolchain.describe())
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: what is left without a test is inside.
        unsafe { self.compile_trusted(&confine::program(program.clone())) }
    }

    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        // SAFETY: the caller's promise.
        self.memo.get(hash::structural(program), || unsafe { self.build(program) })
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        self.launchers.get(hash::of(&**kernel), || match self.cores.toolchain.check() {
            Ok(()) => Ok(Arc::new(KernelLauncher::new(self.cores.clone(), kernel)?)),
            Err(error) if interpreter_takes_over(&error) => Interpreter.prepare(kernel),
            Err(error) => Err(error),
        })
    }

    fn wants_panels(&self) -> bool {
        true
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}

/// Is a compiler missing, or does it not answer? Then the user hears once that the interpreter takes over.
fn interpreter_takes_over(error: &Error) -> bool {
    let key = match error {
        Error::NoCompiler { .. } => "no compiler",
        Error::CompilerHangs { .. } => "a compiler that hangs",
        _ => return false,
    };
    warn::warn_once(key, &format!("{error}. Functions run in the interpreter, slowly"));
    true
}
