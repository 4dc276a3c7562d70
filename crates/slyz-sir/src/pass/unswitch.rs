//! A loop whose counter is moved into a range each turn asks before it starts whether it ever leaves the range (loop unswitching).
//!
//! ```text
//! while (%k, …) { k < %end } do { … clamp %k, %lo, %hi … yield k + 1 }
//! if %start >= %lo and %end - 1 <= %hi { the loop with %k itself } else { the loop }
//! ```
//!
//! Rows of a sparse matrix are read so: their ends are data, so nobody knows that they are within. For scalar code, where a
//! turn is short and a branch before the loop costs nothing: without it, sums of 100,000 rows of 0 to 20 elements took 1.1 to 1.2 times as long.

use crate::code::{Body, Id, Op, Stmt, Type, Var, largest_id};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// Statements of a loop that are worth having twice.
const MOST_STMTS: usize = 24;

/// Does it for all loops that are not in lanes.
pub fn run(mut kernel: Kernel) -> Kernel {
    let functions = kernel.functions.iter().map(|f| largest_id(&f.body)).max().unwrap_or(0);
    let next = functions.max(largest_id(&kernel.body)) + 1;
    let mut pass = Unswitch { next, ones: HashMap::new() };
    pass.body(&mut kernel.body);
    kernel
}

struct Unswitch {
    next: u32,
    /// Constants in sight.
    ones: HashMap<Id, Scalar>,
}

/// A loop that counts up by one.
struct Count {
    start: Id,
    /// Past the last.
    end: Id,
    /// The counter in the body.
    counter: Id,
}

impl Unswitch {
    fn body(&mut self, body: &mut Body) {
        let mut out = vec![];
        for mut stmt in std::mem::take(&mut body.stmts) {
            if let (Op::Const(value), [bind]) = (&stmt.op, &stmt.binds[..]) {
                self.ones.insert(bind.id, *value);
            }
            let in_lanes = matches!(stmt.op, Op::Lanes { .. } | Op::Prefixes { .. });
            let split = self.count(&stmt.op).map(|count| (clamps(&stmt.op, count.counter), count));
            match split {
                Some((ranges, count)) if !ranges.is_empty() => self.split(stmt, &count, &ranges, &mut out),
                _ => {
                    if !in_lanes {
                        stmt.op.bodies_mut().into_iter().for_each(|inner| self.body(inner));
                    }
                    out.push(stmt);
                }
            }
        }
        body.stmts = out;
    }

    fn count(&self, op: &Op) -> Option<Count> {
        let is_one = |id: &Id| self.ones.get(id).is_some_and(|one| *one == Scalar::from_int(Ty::I64, 1));
        match op {
            Op::For { lo, hi, step, body, .. } => {
                let counter = body.params.first()?;
                let fits = is_one(step) && counter.ty == Type::Scalar(Ty::I64);
                fits.then_some(Count { start: *lo, end: *hi, counter: counter.id })
            }
            Op::While { init, cond, body } => {
                let [Stmt { op: Op::Apply(Operator::Lt, sides), binds }] = &cond.stmts[..] else { return None };
                let [at, end] = sides[..] else { return None };
                let slot = cond.params.iter().position(|p| p.id == at && p.ty == Type::Scalar(Ty::I64))?;
                let asked = cond.results[..] == [binds.first()?.id] && cond.params.iter().all(|p| p.id != end);
                let counter = body.params.get(slot)?.id;
                let next = body.stmts.iter().find(|s| s.binds.iter().any(|b| Some(&b.id) == body.results.get(slot)))?;
                let own_one = |id: &Id| {
                    let one = Op::Const(Scalar::from_int(Ty::I64, 1));
                    is_one(id) || body.stmts.iter().any(|s| s.op == one && s.binds.iter().any(|b| b.id == *id))
                };
                let adds_one = match &next.op {
                    Op::Apply(Operator::Add, terms) => match &terms[..] {
                        [a, b] => *a == counter && own_one(b) || *b == counter && own_one(a),
                        _ => false,
                    },
                    _ => false,
                };
                (asked && adds_one).then_some(Count { start: *init.get(slot)?, end, counter })
            }
            _ => None,
        }
    }

