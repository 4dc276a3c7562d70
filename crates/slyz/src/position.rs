//! Positions: `Idx` is on its axis by construction, `Near` may be outside, `At` is a position stored in an array.
//!
//! Whoever holds an `Idx<A>` knows that `A` has a position, so reading needs no check. The operations that would make
//! one from nothing (`clamp` and `wrap` of a computed number) note that the axis must not be empty.

use crate::elem::{Elem, Exp, Fill, Int, Lift, Num, Seal, Traced, Value};
use crate::extent::{Axis, Extent, axis_number};
use crate::lines::Turn;
use crate::record::{self, Spot};
use crate::state::{LoopState, State};
use crate::trace::{Handle, Leaf, Loc, Part, Ty};
use bytemuck::{TransparentWrapper, allocation::TransparentWrapperAlloc};
use slyz_run::Buffer;
use slyz_sir::ops::Operator;
use slyz_sir::types::Scalar as Constant;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, Sub};
use std::panic::Location;

/// A position on axis `A`, made only by `A`: reading with it needs no check.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at(i) * i.to::<f32>()))?;
/// assert_eq!(f.call(&[5.0f32, 6.0])?.to_vec()?, [0.0, 6.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Idx<A> {
    handle: Handle,
    axis: PhantomData<fn() -> A>,
}

impl<A> Clone for Idx<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Idx<A> {}

impl<A> fmt::Debug for Idx<A> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl<A> Idx<A> {
    pub(crate) fn handle(self) -> Handle {
        self.handle
    }
}

impl<A: Axis> Idx<A> {
    /// The caller knows that it is on the axis.
    pub(crate) fn new(handle: Handle) -> Self {
        Idx { handle: handle.on_axis(axis_number::<A>()), axis: PhantomData }
    }
}

#[track_caller]
fn compare<A>(operator: Operator, a: Idx<A>, b: Idx<A>) -> Exp<bool> {
    let at: Loc = Location::caller();
    Exp::new(record::apply(at, operator, &[a.handle, b.handle]))
}

impl<A: Axis> Idx<A> {
    /// The position as a number of any type.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn ramp() -> Arr<f32, N> { tabulate(|i: Idx<N>| i.to::<f32>() * 0.1) }
    /// ```
    #[track_caller]
    pub fn to<T: Num>(self) -> Exp<T> {
        let at: Loc = Location::caller();
        Exp::new(record::cast(at, T::TY, self.handle))
    }

    /// The position as an `i64`, which holds every position.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn numbers() -> Arr<i64, N> { tabulate(|i: Idx<N>| i.i64()) }
    /// ```
    pub fn i64(self) -> Exp<i64> {
        Exp::new(self.handle)
    }

    /// The position as a `u32`; positions past 2^32 lose their high bits.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn numbers() -> Arr<u32, N> { tabulate(|i: Idx<N>| i.u32()) }
    /// ```
    #[track_caller]
    pub fn u32(self) -> Exp<u32> {
        self.to()
    }

    /// How many positions the axis has.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn mean(x: Arr<f32, N>) -> Exp<f32> { x.sum() / Idx::<N>::extent().cast::<f32>() }
    /// assert_eq!(compile(mean)?.call(&[1.0f32, 3.0])?.value()?, 2.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn extent() -> Exp<i64> {
        let at: Loc = Location::caller();
        Exp::new(record::extent(at, &Extent::of::<A>()))
    }

    /// Is it the same position?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn identity() -> Arr<f32, (N, N)> { tabulate(|(i, j): Pos<(N, N)>| i.eq(j).cast::<f32>()) }
    /// assert_eq!(compile(identity)?.size::<N>(2).call()?.to_vec()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn eq(self, other: Idx<A>) -> Exp<bool> {
        compare(Operator::Eq, self, other)
    }

    /// Is it another position?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn others() -> Arr<bool, (N, N)> { tabulate(|(i, j): Pos<(N, N)>| i.ne(j)) }
    /// ```
    #[track_caller]
    pub fn ne(self, other: Idx<A>) -> Exp<bool> {
        compare(Operator::Ne, self, other)
    }

    /// Is it before the other?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn above() -> Arr<bool, (N, N)> { tabulate(|(i, j): Pos<(N, N)>| i.lt(j)) }
    /// ```
    #[track_caller]
    pub fn lt(self, other: Idx<A>) -> Exp<bool> {
        compare(Operator::Lt, self, other)
    }

    /// Is it before the other, or the same?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn upper() -> Arr<bool, (N, N)> { tabulate(|(i, j): Pos<(N, N)>| i.le(j)) }
    /// ```
    #[track_caller]
    pub fn le(self, other: Idx<A>) -> Exp<bool> {
        compare(Operator::Le, self, other)
    }

    /// Is it after the other?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn below() -> Arr<bool, (N, N)> { tabulate(|(i, j): Pos<(N, N)>| i.gt(j)) }
    /// ```
    #[track_caller]
    pub fn gt(self, other: Idx<A>) -> Exp<bool> {
        compare(Operator::Gt, self, other)
    }

    /// Is it after the other, or the same?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn lower() -> Arr<bool, (N, N)> { tabulate(|(i, j): Pos<(N, N)>| i.ge(j)) }
    /// ```
    #[track_caller]
    pub fn ge(self, other: Idx<A>) -> Exp<bool> {
        compare(Operator::Ge, self, other)
    }

    /// The position counted from the other end.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn backwards(x: Arr<f32, N>) -> Arr<f32, N> { tabulate(|i: Idx<N>| x.at(i.reversed())) }
    /// ```
    #[track_caller]
    pub fn reversed(self) -> Idx<A> {
        let at: Loc = Location::caller();
        Idx::new(crate::lines::reversed(at, &Extent::of::<A>(), self.handle))
    }
}

