//! Threads that are alone.

use crate::{Case, check, floats, ints, kernel, numbers};
use slyz_sir::types::{Scalar, Ty};

const RELU: &str = "
  global read input: f32[input_len]
  global readwrite output: f32[output_len]
  %i: i64 = global.x
  %n: i64 = extent output_len
  %c: bool = lt %i, %n
  if %c {
    %x: f32 = load input[%i]
    %zero: f32 = const 0.0
    %y: f32 = max %zero, %x
    store output[%i], %y
  } else {}";

fn relu(threads: u64, n: u64) -> Case {
    Case {
        name: format!("relu of {n} with {threads} threads"),
        kernel: kernel("relu", "input_len, output_len", "", RELU),
        grid: [threads, 1, 1],
        block: None,
        extents: vec![n, n],
        memories: vec![floats(numbers(n)), floats((0..n).map(|_| 7.0))],
        scalars: vec![],
    }
}

#[test]
fn guards_become_bounds() {
    let woven = relu(1000, 1000).woven().to_string();
    assert!(!woven.contains("if ") && woven.contains("min") && woven.contains("global write output"), "{woven}");
    let cases: Vec<Case> = [0, 1, 15, 16, 17, 100, 16_384, 20_000].into_iter().map(|n| relu(n, n)).collect();
    check("relu", &cases);
    check("relu-edges", &[relu(40, 33), relu(33, 40), relu(20_000, 17_000), relu(64, 0)]);
}

const MATMUL: &str = "
  global read A: f32[A_len]
  global read B: f32[B_len]
  global readwrite C: f32[C_len]
  %row: i64 = global.y
  %col: i64 = global.x
  %m: i64 = cast i64 %M
  %n: i64 = cast i64 %N
  %k: i64 = cast i64 %K
  %inrow: bool = lt %row, %m
  %in: bool = if %inrow { %incol: bool = lt %col, %n  yield %incol } else { %no: bool = const false  yield %no }
  if %in {
    %zero: i64 = const 0
    %one: i64 = const 1
    %nil: f32 = const 0.0
    %sum: f32 = for %zero to %k step %one (%nil) |%j: i64, %s: f32| {
      %ra: i64 = mul %row, %k
      %ia: i64 = add %ra, %j
      %a: f32 = load A[%ia]
      %rb: i64 = mul %j, %n
      %ib: i64 = add %rb, %col
      %b: f32 = load B[%ib]
      %p: f32 = mul %a, %b
      %t: f32 = add %s, %p
      yield %t
    }
    %rc: i64 = mul %row, %n
    %ic: i64 = add %rc, %col
    store C[%ic], %sum
  } else {}";

#[test]
fn rows_of_a_matrix_product() {
    let case = |[m, n, k]: [u64; 3]| Case {
        name: format!("matmul {m} {n} {k}"),
        kernel: kernel("matmul", "A_len, B_len, C_len", "%M: i32, %N: i32, %K: i32", MATMUL),
        grid: [n.next_multiple_of(16), m.next_multiple_of(16), 1],
        block: None,
        extents: vec![m * k, k * n, m * n],
        memories: vec![floats(numbers(m * k)), floats(numbers(k * n)), floats(numbers(m * n))],
        scalars: [m, n, k].map(|x| Scalar::from_int(Ty::I32, x.into())).to_vec(),
    };
    let woven = case([3, 5, 2]).woven().to_string();
    assert!(!woven.contains("if "), "rows and columns have bounds: {woven}");
    check("matmul", &[[3, 5, 2], [17, 70, 5], [1, 1, 1], [20, 600, 3]].map(case));
}

