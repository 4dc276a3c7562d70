//! Measures what the choice between two devices hangs on, in some tenths of a second, and keeps it on disk.

use super::operators;
use super::policy::Measured;
use crate::{Argument, CacheConfig, Device, Error, Executable, hash};
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;
use std::time::Instant;

/// Elements that go back and forth.
const STREAM: usize = 4 << 20;
/// Elements that are computed with.
const COMPUTED: usize = 1 << 18;
/// The shortest of so many times counts.
const TIMES: usize = 5;

/// Reads and writes.
const MAP: &str = "program map<N>(%x: f32[N]) -> f32[N] {
  %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
  return %y }";
/// Reads.
const SUM: &str = "program sum<N>(%x: f32[N]) -> f32 {
  %zero: f32 = const 0.0
  %s: f32 = fold [N] |%i: i64| { %a: f32 = at %x[%i]  yield %a } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
  return %s }";
/// Computes.
const LOOP: &str = "program turns<N>(%x: f32[N]) -> f32 {
  %zero: f32 = const 0.0  %none: i64 = const 0  %one: i64 = const 1  %many: i64 = const 256  %c: f32 = const 0.25
  %s: f32 = fold [N] |%i: i64| {
    %a: f32 = at %x[%i]
    %e: f32 = for %none to %many step %one (%a) |%k: i64, %v: f32| { %w: f32 = mul %v, %v  %u: f32 = sub %w, %c  yield %u }
    yield %e } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
  return %s }";

/// What is on disk for the two devices, or else what measuring gives.
pub(super) fn kept(cpu: &dyn Device, gpu: &dyn Device) -> Result<Measured, Error> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).to_string();
    let pieces = ["auto", env!("CARGO_PKG_VERSION"), &cpu.describe(), &gpu.describe(), &threads];
    let key = hash::of_pieces(&pieces.map(str::as_bytes));
    let disk = CacheConfig::from_env().open();
    if let Some(measured) = disk.as_ref().and_then(|disk| unpack(&disk.load(&key)?)) {
        return Ok(measured);
    }
    let measured = measure(cpu, gpu)?;
    if let Some(disk) = disk {
        disk.store(&key, &pack(&measured));
    }
    Ok(measured)
}

fn pack(m: &Measured) -> Vec<u8> {
    let all = [m.gpu_call, m.upload, m.download, m.gpu_operators, m.cpu_call, m.cpu_bytes, m.cpu_operators];
    all.into_iter().flat_map(f64::to_le_bytes).collect()
}

/// Numbers that are no measurement count as nothing.
fn unpack(bytes: &[u8]) -> Option<Measured> {
    let (words, rest) = bytes.as_chunks::<8>();
    let all: Vec<f64> = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
    let &[gpu_call, upload, download, gpu_operators, cpu_call, cpu_bytes, cpu_operators] = &all[..] else {
        return None;
    };
    let sound = rest.is_empty() && all.iter().all(|x| x.is_finite() && *x > 0.0);
    sound.then_some(Measured { gpu_call, upload, download, gpu_operators, cpu_call, cpu_bytes, cpu_operators })
}

/// Measures both devices.
pub(super) fn measure(cpu: &dyn Device, gpu: &dyn Device) -> Result<Measured, Error> {
    let x = vec![1.0f32; STREAM];
    let cpu = Watch::new(cpu)?;
    let gpu = Watch::new(gpu)?;
    let stream = (STREAM * 4) as f64;
    let turns = cpu.operators(COMPUTED);
    let rate = |work: f64, seconds: f64, call: f64| work / (seconds - call).max(1e-9);
    let gpu_call = gpu.seconds(&gpu.map, &x[..16])?;
    let cpu_call = cpu.seconds(&cpu.map, &x[..16])?;
    let up = gpu.seconds(&gpu.sum, &x)?;
    let both = gpu.seconds(&gpu.map, &x)?;
    Ok(Measured {
        gpu_call,
        upload: rate(stream, up, gpu_call),
        download: rate(stream, both, up),
        gpu_operators: rate(turns, gpu.seconds(&gpu.turns, &x[..COMPUTED])?, gpu_call),
        cpu_call,
        cpu_bytes: rate(2.0 * stream, cpu.seconds(&cpu.map, &x)?, cpu_call),
        cpu_operators: rate(turns, cpu.seconds(&cpu.turns, &x[..COMPUTED])?, cpu_call),
    })
}

/// A device and what is run on it.
struct Watch {
    map: std::sync::Arc<dyn Executable>,
    sum: std::sync::Arc<dyn Executable>,
    turns: std::sync::Arc<dyn Executable>,
}

impl Watch {
    fn new(device: &dyn Device) -> Result<Watch, Error> {
        let compile = |text: &str| {
            let broken = |why: String| Error::Plan { name: "a measurement".into(), why };
            device.compile(&parse_program(text).map_err(|error| broken(error.to_string()))?)
        };
        Ok(Watch { map: compile(MAP)?, sum: compile(SUM)?, turns: compile(LOOP)? })
    }

    /// Seconds of a call from the host to the host.
    fn seconds(&self, executable: &std::sync::Arc<dyn Executable>, x: &[f32]) -> Result<f64, Error> {
        let mut best = f64::INFINITY;
        let n = x.len() as u64;
        // The first one may compile, and finds its memory cold.
        for _ in 0..=TIMES {
            let start = Instant::now();
            for output in executable.run(&[Some(n)], &[Argument::host(Ty::F32, &[n], x)])? {
                output.data.bytes()?;
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(best)
    }

    /// The operators of the loop over so many elements.
    fn operators(&self, n: usize) -> f64 {
        let Ok(program) = parse_program(LOOP) else { return 1.0 };
        operators(&program).at(&|_| Some(n as u64)).unwrap_or(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let one = Measured {
            gpu_call: 1.0,
            upload: 2.0,
            download: 3.0,
            gpu_operators: 4.0,
            cpu_call: 5.0,
            cpu_bytes: 6.0,
            cpu_operators: 7.0,
        };
        assert_eq!(unpack(&pack(&one)), Some(one));
        assert_eq!(unpack(&pack(&Measured { upload: f64::NAN, ..one })), None);
        assert_eq!(unpack(&pack(&Measured { gpu_call: 0.0, ..one })), None);
        assert_eq!(unpack(&pack(&one)[1..]), None);
    }

    #[test]
    fn loops_are_counted() {
        let program = parse_program(LOOP).unwrap();
        let found = operators(&program).at(&|_| Some(1000)).unwrap();
        assert!((512_000..600_000).contains(&found), "{found}");
    }
}
