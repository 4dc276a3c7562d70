//! [`Functor`] and [`Applicative`]: what can be done to elements without knowing where they are.

use super::{Family, Of};

/// Containers whose elements can be mapped, in place: `fmap`.
///
/// Laws: mapping the identity changes nothing; mapping `f` and then `g` is mapping their composition.
///
/// ```
/// use slyz::naperian::*;
/// fn double<F: Functor>(x: Of<F, i32>) -> Of<F, i32> {
///     F::map(x, |x: i32| 2 * x)
/// }
/// assert_eq!(double::<Array<2>>([1, 2]), [2, 4]);
/// assert_eq!(double::<Compose<Array<2>, Options>>([Some(1), None]), [Some(2), None]);
/// ```
pub trait Functor: Family {
    /// Applies `f` to every element, in order.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array2::<1, 2>::map([[1, 2]], |x| x > 1), [[false, true]]);
    /// ```
    fn map<A, B>(fa: Of<Self, A>, f: impl FnMut(A) -> B) -> Of<Self, B>;
}

/// Functors that can be filled, and combined position by position.
///
/// Laws: `pure(id) ⊛ v = v`; `pure(f) ⊛ pure(x) = pure(f(x))`; `u ⊛ pure(y) = pure(|f| f(y)) ⊛ u`;
/// `pure(∘) ⊛ u ⊛ v ⊛ w = u ⊛ (v ⊛ w)`, where `⊛` is [`ap`](Applicative::ap).
///
/// ```
/// use slyz::naperian::*;
/// fn outer<F: Applicative, A: Clone, B>(x: A, ys: Of<F, B>) -> Of<F, (A, B)> {
///     F::zip(F::pure(x), ys)
/// }
/// assert_eq!(outer::<Array<2>, _, _>('a', [1, 2]), [('a', 1), ('a', 2)]);
/// ```
pub trait Applicative: Functor {
    /// Puts what `make` gives at every position. Unlike [`pure`](Applicative::pure) it asks for no `Clone`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let mut count = 0;
    /// let numbers = Array::<3>::pure_with(|| { count += 1; count });
    /// assert_eq!(numbers, [1, 2, 3]);
    /// ```
    fn pure_with<A>(make: impl FnMut() -> A) -> Of<Self, A>;

    /// Combines two containers of the same shape, position by position: `liftA2`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array2::<1, 2>::lift_a2(|a, b| a * b, [[2, 3]], [[10, 100]]), [[20, 300]]);
    /// ```
    fn lift_a2<A, B, C>(f: impl FnMut(A, B) -> C, fa: Of<Self, A>, fb: Of<Self, B>) -> Of<Self, C>;

    /// The same value at every position: Futhark's `replicate`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array2::<2, 2>::pure(7), [[7, 7], [7, 7]]);
    /// ```
    fn pure<A: Clone>(a: A) -> Of<Self, A> {
        Self::pure_with(|| a.clone())
    }

    /// Applies a container of functions to a container of arguments: `<*>`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let fs: [fn(f64) -> f64; 2] = [f64::sqrt, f64::abs];
    /// assert_eq!(Array::<2>::ap(fs, [9.0, -1.0]), [3.0, 1.0]);
    /// ```
    fn ap<A, B, F: FnOnce(A) -> B>(ff: Of<Self, F>, fa: Of<Self, A>) -> Of<Self, B> {
        Self::lift_a2(|f: F, a: A| f(a), ff, fa)
    }

    /// Pairs the elements at equal positions.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array::<2>::zip([1, 2], ['a', 'b']), [(1, 'a'), (2, 'b')]);
    /// ```
    fn zip<A, B>(fa: Of<Self, A>, fb: Of<Self, B>) -> Of<Self, (A, B)> {
        Self::lift_a2(|a: A, b: B| (a, b), fa, fb)
    }
}
