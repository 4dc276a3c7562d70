//! What the threads of a block bring before each other: by shuffles in a subgroup, else in shared memory.

use super::prefix::{Along, BANKS, Prefixer};
use crate::code::{Id, Op, Place, SubgroupOp};
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

impl<'g, A: Along<'g>> Prefixer<'_, A> {
    /// What comes before each run of the thread in the tile, and all of the tile.
    pub(super) fn across(&self, w: &mut KernelWriter<'_, 'g>, runs: Vec<Vec<Id>>) -> (Vec<Vec<Id>>, Vec<Id>) {
        let tys = &self.along.sums().own;
        let rows = runs.len();
        if rows == 1 {
            let (before, all) = self.across_threads(w, runs.concat());
            return (vec![before], all);
        }
        if self.tile.threads == 1 {
            let neutral = self.along.neutral(w);
            return self.in_order(w, neutral, runs);
        }
        // Rows lie one behind the other, and every thread takes as many neighbouring runs as there are rows.
        let threads = i64::from(self.tile.threads);
        let in_row: Vec<Id> = (0..rows as i64).map(|row| self.place(w, self.thread, row * threads)).collect();
        let first = w.scaled(self.thread, rows as u64);
        let behind: Vec<Id> = (0..rows as i64).map(|k| self.place(w, first, k)).collect();
        for (&place, run) in in_row.iter().zip(&runs) {
            w.store_each(&self.runs, place, run);
        }
        w.barrier();
        let mut own: Vec<Vec<Id>> = vec![];
        for &place in &behind {
            let next = w.load_all(&self.runs, place, tys);
            let next = match own.last() {
                Some(last) => self.along.combine(w, last, &next),
                None => next,
            };
            own.push(next);
        }
        let last = own.pop().unwrap_or_default();
        let (before, all) = self.across_threads(w, last);
        let mut values = vec![before.clone()];
        for prefix in &own {
            values.push(self.along.combine(w, &before, prefix));
        }
        for (&place, value) in behind.iter().zip(&values) {
            w.store_each(&self.runs, place, value);
        }
        w.barrier();
        (in_row.iter().map(|&place| w.load_all(&self.runs, place, tys)).collect(), all)
    }

    /// Where a run is in shared memory.
    fn place(&self, w: &mut KernelWriter<'_, 'g>, run: Id, by: i64) -> Id {
        let run = w.offset(run, by);
        let banks = w.number(BANKS as i64);
        let skipped = w.value(run / banks);
        w.value(run + skipped)
    }

    /// What comes before each, and all of it.
    fn in_order(&self, w: &mut KernelWriter<'_, 'g>, from: Vec<Id>, items: Vec<Vec<Id>>) -> (Vec<Vec<Id>>, Vec<Id>) {
        let mut before = vec![];
        let mut all = from;
        for item in items {
            let next = self.along.combine(w, &all, &item);
            before.push(std::mem::replace(&mut all, next));
        }
        (before, all)
    }

    /// What the threads before this one bring, and what all do.
    pub(super) fn across_threads(&self, w: &mut KernelWriter<'_, 'g>, own: Vec<Id>) -> (Vec<Id>, Vec<Id>) {
        match self.subgroup {
            _ if self.tile.threads == 1 => (self.along.neutral(w), own),
            Some(size) => self.across_subgroups(w, own, size),
            None => self.across_memory(w, own),
        }
    }

    /// Lanes take from ever further below; then every thread goes through the folds of the subgroups.
    fn across_subgroups(&self, w: &mut KernelWriter<'_, 'g>, own: Vec<Id>, size: u32) -> (Vec<Id>, Vec<Id>) {
        let tys = &self.along.sums().own;
        let threads = self.tile.threads;
        let lane = w.push(Op::Place(Place::Lane, 0), Ty::I64);
        let mut all = own;
        let mut distance = 1;
        while distance < size.min(threads) {
            let by = w.number(distance.into());
            let there = w.value(lane.not_below(by));
            let below = self.lanes_below(w, &all, by);
            let joined = self.along.combine(w, &below, &all);
            all = self.select(w, there, &joined, &all);
            distance *= 2;
        }
        let one = w.number(1);
        let neutral = self.along.neutral(w);
        let there = w.value(lane.not_below(one));
        let below = self.lanes_below(w, &all, one);
        let before = self.select(w, there, &below, &neutral);
        let width = w.number(size.into());
        let group = w.value(self.thread / width);
        let next = w.offset(self.thread, 1);
        let behind = w.value(next % width);
        let zero = w.number(0);
        let mut brings = w.value(behind.equals(zero));
        if !threads.is_multiple_of(size) {
            let end = w.number(threads.into());
            let last = w.value(next.equals(end));
            brings = w.push(Op::Apply(Operator::Or, vec![brings, last]), Ty::Bool);
        }
        w.when(brings, |w| w.store_each(&self.parts, group, &all));
        w.barrier();
        let groups = (0..threads.div_ceil(size)).map(|group| {
            let place = w.number(group.into());
            w.load_all(&self.parts, place, tys)
        });
        let groups = groups.collect();
        let (before_groups, all) = self.in_order(w, neutral, groups);
        let mut before_group = before_groups[0].clone();
        for (number, value) in before_groups.iter().enumerate().skip(1) {
            let number = w.number(number as i64);
            let here = w.value(group.not_below(number));
            before_group = self.select(w, here, value, &before_group);
        }
        (self.along.combine(w, &before_group, &before), all)
    }

    fn lanes_below(&self, w: &mut KernelWriter<'_, 'g>, values: &[Id], by: Id) -> Vec<Id> {
        let take = |(&value, &ty): (&Id, &Ty)| w.push(Op::Subgroup(SubgroupOp::ShuffleUp, vec![value, by]), ty);
        values.iter().zip(&self.along.sums().own).map(take).collect()
    }

    fn select(&self, w: &mut KernelWriter<'_, 'g>, cond: Id, yes: &[Id], no: &[Id]) -> Vec<Id> {
        let both = yes.iter().zip(no).zip(&self.along.sums().own);
        both.map(|((&yes, &no), &ty)| w.apply(Operator::Select, &[cond, yes, no], ty)).collect()
    }

    /// Threads take from ever further below, in turns between two halves of the memory.
    fn across_memory(&self, w: &mut KernelWriter<'_, 'g>, own: Vec<Id>) -> (Vec<Id>, Vec<Id>) {
        let tys = &self.along.sums().own;
        let threads = self.tile.threads;
        let half = |k: u32| i64::from((k % 2) * threads);
        w.store_each(&self.parts, self.thread, &own);
        let mut all = own;
        let mut turn = 0;
        while 1 << turn < threads {
            w.barrier();
            let by = w.number(1 << turn);
            let there = w.value(self.thread.not_below(by));
            let old = all.clone();
            all = w.branch(
                there,
                tys,
                |w| {
                    let place = w.offset(self.thread, half(turn) - (1 << turn));
                    let below = w.load_all(&self.parts, place, tys);
                    self.along.combine(w, &below, &all)
                },
                |_| old,
            );
            turn += 1;
            let place = w.offset(self.thread, half(turn));
            w.store_each(&self.parts, place, &all);
        }
        w.barrier();
        let zero = w.number(0);
        let first = w.value(self.thread.equals(zero));
        let neutral = self.along.neutral(w);
        let before = w.branch(
            first,
            tys,
            |_| neutral,
            |w| {
                let place = w.offset(self.thread, half(turn) - 1);
                w.load_all(&self.parts, place, tys)
            },
        );
        let last = w.number(half(turn) + i64::from(threads) - 1);
        let all = w.load_all(&self.parts, last, tys);
        (before, all)
    }
}
