//! The walker: a program, statement by statement, with every scalar of a body as an array over the axes around it.
//!
//! Functions are inlined. Both sides of a branch are computed and one is selected, so that reads in branches, which may be outside where
//! the other side is taken, are held inside. Loops whose number of turns is known and small are unrolled; others are loops of the graph, in
//! which those lanes that are done keep their state.

mod convolve;
mod fold;
mod loops;
mod operators;
mod places;
mod product;
mod read;
mod scatter;
mod sizes;
mod split;
mod tree;
mod value;

use super::make::Maker;
use super::{Format, Graph, GraphError, NodeId, Port};
use crate::class;
use crate::code::{Body, Id, Op, Stmt, Var};
use crate::ops::Operator;
use crate::program::Program;
use crate::raise::poly::{Poly, Term};
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use convolve::Window;
use split::{Bound, Sides};
use std::collections::{BTreeSet, HashMap};
use value::{AxisId, Key, Value};

/// What is known on the way.
struct Lift<'p> {
    program: &'p Program,
    format: &'p Format,
    maker: Maker,
    values: HashMap<Id, Value>,
    /// Extents of all axes so far, by number.
    axes: Vec<Size>,
    /// The axes around.
    around: Vec<AxisId>,
    /// What tells size variables.
    sizes: HashMap<SizeVar, NodeId>,
    /// The operands of products, for folds that are products of matrices.
    products: HashMap<Key, (Value, Value)>,
    /// Reads under windows, for folds that are convolutions.
    windows: HashMap<Key, Window>,
    /// Quotients of positions that are names of their own, so that `k / M * M + k % M` is `k`.
    quotients: Vec<(Poly, Poly)>,
    /// What conditions say about positions.
    bounds: HashMap<Key, Vec<Bound>>,
    /// Is what is walked computed where it would not run?
    masked: bool,
}

/// A program as a graph. Sizes that are constants in the program are static in the graph.
///
/// ```
/// use slyz_sir::back::{graph, openvino};
/// let program = slyz_sir::text::parse_program("program twice<N>(%x: f32[N]) -> f32[N] {
///     %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
///     return %y
/// }")?;
/// assert_eq!(graph::lift(&program, &openvino::FORMAT)?.outputs.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lift(program: &Program, format: &Format) -> Result<Graph, GraphError> {
    let mut lift = Lift {
        program,
        format,
        maker: Maker::new(),
        values: HashMap::new(),
        axes: vec![],
        around: vec![],
        sizes: HashMap::new(),
        products: HashMap::new(),
        windows: HashMap::new(),
        quotients: vec![],
        bounds: HashMap::new(),
        masked: false,
    };
    let mut taken = BTreeSet::new();
    let mut inputs = vec![];
    for (number, param) in program.body.params.iter().enumerate() {
        lift.has_type(param.ty.elem())?;
        let shape = param.ty.shape().to_vec();
        let rank = shape.len();
        let node = lift.maker.input(number, param.ty.elem(), shape);
        lift.values.insert(param.id, Value::own(node, rank));
        let name = program.names.get(param.id).map_or_else(|| format!("input{number}"), String::from);
        inputs.push(Port { name: free(name, &mut taken), node });
    }
    lift.learn_sizes(&inputs);
    let results = lift.body(&program.body)?;
    let mut outputs = vec![];
    for (number, value) in results.iter().enumerate() {
        let name = if results.len() == 1 { "output".to_string() } else { format!("output{number}") };
        outputs.push(Port { name: free(name, &mut taken), node: value.node });
    }
    let graph = lift.maker.finish(program.name.clone(), inputs, outputs);
    check(&graph, format)?;
    Ok(graph)
}