/// Positions by division and products, a counter of `while`, and one that grows in a loop.
const POSITIONS: &str = "
  global read x: f32[x_len]
  global readwrite out: f32[out_len]
  global readwrite turns: i32[out_len]
  %i: i64 = global.x
  %w: i64 = cast i64 %width
  %h: i64 = cast i64 %height
  %zero: i64 = const 0
  %one: i64 = const 1
  %two: f32 = const 2.0
  %r: i64 = div %i, %w
  %c: i64 = rem %i, %w
  %ch: i64 = mul %c, %h
  %at: i64 = add %ch, %r
  %v0: f32 = load x[%at]
  %seven: i64 = const 7
  %far: i64 = const 33
  %three: i64 = const 3
  %low: i64 = and %i, %seven
  %flip: i64 = xor %low, %three
  %neg: i64 = sub %three, %i
  %sign: i64 = shr %neg, %far
  %half: i64 = shr %neg, %one
  %bits: i64 = add %flip, %sign
  %bits2: i64 = add %bits, %half
  %bf: f32 = cast f32 %bits2
  %v: f32 = add %v0, %bf
  %limit: i64 = cast i64 %most
  %n: i64, %y: f32 = while (%zero, %v) |%n: i64, %y: f32| {
    %less: bool = lt %n, %limit
    %four: f32 = const 40.0
    %small: bool = lt %y, %four
    %go: bool = and %less, %small
    yield %go
  } do |%n: i64, %y: f32| {
    %y2: f32 = add %y, %two
    %n2: i64 = add %n, %one
    yield %n2, %y2
  }
  %len: i64 = extent out_len
  %m: i64 = min %limit, %len
  %k: i64 = for %zero to %m step %one (%zero) |%j: i64, %k: i64| {
    %jf: f32 = cast f32 %j
    %odd: bool = gt %jf, %y
    %k2: i64 = if %odd { %k1: i64 = add %k, %one  yield %k1 } else { yield %k }
    yield %k2
  }
  %yk: f32 = cast f32 %k
  %z: f32 = add %y, %yk
  store out[%i], %z
  %n32: i32 = cast i32 %n
  store turns[%i], %n32";

#[test]
fn positions_and_counters_fit_32_bits() {
    let case = |[w, h]: [u64; 2]| Case {
        name: format!("positions {w} {h}"),
        kernel: kernel("positions", "x_len, out_len", "%width: i32, %height: i32, %most: i32", POSITIONS),
        grid: [w * h, 1, 1],
        block: None,
        extents: vec![w * h, w * h],
        memories: vec![floats(numbers(w * h)), floats(numbers(w * h)), ints(Ty::I32, (0..w * h).map(|_| 0))],
        scalars: [w, h, 9].map(|x| Scalar::from_int(Ty::I32, x.into())).to_vec(),
    };
    let cases = [[7, 13], [1, 1], [20, 30]].map(case);
    let narrow = slyz_sir::back::c::emit_kernels(&[cases[0].woven()], false).unwrap();
    assert!(narrow.contains("#define LANES_64 0"), "{narrow}");
    check("positions", &cases);
}

/// A stride of the whole grid.
const STRIDES: &str = "
  global read x: f32[x_len]
  global readwrite out: f32[x_len]
  global readwrite sums: f32[s_len]
  %i: i64 = global.x
  %n: i64 = extent x_len
  %g: i64 = grid_dim.x
  %b: i64 = block_dim.x
  %step: i64 = mul %g, %b
  %nil: f32 = const 0.0
  %s: f32 = for %i to %n step %step (%nil) |%k: i64, %t: f32| {
    %v: f32 = load x[%k]
    %w: f32 = add %v, %v
    store out[%k], %w
    %u: f32 = add %t, %v
    yield %u
  }
  store sums[%i], %s";

#[test]
fn strides_of_the_grid_stay_contiguous() {
    let case = |[grid, n]: [u64; 2]| Case {
        name: format!("strides of {n} by {grid}"),
        kernel: kernel("strides", "x_len, s_len", "", STRIDES),
        grid: [grid, 1, 1],
        block: Some([24, 1, 1]),
        extents: vec![n, 24 * grid],
        memories: vec![floats(numbers(n)), floats(numbers(n)), floats(numbers(24 * grid))],
        scalars: vec![],
    };
    let cases = [[1, 100], [3, 1000], [4, 5], [2, 0]].map(case);
    let narrow = slyz_sir::back::c::emit_kernels(&[cases[0].woven()], false).unwrap();
    assert!(!narrow.contains("gather") && narrow.contains("#define LANES_64 0"), "{narrow}");
    check("strides", &cases);
}

/// Positions that are read from memory which others may write.
const CHASED: &str = "
  global readwrite next: i32[n]
  global readwrite out: i64[n]
  global readwrite scale: f32[n]
  %i: i64 = global.x
  %n: i64 = extent n
  %zero: i64 = const 0
  %a: i32 = load next[%i]
  %b: i64 = cast i64 %a
  %f: f32 = load scale[%b]
  %g: i64 = cast i64 %f
  %ge: bool = ge %g, %zero
  %lt: bool = lt %g, %n
  %in: bool = and %ge, %lt
  if %in {
    %c: i32 = load next[%g]
    %d: i64 = cast i64 %c
    %e: i64 = add %b, %d
    store out[%i], %e
  } else {}";

