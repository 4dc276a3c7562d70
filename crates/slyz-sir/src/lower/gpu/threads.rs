//! A thread per position of a shape: the grid, and how a thread finds its position.

use super::Machine;
use crate::code::{Id, Op, Place};
use crate::lower::planning::unflatten;
use crate::lower::writer::Writer;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;

/// One dimension of a grid.
struct Dimension {
    extent: Size,
    threads: u32,
    blocks: Size,
    /// There may be more positions than threads.
    loops: bool,
    /// There may be more threads than positions.
    guard: bool,
}

impl Dimension {
    fn new(machine: &Machine, number: usize, extent: Size, threads: u32) -> Dimension {
        let per_block = u64::from(threads);
        let most = machine.max_blocks[number].min(machine.max_positions / per_block).max(1);
        let all = ceil_div(&extent, per_block);
        let (loops, guard) = match extent.constant() {
            Some(n) => (n.div_ceil(per_block) > most, !n.is_multiple_of(per_block)),
            None => (machine.max_blocks[number].saturating_mul(per_block) < machine.max_positions, threads > 1),
        };
        let blocks = if loops { at_most(all, most) } else { all };
        Dimension { extent, threads, blocks, loops, guard: guard && !loops }
    }
}

/// Writes code for every position of a shape, each in a thread of its own, and sets the grid for it.
pub(super) fn each_position<'l, 'g>(
    w: &mut Writer<'l, 'g>,
    machine: &Machine,
    shape: &[Size],
    write: &mut dyn FnMut(&mut Writer<'l, 'g>, &[Id]),
) {
    let kept = shape.len().min(3);
    let (outer, inner) = shape.split_at(shape.len() - kept + 1);
    // Innermost first: x, y, z.
    let extents: Vec<Size> = inner.iter().rev().cloned().chain([Size::product(outer)]).collect();
    let block = block_of(machine, &extents);
    let dims: Vec<Dimension> = (0..kept).map(|k| Dimension::new(machine, k, extents[k].clone(), block[k])).collect();
    w.kernel.block = block;
    for (blocks, dimension) in w.kernel.grid.iter_mut().zip(&dims) {
        *blocks = dimension.blocks.clone();
    }
    let mut at: Vec<Id> = vec![];
    let mut guard = None;
    for (k, dimension) in dims.iter().enumerate() {
        let place = w.push(Op::Place(Place::Global, k as u8), Ty::I64);
        at.push(place);
        if dimension.guard {
            let extent = w.extent(&dimension.extent);
            let inside = w.push(Op::Apply(Operator::Lt, vec![place, extent]), Ty::Bool);
            let both = guard.map(|g| w.push(Op::Apply(Operator::And, vec![g, inside]), Ty::Bool));
            guard = Some(both.unwrap_or(inside));
        }
    }
    let mut at_position = |w: &mut Writer<'l, 'g>, at: &[Id]| {
        let outermost = unflatten(w, at[kept - 1], outer);
        let inner = at[..kept - 1].iter().rev().copied();
        let position: Vec<Id> = outermost.into_iter().chain(inner).collect();
        write(w, &position);
    };
    match guard {
        Some(guard) => w.when(guard, |w| nest(w, &dims, &mut at, &mut at_position)),
        None => nest(w, &dims, &mut at, &mut at_position),
    }
}

/// Loops over what the grid does not reach, outermost first.
fn nest<'l, 'g>(
    w: &mut Writer<'l, 'g>,
    dims: &[Dimension],
    at: &mut Vec<Id>,
    write: &mut dyn FnMut(&mut Writer<'l, 'g>, &[Id]),
) {
    let Some((dimension, inner)) = dims.split_last() else { return write(w, at) };
    if !dimension.loops {
        return nest(w, inner, at, write);
    }
    let (lo, hi) = (at[inner.len()], w.extent(&dimension.extent));
    let (blocks, threads) = (w.extent(&dimension.blocks), w.number(dimension.threads.into()));
    let step = w.index(Operator::Mul, blocks, threads);
    w.for_steps(lo, hi, step, (vec![], &[]), |w, i, _| {
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

/// The smaller of a size and a number.
pub(super) fn at_most(size: Size, most: u64) -> Size {
    match size.constant() {
        Some(n) => Size::Const(n.min(most)),
        None => Size::Min(size.into(), Size::Const(most).into()),
    }
}
