//! `#[derive(Axis)]`: the variants of a field-less enum are the positions of an axis.
//!
//! Positions are numbered by order. An axis whose size is known only at run time is made by `axis!(Name)`, not here.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields};

/// The whole macro.
pub fn expand(item: TokenStream) -> TokenStream {
    syn::parse2(item).and_then(|input| implement(&input)).unwrap_or_else(Error::into_compile_error)
}

fn implement(input: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let Data::Enum(data) = &input.data else {
        let message = "`Axis` can be derived for an enum without fields\n\
                       help: an axis whose size is known at run time is made with `axis!(Name)`";
        return Err(Error::new(name.span(), message));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "an axis made of variants cannot be generic"));
    }
    if data.variants.is_empty() {
        return Err(Error::new(name.span(), "an axis needs at least one position: add a variant"));
    }
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            let message = "a variant of an axis cannot have fields: each variant is one position";
            return Err(Error::new_spanned(&variant.fields, message));
        }
        if let Some((_, value)) = &variant.discriminant {
            let message = "the positions of an axis are numbered by order, from 0\n\
                           help: leave out the discriminant and order the variants";
            return Err(Error::new_spanned(value, message));
        }
    }
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let numbers = 0..variants.len();
    let size = proc_macro2::Literal::usize_unsuffixed(variants.len());
    let text = name.unraw().to_string();
    let pos = quote_spanned! {name.span()=>
        #[allow(dead_code)]
        impl #name {
            /// The position of this variant.
            #[track_caller]
            pub fn pos(self) -> ::slyz::Idx<Self> {
                ::slyz::Idx::of(self)
            }
        }
    };
    Ok(quote! {
        impl ::slyz::Axis for #name {
            fn size() -> ::slyz::Extent {
                ::slyz::Extent::fixed(#size)
            }
            fn name() -> ::std::string::String {
                ::std::string::String::from(#text)
            }
        }
        impl ::slyz::EnumAxis for #name {
            type Case = Self;
            fn all() -> ::std::vec::Vec<Self> {
                ::std::vec![#(#name::#variants),*]
            }
            fn number(case: &Self) -> usize {
                match case { #(#name::#variants => #numbers),* }
            }
        }
        #pos
    })
}
