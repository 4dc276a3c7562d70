//! Calls: functions of the file, operators of the table by name, conversions, and methods. Atomics and subgroups are in `together`.

use super::body::{Body, ParamType, ResultType};
use super::draft::{Class, Draft};
use super::expr::is_place;
use super::scope::{Entity, Memory, Origin};
use super::settle::Why;
use super::{forbid, rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, Name, TypeExpr};
use crate::typed::{self, Arg};
use slyz_sir::ops::{Operator, TABLE};
use slyz_sir::types::{Scalar, Ty};

/// Other names of operators: methods of Rust that do here what the operators do anyway.
const ALIASES: [(&str, Operator); 6] = [
    ("wrapping_add", Operator::Add),
    ("wrapping_sub", Operator::Sub),
    ("wrapping_mul", Operator::Mul),
    ("wrapping_neg", Operator::Neg),
    ("wrapping_shl", Operator::Shl),
    ("wrapping_shr", Operator::Shr),
];

/// The names that operators go by.
fn names<'a>() -> impl Iterator<Item = &'a str> {
    TABLE.iter().flat_map(|row| [row.name, row.c, row.rust]).chain(ALIASES.map(|alias| alias.0))
}

/// The operator that goes by that name.
pub(crate) fn operator(name: &str) -> Option<Operator> {
    Operator::known_as(name).or_else(|| ALIASES.iter().find(|a| a.0 == name).map(|a| a.1))
}

pub(super) fn plural(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("one {what}"),
        _ => format!("{count} {what}s"),
    }
}

