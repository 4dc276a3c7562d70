//! Convolutions: sums of products of weights and what is around a place, over channels.
//!
//! As in the libraries for learning, weights are not turned around: the sum is of `w[k] · x[i + k]`.

use crate::arr::Arr;
use crate::axis::Stride;
use crate::elem::Num;
use crate::extent::{Axis, Extent};
use crate::record::{self, MonoidParts, Spot, apply, constant, extent, read, shift};
use crate::shape::Shape;
use crate::trace::{Handle, Loc, Ty, here};
use slyz_sir::ops::Operator;
use slyz_sir::types::Scalar;
use std::panic::Location;

/// A convolution, until somebody says where it is taken: [`same`](Conv::same) as many places as there were, or the
/// [`valid`](Conv::valid) ones, where the weights see nothing outside.
///
/// | | of one dimension | of two |
/// |---|---|---|
/// | array | `(C, N)` or `(B, C, N)` | `(C, H, W)` or `(B, C, H, W)` |
/// | weights | `(D, C, K)` | `(D, C, K, L)` |
/// | `same()` | `(D, N)` or `(B, D, N)` | `(D, H, W)` or `(B, D, H, W)` |
/// | `same_by::<2>()` | `(D, Stride<N, 2>)`, .. | `(D, Stride<H, 2>, Stride<W, 2>)`, .. |
/// | `valid::<O>()`, where `O + K = N + 1` | `(D, O)`, .. | `valid::<O, P>()`: `(D, O, P)`, .. |
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, O);
/// let f = compile(|x: Arr<f32, (Fix<1>, N)>, w: Arr<f32, (Fix<1>, Fix<1>, Fix<3>)>| {
///     (x.conv1d(w).same(), x.conv1d(w).valid::<O>())
/// })?;
/// let (same, valid) = f.call(&[[1.0f32, 2.0, 3.0, 4.0]], &[1.0f32, 0.0, -1.0])?;
/// assert_eq!((same.to_vec()?, valid.to_vec()?), (vec![-2.0, -2.0, -2.0, 3.0], vec![-2.0, -2.0]));
/// # Ok::<(), slyz::Error>(())
/// ```
#[must_use = "say where it is taken: `.same()` or `.valid::<O>()`"]
pub struct Conv<T: Num, X: Shape, W: Shape> {
    array: Arr<T, X>,
    weights: Arr<T, W>,
}

impl<T: Num, X: Shape, W: Shape> std::fmt::Debug for Conv<T, X, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "a convolution of {:?} with {:?}", self.array, self.weights)
    }
}

impl<T: Num, X: Shape, W: Shape> Conv<T, X, W> {
    fn plan(&self) -> Plan {
        Plan {
            ty: T::TY,
            array: self.array.handle(),
            axes: X::axes(),
            weights: self.weights.handle(),
            weight_axes: W::axes(),
        }
    }
}

/// A convolution whose axes are told by number. The array has perhaps one that is kept, then channels, then places; the weights have
/// new channels, channels, and distances.
struct Plan {
    ty: Ty,
    array: Handle,
    axes: Vec<Extent>,
    weights: Handle,
    weight_axes: Vec<Extent>,
}

impl Plan {
    /// How many axes the places have.
    fn rank(&self) -> usize {
        self.weight_axes.len() - 2
    }

    /// Those of distances.
    fn distances(&self) -> &[Extent] {
        &self.weight_axes[2..]
    }

    /// Those of places.
    fn places(&self) -> &[Extent] {
        &self.axes[self.axes.len() - self.rank()..]
    }

    /// The axes of a result with these places.
    fn onto(&self, places: &[Extent]) -> Vec<Extent> {
        let kept = &self.axes[..self.axes.len() - self.rank() - 1];
        [kept, &self.weight_axes[..1], places].concat()
    }

    /// Every `step`-th place, with zeros around the array. The weights are centred; of an even number the left one of the middle is.
    fn same(&self, at: Loc, step: u64) -> Handle {
        let places: Vec<Extent> = self.places().iter().map(|axis| strided(axis, step)).collect();
        let zero = [constant(at, Scalar::from_int(self.ty, 0))];
        self.sums(at, &places, &mut |at, outer, place, distance| {
            let around = place.iter().zip(distance).zip(self.distances()).map(|((&place, &distance), axis)| {
                let before = apply(at, Operator::Shr, &[shift(at, extent(at, axis), -1), constant(at, Scalar::i64(1))]);
                let step = constant(at, Scalar::i64(step.min(i64::MAX as u64) as i64));
                let first = apply(at, Operator::Sub, &[apply(at, Operator::Mul, &[place, step]), before]);
                // There is a place, so the axis has positions.
                Spot { number: apply(at, Operator::Add, &[first, distance]), reached: true, inside: false }
            });
            let spots: Vec<Spot> = outer.iter().map(|&number| Spot::inside(number)).chain(around).collect();
            record::read_or(at, self.array, &self.axes, &spots, &zero)[0]
        })
    }

