//! `vex!("file.vex")`: the kernels of a file as functions of the program, checked and lowered while rustc runs.
//!
//! ```text
//! slyz::vex!("relu.vex");
//!
//! const _: &[u8] = include_bytes!("…/relu.vex");          // so that cargo builds anew when it changes
//! fn relu<'slyz>(input: impl Input<'slyz, f32>, output: impl InOut<'slyz, f32>) -> Launch<'slyz> { .. }
//! ```
//!
//! What is left of a kernel is what `#[graph]` leaves. The host part of the file is not looked at: statements and plain functions
//! that no kernel calls. rustc cannot point into the file, so its mistakes are drawn, and stand at the name of the file.

use crate::graph::launcher::{Launcher, Passed};
use crate::graph::warning;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use slyz_lang::diagnostic::{Diagnostic, Severity};
use slyz_lang::kernels::{Source, comment_above, read};
use slyz_lang::render::render;
use slyz_lang::syntax::{ExprKind, Function, Item, Role, TypeExpr, TypeKind};
use slyz_sir::types::Ty;
use std::path::{Path, PathBuf};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, LitStr, Token, Visibility};

/// `"file.vex"`, `pub "file.vex"`, `pub mod name = "file.vex"`.
struct Input {
    attrs: Vec<Attribute>,
    vis: Visibility,
    module: Option<Ident>,
    file: LitStr,
}

impl Parse for Input {
    fn parse(input: ParseStream) -> syn::Result<Input> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let module = match input.parse::<Option<Token![mod]>>()? {
            Some(_) => {
                let name = input.parse()?;
                input.parse::<Token![=]>()?;
                Some(name)
            }
            None => None,
        };
        let known = "write the name of a file: `vex!(\"kernels.vex\")`, `vex!(pub mod kernels = \"kernels.vex\")`";
        let file = input.parse().map_err(|error| Error::new(error.span(), known))?;
        input.parse::<Option<Token![,]>>()?;
        if input.is_empty() { Ok(Input { attrs, vis, module, file }) } else { Err(input.error(known)) }
    }
}

