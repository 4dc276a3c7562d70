//! Writes the code of one kernel.
//!
//! Program code is written out statement by statement. Arrays of the program are memories here, or, inside lanes where
//! nothing can be kept, code that is written again wherever an element is read.

mod again;
mod carry;
mod first;
mod folds;
mod memories;
mod rows;
mod scans;
mod sorts;
mod tiles;

pub(super) use folds::goes_along_rows;

use super::access::{last_one_stays, row_of_turns};
use super::planning::{Counter, Home, Lowering};
use super::reuse::Takeover;
use super::{FAN, RUN};
use crate::code::{Body, Id, MemId, Monoid, Op, Scope, Stmt, Type, Var};
use crate::kernel::{Access, BufferId, Kernel, Memory, ScalarArg, Space};
use crate::names::Names;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write};
use std::collections::{HashMap, HashSet};

/// Who runs the code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The block: uniform, may use lanes.
    Block,
    /// One lane, or one turn of a sequential loop.
    Lane,
}

/// What a name of the program is in the kernel.
#[derive(Clone)]
enum Value<'g> {
    Scalar(Id),
    /// A memory whose leading axes are fixed.
    Memory(MemId, Vec<Id>),
    /// The result of that number of an operation that is written again at each read.
    Code(&'g Op, usize),
}

/// Is it a sum, or several side by side?
fn adds(monoid: &Monoid) -> bool {
    let (params, results) = (&monoid.combine.params, &monoid.combine.results);
    let (left, right) = params.split_at(params.len() / 2);
    let is_sum = |(k, result): (usize, &Id)| {
        let made = monoid.combine.stmts.iter().find(|s| s.binds.iter().any(|b| b.id == *result));
        matches!(made, Some(Stmt { op: Op::Apply(Operator::Add, args), .. }) if args[..] == [left[k].id, right[k].id])
    };
    results.iter().enumerate().all(is_sum)
}

/// An element to be stored.
#[derive(Clone, Copy)]
pub(super) struct Element {
    value: Id,
    /// Only where this holds: elsewhere it is there already.
    only: Option<Id>,
}

/// Where reads at exactly some positions go.
struct Flat {
    positions: Vec<Id>,
    at: Id,
    loaded: Loaded,
}

/// What was read already, by array and place.
pub(super) type Loaded = HashMap<(Id, Vec<Id>), Id>;

/// One turn of a loop nest: position and state in, next state out.
type Turn<'a, W> = dyn FnMut(&mut W, &[Id], Vec<Id>) -> Vec<Id> + 'a;

/// A kernel under construction.
pub(super) struct KernelWriter<'l, 'g> {
    lowering: &'l Lowering<'g>,
    pub(super) kernel: Kernel,
    pub(super) buffers: Vec<BufferId>,
    pub(super) scalars: Vec<ScalarArg>,
    /// Uniform code in front of everything else: scalars of the top level.
    prologue: Vec<Stmt>,
    /// The prologue is the body being written.
    at_prologue: bool,
    /// The body being written.
    out: Vec<Stmt>,
    values: HashMap<Id, Value<'g>>,
    /// Where arrays that the enclosing construct gives back are to be written.
    homes: HashMap<Id, (MemId, Vec<Id>)>,
    /// Reads of arrays at exactly these positions go to one flat position.
    flat: Option<Flat>,
    /// Tests whose outcome is known where code is being written.
    decided: HashMap<Id, bool>,
    /// What folds read along rows, by the name of what is read, where a lane has read the row before.
    rows: HashMap<Id, MemId>,
    /// The most turns of a lanes loop that folds floats; longer folds are cut in pieces.
    pub(super) most_turns: Option<i64>,
    /// Rows that are computed wherever they are read.
    again: HashSet<Id>,
    next: u32,
}

impl Write for KernelWriter<'_, '_> {
    fn fresh(&mut self) -> Id {
        self.next += 1;
        Id(self.next)
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        &mut self.out
    }
}

impl<'l, 'g> KernelWriter<'l, 'g> {
    pub(super) fn new(lowering: &'l Lowering<'g>, name: String, grid: Size) -> Self {
        let one = || Size::Const(1);
        let kernel = Kernel {
            name,
            sizes: lowering.program.sizes.clone(),
            memories: vec![],
            functions: vec![],
            grid: [grid, one(), one()],
            block: [1, 1, 1],
            precision: lowering.program.precision,
            product: None,
            raw: None,
            as_written: false,
            names: Names::default(),
            body: Body::default(),
        };
        KernelWriter {
            lowering,
            kernel,
            buffers: vec![],
            scalars: vec![],
            prologue: vec![],
            at_prologue: false,
            out: vec![],
            values: HashMap::new(),
            homes: HashMap::new(),
            flat: None,
            decided: HashMap::new(),
            rows: HashMap::new(),
            most_turns: None,
            again: HashSet::new(),
            // Names of functions stay; ours start above them.
            next: lowering.largest,
        }
    }

