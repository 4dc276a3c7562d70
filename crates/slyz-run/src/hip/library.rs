//! AMD's libraries, `libamdhip64` and `libhiprtc`, loaded when they are needed: where they are, and what is called of them.
//!
//! All calls of theirs are here, under names of ours.

use crate::Error;
use libloading::Library;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// Names the folder of both libraries.
pub(super) const VARIABLE: &str = "SLYZ_HIP";

/// What the driver says when memory has run out.
const OUT_OF_MEMORY: c_int = 2;
/// What it says once a kernel has gone wrong: nothing works any more.
const BROKEN: [c_int; 5] = [700, 702, 710, 719, 999];

/// Where copies go: to the GPU, from it, inside of it.
#[derive(Clone, Copy)]
pub(super) enum Copy {
    Upload = 1,
    Download = 2,
    Within = 3,
}

/// An error of the driver.
pub(super) struct Refused {
    code: c_int,
    pub(super) why: String,
}

impl Refused {
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.code == OUT_OF_MEMORY
    }

    pub(super) fn is_fatal(&self) -> bool {
        BROKEN.contains(&self.code)
    }
}

/// A handle of the driver's.
#[derive(Clone, Copy)]
pub(super) struct Handle(*mut c_void);

// SAFETY: the driver's handles may be used by any thread.
unsafe impl Send for Handle {}
// SAFETY: the same.
unsafe impl Sync for Handle {}

