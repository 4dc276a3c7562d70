//! Code of bundles. Shaders: adapters run them instead of writing their own, as SPIR-V and as WGSL, and nothing else than before comes out.
//! CUBIN and PTX: NVRTC makes them where there is no GPU.
#![cfg(all(unix, feature = "cuda", feature = "wgpu"))]

use slyz_run::ahead::{Source, compiled};
use slyz_run::bundle::{self, Target};
use slyz_run::wgpu::{Wgpu, adapters};
use slyz_run::{Argument, ArrayData, Device};
use slyz_sir::program::Program;
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;
use std::path::Path;
use std::process::Command;

/// Mesa's GPU in software, which is a kind that bundles have code for.
const LAVAPIPE: &str = "llvmpipe";

const ROWS: &str = "program rows<R, C>(%x: f32[R, C]) -> f32[R] {
  %y: f32[R] = tabulate [R] |%r: i64| {
    %zero: f32 = const 0.0
    %sum: f32 = fold [C] |%c: i64| {
      %a: f32 = at %x[%r, %c]
      %b: f32 = exp %a
      yield %b
    } with commutative (%zero) |%p: f32, %q: f32| {
      %s: f32 = add %p, %q
      yield %s
    }
    %l: f32 = ln %sum
    yield %l
  }
  return %y
}";

fn ran(device: &dyn Device, program: &Program, shape: [u64; 2]) -> Vec<u8> {
    let x: Vec<f32> = (0..shape[0] * shape[1]).map(|k| (k % 17) as f32 / 16.0).collect();
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    // SAFETY: it reads inside its array.
    let executable = unsafe { device.compile_trusted(program) }.expect("it compiles");
    let args = [Argument::Array { ty: Ty::F32, shape: (&shape[..]).into(), data: ArrayData::Host(&bytes) }];
    let results = executable.run(&shape.map(Some), &args).expect("it runs");
    results[0].data.bytes().expect("its result").to_vec()
}

fn taken(target: Target) -> u64 {
    bundle::taken().into_iter().filter(|(of, _)| *of == target).map(|(_, times)| times).sum()
}

#[test]
fn shaders_of_bundles_are_run() {
    let found = adapters().iter().any(|adapter| adapter.name.contains(LAVAPIPE));
    if !slyz_trials::Need::Vulkan.is_met(found) {
        return;
    }
    let program = parse_program(ROWS).expect("text of a program");
    let open = || [Wgpu::new(Some(LAVAPIPE)), Wgpu::plain(Some(LAVAPIPE))];
    let shapes = [[3, 5], [40, 1_000], [1, 70_000]];
    let before = open().map(|device| shapes.map(|shape| ran(&device, &program, shape)));
    assert!(bundle::taken().is_empty());
    let objects = compiled(Source::Program(&program), &[Target::SpirV, Target::Wgsl]).expect("shaders");
    // SAFETY: that is what was made.
    unsafe { bundle::carry(bundle::written(&objects).leak()) }.expect("a bundle");
    let [vulkan, plain] = open();
    assert!(before[0] == shapes.map(|shape| ran(&vulkan, &program, shape)));
    // The text that people are shown, and pipelines.
    let (words, texts) = (taken(Target::SpirV), taken(Target::Wgsl));
    assert!(words > 0 && texts > 0, "{words} {texts}");
    assert!(before[1] == shapes.map(|shape| ran(&plain, &program, shape)));
    assert_eq!(taken(Target::SpirV), words, "adapters without passthrough get no SPIR-V");
    assert!(taken(Target::Wgsl) > texts + 1);
}

/// Set where this program runs once more, with NVRTC among its libraries.
const AGAIN: &str = "SLYZ_TEST_NVRTC";

#[test]
fn cubin_and_ptx_are_made_without_a_gpu() {
    if std::env::var_os(AGAIN).is_some() {
        let program = parse_program(ROWS).expect("text of a program");
        let objects = compiled(Source::Program(&program), &[Target::Cubin(90), Target::Ptx(80)]).expect("code");
        let bundle = bundle::written(&objects);
        let has = |text: &[u8]| bundle.windows(text.len()).any(|piece| piece == text);
        assert!(has(b"\x7fELF"), "CUBIN is a file of ELF");
        assert!(has(b".target sm_80"), "PTX says what it is for");
        return;
    }
    if !slyz_trials::has_nvrtc() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/nvrtc").canonicalize().expect("the folder");
    let library = std::fs::read_dir(&folder).expect("its files").map(|entry| entry.expect("a file").path());
    let library = library.filter(|path| path.to_string_lossy().contains("libnvrtc.so"));
    // Found by the name that CUDA's toolkit has it under.
    let named = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(library.max().expect("NVRTC"), named.path().join("libnvrtc.so")).expect("a link");
    let paths = std::env::join_paths([named.path(), &folder]).expect("paths");
    let done = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "cubin_and_ptx_are_made_without_a_gpu"])
        .env("LD_LIBRARY_PATH", paths)
        .env(AGAIN, "1")
        .output()
        .expect("it starts");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}
