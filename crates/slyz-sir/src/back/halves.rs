//! Floats of 16 bits in languages that have none: held in `float`, 16 bits in memory. Their libraries have the functions.

use super::clike::Cell;
use super::tree::Tree;
use crate::kernel::Space;
use crate::types::Ty;

pub(super) fn is_half(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::BF16)
}

/// A float of 16 bits from those that lie in memory.
pub(super) fn value_of(ty: Ty, bits: Tree) -> Tree {
    match ty {
        Ty::F16 => Tree::call("half_value", [bits]),
        Ty::BF16 => Tree::call("bfloat_value", [bits]),
        _ => bits,
    }
}

/// What makes a float of 16 bits from those in memory, or a number of which nobody asks which NaN it is.
const FROM_BITS: [&str; 3] = ["half_value", "half_number", "bfloat_value"];

/// The bits of a float of 16, as they lie in memory: as they came, where it came from there.
pub(super) fn bits_of(ty: Ty, value: Tree) -> Tree {
    if let Some([bits]) = FROM_BITS.iter().find_map(|name| value.called(name)) {
        return bits.clone();
    }
    match ty {
        Ty::F16 => Tree::call("half_bits", [value]),
        Ty::BF16 => Tree::call("bfloat_bits", [value]),
        _ => value,
    }
}

/// A `float` to the nearest float of 16 bits.
pub(super) fn rounded(ty: Ty, single: Tree) -> Tree {
    Tree::call(if ty == Ty::F16 { "round_half" } else { "round_bfloat" }, [single])
}

/// Does the memory hold 16 bits of what the code holds in 32?
pub(super) fn is_packed(cell: &Cell) -> bool {
    is_half(cell.memory.ty) && cell.memory.space != Space::Local
}
