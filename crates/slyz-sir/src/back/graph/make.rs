//! A graph under construction: nodes with their shapes, each made once, and what constants make computed at once.

use super::{Graph, Node, NodeId, Op, Port, Reduction, Region};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// Nodes so far. Nodes of a region are known inside it only, so equal nodes are looked for scope by scope.
#[derive(Default)]
pub(super) struct Maker {
    nodes: Vec<Node>,
    scopes: Vec<HashMap<Node, NodeId>>,
}

/// A region that is being made.
pub(super) struct Open {
    params: Vec<NodeId>,
    first: u32,
}

impl Maker {
    pub(super) fn new() -> Maker {
        Maker { nodes: vec![], scopes: vec![HashMap::new()] }
    }

    pub(super) fn ty(&self, id: NodeId) -> Ty {
        self.nodes[id.0 as usize].ty
    }

    pub(super) fn shape(&self, id: NodeId) -> &[Size] {
        &self.nodes[id.0 as usize].shape
    }

    pub(super) fn op(&self, id: NodeId) -> &Op {
        &self.nodes[id.0 as usize].op
    }

    fn add(&mut self, op: Op, ty: Ty, shape: Vec<Size>) -> NodeId {
        let node = Node { op, ty, shape };
        // Parameters of loops are what they are by their place.
        let shared = !matches!(node.op, Op::Param);
        if let Some(&id) = self.scopes.iter().rev().find_map(|scope| scope.get(&node)).filter(|_| shared) {
            return id;
        }
        let id = NodeId(self.nodes.len() as u32);
        if shared && let Some(scope) = self.scopes.last_mut() {
            scope.insert(node.clone(), id);
        }
        self.nodes.push(node);
        id
    }

    pub(super) fn input(&mut self, number: usize, ty: Ty, shape: Vec<Size>) -> NodeId {
        self.add(Op::Input(number), ty, shape)
    }

    pub(super) fn scalar(&mut self, value: Scalar) -> NodeId {
        self.add(Op::Const(vec![value]), value.ty, vec![])
    }

    pub(super) fn i64(&mut self, value: i64) -> NodeId {
        self.scalar(Scalar::i64(value))
    }

    /// The one value of a constant.
    pub(super) fn as_scalar(&self, id: NodeId) -> Option<Scalar> {
        match (self.op(id), self.shape(id)) {
            (Op::Const(values), []) => values.first().copied(),
            _ => None,
        }
    }

    pub(super) fn as_i64(&self, id: NodeId) -> Option<i64> {
        self.as_scalar(id).and_then(|value| i64::try_from(value.as_int()).ok())
    }

    pub(super) fn dim(&mut self, of: NodeId, axis: usize) -> NodeId {
        match self.shape(of)[axis].constant() {
            Some(extent) => self.i64(extent as i64),
            None => self.add(Op::Dim(of, axis), Ty::I64, vec![]),
        }
    }

    /// An operator, or its value where all operands are constants.
    pub(super) fn apply(&mut self, operator: Operator, args: &[NodeId]) -> NodeId {
        let known: Option<Vec<Scalar>> = args.iter().map(|&arg| self.as_scalar(arg)).collect();
        if let Some(value) = known.and_then(|known| operator.eval(&known)) {
            return self.scalar(value);
        }
        if self.ty(args[0]) == Ty::I64
            && let Some(same) = self.unchanged(operator, args)
        {
            return same;
        }
        let tys: Vec<Ty> = args.iter().map(|&arg| self.ty(arg)).collect();
        let ty = operator.result(&tys).unwrap_or(tys[0]);
        let shape = self.spread(args);
        self.add(Op::Apply(operator, args.to_vec()), ty, shape)
    }

    /// Positions plus nothing, or times one.
    fn unchanged(&self, operator: Operator, args: &[NodeId]) -> Option<NodeId> {
        let [a, b] = args else { return None };
        let is = |id: NodeId, value: i64| self.as_i64(id) == Some(value);
        match operator {
            Operator::Add if is(*b, 0) => Some(*a),
            Operator::Add if is(*a, 0) => Some(*b),
            Operator::Sub if is(*b, 0) => Some(*a),
            Operator::Mul if is(*b, 1) => Some(*a),
            Operator::Mul if is(*a, 1) => Some(*b),
            _ => None,
        }
    }

    /// The shape of operands that are repeated to meet.
    fn spread(&self, args: &[NodeId]) -> Vec<Size> {
        let rank = args.iter().map(|&arg| self.shape(arg).len()).max().unwrap_or(0);
        let mut shape = vec![Size::Const(1); rank];
        for &arg in args {
            let own = self.shape(arg);
            let in_front = rank - own.len();
            for (axis, size) in own.iter().enumerate() {
                let place = &mut shape[in_front + axis];
                if *place == Size::Const(1) || place.constant().is_none() && size.constant().is_some_and(|n| n != 1) {
                    *place = size.clone();
                }
            }
        }
        shape
    }

