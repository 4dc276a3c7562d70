//! The function that tells faults: what it is called and what it takes, in every language. A kernel's own text has calls of it only.
//!
//! It takes a number for the tensor, the thread in x, y, z and a position for each axis, and writes them down unless another fault is there
//! (an [`AtomicOp::Claim`](crate::code::AtomicOp::Claim)). They are words of 32 bits, unless a kernel has wider positions.

use crate::types::Ty;

/// Its parameters, as many as there are numbers.
pub(super) const PARAMETERS: [&str; 8] = ["tensor", "x", "y", "z", "i", "j", "k", "l"];

/// The types of its parameters, given what the arguments are held in.
pub(super) fn types(held: &[Ty]) -> Vec<Ty> {
    let wide = held.iter().any(|ty| ty.bits() == 64);
    let places = (1..4).all(|k| held.get(k) == Some(&Ty::U32));
    let ty = |k: usize| match k {
        0 => Ty::I32,
        _ if wide => Ty::I64,
        1..4 if places => Ty::U32,
        _ => Ty::I32,
    };
    (0..held.len()).map(ty).collect()
}

/// Its name says what is not as it is for most faults: positions on one axis, words of 32 bits, from the first word of the memory for faults on.
pub(super) fn name(types: &[Ty], faults: &str, first: i64) -> String {
    let mut name = "tell_outside".to_string();
    match types {
        [Ty::I32, Ty::U32, _, _, _] => {}
        [Ty::I32, Ty::U32, ..] => name += &format!("_{}d", types.len() - 4),
        [_, kind, ..] => name += &format!("_{}_{kind}", types.len()),
        _ => name += "_nothing",
    }
    if faults != "faults" || first != 0 {
        name += &format!("_{faults}_{first}");
    }
    name
}
