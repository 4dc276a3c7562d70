//! Where arrays are read, and how often that is for each of their elements.

use super::cost::{LOAD, MANY};
use super::segments::Origins;
use crate::code::{Body, Id, Op, Stmt};
use crate::ops::Operator;
use crate::size::Size;
use std::collections::{HashMap, HashSet};

/// One place where an element of a tabulate is read.
pub(super) struct Read {
    /// The number of the body it stands in.
    pub(super) home: usize,
    /// Where it reads.
    pub(super) index: Vec<Id>,
    /// How often it reads each element, about.
    pub(super) repeats: u64,
    /// It stands in a loop over segments.
    pub(super) of_segment: bool,
}

/// A loop around a read.
enum Around {
    /// So many turns, and the position of one.
    Extent(Size, Option<Id>),
    /// Nobody knows how many.
    Unknown,
    /// Those of a segment.
    Segment,
}

/// A tabulate.
pub(super) struct Definition {
    pub(super) binds: Vec<Id>,
    pub(super) params: Vec<Id>,
    /// The number of its body.
    pub(super) body: usize,
    /// The number of the body that it stands in.
    pub(super) home: usize,
    /// Its elements are scalars.
    pub(super) of_scalars: bool,
    /// There are loops in its body.
    pub(super) loops: bool,
}

/// Are there loops in a body?
pub(super) fn has_loops(body: &Body) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::If { then, otherwise, .. } => has_loops(then) || has_loops(otherwise),
        op => !op.bodies().is_empty(),
    })
}

/// The reads of every tabulate. Bodies are numbered in the order in which they are met; the program's own is 0.
#[derive(Default)]
pub(super) struct Sites {
    /// In order.
    pub(super) definitions: Vec<Definition>,
    /// For each body the statement of the program's own body that it is part of.
    pub(super) tops: Vec<usize>,
    /// For each statement of the program's own body the arrays that are read in it.
    pub(super) arrays: Vec<HashSet<Id>>,
    reads: HashMap<Id, Vec<Read>>,
    /// Arrays that are used other than by reading elements.
    whole: HashSet<Id>,
    /// The extents of the loops around the definition are the first so many of those around a read.
    defined: HashMap<Id, (usize, Vec<Size>)>,
    /// Positions of loops, and what lies some way beside them, with the position.
    beside: HashMap<Id, Id>,
    origins: Origins,
}

impl Sites {
    pub(super) fn of(body: &Body) -> Sites {
        let mut sites = Sites::default();
        sites.walk(body, &mut vec![]);
        sites
    }

    /// The reads of an array that a tabulate gives.
    pub(super) fn reads(&self, array: Id) -> &[Read] {
        self.reads.get(&array).map_or(&[], |reads| reads)
    }

    /// Is the array used other than by reading elements? It is stored then.
    pub(super) fn is_whole(&self, array: Id) -> bool {
        self.whole.contains(&array)
    }

    /// How often the elements of an array are read.
    pub(super) fn site(&self, array: Id) -> Site {
        let mut site = Site { whole: self.is_whole(array), ..Site::default() };
        let mut seen = HashSet::new();
        let mut of_segments = 0;
        for read in self.reads(array) {
            // The second of two equal reads is not made.
            if !seen.insert((read.home, &read.index)) {
                continue;
            }
            // Several loops over segments go over different parts of them.
            site.in_segments |= read.of_segment;
            if read.of_segment {
                of_segments = read.repeats.min(MANY).max(of_segments);
            } else {
                site.once += read.repeats.min(MANY);
            }
            site.many |= read.repeats >= 64;
        }
        site.once += of_segments;
        site
    }

    fn walk(&mut self, body: &Body, loops: &mut Vec<Around>) {
        let home = self.tops.len();
        self.tops.push(self.arrays.len().saturating_sub(1));
        for stmt in &body.stmts {
            if home == 0 {
                self.arrays.push(HashSet::new());
            }
            self.stmt(stmt, home, loops);
        }
        self.whole.extend(&body.results);
    }

    fn stmt(&mut self, stmt: &Stmt, home: usize, loops: &mut Vec<Around>) {
        if let Op::Tabulate { shape, body } = &stmt.op {
            self.defined.extend(stmt.binds.iter().map(|b| (b.id, (loops.len(), shape.clone()))));
            self.definitions.push(Definition {
                binds: stmt.binds.iter().map(|b| b.id).collect(),
                params: body.params.iter().map(|p| p.id).collect(),
                body: self.tops.len(),
                home,
                of_scalars: stmt.binds.iter().all(|b| b.ty.shape().len() == shape.len()),
                loops: has_loops(body),
            });
        }
        match &stmt.op {
            Op::At { array, index } => self.read(*array, index, home, loops),
            op => op.each_operand(&mut |id| {
                self.whole.insert(id);
            }),
        }
        self.origins.note(stmt);
        self.note_beside(stmt);
        if let Op::Tabulate { body, .. } = &stmt.op {
            body.params.iter().for_each(|param| self.origins.position(param.id));
        }
        let depth = loops.len();
        match &stmt.op {
            Op::Tabulate { shape, .. }
            | Op::Fold { shape, .. }
            | Op::Scan { shape, .. }
            | Op::Scatter { shape, .. }
            | Op::Sort { shape, .. } => {
                let positions: Vec<Id> = stmt.op.bodies()[0].params.iter().map(|param| param.id).collect();
                self.beside.extend(positions.iter().map(|&at| (at, at)));
                let around = |(k, extent): (usize, &Size)| Around::Extent(extent.clone(), positions.get(k).copied());
                loops.extend(shape.iter().enumerate().map(around));
            }
            Op::Filter { extent, .. } => loops.push(Around::Extent(extent.clone(), None)),
            Op::While { init, cond, body } if self.origins.is_segment(init, cond, body) => loops.push(Around::Segment),
            Op::For { .. } | Op::While { .. } => loops.push(Around::Unknown),
            _ => {}
        }
        for inner in stmt.op.bodies() {
            self.walk(inner, loops);
        }
        loops.truncate(depth);
    }

