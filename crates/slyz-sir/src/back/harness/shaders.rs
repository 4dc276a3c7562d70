//! Programs as WGSL or SPIR-V: a file per kernel, for hosts that people write themselves.
//!
//! Kernels use what every WebGPU device has. Where a program works on 64-bit numbers they ask for those features too, and
//! say so. WGSL files open with what a host must know: bindings, words of the uniform buffer, and blocks to dispatch.

use super::{Emitted, File, ProjectError, checked_names, rename};
use crate::back::EmitError;
use crate::back::naga;
use crate::kernel::{Access, Kernel, Space};
use crate::lower::gpu::{Expected, Machine};
use crate::program::Program;
use crate::road::{ProgramRoad, Strategy};
use crate::size::{Size, SizeVar};
use crate::verify;

/// Positions fit 32 bits.
pub(super) const MACHINE: Machine = Machine { max_positions: 1 << 30, ..Machine::webgpu() };

/// What code with 64-bit numbers needs.
const WIDE_FEATURES: &str = "SHADER_INT64, and SHADER_F64 for f64";

/// The form of the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ShaderLanguage {
    Wgsl,
    Spirv,
}

impl ShaderLanguage {
    /// Positions are 32-bit numbers, and arithmetic in WGSL is hidden from drivers; in SPIR-V it is marked as exact.
    fn portable(self) -> naga::Target {
        naga::Target { reassociates: self == ShaderLanguage::Wgsl, narrow: true, ..naga::Target::default() }
    }

    /// The same with 64-bit numbers.
    fn wide(self) -> naga::Target {
        naga::Target { int64: true, float64: true, narrow: false, ..self.portable() }
    }
}

pub(super) fn emit(programs: &[Program], form: ShaderLanguage, road: &ProgramRoad) -> Result<Emitted, ProjectError> {
    let mut names = checked_names(programs)?;
    let mut files = vec![];
    for program in programs {
        verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
        let program = road.optimize(program);
        let strategy = Strategy::Threads(MACHINE, Expected::default());
        let mut plan = ProgramRoad { strategy, ..road.clone() }.lower(&program);
        rename(&mut plan, &mut names);
        for kernel in &plan.kernels {
            let (module, needs) = module(&program, kernel, form)?;
            files.push(file(kernel, &module, needs, form)?);
        }
    }
    Ok(emitted(files, form))
}

/// Kernels that people wrote. Where their integers do not fit 32 bits they need 64-bit ones.
pub(super) fn emit_kernels(kernels: &[Kernel], form: ShaderLanguage) -> Result<Emitted, ProjectError> {
    let mut files = vec![];
    for kernel in kernels {
        let target = naga::Target { subgroups: true, narrow: true, ..form.wide() };
        let module = naga::emit(kernel, &target)?;
        let needs = if module.is_wide() { WIDE_FEATURES } else { "" };
        files.push(file(kernel, &module, needs, form)?);
    }
    Ok(emitted(files, form))
}

fn file(kernel: &Kernel, module: &naga::Module, needs: &str, form: ShaderLanguage) -> Result<File, ProjectError> {
    Ok(match form {
        ShaderLanguage::Wgsl => File::text(format!("{}.wgsl", kernel.name), text(kernel, module, needs)?),
        ShaderLanguage::Spirv => {
            let bytes = naga::spirv(module)?.into_iter().flat_map(u32::to_le_bytes).collect();
            File::binary(format!("{}.spv", kernel.name), bytes)
        }
    })
}

/// A WGSL file.
pub(super) fn text(kernel: &Kernel, module: &naga::Module, needs: &str) -> Result<String, EmitError> {
    Ok(format!("{}{}", heading(kernel, module, needs), naga::wgsl(module)?))
}

fn emitted(files: Vec<File>, form: ShaderLanguage) -> Emitted {
    let list = files.iter().map(|f| &f.name[..]).collect::<Vec<_>>().join(" ");
    let build = match form {
        ShaderLanguage::Wgsl => format!("for f in {list}; do naga \"$f\"; done"),
        ShaderLanguage::Spirv => format!("for f in {list}; do spirv-val --target-env vulkan1.1 \"$f\"; done"),
    };
    Emitted { files, build }
}

/// The kernel as portable code, or else as code that needs features, with what it needs.
fn module(
    program: &Program,
    kernel: &Kernel,
    form: ShaderLanguage,
) -> Result<(naga::Module, &'static str), ProjectError> {
    if naga::check_narrow(program).is_ok() {
        match naga::emit(kernel, &form.portable()) {
            Ok(module) => return Ok((module, "")),
            Err(EmitError::Lacks { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((naga::emit(kernel, &form.wide())?, WIDE_FEATURES))
}

/// What a host must know, as comments.
fn heading(kernel: &Kernel, module: &naga::Module, needs: &str) -> String {
    let name = |var: SizeVar| kernel.sizes.get(var.0 as usize).map_or(String::new(), |decl| decl.name.clone());
    let spell = |size: &Size| size.display(&name).to_string();
    let list = |sizes: &[Size]| sizes.iter().map(spell).collect::<Vec<_>>().join(", ");
    let mut text = format!("// {}: dispatch {} workgroups.\n", kernel.name, list(&kernel.grid));
    if !needs.is_empty() {
        text += &format!("// It needs the features {needs}.\n");
    }
    let mut binding = 0;
    for memory in kernel.memories.iter().filter(|memory| memory.space.is_bound()) {
        let access = match memory.space {
            Space::Global(Access::Read) | Space::Constant => "read",
            Space::Global(Access::Write) => "written",
            Space::Global(Access::ReadWrite) => "read and written",
            Space::Shared | Space::Scratch | Space::Local => "private",
        };
        text += &format!("// binding {binding}: {}, {}[{}], {access}\n", memory.name, memory.ty, list(&memory.shape));
        binding += 1;
    }
    let scalars = kernel.body.params.iter().enumerate().map(|(k, param)| format!("scalar {k} ({})", param.ty.elem()));
    let words: Vec<String> = module.extents.iter().map(spell).chain(scalars).collect();
    let words = if words.is_empty() { "nothing".to_string() } else { words.join(", ") };
    text += &format!(
        "// binding {binding}: uniform, {} bytes: {words}, each 8 bytes, little-endian; then zeros\n\n",
        module.uniform_bytes
    );
    text
}
