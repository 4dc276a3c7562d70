//! `#[graph]`: a Rust function as a kernel, checked and lowered while rustc runs.
//!
//! ```text
//! #[graph]
//! fn relu(input: &Tensor<f32>, output: &mut Tensor<f32>) { .. }
//!
//! fn relu<'slyz>(input: impl Input<'slyz, f32>, output: impl InOut<'slyz, f32>) -> Launch<'slyz> {
//!     static KERNEL: EmbeddedKernel = EmbeddedKernel::new("relu", "kernel relu<..>() .. { .. }", &[]);
//!     Launch::new(&KERNEL).read(input).write(output)
//! }
//! ```
//!
//! The body is read into the surface tree of `slyz-lang`; whatever is wrong with it is an error at the token. What is left of it
//! is the text of a SIR kernel. On a module, every function of it is a kernel or a helper, and they may call each other.

mod code;
mod items;
pub mod launcher;
mod spans;

use crate::options::Options;
use launcher::{Launcher, Passed};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use slyz_lang::check::{Dialect, check, gives::is_of};
use slyz_lang::diagnostic::{Diagnostic, Severity};
use slyz_lang::lower::lower;
use slyz_lang::syntax::{File, Item};
use slyz_lang::typed::{Function, FunctionId, ParamKind};
use slyz_sir::launch::Template;
use spans::Spans;
use syn::ext::IdentExt;
use syn::{Error, FnArg, GenericArgument, ItemFn, ItemMod, PathArguments, Type};

