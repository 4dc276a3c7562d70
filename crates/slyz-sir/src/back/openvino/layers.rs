//! The layers of a model and the edges between them, from the nodes of a graph.

use super::super::graph::table::words;
use super::super::graph::{Graph, NodeId, Op, Reduction, Region};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The bytes of all constants, each once.
#[derive(Default)]
pub(super) struct Constants {
    pub(super) bytes: Vec<u8>,
    known: HashMap<Vec<u8>, usize>,
}

impl Constants {
    fn offset(&mut self, bytes: Vec<u8>) -> usize {
        // Every element lies where its type wants it.
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let next = self.bytes.len();
        let offset = *self.known.entry(bytes.clone()).or_insert(next);
        if offset == next {
            self.bytes.extend(bytes);
        }
        offset
    }
}

/// The type and extents of what is passed; an extent that is not known is -1.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) ty: Ty,
    pub(super) dims: Vec<i64>,
}

/// A port of a layer that gives something.
#[derive(Clone, Debug)]
pub(super) struct Out {
    layer: usize,
    port: usize,
    shape: Shape,
}

/// An operation of the model.
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) opset: u32,
    pub(super) data: Vec<(&'static str, String)>,
    pub(super) inputs: Vec<Shape>,
    pub(super) outputs: Vec<Shape>,
    /// The names of what its outputs give.
    pub(super) names: Vec<Vec<String>>,
    pub(super) body: Option<Box<Body>>,
}

/// The body of a loop, and what goes in and out of it.
pub(super) struct Body {
    pub(super) net: Net,
    /// Ports of the loop and layers of the body.
    pub(super) inputs: Vec<(usize, usize)>,
    pub(super) outputs: Vec<(usize, usize)>,
    /// The layer whose result says whether there is another turn.
    pub(super) condition: usize,
    /// From a result to a parameter of the next turn.
    pub(super) back: Vec<(usize, usize)>,
}

/// Layers with the edges between them: from a layer and its port to a layer and its port.
#[derive(Default)]
pub(super) struct Net {
    pub(super) layers: Vec<Layer>,
    pub(super) edges: Vec<[usize; 4]>,
}

struct Writer<'g> {
    graph: &'g Graph,
    constants: &'g mut Constants,
    net: Net,
    at: HashMap<NodeId, Out>,
    parts: HashMap<NodeId, Vec<Out>>,
}

/// The layer of an operator, and the opset that brought it.
pub(super) fn kind(operator: Operator, ty: Ty) -> Option<(&'static str, u32)> {
    let words = words(include_str!("operators.txt"), operator, ty)?;
    Some((words.first()?, words.get(1)?.parse().ok()?))
}

/// The name of an element type.
pub(super) fn element(ty: Ty) -> &'static str {
    if ty == Ty::Bool { "boolean" } else { ty.name() }
}

impl Net {
    /// The whole graph, with its arguments and results.
    pub(super) fn whole(graph: &Graph, constants: &mut Constants) -> Net {
        let net = Net::default();
        let mut writer = Writer { graph, constants, net, at: HashMap::new(), parts: HashMap::new() };
        for input in &graph.inputs {
            let out = writer.parameter(&input.name, writer.shape(input.node));
            writer.at.insert(input.node, out);
        }
        for id in graph.needed(0, graph.nodes.len() as u32) {
            writer.node(id);
        }
        for (port, names) in [(&graph.inputs, false), (&graph.outputs, true)] {
            for port in port {
                let out = writer.at[&port.node].clone();
                let layer = &mut writer.net.layers[out.layer];
                let outputs = layer.outputs.len();
                layer.names.resize(outputs, vec![]);
                let own = out.port - layer.inputs.len();
                if !layer.names[own].contains(&port.name) {
                    layer.names[own].push(port.name.clone());
                }
                if names {
                    writer.result(&port.name, &out);
                }
            }
        }
        writer.net
    }
}

