//! Branches and loops of a kernel.

use super::expr::Expr;
use super::helpers::unsigned;
use super::lines::{Guard, Line};
use super::writer::{ClikeWriter, LONG};
use super::{Declared, EmitError, Step, roles};
use crate::back::tree::{Infix, Tree};
use crate::code::{Body, Id, Op, Type, Var};
use crate::ops::Operator;
use crate::ranges::Range;
use crate::types::Ty;

/// A counter that is multiplied.
#[derive(Clone, Copy)]
struct Growth {
    end: Id,
    times: Id,
}

impl ClikeWriter<'_> {
    /// Runs `f` one level deeper and gives the lines that it wrote.
    pub(super) fn inside(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), EmitError>,
    ) -> Result<Vec<Line>, EmitError> {
        let outer = std::mem::take(&mut self.lines);
        self.depth += 1;
        let done = f(self);
        self.depth -= 1;
        let lines = std::mem::replace(&mut self.lines, outer);
        done.map(|()| lines)
    }

    pub(super) fn branch(
        &mut self,
        ids: &[Id],
        cond: Id,
        args: &[Id],
        bodies: [&Body; 2],
        op: &Op,
    ) -> Result<(), EmitError> {
        let condition = self.get(cond);
        if op.has_effect() {
            self.settle()?;
        }
        for (k, &arg) in args.iter().enumerate() {
            let value = self.atom(arg, "at")?;
            bodies.iter().for_each(|b| drop(self.values.insert(b.params[k].id, value.clone())));
        }
        let reps: Vec<Ty> = ids.iter().map(|&id| self.rep(id)).collect();
        let heirs = self.heirs(bodies, &reps);
        let mut written = vec![];
        for body in bodies {
            let mut results = vec![];
            self.enter_side(body, &heirs);
            let lines = self.inside(|w| {
                w.body(body)?;
                results = body.results.iter().map(|&r| w.get(r)).collect();
                Ok(())
            })?;
            self.leave_side(&heirs);
            written.push((lines, results));
        }
        let [(then, mut yes), (otherwise, mut no)]: [(Vec<Line>, Vec<Expr>); 2] =
            written.try_into().unwrap_or_default();
        for (k, &rep) in reps.iter().enumerate() {
            (yes[k], no[k]) = (self.ops().to(&yes[k], rep)?, self.ops().to(&no[k], rep)?);
        }
        if let ([id], true) = (ids, then.is_empty() && otherwise.is_empty()) {
            let value = self.ops().choice(&condition, &yes[0], &no[0]);
            if value.tree.width() <= LONG {
                return self.bind(*id, value, "v");
            }
        }
        let mut state = vec![];
        for ((&id, &rep), heir) in ids.iter().zip(&reps).zip(heirs) {
            let name = match heir {
                Some((_, name)) => name,
                None => {
                    let name = self.called(&[id], "v");
                    let ty = self.ops().ty(rep)?;
                    self.line(self.dialect.declare(Declared::Changing, ty, &name, None));
                    name
                }
            };
            self.values.insert(id, Expr::name(name.clone(), rep));
            self.variables.own(id);
            state.push((name, rep));
        }
        let trees = |values: Vec<Expr>| values.into_iter().map(|value| value.tree).collect();
        let ends = [trees(yes), trees(no)].map(|values| self.inside(|w| w.assign(&state, values)));
        let [then_end, otherwise_end] = ends;
        let then = [then, then_end?].concat();
        let otherwise = [otherwise, otherwise_end?].concat();
        let not = self.ops().apply(Operator::Not, std::slice::from_ref(&condition), Ty::Bool, &[])?;
        match (then.is_empty(), otherwise.is_empty()) {
            (true, true) => {}
            (false, true) => self.guard(condition, then)?,
            (true, false) => self.guard(not, otherwise)?,
            (false, false) => {
                self.edge(format!("{} {{", self.dialect.if_head(&condition.tree)));
                self.lines.extend(then);
                self.edge("} else {");
                self.lines.extend(otherwise);
                self.edge("}");
            }
        }
        Ok(())
    }

    /// A branch without another side. One inside of one, with nothing around it, is one with both conditions.
    pub(super) fn guard(&mut self, condition: Expr, lines: Vec<Line>) -> Result<(), EmitError> {
        let (mut condition, mut lines) = (condition, lines);
        if let [Line { guard: Some(inner), .. }] = &lines[..] {
            let both = [condition.clone(), inner.condition.clone()];
            let both = self.ops().apply(Operator::And, &both, Ty::Bool, &[])?;
            if both.tree.width() <= LONG {
                condition = both;
                lines = inner.lines.iter().cloned().map(Line::outdented).collect();
            }
        }
        let head = self.dialect.if_head(&condition.tree);
        let short = self.behind(&head, &lines);
        let text = short.clone().unwrap_or_else(|| format!("{head} {{"));
        let mut line = Line::new(self.depth, text, short.is_some());
        line.guard = Some(Guard { condition, lines });
        self.lines.push(line);
        Ok(())
    }

    /// A head with its only statement behind it, where the language has such.
    pub(super) fn behind(&self, head: &str, lines: &[Line]) -> Option<String> {
        match lines {
            [only] if self.dialect.goes_without_braces() && only.whole && head.len() + only.text.len() < 90 => {
                Some(format!("{head} {}", only.text))
            }
            _ => None,
        }
    }

    pub(super) fn block(&mut self, head: &str, lines: Vec<Line>) {
        match self.behind(head, &lines) {
            Some(text) => self.line(text),
            None => self.braced(head, lines),
        }
    }

    pub(super) fn braced(&mut self, head: &str, lines: Vec<Line>) {
        self.edge(format!("{head} {{"));
        self.lines.extend(lines);
        self.edge("}");
    }

    /// Declares the state of a loop, which is `params` in a turn; gives names and types.
    pub(super) fn state(
        &mut self,
        ids: &[Id],
        init: &[Id],
        params: &[Var],
        stem: &dyn Fn(usize) -> &'static str,
    ) -> Result<Vec<(String, Ty)>, EmitError> {
        let mut state = vec![];
        for (k, ((&id, &from), param)) in ids.iter().zip(init).zip(params).enumerate() {
            let rep = self.held_by(id, from, param.id);
            let name = match self.taken_over(from, rep) {
                Some(name) => name,
                None => {
                    let value = self.get(from);
                    let name = self.called(&[param.id, id], stem(k));
                    self.declare_so(Declared::Changing, &name, rep, &value)?;
                    name
                }
            };
            state.push((name, rep));
        }
        Ok(state)
    }

    /// What a state of a loop is held in: it is `from` first, then `param` in a turn, and `id` behind the loop.
    fn held_by(&mut self, id: Id, from: Id, param: Id) -> Ty {
        let rep = match self.types[&id] {
            Ty::I64 => self.range(id).union(self.range(from)).union(self.range(param)).ty(),
            ty => ty,
        };
        self.ops().held(rep)
    }

    /// Assigns the next state; all of it is computed before any of it changes.
    pub(super) fn advance(&mut self, state: &[(String, Ty)], results: &[Id]) -> Result<(), EmitError> {
        let mut values: Vec<Tree> = vec![];
        for (&id, (_, rep)) in results.iter().zip(state) {
            let value = self.get(id);
            values.push(self.ops().assigned(&value, *rep)?);
        }
        self.assign(state, values)
    }

    /// Assigns values to variables, as if all at once.
    pub(super) fn assign(&mut self, state: &[(String, Ty)], mut values: Vec<Tree>) -> Result<(), EmitError> {
        let stays = |name: &str, value: &Tree| value.as_name() == Some(name);
        for k in 0..values.len() {
            let mut before = state[..k].iter().zip(&values);
            if before.any(|((name, _), to)| !stays(name, to) && values[k].mentions(name)) {
                let next = self.fresh("next");
                let ty = self.ops().ty(state[k].1)?;
                // Declared before the first assignment, which is further down.
                self.line(self.dialect.declare(Declared::Once, ty, &next, Some(&values[k])));
                values[k] = Tree::name(next);
            }
        }
        for ((name, _), value) in state.iter().zip(&values).filter(|((name, _), value)| !stays(name, value)) {
            self.line(Tree::name(name).assignment(value));
        }
        Ok(())
    }

    pub(super) fn enter(&mut self, body: &Body, from: usize, state: &[(String, Ty)]) {
        for (param, (name, rep)) in body.params[from..].iter().zip(state) {
            self.values.insert(param.id, Expr::name(name.clone(), *rep));
            self.variables.own(param.id);
        }
    }

    /// Behind a loop its results are what the state was last.
    pub(super) fn leave(&mut self, ids: &[Id], state: &[(String, Ty)]) {
        for (&id, (name, rep)) in ids.iter().zip(state) {
            self.values.insert(id, Expr::name(name.clone(), *rep));
            self.variables.own(id);
        }
    }

    /// What the counter of a loop is held in. It is compared with the end, where that may be below zero it must not be unsigned, and it
    /// goes one step past it.
    pub(super) fn counter(&self, bounds: [Id; 3]) -> Ty {
        let [lo, hi, step] = bounds.map(|id| self.range(id));
        let inside = Range::new(lo.lo, (hi.hi - 1).max(lo.lo));
        let past = Range::new(lo.lo, (hi.hi - 1 + step.hi).max(lo.hi)).or_full();
        let counted = if past.ty() == inside.ty() { inside } else { past };
        counted.union(lo).union(hi).ty()
    }

    pub(super) fn count(&mut self, ids: &[Id], bounds: [Id; 3], init: &[Id], body: &Body) -> Result<(), EmitError> {
        let counter = &body.params[0];
        let [lo, hi, step] = bounds;
        let rep = match counter.ty {
            Type::Scalar(Ty::I64) => self.counter(bounds),
            _ => self.rep(counter.id),
        };
        let rep = self.ops().held(rep);
        let state = self.state(ids, init, &body.params[1..], &|k| roles::state(body, 1, k))?;
        let lo = self.get(lo);
        let end = self.atom(hi, "end")?;
        let by = self.atom(step, "stride")?;
        let ty = self.ops().ty(rep)?;
        let name = self.fresh_counter(counter.id);
        self.values.insert(counter.id, Expr::name(name.clone(), rep));
        self.enter(body, 1, &state);
        let first = self.ops().assigned(&lo, rep)?;
        let one = by.literal.is_some_and(|n| n.as_int() == 1);
        // Stepping past the end must not wrap around: by one it cannot, and ranges of positions leave room.
        let past = match counter.ty {
            Type::Scalar(Ty::I64) => {
                let hi = self.range(hi_of(bounds));
                let step = self.range(bounds[2]);
                Some(hi.hi - 1 + step.hi)
            }
            _ => end.literal.zip(by.literal).map(|(end, by)| end.as_int() - 1 + by.as_int()),
        };
        let plain = one || past.is_some_and(|past| past <= Range::of(rep).hi);
        let lines = self.inside(|w| {
            w.body(body)?;
            w.advance(&state, &body.results)?;
            if !plain {
                let end = w.ops().to(&end, rep)?;
                let by = w.ops().to(&by, rep)?;
                let [end, at, by] = w.unsigned([end, Expr::name(&name, rep), by])?;
                let left = Expr { rep, ..Expr::new(Tree::infix(Infix::Sub, end, at), rep) };
                let [left] = w.unsigned([left])?;
                let last = Tree::infix(Infix::Le, left, by);
                let leave = Line::new(w.depth + 1, "break;", true);
                w.block(&w.dialect.if_head(&last), vec![leave]);
            }
            Ok(())
        })?;
        let as_it_is = rep == Ty::I64 && end.literal.is_none() && self.dialect.converts();
        let end = self.ops().to(&end, if as_it_is { end.rep } else { rep })?;
        let compared = Tree::infix(Infix::Lt, Tree::name(&name), end.tree);
        let as_it_is = by.literal.is_none() && self.dialect.converts();
        let by = self.ops().to(&by, if as_it_is { by.rep } else { rep })?.tree;
        let step = if one { Step::One } else { Step::By(&by) };
        let head = self.dialect.for_head([ty, &name], &first, &compared, step);
        if plain {
            self.block(&head, lines);
        } else {
            self.braced(&head, lines);
        }
        self.names.release(&name);
        self.leave(ids, &state);
        Ok(())
    }

    pub(super) fn repeat(&mut self, ids: &[Id], init: &[Id], cond: &Body, body: &Body) -> Result<(), EmitError> {
        if let Some(growth) = self.growth(ids, cond, body) {
            return self.grow(ids, init, body, growth);
        }
        let state = self.state(ids, init, &cond.params, &|k| if k == 0 { "s" } else { roles::state(body, 0, k) })?;
        self.enter(cond, 0, &state);
        self.enter(body, 0, &state);
        let mut test = Expr::name("true", Ty::Bool);
        let before = self.inside(|w| {
            w.body(cond)?;
            test = w.get(cond.results[0]);
            Ok(())
        })?;
        let lines = self.inside(|w| {
            w.body(body)?;
            w.advance(&state, &body.results)
        })?;
        if before.is_empty() {
            self.edge(format!("{} {{", self.dialect.while_head(Some(&test.tree))));
        } else {
            let not = self.ops().apply(Operator::Not, &[test], Ty::Bool, &[])?;
            self.edge(format!("{} {{", self.dialect.while_head(None)));
            self.lines.extend(before);
            self.depth += 1;
            let leave = Line::new(self.depth + 1, "break;", true);
            self.block(&self.dialect.if_head(&not.tree), vec![leave]);
            self.depth -= 1;
        }
        self.lines.extend(lines);
        self.edge("}");
        self.leave(ids, &state);
        Ok(())
    }

    /// Is it a loop whose counter becomes some times as much at each turn, as long as it is below an end?
    fn growth(&self, ids: &[Id], cond: &Body, body: &Body) -> Option<Growth> {
        let ([test], [counter, ..], [own, ..]) = (&cond.stmts[..], &cond.params[..], &body.params[..]) else {
            return None;
        };
        let Op::Apply(Operator::Lt, compared) = &test.op else { return None };
        let [below, end] = compared[..] else { return None };
        let next = body.results.first()?;
        let made = body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == *next))?;
        let Op::Apply(Operator::Mul, factors) = &made.op else { return None };
        let [of, times] = factors[..] else { return None };
        let plain = below == counter.id && end != counter.id && cond.results == [test.binds[0].id] && of == own.id;
        let literal = |id: Id| self.value_now(id).is_some_and(|value| value.literal.is_some());
        let counts = counter.ty == Type::Scalar(Ty::I64) && !self.is_used(*ids.first()?);
        (plain && counts && literal(times) && literal(end)).then_some(Growth { end, times })
    }

    /// Writes such a loop with its counter in its head.
    fn grow(&mut self, ids: &[Id], init: &[Id], body: &Body, growth: Growth) -> Result<(), EmitError> {
        let counter = body.params[0].id;
        let rep = self.held_by(ids[0], init[0], counter);
        let state = self.state(&ids[1..], &init[1..], &body.params[1..], &|k| roles::state(body, 0, k + 1))?;
        let [first, end, times] = [init[0], growth.end, growth.times].map(|id| self.get(id));
        let [first, end, times] = [first, end, times].map(|value| self.ops().assigned(&value, rep));
        let name = self.called(&[counter], "apart");
        self.values.insert(counter, Expr::name(name.clone(), rep));
        self.enter(body, 1, &state);
        let lines = self.inside(|w| {
            w.body(body)?;
            w.advance(&state, &body.results[1..])
        })?;
        let compared = Tree::infix(Infix::Lt, Tree::name(&name), end?);
        let ty = self.ops().ty(rep)?;
        let head = self.dialect.for_head([ty, &name], &first?, &compared, Step::Times(&times?));
        self.block(&head, lines);
        self.names.release(&name);
        self.leave(&ids[1..], &state);
        Ok(())
    }

    /// The same bits as unsigned numbers.
    pub(super) fn unsigned<const N: usize>(&mut self, values: [Expr; N]) -> Result<[Tree; N], EmitError> {
        let mut trees = vec![];
        for value in values {
            let ty = unsigned(value.rep);
            let value = Expr { literal: None, ..value };
            let same = value.rep == ty && !self.dialect.converts();
            let tree = if same { value.tree } else { self.dialect.cast(value.rep, ty, value.tree, self.helpers) };
            trees.push(tree);
        }
        let unknown = || std::array::from_fn(|_| Tree::int(0));
        Ok(trees.try_into().unwrap_or_else(|_| unknown()))
    }
}

fn hi_of([_, hi, _]: [Id; 3]) -> Id {
    hi
}
