//! Kernels as code of a GPU: CUDA C++ by NVRTC, kept on disk, or from a bundle.

use super::ahead;
use super::opened::{Opened, need_compiler};
use crate::disk::kept_or_made;
use crate::driver::raw;
use crate::{Error, hash};
use cudarc::driver::{result, sys};
use cudarc::nvrtc;
use slyz_sir::back::clike::Description;
use slyz_sir::back::cuda::{self, Cuda as Dialect, Vendor};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Kernel;
use slyz_sir::raw::Language;
use std::ffi::CString;
use std::sync::Arc;

/// A kernel that the driver has loaded.
pub(crate) struct Code {
    module: sys::CUmodule,
    pub(super) function: sys::CUfunction,
    pub(super) description: Description,
    /// What a launch asks for.
    pub(super) shared_bytes: u32,
    opened: std::sync::Weak<Opened>,
}

// SAFETY: the driver's handles may be used by any thread.
unsafe impl Send for Code {}
// SAFETY: the same.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        let Some(opened) = self.opened.upgrade() else { return };
        // Any stream may run it.
        if opened.card.synchronize().is_ok() {
            // SAFETY: nobody runs it any more.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// The kernel in CUDA C++.
pub(super) fn text(opened: &Opened, kernel: &Kernel, narrow: bool) -> Result<(String, Description), Error> {
    if let Some((text, description)) = raw::text(kernel, Language::Cuda)? {
        return Ok((text, description));
    }
    let precision = kernel.precision.unwrap_or(opened.precision);
    cuda::emit(kernel, &Dialect { precision, narrow, vendor: Vendor::Nvidia }).map_err(Error::Shader)
}

/// The kernel, loaded.
pub(super) fn code(
    opened: &Arc<Opened>,
    kernel: &Kernel,
    kernel_hash: &[u8; 32],
    narrow: bool,
) -> Result<Arc<Code>, Error> {
    let precision = kernel.precision.unwrap_or(opened.precision);
    opened.card.kernels.get(hash::of(&(kernel_hash, narrow, precision)), || {
        let (text, description) = text(opened, kernel, narrow)?;
        let name = CString::new(description.name.clone()).unwrap_or_default();
        opened.enter()?;
        let trouble = |error| opened.trouble(error, &format_args!("to load kernel `{}`", kernel.name), 0);
        let (module, function) = match ahead::carried(&text, precision, opened.capability) {
            // PTX of a newer compiler than the driver is refused; the compiler that is here may do.
            Some(image) => loaded(image, &name).or_else(|error| match built(opened, kernel, &text, precision) {
                Ok(image) => loaded(&image, &name).map_err(trouble),
                Err(_) => Err(ahead::refused(&kernel.name, &error)),
            })?,
            None => loaded(&built(opened, kernel, &text, precision)?, &name).map_err(trouble)?,
        };
        let opened = Arc::downgrade(opened);
        let mut code = Code { module, function, description, shared_bytes: 0, opened };
        code.ask_for_shared().map_err(trouble)?;
        Ok(Arc::new(code))
    })
}

impl Code {
    /// Tells the driver what blocks have beyond what all GPUs give to any block.
    fn ask_for_shared(&mut self) -> Result<(), result::DriverError> {
        // More than a number of theirs is more than any GPU has, and they say so.
        let bytes = i32::try_from(cuda::asked_shared_bytes(&self.description)).unwrap_or(i32::MAX);
        if bytes == 0 {
            return Ok(());
        }
        let what = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded.
        unsafe { result::function::set_function_attribute(self.function, what, bytes) }?;
        self.shared_bytes = bytes.unsigned_abs();
        Ok(())
    }
}

/// The image, and the kernel in it.
fn loaded(image: &[u8], name: &CString) -> Result<(sys::CUmodule, sys::CUfunction), result::DriverError> {
    // SAFETY: the image is whole, and the driver copies it.
    unsafe {
        let module = result::module::load_data(image.as_ptr().cast())?;
        Ok((module, result::module::get_function(module, name.clone())?))
    }
}

/// The CUBIN of a text, from disk or from the compiler.
fn built(opened: &Opened, kernel: &Kernel, text: &str, precision: Precision) -> Result<Vec<u8>, Error> {
    need_compiler()?;
    let options = match kernel.raw {
        Some(_) => raw_options(&opened.architecture, opened.compiler.unwrap_or_default()),
        None => options(&opened.architecture, precision),
    };
    let key = hash::of(&("cubin 2", text, &options, opened.compiler));
    kept_or_made(opened.disk.as_ref(), &key, || {
        compiled(text, &options, opened.is_newer())
            .map_err(|why| Error::Driver { what: format!("to compile kernel `{}`", kernel.name), why })
    })
}

/// Where nobody asks for every bit, quotients and roots are as fast as they come; the table allows for that. Products and sums are
/// fused where nobody asks for the table, whose algorithms count on their errors.
pub(super) fn options(architecture: &str, precision: Precision) -> Vec<String> {
    let plain = plain_options(architecture);
    let own: &[&str] = match precision {
        Precision::Native => &["--fmad=true", "--prec-div=false", "--prec-sqrt=false", "--ftz=true"],
        Precision::Table => &["--fmad=false", "--prec-div=false", "--prec-sqrt=false"],
        Precision::Exact => &["--fmad=false"],
    };
    plain.into_iter().chain(own.iter().map(|option| option.to_string())).collect()
}

/// The first version of the compiler that knows what only one generation of GPUs has.
const OWN_FEATURES: (i32, i32) = (12, 0);

/// A raw kernel is compiled as NVIDIA's compiler has it. On Hopper it may use what no later GPU has (`sm_90a`), as attention does.
pub(super) fn raw_options(architecture: &str, compiler: (i32, i32)) -> Vec<String> {
    match architecture {
        "sm_90" if compiler >= OWN_FEATURES => plain_options("sm_90a"),
        other => plain_options(other),
    }
}

fn plain_options(architecture: &str) -> Vec<String> {
    vec![format!("--gpu-architecture={architecture}"), "--std=c++17".to_string()]
}

/// CUDA C++ as PTX, the text that drivers compile for GPUs of an architecture and of all later ones.
pub fn ptx(text: &str, architecture: &str, precision: Precision) -> Result<String, Error> {
    need_compiler()?;
    let ptx = compiled(text, &options(architecture, precision), true)
        .map_err(|why| Error::Driver { what: "to compile to PTX".to_string(), why })?;
    Ok(String::from_utf8_lossy(&ptx).trim_end_matches('\0').to_string())
}

/// The first version of the compiler that has a cache of its own.
const CACHES: (i32, i32) = (12, 9);

/// The version of the compiler; the least where it does not tell.
pub(super) fn version() -> (i32, i32) {
    let mut version = (0, 0);
    // SAFETY: the compiler writes two numbers.
    let told = unsafe { nvrtc::sys::nvrtcVersion(&mut version.0, &mut version.1) }.result();
    told.map_or((0, 0), |()| version)
}

/// The image for the driver: a CUBIN, or PTX, with which it compiles itself.
pub(super) fn compiled(text: &str, options: &[String], as_ptx: bool) -> Result<Vec<u8>, String> {
    use nvrtc::{result as compiler, sys};
    let mut options = options.to_vec();
    // Its cache gives what was compiled from the same text with other options: quotients that are not exact for those that are. Ours
    // keeps them apart.
    if version() >= CACHES {
        options.push("--no-cache".to_string());
    }
    let source = CString::new(text).map_err(|error| error.to_string())?;
    let program = compiler::create_program(&source, None).map_err(|error| error.to_string())?;
    // SAFETY: the program was made just now, and is destroyed at the end.
    unsafe {
        let done = compiler::compile_program(program, &options);
        let cubin = done.map_err(|error| {
            let log = compiler::get_program_log(program).unwrap_or_default();
            let log: Vec<u8> = log.into_iter().map(|byte| byte as u8).collect();
            format!("{error}\n{}\n{text}", String::from_utf8_lossy(&log).trim_end_matches('\0'))
        });
        let cubin = cubin.and_then(|()| {
            let mut length = 0;
            let size = match as_ptx {
                true => sys::nvrtcGetPTXSize(program, &mut length),
                false => sys::nvrtcGetCUBINSize(program, &mut length),
            };
            size.result().map_err(|error| error.to_string())?;
            let mut image = vec![0u8; length];
            let got = match as_ptx {
                true => sys::nvrtcGetPTX(program, image.as_mut_ptr().cast()),
                false => sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()),
            };
            got.result().map_err(|error| error.to_string())?;
            Ok(image)
        });
        let _ = compiler::destroy_program(program);
        cubin
    }
}
