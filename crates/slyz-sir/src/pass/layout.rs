//! `layout`: arrays that are kept between launches lie as those who read them go over them.
//!
//! ```text
//! t = tabulate [N, M] |i, j| { f(i, j) }             t = tabulate [M, N] |j, i| { f(i, j) }
//! u = tabulate [M, N] |j, i| { … t[i, j] … }    →    u = tabulate [M, N] |j, i| { … t[j, i] … }
//! v = tabulate [M, N] |j, i| { … t[i, j] … }         v = tabulate [M, N] |j, i| { … t[j, i] … }
//! ```
//!
//! Arrays lie row by row, so whoever goes down a column touches a line of memory for each element. Each read of the array is one vote: for the
//! axis that the loop around it, or the vectors and threads that run it, move along by one. What its maker reads votes too, since the maker goes over its own axes in the order in which
//! it writes. A read that goes well along several axes votes for each. The axis with most votes comes last in memory; where none has more than the one that is last already, nothing changes.
//!
//! Arguments and results lie as callers expect them, so they are left alone; so is what somebody takes whole, and what loops carry. Arguments that
//! stay the same from call to call are another matter ([`turn_arguments`]): a copy in the order of its readers is made once.

use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::ops::Operator;
use crate::program::Program;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Lines, Write};
use std::collections::{HashMap, HashSet};

/// An array that lies otherwise than it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turned {
    /// The array.
    pub array: Id,
    /// The axis that is last in memory.
    pub last: usize,
    /// The extents in the order of memory.
    pub shape: Vec<Size>,
    /// Reads that go along that axis, and along the one that was last.
    pub votes: [usize; 2],
}

/// The program with its arrays as they are read.
pub fn run(mut program: Program) -> Program {
    for Turned { array, last, .. } in turned(&program) {
        turn(&mut program.body, array, last);
    }
    program
}

/// The arrays that are better off otherwise.
pub fn turned(program: &Program) -> Vec<Turned> {
    let body = &program.body;
    let mut votes = Votes::default();
    votes.of_body(body, Moving::default());
    votes.whole.extend(&body.results);
    let mut found = vec![];
    for stmt in &body.stmts {
        let (Op::Tabulate { shape, body: made }, [bind]) = (&stmt.op, &stmt.binds[..]) else { continue };
        let rank = shape.len();
        // Rows that bodies give are written whole.
        if rank < 2 || bind.ty.shape().len() != rank || votes.whole.contains(&bind.id) {
            continue;
        }
        let Some(reads) = votes.reads.get(&bind.id) else { continue };
        let mut count = counted(reads, rank);
        of_maker(made, &mut count);
        found.extend(better(bind.id, shape, &count));
    }
    found
}

/// A program whose arguments of these numbers stay the same from call to call: those that are read across get a copy in front of all else that
/// lies as most reads go over it. The copy depends on its argument alone, and whoever runs the program makes it once
/// ([`prepare`](mod@crate::prepare)).
pub fn turn_arguments(mut program: Program, arguments: &[usize]) -> (Program, Vec<Turned>) {
    let mut votes = Votes::default();
    votes.of_body(&program.body, Moving::default());
    votes.whole.extend(&program.body.results);
    let mut lines = Lines::new(program.fresh_ids());
    let mut found = vec![];
    for param in arguments.iter().filter_map(|&argument| program.body.params.get(argument)) {
        let shape = param.ty.shape();
        let Some(reads) = votes.reads.get(&param.id).filter(|_| shape.len() >= 2) else { continue };
        if votes.whole.contains(&param.id) {
            continue;
        }
        let Some(turned) = better(param.id, shape, &counted(reads, shape.len())) else { continue };
        let copy = turned_copy(&mut lines, &turned, param.ty.elem());
        found.push((turned, copy));
    }
    let body = &mut program.body;
    for (turned, copy) in &found {
        body.stmts.iter_mut().for_each(|stmt| {
            read_turned(&mut stmt.op, turned.array, turned.last);
            read_another(&mut stmt.op, turned.array, *copy);
        });
    }
    body.stmts.splice(0..0, lines.take());
    (program, found.into_iter().map(|(turned, _)| turned).collect())
}

/// The elements of an array in their new order.
fn turned_copy(lines: &mut Lines, turned: &Turned, ty: Ty) -> Id {
    let body = lines.nested(&vec![Ty::I64; turned.shape.len()], |w, at| {
        let mut index = at.to_vec();
        if let Some(moved) = index.pop() {
            index.insert(turned.last, moved);
        }
        vec![w.push(Op::At { array: turned.array, index }, ty)]
    });
    let id = lines.fresh();
    let binds = vec![Var { id, ty: Type::Array(ty, turned.shape.clone()) }];
    lines.out().push(Stmt { binds, op: Op::Tabulate { shape: turned.shape.clone(), body } });
    id
}

