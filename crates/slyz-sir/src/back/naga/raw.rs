//! Kernels that people wrote in WGSL.

use super::{Interface, Module, Target, validate};
use crate::back::EmitError;
use crate::kernel::Kernel;
use crate::raw::{Language, RawCode};
use naga::{AddressSpace, ShaderStage};

/// The module of a source: storage buffers in group 0 in the order of arrays and results, and behind them a uniform buffer of scalars and extents,
/// a word of 32 bits each.
pub(super) fn module(kernel: &Kernel, code: &RawCode, target: &Target) -> Result<Module, EmitError> {
    let source = &code.source;
    if source.language != Language::Wgsl {
        return Err(EmitError::Raw { kernel: kernel.name.clone(), language: Language::Wgsl.name() });
    }
    let wrong = |why: String| EmitError::RawSource { kernel: kernel.name.clone(), why };
    if let Some(param) = kernel.body.params.iter().find(|param| param.ty.elem().bytes() != 4) {
        let remedy = "scalars of a kernel in WGSL have 32 bits: pass an array of one element";
        return Err(EmitError::Type { kernel: kernel.name.clone(), language: "WGSL", ty: param.ty.elem(), remedy });
    }
    let file = format!("{}.wgsl", source.entry);
    let parsed = naga::front::wgsl::parse_str(&source.text);
    let mut module = parsed.map_err(|error| wrong(error.emit_to_string_with_path(&source.text, &file)))?;
    let entry = module.entry_points.iter().position(|entry| entry.name == source.entry);
    let entry = entry.filter(|&place| module.entry_points[place].stage == ShaderStage::Compute);
    let entry = entry.ok_or_else(|| wrong(format!("its WGSL source has no `@compute fn {}`", source.entry)))?;
    let entry = module.entry_points.swap_remove(entry);
    if entry.workgroup_size != kernel.block {
        let [x, y, z] = kernel.block;
        let found = entry.workgroup_size;
        return Err(wrong(format!(
            "its `@workgroup_size` is {found:?}, and blocks of {:?} are launched; write `@workgroup_size({x}, {y}, {z})`, or `.block([{}, {}, {}])`",
            kernel.block, found[0], found[1], found[2]
        )));
    }
    module.entry_points = vec![naga::EntryPoint { name: "main".to_string(), ..entry }];
    let passed = kernel.body.params.len() + code.extents.len();
    check_bindings(&module, kernel, passed).map_err(wrong)?;
    let info = validate(&module, target).map_err(wrong)?;
    let floats = target.floats.at(target.precision);
    Ok(Module { module, info, interface: interface(kernel, code), floats, contracts: true })
}

pub(super) fn interface(kernel: &Kernel, code: &RawCode) -> Interface {
    let passed = kernel.body.params.len() + code.extents.len();
    let uniform_bytes = (4 * passed as u64).max(16).next_multiple_of(16);
    Interface { extents: code.extents.clone(), uniform_bytes, ends: false, raw: true }
}

/// Does it bind what it is passed?
fn check_bindings(module: &naga::Module, kernel: &Kernel, passed: usize) -> Result<(), String> {
    let arrays = kernel.bound_memories().count() as u32;
    let mut found = vec![];
    for (_, variable) in module.global_variables.iter() {
        let Some(binding) = &variable.binding else { continue };
        let name = variable.name.as_deref().unwrap_or("?");
        let is_array = matches!(variable.space, AddressSpace::Storage { .. });
        let fits = match is_array {
            true => binding.binding < arrays,
            false => variable.space == AddressSpace::Uniform && binding.binding == arrays && passed > 0,
        };
        if binding.group != 0 || !fits {
            let (group, place) = (binding.group, binding.binding);
            return Err(format!(
                "`{name}` is at @group({group}) @binding({place}); arrays and results are storage at @group(0) @binding(0) to {}, and scalars and extents \
                 a struct of 32-bit words, `var<uniform>` at @binding({arrays})",
                arrays.saturating_sub(1)
            ));
        }
        found.push(binding.binding);
    }
    match (0..arrays).find(|place| !found.contains(place)) {
        Some(place) => Err(format!("nothing is at @group(0) @binding({place}), where it is passed an array")),
        None => Ok(()),
    }
}
