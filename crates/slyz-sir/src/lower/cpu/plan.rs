//! One kernel, or a few, per array operation of the top level, strung together in a plan.

use super::access::{far_reads, is_flat, needs_block, streams_rows};
use super::product::Product;
use super::writer::{Mode, Writer};
use super::{CHUNK, PIECE, ROWS_AT_ONCE, RUN, STRIP, TILE_COLUMNS, TILE_ROWS};
use crate::code::{Body, FnId, Id, MemId, Monoid, Op, Stmt, Type};
use crate::graph::Graph;
use crate::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Plan, Step};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use std::collections::HashMap;

/// Where a value of the top level is found by a kernel.
pub(super) enum Home<'g> {
    /// A scalar argument, by place.
    Scalar(usize, Ty),
    /// An array.
    Array(BufferId, Vec<Size>),
    /// A scalar that an earlier kernel computed.
    Kept(BufferId, Ty),
    /// A scalar that is cheaper to compute again.
    Again(&'g Stmt),
}

/// A plan under construction.
pub(super) struct Lowering<'g> {
    pub(super) graph: &'g Graph,
    pub(super) plan: Plan,
    buffers: HashMap<Id, BufferId>,
    again: HashMap<Id, &'g Stmt>,
    types: HashMap<Id, Type>,
    names: HashMap<String, usize>,
}

/// Turns a verified graph into a plan for the CPU.
pub fn lower(graph: &Graph) -> Plan {
    let mut lowering = Lowering::new(graph);
    for stmt in &graph.body.stmts {
        lowering.stmt(stmt);
    }
    let mut plan = lowering.finish();
    plan.kernels.iter_mut().for_each(|kernel| *kernel = crate::pass::join::join(kernel));
    plan
}

/// Is it a scalar that costs less than passing it around?
fn is_cheap(op: &Op) -> bool {
    match op {
        Op::Const(_) | Op::Extent(_) | Op::Cast(..) | Op::Bitcast(..) => true,
        Op::Apply(operator, _) => operator.row().cost <= 10,
        _ => false,
    }
}

