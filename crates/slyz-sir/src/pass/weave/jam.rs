//! Several rows of threads at once: `for y { lanes x { for k { … } } }` becomes `for y by 4 { lanes x { for k { … … … … } } }`.
//!
//! A loop inside a thread waits for its own results each turn, and reads again what the rows beside it read. The loops of several
//! rows, turn by turn, have something to do meanwhile, and read it once. Rows are threads that do not meet in a piece, so
//! the order of their statements is free; two that read the same place find the same there. A guard around rows becomes
//! their bounds here, too.
//!
//! Only for threads that do nothing but compute, load, store and count.

use super::trim::{self, Trimmed};
use super::write::WeaveWriter;
use crate::code::{Body, Id, Op, Stmt, Var};
use crate::kernel::{Memory, Space};
use crate::types::Ty;
use crate::write::Write as _;
use std::collections::{HashMap, HashSet};

/// Sums that fit the registers beside what they are made of.
const SUMS: usize = 8;
/// Statements of a thread past which code becomes long.
const LONG: usize = 48;

/// How many rows to take at once, at most.
fn ways(row: Id, stmts: &[Stmt], memories: &[Memory]) -> u32 {
    struct Found<'m> {
        memories: &'m [Memory],
        state: usize,
        statements: usize,
        plain: bool,
    }
    fn look(stmts: &[Stmt], depth: usize, found: &mut Found) {
        for stmt in stmts {
            found.statements += 1;
            match &stmt.op {
                Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Place(..) => {}
                // Rows side by side would share an array of one thread.
                Op::Load { memory, .. } | Op::Store { memory, .. } => {
                    found.plain &= found.memories[memory.0 as usize].space != Space::Local
                }
                Op::Lanes { monoid: None, .. } if depth == 0 => {}
                Op::For { init, .. } if depth > 0 => found.state = found.state.max(init.len()),
                _ => found.plain = false,
            }
            stmt.op.bodies().into_iter().for_each(|inner| look(&inner.stmts, depth + 1, found));
        }
    }
    let mut found = Found { memories, state: 0, statements: 0, plain: true };
    look(stmts, 0, &mut found);
    // Lanes side by side must be the same ones.
    let mut differs = HashSet::from([row]);
    for stmt in stmts {
        let mut moves = false;
        stmt.op.each_operand(&mut |id| moves |= differs.contains(&id));
        found.plain &= !(moves && matches!(stmt.op, Op::Lanes { .. }));
        if moves {
            differs.extend(stmt.binds.iter().map(|b| b.id));
        }
    }
    if !found.plain || found.state == 0 || found.statements > LONG {
        return 1;
    }
    (SUMS / found.state) as u32
}

/// The loop over rows.
pub(super) fn rows(w: &mut WeaveWriter, memories: &[Memory], bounds: [Id; 2], counter: Var, stmts: Vec<Stmt>) {
    if !stmts.iter().any(|s| s.op.has_effect()) {
        return;
    }
    let Trimmed { bounds: [lo, hi], stmts, around } = trim::trimmed(w, bounds, counter.id, stmts);
    match around {
        Some(cond) => w.when(cond, |w| untrimmed(w, memories, [lo, hi], counter, stmts)),
        None => untrimmed(w, memories, [lo, hi], counter, stmts),
    }
}

fn untrimmed(w: &mut WeaveWriter, memories: &[Memory], [lo, hi]: [Id; 2], counter: Var, stmts: Vec<Stmt>) {
    let number = |id: Id| match w.known.get(&id) {
        Some(Op::Const(value)) => Some(value.as_int()),
        _ => None,
    };
    let count = number(lo).zip(number(hi)).map(|(lo, hi)| hi - lo);
    let most = ways(counter.id, &stmts, memories);
    // All rows by whole steps, or four at a time and the rest one by one.
    let whole = [8, 4, 2].into_iter().find(|&n| n <= most && count.is_some_and(|count| count % i128::from(n) == 0));
    let ways = whole.unwrap_or(most.min(4));
    let one = w.number(1);
    let step = w.number(ways.into());
    let mut from = lo;
    if ways > 1 && count.is_none_or(|count| count >= ways.into()) {
        if whole.is_none() {
            let rows = w.value(hi - lo);
            let steps = w.value(rows / step);
            let rows = w.value(steps * step);
            from = w.value(lo + rows);
        }
        let end = if whole.is_some() { hi } else { from };
        let first = w.counter();
        let around = w.begin();
        let mut copies = vec![HashMap::from([(counter.id, first.id)])];
        for k in 1..ways {
            let by = w.number(k.into());
            copies.push(HashMap::from([(counter.id, w.value(first.id + by))]));
        }
        side_by_side(w, &stmts, &mut copies);
        let stmts = w.end(around);
        let body = Body { params: vec![first], stmts, results: vec![] };
        w.act(Op::For { lo, hi: end, step, init: vec![], body });
        if whole.is_some() {
            return;
        }
    }
    let body = Body { params: vec![counter], stmts, results: vec![] };
    w.act(Op::For { lo: from, hi, step: one, init: vec![], body });
}

