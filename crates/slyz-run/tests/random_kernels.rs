//! Random programs with kernels print the same on every device as in the interpreter.
#![cfg(feature = "cpu")]

mod devices;
mod kernels;
#[path = "../../slyz-cli/src/vex/machine.rs"]
mod machine;

use machine::OnDevice;
use slyz_lang::check::{Dialect, check};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::host;
use slyz_lang::parse::parse;
use slyz_lang::render::render;
use slyz_run::{Device, Interpreter};
use slyz_sir::choices::Precision;
use slyz_trials::trials;
use std::sync::Arc;

/// What a program prints on a device, or what is said instead.
fn printed(text: &str, device: &Arc<dyn Device>) -> Result<String, String> {
    let (file, mut diagnostics) = parse(text);
    let checked = check(&file, Dialect::Vex);
    diagnostics.extend(checked.diagnostics);
    diagnostics.retain(Diagnostic::is_error);
    if !diagnostics.is_empty() {
        return Err(render("random.vex", text, &diagnostics));
    }
    let mut kernels = host::kernels(&checked.program).map_err(|error| format!("{error:?}"))?;
    // Else a loop that sums is a fold, whose order is free.
    for kernel in &mut kernels {
        Arc::make_mut(&mut kernel.template).kernel.precision = Some(Precision::Exact);
    }
    let mut out = vec![];
    host::run(&file, &kernels, &mut OnDevice::new(device.clone()), &mut out)
        .map_err(|diagnostic| render("random.vex", text, &[diagnostic]))?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

/// The program with what it must print, as a file of the corpus.
fn as_corpus_file(seed: u64, text: &str, expected: &str) -> String {
    let told: String = expected.lines().map(|line| format!("//> {line}\n")).collect();
    format!("// Random program {seed}.\n\n{text}{told}")
}

fn try_programs(name: &'static str, usual: u64, devices: &[(&str, Arc<dyn Device>)]) {
    let interpreter: Arc<dyn Device> = Arc::new(Interpreter);
    for seed in trials(name, usual) {
        let text = kernels::program(seed);
        let expected = printed(&text, &interpreter).unwrap_or_else(|error| panic!("{error}\n{text}"));
        for (device_name, device) in devices {
            let wrong = match printed(&text, device) {
                Ok(found) if found == expected => continue,
                Err(error) if error.contains("which this adapter does not have") => continue,
                Ok(found) => format!("prints\n{found}\ninstead of\n{expected}"),
                Err(error) => error,
            };
            let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random_{seed}.vex"));
            std::fs::write(&path, as_corpus_file(seed, &text, &expected)).expect("the build directory is writable");
            panic!("on {device_name} {} {wrong}\nIn tests/corpus it stays.", path.display());
        }
    }
}

#[test]
fn random_kernels() {
    try_programs("random_kernels", 40, &[("cpu", Arc::new(devices::narrow()))]);
}

#[test]
fn random_kernels_in_wide_code() {
    try_programs("random_kernels_in_wide_code", 20, &[("wide cpu", Arc::new(devices::wide()))]);
}

#[test]
fn random_kernels_on_gpus() {
    let gpus: Vec<(&str, Arc<dyn Device>)> =
        devices::gpus().into_iter().map(|gpu| (gpu.name, Arc::from(gpu.device))).collect();
    try_programs("random_kernels_on_gpus", 40, &gpus);
}
