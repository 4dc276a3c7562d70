//! Tiled reductions: the chapter's functions over matrices of the host, on a device.

use super::view::TensorView;
use crate::arr::{Arr, tabulate};
use crate::compile::{Compiled, compile};
use crate::elem::{Elem, Exp, Num, Scalar, value_of};
use crate::error::Error;
use crate::fold::fold;
use crate::monoid::Monoid;
use crate::position::Idx;
use crate::record;
use crate::tensor::Tensor;
use crate::trace::{Handle, Loc};
use crate::view_error::ViewError;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The side of a tile: 16 × 16 threads are a block that every GPU has.
///
/// ```
/// assert_eq!(slyz::views::TILE_SIZE, 16);
/// ```
pub const TILE_SIZE: usize = slyz_sir::views::TILE as usize;

/// An associative operation with an identity, for reductions. It is traced once, so what a user writes runs on every device.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::views::*;
/// /// The element that is farthest from zero.
/// struct Farthest;
/// impl ReduceOp for Farthest {
///     fn identity() -> f32 { 0.0 }
///     fn combine(a: Exp<f32>, b: Exp<f32>) -> Exp<f32> { a.abs().lt(b.abs()).select(b, a) }
/// }
/// assert_eq!(tiled_reduce_2d::<Farthest>(&[1.0, -5.0, 3.0, 2.0], 2, 2), -5.0);
/// ```
pub trait ReduceOp<T: Elem = f32>: 'static {
    /// Where a reduction starts: combined with it, a value stays what it is.
    fn identity() -> T;

    /// Two values as one.
    fn combine(a: T::Exp, b: T::Exp) -> T::Exp;

    /// May operands change places? Reductions are faster then.
    fn is_commutative() -> bool {
        false
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $Op:ident, $identity:expr, |$a:ident, $b:ident| $combine:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Op;
        impl<T: Num> ReduceOp<T> for $Op {
            fn identity() -> T { $identity }
            #[track_caller]
            fn combine($a: Exp<T>, $b: Exp<T>) -> Exp<T> { $combine }
            fn is_commutative() -> bool { true }
        }
    )*};
}
operations! {
    /// The sum; 0 of nothing.
    SumOp, T::ZERO, |a, b| a + b;
    /// The largest; the lowest value of nothing. A NaN loses.
    MaxOp, T::LOWEST, |a, b| a.max(b);
    /// The smallest; the highest value of nothing. A NaN loses.
    MinOp, T::HIGHEST, |a, b| a.min(b);
}

/// A [`ReduceOp`] as what folds take.
struct Operation<Op>(PhantomData<Op>);

impl<T: Elem, Op: ReduceOp<T>> Monoid<T> for Operation<Op> {
    #[track_caller]
    fn unit(&self) -> T::Exp {
        let at: Loc = Location::caller();
        let mut parts = vec![];
        Op::identity().store(&mut parts);
        value_of(&parts.into_iter().map(|part| record::constant(at, part)).collect::<Vec<Handle>>())
    }

    fn op(&self, a: T::Exp, b: T::Exp) -> T::Exp {
        Op::combine(a, b)
    }

    fn is_commutative(&self) -> bool {
        Op::is_commutative()
    }
}

crate::axis!(A, B, C, D);

/// What was compiled, by operation, elements, and how many axes are kept and reduced.
type ByKind = HashMap<(TypeId, TypeId, usize, usize), Arc<dyn Any + Send + Sync>>;

/// What `make` makes for a kind of reduction, once.
fn once<F: Clone + Send + Sync + 'static>(
    kind: (TypeId, TypeId, usize, usize),
    make: impl FnOnce() -> Result<F, Error>,
) -> Result<F, Error> {
    static MADE: LazyLock<Mutex<ByKind>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = made.get(&kind).and_then(|known| known.downcast_ref::<F>()) {
        return Ok(known.clone());
    }
    let new = make()?;
    made.insert(kind, Arc::new(new.clone()));
    Ok(new)
}

/// A reduction of a matrix.
type OfMatrix = Compiled<fn(Arr<f32, (A, B)>) -> Exp<f32>>;

/// The reduction of a matrix by an operation.
fn matrix<Op: ReduceOp>() -> Result<OfMatrix, Error> {
    once((TypeId::of::<Op>(), TypeId::of::<f32>(), 0, 2), || {
        compile(|x: Arr<f32, (A, B)>| x.fold(Operation::<Op>(PhantomData)))
    })
}

