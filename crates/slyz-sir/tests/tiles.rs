//! Transposes and products through shared memory, in the interpreter of kernels, which reports races, divergent barriers and
//! reads of what nobody wrote: shapes around every edge of the tiles, on machines with much and little of everything.

use slyz_sir::choices::Precision;
use slyz_sir::code::Type;
use slyz_sir::interp::kernel::{LaunchOptions, run_plan_with};
use slyz_sir::interp::program;
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::{Activation, Kernel, Memory, Plan, Space};
use slyz_sir::lower::gpu::{Expected, Machine, lower_for};
use slyz_sir::pass::optimize;
use slyz_sir::prepare::prepare;
use slyz_sir::program::Program;
use slyz_sir::quantize::{Request, Small, quantize};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{text, verify};

/// A machine with few blocks, so that a block makes several tiles.
fn machine(max_threads: u32, shared_bytes: u64) -> Machine {
    Machine { max_threads, shared_bytes, max_blocks: [2, 1, 2], max_positions: 1 << 20, ..Machine::webgpu() }
}

/// Those that tile, and one that cannot.
fn machines() -> Vec<Machine> {
    vec![
        Machine::metal(),
        Machine::cuda(),
        Machine::webgpu(),
        machine(256, 5_000),
        machine(100, 9_000),
        machine(32, 20_000),
        machine(16, 4_000),
        machine(7, 4_000),
    ]
}

/// Values that are all different, as far as the type goes, and small enough for exact sums; now and then one that spoils
/// whatever it meets.
fn argument(ty: Ty, shape: Vec<u64>, special: bool) -> Value {
    let value = |k: u64| match (ty, k % 29) {
        (_, 28) if special && ty.is_float() => Scalar::from_f64(ty, f64::NAN),
        (_, 27) if special && ty.is_float() => Scalar::from_f64(ty, f64::INFINITY),
        (Ty::Bool, _) => Scalar::bool(k.is_multiple_of(3)),
        (_, n) if ty.is_float() => Scalar::from_f64(ty, n as f64 - 11.0),
        (_, _) => Scalar::from_int(ty, i128::from(k)),
    };
    let count: u64 = shape.iter().product();
    Value::Array(Array { ty, shape, data: (0..count).map(|k| value(k).bits).collect() })
}

fn scalars(values: &[Value]) -> Vec<f64> {
    let of = |value: &Value| match value {
        Value::Array(Array { ty, data, .. }) => {
            data.iter().map(|&bits| Scalar::from_bits(*ty, bits).as_f64()).collect()
        }
        Value::Scalar(scalar) => vec![scalar.as_f64()],
    };
    values.iter().flat_map(of).collect()
}

fn is_tiled(plan: &Plan) -> bool {
    let tile = |m: &Memory| m.space == Space::Shared && ["tile", "left"].iter().any(|name| m.name.starts_with(name));
    plan.kernels.iter().any(|k| k.memories.iter().any(tile))
}

struct Check {
    program: Program,
    expected: Expected,
    special: bool,
}

impl Check {
    fn new(text: &str) -> Check {
        let program = text::parse_program(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(verify::program(&program), Ok(()), "{text}");
        Check { program: optimize(&program), expected: Expected::default(), special: true }
    }

    /// Is there a tiled kernel on each of the machines?
    fn tiles(&self) -> Vec<bool> {
        machines().iter().map(|machine| is_tiled(&lower_for(&self.program, machine, &self.expected))).collect()
    }

    /// Runs with sizes on machines of several kinds against the interpreter of programs.
    fn run(&self, sizes: &[u64]) {
        for k in [2, 4, 6] {
            self.run_on(sizes, &machines()[k]);
        }
    }

    fn run_on(&self, sizes: &[u64], machine: &Machine) {
        let value = |v: slyz_sir::size::SizeVar| sizes.get(v.0 as usize).copied();
        let args: Vec<Value> = self
            .program
            .body
            .params
            .iter()
            .map(|p| match &p.ty {
                Type::Array(ty, shape) => {
                    let shape = shape.iter().map(|s| s.eval(&value).expect("a size")).collect();
                    argument(*ty, shape, self.special)
                }
                Type::Scalar(ty) => Value::Scalar(Scalar::from_int(*ty, 3)),
            })
            .collect();
        let sizes: Vec<Option<u64>> = sizes.iter().copied().map(Some).collect();
        let expected = program::run(&self.program, &sizes, &args).unwrap_or_else(|error| panic!("{error}"));
        let plan = lower_for(&self.program, machine, &self.expected);
        assert_eq!(verify::plan(&plan), Ok(()), "{machine:?}\n{}", text::print_plan(&plan));
        for kernel in &plan.kernels {
            assert!(kernel.block.iter().product::<u32>() <= machine.max_threads, "{machine:?}\n{kernel}");
        }
        let subgroup_size = machine.subgroup.map_or(1, |s| s.size);
        let options = LaunchOptions { subgroup_size, ..LaunchOptions::default() };
        let found = run_plan_with(&plan, &sizes, &args, &options)
            .unwrap_or_else(|error| panic!("{error}\n{sizes:?} on {machine:?}\n{}", text::print_plan(&plan)));
        let (expected, found) = (scalars(&expected), scalars(&found));
        assert_eq!(expected.len(), found.len());
        let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        let wrong = expected.iter().zip(&found).position(|pair| !same(pair));
        if let Some(k) = wrong {
            let plan = text::print_plan(&plan);
            panic!("element {k}: {} instead of {}\n{sizes:?} on {machine:?}\n{plan}", found[k], expected[k]);
        }
    }
}

const EDGES: [[u64; 2]; 7] = [[0, 5], [5, 0], [1, 1], [1, 70], [31, 33], [32, 64], [65, 40]];

#[test]
fn transposes_of_every_type() {
    for ty in Ty::ALL {
        let check = Check::new(&format!(
            "program t<N, M>(%x: {ty}[M, N]) -> {ty}[N, M] {{
  %y: {ty}[N, M] = tabulate [N, M] |%i: i64, %j: i64| {{ %a: {ty} = at %x[%j, %i]  yield %a }}
  return %y
}}"
        ));
        let wide = ty.bytes() > 4;
        assert_eq!(check.tiles(), [true, true, true, !wide, true, true, false, false], "{ty}");
        let edges = if ty == Ty::F32 { &EDGES[..] } else { &EDGES[4..5] };
        edges.iter().for_each(|sizes| check.run(sizes));
    }
}

