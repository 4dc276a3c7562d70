//! The operations of an ML Program, from the nodes of a graph.

use super::super::graph::table::words;
use super::super::graph::{Graph, NodeId, Op, Port, Reduction, Region};
use super::proto::{
    Argument, ArrayDataType, ArrayFeatureType, Binding, Block, Bools, Bytes, ConstantDimension, DataType, Dimension,
    Elements, Extent, FeatureDescription, FeatureType, Floats, Function, ImmediateValue, Ints, Model, ModelDescription,
    NamedValueType, Operation, Program, ShapeRange, SizeRange, Strings, TensorType, TensorValue, UnknownDimension,
    Value, ValueType,
};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The version of the file format, and of the operations, that iOS 17 and macOS 14 brought.
const SPECIFICATION: i32 = 8;
const OPSET: &str = "CoreML7";

/// The operation of an operator, with operands `x` and `y`.
pub(super) fn kind(operator: Operator, ty: Ty) -> Option<&'static str> {
    words(include_str!("operators.txt"), operator, ty)?.first().copied()
}

/// A name with its type in the program.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    ty: DataType,
    /// -1 where an extent is not known.
    dims: Vec<i64>,
}

struct Writer<'g> {
    graph: &'g Graph,
    operations: Vec<Operation>,
    at: HashMap<NodeId, Named>,
    parts: HashMap<NodeId, Vec<Named>>,
    taken: BTreeSet<String>,
    next: usize,
}

fn data_type(ty: Ty) -> DataType {
    match ty {
        Ty::Bool => DataType::Bool,
        Ty::F16 => DataType::Float16,
        Ty::F32 | Ty::F64 | Ty::BF16 => DataType::Float32,
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => DataType::Int32,
    }
}

/// The word for a type in `cast`.
fn word(ty: DataType) -> &'static str {
    match ty {
        DataType::Bool => "bool",
        DataType::Float16 => "fp16",
        DataType::Float32 => "fp32",
        DataType::Int32 | DataType::Unused | DataType::String => "int32",
    }
}

fn value_type(ty: DataType, dims: &[i64]) -> ValueType {
    let dimension = |&dim: &i64| Dimension {
        extent: Some(match u64::try_from(dim) {
            Ok(size) => Extent::Constant(ConstantDimension { size }),
            Err(_) => Extent::Unknown(UnknownDimension { variadic: false }),
        }),
    };
    let dimensions = dims.iter().map(dimension).collect();
    ValueType { tensor: Some(TensorType { data_type: ty.into(), rank: dims.len() as i64, dimensions }) }
}

fn value(ty: DataType, dims: &[i64], elements: Elements) -> Value {
    let tensor = TensorValue { elements: Some(elements) };
    Value { ty: Some(value_type(ty, dims)), immediate: Some(ImmediateValue { tensor: Some(tensor) }) }
}

fn string(text: &str) -> Value {
    value(DataType::String, &[], Elements::Strings(Strings { values: vec![text.to_string()] }))
}

