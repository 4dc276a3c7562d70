//! Statements: branches, loops, calls, and where a thread stands.

use super::EmitError;
use super::turns::copies;
use super::writer::{Code, Named, Value};
use crate::code::{Body, Id, Op, Place, Scope, Stmt, SubgroupOp, Var};
use crate::kernel::{Access, Space};
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use naga::{
    Barrier, BinaryOperator, BuiltIn, CollectiveOperation, Expression, GatherMode, ScalarKind, Statement,
    SubgroupOperation, UnaryOperator,
};

impl Code<'_, '_> {
    pub(super) fn statements(&mut self, body: &Body) -> Result<(), EmitError> {
        for stmt in &body.stmts {
            self.statement(stmt)?;
            self.name_in_chain(stmt);
        }
        Ok(())
    }

    fn bind_one(&mut self, binds: &[Var], value: Value) {
        if let [bind] = binds {
            self.bind(bind.id, bind.ty.elem(), value);
        }
    }

    /// What the result of an operation is held in.
    fn held(&self, bind: &Var, op: &Op) -> Ty {
        match bind.ty.elem() {
            Ty::I64 => self.narrowing.held(bind.id, op),
            ty => ty,
        }
    }

    /// Binds the one result of an operation, given what it is to be held in.
    fn bind_held(
        &mut self,
        binds: &[Var],
        op: &Op,
        write: impl FnOnce(&mut Self, Ty) -> Result<Value, EmitError>,
    ) -> Result<(), EmitError> {
        let [bind] = binds else { return Err(self.build.form("an operation without a result")) };
        let held = self.held(bind, op);
        let value = write(self, held)?;
        self.bind_named(bind.id, Named { ty: bind.ty.elem(), held, value });
        Ok(())
    }

