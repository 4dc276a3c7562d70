//! Expansions, compiled and run against the miniature runtime: plain Rust and the rewritten function must agree.
//!
//! The tests over crate `slyz` ask the same of real traces; these say whose fault it is.
#![allow(dead_code, missing_docs)]
#![deny(unused_variables, unused_parens, unused_braces, unused_must_use)]

extern crate self as slyz;
#[path = "runtime/mod.rs"]
pub mod __private;
pub use __private::{Additive, Axis, Elem, ElemOf, EnumAxis, Extent, Idx, Lift, Traced, Value};
use __private::{Exp, lit, log, take_log};
pub use slyz_macros::function;

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
    if n == 1 { y + 1.0 } else { y }
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
    let mut rounds = Vec::new();
    for i in 0..n {
        if i == 1 {
            acc += 100.0;
        }
        #[host]
        if i == 3 {
            break;
        } else if i > 100 {
            rounds.push(i);
            continue;
        }
        acc = if mode == Mode::Fast { acc * 2.0 } else { acc + 1.0 };
    }
    let sign = #[host]
    if n == 0 { 0.0 } else { 1.0 };
    match mode {
        Mode::Fast if n > 2 => acc * sign,
        Mode::Fast | Mode::Slow => -acc,
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
    assert!(count > 1);
    x
}

#[slyz::function]
fn sort2(mut v: [Exp<f32>; 2]) -> (Exp<f32>, Exp<f32>) {
    if v[0] > v[1] {
        (v[0], v[1]) = (v[1], v[0]);
    }
    (v[0], v[1])
}

