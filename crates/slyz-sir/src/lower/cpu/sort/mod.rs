//! Sorts of a long line by digits, the least significant first. Positions are cut into runs; each pass counts the digits of each run,
//! so that it is known where the elements of a run with a digit go, and moves them there in order.
//!
//! ```text
//! launch order_sort_counts    how many elements of each run have each digit?
//! launch order_sort_before    how many come before those of the first run, and of each run? (one block)
//! launch order_sort           each run moves its elements
//! ```
//!
//! A pass whose digit is the same in all elements is left out, but for the first one, which computes the elements. Where the places
//! go does not depend on how many runs there are. Short lines, and each of several, are sorted by one block.
//!
//! Lines that no cache holds are cut into [`buckets`] by their most significant digit instead, where elements spread over those.

mod buckets;
mod first;

use super::MOST_IN_ONE_KERNEL;
use crate::code::{Id, MemId, Op, Place, Stmt};
use crate::kernel::{Access, BufferId, BufferUse, Loop, Step, Turns};
use crate::lower::planning::{Lowering, unflatten};
use crate::lower::sorting::{Columns, Digit, Sort, digits};
use crate::lower::writer::{KernelWriter, Mode};
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// Runs that all positions are cut into.
const RUNS: u64 = 64;
/// The most bits of a digit: the places of its values stay in the first-level cache, and a word has three.
const DIGIT_BITS: u32 = 11;
/// The longest line for one core, at least; it is also as long as all counts of a pass.
const MOST_FOR_ONE: u64 = 1 << 16;
/// What it costs to sort an element, in additions.
const EACH: u64 = 64;

/// Where elements are while they are sorted.
#[derive(Clone)]
struct Passes<'a, 'g> {
    stmt: &'g Stmt,
    sort: &'a Sort<'g>,
    columns: Columns,
    digits: Vec<Digit>,
    /// The columns, and where a pass moves them; the two change places.
    now: Vec<BufferId>,
    next: Vec<BufferId>,
    /// Of each run and digit: how many, then how many in earlier runs. Of each digit: how many elements have a smaller one.
    counts: BufferId,
    starts: BufferId,
    /// Runs, and values of the largest digit.
    table: [Size; 2],
}

impl<'g> Lowering<'g> {
    pub(super) fn sort(&mut self, stmt: &'g Stmt) {
        let sort = Sort::of(&stmt.op);
        let outputs: Vec<BufferId> = self.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        let whole = |l: &mut Self| l.in_one_block(stmt, &outputs);
        if let Some(count) = self.first_few(&stmt.op, &stmt.binds) {
            let work = sort.extent().clone() * Size::product(&sort.shape[..sort.shape.len() - 1]);
            return self.choose(work, MOST_FOR_ONE, whole, |l| l.sort_first(stmt, &sort, count, &outputs));
        }
        if sort.shape.len() > 1 {
            let work = Size::Const(EACH) * Size::product(sort.shape);
            return self.choose(work, MOST_IN_ONE_KERNEL, whole, |l| l.sort_lines(stmt, &sort, &outputs));
        }
        let work = sort.extent().clone();
        let values = digits(sort.widths, DIGIT_BITS).iter().map(|digit| digit.values()).max().unwrap_or(1);
        self.choose(work, MOST_FOR_ONE.max(RUNS * values), whole, |l| l.sort_runs(stmt, &sort, &outputs));
    }

    /// A block for each line.
    fn sort_lines(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, outputs: &[BufferId]) {
        let outer = &sort.shape[..sort.shape.len() - 1];
        let name = self.kernel_name("sort_lines");
        let mut w = KernelWriter::new(self, name, Size::product(outer));
        let homes: Vec<(MemId, Vec<Id>)> =
            outputs.iter().map(|&b| (w.global(b, Access::ReadWrite, sort.shape.to_vec()), vec![])).collect();
        w.bind_globals(&stmt.op);
        let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
        let at = unflatten(&mut w, block, outer);
        w.sort_line(sort, &at, &homes);
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn sort_runs(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, outputs: &[BufferId]) {
        let columns = Columns::of(sort, |id| self.type_of(id));
        let line = vec![sort.extent().clone()];
        let mut buffer = |&ty: &Ty| self.buffer(ty, line.clone(), BufferUse::Temporary);
        let words = columns.tys[columns.values()..].iter();
        let now = outputs.iter().copied().chain(words.map(&mut buffer)).collect();
        let next = columns.tys.iter().map(&mut buffer).collect();
        let digits = digits(sort.widths, DIGIT_BITS);
        let table = [Size::Const(RUNS), Size::Const(1 << DIGIT_BITS)];
        let counts = self.buffer(Ty::I64, table.to_vec(), BufferUse::Temporary);
        let starts = self.buffer(Ty::I64, table[1..].to_vec(), BufferUse::Temporary);
        let passes = Passes { stmt, sort, columns, digits, now, next, counts, starts, table };
        match passes.buckets() {
            Some(buckets) => {
                let extent = sort.extent().clone();
                self.choose(extent, buckets::MOST_BY_PASSES, |l| passes.all(l), |l| buckets.or_passes(l, &passes));
            }
            None => passes.all(self),
        }
    }

    /// Steps that are taken once if a count of the device says so, which is 0 or 1.
    fn if_counted(&mut self, turns: BufferId, swaps: Vec<(BufferId, BufferId)>, steps: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.plan.steps);
        steps(self);
        let steps = std::mem::replace(&mut self.plan.steps, before);
        let name = self.kernel_name("sort_turns");
        self.plan.steps.push(Step::Loop(Loop { name, turns: Turns::Read(turns), steps, swaps }));
    }
}

