//! The messages of Core ML's files that ML Programs use: Model.proto, FeatureTypes.proto and MIL.proto of Apple's coremltools.

use prost::{Enumeration, Message, Oneof};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int32, tag = "1")]
    pub(super) specification_version: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) description: Option<ModelDescription>,
    #[prost(message, optional, tag = "502")]
    pub(super) ml_program: Option<Program>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ModelDescription {
    #[prost(message, repeated, tag = "1")]
    pub(super) input: Vec<FeatureDescription>,
    #[prost(message, repeated, tag = "10")]
    pub(super) output: Vec<FeatureDescription>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FeatureDescription {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "3")]
    pub(super) feature: Option<FeatureType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FeatureType {
    #[prost(message, optional, tag = "5")]
    pub(super) multi_array: Option<ArrayFeatureType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ArrayFeatureType {
    #[prost(int64, repeated, tag = "1")]
    pub(super) shape: Vec<i64>,
    #[prost(enumeration = "ArrayDataType", tag = "2")]
    pub(super) data_type: i32,
    #[prost(message, optional, tag = "31")]
    pub(super) shape_range: Option<ShapeRange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum ArrayDataType {
    Invalid = 0,
    Float16 = 65552,
    Float32 = 65568,
    Int32 = 131104,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ShapeRange {
    #[prost(message, repeated, tag = "1")]
    pub(super) ranges: Vec<SizeRange>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct SizeRange {
    #[prost(uint64, tag = "1")]
    pub(super) lower: u64,
    /// -1 where there is none.
    #[prost(int64, tag = "2")]
    pub(super) upper: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Program {
    #[prost(int64, tag = "1")]
    pub(super) version: i64,
    #[prost(btree_map = "string, message", tag = "2")]
    pub(super) functions: BTreeMap<String, Function>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Function {
    #[prost(message, repeated, tag = "1")]
    pub(super) inputs: Vec<NamedValueType>,
    #[prost(string, tag = "2")]
    pub(super) opset: String,
    #[prost(btree_map = "string, message", tag = "3")]
    pub(super) blocks: BTreeMap<String, Block>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Block {
    #[prost(message, repeated, tag = "1")]
    pub(super) inputs: Vec<NamedValueType>,
    #[prost(string, repeated, tag = "2")]
    pub(super) outputs: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub(super) operations: Vec<Operation>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Operation {
    #[prost(string, tag = "1")]
    pub(super) kind: String,
    #[prost(btree_map = "string, message", tag = "2")]
    pub(super) inputs: BTreeMap<String, Argument>,
    #[prost(message, repeated, tag = "3")]
    pub(super) outputs: Vec<NamedValueType>,
    #[prost(message, repeated, tag = "4")]
    pub(super) blocks: Vec<Block>,
    #[prost(btree_map = "string, message", tag = "5")]
    pub(super) attributes: BTreeMap<String, Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Argument {
    #[prost(message, repeated, tag = "1")]
    pub(super) bindings: Vec<Binding>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Binding {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NamedValueType {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) ty: Option<ValueType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueType {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(enumeration = "DataType", tag = "1")]
    pub(super) data_type: i32,
    #[prost(int64, tag = "2")]
    pub(super) rank: i64,
    #[prost(message, repeated, tag = "3")]
    pub(super) dimensions: Vec<Dimension>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum DataType {
    Unused = 0,
    Bool = 1,
    String = 2,
    Float16 = 10,
    Float32 = 11,
    Int32 = 23,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(oneof = "Extent", tags = "1, 2")]
    pub(super) extent: Option<Extent>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub(super) enum Extent {
    #[prost(message, tag = "1")]
    Constant(ConstantDimension),
    #[prost(message, tag = "2")]
    Unknown(UnknownDimension),
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ConstantDimension {
    #[prost(uint64, tag = "1")]
    pub(super) size: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct UnknownDimension {
    #[prost(bool, tag = "1")]
    pub(super) variadic: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(message, optional, tag = "2")]
    pub(super) ty: Option<ValueType>,
    #[prost(message, optional, tag = "3")]
    pub(super) immediate: Option<ImmediateValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ImmediateValue {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor: Option<TensorValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorValue {
    #[prost(oneof = "Elements", tags = "1, 2, 3, 4, 7")]
    pub(super) elements: Option<Elements>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Elements {
    #[prost(message, tag = "1")]
    Floats(Floats),
    #[prost(message, tag = "2")]
    Ints(Ints),
    #[prost(message, tag = "3")]
    Bools(Bools),
    #[prost(message, tag = "4")]
    Strings(Strings),
    #[prost(message, tag = "7")]
    Bytes(Bytes),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Floats {
    #[prost(float, repeated, tag = "1")]
    pub(super) values: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Ints {
    #[prost(int32, repeated, tag = "1")]
    pub(super) values: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Bools {
    #[prost(bool, repeated, tag = "1")]
    pub(super) values: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Strings {
    #[prost(string, repeated, tag = "1")]
    pub(super) values: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Bytes {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) values: Vec<u8>,
}