#[test]
fn transposes_with_constant_edges() {
    for (n, m, tiled) in [(64, 32, true), (64, 40, true), (40, 96, true), (3, 100, false), (100, 3, false)] {
        let check = Check::new(&format!(
            "program t(%x: f32[{m}, {n}]) -> f32[{n}, {m}] {{
  %y: f32[{n}, {m}] = tabulate [{n}, {m}] |%i: i64, %j: i64| {{ %a: f32 = at %x[%j, %i]  yield %a }}
  return %y
}}"
        ));
        assert_eq!(check.tiles()[..3], [tiled; 3]);
        check.run(&[]);
    }
}

/// Several arrays, of which some are turned, and code before and behind.
#[test]
fn transposes_in_larger_code() {
    let check = Check::new(
        "program t<N>(%x: f32[N, N], %y: f64[N, N], %z: i32[N], %s: f32) -> (f32[N, N], f64[N, N]) {
  %t: f32[N, N] = tabulate [N, N] |%i: i64, %j: i64| { %a: f32 = at %x[%j, %i]  yield %a }
  %u: f32[N, N], %v: f64[N, N] = tabulate [N, N] |%i: i64, %j: i64| {
    %a: f32 = at %t[%i, %j]
    %b: f32 = at %x[%i, %j]
    %c: f32 = add %a, %b
    %d: f32 = max %c, %s
    %e: f64 = at %y[%j, %i]
    %f: i32 = at %z[%j]
    %g: f64 = cast %f
    %h: f64 = add %e, %g
    yield %d, %h
  }
  return %u, %v
}",
    );
    // There is no room for both, or for either, on some.
    assert_eq!(check.tiles(), [true, true, true, true, true, true, false, false]);
    [[0], [1], [33], [70]].iter().for_each(|sizes| check.run(sizes));
}

/// Axes in other orders, layers of transposes, and reads that no tile helps.
#[test]
fn transposes_of_higher_ranks() {
    let turned = [true, true, true, true, true, true, false, false];
    let permuted = |out: &str, read: &str| {
        Check::new(&format!(
            "program t<A, B, C>(%x: i32[A, B, C]) -> i32[{}, {}, {}] {{
  %y: i32[{}, {}, {}] = tabulate [{}, {}, {}] |{}| {{ %v: i32 = at %x[{read}]  yield %v }}
  return %y
}}",
            &out[0..1],
            &out[1..2],
            &out[2..3],
            &out[0..1],
            &out[1..2],
            &out[2..3],
            &out[0..1],
            &out[1..2],
            &out[2..3],
            out.to_lowercase().chars().map(|c| format!("%{c}: i64")).collect::<Vec<_>>().join(", "),
        ))
    };
    for (out, tiled) in [("ACB", true), ("CAB", true), ("CBA", true), ("BCA", true), ("BAC", false), ("ABC", false)] {
        let check = permuted(out, "%a, %b, %c");
        assert_eq!(check.tiles(), if tiled { turned } else { [false; 8] }, "{out}");
        check.run(&[5, 34, 33]);
        check.run(&[33, 2, 35]);
    }
    let check = Check::new(
        "program six<A, B>(%x: f32[2, A, 1, 3, B, 2]) -> f32[2, B, 3, 1, 2, A] {
  %y: f32[2, B, 3, 1, 2, A] = tabulate [2, B, 3, 1, 2, A] |%p: i64, %q: i64, %r: i64, %s: i64, %t: i64, %u: i64| {
    %v: f32 = at %x[%p, %u, %s, %r, %q, %t]
    yield %v
  }
  return %y
}",
    );
    // Along an axis of two there is nothing to gain.
    assert_eq!(check.tiles(), [false; 8]);
    check.run(&[3, 5]);
    let check = Check::new(
        "program six<A, B>(%x: f32[2, A, 1, 3, 2, B]) -> f32[2, B, 3, 1, 2, A] {
  %y: f32[2, B, 3, 1, 2, A] = tabulate [2, B, 3, 1, 2, A] |%p: i64, %q: i64, %r: i64, %s: i64, %t: i64, %u: i64| {
    %v: f32 = at %x[%p, %u, %s, %r, %t, %q]
    yield %v
  }
  return %y
}",
    );
    assert_eq!(check.tiles(), turned);
    check.run(&[33, 34]);
}

