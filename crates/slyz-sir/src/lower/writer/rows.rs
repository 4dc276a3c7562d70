//! What a tabulate gives, written to memory: all of a row, or the part that an update changes.

use super::{Element, KernelWriter, Mode};
use crate::code::{Body, Id, MemId, Op, Stmt, Var};
use crate::lower::reuse::{self, Region, Test};
use crate::ops::Operator;
use crate::types::Ty;
use crate::write::{Arithmetic, Write};

impl<'g> KernelWriter<'_, 'g> {
    /// The lanes of a row of a tabulate, at these positions of its outer axes: what it gives is written to the homes. Lanes
    /// that write nothing, as can be told beforehand, are left out.
    pub(in crate::lower) fn write_row(
        &mut self,
        binds: &[Var],
        body: &'g Body,
        at: &[Id],
        [lo, hi]: [Id; 2],
        homes: &[(MemId, Vec<Id>)],
    ) {
        let region = self.region(binds, body);
        let Some(region) = region.filter(|region| !region.tests.is_empty()) else {
            return self.lanes(lo, hi, |w, i| w.write_elements(binds, body, &[at, &[i]].concat(), homes, false));
        };
        let first_only = first_only(body, &region);
        let mut range = [lo, hi];
        let mut here = None;
        for Test { axis, operator, bound } in region.tests {
            let own = body.params.iter().position(|p| p.id == bound);
            let bound = own.map_or_else(|| self.scalar(bound), |axis| at[axis]);
            if axis < at.len() {
                let holds = self.apply(operator, &[at[axis], bound], Ty::Bool);
                here = Some(match here {
                    Some(all) => self.apply(Operator::And, &[all, holds], Ty::Bool),
                    None => holds,
                });
                continue;
            }
            let past = matches!(operator, Operator::Gt | Operator::Le);
            // No position is past the last number, and no number is.
            let end = if past { self.value(bound.least(i64::MAX - 1) + 1) } else { bound };
            range = match operator {
                // Not past the end of the row: lanes count on from here.
                Operator::Gt | Operator::Ge => [self.value(range[0].most(end).least(hi)), range[1]],
                _ => [range[0], self.value(range[1].least(end))],
            };
        }
        let whole = region.is_whole;
        let part = |w: &mut Self, [lo, hi]: [Id; 2]| {
            w.lanes(lo, hi, |w, i| w.write_elements(binds, body, &[at, &[i]].concat(), homes, whole));
        };
        let row = |w: &mut Self| {
            if first_only.is_empty() {
                return part(w, range);
            }
            let second = w.value((range[0] + 1).least(range[1]));
            part(w, [range[0], second]);
            w.decided.extend(first_only.iter().copied());
            part(w, [second, range[1]]);
            first_only.iter().for_each(|(test, _)| _ = w.decided.remove(test));
        };
        match here {
            Some(cond) => self.when(cond, row),
            None => row(self),
        }
    }

    /// Where a tabulate writes, if all of its results are written where one condition holds.
    fn region(&self, binds: &[Var], body: &Body) -> Option<Region> {
        let mut conds = binds.iter().map(|bind| self.takeover(bind.id)?.only.map(|(cond, _)| cond));
        let first = conds.next()??;
        conds.all(|cond| cond == Some(first)).then(|| reuse::region(body, first))
    }

    /// What a tabulate gives at one position, written to the homes.
    pub(in crate::lower) fn write_elements(
        &mut self,
        binds: &[Var],
        body: &'g Body,
        at: &[Id],
        homes: &[(MemId, Vec<Id>)],
        everywhere: bool,
    ) {
        let elements = self.elements(binds, body, at);
        for ((memory, prefix), element) in homes.iter().zip(elements) {
            let only = element.only.filter(|_| !everywhere);
            self.put(*memory, [&prefix[..], at].concat(), Element { only, ..element });
        }
    }

    /// What a tabulate gives at a position, computed in a lane.
    pub(in crate::lower) fn elements(&mut self, binds: &[Var], body: &'g Body, at: &[Id]) -> Vec<Element> {
        let values = self.run(body, at, Mode::Lane);
        let element = |(bind, value): (&Var, Id)| match self.takeover(bind.id).and_then(|over| over.only) {
            Some((cond, new)) => {
                let only = Some(self.scalar(cond));
                Element { value: self.scalar(new), only }
            }
            None => Element { value, only: None },
        };
        binds.iter().zip(values).map(element).collect()
    }

    pub(in crate::lower) fn put(&mut self, memory: MemId, index: Vec<Id>, element: Element) {
        match element.only {
            Some(cond) => self.when(cond, |w| w.store(memory, index, element.value)),
            None => self.store(memory, index, element.value),
        }
    }
}

/// Tests of the lane that can hold only where the row begins that an update writes, as `j == k` does for `j >= k`, or can fail
/// only there; with what they are behind it.
fn first_only(body: &Body, region: &Region) -> Vec<(Id, bool)> {
    let Some(lane) = body.params.last().map(|p| p.id) else { return vec![] };
    let begins = |test: &&Test| test.axis + 1 == body.params.len() && test.operator == Operator::Ge;
    let begins: Vec<Id> = region.tests.iter().filter(begins).map(|test| test.bound).collect();
    let decided = |stmt: &Stmt| {
        let Op::Apply(operator @ (Operator::Eq | Operator::Ne), args) = &stmt.op else { return None };
        let &[a, b] = &args[..] else { return None };
        let meets = |at: Id, bound: Id| at == lane && begins.contains(&bound);
        let bind = stmt.binds.first().filter(|_| meets(a, b) || meets(b, a))?;
        Some((bind.id, *operator == Operator::Ne))
    };
    body.stmts.iter().filter_map(decided).collect()
}
