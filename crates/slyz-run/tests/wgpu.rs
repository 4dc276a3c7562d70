//! The wgpu device beyond the corpus: edges of sizes, threads, errors. It needs an adapter; lavapipe will do.
#![cfg(all(feature = "cpu", feature = "wgpu"))]

mod devices;

use slyz_run::wgpu::Wgpu;
use slyz_run::{Argument, Device, Error, Output};
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};

const SAXPY: &str = "program saxpy<N>(%a: f32, %x: f32[N], %y: f32[N]) -> (f32[N], f32) {
  %zero: f32 = const 0.0
  %v: f32[N] = tabulate [N] |%i: i64| { %p: f32 = at %x[%i]  %q: f32 = at %y[%i]  %s: f32 = mul %a, %p  %t: f32 = add %s, %q  yield %t }
  %m: f32 = fold [N] |%i: i64| { %p: f32 = at %x[%i]  yield %p } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
  return %v, %m }";

fn saxpy(device: &dyn Device, n: usize, a: f32) -> (Vec<f32>, f32) {
    let executable = device.compile(&parse_program(SAXPY).expect("text of a program")).expect("it compiles");
    let (x, y): (Vec<f32>, Vec<f32>) = (0..n).map(|i| ((i % 7) as f32, (i % 5) as f32)).unzip();
    let shape = [n as u64];
    let args =
        [Argument::Scalar(Scalar::f32(a)), Argument::host(Ty::F32, &shape, &x), Argument::host(Ty::F32, &shape, &y)];
    let out = executable.run(&[Some(n as u64)], &args).unwrap_or_else(|error| panic!("{n}: {error}"));
    (out[0].data.as_slice::<f32>().expect("floats").to_vec(), out[1].data.as_slice::<f32>().expect("a float")[0])
}

fn expected(n: usize, a: f32) -> (Vec<f32>, f32) {
    let all = (0..n).map(|i| a * (i % 7) as f32 + (i % 5) as f32).collect();
    (all, (0..n).map(|i| (i % 7) as f32).sum())
}

#[test]
fn lengths_around_every_edge() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    for n in [0, 1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 16_383, 16_384, 16_385, 100_003] {
        assert_eq!(saxpy(&device, n, 3.0), expected(n, 3.0), "{n}");
    }
}

/// More blocks than a grid has.
#[test]
fn past_the_limit_of_a_grid() {
    if !devices::has_gpu() {
        return;
    }
    let n = 65_535 * 256 + 3;
    let device = Wgpu::new(None);
    let (found, _) = saxpy(&device, n, 0.5);
    assert!(found.iter().enumerate().all(|(i, &x)| x == 0.5 * (i % 7) as f32 + (i % 5) as f32));
}

#[test]
fn many_threads() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let device = &device;
            scope.spawn(move || {
                for turn in 0..5 {
                    let (n, a) = (1000 * thread + turn, (thread * 10 + turn) as f32);
                    assert_eq!(saxpy(device, n, a), expected(n, a));
                }
            });
        }
    });
}

/// Neighbours in a word are written by different threads, and by a last, incomplete word.
#[test]
fn small_elements_share_words() {
    if !devices::has_gpu() {
        return;
    }
    let text = "program small<N>(%x: u8[N]) -> (u8[N], bool[N], i16[N]) {
      %k: u8 = const 100
      %a: u8[N], %b: bool[N], %c: i16[N] = tabulate [N] |%i: i64| { %p: u8 = at %x[%i]  %q: u8 = add %p, %k  %r: bool = gt %p, %k  %s: i16 = cast %p  %t: i16 = neg %s  yield %q, %r, %t }
      return %a, %b, %c }";
    let device = Wgpu::new(None);
    let executable = device.compile(&parse_program(text).expect("text of a program")).expect("it compiles");
    // The second round finds what the first has left in its buffers.
    for n in [1usize, 2, 3, 5, 255, 1001, 3, 1001] {
        let x: Vec<u8> = (0..n).map(|i| (i * 37 % 256) as u8).collect();
        let out = executable.run(&[Some(n as u64)], &[Argument::host(Ty::U8, &[n as u64], &x)]).expect("a result");
        let added: Vec<u8> = x.iter().map(|x| x.wrapping_add(100)).collect();
        let large: Vec<u8> = x.iter().map(|&x| u8::from(x > 100)).collect();
        let negative: Vec<i16> = x.iter().map(|&x| -i16::from(x)).collect();
        assert_eq!(out[0].data.bytes().unwrap(), added, "{n}");
        assert_eq!(out[1].data.bytes().unwrap(), large, "{n}");
        assert_eq!(out[2].data.as_slice::<i16>(), Some(&negative[..]), "{n}");
    }
}