impl<'g> Passes<'_, 'g> {
    /// One pass after the other.
    fn all(&self, l: &mut Lowering<'g>) {
        for number in 0..self.digits.len() {
            self.count(l, number);
            // Where all elements have one digit, they are in its order.
            let [turns] = self.before(l, number, [Ty::I64], |w, [all, most]| [w.value(most.below(all))]);
            if number == 0 {
                self.send(l, number);
                continue;
            }
            let swaps = self.moved(number).map(|column| (self.now[column], self.next[column])).collect();
            l.if_counted(turns, swaps, |l| self.send(l, number));
        }
    }

    /// The columns that a pass moves.
    fn moved(&self, number: usize) -> impl Iterator<Item = usize> {
        let later = &self.digits[number + 1..];
        (0..self.columns.count()).filter(move |&column| self.columns.is_wanted(column, later))
    }

    /// Binds what a pass reads; the first one computes it.
    fn source(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        number: usize,
        wanted: impl Iterator<Item = usize>,
    ) -> Vec<(usize, MemId)> {
        if number == 0 {
            w.bind_globals(&self.stmt.op);
            return vec![];
        }
        let line = || vec![self.sort.extent().clone()];
        wanted.map(|column| (column, w.global(self.now[column], Access::Read, line()))).collect()
    }

    /// The columns of an element.
    fn element(&self, w: &mut KernelWriter<'_, 'g>, from: &[(usize, MemId)], number: usize, i: Id) -> Vec<(usize, Id)> {
        if number == 0 {
            let results = w.run(self.sort.body, &[i], Mode::Lane);
            return self.columns.pick(&results).into_iter().enumerate().collect();
        }
        let tys = &self.columns.tys;
        let load =
            |&(column, memory): &(usize, MemId)| (column, w.push(Op::Load { memory, index: vec![i] }, tys[column]));
        from.iter().map(load).collect()
    }

    fn digit(&self, w: &mut KernelWriter<'_, 'g>, number: usize, element: &[(usize, Id)]) -> Id {
        let digit = self.digits[number];
        let column = self.columns.of_word(digit.word);
        let (_, word) = element.iter().find(|(own, _)| *own == column).expect("the word of a pass is read");
        let shift = w.constant(Scalar::from_int(Ty::U32, digit.shift.into()));
        let word = w.low_bits(*word, self.sort.widths[digit.word]);
        w.digit(word, shift, digit.bits)
    }

    fn run_of_block(&self, w: &mut KernelWriter<'_, 'g>) -> (Id, [Id; 2]) {
        let run = w.push(Op::Place(Place::Block, 0), Ty::I64);
        let length = w.extent(&Size::CeilDiv(self.sort.extent().clone().into(), RUNS));
        let end = w.extent(self.sort.extent());
        let lo = w.value(run * length);
        let hi = w.value((lo + length).least(end));
        (run, [lo, hi])
    }

    /// How many elements of each run have each digit.
    fn count(&self, l: &mut Lowering<'g>, number: usize) {
        let name = l.kernel_name("sort_counts");
        let mut w = KernelWriter::new(l, name, Size::Const(RUNS));
        let counts = w.global(self.counts, Access::ReadWrite, self.table.to_vec());
        let word = self.columns.of_word(self.digits[number].word);
        let from = self.source(&mut w, number, [word].into_iter());
        let (run, [lo, hi]) = self.run_of_block(&mut w);
        let zero = w.number(0);
        let values = w.number(self.digits[number].values() as i64);
        w.lanes(zero, values, |w, digit| w.store(counts, vec![run, digit], zero));
        w.for_each(lo, hi, 1, (vec![], &[]), |w, i, _| {
            let element = self.element(w, &from, number, i);
            let index = vec![run, self.digit(w, number, &element)];
            let count = w.push(Op::Load { memory: counts, index: index.clone() }, Ty::I64);
            let more = w.offset(count, 1);
            w.store(counts, index, more);
            vec![]
        });
        let (mut kernel, buffers, scalars) = w.finish();
        // What only moves is not computed here.
        kernel.body = crate::pass::dce::root(kernel.body);
        l.launch((kernel, buffers, scalars));
    }

    /// Where elements go; stores whether tests hold of how many elements there are, and have the most frequent digit: as a `bool`, or as a
    /// number of turns.
    fn before<const N: usize>(
        &self,
        l: &mut Lowering<'g>,
        number: usize,
        tys: [Ty; N],
        tests: impl FnOnce(&mut KernelWriter<'_, 'g>, [Id; 2]) -> [Id; N],
    ) -> [BufferId; N] {
        let found = tys.map(|ty| l.buffer(ty, vec![], BufferUse::Temporary));
        let name = l.kernel_name("sort_before");
        let mut w = KernelWriter::new(l, name, Size::Const(1));
        let counts = w.global(self.counts, Access::ReadWrite, self.table.to_vec());
        let starts = w.global(self.starts, Access::ReadWrite, self.table[1..].to_vec());
        let homes = found.map(|buffer| w.global(buffer, Access::Write, vec![]));
        let zero = w.number(0);
        let values = w.number(self.digits[number].values() as i64);
        let runs = w.number(RUNS as i64);
        w.lanes(zero, values, |w, digit| w.store(starts, vec![digit], zero));
        w.for_each(zero, runs, 1, (vec![], &[]), |w, run, _| {
            w.lanes(zero, values, |w, digit| {
                let before = w.push(Op::Load { memory: starts, index: vec![digit] }, Ty::I64);
                let own = w.push(Op::Load { memory: counts, index: vec![run, digit] }, Ty::I64);
                w.store(counts, vec![run, digit], before);
                let all = w.value(before + own);
                w.store(starts, vec![digit], all);
            });
            vec![]
        });
        let sums = w.for_each(zero, values, 1, (vec![zero, zero], &[Ty::I64; 2]), |w, digit, sums| {
            let own = w.push(Op::Load { memory: starts, index: vec![digit] }, Ty::I64);
            w.store(starts, vec![digit], sums[0]);
            vec![w.value(sums[0] + own), w.value(sums[1].most(own))]
        });
        let tests = tests(&mut w, [sums[0], sums[1]]);
        for ((home, ty), test) in homes.into_iter().zip(tys).zip(tests) {
            let value = if ty == Ty::Bool { test } else { w.push(Op::Cast(ty, test), ty) };
            w.store(home, vec![], value);
        }
        let kernel = w.finish();
        l.launch(kernel);
        found
    }

    /// Each run moves its elements.
    fn send(&self, l: &mut Lowering<'g>, number: usize) {
        let name = l.kernel_name("sort");
        let mut w = KernelWriter::new(l, name, Size::Const(RUNS));
        let goal = if number == 0 { &self.now } else { &self.next };
        let line = || vec![self.sort.extent().clone()];
        let to: Vec<(usize, MemId)> =
            self.moved(number).map(|column| (column, w.global(goal[column], Access::Write, line()))).collect();
        let counts = w.global(self.counts, Access::Read, self.table.to_vec());
        let starts = w.global(self.starts, Access::Read, self.table[1..].to_vec());
        let word = self.columns.of_word(self.digits[number].word);
        let wanted: Vec<usize> = (0..self.columns.count())
            .filter(|&column| column == word || to.iter().any(|(own, _)| *own == column))
            .collect();
        let from = self.source(&mut w, number, wanted.into_iter());
        let places = w.scratch("places", Ty::I64, self.table[1..].to_vec());
        let (run, [lo, hi]) = self.run_of_block(&mut w);
        let zero = w.number(0);
        let values = w.number(self.digits[number].values() as i64);
        w.lanes(zero, values, |w, digit| {
            let start = w.push(Op::Load { memory: starts, index: vec![digit] }, Ty::I64);
            let before = w.push(Op::Load { memory: counts, index: vec![run, digit] }, Ty::I64);
            let place = w.value(start + before);
            w.store(places, vec![digit], place);
        });
        w.for_each(lo, hi, 1, (vec![], &[]), |w, i, _| {
            let element = self.element(w, &from, number, i);
            let digit = self.digit(w, number, &element);
            let place = self.next_place(w, places, digit);
            self.put(w, &to, place, &element);
            vec![]
        });
        let kernel = w.finish();
        l.launch(kernel);
    }

    /// The place of a digit, which moves on by one.
    fn next_place(&self, w: &mut KernelWriter<'_, 'g>, places: MemId, digit: Id) -> Id {
        let place = w.push(Op::Load { memory: places, index: vec![digit] }, Ty::I64);
        let next = w.offset(place, 1);
        w.store(places, vec![digit], next);
        place
    }

    /// Stores the columns of an element that are moved.
    fn put(&self, w: &mut KernelWriter<'_, 'g>, to: &[(usize, MemId)], place: Id, element: &[(usize, Id)]) {
        for &(column, memory) in to {
            let (_, value) = element.iter().find(|(own, _)| *own == column).expect("what is moved is read");
            w.store(memory, vec![place], *value);
        }
    }
}
