//! Places of the surface tree for tokens of rustc's.
//!
//! A place of the tree is a number in a list of rustc's spans. Two are added for every piece of syntax, those of its first
//! and of its last token, so that a span of the tree gives back both ends.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use slyz_lang::span::Span;

/// rustc's spans, by place.
#[derive(Default)]
pub struct Spans {
    list: Vec<proc_macro2::Span>,
}

impl Spans {
    /// The place of a piece of syntax.
    pub fn of(&mut self, syntax: &impl ToTokens) -> Span {
        let tokens: Vec<_> = syntax.to_token_stream().into_iter().collect();
        let here = proc_macro2::Span::call_site();
        let first = tokens.first().map_or(here, proc_macro2::TokenTree::span);
        let last = tokens.last().map_or(here, proc_macro2::TokenTree::span);
        self.between(first, last)
    }

    /// The place from one token to another.
    pub fn between(&mut self, first: proc_macro2::Span, last: proc_macro2::Span) -> Span {
        let start = self.list.len() as u32;
        self.list.extend([first, last]);
        Span::new(start, start + 2)
    }

    /// rustc's spans of the first and of the last token.
    pub fn ends(&self, span: Span) -> (proc_macro2::Span, proc_macro2::Span) {
        let at = |place: u32| self.list.get(place as usize).copied().unwrap_or_else(proc_macro2::Span::call_site);
        (at(span.start), at(span.end.saturating_sub(1).max(span.start)))
    }

    /// Two tokens that stand where the span begins and ends: what an error is reported at.
    pub fn tokens(&self, span: Span) -> TokenStream {
        let (first, last) = self.ends(span);
        let first = Ident::new("first", first);
        let last = Ident::new("last", last);
        quote!(#first #last)
    }
}