    pub(super) fn select(&mut self, cond: NodeId, yes: NodeId, no: NodeId) -> NodeId {
        if yes == no && self.shape(cond).is_empty() {
            return yes;
        }
        match self.as_scalar(cond) {
            Some(value) if self.shape(yes) == self.shape(no) => return if value.is_true() { yes } else { no },
            _ => {}
        }
        let ty = self.ty(yes);
        let shape = self.spread(&[cond, yes, no]);
        self.add(Op::Select(cond, yes, no), ty, shape)
    }

    pub(super) fn cast(&mut self, ty: Ty, of: NodeId) -> NodeId {
        if self.ty(of) == ty {
            return of;
        }
        if let Some(value) = self.as_scalar(of) {
            return self.scalar(value.cast(ty));
        }
        let shape = self.shape(of).to_vec();
        self.add(Op::Cast(of), ty, shape)
    }

    /// A vector of scalars, as shapes are.
    pub(super) fn vector(&mut self, parts: &[NodeId]) -> NodeId {
        let length = vec![Size::Const(parts.len() as u64)];
        let known: Option<Vec<Scalar>> = parts.iter().map(|&part| self.as_scalar(part)).collect();
        if let Some(known) = known {
            return self.add(Op::Const(known), Ty::I64, length);
        }
        let lines: Vec<NodeId> = parts.iter().map(|&part| self.unsqueeze(part, vec![0])).collect();
        if let [line] = lines[..] {
            return line;
        }
        self.add(Op::Concat(lines, 0), Ty::I64, length)
    }

    pub(super) fn reshape(&mut self, of: NodeId, shape: Vec<Size>, extents: &[NodeId]) -> NodeId {
        if self.shape(of) == shape {
            return of;
        }
        let vector = self.vector(extents);
        let ty = self.ty(of);
        self.add(Op::Reshape(of, vector), ty, shape)
    }

    pub(super) fn broadcast(&mut self, of: NodeId, shape: Vec<Size>, extents: &[NodeId]) -> NodeId {
        if self.shape(of) == shape {
            return of;
        }
        let vector = self.vector(extents);
        let ty = self.ty(of);
        self.add(Op::Broadcast(of, vector), ty, shape)
    }

    pub(super) fn unsqueeze(&mut self, of: NodeId, axes: Vec<usize>) -> NodeId {
        if axes.is_empty() {
            return of;
        }
        let mut shape = self.shape(of).to_vec();
        for &axis in &axes {
            shape.insert(axis.min(shape.len()), Size::Const(1));
        }
        let ty = self.ty(of);
        if let (Op::Const(values), 1) = (self.op(of), values_of(self.op(of))) {
            let values = values.clone();
            return self.add(Op::Const(values), ty, shape);
        }
        self.add(Op::Unsqueeze(of, axes), ty, shape)
    }

    pub(super) fn transpose(&mut self, of: NodeId, order: Vec<usize>) -> NodeId {
        if order.iter().enumerate().all(|(axis, &from)| axis == from) {
            return of;
        }
        if let Op::Transpose(inner, first) = self.op(of) {
            let inner = *inner;
            let order = order.iter().map(|&from| first[from]).collect();
            return self.transpose(inner, order);
        }
        let shape = order.iter().map(|&from| self.shape(of)[from].clone()).collect();
        let ty = self.ty(of);
        self.add(Op::Transpose(of, order), ty, shape)
    }

    pub(super) fn concat(&mut self, parts: Vec<NodeId>, axis: usize) -> NodeId {
        let all = parts.iter().map(|&part| self.shape(part)[axis].clone());
        let whole = all.reduce(|a, b| a + b).unwrap_or(Size::Const(0));
        self.concat_to(parts, axis, whole)
    }

    /// The same, where it is known how long that is.
    pub(super) fn concat_to(&mut self, parts: Vec<NodeId>, axis: usize, whole: Size) -> NodeId {
        let mut shape = self.shape(parts[0]).to_vec();
        shape[axis] = whole;
        let ty = self.ty(parts[0]);
        self.add(Op::Concat(parts, axis), ty, shape)
    }

    /// What is between two places, which are so many.
    pub(super) fn slice(&mut self, of: NodeId, axis: usize, from: NodeId, to: NodeId, extent: Size) -> NodeId {
        let mut shape = self.shape(of).to_vec();
        if shape[axis] == extent && self.as_i64(from) == Some(0) {
            return of;
        }
        shape[axis] = extent;
        let ty = self.ty(of);
        self.add(Op::Slice { of, axis, from, to }, ty, shape)
    }

