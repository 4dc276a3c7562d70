//! Runs statements for all agents of a wave in step: scalars, branches, loops and calls.
//!
//! A mask says which agents are active. It is never empty: a branch or loop body that nobody enters is not run.

use super::error::{Agent, KernelError, Position};
use super::memory::Bank;
use super::race::Order;
use super::wave::{Column, Kind, Wave, malformed};
use super::{LaunchOptions, shape};
use crate::code::{Body, FnId, Id, Op, Place, Stmt};
use crate::kernel::Kernel;
use crate::launch::Fault;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use std::collections::HashMap;
use std::rc::Rc;

/// The values that an operation gives, one column per result.
pub(super) type Columns = Vec<Rc<Column>>;

/// How deep bodies may nest, calls included; the interpreter recurses, and its stack is finite.
const MAX_DEPTH: usize = 128;

/// A launch in progress.
pub(super) struct Machine<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) sizes: &'k [Option<u64>],
    pub(super) options: LaunchOptions,
    /// Turns made.
    pub(super) turns: u64,
    pub(super) banks: Vec<Bank>,
    pub(super) order: Order,
    pub(super) grid: [u64; 3],
    /// The running block.
    pub(super) block: [u64; 3],
    /// Threads of a block.
    pub(super) threads: usize,
    pub(super) depth: usize,
    /// The first access that a check refused.
    pub(super) fault: Option<Fault>,
}

