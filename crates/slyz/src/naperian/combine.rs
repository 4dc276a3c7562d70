//! Families made from families: [`Id`], [`Pair`] and [`Compose`]. What their parts are, they are, up to the top of the
//! tower.
//!
//! Logarithms behave as they should: `Log Id = 1`, `Log (f × g) = Log f + Log g`, `Log (f ∘ g) = Log f × Log g`.

use super::{Applicative, Container, Dimension, Family, Foldable, Functor, Naperian, Of, Traverse, Which};
use std::marker::PhantomData;

/// The family in which a `T` is just a `T`: one element, one position.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(Id::map(3, |x| x + 1), 4);
/// assert_eq!(Id::SIZE, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {}

impl Family for Id {
    type Of<T> = T;
}

impl Functor for Id {
    fn map<A, B>(a: A, mut f: impl FnMut(A) -> B) -> B {
        f(a)
    }
}

impl Applicative for Id {
    fn pure_with<A>(mut make: impl FnMut() -> A) -> A {
        make()
    }

    fn lift_a2<A, B, C>(mut f: impl FnMut(A, B) -> C, a: A, b: B) -> C {
        f(a, b)
    }
}

impl Foldable for Id {
    fn foldr<A, B>(a: A, init: B, mut f: impl FnMut(A, B) -> B) -> B {
        f(a, init)
    }
}

impl Traverse for Id {
    fn traverse<G: Applicative, A, B>(a: A, mut f: impl FnMut(A) -> Of<G, B>) -> Of<G, B> {
        f(a)
    }
}

impl Naperian for Id {
    type Log = ();

    fn tabulate<A>(mut f: impl FnMut(()) -> A) -> A {
        f(())
    }

    fn index<A>(a: &A, (): ()) -> &A {
        a
    }
}

impl Dimension for Id {
    const SIZE: usize = 1;
}

/// The product: a member of `F` and a member of `G`, in a tuple. Positions are in the one or the other.
///
/// ```
/// use slyz::naperian::*;
/// let x: Of<Pair<Array<2>, Array<1>>, i32> = ([1, 2], [3]);
/// assert_eq!(x.map(|x| -x).to_list(), [-1, -2, -3]);
/// assert_eq!(x.zip_with(([10, 20], [30]), |a, b| a + b), ([11, 22], [33]));
/// ```
pub struct Pair<F, G>(PhantomData<(F, G)>);

impl<F: Family, G: Family> Family for Pair<F, G> {
    type Of<T> = (Of<F, T>, Of<G, T>);
}

impl<X: Container, Y: Container<Item = X::Item>> Container for (X, Y) {
    type Family = Pair<X::Family, Y::Family>;
    type Item = X::Item;
}

impl<F: Functor, G: Functor> Functor for Pair<F, G> {
    fn map<A, B>((fa, ga): Of<Self, A>, mut f: impl FnMut(A) -> B) -> Of<Self, B> {
        (F::map(fa, &mut f), G::map(ga, f))
    }
}

impl<F: Applicative, G: Applicative> Applicative for Pair<F, G> {
    fn pure_with<A>(mut make: impl FnMut() -> A) -> Of<Self, A> {
        (F::pure_with(&mut make), G::pure_with(make))
    }

    fn lift_a2<A, B, C>(mut f: impl FnMut(A, B) -> C, (fa, ga): Of<Self, A>, (fb, gb): Of<Self, B>) -> Of<Self, C> {
        (F::lift_a2(&mut f, fa, fb), G::lift_a2(f, ga, gb))
    }
}

impl<F: Foldable, G: Foldable> Foldable for Pair<F, G> {
    fn foldr<A, B>((fa, ga): Of<Self, A>, init: B, mut f: impl FnMut(A, B) -> B) -> B {
        let rest = G::foldr(ga, init, &mut f);
        F::foldr(fa, rest, f)
    }
}

impl<F: Traverse, G: Traverse> Traverse for Pair<F, G> {
    fn traverse<H: Applicative, A, B>((fa, ga): Of<Self, A>, mut f: impl FnMut(A) -> Of<H, B>) -> Of<H, Of<Self, B>> {
        let first = F::traverse::<H, A, B>(fa, &mut f);
        let second = G::traverse::<H, A, B>(ga, f);
        H::zip::<Of<F, B>, Of<G, B>>(first, second)
    }
}

