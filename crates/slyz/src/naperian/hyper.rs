//! [`Hyper`]: arrays of any rank, as a type-level list of dimensions, with operations that work at every rank.
//!
//! Two ranks are aligned by a map of positions, so nothing is replicated to make shapes equal. Conversion to and from
//! tensors is in `tensor.rs` beside this file.

use super::{Array, Compose, Container, Dimension, Id, Naperian, Of};
use crate::elem::Scalar;
use std::fmt;
use std::ops::{Add, Div, Mul, Sub};

/// A list of dimensions, written [`dims![F, G]`](crate::dims), the outermost first. The list *is* the composition of its
/// dimensions: `[]` is [`Id`], and `F` inside `Fs` is [`Compose<Fs, F>`].
///
/// ```
/// use slyz::naperian::*;
/// type Table = dims![Array<2>, Array<3>];
/// assert_eq!((Table::RANK, Table::SIZE), (2, 6));
/// assert_eq!(Table::sizes(), [2, 3]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of dimensions",
    label = "not a list of dimensions",
    note = "write it `dims![Array<2>, Array<3>]`, the outermost dimension first"
)]
pub trait Shapely: Dimension {
    /// How many dimensions there are.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(<dims![] as Shapely>::RANK, 0);
    /// ```
    const RANK: usize;

    /// The sizes of the dimensions, the outermost first.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// type Pixels = dims![Array<4>, Pair<Array<1>, Array<2>>];
    /// assert_eq!(Pixels::sizes(), [4, 3]);
    /// ```
    fn sizes() -> Vec<usize>;

    /// The list with one more dimension, outside all others.
    #[doc(hidden)]
    type Under<G: Dimension>: Shapely;

    /// Members of the two ways to write the longer list are the same.
    #[doc(hidden)]
    fn under<G: Dimension, T>(x: Of<G, Of<Self, T>>) -> Of<Self::Under<G>, T>;
}

impl Shapely for Id {
    const RANK: usize = 0;
    fn sizes() -> Vec<usize> {
        vec![]
    }

    type Under<G: Dimension> = Compose<Id, G>;
    fn under<G: Dimension, T>(x: Of<G, T>) -> Of<G, T> {
        x
    }
}

impl<Fs: Shapely, F: Dimension> Shapely for Compose<Fs, F> {
    const RANK: usize = Fs::RANK + 1;
    fn sizes() -> Vec<usize> {
        let mut sizes = Fs::sizes();
        sizes.push(F::SIZE);
        sizes
    }

    type Under<G: Dimension> = Compose<Fs::Under<G>, F>;
    fn under<G: Dimension, T>(x: Of<G, Of<Self, T>>) -> Of<Self::Under<G>, T> {
        Fs::under::<G, Of<F, T>>(x)
    }
}

/// A list of dimensions, the outermost first, for the type [`Hyper`](crate::naperian::Hyper).
///
/// ```
/// use slyz::naperian::*;
/// let x: Hyper<dims![Array<2>, Array<1>], i32> = Hyper::new([[1], [2]]);
/// assert_eq!(x, hyper([[1], [2]]));
/// ```
#[macro_export]
macro_rules! dims {
    (@ $done:ty;) => { $done };
    (@ $done:ty; $F:ty $(, $rest:ty)*) => { $crate::dims!(@ $crate::naperian::Compose<$done, $F>; $($rest),*) };
    ($($F:ty),* $(,)?) => { $crate::dims!(@ $crate::naperian::Id; $($F),*) };
}

/// Lists of dimensions of which one is the end of the other: the inner dimensions agree, and the rest belongs to one of
/// them.
///
/// ```
/// use slyz::naperian::*;
/// fn add<Fs: Alignable<Gs>, Gs: Shapely>(x: Hyper<Fs, f32>, y: Hyper<Gs, f32>) -> Hyper<Fs::Max, f32> {
///     x.lift2(y, |x, y| x + y)
/// }
/// assert_eq!(add(hyper([[1.0, 2.0], [3.0, 4.0]]), hyper([10.0, 20.0])), hyper([[11.0, 22.0], [13.0, 24.0]]));
/// ```
#[diagnostic::on_unimplemented(
    message = "the dimensions of these two values do not align",
    note = "dimensions are compared from the innermost outwards; the shorter list must be the end of the longer one",
    note = "`{Self}` and `{Gs}`"
)]
pub trait Alignable<Gs: Shapely>: Shapely {
    /// The longer list.
    type Max: Shapely;

