//! Arrays that are larger than what a kernel sees: real ones, past the binding of a software GPU, and small ones on a device
//! whose kernels are told to see little. It needs an adapter; lavapipe will do.
#![cfg(feature = "wgpu")]

mod devices;

use slyz_run::wgpu::Wgpu;
use slyz_run::{Argument, ArrayData, Buffer, Device, Error, Output};
use slyz_sir::interp;
use slyz_sir::text::{Subject, parse_file, parse_program};
use slyz_sir::types::Ty;
use std::collections::HashMap;

const MAP: &str = "program map<N>(%x: f32[N]) -> f32[N] {
  %two: f32 = const 2.0
  %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = mul %a, %two  %c: f32 = add %b, %a  yield %c }
  return %y }";
/// How many elements are positive, of all and up to each.
const SUM: &str = "program sum<N>(%x: f32[N]) -> f32 {
  %zero: f32 = const 0.0
  %s: f32 = fold [N] |%i: i64| { %a: f32 = at %x[%i]  %p: bool = gt %a, %zero  %c: f32 = cast %p  yield %c } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
  return %s }";
const SCAN: &str = "program scan<N>(%x: f32[N]) -> f32[N] {
  %zero: f32 = const 0.0
  %s: f32[N] = scan [N] |%i: i64| { %a: f32 = at %x[%i]  %p: bool = gt %a, %zero  %c: f32 = cast %p  yield %c } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
  return %s }";
const FILTER: &str = "program filter<N, counted K>(%x: f32[N]) -> f32[K] {
  %zero: f32 = const 0.0
  %k: f32[K] = filter N as K |%i: i64| { %a: f32 = at %x[%i]  %p: bool = gt %a, %zero  yield %p, %a }
  return %k }";
const ROWS: &str = "program rows<N, M>(%x: f32[N, M]) -> f32[N] {
  %zero: f32 = const 0.0
  %s: f32[N] = tabulate [N] |%i: i64| {
    %t: f32 = fold [M] |%j: i64| { %a: f32 = at %x[%i, %j]  %p: bool = gt %a, %zero  %c: f32 = cast %p  yield %c } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
    yield %t }
  return %s }";
const PLANE: &str = "program plane<N, M>(%x: f32[N, M]) -> f32[N, M] {
  %y: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  %c: f32 = add %a, %a  yield %c }
  return %y }";
const BYTES: &str = "program bytes<N>(%x: u8[N]) -> u8[N] {
  %k: u8 = const 100
  %y: u8[N] = tabulate [N] |%i: i64| { %a: u8 = at %x[%i]  %c: u8 = add %a, %k  yield %c }
  return %y }";
const GATHER: &str = "program gather<N, M>(%x: f32[N], %at: i32[M]) -> f32[M] {
  %zero: i64 = const 0
  %one: i64 = const 1
  %n: i64 = extent N
  %last: i64 = sub %n, %one
  %y: f32[M] = tabulate [M] |%i: i64| { %k: i32 = at %at[%i]  %l: i64 = cast %k  %c: i64 = clamp %l, %zero, %last  %a: f32 = at %x[%c]  yield %a }
  return %y }";

/// Every 64th element counts, from 1.
fn counted(n: usize) -> Vec<f32> {
    (0..n).map(|i| if i % 64 == 0 { (i / 64 + 1) as f32 } else { 0.0 }).collect()
}

fn run(
    device: &dyn Device,
    text: &str,
    sizes: &[Option<u64>],
    shape: &[u64],
    x: &Buffer,
    ty: Ty,
) -> Result<Output, Error> {
    let executable = device.compile(&parse_program(text).expect("text of a program")).expect("it compiles");
    let arg = Argument::Array { ty, shape: shape.to_vec().into(), data: ArrayData::Buffer(x) };
    executable.run(sizes, &[arg]).map(|mut out| out.swap_remove(0))
}

