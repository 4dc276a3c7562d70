//! Folds inside of bodies: by the lanes of a block, or by one lane in pieces.

use super::{FAN, KernelWriter, MOST_LEVELS, Mode, RUN, is_exact, levels};
use crate::code::{Body, Id, MemId, Monoid, Op, Stmt};
use crate::kernel::Space;
use crate::ops::Operator;
use crate::pass::fuse::cost;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write};
use std::collections::HashSet;

/// What the elements of a fold may cost together to be written out one by one.
const MOST_WRITTEN_OUT: u64 = 256;

/// Writes the element at a place.
type Item<'i, 'w, 'g> = dyn FnMut(&mut KernelWriter<'w, 'g>, Id) -> Vec<Id> + 'i;

/// Which rows a fold within a fold goes along.
#[derive(PartialEq)]
enum Row {
    /// The same in each turn of the outer fold.
    Same,
    /// One that the turn tells.
    Own,
    /// Something else.
    Other,
}

/// What the folds in the body of a fold read along an axis of their own, and how long that is.
fn rows_in(body: &Body) -> Vec<(&Size, &Stmt, Row)> {
    let turning: HashSet<Id> = body.names().collect();
    let mut found = vec![];
    for stmt in &body.stmts {
        let Op::Fold { shape, body: inner, .. } = &stmt.op else { continue };
        let ([size], [own]) = (&shape[..], &inner.params[..]) else { continue };
        let within: HashSet<Id> = inner.names().collect();
        for read in &inner.stmts {
            let Op::At { array, index } = &read.op else { continue };
            let (last, before) = index.split_last().expect("an array has an axis");
            let is_inner = *last != own.id || before.iter().chain([array]).any(|id| within.contains(id));
            let row = match before.iter().filter(|id| turning.contains(id)).count() {
                _ if is_inner || turning.contains(array) => Row::Other,
                0 => Row::Same,
                count if count == before.len() => Row::Own,
                _ => Row::Other,
            };
            found.push((size, read, row));
        }
    }
    found
}

/// Are there folds in the body of a fold, of which each goes along rows that stay or that turns tell? Then lanes may take a turn of the outer
/// fold after the other, however many there are.
pub(in crate::lower) fn goes_along_rows(body: &Body) -> bool {
    let rows = rows_in(body);
    let [own] = &body.params[..] else { return false };
    let reads_along =
        |stmt: &Stmt| matches!(&stmt.op, Op::At { index, .. } if index.len() > 1 && index.last() == Some(&own.id));
    !rows.is_empty() && rows.iter().all(|(_, _, row)| *row != Row::Other) && !body.stmts.iter().any(reads_along)
}

impl<'w, 'g> KernelWriter<'w, 'g> {
    pub(super) fn fold(
        &mut self,
        shape: &'g [Size],
        body: &'g Body,
        monoid: &'g Monoid,
        tys: &[Ty],
        mode: Mode,
    ) -> Vec<Id> {
        let (last, outer) = shape.split_last().expect("a fold has an axis");
        if outer.is_empty() {
            return self.fold_axis(last, body, monoid, tys, vec![], mode);
        }
        self.regroups(monoid, tys);
        let neutral = self.all_scalars(&monoid.neutral);
        self.for_shape(outer, vec![], (neutral, tys), &mut |w, at, state| {
            let row = w.fold_axis(last, body, monoid, tys, at.to_vec(), mode);
            w.combine(monoid, &state, &row)
        })
    }

    fn fold_axis(
        &mut self,
        extent: &Size,
        body: &'g Body,
        monoid: &'g Monoid,
        tys: &[Ty],
        outer: Vec<Id>,
        mode: Mode,
    ) -> Vec<Id> {
        let lo = self.number(0);
        let hi = self.extent(extent);
        if mode == Mode::Block && !self.needs_block(body) {
            return self.block_fold([lo, hi], extent, monoid, tys, |w, k| {
                w.run(body, &[&outer[..], &[k]].concat(), Mode::Lane)
            });
        }
        let is_short = self.lowering.is_short(std::slice::from_ref(extent)) && !is_exact(monoid, tys);
        let mut item = |w: &mut Self, k: Id| w.run(body, &[&outer[..], &[k]].concat(), mode);
        if is_short && let Some(n) = extent.constant().filter(|n| n * cost(body) <= MOST_WRITTEN_OUT) {
            return self.short_fold(n, monoid, &mut item);
        }
        let rows = if mode == Mode::Lane { self.read_rows(body) } else { vec![] };
        let found = if is_short {
            self.short_fold_in_memory([lo, hi], monoid, tys, &mut item)
        } else {
            self.long_fold([lo, hi], extent, monoid, tys, &mut item)
        };
        self.rows.retain(|row, _| !rows.contains(row));
        found
    }

