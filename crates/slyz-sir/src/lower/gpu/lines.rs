//! Prefixes along lines: scans, and filters, which are scans of how many were kept.
//!
//! A line is cut into chunks, a block each: the first launch folds every chunk, the second turns the results into what comes
//! before each chunk, the third goes through the chunks again and writes. A line that is known to be no longer than a chunk
//! needs the third launch only. Inside a block each thread does the same with a run of neighbouring elements.

use super::plan::{Gpu, Items};
use super::threads::ceil_div;
use crate::code::{Body, Id, MemId, Monoid, Op, Stmt};
use crate::kernel::{Access, BufferId, BufferUse, Step};
use crate::lower::planning::{piece, unflatten};
use crate::lower::writer::{KernelWriter, Mode};
use crate::size::{Size, SizeVar};
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// What runs along lines.
pub(super) struct Lines<'a, 'g> {
    pub(super) op: &'g Op,
    /// The axes around the line, and the line itself.
    pub(super) outer: &'a [Size],
    pub(super) last: &'a Size,
    pub(super) body: &'g Body,
    pub(super) kind: Kind<'g>,
}

/// What is done with the prefixes.
#[derive(Clone, Copy)]
pub(super) enum Kind<'g> {
    /// They are the result.
    Scan(&'g Monoid),
    /// They are counts: where the element goes if it is kept.
    Filter,
}

/// What a position of a line brings along.
struct Item {
    /// What joins the prefix.
    joins: Vec<Id>,
    /// All that the body gives.
    results: Vec<Id>,
}

/// Writes one position of a line: the position, the prefixes before and after it, and the item.
type Write<'a, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>, Id, [&[Id]; 2], &Item) + 'a;

impl<'g> Lines<'_, 'g> {
    fn tys(&self, w: &KernelWriter<'_, 'g>) -> Vec<Ty> {
        match self.kind {
            Kind::Scan(monoid) => w.types_of(&monoid.combine),
            Kind::Filter => vec![Ty::I64],
        }
    }

    fn neutral(&self, w: &mut KernelWriter<'_, 'g>) -> Vec<Id> {
        match self.kind {
            Kind::Scan(monoid) => w.all_scalars(&monoid.neutral),
            Kind::Filter => vec![w.number(0)],
        }
    }

    fn combine(&self, w: &mut KernelWriter<'_, 'g>, left: &[Id], right: &[Id]) -> Vec<Id> {
        match self.kind {
            Kind::Scan(monoid) => w.combine(monoid, left, right),
            Kind::Filter => vec![w.value(left[0] + right[0])],
        }
    }

    /// The fold of what the positions of a range bring.
    fn fold(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        [lo, hi]: [Id; 2],
        most: &Size,
        item: &dyn Fn(&mut KernelWriter<'_, 'g>, Id) -> Item,
    ) -> Vec<Id> {
        match self.kind {
            Kind::Scan(monoid) => {
                let tys = self.tys(w);
                w.block_fold([lo, hi], most, monoid, &tys, |w, k| item(w, k).joins)
            }
            Kind::Filter => vec![w.lanes_sum(lo, hi, |w, k| item(w, k).joins[0])],
        }
    }

    fn item(&self, w: &mut KernelWriter<'_, 'g>, at: &[Id], k: Id) -> Item {
        let results = w.run(self.body, &[at, &[k]].concat(), Mode::Lane);
        let joins = match self.kind {
            Kind::Scan(_) => results.clone(),
            Kind::Filter => vec![w.push(Op::Cast(Ty::I64, results[0]), Ty::I64)],
        };
        Item { joins, results }
    }

    /// Goes through `lo..hi` with the whole block.
    fn prefixes(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        [lo, hi]: [Id; 2],
        carry: Vec<Id>,
        item: &dyn Fn(&mut KernelWriter<'_, 'g>, Id) -> Item,
        write: &Write<'_, 'g>,
    ) {
        let tys = self.tys(w);
        let through = |w: &mut KernelWriter<'_, 'g>, [start, end]: [Id; 2], carry: Vec<Id>| {
            w.for_each(start, end, 1, (carry, &tys), |w, k, before| {
                let item = item(w, k);
                let after = self.combine(w, before, &item.joins);
                write(w, k, [before, &after], &item);
                after
            });
        };
        let threads = w.kernel.block[0];
        if threads == 1 {
            return through(w, [lo, hi], carry);
        }
        // A run of neighbouring positions for each thread: first its fold, then, knowing what comes before, the run again.
        let zero = w.number(0);
        let count = w.number(threads.into());
        let length = w.value(hi - lo);
        let most = w.number(i64::from(threads) - 1);
        let up = w.value(length + most);
        let run = w.value(up / count);
        let sums: Vec<MemId> = tys.iter().map(|&ty| w.scratch("row", ty, vec![Size::Const(threads.into())])).collect();
        let run_of = |w: &mut KernelWriter<'_, 'g>, thread: Id| {
            let skipped = w.value(thread * run);
            let start = w.value(lo + skipped);
            let end = w.value(start + run);
            [start, w.value(end.least(hi))]
        };
        let neutral = self.neutral(w);
        w.lanes(zero, count, |w, thread| {
            let [start, end] = run_of(w, thread);
            let sum = w.for_each(start, end, 1, (neutral, &tys), |w, k, state| {
                let item = item(w, k);
                self.combine(w, state, &item.joins)
            });
            w.store_each(&sums, thread, &sum);
        });
        w.for_each(zero, count, 1, (carry, &tys), |w, thread, before| {
            let own = w.load_all(&sums, thread, &tys);
            w.store_each(&sums, thread, before);
            self.combine(w, before, &own)
        });
        w.lanes(zero, count, |w, thread| {
            let range = run_of(w, thread);
            let before = w.load_all(&sums, thread, &tys);
            through(w, range, before);
        });
    }
}

