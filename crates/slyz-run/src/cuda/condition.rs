//! The kernel with which a loop of a graph says whether it goes on. It calls a function of CUDA's device library, which comes with the
//! toolkit; without it loops are taken by the host.

use super::code;
use super::opened::Opened;
use crate::Error;
use cudarc::driver::{result, sys};
use std::ffi::{CString, c_void};
use std::path::PathBuf;

const NAME: &str = "slyz_goes_on";
const TEXT: &str = r#"extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned int value);

extern "C" __global__ void slyz_goes_on(unsigned long long handle, const unsigned char *holds)
{
    cudaGraphSetConditional(handle, *holds);
}
"#;

/// The kernel, loaded. It is never given back: the context outlives it.
pub(super) struct Condition {
    function: sys::CUfunction,
}

// SAFETY: the driver's handles may be used by any thread.
unsafe impl Send for Condition {}
// SAFETY: the same.
unsafe impl Sync for Condition {}

impl Condition {
    /// `None` where the library is not installed, or too old.
    pub(super) fn new(opened: &Opened) -> Option<Condition> {
        let library = libraries().into_iter().find(|path| path.exists())?;
        let options = [format!("--gpu-architecture={}", opened.virtual_architecture()), "-rdc=true".to_string()];
        opened.compiler?;
        let ptx = code::compiled(TEXT, &options, true).ok()?;
        let library = CString::new(library.to_str()?).ok()?;
        // SAFETY: the GPU is this thread's.
        let function = unsafe { linked(&ptx, &library) }.ok()?;
        Some(Condition { function })
    }

    /// The loop of the handle goes on while what is at the address holds.
    ///
    /// # Safety
    /// The handle is of the graph that the stream is captured for, and a `bool` is at the address when the graph runs.
    pub(super) unsafe fn set(&self, stream: sys::CUstream, handle: u64, holds: u64) -> Result<(), result::DriverError> {
        let mut values = [handle, holds];
        let mut parameters: Vec<*mut c_void> = values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
        // SAFETY: the kernel has two parameters of 8 bytes, which are copied; the rest is the caller's promise.
        unsafe { result::launch_kernel(self.function, (1, 1, 1), (1, 1, 1), 0, stream, &mut parameters) }
    }
}

/// Where the library may be: beside CUDA's other libraries.
fn libraries() -> Vec<PathBuf> {
    let list = |name: &str| std::env::var_os(name).unwrap_or_default();
    let beside: Vec<PathBuf> = std::env::split_paths(&list("LD_LIBRARY_PATH")).collect();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].map(|name| PathBuf::from(list(name)));
    let toolkits = toolkits.into_iter().chain([PathBuf::from("/usr/local/cuda"), PathBuf::from("/usr")]);
    let folders = ["lib64", "lib", "lib/x86_64-linux-gnu", "lib/x64"];
    let own = toolkits.flat_map(|toolkit| folders.map(|folder| toolkit.join(folder)));
    let names = ["libcudadevrt.a", "cudadevrt.lib"];
    beside.into_iter().chain(own).flat_map(|folder| names.map(|name| folder.join(name))).collect()
}

/// PTX with a library as a module, and the kernel in it.
///
/// # Safety
/// The GPU is this thread's.
unsafe fn linked(ptx: &[u8], library: &CString) -> Result<sys::CUfunction, Error> {
    let failed = |error: result::DriverError| Error::Driver {
        what: "to link a loop's condition".to_string(),
        why: error.to_string(),
    };
    let mut state = std::ptr::null_mut();
    let mut image = std::ptr::null_mut();
    let mut length = 0;
    let none = std::ptr::null_mut;
    let [name, function] = ["condition", NAME].map(|name| CString::new(name).unwrap_or_default());
    // SAFETY: all that is pointed to lives until the linker is done, which only reads the PTX; the module copies what it made.
    unsafe {
        sys::cuLinkCreate_v2(0, std::ptr::null_mut(), none(), &mut state).result().map_err(failed)?;
        let kind = sys::CUjitInputType::CU_JIT_INPUT_PTX;
        let text = ptx.as_ptr().cast_mut().cast();
        let added = sys::cuLinkAddData_v2(state, kind, text, ptx.len(), name.as_ptr(), 0, std::ptr::null_mut(), none());
        let kind = sys::CUjitInputType::CU_JIT_INPUT_LIBRARY;
        let joined = || sys::cuLinkAddFile_v2(state, kind, library.as_ptr(), 0, std::ptr::null_mut(), none());
        let mut completed = || sys::cuLinkComplete(state, &mut image, &mut length);
        let linked = added.result().and_then(|()| joined().result()).and_then(|()| completed().result());
        let loaded = linked.and_then(|()| result::module::load_data(image.cast_const()));
        let _ = sys::cuLinkDestroy(state);
        let module = loaded.map_err(failed)?;
        result::module::get_function(module, function).map_err(failed)
    }
}
