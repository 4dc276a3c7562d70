//! GPUs on a CPU: generated kernels of Metal, CUDA and HIP compiled as C++ against the shim of their language, and plans run on them.
#![allow(dead_code)]

mod glue;
#[path = "../plans/mod.rs"]
mod plans;
pub mod swift;

#[allow(unused_imports)]
pub use glue::{Language, folder};
#[allow(unused_imports)]
pub use plans::{from_bytes, to_bytes};

use plans::value;
use slyz_sir::back::clike::{Description, Dispatch, UniformSource};
use slyz_sir::back::harness::Entry;
use slyz_sir::interp::Value;
use slyz_sir::kernel::BufferId;
use slyz_sir::size::Size;
use slyz_sir::types::Scalar;
use std::ffi::c_void;

/// Of Metal; see [`glue`].
type Dispatched = unsafe extern "C" fn(
    bound: *const *mut c_void,
    shared_bytes: *const usize,
    extent: *const u32,
    block: *const u32,
) -> i32;

/// Of CUDA and HIP.
type Launched =
    unsafe extern "C" fn(arguments: *const *mut c_void, grid: *const u32, block: *const u32, meets: bool) -> i32;

/// Kernels that were compiled.
pub struct Library {
    language: Language,
    library: libloading::Library,
    _folder: tempfile::TempDir,
}

/// Compiles kernels as C++; nothing where no compiler does, which is told.
pub fn build<'d>(language: Language, source: &str, kernels: impl Iterator<Item = &'d Description>) -> Option<Library> {
    if !slyz_trials::has_cxx() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = glue::compile(language, source, kernels, folder.path());
    // SAFETY: it was just built from generated code; loading runs nothing.
    let library = unsafe { libloading::Library::new(&path) }.expect("the library loads");
    Some(Library { language, library, _folder: folder })
}

impl Library {
    /// Launches a kernel. `buffers` are those of the SIR kernel, in its order.
    pub fn launch(
        &self,
        d: &Description,
        sizes: &[Option<u64>],
        buffers: &[*mut c_void],
        scalars: &[Scalar],
    ) -> Result<(), String> {
        let (Dispatch::Threads(extent) | Dispatch::Blocks(extent)) = &d.dispatch;
        let extent: Vec<u64> = extent.iter().map(|s| value(s, sizes)).collect::<Result<_, _>>()?;
        if extent.contains(&0) {
            return Ok(());
        }
        let extent: Vec<u32> =
            extent.into_iter().map(u32::try_from).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        let mut words: Vec<u64> = vec![];
        for uniform in &d.uniforms {
            words.push(match uniform.source {
                UniformSource::Size(var) => value(&Size::Var(var), sizes)?,
                UniformSource::Scalar(k) => scalars[k].bits,
                UniformSource::Extent(_) => unreachable!("of raw kernels, which are not exported"),
            });
        }
        let mut bound = vec![std::ptr::null_mut(); d.buffers.len() + d.uniforms.len()];
        d.uniforms.iter().zip(&mut words).for_each(|(u, word)| bound[u.index] = std::ptr::from_mut(word).cast());
        let failed = match self.language {
            Language::Metal => {
                d.buffers.iter().for_each(|b| bound[b.index] = buffers[b.place]);
                self.dispatch(d, sizes, &bound, &extent)?
            }
            Language::Cuda | Language::Hip(_) => {
                let mut addresses: Vec<*mut c_void> = d.buffers.iter().map(|b| buffers[b.place]).collect();
                let addresses = d.buffers.iter().zip(&mut addresses);
                addresses.for_each(|(b, address)| bound[b.index] = std::ptr::from_mut(address).cast());
                // SAFETY: the function has that type; buffers are as large as the plan says, and kernels of a right plan stay inside.
                unsafe { self.function::<Launched>(d)?(bound.as_ptr(), extent.as_ptr(), d.block.as_ptr(), d.meets) }
            }
        };
        if failed != 0 { Err(format!("kernel {}: not all threads reach a barrier", d.name)) } else { Ok(()) }
    }

    /// Dispatches a kernel of Metal.
    fn dispatch(
        &self,
        d: &Description,
        sizes: &[Option<u64>],
        bound: &[*mut c_void],
        extent: &[u32],
    ) -> Result<i32, String> {
        let mut shared = vec![];
        for memory in &d.shared {
            shared.push(value(&Size::product(&memory.shape), sizes)? as usize * memory.ty.bytes());
        }
        let block = match d.dispatch {
            Dispatch::Threads(_) => std::ptr::null(),
            Dispatch::Blocks(_) => d.block.as_ptr(),
        };
        // SAFETY: as above.
        Ok(unsafe { self.function::<Dispatched>(d)?(bound.as_ptr(), shared.as_ptr(), extent.as_ptr(), block) })
    }

    /// The function that launches a kernel.
    ///
    /// # Safety
    /// It has that type.
    unsafe fn function<T>(&self, d: &Description) -> Result<libloading::Symbol<'_, T>, String> {
        let name = format!("launch_{}", d.name);
        // SAFETY: the caller's promise.
        unsafe { self.library.get(name.as_bytes()) }.map_err(|error| error.to_string())
    }

    /// Runs the plan of a program, as the Swift harness does.
    pub fn run(&self, entry: &Entry, sizes: &[Option<u64>], args: &[Value]) -> Result<Vec<Value>, String> {
        plans::run(entry, sizes, args, &mut |launch, memory| {
            let pointer = |id: &BufferId| {
                memory[id.0 as usize].as_mut().map_or(std::ptr::null_mut(), |words| words.as_mut_ptr().cast())
            };
            let pointers: Vec<*mut c_void> = launch.buffers.iter().map(pointer).collect();
            self.launch(launch.kernel, launch.sizes, &pointers, &launch.scalars)
        })
    }
}
