//! Names of the host. A function sees its own and those at the top of the file.

use super::value::Value;
use crate::span::Span;

/// A name and what it stands for.
pub(super) struct Binding<T> {
    pub(super) name: String,
    pub(super) value: Value<T>,
    pub(super) mutable: bool,
    pub(super) param: bool,
    /// Where it was declared.
    pub(super) span: Span,
}

/// All names, the innermost last.
pub(super) struct Scopes<T> {
    bindings: Vec<Binding<T>>,
    /// Where the names of the innermost function begin.
    function: usize,
    /// How many names there are at the top of the file.
    top: usize,
}

impl<T> Default for Scopes<T> {
    fn default() -> Self {
        Scopes { bindings: vec![], function: 0, top: 0 }
    }
}

impl<T> Scopes<T> {
    pub(super) fn declare(&mut self, binding: Binding<T>) {
        self.bindings.push(binding);
    }

    fn place(&self, name: &str) -> Option<usize> {
        // Names of the function hide those of the file.
        let own = (self.function..self.bindings.len()).rev();
        own.chain((0..self.top).rev()).find(|&k| self.bindings[k].name == name)
    }

    pub(super) fn find(&self, name: &str) -> Option<&Binding<T>> {
        self.place(name).map(|k| &self.bindings[k])
    }

    pub(super) fn find_mut(&mut self, name: &str) -> Option<&mut Binding<T>> {
        self.place(name).map(|k| &mut self.bindings[k])
    }

    /// Every name that can be seen.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.bindings[self.function..].iter().chain(&self.bindings[..self.top]).map(|binding| &binding.name[..])
    }

    /// How many names there are, to come back to when a block ends.
    pub(super) fn mark(&self) -> usize {
        self.bindings.len()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        self.bindings.truncate(mark);
    }

    /// All names there are now are those at the top of the file.
    pub(super) fn at_top(&mut self) {
        self.top = self.bindings.len();
    }

    /// Names that were there are not seen any more, except those at the top. Gives what [`Scopes::leave_function`] wants.
    pub(super) fn enter_function(&mut self) -> usize {
        std::mem::replace(&mut self.function, self.bindings.len())
    }

    /// The names of the function that ends are given back, its parameters first.
    pub(super) fn leave_function(&mut self, before: usize) -> Vec<Binding<T>> {
        let own = self.bindings.split_off(self.function);
        self.function = before;
        own
    }
}