type Names = HashMap<Id, Id>;

fn named(names: &Names, id: Id) -> Id {
    *names.get(&id).unwrap_or(&id)
}

/// Writes statements once for each copy, or once for all where copies would not differ.
fn side_by_side(w: &mut WeaveWriter, stmts: &[Stmt], copies: &mut [Names]) {
    for stmt in stmts {
        let renamed = |names: &Names| {
            let mut op = stmt.op.clone();
            op.each_operand_mut(&mut |id| *id = named(names, *id));
            op
        };
        match &stmt.op {
            Op::Lanes { lo, hi, body, monoid } => {
                let turn = w.var(Ty::I64);
                copies.iter_mut().for_each(|names| _ = names.insert(body.params[0].id, turn.id));
                let around = w.begin();
                side_by_side(w, &body.stmts, copies);
                let stmts = w.end(around);
                let body = Body { params: vec![turn], stmts, results: vec![] };
                let [lo, hi] = [lo, hi].map(|id| named(&copies[0], *id));
                w.act(Op::Lanes { lo, hi, body, monoid: monoid.clone() });
            }
            Op::For { lo, hi, step, init, body } if agree(&[*lo, *hi, *step], copies) => {
                let counter = w.var(body.params[0].ty.elem());
                let state = &body.params[1..];
                copies.iter_mut().for_each(|names| _ = names.insert(body.params[0].id, counter.id));
                let mut params = vec![counter];
                let mut start = vec![];
                for names in copies.iter_mut() {
                    start.extend(init.iter().map(|&id| named(names, id)));
                    for param in state {
                        let own = w.var(param.ty.elem());
                        names.insert(param.id, own.id);
                        params.push(own);
                    }
                }
                let around = w.begin();
                side_by_side(w, &body.stmts, copies);
                let stmts = w.end(around);
                let results = copies.iter().flat_map(|names| body.results.iter().map(|&id| named(names, id))).collect();
                let body = Body { params, stmts, results };
                let [lo, hi, step] = [lo, hi, step].map(|id| named(&copies[0], *id));
                let mut binds = vec![];
                for names in copies.iter_mut() {
                    for bind in &stmt.binds {
                        let own = w.var(bind.ty.elem());
                        names.insert(bind.id, own.id);
                        binds.push(own);
                    }
                }
                w.out.push(Stmt { binds, op: Op::For { lo, hi, step, init: start, body } });
            }
            Op::For { .. } => {
                for names in copies.iter_mut() {
                    side_by_side_alone(w, stmt, names);
                }
            }
            op => {
                let mut operands = vec![];
                op.each_operand(&mut |id| operands.push(id));
                let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
                let shared = !op.has_effect() && agree(&operands, copies);
                let mut made: Option<Vec<Id>> = None;
                for names in copies.iter_mut() {
                    let ids = match made.take().filter(|_| shared) {
                        Some(ids) => ids,
                        None => {
                            let binds: Vec<Var> = tys.iter().map(|&ty| w.var(ty)).collect();
                            let ids = binds.iter().map(|b| b.id).collect();
                            let copy = Stmt { binds, op: renamed(names) };
                            w.note_one(&copy);
                            w.out.push(copy);
                            ids
                        }
                    };
                    names.extend(stmt.binds.iter().map(|b| b.id).zip(ids.iter().copied()));
                    made = Some(ids);
                }
            }
        }
    }
}

/// A loop whose turns differ between copies.
fn side_by_side_alone(w: &mut WeaveWriter, stmt: &Stmt, names: &mut Names) {
    let binds: Vec<Var> = stmt.binds.iter().map(|b| w.var(b.ty.elem())).collect();
    let mut op = stmt.op.clone();
    op.each_operand_mut(&mut |id| *id = named(names, *id));
    for body in op.bodies_mut() {
        body.each_use_mut(&mut |id| *id = named(names, *id));
        *body = body.freshened(&mut || w.var(Ty::I64).id);
    }
    names.extend(stmt.binds.iter().map(|b| b.id).zip(binds.iter().map(|b| b.id)));
    w.out.push(Stmt { binds, op });
}

/// Do all copies mean the same by these names?
fn agree(ids: &[Id], copies: &[Names]) -> bool {
    ids.iter().all(|&id| copies.iter().all(|names| named(names, id) == named(&copies[0], id)))
}
