//! How far sums are from the truth, and which of them have the interpreter's bits.
//!
//! The yardstick of precision is NumPy's pairwise sum, written down here. The promise about bits is the book's: folds of one axis,
//! of whole arrays and along rows have the interpreter's on the CPU; folds down columns, by lanes and in products of
//! matrices have an order of their own, and no fold depends on threads or on the width of vectors.

#![cfg(feature = "cpu")]

mod devices;

use devices::{as_array, run};
use slyz_run::Device;
use slyz_run::cpu::{Cpu, CpuConfig};
use slyz_sir::interp::{Array, Value, program};
use slyz_sir::lower::cpu::keeps_order;
use slyz_sir::pass::optimize;
use slyz_sir::program::Program;
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;

const ADD: &str = "with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }";

fn program_of(text: &str) -> Program {
    parse_program(&text.replace("ADD", ADD)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Sums of a whole array, of rows and of columns.
fn sums() -> Program {
    program_of(
        "program sums<N, M>(%x: f32[N, M]) -> (f32, f32[N], f32[M]) {
          %zero: f32 = const 0.0
          %all: f32 = fold [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  yield %a } ADD
          %rows: f32[N] = tabulate [N] |%i: i64| {
            %s: f32 = fold [M] |%j: i64| { %a: f32 = at %x[%i, %j]  yield %a } ADD
            yield %s
          }
          %columns: f32[M] = tabulate [M] |%j: i64| {
            %s: f32 = fold [N] |%i: i64| { %a: f32 = at %x[%i, %j]  yield %a } ADD
            yield %s
          }
          return %all, %rows, %columns
        }",
    )
}

fn matrix(n: u64, m: u64, values: &[f32]) -> Value {
    Value::Array(Array { ty: Ty::F32, shape: vec![n, m], data: values.iter().map(|x| x.to_bits().into()).collect() })
}

fn floats(value: &Value) -> Vec<f32> {
    as_array(value).data.iter().map(|&bits| f32::from_bits(bits as u32)).collect()
}

/// NumPy's sum: up to 128 elements by 8 accumulators, more by halves that are multiples of 8.
fn pairwise(x: &[f32]) -> f32 {
    match x.len() {
        0..8 => x.iter().fold(-0.0, |sum, x| sum + x),
        n @ 8..=128 => {
            let mut r: [f32; 8] = x[..8].try_into().unwrap();
            for eight in x[8..n - n % 8].chunks(8) {
                r.iter_mut().zip(eight).for_each(|(r, x)| *r += x);
            }
            let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
            x[n - n % 8..].iter().fold(sum, |sum, x| sum + x)
        }
        n => {
            let half = n / 2 - n / 2 % 8;
            pairwise(&x[..half]) + pairwise(&x[half..])
        }
    }
}

/// The error, relative to the sum of what is added.
fn error(sum: f32, x: &[f32]) -> f64 {
    let exact: f64 = x.iter().map(|&x| f64::from(x)).sum();
    let size: f64 = x.iter().map(|&x| f64::from(x.abs())).sum();
    (f64::from(sum) - exact).abs() / size.max(f64::MIN_POSITIVE)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }
}

/// Kinds of data, by name. Short arrays of random numbers are drawn often: a few say nothing.
fn data(n: usize) -> Vec<(&'static str, Vec<f32>)> {
    let mut random = Random(n as u64);
    let mut draw = |f: fn(f32) -> f32| (0..n).map(|_| f(random.next())).collect::<Vec<f32>>();
    let mut data = vec![
        ("constants", vec![0.1; n]),
        ("other constants", vec![1.0 / 3.0; n]),
        ("a ramp", (0..n).map(|i| i as f32 * 0.001).collect()),
        ("a ramp down", (0..n).map(|i| (n - i) as f32 / 7.0).collect()),
    ];
    for _ in 0..if n > 10_000 { 1 } else { 8 } {
        data.push(("random", draw(|x| x)));
        data.push(("random of both signs", draw(|x| x - 0.5)));
        data.push(("random squares", draw(|x| x * x)));
    }
    data
}

const LENGTHS: [usize; 9] = [17, 100, 128, 1000, 1024, 4097, 40_000, 65_536, 200_000];

