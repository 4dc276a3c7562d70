//! `#[function]` over real traces: what stays a call, what the rewritten control flow means.
#![allow(clippy::excessive_precision, clippy::assign_op_pattern)] // written as users write

use slyz::prelude::*;

type Result<T = ()> = std::result::Result<T, slyz::Error>;

axis!(N, M);

#[slyz::function]
fn normcdf(x: Exp<f32>) -> Exp<f32> {
    let l = x.abs();
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let w = 1.0
        - 0.398_942_3
            * (-l * l / 2.0).exp()
            * horner(k, [0.0, 0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429]);
    if x < 0.0 { 1.0 - w } else { w }
}

/// λ-sharing: two calls, one function.
#[test]
fn calls_stay_calls() -> Result {
    let f = compile(|s: Arr<f32, N>| s.map(|s| normcdf(s) + normcdf(s * 2.0)))?;
    assert!(f.source().matches("normcdf").count() >= 3, "one definition and two calls in\n{}", f.source());
    assert!((f.call(&[0f32])?.to_vec()?[0] - 1.0).abs() < 1e-6);
    Ok(())
}

#[slyz::function]
fn literals(x: Exp<f32>) -> Exp<f32> {
    if x < 0.0 {
        1.0
    } else if x > 10.0 && x != 11.0 {
        2.0
    } else {
        x
    }
}

#[slyz::function]
fn both_literal(x: Exp<f32>) -> Exp<f32> {
    if x < 0.0 || 5.0 < x { 1.0 } else { 0.0 }
}

#[slyz::function]
fn mutation(x: Exp<f32>) -> Exp<f32> {
    let mut y = x;
    let mut n = lit(0u32);
    if x < 0.0 {
        y = -x;
        n += 1;
    } else {
        let y = 3.0;
        let _ = y;
    }
    if y > 5.0 {
        y -= 1.0;
        if y > 7.0 {
            y *= 10.0
        }
    }
    y + n.cast::<f32>()
}

#[slyz::function]
fn early(x: Exp<f32>) -> Exp<f32> {
    if x < 0.0 {
        return 0.0;
    }
    let y = x * 2.0;
    if y > 10.0 {
        return y;
    } else if y == 4.0 {
        return lit(-4.0);
    }
    y + 1.0
}

#[slyz::function]
fn goes_on_in_then(x: Exp<f32>) -> Exp<f32> {
    let mut y = x;
    if x < 0.0 {
        let x = 1.0;
        y += x;
    } else {
        return x;
    }
    y *= 2.0;
    y
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Fast,
    Slow,
}

#[slyz::function(inline)]
fn host(x: Exp<f32>, mode: Mode, n: usize) -> Exp<f32> {
    let mut acc = x;
    for i in 0..n {
        // An `if` over a host `bool` runs one branch.
        if i == 1 {
            acc += 100.0;
        }
        #[host]
        if i == 3 {
            break;
        }
        acc = if mode == Mode::Fast { acc * 2.0 } else { acc + 1.0 };
    }
    match mode {
        Mode::Fast if n > 2 => acc,
        _ => -acc,
    }
}

/// A host local that changes after a guard does not have to be a traced one.
#[slyz::function]
fn host_after_guard(x: Exp<f32>, n: usize) -> Exp<f32> {
    let mut count = 0;
    if x < 0.0 {
        return 0.0;
    }
    for i in 0..n {
        if i > 1 {
            count += 1;
        }
    }
    #[host]
    if count == 0 {
        return lit(-1.0);
    } else if count == 1 {
        return lit(-2.0);
    }
    x
}

/// Specialised on `n`.
#[slyz::function]
fn powi(x: Exp<f32>, n: usize) -> Exp<f32> {
    let mut p = lit(1.0);
    for _ in 0..n {
        p = p * x
    }
    p
}

#[slyz::function]
fn generic<T: Float>(x: Exp<T>) -> Exp<T> {
    if x > lit(T::ZERO) { x } else { -x }
}

#[slyz::function]
fn pair(x: Exp<f32>, p: (Exp<f32>, Exp<u32>)) -> (Exp<f32>, Exp<u32>) {
    if x > p.0 { (x, p.1 + 1) } else { (p.0, lit(0)) }
}

/// The result is an array, so the body is inlined.
#[slyz::function]
fn relu<S: Shape>(x: Arr<f32, S>) -> Arr<f32, S> {
    x.map(|x| if x > 0.0 { x } else { 0.0 })
}

#[slyz::function]
fn looks_up(x: Arr<f32, N>, i: Idx<N>) -> Exp<f32> {
    if i == (i - 1).clamp() { x.at(i) } else { x.at((i - 1).clamp()) }
}

#[slyz::function]
fn lower(x: Arr<f32, (N, N)>) -> Arr<f32, (N, N)> {
    tabulate(|(i, j)| if i < j { 0.0 } else { x.at((i, j)) })
}

#[slyz::function]
fn recursive(x: Exp<f32>) -> Exp<f32> {
    if x < 1.0 { x } else { recursive(x - 1.0) }
}

