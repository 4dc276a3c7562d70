//! Programs as graphs of whole arrays: what compilers of graphs, OpenVINO and Core ML, take in place of kernels.
//!
//! [`lift`] walks a program once and evaluates every scalar of a body as an array over the axes around it: `tabulate` becomes
//! element-wise operations, `at` a transposition, a slice or a gather, `fold` a reduction or a product of matrices. The graph holds few
//! kinds of operation, each of which both formats have; what only one has is asked of its [`Format`].
//!
//! ```text
//! tabulate [N, M] |i, j| { x[i, j] + y[j] }      Add(x, y)                    y is broadcast along i
//! fold [K] |k| { a[i, k] * b[k, j] } with add    MatMul(a, b)
//! tabulate [N] |i| { x[i + 1] }                  Slice(x, 1, 1 + N)
//! ```
//!
//! Kernels that people write have no place here: they say which thread does what, not what is computed.

mod error;
mod given;
mod lift;
mod make;
mod road;
pub(in crate::back) mod table;

pub use error::GraphError;
pub use given::with_sizes;
pub use lift::lift;
pub use road::of_program;

use crate::choices::Precision;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// How the elements of an axis become one, or how elements that meet in a scatter do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Do all hold?
    All,
    /// Does one hold?
    Any,
}

impl Reduction {
    /// The reduction that an operator makes of elements of a type.
    pub(crate) fn of(operator: Operator, ty: Ty) -> Option<Reduction> {
        match operator {
            Operator::Add => Some(Reduction::Sum),
            Operator::Mul => Some(Reduction::Product),
            Operator::Min => Some(Reduction::Min),
            Operator::Max => Some(Reduction::Max),
            Operator::And if ty == Ty::Bool => Some(Reduction::All),
            Operator::Or if ty == Ty::Bool => Some(Reduction::Any),
            _ => None,
        }
    }
}

/// A part of the graph that runs again and again: the nodes from `first` to before `end`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// What it is given, each a [`Op::Param`].
    pub params: Vec<NodeId>,
    /// Its first node.
    pub first: u32,
    /// Past its last node.
    pub end: u32,
    /// What it gives back.
    pub results: Vec<NodeId>,
}

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An argument of the program.
    Input(usize),
    /// What a region is given.
    Param,
    /// Elements in row-major order.
    Const(Vec<Scalar>),
    /// The extent of an axis, an `i64`.
    Dim(NodeId, usize),
    /// An operator of the table, element by element. Axes of one element are repeated, and missing axes are in front.
    Apply(Operator, Vec<NodeId>),
    /// The first where the condition holds, else the second; repeated like the operands of operators.
    Select(NodeId, NodeId, NodeId),
    /// Conversion to the type of the node.
    Cast(NodeId),
    /// The same elements in another shape, a vector of `i64`.
    Reshape(NodeId, NodeId),
    /// Axes of one element more, at these places of the result.
    Unsqueeze(NodeId, Vec<usize>),
    /// Elements repeated to a shape, a vector of `i64`.
    Broadcast(NodeId, NodeId),
    /// Axes in another order: axis `k` of the result is axis `order[k]`.
    Transpose(NodeId, Vec<usize>),
    /// One behind the other along an axis.
    Concat(Vec<NodeId>, usize),
    /// What is from one place to before another along an axis.
    Slice {
        /// Of what.
        of: NodeId,
        /// Along which axis.
        axis: usize,
        /// From here, an `i64`.
        from: NodeId,
        /// To before here.
        to: NodeId,
    },
    /// The elements at places along an axis, whose place the axes of the places take.
    Gather {
        /// Of what.
        of: NodeId,
        /// `i64`s, all inside.
        places: NodeId,
        /// Along which axis.
        axis: usize,
    },
    /// The numbers from 0 to before an `i64`.
    Range(NodeId),
    /// Axes that become one element, and go.
    Reduce(Reduction, NodeId, Vec<usize>),
    /// Sums of all up to and with each element, along an axis.
    Prefixes(NodeId, usize),
    /// Products of the last two axes; those in front are the same.
    MatMul(NodeId, NodeId),
    /// Sums of products under windows that slide: of `[batch, channels, places…]` and `[results, channels, window…]` it is
    /// `[batch, results, places…]`.
    Convolve(NodeId, NodeId),
    /// A line with elements that are combined into it.
    Scatter {
        /// The line.
        onto: NodeId,
        /// Places, all inside.
        places: NodeId,
        /// As many elements.
        values: NodeId,
        /// How what meets is combined.
        by: Reduction,
    },
    /// The places of a line of `bool`s that hold, in order.
    Places(NodeId),
    /// `while cond(state) { state = body(state) }`. What it gives are its [`Op::Part`]s.
    While {
        /// The state before.
        init: Vec<NodeId>,
        /// Gives one `bool`.
        cond: Region,
        /// Gives the next state.
        body: Region,
    },
    /// One of the results of a loop.
    Part(NodeId, usize),
}

