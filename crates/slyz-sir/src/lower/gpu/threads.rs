//! Threads for the positions of a shape: the grid, and how a thread finds what is its.
//!
//! A thread takes one position or, where several are wanted in flight, a few along one dimension of the grid.

use super::Machine;
use crate::code::{Id, Op, Place};
use crate::lower::planning::unflatten;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write as _;

/// What a thread takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// One position.
    One,
    /// That many neighbours on the innermost axis, the first at a multiple of their number.
    Neighbours(u64),
    /// That many positions along a dimension of the grid, as far apart as threads go: neighbouring threads stay neighbours.
    Apart(usize, u64),
}

/// Threads of a row that are kept together, so that rows start where memory's lines do.
const LINE: u64 = 32;

impl Share {
    /// How many positions a thread takes along a dimension.
    fn along(self, dimension: usize) -> u64 {
        match self {
            Share::Neighbours(count) if dimension == 0 => count,
            Share::Apart(own, count) if own == dimension => count,
            Share::One | Share::Neighbours(_) | Share::Apart(..) => 1,
        }
    }

    /// How many threads there are along a dimension.
    fn threads(self, dimension: usize, extent: &Size) -> Size {
        match (self, self.along(dimension)) {
            (Share::Apart(0, _), count @ 2..) => ceil_div(extent, LINE * count) * Size::Const(LINE),
            (Share::One | Share::Neighbours(_) | Share::Apart(..), count) => ceil_div(extent, count),
        }
    }

    /// Is it known that no thread with something to do has less than a whole share along a dimension?
    fn is_whole(self, dimension: usize, extent: &Size) -> bool {
        let all = self.threads(dimension, extent) * Size::Const(self.along(dimension));
        all.constant().is_some_and(|n| extent.constant() == Some(n))
    }

    /// Does the share tell by itself that there is nothing for a thread? Neighbours are counted from where they start, unless
    /// they are known to be whole: then nobody looks.
    fn guards(self, dimension: usize, extent: &Size) -> bool {
        matches!(self, Share::Neighbours(_)) && dimension == 0 && !self.is_whole(dimension, extent)
    }
}

/// One dimension of a grid.
struct Dimension {
    /// Threads that have something to do.
    extent: Size,
    threads: u32,
    blocks: Size,
    /// There may be more positions than threads.
    loops: bool,
    /// There may be more threads than positions.
    guard: bool,
}

impl Dimension {
    /// `each` is how many positions a thread takes along the dimension.
    fn new(machine: &Machine, number: usize, extent: Size, threads: u32, each: u64) -> Dimension {
        let per_block = u64::from(threads);
        let positions = machine.max_positions.div_ceil(each);
        let most = machine.max_blocks[number].min(positions / per_block).max(1);
        let all = ceil_div(&extent, per_block);
        let (loops, guard) = match extent.constant() {
            Some(n) => (n.div_ceil(per_block) > most, !n.is_multiple_of(per_block)),
            None => (machine.max_blocks[number].saturating_mul(per_block) < positions, threads > 1),
        };
        let blocks = if loops { at_most(all, most) } else { all };
        Dimension { extent, threads, blocks, loops, guard: guard && !loops }
    }
}

/// Writes code for every position of a shape, each in a thread of its own, and sets the grid for it.
pub(super) fn each_position<'l, 'g>(
    w: &mut KernelWriter<'l, 'g>,
    machine: &Machine,
    shape: &[Size],
    write: &mut dyn FnMut(&mut KernelWriter<'l, 'g>, &[Id]),
) {
    each_share(w, machine, shape, Share::One, &mut |w, positions| write(w, &positions[0]));
}

