//! Projects: built by the platform's compiler, run where that can be, and refused where something is wrong.

#[path = "../../slyz-run/tests/shim/glue.rs"]
mod glue;
#[path = "../../slyz-run/tests/shim/swift/mod.rs"]
mod swift;

use slyz_sir::back::harness::{Emitted, Options, Project, Target, project};
use slyz_sir::choices::Precision;
use slyz_sir::program::Program;
use slyz_sir::text::parse_file;
use slyz_trials::Need;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Files under the root of the workspace, with what they are chosen for.
const FILES: [&str; 10] = [
    // Rows with scratch memory, five arrays at once, sums of products, one number.
    "tests/corpus/softmax_rows.sir",
    "crates/slyz-cli/tests/golden/black_scholes.sir",
    "tests/corpus/matmul.sir",
    "tests/corpus/fold_whole.sir",
    // Sizes that are counted; loops of launches whose arrays change places; results that are arguments.
    "tests/corpus/filter.sir",
    "tests/corpus/filter_chunks.sir",
    "tests/corpus/while_swaps_state.sir",
    "tests/corpus/updates_in_place.sir",
    // Scalars, types of 8, 16 and 64 bits, and names that hosts use themselves.
    "tests/corpus/scalar_program.sir",
    "tests/corpus/bitcast.sir",
];

fn programs(file: &str) -> R<Vec<Program>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = std::fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
    Ok(parse_file(&text)?.0.programs)
}

/// All of them, of programs with the same name the first.
fn all_programs() -> R<Vec<Program>> {
    let mut all: Vec<Program> = vec![];
    for file in FILES {
        for program in programs(file)? {
            if all.iter().all(|other| other.name != program.name) {
                all.push(program);
            }
        }
    }
    Ok(all)
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("project_{name}_{}", std::process::id()))
}

/// A folder with the files of a project.
fn written(emitted: &Emitted, name: &str) -> R<PathBuf> {
    let folder = folder_of(name);
    std::fs::create_dir_all(&folder)?;
    for file in &emitted.files {
        std::fs::write(folder.join(&file.name), file.bytes())?;
    }
    Ok(folder)
}

/// The name of the file that ends in this way.
fn ending<'e>(emitted: &'e Emitted, start: &str, end: &str) -> R<&'e str> {
    let mut names = emitted.files.iter().map(|file| &file.name[..]);
    Ok({ names }.find(|name| name.starts_with(start) && name.ends_with(end)).ok_or(format!("no file {start}*{end}"))?)
}

fn succeeded(what: &str, output: Output) -> R<String> {
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(said) } else { Err(format!("{what}: {}\n{said}", output.status).into()) }
}

/// Changes the first expected value that is a number.
fn corrupt(folder: &Path) -> R {
    let path = folder.join("expected.h");
    let text = std::fs::read_to_string(&path)?;
    let at = text.find("[] = {\n    ").ok_or("no expected values")? + "[] = {\n    ".len();
    let end = at + text[at..].find(',').ok_or("no value")?;
    std::fs::write(&path, format!("{}77{}", &text[..at], &text[end..]))?;
    Ok(())
}