    /// Where a position of the longer list lies on the first.
    #[doc(hidden)]
    fn first(position: <Self::Max as Naperian>::Log) -> Self::Log;

    /// Where a position of the longer list lies on the second.
    #[doc(hidden)]
    fn second(position: <Self::Max as Naperian>::Log) -> Gs::Log;
}

impl<Gs: Shapely> Alignable<Gs> for Id {
    type Max = Gs;
    fn first(_: Gs::Log) {}
    fn second(position: Gs::Log) -> Gs::Log {
        position
    }
}

impl<Fs: Shapely, F: Dimension> Alignable<Id> for Compose<Fs, F> {
    type Max = Self;
    fn first(position: Self::Log) -> Self::Log {
        position
    }
    fn second(_: Self::Log) {}
}

impl<Fs: Alignable<Gs>, Gs: Shapely, F: Dimension> Alignable<Compose<Gs, F>> for Compose<Fs, F> {
    type Max = Compose<Fs::Max, F>;
    fn first((outer, inner): <Self::Max as Naperian>::Log) -> Self::Log {
        (Fs::first(outer), inner)
    }
    fn second((outer, inner): <Self::Max as Naperian>::Log) -> (Gs::Log, F::Log) {
        (Fs::second(outer), inner)
    }
}

/// An array whose rank and dimensions are in its type: Gibbons' hypercuboid.
///
/// It holds the nested containers as they are; only its type says how many layers are dimensions. Start from nested
/// arrays of numbers with [`hyper`], from anything with [`Hyper::scalar`] and one [`prism`](Hyper::prism) per layer.
///
/// ```
/// use slyz::naperian::*;
/// let x = hyper([[1, 2, 3], [4, 5, 6]]);
/// let y = x.lift2(hyper([10, 20, 30]), |a, b| a + b); // rows align
/// let z = y.lift2(hyper(100), |a, b| a + b); // and so do scalars
/// assert_eq!(z.into_inner(), [[111, 122, 133], [114, 125, 136]]);
/// ```
pub struct Hyper<Fs: Shapely, T>(Of<Fs, T>);

impl<T> Hyper<Id, T> {
    /// Rank 0: a single value. The essay's `HScalar`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let x: Hyper<dims![], &str> = Hyper::scalar("one");
    /// assert_eq!(x.value(), "one");
    /// ```
    pub fn scalar(value: T) -> Self {
        Hyper(value)
    }

    /// The single value.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let sum = hyper([1, 2, 3]).reduce_by(0, |a, b| a + b);
    /// assert_eq!(sum.value(), 6);
    /// ```
    pub fn value(self) -> T {
        self.0
    }
}

impl<Fs: Shapely, T> Hyper<Fs, T> {
    /// From the nested containers.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let rows_of_two = Hyper::<dims![Array<2>], [i32; 2]>::new([[1, 2], [3, 4]]);
    /// assert_eq!(rows_of_two.map(|[a, b]| a * b), hyper([2, 12]));
    /// ```
    pub fn new(nested: Of<Fs, T>) -> Self {
        Hyper(nested)
    }

    /// The nested containers.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(hyper([[1], [2]]).into_inner(), [[1], [2]]);
    /// ```
    pub fn into_inner(self) -> Of<Fs, T> {
        self.0
    }

    /// From the elements in row-major order, if there are as many as positions.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let x = Hyper::<dims![Array<2>, Array<2>], i32>::from_list(vec![1, 2, 3, 4]);
    /// assert_eq!(x, Some(hyper([[1, 2], [3, 4]])));
    /// ```
    pub fn from_list(list: Vec<T>) -> Option<Self> {
        Fs::from_list(list).map(Hyper)
    }

