//! The first few elements of a line in the order of their keys, where nobody asks for the others.
//!
//! A line is gone through in groups. Vectors find the smallest key of a group; where it is not before the last of those that were chosen so
//! far, nothing else is done with the group. Otherwise elements that are before it join the chosen ones, which are put in order, and the
//! first of them stay:
//!
//! ```text
//! for start in (lo..hi).step_by(256) {
//!     least = lanes start to end |i| { row[i - start] = the key of i; … } with min
//!     if least < limit {
//!         for i in start..end { if row[i - start] < limit { chosen[n] = i; n += 1 } }
//!         sort chosen[..n]; n = min(n, count); limit = the key of chosen[count - 1]
//!     }
//! }
//! ```
//!
//! So most elements are looked at once, and those of a line that gets better all the way cost about what a sort costs.

use super::KernelWriter;
use super::Mode;
use super::sorts::{Line, Place};
use crate::code::{Id, MemId, Monoid, Op, Var};
use crate::lower::planning::Lowering;
use crate::lower::sorting::{Columns, Sort};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// Where more elements than that are read, all are sorted.
const MOST_CHOSEN: u64 = 64;
/// Elements whose smallest key is looked at.
const GROUP: u64 = 256;
/// A limit that is above all words: nothing was left out yet.
const NO_LIMIT: i64 = 1 << 32;

/// Elements that were chosen: their keys' words and their places, in memories of the block, and how many they are.
pub(in crate::lower) struct Chosen {
    pub(in crate::lower) words: Vec<MemId>,
    pub(in crate::lower) places: MemId,
    pub(in crate::lower) count: Id,
}

impl Lowering<'_> {
    /// How many elements of the lines of a sort have to be in order, where these are few.
    pub(in crate::lower) fn first_few(&self, op: &Op, binds: &[Var]) -> Option<u64> {
        let has_key = !Sort::of(op).widths.is_empty();
        self.leading.of_sort(binds).filter(|count| has_key && (1..=MOST_CHOSEN).contains(count))
    }
}

/// What the words of an element are, at a place.
pub(in crate::lower) type WordsAt<'a, W> = &'a dyn Fn(&mut W, Id) -> Vec<Id>;

/// Groups that are gone through.
struct Groups<'a> {
    widths: &'a [u32],
    count: u64,
    /// The words of a group.
    row: Vec<MemId>,
    chosen: Vec<MemId>,
    places: MemId,
}

