//! Scatters of many integers into few places, as histograms are: a table in shared memory for each block.
//!
//! A block clears its table, sends a run of positions there by atomics of the block, and then what the table has to the places of the
//! target, by atomics of the device. The order of integers leaves no trace.

use super::maps::{Neighbours, is_line};
use super::plan::Gpu;
use super::teams::flatten;
use super::threads::ceil_div;
use crate::code::{AtomicOp, Body, Id, MemId, Monoid, Op, Place, Stmt, Type};
use crate::kernel::{Access, BufferId, Space};
use crate::lower::access::is_flat;
use crate::lower::planning::{piece, unflatten};
use crate::lower::writer::{KernelWriter, Mode};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// The most bytes of a table, so that several blocks share a core.
const MOST_BYTES: u64 = 16 << 10;
/// The fewest positions for which tables are worth it, and for each place.
const FEWEST: u64 = 1 << 12;
const FEWEST_A_PLACE: u64 = 4;
/// Positions of a block for each place of its table, so that clearing and sending tables is little of the work.
const A_PLACE: u64 = 16;
/// Positions of a block where nothing is known about their number.
const SOME: u64 = 1 << 16;
/// Positions that a thread has under way.
const AT_ONCE: u64 = 16;
/// Statements that their copies may have together.
const COPIED: u64 = 160;

/// A scatter whose blocks have tables.
struct Tables<'a, 'g> {
    shape: &'g [Size],
    body: &'g Body,
    target: &'g [Size],
    monoid: &'g Monoid,
    operator: Operator,
    ty: Ty,
    /// Where the axes are one long one.
    neighbours: Option<Neighbours<'g>>,
    threads: u64,
    /// Accesses that a thread has under way, and positions of each.
    copies: u64,
    width: u64,
    /// The table, its length, and the target.
    table: MemId,
    places: u64,
    home: MemId,
    /// The number of the thread.
    thread: Id,
    turns: &'a Size,
}

impl<'g> Gpu<'g> {
    /// Writes a scatter by tables, if that is better than to send everything at once.
    pub(super) fn scatter_tables(&mut self, name: &str, stmt: &'g Stmt, operator: Operator, output: BufferId) -> bool {
        let Op::Scatter { shape, body, target, monoid, .. } = &stmt.op else { return false };
        let ty = stmt.binds[0].ty.elem();
        let turns = Size::product(shape);
        let about = turns.constant().or_else(|| self.expected.about(&turns));
        let Some(places) = Size::product(target).constant() else { return false };
        let few = places > 0 && places.saturating_mul(ty.bytes() as u64) <= MOST_BYTES.min(self.machine.shared_bytes);
        let many = about.is_none_or(|n| n >= FEWEST.max(FEWEST_A_PLACE.saturating_mul(places)));
        if !few || !many || body.has_array_loop() {
            return false;
        }
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let same = |array: Id| matches!(self.base.types.get(&array), Some(Type::Array(_, s)) if s == shape);
        let flat = self.machine.vector_bytes > 0
            && match &positions[..] {
                [position] => is_line(body, *position),
                _ => is_flat(body, &positions, &same),
            };
        let length = self.length(body).map(|n| n as u64);
        let width = if flat && length.is_some() { 4 } else { 1 };
        let short = |copies: &u64| length.is_some_and(|n| copies * width * n.max(1) <= COPIED);
        let copies = [AT_ONCE / width, 2, 1].into_iter().find(short).unwrap_or(1);
        let width = if short(&copies) { width } else { 1 };
        let threads = u64::from(self.machine.threads());
        let least = (threads * AT_ONCE).max(A_PLACE * places).next_power_of_two();
        let run = about.map_or(SOME, |n| 1 << (n / self.machine.busy_blocks.max(1)).max(1).ilog2()).max(least);
        let bytes = self.machine.vector_bytes;
        self.by_threads(name, &ceil_div(&turns, run), threads as u32, &|w, items| {
            w.bind_globals(&stmt.op);
            let home = w.global(output, Access::ReadWrite, target.to_vec());
            if flat && shape.len() > 1 {
                w.flatten_memories(shape, &turns);
            }
            let table = w.near_memory("table", ty, Space::Shared, &[places]);
            let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
            let neighbours = flat.then(|| Neighbours::new(body, turns.clone(), bytes));
            let turns = &turns;
            #[rustfmt::skip]
            let tables = Tables {
                shape, body, target, monoid, operator, ty, neighbours, threads, copies, width, table, places, home, thread, turns,
            };
            items.each(w, |w, item| tables.write(w, item, run));
        });
        true
    }
}

