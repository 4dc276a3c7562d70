//! A program as a model, and its calls.

use super::OpenVino;
use super::network::{Given, Input, Network, element};
use super::opened::{Opened, refused};
use super::wide::Right;
use crate::device::Seal;
use crate::memo::Memo;
use crate::signature::{Bound, Signature, Sizes};
use crate::{Argument, Buffer, Device, Error, Executable, Interpreter, Output, hash};
use slyz_sir::back::graph::{self, Format, Graph, GraphError};
use slyz_sir::back::openvino::{FORMAT, emit};
use slyz_sir::choices::Precision;
use slyz_sir::code::Type;
use slyz_sir::kernel::Plan;
use slyz_sir::pass::Selection;
use slyz_sir::program::Program;
use slyz_sir::size::{Size, SizeVar};
use slyz_sir::types::Ty;
use std::sync::{Arc, OnceLock};

/// Models for sizes that are kept.
const KEPT_MODELS: usize = 16;

/// A program, and what OpenVINO made of it.
pub(super) struct Compiled {
    opened: Arc<Opened>,
    program: Program,
    signature: Signature,
    precision: Precision,
    results: Vec<Type>,
    source: String,
    /// The model for all sizes, where there is one.
    whole: Option<Ready>,
    by_sizes: Memo<Ready>,
    /// For calls on arrays without elements, which OpenVINO does not have.
    interpreted: OnceLock<Arc<dyn Executable>>,
}

/// A model made ready, and the graph that it is.
struct Ready {
    graph: Graph,
    network: Network,
    right: Right,
}

impl Ready {
    fn new(graph: Graph, network: Network) -> Ready {
        Ready { graph, network, right: Right::default() }
    }
}

impl Compiled {
    /// What cannot be a model for any sizes is an error now.
    pub(super) fn new(opened: Arc<Opened>, program: &Program, precision: Precision) -> Result<Compiled, Error> {
        let (whole, source) = match graph_of(program, &[], precision) {
            Ok(graph) => {
                let model = emit(&graph);
                // A neural processor may want to know extents that others do without.
                let network = opened.compile(&program.name, &model).ok();
                (network.map(|network| Ready::new(graph, network)), model.xml)
            }
            Err(GraphError::Open { .. } | GraphError::Untold { .. }) => (None, program.to_string()),
            Err(error) => return Err(Error::Model(error.into())),
        };
        Ok(Compiled {
            opened,
            signature: Signature::of(program),
            precision,
            results: results(program),
            source,
            whole,
            by_sizes: Memo::new(KEPT_MODELS),
            interpreted: OnceLock::new(),
            program: program.clone(),
        })
    }

    /// The model for sizes that are known.
    fn of_sizes(&self, sizes: &Sizes<'_>) -> Result<Arc<Ready>, Error> {
        self.by_sizes.get(hash::of(&sizes.values()), || {
            let named = self.program.sizes.iter().zip(sizes.values());
            let given: Vec<(String, u64)> =
                named.filter_map(|(size, value)| Some((size.name.clone(), (*value)?))).collect();
            let graph = graph_of(&self.program, &given, self.precision).map_err(|error| Error::Model(error.into()))?;
            let network = self.opened.compile(&self.program.name, &emit(&graph))?;
            Ok(Arc::new(Ready::new(graph, network)))
        })
    }

    fn interpreted(&self) -> Result<&Arc<dyn Executable>, Error> {
        if let Some(known) = self.interpreted.get() {
            return Ok(known);
        }
        let made = Interpreter.compile(&self.program)?;
        Ok(self.interpreted.get_or_init(|| made))
    }

    /// A result, which is what the program says it is: others read it without a look.
    fn output(&self, sizes: &mut Sizes<'_>, number: usize, given: &Given) -> Result<Output, Error> {
        let name = &self.program.name;
        let ty = &self.results[number];
        let broken = || Error::OpenVino {
            what: format!("a call of \"{name}\""),
            why: format!("result {number} is {:?} of shape {:?}, not {}", given.ty, given.shape, ty.elem()),
        };
        if element(ty.elem()) != Some(given.ty) || ty.shape().len() != given.shape.len() {
            return Err(broken());
        }
        for (size, &extent) in ty.shape().iter().zip(&given.shape) {
            match (size, value(sizes, size)) {
                (_, Some(known)) if known != extent => return Err(broken()),
                (Size::Var(var), None) => sizes.count(*var, extent)?,
                // Made of what is counted and nobody is told.
                (_, Some(_) | None) => {}
            }
        }
        let bytes = given.bytes().map_err(|error| refused(&format!("result {number} of \"{name}\""), &error))?;
        let data = match ty.elem() {
            Ty::Bool => Buffer::copy_of(&bytes.iter().map(|&byte| u8::from(byte != 0)).collect::<Vec<u8>>())?,
            _ => Buffer::copy_of(bytes)?,
        };
        Ok(Output { ty: ty.elem(), shape: given.shape.clone(), data })
    }
}

/// A size, as far as it is known.
fn value(sizes: &Sizes<'_>, size: &Size) -> Option<u64> {
    size.eval(&|SizeVar(var)| sizes.values().get(var as usize).copied().flatten()).ok()
}

fn graph_of(program: &Program, given: &[(String, u64)], precision: Precision) -> Result<Graph, GraphError> {
    graph::of_program(program, given, &Selection::All, &Format { precision, ..FORMAT })
}

/// The types of the results.
fn results(program: &Program) -> Vec<Type> {
    let made = program.body.stmts.iter().flat_map(|stmt| &stmt.binds);
    let all: Vec<_> = program.body.params.iter().chain(made).collect();
    let of = |id| all.iter().find(|var| var.id == id).map(|var| var.ty.clone());
    program.body.results.iter().filter_map(|&id| of(id)).collect()
}

/// The bytes of an argument that is a scalar.
fn scalar_bytes(bound: &Bound<'_>) -> Vec<u8> {
    let Bound::Scalar(scalar) = bound else { return vec![] };
    let place = if cfg!(target_endian = "little") { 0 } else { 8 - scalar.ty.bytes() };
    scalar.bits.to_ne_bytes()[place..place + scalar.ty.bytes()].to_vec()
}

impl Executable for Compiled {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        let (mut known, bound) = self.signature.check(sizes, args, |_| false)?;
        if known.values().contains(&Some(0)) {
            return self.interpreted()?.run(sizes, args);
        }
        let made;
        let ready = match &self.whole {
            Some(ready) => ready,
            None => {
                made = self.of_sizes(&known)?;
                &made
            }
        };
        let scalars: Vec<Vec<u8>> = bound.iter().map(scalar_bytes).collect();
        let mut inputs = vec![];
        for (place, (bound, param)) in bound.iter().zip(&self.signature.params).enumerate() {
            let shape = known.shape(param.ty.shape())?;
            let bytes = match bound {
                Bound::Scalar(_) => &scalars[place][..],
                Bound::Array(data) => data.bytes()?,
            };
            inputs.push(Input { name: &ready.graph.inputs[place].name, ty: param.ty.elem(), shape, bytes });
        }
        let name = &self.signature.name;
        ready.right.check(&ready.graph, &known, &inputs)?;
        ready.network.run(name, &inputs, &self.results, |number, given| self.output(&mut known, number, &given))
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn plan(&self) -> Option<&Plan> {
        None
    }

    fn device(&self) -> &str {
        OpenVino::NAME
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}
