//! The checker: names, types, conversions and rules. Makes the typed tree that the lowering reads.
//!
//! Shared by both syntaxes. Looks at graph functions and at what they call; the rest of a file is the host's, and is checked by
//! running it. All errors that do not follow from each other are told in one run.

mod body;
pub mod budget;
pub(crate) mod call;
pub mod copies;
mod declare;
pub(crate) mod draft;
pub(crate) mod echo;
mod expr;
mod forbid;
pub mod gives;
mod loops;
mod meetings;
pub(crate) mod number;
mod race;
mod reach;
pub mod rules;
mod scope;
mod settle;
mod spelling;
mod spread;
mod stmt;
pub(crate) mod suggest;
mod together;
mod tuple;
mod types;
mod uniform;
pub(crate) mod visit;

use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, File, Function, Item, Role, Space, StmtKind};
use crate::typed::{self, FunctionId, Param, ParamKind, Program, inside};
use body::{Body, Marks, ParamType, ResultType, Signature};
use copies::Copies;
use declare::Let;
use gives::Launched;
use reach::{Instance, Reached};
use scope::{Entity, Kind, Memory, Origin, Scopes};
use std::collections::{BTreeSet, HashMap, HashSet};
use uniform::Uniform;
use visit::{Node, visit};

/// How remedies are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// As in .vex files.
    Vex,
    /// As in Rust.
    Rust,
}

/// What the checker found.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Graph functions and what they call; empty where there are errors.
    pub program: Program,
    /// Errors, warnings and notes, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a file declares.
struct Names<'a> {
    functions: Vec<&'a Function>,
    by_name: HashMap<&'a str, usize>,
    foreign: HashMap<&'a str, Span>,
    /// Names of the host's own variables.
    host: HashMap<&'a str, Span>,
    /// Constants at the top of the file, which functions see.
    constants: Vec<Let<'a>>,
    signatures: Vec<Signature>,
}

/// Checks the graph functions of a file.
pub fn check(file: &File, dialect: Dialect) -> Checked {
    let mut diagnostics = vec![];
    let launched = gives::needed(file, dialect, &mut |d| diagnostics.push(d));
    let mut names = collect(file, &launched, &mut diagnostics);
    let reached = reach::reach(&names.functions, &names.by_name);
    diagnostics.extend(reached.diagnostics.iter().cloned());
    let used: HashSet<usize> = reached.instances.iter().map(|i| i.function).collect();
    for (k, function) in names.functions.iter().enumerate() {
        // What only the host calls may have any signature.
        let mut ignored = |_: Diagnostic| {};
        let mut told = |d: Diagnostic| diagnostics.push(d);
        let say: &mut dyn FnMut(Diagnostic) = if used.contains(&k) { &mut told } else { &mut ignored };
        names.signatures.push(types::signature(function, dialect, say));
    }
    let ids: HashMap<Instance, FunctionId> =
        reached.instances.iter().enumerate().map(|(k, &i)| (i, FunctionId(k as u32))).collect();
    let mut program = Program::default();
    let mut marks = vec![];
    for &instance in &reached.instances {
        let (function, mark, found) = check_function(instance, &names, &reached, &ids, dialect);
        program.functions.push(function);
        marks.push(mark);
        diagnostics.extend(found);
    }
    diagnostics.extend(check_kernels(&reached, &program.functions, &marks));
    if !diagnostics.iter().any(Diagnostic::is_error) && !marks.iter().any(|m| m.broken) {
        diagnostics.extend(meetings::races(&program));
    }
    // What the parser complained about is missing in the tree.
    if marks.iter().any(|m| m.broken) {
        program = Program::default();
    }
    finish(program, diagnostics)
}

/// What can be said only about kernels as a whole: those in which everything is right so far.
fn check_kernels(reached: &Reached, functions: &[typed::Function], marks: &[Marks]) -> Vec<Diagnostic> {
    let mut callees: Vec<BTreeSet<FunctionId>> = vec![];
    for (k, function) in functions.iter().enumerate() {
        let mut all = BTreeSet::from([FunctionId(k as u32)]);
        let mut direct = BTreeSet::new();
        inside::each_call(&function.body, &mut |id| direct.extend([id]));
        all.extend(direct.iter().filter_map(|id| callees.get(id.0 as usize)).flatten());
        callees.push(all);
    }
    let copies = Copies::new(functions);
    let mut uniform = Uniform::new(functions, marks);
    let mut found = vec![];
    for (k, _) in reached.instances.iter().enumerate().filter(|(_, i)| reached.own.contains(i)) {
        let id = FunctionId(k as u32);
        let parts: Vec<FunctionId> = callees[k].iter().copied().collect();
        if parts.iter().any(|f| marks[f.0 as usize].broken) {
            continue;
        }
        budget::kernel(id, &parts, functions, marks, &mut |d| found.push(d));
        copies.kernel(id, &mut |d| found.push(d));
        uniform.kernel(id, &parts);
    }
    found.extend(uniform.found);
    found
}

/// In the order of the source, without repetitions: a function may have been looked at twice.
fn finish(program: Program, diagnostics: Vec<Diagnostic>) -> Checked {
    let mut told = HashSet::new();
    let mut sorted = diagnostics;
    sorted.retain(|d| told.insert((d.rule, d.span, d.message.clone())));
    sorted.sort_by_key(|d| (d.span.start, d.span.end));
    let broken = sorted.iter().any(Diagnostic::is_error);
    Checked { program: if broken { Program::default() } else { program }, diagnostics: sorted }
}

