//! Sorts inside of a tabulate become one sort of all their lines, which machines have ways for: a sort is stored anyway.
//!
//! ```text
//! %y = tabulate [R] |%r| { %v = at %x[%r]  %s = sort [N] by [32] |%i| { … %r … %v … }  %m = at %s[%k]  yield %m }
//!   ⇒
//! %t = sort [R, N] by [32] |%q, %i| { %w = at %x[%q]  … %q … %w … }
//! %y = tabulate [R] |%r| { %m = at %t[%r, %k]  yield %m }
//! ```
//!
//! It stays where it is if it needs an array that the tabulate makes, or much else, and where somebody takes a line as a whole.

use super::cost::stmt_cost;
use crate::code::{Body, Class, Id, Op, Stmt, Type, Var};
use crate::size::Size;
use std::collections::{HashMap, HashSet};

/// The most that may be computed for each element of a line instead of once for the line, in additions.
const AGAIN: u64 = 16;

/// Runs on a body, the innermost tabulates first.
pub(super) fn run(body: &mut Body, fresh: &mut dyn FnMut() -> Id) {
    let mut out = Vec::with_capacity(body.stmts.len());
    for mut stmt in std::mem::take(&mut body.stmts) {
        stmt.op.bodies_mut().into_iter().for_each(|inner| run(inner, fresh));
        while let Some(sort) = lifted(&mut stmt, fresh) {
            out.push(sort);
        }
        out.push(stmt);
    }
    body.stmts = out;
}

/// Takes a sort out of a tabulate.
fn lifted(stmt: &mut Stmt, fresh: &mut dyn FnMut() -> Id) -> Option<Stmt> {
    let Op::Tabulate { shape, body } = &mut stmt.op else { return None };
    let place = body.stmts.iter().position(|s| matches!(s.op, Op::Sort { .. }) && may_leave(s, body))?;
    let sources = sources(body, place)?;
    let old = body.stmts.remove(place);
    let Op::Sort { shape: line, widths, body: element } = old.op else { return None };
    let whole: Vec<Size> = [&shape[..], &line].concat();
    let inner = Body {
        params: [&body.params[..], &element.params].concat(),
        stmts: sources.iter().map(|&k| body.stmts[k].clone()).chain(element.stmts).collect(),
        results: element.results,
    };
    let sorted = |ty: &Type| Type::Array(ty.elem(), whole.clone());
    let binds: Vec<Var> = old.binds.iter().map(|bind| Var { id: fresh(), ty: sorted(&bind.ty) }).collect();
    let names: HashMap<Id, Id> = old.binds.iter().map(|bind| bind.id).zip(binds.iter().map(|bind| bind.id)).collect();
    let position: Vec<Id> = body.params.iter().map(|param| param.id).collect();
    rename(body, &names, &position);
    let op = Op::Sort { shape: whole.clone(), widths, body: inner.freshened(fresh) };
    Some(Stmt { binds, op })
}

/// Is every use of what the sort gives a read of an element?
fn may_leave(sort: &Stmt, body: &Body) -> bool {
    let own: HashSet<Id> = sort.binds.iter().map(|bind| bind.id).collect();
    !body.results.iter().any(|id| own.contains(id)) && only_read(body, &own)
}

fn only_read(body: &Body, arrays: &HashSet<Id>) -> bool {
    body.stmts.iter().all(|stmt| {
        let mut whole = false;
        match &stmt.op {
            Op::At { .. } => {}
            op => op.each_operand(&mut |id| whole |= arrays.contains(&id)),
        }
        let inside = |inner: &Body| !inner.results.iter().any(|id| arrays.contains(id)) && only_read(inner, arrays);
        !whole && stmt.op.bodies().into_iter().all(inside)
    })
}

/// The statements before it that the sort hangs on, if each line can have them anew.
fn sources(body: &Body, place: usize) -> Option<Vec<usize>> {
    let mut wanted = HashSet::new();
    let note = |stmt: &Stmt, wanted: &mut HashSet<Id>| {
        stmt.op.each_operand(&mut |id| _ = wanted.insert(id));
        stmt.op.bodies().into_iter().for_each(|inner| inner.each_free(&mut |id| _ = wanted.insert(id)));
    };
    note(&body.stmts[place], &mut wanted);
    let mut found = vec![];
    let mut cost = 0;
    for (k, stmt) in body.stmts[..place].iter().enumerate().rev() {
        if !stmt.binds.iter().any(|bind| wanted.contains(&bind.id)) {
            continue;
        }
        let plain = stmt.op.class() == Class::Scalar || matches!(stmt.op, Op::At { .. });
        cost += stmt_cost(&stmt.op);
        if !plain || cost > AGAIN {
            return None;
        }
        note(stmt, &mut wanted);
        found.push(k);
    }
    found.reverse();
    Some(found)
}

/// Reads of these arrays become reads of those, at a position and behind it.
fn rename(body: &mut Body, names: &HashMap<Id, Id>, position: &[Id]) {
    for stmt in &mut body.stmts {
        if let Op::At { array, index } = &mut stmt.op
            && let Some(&new) = names.get(array)
        {
            *array = new;
            index.splice(0..0, position.iter().copied());
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| rename(inner, names, position));
    }
}