#[slyz::function]
fn sort2(mut v: [Exp<f32>; 2]) -> (Exp<f32>, Exp<f32>) {
    if v[0] > v[1] {
        (v[0], v[1]) = (v[1], v[0]);
    }
    (v[0], v[1])
}

fn check(name: &str, f: impl Fn(Exp<f32>) -> Exp<f32>, cases: &[(f32, f32)]) -> Result {
    let compiled = compile(|x: Arr<f32, N>| x.map(&f))?;
    let (xs, ys): (Vec<f32>, Vec<f32>) = cases.iter().copied().unzip();
    assert_eq!(compiled.call(&xs)?.to_vec()?, ys, "{name} of {xs:?}");
    Ok(())
}

#[test]
fn values_and_assignments() -> Result {
    check("literals", literals, &[(-1.0, 1.0), (3.0, 3.0), (12.0, 2.0), (11.0, 11.0)])?;
    check("both_literal", both_literal, &[(-1.0, 1.0), (3.0, 0.0), (6.0, 1.0)])?;
    check("mutation", mutation, &[(-2.0, 3.0), (2.0, 2.0), (6.0, 5.0), (9.0, 80.0), (-9.0, 81.0)])?;
    check("generic", generic, &[(-2.0, 2.0)])?;
    let f = compile(|x: Arr<f32, N>| x.map(|x| pair(x, (lit(1.0), lit(7)))))?;
    assert_eq!(f.call(&[2f32, 0.0])?.to_vec()?, [(2.0, 8), (1.0, 0)]);
    let f = compile(|x: Arr<[f32; 2], N>| x.map(sort2))?;
    assert_eq!(f.call(&[[2f32, 1.], [1., 2.]])?.to_vec()?, [(1., 2.), (1., 2.)]);
    Ok(())
}

#[test]
fn returns() -> Result {
    check("early", early, &[(-1.0, 0.0), (6.0, 12.0), (2.0, -4.0), (1.0, 3.0)])?;
    check("goes_on_in_then", goes_on_in_then, &[(-3.0, -4.0), (3.0, 3.0)])
}

#[test]
fn host_decisions() -> Result {
    check("fast", |x| host(x, Mode::Fast, 9), &[(1.0, ((1.0 * 2.0 + 100.0) * 2.0) * 2.0)])?;
    check("slow", |x| host(x, Mode::Slow, 2), &[(1.0, -(1.0 + 1.0 + 100.0 + 1.0))])?;
    check("powi", |x| powi(x, 3) + powi(x, 2) + powi(x * 1.0, 3), &[(2.0, 20.0)])?;
    for (n, y) in [(0, -1.0), (3, -2.0), (4, 5.0)] {
        check("host_after_guard", |x| host_after_guard(x, n), &[(-1.0, 0.0), (5.0, y)])?;
    }
    Ok(())
}

#[test]
fn arrays_and_positions() -> Result {
    assert_eq!(compile(relu::<(N, M)>)?.call(&[[1f32, -1.]])?.to_vec()?, [1., 0.]);
    let f = compile(|x: Arr<f32, N>| tabulate(|i| looks_up(x, i)))?;
    assert_eq!(f.call(&[1f32, 2., 3.])?.to_vec()?, [1., 1., 2.]);
    assert_eq!(compile(lower)?.call(&[[1f32, 2.], [3., 4.]])?.to_vec()?, [1., 0., 3., 4.]);
    Ok(())
}

#[test]
fn recursion_is_an_error() {
    let error = compile(|x: Arr<f32, N>| x.map(recursive)).expect_err("a function that calls itself has no end");
    assert!(error.to_string().contains("recursive"), "{error}");
}

#[derive(slyz::Axis, Clone, Copy)]
enum Channel {
    R,
    G,
    B,
}

/// The host's exhaustive `match` is the case analysis of an axis.
#[test]
fn variants_are_positions() -> Result {
    let f = compile(|img: Arr<f32, (N, Channel)>| {
        tabulate(|(i, c): Pos<(N, Channel)>| {
            let weight = c.cases(|c| match c {
                Channel::R => 0.5f32,
                Channel::G => 2.0,
                Channel::B => 10.0,
            });
            img.at((i, c)) * weight + img.at((i, Channel::R.pos()))
        })
    })?;
    assert_eq!(f.call(&[[1f32, 2., 3.]])?.to_vec()?, [1.5, 5., 31.]);
    Ok(())
}

#[derive(slyz::Elem, Clone, Copy, Debug, PartialEq)]
struct Rgb<T> {
    r: T,
    g: T,
    b: T,
}

#[slyz::function]
fn brighten(c: Rgb<Exp<f32>>, by: Exp<f32>) -> Rgb<Exp<f32>> {
    let mut c = c;
    if by > 1.0 {
        c.r *= by;
    } else {
        c = Rgb { r: lit(1.0), ..c };
    }
    if c.r > 100.0 { Rgb { r: 100.0, g: 0.0, b: 0.0 } } else { c }
}

