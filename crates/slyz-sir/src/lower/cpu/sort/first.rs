//! The first few elements in the order of their keys: pieces of a long line find their own, and those of all pieces are gone through again.
//!
//! ```text
//! launch best_sort_pieces      a block for each piece: the words and places of its first elements
//! launch best_sort_first       the first of these
//! ```

use crate::code::{Id, MemId, Op, Place, Stmt};
use crate::kernel::{Access, BufferId, BufferUse};
use crate::lower::planning::{Lowering, piece, unflatten};
use crate::lower::sorting::Sort;
use crate::lower::writer::KernelWriter;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// The elements of a piece.
const PIECE: u64 = 1 << 16;

/// What pieces found: the first elements of one stand behind those of the one before. Only the last piece may have fewer of them.
struct Found {
    words: Vec<BufferId>,
    places: BufferId,
    shape: Vec<Size>,
}

impl<'g> Lowering<'g> {
    /// Sorts no more than `count` elements of each line to their places.
    pub(super) fn sort_first(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, count: u64, outputs: &[BufferId]) {
        if sort.shape.len() > 1 {
            return self.first_of_lines(stmt, sort, count, outputs);
        }
        let pieces = Size::CeilDiv(sort.extent().clone().into(), PIECE);
        let shape = vec![pieces * Size::Const(count)];
        let mut buffer = |ty: Ty| self.buffer(ty, shape.clone(), BufferUse::Temporary);
        let words = sort.widths.iter().map(|_| buffer(Ty::U32)).collect();
        let places = buffer(Ty::I64);
        let found = Found { words, places, shape };
        self.first_of_pieces(stmt, sort, count, &found);
        self.first_of_all(stmt, sort, count, (&found, outputs));
    }

    /// A block for each line.
    fn first_of_lines(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, count: u64, outputs: &[BufferId]) {
        let outer = &sort.shape[..sort.shape.len() - 1];
        let name = self.kernel_name("sort_first");
        let mut w = KernelWriter::new(self, name, Size::product(outer));
        let homes = homes(&mut w, sort, outputs);
        w.bind_globals(&stmt.op);
        let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
        let at = unflatten(&mut w, block, outer);
        w.first_of_line(sort, count, &at, &homes);
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn first_of_pieces(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, count: u64, found: &Found) {
        let name = self.kernel_name("sort_pieces");
        let pieces = Size::CeilDiv(sort.extent().clone().into(), PIECE);
        let mut w = KernelWriter::new(self, name, pieces);
        let words = found.words.iter().map(|&b| w.global(b, Access::Write, found.shape.clone()));
        let words: Vec<MemId> = words.collect();
        let places = w.global(found.places, Access::Write, found.shape.clone());
        w.bind_globals(&stmt.op);
        let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
        let (lo, hi) = piece(&mut w, block, PIECE, sort.extent());
        let chosen = w.first_by(sort.widths, count, [lo, hi], &|w, i| w.key(sort, &[], i));
        let start = w.scaled(block, count);
        let zero = w.number(0);
        w.lanes(zero, chosen.count, |w, r| {
            let to = w.value(start + r);
            let from = chosen.words.iter().copied().chain([chosen.places]);
            for (from, to_memory) in from.zip(words.iter().copied().chain([places])) {
                let ty = w.kernel.memories[from.0 as usize].ty;
                let value = w.push(Op::Load { memory: from, index: vec![r] }, ty);
                w.store(to_memory, vec![to], value);
            }
        });
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn first_of_all(&mut self, stmt: &'g Stmt, sort: &Sort<'g>, count: u64, (found, outputs): (&Found, &[BufferId])) {
        let name = self.kernel_name("sort_first");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let homes = homes(&mut w, sort, outputs);
        let words = found.words.iter().map(|&b| w.global(b, Access::Read, found.shape.clone()));
        let words: Vec<MemId> = words.collect();
        let places = w.global(found.places, Access::Read, found.shape.clone());
        w.bind_globals(&stmt.op);
        let zero = w.number(0);
        let end = self::end(&mut w, sort.extent(), count);
        let chosen = w.first_by(sort.widths, count, [zero, end], &|w, i| {
            words.iter().map(|&memory| w.push(Op::Load { memory, index: vec![i] }, Ty::U32)).collect()
        });
        w.give(sort, &[], chosen.count, &homes, |w, r| {
            let at = w.push(Op::Load { memory: chosen.places, index: vec![r] }, Ty::I64);
            w.push(Op::Load { memory: places, index: vec![at] }, Ty::I64)
        });
        let kernel = w.finish();
        self.launch(kernel);
    }
}

fn homes<'g>(w: &mut KernelWriter<'_, 'g>, sort: &Sort<'g>, outputs: &[BufferId]) -> Vec<(MemId, Vec<Id>)> {
    outputs.iter().map(|&b| (w.global(b, Access::Write, sort.shape.to_vec()), vec![])).collect()
}

/// How many elements all pieces found: there is one piece at least.
fn end(w: &mut KernelWriter<'_, '_>, extent: &Size, count: u64) -> Id {
    let before = Size::CeilDiv(extent.clone().into(), PIECE);
    let pieces = w.extent(&before);
    let before = w.offset(pieces, -1);
    let all = w.extent(extent);
    let length = w.number(PIECE as i64);
    let skipped = w.value(before * length);
    let rest = w.value(all - skipped);
    let most = w.number(count as i64);
    let last = w.value(rest.least(most));
    let of_others = w.value(before * most);
    w.value(of_others + last)
}
