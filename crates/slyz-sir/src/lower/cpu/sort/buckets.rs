//! Sorts of lines that no cache holds: one pass puts elements into buckets by their most significant digit, and each bucket is sorted in
//! the cache of a core, by the digits that are left. Memory is written twice, whatever the key's width.
//!
//! ```text
//! launch order_sort_counts     as for any pass, of the most significant digit
//! launch order_sort_before     where buckets begin; is each of them small?
//! launch order_sort            if so: each run moves its elements to their buckets
//! launch order_sort_buckets    if so: a block for each bucket
//! loop (once, if one is not)
//!   all passes
//! ```

use super::{DIGIT_BITS, Passes};
use crate::code::{Id, MemId, Op, Place};
use crate::kernel::Access;
use crate::lower::planning::Lowering;
use crate::lower::sorting::{Digit, digits};
use crate::lower::writer::KernelWriter;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// The longest line that goes by passes alone: the second-level caches of a few cores hold it.
pub(super) const MOST_BY_PASSES: u64 = 1 << 21;
/// Buckets of so many times the usual length are small.
const SMALL: u64 = 4;

/// Where a bucket's elements are.
type Homes = Vec<(usize, MemId)>;

/// A pass by the most significant digit, then those of each bucket. Elements begin where passes would move them to, so that they end in
/// the results.
pub(super) struct Buckets<'a, 'g>(Passes<'a, 'g>);

impl<'a, 'g> Passes<'a, 'g> {
    /// Buckets, where a digit is left for them.
    pub(super) fn buckets(&self) -> Option<Buckets<'a, 'g>> {
        let (&width, others) = self.sort.widths.split_first()?;
        let bits = width.min(DIGIT_BITS);
        let rest = [&[width - bits], others].concat();
        let rest = digits(&rest, DIGIT_BITS);
        if rest.is_empty() {
            return None;
        }
        let top = Digit { word: 0, shift: width - bits, bits };
        let digits = [&[top][..], &rest].concat();
        let [now, next] = [self.next.clone(), self.now.clone()];
        Some(Buckets(Passes { digits, now, next, ..self.clone() }))
    }
}

impl<'g> Buckets<'_, 'g> {
    /// The most elements of a small bucket.
    fn most(&self) -> Size {
        let buckets = self.0.digits[0].values();
        Size::Const(SMALL) * Size::CeilDiv(self.0.sort.extent().clone().into(), buckets)
    }

    /// Sorts by buckets, or by passes where one of them holds too much.
    pub(super) fn or_passes(&self, l: &mut Lowering<'g>, passes: &Passes<'_, 'g>) {
        self.0.count(l, 0);
        let [small, large] = self.0.before(l, 0, [Ty::Bool, Ty::I64], |w, [_, most]| {
            let limit = w.extent(&self.most());
            let large = w.value(limit.below(most));
            let too_large = w.offset(limit, 1);
            let small = w.value(most.below(too_large));
            [small, large]
        });
        let outer = l.guard.replace(small);
        self.0.send(l, 0);
        self.sort_each(l);
        l.guard = outer;
        l.if_counted(large, vec![], |l| passes.all(l));
    }

    /// A block for each bucket.
    fn sort_each(&self, l: &mut Lowering<'g>) {
        let Buckets(passes) = self;
        let top = passes.digits[0];
        let name = l.kernel_name("sort_buckets");
        let mut w = KernelWriter::new(l, name, Size::Const(top.values()));
        let line = || vec![passes.sort.extent().clone()];
        let starts = w.global(passes.starts, Access::Read, passes.table[1..].to_vec());
        let tys = &passes.columns.tys;
        let here: Homes = passes.moved(0).map(|c| (c, w.global(passes.now[c], Access::ReadWrite, line()))).collect();
        let last = passes.digits.len() - 1;
        let there: Homes = passes.moved(last).map(|c| (c, w.global(passes.next[c], Access::Write, line()))).collect();
        let apart: Homes = match last {
            1 => vec![],
            _ => passes.moved(1).map(|c| (c, w.scratch("apart", tys[c], vec![self.most()]))).collect(),
        };
        let places = w.scratch("places", Ty::I64, passes.table[1..].to_vec());
        let bucket = w.push(Op::Place(Place::Block, 0), Ty::I64);
        let zero = w.number(0);
        let start = w.push(Op::Load { memory: starts, index: vec![bucket] }, Ty::I64);
        let end = self.end(&mut w, starts, bucket);
        let count = w.value(end - start);
        for number in 1..=last {
            let from = if number % 2 == 1 { (&here, start) } else { (&apart, zero) };
            let to = match number {
                _ if number == last => (&there, start),
                _ if number % 2 == 1 => (&apart, zero),
                _ => (&here, start),
            };
            self.pass(&mut w, number, count, places, [from, to]);
        }
        let kernel = w.finish();
        l.launch(kernel);
    }

    /// Where a bucket ends: where the next one begins.
    fn end(&self, w: &mut KernelWriter<'_, 'g>, starts: MemId, bucket: Id) -> Id {
        let next = w.offset(bucket, 1);
        let buckets = w.number(self.0.digits[0].values() as i64);
        let is_last = w.value(next.equals(buckets));
        let begin =
            |w: &mut KernelWriter<'_, 'g>| vec![w.push(Op::Load { memory: starts, index: vec![next] }, Ty::I64)];
        w.branch(is_last, &[Ty::I64], |w| vec![w.extent(self.0.sort.extent())], begin)[0]
    }

    /// Moves the elements of a bucket, in the order of a digit.
    fn pass(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        number: usize,
        count: Id,
        places: MemId,
        [(from, first), (to, goal)]: [(&Homes, Id); 2],
    ) {
        let Buckets(passes) = self;
        let zero = w.number(0);
        let values = w.number(passes.digits[number].values() as i64);
        let word = passes.columns.of_word(passes.digits[number].word);
        let moved: Vec<usize> = passes.moved(number).collect();
        let to: Homes = to.iter().copied().filter(|(column, _)| moved.contains(column)).collect();
        let wanted = |column: usize| column == word || moved.contains(&column);
        let whole: Homes = from.iter().copied().filter(|(column, _)| wanted(*column)).collect();
        let key: Homes = whole.iter().copied().filter(|(column, _)| *column == word).collect();
        w.lanes(zero, values, |w, digit| w.store(places, vec![digit], zero));
        w.for_each(zero, count, 1, (vec![], &[]), |w, i, _| {
            let i = w.value(first + i);
            let element = passes.element(w, &key, number, i);
            let digit = passes.digit(w, number, &element);
            passes.next_place(w, places, digit);
            vec![]
        });
        w.for_each(zero, values, 1, (vec![goal], &[Ty::I64]), |w, digit, before| {
            let own = w.push(Op::Load { memory: places, index: vec![digit] }, Ty::I64);
            w.store(places, vec![digit], before[0]);
            vec![w.value(before[0] + own)]
        });
        w.for_each(zero, count, 1, (vec![], &[]), |w, i, _| {
            let i = w.value(first + i);
            let element = passes.element(w, &whole, number, i);
            let digit = passes.digit(w, number, &element);
            let place = passes.next_place(w, places, digit);
            passes.put(w, &to, place, &element);
            vec![]
        });
    }
}
