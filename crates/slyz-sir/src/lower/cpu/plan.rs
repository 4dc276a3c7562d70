//! One kernel, or a few, per array operation of the top level, strung together in a plan.

use super::product;
use super::{
    CHUNK, MOST_IN_ONE_KERNEL, ROWS_AT_ONCE, RUN, SHORT, STRIP, STRIP_LEVELS, STRIP_RUN, TILE_COLUMNS, TILE_ROWS,
};
use crate::code::{Body, Id, MemId, Monoid, Op, Stmt, Type};
use crate::kernel::{Access, BufferId, BufferUse, Plan};
use crate::lower::Choice;
use crate::lower::access::{far_reads, go_apart, is_flat, is_plain, needs_block, streams_rows};
use crate::lower::leading::Leading;
use crate::lower::planning::{Lowering, is_cheap, piece, unflatten};
use crate::lower::raw;
use crate::lower::stage::staged;
use crate::lower::turns::{self, Strategy, Values};
use crate::lower::untile::Untiled;
use crate::lower::writer::{KernelWriter, Mode, goes_along_rows};
use crate::ops::Operator;
use crate::pass::{After, CPU_PASSES, Selection, on_plan};
use crate::program::Program;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// Does the plan for the CPU make all folds that round in the canonical order? Then it gives the interpreter's bits, as far as
/// its operators do. Those of a single axis at the top level and along rows of memory are; what is folded down columns,
/// by lanes that have a result each, or as a product of matrices is not.
pub fn keeps_order(program: &Program) -> bool {
    !written(&staged(program), Choice::USUAL).regroups.get()
}

fn written(program: &Program, choice: Choice) -> Lowering<'_> {
    let mut lowering = Lowering::new(program);
    lowering.choice = choice;
    lowering.short = SHORT;
    lowering.leading = Leading::of(program);
    lowering.has_prefixes = true;
    for stmt in &program.body.stmts {
        lowering.stmt(stmt);
    }
    lowering
}

/// Turns a verified program into a plan for the CPU.
pub fn lower(program: &Program) -> Plan {
    lower_with(program, Choice::USUAL, &Selection::All, &mut |_, _| {})
}

/// The same with other choices and selected passes; `after` sees the plan as it is written, and behind every one.
pub fn lower_with(program: &Program, choice: Choice, selection: &Selection, after: After<'_, Plan>) -> Plan {
    let mut plan = written(&staged(program), choice).finish();
    after("lower", &plan);
    on_plan(&mut plan, CPU_PASSES, 1, selection, after);
    plan
}

impl<'g> Lowering<'g> {
    fn stmt(&mut self, stmt: &'g Stmt) {
        match &stmt.op {
            _ if self.untiles.makes_tiles(stmt) => {}
            _ if let Some(untiled) = self.untiles.whole(stmt) => self.tabulate_untiled(stmt, &untiled),
            Op::Tabulate { shape, body } => self.tabulate(stmt, shape, body),
            Op::Fold { shape, body, monoid } => self.fold(stmt, shape, body, monoid),
            Op::Scan { shape, body, monoid } => self.scan(stmt, shape, body, monoid),
            Op::Scatter { .. } => self.scatter(stmt),
            Op::Sort { .. } => self.sort(stmt),
            Op::For { .. } | Op::While { .. } if stmt.carries_arrays() => turns::plan_loop(self, stmt),
            Op::Filter { extent, body, kept } => self.filter(stmt, extent, body, *kept),
            Op::Raw(call) => raw::plan(self, stmt, call),
            op if is_cheap(op) && self.leave(stmt) => {}
            _ => self.scalars(stmt),
        }
    }

    fn tabulate(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body) {
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let gives_arrays = stmt.binds[0].ty.shape().len() > shape.len();
        let outputs = self.outputs(stmt);
        if !gives_arrays
            && self.choice.matmul
            && let Some(product) = product::of(shape, body)
        {
            return self.tabulate_product(stmt, shape, product, outputs);
        }
        let lane = positions.last().copied();
        if gives_arrays || self.needs_block(body) {
            let open = if gives_arrays { vec![] } else { open_folds(body) };
            let short = |shape: &[Size]| self.is_short(shape) || matches!(shape, [extent] if open.contains(extent));
            if open.is_empty() || needs_block(body, lane, &short) {
                return self.tabulate_blocks(stmt, shape, body, outputs);
            }
            return self.tabulate_either_way(stmt, shape, body, open, outputs);
        }
        self.tabulate_lanes(stmt, shape, body, outputs);
    }

