//! Branches and loops as C: real ones where all lanes agree, masks where they do not.
//!
//! The results of control flow are variables ("slots") that its bodies set. Where lanes differ, a branch runs each side
//! that some lane takes, and a loop runs until the last lane is done; lanes that are off keep their slots. The state of a loop
//! that stays the same in all lanes is a scalar, and one that stays a position of neighbours is the first of them (`steady`).

use super::lines::{Line, line};
use super::steady::{self, Kind};
use super::value::{Lane, LaneForm, Value, scalar_type};
use super::writer::{CWriter, Live};
use super::{EmitError, expr, serial};
use crate::back::tree::{Infix, Prefix, Tree};
use crate::code::{Body, Id, Op, Stmt, Var};
use crate::types::Ty;
use std::collections::HashMap;

/// The name of a slot that nobody reads, and that is therefore not there.
const NOBODYS: &str = "";

/// Statements of a loop that is short enough to make several turns before it jumps back, and how many these are.
///
/// A row of a sparse matrix is such a loop: its end is data, so no compiler can take the turns together, and a jump for each is half of
/// its time. Every turn still asks whether it is the last, so a row costs one wrong prediction at most: sums of 100,000 rows of 0 to 20
/// elements take 0.4 to 0.9 of the time.
const SHORT_LOOP: usize = 8;
const TURNS_AT_ONCE: usize = 8;

/// A slot that gets a value.
struct Assignment {
    slot: Tree,
    uniform: bool,
    declared: String,
    value: Tree,
}

impl Assignment {
    /// The variable that the slot is, or is a vector of.
    fn variable(&self) -> Option<&str> {
        let (of, _) = self.slot.as_element().unwrap_or((&self.slot, &self.slot));
        of.as_name()
    }
}

