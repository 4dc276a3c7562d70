//! What tests need that a machine may lack: a test that lacks it says so, passes, and tells what to install.
//!
//! `SLYZ_REQUIRE_CXX=1` and its like ([`Need::variable`]) make it fail instead; `./check` installs everything and sets them all.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

/// Tests and what they were told to lack.
static TOLD: Mutex<BTreeSet<(String, &str)>> = Mutex::new(BTreeSet::new());

/// Something that is not part of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A C++ compiler, in which Metal kernels run.
    Cxx,
    /// A GPU, or one in software.
    Vulkan,
    /// The validator of SPIR-V.
    SpirvVal,
    /// AddressSanitizer, of the C compiler.
    Sanitizer,
    /// A browser with WebGPU.
    Browser,
    /// NVIDIA's compiler.
    Nvrtc,
    /// A platform of OpenCL.
    OpenCl,
    /// A compiler of HIP.
    Hip,
    /// OpenVINO and coremltools.
    Models,
    /// A compiler of Swift.
    Swift,
}

impl Need {
    /// What it is called, and where it comes from on Debian.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Need::Cxx => ("C++ compiler", "install g++, or name one in SLYZ_CXX"),
            Need::Vulkan => ("GPU", "install mesa-vulkan-drivers and libvulkan-dev"),
            Need::SpirvVal => ("spirv-val", "install spirv-tools"),
            Need::Sanitizer => ("AddressSanitizer", "install gcc and its libasan"),
            Need::Browser => ("browser", "run .ci/browser target/browser, which installs chromium and playwright-core"),
            Need::Hip => ("compiler of HIP", "run .ci/hip, which installs clang-19 and libamdhip64-dev"),
            Need::OpenCl => ("OpenCL", "run .ci/opencl, which installs pocl-opencl-icd and ocl-icd-opencl-dev"),
            Need::Models => ("OpenVINO", "run .ci/models target/models, which takes it from the Python package index"),
            Need::Swift => ("Swift", "run .ci/swift target/swift, which unpacks Debian's"),
            Need::Nvrtc => ("NVRTC", "run .ci/nvrtc target/nvrtc, which takes it from the Python package index"),
        }
    }

    /// Set to `1`, it makes tests fail that lack this.
    pub fn variable(self) -> &'static str {
        match self {
            Need::Cxx => "SLYZ_REQUIRE_CXX",
            Need::Vulkan => "SLYZ_REQUIRE_VULKAN",
            Need::SpirvVal => "SLYZ_REQUIRE_SPIRV_VAL",
            Need::Sanitizer => "SLYZ_REQUIRE_SANITIZER",
            Need::Browser => "SLYZ_REQUIRE_BROWSER",
            Need::Nvrtc => "SLYZ_REQUIRE_NVRTC",
            Need::OpenCl => "SLYZ_REQUIRE_OPENCL",
            Need::Hip => "SLYZ_REQUIRE_HIP",
            Need::Models => "SLYZ_REQUIRE_MODELS",
            Need::Swift => "SLYZ_REQUIRE_SWIFT",
        }
    }

    /// Can the test go on, given whether this was `found`? Where it was not, that is told once, past the harness, which hides what
    /// tests that pass have printed.
    ///
    /// # Panics
    ///
    /// Where it is missing and [required](Need::variable).
    pub fn is_met(self, found: bool) -> bool {
        if !found {
            let (name, remedy) = self.words();
            let required = std::env::var(self.variable()).as_deref() == Ok("1");
            assert!(!required, "no {name}: {remedy} ({}=1)", self.variable());
            let thread = std::thread::current();
            let test = thread.name().unwrap_or("a test").to_string();
            let line = format!("skipped: {test}, no {name}: {remedy}\n");
            if TOLD.lock().is_ok_and(|mut told| told.insert((test, self.variable()))) {
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
        }
        found
    }
}

/// The C++ compiler of the tests.
pub fn cxx() -> String {
    std::env::var("SLYZ_CXX").unwrap_or_else(|_| "c++".into())
}

/// Is there a C++ compiler? Else the test has nothing to do.
pub fn has_cxx() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    Need::Cxx.is_met(*FOUND.get_or_init(|| starts(&cxx())))
}

/// Is there `spirv-val`? Else the test has nothing to do.
pub fn has_spirv_val() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    Need::SpirvVal.is_met(*FOUND.get_or_init(|| starts("spirv-val")))
}

/// Is there a browser that the scripts of `crates/slyz-tests/browser` can start? Else the test has nothing to do.
pub fn has_browser() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let found = || {
        let folder = std::env::var("SLYZ_BROWSER").map_or_else(|_| workspace().join("target/browser"), PathBuf::from);
        let chromium = std::env::var("SLYZ_CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".into());
        folder.join("playwright-core").is_dir() && Path::new(&chromium).is_file() && starts("node")
    };
    Need::Browser.is_met(*FOUND.get_or_init(found))
}

/// Is NVIDIA's compiler in `target/nvrtc`? Else the test has nothing to do.
pub fn has_nvrtc() -> bool {
    let entries = std::fs::read_dir(workspace().join("target/nvrtc")).into_iter().flatten().flatten();
    let found = entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("libnvrtc.so"));
    Need::Nvrtc.is_met(found)
}

/// A Python that has OpenVINO and coremltools: that of `SLYZ_MODELS`, or of `target/models`. Else the test has nothing to do.
pub fn models() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let folder = std::env::var("SLYZ_MODELS").map_or_else(|_| workspace().join("target/models"), PathBuf::from);
        Some(folder.join("bin/python3")).filter(|python| python.is_file())
    });
    if Need::Models.is_met(found.is_some()) { found.clone() } else { None }
}

/// The compiler of Swift: `SLYZ_SWIFT`, or that of `target/swift`. Else the test has nothing to do.
pub fn swift() -> Option<PathBuf> {
    let named = std::env::var("SLYZ_SWIFT").map_or_else(|_| workspace().join("target/swift/swiftc"), PathBuf::from);
    let found = Some(named).filter(|compiler| compiler.is_file());
    if Need::Swift.is_met(found.is_some()) { found } else { None }
}

/// The compiler of HIP: `SLYZ_HIP`, or a clang that knows AMD's GPUs.
pub fn hip() -> Option<String> {
    let named = std::env::var("SLYZ_HIP").ok();
    let known = ["clang-19", "clang-20", "clang-21", "clang++"].map(String::from);
    named.into_iter().chain(known).find(|command| starts(command))
}

/// Are there a compiler of HIP and AMD's headers? Else the test has nothing to do.
pub fn has_hip() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let headers =
        || ["/usr/include", "/opt/rocm/include"].iter().any(|f| Path::new(f).join("hip/hip_runtime.h").is_file());
    Need::Hip.is_met(*FOUND.get_or_init(|| hip().is_some() && headers()))
}

/// The folder of the whole project.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Has the C compiler AddressSanitizer? Else the test has nothing to do.
pub fn has_sanitizer() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    Need::Sanitizer.is_met(*FOUND.get_or_init(|| asan().is_some()))
}

/// The library of AddressSanitizer.
pub fn asan() -> Option<PathBuf> {
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let said = Command::new(cc).arg("-print-file-name=libasan.so").output().ok()?;
    let path = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim());
    // The compiler repeats the bare name of a library that it does not have.
    (path.is_absolute() && path.exists()).then_some(path)
}

fn starts(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_met() {
        assert!(Need::Vulkan.is_met(true));
    }

    #[test]
    fn programs_that_are_not_there_do_not_start() {
        assert!(!starts("slyz-no-such-program"));
    }
}
