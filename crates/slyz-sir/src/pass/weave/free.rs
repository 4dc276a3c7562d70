//! Threads that are alone: pieces of rows.

use super::jam;
use super::trim;
use super::write::WeaveWriter;
use super::{any_op, tidied};
use crate::code::{Body, Id, MemId, Op, Place, Stmt};
use crate::kernel::{Kernel, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};
use std::collections::HashMap;

/// How much of the grid a block takes: turns along x, and rows. A block must be worth starting, and a launch should
/// have enough of them for all cores. Threads that loop have more to do.
fn piece(body: &Body) -> (u32, u32) {
    let loops = any_op(body, &|op| matches!(op, Op::For { .. } | Op::While { .. } | Op::Call(..)));
    let rows = any_op(body, &|op| matches!(op, Op::Place(Place::Global, 1)));
    match (loops, rows) {
        (false, false) => (1 << 14, 1),
        (false, true) => (1 << 12, 16),
        (true, false) => (1 << 9, 1),
        (true, true) => (1 << 9, 4),
    }
}

/// Turns of a block whose threads have arrays too large for a stack.
const FEW: u32 = 64;

/// Weaves a kernel for exactly `threads` threads.
pub(super) fn run(kernel: Kernel, threads: [Size; 3]) -> Kernel {
    let large: Vec<MemId> = super::large_locals(&kernel.memories);
    let (turns, rows) = if large.is_empty() { piece(&kernel.body) } else { (FEW, 1) };
    let mut w = WeaveWriter::new(&kernel);
    let ends = |w: &mut WeaveWriter, d: u8, count: u32| {
        let block = w.push(Op::Place(Place::Block, d), Ty::I64);
        let count = w.number(count.into());
        let lo = w.value(block * count);
        let past = w.value(lo + count);
        let all = w.extent(&threads[usize::from(d)]);
        [lo, w.value(past.least(all))]
    };
    let z = w.push(Op::Place(Place::Block, 2), Ty::I64);
    let [lo, hi] = ends(&mut w, 0, turns);
    let lanes = |w: &mut WeaveWriter, y: Id| {
        let turn = w.var(Ty::I64);
        let mut body = placed(kernel.body.clone(), [turn.id, y, z]);
        if !large.is_empty() {
            let place = w.var(Ty::I64);
            super::spread_over(&mut body, &large, place.id);
            let op = Op::Apply(Operator::Sub, vec![turn.id, lo]);
            body.stmts.insert(0, Stmt { binds: vec![place], op });
        }
        w.note(&body);
        trim::lanes(w, [lo, hi], turn, body.stmts);
    };
    if rows == 1 {
        let y = w.push(Op::Place(Place::Block, 1), Ty::I64);
        lanes(&mut w, y);
    } else {
        let [top, bottom] = ends(&mut w, 1, rows);
        let counter = w.counter();
        let around = w.begin();
        lanes(&mut w, counter.id);
        let stmts = w.end(around);
        jam::rows(&mut w, &kernel.memories, [top, bottom], counter, stmts);
    }
    let ceil = |size: &Size, count: u32| {
        if count == 1 { size.clone() } else { Size::CeilDiv(size.clone().into(), count.into()) }
    };
    let grid = [ceil(&threads[0], turns), ceil(&threads[1], rows), threads[2].clone()];
    let body = Body { params: kernel.body.params.clone(), stmts: w.out, results: vec![] };
    let mut memories = kernel.memories;
    for memory in large {
        let memory = &mut memories[memory.0 as usize];
        memory.space = Space::Scratch;
        memory.shape.push(Size::Const(turns.into()));
    }
    Kernel { memories, grid, block: [1; 3], body: tidied(body), ..kernel }
}

/// The body with positions in the grid under their names.
fn placed(mut body: Body, places: [Id; 3]) -> Body {
    fn take(body: &mut Body, places: [Id; 3], names: &mut HashMap<Id, Id>) {
        for stmt in &mut body.stmts {
            stmt.op.bodies_mut().into_iter().for_each(|b| take(b, places, names));
        }
        for stmt in std::mem::take(&mut body.stmts) {
            match &stmt.op {
                Op::Place(Place::Global, d) => drop(names.insert(stmt.binds[0].id, places[usize::from(*d).min(2)])),
                _ => body.stmts.push(stmt),
            }
        }
    }
    let mut names = HashMap::new();
    take(&mut body, places, &mut names);
    body.each_use_mut(&mut |id| *id = *names.get(id).unwrap_or(id));
    body
}
