//! Scalar code: operators, conversions, calls, branches, loops and reads.

use super::Random;
use super::value::constant;
use slyz_sir::build::Region;
use slyz_sir::code::{FnId, Id, Op};
use slyz_sir::ops::{Operator, Signature, TABLE};
use slyz_sir::size::Size;
use slyz_sir::types::{Scalar, Ty};

impl Random {
    /// A scalar of that type, made here or found.
    pub(super) fn scalar(&mut self, ty: Ty, depth: u32) -> Id {
        if depth == 0 || self.budget == 0 {
            return self.leaf(ty);
        }
        self.budget -= 1;
        let depth = depth - 1;
        match self.rng.below(24) {
            0..=2 => self.leaf(ty),
            3 => {
                let from = self.rng.ty();
                let arg = self.scalar(from, depth);
                self.made(Op::Cast(ty, arg))[0]
            }
            4 if ty != Ty::Bool => self.bitcast(ty, depth),
            5..=8 => self.read(ty).unwrap_or_else(|| self.operator(ty, depth)),
            9 => self.call(ty, depth).unwrap_or_else(|| self.operator(ty, depth)),
            10..=11 => self.branch(ty, depth),
            12 => self.count(ty, depth),
            13 => self.repeat(ty, depth),
            14 if !self.in_function => {
                let ids = self.fold(depth.min(1));
                self.cast(ty, ids[0])
            }
            15 if !self.in_function && depth > 0 => {
                self.array_loop(depth - 1);
                self.read(ty).unwrap_or_else(|| self.operator(ty, depth))
            }
            _ => self.operator(ty, depth),
        }
    }

    fn leaf(&mut self, ty: Ty) -> Id {
        let known: Vec<Id> = self.scalars.iter().copied().filter(|&id| self.ty_of(id) == ty).collect();
        if let (true, Some(&id)) = (self.rng.chance(65), self.rng.pick(&known)) {
            return id;
        }
        if ty == Ty::I64 && !self.in_function && self.rng.chance(30) {
            let axis = self.axis();
            return self.made(Op::Extent(axis.size))[0];
        }
        // A constant, but not so often that most of the program is known beforehand.
        match self.rng.pick(&self.scalars) {
            Some(&other) if self.rng.chance(40) => self.cast(ty, other),
            _ => {
                let value = constant(&mut self.rng, ty);
                self.constant(value)
            }
        }
    }

    fn cast(&mut self, ty: Ty, arg: Id) -> Id {
        if self.ty_of(arg) == ty { arg } else { self.made(Op::Cast(ty, arg))[0] }
    }

    fn operator(&mut self, ty: Ty, depth: u32) -> Id {
        let operand = self.rng.ty();
        let fits = |op: Operator| {
            let row = op.row();
            match row.signature {
                Signature::Same | Signature::IntPower => row.domain.has(ty),
                Signature::Test => ty == Ty::Bool && row.domain.has(operand),
                Signature::Select => true,
            }
        };
        let operators: Vec<Operator> = TABLE.iter().map(|row| row.operator).filter(|&op| fits(op)).collect();
        let operator = *self.rng.pick(&operators).expect("`select` fits every type");
        let tys = match operator.row().signature {
            Signature::Same => vec![ty; operator.row().arity],
            Signature::Test => vec![operand; operator.row().arity],
            Signature::IntPower => vec![ty, Ty::I32],
            Signature::Select => vec![Ty::Bool, ty, ty],
        };
        let mut args: Vec<Id> = tys.iter().map(|&ty| self.scalar(ty, depth)).collect();
        if args.len() > 1 && tys[args.len() - 2] == tys[args.len() - 1] && self.rng.chance(8) {
            args[tys.len() - 1] = args[tys.len() - 2];
        }
        self.apply(operator, &args)
    }

    fn bitcast(&mut self, ty: Ty, depth: u32) -> Id {
        let same: Vec<Ty> = Ty::ALL.into_iter().filter(|t| t.bits() == ty.bits()).collect();
        let from = *self.rng.pick(&same).expect("the type itself");
        let mut arg = self.scalar(from, depth);
        if from.is_float() {
            // Which NaN it is would be seen.
            let (nan, zero) = (self.apply(Operator::IsNan, &[arg]), self.int(from, 0));
            arg = self.apply(Operator::Select, &[nan, zero, arg]);
        }
        self.made(Op::Bitcast(ty, arg))[0]
    }

    fn call(&mut self, ty: Ty, depth: u32) -> Option<Id> {
        let gives = |(_, _, results): &&(FnId, Vec<Ty>, Vec<Ty>)| results.contains(&ty);
        let known: Vec<(FnId, Vec<Ty>, Vec<Ty>)> = self.functions.iter().filter(gives).cloned().collect();
        let (function, params, results) = self.rng.pick(&known)?.clone();
        let args: Vec<Id> = params.iter().map(|&ty| self.scalar(ty, depth)).collect();
        let ids = self.made(Op::Call(function, args));
        results.iter().position(|&r| r == ty).map(|k| ids[k])
    }

    // ---- control

