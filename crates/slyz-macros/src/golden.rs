//! Goldens of the expansions: `tests/golden/*.rs` are inputs, `*.out` beside them what they become.
//!
//! An input holds items under `#[function]` or one of our derives; each is expanded alone. The output is the formatted
//! expansion, or the errors with line and column in the input. Any difference fails; `BLESS=1` rewrites the outputs.

use crate::{arrays, axis, elem, function, naperian};
use proc_macro2::TokenStream;
use quote::ToTokens;
use std::fmt::Write as _;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta};

#[test]
fn expansions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut inputs: Vec<_> = folder
        .read_dir()
        .expect("the golden folder is part of the crate")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    let mut wrong = String::new();
    for input in inputs {
        let found = expand_file(&std::fs::read_to_string(&input).expect("a readable file"));
        let golden = input.with_extension("out");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &found).expect("a writable golden");
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            let _ = writeln!(wrong, "{}: expected\n{expected}\nfound\n{found}", golden.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nBLESS=1 rewrites the goldens");
}

fn expand_file(text: &str) -> String {
    let mut out = String::new();
    for item in syn::parse_file(text).expect("inputs are Rust").items {
        let expanded = expand_item(item);
        let errors = errors(&expanded);
        if errors.is_empty() {
            let file = syn::parse2(expanded).expect("an expansion is Rust");
            out.push_str(&prettyplease::unparse(&file));
        } else {
            out.push_str(&errors);
        }
        out.push('\n');
    }
    out
}

fn expand_item(mut item: Item) -> TokenStream {
    let attrs: &mut Vec<Attribute> = match &mut item {
        Item::Fn(it) => &mut it.attrs,
        Item::Struct(it) => &mut it.attrs,
        Item::Enum(it) => &mut it.attrs,
        Item::Union(it) => &mut it.attrs,
        Item::Static(it) => &mut it.attrs,
        _ => panic!("an input holds functions and types"),
    };
    let ours = attrs.iter().position(|attr| ["function", "derive"].iter().any(|name| attr.path().is_ident(name)));
    let Meta::List(list) = attrs.remove(ours.expect("every item is an input")).meta else {
        return function::expand(TokenStream::new(), item.into_token_stream());
    };
    match list.tokens.to_string().as_str() {
        "Axis" => axis::expand(item.into_token_stream()),
        "Arrays" => arrays::expand(item.into_token_stream()),
        "Elem" => elem::expand(item.into_token_stream()),
        "Naperian" => naperian::expand(item.into_token_stream()),
        _ => function::expand(list.tokens, item.into_token_stream()),
    }
}

/// The messages of all `compile_error!`s, with their places.
fn errors(expanded: &TokenStream) -> String {
    struct Search(String);
    impl Visit<'_> for Search {
        fn visit_macro(&mut self, it: &syn::Macro) {
            if it.path.segments.last().is_some_and(|last| last.ident == "compile_error") {
                let start = it.path.segments[0].ident.span().start();
                let message: syn::LitStr = it.parse_body().expect("a message");
                let _ = writeln!(self.0, "{}:{}: {}", start.line, start.column + 1, message.value());
            }
            visit::visit_macro(self, it);
        }
    }
    let mut search = Search(String::new());
    search.visit_file(&syn::parse2(expanded.clone()).expect("an expansion is Rust"));
    search.0
}
