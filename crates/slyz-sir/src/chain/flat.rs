//! Maps over flat arrays, in the shape of what they are next to.
//!
//! `relu` by hand goes over the `L` elements of a tensor; the product of matrices before it gives `M×N`. The map does the same to each element
//! wherever that is, so it is one over `M×N`, and the passes see two programs over the same positions.

use super::{Call, Cut, Link, Source};
use crate::code::{Body, Class, Id, Op, Type, Var};
use crate::size::{Size, SizeVar};
use crate::types::Ty;

/// The shapes that flat maps take, for each call; none where it stays as it is.
pub(super) fn shapes(links: &[Link<'_>], calls: &[Call<'_>]) -> Result<Vec<Option<Vec<u64>>>, Cut> {
    let flat: Vec<bool> = calls.iter().map(is_flat).collect();
    // Flat maps next to one another have one shape: the first of them stands for all.
    let mut group: Vec<usize> = (0..links.len()).collect();
    let edges = || {
        links.iter().enumerate().flat_map(|(to, link)| {
            let given = link.args.iter().enumerate().filter_map(|(param, source)| match source {
                Source::Result(given) => Some((*given, param)),
                Source::Outside(_) => None,
            });
            given.map(move |(given, param)| (given, to, param))
        })
    };
    for (given, to, param) in edges() {
        let arrays = !calls[to].params[param].is_empty();
        if arrays && flat[given.link] && flat[to] {
            let (kept, gone) = (group[given.link].min(group[to]), group[given.link].max(group[to]));
            group.iter_mut().filter(|member| **member == gone).for_each(|member| *member = kept);
        }
    }
    let mut wanted: Vec<Option<&Vec<u64>>> = vec![None; links.len()];
    for (given, to, param) in edges() {
        let from = calls.get(given.link).and_then(|call| call.results.get(given.number)).ok_or(Cut(to))?;
        let into = &calls[to].params[param];
        let (place, shape) = match (flat[given.link], flat[to]) {
            (true, true) if from == into => continue,
            (true, true) => return Err(Cut(to)),
            (true, false) if !into.is_empty() => (group[given.link], into),
            (false, true) if !from.is_empty() => (group[to], from),
            _ if from == into => continue,
            _ => return Err(Cut(to)),
        };
        if wanted[place].is_some_and(|other| other != shape) || elements(from) != elements(into) {
            return Err(Cut(to));
        }
        wanted[place] = Some(shape);
    }
    let shape = |(place, flat): (usize, &bool)| wanted[group[place]].filter(|shape| *flat && shape.len() > 1).cloned();
    Ok(flat.iter().enumerate().map(shape).collect())
}

fn elements(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent))
}

/// Is it made of maps over flat arrays of one length, which ask for no element but their own, and not where that is?
fn is_flat(call: &Call<'_>) -> bool {
    let body = &call.body;
    let value = |SizeVar(var): SizeVar| call.values.get(var as usize).copied();
    let mut axis: Option<u64> = None;
    for var in body.params.iter().chain(body.stmts.iter().flat_map(|stmt| &stmt.binds)) {
        let Type::Array(_, shape) = &var.ty else { continue };
        let [extent] = &shape[..] else { return false };
        let Ok(extent) = extent.eval(&value) else { return false };
        if axis.replace(extent).is_some_and(|other| other != extent) {
            return false;
        }
    }
    axis.is_some()
        && body.stmts.iter().all(|stmt| match &stmt.op {
            Op::Tabulate { body, .. } => matches!(&body.params[..], [position] if is_own(body, position.id)),
            op => matches!(op.class(), Class::Scalar | Class::Call),
        })
}

/// Do elements come from this position alone?
fn is_own(body: &Body, position: Id) -> bool {
    let own = |op: &Op| match op {
        Op::At { index, .. } => index[..] == [position],
        op => {
            let mut elsewhere = false;
            op.each_operand(&mut |id| elsewhere |= id == position);
            let scalar = matches!(op.class(), Class::Scalar | Class::Call | Class::Control);
            scalar && !elsewhere && op.bodies().into_iter().all(|inner| is_own(inner, position))
        }
    };
    body.stmts.iter().all(|stmt| own(&stmt.op)) && !body.results.contains(&position)
}

/// The same over arrays of another shape.
pub(super) fn reshaped(body: &Body, shape: &[u64], next: &mut u32) -> Option<Body> {
    let mut body = body.clone();
    *next = (*next).max(crate::code::largest_id(&body));
    let shape: Vec<Size> = shape.iter().map(|&extent| Size::Const(extent)).collect();
    let retype = |var: &mut Var| {
        if let Type::Array(_, old) = &mut var.ty {
            *old = shape.clone();
        }
    };
    body.params.iter_mut().for_each(retype);
    for stmt in &mut body.stmts {
        stmt.binds.iter_mut().for_each(retype);
        let Op::Tabulate { shape: over, body: inner } = &mut stmt.op else { continue };
        *over = shape.clone();
        let [position] = &inner.params[..] else { return None };
        let old = position.id;
        inner.params = shape.iter().map(|_| Var { id: Id(fresh(next)), ty: Type::Scalar(Ty::I64) }).collect();
        let index: Vec<Id> = inner.params.iter().map(|param| param.id).collect();
        reindex(inner, old, &index);
    }
    Some(body)
}

fn fresh(next: &mut u32) -> u32 {
    *next += 1;
    *next
}

fn reindex(body: &mut Body, old: Id, new: &[Id]) {
    for stmt in &mut body.stmts {
        if let Op::At { index, .. } = &mut stmt.op
            && index[..] == [old]
        {
            *index = new.to_vec();
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| reindex(inner, old, new));
    }
}
