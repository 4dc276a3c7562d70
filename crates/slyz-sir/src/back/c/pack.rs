//! Loops that keep some of their turns, as vectors: what is kept goes behind what was kept before.
//!
//! ```text
//! for … (%n) |%i, %at| { …  if %keep { store out[%at], %v }  %k: i64 = cast %keep  %next: i64 = add %at, %k  yield %next }
//! ```
//!
//! Turns do not depend on each other but for the place that they write to, and that is the number of lanes before them that are
//! kept. So a vector of turns is computed at once, its kept lanes are moved to the front, and as many are stored. Nothing is written
//! behind them: that is the place of another core.

use super::EmitError;
use super::expr;
use super::lines::line;
use super::value::{Lane, Value};
use super::writer::{CWriter, Live};
use crate::back::tree::{Infix, Tree};
use crate::class;
use crate::code::{Body, Id, Op, Stmt};
use crate::kernel::{Access, Kernel, Space};
use crate::ops::Operator;
use crate::types::Ty;

/// A loop that was found to be one of them.
struct Pack<'b> {
    /// Is the turn kept?
    keep: Id,
    /// What is stored of one that is.
    kept: &'b Body,
    /// Statements of the loop that all this stands for.
    own: [&'b Stmt; 3],
}

impl<'b> Pack<'b> {
    fn find(kernel: &Kernel, body: &'b Body) -> Option<Pack<'b>> {
        let [_, at] = &body.params[..] else { return None };
        let [next] = body.results[..] else { return None };
        let made = |id: Id| body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == id));
        let sum = made(next)?;
        let Op::Apply(Operator::Add, terms) = &sum.op else { return None };
        let [a, b] = terms[..] else { return None };
        let one = made(if a == at.id { b } else { a })?;
        let Op::Cast(Ty::I64, keep) = one.op else { return None };
        let mut effects = body.stmts.iter().filter(|stmt| stmt.op.has_effect());
        let store = effects.next().filter(|_| effects.next().is_none())?;
        let Op::If { cond, args, then, otherwise } = &store.op else { return None };
        let own = [sum, one, store];
        let is_own = |stmt: &&Stmt| own.iter().any(|other| std::ptr::eq(*other, *stmt));
        let free =
            |stmt: &Stmt| !mentions(stmt, at.id) && !mentions(stmt, one.binds[0].id) && is_lanewise(kernel, stmt);
        let stored = |stmt: &Stmt| match &stmt.op {
            Op::Store { memory, index, values } => {
                let written = kernel.memories[memory.0 as usize].space == Space::Global(Access::Write);
                written && index[..] == [at.id] && values.len() == 1 && values[0] != at.id
            }
            op => !op.has_effect() && free(stmt),
        };
        let adds = terms.contains(&at.id) && a != b;
        let plain = *cond == keep && args.is_empty() && store.binds.is_empty() && otherwise.stmts.is_empty();
        let others = body.stmts.iter().filter(|stmt| !is_own(stmt)).all(free);
        let good = adds && plain && others && then.stmts.iter().all(stored);
        good.then_some(Pack { keep, kept: then, own })
    }
}

/// Does the statement, or one inside it, ask for that?
fn mentions(stmt: &Stmt, id: Id) -> bool {
    let mut found = false;
    stmt.op.each_operand(&mut |operand| found |= operand == id);
    stmt.op.bodies().into_iter().for_each(|body| body.each_free(&mut |name| found |= name == id));
    found
}

