//! `#[derive(Elem)]`: a struct of elements is an element, stored as one buffer per leaf.
//!
//! ```text
//! struct Rgb<T> { r: T, .. }     Elem for Rgb<T>            where T: Elem      the host form
//!                                Value for Rgb<T>           where T: Value     the traced form
//!                                State for Rgb<T>           where T: State     carried by loops
//!                                LoopState<Rgb<T>> for Rgb<V>  where V: LoopState<T>  what those start with
//!                                Traced for Rgb<T>          where T: Traced    tells that from constants
//!                                Lift<Rgb<T>> for Rgb<V>    where V: Lift<T>   either, or mixed, to the traced form
//!                                Phi, FunctionArg for Rgb<T>        where T: Phi, FunctionArg  in `#[function]`s
//!                                Additive for Rgb<T>        where T: Additive  sums, part by part
//!                                Param for Rgb<T>           where T: Param     a parameter of compiled functions
//!                                Record for Rgb<T>          where T: Value     a result of them
//!                                Arrays for Rgb<T>          where T: Value, Arrays   a field of structs of arrays
//!                                Feed<Rgb<T>> for Rgb<V>    where V: Feed<T>   an argument of them
//! ```
//!
//! Every trait goes through the fields in order, by the same trait of the field's type; so a field may be a parameter,
//! or an array, a tuple or another such struct of them. A field of a fixed type has no traced form and is rejected.

use crate::fields::{Field, Fields, struct_of};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{DeriveInput, Error, GenericParam, Generics, Member, Type, TypeParamBound, WherePredicate, parse_quote};

/// The whole macro.
pub fn expand(item: TokenStream) -> TokenStream {
    syn::parse2(item).and_then(|input| Struct::read(&input)).map_or_else(Error::into_compile_error, |it| it.implement())
}

/// What the parameters of an implementation stand for. Whatever form the struct gets from it must be `Copy`.
#[derive(Clone, Copy)]
enum ParamForm {
    /// Elements, which have a traced form.
    Host,
    /// Traced values, which have a host form.
    Traced,
    /// Constants and traced values, which have both.
    Mixed,
    /// One of the first two, and nobody asks for the other.
    Either,
}

struct Struct {
    name: Ident,
    /// The declared parameters, with their bounds, without defaults.
    generics: Generics,
    params: Vec<Ident>,
    fields: Fields,
}

impl Struct {
    fn read(input: &DeriveInput) -> syn::Result<Struct> {
        let name = input.ident.clone();
        let data = struct_of(input, "Elem", "make the enum an axis with `#[derive(Axis)]`")?;
        let (generics, params) = parameters(input, &data.fields)?;
        let fields = Fields::read(&data.fields);
        if let Some(Field { member, ty }) = fields.0.iter().find(|field| !mentions(&field.ty, &params)) {
            return Err(Error::new(ty.span(), fixed_field(member, ty)));
        }
        Ok(Struct { name, generics, params, fields })
    }

