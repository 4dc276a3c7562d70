//! Loops over rows of lanes whose reads go down columns: tiles, turned in registers.
//!
//! In `for r { lanes i { … x[i, r] … } }` the lanes of one row read elements that lie a row of `x` apart. But `W` rows of
//! lanes read `W` elements of each of `W` rows of `x`: these are loaded along `x`, as vectors, and the square of elements is
//! turned around in registers. Each row of lanes then takes its vector.

use super::lines::{Code, line};
use super::memory::Address;
use super::value::{Lane, LaneForm, Value};
use super::writer::{CWriter, Live};
use super::{EmitError, expr};
use crate::back::tree::{Infix, Tree};
use crate::code::{Body, Id, MemId, Op};
use crate::types::Ty;

/// Reads that are turned around, found while the lanes are written.
pub(super) struct Tile {
    /// The counter of the rows.
    row: Id,
    loads: Vec<TileLoad>,
}

struct TileLoad {
    name: String,
    ty: Ty,
    pointer: Tree,
    stride: Tree,
}

/// The lanes loop, when it is all that the body of a `for` does besides naming constants.
fn only_lanes(body: &Body) -> Option<(Id, Id, &Body)> {
    let mut rest = body.stmts.iter().filter(|s| !matches!(s.op, Op::Const(_) | Op::Extent(_)));
    match (rest.next().map(|s| &s.op), rest.next()) {
        (Some(Op::Lanes { lo, hi, body, monoid: None }), None) => Some((*lo, *hi, body)),
        _ => None,
    }
}

/// Is it a read down a column: the last index is the row's counter, and the lane stands in one other place?
fn is_turned(op: &Op, row: Id, lane: Id) -> bool {
    let Op::Load { index, .. } = op else { return false };
    let Some((last, before)) = index.split_last() else { return false };
    *last == row && before.iter().filter(|i| **i == lane).count() == 1 && !before.contains(&row)
}

