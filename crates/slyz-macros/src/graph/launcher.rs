//! The function that users call for a kernel: it gathers the arguments, and gives a launch.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use slyz_sir::launch::Template;
use syn::Visibility;
use syn::ext::IdentExt;

/// What is passed for a parameter. Types are tokens of Rust.
pub enum Passed {
    /// A tensor that is read: its elements, how many axes it has.
    Read(TokenStream, usize),
    /// One that is written.
    Write(TokenStream, usize),
    /// A number or `bool`.
    Scalar(TokenStream),
}

/// A function to be written.
pub struct Launcher<'k> {
    /// What stands in front of it.
    pub attrs: TokenStream,
    pub vis: &'k Visibility,
    pub name: &'k Ident,
    pub params: Vec<(Ident, Passed)>,
    /// What each thread gives, and how many axes the threads have.
    pub gives: Option<(TokenStream, usize)>,
    /// None where an error is told beside it: the function keeps its callers quiet.
    pub template: Option<&'k Template>,
    pub unchecked: bool,
}

impl Launcher<'_> {
    /// The function.
    pub fn write(self) -> TokenStream {
        let mut params = vec![];
        let mut passed = vec![];
        for (param, kind) in &self.params {
            match kind {
                Passed::Write(elem, rank) => {
                    params.push(quote!(#param: impl ::slyz::graph::InOut<'slyz, #elem, #rank>));
                    passed.push(quote!(.write(#param)));
                }
                Passed::Read(elem, rank) => {
                    params.push(quote!(#param: impl ::slyz::graph::Input<'slyz, #elem, #rank>));
                    passed.push(quote!(.read(#param)));
                }
                Passed::Scalar(ty) => {
                    params.push(quote!(#param: #ty));
                    passed.push(quote!(.scalar(#param)));
                }
            }
        }
        let Launcher { attrs, vis, name, gives, template, unchecked, .. } = self;
        let text = template.map(|template| template.kernel.to_string()).unwrap_or_default();
        let constants = template.iter().flat_map(|template| &template.constants).map(|bits| quote!(&[#(#bits),*]));
        let launch = if unchecked { quote!(UncheckedLaunch) } else { quote!(Launch) };
        let end = if unchecked { quote!(.unchecked()) } else { quote!() };
        let name_text = name.unraw().to_string();
        // A function that gives a number may be there for kernels only. Its accesses are watched.
        let (launch, end, unused) = match gives {
            Some((ty, rank)) => {
                (quote!(GivingLaunch<'slyz, #ty, #rank>), quote!(.giving()), quote!(#[allow(dead_code)]))
            }
            None => (quote!(#launch<'slyz>), end, quote!()),
        };
        let result = quote_spanned!(name.span()=> ::slyz::graph::#launch);
        quote! {
            #attrs
            #unused
            #[allow(clippy::too_many_arguments)]
            #vis fn #name<'slyz>(#(#params),*) -> #result {
                static KERNEL: ::slyz::graph::EmbeddedKernel = ::slyz::graph::EmbeddedKernel::new(#name_text, #text, &[#(#constants),*]);
                ::slyz::graph::Launch::new(&KERNEL) #(#passed)* #end
            }
        }
    }
}