/// How many reads go along each axis.
fn counted(reads: &[usize], rank: usize) -> Vec<usize> {
    let mut count = vec![0; rank];
    for axis in reads.iter().filter(|axis| **axis < rank) {
        count[*axis] += 1;
    }
    count
}

/// The order that most votes are for, if it is another.
fn better(array: Id, shape: &[Size], count: &[usize]) -> Option<Turned> {
    let own = shape.len() - 1;
    let most = (0..=own).max_by_key(|&axis| (count[axis], axis)).unwrap_or(own);
    if most == own || count[most] <= count[own] {
        return None;
    }
    let mut shape = shape.to_vec();
    to_the_end(&mut shape, most);
    Some(Turned { array, last: most, shape, votes: [count[most], count[own]] })
}

/// Who reads arrays along which axes.
#[derive(Default)]
struct Votes {
    /// The axes that the reads of an array go well along.
    reads: HashMap<Id, Vec<usize>>,
    /// Arrays that somebody takes otherwise than element by element.
    whole: HashSet<Id>,
}

/// The positions that move fast around some code: vectors and threads go along the last axis of a whole array, loops along their own.
#[derive(Clone, Copy, Default)]
struct Moving {
    lanes: Option<Id>,
    innermost: Option<Id>,
}

impl Votes {
    fn of_body(&mut self, body: &Body, moving: Moving) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::At { array, index } => {
                    let along = |position: Id| index.iter().rposition(|&at| moves_with(at, position, &body.stmts));
                    let mut axes: Vec<usize> =
                        [moving.lanes, moving.innermost].into_iter().flatten().filter_map(along).collect();
                    axes.dedup();
                    self.reads.entry(*array).or_default().extend(axes);
                }
                op => op.each_operand(&mut |id| self.whole.extend([id])),
            }
            for inner in stmt.op.bodies() {
                self.of_body(inner, moving.inside(&stmt.op, inner));
                self.whole.extend(&inner.results);
            }
        }
    }
}

impl Moving {
    fn inside(self, op: &Op, body: &Body) -> Moving {
        let position = match op {
            Op::Tabulate { .. } | Op::Fold { .. } | Op::Scan { .. } | Op::Scatter { .. } | Op::Filter { .. } => {
                body.params.last()
            }
            Op::For { .. } => body.params.first(),
            _ => None,
        };
        let position = position.map(|param| param.id);
        Moving { lanes: self.lanes.or(position), innermost: position.or(self.innermost) }
    }
}

/// What the maker of an array reads, as votes for the axes of the array: a read whose last axis moves by one with one of the maker's positions
/// wants that position to move fastest.
fn of_maker(made: &Body, count: &mut [usize]) {
    for stmt in &made.stmts {
        if let Op::At { index, .. } = &stmt.op
            && let Some(last) = index.last()
            && let Some(axis) = made.params.iter().position(|param| moves_with(*last, param.id, &made.stmts))
        {
            count[axis] += 1;
        }
    }
}

/// Does an index move by one when a position does? It is the position, or that and something that does not move.
fn moves_with(at: Id, position: Id, stmts: &[Stmt]) -> bool {
    if at == position {
        return true;
    }
    let made = stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == at));
    match made.map(|stmt| &stmt.op) {
        Some(Op::Apply(Operator::Add | Operator::Sub | Operator::Min | Operator::Max | Operator::Clamp, args)) => {
            args.first() == Some(&position) || args.get(1) == Some(&position)
        }
        _ => false,
    }
}

/// Puts an axis of an array last, where it is made and where it is read.
fn turn(body: &mut Body, array: Id, last: usize) {
    for stmt in &mut body.stmts {
        if let (Op::Tabulate { shape, body: made }, [bind]) = (&mut stmt.op, &mut stmt.binds[..])
            && bind.id == array
        {
            to_the_end(shape, last);
            to_the_end(&mut made.params, last);
            bind.ty = Type::Array(bind.ty.elem(), shape.clone());
        }
        read_turned(&mut stmt.op, array, last);
    }
}

fn read_turned(op: &mut Op, array: Id, last: usize) {
    if let Op::At { array: read, index } = op
        && *read == array
    {
        to_the_end(index, last);
    }
    for body in op.bodies_mut() {
        body.stmts.iter_mut().for_each(|stmt| read_turned(&mut stmt.op, array, last));
    }
}

/// Has reads of an array read another.
fn read_another(op: &mut Op, array: Id, other: Id) {
    if let Op::At { array: read, .. } = op
        && *read == array
    {
        *read = other;
    }
    for body in op.bodies_mut() {
        body.stmts.iter_mut().for_each(|stmt| read_another(&mut stmt.op, array, other));
    }
}

fn to_the_end<T>(list: &mut Vec<T>, place: usize) {
    let moved = list.remove(place);
    list.push(moved);
}
