//! Scans. Where there are several lines, each goes to a core. A single one is cut into chunks: each is folded, so that it is known
//! what comes before the next ones, and then gone through again.
//!
//! ```text
//! launch sums_scan_folds     the fold of each chunk
//! launch sums_scan_before    what is before each chunk (one block)
//! launch sums_scan           each chunk, from there on
//! ```
//!
//! Inside a chunk lanes work on rows of 16 elements, all prefixes of a row at once: an element meets the three before it, and what
//! comes of that meets what came of those 4, 8 and 12 places before. A row in scratch has 16 neutral elements in front, so that
//! nobody asks where it starts. Last, what is before the row joins its prefixes. All this keeps the order of elements, so that it
//! is enough that the monoid is associative; sums of floats are grouped otherwise than one after the other, and always in this way.

use super::plan::own_chunk;
use super::{CHUNK, MOST_IN_ONE_KERNEL};
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Stmt};
use crate::kernel::{Access, BufferId, BufferUse};
use crate::lower::planning::{Lowering, unflatten};
use crate::lower::writer::{KernelWriter, Mode};
use crate::pass::fuse;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// Elements of a row.
const ROW: i64 = 16;
/// Rows that are worked on before the next ones: they stay in the first-level cache.
const ROWS: i64 = 32;

/// A scan of the top level.
struct Scan<'g> {
    stmt: &'g Stmt,
    /// The axis it goes along.
    extent: &'g Size,
    body: &'g Body,
    monoid: &'g Monoid,
    tys: Vec<Ty>,
    outputs: Vec<BufferId>,
}

/// The scratch memories of a chunk, one per component.
struct Rows {
    /// Elements, and what four of them give; neutral elements in front of each row.
    one: Vec<MemId>,
    four: Vec<MemId>,
    /// The prefixes of the last row.
    prefixes: Vec<MemId>,
}

impl<'g> Lowering<'g> {
    pub(super) fn scan(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body, monoid: &'g Monoid) {
        let outputs: Vec<BufferId> = self.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        let (extent, outer) = shape.split_last().expect("a scan has an axis");
        let tys = stmt.binds.iter().map(|bind| bind.ty.elem()).collect();
        let scan = Scan { stmt, extent, body, monoid, tys, outputs };
        let each = fuse::cost(body) + fuse::cost(&monoid.combine) + 2;
        let work = Size::Const(each) * Size::product(shape);
        let whole = |l: &mut Self| l.in_one_block(stmt, &scan.outputs);
        if !outer.is_empty() {
            return self.choose(work, MOST_IN_ONE_KERNEL, whole, |l| l.scan_lines(&scan, shape, outer));
        }
        if self.needs_block(body) {
            return whole(self);
        }
        self.choose(work, MOST_IN_ONE_KERNEL, whole, |l| l.scan_chunks(&scan));
    }

