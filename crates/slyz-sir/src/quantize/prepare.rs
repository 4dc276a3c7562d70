//! What depends on one argument alone, as a program of its own: it runs once for an argument that stays the same.

use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::pass::dce;
use crate::program::Program;
use std::collections::{HashMap, HashSet};

/// A program in parts.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What is made of one argument each.
    pub packs: Vec<Pack>,
    /// The rest.
    pub main: Program,
    /// What is passed for the parameters of the rest.
    pub sources: Vec<Source>,
}

/// A program over one argument of another.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Which argument.
    pub argument: usize,
    /// The program; it has the size variables of the whole.
    pub program: Program,
}

/// What is passed for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An argument of the whole.
    Argument(usize),
    /// A result of a pack.
    Packed {
        /// Which pack.
        pack: usize,
        /// Which of its results.
        result: usize,
    },
}

/// Cuts a program in parts: what depends on one of these arguments alone, and the rest.
pub fn prepare(program: &Program, arguments: &[usize]) -> Prepared {
    let mut rest =
        Rest { main: program.clone(), sources: (0..program.body.params.len()).map(Source::Argument).collect() };
    let mut packs = vec![];
    for &argument in arguments {
        packs.extend(rest.pack(program, argument, packs.len()));
    }
    rest.drop_unread();
    Prepared { packs, main: dce::run(rest.main), sources: rest.sources }
}

struct Rest {
    main: Program,
    sources: Vec<Source>,
}

impl Rest {
    /// Takes out what depends on an argument alone.
    fn pack(&mut self, whole: &Program, argument: usize, number: usize) -> Option<Pack> {
        let param = whole.body.params.get(argument)?.clone();
        let (mut own, mut free): (Vec<Stmt>, HashSet<Id>) = (vec![], HashSet::new());
        let mut made = HashSet::from([param.id]);
        for stmt in &self.main.body.stmts {
            let uses = uses(&stmt.op);
            // Constants and sizes go wherever they are read.
            let is_free = uses.iter().all(|id| free.contains(id));
            if !uses.iter().all(|id| made.contains(id) || free.contains(id)) || counts(&stmt.op) {
                continue;
            }
            let names = stmt.binds.iter().map(|bind| bind.id);
            if is_free {
                free.extend(names)
            } else {
                made.extend(names)
            }
            own.push(stmt.clone());
        }
        made.remove(&param.id);
        let arrays: HashMap<Id, Var> =
            own.iter().flat_map(|stmt| &stmt.binds).map(|bind| (bind.id, bind.clone())).collect();
        // Results: arrays that the rest reads.
        let mut read: Vec<Id> = self.main.body.results.clone();
        for stmt in self.main.body.stmts.iter().filter(|stmt| !stmt.binds.iter().any(|bind| made.contains(&bind.id))) {
            read.extend(uses(&stmt.op));
        }
        let mut results: Vec<Id> = vec![];
        for id in read {
            if made.contains(&id) && !results.contains(&id) {
                results.push(id);
            }
        }
        if results.is_empty() {
            return None;
        }
        let params: Vec<Var> = results.iter().filter_map(|id| arrays.get(id).cloned()).collect();
        if params.len() != results.len() || params.iter().any(|param| !matches!(param.ty, Type::Array(..))) {
            return None;
        }
        let body = Body { params: vec![param], stmts: own, results: results.clone() };
        let name = format!("{}_weight{argument}", whole.name);
        let program = Program { name, requires: vec![], body, names: Default::default(), ..whole.clone() };
        self.main.body.stmts.retain(|stmt| !stmt.binds.iter().any(|bind| made.contains(&bind.id)));
        self.main.body.params.extend(params);
        self.sources.extend((0..results.len()).map(|result| Source::Packed { pack: number, result }));
        Some(Pack { argument, program: dce::run(program) })
    }

    /// Parameters that nobody reads any more need not be passed.
    fn drop_unread(&mut self) {
        let mut read: HashSet<Id> = self.main.body.results.iter().copied().collect();
        self.main.body.stmts.iter().for_each(|stmt| read.extend(uses(&stmt.op)));
        let is_read: Vec<bool> = self.main.body.params.iter().map(|param| read.contains(&param.id)).collect();
        let mut keep = is_read.iter();
        self.main.body.params.retain(|_| keep.next().copied().unwrap_or(true));
        let mut keep = is_read.iter();
        self.sources.retain(|_| keep.next().copied().unwrap_or(true));
        // They stood for places that have moved.
        self.main.names = Default::default();
    }
}

/// Does it count into a size?
fn counts(op: &Op) -> bool {
    matches!(op, Op::Filter { .. })
}

/// The names outside that an operation mentions.
fn uses(op: &Op) -> Vec<Id> {
    let mut found = vec![];
    op.each_operand(&mut |id| found.push(id));
    op.bodies().iter().for_each(|body| body.each_free(&mut |id| found.push(id)));
    found
}
