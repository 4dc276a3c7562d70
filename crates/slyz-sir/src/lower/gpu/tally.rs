//! Counts that tiles tell each other, on machines whose blocks go on while others wait.
//!
//! A tile tells each of its counts as soon as it knows it. Then it adds up what the tiles before it have told, from the nearest back to one
//! that knows all before itself, and tells that in turn:
//!
//! ```text
//! tile     │ 0       │ 1     │ 2     │ 3     │ 4 …      a tile whose neighbours have told only their own goes on back
//! told     │ all: 7  │ own 5 │ own 2 │ own 4 │          3 hears 2, 5 and 7, and tells: all 18
//! ```
//!
//! It waits for no tile that was taken later, so somebody always goes on. Counts are whole numbers: who was faster changes nothing.
//! (Sums of floats are handed on in an order of their own, in `handed`.)

use super::threads::each_position;
use super::{Machine, handed};
use crate::code::{AtomicOp, Id, MemId, Op, SubgroupOp};
use crate::kernel::{Access, BufferId};
use crate::lower::gpu::plan::Gpu;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// A note that tells of its own tile, and one that tells of all up to its end; in front of the number.
const OWN_BIT: u32 = 62;
const ALL_BIT: u32 = 63;
/// Notes that a thread looks at together: while it waits for one, others are on their way.
const AT_ONCE: i64 = 4;
/// Shared memory that a block needs for it.
pub(super) const NEAR_BYTES: u64 = 16;

/// Where counts are told: the number of the next tile, and behind it the notes of each.
pub(super) struct Tallies {
    pub(super) buffer: BufferId,
    pub(super) shape: Vec<Size>,
    /// Counts of a tile.
    each: u64,
}

impl Tallies {
    pub(super) fn new(buffer: impl FnOnce(Ty, &[Size]) -> BufferId, tiles: &Size, each: u64) -> Tallies {
        let shape = vec![tiles.clone() * Size::Const(each) + Size::Const(1)];
        Tallies { buffer: buffer(Ty::U64, &shape), shape, each }
    }

    /// May blocks of tiles of so many elements wait for each other?
    pub(super) fn fit(machine: &Machine, elements: u64) -> bool {
        let blocks = machine.max_positions.div_ceil(elements) <= machine.max_blocks[0];
        machine.progresses && machine.atomic_bits >= 64 && blocks
    }

    /// No tile has told anything.
    pub(super) fn clear(&self, gpu: &mut Gpu<'_>, what: &str) {
        clear(gpu, what, self.buffer, &self.shape);
    }

    /// The notes in a kernel.
    pub(super) fn bind(&self, w: &mut KernelWriter<'_, '_>) -> MemId {
        w.global(self.buffer, Access::ReadWrite, self.shape.clone())
    }

    /// The notes as the blocks of a kernel see them, where all that a launch binds is bound.
    pub(super) fn board(&self, w: &mut KernelWriter<'_, '_>, notes: MemId) -> Tally {
        Tally { notes, taken: handed::taken(w), each: self.each }
    }
}

/// Writes zeros.
pub(super) fn clear(gpu: &mut Gpu<'_>, what: &str, buffer: BufferId, shape: &[Size]) {
    let name = gpu.base.kernel_name(what);
    let mut w = KernelWriter::new(&gpu.base, name, Size::Const(1));
    let memory = w.global(buffer, Access::Write, shape.to_vec());
    let nothing = w.constant(Scalar::from_int(Ty::U64, 0));
    each_position(&mut w, &gpu.machine, shape, &mut |w, at| w.store(memory, at.to_vec(), nothing));
    let kernel = w.finish();
    gpu.base.launch(kernel);
}

/// The notes, as the threads of a block see them.
pub(super) struct Tally {
    notes: MemId,
    /// The tile that the block has taken.
    taken: MemId,
    each: u64,
}

type Writer<'a, 'l, 'g> = &'a mut KernelWriter<'l, 'g>;

impl Tally {
    /// The next tile, which is this block's.
    pub(super) fn take(&self, w: Writer<'_, '_, '_>) -> Id {
        handed::take(w, self.notes, self.taken)
    }

    /// Tells a count of the tile.
    pub(super) fn tell_own(&self, w: Writer<'_, '_, '_>, tile: Id, which: Id, count: Id) {
        self.tell(w, tile, which, count, OWN_BIT);
    }

    /// Tells the same of the tile and all before it.
    pub(super) fn tell_all(&self, w: Writer<'_, '_, '_>, tile: Id, which: Id, count: Id) {
        self.tell(w, tile, which, count, ALL_BIT);
    }

    fn tell(&self, w: Writer<'_, '_, '_>, tile: Id, which: Id, count: Id, bit: u32) {
        let mark = w.constant(Scalar::from_int(Ty::U64, 1 << bit));
        let note = w.apply(Operator::Or, &[count, mark], Ty::U64);
        let index = vec![self.place(w, tile, which)];
        let op = AtomicOp::Store;
        w.push(Op::Atomic { op, memory: self.notes, index, args: vec![note] }, Ty::U64);
    }

    /// Where a note is.
    fn place(&self, w: Writer<'_, '_, '_>, tile: Id, which: Id) -> Id {
        let start = w.scaled(tile, self.each);
        let place = w.value(start + which);
        w.offset(place, 1)
    }