impl Machine<'_> {
    /// Runs one block, given by its number.
    pub(super) fn run_block(&mut self, block: u32, scalars: &[Scalar]) -> Result<(), KernelError> {
        self.count_turns(1)?;
        self.block = self.block_place(block);
        self.order.enter(block);
        self.banks.iter_mut().for_each(Bank::enter_block);
        let kernel = self.kernel;
        let width = self.threads;
        let callable = kernel.functions.len();
        let mut wave = Wave { kind: Kind::Threads, width, names: HashMap::new(), outer: None, callable };
        let params = scalars.iter().map(|&s| Column::uniform(s, width)).collect();
        let results = self.run_body(&mut wave, &kernel.body, params, &vec![true; width])?;
        if results.is_empty() { Ok(()) } else { Err(malformed(format!("kernel {} has results", kernel.name))) }
    }

    /// Runs a body in the agents of the mask.
    pub(super) fn run_body(
        &mut self,
        wave: &mut Wave,
        body: &Body,
        args: Columns,
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        if self.depth == MAX_DEPTH {
            return Err(malformed(format!("{}: bodies nest more than {MAX_DEPTH} deep", self.kernel.name)));
        }
        self.depth += 1;
        wave.bind(&body.params, args)?;
        for Stmt { binds, op } in &body.stmts {
            let values = self.run_op(wave, op, binds.len(), mask)?;
            wave.bind(binds, values)?;
        }
        let results = wave.get_all(&body.results)?;
        wave.unbind(body);
        self.depth -= 1;
        Ok(results)
    }

    fn run_op(&mut self, wave: &mut Wave, op: &Op, binds: usize, mask: &[bool]) -> Result<Columns, KernelError> {
        let one = |column| Ok(vec![column]);
        match op {
            Op::Const(value) => one(Column::uniform(*value, wave.width)),
            Op::Extent(size) => {
                let value = shape(&self.kernel.name, std::slice::from_ref(size), self.sizes)?[0];
                one(Column::uniform(Scalar::i64(value as i64), wave.width))
            }
            Op::Apply(operator, args) => one(apply(wave, *operator, args, mask)?),
            Op::Cast(ty, arg) => {
                let arg = wave.get(*arg)?;
                one(Column::per_agent(*ty, mask, |p| Ok::<_, KernelError>(arg.at(p).cast(*ty).bits))?)
            }
            Op::Bitcast(ty, arg) => {
                let arg = wave.get(*arg)?;
                if arg.ty.bits() != ty.bits() {
                    return Err(malformed(format!("bitcast of {} to {ty}, of another width", arg.ty)));
                }
                one(Rc::new(Column { ty: *ty, bits: arg.bits.clone() }))
            }
            Op::Call(function, args) => self.call(wave, *function, args, mask),
            Op::If { cond, args, then, otherwise } => self.branch(wave, *cond, args, (then, otherwise), mask),
            Op::For { lo, hi, step, init, body } => self.count_up(wave, [*lo, *hi, *step], init, body, mask),
            Op::While { init, cond, body } => self.repeat(wave, init, cond, body, mask),
            Op::Place(..)
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
            | Op::Prefixes { .. }
                if wave.kind == Kind::Pure =>
            {
                Err(malformed("functions and monoids only compute; this one touches memory or threads"))
            }
            Op::Place(place, dimension) => one(self.place(wave, *place, *dimension)?),
            Op::Load { memory, index } => self.load(wave, *memory, index, binds, mask),
            Op::LoadFragment { memory, index, turned } => self.load_fragment(wave, *memory, index, *turned, mask),
            Op::Store { memory, index, values } => self.store(wave, *memory, index, values, mask),
            Op::Atomic { op, memory, index, args } => one(self.atomic(wave, *op, *memory, index, args, mask)?),
            Op::Check { memory, index } => one(self.check(wave, *memory, index, mask)?),
            Op::Barrier(scope) => self.barrier(wave, *scope, mask),
            Op::Fence(scope) => self.fence(wave, *scope, mask),
            Op::Subgroup(op, args) => one(self.subgroup(wave, *op, args, mask)?),
            Op::Mma(fragment, args) => self.mma(wave, *fragment, args, mask),
            Op::Lanes { lo, hi, body, monoid } => self.lanes(wave, [*lo, *hi], body, monoid.as_ref(), mask),
            Op::Prefixes { .. } => self.prefixes(wave, op, mask),
            Op::At { .. }
            | Op::Tabulate { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::Scatter { .. }
            | Op::Filter { .. }
            | Op::Sort { .. }
            | Op::Raw(_) => Err(malformed("arrays as values belong to the program level, not into a kernel")),
        }
    }

    fn call(&mut self, wave: &mut Wave, FnId(id): FnId, args: &[Id], mask: &[bool]) -> Result<Columns, KernelError> {
        let kernel = self.kernel;
        let function = kernel.functions.get(id as usize).filter(|_| (id as usize) < wave.callable);
        let function = function.ok_or_else(|| malformed(format!("function {id} is not declared before its use")))?;
        let args = wave.get_all(args)?;
        let callable = id as usize;
        let mut inner = Wave { kind: Kind::Pure, width: wave.width, names: HashMap::new(), outer: None, callable };
        self.run_body(&mut inner, &function.body, args, mask)
    }

    fn branch(
        &mut self,
        wave: &mut Wave,
        cond: Id,
        args: &[Id],
        (then, otherwise): (&Body, &Body),
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        let cond = truths(&*wave.get(cond)?)?;
        let args = wave.get_all(args)?;
        let yes: Vec<bool> = mask.iter().zip(&cond).map(|(&on, &c)| on && c).collect();
        let no: Vec<bool> = mask.iter().zip(&cond).map(|(&on, &c)| on && !c).collect();
        if !no.contains(&true) {
            return self.run_body(wave, then, args, &yes);
        }
        if !yes.contains(&true) {
            return self.run_body(wave, otherwise, args, &no);
        }
        let taken = self.run_body(wave, then, args.clone(), &yes)?;
        let other = self.run_body(wave, otherwise, args, &no)?;
        merge(&yes, &taken, &other)
    }

    fn count_up(
        &mut self,
        wave: &mut Wave,
        bounds: [Id; 3],
        init: &[Id],
        body: &Body,
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        let bounds = wave.get_all(&bounds)?;
        let (lo, hi, step) = (&bounds[0], &bounds[1], &bounds[2]);
        let ty = lo.ty;
        if !ty.is_int() || hi.ty != ty || step.ty != ty {
            return Err(malformed(format!("a loop from {ty} to {} by {}: one integer type is needed", hi.ty, step.ty)));
        }
        if (0..wave.width).any(|p| mask[p] && step.at(p).as_int() <= 0) {
            return Err(malformed("the step of a loop is positive"));
        }
        let mut counter: Vec<i128> = (0..wave.width).map(|p| lo.at(p).as_int()).collect();
        let mut state = wave.get_all(init)?;
        loop {
            let active: Vec<bool> = (0..wave.width).map(|p| mask[p] && counter[p] < hi.at(p).as_int()).collect();
            if !active.contains(&true) {
                return Ok(state);
            }
            self.count_turns(1)?;
            let turn = Column { ty, bits: counter.iter().map(|&i| Scalar::from_int(ty, i).bits).collect() };
            let args = std::iter::once(Rc::new(turn)).chain(state.iter().cloned()).collect();
            let next = self.run_body(wave, body, args, &active)?;
            state = merge(&active, &next, &state)?;
            (0..wave.width).filter(|&p| active[p]).for_each(|p| counter[p] += step.at(p).as_int());
        }
    }

    fn repeat(
        &mut self,
        wave: &mut Wave,
        init: &[Id],
        cond: &Body,
        body: &Body,
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        let mut state = wave.get_all(init)?;
        let mut active = mask.to_vec();
        loop {
            let holds = self.run_body(wave, cond, state.clone(), &active)?;
            let [holds] = &holds[..] else { return Err(malformed("the condition of a loop gives one bool")) };
            active.iter_mut().zip(truths(holds)?).for_each(|(on, holds)| *on &= holds);
            if !active.contains(&true) {
                return Ok(state);
            }
            self.count_turns(1)?;
            let next = self.run_body(wave, body, state.clone(), &active)?;
            state = merge(&active, &next, &state)?;
        }
    }

    fn place(&self, wave: &Wave, place: Place, dimension: u8) -> Result<Rc<Column>, KernelError> {
        let d = usize::from(dimension);
        if d > 2 {
            return Err(malformed(format!("there is no dimension {dimension}; x, y and z are 0, 1 and 2")));
        }
        let same = |value: u64| Ok(Column::uniform(Scalar::i64(value as i64), wave.width));
        let dim = u64::from(self.kernel.block[d]);
        let lane = |p: usize| p as u64 % u64::from(self.options.subgroup_size);
        let each: &dyn Fn(usize) -> u64 = match place {
            Place::Block => return same(self.block[d]),
            Place::BlockDim => return same(dim),
            Place::GridDim => return same(self.grid[d]),
            Place::SubgroupSize => return same(self.options.subgroup_size.into()),
            Place::Global => &|p| self.block[d].wrapping_mul(dim).wrapping_add(self.thread_place(p)[d].into()),
            Place::Local => &|p| self.thread_place(p)[d].into(),
            Place::Lane => &lane,
        };
        if wave.kind != Kind::Threads {
            return Err(malformed(format!("{place:?} in lanes: which thread takes a turn is not known")));
        }
        Ok(Rc::new(Column { ty: Ty::I64, bits: (0..wave.width).map(each).collect() }))
    }

    /// Counts turns of loops against the limit.
    pub(super) fn count_turns(&mut self, turns: u64) -> Result<(), KernelError> {
        self.turns = self.turns.saturating_add(turns);
        let limit = self.options.max_turns;
        if self.turns <= limit { Ok(()) } else { Err(KernelError::Turns { kernel: self.kernel.name.clone(), limit }) }
    }

    /// The place of a thread in its block.
    pub(super) fn thread_place(&self, thread: usize) -> [u32; 3] {
        let [x, y, _] = self.kernel.block.map(|b| b as usize);
        [thread % x, thread / x % y, thread / x / y].map(|n| n as u32)
    }

    fn block_place(&self, block: u32) -> [u64; 3] {
        let [x, y, _] = self.grid.map(|n| n.max(1));
        let block = u64::from(block);
        [block % x, block / x % y, block / x / y]
    }

    /// The number of an agent of a wave, in the numbering of [`race`](super::race).
    pub(super) fn agent(&self, wave: &Wave, p: usize) -> u32 {
        match wave.kind {
            Kind::Threads | Kind::Pure => p as u32,
            Kind::Turns { first } => self.threads as u32 + first + p as u32,
        }
    }

    /// Who that is.
    pub(super) fn position(&self, block: u32, agent: u32) -> Position {
        let turn = agent.checked_sub(self.threads as u32);
        let agent = turn.map_or_else(|| Agent::Thread(self.thread_place(agent as usize)), Agent::Turn);
        Position { block: self.block_place(block), agent }
    }

    /// Who an agent of the wave is.
    pub(super) fn here(&self, wave: &Wave, p: usize) -> Position {
        self.position(self.order.block(), self.agent(wave, p))
    }
}