/// The same with several positions a thread. `write` is given a whole share or, for what is left over, one position.
pub(super) fn each_share<'l, 'g>(
    w: &mut KernelWriter<'l, 'g>,
    machine: &Machine,
    shape: &[Size],
    share: Share,
    write: &mut dyn FnMut(&mut KernelWriter<'l, 'g>, &[Vec<Id>]),
) {
    let kept = shape.len().min(3);
    let (outer, inner) = shape.split_at(shape.len() - kept + 1);
    // Innermost first: x, y, z.
    let extents: Vec<Size> = inner.iter().rev().cloned().chain([Size::product(outer)]).collect();
    let threads: Vec<Size> = extents.iter().enumerate().map(|(k, extent)| share.threads(k, extent)).collect();
    let block = block_of(machine, &threads);
    let dimension = |k: usize| Dimension::new(machine, k, threads[k].clone(), block[k], share.along(k));
    let dims: Vec<Dimension> = (0..kept).map(dimension).collect();
    w.kernel.block = block;
    for (blocks, dimension) in w.kernel.grid.iter_mut().zip(&dims) {
        *blocks = dimension.blocks.clone();
    }
    let mut at: Vec<Id> = vec![];
    let mut guard = None;
    for (k, dimension) in dims.iter().enumerate() {
        let place = w.push(Op::Place(Place::Global, k as u8), Ty::I64);
        at.push(place);
        if dimension.guard && !share.guards(k, &extents[k]) {
            let extent = w.extent(&dimension.extent);
            let inside = w.push(Op::Apply(Operator::Lt, vec![place, extent]), Ty::Bool);
            let both = guard.map(|g| w.push(Op::Apply(Operator::And, vec![g, inside]), Ty::Bool));
            guard = Some(both.unwrap_or(inside));
        }
    }
    let position = |w: &mut KernelWriter<'l, 'g>, at: &[Id]| -> Vec<Id> {
        let outermost = unflatten(w, at[kept - 1], outer);
        outermost.into_iter().chain(at[..kept - 1].iter().rev().copied()).collect()
    };
    let mut at_thread = |w: &mut KernelWriter<'l, 'g>, at: &[Id]| {
        let own = match share {
            Share::One => {
                let position = position(w, at);
                return write(w, &[position]);
            }
            Share::Neighbours(_) => 0,
            Share::Apart(own, _) => own,
        };
        let moved = |w: &mut KernelWriter<'l, 'g>, to: Id| {
            let mut at = at.to_vec();
            at[own] = to;
            position(w, &at)
        };
        let count = share.along(own);
        let extent = w.extent(&extents[own]);
        let (first, step) = match share {
            Share::Neighbours(_) => (w.scaled(at[own], count), w.number(1)),
            Share::One | Share::Apart(..) => (at[own], w.extent(&threads[own])),
        };
        let mut places = vec![first];
        for k in 1..count {
            let skipped = w.scaled(step, k);
            places.push(w.value(first + skipped));
        }
        let all = |w: &mut KernelWriter<'l, 'g>, write: &mut dyn FnMut(&mut KernelWriter<'l, 'g>, &[Vec<Id>])| {
            let positions: Vec<Vec<Id>> = places.iter().map(|&place| moved(w, place)).collect();
            write(w, &positions);
        };
        if share.is_whole(own, &extents[own]) {
            return all(w, write);
        }
        let whole = w.push(Op::Apply(Operator::Lt, vec![places[places.len() - 1], extent]), Ty::Bool);
        w.either(whole, &mut |w, whole| {
            if whole {
                return all(w, write);
            }
            w.for_steps([first, extent, step], (vec![], &[]), |w, place, _| {
                let position = moved(w, place);
                write(w, &[position]);
                vec![]
            });
        });
    };
    match guard {
        Some(guard) => w.when(guard, |w| nest(w, &dims, &mut at, &mut at_thread)),
        None => nest(w, &dims, &mut at, &mut at_thread),
    }
}

/// Loops over what the grid does not reach, outermost first.
fn nest<'l, 'g>(
    w: &mut KernelWriter<'l, 'g>,
    dims: &[Dimension],
    at: &mut Vec<Id>,
    write: &mut dyn FnMut(&mut KernelWriter<'l, 'g>, &[Id]),
) {
    let Some((dimension, inner)) = dims.split_last() else { return write(w, at) };
    if !dimension.loops {
        return nest(w, inner, at, write);
    }
    let lo = at[inner.len()];
    let hi = w.extent(&dimension.extent);
    let blocks = w.extent(&dimension.blocks);
    let threads = w.number(dimension.threads.into());
    let step = w.value(blocks * threads);
    w.for_steps([lo, hi, step], (vec![], &[]), |w, i, _| {
        at[inner.len()] = i;
        nest(w, inner, at, write);
        vec![]
    });
}

/// The threads of a block: enough of them, in the form of the shape where that is small.
fn block_of(machine: &Machine, extents: &[Size]) -> [u32; 3] {
    let mut block = [1; 3];
    let mut left = machine.threads();
    for (k, extent) in extents.iter().enumerate().take(3) {
        // A row of a block of several rows is as long as a subgroup mostly is; no device allows more than 64 in z.
        let most = match (k, extents.len()) {
            (0, 1) | (1, _) => left,
            (0, _) => left.min(32),
            _ => left.min(64),
        };
        let fits = extent.constant().map_or(most, |n| n.clamp(1, most.into()) as u32);
        block[k] = fits;
        left /= fits;
    }
    block
}

/// The size divided by a number, rounded up.
pub(super) fn ceil_div(size: &Size, by: u64) -> Size {
    let divided = Size::CeilDiv(size.clone().into(), by);
    match (by, divided.constant()) {
        (1, _) => size.clone(),
        (_, Some(n)) => Size::Const(n),
        (_, None) => divided,
    }
}

/// The most that a size can be where no array has more positions than that.
pub(super) fn at_largest(size: &Size, positions: u64) -> u64 {
    let of = |size: &Size| at_largest(size, positions);
    match size {
        Size::Const(n) => *n,
        Size::CeilDiv(size, by) => of(size).div_ceil(*by),
        Size::Min(a, b) => of(a).min(of(b)),
        Size::Var(_) | Size::Add(..) | Size::Mul(..) | Size::Tri(_) => size.constant().unwrap_or(positions),
    }
}

/// The smaller of a size and a number.
pub(super) fn at_most(size: Size, most: u64) -> Size {
    match size.constant() {
        Some(n) => Size::Const(n.min(most)),
        None => Size::Min(size.into(), Size::Const(most).into()),
    }
}
