//! Prefixes along lines: scans, and filters, which are scans of how many were kept.
//!
//! A line is cut into chunks, a block each: the first launch folds every chunk, the second turns the results into what comes
//! before each chunk, the third goes through the chunks again and writes. Where lines are no longer than a chunk, or there are
//! enough of them to keep the machine busy, a block goes along a whole line, and the third launch is the only one. Where blocks may
//! wait for others, a scan or a filter goes through the only line once (`once`). How a block goes along elements is in `prefix`.

mod once;

use super::maps::{Neighbours, is_line};
use super::plan::{Gpu, Items};
use super::prefix::{Along, Kind, Neighbourhood, Prefixer, Sums, Tile};
use super::threads::ceil_div;
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Stmt};
use crate::kernel::{Access, BufferId, BufferUse, Space, Step};
use crate::lower::planning::{piece, unflatten};
use crate::lower::writer::{KernelWriter, Mode};
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// What runs along lines.
struct Lines<'a, 'g> {
    op: &'g Op,
    /// The axes around the line, and the line itself.
    outer: &'a [Size],
    last: &'a Size,
    body: &'g Body,
    /// Types of what the body gives.
    results: Vec<Ty>,
    sums: Sums<'g>,
    /// Is the line all there is, and every read at the position itself?
    flat: bool,
}

/// The elements of a line.
struct OfLine<'a, 'g> {
    lines: &'a Lines<'a, 'g>,
    /// The line.
    at: &'a [Id],
    neighbours: Option<Neighbours<'g>>,
    /// Where results go; nowhere while sums are made.
    homes: &'a [MemId],
    /// Where a tile puts together what it keeps, so that threads write neighbours; empty where they write at once.
    stage: &'a [MemId],
    /// The most bytes of an access.
    bytes: u32,
}

impl<'a, 'g> OfLine<'a, 'g> {
    fn new(lines: &'a Lines<'a, 'g>, at: &'a [Id], homes: &'a [MemId], bytes: u32) -> Self {
        let neighbours = lines.flat.then(|| Neighbours::new(lines.body, lines.last.clone(), bytes));
        OfLine { lines, at, neighbours, homes, stage: &[], bytes }
    }

    fn joins(&self, w: &mut KernelWriter<'_, 'g>, results: &[Id]) -> Vec<Id> {
        match self.lines.sums.kind {
            Kind::Scan(_) => results.to_vec(),
            Kind::Filter => vec![w.push(Op::Cast(Ty::I32, results[0]), Ty::I32)],
        }
    }

    fn results(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: u64) -> Vec<Vec<Id>> {
        if let Some(neighbours) = &self.neighbours {
            return neighbours.run(w, first, count);
        }
        let place = |k: u64| {
            let at = w.offset(first, k as i64);
            w.run(self.lines.body, &[self.at, &[at]].concat(), Mode::Lane)
        };
        (0..count).map(place).collect()
    }
}

impl<'g> Along<'g> for OfLine<'_, 'g> {
    type Item = Vec<Id>;

