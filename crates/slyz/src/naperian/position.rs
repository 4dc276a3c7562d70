//! [`Naperian`]: containers that are functions from their positions, and the positions [`Fin`] and [`Which`].

use super::{Functor, Of};
use std::fmt;
use std::hash::Hash;

/// Functors that are functions from positions: `f a ≅ Log f → a`.
///
/// Laws: [`tabulate`](Naperian::tabulate) and [`index`](Naperian::index) are inverses. `tabulate` calls its function
/// once for each position, in the order of the container's elements.
///
/// A Naperian family is `'static`: it names a shape, and shapes borrow nothing.
///
/// Derive it for a struct whose fields are its elements; the [derive](macro@super::Naperian) implements the whole tower.
///
/// ```
/// use slyz::naperian::*;
/// fn diagonal<F: Naperian, A: Clone>(x: &Of<F, Of<F, A>>) -> Of<F, A> {
///     F::tabulate(|i| F::index::<A>(F::index::<Of<F, A>>(x, i), i).clone())
/// }
/// assert_eq!(diagonal::<Array<2>, _>(&[[1, 2], [3, 4]]), [1, 4]);
/// ```
pub trait Naperian: Functor + 'static {
    /// The positions: the logarithm of the functor.
    type Log: Copy + Eq + Hash + fmt::Debug;

    /// Builds a container from a function on positions.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let table = Array2::<2, 3>::tabulate(|(i, j)| 10 * i.get() + j.get());
    /// assert_eq!(table, [[0, 1, 2], [10, 11, 12]]);
    /// ```
    fn tabulate<A>(f: impl FnMut(Self::Log) -> A) -> Of<Self, A>;

    /// The element at a position. Total: a position cannot lie outside.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(*Array2::<2, 2>::index(&[[1, 2], [3, 4]], (fin::<1, 2>(), fin::<0, 2>())), 3);
    /// ```
    fn index<A>(fa: &Of<Self, A>, position: Self::Log) -> &A;

    /// Every position, at its own position.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Array::<3>::positions().map(|p| p.get()), [0, 1, 2]);
    /// ```
    fn positions() -> Of<Self, Self::Log> {
        Self::tabulate(|position| position)
    }

    /// A container of references to the elements.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// let words = [["a".to_string(), "bc".to_string()]];
    /// let lengths = Array2::<1, 2>::map(Array2::<1, 2>::each_ref(&words), |s| s.len());
    /// assert_eq!(lengths, [[1, 2]]);
    /// ```
    fn each_ref<A>(fa: &Of<Self, A>) -> Of<Self, &A> {
        Self::tabulate(|position| Self::index(fa, position))
    }

    /// Exchanges this layer with the one inside it. The function [`transpose`](super::transpose) finds the families itself.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// // Exchanges the outermost axis with the two others, which count as one layer.
    /// let x = [[[1, 2]], [[3, 4]]];
    /// assert_eq!(Array::<2>::transpose::<Array2<1, 2>, _>(x), [[[1, 3], [2, 4]]]);
    /// ```
    fn transpose<G: Naperian, A: Clone>(fga: Of<Self, Of<G, A>>) -> Of<G, Of<Self, A>> {
        G::tabulate(|j| Self::tabulate(|i| G::index::<A>(Self::index::<Of<G, A>>(&fga, i), j).clone()))
    }
}

/// One of `N` positions, counted from 0: the positions of an array.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(Fin::<3>::new(2), Some(fin::<2, 3>()));
/// assert_eq!(Fin::<3>::new(3), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fin<const N: usize>(usize);

impl<const N: usize> Fin<N> {
    /// The position with this number, if there is one.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert!(Fin::<0>::new(0).is_none());
    /// ```
    pub fn new(number: usize) -> Option<Self> {
        (number < N).then_some(Fin(number))
    }

    /// Its number, less than `N`.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(fin::<1, 3>().get(), 1);
    /// ```
    pub fn get(self) -> usize {
        self.0
    }

    /// All positions, in order.
    ///
    /// ```
    /// use slyz::naperian::*;
    /// assert_eq!(Fin::<3>::all().count(), 3);
    /// ```
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..N).map(Fin)
    }
}

impl<const N: usize> fmt::Debug for Fin<N> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{N}", self.0)
    }
}

impl<const N: usize> fmt::Display for Fin<N> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A constant position, checked when the program is built.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(*["a", "b"].index(fin::<1, 2>()), "b");
/// ```
///
/// ```compile_fail
/// slyz::naperian::fin::<2, 2>(); // position outside the array
/// ```
pub fn fin<const I: usize, const N: usize>() -> Fin<N> {
    const { assert!(I < N, "position outside the array") };
    Fin(I)
}

/// A position in one of two containers: the positions of a [`Pair`](super::Pair).
///
/// ```
/// use slyz::naperian::*;
/// let x = ([1, 2], [3, 4, 5]);
/// assert_eq!(*x.index(Which::Second(fin::<2, 3>())), 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Which<A, B> {
    /// In the first.
    First(A),
    /// In the second.
    Second(B),
}
