//! Shapes: an axis, `()`, or a tuple of axes, outermost first; and how shapes relate to each other.
//!
//! Each relation is one trait with one table of implementations. The tables are the only place that knows ranks.

use crate::axis::{Fix, Flat};
use crate::elem::{Seal, Value, value_of};
use crate::extent::{Axis, Extent};
use crate::position::Idx;
use crate::record;
use crate::trace::Loc;
use std::panic::Location;

/// An axis, `()`, or a tuple of up to 6 axes.
///
/// ```
/// use slyz::{Fix, Shape};
/// assert_eq!(<(Fix<2>, Fix<3>)>::names(), ["2", "3"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected an axis, `()`, or a tuple of axes",
    note = "a name becomes a run-time axis with `axis!(Name)`, an enum with `#[derive(Axis)]`; a static one is `Fix<8>`"
)]
pub trait Shape: 'static {
    /// A position: `Idx` per axis.
    type Pos: Position<Shape = Self>;
    /// Offsets around a position: `i32` per axis.
    type Off: Copy;

    /// The extents.
    fn axes() -> Vec<Extent>;

    /// The names in messages.
    fn names() -> Vec<String>;

    /// The offsets as a list.
    fn offsets(off: Self::Off) -> Vec<i64>;

    #[doc(hidden)]
    fn seal() -> Seal;
}

/// A position of a shape. Its type tells the shape, so that annotating a closure parameter is always enough.
///
/// ```
/// use slyz::{Arr, Position};
/// fn corner<P: Position>(x: Arr<f32, P::Shape>, p: P) -> slyz::Exp<f32> { x.at(p) }
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` is not a position", label = "expected `Idx<A>` or a tuple of them")]
pub trait Position: Value {
    /// The shape it is a position of.
    type Shape: Shape<Pos = Self>;
}

/// The positions of a shape: `|(i, j): Pos<(N, M)>| ..`.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// fn ones() -> Arr<f32, (N, M)> { tabulate(|_: Pos<(N, M)>| 1.0f32) }
/// ```
pub type Pos<S> = <S as Shape>::Pos;

/// The essay's vectors: one axis of constant size.
///
/// ```
/// use slyz::prelude::*;
/// fn sum(x: Arr<f32, Vector<8>>) -> Exp<f32> { x.sum() }
/// ```
pub type Vector<const N: usize> = Fix<N>;
/// Rows and columns of constant number.
///
/// ```
/// use slyz::prelude::*;
/// fn turned(x: Arr<f32, Matrix<4, 3>>) -> Arr<f32, Matrix<3, 4>> { x.transpose() }
/// ```
pub type Matrix<const M: usize, const N: usize> = (Fix<M>, Fix<N>);
/// Layers, rows and columns of constant number.
///
/// ```
/// use slyz::prelude::*;
/// fn layer(x: Arr<f32, Cube<2, 3, 4>>, i: Idx<Fix<2>>) -> Arr<f32, Matrix<3, 4>> { x.layer(i) }
/// ```
pub type Cube<const D: usize, const M: usize, const N: usize> = (Fix<D>, Fix<M>, Fix<N>);

#[diagnostic::do_not_recommend]
impl<A: Axis> Shape for A {
    type Pos = Idx<A>;
    type Off = i32;
    fn axes() -> Vec<Extent> {
        vec![Extent::of::<A>()]
    }
    fn names() -> Vec<String> {
        vec![A::name()]
    }
    fn offsets(off: i32) -> Vec<i64> {
        vec![off as i64]
    }
    fn seal() -> Seal {
        Seal::THIS
    }
}

impl<A: Axis> Position for Idx<A> {
    type Shape = A;
}

impl Shape for () {
    type Pos = ();
    type Off = ();
    fn axes() -> Vec<Extent> {
        vec![]
    }
    fn names() -> Vec<String> {
        vec![]
    }
    fn offsets(_: ()) -> Vec<i64> {
        vec![]
    }
    fn seal() -> Seal {
        Seal::THIS
    }
}

