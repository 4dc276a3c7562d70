//! Proven bounds of what smaller numbers do to results: no data in the ranges gets past them. Layers of random operators, and the random
//! programs of all tests, are run as they are and over smaller numbers.

#[path = "random/mod.rs"]
#[allow(dead_code, unused_imports)]
mod random;

use random::Rng;
use slyz_sir::interp::program::{run, solve_sizes};
use slyz_sir::interp::{Array, Value};
use slyz_sir::program::Program;
use slyz_sir::quantize::{Known, Request, Small, Why, errors, measured, quantize, ranges};
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};
use std::fmt::Write as _;

/// What is done with an element `%x`, as statements that bind `%y`.
const ELEMENT: &[&str] = &[
    "%y: f32 = add %x, %c",
    "%y: f32 = sub %c, %x",
    "%y: f32 = mul %x, %c",
    "%y: f32 = max %x, %c",
    "%y: f32 = min %x, %c",
    "%y: f32 = tanh %x",
    "%y: f32 = erf %x",
    "%y: f32 = exp %x",
    "%y: f32 = sin %x",
    "%y: f32 = atan %x",
    "%y: f32 = round %x",
    "%y: f32 = sign %x",
    "%y: f32 = mul %x, %x",
    "%y: f32 = fma %x, %x, %c",
    "%y: f32 = sqrt %x",
    "%y: f32 = rem %x, %c",
    "%a: f32 = abs %x  %y: f32 = sqrt %a",
    "%a: f32 = abs %x  %b: f32 = add %a, %one  %y: f32 = ln %b",
    "%a: f32 = mul %x, %x  %b: f32 = add %a, %one  %y: f32 = rsqrt %b",
    "%a: f32 = neg %x  %b: f32 = exp %a  %d: f32 = add %b, %one  %y: f32 = div %x, %d",
    "%p: bool = gt %x, %c  %y: f32 = select %p, %x, %c",
    "%p: bool = gt %x, %c  %a: f32 = mul %x, %c  %y: f32 = select %p, %x, %a",
    "%n: i32 = cast %x  %y: f32 = cast %n",
    "%n: f16 = cast %x  %y: f32 = cast %n",
];

/// Names of a template as names of their own.
fn renamed(text: &str, number: usize, from: &str, to: &str) -> String {
    let words = text.split('%').enumerate().map(|(k, part)| {
        if k == 0 {
            return part.to_string();
        }
        let end = part.find(|c: char| !c.is_alphanumeric()).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match name {
            "x" => format!("%{from}{rest}"),
            "y" => format!("%{to}{rest}"),
            "one" => format!("%one{rest}"),
            _ => format!("%{name}_{number}{rest}"),
        }
    });
    words.collect()
}

