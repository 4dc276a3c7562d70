//! One function being checked.

use super::draft::{Class, Draft, DraftKind};
use super::reach::{Instance, Reached};
use super::scope::{Entity, Kind, Memory, Scopes, Variable};
use super::{Dialect, Names};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{self, Name};
use crate::typed::{self, Local, LocalId};
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashMap;

/// The most levels of an expression whose value is worked out.
const MAX_FOLDED: usize = 64;

/// What a function takes and gives, as far as its signature is right.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub params: Vec<(Name, ParamType)>,
    pub result: ResultType,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ParamType {
    Scalar(Ty),
    Tensor {
        elem: Ty,
        rank: usize,
        flat: bool,
        mutable: bool,
    },
    /// An error was told.
    Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultType {
    None,
    Scalar(Ty),
    /// An error was told.
    Wrong,
}

/// A loop around the code that is looked at.
#[derive(Default)]
pub(super) struct LoopSeen {
    pub breaks: bool,
}

/// What the typed tree does not keep and later checks want.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Where the barriers are, in the order they have in the tree.
    pub barriers: Vec<Span>,
    /// Where the arrays are declared.
    pub arrays: Vec<Span>,
    /// Errors were told about it.
    pub broken: bool,
}

/// One function being checked.
pub(super) struct Body<'c, 'a> {
    pub dialect: Dialect,
    pub names: &'c Names<'a>,
    pub reached: &'c Reached,
    pub ids: &'c HashMap<Instance, typed::FunctionId>,
    pub signature: &'c Signature,
    pub function: &'a syntax::Function,
    pub inside_block: bool,
    pub scopes: Scopes,
    pub locals: Vec<Local>,
    pub arrays: Vec<typed::Array>,
    pub loops: Vec<LoopSeen>,
    pub marks: Marks,
    pub noted_thread: bool,
    /// The code behind what leaves the block was spoken of.
    pub told_unreachable: bool,
    /// Values of locals that can have no other.
    pub constants: HashMap<LocalId, Scalar>,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Body<'_, 'a> {
    pub(super) fn say(&mut self, diagnostic: Diagnostic) {
        self.marks.broken |= diagnostic.is_error();
        self.diagnostics.push(diagnostic);
    }

    /// Says it, and gives a draft that nobody complains about any more.
    pub(super) fn refuse(&mut self, source: &'a syntax::Expr, diagnostic: Diagnostic) -> Draft<'a> {
        self.say(diagnostic);
        Draft::wrong(source)
    }

    pub(super) fn local(&mut self, name: &str, ty: Ty) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local { name: name.to_string(), ty });
        id
    }

    /// A new scalar with a name that can be seen from here on.
    pub(super) fn declare(&mut self, name: &Name, ty: Ty, kind: Kind, found: Option<Class>) -> LocalId {
        let local = self.local(&name.text, ty);
        let variable = Variable { local, ty, kind, span: name.span, found };
        self.scopes.declare(&name.text, Entity::Variable(variable));
        local
    }

    /// The value of an expression that is the same whenever it is computed.
    pub(super) fn constant(&self, expr: &typed::Expr) -> Option<Scalar> {
        self.folded(expr, 0)
    }

    fn folded(&self, expr: &typed::Expr, depth: usize) -> Option<Scalar> {
        use typed::ExprKind;
        // Nobody writes sizes that nest so deep.
        if depth > MAX_FOLDED {
            return None;
        }
        let inner = |e: &typed::Expr| self.folded(e, depth + 1);
        match &expr.kind {
            ExprKind::Const(value) => Some(*value),
            ExprKind::Local(local) => self.constants.get(local).copied(),
            ExprKind::Cast(x) => Some(inner(x)?.cast(expr.ty)),
            ExprKind::Bitcast(x) => Some(Scalar::from_bits(expr.ty, inner(x)?.bits)),
            ExprKind::Apply(operator, args) => {
                let args: Option<Vec<Scalar>> = args.iter().map(inner).collect();
                operator.eval(&args?)
            }
            ExprKind::AndThen(x, y) => Some(Scalar::bool(inner(x)?.is_true() && inner(y)?.is_true())),
            ExprKind::OrElse(x, y) => Some(Scalar::bool(inner(x)?.is_true() || inner(y)?.is_true())),
            ExprKind::Place(..)
            | ExprKind::Extent(..)
            | ExprKind::Load(..)
            | ExprKind::Atomic { .. }
            | ExprKind::Subgroup(..)
            | ExprKind::Call(..)
            | ExprKind::If { .. } => None,
        }
    }

    /// The memory an expression names, with or without a borrow around it.
    pub(super) fn memory_named(&self, expr: &syntax::Expr) -> Option<&Memory> {
        match &expr.kind {
            syntax::ExprKind::Name(name) => match self.scopes.find(name)? {
                Entity::Memory(memory) => Some(memory),
                Entity::Variable(_) | Entity::Constant(..) | Entity::Wrong => None,
            },
            syntax::ExprKind::Borrow(_, inner) => self.memory_named(inner),
            _ => None,
        }
    }

    /// Is it a name that was declared with an error?
    pub(super) fn is_wrong_name(&self, expr: &syntax::Expr) -> bool {
        match &expr.kind {
            syntax::ExprKind::Name(name) => matches!(self.scopes.find(name), Some(Entity::Wrong)),
            syntax::ExprKind::Borrow(_, inner) | syntax::ExprKind::Index(inner, _) => self.is_wrong_name(inner),
            syntax::ExprKind::Wrong => true,
            _ => false,
        }
    }

    /// A draft of a name's value.
    pub(super) fn variable(&self, variable: &Variable, source: &'a syntax::Expr) -> Draft<'a> {
        let reads_wide = variable.kind == Kind::Param && widens_to_positions(variable.ty);
        if reads_wide {
            let kind = DraftKind::Param(variable.local, variable.ty);
            return Draft { class: Class::Param(variable.ty), kind, source };
        }
        Draft::done(variable.ty, typed::ExprKind::Local(variable.local), source)
    }
}

/// Integers that read as `i64` where they are parameters; `u64` does not fit there and stays what it is.
fn widens_to_positions(ty: Ty) -> bool {
    ty.is_int() && ty != Ty::I64 && ty != Ty::U64
}
