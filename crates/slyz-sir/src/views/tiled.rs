//! The tiled reduction of a matrix, as textbooks have it: a tile for each block, its rows by a tree, then its first column.

use super::{bound, kernel};
use crate::code::{FnId, Function, Id, MemId, Op, Place, Scope, largest_id};
use crate::kernel::{Access, Memory, Space};
use crate::launch::{LAUNCH_SIZES, Template};
use crate::names::Names;
use crate::ops::Operator;
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write};

/// The side of a tile.
pub const TILE: u64 = 16;

const INPUT: MemId = MemId(0);
const PARTIALS: MemId = MemId(1);
const TILE_OF_BLOCK: MemId = MemId(2);

/// A kernel for blocks of 16 × 16 threads, which combines each tile of a matrix to one element of a smaller matrix. `functions` are those
/// of the operation, the last of which combines two values.
pub fn tiled(ty: Ty, identity: Scalar, functions: Vec<Function>) -> Template {
    let combine = FnId(functions.len().saturating_sub(1) as u32);
    let mut names = Names::default();
    let taken = functions.iter().map(|function| largest_id(&function.body) + 1).max();
    let body = Lines::from(taken.unwrap_or(0)).nested(&[], |w, _| {
        let mut place = |w: &mut Lines, name: &str, place: Place, axis: u8| {
            let id = w.push(Op::Place(place, axis), Ty::I64);
            names.note(id, name);
            id
        };
        let lx = place(w, "lx", Place::Local, 0);
        let ly = place(w, "ly", Place::Local, 1);
        let gx = place(w, "gx", Place::Global, 0);
        let gy = place(w, "gy", Place::Global, 1);
        let block = [w.push(Op::Place(Place::Block, 1), Ty::I64), w.push(Op::Place(Place::Block, 0), Ty::I64)];
        let size = |number: usize| Size::Var(SizeVar((LAUNCH_SIZES + number) as u32));
        let smaller = |w: &mut Lines, at: Id, size: Size| {
            let extent = w.extent(&size);
            w.apply(Operator::Lt, &[at, extent], Ty::Bool)
        };
        let is_row = smaller(w, gy, size(0));
        let is_column = smaller(w, gx, size(1));
        let inside = w.apply(Operator::And, &[is_column, is_row], Ty::Bool);
        let otherwise = w.constant(identity);
        let loaded = w.branch(
            inside,
            &[ty],
            |w| vec![w.push(Op::Load { memory: INPUT, index: vec![gy, gx] }, ty)],
            |_| vec![otherwise],
        );
        w.act(Op::Store { memory: TILE_OF_BLOCK, index: vec![ly, lx], values: loaded });
        w.act(Op::Barrier(Scope::Block));
        let zero = w.number(0);
        // 16 to 8 to 4 to 2 to 1 along the rows, then along the first column.
        for along_rows in [true, false] {
            for half in [8, 4, 2, 1] {
                let half = w.number(half);
                let first_column = w.apply(Operator::Eq, &[lx, zero], Ty::Bool);
                let at = if along_rows { lx } else { ly };
                let in_half = w.apply(Operator::Lt, &[at, half], Ty::Bool);
                let works =
                    if along_rows { in_half } else { w.apply(Operator::And, &[first_column, in_half], Ty::Bool) };
                w.when(works, |w| {
                    let other = w.apply(Operator::Add, &[at, half], Ty::I64);
                    let here = if along_rows { vec![ly, lx] } else { vec![ly, zero] };
                    let there = if along_rows { vec![ly, other] } else { vec![other, zero] };
                    let a = w.push(Op::Load { memory: TILE_OF_BLOCK, index: here.clone() }, ty);
                    let b = w.push(Op::Load { memory: TILE_OF_BLOCK, index: there }, ty);
                    let both = w.push(Op::Call(combine, vec![a, b]), ty);
                    w.act(Op::Store { memory: TILE_OF_BLOCK, index: here, values: vec![both] });
                });
                w.act(Op::Barrier(Scope::Block));
            }
        }
        let first = w.apply(Operator::Eq, &[lx, zero], Ty::Bool);
        let top = w.apply(Operator::Eq, &[ly, zero], Ty::Bool);
        let writes = w.apply(Operator::And, &[first, top], Ty::Bool);
        w.when(writes, |w| {
            let all = w.push(Op::Load { memory: TILE_OF_BLOCK, index: vec![zero, zero] }, ty);
            w.act(Op::Store { memory: PARTIALS, index: block.to_vec(), values: vec![all] });
        });
        vec![]
    });
    let side = || Size::Const(TILE);
    let tile = Memory { name: "tile".to_string(), ty, space: Space::Shared, shape: vec![side(), side()] };
    let memories =
        vec![bound("input", ty, Access::Read, &[0, 1]), bound("partials", ty, Access::ReadWrite, &[2, 3]), tile];
    let extents = ["height", "width", "tiles_y", "tiles_x"];
    kernel("tiled_reduce", &extents, memories, functions, names, body)
}