/// Errors of single sums are a matter of luck, so kinds of data are judged over all lengths, by the root of the mean of squares. They are
/// no larger than NumPy's, or than what rounding the exact sum may cost.
fn is_as_exact_as_numpy(name: &str, sum: impl Fn(&[f32]) -> Vec<(&'static str, f32)>) {
    let mut errors: std::collections::BTreeMap<(&str, &str), [f64; 3]> = Default::default();
    for n in LENGTHS {
        for (kind, x) in data(n) {
            for (how, found) in sum(&x) {
                let [ours, theirs, count] = errors.entry((how, kind)).or_default();
                *ours += error(found, &x).powi(2);
                *theirs += error(pairwise(&x), &x).powi(2);
                *count += 1.0;
            }
        }
    }
    for ((how, kind), [ours, theirs, count]) in errors {
        let [ours, theirs] = [ours, theirs].map(|squares| (squares / count).sqrt());
        println!("{name}, {how} of {kind}: error {ours:.1e}, NumPy's {theirs:.1e}");
        let rounding = f64::from(f32::EPSILON) / 2.0;
        assert!(ours <= theirs.max(rounding), "{name}, {how} of {kind}: error {ours:e}, NumPy's {theirs:e}");
    }
}

/// The array whole, as a row and as a column.
fn by_device(device: &dyn Device, x: &[f32]) -> Vec<(&'static str, f32)> {
    let program = sums();
    let n = x.len() as u64;
    let go = |rows: u64, columns: u64| {
        let found = run(device, &program, &[Some(rows), Some(columns)], &[matrix(rows, columns, x)]);
        found.unwrap_or_else(|error| panic!("{error}")).iter().map(|value| floats(value)[0]).collect::<Vec<f32>>()
    };
    let (line, column) = (go(1, n), go(n, 1));
    vec![("the sum", line[0]), ("a row", line[1]), ("a column", column[2])]
}

#[test]
fn sums_on_the_cpu_are_as_exact_as_numpy() {
    let device = devices::narrow();
    is_as_exact_as_numpy("cpu", |x| by_device(&device, x));
}

#[test]
fn sums_on_gpus_are_as_exact_as_numpy() {
    for gpu in devices::gpus() {
        is_as_exact_as_numpy(gpu.name, |x| by_device(&*gpu.device, x));
    }
}

#[test]
fn sums_in_the_interpreter_are_as_exact_as_numpy() {
    let program = sums();
    is_as_exact_as_numpy("the interpreter", |x| {
        let n = x.len() as u64;
        let found = program::run(&program, &[Some(1), Some(n)], &[matrix(1, n, x)]).unwrap();
        vec![("the sum", floats(&found[0])[0])]
    });
}

/// The sum that gave this its name: NumPy is off by 1.5e-7.
#[test]
fn sixteen_million_tenths() {
    let n = 1 << 24;
    let x = vec![0.1f32; n];
    let found = run(&devices::narrow(), &sums(), &[Some(1), Some(n as u64)], &[matrix(1, n as u64, &x)]).unwrap();
    assert_eq!(floats(&found[0]), [0.1 * n as f32]);
    assert_eq!(floats(&found[1]), [0.1 * n as f32]);
}

/// Programs with folds, and whether the interpreter's bits are promised.
fn programs() -> Vec<(&'static str, bool, Program)> {
    let program = |name, promised, text: &str| (name, promised, program_of(text));
    vec![
        program(
            "the sum of a matrix, of products, and of an order of its own",
            true,
            "program g<N, M>(%x: f32[N, M]) -> (f32, f32, f32, f32) {
              %zero: f32 = const 0.0
              %one: f32 = const 1.0
              %all: f32 = fold [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  yield %a } ADD
              %dot: f32 = fold [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  %b: f32 = mul %a, %a  yield %b } ADD
              %first: i64 = const 0
              %k: f32, %l: f32 = fold [M] |%j: i64| { %a: f32 = at %x[%first, %j]  yield %one, %a }
                with (%one, %zero) |%a: f32, %b: f32, %c: f32, %d: f32| {
                  %e: f32 = mul %a, %c  %f: f32 = mul %b, %c  %g: f32 = add %f, %d  yield %e, %g
                }
              return %all, %dot, %k, %l
            }",
        ),
        program(
            "rows",
            true,
            "program g<N, M>(%x: f32[N, M]) -> (f32[N], f32[N]) {
              %zero: f32 = const 0.0
              %sums: f32[N], %dots: f32[N] = tabulate [N] |%i: i64| {
                %first: i64 = const 0
                %s: f32 = fold [M] |%j: i64| { %a: f32 = at %x[%i, %j]  yield %a } ADD
                %d: f32 = fold [M] |%j: i64| {
                  %a: f32 = at %x[%i, %j]  %b: f32 = at %x[%first, %j]  %c: f32 = mul %a, %b  yield %c
                } ADD
                yield %s, %d
              }
              return %sums, %dots
            }",
        ),
        program(
            "columns",
            false,
            "program g<N, M>(%x: f32[N, M]) -> f32[M] {
              %zero: f32 = const 0.0
              %sums: f32[M] = tabulate [M] |%j: i64| {
                %s: f32 = fold [N] |%i: i64| { %a: f32 = at %x[%i, %j]  yield %a } ADD
                yield %s
              }
              return %sums
            }",
        ),
        program(
            "a product of matrices",
            false,
            "program g<N, M>(%x: f32[N, M]) -> f32[M, M] {
              %zero: f32 = const 0.0
              %sums: f32[M, M] = tabulate [M, M] |%i: i64, %j: i64| {
                %s: f32 = fold [N] |%k: i64| {
                  %a: f32 = at %x[%k, %i]  %b: f32 = at %x[%k, %j]  %c: f32 = mul %a, %b  yield %c
                } ADD
                yield %s
              }
              return %sums
            }",
        ),
        program(
            "a scan of one axis",
            false,
            "program g<N, M>(%x: f32[N, M]) -> f32[M] {
              %zero: f32 = const 0.0
              %first: i64 = const 0
              %sums: f32[M] = scan [M] |%j: i64| { %a: f32 = at %x[%first, %j]  yield %a } ADD
              return %sums
            }",
        ),
        program(
            "scans of rows",
            false,
            "program g<N, M>(%x: f32[N, M]) -> f32[N, M] {
              %zero: f32 = const 0.0
              %sums: f32[N, M] = scan [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  yield %a } ADD
              return %sums
            }",
        ),
        program(
            "sums scattered over few places",
            false,
            "program g<N, M>(%x: f32[N, M]) -> f32[7] {
              %zero: f32 = const 0.0
              %first: i64 = const 0
              %seven: i64 = const 7
              %sums: f32[7] = scatter [M] into [7] |%j: i64| {
                %a: f32 = at %x[%first, %j]
                %k: i64 = rem %j, %seven
                yield %k, %a
              } ADD
              return %sums
            }",
        ),
        program(
            "lanes with a sum each",
            false,
            "program g<N, M>(%x: f32[N, M]) -> f32[M] {
              %zero: f32 = const 0.0
              %first: i64 = const 0
              %sums: f32[M] = tabulate [M] |%j: i64| {
                %own: f32 = at %x[%first, %j]
                %s: f32 = fold [M] |%k: i64| { %a: f32 = at %x[%first, %k]  %b: f32 = sub %a, %own  %c: f32 = mul %b, %b  yield %c } ADD
                yield %s
              }
              return %sums
            }",
        ),
    ]
}

