//! An array as lines along one of its axes, and what is recorded for them: folds, scans, best positions, other views, lines
//! one after another, and steps around.
//!
//! Axes are told by number here, and a position is a list of handles, so one copy of each serves every rank; nothing is
//! generic over user types.

use crate::extent::Extent;
use crate::record::{self, MonoidParts, Sorted, Spot, apply, constant, extent, read, select, shift, tabulate};
use crate::trace::{Handle, Loc, Ty, here};
use slyz_sir::ops::{Operator, Unit};
use slyz_sir::types::Scalar;

/// A number at each position.
pub(crate) type ScalarAt<'a> = &'a mut dyn FnMut(&[Handle]) -> Handle;

/// The element made of values that were sorted; it may ask for the element at a place.
pub(crate) type Unsorted<'a> = &'a dyn Fn(Vec<Handle>, &dyn Fn(Handle) -> Vec<Handle>) -> Vec<Handle>;

/// An array whose elements have `count` leaves, and the axis to go along.
pub(crate) struct Lines {
    pub array: Handle,
    pub count: usize,
    pub axes: Vec<Extent>,
    pub number: usize,
}

impl Lines {
    /// The axis to go along.
    fn axis(&self) -> &Extent {
        &self.axes[self.number]
    }

    /// The other axes.
    fn rest(&self) -> Vec<Extent> {
        without(&self.axes, self.number)
    }

    /// The element at a place along the axis, and a position on the others.
    fn read(&self, at: Loc, rest: &[Handle], place: Handle) -> Vec<Handle> {
        let mut position = rest.to_vec();
        position.insert(self.number, place);
        read(at, self.array, self.count, &position)
    }

    /// The elements combined along the axis.
    pub fn fold(&self, at: Loc, parts: MonoidParts) -> Handle {
        let at = here(at);
        let MonoidParts { neutral, tys, combine, commutative } = parts;
        tabulate(at, &self.rest(), &mut |rest| {
            let parts = MonoidParts { neutral: neutral.clone(), tys: tys.clone(), combine: &mut *combine, commutative };
            let body = &mut |place: &[Handle]| self.read(at, rest, place[0]);
            record::fold(at, std::slice::from_ref(self.axis()), body, parts)
        })
    }

    /// One number for each line: `f` gets the axis to go along, and the elements of the line.
    pub fn each(&self, at: Loc, f: &dyn Fn(&[Extent], ScalarAt) -> Handle) -> Handle {
        let at = here(at);
        tabulate(at, &self.rest(), &mut |rest| {
            let value = &mut |place: &[Handle]| self.read(at, rest, place[0])[0];
            vec![f(std::slice::from_ref(self.axis()), value)]
        })
    }

    /// The position of the best value along the axis.
    pub fn best(&self, at: Loc, ty: Ty, better: Operator) -> Handle {
        let at = here(at);
        tabulate(at, &self.rest(), &mut |rest| {
            let value = &mut |place: &[Handle]| self.read(at, rest, place[0])[0];
            best(at, std::slice::from_ref(self.axis()), ty, better, value)
        })
    }

    /// Prefixes along the axis, with the element itself or, exclusively, without. The SIR scans along the last axis: for
    /// another one the array is scanned with that axis last, and read back.
    pub fn scan(&self, at: Loc, parts: MonoidParts, exclusive: bool) -> Handle {
        let at = here(at);
        let mut turned = self.rest();
        turned.push(self.axis().clone());
        let neutral = parts.neutral.clone();
        let body = &mut |position: &[Handle]| match position.split_last() {
            Some((&place, rest)) => self.read(at, rest, place),
            None => vec![],
        };
        let scanned = record::scan(at, &turned, body, parts);
        if self.number + 1 == self.axes.len() && !exclusive {
            return scanned;
        }
        tabulate(at, &self.axes, &mut |position| {
            let mut turned = without(position, self.number);
            let place = position[self.number];
            if !exclusive {
                turned.push(place);
                return read(at, scanned, self.count, &turned);
            }
            let zero = constant(at, Scalar::i64(0));
            turned.push(apply(at, Operator::Max, &[shift(at, place, -1), zero]));
            let before = read(at, scanned, self.count, &turned);
            select(at, apply(at, Operator::Eq, &[place, zero]), &neutral, &before)
        })
    }

    /// The values that `f` gives of each place and element along the axis, in the order of its words. The SIR sorts along the last
    /// axis: here it is the last one, whichever it was.
    pub fn sorted(&self, at: Loc, f: &mut dyn FnMut(Handle, Vec<Handle>) -> Sorted) -> Handle {
        let at = here(at);
        let mut turned = self.rest();
        turned.push(self.axis().clone());
        record::sort(at, &turned, &mut |position| match position.split_last() {
            Some((&place, rest)) => f(place, self.read(at, rest, place)),
            None => (vec![], vec![]),
        })
    }

