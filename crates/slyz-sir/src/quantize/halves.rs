//! Arrays in 16 bits: they are rounded where they are stored, and computed with as before.

use super::{Candidate, Quantized, Request, Site, left_out};
use crate::code::{Body, Id, Monoid, Op, Stmt, Type, Var};
use crate::ops::Operator;
use crate::program::Program;
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write};
use std::collections::{HashMap, HashSet};

/// An array that could be kept in 16 bits.
struct Array {
    var: Var,
    /// Which argument it is.
    argument: Option<usize>,
    what: String,
    /// Why it cannot.
    unfit: Option<String>,
}

pub(super) fn quantize(mut program: Program, request: &Request) -> Quantized {
    let arrays = arrays(&program, request);
    let mut candidates = vec![];
    let mut chosen: HashMap<Id, Id> = HashMap::new();
    let mut lines = Lines::new(program.fresh_ids());
    for (number, array) in arrays.iter().enumerate() {
        let left = left_out(request, number).or_else(|| array.unfit.clone());
        if left.is_none() {
            // An argument is stored once more; what is computed takes another type.
            let stored = if array.argument.is_some() { lines.fresh() } else { array.var.id };
            chosen.insert(array.var.id, stored);
        }
        candidates.push(Candidate { what: array.what.clone(), left });
    }
    let small = request.small.ty();
    let stmts = std::mem::take(&mut program.body.stmts);
    for array in arrays.iter().filter(|array| array.argument.is_some()) {
        if let Some(&stored) = chosen.get(&array.var.id) {
            let ty = Type::Array(small, array.var.ty.shape().to_vec());
            let body = rounded(&mut lines, array.var.id, array.var.ty.shape().len(), small);
            let op = Op::Tabulate { shape: array.var.ty.shape().to_vec(), body };
            lines.out().push(Stmt { binds: vec![Var { id: stored, ty }], op });
        }
    }
    for mut stmt in stmts {
        stmt.op.bodies_mut().into_iter().for_each(|body| widen(&mut lines, body, &chosen, small));
        let kept: Vec<usize> = (0..stmt.binds.len()).filter(|&k| chosen.contains_key(&stmt.binds[k].id)).collect();
        if let (false, Op::Tabulate { body, .. }) = (kept.is_empty(), &mut stmt.op) {
            for k in kept {
                let id = lines.fresh();
                body.stmts.push(Stmt {
                    binds: vec![Var { id, ty: Type::Scalar(small) }],
                    op: Op::Cast(small, body.results[k]),
                });
                body.results[k] = id;
                stmt.binds[k].ty = Type::Array(small, stmt.binds[k].ty.shape().to_vec());
            }
        }
        push_wide(&mut lines, stmt, &chosen, small);
    }
    program.body.stmts = lines.take();
    let weights = arrays.iter().filter(|array| chosen.contains_key(&array.var.id)).filter_map(|array| array.argument);
    Quantized { weights: weights.collect(), program, candidates }
}

/// The largest size that each array holds, behind the statements of the program.
pub(super) fn largest(program: &Program, request: &Request, lines: &mut Lines) -> Vec<Id> {
    let arrays = arrays(program, request);
    let zero = lines.constant(Scalar::f32(0.0));
    let mut results = vec![];
    for Array { var, .. } in &arrays {
        let shape = var.ty.shape().to_vec();
        let body = lines.nested(&vec![Ty::I64; shape.len()], |w, index| {
            let value = w.push(Op::At { array: var.id, index: index.to_vec() }, Ty::F32);
            vec![w.apply(Operator::Abs, &[value], Ty::F32)]
        });
        let combine = lines.nested(&[Ty::F32; 2], |w, pair| vec![w.apply(Operator::Max, pair, Ty::F32)]);
        let monoid = Monoid { neutral: vec![zero], combine, commutative: true };
        results.push(match shape.is_empty() {
            true => zero,
            false => lines.push(Op::Fold { shape, body, monoid }, Ty::F32),
        });
    }
    results
}