impl<'g> Gpu<'g> {
    pub(super) fn scan(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body, monoid: &'g Monoid) {
        let outputs: Vec<BufferId> = self.base.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        let (last, outer) = shape.split_last().expect("a scan has an axis");
        let lines = Lines { op: &stmt.op, outer, last, body, kind: Kind::Scan(monoid) };
        let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
        let carries = self.carries(&lines, "scan", &tys, None);
        let name = self.base.kernel_name("scan");
        self.lines(&name, &lines, carries.as_deref(), &|w| {
            outputs.iter().map(|&b| w.global(b, Access::Write, shape.to_vec())).collect()
        });
    }

    pub(super) fn filter(&mut self, stmt: &'g Stmt, extent: &'g Size, body: &'g Body, kept: SizeVar) {
        let outputs: Vec<BufferId> =
            stmt.binds.iter().map(|b| self.base.buffer_for(b.id, vec![extent.clone()])).collect();
        let count = self.base.buffer(Ty::I64, vec![], BufferUse::Temporary);
        let lines = Lines { op: &stmt.op, outer: &[], last: extent, body, kind: Kind::Filter };
        let carries = self.carries(&lines, "filter", &[Ty::I64], Some(count));
        let name = self.base.kernel_name("filter");
        let short = carries.is_none();
        self.lines(&name, &lines, carries.as_deref(), &|w| {
            let shape = vec![extent.clone()];
            let mut homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, shape.clone())).collect();
            if short {
                homes.push(w.global(count, Access::Write, vec![]));
            }
            homes
        });
        self.base.plan.steps.push(Step::Count { size: kept, from: count });
    }

    fn chunk(&self) -> u64 {
        u64::from(self.machine.threads()) * super::TURNS
    }

    /// Buffers with what comes before each chunk of each line, unless a line is one chunk. `count` gets the whole of the
    /// only line.
    fn carries(
        &mut self,
        lines: &Lines<'_, 'g>,
        what: &str,
        tys: &[Ty],
        count: Option<BufferId>,
    ) -> Option<Vec<BufferId>> {
        let chunk = self.chunk();
        if lines.last.constant().is_some_and(|n| n <= chunk) {
            return None;
        }
        let chunks = ceil_div(lines.last, chunk);
        let grid = [lines.outer, std::slice::from_ref(&chunks)].concat();
        let mut buffers = || -> Vec<BufferId> {
            tys.iter().map(|&ty| self.base.buffer(ty, grid.clone(), BufferUse::Temporary)).collect()
        };
        let sums = buffers();
        let before = buffers();
        let threads = self.machine.threads();

        let name = self.base.kernel_name(&format!("{what}_sums"));
        self.blocks(&name, &Size::product(&grid), threads, &|w, items| {
            w.bind_globals(lines.op);
            let homes: Vec<MemId> = sums.iter().map(|&b| w.global(b, Access::Write, grid.clone())).collect();
            items.each(w, |w, number| {
                let at = unflatten(w, number, &grid);
                let line = &at[..at.len() - 1];
                let c = at[at.len() - 1];
                let (lo, hi) = piece(w, c, chunk, lines.last);
                let sum = lines.fold(w, [lo, hi], &Size::Const(chunk), &|w, k| lines.item(w, line, k));
                for (&memory, value) in homes.iter().zip(sum) {
                    w.store(memory, at.clone(), value);
                }
            });
        });

        let name = self.base.kernel_name(&format!("{what}_before"));
        self.blocks(&name, &Size::product(lines.outer), threads, &|w, items| {
            if let Kind::Scan(monoid) = lines.kind {
                w.bind_monoid(monoid);
            }
            let sums: Vec<MemId> = sums.iter().map(|&b| w.global(b, Access::Read, grid.clone())).collect();
            let homes: Vec<MemId> = before.iter().map(|&b| w.global(b, Access::Write, grid.clone())).collect();
            let counter = count.map(|count| w.global(count, Access::Write, vec![]));
            items.each(w, |w, number| {
                let line = if lines.outer.is_empty() { vec![] } else { unflatten(w, number, lines.outer) };
                let lo = w.number(0);
                let hi = w.extent(&chunks);
                let item = |w: &mut KernelWriter<'_, 'g>, k: Id| {
                    let at = [&line[..], &[k]].concat();
                    let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: at.clone() }, ty);
                    Item { joins: sums.iter().zip(tys).map(load).collect(), results: vec![] }
                };
                let neutral = lines.neutral(w);
                lines.prefixes(w, [lo, hi], neutral, &item, &|w, k, [before, _], _| {
                    for (&memory, &value) in homes.iter().zip(before) {
                        w.store(memory, [&line[..], &[k]].concat(), value);
                    }
                });
                if let Some(counter) = counter {
                    let all = lines.fold(w, [lo, hi], &chunks, &item);
                    w.store(counter, vec![], all[0]);
                }
            });
        });
        Some(before)
    }

    /// Goes through every chunk and writes. `homes` binds the results, and behind them, where a filter does not know it yet,
    /// the count.
    fn lines(
        &mut self,
        name: &str,
        lines: &Lines<'_, 'g>,
        carries: Option<&[BufferId]>,
        homes: &dyn Fn(&mut KernelWriter<'_, 'g>) -> Vec<MemId>,
    ) {
        let chunk = self.chunk();
        let chunks = ceil_div(lines.last, chunk);
        let grid = match carries {
            Some(_) => [lines.outer, std::slice::from_ref(&chunks)].concat(),
            None => lines.outer.to_vec(),
        };
        let threads = match lines.last.constant() {
            Some(n) => (n.clamp(1, self.machine.threads().into()) as u32).next_power_of_two(),
            None => self.machine.threads(),
        };
        let threads = threads.min(self.machine.threads());
        self.blocks(name, &Size::product(&grid), threads, &|w, items: &Items| {
            w.bind_globals(lines.op);
            let carries: Option<Vec<MemId>> =
                carries.map(|c| c.iter().map(|&b| w.global(b, Access::Read, grid.clone())).collect());
            let homes = homes(w);
            items.each(w, |w, number| {
                let mut at = if grid.is_empty() { vec![] } else { unflatten(w, number, &grid) };
                let (lo, hi, carry) = match &carries {
                    Some(memories) => {
                        let tys = lines.tys(w);
                        let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: at.clone() }, ty);
                        let carry = memories.iter().zip(&tys).map(load).collect();
                        let c = at.pop().expect("a chunk");
                        let (lo, hi) = piece(w, c, chunk, lines.last);
                        (lo, hi, carry)
                    }
                    None => (w.number(0), w.extent(lines.last), lines.neutral(w)),
                };
                let item = |w: &mut KernelWriter<'_, 'g>, k: Id| lines.item(w, &at, k);
                lines.prefixes(w, [lo, hi], carry, &item, &|w, k, [before, after], item| match lines.kind {
                    Kind::Scan(_) => {
                        for (&memory, &value) in homes.iter().zip(after) {
                            w.store(memory, [&at[..], &[k]].concat(), value);
                        }
                    }
                    Kind::Filter => w.when(item.results[0], |w| {
                        for (&memory, &value) in homes.iter().zip(&item.results[1..]) {
                            w.store(memory, vec![before[0]], value);
                        }
                    }),
                });
                if let (Kind::Filter, None) = (lines.kind, &carries) {
                    let all = lines.fold(w, [lo, hi], lines.last, &item);
                    let counter = *homes.last().expect("the count is behind the results");
                    w.store(counter, vec![], all[0]);
                }
            });
        });
    }
}
