//! Folds of commutative monoids, whole or along axes inside of a tabulate, by as many threads as their sizes ask for.
//!
//! | team | works on | chosen for |
//! |---|---|---|
//! | a thread | a result | few elements a result, or very many results at neighbouring elements |
//! | some threads of a block | a result each | elements that are neighbours, up to some thousand a result |
//! | the block | one result | more of them |
//! | columns | up to 32 neighbouring results, the threads behind each other on every so-many-th element | results that are neighbours |
//!
//! Where that gives too few blocks for a large machine, the elements of a result are cut into pieces, and a second launch
//! folds what the pieces gave. A thread has several elements under way, by wide accesses where an array is folded whole.
//! Monoids whose order counts are not handled here.

use super::maps::{Neighbours, is_line};
use super::plan::Gpu;
use super::teams::{COLUMNS, Finish, Folding, Pace, Team};
use super::threads::ceil_div;
use crate::code::{Body, Id, MemId, Monoid, Op, Stmt, Type};
use crate::kernel::{Access, BufferId, BufferUse};
use crate::lower::access::{far_reads, is_flat};
use crate::lower::planning::unflatten;
use crate::lower::writer::{KernelWriter, Mode};
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;
use std::collections::HashSet;

/// Results from which on a thread for each is enough.
const MANY_RESULTS: u64 = 1 << 18;
/// Elements that one block folds rather than to have a second launch.
const ONE_LAUNCH: u64 = 16_384;
/// Elements of a piece where nothing is known about their number.
const SOME: u64 = 65_536;
/// Elements that one piece of a launch surely sees.
const NEAR_ELEMENTS: u64 = 1 << 22;
/// Elements of a result that a thread takes even where neighbouring threads read far apart then.
const FEW_ALONG: u64 = 8;
/// Statements that the copies of a body may have together.
const COPIED: u64 = 64;
/// The most statements of an element that is one of several which an access reads for all threads.
const SHARED: u64 = 32;

impl<'g> Gpu<'g> {
    /// Can the folds of a commutative monoid be handed out freely here?
    fn folds_freely(&self, monoid: &Monoid) -> bool {
        self.machine.vector_bytes > 0 && monoid.commutative
    }