impl<T: Scalar, const R: usize> TensorView<'_, T, R> {
    /// All elements along some axes as one, by an operation that runs on the device. The other axes stay, in their order; views of
    /// more than four axes are reshaped first.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::views::*;
    /// let x = Tensor::<i32>::from_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let view = x.view::<2>()?;
    /// assert_eq!(view.reduce::<SumOp>(&[0])?.to_vec()?, [5, 7, 9]);
    /// assert_eq!(view.reduce::<MaxOp>(&[0, 1])?.to_vec()?, [6]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn reduce<Op: ReduceOp<T>>(&self, axes: &[usize]) -> Result<Tensor<T>, Error> {
        if let Some(&axis) = axes.iter().find(|&&axis| axis >= R) {
            return Err(ViewError::Axis { axis, rank: R }.into());
        }
        let kept = (0..R).filter(|axis| !axes.contains(axis));
        let reduced = (0..R).filter(|axis| axes.contains(axis));
        let mut order = kept.chain(reduced);
        let turned = self.permute(std::array::from_fn(|_| order.next().unwrap_or(0)))?;
        let along = (0..R).filter(|axis| axes.contains(axis)).count();
        let m = || Operation::<Op>(PhantomData);
        /// Compiles the reduction at its first use, and calls it.
        macro_rules! reduced {
            ($f:expr) => {{
                let kind = (TypeId::of::<Op>(), TypeId::of::<T>(), R - along, along);
                Ok(once(kind, || compile($f))?.call(&turned)?.into_dyn())
            }};
        }
        match (R - along, along) {
            (_, 0) => self.to_tensor(),
            (0, 1) => reduced!(|x: Arr<T, A>| x.fold(m())),
            (0, 2) => reduced!(|x: Arr<T, (A, B)>| x.fold(m())),
            (0, 3) => reduced!(|x: Arr<T, (A, B, C)>| x.fold(m())),
            (0, 4) => reduced!(|x: Arr<T, (A, B, C, D)>| x.fold(m())),
            (1, 1) => reduced!(|x: Arr<T, (A, B)>| tabulate(|a: Idx<A>| fold(m(), |b: Idx<B>| x.at((a, b))))),
            (1, 2) => reduced!(|x: Arr<T, (A, B, C)>| {
                tabulate(|a: Idx<A>| fold(m(), |(b, c): (Idx<B>, Idx<C>)| x.at((a, b, c))))
            }),
            (1, 3) => reduced!(|x: Arr<T, (A, B, C, D)>| {
                tabulate(|a: Idx<A>| fold(m(), |(b, c, d): (Idx<B>, Idx<C>, Idx<D>)| x.at((a, b, c, d))))
            }),
            (2, 1) => reduced!(|x: Arr<T, (A, B, C)>| {
                tabulate(|(a, b): (Idx<A>, Idx<B>)| fold(m(), |c: Idx<C>| x.at((a, b, c))))
            }),
            (2, 2) => reduced!(|x: Arr<T, (A, B, C, D)>| {
                tabulate(|(a, b): (Idx<A>, Idx<B>)| fold(m(), |(c, d): (Idx<C>, Idx<D>)| x.at((a, b, c, d))))
            }),
            (3, 1) => reduced!(|x: Arr<T, (A, B, C, D)>| {
                tabulate(|(a, b, c): (Idx<A>, Idx<B>, Idx<C>)| fold(m(), |d: Idx<D>| x.at((a, b, c, d))))
            }),
            _ => Err(ViewError::Rank { expected: 4, found: R }.into()),
        }
    }
}

/// All elements of a row-major matrix as one, by an operation; the identity for none.
///
/// ```
/// use slyz::views::*;
/// assert_eq!(try_tiled_reduce_2d::<SumOp>(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)?, 21.0);
/// assert!(try_tiled_reduce_2d::<SumOp>(&[1.0, 2.0], 3, 2).is_err());
/// # Ok::<(), slyz::Error>(())
/// ```
pub fn try_tiled_reduce_2d<Op: ReduceOp>(data: &[f32], width: usize, height: usize) -> Result<f32, Error> {
    let expected = width as u128 * height as u128;
    if expected != data.len() as u128 {
        return Err(ViewError::Length { width, height, expected, found: data.len() }.into());
    }
    matrix::<Op>()?.call((data, [height, width]))?.value()
}

/// [`try_tiled_reduce_2d`], with a NaN where that gives an error.
///
/// ```
/// use slyz::views::*;
/// assert_eq!(tiled_reduce_2d::<MaxOp>(&[1.0, 7.0, 3.0, 4.0], 2, 2), 7.0);
/// assert!(tiled_reduce_2d::<MaxOp>(&[1.0], 2, 2).is_nan());
/// ```
pub fn tiled_reduce_2d<Op: ReduceOp>(data: &[f32], width: usize, height: usize) -> f32 {
    try_tiled_reduce_2d::<Op>(data, width, height).unwrap_or(f32::NAN)
}

macro_rules! reductions {
    ($($what:literal $tiled:ident $try_tiled:ident $Op:ident $result:literal;)*) => {$(
        #[doc = concat!("The ", $what, " of a row-major matrix, with a NaN where [`", stringify!($try_tiled), "`] gives an error.")]
        ///
        /// ```
        /// use slyz::views::*;
        #[doc = concat!("assert_eq!(", stringify!($tiled), "(&[5.0, 3.0, 7.0, -1.0, 9.0, 2.0], 2, 3), ", $result, ");")]
        /// ```
        pub fn $tiled(data: &[f32], width: usize, height: usize) -> f32 {
            tiled_reduce_2d::<$Op>(data, width, height)
        }

        #[doc = concat!("The ", $what, " of a row-major matrix.")]
        ///
        /// ```
        /// use slyz::views::*;
        #[doc = concat!("assert_eq!(", stringify!($try_tiled), "(&[5.0, 3.0, 7.0, -1.0, 9.0, 2.0], 2, 3)?, ", $result, ");")]
        /// # Ok::<(), slyz::Error>(())
        /// ```
        pub fn $try_tiled(data: &[f32], width: usize, height: usize) -> Result<f32, Error> {
            try_tiled_reduce_2d::<$Op>(data, width, height)
        }
    )*};
}
reductions! {
    "sum" tiled_sum_2d try_tiled_sum_2d SumOp "25.0";
    "largest element" tiled_max_2d try_tiled_max_2d MaxOp "9.0";
    "smallest element" tiled_min_2d try_tiled_min_2d MinOp "-1.0";
}