#[test]
fn positions_from_memory_are_read_once() {
    let n = 50;
    let case = Case {
        name: "chased".into(),
        kernel: kernel("chased", "n", "", CHASED),
        grid: [n, 1, 1],
        block: None,
        extents: vec![n],
        memories: vec![
            ints(Ty::I32, (0..n as i64).map(|i| i * 7 % 50)),
            ints(Ty::I64, (0..n).map(|_| -1)),
            floats(numbers(n).map(|x| x * 11.0)),
        ],
        scalars: vec![],
    };
    let text = slyz_sir::back::c::emit_kernels(&[case.woven()], false).unwrap();
    assert_eq!([text.matches("= pin_i32(").count(), text.matches("= pin_f32(").count()], [1, 1], "{text}");
    check("chased", &[case]);
}

/// A large array of each thread, and loops by steps that would pass the ends of their types.
const LARGE: &str = "
  global readwrite out: i32[n]
  local own: i32[3000]
  %i: i64 = global.x
  %zero: i64 = const 0
  %size: i64 = const 3000
  %by: i64 = const 700
  %t: i32 = cast i32 %i
  for %zero to %size step %by |%k: i64| {
    %k32: i32 = cast i32 %k
    %v: i32 = add %k32, %t
    store own[%k], %v
  }
  %n: i32 = const 0
  %lo: i32 = const 2147480000
  %hi: i32 = const 2147483647
  %st: i32 = const 1000
  %s: i32 = for %lo to %hi step %st (%n) |%k: i32, %s: i32| {
    %one: i32 = const 1
    %s2: i32 = add %s, %one
    yield %s2
  }
  %first: i32 = add %lo, %t
  %u: i32 = for %first to %hi step %st (%s) |%k: i32, %u: i32| {
    %one: i32 = const 1
    %u2: i32 = add %u, %one
    yield %u2
  }
  %b: u8 = const 3
  %bh: u8 = const 255
  %bs: u8 = const 100
  %w: i32 = for %b to %bh step %bs (%u) |%k: u8, %w: i32| {
    %kk: i32 = cast i32 %k
    %w2: i32 = add %w, %kk
    yield %w2
  }
  %four: i64 = const 4
  %r: i64 = rem %i, %four
  %at: i64 = mul %r, %by
  %x: i32 = load own[%at]
  %y: i32 = add %x, %w
  store out[%i], %y";

#[test]
fn large_arrays_of_threads_and_loops_near_the_end_of_their_type() {
    let case = |n: u64, block: Option<[u32; 3]>| Case {
        name: format!("large {n} {block:?}"),
        kernel: kernel("large", "n", "", LARGE),
        grid: [n / u64::from(block.map_or(1, |b| b[0])), 1, 1],
        block,
        extents: vec![n],
        memories: vec![ints(Ty::I32, (0..n).map(|_| 0))],
        scalars: vec![],
    };
    check("large", &[case(100, None), case(1, None), case(96, Some([32, 1, 1]))]);
}

/// Each helper calls the one before it twice: inlined into each other they would be 2^11 copies of the first.
#[test]
fn helpers_that_call_helpers_stay_functions() {
    const HELPERS: usize = 12;
    let mut functions =
        "fn g0(%x: i32) -> i32 { %three: i32 = const 3  %y: i32 = mul %x, %three  %z: i32 = xor %y, %x  return %z }"
            .to_string();
    for k in 1..HELPERS {
        let before = k - 1;
        functions += &format!(
            "\nfn g{k}(%x{k}: i32) -> i32 {{ %y{k}: i32 = call g{before}(%x{k})  %z{k}: i32 = call g{before}(%y{k})  return %z{k} }}"
        );
    }
    let code = format!(
        "{functions}
  global readwrite out: i32[len]
  %i: i64 = global.x
  %n: i32 = cast i32 %i
  %y: i32 = call g{}(%n)
  store out[%i], %y",
        HELPERS - 1
    );
    let case = Case {
        name: "helpers".into(),
        kernel: kernel("helpers", "len", "", &code),
        grid: [5, 1, 1],
        block: None,
        extents: vec![5],
        memories: vec![ints(Ty::I32, (0..5).map(|_| 0))],
        scalars: vec![],
    };
    let source = slyz_sir::back::c::emit_kernels(&[case.woven()], false).expect("a kernel for cores");
    let defined = |kind: &str| source.lines().filter(|line| line.starts_with(&format!("{kind} vi32 g"))).count();
    assert_eq!(defined("FN") + defined("KEPT"), HELPERS);
    assert!(defined("KEPT") >= 1, "{source}");
    check("helpers", &[case]);
}