    /// Makes the elements, which are containers, the innermost dimension. The essay's `HPrism`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// #[derive(Clone, Debug, PartialEq, Naperian)]
    /// struct Rgb<T> { r: T, g: T, b: T }
    ///
    /// let image = [Rgb { r: 1, g: 2, b: 3 }, Rgb { r: 4, g: 5, b: 6 }];
    /// let image: Hyper<dims![Array<2>, RgbFamily], i32> = Hyper::scalar(image).prism().prism();
    /// let gain = Hyper::scalar(Rgb { r: 1, g: 10, b: 100 }).prism();
    /// assert_eq!((image * gain).reduce_by(0, |a, b| a + b), hyper([321, 654]));
    /// ```
    pub fn prism(self) -> Hyper<Compose<Fs, T::Family>, T::Item>
    where
        T: Container<Family: Dimension>,
    {
        Hyper(self.0)
    }

    /// Builds one from a function on positions. A position is a pair of those of the outer dimensions and the innermost;
    /// that of rank 0 is `()`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let x = Hyper::<dims![Array<2>, Array<2>], _>::tabulate(|(((), i), j)| 10 * i.get() + j.get());
    /// assert_eq!(x, hyper([[0u64, 1], [10, 11]]).map(|x| x as usize));
    /// ```
    pub fn tabulate(f: impl FnMut(Fs::Log) -> T) -> Self {
        Hyper(Fs::tabulate(f))
    }

    /// The element at a position.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(*hyper([[1, 2, 3]]).index((((), fin::<0, 1>()), fin::<2, 3>())), 3);
    /// ```
    #[expect(clippy::should_implement_trait, reason = "the name of the class's operation, as for other containers")]
    pub fn index(&self, position: Fs::Log) -> &T {
        Fs::index(&self.0, position)
    }

    /// References to the elements.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let x = hyper([1, 2]);
    /// assert_eq!(x.each_ref().map(|a| a + 1), hyper([2, 3]));
    /// assert_eq!(x.into_inner(), [1, 2]);
    /// ```
    pub fn each_ref(&self) -> Hyper<Fs, &T> {
        Hyper(Fs::each_ref(&self.0))
    }

    /// The elements, in row-major order.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(hyper([[1, 2], [3, 4]]).to_list(), [1, 2, 3, 4]);
    /// ```
    pub fn to_list(self) -> Vec<T> {
        Fs::to_list(self.0)
    }

    /// Applies a function to every element, at any rank.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(hyper([[1, 2]]).map(|x| x * x), hyper([[1, 4]]));
    /// ```
    pub fn map<B>(self, f: impl FnMut(T) -> B) -> Hyper<Fs, B> {
        Hyper(Fs::map(self.0, f))
    }

    /// Combines two values element by element, after aligning their dimensions from the innermost outwards: what one of
    /// them lacks, it has the same for.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let celsius = hyper([[20.0, 21.0], [22.0, 23.0]]);
    /// let offset = hyper([0.5, -0.5]); // one for each column
    /// assert_eq!(offset.lift2(celsius, |o, c| c + o), hyper([[20.5, 20.5], [22.5, 22.5]]));
    /// ```
    ///
    /// ```compile_fail
    /// use slyz::naperian::*;
    /// hyper([[1, 2, 3]]).lift2(hyper([1, 2]), |a, b| a + b); // three columns and two
    /// ```
    pub fn lift2<Gs, B, C>(self, other: Hyper<Gs, B>, mut f: impl FnMut(T, B) -> C) -> Hyper<Fs::Max, C>
    where
        Fs: Alignable<Gs>,
        Gs: Shapely,
        T: Clone,
        B: Clone,
    {
        Hyper::tabulate(|position| {
            f(self.index(Fs::first(position)).clone(), other.index(Fs::second(position)).clone())
        })
    }
}

impl<Fs: Shapely, F: Dimension, T> Hyper<Compose<Fs, F>, T> {
    /// Makes the innermost dimension part of the elements: the inverse of [`prism`](Hyper::prism).
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(hyper([[1, 2], [3, 4]]).unprism().map(|[a, b]| a + b), hyper([3, 7]));
    /// ```
    pub fn unprism(self) -> Hyper<Fs, Of<F, T>> {
        Hyper(self.0)
    }

