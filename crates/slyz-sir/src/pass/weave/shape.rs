//! Which thread a turn stands for.
//!
//! Lanes run along the fastest axis of the block, so that neighbouring lanes are neighbours in memory, in a loop over its rows.
//! Where rows are much shorter than vectors, lanes run over all threads of the block, and find their places by division.

use super::jam;
use super::write::WeaveWriter;
use crate::code::{Id, Op, Place, Var};
use crate::kernel::Memory;
use crate::ops::Operator;
use crate::types::Ty;
use crate::write::{Around, Write as _};
use std::collections::HashMap;

/// Rows shorter than this are not worth a vector of their own.
const ROW: u32 = 8;

/// The threads of a block.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    block: [u32; 3],
    pub(super) subgroup: u32,
    /// The axis of the lanes; `None` where they run over all threads.
    axis: Option<usize>,
}

/// One thread in the code of a piece.
pub(super) struct Thread {
    /// The turn of the lanes.
    pub(super) turn: Id,
    /// First turn and past the last.
    pub(super) bounds: [Id; 2],
    /// Its place in the block, as far as it is written.
    local: [Option<Id>; 3],
    made: HashMap<(Place, u8), Id>,
    number: Option<Id>,
    /// The loops over rows around it, outermost first: the code before, the counter, and its bounds.
    rows: Vec<(Around, Var, [Id; 2])>,
}

impl Shape {
    pub(super) fn new(block: [u32; 3], subgroup: u32) -> Shape {
        let long: Vec<usize> = (0..3).filter(|&d| block[d] > 1).collect();
        let axis = match long[..] {
            [] => Some(0),
            [only] => Some(only),
            [first, ..] => (block[first] >= ROW).then_some(first),
        };
        Shape { block, subgroup: subgroup.max(1), axis }
    }

    pub(super) fn threads(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }

    /// Opens the loops over rows; what is written next is run for each thread, in lanes over `turn`.
    pub(super) fn open(&self, w: &mut WeaveWriter) -> Thread {
        let zero = w.number(0);
        let turn = w.var(Ty::I64).id;
        let mut thread = Thread {
            turn,
            bounds: [zero; 2],
            local: [None; 3],
            made: HashMap::new(),
            number: Some(turn),
            rows: vec![],
        };
        let Some(axis) = self.axis else {
            thread.bounds[1] = w.number(self.threads() as i64);
            return thread;
        };
        thread.bounds[1] = w.number(self.block[axis].into());
        thread.local = [Some(zero); 3];
        thread.local[axis] = Some(turn);
        let mut row = None;
        for d in (0..3).rev().filter(|&d| d != axis && self.block[d] > 1) {
            let end = w.number(self.block[d].into());
            let counter = w.counter();
            thread.local[d] = Some(counter.id);
            let around = w.begin();
            row = Some(match row {
                None => counter.id,
                Some(slower) => {
                    let size = w.number(self.block[d].into());
                    let start = w.value(slower * size);
                    w.value(start + counter.id)
                }
            });
            thread.rows.push((around, counter, [zero, end]));
        }
        if let Some(row) = row {
            let size = w.number(self.block[axis].into());
            let start = w.value(row * size);
            thread.number = None;
            thread.made.insert((Place::Block, u8::MAX), start);
        }
        thread
    }

    /// Closes the loops over rows.
    pub(super) fn close(&self, w: &mut WeaveWriter, memories: &[Memory], thread: Thread) {
        for (around, counter, bounds) in thread.rows.into_iter().rev() {
            let stmts = w.end(around);
            jam::rows(w, memories, bounds, counter, stmts);
        }
    }
}

impl Thread {
    /// The number of the thread in its block, x fastest.
    pub(super) fn number(&mut self, w: &mut WeaveWriter) -> Id {
        if let Some(number) = self.number {
            return number;
        }
        let start = self.made[&(Place::Block, u8::MAX)];
        *self.number.insert(w.value(start + self.turn))
    }

    /// Where the thread stands.
    pub(super) fn place(&mut self, w: &mut WeaveWriter, shape: &Shape, place: Place, d: u8) -> Id {
        if let Some(made) = self.made.get(&(place, d)) {
            return *made;
        }
        let k = usize::from(d).min(2);
        let id = match place {
            Place::Local => self.local(w, shape, k),
            Place::Global => {
                let block = w.push(Op::Place(Place::Block, d), Ty::I64);
                let size = w.number(shape.block[k].into());
                let start = w.value(block * size);
                let local = self.local(w, shape, k);
                w.value(start + local)
            }
            Place::Lane => {
                let number = self.number(w);
                let size = i64::from(shape.subgroup);
                if shape.subgroup.is_power_of_two() {
                    let low = w.number(size - 1);
                    w.apply(Operator::And, &[number, low], Ty::I64)
                } else {
                    let size = w.number(size);
                    w.value(number % size)
                }
            }
            Place::Block | Place::BlockDim | Place::GridDim | Place::SubgroupSize => {
                unreachable!("{place:?} is the same in all threads")
            }
        };
        self.made.insert((place, d), id);
        id
    }

    fn local(&mut self, w: &mut WeaveWriter, shape: &Shape, d: usize) -> Id {
        if let Some(local) = self.local[d] {
            return local;
        }
        let before: i64 = shape.block[..d].iter().map(|&n| i64::from(n)).product();
        let before = w.number(before);
        let own = w.number(shape.block[d].into());
        let row = w.value(self.turn / before);
        let local = if d == 2 { row } else { w.value(row % own) };
        *self.local[d].insert(local)
    }
}
