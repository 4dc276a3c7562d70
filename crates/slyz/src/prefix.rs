//! Running sums and products, and differences, which undo sums.

use crate::along::Along;
use crate::arr::Arr;
use crate::elem::{Additive, Num};
use crate::extent::{Axis, Extent};
use crate::monoid::{Product, Sum};
use crate::shape::{HasAxis, Innermost, Insert, OneAxis, Shape};
use std::panic::Location;

/// Scans with a monoid that has a name, of arrays of one axis and along an axis.
macro_rules! scans {
    ($($name:ident $B:ident $M:ident $what:literal;)*) => {$(
        impl<T: $B, S: Shape> Arr<T, S> {
            #[doc = concat!($what, " of an array of one axis; short for `scan(", stringify!($M), ")`.")]
            ///
            /// ```
            /// use slyz::prelude::*;
            /// axis!(N);
            #[doc = concat!("fn prefixes(x: Arr<f32, N>) -> Arr<f32, N> { x.", stringify!($name), "() }")]
            /// ```
            #[track_caller]
            pub fn $name(self) -> Arr<T, S>
            where
                S: OneAxis,
            {
                self.scan($M)
            }
        }
        impl<T: $B, S: HasAxis<P>, P> Along<T, S, P> {
            #[doc = concat!($what, " along the axis; short for `scan(", stringify!($M), ")`.")]
            ///
            /// ```
            /// use slyz::prelude::*;
            /// axis!(N, M);
            #[doc = concat!("fn rows(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> { x.over(M).", stringify!($name), "() }")]
            /// ```
            #[track_caller]
            pub fn $name(self) -> Arr<T, S> {
                self.scan($M)
            }
        }
    )*};
}
scans! {
    cumsum Additive Sum "Running sums";
    cumprod Num Product "Running products";
}

impl<T: Num, S: HasAxis<P>, P> Along<T, S, P> {
    /// How much each element along the axis is more than the one before, on an axis `K` that is one shorter: it gets its extent from
    /// that, so nobody needs to say it. An empty axis has no differences, and is refused at the call.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M, Steps);
    /// let f = compile(|x: Arr<f32, (N, M)>| x.over(M).diff::<Steps>())?;
    /// assert_eq!(f.call(&[[1.0f32, 4.0, 9.0]])?.to_vec()?, [3.0, 5.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn diff<K: Axis>(self) -> Arr<T, <S::Rest as Insert<K, P>>::Out>
    where
        S::Rest: Insert<K, P>,
    {
        Arr::new(self.lines().differences(Location::caller(), &Extent::of::<K>()))
    }
}

impl<T: Num, S: Shape> Arr<T, S> {
    /// How much each element of an array of one axis is more than the one before, on an axis `K` that is one shorter.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, Steps);
    /// let f = compile(|x: Arr<f32, N>| x.diff::<Steps>())?;
    /// assert_eq!(f.call(&[1.0f32, 4.0, 9.0])?.to_vec()?, [3.0, 5.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn diff<K: Axis>(self) -> Arr<T, K>
    where
        S: OneAxis,
    {
        self.along::<Innermost>().diff::<K>()
    }
}
