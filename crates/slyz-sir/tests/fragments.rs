//! Products of fragments of matrices: what lanes hold of them, what is said of them in text, and products of halves that are made of them,
//! around every edge of tiles and slabs, in the interpreter of kernels, which reports races and reads of what nobody wrote.

use slyz_sir::choices::Precision;
use slyz_sir::code::{Body, Fragment, Op, Type};
use slyz_sir::interp::kernel::{LaunchOptions, launch, run_plan_with};
use slyz_sir::interp::{Array, Value, program};
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::gpu::{Expected, Machine, lower_for};
use slyz_sir::pass::optimize;
use slyz_sir::program::Program;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{text, verify};

/// A machine with fragments and few blocks, so that a block makes several tiles; it knows of no library.
fn few_blocks() -> Machine {
    Machine { max_blocks: [2, 1, 2], has_products: false, ..Machine::cuda_of(80) }
}

/// Small whole numbers, whose sums are exact; now and then one that spoils whatever it meets.
fn argument(ty: Ty, shape: Vec<u64>) -> Value {
    let value = |k: u64| match (ty, k % 97) {
        (_, 95) if ty.is_float() => Scalar::from_f64(ty, f64::NAN),
        (_, 96) if ty.is_float() => Scalar::from_f64(ty, f64::INFINITY),
        (_, _) if ty.is_float() => Scalar::from_f64(ty, (k * 7 % 23) as f64 - 11.0),
        (_, _) => Scalar::from_int(ty, i128::from(k % 5)),
    };
    let count: u64 = shape.iter().product();
    Value::Array(Array { ty, shape, data: (0..count).map(|k| value(k).bits).collect() })
}

fn numbers(values: &[Value]) -> Vec<f64> {
    let of = |value: &Value| match value {
        Value::Array(Array { ty, data, .. }) => {
            data.iter().map(|&bits| Scalar::from_bits(*ty, bits).as_f64()).collect()
        }
        Value::Scalar(scalar) => vec![scalar.as_f64()],
    };
    values.iter().flat_map(of).collect()
}

fn ops<'b>(body: &'b Body, found: &mut Vec<&'b Op>) {
    for stmt in &body.stmts {
        found.push(&stmt.op);
        stmt.op.bodies().into_iter().for_each(|body| ops(body, found));
    }
}

/// What the subgroups of a kernel multiply.
fn multiplied(kernel: &Kernel) -> Option<Fragment> {
    let mut found = vec![];
    ops(&kernel.body, &mut found);
    found.into_iter().find_map(|op| if let Op::Mma(fragment, _) = op { Some(*fragment) } else { None })
}

/// How a product is written: factors, what is made of them before and behind.
struct Product<'t> {
    ty: Ty,
    reads: [&'t str; 2],
    /// Of `%p` and `%q`, halves `%a` and `%b`.
    before: &'t str,
    /// Of the sum `%s`, the result `%r`, which is an `f32`.
    after: &'t str,
    precision: Precision,
}

const PLAIN: Product =
    Product { ty: Ty::F16, reads: ["%i, %k", "%k, %j"], before: "", after: "", precision: Precision::Table };

