//! An array as lines along one of its axes, and what is recorded for them: folds, scans, means, best positions, other views, and
//! steps around.
//!
//! Axes are told by number here, and a position is a list of handles, so one copy of each serves every rank; nothing is
//! generic over user types.

use crate::extent::Extent;
use crate::record::{self, MonoidParts, apply, cast, constant, extent, read, select, shift, tabulate};
use crate::trace::{Handle, Loc, Ty, here};
use slyz_sir::ops::{Operator, Unit};
use slyz_sir::types::Scalar;

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

    /// The means along the axis, of floats of that type.
    pub fn mean(&self, at: Loc, ty: Ty) -> Handle {
        let at = here(at);
        tabulate(at, &self.rest(), &mut |rest| {
            let value = &mut |place: &[Handle]| self.read(at, rest, place[0])[0];
            vec![mean(at, ty, std::slice::from_ref(self.axis()), value)]
        })
    }

    /// The position of the best value along the axis.
    pub fn best(&self, at: Loc, ty: Ty, better: Operator) -> Handle {
        let at = here(at);
        tabulate(at, &self.rest(), &mut |rest| {
            vec![best(at, self.axis(), ty, better, &mut |place| self.read(at, rest, place)[0])]
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

    /// Another view: the axis becomes `onto`, and `from` gives the old place of a new one.
    pub fn view(&self, at: Loc, onto: &Extent, from: &dyn Fn(Handle) -> Handle) -> Handle {
        let at = here(at);
        let mut axes = self.axes.clone();
        axes[self.number] = onto.clone();
        tabulate(at, &axes, &mut |position| {
            let place = from(position[self.number]);
            self.read(at, &without(position, self.number), place)
        })
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

fn without<T: Clone>(list: &[T], number: usize) -> Vec<T> {
    let mut rest = list.to_vec();
    rest.remove(number);
    rest
}

/// The place counted from the other end of the axis.
pub(crate) fn reversed(at: Loc, axis: &Extent, place: Handle) -> Handle {
    apply(at, Operator::Sub, &[shift(at, extent(at, axis), -1), place])
}

/// The mean of `value(p)` over all positions, which is NaN when there are none. Halves are added up in `f32`, where
/// neither the sum nor the count overflows.
pub(crate) fn mean(at: Loc, ty: Ty, axes: &[Extent], value: &mut dyn FnMut(&[Handle]) -> Handle) -> Handle {
    let wide = if ty.bytes() < 4 { Ty::F32 } else { ty };
    let parts = MonoidParts {
        neutral: vec![constant(at, Scalar::from_f64(wide, 0.0))],
        tys: vec![wide],
        combine: &mut |both| vec![apply(at, Operator::Add, both)],
        commutative: true,
    };
    let total = record::fold(at, axes, &mut |position| vec![cast(at, wide, value(position))], parts)[0];
    cast(at, ty, apply(at, Operator::Div, &[total, cast(at, wide, record::count(at, axes))]))
}

/// The position of the best value. Ties go to the first position; a NaN wins only against NaNs.
///
/// The order on (value, position) is total, so the monoid is commutative. Its neutral element loses against every
/// position: a NaN for floats, the worst value for integers, at a position past all others.
pub(crate) fn best(
    at: Loc,
    axis: &Extent,
    ty: Ty,
    better: Operator,
    value: &mut dyn FnMut(Handle) -> Handle,
) -> Handle {
    record::require_positions(at, axis);
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
    let body = &mut |position: &[Handle]| vec![value(position[0]), position[0]];
    record::fold(at, std::slice::from_ref(axis), body, parts)[1]
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
