//! `slyz build FILE.vex --project`: hosts for kernels by hand, built by the platform's compiler and run where that can be.

#[path = "../../slyz-run/tests/shim/glue.rs"]
mod glue;
#[path = "../../slyz-run/tests/shim/swift/mod.rs"]
mod swift;

use slyz_trials::Need;
use std::path::Path;
use std::process::{Command, Output};

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Arrays read and written, names that hosts use themselves, scalars between tensors, three axes, memory of a block, constants, atomics, halves, and a kernel that
/// nobody launches.
const KERNELS: &str = "
graph fn saxpy(call: Tensor<f32>, a: f32, buffer1: Tensor<f32>!) {
    let i = thread.x
    if i < buffer1.len() { buffer1[i] += a * call[i] }
}
graph fn place(out: Tensor<i64, 3>!, first: i32) {
    out[thread.z, thread.y, thread.x] = thread.z * 100 + thread.y * 10 + thread.x + first as i64
}
graph fn reverse(x: Tensor<i32>, out: Tensor<i32>!) {
    threadgroup let! tile: [i32; 8]
    tile[thread.x] = x[block.x * 8 + thread.x]
    threadgroup.barrier()
    out[block.x * 8 + thread.x] = tile[7 - thread.x]
}
graph fn lookup(x: Tensor<i32>, out: Tensor<f32>!, halves: Tensor<f16>!) {
    constant let table: [f32; 5] = [10.0, 20.0, 30.0, 40.0, 50.0]
    let i = thread.x
    if i < x.len() {
        out[i] = table[x[i] % 5]
        halves[i] = (table[x[i] % 5] / 4.0) as f16
    }
}
graph fn histogram(x: Tensor<i32>, bins: Tensor<i32>!) {
    if thread.x < x.len() { atomic.add(bins[x[thread.x] % bins.len()], 1) }
}
graph fn alone(out: Tensor<f32>!) { if thread.x < out.len() { out[thread.x] = 1.0 } }

let! y = Tensor.from([1.0f32, 2.0, 3.0])
launch saxpy(Tensor.from([10.0f32, 20.0, 30.0]), 0.5, &!y) with threads: 3
launch saxpy(Tensor.from([1.0f32, 2.0, 3.0]), -2.0, &!y) with threads: 2
let! placed = Tensor.zeros<i64>(2, 2, 3)
place(&!placed, -7)
let! turned = Tensor.zeros<i32>(16)
launch reverse(Tensor.from([1i32, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]), &!turned) with grid: 2, block: 8
let! found = Tensor.zeros<f32>(4)
let! halves = Tensor.zeros<f16>(4)
launch lookup(Tensor.from([0i32, 3, 6, 14]), &!found, &!halves) with threads: 4
let! many = Tensor.zeros<i32>(1000)
for i in 0..1000 { many[i] = (i * i) as i32 }
let! bins = Tensor.zeros<i32>(5)
launch histogram(many, &!bins) with threads: 1000
";

fn slyz(folder: &Path, arguments: &[&str]) -> R<Output> {
    std::fs::write(folder.join("kernels.vex"), KERNELS)?;
    Ok(Command::new(env!("CARGO_BIN_EXE_slyz")).args(arguments).current_dir(folder).output()?)
}

/// The folder of a project.
fn project(folder: &Path, target: &str) -> R<std::path::PathBuf> {
    let written = slyz(folder, &["build", "kernels.vex", "--target", target, "--out", target, "--project"])?;
    assert!(written.status.success(), "{target}: {}", String::from_utf8_lossy(&written.stderr));
    Ok(folder.join(target))
}

fn succeeded(what: &str, command: &mut Command) -> R<String> {
    let output = command.output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(said) } else { Err(format!("{what}: {}\n{said}", output.status).into()) }
}

/// What is said of the launches.
const RIGHT: [&str; 8] = [
    "  saxpy: max error 0\n",
    "  saxpy, launch 2: max error 0\n",
    "  place: max error 0\n",
    "  reverse: max error 0\n",
    "  lookup, out: max error 0\n",
    "  lookup, halves: max error 0\n",
    "  histogram: max error 0\n",
    "  alone: not compared\n",
];

