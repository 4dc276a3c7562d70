//! The corpus of `.vex` programs: every file of `tests/corpus`, on every device.
//!
//! What a program prints must be what its comments say: all that stands behind `//>`, line by line. Programs run on the
//! interpreter, on the CPU with both kinds of code, and with the feature `wgpu` on a GPU, as it is and without optional features. Every
//! launch is also made under the shims of Metal, CUDA and HIP, and woven for the CPU in the interpreter of kernels.
#![cfg(feature = "cpu")]

mod devices;
#[path = "../../slyz-cli/src/vex/machine.rs"]
mod machine;
mod recorded;
mod shim;
mod texts;

use machine::OnDevice;
use recorded::{files, programs, recorded, run};
use shim::Language;
use slyz_run::{Device, lazily};
use slyz_sir::back::cuda::{self, Cuda, Vendor};
use slyz_sir::back::msl::{self, Msl};
use slyz_sir::choices::Precision;
use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::pass::weave;
use slyz_sir::road::{Destination, KernelRoad};
use std::sync::Arc;
use texts::{Emit, Text};

/// On a device: failures, and what is missing there.
fn on_device(device: &Arc<dyn Device>, lacks: &[&str]) -> (Vec<String>, usize) {
    let (mut wrong, mut missing) = (vec![], 0);
    for program in programs() {
        devices::sanitizer::note(|| format!("{} on {}", program.name, device.name()));
        for kernel in &program.kernels {
            // Where a compiler is missing another device takes over, and would be tested twice.
            if let Ok(launcher) = device.prepare(&kernel.template) {
                assert_eq!(launcher.device(), device.name(), "{}", program.name);
            }
        }
        // Launches wait for one another, as they do for users; one by one they are run in the tests of `raise`.
        match lazily(|| run(&program, &mut OnDevice::new(device.clone()))) {
            Ok(()) => {}
            // What a poor GPU lacks it must name.
            Err(why) if lacks.iter().any(|lack| why.contains(&format!(" {lack})"))) => missing += 1,
            Err(why) => wrong.push(format!("{}: {why}", program.name)),
        }
    }
    (wrong, missing)
}

fn all_right((wrong, missing): (Vec<String>, usize)) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    println!("{missing} programs need what the device lacks");
}

#[test]
fn there_are_enough() {
    assert!(std::env::var("SLYZ_CORPUS").is_ok() || files().len() >= 60, "{} programs", files().len());
}

#[test]
fn interpreter() {
    let device = slyz_run::device(Some("interpreter")).expect("the interpreter");
    all_right(on_device(&device, &[]));
}

#[test]
fn cpu() {
    all_right(on_device(&(Arc::new(devices::narrow()) as Arc<dyn Device>), &[]));
}

#[test]
fn cpu_with_wide_code() {
    all_right(on_device(&(Arc::new(devices::wide()) as Arc<dyn Device>), &[]));
}

/// No code of the CPU goes outside of an array.
#[test]
fn cpu_under_a_sanitizer() {
    devices::sanitizer::again(&["cpu", "cpu_with_wide_code"], &[]);
}

#[test]
fn gpus() {
    for gpu in devices::gpus_and_opencl() {
        // The adapter that tests require has subgroups; one that somebody names may not.
        let poor = gpu.name == devices::PLAIN || std::env::var_os("SLYZ_ADAPTER").is_some();
        let subgroups = ["SUBGROUP", "SHADER_INT64_ATOMIC_ALL_OPS", "SUBGROUP_BARRIER"];
        let lacks = gpu.lacks.iter().copied().chain(subgroups.into_iter().filter(|_| poor));
        println!("{}", gpu.name);
        all_right(on_device(&Arc::from(gpu.device), &lacks.collect::<Vec<_>>()));
    }
}

/// Every launch as code for blocks, in the interpreter.
#[test]
fn woven() {
    let mut wrong = vec![];
    for made in &recorded() {
        let form = if made.free() { weave::Blocking::Free } else { weave::Blocking::Blocks(made.block) };
        let kernel = match KernelRoad::to(Destination::Cores(form)).end(&made.template) {
            Ok(kernel) => kernel,
            Err(why) => {
                wrong.push(format!("{}: {why}", made.from));
                continue;
            }
        };
        let mut memories = made.memories(&kernel);
        match launch(&kernel, &made.sizes, &mut memories, &made.scalars, &LaunchOptions::default()) {
            Ok(()) => wrong.extend(made.compare(&memories, 0)),
            Err(why) => wrong.push(format!("{}: {why}", made.from)),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every launch in a language of GPUs, compiled as C++ against its shim: all kernels in one file, as users have them.
fn under_the_shim(text: &Text, known: &[&str]) {
    let record = recorded();
    let (mut kernels, mut launched, mut refused) = (vec![], vec![], vec![]);
    for made in &record {
        let to = Destination::Threads { block: made.block, exact: made.free(), folded: false };
        let mut kernel = KernelRoad::to(to).end(&made.template).expect("the road of threads has no end");
        match (text.emit)(&[&kernel]) {
            // What a subgroup does depends on its lanes, and what was recorded has 32.
            Ok((_, descriptions)) if descriptions[0].uses_subgroups && text.language.lanes() != 32 => {}
            Ok(_) => {
                kernel.name = format!("{}_{}", kernel.name, kernels.len());
                kernels.push(kernel);
                launched.push(made);
            }
            Err(error) => refused.push(error.to_string()),
        }
    }
    assert!(refused.iter().all(|error| known.iter().any(|k| error.contains(k))), "{refused:#?}");
    let (source, descriptions) = (text.emit)(&kernels.iter().collect::<Vec<_>>()).expect("kernels that go one by one");
    let Some(library) = shim::build(text.language, &source, descriptions.iter()) else { return };
    let mut wrong = vec![];
    for ((made, kernel), description) in launched.iter().zip(&kernels).zip(&descriptions) {
        let memories = made.memories(kernel);
        let mut bytes: Vec<Vec<u8>> = memories.iter().map(shim::to_bytes).collect();
        let pointers: Vec<_> = bytes.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
        let sizes: Vec<Option<u64>> = made.sizes.iter().copied().map(Some).collect();
        if let Err(why) = library.launch(description, &sizes, &pointers, &made.scalars) {
            wrong.push(format!("{}: {why}", made.from));
            continue;
        }
        let found: Vec<Array> = memories
            .iter()
            .zip(&bytes)
            .map(|(memory, bytes)| shim::from_bytes(memory.ty, memory.shape.clone(), bytes))
            .collect();
        // Mathematics there is the C library's, within what the operator table allows.
        wrong.extend(made.compare(&found, 4));
    }
    println!("{} launches under the shim; refused: {refused:?}", launched.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn under_the_metal_shim() {
    let emit: &Emit = &|kernels| msl::emit(kernels, &Msl::default());
    under_the_shim(&Text { language: Language::Metal, emit }, &["no f64", "no atomic"]);
}

#[test]
fn under_the_shims_of_cuda_and_hip() {
    let amd = |wide_waves| Vendor::Amd { wide_waves };
    for (language, vendor) in
        [(Language::Cuda, Vendor::Nvidia), (Language::Hip(64), amd(true)), (Language::Hip(32), amd(false))]
    {
        let dialect = Cuda { precision: Precision::Table, narrow: true, vendor };
        under_the_shim(&Text { language, emit: &|kernels| cuda::emit_all(kernels, &dialect) }, &[]);
    }
}
