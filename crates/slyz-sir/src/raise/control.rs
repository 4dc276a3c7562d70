//! Branches and loops, with what they store.

use super::lift::{Atom, Lift, Value};
use super::poly::{Poly, Term};
use super::{Unraised, does};
use crate::code::{Body, Id, MemId, Op, Stmt, Var};
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write;

/// A loop of a kernel that counts.
pub(super) struct Turning<'k> {
    stmt: &'k Stmt,
    bounds: [Id; 3],
    pub(super) init: &'k [Id],
    pub(super) body: &'k Body,
    /// How many turns it has, where they are counted from 0 and are the same in all threads.
    pub(super) extent: Option<Size>,
    pub(super) turns: Option<i128>,
    /// The least and the most that its counter can be.
    range: Option<(i128, i128)>,
    /// Its counter is one of positions.
    counts: bool,
}

/// Writes a side of a branch, and says what it gives.
type Side<'s, 'k> = &'s mut dyn FnMut(&mut Lift<'k>) -> Result<Vec<Id>, Unraised>;

impl<'k> Lift<'k> {
    pub(super) fn control(&mut self, stmt: &'k Stmt) -> Result<(), Unraised> {
        match &stmt.op {
            Op::If { cond, args, then, otherwise } => self.branch(stmt, *cond, args, [then, otherwise]),
            Op::For { lo, hi, step, init, body } => self.counted(stmt, [*lo, *hi, *step], init, body),
            Op::While { init, cond, body } => self.waiting(stmt, init, cond, body),
            _ => does("it does what array programs do not"),
        }
    }

    /// The tensors that are written in there.
    fn stored_in(&self, body: &Body, found: &mut Vec<MemId>) {
        for stmt in &body.stmts {
            if let Op::Store { memory, .. } = &stmt.op
                && self.is_bound(*memory)
                && !found.contains(memory)
            {
                found.push(*memory);
            }
            stmt.op.bodies().into_iter().for_each(|inner| self.stored_in(inner, found));
        }
    }

    /// What these elements are now. Nobody knows where they are while the code is only looked at.
    fn currents(&mut self, memories: &[MemId]) -> Result<Vec<Id>, Unraised> {
        if !self.looking {
            return memories.iter().map(|&memory| self.current(memory)).collect();
        }
        let nothing = |memory: &MemId| self.stored.get(memory).copied().unwrap_or(Id(0));
        Ok(memories.iter().map(nothing).collect())
    }

    fn types(&self, memories: &[MemId]) -> Vec<Ty> {
        memories.iter().map(|memory| self.kernel.memories[memory.0 as usize].ty).collect()
    }

    fn branch(&mut self, stmt: &'k Stmt, cond: Id, args: &'k [Id], sides: [&'k Body; 2]) -> Result<(), Unraised> {
        if let Some(&Value::Settled(holds)) = self.env.get(&cond) {
            // Threads that the guard keeps out store nothing for the others.
            self.stores_no_tiles(sides)?;
            let side = if holds { sides[0] } else { sides[1] };
            self.pass(side, args);
            self.stmts(&side.stmts)?;
            let values: Vec<Value> = side.results.iter().filter_map(|id| self.env.get(id).cloned()).collect();
            self.bind(stmt, &values);
            return Ok(());
        }
        if let Some(done) = self.shared_branch(cond, sides) {
            return done;
        }
        let mut memories = vec![];
        sides.iter().for_each(|side| self.stored_in(side, &mut memories));
        let tys: Vec<Ty> = stmt.binds.iter().map(|bind| bind.ty.elem()).chain(self.types(&memories)).collect();
        let before = self.stored.clone();
        let condition = self.code(cond)?;
        let mut given = vec![];
        sides.iter().for_each(|side| side.each_free(&mut |id| given.push(id)));
        let side = |number: usize| {
            let before = &before;
            let memories = &memories;
            move |lift: &mut Lift<'k>| {
                lift.stored.clone_from(before);
                lift.pass(sides[number], args);
                lift.stmts(&sides[number].stmts)?;
                let mut results = lift.codes(&sides[number].results)?;
                results.extend(lift.currents(memories)?);
                Ok(results)
            }
        };
        let (mut then, mut otherwise) = (side(0), side(1));
        let made = self.branches(condition, &tys, &given, &mut then, &mut otherwise)?;
        self.stored = before;
        let (results, stored) = made.split_at(stmt.binds.len());
        let values: Vec<Value> = results.iter().copied().map(Value::Code).collect();
        self.bind(stmt, &values);
        self.stored.extend(memories.into_iter().zip(stored.iter().copied()));
        Ok(())
    }

