//! `spread`: hands the turns of `lanes` to the threads of the block, and gives scratch memory a home.
//!
//! Before, a kernel is written for a block: uniform code, with block-wide work in `lanes`. After, it is code for one
//! thread (SIMT): no `lanes`, no `scratch`. It means what the kernel before means with blocks of one thread.
//!
//! * `lanes` becomes a loop over every `threads`-th turn, or a guarded statement where there are no more turns than threads.
//! * `lanes` with a monoid gives each thread a partial result, which `fold` joins: in the subgroup by its own reduction
//!   or by a tree of shuffles, between subgroups through shared memory. A monoid that is not commutative keeps its order:
//!   each thread takes neighbouring turns, and trees join neighbours.
//! * Where turns are short, a thread has several of them under way (`unroll`).
//! * Loops over one row that is expected to be short share what they read and compute, in registers (`keep`).
//! * Uniform code is run by all threads. What it stores is stored by the first thread.
//! * Barriers stand only where two threads may meet at one element: memory is followed access by access, so that
//!   loops which do not share anything run on without waiting, and a kernel never waits at its end.
//! * Scratch of constant size becomes shared memory as long as that lasts: what blocks have beside others, and where that does not do for all,
//!   the most that a block may have. The rest becomes a slice of a global memory per block, which the launch has to bind
//!   ([`Spread::spilled`]).
//!
//! ```text
//! %s: f32 = lanes %lo to %hi |%k: i64| {           %t: i64 = local.x
//!   %v: f32 = load x[%k]                           %k0: i64 = add %lo, %t
//!   yield %v                                       %p: f32 = for %k0 to %hi step %64 (%zero) |%k: i64, %a: f32| {
//! } with commutative (%zero) add             →       %v: f32 = load x[%k]  %b: f32 = add %a, %v  yield %b
//!                                                  }
//!                                                  %q: f32 = subgroup add %p
//!                                                  …
//! ```
//!
//! It needs: a block of one dimension, a grid of one dimension where something spills, uniform code outside `lanes` that
//! has neither barriers nor atomics, and a block small enough for partial results to fit shared memory.

mod fold;
mod keep;
mod order;
mod unroll;

use crate::choices::Precision;
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Stmt, Type, Var};
use crate::kernel::{Access, Kernel, Memory, SHARED_ALIGNMENT, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write};
use keep::{Row, Together};
use order::Accesses;
use std::collections::{HashMap, HashSet};

pub use fold::has_lanes;

/// Turns of a sum that a thread adds one after the other, and sums of those that it does: longer ones are cut, as the error
/// grows with the longest chain. Four equal numbers are added without an error, whatever they are.
pub(crate) const RUN: i64 = 16;
pub(crate) const FAN: i64 = 4;

/// The threads that step together, and what they can do without memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subgroup {
    /// How many threads, in every kernel of the device.
    pub size: u32,
    /// The widest type, in bits, that they exchange and reduce.
    pub bits: u32,
    /// They have the smallest and the largest of floats, and take NaN as they please: for kernels that ask for no more than is native.
    pub float_extremes: bool,
    /// They reduce in one instruction: of a few partial results, too, a lane takes each, instead of every thread all of them.
    pub reduces_few: bool,
}

/// What the block may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resources {
    /// `None` on a machine without subgroup operations.
    pub subgroup: Option<Subgroup>,
    /// Shared memory of a block with others beside it.
    pub shared_bytes: u64,
    /// What there is on top of that for scratch.
    pub more_shared_bytes: u64,
    /// What an element of it takes at least.
    pub least_bytes: u64,
    /// Turns of a loop that a thread has under way at once, where they are short.
    pub turns_at_once: u32,
    /// Elements of a row that a thread keeps in registers; 0 where it had better read them again.
    pub kept_values: u32,
}

/// A kernel that was spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Code for one thread.
    pub kernel: Kernel,
    /// Memories that were scratch and are global now, with the block's number as their first axis; in increasing order.
    pub spilled: Vec<MemId>,
    /// Bytes of shared memory it uses.
    pub shared_bytes: u64,
    /// Its partial results do not fit what a block has with others beside it.
    pub is_too_large: bool,
}

/// About how large a size is, where that is known. The code is right for all others.
pub type About<'a> = dyn Fn(&Size) -> Option<u64> + 'a;

