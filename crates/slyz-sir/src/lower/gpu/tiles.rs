//! A block per tile of two axes: the grid, and how a block finds its tile.

use super::threads::{at_most, ceil_div};
use super::{Expected, Machine};
use crate::code::{Id, Op, Place};
use crate::lower::planning::unflatten;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// An axis that is cut into pieces.
pub(super) struct Cut<'a> {
    pub(super) extent: &'a Size,
    pub(super) length: u64,
}

/// The tiles of a shape: two of its axes are cut, and there is a layer of tiles for every position on the others.
pub(super) struct Tiles<'a> {
    /// Tiles are numbered along this axis first.
    pub(super) x: Cut<'a>,
    pub(super) y: Cut<'a>,
    pub(super) others: &'a [Size],
}

/// The tile of this block: where it starts on both axes, and the layer.
pub(super) struct Tile {
    pub(super) x: Id,
    pub(super) y: Id,
    pub(super) others: Vec<Id>,
}

impl Cut<'_> {
    /// Is every piece whole?
    pub(super) fn is_even(&self) -> bool {
        self.extent.constant().is_some_and(|n| n.is_multiple_of(self.length))
    }

    /// The position, or the last one where it is past the end. Threads past an edge do what the last inside does, and keep
    /// it for themselves. (The axis has a position where there is a tile; that the last is not negative is said for backends.)
    pub(super) fn inside(&self, w: &mut KernelWriter, position: Id) -> Id {
        if self.is_even() {
            return position;
        }
        let extent = w.extent(self.extent);
        let one = w.number(1);
        let some = w.value(extent.most(one));
        let last = w.value(some - one);
        w.value(position.least(last))
    }

    /// Is the position on the axis? `None` where every one is.
    pub(super) fn is_inside(&self, w: &mut KernelWriter, position: Id) -> Option<Id> {
        if self.is_even() {
            return None;
        }
        let extent = w.extent(self.extent);
        Some(w.push(Op::Apply(Operator::Lt, vec![position, extent]), Ty::Bool))
    }
}

impl Tiles<'_> {
    /// Writes code for every tile, each for a block of its own, and sets the grid for it. Where there may be more tiles than
    /// blocks, a block goes on to the next of its tiles when all its threads are done with the one before.
    pub(super) fn each<'l, 'g>(
        &self,
        w: &mut KernelWriter<'l, 'g>,
        machine: &Machine,
        expected: &Expected,
        write: impl FnOnce(&mut KernelWriter<'l, 'g>, &Tile),
    ) {
        let axes = [(self.x.extent, self.x.length), (self.y.extent, self.y.length), (&Size::product(self.others), 1)];
        let mut at = vec![];
        let mut loops = vec![];
        for (d, (extent, length)) in axes.into_iter().enumerate() {
            let count = ceil_div(extent, length);
            let most = machine.max_blocks[d];
            let expected = expected.about(&count).filter(|_| machine.splits);
            let likely = count.constant().or(expected);
            let may_loop = likely.unwrap_or_else(|| machine.max_positions.div_ceil(length)) > most;
            w.kernel.grid[d] = if may_loop { at_most(count.clone(), most) } else { count.clone() };
            at.push(match count.constant() {
                Some(1) => w.number(0),
                _ => w.push(Op::Place(Place::Block, d as u8), Ty::I64),
            });
            if may_loop {
                loops.push((d, count));
            }
        }
        let lengths = [self.x.length, self.y.length];
        nest(w, &loops, &mut at, !loops.is_empty(), |w, at| {
            let [x, y] = [0, 1].map(|d| {
                let length = w.number(lengths[d] as i64);
                w.value(at[d] * length)
            });
            let others = if self.others.is_empty() { vec![] } else { unflatten(w, at[2], self.others) };
            write(w, &Tile { x, y, others });
        });
    }
}

/// Loops over what the grid does not reach, outermost last in the list.
fn nest<'l, 'g>(
    w: &mut KernelWriter<'l, 'g>,
    loops: &[(usize, Size)],
    at: &mut Vec<Id>,
    again: bool,
    write: impl FnOnce(&mut KernelWriter<'l, 'g>, &[Id]),
) {
    let Some(((d, count), inner)) = loops.split_last() else {
        write(w, at);
        if again {
            w.barrier();
        }
        return;
    };
    let hi = w.extent(count);
    let step = w.extent(&w.kernel.grid[*d].clone());
    w.for_steps([at[*d], hi, step], (vec![], &[]), |w, i, _| {
        at[*d] = i;
        nest(w, inner, at, again, write);
        vec![]
    });
}
