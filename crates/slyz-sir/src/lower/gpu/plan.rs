//! One kernel, or a few, per array operation of the top level, strung together in a plan.

use super::apart::apart;
use super::sends::{goes_by_turns, spelled_out};
use super::threads::{at_largest, at_most, ceil_div};
use super::{Expected, FEW_TURNS, Machine, SPILLING_BLOCKS, TURNS};
use crate::choices::Precision;
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Stmt, Type};
use crate::kernel::{Access, BufferId, BufferUse, Kernel, Plan};
use crate::lower::access::{far_reads, is_flat};
use crate::lower::planning::{Lowering, is_cheap, piece, unflatten};
use crate::lower::raw;
use crate::lower::stage::staged;
use crate::lower::turns::{self, Strategy, Values};
use crate::lower::untile::Untiled;
use crate::lower::writer::{KernelWriter, Mode};
use crate::lower::{Choice, PIECE};
use crate::pass::spread::{self, has_lanes};
use crate::pass::{After, GPU_PASSES, Selection, join, on_plan, share};
use crate::program::Program;
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;

/// What lowering writes is as short as the passes make it after so many rounds.
const GPU_ROUNDS: usize = 2;

/// Turns a verified program into a plan for a machine, where nothing is known about sizes.
pub fn lower(program: &Program, machine: &Machine) -> Plan {
    lower_for(program, machine, &Expected::default())
}

/// The same, with the strategies that are best for about these sizes. The plan is right for all others too.
pub fn lower_for(program: &Program, machine: &Machine, expected: &Expected) -> Plan {
    lower_with(program, machine, expected, &Selection::All, &mut |_, _| {})
}

/// The same with selected passes; `after` sees the plan as it is written, and behind every one.
pub fn lower_with(
    program: &Program,
    machine: &Machine,
    expected: &Expected,
    selection: &Selection,
    after: After<'_, Plan>,
) -> Plan {
    let program = &*apart(spelled_out(staged(program), machine), machine, expected);
    let mut gpu = Gpu { base: Lowering::new(program), machine: *machine, expected: expected.clone() };
    gpu.base.fuses = machine.fused;
    gpu.base.expected = expected.clone();
    gpu.base.recomputes = machine.keeps_rows();
    gpu.base.plain_sums = program.precision == Some(Precision::Native);
    for stmt in &program.body.stmts {
        gpu.stmt(stmt);
    }
    let mut plan = gpu.base.finish();
    after("lower", &plan);
    on_plan(&mut plan, GPU_PASSES, GPU_ROUNDS, selection, after);
    plan.kernels.iter_mut().for_each(number);
    if let [only] = &mut plan.kernels[..] {
        only.name = plan.name.clone();
    }
    plan
}

/// Elements of a row that a thread had better not exceed, and the longest row that is kept.
const KEPT_TURNS: u64 = 32;
const MOST_KEPT: u64 = 1 << 15;

/// A plan under construction, for a machine.
pub(super) struct Gpu<'g> {
    pub(super) base: Lowering<'g>,
    pub(super) machine: Machine,
    pub(super) expected: Expected,
}

/// Work that is handed out block by block.
pub(super) struct Items {
    count: Size,
    pub(super) blocks: Size,
    /// There may be more work than blocks.
    pub(super) loops: bool,
}

impl Items {
    pub(super) fn new(count: &Size, machine: &Machine, most: u64) -> Items {
        let loops = at_largest(count, machine.max_positions) > most;
        let blocks = if loops { at_most(count.clone(), most) } else { count.clone() };
        Items { count: count.clone(), blocks, loops }
    }

    /// Writes code for the items of this block.
    pub(super) fn each<'l, 'g>(&self, w: &mut KernelWriter<'l, 'g>, write: impl FnOnce(&mut KernelWriter<'l, 'g>, Id)) {
        let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
        if !self.loops {
            return write(w, block);
        }
        let end = w.extent(&self.count);
        let step = w.extent(&self.blocks);
        w.for_steps([block, end, step], (vec![], &[]), |w, item, _| {
            write(w, item);
            vec![]
        });
    }
}

