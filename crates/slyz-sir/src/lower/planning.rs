//! What every lowering keeps while it turns a program into a plan: where values live, and the steps so far.
//!
//! How the work of an array operation is cut into blocks and threads is the strategy's business (`cpu`, `gpu`).

use super::Choice;
use super::access::needs_block;
use super::gpu::Expected;
use super::leading::Leading;
use super::reuse::{self, Reuse};
use super::untile::Untiles;
use super::writer::KernelWriter;
use crate::code::{Body, FnId, Function, Id, MemId, Op, Stmt, Type, largest_id};
use crate::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Memory, Plan, Space, Step};
use crate::program::Program;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Lines, Write};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

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
    /// The counter of a loop of the plan.
    Counter(Counter),
}

/// The counter of a loop of the plan.
#[derive(Clone, Copy)]
pub(super) struct Counter {
    /// Loops around it.
    pub(super) depth: u32,
    pub(super) ty: Ty,
    /// The first value and the step, unless it counts turns.
    pub(super) from: Option<(Id, Id)>,
}

/// A plan under construction.
pub(super) struct Lowering<'g> {
    pub(super) program: &'g Program,
    pub(super) plan: Plan,
    pub(super) buffers: HashMap<Id, BufferId>,
    pub(super) again: HashMap<Id, &'g Stmt>,
    pub(super) types: HashMap<Id, Type>,
    names: HashMap<String, usize>,
    /// The places of parameters and of results.
    params: HashMap<Id, usize>,
    results: HashMap<Id, usize>,
    /// Which other scalars must be computed again for one that is.
    needs: HashMap<Id, Rc<[Id]>>,
    /// The largest name in a function.
    pub(super) largest: u32,
    /// Functions that work on arrays, which a function of a kernel cannot: they are written out where they are called.
    on_arrays: Vec<bool>,
    /// What is chosen where several choices are right.
    pub(super) choice: Choice,
    /// Has the machine `fma` at the price of a product? Then sums of products round once a term.
    pub(super) fuses: bool,
    /// What is expected of sizes, where that decides how to compute.
    pub(super) expected: Expected,
    /// Is a row that is cheap to compute computed wherever it is read, rather than kept in memory?
    pub(super) recomputes: bool,
    /// Some fold that rounds is not made in the canonical order.
    pub(super) regroups: Cell<bool>,
    /// Which arrays take over the memory of others.
    pub(super) reuse: Reuse,
    /// The other way round.
    heirs: HashMap<Id, Id>,
    /// Which tiles are written to their places in a whole.
    pub(super) untiles: Untiles<'g>,
    /// Counters of the loops of the plan around what is being planned, and how many loops there are.
    pub(super) counters: HashMap<Id, Counter>,
    pub(super) depth: u32,
    /// Buffers that values must be in.
    pub(super) wanted: HashMap<Id, BufferId>,
    /// The longest axis whose folds are made by a lane each, in the canonical order; 0 where all are made by blocks.
    pub(super) short: u64,
    /// How much of sorted lines is read, where the machine makes use of that.
    pub(super) leading: Leading,
    /// Sums are made as people write them for the machine: long chains are not cut.
    pub(super) plain_sums: bool,
    /// Does a block go along a line with vectors ([`Op::Prefixes`]), or one element after the other?
    pub(super) has_prefixes: bool,
    /// Extents that are as short in what is being planned.
    pub(super) short_here: Vec<Size>,
    /// Where it says whether the launches that are being planned do anything at all.
    pub(super) guard: Option<BufferId>,
}

/// The kernel that does nothing where a `bool`, bound behind its other memories, does not hold.
fn guarded(mut kernel: Kernel) -> Kernel {
    let memory = MemId(kernel.memories.len() as u32);
    let space = Space::Global(Access::Read);
    kernel.memories.push(Memory { name: "holds".to_string(), ty: Ty::Bool, space, shape: vec![] });
    let mut lines = Lines::new(kernel.fresh_ids());
    let holds = lines.push(Op::Load { memory, index: vec![] }, Ty::Bool);
    let nothing = Body { params: vec![], stmts: vec![], results: vec![] };
    let then = Body { stmts: std::mem::take(&mut kernel.body.stmts), ..nothing.clone() };
    lines.act(Op::If { cond: holds, args: vec![], then, otherwise: nothing });
    kernel.body.stmts = lines.take();
    kernel
}