    /// A block for each line, which goes along it, one element after the other.
    fn scan_lines(&mut self, scan: &Scan<'g>, shape: &'g [Size], outer: &'g [Size]) {
        let name = self.kernel_name("scan_lines");
        let mut w = KernelWriter::new(self, name, Size::product(outer));
        let homes: Vec<MemId> = scan.outputs.iter().map(|&b| w.global(b, Access::Write, shape.to_vec())).collect();
        w.bind_globals(&scan.stmt.op);
        let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
        let line = unflatten(&mut w, block, outer);
        let lo = w.number(0);
        let hi = w.extent(scan.extent);
        let neutral = w.all_scalars(&scan.monoid.neutral);
        w.for_each(lo, hi, 1, (neutral, &scan.tys), |w, i, state| {
            let at = [&line[..], &[i]].concat();
            let item = w.run(scan.body, &at, Mode::Lane);
            let next = w.combine(scan.monoid, state, &item);
            store_at(w, &homes, &at, &next);
            next
        });
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn scan_chunks(&mut self, scan: &Scan<'g>) {
        let chunks = Size::CeilDiv(scan.extent.clone().into(), CHUNK);
        let mut buffers = || -> Vec<BufferId> {
            let buffer = |&ty| self.buffer(ty, vec![chunks.clone()], BufferUse::Temporary);
            scan.tys.iter().map(buffer).collect()
        };
        let folds = buffers();
        let before = buffers();
        let bind = |w: &mut KernelWriter<'_, 'g>, buffers: &[BufferId], access: Access| -> Vec<MemId> {
            buffers.iter().map(|&b| w.global(b, access, vec![chunks.clone()])).collect()
        };

        let name = self.kernel_name("scan_folds");
        let mut w = KernelWriter::new(self, name, chunks.clone());
        let homes = bind(&mut w, &folds, Access::Write);
        w.bind_globals(&scan.stmt.op);
        w.regroups(scan.monoid, &scan.tys);
        let (block, [lo, hi]) = own_chunk(&mut w, scan.extent);
        let all = w.lanes_fold(lo, hi, scan.monoid, &scan.tys, |w, i| w.run(scan.body, &[i], Mode::Lane));
        w.store_each(&homes, block, &all);
        let kernel = w.finish();
        self.launch(kernel);

        let name = self.kernel_name("scan_before");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let own = bind(&mut w, &folds, Access::Read);
        let homes = bind(&mut w, &before, Access::Write);
        w.bind_monoid(scan.monoid);
        let lo = w.number(0);
        let hi = w.extent(&chunks);
        let neutral = w.all_scalars(&scan.monoid.neutral);
        w.for_each(lo, hi, 1, (neutral, &scan.tys), |w, chunk, state| {
            w.store_each(&homes, chunk, state);
            let own = w.load_all(&own, chunk, &scan.tys);
            w.combine(scan.monoid, state, &own)
        });
        let kernel = w.finish();
        self.launch(kernel);

        let name = self.kernel_name("scan");
        let mut w = KernelWriter::new(self, name, chunks.clone());
        let outputs = scan.outputs.iter();
        let homes: Vec<MemId> = outputs.map(|&b| w.global(b, Access::Write, vec![scan.extent.clone()])).collect();
        let before = bind(&mut w, &before, Access::Read);
        w.bind_globals(&scan.stmt.op);
        let (block, range) = own_chunk(&mut w, scan.extent);
        let carry = w.load_all(&before, block, &scan.tys);
        scan.prefixes(&mut w, range, carry, &homes);
        let kernel = w.finish();
        self.launch(kernel);
    }
}

impl<'g> Scan<'g> {
    /// Writes the prefixes of the elements `lo..hi`, behind what is before them.
    fn prefixes(&self, w: &mut KernelWriter<'_, 'g>, [lo, hi]: [Id; 2], carry: Vec<Id>, homes: &[MemId]) {
        let rows = self.rows(w);
        self.clear(w, &rows);
        let zero = w.number(0);
        let row = w.number(ROW);
        w.for_each(lo, hi, ROW * ROWS, (carry, &self.tys), |w, start, carry| {
            let end = w.offset(start, ROW * ROWS);
            let end = w.value(end.least(hi));
            let count = w.value(end - start);
            let full = w.value(count / row);
            let rest = w.value(count % row);
            let partial = w.value(rest.least(1));
            let all = w.value(full + partial);
            w.for_each(zero, full, 1, (vec![], &[]), |w, r, _| {
                let from = w.value(start + r * row);
                self.load_row(w, &rows, r, from, None);
                vec![]
            });
            w.for_each(full, all, 1, (vec![], &[]), |w, r, _| {
                let from = w.value(start + r * row);
                self.load_row(w, &rows, r, from, Some(rest));
                vec![]
            });
            w.for_each(zero, all, 1, (vec![], &[]), |w, r, _| {
                w.lanes(zero, row, |w, j| {
                    let joined = self.join_four(w, &rows.one, r, j, 1);
                    let place = w.offset(j, ROW);
                    store_at(w, &rows.four, &[r, place], &joined);
                });
                vec![]
            });
            let carry = w.for_each(zero, full, 1, (carry.to_vec(), &self.tys), |w, r, carry| {
                self.finish_row(w, &rows, (start, r), row, carry, homes)
            });
            w.for_each(full, all, 1, (carry, &self.tys), |w, r, carry| {
                self.finish_row(w, &rows, (start, r), rest, carry, homes)
            })
        });
    }

