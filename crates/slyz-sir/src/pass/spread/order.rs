//! Who touched what since the last barrier: where threads have to wait for each other.

use crate::code::{Body, MemId, Monoid, Op};
use crate::kernel::{Access, Kernel, Space};
use std::collections::BTreeSet;

/// Memories that were read, and memories that were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    pub(super) reads: BTreeSet<MemId>,
    pub(super) writes: BTreeSet<MemId>,
}

impl Accesses {
    pub(super) fn read(memories: &[MemId]) -> Accesses {
        Accesses { reads: memories.iter().copied().collect(), ..Accesses::default() }
    }

    pub(super) fn write(memories: &[MemId]) -> Accesses {
        Accesses { writes: memories.iter().copied().collect(), ..Accesses::default() }
    }

    pub(super) fn extend(&mut self, other: Accesses) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
    }

    /// May the later accesses meet these at an element, one of the two writing?
    pub(super) fn conflicts(&self, later: &Accesses) -> bool {
        let meets = |a: &BTreeSet<MemId>, b: &BTreeSet<MemId>| a.intersection(b).next().is_some();
        meets(&self.writes, &later.reads) || meets(&self.writes, &later.writes) || meets(&self.reads, &later.writes)
    }
}

/// Which memories the fold of a monoid goes through.
pub(super) type FoldMemories<'a> = dyn Fn(&Monoid) -> Vec<MemId> + 'a;

/// The accesses of an operation, inner bodies included, to memories that matter.
pub(super) fn of_op(op: &Op, hot: &[bool], folds: &FoldMemories) -> Accesses {
    let mut found = Accesses::default();
    collect(op, hot, folds, &mut found);
    found
}

/// The same of a body.
pub(super) fn accesses(body: &Body, hot: &[bool], folds: &FoldMemories) -> Accesses {
    let mut found = Accesses::default();
    body.stmts.iter().for_each(|s| collect(&s.op, hot, folds, &mut found));
    found
}

fn collect(op: &Op, hot: &[bool], folds: &FoldMemories, found: &mut Accesses) {
    let matters = |memory: &MemId| hot.get(memory.0 as usize).copied().unwrap_or(true);
    match op {
        Op::Load { memory, .. } if matters(memory) => {
            found.reads.insert(*memory);
        }
        Op::Store { memory, .. } if matters(memory) => {
            found.writes.insert(*memory);
        }
        Op::Lanes { monoid: Some(monoid), .. } => {
            let memories = folds(monoid);
            found.reads.extend(&memories);
            found.writes.extend(&memories);
        }
        _ => {}
    }
    for body in op.bodies() {
        body.stmts.iter().for_each(|s| collect(&s.op, hot, folds, found));
    }
}

/// Which memories may two threads meet at? Not those that nobody writes, nor those that one statement writes and nobody
/// reads: it writes each element once.
pub(super) fn hot(kernel: &Kernel) -> Vec<bool> {
    let mut stores = vec![0; kernel.memories.len()];
    count_stores(&kernel.body, &mut stores);
    let meets = |(space, stores): (Space, usize)| match space {
        Space::Global(Access::Read) | Space::Constant | Space::Local => false,
        Space::Global(Access::Write) => stores > 1,
        Space::Global(Access::ReadWrite) | Space::Shared | Space::Scratch => true,
    };
    kernel.memories.iter().map(|m| m.space).zip(stores).map(meets).collect()
}

fn count_stores(body: &Body, stores: &mut [usize]) {
    for stmt in &body.stmts {
        if let Op::Store { memory, .. } = &stmt.op {
            stores[memory.0 as usize] += 1;
        }
        stmt.op.bodies().into_iter().for_each(|b| count_stores(b, stores));
    }
}
