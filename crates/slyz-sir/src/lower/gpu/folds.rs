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
use super::threads::{ceil_div, each_position};
use crate::code::{Body, Id, MemId, Monoid, Op, Stmt, Type};
use crate::kernel::{Access, BufferId, BufferUse};
use crate::lower::PIECE;
use crate::lower::access::{far_reads, is_flat};
use crate::lower::planning::{piece, unflatten};
use crate::lower::writer::{Mode, Writer, is_exact};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;

/// Blocks that keep a large machine busy.
const BUSY_BLOCKS: u64 = 2_048;
/// Neighbouring results that a block of columns works on.
const COLUMNS: u64 = 32;
/// Results from which on a thread for each is enough.
const MANY_RESULTS: u64 = 1 << 18;
/// Elements that one block folds rather than to have a second launch.
const ONE_LAUNCH: u64 = 16_384;
/// Elements of a piece where nothing is known about their number.
const SOME: u64 = 65_536;
/// Elements of a result that a thread takes even where neighbouring threads read far apart then.
const FEW_ALONG: u64 = 8;
/// Partial results that one thread joins.
const FEW_PARTS: u64 = 8;
/// Statements that the copies of a body may have together.
const COPIED: u64 = 64;

/// Writes something at a result: its position, and its number.
type AtResult<'a, 'g> = dyn Fn(&mut Writer<'_, 'g>, &[Id], Id) + 'a;
/// Elements of a result that are neighbours: the result's position and number, the first element and how many.
type Elements<'a, 'g> = dyn Fn(&mut Writer<'_, 'g>, (&[Id], Id), Id, u64) -> Vec<Vec<Id>> + 'a;
/// What is done with the value of a result, or of a piece of one.
type Finish<'a, 'g> = dyn Fn(&mut Writer<'_, 'g>, (&[Id], Id), Id, &[Id]) + 'a;

/// Something to fold.
struct Folding<'a, 'g> {
    name: &'a str,
    monoid: &'g Monoid,
    tys: &'a [Ty],
    /// The axes of the results; none for a single one.
    shape: &'a [Size],
    /// Elements of a result.
    extent: Size,
    /// Are the elements of a result neighbours, rather than the results?
    along: bool,
    /// Elements that one access reads.
    width: u64,
    /// Statements for an element, unless it takes long.
    length: Option<u64>,
    /// Binds what is read.
    bind: &'a dyn Fn(&mut Writer<'_, 'g>),
    /// Computes what the elements of a result share.
    prepare: &'a AtResult<'a, 'g>,
    elements: &'a Elements<'a, 'g>,
}

/// Who works on a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Team {
    Thread,
    Threads(u32),
    Block,
    Columns,
}

/// The threads of a result, as the code of one of them sees it.
#[derive(Clone, Copy)]
struct Lanes {
    /// Which one it is, and how many there are.
    lane: Id,
    count: Id,
    /// The same, where it is known before the launch.
    known: Option<u64>,
}