impl CWriter<'_> {
    /// What a slot can be that has these names, where 32 bits hold it.
    fn small(&self, names: &[Id]) -> Option<(i128, i128)> {
        let ranges: Option<Vec<(i128, i128)>> = names.iter().map(|&id| self.range(id)).collect();
        let all = ranges?.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        (all.0 >= i32::MIN.into() && all.1 <= i32::MAX.into()).then_some(all)
    }

    /// A variable for each result of control flow, declared now and set in its bodies. Those of a loop have the names of
    /// its state, too.
    fn slots(&mut self, stmt: &Stmt, start: &[Value], state: &[Var], kinds: &[Kind]) -> Vec<Value> {
        let mut slots: Vec<Value> = vec![];
        for (k, bind) in stmt.binds.iter().enumerate() {
            let names: Vec<Id> = std::iter::once(bind).chain(state.get(k)).map(|var| var.id).collect();
            let named = names.iter().copied().find(|&id| self.kernel.names.get(id).is_some());
            let name = self.fresh_for(named.unwrap_or(bind.id), "s");
            let ty = bind.ty.elem();
            let range = self.small(&names);
            let lane = if range.is_some() { Lane::I32 } else { Lane::of(ty) };
            let kind = match kinds.get(k).copied().unwrap_or(Kind::Vector) {
                Kind::Uniform | Kind::Affine | Kind::Vector if self.live == Live::Block => Kind::Uniform,
                kind => kind,
            };
            let (declared, form, zero) = match kind {
                Kind::Nobodys => {
                    slots.push(Value::uniform(ty, Tree::name(NOBODYS)));
                    continue;
                }
                Kind::Uniform => (scalar_type(ty).to_string(), LaneForm::Uniform(Tree::name(&name)), Line::from("0")),
                Kind::Affine => ("i64".to_string(), LaneForm::Affine(self.each(&name)), Line::from("0")),
                Kind::Vector => {
                    let declared = self.vector_type(lane);
                    let zero = if self.ways.is_some() { line!["(", declared, "){0}"] } else { Line::from("{0}") };
                    (declared, LaneForm::Vector(lane, self.each(&name)), zero)
                }
            };
            let value = Value { ty, form, range };
            let first = start.get(k).map_or(zero, |v| Self::as_slot(v, &value).into());
            if kind == Kind::Uniform {
                self.line(line![declared, " ", name, " = ", first, ";"]);
            } else {
                self.set(&declared, &name, first);
            }
            if self.live == Live::Block {
                self.declare(&name, format!("{declared} {name}"));
            }
            slots.push(value);
        }
        slots
    }

    /// What the states of a loop are; `together` is its counter where all lanes make the same turns. Of a loop that lanes leave
    /// at different turns, only states that nobody asks for afterwards can be anything but vectors: the others must stay as
    /// each lane left them.
    fn kinds(&self, stmt: &Stmt, start: &[Value], bodies: &[(&[Var], &Body)], together: Option<Id>) -> Vec<Kind> {
        let wanted = |bind: &Var| self.uses.contains_key(&bind.id);
        // Known before the others are looked at: what hangs on a vector is one.
        let start = start.iter().zip(&stmt.binds).map(|(value, bind)| match together {
            None if wanted(bind) => Kind::Vector,
            None | Some(_) => steady::kind_of(value),
        });
        let mut kinds = steady::kinds(self, start.collect(), bodies, together);
        for (k, (kind, bind)) in kinds.iter_mut().zip(&stmt.binds).enumerate() {
            if !wanted(bind) && bodies.iter().all(|(params, _)| !self.uses.contains_key(&params[k].id)) {
                *kind = Kind::Nobodys;
            }
        }
        kinds
    }

    /// A value as it is assigned to a slot.
    fn as_slot(value: &Value, slot: &Value) -> Tree {
        match (&slot.form, &value.form) {
            (LaneForm::Uniform(_), LaneForm::Uniform(e)) | (LaneForm::Affine(_), LaneForm::Affine(e)) => e.clone(),
            _ => expr::spread(value, Self::lane_of(slot)),
        }
    }

    /// What the lanes of a slot hold.
    fn lane_of(slot: &Value) -> Lane {
        match slot.form {
            LaneForm::Vector(lane, _) => lane,
            LaneForm::Uniform(_) | LaneForm::Affine(_) | LaneForm::Clamped(..) => Lane::of(slot.ty),
        }
    }

    fn place_of(slot: &Value) -> &Tree {
        match &slot.form {
            LaneForm::Uniform(e) | LaneForm::Affine(e) | LaneForm::Clamped(e, ..) | LaneForm::Vector(_, e) => e,
        }
    }

    /// Sets the state of a loop for its next turn. A lane that is done keeps what is wanted after the loop; what becomes
    /// of the rest of its state does not matter.
    fn advance(&mut self, stmt: &Stmt, slots: &[Value], results: &[Id], on: &str) {
        let wanted: Vec<bool> = stmt.binds.iter().map(|b| self.uses.contains_key(&b.id)).collect();
        self.assign_some(slots, results, Some(on), &wanted);
    }

    /// Sets the slots to the results of a body, all at once: one may be another's old value.
    fn assign(&mut self, slots: &[Value], results: &[Id], mask: Option<&str>) {
        self.assign_some(slots, results, mask, &vec![true; slots.len()]);
    }

    fn assign_some(&mut self, slots: &[Value], results: &[Id], mask: Option<&str>, masked: &[bool]) {
        let mut assignments: Vec<Assignment> = vec![];
        for ((slot, &result), masked) in slots.iter().zip(results).zip(masked) {
            let place = Self::place_of(slot).clone();
            let value = Self::as_slot(&self.get(result), slot);
            if place.as_name() == Some(NOBODYS) || value == place {
                continue;
            }
            let declared = match &slot.form {
                LaneForm::Vector(lane, _) => self.vector_type(*lane),
                LaneForm::Affine(_) | LaneForm::Clamped(..) => "i64".to_string(),
                LaneForm::Uniform(_) => scalar_type(slot.ty).to_string(),
            };
            let value = match (&slot.form, mask.filter(|_| *masked)) {
                (LaneForm::Vector(lane, _), Some(mask)) => {
                    Tree::call(format!("select_{}", lane.name()), [self.each(mask), value, place.clone()])
                }
                _ => value,
            };
            assignments.push(Assignment { slot: place, uniform: slot.is_uniform(), declared, value });
        }
        // The last assignment that mentions a name.
        let mut last: HashMap<String, usize> = HashMap::new();
        for (k, assignment) in assignments.iter().enumerate() {
            assignment.value.each_name(&mut |name| _ = last.insert(name.to_string(), k));
        }
        let read_later = |k: usize, assignment: &Assignment| {
            let last = assignment.variable().and_then(|name| last.get(name));
            last.is_some_and(|&last| last > k)
        };
        // What a later one still reads is set at the very end.
        let mut late = vec![];
        for (k, assignment) in assignments.iter().enumerate() {
            let Assignment { slot, uniform, declared, value } = assignment;
            if !read_later(k, assignment) {
                self.assign_one(slot, *uniform, value);
                continue;
            }
            let next = self.fresh("t");
            if *uniform {
                self.line(line![declared, " ", next, " = ", value, ";"]);
                late.push((slot, *uniform, Tree::name(next)));
            } else {
                self.set(declared, &next, value);
                late.push((slot, *uniform, self.each(&next)));
            }
        }
        for (slot, uniform, next) in late {
            self.assign_one(slot, uniform, &next);
        }
    }

    fn assign_one(&mut self, slot: &Tree, uniform: bool, value: &Tree) {
        let statement = line![slot, " = ", value, ";"];
        if uniform { self.line(statement) } else { self.act(statement) }
    }

    pub(super) fn enter(&mut self, body: &Body, args: &[Value]) {
        self.set_values(&body.params, args);
    }

    fn finish(&mut self, stmt: &Stmt, slots: Vec<Value>) {
        self.set_values(&stmt.binds, &slots);
    }

    pub(super) fn branch(
        &mut self,
        stmt: &Stmt,
        cond: Id,
        args: &[Id],
        then: &Body,
        otherwise: &Body,
    ) -> Result<(), EmitError> {
        let args = self.all(args);
        let cond = self.get(cond);
        self.enter(then, &args);
        self.enter(otherwise, &args);
        // Where one side only names values, these are what the other changes.
        let quiet = [otherwise, then].into_iter().find(|side| side.stmts.is_empty()).filter(|_| !cond.is_uniform());
        let start = quiet.map_or(vec![], |side| self.all(&side.results));
        let wanted = |bind: &Var| if self.uses.contains_key(&bind.id) { Kind::Vector } else { Kind::Nobodys };
        let kinds: Vec<Kind> = stmt.binds.iter().map(wanted).collect();
        let slots = self.slots(stmt, &start, &[], &kinds);
        if let LaneForm::Uniform(test) = &cond.form {
            self.block(line!["if (", test, ")"], |w| w.side(then, &slots, None))?;
            if !otherwise.stmts.is_empty() || !slots.is_empty() {
                self.block("else", |w| w.side(otherwise, &slots, None))?;
            }
        } else {
            let test = expr::spread(&cond, Lane::Mask);
            let not = Tree::prefix(Prefix::Complement, test.clone());
            if !self.masked {
                return self.branch_of_any(stmt, &cond, [then, otherwise], quiet, slots);
            }
            for (body, test) in [(then, test), (otherwise, not)] {
                if body.stmts.is_empty() && (slots.is_empty() || quiet.is_some_and(|side| std::ptr::eq(side, body))) {
                    continue;
                }
                let mask = self.fresh("m");
                let on = Tree::infix(Infix::And, self.mask(), test);
                self.set("vi32", &mask, on);
                let before = std::mem::replace(&mut self.live, Live::Mask(mask.clone()));
                self.block(line!["if (", self.any(&mask), ")"], |w| w.side(body, &slots, Some(&mask)))?;
                self.live = before;
            }
        }
        self.finish(stmt, slots);
        Ok(())
    }

    /// A branch of mathematics: all lanes compute a side that any of them takes. What one side mends of what the other names is
    /// rare.
    fn branch_of_any(
        &mut self,
        stmt: &Stmt,
        cond: &Value,
        sides: [&Body; 2],
        quiet: Option<&Body>,
        slots: Vec<Value>,
    ) -> Result<(), EmitError> {
        let (lane, any) = if cond.is_wide_mask() { (Lane::WideMask, "any_wide") } else { (Lane::Mask, "any") };
        let test = expr::spread(cond, lane);
        let not = Tree::prefix(Prefix::Complement, test.clone());
        for (body, test) in sides.into_iter().zip([test, not]) {
            if quiet.is_some_and(|side| std::ptr::eq(side, body)) {
                continue;
            }
            let mask = self.fresh("m");
            self.set(&lane.vector(), &mask, test);
            let any = Tree::call(any, [Tree::name(&mask)]);
            let any = if quiet.is_some() { Tree::call("__builtin_expect", [any, Tree::int(0)]) } else { any };
            self.block(line!["if (", any, ")"], |w| {
                w.stmts(body)?;
                let mask = Value::vector(Ty::Bool, lane, Tree::name(mask));
                for (slot, &result) in slots.iter().zip(&body.results) {
                    let (LaneForm::Vector(lane, place), value) = (&slot.form, w.get(result)) else { continue };
                    let blended = expr::blend(*lane, &mask, expr::spread(&value, *lane), place.clone());
                    w.line(line![place, " = ", blended, ";"]);
                }
                Ok(())
            })?;
        }
        self.finish(stmt, slots);
        Ok(())
    }

    /// One side of a branch, for the lanes of a mask or for all that are live.
    fn side(&mut self, body: &Body, slots: &[Value], mask: Option<&str>) -> Result<(), EmitError> {
        if self.live != Live::Block && slots.is_empty() && serial::is_serial(self.kernel, body) {
            let live = match &self.live {
                Live::Mask(name) => name.clone(),
                Live::Block | Live::Count | Live::All => {
                    let name = self.fresh("m");
                    let mask = self.mask();
                    self.set("vi32", &name, mask);
                    name
                }
            };
            return serial::write(self, &live, body);
        }
        self.stmts(body)?;
        self.assign(slots, &body.results, mask);
        Ok(())
    }

    pub(super) fn count_loop(
        &mut self,
        stmt: &Stmt,
        bounds: [Id; 3],
        init: &[Id],
        body: &Body,
    ) -> Result<(), EmitError> {
        let by_one = matches!(&self.get(bounds[2]).form, LaneForm::Uniform(e) if e.is_int(1));
        if self.live == Live::Block
            && init.is_empty()
            && by_one
            && super::tile::write(self, bounds[0], bounds[1], body)?
        {
            return Ok(());
        }
        if let (Live::Block, [start], true) = (&self.live, init, by_one)
            && super::pack::write(self, stmt, [bounds[0], bounds[1]], *start, body)?
        {
            return Ok(());
        }
        let start = self.all(init);
        let [lo, hi, step] = bounds.map(|b| self.get(b));
        // One step past the end is still inside the type.
        let fits = by_one || hi.range.zip(step.range).is_some_and(|(hi, step)| hi.1 + step.1 <= i64::MAX.into());
        let together = [&lo, &hi, &step].into_iter().all(|bound| bound.is_uniform()).then_some(body.params[0].id);
        let kinds = self.kinds(stmt, &start, &[(&body.params[1..], body)], together);
        let slots = self.slots(stmt, &start, &body.params[1..], &kinds);
        let counter_ty = body.params[0].ty.elem();
        let name = self.fresh_for(body.params[0].id, "k");
        if let (LaneForm::Uniform(lo), LaneForm::Uniform(_), LaneForm::Uniform(step)) = (&lo.form, &hi.form, &step.form)
        {
            let end = self.bound(bounds[1])?;
            let counted_to = Tree::name(&name);
            let counter = Value::uniform(counter_ty, counted_to.clone());
            let ty = scalar_type(counter_ty);
            let advance = if by_one {
                line![name, "++"]
            } else if fits {
                line![name, " += ", step]
            } else {
                // Past the end the counter might wrap around.
                let wide = |tree: &Tree| Tree::cast("i64", tree.clone());
                let left = Tree::infix(Infix::Sub, wide(&end), wide(&counted_to));
                let goes_on = Tree::infix(Infix::Gt, left, wide(step));
                let next = Tree::infix(Infix::Add, Tree::cast(ty, counted_to.clone()), step.clone());
                line![name, " = ", Tree::choice(goes_on, next, end.clone())]
            };
            let below = Tree::infix(Infix::Lt, counted_to, end);
            if self.live == Live::Block {
                self.declare(&name, format!("{ty} {name}"));
            }
            self.enter(body, &[&[counter], &slots[..]].concat());
            if self.live == Live::Block && !init.is_empty() && is_short(&[body]) {
                self.block(line!["for (", ty, " ", name, " = ", lo, ";;)"], |w| {
                    for _ in 0..TURNS_AT_ONCE {
                        w.leave_unless(below.clone());
                        w.stmts(body)?;
                        w.assign(&slots, &body.results, None);
                        w.line(line![advance, ";"]);
                    }
                    Ok(())
                })?;
            } else {
                let head = line!["for (", ty, " ", name, " = ", lo, "; ", below, "; ", advance, ")"];
                self.block(head, |w| {
                    w.stmts(body)?;
                    w.assign(&slots, &body.results, None);
                    Ok(())
                })?;
            }
        } else if let (LaneForm::Affine(base), LaneForm::Uniform(_), LaneForm::Uniform(step)) =
            (&lo.form, &hi.form, &step.form)
        {
            // Neighbouring lanes stay neighbours, and the last of them end first.
            let end = self.bound(bounds[1])?;
            let on = self.fresh("on");
            let mask = self.mask();
            self.set("vi32", &on, mask);
            let live = self.each(&on);
            let at = Tree::infix(Infix::Add, base.clone(), Tree::name(&name));
            let counter = Value { ty: counter_ty, form: LaneForm::Affine(at.clone()), range: None };
            let before = std::mem::replace(&mut self.live, Live::Mask(on.clone()));
            self.enter(body, &[&[counter], &slots[..]].concat());
            self.block(line!["for (i64 ", name, " = 0;; ", name, " += ", step, ")"], |w| {
                let left = Tree::call("lanes_before", [Tree::infix(Infix::Sub, end, at)]);
                w.act(line![live, " &= ", Tree::call("first_lanes", [left]), ";"]);
                w.leave_unless(w.any(&on));
                w.stmts(body)?;
                w.advance(stmt, &slots, &body.results, &on);
                Ok(())
            })?;
            self.live = before;
        } else {
            // Also the number past the end must fit.
            let most = hi.range.zip(step.range).map_or(i128::MAX, |(hi, step)| hi.1.saturating_add(step.1));
            let least = lo.range.map_or(i128::MIN, |lo| lo.0);
            let small = counter_ty == Ty::I64 && least >= i32::MIN.into() && most <= i32::MAX.into();
            let small = small && [&lo, &hi, &step].into_iter().all(|v| v.is_small());
            let lane = if small { Lane::I32 } else { Lane::of(counter_ty) };
            let counter_type = self.vector_type(lane);
            let on = self.fresh("on");
            let [first, end, by] = [&lo, &hi, &step].map(|bound| expr::spread(bound, lane));
            let mask = self.mask();
            self.set(&counter_type, &name, first);
            self.set("vi32", &on, mask);
            let counter = self.each(&name);
            let live = self.each(&on);
            let before = std::mem::replace(&mut self.live, Live::Mask(on.clone()));
            let value = Value::vector(counter_ty, lane, counter.clone());
            self.enter(body, &[&[value], &slots[..]].concat());
            self.block("for (;;)", |w| {
                let below = Tree::call(format!("lt_{}", lane.name()), [counter.clone(), end.clone()]);
                w.act(line![live, " &= ", below, ";"]);
                w.leave_unless(w.any(&on));
                w.stmts(body)?;
                w.advance(stmt, &slots, &body.results, &on);
                if !fits && matches!(counter_ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) {
                    // A lane that would pass its end is done; the distance to it is right without its sign.
                    let unsigned = if lane.is_wide() { "u64" } else { "u32" };
                    let far = |tree: Tree| match lane.name() == unsigned {
                        true => tree,
                        false => Tree::call(format!("bits_{}_{unsigned}", lane.name()), [tree]),
                    };
                    let left = far(Tree::infix(Infix::Sub, end, counter.clone()));
                    let goes_on = Tree::call(format!("gt_{unsigned}"), [left, far(by.clone())]);
                    w.act(line![live, " &= ", goes_on, ";"]);
                }
                w.act(line![counter, " += ", by, ";"]);
                Ok(())
            })?;
            self.live = before;
        }
        self.finish(stmt, slots);
        Ok(())
    }

    /// Leaves the loop where a condition does not hold.
    fn leave_unless(&mut self, condition: Tree) {
        self.line(line!["if (", Tree::prefix(Prefix::Not, condition), ") break;"]);
    }

    pub(super) fn while_loop(&mut self, stmt: &Stmt, init: &[Id], cond: &Body, body: &Body) -> Result<(), EmitError> {
        let start = self.all(init);
        let kinds = self.kinds(stmt, &start, &[(&cond.params, cond), (&body.params, body)], None);
        let slots = self.slots(stmt, &start, &cond.params, &kinds);
        self.enter(cond, &slots);
        self.enter(body, &slots);
        if self.live == Live::Block {
            let turns = if is_short(&[cond, body]) { TURNS_AT_ONCE } else { 1 };
            self.block("for (;;)", |w| {
                for _ in 0..turns {
                    w.stmts(cond)?;
                    let test = w.scalar(cond.results[0])?;
                    w.leave_unless(test);
                    w.stmts(body)?;
                    w.assign(&slots, &body.results, None);
                }
                Ok(())
            })?;
        } else if !self.masked {
            // Lanes of mathematics that are done may make more turns: these change nothing.
            self.block("for (;;)", |w| {
                w.stmts(cond)?;
                let test = Tree::call("any", [expr::spread(&w.get(cond.results[0]), Lane::Mask)]);
                w.leave_unless(test);
                w.stmts(body)?;
                w.assign(&slots, &body.results, None);
                Ok(())
            })?;
        } else {
            let on = self.fresh("on");
            let mask = self.mask();
            self.set("vi32", &on, mask);
            let live = self.each(&on);
            let before = std::mem::replace(&mut self.live, Live::Mask(on.clone()));
            self.block("for (;;)", |w| {
                w.stmts(cond)?;
                let test = expr::spread(&w.get(cond.results[0]), Lane::Mask);
                w.act(line![live, " &= ", test, ";"]);
                w.leave_unless(w.any(&on));
                w.stmts(body)?;
                w.advance(stmt, &slots, &body.results, &on);
                Ok(())
            })?;
            self.live = before;
        }
        self.finish(stmt, slots);
        Ok(())
    }
}

/// Is a loop of these bodies a few statements in a row that read memory?
fn is_short(bodies: &[&Body]) -> bool {
    let stmts = || bodies.iter().flat_map(|body| &body.stmts);
    let is_straight = stmts().all(|stmt| stmt.op.bodies().is_empty() && !stmt.op.has_effect());
    is_straight && stmts().count() <= SHORT_LOOP && stmts().any(|stmt| matches!(stmt.op, Op::Load { .. }))
}