/// A name that nobody has.
fn free(name: String, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|k| format!("{name}_{k}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// Has the format the arrays of the graph?
fn check(graph: &Graph, format: &Format) -> Result<(), GraphError> {
    for (node, _) in graph.nodes.iter().zip(&graph.live).filter(|(_, live)| **live) {
        if !(format.has_type)(node.ty) {
            return Err(no_type(&graph.name, format, node.ty));
        }
        let number = matches!(node.op, super::Op::Const(_));
        if !number && node.shape.contains(&Size::Const(0)) {
            return Err(GraphError::Empty { program: graph.name.clone(), format: format.name });
        }
        if node.shape.len() > format.most_axes {
            return Err(GraphError::Axes {
                program: graph.name.clone(),
                format: format.name,
                axes: node.shape.len(),
                most: format.most_axes,
            });
        }
    }
    Ok(())
}

fn no_type(program: &str, format: &Format, ty: Ty) -> GraphError {
    let instead = if ty.is_float() { Ty::F32 } else { Ty::I32 };
    GraphError::Type { program: program.to_string(), format: format.name, ty, instead }
}

impl Lift<'_> {
    fn has_type(&self, ty: Ty) -> Result<(), GraphError> {
        if (self.format.has_type)(ty) { Ok(()) } else { Err(no_type(&self.program.name, self.format, ty)) }
    }

    fn lacks<T>(&self, what: impl Into<String>, road: &'static str) -> Result<T, GraphError> {
        let program = self.program.name.clone();
        Err(GraphError::Operation { program, format: self.format.name, what: what.into(), road })
    }

    fn value(&self, id: Id) -> Value {
        // The verifier has seen that names are bound before they are used.
        self.values[&id].clone()
    }

    fn all(&self, ids: &[Id]) -> Vec<Value> {
        ids.iter().map(|&id| self.value(id)).collect()
    }

    fn bind(&mut self, names: &[Var], values: &[Value]) {
        self.values.extend(names.iter().map(|name| name.id).zip(values.iter().cloned()));
    }

    /// Walks a body whose parameters are bound.
    fn body(&mut self, body: &Body) -> Result<Vec<Value>, GraphError> {
        for stmt in &body.stmts {
            stmt.binds.iter().try_for_each(|bind| self.has_type(bind.ty.elem()))?;
            let values = self.statement(stmt)?;
            self.bind(&stmt.binds, &values);
        }
        Ok(self.all(&body.results))
    }

    fn call(&mut self, body: &Body, args: &[Value]) -> Result<Vec<Value>, GraphError> {
        self.bind(&body.params, args);
        self.body(body)
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<Vec<Value>, GraphError> {
        let one = |value: Value| Ok(vec![value]);
        match &stmt.op {
            Op::Const(scalar) => {
                let node = self.maker.scalar(*scalar);
                one(Value { place: number(*scalar), ..Value::own(node, 0) })
            }
            Op::Extent(size) => {
                let node = self.extent(size)?;
                one(Value { place: self.poly(size), ..Value::own(node, 0) })
            }
            Op::Apply(operator, args) => {
                let args = self.all(args);
                one(self.operator(*operator, &args)?)
            }
            Op::Cast(ty, arg) => {
                let arg = self.value(*arg);
                one(self.cast(*ty, &arg)?)
            }
            Op::Bitcast(ty, _) => {
                self.lacks(format!("`bitcast` to {ty}"), "compute with numbers, or build for the target c")
            }
            Op::Call(function, args) => {
                let args = self.all(args);
                let function = &self.program.functions[function.0 as usize];
                self.call(&function.body, &args)
            }
            Op::If { cond, args, then, otherwise } => {
                let cond = self.value(*cond);
                let args = self.all(args);
                self.branch(&cond, &args, then, otherwise)
            }
            Op::For { lo, hi, step, init, body } => {
                let bounds = [self.value(*lo), self.value(*hi), self.value(*step)];
                let init = self.all(init);
                self.turns(&bounds, &init, body)
            }
            Op::While { init, cond, body } => {
                let init = self.all(init);
                self.repeat(&init, cond, body)
            }
            Op::At { array, index } => {
                let array = self.value(*array);
                let index = self.all(index);
                one(self.read(&array, &index)?)
            }
            Op::Tabulate { shape, body } => self.tabulate(shape, body),
            Op::Fold { shape, body, monoid } => self.fold(shape, body, monoid),
            Op::Scan { shape, body, monoid } => self.scan(shape, body, monoid),
            Op::Scatter { shape, body, target, onto, monoid } => {
                let onto = self.all(onto);
                self.scatter(shape, body, target, &onto, monoid)
            }
            Op::Filter { extent, body, kept } => self.filter(extent, body, *kept),
            Op::Sort { .. } => self.lacks("`sort` by keys that are words", "build for the target c, cuda or metal"),
            Op::Raw(call) => match &call.meaning {
                Some(meaning) => {
                    let args = self.all(&call.args);
                    self.call(meaning, &args)
                }
                None => {
                    let what = format!("the raw kernel `{}`, which has no meaning", call.kernel.name);
                    self.lacks(what, "give it a meaning, which models are made of")
                }
            },
            class!(Place) | class!(Memory) | class!(Meeting) => {
                self.lacks("threads", "write it as a function over arrays, or build for the target c")
            }
        }
    }

    /// Enters axes, whose positions are the parameters of a body.
    fn enter(&mut self, shape: &[Size], params: &[Var]) -> Result<Vec<AxisId>, GraphError> {
        let mut axes = vec![];
        for (size, param) in shape.iter().zip(params) {
            let axis = AxisId(self.axes.len() as u32);
            self.axes.push(self.known(size));
            axes.push(axis);
            let position = self.position(axis)?;
            self.values.insert(param.id, position);
        }
        self.around.extend(&axes);
        Ok(axes)
    }

    fn leave(&mut self, axes: &[AxisId]) {
        self.around.truncate(self.around.len() - axes.len());
    }

    /// The positions of an axis.
    fn position(&mut self, axis: AxisId) -> Result<Value, GraphError> {
        let size = self.axes[axis.0 as usize].clone();
        let end = self.extent(&size)?;
        let node = self.maker.range(end, size);
        Ok(Value { node, axes: vec![axis], rank: 0, place: Some(Poly::term(Term::Atom(axis.0))) })
    }

    fn tabulate(&mut self, shape: &[Size], body: &Body) -> Result<Vec<Value>, GraphError> {
        let axes = self.enter(shape, &body.params)?;
        let values = self.body(body)?;
        self.leave(&axes);
        values.iter().map(|value| self.gathered(value, &axes)).collect()
    }

    /// Both sides, and of each result the one that counts.
    fn branch(
        &mut self,
        cond: &Value,
        args: &[Value],
        then: &Body,
        otherwise: &Body,
    ) -> Result<Vec<Value>, GraphError> {
        if let Some(known) = self.maker.as_scalar(cond.node) {
            return self.call(if known.is_true() { then } else { otherwise }, args);
        }
        if let Some(values) = self.split(cond, args, Sides { then, otherwise })? {
            return Ok(values);
        }
        let before = std::mem::replace(&mut self.masked, true);
        let yes = self.call(then, args)?;
        let no = self.call(otherwise, args)?;
        self.masked = before;
        yes.iter().zip(&no).map(|(yes, no)| self.select(cond, yes, no)).collect()
    }

    fn filter(&mut self, extent: &Size, body: &Body, kept: SizeVar) -> Result<Vec<Value>, GraphError> {
        let axes = self.enter(std::slice::from_ref(extent), &body.params)?;
        let values = self.body(body)?;
        self.leave(&axes);
        let lines: Vec<Value> = values.iter().map(|value| self.gathered(value, &axes)).collect::<Result<_, _>>()?;
        if !self.around.is_empty() {
            return self.lacks("`filter` in each of several lines", "build for the target c");
        }
        let places = self.maker.places(lines[0].node, Size::Var(kept));
        let count = self.maker.dim(places, 0);
        self.sizes.insert(kept, count);
        Ok(lines[1..].iter().map(|line| Value::own(self.maker.gather(line.node, places, 0), 1)).collect())
    }
}

fn number(scalar: Scalar) -> Option<Poly> {
    (scalar.ty == Ty::I64).then(|| Poly::number(scalar.as_int()))
}

/// The operator of a body that combines its operands part by part, and of which part.
fn plain_operators(body: &Body) -> Option<Vec<Operator>> {
    let parts = body.results.len();
    let of_part = |(k, result): (usize, &Id)| {
        let stmt = body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == *result))?;
        let (a, b) = (body.params[k].id, body.params[parts + k].id);
        match &stmt.op {
            Op::Apply(operator, args) if args[..] == [a, b] || operator.row().commutative && args[..] == [b, a] => {
                Some(*operator)
            }
            _ => None,
        }
    };
    body.results.iter().enumerate().map(of_part).collect()
}