/// Places that are computed, fixed, or clamped; reads in loops and branches, which stay where they are.
#[test]
fn turned_reads_at_computed_places() {
    let check = Check::new(
        "program t<N, M>(%x: i32[2, M, N], %k: i32) -> i32[N, M] {
  %y: i32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
    %zero: i64 = const 0
    %one: i64 = const 1
    %m: i64 = extent M
    %last: i64 = sub %m, %one
    %back: i64 = sub %last, %j
    %next: i64 = add %j, %one
    %near: i64 = min %next, %last
    %a: i32 = at %x[%zero, %back, %i]
    %b: i32 = at %x[%one, %near, %i]
    %c: i32 = mul %a, %k
    %d: i32 = sub %c, %b
    yield %d
  }
  return %y
}",
    );
    assert!(check.tiles()[..3].iter().all(|&t| t));
    [[1, 1], [33, 31], [40, 70]].iter().for_each(|sizes| check.run(sizes));
    let check = Check::new(
        "program t<N, M>(%x: i32[M, N]) -> i32[N, M] {
  %y: i32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
    %zero: i64 = const 0
    %one: i64 = const 1
    %few: i64 = const 5
    %a: i32 = at %x[%j, %i]
    %s: i32 = for %zero to %few step %one (%a) |%k: i64, %t: i32| {
      %b: i32 = at %x[%j, %zero]
      %u: i32 = mul %t, %a
      %v: i32 = add %u, %b
      yield %v
    }
    yield %s
  }
  return %y
}",
    );
    assert!(check.tiles()[..3].iter().all(|&t| t));
    [[1, 1], [33, 31], [40, 70]].iter().for_each(|sizes| check.run(sizes));
    let check = Check::new(
        "program t<N, M>(%x: i32[M, N], %w: bool[N, M]) -> i32[N, M] {
  %y: i32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
    %p: bool = at %w[%i, %j]
    %s: i32 = if %p { %a: i32 = at %x[%j, %i]  %b: i32 = div %a, %a  yield %b } else { %c: i32 = const 0  yield %c }
    yield %s
  }
  return %y
}",
    );
    assert_eq!(check.tiles(), [false; 8]);
    check.run(&[33, 40]);
}

/// A fold of rows and columns: how both are read, what is made of two values, and how those are folded.
fn product(ty: Ty, reads: [&str; 2], made: &str, neutral: &str, folded: &str) -> String {
    let shape = |read: &str| read.replace("%i", "N").replace("%k", "K").replace("%j", "M").replace("%b", "B");
    let batched = reads.iter().any(|r| r.contains("%b"));
    let (sizes, out, params) = if batched {
        ("N, K, M, B", "B, N, M", "%b: i64, %i: i64, %j: i64")
    } else {
        ("N, K, M", "N, M", "%i: i64, %j: i64")
    };
    format!(
        "program product<{sizes}>(%x: {ty}[{}], %y: {ty}[{}]) -> {ty}[{out}] {{
  %zero: {ty} = const {neutral}
  %c: {ty}[{out}] = tabulate [{out}] |{params}| {{
    %s: {ty} = fold [K] |%k: i64| {{
      %p: {ty} = at %x[{}]
      %q: {ty} = at %y[{}]
      {made}
      yield %r
    }} with commutative (%zero) |%f: {ty}, %g: {ty}| {{ %h: {ty} = {folded} %f, %g  yield %h }}
    yield %s
  }}
  return %c
}}",
        shape(reads[0]),
        shape(reads[1]),
        reads[0],
        reads[1]
    )
}

const TILED: [bool; 8] = [true, true, true, true, true, true, true, false];