    /// The finished kernel with what a launch passes to it.
    pub(super) fn finish(mut self) -> (Kernel, Vec<BufferId>, Vec<ScalarArg>) {
        let mut stmts = std::mem::take(&mut self.prologue);
        stmts.append(&mut self.out);
        self.kernel.body.stmts = stmts;
        super::planning::take_functions(&mut self.kernel, &self.lowering.program.functions);
        self.declare_written();
        (self.kernel, self.buffers, self.scalars)
    }

    /// A memory that may be read back but is not can be written past the caches.
    fn declare_written(&mut self) {
        fn loads(body: &Body, read: &mut [bool]) {
            for stmt in &body.stmts {
                if let Op::Load { memory, .. } | Op::Atomic { memory, .. } = &stmt.op {
                    read[memory.0 as usize] = true;
                }
                stmt.op.bodies().iter().for_each(|b| loads(b, read));
            }
        }
        let mut read = vec![false; self.kernel.memories.len()];
        loads(&self.kernel.body, &mut read);
        for (memory, read) in self.kernel.memories.iter_mut().zip(read) {
            if memory.space == Space::Global(Access::ReadWrite) && !read {
                memory.space = Space::Global(Access::Write);
            }
        }
    }

    // ---- statements

    /// A position times a number that is known.
    pub(super) fn scaled(&mut self, position: Id, by: u64) -> Id {
        let by = self.number(by as i64);
        self.value(position * by)
    }

    /// `for i in lo..hi`, carrying state.
    pub(super) fn for_each(
        &mut self,
        lo: Id,
        hi: Id,
        step: i64,
        init: (Vec<Id>, &[Ty]),
        write: impl FnOnce(&mut Self, Id, &[Id]) -> Vec<Id>,
    ) -> Vec<Id> {
        let step = self.number(step);
        self.for_steps([lo, hi, step], init, write)
    }

    /// Nested loops over all positions of a shape, carrying state.
    fn for_shape(
        &mut self,
        shape: &[Size],
        at: Vec<Id>,
        init: (Vec<Id>, &[Ty]),
        write: &mut Turn<'_, Self>,
    ) -> Vec<Id> {
        let Some((first, rest)) = shape.split_first() else { return write(self, &at, init.0) };
        let lo = self.number(0);
        let hi = self.extent(first);
        let tys = init.1;
        self.for_each(lo, hi, 1, init, |w, i, state| {
            let at = [at, vec![i]].concat();
            w.for_shape(rest, at, (state.to_vec(), tys), write)
        })
    }

    /// The same for both cases: `write` is told which one it writes.
    pub(super) fn either(&mut self, cond: Id, write: &mut dyn FnMut(&mut Self, bool)) {
        let [then, otherwise] = [true, false].map(|case| {
            self.nested(&[], |w, _| {
                write(w, case);
                vec![]
            })
        });
        self.bind(Op::If { cond, args: vec![], then, otherwise }, &[]);
    }

    /// Statements that only run where both conditions hold, as far as there are any.
    pub(super) fn when_all(&mut self, conds: [Option<Id>; 2], write: impl FnOnce(&mut Self)) {
        match conds {
            [Some(a), Some(b)] => {
                let both = self.push(Op::Apply(Operator::And, vec![a, b]), Ty::Bool);
                self.when(both, write);
            }
            [Some(cond), None] | [None, Some(cond)] => self.when(cond, write),
            [None, None] => write(self),
        }
    }

    pub(super) fn lanes(&mut self, lo: Id, hi: Id, write: impl FnOnce(&mut Self, Id)) {
        let body = self.nested(&[Ty::I64], |w, ids| {
            write(w, ids[0]);
            vec![]
        });
        self.bind(Op::Lanes { lo, hi, body, monoid: None }, &[]);
    }

    /// Folds the lanes.
    pub(super) fn lanes_fold(
        &mut self,
        lo: Id,
        hi: Id,
        monoid: &'g Monoid,
        tys: &[Ty],
        write: impl FnOnce(&mut Self, Id) -> Vec<Id>,
    ) -> Vec<Id> {
        let monoid = self.monoid(monoid, tys);
        let body = self.nested(&[Ty::I64], |w, ids| write(w, ids[0]));
        self.bind(Op::Lanes { lo, hi, body, monoid: Some(monoid) }, tys)
    }

    /// In how many lanes something holds, as an `i32`.
    pub(super) fn lanes_count(&mut self, lo: Id, hi: Id, write: impl FnOnce(&mut Self, Id) -> Id) -> Id {
        let neutral = vec![self.constant(Scalar::from_int(Ty::I32, 0))];
        let combine = self.nested(&[Ty::I32; 2], |w, ids| vec![w.apply(Operator::Add, ids, Ty::I32)]);
        let body = self.nested(&[Ty::I64], |w, ids| {
            let holds = write(w, ids[0]);
            vec![w.push(Op::Cast(Ty::I32, holds), Ty::I32)]
        });
        let monoid = Some(Monoid { neutral, combine, commutative: true });
        self.push(Op::Lanes { lo, hi, body, monoid }, Ty::I32)
    }

    fn monoid(&mut self, monoid: &'g Monoid, tys: &[Ty]) -> Monoid {
        let neutral = self.all_scalars(&monoid.neutral);
        let combine = self.nested(&[tys, tys].concat(), |w, ids| w.run(&monoid.combine, ids, Mode::Lane));
        Monoid { neutral, combine, commutative: monoid.commutative }
    }

