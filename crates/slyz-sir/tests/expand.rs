//! Every expansion in the interpreter against the row of its operator.

use slyz_sir::code::{Body, FnId, Function, Id, Op, Stmt, Type, Var};
use slyz_sir::expand::{self, Means};
use slyz_sir::interp::{Value, program::run};
use slyz_sir::ops::{Operator, Signature, TABLE};
use slyz_sir::program::Program;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;

/// A program that calls a function.
fn calling(function: &Function, result: Ty) -> Program {
    let params: Vec<Var> = function
        .body
        .params
        .iter()
        .enumerate()
        .map(|(k, p)| Var { id: Id(90_000 + k as u32), ty: p.ty.clone() })
        .collect();
    let call = Stmt {
        binds: vec![Var { id: Id(99_000), ty: Type::Scalar(result) }],
        op: Op::Call(FnId(0), params.iter().map(|p| p.id).collect()),
    };
    let body = Body { params, stmts: vec![call], results: vec![Id(99_000)] };
    let program = Program { name: "calling".into(), functions: vec![function.clone()], body, ..Program::default() };
    assert_eq!(verify::program(&program), Ok(()), "{program}");
    program
}

fn eval(program: &Program, args: &[Scalar]) -> Scalar {
    let args: Vec<Value> = args.iter().map(|&x| Value::Scalar(x)).collect();
    match &run(program, &[], &args).expect("a result")[..] {
        [Value::Scalar(scalar)] => *scalar,
        other => panic!("one scalar, not {other:?}"),
    }
}

/// The number of a float of a width among all in order.
fn place(x: Scalar) -> i64 {
    let size = x.bits & (u64::MAX >> (65 - x.ty.bits()));
    if x.bits == size { size as i64 } else { -(size as i64) - 1 }
}

fn off(a: Scalar, b: Scalar) -> u64 {
    match (a.as_f64().is_nan(), b.as_f64().is_nan()) {
        (true, true) => 0,
        (false, false) => place(a).abs_diff(place(b)),
        _ => u64::MAX,
    }
}