/// Layers: products of matrices with random operators between them, rows over their largest elements and sums.
fn layers(rng: &mut Rng) -> String {
    let mut body = String::new();
    let mut number = 0;
    let mut chain = |rng: &mut Rng, from: &str, to: &str, lines: &mut String| {
        let many = rng.below(3);
        let mut last = from.to_string();
        for k in 0..=many {
            number += 1;
            let next = if k == many { to.to_string() } else { format!("v{number}") };
            let c = (rng.below(4001) as f32 - 2000.0) / 1000.0;
            let _ = write!(lines, "    %c_{number}: f32 = const {c:?}\n    ");
            let step = ELEMENT[rng.below(ELEMENT.len() as u64) as usize];
            let _ = writeln!(lines, "{}", renamed(step, number, &last, &next).replace("  ", "\n    "));
            last = next;
        }
    };
    let mut results = vec!["out"];
    body += "  %zero: f32 = const 0.0\n  %one: f32 = const 1.0\n  %least: f32 = const -inf\n";
    body += "  %h: f32[N, K] = tabulate [N, K] |%i1: i64, %k1: i64| {\n    %e1: f32 = at %x[%i1, %k1]\n";
    chain(rng, "e1", "f1", &mut body);
    body += "    yield %f1\n  }\n";
    body += "  %s: f32[N, M] = tabulate [N, M] |%i2: i64, %j2: i64| {
    %t2: f32 = fold [K] |%k2: i64| {
      %a2: f32 = at %h[%i2, %k2]  %b2: f32 = at %w[%k2, %j2]  %m2: f32 = mul %a2, %b2  yield %m2
    } with commutative (%zero) |%l2: f32, %r2: f32| { %u2: f32 = add %l2, %r2  yield %u2 }\n";
    chain(rng, "t2", "f2", &mut body);
    body += "    yield %f2\n  }\n";
    let soft = rng.chance(40);
    if soft {
        body += "  %top: f32[N] = tabulate [N] |%i3: i64| {
    %t3: f32 = fold [M] |%j3: i64| { %a3: f32 = at %s[%i3, %j3]  yield %a3 }
      with commutative (%least) |%l3: f32, %r3: f32| { %u3: f32 = max %l3, %r3  yield %u3 }
    yield %t3
  }
  %e: f32[N, M] = tabulate [N, M] |%i4: i64, %j4: i64| {
    %a4: f32 = at %s[%i4, %j4]  %b4: f32 = at %top[%i4]  %c4: f32 = sub %a4, %b4  %d4: f32 = exp %c4
    yield %d4
  }
  %all: f32[N] = tabulate [N] |%i5: i64| {
    %t5: f32 = fold [M] |%j5: i64| { %a5: f32 = at %e[%i5, %j5]  yield %a5 }
      with commutative (%zero) |%l5: f32, %r5: f32| { %u5: f32 = add %l5, %r5  yield %u5 }
    yield %t5
  }
  %g: f32[N, M] = tabulate [N, M] |%i6: i64, %j6: i64| {
    %a6: f32 = at %e[%i6, %j6]  %b6: f32 = at %all[%i6]  %c6: f32 = div %a6, %b6
    yield %c6
  }\n";
    } else {
        body += "  %g: f32[N, M] = tabulate [N, M] |%i6: i64, %j6: i64| {\n    %a6: f32 = at %s[%i6, %j6]\n";
        chain(rng, "a6", "f6", &mut body);
        body += "    yield %f6\n  }\n";
    }
    body += "  %out: f32[N, P] = tabulate [N, P] |%i7: i64, %j7: i64| {
    %t7: f32 = fold [M] |%k7: i64| {
      %a7: f32 = at %g[%i7, %k7]  %b7: f32 = at %v[%k7, %j7]  %m7: f32 = mul %a7, %b7  yield %m7
    } with commutative (%zero) |%l7: f32, %r7: f32| { %u7: f32 = add %l7, %r7  yield %u7 }
    yield %t7
  }\n";
    let mut types = vec!["f32[N, P]"];
    if rng.chance(50) {
        body += "  %sums: f32[N, M] = scan [N, M] |%i8: i64, %j8: i64| { %a8: f32 = at %g[%i8, %j8]  yield %a8 }
    with commutative (%zero) |%l8: f32, %r8: f32| { %u8: f32 = add %l8, %r8  yield %u8 }\n";
        results.push("sums");
        types.push("f32[N, M]");
    }
    let results: Vec<String> = results.iter().map(|name| format!("%{name}")).collect();
    format!(
        "program layers<N, K, M, P>(%x: f32[N, K], %w: f32[K, M], %v: f32[M, P]) -> ({}) {{\n{body}  return {}\n}}\n",
        types.join(", "),
        results.join(", ")
    )
}

fn numbers(value: &Value) -> (Ty, Vec<Scalar>) {
    match value {
        Value::Scalar(scalar) => (scalar.ty, vec![*scalar]),
        Value::Array(array) => (array.ty, array.data.iter().map(|&bits| Scalar::from_bits(array.ty, bits)).collect()),
    }
}

fn number(scalar: &Scalar) -> f64 {
    if scalar.ty.is_float() { scalar.as_f64() } else { scalar.as_int() as f64 }
}