    /// Gives the parameters of a side their values.
    fn pass(&mut self, side: &Body, args: &[Id]) {
        for (param, arg) in side.params.iter().zip(args) {
            if let Some(value) = self.env.get(arg).cloned() {
                self.env.insert(param.id, value);
            }
        }
    }

    /// A branch. Positions that are inside on one side only are passed to it, so that nobody moves what is read there out of it: those of threads
    /// and turns, and what else of the `given` names counts.
    pub(super) fn branches<'s>(
        &mut self,
        cond: Id,
        tys: &[Ty],
        given: &[Id],
        then: Side<'s, 'k>,
        otherwise: Side<'s, 'k>,
    ) -> Result<Vec<Id>, Unraised> {
        let atoms: Vec<usize> = (0..self.atoms.len()).filter(|&atom| self.atoms[atom].id.is_some()).collect();
        let counts = |id: &&Id| self.counts(**id) && matches!(self.env.get(id), Some(Value::Code(_)));
        let mut names: Vec<Id> = given.iter().filter(counts).copied().collect();
        names.sort_unstable();
        names.dedup();
        let mut args: Vec<Id> = atoms.iter().filter_map(|&atom| self.atoms[atom].id).collect();
        args.extend(self.codes(&names)?);
        let mut bodies = vec![];
        let outer_risk = self.risky;
        let mut any_risk = false;
        self.depth += 1;
        for side in [then, otherwise] {
            let params: Vec<Var> = args.iter().map(|_| self.lines.var(Ty::I64)).collect();
            let ids: Vec<Option<Id>> = self.atoms.iter().map(|atom| atom.id).collect();
            let env = self.env.clone();
            let certain = std::mem::replace(&mut self.certain, true);
            self.risky = false;
            for (&atom, param) in atoms.iter().zip(&params) {
                self.atoms[atom].id = Some(param.id);
            }
            for (&name, param) in names.iter().zip(&params[atoms.len()..]) {
                self.env.insert(name, Value::Code(param.id));
            }
            let around = self.lines.begin();
            let results = side(self);
            let stmts = self.lines.end(around);
            self.certain = certain;
            self.env = env;
            for (atom, id) in self.atoms.iter_mut().zip(ids) {
                atom.id = id;
            }
            any_risk |= self.risky;
            bodies.push((Body { params, stmts, results: vec![] }, results));
        }
        self.depth -= 1;
        self.risky = outer_risk;
        let mut bodies = bodies
            .into_iter()
            .map(|(body, results)| Ok(Body { results: results?, ..body }))
            .collect::<Result<Vec<Body>, Unraised>>()?;
        if !any_risk {
            // Whatever is read is inside anyway.
            let fresh: &mut dyn FnMut() -> Id = &mut || self.lines.fresh();
            bodies = bodies.iter().map(|body| body.instantiate(&args, fresh)).collect();
            args.clear();
        }
        let otherwise = bodies.pop().unwrap_or_default();
        let then = bodies.pop().unwrap_or_default();
        Ok(self.lines.bind(Op::If { cond, args, then, otherwise }, tys))
    }

    /// State of a loop: what the kernel carries, and the elements that are written in it.
    fn state(&mut self, init: &[Id], memories: &[MemId]) -> Result<(Vec<Id>, Vec<Ty>), Unraised> {
        let mut start = self.codes(init)?;
        start.extend(self.currents(memories)?);
        Ok((start, self.types(memories)))
    }

    fn counted(&mut self, stmt: &'k Stmt, bounds: [Id; 3], init: &'k [Id], body: &'k Body) -> Result<(), Unraised> {
        let Some(counter) = body.params.first() else { return Err(Unraised::Large) };
        if let Some((_, axis)) = self.strided.filter(|(strided, _)| *strided == counter.id) {
            // Each thread takes the turn that is its own.
            self.env.insert(counter.id, Value::Poly(Poly::term(Term::Atom(axis))));
            return self.stmts(&body.stmts);
        }
        let turning = self.turning(stmt, bounds, init, body);
        let mut memories = vec![];
        self.stored_in(body, &mut memories);
        let rows = self.rows_of(counter.id, &memories);
        memories.retain(|memory| !rows.contains(memory));
        if rows.is_empty() {
            return self.repeat(&turning, &memories);
        }
        let before = self.rows.clone();
        self.write_rows(&rows, &turning)?;
        if init.is_empty() && memories.is_empty() {
            return Ok(());
        }
        // What turns carry is made by itself, from the rows as they were and from what turns have stored.
        self.find_stored(&rows, body);
        let after = std::mem::replace(&mut self.rows, before);
        self.in_row = rows;
        self.row_counter = self.counters.get(&counter.id).copied();
        let done = self.repeat(&turning, &memories);
        self.running.clear();
        self.in_row.clear();
        self.row_counter = None;
        self.rows = after;
        done
    }

    fn turning(&mut self, stmt: &'k Stmt, bounds: [Id; 3], init: &'k [Id], body: &'k Body) -> Turning<'k> {
        let polys = bounds.map(|id| match self.env.get(&id) {
            Some(Value::Poly(poly)) => Some(poly.clone()),
            _ => None,
        });
        let turns = self.turns(&polys);
        let value = turns.as_ref().and_then(|turns| self.value_of(turns));
        let counts = body.params.first().is_some_and(|counter| counter.ty.elem() == Ty::I64);
        let from_zero = polys[0].as_ref().and_then(Poly::as_number) == Some(0);
        let extent = turns.filter(|_| from_zero && counts).and_then(|turns| self.as_size(&turns));
        let ends = |poly: &Option<Poly>| poly.as_ref().and_then(|poly| self.range(poly));
        let range = ends(&polys[0]).zip(ends(&polys[1])).map(|(low, high)| (low.0, (high.1 - 1).max(low.0)));
        Turning { stmt, bounds, init, body, extent, turns: value, range, counts }
    }

    /// Gives the counter of a loop its name in the program.
    pub(super) fn enter(&mut self, turning: &Turning<'k>, id: Id) -> Option<usize> {
        let counter = turning.body.params.first()?;
        if !turning.counts {
            self.env.insert(counter.id, Value::Code(id));
            return None;
        }
        let next = self.atoms.len() as u32;
        let atom = *self.counters.entry(counter.id).or_insert(next);
        let known = Atom { id: Some(id), extent: turning.extent.clone(), range: turning.range };
        match self.atoms.get_mut(atom as usize) {
            Some(own) => *own = known,
            None => self.atoms.push(known),
        }
        self.env.insert(counter.id, Value::Poly(Poly::term(Term::Atom(atom))));
        Some(atom as usize)
    }

    /// A loop, or the fold that it is.
    fn repeat(&mut self, turning: &Turning<'k>, memories: &[MemId]) -> Result<(), Unraised> {
        let Turning { stmt, bounds, init, body, .. } = *turning;
        let Some((counter, carried)) = body.params.split_first() else { return Err(Unraised::Large) };
        let (init, more) = self.state(init, memories)?;
        let tys: Vec<Ty> = carried.iter().map(|param| param.ty.elem()).chain(more).collect();
        let ids = self.codes(&bounds)?;
        let index = self.lines.var(counter.ty.elem());
        let state: Vec<Var> = tys.iter().map(|&ty| self.lines.var(ty)).collect();
        self.tiles.enter(self.kernel, body);
        let runs = self.holds(turning.turns.map(|turns| turns > 0));
        let certain = self.certain;
        self.certain = certain && runs;
        let atom = self.enter(turning, index.id);
        for (param, own) in carried.iter().zip(&state) {
            self.env.insert(param.id, Value::Code(own.id));
        }
        let before = self.stored.clone();
        self.stored.extend(memories.iter().copied().zip(state[carried.len()..].iter().map(|own| own.id)));
        self.depth += 1;
        let around = self.lines.begin();
        let results = self.turn(body, memories);
        let stmts = self.lines.end(around);
        self.depth -= 1;
        self.certain = certain;
        self.stored = before;
        // Nobody sees the counter behind the loop.
        if let Some(atom) = atom {
            self.atoms[atom].id = None;
        }
        self.tiles.leave(self.kernel, body)?;
        let mut params = vec![index];
        params.extend(state);
        let body = Body { params, stmts, results: results? };
        let extent = turning.extent.clone();
        let made = match extent.and_then(|extent| self.fold(extent, &init, &body, &tys)) {
            Some(made) => made,
            None => {
                let &[lo, hi, step] = &ids[..] else { return Err(Unraised::Large) };
                self.lines.bind(Op::For { lo, hi, step, init, body }, &tys)
            }
        };
        self.leave(stmt, memories, &made);
        Ok(())
    }

    /// How many turns a loop has that goes up by one, the same in all threads.
    fn turns(&self, bounds: &[Option<Poly>; 3]) -> Option<Poly> {
        let [Some(lo), Some(hi), Some(step)] = bounds else { return None };
        if step.as_number() != Some(1) || !lo.is_uniform() || !hi.is_uniform() {
            return None;
        }
        let turns = hi.clone().plus(lo, -1)?;
        let known = self.value_of(&turns).map(|turns| turns >= 0);
        self.holds(known).then_some(turns)
    }

    fn turn(&mut self, body: &'k Body, memories: &[MemId]) -> Result<Vec<Id>, Unraised> {
        self.stmts(&body.stmts)?;
        let mut results = self.codes(&body.results)?;
        results.extend(self.currents(memories)?);
        Ok(results)
    }

    fn waiting(&mut self, stmt: &'k Stmt, init: &'k [Id], cond: &'k Body, body: &'k Body) -> Result<(), Unraised> {
        let mut memories = vec![];
        [cond, body].into_iter().for_each(|part| self.stored_in(part, &mut memories));
        let (init, more) = self.state(init, &memories)?;
        let tys: Vec<Ty> = body.params.iter().map(|param| param.ty.elem()).chain(more).collect();
        self.tiles.enter(self.kernel, body);
        let certain = std::mem::replace(&mut self.certain, false);
        let before = self.stored.clone();
        let mut bodies = vec![];
        self.depth += 1;
        for part in [cond, body] {
            let state: Vec<Var> = tys.iter().map(|&ty| self.lines.var(ty)).collect();
            for (param, own) in part.params.iter().zip(&state) {
                self.env.insert(param.id, Value::Code(own.id));
            }
            self.stored.extend(memories.iter().copied().zip(state[part.params.len()..].iter().map(|own| own.id)));
            let around = self.lines.begin();
            let results = if std::ptr::eq(part, body) { self.turn(part, &memories) } else { self.turn(part, &[]) };
            let stmts = self.lines.end(around);
            bodies.push(Body { params: state, stmts, results: results? });
        }
        self.depth -= 1;
        self.certain = certain;
        self.stored = before;
        self.tiles.leave(self.kernel, body)?;
        let body = bodies.pop().unwrap_or_default();
        let cond = bodies.pop().unwrap_or_default();
        let made = self.lines.bind(Op::While { init, cond, body }, &tys);
        self.leave(stmt, &memories, &made);
        Ok(())
    }

    /// What a loop gives, and what it leaves in the elements that it writes.
    fn leave(&mut self, stmt: &Stmt, memories: &[MemId], made: &[Id]) {
        let (results, stored) = made.split_at(stmt.binds.len().min(made.len()));
        let values: Vec<Value> = results.iter().copied().map(Value::Code).collect();
        self.bind(stmt, &values);
        self.stored.extend(memories.iter().copied().zip(stored.iter().copied()));
    }
}