#[test]
fn empty_in_every_direction() {
    if !devices::has_gpu() {
        return;
    }
    let text = "program outer<N, M>(%x: f32[N], %y: f32[M]) -> (f32[N, M], f32[N]) {
      %zero: f32 = const 0.0
      %a: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| { %p: f32 = at %x[%i]  %q: f32 = at %y[%j]  %r: f32 = mul %p, %q  yield %r }
      %b: f32[N] = tabulate [N] |%i: i64| { %s: f32 = fold [M] |%j: i64| { %q: f32 = at %y[%j]  yield %q } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }  yield %s }
      return %a, %b }";
    let device = Wgpu::new(None);
    let executable = device.compile(&parse_program(text).expect("text of a program")).expect("it compiles");
    for (n, m) in [(0, 0), (0, 3), (3, 0), (1, 1), (2, 3)] {
        let (x, y) = (vec![2.0f32; n], vec![3.0f32; m]);
        let args = [Argument::host(Ty::F32, &[n as u64], &x), Argument::host(Ty::F32, &[m as u64], &y)];
        let out = executable.run(&[Some(n as u64), Some(m as u64)], &args).expect("a result");
        assert_eq!(out[0].data.as_slice::<f32>(), Some(&vec![6.0; n * m][..]));
        assert_eq!(out[1].data.as_slice::<f32>(), Some(&vec![3.0 * m as f32; n][..]));
    }
}

/// More turns of a thread than some drivers count. What cannot be done is refused, and nothing is lost without a word.
#[test]
fn loops_that_turn_often() {
    if !devices::has_gpu() {
        return;
    }
    let text = "program often<N>(%x: f32[2]) -> (bool[7], u8[7], f32[7], bool[7], i32[7], f32[2], f32[2]) {
      %no: bool = const false
      %byte: u8 = const 0
      %one_byte: u8 = const 1
      %nil: f32 = const 0.0
      %unit: f32 = const 1.0
      %none: i32 = const 0
      %yes: bool = const true
      %zero: i64 = const 0
      %one: i64 = const 1
      %part: i64 = const 10000
      %often: i64 = const 100000
      %limit: f32 = const 90000.0
      %a: bool[7] = scatter [N] into [7] |%i: i64| { %t: i64 = div %i, %part  yield %t, %yes } with commutative (%no) |%p: bool, %q: bool| { %r: bool = or %p, %q  yield %r }
      %b: u8[7] = scatter [N] into [7] |%i: i64| { %t: i64 = div %i, %part  yield %t, %one_byte } with commutative (%byte) |%p: u8, %q: u8| { %r: u8 = add %p, %q  yield %r }
      %c: f32[7] = scatter [N] into [7] |%i: i64| { %t: i64 = div %i, %part  yield %t, %unit } with commutative (%nil) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
      %d: bool[7], %e: i32[7] = scatter [N] into [7] |%i: i64| { %t: i64 = div %i, %part  %v: i32 = cast %i  yield %t, %yes, %v }
        with (%no, %none) |%p: bool, %v: i32, %q: bool, %w: i32| { %r: bool = or %p, %q  %u: i32 = select %q, %w, %v  yield %r, %u }
      %f: f32[2] = tabulate [2] |%i: i64| {
        %v: f32 = at %x[%i]
        %s: f32 = for %zero to %often step %one (%v) |%k: i64, %u: f32| { %w: f32 = add %u, %unit  yield %w }
        yield %s }
      %g: f32[2] = tabulate [2] |%i: i64| {
        %v: f32 = at %x[%i]
        %s: f32 = while (%v) |%u: f32| { %m: bool = lt %u, %limit  yield %m } do |%u: f32| { %w: f32 = add %u, %unit  yield %w }
        yield %s }
      return %a, %b, %c, %d, %e, %f, %g }";
    let device = Wgpu::new(None);
    let executable = device.compile(&parse_program(text).expect("text of a program")).expect("it compiles");
    let run = |n: u64| executable.run(&[Some(n)], &[Argument::host(Ty::F32, &[2], &[0.0f32, 0.5])]);
    let out = run(70_000).expect("results");
    assert_eq!(out[0].data.bytes().unwrap(), [1; 7]);
    assert_eq!(out[1].data.bytes().unwrap(), [(10_000 % 256) as u8; 7]);
    assert_eq!(out[2].data.as_slice::<f32>(), Some(&[10_000.0; 7][..]));
    assert_eq!(out[3].data.bytes().unwrap(), [1; 7]);
    let last: Vec<i32> = (1..=7).map(|k| 10_000 * k - 1).collect();
    assert_eq!(out[4].data.as_slice::<i32>(), Some(&last[..]));
    assert_eq!(out[5].data.as_slice::<f32>(), Some(&[100_000.0, 100_000.5][..]));
    assert_eq!(out[6].data.as_slice::<f32>(), Some(&[90_000.0, 90_000.5][..]));
    if device.describe().contains("llvmpipe") {
        let Err(Error::TooLarge { why, .. }) = run(1 << 30) else { panic!("nobody has so much room") };
        // Sorts by place need memory of that size.
        assert!(why.contains("a buffer of this GPU has at most"), "{why}");
        let Err(Error::TooLarge { what, why }) = count_to(1 << 30, &device) else { panic!("its loops end before") };
        assert_eq!(what, "the launch of count");
        assert!(why.contains("turns loops too often") && why.contains("run it on the device \"cpu\""), "{why}");
    }
    assert_eq!(count_to(1_000, &device).expect("few turns")[0].data.as_slice::<f32>(), Some(&[1_000.0; 2][..]));
}

