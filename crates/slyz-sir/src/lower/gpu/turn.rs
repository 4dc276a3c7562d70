//! Transposes, and whatever else reads an array across the order in which it writes: through a tile in shared memory.
//!
//! In `tabulate (i, j) { f(a[j, i], …) }` neighbouring threads write neighbouring elements, and so read a column of `a`. A block
//! takes a square of 32 × 32 positions instead, of large arrays 64 × 64. First its threads stand across, so that neighbours read along a row of
//! `a`, and put what they read into the tile; then they stand as they write, and find it there. Rows of the tile have a place more, so that
//! neither of the two ways meets a bank twice. Blocks follow each other along the results. A thread has several positions: all its reads are on their way before the first is
//! waited for.
//!
//! A read is turned if it always happens and its place is computed without reading: that is computed for the position of
//! the thread as it stands when it reads, so shifted and clamped places are as good as plain ones. Other reads stay where they are.

use super::plan::Gpu;
use super::tiles::{Cut, Tile, Tiles};
use crate::code::{Body, Id, MemId, Op, Place, Stmt};
use crate::kernel::{Access, Space};
use crate::lower::access::{Step, is_plain, reads};
use crate::lower::writer::KernelWriter;
use crate::pass::fuse::cost;
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;
use std::collections::HashSet;

/// Positions of a tile on either axis.
const SIDE: u64 = 32;
/// The same of large arrays: 16384 × 16384 numbers of `f32` take 0.533 ms on an H200 this way, and 0.557 by squares of 32.
const LARGE_SIDE: u64 = 64;
/// The extent of both axes from which on such tiles are many enough.
const LARGE: u64 = 2_048;
/// Rows of threads of a block, if the machine allows; each makes every so many rows of the tile.
const ROWS: u64 = 8;
/// The extent of an axis below which most of a tile would be empty.
const NARROW: u64 = 16;
/// What the code of a position may cost to be written out for each position of a thread.
const CHEAP: u64 = 64;

/// The reads of a tabulate that go through tiles.
struct Turn<'g> {
    /// The axis that the reads run along.
    axis: usize,
    reads: Vec<Read<'g>>,
    /// The statements that are no such reads.
    rest: Vec<&'g Stmt>,
}

/// One of them.
struct Read<'g> {
    stmt: &'g Stmt,
    /// What computes the place.
    place: Vec<&'g Stmt>,
    ty: Ty,
}

impl Read<'_> {
    fn tile_bytes(&self, side: u64) -> u64 {
        side * (side + 1) * (self.ty.bytes() as u64).max(4)
    }
}

impl<'g> Turn<'g> {
    /// The reads that run along one axis, the one with the most of them, and across the innermost.
    fn of(body: &'g Body, wide: &dyn Fn(usize) -> bool) -> Option<Turn<'g>> {
        let last = body.params.len().checked_sub(1)?;
        if !wide(last) || !body.stmts.iter().all(|s| is_scalar(&s.op)) {
            return None;
        }
        let across = reads(body, body.params[last].id);
        let along = |axis: usize| {
            let along = reads(body, body.params[axis].id);
            let turned = |stmt: &&'g Stmt| {
                let step = |steps: &std::collections::HashMap<Id, Step>| steps.get(&stmt.binds[0].id).copied();
                matches!(stmt.op, Op::At { .. }) && step(&across) == Some(Step::Far) && step(&along) == Some(Step::Unit)
            };
            let found: Vec<&Stmt> = body.stmts.iter().filter(turned).collect();
            let reads = found.into_iter().filter_map(|stmt| {
                let place = place_of(body, stmt)?;
                Some(Read { stmt, place, ty: stmt.binds[0].ty.elem() })
            });
            (axis, reads.collect::<Vec<Read>>())
        };
        let axes = (0..last).filter(|&axis| wide(axis)).map(along);
        // Of two axes with as many reads the inner one, whose tiles are nearer to each other.
        let (axis, reads) = axes.max_by_key(|(_, reads)| reads.len()).filter(|(_, reads)| !reads.is_empty())?;
        Some(Turn { axis, reads, rest: vec![] })
    }

