//! Prefixes along a line by the threads of a block, tile by tile.
//!
//! ```text
//! tile     row 0: thread 0, 0, 0, 0, 1, 1, 1, 1, 2, …    neighbours of a thread are one wide access
//!          row 1: thread 0, 0, 0, 0, 1, 1, 1, 1, 2, …
//! thread   the prefixes of its neighbours in each row, in registers
//! block    what comes before each of them: all of a tile meet once, by shuffles in a subgroup, else in shared memory
//! ```
//!
//! Neighbouring threads read and write neighbouring elements. Everything is combined in order. What is left behind the last whole
//! tile is done in tiles of one element a thread, and so is everything where an element takes long.

use super::Machine;
use crate::code::{Id, MemId, Monoid, Op, Place};
use crate::kernel::Space;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// The most subgroups whose folds every thread joins by itself; where there are more, threads meet in memory alone.
const FEW_GROUPS: u32 = 16;
/// Places of shared memory between two that are left out, so that threads which go along runs do not meet in a bank.
pub(super) const BANKS: u64 = 32;
/// Elements of a thread in a tile.
const ELEMENTS: u64 = 16;
/// Rows of a tile of single elements.
const ROWS: u64 = 8;
/// Statements that the copies of a body may have together.
const COPIED: u64 = 160;

/// What the threads of a block take of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) threads: u32,
    pub(super) rows: u64,
    /// Neighbours of a thread in a row.
    pub(super) width: u64,
}

impl Tile {
    /// A tile for about so many elements, each of so many statements, in a body that is short; `wide` where neighbours are one access.
    pub(super) fn new(machine: &Machine, about: Option<u64>, length: Option<u64>, wide: bool, tys: &[Ty]) -> Tile {
        let most = u64::from(machine.threads().min(if machine.is_small() { 64 } else { u32::MAX }));
        let threads = about.map_or(most, |n| n.clamp(1, most).next_power_of_two().min(most)) as u32;
        let single = Tile { threads, rows: 1, width: 1 };
        let fits = |tile: &Tile| tile.shared_bytes(machine, tys) <= machine.shared_bytes;
        let large = length.and_then(|length| {
            let width = if wide { 4 } else { 1 };
            let most_rows = if wide { ELEMENTS / width } else { ROWS };
            let rows = std::iter::successors(Some(most_rows), |rows| Some(rows / 2)).take_while(|&rows| rows > 0);
            let short = |tile: &Tile| tile.rows * tile.width * length.max(1) <= COPIED;
            let tiles = rows.map(|rows| Tile { rows, width, ..single });
            tiles.filter(short).find(|tile| fits(tile) && about.is_none_or(|n| tile.elements() <= n))
        });
        let halves = std::iter::successors(Some(threads), |threads| Some(threads / 2)).take_while(|&n| n > 0);
        let smaller = || halves.map(|threads| Tile { threads, ..single }).find(fits);
        large.or_else(smaller).unwrap_or(Tile { threads: 1, ..single })
    }

    /// The same with twice as many rows, where there is room for that.
    pub(super) fn twice(self, machine: &Machine, length: u64, tys: &[Ty]) -> Tile {
        let twice = Tile { rows: 2 * self.rows, ..self };
        let short = twice.rows * twice.width * length.max(1) <= COPIED;
        if short && twice.shared_bytes(machine, tys) <= machine.shared_bytes { twice } else { self }
    }

    pub(super) fn elements(&self) -> u64 {
        u64::from(self.threads) * self.rows * self.width
    }

    /// A tile of one element a thread.
    fn single(self) -> Tile {
        Tile { rows: 1, width: 1, ..self }
    }

    fn is_single(&self) -> bool {
        self.rows * self.width == 1
    }

    /// Places for the folds of all runs.
    fn run_places(&self) -> u64 {
        let runs = self.rows * u64::from(self.threads);
        if self.rows > 1 { runs + runs / BANKS } else { 0 }
    }

    pub(super) fn shared_bytes(&self, machine: &Machine, tys: &[Ty]) -> u64 {
        let each = machine.shared_size(tys);
        if self.threads == 1 { 0 } else { each * (self.run_places() + 2 * u64::from(self.threads)) }
    }
}

/// What is done with the prefixes.
#[derive(Clone, Copy)]
pub(super) enum Kind<'g> {
    /// They are the result.
    Scan(&'g Monoid),
    /// They are counts: where the element goes if it is kept.
    Filter,
}

