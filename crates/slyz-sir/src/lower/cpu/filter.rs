//! Filters: what is kept is counted by chunks, so that each chunk knows where its elements go.
//!
//! ```text
//! launch positive_filter_counts    how many does each chunk keep?
//! launch positive_filter_before    how many are kept before each chunk? (one block)
//! launch positive_filter           each chunk writes what it keeps, behind what is kept before it
//! ```
//!
//! Elements are computed twice and read twice; nothing else is moved. Where there is little to do, one block does all of it.

use super::plan::own_chunk;
use super::{CHUNK, MOST_IN_ONE_KERNEL};
use crate::code::{Body, MemId, Op, Stmt};
use crate::kernel::{Access, BufferId, BufferUse, Step};
use crate::lower::planning::Lowering;
use crate::lower::writer::{KernelWriter, Mode};
use crate::pass::{dce, fuse};
use crate::size::{Size, SizeVar};
use crate::types::Ty;
use crate::write::Write as _;

/// A filter of the top level.
struct Filter<'g> {
    stmt: &'g Stmt,
    extent: &'g Size,
    body: &'g Body,
    outputs: Vec<BufferId>,
    count: BufferId,
}

impl<'g> Filter<'g> {
    /// Binds the memories of the results.
    fn homes(&self, w: &mut KernelWriter<'_, 'g>) -> Vec<MemId> {
        let shape = vec![self.extent.clone()];
        self.outputs.iter().map(|&buffer| w.global(buffer, Access::Write, shape.clone())).collect()
    }
}

impl<'g> Lowering<'g> {
    pub(super) fn filter(&mut self, stmt: &'g Stmt, extent: &'g Size, body: &'g Body, kept: SizeVar) {
        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.buffer_for(b.id, vec![extent.clone()])).collect();
        let count = self.buffer(Ty::I64, vec![], BufferUse::Temporary);
        let filter = Filter { stmt, extent, body, outputs, count };
        let work = Size::Const(fuse::cost(body) + 2) * extent.clone();
        self.choose(work, MOST_IN_ONE_KERNEL, |l| l.filter_whole(&filter), |l| l.filter_chunks(&filter));
        self.plan.steps.push(Step::Count { size: kept, from: count });
    }

    /// One block for everything.
    fn filter_whole(&mut self, filter: &Filter<'g>) {
        let name = self.kernel_name("filter");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let homes = filter.homes(&mut w);
        let counter = w.global(filter.count, Access::Write, vec![]);
        w.bind_globals(&filter.stmt.op);
        let lo = w.number(0);
        let hi = w.extent(filter.extent);
        let kept = w.keep([lo, hi], lo, filter.body, &homes);
        w.store(counter, vec![], kept);
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn filter_chunks(&mut self, filter: &Filter<'g>) {
        let chunks = Size::CeilDiv(filter.extent.clone().into(), CHUNK);
        let counts = self.buffer(Ty::I64, vec![chunks.clone()], BufferUse::Temporary);
        let before = self.buffer(Ty::I64, vec![chunks.clone()], BufferUse::Temporary);

        let name = self.kernel_name("filter_counts");
        let mut w = KernelWriter::new(self, name, chunks.clone());
        let home = w.global(counts, Access::Write, vec![chunks.clone()]);
        w.bind_globals(&filter.stmt.op);
        let (block, [lo, hi]) = own_chunk(&mut w, filter.extent);
        let count = w.lanes_count(lo, hi, |w, i| w.run(filter.body, &[i], Mode::Lane)[0]);
        let count = w.push(Op::Cast(Ty::I64, count), Ty::I64);
        w.store(home, vec![block], count);
        let (mut kernel, buffers, scalars) = w.finish();
        // What is not looked at to decide is not computed here.
        kernel.body = dce::root(kernel.body);
        self.launch((kernel, buffers, scalars));

        self.before_each(&chunks, counts, before, filter.count);

        let name = self.kernel_name("filter");
        let mut w = KernelWriter::new(self, name, chunks.clone());
        let homes = filter.homes(&mut w);
        let before = w.global(before, Access::Read, vec![chunks]);
        w.bind_globals(&filter.stmt.op);
        let (block, range) = own_chunk(&mut w, filter.extent);
        let from = w.push(Op::Load { memory: before, index: vec![block] }, Ty::I64);
        w.keep(range, from, filter.body, &homes);
        let kernel = w.finish();
        self.launch(kernel);
    }

    /// What is kept before each chunk, and in all.
    fn before_each(&mut self, chunks: &Size, counts: BufferId, before: BufferId, all: BufferId) {
        let name = self.kernel_name("filter_before");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let counts = w.global(counts, Access::Read, vec![chunks.clone()]);
        let before = w.global(before, Access::Write, vec![chunks.clone()]);
        let all = w.global(all, Access::Write, vec![]);
        let lo = w.number(0);
        let hi = w.extent(chunks);
        let sum = w.for_each(lo, hi, 1, (vec![lo], &[Ty::I64]), |w, chunk, sum| {
            let own = w.push(Op::Load { memory: counts, index: vec![chunk] }, Ty::I64);
            w.store(before, vec![chunk], sum[0]);
            vec![w.value(sum[0] + own)]
        });
        w.store(all, vec![], sum[0]);
        let kernel = w.finish();
        self.launch(kernel);
    }
}
