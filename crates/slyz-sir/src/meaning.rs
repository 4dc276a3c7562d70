//! Which form of a raw kernel runs: its source in the language of a device, or else its meaning, in whose place nothing is left of it.

use crate::choices::Precision;
use crate::code::{Body, Id, Op, RawCall, Stmt};
use crate::kernel::Plan;
use crate::program::Program;
use crate::raw::{Language, RawKernel};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The program for a device of that language: kernels that are written in it keep that source alone, others become what they mean. One that has
/// neither stays, and the device refuses it. Where every bit counts, the meaning says which.
pub fn chosen(program: &Program, language: Language) -> Cow<'_, Program> {
    if !has_raw(&program.body) {
        return Cow::Borrowed(program);
    }
    let is_exact = program.precision == Some(Precision::Exact);
    let mut program = program.clone();
    each(&mut program.body, &mut |call| {
        if is_exact && call.meaning.is_some() {
            return;
        }
        if let Some(source) = call.kernel.sources.iter().find(|source| source.language == language) {
            let RawKernel { name, block, .. } = &*call.kernel;
            let kernel = RawKernel { name: name.clone(), block: *block, sources: vec![source.clone()] };
            *call = RawCall { kernel: Arc::new(kernel), ..call.without_meaning() };
        }
    });
    Cow::Owned(meant(&program).into_owned())
}

/// The program that a plan was made of: in the language of the raw kernels in it, where there are some.
pub fn planned<'p>(program: &'p Program, plan: &Plan) -> Cow<'p, Program> {
    let raw = plan.kernels.iter().find_map(|kernel| kernel.raw.as_ref());
    raw.map_or(Cow::Borrowed(program), |raw| chosen(program, raw.source.language))
}

/// The program with every raw kernel that has a meaning as what it means.
pub fn meant(program: &Program) -> Cow<'_, Program> {
    if !has_raw(&program.body) {
        return Cow::Borrowed(program);
    }
    let mut program = program.clone();
    let mut names = HashMap::new();
    inline(&mut program.body, &mut names);
    rename(&mut program.body, &names);
    Cow::Owned(program)
}

/// The program with every raw kernel as what it means; one that has no meaning is left without anything, which the verifier refuses.
pub fn without_sources(program: Program) -> Program {
    if !has_raw(&program.body) {
        return program;
    }
    let mut program = meant(&program).into_owned();
    each(&mut program.body, &mut |call| {
        let kernel = RawKernel { name: call.kernel.name.clone(), block: call.kernel.block, sources: vec![] };
        call.kernel = Arc::new(kernel);
    });
    program
}

/// Can a device of that language run it: is each raw kernel written in it, or has a meaning?
pub fn runs_in(program: &Program, language: Language) -> bool {
    let mut runs = true;
    if has_raw(&program.body) {
        let mut chosen = chosen(program, language).into_owned();
        let is_written = |call: &RawCall| call.kernel.sources.iter().any(|source| source.language == language);
        each(&mut chosen.body, &mut |call| runs &= is_written(call));
    }
    runs
}

/// A raw kernel that has no meaning.
pub fn left(program: &Program) -> Option<String> {
    let mut found = None;
    if has_raw(&program.body) {
        each(&mut meant(program).into_owned().body, &mut |call| found = Some(call.kernel.name.clone()));
    }
    found
}

/// Calls `f` for every call of a raw kernel.
fn each(body: &mut Body, f: &mut dyn FnMut(&mut RawCall)) {
    for stmt in &mut body.stmts {
        if let Op::Raw(call) = &mut stmt.op {
            f(call);
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| each(inner, f));
    }
}

pub(crate) fn has_raw(body: &Body) -> bool {
    body.stmts.iter().any(|stmt| matches!(stmt.op, Op::Raw(_)) || stmt.op.bodies().into_iter().any(has_raw))
}

/// Puts meanings where calls were. Names that stand for others from then on are told.
fn inline(body: &mut Body, names: &mut HashMap<Id, Id>) {
    let mut stmts: Vec<Stmt> = vec![];
    for mut stmt in std::mem::take(&mut body.stmts) {
        stmt.op.bodies_mut().into_iter().for_each(|inner| inline(inner, names));
        match stmt.op {
            Op::Raw(mut call) if call.meaning.is_some() => {
                let Some(meaning) = call.meaning.take() else { continue };
                names.extend(meaning.params.iter().map(|param| param.id).zip(call.args));
                names.extend(stmt.binds.iter().map(|bind| bind.id).zip(meaning.results));
                stmts.extend(meaning.stmts);
            }
            op => stmts.push(Stmt { op, ..stmt }),
        }
    }
    body.stmts = stmts;
}

fn rename(body: &mut Body, names: &HashMap<Id, Id>) {
    // What a name stands for may stand for another.
    let last = |id: &mut Id| {
        while let Some(next) = names.get(id) {
            *id = *next;
        }
    };
    for stmt in &mut body.stmts {
        stmt.op.each_operand_mut(&mut |id| last(id));
        stmt.op.bodies_mut().into_iter().for_each(|inner| rename(inner, names));
    }
    body.results.iter_mut().for_each(last);
}