    fn branch(&mut self, ty: Ty, depth: u32) -> Id {
        let cond = self.scalar(Ty::Bool, depth);
        let tys: Vec<Ty> = (0..self.rng.below(3)).map(|_| self.rng.ty()).collect();
        let args: Vec<Id> = tys.iter().map(|&ty| self.leaf(ty)).collect();
        let results = [vec![ty], (0..self.rng.below(2)).map(|_| self.rng.ty()).collect()].concat();
        let mut side = || {
            let params = self.open(Region::Branch, &tys);
            let known: Vec<(Id, Size)> = self.positions.clone();
            for (param, arg) in params.iter().zip(&args) {
                let axis = known.iter().find(|(id, _)| id == arg);
                self.positions.extend(axis.map(|(_, size)| (*param, size.clone())));
            }
            let ids: Vec<Id> = results.iter().map(|&ty| self.scalar(ty, depth)).collect();
            self.close(&ids)
        };
        let (then, otherwise) = (side(), side());
        self.made(Op::If { cond, args, then, otherwise })[0]
    }

    fn count(&mut self, ty: Ty, depth: u32) -> Id {
        let ints = [Ty::I64, Ty::I32, Ty::U8, Ty::I16];
        let counter = *self.rng.pick(&ints).expect("not empty");
        let (zero, four) = (self.int(counter, 0), self.int(counter, 4));
        let any = self.leaf(counter);
        let end = self.rng.below(4) as i128;
        let hi =
            if self.rng.chance(50) { self.int(counter, end) } else { self.apply(Operator::Clamp, &[any, zero, four]) };
        let step = 1 + self.rng.below(2) as i128;
        let step = self.int(counter, step);
        let state = [vec![ty], (0..self.rng.below(2)).map(|_| self.rng.ty()).collect()].concat();
        let init: Vec<Id> = state.iter().map(|&ty| self.leaf(ty)).collect();
        self.open(Region::Loop, &[&[counter], &state[..]].concat());
        let next: Vec<Id> = state.iter().map(|&ty| self.scalar(ty, depth)).collect();
        let body = self.close(&next);
        self.made(Op::For { lo: zero, hi, step, init, body })[0]
    }

    /// A loop with a counter in its state, so that it ends.
    fn repeat(&mut self, ty: Ty, depth: u32) -> Id {
        let state = [ty, Ty::U8];
        let turns = self.rng.below(4) as i128;
        let (limit, one, start) = (self.int(Ty::U8, turns), self.int(Ty::U8, 1), self.int(Ty::U8, 0));
        let init = vec![self.leaf(ty), start];
        let params = self.open(Region::Loop, &state);
        let more = self.apply(Operator::Lt, &[params[1], limit]);
        let also = self.scalar(Ty::Bool, depth.min(1));
        let both = self.apply(Operator::And, &[more, also]);
        let cond = self.close(&[both]);
        let params = self.open(Region::Loop, &state);
        let value = self.scalar(ty, depth);
        let next = self.apply(Operator::Add, &[params[1], one]);
        let body = self.close(&[value, next]);
        self.made(Op::While { init, cond, body })[0]
    }

    // ---- reads

    fn read(&mut self, ty: Ty) -> Option<Id> {
        let fits: Vec<Id> =
            self.arrays.iter().copied().filter(|&id| self.b.in_scope(id) && self.ty_of(id) == ty).collect();
        let array = *self.rng.pick(&fits)?;
        let shape = self.b.ty(array)?.shape().to_vec();
        let found: Vec<Option<Id>> = shape.iter().map(|size| self.position_of(size)).collect();
        if let Some(index) = found.iter().copied().collect::<Option<Vec<Id>>>() {
            return Some(self.made(Op::At { array, index })[0]);
        }
        Some(self.guarded_read(array, &shape, found))
    }

    /// A position of an axis: one in scope, or any number brought inside if there is an inside.
    fn position_of(&mut self, size: &Size) -> Option<Id> {
        let known: Vec<Id> = self.positions.iter().filter(|(_, s)| s == size).map(|(id, _)| *id).collect();
        if let (true, Some(&id)) = (self.rng.chance(80), self.rng.pick(&known)) {
            return Some(id);
        }
        let inhabited = self.inhabited.contains(size) || size.constant().is_some_and(|n| n > 0);
        inhabited.then(|| self.clamped(size))
    }

    fn clamped(&mut self, size: &Size) -> Id {
        let any = self.leaf(Ty::I64);
        let (zero, one) = (self.int(Ty::I64, 0), self.int(Ty::I64, 1));
        let extent = self.made(Op::Extent(size.clone()))[0];
        let last = self.apply(Operator::Sub, &[extent, one]);
        self.apply(Operator::Clamp, &[any, zero, last])
    }

    /// Reads only if every axis without a known position has one.
    fn guarded_read(&mut self, array: Id, shape: &[Size], found: Vec<Option<Id>>) -> Id {
        let ty = self.ty_of(array);
        let zero = self.int(Ty::I64, 0);
        let mut cond = self.constant(Scalar::bool(true));
        for (size, position) in shape.iter().zip(&found) {
            if position.is_none() {
                let extent = self.made(Op::Extent(size.clone()))[0];
                let some = self.apply(Operator::Gt, &[extent, zero]);
                cond = self.apply(Operator::And, &[cond, some]);
            }
        }
        self.open(Region::Branch, &[]);
        let mut index = vec![];
        for (size, position) in shape.iter().zip(found) {
            index.push(match position {
                Some(id) => id,
                None => self.clamped(size),
            });
        }
        let element = self.made(Op::At { array, index })[0];
        let then = self.close(&[element]);
        self.open(Region::Branch, &[]);
        let default = self.leaf(ty);
        let otherwise = self.close(&[default]);
        self.made(Op::If { cond, args: vec![], then, otherwise })[0]
    }
}
