//! Arrays in traced code: a function from positions to elements, and what follows from that.

use crate::axis::{Fix, Min};
use crate::elem::{Elem, Exp, Lift, handles, tys_of, value_of};
use crate::extent::{Axis, Extent};
use crate::position::{Around, Idx};
use crate::record;
use crate::shape::{Align, Pos, Position, Shape, Stack};
use crate::state::{LoopState, State};
use crate::trace::{Handle, Loc, Part, on_behalf};
use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Index;
use std::panic::Location;

/// An array of the function being traced: a function from positions of `S` to `T`. It is `Copy`; nothing is computed
/// until the compiled function is called, and what is only used on the way is never stored.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>, a: Exp<f32>| (x * a + 1.0).sum())?;
/// assert_eq!(f.call(&[1.0f32, 2.0], 10.0)?.value()?, 32.0);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct Arr<T: Elem, S: Shape> {
    handle: Handle,
    kind: PhantomData<fn() -> (T, S)>,
}

impl<T: Elem, S: Shape> Clone for Arr<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Elem, S: Shape> Copy for Arr<T, S> {}

impl<T: Elem, S: Shape> std::fmt::Debug for Arr<T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "array {:?}", self.handle)
    }
}

impl<T: Elem, S: Shape> Arr<T, S> {
    pub(crate) fn new(handle: Handle) -> Self {
        Arr { handle, kind: PhantomData }
    }

    pub(crate) fn handle(self) -> Handle {
        self.handle
    }

    /// The element at a position, read for the caller at `at`.
    pub(crate) fn element(self, at: Loc, p: S::Pos) -> T::Exp {
        value_of(&record::read(at, self.handle, tys_of::<T>().len(), &handles(p)))
    }
}

/// Nothing is a place for brackets: they give a reference to what is stored, and an element is not stored anywhere.
#[diagnostic::on_unimplemented(
    message = "write `x.at(i)` instead of `x[i]`, and `x.at((i, j))` for a matrix",
    label = "an array has no brackets: its elements are computed where they are read",
    note = "positions come from `tabulate(|i| ..)` and the like; a number becomes one with `Near::new(k).clamp()`"
)]
pub trait InBrackets {
    #[doc(hidden)]
    fn never<R>(self) -> R;
}

#[doc(hidden)]
impl<T: Elem, S: Shape, I: InBrackets> Index<I> for Arr<T, S> {
    type Output = T::Exp;
    fn index(&self, place: I) -> &T::Exp {
        place.never()
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

/// `tabulate` for the caller at `at`.
pub(crate) fn tabulate_at<S: Shape, T: Elem, V: Lift<T>>(at: Loc, f: impl Fn(S::Pos) -> V) -> Arr<T, S> {
    Arr::new(record::tabulate(at, &S::axes(), &mut |position| handles(f(value_of(position)).lift())))
}

/// The array whose element at `p` is `f(p)`. `f` runs once, while tracing.
///
/// `Fn`, not `FnMut`: a body cannot assign to a variable outside it, so values cannot leak by accident.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M, K);
/// fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
///     tabulate(|(i, j)| sum(|k| a.at((i, k)) * b.at((k, j))))
/// }
/// let c = compile(matmul)?.call(&[[1.0f32, 2.0]], &[[3.0f32], [4.0]])?;
/// assert_eq!(c.to_vec()?, [11.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn tabulate<S, P, T, V>(f: impl Fn(P) -> V) -> Arr<T, S>
where
    S: Shape<Pos = P>,
    P: Position<Shape = S>,
    T: Elem,
    V: Lift<T>,
{
    tabulate_at(Location::caller(), f)
}

/// One array per position of an outer axis, stacked.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// fn softmax(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
///     stack(|r| { let w = x.row(r); let e = (w - w.max()).exp(); e / e.sum() })
/// }
/// assert_eq!(compile(softmax)?.call(&[[5.0f32, 5.0]])?.to_vec()?, [0.5, 0.5]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn stack<R: Axis, T: Elem, S: Stack<R>>(f: impl Fn(Idx<R>) -> Arr<T, S>) -> Arr<T, S::Out> {
    let at: Loc = Location::caller();
    Arr::new(record::stack(at, &[Extent::of::<R>()], &mut |i| f(Idx::new(i[0])).handle))
}

/// The numbers of the positions.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// assert_eq!(compile(iota::<N>)?.size::<N>(3).call()?.to_vec()?, [0, 1, 2]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn iota<A: Axis>() -> Arr<u32, A> {
    let at: Loc = Location::caller();
    tabulate_at(at, |i: Idx<A>| on_behalf(at, || i.u32()))
}