/// Somewhere around axis `A`, perhaps outside. Say what outside means before reading: `clamp`, `wrap`, or
/// [`at_or`](crate::Arr::at_or).
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at((i + 1).wrap()) + x.at_or(i - 1, 0.0)))?;
/// assert_eq!(f.call(&[1.0f32, 2.0, 4.0])?.to_vec()?, [2.0, 5.0, 3.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Near<A> {
    handle: Handle,
    /// It was reached from a position of `A`, so `A` has one.
    reached: bool,
    /// That position and the distance, where it is a constant. An [`Offset`] of somebody's own may tell another one than the handle
    /// has; so what is believed of it must be right for any.
    steps: Option<(Handle, i64)>,
    axis: PhantomData<fn() -> A>,
}

impl<A> Clone for Near<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Near<A> {}

impl<A> fmt::Debug for Near<A> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.handle.fmt(f)
    }
}

/// A distance between positions: any traced or plain integer.
///
/// ```
/// use slyz::{Axis, Idx, Near, Offset};
/// fn after<A: Axis>(i: Idx<A>, by: impl Offset) -> Near<A> { i + by }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a distance between positions",
    label = "expected an integer, traced or plain"
)]
pub trait Offset {
    /// The distance as an `i64`.
    fn steps(self) -> Exp<i64>;

    /// The distance, where it is known while tracing.
    #[doc(hidden)]
    fn constant(&self) -> Option<i64> {
        None
    }
}

impl<T: Int> Offset for T {
    #[track_caller]
    fn steps(self) -> Exp<i64> {
        let at: Loc = Location::caller();
        let steps = self.scalar().as_int().min(i64::MAX as i128) as i64;
        Exp::new(record::constant(at, Constant::i64(steps)))
    }
    fn constant(&self) -> Option<i64> {
        i64::try_from(self.scalar().as_int()).ok()
    }
}

impl<T: Int> Offset for Exp<T> {
    #[track_caller]
    fn steps(self) -> Exp<i64> {
        let at: Loc = Location::caller();
        // A `u64` past the largest position must stay past it.
        let handle = match T::TY {
            Ty::U64 => {
                let most = record::constant(at, Constant::from_int(Ty::U64, i64::MAX as i128));
                record::apply(at, Operator::Min, &[self.handle(), most])
            }
            _ => self.handle(),
        };
        Exp::new(record::cast(at, Ty::I64, handle))
    }
}