/// The whole macro.
pub fn expand(input: TokenStream) -> TokenStream {
    let input = match syn::parse2::<Input>(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    match launchers(&input) {
        Ok(code) => code,
        Err(error) => error.into_compile_error(),
    }
}

fn launchers(Input { attrs, vis, module, file }: &Input) -> syn::Result<TokenStream> {
    let path = in_package(&file.value());
    let text = text_of(&path, file)?;
    let source = read(&text).map_err(|error| Error::new(file.span(), format!("{}: {error}", file.value())))?;
    let inside: Visibility = if module.is_some() { syn::parse_quote!(pub) } else { vis.clone() };
    let mut code = TokenStream::new();
    for diagnostic in &source.diagnostics {
        code.extend(report(diagnostic, &text, file));
    }
    for item in &source.file.items {
        if let Item::Function(function) = item {
            code.extend(launcher(function, &source, &text, &inside, file));
        }
    }
    let path = path.to_string_lossy();
    let tracked = quote!(
        const _: &[u8] = ::core::include_bytes!(#path);
    );
    let about = format!("The kernels of `{}`.", file.value());
    Ok(match module {
        Some(module) => quote!(#(#attrs)* #[doc = #about] #vis mod #module { #tracked #code }),
        None => quote!(#tracked #code),
    })
}

/// Names of files begin where the package has its `Cargo.toml`.
fn in_package(name: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    package.join(name)
}

fn text_of(path: &Path, file: &LitStr) -> syn::Result<String> {
    let wrong = |why: &str| {
        let help = "names of files begin in the directory of this package's `Cargo.toml`";
        Error::new(file.span(), format!("cannot read `{}`: {why}\nhelp: {help}", file.value()))
    };
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => wrong("there is no such file"),
        _ => wrong(&error.to_string()),
    })?;
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8 text"))
}

/// A mistake, drawn; at the name of the file.
fn report(diagnostic: &Diagnostic, text: &str, file: &LitStr) -> TokenStream {
    let drawn = render(&file.value(), text, std::slice::from_ref(diagnostic));
    // rustc says itself how bad it is.
    let message = drawn.split_once("]: ").map_or(&drawn[..], |(_, message)| message).trim_end();
    match diagnostic.severity {
        Severity::Error => Error::new(file.span(), message).into_compile_error(),
        Severity::Warning => warning(diagnostic.rule, message, file.span()),
        Severity::Note => TokenStream::new(),
    }
}

/// The launcher of a graph function. One that is wrong keeps its signature, so that its callers add no errors.
fn launcher(function: &Function, source: &Source, text: &str, vis: &Visibility, file: &LitStr) -> TokenStream {
    let kernel = source.kernels.iter().find(|kernel| kernel.name == function.name.text);
    let wrong = source.diagnostics.iter().any(Diagnostic::is_error);
    if function.role != Role::Graph || function.result.is_some() || (kernel.is_none() && !wrong) {
        return TokenStream::new();
    }
    let Some(params) = params(function, file.span()) else { return TokenStream::new() };
    let Some(name) = ident(&function.name.text, file.span()) else {
        let message =
            format!("Rust cannot call a function `{}`\nhelp: give the kernel another name", function.name.text);
        return Error::new(file.span(), message).into_compile_error();
    };
    let said = comment_above(text, function.span);
    let about = format!("{said}\n\nA kernel of `{}`.", file.value());
    let about = about.trim_start();
    let attrs = quote!(#[doc = #about] #[allow(dead_code, non_snake_case)]);
    let template = kernel.map(|kernel| &*kernel.template);
    Launcher { attrs, vis, name: &name, params, gives: None, template, unchecked: function.unchecked }.write()
}

/// The parameters, if their types can be read.
fn params(function: &Function, span: Span) -> Option<Vec<(Ident, Passed)>> {
    let param = |(k, param): (usize, &slyz_lang::syntax::Param)| {
        let name = ident(&param.name.text, span).unwrap_or_else(|| Ident::new(&format!("arg{k}"), span));
        Some((name, passed(&param.ty)?))
    };
    function.params.iter().enumerate().map(param).collect()
}

fn passed(ty: &TypeExpr) -> Option<Passed> {
    match &ty.kind {
        TypeKind::Scalar(scalar) => Some(Passed::Scalar(rust_type(*scalar))),
        TypeKind::Tensor { elem, rank } => {
            let TypeKind::Scalar(elem) = elem.kind else { return None };
            let rank = match rank.as_ref().map(|rank| &rank.kind) {
                None => 1,
                Some(ExprKind::Int(rank, _)) => usize::try_from(*rank).ok()?,
                Some(_) => return None,
            };
            let elem = rust_type(elem);
            Some(if ty.mutable { Passed::Write(elem, rank) } else { Passed::Read(elem, rank) })
        }
        TypeKind::Array { .. } | TypeKind::Tuple(_) | TypeKind::Other(_) | TypeKind::Wrong => None,
    }
}

fn rust_type(ty: Ty) -> TokenStream {
    let name = Ident::new(ty.name(), Span::call_site());
    match ty {
        Ty::F16 | Ty::BF16 => quote!(::slyz::#name),
        _ => quote!(#name),
    }
}

/// A name of the file as one of Rust's, with `r#` where it is a word of Rust.
fn ident(name: &str, span: Span) -> Option<Ident> {
    let mut word = Ident::parse_any.parse_str(name).ok()?;
    word.set_span(span);
    match name {
        "_" | "self" | "Self" | "super" | "crate" => None,
        _ if syn::parse_str::<Ident>(name).is_ok() => Some(word),
        _ => Some(Ident::new_raw(name, span)),
    }
}
