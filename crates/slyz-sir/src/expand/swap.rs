//! Atomics on floats, by exchanging their bits until nobody was in between.
//!
//! Most targets have atomics on 32-bit integers only. A memory of `f32` on which there are atomics becomes one of `u32` with the
//! same bits; loads and stores convert, and an update is a loop:
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
    let mut swapped = vec![false; kernel.memories.len()];
    mark(&kernel.body, &mut swapped);
    swapped.iter_mut().zip(&kernel.memories).for_each(|(swapped, memory)| *swapped &= memory.ty == Ty::F32);
    if !swapped.contains(&true) {
        return None;
    }
    let lines = Lines::new(kernel.fresh_ids());
    let mut kernel = kernel.clone();
    kernel.memories.iter_mut().zip(&swapped).filter(|(_, swapped)| **swapped).for_each(|(m, _)| m.ty = Ty::U32);
    Swapper { swapped, lines }.body(&mut kernel.body);
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

struct Swapper {
    swapped: Vec<bool>,
    lines: Lines,
}

impl Write for Swapper {
    fn fresh(&mut self) -> Id {
        self.lines.fresh()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        self.lines.out()
    }
}

impl Swapper {
    fn is_swapped(&self, memory: MemId) -> bool {
        self.swapped.get(memory.0 as usize) == Some(&true)
    }

    fn body(&mut self, body: &mut Body) {
        self.rewrite(body, |w, mut stmt| {
            stmt.op.bodies_mut().into_iter().for_each(|inner| w.body(inner));
            w.stmt(stmt);
        });
    }

    fn stmt(&mut self, Stmt { binds, op }: Stmt) {
        match op {
            Op::Load { memory, index } if self.is_swapped(memory) => {
                let words = self.bind(Op::Load { memory, index }, &vec![Ty::U32; binds.len()]);
                let floats = binds.into_iter().zip(words);
                self.out()
                    .extend(floats.map(|(bind, word)| Stmt { binds: vec![bind], op: Op::Bitcast(Ty::F32, word) }));
            }
            Op::Store { memory, index, values } if self.is_swapped(memory) => {
                let values = values.into_iter().map(|value| self.bits(value)).collect();
                self.act(Op::Store { memory, index, values });
            }
            Op::Atomic { op, memory, index, args } if self.is_swapped(memory) => {
                let old = match (op, &args[..]) {
                    (AtomicOp::Update(operator), &[by]) => self.update(operator, memory, index, by),
                    _ => {
                        let args = args.into_iter().map(|arg| self.bits(arg)).collect();
                        self.push(Op::Atomic { op, memory, index, args }, Ty::U32)
                    }
                };
                self.out().push(Stmt { binds, op: Op::Bitcast(Ty::F32, old) });
            }
            op => self.out().push(Stmt { binds, op }),
        }
    }

    /// The loop; gives the bits that were there before.
    fn update(&mut self, operator: Operator, memory: MemId, index: Vec<Id>, by: Id) -> Id {
        let load = Op::Atomic { op: AtomicOp::Load, memory, index: index.clone(), args: vec![] };
        let first = self.push(load, Ty::U32);
        let more = self.constant(Scalar::bool(true));
        let state = [Ty::U32, Ty::Bool];
        let cond = self.nested(&state, |_, params| vec![params[1]]);
        let body = self.nested(&state, |w, params| {
            let seen = params[0];
            let old = w.push(Op::Bitcast(Ty::F32, seen), Ty::F32);
            let new = w.apply(operator, &[old, by], Ty::F32);
            let args = vec![seen, w.bits(new)];
            let now = w.push(Op::Atomic { op: AtomicOp::CompareExchange, memory, index, args }, Ty::U32);
            let failed = w.apply(Operator::Ne, &[now, seen], Ty::Bool);
            vec![now, failed]
        });
        self.bind(Op::While { init: vec![first, more], cond, body }, &state)[0]
    }

    fn bits(&mut self, value: Id) -> Id {
        self.push(Op::Bitcast(Ty::U32, value), Ty::U32)
    }
}
