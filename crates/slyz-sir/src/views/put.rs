//! The kernel that puts a result into a view.

use super::{Distance, Storage, Stored, bound, kernel};
use crate::code::{Id, MemId, Op, Place};
use crate::kernel::Access;
use crate::launch::{LAUNCH_SIZES, Template};
use crate::names::Names;
use crate::ops::Operator;
use crate::size::{Size, SizeVar};
use crate::types::Ty;
use crate::write::{Lines, Write};

/// A kernel that puts the elements of a row-major array of so many axes into a strided one, a thread for each. It takes the array
/// as one axis, and the memory; its numbers are the extents of all axes but the first, the offset, and each stride.
pub fn putting(ty: Ty, rank: usize) -> Template {
    let values = Size::Var(SizeVar(LAUNCH_SIZES as u32));
    let inner = rank.saturating_sub(1);
    let body = Lines::from(0).nested(&vec![Ty::I64; inner + 1 + rank], |w, numbers| {
        let (extents, numbers) = numbers.split_at(inner);
        let storage = &Storage::Strided(vec![Distance::Any; rank]);
        let into = Stored { array: Id(0), storage, numbers: numbers.to_vec() };
        let index = w.push(Op::Place(Place::Global, 0), Ty::I64);
        let inside = w.within(&[index], std::slice::from_ref(&values));
        w.when(inside, |w| {
            let mut rest = index;
            let mut position = vec![];
            for &extent in extents.iter().rev() {
                position.push(w.apply(Operator::Rem, &[rest, extent], Ty::I64));
                rest = w.apply(Operator::Div, &[rest, extent], Ty::I64);
            }
            position.push(rest);
            position.reverse();
            let place = into.place(w, &position);
            let value = w.push(Op::Load { memory: MemId(0), index: vec![index] }, ty);
            w.act(Op::Store { memory: MemId(1), index: place, values: vec![value] });
        });
        vec![]
    });
    let memories = vec![bound("values", ty, Access::Read, &[0]), bound("memory", ty, Access::ReadWrite, &[1])];
    kernel("put", &["values_len", "memory_len"], memories, vec![], Names::default(), body)
}
