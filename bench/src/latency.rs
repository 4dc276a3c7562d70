//! How long it takes until a function runs: tracing and passes, the C compiler, and the start of a second process.
//!
//! Processes are what is measured, so this program starts itself again, with a disk cache of its own.

use crate::contest::Failure;
use crate::jobs::black_scholes;
use crate::timing::{Timing, seconds};
use std::process::Command;

/// The hidden option of a process that compiles once.
pub const FLAG: &str = "--compile-once";

/// Compiles Black-Scholes and calls it, and prints both times in seconds.
pub fn compile_once() -> Result<(), Failure> {
    let (compile, f) = seconds(|| slyz::compile(black_scholes));
    let f = f?;
    let options = vec![1.0f32; 16];
    let (call, result) = seconds(|| f.call(&options, &options, &options));
    result?;
    println!("{compile} {call}");
    Ok(())
}

/// One process: seconds of the compilation and of the first call.
fn process(cache: &std::path::Path, cc: Option<&str>) -> Result<(f64, f64), Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(FLAG).env("SLYZ_CACHE_DIR", cache);
    if let Some(cc) = cc {
        command.env("SLYZ_CC", cc);
    }
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(compile)), Some(Ok(call))) => Ok((compile, call)),
        _ => Err(format!("a process that compiles said: {text}{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Tracing and passes alone; the whole first compilation; the second process; its first call.
pub fn measure() -> Result<Vec<Timing>, Failure> {
    const PROCESSES: usize = 9;
    let mut times = [const { vec![] }; 4];
    for _ in 0..PROCESSES {
        let fresh = tempfile::tempdir()?;
        // Without a compiler the interpreter takes over after the same tracing and passes.
        times[0].push(process(fresh.path(), Some("no-such-compiler"))?.0);
        times[1].push(process(fresh.path(), None)?.0);
        let (compile, call) = process(fresh.path(), None)?;
        times[2].push(compile);
        times[3].push(call);
    }
    let names = [
        "Black-Scholes: tracing, passes and C text, no compiler",
        "Black-Scholes: first compilation, with the C compiler",
        "Black-Scholes: compilation in a second process, from the disk cache",
        "Black-Scholes: first call after that",
    ];
    Ok(names.iter().zip(times).map(|(name, times)| Timing::of(name, times)).collect())
}
