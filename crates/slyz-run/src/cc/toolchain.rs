//! From C to a loaded library: the system's compiler, with the disk cache in front of it.

use super::CpuConfig;
use super::folder::Folder;
use super::library::Library;
use super::process::{self, Ending};
use crate::bundle::{self, Target};
use crate::disk::{CacheConfig, DiskCache};
use crate::{Error, hash};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Vectors are explicit in the code, so `-O2` is enough. Floats keep their meaning: no contraction, no fast math.
const FLAGS: &[&str] = &[
    "-O2",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-Wno-psabi",
    // Two-level namespaces want every symbol named at link time; memcpy is found when the library is loaded.
    #[cfg(target_os = "macos")]
    "-Wl,-undefined,dynamic_lookup",
];

/// Code for this very processor.
const NATIVE: &str = if cfg!(target_arch = "aarch64") { "-mcpu=native" } else { "-march=native" };

/// How much of the compiler's complaint an error repeats.
const EXCERPT: usize = 4000;

/// Where a library came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The compiler built it.
    Compiler,
    /// It was on disk, or in the bundle that the program carries.
    Kept,
}

/// A C compiler and a cache of what it built.
pub(crate) struct Toolchain {
    cc: Vec<String>,
    /// How long the compiler may take over one file.
    limit: Duration,
    cache: Option<DiskCache>,
    /// What the compiler says about its version, once it was asked.
    version: Mutex<Option<String>>,
    /// The compiler does not know `NATIVE`, once it was seen.
    portable: Mutex<bool>,
    /// Sources that failed, so that a source that fails again and again is kept once.
    failed: Mutex<HashMap<[u8; 32], PathBuf>>,
    /// Sources, and `--version`, over which the compiler did not come to an end. Nobody waits for it twice.
    hanging: Mutex<HashSet<[u8; 32]>>,
}

impl Toolchain {
    pub(crate) fn new(config: CpuConfig) -> Toolchain {
        let cache = CacheConfig { folder: config.cache_dir, bytes: config.cache_bytes }.open();
        Toolchain {
            cc: config.cc,
            limit: config.cc_limit,
            cache,
            version: Mutex::default(),
            portable: Mutex::default(),
            failed: Mutex::default(),
            hanging: Mutex::default(),
        }
    }

    /// The compiler in one line.
    pub(crate) fn describe(&self) -> String {
        match self.version() {
            Ok(version) => format!("{} ({})", self.cc.join(" "), version.lines().next().unwrap_or("")),
            Err(_) => format!("no C compiler ({}), functions run in the interpreter", self.cc.join(" ")),
        }
    }

    /// Is there a compiler, or code that needs none?
    pub(crate) fn check(&self) -> Result<(), Error> {
        if bundle::targets().iter().any(Target::is_usable) {
            return Ok(());
        }
        self.version().map(|_| ())
    }

