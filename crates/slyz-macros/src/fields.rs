//! The fields of a struct: what several derives do with each of them in turn, by a trait of the field's type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DataStruct, DeriveInput, Index, Member, Type};

pub struct Field {
    pub member: Member,
    pub ty: Type,
}

/// In the order in which they are declared.
pub struct Fields(pub Vec<Field>);

impl Fields {
    pub fn read(fields: &syn::Fields) -> Fields {
        let field = |(at, field): (usize, &syn::Field)| {
            let member = field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(at)), Member::Named);
            Field { member, ty: field.ty.clone() }
        };
        Fields(fields.iter().enumerate().map(field).collect())
    }

    /// One statement per field.
    pub fn each(&self, statement: impl Fn(&Type, &Member, Span) -> TokenStream) -> TokenStream {
        self.0.iter().map(|Field { member, ty }| statement(ty, member, ty.span())).collect()
    }

    /// A literal of the struct with one expression per field.
    pub fn literal(&self, name: &Ident, value: impl Fn(&Type, &Member, Span) -> TokenStream) -> TokenStream {
        let fields = self.0.iter().map(|Field { member, ty }| {
            let value = value(ty, member, ty.span());
            quote!(#member: #value)
        });
        quote!(#name { #(#fields),* })
    }

    /// The items of `::slyz::Param`.
    pub fn param(&self, name: &Ident) -> TokenStream {
        let make = self.literal(name, |ty, member, span| {
            let field = member_name(member);
            quote_spanned!(span=> ::slyz::__private::Parameters::field::<#ty>(__slyz_from, #field))
        });
        quote! {
            fn make(__slyz_from: &mut ::slyz::__private::Parameters) -> Self { #make }
        }
    }

    /// The items of `::slyz::State`.
    pub fn state(&self, name: &Ident) -> TokenStream {
        let class = quote!(::slyz::State);
        let save =
            self.each(|ty, member, span| quote_spanned!(span=> <#ty as #class>::save(self.#member, __slyz_out);));
        let restore = self.literal(name, |ty, _, span| quote_spanned!(span=> <#ty as #class>::restore(__slyz_next)));
        quote! {
            fn save(self, __slyz_out: &mut ::std::vec::Vec<::slyz::__private::Part>) { #save }
            fn restore(__slyz_next: &mut dyn ::core::ops::FnMut() -> ::slyz::__private::Part) -> Self { #restore }
        }
    }

    /// The items of `::slyz::__private::FunctionArg`.
    pub fn function_arg(&self, name: &Ident) -> TokenStream {
        let class = quote!(::slyz::__private::FunctionArg);
        let handles =
            self.each(|ty, member, span| quote_spanned!(span=> <#ty as #class>::handles(self.#member, __slyz_out);));
        let again = self
            .literal(name, |ty, member, span| quote_spanned!(span=> <#ty as #class>::again(self.#member, __slyz_next)));
        let key = self.each(|ty, member, span| quote_spanned!(span=> <#ty as #class>::key(self.#member, __slyz_out);));
        quote! {
            fn handles(self, __slyz_out: &mut ::std::vec::Vec<::slyz::__private::Handle>) { #handles }
            fn again(self, __slyz_next: &mut dyn ::core::ops::FnMut() -> ::slyz::__private::Handle) -> Self { #again }
            fn key(self, __slyz_out: &mut ::std::vec::Vec<u64>) { #key }
        }
    }
}

/// As messages call it: `w`, or `0` in a tuple struct.
pub fn member_name(member: &Member) -> String {
    match member {
        Member::Named(name) => syn::ext::IdentExt::unraw(name).to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// What a derive reads: a struct. `instead` is what somebody with an enum may do.
pub(crate) fn struct_of<'i>(input: &'i DeriveInput, derived: &str, instead: &str) -> syn::Result<&'i DataStruct> {
    let message = match &input.data {
        Data::Struct(data) => return Ok(data),
        Data::Enum(_) => format!(
            "`{derived}` can be derived for a struct: which variant an enum has is not a traced value\n\
             help: store a number and compare it, or {instead}"
        ),
        Data::Union(_) => format!("`{derived}` can be derived for a struct"),
    };
    Err(syn::Error::new(input.ident.span(), message))
}
