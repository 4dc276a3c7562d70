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

use crate::code::{AtomicOp, Body, Id, MemId, Op, Stmt, Type, Var};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};

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
    let mut fresh = kernel.fresh_ids();
    let mut kernel = kernel.clone();
    kernel.memories.iter_mut().zip(&swapped).filter(|(_, swapped)| **swapped).for_each(|(m, _)| m.ty = Ty::U32);
    Swapper { swapped, fresh: &mut fresh }.body(&mut kernel.body);
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

struct Swapper<'f> {
    swapped: Vec<bool>,
    fresh: &'f mut dyn FnMut() -> Id,
}

impl Swapper<'_> {
    fn is_swapped(&self, memory: MemId) -> bool {
        self.swapped.get(memory.0 as usize) == Some(&true)
    }

    fn body(&mut self, body: &mut Body) {
        let mut out = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            stmt.op.bodies_mut().into_iter().for_each(|inner| self.body(inner));
            match stmt.op {
                Op::Load { memory, index } if self.is_swapped(memory) => {
                    let words: Vec<Var> = stmt.binds.iter().map(|_| self.var(Ty::U32)).collect();
                    out.push(Stmt { binds: words.clone(), op: Op::Load { memory, index } });
                    let floats = stmt.binds.into_iter().zip(words);
                    out.extend(
                        floats.map(|(bind, word)| Stmt { binds: vec![bind], op: Op::Bitcast(Ty::F32, word.id) }),
                    );
                }
                Op::Store { memory, index, values } if self.is_swapped(memory) => {
                    let values = values.into_iter().map(|value| self.bits(value, &mut out)).collect();
                    out.push(Stmt { binds: vec![], op: Op::Store { memory, index, values } });
                }
                Op::Atomic { op, memory, index, args } if self.is_swapped(memory) => {
                    let old = match (op, &args[..]) {
                        (AtomicOp::Update(operator), &[by]) => self.update(operator, memory, &index, by, &mut out),
                        _ => {
                            let args = args.into_iter().map(|arg| self.bits(arg, &mut out)).collect();
                            self.make(Ty::U32, Op::Atomic { op, memory, index, args }, &mut out)
                        }
                    };
                    out.push(Stmt { binds: stmt.binds, op: Op::Bitcast(Ty::F32, old) });
                }
                op => out.push(Stmt { binds: stmt.binds, op }),
            }
        }
        body.stmts = out;
    }

    /// The loop; gives the bits that were there before.
    fn update(&mut self, operator: Operator, memory: MemId, index: &[Id], by: Id, out: &mut Vec<Stmt>) -> Id {
        let index = index.to_vec();
        let load = Op::Atomic { op: AtomicOp::Load, memory, index: index.clone(), args: vec![] };
        let first = self.make(Ty::U32, load, out);
        let more = self.make(Ty::Bool, Op::Const(Scalar::bool(true)), out);
        let ignored = self.var(Ty::U32);
        let again = self.var(Ty::Bool);
        let cond = Body { results: vec![again.id], params: vec![ignored, again], stmts: vec![] };
        let seen = self.var(Ty::U32);
        let fails = self.var(Ty::Bool);
        let mut turn = vec![];
        let old = self.make(Ty::F32, Op::Bitcast(Ty::F32, seen.id), &mut turn);
        let new = self.make(Ty::F32, Op::Apply(operator, vec![old, by]), &mut turn);
        let args = vec![seen.id, self.bits(new, &mut turn)];
        let swap = Op::Atomic { op: AtomicOp::CompareExchange, memory, index, args };
        let now = self.make(Ty::U32, swap, &mut turn);
        let failed = self.make(Ty::Bool, Op::Apply(Operator::Ne, vec![now, seen.id]), &mut turn);
        let body = Body { params: vec![seen, fails], stmts: turn, results: vec![now, failed] };
        let found = self.var(Ty::U32);
        let end = self.var(Ty::Bool);
        let id = found.id;
        out.push(Stmt { binds: vec![found, end], op: Op::While { init: vec![first, more], cond, body } });
        id
    }

    fn bits(&mut self, value: Id, out: &mut Vec<Stmt>) -> Id {
        self.make(Ty::U32, Op::Bitcast(Ty::U32, value), out)
    }

    fn make(&mut self, ty: Ty, op: Op, out: &mut Vec<Stmt>) -> Id {
        let var = self.var(ty);
        let id = var.id;
        out.push(Stmt { binds: vec![var], op });
        id
    }

    fn var(&mut self, ty: Ty) -> Var {
        Var { id: (self.fresh)(), ty: Type::Scalar(ty) }
    }
}
