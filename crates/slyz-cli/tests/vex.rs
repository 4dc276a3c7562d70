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

#[test]
fn runs_on_every_device() {
    for (text, printed) in [(RELU, "[0.0, 2.0, 0.0]\n"), (TILE, "[8, 7, 6, 5, 4, 3, 2, 1]\n")] {
        let place = Place::new("p.vex", text);
        for device in [
            "interpreter",
            #[cfg(feature = "cpu")]
            "cpu",
            #[cfg(feature = "wgpu")]
            "wgpu",
        ] {
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
    for device in [
        "interpreter",
        #[cfg(feature = "cpu")]
        "cpu",
        #[cfg(feature = "wgpu")]
        "wgpu",
    ] {
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
            let block = if name == "relu" { "@workgroup_size(256, 1, 1)" } else { "@workgroup_size(8, 1, 1)" };
            has(&place.path(&format!("made/{name}.wgsl")), block);
        }
    }
    let place = Place::new("p.vex", RELU);
    let ran = place.run("build p.vex --target metal --block 8 --unchecked");
    assert!(ran.code == 0 && !ran.out.contains("faults"), "{}{}", ran.out, ran.err);
    let ran = place.run("build p.vex --target metal --block 4096");
    assert!(ran.code == 2 && ran.err.contains("1 to 1024"), "{}", ran.err);
}

#[test]
fn dumps_behind_passes_and_leaves_passes_out() {
    let place = Place::new("p.vex", RELU);
    let dump = |rest: &str| {
        let ran = place.run(&format!("build p.vex --target {rest}"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    assert!(dump("metal --dump-after shape").contains("check output["));
    let proven = dump("metal --dump-after bounds");
    assert!(!proven.contains("check output[") && proven.contains("check input["), "{proven}");
    let reported = dump("metal --dump-after report");
    assert!(!reported.contains("check ") && reported.contains("faults: i32[16]"), "{reported}");
    assert!(dump("metal --dump-after report --disable bounds").matches("compare_exchange").count() == 2);
    assert!(dump("c --dump-after weave").contains("lanes "));
    assert!(dump("metal,c --dump-after dce").contains("kernel relu"));

    for (line, told) in [
        ("--target metal --dump-after weave", "there is no pass `weave` on this road"),
        ("--target metal --disable report", "cannot be left out"),
        ("--target c --disable fuse", "the passes are, in order: shape, bounds, report, written, weave"),
    ] {
        let ran = place.run(&format!("build p.vex {line}"));
        assert!(ran.code == 2 && ran.err.contains(told), "{}", ran.err);
    }
}