    fn sums(&self) -> &Sums<'g> {
        &self.lines.sums
    }

    fn items(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: u64) -> Vec<(Vec<Id>, Vec<Id>)> {
        let results = self.results(w, first, count);
        results.into_iter().map(|results| (self.joins(w, &results), results)).collect()
    }

    fn item_inside(&self, w: &mut KernelWriter<'_, 'g>, at: Id, inside: Id) -> (Vec<Id>, Vec<Id>) {
        let tys = &self.lines.results;
        let nothing: Vec<Id> = match self.lines.sums.kind {
            Kind::Scan(_) => self.neutral(w),
            Kind::Filter => tys.iter().map(|&ty| w.constant(Scalar { ty, bits: 0 })).collect(),
        };
        let results = w.branch(inside, tys, |w| self.results(w, at, 1).concat(), |_| nothing);
        (self.joins(w, &results), results)
    }

    fn write(&self, w: &mut KernelWriter<'_, 'g>, neighbours: &Neighbourhood<'_>, items: &[Vec<Id>]) {
        match self.lines.sums.kind {
            Kind::Scan(_) => {
                let first = neighbours.first;
                let prefixes = neighbours.in_line(w, self);
                for (k, &memory) in self.homes.iter().enumerate() {
                    let values: Vec<Id> = prefixes[1..].iter().map(|prefix| prefix[k]).collect();
                    if self.lines.flat {
                        w.store_neighbours(memory, first, &values, self.bytes);
                        continue;
                    }
                    for (k, value) in values.into_iter().enumerate() {
                        let at = w.offset(first, k as i64);
                        w.store(memory, [self.at, &[at]].concat(), value);
                    }
                }
            }
            Kind::Filter => {
                let staged = !self.stage.is_empty();
                let places = if staged { neighbours.in_tile(w, self) } else { neighbours.in_line(w, self) };
                for (place, results) in places.iter().zip(items) {
                    w.when(results[0], |w| {
                        let place = place[0];
                        match staged {
                            // A place in a tile is a short number.
                            true => {
                                let place = w.push(Op::Cast(Ty::I64, place), Ty::I64);
                                w.store_each(self.stage, place, &results[1..]);
                            }
                            false => w.store_each(self.homes, place, &results[1..]),
                        }
                    });
                }
            }
        }
    }

    fn finish(&self, w: &mut KernelWriter<'_, 'g>, thread: Id, tile: Tile, carry: &[Id], all: &[Id]) {
        if self.stage.is_empty() {
            return;
        }
        w.barrier();
        let kept = w.push(Op::Cast(Ty::I64, all[0]), Ty::I64);
        let most = w.number(tile.elements() as i64);
        // As backends can see now, it is a short number.
        let kept = w.value(kept.least(most));
        let step = w.number(tile.threads.into());
        w.for_steps([thread, kept, step], (vec![], &[]), |w, place, _| {
            let values = w.load_all(self.stage, place, &self.lines.results[1..]);
            let to = w.value(carry[0] + place);
            w.store_each(self.homes, to, &values);
            vec![]
        });
    }
}

/// The sums of the chunks of a line.
struct OfChunks<'a, 'g> {
    lines: &'a Lines<'a, 'g>,
    at: &'a [Id],
    sums: &'a [MemId],
    homes: &'a [MemId],
    bytes: u32,
}

impl<'g> Along<'g> for OfChunks<'_, 'g> {
    type Item = ();

    fn sums(&self) -> &Sums<'g> {
        &self.lines.sums
    }

    fn items(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: u64) -> Vec<(Vec<Id>, ())> {
        if count == 1 {
            let index = [self.at, &[first]].concat();
            let load = |(&memory, &ty)| w.push(Op::Load { memory, index: index.clone() }, ty);
            return vec![(self.sums.iter().zip(&self.lines.sums.own).map(load).collect(), ())];
        }
        let load = |&memory| w.load_neighbours(memory, vec![first], count, self.bytes);
        let columns: Vec<Vec<Id>> = self.sums.iter().map(load).collect();
        (0..count as usize).map(|k| (columns.iter().map(|column| column[k]).collect(), ())).collect()
    }

    fn item_inside(&self, w: &mut KernelWriter<'_, 'g>, at: Id, inside: Id) -> (Vec<Id>, ()) {
        let neutral = self.neutral(w);
        (w.branch(inside, &self.lines.sums.own, |w| self.items(w, at, 1).remove(0).0, |_| neutral), ())
    }

    fn write(&self, w: &mut KernelWriter<'_, 'g>, neighbours: &Neighbourhood<'_>, items: &[()]) {
        let first = neighbours.first;
        let prefixes = neighbours.in_line(w, self);
        for (k, &memory) in self.homes.iter().enumerate() {
            let values: Vec<Id> = prefixes[..items.len()].iter().map(|prefix| prefix[k]).collect();
            match values[..] {
                [value] => w.store(memory, [self.at, &[first]].concat(), value),
                _ => w.store_neighbours(memory, first, &values, self.bytes),
            }
        }
    }
}

