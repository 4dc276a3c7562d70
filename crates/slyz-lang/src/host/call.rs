//! Functions and methods.

use super::eval::no_tensor;
use super::exec::{Flow, element_type, outside_loop};
use super::number::{Number, apply, count};
use super::scope::Binding;
use super::value::Value;
use super::{Host, Machine, Outcome, counted, error};
use crate::check::call::operator;
use crate::check::{rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, Function, Name, Param, Role, TypeExpr};
use slyz_sir::ops::TABLE;
use slyz_sir::types::{Scalar, Ty};

/// What is passed for a parameter.
pub(super) struct Passed<'a, T> {
    value: Value<T>,
    /// The variable that gets it back.
    lender: Option<&'a str>,
}

impl<'a, M: Machine> Host<'a, M> {
    /// `f(..)`, `f<T>(..)`.
    pub(super) fn call(
        &mut self,
        function: &'a Name,
        ty: Option<&'a TypeExpr>,
        args: &'a [Expr],
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        match self.functions.get(&function.text[..]).copied() {
            Some(own) if own.role == Role::Plain => {
                let passed = self.pass(own, args, function)?;
                self.enter(own, passed, function.span)
            }
            Some(_) => self.launch(function, args, None),
            None => self.built_in(function, ty, args, span),
        }
    }

    /// An operator by name, a conversion, or a mistake.
    fn built_in(
        &mut self,
        function: &'a Name,
        ty: Option<&'a TypeExpr>,
        args: &'a [Expr],
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        let name = &function.text[..];
        if let Some(&declared) = self.foreign.get(name) {
            let message = format!("`{name}` is not written in this language, and cannot be called here");
            let error = error(rules::FOREIGN, function.span, message).related(declared, "declared as foreign here");
            return Err(error.help("write it as a function of this file").into());
        }
        if let Some(operator) = operator(name) {
            if args.len() != operator.row().arity {
                return Err(count(name, function.span, operator.row().arity).into());
            }
            let numbers = args.iter().map(|arg| self.number(arg)).collect::<Outcome<Vec<Number>>>()?;
            return Ok(Value::Number(apply(operator, name, function.span, numbers, span)?));
        }
        match (Ty::from_name(name), name, args) {
            (Some(to), _, [arg]) => Ok(Value::Number(Number::value(self.number(arg)?.cast(to)?, span))),
            (None, "bitcast", [arg]) => self.bitcast(function, ty, arg, span),
            (Some(_), ..) | (None, "bitcast", _) => Err(count(name, function.span, 1).into()),
            _ => Err(self.unknown_function(name, function.span)),
        }
    }

    fn bitcast(
        &mut self,
        function: &Name,
        ty: Option<&'a TypeExpr>,
        arg: &'a Expr,
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        let Some(to) = ty.and_then(element_type) else {
            let message = "`bitcast` wants the type it makes";
            return Err(error(rules::TYPE, function.span, message).help("write `bitcast<u32>(x)`").into());
        };
        let from = self.number(arg)?.settle()?;
        if from.ty.bits() != to.bits() {
            let message = format!(
                "{} has {} bits and {to} has {}; `bitcast` keeps all of them",
                from.ty,
                from.ty.bits(),
                to.bits()
            );
            return Err(error(rules::MISMATCH, arg.span, message)
                .help(format!("convert the value with `as {to}`"))
                .into());
        }
        Ok(Value::Number(Number::value(Scalar::from_bits(to, from.bits), span)))
    }

    /// There is no such function.
    pub(super) fn unknown_function(&self, name: &str, span: Span) -> Box<Diagnostic> {
        let error = error(rules::FUNCTION, span, format!("there is no function `{name}`"));
        if self.scopes.find(name).is_some() {
            return error.help(format!("`{name}` is no function; elements are written `{name}[i]`")).into();
        }
        let own = self.functions.keys().copied();
        let mut known: Vec<&str> = own.chain(TABLE.iter().map(|row| row.name)).chain(["print"]).collect();
        known.sort_unstable();
        match suggest::nearest(name, known) {
            Some(near) => error.help(format!("did you mean `{near}`?")).into(),
            None => error.help(format!("write it as a function of this file: `fn {name}(..)`")).into(),
        }
    }

