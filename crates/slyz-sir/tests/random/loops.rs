//! Loops that carry arrays, and updates of arrays.

use super::{Axis, BUILT, Random};
use slyz_sir::build::Region;
use slyz_sir::code::{Body, Id, Monoid, Op, Type};
use slyz_sir::ops::{Operator, TABLE};
use slyz_sir::types::{Scalar, Ty};

impl Random {
    /// A counted or conditional loop whose state has an array or two, and perhaps a scalar; nothing where there is no array.
    pub(super) fn array_loop(&mut self, depth: u32) -> Vec<Id> {
        let Some(first) = self.known_array() else { return self.tabulate(depth) };
        let mut init = vec![first];
        if self.rng.chance(50) {
            init.extend(self.known_array());
        }
        if self.rng.chance(30) {
            // One of the same type, so that they can change places.
            init.push(first);
        }
        if self.rng.chance(40) {
            let ty = self.rng.ty();
            init.push(self.scalar(ty, 1));
        }
        let state: Vec<Type> = init.iter().map(|&id| self.b.ty(id).cloned().expect(BUILT)).collect();
        let turns = self.rng.below(4);
        self.around *= turns.max(1);
        let ids = if self.rng.chance(70) {
            let any = self.scalar(Ty::I32, 1);
            let [zero, one, most] = [0, 1, turns as i128].map(|n| self.int(Ty::I32, n));
            let hi = if self.rng.chance(60) { most } else { self.apply(Operator::Clamp, &[any, zero, most]) };
            let params = self.open_state(&[&[Type::Scalar(Ty::I32)], &state[..]].concat());
            let body = self.turn(&params[1..], &state, depth);
            self.made(Op::For { lo: zero, hi, step: one, init, body })
        } else {
            let [zero, one, most] = [0, 1, turns as i128].map(|n| self.int(Ty::U8, n));
            let state = [&state[..], &[Type::Scalar(Ty::U8)]].concat();
            init.push(zero);
            let params = self.open_state(&state);
            let count = params[params.len() - 1];
            let more = self.apply(Operator::Lt, &[count, most]);
            let also = self.scalar(Ty::Bool, depth.min(1));
            let both = self.apply(Operator::And, &[more, also]);
            let cond = self.close(&[both]);
            let params = self.open_state(&state);
            let (&count, rest) = params.split_last().expect("a counter");
            let next = self.apply(Operator::Add, &[count, one]);
            let mut results = self.turn_results(rest, &state[..rest.len()], depth);
            results.push(next);
            let body = self.close(&results);
            self.made(Op::While { init, cond, body })
        };
        self.around /= turns.max(1);
        ids
    }

    fn open_state(&mut self, types: &[Type]) -> Vec<Id> {
        let ids = self.b.open(Region::Loop, types);
        for (&id, ty) in ids.iter().zip(types) {
            if ty.shape().is_empty() { self.scalars.push(id) } else { self.arrays.push(id) }
        }
        ids
    }

    fn turn(&mut self, params: &[Id], state: &[Type], depth: u32) -> Body {
        let results = self.turn_results(params, state, depth);
        self.close(&results)
    }

    fn turn_results(&mut self, params: &[Id], state: &[Type], depth: u32) -> Vec<Id> {
        let mut results = vec![];
        for (&param, ty) in params.iter().zip(state) {
            if ty.shape().is_empty() {
                results.push(self.scalar(ty.elem(), depth.min(2)));
                continue;
            }
            let mut array = param;
            for _ in 0..self.rng.below(3) {
                array = self.updated(array, depth).unwrap_or(array);
            }
            let alike: Vec<Id> = self.arrays.iter().copied().filter(|&id| self.b.ty(id) == Some(ty)).collect();
            let other = self.rng.pick(&alike).copied().filter(|&id| self.b.in_scope(id));
            results.push(if self.rng.chance(20) { other.unwrap_or(array) } else { array });
        }
        results
    }

    fn known_array(&mut self) -> Option<Id> {
        let here: Vec<Id> = self.arrays.iter().copied().filter(|&id| self.b.in_scope(id)).collect();
        let array = *self.rng.pick(&here)?;
        self.axes_of(array).map(|_| array)
    }