/// Runs the pass on a kernel.
pub fn run(kernel: Kernel, resources: &Resources, about: &About<'_>) -> Spread {
    let threads = kernel.block.iter().product::<u32>();
    let mut fresh = kernel.fresh_ids();
    let thread = fresh();
    let first = fresh();
    let mut used = HashSet::new();
    collect_uses(&kernel.body, &mut used);
    let mut extents = HashMap::new();
    collect_extents(&kernel.body, &mut extents);
    let numbers = numbers(&extents, &kernel.body);
    let native = kernel.precision == Some(Precision::Native);
    let allowed = |subgroup: Subgroup| Subgroup { float_extremes: subgroup.float_extremes && native, ..subgroup };
    let mut spreader = Spreader {
        subgroup: resources.subgroup.filter(|_| threads > 1).map(allowed),
        turns_at_once: resources.turns_at_once.max(1),
        plain_sums: native,
        threads,
        thread,
        first,
        fresh: Box::new(fresh),
        memories: kernel.memories.clone(),
        hot: order::hot(&kernel),
        spilled: vec![],
        slot: None,
        partials: HashMap::new(),
        pending: Accesses::default(),
        out: vec![],
        renamed: HashMap::new(),
        used,
        numbers,
        extents,
        about,
        kept_values: resources.kept_values,
        row: None,
    };
    spreader.fold_memories(&kernel.body);
    let Placed { shared_bytes, is_too_large, .. } = spreader.place_scratch(&kernel, resources);
    let mut body = spreader.body(kernel.body);
    let mut start = spreader.thread_names();
    start.append(&mut body.stmts);
    body.stmts = start;
    let Spreader { memories, spilled, .. } = spreader;
    Spread { kernel: Kernel { memories, body, ..kernel }, spilled, shared_bytes, is_too_large }
}

/// What becomes of scratch.
struct Placed {
    /// What has no room in shared memory.
    spilled: Vec<MemId>,
    /// All shared memory.
    shared_bytes: u64,
    /// What is not scratch does not fit.
    is_too_large: bool,
}

struct Spreader<'a> {
    threads: u32,
    turns_at_once: u32,
    /// Sums are made as people write them: long chains are not cut.
    plain_sums: bool,
    subgroup: Option<Subgroup>,
    /// `local.x`, and whether it is 0.
    thread: Id,
    first: Id,
    fresh: Box<dyn FnMut() -> Id>,
    memories: Vec<Memory>,
    /// Memories at whose elements two threads may meet.
    hot: Vec<bool>,
    spilled: Vec<MemId>,
    /// The number of the block, where something spilled.
    slot: Option<Id>,
    /// Shared memory for partial results: one per type and component.
    partials: HashMap<(Ty, usize), MemId>,
    /// What was accessed since the last barrier.
    pending: Accesses,
    /// The body being written.
    out: Vec<Stmt>,
    /// Results of `lanes`, and what they became.
    renamed: HashMap<Id, Id>,
    /// Names that somebody uses.
    used: HashSet<Id>,
    /// Names whose value is known.
    numbers: HashMap<Id, i64>,
    /// Names that are extents.
    extents: HashMap<Id, Size>,
    about: &'a About<'a>,
    kept_values: u32,
    /// The row that loops of the body being written share.
    row: Option<Row>,
}

impl Write for Spreader<'_> {
    fn fresh(&mut self) -> Id {
        (self.fresh)()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        &mut self.out
    }
}

