//! Gives a draft the type that its surroundings want, down to its leaves, or says why it cannot have it.

use super::body::Body;
use super::draft::{Branch, Class, Draft, DraftKind};
use super::scope::{Entity, Kind, Variable};
use super::{echo, rules};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax;
use crate::typed::{Expr, ExprKind, Stmt};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty, int_range};

/// Who wants the type.
#[derive(Clone, Copy)]
pub(super) enum Why<'s> {
    Let(&'s str, Span),
    Assigned(&'s str, Span),
    Element(&'s str, Span),
    Argument(&'s str, &'s syntax::Name),
    Operand(&'s str),
    Index,
    Length,
    Bound,
    Returned(&'s str, Span),
    Condition(&'s str),
    Lane,
    Exponent,
}

impl Why<'_> {
    /// The wish, as the first half of a sentence.
    fn wish(self, ty: Ty) -> String {
        match self {
            Why::Let(name, _) | Why::Assigned(name, _) => format!("`{name}` is {ty}"),
            Why::Element(name, _) => format!("the elements of `{name}` are {ty}"),
            Why::Argument(function, param) => format!("`{function}` takes {ty} for `{}`", param.text),
            Why::Operand(operator) => format!("`{operator}` wants {ty} here"),
            Why::Index => "an index is i64".into(),
            Why::Length => "a length is a whole number".into(),
            Why::Bound => format!("the bounds of a loop are {ty}"),
            Why::Returned(function, _) => format!("`{function}` gives {ty}"),
            Why::Condition(of) => format!("the condition of {of} is bool"),
            Why::Lane => "a lane is i64".into(),
            Why::Exponent => "the exponent of `powi` is i32".into(),
        }
    }

    fn place(self) -> Option<(Span, &'static str)> {
        match self {
            Why::Let(_, span) | Why::Assigned(_, span) | Why::Element(_, span) => Some((span, "declared here")),
            Why::Argument(_, param) => Some((param.span, "the parameter")),
            Why::Returned(_, span) => Some((span, "its result")),
            Why::Operand(_) | Why::Index | Why::Length | Why::Bound | Why::Condition(_) | Why::Lane | Why::Exponent => {
                None
            }
        }
    }
}

/// An expression nobody looks at: an error was told.
pub(super) fn nothing(ty: Ty, span: Span) -> Expr {
    Expr { ty, kind: ExprKind::Const(Scalar::from_int(ty, 0)), span }
}

/// A value as another type.
pub(super) fn converted(expr: Expr, ty: Ty) -> Expr {
    if expr.ty == ty {
        return expr;
    }
    let span = expr.span;
    match expr.kind {
        ExprKind::Const(value) => Expr { ty, kind: ExprKind::Const(value.cast(ty)), span },
        _ => Expr { ty, kind: ExprKind::Cast(Box::new(expr)), span },
    }
}

impl<'a> Body<'_, 'a> {
    /// The draft as a value of the type that is wanted.
    pub(super) fn settle(&mut self, draft: Draft<'a>, want: Ty, why: Why) -> Expr {
        if draft.class.fits(want) {
            return self.push_down(draft, want);
        }
        let span = draft.span();
        let found = draft.class;
        let mut diagnostic =
            Diagnostic::error(rules::MISMATCH, span, format!("{}, but this is {found}", why.wish(want)))
                .label(found.to_string());
        if let Some((place, remark)) = why.place() {
            diagnostic = diagnostic.related(place, remark);
        }
        diagnostic = self.origin_of_type(&draft, diagnostic);
        let help = cure(&draft, want);
        let help = match self.retyped(&draft, want) {
            Some(other) => format!("{help}, or {other}"),
            None => help,
        };
        self.say(diagnostic.help(help));
        nothing(want, span)
    }

    /// The draft at the type it has where nothing is wanted.
    pub(super) fn settle_naturally(&mut self, draft: Draft<'a>) -> Expr {
        let want = draft.class.natural();
        self.push_down(draft, want)
    }

    /// Where the type was found rather than written, that place is shown.
    fn origin_of_type(&self, draft: &Draft, diagnostic: Diagnostic) -> Diagnostic {
        let syntax::ExprKind::Name(name) = &draft.source.kind else { return diagnostic };
        match self.scopes.find(name) {
            Some(Entity::Variable(Variable { found: Some(found), kind, ty, span, .. })) => {
                let remark = match (kind, found) {
                    (Kind::Counter, _) => format!("counters of loops are {ty}"),
                    (_, Class::Fixed(_)) => format!("`{name}` is {ty} like its value"),
                    _ => format!("`{name}` is {ty} because nothing else is said here"),
                };
                diagnostic.related(*span, remark)
            }
            _ => diagnostic,
        }
    }

    /// A name whose declaration says no type can get one, if its value could have it.
    fn retyped(&self, draft: &Draft, want: Ty) -> Option<String> {
        let syntax::ExprKind::Name(name) = &draft.source.kind else { return None };
        match self.scopes.find(name)? {
            Entity::Variable(Variable { found: Some(found), kind: Kind::Let { mutable }, .. }) if found.fits(want) => {
                Some(format!("declare it as `{}`", self.dialect.typed_let(*mutable, name, want.name())))
            }
            _ => None,
        }
    }

    /// The draft fits; its leaves get the type. Long sums go by a loop, as they were read.
    fn push_down(&mut self, mut draft: Draft<'a>, want: Ty) -> Expr {
        let mut rest = vec![];
        while let DraftKind::Apply(operator, mut args) = draft.kind {
            let span = draft.source.span;
            let others = args.split_off(1.min(args.len()));
            match args.pop() {
                Some(first) => {
                    rest.push((operator, span, others));
                    draft = first;
                }
                None => return nothing(want, span),
            }
        }
        let mut made = self.push_down_one(draft, want);
        while let Some((operator, span, others)) = rest.pop() {
            let mut args = vec![made];
            args.extend(others.into_iter().map(|a| self.push_down(a, want)));
            self.suspicious(operator, &args);
            made = Expr { ty: want, kind: ExprKind::Apply(operator, args), span };
        }
        made
    }

    fn push_down_one(&mut self, draft: Draft<'a>, want: Ty) -> Expr {
        let span = draft.span();
        let at = |ty: Ty, kind: ExprKind| Expr { ty, kind, span };
        match draft.kind {
            DraftKind::Wrong => nothing(want, span),
            DraftKind::Int(value) => {
                // A suffix is the type; what is wanted may be wider.
                let own = if let Class::Fixed(ty) = draft.class { ty } else { want };
                self.int(value, own, draft.source);
                at(want, ExprKind::Const(Scalar::from_int(want, value)))
            }
            DraftKind::Float { digits, negative } => {
                let value = self.float(digits, negative, want, draft.source);
                at(want, ExprKind::Const(value))
            }
            DraftKind::Param(local, ty) => converted(at(ty, ExprKind::Local(local)), want),
            DraftKind::Done(kind) => converted(at(draft.class.natural(), kind), want),
            DraftKind::Apply(..) => self.push_down(draft, want),
            DraftKind::Rigid(operator, operand) => {
                let ty = if let Class::Fixed(ty) = operand.class { ty } else { want };
                let operand = self.push_down(*operand, ty);
                converted(at(ty, ExprKind::Apply(operator, vec![operand])), want)
            }
            DraftKind::Beside(operator, first, second) => {
                let first = self.push_down(*first, want);
                let second = if operator == Operator::Powi { *second } else { self.shift_amount(*second, want) };
                at(want, ExprKind::Apply(operator, vec![first, second]))
            }
            DraftKind::Select(cond, values) => {
                let [then, otherwise] = *values;
                let args = vec![*cond, self.push_down(then, want), self.push_down(otherwise, want)];
                at(want, ExprKind::Apply(Operator::Select, args))
            }
            DraftKind::If { cond, then, otherwise } => {
                let then = self.branch(then, want, span);
                let otherwise = self.branch(otherwise, want, span);
                at(want, ExprKind::If { cond, then, otherwise })
            }
        }
    }

    fn branch(&mut self, branch: Branch<'a>, want: Ty, span: Span) -> (Vec<Stmt>, Box<Expr>) {
        let value = match branch.value {
            Some(value) => self.push_down(*value, want),
            None => nothing(want, span),
        };
        (branch.stmts, Box::new(value))
    }

    /// An amount is taken modulo the width, so any conversion to the type of the left side keeps its meaning.
    fn shift_amount(&mut self, amount: Expr, ty: Ty) -> Expr {
        if let Some(value) = self.constant(&amount).map(Scalar::as_int)
            && !(0..i128::from(ty.bits())).contains(&value)
        {
            let message = format!("{ty} has {} bits; a shift by {value} moves all of them out", ty.bits());
            let help = format!("shift by 0 to {}", ty.bits() - 1);
            self.say(Diagnostic::error(rules::SHIFT, amount.span, message).help(help));
        }
        converted(amount, ty)
    }

    fn suspicious(&mut self, operator: Operator, args: &[Expr]) {
        if let (Operator::Div | Operator::Rem, [_, Expr { kind: ExprKind::Const(zero), span, .. }]) = (operator, args)
            && zero.ty.is_int()
            && zero.as_int() == 0
        {
            let gives = if operator == Operator::Div { "its left side" } else { "0" };
            let message = format!("division by zero; on every device it gives {gives}");
            self.say(Diagnostic::warning(rules::DIVISION, *span, message).help("divide by something else"));
        }
    }

    /// Is the literal a value of the type?
    fn int(&mut self, value: i128, ty: Ty, source: &syntax::Expr) {
        if !ty.is_int() {
            return;
        }
        let (low, high) = int_range(ty);
        if (low..=high).contains(&value) {
            return;
        }
        let wider = [Ty::I16, Ty::I32, Ty::U32, Ty::I64, Ty::U64].into_iter().find(|&t| {
            let (low, high) = int_range(t);
            (low..=high).contains(&value)
        });
        let help = match wider {
            Some(wider) => format!("{wider} holds it"),
            None => "no integer type holds it; use a float".into(),
        };
        let message = format!("`{value}` is no {ty}: those go from {low} to {high}");
        self.say(Diagnostic::error(rules::RANGE, source.span, message).help(help));
    }

    fn float(&mut self, digits: &str, negative: bool, ty: Ty, source: &syntax::Expr) -> Scalar {
        let plain: String = digits.chars().filter(|&c| c != '_').collect();
        // Rounded once to the narrower types: via `f64` a near tie could be taken for a tie.
        let value = match ty {
            Ty::F32 => plain.parse::<f32>().ok().map(f64::from),
            _ => plain.parse::<f64>().ok(),
        };
        let Some(value) = value else {
            let message = format!("`{digits}` is not a number");
            self.say(Diagnostic::error(rules::RANGE, source.span, message).help("write it like `1.5` or `1e-3`"));
            return Scalar::from_f64(ty, 0.0);
        };
        let value = Scalar::from_f64(ty, if negative { -value } else { value });
        if value.as_f64().is_infinite() {
            let message = format!("`{digits}` is too large for {ty}");
            let help = format!("f64 goes further; infinity is `{}`", self.dialect.number(ty, "INFINITY"));
            self.say(Diagnostic::error(rules::RANGE, source.span, message).help(help));
        }
        value
    }
}

/// What to write instead.
fn cure(draft: &Draft, want: Ty) -> String {
    match draft.kind {
        DraftKind::Int(value) if want.is_float() => format!("write `{value}.0`"),
        _ if want == Ty::Bool => format!("compare it: `{}`", echo::differs(draft.source, draft.class.natural())),
        DraftKind::Float { .. } if want.is_int() => {
            format!("write a whole number, or `{} as {want}`", echo::operand(draft.source))
        }
        _ => format!("write `{} as {want}`", echo::operand(draft.source)),
    }
}
