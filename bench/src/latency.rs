//! How long it takes until a function runs: tracing and passes, the C compiler, and the start of a second process.
//!
//! Processes are what is measured, so this program starts itself again, with a disk cache of its own.

use crate::contest::Failure;
use crate::jobs::black_scholes;
use crate::timing::{Timing, seconds};
use std::process::Command;

/// The hidden option of a process that compiles once.
pub const FLAG: &str = "--compile-once";

/// What a process reports, in this order.
const PARTS: [&str; 4] =
    ["tracing", "passes, lowering and C text", "compilation, all of it", "first call, on 16 elements"];

/// Traces, lowers, compiles and calls Black-Scholes, and prints the times in seconds.
pub fn compile_once() -> Result<(), Failure> {
    let interpreter = slyz::device("interpreter")?;
    let (tracing, traced) = seconds(|| slyz::compile_on(&interpreter, black_scholes));
    let traced = traced?;
    let (passes, text) = seconds(|| {
        let plan = slyz_sir::lower::cpu::lower(&slyz_sir::pass::optimize(traced.program()));
        slyz_sir::back::c::emit(&plan, false)
    });
    text?;
    let (compile, f) = seconds(|| slyz::compile(black_scholes));
    let f = f?;
    let options = vec![1.0f32; 16];
    let (call, result) = seconds(|| f.call(&options, &options, &options));
    result?;
    println!("{tracing} {passes} {compile} {call}");
    Ok(())
}

/// One process: seconds of each part.
fn process(cache: &std::path::Path) -> Result<Vec<f64>, Failure> {
    let output = Command::new(std::env::current_exe()?).arg(FLAG).env("SLYZ_CACHE_DIR", cache).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    if numbers.len() == PARTS.len() {
        return Ok(numbers);
    }
    Err(format!("a process that compiles said: {text}{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// The parts in a first process, which needs the C compiler, and in a second one, which finds all in the cache.
pub fn measure() -> Result<Vec<Timing>, Failure> {
    const PROCESSES: usize = 9;
    let mut times = vec![vec![]; 2 * PARTS.len()];
    for _ in 0..PROCESSES {
        let cache = tempfile::tempdir()?;
        let both = [process(cache.path())?, process(cache.path())?];
        times.iter_mut().zip(both.into_iter().flatten()).for_each(|(times, time)| times.push(time));
    }
    let names = ["first", "second"].iter().flat_map(|process| PARTS.map(|part| format!("{process} process: {part}")));
    Ok(names.zip(times).map(|(name, times)| Timing::of(&name, times)).collect())
}