/// What is combined: in a tile, and with what comes before one.
pub(super) struct Sums<'g> {
    pub(super) kind: Kind<'g>,
    /// Types of what is combined in a tile.
    pub(super) own: Vec<Ty>,
    /// Types of what comes before one.
    pub(super) before: Vec<Ty>,
}

impl<'g> Kind<'g> {
    pub(super) fn neutral(self, w: &mut KernelWriter<'_, 'g>) -> Vec<Id> {
        match self {
            Kind::Scan(monoid) => w.all_scalars(&monoid.neutral),
            Kind::Filter => vec![w.constant(Scalar::from_int(Ty::I32, 0))],
        }
    }

    /// What comes before everything.
    pub(super) fn start(self, w: &mut KernelWriter<'_, 'g>) -> Vec<Id> {
        match self {
            Kind::Scan(_) => self.neutral(w),
            Kind::Filter => vec![w.number(0)],
        }
    }

    fn combine(self, w: &mut KernelWriter<'_, 'g>, left: &[Id], right: &[Id]) -> Vec<Id> {
        match self {
            Kind::Scan(monoid) => w.combine(monoid, left, right),
            Kind::Filter => vec![w.apply(Operator::Add, &[left[0], right[0]], Ty::I32)],
        }
    }

    /// What comes before a tile, and a fold of some of it.
    fn behind(self, w: &mut KernelWriter<'_, 'g>, before: &[Id], own: &[Id]) -> Vec<Id> {
        match self {
            Kind::Scan(_) => self.combine(w, before, own),
            Kind::Filter => {
                let own = w.push(Op::Cast(Ty::I64, own[0]), Ty::I64);
                vec![w.value(before[0] + own)]
            }
        }
    }

    pub(super) fn bind(self, w: &mut KernelWriter<'_, 'g>) {
        if let Kind::Scan(monoid) = self {
            w.bind_monoid(monoid);
        }
    }
}

/// What neighbours of a thread have before them: the tiles, then the rest of their own tile, then each other.
pub(super) struct Neighbourhood<'a> {
    /// The first of them.
    pub(super) first: Id,
    carry: &'a [Id],
    run: &'a [Id],
    /// Folds of the neighbours, up to each and with it.
    prefixes: &'a [Vec<Id>],
}

impl Neighbourhood<'_> {
    /// What is before the first, behind it and before the second, and so on.
    pub(super) fn in_line<'g>(&self, w: &mut KernelWriter<'_, 'g>, along: &impl Along<'g>) -> Vec<Vec<Id>> {
        let before = along.behind(w, self.carry, self.run);
        let behind = |prefix: &Vec<Id>| along.behind(w, &before, prefix);
        let behind: Vec<Vec<Id>> = self.prefixes.iter().map(behind).collect();
        [vec![before], behind].concat()
    }

    /// The same without the tiles before this one.
    pub(super) fn in_tile<'g>(&self, w: &mut KernelWriter<'_, 'g>, along: &impl Along<'g>) -> Vec<Vec<Id>> {
        let behind = |prefix: &Vec<Id>| along.combine(w, self.run, prefix);
        let behind: Vec<Vec<Id>> = self.prefixes.iter().map(behind).collect();
        [vec![self.run.to_vec()], behind].concat()
    }
}

/// Elements along a line, and what is done with them.
pub(super) trait Along<'g> {
    /// What an element brings besides what is combined.
    type Item;
    fn sums(&self) -> &Sums<'g>;
    /// `count` neighbouring elements, the first at a multiple of their number: what each joins with, and all of it.
    fn items(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: u64) -> Vec<(Vec<Id>, Self::Item)>;
    /// The same for one element that may be past the end: then it joins with the neutral element.
    fn item_inside(&self, w: &mut KernelWriter<'_, 'g>, at: Id, inside: Id) -> (Vec<Id>, Self::Item);
    /// Writes neighbours.
    fn write(&self, w: &mut KernelWriter<'_, 'g>, neighbours: &Neighbourhood<'_>, items: &[Self::Item]);
    /// Writes what the threads have put together: what is before the tile, and the fold of it.
    fn finish(&self, _w: &mut KernelWriter<'_, 'g>, _thread: Id, _tile: Tile, _carry: &[Id], _all: &[Id]) {}

    fn neutral(&self, w: &mut KernelWriter<'_, 'g>) -> Vec<Id> {
        self.sums().kind.neutral(w)
    }

    fn combine(&self, w: &mut KernelWriter<'_, 'g>, left: &[Id], right: &[Id]) -> Vec<Id> {
        self.sums().kind.combine(w, left, right)
    }

    fn behind(&self, w: &mut KernelWriter<'_, 'g>, carry: &[Id], own: &[Id]) -> Vec<Id> {
        self.sums().kind.behind(w, carry, own)
    }
}

