//! Loops of the top level whose state has arrays.
//!
//! Where a turn is short, the whole loop is one kernel, run by one block. Otherwise it is a loop of the plan, whose turns are
//! launches. Which way is taken is decided by the sizes of a call: work beyond some measure is worth all cores, or a whole GPU.
//!
//! A loop of the plan keeps each part of the state in a buffer that a turn reads, and what it gives for the next turn in another;
//! the two change places. Where a turn writes an array over the old one (`reuse`), there is one buffer.

use super::planning::{Counter, Lowering};
use super::writer::KernelWriter;
use crate::code::{Body, Id, Op, Stmt, Var};
use crate::kernel::{Access, BufferId, BufferUse, Loop, Step, Turns};
use crate::meaning::has_raw;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::Write as _;
use std::collections::HashSet;

/// A loop in a loop with less work than this in a turn is one kernel on every machine: it would be launches for each of its turns.
const NEST: u64 = 1 << 15;

/// What it costs to find the place of an element in an order, in additions; and what it costs that one thread sends a value instead of many.
const SORTED: u64 = 64;

/// Values that a kernel stores, one per buffer.
pub(super) type Values<'v, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>) -> Vec<Id> + 'v;

/// What a strategy does in turns.
pub(super) trait Strategy<'g> {
    /// The plan under construction.
    fn base(&mut self) -> &mut Lowering<'g>;

    /// Plans a statement of a turn.
    fn plan_stmt(&mut self, stmt: &'g Stmt);

    /// A kernel that runs a whole loop, and writes to the buffers of what it binds.
    fn in_one_kernel(&mut self, stmt: &'g Stmt, outputs: &[BufferId]);

    /// Copies an array to a buffer.
    fn copy_array(&mut self, array: Id, to: BufferId);

    /// A kernel of one block that stores scalars.
    fn store_scalars(&mut self, to: &[BufferId], values: &Values<'_, 'g>);

    /// The most work of a turn, in additions, for which a loop is one kernel; 0 for none.
    fn most_work(&self) -> u64;

    /// Would one thread send the values of a scatter, were it in a kernel with others, that many send in a launch of its own?
    fn sends_alone(&self, _: &Op) -> bool {
        false
    }

    /// Does the host learn late what the device has computed? Then it does not wait for the condition of each turn.
    fn runs_ahead(&self) -> bool {
        false
    }
}

/// Plans a loop both ways.
pub(super) fn plan_loop<'g>(strategy: &mut impl Strategy<'g>, stmt: &'g Stmt) {
    let outputs: Vec<BufferId> = strategy.base().outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
    let before = std::mem::take(&mut strategy.base().plan.steps);
    let work = stmt.op.bodies().into_iter().fold(Size::Const(0), |sum, body| sum + work_of(&*strategy, body));
    let is_nest = stmt.op.bodies().into_iter().any(Body::has_array_loop);
    let most = if is_nest { strategy.most_work().max(NEST) } else { strategy.most_work() };
    // What somebody wrote for a device is launched by the host.
    let most = if stmt.op.bodies().into_iter().any(has_raw) { 0 } else { most };
    // Where data decide how often, somebody may want to count the turns: both ways must be there.
    let known = work.constant().filter(|_| !is_open(stmt)).or((most == 0).then_some(u64::MAX));
    let mut small = vec![];
    if known.is_none_or(|work| work <= most) {
        strategy.in_one_kernel(stmt, &outputs);
        small = std::mem::take(&mut strategy.base().plan.steps);
    }
    let mut large = vec![];
    if known.is_none_or(|work| work > most) {
        turns(strategy, stmt, &outputs);
        large = std::mem::take(&mut strategy.base().plan.steps);
    }
    let mut steps = before;
    match known {
        Some(_) => steps.extend(small.into_iter().chain(large)),
        None => steps.push(Step::Choose { work, most, small, large }),
    }
    strategy.base().plan.steps = steps;
}

/// Is it a loop of arrays whose turns data decide, or is one in it?
fn is_open(stmt: &Stmt) -> bool {
    let inside = |body: &Body| body.stmts.iter().any(is_open);
    stmt.carries_arrays() && matches!(stmt.op, Op::While { .. }) || stmt.op.bodies().into_iter().any(inside)
}

/// About what one run of the body costs, in additions.
fn work_of<'g>(strategy: &impl Strategy<'g>, body: &Body) -> Size {
    body.stmts.iter().fold(Size::Const(0), |sum, stmt| sum + work_of_stmt(strategy, stmt))
}