    /// The places from which all weights see the array.
    fn valid(&self, at: Loc, places: &[Extent]) -> Handle {
        for ((place, distance), axis) in places.iter().zip(self.distances()).zip(self.places()) {
            record::require_equal(at, &(place.clone() + distance.clone()), &(axis.clone() + Extent::fixed(1)));
        }
        self.sums(at, places, &mut |at, outer, place, distance| {
            let seen =
                place.iter().zip(distance).map(|(&place, &distance)| apply(at, Operator::Add, &[place, distance]));
            let position: Vec<Handle> = outer.iter().copied().chain(seen).collect();
            read(at, self.array, 1, &position)[0]
        })
    }

    /// The products of weights and elements, summed over channels and distances.
    fn sums(&self, at: Loc, places: &[Extent], element: Seen) -> Handle {
        let at = here(at);
        let onto = self.onto(places);
        let kept = onto.len() - self.rank() - 1;
        record::tabulate(at, &onto, &mut |position| {
            let parts = MonoidParts {
                neutral: vec![constant(at, Scalar::from_int(self.ty, 0))],
                tys: vec![self.ty],
                combine: &mut |both| vec![apply(at, Operator::Add, both)],
                commutative: true,
            };
            let product = &mut |summed: &[Handle]| {
                let outer = [&position[..kept], &summed[..1]].concat();
                let element = element(at, &outer, &position[kept + 1..], &summed[1..]);
                let weight = read(at, self.weights, 1, &[&position[kept..=kept], summed].concat())[0];
                vec![apply(at, Operator::Mul, &[weight, element])]
            };
            record::fold(at, &self.weight_axes[1..], product, parts)
        })
    }
}

/// What a weight meets: of the axes before the places, a place, and a distance.
type Seen<'a> = &'a mut dyn FnMut(Loc, &[Handle], &[Handle], &[Handle]) -> Handle;

/// As [`Stride`] has it; one step is the axis itself.
fn strided(axis: &Extent, step: u64) -> Extent {
    if step == 1 { axis.clone() } else { axis.clone().ceil_div(step) }
}

/// Convolutions of arrays with so many places, alone or many at once.
macro_rules! convolutions {
    ($($name:ident $dims:literal ($($B:ident)?) $([$N:ident $K:ident $O:ident])*;)*) => {$(
        impl<T: Num, $($B: Axis,)? C: Axis, $($N: Axis),*> Arr<T, ($($B,)? C, $($N),*)> {
            #[doc = concat!("A convolution of ", $dims, ", over channels: the axis before those of places. See [`Conv`].")]
            pub fn $name<D: Axis, $($K: Axis),*>(
                self,
                weights: Arr<T, (D, C, $($K),*)>, // new channels, channels, distances
            ) -> Conv<T, ($($B,)? C, $($N),*), (D, C, $($K),*)> {
                Conv { array: self, weights }
            }
        }
        impl<T: Num, $($B: Axis,)? C: Axis, D: Axis, $($N: Axis, $K: Axis),*>
            Conv<T, ($($B,)? C, $($N),*), (D, C, $($K),*)>
        {
            /// As many places as there were, with zeros outside. The weights are centred; `(K - 1) / 2` of them reach back.
            #[track_caller]
            pub fn same(self) -> Arr<T, ($($B,)? D, $($N),*)> {
                Arr::new(self.plan().same(Location::caller(), 1))
            }

            /// The first of each `STEP` places of `same`, in each direction.
            #[track_caller]
            pub fn same_by<const STEP: usize>(self) -> Arr<T, ($($B,)? D, $(Stride<$N, STEP>),*)> {
                const { assert!(STEP > 1, "a step of 1 is `same()`") };
                Arr::new(self.plan().same(Location::caller(), STEP as u64))
            }

            /// The places from which all weights see the array. Their axes get their extents from that; of these,
            /// [`step_by`](crate::Along::step_by) takes some.
            #[track_caller]
            pub fn valid<$($O: Axis),*>(self) -> Arr<T, ($($B,)? D, $($O),*)> {
                Arr::new(self.plan().valid(Location::caller(), &[$(Extent::of::<$O>()),*]))
            }
        }
    )*};
}
convolutions! {
    conv1d "one dimension" () [N K O];
    conv1d "one dimension, of many arrays" (B) [N K O];
    conv2d "two dimensions" () [H K O] [W L P];
    conv2d "two dimensions, of many arrays" (B) [H K O] [W L P];
}
