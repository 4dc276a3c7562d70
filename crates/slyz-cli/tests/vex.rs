//! The `slyz` command on `.vex` files: run, check, build, and what it says when something is wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const RELU: &str = "graph fn relu(input: Tensor<f32>, output: Tensor<f32>!) {
    let idx = thread.x
    if idx < output.len() {
        output[idx] = max(0.0f32, input[idx])
    }
}

fn main() {
    let! y = Tensor.zeros<f32>(3)
    launch relu(Tensor.from([-1.0f32, 2.0, -3.0]), &!y) with threads: 3
    print(y)
}
";

const TILE: &str = "graph fn reverse(x: Tensor<i32>, out: Tensor<i32>!) {
    threadgroup let! tile: [i32; 8]
    tile[thread.x] = x[block.x * 8 + thread.x]
    threadgroup.barrier()
    out[block.x * 8 + thread.x] = tile[7 - thread.x]
}
let! out = Tensor.zeros<i32>(8)
launch reverse(Tensor.from([1i32, 2, 3, 4, 5, 6, 7, 8]), &!out) with grid: 1, block: 8
print(out)
";

struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// A folder with one file in it.
struct Place(TempDir);

impl Place {
    fn new(name: &str, text: &str) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(name), text).expect("a file");
        Place(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, line: &str) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_slyz"))
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .env("SLYZ_CACHE_DIR", self.path("cache"))
            .env("XDG_RUNTIME_DIR", self.0.path())
            .env_remove("SLYZ_DEVICE")
            .output()
            .expect("the command runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// The devices of this build and machine.
fn devices() -> Vec<&'static str> {
    let mut names = vec!["interpreter"];
    #[cfg(feature = "cpu")]
    names.push("cpu");
    #[cfg(feature = "wgpu")]
    if slyz_trials::Need::Vulkan.is_met(!slyz_run::wgpu::adapters().is_empty()) {
        names.push("wgpu");
    }
    names
}

#[test]
fn runs_on_every_device() {
    for (text, printed) in [(RELU, "[0.0, 2.0, 0.0]\n"), (TILE, "[8, 7, 6, 5, 4, 3, 2, 1]\n")] {
        let place = Place::new("p.vex", text);
        for device in devices() {
            let ran = place.run(&format!("run p.vex --device {device}"));
            assert_eq!((ran.code, &ran.out[..]), (0, printed), "{device}: {}", ran.err);
        }
    }
    let place = Place::new("p.vex", RELU);
    let ran = place.run("run p.vex --input 3");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("brings its own arguments"), "{}", ran.err);
    assert!(place.run("run none.vex").err.contains("cannot read none.vex"));
}

#[test]
fn checks() {
    let place = Place::new("right.vex", TILE);
    let ran = place.run("check right.vex");
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The rule of `thread` is explained where it first applies.
    assert!(ran.out.contains("note[thread-index]") && ran.out.contains("right.vex:3:"), "{}", ran.out);
    assert!(ran.out.ends_with("right.vex: right; kernels: reverse\n"), "{}", ran.out);

    let place = Place::new(
        "wrong.vex",
        "graph fn k(x: Tensor<f32>, out: Tensor<f32>!) {\n    x[thread.x] = 1.0\n    out[thread.x] = input[0]\n    out[thread.x] = 1 +\n}\n",
    );
    let ran = place.run("check wrong.vex");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("wrong.vex:4:"), "{}", ran.out);
    let place = Place::new(
        "wrong.vex",
        "graph fn k(x: Tensor<f32>, out: Tensor<f32>!) {\n    x[thread.x] = 1.0\n    out[thread.x] = input[0]\n}\n",
    );
    for command in ["check", "run"] {
        let ran = place.run(&format!("{command} wrong.vex"));
        let told = format!("{}{}", ran.out, ran.err);
        assert_eq!(ran.code, 1);
        assert!(told.contains("error[read-only]") && told.contains("error[unknown-name]"), "{told}");
        assert!(told.contains("2 errors"), "{told}");
    }
}

#[test]
fn a_fault_is_shown_at_the_launch() {
    let place = Place::new(
        "p.vex",
        "graph fn k(out: Tensor<f32>!) {\n    out[thread.x + 1] = 1.0\n}\nlet! out = Tensor.zeros<f32>(4)\nlaunch k(&!out) with threads: 4\n",
    );
    for device in devices() {
        let ran = place.run(&format!("run p.vex --device {device}"));
        assert_eq!(ran.code, 1);
        assert!(ran.err.contains("p.vex:5:") && ran.err.contains("`out[4]`"), "{device}: {}", ran.err);
        assert!(ran.err.contains("thread (3, 0, 0)"), "{device}: {}", ran.err);
    }
}