/// Can lanes do it, each on its own?
fn is_lanewise(kernel: &Kernel, stmt: &Stmt) -> bool {
    let here = match &stmt.op {
        Op::Load { memory, .. } => stmt.binds.len() == 1 && kernel.memories[memory.0 as usize].space != Space::Local,
        class!(Scalar) | class!(Call) | class!(Control) => true,
        Op::LoadFragment { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Check { .. } => false,
        class!(Place) | class!(Array) | class!(Meeting) => false,
    };
    here && stmt.op.bodies().into_iter().all(|body| body.stmts.iter().all(|stmt| is_lanewise(kernel, stmt)))
}

/// Writes the loop `lo..hi` from the place `start` on, if it is one that keeps some of its turns.
pub(super) fn write(
    w: &mut CWriter,
    stmt: &Stmt,
    [lo, hi]: [Id; 2],
    start: Id,
    body: &Body,
) -> Result<bool, EmitError> {
    let Some(pack) = Pack::find(w.kernel, body) else { return Ok(false) };
    let name = w.file.function_name(&w.kernel.name, "pack");
    let code = w.aside(Live::Count, |w| {
        let turn = w.first_turn(Tree::name("i"));
        w.enter(body, &[turn, Value::uniform(Ty::I64, Tree::name("at"))]);
        let others = body.stmts.iter().filter(|stmt| !pack.own.iter().any(|own| std::ptr::eq(*own, *stmt)));
        others.into_iter().try_for_each(|stmt| w.stmt(stmt))?;
        keep(w, &pack)
    })?;
    let (declarations, arguments) = w.captured(&code);
    let own = ["i64 at", "i64 i", "int n"].map(String::from);
    let parameters = [&declarations[..], &own].concat().join(", ");
    w.file.items.push(format!("FN i64 {name}({parameters}) {{\n{code}}}\n"));

    let start = w.scalar(start)?;
    let lo = w.scalar(lo)?;
    let hi = w.bound(hi)?;
    let at = w.fresh("s");
    let turn = w.fresh("j");
    let i = Tree::name(&turn);
    let width = Tree::name("W");
    let call = |n: Tree| {
        let call = Tree::call(&name, arguments.iter().cloned().chain([Tree::name(&at), i.clone(), n]));
        line![at, " = ", call, ";"]
    };
    w.line(line!["i64 ", at, " = ", start, ";"]);
    w.line(line!["i64 ", turn, " = ", lo, ";"]);
    let whole = Tree::infix(Infix::Le, Tree::infix(Infix::Add, i.clone(), width.clone()), hi.clone());
    w.line(line!["for (; ", whole, "; ", turn, " += ", width, ") ", call(width.clone())]);
    let rest = Tree::cast("int", Tree::infix(Infix::Sub, hi.clone(), i.clone()));
    w.line(line!["if (", Tree::infix(Infix::Lt, i.clone(), hi), ") ", call(rest)]);
    w.declare(&at, format!("i64 {at}"));
    w.set_values(&stmt.binds, &[Value::uniform(Ty::I64, Tree::name(&at))]);
    Ok(true)
}

/// Stores the lanes that are kept, and gives back the place behind them.
fn keep(w: &mut CWriter, pack: &Pack) -> Result<(), EmitError> {
    let mask = w.fresh("m");
    let keep = expr::spread(&w.get(pack.keep), Lane::Mask);
    let on = Tree::infix(Infix::And, w.mask(), keep);
    w.set("vi32", &mask, on);
    let kept = w.fresh("k");
    let count = Tree::call("lanes_on", [Tree::name(&mask)]);
    w.line(line!["int ", kept, " = ", count, ";"]);
    w.live = Live::Mask(mask.clone());
    for stmt in &pack.kept.stmts {
        let Op::Store { memory, index, values } = &stmt.op else {
            w.stmt(stmt)?;
            continue;
        };
        let ty = w.kernel.memories[memory.0 as usize].ty;
        let lane = Lane::of(ty);
        w.file.lanes_64 |= lane.is_wide();
        let value = expr::spread(&w.get(values[0]), lane);
        let front = Tree::call(format!("pack_{}", lane.name()), [value, Tree::name(&mask)]);
        let (address, _) = w.address(*memory, index);
        let stored = Tree::call(format!("store_{ty}"), [address.pointer(), front, Tree::name(&kept)]);
        w.line(line![stored, ";"]);
    }
    w.line(line!["return ", Tree::infix(Infix::Add, Tree::name("at"), Tree::name(&kept)), ";"]);
    Ok(())
}
