//! Scatters of many values into few places, as histograms and sums of groups are: tables in shared memory for each block.
//!
//! A block clears its tables, sends a run of positions there, and then what the tables have to the places of the target. Integers need one
//! table, to which all threads add by atomics, as blocks add to the target: their order leaves no trace. What machines have no atomics for is
//! added by lanes in turns (`lane_tables`). How a block goes through its run is the same.

use super::maps::{Neighbours, is_line};
use super::plan::Gpu;
use super::teams::flatten;
use super::threads::ceil_div;
use crate::code::{AtomicOp, Body, Id, MemId, Op, Place, Stmt, Type};
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
/// Positions that a thread has under way where it adds by atomics.
const AT_ONCE: u64 = 16;
/// Statements that their copies may have together.
const COPIED: u64 = 160;

/// How the blocks of a scatter go through its positions.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) threads: u64,
    /// Positions of a block.
    pub(super) run: u64,
    /// The axes are one long one.
    flat: bool,
    /// Accesses that a thread has under way, and positions of each.
    copies: u64,
    width: u64,
}

/// The positions that a block sends.
pub(super) struct Sender<'a, 'g> {
    shape: &'g [Size],
    body: &'g Body,
    pace: Pace,
    neighbours: Option<Neighbours<'g>>,
    /// The number of the thread.
    pub(super) thread: Id,
    turns: &'a Size,
}

/// What is done with what a position sends: its place, and the values for it.
type Put<'a, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>, &[Id]) + 'a;

/// A table of integers.
struct Table<'g> {
    target: &'g [Size],
    operator: Operator,
    ty: Ty,
    memory: MemId,
    places: u64,
    home: MemId,
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
        let bytes = self.machine.vector_bytes;
        let pace = self.pace_of(shape, body, places, self.machine.threads().into(), AT_ONCE);
        self.by_threads(name, &ceil_div(&turns, pace.run), pace.threads as u32, &|w, items| {
            w.bind_globals(&stmt.op);
            let home = w.global(output, Access::ReadWrite, target.to_vec());
            let memory = w.near_memory("table", ty, Space::Shared, &[places]);
            let sender = Sender::new(w, shape, body, pace, &turns, bytes);
            let neutral = w.all_scalars(&monoid.neutral)[0];
            let table = Table { target, operator, ty, memory, places, home };
            items.each(w, |w, item| table.write(w, &sender, neutral, item));
        });
        true
    }

    /// How blocks of so many threads go through the positions of a scatter into so many places; a thread has at most so many under way.
    pub(super) fn pace_of(&self, shape: &'g [Size], body: &'g Body, places: u64, threads: u64, most: u64) -> Pace {
        let turns = Size::product(shape);
        let about = turns.constant().or_else(|| self.expected.about(&turns));
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
        let copies = [most / width, 2, 1].into_iter().find(short).unwrap_or(1);
        let width = if short(&copies) { width } else { 1 };
        let least = (threads * most).max(A_PLACE * places).next_power_of_two();
        let run = about.map_or(SOME, |n| 1 << (n / self.machine.busy_blocks.max(1)).max(1).ilog2()).max(least);
        Pace { threads, run, flat, copies, width }
    }
}

impl<'g> Table<'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, sender: &Sender<'_, 'g>, neutral: Id, item: Id) {
        sender.each_place(w, self.places, |w, place| w.store(self.memory, vec![place], neutral));
        w.barrier();
        sender.send(w, item, None, &|w, sent| {
            let (to, values) = sent.split_at(self.target.len());
            let inside = w.within(to, self.target);
            w.when(inside, |w| {
                let place = flatten(w, to, self.target);
                self.update(w, self.memory, vec![place], values[0]);
            });
        });
        w.barrier();
        sender.each_place(w, self.places, |w, place| {
            let value = w.push(Op::Load { memory: self.memory, index: vec![place] }, self.ty);
            let sent = w.apply(Operator::Ne, &[value, neutral], Ty::Bool);
            w.when(sent, |w| {
                let to = unflatten(w, place, self.target);
                self.update(w, self.home, to, value);
            });
        });
        // The next table is cleared where somebody may still read.
        w.barrier();
    }

    fn update(&self, w: &mut KernelWriter<'_, 'g>, memory: MemId, index: Vec<Id>, value: Id) {
        w.push(Op::Atomic { op: AtomicOp::Update(self.operator), memory, index, args: vec![value] }, self.ty);
    }
}

impl<'a, 'g> Sender<'a, 'g> {
    /// After all that the code reads is bound.
    pub(super) fn new(
        w: &mut KernelWriter<'_, 'g>,
        shape: &'g [Size],
        body: &'g Body,
        pace: Pace,
        turns: &'a Size,
        bytes: u32,
    ) -> Self {
        if pace.flat && shape.len() > 1 {
            w.flatten_memories(shape, turns);
        }
        let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
        let neighbours = pace.flat.then(|| Neighbours::new(body, turns.clone(), bytes));
        Sender { shape, body, pace, neighbours, thread, turns }
    }

    /// Hands so many places to the threads.
    pub(super) fn each_place(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        places: u64,
        write: impl FnOnce(&mut KernelWriter<'_, 'g>, Id),
    ) {
        let end = w.number(places as i64);
        if places == self.pace.threads {
            return write(w, self.thread);
        }
        if places < self.pace.threads {
            let there = w.value(self.thread.below(end));
            return w.when(there, |w| write(w, self.thread));
        }
        let step = w.number(self.pace.threads as i64);
        w.for_steps([self.thread, end, step], (vec![], &[]), |w, place, _| {
            write(w, place);
            vec![]
        });
    }

    /// Sends the positions of a run: whole turns of the block, then what is left. Where `none` says what a thread sends that has
    /// nothing left, all threads put equally often.
    pub(super) fn send(&self, w: &mut KernelWriter<'_, 'g>, item: Id, none: Option<(&[Id], &[Ty])>, put: &Put<'_, 'g>) {
        let Pace { threads, run, copies, width, .. } = self.pace;
        let (lo, hi) = piece(w, item, run, self.turns);
        let mut from = lo;
        if copies * width > 1 {
            let length = w.value(hi - lo);
            let zero = w.number(0);
            // It is not negative, which backends can see now.
            let length = w.value(length.most(zero));
            let turn = w.number((threads * copies * width) as i64);
            let count = w.value(length / turn);
            let covered = w.value(count * turn);
            let end = w.value(lo + covered);
            from = w.value(end.least(hi));
            w.for_steps([lo, from, turn], (vec![], &[]), |w, start, _| {
                let skipped = w.scaled(self.thread, width);
                let own = w.value(start + skipped);
                let mut sent = vec![];
                for copy in 0..copies {
                    let first = w.offset(own, (copy * threads * width) as i64);
                    sent.extend(self.values(w, first, width));
                }
                sent.iter().for_each(|sent| put(w, sent));
                vec![]
            });
        }
        let step = w.number(threads as i64);
        let Some((nothing, tys)) = none else {
            let first = w.value(from + self.thread);
            w.for_steps([first, hi, step], (vec![], &[]), |w, at, _| {
                let sent = self.values(w, at, 1);
                put(w, &sent[0]);
                vec![]
            });
            return;
        };
        w.for_steps([from, hi, step], (vec![], &[]), |w, start, _| {
            let at = w.value(start + self.thread);
            let there = w.value(at.below(hi));
            let sent = w.branch(there, tys, |w| self.values(w, at, 1).remove(0), |_| nothing.to_vec());
            put(w, &sent);
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
}
