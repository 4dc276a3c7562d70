//! Launches in pieces on the interpreter of kernels: every piece sees its windows only, and all together give the same.

mod random;

use proptest::prelude::*;
use random::{agree, exact_case};
use slyz_sir::interp::kernel::{KernelError, LaunchOptions, run_plan, run_plan_in_windows};
use slyz_sir::interp::program::{InterpError, Options, run_with};
use slyz_sir::interp::{Array, Value};
use slyz_sir::lower::gpu::{Expected, Limits, Machine, Scattered, Windowed, lower, lower_for};
use slyz_sir::pass::optimize;
use slyz_sir::program::Program;
use slyz_sir::types::Ty;
use slyz_sir::{text, verify};
use slyz_trials::property;

/// Few threads, and as many blocks as there are.
fn machine(max_threads: u32) -> Machine {
    Machine { max_threads, subgroup: None, ..Machine::webgpu() }.in_pieces()
}

const LIMITS: Limits = Limits { window_bytes: 1 << 12, alignment: 16, blocks: 7 };

fn parsed(text: &str) -> Program {
    let program = optimize(&text::parse_program(text).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(verify::program(&program), Ok(()));
    program
}

fn numbers(ty: Ty, shape: &[u64]) -> Value {
    let count: u64 = shape.iter().product();
    let data = (0..count).map(|i| slyz_sir::types::Scalar::from_int(ty, i128::from(i * 7 % 11) - 3).bits).collect();
    Value::Array(Array { ty, shape: shape.to_vec(), data })
}

/// Runs a program in windows of some bytes, and whole.
fn check(program: &Program, sizes: &[Option<u64>], args: &[Value], limits: &Limits) {
    check_on(&[4, 16], program, sizes, args, limits);
}

fn check_on(blocks: &[u32], program: &Program, sizes: &[Option<u64>], args: &[Value], limits: &Limits) {
    for &threads in blocks {
        let plan = lower_for(program, &machine(threads), &Expected::of(sizes));
        for kernel in &plan.kernels {
            assert_eq!(verify::kernel(&Windowed::new(kernel).kernel), Ok(()), "{kernel}");
        }
        let whole = run_plan(&plan, sizes, args).expect("it runs whole");
        let options = LaunchOptions::default();
        let found = run_plan_in_windows(&plan, sizes, args, &options, limits)
            .unwrap_or_else(|error| panic!("{error}\n{}", text::print_plan(&plan)));
        assert!(agree(&whole, &found), "{whole:?} became {found:?}");
    }
}

#[test]
fn maps() {
    let program = parsed(
        "program g<N>(%a: f32, %x: f32[N], %y: u8[N]) -> (f32[N], u8[N]) {
           %u: f32[N], %v: u8[N] = tabulate [N] |%i: i64| {
             %p: f32 = at %x[%i]  %q: u8 = at %y[%i]  %r: f32 = mul %p, %a  %s: u8 = add %q, %q  yield %r, %s }
           return %u, %v }",
    );
    for n in [0, 1, 1025, 5000] {
        let a = Value::Scalar(slyz_sir::types::Scalar::f32(3.0));
        check(&program, &[Some(n)], &[a, numbers(Ty::F32, &[n]), numbers(Ty::U8, &[n])], &LIMITS);
    }
}