impl Position for () {
    type Shape = ();
}

macro_rules! offset {
    ($A:ident) => {
        i32
    };
}
macro_rules! shapes {
    ($($A:ident $i:tt),*) => {
        impl<$($A: Axis),*> Shape for ($($A,)*) {
            type Pos = ($(Idx<$A>,)*);
            type Off = ($(offset!($A),)*);
            fn axes() -> Vec<Extent> { vec![$(Extent::of::<$A>()),*] }
            fn names() -> Vec<String> { vec![$($A::name()),*] }
            fn offsets(off: Self::Off) -> Vec<i64> { vec![$(off.$i as i64),*] }
            fn seal() -> Seal { Seal::THIS }
        }
        impl<$($A: Axis),*> Position for ($(Idx<$A>,)*) {
            type Shape = ($($A,)*);
        }
    };
}
shapes!(A 0, B 1);
shapes!(A 0, B 1, C 2);
shapes!(A 0, B 1, C 2, D 3);
shapes!(A 0, B 1, C 2, D 3, E 4);
shapes!(A 0, B 1, C 2, D 3, E 4, F 5);

/// Gibbons' alignment: the shorter shape is the inner end of the longer one; `Out` is the longer.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>, bias: Arr<f32, M>| x + bias)?;
/// assert_eq!(f.call(&[[1.0f32, 2.0]], &[10.0f32, 20.0])?.to_vec()?, [11.0, 22.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "shapes `{Self}` and `{R}` do not align",
    label = "`{R}` is not the inner end of `{Self}`, nor the other way round",
    note = "shapes align from the innermost (last) axis: `(N, M)` with `M`, or with a scalar",
    note = "to repeat along an inner axis write `tabulate(|(i, j)| a.at((i, j)) + b.at(i))`"
)]
pub trait Align<R: Shape>: Shape {
    /// The longer of the two.
    type Out: Shape;

    /// The part of a position that `Self` sees.
    fn left(p: Pos<Self::Out>) -> Pos<Self>;

    /// The part of a position that `R` sees.
    fn right(p: Pos<Self::Out>) -> Pos<R>;

    #[doc(hidden)]
    fn align_seal() -> Seal;
}

#[diagnostic::do_not_recommend]
impl<S: Shape> Align<S> for S {
    type Out = S;
    fn left(p: Pos<S>) -> Pos<S> {
        p
    }
    fn right(p: Pos<S>) -> Pos<S> {
        p
    }
    fn align_seal() -> Seal {
        Seal::THIS
    }
}

