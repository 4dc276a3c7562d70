//! The HIP device on stand-ins for AMD's libraries (`shim/amd`), whose GPUs are this CPU: part of the corpus on both kinds of GPU, clocks, many callers,
//! what is kept, what is missing, what the compiler and the driver refuse.
#![cfg(all(feature = "cpu", feature = "hip", target_os = "linux"))]

mod devices;
mod shim;
mod texts;

use slyz_run::hip::Hip;
use slyz_run::{Argument, ArrayData, Clock, Device, Error};
use slyz_sir::choices::Precision;
use slyz_sir::interp::{self, Value};
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};
use std::collections::hash_map::DefaultHasher;
use std::ffi::{CString, c_char, c_int};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A folder with the stand-ins; nothing where there is no C++, which is told.
fn libraries() -> Option<&'static Path> {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let shim = || shim::folder().canonicalize().expect("the shim");
    slyz_trials::has_cxx().then(|| FOLDER.get_or_init(|| built(&shim())).path())
}

/// The stand-ins, for a compiler that is told of the shim in that folder.
fn built(told: &Path) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shim = shim::folder().canonicalize().expect("the shim");
    let header = |name: &str| std::fs::read(shim.join(name)).expect("a header of the shim");
    let headers = ["fibers.h", "cuda.h", "hip/hip_runtime.h", "amd/libhiprtc.cpp"].map(header).concat();
    // What was compiled with another shim is not taken from disk.
    let mut hasher = DefaultHasher::new();
    (headers, told).hash(&mut hasher);
    let version = hasher.finish() % 1_000_000;
    for name in ["libamdhip64", "libhiprtc"] {
        let done = Command::new(slyz_trials::cxx())
            .args(["-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden"])
            .arg(format!("-DSHIM_FOLDER=\"{}\"", told.display()))
            .arg(format!("-DSHIM_COMPILER=\"{}\"", slyz_trials::cxx()))
            .arg(format!("-DSHIM_VERSION={version}"))
            .arg("-o")
            .arg(folder.path().join(format!("{name}.so")))
            .arg(shim.join("amd").join(format!("{name}.cpp")))
            .arg("-ldl")
            .output()
            .expect("the compiler runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    folder
}

/// The GPU with 64 lanes, or that with 32.
fn gpu(number: i32) -> Option<Hip> {
    Some(Hip::new(number).with_libraries(libraries()?).with_precision(Precision::Exact))
}

const SUM: &str = "program sum<N>(%x: f32[N], %s: f32) -> (f32[N], f32) {
  %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = mul %a, %s  yield %b }
  %zero: f32 = const 0.0
  %t: f32 = fold [N] |%i: i64| { %a: f32 = at %y[%i]  yield %a } with commutative (%zero) |%p: f32, %q: f32| {
    %r: f32 = add %p, %q  yield %r }
  return %y, %t
}";

/// The sum of numbers from 0 to 15, over and over, times a factor.
fn called(device: &dyn Device, length: u64, factor: f32) -> Result<f32, Error> {
    let program = parse_program(SUM).expect("a program");
    let bytes: Vec<u8> = (0..length).flat_map(|n| ((n % 16) as f32).to_le_bytes()).collect();
    let there = device.upload(ArrayData::Host(&bytes))?;
    let shape = [length];
    let array = Argument::Array { ty: Ty::F32, shape: (&shape[..]).into(), data: ArrayData::Buffer(&there) };
    let results = device.compile(&program)?.run(&[Some(length)], &[array, Argument::Scalar(Scalar::f32(factor))])?;
    assert_eq!(results[0].data.bytes()?.len(), 4 * length as usize);
    Ok(f32::from_le_bytes(results[1].data.bytes()?[..4].try_into().expect("four bytes")))
}

