//! Loaded code.
//!
//! A shared object is loaded from memory where the system can (Linux: `memfd`), else from a file in a private folder,
//! so that what runs is what was built or checked. It stays loaded while somebody holds the [`Library`].

use super::folder::Folder;
use crate::Error;
use std::ffi::c_void;
use std::path::Path;

/// The C function of a kernel: memories, scratch, scalars, sizes, first block, past the last block.
pub(crate) type KernelFn =
    unsafe extern "C" fn(*const *mut c_void, *const *mut c_void, *const u64, *const i64, i64, i64);

/// A loaded shared object and its kernels.
pub(crate) struct Library {
    kernels: Vec<KernelFn>,
    /// Owns the code that `kernels` points to.
    _code: Code,
}

#[cfg(unix)]
type Code = libloading::os::unix::Library;
#[cfg(not(unix))]
type Code = libloading::Library;

impl Library {
    /// Loads a shared object that defines that many kernels.
    ///
    /// # Safety
    /// Loading runs the object's initialisers, and its functions `slyz_kernel_*` must have the type [`KernelFn`].
    pub(crate) unsafe fn load(object: &[u8], kernels: usize) -> Result<Library, Error> {
        // SAFETY: the caller's promise.
        let code = unsafe { open(object) }.map_err(|why| Error::Load { why })?;
        let mut found = vec![];
        for k in 0..kernels {
            let name = format!("slyz_kernel_{k}");
            // SAFETY: the caller's promise about the type; the pointer is kept beside the library it points into.
            let symbol = unsafe { code.get::<KernelFn>(name.as_bytes()) };
            found.push(*symbol.map_err(|error| Error::Load { why: reason(&error) })?);
        }
        Ok(Library { kernels: found, _code: code })
    }

    /// The function of a kernel. It may be called while the library lives.
    pub(crate) fn kernel(&self, index: usize) -> Option<KernelFn> {
        self.kernels.get(index).copied()
    }
}

/// # Safety
/// As [`Library::load`].
unsafe fn open(object: &[u8]) -> Result<Code, String> {
    #[cfg(target_os = "linux")]
    super::whole::check(object)?;
    #[cfg(target_os = "linux")]
    // SAFETY: the caller's promise. Where memory files are not allowed the ordinary way follows.
    if let Ok(code) = unsafe { memory_file::open(object) } {
        return Ok(code);
    }
    let folder = Folder::new().map_err(|error| error.to_string())?;
    let path = folder.file("kernels.so");
    std::fs::write(&path, object).map_err(|error| error.to_string())?;
    // SAFETY: the caller's promise; nobody else can write the folder. The file may go once it is loaded.
    unsafe { open_path(&path) }
}

/// # Safety
/// As [`Library::load`], for the file.
unsafe fn open_path(path: &Path) -> Result<Code, String> {
    // Binding everything now makes a missing symbol an error here; bound lazily it would end the process later.
    #[cfg(unix)]
    // SAFETY: the caller's promise.
    let code = unsafe { Code::open(Some(path), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    #[cfg(not(unix))]
    // SAFETY: the caller's promise.
    let code = unsafe { Code::new(path) };
    code.map_err(|error| reason(&error))
}

/// What the loader said. The error itself only names the function that failed.
fn reason(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(said) => said.to_string(),
        None => error.to_string(),
    }
}

#[cfg(target_os = "linux")]
mod memory_file {
    use super::Code;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// # Safety
    /// As [`super::Library::load`].
    pub(super) unsafe fn open(object: &[u8]) -> Result<Code, String> {
        // SAFETY: the name is a C string; the flag asks that child processes do not inherit the file.
        let fd = unsafe { libc::memfd_create(c"slyz".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        // SAFETY: the descriptor is open and nobody else's.
        let mut file = unsafe { File::from_raw_fd(fd) };
        file.write_all(object).map_err(|error| error.to_string())?;
        // SAFETY: the caller's promise; nobody else knows the file. Once loaded it lives by its mapping.
        unsafe { super::open_path(unique_path(file.as_raw_fd()).as_ref()) }
    }

    /// A name of the descriptor that was never used before.
    ///
    /// Descriptors are used again, and glibc gives back the library it loaded under the same name, whatever the name
    /// means by now. So the name spells a counter in its separators: `//` for 0, `/./` for 1.
    fn unique_path(fd: i32) -> String {
        static LOADED: AtomicU64 = AtomicU64::new(0);
        let serial = LOADED.fetch_add(1, Ordering::Relaxed);
        let bits = u64::BITS - serial.leading_zeros();
        let spelled: String = (0..bits).map(|k| if serial >> k & 1 == 1 { "./" } else { "/" }).collect();
        format!("/proc/self/fd/{spelled}{fd}")
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn compile(source: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("a.c");
        let output = folder.path().join("a.so");
        std::fs::write(&input, source).unwrap();
        let mut cc = std::process::Command::new("cc");
        assert!(cc.args(["-shared", "-fPIC", "-nostdlib", "-o"]).arg(&output).arg(&input).status().unwrap().success());
        std::fs::read(output).unwrap()
    }

    fn answer(value: i32) -> Vec<u8> {
        compile(&format!(
            "void slyz_kernel_0(void *const *m, void *const *t, const void *s, const void *z, long b, long e)
             {{ *(int *)m[0] = {value}; }}"
        ))
    }

    fn call(library: &Library) -> i32 {
        let mut cell = 0i32;
        let memories = [(&raw mut cell).cast::<c_void>()];
        let kernel = library.kernel(0).unwrap();
        // SAFETY: the kernel writes one `int` to its only memory and reads nothing else.
        unsafe { kernel(memories.as_ptr(), std::ptr::null(), std::ptr::null(), std::ptr::null(), 0, 1) };
        cell
    }

    /// Libraries that live at the same time, and after others are gone, do not answer for each other.
    #[test]
    fn each_library_is_itself() {
        let objects = [1, 2, 3].map(answer);
        // SAFETY: the objects have no initialisers, and their kernel has the right type.
        let load = |k: usize| unsafe { Library::load(&objects[k], 1) }.unwrap();
        let a = load(0);
        let b = load(1);
        assert_eq!((call(&a), call(&b)), (1, 2));
        drop(a);
        let c = load(2);
        assert_eq!((call(&b), call(&c)), (2, 3));
    }

    /// Where a file ends before what its headers promise, the loader would end the process.
    #[cfg(target_os = "linux")]
    #[test]
    fn objects_that_are_cut_short() {
        let whole = answer(1);
        for len in (0..whole.len()).step_by(97) {
            // SAFETY: the object has no initialisers; nothing of it is called.
            match unsafe { Library::load(&whole[..len], 1) } {
                // What is not loaded, such as names of sections, may be missing.
                Ok(_) => assert!(len > whole.len() / 2),
                Err(Error::Load { why }) => assert!(len < 64 || why.contains("cut short"), "{len}: {why}"),
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_loaded_is_an_error() {
        let undefined = compile("void nowhere(void); void slyz_kernel_0(void) { nowhere(); }");
        for (object, kernels) in [(&answer(1), 2), (&b"not an object".to_vec(), 1), (&undefined, 1)] {
            // SAFETY: nothing of these is ever called.
            let error = unsafe { Library::load(object, kernels) }.err().unwrap();
            let Error::Load { why } = error else { panic!("{error}") };
            let reasons = ["undefined symbol", "invalid ELF header", "file too short", "not found"];
            assert!(cfg!(not(target_os = "linux")) || reasons.iter().any(|reason| why.contains(reason)), "{why}");
        }
    }
}
