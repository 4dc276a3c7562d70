//! Sums of products of two arrays, as in a product of matrices: tiles in the cache, and squares of sums in registers.
//!
//! In `tabulate (i, j) { fold k { f(i, k) * g(k, j) } }` every `f` is wanted by all columns and every `g` by all rows. A block
//! makes a tile of the result. For a piece of `k` at a time it computes the `f`s of its rows and the `g`s of its columns once, into
//! scratch in the order in which they are read, and then a few rows by a few vectors of sums are held in registers while `k`
//! runs. What `f`, `g`, the product and the sum are does not matter (distances are such sums too), nor what becomes of
//! the sum: code behind the fold runs once per element of a finished tile.
//!
//! A right factor that lies in panels already (`panels.rs`) is read where it lies.

use super::panels;
use crate::code::{Body, Id, MemId, Op, Stmt};
use crate::kernel::{Access, BufferId};
use crate::lower::access::far_reads;
use crate::lower::planning::{Home, Lowering, piece, unflatten};
use crate::lower::product::Product;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// Rows whose sums are in registers at once: with four vectors of columns each, and what they are made of, they fill
/// 32 registers; with two vectors, 16.
const ROWS: i64 = 6;
/// Columns that are packed side by side.
pub(super) const COLUMNS: u64 = 64;
/// Rows of a tile at most; a multiple of `ROWS`. Larger ones pack less, but 1024² is then too few of them for sixteen cores.
const TILE_ROWS: u64 = 132;
/// Columns of a tile at most; a multiple of `COLUMNS`, so that groups of columns are panels.
const TILE_COLUMNS: u64 = 512;
/// Terms of a sum that are packed at a time.
const DEPTH: i64 = 256;
/// Extents below which packing does not pay.
const SMALL: u64 = 16;

/// Reads a tabulate as a product, if it is one and large enough.
pub(super) fn of<'g>(shape: &[Size], body: &'g Body) -> Option<Product<'g>> {
    let small = |size: &Size| size.constant().is_some_and(|n| n < SMALL);
    let [.., rows, columns] = shape else { return None };
    Product::of(body).filter(|product| ![rows, columns, product.extent].into_iter().any(small))
}

/// The tile that a block makes: its place, and where its parts lie.
struct Tile {
    /// Positions on the axes in front of the rows.
    outer: Vec<Id>,
    rows: (Id, Id),
    columns: (Id, Id),
    left: Vec<MemId>,
    /// For each value of the columns.
    right: Vec<Right>,
    sums: Vec<MemId>,
    /// The sums are the results themselves, not a tile of scratch.
    direct: bool,
    tys: Vec<Ty>,
    neutral: Vec<Id>,
}

/// Where values of the columns are read.
enum Right {
    /// In scratch: they are computed for each tile.
    Packed(MemId),
    /// In the array itself, which lies in panels, at these positions.
    InPanels(Id, Vec<Id>),
}

