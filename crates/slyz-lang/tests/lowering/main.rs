//! The lowering, held to a reference interpreter of the typed tree, to plain Rust, and to goldens.

mod by_hand;
mod computed;
mod from_text;
mod random;
mod reference;
mod run;
mod tree;
