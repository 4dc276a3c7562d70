//! Containers that are effects: `Option` and `Result`, for [`Traverse`]. They have no positions, for one cannot tell from
//! the type whether an element is there.

use super::{Applicative, Container, Family, Foldable, Functor, Of, Traverse};
use std::marker::PhantomData;

/// The family of the options `Option<T>`: the effect of a step that may fail.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(Options::lift_a2(|a, b| a + b, Some(1), Some(2)), Some(3));
/// assert_eq!([Some(1), None].traverse(|x| x), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Options {}

/// The family of the results `Result<T, E>`: the effect of a step that may fail and says why. The first error wins.
///
/// ```
/// use slyz::naperian::*;
/// assert_eq!(Results::<&str>::lift_a2(|a: i32, b: i32| a + b, Err("first"), Err("second")), Err("first"));
/// ```
pub struct Results<E>(PhantomData<fn() -> E>);

impl Family for Options {
    type Of<T> = Option<T>;
}

impl<T> Container for Option<T> {
    type Family = Options;
    type Item = T;
}

impl Functor for Options {
    fn map<A, B>(fa: Option<A>, f: impl FnMut(A) -> B) -> Option<B> {
        fa.map(f)
    }
}

impl Applicative for Options {
    fn pure_with<A>(mut make: impl FnMut() -> A) -> Option<A> {
        Some(make())
    }

    fn lift_a2<A, B, C>(mut f: impl FnMut(A, B) -> C, fa: Option<A>, fb: Option<B>) -> Option<C> {
        Some(f(fa?, fb?))
    }
}

impl Foldable for Options {
    fn foldr<A, B>(fa: Option<A>, init: B, mut f: impl FnMut(A, B) -> B) -> B {
        match fa {
            Some(a) => f(a, init),
            None => init,
        }
    }
}

impl Traverse for Options {
    fn traverse<G: Applicative, A, B>(fa: Option<A>, mut f: impl FnMut(A) -> Of<G, B>) -> Of<G, Option<B>> {
        match fa {
            Some(a) => G::map(f(a), |b: B| Some(b)),
            None => G::pure_with(|| None),
        }
    }
}

impl<E> Family for Results<E> {
    type Of<T> = Result<T, E>;
}

impl<T, E> Container for Result<T, E> {
    type Family = Results<E>;
    type Item = T;
}

impl<E> Functor for Results<E> {
    fn map<A, B>(fa: Result<A, E>, f: impl FnMut(A) -> B) -> Result<B, E> {
        fa.map(f)
    }
}

impl<E> Applicative for Results<E> {
    fn pure_with<A>(mut make: impl FnMut() -> A) -> Result<A, E> {
        Ok(make())
    }

    fn lift_a2<A, B, C>(mut f: impl FnMut(A, B) -> C, fa: Result<A, E>, fb: Result<B, E>) -> Result<C, E> {
        Ok(f(fa?, fb?))
    }
}

impl<E> Foldable for Results<E> {
    fn foldr<A, B>(fa: Result<A, E>, init: B, mut f: impl FnMut(A, B) -> B) -> B {
        match fa {
            Ok(a) => f(a, init),
            Err(_) => init,
        }
    }
}

impl<E: Clone> Traverse for Results<E> {
    fn traverse<G: Applicative, A, B>(fa: Result<A, E>, mut f: impl FnMut(A) -> Of<G, B>) -> Of<G, Result<B, E>> {
        match fa {
            Ok(a) => G::map(f(a), |b: B| Ok(b)),
            Err(error) => G::pure_with(|| Err(error.clone())),
        }
    }
}