impl<'g> KernelWriter<'_, 'g> {
    /// Sorts the first elements of every line to its home.
    pub(super) fn fill_first(&mut self, op: &'g Op, count: u64, homes: &[Place]) {
        let sort = Sort::of(op);
        let outer = &sort.shape[..sort.shape.len() - 1];
        self.for_shape(outer, vec![], (vec![], &[]), &mut |w, at, _| {
            w.first_of_line(&sort, count, at, homes);
            vec![]
        });
    }

    /// Those of one line, at these positions of the axes around it.
    pub(in crate::lower) fn first_of_line(&mut self, sort: &Sort<'g>, count: u64, at: &[Id], homes: &[Place]) {
        let zero = self.number(0);
        let end = self.extent(sort.extent());
        let words = |w: &mut Self, i: Id| w.key(sort, at, i);
        let chosen = self.first_by(sort.widths, count, [zero, end], &words);
        self.give(sort, at, chosen.count, homes, |w, r| {
            w.push(Op::Load { memory: chosen.places, index: vec![r] }, Ty::I64)
        });
    }

    /// The words of an element.
    pub(in crate::lower) fn key(&mut self, sort: &Sort<'g>, at: &[Id], i: Id) -> Vec<Id> {
        let results = self.run(sort.body, &[at, &[i]].concat(), Mode::Lane);
        let words = results.into_iter().zip(sort.widths);
        words.map(|(word, &width)| self.low_bits(word, width)).collect()
    }

    /// Stores the values of so many elements, whose places are told. They may be read where they are stored, so all are read first.
    pub(in crate::lower) fn give(
        &mut self,
        sort: &Sort<'g>,
        at: &[Id],
        count: Id,
        homes: &[Place],
        place: impl Fn(&mut Self, Id) -> Id,
    ) {
        let zero = self.number(0);
        let values = &sort.body.results[sort.widths.len()..];
        let tys: Vec<Ty> = values.iter().map(|&id| self.lowering.type_of(id).elem()).collect();
        let most = || vec![Size::Const(MOST_CHOSEN)];
        let apart: Vec<Place> = tys.iter().map(|&ty| (self.scratch("values", ty, most()), vec![])).collect();
        self.lanes(zero, count, |w, r| {
            let place = place(w, r);
            let results = w.run(sort.body, &[at, &[place]].concat(), Mode::Lane);
            w.store_all(&apart, &[r], &results[sort.widths.len()..]);
        });
        let homes: Vec<Place> = homes.iter().map(|(memory, prefix)| (*memory, [&prefix[..], at].concat())).collect();
        self.lanes(zero, count, |w, r| {
            let load = |((memory, _), &ty): (&Place, &Ty)| w.push(Op::Load { memory: *memory, index: vec![r] }, ty);
            let values: Vec<Id> = apart.iter().zip(&tys).map(load).collect();
            w.store_all(&homes, &[r], &values);
        });
    }

    /// Those from one place to another whose words are told, which come first.
    pub(in crate::lower) fn first_by(
        &mut self,
        widths: &[u32],
        count: u64,
        [lo, hi]: [Id; 2],
        words: WordsAt<'_, Self>,
    ) -> Chosen {
        let mut columns = |name: &str, length: u64| -> Vec<MemId> {
            widths.iter().map(|_| self.scratch(name, Ty::U32, vec![Size::Const(length)])).collect()
        };
        let row = columns("row", GROUP);
        let chosen = columns("chosen", count + GROUP);
        let places = self.scratch("places", Ty::I64, vec![Size::Const(count + GROUP)]);
        let groups = Groups { widths, count, row, chosen, places };
        let count = groups.each(self, [lo, hi], words);
        Chosen { words: groups.chosen, places, count }
    }
}