/// The CPU with a compiler that makes code for a smaller machine.
fn without(folder: &std::path::Path, flags: &str) -> Cpu {
    let path = folder.join("compiler.sh");
    let system = CpuConfig::from_env().cc.join(" ");
    std::fs::write(&path, format!("exec {system} \"$@\" {flags}\n")).unwrap();
    let cc = vec!["sh".into(), path.to_str().unwrap().into()];
    Cpu::new(CpuConfig { cc, cache_dir: None, ..CpuConfig::from_env() })
}

#[test]
fn bits_are_as_promised() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let machines: &[&str] =
        if cfg!(target_arch = "x86_64") { &["", "-mno-avx512f", "-mno-avx512f -mno-fma -mno-avx"] } else { &[""] };
    let builds: Vec<Cpu> = machines.iter().zip(&folders).map(|(flags, folder)| without(folder.path(), flags)).collect();
    let mut random = Random(7);
    for (name, promised, program) in programs() {
        assert_eq!(keeps_order(&optimize(&program)), promised, "{name}");
        for (n, m) in [(7, 3), (1, 40_000), (300, 70), (3, 1_100), (2_500, 33)] {
            let x: Vec<f32> = (0..n * m).map(|k| (random.next() - 0.5) * if k % 3 == 0 { 1e6 } else { 1.0 }).collect();
            let (sizes, args) = ([Some(n), Some(m)], [matrix(n, m, &x)]);
            let slow = ["a product of matrices", "lanes with a sum each"].contains(&name);
            if slow && m > 1_000 {
                continue;
            }
            let mut expected: Option<Vec<Value>> = None;
            if promised {
                let values = program::run(&program, &sizes, &args).unwrap();
                expected = Some(values.iter().map(|value| Value::Array(as_array(value))).collect());
            }
            for (build, flags) in builds.iter().zip(machines) {
                for threads in [1, 3] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    let found = pool.install(|| run(build, &program, &sizes, &args)).unwrap();
                    let expected = expected.get_or_insert_with(|| found.clone());
                    assert_eq!(expected, &found, "{name}, {n} by {m}, {threads} threads, {flags:?}");
                }
            }
        }
    }
}
