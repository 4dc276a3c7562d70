//! The rules of plans: what each step binds fits, and holds something when it is read.
//!
//! * The size variables of a kernel are those of the plan; a launch uses only sizes that are known by then.
//! * A launch binds one buffer per global and constant memory and one scalar per parameter, of the same types.
//! * Arguments are not written. A buffer that a launch writes is bound once in it.
//! * What both ways of a choice have written is written; what only the turns of a loop have written is not, there may be none.
//! * Temporaries and results are read only after something has written to them, and not after they are freed.

use super::{Checked, VerifyError, fail, identifier, kernel, size, unique};
use crate::code::{Body, Type};
use crate::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Loop, Memory, Plan, ScalarArg, Space, Step, Turns};
use crate::size::{Size, SizeOrigin, SizeVar};
use crate::types::Ty;

/// Checks a plan and its kernels.
pub fn plan(plan: &Plan) -> Checked {
    check(plan).map_err(|e| e.within(format!("plan `{}`", plan.name)))
}

/// What a buffer holds between two steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    Written,
    Freed,
}

struct Walk<'a> {
    plan: &'a Plan,
    states: Vec<State>,
    /// Which size variables have a value.
    known: Vec<bool>,
    /// Loops around the step.
    depth: u32,
    /// Loops and choices around it.
    nested: bool,
}

fn check(plan: &Plan) -> Checked {
    identifier("plan", &plan.name)?;
    unique("size", plan.sizes.iter().map(|s| &s.name[..]))?;
    unique("kernel", plan.kernels.iter().map(|k| &k.name[..]))?;
    plan.kernels.iter().try_for_each(kernel)?;
    if let Some(k) = plan.kernels.iter().find(|k| k.sizes != plan.sizes) {
        return fail(format!("the size variables of kernel `{}` are not those of the plan", k.name));
    }
    for param in &plan.params {
        param.ty.shape().iter().try_for_each(|s| size(s, &plan.sizes))?;
    }
    for (k, buffer) in plan.buffers.iter().enumerate() {
        role(plan, buffer, BufferId(k as u32)).map_err(|e| e.within(format!("buffer {k}")))?;
    }
    for (_, shape) in &plan.results {
        shape.iter().try_for_each(|s| size(s, &plan.sizes))?;
    }
    let state = |b: &Buffer| match b.role {
        BufferUse::Argument(_) => State::Written,
        BufferUse::Result(_) | BufferUse::Temporary => State::Undefined,
    };
    let mut walk = Walk {
        plan,
        states: plan.buffers.iter().map(state).collect(),
        known: plan.sizes.iter().map(|s| s.origin == SizeOrigin::Given).collect(),
        depth: 0,
        nested: false,
    };
    for (k, step) in plan.steps.iter().enumerate() {
        walk.step(step).map_err(|e| e.within(format!("step {k}")))?;
    }
    walk.results()
}

/// A buffer that belongs to an argument or result is like it.
fn role(plan: &Plan, buffer: &Buffer, id: BufferId) -> Checked {
    buffer.shape.iter().try_for_each(|s| size(s, &plan.sizes))?;
    match buffer.role {
        BufferUse::Argument(k) => match plan.params.get(k).map(|p| &p.ty) {
            Some(Type::Array(ty, shape)) if *ty == buffer.ty && *shape == buffer.shape => Ok(()),
            Some(Type::Array(..)) => fail(format!("has another type or shape than argument {k}")),
            Some(Type::Scalar(_)) => fail(format!("argument {k} is a scalar; scalars are not passed in buffers")),
            None => fail(format!("there is no argument {k}")),
        },
        BufferUse::Result(k) if plan.results.get(k).is_some_and(|r| r.0 == id) => Ok(()),
        BufferUse::Result(k) => fail(format!("is not what the plan gives back as result {k}")),
        BufferUse::Temporary => Ok(()),
    }
}

