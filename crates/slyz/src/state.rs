//! What loops carry from turn to turn: scalars, positions, arrays, and tuples, `[_; N]` and structs of them.

use crate::arr::Arr;
use crate::elem::{Elem, Exp, Scalar, lit};
use crate::extent::{Axis, axis_number};
use crate::position::Idx;
use crate::shape::Shape;
use crate::trace::{self, Handle, Out};
use half::{bf16, f16};
use std::any::TypeId;
use std::panic::Location;

/// One scalar or array of a state.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Part {
    pub(crate) handle: Handle,
    /// The type of an array; `None` for a scalar.
    pub(crate) array: Option<TypeId>,
}

impl Part {
    pub(crate) fn scalar(handle: Handle) -> Part {
        Part { handle, array: None }
    }

    pub(crate) fn out(self) -> Out {
        match self.array {
            Some(_) => Out::Array(self.handle),
            None => Out::Scalar(self.handle),
        }
    }

    /// The same kind of part with another value.
    pub(crate) fn like(self, handle: Handle) -> Part {
        Part { handle: handle.on_axis(self.handle.axis()), array: self.array }
    }

    /// Is the other one of the same kind? That arrays of positions, and positions, are what they say rests on it.
    pub(crate) fn is_like(self, other: Part) -> bool {
        let poisoned = self.handle.trace == 0 || other.handle.trace == 0;
        poisoned || (self.array == other.array && self.handle.axis() == other.handle.axis())
    }

    /// The handle of a part that should be of that kind.
    #[track_caller]
    fn expect(self, kind: Part) -> Handle {
        if self.is_like(kind) {
            return self.handle;
        }
        let help = "derive the struct's traits instead of implementing `State` by hand";
        trace::error(Location::caller(), "a part of a state stands where one of another type must be", help);
        Handle::POISON
    }
}

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
    note = "a struct of arrays becomes a state with `#[derive(slyz::Arrays)]`, one of elements with `#[derive(slyz::Elem)]`"
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

impl<T: Scalar> State for Exp<T> {
    fn save(self, out: &mut Vec<Part>) {
        out.push(Part::scalar(self.handle()));
    }
    fn restore(next: &mut dyn FnMut() -> Part) -> Self {
        Exp::new(next().expect(Part::scalar(Handle::NUMBER)))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Scalar> LoopState<Exp<T>> for Exp<T> {
    fn start(self) -> Exp<T> {
        self
    }
}

macro_rules! constants {
    ($($t:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl LoopState<Exp<$t>> for $t {
            #[track_caller]
            fn start(self) -> Exp<$t> { lit(self) }
        }
    )*};
}
constants!(f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool);

impl<A: Axis> State for Idx<A> {
    fn save(self, out: &mut Vec<Part>) {
        out.push(Part::scalar(self.handle()));
    }
    fn restore(next: &mut dyn FnMut() -> Part) -> Self {
        Idx::new(next().expect(Part::scalar(Handle::NUMBER.on_axis(axis_number::<A>()))))
    }
}

#[diagnostic::do_not_recommend]
impl<A: Axis> LoopState<Idx<A>> for Idx<A> {
    fn start(self) -> Idx<A> {
        self
    }
}

impl<T: Elem, S: Shape> State for Arr<T, S> {
    fn save(self, out: &mut Vec<Part>) {
        out.push(Part { handle: self.handle(), array: Some(TypeId::of::<(T, S)>()) });
    }
    fn restore(next: &mut dyn FnMut() -> Part) -> Self {
        let kind = Part { handle: Handle::NUMBER, array: Some(TypeId::of::<(T, S)>()) };
        Arr::new(next().expect(kind))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Elem, S: Shape> LoopState<Arr<T, S>> for Arr<T, S> {
    fn start(self) -> Arr<T, S> {
        self
    }
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
