//! The hand-written C kernels: built by the system's compiler when the program starts, loaded, and run by rayon.
//!
//! The only file with `unsafe`: calling foreign code is.

use crate::contest::Failure;
use rayon::prelude::*;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::path::Path;
use std::process::Command;

/// What every kernel looks like; see `kernels/lanes.h`.
type KernelFn = unsafe extern "C" fn(*const *mut c_void, *const *const c_void, *const i64, *const f32, i64, i64);
type HugePagesFn = unsafe extern "C" fn(*mut c_void, u64);
type SecondsFn = unsafe extern "C" fn() -> f64;

const FLAGS: &str =
    "-O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -fPIC -shared -Wno-psabi";

/// The loaded kernels.
pub struct Native {
    library: libloading::Library,
    /// The compiler that built them, as it names itself.
    pub compiler: String,
}

/// Memory that a kernel writes.
#[repr(transparent)]
pub struct Out<'a>(*mut c_void, PhantomData<&'a mut ()>);

// SAFETY: the address is only handed to kernels, whose units write to different places.
unsafe impl Sync for Out<'_> {}

/// Memory to write.
pub fn to<T>(memory: &mut [T]) -> Out<'_> {
    Out(memory.as_mut_ptr().cast(), PhantomData)
}

/// Memory to read.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct In<'a>(*const c_void, PhantomData<&'a ()>);

// SAFETY: it is only read.
unsafe impl Sync for In<'_> {}

/// Memory to read.
pub fn from<T>(memory: &[T]) -> In<'_> {
    In(memory.as_ptr().cast(), PhantomData)
}

/// A kernel by its name.
#[derive(Clone, Copy)]
pub struct Kernel(KernelFn);

impl Native {
    /// Builds and loads the kernels.
    pub fn build() -> Result<Native, Failure> {
        let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let mut files = vec![];
        for entry in std::fs::read_dir(&sources)? {
            files.push(entry?.path());
        }
        files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
        files.sort();
        let folder = tempfile::tempdir()?;
        let object = folder.path().join("kernels.so");
        let output = Command::new(&cc).args(FLAGS.split(' ')).arg("-o").arg(&object).args(&files).output()?;
        if !output.status.success() {
            return Err(format!("{cc} did not build the kernels:\n{}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let version = Command::new(&cc).arg("--version").output()?.stdout;
        let compiler = String::from_utf8_lossy(&version).lines().next().unwrap_or(&cc).to_string();
        // SAFETY: the object has no initialisers; it was built just now from the files of this folder.
        let library = unsafe { libloading::Library::new(&object)? };
        Ok(Native { library, compiler })
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Result<Kernel, Failure> {
        // SAFETY: every `KERNEL` of `kernels/*.c` has this type, and only their names are asked for.
        Ok(Kernel(*unsafe { self.library.get::<KernelFn>(name.as_bytes())? }))
    }

    /// Seconds that the calling thread was on a processor.
    pub fn thread_seconds(&self) -> f64 {
        // SAFETY: the function has this type in `kernels/memory.c`, and only asks the system for the time.
        unsafe { self.library.get::<SecondsFn>(b"thread_seconds").map_or(f64::NAN, |f| f()) }
    }

    /// Asks for huge pages behind the capacity of a vector that is still empty.
    pub fn ask_for_huge_pages(&self, memory: &mut Vec<f32>) {
        const PAGE: usize = 2 << 20;
        let before = memory.as_ptr().cast::<u8>().align_offset(PAGE);
        let bytes = (memory.capacity() * size_of::<f32>()).saturating_sub(before) / PAGE * PAGE;
        // SAFETY: the function has this type in `kernels/memory.c`.
        let Ok(huge_pages) = (unsafe { self.library.get::<HugePagesFn>(b"huge_pages") }) else { return };
        if bytes > 0 {
            // SAFETY: the range lies inside the vector's allocation, and the advice changes no byte of it.
            unsafe { huge_pages(memory.as_mut_ptr().cast::<u8>().wrapping_add(before).cast(), bytes as u64) }
        }
    }
}

impl Kernel {
    /// Runs the units, in tasks of at most `grain`, on all threads. The memories must be what the kernel's comment
    /// says for these sizes; callers are the jobs of this program, next to whose kernels they were written.
    pub fn run(self, out: &[Out<'_>], input: &[In<'_>], sizes: &[usize], scalars: &[f32], units: usize, grain: usize) {
        let sizes: Vec<i64> = sizes.iter().map(|&n| n as i64).collect();
        let task = |k: usize| {
            let (low, high) = ((k * grain) as i64, ((k + 1) * grain).min(units) as i64);
            let (out, input) = (out.as_ptr().cast(), input.as_ptr().cast());
            // SAFETY: the memories and sizes are those the kernel wants (above), they are borrowed by the caller for as
            // long as this runs, and units of a kernel write to different places.
            unsafe { (self.0)(out, input, sizes.as_ptr(), scalars.as_ptr(), low, high) }
        };
        match units.div_ceil(grain) {
            1 => task(0),
            tasks => (0..tasks).into_par_iter().with_max_len(1).for_each(task),
        }
    }
}
