//! What a tabulate gives, written to memory: all of a row, or the part that an update changes.

use super::{Element, KernelWriter, Mode};
use crate::code::{Body, Id, MemId, Var};
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
        let row = |w: &mut Self| {
            w.lanes(range[0], range[1], |w, i| {
                w.write_elements(binds, body, &[at, &[i]].concat(), homes, whole);
            });
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

    fn write_elements(
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
