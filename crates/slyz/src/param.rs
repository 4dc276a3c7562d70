//! What functions take: parameters as handles of the trace, and what calls take and give for them.

use crate::__private::FunctionArg;
use crate::arr::Arr;
use crate::elem::{Elem, Exp, Scalar, Value, parts_of, value_of};
use crate::extent::{Axis, Extent};
use crate::feed::Feed;
use crate::output::Output;
use crate::position::{At, Idx};
use crate::shape::Shape;
use crate::state::State;
use crate::tensor::Tensor;
use crate::trace::{self, Handle, Leaf, Loc, Slot};

/// A parameter of a compiled function: `Arr`, `Exp`, `Idx`, or tuples, `[_; N]` and derived structs of them.
///
/// ```
/// use slyz::prelude::*;
/// #[derive(Clone, Copy, Debug, PartialEq, slyz::Elem)]
/// struct Point<T> { x: T, y: T }
/// let f = compile(|p: Point<Exp<f32>>, (a, b): (Exp<f32>, Exp<u32>)| Point { x: p.y * a, y: p.x + b.cast::<f32>() })?;
/// assert_eq!(f.call(Point { x: 1.0, y: 2.0 }, (10.0, 3))?.value()?, Point { x: 20.0, y: 4.0 });
/// # Ok::<(), slyz::Error>(())
/// ```
///
/// ```
/// use slyz::prelude::*;
/// fn run<P: slyz::Param, R: slyz::Output>(f: fn(P) -> R) -> Result<Compiled<fn(P) -> R>, slyz::Error> {
///     compile(f)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a compiled function",
    label = "expected `Arr<T, S>`, `Exp<T>`, or a tuple or derived struct of them",
    note = "a struct of arrays becomes one with `#[derive(slyz::Arrays)]`"
)]
pub trait Param: Copy {
    #[doc(hidden)]
    fn make(from: &mut Parameters) -> Self;
}

/// Where parameters come from: each scalar and each array among them is a [`Slot`], in the order in which they are made. A call
/// fills the slots in the same order ([`Feed`]), and checks what it finds against them, so nothing depends on who implements
/// [`Param`] and how.
#[doc(hidden)]
pub struct Parameters {
    at: Loc,
    /// The argument whose parts are made, from 1.
    argument: usize,
    /// The names of the fields on the way to the part that is made, with dots.
    field: String,
}

impl Parameters {
    pub(crate) fn new(at: Loc) -> Parameters {
        Parameters { at, argument: 0, field: String::new() }
    }

    pub(crate) fn argument<P: Param>(&mut self) -> P {
        self.argument += 1;
        P::make(self)
    }

    /// A part of the parameter that is being made.
    pub fn field<P: Param>(&mut self, name: &str) -> P {
        let outer = self.field.len();
        if outer > 0 {
            self.field.push('.');
        }
        self.field.push_str(name);
        let made = P::make(self);
        self.field.truncate(outer);
        made
    }

    fn slot(&self, axes: Vec<Extent>, names: Vec<String>, leaves: Vec<Leaf>) -> Vec<Handle> {
        let slot = Slot { argument: self.argument, field: self.field.clone(), axes, names, leaves };
        trace::parameter(self.at, slot)
    }

    /// A scalar or a position: a slot for its one leaf.
    pub(crate) fn value<V: Value>(&self) -> V {
        let slot = |leaf: &Leaf| self.slot(vec![], vec![], vec![leaf.clone()]);
        value_of(&parts_of::<V::Elem>().iter().flat_map(slot).collect::<Vec<Handle>>())
    }
}

impl<T: Elem, S: Shape> Param for Arr<T, S> {
    fn make(from: &mut Parameters) -> Self {
        let leaves = from.slot(S::axes(), S::names(), parts_of::<T>().to_vec());
        Arr::new(trace::array_of(from.at, &leaves))
    }
}

impl<T: Scalar> Param for Exp<T> {
    fn make(from: &mut Parameters) -> Self {
        from.value()
    }
}

impl<A: Axis> Param for Idx<A> {
    fn make(from: &mut Parameters) -> Self {
        from.value()
    }
}

impl<P: Param, const N: usize> Param for [P; N] {
    fn make(from: &mut Parameters) -> Self {
        std::array::from_fn(|k| from.field(&k.to_string()))
    }
}

macro_rules! params {
    ($($A:ident $i:tt),*) => {
        impl<$($A: Param),*> Param for ($($A,)*) {
            fn make(from: &mut Parameters) -> Self { ($(from.field::<$A>(stringify!($i)),)*) }
        }
    };
}
params!(A 0, B 1);
params!(A 0, B 1, C 2);
params!(A 0, B 1, C 2, D 3);
params!(A 0, B 1, C 2, D 3, E 4);
params!(A 0, B 1, C 2, D 3, E 4, F 5);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
params!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// What compiled functions take and give back, and loops carry: `Arr`, `Exp`, `Idx`, tuples and `[_; N]` of them, and structs
/// with `#[derive(slyz::Arrays)]`. What a call gives for one is what a call takes for it.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::Arrays;
/// axis!(N);
/// #[derive(Clone, Copy, slyz::Arrays)]
/// struct Body { place: Arr<f32, N>, speed: Arr<f32, N> }
///
/// /// Turns of any step, over any state.
/// fn turns<S: Arrays>(step: fn(S) -> S) -> Result<Compiled<fn(S, Exp<u32>) -> S>, slyz::Error> {
///     compile(move |state: S, count: Exp<u32>| iterate(count, state, |_, state: S| step(state)))
/// }
/// let f = turns(|b: Body| Body { place: b.place + b.speed, speed: b.speed })?;
/// let start = BodyTensors { place: Tensor::zeros([2])?, speed: Tensor::from_vec([2], vec![1.0, -1.0])? };
/// let end = f.call(&f.call(&start, 3)?, 1)?;
/// assert_eq!(end.place.to_vec()?, [4.0, -4.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not made of arrays",
    label = "expected `Arr<T, S>`, `Exp<T>`, `Idx<A>`, or a tuple, `[_; N]` or derived struct of them",
    note = "a struct of arrays becomes one with `#[derive(slyz::Arrays)]`"
)]
pub trait Arrays: Param + Output<Host = Self::Tensors> + State + FunctionArg {
    /// What a call takes and gives for it.
    type Tensors: Feed<Self>;
}

impl<T: Elem, S: Shape> Arrays for Arr<T, S> {
    type Tensors = Tensor<T, S>;
}

impl<T: Scalar> Arrays for Exp<T> {
    type Tensors = Tensor<T, ()>;
}

impl<A: Axis> Arrays for Idx<A> {
    type Tensors = Tensor<At<A>, ()>;
}

impl<P: Arrays, const N: usize> Arrays for [P; N] {
    type Tensors = [P::Tensors; N];
}

macro_rules! arrays {
    ($($A:ident),*) => {
        impl<$($A: Arrays),*> Arrays for ($($A,)*) {
            type Tensors = ($($A::Tensors,)*);
        }
    };
}
arrays!(A, B);
arrays!(A, B, C);
arrays!(A, B, C, D);
arrays!(A, B, C, D, E);
arrays!(A, B, C, D, E, F);

/// What a call gives for a `P`, and takes: a `Tensor<T, S>` for an `Arr<T, S>`, a struct of tensors for a struct of arrays.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::HostOf;
/// axis!(N);
/// fn same(x: HostOf<(Arr<f32, N>, Exp<u32>)>) -> (Tensor<f32, N>, Tensor<u32, ()>) { x }
/// ```
pub type HostOf<P> = <P as Arrays>::Tensors;
