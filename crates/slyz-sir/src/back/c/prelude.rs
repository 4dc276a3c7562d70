//! stub
use std::collections::BTreeSet;
/// names
pub fn names() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}
/// emit
pub fn emit(_used: &BTreeSet<String>, _lanes64: bool) -> String {
    String::new()
}
