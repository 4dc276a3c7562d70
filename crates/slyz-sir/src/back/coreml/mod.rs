//! Graphs as models of Core ML: packages (`.mlpackage`) with an ML Program of the operations of iOS 17 and macOS 14.
//!
//! ML Programs compute integers in 32 bits, and models take and give no `bool`s and no scalars: `i64` is `int32`, a `bool` outside is an
//! `int32`, and a scalar an array of one element.

mod program;
mod proto;

use super::graph::{Format, Graph};
use crate::choices::Precision;
use crate::ops::Operator;
use crate::types::Ty;
use prost::Message;

/// What Core ML has.
pub const FORMAT: Format =
    Format { name: "Core ML", has, has_type, convolves: true, most_axes: 5, precision: Precision::Native };

/// Where the model lies in its package.
pub const MODEL_FILE: &str = "Data/com.apple.CoreML/model.mlmodel";

/// Any name that no other entry has.
const ENTRY: &str = "51a15100-0000-4000-8000-000000000001";

fn has_type(ty: Ty) -> bool {
    matches!(ty, Ty::Bool | Ty::I32 | Ty::I64 | Ty::F16 | Ty::F32)
}

fn has(operator: Operator, ty: Ty) -> bool {
    program::kind(operator, ty).is_some()
}

/// A package: its list of contents, and the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// `Manifest.json`.
    pub manifest: String,
    /// The model, a `Model` of Core ML's protocol buffers.
    pub model: Vec<u8>,
}

/// A graph as a package.
pub fn emit(graph: &Graph) -> Package {
    let manifest = format!(
        r#"{{
    "fileFormatVersion": "1.0.0",
    "itemInfoEntries": {{
        "{ENTRY}": {{
            "author": "com.apple.CoreML",
            "description": "CoreML Model Specification",
            "name": "model.mlmodel",
            "path": "com.apple.CoreML/model.mlmodel"
        }}
    }},
    "rootModelIdentifier": "{ENTRY}"
}}
"#
    );
    Package { manifest, model: program::model(graph).encode_to_vec() }
}
