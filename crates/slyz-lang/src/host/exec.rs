//! Statements.

use super::eval::{axes, no_value};
use super::number::{Number, apply};
use super::scope::Binding;
use super::tensor::failed;
use super::value::Value;
use super::{Host, Machine, Outcome, error};
use crate::check::{echo, rules};
use crate::span::Span;
use crate::syntax::{BinaryOp, Block, Expr, ExprKind, Name, Pattern, Space, Stmt, StmtKind, TypeExpr, TypeKind};
use slyz_sir::types::{Scalar, Ty, int_range};

/// Where to go on after a statement.
pub(super) enum Flow<T> {
    /// On; a block gives its value.
    Next(Value<T>),
    Break(Span),
    Continue(Span),
    Return(Value<T>, Span),
}

impl<'a, M: Machine> Host<'a, M> {
    /// A statement at the top of the file.
    pub(super) fn top_statement(&mut self, stmt: &'a Stmt) -> Outcome<()> {
        let flow = self.stmt(stmt)?;
        self.scopes.at_top();
        match flow {
            Flow::Next(_) => Ok(()),
            Flow::Return(_, span) => {
                let message = "`return` belongs to a function";
                Err(error("outside-function", span, message).help("leave it out, or move this into `fn main()`").into())
            }
            Flow::Break(span) | Flow::Continue(span) => Err(outside_loop(span)),
        }
    }

    /// Statements with names of their own. The value of the block is given where there is one.
    pub(super) fn block(&mut self, block: &'a Block) -> Outcome<Flow<M::Tensor>> {
        let mark = self.scopes.mark();
        let done = self.deeper(block.span, |host| {
            for stmt in &block.stmts {
                match host.stmt(stmt)? {
                    Flow::Next(_) => {}
                    leaving => return Ok(leaving),
                }
            }
            match &block.value {
                Some(value) => host.value_or_flow(value),
                None => Ok(Flow::Next(Value::Nothing)),
            }
        });
        self.scopes.leave(mark);
        done
    }

    /// An expression that may hold `return` or `break` in its branches: only `if` does.
    fn value_or_flow(&mut self, expr: &'a Expr) -> Outcome<Flow<M::Tensor>> {
        match &expr.kind {
            ExprKind::If { cond, then, otherwise } => {
                let holds = self.condition(cond, "`if`")?;
                match (holds, otherwise) {
                    (true, _) => self.block(then),
                    (false, Some(otherwise)) => self.block(otherwise),
                    (false, None) => Ok(Flow::Next(Value::Nothing)),
                }
            }
            _ => Ok(Flow::Next(self.eval_or_nothing(expr)?)),
        }
    }

