//! A plan that a device has code for: of a program, for some class of sizes, or of one kernel in one form.

use super::engine::Engine;
use crate::kernels::extents;
use crate::signature::Signature;
use crate::{Error, hash};
use slyz_sir::code::{Type, Var};
use slyz_sir::kernel::{Buffer, BufferId, BufferUse, Kernel, Plan, ScalarArg, Step};
use slyz_sir::launch::Template;
use slyz_sir::lower::gpu::Windowed;
use slyz_sir::names::Names;
use slyz_sir::size::Size;
use slyz_sir::verify;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A plan and what is known about its kernels.
pub(crate) struct Variant<E: Engine> {
    pub(crate) plan: Plan,
    /// What the device has built of it.
    pub(crate) code: E::Code,
    /// The kernel as somebody wrote it, if the plan is its launch.
    pub(crate) template: Option<Arc<Template>>,
    /// By kernel.
    facts: Vec<Facts>,
    /// Sizes are counted while the plan runs.
    pub(super) counts: bool,
}

/// What is worth knowing about a kernel before it is launched.
struct Facts {
    extents: Vec<Size>,
    /// Structural.
    hash: OnceLock<[u8; 32]>,
    /// The kernel that sees windows of its arrays, with its hash.
    windowed: OnceLock<(Windowed, [u8; 32])>,
}

/// The plan of a kernel: one launch, whose buffers are passed by the launcher.
pub(super) fn plan_of_kernel(kernel: Kernel) -> Plan {
    let buffer = |memory: &slyz_sir::kernel::Memory| {
        let ty = memory.ty;
        let shape = memory.shape.clone();
        let role = BufferUse::Temporary;
        Buffer { ty, shape, role }
    };
    let buffers: Vec<Buffer> = kernel.bound_memories().map(buffer).collect();
    let step = Step::Launch {
        kernel: 0,
        buffers: (0..buffers.len()).map(|id| BufferId(id as u32)).collect(),
        scalars: (0..kernel.body.params.len()).map(ScalarArg::Argument).collect(),
    };
    Plan {
        name: kernel.name.clone(),
        sizes: kernel.sizes.clone(),
        params: vec![],
        names: Names::default(),
        buffers,
        results: vec![],
        kernels: vec![kernel],
        steps: vec![step],
    }
}

impl<E: Engine> Variant<E> {
    /// Of a plan that was made for a program. It is held to its rules: what runs it later leans on them.
    pub(super) fn of_program(plan: Plan, signature: &Signature) -> Result<Variant<E>, Error> {
        let broken = |why: String| Error::Plan { name: signature.name.clone(), why };
        verify::plan(&plan).map_err(|error| broken(error.to_string()))?;
        if plan.sizes != signature.sizes {
            return Err(broken("its size variables are not the program's".to_string()));
        }
        let types = |params: &[Var]| params.iter().map(|param| param.ty.clone()).collect::<Vec<Type>>();
        if types(&plan.params) != types(&signature.params) {
            return Err(broken("its parameters are not the program's".to_string()));
        }
        Ok(Variant::new(plan, None))
    }

    /// The texts of its kernels, one behind the other.
    #[cfg(any(feature = "cuda", feature = "hip", feature = "opencl"))]
    pub(crate) fn texts(&self, text: impl Fn(&Kernel) -> Result<String, Error>) -> Result<String, Error> {
        Ok(self.plan.kernels.iter().map(text).collect::<Result<Vec<String>, Error>>()?.join("\n"))
    }

    /// Of a kernel.
    pub(super) fn of_kernel(kernel: Kernel, template: Arc<Template>) -> Variant<E> {
        Variant::new(plan_of_kernel(kernel), Some(template))
    }

    fn new(plan: Plan, template: Option<Arc<Template>>) -> Variant<E> {
        let facts =
            |kernel: &Kernel| Facts { extents: extents(kernel), hash: OnceLock::new(), windowed: OnceLock::new() };
        let facts = plan.kernels.iter().map(facts).collect();
        let counts = plan.steps.iter().any(|step| matches!(step, Step::Count { .. }));
        Variant { plan, code: E::Code::default(), template, facts, counts }
    }

    /// Every extent that the code of a kernel counts with.
    pub(super) fn extents(&self, index: usize) -> &[Size] {
        &self.facts[index].extents
    }

    pub(super) fn hash(&self, index: usize) -> &[u8; 32] {
        self.facts[index].hash.get_or_init(|| hash::of(&self.plan.kernels[index]))
    }

    /// A kernel that sees windows of its arrays, and its hash.
    pub(super) fn windowed(&self, index: usize) -> &(Windowed, [u8; 32]) {
        self.facts[index].windowed.get_or_init(|| {
            let windowed = Windowed::new(&self.plan.kernels[index]);
            let hash = hash::of(&windowed.kernel);
            (windowed, hash)
        })
    }

    /// A plan that breaks its rules.
    pub(crate) fn broken(&self, why: String) -> Error {
        Error::Plan { name: self.plan.name.clone(), why }
    }
}

/// What it gives a device to do.
impl<E: Engine> fmt::Display for Variant<E> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.template {
            Some(template) => write!(f, "the launch of kernel `{}`", template.kernel.name),
            None => f.write_str("the launches of a call"),
        }
    }
}
