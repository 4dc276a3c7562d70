//! Arrays, the first instance: the family [`Array<N>`](Array) of the arrays `[T; N]`. With [`Array2`] and [`Array3`]
//! these are the essay's `Vec n`, `Mat m n` and `Cube d m n`.

use super::{Applicative, Compose, Container, Dimension, Family, Fin, Foldable, Functor, Naperian, Of, Traverse};

/// The family of the arrays `[T; N]`. Positions are [`Fin<N>`].
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(Array::<4>::tabulate(|i| i.get() * i.get()), [0, 1, 4, 9]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array<const N: usize> {}

/// The family of the nested arrays `[[T; N]; M]`, as one dimension. Positions are `(Fin<M>, Fin<N>)`.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(Array2::<2, 3>::SIZE, 6);
/// assert_eq!(Array2::<2, 1>::tabulate(|(i, _)| i.get()), [[0], [1]]);
/// ```
pub type Array2<const M: usize, const N: usize> = Compose<Array<M>, Array<N>>;

/// The family of the nested arrays `[[[T; N]; M]; D]`, as one dimension. Positions are `(Fin<D>, (Fin<M>, Fin<N>))`.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(Array3::<2, 3, 4>::SIZE, 24);
/// assert_eq!(Array3::<1, 1, 2>::tabulate(|(_, (_, k))| k.get()), [[[0, 1]]]);
/// ```
pub type Array3<const D: usize, const M: usize, const N: usize> = Compose<Array<D>, Array2<M, N>>;

impl<const N: usize> Family for Array<N> {
    type Of<T> = [T; N];
}

impl<T, const N: usize> Container for [T; N] {
    type Family = Array<N>;
    type Item = T;
}

impl<const N: usize> Functor for Array<N> {
    fn map<A, B>(fa: [A; N], f: impl FnMut(A) -> B) -> [B; N] {
        fa.map(f)
    }
}

impl<const N: usize> Applicative for Array<N> {
    fn pure_with<A>(mut make: impl FnMut() -> A) -> [A; N] {
        std::array::from_fn(|_| make())
    }

    fn lift_a2<A, B, C>(mut f: impl FnMut(A, B) -> C, fa: [A; N], fb: [B; N]) -> [C; N] {
        let mut pairs = fa.into_iter().zip(fb);
        std::array::from_fn(|_| {
            let (a, b) = pairs.next().expect("two arrays of N elements make N pairs");
            f(a, b)
        })
    }
}

impl<const N: usize> Foldable for Array<N> {
    fn foldr<A, B>(fa: [A; N], init: B, mut f: impl FnMut(A, B) -> B) -> B {
        fa.into_iter().rev().fold(init, |rest, a| f(a, rest))
    }

    fn to_list<A>(fa: [A; N]) -> Vec<A> {
        Vec::from(fa)
    }
}

impl<const N: usize> Traverse for Array<N> {
    fn traverse<G: Applicative, A, B>(fa: [A; N], mut f: impl FnMut(A) -> Of<G, B>) -> Of<G, [B; N]> {
        let mut list = G::pure_with(|| Vec::with_capacity(N));
        for a in fa {
            list = G::lift_a2(
                |mut list: Vec<B>, b: B| {
                    list.push(b);
                    list
                },
                list,
                f(a),
            );
        }
        G::map(list, |list: Vec<B>| {
            let full: Result<[B; N], _> = list.try_into();
            full.unwrap_or_else(|_| unreachable!("every one of the N steps adds an element to every list"))
        })
    }
}

impl<const N: usize> Naperian for Array<N> {
    type Log = Fin<N>;

    fn tabulate<A>(mut f: impl FnMut(Fin<N>) -> A) -> [A; N] {
        std::array::from_fn(|i| f(Fin::new(i).expect("arrays number their elements from 0 to N - 1")))
    }

    fn index<A>(fa: &[A; N], position: Fin<N>) -> &A {
        &fa[position.get()]
    }
}

impl<const N: usize> Dimension for Array<N> {
    const SIZE: usize = N;
}
