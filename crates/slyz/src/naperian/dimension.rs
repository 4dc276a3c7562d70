//! [`Dimension`], the top of the tower, and what can be said of any two of them: transposition and products.

use super::{Applicative, Container, Foldable, Naperian, Of, Options, Traverse};
use crate::axis::EnumAxis;
use std::iter::Sum;
use std::ops::Mul;

/// Everything an axis of data-parallel code needs: positions, and elements that are combined and folded. So it is an [`Axis`](crate::Axis) of
/// arrays on devices, too.
///
/// Law: there are [`SIZE`](Dimension::SIZE) positions.
///
/// ```
/// use slyz::naperian::*;
/// fn norm<F: Dimension>(x: &Of<F, f64>) -> f64 {
///     F::foldl(F::each_ref(x), 0.0, |sum, a: &f64| sum + a * a).sqrt()
/// }
/// assert_eq!(norm::<Array<2>>(&[3.0, 4.0]), 5.0);
/// assert_eq!(norm::<Array2<2, 2>>(&[[1.0, 1.0], [1.0, 1.0]]), 2.0);
/// ```
pub trait Dimension: Naperian + Applicative + Foldable + Traverse + EnumAxis<Case = <Self as Naperian>::Log> {
    /// How many positions there are.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Pair::<Array<2>, Array2<3, 4>>::SIZE, 14);
    /// ```
    const SIZE: usize;

    /// The container with these elements, if there are as many as positions: the inverse of [`Foldable::to_list`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array2::<2, 2>::from_list(vec![1, 2, 3, 4]), Some([[1, 2], [3, 4]]));
    /// assert_eq!(Array::<3>::from_list(vec![1, 2]), None);
    /// ```
    fn from_list<A>(list: Vec<A>) -> Option<Of<Self, A>> {
        if list.len() != Self::SIZE {
            return None;
        }
        let mut list = list.into_iter();
        Self::sequence::<Options, A>(Self::tabulate(|_| list.next()))
    }

    /// The sum of the products at equal positions. The function [`innerp`] finds the family itself.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array2::<2, 2>::innerp([[1, 2], [3, 4]], [[5, 6], [7, 8]]), 70); // the Frobenius product
    /// ```
    fn innerp<A: Mul<B, Output: Sum>, B>(fa: Of<Self, A>, fb: Of<Self, B>) -> A::Output {
        Self::to_list::<A::Output>(Self::lift_a2(|a: A, b: B| a * b, fa, fb)).into_iter().sum()
    }

    /// The matrix product. The function [`matrixp`] finds the families itself.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// // Contracts two axes at once.
    /// let x = [[[1, 2], [3, 4]]];
    /// let y = [[[1], [0]], [[0], [1]]];
    /// assert_eq!(Array::<1>::matrixp::<Array2<2, 2>, Array<1>, _, _>(x, y), [[5]]);
    /// ```
    fn matrixp<G: Dimension, H: Dimension, A: Clone + Mul<B, Output: Sum>, B: Clone>(
        fga: Of<Self, Of<G, A>>,
        ghb: Of<G, Of<H, B>>,
    ) -> Of<Self, Of<H, A::Output>> {
        let hgb = G::transpose::<H, B>(ghb);
        Self::tabulate(|i| {
            H::tabulate(|j| {
                let row = Self::index::<Of<G, A>>(&fga, i);
                let column = H::index::<Of<G, B>>(&hgb, j);
                let term = |k| G::index::<A>(row, k).clone() * G::index::<B>(column, k).clone();
                G::to_list::<A::Output>(G::tabulate(term)).into_iter().sum::<A::Output>()
            })
        })
    }
}

/// The family of a container.
type In<X> = <X as Container>::Family;
/// The elements of a container.
type Item<X> = <X as Container>::Item;
/// What the sums of a matrix product add up, for a matrix `X` by a matrix whose rows are `Y`.
type Term<X, Y> = <Item<Item<X>> as Mul<Item<Y>>>::Output;

/// A container of containers with its two layers exchanged: for `f (g a)`, `g (f a)`.
///
/// ```
/// use slyz::naperian::*;
/// let x: Transposed<[[u8; 3]; 2]> = [[1, 4], [2, 5], [3, 6]];
/// # let _ = x;
/// ```
pub type Transposed<X> = Of<In<Item<X>>, Of<In<X>, Item<Item<X>>>>;

/// Exchanges two layers: since `f (g a) ≅ Log f → Log g → a`, this is a swap of arguments.
///
/// ```
/// use slyz::naperian::*;
/// #[derive(Clone, Debug, PartialEq, Naperian)]
/// struct Rgb<T> { r: T, g: T, b: T }
///
/// let pixels = [Rgb { r: 1, g: 2, b: 3 }, Rgb { r: 4, g: 5, b: 6 }];
/// assert_eq!(transpose(pixels.clone()), Rgb { r: [1, 4], g: [2, 5], b: [3, 6] }); // planes
/// assert_eq!(transpose(transpose(pixels.clone())), pixels);
/// ```
pub fn transpose<X>(xss: X) -> Transposed<X>
where
    X: Container<Family: Naperian>,
    X::Item: Container<Family: Naperian, Item: Clone>,
{
    In::<X>::transpose::<In<Item<X>>, Item<Item<X>>>(xss)
}

/// The inner product of two containers of one family.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(innerp([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), 32.0);
/// assert_eq!(innerp(([1], [2, 3]), ([4], [5, 6])), 32); // over a product, too
/// ```
pub fn innerp<X, B>(xs: X, ys: Of<X::Family, B>) -> <X::Item as Mul<B>>::Output
where
    X: Container<Family: Dimension>,
    X::Item: Mul<B, Output: Sum>,
{
    In::<X>::innerp::<X::Item, B>(xs, ys)
}

/// The matrix product: `f (g a)` by `g (h a)` is `f (h a)`. The families must meet in the middle.
///
/// ```
/// use slyz::naperian::*;
/// let a = [[1, 2, 3], [4, 5, 6]];
/// assert_eq!(matrixp(a, [[1], [0], [1]]), [[4], [10]]);
/// ```
///
/// ```compile_fail
/// slyz::naperian::matrixp([[1, 2, 3], [4, 5, 6]], [[1], [0]]); // three columns by two rows
/// ```
pub fn matrixp<X, Y>(xss: X, yss: Of<In<X::Item>, Y>) -> MatrixProduct<X, Y>
where
    X: Container<Family: Dimension>,
    X::Item: Container<Family: Dimension>,
    Y: Container<Family: Dimension>,
    Item<X::Item>: Clone + Mul<Item<Y>, Output: Sum>,
    Item<Y>: Clone,
{
    In::<X>::matrixp::<In<X::Item>, In<Y>, Item<X::Item>, Item<Y>>(xss, yss)
}

/// What [`matrixp`] gives, for a matrix `X` by a matrix whose rows are `Y`.
///
/// ```
/// use slyz::naperian::*;
/// let product: MatrixProduct<[[f32; 3]; 2], [f32; 1]> = [[0.0], [0.0]];
/// # let _ = product;
/// ```
pub type MatrixProduct<X, Y> = Of<In<X>, Of<In<Y>, Term<X, Y>>>;