/// All launches are compared and measured; one that is expected to give something else is found.
fn validates(target: &str, folder: &Path, build: &mut Command) -> R {
    succeeded(target, build.current_dir(folder))?;
    let validate = || {
        let mut command = Command::new(folder.join("validate"));
        command.args(["--bench", "2"]).current_dir(folder);
        command
    };
    let said = succeeded(target, &mut validate())?;
    assert!(said.contains("best of 2:\n  saxpy: "), "{target}: {said}");
    for line in RIGHT {
        assert!(said.contains(line), "{target} does not say {line:?}:\n{said}");
    }
    let path = folder.join("expected.h");
    let text = std::fs::read_to_string(&path)?;
    let wrong = text.replace("200, 400, 0, 0,", "200, 401, 0, 0,");
    assert_ne!(text, wrong, "the histogram is expected");
    std::fs::write(&path, wrong)?;
    succeeded(target, build)?;
    let output = validate().output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{target}: {said}");
    assert!(said.contains("histogram: max error 1, WRONG"), "{target}: {said}");
    Ok(())
}

const WARNINGS: [&str; 5] = ["-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused"];

#[test]
fn kernels_by_hand_validate_in_c_and_by_opencl_and_vulkan() -> R {
    let place = tempfile::tempdir()?;
    let folder = project(place.path(), "c")?;
    succeeded("c", Command::new("cc").args(WARNINGS).args(["-c", "main.c", "slyz_kernels.c"]).current_dir(&folder))?;
    validates("c", &folder, Command::new("make").arg("CFLAGS=-O1 -march=native"))?;
    let is_file = |path: &str| Path::new(path).is_file();
    let has_entries = |path: &str| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    let opencl = Need::OpenCl.is_met(has_entries("/etc/OpenCL/vendors") && is_file("/usr/include/CL/cl.h"));
    let vulkan = Need::Vulkan.is_met(has_entries("/usr/share/vulkan/icd.d") && is_file("/usr/include/vulkan/vulkan.h"));
    for (target, library, has) in
        [("opencl", "-lOpenCL", opencl), ("spirv", "-lvulkan", vulkan && cfg!(feature = "wgpu"))]
    {
        if has && slyz_trials::has_cxx() {
            let folder = project(place.path(), target)?;
            let mut cxx = Command::new(slyz_trials::cxx());
            cxx.arg("-std=c++17").args(WARNINGS).args(["main.cpp", "slyz_kernels.cpp", library, "-o", "validate"]);
            validates(target, &folder, &mut cxx)?;
        }
    }
    Ok(())
}

#[test]
fn clang_takes_hosts_of_kernels_by_hand_for_hip() -> R {
    let place = tempfile::tempdir()?;
    let cuda = std::fs::read_to_string(project(place.path(), "cuda")?.join("slyz_kernels.cu"))?;
    assert!(cuda.contains("cudaLaunchKernel") && cuda.contains("(const void *)saxpy_kernel"), "{cuda}");
    if !slyz_trials::has_hip() {
        return Ok(());
    }
    let folder = project(place.path(), "hip")?;
    for side in ["--cuda-host-only", "--cuda-device-only"] {
        let mut clang = Command::new(slyz_trials::hip().ok_or("no compiler")?);
        clang.args(["-x", "hip", side, "-nogpulib", "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-fsyntax-only"]).args([
            "--offload-arch=gfx942",
            "slyz_kernels.hip",
            "main.cpp",
        ]);
        succeeded(side, clang.current_dir(&folder))?;
    }
    Ok(())
}

#[test]
fn kernels_by_hand_validate_in_swift() -> R {
    let place = tempfile::tempdir()?;
    let folder = project(place.path(), "metal")?;
    let package = std::fs::read_to_string(folder.join("Package.swift"))?;
    assert!(package.contains("exclude: [\"kernels.metal\""), "{package}");
    let build = "swiftc -O -parse-as-library harness.swift -o harness";
    let Some(harness) = swift::Harness::of_folder(build, &folder) else { return Ok(()) };
    let said = harness.validates_text(7);
    for line in [
        "  saxpy: ",
        "  saxpy, launch 2: ",
        "  place: ",
        "  reverse: ",
        "  lookup, out: ",
        "  lookup, halves: ",
        "  histogram: ",
    ] {
        let right = said.lines().any(|found| found.starts_with(line) && found.ends_with("max error 0.0"));
        assert!(right, "Swift does not say {line:?}:\n{said}");
    }
    assert!(said.contains("  alone: not compared\n"), "{said}");
    harness.finds_a_mistake();
    Ok(())
}

