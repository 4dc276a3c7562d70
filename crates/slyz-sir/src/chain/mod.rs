//! Programs that are called one after another, as one program.
//!
//! ```text
//! t = scale(x, 2)      program scale_relu(x, 2):       what reads a result reads it inside the program,
//! y = relu(t)      →     t = …                         so that the passes fuse it;
//! (t is not asked for)   y = …                         what nobody asks for is no result
//!                        return y
//! ```
//!
//! The sizes of the calls are known, and sizes with one value are one size: that is how `relu` over `L` elements fits what `matmul` gives, `M×N`
//! of them. A map over a flat array takes the shape of its neighbours (`flat`). Where shapes do not fit, the chain ends.
//!
//! | file | what |
//! |---|---|
//! | `flat` | maps over flat arrays, in the shape of what they are next to |
//! | `sizes` | one size for each value |

mod flat;
mod sizes;

use crate::choices::Precision;
use crate::code::{Body, FnId, Function, Id, Op, Type, Var};
use crate::names::Names;
use crate::program::Program;
use crate::size::{SizeDecl, SizeOrigin, SizeVar};
use crate::verify;
use sizes::Sizes;
use std::collections::HashMap;

/// A call among others.
#[derive(Clone, Debug)]
pub struct Link<'p> {
    /// What is called.
    pub program: &'p Program,
    /// The values of its size variables.
    pub sizes: &'p [u64],
    /// Where its arguments come from.
    pub args: Vec<Source>,
}

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Given to the whole chain; the caller counts what it gives.
    Outside(usize),
    /// A result of an earlier call.
    Result(Given),
}

/// A result of a call: its place among the calls, and its own among the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Given {
    /// Which call.
    pub link: usize,
    /// Which result.
    pub number: usize,
}

/// Calls as one.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The program.
    pub program: Program,
    /// The values of its size variables.
    pub sizes: Vec<u64>,
    /// What is passed for its parameters: which of the outside, and in what shape. The elements are the same, row by row.
    pub params: Vec<(usize, Vec<u64>)>,
}

/// Calls that are not one program: those before this one are, if there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut(pub usize);

