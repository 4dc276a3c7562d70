//! Expressions.

use super::exec::not_read;
use super::number::{Number, apply};
use super::tensor::failed;
use super::value::{Elements, Tensor, Value, element};
use super::{Host, Machine, Outcome, error};
use crate::check::{echo, number, rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{BinaryOp, Block, Expr, ExprKind, Forbidden, Name, UnaryOp};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};

impl<'a, M: Machine> Host<'a, M> {
    /// A value.
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Outcome<Value<M::Tensor>> {
        self.eval_wanting(expr, None)
    }

    /// A value where numbers of that type are wanted. Single numbers are settled by whoever wants them; it is for lists.
    pub(super) fn eval_wanting(&mut self, expr: &'a Expr, wanted: Option<Ty>) -> Outcome<Value<M::Tensor>> {
        match self.eval_or_nothing_wanting(expr, wanted)? {
            Value::Nothing => Err(no_value(expr.span)),
            value => Ok(value),
        }
    }

    /// The same where nobody may need the value.
    pub(super) fn eval_or_nothing(&mut self, expr: &'a Expr) -> Outcome<Value<M::Tensor>> {
        self.eval_or_nothing_wanting(expr, None)
    }

    fn eval_or_nothing_wanting(&mut self, expr: &'a Expr, wanted: Option<Ty>) -> Outcome<Value<M::Tensor>> {
        self.deeper(expr.span, |host| match &expr.kind {
            ExprKind::Text(text) => Ok(Value::Text(text[..].into())),
            ExprKind::Name(name) => host.named(name, expr.span),
            ExprKind::Call { function, ty, args } => host.call(function, ty.as_ref(), args, expr.span),
            ExprKind::Method { receiver, name, ty, args } => host.method(receiver, name, ty.as_ref(), args, expr.span),
            ExprKind::If { cond, then, otherwise } => {
                let holds = host.condition(cond, "`if`")?;
                let chosen = if holds { Some(then) } else { otherwise.as_ref() };
                chosen.map_or(Ok(Value::Nothing), |block| host.branch(block))
            }
            ExprKind::Array(_) | ExprKind::Repeat(..) => Ok(Value::Tensor(host.list(expr, wanted)?)),
            ExprKind::Borrow(false, inner) => host.eval(inner),
            ExprKind::Launch { function, args, config } => host.launch(function, args, Some(config)),
            kind if is_arithmetic(kind) => Ok(Value::Number(host.arithmetic(expr)?)),
            _ => Err(refused(expr)),
        })
    }

    /// A branch of an `if` that is a value.
    fn branch(&mut self, block: &'a Block) -> Outcome<Value<M::Tensor>> {
        use super::exec::{Flow, outside_loop};
        match self.block(block)? {
            Flow::Next(value) => Ok(value),
            Flow::Break(span) | Flow::Continue(span) => Err(outside_loop(span)),
            Flow::Return(_, span) => {
                let message = "`return` inside of a value";
                Err(error(rules::NOT_A_VALUE, span, message).help("write the `if` as a statement").into())
            }
        }
    }

    /// A number or `bool`.
    pub(super) fn number(&mut self, expr: &'a Expr) -> Outcome<Number> {
        if is_arithmetic(&expr.kind) {
            return self.deeper(expr.span, |host| host.arithmetic(expr));
        }
        match self.eval(expr)? {
            Value::Number(number) => Ok(number.at(expr.span)),
            other => {
                let message = format!("a number is wanted here, but this is {}", other.describe());
                let help = match other {
                    Value::Tensor(_) => "take an element of it: `t[i]`",
                    _ => "write a number",
                };
                Err(error(rules::MISMATCH, expr.span, message).help(help).into())
            }
        }
    }