#[test]
fn products_of_matrices() {
    let shapes = [
        [0, 3, 4],
        [3, 0, 4],
        [3, 4, 0],
        [1, 1, 1],
        [33, 0, 35],
        [63, 15, 65],
        [64, 16, 64],
        [65, 17, 66],
        [2, 300, 3],
    ];
    for reads in [["%i, %k", "%k, %j"], ["%k, %i", "%k, %j"], ["%i, %k", "%j, %k"], ["%k, %i", "%j, %k"]] {
        let check = Check::new(&product(Ty::F32, reads, "%r: f32 = mul %p, %q", "-0.0", "add"));
        assert_eq!(check.tiles(), TILED, "{reads:?}");
        let plain = reads == ["%i, %k", "%k, %j"];
        let shapes = if plain { &shapes[..] } else { &shapes[7..8] };
        shapes.iter().for_each(|sizes| check.run(sizes));
    }
}

/// Nothing that lies past an edge joins the fold: not in a sum of products with infinities, nor in a minimum of sums.
#[test]
fn products_of_other_kinds() {
    for (ty, made, neutral, folded) in [
        (Ty::F64, "%d: f64 = sub %p, %q  %r: f64 = mul %d, %d", "0.0", "add"),
        (Ty::F32, "%r: f32 = add %p, %q", "inf", "min"),
        (Ty::F16, "%d: f16 = sub %p, %q  %r: f16 = abs %d", "-inf", "max"),
        (Ty::I64, "%r: i64 = mul %p, %q", "0", "add"),
        (Ty::U8, "%r: u8 = xor %p, %q", "255", "and"),
        (Ty::Bool, "%r: bool = and %p, %q", "false", "or"),
    ] {
        let check = Check::new(&product(ty, ["%i, %k", "%j, %k"], made, neutral, folded));
        assert!(check.tiles()[..3].iter().all(|&t| t), "{ty}");
        check.run(&[33, 19, 40]);
    }
}

#[test]
fn products_of_layers() {
    for reads in [["%b, %i, %k", "%b, %k, %j"], ["%b, %i, %k", "%k, %j"], ["%i, %b, %k", "%b, %k, %j"]] {
        let check = Check::new(&product(Ty::F32, reads, "%r: f32 = mul %p, %q", "-0.0", "add"));
        assert_eq!(check.tiles(), TILED, "{reads:?}");
        check.run(&[33, 9, 34, 3]);
        check.run(&[2, 3, 2, 5]);
    }
}

/// Code before and behind the fold, values of rows alone, and folds in which the order counts.
#[test]
fn products_in_larger_code() {
    let behind = |dear: &str| {
        format!(
            "program layer<N, K, M>(%x: f32[N, K], %y: f32[K, M], %bias: f32[M], %scale: f32[N], %old: f32[N, M]) -> (f32[N, M], bool[N, M]) {{
  %zero: f32 = const 0.0
  %c: f32[N, M], %d: bool[N, M] = tabulate [N, M] |%i: i64, %j: i64| {{
    %u: f32 = at %scale[%i]
    %s: f32 = fold [K] |%k: i64| {{
      %p: f32 = at %x[%i, %k]
      %q: f32 = at %y[%k, %j]
      %v: f32 = mul %p, %u
      %r: f32 = mul %v, %q
      yield %r
    }} with commutative (%zero) |%f: f32, %g: f32| {{ %h: f32 = add %f, %g  yield %h }}
    %b: f32 = at %bias[%j]
    %o: f32 = at %old[%i, %j]
    %t: f32 = add %s, %b
    %w: f32 = max %t, %zero
    {dear}
    %m: f32 = add %e, %o
    %n: bool = gt %m, %u
    yield %m, %n
  }}
  return %c, %d
}}"
        )
    };
    let many = "%e1: f32 = floor %w  %e2: f32 = sqrt %e1  %e3: f32 = sqrt %e2  %e: f32 = floor %e3";
    for dear in ["%e: f32 = add %w, %w", many] {
        let check = Check { special: false, ..Check::new(&behind(dear)) };
        assert_eq!(check.tiles(), TILED);
        check.run(&[35, 20, 33]);
        check.run(&[3, 0, 4]);
    }
    let check = Check::new(
        "program ordered<N, K, M>(%x: i32[N, K], %y: i32[K, M]) -> (i32[N, M], i32[N, M]) {
  %one: i32 = const 1
  %zero: i32 = const 0
  %c: i32[N, M], %d: i32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
    %s: i32, %t: i32 = fold [K] |%k: i64| {
      %p: i32 = at %x[%i, %k]
      %q: i32 = at %y[%k, %j]
      yield %p, %q
    } with (%one, %zero) |%a: i32, %b: i32, %c1: i32, %d1: i32| {
      %e: i32 = mul %a, %c1
      %h: i32 = mul %b, %c1
      %f: i32 = add %h, %d1
      yield %e, %f
    }
    yield %s, %t
  }
  return %c, %d
}",
    );
    assert_eq!(check.tiles(), TILED);
    check.run(&[33, 35, 34]);
}