    pub(super) fn condition(&mut self, cond: &'a Expr, of: &str) -> Outcome<bool> {
        let number = self.number(cond)?;
        Ok(number.want(Ty::Bool, || format!("the condition of {of} is"))?.is_true())
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Outcome<Flow<M::Tensor>> {
        self.machine.step().map_err(|failure| failed(&failure, stmt.span))?;
        match &stmt.kind {
            StmtKind::Let { space, mutable, name, ty, value } => {
                self.declare(*space, *mutable, name, ty.as_ref(), value.as_ref())?;
            }
            StmtKind::LetTuple { pattern, ty, value } => {
                let mut found = vec![];
                self.taken_apart(pattern, ty.as_ref().and_then(TypeExpr::said), value, &mut found)?;
                for ((name, mutable), value) in pattern.names().into_iter().zip(found) {
                    self.name_value(name, mutable, value);
                }
            }
            StmtKind::Assign { target, operator, value } => self.assign(target, *operator, value, stmt.span)?,
            StmtKind::Expr(expr) => return self.value_or_flow(expr),
            StmtKind::For { name, lo, hi, inclusive, step, body } => {
                return self.count(name, (lo, hi, *inclusive), step.as_ref(), body);
            }
            StmtKind::While { cond, body } => {
                while self.condition(cond, "`while`")? {
                    self.machine.step().map_err(|failure| failed(&failure, stmt.span))?;
                    match self.block(body)? {
                        Flow::Next(_) | Flow::Continue(_) => {}
                        Flow::Break(_) => break,
                        leaving @ Flow::Return(..) => return Ok(leaving),
                    }
                }
            }
            StmtKind::Break => return Ok(Flow::Break(stmt.span)),
            StmtKind::Continue => return Ok(Flow::Continue(stmt.span)),
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => self.eval(value)?,
                    None => Value::Nothing,
                };
                return Ok(Flow::Return(value, stmt.span));
            }
            StmtKind::Print(args) => self.print(args, stmt.span)?,
            StmtKind::Wrong => return Err(not_read(stmt.span)),
        }
        Ok(Flow::Next(Value::Nothing))
    }

    fn declare(
        &mut self,
        space: Space,
        mutable: bool,
        name: &Name,
        ty: Option<&'a TypeExpr>,
        value: Option<&'a Expr>,
    ) -> Outcome<()> {
        if space == Space::Threadgroup {
            let message = "threadgroup memory belongs to the blocks of a kernel";
            return Err(error("host-memory", name.span, message).help("declare it inside a graph function").into());
        }
        let value = match (value, ty) {
            (Some(value), ty) => self.declared(name, ty, value)?,
            (None, Some(TypeExpr { kind: TypeKind::Array { .. }, .. })) => self.empty_array(ty)?,
            (None, _) => {
                let message = format!("`{}` has no value", name.text);
                let help = format!("write `let {} = ..`; only arrays may go without, and start as zeros", name.text);
                return Err(error("missing-value", name.span, message).help(help).into());
            }
        };
        self.name_value(name, mutable, value);
        Ok(())
    }

    fn name_value(&mut self, name: &Name, mutable: bool, value: Value<M::Tensor>) {
        let span = name.span;
        self.scopes.declare(Binding { name: name.text.clone(), value, mutable, param: false, span });
    }

    /// The values for the names of a pattern, in order.
    fn taken_apart(
        &mut self,
        pattern: &Pattern,
        ty: Option<&'a TypeExpr>,
        value: &'a Expr,
        found: &mut Vec<Value<M::Tensor>>,
    ) -> Outcome<()> {
        match (pattern, &value.kind) {
            (Pattern::Ignored(_), _) => self.eval(value).map(drop),
            (Pattern::Name { name, .. }, _) => {
                found.push(self.declared(name, ty, value)?);
                Ok(())
            }
            (Pattern::Tuple(parts, _), ExprKind::Tuple(items)) if parts.len() == items.len() => {
                let types = match ty.map(|ty| (ty, ty.parts(parts.len()))) {
                    None => vec![None; parts.len()],
                    Some((_, Some(types))) => types,
                    Some((ty, None)) => return Err(no_tuple(ty.span, pattern.span(), parts.len())),
                };
                let mut each = parts.iter().zip(types).zip(items);
                each.try_for_each(|((part, ty), item)| self.taken_apart(part, ty, item, found))
            }
            (Pattern::Tuple(parts, span), _) => Err(no_tuple(value.span, *span, parts.len())),
        }
    }

    /// The value of a `let`.
    fn declared(&mut self, name: &Name, ty: Option<&'a TypeExpr>, value: &'a Expr) -> Outcome<Value<M::Tensor>> {
        match ty {
            Some(ty) => {
                let found = self.eval_wanting(value, element_type(ty))?;
                self.typed(found, ty, value.span, &format!("`{}` is", name.text))
            }
            None => {
                let found = self.eval(value)?;
                self.settled(found, value.span)
            }
        }
    }

    /// A value that is kept: its type is settled.
    pub(super) fn settled(&self, value: Value<M::Tensor>, span: Span) -> Outcome<Value<M::Tensor>> {
        match value {
            Value::Number(number) => Ok(Value::Number(Number::value(number.settle()?, span))),
            Value::Text(_) | Value::Tensor(_) => Ok(value),
            Value::Nothing | Value::Lent => Err(no_value(span)),
        }
    }

    /// `[f32; 8]` without a value: zeros.
    fn empty_array(&mut self, ty: Option<&'a TypeExpr>) -> Outcome<Value<M::Tensor>> {
        let mut shape = vec![];
        let mut ty = ty;
        let mut span = Span::default();
        while let Some(TypeExpr { kind: TypeKind::Array { elem, len }, span: at, .. }) = ty {
            shape.push(self.extent(len, "the length of an array is")?);
            (ty, span) = (Some(&**elem), *at);
        }
        let Some(TypeExpr { kind: TypeKind::Scalar(ty), .. }) = ty else {
            return Err(error(rules::TYPE, span, "an array holds numbers or bool").help("write `[f32; 8]`").into());
        };
        self.filled_tensor(Scalar::from_int(*ty, 0), shape, span)
    }

    /// The value as one of a type that is written. `at` is where the value stands, and `wish` begins the sentence that says why
    /// it cannot be one.
    pub(super) fn typed(
        &mut self,
        value: Value<M::Tensor>,
        ty: &'a TypeExpr,
        at: Span,
        wish: &str,
    ) -> Outcome<Value<M::Tensor>> {
        let wanted = match (&ty.kind, &value) {
            (TypeKind::Scalar(ty), Value::Number(number)) => {
                let value = number.clone().at(at).want(*ty, || wish.to_string())?;
                return Ok(Value::Number(Number::value(value, at)));
            }
            (TypeKind::Scalar(ty), _) => ty.to_string(),
            (TypeKind::Tensor { elem, rank }, value) => {
                let rank = match rank {
                    Some(rank) => Some(self.extent(rank, "the number of axes is")? as usize),
                    None => None,
                };
                let elem = element_type(elem);
                if let Value::Tensor(tensor) = value
                    && elem == Some(tensor.ty)
                    && rank.is_none_or(|rank| rank == tensor.shape.len())
                {
                    return Ok(Value::Tensor(tensor.clone()));
                }
                let elem = elem.map_or("something else".to_string(), |ty| ty.to_string());
                format!("a tensor of {elem}{}", rank.map_or(String::new(), |rank| format!(" with {}", axes(rank))))
            }
            (TypeKind::Array { .. }, value) => {
                let Value::Tensor(wanted) = self.empty_array(Some(ty))? else { return Err(not_read(ty.span)) };
                if let Value::Tensor(tensor) = value
                    && (wanted.ty, &wanted.shape) == (tensor.ty, &tensor.shape)
                {
                    return Ok(Value::Tensor(tensor.clone()));
                }
                format!("an array of {} with the lengths {:?}", wanted.ty, wanted.shape)
            }
            (TypeKind::Tuple(_), _) => {
                let message = "a tuple is not the type of one value";
                let help = "give each part a name: `let (a, b): (f32, i64) = ..`";
                return Err(error(rules::TYPE, ty.span, message).help(help).into());
            }
            (TypeKind::Other(text), _) => {
                let message = format!("there is no type `{text}`");
                let help = "the host has numbers, bool and tensors: `f32`, `Tensor<f32>`";
                return Err(error(rules::TYPE, ty.span, message).help(help).into());
            }
            (TypeKind::Wrong, _) => return Err(not_read(ty.span)),
        };
        let message = format!("{wish} {wanted}, but this is {}", value.describe());
        Err(error(rules::MISMATCH, at, message)
            .related(ty.span, "declared here")
            .help("change the type, or the value")
            .into())
    }

    fn assign(&mut self, target: &'a Expr, operator: Option<BinaryOp>, value: &'a Expr, span: Span) -> Outcome<()> {
        match &target.kind {
            ExprKind::Tuple(_) if operator.is_none() => {
                let mut pairs = vec![];
                side_by_side(target, value, &mut pairs)?;
                let values = pairs.iter().map(|(target, value)| self.value_for(target, value));
                let values = values.collect::<Outcome<Vec<_>>>()?;
                pairs.iter().zip(values).try_for_each(|((target, _), value)| self.put(target, value))
            }
            ExprKind::Name(name) if name == "_" && operator.is_none() => self.eval(value).map(drop),
            ExprKind::Name(name) => {
                self.writable(name, target.span)?;
                let value = match operator {
                    None => {
                        let wanted = self.scopes.find(name).and_then(|binding| elements_of(&binding.value));
                        self.eval_wanting(value, wanted)?
                    }
                    Some(operator) => Value::Number(self.combined(target, operator, value, span)?),
                };
                self.replace(name, value, target.span)
            }
            ExprKind::Index(..) => {
                let value = match operator {
                    None => self.number(value)?,
                    Some(operator) => self.combined(target, operator, value, span)?,
                };
                self.store(target, &value)
            }
            _ => Err(not_assignable(target.span)),
        }
    }

    /// A value of the type that what is assigned to has.
    fn value_for(&mut self, target: &Expr, value: &'a Expr) -> Outcome<Value<M::Tensor>> {
        let wanted = match &target.kind {
            ExprKind::Name(name) => self.scopes.find(name).and_then(|binding| elements_of(&binding.value)),
            _ => None,
        };
        self.eval_wanting(value, wanted)
    }

    /// Gives a name or an element a value.
    fn put(&mut self, target: &'a Expr, value: Value<M::Tensor>) -> Outcome<()> {
        match (&target.kind, value) {
            (ExprKind::Name(name), _) if name == "_" => Ok(()),
            (ExprKind::Name(name), value) => {
                self.writable(name, target.span)?;
                self.replace(name, value, target.span)
            }
            (ExprKind::Index(..), Value::Number(number)) => self.store(target, &number),
            (ExprKind::Index(..), _) => {
                let message = "an element is a number";
                Err(error(rules::MISMATCH, target.span, message).help("write elements one by one").into())
            }
            _ => Err(not_assignable(target.span)),
        }
    }

    fn combined(&mut self, target: &'a Expr, operator: BinaryOp, value: &'a Expr, span: Span) -> Outcome<Number> {
        let args = vec![self.number(target)?, self.number(value)?];
        match operator {
            BinaryOp::Table(table) => apply(table, echo::sign(operator), span, args, value.span),
            BinaryOp::AndThen | BinaryOp::OrElse => Err(not_read(span)),
        }
    }

    /// May the name be written?
    pub(super) fn writable(&self, name: &str, span: Span) -> Outcome<()> {
        let Some(binding) = self.scopes.find(name) else { return Err(self.unknown(name, span)) };
        if binding.mutable {
            return Ok(());
        }
        let help = match binding.param {
            true => format!("declare the parameter as `{name}: Tensor<..>!`, or a variable of your own with `let!`"),
            false => format!("declare it with `let! {name}`"),
        };
        let error = error(rules::READ_ONLY, span, format!("`{name}` cannot be changed"));
        Err(error.related(binding.span, "declared here").help(help).into())
    }

    /// A variable keeps its type.
    fn replace(&mut self, name: &str, value: Value<M::Tensor>, span: Span) -> Outcome<()> {
        let Some(binding) = self.scopes.find_mut(name) else { return Err(self.unknown(name, span)) };
        let value = match (&binding.value, value) {
            (Value::Number(old), Value::Number(new)) => {
                let new = new.want(old.natural(), || format!("`{name}` is"))?;
                Value::Number(Number::value(new, span))
            }
            (Value::Text(_), new @ Value::Text(_)) => new,
            (Value::Tensor(old), Value::Tensor(new)) if old.ty == new.ty => Value::Tensor(new),
            (old, new) => {
                let message = format!("`{name}` is {}, but the value is {}", old.describe(), new.describe());
                let error = error(rules::MISMATCH, span, message).related(binding.span, "declared here");
                return Err(error.help("a variable keeps its type; declare another one").into());
            }
        };
        binding.value = value;
        Ok(())
    }

    /// `for name in lo..hi step s`.
    fn count(
        &mut self,
        name: &'a Name,
        (lo, hi, inclusive): (&'a Expr, &'a Expr, bool),
        step: Option<&'a Expr>,
        body: &'a Block,
    ) -> Outcome<Flow<M::Tensor>> {
        let low = self.number(lo)?;
        let high = self.number(hi)?;
        // The sum has the type that both bounds have together.
        let ty =
            apply(slyz_sir::ops::Operator::Add, "..", lo.span.to(hi.span), vec![low.clone(), high.clone()], hi.span)?;
        let ty = ty.natural();
        if !ty.is_int() {
            let message = format!("a loop counts through integers, but this is {ty}");
            return Err(error(rules::MISMATCH, lo.span, message)
                .help("count with integers, and convert the counter")
                .into());
        }
        let bound = |number: &Number| number.want(ty, || "the bounds of a loop are".to_string()).map(Scalar::as_int);
        let low = bound(&low)?;
        let mut high = bound(&high)?;
        if inclusive {
            high += 1;
        }
        let by = match step {
            Some(step) => bound(&self.number(step)?)?,
            None => 1,
        };
        if by < 1 {
            let span = step.map_or(hi.span, |step| step.span);
            let message = format!("a loop counts upward, but this step is {by}");
            return Err(error(rules::STEP, span, message)
                .help("count upward, and compute `hi - 1 - i` from the counter")
                .into());
        }
        let mut counter = low;
        while counter < high && counter <= int_range(ty).1 {
            self.machine.step().map_err(|failure| failed(&failure, name.span))?;
            let mark = self.scopes.mark();
            let value = Value::Number(Number::value(Scalar::from_int(ty, counter), name.span));
            let name_text = name.text.clone();
            self.scopes.declare(Binding { name: name_text, value, mutable: false, param: false, span: name.span });
            let flow = self.block(body);
            self.scopes.leave(mark);
            match flow? {
                Flow::Next(_) | Flow::Continue(_) => {}
                Flow::Break(_) => break,
                leaving @ Flow::Return(..) => return Ok(leaving),
            }
            counter += by;
        }
        Ok(Flow::Next(Value::Nothing))
    }
}

