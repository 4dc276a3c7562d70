//! Sorts by a block: elements are put into place one after the other, by insertion where a line is short and by digits where it is not.

use super::KernelWriter;
use super::Mode;
use crate::code::{Id, MemId, Op};
use crate::lower::sorting::{Columns, Sort};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// The longest line that is sorted by insertion.
const SHORT_LINE: u64 = 48;
/// The most bits of a digit: as many counters stay in the first-level cache, and are soon cleared.
const DIGIT_BITS: u32 = 8;

/// Where a column of a line is.
pub(super) type Place = (MemId, Vec<Id>);

/// A line that is being sorted.
pub(super) struct Line<'a> {
    pub(super) widths: &'a [u32],
    /// The most elements that there may be.
    pub(super) most: Size,
    pub(super) columns: Columns,
    /// Where elements are before and after.
    pub(super) own: Vec<Place>,
    pub(super) end: Id,
}

impl<'g> KernelWriter<'_, 'g> {
    /// Sorts every line to its home.
    pub(super) fn fill_sort(&mut self, op: &'g Op, homes: &[Place]) {
        let sort = Sort::of(op);
        let outer = &sort.shape[..sort.shape.len() - 1];
        self.for_shape(outer, vec![], (vec![], &[]), &mut |w, at, _| {
            w.sort_line(&sort, at, homes);
            vec![]
        });
    }

    /// One line, at these positions of the axes around it.
    pub(in crate::lower) fn sort_line(&mut self, sort: &Sort<'g>, at: &[Id], homes: &[Place]) {
        let columns = Columns::of(sort, |id| self.lowering.type_of(id));
        let mut own: Vec<Place> = homes.iter().map(|(memory, prefix)| (*memory, [prefix, at].concat())).collect();
        let words = &columns.tys[columns.values()..];
        own.extend(words.iter().map(|&ty| (self.scratch("words", ty, vec![sort.extent().clone()]), vec![])));
        let end = self.extent(sort.extent());
        let line = Line { widths: sort.widths, most: sort.extent().clone(), columns, own, end };
        let zero = self.number(0);
        self.lanes(zero, end, |w, i| {
            let results = w.run(sort.body, &[at, &[i]].concat(), Mode::Lane);
            line.put(w, &line.own, i, &line.columns.pick(&results));
        });
        match sort.extent().constant() {
            Some(known) if known <= SHORT_LINE => line.by_insertion(self),
            Some(_) => line.by_digits(self),
            None => line.sort(self),
        }
    }

    /// The value at a place of a sorted line that is not kept anywhere: that of the element with so many before it.
    pub(super) fn read_sorted(&mut self, op: &'g Op, result: usize, index: &[Id], ty: Ty) -> Id {
        let sort = Sort::of(op);
        let (&place, outer) = index.split_last().expect("an array has an axis");
        let zero = self.number(0);
        let end = self.extent(sort.extent());
        let start = self.constant(Scalar::from_bits(ty, 0));
        let found = self.for_each(zero, end, 1, (vec![start], &[ty]), |w, i, found| {
            let (values, before) = w.ranked(&sort, outer, i);
            let here = w.value(before.equals(place));
            vec![w.apply(Operator::Select, &[here, values[result], found[0]], ty)]
        });
        found[0]
    }

    /// The values of an element, and how many others of its line come before it.
    pub(in crate::lower) fn ranked(&mut self, sort: &Sort<'g>, outer: &[Id], i: Id) -> (Vec<Id>, Id) {
        let zero = self.number(0);
        let end = self.extent(sort.extent());
        let own = self.run(sort.body, &[outer, &[i]].concat(), Mode::Lane);
        let before = self.for_each(zero, end, 1, (vec![zero], &[Ty::I64]), |w, j, count| {
            let other = w.run(sort.body, &[outer, &[j]].concat(), Mode::Lane);
            let earlier = w.value(j.below(i));
            let is_before = w.is_before(sort.widths, &other, &own, earlier);
            let one = w.push(Op::Cast(Ty::I64, is_before), Ty::I64);
            vec![w.value(count[0] + one)]
        });
        (own[sort.widths.len()..].to_vec(), before[0])
    }

    /// Is one key smaller than another? Where they are equal, as `equal` says.
    fn is_before(&mut self, widths: &[u32], a: &[Id], b: &[Id], equal: Id) -> Id {
        let mut before = equal;
        for (k, &width) in widths.iter().enumerate().rev() {
            let a = self.low_bits(a[k], width);
            let b = self.low_bits(b[k], width);
            let less = self.push(Op::Apply(Operator::Lt, vec![a, b]), Ty::Bool);
            let same = self.push(Op::Apply(Operator::Eq, vec![a, b]), Ty::Bool);
            let behind = self.apply(Operator::And, &[same, before], Ty::Bool);
            before = self.apply(Operator::Or, &[less, behind], Ty::Bool);
        }
        before
    }
}

impl<'g> Line<'_> {
    /// By insertion or by digits, as its length says.
    pub(super) fn sort(&self, w: &mut KernelWriter<'_, 'g>) {
        let is_short = w.value(self.end.below(SHORT_LINE as i64 + 1));
        w.either(is_short, &mut |w, short| if short { self.by_insertion(w) } else { self.by_digits(w) });
    }

