//! Values that are made before they are used.
//!
//! Some bodies cannot be run where they stand, and are made into an array of their own first, which they then read:
//!
//! * of a fold, scan, scatter, filter or sort, if a loop inside carries arrays: lanes and turns have no memory for those;
//! * of a sort, if it costs more than a few operators: elements are asked for more than once, and one by one;
//! * of a scatter onto an array that it reads, since the array may be changed in place.
//!
//! ```text
//! %y = scatter [N] into [M] onto (%x) |%i| { %p = …  %v = at %x[%j]  yield %p, %v } with …
//!   ⇒
//! %t = tabulate [N] |%i| { %v = at %x[%j]  yield %v }
//! %y = scatter [N] into [M] onto (%x) |%k| { %p' = …  %v' = at %t[%k]  yield %p', %v' } with …
//! ```
//!
//! What reads an array after an update of it is moved before the update where it can be, so that the update may be made in place:
//!
//! ```text
//! %y = scatter … onto (%x) …   %v = at %x[%k]   %z = scatter … onto (%y) … %v …
//!   ⇒
//! %v = at %x[%k]   %y = scatter … onto (%x) …   %z = scatter … onto (%y) … %v …
//! ```
//!
//! Places that a scatter can work out without the array that it changes stay where they are: how they move with the position says
//! which turns may be taken together.

use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::pass::fuse;
use crate::program::Program;
use crate::size::{Size, SizeVar};
use crate::types::Ty;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The most that the body of a sort may cost, in additions, to stay where it is.
const CHEAP: u64 = 16;

/// The program with all such bodies apart.
pub(super) fn staged(program: &Program) -> Cow<'_, Program> {
    if !needs_stage(&program.body) {
        return Cow::Borrowed(program);
    }
    let mut staged = program.clone();
    let mut fresh = program.fresh_ids();
    let mut types = HashMap::new();
    super::planning::collect_types(&program.body, &mut types);
    stage(&mut staged.body, &mut types, &mut fresh);
    Cow::Owned(staged)
}

fn needs_stage(body: &Body) -> bool {
    let updates = |op: &Op| matches!(op, Op::Scatter { onto, .. } if !onto.is_empty());
    let here = |stmt: &Stmt| stands_apart(&stmt.op) || updates(&stmt.op);
    body.stmts.iter().any(|stmt| here(stmt) || stmt.op.bodies().into_iter().any(needs_stage))
}

/// Must the body of the operation be made first?
fn stands_apart(op: &Op) -> bool {
    match op {
        Op::Fold { body, .. } | Op::Scan { body, .. } | Op::Filter { body, .. } => body.has_array_loop(),
        Op::Sort { body, .. } => body.has_array_loop() || fuse::cost(body) > CHEAP,
        Op::Scatter { body, onto, .. } => {
            let mut reads = false;
            body.each_free(&mut |id| reads |= onto.contains(&id));
            reads || body.has_array_loop()
        }
        _ => false,
    }
}

fn stage(body: &mut Body, types: &mut HashMap<Id, Type>, fresh: &mut dyn FnMut() -> Id) {
    let mut out = Vec::with_capacity(body.stmts.len());
    for mut stmt in std::mem::take(&mut body.stmts) {
        for inner in stmt.op.bodies_mut() {
            stage(inner, types, fresh);
        }
        if stands_apart(&stmt.op) {
            let stays = stays(&stmt.op, onto(&stmt.op));
            out.extend(take_apart(&mut stmt.op, &stays, types, fresh));
        }
        out.push(stmt);
    }
    body.stmts = out;
    read_first(body, types, fresh);
}

/// The arrays that an update starts from.
fn onto(op: &Op) -> &[Id] {
    match op {
        Op::Scatter { onto, .. } => onto,
        _ => &[],
    }
}

/// Every name that a statement uses, inside of its bodies too.
fn each_use(stmt: &Stmt, f: &mut dyn FnMut(Id)) {
    stmt.op.each_operand(f);
    stmt.op.bodies().into_iter().for_each(|inner| inner.each_free(f));
}

/// Is there a size in the operation, or inside of it, that is one of these counts?
fn hangs_on(op: &Op, counts: &HashSet<SizeVar>) -> bool {
    let mut found = false;
    op.sizes().into_iter().for_each(|size| size.each_var(&mut |var| found |= counts.contains(&var)));
    found || op.bodies().into_iter().any(|body| body.stmts.iter().any(|stmt| hangs_on(&stmt.op, counts)))
}

