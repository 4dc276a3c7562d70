//! `#[derive(Naperian)]`: a struct of elements is a container, and its fields are its positions.
//!
//! ```text
//! struct Rgb<T> { r: T, .. }     enum RgbLog { R, .. }                    the positions
//!                                enum RgbFamily {}                        the name of the family
//!                                Family, .., Dimension for RgbFamily      the whole tower of `slyz::naperian`
//!                                Container for Rgb<T>
//! ```
//!
//! Each field belongs to a family of its own, read off its type: `T` is `Id`, `[T; 3]` is `Array<3>`, `(T, T)` is
//! `Pair<Id, Id>`, `Rgb<T>` is whatever it says as a `Container`. The struct is their product, so every operation goes
//! through the fields in order, by the same operation of the field's family. What the types of fields mean is not checked
//! here: rustc does, at the field.

use crate::elem::mentions;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, GenericArgument, GenericParam, Index, Member, PathArguments, Type, Visibility};

/// The whole macro.
pub fn expand(item: TokenStream) -> TokenStream {
    syn::parse2(item).and_then(|input| Struct::read(&input)).map_or_else(Error::into_compile_error, |it| it.implement())
}

struct Field {
    member: Member,
    /// A local with the value of the field.
    local: Ident,
    /// The variant of the positions in this field.
    variant: Ident,
    /// The family of its type; `None` for the bare element.
    family: Option<TokenStream>,
    span: Span,
}

struct Struct {
    name: Ident,
    /// The enum of its positions.
    log: Ident,
    /// The enum that names its family.
    family: Ident,
    visibility: Visibility,
    /// The name of the one type parameter.
    element: Ident,
    /// All parameters as arguments, in order; `None` for the element.
    args: Vec<Option<Ident>>,
    /// `const N: usize`, for the constant parameters.
    consts: Vec<TokenStream>,
    fields: Vec<Field>,
}

