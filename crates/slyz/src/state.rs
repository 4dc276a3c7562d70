//! What loops carry from turn to turn: scalars, positions, arrays, and tuples, `[_; N]` and structs of them.

use crate::trace::{Handle, Part};

/// What a loop may carry: `Exp`, `Idx`, `Arr`, and tuples, `[_; N]` and derived structs of them.
///
/// ```
/// use slyz::prelude::*;
/// fn twice<S: State>(init: S, step: impl Fn(S) -> S) -> S { iterate(2, init, |_, s| step(s)) }
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| twice(x, |x| x * 3.0))?;
/// assert_eq!(f.call(&[1.0f32, 2.0])?.to_vec()?, [9.0, 18.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a loop",
    label = "a loop carries `Exp`, `Idx`, `Arr`, and tuples, `[_; N]` and derived structs of them",
    note = "a struct of arrays becomes one with `#[derive(slyz::Arrays)]`, a struct of scalars with `#[derive(slyz::Elem)]`"
)]
pub trait State: LoopState<Self> + Copy {
    #[doc(hidden)]
    fn save(self, out: &mut Vec<Part>);

    #[doc(hidden)]
    fn restore(next: &mut dyn FnMut() -> Part) -> Self;
}

/// What a loop may start with: a state, or constants in the place of its scalars.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::LoopState;
/// fn thrice<S: State>(init: impl LoopState<S>, step: impl Fn(S) -> S) -> S {
///     iterate(3, init, |_, state| step(state))
/// }
/// let f = compile(|| thrice(1.0f32, |x: Exp<f32>| x * 2.0))?;
/// assert_eq!(f.call()?.value()?, 8.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a loop that carries `{S}`",
    label = "a loop carries `Exp`, `Idx`, `Arr`, and tuples, `[_; N]` and derived structs of them",
    note = "give it what the turns give back, or a constant in its place: `2.0` for `Exp<f32>`"
)]
pub trait LoopState<S> {
    #[doc(hidden)]
    fn start(self) -> S;
}

/// A state from its parts; poison where there are too few.
pub(crate) fn restored<S: State>(parts: &[Part]) -> S {
    let mut parts = parts.iter();
    S::restore(&mut || parts.next().copied().unwrap_or(Part::scalar(Handle::POISON)))
}

pub(crate) fn saved<S: State>(state: S) -> Vec<Part> {
    let mut out = vec![];
    state.save(&mut out);
    out
}

impl State for () {
    fn save(self, _: &mut Vec<Part>) {}
    fn restore(_: &mut dyn FnMut() -> Part) {}
}

#[diagnostic::do_not_recommend]
impl LoopState<()> for () {
    fn start(self) {}
}

impl<S: State, const N: usize> State for [S; N] {
    fn save(self, out: &mut Vec<Part>) {
        self.into_iter().for_each(|part| part.save(out));
    }
    fn restore(next: &mut dyn FnMut() -> Part) -> Self {
        std::array::from_fn(|_| S::restore(next))
    }
}

#[diagnostic::do_not_recommend]
impl<S: State, V: LoopState<S>, const N: usize> LoopState<[S; N]> for [V; N] {
    #[track_caller]
    fn start(self) -> [S; N] {
        self.map(|v| v.start())
    }
}

macro_rules! tuples {
    ($($V:ident $S:ident $i:tt),*) => {
        impl<$($S: State),*> State for ($($S,)*) {
            fn save(self, out: &mut Vec<Part>) { $(self.$i.save(out);)* }
            fn restore(next: &mut dyn FnMut() -> Part) -> Self { ($($S::restore(next),)*) }
        }
        #[diagnostic::do_not_recommend]
        impl<$($S: State, $V: LoopState<$S>),*> LoopState<($($S,)*)> for ($($V,)*) {
            #[track_caller]
            fn start(self) -> ($($S,)*) { ($(self.$i.start(),)*) }
        }
    };
}
tuples!(A P 0);
tuples!(A P 0, B Q 1);
tuples!(A P 0, B Q 1, C R 2);
tuples!(A P 0, B Q 1, C R 2, D S 3);
tuples!(A P 0, B Q 1, C R 2, D S 3, E T 4);
tuples!(A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5);
