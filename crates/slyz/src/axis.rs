//! Axes: the sets of positions that arrays are indexed by.
//!
//! A named axis gets its extent at the call; [`Fix`] and enums have theirs from the type; the others are made from
//! axes. What can be done with a position of each is here too.

use crate::elem::{Elem, Lift, Value, handles, tys_of, value_of};
use crate::extent::{Axis, Extent};
use crate::lines;
use crate::position::Idx;
use crate::record;
use crate::trace::{self, Handle, Loc};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};
use std::marker::PhantomData;
use std::panic::Location;

/// Names axes whose extents are known at the call. Different names are different types, and do not mix.
///
/// ```
/// use slyz::prelude::*;
/// axis!(Rows, Cols);
/// let f = compile(|x: Arr<f32, (Rows, Cols)>| x.transpose())?;
/// assert_eq!(f.call(&[[1.0f32, 2.0, 3.0]])?.dims(), [3, 1]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[macro_export]
macro_rules! axis {
    ($($(#[$attribute:meta])* $Name:ident),* $(,)?) => {$(
        $(#[$attribute])*
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Name;
        impl $crate::Axis for $Name {
            fn size() -> $crate::Extent { $crate::Extent::named::<Self>(::core::stringify!($Name)) }
            fn name() -> ::std::string::String { ::core::stringify!($Name).into() }
        }
    )*};
}

/// An axis of `L` positions.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|v: Arr<f32, Fix<3>>| { let [x, y, z] = v.unpack(); x + y * z })?;
/// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.value()?, 7.0);
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fix<const L: usize>;

impl<const L: usize> Axis for Fix<L> {
    fn size() -> Extent {
        Extent::fixed(L as u64)
    }
    fn name() -> String {
        L.to_string()
    }
}

/// Axes made from axes.
macro_rules! combined {
    ($($(#[$doc:meta])* $Name:ident<$($A:ident),*> = $size:expr;)*) => {$(
        $(#[$doc])*
        pub struct $Name<$($A),*>(PhantomData<($($A,)*)>);
        impl<$($A: Axis),*> Axis for $Name<$($A),*> {
            fn size() -> Extent { $size }
            fn name() -> String { format!(concat!(stringify!($Name), "<{}>"), [$($A::name()),*].join(", ")) }
        }
    )*};
}
combined! {
    /// As long as the shorter of two axes: what zipping arrays of unequal length gives.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| zip_min(x, y).map(|(a, b)| a * b))?;
    /// assert_eq!(f.call(&[3.0f32], &[2.0f32, 9.0])?.to_vec()?, [6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Min<A, B> = Extent::of::<A>().min(Extent::of::<B>());
    /// One axis after another: what concatenation gives.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| concat(x, y))?;
    /// assert_eq!(f.call(&[1.0f32], &[2.0f32, 3.0])?.to_vec()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Either<A, B> = Extent::of::<A>() + Extent::of::<B>();
    /// The cells of a triangle with `A` rows, packed row by row: a symmetric matrix in half the space.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, (N, N)>| tabulate(|p: Idx<Tri<N>>| x.at((p.row(), p.column()))))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [1.0, 3.0, 4.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Tri<A> = Extent::of::<A>().tri();
    /// Two axes as one, the first the outer: what flattening gives.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.flatten().reverse())?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0]])?.to_vec()?, [2.0, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    Flat<A, B> = Extent::of::<A>() * Extent::of::<B>();
}

/// One position of `A` for each `STEP` that it has, rounded up: what [`step_by`](crate::Along::step_by) gives.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// fn even(x: Arr<f32, N>) -> Arr<f32, Stride<N, 2>> { x.step_by::<2>() }
/// assert_eq!(compile(even)?.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [1.0, 3.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Stride<A, const STEP: usize>(PhantomData<A>);

impl<A: Axis, const STEP: usize> Axis for Stride<A, STEP> {
    fn size() -> Extent {
        const { assert!(STEP > 0, "a step of 0 never ends") };
        Extent::of::<A>().ceil_div(STEP as u64)
    }
    fn name() -> String {
        format!("Stride<{}, {STEP}>", A::name())
    }
}

/// An axis between two others: what [`pad`](crate::Along::pad) gives.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// fn framed(x: Arr<f32, N>) -> Arr<f32, Padded<Fix<1>, N, Fix<1>>> { x.pad::<Fix<1>, Fix<1>>(0.0) }
/// assert_eq!(compile(framed)?.call(&[7.0f32])?.to_vec()?, [0.0, 7.0, 0.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub type Padded<Before, A, After> = Either<Before, Either<A, After>>;

impl<const L: usize> Fix<L> {
    /// All positions.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn corners(x: Arr<f32, Fix<2>>) -> [Exp<f32>; 2] { Fix::<2>::positions().map(|p| x.at(p)) }
    /// ```
    #[track_caller]
    pub fn positions() -> [Idx<Fix<L>>; L] {
        let at: Loc = Location::caller();
        std::array::from_fn(|i| Idx::new(record::constant(at, Scalar::i64(i as i64))))
    }
}

/// A constant position on a fixed axis, checked when the program is built.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|v: Arr<f32, Fix<3>>| v.at(fix::<2, 3>()))?;
/// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.value()?, 3.0);
/// # Ok::<(), slyz::Error>(())
/// ```
///
/// ```compile_fail
/// use slyz::prelude::*;
/// fn past_the_end(v: Arr<f32, Fix<3>>) -> Exp<f32> { v.at(fix::<3, 3>()) }
/// let _ = slyz::compile(past_the_end);
/// ```
#[track_caller]
pub fn fix<const I: usize, const L: usize>() -> Idx<Fix<L>> {
    const { assert!(I < L, "position outside the axis") };
    let at: Loc = Location::caller();
    Idx::new(record::constant(at, Scalar::i64(I as i64)))
}

impl<A: Axis, B: Axis> Idx<Min<A, B>> {
    /// The position on the first axis.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn first(x: Arr<f32, N>) -> Arr<f32, Min<N, M>> { tabulate(|p: Idx<Min<N, M>>| x.at(p.fst())) }
    /// ```
    pub fn fst(self) -> Idx<A> {
        Idx::new(self.handle())
    }

    /// The position on the second axis.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn second(y: Arr<f32, M>) -> Arr<f32, Min<N, M>> { tabulate(|p: Idx<Min<N, M>>| y.at(p.snd())) }
    /// ```
    pub fn snd(self) -> Idx<B> {
        Idx::new(self.handle())
    }
}

impl<A: Axis, B: Axis> Idx<Either<A, B>> {
    /// A position of the first part.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn first(x: Arr<f32, Either<N, M>>) -> Arr<f32, N> { tabulate(|i: Idx<N>| x.at(Idx::left(i))) }
    /// ```
    pub fn left(a: Idx<A>) -> Self {
        Idx::new(a.handle())
    }

    /// A position of the second part.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, Either<Fix<1>, N>>| tabulate(|i: Idx<N>| x.at(Idx::right(i))))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [2.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn right(b: Idx<B>) -> Self {
        let at: Loc = Location::caller();
        record::require_countable(&Extent::of::<Either<A, B>>());
        Idx::new(record::apply(at, Operator::Add, &[b.handle(), record::extent(at, &Extent::of::<A>())]))
    }

    /// Case analysis: one closure per part, of which one runs.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| {
    ///     tabulate(|p: Idx<Either<Fix<1>, N>>| p.either(|_| 0.0, |i| x.at(i)))
    /// })?;
    /// assert_eq!(f.call(&[7.0f32])?.to_vec()?, [0.0, 7.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn either<T: Elem, L: Lift<T>, R: Lift<T>>(
        self,
        left: impl Fn(Idx<A>) -> L,
        right: impl Fn(Idx<B>) -> R,
    ) -> T::Exp {
        let at: Loc = Location::caller();
        value_of(&lines::either(
            at,
            self.handle(),
            &Extent::of::<A>(),
            tys_of::<T>().len(),
            &mut |i| handles(left(Idx::new(i)).lift()),
            &mut |i| handles(right(Idx::new(i)).lift()),
        ))
    }
}

impl<A: Axis> Idx<Tri<A>> {
    /// The cell of a row and a column. Total: `(i, j)` and `(j, i)` are the same cell, as in a symmetric matrix.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn whole(t: Arr<f32, Tri<N>>) -> Arr<f32, (N, N)> { tabulate(|(i, j)| t.at(Idx::tri(i, j))) }
    /// assert_eq!(compile(whole)?.call(&[1.0f32, 2.0, 3.0])?.to_vec()?, [1.0, 2.0, 2.0, 3.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn tri(i: Idx<A>, j: Idx<A>) -> Self {
        let at: Loc = Location::caller();
        record::require_countable(&Extent::of::<Tri<A>>());
        let pair = [i.handle(), j.handle()];
        let row = record::apply(at, Operator::Max, &pair);
        let column = record::apply(at, Operator::Min, &pair);
        Idx::new(record::apply(at, Operator::Add, &[triangle(at, row), column]))
    }

    /// The row of the cell, which is not above its column.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn rows() -> Arr<u32, Tri<Fix<2>>> { tabulate(|p: Idx<Tri<Fix<2>>>| p.row().u32()) }
    /// assert_eq!(compile(rows)?.call()?.to_vec()?, [0, 1, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn row(self) -> Idx<A> {
        let at: Loc = Location::caller();
        Idx::new(triangle_row(at, self.handle()))
    }

    /// The column of the cell.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn columns() -> Arr<u32, Tri<Fix<2>>> { tabulate(|p: Idx<Tri<Fix<2>>>| p.column().u32()) }
    /// assert_eq!(compile(columns)?.call()?.to_vec()?, [0, 0, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn column(self) -> Idx<A> {
        let at: Loc = Location::caller();
        let before = triangle(at, triangle_row(at, self.handle()));
        Idx::new(record::apply(at, Operator::Sub, &[self.handle(), before]))
    }
}

