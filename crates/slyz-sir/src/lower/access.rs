//! How code reads arrays: what decides which axis the lanes run over.
//!
//! Lanes want to read neighbouring elements. For a candidate variable, each read is good when the variable does not
//! occur in its position (all lanes read one element) or moves the last index by one per step; otherwise the lanes
//! gather from far apart. Clamped neighbours count as neighbours.

use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::ops::Operator;
use crate::pass::fuse;
use crate::size::Size;
use std::collections::HashMap;

/// How a value, or the place of a read, moves when the variable moves by one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Still,
    Unit,
    Far,
}

/// The number of reads in the body, inner bodies included, whose lanes would be far apart if they ran over `lane`.
pub(super) fn far_reads(body: &Body, lane: Id) -> usize {
    reads(body, lane).values().filter(|&&step| step == Step::Far).count()
}

/// How the place of each read in the body, inner bodies included, moves with `lane`; by the name of what is read.
pub(super) fn reads(body: &Body, lane: Id) -> HashMap<Id, Step> {
    let mut steps = HashMap::from([(lane, Step::Unit)]);
    let mut places = HashMap::new();
    walk(body, &mut steps, &mut places);
    places
}

fn walk(body: &Body, steps: &mut HashMap<Id, Step>, places: &mut HashMap<Id, Step>) {
    for stmt in &body.stmts {
        let step = |id: &Id| steps.get(id).copied().unwrap_or(Step::Still);
        let result = match &stmt.op {
            Op::At { index, .. } => {
                let (last, outer) = index.split_last().expect("an array has an axis");
                let moves = outer.iter().any(|i| step(i) != Step::Still) || step(last) == Step::Far;
                let place = if moves { Step::Far } else { step(last) };
                places.extend(stmt.binds.iter().map(|b| (b.id, place)));
                if place == Step::Still { Step::Still } else { Step::Far }
            }
            Op::Apply(operator, args) => {
                let moved: Vec<Step> = args.iter().map(step).collect();
                let units = moved.iter().filter(|&&s| s == Step::Unit).count();
                match operator {
                    _ if moved.iter().all(|&s| s == Step::Still) => Step::Still,
                    _ if moved.contains(&Step::Far) || units > 1 => Step::Far,
                    Operator::Add | Operator::Min | Operator::Max | Operator::Clamp => Step::Unit,
                    Operator::Sub if moved[0] == Step::Unit => Step::Unit,
                    _ => Step::Far,
                }
            }
            Op::Cast(_, arg) => step(arg),
            op => {
                let mut moves = false;
                op.each_operand(&mut |id| moves |= steps.get(&id).is_some_and(|&s| s != Step::Still));
                if moves { Step::Far } else { Step::Still }
            }
        };
        for inner in stmt.op.bodies() {
            walk(inner, steps, places);
        }
        steps.extend(stmt.binds.iter().map(|b| (b.id, result)));
    }
}

/// Does the fold go through rows that nobody else goes through? That is: some read moves along a row with the lanes and
/// from row to row with the fold, and every such read also moves with all the outer positions.
pub(super) fn streams_rows(fold: &Body, lane: Id, outer: &[Id]) -> bool {
    let Some(own) = fold.params.last().map(|p| p.id) else { return false };
    let mut any = false;
    let mut all = true;
    fn reads<'b>(body: &'b Body, found: &mut Vec<&'b Vec<Id>>) {
        for stmt in &body.stmts {
            if let Op::At { index, .. } = &stmt.op {
                found.push(index);
            }
            stmt.op.bodies().into_iter().for_each(|b| reads(b, found));
        }
    }
    let mut found = vec![];
    reads(fold, &mut found);
    for index in found {
        let Some((last, before)) = index.split_last() else { continue };
        let streams = *last == lane && before.contains(&own);
        any |= streams;
        all &= !streams || outer.iter().all(|o| before.contains(o));
    }
    any && all
}

/// Does every read of arrays of this shape use exactly these positions, and does nothing else use them? Then the axes can
/// be treated as one long axis.
pub(super) fn is_flat(body: &Body, positions: &[Id], same_shape: &dyn Fn(Id) -> bool) -> bool {
    body.stmts.iter().all(|stmt| {
        if let Op::At { array, index } = &stmt.op
            && same_shape(*array)
        {
            return index == positions;
        }
        let mut uses = false;
        stmt.op.each_operand(&mut |id| uses |= positions.contains(&id));
        !uses && stmt.op.bodies().iter().all(|b| is_flat(b, positions, same_shape))
    }) && !body.results.iter().any(|id| positions.contains(id))
}

