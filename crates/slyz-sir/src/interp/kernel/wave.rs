//! A wave: agents that run the same statements in step, and the values of names in each of them.

use super::error::KernelError;
use crate::code::{Body, Id, Type, Var};
use crate::types::{Scalar, Ty};
use std::collections::HashMap;
use std::rc::Rc;

/// The value of a name in every agent of a wave; meaningless in agents that were not active when it was bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) ty: Ty,
    pub(super) bits: Vec<u64>,
}

impl Column {
    /// The same value everywhere.
    pub(super) fn uniform(value: Scalar, width: usize) -> Rc<Column> {
        Rc::new(Column { ty: value.ty, bits: vec![value.bits; width] })
    }

    /// A value per active agent.
    pub(super) fn per_agent<E>(
        ty: Ty,
        mask: &[bool],
        mut value: impl FnMut(usize) -> Result<u64, E>,
    ) -> Result<Rc<Column>, E> {
        let bits = mask.iter().enumerate().map(|(p, &on)| if on { value(p) } else { Ok(0) });
        Ok(Rc::new(Column { ty, bits: bits.collect::<Result<_, E>>()? }))
    }

    /// The value in one agent.
    pub(super) fn at(&self, agent: usize) -> Scalar {
        Scalar { ty: self.ty, bits: self.bits[agent] }
    }

    /// `new` where the mask holds, `old` elsewhere.
    pub(super) fn merged(mask: &[bool], new: &Column, old: &Column) -> Result<Rc<Column>, KernelError> {
        if new.ty != old.ty {
            return Err(malformed(format!("values of types {} and {} meet", old.ty, new.ty)));
        }
        let bits = mask.iter().zip(new.bits.iter().zip(&old.bits)).map(|(&on, (&n, &o))| if on { n } else { o });
        Ok(Rc::new(Column { ty: new.ty, bits: bits.collect() }))
    }
}

/// Values by name.
pub(super) type Names = HashMap<Id, Rc<Column>>;

/// What the agents of a wave are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All threads of the block.
    Threads,
    /// A batch of turns of `Lanes`, from that one on.
    Turns {
        /// The first turn of the batch, counted from the first of all.
        first: u32,
    },
    /// Code that only computes: a function, or the combination of a monoid.
    Pure,
}

/// The threads around a wave of turns.
pub(super) struct Outer<'o> {
    pub(super) names: &'o Names,
    /// For messages.
    pub(super) kernel: String,
    /// For messages.
    pub(super) block: [u64; 3],
}

impl Outer<'_> {
    /// The value of a name, the same in every thread.
    pub(super) fn get(&self, id: Id) -> Result<Option<Scalar>, KernelError> {
        let Some(column) = self.names.get(&id) else { return Ok(None) };
        let first = column.bits.first().copied().unwrap_or(0);
        if column.bits.iter().all(|&b| b == first) {
            return Ok(Some(Scalar { ty: column.ty, bits: first }));
        }
        Err(KernelError::DivergentLanes {
            kernel: self.kernel.clone(),
            block: self.block,
            what: format!("%{} differs between threads, but is used in lanes, whose turns belong to no thread", id.0),
        })
    }
}

/// Agents in step.
pub(super) struct Wave<'o> {
    pub(super) kind: Kind,
    pub(super) width: usize,
    pub(super) names: Names,
    /// Names of the code around, whose values must be the same in all its threads.
    pub(super) outer: Option<Outer<'o>>,
    /// Functions before this one may be called; a function must not call itself, however indirectly.
    pub(super) callable: usize,
}

impl Wave<'_> {
    /// The values of a name.
    pub(super) fn get(&mut self, id: Id) -> Result<Rc<Column>, KernelError> {
        if let Some(column) = self.names.get(&id) {
            return Ok(column.clone());
        }
        let value = self.outer.as_ref().map_or(Ok(None), |outer| outer.get(id))?;
        let value = value.ok_or_else(|| malformed(format!("the name %{} is not bound here", id.0)))?;
        let column = Column::uniform(value, self.width);
        self.names.insert(id, column.clone());
        Ok(column)
    }

    /// The values of many names.
    pub(super) fn get_all(&mut self, ids: &[Id]) -> Result<Vec<Rc<Column>>, KernelError> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    /// Binds names; their number and types must fit.
    pub(super) fn bind(&mut self, vars: &[Var], values: Vec<Rc<Column>>) -> Result<(), KernelError> {
        if vars.len() != values.len() {
            return Err(malformed(format!("{} names for {} values", vars.len(), values.len())));
        }
        for (var, value) in vars.iter().zip(values) {
            if var.ty != Type::Scalar(value.ty) {
                return Err(malformed(format!("%{} is declared {:?} but is {}", var.id.0, var.ty, value.ty)));
            }
            self.names.insert(var.id, value);
        }
        Ok(())
    }

    /// Forgets the names that a body binds.
    pub(super) fn unbind(&mut self, body: &Body) {
        for var in body.params.iter().chain(body.stmts.iter().flat_map(|s| &s.binds)) {
            self.names.remove(&var.id);
        }
    }
}

/// Code that the verifier would have refused.
pub(super) fn malformed(what: impl Into<String>) -> KernelError {
    KernelError::Malformed(what.into())
}