/// Everything is compared and right; with a wrong expectation it exits with 1.
fn validates(folder: &Path, build: &dyn Fn() -> R<Command>) -> R {
    succeeded("the build", build()?.output()?)?;
    let validate = || Command::new(folder.join("validate")).current_dir(folder).output();
    let said = succeeded("validate", validate()?)?;
    assert!(said.contains("max error") && !said.contains("not compared"), "{said}");
    corrupt(folder)?;
    succeeded("the build", build()?.output()?)?;
    let output = validate()?;
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// Hosts are C without a warning; kernels may hold more of the prelude than they need.
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-Wno-unused"];

#[test]
fn projects_in_c_build_validate_and_find_mistakes() -> R {
    for (k, file) in FILES.iter().enumerate() {
        let emitted = project(&programs(file)?, Target::C, &Options::default())?;
        assert_eq!(emitted.build, "make && ./validate");
        let folder = written(&emitted, &format!("c{k}"))?;
        let host = ending(&emitted, "slyz_", ".c")?;
        let strict = Command::new("cc")
            .args(["-std=gnu11", "-fsyntax-only"])
            .args(WARNINGS)
            .args(["main.c", host])
            .current_dir(&folder)
            .output()?;
        succeeded(file, strict)?;
        let build = || {
            let mut make = Command::new("make");
            // Threads are on for some: results are the same.
            let openmp = if k % 2 == 0 { "OPENMP=-fopenmp" } else { "OPENMP=" };
            make.arg("CFLAGS=-O1 -march=native").arg(openmp).current_dir(&folder);
            Ok(make)
        };
        validates(&folder, &build).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(())
}

#[test]
fn projects_for_opencl_build_validate_and_find_mistakes() -> R {
    let platforms = std::fs::read_dir("/etc/OpenCL/vendors").is_ok_and(|mut entries| entries.next().is_some());
    let headers = Path::new("/usr/include/CL/cl.h").is_file();
    if !slyz_trials::has_cxx() || !Need::OpenCl.is_met(platforms && headers) {
        return Ok(());
    }
    // A platform in software compiles slowly.
    for (k, file) in FILES.iter().take(7).enumerate() {
        let emitted = project(&programs(file)?, Target::OpenCl, &Options::default())?;
        let folder = written(&emitted, &format!("opencl{k}"))?;
        let host = ending(&emitted, "slyz_", ".cpp")?;
        let build = || {
            let mut cxx = Command::new(slyz_trials::cxx());
            cxx.args(["-std=c++17", "-O1"]).args(WARNINGS).args(["main.cpp", host, "-lOpenCL", "-o", "validate"]);
            cxx.current_dir(&folder);
            Ok(cxx)
        };
        validates(&folder, &build).map_err(|error| format!("{file}: {error}"))?;
    }
    Ok(())
}

#[test]
#[cfg(feature = "naga")]
fn projects_for_vulkan_build_validate_and_find_mistakes() -> R {
    let drivers = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].map(|folder| std::fs::read_dir(folder).is_ok());
    let headers = Path::new("/usr/include/vulkan/vulkan.h").is_file();
    if !slyz_trials::has_cxx() || !Need::Vulkan.is_met(drivers.contains(&true) && headers) {
        return Ok(());
    }
    // All in one, so that the host and the driver are compiled and started once.
    let emitted = project(&all_programs()?, Target::Spirv, &Options::default())?;
    let folder = written(&emitted, "vulkan")?;
    let build = || {
        let mut cxx = Command::new(slyz_trials::cxx());
        cxx.args(["-std=c++17", "-O1"]).args(WARNINGS);
        cxx.args(["main.cpp", "slyz_kernels.cpp", "-lvulkan", "-o", "validate"]).current_dir(&folder);
        Ok(cxx)
    };
    validates(&folder, &build)
}

#[test]
fn clang_takes_hosts_and_kernels_of_hip() -> R {
    if !slyz_trials::has_hip() {
        return Ok(());
    }
    let all = all_programs()?;
    for (target, architecture) in [(Target::Hip, "gfx942"), (Target::HipRdna, "gfx1100")] {
        let emitted = project(&all, target, &Options::default())?;
        let folder = written(&emitted, architecture)?;
        for side in ["--cuda-host-only", "--cuda-device-only"] {
            let mut clang = Command::new(slyz_trials::hip().ok_or("no compiler")?);
            clang
                .args(["-x", "hip", side, "-nogpulib", "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-fsyntax-only"])
                .arg(format!("--offload-arch={architecture}"))
                .args(["slyz_kernels.hip", "main.cpp"])
                .current_dir(&folder);
            succeeded(side, clang.output()?)?;
        }
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}

#[test]
fn projects_in_swift_build_validate_and_find_mistakes() -> R {
    let mut all = all_programs()?;
    // Metal has no f64.
    all.retain(|program| Project::metal(std::slice::from_ref(program)).is_ok());
    let folder = folder_of("swift");
    let emitted = project(&all, Target::Metal, &Options::default())?;
    if let Some(harness) = swift::Harness::new(&emitted, &folder) {
        harness.validates(&Project::metal(&all)?.entries);
        harness.finds_a_mistake();
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// Raw kernels in every language.
const RAW: &str = "crates/slyz-sir/tests/raw/between.sir";

/// A project has the source that is written for it as a file of its own, and runs that: another source gives other results.
fn runs_its_source(target: Target, ending: &str, build: &dyn Fn(&Path) -> Command) -> R {
    let emitted = project(&programs(RAW)?, target, &Options::default())?;
    let folder = written(&emitted, &format!("raw_{ending}"))?;
    let path = folder.join(format!("raw_scaled.{ending}"));
    let source = std::fs::read_to_string(&path)?;
    std::fs::write(&path, source.replace("a * b", "a * b + 1.0f"))?;
    succeeded(ending, build(&folder).output()?)?;
    let output = Command::new(folder.join("validate")).current_dir(&folder).output()?;
    assert_eq!(output.status.code(), Some(1), "{ending}: {}", String::from_utf8_lossy(&output.stdout));
    std::fs::write(&path, source)?;
    validates(&folder, &|| Ok(build(&folder))).map_err(|error| format!("{ending}: {error}").into())
}

#[test]
fn projects_carry_raw_kernels() -> R {
    let make = |folder: &Path| {
        let mut make = Command::new("make");
        make.args(["-B", "CFLAGS=-O1 -march=native"]).current_dir(folder);
        make
    };
    runs_its_source(Target::C, "c", &make)?;
    let platforms = std::fs::read_dir("/etc/OpenCL/vendors").is_ok_and(|mut entries| entries.next().is_some());
    let headers = Path::new("/usr/include/CL/cl.h").is_file();
    if slyz_trials::has_cxx() && Need::OpenCl.is_met(platforms && headers) {
        let cxx = |folder: &Path| {
            let mut cxx = Command::new(slyz_trials::cxx());
            cxx.args(["-std=c++17", "-O1"]).args(WARNINGS).args(["main.cpp", "slyz_between.cpp", "-lOpenCL"]);
            cxx.args(["-o", "validate"]).current_dir(folder);
            cxx
        };
        runs_its_source(Target::OpenCl, "cl", &cxx)?;
    }
    Ok(())
}

/// WGSL becomes SPIR-V when the project is written, and stays what it is on a page.
#[test]
#[cfg(feature = "naga")]
fn projects_for_vulkan_carry_raw_kernels() -> R {
    let source = programs(RAW)?;
    let page = project(&source, Target::Web, &Options::default())?;
    let text = |name: &str| page.files.iter().find(|file| file.name == name).and_then(|file| file.as_text());
    assert!(text("between_scaled.wgsl").is_some_and(|text| text.contains("fn times(a: f32")));
    assert!(text("kernels.js").is_some_and(|text| text.contains("engine.word.f32((await session.read(buffer")));
    let wrong = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(RAW))?;
    let wrong = parse_file(&wrong.replace("@workgroup_size(64)", "@workgroup_size(32)"))?.0.programs;
    for target in [Target::Web, Target::Spirv] {
        let told = project(&wrong, target, &Options::default()).map_err(|error| error.to_string());
        assert!(told.as_ref().is_err_and(|text| text.contains("write `@workgroup_size(64, 1, 1)`")), "{told:?}");
    }
    let drivers = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].map(|folder| std::fs::read_dir(folder).is_ok());
    let headers = Path::new("/usr/include/vulkan/vulkan.h").is_file();
    if !slyz_trials::has_cxx() || !Need::Vulkan.is_met(drivers.contains(&true) && headers) {
        return Ok(());
    }
    let folder = written(&project(&source, Target::Spirv, &Options::default())?, "raw_vulkan")?;
    let build = || {
        let mut cxx = Command::new(slyz_trials::cxx());
        cxx.args(["-std=c++17", "-O1"]).args(WARNINGS);
        cxx.args(["main.cpp", "slyz_between.cpp", "-lvulkan", "-o", "validate"]).current_dir(&folder);
        Ok(cxx)
    };
    validates(&folder, &build)
}

#[test]
fn clang_takes_raw_kernels_of_hip() -> R {
    let cuda = project(&programs(RAW)?, Target::Cuda, &Options::default())?;
    let text = |name: &str| cuda.files.iter().find(|file| file.name == name).and_then(|file| file.as_text());
    assert!(text("raw_scaled.cu").is_some_and(|text| text.starts_with("static __device__ float times")));
    assert!(text("CMakeLists.txt").is_some_and(|text| text.contains("STATIC slyz_between.cu raw_scaled.cu)")));
    assert!(text("slyz_between.cu").is_some_and(|text| text.contains("extern \"C\" __global__ void scaled();")));
    if !slyz_trials::has_hip() {
        return Ok(());
    }
    let emitted = project(&programs(RAW)?, Target::Hip, &Options::default())?;
    let folder = written(&emitted, "raw_hip")?;
    for side in ["--cuda-host-only", "--cuda-device-only"] {
        let mut clang = Command::new(slyz_trials::hip().ok_or("no compiler")?);
        clang.args(["-x", "hip", side, "-nogpulib", "-D__HIP_PLATFORM_AMD__", "-std=c++17", "-fsyntax-only"]);
        clang.args(["--offload-arch=gfx942", "slyz_between.hip", "raw_scaled.hip", "main.cpp"]).current_dir(&folder);
        succeeded(side, clang.output()?)?;
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

#[test]
fn projects_in_swift_carry_raw_kernels() -> R {
    let programs = programs(RAW)?;
    let emitted = project(&programs, Target::Metal, &Options::default())?;
    let text = |name: &str| emitted.files.iter().find(|file| file.name == name).and_then(|file| file.as_text());
    assert!(text("Package.swift").is_some_and(|text| text.contains("\"kernels.metal\", \"raw_scaled.metal\"")));
    let single = slyz_sir::back::harness::emit(&programs, Target::MetalSingleFile)?;
    let single = single.files[0].as_text().ok_or("a text")?;
    assert!(single.contains("return [kernels, raw_scaled]") && single.contains("private let raw_scaled = #\"\"\""));
    let folder = folder_of("raw_swift");
    if let Some(harness) = swift::Harness::new(&emitted, &folder) {
        harness.validates_text(2);
        harness.finds_a_mistake();
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// Functions are launched by name, and what is left of a kernel is something.
#[test]
fn raw_kernels_that_cannot_be_written() -> R {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(RAW))?;
    let mut twice = parse_file(&text)?.0.programs;
    let other = text.replace("program between", "program other").replace("times(a, x[i])", "times(x[i], a)");
    twice.extend(parse_file(&other)?.0.programs);
    for target in [Target::C, Target::OpenCl, Target::Cuda, Target::Metal] {
        let told = project(&twice, target, &Options::default()).map_err(|error| error.to_string());
        assert!(told.as_ref().is_err_and(|text| text.contains("two kernels `scaled`")), "{told:?}");
    }
    let foreign = r#"program alone<N>(%x: f32[N]) -> f32[N] {
        %y: f32[N] = raw k(%x) threads [N] block [1, 1, 1] extents [] c k "void k(const float *x, float *y, long b, long e) {}"
        return %y }"#;
    let foreign = parse_file(foreign)?.0.programs;
    let told = |target| project(&foreign, target, &Options::default()).map_err(|error| error.to_string());
    assert!(told(Target::Cuda).is_err_and(|text| text.contains("`k` is not written in CUDA, and has no meaning")));
    assert!(told(Target::Rust).is_err_and(|text| text.contains("`k` has no meaning, and rust takes no sources")));
    // Nobody knows what is right; it can be measured all the same.
    let main = told(Target::C)?.files.into_iter().find(|file| file.name == "main.c").ok_or("no main")?;
    assert!(main.as_text().is_some_and(|text| text.contains("not compared")));
    Ok(())
}

#[test]
fn metal_folds_floats_by_its_own_extremes_at_native_only() -> R {
    for (precision, asked, own) in [
        (Precision::Native, None, true),
        (Precision::Native, Some(Precision::Table), false),
        (Precision::Table, None, false),
    ] {
        let mut softmax = programs(FILES[0])?;
        softmax.iter_mut().for_each(|program| program.precision = asked);
        let emitted = project(&softmax, Target::Metal, &Options { precision, ..Options::default() })?;
        let kernels = emitted.files[0].as_text().ok_or("no text")?;
        assert!(kernels.contains("simd_sum"), "{kernels}");
        assert_eq!(kernels.contains("simd_max"), own, "{kernels}");
    }
    Ok(())
}

#[test]
fn targets_without_a_host_are_refused_by_name() -> R {
    let softmax = programs(FILES[0])?;
    let told = project(&softmax, Target::Wgsl, &Options::default()).map_err(|error| error.to_string());
    assert!(told.is_err_and(|text| text.contains("wgsl has no host program") && text.contains("c, opencl, cuda")));
    for (target, last) in [(Target::Metal, "Package.swift"), (Target::Web, "README.md")] {
        let emitted = project(&softmax, target, &Options::default())?;
        assert_eq!(emitted.files.last().map(|file| &file.name[..]), Some(last));
    }
    Ok(())
}