impl Op {
    /// The nodes that it uses, those of its regions not included.
    pub fn operands(&self) -> Vec<NodeId> {
        match self {
            Op::Input(_) | Op::Param | Op::Const(_) => vec![],
            Op::Dim(x, _) | Op::Cast(x) | Op::Unsqueeze(x, _) | Op::Transpose(x, _) => vec![*x],
            Op::Range(x) | Op::Reduce(_, x, _) | Op::Prefixes(x, _) | Op::Places(x) | Op::Part(x, _) => vec![*x],
            Op::Apply(_, all) | Op::Concat(all, _) => all.clone(),
            Op::Select(a, b, c) => vec![*a, *b, *c],
            Op::Reshape(a, b) | Op::Broadcast(a, b) | Op::MatMul(a, b) | Op::Convolve(a, b) => vec![*a, *b],
            Op::Slice { of, from, to, .. } => vec![*of, *from, *to],
            Op::Gather { of, places, .. } => vec![*of, *places],
            Op::Scatter { onto, places, values, .. } => vec![*onto, *places, *values],
            Op::While { init, .. } => init.clone(),
        }
    }

    /// The regions that it runs.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Op::While { cond, body, .. } => vec![cond, body],
            _ => vec![],
        }
    }
}

/// An operation with its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// Its elements.
    pub ty: Ty,
    /// Its axes; those that are no constants are known when it runs.
    pub shape: Vec<Size>,
}

/// An argument or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name, which no other port has.
    pub name: String,
    /// Its node.
    pub node: NodeId,
}

/// A program over whole arrays. Every node stands behind those that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The program's name.
    pub name: String,
    /// The nodes, also some that nobody uses.
    pub nodes: Vec<Node>,
    /// The arguments, in order.
    pub inputs: Vec<Port>,
    /// The results, in order.
    pub outputs: Vec<Port>,
    /// Whether a node is needed for a result.
    pub live: Vec<bool>,
}

impl Graph {
    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The nodes that are needed of a part of the graph, without those that belong to regions in it.
    pub fn needed(&self, first: u32, end: u32) -> Vec<NodeId> {
        let mut inside = vec![];
        for id in first..end {
            if self.live[id as usize] {
                inside.extend(self.nodes[id as usize].op.regions().iter().map(|region| region.first..region.end));
            }
        }
        let alone = |id: &u32| self.live[*id as usize] && !inside.iter().any(|region| region.contains(id));
        (first..end).filter(alone).map(NodeId).collect()
    }
}

/// A format of graphs, as far as programs that are lifted for it depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Has it the operator on that type as an operation of its own?
    pub has: fn(Operator, Ty) -> bool,
    /// Has it elements of that type?
    pub has_type: fn(Ty) -> bool,
    /// Has it [`Op::Convolve`]?
    pub convolves: bool,
    /// Most axes of an array.
    pub most_axes: usize,
    /// How close results are to the operator table: where the format's own operations will do, or not.
    pub precision: Precision,
}