/// The whole macro.
pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = match Options::read("graph", &["unchecked", "as_written"], options) {
        Ok(options) => options,
        Err(error) => return error.into_compile_error(),
    };
    if let Ok(function) = syn::parse2::<ItemFn>(item.clone()) {
        let nested = function.block.stmts.iter().filter_map(|stmt| match stmt {
            syn::Stmt::Item(syn::Item::Fn(helper)) => Some(helper),
            _ => None,
        });
        let functions: Vec<&ItemFn> = nested.chain([&function]).collect();
        return kernels(&functions, &[&function], &options);
    }
    match syn::parse2::<ItemMod>(item.clone()) {
        Ok(ItemMod { content: Some((_, content)), attrs, vis, ident, .. }) => {
            let functions: Vec<&ItemFn> = content.iter().filter_map(function_of).collect();
            let rest = content.iter().filter(|item| function_of(item).is_none());
            let code = kernels(&functions, &functions, &options);
            quote!(#(#attrs)* #vis mod #ident { #(#rest)* #code })
        }
        Ok(_) | Err(_) => {
            let message = "`#[graph]` belongs on a function, or on a module of functions, with a body";
            let first: TokenStream = item.clone().into_iter().take(1).collect();
            let error = Error::new_spanned(first, message).into_compile_error();
            quote!(#item #error)
        }
    }
}

fn function_of(item: &syn::Item) -> Option<&ItemFn> {
    match item {
        syn::Item::Fn(function) => Some(function),
        _ => None,
    }
}

/// Launchers for those functions that can be launched, or all that is wrong.
fn kernels(functions: &[&ItemFn], launched: &[&ItemFn], options: &Options) -> TokenStream {
    let [unchecked, as_written] = options.words;
    let mut spans = Spans::default();
    let mut items = vec![];
    let mut errors = TokenStream::new();
    for function in functions {
        match items::function(function, &mut spans) {
            Ok(function) => items.push(Item::Function(function)),
            Err(error) => errors.extend(error.into_compile_error()),
        }
    }
    let mut launchers = TokenStream::new();
    if !errors.is_empty() {
        launched.iter().for_each(|function| launchers.extend(launcher(function, None, unchecked)));
        return quote!(#errors #launchers);
    }
    let checked = check(&File { items }, Dialect::Rust);
    for diagnostic in &checked.diagnostics {
        errors.extend(report(diagnostic, &spans));
    }
    for function in launched {
        let name = function.sig.ident.unraw().to_string();
        // What stores what the threads of a function give has a name that nobody wrote.
        let is_written = |name: &str| functions.iter().any(|other| other.sig.ident.unraw() == name);
        let named = |f: &Function| f.launches && (f.name == name || is_of(&f.name, &name) && !is_written(&f.name));
        let Some(id) = checked.program.functions.iter().position(named) else {
            // A helper leaves nothing behind; a kernel that is wrong keeps its signature, so that its callers add no errors.
            if has_tensor(function) && matches!(function.sig.output, syn::ReturnType::Default) {
                launchers.extend(launcher(function, None, unchecked));
            }
            continue;
        };
        match lower(&checked.program, FunctionId(id as u32)) {
            Ok(mut template) => {
                template.kernel.precision = options.precision_name().and_then(|name| name.parse().ok());
                template.kernel.as_written = as_written;
                let typed = &checked.program.functions[id];
                launchers.extend(launcher(function, Some((typed, &template)), unchecked));
            }
            Err(error) => errors.extend(Error::new_spanned(&function.sig.ident, error).into_compile_error()),
        }
    }
    quote!(#errors #launchers)
}

/// An error or a warning of rustc's at the tokens. A note is for the command line.
fn report(diagnostic: &Diagnostic, spans: &Spans) -> TokenStream {
    let mut message = diagnostic.message.clone();
    // rustc shows one place; of the others the line is told.
    for (place, remark) in &diagnostic.related {
        message.push_str(&format!("\nnote: line {}: {remark}", spans.ends(*place).0.start().line));
    }
    if let Some(help) = &diagnostic.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    match diagnostic.severity {
        Severity::Error => Error::new_spanned(spans.tokens(diagnostic.span), message).into_compile_error(),
        Severity::Warning => warning(diagnostic.rule, &message, spans.ends(diagnostic.span).0),
        Severity::Note => TokenStream::new(),
    }
}

/// A warning of rustc's: the use of something deprecated, for macros have no other means.
pub fn warning(rule: &str, message: &str, span: proc_macro2::Span) -> TokenStream {
    let rule = format_ident!("{}", rule.replace('-', "_"), span = span);
    quote_spanned! {span=>
        const _: () = {
            #[deprecated(note = #message)]
            #[allow(non_upper_case_globals)]
            const #rule: () = ();
            #rule
        };
    }
}

fn has_tensor(function: &ItemFn) -> bool {
    function.sig.inputs.iter().any(|input| matches!(input, FnArg::Typed(input) if tensor(&input.ty).is_some()))
}

/// The element type of a tensor as it is written, and whether it may be written to.
fn tensor(ty: &Type) -> Option<(&Type, bool)> {
    match ty {
        Type::Reference(reference) => tensor(&reference.elem).map(|(elem, _)| (elem, reference.mutability.is_some())),
        Type::Paren(inner) => tensor(&inner.elem),
        Type::Group(inner) => tensor(&inner.elem),
        Type::Path(path) => {
            let last = path.path.segments.last().filter(|last| last.ident == "Tensor")?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            match arguments.args.first()? {
                GenericArgument::Type(elem) => Some((elem, false)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The function that users call. Without a kernel there is an error beside it.
fn launcher(function: &ItemFn, kernel: Option<(&Function, &Template)>, unchecked: bool) -> TokenStream {
    let mut params = vec![];
    for (k, input) in function.sig.inputs.iter().enumerate() {
        let FnArg::Typed(input) = input else { continue };
        let param = match &*input.pat {
            syn::Pat::Ident(pattern) => pattern.ident.clone(),
            _ => format_ident!("__slyz_arg{k}"),
        };
        let rank = match kernel.and_then(|(typed, _)| typed.params.get(k)).map(|param| &param.kind) {
            Some(ParamKind::Tensor { rank, .. }) => *rank,
            Some(ParamKind::Scalar(..)) | None => 1,
        };
        let passed = match tensor(&input.ty) {
            Some((elem, true)) => Passed::Write(quote!(#elem), rank),
            Some((elem, false)) => Passed::Read(quote!(#elem), rank),
            None => Passed::Scalar(input.ty.to_token_stream()),
        };
        params.push((param, passed));
    }
    // What each thread returns is stored in a tensor behind the arguments.
    let result = kernel.and_then(|(typed, _)| typed.params.get(params.len())).map(|param| &param.kind);
    let gives = match (result, &function.sig.output) {
        (Some(ParamKind::Tensor { rank, .. }), syn::ReturnType::Type(_, ty)) => Some((ty.to_token_stream(), *rank)),
        _ => None,
    };
    let attrs = &function.attrs;
    let attrs = quote!(#(#attrs)*);
    let template = kernel.map(|(_, template)| template);
    Launcher { attrs, vis: &function.vis, name: &function.sig.ident, params, gives, template, unchecked }.write()
}
