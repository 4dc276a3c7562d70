//! One way through the code, with the range of every name at hand.
//!
//! Branches are walked under what their conditions say (`guard`), and what a side could not be reached with is not walked at all.
//! What loops carry is found by walking their bodies quietly (`loops`), and what functions give by walking them quietly with the ranges of
//! their arguments. Only quiet statements cost fuel: without it, loops carry and functions give anything.
//!
//! Names are bound once, so a range found where a name is bound holds wherever it is seen; what a condition adds is taken back
//! at the end of its branch, by a list of what it changed.

use super::Ranges;
use super::facts::Facts;
use super::range::{Range, compared, exact, of_type};
use crate::class;
use crate::code::largest_id;
use crate::code::{Body, FnId, Id, MemId, Op, Stmt, Type, Var};
use crate::kernel::Kernel;
use crate::ops::{Operator, Signature};
use crate::types::Ty;

/// Quiet statements that are looked at before the walk is tired.
const FUEL: u32 = 50_000;

/// How far definitions are followed.
pub(super) const DEPTH: u32 = 6;

/// Anything at all; a type leaves of it what it holds.
pub(super) const ALL: Range = Range { lo: i128::MIN, hi: i128::MAX };

/// Somebody who wants to know something where a statement stands.
pub(crate) trait Ask {
    /// Some thread may come to the statement; its operands are bound, its results are not.
    fn at(&mut self, walk: &Walk, stmt: &Stmt);
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

pub(crate) struct Walk<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) facts: &'k Facts,
    names: Vec<Name<'k>>,
    /// Ranges as they were before conditions narrowed them.
    trail: Vec<(Id, Range)>,
    pub(super) relations: Vec<Relation>,
    /// Nobody is told, and nothing is kept: a round that only looks for what loops carry or functions give.
    pub(super) quiet: bool,
    pub(super) fuel: u32,
    /// What each name can be where it is bound.
    found: Vec<Option<Range>>,
    ask: Option<&'k mut dyn Ask>,
}

/// How far a list of changes had come.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    trail: usize,
    relations: usize,
}

