//! Element-wise work: one position a thread, or several, so that enough reads are under way at once.
//!
//! Where every array is read at the position itself, the axes are one long axis and a thread takes neighbours with
//! accesses as wide as the machine likes them. Other short bodies take positions that are far apart, which leaves neighbouring
//! threads at neighbouring elements. All positions of a share are computed before the first result is stored. Bodies with loops,
//! and long ones, have enough to do with one position.

use super::plan::Gpu;
use super::threads::{Share, each_share};
use crate::code::{Body, Id, MemId, Op, Stmt, Type};
use crate::kernel::{Access, BufferId, Memory};
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
        let neighbours = Neighbours::new(body, line[0].clone(), self.machine.vector_bytes);
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

/// A body that is run at neighbours: positions on one long axis, or along the rows of arrays.
pub(super) struct Neighbours<'g> {
    body: &'g Body,
    positions: Vec<Id>,
    /// The length of the axis.
    extent: Size,
    reads: Vec<Read>,
    /// The most bytes of an access.
    bytes: u32,
}

/// An element of an array at the position itself, or in a row that is the same for all positions.
struct Read {
    array: Id,
    index: Vec<Id>,
    /// Is it read at some positions only? It need not be there at the others.
    perhaps: bool,
}

impl<'g> Neighbours<'g> {
    pub(super) fn new(body: &'g Body, extent: Size, bytes: u32) -> Self {
        let positions: Vec<Id> = body.params.iter().map(|p| p.id).collect();
        Neighbours { body, reads: reads_at(body, &positions), positions, extent, bytes }
    }

    /// Is anything read at the position itself?
    pub(super) fn reads(&self) -> bool {
        self.reads.iter().any(|read| read.index == self.positions)
    }

    /// The arrays whose rows are read along the axis.
    pub(super) fn rows(&self) -> impl Iterator<Item = Id> {
        self.reads.iter().filter(|read| read.index != self.positions).map(|read| read.array)
    }

    /// What the body gives at each of `count` neighbours, the first at a multiple of their number. Rows have a multiple of it too.
    pub(super) fn run(&self, w: &mut KernelWriter<'_, 'g>, first: Id, count: u64) -> Vec<Vec<Id>> {
        let mut loaded = vec![];
        for read in self.reads.iter().filter(|_| count > 1) {
            let whole = |memory: &Memory| memory.shape.last() == Some(&self.extent);
            let must = read.index == self.positions && !read.perhaps;
            let fits = |memory: &Memory| whole(memory) || must && memory.shape.len() == 1;
            let Some((memory, mut index)) = w.bound_memory(read.array, fits) else { continue };
            if read.index != self.positions {
                index.extend(w.all_scalars(&read.index[..read.index.len() - 1]));
            }
            index.push(first);
            loaded.push((read, w.load_neighbours(memory, index, count, self.bytes)));
        }
        let mut all = vec![];
        for k in 0..count {
            let at = w.offset(first, k as i64);
            let here = |(read, ids): &(&Read, Vec<Id>)| ((read.array, read.index.clone()), ids[k as usize]);
            w.set_loaded(self.positions.clone(), at, loaded.iter().map(here).collect());
            // Positions on several axes are not used otherwise: any value will do.
            all.push(w.run(self.body, &vec![at; self.positions.len()], Mode::Lane));
        }
        all
    }
}

/// All names that a body gives, inner bodies included.
fn bound(body: &Body, names: &mut HashSet<Id>) {
    names.extend(body.params.iter().map(|p| p.id));
    for stmt in &body.stmts {
        names.extend(stmt.binds.iter().map(|b| b.id));
        stmt.op.bodies().into_iter().for_each(|b| bound(b, names));
    }
}

/// Is every read at the position itself, or at a place that is the same for all positions?
pub(super) fn is_line(body: &Body, position: Id) -> bool {
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

/// What is read at exactly these positions, or, of one position, along a row.
fn reads_at(body: &Body, positions: &[Id]) -> Vec<Read> {
    fn walk(body: &Body, (positions, inside): (&[Id], &HashSet<Id>), perhaps: bool, found: &mut Vec<Read>) {
        for stmt in &body.stmts {
            if let Op::At { array, index } = &stmt.op {
                let along =
                    |(last, row): (&Id, &[Id])| [*last] == *positions && !row.iter().any(|i| inside.contains(i));
                let known = found.iter().any(|read| read.array == *array && read.index == *index);
                if !known && (index[..] == *positions || index.split_last().is_some_and(along)) {
                    found.push(Read { array: *array, index: index.clone(), perhaps });
                }
            }
            stmt.op.bodies().into_iter().for_each(|b| walk(b, (positions, inside), true, found));
        }
    }
    let mut inside = HashSet::new();
    bound(body, &mut inside);
    let mut found = vec![];
    walk(body, (positions, &inside), false, &mut found);
    found
}
