//! States of loops in code of lanes that need no vectors: those that stay the same in all lanes, and positions that stay next
//! to each other.
//!
//! ```text
//! for … (%at) |%k, %at| { %v: f32 = load x[%at + lane]  …  %next: i64 = add %at, %stride  yield %next }
//! ```
//!
//! As a scalar, `%at` keeps the read contiguous. It does not look into branches and loops: what they give is a vector.

use super::value::{LaneForm, Value};
use super::writer::CWriter;
use crate::code::{Body, Id, Op, Var};
use crate::kernel::Space;
use crate::ops::Operator;
use crate::types::Ty;
use std::collections::HashMap;

/// What a value is in the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The same in all.
    Uniform,
    /// A position, and that of the next lane behind it.
    Affine,
    /// Anything.
    Vector,
    /// Never asked for.
    Nobodys,
}

/// What the states of a loop stay that start as these; its bodies call them by these names, and the last gives the next
/// ones. The counter, if it is given, is the same in all lanes.
pub(super) fn kinds(w: &CWriter, start: Vec<Kind>, bodies: &[(&[Var], &Body)], counter: Option<Id>) -> Vec<Kind> {
    let mut kinds = start;
    let Some((_, last)) = bodies.last() else { return kinds };
    loop {
        let mut look = Look { w, body: last, known: HashMap::new() };
        for (params, _) in bodies {
            look.known.extend(params.iter().map(|p| p.id).zip(kinds.iter().copied()));
        }
        look.known.extend(counter.map(|id| (id, Kind::Uniform)));
        let next: Vec<Kind> = last.results.iter().map(|&id| look.kind(id, 24)).collect();
        let next: Vec<Kind> =
            next.into_iter().zip(&kinds).map(|(a, b)| if a == *b { a } else { Kind::Vector }).collect();
        if next == kinds {
            return kinds;
        }
        kinds = next;
    }
}

/// What a value is at first.
pub(super) fn kind_of(value: &Value) -> Kind {
    match value.form {
        LaneForm::Uniform(_) => Kind::Uniform,
        LaneForm::Affine(_) => Kind::Affine,
        LaneForm::Clamped(..) | LaneForm::Vector(..) => Kind::Vector,
    }
}

struct Look<'l, 'a> {
    w: &'l CWriter<'a>,
    body: &'l Body,
    known: HashMap<Id, Kind>,
}

impl Look<'_, '_> {
    fn kind(&mut self, id: Id, depth: usize) -> Kind {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let defined = self.body.stmts.iter().find(|s| s.binds.iter().any(|b| b.id == id));
        let kind = match (defined, depth.checked_sub(1)) {
            (None, _) => self.w.values.get(&id).map_or(Kind::Vector, kind_of),
            (Some(_), None) => Kind::Vector,
            (Some(stmt), Some(depth)) => {
                let wide = stmt.binds.len() == 1 && stmt.binds[0].ty.elem() == Ty::I64;
                let mut kinds = vec![];
                stmt.op.each_operand(&mut |operand| kinds.push(operand));
                let kinds: Vec<Kind> = kinds.into_iter().map(|operand| self.kind(operand, depth)).collect();
                let same = kinds.iter().all(|&kind| kind == Kind::Uniform);
                match (&stmt.op, &kinds[..]) {
                    (Op::Const(_) | Op::Extent(_), _) => Kind::Uniform,
                    (Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..), _) if same => Kind::Uniform,
                    (Op::Apply(Operator::Add, _), [Kind::Affine, Kind::Uniform] | [Kind::Uniform, Kind::Affine])
                        if wide =>
                    {
                        Kind::Affine
                    }
                    (Op::Apply(Operator::Sub, _), [Kind::Affine, Kind::Uniform]) if wide => Kind::Affine,
                    (Op::Load { memory, .. }, _) if same => {
                        let local = self.w.kernel.memories[memory.0 as usize].space == Space::Local;
                        if local { Kind::Vector } else { Kind::Uniform }
                    }
                    _ => Kind::Vector,
                }
            }
        };
        self.known.insert(id, kind);
        kind
    }
}