    /// A block for each position, or a lane where that is short work: sizes decide.
    fn tabulate_either_way(
        &mut self,
        stmt: &'g Stmt,
        shape: &'g [Size],
        body: &'g Body,
        open: Vec<Size>,
        outputs: Vec<(BufferId, Vec<Size>)>,
    ) {
        let work = open.iter().fold(Size::Const(0), |sum, extent| sum + extent.clone());
        let lanes = |l: &mut Self| {
            l.short_here = open;
            l.tabulate_lanes(stmt, shape, body, outputs.clone());
            l.short_here = vec![];
        };
        self.choose(work, SHORT, lanes, |l| l.tabulate_blocks(stmt, shape, body, outputs.clone()));
    }

    /// A lane for each position.
    fn tabulate_lanes(
        &mut self,
        stmt: &'g Stmt,
        shape: &'g [Size],
        body: &'g Body,
        outputs: Vec<(BufferId, Vec<Size>)>,
    ) {
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let (last, outer) = shape.split_last().expect("a tabulate has an axis");
        if let Some(fold) = row_fold(body, &positions) {
            return self.tabulate_strips(stmt, (outer, last), body, fold, outputs);
        }
        if self.choice.tiling && !outer.is_empty() && far_reads(body, positions[outer.len()]) > 0 && is_plain(body) {
            return self.tabulate_tiles(stmt, (outer, last), body, outputs);
        }
        let same = |array: Id| matches!(self.types.get(&array), Some(Type::Array(_, s)) if s == shape);
        let flat = shape.len() > 1 && is_flat(body, &positions, &same);
        let name = self.kernel_name("map");
        let row = if flat { Size::product(shape) } else { last.clone() };
        let outer: &[Size] = if flat { &[] } else { outer };
        let run = self.choice.piece(run_length(body));
        let runs = Size::CeilDiv(row.clone().into(), run);
        let mut w = KernelWriter::new(self, name, Size::product(outer) * runs.clone());
        let home = |(buffer, shape): &(BufferId, Vec<Size>), w: &mut KernelWriter| {
            let shape = if flat { vec![row.clone()] } else { shape.clone() };
            (w.global(*buffer, Access::Write, shape), vec![])
        };
        let homes: Vec<(MemId, Vec<Id>)> = outputs.iter().map(|o| home(o, &mut w)).collect();
        w.bind_globals(&stmt.op);
        if flat {
            w.flatten_memories(shape, &row);
        }
        let (at, lo, hi) = run_of_row(&mut w, outer, &row, run);
        if !flat && go_apart(body, positions[positions.len() - 1]) {
            w.for_each(lo, hi, 1, (vec![], &[]), |w, i, _| {
                w.write_elements(&stmt.binds, body, &[&at[..], &[i]].concat(), &homes, false);
                vec![]
            });
            let kernel = w.finish();
            return self.launch(kernel);
        }
        if !flat {
            w.write_row(&stmt.binds, body, &at, [lo, hi], &homes);
            let kernel = w.finish();
            return self.launch(kernel);
        }
        w.lanes(lo, hi, |w, i| {
            let at: Vec<Id> = [at, vec![i]].concat();
            w.set_flat(positions.clone(), i);
            // The positions themselves are never used: any value will do.
            let elements = w.elements(&stmt.binds, body, &vec![i; positions.len()]);
            for (&(memory, _), element) in homes.iter().zip(elements) {
                w.put(memory, at.clone(), element);
            }
        });
        let kernel = w.finish();
        self.launch(kernel);
    }