impl<'g> Groups<'_> {
    /// How many were chosen in the end.
    fn each<'l>(
        &self,
        w: &mut KernelWriter<'l, 'g>,
        [lo, hi]: [Id; 2],
        words: WordsAt<'_, KernelWriter<'l, 'g>>,
    ) -> Id {
        let none = w.number(0);
        let limit = w.number(NO_LIMIT);
        let rest = w.constant(Scalar::from_int(Ty::U32, 0));
        let limits = std::iter::once(limit).chain(self.widths[1..].iter().map(|_| rest));
        let init: Vec<Id> = std::iter::once(none).chain(limits).collect();
        let mut tys = vec![Ty::I64, Ty::I64];
        tys.resize(init.len(), Ty::U32);
        let found = w.for_each(lo, hi, GROUP as i64, (init, &tys), |w, start, state| {
            let end = w.offset(start, GROUP as i64);
            let end = w.value(end.least(hi));
            let least = self.least(w, [start, end], words);
            let may_join = self.may_join(w, least, state[1]);
            w.branch(may_join, &tys, |w| self.join(w, [start, end], state), |_| state.to_vec())
        });
        found[0]
    }

    /// The smallest first word of a group, whose words are left in the row.
    fn least<'l>(
        &self,
        w: &mut KernelWriter<'l, 'g>,
        [start, end]: [Id; 2],
        words: WordsAt<'_, KernelWriter<'l, 'g>>,
    ) -> Id {
        let neutral = vec![w.constant(Scalar::from_int(Ty::U32, u32::MAX.into()))];
        let combine = w.nested(&[Ty::U32; 2], |w, ids| vec![w.apply(Operator::Min, ids, Ty::U32)]);
        let body = w.nested(&[Ty::I64], |w, ids| {
            let words = words(w, ids[0]);
            let place = w.value(ids[0] - start);
            for (&memory, &word) in self.row.iter().zip(&words) {
                w.store(memory, vec![place], word);
            }
            words[..1].to_vec()
        });
        let monoid = Some(Monoid { neutral, combine, commutative: true });
        w.push(Op::Lanes { lo: start, hi: end, body, monoid }, Ty::U32)
    }

    /// May an element with that first word be before the last of the chosen ones? Of equal ones the earlier is.
    fn may_join(&self, w: &mut KernelWriter<'_, 'g>, word: Id, limit: Id) -> Id {
        let word = w.push(Op::Cast(Ty::I64, word), Ty::I64);
        let operator = if self.widths.len() > 1 { Operator::Le } else { Operator::Lt };
        w.apply(operator, &[word, limit], Ty::Bool)
    }

    /// The state behind a group of which some elements may be chosen.
    fn join(&self, w: &mut KernelWriter<'_, 'g>, [start, end]: [Id; 2], state: &[Id]) -> Vec<Id> {
        let (&before, limits) = state.split_first().expect("a state begins with a count");
        let joined = w.for_each(start, end, 1, (vec![before], &[Ty::I64]), |w, i, count| {
            let place = w.value(i - start);
            let words: Vec<Id> =
                self.row.iter().map(|&memory| w.push(Op::Load { memory, index: vec![place] }, Ty::U32)).collect();
            let joins = self.is_before(w, &words, limits);
            w.when(joins, |w| {
                for (&memory, &word) in self.chosen.iter().zip(&words) {
                    w.store(memory, vec![count[0]], word);
                }
                w.store(self.places, vec![count[0]], i);
            });
            let one = w.push(Op::Cast(Ty::I64, joins), Ty::I64);
            vec![w.value(count[0] + one)]
        });
        self.line(joined[0]).sort(w);
        let most = w.number(self.count as i64);
        let kept = w.value(joined[0].least(most));
        let is_full = w.value(kept.equals(most));
        let last = w.number(self.count as i64 - 1);
        let tys: Vec<Ty> = limits.iter().enumerate().map(|(k, _)| if k == 0 { Ty::I64 } else { Ty::U32 }).collect();
        let new = |w: &mut KernelWriter<'_, 'g>| {
            let load = |&memory: &MemId| w.push(Op::Load { memory, index: vec![last] }, Ty::U32);
            let mut words: Vec<Id> = self.chosen.iter().map(load).collect();
            words[0] = w.push(Op::Cast(Ty::I64, words[0]), Ty::I64);
            words
        };
        let limits = w.branch(is_full, &tys, new, |_| limits.to_vec());
        [&[kept], &limits[..]].concat()
    }

    /// Is a key before the limit?
    fn is_before(&self, w: &mut KernelWriter<'_, 'g>, words: &[Id], limits: &[Id]) -> Id {
        let mut before = w.constant(Scalar::bool(false));
        for (k, (&word, &limit)) in words.iter().zip(limits).enumerate().rev() {
            let word = if k == 0 { w.push(Op::Cast(Ty::I64, word), Ty::I64) } else { word };
            let less = w.apply(Operator::Lt, &[word, limit], Ty::Bool);
            let same = w.apply(Operator::Eq, &[word, limit], Ty::Bool);
            let behind = w.apply(Operator::And, &[same, before], Ty::Bool);
            before = w.apply(Operator::Or, &[less, behind], Ty::Bool);
        }
        before
    }

    /// All that were chosen, as a line to be sorted: places stand in front of the words.
    fn line(&self, end: Id) -> Line<'_> {
        let columns = [self.places].into_iter().chain(self.chosen.iter().copied());
        Line {
            widths: self.widths,
            most: Size::Const(self.count + GROUP),
            columns: Columns::of_places(self.widths.len()),
            own: columns.map(|memory| (memory, vec![])).collect(),
            end,
        }
    }
}