fn bytes_of(x: &[f32]) -> Vec<u8> {
    x.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// All programs on `rows` lines of `columns` elements.
fn check(device: &dyn Device, rows: usize, columns: usize) {
    let n = rows * columns;
    let x = counted(n);
    let here = device.upload(ArrayData::Host(&bytes_of(&x))).expect("an upload");
    let flat =
        |text| run(device, text, &[Some(n as u64)], &[n as u64], &here, Ty::F32).unwrap_or_else(|e| panic!("{n}: {e}"));
    let floats = |out: &Output| out.data.as_slice::<f32>().expect("floats").to_vec();
    let all = |out: &Output, what: &str, expected: &dyn Fn(usize) -> f32| {
        let found = floats(out);
        let wrong = found.iter().enumerate().find(|(i, y)| **y != expected(*i));
        assert_eq!(wrong.map(|(i, y)| (i, *y, expected(i))), None, "{what} of {n}");
    };
    all(&flat(MAP), "map", &|i| 3.0 * x[i]);
    assert_eq!(floats(&flat(SUM)), [n.div_ceil(64) as f32], "{n}");
    all(&flat(SCAN), "scan", &|i| (i / 64 + 1) as f32);
    let kept = run(device, FILTER, &[Some(n as u64), None], &[n as u64], &here, Ty::F32).expect("kept");
    assert_eq!(kept.shape, [n.div_ceil(64) as u64]);
    all(&kept, "filter", &|i| (i + 1) as f32);
    let sizes = [rows as u64, columns as u64];
    let lines =
        |text| run(device, text, &sizes.map(Some), &sizes, &here, Ty::F32).unwrap_or_else(|e| panic!("{sizes:?}: {e}"));
    let before = |i: usize| (i * columns).div_ceil(64);
    all(&lines(ROWS), "rows", &|i| (before(i + 1) - before(i)) as f32);
    all(&lines(PLANE), "plane", &|i| 2.0 * x[i]);
}

#[test]
fn small_windows() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::with_window(None, 256 << 10);
    for (rows, columns) in [(1, 1), (3, 40_000), (100, 1001), (70_001, 3), (257, 1024)] {
        check(&device, rows, columns);
    }
    for n in [1usize, 262_145, 1_000_003] {
        let x: Vec<u8> = (0..n).map(|i| (i % 251) as u8).collect();
        let here = device.upload(ArrayData::Host(&x)).expect("an upload");
        let out = run(&device, BYTES, &[Some(n as u64)], &[n as u64], &here, Ty::U8).expect("a result");
        assert!(out.data.bytes().expect("bytes").iter().zip(&x).all(|(y, x)| *y == x.wrapping_add(100)), "{n}");
    }
}

/// Is the file about scans, scatters, filters and sorts of many elements, which go through all of an array?
fn is_long(path: &std::path::Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let long = ["filter_chunks", "scan_chunks", "scatter_runs", "scatter_sorted", "scatter_turns", "sort", "tiles"];
    long.contains(&name) || name.starts_with("collective_")
}

/// What the corpus expects, in windows as small as they get; an array may be refused that is read anywhere.
#[test]
fn corpus_in_windows() {
    if !devices::has_gpu() {
        return;
    }
    // Every bit is compared.
    let device = Wgpu::with_window(None, 512).with_precision(slyz_sir::choices::Precision::Exact);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "sir"));
    paths.sort();
    let (mut wrong, mut right, mut refused) = (vec![], 0, 0);
    for path in paths {
        let (module, cases) = parse_file(&std::fs::read_to_string(&path).expect("a file")).expect("text of a file");
        // Once for all its cases.
        let mut compiled = HashMap::new();
        for case in &cases {
            let Subject::Program(name) = &case.subject else { continue };
            let program = module.programs.iter().find(|g| g.name == *name).expect("a program");
            let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
            let given: Vec<Option<u64>> = program.sizes.iter().map(|decl| value(&decl.name)).collect();
            let sizes = interp::program::solve_sizes(program, &given, &case.args).expect("sizes");
            let ready = compiled.entry(name).or_insert_with(|| devices::compile(&device, program));
            match ready.as_ref().map_err(String::clone).and_then(|ready| ready.run(&sizes, &case.args)) {
                Err(error) if error.contains("sees at most 512 at once") => refused += usize::from(!is_long(&path)),
                Err(error) => wrong.push(format!("{}, \"{}\": {error}", path.display(), case.name)),
                Ok(found) => {
                    let differences = case
                        .expect
                        .iter()
                        .zip(&found)
                        .filter_map(|(expect, found)| devices::difference(&expect.value, found, expect.ulp));
                    let before = wrong.len();
                    wrong.extend(differences.map(|text| format!("{}, \"{}\": {text}", path.display(), case.name)));
                    right += usize::from(wrong.len() == before);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > 10 * refused, "{right} right, {refused} refused");
}

/// 256 MiB where a kernel sees 128 (or less, where the adapter has more).
#[test]
fn past_a_binding() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::with_window(None, 128 << 20);
    check(&device, 1 << 10, 1 << 16);
    let n = 200 << 20;
    let x: Vec<u8> = (0..n).map(|i| (i % 251) as u8).collect();
    let here = device.upload(ArrayData::Host(&x)).expect("an upload");
    let out = run(&device, BYTES, &[Some(n as u64)], &[n as u64], &here, Ty::U8).expect("a result");
    let found = out.data.bytes().expect("bytes");
    assert!(found.iter().zip(&x).all(|(y, x)| *y == x.wrapping_add(100)));
    // Random reads see whole arrays only.
    let executable = device.compile(&parse_program(GATHER).expect("text of a program")).expect("it compiles");
    let n = 50 << 20;
    let args = [
        Argument::Array { ty: Ty::F32, shape: vec![n].into(), data: ArrayData::Buffer(&here) },
        Argument::host(Ty::I32, &[3], &[1, 2, 3]),
    ];
    let error = executable.run(&[Some(n), Some(3)], &args).expect_err("too large");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(error.to_string().contains("134217728") && error.to_string().contains("in0"), "{error}");
}
