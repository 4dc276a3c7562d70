//! Kernels that people wrote, as a page: a function for each, which takes its threads and writes into the arrays it is given.
//!
//! Their cases are launches that somebody watched: those of the host part of a .vex file, in the interpreter.

use super::super::walk::free;
use super::super::{Emitted, Options, ProjectError};
use super::cases::{self, Call};
use super::javascript::{self, ByHand, Function};
use super::shader::Shader;
use super::{Page, check_name};
use crate::back::wgsl::Wgsl;
use crate::choices::Checks;
use crate::code::{Id, Type, Var};
use crate::interp::{Array, Value};
use crate::kernel::{Buffer, BufferId, BufferUse, Kernel, Memory, Plan, ScalarArg, Space, Step};
use crate::launch::{LAUNCH_SIZES, Template};
use crate::names::Names;
use crate::road::{Destination, KernelRoad};
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

/// Writes kernels as a page.
pub fn emit_kernels(
    kernels: &[HandKernel],
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let mut page = Page::default();
    for hand in kernels {
        let HandKernel { template, block, .. } = *hand;
        let name = &template.kernel.name;
        check_name(name)?;
        if page.names.contains(name) {
            return Err(ProjectError::Twice(name.clone()));
        }
        let way = road(Destination::threads(template, block));
        // What tells faults keeps places whole, however large: only the kernel's own numbers have to fit.
        let own = KernelRoad { checks: Checks::Guard, ..way.clone() }.end(template)?;
        Wgsl { int64: false, ..options.wgsl()? }.check_kernel(&own)?;
        let kernel = way.end(template)?;
        let shader = Shader::new(&kernel, options)?;
        let params = named(hand);
        let (plan, by_hand) = plan(template, kernel, block, &params);
        let shaders = [shader];
        let mut function = Function::new(name, &plan, &[], &shaders);
        function.names.params = params.into_iter().map(|(name, _)| name).collect();
        function.by_hand = Some(by_hand);
        if hand.launches.is_empty() {
            page.calls.push(Call { name: name.clone(), run: None, ramps: false, expected: vec![] });
        }
        page.calls.extend(hand.launches.iter().enumerate().map(|(k, launch)| call(&function, k, launch)));
        page.functions.push(function.text());
        page.names.push(name.clone());
        page.shaders.extend(shaders);
    }
    Ok(page.emitted())
}

/// Parameters with names that JavaScript takes; tensors first where nobody says, or what is said is not what the kernel has.
fn named(hand: &HandKernel) -> Vec<(String, bool)> {
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
        *name = free(name, &|name| javascript::is_taken(name) || is_size(name));
    }
    params
}

fn is_tensor(memory: &Memory) -> bool {
    matches!(memory.space, Space::Global(_))
}

/// The one launch of a kernel as a plan, and what is special about it.
fn plan(template: &Template, kernel: Kernel, block: [u32; 3], params: &[(String, bool)]) -> (Plan, ByHand) {
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
    let mut by_hand = ByHand { block, written: vec![], constants: vec![], faults: None };
    let mut arguments = places(true);
    let mut constants = template.constants.iter();
    let mut buffers = vec![];
    for memory in kernel.bound_memories() {
        let id = BufferId(buffers.len() as u32);
        let mut role = BufferUse::Temporary;
        if memory.space == Space::Constant {
            let data = constants.next().cloned().unwrap_or_default();
            let values = Array { ty: memory.ty, shape: vec![data.len() as u64], data };
            by_hand.constants.push((id, cases::array(&values)));
        } else if let Some(k) = arguments.next() {
            role = BufferUse::Argument(k);
            if memory.space != Space::Global(crate::kernel::Access::Read) {
                by_hand.written.push((k, id));
            }
        } else {
            by_hand.faults = Some((id, arrays(&kernel)));
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

/// The arrays that faults may be about, by number.
fn arrays(kernel: &Kernel) -> String {
    let spell = |memory: &Memory| format!("{{ name: \"{}\", axes: {} }}", memory.name, memory.shape.len());
    let list: Vec<String> = kernel.memories.iter().map(spell).collect();
    format!("[{}]", list.join(", "))
}

/// A launch as a case.
fn call(function: &Function, number: usize, launch: &ByHandLaunch) -> Call {
    let written = |k: usize| function.by_hand.iter().flat_map(|hand| &hand.written).any(|(at, _)| *at == k);
    let mut lines = vec![];
    let mut args = vec![];
    let mut results = vec![];
    for (k, (value, name)) in launch.arguments.iter().zip(&function.names.params).enumerate() {
        match value {
            Value::Scalar(value) => args.push(javascript::literal(*value)),
            Value::Array(array) => {
                lines.push(format!("const {name} = {};", cases::array(array)));
                args.push(name.clone());
                if written(k) {
                    results.push(name.clone());
                }
            }
        }
    }
    let [x, y, z] = launch.threads;
    let threads = if [y, z] == [1, 1] { x.to_string() } else { format!("[{x}, {y}, {z}]") };
    let mut options = vec![format!("threads: {threads}")];
    for k in function.asked() {
        options.push(format!("{}: {}", function.names.sizes[k], launch.sizes.get(k).copied().unwrap_or(0)));
    }
    args.push(format!("{{ {} }}", options.join(", ")));
    lines.push(format!("await {}({});", function.name, args.join(", ")));
    let name = if number == 0 { function.name.to_string() } else { format!("{}, {}", function.name, number + 1) };
    let run = Some((lines, format!("[{}]", results.join(", "))));
    Call { name, run, ramps: false, expected: launch.results.clone() }
}

const _: () = assert!(LAUNCH_SIZES == 6, "three for the grid, three for the threads: `Function::text` names them");