impl Product<'_> {
    fn program(&self) -> Program {
        let shape = |read: &str| read.replace("%i", "N").replace("%k", "K").replace("%j", "M").replace("%b", "B");
        let batched = self.reads.iter().any(|read| read.contains("%b"));
        let (sizes, out, params) = match batched {
            true => ("N, K, M, B", "B, N, M", "%b: i64, %i: i64, %j: i64"),
            false => ("N, K, M", "N, M", "%i: i64, %j: i64"),
        };
        let Product { ty, reads: [x, y], before, after, .. } = self;
        let [a, b] = if before.is_empty() { ["p", "q"] } else { ["a", "b"] };
        let after = if after.is_empty() { "%r: f32 = neg %s" } else { after };
        let text = format!(
            "program product<{sizes}>(%x: {ty}[{}], %y: {ty}[{}], %w: f32[M], %v: f32[N]) -> f32[{out}] {{
  %zero: f32 = const 0.0
  %none: {ty} = const 0.0
  %c: f32[{out}] = tabulate [{out}] |{params}| {{
    %s: f32 = fold [K] |%k: i64| {{
      %p: {ty} = at %x[{x}]
      %q: {ty} = at %y[{y}]
      {before}
      %wide: f32 = cast %{a}
      %wide2: f32 = cast %{b}
      %t: f32 = mul %wide, %wide2
      yield %t
    }} with commutative (%zero) |%f: f32, %g: f32| {{ %h: f32 = add %f, %g  yield %h }}
    {after}
    yield %r
  }}
  return %c
}}",
            shape(x),
            shape(y),
        );
        let program = text::parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(verify::program(&program), Ok(()), "{text}");
        Program { precision: Some(self.precision), ..optimize(&program) }
    }

    /// Runs it with sizes against the interpreter of programs, for each of the machines.
    fn runs(&self, sizes: &[u64], machines: &[(Machine, Expected)], fragment: Option<Fragment>) {
        let program = self.program();
        let value = |v: slyz_sir::size::SizeVar| sizes.get(v.0 as usize).copied();
        let of = |ty: &Type| argument(ty.elem(), ty.shape().iter().map(|s| s.eval(&value).expect("a size")).collect());
        let args: Vec<Value> = program.body.params.iter().map(|param| of(&param.ty)).collect();
        let known: Vec<Option<u64>> = sizes.iter().copied().map(Some).collect();
        let expected = program::run(&program, &known, &args).unwrap_or_else(|error| panic!("{error}"));
        for (machine, about) in machines {
            let plan = lower_for(&program, machine, about);
            let said = || format!("{sizes:?} on {machine:?}\n{}", text::print_plan(&plan));
            assert_eq!(verify::plan(&plan), Ok(()), "{}", said());
            assert_eq!(plan.kernels.iter().find_map(multiplied), fragment, "{}", said());
            let options = LaunchOptions { subgroup_size: 32, ..LaunchOptions::default() };
            let found =
                run_plan_with(&plan, &known, &args, &options).unwrap_or_else(|error| panic!("{error}\n{}", said()));
            let (expected, found) = (numbers(&expected), numbers(&found));
            assert_eq!(expected.len(), found.len());
            let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
            if let Some(k) = expected.iter().zip(&found).position(|pair| !same(pair)) {
                panic!("element {k}: {} instead of {}\n{}", found[k], expected[k], said());
            }
        }
    }
}

/// The small tile, whatever is known, on a machine with few blocks.
fn small() -> Vec<(Machine, Expected)> {
    vec![(few_blocks(), Expected::default())]
}

/// Both tiles.
fn both() -> Vec<(Machine, Expected)> {
    let large = Expected::of(&[Some(4_000), Some(64), Some(4_000), Some(1)]);
    vec![(few_blocks(), Expected::default()), (Machine::cuda_of(80), large)]
}

#[test]
fn products_of_halves() {
    for sizes in [[0, 5, 4], [1, 0, 3], [1, 1, 1], [33, 40, 65], [70, 64, 72], [65, 31, 40]] {
        PLAIN.runs(&sizes, &small(), Some(Fragment::F16));
    }
    for sizes in [[130, 72, 264], [129, 33, 257]] {
        PLAIN.runs(&sizes, &both(), Some(Fragment::F16));
    }
}

#[test]
fn products_of_other_elements_and_orders() {
    for reads in [["%i, %k", "%j, %k"], ["%k, %i", "%k, %j"], ["%k, %i", "%j, %k"], ["%b, %i, %k", "%b, %k, %j"]] {
        for sizes in [[33, 40, 72, 3], [40, 37, 65, 2]] {
            let sizes = if reads[0].contains("%b") { &sizes[..] } else { &sizes[..3] };
            Product { ty: Ty::BF16, reads, ..PLAIN }.runs(sizes, &small(), Some(Fragment::BF16));
        }
    }
    let native = Product { ty: Ty::F32, precision: Precision::Native, ..PLAIN };
    for reads in [["%i, %k", "%k, %j"], ["%k, %i", "%j, %k"]] {
        for sizes in [[33, 40, 72], [40, 37, 65]] {
            Product { reads, ..native }.runs(&sizes, &small(), Some(Fragment::TF32));
        }
    }
}

/// Code in front of a product, and behind it, reads along rows and columns of what it likes.
#[test]
fn products_in_larger_code() {
    let before = "%m: f16 = cast %i
      %p2: f16 = max %p, %none
      %a: f16 = add %p2, %m
      %n: f16 = cast %k
      %b: f16 = sub %q, %n";
    let after = "%bias: f32 = at %w[%j]
    %scale: f32 = at %v[%i]
    %t2: f32 = add %s, %bias
    %u: f32 = mul %t2, %scale
    %r: f32 = max %u, %zero";
    let product = Product { before, after, ..PLAIN };
    [[33, 40, 64], [34, 24, 67]].iter().for_each(|sizes| product.runs(sizes, &small(), Some(Fragment::F16)));
}