/// Rows, sizes that are counted, types of 8, 16 and 64 bits, scalars.
const PROGRAMS: [&str; 4] = ["softmax_rows.sir", "filter.sir", "bitcast.sir", "scalar_program.sir"];

#[test]
fn crates_of_rust_run_without_compilers_and_find_mistakes() -> R {
    let place = tempfile::tempdir()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let texts = PROGRAMS.map(|name| std::fs::read_to_string(root.join("tests/corpus").join(name)));
    std::fs::write(place.path().join("all.sir"), texts.into_iter().collect::<Result<Vec<_>, _>>()?.concat())?;
    let said = crate_validates(place.path(), "all.sir", "SOFTMAX_0: &[f32]", "softmax")?;
    assert!(said.contains("  softmax: max error") && said.contains("best of 1:\n  softmax: "), "{said}");
    assert!(!said.contains("not compared"), "{said}");
    let said = crate_validates(place.path(), "kernels.vex", "SAXPY_0_2: &[f32]", "saxpy")?;
    for line in RIGHT {
        let line = line.replace(": max error 0\n", ": max error 0.0\n");
        assert!(said.contains(&line), "Rust does not say {line:?}:\n{said}");
    }
    Ok(())
}

/// Builds the crate of a file, and runs it where there is no compiler; with a wrong expectation it exits with 1. What it says.
fn crate_validates(place: &Path, file: &str, expected: &str, wrong: &str) -> R<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = place.join(format!("crate of {file}"));
    let out = folder.to_str().ok_or("a name of characters")?;
    let written = slyz(place, &["build", file, "--target", "rust", "--out", out, "--project"])?;
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    // The versions that this workspace has, and its own crates.
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-project");
    let build = || {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--offline", "--config", "profile.dev.debug=false"]).current_dir(&folder);
        let text = std::fs::read_to_string(folder.join("Cargo.toml"))?;
        for name in ["slyz", "slyz-build", "slyz-run", "slyz-sir"] {
            let path = root.join("crates").join(name);
            if text.contains(&format!("\n{name} = {{ version")) {
                cargo.args(["--config", &format!("patch.crates-io.{name}.path={path:?}")]);
            }
        }
        cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-D warnings").env("CARGO_INCREMENTAL", "0");
        succeeded("cargo", &mut cargo)
    };
    let run = || {
        let mut command = Command::new(target.join("debug/slyz-kernels"));
        command.args(["--bench", "1"]).env_clear().env("PATH", "/nowhere");
        command.env("SLYZ_CACHE_DIR", "off").env("SLYZ_DEVICE", "cpu").output()
    };
    build()?;
    let done = run()?;
    let right = String::from_utf8(done.stdout)?;
    // Nobody warns that the interpreter takes over.
    assert_eq!((done.status.code(), &*String::from_utf8_lossy(&done.stderr)), (Some(0), ""), "{right}");
    let path = folder.join("src/expected.rs");
    let text = std::fs::read_to_string(&path)?;
    let (before, after) = text.split_once(&format!("{expected} = &[\n    ")).ok_or("it is expected")?;
    std::fs::write(&path, format!("{before}{expected} = &[\n    7{after}"))?;
    build()?;
    let done = run()?;
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8_lossy(&done.stdout);
    let start = format!("  {wrong}: ");
    assert!(said.lines().any(|line| line.starts_with(&start) && line.ends_with(", WRONG")), "{said}");
    Ok(right)
}

#[test]
fn what_has_no_host_is_refused_with_the_cure() -> R {
    let place = tempfile::tempdir()?;
    let told = |arguments: &[&str]| -> R<String> {
        let build = ["build", "kernels.vex", "--out", "out", "--project", "--target"];
        let output = slyz(place.path(), &[&build[..], arguments].concat())?;
        assert!(!output.status.success());
        Ok(String::from_utf8(output.stderr)?)
    };
    assert!(told(&["wgsl"])?.contains("projects of them can be had for c, opencl"));
    assert!(told(&["c", "--checks", "report"])?.contains("leave `--checks report` away"));
    let only = ["build", "kernels.vex", "--program", "histogram", "--target", "web", "--out", "web", "--project"];
    assert!(slyz(place.path(), &only)?.status.success());
    let web = std::fs::read_to_string(place.path().join("web/README.md"))?;
    assert!(web.contains("`histogram`") && web.contains("http.server"), "{web}");
    Ok(())
}
