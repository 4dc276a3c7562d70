//! Sequential loops inside bodies.

use crate::elem::{Elem, Exp, Lift, handles, tys_of, value_of};
use crate::record;
use crate::trace::Loc;
use std::panic::Location;

/// What a loop may start with: whatever stands for one element.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::{Elem, LoopState};
/// fn thrice<T: Elem>(init: impl LoopState<T>, step: impl Fn(T::Exp) -> T::Exp) -> T::Exp {
///     iterate(3, init, |_, state| step(state))
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a loop: for an array write `x.map(|v| iterate(10, v, |_, v| ..))`",
    label = "the state is one element: an `Exp`, an `Idx`, a constant, or a tuple or derived struct of them",
    note = "where a turn needs the whole array, compile the turn and call it in a loop on the host"
)]
pub trait LoopState<T: Elem>: Lift<T> {}

#[diagnostic::do_not_recommend]
impl<T: Elem, V: Lift<T>> LoopState<T> for V {}

/// `count` turns of `step`, which gets the number of the turn and the state.
///
/// ```
/// use slyz::prelude::*;
/// // A square root by Newton's method.
/// let f = compile(|c: Exp<f32>| iterate(10, c, |_, x: Exp<f32>| (x + c / x) * 0.5))?;
/// assert!((f.call(2.0)?.value()? - 1.4142135).abs() < 1e-6);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn iterate<T: Elem>(
    count: impl Lift<u32>,
    init: impl LoopState<T>,
    step: impl Fn(Exp<u32>, T::Exp) -> T::Exp,
) -> T::Exp {
    let at: Loc = Location::caller();
    let count = count.lift().handle();
    let init = handles(init.lift());
    let step = &mut |params: &[crate::trace::Handle]| handles(step(Exp::new(params[0]), value_of(&params[1..])));
    value_of(&record::iterate(at, count, &init, &tys_of::<T>(), step))
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
pub fn repeat_while<T: Elem>(
    init: impl LoopState<T>,
    cond: impl Fn(T::Exp) -> Exp<bool>,
    step: impl Fn(T::Exp) -> T::Exp,
) -> T::Exp {
    let at: Loc = Location::caller();
    let init = handles(init.lift());
    let state = record::repeat_while(
        at,
        &init,
        &tys_of::<T>(),
        &mut |state| vec![cond(value_of(state)).handle()],
        &mut |state| handles(step(value_of(state))),
    );
    value_of(&state)
}
