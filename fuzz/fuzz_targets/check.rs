//! Whatever text it is, checking returns; what is right is lowered to kernels that verify, and written for every target.
#![no_main]

use slyz_lang::check::{Dialect, check};
use slyz_sir::back::harness::{Explicit, Target, emit_kernels};
use slyz_sir::road::Road;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (file, parsed) = slyz_lang::parse::parse(text);
    let checked = check(&file, Dialect::Vex);
    slyz_lang::render::render("fuzz.vex", text, &checked.diagnostics);
    if parsed.iter().chain(&checked.diagnostics).any(|diagnostic| diagnostic.is_error()) {
        return;
    }
    let Ok(kernels) = slyz_lang::host::kernels(&checked.program) else { return };
    for kernel in &kernels {
        assert_eq!(slyz_sir::verify::kernel(&kernel.template.kernel), Ok(()));
        let explicit = [Explicit { template: &kernel.template, block: [64, 1, 1] }];
        for target in [Target::Metal, Target::C, Target::Wgsl, Target::Spirv] {
            // What a target lacks is told; only a panic is a fault.
            let _ = emit_kernels(&explicit, target, &|to| Road::to(to));
        }
    }
});
