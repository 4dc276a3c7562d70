//! `let` in all its forms: values, arrays of the thread, of the block, and constants.

use super::body::Body;
use super::draft::{Branch, Class, Draft, DraftKind};
use super::rules;
use super::scope::{Entity, Kind, Memory, Origin};
use super::settle::Why;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind, Name, Space, TypeExpr, TypeKind};
use crate::typed::{self, Array, ArrayId, Home, MemoryRef, Stmt};
use slyz_sir::types::{Scalar, Ty};

/// A `let` as written.
#[derive(Clone, Copy)]
pub(super) struct Let<'a> {
    pub space: Space,
    pub mutable: bool,
    pub name: &'a Name,
    pub ty: Option<&'a TypeExpr>,
    pub value: Option<&'a Expr>,
    pub span: Span,
}

impl<'a> Body<'_, 'a> {
    /// The statements that a declaration comes to.
    pub(super) fn declaration(&mut self, item: Let<'a>) -> Vec<Stmt> {
        let made = match (item.space, is_array(&item)) {
            (Space::Thread, false) => self.value_let(item),
            (Space::Thread, true) => self.array_let(item),
            (Space::Threadgroup, _) => self.threadgroup_let(item),
            (Space::Constant, _) => self.constant_let(item),
        };
        made.unwrap_or_else(|| {
            self.marks.broken = true;
            self.scopes.declare(&item.name.text, Entity::Wrong);
            vec![]
        })
    }

    fn value_let(&mut self, item: Let<'a>) -> Option<Vec<Stmt>> {
        let Let { mutable, name, .. } = item;
        let declared = match item.ty.map(|ty| (ty, &ty.kind)) {
            None => None,
            Some((ty, TypeKind::Tensor { .. })) => {
                if let Some(value) = item.value.filter(|v| self.memory_named(v).is_none()) {
                    self.infer(value);
                }
                let message = "kernels make no tensors; they come in as parameters";
                let help = "use a local array of a fixed length";
                self.say(Diagnostic::error(rules::HEAP, ty.span, message).help(help));
                return None;
            }
            Some((ty, _)) => Some(self.scalar_type(ty)),
        };
        let Some(value) = item.value else {
            let Some(declared) = declared else {
                let message = format!("`{}` has neither a type nor a value", name.text);
                let help = format!("write `{}`", self.dialect.typed_let(mutable, &name.text, "f32"));
                self.say(Diagnostic::error(rules::TYPE, name.span, message).help(help));
                return None;
            };
            let zero = Scalar::from_int(declared?, 0);
            let local = self.declare(name, zero.ty, Kind::Let { mutable }, None);
            let value = typed::Expr { ty: zero.ty, kind: typed::ExprKind::Const(zero), span: item.span };
            return Some(vec![Stmt::Set(local, value)]);
        };
        let draft = self.infer(value);
        let (ty, found) = match declared {
            Some(ty) => (ty?, None),
            None if draft.class == Class::Wrong => return None,
            None => (draft.class.natural(), Some(draft.class).filter(|_| !says_its_type(&draft))),
        };
        let made = match draft.kind {
            DraftKind::If { cond, then, otherwise } if then.value.is_none() || otherwise.value.is_none() => {
                return self.let_or_leave(item, (ty, found), *cond, [then, otherwise]);
            }
            kind => {
                self.settle(Draft { kind, ..draft }, ty, Why::Let(&name.text, item.ty.map_or(name.span, |t| t.span)))
            }
        };
        let constant = if mutable { None } else { self.constant(&made) };
        let local = self.declare(name, ty, Kind::Let { mutable }, found);
        self.constants.extend(constant.map(|c| (local, c)));
        Some(vec![Stmt::Set(local, made)])
    }

    /// `let x = if c { v } else { return }`: each branch sets the name or leaves, so that nothing leaves from inside a value.
    fn let_or_leave(
        &mut self,
        item: Let<'a>,
        (ty, found): (Ty, Option<Class>),
        cond: typed::Expr,
        branches: [Branch<'a>; 2],
    ) -> Option<Vec<Stmt>> {
        let name = &item.name.text;
        let settled = branches.map(|branch| {
            let value = branch.value.map(|v| self.settle(*v, ty, Why::Let(name, item.name.span)));
            (branch.stmts, value)
        });
        let local = self.declare(item.name, ty, Kind::Let { mutable: item.mutable }, found);
        let [then, otherwise] = settled.map(|(mut stmts, value)| {
            stmts.extend(value.map(|v| Stmt::Set(local, v)));
            stmts
        });
        Some(vec![Stmt::If { cond, then, otherwise }])
    }

    fn array(&mut self, item: &Let<'a>, elem: Ty, shape: Vec<u64>, home: Home, mutable: bool) -> ArrayId {
        let id = ArrayId(self.arrays.len() as u32);
        let origin = match &home {
            Home::Thread => Origin::Thread,
            Home::Threadgroup => Origin::Threadgroup,
            Home::Constant(_) => Origin::Constant,
        };
        let name = item.name.text.clone();
        self.arrays.push(Array { name: name.clone(), elem, shape: shape.clone(), home });
        self.marks.arrays.push(item.name.span);
        let memory = MemoryRef::Array(id);
        let rank = shape.len();
        let memory = Memory { name, memory, elem, rank, shape: Some(shape), mutable, origin, span: item.name.span };
        self.scopes.declare(&item.name.text, Entity::Memory(memory));
        id
    }

    fn array_let(&mut self, item: Let<'a>) -> Option<Vec<Stmt>> {
        let ty = match item.ty {
            Some(ty) => Some(self.array_type(ty)?),
            None => None,
        };
        let values = match item.value {
            Some(value) => Some(self.array_value(value)?),
            None => None,
        };
        let (elem, shape) = self.array_shape(&item, ty, values.as_ref())?;
        let span = item.span;
        match values {
            None => {
                let zero = typed::Expr { ty: elem, kind: typed::ExprKind::Const(Scalar::from_int(elem, 0)), span };
                let id = self.array(&item, elem, shape, Home::Thread, item.mutable);
                Some(vec![Stmt::Fill(id, zero)])
            }
            Some(Values::Same(draft, _)) => {
                let value = self.settle(draft, elem, Why::Element(&item.name.text, item.name.span));
                let id = self.array(&item, elem, shape, Home::Thread, item.mutable);
                Some(vec![Stmt::Fill(id, value)])
            }
            Some(Values::Each(drafts, _)) => {
                let name = &item.name.text;
                let settled: Vec<typed::Expr> =
                    drafts.into_iter().map(|d| self.settle(d, elem, Why::Element(name, item.name.span))).collect();
                let id = self.array(&item, elem, shape.clone(), Home::Thread, item.mutable);
                Some(stores(id, &shape, settled))
            }
        }
    }

    /// The type that was written, or that of the values; they have to agree.
    fn array_shape(
        &mut self,
        item: &Let<'a>,
        ty: Option<(Ty, Vec<u64>)>,
        values: Option<&Values<'a>>,
    ) -> Option<(Ty, Vec<u64>)> {
        let found = match values {
            None => return ty,
            Some(values) => values.shape().to_vec(),
        };
        let Some((elem, shape)) = ty else {
            let elem = self.element_class(values?, item)?;
            return Some((elem, found));
        };
        if shape != found {
            let list = |s: &[u64]| s.iter().map(u64::to_string).collect::<Vec<_>>().join(" by ");
            let message = format!(
                "`{}` is declared with {} elements, but here are {}",
                item.name.text,
                list(&shape),
                list(&found)
            );
            let span = item.value.map_or(item.span, |v| v.span);
            let diagnostic = Diagnostic::error(rules::LENGTH, span, message);
            self.say(
                diagnostic.related(item.ty.map_or(item.span, |t| t.span), "declared here").help("make both the same"),
            );
            return None;
        }
        Some((elem, shape))
    }

    fn element_class(&mut self, values: &Values<'a>, item: &Let<'a>) -> Option<Ty> {
        let mut drafts = values.drafts().iter();
        let first = drafts.next()?;
        let mut class = first.class;
        for draft in drafts {
            let Some(both) = class.join(draft.class) else {
                let diagnostic = super::expr::unlike(first, class, draft, "a list", item.span);
                self.say(diagnostic);
                return None;
            };
            class = both;
        }
        (class != Class::Wrong).then(|| class.natural())
    }

    /// The values of an array literal.
    fn array_value(&mut self, value: &'a Expr) -> Option<Values<'a>> {
        match &value.kind {
            ExprKind::Repeat(inner, len) => {
                let len = self.length(len)?;
                let values = match inner.kind {
                    ExprKind::Repeat(..) | ExprKind::Array(_) => self.array_value(inner)?,
                    _ => Values::Same(self.infer(inner), vec![]),
                };
                self.repeated(values, len, value)
            }
            ExprKind::Array(items) => self.listed(items, value),
            _ => {
                let message = "arrays are filled from a list; whole arrays are not copied";
                let help = "declare it with a type and copy it in a loop";
                if self.memory_named(value).is_some() || self.infer(value).class != Class::Wrong {
                    self.say(Diagnostic::error(rules::NOT_A_VALUE, value.span, message).help(help));
                }
                None
            }
        }
    }

    fn repeated(&mut self, values: Values<'a>, len: u64, value: &'a Expr) -> Option<Values<'a>> {
        match values {
            Values::Same(draft, mut shape) => {
                shape.insert(0, len);
                Some(Values::Same(draft, shape))
            }
            Values::Each(..) => {
                let message = "only one value can be repeated";
                let help = "write the rows one by one, or fill the array in a loop";
                self.say(Diagnostic::error(rules::UNSUPPORTED, value.span, message).help(help));
                None
            }
        }
    }

    fn listed(&mut self, items: &'a [Expr], value: &'a Expr) -> Option<Values<'a>> {
        let mut all = vec![];
        let mut inner: Option<Vec<u64>> = None;
        for item in items {
            let (drafts, shape) = match &item.kind {
                ExprKind::Array(_) => match self.array_value(item)? {
                    Values::Each(drafts, shape) => (drafts, shape),
                    Values::Same(..) => return None,
                },
                ExprKind::Repeat(..) => {
                    let message = "a repeated row inside of a list";
                    let help = "write all rows out, or repeat the whole: `[[0.0; 4]; 4]`";
                    self.say(Diagnostic::error(rules::UNSUPPORTED, item.span, message).help(help));
                    return None;
                }
                _ => (vec![self.infer(item)], vec![]),
            };
            if inner.as_ref().is_some_and(|s| *s != shape) {
                let message = "the rows of this list are not equally long";
                self.say(Diagnostic::error(rules::LENGTH, item.span, message).help("give every row as many values"));
                return None;
            }
            inner = Some(shape);
            all.extend(drafts);
        }
        let Some(inner) = inner else {
            let message = "an array has at least one element";
            self.say(Diagnostic::error(rules::LENGTH, value.span, message).help("write its elements, or its type"));
            return None;
        };
        let mut shape = vec![items.len() as u64];
        shape.extend(inner);
        Some(Values::Each(all, shape))
    }

    fn threadgroup_let(&mut self, item: Let<'a>) -> Option<Vec<Stmt>> {
        let name = &item.name.text;
        if let Some(value) = item.value {
            let message = "threadgroup memory starts undefined; it cannot be given a value here";
            let help = "let the threads of the block fill it, and wait at `threadgroup.barrier()` before it is read";
            self.say(Diagnostic::error(rules::THREADGROUP_VALUE, value.span, message).help(help));
        }
        match item.ty {
            Some(ty) if matches!(ty.kind, TypeKind::Array { .. }) => {
                let (elem, shape) = self.array_type(ty)?;
                self.array(&item, elem, shape, Home::Threadgroup, item.mutable);
                Some(vec![])
            }
            Some(ty) => {
                if let TypeKind::Tuple(_) | TypeKind::Other(_) | TypeKind::Wrong = ty.kind {
                    self.scalar_type(ty);
                    return None;
                }
                let elem = if let TypeKind::Scalar(elem) = ty.kind { elem.name() } else { "f32" };
                let message = "threadgroup memory is an array";
                let help = format!("write `{}`", self.dialect.threadgroup(name, &format!("[{elem}; 1]")));
                self.say(Diagnostic::error(rules::THREADGROUP_VALUE, ty.span, message).help(help));
                None
            }
            None => {
                let message = format!("`{name}` in threadgroup memory has no type");
                let help = format!("write `{}`", self.dialect.threadgroup(name, "[f32; 256]"));
                self.say(Diagnostic::error(rules::THREADGROUP_VALUE, item.name.span, message).help(help));
                None
            }
        }
    }

    fn constant_let(&mut self, item: Let<'a>) -> Option<Vec<Stmt>> {
        let name = &item.name.text;
        let Some(value) = item.value else {
            let message = format!("the constant `{name}` has no value");
            let help = format!("write `{}`", self.dialect.constant(name, "f32"));
            self.say(Diagnostic::error(rules::CONSTANT, item.name.span, message).help(help));
            return None;
        };
        if !is_array(&item) {
            let declared = match item.ty {
                Some(ty) => Some(self.scalar_type(ty)?),
                None => None,
            };
            let draft = self.infer(value);
            if draft.class == Class::Wrong {
                return None;
            }
            let ty = declared.unwrap_or(draft.class.natural());
            let settled = self.settle(draft, ty, Why::Let(name, item.name.span));
            let known = self.known(&settled)?;
            self.scopes.declare(name, Entity::Constant(known, item.name.span));
            return Some(vec![]);
        }
        let ty = match item.ty {
            Some(ty) => Some(self.array_type(ty)?),
            None => None,
        };
        let values = self.array_value(value)?;
        let (elem, shape) = self.array_shape(&item, ty, Some(&values))?;
        let count = shape.iter().product::<u64>();
        if count > MOST_CONSTANTS {
            let message = format!("`{name}` has {count} constant elements; {MOST_CONSTANTS} are allowed");
            self.say(Diagnostic::error(rules::CONSTANT, item.name.span, message).help("pass a tensor in"));
            return None;
        }
        let why = Why::Element(name, item.name.span);
        let known: Vec<Scalar> = match values {
            Values::Same(draft, _) => {
                let value = self.settle(draft, elem, why);
                vec![self.known(&value)?; count as usize]
            }
            Values::Each(drafts, _) => {
                let settled: Vec<typed::Expr> = drafts.into_iter().map(|d| self.settle(d, elem, why)).collect();
                let known: Vec<Option<Scalar>> = settled.iter().map(|e| self.known(e)).collect();
                known.into_iter().collect::<Option<Vec<Scalar>>>()?
            }
        };
        self.array(&item, elem, shape, Home::Constant(known), false);
        Some(vec![])
    }

    /// The value of a constant.
    fn known(&mut self, value: &typed::Expr) -> Option<Scalar> {
        let known = self.constant(value);
        if known.is_none() {
            let message = "the value of a constant is known before the kernel runs";
            let help = "use literals and other constants, or a plain `let`";
            self.say(Diagnostic::error(rules::CONSTANT, value.span, message).help(help));
        }
        known
    }
}