impl<'g> Gpu<'g> {
    pub(super) fn scan(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body, monoid: &'g Monoid) {
        let outputs: Vec<BufferId> = self.base.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        let (last, outer) = shape.split_last().expect("a scan has an axis");
        let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
        let sums = Sums { kind: Kind::Scan(monoid), own: tys.clone(), before: tys };
        let flat = self.is_flat_line(outer, body);
        let results = self.result_types(body);
        let lines = Lines { op: &stmt.op, outer, last, body, results, sums, flat };
        let homes = |w: &mut KernelWriter<'_, 'g>| -> Vec<MemId> {
            outputs.iter().map(|&b| w.global(b, Access::Write, shape.to_vec())).collect()
        };
        if self.hands_on(&lines) {
            return self.scan_at_once(&lines, monoid, &homes);
        }
        let carries = self.carries(&lines, "scan", None);
        let name = self.base.kernel_name("scan");
        self.lines(&name, &lines, carries.as_deref(), None, &homes);
    }

    pub(super) fn filter(&mut self, stmt: &'g Stmt, extent: &'g Size, body: &'g Body, kept: SizeVar) {
        let outputs: Vec<BufferId> =
            stmt.binds.iter().map(|b| self.base.buffer_for(b.id, vec![extent.clone()])).collect();
        let count = self.base.buffer(Ty::I64, vec![], BufferUse::Temporary);
        let sums = Sums { kind: Kind::Filter, own: vec![Ty::I32], before: vec![Ty::I64] };
        let flat = self.is_flat_line(&[], body);
        let results = self.result_types(body);
        let lines = Lines { op: &stmt.op, outer: &[], last: extent, body, results, sums, flat };
        let homes = |w: &mut KernelWriter<'_, 'g>| -> Vec<MemId> {
            outputs.iter().map(|&b| w.global(b, Access::Write, vec![extent.clone()])).collect()
        };
        if let Some(tile) = self.telling_tile(&lines) {
            self.filter_at_once(&lines, tile, &homes, count);
        } else {
            let carries = self.carries(&lines, "filter", Some(count));
            let name = self.base.kernel_name("filter");
            let counted = carries.is_none().then_some(count);
            self.lines(&name, &lines, carries.as_deref(), counted, &homes);
        }
        self.base.plan.steps.push(Step::Count { size: kept, from: count });
    }

    fn is_flat_line(&self, outer: &[Size], body: &Body) -> bool {
        self.machine.vector_bytes > 0 && outer.is_empty() && body.params.last().is_some_and(|k| is_line(body, k.id))
    }

    fn result_types(&self, body: &Body) -> Vec<Ty> {
        body.results.iter().map(|&id| self.base.type_of(id).elem()).collect()
    }

    fn chunk(&self) -> u64 {
        u64::from(self.machine.threads()) * super::TURNS
    }

    /// Is a block enough for a line?
    fn is_one_block(&self, lines: &Lines<'_, 'g>) -> bool {
        if lines.last.constant().is_some_and(|n| n <= self.chunk()) {
            return true;
        }
        let short = self.expected.about(lines.last).is_some_and(|n| n <= self.chunk());
        let busy = self.expected.at_least(&Size::product(lines.outer)).is_some_and(|n| n >= self.machine.busy_blocks);
        // A block of a launch that is cut into pieces must not go far.
        (short || busy) && !self.machine.cuts_launches()
    }