    fn statement(&mut self, Stmt { binds, op }: &Stmt) -> Result<(), EmitError> {
        match op {
            Op::Const(scalar) if scalar.ty == Ty::I64 => {
                self.bind_held(binds, op, |code, held| code.constant(Scalar::from_int(held, scalar.as_int())))?
            }
            Op::Const(scalar) => {
                let value = self.constant(*scalar)?;
                self.bind_one(binds, value);
            }
            Op::Extent(size) => self.bind_held(binds, op, |code, held| code.extent(size, held))?,
            Op::Apply(operator, args) => self.bind_held(binds, op, |code, held| {
                let id = binds.first().map_or(Id(u32::MAX), |bind| bind.id);
                code.apply(*operator, id, held, args)
            })?,
            Op::Cast(_, arg) => self.bind_held(binds, op, |code, held| {
                let from = code.named(*arg)?;
                code.cast(from.held, held, from.value)
            })?,
            Op::Bitcast(to, arg) => {
                let (from, value) = self.get(*arg)?;
                let value = self.bitcast(from, *to, value)?;
                self.bind_one(binds, value);
            }
            Op::Call(function, args) => {
                let kernel = self.build.kernel;
                let Some(function) = kernel.functions.get(function.0 as usize) else {
                    return Err(self.build.form("a call of no function"));
                };
                let handle = self.build.function(function)?;
                let arguments = self.all(args)?.into_iter().map(|a| a.1).collect();
                let result = self.call(handle, arguments, !binds.is_empty());
                match (result, &binds[..]) {
                    (Some(result), [_]) => self.bind_one(binds, result),
                    (Some(base), many) => {
                        for (k, bind) in many.iter().enumerate() {
                            let value = self.expr(Expression::AccessIndex { base, index: k as u32 });
                            self.bind(bind.id, bind.ty.elem(), value);
                        }
                    }
                    (None, _) => {}
                }
            }
            Op::If { cond, args, then, otherwise } => {
                let held: Vec<Ty> = binds.iter().map(|bind| self.held(bind, op)).collect();
                self.branch(binds, &held, *cond, args, [then, otherwise])?;
            }
            Op::For { lo, hi, step, init, body } => self.counted(binds, [*lo, *hi, *step], init, body)?,
            Op::While { init, cond, body } => self.repeated(binds, init, cond, body)?,
            Op::Place(place, dimension) => {
                self.bind_held(binds, op, |code, held| code.place(*place, *dimension, held))?;
            }
            Op::Load { memory, index } => {
                let values = self.load_elements(*memory, index, binds.len())?;
                for (bind, value) in binds.iter().zip(values) {
                    self.bind(bind.id, bind.ty.elem(), value);
                }
            }
            Op::Store { memory, index, values } => self.store_elements(*memory, index, values)?,
            Op::Atomic { op, memory, index, args } => {
                let old = self.atomic(*op, *memory, index, args)?;
                self.bind_one(binds, old);
            }
            Op::Barrier(scope) => {
                let barrier = self.barrier(*scope, "a barrier for the whole device")?;
                self.push(Statement::ControlBarrier(barrier));
            }
            Op::Fence(scope) => {
                let barrier = match scope {
                    Scope::Device => Barrier::STORAGE,
                    Scope::Block | Scope::Subgroup => self.barrier(*scope, "a fence")?,
                };
                self.push(Statement::MemoryBarrier(barrier));
            }
            Op::Subgroup(op, args) => {
                let value = self.subgroup(*op, args)?;
                self.bind_one(binds, value);
            }
            Op::Mma(..) | Op::LoadFragment { .. } => {
                return Err(EmitError::Fragments { kernel: self.build.kernel.name.clone(), language: "WebGPU" });
            }
            Op::Lanes { .. } | Op::Prefixes { .. } => return Err(self.build.form("lanes")),
            Op::Check { .. } => return Err(self.build.form("checks (the pass `report` makes code of them)")),
            Op::At { .. }
            | Op::Tabulate { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::Scatter { .. }
            | Op::Filter { .. }
            | Op::Sort { .. }
            | Op::Raw(_) => return Err(self.build.form("array operations")),
        }
        Ok(())
    }

    fn barrier(&self, scope: Scope, what: &str) -> Result<Barrier, EmitError> {
        match scope {
            // Where threads do not meet in a buffer, nobody has to wait for what was written there.
            Scope::Block if self.meets_in_buffers() => Ok(Barrier::WORK_GROUP | Barrier::STORAGE),
            Scope::Block => Ok(Barrier::WORK_GROUP),
            Scope::Subgroup if self.build.target.subgroups => Ok(Barrier::SUB_GROUP),
            Scope::Subgroup => Err(self.lacks_subgroups()),
            Scope::Device => Err(self.build.form(what)),
        }
    }

    /// Has the kernel a buffer that is written and read?
    fn meets_in_buffers(&self) -> bool {
        self.build.kernel.memories.iter().any(|memory| memory.space == Space::Global(Access::ReadWrite))
    }

    fn lacks_subgroups(&self) -> EmitError {
        self.build.lacks("subgroup operations", "SUBGROUP", "Lower the program for a machine without subgroups")
    }

    // ---- control

    /// A variable for each type that values are held in.
    fn variables(&mut self, held: &[Ty]) -> Result<Vec<(Ty, Value)>, EmitError> {
        held.iter().map(|&ty| Ok(self.build.scalar(ty)?).map(|scalar| (ty, self.variable(scalar)))).collect()
    }

    fn store_all(&mut self, variables: &[(Ty, Value)], ids: &[Id]) -> Result<(), EmitError> {
        // All are read before any is written: a state may be a permutation of the one before.
        let mut values = vec![];
        for (&(held, variable), &id) in variables.iter().zip(ids) {
            let named = self.named(id)?;
            values.push((variable, self.resized(named.held, held, named.value)?));
        }
        values.into_iter().for_each(|(variable, value)| self.store(variable, value));
        Ok(())
    }

    fn bind_variables(&mut self, binds: &[Var], variables: &[(Ty, Value)]) {
        for (bind, &(held, variable)) in binds.iter().zip(variables) {
            let value = self.load(variable);
            self.bind_named(bind.id, Named { ty: bind.ty.elem(), held, value });
        }
    }

    fn branch(
        &mut self,
        binds: &[Var],
        held: &[Ty],
        cond: Id,
        args: &[Id],
        sides: [&Body; 2],
    ) -> Result<(), EmitError> {
        let variables = self.variables(held)?;
        let (_, condition) = self.get(cond)?;
        let args: Vec<Named> = args.iter().map(|&id| self.named(id)).collect::<Result<_, _>>()?;
        let mut side = |body: &Body| {
            self.block(|code| {
                for (param, named) in body.params.iter().zip(&args) {
                    code.bind_named(param.id, *named);
                }
                code.statements(body)?;
                code.store_all(&variables, &body.results)
            })
        };
        let accept = side(sides[0])?;
        let reject = side(sides[1])?;
        self.push(Statement::If { condition, accept, reject });
        self.bind_variables(binds, &variables);
        Ok(())
    }

    pub(super) fn break_if(&mut self, condition: Value) -> Result<(), EmitError> {
        let accept = self.block(|code| {
            code.push(Statement::Break);
            Ok(())
        })?;
        self.push(Statement::If { condition, accept, reject: naga::Block::new() });
        Ok(())
    }

    /// What the states of a loop are held in.
    fn carried(&self, binds: &[Var], init: &[Id], params: &[Var]) -> Vec<Ty> {
        let held = |((bind, &init), param): ((&Var, &Id), &Var)| match bind.ty.elem() {
            Ty::I64 => self.narrowing.carried(&[init, param.id, bind.id]),
            ty => ty,
        };
        binds.iter().zip(init).zip(params).map(held).collect()
    }

    fn counted(&mut self, binds: &[Var], range: [Id; 3], init: &[Id], body: &Body) -> Result<(), EmitError> {
        let held = self.carried(binds, init, body.params.get(1..).unwrap_or_default());
        let variables = self.variables(&held)?;
        self.store_all(&variables, init)?;
        let ty = self.named(range[0])?.ty;
        let held = if ty == Ty::I64 { self.narrowing.counted(&range) } else { ty };
        let [lo, hi, step] = range;
        let [lo, hi, step] = [self.get_in(lo, held)?, self.get_in(hi, held)?, self.get_in(step, held)?];
        let scalar = self.build.scalar(held)?;
        let counter = self.variable(scalar);
        self.store(counter, lo);
        let passes = self.narrowing.holds_past(&range, held);
        let copies = self.copies(body);
        let block = self.block(|code| {
            for copy in 0..copies {
                let i = code.load(counter);
                let done = code.binary(BinaryOperator::GreaterEqual, i, hi);
                code.break_if(done)?;
                if let Some((first, state)) = body.params.split_first() {
                    code.bind_named(first.id, Named { ty, held, value: i });
                    code.bind_variables(state, &variables);
                }
                code.statements(body)?;
                code.store_all(&variables, &body.results)?;
                if passes && copy + 1 == copies {
                    return Ok(());
                }
                if !passes {
                    // The next value may be past the type's largest.
                    let unsigned = naga::Scalar { kind: ScalarKind::Uint, width: scalar.width };
                    let left = code.binary(BinaryOperator::Subtract, hi, i);
                    let left = code.convert(left, unsigned);
                    let by = code.convert(step, unsigned);
                    let last = code.binary(BinaryOperator::LessEqual, left, by);
                    code.break_if(last)?;
                }
                let next = code.binary(BinaryOperator::Add, i, step);
                code.store(counter, next);
            }
            Ok(())
        })?;
        // A loop of the usual form is one that drivers unroll.
        let continuing = self.block(|code| {
            if passes {
                let i = code.load(counter);
                let next = code.binary(BinaryOperator::Add, i, step);
                code.store(counter, next);
            }
            Ok(())
        })?;
        self.push(Statement::Loop { body: block, continuing, break_if: None });
        self.bind_variables(binds, &variables);
        Ok(())
    }

    fn repeated(&mut self, binds: &[Var], init: &[Id], cond: &Body, body: &Body) -> Result<(), EmitError> {
        let variables = self.variables(&self.carried(binds, init, &cond.params))?;
        self.store_all(&variables, init)?;
        let copies = self.copies(body).min(self.copies(cond));
        let block = self.block(|code| {
            for _ in 0..copies {
                code.bind_variables(&cond.params, &variables);
                code.statements(cond)?;
                let holds = match &cond.results[..] {
                    [only] => code.get(*only)?.1,
                    _ => return Err(code.build.form("a condition of several values")),
                };
                let done = code.unary(UnaryOperator::LogicalNot, holds);
                code.break_if(done)?;
                code.bind_variables(&body.params, &variables);
                code.statements(body)?;
                code.store_all(&variables, &body.results)?;
            }
            Ok(())
        })?;
        self.push(Statement::Loop { body: block, continuing: naga::Block::new(), break_if: None });
        self.bind_variables(binds, &variables);
        Ok(())
    }

    /// How often the code of a loop is written in a turn of it.
    fn copies(&self, body: &Body) -> u64 {
        if self.build.target.long_loops { copies(body) } else { 1 }
    }

    // ---- threads

    fn place(&mut self, place: Place, dimension: u8, held: Ty) -> Result<Value, EmitError> {
        let dimension = usize::from(dimension.min(2));
        let component = |code: &mut Self, builtin| {
            let base = code.builtin(builtin);
            code.expr(Expression::AccessIndex { base, index: dimension as u32 })
        };
        let value = match place {
            Place::Global => component(self, BuiltIn::GlobalInvocationId),
            Place::Local => component(self, BuiltIn::LocalInvocationId),
            Place::Block => component(self, BuiltIn::WorkGroupId),
            Place::BlockDim => self.u32(self.build.kernel.block[dimension]),
            Place::GridDim => {
                let size = self.build.kernel.grid[dimension].clone();
                return self.extent(&size, held);
            }
            Place::Lane | Place::SubgroupSize if !self.build.target.subgroups => return Err(self.lacks_subgroups()),
            Place::Lane => self.builtin(BuiltIn::SubgroupInvocationId),
            Place::SubgroupSize => self.builtin(BuiltIn::SubgroupSize),
        };
        // A place is below 2^31 wherever all positions are 32-bit numbers.
        self.resized(Ty::U32, held, value)
    }

    fn subgroup(&mut self, op: SubgroupOp, args: &[Id]) -> Result<Value, EmitError> {
        if !self.build.target.subgroups {
            return Err(self.lacks_subgroups());
        }
        let args = self.all(args)?;
        let Some(&(ty, argument)) = args.first() else {
            return Err(self.build.form("a subgroup operation of nothing"));
        };
        let votes = matches!(op, SubgroupOp::Any | SubgroupOp::All | SubgroupOp::Ballot);
        if ty == Ty::Bool && !votes {
            // Subgroups exchange numbers.
            let word = self.packed(ty, argument)?;
            let given = self.exchanged(op, Ty::U32, word, &args[1..])?;
            return self.unpacked(ty, given);
        }
        let value = self.exchanged(op, ty, argument, &args[1..])?;
        match op {
            // Results of narrow types are those of 32 bits, back in range.
            SubgroupOp::Reduce(_) | SubgroupOp::Scan(_) if ty.is_float() => self.rounded(ty, value),
            SubgroupOp::Reduce(_) | SubgroupOp::Scan(_) => Ok(self.wrapped(ty, value)),
            _ => Ok(value),
        }
    }

    /// What a thread gets from its subgroup for a value.
    fn exchanged(&mut self, op: SubgroupOp, ty: Ty, argument: Value, more: &[(Ty, Value)]) -> Result<Value, EmitError> {
        let scalar = self.build.scalar(ty)?;
        let result_ty = self.build.scalar_ty(scalar);
        let collective = |code: &mut Self, op, collective_op| {
            let result = code.append(Expression::SubgroupOperationResult { ty: result_ty });
            code.push(Statement::SubgroupCollectiveOperation { op, collective_op, argument, result });
            result
        };
        let lane = match more.first() {
            Some(&(from, lane)) => Some(self.cast(from, Ty::U32, lane)?),
            None => None,
        };
        let gather = |code: &mut Self, mode| {
            let result = code.append(Expression::SubgroupOperationResult { ty: result_ty });
            code.push(Statement::SubgroupGather { mode, argument, result });
            result
        };
        let lane =
            || lane.ok_or_else(|| EmitError::Form { kernel: String::new(), what: "a shuffle without a lane".into() });
        Ok(match op {
            SubgroupOp::Reduce(operator) => {
                let op = self.collective(operator, ty)?;
                collective(self, op, CollectiveOperation::Reduce)
            }
            SubgroupOp::Scan(operator) => {
                let op = self.collective(operator, ty)?;
                collective(self, op, CollectiveOperation::InclusiveScan)
            }
            SubgroupOp::Any => collective(self, SubgroupOperation::Any, CollectiveOperation::Reduce),
            SubgroupOp::All => collective(self, SubgroupOperation::All, CollectiveOperation::Reduce),
            SubgroupOp::Broadcast => gather(self, GatherMode::BroadcastFirst),
            SubgroupOp::Shuffle => gather(self, GatherMode::Shuffle(lane()?)),
            SubgroupOp::ShuffleXor => gather(self, GatherMode::ShuffleXor(lane()?)),
            SubgroupOp::ShuffleUp => {
                let delta = lane()?;
                let there = gather(self, GatherMode::ShuffleUp(delta));
                let own = self.builtin(BuiltIn::SubgroupInvocationId);
                let inside = self.binary(BinaryOperator::GreaterEqual, own, delta);
                self.select(inside, there, argument)
            }
            SubgroupOp::ShuffleDown => {
                let delta = lane()?;
                let there = gather(self, GatherMode::ShuffleDown(delta));
                let own = self.builtin(BuiltIn::SubgroupInvocationId);
                let size = self.builtin(BuiltIn::SubgroupSize);
                let left = self.binary(BinaryOperator::Subtract, size, own);
                let inside = self.binary(BinaryOperator::Less, delta, left);
                self.select(inside, there, argument)
            }
            SubgroupOp::Ballot => {
                if !self.build.target.int64 {
                    return Err(self.build.lacks_int64("64-bit integers (a ballot)"));
                }
                let base = self.append(Expression::SubgroupBallotResult);
                self.push(Statement::SubgroupBallot { result: base, predicate: Some(argument) });
                let low = self.expr(Expression::AccessIndex { base, index: 0 });
                let high = self.expr(Expression::AccessIndex { base, index: 1 });
                self.join(low, high)
            }
        })
    }

    fn collective(&self, operator: Operator, ty: Ty) -> Result<SubgroupOperation, EmitError> {
        Ok(match operator {
            Operator::Add => SubgroupOperation::Add,
            Operator::Mul => SubgroupOperation::Mul,
            // A NaN loses in the table, and may win in a subgroup.
            Operator::Min if !ty.is_float() => SubgroupOperation::Min,
            Operator::Max if !ty.is_float() => SubgroupOperation::Max,
            Operator::And if ty.is_int() => SubgroupOperation::And,
            Operator::Or if ty.is_int() => SubgroupOperation::Or,
            Operator::Xor if ty.is_int() => SubgroupOperation::Xor,
            _ => return Err(self.build.form(&format!("a subgroup reduction by `{}` on {ty}", operator.name()))),
        })
    }
}