    /// Leaves out the reads that there is no room for. `false` if none is left.
    fn fit(&mut self, body: &'g Body, shared_bytes: u64) -> bool {
        let tile = |read: &Read| read.tile_bytes(SIDE);
        let mut used = 0;
        self.reads.retain(|read| {
            let fits = used + tile(read) <= shared_bytes;
            used += if fits { tile(read) } else { 0 };
            fits
        });
        let turned = |stmt: &&'g Stmt| self.reads.iter().any(|read| std::ptr::eq(read.stmt, *stmt));
        self.rest = body.stmts.iter().filter(|stmt| !turned(stmt)).collect();
        !self.reads.is_empty()
    }
}

/// Code that works on scalars, loops included.
fn is_scalar(op: &Op) -> bool {
    let inside = || op.bodies().iter().all(|b| b.stmts.iter().all(|s| is_scalar(&s.op)));
    let makes = matches!(op, Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Sort { .. });
    !makes && !matches!(op, Op::Fold { .. }) && inside()
}

/// The statements that compute where something is read, if they are plain arithmetic.
fn place_of<'g>(body: &'g Body, read: &Stmt) -> Option<Vec<&'g Stmt>> {
    let mut wanted = HashSet::new();
    read.op.each_operand(&mut |id| {
        wanted.insert(id);
    });
    let mut found = vec![];
    for stmt in body.stmts.iter().rev().filter(|s| !std::ptr::eq(*s, read)) {
        if !stmt.binds.iter().any(|b| wanted.contains(&b.id)) {
            continue;
        }
        match &stmt.op {
            Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) => {}
            _ => return None,
        }
        stmt.op.each_operand(&mut |id| {
            wanted.insert(id);
        });
        found.push(stmt);
    }
    found.reverse();
    Some(found)
}

impl<'g> Gpu<'g> {
    /// Writes a tabulate whose reads are to be turned. `false` if it has none; then nothing was written.
    pub(super) fn turned(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body) -> bool {
        let gives_arrays = stmt.binds[0].ty.shape().len() > shape.len();
        let threads = u64::from(self.machine.threads());
        if gives_arrays || threads < SIDE {
            return false;
        }
        let wide = |axis: usize| match shape[axis].constant() {
            Some(n) => n >= NARROW,
            None => self.expected.about(&shape[axis]).is_none_or(|n| n > SIDE),
        };
        let Some(mut turn) = Turn::of(body, &wide) else { return false };
        if !turn.fit(body, self.machine.shared_bytes) {
            return false;
        }
        let side = self.side_of_tile(&turn, shape);
        let rows = [ROWS, 4, 2, 1].into_iter().find(|rows| rows * side <= threads).unwrap_or(1);
        let outputs = self.base.outputs(stmt);
        let name = self.base.kernel_name("turn");
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        w.bind_globals(&stmt.op);
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.kernel.block = [side as u32, rows as u32, 1];
        let places = [side, side + 1];
        let tiles: Vec<MemId> =
            turn.reads.iter().map(|read| w.near_memory("tile", read.ty, Space::Shared, &places)).collect();
        let last = shape.len() - 1;
        let axis = turn.axis;
        let others: Vec<Size> = (0..last).filter(|&k| k != axis).map(|k| shape[k].clone()).collect();
        let cut = |extent| Cut { extent, length: side };
        let grid = Tiles { x: cut(&shape[last]), y: cut(&shape[axis]), others: &others };
        let square = Square { turn: &turn, body, grid: &grid, side, rows, tiles: &tiles, homes: &homes };
        grid.each(&mut w, &self.machine, &self.expected, |w, tile| square.write(w, tile));
        let kernel = w.finish();
        self.base.launch(kernel);
        true
    }

    /// Positions of a tile on either axis.
    fn side_of_tile(&self, turn: &Turn<'_>, shape: &[Size]) -> u64 {
        let long = |axis: usize| self.expected.about(&shape[axis]).is_some_and(|n| n >= LARGE);
        let threads = u64::from(self.machine.threads());
        let bytes: u64 = turn.reads.iter().map(|read| read.tile_bytes(LARGE_SIDE)).sum();
        // Several blocks share a core.
        let fits = bytes <= self.machine.shared_bytes / 2 && threads >= 4 * LARGE_SIDE && !self.machine.is_small();
        if fits && long(turn.axis) && long(shape.len() - 1) { LARGE_SIDE } else { SIDE }
    }
}

