//! One size for each value that sizes have.

use super::Call;
use crate::code::Body;
use crate::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use std::collections::{HashMap, HashSet};

/// The sizes of a chain.
#[derive(Default)]
pub(super) struct Sizes {
    by_value: HashMap<u64, Size>,
    decls: Vec<SizeDecl>,
    values: Vec<u64>,
}

impl Sizes {
    /// Numbers that programs were written with stay numbers, whoever else has that value.
    pub(super) fn of(calls: &[Call<'_>], shapes: &[Option<Vec<u64>>]) -> Sizes {
        let mut written = HashSet::new();
        for (call, shape) in calls.iter().zip(shapes) {
            // The shape of a flat map is replaced.
            if shape.is_none() {
                let mut note = |size: &mut Size| written.extend(size.constant());
                call.body.clone().each_size_mut(&mut note);
            }
        }
        Sizes { by_value: written.into_iter().map(|value| (value, Size::Const(value))).collect(), ..Sizes::default() }
    }

    /// The body of a call with the sizes of the chain.
    pub(super) fn renamed(&mut self, mut body: Body, call: &Call<'_>) -> Option<Body> {
        let value = |SizeVar(var): SizeVar| call.values.get(var as usize).copied();
        let mut all_known = true;
        body.each_size_mut(&mut |size| {
            let name = match size {
                Size::Var(SizeVar(var)) => call.decls.get(*var as usize).map(|decl| &decl.name[..]),
                _ => None,
            };
            match size.eval(&value) {
                Ok(value) => *size = self.of_value(value, name),
                Err(_) => all_known = false,
            }
        });
        all_known.then_some(body)
    }

    fn of_value(&mut self, value: u64, name: Option<&str>) -> Size {
        if let Some(size) = self.by_value.get(&value) {
            return size.clone();
        }
        let free = |name: &str| self.decls.iter().all(|decl| decl.name != name);
        let name = match name {
            Some(name) if free(name) => name.to_string(),
            _ => (self.decls.len()..).map(|k| format!("n{k}")).find(|name| free(name)).unwrap_or_default(),
        };
        let size = Size::Var(SizeVar(self.decls.len() as u32));
        self.decls.push(SizeDecl { name, origin: SizeOrigin::Given });
        self.values.push(value);
        self.by_value.insert(value, size.clone());
        size
    }

    /// The size variables, and their values.
    pub(super) fn declared(self) -> (Vec<SizeDecl>, Vec<u64>) {
        (self.decls, self.values)
    }
}
