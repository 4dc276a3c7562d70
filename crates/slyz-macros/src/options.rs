//! What stands in the parentheses of `#[function(..)]` and `#[graph(..)]`: words, and how precise the code is.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, LitStr, Token};

/// The precisions, by their names and as `::slyz::Precision` has them.
const PRECISIONS: [(&str, &str); 3] = [("native", "Native"), ("table", "Table"), ("exact", "Exact")];

/// The options of an attribute.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// Which of its words are there.
    pub words: [bool; 2],
    /// The place of a precision among [`PRECISIONS`].
    precision: Option<usize>,
}

impl Options {
    /// Reads the options of `#[attribute(word, precision = "..")]`, all of which may be missing. An attribute has at most two words.
    pub fn read(attribute: &str, words: &[&str], tokens: TokenStream) -> syn::Result<Options> {
        (|input: ParseStream| Options::parse(attribute, words, input)).parse2(tokens)
    }

    fn parse(attribute: &str, words: &[&str], input: ParseStream) -> syn::Result<Options> {
        let listed = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let known = format!("`#[{attribute}]` has the options {listed} and `precision = \"..\"`");
        let mut options = Options::default();
        while !input.is_empty() {
            let option = input.call(Ident::parse_any).map_err(|e| Error::new(e.span(), &known))?;
            let name = option.to_string();
            let word = words.iter().zip(&mut options.words).find(|(word, _)| **word == name);
            match (name, word) {
                (_, Some((_, said))) if !*said => *said = true,
                (name, None) if name == "precision" && options.precision.is_none() => {
                    input.parse::<Token![=]>()?;
                    options.precision = Some(precision(&input.parse()?)?);
                }
                (name, word) if word.is_some() || name == "precision" => {
                    return Err(Error::new(option.span(), format_args!("`{name}` is said twice")));
                }
                (name, _) => return Err(Error::new(option.span(), format_args!("unknown option `{name}`: {known}"))),
            }
            if !input.is_empty() && input.parse::<Token![,]>().is_err() {
                return Err(input.error(known));
            }
        }
        Ok(options)
    }

    /// The precision by its name.
    #[cfg(feature = "graph")]
    pub fn precision_name(&self) -> Option<&'static str> {
        self.precision.map(|at| PRECISIONS[at].0)
    }

    /// The precision as an expression.
    pub fn precision(&self) -> Option<TokenStream> {
        self.precision.map(|at| {
            let variant = format_ident!("{}", PRECISIONS[at].1);
            quote!(::slyz::Precision::#variant)
        })
    }
}

fn precision(name: &LitStr) -> syn::Result<usize> {
    let found = PRECISIONS.iter().position(|(known, _)| *known == name.value());
    let known = || PRECISIONS.map(|(name, _)| name).join(", ");
    let error = || Error::new(name.span(), format!("there is no precision `{}`; there are {}", name.value(), known()));
    found.ok_or_else(error)
}