/// The most scalars that are computed again for one: all of them would be in every kernel that wants it.
const MOST_AGAIN: usize = 128;

/// Is it a scalar that costs less than passing it around?
pub(super) fn is_cheap(op: &Op) -> bool {
    match op {
        Op::Const(_) | Op::Extent(_) | Op::Cast(..) | Op::Bitcast(..) => true,
        Op::Apply(operator, _) => operator.row().cost <= 10,
        _ => false,
    }
}

impl<'g> Lowering<'g> {
    pub(super) fn new(program: &'g Program) -> Self {
        let mut types = HashMap::new();
        program.functions.iter().map(|f| &f.body).chain([&program.body]).for_each(|b| collect_types(b, &mut types));
        let plan = Plan {
            name: program.name.clone(),
            sizes: program.sizes.clone(),
            params: program.body.params.clone(),
            names: program.names.clone(),
            buffers: vec![],
            results: vec![],
            kernels: vec![],
            steps: vec![],
        };
        let mut on_arrays: Vec<bool> = vec![];
        for function in &program.functions {
            on_arrays.push(works_on_arrays(&function.body, &on_arrays));
        }
        let reuse = reuse::of(program);
        let mut lowering = Lowering {
            program,
            plan,
            buffers: HashMap::new(),
            again: HashMap::new(),
            types,
            names: HashMap::new(),
            params: program.body.params.iter().map(|p| p.id).zip(0..).collect(),
            // The first place of what is given twice.
            results: program.body.results.iter().enumerate().rev().map(|(k, &id)| (id, k)).collect(),
            needs: HashMap::new(),
            largest: program.functions.iter().map(|f| largest_id(&f.body)).max().unwrap_or(0),
            on_arrays,
            fuses: true,
            choice: Choice::USUAL,
            expected: Expected::default(),
            recomputes: false,
            regroups: Cell::new(false),
            heirs: HashMap::new(),
            counters: HashMap::new(),
            depth: 0,
            wanted: HashMap::new(),
            short: 0,
            leading: Leading::default(),
            plain_sums: false,
            has_prefixes: false,
            short_here: vec![],
            guard: None,
            untiles: Untiles::of(program, &reuse),
            reuse,
        };
        lowering.heirs = lowering.reuse.iter().map(|(&heir, over)| (over.of, heir)).collect();
        for (k, param) in program.body.params.iter().enumerate() {
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

    /// The code of a function that must be written out where it is called.
    pub(super) fn written_out(&self, FnId(function): FnId) -> Option<&'g Body> {
        let body = &self.program.functions[function as usize].body;
        self.on_arrays[function as usize].then_some(body)
    }

    /// Leaves a cheap scalar to the kernels that want it; `false` if too much else would have to be computed again for it.
    pub(super) fn leave(&mut self, stmt: &'g Stmt) -> bool {
        let mut needs = vec![];
        stmt.op.each_operand(&mut |id| needs.extend(self.needs.get(&id).into_iter().flat_map(|needs| needs.iter())));
        needs.sort();
        needs.dedup();
        if needs.len() >= MOST_AGAIN {
            return false;
        }
        let is_free = matches!(stmt.op, Op::Const(_) | Op::Extent(_));
        needs.extend(stmt.binds.iter().map(|b| b.id).filter(|_| !is_free));
        let needs: Rc<[Id]> = needs.into();
        for bind in &stmt.binds {
            self.again.insert(bind.id, stmt);
            self.needs.insert(bind.id, needs.clone());
        }
        true
    }

    /// The first of the arrays whose memory an array has.
    pub(super) fn root(&self, array: Id) -> Id {
        let mut root = array;
        while let Some(over) = self.reuse.get(&root) {
            root = over.of;
        }
        root
    }

    /// The last of the arrays that have the memory of an array.
    fn last(&self, array: Id) -> Id {
        let mut last = array;
        while let Some(&next) = self.heirs.get(&last) {
            last = next;
        }
        last
    }

    /// Is a scalar of the top level that number?
    pub(super) fn is_constant(&self, id: Id, number: i128) -> bool {
        matches!(self.again.get(&id).map(|stmt| &stmt.op), Some(Op::Const(value)) if value.as_int() == number)
    }

    /// The first of the arrays that an array is made of by changes in place.
    pub(super) fn updated(&self, array: Id) -> Id {
        let mut root = array;
        while let Some(over) = self.reuse.get(&root).filter(|over| over.keeps) {
            root = over.of;
        }
        root
    }

    /// Does an array have the memory of that one?
    pub(super) fn is_written_over(&self, array: Id, old: Id) -> bool {
        self.root(array) == self.root(old)
    }

    pub(super) fn home(&self, id: Id) -> Home<'g> {
        if let Some(stmt) = self.again.get(&id) {
            return Home::Again(stmt);
        }
        if let Some(counter) = self.counters.get(&id) {
            return Home::Counter(*counter);
        }
        match (self.buffers.get(&id), self.type_of(id)) {
            (Some(&buffer), Type::Array(_, shape)) => Home::Array(buffer, shape),
            (Some(&buffer), Type::Scalar(ty)) => Home::Kept(buffer, ty),
            (None, ty) => {
                let place = self.params.get(&id).copied();
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

    pub(super) fn buffer(&mut self, ty: Ty, shape: Vec<Size>, role: BufferUse) -> BufferId {
        self.plan.buffers.push(Buffer { ty, shape, role });
        BufferId(self.plan.buffers.len() as u32 - 1)
    }

    /// A buffer for a value that a statement of the top level gives.
    pub(super) fn buffer_for(&mut self, id: Id, shape: Vec<Size>) -> BufferId {
        if let Some(&buffer) = self.wanted.get(&id) {
            self.buffers.insert(id, buffer);
            return buffer;
        }
        if let Some(over) = self.reuse.get(&id)
            && let Some(&buffer) = self.buffers.get(&over.of)
        {
            self.buffers.insert(id, buffer);
            return buffer;
        }
        let result = self.results.get(&self.last(id)).copied();
        let role = result.map_or(BufferUse::Temporary, BufferUse::Result);
        let buffer = self.buffer(self.types[&id].elem(), shape, role);
        self.buffers.insert(id, buffer);
        buffer
    }

    pub(super) fn kernel_name(&mut self, what: &str) -> String {
        let stem = format!("{}_{what}", self.program.name);
        let count = self.names.entry(stem.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { stem } else { format!("{stem}{count}") }
    }

    /// Is it one short axis?
    pub(super) fn is_short(&self, shape: &[Size]) -> bool {
        let [extent] = shape else { return false };
        extent.constant().map_or_else(|| self.short_here.contains(extent), |n| n <= self.short)
    }

    /// Must the body be run by a whole block?
    pub(super) fn needs_block(&self, body: &Body) -> bool {
        needs_block(body, body.params.last().map(|p| p.id), &|shape| self.is_short(shape))
    }

    pub(super) fn launch(
        &mut self,
        (mut kernel, mut buffers, scalars): (Kernel, Vec<BufferId>, Vec<crate::kernel::ScalarArg>),
    ) {
        if let Some(guard) = self.guard {
            kernel = guarded(kernel);
            buffers.push(guard);
        }
        self.plan.kernels.push(kernel);
        let kernel = self.plan.kernels.len() - 1;
        self.plan.steps.push(Step::Launch { kernel, buffers, scalars });
    }

    /// Two ways to the same results: the second one where there is more work than that, in additions.
    pub(super) fn choose(
        &mut self,
        work: Size,
        most: u64,
        small: impl FnOnce(&mut Self),
        large: impl FnOnce(&mut Self),
    ) {
        match work.constant() {
            Some(known) if known <= most => return small(self),
            Some(_) => return large(self),
            None => {}
        }
        let before = std::mem::take(&mut self.plan.steps);
        small(self);
        let small = std::mem::take(&mut self.plan.steps);
        large(self);
        let large = std::mem::replace(&mut self.plan.steps, before);
        self.plan.steps.push(Step::Choose { work, most, small, large });
    }

    /// Binds output memories; they are the first of the kernel.
    pub(super) fn outputs(&mut self, stmt: &Stmt) -> Vec<(BufferId, Vec<Size>)> {
        stmt.binds.iter().map(|b| (self.buffer_for(b.id, b.ty.shape().to_vec()), b.ty.shape().to_vec())).collect()
    }

    pub(super) fn finish(mut self) -> Plan {
        let results = self.program.body.results.clone();
        let missing: Vec<(usize, Id)> =
            results.iter().copied().enumerate().filter(|(_, id)| !self.buffers.contains_key(id)).collect();
        if !missing.is_empty() {
            let mut made: HashMap<Id, BufferId> = HashMap::new();
            for &(k, id) in &missing {
                let ty = self.types[&id].elem();
                made.entry(id).or_insert_with(|| self.buffer(ty, vec![], BufferUse::Result(k)));
            }
            let name = self.kernel_name("scalar");
            let mut w = KernelWriter::new(&self, name, Size::Const(1));
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

/// Is there an operation on arrays in the body, or in a function that it calls?
fn works_on_arrays(body: &Body, functions: &[bool]) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::At { .. } | Op::Tabulate { .. } | Op::Fold { .. } | Op::Scan { .. } => true,
        Op::Scatter { .. } | Op::Filter { .. } | Op::Sort { .. } | Op::Raw(_) => true,
        Op::Call(function, _) => functions[function.0 as usize],
        op => op.bodies().iter().any(|b| works_on_arrays(b, functions)),
    })
}

pub(super) fn collect_types(body: &Body, types: &mut HashMap<Id, Type>) {
    types.extend(body.params.iter().map(|p| (p.id, p.ty.clone())));
    for stmt in &body.stmts {
        stmt.op.bodies().iter().for_each(|b| collect_types(b, types));
        types.extend(stmt.binds.iter().map(|b| (b.id, b.ty.clone())));
    }
}

/// The positions on the axes of `shape` of a row-major number.
pub(super) fn unflatten(w: &mut impl Write, number: Id, shape: &[Size]) -> Vec<Id> {
    let mut rest = number;
    let mut at = vec![];
    for size in shape[1..].iter().rev() {
        let extent = w.extent(size);
        at.push(w.value(rest % extent));
        rest = w.value(rest / extent);
    }
    at.push(rest);
    at.reverse();
    at
}

/// `lo..hi` of piece number `k` of an axis.
pub(super) fn piece(w: &mut KernelWriter, k: Id, length: u64, axis: &Size) -> (Id, Id) {
    let length = w.number(length as i64);
    let lo = w.value(k * length);
    let end = w.value(lo + length);
    let extent = w.extent(axis);
    let hi = w.value(end.least(extent));
    (lo, hi)
}

/// Gives a kernel the functions of the program that it calls.
pub(super) fn take_functions(kernel: &mut Kernel, functions: &[Function]) {
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
    let mut used = vec![false; functions.len()];
    calls(&kernel.body, &mut used);
    // A function calls only functions before it.
    for k in (0..functions.len()).rev() {
        if used[k] {
            calls(&functions[k].body, &mut used);
        }
    }
    let place: Vec<u32> = used.iter().scan(0, |n, &u| Some(std::mem::replace(n, *n + u as u32))).collect();
    kernel.functions = functions.iter().zip(used).filter(|(_, used)| *used).map(|(f, _)| f.clone()).collect();
    kernel.functions.iter_mut().for_each(|f| renumber(&mut f.body, &place));
    renumber(&mut kernel.body, &place);
}

/// Frees each temporary after its last use.
fn free_temporaries(plan: &mut Plan) {
    let steps = std::mem::take(&mut plan.steps);
    let mut freed = vec![false; plan.buffers.len()];
    let mut backwards = vec![];
    for step in steps.into_iter().rev() {
        let mut used = step.buffers();
        used.retain(|b| plan.buffers[b.0 as usize].role == BufferUse::Temporary && !freed[b.0 as usize]);
        used.sort();
        used.dedup();
        backwards.extend(used.iter().rev().map(|&b| Step::Free(b)));
        used.iter().for_each(|b| freed[b.0 as usize] = true);
        backwards.push(step);
    }
    backwards.reverse();
    plan.steps = backwards;
}