/// Code without loops or arrays of its own.
pub(super) fn is_plain(body: &Body) -> bool {
    body.stmts.iter().all(is_plain_stmt)
}

pub(super) fn is_plain_stmt(stmt: &Stmt) -> bool {
    match &stmt.op {
        Op::Fold { .. } | Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Sort { .. } => false,
        Op::For { .. } | Op::While { .. } => false,
        op => op.bodies().iter().all(|b| is_plain(b)),
    }
}

/// Does a scatter write, and never combine: does the last of several values for one place stay?
pub(super) fn last_one_stays(monoid: &Monoid) -> bool {
    let params = &monoid.combine.params;
    let right = params[params.len() / 2..].iter().map(|p| p.id);
    right.eq(monoid.combine.results.iter().copied())
}

/// The axis of the target along which the turns of a scatter's last axis go one by one, if all else of the place is the same
/// for all of them: then no two of these turns write to one place.
pub(super) fn row_of_turns(body: &Body, rank: usize) -> Option<usize> {
    let last = body.params.last()?.id;
    let place = &body.results[..rank];
    let axis = place.iter().position(|&id| id == last)?;
    let moved = reads_and_values(body, last);
    let others = place.iter().enumerate().filter(|(k, _)| *k != axis);
    others.into_iter().all(|(_, id)| moved.get(id).is_none_or(|&step| step == Step::Still)).then_some(axis)
}

/// Does every turn of a scatter write to a place of its own?
pub(super) fn is_one_to_one(body: &Body, rank: usize) -> bool {
    body.params.iter().all(|param| body.results[..rank].contains(&param.id))
}

/// How each name of the body moves with `lane`.
fn reads_and_values(body: &Body, lane: Id) -> HashMap<Id, Step> {
    let mut steps = HashMap::from([(lane, Step::Unit)]);
    walk(body, &mut steps, &mut HashMap::new());
    steps
}

/// Arithmetic for each read, in additions, from which on it pays that lanes do it together though they read apart.
const WORTH_GATHERING: u64 = 12;

/// Does every lane go through memory on a way of its own, for as long as data say, and computes little of what it reads there? Together
/// they would wait for the longest way, and each read would fetch as many elements one by one as there are lanes.
pub(super) fn go_apart(body: &Body, lane: Id) -> bool {
    let moved = reads_and_values(body, lane);
    let is_far = |id: &Id| moved.get(id) == Some(&Step::Far);
    body.stmts.iter().any(|stmt| {
        let ends_apart = match &stmt.op {
            Op::For { lo, hi, .. } => is_far(lo) || is_far(hi),
            Op::While { cond, .. } => {
                let mut far = false;
                cond.each_free(&mut |id| far |= is_far(&id));
                far
            }
            _ => false,
        };
        let bodies = stmt.op.bodies();
        let reads: u64 = bodies.iter().map(|body| count_reads(body)).sum();
        let cost = bodies.iter().fold(0u64, |sum, body| sum.saturating_add(fuse::cost(body)));
        ends_apart && !stmt.carries_arrays() && reads > 0 && cost <= reads.saturating_mul(WORTH_GATHERING)
    })
}

fn count_reads(body: &Body) -> u64 {
    let own = |stmt: &Stmt| u64::from(matches!(stmt.op, Op::At { .. }));
    body.stmts.iter().map(|s| own(s) + s.op.bodies().into_iter().map(count_reads).sum::<u64>()).sum()
}

/// Must the body be run by a whole block: does it make arrays that are kept, or fold along an axis that its reads follow? Lanes
/// that have a fold of a short axis each are not better off with neighbours.
pub(super) fn needs_block(body: &Body, lane: Option<Id>, is_short: &dyn Fn(&[Size]) -> bool) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Sort { .. } => true,
        Op::For { .. } | Op::While { .. } if stmt.carries_arrays() => true,
        Op::Fold { shape, body: inner, .. } => {
            let own = inner.params.last().map_or(0, |k| far_reads(inner, k.id));
            let across = lane.map_or(usize::MAX, |lane| far_reads(inner, lane));
            let follows = own < across && !(lane.is_some() && is_short(shape));
            follows || needs_block(inner, lane, is_short)
        }
        op => op.bodies().iter().any(|b| needs_block(b, lane, is_short)),
    })
}
