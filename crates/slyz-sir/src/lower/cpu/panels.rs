//! Right factors of products that stay the same from call to call lie as products read them: in panels of columns.
//!
//! ```text
//! w: T[K, N]                      p: T[⌈N / 64⌉, K, 64] = tabulate |g, k, c| { w[k, 64 g + c] }      once
//! fold k { … w[k, j] … }     →    fold k { … p[j / 64, k, j % 64] … }                                 at every call
//! ```
//!
//! That is the order into which a product packs its right factor anyway (`product.rs`), a piece at a time, for every tile of rows and at every
//! call; of an argument that stays, it is made once. Such programs mean the same on every device, but only this lowering knows what to
//! make of the positions.

use super::product::{COLUMNS, of};
use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::lower::product::Product;
use crate::ops::Operator;
use crate::program::Program;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic as _, Lines, Write as _};
use std::collections::{HashMap, HashSet};

/// An argument that lies in panels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panels {
    /// The argument.
    pub array: Id,
    /// The axis that is cut into panels.
    pub columns: usize,
    /// The axis along which products add.
    pub inner: usize,
}

/// Columns of a panel.
pub const PANEL: u64 = COLUMNS;

/// A program whose arguments of these numbers stay the same from call to call: those that are right factors of products, and nothing else, get a
/// copy in panels in front of all else, for [`prepare`](mod@crate::prepare) to make once.
pub fn in_panels(mut program: Program, arguments: &[usize]) -> (Program, Vec<Panels>) {
    let mut readers = Readers::default();
    readers.of_body(&program.body);
    let mut lines = Lines::new(program.fresh_ids());
    let mut found = HashMap::new();
    let mut told = vec![];
    for param in arguments.iter().filter_map(|&argument| program.body.params.get(argument)) {
        let Some(panels) = readers.panels(param.id) else { continue };
        found.insert(param.id, (panels.clone(), copied(&mut lines, &panels, &param.ty)));
        told.push(panels);
    }
    if !told.is_empty() {
        let copies = lines.take();
        read_in_panels(&mut lines, &mut program.body, &found);
        program.body.stmts.splice(0..0, copies);
    }
    (program, told)
}

/// Who reads arrays how.
#[derive(Default)]
struct Readers {
    /// The axes of arrays along which products have their columns and add, for each read.
    products: HashMap<Id, Vec<[usize; 2]>>,
    /// Arrays that somebody else reads.
    others: HashSet<Id>,
}

impl Readers {
    fn of_body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::Tabulate { shape, body } if let Some(product) = of(shape, body) => {
                    let reads = factors(&product);
                    self.all_but(&stmt.op, &reads.iter().map(|read| read.value).collect());
                    for Factor { array, axes, .. } in reads {
                        self.products.entry(array).or_default().push(axes);
                    }
                }
                // What the turns of a loop launch is looked at launch by launch.
                Op::For { .. } | Op::While { .. } | Op::If { .. } => {
                    stmt.op.each_operand(&mut |id| self.others.extend([id]));
                    stmt.op.bodies().iter().for_each(|body| self.of_body(body));
                }
                op => self.all_but(op, &HashSet::new()),
            }
        }
        self.others.extend(&body.results);
    }

    /// Everything that an operation reads, but for what gives these values.
    fn all_but(&mut self, op: &Op, values: &HashSet<Id>) {
        op.each_operand(&mut |id| self.others.extend([id]));
        for body in op.bodies() {
            let is_other = |stmt: &&Stmt| !stmt.binds.iter().any(|bind| values.contains(&bind.id));
            body.stmts.iter().filter(is_other).for_each(|stmt| self.all_but(&stmt.op, values));
            self.others.extend(&body.results);
        }
    }

    /// How an array lies best, if all who read it agree.
    fn panels(&self, array: Id) -> Option<Panels> {
        let reads = self.products.get(&array).filter(|_| !self.others.contains(&array))?;
        let &[columns, inner] = reads.first()?;
        reads.iter().all(|axes| *axes == [columns, inner]).then_some(Panels { array, columns, inner })
    }
}

/// An array that gives a product the values of its columns, as they are.
struct Factor {
    value: Id,
    array: Id,
    /// Its axes for the columns and for the terms of a sum.
    axes: [usize; 2],
}

