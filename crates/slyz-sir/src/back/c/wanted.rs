//! Reads that are looked at only where a condition holds.
//!
//! `select(c, x[p], y)` reads `x` in all lanes, which is as good as free where they lie side by side. Lanes that gather from far
//! apart pay for each element: those whose element nobody looks at need not be asked.

use crate::code::{Body, Id, Op};
use crate::kernel::Kernel;
use crate::ops::Operator;
use std::collections::{HashMap, HashSet};

/// Where a value is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Everywhere,
    /// Where the condition is this.
    Where(Id, bool),
}

/// By the read: the condition, and what it is where the read is looked at. The condition is known before the read.
pub(super) fn wanted(kernel: &Kernel) -> HashMap<Id, (Id, bool)> {
    let mut found = HashMap::new();
    look(&kernel.body, &HashSet::new(), &mut found);
    found
}

fn look(body: &Body, outside: &HashSet<Id>, found: &mut HashMap<Id, (Id, bool)>) {
    let mut demands: HashMap<Id, Demand> = HashMap::new();
    let mut known = outside.clone();
    known.extend(body.names());
    body.results.iter().for_each(|id| _ = demands.insert(*id, Demand::Everywhere));
    for stmt in body.stmts.iter().rev() {
        stmt.binds.iter().for_each(|bind| _ = known.remove(&bind.id));
        let of_binds = stmt.binds.iter().filter_map(|bind| demands.get(&bind.id).copied()).reduce(both);
        // What nobody looks at is not written.
        let here = of_binds.unwrap_or(Demand::Everywhere);
        let mut demand = |id: Id, wanted: Demand| {
            let all = demands.get(&id).map_or(wanted, |before| both(*before, wanted));
            demands.insert(id, all);
        };
        match (&stmt.op, here) {
            (Op::Apply(Operator::Select, args), Demand::Everywhere) => {
                demand(args[0], here);
                demand(args[1], Demand::Where(args[0], true));
                demand(args[2], Demand::Where(args[0], false));
            }
            (Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Load { .. }, _) => {
                stmt.op.each_operand(&mut |id| demand(id, here));
            }
            (op, _) => op.each_operand(&mut |id| demand(id, Demand::Everywhere)),
        }
        if let (Op::Load { .. }, Demand::Where(cond, holds)) = (&stmt.op, here)
            && known.contains(&cond)
        {
            found.extend(stmt.binds.iter().map(|bind| (bind.id, (cond, holds))));
        }
        for inner in stmt.op.bodies() {
            inner.each_free(&mut |id| demand(id, Demand::Everywhere));
            look(inner, &known, found);
        }
    }
}

fn both(a: Demand, b: Demand) -> Demand {
    if a == b { a } else { Demand::Everywhere }
}
