//! Statements: branches that give the locals they set, loops that carry theirs.

use super::live::{self, Locals};
use super::writer::{Lowered, TemplateWriter, Value, constant};
use crate::typed::{Expr, LocalId, Stmt};
use slyz_sir::code::{Body, Op, Var};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::write::Write as _;

impl TemplateWriter<'_> {
    /// Statements in order, followed by code that reads the locals `after`.
    pub(super) fn stmts(&mut self, stmts: &[Stmt], after: &Locals) -> Lowered<()> {
        let lists = live::after_each(stmts, after);
        stmts.iter().zip(&lists).try_for_each(|(stmt, after)| self.stmt(stmt, after))
    }

    fn stmt(&mut self, stmt: &Stmt, after: &Locals) -> Lowered<()> {
        match stmt {
            Stmt::Set(local, value) => {
                let value = self.expr(value)?;
                self.set(*local, value);
                Ok(())
            }
            Stmt::Store { memory, index, value, span } => {
                let memory = self.memory(*memory);
                let index = self.index(memory, index)?;
                let value = self.expr(value)?;
                self.at = *span;
                self.store(memory, &index, value)
            }
            Stmt::Fill(array, value) => self.fill(*array, value),
            Stmt::Expr(expr) => self.effect(expr),
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise, after),
            Stmt::For { counter, lo, hi, step, body } => {
                let carried = carried(stmt, body, after);
                self.count(*counter, [lo, hi, step], body, carried)
            }
            Stmt::While { cond, body } => {
                let carried = carried(stmt, body, after);
                self.repeat(cond, body, carried)
            }
            Stmt::Barrier(scope) => self.emit(Op::Barrier(*scope), &[]).map(drop),
            Stmt::Fence(scope) => self.emit(Op::Fence(*scope), &[]).map(drop),
            // `exits` has turned them into branches.
            Stmt::Break | Stmt::Continue | Stmt::Return(_) => Ok(()),
        }
    }

    fn branch(&mut self, cond: &Expr, then: &[Stmt], otherwise: &[Stmt], after: &Locals) -> Lowered<()> {
        let cond = self.expr(cond)?;
        let mut set = Locals::default();
        live::sets(then, &mut set);
        live::sets(otherwise, &mut set);
        let given = set.common(after);
        let tys: Vec<Ty> = given.iter().map(|&local| self.local_ty(local)).collect();
        let given = &given;
        let side = |stmts| {
            move |w: &mut Self| {
                w.stmts(stmts, after)?;
                Ok(given.iter().map(|&local| w.get(local)).collect())
            }
        };
        let values = self.choose(cond, &tys, side(then), side(otherwise))?;
        given.iter().zip(values).for_each(|(&local, value)| self.set(local, value));
        Ok(())
    }

    /// Parameters for the locals that a loop carries, which hold their values inside.
    fn parameters(&mut self, state: &[LocalId]) -> Vec<Var> {
        let tys: Vec<Ty> = state.iter().map(|&local| self.local_ty(local)).collect();
        tys.into_iter().map(|ty| self.var(ty)).collect()
    }

    fn initial(&mut self, state: &[LocalId]) -> Lowered<Vec<slyz_sir::code::Id>> {
        let values: Vec<Value> = state.iter().map(|&local| self.get(local)).collect();
        self.names(&values)
    }

    /// One turn of a loop: a body over the carried locals.
    fn turn(&mut self, params: Vec<Var>, held: &[LocalId], body: &[Stmt], carried: &Carried) -> Lowered<Body> {
        let values: Vec<Value> = params.iter().map(|param| Value::Name(param.id)).collect();
        self.apart(|w| {
            held.iter().zip(values).for_each(|(&local, value)| w.set(local, value));
            w.body(params, |w| {
                w.stmts(body, &carried.after)?;
                Ok(carried.state.iter().map(|&local| w.get(local)).collect())
            })
        })
    }

    /// The loop itself; its results are the locals it carries.
    fn looped(&mut self, op: Op, state: &[LocalId]) -> Lowered<()> {
        let tys: Vec<Ty> = state.iter().map(|&local| self.local_ty(local)).collect();
        let results = self.emit(op, &tys)?;
        state.iter().zip(results).for_each(|(&local, id)| self.set(local, Value::Name(id)));
        Ok(())
    }

    fn count(&mut self, counter: LocalId, bounds: [&Expr; 3], body: &[Stmt], carried: Carried) -> Lowered<()> {
        let ty = self.local_ty(counter);
        let [lo, hi, step] = bounds.map(|bound| self.expr(bound));
        let lo = lo?;
        let hi = hi?;
        let step = step?;
        let one = Value::Const(Scalar::from_int(ty, 1));
        let step = match constant(step) {
            Some(step) if step.as_int() > 1 => Value::Const(step),
            Some(_) => one,
            None => self.apply(Operator::Max, &[step, one], ty)?,
        };
        let bounds = self.names(&[lo, hi, step])?;
        let init = self.initial(&carried.state)?;
        let mut params = vec![self.var(ty)];
        params.extend(self.parameters(&carried.state));
        let held = [&[counter], &carried.state[..]].concat();
        let body = self.turn(params, &held, body, &carried)?;
        self.looped(Op::For { lo: bounds[0], hi: bounds[1], step: bounds[2], init, body }, &carried.state)
    }

    fn repeat(&mut self, cond: &Expr, body: &[Stmt], carried: Carried) -> Lowered<()> {
        let init = self.initial(&carried.state)?;
        let params = self.parameters(&carried.state);
        let values: Vec<Value> = params.iter().map(|param| Value::Name(param.id)).collect();
        let cond = self.apart(|w| {
            carried.state.iter().zip(values).for_each(|(&local, value)| w.set(local, value));
            w.body(params, |w| Ok(vec![w.expr(cond)?]))
        })?;
        let params = self.parameters(&carried.state);
        let body = self.turn(params, &carried.state, body, &carried)?;
        self.looped(Op::While { init, cond, body }, &carried.state)
    }
}

/// What goes from one turn of a loop to the next.
struct Carried {
    state: Vec<LocalId>,
    /// What is read after a turn.
    after: Locals,
}

fn carried(stmt: &Stmt, body: &[Stmt], after: &Locals) -> Carried {
    let after = live::around(stmt, after.clone());
    let mut set = Locals::default();
    live::sets(body, &mut set);
    if let Stmt::For { counter, .. } = stmt {
        set.remove(*counter);
    }
    Carried { state: set.common(&after), after }
}
