//! Branches and loops as C: real ones where all lanes agree, masks where they do not.
//!
//! The results of control flow are variables ("slots") that its bodies set. Where lanes differ, a branch runs each side
//! that some lane takes, and a loop runs until the last lane is done; lanes that are off keep their slots.

use super::value::{Bind, Expr, Form, Lane, Value, scalar_type};
use super::writer::{Live, Writer, tokens};
use super::{EmitError, expr};
use crate::code::{Body, Id, Stmt};
use crate::types::Ty;

/// What the counter of a loop can be, where its bounds are known.
fn counted([lo, hi, _]: [Value; 3]) -> Option<(i128, i128)> {
    let (lo, hi) = (lo.range?, hi.range?);
    Some((lo.0, (hi.1 - 1).max(lo.0)))
}

impl Writer<'_> {
    /// A variable for each result of control flow, declared now and set in its bodies.
    fn slots(&mut self, stmt: &Stmt, start: &[Value]) -> Vec<Value> {
        let mut slots = vec![];
        for (k, bind) in stmt.binds.iter().enumerate() {
            let (name, ty) = (self.fresh("s"), bind.ty.elem());
            let lane = Lane::of(ty);
            let (declared, value, zero) = if self.live == Live::Block {
                self.declare(&name, format!("{} {name}", scalar_type(ty)));
                (scalar_type(ty).to_string(), Value::uniform(ty, Expr::atom(&name)), "0")
            } else {
                let zero = if self.ways.is_some() { "0" } else { "{0}" };
                (self.vector_type(lane), Value::vector(ty, lane, Expr::atom(self.each(&name))), zero)
            };
            let zero = if zero == "0" && self.live != Live::Block { format!("({declared}){{0}}") } else { zero.into() };
            let text = start.get(k).map_or(zero, |v| self.as_slot(v, ty));
            if self.live == Live::Block {
                self.line(&format!("{declared} {name} = {text};"));
            } else {
                self.set(&declared, &name, &text);
            }
            slots.push(value);
        }
        slots
    }

    /// The text of a value that is assigned to a slot.
    fn as_slot(&mut self, value: &Value, ty: Ty) -> String {
        match (&self.live, &value.form) {
            (Live::Block, Form::Uniform(e)) => e.text.clone(),
            _ => expr::spread(value, Lane::of(ty)).text,
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
            let value = self.get(result);
            let text = self.as_slot(&value, slot.ty);
            if text == name {
                continue;
            }
            let text = match mask.filter(|_| *masked) {
                None => text,
                Some(mask) => format!("select_{}({}, {text}, {name})", Lane::of(slot.ty).name(), self.each(mask)),
            };
            lines.push((name, slot.ty, text));
        }
        let clash = |own: usize, name: &str| lines[own + 1..].iter().any(|l| tokens(&l.2).any(|t| t == name));
        let clashes: Vec<bool> = lines.iter().enumerate().map(|(k, l)| clash(k, l.0.trim_end_matches("[u]"))).collect();
        // What a later line still reads is set at the very end.
        let mut late = vec![];
        for ((name, ty, text), clash) in lines.clone().into_iter().zip(clashes) {
            if clash {
                let next = self.fresh("t");
                if self.live == Live::Block {
                    self.line(&format!("{} {next} = {text};", scalar_type(ty)));
                    late.push(format!("{name} = {next};"));
                } else {
                    let declared = self.vector_type(Lane::of(ty));
                    self.set(&declared, &next, &text);
                    late.push(format!("{name} = {};", self.each(&next)));
                }
            } else {
                let line = format!("{name} = {text};");
                if self.live == Live::Block { self.line(&line) } else { self.act(&line) }
            }
        }
        for line in late {
            if self.live == Live::Block { self.line(&line) } else { self.act(&line) }
        }
    }

    pub(super) fn enter(&mut self, body: &Body, args: &[Value]) {
        for (param, arg) in body.params.iter().zip(args) {
            self.values.insert(param.id, arg.clone());
        }
    }

    fn finish(&mut self, stmt: &Stmt, slots: Vec<Value>) {
        self.values.extend(stmt.binds.iter().map(|b| b.id).zip(slots));
    }

    pub(super) fn branch(
        &mut self,
        stmt: &Stmt,
        cond: Id,
        args: &[Id],
        then: &Body,
        otherwise: &Body,
    ) -> Result<(), EmitError> {
        let slots = self.slots(stmt, &[]);
        let args = self.all(args);
        let cond = self.get(cond);
        self.enter(then, &args);
        self.enter(otherwise, &args);
        if let Form::Uniform(test) = &cond.form {
            self.block(&format!("if ({})", test.text), |w| {
                w.stmts(then)?;
                w.assign(&slots, &then.results, None);
                Ok(())
            })?;
            if !otherwise.stmts.is_empty() || !slots.is_empty() {
                self.block("else", |w| {
                    w.stmts(otherwise)?;
                    w.assign(&slots, &otherwise.results, None);
                    Ok(())
                })?;
            }
        } else {
            let test = expr::spread(&cond, Lane::Mask);
            for (body, symbol) in [(then, ""), (otherwise, "~")] {
                if body.stmts.is_empty() && slots.is_empty() {
                    continue;
                }
                let mask = self.fresh("m");
                let text = format!("{} & {symbol}{}", self.mask(), test.under(Bind::Atom));
                self.set("vi32", &mask, &text);
                let before = std::mem::replace(&mut self.live, Live::Mask(mask.clone()));
                self.block(&format!("if ({})", self.any(&mask)), |w| {
                    w.stmts(body)?;
                    w.assign(&slots, &body.results, Some(&mask));
                    Ok(())
                })?;
                self.live = before;
            }
        }
        self.finish(stmt, slots);
        Ok(())
    }

    pub(super) fn count_loop(
        &mut self,
        stmt: &Stmt,
        bounds: [Id; 3],
        init: &[Id],
        body: &Body,
    ) -> Result<(), EmitError> {
        let by_one = matches!(&self.get(bounds[2]).form, Form::Uniform(e) if e.text == "1");
        if self.live == Live::Block
            && init.is_empty()
            && by_one
            && super::tile::write(self, bounds[0], bounds[1], body)?
        {
            return Ok(());
        }
        let start = self.all(init);
        let slots = self.slots(stmt, &start);
        let counter_ty = body.params[0].ty.elem();
        let [lo, hi, step] = bounds.map(|b| self.get(b));
        let name = self.fresh("k");
        if let (Form::Uniform(lo), Form::Uniform(_), Form::Uniform(step)) = (&lo.form, &hi.form, &step.form) {
            let end = self.bound(bounds[1])?;
            let counter = Value::uniform(counter_ty, Expr::atom(&name)).within(counted(bounds.map(|b| self.get(b))));
            let advance = if step.text.trim_end_matches(['u', 'U', 'L']) == "1" {
                format!("{name}++")
            } else {
                format!("{name} += {}", step.text)
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
        } else {
            let lane = Lane::of(counter_ty);
            let (counter_type, on) = (self.vector_type(lane), self.fresh("on"));
            let (first, end) = (expr::spread(&lo, lane).text, expr::spread(&hi, lane).text);
            let by = expr::spread(&step, lane).text;
            let mask = self.mask();
            self.set(&counter_type, &name, &first);
            self.set("vi32", &on, &mask);
            let (counter, live) = (self.each(&name), self.each(&on));
            let before = std::mem::replace(&mut self.live, Live::Mask(on.clone()));
            self.enter(body, &[&[Value::vector(counter_ty, lane, Expr::atom(&counter))], &slots[..]].concat());
            self.block("for (;;)", |w| {
                w.act(&format!("{live} &= lt_{}({counter}, {end});", lane.name()));
                w.line(&format!("if (!{}) break;", w.any(&on)));
                w.stmts(body)?;
                w.advance(stmt, &slots, &body.results, &on);
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
        let slots = self.slots(stmt, &start);
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
