//! Filters, scans and histograms, whose elements are cut into chunks for whatever core is free: every element type, lengths around the edges of
//! vectors and chunks, machines with short and long vectors, any number of threads, against the interpreter.

#![cfg(feature = "cpu")]

mod devices;

use devices::{as_array, run, wide};
use slyz_run::cpu::{Cpu, CpuConfig};
use slyz_sir::interp::{Array, Value, program};
use slyz_sir::program::Program;
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;

const LENGTHS: [u64; 10] = [0, 1, 31, 32, 33, 1000, 16_384, 16_385, 50_001, 65_537];

const NUMBERS: [&str; 12] = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"];

fn program_of(text: &str) -> Program {
    parse_program(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Small numbers of both signs.
fn numbers(n: u64) -> Value {
    let number = |i: u64| (i.wrapping_mul(7_919) >> 3) % 201;
    let data = (0..n).map(|i| u64::from((number(i) as i32 - 100) as u32)).collect();
    Value::Array(Array { ty: Ty::I32, shape: vec![n], data })
}

/// The CPU with a compiler that makes code for a smaller machine.
fn without(folder: &std::path::Path, flags: &str) -> Cpu {
    let path = folder.join("compiler.sh");
    let system = CpuConfig::from_env().cc.join(" ");
    std::fs::write(&path, format!("exec {system} \"$@\" {flags}\n")).unwrap();
    let cc = vec!["sh".into(), path.to_str().unwrap().into()];
    Cpu::new(CpuConfig { cc, cache_dir: None, ..CpuConfig::from_env() })
}

/// Holds a program of one array of numbers to the interpreter.
fn holds(name: &str, text: &str, counted: bool, builds: &[Cpu]) {
    let program = program_of(text);
    for n in LENGTHS {
        let sizes: Vec<Option<u64>> = if counted { vec![Some(n), None] } else { vec![Some(n)] };
        let args = [numbers(n)];
        let expected = program::run(&program, &sizes, &args).unwrap();
        let expected: Vec<Value> = expected.iter().map(|value| Value::Array(as_array(value))).collect();
        for (k, build) in builds.iter().enumerate() {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let found = pool.install(|| run(build, &program, &sizes, &args)).unwrap();
                assert!(expected == found, "{name}: {n} elements, {threads} threads, machine {k}");
            }
        }
    }
}

fn on_all_machines(test: impl Fn(&[Cpu])) {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let machines: &[&str] =
        if cfg!(target_arch = "x86_64") { &["", "-mno-avx512f", "-mno-avx512f -mno-fma -mno-avx"] } else { &[""] };
    let mut builds: Vec<Cpu> =
        machines.iter().zip(&folders).map(|(flags, folder)| without(folder.path(), flags)).collect();
    builds.push(wide());
    test(&builds);
}

#[test]
fn filters_keep_every_type_in_order() {
    let kept: Vec<String> = NUMBERS.iter().map(|ty| format!("%{ty}s: {ty}[K]")).collect();
    let casts: Vec<String> = NUMBERS.iter().map(|ty| format!("%{ty}: {ty} = cast %odd")).collect();
    let names: Vec<String> = NUMBERS.iter().map(|ty| format!("%{ty}")).collect();
    let all: Vec<String> = NUMBERS.iter().map(|ty| format!("%{ty}s")).collect();
    let types: Vec<String> = NUMBERS.iter().map(|ty| format!("{ty}[K]")).collect();
    let text = format!(
        "program g<N, counted K>(%x: i32[N]) -> ({}, bool[K]) {{
          %zero: i32 = const 0
          %one: i32 = const 1
          {}, %bools: bool[K] = filter N as K |%i: i64| {{
            %a: i32 = at %x[%i]
            %keep: bool = gt %a, %zero
            %odd: i32 = or %a, %one
            %same: bool = eq %odd, %a
            {}
            yield %keep, {}, %same
          }}
          return {}, %bools
        }}",
        types.join(", "),
        kept.join(", "),
        casts.join("\n"),
        names.join(", "),
        all.join(", "),
    );
    on_all_machines(|builds| holds("filter of all types", &text, true, builds));
}

