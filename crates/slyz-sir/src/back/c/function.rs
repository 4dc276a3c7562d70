//! Shared functions: one C function on vectors, however often it is called.

use super::value::{Expr, Lane, Value};
use super::writer::{Live, Writer};
use super::{EmitError, expr};
use crate::code::{Body, Function, Op};

/// Does the body run code only in some lanes, so that it must know which are live?
pub(super) fn needs_mask(body: &Body) -> bool {
    body.stmts.iter().any(|s| matches!(s.op, Op::If { .. } | Op::For { .. } | Op::While { .. }))
}

/// Writes the function if it is not there yet; gives its C name.
pub(super) fn write(w: &mut Writer, function: &Function) -> Result<String, EmitError> {
    if let Some(name) = w.file.functions.get(&function.name) {
        return Ok(name.clone());
    }
    let name = w.file.free_name(&function.name);
    w.file.functions.insert(function.name.clone(), name.clone());
    let masked = needs_mask(&function.body);
    let live = if masked { Live::Mask("live".into()) } else { Live::All };
    let mut parameters = vec![];
    let mut values = vec![];
    for (k, param) in function.body.params.iter().enumerate() {
        let lane = Lane::of(param.ty.elem());
        w.file.lanes_64 |= lane.is_wide();
        let parameter = format!("x{k}");
        parameters.push(format!("{} {parameter}", lane.vector()));
        values.push(Value::vector(param.ty.elem(), lane, Expr::atom(parameter)));
    }
    w.set_values(&function.body.params, &values);
    let one = function.body.results.len() == 1;
    let mut results = vec![];
    // A function takes one vector at a time, whoever calls it.
    let ways = w.ways.take();
    let text = w.aside(live, |w| {
        w.stmts(&function.body)?;
        for (k, &id) in function.body.results.iter().enumerate() {
            let value = w.get(id);
            let lane = Lane::of(value.ty);
            w.file.lanes_64 |= lane.is_wide();
            results.push(lane);
            let text = expr::spread(&value, lane).text;
            w.line(&if one { format!("return {text};") } else { format!("*y{k} = {text};") });
        }
        Ok(())
    })?;
    w.ways = ways;
    if masked {
        parameters.push("vi32 live".into());
    }
    let returned = if one { results[0].vector() } else { "void".into() };
    if !one {
        parameters.extend(results.iter().enumerate().map(|(k, lane)| format!("{} *y{k}", lane.vector())));
    }
    w.file.items.push(format!("FN {returned} {name}({}) {{\n{text}}}\n", parameters.join(", ")));
    Ok(name)
}