    /// The arguments of a call, as the parameters want them.
    fn pass(&mut self, function: &'a Function, args: &'a [Expr], called: &Name) -> Outcome<Vec<Passed<'a, M::Tensor>>> {
        if args.len() != function.params.len() {
            return Err(wrong_count(function, args.len(), called.span).into());
        }
        // What is written is taken out of its variable last: the other arguments may look at it.
        let pairs = || args.iter().zip(&function.params);
        let mut passed: Vec<Option<Passed<M::Tensor>>> = vec![];
        for (arg, param) in pairs() {
            passed.push(if param.ty.mutable { None } else { Some(self.pass_one(function, arg, param)?) });
        }
        for ((arg, param), passed) in pairs().zip(&mut passed) {
            if passed.is_none() {
                *passed = Some(self.pass_one(function, arg, param)?);
            }
        }
        Ok(passed.into_iter().flatten().collect())
    }

    fn pass_one(&mut self, function: &'a Function, arg: &'a Expr, param: &'a Param) -> Outcome<Passed<'a, M::Tensor>> {
        let wish = || format!("parameter `{}` of `{}` is", param.name.text, function.name.text);
        if !param.ty.mutable {
            let value = self.eval_wanting(arg, element_type(&param.ty))?;
            let value = self.typed(value, &param.ty, arg.span, &wish())?;
            return Ok(Passed { value, lender: None });
        }
        let name = self.lender(arg, &function.name.text, &param.name)?;
        let value = self.named_value(name, arg.span)?;
        let value = self.typed(value, &param.ty, arg.span, &wish())?;
        self.lend(name);
        Ok(Passed { value, lender: Some(name) })
    }

    /// The variable that is passed to be written.
    pub(super) fn lender(&self, arg: &'a Expr, function: &str, param: &Name) -> Outcome<&'a str> {
        let (ExprKind::Borrow(_, inner), ExprKind::Name(name)) = (&arg.kind, inner_kind(arg)) else {
            let help = match &arg.kind {
                ExprKind::Name(name) => format!("write `&!{name}`"),
                _ => "give the tensor a name with `let!`, and pass `&!name`".to_string(),
            };
            let message = format!("`{function}` writes to `{}`, which `&!` must tell", param.text);
            return Err(error("borrow", arg.span, message).related(param.span, "the parameter").help(help).into());
        };
        if let ExprKind::Borrow(false, _) = &arg.kind {
            let message = format!("`{function}` writes to `{}`, which `&!` must tell", param.text);
            return Err(error("borrow", arg.span, message).help(format!("write `&!{name}`")).into());
        }
        self.writable(name, inner.span)?;
        Ok(name)
    }

    /// The value of a variable.
    pub(super) fn named_value(&mut self, name: &'a str, span: Span) -> Outcome<Value<M::Tensor>> {
        match self.scopes.find(name).map(|binding| &binding.value) {
            Some(Value::Lent) => {
                let message = format!("`{name}` is passed twice, and written through one of the two");
                Err(error(rules::ALIASING, span, message).help("pass it once, or a copy: `let! other = ..`").into())
            }
            Some(value) => Ok(value.clone()),
            None => Err(self.unknown(name, span)),
        }
    }

    /// Takes the value out of a variable until it is given back.
    pub(super) fn lend(&mut self, name: &str) {
        if let Some(binding) = self.scopes.find_mut(name) {
            binding.value = Value::Lent;
        }
    }

    pub(super) fn give_back(&mut self, name: &str, value: Value<M::Tensor>) {
        if let Some(binding) = self.scopes.find_mut(name) {
            binding.value = value;
        }
    }

    /// Runs a function of the host.
    pub(super) fn enter(
        &mut self,
        function: &'a Function,
        passed: Vec<Passed<'a, M::Tensor>>,
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        let lenders: Vec<Option<&str>> = passed.iter().map(|passed| passed.lender).collect();
        let before = self.scopes.enter_function();
        for (param, passed) in function.params.iter().zip(passed) {
            let name = param.name.text.clone();
            let mutable = param.ty.mutable;
            self.scopes.declare(Binding { name, value: passed.value, mutable, param: true, span: param.name.span });
        }
        let flow = self.block(&function.body)?;
        let own = self.scopes.leave_function(before);
        for (lender, binding) in lenders.into_iter().zip(own) {
            if let Some(lender) = lender {
                self.give_back(lender, binding.value);
            }
        }
        let (value, at) = match flow {
            Flow::Next(value) => (value, function.body.value.as_ref().map_or(function.name.span, |value| value.span)),
            Flow::Return(value, at) => (value, at),
            Flow::Break(at) | Flow::Continue(at) => return Err(outside_loop(at)),
        };
        self.result(function, value, at, span)
    }

    /// What a function gives is what its signature says.
    fn result(
        &mut self,
        function: &'a Function,
        value: Value<M::Tensor>,
        at: Span,
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        let name = &function.name.text;
        match (&function.result, value) {
            (None, Value::Nothing) => Ok(Value::Nothing),
            (None, _) => {
                let message = format!("`{name}` gives a value, but its signature says no type");
                let help = format!("write `fn {name}(..): f32`, or `return` without a value");
                Err(error(rules::RETURN_VALUE, at, message)
                    .related(function.name.span, "the function")
                    .help(help)
                    .into())
            }
            (Some(_), Value::Nothing) => {
                let message = format!("`{name}` ends without giving a value");
                let error = error(rules::MISSING_RETURN, at, message).related(span, "called here");
                Err(error.help("end it with `return` and a value").into())
            }
            (Some(result), value) => self.typed(value, result, at, &format!("`{name}` gives")),
        }
    }

    /// `x.f(..)`, `Tensor.zeros<f32>(n)`.
    pub(super) fn method(
        &mut self,
        receiver: &'a Expr,
        name: &'a Name,
        ty: Option<&'a TypeExpr>,
        args: &'a [Expr],
        span: Span,
    ) -> Outcome<Value<M::Tensor>> {
        if let ExprKind::Name(space) = &receiver.kind
            && self.scopes.find(space).is_none()
        {
            match &space[..] {
                "Tensor" => return self.make_tensor(name, ty, args),
                "threadgroup" | "subgroup" | "atomic" | "device" => {
                    let message = format!("`{space}.{}` belongs to graph functions", name.text);
                    let help = "the host runs alone; leave it out";
                    return Err(error("kernel-only", receiver.span.to(name.span), message).help(help).into());
                }
                _ => {}
            }
        }
        let first = match self.eval(receiver)? {
            Value::Number(number) => number.at(receiver.span),
            Value::Tensor(tensor) => return self.tensor_method(&tensor, name, args, span),
            other => return Err(no_tensor(&other, receiver.span)),
        };
        let Some(operator) = operator(&name.text) else { return Err(no_method(name)) };
        let mut numbers = vec![first];
        for arg in args {
            numbers.push(self.number(arg)?);
        }
        if numbers.len() != operator.row().arity {
            let message = format!("`.{}` takes {}", name.text, counted(operator.row().arity - 1, "argument"));
            let help = "the first operand stands in front of the `.`";
            return Err(error(rules::COUNT, name.span, message).help(help).into());
        }
        Ok(Value::Number(apply(operator, &name.text, name.span, numbers, span)?))
    }
}

/// The methods of numbers are the operators.
fn no_method(name: &Name) -> Box<Diagnostic> {
    let message = format!("a number has no `.{}`", name.text);
    let help = match suggest::nearest(&name.text, TABLE.iter().map(|row| row.name)) {
        Some(near) => format!("did you mean `.{near}`?"),
        None => "its methods are the operators, such as `.max(y)` and `.sqrt()`".to_string(),
    };
    error(rules::METHOD, name.span, message).help(help).into()
}

fn inner_kind(arg: &Expr) -> &ExprKind {
    match &arg.kind {
        ExprKind::Borrow(_, inner) => &inner.kind,
        kind => kind,
    }
}

/// Another number of arguments than parameters.
pub(super) fn wrong_count(function: &Function, found: usize, span: Span) -> Diagnostic {
    let name = &function.name.text;
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| if param.ty.mutable { format!("&!{}", param.name.text) } else { param.name.text.clone() })
        .collect();
    let message = format!("`{name}` takes {}, found {found}", counted(params.len(), "argument"));
    let error = error(rules::COUNT, span, message).related(function.name.span, "declared here");
    error.help(format!("write `{name}({})`", params.join(", ")))
}