impl Spreader<'_> {
    // ---- writing

    /// The statements of a body whose names are final, with its results.
    fn inline(&mut self, body: Body) -> Vec<Id> {
        self.out.extend(body.stmts);
        body.results
    }

    fn thread_names(&mut self) -> Vec<Stmt> {
        let var = |id, ty| vec![Var { id, ty: Type::Scalar(ty) }];
        let mut stmts = vec![];
        if let Some(slot) = self.slot {
            stmts.push(Stmt { binds: var(slot, Ty::I64), op: Op::Place(Place::Block, 0) });
        }
        if self.threads > 1 {
            let zero = (self.fresh)();
            stmts.push(Stmt { binds: var(self.thread, Ty::I64), op: Op::Place(Place::Local, 0) });
            stmts.push(Stmt { binds: var(zero, Ty::I64), op: Op::Const(Scalar::i64(0)) });
            let test = Op::Apply(Operator::Eq, vec![self.thread, zero]);
            stmts.push(Stmt { binds: var(self.first, Ty::Bool), op: test });
        }
        stmts
    }

    // ---- memory

    /// Makes shared memory out of scratch while there is room, and slices of global memory out of the rest.
    fn place_scratch(&mut self, kernel: &Kernel, resources: &Resources) -> Placed {
        let usual = self.placed(kernel, resources.shared_bytes, resources.least_bytes, 1);
        let most = resources.shared_bytes + resources.more_shared_bytes;
        let is_scarce =
            usual.spilled.iter().any(|&MemId(k)| self.bytes_of(k as usize, resources.least_bytes).is_some());
        let placed = match is_scarce && !usual.is_too_large && resources.more_shared_bytes > 0 {
            true => self.placed(kernel, most, resources.least_bytes, SHARED_ALIGNMENT),
            false => usual,
        };
        for (k, memory) in kernel.memories.iter().enumerate() {
            if memory.space != Space::Scratch {
                continue;
            }
            if placed.spilled.contains(&MemId(k as u32)) {
                self.slot.get_or_insert_with(&mut self.fresh);
                self.memories[k].space = Space::Global(Access::ReadWrite);
                self.memories[k].shape.insert(0, kernel.grid[0].clone());
            } else {
                self.memories[k].space = Space::Shared;
            }
        }
        self.spilled = placed.spilled.clone();
        placed
    }

    /// What becomes of scratch where a block has so many bytes and its memories begin at such multiples.
    fn placed(&self, kernel: &Kernel, most: u64, least_bytes: u64, alignment: u64) -> Placed {
        let bytes = |k: usize| self.bytes_of(k, least_bytes)?.checked_next_multiple_of(alignment);
        let is_shared = |&k: &usize| self.memories[k].space == Space::Shared;
        let own: u64 = (0..self.memories.len()).filter(is_shared).filter_map(bytes).sum();
        let mut placed = Placed { spilled: vec![], shared_bytes: own, is_too_large: own > most };
        for k in (0..kernel.memories.len()).filter(|&k| kernel.memories[k].space == Space::Scratch) {
            match bytes(k).filter(|&bytes| placed.shared_bytes.saturating_add(bytes) <= most) {
                Some(bytes) => placed.shared_bytes += bytes,
                None => placed.spilled.push(MemId(k as u32)),
            }
        }
        placed
    }

    /// What a memory of constant size takes.
    fn bytes_of(&self, memory: usize, least_bytes: u64) -> Option<u64> {
        let memory = &self.memories[memory];
        let count = Size::product(&memory.shape).constant()?;
        count.checked_mul((memory.ty.bytes() as u64).max(least_bytes))
    }

    /// The operation with names and memories as they are now.
    fn rewritten(&self, op: &Op) -> Op {
        let mut op = op.clone();
        let mut rename = |id: &mut Id| *id = *self.renamed.get(id).unwrap_or(id);
        op.each_operand_mut(&mut rename);
        op.bodies_mut().into_iter().for_each(|body| body.each_use_mut(&mut rename));
        if let Some(slot) = self.slot {
            slice(&mut op, &self.spilled, slot);
        }
        op
    }

    fn accesses(&self, op: &Op) -> Accesses {
        order::of_op(op, &self.hot, &|monoid| self.memories_of(monoid))
    }

    /// Waits where somebody may still be at these elements, then notes the accesses.
    fn access(&mut self, accesses: Accesses) {
        if self.threads > 1 && self.pending.conflicts(&accesses) {
            self.barrier();
        }
        self.pending.extend(accesses);
    }

    fn barrier(&mut self) {
        self.out.push(Stmt { binds: vec![], op: Op::Barrier(crate::code::Scope::Block) });
        self.pending = Accesses::default();
    }

    // ---- code of the block

    fn body(&mut self, body: Body) -> Body {
        match self.row_of(&body, body.results.is_empty()) {
            Some(row) if row.together() == Together::Perhaps => self.both_ways(body, row),
            row => self.body_of(body, row),
        }
    }

    /// The code twice: for a row of a multiple of four elements, and for any other. All threads take the same way.
    fn both_ways(&mut self, body: Body, row: Row) -> Body {
        let params: Vec<Id> = body.params.iter().map(|param| param.id).collect();
        let other = body.instantiate(&params, &mut self.fresh);
        collect_uses(&other, &mut self.used);
        let mut extents = HashMap::new();
        collect_extents(&other, &mut extents);
        self.numbers.extend(numbers(&extents, &other));
        self.extents.extend(extents);
        let around = self.begin();
        let extent = self.extent(row.extent());
        let rest = self.value(extent % keep::NEIGHBOURS as i64);
        let cond = self.value(rest.equals(0));
        let before = self.pending.clone();
        let then = self.body_of(Body { params: vec![], ..body.clone() }, Some(row.of_fours()));
        let after_then = std::mem::replace(&mut self.pending, before);
        let row = self.row_of(&other, false);
        let otherwise = self.body_of(other, row);
        self.pending.extend(after_then);
        self.act(Op::If { cond, args: vec![], then, otherwise });
        Body { params: body.params, stmts: self.end(around), results: vec![] }
    }

    fn body_of(&mut self, mut body: Body, own: Option<Row>) -> Body {
        let around = std::mem::replace(&mut self.row, own);
        self.rewrite(&mut body, Self::stmt);
        self.row = around;
        body.results.iter_mut().for_each(|id| *id = *self.renamed.get(id).unwrap_or(id));
        body
    }

    fn stmt(&mut self, stmt: Stmt) {
        if let Op::Lanes { .. } = &stmt.op {
            return self.lanes(stmt);
        }
        let touched = self.accesses(&stmt.op);
        let unused = stmt.binds.iter().all(|b| !self.used.contains(&b.id));
        if !contains(&stmt.op, &|op| matches!(op, Op::Lanes { .. })) {
            let stores = contains(&stmt.op, &|op| matches!(op, Op::Store { .. }));
            if !stores || self.threads == 1 {
                self.access(touched);
                let op = self.rewritten(&stmt.op);
                return self.out.push(Stmt { binds: stmt.binds, op });
            }
            if unused {
                self.access(touched);
                let op = self.rewritten(&stmt.op);
                return self.by_first(Stmt { binds: stmt.binds, op });
            }
        }
        let Stmt { binds, mut op } = stmt;
        let mut rename = |id: &mut Id| *id = *self.renamed.get(id).unwrap_or(id);
        op.each_operand_mut(&mut rename);
        match &mut op {
            Op::If { then, otherwise, .. } => {
                let before = self.pending.clone();
                *then = self.body(std::mem::take(then));
                let after_then = std::mem::replace(&mut self.pending, before);
                *otherwise = self.body(std::mem::take(otherwise));
                self.pending.extend(after_then);
            }
            Op::For { body, .. } => {
                // The turn before may have touched whatever the body touches.
                let before = self.pending.clone();
                self.pending.extend(touched);
                *body = self.body(std::mem::take(body));
                self.pending.extend(before);
            }
            Op::While { cond, body, .. } => {
                let before = self.pending.clone();
                self.pending.extend(touched);
                *cond = self.body(std::mem::take(cond));
                *body = self.body(std::mem::take(body));
                self.pending.extend(before);
                // It ends with the condition, whose reads come after the body's barriers.
                let mut last = Accesses::default();
                cond.stmts.iter().for_each(|s| last.extend(self.accesses(&s.op)));
                self.pending.extend(last);
            }
            other => unreachable!("only branches and loops have lanes or stores inside: {other:?}"),
        }
        self.out.push(Stmt { binds, op });
    }

    /// A statement of which only what it stores matters.
    fn by_first(&mut self, stmt: Stmt) {
        // Stores that follow each other share a branch.
        if let Some(Stmt { op: Op::If { cond, then, .. }, binds }) = self.out.last_mut()
            && *cond == self.first
            && binds.is_empty()
        {
            return then.stmts.push(stmt);
        }
        let first = self.first;
        self.when(first, |s| s.out.push(stmt));
    }

    fn lanes(&mut self, stmt: Stmt) {
        let Op::Lanes { lo, hi, body, monoid } = self.rewritten(&stmt.op) else {
            unreachable!("rewriting keeps the operation")
        };
        // What the joining of partial results touches is noted where it happens.
        self.access(order::accesses(&body, &self.hot, &|_| vec![]));
        let mut row = self.row.take();
        if let Some(row) = row.as_mut().filter(|row| self.is_of(row, [lo, hi], &body, monoid.as_ref())) {
            let own = self.kept(row, hi, body, monoid.as_ref());
            if let Some(monoid) = &monoid {
                let values = self.joined(own, monoid);
                self.renamed.extend(stmt.binds.iter().map(|b| b.id).zip(values));
            }
        } else {
            self.loop_of_lanes(&stmt, [lo, hi], body, monoid);
        }
        self.row = row;
    }

    fn loop_of_lanes(&mut self, stmt: &Stmt, [lo, hi]: [Id; 2], body: Body, monoid: Option<Monoid>) {
        let turns = match (self.numbers.get(&lo), self.numbers.get(&hi)) {
            (Some(lo), Some(hi)) => Some(hi.saturating_sub(*lo).max(0)),
            _ => None,
        };
        match monoid {
            Some(monoid) => {
                let values = self.fold_turns([lo, hi], turns, body, &monoid);
                self.renamed.extend(stmt.binds.iter().map(|b| b.id).zip(values));
            }
            None => self.each_turn([lo, hi], turns, body),
        }
    }

    fn each_turn(&mut self, [lo, hi]: [Id; 2], turns: Option<i64>, body: Body) {
        let turn = self.first_turn(lo);
        if turns.is_some_and(|n| n <= i64::from(self.threads)) {
            let arg = body.params[0].id;
            let write = |s: &mut Self| {
                s.renamed_inline(body, arg, turn);
            };
            if turns == Some(i64::from(self.threads)) {
                return write(self);
            }
            let inside = self.value(turn.below(hi));
            return self.when(inside, write);
        }
        self.turns([turn, hi], turns, self.threads, body);
    }

    /// The first turn of this thread, where threads take turns.
    fn first_turn(&mut self, lo: Id) -> Id {
        if self.threads == 1 {
            return lo;
        }
        match self.numbers.get(&lo) {
            Some(0) => self.thread,
            _ => self.value(lo + self.thread),
        }
    }

    /// A body whose parameter has a value.
    fn renamed_inline(&mut self, mut body: Body, param: Id, value: Id) -> Vec<Id> {
        body.each_use_mut(&mut |id| {
            if *id == param {
                *id = value;
            }
        });
        self.inline(body)
    }
}

