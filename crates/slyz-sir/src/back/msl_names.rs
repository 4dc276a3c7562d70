//! Names that a kernel in Metal cannot have.

/// Words of the language, names of its types and of the functions that generated code calls.
const RESERVED: &str = include_str!("msl_words.txt");

/// Is it a word of the language?
pub(super) fn is_word(name: &str) -> bool {
    RESERVED.split_whitespace().any(|word| word == name)
}

/// Does a name mean something already? `types` are the scalars of the language.
pub(super) fn is_reserved(name: &str, types: &[&str]) -> bool {
    // Vectors: float2, uint3, …
    let vector = name.strip_suffix(['2', '3', '4']).is_some_and(|element| types.contains(&element));
    vector || is_word(name) || name.contains("__") || name.starts_with("simd_")
}
