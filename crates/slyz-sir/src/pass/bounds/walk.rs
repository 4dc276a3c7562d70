//! One way through the code, with the range of every name at hand.
//!
//! Branches are walked under what their conditions say (`guard`), and what a side could not be reached with is not walked at all.
//! What loops carry is found by walking their bodies quietly until nothing new turns up: twice as it comes, then with the ends that
//! still move taken to be anywhere, and then, since conditions inside the loop may bring them back, from what that gave. What a counted
//! loop adds in each turn is known better, by the number of turns.
//!
//! Names are bound once, so a range found where a name is bound holds wherever it is seen; what a condition adds is taken back
//! at the end of its branch, by a list of what it changed.

use super::facts::Facts;
use crate::code::largest_id;
use crate::code::{Body, FnId, Id, MemId, Op, Stmt, Type, Var};
use crate::kernel::Kernel;
use crate::ops::{Operator, Signature};
use crate::range::{Range, exact};
use crate::types::Ty;

/// Statements that are looked at before the walk gives up, which proves nothing.
const FUEL: u32 = 50_000;

/// How far definitions are followed.
const DEPTH: u32 = 6;

/// Anything at all; a type leaves of it what it holds.
const ALL: Range = Range { lo: i128::MIN, hi: i128::MAX };

/// Why a walk ends early.
pub(super) enum Stop {
    /// It takes too long.
    Tired,
    /// The answer is known.
    Answered,
}

pub(super) type Walked<T> = Result<T, Stop>;

/// What is asked of the walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Which checks may fail?
    Which,
    /// Does one?
    Whether,
    /// Is there an `i64` past 32 bits?
    Wide,
}

/// What is known of a name.
#[derive(Clone, Copy)]
pub(super) struct Name<'k> {
    pub range: Range,
    pub ty: Ty,
    /// What binds it, and which of the results it is.
    pub def: Option<(&'k Op, usize)>,
    /// Another name for the same value, or itself.
    same: Id,
}

/// `small + gap <= large`.
#[derive(Clone, Copy)]
pub(super) struct Relation {
    pub small: Id,
    pub large: Bound,
    pub gap: i128,
}

/// The larger side of a relation.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Name(Id),
    /// The extent of a memory along an axis.
    Extent(MemId, usize),
}

pub(super) struct Walk<'k> {
    pub kernel: &'k Kernel,
    pub facts: &'k Facts,
    names: Vec<Name<'k>>,
    /// Ranges as they were before conditions narrowed them.
    trail: Vec<(Id, Range)>,
    pub relations: Vec<Relation>,
    question: Question,
    /// Not in the rounds that only look for what loops carry.
    asked: bool,
    fuel: u32,
    /// The names of the checks that may fail.
    pub failed: Vec<Id>,
    /// An `i64` may be past 32 bits.
    pub wide: bool,
}

/// How far a list of changes had come.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    trail: usize,
    relations: usize,
}

/// A loop, and what surrounds its state.
#[derive(Clone, Copy)]
enum Loop<'k> {
    Counted { counter: Range, bounds: [Id; 2], body: &'k Body },
    While { cond: &'k Body, body: &'k Body },
}

impl<'k> Loop<'k> {
    /// The parameters that hold the state.
    fn state(self) -> &'k [Var] {
        match self {
            Loop::Counted { body, .. } => body.params.get(1..).unwrap_or_default(),
            Loop::While { cond, .. } => &cond.params,
        }
    }

    fn results(self) -> &'k [Id] {
        let (Loop::Counted { body, .. } | Loop::While { body, .. }) = self;
        &body.results
    }
}

/// What a loop carries: in its turns, and behind it where that is known better.
struct Carried {
    inside: Vec<Range>,
    behind: Vec<Option<Range>>,
}