impl<'g> Tables<'_, 'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, item: Id, run: u64) {
        let neutral = w.all_scalars(&self.monoid.neutral)[0];
        self.each_place(w, |w, place| w.store(self.table, vec![place], neutral));
        w.barrier();
        let (lo, hi) = piece(w, item, run, self.turns);
        self.send(w, [lo, hi]);
        w.barrier();
        self.each_place(w, |w, place| {
            let value = w.push(Op::Load { memory: self.table, index: vec![place] }, self.ty);
            let sent = w.apply(Operator::Ne, &[value, neutral], Ty::Bool);
            w.when(sent, |w| {
                let to = unflatten(w, place, self.target);
                self.update(w, self.home, to, value);
            });
        });
        // The next table is cleared where somebody may still read.
        w.barrier();
    }

    /// Hands the places of the table to the threads.
    fn each_place(&self, w: &mut KernelWriter<'_, 'g>, write: impl FnOnce(&mut KernelWriter<'_, 'g>, Id)) {
        let end = w.number(self.places as i64);
        if self.places == self.threads {
            return write(w, self.thread);
        }
        if self.places < self.threads {
            let there = w.value(self.thread.below(end));
            return w.when(there, |w| write(w, self.thread));
        }
        let step = w.number(self.threads as i64);
        w.for_steps([self.thread, end, step], (vec![], &[]), |w, place, _| {
            write(w, place);
            vec![]
        });
    }

    /// Sends the positions of a run to the table: whole turns of the block, then what is left.
    fn send(&self, w: &mut KernelWriter<'_, 'g>, [lo, hi]: [Id; 2]) {
        let mut from = lo;
        if self.copies * self.width > 1 {
            let length = w.value(hi - lo);
            let zero = w.number(0);
            // It is not negative, which backends can see now.
            let length = w.value(length.most(zero));
            let turn = w.number((self.threads * self.copies * self.width) as i64);
            let count = w.value(length / turn);
            let covered = w.value(count * turn);
            let end = w.value(lo + covered);
            from = w.value(end.least(hi));
            w.for_steps([lo, from, turn], (vec![], &[]), |w, start, _| {
                let skipped = w.scaled(self.thread, self.width);
                let own = w.value(start + skipped);
                let mut sent = vec![];
                for copy in 0..self.copies {
                    let first = w.offset(own, (copy * self.threads * self.width) as i64);
                    sent.extend(self.values(w, first, self.width));
                }
                sent.iter().for_each(|sent| self.put(w, sent));
                vec![]
            });
        }
        let first = w.value(from + self.thread);
        let step = w.number(self.threads as i64);
        w.for_steps([first, hi, step], (vec![], &[]), |w, at, _| {
            let sent = self.values(w, at, 1);
            self.put(w, &sent[0]);
            vec![]
        });
    }

    /// What neighbours send.
    fn values(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: u64) -> Vec<Vec<Id>> {
        match &self.neighbours {
            Some(neighbours) => neighbours.run(w, first, count),
            None => {
                let at = unflatten(w, first, self.shape);
                vec![w.run(self.body, &at, Mode::Lane)]
            }
        }
    }

    fn put(&self, w: &mut KernelWriter<'_, 'g>, sent: &[Id]) {
        let (to, values) = sent.split_at(self.target.len());
        let inside = w.within(to, self.target);
        w.when(inside, |w| {
            let place = flatten(w, to, self.target);
            self.update(w, self.table, vec![place], values[0]);
        });
    }

    fn update(&self, w: &mut KernelWriter<'_, 'g>, memory: MemId, index: Vec<Id>, value: Id) {
        w.push(Op::Atomic { op: AtomicOp::Update(self.operator), memory, index, args: vec![value] }, self.ty);
    }
}