fn collect<'a>(file: &'a File, launched: &'a Launched, diagnostics: &mut Vec<Diagnostic>) -> Names<'a> {
    let mut names = Names {
        functions: vec![],
        by_name: HashMap::new(),
        foreign: HashMap::new(),
        host: HashMap::new(),
        constants: vec![],
        signatures: vec![],
    };
    for (place, item) in file.items.iter().enumerate() {
        match item {
            Item::Function(function) => {
                let function = launched.instead.get(&place).unwrap_or(function);
                let name = &function.name;
                if let Some(&first) = names.by_name.get(&name.text[..]) {
                    let first: &Function = names.functions[first];
                    let message = format!("there are two functions called `{}`", name.text);
                    let diagnostic = Diagnostic::error(rules::DUPLICATE, name.span, message);
                    diagnostics.push(
                        diagnostic.related(first.name.span, "the first one").help("give one of them another name"),
                    );
                    continue;
                }
                names.by_name.insert(&name.text, names.functions.len());
                names.functions.push(function);
            }
            Item::Foreign(name) => drop(names.foreign.insert(&name.text, name.span)),
            Item::Stmt(stmt) => {
                if let StmtKind::LetTuple { pattern, .. } = &stmt.kind {
                    names.host.extend(pattern.names().into_iter().map(|(name, _)| (&name.text[..], name.span)));
                }
                let StmtKind::Let { name, space, mutable, ty, value } = &stmt.kind else { continue };
                let ty = ty.as_ref();
                let value = value.as_ref();
                let span = stmt.span;
                match space {
                    Space::Constant => {
                        names.constants.push(Let { space: *space, mutable: *mutable, name, ty, value, span })
                    }
                    Space::Thread | Space::Threadgroup => drop(names.host.insert(&name.text, name.span)),
                }
            }
        }
    }
    for function in &launched.besides {
        if !names.by_name.contains_key(&function.name.text[..]) {
            names.by_name.insert(&function.name.text, names.functions.len());
            names.functions.push(function);
        }
    }
    names
}

/// One function with one meaning of `thread`.
fn check_function<'a>(
    instance: Instance,
    names: &Names<'a>,
    reached: &Reached,
    ids: &HashMap<Instance, FunctionId>,
    dialect: Dialect,
) -> (typed::Function, Marks, Vec<Diagnostic>) {
    let function = names.functions[instance.function];
    let signature = &names.signatures[instance.function];
    let mut body = Body {
        dialect,
        names,
        reached,
        ids,
        signature,
        function,
        inside_block: instance.inside_block,
        scopes: Scopes::default(),
        locals: vec![],
        arrays: vec![],
        loops: vec![],
        marks: Marks::default(),
        noted_thread: false,
        told_unreachable: false,
        constants: HashMap::new(),
        diagnostics: vec![],
    };
    body.scopes.open();
    for &constant in names.constants.iter().filter(|c| !declare::is_array(c) || mentions(function, &c.name.text)) {
        body.declaration(constant);
    }
    let params = declare_params(&mut body);
    let code = match reached.too_deep.get(&instance.function) {
        Some(&span) => {
            body.say(reach::too_deep(span));
            vec![]
        }
        None => body.function_body(&function.body),
    };
    let result = match signature.result {
        ResultType::Scalar(ty) => Some(ty),
        ResultType::None | ResultType::Wrong => None,
    };
    let launches =
        function.role == Role::Graph && signature.result == ResultType::None && reached.own.contains(&instance);
    let made = typed::Function {
        name: function.name.text.clone(),
        launches,
        unchecked: function.unchecked,
        as_written: function.as_written,
        params,
        result,
        locals: body.locals,
        arrays: body.arrays,
        body: code,
    };
    (made, body.marks, body.diagnostics)
}

/// Does a name stand anywhere in a function?
fn mentions(function: &Function, wanted: &str) -> bool {
    let mut found = false;
    visit(Node::Block(&function.body), &mut |node, _| {
        found |= matches!(node, Node::Expr(Expr { kind: ExprKind::Name(name), .. }) if name == wanted);
        !found
    });
    found
}

fn declare_params(body: &mut Body) -> Vec<Param> {
    body.scopes.open();
    let signature = body.signature;
    let mut params = vec![];
    for (number, (name, ty)) in signature.params.iter().enumerate() {
        let kind = match *ty {
            ParamType::Scalar(ty) => ParamKind::Scalar(body.declare(name, ty, Kind::Param, None), ty),
            ParamType::Tensor { elem, rank, flat, mutable } => {
                let memory = typed::MemoryRef::Param(number as u32);
                let origin = Origin::Tensor { flat };
                let text = name.text.clone();
                let span = name.span;
                let entity = Memory { name: text, memory, elem, rank, shape: None, mutable, origin, span };
                body.scopes.declare(&name.text, Entity::Memory(entity));
                ParamKind::Tensor { elem, rank, flat, mutable }
            }
            ParamType::Wrong => {
                body.marks.broken = true;
                body.scopes.declare(&name.text, Entity::Wrong);
                continue;
            }
        };
        params.push(Param { name: name.text.clone(), kind });
    }
    params
}
