//! Sequential loops, at the top of a function and inside bodies.

use crate::arr::Arr;
use crate::elem::{Elem, Exp, Lift, Scalar, tys_of};
use crate::extent::{Axis, Extent};
use crate::position::Idx;
use crate::record::{self, Turns};
use crate::shape::{Shape, Stack};
use crate::state::{LoopState, State, restored, saved};
use crate::trace::{Handle, Loc, Part, on_behalf};
use std::panic::Location;

/// `count` turns of `step`, which gets the number of the turn and the state.
///
/// ```
/// use slyz::prelude::*;
/// // A square root by Newton's method.
/// let f = compile(|c: Exp<f32>| iterate(10, c, |_, x: Exp<f32>| (x + c / x) * 0.5))?;
/// assert!((f.call(2.0)?.value()? - 1.4142135).abs() < 1e-6);
///
/// // Heat in a rod. The array is kept in two buffers that take turns.
/// axis!(N);
/// fn heat(u: Arr<f32, N>) -> Arr<f32, N> {
///     iterate(100, u, |_, u: Arr<f32, N>| {
///         u.stencil(Border::Clamp, |u| u(0) + 0.25 * (u(-1) - 2.0 * u(0) + u(1)))
///     })
/// }
/// assert!((compile(heat)?.call(&[0.0f32, 0.0, 6.0])?.to_vec()?[0] - 2.0).abs() < 1e-3);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn iterate<S: State>(count: impl Lift<u32>, init: impl LoopState<S>, step: impl Fn(Exp<u32>, S) -> S) -> S {
    let at: Loc = Location::caller();
    let turns = Turns::Count(count.lift().handle());
    let init = saved(init.start());
    let step = &mut |turn: Handle, state: &[Part]| saved(step(Exp::new(turn), restored(state)));
    restored(&record::count_turns(at, "iterate", turns, &init, step))
}

/// A turn for each position of an axis, in order.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// // Horner's rule.
/// let f = compile(|c: Arr<f32, N>, x: Exp<f32>| for_each::<N, _>(0.0, |i, sum: Exp<f32>| sum * x + c.at(i)))?;
/// assert_eq!(f.call(&[2.0f32, 0.0, 1.0], 3.0)?.value()?, 19.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn for_each<A: Axis, S: State>(init: impl LoopState<S>, step: impl Fn(Idx<A>, S) -> S) -> S {
    let at: Loc = Location::caller();
    let turns = Turns::Axis(Extent::of::<A>());
    let init = saved(init.start());
    let step = &mut |turn: Handle, state: &[Part]| saved(step(Idx::new(turn), restored(state)));
    restored(&record::count_turns(at, "for_each", turns, &init, step))
}

/// Turns of `step` while `cond` holds: the way to write `while` over traced values.
///
/// ```
/// use slyz::prelude::*;
/// // How often can it be halved?
/// let f = compile(|c: Exp<f32>| repeat_while((c, 0u32), |(x, _)| x.gt(1.0), |(x, n)| (x / 2.0, n + 1)).1)?;
/// assert_eq!(f.call(8.0)?.value()?, 3);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn repeat_while<S: State>(init: impl LoopState<S>, cond: impl Fn(S) -> Exp<bool>, step: impl Fn(S) -> S) -> S {
    let at: Loc = Location::caller();
    let init = saved(init.start());
    let cond = &mut |state: &[Part]| vec![Part::scalar(cond(restored(state)).handle())];
    let step = &mut |state: &[Part]| saved(step(restored(state)));
    restored(&record::repeat_while(at, &init, cond, step))
}

/// A turn for each position of an axis, in order, whose outputs are stacked: JAX's `lax.scan`. A turn gets the state, and
/// gives the next one and an output: an `Exp`, an `Arr`, or a tuple of them.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// // A filter with a memory.
/// fn smooth(x: Arr<f32, N>) -> Arr<f32, N> {
///     let (_, y) = scan_over(0.0, |y: Exp<f32>, i: Idx<N>| {
///         let y = 0.5 * y + 0.5 * x.at(i);
///         (y, y)
///     });
///     y
/// }
/// assert_eq!(compile(smooth)?.call(&[4.0f32, 0.0, 2.0])?.to_vec()?, [2.0, 1.0, 1.5]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn scan_over<A: Axis, S: State, O: Stacking<A>>(
    init: impl LoopState<S>,
    step: impl Fn(S, Idx<A>) -> (S, O),
) -> (S, O::Stacked) {
    let at: Loc = Location::caller();
    let start = (init.start(), O::empty(at));
    for_each(start, |i: Idx<A>, (state, stacked): (S, O::Stacked)| {
        let (state, output) = step(state, i);
        (state, output.put(at, stacked, i))
    })
}

/// What a turn of [`scan_over`] may give out: `Exp`, `Arr`, and tuples of them.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::Stacking;
/// axis!(N);
/// fn each<O: Stacking<N>>(f: impl Fn(Idx<N>) -> O) -> O::Stacked { scan_over((), |(), i| ((), f(i))).1 }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stacked turn by turn",
    label = "a turn gives out an `Exp`, an `Arr` of rank 5 or less, or a tuple of them"
)]
pub trait Stacking<A: Axis> {
    /// All outputs, by turn.
    type Stacked: State;

    #[doc(hidden)]
    fn empty(at: Loc) -> Self::Stacked;

    #[doc(hidden)]
    fn put(self, at: Loc, stacked: Self::Stacked, i: Idx<A>) -> Self::Stacked;
}

impl<A: Axis, T: Scalar> Stacking<A> for Exp<T> {
    type Stacked = Arr<T, A>;
    fn empty(at: Loc) -> Arr<T, A> {
        nothing(at)
    }
    fn put(self, at: Loc, stacked: Arr<T, A>, i: Idx<A>) -> Arr<T, A> {
        on_behalf(at, || stacked.with(i, self))
    }
}

impl<A: Axis, T: Elem, S: Stack<A>> Stacking<A> for Arr<T, S> {
    type Stacked = Arr<T, S::Out>;
    fn empty(at: Loc) -> Arr<T, S::Out> {
        nothing(at)
    }
    fn put(self, at: Loc, stacked: Arr<T, S::Out>, i: Idx<A>) -> Arr<T, S::Out> {
        on_behalf(at, || stacked.with_row(i, self))
    }
}

macro_rules! stackings {
    ($($O:ident $i:tt),*) => {
        impl<A: Axis, $($O: Stacking<A>),*> Stacking<A> for ($($O,)*) {
            type Stacked = ($($O::Stacked,)*);
            fn empty(at: Loc) -> Self::Stacked { ($($O::empty(at),)*) }
            fn put(self, at: Loc, stacked: Self::Stacked, i: Idx<A>) -> Self::Stacked {
                ($(self.$i.put(at, stacked.$i, i),)*)
            }
        }
    };
}
stackings!(O 0, P 1);
stackings!(O 0, P 1, Q 2);
stackings!(O 0, P 1, Q 2, R 3);

/// An array whose elements are all written before anybody reads one.
fn nothing<T: Elem, S: Shape>(at: Loc) -> Arr<T, S> {
    let zero = |&ty: &crate::Ty| record::constant(at, slyz_sir::types::Scalar::from_bits(ty, 0));
    let zeros: Vec<Handle> = tys_of::<T>().iter().map(zero).collect();
    Arr::new(record::tabulate(at, &S::axes(), &mut |_| zeros.clone()))
}
