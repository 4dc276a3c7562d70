//! Lookups: an element at a place that is perhaps outside, and what that means.
//!
//! Reading is total: `at` takes a position, which is inside by its type, and a lookup is no element until somebody has said what
//! becomes of places outside.

use crate::arr::Arr;
use crate::elem::{Elem, Exp, Lift, handles, lit, tys_of, value_of};
use crate::extent::Extent;
use crate::position::Around;
use crate::record::{self, Spot};
use crate::shape::Shape;
use crate::trace::{Handle, Loc};
use std::panic::Location;

/// An element at a place that may be outside. It becomes one with [`or`](Lookup::or), [`clamp`](Lookup::clamp) or
/// [`wrap`](Lookup::wrap).
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>, k: Exp<i32>| (x.get(k).or(0.0), x.get(k).clamp(), x.get(k).wrap(), x.get(k).inside()))?;
/// let (or, clamp, wrap, inside) = f.call(&[5.0f32, 6.0, 7.0], -2)?;
/// assert_eq!((or.value()?, clamp.value()?, wrap.value()?, inside.value()?), (0.0, 5.0, 6.0, false));
/// # Ok::<(), slyz::Error>(())
/// ```
#[must_use = "say what an element outside is: `.or(default)`, `.clamp()` or `.wrap()`"]
pub struct Lookup<T: Elem, S: Shape> {
    array: Arr<T, S>,
    spots: Vec<Spot>,
}

impl<T: Elem, S: Shape> std::fmt::Debug for Lookup<T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "an element of {:?}", self.array)
    }
}

impl<T: Elem, S: Shape> Arr<T, S> {
    /// The element with a computed number, or one number for each axis; positions and places near them may stand among them. Say what
    /// it is outside: `x.get(k).or(0.0)`, `x.get(k).clamp()` or `x.get((i, k)).wrap()`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// let f = compile(|x: Arr<f32, (N, M)>, k: Exp<i32>| tabulate(|i: Idx<N>| x.get((i, k)).or(-1.0)))?;
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]], 1)?.to_vec()?, [2.0, 4.0]);
    /// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]], 2)?.to_vec()?, [-1.0, -1.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn get(self, p: impl Around<S>) -> Lookup<T, S> {
        let mut spots = vec![];
        p.spots(&mut spots);
        Lookup { array: self, spots }
    }
}

impl<T: Elem, S: Shape> Lookup<T, S> {
    /// The element, or `default` outside.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn lookup(table: Arr<f32, N>, k: Exp<u8>) -> Exp<f32> { table.get(k).or(0.0) }
    /// assert_eq!(compile(lookup)?.call(&[5.0f32], 1)?.value()?, 0.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn or(self, default: impl Lift<T>) -> T::Exp {
        let at: Loc = Location::caller();
        let default = handles(default.lift());
        value_of(&record::read_or(at, self.array.handle(), &S::axes(), &self.spots, &default))
    }

    /// The element, or the nearest one. That there is one is checked at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn lookup(table: Arr<f32, N>, k: Exp<i32>) -> Exp<f32> { table.get(k).clamp() }
    /// let f = compile(lookup)?;
    /// assert_eq!(f.call(&[5.0f32, 6.0], 9)?.value()?, 6.0);
    /// assert!(f.call(&[0.0f32; 0], 9).is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn clamp(self) -> T::Exp {
        self.moved(Location::caller(), record::clamp)
    }

    /// The element when each axis is a circle. That there is one is checked at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn from_the_end(x: Arr<f32, N>) -> Exp<f32> { x.get(-1).wrap() }
    /// assert_eq!(compile(from_the_end)?.call(&[5.0f32, 6.0])?.value()?, 6.0);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn wrap(self) -> T::Exp {
        self.moved(Location::caller(), record::wrap)
    }

    /// Is there an element at the place?
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// fn has(x: Arr<f32, N>, k: Exp<i32>) -> Exp<bool> { x.get(k).inside() }
    /// assert!(!compile(has)?.call(&[5.0f32], 1)?.value()?);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn inside(self) -> Exp<bool> {
        let at: Loc = Location::caller();
        record::all_inside(at, &S::axes(), &self.spots).map_or_else(|| lit(true), Exp::new)
    }

    fn moved(self, at: Loc, rule: fn(Loc, &Extent, Handle) -> Handle) -> T::Exp {
        let axes = S::axes();
        let position: Vec<Handle> =
            axes.iter().zip(&self.spots).map(|(axis, spot)| spot.moved(at, axis, rule)).collect();
        value_of(&record::read(at, self.array.handle(), tys_of::<T>().len(), &position))
    }
}