/// Moves what reads an array after an update of it before the update.
fn read_first(body: &mut Body, types: &mut HashMap<Id, Type>, fresh: &mut dyn FnMut() -> Id) {
    let mut uses: HashMap<Id, usize> = HashMap::new();
    body.stmts.iter().for_each(|stmt| each_use(stmt, &mut |id| *uses.entry(id).or_default() += 1));
    let mut place = 0;
    while place < body.stmts.len() {
        let old: Vec<Id> = onto(&body.stmts[place].op).iter().copied().filter(|id| uses[id] > 1).collect();
        if old.is_empty() {
            place += 1;
            continue;
        }
        let mut early = vec![];
        let mut late: HashSet<Id> = body.stmts[place].binds.iter().map(|bind| bind.id).collect();
        let mut rest = vec![];
        let mut late_counts = HashSet::new();
        for mut stmt in body.stmts.drain(place + 1..) {
            let mut reads = false;
            let mut waits = hangs_on(&stmt.op, &late_counts);
            each_use(&stmt, &mut |id| {
                reads |= old.contains(&id);
                waits |= late.contains(&id);
            });
            if reads && !waits {
                early.push(stmt);
                continue;
            }
            // An update of what came of the array, by what was in it: that can be read before.
            if let Op::Filter { kept, .. } = stmt.op {
                late_counts.insert(kept);
            }
            let counted = hangs_on(&stmt.op, &late_counts);
            if reads
                && !counted
                && matches!(stmt.op, Op::Scatter { .. })
                && !onto(&stmt.op).iter().any(|id| old.contains(id))
            {
                let stays = stays(&stmt.op, &old);
                let mut waits = false;
                part(stmt.op.bodies()[0], &stays, false).each_free(&mut |id| waits |= late.contains(&id));
                if !waits {
                    early.extend(take_apart(&mut stmt.op, &stays, types, fresh));
                }
            }
            late.extend(stmt.binds.iter().map(|bind| bind.id));
            rest.push(stmt);
        }
        place += early.len() + 1;
        let update = body.stmts.pop();
        body.stmts.extend(early.into_iter().chain(update).chain(rest));
    }
}

/// The tabulate of what the operation's body gives, which reads it from here on; nothing where all of it may stay, without what
/// it did for nobody.
fn take_apart(
    op: &mut Op,
    stays: &[bool],
    types: &mut HashMap<Id, Type>,
    fresh: &mut dyn FnMut() -> Id,
) -> Option<Stmt> {
    let shape: Vec<Size> = match op {
        Op::Fold { shape, .. } | Op::Scan { shape, .. } | Op::Scatter { shape, .. } => shape.clone(),
        Op::Sort { shape, .. } => shape.clone(),
        Op::Filter { extent, .. } => vec![extent.clone()],
        other => unreachable!("has no body over positions: {other:?}"),
    };
    let body = match op {
        Op::Fold { body, .. } | Op::Scan { body, .. } | Op::Scatter { body, .. } | Op::Filter { body, .. } => body,
        Op::Sort { body, .. } => body,
        other => unreachable!("has no body over positions: {other:?}"),
    };
    let positions: Vec<Var> = shape.iter().map(|_| Var { id: fresh(), ty: Type::Scalar(Ty::I64) }).collect();
    let index: Vec<Id> = positions.iter().map(|p| p.id).collect();
    let kept = part(body, stays, true).instantiate(&index, fresh);
    let made = part(body, stays, false);
    let mut reader = Body { params: positions, stmts: kept.stmts, results: vec![] };
    let mut arrays = vec![];
    let mut still = kept.results.into_iter();
    for (result, stays) in body.results.iter().zip(stays) {
        let ty = types[result].elem();
        if *stays {
            let again = still.next().unwrap_or(*result);
            types.insert(again, Type::Scalar(ty));
            reader.results.push(again);
            continue;
        }
        let array = Var { id: fresh(), ty: Type::Array(ty, shape.clone()) };
        let element = Var { id: fresh(), ty: Type::Scalar(ty) };
        types.insert(element.id, element.ty.clone());
        reader.results.push(element.id);
        reader.stmts.push(Stmt { binds: vec![element], op: Op::At { array: array.id, index: index.clone() } });
        arrays.push(array);
    }
    *body = reader;
    (!arrays.is_empty()).then_some(Stmt { binds: arrays, op: Op::Tabulate { shape, body: made } })
}

/// Which results of the operation's body need not be made first: straight code of a scatter that does not read what is changed.
fn stays(op: &Op, changed: &[Id]) -> Vec<bool> {
    let body = op.bodies()[0];
    if !matches!(op, Op::Scatter { .. }) {
        return vec![false; body.results.len()];
    }
    let stays = |result: &Id| {
        let sources = body.sources(&[*result]);
        let used = |stmt: &Stmt| stmt.binds.iter().any(|bind| sources.contains(&bind.id));
        let straight = body.stmts.iter().all(|stmt| !used(stmt) || stmt.op.bodies().is_empty());
        straight && !changed.iter().any(|array| sources.contains(array))
    };
    body.results.iter().map(stays).collect()
}

/// The part of a body that gives some of its results.
fn part(body: &Body, stays: &[bool], wanted: bool) -> Body {
    let results: Vec<Id> = body.results.iter().zip(stays).filter(|(_, s)| **s == wanted).map(|(id, _)| *id).collect();
    let mut used: HashSet<Id> = results.iter().copied().collect();
    let mut stmts = vec![];
    for stmt in body.stmts.iter().rev() {
        if stmt.binds.iter().any(|bind| used.contains(&bind.id)) {
            // Also what is used for nothing: it is still there.
            stmt.op.each_operand(&mut |id| _ = used.insert(id));
            stmt.op.bodies().into_iter().for_each(|inner| inner.each_free(&mut |id| _ = used.insert(id)));
            stmts.push(stmt.clone());
        }
    }
    stmts.reverse();
    Body { params: body.params.clone(), stmts, results }
}
