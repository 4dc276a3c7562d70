//! Sorts of one long line on machines whose blocks go on while others wait: a pass reads its words once.
//!
//! ```text
//! launch order_sort_none      nobody has counted
//! launch order_sort_counts    how many elements have each value of each digit?
//! launch order_sort_starts    how many have a smaller one?
//! launch order_sort_silence   before each pass: no tile has told anything
//! launch order_sort           a block takes the next tile, puts its elements in order, and asks the tiles before it where they go
//! ```
//!
//! How tiles tell each other how many of their elements have each value is in `tally`.

use super::super::Machine;
use super::super::tally::{Tallies, Tally, clear};
use super::{Form, Gpu, Pass, Passes, Table, VALUES};
use crate::code::{AtomicOp, Id, MemId, Op};
use crate::kernel::{Access, BufferId, Space};
use crate::lower::sorting::Digit;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// What a sort needs for it.
pub(super) struct Sweep {
    /// For each digit, how many elements have each value; then how many have a smaller one.
    starts: Table,
    /// How many elements of each tile have each value of the digit that a pass looks at.
    notes: Tallies,
}

impl Sweep {
    /// Is it a sort for which this is the way?
    pub(super) fn fits(machine: &Machine, form: Form, outer: &[Size], digits: usize) -> bool {
        let waits = form.by_lanes && Tallies::fit(machine, form.elements());
        let room = digits as u64 * VALUES * Ty::U32.bytes() as u64 <= machine.shared_bytes / 2;
        waits && room && digits > 0 && outer.is_empty()
    }

    pub(super) fn new(buffer: &mut impl FnMut(Ty, &[Size]) -> BufferId, tiles: &Size, digits: usize) -> Sweep {
        let shape = vec![Size::Const(digits as u64), Size::Const(VALUES)];
        let starts = (buffer(Ty::U64, &shape), shape);
        Sweep { starts, notes: Tallies::new(buffer, tiles, VALUES) }
    }

    /// What a pass reads, and what it reads and writes.
    pub(super) fn bind(&self, w: &mut KernelWriter<'_, '_>) -> [MemId; 2] {
        let (starts, shape) = &self.starts;
        [w.global(*starts, Access::Read, shape.clone()), self.notes.bind(w)]
    }

    /// No tile has told anything.
    pub(super) fn clear_notes(&self, gpu: &mut Gpu<'_>) {
        self.notes.clear(gpu, "sort_silence");
    }
}

impl<'g> Passes<'g> {
    /// How many elements have a smaller value, for each value of each digit.
    pub(super) fn count_all(&self, gpu: &mut Gpu<'g>, sweep: &Sweep, digits: &[Digit]) {
        let (starts, shape) = &sweep.starts;
        clear(gpu, "sort_none", *starts, shape);
        self.count_digits(gpu, sweep, digits);
        self.starts_of_digits(gpu, sweep, digits.len());
    }

    /// Blocks count many tiles each, so that they seldom meet.
    fn count_digits(&self, gpu: &mut Gpu<'g>, sweep: &Sweep, digits: &[Digit]) {
        let first = Pass { is_first: true, digit: digits[0], number: 0, turns: 1, moved: vec![] };
        let mut columns: Vec<usize> = digits.iter().map(|digit| self.columns.of_word(digit.word)).collect();
        columns.dedup();
        let most = gpu.machine.busy_blocks;
        let (mut w, items) = self.begin_with(gpu, "sort_counts", &self.tiles, most);
        let all = self.bind(&mut w, &sweep.starts, Access::ReadWrite);
        let from = self.source(&mut w, &first, &columns);
        let own = w.near_memory("own", Ty::U32, Space::Shared, &[digits.len() as u64 * VALUES]);
        let thread = self.thread(&mut w);
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        let each_table = |w: &mut KernelWriter<'_, 'g>, write: &dyn Fn(&mut KernelWriter<'_, 'g>, usize, Id, Id)| {
            self.each_value(w, thread, |w, value| {
                for number in 0..digits.len() {
                    let place = w.offset(value, (number as u64 * VALUES) as i64);
                    write(w, number, value, place);
                }
            });
        };
        each_table(&mut w, &|w, _, _, place| w.store(own, vec![place], none));
        w.barrier();
        items.each(&mut w, |w, tile| {
            self.each_element(w, &first, (&from, &columns), (&[], tile), &|w, words| {
                for (number, digit) in digits.iter().enumerate() {
                    let column = self.columns.of_word(digit.word);
                    let word = columns.iter().position(|&known| known == column).map_or(words[0], |k| words[k]);
                    let shift = w.constant(Scalar::from_int(Ty::U32, digit.shift.into()));
                    let value = self.digit(w, *digit, shift, word);
                    let place = w.offset(value, (number as u64 * VALUES) as i64);
                    self.one_more(w, own, place);
                }
            });
        });
        w.barrier();
        each_table(&mut w, &|w, number, value, place| {
            let load = Op::Atomic { op: AtomicOp::Load, memory: own, index: vec![place], args: vec![] };
            let count = w.push(load, Ty::U32);
            let count = w.push(Op::Cast(Ty::U64, count), Ty::U64);
            let op = AtomicOp::Update(Operator::Add);
            let number = w.number(number as i64);
            w.push(Op::Atomic { op, memory: all, index: vec![number, value], args: vec![count] }, Ty::U64);
        });
        let kernel = w.finish();
        self.launch(gpu, kernel);
    }