    /// Expressions that are numbers.
    fn arithmetic(&mut self, expr: &'a Expr) -> Outcome<Number> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value, ty) => Ok(Number::int(*value, *ty, span)),
            ExprKind::Float(digits, ty) => Ok(Number::float(digits, *ty, span)),
            ExprKind::Bool(value) => Ok(Number::value(Scalar::bool(*value), span)),
            ExprKind::Unary(UnaryOp::Neg, operand) => self.number(operand)?.negated(span),
            ExprKind::Unary(UnaryOp::Not, operand) => {
                let operand = self.number(operand)?;
                apply(Operator::Not, "!", span, vec![operand], span)
            }
            ExprKind::Binary(op, at, x, y) => self.binary(*op, *at, x, y, span),
            ExprKind::Fma(a, b, c) => {
                let args = vec![self.number(a)?, self.number(b)?, self.number(c)?];
                apply(Operator::Fma, "*+", span, args, span)
            }
            ExprKind::Cast(operand, ty) => {
                let crate::syntax::TypeKind::Scalar(to) = ty.kind else {
                    let message = "only numbers and bool are converted";
                    return Err(error(rules::TYPE, ty.span, message).help("write a type such as `f32`").into());
                };
                Ok(Number::value(self.number(operand)?.cast(to)?, span))
            }
            ExprKind::Field(of, field) => self.field(of, field, span),
            ExprKind::Index(..) => self.load(expr),
            _ => Err(not_read(span)),
        }
    }

    fn binary(&mut self, op: BinaryOp, at: Span, x: &'a Expr, y: &'a Expr, span: Span) -> Outcome<Number> {
        let sign = echo::sign(op);
        let truth = |number: Number| number.want(Ty::Bool, || format!("`{sign}` wants")).map(Scalar::is_true);
        let first = self.number(x)?;
        let value = match op {
            BinaryOp::Table(operator) => {
                let args = vec![first, self.number(y)?];
                return apply(operator, sign, at, args, span);
            }
            BinaryOp::AndThen => truth(first)? && truth(self.number(y)?)?,
            BinaryOp::OrElse => truth(first)? || truth(self.number(y)?)?,
        };
        Ok(Number::value(Scalar::bool(value), span))
    }

    /// What a name stands for.
    fn named(&mut self, name: &str, span: Span) -> Outcome<Value<M::Tensor>> {
        let Some(binding) = self.scopes.find(name) else { return Err(self.unknown(name, span)) };
        match &binding.value {
            Value::Number(number) if binding.param => Ok(Value::Number(Number::param(number.settle()?, span))),
            Value::Lent => Err(lent(name, span)),
            value => Ok(value.clone()),
        }
    }

    /// There is no such name.
    pub(super) fn unknown(&self, name: &str, span: Span) -> Box<Diagnostic> {
        let error = error(rules::NAME, span, format!("there is no `{name}` here"));
        if self.functions.contains_key(name) {
            return error.help(format!("`{name}` is a function: call it, as in `{name}(..)`")).into();
        }
        if matches!(name, "thread" | "global" | "local" | "block" | "blockDim" | "gridDim" | "subgroup") {
            return error.help("places of threads are known in graph functions only").into();
        }
        match suggest::nearest(name, self.scopes.names()) {
            Some(near) => error.help(format!("did you mean `{near}`?")).into(),
            None => error.help(format!("declare it first, as in `let {name} = ..`")).into(),
        }
    }

    /// `f32.MAX` and its like.
    fn field(&mut self, of: &'a Expr, field: &Name, span: Span) -> Outcome<Number> {
        if let ExprKind::Name(name) = &of.kind
            && self.scopes.find(name).is_none()
        {
            return match number::constant(&format!("{name}::{}", field.text)) {
                Some(value) => Ok(Number::value(value, span)),
                None => Err(self.unknown(name, of.span)),
            };
        }
        let message = format!("there is no field `{}`", field.text);
        let help = "the elements of a tensor are counted by `.len()`, those of an axis by `.dim(0)`";
        Err(error(rules::FIELD, field.span, message).help(help).into())
    }

    /// `x[i]`, `x[i, j]`, `x[i][j]`: what is indexed, and the indices.
    fn indexed(&mut self, expr: &'a Expr) -> Outcome<(&'a Expr, Vec<(i64, Span)>)> {
        let mut lists = vec![];
        let mut base = expr;
        while let ExprKind::Index(of, index) = &base.kind {
            lists.push(index);
            base = of;
        }
        let mut indices = vec![];
        for index in lists.into_iter().rev().flatten() {
            let value = self.number(index)?.want(Ty::I64, || "an index is".to_string())?;
            indices.push((value.as_int() as i64, index.span));
        }
        Ok((base, indices))
    }

    fn load(&mut self, expr: &'a Expr) -> Outcome<Number> {
        let (base, index) = self.indexed(expr)?;
        let tensor = self.tensor(base)?;
        let place = place(&tensor, &index, expr.span)?;
        let bytes = tensor.bytes(self.machine).map_err(|failure| failed(&failure, base.span))?;
        let value = element(tensor.ty, bytes, place).ok_or_else(|| not_read(expr.span))?;
        Ok(Number::value(value, expr.span))
    }

    /// `t[i] = value`.
    pub(super) fn store(&mut self, target: &'a Expr, value: &Number) -> Outcome<()> {
        let (base, index) = self.indexed(target)?;
        let ExprKind::Name(name) = &base.kind else {
            let message = "only elements of a variable can be assigned to";
            return Err(error(rules::ASSIGN, base.span, message).help("give the tensor a name with `let!`").into());
        };
        self.writable(name, base.span)?;
        match self.scopes.find_mut(name).map(|binding| &mut binding.value) {
            Some(Value::Tensor(tensor)) => {
                let place = place(tensor, &index, target.span)?;
                let value = value.want(tensor.ty, || format!("the elements of `{name}` are"))?;
                tensor.set(self.machine, place, value).map_err(|failure| failed(&failure, base.span))
            }
            Some(Value::Lent) => Err(lent(name, base.span)),
            Some(other) => Err(no_tensor(other, base.span)),
            None => Err(self.unknown(name, base.span)),
        }
    }

    /// A tensor.
    fn tensor(&mut self, expr: &'a Expr) -> Outcome<Tensor<M::Tensor>> {
        match self.eval(expr)? {
            Value::Tensor(tensor) => Ok(tensor),
            other => Err(no_tensor(&other, expr.span)),
        }
    }
}