    fn implement(&self) -> TokenStream {
        let parts = [
            self.copy(),
            self.elem(),
            self.value(),
            self.state(),
            self.loop_state(),
            self.traced(),
            self.lift(),
            self.phi(),
            self.arg(),
            self.additive(),
            self.param(),
            self.record(),
            self.arrays(),
            self.feed(),
        ];
        quote!(#(#parts)*)
    }

    /// `impl<T: Class> ::slyz::Class for Name<T> { items }`
    fn impl_for(&self, class: TokenStream, form: ParamForm, items: TokenStream) -> TokenStream {
        self.impl_where(class.clone(), class, form, items)
    }

    /// `impl<T: Bound> ::slyz::Class for Name<T> where Name<T>: Copy { items }`
    fn impl_where(&self, class: TokenStream, bound: TokenStream, form: ParamForm, items: TokenStream) -> TokenStream {
        let mut generics = self.bounded(&bound);
        self.require_copy(&mut generics, form);
        let name = &self.name;
        let (header, args, clause) = generics.split_for_impl();
        quote!(#[automatically_derived] impl #header #class for #name #args #clause { #items })
    }

    /// The parameters, with one more bound each.
    fn bounded(&self, bound: &TokenStream) -> Generics {
        let mut generics = self.generics.clone();
        for param in generics.type_params_mut() {
            param.bounds.push(parse_quote!(#bound));
        }
        generics
    }

    /// That the struct is `Copy` is told once, by [`Struct::copy`]. The implementations ask for it, so that each is well formed
    /// where it is not.
    fn require_copy(&self, generics: &mut Generics, form: ParamForm) {
        let this = self.with(|param| quote!(#param));
        let forms = match form {
            ParamForm::Host => vec![this, self.with(|param| quote!(<#param as ::slyz::Elem>::Exp))],
            ParamForm::Traced => vec![this, self.with(|param| quote!(<#param as ::slyz::Value>::Elem))],
            ParamForm::Mixed => vec![
                self.with(|param| quote!(<#param as ::slyz::Traced>::Form)),
                self.with(|param| quote!(::slyz::ElemOf<#param>)),
            ],
            ParamForm::Either => vec![this],
        };
        let clause = generics.make_where_clause();
        clause
            .predicates
            .extend(forms.iter().map(|form| -> WherePredicate { parse_quote!(#form: ::core::marker::Copy) }));
    }

    /// The one error of a struct that is not `Copy`.
    fn copy(&self) -> TokenStream {
        let generics = self.bounded(&quote!(::core::marker::Copy));
        let (header, _, _) = generics.split_for_impl();
        let this = self.with(|param| quote!(#param));
        let check = quote_spanned!(self.name.span()=> ::slyz::__private::copied::<#this>());
        quote!(const _: () = { #[allow(dead_code)] fn __slyz_copied #header () { #check } };)
    }

    /// The struct with every type parameter replaced.
    fn with(&self, replace: impl Fn(&Ident) -> TokenStream) -> TokenStream {
        let name = &self.name;
        let args = self.generics.params.iter().map(|param| match param {
            GenericParam::Type(param) => replace(&param.ident),
            GenericParam::Const(param) => {
                let ident = &param.ident;
                quote!(#ident)
            }
            GenericParam::Lifetime(param) => {
                let lifetime = &param.lifetime;
                quote!(#lifetime)
            }
        });
        quote!(#name<#(#args),*>)
    }

    fn elem(&self) -> TokenStream {
        let exp = self.with(|param| quote!(<#param as ::slyz::Elem>::Exp));
        let parts =
            self.fields.each(|ty, _, span| quote_spanned!(span=> __slyz_out.extend(<#ty as ::slyz::Elem>::parts());));
        let store = self
            .fields
            .each(|ty, member, span| quote_spanned!(span=> <#ty as ::slyz::Elem>::store(self.#member, __slyz_out);));
        let load = self
            .fields
            .literal(&self.name, |ty, _, span| quote_spanned!(span=> <#ty as ::slyz::Elem>::load(__slyz_next)));
        let items = quote! {
            type Exp = #exp;
            fn parts() -> ::std::vec::Vec<::slyz::__private::Leaf> {
                let mut __slyz_out = ::std::vec::Vec::new();
                #parts
                __slyz_out
            }
            fn store(self, __slyz_out: &mut ::std::vec::Vec<::slyz::__private::Scalar>) { #store }
            fn load(__slyz_next: &mut dyn ::core::ops::FnMut() -> ::slyz::__private::Scalar) -> Self { #load }
        };
        self.impl_for(quote!(::slyz::Elem), ParamForm::Host, items)
    }

    fn value(&self) -> TokenStream {
        let elem = self.with(|param| quote!(<#param as ::slyz::Value>::Elem));
        let leaves = self
            .fields
            .each(|ty, member, span| quote_spanned!(span=> <#ty as ::slyz::Value>::leaves(self.#member, __slyz_out);));
        let build = self
            .fields
            .literal(&self.name, |ty, _, span| quote_spanned!(span=> <#ty as ::slyz::Value>::build(__slyz_next)));
        let items = quote! {
            type Elem = #elem;
            fn leaves(self, __slyz_out: &mut ::std::vec::Vec<::slyz::__private::Handle>) { #leaves }
            fn build(__slyz_next: &mut dyn ::core::ops::FnMut() -> ::slyz::__private::Handle) -> Self { #build }
        };
        self.impl_for(quote!(::slyz::Value), ParamForm::Traced, items)
    }

    fn state(&self) -> TokenStream {
        self.impl_for(quote!(::slyz::State), ParamForm::Either, self.fields.state(&self.name))
    }

    fn param(&self) -> TokenStream {
        self.impl_for(quote!(::slyz::Param), ParamForm::Either, self.fields.param(&self.name))
    }

    fn loop_state(&self) -> TokenStream {
        let class = quote!(::slyz::LoopState);
        let (name, (_, target, _)) = (&self.name, self.generics.split_for_impl());
        let fields = |from: &Type, to: &Type, member: &Member, span| {
            let value = quote_spanned!(span=> <#from as #class<#to>>::start(self.#member));
            quote!(#member: #value)
        };
        let start = self.between(fields);
        let items = quote! {
            #[track_caller]
            fn start(self) -> #name #target { #name { #(#start),* } }
        };
        self.impl_between(class, quote!(::slyz::State), ParamForm::Either, items)
    }

    fn traced(&self) -> TokenStream {
        let form = self.with(|param| quote!(<#param as ::slyz::Traced>::Form));
        self.impl_for(quote!(::slyz::Traced), ParamForm::Mixed, quote!(type Form = #form;))
    }

    fn lift(&self) -> TokenStream {
        let (name, (_, target, _)) = (&self.name, self.generics.split_for_impl());
        let fields = |from: &Type, to: &Type, member: &Member, span| {
            let value = quote_spanned!(span=> <#from as ::slyz::Lift<#to>>::lift(self.#member));
            quote!(#member: #value)
        };
        let lift = self.between(fields);
        let items = quote! {
            #[track_caller]
            fn lift(self) -> <#name #target as ::slyz::Elem>::Exp { #name { #(#lift),* } }
        };
        self.impl_between(quote!(::slyz::Lift), quote!(::slyz::Elem), ParamForm::Host, items)
    }

    fn feed(&self) -> TokenStream {
        let class = quote!(::slyz::__private::Feed);
        let fields = |from: &Type, to: &Type, member: &Member, span| quote_spanned!(span=> <#from as #class<#to>>::feed(&self.#member, __slyz_out););
        let feed = self.between(fields);
        let items = quote! {
            fn feed<'__slyz>(&'__slyz self, __slyz_out: &mut ::slyz::__private::Fed<'__slyz>) { #(#feed)* }
        };
        self.impl_between(class, quote!(::slyz::Param), ParamForm::Either, items)
    }

    fn additive(&self) -> TokenStream {
        self.impl_for(quote!(::slyz::Additive), ParamForm::Host, quote!())
    }

    fn record(&self) -> TokenStream {
        self.impl_where(quote!(::slyz::__private::Record), quote!(::slyz::Value), ParamForm::Traced, quote!())
    }

    fn arrays(&self) -> TokenStream {
        let elem = self.with(|param| quote!(<#param as ::slyz::Value>::Elem));
        let items = quote!(type Tensors = ::slyz::Tensor<#elem, ()>;);
        self.impl_where(quote!(::slyz::Arrays), quote!(::slyz::__private::ArraysValue), ParamForm::Traced, items)
    }

    /// The parameter of what stands for a value, beside the one of the value.
    fn fresh(param: &Ident) -> Ident {
        format_ident!("__Slyz{param}")
    }

    /// One expression per field of a trait between two forms of the struct.
    fn between(&self, field: impl Fn(&Type, &Type, &Member, Span) -> TokenStream) -> Vec<TokenStream> {
        let one = |Field { member, ty }: &Field| {
            let mut from = ty.clone();
            Rename { params: &self.params, fresh: &Self::fresh }.visit_type_mut(&mut from);
            field(&from, ty, member, ty.span())
        };
        self.fields.0.iter().map(one).collect()
    }

    /// `impl<T: Bound, V: Class<T>> Class<Name<T>> for Name<V> { items }`: its own parameters stand for the result, fresh
    /// ones for what is made into it.
    fn impl_between(&self, class: TokenStream, bound: TokenStream, form: ParamForm, items: TokenStream) -> TokenStream {
        let name = &self.name;
        let mut generics = self.bounded(&bound);
        self.require_copy(&mut generics, form);
        for param in self.generics.type_params() {
            let from = Self::fresh(&param.ident);
            let to = &param.ident;
            let bounds = param.bounds.iter();
            generics.params.push(parse_quote!(#from: #class<#to> #(+ #bounds)*));
        }
        // Type parameters may follow constant ones, so the order is no concern.
        let (header, _, clause) = generics.split_for_impl();
        let (_, target, _) = self.generics.split_for_impl();
        let this = self.with(|param| {
            let from = Self::fresh(param);
            quote!(#from)
        });
        quote!(#[automatically_derived] impl #header #class<#name #target> for #this #clause { #items })
    }

    fn phi(&self) -> TokenStream {
        let class = quote!(::slyz::__private::Phi);
        let leaves = self
            .fields
            .each(|ty, member, span| quote_spanned!(span=> <#ty as #class>::leaves(self.#member, __slyz_out);));
        let build = self.fields.literal(
            &self.name,
            |ty, member, span| quote_spanned!(span=> <#ty as #class>::build(__slyz_like.#member, __slyz_next)),
        );
        let items = quote! {
            fn leaves(self, __slyz_out: &mut ::std::vec::Vec<::slyz::__private::Handle>) { #leaves }
            fn build(
                __slyz_like: Self,
                __slyz_next: &mut dyn ::core::ops::FnMut() -> ::slyz::__private::Handle,
            ) -> Self { #build }
        };
        self.impl_for(class, ParamForm::Either, items)
    }

    fn arg(&self) -> TokenStream {
        self.impl_for(quote!(::slyz::__private::FunctionArg), ParamForm::Either, self.fields.function_arg(&self.name))
    }
}

/// Checks the parameters; gives them without defaults, and the names of the type parameters.
fn parameters(input: &DeriveInput, fields: &syn::Fields) -> syn::Result<(Generics, Vec<Ident>)> {
    let mut generics = input.generics.clone();
    if let Some(clause) = &generics.where_clause {
        return Err(Error::new_spanned(clause, BOUNDS));
    }
    for param in &mut generics.params {
        match param {
            GenericParam::Type(param) => {
                if let Some(bound) = param.bounds.iter().find(|bound| !is_copy(bound)) {
                    return Err(Error::new_spanned(bound, BOUNDS));
                }
                (param.eq_token, param.default) = (None, None);
            }
            GenericParam::Const(param) => (param.eq_token, param.default) = (None, None),
            GenericParam::Lifetime(param) => {
                let message = "an element owns its data: it cannot have a lifetime";
                return Err(Error::new_spanned(param, message));
            }
        }
    }
    let params: Vec<Ident> = generics.type_params().map(|param| param.ident.clone()).collect();
    if params.is_empty() {
        return Err(Error::new(input.ident.span(), not_generic(input, fields)));
    }
    Ok((generics, params))
}

fn is_copy(bound: &TypeParamBound) -> bool {
    let TypeParamBound::Trait(bound) = bound else { return false };
    bound.path.segments.last().is_some_and(|last| last.ident == "Copy" || last.ident == "Clone")
}

/// Whether the type depends on one of the parameters.
pub(crate) fn mentions(ty: &Type, params: &[Ident]) -> bool {
    struct Search<'a>(&'a [Ident], bool);
    impl Visit<'_> for Search<'_> {
        fn visit_type_path(&mut self, it: &syn::TypePath) {
            self.1 |= it.path.get_ident().is_some_and(|name| self.0.contains(name));
            visit::visit_type_path(self, it);
        }
    }
    let mut search = Search(params, false);
    search.visit_type(ty);
    search.1
}

/// Puts fresh names for the parameters in a type.
struct Rename<'a> {
    params: &'a [Ident],
    fresh: &'a dyn Fn(&Ident) -> Ident,
}

impl VisitMut for Rename<'_> {
    fn visit_type_path_mut(&mut self, it: &mut syn::TypePath) {
        if let Some(name) = it.path.get_ident().filter(|name| self.params.contains(name)) {
            it.path = (self.fresh)(name).into();
        }
        visit_mut::visit_type_path_mut(self, it);
    }
}

fn text(tokens: impl quote::ToTokens) -> String {
    tokens.to_token_stream().to_string()
}

fn fixed_field(member: &Member, ty: &Type) -> String {
    let member = text(member);
    let ty = text(ty);
    format!(
        "field `{member}` has the fixed type `{ty}`, but in traced code it must be the traced form of `{ty}`\n\
         help: give it a type parameter: `struct Name<.., A> {{ .., {member}: A }}`, and write `{ty}` where the struct \
         is used"
    )
}

/// Says how the very struct would be written.
fn not_generic(input: &DeriveInput, fields: &syn::Fields) -> String {
    let name = &input.ident;
    let mut types: Vec<String> = Vec::new();
    let written: Vec<String> = fields
        .iter()
        .map(|field| {
            let ty = text(&field.ty);
            let at = types.iter().position(|known| *known == ty).unwrap_or_else(|| {
                types.push(ty);
                types.len() - 1
            });
            let param = letter(at);
            field.ident.as_ref().map_or(param.clone(), |ident| format!("{ident}: {param}"))
        })
        .collect();
    if types.is_empty() {
        return "an element needs a field: it would store nothing".to_owned();
    }
    let params = (0..types.len()).map(letter).collect::<Vec<_>>().join(", ");
    let written = written.join(", ");
    let types = types.join(", ");
    let body = match fields {
        syn::Fields::Named(_) => format!(" {{ {written} }}"),
        syn::Fields::Unnamed(_) | syn::Fields::Unit => format!("({written});"),
    };
    format!(
        "an element struct must be generic in its field types: its traced form has other fields than its host form\n\
         help: write `struct {name}<{params}>{body}`; the host form is then `{name}<{types}>`"
    )
}

fn letter(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at) if at < 26 => char::from(b'A' + at).to_string(),
        _ => format!("T{at}"),
    }
}

const BOUNDS: &str = "a parameter of an element struct cannot be bounded: it is `f32` in one place, `Exp<f32>` in another\n\
    help: put the bound on the functions that need it";
