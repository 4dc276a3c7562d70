//! Graphs as models of Core ML.
pub use super::graph::{Format, Graph};
/// Core ML.
pub const FORMAT: Format = Format {
    name: "Core ML",
    has: |_, _| false,
    has_type: |_| false,
    most_axes: 5,
    precision: crate::choices::Precision::Native,
};
/// The file.
pub const MODEL_FILE: &str = "Data/com.apple.CoreML/model.mlmodel";
/// A package.
pub struct Package {
    /// m
    pub manifest: String,
    /// m
    pub model: Vec<u8>,
}
/// Emits.
pub fn emit(_: &Graph) -> Package {
    Package { manifest: String::new(), model: vec![] }
}