/// Nobody asks for bits, factors are halves, and there is enough to do.
#[test]
fn other_products_are_made_otherwise() {
    let sizes = [40, 40, 40];
    Product { precision: Precision::Exact, ..PLAIN }.runs(&sizes, &small(), None);
    Product { ty: Ty::F32, ..PLAIN }.runs(&sizes, &small(), None);
    let older = vec![(Machine::cuda_of(75), Expected::default())];
    PLAIN.runs(&sizes, &older, None);
    let short = vec![(few_blocks(), Expected::of(&[Some(40), Some(8), Some(40)]))];
    PLAIN.runs(&[40, 8, 40], &short, None);
}

/// A library may still make it, where it is a product of whole matrices and nothing else.
#[test]
fn a_library_may_have_it() {
    let product = Product { after: "%r: f32 = max %s, %zero", ..PLAIN };
    let plan: Plan = lower_for(&product.program(), &Machine::cuda_of(90), &Expected::default());
    let [kernel] = &plan.kernels[..] else { panic!("{}", text::print_plan(&plan)) };
    assert_eq!(multiplied(kernel), Some(Fragment::F16));
    assert!(kernel.product.is_some(), "{kernel}");
}

/// Every lane says what it holds of two matrices whose product is known.
#[test]
fn what_lanes_hold() {
    let kernel = text::parse_kernel(
        "kernel one() grid [1, 1, 1] block [32, 1, 1] {
  global read a: u32[32, 4]
  global read b: u32[32, 2]
  global write d: f32[32, 4]
  %lane: i64 = local.x
  %zero: i64 = const 0
  %x0: u32, %x1: u32, %x2: u32, %x3: u32 = load a[%lane, %zero]
  %y0: u32, %y1: u32 = load b[%lane, %zero]
  %c: f32 = const 0.5
  %d0: f32, %d1: f32, %d2: f32, %d3: f32 = mma f16 %x0, %x1, %x2, %x3, %y0, %y1, %c, %c, %c, %c
  store d[%lane, %zero], %d0, %d1, %d2, %d3
}",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify::kernel(&kernel), Ok(()));
    assert_eq!(text::parse_kernel(&kernel.to_string()).as_ref(), Ok(&kernel));
    let element = |matrix: &dyn Fn(usize, usize) -> usize, row: usize, column: usize| {
        Scalar::from_f64(Ty::F16, matrix(row, column) as f64).bits
    };
    let (left, right) = (|i: usize, k: usize| (i + 3 * k) % 7, |k: usize, j: usize| (5 * k + j) % 11);
    let word = |pair: [u64; 2]| pair[0] | pair[1] << 16;
    let words = |count: usize, at: &dyn Fn(usize, usize, usize) -> u64| {
        (0..32)
            .flat_map(|lane| (0..count).map(move |i| (lane, i)))
            .map(|(lane, i)| word([0, 1].map(|e| at(lane, i, e))))
            .collect()
    };
    let a = words(4, &|lane, i, e| element(&left, lane / 4 + 8 * (i % 2), 2 * (lane % 4 + 4 * (i / 2)) + e));
    let b = words(2, &|lane, i, e| element(&right, 2 * (lane % 4 + 4 * i) + e, lane / 4));
    let array = |ty: Ty, shape: [u64; 2], data: Vec<u64>| Array { ty, shape: shape.to_vec(), data };
    let mut memories =
        vec![array(Ty::U32, [32, 4], a), array(Ty::U32, [32, 2], b), array(Ty::F32, [32, 4], vec![0; 128])];
    let options = LaunchOptions { subgroup_size: 32, ..LaunchOptions::default() };
    launch(&kernel, &[], &mut memories, &[], &options).unwrap_or_else(|error| panic!("{error}"));
    for (lane, i) in (0..32).flat_map(|lane| (0..4).map(move |i| (lane, i))) {
        let (row, column) = (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
        let sum: usize = (0..16).map(|k| left(row, k) * right(k, column)).sum();
        let value = Scalar::from_bits(Ty::F32, memories[2].data[4 * lane + i]).as_f64();
        assert_eq!(value, sum as f64 + 0.5, "lane {lane}, element {i}");
    }
    // A subgroup of another size holds no fragment.
    let options = LaunchOptions { subgroup_size: 16, ..LaunchOptions::default() };
    assert!(launch(&kernel, &[], &mut memories, &[], &options).is_err());
}