/// The calls as one program, with these results.
pub fn chain(links: &[Link<'_>], wanted: &[Given]) -> Result<Chain, Cut> {
    let precision = one_precision(links)?;
    let calls =
        links.iter().enumerate().map(|(at, link)| Call::of(link).ok_or(Cut(at))).collect::<Result<Vec<_>, _>>()?;
    let shapes = flat::shapes(links, &calls)?;
    let mut sizes = Sizes::of(&calls, &shapes);
    let mut parts = Parts::default();
    for (at, (link, call)) in links.iter().zip(&calls).enumerate() {
        let body = match &shapes[at] {
            Some(shape) => flat::reshaped(&call.body, shape, &mut parts.next),
            None => Some(call.body.clone()),
        };
        let body = body.and_then(|body| sizes.renamed(body, call)).ok_or(Cut(at))?;
        parts.add(link, body).ok_or(Cut(at))?;
    }
    let results: Option<Vec<Id>> = wanted.iter().map(|given| parts.result(*given)).collect();
    let Parts { functions, params, stmts, names, .. } = parts;
    let (from, vars): (Vec<usize>, Vec<Var>) = params.into_iter().unzip();
    let (decls, values) = sizes.declared();
    let body = Body { params: vars, stmts, results: results.ok_or(Cut(0))? };
    let program = Program { name: name(links), sizes: decls, functions, requires: vec![], precision, names, body };
    let verified = verify::program(&program);
    debug_assert_eq!(verified, Ok(()), "{program}");
    verified.map_err(|_| Cut(0))?;
    let value = |SizeVar(var): SizeVar| values.get(var as usize).copied();
    let shape = |var: &Var| var.ty.shape().iter().map(|size| size.eval(&value).ok()).collect::<Option<Vec<u64>>>();
    let shapes: Option<Vec<_>> = program.body.params.iter().map(shape).collect();
    let params = from.into_iter().zip(shapes.ok_or(Cut(0))?).collect();
    Ok(Chain { program, sizes: values, params })
}

fn one_precision(links: &[Link<'_>]) -> Result<Option<Precision>, Cut> {
    let first = links.first().and_then(|link| link.program.precision);
    match links.iter().position(|link| link.program.precision != first) {
        Some(other) => Err(Cut(other)),
        None => Ok(first),
    }
}

/// Characters of a name that is made of many.
const LONGEST_NAME: usize = 60;

fn name(links: &[Link<'_>]) -> String {
    let mut name = String::new();
    for link in links {
        if name.len() + link.program.name.len() > LONGEST_NAME {
            return format!("{name}_and_more");
        }
        let between = if name.is_empty() { "" } else { "_" };
        name = name + between + &link.program.name;
    }
    name
}

/// A call whose sizes are known.
struct Call<'p> {
    values: &'p [u64],
    decls: &'p [SizeDecl],
    body: Body,
    /// The shapes of its parameters and results, in numbers.
    params: Vec<Vec<u64>>,
    results: Vec<Vec<u64>>,
}

impl<'p> Call<'p> {
    fn of(link: &Link<'p>) -> Option<Call<'p>> {
        let program = link.program;
        let known = program.sizes.iter().all(|size| size.origin == SizeOrigin::Given);
        let told = program.sizes.len() == link.sizes.len() && program.body.params.len() == link.args.len();
        if !known || !told {
            return None;
        }
        let value = |SizeVar(var): SizeVar| link.sizes.get(var as usize).copied();
        let shape = |ty: &Type| ty.shape().iter().map(|size| size.eval(&value).ok()).collect::<Option<Vec<u64>>>();
        let body = program.body.clone();
        let mut types = HashMap::new();
        for var in body.params.iter().chain(body.stmts.iter().flat_map(|stmt| &stmt.binds)) {
            types.insert(var.id, &var.ty);
        }
        let params = body.params.iter().map(|param| shape(&param.ty)).collect::<Option<_>>()?;
        let results = body.results.iter().map(|id| shape(types.get(id)?)).collect::<Option<_>>()?;
        Some(Call { values: link.sizes, decls: &program.sizes, body, params, results })
    }
}

/// The program under construction.
#[derive(Default)]
struct Parts {
    next: u32,
    functions: Vec<Function>,
    /// As they were in their programs.
    originals: Vec<Function>,
    /// What is passed, by its number outside, and the parameter.
    params: Vec<(usize, Var)>,
    stmts: Vec<crate::code::Stmt>,
    results: Vec<Vec<Id>>,
    names: Names,
}

impl Parts {
    /// Adds a call. Nothing where something is passed that cannot be.
    fn add(&mut self, link: &Link<'_>, mut body: Body) -> Option<()> {
        let functions = self.add_functions(&link.program.functions);
        renumber_calls(&mut body, &functions);
        let mut args = vec![];
        for (param, source) in body.params.iter().zip(&link.args) {
            args.push(match *source {
                Source::Result(given) => self.result(given)?,
                Source::Outside(outside) => self.param(outside, &param.ty, link.program.names.get(param.id)),
            });
        }
        let next = &mut self.next;
        let mut fresh = || {
            *next += 1;
            Id(*next)
        };
        let Body { stmts, results, .. } = body.instantiate(&args, &mut fresh);
        self.stmts.extend(stmts);
        self.results.push(results);
        Some(())
    }

    fn param(&mut self, outside: usize, ty: &Type, name: Option<&str>) -> Id {
        let known = self.params.iter().find(|(from, var)| *from == outside && var.ty == *ty);
        if let Some((_, var)) = known {
            return var.id;
        }
        self.next += 1;
        let id = Id(self.next);
        if let Some(name) = name {
            self.names.note(id, name);
        }
        self.params.push((outside, Var { id, ty: ty.clone() }));
        id
    }

    fn result(&self, given: Given) -> Option<Id> {
        self.results.get(given.link)?.get(given.number).copied()
    }

    /// The new numbers of the functions of a program.
    fn add_functions(&mut self, functions: &[Function]) -> Vec<FnId> {
        let mut numbers: Vec<FnId> = vec![];
        for function in functions {
            let mut function = function.clone();
            renumber_calls(&mut function.body, &numbers);
            let same = self.originals.iter().position(|known| *known == function);
            let place = same.unwrap_or_else(|| {
                self.originals.push(function.clone());
                let taken = |name: &str, known: &[Function]| known.iter().any(|known| known.name == name);
                let first = function.name.clone();
                let mut number = 1;
                while taken(&function.name, &self.functions) {
                    number += 1;
                    function.name = format!("{first}_{number}");
                }
                // Names of values are unique in a whole program.
                let next = &mut self.next;
                function.body = function.body.freshened(&mut || {
                    *next += 1;
                    Id(*next)
                });
                self.functions.push(function);
                self.functions.len() - 1
            });
            numbers.push(FnId(place as u32));
        }
        numbers
    }
}

fn renumber_calls(body: &mut Body, numbers: &[FnId]) {
    for stmt in &mut body.stmts {
        if let Op::Call(function, _) = &mut stmt.op {
            *function = numbers.get(function.0 as usize).copied().unwrap_or(*function);
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| renumber_calls(inner, numbers));
    }
}
