//! Graphs as models of OpenVINO: IR, a file of layers (`.xml`) and a file of constants (`.bin`).
//!
//! Extents that are not known are dynamic dimensions. OpenVINO's CPU plugin computes `i64` in 32 bits: larger numbers do not come out as
//! they are. Whether a call has such is for its caller to ask (`numbers.rs`).

mod layers;
mod numbers;
mod xml;

pub use numbers::{Ends, check_numbers};

use super::graph::{Format, Graph};
use crate::choices::Precision;
use crate::ops::Operator;
use crate::types::Ty;

/// What OpenVINO has.
pub const FORMAT: Format =
    Format { name: "OpenVINO", has, has_type, convolves: true, most_axes: usize::MAX, precision: Precision::Native };

fn has_type(ty: Ty) -> bool {
    matches!(ty, Ty::Bool | Ty::I32 | Ty::I64 | Ty::F16 | Ty::F32)
}

fn has(operator: Operator, ty: Ty) -> bool {
    layers::kind(operator, ty).is_some()
}

/// A model: the text of its layers, and its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The `.xml` file.
    pub xml: String,
    /// The `.bin` file.
    pub bin: Vec<u8>,
}

/// A graph as a model.
pub fn emit(graph: &Graph) -> Model {
    let mut constants = layers::Constants::default();
    let net = layers::Net::whole(graph, &mut constants);
    Model { xml: xml::write(&graph.name, &net), bin: constants.bytes }
}
