//! Diagonals of matrices, and what is above and below them.

use crate::arr::{Arr, tabulate_at};
use crate::elem::{Elem, Exp, Num, lit};
use crate::extent::Axis;
use crate::position::Idx;
use crate::record;
use crate::shape::Pos;
use crate::trace::{Loc, on_behalf};
use slyz_sir::ops::Operator;
use std::panic::Location;

impl<T: Elem, A: Axis> Arr<T, (A, A)> {
    /// The elements whose row is their column.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let trace = compile(|x: Arr<f32, (N, N)>| x.diagonal().sum())?;
    /// assert_eq!(trace.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.value()?, 5.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn diagonal(self) -> Arr<T, A> {
        let at: Loc = Location::caller();
        tabulate_at(at, |i: Idx<A>| self.element(at, (i, i)))
    }
}

/// The elements `(i, j)` where the distance `j - i` compares with `k`, and 0 elsewhere.
fn beside<T: Num, A: Axis, B: Axis>(at: Loc, x: Arr<T, (A, B)>, order: Operator, k: i64) -> Arr<T, (A, B)> {
    tabulate_at(at, |(i, j): Pos<(A, B)>| {
        // Not `j - i`: sums of a position and a constant are what the compiler knows best.
        let from = record::shift(at, i.handle(), k);
        let kept: Exp<bool> = Exp::new(record::apply(at, order, &[j.handle(), from]));
        on_behalf(at, || kept.select(x.element(at, (i, j)), lit(T::ZERO)))
    })
}

impl<T: Num, A: Axis, B: Axis> Arr<T, (A, B)> {
    /// The elements on and above the diagonal number `k`, and 0 below it. The main one is 0, those above it are positive.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, (N, N)>| (x.triu(0), x.triu(1)))?;
    /// let (upper, strict) = f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?;
    /// assert_eq!((upper.to_vec()?, strict.to_vec()?), (vec![1.0, 2.0, 0.0, 4.0], vec![0.0, 2.0, 0.0, 0.0]));
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn triu(self, k: i64) -> Self {
        beside(Location::caller(), self, Operator::Ge, k)
    }

    /// The elements on and below the diagonal number `k`, and 0 above it. The main one is 0, those above it are positive.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let f = compile(|x: Arr<f32, (N, N)>| x.tril(0))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [1.0, 0.0, 3.0, 4.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn tril(self, k: i64) -> Self {
        beside(Location::caller(), self, Operator::Le, k)
    }
}
