//! Scans. Where there are several lines, each goes to a core. A single one is cut into chunks: each is folded, so that it is known
//! what comes before the next ones, and then gone through again.
//!
//! ```text
//! launch sums_scan_folds     the fold of each chunk
//! launch sums_scan_before    what is before each chunk (one block)
//! launch sums_scan           each chunk, from there on
//! ```
//!
//! Inside a chunk prefixes are told by rows of neighbours ([`Op::Prefixes`]). All this keeps the order of elements, so that it is
//! enough that the monoid is associative; sums of floats are grouped otherwise than one after the other, and always in this way.

use super::plan::own_chunk;
use super::{CHUNK, MOST_IN_ONE_KERNEL};
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Stmt};
use crate::kernel::{Access, BufferId, BufferUse};
use crate::lower::planning::{Lowering, unflatten};
use crate::lower::writer::{KernelWriter, Mode};
use crate::pass::fuse;
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;

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

    /// A block for each line.
    fn scan_lines(&mut self, scan: &Scan<'g>, shape: &'g [Size], outer: &'g [Size]) {
        let name = self.kernel_name("scan_lines");
        let mut w = KernelWriter::new(self, name, Size::product(outer));
        let outputs = scan.outputs.iter();
        let homes: Vec<(MemId, Vec<Id>)> =
            outputs.map(|&b| (w.global(b, Access::Write, shape.to_vec()), vec![])).collect();
        w.bind_globals(&scan.stmt.op);
        let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
        let line = unflatten(&mut w, block, outer);
        w.scan_line((shape, scan.body, scan.monoid), &line, &homes);
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
        let item = |w: &mut KernelWriter<'_, 'g>, i: Id| w.run(scan.body, &[i], Mode::Lane);
        let all = if scan.monoid.commutative {
            w.lanes_fold(lo, hi, scan.monoid, &scan.tys, item)
        } else {
            // Neighbours meet anyway: lanes with runs of their own would read far apart.
            let neutral = w.all_scalars(&scan.monoid.neutral);
            w.prefixes([lo, hi], neutral, (scan.monoid, &scan.tys), item, |_, _, _| {})
        };
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
        let before = w.load_all(&before, block, &scan.tys);
        let item = |w: &mut KernelWriter<'_, 'g>, i: Id| w.run(scan.body, &[i], Mode::Lane);
        w.prefixes(range, before, (scan.monoid, &scan.tys), item, |w, i, all| w.store_each(&homes, i, all));
        let kernel = w.finish();
        self.launch(kernel);
    }
}