    /// The axes of an array, if all of them are known and they are not too many positions for here.
    fn axes_of(&self, array: Id) -> Option<Vec<Axis>> {
        let shape = self.b.ty(array)?.shape();
        let axis = |size: &slyz_sir::size::Size| self.axes.iter().find(|axis| axis.size == *size).cloned();
        let axes: Vec<Axis> = shape.iter().map(axis).collect::<Option<_>>()?;
        (super::positions_of(&axes).saturating_mul(self.around) <= super::LONG).then_some(axes)
    }

    /// The array with some of its elements changed.
    pub(super) fn updated(&mut self, array: Id, depth: u32) -> Option<Id> {
        let ty = self.ty_of(array);
        let axes = self.axes_of(array)?;
        if self.rng.chance(40) {
            return Some(self.sent_onto(array, ty, depth));
        }
        if self.rng.chance(10) && depth > 0 {
            let ids = self.array_loop(depth - 1);
            let same = |id: &&Id| self.b.ty(**id) == self.b.ty(array);
            return ids.iter().find(same).copied();
        }
        let own = self.open_positions(&axes);
        let old = self.made(Op::At { array, index: own.clone() })[0];
        let value = self.scalar(ty, depth.min(2));
        let value = match self.rng.below(3) {
            0 => value,
            // Only in a part of the array, which may be told by a position.
            1 => {
                let cond = self.scalar(Ty::Bool, 1);
                self.apply(Operator::Select, &[cond, value, old])
            }
            _ => {
                let pivot = self.scalar(Ty::I64, 0);
                let at = own[self.rng.below(own.len() as u64) as usize];
                let value = if self.rng.chance(50) { self.apart_at(at, pivot, value, ty) } else { value };
                let tests = [Operator::Gt, Operator::Lt, Operator::Ne, Operator::Ge, Operator::Le];
                let test = tests[self.rng.below(5) as usize];
                let cond = self.apply(test, &[at, pivot]);
                self.apply(Operator::Select, &[cond, value, old])
            }
        };
        let body = self.close_positions(&axes, &[value]);
        Some(self.made(Op::Tabulate { shape: super::sizes_of(&axes), body })[0])
    }

    /// The value, but another where the position is just the pivot, or is not.
    fn apart_at(&mut self, at: Id, pivot: Id, value: Id, ty: Ty) -> Id {
        let test = if self.rng.chance(70) { Operator::Eq } else { Operator::Ne };
        let cond = self.apply(test, &[pivot, at]);
        let other = self.scalar(ty, 1);
        self.apply(Operator::Select, &[cond, other, value])
    }

    /// A scatter that starts from the array.
    fn sent_onto(&mut self, array: Id, ty: Ty, depth: u32) -> Id {
        let target = self.b.ty(array).expect(BUILT).shape().to_vec();
        let monoid = self.monoid_on(ty);
        let axes = match self.rng.below(3) {
            0 => vec![Axis { size: slyz_sir::size::Size::Const(1), extent: 1 }],
            _ => self.shape(),
        };
        let params = self.open_positions(&axes);
        let five = self.int(Ty::I64, 5);
        let mut results = vec![];
        for _ in &target {
            let any = self.scalar(Ty::I64, 1);
            results.push(match self.rng.below(3) {
                0 => params[0],
                _ => self.apply(Operator::Rem, &[any, five]),
            });
        }
        results.push(self.scalar(ty, depth.min(2)));
        let body = self.close_positions(&axes, &results);
        self.made(Op::Scatter { shape: super::sizes_of(&axes), body, target, onto: vec![array], monoid })[0]
    }

    /// An operator that the type has, or the last writer.
    fn monoid_on(&mut self, ty: Ty) -> Monoid {
        let exact = self.exact && ty.is_float();
        let fits =
            |op: &Operator| op.row().associative && op.row().domain.has(ty) && op.row().identity.at(ty).is_some();
        let operators: Vec<Operator> = TABLE.iter().map(|row| row.operator).filter(fits).collect();
        let operator = self.rng.pick(&operators).copied().filter(|_| !exact && self.rng.chance(50));
        let unit = operator.and_then(|op| op.row().identity.at(ty)).unwrap_or(Scalar::from_int(ty, 0));
        let neutral = vec![self.constant(unit)];
        let params = self.open(Region::Loop, &[ty, ty]);
        let result = match operator {
            Some(operator) => self.apply(operator, &params),
            None => params[1],
        };
        let combine = self.close(&[result]);
        let commutative = operator.is_some_and(|operator| operator.row().commutative);
        Monoid { neutral, combine, commutative }
    }
}