/// `n (n + 1) / 2`: the cells above row `n`.
fn triangle(at: Loc, row: Handle) -> Handle {
    let next = record::shift(at, row, 1);
    let square = record::apply(at, Operator::Mul, &[row, next]);
    record::apply(at, Operator::Shr, &[square, record::constant(at, Scalar::i64(1))])
}

/// The root is off by at most one row however large the cell number, so one step up and one step down repair it.
fn triangle_row(at: Loc, cell: Handle) -> Handle {
    let float = |x: f64| record::constant(at, Scalar::from_f64(Ty::F64, x));
    let number = record::cast(at, Ty::F64, cell);
    let inner = record::apply(at, Operator::Fma, &[number, float(8.0), float(1.0)]);
    let root = record::apply(at, Operator::Sqrt, &[inner]);
    let guess = record::apply(at, Operator::Mul, &[record::apply(at, Operator::Sub, &[root, float(1.0)]), float(0.5)]);
    let guess = record::cast(at, Ty::I64, guess);
    let low = record::apply(at, Operator::Gt, &[triangle(at, guess), cell]);
    let down = record::apply(at, Operator::Select, &[low, record::shift(at, guess, -1), guess]);
    let up = record::shift(at, down, 1);
    let high = record::apply(at, Operator::Le, &[triangle(at, up), cell]);
    record::apply(at, Operator::Select, &[high, up, down])
}

