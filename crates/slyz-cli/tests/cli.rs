//! The `slyz` command as its users meet it: the built binary on small files.
//!
//! `golden/NAME.sir` are programs whose explanation is `golden/NAME.txt`; `BLESS=1` writes those again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const SAXPY: &str = "program saxpy<N>(%a: f32, %x: f32[N], %y: f32[N]) -> f32[N] {
  %z: f32[N] = tabulate [N] |%i: i64| {
    %p: f32 = at %x[%i]  %q: f32 = at %y[%i]  %r: f32 = mul %a, %p  %s: f32 = add %r, %q
    yield %s
  }
  return %z
}
case \"two\" {
  %a = f32 2.0
  %x = f32[2] [1.0, 2.0]
  %y = f32[2] [10.0, 20.0]
  expect f32[2] [12.0, 24.0]
}
";

const TWO: &str = "program iota<N>() -> i64[N] {
  %z: i64[N] = tabulate [N] |%i: i64| { yield %i }
  return %z
}
program same(%x: bf16[2], %b: bool) -> (bf16[2], bool) { return %x, %b }
";

/// A folder for one test, with a file of SIR in it. The cache of compiled code is inside.
struct Place {
    folder: TempDir,
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Place {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slyz"));
        command.args(args).current_dir(self.folder.path());
        command.env("SLYZ_CACHE_DIR", self.path("cache")).env_remove("SLYZ_DEVICE");
        // Drivers complain without it.
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, &ran.err[..]), (0, ""), "{args:?}: {}", ran.out);
        ran.out
    }

    /// The complaint of a command that must fail with that code.
    #[track_caller]
    fn fails(&self, code: i32, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        format!("{}{}", ran.out, ran.err)
    }

    fn npy(&self, name: &str, descr: &str, shape: &str, data: &[u8]) {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        header += &" ".repeat(63 - (10 + header.len()) % 64);
        header.push('\n');
        let length = (header.len() as u16).to_le_bytes();
        fs::write(self.path(name), [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()).unwrap();
    }

    fn floats(&self, name: &str, values: &[f32]) {
        let data: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.npy(name, "<f4", &format!("({},)", values.len()), &data);
    }
}

/// Two maps that fuse.
const CHAIN: &str = "program chain<N>(%x: f32[N]) -> f32[N] {
  %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
  %z: f32[N] = tabulate [N] |%j: i64| { %c: f32 = at %y[%j]  %d: f32 = mul %c, %c  yield %d }
  return %z
}
";

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn dump_prints_every_stage() {
    let place = Place::new(&[("f.sir", SAXPY), ("two.sir", TWO), ("chain.sir", CHAIN)]);
    let parsed = place.ok(&["dump", "f.sir"]);
    has(&parsed, &["program saxpy<N>(%0: f32, %1: f32[N], %2: f32[N]) -> f32[N] {"]);
    assert!(!parsed.contains("case"), "{parsed}");
    for pass in ["simplify", "fuse", "cse:2", "dce", "optimize"] {
        has(&place.ok(&["dump", "f.sir", "--after", pass]), &["program saxpy<N>", "tabulate [N]"]);
    }
    let plan = ["plan saxpy<N>", "launch saxpy_map(", "kernel saxpy_map"];
    has(&place.ok(&["dump", "f.sir", "--lower", "cpu"]), &plan);
    has(&place.ok(&["dump", "f.sir", "--lower", "cpu", "--only", "simplify"]), &plan);
    has(&place.ok(&["dump", "f.sir", "--lower", "cpu", "--only", ""]), &plan);
    has(&place.ok(&["dump", "f.sir", "--lower", "cpu", "--after", "join"]), &plan);
    for machine in ["metal", "cuda", "webgpu"] {
        has(&place.ok(&["dump", "f.sir", "--lower", machine]), &["plan saxpy<N>", "block [256, 1, 1]", "global.x"]);
    }
    let apart = place.ok(&["dump", "chain.sir", "--lower", "metal", "--without", "fuse"]);
    assert_eq!(apart.matches("\n  launch ").count(), 2, "{apart}");
    let apart = place.ok(&["dump", "chain.sir", "--lower", "metal", "--without", "fusion"]);
    assert_eq!(apart.matches("\n  launch ").count(), 2, "by the name that others have for it: {apart}");
    assert_eq!(
        place.ok(&["dump", "chain.sir", "--after", "fusion"]),
        place.ok(&["dump", "chain.sir", "--after", "fuse"])
    );
    let together = place.ok(&["dump", "chain.sir", "--lower", "metal"]);
    assert_eq!(together.matches("\n  launch ").count(), 1, "{together}");
    let files = |rest: &[&str]| place.ok(&[&["build", "chain.sir", "--target", "metal,c,wgsl"], rest].concat());
    assert!(files(&["--without", "fuse"]).len() > files(&[]).len());
    let both = place.ok(&["dump", "two.sir"]);
    has(&both, &["program iota", "program same"]);
    assert!(!place.ok(&["dump", "two.sir", "--program", "same"]).contains("iota"));
    let unknown = place.fails(2, &["dump", "f.sir", "--after", "frobnicate"]);
    has(
        &unknown,
        &[
            "no pass `frobnicate`",
            "simplify, blend, cse, fuse, hoist, dce, layout, optimize, lower, tiling, memory, matmul, join",
        ],
    );
    has(&place.fails(2, &["dump", "f.sir", "--after", "fuse:70"]), &["`fuse:70` is never: `fuse` runs "]);
    has(&place.fails(2, &["dump", "f.sir", "--after", "fuse", "--without", "fuse"]), &["it is left out"]);
    has(&place.fails(2, &["dump", "f.sir", "--lower", "cpu", "--without", "lower"]), &["cannot be left out"]);
    has(&place.fails(2, &["build", "f.sir", "--target", "c", "--without", "fus"]), &["no pass `fus`"]);
    has(&place.fails(2, &["dump", "two.sir", "--program", "other"]), &["no program `other`", "iota, same"]);
}