fn work_of_stmt<'g>(strategy: &impl Strategy<'g>, stmt: &Stmt) -> Size {
    let inside = || stmt.op.bodies().into_iter().fold(Size::Const(1), |sum, body| sum + work_of(strategy, body));
    match &stmt.op {
        Op::Scatter { shape, .. } if strategy.sends_alone(&stmt.op) => {
            Size::product(shape) * (Size::Const(SORTED) + inside())
        }
        Op::Tabulate { shape, .. } | Op::Fold { shape, .. } | Op::Scan { shape, .. } | Op::Scatter { shape, .. } => {
            Size::product(shape) * inside()
        }
        Op::Sort { shape, .. } => Size::product(shape) * (Size::Const(SORTED) + inside()),
        Op::Apply(operator, _) => Size::Const(operator.row().cost.into()),
        Op::At { .. } => Size::Const(2),
        Op::Call(..) => Size::Const(40),
        Op::For { .. } | Op::While { .. } => Size::Const(16) * inside(),
        Op::If { .. } => inside(),
        _ => Size::Const(0),
    }
}

/// One part of the state.
struct Carried {
    /// What a turn reads.
    now: BufferId,
    /// What it gives to the next one.
    next: BufferId,
}

/// A loop of the plan.
fn turns<'g>(strategy: &mut impl Strategy<'g>, stmt: &'g Stmt, outputs: &[BufferId]) {
    let (init, body, params) = match &stmt.op {
        Op::For { init, body, .. } => (init, body, &body.params[1..]),
        Op::While { init, body, .. } => (init, body, &body.params[..]),
        other => unreachable!("not a loop: {other:?}"),
    };
    start(strategy, init, &stmt.binds, outputs);
    let mut before = std::mem::take(&mut strategy.base().plan.steps);
    let turns = match &stmt.op {
        Op::For { lo, hi, step, .. } => {
            let turns = count(strategy, [*lo, *hi, *step], body.params[0].ty.elem());
            before.append(&mut strategy.base().plan.steps);
            let base = strategy.base();
            let plain = base.is_constant(*lo, 0) && base.is_constant(*step, 1);
            let (lo, step) = (*lo, *step);
            let counter =
                Counter { depth: base.depth, ty: body.params[0].ty.elem(), from: (!plain).then_some((lo, step)) };
            base.counters.insert(body.params[0].id, counter);
            turns
        }
        Op::While { cond, .. } => {
            strategy.base().depth += 1;
            set_homes(strategy.base(), &cond.params, outputs);
            let holds = strategy.base().buffer(Ty::Bool, vec![], BufferUse::Temporary);
            let ahead = strategy.runs_ahead() && !body.has_array_loop() && !has_raw(body) && !has_raw(cond);
            let done = ahead.then(|| start_count(strategy, holds));
            before.append(&mut strategy.base().plan.steps);
            match done {
                Some(done) => test_and_count(strategy, cond, holds, done),
                None => run(strategy, cond, &[holds]),
            }
            strategy.base().depth -= 1;
            strategy.base().guard = done.map(|_| holds);
            Turns::While { steps: std::mem::take(&mut strategy.base().plan.steps), holds, done }
        }
        other => unreachable!("not a loop: {other:?}"),
    };
    strategy.base().depth += 1;
    set_homes(strategy.base(), params, outputs);
    let carried: Vec<Carried> =
        (0..outputs.len()).map(|k| carried(strategy.base(), &params[k], body.results[k], outputs[k])).collect();
    let next: Vec<BufferId> = carried.iter().map(|part| part.next).collect();
    run(strategy, body, &next);
    strategy.base().guard = None;
    strategy.base().depth -= 1;
    let steps = std::mem::replace(&mut strategy.base().plan.steps, before);
    let swaps = carried.iter().filter(|part| part.now != part.next).map(|part| (part.now, part.next)).collect();
    let name = strategy.base().kernel_name("turns");
    strategy.base().plan.steps.push(Step::Loop(Loop { name, turns, steps, swaps }));
}

/// Before the first turn the condition holds, and none was taken. Gives the buffer in which they are counted.
fn start_count<'g>(strategy: &mut impl Strategy<'g>, holds: BufferId) -> BufferId {
    let done = strategy.base().buffer(Ty::I64, vec![], BufferUse::Temporary);
    strategy.store_scalars(&[holds, done], &|w| vec![w.constant(Scalar::bool(true)), w.number(0)]);
    done
}

/// The condition of a turn, which never holds again once it did not, and the count of those for which it did.
fn test_and_count<'g>(strategy: &mut impl Strategy<'g>, cond: &'g Body, holds: BufferId, done: BufferId) {
    let found = strategy.base().buffer(Ty::Bool, vec![], BufferUse::Temporary);
    run(strategy, cond, &[found]);
    strategy.store_scalars(&[holds, done], &|w| {
        let load = |w: &mut KernelWriter, from: BufferId, ty: Ty| {
            let memory = w.global(from, Access::Read, vec![]);
            w.push(Op::Load { memory, index: vec![] }, ty)
        };
        let found = load(w, found, Ty::Bool);
        let held = load(w, holds, Ty::Bool);
        let done = load(w, done, Ty::I64);
        let now = w.apply(Operator::And, &[held, found], Ty::Bool);
        let one_more = w.push(Op::Cast(Ty::I64, now), Ty::I64);
        vec![now, w.apply(Operator::Add, &[done, one_more], Ty::I64)]
    });
}