/// The ranges that the program tells of its arguments, which are those of the data.
fn known(program: &Program, request: &Request, sizes: &[Option<u64>], args: &[Value]) -> Known {
    let mut arguments = vec![(f64::NEG_INFINITY, f64::INFINITY); args.len()];
    if let Some(tell) = ranges(program, request) {
        let told = run(&tell, sizes, args).expect("ranges can be told");
        let told: Vec<f64> = told.iter().flat_map(|value| numbers(value).1).map(|told| number(&told)).collect();
        for (argument, ends) in measured(program).into_iter().zip(told.chunks_exact(2)) {
            let all: Vec<f64> = numbers(&args[argument]).1.iter().map(number).collect();
            let is_known = !all.is_empty() && all.iter().all(|x| !x.is_nan());
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let expected = if is_known { (least, most) } else { (ends[0], ends[1]) };
            assert_eq!((ends[0], ends[1]), expected);
            arguments[argument] = expected;
        }
    }
    Known { sizes: vec![solve_sizes(program, sizes, args).expect("the sizes of the call")], arguments }
}

/// Holds the bounds of a program with these arguments; how many results have one, of how many.
fn hold(program: &Program, request: &Request, sizes: &[Option<u64>], args: &[Value], tight: &mut Vec<f64>) -> [u32; 2] {
    let Ok(exact) = run(program, sizes, args) else { return [0, 0] };
    let smaller = quantize(program, request);
    let Ok(found) = run(&smaller.program, sizes, args) else { return [0, 0] };
    let bounds = errors(program, request, &known(program, request, sizes, args));
    let mut proven = 0;
    for (k, ((exact, found), bound)) in exact.iter().zip(&found).zip(&bounds).enumerate() {
        let Ok(bound) = bound else { continue };
        proven += 1;
        let mut most = 0f64;
        for (a, b) in numbers(exact).1.iter().zip(&numbers(found).1) {
            let (a, b) = (number(a), number(b));
            if a == b || a.is_nan() && b.is_nan() {
                continue;
            }
            let off = (a - b).abs();
            assert!(
                off <= *bound,
                "result {k}: {a} and {b} are {off} apart, not {bound}\n{program}\n{}",
                smaller.program
            );
            most = most.max(off);
        }
        if *bound > 0.0 && most > 0.0 {
            tight.push(bound / most);
        }
    }
    [proven, bounds.len() as u32]
}

fn matrix(rng: &mut Rng, shape: [u64; 2], size: f32) -> Value {
    let one = |rng: &mut Rng| {
        // Some rows have one number that is far larger than the others.
        let size = if rng.chance(2) { size } else { size * 0.3 };
        Scalar::f32((rng.below(20_001) as f32 / 10_000.0 - 1.0) * size).bits
    };
    Value::Array(Array {
        ty: Ty::F32,
        shape: shape.to_vec(),
        data: (0..shape[0] * shape[1]).map(|_| one(rng)).collect(),
    })
}

#[test]
fn no_layer_is_further_off() {
    let mut all = [0, 0];
    let mut tight = vec![];
    for seed in slyz_trials::trials("no_layer_is_further_off", 300) {
        let mut rng = Rng::new(seed);
        let text = layers(&mut rng);
        let program = parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let [n, k, m, p] = [(); 4].map(|()| 1 + rng.below(12));
        let size = [1e-3, 0.1, 1.0, 3.0, 1e3][rng.below(5) as usize];
        let args = [matrix(&mut rng, [n, k], size), matrix(&mut rng, [k, m], 1.0), matrix(&mut rng, [m, p], 2.0)];
        for small in Small::ALL {
            let weights = (small != Small::I8).then(|| vec![1, 2]);
            let without = (0..5).filter(|_| rng.chance(20)).map(|k| (k, String::new())).collect();
            let request = Request { small, weights, without };
            let found = hold(&program, &request, &[None; 4], &args, &mut tight);
            all = [all[0] + found[0], all[1] + found[1]];
        }
    }
    tight.sort_by(f64::total_cmp);
    let middle = tight.get(tight.len() / 2).copied().unwrap_or(1.0);
    println!("{} of {} results have a bound, half of them within {middle:.1} times what was found", all[0], all[1]);
    assert!(5 * all[0] >= all[1], "{all:?}");
}

