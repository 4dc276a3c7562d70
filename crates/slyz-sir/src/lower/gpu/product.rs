//! Products of matrices, and whatever else folds values of rows with values of columns: slabs in shared memory, and squares of
//! sums in registers.
//!
//! A block makes a tile of results, a thread of it some rows by as many columns, in runs of four, which drivers fetch from shared
//! memory at once. For a few turns of the fold at a time (a slab), the threads of the block compute the values of the
//! tile's rows and columns, each once, standing in the order in which memory is read; then every thread folds them into its
//! sums. Code behind the fold runs on the sums in the same kernel.
//!
//! Past an edge of the result a thread computes what the last row or column does and stores nothing. Past the end of the fold
//! nothing is folded at all: there is no value that every monoid could take for nothing (0 · ∞ is none).

use super::plan::Gpu;
use super::tiles::{Cut, Tile, Tiles};
use crate::code::{Body, Id, MemId, Op, Place, Stmt};
use crate::kernel::{Access, Factor, MatrixProduct, Space};
use crate::lower::PIECE;
use crate::lower::access::far_reads;
use crate::lower::matrices::{End, Matrices, Matrix};
use crate::lower::planning::Lowering;
use crate::lower::product::Product;
use crate::lower::writer::{KernelWriter, is_exact};
use crate::ops::Operator;
use crate::pass::fuse::cost;
use crate::size::Size;
use crate::types::Ty;
use crate::verify;
use crate::write::{Arithmetic, Write as _};

/// Threads of a block at most, and at least: with fewer a tile is too small to pay.
const THREADS: [u32; 2] = [256, 16];
/// Rows and columns of a result below which threads work alone.
const SMALL: u64 = 32;
/// Turns of the fold below which they do.
const SHORT: u64 = 8;
/// Rows and columns of a result above which threads make more of them: there are tiles enough for every core.
const LARGE: u64 = 2048;
/// Turns of the fold up to which they do: there are no registers left for sums of pieces.
const LONG: u64 = 4096;
/// Rows, and columns, of a thread that lie side by side.
const RUN: u64 = 4;
/// Turns of a whole slab that are written out one after the other; slabs are multiples of it.
const AT_ONCE: u64 = 4;
/// What the code behind the fold may cost to be written out for every result of a thread.
const CHEAP: u64 = 16;

/// How a block goes about its tile.
#[derive(Clone, Copy)]
struct TileShape {
    /// Threads across the tile (along columns of the result), and down.
    across: u64,
    down: u64,
    /// Rows, and columns, of a thread.
    each: u64,
    /// Turns of the fold in a slab.
    depth: u64,
}

impl TileShape {
    /// The largest that the machine has room for.
    fn fit(product: &Product, threads: u32, large: bool, shared_bytes: u64) -> Option<TileShape> {
        let [most, least] = THREADS;
        let threads = threads.min(most);
        if threads < least {
            return None;
        }
        let log = threads.ilog2();
        let across = 1 << log.div_ceil(2);
        let down = 1 << (log / 2);
        let each = if large && threads == most { [8, 4] } else { [4, 4] };
        let forms = each.into_iter().flat_map(|each| [16, 8, 4].map(|depth| TileShape { across, down, each, depth }));
        forms.into_iter().find(|form| form.bytes(product) <= shared_bytes)
    }

    fn bytes(&self, product: &Product) -> u64 {
        let side = |values: &[(Id, Ty)], places: [u64; 2]| -> u64 {
            // A backend may give an element a word of its own.
            values.iter().map(|(_, ty)| places[0] * places[1] * (ty.bytes() as u64).max(4)).sum()
        };
        side(&product.left, self.places(self.rows())) + side(&product.right, self.places(self.columns()))
    }

    fn rows(&self) -> u64 {
        self.down * self.each
    }

    fn columns(&self) -> u64 {
        self.across * self.each
    }

    fn threads(&self) -> u64 {
        self.across * self.down
    }

    /// The shape of one value's slab: turns by rows (or columns). A run more, so that threads that stand along the turns meet
    /// few banks twice, and runs start at multiples of their length.
    fn places(&self, side: u64) -> [u64; 2] {
        [self.depth, side + RUN]
    }

    /// Sums of floats are made in pieces.
    fn makes_pieces(&self) -> bool {
        self.each == RUN
    }
}