/// Is it a number whatever its parts are?
fn is_arithmetic(kind: &ExprKind) -> bool {
    use ExprKind::{Binary, Bool, Cast, Field, Float, Fma, Index, Int, Unary};
    matches!(kind, Int(..) | Float(..) | Bool(_) | Unary(..) | Binary(..) | Fma(..) | Cast(..) | Field(..) | Index(..))
}

/// The place of an element in row-major order. One index counts through all elements, whatever the shape.
fn place<T>(tensor: &Elements<T>, index: &[(i64, Span)], span: Span) -> Outcome<usize> {
    let flat = [tensor.len()];
    let shape = if index.len() == 1 { &flat[..] } else { &tensor.shape[..] };
    if index.len() != shape.len() {
        let message = format!("{} for a tensor of {}", super::counted(index.len(), "index"), axes(shape.len()));
        let help = "write one index for each axis, or a single one to count through all elements";
        return Err(error(rules::RANK, span, message.replace("indexs", "indices")).help(help).into());
    }
    let mut place = 0u64;
    for (&(value, at), &extent) in index.iter().zip(shape) {
        let Some(value) = u64::try_from(value).ok().filter(|&value| value < extent) else {
            let message = format!("index {value} is outside: there are {extent} elements");
            let help = match extent {
                0 => "an empty tensor has none".to_string(),
                _ => from_zero(extent),
            };
            return Err(error(rules::BOUNDS, at, message).help(help).into());
        };
        place = place * extent + value;
    }
    Ok(place as usize)
}

/// Which of so many there are, as a remedy.
pub(super) fn from_zero(count: u64) -> String {
    if count == 1 { "use 0".to_string() } else { format!("use 0 to {}", count.saturating_sub(1)) }
}

/// `one axis`, `2 axes`.
pub(super) fn axes(rank: usize) -> String {
    if rank == 1 { "one axis".to_string() } else { format!("{rank} axes") }
}

fn lent(name: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("`{name}` was passed with `&!` to the call that runs now");
    error(rules::ALIASING, span, message).help("use the parameter it was passed for").into()
}

pub(super) fn no_tensor<T>(value: &Value<T>, span: Span) -> Box<Diagnostic> {
    let message = format!("a tensor is wanted here, but this is {}", value.describe());
    error(rules::MISMATCH, span, message).help("make one with `Tensor.from([..])`").into()
}

/// A value where there is none.
pub(super) fn no_value(span: Span) -> Box<Diagnostic> {
    error(rules::NOT_A_VALUE, span, "this gives no value").help("write it as a statement").into()
}

/// What is no value on the host.
fn refused(expr: &Expr) -> Box<Diagnostic> {
    match &expr.kind {
        ExprKind::Borrow(..) => {
            let message = "`&!` passes something to be written, and stands in front of arguments only";
            error("borrow", expr.span, message).help("leave the `&!` out").into()
        }
        ExprKind::Tuple(_) => {
            let message = "a tuple is not one value";
            let help = "take it apart where it stands: `let (a, b) = (x, y)`";
            error(rules::TUPLE, expr.span, message).help(help).into()
        }
        ExprKind::Foreign { what, text } => foreign(*what, text, expr.span).into(),
        _ => not_read(expr.span),
    }
}

/// What the host has not, either.
fn foreign(what: Forbidden, text: &str, span: Span) -> Diagnostic {
    let (rule, help) = match what {
        Forbidden::Go | Forbidden::Await => (rules::GO, "launches wait for each other by themselves; leave it out"),
        Forbidden::Panic => (rules::PANIC, "print a message and `return`"),
        Forbidden::Heap => (rules::HEAP, "use a tensor: `Tensor.from([..])`"),
        Forbidden::Pattern => (rules::UNSUPPORTED, "`let` takes a name or a tuple of names"),
        Forbidden::Unsupported => (rules::UNSUPPORTED, "write it with `if`, loops and functions"),
    };
    error(rule, span, format!("`{text}` is not part of the language")).help(help)
}