impl<'g> Gpu<'g> {
    fn stmt(&mut self, stmt: &'g Stmt) {
        match &stmt.op {
            _ if self.base.untiles.makes_tiles(stmt) => {}
            _ if let Some(untiled) = self.base.untiles.whole(stmt) => self.untiled(stmt, &untiled),
            Op::Tabulate { shape, body } => self.tabulate(stmt, shape, body),
            Op::Fold { shape, body, monoid } => self.fold(stmt, shape, body, monoid),
            Op::Scan { shape, body, monoid } => self.scan(stmt, shape, body, monoid),
            Op::Scatter { .. } => self.scatter(stmt),
            Op::Sort { .. } => self.sort(stmt),
            Op::For { .. } | Op::While { .. } if stmt.carries_arrays() => turns::plan_loop(self, stmt),
            Op::Filter { extent, body, kept } => self.filter(stmt, extent, body, *kept),
            Op::Raw(call) => raw::plan(self, stmt, call),
            op if is_cheap(op) && self.base.leave(stmt) => {}
            _ => self.scalars(stmt),
        }
    }

    fn tabulate(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body) {
        let gives_arrays = stmt.binds[0].ty.shape().len() > shape.len();
        if stmt.binds.iter().any(|b| self.base.reuse.get(&b.id).is_some_and(|over| over.only.is_some())) {
            // What is written in part is written element by element.
            let outputs = self.base.outputs(stmt);
            return self.map(stmt, shape, body, outputs);
        }
        let Choice { tiling, matmul, .. } = self.machine.choice;
        let tiled = |gpu: &mut Self| {
            (tiling && gpu.turned(stmt, shape, body))
                || (matmul && (gpu.fragments(stmt, shape, body) || gpu.product(stmt, shape, body)))
        };
        if !body.has_array_loop() && tiled(self) {
            return;
        }
        let outputs = self.base.outputs(stmt);
        if !gives_arrays && !body.has_array_loop() && self.fold_axes(shape, body, &outputs) {
            return;
        }
        if gives_arrays || wants_block(body, body.params.last().map(|p| p.id)) {
            return self.rows(stmt, shape, body, outputs);
        }
        self.map(stmt, shape, body, outputs);
    }

    /// A block per position.
    fn rows(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body, outputs: Vec<(BufferId, Vec<Size>)>) {
        let name = self.base.kernel_name("rows");
        let threads = self.threads_for_row(body);
        self.blocks(&name, &Size::product(shape), threads, &|w, items| {
            w.bind_globals(&stmt.op);
            let homes: Vec<(MemId, Vec<Id>)> =
                outputs.iter().map(|(b, shape)| (w.global(*b, Access::Write, shape.clone()), vec![])).collect();
            // A row that is read back while it is made must be readable.
            w.make_readable(homes.iter().map(|(memory, _)| memory));
            items.each(w, |w, item| {
                let at = unflatten(w, item, shape);
                w.position(body, &at, &homes);
            });
        });
    }

    /// A block per tile of an array.
    fn untiled(&mut self, stmt: &'g Stmt, untiled: &Untiled<'g>) {
        let name = self.base.kernel_name("tiles");
        let outputs = self.base.outputs(stmt);
        let threads = self.threads_for_row(untiled.work);
        self.blocks(&name, &Size::product(untiled.grid), threads, &|w, items| {
            w.bind_untiled(untiled, stmt);
            let homes: Vec<(MemId, Vec<Id>)> =
                outputs.iter().map(|(b, shape)| (w.global(*b, Access::Write, shape.clone()), vec![])).collect();
            items.each(w, |w, item| {
                let tile = unflatten(w, item, untiled.grid);
                w.put_tile(untiled, stmt, &tile, &homes);
            });
        });
    }