fn distance(a: f32, b: f32) -> u64 {
    off(Scalar::f32(a), Scalar::f32(b))
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn edges() -> Vec<f32> {
    let mut values = vec![
        0.0,
        1.0,
        0.5,
        2.0,
        1.5,
        2.5,
        3.5,
        0.49999997,
        0.99999994,
        1.0000001,
        f32::INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        1.1754942e-38,
        1e-40,
        3.0,
        7.0,
        10.0,
        88.72283,
        88.72284,
        87.33654,
        103.97208,
        104.0,
        126.0,
        128.0,
        149.0,
        150.0,
        1e-8,
        1e-20,
        65536.0,
        65537.0,
        1e5,
        1e10,
        1e15,
        1e22,
        1e30,
        3e38,
        8388607.5,
        16777216.0,
        std::f32::consts::PI,
        1.5707964,
        std::f32::consts::FRAC_PI_4,
        4.712389,
        6.2831855,
        355.0,
        39000.0,
        1e38,
        0.6,
        0.9,
        0.62,
        0.63,
        4.0,
        5.0,
    ];
    values.extend(values.clone().iter().map(|x| -x));
    values.push(f32::NAN);
    values
}

fn values() -> Vec<f32> {
    let (mut values, mut seed) = (edges(), 7);
    for k in 0..120 {
        values.push(f32::from_bits(random(&mut seed) as u32));
        let size = [1.0, 10.0, 100.0, 1e6][k % 4];
        values.push((random(&mut seed) as i64 as f64 / i64::MAX as f64) as f32 * size);
    }
    values
}

/// Edges of `f32` and of `f64`, and some more.
fn doubles() -> Vec<f64> {
    let mut values: Vec<f64> = edges().into_iter().map(f64::from).collect();
    let edges = [
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        2.225_073_858_507_201e-308,
        1e-310,
        1e-100,
        1e100,
        1e300,
        709.782_712_893_384,
        709.782_712_893_385,
        708.4,
        710.475,
        745.13,
        745.2,
        1023.9,
        1024.0,
        1074.0,
        1075.0,
        22.0,
        0.843_75,
        1.25,
        2.857_142_857_142_857,
        5.9,
        0.437_5,
        2.437_5,
        std::f64::consts::PI,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::FRAC_PI_4,
        1_048_575.9,
        1_048_576.5,
        4_503_599_627_370_497.5,
        1.0 - f64::EPSILON / 2.0,
        1.0 + f64::EPSILON,
        0.5 - f64::EPSILON / 4.0,
    ];
    values.extend(edges.iter().flat_map(|x| [*x, -x]));
    let mut seed = 17;
    for k in 0..80 {
        values.push(f64::from_bits(random(&mut seed)));
        values.push(random(&mut seed) as i64 as f64 / i64::MAX as f64 * [1.0, 10.0, 1000.0, 1e9][k % 4]);
    }
    values
}

fn worst_of_the_table(ty: Ty, values: &[Scalar], means: Means) -> Vec<String> {
    let (mut wrong, mut seed) = (vec![], 3);
    for row in TABLE {
        let exact = match row.operator {
            _ if ty == Ty::F64 => None,
            Operator::Div => Some(expand::exact_quotient()),
            Operator::Recip => Some(expand::exact_reciprocal()),
            Operator::Sqrt => Some(expand::exact_root()),
            _ => None,
        };
        let Some(function) = exact.or_else(|| expand::operator_by(means, row.operator, ty)) else { continue };
        let program = calling(&function, ty);
        let (mut worst, mut example) = (u64::from(row.ulp), String::new());
        for (k, &x) in values.iter().enumerate() {
            let others: Vec<u64> = if row.arity == 1 { vec![0] } else { (0..4).map(|_| random(&mut seed)).collect() };
            for other in others {
                let second = match row.signature {
                    Signature::IntPower => {
                        let n = other as i32 >> (random(&mut seed) % 32);
                        Scalar::from_int(Ty::I32, n.into())
                    }
                    _ => values[(other as usize) % values.len()],
                };
                let mut args = vec![x, second];
                args.truncate(row.arity);
                let expected = row.operator.eval(&args).expect("the table is total");
                let found = eval(&program, &args);
                let off = row.units_of_floor(expected, found).unwrap_or_else(|| off(expected, found));
                if off > worst {
                    worst = off;
                    example = format!("{} {args:?} (value {k}): {found:?}, expected {expected:?}, {off} ulp", row.name);
                }
            }
        }
        wrong.extend((!example.is_empty()).then_some(example));
    }
    wrong
}

#[test]
fn within_the_precision_of_the_table() {
    let values: Vec<Scalar> = values().into_iter().map(Scalar::f32).collect();
    for (fused, paired) in [(false, false), (true, false), (false, true)] {
        let wrong = worst_of_the_table(Ty::F32, &values, Means { fused, paired, lanes: false });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn within_the_precision_of_the_table_in_f64() {
    let values: Vec<Scalar> = doubles().into_iter().map(|x| Scalar::from_f64(Ty::F64, x)).collect();
    let wrong = worst_of_the_table(Ty::F64, &values, Means::default());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The floor of `lgamma` is for negative numbers; positive ones keep their digits near the roots 1 and 2.
#[test]
fn lgamma_near_its_roots() {
    let row = Operator::Lgamma.row();
    for (ty, step) in [(Ty::F32, 1e-7), (Ty::F64, 1e-15)] {
        let function = expand::operator(row.operator, ty).expect("an expansion");
        let program = calling(&function, ty);
        let far = (1..3000).map(|k| f64::from(k) * 0.01);
        let near = (-1500..1500).map(|k| f64::from(k) * step);
        for x in far.chain(near.flat_map(|d| [1.0 + d, 2.0 + d * 3.0])) {
            let x = Scalar::from_f64(ty, x);
            let expected = row.operator.eval(&[x]).expect("a value");
            let found = eval(&program, &[x]);
            assert!(off(expected, found) <= row.ulp.into(), "{x:?}: {found:?}, expected {expected:?}");
        }
        for x in (1..20_000).map(|k| f64::from(k) * -0.001_003) {
            let x = Scalar::from_f64(ty, x);
            let expected = row.operator.eval(&[x]).expect("a value");
            let found = eval(&program, &[x]);
            let off = row.units_of_floor(expected, found).unwrap_or_else(|| off(expected, found));
            assert!(off <= row.ulp.into(), "{x:?}: {found:?}, expected {expected:?}");
        }
    }
}

/// The double nearest to a multiple of pi/2. The value is from a library of arbitrary precision: those of platforms are off.
#[test]
fn the_hardest_cosine() {
    let cos = calling(&expand::operator(slyz_sir::ops::Operator::Cos, Ty::F64).expect("an expansion"), Ty::F64);
    let found = eval(&cos, &[Scalar::from_f64(Ty::F64, 6_381_956_970_095_103.0 * 2f64.powi(797))]);
    assert!(off(found, Scalar::from_f64(Ty::F64, -4.687_165_924_254_628e-19)) <= 1, "{found:?}");
}

#[test]
fn halves_are_exact() {
    let [pack, unpack] =
        [(expand::pack_f16(), Ty::U32), (expand::unpack_f16(), Ty::F32)].map(|(f, ty)| calling(&f, ty));
    let [half, brain] = [expand::round_f16(), expand::round_bf16()].map(|f| calling(&f, Ty::F32));
    // Every exponent, and mantissas of all kinds.
    for bits in (0..=0xffffu64).filter(|bits| bits % 37 == 0 || bits % 1024 < 3) {
        let (half, found) = (Scalar::from_bits(Ty::F16, bits), eval(&unpack, &[Scalar::from_bits(Ty::U32, bits)]));
        assert_eq!(distance(half.as_f64() as f32, found.as_f64() as f32), 0, "{bits:x}");
        let back = eval(&pack, &[found]);
        assert!(back.bits == bits || half.as_f64().is_nan(), "{bits:x}: {:x}", back.bits);
    }
    let mut seed = 1;
    let near = (0..500).map(|_| (random(&mut seed) as f32 / 1e15).recip() * 1e-4);
    for x in values().into_iter().chain(near) {
        let x = Scalar::f32(x);
        for (program, ty) in [(&half, Ty::F16), (&brain, Ty::BF16)] {
            let (expected, found) = (x.cast(ty).cast(Ty::F32), eval(program, &[x]));
            assert_eq!(distance(expected.as_f64() as f32, found.as_f64() as f32), 0, "{x:?} as {ty}: {found:?}");
        }
    }
}

#[test]
fn conversions_round_once() {
    let [nearest, odd] = [expand::nearest_f32(), expand::odd_f32_of_words()].map(|f| calling(&f, Ty::F32));
    let from_f64 = calling(&expand::odd_f32(), Ty::F32);
    let mut seed = 5;
    for k in 0..2_000u64 {
        let x = match k {
            0..100 => k,
            100..200 => u64::MAX - (k - 100),
            _ => random(&mut seed) >> (k % 64),
        };
        let words = [x >> 32, x & 0xffff_ffff].map(|w| Scalar::from_bits(Ty::U32, w));
        assert_eq!(eval(&nearest, &words), Scalar::f32(x as f32), "{x}");
        let half = |x: Scalar| x.cast(Ty::BF16);
        assert_eq!(half(eval(&odd, &words)), half(Scalar::from_int(Ty::U64, x.into())), "{x}");
        let wide = Scalar::from_f64(Ty::F64, f64::from_bits(random(&mut seed)));
        let (expected, found) = (wide.cast(Ty::F16), eval(&from_f64, &[wide]).cast(Ty::F16));
        assert!(expected == found || wide.as_f64().is_nan(), "{wide:?}");
    }
}

#[test]
fn products_are_added_before_they_are_rounded() {
    let [by_f64, by_words] = [expand::fma_by_f64(), expand::fma_by_words(Ty::F32)].map(|f| calling(&f, Ty::F32));
    let (values, mut seed) = (values(), 11);
    for k in 0..3_000usize {
        let mut pick = || values[random(&mut seed) as usize % values.len()];
        let (a, b) = (pick(), pick());
        let c = if k.is_multiple_of(3) { -a * b * (1.0 + f32::EPSILON * (k % 5) as f32) } else { pick() };
        let args = [a, b, c].map(Scalar::f32);
        let expected = Scalar::f32(a.mul_add(b, c));
        for program in [&by_f64, &by_words] {
            let found = eval(program, &args);
            assert_eq!(off(expected, found), 0, "{a:e} * {b:e} + {c:e} = {expected:?}, found {found:?}");
        }
    }
}

#[test]
fn products_of_f64_are_added_before_they_are_rounded() {
    let by_words = calling(&expand::fma_by_words(Ty::F64), Ty::F64);
    let (values, mut seed) = (doubles(), 12);
    for k in 0..4_000usize {
        let mut pick = || values[random(&mut seed) as usize % values.len()];
        let (a, mut b) = (pick(), pick());
        if k % 2 == 1 {
            // Products near the smallest numbers, and some near the largest.
            let exponent = [-1080, -1075, -1060, -1030, -1022, 1022, 1024, -970][k / 2 % 8];
            b = (1.0 + random(&mut seed) as f64 / u64::MAX as f64) / a * 2f64.powi(exponent / 2);
            b *= 2f64.powi(exponent - exponent / 2);
        }
        let c = match k % 3 {
            0 => -a * b * (1.0 + f64::EPSILON * (k % 5) as f64),
            1 => f64::from_bits(random(&mut seed) & (u64::MAX >> (k % 12))),
            _ => values[random(&mut seed) as usize % values.len()],
        };
        let (expected, found) = (a.mul_add(b, c), eval(&by_words, &[a, b, c].map(|x| Scalar::from_f64(Ty::F64, x))));
        let expected = Scalar::from_f64(Ty::F64, expected);
        assert_eq!(off(expected, found), 0, "{a:e} * {b:e} + {c:e} = {expected:?}, found {found:?}");
    }
}

/// Every thread adds, takes the smaller and the larger, and exchanges; both kernels leave the same bits.
#[test]
fn atomics_on_floats_by_their_bits() {
    use slyz_sir::interp::Array;
    use slyz_sir::interp::kernel::{LaunchOptions, launch};
    let kernel = slyz_sir::text::parse_kernel(
        "kernel k() grid [3, 1, 1] block [8, 1, 1] {
           global readwrite out: f32[8]
           global write told: f32[24]
           shared part: f32[1]
           %i: i64 = global.x  %l: i64 = local.x  %x: f32 = cast %i
           %0: i64 = const 0  %1: i64 = const 1  %2: i64 = const 2  %3: i64 = const 3
           %first: bool = eq %l, %0
           if %first { store part[%0], %x } else {}
           barrier block
           %a: f32 = atomic add out[%0], %x  %b: f32 = atomic min out[%1], %x  %c: f32 = atomic max out[%2], %x
           %d: f32 = atomic exchange out[%3], %x  %p: f32 = atomic add part[%0], %x
           %four: i64 = const 4  %none: f32 = const 0.0  %e: f32 = atomic compare_exchange out[%four], %none, %x
           %s: f32 = add %a, %b  %t: f32 = add %c, %d  %u: f32 = add %s, %t  %v: f32 = add %u, %p  %w: f32 = add %v, %e
           store told[%i], %w
         }",
    )
    .expect("a kernel");
    let words = slyz_sir::expand::float_atomics(&kernel).expect("there are some");
    assert_eq!(slyz_sir::verify::kernel(&words), Ok(()), "{words}");
    let start = [0.0f32, 5.0, 5.0, -0.0, 0.0, 1.0, f32::NAN, 0.5].map(|x| u64::from(x.to_bits())).to_vec();
    let run = |kernel: &slyz_sir::kernel::Kernel, ty: Ty| {
        let out = Array { ty, shape: vec![8], data: start.clone() };
        let told = Array { ty: Ty::F32, shape: vec![24], data: vec![0; 24] };
        let mut memories = [out, told];
        launch(kernel, &[], &mut memories, &[], &LaunchOptions::default()).expect("it runs");
        memories.map(|m| m.data)
    };
    assert_eq!(run(&words, Ty::U32)[0], run(&kernel, Ty::F32)[0]);
}
