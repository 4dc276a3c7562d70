//! `einsum!("ij,jk->ik", a, b)`: the letters become the axes of a function, and rustc checks them where it is called.
//!
//! ```text
//! {
//!     #[track_caller]
//!     fn einsum<T: Num, I: Axis, J: Axis, K: Axis>(a0: Arr<T, (I, J)>, a1: Arr<T, (J, K)>) -> Arr<T, (I, K)> {
//!         tabulate(|(i, k): (Idx<I>, Idx<K>)| sum(|j: Idx<J>| a0.at((i, j)) * a1.at((j, k))))
//!     }
//!     einsum(a, b)
//! }
//! ```

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitStr, Result, Token};

/// The whole macro.
pub fn expand(item: TokenStream) -> TokenStream {
    syn::parse2::<Call>(item).and_then(|call| call.expand()).unwrap_or_else(Error::into_compile_error)
}

/// What stands between the parentheses.
struct Call {
    letters: LitStr,
    arrays: Vec<Expr>,
}

impl Parse for Call {
    fn parse(input: ParseStream) -> Result<Call> {
        let letters: LitStr = input.parse()?;
        let arrays = match input.is_empty() {
            true => Punctuated::new(),
            false => {
                input.parse::<Token![,]>()?;
                Punctuated::<Expr, Token![,]>::parse_terminated(input)?
            }
        };
        Ok(Call { letters, arrays: arrays.into_iter().collect() })
    }
}

/// How many axes an array may have.
const MOST_AXES: usize = 6;

impl Call {
    fn error<T>(&self, message: String) -> Result<T> {
        Err(Error::new(self.letters.span(), message))
    }

    /// The letters of each array, and of the result.
    fn read(&self) -> Result<(Vec<Vec<char>>, Vec<char>)> {
        let text: String = self.letters.value().chars().filter(|c| !c.is_whitespace()).collect();
        let (before, after) = match text.split_once("->") {
            Some((before, after)) => (before, Some(after)),
            None => (text.as_str(), None),
        };
        let arrays: Vec<Vec<char>> = before.split(',').map(|letters| letters.chars().collect()).collect();
        let result = after.map_or_else(|| once(&arrays), |letters| letters.chars().collect());
        if let Some(other) = arrays.iter().flatten().chain(&result).find(|letter| !letter.is_ascii_alphabetic()) {
            return self.error(format!("an axis is a letter, found `{other}`\nhelp: write `\"ij,jk->ik\"`"));
        }
        if let Some(new) = result.iter().find(|letter| !arrays.iter().flatten().any(|known| known == *letter)) {
            return self.error(format!("the result has an axis `{new}` that no array has"));
        }
        if let Some(twice) = result.iter().enumerate().find(|(k, letter)| result[..*k].contains(letter)) {
            return self
                .error(format!("the result has the axis `{}` twice\nhelp: sum over it, or name it once", twice.1));
        }
        if arrays.len() != self.arrays.len() {
            let told = arrays.len();
            let found = self.arrays.len();
            return self.error(format!("the letters are those of {told} arrays, but there are {found}"));
        }
        if let Some(long) = arrays.iter().chain([&result]).find(|letters| letters.len() > MOST_AXES) {
            return self.error(format!("`{}` are more than {MOST_AXES} axes", long.iter().collect::<String>()));
        }
        Ok((arrays, result))
    }

    fn expand(&self) -> Result<TokenStream> {
        let (arrays, result) = self.read()?;
        let mut summed: Vec<char> = vec![];
        for &letter in arrays.iter().flatten() {
            if !result.contains(&letter) && !summed.contains(&letter) {
                summed.push(letter);
            }
        }
        if summed.len() > MOST_AXES {
            return self.error(format!("sums go over at most {MOST_AXES} axes at once"));
        }
        let axes: Vec<Ident> = result.iter().chain(&summed).map(|&letter| axis(letter)).collect();
        let names: Vec<Ident> = (0..arrays.len()).map(|k| format_ident!("__slyz_array_{k}")).collect();
        let shapes = arrays.iter().map(|letters| tuple(letters, &|letter| axis(letter)));
        let product = product(&arrays, &names);
        let (output, body) = formula(&result, &summed, product);
        let given = &self.arrays;
        Ok(quote!({
            #[track_caller]
            #[allow(non_camel_case_types, clippy::too_many_arguments)]
            fn __slyz_einsum<__SlyzElem: ::slyz::Num, #(#axes: ::slyz::Axis),*>(
                #(#names: ::slyz::Arr<__SlyzElem, #shapes>),*
            ) -> #output {
                #body
            }
            __slyz_einsum(#(#given),*)
        }))
    }
}

/// The letters that occur once, in alphabetical order.
fn once(arrays: &[Vec<char>]) -> Vec<char> {
    let all: Vec<char> = arrays.iter().flatten().copied().collect();
    let mut letters: Vec<char> = all.iter().copied().filter(|a| all.iter().filter(|b| *b == a).count() == 1).collect();
    letters.sort_unstable();
    letters
}

/// The axis of a letter. What rustc says about it names the letter.
fn axis(letter: char) -> Ident {
    format_ident!("Axis_{letter}")
}

/// The position of a letter.
fn place(letter: char) -> Ident {
    format_ident!("__slyz_at_{letter}")
}

/// Nothing, one, or a tuple.
fn tuple(letters: &[char], name: &dyn Fn(char) -> Ident) -> TokenStream {
    let names = letters.iter().map(|&letter| name(letter));
    match letters.len() {
        1 => quote!(#(#names)*),
        _ => quote!((#(#names),*)),
    }
}

/// The product of the elements.
fn product(arrays: &[Vec<char>], names: &[Ident]) -> TokenStream {
    let factors = arrays.iter().zip(names).map(|(letters, name)| {
        let position = tuple(letters, &|letter| place(letter));
        quote!(#name.at(#position))
    });
    factors.reduce(|product, factor| quote!(#product * #factor)).unwrap_or_default()
}

/// The type of the result, and how it is computed.
fn formula(result: &[char], summed: &[char], product: TokenStream) -> (TokenStream, TokenStream) {
    let closure = |letters: &[char], body: TokenStream| {
        let places = tuple(letters, &|letter| place(letter));
        let shape = tuple(letters, &|letter| axis(letter));
        quote!(|#places: ::slyz::Pos<#shape>| #body)
    };
    let element = match summed.is_empty() {
        true => product,
        false => {
            let body = closure(summed, product);
            quote!(::slyz::sum(#body))
        }
    };
    if result.is_empty() {
        return (quote!(::slyz::Exp<__SlyzElem>), element);
    }
    let shape = tuple(result, &|letter| axis(letter));
    let body = closure(result, element);
    (quote!(::slyz::Arr<__SlyzElem, #shape>), quote!(::slyz::tabulate(#body)))
}