/// What the sizes are about decides the form, never the result.
#[test]
fn products_of_expected_sizes() {
    let text = product(Ty::F32, ["%i, %k", "%k, %j"], "%r: f32 = mul %p, %q", "-0.0", "add");
    let expecting = |sizes: [u64; 3]| Check { expected: Expected::of(&sizes.map(Some)), ..Check::new(&text) };
    let large = expecting([4096; 3]);
    assert_eq!(large.tiles(), TILED);
    let plan = lower_for(&large.program, &Machine::cuda(), &large.expected);
    assert_ne!(plan, lower_for(&large.program, &Machine::cuda(), &Expected::default()));
    for sizes in [[1, 1, 1], [129, 17, 130]] {
        large.run_on(&sizes, &Machine::cuda());
        large.run_on(&sizes, &machine(256, 16 << 10));
    }
    // Few rows or columns, as of a vector: nothing to share.
    for sizes in [[1, 4096, 4096], [4096, 4096, 1], [30, 4096, 4096]] {
        let check = expecting(sizes);
        assert_eq!(check.tiles(), [false; 8]);
        check.run_on(&[3, 5, 2], &Machine::cuda());
    }
}

/// Sums are as exact as those of other folds, however long.
#[test]
fn long_products_stay_exact() {
    let text = product(Ty::F32, ["%i, %k", "%k, %j"], "%r: f32 = mul %p, %q", "-0.0", "add");
    let program = optimize(&text::parse_program(&text).expect("a program"));
    let k = 3_000;
    let fill =
        |shape: Vec<u64>| Value::Array(Array { ty: Ty::F32, data: vec![0.1f32.to_bits().into(); k as usize], shape });
    let args = [fill(vec![1, k]), fill(vec![k, 1])];
    let plan = lower_for(&program, &machine(16, 4_000), &Expected::default());
    let sizes = [Some(1), Some(k), Some(1)];
    let options = LaunchOptions { subgroup_size: 1, ..LaunchOptions::default() };
    let found = run_plan_with(&plan, &sizes, &args, &options).unwrap_or_else(|error| panic!("{error}"));
    let exact = k as f64 * f64::from(0.1f32).powi(2);
    assert!((scalars(&found)[0] - exact).abs() < exact * 1e-6, "{found:?} instead of {exact}");
}

/// Tiles of 3 × 4 with a halo, worked on in three arrays one after the other, and `whole`, which puts them together.
fn tiled(whole: &str, result: &str) -> Check {
    Check::new(&format!(
        "program t<N, M>(%x: i32[N, M], %y: i32[N, M]) -> {result} {{
  %zero: i64 = const 0  %one: i64 = const 1  %three: i64 = const 3  %four: i64 = const 4  %none: i32 = const 0
  %n: i64 = extent N  %m: i64 = extent M  %bottom: i64 = sub %n, %one  %right: i64 = sub %m, %one
  %e: i32[ceil(N / 3), ceil(M / 4), 3, 4], %f: i32[ceil(N / 3), ceil(M / 4), 3, 4] = tabulate [ceil(N / 3), ceil(M / 4)] |%I: i64, %J: i64| {{
    %top: i64 = mul %I, %three  %left: i64 = mul %J, %four
    %a: i32[5, 6] = scan [5, 6] |%p: i64, %q: i64| {{
      %i0: i64 = add %top, %p  %i1: i64 = sub %i0, %one  %i2: i64 = clamp %i1, %zero, %bottom
      %j0: i64 = add %left, %q  %j1: i64 = sub %j0, %one  %j2: i64 = clamp %j1, %zero, %right
      %v: i32 = at %x[%i2, %j2]
      yield %v
    }} with commutative (%none) |%s: i32, %t: i32| {{ %r: i32 = add %s, %t  yield %r }}
    %b: i32[5, 6] = scan [5, 6] |%p: i64, %q: i64| {{ %v: i32 = at %a[%p, %q]  yield %v }} with commutative (%none) |%s: i32, %t: i32| {{ %r: i32 = max %s, %t  yield %r }}
    %c: i32[5, 6] = scan [5, 6] |%p: i64, %q: i64| {{ %v: i32 = at %b[%p, %q]  yield %v }} with commutative (%none) |%s: i32, %t: i32| {{ %r: i32 = add %s, %t  yield %r }}
    %g: i32[3, 4], %h: i32[3, 4] = tabulate [3, 4] |%p: i64, %q: i64| {{
      %p1: i64 = add %p, %one  %q1: i64 = add %q, %one  %p2: i64 = add %p1, %one
      %v: i32 = at %c[%p1, %q1]  %w: i32 = at %c[%p2, %q1]  %h: i32 = max %v, %w
      yield %v, %h
    }}
    yield %g, %h
  }}
  {whole}
}}"
    ))
}

