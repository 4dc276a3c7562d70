//! Whatever text it is, reading SIR returns; what verifies is written for every target.
#![no_main]

use slyz_sir::back::harness::{Target, emit};
use slyz_sir::{text, verify};

libfuzzer_sys::fuzz_target!(|source: &str| {
    let Ok((module, _)) = text::parse_file(source) else { return };
    let printed = text::print_module(&module);
    assert_eq!(text::parse_module(&printed).map(|again| text::print_module(&again)), Ok(printed));
    for program in module.programs.iter().filter(|program| verify::program(program).is_ok()) {
        for target in [Target::Metal, Target::C, Target::Wgsl, Target::Spirv] {
            // What a target lacks is told; only a panic is a fault.
            let _ = emit(std::slice::from_ref(program), target);
        }
    }
});
