//! The program runs where there is no compiler, and nothing of it in the interpreter.

use std::process::{Command, Output};

/// Runs the program in an empty environment, on a device.
fn run(args: &[&str], device: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slyz-bundled"));
    command
        .args(args)
        .env_clear()
        .env("SLYZ_ADAPTER", LAVAPIPE)
        .env("PATH", "/nowhere")
        .env("SLYZ_CACHE_DIR", "off")
        .env("SLYZ_DEVICE", device);
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn bundled_functions_run_as_code() {
    let done = run(&[], "cpu");
    assert!(done.status.success(), "{}", text(&done.stderr));
    // Nobody warns that the interpreter takes over.
    assert_eq!(text(&done.stderr), "");
    let expected = "prices  [3.920, 12.822, 26.803] on cpu\n\
                    softmax [0.090, 0.245, 0.665, 0.333, 0.333, 0.333] on cpu\n\
                    views   [0.500, 0.500, 0.731, 0.269, 0.881, 0.119] [0.269, 0.731, 0.500, 0.500] on cpu\n\
                    layer   [1.0, 2.0, 3.0, 4.0] on cpu\n\
                    pairs   [10.0, 14.0, 18.0] on cpu\n\
                    relu    [0.0, 2.0, 0.0, 4.0]\n";
    assert_eq!(text(&done.stdout), expected);
}

#[test]
fn what_is_not_bundled_says_so() {
    let done = run(&["--new"], "cpu");
    assert!(text(&done.stdout).ends_with("new     [2.0, 4.0] on interpreter\n"), "{}", text(&done.stdout));
    let why = "the bundle that this program carries, for ";
    assert!(text(&done.stderr).contains(why), "{}", text(&done.stderr));
}

/// Mesa's GPU in software, which is a kind that bundles have code for.
const LAVAPIPE: &str = "llvmpipe";

/// Shaders are not written where the bundle has them, of functions and of kernels.
#[test]
fn shaders_of_the_bundle_are_run() {
    let found = slyz_run::wgpu::adapters().iter().any(|adapter| adapter.name.contains(LAVAPIPE));
    if !slyz_trials::Need::Vulkan.is_met(found) {
        return;
    }
    let done = run(&["--code"], "wgpu");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let out = text(&done.stdout);
    assert!(out.contains("prices  [3.920, 12.822, 26.803] on wgpu"), "{out}");
    assert!(out.contains("relu    [0.0, 2.0, 0.0, 4.0]"), "{out}");
    // Where subgroups have another size than usual, those of folds are written.
    let taken =
        |of: &str| out.lines().find_map(|line| line.strip_prefix("code")?.strip_suffix(of)?.trim().parse().ok());
    assert!(taken(" of spirv").is_some_and(|times: u64| times >= 4), "{out}");
    assert!(taken(" of wgsl").is_some_and(|times: u64| times >= 4), "{out}");
}

/// The usual device may be a GPU, whose compiler is the driver's.
#[test]
fn bundled_functions_run_on_the_usual_device() {
    let done = run(&[], "auto");
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("relu    [0.0, 2.0, 0.0, 4.0]"), "{}", text(&done.stdout));
}
