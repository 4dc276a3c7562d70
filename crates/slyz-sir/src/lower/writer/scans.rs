//! Scans by a block: along a line with the fold of all elements up to each.

use super::{KernelWriter, Mode};
use crate::code::{Body, Id, MemId, Monoid, Op, PREFIX_ROW};
use crate::lower::access::far_reads;
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;

impl<'g> KernelWriter<'_, 'g> {
    /// Goes along `lo..hi` with the fold of all items up to each, behind what is before the first; gives what is behind the last.
    pub(in crate::lower) fn prefixes(
        &mut self,
        [lo, hi]: [Id; 2],
        from: Vec<Id>,
        (monoid, tys): (&'g Monoid, &[Ty]),
        item: impl FnOnce(&mut Self, Id) -> Vec<Id>,
        put: impl FnOnce(&mut Self, Id, &[Id]),
    ) -> Vec<Id> {
        let monoid = self.monoid(monoid, tys);
        let body = self.nested(&[Ty::I64], |w, ids| item(w, ids[0]));
        let put = self.nested(&[&[Ty::I64], tys].concat(), |w, ids| {
            put(w, ids[0], &ids[1..]);
            vec![]
        });
        self.bind(Op::Prefixes { lo, hi, from, body, monoid, put }, tys)
    }

    /// A line of a scan, at these positions of the axes around it, by the block.
    pub(in crate::lower) fn scan_line(
        &mut self,
        (shape, body, monoid): (&'g [Size], &'g Body, &'g Monoid),
        at: &[Id],
        homes: &[(MemId, Vec<Id>)],
    ) {
        let tys = self.types_of(&monoid.combine);
        let lo = self.number(0);
        let last = &shape[shape.len() - 1];
        let hi = self.extent(last);
        let neutral = self.all_scalars(&monoid.neutral);
        let is_long = last.constant().is_none_or(|n| n > PREFIX_ROW as u64);
        let along = body.params.last().is_some_and(|k| far_reads(body, k.id) == 0);
        if self.lowering.has_prefixes && is_long && along && !self.needs_block(body) {
            self.regroups(monoid, &tys);
            let item = |w: &mut Self, i: Id| w.run(body, &[at, &[i]].concat(), Mode::Lane);
            let put = |w: &mut Self, i: Id, all: &[Id]| w.store_all(homes, &[at, &[i]].concat(), all);
            self.prefixes([lo, hi], neutral, (monoid, &tys), item, put);
            return;
        }
        self.for_each(lo, hi, 1, (neutral, &tys), |w, i, state| {
            let at = [at, &[i]].concat();
            let item = w.run(body, &at, Mode::Lane);
            let next = w.combine(monoid, state, &item);
            w.store_all(homes, &at, &next);
            next
        });
    }
}
