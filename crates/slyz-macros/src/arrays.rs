//! `#[derive(Arrays)]`: a struct of arrays is a parameter, a result and the state of loops, and has a struct of tensors on the host.
//!
//! ```text
//! struct Net { w: Arr<..>, .. }  struct NetTensors { w: HostOf<Arr<..>>, .. }     what calls take and give
//!                                Param, Output, State, LoopState<Net>, Arrays for Net
//!                                FunctionArg, Ret for Net                         in `#[function]`s
//!                                Feed<Net> for NetTensors and &NetTensors
//!                                Clone, Debug, PartialEq for NetTensors           where its fields have them
//! ```
//!
//! Every trait goes through the fields in order, by the same trait of the field's type. Every implementation asks of each field that it
//! is of arrays, and of the struct that it is `Copy`, in a condition that rustc does not judge on its own: so a field that is of
//! something else has one error, where `NetTensors` asks for its tensors, and not one for each trait.

use crate::fields::{Fields, member_name, struct_of};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, DeriveInput, Error, GenericParam, Generics, LitStr, Visibility, WherePredicate, parse_quote};

/// The whole macro.
pub fn expand(item: TokenStream) -> TokenStream {
    syn::parse2(item).and_then(|input| Struct::read(&input)).map_or_else(Error::into_compile_error, |it| it.implement())
}

struct Struct {
    name: Ident,
    /// The struct of tensors.
    host: Ident,
    visibility: Visibility,
    /// As declared, with defaults.
    declared: Generics,
    /// Without defaults.
    generics: Generics,
    /// As declared, for the struct of tensors.
    body: syn::Fields,
    fields: Fields,
}

impl Struct {
    fn read(input: &DeriveInput) -> syn::Result<Struct> {
        let name = input.ident.clone();
        let data = struct_of(input, "Arrays", "write a struct for each variant")?;
        let host = host_name(&input.attrs)?.unwrap_or_else(|| format_ident!("{name}Tensors"));
        if host == name {
            let message = "the struct of tensors needs another name than the struct of arrays";
            return Err(Error::new(host.span(), message));
        }
        let mut generics = input.generics.clone();
        for param in &mut generics.params {
            match param {
                GenericParam::Type(param) => (param.eq_token, param.default) = (None, None),
                GenericParam::Const(param) => (param.eq_token, param.default) = (None, None),
                GenericParam::Lifetime(_) => {}
            }
        }
        Ok(Struct {
            name,
            host,
            visibility: input.vis.clone(),
            declared: input.generics.clone(),
            generics,
            body: data.fields.clone(),
            fields: Fields::read(&data.fields),
        })
    }

