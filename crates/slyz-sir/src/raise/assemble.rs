//! The program: what each thread leaves in its elements, as arrays.

use super::layout::{Along, Written};
use super::lift::{Atom, Lift, SizeOf};
use super::tiles::Tiles;
use super::{Passed, Raised, Unraised};
use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::ops::Operator;
use crate::program::Program;
use crate::size::{SizeDecl, SizeOrigin};
use crate::types::{Scalar, Ty};
use crate::write::Write;

impl<'k> Lift<'k> {
    pub(super) fn program(mut self) -> Result<Raised, Unraised> {
        self.begin()?;
        self.settle_written()?;
        let layouts = self.layouts.clone();
        let mut results = vec![];
        for group in layouts.groups() {
            let binds = self.group(&group)?;
            results.extend(group.iter().map(|written| written.memory.0 as usize).zip(binds));
        }
        results.sort_by_key(|(memory, _)| *memory);
        let stmts = self.lines.take();
        let (params, vars): (Vec<Passed>, Vec<Var>) = std::mem::take(&mut self.params).into_values().unzip();
        let body = Body { params: vars, stmts, results: results.iter().map(|(_, id)| *id).collect() };
        let size = |size: &SizeOf| SizeDecl { name: size.name.clone(), origin: SizeOrigin::Given };
        let program = Program {
            name: self.kernel.name.clone(),
            sizes: self.sizes.iter().map(size).collect(),
            functions: self.kernel.functions.clone(),
            requires: vec![],
            precision: self.kernel.precision,
            names: self.names,
            body,
        };
        let sizes = self.sizes.iter().map(|size| size.value.and_then(|value| u64::try_from(value).ok())).collect();
        let results = results.into_iter().map(|(memory, _)| memory).collect();
        let whole = self.layouts.groups().iter().flatten().all(|written| written.covers);
        let pays = whole && !self.ever_risky || has_collectives(&program.body);
        let counted = self.counted.into_iter().collect();
        super::tidy(Raised { program, sizes, params, results, counted, pays })
    }

    /// The new contents of tensors that are written in the same way.
    pub(super) fn group(&mut self, group: &[Written]) -> Result<Vec<Id>, Unraised> {
        let [first, ..] = group else { return Err(Unraised::Nothing) };
        let tys: Vec<Ty> = group.iter().map(|written| self.kernel.memories[written.memory.0 as usize].ty).collect();
        let places = vec![Ty::I64; first.along.len()];
        let params: Vec<Var> = places.iter().map(|&ty| self.lines.var(ty)).collect();
        let position: Vec<Id> = params.iter().map(|param| param.id).collect();
        // One thread's work is no element's: what it does, many can do together.
        let alone = first.along.iter().all(|along| matches!(along, Along::Fixed(_))) && !first.has_rows();
        let alone = if alone {
            self.place_threads();
            Some(self.thread(group)?)
        } else {
            None
        };
        let around = self.lines.begin();
        let made = self.element(group, &position, &tys, alone);
        let stmts = self.lines.end(around);
        let body = Body { params, stmts, results: made? };
        let binds: Vec<Var> =
            tys.iter().map(|&ty| Var { id: self.lines.fresh(), ty: Type::Array(ty, first.shape.clone()) }).collect();
        let ids = binds.iter().map(|bind| bind.id).collect();
        let shape = first.shape.iter().take(first.along.len()).cloned().collect();
        self.lines.out().push(Stmt { binds, op: Op::Tabulate { shape, body } });
        Ok(ids)
    }

    /// Threads stand at 0 along axes that have one.
    pub(super) fn place_threads(&mut self) {
        for axis in 0..3 {
            self.atoms[axis].id = Some(self.lines.number(0));
        }
    }

    /// The elements at a position; what the only thread has left is there already.
    pub(super) fn element(
        &mut self,
        group: &[Written],
        position: &[Id],
        tys: &[Ty],
        alone: Option<Vec<Id>>,
    ) -> Result<Vec<Id>, Unraised> {
        let first = &group[0];
        self.place_threads();
        for (&at, &along) in position.iter().zip(&first.along) {
            let Along::Threads { axis, shift } = along else { continue };
            let thread = if shift == 0 {
                at
            } else {
                let by = self.lines.number(i64::try_from(shift).map_err(|_| Unraised::Large)?);
                self.lines.apply(Operator::Sub, &[at, by], Ty::I64)
            };
            self.atoms[axis].id = Some(thread);
        }
        let mut thread = |lift: &mut Self| match &alone {
            Some(alone) => Ok(alone.clone()),
            None => lift.thread(group),
        };
        if first.covers {
            return thread(self);
        }
        // Elsewhere there is what was there.
        let mut inside = self.lines.constant(Scalar::bool(true));
        let zero = self.lines.number(0);
        for (&at, &along) in position.iter().zip(&first.along) {
            let axis = match along {
                Along::Threads { axis, .. } => axis,
                Along::Fixed(place) => {
                    let place = self.lines.number(i64::try_from(place).map_err(|_| Unraised::Large)?);
                    let holds = self.lines.apply(Operator::Eq, &[at, place], Ty::Bool);
                    inside = self.lines.apply(Operator::And, &[inside, holds], Ty::Bool);
                    continue;
                }
            };
            let Atom { id: Some(thread), extent: Some(extent), .. } = self.atoms[axis].clone() else {
                return Err(Unraised::Large);
            };
            let extent = self.lines.extent(&extent);
            for (operator, bound) in [(Operator::Ge, zero), (Operator::Lt, extent)] {
                let holds = self.lines.apply(operator, &[thread, bound], Ty::Bool);
                inside = self.lines.apply(Operator::And, &[inside, holds], Ty::Bool);
            }
        }
        let mut old = vec![];
        for written in group {
            let array = self.array(written.memory)?;
            old.push((array, self.kernel.memories[written.memory.0 as usize].ty));
        }
        let position = position.to_vec();
        self.branches(inside, tys, &[], &mut thread, &mut |lift| {
            let at = |&(array, ty): &(Id, Ty)| lift.lines.push(Op::At { array, index: position.clone() }, ty);
            Ok(old.iter().map(at).collect())
        })
    }

    /// What the thread of a position leaves in its elements.
    pub(super) fn thread(&mut self, group: &[Written]) -> Result<Vec<Id>, Unraised> {
        self.stored.clear();
        self.rows.clear();
        self.tiles = Tiles::default();
        let kernel = self.kernel;
        self.stmts(&kernel.body.stmts)?;
        let mut left = vec![];
        for written in group {
            left.push(match (written.has_rows(), self.rows.get(&written.memory)) {
                (false, _) => self.current(written.memory)?,
                (true, Some(&row)) => row,
                (true, None) => return Err(Unraised::Position(self.memory_name(written.memory))),
            });
        }
        self.stored.clear();
        Ok(left)
    }
}

/// Are there folds, scans or rows inside of arrays, or beside them?
fn has_collectives(body: &Body) -> bool {
    let inside =
        |inner: &Body| inner.stmts.iter().any(|stmt| matches!(stmt.op, Op::Tabulate { .. })) || has_collectives(inner);
    body.stmts
        .iter()
        .any(|stmt| matches!(stmt.op, Op::Fold { .. } | Op::Scan { .. }) || stmt.op.bodies().into_iter().any(inside))
}
