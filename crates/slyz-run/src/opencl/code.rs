//! Kernels as code of a device: OpenCL C by the platform's compiler, kept on disk.

use super::opened::Opened;
use crate::driver::raw;
use crate::{Error, hash};
use opencl3::error_codes::ClError;
use opencl3::kernel::{create_kernel, release_kernel};
use opencl3::program::Program;
use opencl3::types::cl_kernel;
use slyz_sir::back::clike::Description;
use slyz_sir::back::opencl;
use slyz_sir::choices::Precision;
use slyz_sir::code::{Body, Op};
use slyz_sir::kernel::Kernel;
use slyz_sir::raw::Language;
use std::ffi::CString;
use std::sync::{Arc, Mutex};

/// A kernel that the driver has loaded.
pub(super) struct Code {
    /// Its arguments are set and it is launched under the lock: they are part of it.
    pub(super) kernel: Mutex<Loaded>,
    pub(super) description: Description,
}

/// The driver's handle of a kernel.
pub(super) struct Loaded(pub(super) cl_kernel);

// SAFETY: the driver's handles may be used by any thread.
unsafe impl Send for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody has it any more. The driver keeps it until the last launch is done.
        let _ = unsafe { release_kernel(self.0) };
    }
}

/// The kernel in OpenCL C.
pub(super) fn text(opened: &Opened, kernel: &Kernel, narrow: bool) -> Result<(String, Description), Error> {
    if let Some((text, description)) = raw::text(kernel, Language::OpenCl)? {
        return Ok((text, description));
    }
    let precision = kernel.precision.unwrap_or(opened.precision);
    let dialect = opened.dialect(precision, narrow);
    let (text, mut descriptions) = opencl::emit(&[kernel], &dialect).map_err(Error::Shader)?;
    let what = || Error::Plan { name: kernel.name.clone(), why: "no description".to_string() };
    Ok((text, descriptions.pop().ok_or_else(what)?))
}

/// The kernel, loaded.
pub(super) fn code(opened: &Opened, kernel: &Kernel, kernel_hash: &[u8; 32], narrow: bool) -> Result<Arc<Code>, Error> {
    opened.kernels.get(hash::of(&(kernel_hash, narrow, kernel.precision)), || {
        let (text, description) = text(opened, kernel, narrow)?;
        let precision = kernel.precision.unwrap_or(opened.precision);
        let program = built(opened, kernel, &text, precision)?;
        let name = CString::new(description.name.clone()).unwrap_or_default();
        let what = format_args!("to load kernel `{}`", kernel.name).to_string();
        let made = create_kernel(program.get(), &name).map_err(|error| opened.trouble(error, &what, 0))?;
        Ok(Arc::new(Code { kernel: Mutex::new(Loaded(made)), description }))
    })
}

/// The program of a text, from disk or from the compiler.
fn built(opened: &Opened, kernel: &Kernel, text: &str, precision: Precision) -> Result<Program, Error> {
    let options = options(opened, kernel, precision);
    let OpenClNames { name, platform, version } = names(opened);
    let key = hash::of(&("opencl 1", text, &options, name, platform, version));
    let kept = opened.disk.as_ref().and_then(|disk| disk.load(&key));
    if let Some(program) = kept.and_then(|binary| loaded(opened, &binary, &options)) {
        return Ok(program);
    }
    let what = format!("to compile kernel `{}`", kernel.name);
    let trouble = |error: ClError| opened.trouble(error, &what, 0);
    let mut program = Program::create_from_source(&opened.context, text).map_err(trouble)?;
    if let Err(error) = program.build(&[opened.device.id()], &options) {
        let log = program.get_build_log(opened.device.id()).unwrap_or_default();
        let why = format!("{error}\n{}\n{text}", log.trim_end_matches(['\0', '\n']));
        return Err(Error::Driver { what, why });
    }
    if let Some(disk) = &opened.disk
        && let Some(binary) = program.get_binaries().ok().and_then(|mut binaries| binaries.pop())
        && !binary.is_empty()
    {
        disk.store(&key, &binary);
    }
    Ok(program)
}

/// Who has built a binary.
struct OpenClNames<'a> {
    name: &'a str,
    platform: &'a str,
    version: &'a str,
}

fn names(opened: &Opened) -> OpenClNames<'_> {
    let summary = &opened.summary;
    OpenClNames { name: &summary.name, platform: &summary.platform, version: &summary.version }
}

/// A binary as a program; `None` where the driver does not take it.
fn loaded(opened: &Opened, binary: &[u8], options: &str) -> Option<Program> {
    // SAFETY: the device is the context's.
    let made = unsafe { Program::create_from_binary(&opened.context, &[opened.device.id()], &[binary]) };
    let mut program = made.ok()?;
    program.build(&[opened.device.id()], options).ok()?;
    Some(program)
}

/// Where nobody asks for every bit, quotients and roots are as fast as they come; the table allows for that. Products and sums are
/// fused where nobody asks for the table.
fn options(opened: &Opened, kernel: &Kernel, precision: Precision) -> String {
    let own = match precision {
        Precision::Native => " -cl-mad-enable -cl-denorms-are-zero",
        Precision::Table => "",
        Precision::Exact => " -cl-fp32-correctly-rounded-divide-sqrt",
    };
    // Note [pocl and nested loops].
    let careful = opened.summary.platform == POCL && meets_below(&kernel.body, DEEP);
    let careful = if careful { " -cl-opt-disable" } else { "" };
    format!("-cl-std={}{own}{careful}", opened.standard)
}

// Note [pocl and nested loops]: pocl runs the threads of a block as loops from barrier to barrier, which it makes of code that its compiler
// has optimised. In some loops around barriers pocl 3.1 then goes wrong: by
//
//     for (uint j = 0; j < n; ++j)
//         if (j > 0) {
//             barrier(CLK_GLOBAL_MEM_FENCE);
//             for (uint k = 1 + get_local_id(0); k < n; k += 4) x[j * n + k] += 100;
//         }
//
// a block of four threads adds to rows from `n` on, too. OpenCL allows that code, and by `-cl-opt-disable` it is right. Which of the passes
// is to blame is not known. A barrier at the end of the branch helps here, and not where a loop with barriers stands in another one, between
// loops without. All that we have seen go wrong is so deep, and kernels whose barriers are less deep keep their passes.

/// The platform's name.
const POCL: &str = "Portable Computing Language";
/// Loops and branches around a barrier with which it goes wrong.
const DEEP: usize = 2;

/// Do threads meet inside of so many loops and branches?
fn meets_below(body: &Body, levels: usize) -> bool {
    body.stmts.iter().any(|stmt| {
        let meets = levels == 0 && matches!(stmt.op, Op::Barrier(_) | Op::Subgroup(..));
        meets || stmt.op.bodies().into_iter().any(|inner| meets_below(inner, levels.saturating_sub(1)))
    })
}
