//! Large products apart from what is done with them, where a library of the machine makes the products alone.
//!
//! A library takes whole matrices from memory and leaves sums there. One kernel that also computes factors or goes on with sums moves
//! less, but ours has no tensor cores: on an H200 a product of 4096 × 4096 halves takes 0.19 ms by the library, and a pass over its sums 0.06 ms.
//!
//! It does nothing where products are so small that writing and reading the sums counts, or where nothing is known of how large they are.

mod bytes;
mod floats;

use super::expected::Expected;
use super::machine::Machine;
use crate::code::{Id, Op, Stmt, Type, Var};
use crate::lower::Product;
use crate::lower::matrices::Around;
use crate::program::Program;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Lines, Write};
use std::borrow::Cow;
use std::collections::HashMap;

/// Rows and columns of a result, and terms, from about which on a library pays.
const LEAST: [u64; 3] = [512, 512, 256];

/// The program with large products apart.
pub(super) fn apart<'p>(program: Cow<'p, Program>, machine: &Machine, expected: &Expected) -> Cow<'p, Program> {
    let written = if machine.has_products { rewritten(&program, expected) } else { None };
    let Some(stmts) = written else { return program };
    let mut program = program.into_owned();
    program.body.stmts = stmts;
    Cow::Owned(program)
}

/// The statements, where there are such products.
fn rewritten(program: &Program, expected: &Expected) -> Option<Vec<Stmt>> {
    let names = Names::of(program);
    let found: Vec<Option<Found>> = program.body.stmts.iter().map(|stmt| Found::of(stmt, &names, expected)).collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    let mut lines = Lines::new(program.fresh_ids());
    for (stmt, found) in program.body.stmts.iter().zip(found) {
        match found {
            Some(Found::Bytes(found)) => found.write(&mut lines),
            Some(Found::Floats(found)) => found.write(&mut lines),
            None => lines.out().push(stmt.clone()),
        }
    }
    Some(lines.take())
}

/// A product that is to stand apart.
enum Found<'g> {
    Bytes(bytes::Found<'g>),
    Floats(Box<floats::Found<'g>>),
}

impl<'g> Found<'g> {
    fn of(stmt: &'g Stmt, names: &Names<'g>, expected: &Expected) -> Option<Found<'g>> {
        let Op::Tabulate { shape, body } = &stmt.op else { return None };
        let product = Product::of(body)?;
        let [.., rows, columns] = &shape[..] else { return None };
        let mut extents = [rows, columns, product.extent].into_iter().zip(LEAST);
        if !extents.all(|(size, least)| expected.about(size).is_some_and(|n| n >= least)) {
            return None;
        }
        let bytes = bytes::Found::of(stmt, (shape, body), &product, names).map(Found::Bytes);
        bytes.or_else(|| floats::Found::of(stmt, (shape, body), product, names).map(Box::new).map(Found::Floats))
    }
}

/// What the names of the top level are.
struct Names<'g> {
    program: &'g Program,
    shapes: HashMap<Id, &'g [Size]>,
    made: HashMap<Id, &'g Op>,
}

impl<'g> Names<'g> {
    fn of(program: &'g Program) -> Names<'g> {
        let stmts = &program.body.stmts;
        let binds = stmts.iter().flat_map(|stmt| &stmt.binds);
        let shapes = program.body.params.iter().chain(binds).map(|var| (var.id, var.ty.shape())).collect();
        let made = stmts.iter().flat_map(|stmt| stmt.binds.iter().map(|bind| (bind.id, &stmt.op))).collect();
        Names { program, shapes, made }
    }

    fn shape(&self, array: Id) -> Option<&'g [Size]> {
        self.shapes.get(&array).copied()
    }
}

impl<'g> Around<'g> for Names<'g> {
    fn program(&self) -> &'g Program {
        self.program
    }

    fn again(&self, id: Id) -> Option<&'g Op> {
        self.made.get(&id).copied().filter(|op| matches!(op, Op::Const(_)))
    }

    fn is_in_memory(&self, array: Id) -> bool {
        self.shape(array).is_some_and(|shape| !shape.is_empty())
    }
}

/// An array whose elements are computed.
fn array(lines: &mut Lines, (ty, shape): (Ty, &[Size]), write: impl FnOnce(&mut Lines, &[Id]) -> Id) -> Id {
    let body = lines.nested(&vec![Ty::I64; shape.len()], |w, at| vec![write(w, at)]);
    let id = lines.fresh();
    let binds = vec![Var { id, ty: Type::Array(ty, shape.to_vec()) }];
    lines.out().push(Stmt { binds, op: Op::Tabulate { shape: shape.to_vec(), body } });
    id
}