    pub(super) fn gather(&mut self, of: NodeId, places: NodeId, axis: usize) -> NodeId {
        let mut shape = self.shape(of).to_vec();
        shape.splice(axis..=axis, self.shape(places).to_vec());
        let ty = self.ty(of);
        self.add(Op::Gather { of, places, axis }, ty, shape)
    }

    pub(super) fn range(&mut self, end: NodeId, extent: Size) -> NodeId {
        self.add(Op::Range(end), Ty::I64, vec![extent])
    }

    pub(super) fn reduce(&mut self, by: Reduction, of: NodeId, axes: Vec<usize>) -> NodeId {
        if axes.is_empty() {
            return of;
        }
        let kept = self.shape(of).iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let shape = kept.map(|(_, size)| size.clone()).collect();
        let ty = self.ty(of);
        self.add(Op::Reduce(by, of, axes), ty, shape)
    }

    pub(super) fn prefixes(&mut self, of: NodeId, axis: usize) -> NodeId {
        let shape = self.shape(of).to_vec();
        let ty = self.ty(of);
        self.add(Op::Prefixes(of, axis), ty, shape)
    }

    pub(super) fn matmul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let mut shape = self.shape(a).to_vec();
        let last = shape.len() - 1;
        shape[last] = self.shape(b)[last].clone();
        let ty = self.ty(a);
        self.add(Op::MatMul(a, b), ty, shape)
    }

    /// A convolution whose places are so many.
    pub(super) fn convolve(&mut self, of: NodeId, windows: NodeId, places: &[Size]) -> NodeId {
        let mut shape = vec![self.shape(of)[0].clone(), self.shape(windows)[0].clone()];
        shape.extend_from_slice(places);
        let ty = self.ty(of);
        self.add(Op::Convolve(of, windows), ty, shape)
    }

    pub(super) fn scatter(&mut self, onto: NodeId, places: NodeId, values: NodeId, by: Reduction) -> NodeId {
        let shape = self.shape(onto).to_vec();
        let ty = self.ty(onto);
        self.add(Op::Scatter { onto, places, values, by }, ty, shape)
    }

    pub(super) fn places(&mut self, of: NodeId, kept: Size) -> NodeId {
        self.add(Op::Places(of), Ty::I64, vec![kept])
    }

    /// Begins a region that is given values like these.
    pub(super) fn open(&mut self, like: &[NodeId]) -> Open {
        self.scopes.push(HashMap::new());
        let first = self.nodes.len() as u32;
        let param = |&id: &NodeId| (self.ty(id), self.shape(id).to_vec());
        let types: Vec<_> = like.iter().map(param).collect();
        let params = types.into_iter().map(|(ty, shape)| self.add(Op::Param, ty, shape)).collect();
        Open { params, first }
    }

    /// Ends a region.
    pub(super) fn close(&mut self, open: Open, results: Vec<NodeId>) -> Region {
        self.scopes.pop();
        Region { params: open.params, first: open.first, end: self.nodes.len() as u32, results }
    }

    pub(super) fn repeat(&mut self, init: Vec<NodeId>, cond: Region, body: Region) -> Vec<NodeId> {
        let types: Vec<_> = init.iter().map(|&id| (self.ty(id), self.shape(id).to_vec())).collect();
        let all = self.add(Op::While { init, cond, body }, Ty::Bool, vec![]);
        let part = |(k, (ty, shape)): (usize, (Ty, Vec<Size>))| self.add(Op::Part(all, k), ty, shape);
        types.into_iter().enumerate().map(part).collect()
    }

    /// The graph, and what of it is needed.
    pub(super) fn finish(self, name: String, inputs: Vec<Port>, outputs: Vec<Port>) -> Graph {
        let mut live = vec![false; self.nodes.len()];
        let mut open: Vec<NodeId> = inputs.iter().chain(&outputs).map(|port| port.node).collect();
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut live[id.0 as usize], true) {
                continue;
            }
            let op = &self.nodes[id.0 as usize].op;
            open.extend(op.operands());
            open.extend(op.regions().into_iter().flat_map(|region| region.params.iter().chain(&region.results)));
        }
        Graph { name, nodes: self.nodes, inputs, outputs, live }
    }
}

impl Open {
    pub(super) fn params(&self) -> &[NodeId] {
        &self.params
    }
}

fn values_of(op: &Op) -> usize {
    match op {
        Op::Const(values) => values.len(),
        _ => 0,
    }
}
