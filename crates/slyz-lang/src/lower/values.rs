//! Expressions, evaluated from left to right. Loads stand where they are written, between the stores around them.

use super::live::Locals;
use super::writer::{Frame, Lowered, TemplateWriter, Value, constant};
use crate::span::Span;
use crate::typed::{Arg, Expr, ExprKind, FunctionId, MemoryRef, ParamKind};
use slyz_sir::code::{Op, SubgroupOp};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty, int_range};

impl TemplateWriter<'_> {
    pub(super) fn exprs(&mut self, exprs: &[Expr]) -> Lowered<Vec<Value>> {
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            values.push(self.expr(expr)?);
        }
        Ok(values)
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Lowered<Value> {
        self.deeper()?;
        let value = self.kind(expr)?;
        self.shallower();
        Ok(value)
    }

    /// A list of short calls, because trees may be deep: what a kind needs on the stack is not taken for all others.
    fn kind(&mut self, expr: &Expr) -> Lowered<Value> {
        match &expr.kind {
            ExprKind::Const(value) => Ok(Value::Const(*value)),
            ExprKind::Local(local) => Ok(self.get(*local)),
            ExprKind::Place(place, dimension) => self.pure(Op::Place(*place, *dimension), Ty::I64).map(Value::Name),
            ExprKind::Extent(memory, axis) => self.extent(*memory, *axis),
            ExprKind::Apply(operator, args) => self.operator(*operator, args, expr.ty),
            ExprKind::AndThen(a, b) => self.both(a, b, false),
            ExprKind::OrElse(a, b) => self.both(a, b, true),
            ExprKind::Cast(arg) => self.converted(arg, expr.ty),
            ExprKind::Bitcast(arg) => self.reinterpreted(arg, expr.ty),
            ExprKind::Load(memory, index) => self.element(*memory, index, expr.span),
            ExprKind::Atomic { .. } => self.atomic_expr(expr, true),
            ExprKind::Subgroup(op, args) => self.subgroup(*op, args, expr.ty),
            ExprKind::Call(function, args) => self.call(*function, args),
            // Statements in front of the values are gone: `flatten` has seen to it.
            ExprKind::If { cond, then, otherwise } => self.either(cond, &then.1, &otherwise.1, expr.ty),
        }
    }

    fn operator(&mut self, operator: Operator, args: &[Expr], ty: Ty) -> Lowered<Value> {
        let args = self.exprs(args)?;
        self.apply(operator, &args, ty)
    }

    fn converted(&mut self, arg: &Expr, to: Ty) -> Lowered<Value> {
        let arg = unwidened(arg, to);
        let value = self.expr(arg)?;
        self.cast(value, arg.ty, to)
    }

    fn reinterpreted(&mut self, arg: &Expr, to: Ty) -> Lowered<Value> {
        let value = self.expr(arg)?;
        if arg.ty == to { Ok(value) } else { self.bitcast(value, to) }
    }

    fn element(&mut self, memory: MemoryRef, index: &[Expr], span: Span) -> Lowered<Value> {
        let memory = self.memory(memory);
        let index = self.index(memory, index)?;
        self.at = span;
        self.load(memory, &index)
    }

    fn subgroup(&mut self, op: SubgroupOp, args: &[Expr], ty: Ty) -> Lowered<Value> {
        let args = self.exprs(args)?;
        let args = self.names(&args)?;
        Ok(Value::Name(self.emit(Op::Subgroup(op, args), &[ty])?[0]))
    }

    fn either(&mut self, cond: &Expr, then: &Expr, otherwise: &Expr, ty: Ty) -> Lowered<Value> {
        let cond = self.expr(cond)?;
        let side = |value| move |w: &mut Self| Ok(vec![w.expr(value)?]);
        Ok(self.choose(cond, &[ty], side(then), side(otherwise))?[0])
    }

    /// For what it does; nobody looks at the value.
    pub(super) fn effect(&mut self, expr: &Expr) -> Lowered<()> {
        match expr.kind {
            ExprKind::Atomic { .. } => self.atomic_expr(expr, false).map(drop),
            _ => self.expr(expr).map(drop),
        }
    }

    fn atomic_expr(&mut self, expr: &Expr, asked: bool) -> Lowered<Value> {
        let ExprKind::Atomic { op, memory, index, args } = &expr.kind else { return self.expr(expr) };
        let memory = self.memory(*memory);
        let index = self.index(memory, index)?;
        let args = self.exprs(args)?;
        self.at = expr.span;
        self.atomic(*op, memory, &index, &args, asked)
    }

    /// `a && b`, or `a || b` where `known` is `true`: the value if `a` alone decides. A branch only where it can be told.
    fn both(&mut self, a: &Expr, b: &Expr, known: bool) -> Lowered<Value> {
        let a = self.expr(a)?;
        if let Some(a) = constant(a) {
            return if a.is_true() == known { Ok(Value::Const(a)) } else { self.expr(b) };
        }
        if harmless(b) {
            let b = self.expr(b)?;
            let operator = if known { Operator::Or } else { Operator::And };
            return match constant(b) {
                Some(b) if b.is_true() != known => Ok(a),
                Some(b) => Ok(Value::Const(b)),
                None => self.apply(operator, &[a, b], Ty::Bool),
            };
        }
        let decided = |_: &mut Self| Ok(vec![Value::Const(Scalar::bool(known))]);
        let open = |w: &mut Self| Ok(vec![w.expr(b)?]);
        let chosen = match known {
            false => self.choose(a, &[Ty::Bool], open, decided)?,
            true => self.choose(a, &[Ty::Bool], decided, open)?,
        };
        Ok(chosen[0])
    }

    pub(super) fn cast(&mut self, value: Value, from: Ty, to: Ty) -> Lowered<Value> {
        match value {
            value if from == to => Ok(value),
            Value::Const(value) => Ok(Value::Const(value.cast(to))),
            Value::Name(id) => self.pure(Op::Cast(to, id), to).map(Value::Name),
        }
    }

    pub(super) fn bitcast(&mut self, value: Value, to: Ty) -> Lowered<Value> {
        match value {
            Value::Const(value) => Ok(Value::Const(Scalar::from_bits(to, value.bits))),
            Value::Name(id) => self.pure(Op::Bitcast(to, id), to).map(Value::Name),
        }
    }

    /// A call: of a function that stays one, or the function's code in its place.
    fn call(&mut self, callee: FunctionId, args: &[Arg]) -> Lowered<Value> {
        let (program, reached) = (self.program, self.reached);
        let function = &program.functions[callee.0 as usize];
        if let (Some(&id), Some(ty)) = (self.functions.get(&callee), function.result) {
            let mut ids = vec![];
            for arg in args {
                if let Arg::Value(expr) = arg {
                    let value = self.expr(expr)?;
                    ids.push(self.name(value)?);
                }
            }
            return self.pure(Op::Call(id, ids), ty).map(Value::Name);
        }
        let code = &reached[&callee].code;
        let mut locals = vec![None; code.locals.len()];
        let mut tensors = vec![];
        for (param, arg) in function.params.iter().zip(args) {
            tensors.push(match (&param.kind, arg) {
                (ParamKind::Scalar(local, _), Arg::Value(expr)) => {
                    locals[local.0 as usize] = Some(self.expr(expr)?);
                    None
                }
                (_, Arg::Memory(memory)) => Some(self.memory(*memory)),
                _ => None,
            });
        }
        let frame = Frame { function: callee, types: &code.locals, locals, log: vec![], tensors };
        self.enter(frame, |w| {
            let mut after = Locals::default();
            code.result.into_iter().for_each(|result| after.insert(result));
            w.stmts(&code.body, &after)?;
            Ok(code.result.map_or(Value::Const(Scalar::bool(false)), |result| w.get(result)))
        })
    }
}

/// What is to be converted to a type: a number that was widened from that very type is the number before.
fn unwidened(arg: &Expr, to: Ty) -> &Expr {
    match &arg.kind {
        ExprKind::Cast(inner) if inner.ty == to && to.is_int() && arg.ty.is_int() => {
            let ((low, high), (least, most)) = (int_range(to), int_range(arg.ty));
            if least <= low && high <= most { inner } else { arg }
        }
        _ => arg,
    }
}

/// May it be evaluated though nobody asked? No memory, no other threads, no loops.
fn harmless(expr: &Expr) -> bool {
    let itself = match &expr.kind {
        ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Place(..) | ExprKind::Extent(..) => true,
        ExprKind::Apply(..) | ExprKind::Cast(_) | ExprKind::Bitcast(_) => true,
        ExprKind::AndThen(..) | ExprKind::OrElse(..) | ExprKind::If { .. } => true,
        ExprKind::Load(..) | ExprKind::Atomic { .. } | ExprKind::Subgroup(..) | ExprKind::Call(..) => false,
    };
    itself && crate::typed::inside::parts(expr).into_iter().all(harmless)
}
