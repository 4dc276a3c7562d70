//! Swift.
/// Is it a word of the language?
pub fn is_reserved(name: &str) -> bool {
    name == "func"
}