    /// A tile for a line, or for a chunk of it.
    fn tile(&self, lines: &Lines<'_, 'g>, most: Option<u64>) -> Tile {
        let about = lines.last.constant().or_else(|| self.expected.about(lines.last));
        let about = match (about, most) {
            (Some(about), Some(most)) => Some(about.min(most)),
            (about, most) => about.or(most),
        };
        let length = self.length(lines.body).map(|n| n as u64);
        let machine = match lines.sums.kind {
            // There are more blocks to go on.
            Kind::Filter if most.is_some() => self.machine.meeting(),
            Kind::Filter | Kind::Scan(_) => self.machine,
        };
        Tile::new(&machine, about, length, lines.flat, &lines.sums.own)
    }

    /// Is what a tile keeps put together in shared memory before it is written?
    fn is_staged(&self, lines: &Lines<'_, 'g>, tile: Tile) -> bool {
        let Kind::Filter = lines.sums.kind else { return false };
        let tys = &lines.results[1..];
        let each: u64 = tys.iter().map(|ty| ty.bytes() as u64).sum();
        let bytes = tile.shared_bytes(&self.machine, &lines.sums.own) + each * tile.elements();
        let whole_words = tys.iter().all(|ty| ty.bytes() >= 4);
        // Half of it, so that several blocks share a core.
        tile.threads > 1 && whole_words && bytes <= self.machine.shared_bytes / 2 && !self.machine.is_small()
    }

    /// Buffers with what comes before each chunk of each line, unless a block goes along a whole line. `count` gets the whole of
    /// the only line.
    fn carries(&mut self, lines: &Lines<'_, 'g>, what: &str, count: Option<BufferId>) -> Option<Vec<BufferId>> {
        if self.is_one_block(lines) {
            return None;
        }
        let chunks = ceil_div(lines.last, self.chunk());
        let grid = [lines.outer, std::slice::from_ref(&chunks)].concat();
        let mut buffers = |tys: &[Ty]| -> Vec<BufferId> {
            tys.iter().map(|&ty| self.base.buffer(ty, grid.clone(), BufferUse::Temporary)).collect()
        };
        let sums = buffers(&lines.sums.own);
        let before = buffers(&lines.sums.before);
        let name = self.base.kernel_name(&format!("{what}_sums"));
        self.sums_of_chunks(&name, lines, &grid, &sums);
        let name = self.base.kernel_name(&format!("{what}_before"));
        let wide = lines.outer.is_empty() && self.machine.vector_bytes > 0;
        let about = chunks.constant().or_else(|| self.expected.about(&chunks));
        let tile = Tile::new(&self.machine, about, Some(1), wide, &lines.sums.own);
        let machine = self.machine;
        self.by_threads(&name, &Size::product(lines.outer), tile.threads, &|w, items| {
            lines.sums.kind.bind(w);
            let sums: Vec<MemId> = sums.iter().map(|&b| w.global(b, Access::Read, grid.clone())).collect();
            let homes: Vec<MemId> = before.iter().map(|&b| w.global(b, Access::Write, grid.clone())).collect();
            let counter = count.map(|count| w.global(count, Access::Write, vec![]));
            items.each(w, |w, number| {
                let at = if lines.outer.is_empty() { vec![] } else { unflatten(w, number, lines.outer) };
                let lo = w.number(0);
                let hi = w.extent(&chunks);
                let along = OfChunks { lines, at: &at, sums: &sums, homes: &homes, bytes: machine.vector_bytes };
                let start = lines.sums.kind.start(w);
                let all = Prefixer::new(w, &machine, tile, &along).write(w, [lo, hi], start);
                if let Some(counter) = counter {
                    store_by_first(w, &[counter], &[], &all);
                }
            });
        });
        Some(before)
    }