    fn implement(&self) -> TokenStream {
        let parts = [
            self.host_struct(),
            self.copy(),
            self.impl_for(&self.name, quote!(::slyz::Param), &self.fields.param(&self.name)),
            self.output(),
            self.impl_for(&self.name, quote!(::slyz::State), &self.fields.state(&self.name)),
            self.loop_state(),
            self.arrays(),
            self.impl_for(&self.name, quote!(::slyz::__private::FunctionArg), &self.fields.function_arg(&self.name)),
            self.ret(),
            self.feed(),
            self.clone(),
            self.debug(),
            self.equal(),
        ];
        quote!(#(#parts)*)
    }

    /// The parameters, under the conditions of all implementations.
    fn conditions(&self) -> Generics {
        let mut generics = self.generics.clone();
        let this = self.this(&self.name);
        let fields = self.fields.0.iter().map(|field| -> WherePredicate {
            let ty = &field.ty;
            parse_quote!(for<'__slyz> #ty: ::slyz::__private::IfArrays<'__slyz>)
        });
        let clause = generics.make_where_clause();
        clause.predicates.push(parse_quote!(for<'__slyz> #this: ::slyz::__private::IfCopy<'__slyz>));
        clause.predicates.extend(fields);
        generics
    }

    /// The conditions, and one more of the tensors of each field.
    fn conditions_on_tensors(&self, condition: &TokenStream) -> Generics {
        let mut generics = self.conditions();
        let tensors = self.fields.0.iter().map(|field| -> WherePredicate {
            let ty = &field.ty;
            parse_quote!(for<'__slyz> ::slyz::HostOf<#ty>: #condition<'__slyz>)
        });
        generics.make_where_clause().predicates.extend(tensors);
        generics
    }

    /// The struct, or that of tensors, with its parameters.
    fn this(&self, name: &Ident) -> TokenStream {
        let (_, args, _) = self.generics.split_for_impl();
        quote!(#name #args)
    }

    fn impl_for(&self, name: &Ident, class: TokenStream, items: &TokenStream) -> TokenStream {
        implementation(&self.conditions(), &class, &self.this(name), items)
    }

    fn impl_for_tensors(&self, class: &TokenStream, condition: &TokenStream, items: &TokenStream) -> TokenStream {
        implementation(&self.conditions_on_tensors(condition), class, &self.this(&self.host), items)
    }

    /// The struct of tensors: as visible as the struct, with its fields and their comments.
    fn host_struct(&self) -> TokenStream {
        let mut body = self.body.clone();
        for field in &mut body {
            let ty = &field.ty;
            field.ty = syn::Type::Verbatim(quote_spanned!(ty.span()=> ::slyz::HostOf<#ty>));
            field.attrs.retain(|attr| attr.path().is_ident("doc"));
        }
        let Struct { name, host, visibility, declared, .. } = self;
        let clause = &declared.where_clause;
        let doc = format!("The tensors of a [`{name}`]: what a call takes for one, and gives.");
        let declaration = match body {
            syn::Fields::Named(fields) => quote!(#visibility struct #host #declared #clause #fields),
            syn::Fields::Unnamed(fields) => quote!(#visibility struct #host #declared #fields #clause;),
            syn::Fields::Unit => quote!(#visibility struct #host #declared #clause;),
        };
        quote!(#[doc = #doc] #[allow(clippy::type_complexity)] #declaration)
    }

    /// The one error of a struct that is not `Copy`.
    fn copy(&self) -> TokenStream {
        let mut generics = self.generics.clone();
        for param in generics.type_params_mut() {
            param.bounds.push(parse_quote!(::core::marker::Copy));
        }
        let (header, _, clause) = generics.split_for_impl();
        // The place is the derive's: at the struct's own rustc would suggest to borrow it.
        let mut name = self.name.clone();
        name.set_span(Span::call_site());
        let this = self.this(&name);
        let check = quote!(::slyz::__private::copied_arrays::<#this>());
        quote!(const _: () = { #[allow(dead_code)] fn __slyz_copied #header () #clause { #check } };)
    }

    fn output(&self) -> TokenStream {
        let class = quote!(::slyz::Output);
        let host = self.this(&self.host);
        let outs = self
            .fields
            .each(|ty, member, span| quote_spanned!(span=> <#ty as #class>::outs(self.#member, __slyz_out);));
        let read =
            self.fields.literal(&self.host, |ty, _, span| quote_spanned!(span=> <#ty as #class>::read(__slyz_results)));
        let items = quote! {
            type Host = #host;
            fn outs(self, __slyz_out: &mut ::slyz::__private::Outs) { #outs }
            fn read(__slyz_results: &mut ::slyz::__private::Results) -> Self::Host { #read }
        };
        self.impl_for(&self.name, class, &items)
    }

    fn loop_state(&self) -> TokenStream {
        let this = self.this(&self.name);
        self.impl_for(&self.name, quote!(::slyz::LoopState<#this>), &quote!(fn start(self) -> #this { self }))
    }

    fn arrays(&self) -> TokenStream {
        let host = self.this(&self.host);
        self.impl_for(&self.name, quote!(::slyz::Arrays), &quote!(type Tensors = #host;))
    }

    /// A struct of arrays cannot come out of a function of the program: the body is traced in place.
    fn ret(&self) -> TokenStream {
        let items = quote! {
            fn share(
                _: ::slyz::__private::Loc,
                _: &str,
                _: ::slyz::__private::FunctionKey,
                __slyz_args: &[::slyz::__private::Handle],
                __slyz_body: &mut dyn ::core::ops::FnMut(&[::slyz::__private::Handle]) -> Self,
            ) -> Self { __slyz_body(__slyz_args) }
        };
        self.impl_for(&self.name, quote!(::slyz::__private::Ret), &items)
    }

    /// Of the tensors, owned and borrowed.
    fn feed(&self) -> TokenStream {
        let feed = quote!(::slyz::__private::Feed);
        let fed = quote!(::slyz::__private::Fed);
        let this = self.this(&self.name);
        let host = self.this(&self.host);
        let class = quote!(#feed<#this>);
        let fields = self.fields.each(|ty, member, span| {
            quote_spanned!(span=> <::slyz::HostOf<#ty> as #feed<#ty>>::feed(&self.#member, __slyz_out);)
        });
        let owned = quote! {
            fn feed<'__slyz>(&'__slyz self, __slyz_out: &mut #fed<'__slyz>) { #fields }
        };
        let borrowed = quote! {
            fn feed<'__slyz>(&'__slyz self, __slyz_out: &mut #fed<'__slyz>) {
                <#host as #class>::feed(*self, __slyz_out)
            }
        };
        let owned = self.impl_for(&self.host, class.clone(), &owned);
        let borrowed = implementation(&self.conditions(), &class, &quote!(&#host), &borrowed);
        quote!(#owned #borrowed)
    }

    fn clone(&self) -> TokenStream {
        let class = quote!(::core::clone::Clone);
        let copy =
            self.fields.literal(&self.host, |_, member, span| quote_spanned!(span=> #class::clone(&self.#member)));
        self.impl_for_tensors(&class, &quote!(::slyz::__private::IfClone), &quote!(fn clone(&self) -> Self { #copy }))
    }

    fn debug(&self) -> TokenStream {
        let host = self.host.to_string();
        let named = matches!(self.body, syn::Fields::Named(_));
        let open = if named { quote!(debug_struct) } else { quote!(debug_tuple) };
        let fields = self.fields.0.iter().map(|field| {
            let member = &field.member;
            let name = member_name(member);
            if named { quote!(.field(#name, &self.#member)) } else { quote!(.field(&self.#member)) }
        });
        let items = quote! {
            fn fmt(&self, __slyz_out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                __slyz_out.#open(#host)#(#fields)*.finish()
            }
        };
        self.impl_for_tensors(&quote!(::core::fmt::Debug), &quote!(::slyz::__private::IfDebug), &items)
    }

    fn equal(&self) -> TokenStream {
        let fields = self.fields.each(|_, member, span| quote_spanned!(span=> && self.#member == __slyz_other.#member));
        let items = quote! {
            fn eq(&self, __slyz_other: &Self) -> bool { true #fields }
        };
        self.impl_for_tensors(&quote!(::core::cmp::PartialEq), &quote!(::slyz::__private::IfEqual), &items)
    }
}

fn implementation(generics: &Generics, class: &TokenStream, this: &TokenStream, items: &TokenStream) -> TokenStream {
    let (header, _, clause) = generics.split_for_impl();
    quote!(#[automatically_derived] impl #header #class for #this #clause { #items })
}

/// The name in `#[arrays(host = "Name")]`.
fn host_name(attrs: &[Attribute]) -> syn::Result<Option<Ident>> {
    let mut name = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("arrays")) {
        attr.parse_nested_meta(|option| {
            if !option.path.is_ident("host") {
                return Err(option.error("`Arrays` has one option: `#[arrays(host = \"Name\")]`"));
            }
            let text: LitStr = option.value()?.parse()?;
            let message = "`host` names the struct of tensors: `#[arrays(host = \"Name\")]`";
            name = Some(text.parse::<Ident>().map_err(|_| Error::new(text.span(), message))?);
            Ok(())
        })?;
    }
    Ok(name)
}