    /// A fold by one lane that keeps no element.
    fn long_fold(
        &mut self,
        range: [Id; 2],
        extent: &Size,
        monoid: &'g Monoid,
        tys: &[Ty],
        item: &mut Item<'_, 'w, 'g>,
    ) -> Vec<Id> {
        let neutral = self.all_scalars(&monoid.neutral);
        let most = extent.constant().or(self.lowering.expected.about(extent));
        let levels = if is_exact(monoid, tys) { 0 } else { levels(most, MOST_LEVELS) };
        self.regroups(monoid, tys);
        let run = self.number(RUN);
        self.fold_pieces(range, run, levels, monoid, tys, &mut |w, [lo, hi]| {
            w.for_each(lo, hi, 1, (neutral.clone(), tys), |w, k, state| {
                let element = item(w, k);
                w.accumulate(monoid, state, &element)
            })
        })
    }

    /// Reads the rows that short folds of the body go along, unless each of its turns reads another: so a lane has them near. Gives the
    /// names of what is read there.
    fn read_rows(&mut self, body: &'g Body) -> Vec<Id> {
        let mut found = vec![];
        for (size, stmt, row) in rows_in(body) {
            let (true, Op::At { array, index }) = (self.lowering.is_short(std::slice::from_ref(size)), &stmt.op) else {
                continue;
            };
            let Some((_, before)) = index.split_last().filter(|(_, before)| row == Row::Same && !before.is_empty())
            else {
                continue;
            };
            let ty = stmt.binds[0].ty.elem();
            let most = self.lowering.short;
            let row = self.near_memory("row", ty, Space::Local, &[most]);
            let before = self.all_scalars(before);
            let zero = self.number(0);
            let end = self.extent(size);
            self.for_each(zero, end, 1, (vec![], &[]), |w, k, _| {
                let element = w.read(*array, [&before[..], &[k]].concat(), ty);
                w.store(row, vec![k], element);
                vec![]
            });
            self.rows.insert(stmt.binds[0].id, row);
            found.push(stmt.binds[0].id);
        }
        found
    }

    /// A fold of few elements by one lane, in the canonical order: each is an accumulator.
    fn short_fold(&mut self, n: u64, monoid: &'g Monoid, item: &mut Item<'_, 'w, 'g>) -> Vec<Id> {
        let mut parts: Vec<Vec<Id>> = vec![];
        for k in 0..n {
            let k = self.number(k as i64);
            parts.push(item(self, k));
        }
        let neutral = self.all_scalars(&monoid.neutral);
        if parts.is_empty() {
            return neutral;
        }
        let whole = if monoid.commutative { self.by_halves(monoid, parts) } else { self.tree(monoid, parts) };
        self.combine(monoid, &neutral, &whole)
    }

    /// Each of the first half is joined with one of the second, and so on.
    fn by_halves(&mut self, monoid: &'g Monoid, mut parts: Vec<Vec<Id>>) -> Vec<Id> {
        while parts.len() > 1 {
            let half = parts.len().next_power_of_two() / 2;
            let second = parts.split_off(half);
            for (left, right) in parts.iter_mut().zip(second) {
                *left = self.combine(monoid, left, &right);
            }
        }
        parts.remove(0)
    }

    /// The same where the number of elements is known at the call, with the accumulators in memory of the lane.
    fn short_fold_in_memory(
        &mut self,
        [lo, hi]: [Id; 2],
        monoid: &'g Monoid,
        tys: &[Ty],
        item: &mut Item<'_, 'w, 'g>,
    ) -> Vec<Id> {
        let most = self.lowering.short;
        let parts: Vec<MemId> = tys.iter().map(|&ty| self.near_memory("part", ty, Space::Local, &[most])).collect();
        let neutral = self.all_scalars(&monoid.neutral);
        let zero = self.number(0);
        self.store_each(&parts, zero, &neutral);
        self.for_each(lo, hi, 1, (vec![], &[]), |w, k, _| {
            let values = item(w, k);
            w.store_each(&parts, k, &values);
            vec![]
        });
        if monoid.commutative {
            self.halve(hi, monoid, tys, &parts);
        } else {
            self.pair(hi, monoid, tys, &parts);
        }
        let whole = self.load_all(&parts, zero, tys);
        let value = self.combine(monoid, &neutral, &whole);
        let some = self.value(zero.below(hi));
        let choose =
            |((&value, &neutral), &ty): ((&Id, &Id), &Ty)| self.apply(Operator::Select, &[some, value, neutral], ty);
        value.iter().zip(&neutral).zip(tys).map(choose).collect()
    }