impl<'a> Body<'_, 'a> {
    /// A call, as a value.
    pub(super) fn call(
        &mut self,
        function: &'a Name,
        ty: Option<&'a TypeExpr>,
        args: &'a [Expr],
        expr: &'a Expr,
    ) -> Draft<'a> {
        match self.any_call(function, ty, args, expr) {
            Called::Value(draft) => draft,
            Called::Nothing(_) => {
                let message = format!("`{}` gives nothing", function.text);
                let help = "call it as a statement, or give it a result";
                self.refuse(expr, Diagnostic::error(rules::NOT_A_VALUE, expr.span, message).help(help))
            }
        }
    }

    /// A call, wherever it stands.
    pub(super) fn any_call(
        &mut self,
        function: &'a Name,
        ty: Option<&'a TypeExpr>,
        args: &'a [Expr],
        expr: &'a Expr,
    ) -> Called<'a> {
        let name = &function.text[..];
        if let Some(&number) = self.names.by_name.get(name) {
            return self.own_call(number, function, args, expr);
        }
        Called::Value(self.built_in(name, function, ty, args, expr))
    }

    fn built_in(
        &mut self,
        name: &'a str,
        function: &'a Name,
        ty: Option<&'a TypeExpr>,
        args: &'a [Expr],
        expr: &'a Expr,
    ) -> Draft<'a> {
        if let Some(&at) = self.names.foreign.get(name) {
            args.iter().for_each(|a| drop(self.infer_argument(a)));
            return self.refuse(expr, forbid::foreign(name, function.span).related(at, "declared as foreign here"));
        }
        if let Some(operator) = operator(name) {
            let args: Vec<Draft> = args.iter().map(|a| self.infer(a)).collect();
            return self.operator_call(operator, name, function.span, args, expr);
        }
        if let Some(to) = Ty::from_name(name) {
            return match args {
                [operand] => self.cast_to(operand, to, expr),
                _ => self.wrong_count(name, function.span, args.len(), 1, expr),
            };
        }
        if name == "bitcast" {
            return self.bitcast(function, ty, args, expr);
        }
        if let Some(to) = name.strip_suffix("::from_bits").and_then(Ty::from_name).filter(|t| t.is_float()) {
            return match args {
                [operand] => self.bits(operand, to, Some(bits_of(to)), expr),
                _ => self.wrong_count(name, function.span, args.len(), 1, expr),
            };
        }
        args.iter().for_each(|a| drop(self.infer_argument(a)));
        let diagnostic = self.unknown_function(name, function.span);
        self.refuse(expr, diagnostic)
    }

    fn unknown_function(&self, name: &str, span: Span) -> Diagnostic {
        if let Some(diagnostic) = forbid::function(name, span) {
            return diagnostic;
        }
        let diagnostic = Diagnostic::error(rules::FUNCTION, span, format!("there is no function `{name}`"));
        if self.scopes.find(name).is_some() {
            return diagnostic.help(format!("`{name}` is no function; elements are written `{name}[i]`"));
        }
        let known = self.names.by_name.keys().copied();
        let mut known: Vec<&str> = known.chain(names()).collect();
        known.sort_unstable();
        match suggest::nearest(name, known) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("write it as a function of this file: `fn {name}(..)`")),
        }
    }

    /// An argument whose function is not known: only what is inside it is looked at.
    fn infer_argument(&mut self, arg: &'a Expr) -> Option<Draft<'a>> {
        let silent = self.memory_named(arg).is_some() || matches!(arg.kind, ExprKind::Text(_));
        (!silent).then(|| self.infer(arg))
    }

    /// An operator by name, with as many operands as were written.
    fn operator_call(
        &mut self,
        operator: Operator,
        name: &str,
        span: Span,
        args: Vec<Draft<'a>>,
        expr: &'a Expr,
    ) -> Draft<'a> {
        let arity = operator.row().arity;
        if args.len() != arity {
            return self.wrong_count(name, span, args.len(), arity, expr);
        }
        self.apply(operator, name, span, args, expr)
    }

    pub(super) fn wrong_count(
        &mut self,
        name: &str,
        span: Span,
        found: usize,
        wanted: usize,
        expr: &'a Expr,
    ) -> Draft<'a> {
        let message = format!("`{name}` takes {}, found {found}", plural(wanted, "argument"));
        let names = ["a", "b", "c", "d"];
        let list: Vec<&str> = names.into_iter().take(wanted).collect();
        let help = format!("write `{name}({})`", list.join(", "));
        self.refuse(expr, Diagnostic::error(rules::COUNT, span, message).help(help))
    }

    fn bitcast(&mut self, function: &'a Name, ty: Option<&'a TypeExpr>, args: &'a [Expr], expr: &'a Expr) -> Draft<'a> {
        let Some(ty) = ty else {
            let message = "`bitcast` wants the type it makes";
            let help = format!("write `{}`", self.dialect.bitcast(Ty::U32));
            return self.refuse(expr, Diagnostic::error(rules::TYPE, function.span, message).help(help));
        };
        let Some(to) = self.scalar_type(ty) else { return Draft::wrong(expr) };
        match args {
            [operand] => self.bits(operand, to, None, expr),
            _ => self.wrong_count("bitcast", function.span, args.len(), 1, expr),
        }
    }

    /// The same bits as another type; `from` is the type of the operand where the function says it.
    fn bits(&mut self, operand: &'a Expr, to: Ty, from: Option<Ty>, expr: &'a Expr) -> Draft<'a> {
        let draft = self.infer(operand);
        let same_width = |ty: Ty| ty.bits() == to.bits() && ty != Ty::Bool && to != Ty::Bool;
        let from = from.unwrap_or(match draft.class {
            Class::Wrong => return Draft::wrong(expr),
            Class::Param(ty) if same_width(ty) => ty,
            Class::Int if to.is_float() => bits_of(to),
            Class::Int => to,
            class => class.natural(),
        });
        if !same_width(from) {
            let message =
                format!("{from} has {} bits and {to} has {}; `bitcast` keeps all of them", from.bits(), to.bits());
            let help = format!("convert the value with `as {to}`, or take a type of {} bits", from.bits());
            return self.refuse(expr, Diagnostic::error(rules::MISMATCH, operand.span, message).help(help));
        }
        let inner = self.settle(draft, from, Why::Operand("bitcast"));
        if from == to {
            return Draft::done(to, inner.kind, expr);
        }
        Draft::done(to, typed::ExprKind::Bitcast(Box::new(inner)), expr)
    }

    /// A function of the file.
    fn own_call(&mut self, number: usize, function: &'a Name, args: &'a [Expr], expr: &'a Expr) -> Called<'a> {
        let names = self.names;
        let signature = &names.signatures[number];
        let declared = &names.functions[number].name;
        if args.len() != signature.params.len() {
            args.iter().for_each(|a| drop(self.infer_argument(a)));
            let wanted = plural(signature.params.len(), "argument");
            let message = format!("`{}` takes {wanted}, found {}", function.text, args.len());
            let list: Vec<&str> = signature.params.iter().map(|p| &p.0.text[..]).collect();
            let diagnostic = Diagnostic::error(rules::COUNT, function.span, message)
                .related(declared.span, "declared here")
                .help(format!("write `{}({})`", function.text, list.join(", ")));
            return Called::Value(self.refuse(expr, diagnostic));
        }
        let passed: Vec<Option<Arg>> =
            args.iter().zip(&signature.params).map(|(arg, param)| self.argument(&function.text, arg, param)).collect();
        self.aliasing(args, &signature.params);
        let instance = self.reached.instance(number, self.inside_block);
        let id = self.ids.get(&instance).copied();
        let passed: Option<Vec<Arg>> = passed.into_iter().collect();
        let recursive = self.reached.recursive.contains(&function.span);
        let (Some(passed), Some(id), false) = (passed, id, recursive) else {
            self.marks.broken = true;
            return match signature.result {
                ResultType::None => Called::Nothing(None),
                ResultType::Scalar(_) | ResultType::Wrong => Called::Value(Draft::wrong(expr)),
            };
        };
        let kind = typed::ExprKind::Call(id, passed);
        match signature.result {
            ResultType::None => Called::Nothing(Some(typed::Expr { ty: Ty::Bool, kind, span: expr.span })),
            ResultType::Scalar(ty) => Called::Value(Draft::done(ty, kind, expr)),
            ResultType::Wrong => {
                self.marks.broken = true;
                Called::Value(Draft::wrong(expr))
            }
        }
    }

    fn argument(&mut self, function: &str, arg: &'a Expr, param: &(Name, ParamType)) -> Option<Arg> {
        let (name, ty) = param;
        match *ty {
            ParamType::Wrong => {
                self.infer_argument(arg);
                self.marks.broken = true;
                None
            }
            ParamType::Scalar(ty) => {
                let draft = self.infer(arg);
                if draft.class == Class::Wrong {
                    return None;
                }
                Some(Arg::Value(self.settle(draft, ty, Why::Argument(function, name))))
            }
            ParamType::Tensor { elem, rank, mutable, .. } => {
                let Some(memory) = self.memory_named(arg).cloned() else {
                    return self.no_tensor(function, arg, name);
                };
                self.tensor_argument(function, arg, name, &memory, (elem, rank, mutable))
            }
        }
    }

    fn no_tensor(&mut self, function: &str, arg: &'a Expr, param: &Name) -> Option<Arg> {
        let wrong = self.is_wrong_name(arg) || self.infer(arg).class == Class::Wrong;
        if !wrong {
            let message = format!("`{function}` takes a tensor for `{}`, and this is a value", param.text);
            let diagnostic = Diagnostic::error(rules::ARGUMENT, arg.span, message).related(param.span, "the parameter");
            self.say(diagnostic.help("pass a tensor parameter or an array by its name"));
        }
        self.marks.broken = true;
        None
    }

    fn tensor_argument(
        &mut self,
        function: &str,
        arg: &'a Expr,
        param: &Name,
        memory: &Memory,
        (elem, rank, mutable): (Ty, usize, bool),
    ) -> Option<Arg> {
        let fails = |rule, message: String, help: String| {
            let diagnostic = Diagnostic::error(rule, arg.span, message).related(param.span, "the parameter");
            diagnostic.related(memory.span, "declared here").help(help)
        };
        let name = &memory.name;
        let diagnostic = if memory.elem != elem {
            let message = format!(
                "`{function}` takes elements of {elem} for `{}`, but those of `{name}` are {}",
                param.text, memory.elem
            );
            fails(
                rules::MISMATCH,
                message,
                format!("pass a tensor of {elem}, or write another function for {}", memory.elem),
            )
        } else if memory.rank != rank {
            let message = format!(
                "`{function}` takes {} for `{}`, but `{name}` has {}",
                plural_axes(rank),
                param.text,
                memory.rank
            );
            let help = format!("declare `{name}` and the parameter with the same number of axes");
            fails(rules::ARGUMENT, message, help)
        } else if mutable && !memory.mutable {
            let message = format!("`{function}` writes to `{}`, but `{name}` is read-only", param.text);
            fails(rules::READ_ONLY, message, self.mutable_memory(memory))
        } else {
            return Some(Arg::Memory(memory.memory));
        };
        self.say(diagnostic);
        None
    }

    /// How memory would have to be declared to be written.
    pub(super) fn mutable_memory(&self, memory: &Memory) -> String {
        let shape = |elem: Ty| {
            let extents = memory.shape.iter().flatten().rev();
            extents.fold(elem.to_string(), |inner, n| format!("[{inner}; {n}]"))
        };
        match memory.origin {
            Origin::Tensor { flat } => {
                let ty = self.dialect.tensor(memory.elem, (!flat).then_some(memory.rank), true);
                format!("declare the parameter as `{}: {ty}`", memory.name)
            }
            Origin::Thread => format!("declare it as `{}`", self.dialect.mutable_let(&memory.name)),
            Origin::Threadgroup => {
                format!("declare it as `{}`", self.dialect.threadgroup(&memory.name, &shape(memory.elem)))
            }
            Origin::Constant => {
                format!(
                    "constants stay what they are; for an array of this thread write `{}`",
                    self.dialect.mutable_let(&memory.name)
                )
            }
        }
    }

    /// The same memory for two parameters, one of which is written.
    fn aliasing(&mut self, args: &'a [Expr], params: &[(Name, ParamType)]) {
        for (k, (arg, param)) in args.iter().zip(params).enumerate() {
            let Some(memory) = self.memory_named(arg).map(|m| (m.memory, m.name.clone())) else { continue };
            let mutable = |p: &ParamType| matches!(p, ParamType::Tensor { mutable: true, .. });
            for (other, before) in args[..k].iter().zip(params) {
                let same = self.memory_named(other).is_some_and(|m| m.memory == memory.0);
                if same && (mutable(&param.1) || mutable(&before.1)) {
                    let message = format!("`{}` is passed twice, and written through one of the two", memory.1);
                    let diagnostic = Diagnostic::error(rules::ALIASING, arg.span, message);
                    self.say(
                        diagnostic.related(other.span, "here as well").help("pass it once, or pass another tensor"),
                    );
                }
            }
        }
    }

    /// `x.f(y)` as a value.
    pub(super) fn method(&mut self, receiver: &'a Expr, name: &'a Name, args: &'a [Expr], expr: &'a Expr) -> Draft<'a> {
        if let ExprKind::Name(space) = &receiver.kind
            && self.scopes.find(space).is_none()
        {
            match &space[..] {
                "threadgroup" | "device" => return self.barrier_as_value(expr),
                "subgroup" if name.text == "barrier" => return self.barrier_as_value(expr),
                "subgroup" => return self.subgroup(name, args, expr),
                "atomic" => return self.atomic(name, args, expr),
                _ => {}
            }
            if let Some(diagnostic) = forbid::method(Some(space), &name.text, receiver.span.to(name.span)) {
                return self.refuse(expr, diagnostic);
            }
            if Ty::from_name(space).is_some() && name.text == "from_bits" {
                return self.of_bits(space, name, args, expr);
            }
            if self.is_foreign(space, &name.text) {
                args.iter().for_each(|a| drop(self.infer_argument(a)));
                let path = format!("{space}.{}", name.text);
                return self.refuse(expr, forbid::foreign(&path, receiver.span.to(name.span)));
            }
        }
        if let Some(memory) = self.memory_named(receiver).cloned() {
            return self.memory_method(&memory, name, args, expr);
        }
        let draft = self.infer(receiver);
        if draft.class == Class::Wrong {
            args.iter().for_each(|a| drop(self.infer_argument(a)));
            return Draft::wrong(expr);
        }
        if name.text == "to_bits" && args.is_empty() && draft.class.natural().is_float() {
            return self.bits(receiver, bits_of(draft.class.natural()), None, expr);
        }
        match operator(&name.text) {
            Some(operator) => {
                let row = operator.row();
                let mut drafts = vec![draft];
                drafts.extend(args.iter().map(|a| self.infer(a)));
                if drafts.len() != row.arity {
                    return self.wrong_method_count(name, drafts.len() - 1, row.arity - 1, expr);
                }
                self.apply(operator, &name.text, name.span, drafts, expr)
            }
            None => {
                args.iter().for_each(|a| drop(self.infer_argument(a)));
                let diagnostic = unknown_method(name, draft.class.natural());
                self.refuse(expr, diagnostic)
            }
        }
    }

    /// `libc.rand()`: something that is neither known here nor likely to be misspelt.
    fn is_foreign(&self, space: &str, method: &str) -> bool {
        let known =
            operator(method).is_some() || ["len", "dim"].contains(&method) || self.names.host.contains_key(space);
        !known && suggest::nearest(space, self.scopes.names()).is_none() && !is_place(space)
    }

    fn of_bits(&mut self, ty: &str, name: &Name, args: &'a [Expr], expr: &'a Expr) -> Draft<'a> {
        match (Ty::from_name(ty).filter(|t| t.is_float()), args) {
            (Some(to), [operand]) => self.bits(operand, to, Some(bits_of(to)), expr),
            _ => self.wrong_count("from_bits", name.span, args.len(), 1, expr),
        }
    }

    fn wrong_method_count(&mut self, name: &Name, found: usize, wanted: usize, expr: &'a Expr) -> Draft<'a> {
        let message = format!("`.{}` takes {}, found {found}", name.text, plural(wanted, "argument"));
        let list: Vec<&str> = ["a", "b", "c"].into_iter().take(wanted).collect();
        let help = format!("write `x.{}({})`", name.text, list.join(", "));
        self.refuse(expr, Diagnostic::error(rules::COUNT, name.span, message).help(help))
    }

    fn barrier_as_value(&mut self, expr: &'a Expr) -> Draft<'a> {
        let message = "barriers and fences have no value";
        let help = "write it as a statement of its own";
        self.refuse(expr, Diagnostic::error(rules::NOT_A_VALUE, expr.span, message).help(help))
    }

    fn memory_method(&mut self, memory: &Memory, name: &'a Name, args: &'a [Expr], expr: &'a Expr) -> Draft<'a> {
        match (&name.text[..], args) {
            ("len", []) => Draft::done(Ty::I64, self.extent(memory, None), expr),
            ("len", _) => self.wrong_method_count(name, args.len(), 0, expr),
            ("dim", [axis]) => self.dim(memory, axis, expr),
            ("dim", _) => self.wrong_method_count(name, args.len(), 1, expr),
            _ => {
                args.iter().for_each(|a| drop(self.infer_argument(a)));
                let message = format!("`{}` has no method `{}`", memory.name, name.text);
                let diagnostic = match forbid::method(None, &name.text, name.span) {
                    Some(diagnostic) => diagnostic,
                    None => Diagnostic::error(rules::METHOD, name.span, message).help(
                        "tensors and arrays have `.len()` and `.dim(k)`; loop over the elements for anything else",
                    ),
                };
                self.refuse(expr, diagnostic)
            }
        }
    }

    fn dim(&mut self, memory: &Memory, axis: &'a Expr, expr: &'a Expr) -> Draft<'a> {
        let draft = self.infer(axis);
        if draft.class == Class::Wrong {
            return Draft::wrong(expr);
        }
        let value = self.settle(draft, Ty::I64, Why::Index);
        if memory.origin == (Origin::Tensor { flat: true }) {
            let message = format!("`{}` has any shape here, and one index; its axes are not known", memory.name);
            let ty = self.dialect.tensor(memory.elem, Some(2), memory.mutable);
            let diagnostic = Diagnostic::error(rules::RANK, expr.span, message).related(memory.span, "declared here");
            return self.refuse(expr, diagnostic.help(format!("use `.len()`, or declare it as `{ty}`")));
        }
        match self.constant(&value).map(Scalar::as_int) {
            Some(k) if (0..memory.rank as i128).contains(&k) => {
                Draft::done(Ty::I64, self.extent(memory, Some(k as usize)), expr)
            }
            found => {
                let message = match found {
                    Some(k) => format!("`{}` has no axis {k}: it has {}", memory.name, plural_axes(memory.rank)),
                    None => "the number of an axis is a constant".into(),
                };
                let help = format!("use 0 to {}", memory.rank - 1);
                self.refuse(expr, Diagnostic::error(rules::RANK, axis.span, message).help(help))
            }
        }
    }

    /// Is the name something else than what kernels know, and declared by nobody?
    pub(super) fn is_free(&self, name: &str) -> bool {
        !matches!(
            self.scopes.find(name),
            Some(Entity::Variable(_) | Entity::Constant(..) | Entity::Memory(_) | Entity::Wrong)
        )
    }
}

/// What a call comes to.
pub(super) enum Called<'a> {
    Value(Draft<'a>),
    /// A function without a result; none after an error.
    Nothing(Option<typed::Expr>),
}

fn plural_axes(rank: usize) -> String {
    if rank == 1 { "one axis".into() } else { format!("{rank} axes") }
}

/// The integer of the same width.
fn bits_of(ty: Ty) -> Ty {
    match ty.bytes() {
        1 => Ty::U8,
        2 => Ty::U16,
        4 => Ty::U32,
        _ => Ty::U64,
    }
}

fn unknown_method(name: &Name, ty: Ty) -> Diagnostic {
    if let Some(diagnostic) = forbid::method(None, &name.text, name.span) {
        return diagnostic;
    }
    let message = format!("{ty} has no method `{}`", name.text);
    let diagnostic = Diagnostic::error(rules::METHOD, name.span, message);
    let known = names().chain(["len", "dim"]);
    match suggest::nearest(&name.text, known) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help("values have the operators of the table as methods, such as `x.max(y)` and `x.sqrt()`"),
    }
}
