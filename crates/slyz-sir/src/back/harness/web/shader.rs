//! A kernel as WGSL, with the one description of how a host binds and launches it.
//!
//! JavaScript is written from the description alone; what writes the WGSL fills it in.

use super::super::ProjectError;
use super::super::shaders;
use crate::back::{EmitError, naga};
use crate::code::{Body, Op, Place, Scope};
use crate::kernel::Kernel;
use crate::size::Size;

/// Positions are 32-bit numbers. Arithmetic is the device's own: text that makes it exact takes some compilers minutes to read.
const BROWSER: naga::Target = naga::Target {
    int64: false,
    atomic64: false,
    float64: false,
    subgroups: true,
    fused: true,
    exact_division: true,
    exact_root: true,
    reassociates: false,
    narrow: true,
    long_loops: false,
    floats: naga::FloatControls { denormals: [false; 2], specials: [false; 2], nearest: [false; 2] },
};

/// What is bound at a number of group 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// The memory at that place among those that a launch passes.
    Storage { place: usize, written: bool },
    /// The words.
    Uniform,
}

/// 32 bits of the uniform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The value of a size.
    Size(Size),
    /// The scalar parameter of the kernel with that number.
    Scalar(usize),
    /// Nothing.
    Zero,
}

/// A kernel as WGSL.
#[derive(Clone, Debug)]
pub(super) struct Shader {
    /// The kernel's name; the file is called after it.
    pub name: String,
    /// The file.
    pub text: String,
    /// The function in the file.
    pub entry: String,
    /// By number.
    pub bindings: Vec<Binding>,
    /// What the uniform holds.
    pub words: Vec<Word>,
    /// Workgroups in x, y, z.
    pub groups: [Size; 3],
}

impl Shader {
    /// Writes a kernel. No array of its launches, and no size, is past [`shaders::MACHINE`]'s `max_positions`.
    pub(super) fn new(kernel: &Kernel) -> Result<Shader, ProjectError> {
        let module = naga::emit(kernel, &BROWSER).map_err(|error| refused(&kernel.name, error))?;
        let mut bindings: Vec<(u32, Binding)> = vec![];
        for (_, variable) in module.module.global_variables.iter() {
            let Some(at) = &variable.binding else { continue };
            let binding = match variable.space {
                ::naga::AddressSpace::Storage { access } => Binding::Storage {
                    place: at.binding as usize,
                    written: access.contains(::naga::StorageAccess::STORE),
                },
                _ => Binding::Uniform,
            };
            bindings.push((at.binding, binding));
        }
        bindings.sort_by_key(|(number, _)| *number);
        // Words of 64 bits, of which the lower halves say it all.
        let sizes = module.extents.iter().map(|size| Word::Size(size.clone()));
        let scalars = (0..kernel.body.params.len()).map(Word::Scalar);
        let mut words: Vec<Word> = sizes.chain(scalars).flat_map(|word| [word, Word::Zero]).collect();
        words.resize(module.uniform_bytes as usize / 4, Word::Zero);
        Ok(Shader {
            name: kernel.name.clone(),
            text: format!("{}{}", enables(kernel), shaders::text(kernel, &module, "")?),
            entry: "main".to_string(),
            bindings: bindings.into_iter().map(|(_, binding)| binding).collect(),
            words,
            groups: kernel.grid.clone(),
        })
    }

    /// The name of its file.
    pub(super) fn file(&self) -> String {
        format!("{}.wgsl", self.name)
    }
}

/// What a file must ask for. The names of subgroup operations are no names without it.
fn enables(kernel: &Kernel) -> &'static str {
    fn meets(body: &Body) -> bool {
        body.stmts.iter().any(|stmt| match &stmt.op {
            Op::Subgroup(..) | Op::Barrier(Scope::Subgroup) | Op::Place(Place::Lane | Place::SubgroupSize, _) => true,
            op => op.bodies().into_iter().any(meets),
        })
    }
    if meets(&kernel.body) { "enable subgroups;\n\n" } else { "" }
}

/// What browsers lack, in their words.
pub(super) fn refused(name: &str, error: EmitError) -> ProjectError {
    match error {
        EmitError::Lacks { what, remedy, .. } => ProjectError::Browser { name: name.to_string(), what, remedy },
        other => other.into(),
    }
}