/// What neighbours of a thread join with, and what else they bring.
type Row<Item> = (Vec<Vec<Id>>, Vec<Item>);
/// Writes a tile: its form, where it starts, where what is inside ends unless that is all of it, and the state before it.
type AtTile<'a, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>, Tile, Id, Option<Id>, &[Id]) -> Vec<Id> + 'a;

/// A block that goes along a line.
pub(super) struct Prefixer<'a, A> {
    pub(super) along: &'a A,
    pub(super) tile: Tile,
    /// The lanes of a subgroup, where those can exchange what is combined.
    pub(super) subgroup: Option<u32>,
    /// The number of a thread.
    pub(super) thread: Id,
    /// Folds of runs, and of threads or subgroups.
    pub(super) runs: Vec<MemId>,
    pub(super) parts: Vec<MemId>,
}

impl<'a, 'g, A: Along<'g>> Prefixer<'a, A> {
    pub(super) fn new(w: &mut KernelWriter<'_, 'g>, machine: &Machine, tile: Tile, along: &'a A) -> Self {
        let mut prefixer = Self::folding(w, machine, tile, along);
        let places = tile.run_places();
        if places > 0 && tile.threads > 1 {
            let memory = |&ty: &Ty| w.near_memory("run", ty, Space::Shared, &[places]);
            prefixer.runs = along.sums().own.iter().map(memory).collect();
        }
        prefixer
    }

    /// The same for one that only folds.
    pub(super) fn folding(w: &mut KernelWriter<'_, 'g>, machine: &Machine, tile: Tile, along: &'a A) -> Self {
        let tys = &along.sums().own;
        let exchanges = |size: u32, bits: u32| size > 1 && tys.iter().all(|ty| ty.bits() <= bits);
        let few = |size: u32| tile.threads.div_ceil(size) <= FEW_GROUPS;
        let subgroup = machine.subgroup.filter(|s| exchanges(s.size, s.bits) && few(s.size)).map(|s| s.size);
        let places = match subgroup {
            Some(size) => u64::from(tile.threads.div_ceil(size)),
            None => 2 * u64::from(tile.threads),
        };
        let alone = tile.threads == 1;
        let tys = if alone { &[][..] } else { tys };
        let parts = tys.iter().map(|&ty| w.near_memory("part", ty, Space::Shared, &[places])).collect();
        let thread = if alone { w.number(0) } else { w.push(Op::Place(Place::Local, 0), Ty::I64) };
        Prefixer { along, tile, subgroup, thread, runs: vec![], parts }
    }

    /// Goes along `lo..hi` with what is before it, and gives what is behind. `lo` is a multiple of what a thread takes at once.
    pub(super) fn write(&self, w: &mut KernelWriter<'_, 'g>, range: [Id; 2], carry: Vec<Id>) -> Vec<Id> {
        let tys = self.along.sums().before.clone();
        self.tiles(w, range, (carry, &tys), &|w, tile, start, end, carry| {
            self.tile(w, tile, start, end, |_, _| carry.to_vec())
        })
    }

    /// One whole tile from `start` on. What is before it is asked for when its fold is known. Gives what is behind it.
    pub(super) fn write_tile(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        start: Id,
        before: impl FnOnce(&mut KernelWriter<'_, 'g>, &[Id]) -> Vec<Id>,
    ) -> Vec<Id> {
        self.tile(w, self.tile, start, None, before)
    }

    /// The fold of `lo..hi`, where the order does not count: threads meet once, at the end.
    pub(super) fn fold(&self, w: &mut KernelWriter<'_, 'g>, range: [Id; 2]) -> Vec<Id> {
        let tys = self.along.sums().own.clone();
        let neutral = self.along.neutral(w);
        let own = self.tiles(w, range, (neutral, &tys), &|w, tile, start, end, state| {
            let (_, rows, _) = self.rows(w, tile, start, end);
            let items = rows.into_iter().flat_map(|(joins, _)| joins).collect();
            let joined = self.tree(w, items);
            self.along.combine(w, state, &joined)
        });
        let (_, all) = self.across_threads(w, own);
        self.meet(w);
        all
    }