    /// A fold at the top level, if this file handles it.
    pub(super) fn fold_whole(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body, monoid: &'g Monoid) -> bool {
        if !self.folds_freely(monoid) {
            return false;
        }
        let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.base.buffer_for(b.id, vec![])).collect();
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let same = |array: Id| matches!(self.base.types.get(&array), Some(Type::Array(_, s)) if s == shape);
        let flat = match &positions[..] {
            [position] => is_line(body, *position),
            _ => is_flat(body, &positions, &same),
        };
        let length = self.length(body).map(|n| n as u64);
        let extent = Size::product(shape);
        let neighbours = Neighbours::new(body, extent.clone(), self.machine.vector_bytes);
        let name = self.base.kernel_name("fold");
        let folding = Folding {
            name: &name,
            monoid,
            tys: &tys,
            shape: &[],
            extent: extent.clone(),
            along: true,
            width: if flat && length.is_some_and(|n| n <= COPIED / 4) { 4 } else { 1 },
            in_rows: false,
            length,
            bind: &|w| {
                w.bind_globals(&stmt.op);
                if flat && shape.len() > 1 {
                    w.flatten_memories(shape, &extent);
                }
            },
            prepare: &|_, _, _| {},
            elements: &|w, _, k, count| match flat {
                true => neighbours.run(w, k, count),
                false => {
                    let at = unflatten(w, k, shape);
                    vec![w.run(body, &at, Mode::Lane)]
                }
            },
        };
        let bind_homes = |w: &mut KernelWriter<'_, 'g>| -> Vec<MemId> {
            outputs.iter().map(|&b| w.global(b, Access::Write, vec![])).collect()
        };
        self.fold_out(&folding, &|w| drop(bind_homes(w)), &|w, _, _, values| {
            let homes = bind_homes(w);
            homes.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, vec![], value));
        });
        true
    }

    /// A tabulate whose body is a fold with scalar code around it, if this file handles it.
    pub(super) fn fold_axes(&mut self, shape: &'g [Size], body: &'g Body, outputs: &[(BufferId, Vec<Size>)]) -> bool {
        let is_fold = |s: &&Stmt| matches!(s.op, Op::Fold { .. });
        let (Some(own), 1) = (body.stmts.iter().find(is_fold), body.stmts.iter().filter(is_fold).count()) else {
            return false;
        };
        let Op::Fold { shape: fold_shape, body: inner, monoid } = &own.op else { return false };
        let others = body.stmts.iter().filter(|s| !is_fold(s));
        let plain = |s: &Stmt| self.is_plain(&s.op);
        if !self.folds_freely(monoid) || !others.clone().all(plain) || !inner.stmts.iter().all(plain) {
            return false;
        }
        let extent = Size::product(fold_shape);
        let few = extent.constant().is_some_and(|n| n <= super::FEW_TURNS);
        let far = |lane: Option<Id>| lane.map_or(0, |lane| far_reads(inner, lane));
        let along = far(inner.params.last().map(|p| p.id)) < far(body.params.last().map(|p| p.id));
        if few && (!along || extent.constant().is_some_and(|n| n <= FEW_ALONG)) {
            // Loops of known length in a thread need no help.
            return false;
        }
        let tys: Vec<Ty> = own.binds.iter().map(|b| b.ty.elem()).collect();
        let mut free = vec![];
        own.op.each_operand(&mut |id| free.push(id));
        own.op.bodies().into_iter().for_each(|b| b.each_free(&mut |id| free.push(id)));
        let mut around = monoid.neutral.clone();
        monoid.combine.each_free(&mut |id| around.push(id));
        if body.names().any(|id| around.contains(&id)) {
            // The monoid differs from result to result, but threads of several results join theirs together.
            return false;
        }
        let before = needed(body, own, &free);
        let after = needed(body, own, &body.results);
        let name = self.base.kernel_name("fold");
        let set_position = |w: &mut KernelWriter<'_, 'g>, at: &[Id]| {
            body.params.iter().zip(at).for_each(|(param, &at)| w.set_scalar(param.id, at));
        };
        let reads = [&before[..], &[own]].concat();
        let length = self.length(inner).map(|n| n as u64);
        // Threads of different results read the same elements, several with one access.
        let neighbours = Neighbours::new(inner, extent.clone(), self.machine.vector_bytes);
        let shared = !along && fold_shape.len() == 1 && neighbours.reads() && self.machine.vector_bytes > 0;
        let line = shared && inner.params.last().is_some_and(|k| is_line(inner, k.id));
        // A thread reads several elements of a row with one access.
        let is_row =
            |array: Id| matches!(self.base.types.get(&array), Some(Type::Array(_, s)) if s.last() == Some(&extent));
        let in_rows = along && fold_shape.len() == 1 && neighbours.rows().any(is_row);
        let width = match length {
            Some(n) if line && n <= SHARED || in_rows && n <= COPIED / 4 => 4,
            _ => 1,
        };
        let folding = Folding {
            name: &name,
            monoid,
            tys: &tys,
            shape,
            extent,
            along,
            width,
            in_rows,
            length,
            bind: &|w| w.bind_stmts(&reads, body),
            prepare: &|w, at, _| {
                set_position(w, at);
                w.lane_stmts(before.iter().copied());
            },
            elements: &|w, _, k, count| {
                if line || in_rows {
                    return neighbours.run(w, k, count);
                }
                let at = unflatten(w, k, fold_shape);
                vec![w.run(inner, &at, Mode::Lane)]
            },
        };
        let bind_homes = |w: &mut KernelWriter<'_, 'g>| -> Vec<MemId> {
            w.bind_stmts(&after, body);
            outputs.iter().map(|(b, shape)| w.global(*b, Access::Write, shape.clone())).collect()
        };
        self.fold_out(&folding, &|w| drop(bind_homes(w)), &|w, (at, _), _, values| {
            set_position(w, at);
            own.binds.iter().zip(values).for_each(|(bind, &value)| w.set_scalar(bind.id, value));
            w.lane_stmts(after.iter().copied());
            let results = w.all_scalars(&body.results);
            let homes: Vec<MemId> = outputs.iter().map(|(b, s)| w.global(*b, Access::Write, s.clone())).collect();
            homes.iter().zip(results).for_each(|(&memory, value)| w.store(memory, at.to_vec(), value));
        });
        true
    }

    /// Is there no work on arrays in it but reads?
    fn is_plain(&self, op: &Op) -> bool {
        let plain = |body: &Body| body.stmts.iter().all(|s| self.is_plain(&s.op));
        match op {
            Op::Fold { .. } | Op::Tabulate { .. } | Op::Scan { .. } => false,
            Op::Scatter { .. } | Op::Filter { .. } | Op::Sort { .. } => false,
            Op::Call(function, _) => self.base.written_out(*function).is_none_or(plain),
            op => op.bodies().into_iter().all(plain),
        }
    }

    /// Writes the launches of a fold.
    fn fold_out(
        &mut self,
        folding: &Folding<'_, 'g>,
        bind_homes: &dyn Fn(&mut KernelWriter<'_, 'g>),
        finish: &Finish<'_, 'g>,
    ) {
        let (team, piece) = self.team(folding, true);
        let Some(piece) = piece else { return self.fold_launch(folding, team, None, bind_homes, finish) };
        let pieces = ceil_div(&folding.extent, piece);
        let single = folding.shape.is_empty();
        let shape = parts_of(folding, &pieces);
        let part = |&ty: &Ty| self.base.buffer(ty, shape.clone(), BufferUse::Temporary);
        let parts: Vec<BufferId> = folding.tys.iter().map(part).collect();
        let memories = |w: &mut KernelWriter<'_, 'g>| -> Vec<MemId> {
            parts.iter().map(|&b| w.global(b, Access::Write, shape.clone())).collect()
        };
        self.fold_launch(folding, team, Some(piece), &|w| drop(memories(w)), &|w, (_, result), part, values| {
            let index = if single { vec![part] } else { vec![part, result] };
            let homes = memories(w);
            homes.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, index.clone(), value));
        });
        let name = self.base.kernel_name("fold_parts");
        let rest = Folding { name: &name, extent: pieces, ..*folding };
        self.fold_rest(&rest, &parts, bind_homes, finish);
    }

    /// Folds what the pieces of each result gave: arrays of them, along the first axis, and the results.
    pub(super) fn fold_rest(
        &mut self,
        folding: &Folding<'_, 'g>,
        parts: &[BufferId],
        bind_homes: &dyn Fn(&mut KernelWriter<'_, 'g>),
        finish: &Finish<'_, 'g>,
    ) {
        let single = folding.shape.is_empty();
        let shape = parts_of(folding, &folding.extent);
        let memories = |w: &mut KernelWriter<'_, 'g>| -> Vec<MemId> {
            parts.iter().map(|&b| w.global(b, Access::Read, shape.clone())).collect()
        };
        let rest = Folding {
            extent: folding.extent.clone(),
            along: single,
            width: 1,
            in_rows: false,
            length: Some(folding.tys.len() as u64),
            bind: &|w| {
                memories(w);
                w.bind_monoid(folding.monoid);
            },
            prepare: &|_, _, _| {},
            elements: &|w, (_, result), k, _| {
                let memories = memories(w);
                let index = if single { vec![k] } else { vec![k, result] };
                let load = |(&memory, &ty)| w.push(Op::Load { memory, index: index.clone() }, ty);
                vec![memories.iter().zip(folding.tys).map(load).collect()]
            },
            ..*folding
        };
        let (team, _) = self.team(&rest, false);
        self.fold_launch(&rest, team, None, bind_homes, finish);
    }

    /// Who works on a result, and the length of the pieces if the elements are cut.
    fn team(&self, folding: &Folding<'_, 'g>, may_cut: bool) -> (Team, Option<u64>) {
        let results = Size::product(folding.shape);
        let busy = self.machine.busy_blocks.max(1);
        let (about, turns) = (self.expected.about(&results), self.expected.about(&folding.extent));
        let team = match (folding.along, turns, about) {
            _ if folding.shape.is_empty() => Team::Block,
            (true, Some(..=FEW_ALONG), _) => Team::Thread,
            (true, Some(..=32), _) => Team::Threads(4),
            (true, Some(..=256), _) => Team::Threads(8),
            (true, Some(..=2_048), _) => Team::Threads(32),
            (true, _, _) => Team::Block,
            (false, Some(..=super::FEW_TURNS), _) | (false, _, None | Some(MANY_RESULTS..)) => Team::Thread,
            (false, _, Some(_)) => Team::Columns,
        };
        // Of a class of sizes the smaller ones need help.
        let blocks = match (team, self.expected.at_least(&results)) {
            (Team::Thread | Team::Threads(_), _) | (_, None) => busy,
            (Team::Block, Some(n)) => n.max(1),
            (Team::Columns, Some(n)) => n.div_ceil(COLUMNS).max(1),
        };
        let turns = match (turns, folding.shape.is_empty()) {
            (Some(turns), true) if turns <= ONE_LAUNCH => None,
            (Some(turns), _) => Some(turns),
            (None, true) => Some(SOME * busy),
            (None, false) => None,
        };
        let cut = turns.filter(|_| may_cut && blocks * 2 <= busy).map(|turns| {
            let turn = 256 * self.pace(folding, folding.width, 256).at_once();
            let least = if team == Team::Columns { 128 } else { turn.max(1_024) };
            let length = (turns / (busy / blocks)).max(least);
            1 << length.ilog2()
        });
        if let (true, false, Some(about), Some(turns)) =
            (self.machine.cuts_launches() && may_cut, folding.along, about, turns)
        {
            // Elements of a result are rows apart: only few rows are in one piece of a launch.
            let piece = 1u64 << (NEAR_ELEMENTS / about.max(1)).max(1).ilog2();
            return (Team::Columns, (turns > piece).then_some(cut.map_or(piece, |cut| cut.min(piece))));
        }
        (team, cut.filter(|&piece| turns.is_some_and(|turns| turns > piece)))
    }

    /// What a thread of a team of so many has under way, by accesses of that many elements.
    pub(super) fn pace(&self, folding: &Folding<'_, 'g>, width: u64, lanes: u64) -> Pace {
        let Some(length) = folding.length else { return Pace { width, copies: 1 } };
        let turns = match folding.shape {
            [] => self.expected.about(&folding.extent).map(|n| n / 2),
            _ => self.expected.at_least(&folding.extent),
        };
        let turns = folding.extent.constant().or(turns).unwrap_or(u64::MAX);
        let most = if width > 1 { 4 } else { 8 };
        let copied = if folding.in_rows && width > 1 { 2 * COPIED } else { COPIED };
        let fits = |&n: &u64| n * width * length.max(1) <= copied && n * width * lanes <= turns;
        let copies = [8, 4, 2].into_iter().filter(|&n| n <= most).find(fits).unwrap_or(1);
        Pace { width, copies }
    }
}

/// The axes of what so many pieces of each result give.
fn parts_of(folding: &Folding, pieces: &Size) -> Vec<Size> {
    match folding.shape {
        [] => vec![pieces.clone()],
        shape => vec![pieces.clone(), Size::product(shape)],
    }
}

/// The statements of a body but one that these names need, in order.
fn needed<'g>(body: &'g Body, except: &Stmt, names: &[Id]) -> Vec<&'g Stmt> {
    let mut wanted: HashSet<Id> = names.iter().copied().collect();
    let mut found = vec![];
    for stmt in body.stmts.iter().rev() {
        if std::ptr::eq(stmt, except) || !stmt.binds.iter().any(|b| wanted.contains(&b.id)) {
            continue;
        }
        stmt.op.each_operand(&mut |id| wanted.extend([id]));
        stmt.op.bodies().into_iter().for_each(|b| b.each_free(&mut |id| wanted.extend([id])));
        found.push(stmt);
    }
    found.reverse();
    found
}