    /// Reads that are far apart for neighbouring lanes, as in a transpose: a block is a tile, so that the lines of
    /// memory that one row of it touches are still in the cache for the next.
    fn tabulate_tiles(
        &mut self,
        stmt: &'g Stmt,
        (outer, last): (&'g [Size], &'g Size),
        body: &'g Body,
        outputs: Vec<(BufferId, Vec<Size>)>,
    ) {
        let name = self.kernel_name("tiles");
        let (rows, before) = outer.split_last().expect("a tile has rows");
        let down = Size::CeilDiv(rows.clone().into(), TILE_ROWS);
        let across = Size::CeilDiv(last.clone().into(), TILE_COLUMNS);
        let mut w = KernelWriter::new(self, name, Size::product(before) * down.clone() * across.clone());
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.bind_globals(&stmt.op);
        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        // Down first: neighbouring tiles then read neighbouring elements.
        let grid = [before, &[across, down]].concat();
        let mut at = unflatten(&mut w, block, &grid);
        let row = at.pop().expect("a row");
        let column = at.pop().expect("a column");
        let (top, bottom) = piece(&mut w, row, TILE_ROWS, rows);
        let (lo, hi) = piece(&mut w, column, TILE_COLUMNS, last);
        w.for_each(top, bottom, 1, (vec![], &[]), |w, r, _| {
            w.lanes(lo, hi, |w, i| {
                let at: Vec<Id> = [&at[..], &[r, i]].concat();
                let elements = w.elements(&stmt.binds, body, &at);
                for (&memory, element) in homes.iter().zip(elements) {
                    w.put(memory, at.clone(), element);
                }
            });
            vec![]
        });
        let kernel = w.finish();
        self.launch(kernel);
    }