#[slyz::function]
fn pair(x: Exp<f32>, (a, n): (Exp<f32>, Exp<u32>)) -> (Exp<f32>, Exp<u32>) {
    if x > a { (x, n + 1) } else { (a, lit(0)) }
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
    let y = if let Some(z) = k.checked()
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
trait Checked {
    fn checked(self) -> Option<f32>;
}
impl Checked for f32 {
    fn checked(self) -> Option<f32> {
        (self != 0.0).then_some(self)
    }
}

struct Params {
    r: f32,
    v: [f32; 2],
}
impl Params {
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
    const LIMIT: f32 = 4.0;
}
trait Answer {
    type Of;
}
impl Answer for Params {
    type Of = Exp<f32>;
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

#[slyz::function]
fn order(x: Exp<f32>) -> Exp<f32> {
    if x > 0.0 {
        log("then");
        x
    } else {
        log("else");
        -x
    }
}

#[slyz::function]
fn power(x: Exp<f32>, n: usize) -> Exp<f32> {
    let mut p = lit(1.0);
    for _ in 0..n {
        p *= x;
    }
    p
}

fn check(name: &str, f: impl Fn(Exp<f32>) -> Exp<f32>, cases: &[(f32, f32)]) {
    for &(x, y) in cases {
        assert_eq!(f(Exp(x)).0, y, "{name}({x})");
    }
}

#[test]
fn values_and_assignments() {
    check("literals", literals, &[(-1.0, 1.0), (3.0, 3.0), (12.0, 2.0), (11.0, 11.0)]);
    check("mutation", mutation, &[(-2.0, 3.0), (2.0, 2.0), (6.0, 5.0), (9.0, 80.0), (-9.0, 81.0)]);
    check("many", many, &[(-1.0, -7.0), (1.0, 9.0)]);
    let (a, b) = sort2([Exp(2.0), Exp(1.0)]);
    assert_eq!((a.0, b.0), (1.0, 2.0));
    let (a, n) = pair(Exp(2.0), (Exp(1.0), Exp(7)));
    assert_eq!((a.0, n.0), (2.0, 8));
}

#[test]
fn returns() {
    check("early", early, &[(-1.0, 0.0), (6.0, 12.0), (2.0, -4.0), (1.0, 3.0)]);
    check("goes_on_in_then", goes_on_in_then, &[(-3.0, -4.0), (3.0, 3.0)]);
    check("closures", closures, &[(1.5, 3.5), (0.0, 1.0), (9.0, 4.0)]);
    check("of_self", Params::of_self, &[(3.0, 3.0), (5.0, 4.0)]);
}

#[test]
fn host_decisions() {
    check("fast", |x| host(x, Mode::Fast, 9), &[(1.0, 408.0)]);
    check("slow", |x| host(x, Mode::Slow, 2), &[(1.0, -103.0)]);
    for (n, y) in [(0, -1.0), (3, -2.0), (4, 5.0)] {
        check("host_after_guard", |x| host_after_guard(x, n), &[(-1.0, 0.0), (5.0, y)]);
    }
    let params = Params { r: 1.0, v: [2.0, 3.0] };
    check("price", |x| params.price(x), &[(0.0, 3.0), (5.0, 10.0)]);
    assert!(fallible(Exp(1.0), None).is_none());
    check("fallible", |x| fallible(x, Some(2.0)).expect("some"), &[(-1.0, -2.0), (3.0, 6.0)]);
    check("fallible", |x| fallible(x, Some(0.0)).expect("some"), &[(-1.0, 0.0), (3.0, 3.0)]);
}

#[test]
fn both_branches_in_order_at_the_users_line() {
    take_log();
    let called = line!() + 1;
    order(Exp(1.0));
    let log = take_log();
    assert_eq!(log[0], format!("{}::order [] line {called}", module_path!()));
    assert!(log[1].starts_with("if line "), "{log:?}");
    assert_ne!(log[1], format!("if line {called}"));
    assert_eq!(log[2..], ["then", "else"]);
}

#[test]
fn host_arguments_are_in_the_key() {
    take_log();
    assert_eq!(power(Exp(2.0), 3).0, 8.0);
    assert!(take_log()[0].contains("power [3]"));
}

#[derive(Clone, Copy, slyz_macros::Axis)]
enum Channel {
    R,
    G,
    B,
}

#[test]
fn variants_are_positions() {
    assert_eq!((Channel::size(), Channel::name().as_str()), (Extent::Const(3), "Channel"));
    let numbers: Vec<u32> = Channel::ALL.iter().map(|variant| variant().pos().number).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(Channel::B.number(), 2);
}

#[derive(Clone, Copy, Debug, PartialEq, slyz_macros::Elem)]
struct Rgb<T> {
    r: T,
    g: T,
    b: T,
}
#[derive(Clone, Copy, Debug, PartialEq, slyz_macros::Elem)]
struct Mixed<A: Copy, B = u32, const N: usize = 2>(A, [B; N], (A, Rgb<B>));

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
fn structs_are_elements() {
    let m = Mixed(1.5f32, [1u32, 2], (2.5, Rgb { r: 3, g: 4, b: 5 }));
    let mut stored = Vec::new();
    m.store(&mut stored);
    assert_eq!(stored.len(), <Mixed<f32>>::parts().len());
    let mut next = stored.into_iter();
    assert_eq!(<Mixed<f32>>::load(&mut || next.next().expect("as many as stored")), m);

    let traced: Mixed<Exp<f32>, Exp<u32>, 2> = Lift::<Mixed<f32, u32, 2>>::lift(m);
    assert_eq!(traced.2.1.b.0, 5);
    let mut leaves = Vec::new();
    Value::leaves(traced, &mut leaves);
    let mut next = leaves.into_iter();
    let again = <Mixed<Exp<f32>, Exp<u32>, 2> as Value>::build(&mut || next.next().expect("as many leaves"));
    assert_eq!((again.0.0, again.1[1].0, again.2.0.0), (1.5, 2, 2.5));
}

#[test]
fn structs_in_functions() {
    let of = |r: f32, by: f32| {
        let c = brighten(Rgb { r: Exp(r), g: Exp(2.0), b: Exp(3.0) }, Exp(by));
        [c.r.0, c.g.0, c.b.0]
    };
    assert_eq!(of(5.0, 2.0), [10.0, 2.0, 3.0]);
    assert_eq!(of(5.0, 0.5), [1.0, 2.0, 3.0]);
    assert_eq!(of(60.0, 2.0), [100.0, 0.0, 0.0]);
}