impl<'g> Folding<'_, 'g> {
    /// The fold of the elements `lo..hi` that are this thread's.
    fn own(
        &self,
        w: &mut Writer<'_, 'g>,
        result: (&[Id], Id),
        [lo, hi]: [Id; 2],
        lanes: Lanes,
        split: bool,
        copies: u64,
    ) -> Vec<Id> {
        let neutral = w.all_scalars(&self.monoid.neutral);
        let at_once = copies * self.width;
        let single = |w: &mut Writer<'_, 'g>, start: Id, end: Id, state: Vec<Id>| {
            let first = w.index(Operator::Add, start, lanes.lane);
            w.for_steps(first, end, lanes.count, (state, self.tys), |w, k, state| {
                let item = (self.elements)(w, result, k, 1).remove(0);
                w.combine(self.monoid, state, &item)
            })
        };
        // What is known about whole turns of the team.
        let whole = lanes.known.map(|n| n * at_once).filter(|_| !split).zip(self.extent.constant());
        if at_once == 1 || whole.is_some_and(|(turn, n)| n < turn) {
            return single(w, lo, hi, neutral);
        }
        let together = |w: &mut Writer<'_, 'g>, start: Id, state: &[Id]| {
            let skipped = w.scaled(lanes.lane, self.width);
            let first = w.index(Operator::Add, start, skipped);
            let stride = w.scaled(lanes.count, self.width);
            let mut items = vec![];
            for copy in 0..copies {
                let skipped = w.scaled(stride, copy);
                let k = w.index(Operator::Add, first, skipped);
                items.extend((self.elements)(w, result, k, self.width));
            }
            let joined = self.tree(w, items);
            w.combine(self.monoid, state, &joined)
        };
        let turn = w.scaled(lanes.count, at_once);
        let turns = |w: &mut Writer<'_, 'g>, [lo, hi]: [Id; 2], init: Vec<Id>| {
            w.for_steps(lo, hi, turn, (init, self.tys), |w, start, state| {
                if whole.is_some_and(|(turn, n)| n % turn == 0) {
                    return together(w, start, state);
                }
                let end = w.index(Operator::Add, start, turn);
                let full = w.push(Op::Apply(Operator::Le, vec![end, hi]), Ty::Bool);
                let rest = state.to_vec();
                w.branch(full, self.tys, |w| together(w, start, state), |w| single(w, start, hi, rest))
            })
        };
        // The error of a long sum grows with its longest chain: it is cut, and the parts are summed.
        let short = split || whole.is_some_and(|(turn, n)| n <= turn * PIECE as u64);
        if short || is_exact(self.monoid, self.tys) {
            return turns(w, [lo, hi], neutral);
        }
        let part = w.scaled(turn, PIECE as u64);
        w.for_steps(lo, hi, part, (neutral.clone(), self.tys), |w, start, state| {
            let end = w.index(Operator::Add, start, part);
            let end = w.index(Operator::Min, end, hi);
            let own = turns(w, [start, end], neutral);
            w.combine(self.monoid, state, &own)
        })
    }

    /// Neighbours are joined, then neighbouring pairs, and so on.
    fn tree(&self, w: &mut Writer<'_, 'g>, mut items: Vec<Vec<Id>>) -> Vec<Id> {
        while items.len() > 1 {
            let pairs = items.chunks(2);
            items = pairs
                .map(|pair| match pair {
                    [left, right] => w.combine(self.monoid, left, right),
                    single => single.concat(),
                })
                .collect();
        }
        items.remove(0)
    }
}

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
        let neighbours = Neighbours::new(body, self.machine.vector_bytes);
        let extent = Size::product(shape);
        let name = self.base.kernel_name("fold");
        let folding = Folding {
            name: &name,
            monoid,
            tys: &tys,
            shape: &[],
            extent: extent.clone(),
            along: true,
            width: if flat && length.is_some_and(|n| n <= COPIED / 4) { 4 } else { 1 },
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
        let bind_homes = |w: &mut Writer<'_, 'g>| -> Vec<MemId> {
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
        let set_position = |w: &mut Writer<'_, 'g>, at: &[Id]| {
            body.params.iter().zip(at).for_each(|(param, &at)| w.set_scalar(param.id, at));
        };
        let reads = [&before[..], &[own]].concat();
        let folding = Folding {
            name: &name,
            monoid,
            tys: &tys,
            shape,
            extent,
            along,
            width: 1,
            length: self.length(inner).map(|n| n as u64),
            bind: &|w| w.bind_stmts(&reads, body),
            prepare: &|w, at, _| {
                set_position(w, at);
                w.lane_stmts(before.iter().copied());
            },
            elements: &|w, _, k, _| {
                let at = unflatten(w, k, fold_shape);
                vec![w.run(inner, &at, Mode::Lane)]
            },
        };
        let bind_homes = |w: &mut Writer<'_, 'g>| -> Vec<MemId> {
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
            Op::Fold { .. } | Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Filter { .. } => false,
            Op::Call(function, _) => self.base.written_out(*function).is_none_or(plain),
            op => op.bodies().into_iter().all(plain),
        }
    }

    /// Writes the launches of a fold.
    fn fold_out(
        &mut self,
        folding: &Folding<'_, 'g>,
        bind_homes: &dyn Fn(&mut Writer<'_, 'g>),
        finish: &Finish<'_, 'g>,
    ) {
        let (team, piece) = self.team(folding, true);
        let Some(piece) = piece else { return self.fold_launch(folding, team, None, bind_homes, finish) };
        let (results, pieces) = (Size::product(folding.shape), ceil_div(&folding.extent, piece));
        let single = folding.shape.is_empty();
        let shape = if single { vec![pieces.clone()] } else { vec![pieces.clone(), results] };
        let part = |&ty: &Ty| self.base.buffer(ty, shape.clone(), BufferUse::Temporary);
        let parts: Vec<BufferId> = folding.tys.iter().map(part).collect();
        let index = |part: Id, result: Id| if single { vec![part] } else { vec![part, result] };
        let memories = |w: &mut Writer<'_, 'g>, access: Access| -> Vec<MemId> {
            parts.iter().map(|&b| w.global(b, access, shape.clone())).collect()
        };
        self.fold_launch(
            folding,
            team,
            Some(piece),
            &|w| drop(memories(w, Access::Write)),
            &|w, (_, result), part, values| {
                let homes = memories(w, Access::Write);
                homes.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, index(part, result), value));
            },
        );
        let name = self.base.kernel_name("fold_parts");
        let rest = Folding {
            name: &name,
            extent: pieces,
            along: single,
            width: 1,
            length: Some(folding.tys.len() as u64),
            bind: &|w| {
                memories(w, Access::Read);
                w.bind_monoid(folding.monoid);
            },
            prepare: &|_, _, _| {},
            elements: &|w, (_, result), k, _| {
                let memories = memories(w, Access::Read);
                let load = |(&memory, &ty)| w.push(Op::Load { memory, index: index(k, result) }, ty);
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
            (Team::Thread | Team::Threads(_), _) | (_, None) => BUSY_BLOCKS,
            (Team::Block, Some(n)) => n.max(1),
            (Team::Columns, Some(n)) => n.div_ceil(COLUMNS).max(1),
        };
        let turns = match (turns, folding.shape.is_empty()) {
            (Some(turns), true) if turns <= ONE_LAUNCH => None,
            (Some(turns), _) => Some(turns),
            (None, true) => Some(SOME * BUSY_BLOCKS),
            (None, false) => None,
        };
        let cut = turns.filter(|_| may_cut && blocks * 2 <= BUSY_BLOCKS).map(|turns| {
            let turn = 256 * folding.width * self.copies(folding, 256);
            let least = if team == Team::Columns { 128 } else { turn.max(1_024) };
            let length = (turns / (BUSY_BLOCKS / blocks)).max(least);
            1 << length.ilog2()
        });
        (team, cut.filter(|&piece| turns.is_some_and(|turns| turns > piece)))
    }

    /// Elements, or accesses, that a thread of a team of so many has under way.
    fn copies(&self, folding: &Folding<'_, 'g>, lanes: u64) -> u64 {
        let Some(length) = folding.length else { return 1 };
        let turns = match folding.shape {
            [] => self.expected.about(&folding.extent).map(|n| n / 2),
            _ => self.expected.at_least(&folding.extent),
        };
        let turns = folding.extent.constant().or(turns).unwrap_or(u64::MAX);
        let most = if folding.width > 1 { 4 } else { 8 };
        let fits = |&n: &u64| n * folding.width * length.max(1) <= COPIED && n * folding.width * lanes <= turns;
        [8, 4, 2].into_iter().filter(|&n| n <= most).find(fits).unwrap_or(1)
    }

    /// One launch of a fold.
    fn fold_launch(
        &mut self,
        folding: &Folding<'_, 'g>,
        team: Team,
        cut: Option<u64>,
        bind_homes: &dyn Fn(&mut Writer<'_, 'g>),
        finish: &Finish<'_, 'g>,
    ) {
        let bytes: u64 = folding.tys.iter().map(|ty| ty.bytes() as u64).sum();
        let room = (self.machine.shared_bytes / bytes.max(1)).clamp(1, self.machine.threads().into());
        let (results, extent) = (Size::product(folding.shape), &folding.extent);
        let most = match (team, self.expected.about(extent)) {
            (Team::Block, Some(turns)) => room.min(turns.max(1).next_power_of_two()),
            (Team::Block | Team::Columns | Team::Thread | Team::Threads(_), _) => room,
        };
        // Halves of a power of two are whole.
        let threads = 1 << most.ilog2();
        let bind = |w: &mut Writer<'_, 'g>| {
            (folding.bind)(w);
            bind_homes(w);
        };
        let range = |w: &mut Writer<'_, 'g>, part: Id| match cut {
            Some(length) => piece(w, part, length, extent).into(),
            None => [w.number(0), w.extent(extent)],
        };
        let per_block = match team {
            Team::Thread => return self.fold_by_threads(folding, &bind, finish),
            Team::Block => 1,
            Team::Threads(lanes) => u64::from((threads / lanes).max(1)),
            Team::Columns => COLUMNS.min(threads.into()),
        };
        let tiles = ceil_div(&results, per_block);
        let pieces = cut.map_or(Size::Const(1), |length| ceil_div(extent, length));
        // Neighbouring blocks read neighbouring elements.
        let grid = if folding.along { [tiles, pieces] } else { [pieces, tiles] };
        // Without subgroups the threads of a block join in shared memory like those of any team.
        let in_memory = self.machine.subgroup.is_none();
        // Where there are fewer results than columns, threads stand closer.
        let narrow = team == Team::Columns && self.expected.about(&results).is_none_or(|n| n <= COLUMNS);
        let copies = self.copies(folding, u64::from(threads) / per_block);
        self.blocks(folding.name, &Size::product(&grid), threads, &|w, items| {
            bind(w);
            let part = |&ty: &Ty| w.scratch("part", ty, vec![Size::Const(threads.into())]);
            let join = (team != Team::Block || in_memory).then(|| Join {
                folding,
                threads: threads.into(),
                per_block,
                narrow,
                copies,
                parts: folding.tys.iter().map(part).collect(),
            });
            items.each(w, |w, item| {
                let (tile, part) = match (cut.is_some(), folding.shape.is_empty()) {
                    (false, _) => (item, w.number(0)),
                    (true, true) => (w.number(0), item),
                    (true, false) => {
                        let at = unflatten(w, item, &grid);
                        if folding.along { (at[0], at[1]) } else { (at[1], at[0]) }
                    }
                };
                let range = range(w, part);
                match &join {
                    None => {
                        let at = position(w, tile, folding.shape);
                        (folding.prepare)(w, &at, tile);
                        let (zero, count) = (w.number(0), w.number(threads.into()));
                        let values = w.lanes_fold(zero, count, folding.monoid, folding.tys, |w, lane| {
                            let lanes = Lanes { lane, count, known: Some(threads.into()) };
                            folding.own(w, (&at, tile), range, lanes, cut.is_some(), copies)
                        });
                        finish(w, (&at, tile), part, &values);
                    }
                    Some(join) => join.write(w, (tile, part), range, cut.is_some(), finish),
                }
            });
        });
    }

    /// A thread per result.
    fn fold_by_threads(
        &mut self,
        folding: &Folding<'_, 'g>,
        bind: &dyn Fn(&mut Writer<'_, 'g>),
        finish: &Finish<'_, 'g>,
    ) {
        let copies = self.copies(folding, 1);
        let mut w = Writer::new(&self.base, folding.name.into(), Size::Const(1));
        bind(&mut w);
        each_position(&mut w, &self.machine, folding.shape, &mut |w, at| {
            // Only pieces are found by the number of their result.
            let number = flatten(w, at, folding.shape);
            (folding.prepare)(w, at, number);
            let (lo, hi, one) = (w.number(0), w.extent(&folding.extent), w.number(1));
            let lanes = Lanes { lane: lo, count: one, known: Some(1) };
            let values = folding.own(w, (at, number), [lo, hi], lanes, false, copies);
            finish(w, (at, number), lo, &values);
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }
}

/// Several results of a block: every thread folds for one of them, and what they have is joined in shared memory.
struct Join<'a, 'b, 'g> {
    folding: &'a Folding<'b, 'g>,
    threads: u64,
    /// The most results of a block.
    per_block: u64,
    /// Are there perhaps fewer results? Then more threads work on each.
    narrow: bool,
    copies: u64,
    /// What each thread has: first what the first threads of all results have, then the second ones.
    parts: Vec<MemId>,
}

