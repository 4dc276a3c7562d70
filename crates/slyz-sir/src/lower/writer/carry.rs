//! Loops that carry arrays, written as code of one block.

use super::{KernelWriter, Mode, Value};
use crate::code::{Body, Id, MemId, Op, Stmt, Var};
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write;
use std::collections::HashSet;

/// An array that a loop carries.
struct Carried {
    memory: MemId,
    prefix: Vec<Id>,
    /// It has two halves, the first axis of the memory: turns read one and write the other.
    halves: bool,
}

impl<'g> KernelWriter<'_, 'g> {
    /// A loop whose state has arrays, run by the block: they are in memory.
    pub(super) fn array_loop(&mut self, stmt: &'g Stmt) {
        let (init, turn, params) = match &stmt.op {
            Op::For { init, body, .. } => (init, body, &body.params[1..]),
            Op::While { init, body, .. } => (init, body, &body.params[..]),
            other => unreachable!("not a loop: {other:?}"),
        };
        let zero = self.number(0);
        let mut arrays: Vec<Option<Carried>> = vec![];
        for (k, bind) in stmt.binds.iter().enumerate() {
            let in_place = self.lowering.is_written_over(turn.results[k], params[k].id);
            arrays.push((!bind.ty.shape().is_empty()).then(|| self.carried(bind, init[k], in_place, zero)));
        }
        let halves = arrays.iter().flatten().any(|array| array.halves);
        let is_scalar = |k: &usize| arrays[*k].is_none();
        let scalars: Vec<usize> = (0..stmt.binds.len()).filter(is_scalar).collect();
        let mut state: Vec<Id> = scalars.iter().map(|&k| self.scalar(init[k])).collect();
        let mut tys: Vec<Ty> = scalars.iter().map(|&k| stmt.binds[k].ty.elem()).collect();
        if halves {
            state.push(zero);
            tys.push(Ty::I64);
        }
        let enter = |w: &mut Self, params: &[Var], ids: &[Id]| {
            for (&k, &id) in scalars.iter().zip(ids) {
                w.set_scalar(params[k].id, id);
            }
            w.set_carried(&arrays, params, ids.last().copied());
        };
        let results = match &stmt.op {
            Op::For { lo, hi, step, .. } => {
                let bounds = self.all_scalars(&[*lo, *hi, *step]);
                let counter = turn.params[0].ty.elem();
                let body = self.nested(&[&[counter], &tys[..]].concat(), |w, ids| {
                    w.set_scalar(turn.params[0].id, ids[0]);
                    enter(w, params, &ids[1..]);
                    w.turn(turn, &scalars, &arrays, ids.last().copied().filter(|_| halves))
                });
                self.bind(Op::For { lo: bounds[0], hi: bounds[1], step: bounds[2], init: state, body }, &tys)
            }
            Op::While { cond, .. } => {
                let test = self.nested(&tys, |w, ids| {
                    enter(w, &cond.params, ids);
                    w.enter(cond, &[], Mode::Block);
                    w.all_scalars(&cond.results)
                });
                let body = self.nested(&tys, |w, ids| {
                    enter(w, params, ids);
                    w.turn(turn, &scalars, &arrays, ids.last().copied().filter(|_| halves))
                });
                self.bind(Op::While { init: state, cond: test, body }, &tys)
            }
            other => unreachable!("not a loop: {other:?}"),
        };
        for (&k, &id) in scalars.iter().zip(&results) {
            self.set_scalar(stmt.binds[k].id, id);
        }
        self.set_carried(&arrays, &stmt.binds, results.last().copied());
        for bind in stmt.binds.iter().filter(|b| !b.ty.shape().is_empty()) {
            let Some((memory, prefix)) = self.homes.get(&bind.id).cloned() else { continue };
            if !self.is_at(bind.id, memory, &prefix) {
                self.copy(bind.id, memory, prefix.clone());
                self.values.insert(bind.id, Value::Memory(memory, prefix));
            }
        }
    }

    /// Memory for an array of the state, with what it starts from in it.
    fn carried(&mut self, bind: &Var, init: Id, in_place: bool, zero: Id) -> Carried {
        if !in_place {
            let shape = [&[Size::Const(2)], bind.ty.shape()].concat();
            let memory = self.scratch("state", bind.ty.elem(), shape);
            self.copy(init, memory, vec![zero]);
            return Carried { memory, prefix: vec![], halves: true };
        }
        let (memory, prefix) = self.place_for(bind);
        if !self.is_at(init, memory, &prefix) {
            self.copy(init, memory, prefix.clone());
        }
        Carried { memory, prefix, halves: false }
    }

    /// Says where the arrays of the state are, given the half that is read.
    fn set_carried(&mut self, arrays: &[Option<Carried>], vars: &[Var], half: Option<Id>) {
        for (array, var) in arrays.iter().zip(vars) {
            let Some(Carried { memory, prefix, halves }) = array else { continue };
            let prefix = if *halves { half.into_iter().collect() } else { prefix.clone() };
            self.values.insert(var.id, Value::Memory(*memory, prefix));
        }
    }

    /// One turn: its arrays go to where the next one reads. Gives the scalars of the next state, and the half it reads.
    fn turn(&mut self, body: &'g Body, scalars: &[usize], arrays: &[Option<Carried>], half: Option<Id>) -> Vec<Id> {
        let next = half.map(|half| {
            let one = self.number(1);
            self.value(one - half)
        });
        let target = |array: &Carried| match (array.halves, next) {
            (true, Some(next)) => (array.memory, vec![next]),
            _ => (array.memory, array.prefix.clone()),
        };
        let made_here: HashSet<Id> = body.stmts.iter().flat_map(|s| &s.binds).map(|b| b.id).collect();
        let mut homes = vec![];
        for (array, &result) in arrays.iter().zip(&body.results) {
            let root = self.lowering.root(result);
            if let Some(array @ Carried { halves: true, .. }) = array
                && made_here.contains(&root)
                && !self.homes.contains_key(&root)
            {
                let (memory, prefix) = target(array);
                self.set_home(root, memory, prefix);
                homes.push(root);
            }
        }
        self.enter(body, &[], Mode::Block);
        for (array, &result) in arrays.iter().zip(&body.results) {
            let Some(array) = array else { continue };
            let (memory, prefix) = target(array);
            if !self.is_at(result, memory, &prefix) {
                self.copy(result, memory, prefix);
            }
        }
        homes.iter().for_each(|root| {
            self.homes.remove(root);
        });
        let mut state: Vec<Id> = scalars.iter().map(|&k| self.scalar(body.results[k])).collect();
        state.extend(next);
        state
    }
}