    pub(super) fn combine(&mut self, monoid: &'g Monoid, left: &[Id], right: &[Id]) -> Vec<Id> {
        self.run(&monoid.combine, &[left, right].concat(), Mode::Lane)
    }

    /// Must the body be run by a whole block?
    fn needs_block(&self, body: &Body) -> bool {
        self.lowering.needs_block(body)
    }

    /// Neighbours are joined, then neighbouring pairs, and so on.
    pub(super) fn tree(&mut self, monoid: &'g Monoid, mut items: Vec<Vec<Id>>) -> Vec<Id> {
        while items.len() > 1 {
            let pairs = items.chunks(2);
            items = pairs
                .map(|pair| match pair {
                    [left, right] => self.combine(monoid, left, right),
                    single => single.concat(),
                })
                .collect();
        }
        items.remove(0)
    }

    /// Combines values just computed into running sums. A sum of products rounds once per term where it is a sum of floats:
    /// the order of its additions is free already, and this can only make it more exact.
    pub(super) fn accumulate(&mut self, monoid: &'g Monoid, sums: &[Id], values: &[Id]) -> Vec<Id> {
        if !adds(monoid) {
            return self.combine(monoid, sums, values);
        }
        let tys = self.types_of(&monoid.combine);
        let add = |(k, (&sum, &value)): (usize, (&Id, &Id))| {
            let fused = self.add_product(sum, value, values);
            fused.unwrap_or_else(|| self.push(Op::Apply(Operator::Add, vec![sum, value]), tys[k]))
        };
        sums.iter().zip(values).enumerate().map(add).collect()
    }

    /// `sum + x * y` for a value that is a product of floats, or of bytes, and nothing else.
    fn add_product(&mut self, sum: Id, value: Id, all: &[Id]) -> Option<Id> {
        let here = &self.out;
        let place = here.iter().position(|s| s.binds.iter().any(|b| b.id == value))?;
        let Stmt { binds, op: Op::Apply(operator @ (Operator::Mul | Operator::Dot4), factors) } = &here[place] else {
            return None;
        };
        let ty = binds[0].ty.elem();
        let (operator, factors) = (*operator, factors.clone());
        let mut uses = all.iter().filter(|id| **id == value).count();
        for stmt in &here[place + 1..] {
            stmt.op.each_operand(&mut |id| uses += (id == value) as usize);
            stmt.op.bodies().iter().for_each(|b| b.each_free(&mut |id| uses += (id == value) as usize));
        }
        let of_floats = self.lowering.fuses && matches!(ty, Ty::F32 | Ty::F64);
        if uses != 1 || operator == Operator::Mul && !of_floats {
            return None;
        }
        self.out.remove(place);
        let (fused, start) = match factors.get(2) {
            Some(&more) => (Operator::Dot4, self.apply(Operator::Add, &[more, sum], ty)),
            None => (Operator::Fma, sum),
        };
        Some(self.push(Op::Apply(fused, vec![factors[0], factors[1], start]), ty))
    }

    /// The threads of the block wait for each other.
    pub(super) fn barrier(&mut self) {
        self.bind(Op::Barrier(Scope::Block), &[]);
    }

    // ---- values of the program

    /// Says that reads at exactly `positions` are reads at the flat position `at`.
    pub(super) fn set_flat(&mut self, positions: Vec<Id>, at: Id) {
        self.set_loaded(positions, at, HashMap::new());
    }

    /// The same, and that some elements were read already.
    pub(super) fn set_loaded(&mut self, positions: Vec<Id>, at: Id, loaded: Loaded) {
        self.flat = Some(Flat { positions, at, loaded });
    }

    /// Gives a name of the program a value.
    pub(super) fn set_scalar(&mut self, id: Id, value: Id) {
        self.values.insert(id, Value::Scalar(value));
    }

    pub(super) fn set_home(&mut self, array: Id, memory: MemId, prefix: Vec<Id>) {
        self.homes.insert(array, (memory, prefix));
    }