impl<A: Axis> Near<A> {
    /// The place with that number.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn lookup(table: Arr<f32, N>, k: Exp<i32>) -> Exp<f32> { table.at_or(Near::new(k), 0.0) }
    /// assert_eq!(compile(lookup)?.call(&[5.0f32], -1)?.value()?, 0.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn new(number: impl Offset) -> Near<A> {
        Near { handle: number.steps().handle(), reached: false, steps: None, axis: PhantomData }
    }

    /// The place with that number on an axis that has a position: the one that is there.
    #[track_caller]
    pub(crate) fn beside(_there: Idx<A>, number: impl Offset) -> Near<A> {
        Near { reached: true, ..Near::new(number) }
    }

    /// The number of the place.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn next(i: Idx<N>) -> Exp<i64> { (i + 1).number() }
    /// ```
    pub fn number(self) -> Exp<i64> {
        Exp::new(self.handle)
    }

    /// The nearest position of the axis.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn next(x: Arr<f32, N>) -> Arr<f32, N> { tabulate(|i: Idx<N>| x.at((i + 1).clamp())) }
    /// assert_eq!(compile(next)?.call(&[1.0f32, 2.0])?.to_vec()?, [2.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp(self) -> Idx<A> {
        let at: Loc = Location::caller();
        self.require(at);
        Idx::new(record::clamp(at, &Extent::of::<A>(), self.handle))
    }

    /// The position when the axis is a circle.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn next(x: Arr<f32, N>) -> Arr<f32, N> { tabulate(|i: Idx<N>| x.at((i + 1).wrap())) }
    /// assert_eq!(compile(next)?.call(&[1.0f32, 2.0])?.to_vec()?, [2.0, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn wrap(self) -> Idx<A> {
        let at: Loc = Location::caller();
        self.require(at);
        let axis = Extent::of::<A>();
        Idx::new(match self.steps {
            Some((from, 0)) => from,
            Some((from, by)) => Turn::of(at, &axis, from, by).place(at),
            None => record::wrap(at, &axis, self.handle),
        })
    }

    /// Is it a position of the axis?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn has_next() -> Arr<bool, N> { tabulate(|i: Idx<N>| (i + 1).inside()) }
    /// assert_eq!(compile(has_next)?.size::<N>(2).call()?.to_vec()?, [true, false]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn inside(self) -> Exp<bool> {
        let at: Loc = Location::caller();
        Exp::new(record::inside(at, &Extent::of::<A>(), self.handle))
    }

    pub(crate) fn handle(self) -> Handle {
        self.handle
    }

    fn require(self, at: Loc) {
        if !self.reached {
            record::require_positions(at, &Extent::of::<A>());
        }
    }
}

impl<A: Axis> From<Idx<A>> for Near<A> {
    fn from(i: Idx<A>) -> Self {
        Near { handle: i.handle, reached: true, steps: Some((i.handle, 0)), axis: PhantomData }
    }
}

/// A place around an array of shape `S`, perhaps outside: `Near`, `Idx` or an integer, or a tuple of them for several axes.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::Around;
/// axis!(N, M);
/// fn lookup(x: Arr<f32, (N, M)>, p: impl Around<(N, M)>) -> Exp<f32> { x.at_or(p, 0.0) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a place around an array of shape `{S}`: write `i`, `i + 1` or a number, one for each axis",
    label = "expected an `Idx`, a `Near` or an integer for each axis of `{S}`"
)]
pub trait Around<S> {
    #[doc(hidden)]
    #[track_caller]
    fn spots(self, out: &mut Vec<Spot>);

    #[doc(hidden)]
    fn around_seal() -> Seal;
}

#[diagnostic::do_not_recommend]
impl<A: Axis, T: Int> Around<A> for T {
    #[track_caller]
    fn spots(self, out: &mut Vec<Spot>) {
        out.push(Spot::anywhere(self.steps().handle()))
    }
    fn around_seal() -> Seal {
        Seal::THIS
    }
}

#[diagnostic::do_not_recommend]
impl<A: Axis, T: Int> Around<A> for Exp<T> {
    #[track_caller]
    fn spots(self, out: &mut Vec<Spot>) {
        out.push(Spot::anywhere(self.steps().handle()))
    }
    fn around_seal() -> Seal {
        Seal::THIS
    }
}

#[diagnostic::do_not_recommend]
impl<A: Axis> Around<A> for Idx<A> {
    fn spots(self, out: &mut Vec<Spot>) {
        out.push(Spot::inside(self.handle))
    }
    fn around_seal() -> Seal {
        Seal::THIS
    }
}

#[diagnostic::do_not_recommend]
impl<A: Axis> Around<A> for Near<A> {
    fn spots(self, out: &mut Vec<Spot>) {
        out.push(Spot { number: self.handle, reached: self.reached, inside: false })
    }
    fn around_seal() -> Seal {
        Seal::THIS
    }
}

macro_rules! around {
    ($($P:ident $A:ident $i:tt),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($A: Axis, $P: Around<$A>),*> Around<($($A,)*)> for ($($P,)*) {
            #[track_caller]
            fn spots(self, out: &mut Vec<Spot>) { $(self.$i.spots(out);)* }
            fn around_seal() -> Seal { Seal::THIS }
        }
    };
}
around!(P A 0, Q B 1);
around!(P A 0, Q B 1, R C 2);
around!(P A 0, Q B 1, R C 2, S D 3);
around!(P A 0, Q B 1, R C 2, S D 3, T E 4);
around!(P A 0, Q B 1, R C 2, S D 3, T E 4, U F 5);

