//! Memories that hold their elements in another type.
//!
//! Loads and stores convert, by number or by bits. Where bits are kept, an atomic update is a loop that exchanges them until nobody was
//! in between: most targets have atomics on 32-bit integers only, so a memory of `f32` on which there are atomics becomes one of
//! `u32`.
//!
//! ```text
//!                                          %1: u32 = atomic load out[%i]
//!                                          %2: u32, %3: bool = while (%1, %more) |…| { yield %again } do |%seen: u32, %4: bool| {
//!                                            %5: f32 = bitcast %seen
//! %0: f32 = atomic add out[%i], %x    →      %6: f32 = add %5, %x
//!                                            %7: u32 = bitcast %6
//!                                            %8: u32 = atomic compare_exchange out[%i], %seen, %7
//!                                            %9: bool = ne %8, %seen
//!                                            yield %8, %9
//!                                          }
//!                                          %0: f32 = bitcast %2
//! ```
//!
//! Every turn that fails is one in which another thread got its update done, so the loop ends.

use crate::code::{AtomicOp, Body, Id, MemId, Op, Stmt};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use crate::write::{Lines, Write};

/// How a memory holds its elements.
#[derive(Clone, Copy)]
pub(crate) enum Held {
    /// As they are.
    Plainly,
    /// As numbers of another type, which all of them fit.
    Numbers(Ty),
    /// As the bits of another type.
    Bits(Ty),
}

/// The kernel with atomics on integers only, if it has any on `f32`.
///
/// ```
/// let kernel = slyz_sir::text::parse_kernel(
///     "kernel k() grid [1, 1, 1] block [4, 1, 1] {
///        global readwrite sum: f32[1]
///        %zero: i64 = const 0
///        %one: f32 = const 1.0
///        %old: f32 = atomic add sum[%zero], %one }",
/// )?;
/// let words = slyz_sir::expand::float_atomics(&kernel).expect("there is one");
/// assert!(words.to_string().contains("global readwrite sum: u32[1]"));
/// assert!(slyz_sir::expand::float_atomics(&words).is_none());
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn float_atomics(kernel: &Kernel) -> Option<Kernel> {
    let mut atomic = vec![false; kernel.memories.len()];
    mark(&kernel.body, &mut atomic);
    let ways = kernel.memories.iter().zip(atomic).map(|(memory, atomic)| match memory.ty {
        Ty::F32 if atomic => Held::Bits(Ty::U32),
        _ => Held::Plainly,
    });
    held(kernel, ways.collect())
}

/// The kernel with its memories held in these ways, if any is held in another than its own type.
pub(crate) fn held(kernel: &Kernel, ways: Vec<Held>) -> Option<Kernel> {
    if ways.iter().all(|way| matches!(way, Held::Plainly)) {
        return None;
    }
    let mut kernel = kernel.clone();
    let own = kernel.memories.iter().map(|memory| memory.ty).collect();
    for (memory, way) in kernel.memories.iter_mut().zip(&ways) {
        if let Held::Numbers(ty) | Held::Bits(ty) = *way {
            memory.ty = ty;
        }
    }
    Holder { ways, own, lines: Lines::new(kernel.fresh_ids()) }.body(&mut kernel.body);
    Some(kernel)
}

/// Marks the memories with atomics.
fn mark(body: &Body, found: &mut [bool]) {
    for stmt in &body.stmts {
        if let Op::Atomic { memory, .. } = &stmt.op
            && let Some(found) = found.get_mut(memory.0 as usize)
        {
            *found = true;
        }
        stmt.op.bodies().into_iter().for_each(|inner| mark(inner, found));
    }
}

struct Holder {
    ways: Vec<Held>,
    /// The types that the kernel computes in.
    own: Vec<Ty>,
    lines: Lines,
}

impl Write for Holder {
    fn fresh(&mut self) -> Id {
        self.lines.fresh()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        self.lines.out()
    }
}

/// From an element to what is held, and back.
#[derive(Clone, Copy)]
struct Change {
    own: Ty,
    held: Ty,
    bits: bool,
}

impl Change {
    fn op(self, to: Ty, value: Id) -> Op {
        if self.bits { Op::Bitcast(to, value) } else { Op::Cast(to, value) }
    }
}

impl Holder {
    fn change(&self, memory: MemId) -> Option<Change> {
        let at = memory.0 as usize;
        let own = *self.own.get(at)?;
        match *self.ways.get(at)? {
            Held::Plainly => None,
            Held::Numbers(held) => Some(Change { own, held, bits: false }),
            Held::Bits(held) => Some(Change { own, held, bits: true }),
        }
    }

    fn body(&mut self, body: &mut Body) {
        self.rewrite(body, |w, mut stmt| {
            stmt.op.bodies_mut().into_iter().for_each(|inner| w.body(inner));
            w.stmt(stmt);
        });
    }

    fn stmt(&mut self, Stmt { binds, op }: Stmt) {
        let change = match &op {
            Op::Load { memory, .. } | Op::Store { memory, .. } | Op::Atomic { memory, .. } => self.change(*memory),
            _ => None,
        };
        let Some(change) = change else { return self.out().push(Stmt { binds, op }) };
        match op {
            Op::Store { memory, index, values } => {
                let values = self.held(change, values);
                self.act(Op::Store { memory, index, values });
            }
            Op::Atomic { op: AtomicOp::Update(operator), memory, index, args } if change.bits && args.len() == 1 => {
                let old = self.update(change, operator, memory, index, args[0]);
                self.out().push(Stmt { binds, op: change.op(change.own, old) });
            }
            Op::Atomic { op, memory, index, args } => {
                let args = self.held(change, args);
                let old = self.push(Op::Atomic { op, memory, index, args }, change.held);
                self.out().push(Stmt { binds, op: change.op(change.own, old) });
            }
            load => {
                let found = self.bind(load, &vec![change.held; binds.len()]);
                let own = binds.into_iter().zip(found);
                self.out()
                    .extend(own.map(|(bind, value)| Stmt { binds: vec![bind], op: change.op(change.own, value) }));
            }
        }
    }

    /// The loop; gives what was there before.
    fn update(&mut self, change: Change, operator: Operator, memory: MemId, index: Vec<Id>, by: Id) -> Id {
        let load = Op::Atomic { op: AtomicOp::Load, memory, index: index.clone(), args: vec![] };
        let first = self.push(load, change.held);
        let more = self.constant(Scalar::bool(true));
        let state = [change.held, Ty::Bool];
        let cond = self.nested(&state, |_, params| vec![params[1]]);
        let body = self.nested(&state, |w, params| {
            let seen = params[0];
            let old = w.push(change.op(change.own, seen), change.own);
            let new = w.apply(operator, &[old, by], change.own);
            let args = vec![seen, w.push(change.op(change.held, new), change.held)];
            let now = w.push(Op::Atomic { op: AtomicOp::CompareExchange, memory, index, args }, change.held);
            let failed = w.apply(Operator::Ne, &[now, seen], Ty::Bool);
            vec![now, failed]
        });
        self.bind(Op::While { init: vec![first, more], cond, body }, &state)[0]
    }

    fn held(&mut self, change: Change, values: Vec<Id>) -> Vec<Id> {
        values.into_iter().map(|value| self.push(change.op(change.held, value), change.held)).collect()
    }
}
