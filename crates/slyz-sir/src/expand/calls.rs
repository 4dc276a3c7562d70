//! Operators that a target lacks, as calls of functions of the kernel.

use super::{Means, operator_by};
use crate::code::{Body, FnId, Function, Id, Op, Stmt, Var};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::types::Ty;
use crate::write::{Lines, Write};
use std::collections::HashMap;

/// The kernel with calls in place of the float operators that a target `lacks`; `None` where it lacks none of them.
///
/// The functions stand in front of the kernel's own, each behind those that it calls. Half precision is computed in single.
pub fn as_calls(kernel: &Kernel, means: Means, lacks: &dyn Fn(Operator, Ty) -> bool) -> Option<Kernel> {
    let mut types = HashMap::new();
    bodies(kernel).for_each(|body| survey(body, &mut types));
    let mut needed = Needed { means, lacks, list: vec![] };
    bodies(kernel).for_each(|body| needed.find(body, &types));
    if needed.list.is_empty() {
        return None;
    }
    let operators: Vec<(Operator, Ty)> = needed.list.iter().map(|(key, _)| *key).collect();
    let mut fresh = kernel.fresh_ids();
    let made = needed.list.into_iter().map(|(_, Function { name, body })| {
        let body = body.freshened(&mut fresh);
        survey(&body, &mut types);
        Function { name, body }
    });
    let mut functions: Vec<Function> = made.collect();
    let mut caller = Caller { operators, types, lines: Lines::new(fresh) };
    functions.iter_mut().for_each(|function| caller.body(&mut function.body, 0));
    let shift = functions.len() as u32;
    let mut kernel = kernel.clone();
    kernel.functions.iter_mut().for_each(|function| caller.body(&mut function.body, shift));
    caller.body(&mut kernel.body, shift);
    kernel.functions.splice(0..0, functions);
    Some(kernel)
}

fn bodies(kernel: &Kernel) -> impl Iterator<Item = &Body> {
    kernel.functions.iter().map(|function| &function.body).chain([&kernel.body])
}

fn survey(body: &Body, types: &mut HashMap<Id, Ty>) {
    let bound = body.stmts.iter().flat_map(|stmt| &stmt.binds);
    types.extend(body.params.iter().chain(bound).map(|var| (var.id, var.ty.elem())));
    body.stmts.iter().flat_map(|stmt| stmt.op.bodies()).for_each(|inner| survey(inner, types));
}

/// The type that a float operator is computed in.
fn computed(ty: Ty) -> Option<Ty> {
    match ty {
        Ty::F64 => Some(Ty::F64),
        Ty::F32 | Ty::F16 | Ty::BF16 => Some(Ty::F32),
        _ => None,
    }
}

/// The operators that are missing, each behind those that its function uses.
struct Needed<'a> {
    means: Means,
    lacks: &'a dyn Fn(Operator, Ty) -> bool,
    list: Vec<((Operator, Ty), Function)>,
}

impl Needed<'_> {
    fn find(&mut self, body: &Body, types: &HashMap<Id, Ty>) {
        for stmt in &body.stmts {
            if let Op::Apply(operator, args) = &stmt.op
                && let Some(ty) = args.first().and_then(|arg| types.get(arg)).and_then(|&ty| computed(ty))
            {
                self.add(*operator, ty);
            }
            stmt.op.bodies().into_iter().for_each(|inner| self.find(inner, types));
        }
    }

    fn add(&mut self, operator: Operator, ty: Ty) {
        let key = (operator, ty);
        if self.list.iter().any(|(known, _)| *known == key) || !(self.lacks)(operator, ty) {
            return;
        }
        let Some(function) = operator_by(self.means, operator, ty) else { return };
        let mut types = HashMap::new();
        survey(&function.body, &mut types);
        self.find(&function.body, &types);
        self.list.push((key, function));
    }
}

struct Caller {
    operators: Vec<(Operator, Ty)>,
    types: HashMap<Id, Ty>,
    lines: Lines,
}

impl Write for Caller {
    fn fresh(&mut self) -> Id {
        self.lines.fresh()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        self.lines.out()
    }
}

impl Caller {
    /// Functions that were called before are so many further now.
    fn body(&mut self, body: &mut Body, shift: u32) {
        self.rewrite(body, |w, mut stmt| {
            stmt.op.bodies_mut().into_iter().for_each(|inner| w.body(inner, shift));
            match &mut stmt.op {
                Op::Call(FnId(function), _) => *function += shift,
                Op::Apply(operator, args) => {
                    if let Some((function, ty)) = w.function_of(*operator, args) {
                        let args = std::mem::take(args);
                        return w.call(stmt.binds, function, args, ty);
                    }
                }
                _ => {}
            }
            w.out().push(stmt);
        });
    }

    fn function_of(&self, operator: Operator, args: &[Id]) -> Option<(FnId, Ty)> {
        let ty = computed(*self.types.get(args.first()?)?)?;
        let at = self.operators.iter().position(|known| *known == (operator, ty))?;
        Some((FnId(at as u32), ty))
    }

    fn call(&mut self, binds: Vec<Var>, function: FnId, args: Vec<Id>, ty: Ty) {
        let mut widened = vec![];
        for arg in args {
            let half = matches!(self.types.get(&arg), Some(Ty::F16 | Ty::BF16));
            widened.push(if half { self.push(Op::Cast(ty, arg), ty) } else { arg });
        }
        let narrow = binds.first().map(|bind| bind.ty.elem()).filter(|own| *own != ty);
        match narrow {
            Some(narrow) => {
                let wide = self.push(Op::Call(function, widened), ty);
                self.out().push(Stmt { binds, op: Op::Cast(narrow, wide) });
            }
            None => self.out().push(Stmt { binds, op: Op::Call(function, widened) }),
        }
    }
}