/// A struct of pointers to functions that give an error, and its loading from a library.
macro_rules! functions {
    ($(#[$doc:meta])* $name:ident { $($field:ident = $symbol:literal ($($arg:ty),*);)* }) => {
        $(#[$doc])*
        struct $name {
            $($field: unsafe extern "C" fn($($arg),*) -> c_int,)*
            _library: Library,
        }

        impl $name {
            /// # Safety
            /// Functions of these names have these types.
            unsafe fn of(library: Library) -> Result<$name, libloading::Error> {
                // SAFETY: the caller's promise. The library lives as long as what is called of it.
                unsafe { Ok($name { $($field: *library.get($symbol)?,)* _library: library }) }
            }
        }
    };
}

type Out<T> = *mut T;
type Pointer = *mut c_void;

functions! {
    /// Of `libamdhip64`.
    Runtime {
        init = b"hipInit\0" (c_uint);
        count = b"hipGetDeviceCount\0" (Out<c_int>);
        set_device = b"hipSetDevice\0" (c_int);
        device_name = b"hipDeviceGetName\0" (*mut c_char, c_int, c_int);
        total_memory = b"hipDeviceTotalMem\0" (Out<usize>, c_int);
        create_stream = b"hipStreamCreateWithFlags\0" (Out<Pointer>, c_uint);
        wait_for_stream = b"hipStreamSynchronize\0" (Pointer);
        destroy_stream = b"hipStreamDestroy\0" (Pointer);
        allocate = b"hipMalloc\0" (Out<Pointer>, usize);
        free = b"hipFree\0" (Pointer);
        copy = b"hipMemcpyAsync\0" (Pointer, *const c_void, usize, c_int, Pointer);
        create_event = b"hipEventCreate\0" (Out<Pointer>);
        record_event = b"hipEventRecord\0" (Pointer, Pointer);
        wait_for_event = b"hipEventSynchronize\0" (Pointer);
        time_between = b"hipEventElapsedTime\0" (Out<f32>, Pointer, Pointer);
        destroy_event = b"hipEventDestroy\0" (Pointer);
        load_module = b"hipModuleLoadData\0" (Out<Pointer>, *const c_void);
        unload_module = b"hipModuleUnload\0" (Pointer);
        function = b"hipModuleGetFunction\0" (Out<Pointer>, Pointer, *const c_char);
        launch = b"hipModuleLaunchKernel\0" (Pointer, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Pointer, *mut Pointer, *mut Pointer);
    }
}

functions! {
    /// Of `libhiprtc`.
    Compiler {
        version = b"hiprtcVersion\0" (Out<c_int>, Out<c_int>);
        create = b"hiprtcCreateProgram\0" (Out<Pointer>, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
        compile = b"hiprtcCompileProgram\0" (Pointer, c_int, *const *const c_char);
        log_size = b"hiprtcGetProgramLogSize\0" (Pointer, Out<usize>);
        log = b"hiprtcGetProgramLog\0" (Pointer, *mut c_char);
        code_size = b"hiprtcGetCodeSize\0" (Pointer, Out<usize>);
        code = b"hiprtcGetCode\0" (Pointer, *mut c_char);
        destroy = b"hiprtcDestroyProgram\0" (Out<Pointer>);
    }
}

type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;
type Properties = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type AllocateInOrder = unsafe extern "C" fn(*mut Pointer, usize, Pointer) -> c_int;
type FreeInOrder = unsafe extern "C" fn(Pointer, Pointer) -> c_int;

/// The libraries.
pub(super) struct Hip {
    compiler: Compiler,
    error_text: ErrorText,
    properties: Properties,
    /// Memory in the order of a stream, where the driver has that.
    in_order: Option<(AllocateInOrder, FreeInOrder)>,
    runtime: Runtime,
}

fn missing(what: &str, why: impl ToString) -> Error {
    Error::NoHip { what: what.to_string(), why: why.to_string() }
}

/// The library, under the names that versions of ROCm give it. On Windows numbers are part of the name.
fn open(stem: &str, folder: Option<&Path>) -> Result<Library, Error> {
    let plain = format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}");
    let numbered = match cfg!(windows) {
        true => [format!("{stem}_7.dll"), format!("{stem}_6.dll"), format!("{stem}0600.dll")],
        false => ["7", "6", "5"].map(|version| format!("{plain}.{version}")),
    };
    let names: Vec<PathBuf> = [plain.clone()].into_iter().chain(numbered).map(PathBuf::from).collect();
    let places: Vec<PathBuf> = match folder {
        Some(folder) => names.iter().map(|name| folder.join(name)).collect(),
        None => names.iter().cloned().chain(names.iter().map(|name| Path::new("/opt/rocm/lib").join(name))).collect(),
    };
    // SAFETY: what is installed under that name is AMD's, whose beginning does nothing that matters here.
    let found = places.iter().find_map(|place| unsafe { Library::new(place) }.ok());
    found.ok_or_else(|| {
        let inside = folder.map(|folder| format!(" in {}", folder.display())).unwrap_or_default();
        let cure =
            format!("install ROCm (amdgpu-install --usecase=rocm), or set {VARIABLE} to the folder of its libraries");
        missing(&format!("{plain} cannot be loaded{inside}"), cure)
    })
}

/// The library with the compiler, which was a part of the driver's up to version 5.2.
fn open_compiler(folder: Option<&Path>) -> Result<Library, Error> {
    open("hiprtc", folder).or_else(|error| {
        let driver = open("amdhip64", folder)?;
        // SAFETY: nothing is called.
        let has_compiler = unsafe { driver.get::<*const c_void>(b"hiprtcVersion\0") }.is_ok();
        if has_compiler { Ok(driver) } else { Err(error) }
    })
}

impl Hip {
    /// Loads the libraries, from a folder where one is named.
    pub(super) fn load(folder: Option<&Path>) -> Result<Hip, Error> {
        let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = folder.map(Path::to_path_buf).or(named);
        let runtime = open("amdhip64", folder.as_deref())?;
        let compiler = open_compiler(folder.as_deref())?;
        let old = |error: libloading::Error| missing("ROCm is too old", format!("{error}; take version 5 or newer"));
        // SAFETY: functions of these names have these types in all versions of ROCm.
        unsafe {
            let error_text = *runtime.get::<ErrorText>(b"hipGetErrorString\0").map_err(old)?;
            // What the older function fills is an older struct; in both the architecture is found by its beginning.
            let newer = runtime.get::<Properties>(b"hipGetDevicePropertiesR0600\0");
            let properties = *newer.or_else(|_| runtime.get::<Properties>(b"hipGetDeviceProperties\0")).map_err(old)?;
            let allocate = runtime.get::<AllocateInOrder>(b"hipMallocAsync\0").ok().map(|function| *function);
            let free = runtime.get::<FreeInOrder>(b"hipFreeAsync\0").ok().map(|function| *function);
            let runtime = Runtime::of(runtime).map_err(old)?;
            let compiler = Compiler::of(compiler).map_err(old)?;
            Ok(Hip { compiler, error_text, properties, in_order: allocate.zip(free), runtime })
        }
    }

    /// Nothing, or what the driver says.
    fn checked(&self, code: c_int) -> Result<(), Refused> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the driver gives a text that stays.
        let text = unsafe { text_at((self.error_text)(code)) };
        Err(Refused { code, why: format!("{text} ({code})") })
    }

    /// How many GPUs there are.
    pub(super) fn count(&self) -> Result<c_int, Refused> {
        let mut count = 0;
        // SAFETY: the number lives.
        unsafe {
            self.checked((self.runtime.init)(0))?;
            self.checked((self.runtime.count)(&mut count))?;
        }
        Ok(count)
    }

    /// Makes a GPU this thread's.
    pub(super) fn set_device(&self, number: c_int) -> Result<(), Refused> {
        // SAFETY: nothing is passed but a number.
        self.checked(unsafe { (self.runtime.set_device)(number) })
    }

    /// The name of a GPU, and the bytes of its memory.
    pub(super) fn name_and_memory(&self, number: c_int) -> Result<(String, u64), Refused> {
        let mut name = [0 as c_char; 256];
        let mut memory = 0;
        // SAFETY: the driver writes no more characters than it is told, and a number.
        unsafe {
            self.checked((self.runtime.device_name)(name.as_mut_ptr(), 255, number))?;
            self.checked((self.runtime.total_memory)(&mut memory, number))?;
            Ok((text_at(name.as_ptr()), memory as u64))
        }
    }

    /// The architecture of a GPU: `gfx90a`, with features behind colons. It is a text in a struct that differs from version to version, which
    /// begins with the name of the GPU; nothing else in it begins with `gfx`.
    pub(super) fn architecture(&self, number: c_int) -> Result<String, Refused> {
        // The struct has less than 2 KiB.
        let mut properties = vec![0u64; 2048];
        // SAFETY: there is more room than the struct takes.
        self.checked(unsafe { (self.properties)(properties.as_mut_ptr().cast(), number) })?;
        let bytes: Vec<u8> = properties.iter().flat_map(|word| word.to_ne_bytes()).skip(256).collect();
        let start = bytes.windows(3).position(|three| three == b"gfx").unwrap_or(bytes.len());
        let text = bytes[start..].iter().take_while(|&&byte| byte != 0);
        Ok(text.map(|&byte| byte as char).collect())
    }

    pub(super) fn create_stream(&self) -> Result<Handle, Refused> {
        let mut stream = null_mut();
        let beside_others = 1;
        // SAFETY: the handle lives.
        self.checked(unsafe { (self.runtime.create_stream)(&mut stream, beside_others) })?;
        Ok(Handle(stream))
    }

    pub(super) fn wait_for_stream(&self, stream: Handle) -> Result<(), Refused> {
        // SAFETY: streams live until they are destroyed, when nobody has them.
        self.checked(unsafe { (self.runtime.wait_for_stream)(stream.0) })
    }

    /// # Safety
    /// Nobody has the stream any more.
    pub(super) unsafe fn destroy_stream(&self, stream: Handle) {
        // SAFETY: the caller's promise. Errors have nobody to tell.
        let _ = unsafe { (self.runtime.destroy_stream)(stream.0) };
    }

    /// Does without memory in the order of the stream where the driver has that, but not for this GPU.
    pub(super) fn try_memory(&mut self, stream: Handle) {
        let Some((allocate, free)) = self.in_order else { return };
        let mut address = null_mut();
        // SAFETY: the address lives, and so does the stream; nobody has seen the memory.
        unsafe {
            match allocate(&mut address, 16, stream.0) {
                0 => _ = free(address, stream.0),
                _ => self.in_order = None,
            }
        }
    }

    /// The address of so many bytes, for work in the order of the stream.
    pub(super) fn allocate(&self, bytes: usize, stream: Handle) -> Result<u64, Refused> {
        let mut address = null_mut();
        // SAFETY: the address lives, and so does the stream.
        self.checked(unsafe {
            match self.in_order {
                Some((allocate, _)) => allocate(&mut address, bytes, stream.0),
                None => (self.runtime.allocate)(&mut address, bytes),
            }
        })?;
        Ok(address as u64)
    }

    /// Frees memory behind the work that the stream was given.
    ///
    /// # Safety
    /// It was allocated for the stream, and nobody has it any more.
    pub(super) unsafe fn free(&self, address: u64, stream: Handle) {
        // SAFETY: the caller's promise. Where there is no order of freeing, the driver waits for all work.
        let _ = unsafe {
            match self.in_order {
                Some((_, free)) => free(address as Pointer, stream.0),
                None => (self.runtime.free)(address as Pointer),
            }
        };
    }

    /// Copies in the order of the stream.
    ///
    /// # Safety
    /// There are so many bytes at both addresses, and those of the host stay until the stream was waited for.
    pub(super) unsafe fn copy(
        &self,
        to: u64,
        from: u64,
        bytes: usize,
        how: Copy,
        stream: Handle,
    ) -> Result<(), Refused> {
        // SAFETY: the caller's promise.
        self.checked(unsafe { (self.runtime.copy)(to as Pointer, from as Pointer, bytes, how as c_int, stream.0) })
    }

    /// Seconds that the GPU takes for what is given to the stream meanwhile. The outer error is the driver's.
    pub(super) fn timed<E>(
        &self,
        stream: Handle,
        act: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<f64, E>, Refused> {
        let mut events = [null_mut(); 2];
        let mut milliseconds = 0.0;
        // SAFETY: the events live until they are destroyed below, and the numbers during the calls.
        unsafe {
            for event in &mut events {
                self.checked((self.runtime.create_event)(event))?;
            }
            let [start, end] = events;
            let measure = || {
                self.checked((self.runtime.record_event)(start, stream.0))?;
                if let Err(error) = act() {
                    return Ok(Err(error));
                }
                self.checked((self.runtime.record_event)(end, stream.0))?;
                self.checked((self.runtime.wait_for_event)(end))?;
                self.checked((self.runtime.time_between)(&mut milliseconds, start, end))?;
                Ok(Ok(f64::from(milliseconds) * 1e-3))
            };
            let measured = measure();
            for event in events {
                (self.runtime.destroy_event)(event);
            }
            measured
        }
    }

    /// A code object, and the kernel in it.
    pub(super) fn load_kernel(&self, image: &[u8], name: &CStr) -> Result<(Handle, Handle), Refused> {
        let mut module = null_mut();
        let mut function = null_mut();
        // SAFETY: the image is whole, and the driver copies it; the name ends.
        unsafe {
            self.checked((self.runtime.load_module)(&mut module, image.as_ptr().cast()))?;
            let found = self.checked((self.runtime.function)(&mut function, module, name.as_ptr()));
            if let Err(error) = found {
                (self.runtime.unload_module)(module);
                return Err(error);
            }
        }
        Ok((Handle(module), Handle(function)))
    }

    /// # Safety
    /// Nobody runs a kernel of it any more.
    pub(super) unsafe fn unload(&self, module: Handle) {
        // SAFETY: the caller's promise. Errors have nobody to tell.
        let _ = unsafe { (self.runtime.unload_module)(module.0) };
    }

    /// Launches a kernel with arguments of which each has the bytes of its type, from the low end.
    ///
    /// # Safety
    /// The kernel takes such arguments; what it does with them is right.
    pub(super) unsafe fn launch(
        &self,
        kernel: Handle,
        [x, y, z]: [u32; 3],
        [bx, by, bz]: [u32; 3],
        stream: Handle,
        values: &mut [u64],
    ) -> Result<(), Refused> {
        let mut arguments: Vec<Pointer> = values.iter_mut().map(|value| (value as *mut u64).cast()).collect();
        let arguments = arguments.as_mut_ptr();
        // SAFETY: the caller's promise; the driver copies the arguments.
        self.checked(unsafe {
            (self.runtime.launch)(kernel.0, x, y, z, bx, by, bz, 0, stream.0, arguments, null_mut())
        })
    }

    /// The version of the compiler; the least where it does not tell.
    pub(super) fn compiler_version(&self) -> (i32, i32) {
        let mut version = (0, 0);
        // SAFETY: the compiler writes two numbers.
        match unsafe { (self.compiler.version)(&mut version.0, &mut version.1) } {
            0 => version,
            _ => (0, 0),
        }
    }

    /// The code object of a text, or what the compiler has to say about it.
    pub(super) fn compiled(&self, text: &str, options: &[String]) -> Result<Vec<u8>, String> {
        let no_text = |error: std::ffi::NulError| error.to_string();
        let source = CString::new(text).map_err(no_text)?;
        let options: Vec<CString> =
            options.iter().map(|option| CString::new(&option[..])).collect::<Result<_, _>>().map_err(no_text)?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = null_mut();
        // SAFETY: the program lives until it is destroyed below; texts end, and lists are as long as is said.
        unsafe {
            let made = (self.compiler.create)(&mut program, source.as_ptr(), null(), 0, null(), null());
            if made != 0 {
                return Err(format!("hiprtc takes no text (error {made})"));
            }
            let done = (self.compiler.compile)(program, options.len() as c_int, options.as_ptr());
            let image = match done {
                0 => bytes(self.compiler.code_size, self.compiler.code, program)
                    .ok_or_else(|| "hiprtc gives no code".to_string()),
                error => {
                    let log = bytes(self.compiler.log_size, self.compiler.log, program).unwrap_or_default();
                    let log = String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).to_string();
                    Err(format!("hiprtc error {error}\n{log}\n{text}"))
                }
            };
            (self.compiler.destroy)(&mut program);
            image
        }
    }
}

/// What two functions of the compiler give of a program: how many bytes, and those.
///
/// # Safety
/// They do, and the program lives.
unsafe fn bytes(
    size: unsafe extern "C" fn(Pointer, *mut usize) -> c_int,
    read: unsafe extern "C" fn(Pointer, *mut c_char) -> c_int,
    program: Pointer,
) -> Option<Vec<u8>> {
    let mut length = 0;
    // SAFETY: the caller's promise; there is room for as many as the compiler says.
    unsafe {
        if size(program, &mut length) != 0 {
            return None;
        }
        let mut bytes = vec![0u8; length.max(1)];
        (read(program, bytes.as_mut_ptr().cast()) == 0).then_some(bytes)
    }
}

/// # Safety
/// There is a text that ends, or nothing.
unsafe fn text_at(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
