//! How remedies are spelled in the two syntaxes.

use super::Dialect;
use slyz_sir::types::Ty;

impl Dialect {
    /// A name that may change.
    pub(super) fn mutable_let(self, name: &str) -> String {
        match self {
            Dialect::Vex => format!("let! {name}"),
            Dialect::Rust => format!("let mut {name}"),
        }
    }

    /// A declaration with a type.
    pub(super) fn typed_let(self, mutable: bool, name: &str, ty: &str) -> String {
        let word = match (self, mutable) {
            (_, false) => "let",
            (Dialect::Vex, true) => "let!",
            (Dialect::Rust, true) => "let mut",
        };
        format!("{word} {name}: {ty}")
    }

    /// A tensor, perhaps of several axes.
    pub(super) fn tensor(self, elem: Ty, rank: Option<usize>, mutable: bool) -> String {
        let inner = match rank {
            Some(rank) => format!("Tensor<{elem}, {rank}>"),
            None => format!("Tensor<{elem}>"),
        };
        match (self, mutable) {
            (Dialect::Vex, true) => format!("{inner}!"),
            (Dialect::Vex, false) => inner,
            (Dialect::Rust, true) => format!("&mut {inner}"),
            (Dialect::Rust, false) => format!("&{inner}"),
        }
    }

    /// An element of a memory with that many axes.
    pub(super) fn element(self, memory: &str, rank: usize) -> String {
        let letters: Vec<&str> = (0..rank).map(|k| ["i", "j", "k", "l"].get(k).copied().unwrap_or("i")).collect();
        match (self, &letters[..]) {
            (Dialect::Vex, _) | (Dialect::Rust, [_]) => format!("{memory}[{}]", letters.join(", ")),
            (Dialect::Rust, _) => format!("{memory}[({})]", letters.join(", ")),
        }
    }

    /// Memory of the block.
    pub(super) fn threadgroup(self, name: &str, ty: &str) -> String {
        match self {
            Dialect::Vex => format!("threadgroup let! {name}: {ty}"),
            Dialect::Rust => format!("#[threadgroup] let mut {name}: {ty};"),
        }
    }

    /// A constant.
    pub(super) fn constant(self, name: &str, ty: &str) -> String {
        match self {
            Dialect::Vex => format!("constant let {name}: {ty} = .."),
            Dialect::Rust => format!("#[constant] let {name}: {ty} = ..;"),
        }
    }

    /// A constant that comes with a type.
    pub(super) fn number(self, ty: Ty, name: &str) -> String {
        match self {
            Dialect::Vex => format!("{ty}.{name}"),
            Dialect::Rust => format!("{ty}::{name}"),
        }
    }

    /// The same bits as another type.
    pub(super) fn bitcast(self, ty: Ty) -> String {
        match self {
            Dialect::Vex => format!("bitcast<{ty}>(..)"),
            Dialect::Rust => format!("bitcast::<{ty}>(..)"),
        }
    }
}
