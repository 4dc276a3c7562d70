//! Loops over rows of lanes whose reads go down columns: tiles, turned in registers.
//!
//! In `for r { lanes i { … x[i, r] … } }` the lanes of one row read elements that lie a row of `x` apart. But `W` rows of
//! lanes read `W` elements of each of `W` rows of `x`: these are loaded along `x`, as vectors, and the square of elements is
//! turned around in registers. Each row of lanes then takes its vector.

use super::value::{Expr, Form, Lane, Value};
use super::writer::{Live, Writer};
use super::{EmitError, expr};
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
    address: String,
    stride: String,
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
pub(super) fn write(w: &mut Writer, lo: Id, hi: Id, body: &Body) -> Result<bool, EmitError> {
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
    let (top, bottom, left, right) = (w.scalar(lo)?, w.bound(hi)?, w.scalar(left)?, w.bound(right)?);
    w.set_values(&body.params, &[Value::uniform(Ty::I64, Expr::atom("r"))]);
    let turn = w.first_turn("i");
    w.set_values(&lanes.params, &[turn]);
    w.tile = Some(Tile { row, loads: vec![] });
    let text = w.aside(Live::Count, |w| w.stmts(lanes))?;
    let tile = w.tile.take().map_or(vec![], |t| t.loads);

    let name = w.file.function_name(&w.kernel.name, "lanes");
    let (declarations, arguments) = w.captured(&text);
    let places = ["i64 r", "i64 i", "int n"].map(String::from);
    let vectors = tile.iter().map(|l| format!("{} {}", Lane::of(l.ty).vector(), l.name));
    let parameters: Vec<String> = declarations.into_iter().chain(places).chain(vectors).collect();
    w.file.items.push(format!("FN void {name}({}) {{\n{text}}}\n", parameters.join(", ")));

    let mut square = String::new();
    for load in &tile {
        square += &format!("    {} {}[W];\n", Lane::of(load.ty).vector(), load.name);
        square += &format!("    load_turned_{}({}, {}, {}, n, m);\n", load.ty, load.name, load.address, load.stride);
    }
    let vectors = tile.iter().map(|l| format!("{}[u]", l.name));
    let all: Vec<String> =
        arguments.iter().cloned().chain(["r + u", "i", "n"].map(String::from)).chain(vectors).collect();
    square += &format!("    EACH(u) if (u < m) {name}({});\n", all.join(", "));
    let square_name = w.file.function_name(&w.kernel.name, "tile");
    let (declarations, arguments) = w.captured(&square);
    let places = ["i64 r", "i64 i", "int m", "int n"].map(String::from);
    let parameters: Vec<String> = declarations.into_iter().chain(places).collect();
    w.file.items.push(format!("FN void {square_name}({}) {{\n{square}}}\n", parameters.join(", ")));

    let (r, i, m) = (w.fresh("r"), w.fresh("j"), w.fresh("m"));
    let call = |m: &str, n: &str| {
        let places = [&r, &i, m, n].map(String::from);
        format!("{square_name}({});", arguments.iter().cloned().chain(places).collect::<Vec<_>>().join(", "))
    };
    w.block(&format!("for (i64 {r} = {}; {r} < {}; {r} += W)", top.text, bottom.text), |w| {
        w.line(&format!("int {m} = {0} - {r} < W ? (int)({0} - {r}) : W;", bottom.text));
        w.line(&format!("i64 {i} = {};", left.text));
        w.line(&format!("if ({m} == W) for (; {i} + W <= {}; {i} += W) {}", right.text, call("W", "W")));
        let rest = format!("{0} - {i} < W ? (int)({0} - {i}) : W", right.text);
        w.line(&format!("for (; {i} < {}; {i} += W) {}", right.text, call(&m, &rest)));
        Ok(())
    })?;
    Ok(true)
}

/// The value of a read that a tile holds already, or `None` if it is not of that kind.
pub(super) fn load(w: &mut Writer, memory: MemId, index: &[Id]) -> Option<Value> {
    let tile = w.tile.as_ref()?;
    let ty = w.kernel.memories[memory.0 as usize].ty;
    let lane = index.iter().position(|i| matches!(w.values[i].form, Form::Affine(ref e) if e.text == "i"))?;
    let op = Op::Load { memory, index: index.to_vec() };
    let square = matches!(ty, Ty::F32 | Ty::I32 | Ty::U32);
    if !square || w.live != Live::Count || !is_turned(&op, tile.row, index[lane]) {
        return None;
    }
    let strides = w.strides(memory);
    let places: Vec<Value> = index.iter().map(|i| w.get(*i)).collect();
    let uniform = |k: usize| if k == lane { Value::uniform(Ty::I64, Expr::atom("i")) } else { places[k].clone() };
    let places: Vec<Value> = (0..index.len()).map(uniform).collect();
    let (Some(start), None) = expr::linear(&places, &strides, w.wide) else { return None };
    let name = w.fresh("tile");
    let address = format!("{} + {}", w.memory_name(memory), start.text);
    let load = TileLoad { name: name.clone(), ty, address, stride: strides[lane].text.clone() };
    w.tile.as_mut()?.loads.push(load);
    Some(Value::vector(ty, Lane::of(ty), Expr::atom(name)))
}