/// Numbers as an element of `int32`: those that are too large become the largest.
fn int32(value: Scalar) -> i32 {
    value.as_int().clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// The whole model.
pub(super) fn model(graph: &Graph) -> Model {
    let taken = graph.inputs.iter().chain(&graph.outputs).map(|port| port.name.clone()).collect();
    let mut writer = Writer { graph, operations: vec![], at: HashMap::new(), parts: HashMap::new(), taken, next: 0 };
    let inputs: Vec<NamedValueType> = graph.inputs.iter().map(|port| writer.input(port)).collect();
    for id in graph.needed(0, graph.nodes.len() as u32) {
        writer.node(id);
    }
    for port in &graph.outputs {
        writer.output(port);
    }
    let outputs = graph.outputs.iter().map(|port| port.name.clone()).collect();
    let block = Block { inputs: vec![], outputs, operations: writer.operations };
    let blocks = BTreeMap::from([(OPSET.to_string(), block)]);
    let main = Function { inputs, opset: OPSET.to_string(), blocks };
    let description = ModelDescription {
        input: graph.inputs.iter().map(|port| feature(graph, port)).collect(),
        output: graph.outputs.iter().map(|port| feature(graph, port)).collect(),
    };
    Model {
        specification_version: SPECIFICATION,
        description: Some(description),
        ml_program: Some(Program { version: 1, functions: BTreeMap::from([("main".to_string(), main)]) }),
    }
}

/// What an argument or result looks like from outside.
fn outside(graph: &Graph, port: &Port) -> (DataType, Vec<i64>) {
    let node = graph.node(port.node);
    let ty = match data_type(node.ty) {
        DataType::Bool => DataType::Int32,
        other => other,
    };
    let dims = if node.shape.is_empty() { vec![1] } else { dims(&node.shape) };
    (ty, dims)
}

fn dims(shape: &[Size]) -> Vec<i64> {
    shape.iter().map(|size| size.constant().map_or(-1, |extent| extent as i64)).collect()
}

fn feature(graph: &Graph, port: &Port) -> FeatureDescription {
    let (ty, dims) = outside(graph, port);
    let data_type = match ty {
        DataType::Float16 => ArrayDataType::Float16,
        DataType::Float32 => ArrayDataType::Float32,
        DataType::Int32 | DataType::Bool | DataType::String | DataType::Unused => ArrayDataType::Int32,
    };
    let range = |&dim: &i64| SizeRange { lower: dim.max(1) as u64, upper: dim };
    let is_input = graph.inputs.contains(port);
    let open = dims.contains(&-1);
    let shape_range = (open && is_input).then(|| ShapeRange { ranges: dims.iter().map(range).collect() });
    // Shapes of results that are not known are left out.
    let shape = if open && !is_input { vec![] } else { dims.iter().map(|&dim| dim.max(1)).collect() };
    let array = ArrayFeatureType { shape, data_type: data_type.into(), shape_range };
    FeatureDescription { name: port.name.clone(), feature: Some(FeatureType { multi_array: Some(array) }) }
}

impl Writer<'_> {
    fn fresh(&mut self) -> String {
        loop {
            let name = format!("t{}", self.next);
            self.next += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// An operation with one result; operands by name, some of them several.
    fn lists(
        &mut self,
        kind: &str,
        operands: &[(&str, Vec<&Named>)],
        ty: DataType,
        dims: Vec<i64>,
        name: Option<String>,
    ) -> Named {
        let name = name.unwrap_or_else(|| self.fresh());
        let bindings = |all: &[&Named]| Argument {
            bindings: all.iter().map(|named| Binding { name: named.name.clone() }).collect(),
        };
        let inputs = operands.iter().map(|(key, all)| (key.to_string(), bindings(all))).collect();
        let outputs = vec![NamedValueType { name: name.clone(), ty: Some(value_type(ty, &dims)) }];
        let attributes = BTreeMap::from([("name".to_string(), string(&name))]);
        self.operations.push(Operation { kind: kind.to_string(), inputs, outputs, blocks: vec![], attributes });
        Named { name, ty, dims }
    }

    fn op(&mut self, kind: &str, operands: &[(&str, &Named)], ty: DataType, dims: Vec<i64>) -> Named {
        let lists: Vec<(&str, Vec<&Named>)> = operands.iter().map(|(key, named)| (*key, vec![*named])).collect();
        self.lists(kind, &lists, ty, dims, None)
    }

    fn constant(&mut self, ty: DataType, dims: Vec<i64>, elements: Elements) -> Named {
        let name = self.fresh();
        let held = value(ty, &dims, elements);
        let outputs = vec![NamedValueType { name: name.clone(), ty: held.ty.clone() }];
        let attributes = BTreeMap::from([("name".to_string(), string(&name)), ("val".to_string(), held)]);
        let kind = "const".to_string();
        self.operations.push(Operation { kind, inputs: BTreeMap::new(), outputs, blocks: vec![], attributes });
        Named { name, ty, dims }
    }

    fn scalars(&mut self, ty: Ty, dims: Vec<i64>, values: &[Scalar]) -> Named {
        let elements = match data_type(ty) {
            DataType::Bool => Elements::Bools(Bools { values: values.iter().map(|value| value.is_true()).collect() }),
            DataType::Float32 => {
                Elements::Floats(Floats { values: values.iter().map(|value| value.as_f64() as f32).collect() })
            }
            DataType::Float16 => {
                let bytes = values.iter().flat_map(|value| (value.bits as u16).to_le_bytes()).collect();
                Elements::Bytes(Bytes { values: bytes })
            }
            DataType::Int32 | DataType::String | DataType::Unused => {
                Elements::Ints(Ints { values: values.iter().map(|&value| int32(value)).collect() })
            }
        };
        self.constant(data_type(ty), dims, elements)
    }

    fn number(&mut self, number: i32) -> Named {
        self.constant(DataType::Int32, vec![], Elements::Ints(Ints { values: vec![number] }))
    }

    fn numbers(&mut self, numbers: &[usize]) -> Named {
        let values = numbers.iter().map(|&number| number as i32).collect();
        self.constant(DataType::Int32, vec![numbers.len() as i64], Elements::Ints(Ints { values }))
    }

    fn flag(&mut self, flag: bool) -> Named {
        self.constant(DataType::Bool, vec![], Elements::Bools(Bools { values: vec![flag] }))
    }

    fn text(&mut self, text: &str) -> Named {
        let values = vec![text.to_string()];
        self.constant(DataType::String, vec![], Elements::Strings(Strings { values }))
    }

    fn cast(&mut self, of: &Named, ty: DataType) -> Named {
        if of.ty == ty {
            return of.clone();
        }
        let dtype = self.text(word(ty));
        self.op("cast", &[("x", of), ("dtype", &dtype)], ty, of.dims.clone())
    }

    /// A `bool` as a number, for operations that have none.
    fn counted(&mut self, of: &Named) -> Named {
        let ty = if of.ty == DataType::Bool { DataType::Int32 } else { of.ty };
        self.cast(of, ty)
    }

    fn input(&mut self, port: &Port) -> NamedValueType {
        let (ty, dims) = outside(self.graph, port);
        let given = Named { name: port.name.clone(), ty, dims };
        let described = NamedValueType { name: given.name.clone(), ty: Some(value_type(ty, &given.dims)) };
        let node = self.graph.node(port.node);
        let inside = if node.shape.is_empty() {
            let axes = self.numbers(&[0]);
            self.op("squeeze", &[("x", &given), ("axes", &axes)], ty, vec![])
        } else {
            given
        };
        let inside = self.cast(&inside, data_type(node.ty));
        self.at.insert(port.node, inside);
        described
    }

    fn output(&mut self, port: &Port) {
        let (ty, _) = outside(self.graph, port);
        let inside = self.at[&port.node].clone();
        let inside = self.cast(&inside, ty);
        let inside = if inside.dims.is_empty() {
            let axes = self.numbers(&[0]);
            self.op("expand_dims", &[("x", &inside), ("axes", &axes)], ty, vec![1])
        } else {
            inside
        };
        let dims = inside.dims.clone();
        self.lists("identity", &[("x", vec![&inside])], ty, dims, Some(port.name.clone()));
    }

    fn node(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let ty = data_type(node.ty);
        let dims = dims(&node.shape);
        let of: Vec<Named> = match node.op {
            Op::Part(..) => vec![],
            _ => node.op.operands().iter().map(|operand| self.at[operand].clone()).collect(),
        };
        let named = match &node.op {
            // Those are there before.
            Op::Input(_) | Op::Param => return,
            Op::Const(values) => self.scalars(node.ty, dims, values),
            Op::Dim(_, axis) => self.extent(&of[0], *axis),
            Op::Apply(operator, _) => self.operator(*operator, &of, ty, dims),
            Op::Select(..) => self.select(&of, ty, dims),
            Op::Cast(_) => self.cast(&of[0], ty),
            Op::Reshape(..) => self.op("reshape", &[("x", &of[0]), ("shape", &of[1])], ty, dims),
            Op::Unsqueeze(_, axes) => {
                let axes = self.numbers(axes);
                self.op("expand_dims", &[("x", &of[0]), ("axes", &axes)], ty, dims)
            }
            Op::Broadcast(..) => self.broadcast(&of[0], &of[1], dims),
            Op::Transpose(_, order) => {
                let perm = self.numbers(order);
                self.op("transpose", &[("x", &of[0]), ("perm", &perm)], ty, dims)
            }
            Op::Concat(_, axis) => {
                let axis = self.number(*axis as i32);
                let interleave = self.flag(false);
                let values = of.iter().collect();
                let operands = [("values", values), ("axis", vec![&axis]), ("interleave", vec![&interleave])];
                self.lists("concat", &operands, ty, dims, None)
            }
            Op::Slice { axis, .. } => self.slice(&of, *axis, dims),
            Op::Gather { axis, .. } => self.gather(&of[0], &of[1], *axis, dims),
            Op::Range(_) => {
                let start = self.number(0);
                let step = self.number(1);
                self.op("range_1d", &[("start", &start), ("end", &of[0]), ("step", &step)], ty, dims)
            }
            Op::Reduce(by, _, axes) => self.reduce(*by, &of[0], axes, ty, dims),
            Op::Prefixes(_, axis) => {
                let axis = self.number(*axis as i32);
                let no = self.flag(false);
                let operands = [("x", &of[0]), ("axis", &axis), ("exclusive", &no), ("reverse", &no)];
                self.op("cumsum", &operands, ty, dims)
            }
            Op::MatMul(..) => {
                let no = self.flag(false);
                let operands = [("x", &of[0]), ("y", &of[1]), ("transpose_x", &no), ("transpose_y", &no)];
                self.op("matmul", &operands, ty, dims)
            }
            Op::Convolve(..) => {
                let pad = self.text("valid");
                self.op("conv", &[("x", &of[0]), ("weight", &of[1]), ("pad_type", &pad)], ty, dims)
            }
            Op::Scatter { by, .. } => {
                let mode = self.text(match by {
                    Reduction::Sum => "add",
                    Reduction::Product => "mul",
                    Reduction::Min | Reduction::All => "min",
                    Reduction::Max | Reduction::Any => "max",
                });
                let axis = self.number(0);
                let no = self.flag(false);
                let operands = [
                    ("data", &of[0]),
                    ("indices", &of[1]),
                    ("updates", &of[2]),
                    ("axis", &axis),
                    ("mode", &mode),
                    ("validate_indices", &no),
                ];
                self.op("scatter", &operands, ty, dims)
            }
            Op::Places(_) => {
                let rows = self.op("non_zero", &[("x", &of[0])], ty, vec![-1, 1]);
                let axes = self.numbers(&[1]);
                self.op("squeeze", &[("x", &rows), ("axes", &axes)], ty, dims)
            }
            Op::While { cond, body, .. } => {
                let parts = self.repeat(&of, cond, body);
                self.parts.insert(id, parts);
                return;
            }
            Op::Part(all, number) => self.parts[all][*number].clone(),
        };
        self.at.insert(id, named);
    }

    /// A choice. Its shape is that of what is chosen from: where the condition alone has it, one of the two is spread.
    fn select(&mut self, of: &[Named], ty: DataType, dims: Vec<i64>) -> Named {
        let mut no = of[2].clone();
        if of[1].dims != dims && no.dims != dims {
            no = match ty {
                DataType::Bool => {
                    let never = self.flag(false);
                    let nothing = self.op("logical_and", &[("x", &of[0]), ("y", &never)], ty, of[0].dims.clone());
                    self.op("logical_or", &[("x", &nothing), ("y", &no)], ty, dims.clone())
                }
                DataType::Int32 | DataType::Float16 | DataType::Float32 | DataType::String | DataType::Unused => {
                    let number = self.cast(&of[0], ty);
                    let nothing = self.op("sub", &[("x", &number), ("y", &number)], ty, number.dims.clone());
                    self.op("add", &[("x", &nothing), ("y", &no)], ty, dims.clone())
                }
            };
        }
        self.op("select", &[("cond", &of[0]), ("a", &of[1]), ("b", &no)], ty, dims)
    }

    /// The extent of an axis.
    fn extent(&mut self, of: &Named, axis: usize) -> Named {
        let shape = self.op("shape", &[("x", of)], DataType::Int32, vec![of.dims.len() as i64]);
        let place = self.number(axis as i32);
        self.gather(&shape, &place, 0, vec![])
    }

    fn gather(&mut self, of: &Named, places: &Named, axis: usize, dims: Vec<i64>) -> Named {
        let numbers = self.counted(of);
        let axis = self.number(axis as i32);
        let batch = self.number(0);
        let no = self.flag(false);
        let operands =
            [("x", &numbers), ("indices", places), ("axis", &axis), ("batch_dims", &batch), ("validate_indices", &no)];
        let found = self.op("gather", &operands, numbers.ty, dims);
        self.cast(&found, of.ty)
    }

    fn reduce(&mut self, by: Reduction, of: &Named, axes: &[usize], ty: DataType, dims: Vec<i64>) -> Named {
        let kind = match by {
            Reduction::Sum => "reduce_sum",
            Reduction::Product => "reduce_prod",
            Reduction::Min | Reduction::All => "reduce_min",
            Reduction::Max | Reduction::Any => "reduce_max",
        };
        let numbers = self.counted(of);
        let axes = self.numbers(axes);
        let keep = self.flag(false);
        let reduced = self.op(kind, &[("x", &numbers), ("axes", &axes), ("keep_dims", &keep)], numbers.ty, dims);
        self.cast(&reduced, ty)
    }

    /// Elements repeated along axes that have one.
    fn broadcast(&mut self, of: &Named, shape: &Named, dims: Vec<i64>) -> Named {
        let in_front = dims.len() - of.dims.len();
        let mut whole = of.clone();
        if in_front > 0 {
            let axes: Vec<usize> = (0..in_front).collect();
            let axes = self.numbers(&axes);
            let more = [&vec![1; in_front][..], &of.dims].concat();
            whole = self.op("expand_dims", &[("x", of), ("axes", &axes)], of.ty, more);
        }
        let repeated: Vec<bool> = whole.dims.iter().zip(&dims).map(|(&from, &to)| from == 1 && to != 1).collect();
        let length = vec![dims.len() as i64];
        let reps = if dims.contains(&-1) {
            let mask = self.constant(DataType::Bool, length.clone(), Elements::Bools(Bools { values: repeated }));
            let once = self.numbers(&vec![1; dims.len()]);
            self.op("select", &[("cond", &mask), ("a", shape), ("b", &once)], DataType::Int32, length)
        } else {
            let reps: Vec<usize> =
                repeated.iter().zip(&dims).map(|(&all, &dim)| if all { dim as usize } else { 1 }).collect();
            self.numbers(&reps)
        };
        self.op("tile", &[("x", &whole), ("reps", &reps)], of.ty, dims)
    }

    /// A slice along one axis: the others are masked.
    fn slice(&mut self, of: &[Named], axis: usize, dims: Vec<i64>) -> Named {
        let rank = dims.len();
        let others = (0..rank).map(|other| other != axis).collect();
        let masks = self.constant(DataType::Bool, vec![rank as i64], Elements::Bools(Bools { values: others }));
        let [begin, end] = [&of[1], &of[2]].map(|place| self.along(place, axis, rank));
        let operands = [("x", &of[0]), ("begin", &begin), ("end", &end), ("begin_mask", &masks), ("end_mask", &masks)];
        self.op("slice_by_index", &operands, of[0].ty, dims)
    }

    /// A vector that is a number in one place and zero elsewhere.
    fn along(&mut self, number: &Named, axis: usize, rank: usize) -> Named {
        let first = self.numbers(&[0]);
        let line = self.op("expand_dims", &[("x", number), ("axes", &first)], DataType::Int32, vec![1]);
        if rank == 1 {
            return line;
        }
        let zero = self.numbers(&[0]);
        let parts: Vec<&Named> = (0..rank).map(|other| if other == axis { &line } else { &zero }).collect();
        let along = self.number(0);
        let interleave = self.flag(false);
        let operands = [("values", parts), ("axis", vec![&along]), ("interleave", vec![&interleave])];
        self.lists("concat", &operands, DataType::Int32, vec![rank as i64], None)
    }

    fn operator(&mut self, operator: Operator, of: &[Named], ty: DataType, dims: Vec<i64>) -> Named {
        let of_ty = match of[of.len() - 1].ty {
            DataType::Bool => Ty::Bool,
            DataType::Int32 => Ty::I32,
            DataType::Float16 => Ty::F16,
            DataType::Float32 | DataType::String | DataType::Unused => Ty::F32,
        };
        // Whoever lifted the graph asked for those that there are.
        let Some(kind) = kind(operator, of_ty) else { return of[0].clone() };
        match (operator, of) {
            (Operator::Div, [a, b]) if of_ty == Ty::I32 => self.quotient(a, b, dims),
            (Operator::Eq, [a, b]) if of_ty == Ty::Bool => {
                let differ = self.op(kind, &[("x", a), ("y", b)], ty, dims.clone());
                self.op("logical_not", &[("x", &differ)], ty, dims)
            }
            (_, [x]) if kind == "log" => {
                let nothing = self.scalars(of_ty, vec![], &[Scalar::from_f64(of_ty, 0.0)]);
                self.op(kind, &[("x", x), ("epsilon", &nothing)], ty, dims)
            }
            (_, [x]) => self.op(kind, &[("x", x)], ty, dims),
            (_, [x, y, ..]) => self.op(kind, &[("x", x), ("y", y)], ty, dims),
            (_, []) => Named { name: String::new(), ty, dims },
        }
    }

    /// A quotient toward zero: that of the sizes, with the sign of both.
    fn quotient(&mut self, a: &Named, b: &Named, dims: Vec<i64>) -> Named {
        let [(size_a, sign_a), (size_b, sign_b)] = [a, b].map(|number| {
            let mut of = |kind: &str| self.op(kind, &[("x", number)], DataType::Int32, number.dims.clone());
            (of("abs"), of("sign"))
        });
        let mut both =
            |kind: &str, x: &Named, y: &Named| self.op(kind, &[("x", x), ("y", y)], DataType::Int32, dims.clone());
        let size = both("floor_div", &size_a, &size_b);
        let sign = both("mul", &sign_a, &sign_b);
        both("mul", &size, &sign)
    }

    fn block(&mut self, region: &Region, like: &[Named]) -> Block {
        let outer = std::mem::take(&mut self.operations);
        let mut inputs = vec![];
        for (&param, like) in region.params.iter().zip(like) {
            let name = self.fresh();
            inputs.push(NamedValueType { name: name.clone(), ty: Some(value_type(like.ty, &like.dims)) });
            self.at.insert(param, Named { name, ..like.clone() });
        }
        for id in self.graph.needed(region.first, region.end) {
            self.node(id);
        }
        let outputs = region.results.iter().map(|result| self.at[result].name.clone()).collect();
        let operations = std::mem::replace(&mut self.operations, outer);
        Block { inputs, outputs, operations }
    }

    fn repeat(&mut self, init: &[Named], cond: &Region, body: &Region) -> Vec<Named> {
        let blocks = vec![self.block(cond, init), self.block(body, init)];
        let bindings = init.iter().map(|named| Binding { name: named.name.clone() }).collect();
        let inputs = BTreeMap::from([("loop_vars".to_string(), Argument { bindings })]);
        let ended: Vec<Named> = init.iter().map(|like| Named { name: self.fresh(), ..like.clone() }).collect();
        let outputs = ended
            .iter()
            .map(|named| NamedValueType { name: named.name.clone(), ty: Some(value_type(named.ty, &named.dims)) });
        let attributes = BTreeMap::from([("name".to_string(), string(&ended[0].name))]);
        let kind = "while_loop".to_string();
        self.operations.push(Operation { kind, inputs, outputs: outputs.collect(), blocks, attributes });
        ended
    }
}