/// In two and four dimensions, also where one row is more than a window.
#[test]
fn maps_of_planes() {
    let program = parsed(
        "program g<N, M>(%x: f32[N, M], %w: f32[M]) -> (f32[N, M]) {
           %u: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
             %p: f32 = at %x[%i, %j]  %q: f32 = at %w[%j]  %r: f32 = mul %p, %q  yield %r }
           return %u }",
    );
    for (n, m) in [(0, 5), (70, 33), (3, 900), (900, 3)] {
        check(&program, &[Some(n), Some(m)], &[numbers(Ty::F32, &[n, m]), numbers(Ty::F32, &[m])], &LIMITS);
    }
    let long = Limits { window_bytes: 1 << 10, ..LIMITS };
    let only = parsed(
        "program g<N, M>(%x: f32[N, M]) -> (f32[N, M]) {
           %u: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| { %p: f32 = at %x[%i, %j]  %r: f32 = mul %p, %p  yield %r }
           return %u }",
    );
    check(&only, &[Some(2), Some(1000)], &[numbers(Ty::F32, &[2, 1000])], &long);
    let cube = parsed(
        "program g<A, B, C, D>(%x: i32[A, B, C, D]) -> (i32[A, B, C, D]) {
           %u: i32[A, B, C, D] = tabulate [A, B, C, D] |%i: i64, %j: i64, %k: i64, %l: i64| {
             %p: i32 = at %x[%i, %j, %k, %l]  %r: i32 = add %p, %p  yield %r }
           return %u }",
    );
    let shape = [5, 6, 7, 8];
    check(&cube, &shape.map(Some), &[numbers(Ty::I32, &shape)], &long);
}

#[test]
fn folds_scans_and_filters() {
    let program = parsed(
        "program g<N, counted K>(%x: i32[N]) -> (i32, i32[N], i32[K], f64[K]) {
           %zero: i32 = const 0
           %s: i32 = fold [N] |%i: i64| { %a: i32 = at %x[%i]  yield %a } with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
           %r: i32[N] = scan [N] |%i: i64| { %a: i32 = at %x[%i]  yield %a } with (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
           %k: i32[K], %l: f64[K] = filter N as K |%i: i64| { %a: i32 = at %x[%i]  %p: bool = gt %a, %zero  %d: f64 = cast %a  yield %p, %a, %d }
           return %s, %r, %k, %l }",
    );
    // One block folds up to 16,384 elements.
    let limits = Limits { window_bytes: 1 << 17, ..LIMITS };
    for n in [0, 1, 40_001] {
        check_on(&[16], &program, &[Some(n), None], &[numbers(Ty::I32, &[n])], &limits);
    }
}

#[test]
fn rows() {
    let program = parsed(
        "program g<N, M>(%x: f32[N, M]) -> (f32[N], f32[N, M]) {
           %zero: f32 = const 0.0
           %s: f32[N] = tabulate [N] |%i: i64| {
             %t: f32 = fold [M] |%j: i64| { %a: f32 = at %x[%i, %j]  yield %a } with commutative (%zero) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
             yield %t }
           %r: f32[N, M] = scan [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  yield %a } with (%zero) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
           return %s, %r }",
    );
    for (n, m) in [(40, 50), (3, 700), (2000, 1)] {
        check(&program, &[Some(n), Some(m)], &[numbers(Ty::F32, &[n, m])], &LIMITS);
    }
    // Scans go over lines by chunks; a sum of a line that is more than a window would need another strategy.
    let lines = parsed(
        "program g<N, M>(%x: f32[N, M]) -> (f32[N, M]) {
           %zero: f32 = const 0.0
           %r: f32[N, M] = scan [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  yield %a } with (%zero) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
           return %r }",
    );
    let limits = Limits { window_bytes: 1 << 13, ..LIMITS };
    check(&lines, &[Some(2), Some(3000)], &[numbers(Ty::F32, &[2, 3000])], &limits);
}

/// Sums of columns are cut into few rows each.
#[test]
fn columns() {
    let program = parsed(
        "program g<N, M>(%x: i32[N, M]) -> (i32[M]) {
           %zero: i32 = const 0
           %s: i32[M] = tabulate [M] |%j: i64| {
             %t: i32 = fold [N] |%i: i64| { %a: i32 = at %x[%i, %j]  yield %a } with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
             yield %t }
           return %s }",
    );
    let plan = lower_for(&program, &machine(256), &Expected::of(&[Some(1024), Some(65_536)]));
    let limits = Limits { window_bytes: 128 << 20, alignment: 256, blocks: 65_535 };
    for kernel in &plan.kernels {
        let pieces = Windowed::new(kernel).pieces(&[Some(1024), Some(65_536)], &limits);
        assert!(pieces.is_ok_and(|pieces| pieces.len() <= 8), "{kernel}");
    }
}