/// The first case of every fourth program, on GPUs of both kinds in turn.
#[test]
fn part_of_the_corpus() {
    let (Some(wide), Some(narrow)) = (gpu(0), gpu(1)) else { return };
    let mut wrong = vec![];
    for (number, subject) in texts::subjects().iter().step_by(4).enumerate() {
        let device = if number % 2 == 0 { &wide } else { &narrow };
        let Some(case) = subject.cases.first() else { continue };
        let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
        let given: Vec<Option<u64>> = subject.program.sizes.iter().map(|decl| value(&decl.name)).collect();
        let sizes = interp::program::solve_sizes(&subject.program, &given, &case.args).expect("sizes of a case");
        // The shim runs one thread after another.
        if sizes.iter().flatten().any(|&size| size > 100_000) {
            continue;
        }
        let complain = |what: String| format!("{}, \"{}\": {what}", subject.from, case.name);
        match devices::run(device, &subject.program, &sizes, &case.args) {
            Err(error) => wrong.push(complain(error)),
            Ok(found) => {
                for (expect, found) in case.expect.iter().zip(&found) {
                    wrong.extend(devices::difference(&expect.value, found, expect.ulp).map(complain));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every fourth launch of the corpus leaves in its arrays what it does in the interpreter.
#[test]
fn some_launches_of_the_corpus() {
    let (Some(wide), Some(narrow)) = (gpu(0), gpu(1)) else { return };
    let interpreter = slyz_run::device(Some("interpreter")).expect("the interpreter");
    let launches = texts::launches();
    for (number, (kernel, threads, case)) in launches.iter().step_by(4).enumerate() {
        let device = if number % 2 == 0 { &wide } else { &narrow };
        let (expected, before) = devices::launch(&*interpreter, kernel, *threads, &case.args, false);
        let (found, after) = devices::launch(device, kernel, *threads, &case.args, false);
        let told = |result: Result<(), Error>| result.err().map(|error| error.to_string());
        assert_eq!(told(found), told(expected), "{}", case.name);
        for ((name, before), (_, after)) in before.into_iter().zip(after) {
            let wrong = devices::difference(&Value::Array(before), &Value::Array(after), 0);
            assert!(wrong.is_none(), "{}, {name}: {}", case.name, wrong.unwrap_or_default());
        }
    }
}

/// A source in HIP runs, and what a source in CUDA means; the second adds a half that the meaning does not.
#[test]
fn raw_sources_in_hip() -> R {
    let Some(device) = gpu(0) else { return Ok(()) };
    for (language, include, extra) in [("hip", "#include <hip/hip_runtime.h>", 0.5), ("cuda", "", 0.0)] {
        let text = format!(
            r#"program raw<N>(%x: f32[N], %a: f32) -> f32[N] {{
              %y: f32[N] = raw scaled(%x, %a) threads [N] block [64, 1, 1] extents [N] {language} scaled "{include}"
                "extern \"C\" __global__ void scaled(const float *x, float *y, float a, long long n) {{"
                "    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;"
                "    if (i < n) y[i] = a * x[i] + 0.5f;"
                "}}"
                meaning |%p: f32[N], %q: f32| {{
                  %m: f32[N] = tabulate [N] |%i: i64| {{ %c: f32 = at %p[%i]  %d: f32 = mul %c, %q  yield %d }}
                  yield %m
                }}
              return %y
            }}"#
        );
        let program = parse_program(&text)?;
        // SAFETY: the sources look at elements below n, and write those.
        let code = unsafe { device.compile_trusted(&program) }?;
        let bytes: Vec<u8> = (0..100).flat_map(|n| (n as f32).to_le_bytes()).collect();
        let shape = [100];
        let array = Argument::Array { ty: Ty::F32, shape: (&shape[..]).into(), data: ArrayData::Host(&bytes) };
        let results = code.run(&[Some(100)], &[array, Argument::Scalar(Scalar::f32(3.0))])?;
        let found = results[0].data.bytes()?.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]));
        let wanted: Vec<f32> = (0..100).map(|n| 3.0 * n as f32 + extra).collect();
        assert_eq!(found.collect::<Vec<_>>(), wanted, "{language}");
    }
    Ok(())
}

#[test]
fn both_kinds_are_described() {
    let (Some(wide), Some(narrow)) = (gpu(0), gpu(1)) else { return };
    assert!(wide.describe().contains("gfx90a:sramecc+:xnack-, 1024 MiB), hiprtc 0."), "{}", wide.describe());
    assert!(narrow.describe().contains("gfx1100"), "{}", narrow.describe());
    assert_eq!(wide.name(), "hip");
}

#[test]
fn many_callers_at_once() -> R {
    let Some(device) = gpu(0) else { return Ok(()) };
    std::thread::scope(|scope| {
        for n in 0..4 {
            let device = &device;
            scope.spawn(move || {
                for turn in 1..10 {
                    let length = 16 * (n + 1) * turn;
                    let sum = called(device, length, 2.0).expect("a call");
                    assert_eq!(sum, (length / 16 * 240) as f32, "{length} elements");
                }
            });
        }
    });
    Ok(device.synchronize()?)
}

#[test]
fn the_devices_own_clock_is_asked() -> R {
    let Some(device) = gpu(1) else { return Ok(()) };
    let (sum, times) = slyz_run::profile(|| called(&device, 1 << 12, 1.0));
    assert_eq!(sum?, (1 << 8) as f32 * 120.0);
    assert!(!times.is_empty() && times.iter().all(|time| time.clock == Clock::Device), "{times:?}");
    assert!(device.copy_bandwidth()? > 0.0);
    Ok(())
}

