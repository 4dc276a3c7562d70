//! Kernels that people wrote, for hosts: each as a plan of one launch, whose threads the caller chooses and which writes into arrays that it is given.
//!
//! Their cases are launches that somebody watched: those of the host part of a .vex file, in the interpreter.

use super::walk::free;
use crate::code::{Id, Type, Var};
use crate::interp::{Array, Value};
use crate::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Memory, Plan, ScalarArg, Space, Step};
use crate::launch::Template;
use crate::names::Names;
use crate::types::Ty;

/// A kernel with what a host knows of it.
#[derive(Clone, Debug)]
pub struct HandKernel<'a> {
    /// The kernel.
    pub template: &'a Template,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Its parameters in order: the name, and whether it is a tensor. Empty where nobody knows.
    pub params: Vec<(String, bool)>,
    /// Launches in blocks of that size.
    pub launches: Vec<ByHandLaunch>,
}

/// A launch that somebody watched.
#[derive(Clone, Debug)]
pub struct ByHandLaunch {
    /// Threads in x, y, z.
    pub threads: [u64; 3],
    /// The size variables of the kernel.
    pub sizes: Vec<u64>,
    /// What its parameters were before, in order.
    pub arguments: Vec<Value>,
    /// What the tensors that it writes were afterwards, in order.
    pub results: Vec<Array>,
}

/// What is special about the plan of such a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct ByHand {
    /// Parameters that are written, with their buffers.
    pub(super) written: Vec<(usize, BufferId)>,
    /// Buffers that hold constants, and what they hold.
    pub(super) constants: Vec<(BufferId, Array)>,
    /// Where faults are told.
    pub(super) faults: Option<BufferId>,
}

impl ByHand {
    /// Does the kernel write into that parameter?
    pub(super) fn is_written(&self, param: usize) -> bool {
        self.written.iter().any(|(at, _)| *at == param)
    }
}

/// Parameters with names that are not `taken`; tensors first where nobody says, or what is said is not what the kernel has.
pub(super) fn named(hand: &HandKernel, taken: &dyn Fn(&str) -> bool) -> Vec<(String, bool)> {
    let kernel = &hand.template.kernel;
    let mut params = hand.params.clone();
    let tensors: Vec<&Memory> = kernel.memories.iter().filter(|memory| is_tensor(memory)).collect();
    let scalars = kernel.body.params.len();
    let known = params.iter().filter(|(_, is_tensor)| *is_tensor).count();
    if (known, params.len()) != (tensors.len(), tensors.len() + scalars) {
        params = tensors.iter().map(|memory| (memory.name.clone(), true)).collect();
        params.extend((0..scalars).map(|k| (format!("arg{k}"), false)));
    }
    let is_size = |name: &str| kernel.sizes.iter().any(|size| size.name == name);
    for (name, _) in &mut params {
        *name = free(name, &|name| taken(name) || is_size(name));
    }
    params
}

fn is_tensor(memory: &Memory) -> bool {
    matches!(memory.space, Space::Global(_))
}

/// The one launch of a kernel, made of its template, as a plan, and what is special about it.
pub(super) fn plan(template: &Template, kernel: Kernel, params: &[(String, bool)]) -> (Plan, ByHand) {
    let mut tensors = template.kernel.memories.iter().filter(|memory| is_tensor(memory));
    let mut scalars = kernel.body.params.iter();
    let var = |(k, (_, is_tensor)): (usize, &(String, bool))| {
        let ty = if *is_tensor {
            tensors.next().map(|memory| Type::Array(memory.ty, memory.shape.clone()))
        } else {
            scalars.next().map(|var| var.ty.clone())
        };
        Var { id: Id(k as u32), ty: ty.unwrap_or(Type::Scalar(Ty::F32)) }
    };
    let vars: Vec<Var> = params.iter().enumerate().map(var).collect();
    let places = |tensor: bool| params.iter().enumerate().filter(move |(_, p)| p.1 == tensor).map(|(k, _)| k);
    let mut by_hand = ByHand { written: vec![], constants: vec![], faults: None };
    let mut arguments = places(true);
    let mut constants = template.constants.iter();
    let mut buffers = vec![];
    for memory in kernel.bound_memories() {
        let id = BufferId(buffers.len() as u32);
        let mut role = BufferUse::Temporary;
        if memory.space == Space::Constant {
            let data = constants.next().cloned().unwrap_or_default();
            let values = Array { ty: memory.ty, shape: vec![data.len() as u64], data };
            by_hand.constants.push((id, values));
        } else if let Some(k) = arguments.next() {
            role = BufferUse::Argument(k);
            if memory.space != Space::Global(Access::Read) {
                by_hand.written.push((k, id));
            }
        } else {
            by_hand.faults = Some(id);
        }
        buffers.push(Buffer { ty: memory.ty, shape: memory.shape.clone(), role });
    }
    let launch = Step::Launch {
        kernel: 0,
        buffers: (0..buffers.len() as u32).map(BufferId).collect(),
        scalars: places(false).map(ScalarArg::Argument).collect(),
    };
    let name = kernel.name.clone();
    let sizes = kernel.sizes.clone();
    let steps = vec![launch];
    (
        Plan {
            name,
            sizes,
            params: vars,
            names: Names::default(),
            buffers,
            results: vec![],
            kernels: vec![kernel],
            steps,
        },
        by_hand,
    )
}
