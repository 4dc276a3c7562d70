//! Which arrays take over the memory of another one.
//!
//! An update is pure: the old array stays what it was. Where nobody reads it afterwards, the new one is written in its place.
//! That is so for an array that a statement of the same body made, or that a loop carries, and whose last use is the statement
//! that makes the new one, if each element is read before its place is written, and only by whoever writes it:
//!
//! | statement | the old array is |
//! |---|---|
//! | `scatter … onto (x)` | `x`, unless the values that are sent read it (the pass `stage` sees to that) |
//! | `tabulate` | read only at the position that is written, or only where nothing is written |
//! | `for`, `while` | what the state starts from |
//!
//! A tabulate whose elements are `select(c, v, x[p])` writes only where `c` holds. There it may also read elements that are not
//! written: those at a position `u` of an axis along which `c` says that the position is not `u`.
//!
//! Arguments of a call are not ours to write to.

use super::access::is_plain;
use crate::code::{Body, Id, Op, Stmt, Type};
use crate::ops::Operator;
use crate::program::Program;
use std::collections::{HashMap, HashSet};

/// How an array takes over the memory of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Takeover {
    /// The array whose memory it is.
    pub(super) of: Id,
    /// Elements are written only where this holds, and are this value there; both are names of the tabulate's body.
    pub(super) only: Option<(Id, Id)>,
    /// Elements stay that would have to be copied otherwise.
    pub(super) keeps: bool,
}

/// By the array that takes over.
pub(super) type Reuse = HashMap<Id, Takeover>;

/// All takeovers of a program.
pub(super) fn of(program: &Program) -> Reuse {
    let mut reuse = Reuse::new();
    walk(&program.body, &[], &mut reuse);
    reuse
}

