//! Where a variable lives on: a loop or branch that is the last to ask for one goes on in the same, as a person writes it.
//!
//! ```text
//! float acc2 = acc;                            for (…) acc += x[i];
//! for (…) acc2 += x[i];               →
//! acc = acc2;
//! ```
//!
//! Code has a name for each value, and a value is read from its variable where it is used. So a variable may change under a name only where
//! nobody asks for that any more.

use super::writer::ClikeWriter;
use crate::code::{Body, Id, Op};
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// Which names are variables that change.
#[derive(Default)]
pub(super) struct Variables {
    /// They have a variable of their own: states of loops, results of loops and branches.
    owners: HashSet<Id>,
    /// Their last use is in the side of a branch that is being written, and the only one there.
    alone: HashSet<Id>,
}

impl Variables {
    pub(super) fn own(&mut self, id: Id) {
        self.owners.insert(id);
    }
}

impl ClikeWriter<'_> {
    /// The variable of a name, for a loop that begins with its value.
    pub(super) fn taken_over(&self, from: Id, rep: Ty) -> Option<String> {
        let usage = self.usage_now(from);
        let last = usage.count == 1 || self.variables.alone.contains(&from);
        if last && !usage.in_loop { self.variable_of(from, rep) } else { None }
    }

    fn variable_of(&self, id: Id, rep: Ty) -> Option<String> {
        let value = self.value_now(id).filter(|value| value.rep == rep && self.variables.owners.contains(&id))?;
        value.tree.as_name().map(String::from)
    }

    /// For each result of a branch the variable that it may go on in, and its name.
    pub(super) fn heirs(&self, sides: [&Body; 2], reps: &[Ty]) -> Vec<Option<(Id, String)>> {
        let starts: Vec<Option<Id>> =
            (0..reps.len()).map(|k| sides.iter().find_map(|side| self.start(side, k))).collect();
        let mut uses: HashMap<Id, usize> = starts.iter().flatten().map(|&id| (id, 0)).collect();
        sides.iter().for_each(|side| count_uses(side, &mut uses));
        let mut taken = HashSet::new();
        let heir = |(start, &rep): (Option<Id>, &Ty)| {
            let id = start?;
            let usage = self.usage_now(id);
            let only_here = usage.count == uses[&id] && !usage.in_loop;
            let name = self.variable_of(id, rep).filter(|_| only_here)?;
            taken.insert(id).then_some((id, name))
        };
        starts.into_iter().zip(reps).map(heir).collect()
    }

    /// What a side of a branch makes a result of: it gives the variable itself, or runs a loop that begins with it.
    fn start(&self, side: &Body, k: usize) -> Option<Id> {
        let result = *side.results.get(k)?;
        let begins = || {
            side.stmts.iter().find_map(|stmt| {
                let place = stmt.binds.iter().position(|bind| bind.id == result)?;
                match &stmt.op {
                    Op::For { init, .. } | Op::While { init, .. } => init.get(place).copied(),
                    _ => None,
                }
            })
        };
        let owner = |id: &Id| self.variables.owners.contains(id);
        Some(result).filter(owner).or_else(|| begins().filter(owner))
    }

    /// Before a side is written: which of these are used once in it.
    pub(super) fn enter_side(&mut self, side: &Body, heirs: &[Option<(Id, String)>]) {
        let mut uses: HashMap<Id, usize> = heirs.iter().flatten().map(|(id, _)| (*id, 0)).collect();
        count_uses(side, &mut uses);
        self.variables.alone.extend(uses.into_iter().filter(|(_, count)| *count == 1).map(|(id, _)| id));
    }

    /// Behind the side.
    pub(super) fn leave_side(&mut self, heirs: &[Option<(Id, String)>]) {
        for (id, _) in heirs.iter().flatten() {
            self.variables.alone.remove(id);
        }
    }
}

/// Counts how often some names are used in a body.
fn count_uses(body: &Body, uses: &mut HashMap<Id, usize>) {
    let count = |id: Id, uses: &mut HashMap<Id, usize>| {
        if let Some(count) = uses.get_mut(&id) {
            *count += 1;
        }
    };
    for stmt in &body.stmts {
        stmt.op.each_operand(&mut |id| count(id, uses));
        stmt.op.bodies().into_iter().for_each(|inner| count_uses(inner, uses));
    }
    body.results.iter().for_each(|&id| count(id, uses));
}