/// Another device of the same kind finds on disk what the first has compiled; one of another kind does not.
#[test]
fn code_is_kept_on_disk() -> R {
    let Some(folder) = libraries() else { return Ok(()) };
    // SAFETY: it is what the device loads.
    let library = unsafe { libloading::Library::new(folder.join("libhiprtc.so")) }?;
    type Count = unsafe extern "C" fn(*const c_char) -> c_int;
    // SAFETY: the stand-in has this function.
    let compilations = unsafe { library.get::<Count>(b"slyz_stand_in_compilations\0") }?;
    let own = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() % 1_000_000_007;
    let text = format!(
        "program own(%x: i64[8]) -> i64[8] {{
           %k: i64 = const {own}
           %y: i64[8] = tabulate [8] |%i: i64| {{ %a: i64 = at %x[%i]  %b: i64 = add %a, %k  yield %b }}
           return %y }}"
    );
    let program = parse_program(&text)?;
    let part = CString::new(own.to_string())?;
    let run = |number: i32| -> R<c_int> {
        let device = Hip::new(number).with_libraries(folder).with_precision(Precision::Exact);
        let executable = device.compile(&program)?;
        let bytes = [0u8; 64];
        let array = Argument::Array { ty: Ty::I64, shape: (&[8u64][..]).into(), data: ArrayData::Host(&bytes) };
        let results = executable.run(&[], &[array])?;
        assert_eq!(results[0].data.bytes()?[..8], (own as i64).to_le_bytes());
        // SAFETY: the text ends.
        Ok(unsafe { compilations(part.as_ptr()) })
    };
    let kept = std::env::var("SLYZ_CACHE_DIR").map_or(true, |folder| folder != "off");
    assert_eq!(run(0)?, 1);
    assert_eq!(run(0)?, if kept { 1 } else { 2 });
    assert_eq!(run(1)?, if kept { 2 } else { 3 });
    Ok(())
}

/// What the compiler has to say comes with the kernel's text.
#[test]
fn the_compilers_words_are_told() {
    if !slyz_trials::has_cxx() {
        return;
    }
    let folder = built(Path::new("/nowhere"));
    let error = called(&Hip::new(0).with_libraries(folder.path()), 16, 1.0).expect_err("no header is there");
    assert!(matches!(error, Error::Driver { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("hip_runtime.h") && text.contains("__global__") && text.contains("to compile kernel"),
        "{text}"
    );
}

#[test]
fn missing_libraries_are_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = called(&Hip::new(0).with_libraries(folder.path()), 16, 1.0).expect_err("nothing is there");
    assert!(matches!(error, Error::NoHip { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("libamdhip64.so") && text.contains("install ROCm") && text.contains("SLYZ_HIP"), "{text}");
}

#[test]
fn missing_gpus_are_told() {
    let Some(device) = gpu(7) else { return };
    let error = called(&device, 16, 1.0).expect_err("there are two");
    assert!(matches!(error, Error::NoHip { .. }) && error.to_string().contains("shows 2 GPUs"), "{error}");
}

/// By both names, and with a number.
#[test]
fn it_is_had_by_name() -> R {
    for name in ["hip", "rocm", "hip:1", "rocm:1"] {
        assert_eq!(slyz_run::device(Some(name))?.name(), Hip::NAME);
    }
    let ways = slyz_run::considered();
    let place = |way: &str| ways.iter().position(|considered| considered.way == way);
    assert!(place("CUDA") < place("ROCm") && place("ROCm") < place("Vulkan"));
    Ok(())
}

/// `SLYZ_HIP` names the libraries; a process with it has the device, and `auto` would take it.
#[test]
fn the_environment_names_libraries() -> R {
    let Some(folder) = libraries() else { return Ok(()) };
    if std::env::var_os("SLYZ_HIP").is_none() {
        let again = ["--exact", "the_environment_names_libraries", "--nocapture"];
        let done = Command::new(std::env::current_exe()?).args(again).env("SLYZ_HIP", folder).output()?;
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return Ok(());
    }
    assert!(Hip::is_usable());
    assert_eq!(called(&*slyz_run::device(Some("rocm"))?, 16, 1.0)?, 120.0);
    assert!(slyz_run::devices().iter().any(|device| device.name() == Hip::NAME));
    let ways = slyz_run::considered();
    assert!(ways.iter().any(|considered| considered.way == "ROCm" && considered.skipped.is_none()), "{ways:?}");
    Ok(())
}

#[test]
fn memory_that_runs_out_is_told() -> R {
    let Some(device) = gpu(0) else { return Ok(()) };
    let text = "program large<N>(%x: f32) -> f32[N] {
      %y: f32[N] = tabulate [N] |%i: i64| { yield %x }
      return %y }";
    let compiled = device.compile(&parse_program(text)?)?;
    let one = [Argument::Scalar(Scalar::f32(1.0))];
    let error = compiled.run(&[Some(1 << 30)], &one).err().ok_or("four gigabytes of one were found")?;
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    // The device is as good as before.
    assert_eq!(called(&device, 16, 1.0)?, 120.0);
    Ok(())
}