/// One line per pair: the axes, the longer shape, the shorter one, and its part of a position.
macro_rules! align {
    ($($($X:ident)* [$L:ty] [$R:ty] |$p:ident| $e:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($X: Axis),*> Align<$R> for $L {
            type Out = $L;
            fn left(p: Pos<$L>) -> Pos<$L> { p }
            fn right($p: Pos<$L>) -> Pos<$R> { $e }
            fn align_seal() -> Seal { Seal::THIS }
        }
        #[diagnostic::do_not_recommend]
        impl<$($X: Axis),*> Align<$L> for $R {
            type Out = $L;
            fn left($p: Pos<$L>) -> Pos<$R> { $e }
            fn right(p: Pos<$L>) -> Pos<$L> { p }
            fn align_seal() -> Seal { Seal::THIS }
        }
    )*};
}
align! {
    A [A] [()] |_p| ();
    A B [(A, B)] [()] |_p| ();
    A B [(A, B)] [B] |p| p.1;
    A B C [(A, B, C)] [()] |_p| ();
    A B C [(A, B, C)] [C] |p| p.2;
    A B C [(A, B, C)] [(B, C)] |p| (p.1, p.2);
    A B C D [(A, B, C, D)] [()] |_p| ();
    A B C D [(A, B, C, D)] [D] |p| p.3;
    A B C D [(A, B, C, D)] [(C, D)] |p| (p.2, p.3);
    A B C D [(A, B, C, D)] [(B, C, D)] |p| (p.1, p.2, p.3);
    A B C D E [(A, B, C, D, E)] [()] |_p| ();
    A B C D E [(A, B, C, D, E)] [E] |p| p.4;
    A B C D E [(A, B, C, D, E)] [(D, E)] |p| (p.3, p.4);
    A B C D E [(A, B, C, D, E)] [(C, D, E)] |p| (p.2, p.3, p.4);
    A B C D E [(A, B, C, D, E)] [(B, C, D, E)] |p| (p.1, p.2, p.3, p.4);
    A B C D E F [(A, B, C, D, E, F)] [()] |_p| ();
    A B C D E F [(A, B, C, D, E, F)] [F] |p| p.5;
    A B C D E F [(A, B, C, D, E, F)] [(E, F)] |p| (p.4, p.5);
    A B C D E F [(A, B, C, D, E, F)] [(D, E, F)] |p| (p.3, p.4, p.5);
    A B C D E F [(A, B, C, D, E, F)] [(C, D, E, F)] |p| (p.2, p.3, p.4, p.5);
    A B C D E F [(A, B, C, D, E, F)] [(B, C, D, E, F)] |p| (p.1, p.2, p.3, p.4, p.5);
}

/// A shape with one axis taken out. `P` tells which: [`No<1>`](No) by its number, or [`Innermost`].
///
/// ```
/// use slyz::prelude::*;
/// use slyz::{Along, HasAxis};
/// fn rms<S: HasAxis<P>, P>(x: Along<f32, S, P>) -> Arr<f32, S::Rest> { x.fold(monoid(0f32, |a, b| a.hypot(b))) }
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| rms(x.over(M)))?;
/// assert_eq!(f.call(&[[3.0f32, 4.0]])?.to_vec()?, [5.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "shape `{Self}` has no axis `{P}`")]
pub trait HasAxis<P>: Shape {
    /// The axis.
    type Axis: Axis;
    /// The other axes.
    type Rest: Shape;

    /// The number of the axis; the outermost is 0.
    fn number() -> usize;

    #[doc(hidden)]
    fn axis_seal() -> Seal;
}

/// The axis with that number; the outermost is 0. A place for [`HasAxis`].
///
/// ```
/// use slyz::prelude::*;
/// axis!(M);
/// use slyz::{AxisNamed, No};
/// fn rows<S: AxisNamed<M, No<1>>>(x: Arr<f32, S>) -> Arr<f32, S::Rest> { x.over(M).sum() }
/// ```
pub struct No<const I: usize>;

/// The last axis. A place for [`HasAxis`].
///
/// ```
/// use slyz::{Along, Innermost};
/// fn rows<A: slyz::Axis>(x: Along<f32, (A, A), Innermost>) -> slyz::Arr<f32, A> { x.sum() }
/// ```
pub struct Innermost;

/// Shapes with an axis number `I`; the outermost is 0.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| x.axis::<0>().sum())?;
/// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [4.0, 6.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` has no axis number {I}",
    label = "axes are counted from 0, the outermost"
)]
pub trait AxisNo<const I: usize>: HasAxis<No<I>> {}

#[diagnostic::do_not_recommend]
impl<S: HasAxis<No<I>>, const I: usize> AxisNo<I> for S {}

/// Shapes with an axis called `X`. `AxisNumber` is found by inference, so the name must occur once; of a shape such as `(N, N)` the
/// axes are told by number, as in `x.axis::<0>()`.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).sum())?;
/// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [3.0, 7.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "shape `{Self}` has no axis `{X}`")]
pub trait AxisNamed<X: Axis, AxisNumber>: HasAxis<AxisNumber, Axis = X> {}

