//! What stands around the code of a kernel: bindings, memory of blocks, the uniform struct, places of threads.

use super::cells::{is_packed_in, shares_words};
use super::{Wgsl, word};
use crate::back::EmitError;
use crate::back::clike::{Description, Dialect, Dispatch, PlaceName, Uniform, UniformSource};
use crate::back::tree::{Infix, Tree};
use crate::kernel::{Kernel, Memory, Space};
use crate::size::{Size, SizeVar};
use crate::types::Ty;

/// Longer heads are broken into lines.
const WIDE: usize = 120;

/// Names and builtins, in the order of [`PlaceName`].
const PLACES: [(&str, &str, &str); 6] = [
    ("thread", "global_invocation_id", "vec3<u32>"),
    ("local", "local_invocation_id", "vec3<u32>"),
    ("block", "workgroup_id", "vec3<u32>"),
    ("blocks", "num_workgroups", "vec3<u32>"),
    ("lane", "subgroup_invocation_id", "u32"),
    ("lanes", "subgroup_size", "u32"),
];

/// The uniform struct's variable.
const UNIFORM: &str = "sizes";

/// Its type.
const RECORD: &str = "Sizes";

pub(super) fn is_place(name: &str) -> bool {
    name == UNIFORM || PLACES.iter().any(|(place, ..)| *place == name)
}

pub(super) fn place(place: PlaceName, dimension: u8) -> Tree {
    let (name, _, ty) = PLACES[place as usize];
    let axis = ["x", "y", "z"][dimension.min(2) as usize];
    let name = Tree::name(name);
    if ty == "u32" { name } else { Tree::member(name, axis) }
}

/// Memory of a block has a constant size in WGSL.
pub(super) fn check(kernel: &Kernel) -> Result<(), EmitError> {
    let varies = |memory: &&crate::kernel::Memory| {
        memory.space == Space::Scratch && Size::product(&memory.shape).constant().is_none()
    };
    match kernel.memories.iter().find(varies) {
        Some(_) => {
            let what = "memory of a block whose size is not a constant".to_string();
            Err(EmitError::Form { kernel: kernel.name.clone(), what })
        }
        None => Ok(()),
    }
}

/// What a host dispatches, and what the file asks of the device.
pub(super) fn heading(description: &Description) -> String {
    let kernel = &description.kernel;
    let name = |var: SizeVar| kernel.size_name(var);
    let (Dispatch::Threads(grid) | Dispatch::Blocks(grid)) = &description.dispatch;
    // Whoever launches a kernel by hand knows how many threads there are to be.
    let threads = |d: usize| {
        let var = SizeVar(3 + d as u32);
        let asked = |uniform: &Uniform| uniform.source == UniformSource::Size(var);
        let axis = kernel.size_name(var);
        let known = axis.starts_with("threads_") && description.uniforms.iter().any(asked);
        known.then(|| Size::CeilDiv(Box::new(Size::Var(var)), description.block[d].into()))
    };
    let exact = threads(0).is_some();
    let group = |(d, size): (usize, &Size)| match threads(d) {
        Some(size) => size.display(&name).to_string(),
        None if exact => "1".to_string(),
        None => size.display(&name).to_string(),
    };
    let mut grid: Vec<String> = grid.iter().enumerate().map(group).collect();
    while grid.len() > 1 && grid.last().is_some_and(|size| size == "1") {
        grid.pop();
    }
    let enable = if description.uses_subgroups { "enable subgroups;\n\n" } else { "" };
    let groups = if grid == ["1"] { "workgroup" } else { "workgroups" };
    format!("{enable}// Dispatch {} {groups}.\n{}", grid.join(" × "), limits(description))
}

/// Storage buffers of a kernel that every device of WebGPU has.
const MOST_BUFFERS: usize = 8;

/// What a host must ask the device for.
fn limits(description: &Description) -> String {
    match description.buffers.len() {
        0..=MOST_BUFFERS => String::new(),
        count => format!(
            "// Ask for a device with maxStorageBuffersPerShaderStage: {count}; without asking there are {MOST_BUFFERS}.\n"
        ),
    }
}

