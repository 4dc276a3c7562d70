//! Stencils: each element from its neighbours, with a rule for the border.

use crate::arr::{Arr, tabulate_at};
use crate::elem::{Elem, Lift, handles, tys_of, value_of};
use crate::extent::Extent;
use crate::lines::Turn;
use crate::record;
use crate::shape::Shape;
use crate::trace::{Handle, Loc};
use slyz_sir::ops::Operator;
use std::panic::Location;

/// What a stencil sees outside of the array.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>| x.stencil(Border::Value(9.0), |x| x(-1) + x(1)))?;
/// assert_eq!(f.call(&[1.0f32, 2.0])?.to_vec()?, [11.0, 10.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border<T> {
    /// The nearest element.
    Clamp,
    /// The element from the other side.
    Wrap,
    /// Always this.
    Value(T),
}

impl<T: Elem + Lift<T>, S: Shape> Arr<T, S> {
    /// Each element from the elements around it: `u((0, -1))` is the left neighbour.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn heat(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    ///     u.stencil(Border::Clamp, |u| {
    ///         u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0)))
    ///     })
    /// }
    /// assert_eq!(compile(heat)?.call(&[[1.0f32, 1.0], [1.0, 1.0]])?.to_vec()?, [1.0; 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn stencil<U: Elem, V: Lift<U>>(
        self,
        border: Border<T>,
        f: impl Fn(&dyn Fn(S::Off) -> T::Exp) -> V,
    ) -> Arr<U, S> {
        let at: Loc = Location::caller();
        let axes = S::axes();
        let outside = match border {
            Border::Value(x) => crate::trace::on_behalf(at, || handles(x.lift())),
            Border::Clamp | Border::Wrap => vec![],
        };
        let rule = match border {
            Border::Clamp => Rule::Clamp,
            Border::Wrap => Rule::Wrap,
            Border::Value(_) => Rule::Value(&outside),
        };
        let count = tys_of::<T>().len();
        tabulate_at(at, |p: S::Pos| {
            let position = handles(p);
            f(&|off| value_of(&neighbour(at, self.handle(), count, &axes, &position, &S::offsets(off), &rule)))
        })
    }
}

enum Rule<'a> {
    Clamp,
    Wrap,
    Value(&'a [Handle]),
}

/// The element at an offset. The position is on the axes, so none of them is empty.
fn neighbour(
    at: Loc,
    array: Handle,
    count: usize,
    axes: &[Extent],
    position: &[Handle],
    offsets: &[i64],
    rule: &Rule,
) -> Vec<Handle> {
    let mut inside: Option<Handle> = None;
    let mut place = vec![];
    let mut around = None;
    for (number, ((axis, &from), &by)) in axes.iter().zip(position).zip(offsets).enumerate() {
        if by == 0 {
            place.push(from);
            continue;
        }
        let near = record::shift(at, from, by);
        place.push(match rule {
            Rule::Wrap => {
                let turn = Turn::of(at, axis, from, by);
                if number + 1 == axes.len() {
                    around = Some(turn);
                    from
                } else {
                    turn.place(at)
                }
            }
            Rule::Clamp | Rule::Value(_) => record::clamp(at, axis, near),
        });
        if let Rule::Value(_) = rule {
            let here = record::inside(at, axis, near);
            inside = Some(inside.map_or(here, |before| record::apply(at, Operator::And, &[before, here])));
        }
    }
    if let Some(turn) = around {
        place.pop();
        return turn.read(at, array, count, &place);
    }
    let element = record::read(at, array, count, &place);
    match (rule, inside) {
        (Rule::Value(outside), Some(inside)) => record::select(at, inside, &element, outside),
        (Rule::Clamp | Rule::Wrap | Rule::Value(_), _) => element,
    }
}
