//! Sequential loops, at the top of a function and inside bodies.

use crate::elem::{Exp, Lift};
use crate::extent::{Axis, Extent};
use crate::position::Idx;
use crate::record::{self, Turns};
use crate::state::{LoopState, Part, State, restored, saved};
use crate::trace::{Handle, Loc};
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