/// The kernels for each machine, and the arrays of a tile.
fn kernels_and_arrays(check: &Check) -> Vec<(usize, usize)> {
    let count = |machine: &Machine| {
        let plan = lower_for(&check.program, machine, &check.expected);
        let arrays = plan.kernels.iter().flat_map(|kernel| &kernel.memories).filter(|m| m.name.starts_with("row"));
        (plan.kernels.len(), arrays.count())
    };
    machines().iter().map(count).collect()
}

#[test]
fn tiles_are_written_to_their_places() {
    let place = "%I: i64 = div %i, %three  %J: i64 = div %j, %four  %p: i64 = rem %i, %three  %q: i64 = rem %j, %four";
    let whole = |read: &str| {
        format!(
            "%u: i32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {{
    {place}
    %s: i32 = at %e[%I, %J, %p, %q]  %t: i32 = at %f[{read}]  %v: i32 = at %y[%i, %j]
    %w: i32 = mul %s, %v  %z: i32 = add %w, %t
    yield %z
  }}"
        )
    };
    let alone = tiled(&format!("{}  return %u", whole("%I, %J, %p, %q")), "i32[N, M]");
    assert_eq!(kernels_and_arrays(&alone), [(1, 2); 8]);
    for sizes in [[0, 5], [1, 1], [6, 8], [7, 10], [1, 13], [20, 35]] {
        alone.run(&sizes);
    }
    // A tile that is read elsewhere, or otherwise, is there as a whole.
    let given = tiled(
        &format!("{}  return %u, %e", whole("%I, %J, %p, %q")),
        "(i32[N, M], i32[ceil(N / 3), ceil(M / 4), 3, 4])",
    );
    let elsewhere = tiled(&format!("{}  return %u", whole("%I, %J, %p, %zero")), "i32[N, M]");
    for check in [given, elsewhere] {
        assert_eq!(kernels_and_arrays(&check), [(2, 2); 8]);
        check.run(&[7, 10]);
    }
}

/// Squares of large arrays are larger.
#[test]
fn large_transposes_have_large_tiles() {
    let mut check = Check::new(
        "program t<N, M>(%x: f32[M, N]) -> f32[N, M] {
  %y: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%j, %i]  yield %a }
  return %y
}",
    );
    check.expected = Expected::of(&[Some(10_000); 2]);
    let plan = lower_for(&check.program, &Machine::cuda(), &check.expected);
    let kernel = plan.kernels[0].to_string();
    assert!(kernel.contains("f32[64, 65]"), "{kernel}");
    EDGES.iter().chain(&[[64, 128], [130, 63]]).for_each(|sizes| check.run_on(sizes, &Machine::cuda()));
}

/// A library makes products of whole matrices: one that ends before they do is not its.
#[test]
fn a_part_of_a_matrix_is_no_product_of_a_library() {
    let is_product = |extent: &str| {
        let text = format!(
            "program part<N, K, M, H>(%a: f32[N, K], %b: f32[K, M]) -> f32[N, M] {{
               %zero: f32 = const 0.0
               %h: i64 = extent H
               %c: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {{
                 %s: f32 = fold [{extent}] |%k: i64| {{
                   %x: f32 = at %a[%i, %k]
                   %y: f32 = at %b[%k, %j]
                   %z: f32 = mul %x, %y
                   yield %z
                 }} with commutative (%zero) |%p: f32, %q: f32| {{ %r: f32 = add %p, %q  yield %r }}
                 yield %s
               }}
               return %c
             }}"
        );
        let program = slyz_sir::text::parse_program(&text).expect("it is right");
        let plan = lower_for(&program, &Machine::cuda(), &Expected::of(&[Some(512); 4]));
        plan.kernels.iter().any(|kernel| kernel.product.is_some())
    };
    assert!(is_product("K"));
    assert!(!is_product("H"));
}

/// A program over bytes: a layer, with matrices that are many or one on the left, and one on the right.
fn in_bytes(many: bool) -> Program {
    let (own, at, sizes) = if many { ("B, N, K", "%h, %i, %k", "B, N, K, M") } else { ("N, K", "%i, %k", "N, K, M") };
    let (result, index) = if many { ("B, N, M", "%h: i64, %i: i64, %j: i64") } else { ("N, M", "%i: i64, %j: i64") };
    let text = format!(
        "program layer<{sizes}>(%a: f32[{own}], %b: f32[K, M], %bias: f32[M]) -> f32[{result}] {{
  %zero: f32 = const 0.0
  %c: f32[{result}] = tabulate [{result}] |{index}| {{
    %s: f32 = fold [K] |%k: i64| {{
      %x: f32 = at %a[{at}]  %y: f32 = at %b[%k, %j]  %p: f32 = mul %x, %y  yield %p
    }} with commutative (%zero) |%u: f32, %v: f32| {{ %w: f32 = add %u, %v  yield %w }}
    %o: f32 = at %bias[%j]
    %t: f32 = add %s, %o
    %r: f32 = max %t, %zero
    yield %r
  }}
  return %c
}}"
    );
    let program = text::parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    optimize(&quantize(&program, &Request::new(Small::I8)).program)
}

