//! Folds inside of bodies: by the lanes of a block, or by one lane in pieces.

use super::{FAN, KernelWriter, MOST_LEVELS, Mode, RUN, is_exact, levels, needs_block};
use crate::code::{Body, Id, Monoid};
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write};

impl<'g> KernelWriter<'_, 'g> {
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
        if mode == Mode::Block && !needs_block(body, body.params.last().map(|p| p.id)) {
            return self.block_fold([lo, hi], extent, monoid, tys, |w, k| {
                w.run(body, &[&outer[..], &[k]].concat(), Mode::Lane)
            });
        }
        let neutral = self.all_scalars(&monoid.neutral);
        let most = extent.constant().or(self.lowering.expected.about(extent));
        let levels = if is_exact(monoid, tys) { 0 } else { levels(most, MOST_LEVELS) };
        self.regroups(monoid, tys);
        let turn = |w: &mut Self, k: Id, state: &[Id]| {
            let item = w.run(body, &[&outer[..], &[k]].concat(), mode);
            w.accumulate(monoid, state, &item)
        };
        let run = self.number(RUN);
        self.fold_pieces([lo, hi], run, levels, monoid, tys, &mut |w, [lo, hi]| {
            w.for_each(lo, hi, 1, (neutral.clone(), tys), turn)
        })
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
        let Some(inner) = levels.checked_sub(1) else { return fold(self, [lo, hi]) };
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
        let short = |turns: i64| most.constant().is_some_and(|n| n <= turns as u64);
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