    /// Replaces counts by sums of those before, a block for each digit.
    fn starts_of_digits(&self, gpu: &mut Gpu<'g>, sweep: &Sweep, digits: usize) {
        let (mut w, items) = self.begin(gpu, "sort_starts", &Size::Const(digits as u64));
        let starts = self.bind(&mut w, &sweep.starts, Access::ReadWrite);
        let all = w.near_memory("all", Ty::U64, Space::Shared, &[VALUES]);
        items.each(&mut w, |w, digit| {
            let thread = self.thread(w);
            let none = w.constant(Scalar::from_int(Ty::U64, 0));
            let zero = w.number(0);
            self.each_value(w, thread, |w, value| {
                let count = w.push(Op::Load { memory: starts, index: vec![digit, value] }, Ty::U64);
                w.store(all, vec![value], count);
            });
            w.barrier();
            self.each_value(w, thread, |w, value| {
                let before = w.for_each(zero, value, 1, (vec![none], &[Ty::U64]), |w, other, sum| {
                    let count = w.push(Op::Load { memory: all, index: vec![other] }, Ty::U64);
                    vec![w.apply(Operator::Add, &[sum[0], count], Ty::U64)]
                });
                w.store(starts, vec![digit, value], before[0]);
            });
            if items.loops {
                w.barrier();
            }
        });
        let kernel = w.finish();
        gpu.base.launch(kernel);
    }
}

/// What tiles tell each other, as the blocks of a pass see it.
pub(super) struct Board {
    starts: MemId,
    tally: Tally,
    /// Which digit the pass looks at.
    digit: Id,
    elements: u64,
}

impl Board {
    pub(super) fn new<'g>(
        w: &mut KernelWriter<'_, 'g>,
        (passes, sweep): (&Passes<'g>, &Sweep),
        pass: &Pass,
        depth: u32,
        [starts, notes]: [MemId; 2],
    ) -> Board {
        let mut digit = w.number(pass.number as i64);
        if pass.turns > 1 {
            let turn = passes.turn(w, depth);
            digit = w.value(turn + digit);
        }
        let tally = sweep.notes.board(w, notes);
        Board { starts, tally, digit, elements: passes.form.elements() }
    }

    /// The next tile, which is this block's.
    pub(super) fn take(&self, w: &mut KernelWriter<'_, '_>) -> Id {
        self.tally.take(w)
    }

    /// How many elements of the block's tile have a value: what lies between the first of it and the first of the next.
    fn own(&self, w: &mut KernelWriter<'_, '_>, value: Id, first: MemId) -> Id {
        let load = |w: &mut KernelWriter<'_, '_>, at: Id| w.push(Op::Load { memory: first, index: vec![at] }, Ty::U32);
        let last = w.number(VALUES as i64 - 1);
        let next = w.offset(value, 1);
        let is_last = w.value(value.equals(last));
        let next = w.value(next.least(last));
        let start = load(w, value);
        let end = load(w, next);
        let all = w.constant(Scalar::from_int(Ty::U32, self.elements.into()));
        let end = w.apply(Operator::Select, &[is_last, all, end], Ty::U32);
        let count = w.apply(Operator::Sub, &[end, start], Ty::U32);
        w.push(Op::Cast(Ty::U64, count), Ty::U64)
    }

    /// Tells how many elements of the tile have a value.
    pub(super) fn tell_own(&self, w: &mut KernelWriter<'_, '_>, tile: Id, value: Id, first: MemId) {
        let own = self.own(w, value, first);
        self.tally.tell_own(w, tile, value, own);
    }

    /// Where the first element of the tile with a value goes, and tells the tiles behind.
    pub(super) fn start(&self, w: &mut KernelWriter<'_, '_>, tile: Id, value: Id, first: MemId) -> Id {
        let before = self.tally.before_by_thread(w, tile, value);
        let own = self.own(w, value, first);
        let all = w.apply(Operator::Add, &[before, own], Ty::U64);
        self.tally.tell_all(w, tile, value, all);
        let start = w.push(Op::Load { memory: self.starts, index: vec![self.digit, value] }, Ty::U64);
        w.apply(Operator::Add, &[start, before], Ty::U64)
    }
}