macro_rules! steps {
    ($($Tr:ident $m:ident $sum:ident),*) => {$(
        impl<A: Axis, I: Offset> $Tr<I> for Idx<A> {
            type Output = Near<A>;
            #[track_caller]
            fn $m(self, by: I) -> Near<A> { $Tr::$m(Near::from(self), by) }
        }
        impl<A: Axis, I: Offset> $Tr<I> for Near<A> {
            type Output = Near<A>;
            #[track_caller]
            fn $m(self, by: I) -> Near<A> {
                let at: Loc = Location::caller();
                let together = |(from, far): (Handle, i64)| Some((from, far.$sum(by.constant()?)?));
                let steps = self.steps.and_then(together);
                let handle = record::apply(at, Operator::$Tr, &[self.handle, by.steps().handle()]);
                Near { handle, steps, ..self }
            }
        }
    )*};
}
steps!(Add add checked_add, Sub sub checked_sub);

/// The element type of arrays of positions: `Arr<At<N>, M>` is a gather map that is in bounds by type.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, N>, map: Arr<At<N>, M>| map.map(|i| x.at(i)))?;
/// let y = f.call(&[1.0f32, 2.0], &[At::new(1), At::new(0), At::new(1)])?;
/// assert_eq!(y.to_vec()?, [2.0, 1.0, 2.0]);
/// assert!(f.call(&[1.0f32, 2.0], &[At::new(2)]).is_err()); // checked at the call
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(TransparentWrapper)]
#[repr(transparent)]
#[transparent(u64)]
pub struct At<A> {
    place: u64,
    axis: PhantomData<fn() -> A>,
}

impl<A> At<A> {
    /// The position with that number. Whether it is on the axis is checked when it is passed to a function.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// assert_eq!(At::<Fix<3>>::new(2).get(), 2);
    /// ```
    pub fn new(place: u64) -> At<A> {
        At { place, axis: PhantomData }
    }

    /// The number of the position.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let best = compile(|x: Arr<f32, N>| x.argmax())?.call(&[1.0f32, 9.0])?.value()?;
    /// assert_eq!(best.get(), 1);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn get(self) -> u64 {
        self.place
    }
}

impl<A> Clone for At<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for At<A> {}

impl<A> PartialEq for At<A> {
    fn eq(&self, other: &At<A>) -> bool {
        self.place == other.place
    }
}

impl<A> Eq for At<A> {}

impl<A> fmt::Debug for At<A> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "At({})", self.place)
    }
}

impl<A: Axis> Elem for At<A> {
    type Exp = Idx<A>;
    fn parts() -> Vec<Leaf> {
        vec![Leaf::positions::<A>()]
    }
    fn store(self, out: &mut Vec<Constant>) {
        out.push(Constant::from_bits(Ty::I64, self.place))
    }
    fn load(next: &mut dyn FnMut() -> Constant) -> Self {
        At::new(next().bits)
    }
    // Devices store the number, whose bits are those of the `u64` here. Whether it is inside is looked at as for all others.
    fn view(data: &[Self]) -> Option<&[u8]> {
        Some(bytemuck::cast_slice(At::peel_slice(data)))
    }
    fn slice(bytes: &[u8]) -> Option<&[Self]> {
        bytemuck::try_cast_slice(bytes).ok().map(At::wrap_slice)
    }
    fn buffer(data: Vec<Self>) -> Result<Result<Buffer, slyz_run::Error>, Vec<Self>> {
        Ok(Buffer::from_vec(At::peel_vec(data)))
    }
    fn collect(bytes: &[u8]) -> Option<Vec<Self>> {
        Some(At::wrap_vec(bytemuck::pod_collect_to_vec(bytes)))
    }
    fn filled(len: usize, fill: &mut Fill<'_>) -> Option<Result<Vec<Self>, slyz_run::Error>> {
        Some(u64::filled(len, fill)?.map(At::wrap_vec))
    }
}

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

impl<A: Axis> Value for Idx<A> {
    type Elem = At<A>;
    fn leaves(self, out: &mut Vec<Handle>) {
        out.push(self.handle)
    }
    #[track_caller]
    fn build(next: &mut dyn FnMut() -> Handle) -> Self {
        Idx::new(next().expect_axis(axis_number::<A>()))
    }
}

impl<A: Axis> Traced for Idx<A> {
    type Form = Idx<A>;
}

#[diagnostic::do_not_recommend]
impl<A: Axis> Lift<At<A>> for Idx<A> {
    fn lift(self) -> Idx<A> {
        self
    }
}