/// Puts what the state starts from into its buffers.
fn start<'g>(strategy: &mut impl Strategy<'g>, init: &[Id], binds: &[Var], outputs: &[BufferId]) {
    let mut scalars = vec![];
    for ((&id, bind), &to) in init.iter().zip(binds).zip(outputs) {
        if bind.ty.shape().is_empty() {
            scalars.push((id, to));
        } else if strategy.base().buffers.get(&id) != Some(&to) {
            strategy.copy_array(id, to);
        }
    }
    store(strategy, &scalars);
}

fn store<'g>(strategy: &mut impl Strategy<'g>, scalars: &[(Id, BufferId)]) {
    if scalars.is_empty() {
        return;
    }
    let to: Vec<BufferId> = scalars.iter().map(|(_, to)| *to).collect();
    strategy.store_scalars(&to, &|w| scalars.iter().map(|(id, _)| w.scalar(*id)).collect());
}

/// Says in which buffers the parameters of a turn are.
fn set_homes(base: &mut Lowering, params: &[Var], buffers: &[BufferId]) {
    base.buffers.extend(params.iter().map(|p| p.id).zip(buffers.iter().copied()));
}

/// The buffers of a part of the state.
fn carried(base: &mut Lowering, param: &Var, result: Id, now: BufferId) -> Carried {
    let is_array = !param.ty.shape().is_empty();
    if is_array && base.is_written_over(result, param.id) {
        return Carried { now, next: now };
    }
    let next = base.buffer(param.ty.elem(), param.ty.shape().to_vec(), BufferUse::Temporary);
    Carried { now, next }
}

/// Plans a body whose results are wanted in these buffers.
fn run<'g>(strategy: &mut impl Strategy<'g>, body: &'g Body, wanted: &[BufferId]) {
    let made_here: HashSet<Id> = body.stmts.iter().flat_map(|s| &s.binds).map(|b| b.id).collect();
    let base = strategy.base();
    for (&result, &buffer) in body.results.iter().zip(wanted) {
        let root = base.root(result);
        if made_here.contains(&root) {
            base.wanted.entry(root).or_insert(buffer);
        }
    }
    body.stmts.iter().for_each(|stmt| strategy.plan_stmt(stmt));
    let mut scalars = vec![];
    for (&result, &buffer) in body.results.iter().zip(wanted) {
        if strategy.base().buffers.get(&result) == Some(&buffer) {
            continue;
        }
        if strategy.base().type_of(result).shape().is_empty() {
            scalars.push((result, buffer));
        } else {
            strategy.copy_array(result, buffer);
        }
    }
    store(strategy, &scalars);
}

/// How many turns a counted loop has.
fn count<'g>(strategy: &mut impl Strategy<'g>, [lo, hi, step]: [Id; 3], ty: Ty) -> Turns {
    let base = strategy.base();
    if base.is_constant(lo, 0) && base.is_constant(step, 1) {
        match base.again.get(&hi).map(|stmt| &stmt.op) {
            Some(Op::Const(value)) => return Turns::Size(Size::Const(u64::try_from(value.as_int()).unwrap_or(0))),
            Some(Op::Extent(size)) => return Turns::Size(size.clone()),
            _ => {}
        }
    }
    let to = base.buffer(Ty::I64, vec![], BufferUse::Temporary);
    strategy.store_scalars(&[to], &|w| {
        let [lo, hi, step] = [lo, hi, step].map(|id| w.scalar(id));
        // The distance of two integers fits their width without a sign.
        let wide = match ty.bits() {
            64 => Ty::U64,
            _ => Ty::U32,
        };
        let some = w.apply(Operator::Lt, &[lo, hi], Ty::Bool);
        let [lo, hi, step] = [lo, hi, step].map(|id| w.push(Op::Cast(wide, id), wide));
        let one = w.constant(Scalar::from_int(wide, 1));
        let none = w.constant(Scalar::from_int(wide, 0));
        let distance = w.apply(Operator::Sub, &[hi, lo], wide);
        let last = w.apply(Operator::Sub, &[distance, one], wide);
        let whole = w.apply(Operator::Div, &[last, step], wide);
        let turns = w.apply(Operator::Add, &[whole, one], wide);
        let turns = w.apply(Operator::Select, &[some, turns, none], wide);
        vec![w.push(Op::Cast(Ty::I64, turns), Ty::I64)]
    });
    Turns::Read(to)
}
