//! Functions, parameters and types of Rust as those of the surface tree.

use super::code::{block, expr};
use super::spans::Spans;
use slyz_lang::syntax::{Expr, ExprKind, Forbidden, Function, Name, Param, Role, TypeExpr, TypeKind};
use slyz_sir::types::Ty;
use syn::ext::IdentExt;
use syn::{Error, FnArg, GenericArgument, Pat, PathArguments, ReturnType, Type};

/// A name.
pub fn name(ident: &syn::Ident, spans: &mut Spans) -> Name {
    Name { text: ident.unraw().to_string(), span: spans.of(ident) }
}

/// A function. Those with tensors are kernels, those without are helpers.
pub fn function(item: &syn::ItemFn, spans: &mut Spans) -> syn::Result<Function> {
    let sig = &item.sig;
    let reject = |at: &dyn quote::ToTokens, message: &str| Err(Error::new_spanned(at.to_token_stream(), message));
    if let Some(token) = &sig.asyncness {
        return reject(token, "a graph function is not `async`: it runs on every thread of a launch, at once");
    }
    if let Some(token) = &sig.unsafety {
        return reject(token, "write `#[graph(unchecked)]` instead of `unsafe`: launching it is unsafe then");
    }
    if let Some(token) = &sig.abi {
        return reject(token, "a graph function has no calling convention of its own");
    }
    if !sig.generics.params.is_empty() {
        return reject(&sig.generics, "a graph function is not generic: its kernel is compiled once, for these types");
    }
    let span = spans.between(sig.fn_token.span, sig.ident.span());
    let own_name = name(&sig.ident, spans);
    let params = sig.inputs.iter().map(|param| parameter(param, spans)).collect::<syn::Result<Vec<_>>>()?;
    let result = match &sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(type_expr(ty, spans)),
    };
    let tensors = params.iter().any(|p| matches!(p.ty.kind, TypeKind::Tensor { .. }));
    let role = if tensors { Role::Graph } else { Role::Plain };
    let body = block(&item.block, spans);
    // The kernel keeps its checks under `#[graph(unchecked)]`, too: an unsafe launch leaves them out, and whoever asks for a safe
    // one (`UncheckedLaunch::checked`) must get them.
    Ok(Function { role, unchecked: false, as_written: false, name: own_name, params, result, body, span })
}

fn parameter(param: &FnArg, spans: &mut Spans) -> syn::Result<Param> {
    let FnArg::Typed(param) = param else {
        return Err(Error::new_spanned(param, "a graph function has no `self`"));
    };
    let Pat::Ident(pattern) = &*param.pat else {
        return Err(Error::new_spanned(&param.pat, "a parameter of a graph function is a plain name"));
    };
    if let Some(token) = &pattern.mutability {
        return Err(Error::new_spanned(token, "parameters do not change\nhelp: `let mut` a copy of it"));
    }
    Ok(Param { name: name(&pattern.ident, spans), ty: type_expr(&param.ty, spans) })
}

/// A type. What the language does not know is kept as text, for the checker to refuse.
pub fn type_expr(ty: &Type, spans: &mut Spans) -> TypeExpr {
    let span = spans.of(ty);
    let other = |ty: &dyn quote::ToTokens| TypeKind::Other(ty.to_token_stream().to_string().replace(' ', ""));
    let kind = match ty {
        Type::Reference(reference) => {
            let inner = type_expr(&reference.elem, spans);
            return TypeExpr { mutable: reference.mutability.is_some(), span, ..inner };
        }
        Type::Paren(inner) => return type_expr(&inner.elem, spans),
        Type::Group(inner) => return type_expr(&inner.elem, spans),
        Type::Array(array) => {
            TypeKind::Array { elem: Box::new(type_expr(&array.elem, spans)), len: Box::new(expr(&array.len, spans)) }
        }
        Type::Tuple(tuple) => TypeKind::Tuple(tuple.elems.iter().map(|part| type_expr(part, spans)).collect()),
        Type::Path(path) => match path.path.segments.last() {
            Some(last) if last.ident == "Tensor" => tensor(last, spans).unwrap_or_else(|| other(ty)),
            Some(last) if last.arguments.is_none() => match Ty::from_name(&last.ident.to_string()) {
                Some(ty) => TypeKind::Scalar(ty),
                None => other(ty),
            },
            Some(_) | None => other(ty),
        },
        _ => other(ty),
    };
    TypeExpr { kind, mutable: false, span }
}

/// `Tensor<f32>` and `Tensor<f32, 2>`. The second may also be a shape of the array language, whose axes are counted.
fn tensor(segment: &syn::PathSegment, spans: &mut Spans) -> Option<TypeKind> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let mut arguments = arguments.args.iter();
    let elem = match arguments.next()? {
        GenericArgument::Type(ty) => Box::new(type_expr(ty, spans)),
        _ => return None,
    };
    let number = |n: usize, span| Expr { kind: ExprKind::Int(n as u128, None), span };
    let rank = match arguments.next() {
        None => None,
        Some(GenericArgument::Const(rank)) => Some(Box::new(expr(rank, spans))),
        Some(GenericArgument::Type(Type::Tuple(axes))) => Some(Box::new(number(axes.elems.len(), spans.of(axes)))),
        Some(GenericArgument::Type(ty)) if quote::ToTokens::to_token_stream(ty).to_string() == "Dyn" => None,
        Some(GenericArgument::Type(axis)) => Some(Box::new(number(1, spans.of(axis)))),
        Some(_) => return None,
    };
    arguments.next().is_none().then_some(TypeKind::Tensor { elem, rank })
}

/// An expression that the language does not have.
pub fn unsupported(what: Forbidden, syntax: &impl quote::ToTokens, text: &str, spans: &mut Spans) -> Expr {
    Expr { kind: ExprKind::Foreign { what, text: text.to_string() }, span: spans.of(syntax) }
}