    /// Chunks, then one block over their results; or just that block, where there is no more than a chunk.
    fn fold(&mut self, stmt: &'g Stmt, shape: &'g [Size], body: &'g Body, monoid: &'g Monoid) {
        if self.fold_whole(stmt, shape, body, monoid) {
            return;
        }
        let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
        let threads = self.machine.threads();
        let count = Size::product(shape);
        let chunk = u64::from(threads) * self.machine.choice.piece(TURNS);
        let parts = ceil_div(&count, chunk);
        let one_block = count.constant().is_some_and(|n| n <= chunk);
        let outputs: Vec<BufferId> = if one_block {
            stmt.binds.iter().map(|b| self.base.buffer_for(b.id, vec![])).collect()
        } else {
            let buffer = |&ty: &Ty| self.base.buffer(ty, vec![parts.clone()], BufferUse::Temporary);
            tys.iter().map(buffer).collect()
        };
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let same = |array: Id| matches!(self.base.types.get(&array), Some(Type::Array(_, s)) if s == shape);
        let flat = shape.len() > 1 && is_flat(body, &positions, &same);
        let items = if one_block { Size::Const(1) } else { parts.clone() };
        let name = self.base.kernel_name("fold");
        self.blocks(&name, &items, threads, &|w, items| {
            let shape_out = if one_block { vec![] } else { vec![parts.clone()] };
            w.bind_globals(&stmt.op);
            if flat {
                w.flatten_memories(shape, &count);
            }
            let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, shape_out.clone())).collect();
            let fold = |w: &mut KernelWriter<'_, 'g>, [lo, hi]: [Id; 2]| {
                w.lanes_fold(lo, hi, monoid, &tys, |w, k| {
                    if flat {
                        w.set_flat(positions.clone(), k);
                        // The positions themselves are never used: any value will do.
                        return w.run(body, &vec![k; positions.len()], Mode::Lane);
                    }
                    let at = unflatten(w, k, shape);
                    w.run(body, &at, Mode::Lane)
                })
            };
            if one_block {
                let lo = w.number(0);
                let hi = w.extent(&count);
                let values = fold(w, [lo, hi]);
                return homes.iter().zip(values).for_each(|(&memory, value)| w.store(memory, vec![], value));
            }
            items.each(w, |w, item| {
                let (lo, hi) = piece(w, item, chunk, &count);
                let values = fold(w, [lo, hi]);
                homes.iter().zip(values).for_each(|(&memory, value)| w.store(memory, vec![item], value));
            });
        });
        if !one_block {
            self.fold_parts(stmt, monoid, &tys, &outputs, &parts);
        }
    }

    fn fold_parts(&mut self, stmt: &'g Stmt, monoid: &'g Monoid, tys: &[Ty], partials: &[BufferId], parts: &Size) {
        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.base.buffer_for(b.id, vec![])).collect();
        let name = self.base.kernel_name("fold_parts");
        self.blocks(&name, &Size::Const(1), self.machine.threads(), &|w, _| {
            let parts_in: Vec<MemId> =
                partials.iter().map(|&b| w.global(b, Access::Read, vec![parts.clone()])).collect();
            w.bind_monoid(monoid);
            let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
            let lo = w.number(0);
            let hi = w.extent(parts);
            let values = w.block_fold([lo, hi], parts, monoid, tys, |w, k| {
                let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: vec![k] }, ty);
                parts_in.iter().zip(tys).map(load).collect()
            });
            homes.iter().zip(values).for_each(|(&memory, value)| w.store(memory, vec![], value));
        });
    }

    /// A loop whose state has arrays, by one block.
    fn in_one_block(&mut self, stmt: &'g Stmt, outputs: &[BufferId]) {
        let name = self.base.kernel_name("loop");
        let threads = stmt.op.bodies().into_iter().map(|body| self.threads_for(body)).max().unwrap_or(1);
        self.blocks(&name, &Size::Const(1), threads, &|w, _| {
            w.bind_globals(&stmt.op);
            let homes = outputs.iter().zip(&stmt.binds);
            let homes: Vec<MemId> =
                homes.map(|(&b, bind)| w.global(b, Access::Write, bind.ty.shape().to_vec())).collect();
            w.make_readable(&homes);
            for (bind, &memory) in stmt.binds.iter().zip(&homes) {
                w.set_home(bind.id, memory, vec![]);
            }
            w.top_stmt(stmt);
            for (bind, &memory) in stmt.binds.iter().zip(&homes).filter(|(bind, _)| bind.ty.shape().is_empty()) {
                let value = w.scalar(bind.id);
                w.store(memory, vec![], value);
            }
        });
    }

    /// Scalars that are worth keeping: a kernel of one block.
    fn scalars(&mut self, stmt: &'g Stmt) {
        let outputs: Vec<BufferId> = stmt.binds.iter().map(|b| self.base.buffer_for(b.id, vec![])).collect();
        let name = self.base.kernel_name("scalar");
        self.blocks(&name, &Size::Const(1), self.machine.threads(), &|w, _| {
            w.bind_globals(&stmt.op);
            let homes: Vec<MemId> = outputs.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
            w.top_stmt(stmt);
            for (bind, &memory) in stmt.binds.iter().zip(&homes) {
                let value = w.scalar(bind.id);
                w.store(memory, vec![], value);
            }
        });
    }

    /// A kernel of blocks that work together, each on its items. It is written again when the first try shows that its
    /// blocks must be smaller or fewer.
    pub(super) fn blocks(
        &mut self,
        name: &str,
        count: &Size,
        threads: u32,
        write: &dyn Fn(&mut KernelWriter<'_, 'g>, &Items),
    ) {
        let (mut threads, mut most) = (threads, self.machine.max_blocks[0]);
        let (spread, mut buffers, scalars) = loop {
            let items = Items::new(count, &self.machine, most);
            let mut w = KernelWriter::new(&self.base, name.into(), items.blocks.clone());
            w.kernel.block = [threads, 1, 1];
            w.most_turns = (!w.makes_plain_sums()).then_some(i64::from(threads) * PIECE);
            write(&mut w, &items);
            let (kernel, buffers, scalars) = w.finish();
            if threads > 1 && !has_lanes(&kernel.body) {
                threads = 1;
                continue;
            }
            // What a turn of a row has made is at hand for a fold of the row.
            let kernel = if self.machine.vector_bytes > 0 { join::run(kernel) } else { kernel };
            let kernel = share::run(kernel);
            let spread = spread::run(kernel, &self.machine.resources(), &|size| self.expected.about(size));
            // Launches in pieces pay for memory rather than loop.
            let fewer = Items::new(count, &self.machine, SPILLING_BLOCKS).loops
                && most > SPILLING_BLOCKS
                && !self.machine.cuts_launches();
            if threads > 1 && spread.is_too_large {
                threads /= 2;
            } else if fewer && !spread.spilled.is_empty() {
                most = SPILLING_BLOCKS;
            } else {
                break (spread, buffers, scalars);
            }
        };
        for MemId(k) in spread.spilled {
            let memory = &spread.kernel.memories[k as usize];
            buffers.push(self.base.buffer(memory.ty, memory.shape.clone(), BufferUse::Temporary));
        }
        self.base.launch((spread.kernel, buffers, scalars));
    }

    /// A kernel of blocks whose threads are told what to do one by one. What a block does with one item must end, where its
    /// threads share memory, when all are done.
    pub(super) fn by_threads(
        &mut self,
        name: &str,
        count: &Size,
        threads: u32,
        write: &dyn Fn(&mut KernelWriter<'_, 'g>, &Items),
    ) {
        let expected = self.expected.about(count).filter(|_| self.machine.splits);
        let most = self.machine.max_blocks[0];
        let items = match count.constant().or(expected) {
            Some(likely) if likely <= most => Items { count: count.clone(), blocks: count.clone(), loops: false },
            _ => Items::new(count, &self.machine, most),
        };
        let mut w = KernelWriter::new(&self.base, name.into(), items.blocks.clone());
        w.kernel.block = [threads, 1, 1];
        write(&mut w, &items);
        let kernel = w.finish();
        self.base.launch(kernel);
    }

    /// The same where threads keep what is theirs of a row: more of them for a long one.
    fn threads_for_row(&self, body: &Body) -> u32 {
        let usual = self.threads_for(body);
        let long = longest_axis(body, &self.expected).filter(|&n| self.machine.keeps_rows() && n <= MOST_KEPT);
        let wanted = long.map_or(0, |n| n.div_ceil(KEPT_TURNS).next_power_of_two() as u32);
        usual.max(wanted.min(self.machine.max_threads))
    }

    /// Threads for a block that runs the body: no more than its longest axis has positions.
    fn threads_for(&self, body: &Body) -> u32 {
        let most = self.machine.threads();
        let longest = longest_axis(body, &self.expected).unwrap_or(u64::MAX);
        u32::try_from(longest.max(1)).map_or(most, |n| n.checked_next_power_of_two().unwrap_or(most).min(most))
    }
}