#[test]
fn run_reads_and_writes_arrays() {
    let place = Place::new(&[("f.sir", SAXPY)]);
    place.floats("x.npy", &[1.0, 2.0, 3.0]);
    place.floats("y.npy", &[0.5, 0.25, -3.0]);
    for device in ["cpu", "interpreter"] {
        let call = ["run", "f.sir", "--device", device, "--input", "2", "--input", "x.npy", "--input", "y.npy"];
        assert_eq!(place.ok(&call), "f32[3] [2.5, 4.25, 3.0]\n");
        // What is written is read again.
        let out = place.ok(&[&call[..], &["--output", "out"]].concat());
        has(&out, &["result0.npy: f32[3]"]);
        let again = ["run", "f.sir", "--device", device, "-i", "-1", "-i", "out/result0.npy", "-i", "out/result0.npy"];
        assert_eq!(place.ok(&again), "f32[3] [0.0, 0.0, 0.0]\n");
    }
}

#[test]
fn run_takes_sizes_programs_and_rare_types() {
    let place = Place::new(&[("two.sir", TWO)]);
    let out = place.ok(&["run", "two.sir", "--program", "iota", "--size", "N=20"]);
    assert_eq!(out, "i64[20] [0, 1, 2, 3, …, 16, 17, 18, 19]\n");
    assert_eq!(place.ok(&["run", "two.sir", "--program", "iota", "--size", "N=0"]), "i64[0] []\n");
    place.npy("b.npy", "<u2", "(2,)", &[0x80, 0x3f, 0, 0xc0]);
    let call = ["run", "two.sir", "--program", "same", "-i", "b.npy", "-i", "true", "-d", "interpreter"];
    assert_eq!(place.ok(&call), "bf16[2] [1.0, -2.0]\nbool true\n");
    has(&place.ok(&[&call[..], &["-o", "out"]].concat()), &["stored as uint16"]);
    let written = fs::read(place.path("out/result0.npy")).unwrap();
    assert!(written.ends_with(&[0x80, 0x3f, 0, 0xc0]) && written.len() % 64 == 4);
}

