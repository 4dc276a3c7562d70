//! Element-wise work: one position a thread, or several, so that enough reads are under way at once.
//!
//! Where every array is read at the position itself, the axes are one long axis and a thread takes neighbours with
//! accesses as wide as the machine likes them. Other short bodies take positions that are far apart, which leaves neighbouring
//! threads at neighbouring elements. All positions of a share are computed before the first result is stored. Bodies with loops,
//! and long ones, have enough to do with one position.

use super::plan::Gpu;
use super::threads::{Share, each_share};
use crate::code::{Body, Id, MemId, Op, Stmt, Type};
use crate::kernel::{Access, BufferId};
use crate::lower::access::is_flat;
use crate::lower::writer::{Element, KernelWriter, Mode};
use crate::size::Size;
use std::collections::HashSet;

/// Positions of a thread that takes several.
const SHARE: u64 = 4;
/// The same for neighbours on a small machine, where the body is so short that what a thread does once is much of the work. On
/// a large one neighbouring threads would read too far apart.
const LARGE_SHARE: u64 = 8;
/// The most statements of such a body.
const TINY: usize = 16;
/// The most statements of a body that is written several times.
const SHORT: usize = 100;
/// What functions of mathematics cost at least, in additions.
const MATHEMATICS: u32 = 14;
/// Positions from which on threads that take several leave no part of a machine idle.
const MANY: u64 = 1 << 16;
/// Positions along a dimension from which on most shares are whole ones.
const LONG: u64 = 16 * SHARE;

impl<'g> Gpu<'g> {
    /// A tabulate whose body one thread runs.
    pub(super) fn map(
        &mut self,
        stmt: &'g Stmt,
        shape: &'g [Size],
        body: &'g Body,
        outputs: Vec<(BufferId, Vec<Size>)>,
    ) {
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        let (share, flat) = self.share(shape, body, &positions);
        let name = self.base.kernel_name("map");
        let mut w = KernelWriter::new(&self.base, name, Size::Const(1));
        w.bind_globals(&stmt.op);
        let homes: Vec<MemId> = outputs.into_iter().map(|(b, shape)| w.global(b, Access::Write, shape)).collect();
        let line = [Size::product(shape)];
        if flat {
            w.flatten_memories(shape, &line[0]);
        }
        let neighbours = Neighbours::new(body, self.machine.vector_bytes);
        let shape = if flat { &line } else { shape };
        each_share(&mut w, &self.machine, shape, share, &mut |w, places| {
            if !flat {
                let elements: Vec<Vec<Element>> = places.iter().map(|at| w.elements(&stmt.binds, body, at)).collect();
                for (k, &memory) in homes.iter().enumerate() {
                    places.iter().zip(&elements).for_each(|(at, all)| w.put(memory, at.clone(), all[k]));
                }
                return;
            }
            let values = neighbours.run(w, places[0][0], places.len() as u64);
            for (k, &memory) in homes.iter().enumerate() {
                let values: Vec<Id> = values.iter().map(|v| v[k]).collect();
                w.store_neighbours(memory, places[0][0], &values, self.machine.vector_bytes);
            }
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }

    /// What a thread takes, and whether the axes are one long one.
    fn share(&self, shape: &[Size], body: &Body, positions: &[Id]) -> (Share, bool) {
        if self.machine.vector_bytes == 0 || !self.is_short(body) {
            return (Share::One, false);
        }
        let flat = match positions {
            [position] => is_line(body, *position),
            _ => {
                let same = |array: Id| matches!(self.base.types.get(&array), Some(Type::Array(_, s)) if s == shape);
                is_flat(body, positions, &same)
            }
        };
        let all = self.expected.about(&Size::product(shape));
        let tiny =
            self.machine.is_small() && self.length(body).is_some_and(|n| n <= TINY) && all.is_none_or(|n| n >= MANY);
        if flat && all.is_none_or(|n| n >= SHARE) {
            return (Share::Neighbours(if tiny { LARGE_SHARE } else { SHARE }), true);
        }
        if self.machine.cuts_launches() {
            // What is far apart is not in one piece.
            return (Share::One, false);
        }
        let extents = {
            let (outer, inner) = shape.split_at(shape.len() - shape.len().min(3) + 1);
            inner.iter().rev().cloned().chain([Size::product(outer)]).collect::<Vec<Size>>()
        };
        // The next rows of the same column, so that what all rows read is read once; else planes, else columns.
        let long = |k: &usize| extents.get(*k).is_some_and(|n| self.expected.about(n).is_none_or(|n| n >= LONG));
        match [1, 2, 0].into_iter().find(long).filter(|_| all.is_none_or(|n| n >= MANY)) {
            Some(dimension) => (Share::Apart(dimension, SHARE), false),
            None => (Share::One, false),
        }
    }

    /// Is the code worth writing several times: few statements, no loops, no arrays of its own?
    pub(super) fn is_short(&self, body: &Body) -> bool {
        self.length(body).is_some_and(|n| n <= SHORT)
    }

    /// The number of statements, unless some of them may take long.
    pub(super) fn length(&self, body: &Body) -> Option<usize> {
        let mut count = body.stmts.len();
        for stmt in &body.stmts {
            match &stmt.op {
                Op::If { then, otherwise, .. } => count += self.length(then)? + self.length(otherwise)?,
                Op::Call(function, _) => {
                    let inner = self.length(&self.base.program.functions[function.0 as usize].body)?;
                    // What stays a function in the kernel is not written again.
                    count += if self.base.written_out(*function).is_some() { inner } else { 0 };
                }
                // Without `fma` functions of mathematics are long, and compilers take long over them.
                Op::Apply(operator, _) if !self.machine.fused && operator.row().cost >= MATHEMATICS => {
                    count += SHORT / 4
                }
                op if op.bodies().is_empty() => {}
                _ => return None,
            }
        }
        Some(count)
    }
}

/// A body whose arrays are one long axis, run at neighbours.
pub(super) struct Neighbours<'g> {
    body: &'g Body,
    positions: Vec<Id>,
    /// What is read at the position itself.
    arrays: Vec<Id>,
    /// The most bytes of an access.
    bytes: u32,
}

impl<'g> Neighbours<'g> {
    pub(super) fn new(body: &'g Body, bytes: u32) -> Self {
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        Neighbours { body, arrays: read_at(body, &positions), positions, bytes }
    }