pub(super) fn record(name: &str, fields: &[(String, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(ty, name)| format!("{name}: {ty}")).collect();
    let line = format!("struct {name} {{ {} }}\n", fields.join(", "));
    if line.len() <= WIDE { line } else { format!("struct {name} {{\n    {},\n}}\n", fields.join(",\n    ")) }
}

/// A field of the uniform struct. `bool`s are passed as words.
pub(super) fn field(uniform: &Uniform) -> Tree {
    let field = Tree::member(Tree::name(UNIFORM), &uniform.name);
    if uniform.ty == Ty::Bool { Tree::infix(Infix::Ne, field, word(0)) } else { field }
}

fn fields(dialect: &Wgsl, description: &Description) -> Vec<(String, String)> {
    let ty = |ty: Ty| if ty == Ty::Bool { "u32" } else { dialect.scalar(ty).unwrap_or("u32") };
    description.uniforms.iter().map(|uniform| (ty(uniform.ty).to_string(), uniform.name.clone())).collect()
}

/// Everything before the body of the kernel.
pub(super) fn signature(dialect: &Wgsl, description: &Description) -> String {
    let scalar = |ty: Ty| dialect.scalar(ty).unwrap_or("u32");
    let mut text = String::new();
    let fields = fields(dialect, description);
    if !fields.is_empty() {
        text += &record(RECORD, &fields);
        text += "\n";
    }
    for buffer in &description.buffers {
        let memory = &description.kernel.memories[buffer.memory.0 as usize];
        let packed = is_packed_in(memory.space, buffer.ty);
        let element = if packed { "u32" } else { scalar(buffer.ty) };
        let atomic = description.atomics.contains(&buffer.memory) || packed && shares_words(memory.space);
        let element = if atomic { format!("atomic<{element}>") } else { element.to_string() };
        let access = if buffer.written { "read_write" } else { "read" };
        let (index, name) = (buffer.index, &buffer.name);
        text += &format!("@group(0) @binding({index}) var<storage, {access}> {name}: array<{element}>;\n");
    }
    if !fields.is_empty() {
        let index = description.buffers.len();
        text += &format!("@group(0) @binding({index}) var<uniform> {UNIFORM}: {RECORD};\n");
    }
    for shared in &description.shared {
        let element = scalar(shared.ty);
        let atomic = description.atomics.contains(&shared.memory);
        let element = if atomic { format!("atomic<{element}>") } else { element.to_string() };
        let memory = &description.kernel.memories[shared.memory.0 as usize];
        let counts = if nests(memory) { shared.shape.clone() } else { vec![Size::product(&shared.shape)] };
        let array = |inner: String, count: &Size| format!("array<{inner}, {}>", count.constant().unwrap_or(1).max(1));
        text += &format!("var<workgroup> {}: {};\n", shared.name, counts.iter().rev().fold(element, array));
    }
    text + "\n" + &entry(description)
}

/// Is it a tile: memory of a block with several axes, whose elements are whole words?
pub(super) fn nests(memory: &Memory) -> bool {
    memory.space == Space::Shared && memory.shape.len() > 1 && !is_packed_in(memory.space, memory.ty)
}

fn entry(description: &Description) -> String {
    let mut block: Vec<String> = description.block.iter().map(u32::to_string).collect();
    while block.len() > 1 && block.last().is_some_and(|n| n == "1") {
        block.pop();
    }
    let places = description.places.iter().map(|&place| {
        let (name, builtin, ty) = PLACES[place as usize];
        format!("@builtin({builtin}) {name}: {ty}")
    });
    let places: Vec<String> = places.collect();
    let name = &description.name;
    let line = format!("fn {name}({})", places.join(", "));
    let head = if line.len() <= WIDE { line } else { format!("fn {name}(\n    {},\n)", places.join(",\n    ")) };
    format!("@compute @workgroup_size({})\n{head}", block.join(", "))
}
