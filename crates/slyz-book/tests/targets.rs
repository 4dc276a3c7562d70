//! The table of targets in the README, those of files and those of bundles: what each writes, found out by writing it, and which tests show that a real compiler takes it and that it
//! runs. A test that is not there any more fails this one. `BLESS=1` rewrites the table.

use slyz::prelude::*;
use slyz_sir::back::harness::Target as Kind;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

const BEGIN: &str = "<!-- targets -->\n";
const END: &str = "<!-- /targets -->\n";

/// What shows something.
enum Shown {
    /// A test: what it does it with, its file under `crates`, its name.
    Test(&'static str, &'static str, &'static str),
    /// A measurement: on what, its file.
    Measured(&'static str, &'static str),
    /// Nothing does.
    Not(&'static str),
}
use Shown::{Measured, Not, Test};

/// What is known of a target: who compiles it, who runs it in CI, on what hardware it ran.
struct Row {
    name: &'static str,
    compiled: Shown,
    runs: Shown,
    hardware: Shown,
}

/// All targets of `slyz build`.
const TARGETS: [Kind; 13] = [
    Kind::C,
    Kind::Cuda,
    Kind::Hip,
    Kind::HipRdna,
    Kind::OpenCl,
    Kind::Metal,
    Kind::MetalSingleFile,
    Kind::Wgsl,
    Kind::Spirv,
    Kind::Web,
    Kind::Rust,
    Kind::OpenVino,
    Kind::CoreMl,
];

/// The targets of bundles, and what they are.
const BUNDLES: [(&str, &str); 4] = [
    ("a bundle, `x86-64-v2` to `-v4` and `baseline`", "native code"),
    ("a bundle, `sm_90` and `compute_80`", "CUBIN and PTX"),
    ("a bundle, `spirv`", "SPIR-V for kinds of adapters"),
    ("a bundle, `wgsl`", "WGSL for kinds of adapters"),
];

/// How far they are shown, in their order.
fn shown_of_bundles() -> [[Shown; 3]; BUNDLES.len()] {
    let (file, program) = ("slyz-run/tests/bundles.rs", "slyz-bundled/tests/without_compilers.rs");
    [
        [
            Test("cc", program, "bundled_functions_run_as_code"),
            Test("functions, views and kernels, where there is no compiler", program, "bundled_functions_run_as_code"),
            Not("x86-64, in CI"),
        ],
        [Test("NVRTC", file, "cubin_and_ptx_are_made_without_a_gpu"), Not("no GPU there"), Not("not tried on a GPU")],
        [
            Test("spirv-val", "slyz-sir/tests/naga.rs", "modules_of_the_corpus"),
            Test("functions, views and kernels, on lavapipe", program, "shaders_of_the_bundle_are_run"),
            Not("not tried on a GPU"),
        ],
        [
            Test("naga", "slyz-sir/tests/naga.rs", "modules_of_the_corpus"),
            Test("on lavapipe, as if it had no SPIR-V", file, "shaders_of_bundles_are_run"),
            Not("not tried on a GPU"),
        ],
    ]
}

/// Where crates of Rust are built and run.
const RUST_FILE: &str = "slyz-cli/tests/projects.rs";
const RUST_TEST: &str = "crates_of_rust_run_without_compilers_and_find_mistakes";

fn row(target: Kind) -> Result<Row> {
    const NOBODY: Shown = Not("nobody has it here");
    let projects = "slyz-sir/tests/projects.rs";
    let models = "slyz-sir/tests/models/main.rs";
    let as_cpp = |what, test| Test(what, "slyz-run/tests/simt.rs", test);
    let (name, compiled, runs, hardware) = match target {
        Kind::C => (
            "C",
            Test("cc", projects, "projects_in_c_build_validate_and_find_mistakes"),
            Test("the corpus, as the device `cpu`", "slyz-run/tests/corpus.rs", "cases"),
            Measured("x86-64", "cpu.md"),
        ),
        Kind::Cuda => (
            "CUDA",
            Test("NVRTC, sm_80 and sm_90", "slyz-tests/tests/nvrtc.rs", "nvrtc_takes_every_second_file_of_the_corpus"),
            as_cpp("the corpus as C++, with fibers for threads", "corpus_in_cuda"),
            Measured("NVIDIA H200", "nvidia-h200-cuda.md"),
        ),
        Kind::Hip => (
            "HIP, CDNA",
            Test("clang, gfx90a and gfx942", "slyz-tests/tests/hip.rs", "clang_takes_the_corpus"),
            as_cpp("half of the corpus as C++, with fibers for threads", "corpus_in_hip"),
            NOBODY,
        ),
        Kind::HipRdna => (
            "HIP, RDNA",
            Test("clang, gfx1100", "slyz-tests/tests/hip.rs", "clang_takes_the_corpus"),
            as_cpp("half of the corpus as C++, with fibers for threads", "corpus_in_hip"),
            NOBODY,
        ),
        Kind::OpenCl => (
            "OpenCL",
            Test("pocl", projects, "projects_for_opencl_build_validate_and_find_mistakes"),
            Test("two cases of each file of the corpus, by pocl", "slyz-run/tests/corpus.rs", "cases"),
            Measured("NVIDIA H200", "nvidia-h200-opencl.md"),
        ),
        Kind::Metal => (
            "Metal, with a Swift program",
            Test(
                "Swift 6; kernels by the C++ compiler, not Apple's",
                projects,
                "projects_in_swift_build_validate_and_find_mistakes",
            ),
            Test(
                "the corpus as C++, with fibers for threads; Swift on a stand-in for Metal",
                "slyz-run/tests/msl.rs",
                "corpus",
            ),
            NOBODY,
        ),
        Kind::MetalSingleFile => (
            "Metal in one Swift file",
            Test("Swift 6", "slyz-tests/tests/programs/metal.rs", "swift_takes_a_single_file"),
            Test("the essay's, as C++", "slyz-tests/tests/programs/metal.rs", "essay_runs"),
            NOBODY,
        ),
        Kind::Wgsl => (
            "WGSL",
            Test("Tint, in Chromium", "slyz-tests/tests/browser.rs", "tint_takes_the_corpus"),
            Test("the corpus, by wgpu on lavapipe", "slyz-run/tests/wgsl.rs", "corpus"),
            Not("not tried on a GPU"),
        ),
        Kind::Spirv => (
            "SPIR-V",
            Test("spirv-val", "slyz-sir/tests/naga.rs", "modules_of_the_corpus"),
            Test(
                "hosts in C++ by Vulkan on lavapipe; the corpus, as the device `wgpu`, there and on SwiftShader",
                projects,
                "projects_for_vulkan_build_validate_and_find_mistakes",
            ),
            Measured("NVIDIA H200", "nvidia-h200.md"),
        ),
        Kind::Web => (
            "a page",
            Test("Tint, in Chromium", "slyz-cli/tests/pages.rs", "cases_pass_in_a_browser"),
            Test(
                "cases of the corpus, in Chromium on SwiftShader",
                "slyz-cli/tests/pages.rs",
                "cases_pass_in_a_browser",
            ),
            Not("not tried on a GPU"),
        ),
        Kind::Rust => (
            "a crate of Rust",
            Test("Cargo, and cc", RUST_FILE, RUST_TEST),
            Test("programs of the corpus and kernels by hand, where there is no compiler", RUST_FILE, RUST_TEST),
            Not("x86-64, in CI"),
        ),
        Kind::OpenVino => (
            "OpenVINO",
            Test("OpenVINO", models, "corpus"),
            Test(
                "programs of the corpus that are models, as the device `openvino`",
                "slyz-run/tests/openvino.rs",
                "corpus",
            ),
            Not("x86-64, in CI"),
        ),
        Kind::CoreMl => (
            "Core ML",
            Test("coremltools", models, "corpus"),
            Test("what coremltools infers by itself", models, "corpus"),
            NOBODY,
        ),
        other => return Err(format!("{other:?} has no row").into()),
    };
    Ok(Row { name, compiled, runs, hardware })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A cell, once what it says is seen to be there.
fn cell(shown: &Shown) -> Result<String> {
    match shown {
        Test(what, file, name) => {
            let text =
                fs::read_to_string(root().join("crates").join(file)).map_err(|error| format!("{file}: {error}"))?;
            let is_marked = |at: usize| text[..at].lines().rev().take(4).any(|line| line.trim() == "#[test]");
            if !text.match_indices(&format!("fn {name}(")).any(|(at, _)| is_marked(at)) {
                return Err(format!("{file} has no test {name}").into());
            }
            Ok(format!("[{what}](crates/{file})"))
        }
        Measured(what, file) => {
            let path = format!("bench/results/{file}");
            match root().join(&path).exists() {
                true => Ok(format!("[{what}]({path})")),
                false => Err(format!("there is no {path}").into()),
            }
        }
        Not(why) => Ok(why.to_string()),
    }
}

/// What a target writes of a small program.
fn writes(target: Kind) -> Result<String> {
    axis!(N);
    let mut module = Module::new();
    module.kernel("scale", |x: Arr<f32, N>| x * 2.0)?;
    // There is no less of it.
    if target == Kind::Rust {
        return Ok("a crate, with `--project`".to_string());
    }
    let emitted = module.emit(target)?;
    let names: Vec<String> = emitted.files().iter().map(|file| format!("`{}`", file.name)).collect();
    Ok(names.join(", "))
}

#[test]
fn targets_are_in_the_readme() -> Result {
    let mut table =
        "| target | writes, of a program `scale` | compiled in CI by | runs in CI | ran on |\n|---|---|---|---|---|\n"
            .to_string();
    for target in TARGETS {
        let Row { name, compiled, runs, hardware } = row(target)?;
        let cells = [cell(&compiled)?, cell(&runs)?, cell(&hardware)?].join(" | ");
        table += &format!("| {name} | {} | {cells} |\n", writes(target)?);
    }
    for ((name, writes), shown) in BUNDLES.iter().zip(shown_of_bundles()) {
        let cells = shown.iter().map(cell).collect::<Result<Vec<String>>>()?.join(" | ");
        table += &format!("| {name} | {writes} | {cells} |\n");
    }
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path)?;
    let (before, rest) = readme.split_once(BEGIN).ok_or("README.md has no place for the table of targets")?;
    let (old, after) = rest.split_once(END).ok_or("the table of targets in README.md does not end")?;
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}"))?;
        return Ok(());
    }
    assert_eq!(old, table, "README.md is out of date; BLESS=1 rewrites it");
    Ok(())
}