    /// Is what [`sorted`](Lines::sorted) gives in the order of our axes?
    pub fn are_last(&self) -> bool {
        self.number + 1 == self.axes.len()
    }

    /// What becomes of the `count` values that were sorted, with the axis where it was. `f` may ask for the element at a place.
    pub fn unsorted(&self, at: Loc, sorted: Handle, count: usize, f: Unsorted) -> Handle {
        let at = here(at);
        tabulate(at, &self.axes, &mut |position| {
            let rest = without(position, self.number);
            let turned = [&rest[..], &[position[self.number]]].concat();
            f(read(at, sorted, count, &turned), &|place| self.read(at, &rest, place))
        })
    }

    /// The elements at the places that an array has, whose axis is another one.
    pub fn gather(&self, at: Loc, onto: &Extent, places: Handle) -> Handle {
        let at = here(at);
        tabulate(at, &self.onto(onto), &mut |position| {
            let place = read(at, places, 1, position)[0];
            self.read(at, &without(position, self.number), place)
        })
    }

    /// The axes with another one to go along.
    fn onto(&self, axis: &Extent) -> Vec<Extent> {
        let mut axes = self.axes.clone();
        axes[self.number] = axis.clone();
        axes
    }

    /// Another view: the axis becomes `onto`, and `from` gives the old place of a new one.
    pub fn view(&self, at: Loc, onto: &Extent, from: &dyn Fn(Handle) -> Handle) -> Handle {
        let at = here(at);
        tabulate(at, &self.onto(onto), &mut |position| {
            let place = from(position[self.number]);
            self.read(at, &without(position, self.number), place)
        })
    }

    /// So many places before and after, where the element is `default`.
    pub fn pad(&self, at: Loc, before: &Extent, after: &Extent, default: &[Handle]) -> Handle {
        let at = here(at);
        let onto = before.clone() + (self.axis().clone() + after.clone());
        tabulate(at, &self.onto(&onto), &mut |position| {
            let mut spots: Vec<Spot> = position.iter().map(|&number| Spot::inside(number)).collect();
            let place = apply(at, Operator::Sub, &[position[self.number], extent(at, before)]);
            spots[self.number] = Spot::anywhere(place);
            record::read_or(at, self.array, &self.axes, &spots, default)
        })
    }

    /// As many elements as `onto` has positions, from `start` on, or from the nearest place from which they are all there.
    pub fn window(&self, at: Loc, onto: &Extent, start: Handle) -> Handle {
        record::require_inside(at, 0, onto, self.axis());
        let zero = constant(at, Scalar::i64(0));
        let last = apply(at, Operator::Sub, &[extent(at, self.axis()), extent(at, onto)]);
        let start = apply(at, Operator::Clamp, &[start, zero, last]);
        self.view(at, onto, &|place| apply(at, Operator::Add, &[place, start]))
    }

    /// As many elements as `onto` has positions, each `step` after the one before, from `start` on.
    pub fn strided(&self, at: Loc, onto: &Extent, start: u64, step: u64) -> Handle {
        record::require_strided(at, start, step, onto, self.axis());
        let start = start.min(i64::MAX as u64) as i64;
        self.view(at, onto, &|place| shift(at, times(at, place, step), start))
    }

    /// The first of each `step` elements.
    pub fn every(&self, at: Loc, step: u64) -> Handle {
        self.view(at, &self.axis().clone().ceil_div(step), &|place| times(at, place, step))
    }

    /// The elements moved on around the axis, as far as `by` says.
    pub fn roll(&self, at: Loc, by: Roll) -> Handle {
        let at = here(at);
        let back = match by {
            Roll::Constant(by) => by.checked_neg().ok_or_else(|| constant(at, Scalar::i64(by))),
            Roll::Computed(by) => Err(by),
        };
        // Less than one turn, and the same everywhere.
        let back = back.map_err(|by| record::wrap(at, self.axis(), by));
        tabulate(at, &self.axes, &mut |position| {
            let place = position[self.number];
            let rest = without(position, self.number);
            let turn = match back {
                Ok(back) => Turn::of(at, self.axis(), place, back),
                Err(step) => Turn::back(at, self.axis(), place, step),
            };
            if self.number + 1 == self.axes.len() {
                return turn.read(at, self.array, self.count, &rest);
            }
            self.read(at, &rest, turn.place(at))
        })
    }

