//! Lines in one pass, where blocks may wait for others: each takes a tile, tells what it folds to, and hears what comes before it.
//!
//! What is left behind the last whole tile is another launch.

use super::super::Machine;
use super::super::handed::{self, Notes};
use super::super::tally::{self, Tallies, Tally};
use super::{Homes, Lines, OfLine, stage, store_by_first};
use crate::code::{Id, MemId, Monoid, Op, Place};
use crate::kernel::{Access, BufferId, BufferUse, Space};
use crate::lower::gpu::plan::Gpu;
use crate::lower::gpu::prefix::{Prefixer, Tile};
use crate::lower::gpu::threads::ceil_div;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// From so many elements on the blocks of a line are worth telling each other.
const LONG: u64 = 1 << 18;
/// Threads of a block of a filter that do.
const TELLING_THREADS: u32 = 128;
/// Shared memory that this takes, at most.
const NOTED: u64 = 256;

/// How tiles tell each other what they fold to.
enum Told<'a, 'g> {
    Notes {
        notes: Notes<'a, 'g>,
        buffer: BufferId,
        shape: Vec<Size>,
    },
    /// Counts, which a subgroup of so many lanes adds up.
    Counts {
        tallies: Tallies,
        lanes: u32,
    },
}

/// The same, as the threads of a block see it.
enum Board<'a, 'g> {
    Notes(handed::Board<'a, 'g>),
    Counts { tally: Tally, before: MemId, lanes: u32 },
}

impl<'g> Told<'_, 'g> {
    fn bind(&self, w: &mut KernelWriter<'_, 'g>) -> MemId {
        match self {
            Told::Notes { buffer, shape, .. } => w.global(*buffer, Access::ReadWrite, shape.clone()),
            Told::Counts { tallies, .. } => tallies.bind(w),
        }
    }

    fn board(&self, w: &mut KernelWriter<'_, 'g>, memory: MemId) -> Board<'_, 'g> {
        match self {
            Told::Notes { notes, .. } => Board::Notes(notes.board(w, memory)),
            Told::Counts { tallies, lanes } => {
                let tally = tallies.board(w, memory);
                let before = w.near_memory("before", Ty::I64, Space::Shared, &[1]);
                Board::Counts { tally, before, lanes: *lanes }
            }
        }
    }
}

impl<'g> Board<'_, 'g> {
    /// The next tile, which is this block's.
    fn take(&self, w: &mut KernelWriter<'_, 'g>) -> Id {
        match self {
            Board::Notes(board) => board.take(w),
            Board::Counts { tally, .. } => tally.take(w),
        }
    }

    /// Tells the fold of the block's tile, and gives what comes before it to all threads.
    fn hand_on(&self, w: &mut KernelWriter<'_, 'g>, tile: Id, all: &[Id]) -> Vec<Id> {
        match self {
            Board::Notes(board) => board.hand_on(w, tile, all),
            Board::Counts { tally, before, lanes } => hand_on_count(w, (tally, *before, *lanes), tile, all),
        }
    }
}

/// Tells how many elements a tile keeps, and gives how many the tiles before it keep to all threads.
fn hand_on_count(
    w: &mut KernelWriter<'_, '_>,
    (tally, before, lanes): (&Tally, MemId, u32),
    tile: Id,
    all: &[Id],
) -> Vec<Id> {
    let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
    let width = w.number(lanes.into());
    let zero = w.number(0);
    let near = w.value(thread.below(width));
    w.when(near, |w| {
        let own = w.push(Op::Cast(Ty::U64, all[0]), Ty::U64);
        let first = w.value(thread.equals(zero));
        w.when(first, |w| tally.tell_own(w, tile, zero, own));
        let sum = tally.before_by_lanes(w, tile, thread, lanes);
        w.when(first, |w| {
            let all = w.apply(Operator::Add, &[sum, own], Ty::U64);
            tally.tell_all(w, tile, zero, all);
            let sum = w.push(Op::Cast(Ty::I64, sum), Ty::I64);
            w.store(before, vec![zero], sum);
        });
    });
    w.barrier();
    vec![w.push(Op::Load { memory: before, index: vec![zero] }, Ty::I64)]
}