    /// Builds the source, which defines that many kernels, or finds it built.
    ///
    /// # Safety
    /// The source is loaded into the process; see [`crate::cpu::Cpu::with_backend`].
    pub(crate) unsafe fn library(&self, source: &str, kernels: usize) -> Result<(Library, Origin), Error> {
        let carried = bundle::object(source, "", Target::of_this_processor());
        // SAFETY: the caller's promise about the source, which the object was built from, and that of `bundle::carry`.
        if let Some(library) = carried.and_then(|object| unsafe { Library::load(object, kernels) }.ok()) {
            return Ok((library, Origin::Kept));
        }
        let version = self.version()?;
        if !locked(&self.portable, |portable| *portable) {
            // SAFETY: the caller's promise.
            match unsafe { self.library_with(source, kernels, &version, Some(NATIVE)) } {
                Err(Error::CompilerFailed { stderr, file, .. })
                    if stderr.contains(NATIVE.trim_end_matches("native")) =>
                {
                    locked(&self.portable, |portable| *portable = true);
                    self.forget_failed(&file);
                }
                other => return other,
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.library_with(source, kernels, &version, None) }
    }

    /// # Safety
    /// As [`Toolchain::library`].
    unsafe fn library_with(
        &self,
        source: &str,
        kernels: usize,
        version: &str,
        native: Option<&str>,
    ) -> Result<(Library, Origin), Error> {
        let flags: Vec<&str> = native.into_iter().chain(FLAGS.iter().copied()).collect();
        let cc = self.cc.join("\0");
        let options = flags.join("\0");
        let pieces = [source, &options, &cc, version, processor(), env!("CARGO_PKG_VERSION")];
        let key = hash::of_pieces(&pieces.map(str::as_bytes));
        if let Some(cache) = &self.cache
            && let Some(object) = cache.load(&key)
            // An entry that cannot be loaded, say after the system changed under it, is built anew.
            // SAFETY: the caller's promise about the source, which the entry was built from: its key holds the
            // source's hash, its sum was checked, and only we can write the folder.
            && let Ok(library) = unsafe { Library::load(&object, kernels) }
        {
            return Ok((library, Origin::Kept));
        }
        let object = self.compile(source, &flags)?;
        // SAFETY: the caller's promise.
        let library = unsafe { Library::load(&object, kernels) }?;
        if let Some(cache) = &self.cache {
            cache.store(&key, &object);
        }
        Ok((library, Origin::Compiler))
    }

    /// The shared object of a source for processors of a kind.
    pub(crate) fn object_for(&self, source: &str, target: Target) -> Result<Vec<u8>, Error> {
        let architecture = match target {
            Target::X86_64(_) => Some(format!("-march={target}")),
            _ => None,
        };
        // Nobody looks for the names of its inner functions.
        let flags: Vec<&str> = architecture.as_deref().into_iter().chain(FLAGS.iter().copied()).chain(["-s"]).collect();
        self.compile(source, &flags)
    }

    /// The shared object of a source. Files live in a private folder that is gone afterwards.
    fn compile(&self, source: &str, flags: &[&str]) -> Result<Vec<u8>, Error> {
        let folder = Folder::new()?;
        let input = folder.file("kernels.c");
        let output = folder.file("kernels.so");
        std::fs::write(&input, source).map_err(|error| Folder::trouble(&input, &error))?;

        let mut command = self.command()?;
        // What the compiler leaves when it is killed goes with the folder.
        command.args(flags).arg("-o").arg(&output).arg(&input).env("TMPDIR", folder.path());
        let line = format!("{command:?}");
        let fail = |status: String, stderr: String| {
            let file = self.keep_failed(source, folder);
            Error::CompilerFailed { command: line, status, stderr, file }
        };
        match self.ask(&mut command, source) {
            Err(Trouble::Hangs(error)) => Err(error),
            Err(Trouble::Start(error)) if missing(&error) => Err(self.no_compiler(&error)),
            Err(Trouble::Start(error)) => Err(fail(format!("it could not be started: {error}"), String::new())),
            Ok(done) if !done.status.success() => Err(fail(done.status.to_string(), excerpt(&done))),
            Ok(done) => {
                let object = std::fs::read(&output);
                object.map_err(|error| fail(format!("it left no shared object: {error}"), excerpt(&done)))
            }
        }
    }

    /// Runs the compiler on something, once if it does not end.
    fn ask(&self, command: &mut Command, about: &str) -> Result<Output, Trouble> {
        let key = hash::of_pieces(&[about.as_bytes()]);
        let hangs = || {
            let command = self.cc.join(" ");
            let seconds = self.limit.as_secs_f64();
            Err(Trouble::Hangs(Error::CompilerHangs { command, seconds }))
        };
        if locked(&self.hanging, |hanging| hanging.contains(&key)) {
            return hangs();
        }
        match process::run(command, self.limit).map_err(Trouble::Start)? {
            Ending::Done(output) => Ok(output),
            Ending::Killed => {
                locked(&self.hanging, |hanging| hanging.insert(key));
                hangs()
            }
        }
    }

    fn keep_failed(&self, source: &str, folder: Folder) -> PathBuf {
        let key = hash::of_pieces(&[source.as_bytes()]);
        let keep = |failed: &mut HashMap<_, PathBuf>| {
            let file = failed.get(&key).filter(|file| file.exists()).cloned();
            file.unwrap_or_else(|| {
                let file = folder.keep("kernels.c");
                failed.insert(key, file.clone());
                file
            })
        };
        locked(&self.failed, keep)
    }

    fn forget_failed(&self, file: &Path) {
        locked(&self.failed, |failed| failed.retain(|_, kept| kept != file));
        let _ = file.parent().map(std::fs::remove_dir_all);
    }

    /// Everything the compiler prints about itself. Not finding one is not remembered: it may be installed meanwhile.
    fn version(&self) -> Result<String, Error> {
        locked(&self.version, |version| {
            if let Some(version) = version {
                return Ok(version.clone());
            }
            let said = self.ask(self.command()?.arg("--version"), "--version").map_err(|trouble| match trouble {
                Trouble::Start(error) => self.no_compiler(&error),
                Trouble::Hangs(error) => error,
            })?;
            let text = [said.stdout, said.stderr].concat();
            Ok(version.insert(String::from_utf8_lossy(&text).into_owned()).clone())
        })
    }

    fn command(&self) -> Result<Command, Error> {
        let none = || self.no_compiler(&io::Error::new(io::ErrorKind::NotFound, "the command is empty"));
        let (program, args) = self.cc.split_first().ok_or_else(none)?;
        let mut command = Command::new(program);
        command.args(args).env("LC_ALL", "C");
        Ok(command)
    }

    fn no_compiler(&self, error: &io::Error) -> Error {
        Error::NoCompiler { command: self.cc.join(" "), why: format!("{error}{}", bundle::in_words()) }
    }
}

/// Why the compiler said nothing.
enum Trouble {
    /// It could not be started.
    Start(io::Error),
    /// It did not end.
    Hangs(Error),
}

/// Nobody leaves these locked data half changed, so a panic elsewhere does not spoil them.
fn locked<T, R>(mutex: &Mutex<T>, f: impl FnOnce(&mut T) -> R) -> R {
    f(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Does the error mean that there is no such program, rather than that the machine is in trouble?
fn missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

fn excerpt(done: &Output) -> String {
    let text = String::from_utf8_lossy(&done.stderr);
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}\n[…]", &text[..end]),
        None => text.trim_end().to_string(),
    }
}

/// What `-march=native` depends on.
fn processor() -> &'static str {
    static PROCESSOR: OnceLock<String> = OnceLock::new();
    PROCESSOR.get_or_init(ask_processor)
}

fn ask_processor() -> String {
    let told = [
        "vendor_id",
        "cpu family",
        "model",
        "model name",
        "stepping",
        "flags",
        "Features",
        "CPU implementer",
        "CPU architecture",
        "CPU variant",
        "CPU part",
        "isa",
        "cpu",
    ];
    let mut text = format!("{} {}\n", std::env::consts::ARCH, std::env::consts::OS);
    let table = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // The table has a paragraph per core; the first one does.
    for line in table.split("\n\n").next().unwrap_or("").lines() {
        if told.contains(&line.split(':').next().unwrap_or("").trim()) {
            text.push_str(line);
            text.push('\n');
        }
    }
    #[cfg(target_arch = "x86_64")]
    if table.is_empty() {
        text.push_str(if is_x86_feature_detected!("avx2") { "avx2 " } else { "" });
        text.push_str(if is_x86_feature_detected!("fma") { "fma " } else { "" });
        text.push_str(if is_x86_feature_detected!("avx512f") { "avx512f " } else { "" });
    }
    text
}