fn slice(op: &mut Op, spilled: &[MemId], slot: Id) {
    match op {
        Op::Load { memory, index } | Op::Store { memory, index, .. } if spilled.contains(memory) => {
            index.insert(0, slot);
        }
        _ => {}
    }
    for body in op.bodies_mut() {
        body.stmts.iter_mut().for_each(|s| slice(&mut s.op, spilled, slot));
    }
}

fn contains(op: &Op, what: &dyn Fn(&Op) -> bool) -> bool {
    what(op) || op.bodies().iter().any(|b| b.stmts.iter().any(|s| contains(&s.op, what)))
}

fn collect_uses(body: &Body, used: &mut HashSet<Id>) {
    for stmt in &body.stmts {
        stmt.op.each_operand(&mut |id| {
            used.insert(id);
        });
        stmt.op.bodies().into_iter().for_each(|b| collect_uses(b, used));
    }
    used.extend(&body.results);
}

/// The names that are extents.
fn collect_extents(body: &Body, found: &mut HashMap<Id, Size>) {
    for stmt in &body.stmts {
        if let (Op::Extent(size), [bind]) = (&stmt.op, &stmt.binds[..]) {
            found.insert(bind.id, size.clone());
        }
        stmt.op.bodies().into_iter().for_each(|b| collect_extents(b, found));
    }
}

/// The names that are constants.
fn numbers(extents: &HashMap<Id, Size>, body: &Body) -> HashMap<Id, i64> {
    fn walk(body: &Body, found: &mut HashMap<Id, i64>) {
        for stmt in &body.stmts {
            if let (Op::Const(value), [bind]) = (&stmt.op, &stmt.binds[..])
                && value.ty == Ty::I64
            {
                found.insert(bind.id, value.bits as i64);
            }
            stmt.op.bodies().into_iter().for_each(|b| walk(b, found));
        }
    }
    let known = |(id, size): (&Id, &Size)| Some((*id, size.constant()? as i64));
    let mut found = extents.iter().filter_map(known).collect();
    walk(body, &mut found);
    found
}