/// What each candidate is, where it can be in 16 bits.
pub(super) fn sites(program: &Program, request: &Request) -> Vec<Option<Site>> {
    let site = |array: Array| array.unfit.is_none().then_some(Site::Stored(array.var.id));
    arrays(program, request).into_iter().map(site).collect()
}

/// The arrays of `f32` that are stored: weights, and what statements of the top level make for each other.
fn arrays(program: &Program, request: &Request) -> Vec<Array> {
    let body = &program.body;
    let name = |size| program.size_name(size);
    let shape = |var: &Var| {
        let extents: Vec<String> = var.ty.shape().iter().map(|size| size.display(&name).to_string()).collect();
        format!("[{}]", extents.join(", "))
    };
    let is_f32 = |var: &Var| matches!(&var.ty, Type::Array(Ty::F32, _));
    let mut whole: HashSet<Id> = HashSet::new();
    reads_of_whole(body, &mut whole);
    let results: HashSet<Id> = body.results.iter().copied().collect();
    let mut found = vec![];
    for &argument in request.weights.iter().flatten() {
        let Some(var) = body.params.get(argument).filter(|var| is_f32(var)) else { continue };
        let what = format!("argument {} {}", argument + 1, shape(var));
        // A copy is made, so those who read all of it have the argument.
        found.push(Array { var: var.clone(), argument: Some(argument), what, unfit: None });
    }
    for stmt in &body.stmts {
        for (k, var) in stmt.binds.iter().enumerate().filter(|(_, var)| is_f32(var)) {
            if results.contains(&var.id) {
                continue;
            }
            let unfit = match &stmt.op {
                _ if whole.contains(&var.id) => Some("somebody takes all of it at once".to_string()),
                Op::Tabulate { body, shape } if shape.len() == var.ty.shape().len() && k < body.results.len() => None,
                Op::Tabulate { .. } => Some("it is made of rows".to_string()),
                _ => Some("it is not made element by element".to_string()),
            };
            let what = format!("the array {} that is kept", shape(var));
            found.push(Array { var: var.clone(), argument: None, what, unfit });
        }
    }
    found
}

/// Arrays that somebody reads otherwise than element by element.
fn reads_of_whole(body: &Body, found: &mut HashSet<Id>) {
    for stmt in &body.stmts {
        match &stmt.op {
            Op::At { .. } => {}
            op => op.each_operand(&mut |id| found.extend([id])),
        }
        stmt.op.bodies().iter().for_each(|body| reads_of_whole(body, found));
    }
    // Rows that a body gives back.
    found.extend(&body.results);
}

/// `body` with reads of the chosen arrays made wide again.
fn widen(lines: &mut Lines, body: &mut Body, chosen: &HashMap<Id, Id>, small: Ty) {
    lines.rewrite(body, |lines, mut stmt| {
        stmt.op.bodies_mut().into_iter().for_each(|body| widen(lines, body, chosen, small));
        push_wide(lines, stmt, chosen, small);
    });
}

fn push_wide(lines: &mut Lines, stmt: Stmt, chosen: &HashMap<Id, Id>, small: Ty) {
    let Stmt { binds, op } = stmt;
    match op {
        Op::At { array, index } if let Some(&stored) = chosen.get(&array) => {
            let narrow = lines.push(Op::At { array: stored, index }, small);
            lines.out().push(Stmt { binds, op: Op::Cast(Ty::F32, narrow) });
        }
        op => lines.out().push(Stmt { binds, op }),
    }
}

/// The element of an array, in 16 bits.
fn rounded(lines: &mut Lines, array: Id, rank: usize, small: Ty) -> Body {
    lines.nested(&vec![Ty::I64; rank], |w, index| {
        let value = w.push(Op::At { array, index: index.to_vec() }, Ty::F32);
        vec![w.push(Op::Cast(small, value), small)]
    })
}
