//! clang as judge: it compiles everything that the corpus is exported to in HIP, without a GPU.

mod exports;

use exports::{R, corpus, exported};
use slyz_sir::back::harness::Target;
use slyz_sir::choices::Precision;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// AMD's Instinct MI200 and MI300, whose wavefronts have 64 lanes, and Radeon RX 7000, whose have 32.
const ARCHITECTURES: [(&str, Target); 3] =
    [("gfx90a", Target::Hip), ("gfx942", Target::Hip), ("gfx1100", Target::HipRdna)];

/// The compiler, for an architecture.
fn clang(architecture: &str) -> R<Command> {
    let mut command = Command::new(slyz_trials::hip().ok_or("no compiler")?);
    command
        .args(["-x", "hip", "--cuda-device-only", "-nogpulib", "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-fsyntax-only"])
        .arg(format!("--offload-arch={architecture}"));
    Ok(command)
}

/// A folder with AMD's header for each architecture as clang has read it: that takes longer than all that comes behind.
fn headers() -> R<TempDir> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("header.hip");
    std::fs::write(&source, "#include <hip/hip_runtime.h>\n")?;
    for (architecture, _) in ARCHITECTURES {
        let read = folder.path().join(architecture);
        let options = ["-emit-pch", "-o"].map(OsStr::new).into_iter().chain([read.as_os_str()]);
        let options = options.flat_map(|option| [OsStr::new("-Xclang"), option]);
        let said = clang(architecture)?.args(options).arg(&source).output()?;
        if !said.status.success() {
            return Err(String::from_utf8_lossy(&said.stderr).into());
        }
    }
    Ok(folder)
}

/// Nothing, or what the compiler has to say.
fn complaint(text: &str, architecture: &str, headers: &Path) -> R<Option<String>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("kernels.hip");
    std::fs::write(&path, text)?;
    let header = headers.join(architecture);
    let options = [OsStr::new("-include-pch"), header.as_os_str()];
    let options = options.into_iter().flat_map(|option| [OsStr::new("-Xclang"), option]);
    let said = clang(architecture)?.args(options).arg(&path).output()?;
    let text = String::from_utf8_lossy(&said.stderr).to_string();
    Ok((!said.status.success()).then_some(text))
}

/// What the compiler has to say about a file of the corpus; `None` for one without kernels.
fn judged(number: usize, path: &Path, headers: &Path) -> R<Option<Option<String>>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path)?;
    // A precision and an architecture each, in turn.
    let precision = match number % 16 {
        0 => Precision::Exact,
        even if even % 2 == 0 => Precision::Table,
        _ => Precision::Native,
    };
    let (architecture, target) = ARCHITECTURES[number % ARCHITECTURES.len()];
    let hip = exported(&name, &text, target, precision).map_err(|error| format!("{name}: {error}"))?;
    if !hip.contains("__global__") {
        return Ok(None);
    }
    let said = complaint(&hip, architecture, headers)?;
    Ok(Some(said.map(|said| format!("{name}, {precision:?}, {architecture}: {said}"))))
}

#[test]
fn clang_takes_the_corpus() -> R {
    if !slyz_trials::has_hip() {
        return Ok(());
    }
    let paths = corpus()?;
    let headers = headers()?;
    let broken = complaint("__global__ void wrong() { __synthreads(); }", "gfx942", headers.path())?;
    assert!(broken.is_some(), "the compiler looks at nothing");
    let next = AtomicUsize::new(0);
    let work = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < paths.len());
        let judge = |number: usize| judged(number, &paths[number], headers.path()).map_err(|error| error.to_string());
        std::iter::from_fn(take).map(judge).collect::<Vec<_>>()
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let judged: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    let mut complaints = vec![];
    let mut files = 0;
    for one in judged {
        if let Some(said) = one? {
            files += 1;
            complaints.extend(said);
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(files > 100, "{files} files have kernels");
    Ok(())
}
