//! Kernels as code of a GPU: HIP by hiprtc, kept on disk.

use super::library::Handle;
use super::opened::Opened;
use crate::disk::kept_or_made;
use crate::driver::raw;
use crate::{Error, hash};
use slyz_sir::back::clike::Description;
use slyz_sir::back::cuda::{self, Cuda as Dialect};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Kernel;
use slyz_sir::raw::Language;
use std::ffi::CString;
use std::sync::{Arc, Weak};

/// What files of HIP begin with. hiprtc knows it without being told, and finds no file of that name.
const INCLUDE: &str = "#include <hip/hip_runtime.h>";

/// A kernel that the driver has loaded.
pub(crate) struct Code {
    module: Handle,
    pub(super) function: Handle,
    pub(super) description: Description,
    opened: Weak<Opened>,
}

impl Drop for Code {
    fn drop(&mut self) {
        let Some(opened) = self.opened.upgrade() else { return };
        if opened.synchronize().is_ok() {
            // SAFETY: nobody runs it any more.
            unsafe { opened.library.unload(self.module) };
        }
    }
}

/// The kernel in HIP.
pub(super) fn text(opened: &Opened, kernel: &Kernel, narrow: bool) -> Result<(String, Description), Error> {
    if let Some((text, description)) = raw::text(kernel, Language::Hip)? {
        // Where the line was is an empty one, so that messages have the lines of the source.
        return Ok((text.replacen(INCLUDE, "", 1), description));
    }
    let precision = kernel.precision.unwrap_or(opened.precision);
    cuda::emit(kernel, &Dialect { precision, narrow, vendor: opened.vendor }).map_err(Error::Shader)
}

/// The kernel, loaded.
pub(super) fn code(
    opened: &Arc<Opened>,
    kernel: &Kernel,
    kernel_hash: &[u8; 32],
    narrow: bool,
) -> Result<Arc<Code>, Error> {
    opened.kernels.get(hash::of(&(kernel_hash, narrow, kernel.precision)), || {
        let (text, description) = text(opened, kernel, narrow)?;
        let precision = kernel.precision.unwrap_or(opened.precision);
        let image = built(opened, kernel, text.trim_start_matches(INCLUDE), precision)?;
        let name = CString::new(description.name.clone()).unwrap_or_default();
        opened.enter()?;
        let (module, function) = opened
            .library
            .load_kernel(&image, &name)
            .map_err(|error| opened.trouble(error, &format_args!("to load kernel `{}`", kernel.name), 0))?;
        Ok(Arc::new(Code { module, function, description, opened: Arc::downgrade(opened) }))
    })
}

/// The code object of a text, from disk or from the compiler.
fn built(opened: &Opened, kernel: &Kernel, text: &str, precision: Precision) -> Result<Vec<u8>, Error> {
    let options = match kernel.raw {
        // As AMD's compiler has it.
        Some(_) => plain_options(&opened.architecture),
        None => options(&opened.architecture, precision),
    };
    let key = hash::of(&("hip 1", text, &options, opened.compiler));
    kept_or_made(opened.disk.as_ref(), &key, || {
        let failed = |why| Error::Driver { what: format!("to compile kernel `{}`", kernel.name), why };
        opened.library.compiled(text, &options).map_err(failed)
    })
}

/// Products and sums are fused, and quotients and roots as fast as they come, where nobody asks for the table.
fn options(architecture: &str, precision: Precision) -> Vec<String> {
    let own: &[&str] = match precision {
        Precision::Native => &["-ffp-contract=fast", "-fno-hip-fp32-correctly-rounded-divide-sqrt"],
        Precision::Table | Precision::Exact => &["-ffp-contract=off"],
    };
    plain_options(architecture).into_iter().chain(own.iter().map(|option| option.to_string())).collect()
}

fn plain_options(architecture: &str) -> Vec<String> {
    vec![format!("--offload-arch={architecture}"), "-std=c++17".to_string(), "-O3".to_string()]
}
