//! Families, what Haskell writes `f :: Type -> Type`, and the containers that belong to them.
//!
//! Rust has no type variables that take types, so a family is named by an ordinary type, and its members are an
//! associated type: `Of<F, T>` is `f a`. The way back, from a container to its family, is [`Container`]; through it
//! the operations are methods of plain arrays and structs. Nothing here computes.

use super::{Applicative, Foldable, Functor, Naperian, Traverse};

/// A family of types, one for every element type: `f :: Type -> Type`.
///
/// The type that implements this has no values; it is the name of the family. The arrays `[T; 3]` are the family
/// [`Array<3>`](super::Array), a struct `Rgb<T>` with `#[derive(Naperian)]` is the family `RgbFamily`. Families are also
/// made from families: [`Pair`](super::Pair), [`Compose`](super::Compose), [`Id`](super::Id).
///
/// ```
/// use slyz::naperian::*;
/// let x: Of<Array<3>, f32> = [1.0, 2.0, 3.0];
/// let y: Of<Compose<Options, Array<3>>, f32> = Some(x);
/// # let _ = y;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a family of containers",
    label = "not a family",
    note = "families are `Array<3>`, `RgbFamily` for a struct `Rgb` with `#[derive(Naperian)]`, and `Pair`, `Compose` and `Id`"
)]
pub trait Family {
    /// The member that holds elements of type `T`.
    type Of<T>;
}

/// The member of family `F` that holds elements of type `T`: `f a`.
///
/// ```
/// use slyz::naperian::*;
/// let x: Of<Array2<2, 3>, u8> = [[1, 2, 3], [4, 5, 6]];
/// # let _ = x;
/// ```
pub type Of<F, T> = <F as Family>::Of<T>;

/// A value that belongs to a family. Its methods are the classes' operations, one layer deep.
///
/// `[[f32; 3]; 2]` is a container of two `[f32; 3]`. To reach the numbers, name the family
/// (`Array2::<2, 3>::map(x, f)`) or count the layers with a [`Hyper`](super::Hyper).
///
/// ```
/// use slyz::naperian::*;
/// fn mean<X: Container<Item = f32>>(x: X) -> f32
/// where
///     X::Family: Dimension,
/// {
///     x.foldl(0.0, |sum, a| sum + a) / X::Family::SIZE as f32
/// }
/// #[derive(Naperian)]
/// struct Rgb<T> { r: T, g: T, b: T }
/// assert_eq!(mean([1.0, 2.0]), 1.5);
/// assert_eq!(mean(Rgb { r: 1.0, g: 2.0, b: 6.0 }), 3.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a container",
    label = "not a container",
    note = "arrays, pairs of containers, `Option`, `Result` and structs with `#[derive(Naperian)]` are"
)]
pub trait Container: Sized {
    /// The family.
    type Family: Family<Of<Self::Item> = Self>;
    /// The elements.
    type Item;

    /// Applies a function to every element. See [`Functor::map`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(([1, 2], [3]).map(|x| x * 2), ([2, 4], [6]));
    /// ```
    fn map<B>(self, f: impl FnMut(Self::Item) -> B) -> Of<Self::Family, B>
    where
        Self::Family: Functor,
    {
        Self::Family::map(self, f)
    }

    /// Combines two containers position by position. See [`Applicative::lift_a2`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!([1, 2].zip_with([30, 40], |a, b| a + b), [31, 42]);
    /// ```
    fn zip_with<B, C>(self, other: Of<Self::Family, B>, f: impl FnMut(Self::Item, B) -> C) -> Of<Self::Family, C>
    where
        Self::Family: Applicative,
    {
        Self::Family::lift_a2(f, self, other)
    }

    /// Pairs the elements of two containers. See [`Applicative::zip`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!([1, 2].zip(["one", "two"]), [(1, "one"), (2, "two")]);
    /// ```
    fn zip<B>(self, other: Of<Self::Family, B>) -> Of<Self::Family, (Self::Item, B)>
    where
        Self::Family: Applicative,
    {
        Self::Family::zip(self, other)
    }

    /// Folds from the last element to the first. See [`Foldable::foldr`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!([1, 2, 3].foldr(String::new(), |a, rest| format!("{a}:{rest}")), "1:2:3:");
    /// ```
    fn foldr<B>(self, init: B, f: impl FnMut(Self::Item, B) -> B) -> B
    where
        Self::Family: Foldable,
    {
        Self::Family::foldr(self, init, f)
    }

    /// Folds from the first element to the last. See [`Foldable::foldl`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!([1, 2, 3].foldl(0, |number, digit| 10 * number + digit), 123);
    /// ```
    fn foldl<B>(self, init: B, f: impl FnMut(B, Self::Item) -> B) -> B
    where
        Self::Family: Foldable,
    {
        Self::Family::foldl(self, init, f)
    }

    /// The elements in order. See [`Foldable::to_list`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(([1, 2], [3]).to_list(), [1, 2, 3]);
    /// ```
    fn to_list(self) -> Vec<Self::Item>
    where
        Self::Family: Foldable,
    {
        Self::Family::to_list(self)
    }

    /// Applies a function with an effect to every element, in order. See [`Traverse::traverse`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(["1", "2"].traverse(|s| s.parse().ok()), Some([1, 2]));
    /// assert_eq!(["1", "?"].traverse(|s| s.parse::<i32>().ok()), None);
    /// ```
    fn traverse<R>(self, f: impl FnMut(Self::Item) -> R) -> Of<R::Family, Of<Self::Family, R::Item>>
    where
        Self::Family: Traverse,
        R: Container,
        R::Family: Applicative,
    {
        Self::Family::traverse::<R::Family, Self::Item, R::Item>(self, f)
    }

    /// The element at a position. See [`Naperian::index`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(*[10, 20, 30].index(fin::<1, 3>()), 20);
    /// ```
    fn index(&self, position: <Self::Family as Naperian>::Log) -> &Self::Item
    where
        Self::Family: Naperian,
    {
        Self::Family::index(self, position)
    }

    /// A container of references to the elements. See [`Naperian::each_ref`].
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let words = (["a".to_string()], ["bc".to_string()]);
    /// assert_eq!(words.each_ref().map(|s| s.len()), ([1], [2]));
    /// assert_eq!(words.0[0], "a"); // still ours
    /// ```
    fn each_ref<'a>(&'a self) -> Of<Self::Family, &'a Self::Item>
    where
        Self::Family: Naperian,
        Self::Item: 'a,
    {
        Self::Family::each_ref(self)
    }

    /// Exchanges this layer with the next one. See [`transpose`](super::transpose).
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!([[1, 2, 3], [4, 5, 6]].transpose(), [[1, 4], [2, 5], [3, 6]]);
    /// ```
    fn transpose(self) -> super::Transposed<Self>
    where
        Self::Family: Naperian,
        Self::Item: Container<Family: Naperian, Item: Clone>,
    {
        super::transpose(self)
    }
}
