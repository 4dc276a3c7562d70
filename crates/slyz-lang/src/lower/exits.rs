//! `exits`: code without `break`, `continue` and `return`.
//!
//! What follows a statement that may have left moves into the branch that did not:
//!
//! ```text
//! if c { return }         if c {} else {
//! a                   →       a
//! b                           b
//!                         }
//! ```
//!
//! so nothing is left of most early exits but the branch that they stand in, which then guards all that follows.
//! Where both sides of a branch may go on, a local tells whether they did. A `for` that is left early is a `while` with a counter
//! and such a local; one that only skips turns stays a `for`.
//!
//! Branches do not nest without end: past [`DEEPEST`] the rest is cut into pieces that each ask the local.

use super::walk;
use crate::typed::{Expr, ExprKind, Function, LocalId, Stmt};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};

/// So many branches may stand inside each other because of exits.
const DEEPEST: usize = 24;

/// A function whose statements have one way in and one way out.
#[derive(Debug)]
pub(super) struct Structured {
    /// The types of the locals; those of the function first.
    pub(super) locals: Vec<Ty>,
    /// Code.
    pub(super) body: Vec<Stmt>,
    /// Holds the result at the end.
    pub(super) result: Option<LocalId>,
}

/// The function in that form.
pub(super) fn structured(function: &Function) -> Structured {
    let mut locals: Vec<Ty> = function.locals.iter().map(|local| local.ty).collect();
    let result = function.result.map(|ty| {
        locals.push(ty);
        LocalId(locals.len() as u32 - 1)
    });
    let flat = super::flatten::flatten(&function.body, &mut locals);
    let mut exits = Exits { locals, result, inside: None, loops: vec![] };
    let body = exits.list(&flat, None, 0);
    Structured { locals: exits.locals, body, result }
}

/// The ways out of a statement.
#[derive(Clone, Copy)]
struct Ways {
    /// To the statement after it.
    on: bool,
    breaks: bool,
    continues: bool,
    returns: bool,
}

impl Ways {
    const ON: Ways = Ways { on: true, breaks: false, continues: false, returns: false };
    const NONE: Ways = Ways { on: false, breaks: false, continues: false, returns: false };

    fn leaves(self) -> bool {
        self.breaks || self.continues || self.returns
    }

    fn or(self, other: Ways) -> Ways {
        Ways {
            on: self.on || other.on,
            breaks: self.breaks || other.breaks,
            continues: self.continues || other.continues,
            returns: self.returns || other.returns,
        }
    }
}

fn ways_of(stmts: &[Stmt]) -> Ways {
    let mut all = Ways::ON;
    for stmt in stmts {
        if !all.on {
            break;
        }
        all = Ways { on: false, ..all }.or(ways(stmt));
    }
    all
}

fn ways(stmt: &Stmt) -> Ways {
    match stmt {
        Stmt::Break => Ways { breaks: true, ..Ways::NONE },
        Stmt::Continue => Ways { continues: true, ..Ways::NONE },
        Stmt::Return(_) => Ways { returns: true, ..Ways::NONE },
        Stmt::If { then, otherwise, .. } => ways_of(then).or(ways_of(otherwise)),
        Stmt::For { body, .. } => Ways { returns: ways_of(body).returns, ..Ways::ON },
        Stmt::While { cond, body } => {
            let body = ways_of(body);
            Ways { on: !walk::is_true(cond) || body.breaks, returns: body.returns, ..Ways::NONE }
        }
        Stmt::Set(..) | Stmt::Store { .. } | Stmt::Fill(..) | Stmt::Expr(_) => Ways::ON,
        Stmt::Barrier(_) | Stmt::Fence(_) => Ways::ON,
    }
}

fn counts_by_one(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For { step, .. } => by_one(step),
        _ => true,
    }
}

fn by_one(step: &Expr) -> bool {
    matches!(step.kind, ExprKind::Const(step) if step.as_int() <= 1)
}

struct Exits {
    locals: Vec<Ty>,
    result: Option<LocalId>,
    /// Inside a loop that returns: is the function still running?
    inside: Option<LocalId>,
    /// The loops around, innermost last: the local that tells whether it goes on, for one with a `break`.
    loops: Vec<Option<LocalId>>,
}

fn set(local: LocalId, truth: bool) -> Stmt {
    Stmt::Set(local, walk::constant(Scalar::bool(truth)))
}

impl Exits {
    fn fresh(&mut self, ty: Ty) -> LocalId {
        self.locals.push(ty);
        LocalId(self.locals.len() as u32 - 1)
    }