/// How a block makes a square of results.
struct Square<'a, 'g> {
    turn: &'a Turn<'g>,
    body: &'g Body,
    grid: &'a Tiles<'a>,
    /// Positions of a tile on either axis, and rows of threads.
    side: u64,
    rows: u64,
    tiles: &'a [MemId],
    homes: &'a [MemId],
}

impl<'g> Square<'_, 'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile) {
        let [column, row] = [0, 1].map(|d| w.push(Op::Place(Place::Local, d), Ty::I64));
        let turns = self.side / self.rows;
        let row_of = |w: &mut KernelWriter<'_, 'g>, turn: u64| {
            let skipped = w.number((turn * self.rows) as i64);
            w.value(row + skipped)
        };

        // Along the axis of the reads.
        let y = w.value(tile.y + column);
        let y = self.grid.y.inside(w, y);
        let mut found = vec![];
        for turn in 0..turns {
            let row = row_of(w, turn);
            let x = w.value(tile.x + row);
            let x = self.grid.x.inside(w, x);
            for (read, &memory) in self.turn.reads.iter().zip(self.tiles) {
                self.stand(w, tile, [x, y]);
                w.lane_stmts(read.place.iter().copied().chain([read.stmt]));
                found.push((memory, row, w.scalar(read.stmt.binds[0].id)));
            }
        }
        for (memory, row, value) in found {
            w.store(memory, vec![row, column], value);
        }
        w.barrier();

        // Along the results.
        let x = w.value(tile.x + column);
        let x_inside = self.grid.x.is_inside(w, x);
        if !is_plain(self.body) || cost(self.body) > CHEAP {
            let end = w.number(self.side as i64);
            w.for_each(row, end, self.rows as i64, (vec![], &[]), |w, row, _| {
                let y = w.value(tile.y + row);
                let y_inside = self.grid.y.is_inside(w, y);
                w.when_all([x_inside, y_inside], |w| {
                    let values = self.results(w, tile, [x, y], [row, column]);
                    self.store(w, &values);
                });
                vec![]
            });
            return;
        }
        let at_x = self.grid.x.inside(w, x);
        let mut made = vec![];
        for turn in 0..turns {
            let row = row_of(w, turn);
            let y = w.value(tile.y + row);
            let at_y = self.grid.y.inside(w, y);
            made.push((y, self.results(w, tile, [at_x, at_y], [row, column])));
        }
        for (y, values) in made {
            let y_inside = self.grid.y.is_inside(w, y);
            w.when_all([x_inside, y_inside], |w| {
                self.stand(w, tile, [x, y]);
                self.store(w, &values);
            });
        }
    }

    /// Gives the parameters of the body the position of a thread.
    fn stand(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, [x, y]: [Id; 2]) {
        let (last, outer) = self.body.params.split_last().expect("a tabulate has an axis");
        let mut others = tile.others.iter();
        for (axis, param) in outer.iter().enumerate() {
            let other = if axis == self.turn.axis { Some(&y) } else { others.next() };
            if let Some(&position) = other {
                w.set_scalar(param.id, position);
            }
        }
        w.set_scalar(last.id, x);
    }

    /// The results at a position, with what was read for it from its place in the tiles.
    fn results(&self, w: &mut KernelWriter<'_, 'g>, tile: &Tile, [x, y]: [Id; 2], [row, column]: [Id; 2]) -> Vec<Id> {
        self.stand(w, tile, [x, y]);
        for (read, &memory) in self.turn.reads.iter().zip(self.tiles) {
            let value = w.push(Op::Load { memory, index: vec![column, row] }, read.ty);
            w.set_scalar(read.stmt.binds[0].id, value);
        }
        w.lane_stmts(self.turn.rest.iter().copied());
        w.all_scalars(&self.body.results)
    }

    fn store(&self, w: &mut KernelWriter<'_, 'g>, values: &[Id]) {
        let at = w.all_scalars(&self.body.params.iter().map(|p| p.id).collect::<Vec<_>>());
        for (&memory, &value) in self.homes.iter().zip(values) {
            w.store(memory, at.clone(), value);
        }
    }
}
