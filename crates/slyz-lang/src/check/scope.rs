//! What names mean inside a function.

use super::draft::Class;
use crate::span::Span;
use crate::typed::{LocalId, MemoryRef};
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashMap;

/// What a scalar with a name is, which decides how it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Param,
    Let { mutable: bool },
    Counter,
}

/// A scalar with a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub local: LocalId,
    pub ty: Ty,
    pub kind: Kind,
    /// Where it is declared.
    pub span: Span,
    /// What its value could have been, where the declaration says no type.
    pub found: Option<Class>,
}

/// Where memory with a name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Tensor { flat: bool },
    Thread,
    Threadgroup,
    Constant,
}

/// Memory with a name.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub name: String,
    pub memory: MemoryRef,
    pub elem: Ty,
    pub rank: usize,
    /// Extents, where they are known.
    pub shape: Option<Vec<u64>>,
    pub mutable: bool,
    pub origin: Origin,
    /// Where it is declared.
    pub span: Span,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Entity {
    Variable(Variable),
    /// `constant let` of one value.
    Constant(Scalar, Span),
    Memory(Memory),
    /// Declared with an error that was told.
    Wrong,
}

/// The names that can be seen, innermost last.
#[derive(Default)]
pub(super) struct Scopes {
    levels: Vec<HashMap<String, Entity>>,
}

impl Scopes {
    pub(super) fn open(&mut self) {
        self.levels.push(HashMap::new());
    }

    pub(super) fn close(&mut self) {
        self.levels.pop();
    }

    /// A name from here on; one that was there is not seen any more.
    pub(super) fn declare(&mut self, name: &str, entity: Entity) {
        if self.levels.is_empty() {
            self.open();
        }
        if let Some(level) = self.levels.last_mut() {
            level.insert(name.to_string(), entity);
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Entity> {
        self.levels.iter().rev().find_map(|level| level.get(name))
    }

    /// Every name that can be seen, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.levels.iter().flat_map(|level| level.keys()).map(|k| &k[..]).collect();
        names.sort_unstable();
        names
    }
}
