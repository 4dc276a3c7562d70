//! Sequential loops inside bodies.

use crate::elem::{Elem, Lift, handles, tys_of, value_of};
use crate::exp::Exp;
use crate::record;
use crate::trace::Loc;
use std::panic::Location;

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
    init: impl Lift<T>,
    step: impl Fn(Exp<u32>, T::Exp) -> T::Exp,
) -> T::Exp {
    let at: Loc = Location::caller();
    let (count, init) = (count.lift().handle(), handles(init.lift()));
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
    init: impl Lift<T>,
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