#[test]
fn structs_are_elements() -> Result {
    let f = compile(|x: Arr<Rgb<f32>, N>, by: Exp<f32>| x.map(|c| brighten(c, by)))?;
    let of = |r| Rgb { r, g: 2f32, b: 3. };
    assert_eq!(f.call(&[of(5f32), of(60.)], 2.0)?.to_vec()?, [of(10.), Rgb { r: 100., g: 0., b: 0. }]);
    assert_eq!(f.call(&[of(5f32)], 0.5)?.to_vec()?, [of(1.)]);
    Ok(())
}

#[slyz::function]
fn closures(x: Exp<f32>) -> Exp<f32> {
    let clip = |y: Exp<f32>| {
        if y > 2.0 {
            return 2.0;
        }
        y
    };
    clip(x) + clip(x + 1.0)
}

#[slyz::function(inline)]
fn fallible(x: Exp<f32>, k: Option<f32>) -> Option<Exp<f32>> {
    let k = k?;
    let y = if let Some(z) = nonzero(k)
        && z > 1.0
    {
        x * z
    } else if x > 0.0 {
        x
    } else {
        0.0
    };
    Some(y)
}

fn nonzero(k: f32) -> Option<f32> {
    (k != 0.0).then_some(k)
}

#[slyz::function]
fn many(x: Exp<f32>) -> Exp<f32> {
    let (mut a, mut b, mut c, mut d, mut e, mut f, mut g) = (x, x, x, x, x, x, x);
    if x > 0.0 {
        (a, b, c, d) = (x + 1.0, x, x, x);
    }
    [e, f, g] = [a, b, c];
    a + b + c + d + e + f + g
}

struct Params {
    r: f32,
    v: [f32; 2],
}

impl Params {
    const LIMIT: f32 = 4.0;

    #[slyz::function(inline)]
    fn price(&self, s: Exp<f32>) -> Exp<f32> {
        let mut t = s;
        if s > self.r {
            t = s * self.v[0]
        } else {
            t += self.v[1]
        }
        t
    }

    #[slyz::function]
    fn of_self(x: Exp<f32>) -> <Self as Answer>::Of {
        if x > Self::LIMIT { Self::LIMIT } else { x }
    }
}

trait Answer {
    type Of;
}

impl Answer for Params {
    type Of = Exp<f32>;
}

/// What Rust has around expressions: closures, methods, `?`, chains of `let`, assignments to patterns.
#[test]
fn the_rest_of_rust() -> Result {
    check("closures", closures, &[(1.5, 3.5), (0.0, 1.0), (9.0, 4.0)])?;
    check("many", many, &[(-1.0, -7.0), (1.0, 9.0)])?;
    check("of_self", Params::of_self, &[(3.0, 3.0), (5.0, 4.0)])?;
    let params = Params { r: 1.0, v: [2.0, 3.0] };
    check("price", |x| params.price(x), &[(0.0, 3.0), (5.0, 10.0)])?;
    check("fallible", |x| fallible(x, Some(2.0)).expect("some"), &[(-1.0, -2.0), (3.0, 6.0)])?;
    check("fallible", |x| fallible(x, Some(0.0)).expect("some"), &[(-1.0, 0.0), (3.0, 3.0)])?;
    check("fallible", |x| fallible(x, None).unwrap_or(lit(7.0)), &[(-1.0, 7.0)])
}

#[derive(Clone, Copy, Debug, PartialEq, slyz::Elem)]
struct Mixed<A: Copy, B = u32, const K: usize = 2>(A, [B; K], (A, Rgb<B>));

#[test]
fn elements_of_elements() -> Result {
    let f = compile(|x: Arr<Mixed<f32>, N>| x.map(|m| Mixed(m.0 + m.2.0, [m.1[1], m.1[0]], m.2)))?;
    let m = Mixed(1.5f32, [1u32, 2], (2.5, Rgb { r: 3, g: 4, b: 5 }));
    assert_eq!(f.call(&[m])?.to_vec()?, [Mixed(4.0, [2, 1], m.2)]);
    Ok(())
}

#[slyz::function(precision = "exact")]
fn careful(x: Exp<f32>) -> Exp<f32> {
    x / 3.0
}

#[slyz::function(inline, precision = "native")]
fn quick(x: Exp<f32>) -> Exp<f32> {
    x.exp()
}

/// The most precise function counts, unless the compilation says something else.
#[test]
fn functions_say_how_precise_they_are() -> Result {
    use slyz::{Options, Precision, compile_with};
    let said = |precision: Option<Precision>| -> Result<String> {
        let options = precision.map_or(Options::new(), |precision| Options::new().precision(precision));
        let both = compile_with(|x: Arr<f32, N>| x.map(|x| careful(x) + quick(x)), &options)?;
        Ok(both.program().to_string())
    };
    assert!(said(None)?.contains("precision exact"), "{}", said(None)?);
    assert!(said(Some(Precision::Table))?.contains("precision table"));
    let one = compile(|x: Arr<f32, N>| x.map(quick))?;
    assert!(one.program().to_string().contains("precision native"));
    Ok(())
}