    /// A fold down the columns: a block is a strip of columns with its accumulators in the cache, and rows are read along.
    fn tabulate_strips(
        &mut self,
        stmt: &'g Stmt,
        (outer, last): (&'g [Size], &'g Size),
        body: &'g Body,
        fold: usize,
        outputs: Vec<(BufferId, Vec<Size>)>,
    ) {
        let before = &body.stmts[..fold];
        let after = &body.stmts[fold + 1..];
        let fold = &body.stmts[fold];
        let Op::Fold { shape, body: item, monoid } = &fold.op else { unreachable!("`row_fold` found a fold") };
        let name = self.kernel_name("columns");
        let strips = Size::CeilDiv(last.clone().into(), STRIP);
        let mut w = KernelWriter::new(self, name, Size::product(outer) * strips.clone());
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.bind_globals(&stmt.op);
        let tys = w.types_of(&monoid.combine);
        w.regroups(monoid, &tys);
        let strip = |w: &mut KernelWriter<'_, 'g>, what: &str, shape: &[u64]| -> Vec<MemId> {
            let shape: Vec<Size> = shape.iter().map(|&n| Size::Const(n)).collect();
            tys.iter().map(|&ty| w.scratch(what, ty, shape.clone())).collect()
        };
        let sums = strip(&mut w, "sums", &[STRIP]);
        let levels = strip(&mut w, "levels", &[STRIP_LEVELS, STRIP]);
        let neutral = w.all_scalars(&monoid.neutral);
        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        let mut at = unflatten(&mut w, block, &[outer, &[strips]].concat());
        let strip = at.pop().expect("a strip");
        let (lo, hi) = piece(&mut w, strip, STRIP, last);
        // One loop over the strip; `write` gets the lane's place in the accumulators and its position.
        let each = |w: &mut KernelWriter<'_, 'g>, write: &mut dyn FnMut(&mut KernelWriter<'_, 'g>, Id)| {
            w.lanes(lo, hi, |w, j| {
                for (param, &id) in body.params.iter().zip(at.iter().chain([&j])) {
                    w.set_scalar(param.id, id);
                }
                let place = w.value(j - lo);
                write(w, place);
            });
        };
        let load = |w: &mut KernelWriter<'_, 'g>, from: &[MemId], index: &[Id]| -> Vec<Id> {
            let one = |(&memory, &ty)| w.push(Op::Load { memory, index: index.to_vec() }, ty);
            from.iter().zip(&tys).map(one).collect()
        };
        let store = |w: &mut KernelWriter<'_, 'g>, to: &[MemId], index: &[Id], values: &[Id]| {
            to.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, index.to_vec(), value));
        };
        let clear = |w: &mut KernelWriter<'_, 'g>| each(w, &mut |w, place| store(w, &sums, &[place], &neutral));
        let join_level = |w: &mut KernelWriter<'_, 'g>, level: Id| {
            each(w, &mut |w, place| {
                let left = load(w, &levels, &[level, place]);
                let sum = load(w, &sums, &[place]);
                let new = w.combine(monoid, &left, &sum);
                store(w, &sums, &[place], &new);
            });
        };
        // Runs of rows are joined as a tree while they come: a level has the sum of twice as many runs as the one below it,
        // or nothing, as a binary counter says.
        let zero = w.number(0);
        let one = w.number(1);
        let end = w.extent(&shape[0]);
        let count = w.for_each(zero, end, STRIP_RUN, (vec![zero], &[Ty::I64]), |w, start, count| {
            let stop = w.offset(start, STRIP_RUN);
            let stop = w.value(stop.least(end));
            clear(w);
            // Several rows at once, so that the accumulators are fetched less often.
            let four = w.number(ROWS_AT_ONCE);
            let length = w.value(stop - start);
            let rest = w.value(length % four);
            let whole = w.value(stop - rest);
            for (from, to, rows) in [(start, whole, ROWS_AT_ONCE), (whole, stop, 1)] {
                w.for_each(from, to, rows, (vec![], &[]), |w, k, _| {
                    each(w, &mut |w, place| {
                        w.lane_stmts(before);
                        let sum = load(w, &sums, &[place]);
                        let row = |row| {
                            let row = w.offset(k, row);
                            w.run(item, &[row], Mode::Lane)
                        };
                        let values = (0..rows).map(row).collect();
                        let values = w.tree(monoid, values);
                        let sum = w.combine(monoid, &sum, &values);
                        store(w, &sums, &[place], &sum);
                    });
                    vec![]
                });
            }
            let next = w.value(count[0] + one);
            let free = w.push(Op::Apply(Operator::TrailingZeros, vec![next]), Ty::I64);
            w.for_each(zero, free, 1, (vec![], &[]), |w, level, _| {
                join_level(w, level);
                vec![]
            });
            each(w, &mut |w, place| {
                let sum = load(w, &sums, &[place]);
                store(w, &levels, &[free, place], &sum);
            });
            vec![next]
        });
        clear(&mut w);
        let top = w.number(STRIP_LEVELS as i64);
        w.for_each(zero, top, 1, (vec![], &[]), |w, level, _| {
            let shifted = w.apply(Operator::Shr, &[count[0], level], Ty::I64);
            let bit = w.apply(Operator::And, &[shifted, one], Ty::I64);
            let there = w.push(Op::Apply(Operator::Ne, vec![bit, zero]), Ty::Bool);
            w.when(there, |w| join_level(w, level));
            vec![]
        });
        each(&mut w, &mut |w, place| {
            w.lane_stmts(before);
            let sum = load(w, &sums, &[place]);
            for (bind, value) in fold.binds.iter().zip(sum) {
                w.set_scalar(bind.id, value);
            }
            w.lane_stmts(after);
            let values = w.all_scalars(&body.results);
            let position = w.all_scalars(&body.params.iter().map(|p| p.id).collect::<Vec<_>>());
            for (&memory, value) in homes.iter().zip(values) {
                w.store(memory, position.clone(), value);
            }
        });
        let kernel = w.finish();
        self.launch(kernel);
    }

    /// One block per position.
    fn tabulate_blocks(
        &mut self,
        stmt: &'g Stmt,
        shape: &'g [Size],
        body: &'g Body,
        outputs: Vec<(BufferId, Vec<Size>)>,
    ) {
        let name = self.kernel_name("rows");
        let mut w = KernelWriter::new(self, name, Size::product(shape));
        let homes: Vec<(MemId, Vec<Id>)> =
            outputs.into_iter().map(|(b, shape)| (w.global(b, Access::Write, shape), vec![])).collect();
        w.bind_globals(&stmt.op);
        // A row that is read back while it is made must be readable.
        w.make_readable(homes.iter().map(|(memory, _)| memory));
        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        let at = unflatten(&mut w, block, shape);
        w.position(body, &at, &homes);
        let kernel = w.finish();
        self.launch(kernel);
    }

    /// One block per tile of an array.
    fn tabulate_untiled(&mut self, stmt: &'g Stmt, untiled: &Untiled<'g>) {
        let name = self.kernel_name("tiles");
        let outputs = self.outputs(stmt);
        let mut w = KernelWriter::new(self, name, Size::product(untiled.grid));
        let homes: Vec<(MemId, Vec<Id>)> =
            outputs.into_iter().map(|(b, shape)| (w.global(b, Access::Write, shape), vec![])).collect();
        w.bind_untiled(untiled, stmt);
        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        let tile = unflatten(&mut w, block, untiled.grid);
        w.put_tile(untiled, stmt, &tile, &homes);
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn fold(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body, monoid: &'g Monoid) {
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
        let same = |array: Id| matches!(self.types.get(&array), Some(Type::Array(_, s)) if s == shape);
        let flat = shape.len() > 1 && is_flat(body, &positions, &same);
        let (last, outer) = shape.split_last().expect("a fold has an axis");
        let row = if flat { Size::product(shape) } else { last.clone() };
        let outer: &[Size] = if flat { &[] } else { outer };
        // Chunks of the one long axis, or whole rows.
        let parts = if outer.is_empty() { Size::CeilDiv(row.clone().into(), CHUNK) } else { Size::product(outer) };
        let partials: Vec<BufferId> =
            tys.iter().map(|&ty| self.buffer(ty, vec![parts.clone()], BufferUse::Temporary)).collect();

        let name = self.kernel_name("fold");
        let mut w = KernelWriter::new(self, name, parts.clone());
        let homes: Vec<MemId> = partials.iter().map(|&b| w.global(b, Access::Write, vec![parts.clone()])).collect();
        w.bind_globals(&stmt.op);
        if !outer.is_empty() {
            w.regroups(monoid, &tys);
        }
        if flat {
            w.flatten_memories(shape, &row);
        }
        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        let (at, lo, hi) = if outer.is_empty() {
            let (lo, hi) = piece(&mut w, block, CHUNK, &row);
            (vec![], lo, hi)
        } else {
            (unflatten(&mut w, block, outer), w.number(0), w.extent(last))
        };
        let values = w.lanes_fold(lo, hi, monoid, &tys, |w, k| {
            if flat {
                w.set_flat(positions.clone(), k);
                return w.run(body, &vec![k; positions.len()], Mode::Lane);
            }
            w.run(body, &[&at[..], &[k]].concat(), Mode::Lane)
        });
        for (&memory, value) in homes.iter().zip(values) {
            w.store(memory, vec![block], value);
        }
        let kernel = w.finish();
        self.launch(kernel);

        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.buffer_for(b.id, vec![])).collect();
        let name = self.kernel_name("fold_parts");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
        let parts_in: Vec<MemId> = partials.iter().map(|&b| w.global(b, Access::Read, vec![parts.clone()])).collect();
        w.bind_monoid(monoid);
        let lo = w.number(0);
        let hi = w.extent(&parts);
        let values = w.lanes_fold(lo, hi, monoid, &tys, |w, k| {
            parts_in.iter().zip(&tys).map(|(&memory, &ty)| w.push(Op::Load { memory, index: vec![k] }, ty)).collect()
        });
        for (&memory, value) in homes.iter().zip(values) {
            w.store(memory, vec![], value);
        }
        let kernel = w.finish();
        self.launch(kernel);
    }

    /// One block for everything.
    pub(super) fn in_one_block(&mut self, stmt: &'g Stmt, outputs: &[BufferId]) {
        let what = match &stmt.op {
            Op::Scan { .. } => "scan",
            Op::Scatter { .. } => "scatter",
            Op::Sort { .. } => "sort",
            _ => "loop",
        };
        let name = self.kernel_name(what);
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let homes = outputs.iter().zip(&stmt.binds);
        let homes: Vec<MemId> = homes.map(|(&b, bind)| w.global(b, Access::Write, bind.ty.shape().to_vec())).collect();
        w.bind_globals(&stmt.op);
        w.make_readable(&homes);
        for (bind, &memory) in stmt.binds.iter().zip(&homes) {
            w.set_home(bind.id, memory, vec![]);
        }
        w.top_stmt(stmt);
        for (bind, &memory) in stmt.binds.iter().zip(&homes).filter(|(bind, _)| bind.ty.shape().is_empty()) {
            let value = w.scalar(bind.id);
            w.store(memory, vec![], value);
        }
        let kernel = w.finish();
        self.launch(kernel);
    }

    /// Scalars that are worth keeping: a kernel of one block.
    fn scalars(&mut self, stmt: &'g Stmt) {
        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.buffer_for(b.id, vec![])).collect();
        let name = self.kernel_name("scalar");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
        w.bind_globals(&stmt.op);
        w.top_stmt(stmt);
        for (bind, &memory) in stmt.binds.iter().zip(&homes) {
            let value = w.scalar(bind.id);
            w.store(memory, vec![], value);
        }
        let kernel = w.finish();
        self.launch(kernel);
    }
}