    /// The list without exits. On every way out but the end, `on` is set to `false`; it is `true` at the start.
    fn list(&mut self, stmts: &[Stmt], on: Option<LocalId>, depth: usize) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for (k, stmt) in stmts.iter().enumerate() {
            let rest = &stmts[k + 1..];
            match stmt {
                Stmt::Break | Stmt::Continue | Stmt::Return(_) => {
                    self.exit(stmt, on, &mut out);
                    return out;
                }
                Stmt::If { cond, then, otherwise } if ways(stmt).leaves() => {
                    self.branch(cond, [then, otherwise], rest, on, depth, &mut out);
                    return out;
                }
                Stmt::If { cond, then, otherwise } => {
                    let then = self.list(then, None, depth + 1);
                    let otherwise = self.list(otherwise, None, depth + 1);
                    out.push(Stmt::If { cond: cond.clone(), then, otherwise });
                }
                Stmt::For { .. } | Stmt::While { .. } => {
                    let Ways { on: ends, returns, .. } = ways(stmt);
                    let outermost = returns && self.inside.is_none();
                    if outermost {
                        let running = self.fresh(Ty::Bool);
                        self.inside = Some(running);
                        out.push(set(running, true));
                    }
                    self.repeat(stmt, depth, &mut out);
                    let running = self.inside.filter(|_| returns);
                    if outermost {
                        self.inside = None;
                    }
                    if let Some(running) = running {
                        // The flag is down already; only what tells the code around is missing.
                        let mut gone = vec![];
                        self.tell(false, on.filter(|&on| on != running), &mut gone);
                        let rest = if ends { self.list(rest, on, depth + 1) } else { vec![] };
                        let cond = walk::local(running, Ty::Bool);
                        out.push(Stmt::If { cond, then: rest, otherwise: gone });
                        return out;
                    }
                    if !ends {
                        return out;
                    }
                }
                Stmt::Set(..) | Stmt::Store { .. } | Stmt::Fill(..) | Stmt::Expr(_) => out.push(stmt.clone()),
                Stmt::Barrier(_) | Stmt::Fence(_) => out.push(stmt.clone()),
            }
        }
        out
    }

    fn exit(&mut self, stmt: &Stmt, on: Option<LocalId>, out: &mut Vec<Stmt>) {
        match stmt {
            Stmt::Break => self.tell(false, on, out),
            Stmt::Return(value) => {
                if let (Some(result), Some(value)) = (self.result, value) {
                    out.push(Stmt::Set(result, value.clone()));
                }
                self.tell(true, on, out);
            }
            // The turn ends where the list ends.
            _ => out.extend(on.map(|on| set(on, false))),
        }
    }

    /// Tells the list and the loop that stand around an exit, and the function, if it is left.
    fn tell(&self, returns: bool, on: Option<LocalId>, out: &mut Vec<Stmt>) {
        let inside = self.inside.filter(|_| returns);
        let own = self.loops.last().copied().flatten();
        let mut told = vec![];
        for local in [inside, own, on].into_iter().flatten() {
            if !told.contains(&local) {
                told.push(local);
                out.push(set(local, false));
            }
        }
    }

    /// A branch with exits, and what follows it.
    fn branch(
        &mut self,
        cond: &Expr,
        [then, otherwise]: [&[Stmt]; 2],
        rest: &[Stmt],
        on: Option<LocalId>,
        depth: usize,
        out: &mut Vec<Stmt>,
    ) {
        let [a, b] = [ways_of(then), ways_of(otherwise)];
        let cond = cond.clone();
        if rest.is_empty() || !(a.on || b.on) {
            let then = self.list(then, on, depth + 1);
            let otherwise = self.list(otherwise, on, depth + 1);
            return out.push(Stmt::If { cond, then, otherwise });
        }
        if depth < DEEPEST && !(a.on && b.on) {
            let follow = |side: &[Stmt], goes_on: bool| if goes_on { [side, rest].concat() } else { side.to_vec() };
            let then = follow(then, a.on);
            let otherwise = follow(otherwise, b.on);
            let then = self.list(&then, on, depth + 1);
            let otherwise = self.list(&otherwise, on, depth + 1);
            return out.push(Stmt::If { cond, then, otherwise });
        }
        let on = match on.or(self.teller(a.or(b).or(ways_of(rest)))) {
            Some(on) => on,
            None => {
                let fresh = self.fresh(Ty::Bool);
                out.push(set(fresh, true));
                fresh
            }
        };
        let then = self.list(then, Some(on), depth + 1);
        let otherwise = self.list(otherwise, Some(on), depth + 1);
        out.push(Stmt::If { cond, then, otherwise });
        self.guarded(rest, on, depth, out);
    }

    /// A local that is set to `false` on all these ways anyway.
    fn teller(&self, ways: Ways) -> Option<LocalId> {
        let own = self.loops.last().copied().flatten();
        match ways {
            Ways { continues: true, .. } => None,
            Ways { breaks: true, .. } => own,
            _ => own.or(self.inside),
        }
    }

    /// What is done if `on` holds.
    fn guarded(&mut self, mut rest: &[Stmt], on: LocalId, depth: usize, out: &mut Vec<Stmt>) {
        while !rest.is_empty() {
            let leaving = rest.iter().position(|stmt| ways(stmt).leaves());
            let piece = if depth < DEEPEST { rest.len() } else { leaving.map_or(rest.len(), |k| k + 1) };
            let then = self.list(&rest[..piece], Some(on), depth + 1);
            out.push(Stmt::If { cond: walk::local(on, Ty::Bool), then, otherwise: vec![] });
            let ends = ways_of(&rest[..piece]).on;
            rest = if ends { &rest[piece..] } else { &[] };
        }
    }

    /// A loop.
    fn repeat(&mut self, stmt: &Stmt, depth: usize, out: &mut Vec<Stmt>) {
        let (Stmt::For { body, .. } | Stmt::While { body, .. }) = stmt else { return };
        let Ways { breaks, returns, .. } = ways_of(body);
        // A counter that may run past the end of its type ends the loop by its flag, not the function by the other.
        let own = (breaks || returns && !counts_by_one(stmt)).then(|| self.fresh(Ty::Bool));
        out.extend(own.map(|own| set(own, true)));
        self.loops.push(own);
        let turn = self.list(body, None, depth + 1);
        self.loops.pop();
        let goes_on = own.or(self.inside.filter(|_| returns));
        match (stmt, goes_on) {
            (Stmt::For { counter, lo, hi, step, .. }, None) => {
                let counter = *counter;
                let lo = lo.clone();
                let hi = hi.clone();
                let step = step.clone();
                out.push(Stmt::For { counter, lo, hi, step, body: turn });
            }
            (Stmt::For { counter, lo, hi, step, .. }, Some(on)) => {
                self.counted(*counter, [lo, hi, step], on, turn, returns, out)
            }
            (Stmt::While { cond, .. }, None) => out.push(Stmt::While { cond: cond.clone(), body: turn }),
            (Stmt::While { cond, .. }, Some(on)) => {
                let body = self.known_to_run(on, returns).chain(turn).collect();
                out.push(Stmt::While { cond: walk::and_then(walk::local(on, Ty::Bool), cond.clone()), body });
            }
            _ => {}
        }
    }

    /// At the start of a turn all flags are up.
    fn known_to_run(&self, on: LocalId, returns: bool) -> impl Iterator<Item = Stmt> + use<> {
        let inside = self.inside.filter(|&inside| returns && inside != on);
        [Some(on), inside].into_iter().flatten().map(|local| set(local, true))
    }

    /// A `for` that can be left: `while on && counter < hi`.
    fn counted(
        &mut self,
        counter: LocalId,
        [lo, hi, step]: [&Expr; 3],
        on: LocalId,
        turn: Vec<Stmt>,
        returns: bool,
        out: &mut Vec<Stmt>,
    ) {
        let ty = lo.ty;
        let [at, end, by] = [lo, hi, step].map(|bound| {
            let local = self.fresh(ty);
            out.push(Stmt::Set(local, bound.clone()));
            local
        });
        let one = Scalar::from_int(ty, 1);
        let single = by_one(step);
        if !single {
            let least = walk::apply(Operator::Max, ty, vec![walk::local(by, ty), walk::constant(one)]);
            out.push(Stmt::Set(by, least));
        }
        let step = if single { walk::constant(one) } else { walk::local(by, ty) };
        let before_end = walk::apply(Operator::Lt, Ty::Bool, vec![walk::local(at, ty), walk::local(end, ty)]);
        let cond = walk::and_then(walk::local(on, Ty::Bool), before_end);
        let mut body: Vec<Stmt> = self.known_to_run(on, returns).collect();
        body.push(Stmt::Set(counter, walk::local(at, ty)));
        body.extend(turn);
        let next = walk::apply(Operator::Add, ty, vec![walk::local(at, ty), step]);
        if single {
            body.push(Stmt::Set(at, next));
        } else {
            // Past the end of the type it starts anew; that is past the end of the loop, too.
            let past = self.fresh(ty);
            let grows = walk::apply(Operator::Gt, Ty::Bool, vec![walk::local(past, ty), walk::local(at, ty)]);
            body.push(Stmt::Set(past, next));
            body.push(Stmt::Set(on, walk::and_then(walk::local(on, Ty::Bool), grows)));
            body.push(Stmt::Set(at, walk::local(past, ty)));
        }
        out.push(Stmt::While { cond, body });
    }
}