    /// The elements moved on `by` places, with `default` where none comes from.
    pub fn shift(&self, at: Loc, by: Handle, default: &[Handle]) -> Handle {
        let at = here(at);
        tabulate(at, &self.axes, &mut |position| {
            let mut spots: Vec<Spot> = position.iter().map(|&number| Spot::inside(number)).collect();
            let from = apply(at, Operator::Sub, &[position[self.number], by]);
            spots[self.number] = Spot { number: from, reached: true, inside: false };
            record::read_or(at, self.array, &self.axes, &spots, default)
        })
    }

    /// Each element as many times as `times` has positions.
    pub fn repeat(&self, at: Loc, times: &Extent) -> Handle {
        let onto = self.axis().clone() * times.clone();
        self.view(at, &onto, &|place| apply(at, Operator::Div, &[place, extent(at, times)]))
    }

    /// All elements, as many times as `times` has positions.
    pub fn tile(&self, at: Loc, times: &Extent) -> Handle {
        let onto = times.clone() * self.axis().clone();
        self.view(at, &onto, &|place| apply(at, Operator::Rem, &[place, extent(at, self.axis())]))
    }

    /// The elements of these lines, then those of others, whose other axes are the same.
    pub fn concat(&self, at: Loc, other: &Lines) -> Handle {
        let at = here(at);
        let onto = self.axis().clone() + other.axis().clone();
        tabulate(at, &self.onto(&onto), &mut |position| {
            let rest = without(position, self.number);
            let first = &mut |place| self.read(at, &rest, place);
            let second = &mut |place| other.read(at, &rest, place);
            either(at, position[self.number], self.axis(), self.count, first, second)
        })
    }

    /// Each element less the one before, on an axis that is one shorter.
    pub fn differences(&self, at: Loc, onto: &Extent) -> Handle {
        let at = here(at);
        record::require_equal(at, &(onto.clone() + Extent::fixed(1)), self.axis());
        tabulate(at, &self.onto(onto), &mut |position| {
            let rest = without(position, self.number);
            let place = position[self.number];
            let before = self.read(at, &rest, place);
            let after = self.read(at, &rest, shift(at, place, 1));
            after.iter().zip(before).map(|(&after, before)| apply(at, Operator::Sub, &[after, before])).collect()
        })
    }

    /// The elements from the end of `before` on, on the axis `onto`, where the axis is one after the other.
    pub fn after(&self, at: Loc, before: &Extent, onto: &Extent) -> Handle {
        self.view(at, onto, &|place| apply(at, Operator::Add, &[place, extent(at, before)]))
    }

    /// As many elements as `onto` has positions, from `start` on.
    pub fn slice(&self, at: Loc, onto: &Extent, start: u64) -> Handle {
        record::require_inside(at, start, onto, self.axis());
        let start = start.min(i64::MAX as u64) as i64;
        self.view(at, onto, &|place| shift(at, place, start))
    }

    /// The elements from the last to the first.
    pub fn reverse(&self, at: Loc) -> Handle {
        self.view(at, self.axis(), &|place| reversed(at, self.axis(), place))
    }
}

/// How far elements are moved.
pub(crate) enum Roll {
    Constant(i64),
    Computed(Handle),
}

/// A place times a constant.
fn times(at: Loc, place: Handle, by: u64) -> Handle {
    let by = Scalar::i64(by.min(i64::MAX as u64) as i64);
    apply(at, Operator::Mul, &[place, constant(at, by)])
}

/// Case analysis of a position on one axis after another. Both positions travel as arguments of the branches: each is inside only
/// on its own side, so nothing that depends on one may be computed outside of that side.
pub(crate) fn either(
    at: Loc,
    position: Handle,
    first: &Extent,
    count: usize,
    left: &mut dyn FnMut(Handle) -> Vec<Handle>,
    right: &mut dyn FnMut(Handle) -> Vec<Handle>,
) -> Vec<Handle> {
    let extent = extent(at, first);
    let is_left = apply(at, Operator::Lt, &[position, extent]);
    let rest = apply(at, Operator::Sub, &[position, extent]);
    let then = &mut |positions: &[Handle]| left(positions[0]);
    let otherwise = &mut |positions: &[Handle]| right(positions[1]);
    record::branch(at, is_left, &[position, rest], &[Ty::I64; 2], count, then, otherwise)
}

fn without<T: Clone>(list: &[T], number: usize) -> Vec<T> {
    let mut rest = list.to_vec();
    rest.remove(number);
    rest
}