impl<'g> Join<'_, '_, 'g> {
    /// The results of a tile, over a range of elements that is piece `part`.
    fn write(
        &self,
        w: &mut Writer<'_, 'g>,
        (tile, part): (Id, Id),
        range: [Id; 2],
        split: bool,
        finish: &Finish<'_, 'g>,
    ) {
        let Join { folding, threads, per_block, narrow, copies, .. } = *self;
        let results = Size::product(folding.shape);
        let width = match narrow {
            true => w.extent(&Size::Min(results.clone().into(), Size::Const(per_block).into())),
            false => w.number(per_block as i64),
        };
        let (zero, all) = (w.number(0), w.number(threads as i64));
        let count = w.index(Operator::Div, all, width);
        let known = (!narrow).then_some(threads / per_block);
        let number = |w: &mut Writer<'_, 'g>, own: Id| {
            let before = w.scaled(tile, per_block);
            let result = w.index(Operator::Add, before, own);
            let end = w.extent(&results);
            (result, w.push(Op::Apply(Operator::Lt, vec![result, end]), Ty::Bool))
        };
        w.lanes(zero, all, |w, thread| {
            let (own, lane) = if folding.along {
                (w.index(Operator::Div, thread, count), w.index(Operator::Rem, thread, count))
            } else {
                (w.index(Operator::Rem, thread, width), w.index(Operator::Div, thread, width))
            };
            let (result, there) = number(w, own);
            // Threads that are left over where the results do not divide them.
            let there = if !narrow {
                there
            } else {
                let used = w.push(Op::Apply(Operator::Lt, vec![lane, count]), Ty::Bool);
                w.push(Op::Apply(Operator::And, vec![there, used]), Ty::Bool)
            };
            let neutral = w.all_scalars(&folding.monoid.neutral);
            let values = w.branch(
                there,
                folding.tys,
                |w| {
                    let at = position(w, result, folding.shape);
                    (folding.prepare)(w, &at, result);
                    folding.own(w, (&at, result), range, Lanes { lane, count, known }, split, copies)
                },
                |_| neutral,
            );
            let skipped = w.index(Operator::Mul, lane, width);
            let place = if folding.along { w.index(Operator::Add, skipped, own) } else { thread };
            w.store_each(&self.parts, place, &values);
        });
        // Halves are joined until few are left for each result.
        let mut left = threads;
        while !narrow && left / per_block > FEW_PARTS {
            left /= 2;
            let half = w.number(left as i64);
            w.lanes(zero, half, |w, place| {
                let other = w.index(Operator::Add, place, half);
                let (here, there) =
                    (w.load_all(&self.parts, place, folding.tys), w.load_all(&self.parts, other, folding.tys));
                let joined = w.combine(folding.monoid, &here, &there);
                w.store_each(&self.parts, place, &joined);
            });
        }
        let end = if narrow { w.index(Operator::Mul, count, width) } else { w.number(left as i64) };
        w.lanes(zero, width, |w, own| {
            let (result, there) = number(w, own);
            w.when(there, |w| {
                let first = w.load_all(&self.parts, own, folding.tys);
                let next = w.index(Operator::Add, own, width);
                let values = w.for_steps(next, end, width, (first, folding.tys), |w, place, state| {
                    let part = w.load_all(&self.parts, place, folding.tys);
                    w.combine(folding.monoid, state, &part)
                });
                let at = position(w, result, folding.shape);
                finish(w, (&at, result), part, &values);
            });
        });
    }
}

/// The statements of a body but one that these names need, in order.
fn needed<'g>(body: &'g Body, except: &Stmt, names: &[Id]) -> Vec<&'g Stmt> {
    let mut wanted: std::collections::HashSet<Id> = names.iter().copied().collect();
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

/// The position of a result with that number.
fn position(w: &mut Writer, number: Id, shape: &[Size]) -> Vec<Id> {
    if shape.is_empty() { vec![] } else { unflatten(w, number, shape) }
}

/// The row-major number of a position.
fn flatten(w: &mut Writer, at: &[Id], shape: &[Size]) -> Id {
    let (mut number, rest) = (at[0], &shape[1..]);
    for (&place, size) in at[1..].iter().zip(rest) {
        let extent = w.extent(size);
        let rows = w.index(Operator::Mul, number, extent);
        number = w.index(Operator::Add, rows, place);
    }
    number
}
