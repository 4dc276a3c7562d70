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
//! Arguments and results lie as callers expect them, so they are left alone; so is what somebody takes whole, and what loops carry.

use crate::code::{Body, Id, Op, Stmt, Type};
use crate::ops::Operator;
use crate::program::Program;
use crate::size::Size;
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
        let mut count = vec![0; rank];
        for axis in reads.iter().filter(|axis| **axis < rank) {
            count[*axis] += 1;
        }
        of_maker(made, &mut count);
        let most = (0..rank).max_by_key(|&axis| (count[axis], axis)).unwrap_or(rank - 1);
        if most != rank - 1 && count[most] > count[rank - 1] {
            let mut shape = shape.clone();
            to_the_end(&mut shape, most);
            found.push(Turned { array: bind.id, last: most, shape, votes: [count[most], count[rank - 1]] });
        }
    }
    found
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

fn to_the_end<T>(list: &mut Vec<T>, place: usize) {
    let moved = list.remove(place);
    list.push(moved);
}
