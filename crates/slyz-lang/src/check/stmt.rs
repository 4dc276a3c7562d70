//! Statements: assignments, branches, loops, and what leaves them.

use super::body::{Body, LoopSeen, ParamType, ResultType};
use super::call::Called;
use super::declare::Let;
use super::draft::{Class, Draft};
use super::expr::Element;
use super::scope::{Entity, Kind, Memory, Variable};
use super::settle::{Why, nothing};
use super::{echo, forbid, loops, rules};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{self, BinaryOp, Block, Expr, ExprKind, Name, StmtKind};
use crate::typed::{self, MemoryRef, Stmt, inside};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};

impl<'a> Body<'_, 'a> {
    /// Statements in order; true when the end of them is not reached.
    pub(super) fn statements(&mut self, stmts: &'a [syntax::Stmt]) -> (Vec<Stmt>, bool) {
        let mut made = vec![];
        let mut ended = false;
        self.told_unreachable = false;
        for (k, stmt) in stmts.iter().enumerate() {
            if ended {
                self.unreachable(stmt.span);
                // It is checked all the same, but nothing is made of it.
                let barriers = self.marks.barriers.len();
                for rest in &stmts[k..] {
                    self.statement(rest);
                }
                self.marks.barriers.truncate(barriers);
                self.told_unreachable = true;
                break;
            }
            let (mut new, leaves) = self.statement(stmt);
            made.append(&mut new);
            ended = leaves;
        }
        (made, ended)
    }

    fn unreachable(&mut self, span: Span) {
        let diagnostic = Diagnostic::warning(rules::UNREACHABLE, span, "no thread gets here");
        self.say(diagnostic.help("remove it, or what leaves before it"));
    }

    fn unreachable_value(&mut self, value: &'a Expr) {
        if !self.told_unreachable {
            self.unreachable(value.span);
        }
    }

    /// A block for what it does.
    pub(super) fn block(&mut self, block: &'a Block) -> (Vec<Stmt>, bool) {
        self.scopes.open();
        let (mut made, mut ended) = self.statements(&block.stmts);
        if let Some(value) = &block.value {
            if ended {
                self.unreachable_value(value);
            } else {
                let (mut new, leaves) = self.expression(value);
                made.append(&mut new);
                ended = leaves;
            }
        }
        self.scopes.close();
        (made, ended)
    }

    /// The body of a function: its value, if it has one, is returned.
    pub(super) fn function_body(&mut self, block: &'a Block) -> Vec<Stmt> {
        let (made, ended) = self.returning(block);
        let ResultType::Scalar(ty) = self.signature.result else { return made };
        if !ended {
            let name = &self.function.name;
            let message = format!("`{}` gives {ty}, but not on every road", name.text);
            let span = self.function.result.as_ref().map_or(name.span, |r| r.span);
            let diagnostic = Diagnostic::error(rules::MISSING_RETURN, span, message);
            self.say(diagnostic.help("end it with `return` and a value"));
        }
        made
    }

    /// A block whose value is the function's.
    fn returning(&mut self, block: &'a Block) -> (Vec<Stmt>, bool) {
        if self.signature.result == ResultType::None {
            return self.block(block);
        }
        self.scopes.open();
        let (mut made, mut ended) = self.statements(&block.stmts);
        match &block.value {
            Some(value) if ended => self.unreachable_value(value),
            Some(value) => {
                let (mut new, leaves) = self.returned_value(value);
                made.append(&mut new);
                ended = leaves;
            }
            None => {}
        }
        self.scopes.close();
        (made, ended)
    }

    fn returned_value(&mut self, value: &'a Expr) -> (Vec<Stmt>, bool) {
        if let ExprKind::If { cond, then, otherwise: Some(otherwise) } = &value.kind {
            let cond = self.condition(cond, "`if`");
            let (then, then_ended) = self.returning(then);
            let (otherwise, otherwise_ended) = self.returning(otherwise);
            return (vec![Stmt::If { cond, then, otherwise }], then_ended && otherwise_ended);
        }
        if let ExprKind::If { otherwise: None, .. } = value.kind {
            return self.expression(value);
        }
        (self.return_value(value), true)
    }

    fn return_value(&mut self, value: &'a Expr) -> Vec<Stmt> {
        // Tensors and tuples for results were refused in the signature.
        let whole = matches!(value.kind, ExprKind::Tuple(_)) || self.memory_named(value).is_some();
        if self.signature.result == ResultType::Wrong && whole {
            return vec![Stmt::Return(None)];
        }
        let draft = self.infer(value);
        let function = self.function;
        match self.signature.result {
            ResultType::Scalar(ty) => {
                if draft.class == Class::Wrong {
                    return vec![Stmt::Return(Some(nothing(ty, value.span)))];
                }
                let span = function.result.as_ref().map_or(function.name.span, |r| r.span);
                let value = self.settle(draft, ty, Why::Returned(&function.name.text, span));
                vec![Stmt::Return(Some(value))]
            }
            ResultType::Wrong => vec![Stmt::Return(None)],
            ResultType::None => {
                if draft.class != Class::Wrong {
                    let message = format!("`{}` gives nothing, so `return` has no value here", function.name.text);
                    let help = "write it to a mutable tensor and return without a value; or give the function a result";
                    let diagnostic = Diagnostic::error(rules::RETURN_VALUE, value.span, message);
                    self.say(diagnostic.related(function.name.span, "declared without a result").help(help));
                }
                vec![Stmt::Return(None)]
            }
        }
    }

    /// One statement; true when what follows it is not reached.
    fn statement(&mut self, stmt: &'a syntax::Stmt) -> (Vec<Stmt>, bool) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { space, mutable, name, ty, value } => {
                let ty = ty.as_ref();
                let value = value.as_ref();
                let item = Let { space: *space, mutable: *mutable, name, ty, value, span };
                (self.declaration(item), false)
            }
            StmtKind::LetTuple { pattern, ty, value } => (self.tuple_let(pattern, ty.as_ref(), value), false),
            StmtKind::Assign { target, operator, value } => (self.assign(target, *operator, value), false),
            StmtKind::Expr(expr) => self.expression(expr),
            StmtKind::For { name, lo, hi, inclusive, step, body } => {
                (self.for_loop(name, [lo, hi], *inclusive, step.as_ref(), body), false)
            }
            StmtKind::While { cond, body } => self.while_loop(cond, body, span),
            StmtKind::Break => (self.leave_loop("break", span).into_iter().collect(), true),
            StmtKind::Continue => (self.leave_loop("continue", span).into_iter().collect(), true),
            StmtKind::Return(Some(value)) => (self.return_value(value), true),
            StmtKind::Return(None) => {
                if let ResultType::Scalar(ty) = self.signature.result {
                    let message = format!("`{}` gives {ty}, so `return` wants a value", self.function.name.text);
                    let diagnostic = Diagnostic::error(rules::RETURN_VALUE, span, message);
                    self.say(diagnostic.help("write `return` with the value behind it"));
                }
                (vec![Stmt::Return(None)], true)
            }
            StmtKind::Print(_) => {
                self.say(forbid::host("print", span));
                (vec![], false)
            }
            StmtKind::Wrong => {
                self.marks.broken = true;
                (vec![], false)
            }
        }
    }

    fn leave_loop(&mut self, word: &str, span: Span) -> Option<Stmt> {
        let Some(innermost) = self.loops.last_mut() else {
            let message = format!("`{word}` outside of a loop");
            self.say(
                Diagnostic::error(rules::OUTSIDE_LOOP, span, message).help("to end this thread early write `return`"),
            );
            return None;
        };
        if word == "continue" {
            return Some(Stmt::Continue);
        }
        innermost.breaks = true;
        Some(Stmt::Break)
    }

    /// An expression for what it does.
    fn expression(&mut self, expr: &'a Expr) -> (Vec<Stmt>, bool) {
        match &expr.kind {
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.condition(cond, "`if`");
                let (then, then_ended) = self.block(then);
                let (otherwise, otherwise_ended) = match otherwise {
                    Some(block) => self.block(block),
                    None => (vec![], false),
                };
                (vec![Stmt::If { cond, then, otherwise }], then_ended && otherwise_ended)
            }
            ExprKind::Call { function, ty, args } => match self.any_call(function, ty.as_ref(), args, expr) {
                Called::Nothing(call) => (call.map(Stmt::Expr).into_iter().collect(), false),
                // What writes is called for that; its value may be of no interest.
                Called::Value(draft) if draft.class != Class::Wrong && self.writes(&function.text) => {
                    (vec![Stmt::Expr(self.settle_naturally(draft))], false)
                }
                Called::Value(draft) => (self.forgotten(draft), false),
            },
            ExprKind::Method { receiver, name, args, .. } => match self.meeting(receiver, name, args) {
                Some(made) => (made, false),
                None => {
                    let draft = self.method(receiver, name, args, expr);
                    (self.forgotten(draft), false)
                }
            },
            _ => {
                let draft = self.infer(expr);
                (self.forgotten(draft), false)
            }
        }
    }

    /// Does a function of the file write to its parameters?
    fn writes(&self, function: &str) -> bool {
        let signature = self.names.by_name.get(function).map(|&number| &self.names.signatures[number]);
        let written = |(_, ty): &(Name, ParamType)| matches!(ty, ParamType::Tensor { mutable: true, .. });
        signature.is_some_and(|signature| signature.params.iter().any(written))
    }

    /// A value that nobody takes. Atomics are for what they do; of other values it is said.
    fn forgotten(&mut self, draft: Draft<'a>) -> Vec<Stmt> {
        if draft.class == Class::Wrong {
            return vec![];
        }
        let expr = self.settle_naturally(draft);
        if !matches!(expr.kind, typed::ExprKind::Atomic { .. }) {
            let help = "give it a name, as in `let y = ..`, or store it";
            let diagnostic = Diagnostic::warning(rules::UNUSED, expr.span, "this value is computed and forgotten");
            self.say(diagnostic.help(help));
        }
        if inside::has_effect(&expr) { vec![Stmt::Expr(expr)] } else { vec![] }
    }

    /// A value that nobody is to take.
    pub(super) fn forgotten_on_purpose(&mut self, draft: Draft<'a>) -> Vec<Stmt> {
        let expr = self.settle_naturally(draft);
        if inside::has_effect(&expr) { vec![Stmt::Expr(expr)] } else { vec![] }
    }

    fn assign(&mut self, target: &'a Expr, operator: Option<BinaryOp>, value: &'a Expr) -> Vec<Stmt> {
        let made = match &target.kind {
            ExprKind::Name(name) if name == "_" => self.ignore(operator, target, value),
            ExprKind::Name(name) => self.assign_name(name, target, operator, value),
            ExprKind::Tuple(_) => self.tuple_assign(target, operator, value),
            ExprKind::Index(..) => self.assign_element(target, operator, value),
            ExprKind::Wrong => None,
            _ => {
                self.say(not_assignable(target));
                self.infer(value);
                return vec![];
            }
        };
        made.unwrap_or_else(|| {
            self.marks.broken = true;
            vec![]
        })
    }

    fn assign_name(
        &mut self,
        name: &'a str,
        target: &'a Expr,
        operator: Option<BinaryOp>,
        value: &'a Expr,
    ) -> Option<Vec<Stmt>> {
        let Some(variable) = self.variable_target(name, target) else {
            self.infer(value);
            return None;
        };
        let draft = match operator {
            None => self.infer(value),
            Some(op) => {
                let old = Draft::done(variable.ty, typed::ExprKind::Local(variable.local), target);
                self.combined(op, old, value, Why::Assigned(name, variable.span))
            }
        };
        if draft.class == Class::Wrong {
            return None;
        }
        let value = self.settle(draft, variable.ty, Why::Assigned(name, variable.span));
        Some(vec![Stmt::Set(variable.local, value)])
    }

    /// `_ = value`: computed for what it does.
    fn ignore(&mut self, operator: Option<BinaryOp>, target: &'a Expr, value: &'a Expr) -> Option<Vec<Stmt>> {
        let draft = self.infer(value);
        if operator.is_some() {
            self.say(not_assignable(target));
            return None;
        }
        if draft.class == Class::Wrong {
            return None;
        }
        Some(self.forgotten_on_purpose(draft))
    }

    /// The variable that a name stands for, if it may be assigned to.
    pub(super) fn variable_target(&mut self, name: &str, target: &Expr) -> Option<Variable> {
        let diagnostic = match self.scopes.find(name) {
            Some(Entity::Variable(variable)) if variable.kind == (Kind::Let { mutable: true }) => {
                return Some(*variable);
            }
            Some(Entity::Variable(variable)) => {
                self.read_only(name, variable.kind, target.span).related(variable.span, "declared here")
            }
            Some(Entity::Wrong) => return None,
            Some(Entity::Memory(memory)) => {
                let message = format!("`{name}` is written element by element");
                let diagnostic = Diagnostic::error(rules::ASSIGN, target.span, message);
                diagnostic.related(memory.span, "declared here").help(format!("write `{name}[i] = ..`"))
            }
            Some(Entity::Constant(_, span)) => {
                let diagnostic = Diagnostic::error(rules::READ_ONLY, target.span, format!("`{name}` is a constant"));
                let help = format!("declare it as `{}`", self.dialect.mutable_let(name));
                diagnostic.related(*span, "declared here").help(help)
            }
            None => self.unknown_name(name, target.span),
        };
        self.say(diagnostic);
        None
    }

    /// The element that an expression stands for, if it may be assigned to.
    pub(super) fn element_target(&mut self, target: &'a Expr) -> Option<Element> {
        let element = self.element(target)?;
        if element.memory.mutable {
            return Some(element);
        }
        let Memory { ref name, span, .. } = element.memory;
        let diagnostic = Diagnostic::error(rules::READ_ONLY, target.span, format!("`{name}` is read-only"))
            .related(span, "declared here")
            .help(self.mutable_memory(&element.memory));
        self.say(diagnostic);
        None
    }

    fn read_only(&self, name: &str, kind: Kind, span: Span) -> Diagnostic {
        let declare = self.dialect.mutable_let(name);
        let (message, help) = match kind {
            Kind::Param => {
                (format!("the parameter `{name}` is read-only"), format!("copy it first: `{declare} = {name}`"))
            }
            Kind::Counter => (
                format!("the counter `{name}` is read-only: the loop moves it"),
                "use `while` with a variable of your own".to_string(),
            ),
            Kind::Let { .. } => (format!("`{name}` is read-only"), format!("declare it as `{declare}`")),
        };
        Diagnostic::error(rules::READ_ONLY, span, message).help(help)
    }

    /// `old op value`, as a draft of the target's place.
    fn combined(&mut self, op: BinaryOp, old: Draft<'a>, value: &'a Expr, why: Why) -> Draft<'a> {
        let target = old.source;
        let sign = format!("{}=", echo::sign(op));
        match op {
            BinaryOp::Table(operator) => {
                let ty = old.class.natural();
                let draft = self.infer(value);
                if draft.class == Class::Wrong {
                    return Draft::wrong(target);
                }
                // The value takes the target's type, or is told to; what is wider would not fit behind.
                let beside = matches!(operator, Operator::Shl | Operator::Shr);
                if !beside && !draft.class.fits(ty) && draft.class.join(old.class).is_some() {
                    self.settle(draft, ty, why);
                    return Draft::wrong(target);
                }
                self.apply(operator, &sign, value.span, vec![old, draft], target)
            }
            BinaryOp::AndThen | BinaryOp::OrElse => {
                let draft = self.infer(value);
                let value = self.settle(draft, Ty::Bool, Why::Operand(&sign));
                let old = self.settle(old, Ty::Bool, Why::Operand(&sign));
                let old = Box::new(old);
                let value = Box::new(value);
                let both = op == BinaryOp::AndThen;
                let kind =
                    if both { typed::ExprKind::AndThen(old, value) } else { typed::ExprKind::OrElse(old, value) };
                Draft::done(Ty::Bool, kind, target)
            }
        }
    }

    fn assign_element(&mut self, target: &'a Expr, operator: Option<BinaryOp>, value: &'a Expr) -> Option<Vec<Stmt>> {
        let Some(element) = self.element_target(target) else {
            self.infer(value);
            return None;
        };
        let Memory { memory, elem, span, ref name, .. } = element.memory;
        let mut made = vec![];
        let mut index = element.index;
        let draft = match operator {
            None => self.infer(value),
            Some(op) => {
                // The index is used twice; what it does is done once.
                for part in index.iter_mut().filter(|part| inside::has_effect(part)) {
                    let kept = self.local("index", Ty::I64);
                    let read = typed::Expr { ty: Ty::I64, kind: typed::ExprKind::Local(kept), span: part.span };
                    made.push(Stmt::Set(kept, std::mem::replace(part, read)));
                }
                let old = Draft::done(elem, typed::ExprKind::Load(memory, index.clone()), target);
                self.combined(op, old, value, Why::Element(name, span))
            }
        };
        if draft.class == Class::Wrong {
            return None;
        }
        let value = self.settle(draft, elem, Why::Element(name, span));
        made.push(Stmt::Store { memory, index, value, span: target.span });
        Some(made)
    }

    fn for_loop(
        &mut self,
        name: &'a Name,
        bounds: [&'a Expr; 2],
        inclusive: bool,
        step: Option<&'a Expr>,
        body: &'a Block,
    ) -> Vec<Stmt> {
        let drafts: Vec<Draft> = bounds.into_iter().chain(step).map(|e| self.infer(e)).collect();
        // Loops count in i64, like positions; only u64 does not fit there.
        let unsigned = drafts.iter().any(|d| d.class == Class::Fixed(Ty::U64));
        let ty = if unsigned { Ty::U64 } else { Ty::I64 };
        let mut settled = drafts.into_iter().map(|d| self.settle(d, ty, Why::Bound)).collect::<Vec<_>>().into_iter();
        let (Some(lo), Some(mut hi)) = (settled.next(), settled.next()) else { return vec![] };
        let constant = |value: i128| typed::ExprKind::Const(Scalar::from_int(ty, value));
        let step = match settled.next() {
            Some(step) => {
                self.step(&step);
                step
            }
            None => typed::Expr { ty, kind: constant(1), span: hi.span },
        };
        if inclusive {
            let one = typed::Expr { ty, kind: constant(1), span: hi.span };
            let span = hi.span;
            hi = typed::Expr { ty, kind: typed::ExprKind::Apply(Operator::Add, vec![hi, one]), span };
        }
        self.scopes.open();
        let counter = self.declare(name, ty, Kind::Counter, Some(Class::Fixed(ty)));
        self.loops.push(LoopSeen::default());
        let (body, _) = self.block(body);
        self.loops.pop();
        self.scopes.close();
        vec![Stmt::For { counter, lo, hi, step, body }]
    }

    fn step(&mut self, step: &typed::Expr) {
        if let Some(value) = self.constant(step).map(Scalar::as_int)
            && value < 1
        {
            let message = format!("a step of {value}: loops count upward");
            let help = "count upward, and compute the descending number from the counter";
            self.say(Diagnostic::error(rules::STEP, step.span, message).help(help));
        }
    }

    fn while_loop(&mut self, cond: &'a Expr, body: &'a Block, span: Span) -> (Vec<Stmt>, bool) {
        let cond = self.condition(cond, "`while`");
        self.loops.push(LoopSeen::default());
        let (body, _) = self.block(body);
        let breaks = self.loops.pop().is_some_and(|l| l.breaks);
        let forever = self.constant(&cond).is_some_and(Scalar::is_true);
        let params = &self.signature.params;
        let is_written = |memory: MemoryRef| match memory {
            MemoryRef::Param(k) => {
                !matches!(params.get(k as usize), Some((_, ParamType::Tensor { mutable: false, .. })))
            }
            MemoryRef::Array(_) => true,
        };
        if let Some(why) = loops::never_ends(&cond, &body, (breaks, forever), &is_written) {
            let at = Span { start: span.start, end: cond.span.end.max(span.start) };
            let diagnostic = Diagnostic::warning(rules::UNBOUNDED, at, why);
            self.say(diagnostic.help("end it with `break` or `return`, or count with `for`"));
        }
        let ended = forever && !breaks;
        let mut made = vec![Stmt::While { cond, body }];
        // Nobody gets behind it, but the roads of a function with a result end in `return` all the same.
        if let (true, ResultType::Scalar(ty)) = (ended, self.signature.result) {
            made.push(Stmt::Return(Some(nothing(ty, span))));
        }
        (made, ended)
    }
}

/// Something that is neither a name nor an element.
pub(super) fn not_assignable(target: &Expr) -> Diagnostic {
    let read = matches!(&target.kind, ExprKind::Field(..));
    let message =
        if read { "places are given by the launch; they cannot be assigned to" } else { "this cannot be assigned to" };
    let help = "names and elements can, as in `x = ..` and `out[i] = ..`";
    Diagnostic::error(rules::ASSIGN, target.span, message).help(help)
}