impl Walk<'_> {
    fn buffer(&self, id: BufferId) -> Result<&Buffer, VerifyError> {
        match self.plan.buffers.get(id.0 as usize) {
            Some(buffer) => Ok(buffer),
            None => fail(format!("there is no buffer {}", id.0)),
        }
    }

    fn alive(&self, id: BufferId) -> Checked {
        match self.states.get(id.0 as usize) {
            Some(State::Undefined | State::Written) => Ok(()),
            Some(State::Freed) => fail(format!("buffer {} is used after it is freed", id.0)),
            None => fail(format!("there is no buffer {}", id.0)),
        }
    }

    fn written(&self, id: BufferId) -> Checked {
        self.alive(id)?;
        if self.states[id.0 as usize] == State::Written {
            return Ok(());
        }
        fail(format!("buffer {} is read before anything is written to it", id.0))
    }

    fn known(&self, size: &Size) -> Checked {
        let mut early = None;
        size.each_var(&mut |SizeVar(v)| {
            if !self.known[v as usize] {
                early = Some(v as usize);
            }
        });
        match early {
            Some(v) => fail(format!("the size `{}` is used before it is counted", self.plan.sizes[v].name)),
            None => Ok(()),
        }
    }

    fn step(&mut self, step: &Step) -> Checked {
        match step {
            Step::Launch { kernel, buffers, scalars } => {
                let plan = self.plan;
                let Some(kernel) = plan.kernels.get(*kernel) else {
                    return fail(format!("there is no kernel number {kernel}"));
                };
                self.launch(kernel, buffers, scalars).map_err(|e| e.within(format!("launch of `{}`", kernel.name)))
            }
            Step::Count { size, from } => self.count(*size, *from),
            Step::Loop(turns) => self.turns(turns).map_err(|e| e.within("loop")),
            Step::Choose { work, small, large, .. } => {
                self.known(work)?;
                let before = self.states.clone();
                self.inside(small).map_err(|e| e.within("the first way"))?;
                let after = std::mem::replace(&mut self.states, before);
                self.inside(large).map_err(|e| e.within("the second way"))?;
                // Only what both ways have written is written.
                for (state, other) in self.states.iter_mut().zip(after) {
                    *state = if *state == other { other } else { State::Undefined };
                }
                Ok(())
            }
            Step::Free(_) if self.nested => fail("frees a buffer inside of a loop or choice, which may use it again"),
            Step::Free(id) => {
                self.alive(*id)?;
                if self.buffer(*id)?.role != BufferUse::Temporary {
                    return fail(format!("buffer {} is freed, but belongs to the caller", id.0));
                }
                if self.plan.results.iter().any(|r| r.0 == *id) {
                    return fail(format!("buffer {} is freed, but is a result", id.0));
                }
                self.states[id.0 as usize] = State::Freed;
                Ok(())
            }
        }
    }

    /// Steps inside of another.
    fn inside(&mut self, steps: &[Step]) -> Checked {
        let outer = std::mem::replace(&mut self.nested, true);
        for (k, step) in steps.iter().enumerate() {
            self.step(step).map_err(|e| e.within(format!("step {k}")))?;
        }
        self.nested = outer;
        Ok(())
    }

    fn turns(&mut self, turns: &Loop) -> Checked {
        match &turns.turns {
            Turns::Size(size) => self.known(size)?,
            Turns::Read(from) => self.single(*from, Ty::I64)?,
            Turns::While { .. } => {}
        }
        self.depth += 1;
        if let Turns::While { steps, holds, done } = &turns.turns {
            if let Some(done) = done {
                self.single(*done, Ty::I64)?;
            }
            self.inside(steps)?;
            self.single(*holds, Ty::Bool)?;
        }
        // There may be no turn.
        let before = self.states.clone();
        self.inside(&turns.steps)?;
        for &(a, b) in &turns.swaps {
            self.written(a)?;
            self.written(b)?;
            let alike = |id| self.buffer(id).map(|buffer| (buffer.ty, buffer.shape.clone()));
            let owned = |id| self.buffer(id).map(|buffer| !matches!(buffer.role, BufferUse::Argument(_)));
            if a == b || alike(a)? != alike(b)? || !owned(a)? || !owned(b)? {
                return fail(format!("buffers {} and {} change places, but are not alike", a.0, b.0));
            }
        }
        self.states = before;
        self.depth -= 1;
        Ok(())
    }

    /// A value of shape `[]` that is read back.
    fn single(&self, id: BufferId, ty: Ty) -> Checked {
        let buffer = self.buffer(id)?;
        if buffer.ty != ty || !buffer.shape.is_empty() {
            return fail(format!("what is read back is a single {ty}, but buffer {} is not", id.0));
        }
        self.written(id)
    }

    fn launch(&mut self, kernel: &Kernel, buffers: &[BufferId], scalars: &[ScalarArg]) -> Checked {
        each_kernel_size(kernel, &mut |size| self.known(size))?;
        let passed = |m: &&Memory| matches!(m.space, Space::Global(_) | Space::Constant);
        let memories: Vec<&Memory> = kernel.memories.iter().filter(passed).collect();
        if memories.len() != buffers.len() {
            return fail(format!("{} memories are bound to {} buffers", memories.len(), buffers.len()));
        }
        for (memory, &id) in memories.iter().zip(buffers) {
            self.binding(memory, id, buffers).map_err(|e| e.within(format!("memory `{}`", memory.name)))?;
        }
        for (memory, id) in memories.iter().zip(buffers) {
            if writes(memory) {
                self.states[id.0 as usize] = State::Written;
            }
        }
        if kernel.body.params.len() != scalars.len() {
            return fail(format!("{} parameters get {} scalars", kernel.body.params.len(), scalars.len()));
        }
        for (param, scalar) in kernel.body.params.iter().zip(scalars) {
            match scalar {
                ScalarArg::Argument(k) if self.plan.params.get(*k).map(|p| &p.ty) != Some(&param.ty) => {
                    return fail(format!("argument {k} is not what the parameter %{} takes", param.id.0));
                }
                ScalarArg::Turn(depth) if *depth >= self.depth || param.ty != Type::Scalar(Ty::I64) => {
                    return fail(format!("turn {depth} is not what the parameter %{} takes", param.id.0));
                }
                ScalarArg::Const(_) | ScalarArg::Read(_) if kernel.raw.is_none() => {
                    return fail(format!("the parameter %{} has a value that its code could have", param.id.0));
                }
                ScalarArg::Const(value) if param.ty != Type::Scalar(value.ty) => {
                    return fail(format!("a {} is not what the parameter %{} takes", value.ty, param.id.0));
                }
                ScalarArg::Read(id) => {
                    let buffer = self.buffer(*id)?;
                    let written = matches!(self.states.get(id.0 as usize), Some(State::Written));
                    if Type::Scalar(buffer.ty) != param.ty || !buffer.shape.is_empty() || !written {
                        return fail(format!("buffer {} is not what the parameter %{} takes", id.0, param.id.0));
                    }
                }
                ScalarArg::Argument(_) | ScalarArg::Turn(_) | ScalarArg::Const(_) => {}
            }
        }
        Ok(())
    }

    fn binding(&self, memory: &Memory, id: BufferId, all: &[BufferId]) -> Checked {
        let buffer = self.buffer(id)?;
        if buffer.ty != memory.ty {
            return fail(format!("holds {}, but buffer {} holds {}", memory.ty, id.0, buffer.ty));
        }
        buffer.shape.iter().try_for_each(|s| self.known(s))?;
        let seen = Size::product(&memory.shape).constant();
        let there = Size::product(&buffer.shape).constant();
        if let (Some(seen), Some(there)) = (seen, there)
            && seen > there
        {
            return fail(format!("has {seen} elements, but buffer {} has {there}", id.0));
        }
        if !writes(memory) {
            return self.written(id);
        }
        if matches!(buffer.role, BufferUse::Argument(_)) {
            return fail(format!("writes to buffer {}, which is an argument", id.0));
        }
        if all.iter().filter(|&&other| other == id).count() > 1 {
            return fail(format!("writes to buffer {}, which another memory of the launch shares", id.0));
        }
        self.alive(id)
    }

    fn count(&mut self, size: SizeVar, from: BufferId) -> Checked {
        let Some(decl) = self.plan.sizes.get(size.0 as usize) else {
            return fail(format!("the size variable number {} is not declared", size.0));
        };
        if decl.origin != SizeOrigin::Counted {
            return fail(format!("counts `{}`, which is given by the call", decl.name));
        }
        let buffer = self.buffer(from)?;
        if buffer.ty != Ty::I64 || !buffer.shape.is_empty() {
            return fail(format!("a count is a single i64, but buffer {} is not", from.0));
        }
        self.written(from)?;
        if std::mem::replace(&mut self.known[size.0 as usize], true) {
            return fail(format!("counts `{}` a second time", decl.name));
        }
        Ok(())
    }

    fn results(&self) -> Checked {
        for (k, (id, shape)) in self.plan.results.iter().enumerate() {
            let checked = self.written(*id).and_then(|()| shape.iter().try_for_each(|s| self.known(s)));
            checked.map_err(|e| e.within(format!("result {k}")))?;
        }
        Ok(())
    }
}

fn writes(memory: &Memory) -> bool {
    match memory.space {
        Space::Global(Access::Write | Access::ReadWrite) => true,
        Space::Global(Access::Read) | Space::Constant | Space::Shared | Space::Scratch | Space::Local => false,
    }
}

/// Every size that a launch of the kernel needs a value for.
fn each_kernel_size(kernel: &Kernel, f: &mut dyn FnMut(&Size) -> Checked) -> Checked {
    kernel.grid.iter().chain(kernel.memories.iter().flat_map(|m| &m.shape)).try_for_each(&mut *f)?;
    kernel.functions.iter().map(|function| &function.body).chain([&kernel.body]).try_for_each(|b| each_size(b, f))
}

fn each_size(body: &Body, f: &mut dyn FnMut(&Size) -> Checked) -> Checked {
    for stmt in &body.stmts {
        stmt.op.sizes().into_iter().try_for_each(&mut *f)?;
        stmt.op.bodies().into_iter().try_for_each(|b| each_size(b, f))?;
    }
    Ok(())
}