impl<'g> Strategy<'g> for Gpu<'g> {
    fn base(&mut self) -> &mut Lowering<'g> {
        &mut self.base
    }

    fn plan_stmt(&mut self, stmt: &'g Stmt) {
        self.stmt(stmt);
    }

    fn in_one_kernel(&mut self, stmt: &'g Stmt, outputs: &[BufferId]) {
        self.in_one_block(stmt, outputs);
    }

    fn copy_array(&mut self, array: Id, to: BufferId) {
        let shape = self.base.type_of(array).shape().to_vec();
        self.copy(array, to, &shape);
    }

    fn store_scalars(&mut self, to: &[BufferId], values: &Values<'_, 'g>) {
        let name = self.base.kernel_name("scalar");
        self.blocks(&name, &Size::Const(1), 1, &|w, _| {
            let values = values(w);
            let homes: Vec<MemId> = to.iter().map(|&b| w.global(b, Access::Write, vec![])).collect();
            homes.iter().zip(values).for_each(|(&memory, value)| w.store(memory, vec![], value));
        });
    }

    fn most_work(&self) -> u64 {
        self.machine.turn_work
    }

    fn sends_alone(&self, op: &Op) -> bool {
        goes_by_turns(op, &self.machine)
    }

    fn runs_ahead(&self) -> bool {
        self.machine.runs_ahead
    }
}

