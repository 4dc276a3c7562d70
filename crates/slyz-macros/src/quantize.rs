//! `#[quantize(i8)]`: functions that ask for smaller numbers.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Ident, ItemFn, parse_quote};

/// The kinds, by their names and as `::slyz::Small` has them.
const KINDS: [(&str, &str); 3] = [("f16", "F16"), ("bf16", "BF16"), ("i8", "I8")];

pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    asked(options, item).unwrap_or_else(Error::into_compile_error)
}

fn asked(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let listed = || KINDS.map(|(name, _)| format!("`{name}`")).join(", ");
    let kind = syn::parse2::<Ident>(options)
        .map_err(|error| Error::new(error.span(), format!("`#[quantize(..)]` takes one of {}", listed())))?;
    let known = KINDS.iter().find(|(name, _)| kind == name);
    let Some((_, variant)) = known else {
        return Err(Error::new(kind.span(), format!("there are no numbers `{kind}`; there are {}", listed())));
    };
    let mut function: ItemFn = syn::parse2(item)?;
    let variant = Ident::new(variant, kind.span());
    function.block.stmts.insert(0, parse_quote!(::slyz::__private::smaller(::slyz::Small::#variant);));
    Ok(function.into_token_stream())
}