impl<'g> Gpu<'g> {
    /// Is it a scan of one long line, on a machine where blocks may wait for others?
    pub(super) fn hands_on(&self, lines: &Lines<'_, 'g>) -> bool {
        let waits = self.machine.progresses && self.machine.atomic_bits >= 64;
        let long = self.expected.about(lines.last).is_some_and(|n| n >= LONG);
        let lanes = self.machine.subgroup.is_some_and(|s| lines.sums.before.iter().all(|ty| ty.bits() <= s.bits));
        let tile = self.tile(lines, None);
        let room = tile.shared_bytes(&self.machine, &lines.sums.own) + NOTED <= self.machine.shared_bytes;
        let blocks = self.machine.max_positions.div_ceil(tile.elements()) <= self.machine.max_blocks[0];
        waits && long && lanes && room && blocks && lines.outer.is_empty() && !self.is_one_block(lines)
    }

    /// The tile of a filter whose tiles tell each other what they keep, if that is the way: many small blocks with much to do each, so that few
    /// wait, and for nobody long. (2^28 elements of which half are kept take 0.46 ms on an H200 with 128 threads, and 2.8 with 512.)
    pub(super) fn telling_tile(&self, lines: &Lines<'_, 'g>) -> Option<Tile> {
        let machine = Machine { max_threads: self.machine.max_threads.min(TELLING_THREADS), ..self.machine };
        let subgroup = machine.subgroup.filter(|subgroup| subgroup.bits >= 64 && subgroup.size > 1)?;
        let length = self.length(lines.body)? as u64;
        let tile = Tile::new(&machine, None, Some(length), lines.flat, &lines.sums.own);
        let tile = tile.twice(&machine, length, &lines.sums.own);
        let long = self.expected.about(lines.last).is_some_and(|n| n >= LONG);
        let fits =
            Tallies::fit(&machine, tile.elements()) && tile.threads >= subgroup.size && self.is_staged(lines, tile);
        (long && fits && !self.is_one_block(lines)).then_some(tile)
    }

    /// All tiles of a scan of the only line in one pass, then what is left behind the last whole one.
    pub(super) fn scan_at_once(&mut self, lines: &Lines<'_, 'g>, monoid: &'g Monoid, homes: &Homes<'_, 'g>) {
        let tile = self.tile(lines, None);
        let fan = self.machine.subgroup.map_or(1, |subgroup| subgroup.size).min(tile.threads);
        let notes = Notes { monoid, tys: &lines.sums.before, fan, extent: lines.last, tile: tile.elements() };
        let shape = notes.shape();
        let buffer = self.base.buffer(Ty::U64, shape.clone(), BufferUse::Temporary);
        tally::clear(self, "clear", buffer, &shape);
        let told = Told::Notes { notes, buffer, shape };
        let rest = self.tiles_at_once("scan", lines, tile, homes, &told);
        self.rest("scan", lines, tile, &rest, homes, None);
    }

    /// The same of a filter, which counts what it keeps.
    pub(super) fn filter_at_once(&mut self, lines: &Lines<'_, 'g>, tile: Tile, homes: &Homes<'_, 'g>, count: BufferId) {
        let lanes = self.machine.subgroup.map_or(1, |subgroup| subgroup.size);
        let tiles = ceil_div(lines.last, tile.elements());
        let buffer = |ty: Ty, shape: &[Size]| self.base.buffer(ty, shape.to_vec(), BufferUse::Temporary);
        let tallies = Tallies::new(buffer, &tiles, 1);
        tallies.clear(self, "filter_silence");
        let told = Told::Counts { tallies, lanes };
        let rest = self.tiles_at_once("filter", lines, tile, homes, &told);
        self.rest("filter", lines, tile, &rest, homes, Some(count));
    }