/// The most elements of constant arrays: they are part of the program.
const MOST_CONSTANTS: u64 = 65_536;

/// An array literal that was read.
enum Values<'a> {
    Same(Draft<'a>, Vec<u64>),
    Each(Vec<Draft<'a>>, Vec<u64>),
}

impl<'a> Values<'a> {
    fn shape(&self) -> &[u64] {
        match self {
            Values::Same(_, shape) | Values::Each(_, shape) => shape,
        }
    }

    fn drafts(&self) -> &[Draft<'a>] {
        match self {
            Values::Same(draft, _) => std::slice::from_ref(draft),
            Values::Each(drafts, _) => drafts,
        }
    }
}

/// Is an array declared?
pub(super) fn is_array(item: &Let) -> bool {
    let value = item.value.map(|v| &v.kind);
    match item.ty.map(|ty| &ty.kind) {
        Some(TypeKind::Array { .. }) => true,
        Some(_) => false,
        None => matches!(value, Some(ExprKind::Array(_) | ExprKind::Repeat(..))),
    }
}

/// Does the value itself say its type, so that the declaration need not?
pub(super) fn says_its_type(draft: &Draft) -> bool {
    matches!(draft.source.kind, ExprKind::Int(_, Some(_)) | ExprKind::Float(_, Some(_)) | ExprKind::Cast(..))
}

/// Writes each element in turn.
fn stores(id: ArrayId, shape: &[u64], values: Vec<typed::Expr>) -> Vec<Stmt> {
    let position = |flat: usize| {
        let mut rest = flat as u64;
        let mut index: Vec<i64> = shape
            .iter()
            .rev()
            .map(|&n| {
                let at = rest % n.max(1);
                rest /= n.max(1);
                at as i64
            })
            .collect();
        index.reverse();
        index
    };
    let store = |(flat, value): (usize, typed::Expr)| {
        let span = value.span;
        let constant = |at| typed::Expr { ty: Ty::I64, kind: typed::ExprKind::Const(Scalar::i64(at)), span };
        let index = position(flat).into_iter().map(constant).collect();
        Stmt::Store { memory: MemoryRef::Array(id), index, value, span }
    };
    values.into_iter().enumerate().map(store).collect()
}