    /// Writes the branch, with the loop on either side.
    fn split(&mut self, stmt: Stmt, count: &Count, ranges: &[[Id; 2]], out: &mut Vec<Stmt>) {
        let mut push = |pass: &mut Self, op: Op, ty: Ty| {
            let id = pass.fresh();
            out.push(Stmt { binds: vec![Var { id, ty: Type::Scalar(ty) }], op });
            id
        };
        let one = push(self, Op::Const(Scalar::from_int(Ty::I64, 1)), Ty::I64);
        let last = push(self, Op::Apply(Operator::Sub, vec![count.end, one]), Ty::I64);
        let mut within: Option<Id> = None;
        for &[lo, hi] in ranges {
            let above = push(self, Op::Apply(Operator::Ge, vec![count.start, lo]), Ty::Bool);
            let below = push(self, Op::Apply(Operator::Le, vec![last, hi]), Ty::Bool);
            let both = push(self, Op::Apply(Operator::And, vec![above, below]), Ty::Bool);
            within = Some(match within {
                Some(all) => push(self, Op::Apply(Operator::And, vec![all, both]), Ty::Bool),
                None => both,
            });
        }
        let Some(cond) = within else { return };
        let results: Vec<Id> = stmt.binds.iter().map(|_| self.fresh()).collect();
        let rename = |(bind, &id): (&Var, &Id)| Var { id, ty: bind.ty.clone() };
        let binds: Vec<Var> = stmt.binds.iter().zip(&results).map(rename).collect();
        let slow = Body { params: vec![], stmts: vec![Stmt { binds, op: stmt.op }], results };
        let mut fast = slow.freshened(&mut || self.fresh());
        if let Some(inner) = fast.stmts.first_mut()
            && let Some(counter) = self.count(&inner.op).map(|count| count.counter)
        {
            inner.op.bodies_mut().into_iter().for_each(|body| drop_clamps(body, counter));
        }
        out.push(Stmt { binds: stmt.binds, op: Op::If { cond, args: vec![], then: fast, otherwise: slow } });
    }

    fn fresh(&mut self) -> Id {
        self.next += 1;
        Id(self.next - 1)
    }
}

/// The ranges that the counter is moved into in a short loop without effects, if they are the same in all turns.
fn clamps(op: &Op, counter: Id) -> Vec<[Id; 2]> {
    let mut ranges = vec![];
    let mut bound = vec![];
    let mut count = 0;
    for body in op.bodies() {
        collect(body, counter, &mut ranges, &mut bound, &mut count);
    }
    let same = |range: &[Id; 2]| range.iter().all(|id| !bound.contains(id));
    if count > MOST_STMTS || op.has_effect() || !ranges.iter().all(same) {
        return vec![];
    }
    ranges
}

fn collect(body: &Body, counter: Id, ranges: &mut Vec<[Id; 2]>, bound: &mut Vec<Id>, count: &mut usize) {
    bound.extend(body.names());
    for stmt in &body.stmts {
        *count += 1;
        if let Op::Apply(Operator::Clamp, args) = &stmt.op
            && let &[at, lo, hi] = &args[..]
            && at == counter
            && !ranges.contains(&[lo, hi])
        {
            ranges.push([lo, hi]);
        }
        stmt.op.bodies().into_iter().for_each(|inner| collect(inner, counter, ranges, bound, count));
    }
}

/// The counter itself where it was moved into a range.
fn drop_clamps(body: &mut Body, counter: Id) {
    fn find(body: &Body, counter: Id, found: &mut Vec<Id>) {
        for stmt in &body.stmts {
            if matches!(&stmt.op, Op::Apply(Operator::Clamp, args) if args.first() == Some(&counter)) {
                found.extend(stmt.binds.iter().map(|b| b.id));
            }
            stmt.op.bodies().into_iter().for_each(|inner| find(inner, counter, found));
        }
    }
    fn remove(body: &mut Body, dropped: &[Id]) {
        body.stmts.retain(|stmt| !stmt.binds.iter().any(|bind| dropped.contains(&bind.id)));
        let inner = body.stmts.iter_mut().flat_map(|stmt| stmt.op.bodies_mut());
        inner.for_each(|body| remove(body, dropped));
    }
    let mut dropped = vec![];
    find(body, counter, &mut dropped);
    remove(body, &dropped);
    body.each_use_mut(&mut |id| {
        if dropped.contains(id) {
            *id = counter;
        }
    });
}