    /// The fold of every chunk.
    fn sums_of_chunks(&mut self, name: &str, lines: &Lines<'_, 'g>, grid: &[Size], sums: &[BufferId]) {
        let chunk = self.chunk();
        let tile = self.tile(lines, Some(chunk));
        let machine = self.machine;
        let in_order = matches!(lines.sums.kind, Kind::Scan(monoid) if !monoid.commutative);
        self.by_threads(name, &Size::product(grid), tile.threads, &|w, items| {
            w.bind_globals(lines.op);
            let homes: Vec<MemId> = sums.iter().map(|&b| w.global(b, Access::Write, grid.to_vec())).collect();
            items.each(w, |w, number| {
                let at = unflatten(w, number, grid);
                let (c, line) = at.split_last().expect("a chunk");
                let (lo, hi) = piece(w, *c, chunk, lines.last);
                let along = OfLine::new(lines, line, &[], machine.vector_bytes);
                let sum = if in_order {
                    let start = lines.sums.kind.neutral(w);
                    Prefixer::new(w, &machine, tile, &along).write(w, [lo, hi], start)
                } else {
                    Prefixer::folding(w, &machine, tile, &along).fold(w, [lo, hi])
                };
                store_by_first(w, &homes, &at, &sum);
            });
        });
    }

    /// Goes through every chunk and writes. `homes` binds the results; a filter counts what it keeps, if nobody did yet.
    fn lines(
        &mut self,
        name: &str,
        lines: &Lines<'_, 'g>,
        carries: Option<&[BufferId]>,
        count: Option<BufferId>,
        homes: &dyn Fn(&mut KernelWriter<'_, 'g>) -> Vec<MemId>,
    ) {
        let chunk = self.chunk();
        let chunks = ceil_div(lines.last, chunk);
        let grid = match carries {
            Some(_) => [lines.outer, std::slice::from_ref(&chunks)].concat(),
            None => lines.outer.to_vec(),
        };
        let tile = self.tile(lines, carries.map(|_| chunk));
        let staged = if self.is_staged(lines, tile) { &lines.results[1..] } else { &[] };
        let machine = self.machine;
        self.by_threads(name, &Size::product(&grid), tile.threads, &|w, items: &Items| {
            w.bind_globals(lines.op);
            let carries: Option<Vec<MemId>> =
                carries.map(|c| c.iter().map(|&b| w.global(b, Access::Read, grid.clone())).collect());
            let homes = homes(w);
            let counter = count.map(|count| w.global(count, Access::Write, vec![]));
            let stage = stage(w, staged, tile);
            items.each(w, |w, number| {
                let mut at = if grid.is_empty() { vec![] } else { unflatten(w, number, &grid) };
                let (lo, hi, carry) = match &carries {
                    Some(memories) => {
                        let load = |(&memory, &ty)| w.push(Op::Load { memory, index: at.clone() }, ty);
                        let carry = memories.iter().zip(&lines.sums.before).map(load).collect();
                        let c = at.pop().expect("a chunk");
                        let (lo, hi) = piece(w, c, chunk, lines.last);
                        (lo, hi, carry)
                    }
                    None => (w.number(0), w.extent(lines.last), lines.sums.kind.start(w)),
                };
                let mut along = OfLine::new(lines, &at, &homes, machine.vector_bytes);
                along.stage = &stage;
                let all = Prefixer::new(w, &machine, tile, &along).write(w, [lo, hi], carry);
                if let Some(counter) = counter {
                    store_by_first(w, &[counter], &[], &all);
                }
            });
        });
    }
}

/// Binds the results of lines.
type Homes<'a, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>) -> Vec<MemId> + 'a;

/// Shared memory that a tile puts together in what it keeps.
fn stage(w: &mut KernelWriter<'_, '_>, tys: &[Ty], tile: Tile) -> Vec<MemId> {
    tys.iter().map(|&ty| w.near_memory("kept", ty, Space::Shared, &[tile.elements()])).collect()
}

/// Stores what all threads of a block know.
fn store_by_first(w: &mut KernelWriter<'_, '_>, homes: &[MemId], at: &[Id], values: &[Id]) {
    let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
    let zero = w.number(0);
    let first = w.value(thread.equals(zero));
    w.when(first, |w| homes.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, at.to_vec(), value)));
}