impl<'k> Walk<'k> {
    pub(super) fn new(kernel: &'k Kernel, facts: &'k Facts, ask: Option<&'k mut dyn Ask>) -> Walk<'k> {
        let bodies = || kernel.functions.iter().map(|f| &f.body).chain([&kernel.body]);
        let count = bodies().map(largest_id).max().unwrap_or(0) as usize + 1;
        let unknown = |id: u32| Name { range: Range::FULL, ty: Ty::F64, def: None, same: Id(id) };
        let mut walk = Walk {
            kernel,
            facts,
            names: (0..count as u32).map(unknown).collect(),
            trail: vec![],
            relations: vec![],
            quiet: false,
            fuel: FUEL,
            found: vec![None; count],
            ask,
        };
        bodies().for_each(|body| walk.note(body));
        walk
    }

    /// Walks the kernel, then its functions, whose code serves all calls alike.
    pub(super) fn run(mut self) -> Ranges {
        for (k, param) in self.kernel.body.params.iter().enumerate() {
            let range = self.facts.scalar(k);
            self.define(param.id, range);
        }
        let kernel = self.kernel;
        self.body(&kernel.body);
        kernel.functions.iter().for_each(|function| self.anything(&function.body));
        Ranges { found: self.found, types: self.names.iter().map(|name| name.ty).collect() }
    }

    /// Walks code whose parameters may be anything.
    fn anything(&mut self, body: &'k Body) {
        body.params.iter().for_each(|param| self.define(param.id, ALL));
        self.body(body);
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
    pub(super) fn canonical(&self, mut id: Id) -> Id {
        while self.names[id.0 as usize].same != id {
            id = self.names[id.0 as usize].same;
        }
        id
    }

    pub(super) fn name(&self, id: Id) -> Name<'k> {
        self.names[self.canonical(id).0 as usize]
    }

    pub(super) fn ty(&self, id: Id) -> Ty {
        self.names[id.0 as usize].ty
    }

    /// Binds a name. A range past its type has wrapped around.
    pub(super) fn define(&mut self, id: Id, range: Range) {
        let name = &mut self.names[id.0 as usize];
        let whole = of_type(name.ty);
        name.range = range.meet(whole).unwrap_or(whole);
        name.same = id;
        if !self.quiet {
            self.found[id.0 as usize] = Some(name.range);
        }
    }

    pub(super) fn define_all(&mut self, vars: &[Var], ranges: impl Iterator<Item = Range>) {
        vars.iter().zip(ranges).for_each(|(var, range)| self.define(var.id, range));
    }

    /// Binds names to values that have others already.
    pub(super) fn call_the_same(&mut self, params: &[Var], args: &[Id]) {
        for (param, &arg) in params.iter().zip(args) {
            if !self.quiet {
                self.found[param.id.0 as usize] = Some(self.refined(arg));
            }
            self.names[param.id.0 as usize].same = self.canonical(arg);
        }
    }

    /// Sets the range of a name until the mark is gone back to.
    pub(super) fn set(&mut self, id: Id, range: Range) {
        let name = &mut self.names[id.0 as usize];
        self.trail.push((id, name.range));
        name.range = range;
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { trail: self.trail.len(), relations: self.relations.len() }
    }

    pub(super) fn back_to(&mut self, mark: Mark) {
        self.relations.truncate(mark.relations);
        for (id, range) in self.trail.drain(mark.trail..).rev() {
            self.names[id.0 as usize].range = range;
        }
    }

    /// The range of a name, once more from what it is made of: conditions may have told about that since.
    pub(crate) fn refined(&self, id: Id) -> Range {
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
    pub(super) fn unwrapped(&self, operator: Operator, ty: Ty, args: &[Id], depth: u32) -> Option<Range> {
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
    pub(super) fn body(&mut self, body: &'k Body) -> bool {
        body.stmts.iter().all(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &'k Stmt) -> bool {
        if self.quiet {
            self.fuel = self.fuel.saturating_sub(1);
        } else if let Some(ask) = self.ask.take() {
            ask.at(self, stmt);
            self.ask = Some(ask);
        }
        let range = match &stmt.op {
            Op::Const(value) if !value.ty.is_float() => Range::new(value.as_int(), value.as_int()),
            Op::Extent(size) => self.facts.extent(size),
            Op::Place(place, d) => self.facts.place(self.kernel, *place, *d),
            Op::Apply(Operator::Select, args) => self.selected(args),
            Op::Apply(operator, args) => match &stmt.binds[..] {
                [bind] => self.applied(*operator, self.ty(bind.id), args, 1),
                _ => ALL,
            },
            Op::Cast(to, arg) => self.converted(*to, *arg, 1),
            Op::Check { .. } => Range::new(0, 1),
            Op::If { cond, args, then, otherwise } => return self.branch(stmt, *cond, args, [then, otherwise]),
            Op::For { lo, hi, step, init, body } => return self.count(stmt, [*lo, *hi, *step], init, body),
            Op::While { init, cond, body } => return self.repeat(stmt, init, cond, body),
            Op::Call(FnId(callee), args) => return self.call(stmt, *callee, args),
            Op::Lanes { lo, hi, body, monoid } => {
                let lo = self.refined(*lo);
                let hi = self.refined(*hi);
                if let (Some(turn), true) = (body.params.first(), lo.lo < hi.hi) {
                    self.define(turn.id, Range::new(lo.lo, hi.hi - 1));
                    self.body(body);
                }
                monoid.iter().for_each(|monoid| self.anything(&monoid.combine));
                ALL
            }
            Op::Prefixes { lo, hi, body, monoid, put, .. } => {
                let lo = self.refined(*lo);
                let hi = self.refined(*hi);
                if lo.lo < hi.hi {
                    let turn = Range::new(lo.lo, hi.hi - 1);
                    body.params.first().into_iter().for_each(|param| self.define(param.id, turn));
                    self.body(body);
                    self.define_all(&put.params, std::iter::once(turn).chain(std::iter::repeat(ALL)));
                    self.body(put);
                }
                self.anything(&monoid.combine);
                ALL
            }
            // Data.
            Op::Const(_)
            | Op::Bitcast(..)
            | Op::Load { .. }
            | Op::LoadFragment { .. }
            | Op::Store { .. }
            | Op::Atomic { .. } => ALL,
            Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) | class!(Array) => ALL,
        };
        stmt.binds.iter().for_each(|bind| self.define(bind.id, range));
        true
    }

    /// The function's code, with the ranges of the arguments. Names in it mean another thing in every call, so nothing but the
    /// ranges of its results is kept.
    fn call(&mut self, stmt: &'k Stmt, callee: u32, args: &[Id]) -> bool {
        let kernel = self.kernel;
        let function = kernel.functions.get(callee as usize).filter(|_| self.fuel > 0);
        let Some(function) = function else {
            stmt.binds.iter().for_each(|bind| self.define(bind.id, ALL));
            return true;
        };
        let mark = self.mark();
        let quiet = std::mem::replace(&mut self.quiet, true);
        let args: Vec<Range> = args.iter().map(|&arg| self.refined(arg)).collect();
        self.define_all(&function.body.params, args.into_iter());
        let reached = self.body(&function.body);
        let results: Vec<Range> = function.body.results.iter().map(|&id| self.refined(id)).collect();
        self.quiet = quiet;
        self.back_to(mark);
        self.define_all(&stmt.binds, results.into_iter());
        reached
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

    fn branch(&mut self, stmt: &'k Stmt, cond: Id, args: &[Id], sides: [&'k Body; 2]) -> bool {
        let mut joined = vec![None; stmt.binds.len()];
        let mut reached = false;
        for (side, truth) in sides.into_iter().zip([true, false]) {
            let mark = self.mark();
            if self.assume(cond, truth) {
                self.call_the_same(&side.params, args);
                if self.body(side) {
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
        reached
    }
}

fn join(a: Option<Range>, b: Range) -> Option<Range> {
    Some(a.map_or(b, |a| a.union(b)))
}