impl<A: Axis, B: Axis> Idx<Flat<A, B>> {
    /// The position made of an outer and an inner one.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn square(x: Arr<f32, Flat<N, M>>) -> Arr<f32, (N, M)> { tabulate(|(i, j)| x.at(Idx::flat(i, j))) }
    /// ```
    #[track_caller]
    pub fn flat(a: Idx<A>, b: Idx<B>) -> Self {
        let at: Loc = Location::caller();
        record::require_countable(&Extent::of::<Flat<A, B>>());
        Idx::new(record::ravel(at, &[Extent::of::<A>(), Extent::of::<B>()], &[a.handle(), b.handle()]))
    }

    /// The outer position.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn along(x: Arr<f32, N>) -> Arr<f32, Flat<N, M>> { tabulate(|p: Idx<Flat<N, M>>| x.at(p.outer())) }
    /// ```
    #[track_caller]
    pub fn outer(self) -> Idx<A> {
        self.both().0
    }

    /// The inner position.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn again(x: Arr<f32, M>) -> Arr<f32, Flat<N, M>> { tabulate(|p: Idx<Flat<N, M>>| x.at(p.inner())) }
    /// ```
    #[track_caller]
    pub fn inner(self) -> Idx<B> {
        self.both().1
    }

    /// Both positions.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn flat(x: Arr<f32, (N, M)>) -> Arr<f32, Flat<N, M>> { tabulate(|p: Idx<Flat<N, M>>| x.at(p.both())) }
    /// ```
    #[track_caller]
    pub fn both(self) -> (Idx<A>, Idx<B>) {
        let at: Loc = Location::caller();
        value_of(&record::unravel(at, &[Extent::of::<A>(), Extent::of::<B>()], self.handle()))
    }
}