#[test]
fn filters_with_loops_and_far_reads() {
    let text = "program g<N, counted K>(%x: i32[N]) -> (i32[K], i64[K]) {
      %zero: i32 = const 0
      %one: i64 = const 1
      %three: i64 = const 3
      %last: i64 = extent N
      %kept: i32[K], %where: i64[K] = filter N as K |%i: i64| {
        %a: i32 = at %x[%i]
        %b: i64 = sub %last, %one
        %c: i64 = sub %b, %i
        %d: i32 = at %x[%c]
        %start: i64 = const 0
        %sum: i32 = for %start to %three step %one (%a) |%k: i64, %s: i32| { %t: i32 = add %s, %d  yield %t }
        %keep: bool = gt %sum, %zero
        yield %keep, %sum, %c
      }
      return %kept, %where
    }";
    on_all_machines(|builds| holds("filter with loops", text, true, builds));
}

/// Types whose sums do not depend on the grouping.
const WHOLE: [&str; 8] = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"];

#[test]
fn scans_of_every_type() {
    on_all_machines(|builds| {
        for ty in WHOLE {
            let text = format!(
                "program g<N>(%x: i32[N]) -> ({ty}[N], {ty}[N]) {{
                  %zero: {ty} = const 0
                  %sums: {ty}[N] = scan [N] |%i: i64| {{ %a: i32 = at %x[%i]  %b: {ty} = cast %a  yield %b }}
                    with commutative (%zero) |%p: {ty}, %q: {ty}| {{ %r: {ty} = add %p, %q  yield %r }}
                  %highest: {ty}[N] = scan [N] |%i: i64| {{ %a: i32 = at %x[%i]  %b: {ty} = cast %a  yield %b }}
                    with (%zero) |%p: {ty}, %q: {ty}| {{ %r: {ty} = max %p, %q  yield %r }}
                  return %sums, %highest
                }}"
            );
            holds(ty, &text, false, builds);
        }
    });
}

/// Sums of whole numbers are exact in floats that can hold them.
#[test]
fn scans_of_floats() {
    on_all_machines(|builds| {
        for ty in ["f32", "f64"] {
            let text = format!(
                "program g<N>(%x: i32[N]) -> ({ty}[N], {ty}[N], bool[N]) {{
                  %zero: {ty} = const 0.0
                  %no: bool = const false
                  %edge: i32 = const 90
                  %sums: {ty}[N] = scan [N] |%i: i64| {{ %a: i32 = at %x[%i]  %b: {ty} = cast %a  yield %b }}
                    with commutative (%zero) |%p: {ty}, %q: {ty}| {{ %r: {ty} = add %p, %q  yield %r }}
                  %from: {ty}[N], %starts: bool[N] = scan [N] |%i: i64| {{
                    %a: i32 = at %x[%i]
                    %b: {ty} = cast %a
                    %start: bool = gt %a, %edge
                    yield %b, %start
                  }} with (%zero, %no) |%p: {ty}, %f: bool, %q: {ty}, %g: bool| {{
                    %sum: {ty} = add %p, %q
                    %r: {ty} = select %g, %q, %sum
                    %h: bool = or %f, %g
                    yield %r, %h
                  }}
                  return %sums, %from, %starts
                }}"
            );
            holds(ty, &text, false, builds);
        }
    });
}

#[test]
fn histograms_of_every_type() {
    on_all_machines(|builds| {
        for ty in WHOLE {
            let text = format!(
                "program g<N>(%x: i32[N]) -> ({ty}[150], {ty}[150]) {{
                  %zero: {ty} = const 0
                  %one: {ty} = const 1
                  %counts: {ty}[150] = scatter [N] into [150] |%i: i64| {{ %a: i32 = at %x[%i]  %k: i64 = cast %a  yield %k, %one }}
                    with commutative (%zero) |%p: {ty}, %q: {ty}| {{ %r: {ty} = add %p, %q  yield %r }}
                  %sums: {ty}[150] = scatter [N] into [150] |%i: i64| {{
                    %a: i32 = at %x[%i]
                    %k: i64 = cast %a
                    %v: {ty} = cast %i
                    yield %k, %v
                  }} with (%zero) |%p: {ty}, %q: {ty}| {{ %r: {ty} = add %p, %q  yield %r }}
                  return %counts, %sums
                }}"
            );
            holds(ty, &text, false, builds);
        }
    });
}
