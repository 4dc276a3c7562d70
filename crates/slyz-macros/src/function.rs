//! `#[function]`: reads the options and the signature, and wraps the rewritten body.
//!
//! ```text
//! fn f(x: A, mut y: B) -> R { body }
//!
//! #[track_caller]
//! fn f(__slyz_arg0: A, __slyz_arg1: B) -> R {
//!     ::slyz::__private::call(
//!         concat!(module_path!(), "::", "f"),
//!         (::slyz::__private::arg("x", __slyz_arg0), ::slyz::__private::arg("y", __slyz_arg1),),
//!         |(x, mut y,)| -> R { rewritten body },
//!     )
//! }
//! ```
//!
//! The body is a closure that captures nothing, not an inner function: so it may use `Self` and the generics of an
//! enclosing `impl`. A function that is rejected keeps its signature, so that its callers add no errors.

use crate::options::Options;
use crate::rewrite;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Error, FnArg, ItemFn, Pat, ReturnType, Signature, parse_quote};

/// The whole macro.
pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) if looks_like_fn(&item) => return with_item(error, item),
        Err(_) => {
            let message = "`#[function]` belongs on a function with a body";
            return with_item(Error::new_spanned(first_token(&item), message), item);
        }
    };
    let checked = Options::read("function", &["inline"], options).and_then(|options| {
        let [inline, _] = options.words;
        signature(&function.sig, inline)?;
        let mut block = function.block.clone();
        rewrite::body(&mut block, inline)?;
        if let Some(precision) = options.precision() {
            block.stmts.insert(0, parse_quote!(::slyz::__private::precise(#precision);));
        }
        Ok((inline, block))
    });
    match checked {
        Ok((true, block)) => {
            let function = ItemFn { block, ..function };
            quote!(#[allow(unused_assignments, unused_mut)] #function)
        }
        Ok((false, block)) => shared(ItemFn { block, ..function }),
        Err(error) => rejected(error, &function),
    }
}

fn signature(sig: &Signature, inline: bool) -> syn::Result<()> {
    let reject = |token: &dyn ToTokens, message: &str| Err(Error::new_spanned(token.to_token_stream(), message));
    if let Some(token) = &sig.asyncness {
        return reject(token, "a traced function cannot be `async`");
    }
    if let Some(token) = &sig.unsafety {
        return reject(token, "a traced function cannot be `unsafe`");
    }
    if let Some(token) = &sig.constness {
        return reject(token, "a traced function cannot be `const`: tracing it records nodes");
    }
    if let Some(token) = &sig.abi {
        return reject(token, "a traced function has no calling convention of its own");
    }
    if inline {
        return Ok(());
    }
    if let Some(FnArg::Receiver(this)) = sig.inputs.first() {
        return reject(
            &this.self_token,
            "a method cannot stay a function in the generated code: `self` is not a traced value\n\
             help: write `#[function(inline)]`, or a function that takes what it needs of `self`",
        );
    }
    if let Some(extra) = sig.inputs.iter().nth(rewrite::TUPLE) {
        let message = format!(
            "a traced function has at most {} parameters\nhelp: group some in tuples, arrays or a struct with \
             `#[derive(Elem)]`, or write `#[function(inline)]`",
            rewrite::TUPLE
        );
        return reject(extra, &message);
    }
    if let ReturnType::Type(_, ty) = &sig.output
        && let Some(span) = impl_trait(ty)
    {
        let message = "a traced function names its result: `impl Trait` cannot be stored in the generated code\n\
                       help: write the type, or `#[function(inline)]`";
        return Err(Error::new(span, message));
    }
    Ok(())
}

fn impl_trait(ty: &syn::Type) -> Option<Span> {
    struct Search(Option<Span>);
    impl Visit<'_> for Search {
        fn visit_type_impl_trait(&mut self, it: &syn::TypeImplTrait) {
            self.0.get_or_insert(it.impl_token.span);
            visit::visit_type_impl_trait(self, it);
        }
    }
    let mut search = Search(None);
    search.visit_type(ty);
    search.0
}

/// Wraps the rewritten body of a function that stays a function.
fn shared(function: ItemFn) -> TokenStream {
    let ItemFn { attrs, vis, mut sig, block } = function;
    let mut patterns = Vec::new();
    let mut args = Vec::new();
    for (at, input) in sig.inputs.iter_mut().enumerate() {
        let FnArg::Typed(input) = input else { continue };
        let name = format_ident!("__slyz_arg{at}", span = input.pat.span());
        let called = match &*input.pat {
            Pat::Ident(pat) => pat.ident.unraw().to_string(),
            _ => String::new(),
        };
        patterns.push(std::mem::replace(&mut *input.pat, parse_quote!(#name)));
        args.push(quote_spanned!(input.ty.span()=> ::slyz::__private::arg(#called, #name)));
    }
    let name = sig.ident.unraw().to_string();
    let result: TokenStream = match &sig.output {
        ReturnType::Default => quote!(-> ()),
        output @ ReturnType::Type(..) => quote!(#output),
    };
    quote! {
        #(#attrs)*
        #[track_caller]
        #[allow(unused_assignments, unused_mut)]
        #vis #sig {
            ::slyz::__private::call(
                ::core::concat!(::core::module_path!(), "::", #name),
                (#(#args,)*),
                |(#(#patterns,)*)| #result #block,
            )
        }
    }
}

/// The errors, inside a function of the same signature.
fn rejected(error: Error, function: &ItemFn) -> TokenStream {
    let ItemFn { attrs, vis, sig, .. } = function;
    let error = error.into_compile_error();
    let mut sig = sig.clone();
    (sig.asyncness, sig.unsafety, sig.constness) = (None, None, None);
    quote!(#(#attrs)* #[allow(unused)] #vis #sig { #error })
}

fn with_item(error: Error, item: TokenStream) -> TokenStream {
    let error = error.into_compile_error();
    quote!(#error #item)
}

fn looks_like_fn(item: &TokenStream) -> bool {
    let is_fn = |token: &proc_macro2::TokenTree| matches!(token, proc_macro2::TokenTree::Ident(i) if i == "fn");
    item.clone().into_iter().any(|token| is_fn(&token)) && item.clone().into_iter().last().is_some_and(is_brace)
}

fn is_brace(token: proc_macro2::TokenTree) -> bool {
    matches!(token, proc_macro2::TokenTree::Group(g) if g.delimiter() == proc_macro2::Delimiter::Brace)
}

fn first_token(item: &TokenStream) -> TokenStream {
    item.clone().into_iter().take(1).collect()
}