impl Writer<'_> {
    fn shape(&self, id: NodeId) -> Shape {
        let node = self.graph.node(id);
        let dim = |size: &Size| size.constant().map_or(-1, |extent| extent as i64);
        Shape { ty: node.ty, dims: node.shape.iter().map(dim).collect() }
    }

    fn layer(
        &mut self,
        (kind, opset): (&'static str, u32),
        data: Vec<(&'static str, String)>,
        inputs: &[Out],
        shape: Shape,
    ) -> Out {
        let layer = self.net.layers.len();
        self.net.edges.extend(inputs.iter().enumerate().map(|(port, from)| [from.layer, from.port, layer, port]));
        self.net.layers.push(Layer {
            name: format!("{kind}_{layer}"),
            kind,
            opset,
            data,
            inputs: inputs.iter().map(|from| from.shape.clone()).collect(),
            outputs: vec![shape.clone()],
            names: vec![],
            body: None,
        });
        Out { layer, port: inputs.len(), shape }
    }

    fn parameter(&mut self, name: &str, shape: Shape) -> Out {
        let dims = shape.dims.iter().map(|&dim| if dim < 0 { "?".to_string() } else { dim.to_string() });
        let dims = dims.collect::<Vec<_>>().join(",");
        let data = vec![("shape", dims), ("element_type", element(shape.ty).to_string())];
        let out = self.layer(("Parameter", 1), data, &[], shape);
        self.net.layers[out.layer].name = name.to_string();
        out
    }

    fn result(&mut self, name: &str, of: &Out) -> usize {
        let out = self.layer(("Result", 1), vec![], std::slice::from_ref(of), of.shape.clone());
        self.net.layers[out.layer].outputs.clear();
        self.net.layers[out.layer].name = format!("{name}/result");
        out.layer
    }

    fn constant(&mut self, ty: Ty, dims: Vec<i64>, values: &[Scalar]) -> Out {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bits.to_le_bytes()[..ty.bytes()].to_vec()).collect();
        let size = bytes.len();
        let offset = self.constants.offset(bytes);
        let shape = dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let data = vec![
            ("element_type", element(ty).to_string()),
            ("shape", shape),
            ("offset", offset.to_string()),
            ("size", size.to_string()),
        ];
        self.layer(("Const", 1), data, &[], Shape { ty, dims })
    }

    fn numbers(&mut self, numbers: &[usize]) -> Out {
        let values: Vec<Scalar> = numbers.iter().map(|&number| Scalar::i64(number as i64)).collect();
        self.constant(Ty::I64, vec![numbers.len() as i64], &values)
    }

    fn number(&mut self, number: i64) -> Out {
        self.constant(Ty::I64, vec![], &[Scalar::i64(number)])
    }

    /// A scalar as a vector of one.
    fn alone(&mut self, id: NodeId) -> Out {
        if let Op::Const(values) = &self.graph.node(id).op {
            return self.constant(self.graph.node(id).ty, vec![1], values);
        }
        let of = self.at[&id].clone();
        let first = self.numbers(&[0]);
        let shape = Shape { ty: of.shape.ty, dims: vec![1] };
        self.layer(("Unsqueeze", 1), vec![], &[of, first], shape)
    }

    fn node(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let shape = self.shape(id);
        let of: Vec<Out> = match node.op {
            Op::Part(..) => vec![],
            _ => node.op.operands().iter().map(|operand| self.at[operand].clone()).collect(),
        };
        let text = |text: &str| text.to_string();
        let broadcast = || vec![("auto_broadcast", text("numpy"))];
        let out = match &node.op {
            // Those are there before.
            Op::Input(_) | Op::Param => return,
            Op::Const(values) => self.constant(node.ty, shape.dims, values),
            Op::Dim(_, axis) => {
                let whole = Shape { ty: Ty::I64, dims: vec![of[0].shape.dims.len() as i64] };
                let all = self.layer(("ShapeOf", 3), vec![("output_type", text("i64"))], &of, whole);
                let place = self.number(*axis as i64);
                let zero = self.number(0);
                self.layer(("Gather", 8), vec![("batch_dims", text("0"))], &[all, place, zero], shape)
            }
            Op::Apply(operator, _) => self.operator(*operator, &of, shape),
            Op::Select(..) => self.layer(("Select", 1), broadcast(), &of, shape),
            Op::Cast(_) => {
                let data = vec![("destination_type", text(element(node.ty)))];
                self.layer(("Convert", 1), data, &of, shape)
            }
            Op::Reshape(..) => self.layer(("Reshape", 1), vec![("special_zero", text("false"))], &of, shape),
            Op::Unsqueeze(_, axes) => {
                let axes = self.numbers(axes);
                self.layer(("Unsqueeze", 1), vec![], &[of[0].clone(), axes], shape)
            }
            Op::Broadcast(..) => self.layer(("Broadcast", 3), vec![("mode", text("numpy"))], &of, shape),
            Op::Transpose(_, order) => {
                let order = self.numbers(order);
                self.layer(("Transpose", 1), vec![], &[of[0].clone(), order], shape)
            }
            Op::Concat(_, axis) => self.layer(("Concat", 1), vec![("axis", axis.to_string())], &of, shape),
            Op::Slice { axis, from, to, .. } => {
                let from = self.alone(*from);
                let to = self.alone(*to);
                let step = self.numbers(&[1]);
                let axes = self.numbers(&[*axis]);
                self.layer(("Slice", 8), vec![], &[of[0].clone(), from, to, step, axes], shape)
            }
            Op::Gather { axis, .. } => {
                let axis = self.number(*axis as i64);
                let inputs = [of[0].clone(), of[1].clone(), axis];
                self.layer(("Gather", 8), vec![("batch_dims", text("0"))], &inputs, shape)
            }
            Op::Range(_) => {
                let zero = self.number(0);
                let one = self.number(1);
                let inputs = [zero, of[0].clone(), one];
                self.layer(("Range", 4), vec![("output_type", text("i64"))], &inputs, shape)
            }
            Op::Reduce(by, _, axes) => {
                let kind = match by {
                    Reduction::Sum => "ReduceSum",
                    Reduction::Product => "ReduceProd",
                    Reduction::Min => "ReduceMin",
                    Reduction::Max => "ReduceMax",
                    Reduction::All => "ReduceLogicalAnd",
                    Reduction::Any => "ReduceLogicalOr",
                };
                let axes = self.numbers(axes);
                self.layer((kind, 1), vec![("keep_dims", text("false"))], &[of[0].clone(), axes], shape)
            }
            Op::Prefixes(_, axis) => {
                let axis = self.number(*axis as i64);
                let data = vec![("exclusive", text("false")), ("reverse", text("false"))];
                self.layer(("CumSum", 3), data, &[of[0].clone(), axis], shape)
            }
            Op::MatMul(..) => {
                let data = vec![("transpose_a", text("false")), ("transpose_b", text("false"))];
                self.layer(("MatMul", 1), data, &of, shape)
            }
            Op::Convolve(..) => {
                let each = |number: &str| vec![number; shape.dims.len() - 2].join(",");
                let data = vec![
                    ("strides", each("1")),
                    ("dilations", each("1")),
                    ("pads_begin", each("0")),
                    ("pads_end", each("0")),
                    ("auto_pad", text("explicit")),
                ];
                self.layer(("Convolution", 1), data, &of, shape)
            }
            Op::Scatter { by, .. } => {
                let reduction = match by {
                    Reduction::Sum => "sum",
                    Reduction::Product => "prod",
                    Reduction::Min | Reduction::All => "min",
                    Reduction::Max | Reduction::Any => "max",
                };
                let zero = self.number(0);
                let data = vec![("reduction", text(reduction)), ("use_init_val", text("true"))];
                let inputs = [of[0].clone(), of[1].clone(), of[2].clone(), zero];
                self.layer(("ScatterElementsUpdate", 12), data, &inputs, shape)
            }
            Op::Places(_) => {
                let rows = Shape { ty: Ty::I64, dims: vec![1, -1] };
                let found = self.layer(("NonZero", 3), vec![("output_type", text("i64"))], &of, rows);
                let zero = self.numbers(&[0]);
                self.layer(("Squeeze", 1), vec![], &[found, zero], shape)
            }
            Op::While { init, cond, body } => {
                let parts = self.repeat(init, cond, body);
                self.parts.insert(id, parts);
                return;
            }
            Op::Part(all, number) => self.parts[all][*number].clone(),
        };
        self.at.insert(id, out);
    }

    fn operator(&mut self, operator: Operator, of: &[Out], shape: Shape) -> Out {
        let ty = of[of.len() - 1].shape.ty;
        // Whoever lifted the graph asked for those that there are.
        let Some((kind, opset)) = kind(operator, ty) else { return of[0].clone() };
        let mut data = vec![];
        if of.len() == 2 {
            data.push(("auto_broadcast", "numpy".to_string()));
        }
        if operator == Operator::Div {
            // Toward zero.
            data.push(("m_pythondiv", "false".to_string()));
        }
        if kind == "Round" {
            data.push(("mode", "half_away_from_zero".to_string()));
        }
        self.layer((kind, opset), data, of, shape)
    }

    /// The same elements elsewhere.
    fn copied(&mut self, of: &Out) -> Out {
        let ty = of.shape.ty;
        let nothing = self.constant(ty, vec![], &[Scalar::from_int(ty, 0)]);
        let kind = if ty == Ty::Bool { "LogicalOr" } else { "Add" };
        let data = vec![("auto_broadcast", "numpy".to_string())];
        self.layer((kind, 1), data, &[of.clone(), nothing], of.shape.clone())
    }

    /// The nodes of a region whose parameters are there.
    fn region(&mut self, region: &Region, args: &[Out]) -> Vec<Out> {
        for (param, arg) in region.params.iter().zip(args) {
            self.at.insert(*param, arg.clone());
        }
        for id in self.graph.needed(region.first, region.end) {
            self.node(id);
        }
        region.results.iter().map(|result| self.at[result].clone()).collect()
    }

    /// What a region uses of what is outside it.
    fn free(&self, region: &Region, found: &mut BTreeSet<NodeId>) {
        let ids = (region.first..region.end).filter(|id| self.graph.live[*id as usize]).map(NodeId);
        let operands = ids.flat_map(|id| self.graph.node(id).op.operands());
        found.extend(operands.chain(region.results.iter().copied()).filter(|id| id.0 < region.first));
    }

    fn repeat(&mut self, init: &[NodeId], cond: &Region, body: &Region) -> Vec<Out> {
        let init: Vec<Out> = init.iter().map(|id| self.at[id].clone()).collect();
        let begins = self.region(cond, &init).remove(0);
        let mut free = BTreeSet::new();
        self.free(cond, &mut free);
        self.free(body, &mut free);
        // What the condition made outside is not what it makes inside.
        let inside = |id: &NodeId| (cond.first..body.end).contains(&id.0);
        let free = free.into_iter().filter(|id| !inside(id));
        let (constants, free): (Vec<NodeId>, Vec<NodeId>) =
            free.partition(|&id| matches!(self.graph.node(id).op, Op::Const(_)));
        let free: BTreeMap<NodeId, Out> = free.iter().map(|&id| (id, self.at[&id].clone())).collect();

        let outer = std::mem::take(&mut self.net);
        let outer_at = std::mem::take(&mut self.at);
        let params: Vec<Out> =
            init.iter().enumerate().map(|(k, from)| self.parameter(&format!("state{k}"), from.shape.clone())).collect();
        for (k, (id, from)) in free.iter().enumerate() {
            let out = self.parameter(&format!("from_outside{k}"), from.shape.clone());
            self.at.insert(*id, out);
        }
        constants.into_iter().for_each(|id| self.node(id));
        let mut next = self.region(body, &params);
        // OpenVINO passes states on one after the other: one that is given on as it came is overwritten before it is read.
        for out in &mut next {
            if params.iter().any(|param| param.layer == out.layer) {
                *out = self.copied(out);
            }
        }
        let goes_on = self.region(cond, &next).remove(0);
        let results: Vec<usize> =
            next.iter().enumerate().map(|(k, out)| self.result(&format!("state{k}"), out)).collect();
        let condition = self.result("goes_on", &goes_on);
        let inner = std::mem::replace(&mut self.net, outer);
        self.at = outer_at;

        let without_end = self.number(-1);
        let mut inputs = vec![without_end, begins];
        inputs.extend(init.iter().cloned());
        inputs.extend(free.into_values());
        let first = self.layer(("Loop", 5), vec![], &inputs, Shape { ty: Ty::Bool, dims: vec![] });
        let shapes: Vec<Shape> = init.iter().map(|out| out.shape.clone()).collect();
        let count = inputs.len();
        let layer = &mut self.net.layers[first.layer];
        layer.outputs = shapes.clone();
        layer.body = Some(Box::new(Body {
            net: inner,
            inputs: (2..count).map(|port| (port, port - 2)).collect(),
            outputs: results.iter().enumerate().map(|(k, &result)| (count + k, result)).collect(),
            condition,
            back: results.iter().enumerate().map(|(k, &result)| (result, k)).collect(),
        }));
        let part = |(k, shape): (usize, Shape)| Out { layer: first.layer, port: count + k, shape };
        shapes.into_iter().enumerate().map(part).collect()
    }
}
