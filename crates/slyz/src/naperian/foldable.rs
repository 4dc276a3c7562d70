//! [`Foldable`] and [`Traverse`]: the elements as a list, and back.

use super::{Applicative, Family, Functor, Of};

/// Containers whose elements can be summed up, in order.
///
/// Law: every fold is the fold of [`to_list`](Foldable::to_list).
///
/// ```
/// use slyz::naperian::*;
/// fn sum<F: Foldable>(x: Of<F, i32>) -> i32 {
///     F::foldl(x, 0, |sum, a: i32| sum + a)
/// }
/// assert_eq!(sum::<Array2<2, 2>>([[1, 2], [3, 4]]), 10);
/// ```
pub trait Foldable: Family {
    /// Folds from the last element to the first.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array::<3>::foldr([1, 2, 3], 0, |a, rest| a - rest), 2); // 1 - (2 - (3 - 0))
    /// ```
    fn foldr<A, B>(fa: Of<Self, A>, init: B, f: impl FnMut(A, B) -> B) -> B;

    /// The elements in order.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array2::<2, 2>::to_list([[1, 2], [3, 4]]), [1, 2, 3, 4]);
    /// ```
    fn to_list<A>(fa: Of<Self, A>) -> Vec<A> {
        let mut list = Self::foldr(fa, Vec::new(), |a: A, mut rest| {
            rest.push(a);
            rest
        });
        list.reverse();
        list
    }

    /// Folds from the first element to the last.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array::<3>::foldl([1, 2, 3], 0, |sum, a| sum - a), -6); // ((0 - 1) - 2) - 3
    /// ```
    fn foldl<A, B>(fa: Of<Self, A>, init: B, f: impl FnMut(B, A) -> B) -> B {
        Self::to_list::<A>(fa).into_iter().fold(init, f)
    }
}

/// Containers that can be walked through with an effect.
///
/// Laws: `traverse` in [`Id`](super::Id) is `map`; it commutes with maps from one effect to another; to walk twice is
/// to walk once in the composed effect.
///
/// ```
/// use slyz::naperian::*;
/// let half = |x: i32| if x % 2 == 0 { Ok(x / 2) } else { Err(format!("{x} is odd")) };
/// assert_eq!([2, 4].traverse(half), Ok([1, 2]));
/// assert_eq!([2, 3].traverse(half), Err("3 is odd".to_string()));
/// ```
pub trait Traverse: Functor + Foldable {
    /// Applies `f` to every element, in order, and combines the effects. `f` sees every element, even after a failure:
    /// effects are combined, they do not decide what runs.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let found = Array2::<1, 2>::traverse::<Options, _, _>([["1", "2"]], |s| s.parse::<u8>().ok());
    /// assert_eq!(found, Some([[1, 2]]));
    /// ```
    fn traverse<G: Applicative, A, B>(fa: Of<Self, A>, f: impl FnMut(A) -> Of<G, B>) -> Of<G, Of<Self, B>>;

    /// Moves the effect out of the container.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array::<2>::sequence::<Options, _>([Some(1), Some(2)]), Some([1, 2]));
    /// assert_eq!(Array::<2>::sequence::<Array<1>, _>([[1], [2]]), [[1, 2]]); // a transpose
    /// ```
    fn sequence<G: Applicative, A>(fga: Of<Self, Of<G, A>>) -> Of<G, Of<Self, A>> {
        Self::traverse::<G, Of<G, A>, A>(fga, |ga| ga)
    }
}