fn factors(product: &Product) -> Vec<Factor> {
    let [outer @ .., row, column] = &product.body.params[..] else { return vec![] };
    let outer: HashSet<Id> = outer.iter().map(|param| param.id).collect();
    let factor = |&(value, _): &(Id, Ty)| {
        let Op::At { array, index } = &product.made(value)?.op else { return None };
        let axis = |position: Id| index.iter().position(|id| *id == position);
        let axes = [axis(column.id)?, axis(product.inner)?];
        let is_uniform = |id: &Id| outer.contains(id) || *id != row.id && product.made(*id).is_none();
        let others = index.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        others.into_iter().all(|(_, id)| is_uniform(id) && *id != column.id && *id != product.inner).then_some(Factor {
            value,
            array: *array,
            axes,
        })
    };
    product.right.iter().filter_map(factor).collect()
}

/// The copy of an argument. Past its last column stands that column once more.
fn copied(lines: &mut Lines, panels: &Panels, ty: &Type) -> Id {
    let rank = ty.shape().len();
    let extent = |axis: usize| ty.shape()[axis].clone();
    let others = |axis: &usize| ![panels.columns, panels.inner].contains(axis);
    let mut shape: Vec<Size> = (0..rank).filter(others).map(extent).collect();
    let columns = extent(panels.columns);
    shape.extend([Size::CeilDiv(columns.clone().into(), PANEL), extent(panels.inner), Size::Const(PANEL)]);
    let ty = ty.elem();
    let body = lines.nested(&vec![Ty::I64; shape.len()], |w, at| {
        let [outer @ .., panel, inner, column] = at else { unreachable!("a panel has two axes") };
        let (side, one, end) = (w.number(PANEL as i64), w.number(1), w.extent(&columns));
        let first = w.value(*panel * side);
        let column = w.value(first + *column);
        let last = w.value(end - one);
        let column = w.value(column.least(last));
        let mut outer = outer.iter();
        let place = |axis: usize| match axis {
            axis if axis == panels.columns => column,
            axis if axis == panels.inner => *inner,
            _ => *outer.next().expect("an axis for each position"),
        };
        let index = (0..rank).map(place).collect();
        vec![w.push(Op::At { array: panels.array, index }, ty)]
    });
    let id = lines.fresh();
    lines
        .out()
        .push(Stmt { binds: vec![Var { id, ty: Type::Array(ty, shape.clone()) }], op: Op::Tabulate { shape, body } });
    id
}

/// Has reads of arguments read their copies.
fn read_in_panels(lines: &mut Lines, body: &mut Body, found: &HashMap<Id, (Panels, Id)>) {
    lines.rewrite(body, |w, mut stmt| {
        stmt.op.bodies_mut().into_iter().for_each(|body| read_in_panels(w, body, found));
        if let Op::At { array, index } = &mut stmt.op
            && let Some((panels, copy)) = found.get(array)
        {
            let (column, inner) = (index[panels.columns], index[panels.inner]);
            let side = w.number(PANEL as i64);
            let panel = w.apply(Operator::Div, &[column, side], Ty::I64);
            let place = w.apply(Operator::Rem, &[column, side], Ty::I64);
            let others = index.iter().enumerate().filter(|(axis, _)| ![panels.columns, panels.inner].contains(axis));
            *index = others.map(|(_, id)| *id).chain([panel, inner, place]).collect();
            *array = *copy;
        }
        w.out().push(stmt);
    });
}

/// A read of panels: the array, and the positions in front of the panel's number.
pub(super) struct Read<'g> {
    pub(super) array: Id,
    pub(super) outer: &'g [Id],
}

/// Reads a value of a product's columns as one of panels. `constant` knows the names outside.
pub(super) fn read_of<'g>(
    product: &Product<'g>,
    value: Id,
    constant: &dyn Fn(Id) -> Option<Scalar>,
) -> Option<Read<'g>> {
    let column = product.body.params.last()?.id;
    let Op::At { array, index } = &product.made(value)?.op else { return None };
    let [outer @ .., panel, inner, place] = &index[..] else { return None };
    let is_side = |id: Id| {
        let own = product.made(id).map(|stmt| &stmt.op);
        let value = if let Some(Op::Const(value)) = own { Some(*value) } else { constant(id) };
        value == Some(Scalar::i64(PANEL as i64))
    };
    let is = |id: Id, operator: Operator| match product.made(id).map(|stmt| &stmt.op) {
        Some(Op::Apply(own, args)) => *own == operator && args[0] == column && is_side(args[1]),
        _ => false,
    };
    let is_panel = *inner == product.inner && is(*panel, Operator::Div) && is(*place, Operator::Rem);
    let row = product.body.params[product.body.params.len() - 2].id;
    let is_uniform = |id: &Id| ![row, column, product.inner].contains(id) && product.made(*id).is_none();
    (is_panel && outer.iter().all(is_uniform)).then_some(Read { array: *array, outer })
}