    /// Reduces the innermost dimension with a monoid: its unit and its operation.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let x = hyper([[1, 2, 3], [4, 5, 6]]);
    /// let rows = x.reduce_by(0, |a, b| a + b);
    /// assert_eq!(rows, hyper([6, 15]));
    /// assert_eq!(rows.reduce_by(1, |a, b| a * b).value(), 90);
    /// ```
    pub fn reduce_by(self, unit: T, mut f: impl FnMut(T, T) -> T) -> Hyper<Fs, T>
    where
        T: Clone,
    {
        self.unprism().map(|fa: Of<F, T>| F::foldr(fa, unit.clone(), &mut f))
    }
}

impl<Fs: Shapely, G: Dimension, F: Dimension, T: Clone> Hyper<Compose<Compose<Fs, G>, F>, T> {
    /// Exchanges the two innermost dimensions, whatever is outside.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(hyper([[[1, 2, 3], [4, 5, 6]]]).transpose(), hyper([[[1, 4], [2, 5], [3, 6]]]));
    /// ```
    pub fn transpose(self) -> Hyper<Compose<Compose<Fs, F>, G>, T> {
        Hyper::tabulate(|((outer, i), j)| self.index(((outer, j), i)).clone())
    }
}

impl<Fs: Shapely, T> Clone for Hyper<Fs, T>
where
    Of<Fs, T>: Clone,
{
    fn clone(&self) -> Self {
        Hyper(self.0.clone())
    }
}

impl<Fs: Shapely, T> Copy for Hyper<Fs, T> where Of<Fs, T>: Copy {}

impl<Fs: Shapely, T> fmt::Debug for Hyper<Fs, T>
where
    Of<Fs, T>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Hyper").field(&self.0).finish()
    }
}

impl<Fs: Shapely, T> PartialEq for Hyper<Fs, T>
where
    Of<Fs, T>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<Fs: Shapely, T> Eq for Hyper<Fs, T> where Of<Fs, T>: Eq {}

macro_rules! operators {
    ($($Op:ident $op:ident)*) => {$(
        /// Aligns the dimensions as [`Hyper::lift2`] does.
        impl<Fs: Alignable<Gs>, Gs: Shapely, A: $Op<B> + Clone, B: Clone> $Op<Hyper<Gs, B>> for Hyper<Fs, A> {
            type Output = Hyper<Fs::Max, A::Output>;
            fn $op(self, other: Hyper<Gs, B>) -> Self::Output {
                self.lift2(other, |a, b| a.$op(b))
            }
        }
    )*};
}
operators!(Add add Sub sub Mul mul Div div);

/// Numbers, and arrays of such, to any depth: what [`hyper`] takes.
///
/// ```
/// use slyz::naperian::*;
/// fn total<X: Nested<Item = i64>>(x: X) -> i64 {
///     hyper(x).to_list().into_iter().sum()
/// }
/// assert_eq!(total([[1, 2], [3, 4]]), 10);
/// assert_eq!(total(5), 5);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number or a nested array of numbers",
    note = "for other containers say how many layers are dimensions: `Hyper::scalar(x).prism().prism()`"
)]
pub trait Nested {
    /// The dimensions.
    type Dims: Shapely;
    /// The numbers.
    type Item;

    /// The value with its dimensions.
    #[doc(hidden)]
    fn nested(self) -> Hyper<Self::Dims, Self::Item>;
}

impl<T: Scalar> Nested for T {
    type Dims = Id;
    type Item = T;
    fn nested(self) -> Hyper<Id, T> {
        Hyper(self)
    }
}

impl<X: Nested, const N: usize> Nested for [X; N] {
    type Dims = <X::Dims as Shapely>::Under<Array<N>>;
    type Item = X::Item;
    fn nested(self) -> Hyper<Self::Dims, X::Item> {
        Hyper(X::Dims::under::<Array<N>, X::Item>(self.map(|x| x.nested().0)))
    }
}

/// Numbers and nested arrays of numbers, with as many dimensions as there are layers.
///
/// ```
/// use slyz::naperian::*;
/// let x: Hyper<dims![Array<1>, Array<2>], f32> = hyper([[1.0, 2.0]]);
/// let y: Hyper<dims![], f32> = hyper(1.0);
/// assert_eq!((x + y).into_inner(), [[2.0, 3.0]]);
/// ```
pub fn hyper<X: Nested>(x: X) -> Hyper<X::Dims, X::Item> {
    x.nested()
}