    /// Joins the first `n` of the parts by halves.
    fn halve(&mut self, n: Id, monoid: &'g Monoid, tys: &[Ty], parts: &[MemId]) {
        let zero = self.number(0);
        let mut half = (self.lowering.short.next_power_of_two() / 2) as i64;
        while half > 0 {
            let left = self.number(2 * half);
            let present = self.value(n.least(left));
            let joined = self.offset(present, -half);
            self.for_each(zero, joined, 1, (vec![], &[]), |w, j, _| {
                let other = w.offset(j, half);
                let left = w.load_all(parts, j, tys);
                let right = w.load_all(parts, other, tys);
                let both = w.combine(monoid, &left, &right);
                w.store_each(parts, j, &both);
                vec![]
            });
            half /= 2;
        }
    }

    /// Joins the first `n` of the parts by neighbours.
    fn pair(&mut self, n: Id, monoid: &'g Monoid, tys: &[Ty], parts: &[MemId]) {
        let zero = self.number(0);
        let mut count = n;
        for _ in 0..self.lowering.short.next_power_of_two().trailing_zeros() {
            let pairs = self.value(count / 2);
            self.for_each(zero, pairs, 1, (vec![], &[]), |w, j, _| {
                let first = w.value(j * 2);
                let second = w.offset(first, 1);
                let left = w.load_all(parts, first, tys);
                let right = w.load_all(parts, second, tys);
                let both = w.combine(monoid, &left, &right);
                w.store_each(parts, j, &both);
                vec![]
            });
            let next = self.offset(count, 1);
            let next = self.value(next / 2);
            // One without a neighbour goes up as it is.
            self.for_each(pairs, next, 1, (vec![], &[]), |w, j, _| {
                let last = w.offset(count, -1);
                let alone = w.load_all(parts, last, tys);
                w.store_each(parts, j, &alone);
                vec![]
            });
            count = next;
        }
    }

    /// Are long chains of a sum left as they are?
    pub(in crate::lower) fn makes_plain_sums(&self) -> bool {
        self.lowering.plain_sums
    }

    /// Notes that a fold is not made in the canonical order.
    pub(in crate::lower) fn regroups(&self, monoid: &Monoid, tys: &[Ty]) {
        if !is_exact(monoid, tys) {
            self.lowering.regroups.set(true);
        }
    }

    /// A fold by one lane or thread, in pieces of a given length which `fold` knows how to fold: [`FAN`] of them are joined one
    /// after the other, then as many of those, and so on, so many levels of them. The error of a sum grows with the number of
    /// levels, not with that of the turns.
    pub(in crate::lower) fn fold_pieces(
        &mut self,
        [lo, hi]: [Id; 2],
        length: Id,
        levels: u32,
        monoid: &'g Monoid,
        tys: &[Ty],
        fold: &mut dyn FnMut(&mut Self, [Id; 2]) -> Vec<Id>,
    ) -> Vec<Id> {
        let Some(inner) = levels.checked_sub(1).filter(|_| !self.makes_plain_sums()) else {
            return fold(self, [lo, hi]);
        };
        let neutral = self.all_scalars(&monoid.neutral);
        let step = if inner == 0 { length } else { self.scaled(length, FAN.pow(inner) as u64) };
        self.for_steps([lo, hi, step], (neutral, tys), |w, start, state| {
            let end = w.value(start + step);
            let end = w.value(end.least(hi));
            let part = w.fold_pieces([start, end], length, inner, monoid, tys, fold);
            w.combine(monoid, state, &part)
        })
    }

    /// A fold by the lanes of the block. Long sums of floats are cut in pieces, whose sums are summed: the error grows
    /// with the piece, not the whole. `most` is the most turns there can be.
    pub(in crate::lower) fn block_fold(
        &mut self,
        [lo, hi]: [Id; 2],
        most: &Size,
        monoid: &'g Monoid,
        tys: &[Ty],
        write: impl FnOnce(&mut Self, Id) -> Vec<Id>,
    ) -> Vec<Id> {
        let about = most.constant().or_else(|| self.lowering.expected.about(most));
        let short = |turns: i64| about.is_some_and(|n| n <= turns as u64);
        let Some(piece) = self.most_turns.filter(|&turns| !is_exact(monoid, tys) && !short(turns)) else {
            return self.lanes_fold(lo, hi, monoid, tys, write);
        };
        let neutral = self.all_scalars(&monoid.neutral);
        self.for_each(lo, hi, piece, (neutral, tys), |w, start, state| {
            let piece = w.number(piece);
            let end = w.value(start + piece);
            let end = w.value(end.least(hi));
            let part = w.lanes_fold(start, end, monoid, tys, write);
            w.combine(monoid, state, &part)
        })
    }
}