fn has(path: &Path, text: &str) {
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(found.contains(text), "{}: no {text}\n{found}", path.display());
}

#[test]
fn builds_files_of_targets() {
    for (text, name) in [(RELU, "relu"), (TILE, "reverse")] {
        let place = Place::new("p.vex", text);
        let targets = if cfg!(feature = "wgpu") { "metal,wgsl,spirv,c" } else { "metal,c" };
        let ran = place.run(&format!("build p.vex --target {targets} --out made"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        has(&place.path("made/kernels.metal"), &format!("kernel void {name}("));
        has(&place.path("made/kernels.c"), "slyz_kernel_0");
        if cfg!(feature = "wgpu") {
            has(&place.path(&format!("made/{name}.wgsl")), "@compute");
            assert!(place.path(&format!("made/{name}.spv")).exists());
            let block = if name == "relu" { "@workgroup_size(256)" } else { "@workgroup_size(8)" };
            has(&place.path(&format!("made/{name}.wgsl")), block);
        }
    }
    let place = Place::new("p.vex", RELU);
    // A kernel that is an array program is a model; nothing tells how long what it writes is.
    let ran = place.run("build p.vex --target openvino --out models");
    assert!(ran.err.contains("give it with --size output_len=8"), "{}", ran.err);
    assert_eq!(place.run("build p.vex --target openvino --size output_len=3 --out models").code, 0);
    has(&place.path("models/relu.xml"), "Maximum");
    let ran = place.run("build p.vex --target metal --block 8 --checks trust");
    assert!(ran.code == 0 && !ran.out.contains("faults"), "{}{}", ran.out, ran.err);
    for (line, told) in [
        ("build p.vex --target wgsl --precision exact", "WGSL cannot promise every bit"),
        (
            "build p.vex --target wgsl --precision double",
            "there is no precision `double`; there are native, table, exact",
        ),
        ("build p.vex --target wgsl --extensions int128", "there is no extension `int128`; there are int64, float64"),
        (
            "build p.vex --target wgsl --checks maybe",
            "there is no way to check `maybe`; there are report, guard, trust",
        ),
    ] {
        let ran = place.run(line);
        assert!(ran.code != 0 && ran.err.contains(told), "{line}: {}", ran.err);
    }
    let ran = place.run("build p.vex --target metal --block 4096");
    assert!(ran.code == 2 && ran.err.contains("1 to 1024"), "{}", ran.err);
}

#[test]
fn dumps_behind_passes_and_leaves_passes_out() {
    let place = Place::new("p.vex", RELU);
    let dump = |rest: &str| {
        let ran = place.run(&format!("dump p.vex --lower {rest}"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    assert!(dump("metal --after shape").contains("check output["));
    let proven = dump("metal --after bounds");
    assert!(!proven.contains("check output[") && proven.contains("check input["), "{proven}");
    let reported = dump("metal --after report");
    assert!(!reported.contains("check ") && reported.contains("faults: i32[16]"), "{reported}");
    assert!(dump("metal --after report --without bounds").matches("atomic claim ").count() == 2);
    assert!(dump("cpu --after weave").contains("lanes "));
    assert!(dump("cuda --after dce").contains("kernel relu"));
    assert!(place.run("dump p.vex").out.contains("check input["));

    for (line, told) in [
        ("dump p.vex --lower metal --after weave", "there is no pass `weave` on this road"),
        ("build p.vex --target metal --without guard", "cannot be left out"),
        ("build p.vex --target c --without fuse", "the passes are, in order: shape, bounds, guard, written, weave"),
    ] {
        let ran = place.run(line);
        assert!(ran.code == 2 && ran.err.contains(told), "{}", ran.err);
    }
}

/// What a launch passes is checked without running it, by the rules that running has.
#[test]
fn checks_launches() {
    let kernel = "graph fn scaled(x: Tensor<f32>, out: Tensor<f32>!, by: f32) {\n    let i = thread.x\n    \
                  if i < out.len() { out[i] = x[i] * by }\n}\n\
                  graph fn rows(x: Tensor<f32, 2>!) { x[thread.y, thread.x] = 1.0 }\n\
                  graph fn meets(x: Tensor<f32>!) { x[global.x] = 1.0\n threadgroup.barrier() }\n\
                  let x = Tensor.zeros<f32>(8)\nlet! y = Tensor.zeros<f32>(8)\nlet! z = Tensor.zeros<i32>(8)\n";
    let wrong = [
        ("launch scaled(x, &!y) with threads: 8", "argument-count"),
        ("launch scaled(x, &!z, 2.0) with threads: 8", "type-mismatch"),
        ("launch rows(&!y) with threads: 8", "type-mismatch"),
        ("launch scaled(x, &y, 2.0) with threads: 8", "borrow"),
        ("launch scaled(x, y, 2.0) with threads: 8", "borrow"),
        ("launch scaled(x, &!x, 2.0) with threads: 8", "aliasing"),
        ("launch scaled(x, 3, 2.0) with threads: 8", "borrow"),
        ("launch scaled(x, &!y, x) with threads: 8", "argument-kind"),
        ("launch meets(&!y)", "machine"),
        ("launch nothing(&!y) with threads: 8", "unknown-function"),
        (
            "launch scaled(x, &!y, 2.0) with threads: 8\nprint(y.sum())\nlaunch scaled(x, &!y) with threads: 8",
            "argument-count",
        ),
    ];
    for (line, rule) in wrong {
        let place = Place::new("p.vex", &format!("{kernel}{line}\n"));
        let [checked, ran] = ["check p.vex", "run p.vex --device interpreter"].map(|command| place.run(command));
        assert_eq!((checked.code, ran.code), (1, 1), "{line}: {}{}", checked.out, ran.err);
        let told = format!("error[{rule}]");
        assert!(checked.out.contains(&told) && ran.err.contains(&told), "{line}: {}{}", checked.out, ran.err);
    }
    // What kernels compute is not known, and what follows from it is not judged; nor does a check take as long as the program.
    let right = [
        "launch scaled(x, &!y, 2.0) with threads: 8\nif y[0] == 0.0 { launch scaled(x) with threads: 8 }",
        "while true { y[0] = 1.0 }",
        "let huge = Tensor.ones<f32>(1099511627776)",
        "let none = Tensor.ones<f32>(1099511627776, 1099511627776, 0)\nprint(none.len())",
    ];
    for line in right {
        let place = Place::new("p.vex", &format!("{kernel}{line}\n"));
        let ran = place.run("check p.vex");
        assert_eq!(ran.code, 0, "{line}: {}", ran.out);
    }
}

#[test]
fn tests_what_is_printed() {
    let place = Place::new("p.vex", &format!("{RELU}//> [0.0, 2.0, 0.0]\n"));
    let ran = place.run("test p.vex --device interpreter");
    assert_eq!((ran.code, &ran.out[..]), (0, "1 case on interpreter, 0 failed\n"), "{}", ran.err);
    fs::write(place.path("p.vex"), format!("{RELU}//> [0.0, 2.0, 0.0]\n//> 5\n")).expect("a file");
    let ran = place.run("test p.vex --device interpreter");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("p.vex: line 2 of the output: expected `5`, found nothing"), "{}", ran.out);
    fs::write(place.path("p.vex"), RELU).expect("a file");
    assert!(place.run("test p.vex").out.contains("write what it prints behind `//>`"));
}

/// The index comes from a tensor, so that only a run tells.
#[test]
fn races_are_told_before_a_launch() {
    let text = "graph fn gather(x: Tensor<i32>, from: Tensor<i32>, out: Tensor<i32>!) {
    threadgroup let! tile: [i32; 8]
    let t = local.x
    tile[t] = x[t]
    out[t] = tile[from[t]]
}
let! out = Tensor.zeros<i32>(8)
let x = Tensor.from([1i32, 2, 3, 4, 5, 6, 7, 8])
launch gather(x, Tensor.from([0i32, 1, 2, 3, 4, 5, 6, 7]), &!out) with grid: 1, block: 8
print(out)
launch gather(x, Tensor.from([7i32, 6, 5, 4, 3, 2, 1, 0]), &!out) with grid: 1, block: 8
";
    let place = Place::new("p.vex", text);
    let ran = place.run("check p.vex");
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("warning[possible-race]"), "{}", ran.out);
    let ran = place.run("run p.vex --check-races --device cpu");
    assert_eq!((ran.code, &ran.out[..]), (1, "[1, 2, 3, 4, 5, 6, 7, 8]\n"), "{}", ran.err);
    assert!(ran.err.contains("gather: race on `tile` at [") && ran.err.contains("p.vex:11:8"), "{}", ran.err);
}

#[test]
fn one_file_for_metal_holds_the_kernels() {
    let place = Place::new("p.vex", RELU);
    let one = place.run("build p.vex --target metal-single-file");
    let kernels = place.run("build p.vex --target metal");
    assert_eq!((one.code, kernels.code), (0, 0), "{}{}", one.err, kernels.err);
    assert!(one.out.starts_with("func metalSources() throws -> [String] {"), "{}", one.out);
    assert!(kernels.out.contains("kernel void relu(") && one.out.contains(&kernels.out), "{}", one.out);
    let ran = place.run("build p.vex --target metal-single-file --out made");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("kernels.swift") && !ran.out.contains("kernels.metal"), "{}", ran.out);
}

/// A run that is ended leaves no folders behind.
#[test]
fn runs_are_bounded() {
    let place = Place::new("p.vex", "print(\"ready\")\nlet! n = 0\nwhile n < 1 { n = 0 }\n");
    let folder = tempfile::tempdir().expect("a folder");
    let left = || fs::read_dir(folder.path()).expect("the folder").count();
    let command = |limits: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slyz"));
        command.args(["run", "p.vex", "--device", "interpreter"]).args(limits.split_whitespace());
        command.current_dir(place.0.path()).env("TMPDIR", folder.path()).env("SLYZ_CACHE_DIR", place.path("cache"));
        command
    };
    let ran = command("--timeout 1").output().expect("the command runs");
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!((ran.status.code(), left()), (Some(124), 0), "{told}");
    assert_eq!(ran.stdout, b"ready\n");
    assert!(told.contains("p.vex has run for 1 s") && told.contains("it was running statements of the host"), "{told}");
    assert_eq!(command("--timeout 0").output().expect("the command runs").status.code(), Some(2));
    assert_eq!(command("--timeout never").output().expect("the command runs").status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn runs_can_be_interrupted() {
    use std::io::{BufRead, BufReader};
    let place = Place::new("p.vex", "print(\"ready\")\nlet! n = 0\nwhile n < 1 { n = 0 }\n");
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_slyz"))
        .args(["run", "p.vex", "--device", "interpreter", "--timeout", "600"])
        .current_dir(place.0.path())
        .env("TMPDIR", folder.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded() {
    let place = Place::new("p.vex", "let! x = Tensor.ones<f32>(268435456)\nprint(x.len())\n");
    let ran = place.run("run p.vex --device interpreter --memory 256");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("there is no memory for a tensor of f32"), "{}", ran.err);
    assert_eq!(place.run("run p.vex --device interpreter --memory 4096").out, "268435456\n");
}

#[test]
fn explains_what_kernels_are() {
    let place = Place::new("relu.vex", RELU);
    let told = place.run("explain relu.vex");
    assert!(
        told.code == 0 && told.out.starts_with("relu: raised: a map over [output_len]\n"),
        "{}{}",
        told.out,
        told.err
    );
    let dumped = place.run("dump --raised relu.vex");
    assert!(
        dumped.out.starts_with("program relu<output_len, input_len>(%0: f32[input_len]) -> f32[output_len] {"),
        "{}",
        dumped.out
    );
    assert!(place.run("dump --raised --lower cuda relu.vex").out.contains("launch relu("));
    assert_eq!(place.run("explain relu.vex --size N=1").code, 2);
    // A tile that is seen through, and threads that are to stay as they are.
    let tile = format!("{TILE}as_written {}", &RELU[..RELU.find("fn main").unwrap_or(0)]);
    let place = Place::new("tile.vex", &tile);
    let told = place.run("explain tile.vex").out;
    assert!(told.contains("reverse: raised: a map over [threads_x]"), "{told}");
    assert!(told.contains("relu: as written: it says `as_written`"), "{told}");
    let count = "graph fn count(x: Tensor<u32>, bins: Tensor<u32>!) {\n    let i = thread.x\n    atomic.add(bins[x[i] as i64], 1)\n}\nprint(1)\n";
    let told = Place::new("count.vex", count).run("explain count.vex").out;
    assert_eq!(told, "count: as written: it updates `bins` atomically (line 3)\n");
}