/// Rows that do not fit the memory of a block have a copy in a buffer of their own.
#[test]
fn rows_that_spill() {
    let program = parsed(
        "program g<N, M>(%x: f32[N, M]) -> (f32[N, M]) {
           %zero: f32 = const 0.0
           %r: f32[N, M] = tabulate [N] |%i: i64| {
             %e: f32[M] = tabulate [M] |%j: i64| { %a: f32 = at %x[%i, %j]  %b: f32 = exp %a  yield %b }
             %t: f32 = fold [M] |%j: i64| { %a: f32 = at %e[%j]  yield %a } with commutative (%zero) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
             %q: f32[M] = tabulate [M] |%j: i64| { %a: f32 = at %e[%j]  %b: f32 = div %a, %t  yield %b }
             yield %q }
           return %r }",
    );
    let limits = Limits { window_bytes: 1 << 10, ..LIMITS };
    check(&program, &[Some(600), Some(5)], &[numbers(Ty::F32, &[600, 5])], &limits);
}

/// Neighbours are in the window too.
#[test]
fn stencils() {
    let program = parsed(
        "program g<N>(%x: f32[N]) -> (f32[N]) {
           %one: i64 = const 1
           %zero: i64 = const 0
           %n: i64 = extent N
           %last: i64 = sub %n, %one
           %u: f32[N] = tabulate [N] |%i: i64| {
             %l: i64 = sub %i, %one  %r: i64 = add %i, %one
             %lc: i64 = clamp %l, %zero, %last  %rc: i64 = clamp %r, %zero, %last
             %a: f32 = at %x[%lc]  %b: f32 = at %x[%rc]  %c: f32 = add %a, %b  yield %c }
           return %u }",
    );
    for n in [1, 2, 1024, 5000] {
        check(&program, &[Some(n)], &[numbers(Ty::F32, &[n])], &LIMITS);
    }
}

#[test]
fn reads_anywhere_are_refused() {
    let program = parsed(
        "program g<N, M>(%x: f32[N], %at: i64[M]) -> (f32[M]) {
           %u: f32[M] = tabulate [M] |%i: i64| { %k: i64 = at %at[%i]  %a: f32 = at %x[%k]  yield %a }
           return %u }",
    );
    let args =
        |n: u64| [numbers(Ty::F32, &[n]), Value::Array(Array { ty: Ty::I64, shape: vec![3000], data: vec![1; 3000] })];
    check(&program, &[Some(1000), Some(3000)], &args(1000), &LIMITS);
    let plan = lower(&program, &machine(16));
    let found = run_plan_in_windows(&plan, &[Some(1025), Some(3000)], &args(1025), &LaunchOptions::default(), &LIMITS);
    let Err(KernelError::Scattered { why: Scattered::Array { memory, bytes }, .. }) = found else {
        panic!("{found:?}");
    };
    assert_eq!((&memory[..], bytes), ("in0", 4100));
}

/// Random programs give the same in small windows, or say that they cannot be cut.
#[test]
fn random_programs_in_windows() {
    property("random_programs_in_windows", 200, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = exact_case(seed, budget);
        let expected = match run_with(
            &case.program,
            &case.sizes,
            &case.args,
            &Options { turns: Some(20_000), loop_turns: None, elements: Some(5_000), refuse_denormals: false },
        ) {
            Ok(values) => values,
            Err(InterpError::Budget(_)) => return Ok(()),
            Err(error) => panic!("{error}\n{}", case.program),
        };
        let plan = lower(&optimize(&case.program), &machine(4));
        for window_bytes in [32, 128, 1024] {
            let limits = Limits { window_bytes, alignment: 16, blocks: 3 };
            match run_plan_in_windows(&plan, &case.sizes, &case.args, &LaunchOptions::default(), &limits) {
                Ok(found) => prop_assert!(agree(&expected, &found), "{expected:?} became {found:?}\n{}", case.program),
                Err(KernelError::Scattered { .. }) => {}
                Err(error) => panic!("{error}\n{}", case.program),
            }
        }
        Ok(())
    });
}