    fn meaning(&mut self, id: Id) -> Value<'g> {
        if let Some(value) = self.values.get(&id) {
            return value.clone();
        }
        // Not bound in this kernel yet: it lives at the top level of the program.
        let value = match self.lowering.home(id) {
            Home::Scalar(param, ty) => Value::Scalar(self.parameter(ScalarArg::Argument(param), ty)),
            Home::Counter(Counter { depth, ty, from }) => {
                let turn = self.parameter(ScalarArg::Turn(depth), Ty::I64);
                self.in_prologue(|w| {
                    let turn = if ty == Ty::I64 { turn } else { w.push(Op::Cast(ty, turn), ty) };
                    let Some((lo, step)) = from else { return Value::Scalar(turn) };
                    let [lo, step] = [lo, step].map(|id| w.scalar(id));
                    let past = w.apply(Operator::Mul, &[turn, step], ty);
                    Value::Scalar(w.apply(Operator::Add, &[lo, past], ty))
                })
            }
            Home::Array(buffer, shape) => Value::Memory(self.global(buffer, Access::Read, shape), vec![]),
            Home::Kept(buffer, ty) => {
                let memory = self.global(buffer, Access::Read, vec![]);
                self.in_prologue(|w| Value::Scalar(w.push(Op::Load { memory, index: vec![] }, ty)))
            }
            Home::Again(stmt) => {
                self.in_prologue(|w| w.stmt(stmt, Mode::Block));
                self.values[&id].clone()
            }
        };
        self.values.insert(id, value.clone());
        value
    }

    /// The memory that holds just an array of the program.
    pub(super) fn whole_memory(&mut self, array: Id) -> Option<MemId> {
        match self.meaning(array) {
            Value::Memory(memory, prefix) if prefix.is_empty() => Some(memory),
            _ => None,
        }
    }

    /// The parameter of the kernel that the launch passes that scalar for.
    pub(super) fn parameter(&mut self, scalar: ScalarArg, ty: Ty) -> Id {
        if let Some(place) = self.scalars.iter().position(|known| *known == scalar) {
            return self.kernel.body.params[place].id;
        }
        let id = self.fresh();
        self.kernel.body.params.push(Var { id, ty: Type::Scalar(ty) });
        self.scalars.push(scalar);
        id
    }

    fn in_prologue<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        if self.at_prologue {
            return write(self);
        }
        self.at_prologue = true;
        let outer = std::mem::replace(&mut self.out, std::mem::take(&mut self.prologue));
        let result = write(self);
        self.prologue = std::mem::replace(&mut self.out, outer);
        self.at_prologue = false;
        result
    }

    pub(super) fn scalar(&mut self, id: Id) -> Id {
        match self.meaning(id) {
            Value::Scalar(id) => id,
            Value::Memory(..) | Value::Code(..) => unreachable!("the verifier saw a scalar here"),
        }
    }

    pub(super) fn all_scalars(&mut self, ids: &[Id]) -> Vec<Id> {
        ids.iter().map(|&id| self.scalar(id)).collect()
    }

    /// Binds the memory of an array of the top level.
    pub(super) fn bind_array(&mut self, array: Id) {
        self.meaning(array);
    }

    /// Binds every global memory that the code reads, before scratch is made and before loops are opened.
    pub(super) fn bind_globals(&mut self, op: &'g Op) {
        let mut free = vec![];
        op.each_operand(&mut |id| free.push(id));
        op.bodies().iter().for_each(|b| b.each_free(&mut |id| free.push(id)));
        for id in free {
            self.meaning(id);
        }
    }

    /// The same for some statements of a body, and for what the body gives back.
    pub(super) fn bind_stmts(&mut self, stmts: &[&'g Stmt], body: &'g Body) {
        let mut free = body.results.clone();
        for stmt in stmts {
            stmt.op.each_operand(&mut |id| free.push(id));
            stmt.op.bodies().iter().for_each(|b| b.each_free(&mut |id| free.push(id)));
        }
        let own: HashSet<Id> = body.names().collect();
        for id in free.into_iter().filter(|id| !own.contains(id)) {
            self.meaning(id);
        }
    }

    /// The same for a monoid alone.
    pub(super) fn bind_monoid(&mut self, monoid: &'g Monoid) {
        self.all_scalars(&monoid.neutral);
        let mut free = vec![];
        monoid.combine.each_free(&mut |id| free.push(id));
        self.all_scalars(&free);
    }

    // ---- code of the program

    /// Writes a body whose results are scalars.
    pub(super) fn run(&mut self, body: &'g Body, args: &[Id], mode: Mode) -> Vec<Id> {
        self.enter(body, args, mode);
        self.all_scalars(&body.results)
    }

    /// Writes the statements of a body; results that are arrays are at their homes afterwards.
    pub(super) fn enter(&mut self, body: &'g Body, args: &[Id], mode: Mode) {
        self.enter_but(body, args, mode, None);
    }

    /// The same without one statement.
    fn enter_but(&mut self, body: &'g Body, args: &[Id], mode: Mode, without: Option<&'g Stmt>) {
        for (param, &arg) in body.params.iter().zip(args) {
            self.values.insert(param.id, Value::Scalar(arg));
        }
        if mode == Mode::Block && self.lowering.recomputes {
            self.again.extend(again::rows(body));
        }
        let left_out = |stmt: &Stmt| without.is_some_and(|without| std::ptr::eq(stmt, without));
        for stmt in body.stmts.iter().filter(|stmt| !left_out(stmt)) {
            self.stmt(stmt, mode);
        }
    }

    fn stmt(&mut self, stmt: &'g Stmt, mode: Mode) {
        let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
        let decided = stmt.binds.first().and_then(|bind| self.decided.get(&bind.id).copied());
        let ids = match &stmt.op {
            _ if let Some(decided) = decided => self.bind(Op::Const(Scalar::bool(decided)), &tys),
            Op::Apply(Operator::Select, args) if let Some(holds) = self.decided.get(&args[0]) => {
                vec![self.scalar(if *holds { args[1] } else { args[2] })]
            }
            Op::Call(function, args) if let Some(body) = self.lowering.written_out(*function) => {
                let args = self.all_scalars(args);
                self.run(body, &args, mode)
            }
            Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Call(..) => {
                let mut op = stmt.op.clone();
                op.each_operand_mut(&mut |id| *id = self.scalar(*id));
                self.bind(op, &tys)
            }
            Op::If { cond, args, then, otherwise } => {
                let cond = self.scalar(*cond);
                let args = self.all_scalars(args);
                let params: Vec<Ty> = then.params.iter().map(|p| p.ty.elem()).collect();
                let then = self.nested(&params, |w, ids| w.run(then, ids, mode));
                let otherwise = self.nested(&params, |w, ids| w.run(otherwise, ids, mode));
                self.bind(Op::If { cond, args, then, otherwise }, &tys)
            }
            Op::For { .. } | Op::While { .. } if stmt.carries_arrays() => return self.array_loop(stmt),
            Op::For { lo, hi, step, init, body } => {
                let bounds = self.all_scalars(&[*lo, *hi, *step]);
                let init = self.all_scalars(init);
                let params: Vec<Ty> = body.params.iter().map(|p| p.ty.elem()).collect();
                let body = self.nested(&params, |w, ids| w.run(body, ids, mode));
                self.bind(Op::For { lo: bounds[0], hi: bounds[1], step: bounds[2], init, body }, &tys)
            }
            Op::While { init, cond, body } => {
                let init = self.all_scalars(init);
                let cond = self.nested(&tys, |w, ids| w.run(cond, ids, mode));
                let body = self.nested(&tys, |w, ids| w.run(body, ids, mode));
                self.bind(Op::While { init, cond, body }, &tys)
            }
            Op::At { array, index } => {
                let index_here = self.all_scalars(index);
                let flat = self.flat.as_ref();
                if let Some(&row) = self.rows.get(&stmt.binds[0].id) {
                    let place = index_here[index_here.len() - 1];
                    vec![self.push(Op::Load { memory: row, index: vec![place] }, tys[0])]
                } else if let Some(&loaded) = flat.and_then(|flat| flat.loaded.get(&(*array, index.clone()))) {
                    vec![loaded]
                } else if let Some(at) = flat.filter(|flat| flat.positions == *index).map(|flat| flat.at) {
                    vec![self.read(*array, vec![at], tys[0])]
                } else {
                    vec![self.read(*array, index_here, tys[0])]
                }
            }
            Op::Fold { shape, body, monoid } => self.fold(shape, body, monoid, &tys, mode),
            op @ (Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Sort { .. }) => {
                let mode = if stmt.binds.iter().all(|bind| self.is_again(bind)) { Mode::Lane } else { mode };
                for (k, bind) in stmt.binds.iter().enumerate() {
                    let value = match mode {
                        Mode::Lane => Value::Code(op, k),
                        Mode::Block => {
                            let (memory, prefix) = self.place_for(bind);
                            Value::Memory(memory, prefix)
                        }
                    };
                    self.values.insert(bind.id, value);
                }
                if mode == Mode::Block {
                    self.fill(op, &stmt.binds);
                }
                return;
            }
            Op::Filter { .. }
            | Op::Raw(_)
            | Op::Place(..)
            | Op::Load { .. }
            | Op::LoadFragment { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::Check { .. }
            | Op::Barrier(_)
            | Op::Fence(_)
            | Op::Subgroup(..)
            | Op::Mma(..)
            | Op::Lanes { .. }
            | Op::Prefixes { .. } => unreachable!("the verifier keeps these out of bodies of programs"),
        };
        for (bind, id) in stmt.binds.iter().zip(ids) {
            self.values.insert(bind.id, Value::Scalar(id));
        }
    }

    /// The memory of an array that the block makes: where it is wanted, in the place of another, or its own.
    fn place_for(&mut self, bind: &Var) -> (MemId, Vec<Id>) {
        if let Some(home) = self.homes.get(&bind.id) {
            return home.clone();
        }
        if let Some(over) = self.takeover(bind.id) {
            return self.home_of(over.of);
        }
        (self.scratch("row", bind.ty.elem(), bind.ty.shape().to_vec()), vec![])
    }

    /// Is the array computed wherever it is read? Not if it is wanted in memory.
    fn is_again(&self, bind: &Var) -> bool {
        self.again.contains(&bind.id) && !self.homes.contains_key(&bind.id) && self.takeover(bind.id).is_none()
    }

    /// Is an array in that memory?
    fn is_at(&mut self, array: Id, memory: MemId, prefix: &[Id]) -> bool {
        matches!(self.meaning(array), Value::Memory(home, at) if home == memory && at == prefix)
    }

    /// The array that another one is written over, if it is in memory here.
    fn takeover(&self, array: Id) -> Option<Takeover> {
        let over = self.lowering.reuse.get(&array)?;
        let here = match self.values.get(&over.of) {
            Some(Value::Memory(memory, _)) => self.is_writable(*memory),
            Some(Value::Scalar(_) | Value::Code(..)) | None => false,
        };
        (here && !self.homes.contains_key(&array)).then_some(*over)
    }

    fn is_writable(&self, memory: MemId) -> bool {
        self.kernel.memories[memory.0 as usize].space != Space::Global(Access::Read)
    }

    /// A statement of the top level, computed here.
    pub(super) fn top_stmt(&mut self, stmt: &'g Stmt) {
        self.stmt(stmt, Mode::Block);
    }

    /// Some statements of a body, computed in a lane.
    pub(super) fn lane_stmts(&mut self, stmts: impl IntoIterator<Item = &'g Stmt>) {
        stmts.into_iter().for_each(|s| self.stmt(s, Mode::Lane));
    }

    /// Lets the kernel read what it writes.
    pub(super) fn make_readable<'h>(&mut self, homes: impl IntoIterator<Item = &'h MemId>) {
        for memory in homes {
            self.kernel.memories[memory.0 as usize].space = Space::Global(Access::ReadWrite);
        }
    }

    /// Declares the memories of that shape as one long axis.
    pub(super) fn flatten_memories(&mut self, shape: &[Size], row: &Size) {
        for memory in self.kernel.memories.iter_mut().filter(|m| m.shape == shape) {
            memory.shape = vec![row.clone()];
        }
    }

    /// The memory of the device that has an array, and where in it, if it is one of those that are asked for.
    pub(super) fn bound_memory(&mut self, array: Id, wanted: impl Fn(&Memory) -> bool) -> Option<(MemId, Vec<Id>)> {
        let Value::Memory(id, prefix) = self.meaning(array) else { return None };
        let memory = &self.kernel.memories[id.0 as usize];
        (memory.space.is_bound() && wanted(memory)).then_some((id, prefix))
    }

    fn home_of(&mut self, id: Id) -> (MemId, Vec<Id>) {
        match self.meaning(id) {
            Value::Memory(memory, prefix) => (memory, prefix),
            Value::Scalar(_) | Value::Code(..) => unreachable!("made a memory just before"),
        }
    }

    pub(super) fn read(&mut self, array: Id, index: Vec<Id>, ty: Ty) -> Id {
        match self.meaning(array) {
            Value::Memory(memory, prefix) => self.push(Op::Load { memory, index: [prefix, index].concat() }, ty),
            Value::Code(op, result) => self.read_code(op, result, index, ty),
            Value::Scalar(_) => unreachable!("the verifier saw an array here"),
        }
    }

    /// An element of an array that is not kept anywhere.
    fn read_code(&mut self, op: &'g Op, result: usize, index: Vec<Id>, ty: Ty) -> Id {
        match op {
            Op::Tabulate { shape, body } => {
                let (own, inner) = index.split_at(shape.len());
                self.enter(body, own, Mode::Lane);
                if inner.is_empty() {
                    self.scalar(body.results[result])
                } else {
                    self.read(body.results[result], inner.to_vec(), ty)
                }
            }
            Op::Scan { body, monoid, .. } => {
                // The fold of everything up to the position.
                let tys = self.types_of(&monoid.combine);
                let (last, outer) = index.split_last().expect("an array has an axis");
                let lo = self.number(0);
                let one = self.number(1);
                let hi = self.value(*last + one);
                let neutral = self.all_scalars(&monoid.neutral);
                let outer = outer.to_vec();
                self.for_each(lo, hi, 1, (neutral, &tys), |w, i, state| {
                    let item = w.run(body, &[outer, vec![i]].concat(), Mode::Lane);
                    w.combine(monoid, state, &item)
                })[result]
            }
            Op::Scatter { shape, body, onto, monoid, .. } => {
                // Everything that was sent to the position, in order.
                let tys = self.types_of(&monoid.combine);
                let start = match &onto[..] {
                    [] => self.all_scalars(&monoid.neutral),
                    onto => onto.iter().zip(&tys).map(|(&old, &ty)| self.read(old, index.clone(), ty)).collect(),
                };
                self.for_shape(shape, vec![], (start, &tys), &mut |w, at, state| {
                    let sent = w.run(body, at, Mode::Lane);
                    let (to, values) = sent.split_at(index.len());
                    let mut here = w.push(Op::Const(Scalar::bool(true)), Ty::Bool);
                    for (&to, &at) in to.iter().zip(&index) {
                        let equal = w.push(Op::Apply(Operator::Eq, vec![to, at]), Ty::Bool);
                        here = w.push(Op::Apply(Operator::And, vec![here, equal]), Ty::Bool);
                    }
                    let joined = w.combine(monoid, &state, values);
                    let pick = |(k, ty): (usize, &Ty)| {
                        w.push(Op::Apply(Operator::Select, vec![here, joined[k], state[k]]), *ty)
                    };
                    tys.iter().enumerate().map(pick).collect()
                })[result]
            }
            Op::Sort { .. } => self.read_sorted(op, result, &index, ty),
            _ => unreachable!("only arrays are kept as code"),
        }
    }

    pub(super) fn types_of(&self, combine: &Body) -> Vec<Ty> {
        combine.params[..combine.params.len() / 2].iter().map(|p| p.ty.elem()).collect()
    }

    /// Writes all elements of arrays to their homes.
    pub(super) fn fill(&mut self, op: &'g Op, binds: &'g [Var]) {
        let homes: Vec<(MemId, Vec<Id>)> = binds.iter().map(|b| self.home_of(b.id)).collect();
        match op {
            Op::Tabulate { shape, body } => self.fill_tabulate(shape, body, binds, &homes),
            Op::Scan { shape, body, monoid } => {
                let outer = &shape[..shape.len() - 1];
                self.for_shape(outer, vec![], (vec![], &[]), &mut |w, at, _| {
                    w.scan_line((shape, body, monoid), at, &homes);
                    vec![]
                });
            }
            Op::Scatter { shape, body, target, onto, monoid } => {
                self.fill_target(target, onto, monoid, &homes);
                self.send_all(shape, body, target, monoid, &homes);
            }
            Op::Sort { .. } => match self.lowering.first_few(op, binds) {
                Some(count) => self.fill_first(op, count, &homes),
                None => self.fill_sort(op, &homes),
            },
            _ => unreachable!("only arrays are filled"),
        }
    }

    /// What a scatter starts from.
    pub(super) fn fill_target(&mut self, target: &[Size], onto: &[Id], monoid: &'g Monoid, homes: &[(MemId, Vec<Id>)]) {
        if !onto.is_empty() {
            for (&old, (memory, prefix)) in onto.iter().zip(homes) {
                if !self.is_at(old, *memory, prefix) {
                    self.copy(old, *memory, prefix.clone());
                }
            }
            return;
        }
        let neutral = self.all_scalars(&monoid.neutral);
        let (last, outer) = target.split_last().expect("a scatter has an axis");
        self.for_shape(outer, vec![], (vec![], &[]), &mut |w, at, _| {
            let lo = w.number(0);
            let hi = w.extent(last);
            w.lanes(lo, hi, |w, i| w.store_all(homes, &[at, &[i]].concat(), &neutral));
            vec![]
        });
    }

    pub(super) fn store_all(&mut self, homes: &[(MemId, Vec<Id>)], at: &[Id], values: &[Id]) {
        for ((memory, prefix), &value) in homes.iter().zip(values) {
            self.store(*memory, [prefix, at].concat(), value);
        }
    }

    fn fill_tabulate(&mut self, shape: &[Size], body: &'g Body, binds: &'g [Var], homes: &[(MemId, Vec<Id>)]) {
        let (last, outer) = shape.split_last().expect("a tabulate has an axis");
        let scalars = self.gives_scalars(body);
        let in_lanes = scalars && !self.needs_block(body);
        self.for_shape(outer, vec![], (vec![], &[]), &mut |w, at, _| {
            let lo = w.number(0);
            let hi = w.extent(last);
            if in_lanes {
                w.write_row(binds, body, at, [lo, hi], homes);
            } else {
                w.for_each(lo, hi, 1, (vec![], &[]), |w, i, _| {
                    w.position(body, &[at, &[i]].concat(), homes);
                    vec![]
                });
            }
            vec![]
        });
    }

    /// Computes one position of a tabulate with the whole block and writes it to the homes.
    pub(super) fn position(&mut self, body: &'g Body, at: &[Id], homes: &[(MemId, Vec<Id>)]) {
        if self.gives_scalars(body) {
            let values = self.run(body, at, Mode::Block);
            return self.store_all(homes, at, &values);
        }
        let made_here = |id: &Id| body.stmts.iter().any(|s| s.binds.iter().any(|b| b.id == *id));
        let mut set = vec![];
        for (&result, (memory, prefix)) in body.results.iter().zip(homes) {
            // Not the root: what is made anew is better written to the result at once, and only there.
            let root = self.lowering.updated(result);
            if made_here(&root) && !self.homes.contains_key(&root) {
                self.set_home(root, *memory, [&prefix[..], at].concat());
                set.push(root);
            }
        }
        self.enter(body, at, Mode::Block);
        for (k, &result) in body.results.iter().enumerate() {
            // What was not written in place (an array from outside, or one given back twice) is copied.
            let memory = homes[k].0;
            let prefix = [&homes[k].1[..], at].concat();
            if !self.is_at(result, memory, &prefix) {
                self.copy(result, memory, prefix);
            }
        }
        for root in &set {
            self.homes.remove(root);
        }
    }

    pub(super) fn copy(&mut self, array: Id, memory: MemId, prefix: Vec<Id>) {
        let Type::Array(ty, shape) = self.lowering.type_of(array) else { return };
        let (last, outer) = shape.split_last().expect("an array has an axis");
        self.for_shape(outer, vec![], (vec![], &[]), &mut |w, at, _| {
            let lo = w.number(0);
            let hi = w.extent(last);
            w.lanes(lo, hi, |w, i| {
                let at = [at, &[i]].concat();
                let value = w.read(array, at.clone(), ty);
                w.store(memory, [&prefix[..], &at].concat(), value);
            });
            vec![]
        });
    }

    fn gives_scalars(&self, body: &Body) -> bool {
        body.results.iter().all(|&id| matches!(self.lowering.type_of(id), Type::Scalar(_)))
    }

    /// All turns of a scatter, in order.
    pub(super) fn send_all(
        &mut self,
        shape: &[Size],
        body: &'g Body,
        target: &[Size],
        monoid: &'g Monoid,
        homes: &[(MemId, Vec<Id>)],
    ) {
        let row = row_of_turns(body, target.len()).filter(|_| last_one_stays(monoid));
        if let Some(axis) = row.filter(|_| !self.needs_block(body)) {
            return self.send_rows(shape, body, target, axis, homes);
        }
        self.for_shape(shape, vec![], (vec![], &[]), &mut |w, at, _| {
            w.send(body, at, target, monoid, homes);
            vec![]
        });
    }

    /// The same where turns along the last axis write one by one along an axis of the target: by lanes.
    fn send_rows(&mut self, shape: &[Size], body: &'g Body, target: &[Size], axis: usize, homes: &[(MemId, Vec<Id>)]) {
        let (last, outer) = shape.split_last().expect("a scatter has an axis");
        self.for_shape(outer, vec![], (vec![], &[]), &mut |w, at, _| {
            let lo = w.number(0);
            let hi = w.extent(last);
            let end = w.extent(&target[axis]);
            let hi = if *last == target[axis] { hi } else { w.value(hi.least(end)) };
            w.lanes(lo, hi, |w, j| {
                let sent = w.run(body, &[at, &[j]].concat(), Mode::Lane);
                let (to, values) = sent.split_at(target.len());
                // Along its own axis it is inside.
                let others = |k: &usize| *k != axis;
                let place: Vec<Id> = (0..to.len()).filter(others).map(|k| to[k]).collect();
                let sizes: Vec<Size> = (0..to.len()).filter(others).map(|k| target[k].clone()).collect();
                if place.is_empty() {
                    return w.store_all(homes, to, values);
                }
                let inside = w.within(&place, &sizes);
                w.when(inside, |w| w.store_all(homes, to, values));
            });
            vec![]
        });
    }

    /// One turn of a scatter: combines the values into their place, if it is inside.
    fn send(&mut self, body: &'g Body, at: &[Id], target: &[Size], monoid: &'g Monoid, homes: &[(MemId, Vec<Id>)]) {
        let sent = self.run(body, at, Mode::Lane);
        let (to, values) = sent.split_at(target.len());
        self.send_to(to, values, target, monoid, homes);
    }

    /// Combines values into a place, if it is inside.
    pub(super) fn send_to(
        &mut self,
        to: &[Id],
        values: &[Id],
        target: &[Size],
        monoid: &'g Monoid,
        homes: &[(MemId, Vec<Id>)],
    ) {
        let inside = self.within(to, target);
        let tys = self.types_of(&monoid.combine);
        let then = self.nested(&[], |w, _| {
            let index = |prefix: &Vec<Id>| [&prefix[..], to].concat();
            let old: Vec<Id> = homes
                .iter()
                .zip(&tys)
                .map(|((memory, prefix), &ty)| w.push(Op::Load { memory: *memory, index: index(prefix) }, ty))
                .collect();
            let new = w.combine(monoid, &old, values);
            w.store_all(homes, to, &new);
            vec![]
        });
        self.bind(Op::If { cond: inside, args: vec![], then, otherwise: Body::default() }, &[]);
    }

    /// The turns `lo..hi` of a filter: writes what is kept from the place `from` on, and gives the place behind it.
    pub(super) fn keep(&mut self, [lo, hi]: [Id; 2], from: Id, body: &'g Body, homes: &[MemId]) -> Id {
        let kept = self.for_each(lo, hi, 1, (vec![from], &[Ty::I64]), |w, i, state| {
            let results = w.run(body, &[i], Mode::Lane);
            w.when(results[0], |w| {
                for (&memory, &value) in homes.iter().zip(&results[1..]) {
                    w.store(memory, vec![state[0]], value);
                }
            });
            let one = w.push(Op::Cast(Ty::I64, results[0]), Ty::I64);
            vec![w.value(state[0] + one)]
        });
        kept[0]
    }
}

/// Levels of pieces of a long fold in a lane.
const MOST_LEVELS: u32 = 6;

/// How many levels of pieces a fold of so many turns has, if that is known, and at most.
pub(super) fn levels(turns: Option<u64>, most: u32) -> u32 {
    let enough = |&levels: &u32| turns.is_some_and(|n| n <= (RUN * FAN.pow(levels)) as u64);
    if turns.is_some_and(|n| n <= RUN as u64) { 0 } else { (1..most).find(enough).unwrap_or(most) }
}

/// Does the order in which elements are joined leave no trace? Nothing is rounded where one of two is chosen.
pub(super) fn is_exact(monoid: &Monoid, tys: &[Ty]) -> bool {
    let rounds = |stmt: &Stmt| match &stmt.op {
        Op::Const(_) | Op::Apply(Operator::Select | Operator::Min | Operator::Max, _) => false,
        _ => stmt.binds.iter().any(|bind| bind.ty.elem().is_float()) || !stmt.op.bodies().is_empty(),
    };
    !tys.iter().any(|ty| ty.is_float()) || !monoid.combine.stmts.iter().any(rounds)
}