/// A thread that turns a loop `n` times.
fn count_to(n: u64, device: &Wgpu) -> Result<Vec<Output>, Error> {
    let text = "program count<N>() -> f32[2] {
      %nil: f32 = const 0.0
      %unit: f32 = const 1.0
      %zero: i64 = const 0
      %one: i64 = const 1
      %n: i64 = extent N
      %y: f32[2] = tabulate [2] |%i: i64| {
        %s: f32 = for %zero to %n step %one (%nil) |%k: i64, %u: f32| { %w: f32 = add %u, %unit  yield %w }
        yield %s }
      return %y }";
    device.compile(&parse_program(text).expect("text of a program"))?.run(&[Some(n)], &[])
}

/// Too large for a binding or for the memory: an error, and the device goes on.
#[test]
fn too_large_is_an_error() {
    if !devices::has_gpu() {
        return;
    }
    let text = "program fill<N>() -> f32[N] {
      %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = cast %i  yield %a }
      return %y }";
    let device = Wgpu::new(None);
    let executable = device.compile(&parse_program(text).expect("text of a program")).expect("it compiles");
    for n in [1u64 << 33, 1 << 40, 1 << 60] {
        let error = executable.run(&[Some(n)], &[]).expect_err("too large");
        assert!(matches!(error, Error::TooLarge { .. } | Error::OutOfMemory { .. }), "{error}");
    }
    let out = executable.run(&[Some(3)], &[]).expect("a result");
    assert_eq!(out[0].data.as_slice::<f32>(), Some(&[0.0, 1.0, 2.0][..]));
}

#[test]
fn an_adapter_that_is_not_there() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(Some("an abacus"));
    let error = device.compile(&parse_program(SAXPY).expect("text of a program")).err().expect("no such adapter");
    assert!(matches!(error, Error::NoAdapter { .. }) && error.to_string().contains("abacus"), "{error}");
    assert!(device.describe().contains("abacus"));
}

/// A body of thousands of statements, each of which needs the one before.
#[test]
fn long_chains() {
    if !devices::has_gpu() {
        return;
    }
    let sums: String = (1..4000).map(|k| format!("%{}: f32 = add %{}, %a\n", 10 + k, 9 + k)).collect();
    let text = format!(
        "program chain<N>(%x: f32[N]) -> (f32[N]) {{
           %y: f32[N] = tabulate [N] |%i: i64| {{ %a: f32 = at %x[%i]
             %10: f32 = add %a, %a
             {sums} yield %4009 }}
           return %y }}"
    );
    let device = Wgpu::new(None);
    let code = device.compile(&parse_program(&text).expect("text of a program")).expect("a kernel");
    let found = code.run(&[Some(2)], &[Argument::host(Ty::F32, &[2], &[1.0f32, 2.0])]).expect("a result");
    assert_eq!(found[0].data.as_slice::<f32>(), Some(&[4001.0, 8002.0][..]));
}