/// The place counted from the other end of the axis.
pub(crate) fn reversed(at: Loc, axis: &Extent, place: Handle) -> Handle {
    apply(at, Operator::Sub, &[shift(at, extent(at, axis), -1), place])
}

/// The position of the best value. Ties go to the first position, in row-major order; a NaN wins only against NaNs.
///
/// The order on (value, position) is total, so the monoid is commutative. Its neutral element loses against every
/// position: a NaN for floats, the worst value for integers, at a position past all others.
pub(crate) fn best(at: Loc, axes: &[Extent], ty: Ty, better: Operator, value: ScalarAt) -> Vec<Handle> {
    axes.iter().for_each(|axis| record::require_positions(at, axis));
    if axes.len() > 1 {
        record::require_countable(&Extent::product(axes));
    }
    let worst = match better {
        Operator::Gt => Unit::Lowest,
        _ => Unit::Highest,
    };
    let worst = if ty.is_float() { Some(Scalar::from_f64(ty, f64::NAN)) } else { worst.at(ty) };
    let neutral = vec![worst.map_or(Handle::POISON, |worst| constant(at, worst)), constant(at, Scalar::i64(i64::MAX))];
    let of = |operator: Operator, a: Handle, b: Handle| apply(at, operator, &[a, b]);
    let combine = &mut |both: &[Handle]| {
        let a = both[0];
        let i = both[1];
        let b = both[2];
        let j = both[3];
        let mut wins = of(better, a, b);
        let mut ties = of(Operator::Eq, a, b);
        if ty.is_float() {
            let a = apply(at, Operator::IsNan, &[a]);
            let b = apply(at, Operator::IsNan, &[b]);
            let number = apply(at, Operator::Not, &[a]);
            wins = of(Operator::Or, wins, of(Operator::And, number, b));
            ties = of(Operator::Or, ties, of(Operator::And, a, b));
        }
        let first = of(Operator::And, ties, of(Operator::Lt, i, j));
        select(at, of(Operator::Or, wins, first), &[a, i], &[b, j])
    };
    let parts = MonoidParts { neutral, tys: vec![ty, Ty::I64], combine, commutative: true };
    let body = &mut |position: &[Handle]| vec![value(position), record::ravel(at, axes, position)];
    let number = record::fold(at, axes, body, parts)[1];
    record::unravel(at, axes, number)
}

/// A step around an axis that is a circle. The distance modulo the extent is the same everywhere, so it is computed once,
/// and what is left is less than one turn: the place is `near`, or one turn away from it.
pub(crate) struct Turn {
    near: Handle,
    /// One turn back from `near` when that is past the end, one turn on when it is before the start.
    other: Handle,
    inside: Handle,
}

impl Turn {
    pub fn of(at: Loc, axis: &Extent, from: Handle, by: i64) -> Turn {
        let of = |operator: Operator, a: Handle, b: Handle| apply(at, operator, &[a, b]);
        let extent = extent(at, axis);
        let step = of(Operator::Rem, constant(at, Scalar::i64(by)), extent);
        let near = of(Operator::Add, from, step);
        let (inside, turn) = match by < 0 {
            true => (of(Operator::Ge, near, constant(at, Scalar::i64(0))), Operator::Add),
            false => (of(Operator::Lt, near, extent), Operator::Sub),
        };
        Turn { near, other: of(turn, near, extent), inside }
    }

    /// A step back that is computed, and less than one turn.
    pub fn back(at: Loc, axis: &Extent, from: Handle, step: Handle) -> Turn {
        let of = |operator: Operator, a: Handle, b: Handle| apply(at, operator, &[a, b]);
        let near = of(Operator::Sub, from, step);
        let inside = of(Operator::Ge, near, constant(at, Scalar::i64(0)));
        Turn { near, other: of(Operator::Add, near, extent(at, axis)), inside }
    }

    /// The place.
    pub fn place(&self, at: Loc) -> Handle {
        apply(at, Operator::Select, &[self.inside, self.near, self.other])
    }

    /// The element there, of an array whose last axis this is. Each side reads neighbours in memory; a selected place would
    /// be a gather. Both places travel as arguments of the branch: each is inside only on its own side.
    pub fn read(&self, at: Loc, array: Handle, count: usize, outer: &[Handle]) -> Vec<Handle> {
        let side = |place: Handle| read(at, array, count, &[outer, &[place]].concat());
        let near = &mut |places: &[Handle]| side(places[0]);
        let other = &mut |places: &[Handle]| side(places[1]);
        record::branch(at, self.inside, &[self.near, self.other], &[Ty::I64; 2], count, near, other)
    }
}