impl<'g> Gpu<'g> {
    /// Writes a tabulate that is a product. `false` if it is none; then nothing was written.
    pub(super) fn product(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body) -> bool {
        let gives_arrays = stmt.binds[0].ty.shape().len() > shape.len();
        let ([outer @ .., rows, columns], false) = (shape, gives_arrays) else { return false };
        let Some(product) = Product::of(body) else { return false };
        let about = |size: &Size| self.expected.about(size);
        // A class of sizes is named by its largest.
        let small = |size: &Size, least: u64| match size.constant() {
            Some(n) => n < least,
            None => about(size).is_some_and(|n| n <= least),
        };
        if small(rows, SMALL) || small(columns, SMALL) || small(product.extent, SHORT) {
            return false;
        }
        let short = about(product.extent).is_some_and(|n| n <= LONG);
        let large = short && [rows, columns].into_iter().all(|size| about(size).is_some_and(|n| n >= LARGE));
        let word = |tys: &[(Id, Ty)]| tys.len() == 1 && tys[0].1.bytes() <= 4;
        let slim = word(&product.left) && word(&product.right) && product.fold.binds.len() == 1;
        let large = large && slim && self.machine.choice.product >= 8;
        let form = TileShape::fit(&product, self.machine.threads(), large, self.machine.shared_bytes);
        let Some(form) = form else { return false };

        let outputs = self.base.outputs(stmt);
        let name = self.base.kernel_name("product");
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        w.bind_globals(&stmt.op);
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.kernel.block = [form.threads() as u32, 1, 1];
        let mut slabs = |what: &str, values: &[(Id, Ty)], side: u64| -> Vec<MemId> {
            values.iter().map(|&(_, ty)| w.near_memory(what, ty, Space::Shared, &form.places(side))).collect()
        };
        let left = slabs("left", &product.left, form.rows());
        let right = slabs("right", &product.right, form.columns());
        let tys = w.types_of(&product.monoid.combine);
        let dear = cost(&Body { stmts: product.after.to_vec(), ..Body::default() }) > CHEAP;
        let sums = if dear {
            let places = [form.each, form.each];
            tys.iter().map(|&ty| w.near_memory("sums", ty, Space::Local, &places)).collect()
        } else {
            vec![]
        };
        let neutral = w.all_scalars(&product.monoid.neutral);
        let grid = Tiles {
            x: Cut { extent: columns, length: form.columns() },
            y: Cut { extent: rows, length: form.rows() },
            others: outer,
        };
        let block = Block { product: &product, form, grid: &grid, left, right, sums, homes, tys, neutral };
        grid.each(&mut w, &self.machine, &self.expected, |w, tile| block.write(w, tile));
        if self.machine.has_products {
            w.kernel.product = matrices(&self.base, &product, &mut w, &block.homes);
        }
        let kernel = w.finish();
        self.base.launch(kernel);
        true
    }
}

/// What the product is to a library, in memories of the kernel.
pub(super) fn matrices<'g>(
    lowering: &Lowering<'g>,
    product: &Product<'g>,
    w: &mut KernelWriter<'_, 'g>,
    homes: &[MemId],
) -> Option<MatrixProduct> {
    let Matrices { left, right, end: End { scale, bias, activation }, bytes } = Matrices::of(lowering, product)?;
    let [result] = *homes else { return None };
    let mut factor = |matrix: Matrix| Some(Factor { memory: w.whole_memory(matrix.array)?, turned: matrix.turned });
    let left = factor(left)?;
    let right = factor(right)?;
    let bias = match bias {
        Some(array) => Some(w.whole_memory(array)?),
        None => None,
    };
    let found = MatrixProduct { result, left, right, scale, bias, activation, bytes };
    // A library takes whole matrices: of one that is read in part, or whose extents are equal in this call only, it would make another product.
    let left = &w.kernel.memories.get(found.left.memory.0 as usize)?.shape;
    let along = left.get(left.len().checked_sub(if found.left.turned { 2 } else { 1 })?)?;
    let whole = along == product.extent && verify::matrix_product(&w.kernel, &found).is_ok();
    whole.then_some(found)
}