impl<'g> Lowering<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut types = HashMap::new();
        collect_types(&graph.body, &mut types);
        let plan = Plan {
            name: graph.name.clone(),
            sizes: graph.sizes.clone(),
            params: graph.body.params.clone(),
            buffers: vec![],
            results: vec![],
            kernels: vec![],
            steps: vec![],
        };
        let mut lowering =
            Lowering { graph, plan, buffers: HashMap::new(), again: HashMap::new(), types, names: HashMap::new() };
        for (k, param) in graph.body.params.iter().enumerate() {
            if let Type::Array(ty, shape) = &param.ty {
                let buffer = lowering.buffer(*ty, shape.clone(), BufferUse::Argument(k));
                lowering.buffers.insert(param.id, buffer);
            }
        }
        lowering
    }

    pub(super) fn type_of(&self, id: Id) -> Type {
        self.types[&id].clone()
    }

    pub(super) fn home(&self, id: Id) -> Home<'g> {
        if let Some(stmt) = self.again.get(&id) {
            return Home::Again(stmt);
        }
        match (self.buffers.get(&id), self.type_of(id)) {
            (Some(&buffer), Type::Array(_, shape)) => Home::Array(buffer, shape),
            (Some(&buffer), Type::Scalar(ty)) => Home::Kept(buffer, ty),
            (None, ty) => {
                let place = self.graph.body.params.iter().position(|p| p.id == id);
                Home::Scalar(place.expect("a value of the top level is a parameter or was computed before"), ty.elem())
            }
        }
    }

    /// The name of a buffer in kernels: by its use, so that generated code can be followed.
    pub(super) fn buffer_name(&self, buffer: BufferId) -> String {
        match self.plan.buffers[buffer.0 as usize].role {
            BufferUse::Argument(k) => format!("in{k}"),
            BufferUse::Result(k) => format!("out{k}"),
            BufferUse::Temporary => format!("tmp{}", buffer.0),
        }
    }

    fn buffer(&mut self, ty: Ty, shape: Vec<Size>, role: BufferUse) -> BufferId {
        self.plan.buffers.push(Buffer { ty, shape, role });
        BufferId(self.plan.buffers.len() as u32 - 1)
    }

    /// A buffer for a value that a statement of the top level gives.
    fn buffer_for(&mut self, id: Id, shape: Vec<Size>) -> BufferId {
        let result = self.graph.body.results.iter().position(|r| *r == id);
        let role = result.map_or(BufferUse::Temporary, BufferUse::Result);
        let buffer = self.buffer(self.types[&id].elem(), shape, role);
        self.buffers.insert(id, buffer);
        buffer
    }

    pub(super) fn kernel_name(&mut self, what: &str) -> String {
        let stem = format!("{}_{what}", self.graph.name);
        let count = self.names.entry(stem.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { stem } else { format!("{stem}{count}") }
    }

    pub(super) fn launch(
        &mut self,
        (kernel, buffers, scalars): (Kernel, Vec<BufferId>, Vec<crate::kernel::ScalarArg>),
    ) {
        self.plan.kernels.push(kernel);
        let kernel = self.plan.kernels.len() - 1;
        self.plan.steps.push(Step::Launch { kernel, buffers, scalars });
    }

    fn stmt(&mut self, stmt: &'g Stmt) {
        match &stmt.op {
            Op::Tabulate { shape, body } => self.tabulate(stmt, shape, body),
            Op::Fold { shape, body, monoid } => self.fold(stmt, shape, body, monoid),
            Op::Scan { .. } | Op::Scatter { .. } => self.whole(stmt),
            Op::Filter { extent, body, kept } => self.filter(stmt, extent, body, *kept),
            op if is_cheap(op) => {
                self.again.extend(stmt.binds.iter().map(|b| (b.id, stmt)));
            }
            _ => self.scalars(stmt),
        }
    }

    /// Binds output memories; they are the first of the kernel.
    fn outputs(&mut self, stmt: &Stmt) -> Vec<(BufferId, Vec<Size>)> {
        stmt.binds.iter().map(|b| (self.buffer_for(b.id, b.ty.shape().to_vec()), b.ty.shape().to_vec())).collect()
    }

    fn tabulate(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body) {
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let gives_arrays = stmt.binds[0].ty.shape().len() > shape.len();
        let outputs = self.outputs(stmt);
        if !gives_arrays && let Some(product) = Product::of(shape, body) {
            return self.tabulate_product(stmt, shape, product, outputs);
        }
        if gives_arrays || needs_block(body, positions.last().copied()) {
            return self.tabulate_blocks(stmt, shape, body, outputs);
        }
        let (last, outer) = shape.split_last().expect("a tabulate has an axis");
        if let Some(fold) = row_fold(body, &positions) {
            return self.tabulate_strips(stmt, (outer, last), body, fold, outputs);
        }
        if !outer.is_empty() && far_reads(body, positions[outer.len()]) > 0 && is_plain(body) {
            return self.tabulate_tiles(stmt, (outer, last), body, outputs);
        }
        let same = |array: Id| matches!(self.types.get(&array), Some(Type::Array(_, s)) if s == shape);
        let flat = shape.len() > 1 && is_flat(body, &positions, &same);
        let name = self.kernel_name("map");
        let row = if flat { Size::product(shape) } else { last.clone() };
        let outer: &[Size] = if flat { &[] } else { outer };
        let run = run_length(body);
        let runs = Size::CeilDiv(row.clone().into(), run);
        let mut w = Writer::new(self, name, Size::product(outer) * runs.clone());
        let home = |(buffer, shape): &(BufferId, Vec<Size>), w: &mut Writer| {
            let shape = if flat { vec![row.clone()] } else { shape.clone() };
            (w.global(*buffer, Access::Write, shape), vec![])
        };
        let homes: Vec<(MemId, Vec<Id>)> = outputs.iter().map(|o| home(o, &mut w)).collect();
        w.bind_globals(&stmt.op);
        if flat {
            w.flatten_memories(shape, &row);
        }
        let (at, lo, hi) = run_of_row(&mut w, outer, &row, run);
        w.lanes(lo, hi, |w, i| {
            let at: Vec<Id> = [at, vec![i]].concat();
            let values = if flat {
                w.set_flat(positions.clone(), i);
                // The positions themselves are never used: any value will do.
                w.run(body, &vec![i; positions.len()], Mode::Lane)
            } else {
                w.run(body, &at, Mode::Lane)
            };
            for (&(memory, _), value) in homes.iter().zip(values) {
                w.store(memory, at.clone(), value);
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
        let mut w = Writer::new(self, name, Size::product(before) * down.clone() * across.clone());
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.bind_globals(&stmt.op);
        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        // Down first: neighbouring tiles then read neighbouring elements.
        let grid = [before, &[across, down]].concat();
        let mut at = unflatten(&mut w, block, &grid);
        let (row, column) = (at.pop().expect("a row"), at.pop().expect("a column"));
        let (top, bottom) = piece(&mut w, row, TILE_ROWS, rows);
        let (lo, hi) = piece(&mut w, column, TILE_COLUMNS, last);
        w.for_each(top, bottom, 1, (vec![], &[]), |w, r, _| {
            w.lanes(lo, hi, |w, i| {
                let at: Vec<Id> = [&at[..], &[r, i]].concat();
                let values = w.run(body, &at, Mode::Lane);
                for (&memory, value) in homes.iter().zip(values) {
                    w.store(memory, at.clone(), value);
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
        let (before, after) = (&body.stmts[..fold], &body.stmts[fold + 1..]);
        let fold = &body.stmts[fold];
        let Op::Fold { shape, body: item, monoid } = &fold.op else { unreachable!("`row_fold` found a fold") };
        let name = self.kernel_name("columns");
        let strips = Size::CeilDiv(last.clone().into(), STRIP);
        let mut w = Writer::new(self, name, Size::product(outer) * strips.clone());
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        w.bind_globals(&stmt.op);
        let tys = w.types_of(&monoid.combine);
        let [sums, parts] =
            [0, 1].map(|_| tys.iter().map(|&ty| w.scratch(ty, vec![Size::Const(STRIP)])).collect::<Vec<MemId>>());
        let neutral = w.all_scalars(&monoid.neutral);
        let block = w.push(Op::Place(crate::code::Place::Block, 0), Ty::I64);
        let mut at = unflatten(&mut w, block, &[outer, &[strips]].concat());
        let strip = at.pop().expect("a strip");
        let (lo, hi) = piece(&mut w, strip, STRIP, last);
        // One loop over the strip; `write` gets the lane's place in the accumulators and its position.
        let each = |w: &mut Writer<'_, 'g>, write: &mut dyn FnMut(&mut Writer<'_, 'g>, Id)| {
            w.lanes(lo, hi, |w, j| {
                for (param, &id) in body.params.iter().zip(at.iter().chain([&j])) {
                    w.set_scalar(param.id, id);
                }
                let place = w.index(Operator::Sub, j, lo);
                write(w, place);
            });
        };
        let load = |w: &mut Writer<'_, 'g>, from: &[MemId], place: Id| -> Vec<Id> {
            from.iter().zip(&tys).map(|(&memory, &ty)| w.push(Op::Load { memory, index: vec![place] }, ty)).collect()
        };
        let store = |w: &mut Writer<'_, 'g>, to: &[MemId], place: Id, values: &[Id]| {
            to.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, vec![place], value));
        };
        each(&mut w, &mut |w, place| store(w, &sums, place, &neutral));
        // Sums of long columns are summed in pieces: the error grows with the piece.
        let (zero, end) = (w.number(0), w.extent(&shape[0]));
        w.for_each(zero, end, PIECE, (vec![], &[]), |w, start, _| {
            let piece = w.number(PIECE);
            let stop = w.index(Operator::Add, start, piece);
            let stop = w.index(Operator::Min, stop, end);
            each(w, &mut |w, place| store(w, &parts, place, &neutral));
            // Several rows at once, so that the accumulators are fetched less often.
            let four = w.number(ROWS_AT_ONCE);
            let length = w.index(Operator::Sub, stop, start);
            let rest = w.index(Operator::Rem, length, four);
            let whole = w.index(Operator::Sub, stop, rest);
            for (from, to, rows) in [(start, whole, ROWS_AT_ONCE), (whole, stop, 1)] {
                w.for_each(from, to, rows, (vec![], &[]), |w, k, _| {
                    each(w, &mut |w, place| {
                        w.lane_stmts(before);
                        let mut sum = load(w, &parts, place);
                        for row in 0..rows {
                            let row = w.number(row);
                            let row = w.index(Operator::Add, k, row);
                            let value = w.run(item, &[row], Mode::Lane);
                            sum = w.combine(monoid, &sum, &value);
                        }
                        store(w, &parts, place, &sum);
                    });
                    vec![]
                });
            }
            each(w, &mut |w, place| {
                let (sum, part) = (load(w, &sums, place), load(w, &parts, place));
                let new = w.combine(monoid, &sum, &part);
                store(w, &sums, place, &new);
            });
            vec![]
        });
        each(&mut w, &mut |w, place| {
            w.lane_stmts(before);
            let sum = load(w, &sums, place);
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
        let mut w = Writer::new(self, name, Size::product(shape));
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
        let mut w = Writer::new(self, name, parts.clone());
        let homes: Vec<MemId> = partials.iter().map(|&b| w.global(b, Access::Write, vec![parts.clone()])).collect();
        w.bind_globals(&stmt.op);
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
        let mut w = Writer::new(self, name, Size::Const(1));
        let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
        let parts_in: Vec<MemId> = partials.iter().map(|&b| w.global(b, Access::Read, vec![parts.clone()])).collect();
        w.all_scalars(&monoid.neutral);
        let mut free = vec![];
        monoid.combine.each_free(&mut |id| free.push(id));
        w.all_scalars(&free);
        let (lo, hi) = (w.number(0), w.extent(&parts));
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
    fn whole(&mut self, stmt: &'g Stmt) {
        let what = if matches!(stmt.op, Op::Scan { .. }) { "scan" } else { "scatter" };
        let name = self.kernel_name(what);
        let outputs = self.outputs(stmt);
        let mut w = Writer::new(self, name, Size::Const(1));
        let homes: Vec<(MemId, Vec<Id>)> =
            outputs.into_iter().map(|(b, shape)| (w.global(b, Access::Write, shape), vec![])).collect();
        w.bind_globals(&stmt.op);
        w.make_readable(homes.iter().map(|(memory, _)| memory));
        w.fill(&stmt.op, homes);
        let kernel = w.finish();
        self.launch(kernel);
    }

    fn filter(&mut self, stmt: &'g Stmt, extent: &'g Size, body: &'g Body, kept: crate::size::SizeVar) {
        let name = self.kernel_name("filter");
        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.buffer_for(b.id, vec![extent.clone()])).collect();
        let count = self.buffer(Ty::I64, vec![], BufferUse::Temporary);
        let mut w = Writer::new(self, name, Size::Const(1));
        let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, vec![extent.clone()])).collect();
        let counter = w.global(count, Access::Write, vec![]);
        w.bind_globals(&stmt.op);
        w.keep(extent, body, &homes, counter);
        let kernel = w.finish();
        self.launch(kernel);
        self.plan.steps.push(Step::Count { size: kept, from: count });
    }

    /// Scalars that are worth keeping: a kernel of one block.
    fn scalars(&mut self, stmt: &'g Stmt) {
        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.buffer_for(b.id, vec![])).collect();
        let name = self.kernel_name("scalar");
        let mut w = Writer::new(self, name, Size::Const(1));
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

    fn finish(mut self) -> Plan {
        let results = self.graph.body.results.clone();
        let missing: Vec<(usize, Id)> =
            results.iter().copied().enumerate().filter(|(_, id)| !self.buffers.contains_key(id)).collect();
        if !missing.is_empty() {
            let mut made: HashMap<Id, BufferId> = HashMap::new();
            for &(k, id) in &missing {
                let ty = self.types[&id].elem();
                made.entry(id).or_insert_with(|| self.buffer(ty, vec![], BufferUse::Result(k)));
            }
            let name = self.kernel_name("scalar");
            let mut w = Writer::new(&self, name, Size::Const(1));
            let mut ids: Vec<(&Id, &BufferId)> = made.iter().collect();
            ids.sort();
            let homes: Vec<MemId> = ids.iter().map(|(_, b)| w.global(**b, Access::Write, vec![])).collect();
            for ((&id, _), memory) in ids.into_iter().zip(homes) {
                let value = w.scalar(id);
                w.store(memory, vec![], value);
            }
            let kernel = w.finish();
            self.launch(kernel);
            self.buffers.extend(made);
        }
        self.plan.results = results.iter().map(|id| (self.buffers[id], self.types[id].shape().to_vec())).collect();
        free_temporaries(&mut self.plan);
        self.plan
    }
}

/// The place of the one fold of a body, if it goes down columns of memory that only it reads, and costs little.
fn row_fold(body: &Body, positions: &[Id]) -> Option<usize> {
    let place = body.stmts.iter().position(|s| matches!(s.op, Op::Fold { .. }))?;
    let Op::Fold { shape, body: item, .. } = &body.stmts[place].op else { return None };
    let (lane, outer) = positions.split_last()?;
    let rest_is_cheap = body.stmts.iter().enumerate().all(|(k, s)| k == place || is_cheap(&s.op));
    let good = shape.len() == 1 && rest_is_cheap && is_plain(item) && streams_rows(item, *lane, outer);
    (good && crate::pass::fuse::cost(item) <= 16).then_some(place)
}

/// Code without loops or arrays of its own.
pub(super) fn is_plain(body: &Body) -> bool {
    body.stmts.iter().all(is_plain_stmt)
}

pub(super) fn is_plain_stmt(stmt: &Stmt) -> bool {
    match &stmt.op {
        Op::Fold { .. } | Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } => false,
        Op::For { .. } | Op::While { .. } => false,
        op => op.bodies().iter().all(|b| is_plain(b)),
    }
}

fn collect_types(body: &Body, types: &mut HashMap<Id, Type>) {
    types.extend(body.params.iter().map(|p| (p.id, p.ty.clone())));
    for stmt in &body.stmts {
        stmt.op.bodies().iter().for_each(|b| collect_types(b, types));
        types.extend(stmt.binds.iter().map(|b| (b.id, b.ty.clone())));
    }
}

/// The positions on the axes of `shape` of a row-major number.
pub(super) fn unflatten(w: &mut Writer, number: Id, shape: &[Size]) -> Vec<Id> {
    let mut rest = number;
    let mut at = vec![];
    for size in shape[1..].iter().rev() {
        let extent = w.extent(size);
        at.push(w.index(Operator::Rem, rest, extent));
        rest = w.index(Operator::Div, rest, extent);
    }
    at.push(rest);
    at.reverse();
    at
}

/// `lo..hi` of piece number `k` of an axis.
pub(super) fn piece(w: &mut Writer, k: Id, length: u64, axis: &Size) -> (Id, Id) {
    let length = w.number(length as i64);
    let lo = w.index(Operator::Mul, k, length);
    let end = w.index(Operator::Add, lo, length);
    let extent = w.extent(axis);
    let hi = w.index(Operator::Min, end, extent);
    (lo, hi)
}

/// How many elements make a piece of work for one core: fewer where each costs much.
fn run_length(body: &Body) -> u64 {
    match crate::pass::fuse::cost(body) {
        0..256 => RUN,
        256..4096 => RUN / 8,
        _ => RUN / 64,
    }
}

/// The outer position and the run of the innermost axis that this block works on.
fn run_of_row(w: &mut Writer, outer: &[Size], row: &Size, run: u64) -> (Vec<Id>, Id, Id) {
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
    let (line, number) = (w.index(Operator::Div, block, runs), w.index(Operator::Rem, block, runs));
    let at = unflatten(w, line, outer);
    let (lo, hi) = piece(w, number, run, row);
    (at, lo, hi)
}

/// Keeps only the functions that the kernel calls.
pub(super) fn drop_unused_functions(kernel: &mut Kernel) {
    fn calls(body: &Body, used: &mut [bool]) {
        for stmt in &body.stmts {
            if let Op::Call(function, _) = &stmt.op {
                used[function.0 as usize] = true;
            }
            stmt.op.bodies().iter().for_each(|b| calls(b, used));
        }
    }
    fn renumber(body: &mut Body, place: &[u32]) {
        for stmt in &mut body.stmts {
            if let Op::Call(function, _) = &mut stmt.op {
                *function = FnId(place[function.0 as usize]);
            }
            stmt.op.bodies_mut().into_iter().for_each(|b| renumber(b, place));
        }
    }
    let mut used = vec![false; kernel.functions.len()];
    calls(&kernel.body, &mut used);
    // A function calls only functions before it.
    for k in (0..kernel.functions.len()).rev() {
        if used[k] {
            calls(&kernel.functions[k].body, &mut used);
        }
    }
    let place: Vec<u32> = used.iter().scan(0, |n, &u| Some(std::mem::replace(n, *n + u as u32))).collect();
    let mut keep = used.iter();
    kernel.functions.retain(|_| *keep.next().unwrap_or(&true));
    kernel.functions.iter_mut().for_each(|f| renumber(&mut f.body, &place));
    renumber(&mut kernel.body, &place);
}

/// Frees each temporary after its last use.
fn free_temporaries(plan: &mut Plan) {
    let steps = std::mem::take(&mut plan.steps);
    let mut freed: Vec<BufferId> = vec![];
    let mut backwards = vec![];
    for step in steps.into_iter().rev() {
        let mut used = match &step {
            Step::Launch { buffers, .. } => buffers.clone(),
            Step::Count { from, .. } => vec![*from],
            Step::Free(_) => vec![],
        };
        used.retain(|b| plan.buffers[b.0 as usize].role == BufferUse::Temporary && !freed.contains(b));
        used.sort();
        used.dedup();
        backwards.extend(used.iter().rev().map(|&b| Step::Free(b)));
        freed.extend(used);
        backwards.push(step);
    }
    backwards.reverse();
    plan.steps = backwards;
}