fn apply(wave: &mut Wave, operator: Operator, args: &[Id], mask: &[bool]) -> Result<Rc<Column>, KernelError> {
    let args = wave.get_all(args)?;
    let tys: Vec<Ty> = args.iter().map(|a| a.ty).collect();
    let undefined = || malformed(format!("{} is not defined on {tys:?}", operator.name()));
    let ty = operator.result(&tys).ok_or_else(undefined)?;
    let mut values = Vec::with_capacity(args.len());
    Column::per_agent(ty, mask, |p| {
        values.clear();
        values.extend(args.iter().map(|a| a.at(p)));
        operator.eval(&values).map(|v| v.bits).ok_or_else(undefined)
    })
}

/// The truth values of a `bool` column.
pub(super) fn truths(column: &Column) -> Result<Vec<bool>, KernelError> {
    if column.ty != Ty::Bool {
        return Err(malformed(format!("a condition of type {}; it must be bool", column.ty)));
    }
    Ok(column.bits.iter().map(|&b| b != 0).collect())
}

/// `new` where the mask holds, `old` elsewhere, result by result.
fn merge(mask: &[bool], new: &[Rc<Column>], old: &[Rc<Column>]) -> Result<Columns, KernelError> {
    if new.len() != old.len() {
        return Err(malformed(format!("{} values where {} are needed", new.len(), old.len())));
    }
    new.iter().zip(old).map(|(new, old)| Column::merged(mask, new, old)).collect()
}
