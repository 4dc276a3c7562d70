//! Branches and loops as C: real ones where all lanes agree, masks where they do not.
//!
//! The results of control flow are variables ("slots") that its bodies set. Where lanes differ, a branch runs each side
//! that some lane takes, and a loop runs until the last lane is done; lanes that are off keep their slots. The state of a loop
//! that stays the same in all lanes is a scalar, and one that stays a position of neighbours is the first of them (`steady`).

use super::steady::{self, Kind};
use super::value::{Bind, Expr, Form, Lane, Value, scalar_type};
use super::writer::{Live, Writer, tokens};
use super::{EmitError, expr, serial};
use crate::code::{Body, Id, Stmt, Var};
use crate::types::Ty;
use std::collections::HashMap;

/// The name of a slot that nobody reads, and that is therefore not there.
const NOBODYS: &str = "";

impl Writer<'_> {
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
            let (name, ty) = (self.fresh("s"), bind.ty.elem());
            let names: Vec<Id> = std::iter::once(bind).chain(state.get(k)).map(|var| var.id).collect();
            let range = self.small(&names);
            let lane = if range.is_some() { Lane::I32 } else { Lane::of(ty) };
            let kind = match kinds.get(k).copied().unwrap_or(Kind::Vector) {
                Kind::Uniform | Kind::Affine | Kind::Vector if self.live == Live::Block => Kind::Uniform,
                kind => kind,
            };
            let (declared, form, zero) = match kind {
                Kind::Nobodys => {
                    slots.push(Value::uniform(ty, Expr::atom(NOBODYS)));
                    continue;
                }
                Kind::Uniform => (scalar_type(ty).to_string(), Form::Uniform(Expr::atom(&name)), "0".to_string()),
                Kind::Affine => ("i64".to_string(), Form::Affine(Expr::atom(self.each(&name))), "0".to_string()),
                Kind::Vector => {
                    let declared = self.vector_type(lane);
                    let zero = if self.ways.is_some() { format!("({declared}){{0}}") } else { "{0}".to_string() };
                    (declared, Form::Vector(lane, Expr::atom(self.each(&name))), zero)
                }
            };
            let value = Value { ty, form, range };
            let text = start.get(k).map_or(zero, |v| self.as_slot(v, &value));
            if kind == Kind::Uniform {
                self.line(&format!("{declared} {name} = {text};"));
            } else {
                self.set(&declared, &name, &text);
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

    /// The text of a value that is assigned to a slot.
    fn as_slot(&mut self, value: &Value, slot: &Value) -> String {
        match (&slot.form, &value.form) {
            (Form::Uniform(_), Form::Uniform(e)) | (Form::Affine(_), Form::Affine(e)) => e.text.clone(),
            _ => expr::spread(value, Self::lane_of(slot)).text,
        }
    }

    /// What the lanes of a slot hold.
    fn lane_of(slot: &Value) -> Lane {
        match slot.form {
            Form::Vector(lane, _) => lane,
            Form::Uniform(_) | Form::Affine(_) | Form::Clamped(..) => Lane::of(slot.ty),
        }
    }

    fn name_of(value: &Value) -> String {
        match &value.form {
            Form::Uniform(e) | Form::Affine(e) | Form::Clamped(e, ..) | Form::Vector(_, e) => e.text.clone(),
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
        let mut lines = vec![];
        for ((slot, &result), masked) in slots.iter().zip(results).zip(masked) {
            let name = Self::name_of(slot);
            if name == NOBODYS {
                continue;
            }
            let value = self.get(result);
            let text = self.as_slot(&value, slot);
            if text == name {
                continue;
            }
            let (declared, text) = match (&slot.form, mask.filter(|_| *masked)) {
                (Form::Vector(lane, _), Some(mask)) => {
                    let kept = format!("select_{}({}, {text}, {name})", lane.name(), self.each(mask));
                    (self.vector_type(*lane), kept)
                }
                (Form::Vector(lane, _), None) => (self.vector_type(*lane), text),
                (Form::Affine(_) | Form::Clamped(..), _) => ("i64".to_string(), text),
                (Form::Uniform(_), _) => (scalar_type(slot.ty).to_string(), text),
            };
            lines.push((name, slot.is_uniform(), declared, text));
        }
        // The last line that mentions a name.
        let last: HashMap<&str, usize> =
            lines.iter().enumerate().flat_map(|(k, l)| tokens(&l.3).map(move |t| (t, k))).collect();
        let clash = |own: usize, name: &str| last.get(name).is_some_and(|&last| last > own);
        let clashes: Vec<bool> = lines.iter().enumerate().map(|(k, l)| clash(k, l.0.trim_end_matches("[u]"))).collect();
        // What a later line still reads is set at the very end.
        let mut late = vec![];
        for ((name, uniform, declared, text), clash) in lines.clone().into_iter().zip(clashes) {
            let line = if !clash {
                format!("{name} = {text};")
            } else {
                let next = self.fresh("t");
                if uniform {
                    self.line(&format!("{declared} {next} = {text};"));
                    late.push((format!("{name} = {next};"), uniform));
                } else {
                    self.set(&declared, &next, &text);
                    late.push((format!("{name} = {};", self.each(&next)), uniform));
                }
                continue;
            };
            if uniform { self.line(&line) } else { self.act(&line) }
        }
        for (line, uniform) in late {
            if uniform { self.line(&line) } else { self.act(&line) }
        }
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
        if let Form::Uniform(test) = &cond.form {
            self.block(&format!("if ({})", test.text), |w| w.side(then, &slots, None))?;
            if !otherwise.stmts.is_empty() || !slots.is_empty() {
                self.block("else", |w| w.side(otherwise, &slots, None))?;
            }
        } else {
            let test = expr::spread(&cond, Lane::Mask);
            for (body, symbol) in [(then, ""), (otherwise, "~")] {
                if body.stmts.is_empty() && (slots.is_empty() || quiet.is_some_and(|side| std::ptr::eq(side, body))) {
                    continue;
                }
                let mask = self.fresh("m");
                let text = format!("{} & {symbol}{}", self.mask(), test.under(Bind::Atom));
                self.set("vi32", &mask, &text);
                let before = std::mem::replace(&mut self.live, Live::Mask(mask.clone()));
                self.block(&format!("if ({})", self.any(&mask)), |w| w.side(body, &slots, Some(&mask)))?;
                self.live = before;
            }
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
                    let (name, text) = (self.fresh("m"), self.mask());
                    self.set("vi32", &name, &text);
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
        let one = |text: &str| text.trim_end_matches(['u', 'U', 'L']) == "1";
        let by_one = matches!(&self.get(bounds[2]).form, Form::Uniform(e) if one(&e.text));
        if self.live == Live::Block
            && init.is_empty()
            && by_one
            && super::tile::write(self, bounds[0], bounds[1], body)?
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
        let name = self.fresh("k");
        if let (Form::Uniform(lo), Form::Uniform(_), Form::Uniform(step)) = (&lo.form, &hi.form, &step.form) {
            let end = self.bound(bounds[1])?;
            let counter = Value::uniform(counter_ty, Expr::atom(&name));
            let advance = if by_one {
                format!("{name}++")
            } else if fits {
                format!("{name} += {}", step.text)
            } else {
                // Past the end the counter might wrap around.
                let left = format!("(i64){} - (i64){name}", end.under(Bind::Unary));
                let next = format!("({}){name} + {}", scalar_type(counter_ty), step.right_of(Bind::Sum));
                format!("{name} = {left} > (i64){} ? {next} : {}", step.under(Bind::Unary), end.right_of(Bind::Choice))
            };
            let ty = scalar_type(counter_ty);
            let head = format!("for ({ty} {name} = {}; {name} < {}; {advance})", lo.text, end.right_of(Bind::Compare));
            if self.live == Live::Block {
                self.declare(&name, format!("{ty} {name}"));
            }
            self.enter(body, &[&[counter], &slots[..]].concat());
            self.block(&head, |w| {
                w.stmts(body)?;
                w.assign(&slots, &body.results, None);
                Ok(())
            })?;
        } else if let (Form::Affine(base), Form::Uniform(_), Form::Uniform(step)) = (&lo.form, &hi.form, &step.form) {
            // Neighbouring lanes stay neighbours, and the last of them end first.
            let end = self.bound(bounds[1])?;
            let (on, mask) = (self.fresh("on"), self.mask());
            self.set("vi32", &on, &mask);
            let live = self.each(&on);
            let at = Expr::infix(base, "+", &Expr::atom(&name), Bind::Sum);
            let counter = Value { ty: counter_ty, form: Form::Affine(at.clone()), range: None };
            let before = std::mem::replace(&mut self.live, Live::Mask(on.clone()));
            self.enter(body, &[&[counter], &slots[..]].concat());
            self.block(&format!("for (i64 {name} = 0;; {name} += {})", step.text), |w| {
                let left = Expr::infix(&end, "-", &at, Bind::Sum).text;
                w.act(&format!("{live} &= first_lanes(lanes_before({left}));"));
                w.line(&format!("if (!{}) break;", w.any(&on)));
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
            let (counter_type, on) = (self.vector_type(lane), self.fresh("on"));
            let (first, end) = (expr::spread(&lo, lane).text, expr::spread(&hi, lane).text);
            let by = expr::spread(&step, lane).text;
            let mask = self.mask();
            self.set(&counter_type, &name, &first);
            self.set("vi32", &on, &mask);
            let (counter, live) = (self.each(&name), self.each(&on));
            let before = std::mem::replace(&mut self.live, Live::Mask(on.clone()));
            let value = Value::vector(counter_ty, lane, Expr::atom(&counter));
            self.enter(body, &[&[value], &slots[..]].concat());
            self.block("for (;;)", |w| {
                w.act(&format!("{live} &= lt_{}({counter}, {end});", lane.name()));
                w.line(&format!("if (!{}) break;", w.any(&on)));
                w.stmts(body)?;
                w.advance(stmt, &slots, &body.results, &on);
                if !fits && matches!(counter_ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) {
                    // A lane that would pass its end is done; the distance to it is right without its sign.
                    let unsigned = if lane.is_wide() { "u64" } else { "u32" };
                    let far = |text: &str| {
                        if lane.name() == unsigned {
                            text.to_string()
                        } else {
                            format!("bits_{}_{unsigned}({text})", lane.name())
                        }
                    };
                    let left = far(&format!("{end} - {counter}"));
                    w.act(&format!("{live} &= gt_{unsigned}({left}, {});", far(&by)));
                }
                w.act(&format!("{counter} += {by};"));
                Ok(())
            })?;
            self.live = before;
        }
        self.finish(stmt, slots);
        Ok(())
    }

    pub(super) fn while_loop(&mut self, stmt: &Stmt, init: &[Id], cond: &Body, body: &Body) -> Result<(), EmitError> {
        let start = self.all(init);
        let kinds = self.kinds(stmt, &start, &[(&cond.params, cond), (&body.params, body)], None);
        let slots = self.slots(stmt, &start, &cond.params, &kinds);
        self.enter(cond, &slots);
        self.enter(body, &slots);
        if self.live == Live::Block {
            self.block("for (;;)", |w| {
                w.stmts(cond)?;
                let test = w.scalar(cond.results[0])?;
                w.line(&format!("if (!{}) break;", test.under(Bind::Atom)));
                w.stmts(body)?;
                w.assign(&slots, &body.results, None);
                Ok(())
            })?;
        } else {
            let (on, mask) = (self.fresh("on"), self.mask());
            self.set("vi32", &on, &mask);
            let live = self.each(&on);
            let before = std::mem::replace(&mut self.live, Live::Mask(on.clone()));
            self.block("for (;;)", |w| {
                w.stmts(cond)?;
                let test = expr::spread(&w.get(cond.results[0]), Lane::Mask);
                w.act(&format!("{live} &= {};", test.text));
                w.line(&format!("if (!{}) break;", w.any(&on)));
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