    /// Notes what is a position and a number that is the same for all of them.
    fn note_beside(&mut self, stmt: &Stmt) {
        let (Op::Apply(operator, args), [bind]) = (&stmt.op, &stmt.binds[..]) else { return };
        let base = match (operator, &args[..]) {
            (Operator::Add, [a, b]) if !self.beside.contains_key(b) => self.beside.get(a),
            (Operator::Add, [a, b]) if !self.beside.contains_key(a) => self.beside.get(b),
            (Operator::Sub, [a, b]) if !self.beside.contains_key(b) => self.beside.get(a),
            _ => None,
        };
        if let Some(&base) = base {
            self.beside.insert(bind.id, base);
        }
    }

    fn read(&mut self, array: Id, index: &[Id], home: usize, loops: &[Around]) {
        if let Some(arrays) = self.arrays.last_mut() {
            arrays.insert(array);
        }
        let Some((depth, shape)) = self.defined.get(&array) else { return };
        // Loops over the array's own axes visit each element once; what is left repeats the read. Segments do that together with the
        // loop over them.
        let mut own: Vec<(usize, &Size)> = shape.iter().enumerate().collect();
        let mut segments = 0;
        let mut extents = vec![];
        for around in &loops[*depth..] {
            match around {
                Around::Extent(extent, at) => extents.push((Some(extent), *at)),
                Around::Unknown => extents.push((None, None)),
                Around::Segment if own.pop().is_some() => segments += 1,
                Around::Segment => extents.push((None, None)),
            }
        }
        let of_segment = segments > 0;
        let mut repeats = 1u64;
        for (extent, at) in extents {
            // A part of an axis is visited by a loop that moves along it.
            let along = |axis: usize| at.is_some() && index.get(axis).and_then(|id| self.beside.get(id)) == at.as_ref();
            let within = |extent: &Size, s: &Size| extent.constant().zip(s.constant()).is_some_and(|(n, s)| n <= s);
            let visits = |extent: &Size, (axis, s): (usize, &Size)| extent == s || within(extent, s) && along(axis);
            let place = extent.and_then(|e| own.iter().position(|&axis| visits(e, axis)));
            match (place, extent.and_then(Size::constant)) {
                (Some(k), _) => {
                    own.swap_remove(k);
                }
                (None, _) if extent.is_some() && segments > 0 => segments -= 1,
                (None, Some(n)) => repeats = repeats.saturating_mul(n),
                (None, None) => repeats = MANY,
            }
        }
        self.reads.entry(array).or_default().push(Read { home, index: index.to_vec(), repeats, of_segment });
    }
}

/// How often the reads of one array happen, for each of its elements.
#[derive(Clone, Copy, Default)]
pub(super) struct Site {
    /// Reads that happen about once per element.
    pub(super) once: u64,
    /// A read happens many times per element.
    many: bool,
    /// The array is used other than by reading elements: it is stored anyway.
    whole: bool,
    /// A read stands in a loop over segments. Those may be long: a loop for each of their elements is run by another thread.
    pub(super) in_segments: bool,
}

impl Site {
    /// Why an array is stored whose elements, perhaps arrays themselves, cost so much.
    pub(super) fn why(self, cost: u64, of_arrays: bool) -> String {
        let dear = if cost >= MANY { "a loop".to_string() } else { format!("about {cost} additions") };
        match self {
            Site { many: true, .. } => format!("each element is read many times, and costs {dear}"),
            Site { whole: true, .. } => format!("it is stored anyway; computing an element again costs {dear}"),
            Site { once: 1, .. } if of_arrays => format!("each element is an array, and costs {dear}"),
            Site { once: 1, .. } => format!("what reads it would grow past {} additions", super::LONGEST),
            Site { once, .. } => format!("each element is read {once} times, and costs {dear}"),
        }
    }

    /// Is computing elements where they are read cheaper than storing them?
    pub(super) fn is_cheaper_inline(self, cost: u64) -> bool {
        if self.many {
            // Layout changes and casts: no dearer than the load they replace.
            return cost <= LOAD + 1;
        }
        let again = cost.saturating_mul(self.once);
        let stored = if self.whole { 0 } else { cost + 2 * LOAD };
        again <= stored + LOAD * self.once
    }
}
