//! What is the same in all threads of a block, and can be computed once for all of them.
//!
//! That is decided where it matters: in code that all threads of the block run together (the kernel's own body, and the bodies of
//! branches and loops in which threads meet). There, constants, scalars, extents, the place of the block, arithmetic on such, reads
//! of memory that nobody writes, and whole branches and loops of such are uniform; so is the state of a loop that starts uniform and
//! stays so. A read of memory that is written is taken for uniform only where a branch or loop around a meeting point hangs on
//! it: it must then be made at its place between the accesses of the threads.

use super::{Unwoven, meets};
use crate::code::{Body, Id, Op, Place, Stmt};
use crate::kernel::{Access, Kernel, Memory, Space};
use std::collections::HashSet;

/// The uniform names of a kernel, or where threads may part on the way to a meeting.
pub(super) fn find(kernel: &Kernel) -> Result<HashSet<Id>, Unwoven> {
    // First with all reads that could be uniform, to learn which of them have to be.
    let eager = Analysis::run(kernel, None)?;
    let reads = kernel.body.sources(&eager.needed);
    Ok(Analysis::run(kernel, Some(reads))?.uniform)
}

/// What decides whether the threads of a block come to a meeting point, and is the same in all of them. Nothing where they may part.
pub fn decisions(kernel: &Kernel) -> HashSet<Id> {
    let Ok(eager) = Analysis::run(kernel, None) else { return HashSet::new() };
    let decisive = kernel.body.sources(&eager.needed);
    eager.uniform.intersection(&decisive).copied().collect()
}

/// Is it a read of something that may be written during the launch?
pub(super) fn is_live_read(op: &Op, memories: &[Memory]) -> bool {
    match op {
        Op::Load { memory, .. } => {
            !matches!(memories[memory.0 as usize].space, Space::Global(Access::Read) | Space::Constant)
        }
        _ => false,
    }
}

struct Analysis<'k> {
    kernel: &'k Kernel,
    uniform: HashSet<Id>,
    /// Reads of memory that is written, which count as uniform; `None` for all.
    reads: Option<HashSet<Id>>,
    /// What branches and loops around meeting points hang on.
    needed: Vec<Id>,
}

impl<'k> Analysis<'k> {
    fn run(kernel: &'k Kernel, reads: Option<HashSet<Id>>) -> Result<Analysis<'k>, Unwoven> {
        let uniform = kernel.body.params.iter().map(|p| p.id).collect();
        let mut analysis = Analysis { kernel, uniform, reads, needed: vec![] };
        analysis.body(&kernel.body)?;
        Ok(analysis)
    }

    fn body(&mut self, body: &Body) -> Result<(), Unwoven> {
        body.stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn has(&self, id: Id) -> bool {
        self.uniform.contains(&id)
    }

    /// All threads must agree on it, or not all come to the meeting.
    fn need(&mut self, id: Id, stmt: &Stmt, place: &'static str) -> Result<(), Unwoven> {
        self.needed.push(id);
        if self.has(id) {
            return Ok(());
        }
        let what = if super::any_in(&stmt.op, &|op| matches!(op, Op::Barrier(_))) {
            "a barrier"
        } else {
            "a subgroup operation"
        };
        Err(Unwoven::Divergent { kernel: self.kernel.name.clone(), what, place })
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), Unwoven> {
        if !meets(&stmt.op) {
            if self.is_uniform(stmt) {
                self.uniform.extend(stmt.binds.iter().map(|b| b.id));
            }
            return Ok(());
        }
        match &stmt.op {
            Op::If { cond, args, then, otherwise } => {
                self.need(*cond, stmt, "a branch")?;
                for side in [then, otherwise] {
                    let same = side.params.iter().zip(args).filter(|(_, arg)| self.uniform.contains(arg));
                    let same: Vec<Id> = same.map(|(param, _)| param.id).collect();
                    self.uniform.extend(same);
                    self.body(side)?;
                }
                for (bind, (a, b)) in stmt.binds.iter().zip(then.results.iter().zip(&otherwise.results)) {
                    if self.has(*a) && self.has(*b) {
                        self.uniform.insert(bind.id);
                    }
                }
            }
            Op::For { lo, hi, step, init, body } => {
                for bound in [lo, hi, step] {
                    self.need(*bound, stmt, "a loop")?;
                }
                self.uniform.insert(body.params[0].id);
                let params: Vec<Id> = body.params[1..].iter().map(|p| p.id).collect();
                self.turns(stmt, init, &params, &body.results, &mut |a| a.body(body))?;
            }
            Op::While { init, cond, body } => {
                let params: Vec<Id> = cond.params.iter().map(|p| p.id).collect();
                let again: Vec<Id> = body.params.iter().map(|p| p.id).collect();
                self.turns(stmt, init, &params, &body.results, &mut |a| {
                    for (own, other) in again.iter().zip(&params) {
                        if a.has(*other) {
                            a.uniform.insert(*own)
                        } else {
                            a.uniform.remove(own)
                        };
                    }
                    a.body(cond)?;
                    a.body(body)
                })?;
                self.need(cond.results[0], stmt, "a loop")?;
            }
            // What threads find out together differs between subgroups.
            _ => {}
        }
        Ok(())
    }

    /// The state of a loop: what starts uniform is so unless a turn makes it differ.
    fn turns(
        &mut self,
        stmt: &Stmt,
        init: &[Id],
        params: &[Id],
        results: &[Id],
        run: &mut dyn FnMut(&mut Self) -> Result<(), Unwoven>,
    ) -> Result<(), Unwoven> {
        let mut same: Vec<bool> = init.iter().map(|&id| self.has(id)).collect();
        let before = self.uniform.clone();
        loop {
            self.uniform = before.clone();
            self.uniform.extend(params.iter().zip(&same).filter(|(_, same)| **same).map(|(param, _)| *param));
            // A guess that is too bold may say that threads agree who do not; one that fails is final only if none is left.
            let ran = run(self);
            let next: Vec<bool> = results.iter().zip(&same).map(|(&result, &same)| same && self.has(result)).collect();
            if next == same {
                ran?;
                break;
            }
            same = next;
        }
        self.uniform.extend(stmt.binds.iter().zip(same).filter(|(_, same)| *same).map(|(bind, _)| bind.id));
        Ok(())
    }

    /// Does the whole statement give every thread the same, without doing anything?
    fn is_uniform(&self, stmt: &Stmt) -> bool {
        let mut same = true;
        stmt.op.each_operand(&mut |id| same &= self.has(id));
        for body in stmt.op.bodies() {
            body.each_free(&mut |id| same &= self.has(id));
        }
        same && !stmt.binds.is_empty() && self.is_plain(stmt)
    }

    fn is_plain(&self, stmt: &Stmt) -> bool {
        match &stmt.op {
            Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Call(..) => true,
            Op::Place(place, _) => match place {
                Place::Block | Place::BlockDim | Place::GridDim | Place::SubgroupSize => true,
                Place::Global | Place::Local | Place::Lane => false,
            },
            Op::Load { memory, .. } => match self.kernel.memories[memory.0 as usize].space {
                Space::Global(Access::Read) | Space::Constant => true,
                Space::Local => false,
                Space::Global(_) | Space::Shared | Space::Scratch => {
                    self.reads.as_ref().is_none_or(|reads| stmt.binds.iter().all(|b| reads.contains(&b.id)))
                }
            },
            Op::If { .. } | Op::For { .. } | Op::While { .. } => {
                stmt.op.bodies().iter().all(|body| body.stmts.iter().all(|s| self.is_plain(s)))
            }
            _ => false,
        }
    }
}