/// Writes the loop in tiles, if there is something to turn around.
pub(super) fn write(w: &mut CWriter, lo: Id, hi: Id, body: &Body) -> Result<bool, EmitError> {
    let (row, Some((left, right, lanes))) = (body.params[0].id, only_lanes(body)) else { return Ok(false) };
    let lane = lanes.params[0].id;
    let turned = |s: &crate::code::Stmt| {
        let square = s.binds.iter().all(|b| matches!(b.ty.elem(), Ty::F32 | Ty::I32 | Ty::U32));
        square && is_turned(&s.op, row, lane)
    };
    if !lanes.stmts.iter().any(turned) {
        return Ok(false);
    }
    let outer = Body {
        stmts: body.stmts.iter().filter(|s| !matches!(s.op, Op::Lanes { .. })).cloned().collect(),
        ..Body::default()
    };
    w.stmts(&outer)?;
    let top = w.scalar(lo)?;
    let bottom = w.bound(hi)?;
    let left = w.scalar(left)?;
    let right = w.bound(right)?;
    w.set_values(&body.params, &[Value::uniform(Ty::I64, Tree::name("r"))]);
    let turn = w.first_turn(Tree::name("i"));
    w.set_values(&lanes.params, &[turn]);
    w.tile = Some(Tile { row, loads: vec![] });
    let code = w.aside(Live::Count, |w| w.stmts(lanes))?;
    let tile = w.tile.take().map_or(vec![], |t| t.loads);

    let name = w.file.function_name(&w.kernel.name, "lanes");
    let (declarations, arguments) = w.captured(&code);
    let places = ["i64 r", "i64 i", "int n"].map(String::from);
    let vectors = tile.iter().map(|l| format!("{} {}", Lane::of(l.ty).vector(), l.name));
    let parameters: Vec<String> = declarations.into_iter().chain(places).chain(vectors).collect();
    w.file.items.push(format!("FN void {name}({}) {{\n{code}}}\n", parameters.join(", ")));

    let mut square = Code::default();
    let [r, i, n, m, u] = ["r", "i", "n", "m", "u"].map(Tree::name);
    for load in &tile {
        square.add(1, format!("{} {}[W];", Lane::of(load.ty).vector(), load.name));
        let args = [Tree::name(&load.name), load.pointer.clone(), load.stride.clone(), n.clone(), m.clone()];
        square.add(1, line![Tree::call(format!("load_turned_{}", load.ty), args), ";"]);
    }
    let vectors = tile.iter().map(|l| Tree::index(Tree::name(&l.name), u.clone()));
    let row_of_lanes = [Tree::infix(Infix::Add, r, u.clone()), i, n];
    let passed = arguments.into_iter().chain(row_of_lanes).chain(vectors);
    square.add(1, line!["EACH(u) if (u < m) ", Tree::call(&name, passed), ";"]);
    let square_name = w.file.function_name(&w.kernel.name, "tile");
    let (declarations, arguments) = w.captured(&square);
    let places = ["i64 r", "i64 i", "int m", "int n"].map(String::from);
    let parameters: Vec<String> = declarations.into_iter().chain(places).collect();
    w.file.items.push(format!("FN void {square_name}({}) {{\n{square}}}\n", parameters.join(", ")));

    let [r, i, m] = ["r", "j", "m"].map(|stem| w.fresh(stem));
    let [row, column, rows, width] = [&r[..], &i, &m, "W"].map(Tree::name);
    let call = |m: &Tree, n: Tree| {
        let places = [row.clone(), column.clone(), m.clone(), n];
        line![Tree::call(&square_name, arguments.iter().cloned().chain(places)), ";"]
    };
    let below = |at: &Tree, end: &Tree| Tree::infix(Infix::Lt, at.clone(), end.clone());
    w.block(line!["for (i64 ", r, " = ", top, "; ", below(&row, &bottom), "; ", r, " += W)"], |w| {
        w.line(line!["int ", m, " = ", left_over(&bottom, &row), ";"]);
        w.line(line!["i64 ", i, " = ", left, ";"]);
        let whole = Tree::infix(Infix::Le, Tree::infix(Infix::Add, column.clone(), width.clone()), right.clone());
        let full = call(&width, width.clone());
        w.line(line!["if (", m, " == W) for (; ", whole, "; ", i, " += W) ", full]);
        let rest = call(&rows, left_over(&right, &column));
        w.line(line!["for (; ", below(&column, &right), "; ", i, " += W) ", rest]);
        Ok(())
    })?;
    Ok(true)
}

/// How many of a vector's lanes are left before an end.
fn left_over(end: &Tree, at: &Tree) -> Tree {
    let left = Tree::infix(Infix::Sub, end.clone(), at.clone());
    let width = Tree::name("W");
    let few = Tree::infix(Infix::Lt, left.clone(), width.clone());
    Tree::choice(few, Tree::cast("int", left), width)
}

/// The value of a read that a tile holds already, or `None` if it is not of that kind.
pub(super) fn load(w: &mut CWriter, memory: MemId, index: &[Id]) -> Option<Value> {
    let tile = w.tile.as_ref()?;
    let ty = w.kernel.memories[memory.0 as usize].ty;
    let lane =
        index.iter().position(|i| matches!(w.values[i].form, LaneForm::Affine(ref e) if e.as_name() == Some("i")))?;
    let op = Op::Load { memory, index: index.to_vec() };
    let square = matches!(ty, Ty::F32 | Ty::I32 | Ty::U32);
    if !square || w.live != Live::Count || !is_turned(&op, tile.row, index[lane]) {
        return None;
    }
    let strides = w.strides(memory);
    let places: Vec<Value> = index.iter().map(|i| w.get(*i)).collect();
    let uniform = |k: usize| if k == lane { Value::uniform(Ty::I64, Tree::name("i")) } else { places[k].clone() };
    let places: Vec<Value> = (0..index.len()).map(uniform).collect();
    let (Some(start), None) = expr::linear(&places, &strides, w.wide) else { return None };
    let name = w.fresh("tile");
    let address = Address { memory: Tree::name(w.memory_name(memory)), offset: Some(start) };
    let load = TileLoad { name: name.clone(), ty, pointer: address.pointer(), stride: strides[lane].clone() };
    w.tile.as_mut()?.loads.push(load);
    Some(Value::vector(ty, Lane::of(ty), Tree::name(name)))
}