/// A body, some of whose parameters are arrays of its own.
fn walk(body: &Body, params: &[Id], reuse: &mut Reuse) {
    let last = last_uses(body);
    let mut own: HashMap<Id, &Type> =
        body.params.iter().filter(|p| params.contains(&p.id)).map(|p| (p.id, &p.ty)).collect();
    for (place, stmt) in body.stmts.iter().enumerate() {
        let dies = |id: Id| own.contains_key(&id) && last.get(&id) == Some(&place);
        let mut taken = HashSet::new();
        match &stmt.op {
            Op::Scatter { onto, body: sent, .. } => {
                let mut reads = HashSet::new();
                sent.each_free(&mut |id| {
                    reads.insert(id);
                });
                for (bind, &old) in stmt.binds.iter().zip(onto) {
                    let once = onto.iter().filter(|id| **id == old).count() == 1;
                    if once && dies(old) && !reads.contains(&old) {
                        reuse.insert(bind.id, Takeover { of: old, only: None, keeps: true });
                    }
                }
            }
            Op::Tabulate { body: item, .. } if is_plain(item) => {
                for (bind, &result) in stmt.binds.iter().zip(&item.results) {
                    let fits = |(&id, &ty): (&Id, &&Type)| (*ty == bind.ty && dies(id)).then_some(id);
                    let mut old: Vec<Id> = own.iter().filter_map(fits).filter(|id| !taken.contains(id)).collect();
                    old.sort();
                    // One that it reads, if there is a choice: that is in the cache.
                    if let Some((id, only)) = old.into_iter().find_map(|id| Some((id, overwrites(item, result, id)?))) {
                        taken.insert(id);
                        reuse.insert(bind.id, Takeover { of: id, only, keeps: only.is_some() });
                    }
                }
            }
            Op::For { init, .. } | Op::While { init, .. } => {
                let mut inside = HashSet::new();
                stmt.op.bodies().into_iter().for_each(|b| {
                    b.each_free(&mut |id| {
                        inside.insert(id);
                    })
                });
                for (bind, &old) in stmt.binds.iter().zip(init) {
                    let once = init.iter().filter(|id| **id == old).count() == 1;
                    if once && dies(old) && !inside.contains(&old) && !bind.ty.shape().is_empty() {
                        reuse.insert(bind.id, Takeover { of: old, only: None, keeps: true });
                    }
                }
            }
            _ => {}
        }
        let carried: Vec<Id> = match &stmt.op {
            Op::For { body, .. } | Op::While { body, .. } => body.params.iter().map(|p| p.id).collect(),
            _ => vec![],
        };
        stmt.op.bodies().into_iter().for_each(|inner| walk(inner, &carried, reuse));
        let makes = matches!(stmt.op, Op::Tabulate { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Sort { .. })
            || matches!(stmt.op, Op::For { .. } | Op::While { .. });
        if makes {
            own.extend(stmt.binds.iter().filter(|b| !b.ty.shape().is_empty()).map(|b| (b.id, &b.ty)));
        }
    }
}

/// The last statement of the body that uses each name, bodies inside included; past the end for what the body gives back.
fn last_uses(body: &Body) -> HashMap<Id, usize> {
    let mut last = HashMap::new();
    for (place, stmt) in body.stmts.iter().enumerate() {
        stmt.op.each_operand(&mut |id| {
            last.insert(id, place);
        });
        for inner in stmt.op.bodies() {
            inner.each_free(&mut |id| {
                last.insert(id, place);
            });
        }
    }
    last.extend(body.results.iter().map(|&id| (id, usize::MAX)));
    last
}

/// May a tabulate write this result over that array? Then where, if not everywhere.
fn overwrites(item: &Body, result: Id, old: Id) -> Option<Option<(Id, Id)>> {
    let own: Vec<Id> = item.params.iter().map(|p| p.id).collect();
    let defs: HashMap<Id, &Op> = item.stmts.iter().flat_map(|s| s.binds.iter().map(move |b| (b.id, &s.op))).collect();
    let only = only_where(&defs, result, old, &own);
    let excluded = only.map_or(vec![], |(cond, _)| differences(&defs, cond, &own));
    let mut reads = vec![];
    if !collect_reads(item, old, &mut reads) {
        return None;
    }
    let bound: HashSet<Id> = item.names().collect();
    let safe = |index: &Vec<Id>| {
        let unwritten = |(axis, at): (usize, &Id)| !bound.contains(at) && excluded.contains(&(axis, *at));
        *index == own || index.iter().enumerate().any(unwritten)
    };
    reads.iter().all(safe).then_some(only)
}

/// `select(c, v, x[p])` at the own position: `c` and `v`.
fn only_where(defs: &HashMap<Id, &Op>, result: Id, old: Id, own: &[Id]) -> Option<(Id, Id)> {
    let Op::Apply(Operator::Select, args) = defs.get(&result)? else { return None };
    let &[cond, value, otherwise] = &args[..] else { return None };
    match defs.get(&otherwise)? {
        Op::At { array, index } if *array == old && index == own => Some((cond, value)),
        _ => None,
    }
}

/// The axes along which a condition says that the position is another than some name: `i > u`, `i < u`, `i != u`.
fn differences(defs: &HashMap<Id, &Op>, cond: Id, own: &[Id]) -> Vec<(usize, Id)> {
    let mut found = vec![];
    let mut open = vec![cond];
    while let Some(id) = open.pop() {
        let Some(Op::Apply(operator, args)) = defs.get(&id) else { continue };
        match (operator, &args[..]) {
            (Operator::And, _) => open.extend(args),
            (Operator::Gt | Operator::Lt | Operator::Ne, &[a, b]) => {
                for (position, other) in [(a, b), (b, a)] {
                    found.extend(own.iter().position(|&p| p == position).map(|axis| (axis, other)));
                }
            }
            _ => {}
        }
    }
    found
}

/// What became of an update, or of an array that a loop carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The type of the array.
    pub ty: Type,
    /// Is it changed in place?
    pub in_place: bool,
    /// Why, or why not.
    pub why: &'static str,
}

/// All updates of a program, and all arrays that its loops carry.
pub fn updates(program: &Program) -> Vec<Update> {
    let program = &*super::stage::staged(program);
    let reuse = of(program);
    let mut found = vec![];
    let arguments: HashSet<Id> = program.body.params.iter().map(|p| p.id).collect();
    collect_updates(&program.body, &reuse, &arguments, &mut found);
    found
}