impl<'g> Strategy<'g> for Lowering<'g> {
    fn base(&mut self) -> &mut Lowering<'g> {
        self
    }

    fn plan_stmt(&mut self, stmt: &'g Stmt) {
        self.stmt(stmt);
    }

    fn in_one_kernel(&mut self, stmt: &'g Stmt, outputs: &[BufferId]) {
        self.in_one_block(stmt, outputs);
    }

    fn copy_array(&mut self, array: Id, to: BufferId) {
        let name = self.kernel_name("copy");
        let Type::Array(ty, shape) = self.type_of(array) else { return };
        let line = Size::product(&shape);
        let mut w = KernelWriter::new(self, name, Size::CeilDiv(line.clone().into(), RUN));
        let home = w.global(to, Access::Write, shape.clone());
        w.bind_array(array);
        w.flatten_memories(&shape, &line);
        let (_, lo, hi) = run_of_row(&mut w, &[], &line, RUN);
        w.lanes(lo, hi, |w, i| {
            let value = w.read(array, vec![i], ty);
            w.store(home, vec![i], value);
        });
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn store_scalars(&mut self, to: &[BufferId], values: &Values<'_, 'g>) {
        let name = self.kernel_name("scalar");
        let mut w = KernelWriter::new(self, name, Size::Const(1));
        let homes: Vec<MemId> = to.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
        let values = values(&mut w);
        homes.iter().zip(values).for_each(|(&memory, value)| w.store(memory, vec![], value));
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn most_work(&self) -> u64 {
        MOST_IN_ONE_KERNEL
    }
}

/// The extents of folds of one axis that calls decide, and that have to be short for a lane to make the fold.
fn open_folds(body: &Body) -> Vec<Size> {
    fn find(body: &Body, found: &mut Vec<Size>) {
        for stmt in &body.stmts {
            if let Op::Fold { shape, body, .. } = &stmt.op
                && let [extent] = &shape[..]
                && extent.constant().is_none()
                && !goes_along_rows(body)
                && !found.contains(extent)
            {
                found.push(extent.clone());
            }
            stmt.op.bodies().into_iter().for_each(|inner| find(inner, found));
        }
    }
    let mut found = vec![];
    find(body, &mut found);
    found
}

/// The place of the one fold of a body, if it goes down columns of memory that only it reads, and costs little.
fn row_fold(body: &Body, positions: &[Id]) -> Option<usize> {
    let place = body.stmts.iter().position(|s| matches!(s.op, Op::Fold { .. }))?;
    let Op::Fold { shape, body: item, monoid } = &body.stmts[place].op else { return None };
    // Accumulators start before there are positions.
    if body.names().any(|name| monoid.neutral.contains(&name)) {
        return None;
    }
    let (lane, outer) = positions.split_last()?;
    let rest_is_cheap = body.stmts.iter().enumerate().all(|(k, s)| k == place || is_cheap(&s.op));
    let good = shape.len() == 1 && rest_is_cheap && is_plain(item) && streams_rows(item, *lane, outer);
    (good && crate::pass::fuse::cost(item) <= 16).then_some(place)
}

/// How many elements make a piece of work for one core: fewer where each costs much.
fn run_length(body: &Body) -> u64 {
    match crate::pass::fuse::cost(body) {
        0..256 => RUN,
        256..4096 => RUN / 8,
        _ => RUN / 64,
    }
}

/// The block, and the positions of its chunk.
pub(super) fn own_chunk(w: &mut KernelWriter, extent: &Size) -> (Id, [Id; 2]) {
    let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
    let (lo, hi) = piece(w, block, CHUNK, extent);
    (block, [lo, hi])
}

/// The outer position and the run of the innermost axis that this block works on.
fn run_of_row(w: &mut KernelWriter, outer: &[Size], row: &Size, run: u64) -> (Vec<Id>, Id, Id) {
    let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
    if outer.is_empty() {
        let (lo, hi) = piece(w, block, run, row);
        return (vec![], lo, hi);
    }
    if row.constant().is_some_and(|n| n <= run) {
        let at = unflatten(w, block, outer);
        return (at, w.number(0), w.extent(row));
    }
    let runs = w.extent(&Size::CeilDiv(row.clone().into(), run));
    let line = w.value(block / runs);
    let number = w.value(block % runs);
    let at = unflatten(w, line, outer);
    let (lo, hi) = piece(w, number, run, row);
    (at, lo, hi)
}