    fn rows(&self, w: &mut KernelWriter<'_, 'g>) -> Rows {
        let mut memories = |what: &str, shape: &[i64]| -> Vec<MemId> {
            let shape: Vec<Size> = shape.iter().map(|&n| Size::Const(n as u64)).collect();
            self.tys.iter().map(|&ty| w.scratch(what, ty, shape.clone())).collect()
        };
        let one = memories("one", &[ROWS, 2 * ROW]);
        let four = memories("four", &[ROWS, 2 * ROW]);
        let prefixes = memories("prefixes", &[ROW]);
        Rows { one, four, prefixes }
    }

    /// Writes the neutral elements in front of the rows.
    fn clear(&self, w: &mut KernelWriter<'_, 'g>, rows: &Rows) {
        let neutral = w.all_scalars(&self.monoid.neutral);
        let zero = w.number(0);
        let row = w.number(ROW);
        let last = w.number(ROWS);
        w.for_each(zero, last, 1, (vec![], &[]), |w, r, _| {
            w.lanes(zero, row, |w, j| {
                store_at(w, &rows.one, &[r, j], &neutral);
                store_at(w, &rows.four, &[r, j], &neutral);
            });
            vec![]
        });
    }

    /// Fills a row with elements from a position on: only so many, if that is said, and neutral ones behind them.
    fn load_row(&self, w: &mut KernelWriter<'_, 'g>, rows: &Rows, r: Id, from: Id, count: Option<Id>) {
        let neutral = w.all_scalars(&self.monoid.neutral);
        let zero = w.number(0);
        let row = w.number(ROW);
        w.lanes(zero, count.unwrap_or(row), |w, j| {
            let i = w.value(from + j);
            let item = w.run(self.body, &[i], Mode::Lane);
            let place = w.offset(j, ROW);
            store_at(w, &rows.one, &[r, place], &item);
        });
        let Some(count) = count else { return };
        w.lanes(count, row, |w, j| {
            let place = w.offset(j, ROW);
            store_at(w, &rows.one, &[r, place], &neutral);
        });
    }

    /// An element of a row with three before it that are so far apart, the first of them first.
    fn join_four(&self, w: &mut KernelWriter<'_, 'g>, from: &[MemId], r: Id, j: Id, apart: i64) -> Vec<Id> {
        let load = |back: i64| {
            let place = w.offset(j, ROW - back * apart);
            let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: vec![r, place] }, ty);
            from.iter().zip(&self.tys).map(load).collect()
        };
        let four: Vec<Vec<Id>> = [3, 2, 1, 0].map(load).into();
        w.tree(self.monoid, four)
    }

    /// Writes so many prefixes of a row, and gives what is before the next one.
    fn finish_row(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        rows: &Rows,
        (start, r): (Id, Id),
        count: Id,
        carry: &[Id],
        homes: &[MemId],
    ) -> Vec<Id> {
        let zero = w.number(0);
        let row = w.number(ROW);
        let from = w.value(start + r * row);
        w.lanes(zero, count, |w, j| {
            let prefix = self.join_four(w, &rows.four, r, j, 4);
            store_at(w, &rows.prefixes, &[j], &prefix);
            let all = w.combine(self.monoid, carry, &prefix);
            let i = w.value(from + j);
            w.store_each(homes, i, &all);
        });
        let last = w.offset(count, -1);
        let whole = w.load_all(&rows.prefixes, last, &self.tys);
        w.combine(self.monoid, carry, &whole)
    }
}

fn store_at(w: &mut KernelWriter, memories: &[MemId], index: &[Id], values: &[Id]) {
    memories.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, index.to_vec(), value));
}