/// Shapes with an innermost axis: all but `()`.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// fn sums<S: Inner>(x: Arr<f32, S>) -> Arr<f32, S::Rest> { x.innermost().sum() }
/// assert_eq!(compile(sums::<(N, M)>)?.call(&[[1.0f32, 2.0]])?.to_vec()?, [3.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "shape `{Self}` has no innermost axis", label = "needs rank 1 or more")]
pub trait Inner: HasAxis<Innermost> {}

#[diagnostic::do_not_recommend]
impl<S: HasAxis<Innermost>> Inner for S {}

/// A shape with the axis `X` put in, at the place `P` of the result: [`HasAxis`] backwards.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M, K);
/// use slyz::{Insert, No};
/// fn same(x: Arr<f32, <(N, K) as Insert<M, No<1>>>::Out>) -> Arr<f32, (N, M, K)> { x }
/// ```
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` cannot get an axis at `{P}`",
    label = "axes are counted from 0, the outermost; there are at most 6"
)]
pub trait Insert<X: Axis, P>: Shape {
    /// The shape with the axis.
    type Out: Shape;

    #[doc(hidden)]
    fn insert_seal() -> Seal;
}

/// A shape, the place of one of its axes, and the shape without.
macro_rules! place {
    ($($X:ident)* [$L:ty] [$P:ty] $i:literal $A:ident [$R:ty]) => {
        #[diagnostic::do_not_recommend]
        impl<$($X: Axis),*> HasAxis<$P> for $L {
            type Axis = $A;
            type Rest = $R;
            fn number() -> usize { $i }
            fn axis_seal() -> Seal { Seal::THIS }
        }
        #[diagnostic::do_not_recommend]
        impl<$($X: Axis),*> Insert<$A, $P> for $R {
            type Out = $L;
            fn insert_seal() -> Seal { Seal::THIS }
        }
    };
}
/// One line per axis of each rank: the shape, the number of the axis, its name, and the rest.
macro_rules! take {
    ($($($X:ident)* [$L:ty] $i:literal $A:ident [$R:ty];)*) => {$(
        place!($($X)* [$L] [No<$i>] $i $A [$R]);
        #[diagnostic::do_not_recommend]
        impl<$($X: Axis),*> AxisNamed<$A, No<$i>> for $L {}
    )*};
}
/// The last axis of each rank, likewise.
macro_rules! inner {
    ($($($X:ident)* [$L:ty] $i:literal $A:ident [$R:ty];)*) => {$(
        place!($($X)* [$L] [Innermost] $i $A [$R]);
    )*};
}
take! {
    A [A] 0 A [()];
    A B [(A, B)] 0 A [B];
    A B [(A, B)] 1 B [A];
    A B C [(A, B, C)] 0 A [(B, C)];
    A B C [(A, B, C)] 1 B [(A, C)];
    A B C [(A, B, C)] 2 C [(A, B)];
    A B C D [(A, B, C, D)] 0 A [(B, C, D)];
    A B C D [(A, B, C, D)] 1 B [(A, C, D)];
    A B C D [(A, B, C, D)] 2 C [(A, B, D)];
    A B C D [(A, B, C, D)] 3 D [(A, B, C)];
    A B C D E [(A, B, C, D, E)] 0 A [(B, C, D, E)];
    A B C D E [(A, B, C, D, E)] 1 B [(A, C, D, E)];
    A B C D E [(A, B, C, D, E)] 2 C [(A, B, D, E)];
    A B C D E [(A, B, C, D, E)] 3 D [(A, B, C, E)];
    A B C D E [(A, B, C, D, E)] 4 E [(A, B, C, D)];
    A B C D E F [(A, B, C, D, E, F)] 0 A [(B, C, D, E, F)];
    A B C D E F [(A, B, C, D, E, F)] 1 B [(A, C, D, E, F)];
    A B C D E F [(A, B, C, D, E, F)] 2 C [(A, B, D, E, F)];
    A B C D E F [(A, B, C, D, E, F)] 3 D [(A, B, C, E, F)];
    A B C D E F [(A, B, C, D, E, F)] 4 E [(A, B, C, D, F)];
    A B C D E F [(A, B, C, D, E, F)] 5 F [(A, B, C, D, E)];
}
inner! {
    A [A] 0 A [()];
    A B [(A, B)] 1 B [A];
    A B C [(A, B, C)] 2 C [(A, B)];
    A B C D [(A, B, C, D)] 3 D [(A, B, C)];
    A B C D E [(A, B, C, D, E)] 4 E [(A, B, C, D)];
    A B C D E F [(A, B, C, D, E, F)] 5 F [(A, B, C, D, E)];
}

/// Shapes of one axis, which are those axes.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::OneAxis;
/// fn best<A: OneAxis>(x: Arr<f32, A>) -> Exp<f32> { x.at(x.argmax()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "shape `{Self}` is not one axis: say which, as in `x.axis::<0>()`, `x.over(N)` or `x.innermost()`, or make it one with `flatten()`",
    label = "this is for arrays of one axis",
    note = "`x.axis::<0>().scan(Sum)` goes along the outermost axis; so do `reverse`, `slice`, `window`, `roll` and `pad`"
)]
pub trait OneAxis: Axis {}

#[diagnostic::do_not_recommend]
impl<A: Axis> OneAxis for A {}

/// `R` put in front of a shape: the shape of a stack of arrays.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| stack(|i: Idx<N>| x.row(i) / x.row(i).sum()))?;
/// assert_eq!(f.call(&[[1.0f32, 3.0]])?.to_vec()?, [0.25, 0.75]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(message = "arrays of shape `{Self}` cannot be stacked", label = "needs rank 5 or less")]
pub trait Stack<R: Axis>: Shape {
    /// The shape with `R` in front.
    type Out: Shape;

    #[doc(hidden)]
    fn stack_seal() -> Seal;
}

macro_rules! stacks {
    ($($($A:ident)* [$S:ty] [$Out:ty];)*) => {$(
        impl<R: Axis, $($A: Axis),*> Stack<R> for $S {
            type Out = $Out;
            fn stack_seal() -> Seal { Seal::THIS }
        }
    )*};
}
stacks! {
    [()] [R];
    A [A] [(R, A)];
    A B [(A, B)] [(R, A, B)];
    A B C [(A, B, C)] [(R, A, B, C)];
    A B C D [(A, B, C, D)] [(R, A, B, C, D)];
    A B C D E [(A, B, C, D, E)] [(R, A, B, C, D, E)];
}

/// Shapes that can be seen as one axis, in row-major order.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, (N, M)>| x.flatten())?;
/// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.dims(), [4]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "arrays of shape `{Self}` cannot be flattened",
    label = "needs rank 2 or more"
)]
pub trait Flatten: Shape {
    /// All axes as one.
    type Flat: Axis;

    #[doc(hidden)]
    fn flatten_seal() -> Seal;

    /// The position of the array.
    #[track_caller]
    fn unflatten(p: Idx<Self::Flat>) -> Pos<Self> {
        let at: Loc = Location::caller();
        value_of(&record::unravel(at, &Self::axes(), p.handle()))
    }
}

macro_rules! flatten {
    ($($($A:ident)* [$Flat:ty];)*) => {$(
        impl<$($A: Axis),*> Flatten for ($($A,)*) {
            type Flat = $Flat;
            fn flatten_seal() -> Seal { Seal::THIS }
        }
    )*};
}
flatten! {
    A B [Flat<A, B>];
    A B C [Flat<A, Flat<B, C>>];
    A B C D [Flat<A, Flat<B, Flat<C, D>>>];
    A B C D E [Flat<A, Flat<B, Flat<C, Flat<D, E>>>>];
    A B C D E F [Flat<A, Flat<B, Flat<C, Flat<D, Flat<E, F>>>>>];
}