    /// Whole tiles, then what is left, carrying state.
    fn tiles(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        [lo, hi]: [Id; 2],
        (state, tys): (Vec<Id>, &[Ty]),
        write: &AtTile<'_, 'g>,
    ) -> Vec<Id> {
        let one = w.number(self.tile.threads.into());
        let mut from = lo;
        let mut state = state;
        if !self.tile.is_single() {
            let length = w.value(hi - lo);
            let zero = w.number(0);
            // It is not negative, which backends can see now.
            let length = w.value(length.most(zero));
            let tile = w.number(self.tile.elements() as i64);
            let count = w.value(length / tile);
            let covered = w.value(count * tile);
            let end = w.value(lo + covered);
            from = w.value(end.least(hi));
            state =
                w.for_steps([lo, from, tile], (state, tys), |w, start, state| write(w, self.tile, start, None, state));
        }
        let single = self.tile.single();
        w.for_steps([from, hi, one], (state, tys), |w, start, state| write(w, single, start, Some(hi), state))
    }

    /// What the thread has of a tile: where its rows begin, what is in them, and whether that is inside, unless all of the tile is.
    fn rows(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        tile: Tile,
        start: Id,
        end: Option<Id>,
    ) -> (Vec<Id>, Vec<Row<A::Item>>, Option<Id>) {
        let skipped = w.scaled(self.thread, tile.width);
        let own = w.value(start + skipped);
        let row = u64::from(tile.threads) * tile.width;
        let firsts: Vec<Id> = (0..tile.rows).map(|k| w.offset(own, (k * row) as i64)).collect();
        let inside = end.map(|end| w.value(own.below(end)));
        let rows = firsts.iter().map(|&first| match inside {
            Some(inside) => vec![self.along.item_inside(w, first, inside)],
            None => self.along.items(w, first, tile.width),
        });
        let rows = rows.map(|row| row.into_iter().unzip()).collect();
        (firsts, rows, inside)
    }

    /// One tile; gives what is behind it. Without an end, all of it is inside.
    fn tile(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        tile: Tile,
        start: Id,
        end: Option<Id>,
        carry: impl FnOnce(&mut KernelWriter<'_, 'g>, &[Id]) -> Vec<Id>,
    ) -> Vec<Id> {
        let along = self.along;
        let (firsts, rows, inside) = self.rows(w, tile, start, end);
        // Inclusive prefixes of every row of the thread.
        let mut prefixes: Vec<Vec<Vec<Id>>> = vec![];
        for (joins, _) in &rows {
            let mut own: Vec<Vec<Id>> = vec![joins[0].clone()];
            for item in &joins[1..] {
                let next = along.combine(w, &own[own.len() - 1], item);
                own.push(next);
            }
            prefixes.push(own);
        }
        let runs: Vec<Vec<Id>> = prefixes.iter().map(|row| row[row.len() - 1].clone()).collect();
        let (before, all) = self.across(w, runs);
        let carry = &carry(w, &all)[..];
        for (((run, prefixes), (_, items)), &first) in before.iter().zip(&prefixes).zip(&rows).zip(&firsts) {
            let neighbours = Neighbourhood { first, carry, run, prefixes };
            match inside {
                Some(inside) => w.when(inside, |w| along.write(w, &neighbours, items)),
                None => along.write(w, &neighbours, items),
            }
        }
        let next = along.behind(w, carry, &all);
        along.finish(w, self.thread, tile, carry, &all);
        self.meet(w);
        next
    }

    /// Threads wait for each other before shared memory is written again.
    fn meet(&self, w: &mut KernelWriter<'_, 'g>) {
        if !self.parts.is_empty() {
            w.barrier();
        }
    }

    /// Neighbours are joined, then neighbouring pairs, and so on.
    fn tree(&self, w: &mut KernelWriter<'_, 'g>, mut items: Vec<Vec<Id>>) -> Vec<Id> {
        while items.len() > 1 {
            let pairs = items.chunks(2);
            let joined = pairs.map(|pair| match pair {
                [left, right] => self.along.combine(w, left, right),
                single => single.concat(),
            });
            items = joined.collect();
        }
        items.concat()
    }
}