impl Struct {
    fn read(input: &DeriveInput) -> syn::Result<Struct> {
        let name = input.ident.clone();
        let Data::Struct(data) = &input.data else {
            let message = "`Naperian` can be derived for a struct: its fields are its positions";
            return Err(Error::new(name.span(), message));
        };
        if let Some(clause) = &input.generics.where_clause {
            return Err(Error::new_spanned(clause, BOUNDS));
        }
        let mut element = None;
        let mut args = vec![];
        let mut consts = vec![];
        for param in &input.generics.params {
            match param {
                GenericParam::Type(param) => {
                    if let Some(bound) = param.bounds.first() {
                        return Err(Error::new_spanned(bound, BOUNDS));
                    }
                    if element.replace(param.ident.clone()).is_some() {
                        return Err(Error::new_spanned(param, "a container has one type of elements: one parameter"));
                    }
                    args.push(None);
                }
                GenericParam::Const(param) => {
                    let (ident, ty) = (&param.ident, &param.ty);
                    args.push(Some(ident.clone()));
                    consts.push(quote!(const #ident: #ty));
                }
                GenericParam::Lifetime(param) => {
                    return Err(Error::new_spanned(param, "a container owns its elements: it cannot have a lifetime"));
                }
            }
        }
        let Some(element) = element else {
            let message = "a container is generic in its elements\n\
                           help: give the struct a parameter, `struct Name<T> { x: T, y: T }`";
            return Err(Error::new(name.span(), message));
        };
        let mut fields: Vec<Field> = Vec::new();
        for (at, field) in data.fields.iter().enumerate() {
            let (member, variant) = match &field.ident {
                Some(ident) => (Member::Named(ident.clone()), variant(ident)),
                None => (Member::Unnamed(Index::from(at)), format_ident!("At{at}", span = field.ty.span())),
            };
            if let Some(other) = fields.iter().find(|other| other.variant == variant) {
                let this = quote!(#member);
                let other = &other.member;
                let message = format!(
                    "fields `{}` and `{this}` would both be the position `{variant}`: rename one of them",
                    quote!(#other)
                );
                return Err(Error::new(variant.span(), message));
            }
            let family = family(&field.ty, &element)?;
            let local = format_ident!("__slyz_{at}");
            // The place of the type, for messages; our own names, so that they also meet in a struct made by a macro.
            let span = field.ty.span().resolved_at(Span::call_site());
            fields.push(Field { member, local, variant, family, span });
        }
        let [log, family] = ["Log", "Family"].map(|what| format_ident!("{}{what}", name.unraw(), span = name.span()));
        Ok(Struct { name, log, family, visibility: input.vis.clone(), element, args, consts, fields })
    }

    fn implement(&self) -> TokenStream {
        let parts = [
            self.positions(),
            self.family(),
            self.functor(),
            self.applicative(),
            self.foldable(),
            self.traverse(),
            self.naperian(),
            self.dimension(),
        ];
        quote!(#(#parts)*)
    }

    /// The struct with this type of elements.
    fn of(&self, element: TokenStream) -> TokenStream {
        let name = &self.name;
        let args = self.args.iter().map(|arg| arg.as_ref().map_or(element.clone(), |arg| quote!(#arg)));
        quote!(#name<#(#args),*>)
    }

    /// One of the enums, with the constant parameters.
    fn with_consts(&self, name: &Ident) -> TokenStream {
        let args = self.args.iter().flatten();
        quote!(#name<#(#args),*>)
    }

    /// `impl<const N: usize> ::slyz::naperian::Class for NameFamily<N> { items }`
    fn impl_for(&self, class: TokenStream, items: TokenStream) -> TokenStream {
        let consts = &self.consts;
        let this = self.with_consts(&self.family);
        quote! {
            #[automatically_derived]
            impl<#(#consts),*> ::slyz::naperian::#class for #this { #items }
        }
    }

    /// One expression per field, from its family and itself.
    fn each<'a>(
        &'a self,
        value: impl Fn(TokenStream, &'a Field) -> TokenStream + 'a,
    ) -> impl DoubleEndedIterator<Item = TokenStream> + 'a {
        self.fields.iter().map(move |field| {
            let family = field.family.clone().unwrap_or_else(|| quote_spanned!(field.span=> ::slyz::naperian::Id));
            value(family, field)
        })
    }

    /// A literal of the struct with one expression per field.
    fn literal(&self, value: impl Fn(TokenStream, &Field) -> TokenStream) -> TokenStream {
        let name = &self.name;
        let fields = self.each(|family, field| {
            let value = value(family, field);
            let member = &field.member;
            quote!(#member: #value)
        });
        quote!(#name { #(#fields),* })
    }

    /// An enum with a variant per field; one with positions of its own has them as its content.
    fn positions(&self) -> TokenStream {
        let (log, visibility, consts) = (&self.log, &self.visibility, &self.consts);
        let text = format!("The positions of [`{}`]: its fields.", self.name);
        let variants = self.fields.iter().map(|Field { member, variant, family, span, .. }| {
            let text = format!("`{}`.", quote!(#member));
            let content =
                family.as_ref().map(|family| quote_spanned!(*span=> (<#family as ::slyz::naperian::Naperian>::Log)));
            quote!(#[doc = #text] #variant #content)
        });
        quote! {
            #[doc = #text]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #visibility enum #log<#(#consts),*> { #(#variants),* }
        }
    }

    fn family(&self) -> TokenStream {
        let element = &self.element;
        let consts = &self.consts;
        let visibility = &self.visibility;
        let name = &self.family;
        let member = self.of(quote!(#element));
        let family = self.with_consts(name);
        let text = format!("The family of [`{}`].", self.name);
        let implemented = self.impl_for(quote!(Family), quote!(type Of<#element> = #member;));
        quote! {
            #[doc = #text]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #visibility enum #name<#(#consts),*> {}
            #implemented
            #[automatically_derived]
            impl<#element, #(#consts),*> ::slyz::naperian::Container for #member {
                type Family = #family;
                type Item = #element;
            }
        }
    }

    fn functor(&self) -> TokenStream {
        let from = self.of(quote!(__SlyzA));
        let to = self.of(quote!(__SlyzB));
        let body = self.literal(|family, Field { member, span, .. }| {
            quote_spanned!(*span=> <#family as ::slyz::naperian::Functor>::map(__slyz_fa.#member, &mut __slyz_f))
        });
        let items = quote! {
            fn map<__SlyzA, __SlyzB>(
                __slyz_fa: #from,
                mut __slyz_f: impl ::core::ops::FnMut(__SlyzA) -> __SlyzB,
            ) -> #to { #body }
        };
        self.impl_for(quote!(Functor), items)
    }

    fn applicative(&self) -> TokenStream {
        let [a, b, c] = [quote!(__SlyzA), quote!(__SlyzB), quote!(__SlyzC)].map(|element| self.of(element));
        let pure = self.literal(|family, Field { span, .. }| {
            quote_spanned!(*span=> <#family as ::slyz::naperian::Applicative>::pure_with(&mut __slyz_make))
        });
        let lift = self.literal(|family, Field { member, span, .. }| {
            quote_spanned! {*span=>
                <#family as ::slyz::naperian::Applicative>::lift_a2(
                    &mut __slyz_f, __slyz_fa.#member, __slyz_fb.#member,
                )
            }
        });
        let items = quote! {
            fn pure_with<__SlyzA>(mut __slyz_make: impl ::core::ops::FnMut() -> __SlyzA) -> #a { #pure }
            fn lift_a2<__SlyzA, __SlyzB, __SlyzC>(
                mut __slyz_f: impl ::core::ops::FnMut(__SlyzA, __SlyzB) -> __SlyzC,
                __slyz_fa: #a,
                __slyz_fb: #b,
            ) -> #c { #lift }
        };
        self.impl_for(quote!(Applicative), items)
    }

    fn foldable(&self) -> TokenStream {
        let from = self.of(quote!(__SlyzA));
        let steps = self
            .each(|family, Field { member, span, .. }| {
                quote_spanned! {*span=>
                    let __slyz_rest = <#family as ::slyz::naperian::Foldable>::foldr(
                        __slyz_fa.#member, __slyz_rest, &mut __slyz_f,
                    );
                }
            })
            .rev();
        let items = quote! {
            fn foldr<__SlyzA, __SlyzB>(
                __slyz_fa: #from,
                __slyz_rest: __SlyzB,
                mut __slyz_f: impl ::core::ops::FnMut(__SlyzA, __SlyzB) -> __SlyzB,
            ) -> __SlyzB {
                #(#steps)*
                __slyz_rest
            }
        };
        self.impl_for(quote!(Foldable), items)
    }

    /// The effects are zipped field by field into nested pairs, `((r, g), b)`, which the last step takes apart.
    fn traverse(&self) -> TokenStream {
        let from = self.of(quote!(__SlyzA));
        let to = self.of(quote!(__SlyzB));
        let mut walked = self.each(|family, Field { member, span, .. }| {
            quote_spanned! {*span=>
                <#family as ::slyz::naperian::Traverse>::traverse::<__SlyzG, __SlyzA, __SlyzB>(
                    __slyz_fa.#member, &mut __slyz_f,
                )
            }
        });
        let member = |field: &Field| {
            let family = &field.family;
            family.as_ref().map_or(quote!(__SlyzB), |family| quote!(::slyz::naperian::Of<#family, __SlyzB>))
        };
        // Every struct with a parameter has a field, or rustc has rejected it.
        let (Some(first), Some(start)) = (walked.next(), self.fields.first()) else { return TokenStream::new() };
        let mut ty = member(start);
        let mut pattern = start.local.to_token_stream();
        let mut steps = quote!(let __slyz_all = #first;);
        for (walked, field) in walked.zip(&self.fields[1..]) {
            let next = member(field);
            let local = &field.local;
            steps.extend(quote! {
                let __slyz_next = #walked;
                let __slyz_all = <__SlyzG as ::slyz::naperian::Applicative>::zip::<#ty, #next>(__slyz_all, __slyz_next);
            });
            (ty, pattern) = (quote!((#ty, #next)), quote!((#pattern, #local)));
        }
        let rebuilt = self.literal(|_, Field { local, .. }| quote!(#local));
        let items = quote! {
            fn traverse<__SlyzG: ::slyz::naperian::Applicative, __SlyzA, __SlyzB>(
                __slyz_fa: #from,
                mut __slyz_f: impl ::core::ops::FnMut(__SlyzA) -> ::slyz::naperian::Of<__SlyzG, __SlyzB>,
            ) -> ::slyz::naperian::Of<__SlyzG, #to> {
                #steps
                <__SlyzG as ::slyz::naperian::Functor>::map::<#ty, #to>(__slyz_all, |#pattern| #rebuilt)
            }
        };
        self.impl_for(quote!(Traverse), items)
    }

    fn naperian(&self) -> TokenStream {
        let member = self.of(quote!(__SlyzA));
        let positions = self.with_consts(&self.log);
        let log = &self.log;
        let tabulate = self.literal(|family, Field { variant, family: nested, span, .. }| match nested {
            None => quote_spanned!(*span=> __slyz_f(#log::#variant)),
            Some(_) => quote_spanned! {*span=>
                <#family as ::slyz::naperian::Naperian>::tabulate(|__slyz_at| __slyz_f(#log::#variant(__slyz_at)))
            },
        });
        let arms = self.each(|family, Field { member, variant, family: nested, span, .. }| match nested {
            None => quote_spanned!(*span=> #log::#variant => &__slyz_fa.#member),
            Some(_) => quote_spanned! {*span=>
                #log::#variant(__slyz_at) =>
                    <#family as ::slyz::naperian::Naperian>::index(&__slyz_fa.#member, __slyz_at)
            },
        });
        let items = quote! {
            type Log = #positions;
            fn tabulate<__SlyzA>(mut __slyz_f: impl ::core::ops::FnMut(#positions) -> __SlyzA) -> #member { #tabulate }
            fn index<__SlyzA>(__slyz_fa: &#member, __slyz_position: #positions) -> &__SlyzA {
                match __slyz_position { #(#arms),* }
            }
        };
        self.impl_for(quote!(Naperian), items)
    }

    fn dimension(&self) -> TokenStream {
        let sizes =
            self.each(|family, field| quote_spanned!(field.span=> <#family as ::slyz::naperian::Dimension>::SIZE));
        let dimension = self.impl_for(quote!(Dimension), quote!(const SIZE: usize = 0 #(+ #sizes)*;));
        let consts = &self.consts;
        let this = self.with_consts(&self.family);
        quote! {
            #dimension
            ::slyz::__dimension_axis!([#(#consts),*] #this);
        }
    }
}

/// The family of a type of fields; `None` for the element itself.
fn family(ty: &Type, element: &Ident) -> syn::Result<Option<TokenStream>> {
    let part = |ty: &Type| family(ty, element).map(|it| it.unwrap_or_else(|| quote!(::slyz::naperian::Id)));
    let span = ty.span();
    match ty {
        Type::Path(path) if path.path.is_ident(element) => Ok(None),
        Type::Array(array) => {
            let inner = family(&array.elem, element)?;
            let len = &array.len;
            // Not `Array<{ #len }>`: rustc warns of the braces, and a length that is an expression needs them.
            let outer = quote_spanned!(span=> <[(); #len] as ::slyz::naperian::Container>::Family);
            Ok(Some(match inner {
                None => outer,
                Some(inner) => quote_spanned!(span=> ::slyz::naperian::Compose<#outer, #inner>),
            }))
        }
        Type::Tuple(tuple) if tuple.elems.len() == 2 => {
            let first = part(&tuple.elems[0])?;
            let second = part(&tuple.elems[1])?;
            Ok(Some(quote_spanned!(span=> ::slyz::naperian::Pair<#first, #second>)))
        }
        Type::Paren(inner) => family(&inner.elem, element),
        Type::Group(inner) => family(&inner.elem, element),
        Type::Path(path) => named_family(path, element),
        _ => Err(Error::new(span, FIELD)),
    }
}

/// The family of `Name<T>`, which `Name` itself tells; that of `Name<[T; 2]>` is composed.
fn named_family(path: &syn::TypePath, element: &Ident) -> syn::Result<Option<TokenStream>> {
    let wrong = || Error::new(path.span(), FIELD);
    let mut named = path.clone();
    let last = named.path.segments.last_mut().ok_or_else(wrong)?;
    let PathArguments::AngleBracketed(args) = &mut last.arguments else { return Err(wrong()) };
    let mut types = args.args.iter_mut().filter_map(|arg| match arg {
        GenericArgument::Type(ty) if mentions(ty, std::slice::from_ref(element)) => Some(ty),
        _ => None,
    });
    let (Some(ty), None) = (types.next(), types.next()) else { return Err(wrong()) };
    let inner = family(ty, element)?;
    *ty = syn::parse_quote!(());
    let span = path.span();
    let outer = quote_spanned!(span=> <#named as ::slyz::naperian::Container>::Family);
    Ok(Some(match inner {
        None => outer,
        Some(inner) => quote_spanned!(span=> ::slyz::naperian::Compose<#outer, #inner>),
    }))
}

/// The variant for a field: `left_eye` is at `LeftEye`.
fn variant(field: &Ident) -> Ident {
    let mut name = String::new();
    for word in field.unraw().to_string().split('_') {
        let mut letters = word.chars();
        name.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        name.push_str(letters.as_str());
    }
    match syn::parse_str::<Ident>(&name) {
        Ok(ident) => Ident::new(&ident.to_string(), field.span()),
        // `self_` and `_1` leave no name.
        Err(_) => format_ident!("At{}", name, span = field.span()),
    }
}

const BOUNDS: &str = "the elements of a container cannot be bounded: `map` makes elements of any type\n\
    help: put the bound on the functions that need it";

const FIELD: &str = "a field of a container is an element, `T`, or a container of elements: `[T; 3]`, `(T, T)`, or a \
    struct with `#[derive(Naperian)]` such as `Rgb<T>`";
