//! Elements of memories: packed ones, and those with atomics on them.

use super::{Wgsl, call, is_packed};
use crate::back::clike::{Cell, Dialect, Helpers};
use crate::back::tree::{Prefix, Tree};
use crate::kernel::{Access, Space};
use crate::types::Ty;

/// Lies it in words, several elements in each?
pub(super) fn is_packed_in(space: Space, ty: Ty) -> bool {
    matches!(space, Space::Global(_) | Space::Constant) && is_packed(ty)
}

/// Are the words of packed elements written, and so shared by threads?
pub(super) fn shares_words(space: Space) -> bool {
    matches!(space, Space::Global(Access::Write | Access::ReadWrite))
}

fn position(element: &Tree) -> Tree {
    element.as_element().map_or_else(|| Tree::int(0), |(_, at)| at.clone())
}

/// What is read from an element.
pub(super) fn read(dialect: &Wgsl, cell: &Cell, element: Tree, helpers: &Helpers) -> Tree {
    let ty = cell.memory.ty;
    if is_packed_in(cell.memory.space, ty) {
        return call(&reader(dialect, cell, helpers), [position(&element)]);
    }
    if cell.atomic { call("atomicLoad", [Tree::prefix(Prefix::Address, element)]) } else { element }
}

/// A value into an element.
pub(super) fn write(dialect: &Wgsl, cell: &Cell, element: Tree, value: Tree, helpers: &Helpers) -> String {
    if is_packed_in(cell.memory.space, cell.memory.ty) {
        return format!("{};", call(&writer(dialect, cell, helpers), [position(&element), value]));
    }
    if cell.atomic {
        return format!("{};", call("atomicStore", [Tree::prefix(Prefix::Address, element), value]));
    }
    element.assignment(&value)
}

/// How many elements of a word there are, and bits of an element.
fn packing(ty: Ty) -> (u32, u32) {
    let bits = ty.bytes() as u32 * 8;
    (32 / bits, bits)
}

/// The function that reads a packed element.
fn reader(dialect: &Wgsl, cell: &Cell, helpers: &Helpers) -> String {
    let memory = cell.name;
    let ty = cell.memory.ty;
    let (count, bits) = packing(ty);
    let word = format!("{memory}[i / {count}u]");
    let word = if shares_words(cell.memory.space) { format!("atomicLoad(&{word})") } else { word };
    let shift = format!("i % {count}u * {bits}u");
    let part = format!("extractBits({word}, {shift}, {bits}u)");
    let value = match ty {
        Ty::Bool => format!("{part} != 0u"),
        Ty::I8 | Ty::I16 => format!("extractBits(bitcast<i32>({word}), {shift}, {bits}u)"),
        Ty::F16 => format!("unpack2x16float({part}).x"),
        Ty::BF16 => format!("bitcast<f32>({part} << 16u)"),
        _ => part,
    };
    let t = dialect.scalar(ty).unwrap_or("u32");
    let name = format!("read_{memory}_{ty}");
    helpers.add(&name, || format!("fn {name}(i: u32) -> {t} {{\n    return {value};\n}}\n"))
}

/// The function that writes a packed element. Its neighbours in the word stay, whoever writes them meanwhile.
fn writer(dialect: &Wgsl, cell: &Cell, helpers: &Helpers) -> String {
    let memory = cell.name;
    let ty = cell.memory.ty;
    let (count, bits) = packing(ty);
    let value = match ty {
        Ty::Bool => "u32(value)",
        Ty::I8 | Ty::I16 => "bitcast<u32>(value)",
        Ty::F16 => "pack2x16float(vec2<f32>(value, 0.0))",
        Ty::BF16 => "(bitcast<u32>(value) >> 16u)",
        _ => "value",
    };
    let mask = if bits == 8 { "0xffu" } else { "0xffffu" };
    let t = dialect.scalar(ty).unwrap_or("u32");
    let name = format!("write_{memory}_{ty}");
    helpers.add(&name, || {
        format!(
            "fn {name}(i: u32, value: {t}) {{
    let shift = i % {count}u * {bits}u;
    atomicAnd(&{memory}[i / {count}u], ~({mask} << shift));
    atomicOr(&{memory}[i / {count}u], ({value} & {mask}) << shift);
}}
"
        )
    })
}

/// The weak form may fail for no reason: it is tried again.
pub(super) fn compare_exchange(
    dialect: &Wgsl,
    ty: Ty,
    element: Tree,
    [expected, value]: [Tree; 2],
    helpers: &Helpers,
) -> Tree {
    let at = position(&element);
    let memory = element.as_element().and_then(|(of, _)| of.as_name()).unwrap_or_default().to_string();
    let t = dialect.scalar(ty).unwrap_or("u32");
    let name = format!("exchange_{memory}_{ty}");
    let name = helpers.add(&name, || {
        format!(
            "fn {name}(i: u32, expected: {t}, value: {t}) -> {t} {{
    var seen = expected;
    loop {{
        let found = atomicCompareExchangeWeak(&{memory}[i], expected, value);
        seen = found.old_value;
        if found.exchanged || seen != expected {{
            break;
        }}
    }}
    return seen;
}}
"
        )
    });
    call(&name, [at, expected, value])
}
