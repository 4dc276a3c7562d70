//! The CPU device: generated C, built by the system's compiler, run by all cores.
//!
//! ```text
//! program ── optimize, lower ──> plan ── emit ──> C ── toolchain (disk cache) ──> library ── run, launch ──> results
//! ```
//!
//! Compiled programs are kept in memory by structural hash, shared objects on disk by content hash.
//! Where there is no compiler, or none that comes to an end, the interpreter takes over, and says so once.

mod check;
mod code;
mod config;
pub(crate) mod cost;
mod folder;
mod launch;
mod launcher;
mod library;
mod numbers;
mod process;
mod run;
mod threads;
mod toolchain;
#[cfg(target_os = "linux")]
mod whole;

pub use config::CpuConfig;

use crate::device::Seal;
use crate::memo::Memo;
use crate::{Device, Error, Executable, Interpreter, Launcher, hash, warn};
use slyz_sir::back::c::EmitError;
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::verify;
use std::sync::Arc;
use toolchain::Toolchain;

/// Compiled programs that are kept when nobody uses them.
const KEPT_GRAPHS: usize = 512;

/// The part of the compiler that a CPU device calls.
#[derive(Clone, Copy)]
pub struct Backend {
    /// A program as launches.
    pub lower: fn(&Program) -> Plan,
    /// The kernels of a plan as one C file; `wide` code works for any size. Kernel `k` is the function
    /// `void slyz_kernel_k(void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end)`,
    /// which runs the blocks `begin..end` of the grid, counted with x fastest.
    pub emit: fn(&Plan, bool) -> Result<String, EmitError>,
}

/// A list that is nearly always short: so long it stands where it is made, and a small call asks for no memory.
type Few<T> = smallvec::SmallVec<[T; 4]>;

/// The CPU device.
pub struct Cpu {
    backend: Backend,
    toolchain: Arc<Toolchain>,
    memo: Memo<dyn Executable>,
    launchers: Memo<dyn Launcher>,
}

impl Cpu {
    /// The device's name.
    pub const NAME: &'static str = "cpu";

    /// A device with its own caches. Programs share the one of [`crate::device`].
    pub fn new(config: CpuConfig) -> Cpu {
        let lower = |program: &Program| slyz_sir::lower::cpu::lower(&slyz_sir::pass::optimize(program));
        let backend = Backend { lower, emit: slyz_sir::back::c::emit };
        // SAFETY: the backend of `slyz-sir` writes C that touches the elements of the plan's memories and nothing else.
        unsafe { Cpu::with_backend(config, backend) }
    }

    /// A device that compiles with another backend.
    ///
    /// # Safety
    /// The code that the backend emits is loaded and run. For sizes within the plan it must touch the elements of
    /// its memories only, write only those it may write, and give two blocks of a grid nothing to race for.
    pub unsafe fn with_backend(config: CpuConfig, backend: Backend) -> Cpu {
        let (memo, launchers) = (Memo::new(KEPT_GRAPHS), Memo::new(KEPT_GRAPHS));
        Cpu { backend, toolchain: Arc::new(Toolchain::new(config)), memo, launchers }
    }

    fn build(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        match run::CpuExecutable::new(program, self.backend, self.toolchain.clone()) {
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
        format!("cpu: {} threads, {}", threads::count(), self.toolchain.describe())
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: what is left without a test is inside.
        unsafe { self.compile_trusted(&confine::program(program.clone())) }
    }

    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        self.memo.get(hash::structural(program), || self.build(program))
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        self.launchers.get(hash::of(&**kernel), || match self.toolchain.check() {
            Ok(()) => Ok(Arc::new(launcher::CpuLauncher::new(kernel, self.backend, self.toolchain.clone())?)),
            Err(error) if interpreter_takes_over(&error) => Interpreter.prepare(kernel),
            Err(error) => Err(error),
        })
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