/// One operator of elements that are stored in 16 bits: no chain of bounds that are too large hides one that is too small.
#[test]
fn no_operator_is_further_off() {
    let mut proven = 0;
    let mut tight = vec![];
    for seed in slyz_trials::trials("no_operator_is_further_off", 40) {
        let mut rng = Rng::new(seed);
        for (k, step) in ELEMENT.iter().enumerate() {
            let c = (rng.below(4001) as f32 - 2000.0) / 1000.0;
            let step = renamed(step, k, "e", "f").replace("  ", "\n    ");
            let text = format!(
                "program one<N, M>(%x: f32[N, M]) -> f32[N, M] {{
  %one: f32 = const 1.0
  %out: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {{
    %e: f32 = at %x[%i, %j]
    %c_{k}: f32 = const {c:?}
    {step}
    yield %f
  }}
  return %out
}}"
            );
            let program = parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let (middle, size) = ((rng.below(4001) as f32 - 1000.0) / 1000.0, [1e-3, 0.1, 1.0][rng.below(3) as usize]);
            let Value::Array(mut x) = matrix(&mut rng, [1, 100], size) else { continue };
            x.data.iter_mut().for_each(|bits| *bits = Scalar::f32(f32::from_bits(*bits as u32) + middle).bits);
            for small in [Small::F16, Small::BF16] {
                let request = Request { weights: Some(vec![0]), ..Request::new(small) };
                proven += hold(&program, &request, &[None; 2], &[Value::Array(x.clone())], &mut tight)[0];
            }
        }
    }
    tight.sort_by(f64::total_cmp);
    let middle = tight[tight.len() / 2];
    println!("{proven} have a bound, half of them within {middle:.1} times what was found");
    assert!(middle < 5.0);
}

#[test]
fn no_random_program_is_further_off() {
    let mut all = [0, 0];
    for seed in slyz_trials::trials("no_random_program_is_further_off", 200) {
        let case = random::case(seed, 40);
        for small in Small::ALL {
            let weights = Some((0..case.args.len()).collect());
            let request = Request { weights, ..Request::new(small) };
            let found = hold(&case.program, &request, &case.sizes, &case.args, &mut vec![]);
            all = [all[0] + found[0], all[1] + found[1]];
        }
    }
    println!("{} of {} results have a bound", all[0], all[1]);
}

/// A product of bytes is off by no more than half a step of either side for each term, and by not much less.
#[test]
fn a_product_has_the_bound_that_one_would_find() {
    let program = parse_program(
        "program dot<N, K, M>(%a: f32[N, K], %b: f32[K, M]) -> f32[N, M] {
  %zero: f32 = const 0.0
  %c: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
    %s: f32 = fold [K] |%k: i64| {
      %x: f32 = at %a[%i, %k]  %y: f32 = at %b[%k, %j]  %p: f32 = mul %x, %y  yield %p
    } with commutative (%zero) |%u: f32, %v: f32| { %w: f32 = add %u, %v  yield %w }
    yield %s
  }
  return %c
}",
    )
    .expect("a program");
    let request = Request::new(Small::I8);
    let sizes = vec![vec![Some(4), Some(100), Some(5)]];
    let known = Known { sizes: sizes.clone(), arguments: vec![(-2.0, 1.0), (0.0, 3.0)] };
    let off = errors(&program, &request, &known)[0].expect("it is followed");
    let expected = 100.0 * (2.0 * 3.0 / 254.0 * 2.0);
    assert!((expected..1.01 * expected).contains(&off), "{off}, not {expected}");
    let why = |arguments: Vec<(f64, f64)>, sizes: Vec<Vec<Option<u64>>>| {
        errors(&program, &request, &Known { sizes, arguments })[0].expect_err("nothing is known")
    };
    assert_eq!(why(vec![], sizes), Why::Range);
    assert_eq!(why(vec![(-2.0, 1.0), (0.0, 3.0)], vec![]), Why::Extent);
    let left = Request { without: vec![(0, String::new())], ..request };
    let off = errors(&program, &left, &known)[0].expect("it is followed");
    assert!(off < 1e-2, "only the order of additions: {off}");
}