#[test]
fn run_explains_mistakes() {
    let place = Place::new(&[("f.sir", SAXPY), ("two.sir", TWO)]);
    place.floats("x.npy", &[1.0, 2.0, 3.0]);
    place.floats("short.npy", &[1.0]);
    place.npy("complex.npy", "<c8", "(1,)", &[0; 8]);
    place.npy("huge.npy", "<f4", "(1152921504606846976,)", &[0; 4]);
    place.npy("cut.npy", "<f4", "(2,)", &[0; 4]);
    place.npy("whole.npy", "<i4", "(3,)", &[0; 12]);
    fs::write(place.path("text.npy"), "1 2 3").unwrap();
    let run = |inputs: &[&str]| {
        let inputs = inputs.iter().flat_map(|input| ["--input", input]);
        ["run", "f.sir"].into_iter().chain(inputs).map(String::from).collect::<Vec<_>>()
    };
    let fails = |code, inputs: &[&str], parts: &[&str]| {
        let args = run(inputs);
        has(&place.fails(code, &args.iter().map(|a| &a[..]).collect::<Vec<_>>()), parts);
    };
    fails(2, &["1"], &["takes 3 arguments, given 1", "f32, f32[N], f32[N]"]);
    fails(2, &["one", "x.npy", "x.npy"], &["argument 1 of saxpy", "`one` is not a number"]);
    fails(2, &["1", "2", "x.npy"], &["argument 2", "an array comes from a .npy file"]);
    fails(1, &["1", "none.npy", "x.npy"], &["none.npy", "No such file"]);
    fails(1, &["1", "text.npy", "x.npy"], &["text.npy: not a .npy file"]);
    fails(1, &["1", "complex.npy", "x.npy"], &["complex.npy: the elements are complex", "a.astype('<f4')"]);
    fails(1, &["1", "huge.npy", "x.npy"], &["huge.npy", "needs 4611686018427387904 bytes"]);
    fails(1, &["1", "cut.npy", "x.npy"], &["needs 8 bytes of data, the file has 4"]);
    fails(1, &["1", "x.npy", "short.npy"], &["argument 3", "extent 1, but N is 3"]);
    fails(1, &["1", "x.npy", "whole.npy"], &["argument 3", "i32"]);
    has(&place.fails(2, &["run", "two.sir"]), &["several programs: iota, same", "--program"]);
    has(&place.fails(2, &["run", "two.sir", "--program", "iota"]), &["--size N=NUMBER"]);
    has(&place.fails(2, &["run", "two.sir", "--program", "iota", "--size", "M=1"]), &["no size `M`", "it has: N"]);
    has(&place.fails(2, &["run", "two.sir", "--program", "iota", "--size", "N"]), &["NAME=NUMBER"]);
    has(&place.fails(1, &["run", "two.sir", "--program", "iota", "-s", "N=1", "-d", "abacus"]), &["abacus"]);
}

#[test]
fn check_reports_everything() {
    let wrong = "program f(%x: f32) -> f32 { %y: f32 = and %x, %x  return %y }\n\
                 program g(%x: f32) -> f32 { %y: f32 = not %x  return %y }\n";
    let unfinished = "program f(%x: f32) -> f32 {\n  %y: f32 = add %x,\n}";
    let place = Place::new(&[("f.sir", SAXPY), ("wrong.sir", wrong), ("unfinished.sir", unfinished)]);
    has(&place.ok(&["check", "f.sir"]), &["f.sir: right; programs 1, kernels 0, cases 1"]);
    let all = place.fails(1, &["check", "unfinished.sir", "none.sir", "f.sir", "wrong.sir"]);
    has(&all, &["unfinished.sir: line 3, column 1", "3 | }", "none.sir", "f.sir: right", "4 errors"]);
    has(&all, &["wrong.sir: in program `f`", "wrong.sir: in program `g`"]);
    has(&place.fails(1, &["dump", "wrong.sir"]), &["wrong.sir", "in program `f`"]);
    fs::write(place.path("bytes.sir"), [0x67, 0xff]).unwrap();
    has(&place.fails(1, &["check", "bytes.sir"]), &["not text"]);
}

#[test]
fn cases_run_on_devices() {
    let place = Place::new(&[("f.sir", SAXPY), ("bad.sir", &SAXPY.replace("24.0", "25.0"))]);
    for device in ["cpu", "interpreter"] {
        assert_eq!(place.ok(&["test", "f.sir", "--device", device]), format!("1 case on {device}, 0 failed\n"));
    }
    let failed = place.fails(1, &["test", "f.sir", "bad.sir"]);
    has(&failed, &["bad.sir: case \"two\": result 0: element 1: expected 25", "1 of 2 cases failed"]);
}

#[test]
fn devices_are_listed() {
    let place = Place::new(&[]);
    let out = place.ok(&["devices"]);
    has(&out, &["* cpu", "interpreter", "threads", "compiler", " entries", "pool", "memory"]);
    let out = place.command(&["devices"]).env("SLYZ_CACHE_DIR", "off").env("SLYZ_DEVICE", "interpreter").output();
    has(&String::from_utf8(out.unwrap().stdout).unwrap(), &["* interpreter", "cache     off"]);
}

#[cfg(feature = "wgpu")]
#[test]
fn adapters_are_listed() {
    if !slyz_trials::Need::Vulkan.is_met(!slyz_run::wgpu::adapters().is_empty()) {
        return;
    }
    let place = Place::new(&[("f.sir", SAXPY)]);
    has(
        &place.ok(&["devices"]),
        &["adapters  ", "kernels see", "threads a block share", "subgroups", "timestamps", " GB/s"],
    );
}

