//! The rules of kernels: memory, blocks, and who may touch what.

use super::code::{Checker, Level};
use super::{Checked, VerifyError, fail, identifier, size, unique};
use crate::code::{MemId, Op, Place, Type};
use crate::kernel::{Access, Factor, Kernel, MatrixProduct, Memory, Space};
use crate::size::Size;
use crate::types::Ty;

/// The most threads of a block that every device has.
pub const MAX_BLOCK: u64 = 1024;

/// Checks a kernel.
pub fn kernel(kernel: &Kernel) -> Checked {
    check(kernel).map_err(|e| e.within(format!("kernel `{}`", kernel.name)))
}

fn check(kernel: &Kernel) -> Checked {
    identifier("kernel", &kernel.name)?;
    unique("memory", kernel.memories.iter().map(|m| &m.name[..]))?;
    for memory in &kernel.memories {
        memory.shape.iter().try_for_each(|s| size(s, &kernel.sizes))?;
        let fixed = match memory.space {
            Space::Shared | Space::Local => true,
            Space::Global(_) | Space::Scratch | Space::Constant => false,
        };
        if fixed && memory.shape.iter().any(|s| s.constant().is_none()) {
            return fail(format!("the memory `{}` is shared or local, so its shape must be constant", memory.name));
        }
    }
    if let Some(product) = &kernel.product {
        matrix_product(kernel, product)?;
    }
    if let Some(raw) = &kernel.raw {
        raw.extents.iter().try_for_each(|s| size(s, &kernel.sizes))?;
        if !kernel.body.stmts.is_empty() {
            return fail("a raw kernel has code of its own besides");
        }
    }
    kernel.grid.iter().try_for_each(|s| size(s, &kernel.sizes))?;
    let threads: u64 = kernel.block.iter().fold(1, |n, &d| n.saturating_mul(d as u64));
    if !(1..=MAX_BLOCK).contains(&threads) {
        return fail(format!("a block of {:?} has {threads} threads; it must have 1 to {MAX_BLOCK}", kernel.block));
    }
    if let Some(var) = kernel.body.params.iter().find(|p| matches!(p.ty, Type::Array(..))) {
        return fail(format!("the parameter %{} is an array; kernels get arrays as memories", var.id.0));
    }
    if !kernel.body.results.is_empty() {
        return fail("a kernel gives no results; it writes to memory");
    }
    Checker::new(&kernel.functions, &kernel.memories, &kernel.sizes).run(&kernel.body, Level::Kernel)
}

/// Do the extents of a product of matrices meet, and does a launch bind what it is of?
pub(crate) fn matrix_product(kernel: &Kernel, product: &MatrixProduct) -> Checked {
    let MatrixProduct { result, left, right, bias, .. } = product;
    let of = |id: MemId| {
        let memory = kernel.memories.get(id.0 as usize).filter(|memory| memory.space.is_bound());
        memory.ok_or_else(|| VerifyError::new(format!("a product names memory {}, which no launch binds", id.0)))
    };
    let outer = |shape: &[Size]| shape[..shape.len() - 2].to_vec();
    let result = of(*result)?;
    let [.., rows, columns] = &result.shape[..] else {
        return fail(format!("the product `{}` has fewer than two axes", result.name));
    };
    let factor = |factor: &Factor| -> Result<[Size; 2], VerifyError> {
        let memory = of(factor.memory)?;
        match &memory.shape[..] {
            [others @ .., a, b] if others.is_empty() || *others == outer(&result.shape)[..] => {
                Ok(if factor.turned { [b.clone(), a.clone()] } else { [a.clone(), b.clone()] })
            }
            _ => Err(VerifyError::new(format!("the factor `{}` has other axes than `{}`", memory.name, result.name))),
        }
    };
    let [of_left, along] = factor(left)?;
    let [turns, of_right] = factor(right)?;
    if [&of_left, &of_right, &along] != [rows, columns, &turns] {
        return fail(format!("the extents of the product `{}` and of its factors do not meet", result.name));
    }
    if product.bytes {
        let words = [product.result, left.memory, right.memory].into_iter().map(of);
        let words = words.collect::<Result<Vec<&Memory>, VerifyError>>()?;
        let alone = bias.is_none() && product.scale.is_none() && product.activation.is_none();
        if words.iter().any(|memory| memory.ty != Ty::I32) || left.turned || !right.turned || !alone {
            return fail(format!("the product `{}` in bytes is not of rows and columns of words alone", result.name));
        }
    }
    match bias.map(of).transpose()? {
        Some(bias) if bias.shape != [columns.clone()] => {
            fail(format!("`{}` is not one number for each column of `{}`", bias.name, result.name))
        }
        _ => Ok(()),
    }
}

/// Does the operation touch memory only as the memory allows, and ask for a place that exists?
pub(super) fn access(op: &Op, memories: &[Memory]) -> Checked {
    let of = |id: &MemId| {
        memories.get(id.0 as usize).ok_or_else(|| VerifyError::new(format!("there is no memory number {}", id.0)))
    };
    match op {
        Op::Load { memory, .. } => match of(memory)?.space {
            Space::Global(Access::Write) => fail(format!("reads `{}`, which is only for writing", of(memory)?.name)),
            Space::Global(Access::Read | Access::ReadWrite)
            | Space::Shared
            | Space::Scratch
            | Space::Local
            | Space::Constant => Ok(()),
        },
        Op::LoadFragment { memory, .. } => match of(memory)?.space {
            Space::Shared => Ok(()),
            _ => fail(format!(
                "fragments are read from memory that the block shares, which `{}` is not",
                of(memory)?.name
            )),
        },
        Op::Store { memory, .. } => match of(memory)?.space {
            Space::Global(Access::Read) | Space::Constant => {
                fail(format!("writes to `{}`, which is only for reading", of(memory)?.name))
            }
            Space::Global(Access::Write | Access::ReadWrite) | Space::Shared | Space::Scratch | Space::Local => Ok(()),
        },
        Op::Atomic { memory, .. } => match of(memory)?.space {
            Space::Global(Access::ReadWrite) | Space::Shared | Space::Scratch => Ok(()),
            Space::Global(Access::Read | Access::Write) | Space::Local | Space::Constant => fail(format!(
                "`{}` has no atomics; only shared memory, scratch and global read-write memory do",
                of(memory)?.name
            )),
        },
        Op::Place(place, dimension) => {
            let most = match place {
                Place::Global | Place::Local | Place::Block | Place::BlockDim | Place::GridDim => 2,
                Place::Lane | Place::SubgroupSize => 0,
            };
            if *dimension <= most { Ok(()) } else { fail(format!("there is no dimension {dimension}")) }
        }
        Op::Check { memory, .. } => of(memory).map(|_| ()),
        Op::Const(_)
        | Op::Extent(_)
        | Op::Apply(..)
        | Op::Cast(..)
        | Op::Bitcast(..)
        | Op::Call(..)
        | Op::If { .. }
        | Op::For { .. }
        | Op::While { .. }
        | Op::At { .. }
        | Op::Tabulate { .. }
        | Op::Fold { .. }
        | Op::Scan { .. }
        | Op::Scatter { .. }
        | Op::Filter { .. }
        | Op::Sort { .. }
        | Op::Raw(_)
        | Op::Barrier(_)
        | Op::Fence(_)
        | Op::Subgroup(..)
        | Op::Mma(..)
        | Op::Lanes { .. }
        | Op::Prefixes { .. } => Ok(()),
    }
}
