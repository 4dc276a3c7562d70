//! The pass `spread` keeps the meaning of kernels with `lanes`: the interpreter runs both, and reports every race.

use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::kernel::{Access, Kernel, Memory, Space};
use slyz_sir::pass::spread::{self, Resources, Subgroup};
use slyz_sir::types::Ty;
use slyz_sir::{text, verify};

/// Each writes `out: i64[n]` (and what it likes besides) in one block, and reads `x: i64[n]`.
const KERNELS: &[(&str, &str)] = &[
    (
        "a loop that may not run stands between a write and a read of other threads",
        "%e: i64 = extent empty
  lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  store row[%k], %v }
  for %zero to %e step %one |%j: i64| {
    %s: i64 = lanes %zero to %n |%k: i64| { %v: i64 = load row[%k]  yield %v } with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = add %p, %q  yield %r }
    lanes %zero to %n |%k: i64| { store row[%k], %s }
  }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  store out[%k], %v }",
    ),
    (
        "a loop that may not run meets at its end",
        "%e: i64 = extent empty
  lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  store row[%k], %v }
  %t: i64 = for %zero to %e step %one (%one) |%j: i64, %a: i64| {
    %s: i64 = lanes %zero to %n |%k: i64| { %v: i64 = load row[%k]  yield %v } with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = add %p, %q  yield %r }
    %b: i64 = add %a, %s
    yield %b
  }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  %w: i64 = add %v, %t  store out[%k], %w }",
    ),
    (
        "one side of a branch writes what was read before it",
        "%first: i64 = load x[%one]
  %is: bool = gt %first, %zero
  lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  store row[%k], %v }
  %s: i64 = lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  %w: i64 = mul %v, %k  yield %w } with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = add %p, %q  yield %r }
  if %is { lanes %zero to %n |%k: i64| { store row[%k], %s } } else {}
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  store out[%k], %v }",
    ),
    (
        "a loop asks last, then everything is written",
        "%three: i64 = const 3
  lanes %zero to %n |%k: i64| { store row[%k], %zero }
  %top: i64 = lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  yield %v } with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = max %p, %q  yield %r }
  %s: i64 = while (%zero) |%a: i64| {
    %v: i64 = load row[%last]
    %go: bool = lt %v, %three
    yield %go
  } do |%a: i64| {
    lanes %zero to %n |%k: i64| { %w: i64 = add %a, %one  store row[%k], %w }
    %t: i64 = lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  yield %v } with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = max %p, %q  yield %r }
    %same: bool = eq %t, %top
    %c: i64 = cast %same
    %b: i64 = add %a, %c
    yield %b
  }
  lanes %zero to %n |%k: i64| { store row[%k], %s }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  store out[%k], %v }",
    ),
    (
        "a branch writes what is read behind it",
        "%first: i64 = load x[%zero]
  %odd: i64 = and %first, %one
  %is: bool = eq %odd, %one
  lanes %zero to %n |%k: i64| { store row[%k], %zero }
  if %is {
    lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  store row[%k], %v }
  } else {
    lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load x[%b]  store row[%k], %v }
  }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  store out[%k], %v }",
    ),
    (
        "a branch reads, the other side does nothing, then all is written",
        "%first: i64 = load x[%zero]
  %is: bool = gt %first, %zero
  lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  store row[%k], %v }
  %s: i64 = if %is {
    %t: i64 = lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  %w: i64 = mul %v, %k  yield %w } with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = add %p, %q  yield %r }
    yield %t
  } else { yield %one }
  lanes %zero to %n |%k: i64| { store row[%k], %s }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  store out[%k], %v }",
    ),
    (
        "uniform code stores while it counts, and the count is used",
        "%c: i64 = for %zero to %n step %one (%zero) |%k: i64, %s: i64| {
    %v: i64 = load x[%k]
    %t: i64 = add %s, %v
    store row[%k], %t
    yield %t
  }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  %w: i64 = sub %c, %v  store out[%k], %w }",
    ),
    (
        "uniform code stores, and nobody uses what it counts",
        "%c: i64 = for %zero to %n step %one (%zero) |%k: i64, %s: i64| {
    %v: i64 = load x[%k]
    %t: i64 = add %s, %v
    store row[%k], %t
    yield %t
  }
  store row[%zero], %one
  %u: i64 = load row[%last]
  store row[%last], %u
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  store out[%k], %v }",
    ),
    (
        "a loop asks for what its body wrote",
        "%three: i64 = const 3
  lanes %zero to %n |%k: i64| { store row[%k], %zero }
  %s: i64 = while (%zero) |%a: i64| {
    %v: i64 = load row[%last]
    %go: bool = lt %v, %three
    yield %go
  } do |%a: i64| {
    lanes %zero to %n |%k: i64| { %v: i64 = load row[%k]  %w: i64 = add %v, %one  store row[%k], %w }
    %b: i64 = add %a, %one
    yield %b
  }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  %w: i64 = add %v, %s  store out[%k], %w }",
    ),
    (
        "folds in a loop, in order and not, with a row that changes in between",
        "%hundred: i64 = const 100
  lanes %zero to %n |%k: i64| { %v: i64 = load x[%k]  store row[%k], %v }
  %s: i64 = for %zero to %hundred step %n (%zero) |%j: i64, %a: i64| {
    %f: i64, %g: i64 = lanes %zero to %n |%k: i64| {
      %v: i64 = load row[%k]
      yield %v, %k
    } with (%one, %zero) |%p: i64, %q: i64, %r: i64, %t: i64| {
      %u: i64 = mul %p, %r
      %v: i64 = mul %q, %r
      %w: i64 = add %v, %t
      yield %u, %w
    }
    lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load x[%b]  %w: i64 = add %v, %f  store row[%k], %w }
    %m: i64 = lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  yield %v } with commutative (%zero) |%p: i64, %q: i64| { %r: i64 = max %p, %q  yield %r }
    %h: i64 = add %a, %g
    %i: i64 = add %h, %m
    yield %i
  }
  lanes %zero to %n |%k: i64| { %b: i64 = sub %last, %k  %v: i64 = load row[%b]  %w: i64 = add %v, %s  store out[%k], %w }",
    ),
    (
        "few turns, known beforehand",
        "%five: i64 = const 5
  %two: i64 = const 2
  %f: i64 = lanes %two to %five |%k: i64| { yield %k } with (%one) |%p: i64, %q: i64| { %r: i64 = mul %p, %q  yield %r }
  lanes %zero to %five |%k: i64| { store row[%k], %f }
  lanes %zero to %n |%k: i64| { %b: i64 = rem %k, %five  %v: i64 = load row[%b]  store out[%k], %v }",
    ),
];