/// A machine without a driver: the GPU is an error with its cure, everything else goes on.
#[cfg(all(feature = "wgpu", target_os = "linux"))]
#[test]
fn no_driver_is_no_trouble() {
    let place = Place::new(&[("f.sir", SAXPY)]);
    let run = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("VK_ICD_FILENAMES", "/nowhere.json").env("VK_DRIVER_FILES", "/nowhere.json");
        let Output { status, stdout, stderr } = command.output().unwrap();
        (status.code(), String::from_utf8([stdout, stderr].concat()).unwrap())
    };
    let (code, text) = run(&["devices"]);
    assert_eq!(code, Some(0), "{text}");
    has(&text, &["* cpu", "not usable here: no GPU adapter", "adapters  none; install a driver"]);
    let (code, text) = run(&["test", "f.sir"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(&["test", "f.sir", "--device", "wgpu"]);
    assert_eq!(code, Some(1), "{text}");
    has(&text, &["no GPU adapter", "mesa-vulkan-drivers", "cpu"]);
}

/// Pipelines are kept between processes, one entry for the adapter; a damaged entry is made anew.
#[cfg(feature = "wgpu")]
#[test]
fn pipelines_are_kept() {
    if !slyz_trials::Need::Vulkan.is_met(!slyz_run::wgpu::adapters().is_empty()) {
        return;
    }
    let place = Place::new(&[("f.sir", SAXPY)]);
    let entries = || -> Vec<PathBuf> {
        fs::read_dir(place.path("cache")).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    let run = || assert_eq!(place.ok(&["test", "f.sir", "--device", "wgpu"]), "1 case on wgpu, 0 failed\n");
    run();
    let first = entries();
    // An adapter without pipeline caches keeps nothing.
    let [entry] = &first[..] else { return assert!(first.is_empty()) };
    let whole = fs::read(entry).unwrap();
    run();
    assert_eq!(entries(), first);
    fs::write(entry, &whole[..whole.len() / 2]).unwrap();
    run();
    assert_eq!(entries(), first);
    assert!(fs::read(entry).unwrap().len() > whole.len() / 2);
}

#[test]
fn usage_and_closed_pipes() {
    let place = Place::new(&[("f.sir", SAXPY)]);
    has(&place.ok(&["--help"]), &["dump", "run", "check", "explain", "test", "devices"]);
    has(&place.fails(2, &[]), &["Usage"]);
    has(&place.fails(2, &["dumb", "f.sir"]), &["dump"]);
    has(&place.fails(2, &["dump", "f.sir", "--only", "cse", "--without", "cse"]), &["cannot be used with"]);
    has(&place.fails(1, &["dump", "none.sir"]), &["cannot read none.sir"]);
    for args in [&["dump", "f.sir", "--lower", "cpu"][..], &["--help"], &["devices"], &["dump", "none.sir"]] {
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let Output { stderr, .. } = child.wait_with_output().unwrap();
        assert!(!String::from_utf8_lossy(&stderr).contains("panicked"), "{args:?}");
    }
}

#[test]
fn build_writes_files() {
    let place = Place::new(&[("f.sir", SAXPY), ("k.sir", "kernel k() grid [1, 1, 1] block [1, 1, 1] {}")]);
    let out = place.ok(&["build", "f.sir", "--target", "metal", "--out", "made"]);
    has(&out, &["made/kernels.metal", "made/harness.swift", "swiftc"]);
    has(
        &fs::read_to_string(place.path("made/kernels.metal")).unwrap(),
        &["kernel void saxpy(", "[[thread_position_in_grid]]"],
    );
    has(
        &fs::read_to_string(place.path("made/harness.swift")).unwrap(),
        &["func run_saxpy(", "func validate()", "--bench"],
    );
    let out = place.ok(&["build", "f.sir", "--target", "metal-single-file", "--out", "one"]);
    has(&out, &["one/kernels.swift"]);
    let shaders = ["build", "f.sir", "--target", "wgsl,spirv,metal", "--out", "all"];
    has(&place.ok(&shaders), &["all/saxpy.wgsl", "all/saxpy.spv", "all/kernels.metal", "spirv-val", "swiftc"]);
    assert!(fs::read(place.path("all/saxpy.spv")).unwrap().starts_with(&0x0723_0203u32.to_le_bytes()));
    let page = place.ok(&["build", "f.sir", "--target", "web", "--out", "page"]);
    has(&page, &["page/index.html", "page/kernels.js", "page/saxpy.wgsl", "http.server"]);
    let project = place.ok(&["build", "f.sir", "--target", "c", "--out", "project", "--project"]);
    has(&project, &["project/slyz_saxpy.h", "project/kernels.c", "project/expected.h", "project/README.md", "make"]);
    let project = |target: &'static str| ["build", "f.sir", "--target", target, "--out", "project", "--project"];
    has(&place.fails(1, &project("wgsl")), &["wgsl has no host program", "c, opencl, cuda, hip"]);
    has(&place.fails(2, &project("ptx")), &["--target cuda"]);
    has(&place.fails(2, &project("c,cuda")), &["one target"]);
    has(&place.fails(2, &["build", "f.sir", "--target", "wgsl,spirv"]), &["SPIR-V is no text", "--out"]);
    has(&place.ok(&["build", "f.sir", "--target", "metal"]), &["// kernels.metal", "// harness.swift"]);
    has(&place.fails(1, &["build", "f.sir", "--target", "metal", "--out", "f.sir"]), &["cannot write f.sir"]);
    has(&place.fails(1, &["build", "k.sir", "--target", "metal", "--out", "made"]), &["no program in the file"]);
    has(&place.fails(2, &["build", "f.sir", "--target", "abacus", "--out", "made"]), &["metal"]);
}

#[test]
fn build_writes_models() {
    let place = Place::new(&[("f.sir", SAXPY), ("s.sir", include_str!("../../../tests/corpus/sort.sir"))]);
    let both = ["build", "f.sir", "--target", "openvino,coreml", "--out", "made"];
    let out = place.ok(&both);
    has(&out, &["made/saxpy.xml", "made/saxpy.bin", "made/saxpy.mlpackage/Manifest.json", "model.mlmodel", "openvino"]);
    let dynamic = fs::read_to_string(place.path("made/saxpy.xml")).unwrap();
    has(&dynamic, &["type=\"Multiply\"", "<dim>-1</dim>", "names=\"output\""]);
    place.ok(&[&both[..], &["--size", "N=8"]].concat());
    has(&fs::read_to_string(place.path("made/saxpy.xml")).unwrap(), &["<dim>8</dim>"]);
    has(&place.fails(1, &[&both[..], &["--size", "Q=8"]].concat()), &["no size `Q`", "there is: N"]);
    has(&place.fails(2, &["build", "f.sir", "--target", "openvino"]), &["more than text", "--out"]);
    has(&place.fails(2, &["build", "f.sir", "--target", "c", "--size", "N=8"]), &["--size is for models"]);
    let out = place.fails(1, &["build", "s.sir", "--target", "openvino", "--out", "made"]);
    has(&out, &["`words`", "not with u32; use i32, or build for the target c"]);
    let out = place.fails(1, &["build", "f.sir", "--target", "coreml", "--precision", "exact", "--out", "made"]);
    has(&out, &["Core ML cannot promise every bit"]);
}

/// What a command prints for each SIR file of a folder is in a file beside it.
fn golden(folder: &str, extension: &str, command: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "sir"));
    files.sort();
    assert!(!files.is_empty());
    let place = Place::new(&[]);
    for path in files {
        let file = path.to_str().unwrap();
        let found = place.ok(&[&command[..1], &[file], &command[1..]].concat());
        let golden = path.with_extension(extension);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &found).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, expected, "{file} differs; BLESS=1 accepts");
    }
}

#[test]
fn explanations_are_golden() {
    golden("golden", "txt", &["explain"]);
}

#[test]
fn shaders_are_golden() {
    golden("shaders", "wgsl", &["build", "--target", "wgsl"]);
}

#[test]
fn explain_shows_numbers_and_draws() {
    let place = Place::new(&[("f.sir", SAXPY)]);
    let out = place.ok(&["explain", "f.sir", "--size", "N=1048576", "--svg", "f.svg"]);
    has(&out, &["with N = 1,048,576", "12·N bytes = 12 MiB", "2·N flops = 2.1 million", "picture: f.svg"]);
    let svg = fs::read_to_string(place.path("f.svg")).unwrap();
    has(&svg, &["<svg xmlns", "prefers-color-scheme:dark", "argument 0", "saxpy_map", "result 0", "4 MiB", "</svg>"]);
    has(&place.fails(2, &["explain", "f.sir", "--size", "M=1"]), &["no size `M`"]);
    has(&place.fails(1, &["explain", "f.sir", "--svg", "no/f.svg"]), &["cannot write no/f.svg"]);
}
