//! The laws of the Naperian classes, for every instance and for structs, products and compositions of them; alignment of
//! ranks; the way to tensors and back.
//!
//! The laws are generic functions over the family, so each holds for a family as soon as it is in the list `tower!`.
//! Members are compared as lists: that a list has each element at its position is a law of its own.

use proptest::collection::vec;
use proptest::prelude::*;
use slyz::naperian::*;
use slyz::{Arr, Idx, Tensor, axis, compile, device};
use std::fmt::Debug;

#[derive(Clone, Copy, Debug, PartialEq, Naperian)]
struct Rgb<T> {
    r: T,
    g: T,
    b: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Naperian)]
struct Body<T> {
    position: [T; 3],
    spin_axis: Rgb<T>,
    range: (T, T),
    mass: T,
}

#[derive(Clone, Debug, PartialEq, Naperian)]
struct Mixed<T, const N: usize>([[T; N]; 2], Rgb<[T; N]>, T);

/// A struct made by a macro has names from two places.
macro_rules! made {
    ($Name:ident $($field:ident)*) => {
        #[derive(Clone, Debug, PartialEq, Naperian)]
        struct $Name<T> { $($field: T),*, last: T }
    };
}
made!(Made r#type self_ _1);

type Fun = Box<dyn Fn(i64) -> i64>;

fn of<F: Dimension>(list: &[i64]) -> Of<F, i64> {
    F::from_list(list[..F::SIZE].to_vec()).expect("as many elements as positions")
}

fn same<F: Foldable, A: PartialEq + Debug>(left: Of<F, A>, right: Of<F, A>) {
    assert_eq!(F::to_list::<A>(left), F::to_list::<A>(right));
}

fn times(k: i64) -> Fun {
    Box::new(move |x| x.wrapping_mul(k))
}

fn plus(k: i64) -> Fun {
    Box::new(move |x| x.wrapping_add(k))
}

fn functor<F: Dimension>(x: &[i64], k: i64) {
    same::<F, i64>(F::map(of::<F>(x), |a: i64| a), of::<F>(x));
    let twice = F::map(F::map(of::<F>(x), times(k)), plus(k));
    same::<F, i64>(twice, F::map(of::<F>(x), |a: i64| plus(k)(times(k)(a))));
}

fn applicative<F: Dimension>(x: &[i64], y: &[i64], z: &[i64], k: i64) {
    // Identity, homomorphism, interchange, composition.
    same::<F, i64>(F::ap(F::pure(|a: i64| a), of::<F>(x)), of::<F>(x));
    same::<F, i64>(F::ap(F::pure_with(|| times(k)), F::pure(x[0])), F::pure(times(k)(x[0])));
    let functions = || F::map(of::<F>(y), times);
    let applied = F::ap(F::pure_with(|| move |f: Fun| f(k)), functions());
    same::<F, i64>(F::ap(functions(), F::pure(k)), applied);
    let compose = |f: Fun, g: Fun| -> Fun { Box::new(move |a| f(g(a))) };
    let others = || F::map(of::<F>(z), plus);
    let composed: Of<F, Fun> = F::lift_a2(compose, functions(), others());
    same::<F, i64>(F::ap(composed, of::<F>(x)), F::ap(functions(), F::ap(others(), of::<F>(x))));
    // What the other methods mean.
    same::<F, i64>(F::ap(F::pure_with(|| times(k)), of::<F>(x)), F::map(of::<F>(x), times(k)));
    let sums = F::lift_a2(|a: i64, b: i64| a.wrapping_sub(b), of::<F>(x), of::<F>(y));
    let curried = F::map(of::<F>(x), |a: i64| move |b: i64| a.wrapping_sub(b));
    same::<F, i64>(sums, F::ap(curried, of::<F>(y)));
    let pairs: Vec<(i64, i64)> = F::to_list(F::zip::<i64, i64>(of::<F>(x), of::<F>(y)));
    assert_eq!(pairs, x[..F::SIZE].iter().copied().zip(y.iter().copied()).collect::<Vec<_>>());
}

fn foldable<F: Dimension>(x: &[i64]) {
    let list = F::to_list::<i64>(of::<F>(x));
    assert_eq!(list, x[..F::SIZE]);
    let right = F::foldr(of::<F>(x), String::new(), |a: i64, rest| format!("({a} {rest})"));
    assert_eq!(right, list.iter().rev().fold(String::new(), |rest, a| format!("({a} {rest})")));
    let left = F::foldl(of::<F>(x), String::new(), |rest, a: i64| format!("({rest} {a})"));
    assert_eq!(left, list.iter().fold(String::new(), |rest, a| format!("({rest} {a})")));
}

fn naperian<F: Dimension>(x: &[i64], y: &[i64], k: i64) {
    let positions: Vec<F::Log> = F::to_list(F::positions());
    for (at, p) in positions.iter().enumerate() {
        assert!(!positions[..at].contains(p), "{p:?} is there twice");
    }
    // `tabulate ∘ index` and `index ∘ tabulate`.
    let (xs, ys) = (of::<F>(x), of::<F>(y));
    same::<F, i64>(F::tabulate(|p| *F::index::<i64>(&xs, p)), of::<F>(x));
    let number = |p: F::Log| positions.iter().position(|q| *q == p).expect("every position is listed");
    let numbers = F::tabulate(number);
    for &p in &positions {
        assert_eq!(*F::index::<usize>(&numbers, p), number(p));
    }
    // In order, once each.
    let mut visited = vec![];
    F::tabulate(|p| visited.push(p));
    assert_eq!(visited, positions);
    // The other classes, seen from a position: an element stays where it is.
    let mapped = F::map(of::<F>(x), times(k));
    let zipped = F::zip::<i64, i64>(of::<F>(x), of::<F>(y));
    let filled = F::pure(k);
    let refs = F::each_ref::<i64>(&xs);
    for (at, &p) in positions.iter().enumerate() {
        let (a, b) = (*F::index::<i64>(&xs, p), *F::index::<i64>(&ys, p));
        assert_eq!(a, x[at]);
        assert_eq!(*F::index::<i64>(&mapped, p), times(k)(a));
        assert_eq!(*F::index::<(i64, i64)>(&zipped, p), (a, b));
        assert_eq!(*F::index::<i64>(&filled, p), k);
        assert_eq!(**F::index::<&i64>(&refs, p), a);
    }
}

fn traverse<F: Dimension>(x: &[i64], k: i64) {
    let even = |a: i64| (a % 7 != k % 7).then_some(a / 2);
    let small = |a: i64| if a % 5 != k % 5 { Ok(a) } else { Err(a) };
    let list = &x[..F::SIZE];
    // Identity.
    same::<F, i64>(F::traverse::<Id, i64, i64>(of::<F>(x), times(k)), F::map(of::<F>(x), times(k)));
    // Naturality, from options to results.
    let first = F::traverse::<Options, i64, i64>(of::<F>(x), even).ok_or("none");
    let second = F::traverse::<Results<&str>, i64, i64>(of::<F>(x), |a| even(a).ok_or("none"));
    assert_eq!(first.map(F::to_list), second.map(F::to_list::<i64>));
    // Composition.
    type Both = Compose<Options, Results<i64>>;
    let once = F::traverse::<Both, i64, i64>(of::<F>(x), |a| even(a).map(small));
    let outer = F::traverse::<Options, i64, i64>(of::<F>(x), even);
    let twice = outer.map(|fa| F::traverse::<Results<i64>, i64, i64>(fa, small));
    assert_eq!(once.map(|it| it.map(F::to_list::<i64>)), twice.map(|it| it.map(F::to_list::<i64>)));
    // As the list does it: in order, and the first error wins.
    let mut seen = vec![];
    let found = F::traverse::<Results<i64>, i64, i64>(of::<F>(x), |a| {
        seen.push(a);
        small(a)
    });
    assert_eq!(found.map(F::to_list), list.iter().map(|&a| small(a)).collect());
    assert_eq!(seen, list);
    // Sequencing in an array is transposition.
    let rows = || F::map(of::<F>(x), |a: i64| [a, a.wrapping_mul(k)]);
    let [a, b] = F::sequence::<Array<2>, i64>(rows());
    let [c, d] = F::transpose::<Array<2>, i64>(rows());
    same::<F, i64>(a, c);
    same::<F, i64>(b, d);
}

fn dimension<F: Dimension>(x: &[i64]) {
    assert_eq!(F::to_list::<i64>(of::<F>(x)).len(), F::SIZE);
    assert_eq!(F::to_list(F::positions()).len(), F::SIZE);
    assert!(F::from_list(vec![0; F::SIZE + 1]).is_none());
    assert!(F::SIZE == 0 || F::from_list(vec![0; F::SIZE - 1]).is_none());
    assert_eq!(F::innerp(of::<F>(&[2; MOST]), F::pure(3i64)), 6 * F::SIZE as i64);
}

/// Transposition with another family, and the matrix product with its transpose.
fn layers<F: Dimension, G: Dimension>(x: &[i64]) {
    let x: Vec<i64> = x.iter().map(|a| a % 1000).collect();
    let mut values = x.iter().copied().cycle();
    let rows = F::tabulate(|_| G::tabulate(|_| values.next().expect("a cycle")));
    let list = |m: Of<F, Of<G, i64>>| -> Vec<i64> { Compose::<F, G>::to_list::<i64>(m) };
    let before = list(F::tabulate(|i| G::tabulate(|j| *G::index::<i64>(F::index::<Of<G, i64>>(&rows, i), j))));
    let turned = F::transpose::<G, i64>(rows);
    for i in F::to_list(F::positions()) {
        for j in G::to_list(G::positions()) {
            let at = F::to_list(F::positions()).iter().position(|p| *p == i).expect("a position") * G::SIZE
                + G::to_list(G::positions()).iter().position(|p| *p == j).expect("a position");
            assert_eq!(*F::index::<i64>(G::index::<Of<F, i64>>(&turned, j), i), before[at]);
        }
    }
    assert_eq!(list(G::transpose::<F, i64>(turned)), before);
    let rows = || Compose::<F, G>::from_list(before.clone()).expect("as many");
    let square = F::matrixp::<G, F, i64, i64>(rows(), F::transpose::<G, i64>(rows()));
    let mut expected = vec![];
    for a in before.chunks(G::SIZE.max(1)).take(F::SIZE) {
        for b in before.chunks(G::SIZE.max(1)).take(F::SIZE) {
            expected.push(a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>());
        }
    }
    if G::SIZE == 0 {
        expected = vec![0; F::SIZE * F::SIZE];
    }
    assert_eq!(Compose::<F, F>::to_list::<i64>(square), expected);
}

/// At least the size of every family below.
const MOST: usize = 32;

macro_rules! tower {
    ($($name:ident: $F:ty, $size:expr;)*) => {$(
        mod $name {
            use super::*;
            type F = $F;

            #[test]
            fn size() {
                assert_eq!(F::SIZE, $size);
                const { assert!(F::SIZE <= MOST) };
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(64))]
                #[test]
                fn laws(
                    x in vec(any::<i64>(), MOST), y in vec(any::<i64>(), MOST), z in vec(any::<i64>(), MOST),
                    k in any::<i64>(),
                ) {
                    functor::<F>(&x, k);
                    applicative::<F>(&x, &y, &z, k);
                    foldable::<F>(&x);
                    naperian::<F>(&x, &y, k);
                    traverse::<F>(&x, k);
                    // Small numbers, so that some walks succeed.
                    traverse::<F>(&x.iter().map(|a| a % 3 + 1).collect::<Vec<_>>(), k % 7);
                    dimension::<F>(&x);
                    layers::<F, Array<3>>(&x);
                    layers::<F, RgbFamily>(&x);
                    layers::<Pair<Id, Array<1>>, F>(&x);
                    layers::<F, Array2<2, 1>>(&x);
                }
            }
        }
    )*};
}