fn products_of_bytes(program: &Program, machine: &Machine, expected: &Expected) -> usize {
    let plan = lower_for(program, machine, expected);
    let is_one = |kernel: &&slyz_sir::kernel::Kernel| kernel.product.as_ref().is_some_and(|product| product.bytes);
    let found: Vec<_> = plan.kernels.iter().filter(is_one).collect();
    for kernel in &found {
        let text = kernel.to_string();
        assert!(text.contains(" in bytes"), "{text}");
        let read = text::parse_kernel(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.product, kernel.product);
    }
    found.len()
}

/// Large products of bytes stand alone where the machine may have a library, and mean the same.
#[test]
fn products_of_bytes_are_apart() {
    for many in [false, true] {
        let program = in_bytes(many);
        let large = Expected::of(&vec![Some(2048); program.sizes.len()]);
        assert_eq!(products_of_bytes(&program, &Machine::cuda(), &large), 1, "{program}");
        assert_eq!(products_of_bytes(&program, &Machine::metal(), &large), 0);
        assert_eq!(products_of_bytes(&program, &Machine::cuda(), &Expected::default()), 0);
        assert_eq!(products_of_bytes(&program, &Machine::cuda(), &Expected::of(&[Some(200); 4])), 0);
        let check = Check { program, expected: large, special: false };
        let sizes: &[&[u64]] =
            if many { &[&[2, 5, 9, 7]] } else { &[&[40, 70, 36], &[3, 0, 5], &[1, 1, 1], &[33, 130, 65]] };
        sizes.iter().for_each(|sizes| check.run_on(sizes, &Machine::cuda()));
    }
    // With weights that were packed before, too.
    let parts = prepare(&in_bytes(false), &[1]);
    let large = Expected::of(&[Some(2048); 3]);
    assert_eq!(products_of_bytes(&optimize(&parts.main), &Machine::cuda(), &large), 1, "{}", parts.main);
}

/// A layer of halves: `before` makes the left factor `%xx` from `%x`, a half, and `after` the result `%r` from the sum `%s`.
fn of_halves(many: bool, before: &str, after: &str) -> Program {
    let (own, at, sizes) = if many { ("B, N, K", "%h, %i, %k", "B, N, K, M") } else { ("N, K", "%i, %k", "N, K, M") };
    let (result, index) = if many { ("B, N, M", "%h: i64, %i: i64, %j: i64") } else { ("N, M", "%i: i64, %j: i64") };
    let text = format!(
        "program layer<{sizes}>(%a: f16[{own}], %b: f16[K, M], %bias: f32[M]) -> f32[{result}] {{
  %zero: f32 = const 0.0
  %none: f16 = const 0.0
  %c: f32[{result}] = tabulate [{result}] |{index}| {{
    %s: f32 = fold [K] |%k: i64| {{
      %x: f16 = at %a[{at}]  {before}
      %y: f16 = at %b[%k, %j]  %yy: f32 = cast %y  %p: f32 = mul %xx, %yy
      yield %p
    }} with commutative (%zero) |%u: f32, %v: f32| {{ %w: f32 = add %u, %v  yield %w }}
    %o: f32 = at %bias[%j]
    {after}
    yield %r
  }}
  return %c
}}"
    );
    let program = text::parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    optimize(&program)
}

/// Large products of halves with more around them than a library takes stand alone where the machine may have one.
#[test]
fn products_of_halves_are_apart() {
    let counted = |program: &Program, machine: &Machine, about: u64| {
        let plan = lower_for(program, machine, &Expected::of(&vec![Some(about); program.sizes.len()]));
        (plan.kernels.iter().filter(|kernel| kernel.product.is_some()).count(), plan.kernels.len())
    };
    let plain = "%xx: f32 = cast %x";
    let rectified = "%t: f16 = max %x, %none  %xx: f32 = cast %t";
    let squared = "%q: f32 = add %s, %o  %r: f32 = mul %q, %q";
    let fused = "%q: f32 = add %s, %o  %r: f32 = max %q, %zero";
    for many in [false, true] {
        // What the library does itself is one kernel; other code is one in front, or one behind.
        for (before, after, kernels) in
            [(plain, fused, 1), (plain, squared, 2), (rectified, fused, 2), (rectified, squared, 3)]
        {
            let program = of_halves(many, before, after);
            assert_eq!(counted(&program, &Machine::cuda(), 2048), (1, kernels), "{program}");
            assert_eq!(counted(&program, &Machine::cuda(), 64).1, 1);
            assert_eq!(counted(&program, &Machine::metal(), 2048), (0, 1));
            let check =
                Check { expected: Expected::of(&vec![Some(2048); program.sizes.len()]), program, special: false };
            let sizes: &[&[u64]] = if many { &[&[2, 5, 9, 7]] } else { &[&[20, 40, 36], &[3, 0, 5], &[1, 1, 1]] };
            sizes.iter().for_each(|sizes| check.run_on(sizes, &Machine::cuda()));
        }
    }
}