/// The same element everywhere.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|x: Exp<f32>| fill::<f32, Fix<2>>(x))?;
/// assert_eq!(f.call(7.0)?.to_vec()?, [7.0, 7.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn fill<T: Elem, S: Shape>(x: impl Lift<T>) -> Arr<T, S> {
    let at: Loc = Location::caller();
    let x = x.lift();
    tabulate_at(at, |_: S::Pos| x)
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// The element at `p`. Total: a position of `S` is always inside.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at(i.reversed())))?;
    /// assert_eq!(f.call(&[1.0f32, 2.0])?.to_vec()?, [2.0, 1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    // rustc shows the line with the name beside an argument of another type, and has no other words for it: so they stand there.
    #[rustfmt::skip]
    #[track_caller]
    pub fn at(self, p: S::Pos) -> T::Exp { // a number: `Near::new(k).clamp()`; `i + 1`: `(i + 1).clamp()`; constants: `fix::<0, 3>()`
        self.element(Location::caller(), p)
    }

    /// `f` of each element.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.map(|v| (v.floor().cast::<i32>(), v)))?;
    /// assert_eq!(f.call(&[1.5f32])?.to_vec()?, [(1, 1.5)]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn map<U: Elem, V: Lift<U>>(self, f: impl Fn(T::Exp) -> V) -> Arr<U, S> {
        let at: Loc = Location::caller();
        tabulate_at(at, |p: S::Pos| f(self.element(at, p)))
    }

    /// `f` of each position and element. The type of the position is known, so the closure needs no annotation.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.map_at(|i, v| v * i.to::<f32>()))?;
    /// assert_eq!(f.call(&[5.0f32, 6.0])?.to_vec()?, [0.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn map_at<U: Elem, V: Lift<U>>(self, f: impl Fn(S::Pos, T::Exp) -> V) -> Arr<U, S> {
        let at: Loc = Location::caller();
        tabulate_at(at, |p: S::Pos| f(p, self.element(at, p)))
    }

    /// Pairs of elements at the same position, as `Iterator::zip`. More than two arrays are zipped with [`zip()`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn products(x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> { x.zip(y).map(|(a, b)| a * b) }
    /// ```
    #[track_caller]
    pub fn zip<U: Elem>(self, other: Arr<U, S>) -> Arr<(T, U), S> {
        let at: Loc = Location::caller();
        tabulate_at(at, |p: S::Pos| (self.element(at, p), other.element(at, p)))
    }
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// The element near a position, or `default` outside.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at(i) - x.at_or(i - 1, 0.0)))?;
    /// assert_eq!(f.call(&[1.0f32, 3.0])?.to_vec()?, [1.0, 2.0]);
    /// let above = compile(|x: Arr<f32, (N, M)>| x.map_at(|(i, j), _| x.at_or((i - 1, j), 0.0)))?;
    /// assert_eq!(above.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [0.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn at_or(self, p: impl Around<S>, default: impl Lift<T>) -> T::Exp {
        self.get(p).or(default)
    }

    /// How many elements there are; of a matrix, in all rows together. How many positions an axis has is
    /// [`Idx::extent`](crate::Idx::extent).
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, N>| x.sum() / x.len().cast::<f32>())?;
    /// assert_eq!(f.call(&[1.0f32, 3.0])?.value()?, 2.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn len(self) -> Exp<i64> {
        let at: Loc = Location::caller();
        Exp::new(record::count(at, &S::axes()))
    }
}

