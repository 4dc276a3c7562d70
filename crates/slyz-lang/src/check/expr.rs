//! Expressions: names, literals, operators, elements, conversions. Calls are in `call`.

use super::body::Body;
use super::draft::{Branch, Class, Draft, DraftKind};
use super::scope::{Entity, Memory, Origin};
use super::settle::{Why, converted, nothing};
use super::{echo, forbid, number, rules, suggest};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{BinaryOp, Block, Expr, ExprKind, Name, Stmt, StmtKind, TypeExpr, UnaryOp};
use crate::typed;
use slyz_sir::code::Place;
use slyz_sir::ops::{Operator, Signature};
use slyz_sir::types::{Scalar, Ty};

/// Names that places go by. `thread` is one of two.
const PLACES: [(&str, Option<Place>); 9] = [
    ("thread", None),
    ("global", Some(Place::Global)),
    ("local", Some(Place::Local)),
    ("block", Some(Place::Block)),
    ("blockDim", Some(Place::BlockDim)),
    ("block_dim", Some(Place::BlockDim)),
    ("gridDim", Some(Place::GridDim)),
    ("grid_dim", Some(Place::GridDim)),
    ("subgroup", Some(Place::Lane)),
];

/// Is it the name of a place?
pub(super) fn is_place(name: &str) -> bool {
    PLACES.iter().any(|p| p.0 == name)
}

/// An element, as far as it is one.
pub(super) struct Element {
    pub memory: Memory,
    pub index: Vec<typed::Expr>,
}