fn kernel(body: &str, threads: u32, row: &str) -> Kernel {
    let text = format!(
        "kernel k<size, empty>() grid [1, 1, 1] block [{threads}, 1, 1] {{
  global read x: i64[size]
  global write out: i64[size]
  scratch row: i64[{row}]
  %zero: i64 = const 0
  %one: i64 = const 1
  %n: i64 = extent size
  %last: i64 = sub %n, %one
  {body}
}}"
    );
    let mut module = text::parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    module.kernels.remove(0)
}

fn run(kernel: &Kernel, n: u64, subgroup_size: u32) -> Vec<u64> {
    assert_eq!(verify::kernel(kernel), Ok(()), "{kernel}");
    let options = LaunchOptions { subgroup_size, ..LaunchOptions::default() };
    let array = |memory: &Memory| {
        // What spilled has the number of the block in front.
        let spilled = memory.name == "row";
        let shape = if spilled { vec![1, n] } else { vec![n] };
        let data = if memory.name == "x" { (0..n).map(|k| k * 7 % 11).collect() } else { vec![u64::MAX; n as usize] };
        Array { ty: Ty::I64, shape, data }
    };
    let bound = kernel.memories.iter().filter(|m| matches!(m.space, Space::Global(_)));
    let mut memories: Vec<Array> = bound.map(array).collect();
    launch(kernel, &[n, 0], &mut memories, &[], &options).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
    memories.swap_remove(1).data
}

#[test]
fn keeps_the_meaning() {
    for (what, body) in KERNELS {
        for row in ["size", "80"] {
            // A block of one thread shows what is meant: there, uniform code that stores does not race with itself.
            let meant = kernel(body, 1, row);
            for threads in [1, 2, 7, 8, 24, 64, 100] {
                let before = kernel(body, threads, row);
                for (subgroup, turns_at_once) in
                    [(None, 4), (Some((4, 64)), 1), (Some((32, 64)), 4), (Some((32, 32)), 2)]
                {
                    let subgroup = subgroup.map(|(size, bits)| Subgroup {
                        size,
                        bits,
                        float_extremes: false,
                        reduces_few: size == 4,
                    });
                    let resources = Resources {
                        subgroup,
                        shared_bytes: 4096,
                        more_shared_bytes: 0,
                        least_bytes: 1,
                        turns_at_once,
                        kept_values: 0,
                    };
                    let spread = spread::run(before.clone(), &resources, &|_| None);
                    assert!(!spread::has_lanes(&spread.kernel.body));
                    assert_eq!(spread.spilled.is_empty(), row == "80");
                    assert!(spread.kernel.memories.iter().all(|m| m.space != Space::Scratch));
                    assert_eq!(spread.kernel.memories[1].space, Space::Global(Access::Write));
                    for n in [5, 8, 33, 80] {
                        let size = subgroup.map_or(1, |s| s.size);
                        assert_eq!(run(&spread.kernel, n, size), run(&meant, n, size), "{what}: {n}\n{before}");
                    }
                }
            }
        }
    }
}