    fn get(&self, w: &mut KernelWriter<'_, 'g>, from: &[Place], i: Id) -> Vec<Id> {
        let load = |((memory, prefix), &ty): (&Place, &Ty)| {
            w.push(Op::Load { memory: *memory, index: [&prefix[..], &[i]].concat() }, ty)
        };
        from.iter().zip(&self.columns.tys).map(load).collect()
    }

    fn put(&self, w: &mut KernelWriter<'_, 'g>, to: &[Place], i: Id, values: &[Id]) {
        w.store_all(to, &[i], values);
    }

    /// The words of an element that was loaded.
    fn words(&self, element: &[Id]) -> Vec<Id> {
        (0..self.widths.len()).map(|word| element[self.columns.of_word(word)]).collect()
    }

    /// Each element goes before all larger ones that came earlier.
    fn by_insertion(&self, w: &mut KernelWriter<'_, 'g>) {
        let one = w.number(1);
        let zero = w.number(0);
        w.for_each(one, self.end, 1, (vec![], &[]), |w, i, _| {
            let element = self.get(w, &self.own, i);
            let words = self.words(&element);
            let cond = w.nested(&[Ty::I64], |w, ids| {
                let some = w.value(zero.below(ids[0]));
                let larger = |w: &mut KernelWriter<'_, 'g>| {
                    let left = w.value(ids[0] - one);
                    let other = self.get(w, &self.own, left);
                    let equal = w.constant(Scalar::bool(false));
                    vec![w.is_before(self.widths, &words, &self.words(&other), equal)]
                };
                w.branch(some, &[Ty::Bool], larger, |w| vec![w.constant(Scalar::bool(false))])
            });
            let body = w.nested(&[Ty::I64], |w, ids| {
                let left = w.value(ids[0] - one);
                let other = self.get(w, &self.own, left);
                self.put(w, &self.own, ids[0], &other);
                vec![left]
            });
            let place = w.push(Op::While { init: vec![i], cond, body }, Ty::I64);
            self.put(w, &self.own, place, &element);
            vec![]
        });
    }

    /// Pairs of passes, there and back, so that elements end where they started.
    fn by_digits(&self, w: &mut KernelWriter<'_, 'g>) {
        let extent = || vec![self.most.clone()];
        let apart: Vec<Place> = self.columns.tys.iter().map(|&ty| (w.scratch("apart", ty, extent()), vec![])).collect();
        let counts = w.scratch("counts", Ty::I64, vec![Size::Const(1 << DIGIT_BITS)]);
        let zero = w.number(0);
        for (word, &width) in self.widths.iter().enumerate().rev() {
            let pairs = width.div_ceil(2 * DIGIT_BITS);
            let bits = width.div_ceil(2 * pairs);
            let end = w.number(pairs.into());
            w.for_each(zero, end, 1, (vec![], &[]), |w, pair, _| {
                let pair = w.push(Op::Cast(Ty::U32, pair), Ty::U32);
                let both = w.constant(Scalar::from_int(Ty::U32, 2 * i128::from(bits)));
                let low = w.apply(Operator::Mul, &[pair, both], Ty::U32);
                let one = w.constant(Scalar::from_int(Ty::U32, bits.into()));
                let high = w.apply(Operator::Add, &[low, one], Ty::U32);
                self.pass(w, (word, low, bits), counts, [&self.own, &apart]);
                self.pass(w, (word, high, bits), counts, [&apart, &self.own]);
                vec![]
            });
        }
    }

    /// Moves all elements, in the order of a digit.
    fn pass(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        (number, shift, bits): (usize, Id, u32),
        counts: MemId,
        [from, to]: [&[Place]; 2],
    ) {
        let zero = w.number(0);
        let values = w.number(1 << bits);
        let (memory, prefix) = &from[self.columns.of_word(number)];
        let digit = |w: &mut KernelWriter<'_, 'g>, i: Id| {
            let word = w.push(Op::Load { memory: *memory, index: [&prefix[..], &[i]].concat() }, Ty::U32);
            let word = w.low_bits(word, self.widths[number]);
            w.digit(word, shift, bits)
        };
        let next = |w: &mut KernelWriter<'_, 'g>, digit: Id| {
            let count = w.push(Op::Load { memory: counts, index: vec![digit] }, Ty::I64);
            let more = w.offset(count, 1);
            w.store(counts, vec![digit], more);
            count
        };
        w.lanes(zero, values, |w, digit| w.store(counts, vec![digit], zero));
        w.for_each(zero, self.end, 1, (vec![], &[]), |w, i, _| {
            let digit = digit(w, i);
            next(w, digit);
            vec![]
        });
        w.for_each(zero, values, 1, (vec![zero], &[Ty::I64]), |w, digit, before| {
            let own = w.push(Op::Load { memory: counts, index: vec![digit] }, Ty::I64);
            w.store(counts, vec![digit], before[0]);
            vec![w.value(before[0] + own)]
        });
        w.for_each(zero, self.end, 1, (vec![], &[]), |w, i, _| {
            let digit = digit(w, i);
            let place = next(w, digit);
            let element = self.get(w, from, i);
            self.put(w, to, place, &element);
            vec![]
        });
    }
}