impl<'a> Body<'_, 'a> {
    /// Reads an expression. Long sums lean to the left; they are read by a loop, so that they take no stack.
    pub(super) fn infer(&mut self, expr: &'a Expr) -> Draft<'a> {
        let mut rest = vec![];
        let mut first = expr;
        while let ExprKind::Binary(BinaryOp::Table(operator), span, x, y) = &first.kind {
            rest.push((*operator, *span, y, first));
            first = x;
        }
        let mut draft = self.infer_one(first);
        while let Some((operator, span, y, whole)) = rest.pop() {
            let args = vec![draft, self.infer(y)];
            draft = self.apply(operator, echo::sign(BinaryOp::Table(operator)), span, args, whole);
        }
        draft
    }

    fn infer_one(&mut self, expr: &'a Expr) -> Draft<'a> {
        match &expr.kind {
            ExprKind::Int(value, suffix) => self.int_literal(*value, *suffix, expr),
            ExprKind::Float(digits, suffix) => {
                let class = suffix.map_or(Class::Float, Class::Fixed);
                Draft { class, kind: DraftKind::Float { digits, negative: false }, source: expr }
            }
            ExprKind::Bool(value) => Draft::done(Ty::Bool, typed::ExprKind::Const(Scalar::bool(*value)), expr),
            ExprKind::Text(_) => self.refuse(expr, forbid::text(expr.span)),
            ExprKind::Name(name) => self.name(name, expr),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, expr),
            ExprKind::Binary(BinaryOp::Table(_), ..) => self.infer(expr),
            ExprKind::Binary(BinaryOp::AndThen, _, x, y) => self.either(true, x, y, expr),
            ExprKind::Binary(BinaryOp::OrElse, _, x, y) => self.either(false, x, y, expr),
            ExprKind::Fma(x, y, z) => {
                let args = [x, y, z].map(|e| self.infer(e)).into();
                self.apply(Operator::Fma, "*+", expr.span, args, expr)
            }
            ExprKind::Call { function, ty, args } => self.call(function, ty.as_ref(), args, expr),
            ExprKind::Method { receiver, name, args, .. } => self.method(receiver, name, args, expr),
            ExprKind::Field(of, field) => self.field(of, field, expr),
            ExprKind::Index(..) => match self.element(expr) {
                Some(element) => {
                    let load = typed::ExprKind::Load(element.memory.memory, element.index);
                    Draft::done(element.memory.elem, load, expr)
                }
                None => Draft::wrong(expr),
            },
            ExprKind::Cast(operand, ty) => self.cast(operand, ty, expr),
            ExprKind::If { cond, then, otherwise } => self.if_value(cond, then, otherwise.as_ref(), expr),
            ExprKind::Array(_) | ExprKind::Repeat(..) => {
                let message = "an array is no value; it has a name of its own";
                let help = format!("declare it: `{} = [..]`", self.dialect.typed_let(false, "a", "[f32; 4]"));
                self.refuse(expr, Diagnostic::error(rules::NOT_A_VALUE, expr.span, message).help(help))
            }
            ExprKind::Tuple(_) => {
                let message = "a tuple is not one value";
                let help = "take it apart where it stands: `let (a, b) = (x, y)`";
                self.refuse(expr, Diagnostic::error(rules::TUPLE, expr.span, message).help(help))
            }
            ExprKind::Borrow(_, inner) => match self.memory_named(inner) {
                Some(_) => self.whole_memory(inner, expr),
                None => {
                    let draft = self.infer(inner);
                    if draft.class == Class::Wrong {
                        return Draft::wrong(expr);
                    }
                    let message = "kernels have no references to values";
                    let help = "leave the `&` out; results of functions come by `return`";
                    self.refuse(expr, Diagnostic::error(rules::UNSUPPORTED, expr.span, message).help(help))
                }
            },
            ExprKind::Launch { function, .. } => {
                let diagnostic = forbid::host("launch", expr.span.to(function.span));
                let help = format!("call it: `{}(..)` runs it in this thread", function.text);
                self.refuse(expr, diagnostic.help(help))
            }
            ExprKind::Foreign { what, text } => self.refuse(expr, forbid::construct(*what, text, expr.span)),
            ExprKind::Wrong => {
                self.marks.broken = true;
                Draft::wrong(expr)
            }
        }
    }

    fn int_literal(&mut self, value: u128, suffix: Option<Ty>, expr: &'a Expr) -> Draft<'a> {
        let value = i128::try_from(value).unwrap_or(i128::MAX);
        match suffix {
            // `1f32` is a float.
            Some(ty) if ty.is_float() => {
                let kind = typed::ExprKind::Const(Scalar::from_int(ty, value));
                Draft::done(ty, kind, expr)
            }
            _ => {
                let class = suffix.map_or(Class::Int, Class::Fixed);
                Draft { class, kind: DraftKind::Int(value), source: expr }
            }
        }
    }

    fn name(&mut self, name: &'a str, expr: &'a Expr) -> Draft<'a> {
        match self.scopes.find(name) {
            Some(Entity::Variable(variable)) => {
                let variable = *variable;
                self.variable(&variable, expr)
            }
            Some(Entity::Constant(value, _)) => Draft::done(value.ty, typed::ExprKind::Const(*value), expr),
            Some(Entity::Memory(_)) => self.whole_memory(expr, expr),
            Some(Entity::Wrong) => {
                self.marks.broken = true;
                Draft::wrong(expr)
            }
            None => match number::constant(name) {
                Some(value) => Draft::done(value.ty, typed::ExprKind::Const(value), expr),
                None => {
                    let diagnostic = self.unknown_name(name, expr.span);
                    self.refuse(expr, diagnostic)
                }
            },
        }
    }

    fn whole_memory(&mut self, named: &Expr, expr: &'a Expr) -> Draft<'a> {
        let Some(memory) = self.memory_named(named) else { return Draft::wrong(expr) };
        let what = if matches!(memory.origin, Origin::Tensor { .. }) { "tensor" } else { "array" };
        let message = format!("`{}` is a whole {what}; a value is one of its elements", memory.name);
        let element = self.dialect.element(&memory.name, memory.rank);
        let diagnostic = Diagnostic::error(rules::NOT_A_VALUE, expr.span, message)
            .related(memory.span, "declared here")
            .help(format!("write `{element}`"));
        self.refuse(expr, diagnostic)
    }

    pub(super) fn unknown_name(&self, name: &str, span: Span) -> Diagnostic {
        let diagnostic = Diagnostic::error(rules::NAME, span, format!("there is no `{name}` here"));
        if is_place(name) {
            return Diagnostic::error(rules::NAME, span, format!("`{name}` has an index for each dimension"))
                .help(format!("write `{name}.x`, `{name}.y` or `{name}.z`"));
        }
        if let Some(&at) = self.names.host.get(name) {
            return diagnostic
                .related(at, "the host's; kernels do not see it")
                .help(format!("pass `{name}` to the kernel as a parameter"));
        }
        if self.names.by_name.contains_key(name) {
            return diagnostic.help(format!("`{name}` is a function: call it, as in `{name}(..)`"));
        }
        let places = PLACES.iter().map(|p| p.0);
        match suggest::nearest(name, self.scopes.names().into_iter().chain(places)) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("declare it first, as in `let {name} = ..`")),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &'a Expr, expr: &'a Expr) -> Draft<'a> {
        let draft = self.infer(operand);
        match (op, draft.kind) {
            (UnaryOp::Neg, DraftKind::Int(value)) => {
                Draft { class: draft.class, kind: DraftKind::Int(-value), source: expr }
            }
            (UnaryOp::Neg, DraftKind::Float { digits, negative }) => {
                Draft { class: draft.class, kind: DraftKind::Float { digits, negative: !negative }, source: expr }
            }
            (UnaryOp::Neg, kind) => {
                let draft = Draft { kind, ..draft };
                self.apply(Operator::Neg, "-", expr.span, vec![draft], expr)
            }
            (UnaryOp::Not, kind) => {
                let draft = Draft { kind, ..draft };
                self.apply(Operator::Not, "!", expr.span, vec![draft], expr)
            }
        }
    }

    /// `&&` and `||`.
    fn either(&mut self, both: bool, x: &'a Expr, y: &'a Expr, expr: &'a Expr) -> Draft<'a> {
        let sign = if both { "&&" } else { "||" };
        let [x, y] = [x, y].map(|e| {
            let draft = self.infer(e);
            Box::new(self.settle(draft, Ty::Bool, Why::Operand(sign)))
        });
        let kind = if both { typed::ExprKind::AndThen(x, y) } else { typed::ExprKind::OrElse(x, y) };
        Draft::done(Ty::Bool, kind, expr)
    }

    /// An operator of the table on drafts, as many as it takes.
    pub(super) fn apply(
        &mut self,
        operator: Operator,
        sign: &str,
        span: Span,
        mut args: Vec<Draft<'a>>,
        expr: &'a Expr,
    ) -> Draft<'a> {
        if args.iter().any(|a| a.class == Class::Wrong) {
            return Draft::wrong(expr);
        }
        let row = operator.row();
        if row.signature == Signature::Select {
            return self.select(sign, span, args, expr);
        }
        let beside = matches!(operator, Operator::Shl | Operator::Shr | Operator::Powi);
        let second = if beside { args.pop() } else { None };
        let Some(class) = self.joined(&args, sign, span) else { return Draft::wrong(expr) };
        let ty = class.natural();
        if !row.domain.has(ty) {
            let diagnostic = self.outside_domain(operator, sign, &args[0], ty, span);
            return self.refuse(expr, diagnostic);
        }
        if row.signature == Signature::Test {
            let args: Vec<typed::Expr> = args.into_iter().map(|a| self.settle(a, ty, Why::Operand(sign))).collect();
            self.always(operator, &args, span);
            return Draft::done(Ty::Bool, typed::ExprKind::Apply(operator, args), expr);
        }
        let kind = match (second, operator) {
            (Some(second), Operator::Powi) => {
                let exponent = self.settle(second, Ty::I32, Why::Exponent);
                DraftKind::Beside(operator, Box::new(args.remove(0)), Box::new(exponent))
            }
            (Some(second), _) => {
                if !second.class.natural().is_int() {
                    let found = second.class.natural();
                    let message = format!("`{sign}` shifts by a number of bits, but this is {found}");
                    let cure = format!("write `{} as i32`", echo::operand(second.source));
                    let diagnostic = Diagnostic::error(rules::MISMATCH, second.span(), message).help(cure);
                    return self.refuse(expr, diagnostic);
                }
                let amount = self.settle_naturally(second);
                DraftKind::Beside(operator, Box::new(args.remove(0)), Box::new(amount))
            }
            (None, operator) if operator == Operator::Not || operator.sees_width() => {
                DraftKind::Rigid(operator, Box::new(args.remove(0)))
            }
            (None, _) => DraftKind::Apply(operator, args),
        };
        Draft { class, kind, source: expr }
    }

    fn select(&mut self, sign: &str, span: Span, mut args: Vec<Draft<'a>>, expr: &'a Expr) -> Draft<'a> {
        let cond = args.remove(0);
        let cond = self.settle(cond, Ty::Bool, Why::Condition("`select`"));
        let Some(class) = self.joined(&args, sign, span) else { return Draft::wrong(expr) };
        let (Some(otherwise), Some(then)) = (args.pop(), args.pop()) else { return Draft::wrong(expr) };
        Draft { class, kind: DraftKind::Select(Box::new(cond), Box::new([then, otherwise])), source: expr }
    }

    /// What the operands can be together.
    fn joined(&mut self, args: &[Draft<'a>], sign: &str, span: Span) -> Option<Class> {
        let mut class = args.first()?.class;
        let mut known = &args[0];
        for arg in &args[1..] {
            match class.join(arg.class) {
                Some(both) => {
                    if class != both {
                        known = arg;
                    }
                    class = both;
                }
                None => {
                    let diagnostic = unlike(known, class, arg, &format!("`{sign}`"), span);
                    self.say(diagnostic);
                    return None;
                }
            }
        }
        Some(class)
    }

    fn outside_domain(&self, operator: Operator, sign: &str, arg: &Draft, ty: Ty, span: Span) -> Diagnostic {
        let on = operator.row().domain;
        let message = format!("`{sign}` is defined on {on}, but this is {ty}");
        let source = echo::operand(arg.source);
        let help = match (&arg.kind, ty) {
            (DraftKind::Int(value), _) => format!("write `{value}.0`"),
            (_, Ty::Bool) => format!("write `{source} as i32`"),
            (_, ty) if ty.is_int() => format!("write `{source} as f32`"),
            _ => format!("write `{source} as i32`"),
        };
        Diagnostic::error(rules::OPERAND, span, message).related(arg.span(), ty.name()).help(help)
    }

    /// Unsigned numbers and positions are never below zero.
    fn always(&mut self, operator: Operator, args: &[typed::Expr], span: Span) {
        let [x, y] = args else { return };
        let never_negative = |e: &typed::Expr| match &e.kind {
            typed::ExprKind::Place(..) | typed::ExprKind::Extent(..) => true,
            _ => matches!(e.ty, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64),
        };
        let zero = |e: &typed::Expr| matches!(e.kind, typed::ExprKind::Const(v) if v.ty.is_int() && v.as_int() == 0);
        let outcome = match operator {
            Operator::Ge if never_negative(x) && zero(y) => true,
            Operator::Lt if never_negative(x) && zero(y) => false,
            Operator::Le if zero(x) && never_negative(y) => true,
            Operator::Gt if zero(x) && never_negative(y) => false,
            _ => return,
        };
        let message = format!("this is always {outcome}: the number is never below zero");
        let help = if outcome { "leave the comparison out" } else { "leave out what depends on it" };
        self.say(Diagnostic::warning(rules::ALWAYS, span, message).help(help));
    }

    fn field(&mut self, of: &'a Expr, field: &'a Name, expr: &'a Expr) -> Draft<'a> {
        let ExprKind::Name(name) = &of.kind else {
            let draft = self.infer(of);
            return if draft.class == Class::Wrong { Draft::wrong(expr) } else { self.no_field(field, expr) };
        };
        if self.scopes.find(name).is_some() {
            if self.is_wrong_name(of) {
                return Draft::wrong(expr);
            }
            return self.no_field(field, expr);
        }
        if let Some(value) = number::constant(&format!("{name}::{}", field.text)) {
            return Draft::done(value.ty, typed::ExprKind::Const(value), expr);
        }
        let Some(&(_, place)) = PLACES.iter().find(|p| p.0 == name) else {
            let diagnostic = self.unknown_name(name, of.span);
            return self.refuse(expr, diagnostic);
        };
        if name == "subgroup" {
            let place = match &field.text[..] {
                "lane" => Place::Lane,
                "size" => Place::SubgroupSize,
                _ => {
                    let message = format!("a subgroup has no `{}`", field.text);
                    let help = "it has `subgroup.lane` and `subgroup.size`";
                    return self.refuse(expr, Diagnostic::error(rules::FIELD, field.span, message).help(help));
                }
            };
            return Draft::done(Ty::I64, typed::ExprKind::Place(place, 0), expr);
        }
        let Some(dimension) = ["x", "y", "z"].iter().position(|d| *d == field.text) else {
            let message = format!("`{name}` has no `{}`", field.text);
            let help = format!("the dimensions are `{name}.x`, `{name}.y` and `{name}.z`");
            return self.refuse(expr, Diagnostic::error(rules::FIELD, field.span, message).help(help));
        };
        let place = place.unwrap_or_else(|| self.thread(expr.span));
        Draft::done(Ty::I64, typed::ExprKind::Place(place, dimension as u8), expr)
    }

    /// What `thread` means here; the rule is told at its first use where it is not the usual.
    fn thread(&mut self, span: Span) -> Place {
        if !self.inside_block {
            return Place::Global;
        }
        if !self.noted_thread {
            self.noted_thread = true;
            let message = "this kernel reads `block`, so `thread` is the index inside the block";
            let help = "`local` is always the index inside the block, `global` the one in the whole grid";
            self.say(Diagnostic::note(rules::THREAD_INDEX, span, message).help(help));
        }
        Place::Local
    }

    fn no_field(&mut self, field: &Name, expr: &'a Expr) -> Draft<'a> {
        let message = format!("there is no field `{}`: values are numbers and bool", field.text);
        let help = match &field.text[..] {
            "len" | "length" | "size" | "shape" => {
                "the elements of a tensor are counted by `.len()`, those of an axis by `.dim(0)`"
            }
            _ => "only places such as `thread.x` have fields",
        };
        self.refuse(expr, Diagnostic::error(rules::FIELD, field.span, message).help(help))
    }

    /// `x[i]`, `x[i, j]`, `x[i][j]`: the memory and its indices, or nothing after an error.
    pub(super) fn element(&mut self, expr: &'a Expr) -> Option<Element> {
        let mut lists = vec![];
        let mut base = expr;
        while let ExprKind::Index(of, index) = &base.kind {
            lists.push(index);
            base = of;
        }
        let mut written: Vec<&'a Expr> = vec![];
        for list in lists.into_iter().rev() {
            for index in list {
                match &index.kind {
                    ExprKind::Tuple(parts) => written.extend(parts),
                    _ => written.push(index),
                }
            }
        }
        let index: Vec<typed::Expr> = written
            .into_iter()
            .map(|e| {
                let draft = self.infer(e);
                self.settle(draft, Ty::I64, Why::Index)
            })
            .collect();
        let Some(memory) = self.memory_named(base).cloned() else {
            self.not_indexable(base);
            return None;
        };
        if index.len() != memory.rank {
            let wants = if memory.rank == 1 { "one index".into() } else { format!("{} indices", memory.rank) };
            let message = format!("`{}` wants {wants}, found {}", memory.name, index.len());
            let mut help = format!("write `{}`", self.dialect.element(&memory.name, memory.rank));
            if memory.origin == (Origin::Tensor { flat: true }) && index.len() <= 4 && !index.is_empty() {
                let ty = self.dialect.tensor(memory.elem, Some(index.len()), memory.mutable);
                help += &format!(" with the position in row-major order, or declare it as `{ty}`");
            }
            let diagnostic = Diagnostic::error(rules::RANK, expr.span, message).related(memory.span, "declared here");
            self.say(diagnostic.help(help));
            return None;
        }
        self.constant_index(&memory, &index);
        Some(Element { memory, index })
    }

    fn not_indexable(&mut self, base: &'a Expr) {
        if self.is_wrong_name(base) {
            self.marks.broken = true;
            return;
        }
        let draft = self.infer(base);
        if draft.class != Class::Wrong {
            let message = "only tensors and arrays have elements";
            let help = "index a tensor parameter or an array";
            self.say(Diagnostic::error(rules::RANK, base.span, message).label(draft.class.to_string()).help(help));
        }
    }

    fn constant_index(&mut self, memory: &Memory, index: &[typed::Expr]) {
        for (axis, index) in index.iter().enumerate() {
            let Some(value) = self.constant(index).map(Scalar::as_int) else { continue };
            let extent = memory.shape.as_ref().and_then(|s| s.get(axis)).copied();
            let inside = value >= 0 && extent.is_none_or(|n| value < i128::from(n));
            if !inside {
                let message = match extent {
                    Some(n) => format!("index {value} is outside of `{}`, which has {n} elements there", memory.name),
                    None => format!("index {value} is outside of `{}`: indices start at 0", memory.name),
                };
                let help = match extent {
                    Some(n) => format!("use 0 to {}", n.saturating_sub(1)),
                    None => "use an index from 0 on".into(),
                };
                let diagnostic = Diagnostic::error(rules::BOUNDS, index.span, message);
                self.say(diagnostic.related(memory.span, "declared here").help(help));
            }
        }
    }

    fn cast(&mut self, operand: &'a Expr, ty: &'a TypeExpr, expr: &'a Expr) -> Draft<'a> {
        let Some(to) = self.scalar_type(ty) else {
            self.infer(operand);
            return Draft::wrong(expr);
        };
        self.cast_to(operand, to, expr)
    }

    /// A written conversion: the operand as it is, then the other type.
    pub(super) fn cast_to(&mut self, operand: &'a Expr, to: Ty, expr: &'a Expr) -> Draft<'a> {
        let draft = self.infer(operand);
        let inner = match draft.kind {
            DraftKind::Wrong => return Draft::wrong(expr),
            // The value is the same, and the conversion often cheaper.
            DraftKind::Param(local, ty) => typed::Expr { ty, kind: typed::ExprKind::Local(local), span: operand.span },
            // Written narrowing: `-1 as u32` is all ones.
            DraftKind::Int(value) if draft.class == Class::Int && to.is_int() => {
                let own = if value > i128::from(i64::MAX) { Ty::U64 } else { Ty::I64 };
                let inner = self.settle(draft, own, Why::Index);
                return Draft::done(to, converted(inner, to).kind, expr);
            }
            _ if draft.class.fits(to) && matches!(draft.class, Class::Int | Class::Float) => {
                self.settle(draft, to, Why::Index)
            }
            _ => self.settle_naturally(draft),
        };
        Draft::done(to, converted(inner, to).kind, expr)
    }

    fn if_value(&mut self, cond: &'a Expr, then: &'a Block, otherwise: Option<&'a Block>, expr: &'a Expr) -> Draft<'a> {
        let cond = self.condition(cond, "`if`");
        let (then, then_ended) = self.value_block(then);
        let Some(otherwise) = otherwise else {
            return self.refuse(expr, no_else(expr.span));
        };
        let (otherwise, otherwise_ended) = self.value_block(otherwise);
        for (branch, ended) in [(&then, then_ended), (&otherwise, otherwise_ended)] {
            if branch.value.is_none() && !ended {
                return self.refuse(expr, branch_without_value(expr.span));
            }
        }
        let class = match (&then.value, &otherwise.value) {
            (Some(x), Some(y)) => match x.class.join(y.class) {
                Some(class) => class,
                None => {
                    let diagnostic = unlike(x, x.class, y, "the branches", expr.span);
                    return self.refuse(expr, diagnostic);
                }
            },
            (Some(value), None) | (None, Some(value)) => value.class,
            (None, None) => {
                return self.refuse(expr, both_leave(expr.span));
            }
        };
        if class == Class::Wrong {
            return Draft::wrong(expr);
        }
        Draft { class, kind: DraftKind::If { cond: Box::new(cond), then, otherwise }, source: expr }
    }

    /// Statements and the value behind them; whether the statements leave.
    fn value_block(&mut self, block: &'a Block) -> (Branch<'a>, bool) {
        self.scopes.open();
        let (stmts, value) = with_value(block);
        let (stmts, ended) = self.statements(stmts);
        let value = value.map(|value| Box::new(self.infer(value)));
        self.scopes.close();
        let ended = ended && value.is_none();
        (Branch { stmts, value }, ended)
    }

    pub(super) fn condition(&mut self, cond: &'a Expr, of: &str) -> typed::Expr {
        let draft = self.infer(cond);
        if draft.class == Class::Wrong {
            return nothing(Ty::Bool, cond.span);
        }
        self.settle(draft, Ty::Bool, Why::Condition(of))
    }

    /// The elements of a memory, or of one of its axes.
    pub(super) fn extent(&self, memory: &Memory, axis: Option<usize>) -> typed::ExprKind {
        match (&memory.shape, axis) {
            (Some(shape), Some(axis)) => typed::ExprKind::Const(Scalar::i64(shape.get(axis).map_or(0, |&n| n as i64))),
            (Some(shape), None) => typed::ExprKind::Const(Scalar::i64(shape.iter().product::<u64>() as i64)),
            (None, _) => typed::ExprKind::Extent(memory.memory, axis.map(|a| a as u8)),
        }
    }
}

/// The statements of a block and its value. A last expression is the value, however it is written: in .vex files nothing tells
/// the two apart.
pub(super) fn with_value(block: &Block) -> (&[Stmt], Option<&Expr>) {
    match (&block.value, block.stmts.split_last()) {
        (Some(value), _) => (&block.stmts[..], Some(&**value)),
        (None, Some((Stmt { kind: StmtKind::Expr(value), .. }, stmts))) => (stmts, Some(value)),
        (None, _) => (&block.stmts[..], None),
    }
}

pub(super) fn no_else(span: Span) -> Diagnostic {
    let message = "this `if` has no `else`, so it has no value";
    Diagnostic::error(rules::NOT_A_VALUE, span, message).help("add an `else` with a value")
}

pub(super) fn branch_without_value(span: Span) -> Diagnostic {
    let message = "a branch of this `if` has no value";
    let help = "let both branches end in a value, or assign to a variable in each";
    Diagnostic::error(rules::NOT_A_VALUE, span, message).help(help)
}

pub(super) fn both_leave(span: Span) -> Diagnostic {
    let message = "both branches leave, so this has no value";
    Diagnostic::error(rules::NOT_A_VALUE, span, message).help("write the `if` as a statement")
}

/// Two operands that no type holds together.
pub(super) fn unlike(x: &Draft, x_class: Class, y: &Draft, of: &str, span: Span) -> Diagnostic {
    let a = x_class.natural();
    let b = y.class.natural();
    let message = format!("{of} of {x_class} and {}: no conversion between them is made by itself", y.class);
    let cast = |draft: &Draft, to: Ty| match draft.kind {
        DraftKind::Int(value) if to.is_float() => format!("write `{value}.0`"),
        _ => format!("write `{} as {to}`", echo::operand(draft.source)),
    };
    let help = if a.is_float() && b.is_int() {
        cast(y, a)
    } else if b.is_float() && a.is_int() {
        cast(x, b)
    } else if a == Ty::Bool || b == Ty::Bool {
        let (number, _) = if a == Ty::Bool { (y, x) } else { (x, y) };
        format!("compare the number: `{}`", echo::differs(number.source, number.class.natural()))
    } else if a == Ty::U64 {
        cast(x, Ty::I64)
    } else if b == Ty::U64 {
        cast(y, Ty::I64)
    } else if a.bytes() >= b.bytes() {
        cast(y, a)
    } else {
        cast(x, b)
    };
    Diagnostic::error(rules::MISMATCH, span, message)
        .related(x.span(), x_class.to_string())
        .related(y.span(), y.class.to_string())
        .help(help)
}