fn collect_updates(body: &Body, reuse: &Reuse, arguments: &HashSet<Id>, found: &mut Vec<Update>) {
    let root = |array: Id| {
        let mut root = array;
        while let Some(over) = reuse.get(&root) {
            root = over.of;
        }
        root
    };
    for stmt in &body.stmts {
        match &stmt.op {
            Op::Scatter { onto, .. } => {
                for (bind, old) in stmt.binds.iter().zip(onto) {
                    let in_place = reuse.contains_key(&bind.id);
                    let why = match in_place {
                        true => "nobody reads the old array afterwards",
                        false if arguments.contains(old) => "the old array is an argument of the call",
                        false => "the old array is read afterwards, or was not made here",
                    };
                    found.push(Update { ty: bind.ty.clone(), in_place, why });
                }
            }
            Op::For { body: turn, .. } | Op::While { body: turn, .. } => {
                let first = turn.params.len() - turn.results.len();
                for (bind, (param, &result)) in stmt.binds.iter().zip(turn.params[first..].iter().zip(&turn.results)) {
                    if bind.ty.shape().is_empty() {
                        continue;
                    }
                    let in_place = root(result) == param.id;
                    let why = match in_place {
                        true => "a turn writes over what it has read",
                        false => "a turn reads what it would have written over",
                    };
                    found.push(Update { ty: bind.ty.clone(), in_place, why });
                }
            }
            _ => {}
        }
        stmt.op.bodies().into_iter().for_each(|inner| collect_updates(inner, reuse, arguments, found));
    }
}

/// The part of an array that a tabulate writes, as far as it is a box: tests of single positions.
pub(super) struct Region {
    pub(super) tests: Vec<Test>,
    /// The condition says no more than the tests.
    pub(super) is_whole: bool,
}

/// A test of the position on one axis.
#[derive(Clone, Copy)]
pub(super) struct Test {
    pub(super) axis: usize,
    /// `Gt`, `Ge`, `Lt` or `Le`: the position is that to the bound.
    pub(super) operator: Operator,
    /// A name from outside of the body, or the position on an axis before it.
    pub(super) bound: Id,
}

/// The region where a condition of a tabulate's body holds.
pub(super) fn region(body: &Body, cond: Id) -> Region {
    let own: Vec<Id> = body.params.iter().map(|p| p.id).collect();
    let bound: HashSet<Id> = body.names().collect();
    let defs: HashMap<Id, &Op> = body.stmts.iter().flat_map(|s| s.binds.iter().map(move |b| (b.id, &s.op))).collect();
    let mut region = Region { tests: vec![], is_whole: true };
    let mut open = vec![cond];
    while let Some(id) = open.pop() {
        match defs.get(&id) {
            Some(Op::Apply(Operator::And, args)) => open.extend(args),
            Some(Op::Apply(operator, args)) if let Some(test) = test(*operator, args, &own, &bound) => {
                region.tests.push(test);
            }
            _ => region.is_whole = false,
        }
    }
    region
}

fn test(operator: Operator, args: &[Id], own: &[Id], inside: &HashSet<Id>) -> Option<Test> {
    let turned = match operator {
        Operator::Gt => Operator::Lt,
        Operator::Ge => Operator::Le,
        Operator::Lt => Operator::Gt,
        Operator::Le => Operator::Ge,
        _ => return None,
    };
    let &[a, b] = args else { return None };
    [(a, b, operator), (b, a, turned)].into_iter().find_map(|(position, bound, operator)| {
        let axis = own.iter().position(|&p| p == position)?;
        let before = own[..axis].contains(&bound);
        (before || !inside.contains(&bound)).then_some(Test { axis, operator, bound })
    })
}

/// Where the body reads an array; `false` if it uses it in another way.
fn collect_reads(body: &Body, array: Id, reads: &mut Vec<Vec<Id>>) -> bool {
    let only_reads = |stmt: &Stmt, reads: &mut Vec<Vec<Id>>| {
        if let Op::At { array: from, index } = &stmt.op {
            if *from == array {
                reads.push(index.clone());
            }
            return true;
        }
        let mut used = false;
        stmt.op.each_operand(&mut |id| used |= id == array);
        !used && stmt.op.bodies().into_iter().all(|inner| collect_reads(inner, array, reads))
    };
    !body.results.contains(&array) && body.stmts.iter().all(|stmt| only_reads(stmt, reads))
}
