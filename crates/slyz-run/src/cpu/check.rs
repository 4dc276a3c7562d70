//! The rules of a plan that running it relies on, checked once when it is compiled.
//!
//! They are what the `SAFETY` lines of [`super::run`] lean on: indices are inside, types agree, arguments are never
//! written, and a memory that is written has no second name in its launch. Sizes are checked at each launch.

use crate::Error;
use crate::signature::Signature;
use slyz_sir::code::{Body, Op, Type};
use slyz_sir::kernel::{Access, BufferId, BufferUse, Kernel, Memory, Plan, ScalarArg, Space, Step};
use slyz_sir::size::{Size, SizeOrigin};
use slyz_sir::types::Ty;

/// Checks a plan against the graph it was made from.
pub(super) fn check(plan: &Plan, signature: &Signature) -> Result<(), Error> {
    let check = Check { plan };
    check.all(signature).map_err(|why| Error::Plan { name: signature.name.clone(), why })
}

/// The memories that a launch binds, in order.
pub(super) fn bound_memories(kernel: &Kernel) -> impl Iterator<Item = &Memory> {
    kernel.memories.iter().filter(|memory| match memory.space {
        Space::Global(_) | Space::Constant => true,
        Space::Shared | Space::Scratch | Space::Local => false,
    })
}

/// The scratch memories of a kernel, in order.
pub(super) fn scratch_memories(kernel: &Kernel) -> impl Iterator<Item = &Memory> {
    kernel.memories.iter().filter(|memory| memory.space == Space::Scratch)
}

/// Every extent that the code of a kernel counts with, apart from the shapes of its memories.
pub(super) fn extents(kernel: &Kernel) -> Vec<Size> {
    fn walk(body: &Body, found: &mut Vec<Size>) {
        for stmt in &body.stmts {
            if let Op::Extent(size) = &stmt.op {
                found.push(size.clone());
            }
            stmt.op.bodies().into_iter().for_each(|body| walk(body, found));
        }
    }
    let mut found = kernel.grid.to_vec();
    kernel.functions.iter().map(|function| &function.body).chain([&kernel.body]).for_each(|b| walk(b, &mut found));
    found.sort();
    found.dedup();
    found
}

struct Check<'a> {
    plan: &'a Plan,
}

impl Check<'_> {
    fn all(&self, signature: &Signature) -> Result<(), String> {
        let plan = self.plan;
        rule(plan.sizes == signature.sizes, || "its size variables are not the graph's".into())?;
        let fits = |(a, b): (&Type, &Type)| a.elem() == b.elem() && a.shape().len() == b.shape().len();
        let types = plan.params.iter().map(|p| &p.ty).zip(signature.params.iter().map(|p| &p.ty));
        let same = plan.params.len() == signature.params.len() && types.into_iter().all(fits);
        rule(same, || "its parameters are not the graph's".into())?;
        for (k, buffer) in plan.buffers.iter().enumerate() {
            match buffer.role {
                BufferUse::Argument(place) => {
                    let array = plan.params.get(place).filter(|p| matches!(p.ty, Type::Array(..)));
                    let fits = array.is_some_and(|p| p.ty.elem() == buffer.ty);
                    rule(fits, || format!("buffer {k} is not the argument {place}"))?;
                }
                BufferUse::Result(_) | BufferUse::Temporary => {}
            }
        }
        for (id, _) in &plan.results {
            self.buffer(*id)?;
        }
        plan.steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&self, step: &Step) -> Result<(), String> {
        match step {
            Step::Launch { kernel, buffers, scalars } => {
                let found = self.plan.kernels.get(*kernel).ok_or_else(|| format!("there is no kernel {kernel}"))?;
                self.launch(found, buffers, scalars).map_err(|why| format!("the launch of {}: {why}", found.name))
            }
            Step::Count { size, from } => {
                let decl = self.plan.sizes.get(size.0 as usize);
                let counted = decl.is_some_and(|decl| decl.origin == SizeOrigin::Counted);
                rule(counted, || format!("size {} is not one that is counted", size.0))?;
                let buffer = self.buffer(*from)?;
                rule(buffer.ty == Ty::I64 && buffer.shape.is_empty(), || "a count is not one i64".into())
            }
            Step::Free(id) => {
                let buffer = self.buffer(*id)?;
                rule(buffer.role == BufferUse::Temporary, || format!("buffer {} is freed but not temporary", id.0))
            }
        }
    }

    fn launch(&self, kernel: &Kernel, buffers: &[BufferId], scalars: &[ScalarArg]) -> Result<(), String> {
        rule(kernel.sizes == self.plan.sizes, || "its size variables are not the plan's".into())?;
        let memories: Vec<&Memory> = bound_memories(kernel).collect();
        rule(memories.len() == buffers.len(), || format!("{} buffers for {} memories", buffers.len(), memories.len()))?;
        for (memory, id) in memories.iter().zip(buffers) {
            let buffer = self.buffer(*id)?;
            rule(memory.ty == buffer.ty, || format!("{} of {} is bound to {}", memory.name, memory.ty, buffer.ty))?;
            let written = match memory.space {
                Space::Global(Access::Write | Access::ReadWrite) => true,
                Space::Global(Access::Read) | Space::Constant | Space::Shared | Space::Scratch | Space::Local => false,
            };
            let lent = matches!(buffer.role, BufferUse::Argument(_));
            rule(!(written && lent), || format!("{} writes an argument", memory.name))?;
            let names = buffers.iter().filter(|other| *other == id).count();
            rule(!written || names == 1, || format!("{} is written and has a second name", memory.name))?;
        }
        let params = &kernel.body.params;
        rule(params.len() == scalars.len(), || format!("{} scalars for {}", scalars.len(), params.len()))?;
        for (param, ScalarArg::Argument(place)) in params.iter().zip(scalars) {
            let same =
                self.plan.params.get(*place).is_some_and(|p| p.ty == param.ty && matches!(p.ty, Type::Scalar(_)));
            rule(same, || format!("the scalar argument {place} does not fit"))?;
        }
        Ok(())
    }

    fn buffer(&self, id: BufferId) -> Result<&slyz_sir::kernel::Buffer, String> {
        self.plan.buffers.get(id.0 as usize).ok_or_else(|| format!("there is no buffer {}", id.0))
    }
}

fn rule(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