impl<F: Naperian, G: Naperian> Naperian for Pair<F, G> {
    type Log = Which<F::Log, G::Log>;

    fn tabulate<A>(mut f: impl FnMut(Self::Log) -> A) -> Of<Self, A> {
        let first = F::tabulate(|i| f(Which::First(i)));
        (first, G::tabulate(|j| f(Which::Second(j))))
    }

    fn index<A>((fa, ga): &Of<Self, A>, position: Self::Log) -> &A {
        match position {
            Which::First(i) => F::index(fa, i),
            Which::Second(j) => G::index(ga, j),
        }
    }
}

impl<F: Dimension, G: Dimension> Dimension for Pair<F, G> {
    const SIZE: usize = F::SIZE + G::SIZE;
}

/// The composition: a member of `F` that holds members of `G`. A position is one in `F` and one in `G`.
///
/// It adds no wrapper: `Of<Compose<F, G>, T>` *is* `Of<F, Of<G, T>>`.
///
/// ```
/// use slyz::naperian::*;
/// #[derive(Debug, PartialEq, Naperian)]
/// struct Rgb<T> { r: T, g: T, b: T }
///
/// type Row = Compose<Array<2>, RgbFamily>;
/// let row = Row::tabulate(|(i, c)| if c == RgbLog::G { i.get() } else { 9 });
/// assert_eq!(row, [Rgb { r: 9, g: 0, b: 9 }, Rgb { r: 9, g: 1, b: 9 }]);
/// ```
pub struct Compose<F, G>(PhantomData<(F, G)>);

impl<F: Family, G: Family> Family for Compose<F, G> {
    type Of<T> = Of<F, Of<G, T>>;
}

impl<F: Functor, G: Functor> Functor for Compose<F, G> {
    fn map<A, B>(fga: Of<Self, A>, mut f: impl FnMut(A) -> B) -> Of<Self, B> {
        F::map(fga, |ga: Of<G, A>| G::map(ga, &mut f))
    }
}

impl<F: Applicative, G: Applicative> Applicative for Compose<F, G> {
    fn pure_with<A>(mut make: impl FnMut() -> A) -> Of<Self, A> {
        F::pure_with(|| G::pure_with(&mut make))
    }

    fn lift_a2<A, B, C>(mut f: impl FnMut(A, B) -> C, fga: Of<Self, A>, fgb: Of<Self, B>) -> Of<Self, C> {
        F::lift_a2(|ga: Of<G, A>, gb: Of<G, B>| G::lift_a2(&mut f, ga, gb), fga, fgb)
    }
}

impl<F: Foldable, G: Foldable> Foldable for Compose<F, G> {
    fn foldr<A, B>(fga: Of<Self, A>, init: B, mut f: impl FnMut(A, B) -> B) -> B {
        F::foldr(fga, init, |ga: Of<G, A>, rest| G::foldr(ga, rest, &mut f))
    }
}

impl<F: Traverse, G: Traverse> Traverse for Compose<F, G> {
    fn traverse<H: Applicative, A, B>(fga: Of<Self, A>, mut f: impl FnMut(A) -> Of<H, B>) -> Of<H, Of<Self, B>> {
        F::traverse::<H, Of<G, A>, Of<G, B>>(fga, |ga| G::traverse::<H, A, B>(ga, &mut f))
    }
}

impl<F: Naperian, G: Naperian> Naperian for Compose<F, G> {
    type Log = (F::Log, G::Log);

    fn tabulate<A>(mut f: impl FnMut(Self::Log) -> A) -> Of<Self, A> {
        F::tabulate(|i| G::tabulate(|j| f((i, j))))
    }

    fn index<A>(fga: &Of<Self, A>, (i, j): Self::Log) -> &A {
        G::index(F::index::<Of<G, A>>(fga, i), j)
    }
}

impl<F: Dimension, G: Dimension> Dimension for Compose<F, G> {
    const SIZE: usize = F::SIZE * G::SIZE;
}