tower! {
    id: Id, 1;
    array: Array<4>, 4;
    array_of_none: Array<0>, 0;
    array_of_one: Array<1>, 1;
    nested: Array2<2, 3>, 6;
    nested_empty: Array2<0, 3>, 0;
    nested_three: Array3<2, 3, 2>, 12;
    derived: RgbFamily, 3;
    derived_nested: BodyFamily, 9;
    derived_sized: MixedFamily<2>, 11;
    derived_by_macro: MadeFamily, 4;
    product: Pair<Array<2>, Array<3>>, 5;
    product_of_struct: Pair<RgbFamily, Id>, 4;
    product_of_products: Pair<Pair<Id, Array<0>>, Array2<2, 2>>, 5;
    composition: Compose<RgbFamily, Array<2>>, 6;
    composition_other: Compose<Array<2>, RgbFamily>, 6;
    composition_of_products: Compose<Pair<Array<1>, Id>, Pair<Id, RgbFamily>>, 8;
    composition_with_id: Compose<Id, Compose<Array<3>, Id>>, 3;
    list: dims![Array<2>, RgbFamily, Array<3>], 18;
}

#[test]
fn positions_of_derived_structs_are_enums() {
    let body = BodyFamily::tabulate(|p| match p {
        BodyLog::Position(i) => i.get(),
        BodyLog::SpinAxis(RgbLog::R) => 3,
        BodyLog::SpinAxis(RgbLog::G) => 4,
        BodyLog::SpinAxis(RgbLog::B) => 5,
        BodyLog::Range(Which::First(())) => 6,
        BodyLog::Range(Which::Second(())) => 7,
        BodyLog::Mass => 8,
    });
    let expected = Body { position: [0, 1, 2], spin_axis: Rgb { r: 3, g: 4, b: 5 }, range: (6, 7), mass: 8 };
    assert_eq!(body, expected);
    assert_eq!(body.to_list(), (0..9).collect::<Vec<_>>());
    assert_eq!(*body.index(BodyLog::SpinAxis(RgbLog::G)), 4);
    let made = Made { r#type: 1, self_: 2, _1: 3, last: 4 };
    let found = [MadeLog::Type, MadeLog::AtSelf, MadeLog::At1, MadeLog::Last].map(|p| *made.index(p));
    assert_eq!(found, [1, 2, 3, 4]);
    let mixed = Mixed([[1], [2]], Rgb { r: [3], g: [4], b: [5] }, 6);
    assert_eq!(*mixed.index(MixedLog::At1((RgbLog::B, fin::<0, 1>()))), 5);
    assert_eq!(*mixed.index(MixedLog::At2), 6);
}

#[test]
fn effects_are_traversable_too() {
    assert_eq!(Some(3).traverse(|x| [x, -x]), [Some(3), Some(-3)]);
    assert_eq!(Option::<i32>::None.traverse(|x| [x, -x]), [None, None]);
    assert_eq!(Ok::<_, String>(3).traverse(|x| Some(x + 1)), Some(Ok(4)));
    assert_eq!(Err::<i32, _>("no").traverse(|x| Some(x + 1)), Some(Err("no")));
    assert_eq!(Results::<u8>::to_list(Ok(1)), [1]);
    assert!(Options::to_list::<u8>(None).is_empty());
}

#[test]
fn elements_need_not_be_clonable() {
    struct Plain(i32);
    let x = Rgb { r: Plain(1), g: Plain(2), b: Plain(3) };
    let doubled = x.zip_with(Rgb { r: Plain(4), g: Plain(5), b: Plain(6) }, |a, b| Plain(a.0 * b.0));
    let walked = doubled.traverse(|a| (a.0 > 0).then_some(a));
    assert_eq!(walked.map(|x| x.foldl(0, |sum, a| sum + a.0)), Some(32));
    assert_eq!(Array::<2>::from_list(vec![Plain(1), Plain(2)]).map(|x| x.map(|a| a.0)), Some([1, 2]));
}

/// Both imports in one place: a name that both have would be ambiguous here.
mod beside_the_prelude {
    #[allow(unused_imports)]
    use slyz::prelude::*;
    // As a glob, so that it is on a par with the other.
    use slyz::naperian::*;

    #[derive(Clone, Copy, Debug, PartialEq, slyz::Elem, slyz::Naperian)]
    struct Pixel<T> {
        l: T,
        a: T,
    }

    #[allow(dead_code)]
    type Names<F, X, Y> = (
        (Array<1>, Array2<1, 1>, Array3<1, 1, 1>, Compose<F, F>, Id, Pair<F, F>, Options, Results<F>),
        (Of<F, X>, Fin<1>, Which<F, F>, MatrixProduct<X, Y>, Transposed<X>, Hyper<dims![], X>),
    );

    #[allow(dead_code)]
    fn classes<F, X>()
    where
        F: Family + Functor + Applicative + Foldable + Traverse + Naperian + Dimension + Shapely + Alignable<F>,
        X: Container + Nested,
    {
    }

    #[test]
    fn names_do_not_clash() -> Result<(), slyz::Error> {
        axis!(N);
        let x = [Pixel { l: 1.0f32, a: 2.0 }, Pixel { l: 3.0, a: 4.0 }];
        let tensor = Hyper::scalar(x).prism().to_tensor::<N>()?;
        let f = compile(|x: Arr<Pixel<f32>, N>| tabulate(|i: Idx<N>| x.at(i).l * x.at(i).a))?;
        let y: Hyper<dims![Array<2>], f32> = (&f.call(&tensor)?).try_into()?;
        assert_eq!(y, hyper(x.map(|p| p.l * p.a)));
        assert_eq!(transpose(x), Pixel { l: [1.0, 3.0], a: [2.0, 4.0] });
        assert_eq!(matrixp(x, Pixel { l: [1.0], a: [1.0] }), [[3.0], [7.0]]);
        assert_eq!(innerp(x[0], x[1]), 11.0);
        assert_eq!(*[1, 2].index(fin::<1, 2>()), 2);
        Ok(())
    }
}

type CubeDims = dims![Array<2>, Array<3>, Array<4>];
type Cube = Hyper<CubeDims, i64>;

fn cube(x: &[i64]) -> Cube {
    Cube::from_list(x.to_vec()).expect("24 elements")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn alignment_is_replication(x in vec(-99i64..99, 24), y in vec(-99i64..99, 12)) {
        let f = |a: i64, b: i64| 100 * a + b;
        let (big, small) = (cube(&x), Hyper::<dims![Array<3>, Array<4>], i64>::new(of::<Array2<3, 4>>(&y)));
        let row = hyper([y[0], y[1], y[2], y[3]]);
        let expected = |at: &dyn Fn(usize) -> i64| x.iter().enumerate().map(|(i, &a)| f(a, at(i))).collect::<Vec<_>>();
        prop_assert_eq!(big.lift2(small, f).to_list(), expected(&|i| y[i % 12]));
        prop_assert_eq!(small.lift2(big, |b, a| f(a, b)).to_list(), expected(&|i| y[i % 12]));
        prop_assert_eq!(big.lift2(row, f).to_list(), expected(&|i| y[i % 4]));
        prop_assert_eq!(big.lift2(hyper(y[0]), f).to_list(), expected(&|_| y[0]));
        prop_assert_eq!(hyper(y[0]).lift2(big, |b, a| f(a, b)).to_list(), expected(&|_| y[0]));
        prop_assert_eq!(big.lift2(big, f).to_list(), expected(&|i| x[i]));
        // Operators are `lift2`; order is kept.
        prop_assert_eq!(big - row, big.lift2(row, |a, b| a - b));
        prop_assert_eq!(row - big, (big - row).map(|a| -a));
        prop_assert_eq!(big + row, row + big);
        prop_assert_eq!(big * row, row * big);
        prop_assert_eq!(big / hyper(3), big.map(|a| a / 3));
    }

    #[test]
    fn reduction_is_by_rows(x in vec(-99i64..99, 24)) {
        let sums = cube(&x).reduce_by(0, |a, b| a + b);
        prop_assert_eq!(sums.to_list(), x.chunks(4).map(|row| row.iter().sum()).collect::<Vec<i64>>());
        let all = sums.reduce_by(0, |a, b| a + b).reduce_by(0, |a, b| a + b);
        prop_assert_eq!(all.value(), x.iter().sum::<i64>());
        // From the last element, as `foldr`.
        let strings = cube(&x).map(|a| a.to_string()).reduce_by(String::new(), |a, b| format!("{a},{b}"));
        let expected: Vec<String> = x.chunks(4).map(|row| row.iter().map(|a| format!("{a},")).collect()).collect();
        prop_assert_eq!(strings.to_list(), expected);
    }

    #[test]
    fn transposition_of_the_two_innermost(x in vec(any::<i64>(), 24)) {
        let turned = cube(&x).transpose();
        for ((((), i), j), k) in CubeDims::to_list(CubeDims::positions()) {
            prop_assert_eq!(turned.index(((((), i), k), j)), &x[(i.get() * 3 + j.get()) * 4 + k.get()]);
        }
        prop_assert_eq!(turned.transpose(), cube(&x));
        prop_assert_eq!(cube(&x).unprism().unprism().map(|m| m.transpose()).prism().prism(), turned);
    }

    #[test]
    fn tensors_and_back(x in vec(any::<f32>().prop_filter("compared by value", |x| !x.is_nan()), 24)) {
        let wide: Vec<i64> = x.iter().map(|&a| a as i64).collect();
        let tensor: Tensor<i64> = cube(&wide).to_tensor().unwrap();
        prop_assert_eq!(tensor.dims(), [2, 3, 4]);
        prop_assert_eq!(tensor.to_vec().unwrap(), wide.clone());
        prop_assert_eq!(Cube::from_tensor(&tensor).unwrap(), cube(&wide));
        // Dimensions of every kind, and elements that are structs.
        type Odd = Hyper<dims![Pair<Array<1>, Id>, RgbFamily, Array2<2, 2>], (f32, bool)>;
        let odd = Odd::from_list(x.iter().map(|&a| (a, a > 0.0)).collect()).unwrap();
        let tensor: Tensor<(f32, bool)> = odd.to_tensor().unwrap();
        prop_assert_eq!(tensor.dims(), [2, 3, 4]);
        prop_assert_eq!(Odd::from_tensor(&tensor).unwrap(), odd);
        // Rank 0.
        let one: Tensor<f32, ()> = hyper(x[0]).to_tensor().unwrap();
        prop_assert_eq!(one.value().unwrap(), x[0]);
        prop_assert_eq!(Hyper::<dims![], f32>::from_tensor(&one).unwrap(), hyper(x[0]));
    }
}

#[test]
fn tensors_of_other_sizes_are_rejected() {
    axis!(N, M);
    let tensor: Tensor<f32, (N, M)> = hyper([[1.0f32, 2.0]]).to_tensor().unwrap();
    let error = Hyper::<dims![Array<2>, Array<1>], f32>::from_tensor(&tensor).unwrap_err().to_string();
    assert!(error.contains("[1, 2]") && error.contains("[2, 1]"), "{error}");
    assert!(Hyper::<dims![Array<2>], f32>::try_from(&tensor).is_err());
    let square = hyper([[1.0f32, 2.0]]).to_tensor::<(N, N)>();
    assert!(square.unwrap_err().to_string().contains("axis N is 1 and 2"));
    let rank = hyper([[1.0f32, 2.0]]).to_tensor::<N>();
    assert!(rank.is_err());
    let empty: Tensor<f32> = hyper([[0f32; 0]; 3]).to_tensor().unwrap();
    assert_eq!(empty.dims(), [3, 0]);
    assert_eq!(Hyper::<dims![Array<3>, Array<0>], f32>::from_tensor(&empty).unwrap(), hyper([[0f32; 0]; 3]));
}

/// On a device a dimension is an axis, and says there what it says on the host: the laws of `Foldable` and `Naperian`.
fn is_an_axis<F: Dimension>() -> Result<(), slyz::Error> {
    let interpreter = device("interpreter")?;
    let numbers: Vec<i64> = (0..F::SIZE as i64).map(|k| 3 * k + 1).collect();
    let host = F::from_list(numbers.clone()).expect("as many as positions");
    let on = Tensor::<i64, F>::from_container(host)?;

    let sum = slyz::compile_on(&interpreter, |x: Arr<i64, F>| x.sum())?.call(&on)?.value()?;
    let folded = F::foldl(F::from_list(numbers.clone()).expect("as many"), 0, |sum, x: i64| sum + x);
    assert_eq!(sum, folded);

    let doubled = slyz::compile_on(&interpreter, |x: Arr<i64, F>| x * 2)?.call(&on)?.to_container()?;
    assert_eq!(F::to_list::<i64>(doubled), numbers.iter().map(|x| x * 2).collect::<Vec<i64>>());
    if F::SIZE == 0 {
        return Ok(());
    }
    // Positions go to the device and back: `tabulate` there is `tabulate` here.
    let place =
        |log: F::Log| F::to_list::<F::Log>(F::positions()).iter().position(|&p| p == log).expect("one of them") as i64;
    let there = slyz::compile_on(&interpreter, || slyz::tabulate(|p: Idx<F>| p.cases(|log| 7 * place(log))))?;
    let here = F::tabulate(|log| 7 * place(log));
    assert_eq!(there.call()?.to_vec()?, F::to_list::<i64>(here));
    for log in F::to_list::<F::Log>(F::positions()) {
        let read = slyz::compile_on(&interpreter, |x: Arr<i64, F>| x.at(Idx::of(log)))?;
        assert_eq!(read.call(&on)?.value()?, numbers[place(log) as usize]);
    }
    Ok(())
}

#[test]
fn dimensions_are_axes() -> Result<(), slyz::Error> {
    is_an_axis::<Id>()?;
    is_an_axis::<Array<4>>()?;
    is_an_axis::<Array<0>>()?;
    is_an_axis::<RgbFamily>()?;
    is_an_axis::<BodyFamily>()?;
    is_an_axis::<MixedFamily<2>>()?;
    is_an_axis::<Pair<RgbFamily, Id>>()?;
    is_an_axis::<Compose<Pair<Array<1>, Id>, Pair<Id, RgbFamily>>>()?;
    is_an_axis::<dims![Array<2>, RgbFamily, Array<3>]>()
}

#[test]
fn dimensions_beside_other_axes() -> Result<(), slyz::Error> {
    axis!(Many);
    type Bodies = Arr<f32, (Many, BodyFamily)>;
    let body =
        Body { position: [1.0, 2.0, 3.0], spin_axis: Rgb { r: 4.0, g: 5.0, b: 6.0 }, range: (7.0, 8.0), mass: 9.0 };
    let bodies = Tensor::from_containers([body, body.map(|x: f32| -x)])?;
    assert_eq!(bodies.dims(), [2, 9]);
    let f = compile(|x: Bodies| (x.innermost().sum(), x.axis::<0>().sum(), x.column(Idx::of(BodyLog::Mass)), x + 1.0))?;
    let (sums, nothing, masses, more) = f.call(&bodies)?;
    assert_eq!(sums.to_vec()?, [45.0, -45.0]);
    assert_eq!(nothing.to_container()?, BodyFamily::pure(0.0));
    assert_eq!(masses.to_vec()?, [9.0, -9.0]);
    assert_eq!(more.to_containers()?, [body.map(|x: f32| x + 1.0), body.map(|x: f32| 1.0 - x)]);
    assert_eq!(<BodyFamily as slyz::Axis>::name(), "BodyFamily");
    assert_eq!(<Pair<Array<2>, RgbFamily> as slyz::Axis>::name(), "Pair<Array<2>, RgbFamily>");
    Ok(())
}