    /// A note; `tile` may lie before the first.
    fn look(&self, w: Writer<'_, '_, '_>, tile: Id, which: Id) -> Id {
        let zero = w.number(0);
        let tile = w.value(tile.most(zero));
        let index = vec![self.place(w, tile, which)];
        let load = Op::Atomic { op: AtomicOp::Load, memory: self.notes, index, args: vec![] };
        w.push(load, Ty::U64)
    }

    /// The sum of a count over all tiles before, by a thread alone. A tile that has told nothing yet is asked again.
    pub(super) fn before_by_thread(&self, w: Writer<'_, '_, '_>, tile: Id, which: Id) -> Id {
        let none = word(w, 0);
        let zero = w.number(0);
        let nobody = w.number(-1);
        let nearest = w.offset(tile, -1);
        let tys = [Ty::I64, Ty::U64];
        let cond = w.nested(&tys, |w, ids| vec![w.value(ids[0].not_below(zero))]);
        let body = w.nested(&tys, |w, ids| {
            let (first, mut sum) = (ids[0], ids[1]);
            let seen: Vec<Id> = (0..AT_ONCE)
                .map(|k| {
                    let tile = w.offset(first, -k);
                    self.look(w, tile, which)
                })
                .collect();
            let mut next = first;
            let mut goes_on = w.constant(Scalar::bool(true));
            for note in seen {
                let told = w.apply(Operator::Ne, &[note, none], Ty::Bool);
                let heard = w.apply(Operator::And, &[goes_on, told], Ty::Bool);
                let count = number(w, note);
                let count = w.apply(Operator::Select, &[heard, count, none], Ty::U64);
                sum = w.apply(Operator::Add, &[sum, count], Ty::U64);
                let further = w.offset(next, -1);
                let is_all = tells_all(w, note);
                let further = w.apply(Operator::Select, &[is_all, nobody, further], Ty::I64);
                next = w.apply(Operator::Select, &[heard, further, next], Ty::I64);
                let more = w.value(next.not_below(zero));
                goes_on = w.apply(Operator::And, &[heard, more], Ty::Bool);
            }
            vec![next, sum]
        });
        w.bind(Op::While { init: vec![nearest, none], cond, body }, &tys)[1]
    }

    /// The same of the only count of a tile, by the lanes of a subgroup, which look at as many tiles at once. All of them get it.
    pub(super) fn before_by_lanes(&self, w: Writer<'_, '_, '_>, tile: Id, lane: Id, lanes: u32) -> Id {
        let none = word(w, 0);
        let zero = w.number(0);
        let nobody = w.number(-1);
        let width = w.number(lanes.into());
        let nearest = w.offset(tile, -1);
        let tys = [Ty::I64, Ty::U64];
        let cond = w.nested(&tys, |w, ids| vec![w.value(ids[0].not_below(zero))]);
        let body = w.nested(&tys, |w, ids| {
            let own = w.value(ids[0] - lane);
            let there = w.value(own.not_below(zero));
            let note = self.look(w, own, zero);
            let cond = w.nested(&[Ty::U64], |w, note| {
                let missing = w.apply(Operator::Eq, &[note[0], none], Ty::Bool);
                let missing = w.apply(Operator::And, &[missing, there], Ty::Bool);
                vec![w.push(Op::Subgroup(SubgroupOp::Any, vec![missing]), Ty::Bool)]
            });
            let again = w.nested(&[Ty::U64], |w, _| vec![self.look(w, own, zero)]);
            let note = w.push(Op::While { init: vec![note], cond, body: again }, Ty::U64);
            // The nearest of those that know all before them, or where there is no tile any more.
            let is_all = tells_all(w, note);
            let outside = w.apply(Operator::Not, &[there], Ty::Bool);
            let ends = w.apply(Operator::Or, &[is_all, outside], Ty::Bool);
            let end = w.apply(Operator::Select, &[ends, lane, width], Ty::I64);
            let end = w.push(Op::Cast(Ty::U32, end), Ty::U32);
            let end = w.push(Op::Subgroup(SubgroupOp::Reduce(Operator::Min), vec![end]), Ty::U32);
            let end = w.push(Op::Cast(Ty::I64, end), Ty::I64);
            let past = w.value(end.below(lane));
            let counts = w.apply(Operator::Not, &[past], Ty::Bool);
            let counts = w.apply(Operator::And, &[counts, there], Ty::Bool);
            let count = number(w, note);
            let count = w.apply(Operator::Select, &[counts, count, none], Ty::U64);
            let count = w.push(Op::Subgroup(SubgroupOp::Reduce(Operator::Add), vec![count]), Ty::U64);
            let sum = w.apply(Operator::Add, &[ids[1], count], Ty::U64);
            let further = w.value(ids[0] - width);
            let found = w.value(end.below(width));
            vec![w.apply(Operator::Select, &[found, nobody, further], Ty::I64), sum]
        });
        w.bind(Op::While { init: vec![nearest, none], cond, body }, &tys)[1]
    }
}

fn word(w: Writer<'_, '_, '_>, value: i128) -> Id {
    w.constant(Scalar::from_int(Ty::U64, value))
}

/// What a note tells.
fn number(w: Writer<'_, '_, '_>, note: Id) -> Id {
    let numbers = word(w, (1 << OWN_BIT) - 1);
    w.apply(Operator::And, &[note, numbers], Ty::U64)
}

fn tells_all(w: Writer<'_, '_, '_>, note: Id) -> Id {
    let least = word(w, 1 << ALL_BIT);
    w.apply(Operator::Ge, &[note, least], Ty::Bool)
}