/// An axis whose positions have names on the host: the variants of an enum with `#[derive(Axis)]`, or the `Log` of a
/// [`Dimension`](crate::naperian::Dimension).
///
/// ```
/// use slyz::prelude::*;
/// #[derive(Clone, Copy, slyz::Axis)]
/// enum Channel { R, G, B }
/// let f = compile(|x: Arr<f32, Channel>| x.map_at(|c, v| v * c.cases(|c| match c {
///     Channel::R => 0.5f32,
///     Channel::G | Channel::B => 2.0,
/// })))?;
/// assert_eq!(f.call(&[1.0f32, 1.0, 1.0])?.to_vec()?, [0.5, 2.0, 2.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub trait EnumAxis: Axis {
    /// A position on the host.
    type Case;

    /// All of them, in order.
    fn all() -> Vec<Self::Case>;

    /// Which one it is, counted from 0.
    fn number(case: &Self::Case) -> usize;
}

impl<A: EnumAxis> Idx<A> {
    /// The position of that name.
    ///
    /// ```
    /// use slyz::naperian::Naperian;
    /// use slyz::prelude::*;
    /// #[derive(Clone, Copy, Naperian)]
    /// struct Point<T> { x: T, y: T }
    /// let f = compile(|p: Arr<f32, PointFamily>| p.at(Idx::of(PointLog::Y)))?;
    /// assert_eq!(f.call(&[3.0f32, 4.0])?.value()?, 4.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn of(case: A::Case) -> Self {
        let at: Loc = Location::caller();
        let number = A::number(&case) as u64;
        // Axes can be written by anyone, and reads are not checked.
        if Extent::of::<A>().size().constant().is_none_or(|extent| number >= extent) {
            trace::error(
                at,
                &format!("a position outside of axis {}", A::name()),
                "its number must be less than the size of the axis",
            );
            return Idx::new(Handle::POISON);
        }
        Idx::new(record::constant(at, Scalar::i64(number as i64)))
    }

    /// Case analysis with the host's own exhaustive `match`. The closure is traced once per position; one of them runs.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// #[derive(Clone, Copy, slyz::Axis)]
    /// enum Side { Left, Right }
    /// fn sign(side: Idx<Side>) -> Exp<f32> {
    ///     side.cases(|side| match side { Side::Left => -1.0f32, Side::Right => 1.0 })
    /// }
    /// ```
    #[track_caller]
    pub fn cases<T: Elem<Exp = V>, V: Value<Elem = T>, L: Lift<T>>(self, f: impl Fn(A::Case) -> L) -> V {
        let at: Loc = Location::caller();
        let all = A::all();
        let number = all.len();
        let mut rest = all.into_iter();
        let count = tys_of::<T>().len();
        // Each is asked for once, in order.
        let case = &mut |_: usize| match rest.next() {
            Some(case) => handles(f(case).lift()),
            None => vec![Handle::POISON; count],
        };
        value_of(&cases(at, self.handle(), 0, number, count, case))
    }
}

/// `if position == first { case(first) } else { the others }`; the last case needs no test.
fn cases(
    at: Loc,
    position: Handle,
    first: usize,
    all: usize,
    count: usize,
    case: &mut dyn FnMut(usize) -> Vec<Handle>,
) -> Vec<Handle> {
    if first + 1 >= all {
        return if first < all { case(first) } else { vec![] };
    }
    let number = record::constant(at, Scalar::i64(first as i64));
    let here = record::apply(at, Operator::Eq, &[position, number]);
    let case = std::cell::RefCell::new(case);
    record::branch(at, here, &[], &[], count, &mut |_| (case.borrow_mut())(first), &mut |_| {
        cases(at, position, first + 1, all, count, &mut **case.borrow_mut())
    })
}