/// How a block makes a tile of results.
struct Block<'a, 'g> {
    product: &'a Product<'g>,
    form: TileShape,
    grid: &'a Tiles<'a>,
    /// The slabs.
    left: Vec<MemId>,
    right: Vec<MemId>,
    /// The finished sums of a thread, where the code behind the fold goes through them in a loop.
    sums: Vec<MemId>,
    homes: Vec<MemId>,
    tys: Vec<Ty>,
    neutral: Vec<Id>,
}

/// Where a thread stands in the tile: the first of its rows and columns.
struct Stand {
    thread: Id,
    row: Id,
    column: Id,
}

/// One of the two factors.
struct Side<'a, 'g> {
    memories: &'a [MemId],
    values: &'a [(Id, Ty)],
    /// The position of the tabulate that it depends on, where its tile starts, and the axis.
    position: Id,
    start: Id,
    cut: &'a Cut<'a>,
    stmts: Vec<&'g Stmt>,
}

impl<'g> Block<'_, 'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile) {
        let thread = w.push(Op::Place(Place::Local, 0), Ty::I64);
        let across = w.number(self.form.across as i64);
        let run = w.number(RUN as i64);
        let [row, column] = [Operator::Div, Operator::Rem].map(|operator| {
            let place = w.value(thread.with(operator, across));
            w.value(place * run)
        });
        let stand = Stand { thread, row, column };
        for (param, &id) in self.product.body.params.iter().zip(&tile.others) {
            w.set_scalar(param.id, id);
        }
        let sums = self.fold(w, tile, &stand);
        self.finish(w, tile, &stand, &sums);
    }

    /// All sums of a thread. Long sums of floats are made in pieces: the error grows with the piece, not the whole.
    fn fold(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, stand: &Stand) -> Vec<Id> {
        let many = (self.form.each * self.form.each) as usize;
        let tys = self.tys.repeat(many);
        let init = self.neutral.repeat(many);
        let sides = self.sides(tile);
        let zero = w.number(0);
        let end = w.extent(self.product.extent);
        let depth = self.form.depth as i64;
        let slabs = |w: &mut KernelWriter<'_, 'g>, [lo, hi]: [Id; 2]| {
            w.for_each(lo, hi, depth, (init.clone(), &tys), |w, start, sums| {
                self.fill(w, stand, &sides, start);
                w.barrier();
                let sums = self.slab(w, tile, stand, [start, hi], sums);
                w.barrier();
                sums
            })
        };
        let short = self.product.extent.constant().is_some_and(|n| n <= PIECE as u64);
        if short || !self.form.makes_pieces() || w.makes_plain_sums() || is_exact(self.product.monoid, &self.tys) {
            return slabs(w, [zero, end]);
        }
        w.for_each(zero, end, PIECE, (init.clone(), &tys), |w, start, sums| {
            let length = w.number(PIECE);
            let stop = w.value(start + length);
            let stop = w.value(stop.least(end));
            let parts = slabs(w, [start, stop]);
            let many = self.tys.len();
            let both = sums.chunks(many).zip(parts.chunks(many));
            both.flat_map(|(sum, part)| w.combine(self.product.monoid, sum, part)).collect()
        })
    }

    fn sides(&self, tile: &Tile) -> [Side<'_, 'g>; 2] {
        let [.., row, column] = &self.product.body.params[..] else { unreachable!("a product has rows and columns") };
        let stmts = |values: &[(Id, Ty)]| {
            let ids: Vec<Id> = values.iter().map(|(id, _)| *id).collect();
            self.product.slice(&ids, false)
        };
        let left = &self.product.left[..];
        let right = &self.product.right[..];
        [
            Side {
                memories: &self.left,
                values: left,
                position: row.id,
                start: tile.y,
                cut: &self.grid.y,
                stmts: stmts(left),
            },
            Side {
                memories: &self.right,
                values: right,
                position: column.id,
                start: tile.x,
                cut: &self.grid.x,
                stmts: stmts(right),
            },
        ]
    }

    /// Fills the slabs from turn `start` on. Everything is read before anything is kept.
    fn fill(&self, w: &mut KernelWriter<'_, 'g>, stand: &Stand, sides: &[Side<'_, 'g>; 2], start: Id) {
        let mut found = vec![];
        let turns = Cut { extent: self.product.extent, length: self.form.depth };
        for side in sides {
            let code = Body { stmts: side.stmts.iter().map(|s| (*s).clone()).collect(), ..Body::default() };
            // Threads stand along the turns, or along the rows or columns, whichever memory is read in.
            let along_turns = far_reads(&code, self.product.inner) < far_reads(&code, side.position);
            let (depth, length) = (self.form.depth, side.cut.length);
            let inner = w.number(if along_turns { depth } else { length } as i64);
            let low = w.value(stand.thread % inner);
            let high = w.value(stand.thread / inner);
            let step = self.form.threads() / if along_turns { depth } else { length };
            for n in 0..depth * length / self.form.threads() {
                let skipped = w.number((n * step) as i64);
                let high = w.value(high + skipped);
                let (turn, place) = if along_turns { (low, high) } else { (high, low) };
                let position = w.value(side.start + place);
                let position = side.cut.inside(w, position);
                let here = w.value(start + turn);
                let here = turns.inside(w, here);
                w.set_scalar(side.position, position);
                w.set_scalar(self.product.inner, here);
                w.lane_stmts(side.stmts.iter().copied());
                for (&memory, &(id, _)) in side.memories.iter().zip(side.values) {
                    found.push((memory, vec![turn, place], w.scalar(id)));
                }
            }
        }
        for (memory, at, value) in found {
            w.store(memory, at, value);
        }
    }

    /// Folds a slab into the sums: all of it, or what there is of it at the end.
    fn slab(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        tile: &Tile,
        stand: &Stand,
        [start, end]: [Id; 2],
        sums: &[Id],
    ) -> Vec<Id> {
        let zero = w.number(0);
        let depth = w.number(self.form.depth as i64);
        let tys = self.tys.repeat(sums.len() / self.tys.len());
        let turns = |w: &mut KernelWriter<'_, 'g>, count: Id, at_once: u64| {
            w.for_each(zero, count, at_once as i64, (sums.to_vec(), &tys), |w, first, sums| {
                (0..at_once).fold(sums.to_vec(), |sums, n| {
                    let skipped = w.number(n as i64);
                    let turn = w.value(first + skipped);
                    self.turn(w, tile, stand, start, turn, &sums)
                })
            })
        };
        if (Cut { extent: self.product.extent, length: self.form.depth }).is_even() {
            return turns(w, depth, AT_ONCE);
        }
        let left = w.value(end - start);
        let is_whole = w.push(Op::Apply(Operator::Ge, vec![left, depth]), Ty::Bool);
        w.branch(is_whole, &tys, |w| turns(w, depth, AT_ONCE), |w| turns(w, left, 1))
    }

    /// One turn of the fold, for all sums of a thread.
    fn turn(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        tile: &Tile,
        stand: &Stand,
        start: Id,
        turn: Id,
        sums: &[Id],
    ) -> Vec<Id> {
        let [.., row, column] = &self.product.body.params[..] else { unreachable!("a product has rows and columns") };
        let mixed = self.product.slice(&self.product.item.results, true);
        let here = w.value(start + turn);
        w.set_scalar(self.product.inner, here);
        let load = |w: &mut KernelWriter<'_, 'g>, memories: &[MemId], values: &[(Id, Ty)], first: Id, step: u64| {
            let all = (0..self.form.each).map(|n| {
                let at = self.place(w, first, n, step);
                let load =
                    |(&memory, &(_, ty)): (&MemId, &(Id, Ty))| w.push(Op::Load { memory, index: vec![turn, at] }, ty);
                (at, memories.iter().zip(values).map(load).collect())
            });
            all.collect::<Vec<(Id, Vec<Id>)>>()
        };
        let rows = load(w, &self.left, &self.product.left, stand.row, self.form.down);
        let columns = load(w, &self.right, &self.product.right, stand.column, self.form.across);
        let mut sums = sums.chunks(self.tys.len());
        let mut next = vec![];
        for (place, values) in &rows {
            let position = w.value(tile.y + *place);
            w.set_scalar(row.id, position);
            for (&(id, _), &value) in self.product.left.iter().zip(values) {
                w.set_scalar(id, value);
            }
            for (place, values) in &columns {
                let position = w.value(tile.x + *place);
                w.set_scalar(column.id, position);
                for (&(id, _), &value) in self.product.right.iter().zip(values) {
                    w.set_scalar(id, value);
                }
                w.lane_stmts(mixed.iter().copied());
                let items = w.all_scalars(&self.product.item.results);
                let sum = sums.next().unwrap_or_default();
                next.extend(w.accumulate(self.product.monoid, sum, &items));
            }
        }
        next
    }

    /// The place in the tile of a thread's row, or column, number `n`: runs of all threads, then the next run of each.
    fn place(&self, w: &mut KernelWriter<'_, 'g>, first: Id, n: u64, step: u64) -> Id {
        let skipped = w.number((n / RUN * RUN * step + n % RUN) as i64);
        w.value(first + skipped)
    }

    /// What becomes of the sums.
    fn finish(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, stand: &Stand, sums: &[Id]) {
        let each = self.form.each;
        if !self.sums.is_empty() {
            return self.finish_in_loops(w, tile, stand, sums);
        }
        let mut sums = sums.chunks(self.tys.len());
        let mut made = vec![];
        for r in 0..each {
            let row = self.place(w, stand.row, r, self.form.down);
            let row = w.value(tile.y + row);
            for c in 0..each {
                let column = self.place(w, stand.column, c, self.form.across);
                let column = w.value(tile.x + column);
                let at = [self.grid.y.inside(w, row), self.grid.x.inside(w, column)];
                let sum = sums.next().unwrap_or_default();
                made.push(([row, column], self.results(w, at, sum)));
            }
        }
        for (at, values) in made {
            self.when_inside(w, at, |w| self.store(w, tile, at, &values));
        }
    }

    /// The same for code that is too long to be written out for each of them.
    fn finish_in_loops(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, stand: &Stand, sums: &[Id]) {
        let each = self.form.each;
        for (n, sum) in (0..).zip(sums.chunks(self.tys.len())) {
            let at = [n / each, n % each].map(|k| w.number(k as i64));
            for (&memory, &value) in self.sums.iter().zip(sum) {
                w.store(memory, at.to_vec(), value);
            }
        }
        let zero = w.number(0);
        let end = w.number(each as i64);
        let place = |w: &mut KernelWriter<'_, 'g>, [start, first, k]: [Id; 3], step: u64| {
            let run = w.number(RUN as i64);
            let skip = w.number((RUN * step) as i64);
            let number = w.value(k / run);
            let inside = w.value(k % run);
            let skipped = w.value(number * skip);
            let first = w.value(first + skipped);
            let place = w.value(first + inside);
            w.value(start + place)
        };
        w.for_each(zero, end, 1, (vec![], &[]), |w, r, _| {
            let row = place(w, [tile.y, stand.row, r], self.form.down);
            w.for_each(zero, end, 1, (vec![], &[]), |w, c, _| {
                let column = place(w, [tile.x, stand.column, c], self.form.across);
                let at = [row, column];
                self.when_inside(w, at, |w| {
                    let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: vec![r, c] }, ty);
                    let sum: Vec<Id> = self.sums.iter().zip(&self.tys).map(load).collect();
                    let values = self.results(w, at, &sum);
                    self.store(w, tile, at, &values);
                });
                vec![]
            });
            vec![]
        });
    }

    /// The results at a position.
    fn results(&self, w: &mut KernelWriter<'_, 'g>, at: [Id; 2], sum: &[Id]) -> Vec<Id> {
        let product = self.product;
        for (param, id) in product.body.params.iter().rev().zip([at[1], at[0]]) {
            w.set_scalar(param.id, id);
        }
        w.lane_stmts(product.before_results());
        for (bind, &value) in product.fold.binds.iter().zip(sum) {
            w.set_scalar(bind.id, value);
        }
        w.lane_stmts(product.after);
        w.all_scalars(&product.body.results)
    }

    fn store(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, at: [Id; 2], values: &[Id]) {
        for (&memory, &value) in self.homes.iter().zip(values) {
            w.store(memory, [&tile.others[..], &at].concat(), value);
        }
    }

    fn when_inside(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        [row, column]: [Id; 2],
        write: impl FnOnce(&mut KernelWriter<'_, 'g>),
    ) {
        let inside = [self.grid.y.is_inside(w, row), self.grid.x.is_inside(w, column)];
        w.when_all(inside, write);
    }
}
