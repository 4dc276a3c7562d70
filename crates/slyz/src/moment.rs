//! Means, variances and norms: sums of floats and of their squares, as they are recorded. Nothing here is generic over user types.
//!
//! Halves are added up in `f32`, where neither sums nor counts overflow.

use crate::extent::Extent;
use crate::lines::ScalarAt;
use crate::record::{self, MonoidParts, apply, cast, constant};
use crate::trace::{Handle, Loc, Ty};
use slyz_sir::ops::Operator;
use slyz_sir::types::Scalar;

/// What is told of many numbers.
#[derive(Clone, Copy)]
pub(crate) enum Moment {
    Mean,
    /// The mean square distance from the mean. The sum is divided by that many less than there are.
    Variance(i64),
    /// The root of the variance.
    Deviation(i64),
    /// The root of the sum of squares.
    Norm,
}

/// The moment of `value(p)` over all positions.
pub(crate) fn moment(at: Loc, ty: Ty, axes: &[Extent], what: Moment, value: ScalarAt) -> Handle {
    let wide = if ty.bytes() < 4 { Ty::F32 } else { ty };
    let of = Sums { at, wide, axes };
    let value = &mut |position: &[Handle]| cast(at, wide, value(position));
    let found = match what {
        Moment::Mean => of.mean(value),
        Moment::Variance(less) => of.variance(less, value),
        Moment::Deviation(less) => apply(at, Operator::Sqrt, &[of.variance(less, value)]),
        Moment::Norm => apply(at, Operator::Sqrt, &[of.sum(&mut |position| of.square(value(position)))]),
    };
    cast(at, ty, found)
}

/// Sums over axes, in a type that is wide enough.
struct Sums<'a> {
    at: Loc,
    wide: Ty,
    axes: &'a [Extent],
}

impl Sums<'_> {
    fn sum(&self, value: ScalarAt) -> Handle {
        let parts = MonoidParts {
            neutral: vec![constant(self.at, Scalar::from_f64(self.wide, 0.0))],
            tys: vec![self.wide],
            combine: &mut |both| vec![apply(self.at, Operator::Add, both)],
            commutative: true,
        };
        record::fold(self.at, self.axes, &mut |position| vec![value(position)], parts)[0]
    }

    fn square(&self, x: Handle) -> Handle {
        apply(self.at, Operator::Mul, &[x, x])
    }

    /// NaN when there is nothing.
    fn mean(&self, value: ScalarAt) -> Handle {
        let total = self.sum(value);
        let count = cast(self.at, self.wide, record::count(self.at, self.axes));
        apply(self.at, Operator::Div, &[total, count])
    }

    /// NaN when there are no more than `less`. The mean is taken off first: a difference of sums of squares would cancel.
    fn variance(&self, less: i64, value: ScalarAt) -> Handle {
        let mean = self.mean(value);
        let squares = self.sum(&mut |position| {
            let distance = apply(self.at, Operator::Sub, &[value(position), mean]);
            self.square(distance)
        });
        let zero = constant(self.at, Scalar::i64(0));
        let left = record::shift(self.at, record::count(self.at, self.axes), -less);
        let count = cast(self.at, self.wide, apply(self.at, Operator::Max, &[left, zero]));
        apply(self.at, Operator::Div, &[squares, count])
    }
}