impl<'k> Walk<'k> {
    pub fn new(kernel: &'k Kernel, facts: &'k Facts, question: Question) -> Walk<'k> {
        let bodies = || kernel.functions.iter().map(|f| &f.body).chain([&kernel.body]);
        let count = bodies().map(largest_id).max().unwrap_or(0) as usize + 1;
        let unknown = |id: u32| Name { range: Range::FULL, ty: Ty::F64, def: None, same: Id(id) };
        let names = (0..count as u32).map(unknown).collect();
        let (trail, relations, failed) = (vec![], vec![], vec![]);
        let asked = true;
        let mut walk =
            Walk { kernel, facts, names, trail, relations, question, asked, fuel: FUEL, failed, wide: false };
        bodies().for_each(|body| walk.note(body));
        walk
    }

    /// Walks the kernel.
    pub fn run(&mut self) -> Walked<()> {
        for (k, param) in self.kernel.body.params.iter().enumerate() {
            let range = self.facts.scalar(k);
            self.define(param.id, range);
        }
        self.body(&self.kernel.body).map(drop)
    }

    /// Notes what binds names, and their types.
    fn note(&mut self, body: &'k Body) {
        self.note_types(&body.params);
        for stmt in &body.stmts {
            self.note_types(&stmt.binds);
            for (k, bind) in stmt.binds.iter().enumerate() {
                self.names[bind.id.0 as usize].def = Some((&stmt.op, k));
            }
            stmt.op.bodies().into_iter().for_each(|inner| self.note(inner));
        }
    }

    fn note_types(&mut self, vars: &[Var]) {
        for var in vars {
            if let Type::Scalar(ty) = var.ty {
                let name = &mut self.names[var.id.0 as usize];
                name.ty = ty;
                name.range = of_type(ty);
            }
        }
    }

    // ---- names

    /// The name that stands for all that have the value.
    pub fn canonical(&self, mut id: Id) -> Id {
        while self.names[id.0 as usize].same != id {
            id = self.names[id.0 as usize].same;
        }
        id
    }

    pub fn name(&self, id: Id) -> Name<'k> {
        self.names[self.canonical(id).0 as usize]
    }

    pub fn ty(&self, id: Id) -> Ty {
        self.names[id.0 as usize].ty
    }

    /// Binds a name. A range past its type has wrapped around.
    fn define(&mut self, id: Id, range: Range) {
        let name = &mut self.names[id.0 as usize];
        let whole = of_type(name.ty);
        name.range = range.meet(whole).unwrap_or(whole);
        name.same = id;
        if self.asked && name.ty == Ty::I64 && !name.range.within(Range::of(Ty::I32)) {
            self.wide = true;
        }
    }

    /// Sets the range of a name until the mark is gone back to.
    pub fn set(&mut self, id: Id, range: Range) {
        let name = &mut self.names[id.0 as usize];
        self.trail.push((id, name.range));
        name.range = range;
    }

    fn mark(&self) -> Mark {
        Mark { trail: self.trail.len(), relations: self.relations.len() }
    }

    fn back_to(&mut self, mark: Mark) {
        self.relations.truncate(mark.relations);
        for (id, range) in self.trail.drain(mark.trail..).rev() {
            self.names[id.0 as usize].range = range;
        }
    }

    /// The range of a name, once more from what it is made of: conditions may have told about that since.
    pub fn refined(&self, id: Id) -> Range {
        self.refined_to(id, DEPTH)
    }

    fn refined_to(&self, id: Id, depth: u32) -> Range {
        let name = self.name(id);
        if depth == 0 || name.range.lo == name.range.hi {
            return name.range;
        }
        let again = match name.def {
            Some((Op::Apply(operator, args), _)) => self.applied(*operator, name.ty, args, depth - 1),
            Some((Op::Cast(to, arg), _)) => self.converted(*to, *arg, depth - 1),
            _ => return name.range,
        };
        name.range.meet(again).unwrap_or(name.range)
    }

    /// The range of an operator's result, wrapped to its type.
    fn applied(&self, operator: Operator, ty: Ty, args: &[Id], depth: u32) -> Range {
        self.unwrapped(operator, ty, args, depth).unwrap_or_else(|| of_type(ty))
    }

    /// The range of an operator's result, if it does not wrap around.
    pub fn unwrapped(&self, operator: Operator, ty: Ty, args: &[Id], depth: u32) -> Option<Range> {
        let operand = self.ty(*args.last()?);
        if operand.is_float() || ty.is_float() {
            return None;
        }
        let mut ranges = [Range::FULL; 3];
        let ranges = ranges.get_mut(..args.len())?;
        ranges.iter_mut().zip(args).for_each(|(range, &arg)| *range = self.refined_to(arg, depth));
        if operator.row().signature == Signature::Test {
            return Some(compared(operator, ranges));
        }
        let range = match (operator, &*ranges) {
            (Operator::Not, [a]) => {
                let whole = of_type(ty);
                Range::new(whole.lo + whole.hi - a.hi, whole.lo + whole.hi - a.lo)
            }
            (Operator::Shl | Operator::Shr, [_, by]) if !by.within(Range::new(0, i128::from(ty.bits()) - 1)) => {
                return None;
            }
            _ => exact(operator, ranges)?,
        };
        range.within(of_type(ty)).then_some(range)
    }

    fn converted(&self, to: Ty, arg: Id, depth: u32) -> Range {
        if to == Ty::Bool || self.ty(arg).is_float() {
            return of_type(to);
        }
        let range = self.refined_to(arg, depth);
        if range.within(of_type(to)) { range } else { of_type(to) }
    }

    // ---- statements

    /// Walks a body; `false` if its end is not reached.
    fn body(&mut self, body: &'k Body) -> Walked<bool> {
        for stmt in &body.stmts {
            if !self.stmt(stmt)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn stmt(&mut self, stmt: &'k Stmt) -> Walked<bool> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Stop::Tired)?;
        let range = match &stmt.op {
            Op::Const(value) if !value.ty.is_float() => Range::new(value.as_int(), value.as_int()),
            Op::Extent(size) => self.facts.size(size),
            Op::Place(place, d) => self.facts.place(self.kernel, *place, *d),
            Op::Apply(Operator::Select, args) => self.selected(args),
            Op::Apply(operator, args) => match &stmt.binds[..] {
                [bind] => self.applied(*operator, self.ty(bind.id), args, 1),
                _ => ALL,
            },
            Op::Cast(to, arg) => self.converted(*to, *arg, 1),
            Op::Check { memory, index } => {
                if self.asked && !self.inside(*memory, index) {
                    self.failed.extend(stmt.binds.iter().map(|b| b.id));
                    if self.question == Question::Whether {
                        return Err(Stop::Answered);
                    }
                }
                Range::new(0, 1)
            }
            Op::If { cond, args, then, otherwise } => return self.branch(stmt, *cond, args, [then, otherwise]),
            Op::For { lo, hi, step, init, body } => return self.count(stmt, [*lo, *hi, *step], init, body),
            Op::While { init, cond, body } => return self.repeat(stmt, init, cond, body),
            Op::Call(FnId(callee), args) => return self.call(stmt, *callee, args),
            Op::Lanes { lo, hi, body, .. } => {
                let (lo, hi) = (self.refined(*lo), self.refined(*hi));
                if let (Some(turn), true) = (body.params.first(), lo.lo < hi.hi) {
                    self.define(turn.id, Range::new(lo.lo, hi.hi - 1));
                    self.body(body)?;
                }
                ALL
            }
            Op::Const(_)
            | Op::Bitcast(..)
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::Barrier(_)
            | Op::Fence(_)
            | Op::Subgroup(..)
            | Op::At { .. }
            | Op::Tabulate { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::Scatter { .. }
            | Op::Filter { .. } => ALL,
        };
        stmt.binds.iter().for_each(|bind| self.define(bind.id, range));
        if self.wide && self.question == Question::Wide {
            return Err(Stop::Answered);
        }
        Ok(true)
    }

    /// The function's code, with the ranges of the arguments. Names in it mean another thing in every call, so nothing but the
    /// ranges of its results is kept.
    fn call(&mut self, stmt: &'k Stmt, callee: u32, args: &[Id]) -> Walked<bool> {
        let kernel = self.kernel;
        let Some(function) = kernel.functions.get(callee as usize) else { return Ok(true) };
        let mark = self.mark();
        let args: Vec<Range> = args.iter().map(|&arg| self.refined(arg)).collect();
        self.define_all(&function.body.params, args.into_iter());
        let reached = self.body(&function.body)?;
        let results: Vec<Range> = function.body.results.iter().map(|&id| self.refined(id)).collect();
        self.back_to(mark);
        self.define_all(&stmt.binds, results.into_iter());
        Ok(reached)
    }

    /// Each value where its condition holds.
    fn selected(&mut self, args: &[Id]) -> Range {
        let &[cond, yes, no] = args else { return ALL };
        let mut both = None;
        for (value, truth) in [(yes, true), (no, false)] {
            let mark = self.mark();
            if self.assume(cond, truth) {
                both = join(both, self.refined(value));
            }
            self.back_to(mark);
        }
        both.unwrap_or(ALL)
    }

    fn branch(&mut self, stmt: &'k Stmt, cond: Id, args: &[Id], sides: [&'k Body; 2]) -> Walked<bool> {
        let mut joined = vec![None; stmt.binds.len()];
        let mut reached = false;
        for (side, truth) in sides.into_iter().zip([true, false]) {
            let mark = self.mark();
            if self.assume(cond, truth) {
                self.call_the_same(&side.params, args);
                if self.body(side)? {
                    reached = true;
                    for (joined, &result) in joined.iter_mut().zip(&side.results) {
                        *joined = join(*joined, self.refined(result));
                    }
                }
            }
            self.back_to(mark);
        }
        for (bind, range) in stmt.binds.iter().zip(joined) {
            self.define(bind.id, range.unwrap_or(ALL));
        }
        Ok(reached)
    }

    fn call_the_same(&mut self, params: &[Var], args: &[Id]) {
        for (param, &arg) in params.iter().zip(args) {
            self.names[param.id.0 as usize].same = self.canonical(arg);
        }
    }

    // ---- loops

    fn count(&mut self, stmt: &'k Stmt, [lo, hi, step]: [Id; 3], init: &[Id], body: &'k Body) -> Walked<bool> {
        let (first, end) = (self.refined(lo), self.refined(hi));
        let by = self.refined(step);
        let by = Range::new(by.lo.max(1), by.hi.max(1));
        let start: Vec<Range> = init.iter().map(|&id| self.refined(id)).collect();
        if first.lo >= end.hi {
            self.define_all(&stmt.binds, start.into_iter());
            return Ok(true);
        }
        let mut last = end.hi - 1;
        if first.lo == first.hi && by.lo == by.hi {
            last = first.lo + (last - first.lo) / by.lo * by.lo;
        }
        if self.asked && !Range::new(last, last + by.hi).within(Range::of(Ty::I32)) {
            self.wide = true;
        }
        let turns = (end.hi - 1 - first.lo) / by.lo + 1;
        let counted = Loop::Counted { counter: Range::new(first.lo, last), bounds: [lo, hi], body };
        let carried = self.carried(counted, &start, Some(turns))?;
        let next = self.turn(counted, &carried.inside)?.unwrap_or_else(|| start.clone());
        let behind = start.iter().zip(&next).zip(&carried.behind);
        let behind: Vec<Range> = behind.map(|((start, next), known)| known.unwrap_or(start.union(*next))).collect();
        self.define_all(&stmt.binds, behind.into_iter());
        Ok(true)
    }

    fn repeat(&mut self, stmt: &'k Stmt, init: &[Id], cond: &'k Body, body: &'k Body) -> Walked<bool> {
        let start: Vec<Range> = init.iter().map(|&id| self.refined(id)).collect();
        let looped = Loop::While { cond, body };
        let Carried { inside, .. } = self.carried(looped, &start, None)?;
        self.turn(looped, &inside)?;
        // The end: the condition is asked once more, and does not hold.
        let asked = std::mem::replace(&mut self.asked, false);
        let mark = self.mark();
        self.define_all(&cond.params, inside.iter().copied());
        let mut behind = inside.clone();
        if self.body(cond)? && cond.results.first().is_some_and(|&holds| self.assume(holds, false)) {
            behind = cond.params.iter().map(|param| self.refined(param.id)).collect();
        }
        self.back_to(mark);
        self.asked = asked;
        self.define_all(&stmt.binds, behind.into_iter());
        Ok(true)
    }

    fn define_all(&mut self, vars: &[Var], ranges: impl Iterator<Item = Range>) {
        vars.iter().zip(ranges).for_each(|(var, range)| self.define(var.id, range));
    }

    /// One turn from a state to the next; `None` if there is none.
    fn turn(&mut self, looped: Loop<'k>, state: &[Range]) -> Walked<Option<Vec<Range>>> {
        let mark = self.mark();
        self.define_all(looped.state(), state.iter().copied());
        let done = match looped {
            Loop::Counted { counter, bounds: [lo, hi], body } => {
                if let Some(param) = body.params.first() {
                    self.define(param.id, counter);
                    let (lo, at) = (self.canonical(lo), param.id);
                    self.relations.push(Relation { small: lo, large: Bound::Name(at), gap: 0 });
                    self.relations.push(Relation { small: at, large: Bound::Name(hi), gap: 1 });
                }
                self.body(body)?
            }
            Loop::While { cond, body } => {
                let params: Vec<Id> = cond.params.iter().map(|p| p.id).collect();
                self.body(cond)? && cond.results.first().is_some_and(|&holds| self.assume(holds, true)) && {
                    self.call_the_same(&body.params, &params);
                    self.body(body)?
                }
            }
        };
        let next = done.then(|| looped.results().iter().map(|&id| self.refined(id)).collect());
        self.back_to(mark);
        Ok(next)
    }

    /// What the loop carries, whatever turn it is in.
    fn carried(&mut self, looped: Loop<'k>, start: &[Range], turns: Option<i128>) -> Walked<Carried> {
        let mut carried = Carried { inside: start.to_vec(), behind: vec![None; start.len()] };
        if looped.state().iter().all(|param| self.ty(param.id).is_float()) {
            return Ok(carried);
        }
        let asked = std::mem::replace(&mut self.asked, false);
        for round in 0.. {
            let Some(next) = self.turn(looped, &carried.inside)? else { break };
            let more: Vec<Range> = carried.inside.iter().zip(&next).map(|(a, b)| a.union(*b)).collect();
            if more == carried.inside {
                break;
            }
            let types = looped.state().iter().map(|param| of_type(self.ty(param.id)));
            let widened = carried.inside.iter().zip(&more).zip(types).map(|((old, new), ty)| match round {
                0 | 1 => *new,
                _ => Range::new(
                    if new.lo < old.lo { ty.lo } else { new.lo },
                    if new.hi > old.hi { ty.hi } else { new.hi },
                ),
            });
            carried.inside = widened.collect();
        }
        if let Some(turns) = turns {
            self.by_steps(looped, start, turns, &mut carried);
        }
        // Back from the ends, as long as what is found holds by itself.
        let narrower = |inside: &[Range], next: Vec<Range>, behind: &[Option<Range>]| -> Vec<Range> {
            let each = inside.iter().zip(start).zip(next).zip(behind);
            each.map(|(((inside, start), next), known)| match known {
                Some(_) => *inside,
                None => start.union(next).meet(*inside).unwrap_or(*inside),
            })
            .collect()
        };
        if let Some(next) = self.turn(looped, &carried.inside)? {
            let mut found = narrower(&carried.inside, next, &carried.behind);
            for _ in 0..2 {
                if found == carried.inside {
                    break;
                }
                let Some(next) = self.turn(looped, &found)? else { break };
                let stays = found.iter().zip(&next).zip(start).zip(&carried.behind);
                let stays = stays.into_iter().all(|(((found, next), start), known)| {
                    known.is_some() || next.within(*found) && start.within(*found)
                });
                if !stays {
                    break;
                }
                let after = narrower(&found, next, &carried.behind);
                carried.inside = found;
                found = after;
            }
        }
        self.asked = asked;
        Ok(carried)
    }

    /// States of a counted loop to which each turn adds something: so often, and no more.
    fn by_steps(&self, looped: Loop<'k>, start: &[Range], turns: i128, carried: &mut Carried) {
        for (k, (param, &result)) in looped.state().iter().zip(looped.results()).enumerate() {
            let ty = self.ty(param.id);
            if ty.is_float() || ty == Ty::Bool || carried.inside[k] == start[k] {
                continue;
            }
            let Some(by) = self.added(result, param.id, DEPTH) else { continue };
            let after = |turns: i128| {
                let (down, up) = (by.lo.min(0).checked_mul(turns)?, by.hi.max(0).checked_mul(turns)?);
                Some(Range::new(start[k].lo.checked_add(down)?, start[k].hi.checked_add(up)?))
            };
            let (Some(inside), Some(behind)) = (after(turns - 1), after(turns)) else { continue };
            if behind.within(of_type(ty)) {
                carried.inside[k] = inside.meet(carried.inside[k]).unwrap_or(inside);
                carried.behind[k] = Some(behind);
            }
        }
    }

    /// What has been added to `base` to make `id`. Sums wrap around and come back, so only their ends matter.
    fn added(&self, id: Id, base: Id, depth: u32) -> Option<Range> {
        let id = self.canonical(id);
        if id == base {
            return Some(Range::new(0, 0));
        }
        let depth = depth.checked_sub(1)?;
        let either = |a: Id, b: Id| Some(self.added(a, base, depth)?.union(self.added(b, base, depth)?));
        match self.name(id).def? {
            (Op::Apply(Operator::Add, args), _) => match (self.added(args[0], base, depth), &args[..]) {
                (Some(a), [_, b]) => exact(Operator::Add, &[a, self.refined(*b)]),
                (None, [a, b]) => exact(Operator::Add, &[self.added(*b, base, depth)?, self.refined(*a)]),
                _ => None,
            },
            (Op::Apply(Operator::Sub, args), _) => {
                exact(Operator::Sub, &[self.added(args[0], base, depth)?, self.refined(args[1])])
            }
            (Op::Apply(Operator::Select, args), _) => either(args[1], args[2]),
            (Op::If { then, otherwise, .. }, k) => either(*then.results.get(k)?, *otherwise.results.get(k)?),
            _ => None,
        }
    }
}

fn join(a: Option<Range>, b: Range) -> Option<Range> {
    Some(a.map_or(b, |a| a.union(b)))
}

/// Everything of a type; for a float, which nobody asks about, whatever.
pub(super) fn of_type(ty: Ty) -> Range {
    if ty.is_float() { Range::FULL } else { Range::of(ty) }
}

/// Is a comparison decided?
fn compared(operator: Operator, ranges: &[Range]) -> Range {
    let [a, b] = ranges else { return Range::new(0, 1) };
    let (below, not_above) = (a.hi < b.lo, a.hi <= b.lo);
    let (above, not_below) = (a.lo > b.hi, a.lo >= b.hi);
    let same = a.lo == a.hi && a == b;
    let (yes, no) = match operator {
        Operator::Lt => (below, not_below),
        Operator::Le => (not_above, above),
        Operator::Gt => (above, not_above),
        Operator::Ge => (not_below, below),
        Operator::Eq => (same, below || above),
        Operator::Ne => (below || above, same),
        _ => (false, false),
    };
    Range::new(yes.into(), (!no).into())
}