    /// Goes through the whole tiles of the only line, a block each, and gives what is behind the last of them.
    fn tiles_at_once(
        &mut self,
        what: &str,
        lines: &Lines<'_, 'g>,
        tile: Tile,
        homes: &Homes<'_, 'g>,
        told: &Told<'_, 'g>,
    ) -> Vec<BufferId> {
        let machine = self.machine;
        let tys = &lines.sums.before;
        let staged = if self.is_staged(lines, tile) { &lines.results[1..] } else { &[] };
        let before_rest: Vec<BufferId> =
            tys.iter().map(|&ty| self.base.buffer(ty, vec![], BufferUse::Temporary)).collect();
        let name = self.base.kernel_name(what);
        let mut w = KernelWriter::new(&self.base, name, ceil_div(lines.last, tile.elements()));
        w.kernel.block = [tile.threads, 1, 1];
        w.bind_globals(lines.op);
        let own = homes(&mut w);
        let memory = told.bind(&mut w);
        let rest: Vec<MemId> = before_rest.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
        let board = told.board(&mut w, memory);
        let taken = board.take(&mut w);
        let stage = stage(&mut w, staged, tile);
        let mut along = OfLine::new(lines, &[], &own, machine.vector_bytes);
        along.stage = &stage;
        let prefixer = Prefixer::new(&mut w, &machine, tile, &along);
        let start = w.scaled(taken, tile.elements());
        let end = w.offset(start, tile.elements() as i64);
        let extent = w.extent(lines.last);
        let whole = w.value(extent.not_below(end));
        w.when(whole, |w| {
            let next = prefixer.write_tile(w, start, |w, all| board.hand_on(w, taken, all));
            let behind = w.offset(end, tile.elements() as i64);
            let last = w.value(extent.below(behind));
            w.when(last, |w| store_by_first(w, &rest, &[], &next));
        });
        let kernel = w.finish();
        self.base.launch(kernel);
        before_rest
    }

    /// What is left of a line behind its whole tiles.
    fn rest(
        &mut self,
        what: &str,
        lines: &Lines<'_, 'g>,
        tile: Tile,
        before: &[BufferId],
        homes: &Homes<'_, 'g>,
        count: Option<BufferId>,
    ) {
        let machine = self.machine;
        let single = Tile::new(&machine, Some(tile.threads.into()), None, false, &lines.sums.own);
        let name = self.base.kernel_name(&format!("{what}_rest"));
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        w.kernel.block = [single.threads, 1, 1];
        w.bind_globals(lines.op);
        let before: Vec<MemId> = before.iter().map(|&b| w.global(b, Access::Read, vec![])).collect();
        let homes = homes(&mut w);
        let counter = count.map(|count| w.global(count, Access::Write, vec![]));
        let extent = w.extent(lines.last);
        let each = w.number(tile.elements() as i64);
        let tiles = w.value(extent / each);
        let covered = w.value(tiles * each);
        let zero = w.number(0);
        let some = w.value(zero.below(tiles));
        let load = |w: &mut KernelWriter<'_, 'g>| -> Vec<Id> {
            let both = before.iter().zip(&lines.sums.before);
            both.map(|(&memory, &ty)| w.push(Op::Load { memory, index: vec![] }, ty)).collect()
        };
        let carry = w.branch(some, &lines.sums.before, load, |w| lines.sums.kind.start(w));
        let along = OfLine::new(lines, &[], &homes, machine.vector_bytes);
        let all = Prefixer::new(&mut w, &machine, single, &along).write(&mut w, [covered, extent], carry);
        if let Some(counter) = counter {
            store_by_first(&mut w, &[counter], &[], &all);
        }
        let kernel = w.finish();
        self.base.launch(kernel);
    }
}