impl<T: Elem, const L: usize> Arr<T, Fix<L>> {
    /// All elements of a fixed axis: `let [x, y, z] = v.unpack();`. A wrong count is a type error.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// fn dot(a: Arr<f32, Fix<2>>, b: Arr<f32, Fix<2>>) -> Exp<f32> {
    ///     let ([a, b], [c, d]) = (a.unpack(), b.unpack());
    ///     a * c + b * d
    /// }
    /// ```
    #[track_caller]
    pub fn unpack(self) -> [T::Exp; L] {
        let at: Loc = Location::caller();
        on_behalf(at, || Fix::<L>::positions().map(|p| self.element(at, p)))
    }
}

/// Pairs of elements up to the end of the shorter array.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|x: Arr<f32, N>, y: Arr<f32, M>| zip_min(x, y).map(|(a, b)| a + b))?;
/// assert_eq!(f.call(&[1.0f32], &[2.0f32, 3.0])?.to_vec()?, [3.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn zip_min<T: Elem, U: Elem, A: Axis, B: Axis>(a: Arr<T, A>, b: Arr<U, B>) -> Arr<(T, U), Min<A, B>> {
    let at: Loc = Location::caller();
    tabulate_at(at, |p: Idx<Min<A, B>>| (a.element(at, p.fst()), b.element(at, p.snd())))
}

/// A tuple of two to six arrays of one shape.
///
/// ```
/// use slyz::prelude::*;
/// fn together<Z: slyz::Zip>(arrays: Z) -> Z::Out { zip(arrays) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be zipped: it is not a tuple of arrays of one shape",
    label = "expected two to six arrays of one shape, as in `zip((a, b, c))`",
    note = "arrays of unequal length are zipped up to the end of the shorter one with `zip_min(a, b)`",
    note = "arrays of other shapes are read in `tabulate(|(i, j)| (a.at((i, j)), b.at(i)))`"
)]
pub trait Zip {
    /// The array of tuples.
    type Out;

    #[doc(hidden)]
    fn zipped(self) -> Self::Out;
}

macro_rules! zips {
    ($($($T:ident $i:tt),*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<S: Shape, $($T: Elem),*> Zip for ($(Arr<$T, S>,)*) {
            type Out = Arr<($($T,)*), S>;
            #[track_caller]
            fn zipped(self) -> Self::Out {
                let at: Loc = Location::caller();
                tabulate_at(at, |p: S::Pos| ($(self.$i.element(at, p),)*))
            }
        }
    )*};
}
zips! {
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// A tuple of arrays as an array of tuples: their elements at the same position.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>, y: Arr<f32, N>| zip((x, y, x)).map(|(a, b, c)| a * b + c))?;
/// assert_eq!(f.call(&[2.0f32], &[3.0f32])?.to_vec()?, [8.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[rustfmt::skip] // See `at`.
#[track_caller]
pub fn zip<Z: Zip>(arrays: Z) -> Z::Out { // one tuple: `zip((a, b))`
    arrays.zipped()
}

/// A scalar function of two arguments on whole arrays, whose shapes are aligned from the innermost axis.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// let f = compile(|a: Arr<f32, (N, M)>, b: Arr<i32, M>| lift2(|x, k| x * k.cast::<f32>(), a, b))?;
/// assert_eq!(f.call(&[[1.5f32], [2.5]], &[2])?.to_vec()?, [3.0, 5.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn lift2<A: Elem, B: Elem, U: Elem, V: Lift<U>, S: Align<R>, R: Shape>(
    f: impl Fn(A::Exp, B::Exp) -> V,
    a: Arr<A, S>,
    b: Arr<B, R>,
) -> Arr<U, S::Out> {
    let at: Loc = Location::caller();
    tabulate_at(at, |p: Pos<S::Out>| f(a.element(at, S::left(p)), b.element(at, S::right(p))))
}