impl<'g> Lowering<'g> {
    pub(super) fn tabulate_product(
        &mut self,
        stmt: &'g Stmt,
        shape: &'g [Size],
        product: Product<'g>,
        outputs: Vec<(BufferId, Vec<Size>)>,
    ) {
        let name = self.kernel_name("product");
        let constant = |id: Id| match self.home(id) {
            Home::Again(Stmt { op: Op::Const(value), .. }) => Some(*value),
            _ => None,
        };
        let in_panels: Vec<Option<panels::Read>> =
            product.right.iter().map(|(id, _)| panels::read_of(&product, *id, &constant)).collect();
        let [outer @ .., rows, columns] = shape else { unreachable!("a product has rows and columns") };
        let down = Size::CeilDiv(rows.clone().into(), TILE_ROWS);
        let across = Size::CeilDiv(columns.clone().into(), TILE_COLUMNS);
        let mut w = KernelWriter::new(self, name, Size::product(outer) * down.clone() * across.clone());
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.bind_globals(&stmt.op);
        let tys = w.types_of(&product.monoid.combine);
        w.regroups(product.monoid, &tys);
        let neutral = w.all_scalars(&product.monoid.neutral);
        let mut tiles = |what: &str, tys: &[Ty], shape: &[u64]| -> Vec<MemId> {
            tys.iter().map(|&ty| w.scratch(what, ty, shape.iter().map(|&n| Size::Const(n)).collect())).collect()
        };
        let of = |side: &[(Id, Ty)]| side.iter().map(|(_, ty)| *ty).collect::<Vec<Ty>>();
        let left = tiles("left", &of(&product.left), &[TILE_ROWS, DEPTH as u64]);
        let mut right = vec![];
        for (&(_, ty), read) in product.right.iter().zip(&in_panels) {
            right.push(match read {
                Some(read) => Right::InPanels(read.array, read.outer.to_vec()),
                None => Right::Packed(tiles("right", &[ty], &[TILE_COLUMNS / COLUMNS, DEPTH as u64, COLUMNS])[0]),
            });
        }
        let direct = product.is_bare();
        let sums = if direct { homes.clone() } else { tiles("sums", &tys, &[TILE_ROWS, TILE_COLUMNS]) };
        if direct {
            w.make_readable(&homes);
        }

        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        let mut at = unflatten(&mut w, block, &[outer, &[down.clone(), across]].concat());
        let column = at.pop().expect("a column");
        let row = at.pop().expect("a row");
        let columns = piece(&mut w, column, TILE_COLUMNS, columns);
        let rows = even_piece(&mut w, row, &down, rows);
        let tile = Tile { outer: at, rows, columns, left, right, sums, direct, tys, neutral };
        for (param, &id) in product.body.params.iter().zip(&tile.outer) {
            w.set_scalar(param.id, id);
        }
        let zero = w.number(0);
        let one = w.number(1);
        let end = w.extent(product.extent);
        // A sum of nothing is made too: one turn at least.
        let turns = w.value(end.most(one));
        w.for_each(zero, turns, DEPTH, (vec![], &[]), |w, start, _| {
            let length = w.number(DEPTH);
            let stop = w.value(start + length);
            let stop = w.value(stop.least(end));
            tile.pack_left(w, &product, start, stop);
            tile.pack_right(w, &product, start, stop);
            tile.multiply(w, &product, start, stop);
            vec![]
        });
        if !direct {
            tile.finish(&mut w, &product, &homes);
        }
        let kernel = w.finish();
        self.launch(kernel);
    }
}

/// `lo..hi` of piece number `k` of the rows, all pieces about as long, so that threads end together. The length is a
/// multiple of `ROWS`.
fn even_piece(w: &mut KernelWriter, k: Id, pieces: &Size, rows: &Size) -> (Id, Id) {
    let (extent, pieces) = (w.extent(rows), w.extent(pieces));
    let one = w.number(1);
    let few = w.number(ROWS);
    let least = w.value(pieces.most(one));
    // Rounded up twice: to whole groups in all, and to whole groups in a piece.
    let groups = w.value(least * few);
    let before = w.value(groups - one);
    let padded = w.value(extent + before);
    let each = w.value(padded / groups);
    let length = w.value(each * few);
    let lo = w.value(k * length);
    let lo = w.value(lo.least(extent));
    let hi = w.value(lo + length);
    (lo, w.value(hi.least(extent)))
}

impl Tile {
    /// One turn per group of columns: its number, its first column and the one past its last.
    fn groups<'l, 'g>(&self, w: &mut KernelWriter<'l, 'g>, write: impl FnOnce(&mut KernelWriter<'l, 'g>, Id, Id, Id)) {
        let zero = w.number(0);
        let side = w.number(COLUMNS as i64);
        let width = w.value(self.columns.1 - self.columns.0);
        let before = w.number(COLUMNS as i64 - 1);
        let padded = w.value(width + before);
        let count = w.value(padded / side);
        w.for_each(zero, count, 1, (vec![], &[]), |w, group, _| {
            let side = w.number(COLUMNS as i64);
            let offset = w.value(group * side);
            let lo = w.value(self.columns.0 + offset);
            let end = w.value(lo + side);
            let hi = w.value(end.least(self.columns.1));
            write(w, group, lo, hi);
            vec![]
        });
    }

    /// Past the last row, rounded up to whole groups of rows.
    fn padded(&self, w: &mut KernelWriter) -> Id {
        let height = w.value(self.rows.1 - self.rows.0);
        let few = w.number(ROWS);
        let before = w.number(ROWS - 1);
        let up = w.value(height + before);
        let groups = w.value(up / few);
        w.value(groups * few)
    }