/// About the extent of the longest axis that lanes may run over, if it is known.
fn longest_axis(body: &Body, expected: &Expected) -> Option<u64> {
    let own = |op: &Op| match op {
        Op::Tabulate { shape, .. } | Op::Fold { shape, .. } | Op::Scan { shape, .. } => expected.about(shape.last()?),
        Op::Sort { shape, .. } => expected.about(shape.last()?),
        Op::Scatter { target, .. } => expected.about(target.last()?),
        _ => Some(1),
    };
    let inner =
        |op: &Op| op.bodies().into_iter().map(|b| longest_axis(b, expected)).try_fold(1, |most, n| Some(n?.max(most)));
    body.stmts.iter().try_fold(1, |most, s| Some(own(&s.op)?.max(inner(&s.op)?).max(most)))
}

/// Must the body be run by a whole block: does it make arrays that are kept, or fold along a long axis that its reads follow?
fn wants_block(body: &Body, lane: Option<Id>) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Sort { .. } => true,
        Op::For { .. } | Op::While { .. } if stmt.carries_arrays() => true,
        Op::Fold { shape, body: inner, .. } => {
            let long = Size::product(shape).constant().is_none_or(|n| n > FEW_TURNS);
            let own = inner.params.last().map_or(0, |k| far_reads(inner, k.id));
            let across = lane.map_or(usize::MAX, |lane| far_reads(inner, lane));
            long && own < across || wants_block(inner, lane)
        }
        op => op.bodies().iter().any(|b| wants_block(b, lane)),
    })
}

/// Names in order of appearance.
fn number(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    let mut next = kernel.functions.iter().map(|f| crate::code::largest_id(&f.body)).max().map_or(0, |n| n + 1);
    kernel.body = body.freshened(&mut || {
        next += 1;
        Id(next - 1)
    });
}