/// `gelu_tanh` behind a product of halves is the library's where its result is rounded to halves, or the GPU's own functions are asked for.
#[test]
fn gelu_is_made_with_a_product() {
    let layer = |result: &str, last: &str| {
        let text = format!(
            "program layer<N, K, M>(%a: bf16[N, K], %b: bf16[K, M], %bias: {result}[M]) -> {result}[N, M] {{
  %zero: f32 = const 0.0  %one: f32 = const 1.0  %half: f32 = const 0.5
  %few: f32 = const 0.044715  %root: f32 = const 0.7978846
  %c: {result}[N, M] = tabulate [N, M] |%i: i64, %j: i64| {{
    %s: f32 = fold [K] |%k: i64| {{
      %x: bf16 = at %a[%i, %k]  %xx: f32 = cast %x  %y: bf16 = at %b[%k, %j]  %yy: f32 = cast %y  %p: f32 = mul %xx, %yy
      yield %p
    }} with commutative (%zero) |%u: f32, %v: f32| {{ %w: f32 = add %u, %v  yield %w }}
    %square: f32 = mul %s, %s  %cube: f32 = mul %square, %s  %part: f32 = mul %cube, %few
    %sum: f32 = add %s, %part  %inner: f32 = mul %sum, %root  %t: f32 = tanh %inner  %share: f32 = add %t, %one
    %h: f32 = mul %s, %half
    %g: f32 = mul %h, %share
    {last}
    yield %r
  }}
  return %c
}}"
        );
        optimize(&text::parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}")))
    };
    let products = |program: &Program| -> Vec<Option<Activation>> {
        let plan = lower_for(program, &Machine::cuda(), &Expected::of(&[Some(2048); 3]));
        let read = |kernel: &Kernel| {
            let text = kernel.to_string();
            text::parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).product
        };
        plan.kernels.iter().filter_map(read).map(|product| product.activation).collect()
    };
    let rounded = layer("bf16", "%r: bf16 = cast %g");
    assert_eq!(products(&rounded), [Some(Activation::Gelu)], "{rounded}");
    let mut wide = layer("f32", "%r: f32 = mul %g, %one");
    assert_eq!(products(&wide), [None]);
    wide.precision = Some(Precision::Native);
    assert_eq!(products(&wide), [Some(Activation::Gelu)], "{wide}");
}

/// What is taken from the sums has to be what is too much in them.
#[test]
fn a_product_of_bytes_has_its_own_offset() {
    let count = |middles: &str, of: &str| {
        let text = format!(
            "program sums<N, K, M>(%p: i32[N, K], %q: i32[M, K], %r: i32[M, K]) -> i32[N, M] {{
  %zero: i32 = const 0
  %middles: i32 = const -2139062144
  %others: i32 = const 1
  %o: i32[M] = tabulate [M] |%l: i64| {{
    %s: i32 = fold [K] |%v: i64| {{ %b: i32 = at {of}[%l, %v]  %d: i32 = dot4 {middles}, %b, %zero  yield %d }}
      with commutative (%zero) |%e: i32, %f: i32| {{ %g: i32 = add %e, %f  yield %g }}
    yield %s
  }}
  %t: i32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {{
    %s2: i32 = fold [K] |%w: i64| {{
      %a: i32 = at %p[%i, %w]  %x: i32 = xor %a, %middles  %y: i32 = at %q[%j, %w]  %z: i32 = dot4 %x, %y, %zero
      yield %z
    }} with commutative (%zero) |%e2: i32, %f2: i32| {{ %g2: i32 = add %e2, %f2  yield %g2 }}
    %n: i32 = at %o[%j]
    %m: i32 = sub %s2, %n
    yield %m
  }}
  return %t
}}"
        );
        let program = text::parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        products_of_bytes(&program, &Machine::cuda(), &Expected::of(&[Some(2048); 3]))
    };
    assert_eq!([count("%middles", "%q"), count("%others", "%q"), count("%middles", "%r")], [1, 0, 0]);
}