    /// Is anything read at the position itself?
    pub(super) fn reads(&self) -> bool {
        !self.arrays.is_empty()
    }

    /// What the body gives at each of `count` neighbours, the first at a multiple of their number.
    pub(super) fn run(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: u64) -> Vec<Vec<Id>> {
        let load = |&array: &Id| (array, w.load_neighbours(array, first, count, self.bytes));
        let loaded: Vec<(Id, Vec<Id>)> = if count > 1 { self.arrays.iter().map(load).collect() } else { vec![] };
        let mut all = vec![];
        for k in 0..count {
            let at = w.offset(first, k as i64);
            let here = loaded.iter().map(|(array, ids)| (*array, ids[k as usize])).collect();
            w.set_loaded(self.positions.clone(), at, here);
            // Positions on several axes are not used otherwise: any value will do.
            all.push(w.run(self.body, &vec![at; self.positions.len()], Mode::Lane));
        }
        all
    }
}

/// Is every read at the position itself, or at a place that is the same for all positions?
pub(super) fn is_line(body: &Body, position: Id) -> bool {
    fn bound(body: &Body, names: &mut HashSet<Id>) {
        names.extend(body.params.iter().map(|p| p.id));
        for stmt in &body.stmts {
            names.extend(stmt.binds.iter().map(|b| b.id));
            stmt.op.bodies().into_iter().for_each(|b| bound(b, names));
        }
    }
    fn holds(body: &Body, position: Id, names: &HashSet<Id>) -> bool {
        body.stmts.iter().all(|stmt| match &stmt.op {
            Op::At { index, .. } => index[..] == [position] || !index.iter().any(|i| names.contains(i)),
            op => op.bodies().into_iter().all(|b| holds(b, position, names)),
        })
    }
    let mut names = HashSet::new();
    bound(body, &mut names);
    holds(body, position, &names)
}

/// The arrays that are read at exactly these positions.
fn read_at(body: &Body, positions: &[Id]) -> Vec<Id> {
    fn walk(body: &Body, positions: &[Id], found: &mut Vec<Id>) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::At { array, index } if index[..] == *positions && !found.contains(array) => found.push(*array),
                op => op.bodies().into_iter().for_each(|b| walk(b, positions, found)),
            }
        }
    }
    let mut found = vec![];
    walk(body, positions, &mut found);
    found
}