/// What the parts of a tuple are given, part by part.
fn side_by_side<'a>(target: &'a Expr, value: &'a Expr, pairs: &mut Vec<(&'a Expr, &'a Expr)>) -> Outcome<()> {
    match (&target.kind, &value.kind) {
        (ExprKind::Tuple(parts), ExprKind::Tuple(items)) if parts.len() == items.len() => {
            parts.iter().zip(items).try_for_each(|(part, item)| side_by_side(part, item, pairs))
        }
        (ExprKind::Tuple(parts), _) => Err(no_tuple(value.span, target.span, parts.len())),
        _ => {
            pairs.push((target, value));
            Ok(())
        }
    }
}

/// Something else than a tuple of so many.
fn no_tuple(at: Span, left: Span, wanted: usize) -> Box<crate::diagnostic::Diagnostic> {
    error(rules::TUPLE, at, format!("a tuple of {wanted} is wanted here"))
        .related(left, "taken apart here")
        .help("write `(x, y)` with as many parts as there are on the left")
        .into()
}

fn not_assignable(span: Span) -> Box<crate::diagnostic::Diagnostic> {
    let message = "only names and elements can be assigned to";
    error(rules::ASSIGN, span, message).help("write `x = ..` or `t[i] = ..`").into()
}

/// `break` or `continue` that no loop takes.
pub(super) fn outside_loop(span: Span) -> Box<crate::diagnostic::Diagnostic> {
    error(rules::OUTSIDE_LOOP, span, "this stands in no loop")
        .help("leave it out, or leave the function with `return`")
        .into()
}

/// What the parser could not read does not run.
pub(super) fn not_read(span: Span) -> Box<crate::diagnostic::Diagnostic> {
    error("syntax", span, "this could not be read").help("mend the errors that were reported before").into()
}

/// The type that numbers in a value of that type have.
pub(super) fn element_type(ty: &TypeExpr) -> Option<Ty> {
    match &ty.kind {
        TypeKind::Scalar(ty) => Some(*ty),
        TypeKind::Tensor { elem, .. } | TypeKind::Array { elem, .. } => element_type(elem),
        TypeKind::Tuple(_) | TypeKind::Other(_) | TypeKind::Wrong => None,
    }
}

fn elements_of<T>(value: &Value<T>) -> Option<Ty> {
    match value {
        Value::Number(number) => Some(number.natural()),
        Value::Tensor(tensor) => Some(tensor.ty),
        Value::Text(_) | Value::Nothing | Value::Lent => None,
    }
}