    /// The values of the rows, along `k`. The last group of rows is filled up with copies of the last row.
    fn pack_left<'g>(&self, w: &mut KernelWriter<'_, 'g>, product: &Product<'g>, start: Id, stop: Id) {
        let (ids, _): (Vec<Id>, Vec<Ty>) = product.left.iter().copied().unzip();
        let row = product.body.params[self.outer.len()].id;
        w.for_each(self.rows.0, self.rows.1, 1, (vec![], &[]), |w, i, _| {
            w.lanes(start, stop, |w, k| {
                w.set_scalar(row, i);
                w.set_scalar(product.inner, k);
                w.lane_stmts(product.slice(&ids, false));
                let at = vec![w.value(i - self.rows.0), w.value(k - start)];
                for (&memory, &id) in self.left.iter().zip(&ids) {
                    let value = w.scalar(id);
                    w.store(memory, at.clone(), value);
                }
            });
            vec![]
        });
        let zero = w.number(0);
        let one = w.number(1);
        let length = w.value(stop - start);
        let height = w.value(self.rows.1 - self.rows.0);
        let last = w.value(height - one);
        let padded = self.padded(w);
        w.for_each(height, padded, 1, (vec![], &[]), |w, r, _| {
            w.lanes(zero, length, |w, k| {
                for (&memory, &(_, ty)) in self.left.iter().zip(&product.left) {
                    let value = w.push(Op::Load { memory, index: vec![last, k] }, ty);
                    w.store(memory, vec![r, k], value);
                }
            });
            vec![]
        });
    }

    /// The values of the columns: for each group of columns, along them, then along `k`. Memory is read in its own order: a
    /// row of all groups after the other, or, where that goes down columns of memory, a group after the other.
    fn pack_right<'g>(&self, w: &mut KernelWriter<'_, 'g>, product: &Product<'g>, start: Id, stop: Id) {
        let packed = |(right, &(id, _)): (&Right, &(Id, Ty))| match right {
            Right::Packed(memory) => Some((*memory, id)),
            Right::InPanels(..) => None,
        };
        let packed: Vec<(MemId, Id)> = self.right.iter().zip(&product.right).filter_map(packed).collect();
        if packed.is_empty() {
            return;
        }
        let ids: Vec<Id> = packed.iter().map(|(_, id)| *id).collect();
        let column = product.body.params[self.outer.len() + 1].id;
        let stmts = product.slice(&ids, false);
        let code = Body { stmts: stmts.iter().map(|s| (*s).clone()).collect(), ..Body::default() };
        let row = |w: &mut KernelWriter<'_, 'g>, group: Id, (lo, hi): (Id, Id), k: Id| {
            w.lanes(lo, hi, |w, j| {
                w.set_scalar(column, j);
                w.set_scalar(product.inner, k);
                w.lane_stmts(stmts.clone());
                let k = w.value(k - start);
                let j = w.value(j - lo);
                for &(memory, id) in &packed {
                    let value = w.scalar(id);
                    w.store(memory, vec![group, k, j], value);
                }
            });
        };
        if far_reads(&code, column) > 0 {
            self.groups(w, |w, group, lo, hi| {
                w.for_each(start, stop, 1, (vec![], &[]), |w, k, _| {
                    row(w, group, (lo, hi), k);
                    vec![]
                });
            });
        } else {
            w.for_each(start, stop, 1, (vec![], &[]), |w, k, _| {
                self.groups(w, |w, group, lo, hi| row(w, group, (lo, hi), k));
                vec![]
            });
        }
    }

    /// Adds what this piece of `k` gives to the sums.
    fn multiply<'g>(&self, w: &mut KernelWriter<'_, 'g>, product: &Product<'g>, start: Id, stop: Id) {
        let [row, column] = [0, 1].map(|n| product.body.params[self.outer.len() + n].id);
        let mixed = product.slice(&product.item.results, true);
        let zero = w.number(0);
        let length = w.value(stop - start);
        let height = self.padded(w);
        let many = self.tys.len();
        let state: Vec<Ty> = self.tys.repeat(ROWS as usize);
        self.groups(w, |w, group, lo, hi| {
            let width = w.value(hi - lo);
            let first = w.value(lo - self.columns.0);
            let side = w.number(COLUMNS as i64);
            let panel = w.value(lo / side);
            w.for_each(zero, height, ROWS, (vec![], &[]), |w, top, _| {
                w.lanes(zero, width, |w, j| {
                    let rows: Vec<Id> = (0..ROWS)
                        .map(|r| {
                            let r = w.number(r);
                            w.value(top + r)
                        })
                        .collect();
                    let init = self.neutral.repeat(ROWS as usize);
                    let parts = w.for_each(zero, length, 1, (init, &state), |w, k, sums| {
                        let term = w.value(start + k);
                        for (right, &(id, ty)) in self.right.iter().zip(&product.right) {
                            let value = match right {
                                Right::Packed(memory) => {
                                    w.push(Op::Load { memory: *memory, index: vec![group, k, j] }, ty)
                                }
                                Right::InPanels(array, outer) => {
                                    let index = [w.all_scalars(outer), vec![panel, term, j]].concat();
                                    w.read(*array, index, ty)
                                }
                            };
                            w.set_scalar(id, value);
                        }
                        let here = w.value(lo + j);
                        w.set_scalar(column, here);
                        w.set_scalar(product.inner, term);
                        let mut next = vec![];
                        for (&r, sums) in rows.iter().zip(sums.chunks(many)) {
                            for (&memory, &(id, ty)) in self.left.iter().zip(&product.left) {
                                let value = w.push(Op::Load { memory, index: vec![r, k] }, ty);
                                w.set_scalar(id, value);
                            }
                            let here = self.row(w, r);
                            w.set_scalar(row, here);
                            w.lane_stmts(mixed.clone());
                            let values = w.all_scalars(&product.item.results);
                            next.extend(w.accumulate(product.monoid, sums, &values));
                        }
                        next
                    });
                    let place = w.value(first + j);
                    let places: Vec<Vec<Id>> = rows.iter().map(|&r| self.place(w, r, place)).collect();
                    // In the first piece there is nothing to add to. All is read before anything is written, since a row may
                    // stand there twice.
                    let is_first = w.push(Op::Apply(Operator::Eq, vec![start, zero]), Ty::Bool);
                    let old = w.branch(
                        is_first,
                        &state,
                        |_| self.neutral.repeat(ROWS as usize),
                        |w| places.iter().flat_map(|at| self.load(w, at)).collect(),
                    );
                    for ((at, parts), old) in places.iter().zip(parts.chunks(many)).zip(old.chunks(many)) {
                        let new = w.combine(product.monoid, old, parts);
                        for (&memory, &value) in self.sums.iter().zip(&new) {
                            w.store(memory, at.clone(), value);
                        }
                    }
                });
                vec![]
            });
        });
    }

    /// Where the sum of a row and a column of the tile is kept.
    fn place(&self, w: &mut KernelWriter, row: Id, column: Id) -> Vec<Id> {
        if !self.direct {
            return vec![row, column];
        }
        let row = self.row(w, row);
        let column = w.value(self.columns.0 + column);
        [&self.outer[..], &[row, column]].concat()
    }

    /// The position of a row of the tile. Those that fill up the last group stand for the last.
    fn row(&self, w: &mut KernelWriter, row: Id) -> Id {
        let one = w.number(1);
        let last = w.value(self.rows.1 - one);
        let row = w.value(self.rows.0 + row);
        w.value(row.least(last))
    }

    fn load(&self, w: &mut KernelWriter, index: &[Id]) -> Vec<Id> {
        let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: index.to_vec() }, ty);
        self.sums.iter().zip(&self.tys).map(load).collect()
    }

    /// What becomes of the sums.
    fn finish<'g>(&self, w: &mut KernelWriter<'_, 'g>, product: &Product<'g>, homes: &[MemId]) {
        let [row, column] = [0, 1].map(|n| product.body.params[self.outer.len() + n].id);
        let before = product.before_results();
        w.for_each(self.rows.0, self.rows.1, 1, (vec![], &[]), |w, i, _| {
            w.lanes(self.columns.0, self.columns.1, |w, j| {
                w.set_scalar(row, i);
                w.set_scalar(column, j);
                let place = vec![w.value(i - self.rows.0), w.value(j - self.columns.0)];
                let sums = self.load(w, &place);
                w.lane_stmts(before);
                for (bind, value) in product.fold.binds.iter().zip(sums) {
                    w.set_scalar(bind.id, value);
                }
                w.lane_stmts(product.after);
                let values = w.all_scalars(&product.body.results);
                let at: Vec<Id> = [&self.outer[..], &[i, j]].concat();
                for (&memory, value) in homes.iter().zip(values) {
                    w.store(memory, at.clone(), value);
                }
            });
            vec![]
        });
    }
}
