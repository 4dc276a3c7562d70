//! `weave`: makes code for a block out of code for one thread.
//!
//! Before, a kernel is code for one thread (SIMT), as people write it. After, it is code for a block: uniform code, with the work
//! of the threads in `lanes`, which the C backend packs into vectors. The inverse of `spread`; no thread of the machine
//! ever stands for a thread of the kernel.
//!
//! * [`Form::Free`]: threads that neither meet nor see their block are cut into pieces of the axis x, and rows of it.
//! * [`Form::Blocks`]: a block is a block. `split` cuts the code where threads meet.
//!
//! In both, guards around the code become bounds of the loops (`trim`), and memory that is only written is said to be so.
//!
//! ```text
//! %i: i64 = global.x                               %b: i64 = block.x
//! %n: i64 = extent out_len                         …
//! %c: bool = lt %i, %n                        →    %h: i64 = min %hi, %n
//! if %c { … store out[%i] = %v }                   lanes %lo to %h |%i: i64| { … store out[%i] = %v }
//! ```

mod free;
mod trim;
mod write;

use crate::code::{Body, MemId, Op, Place};
use crate::kernel::{Access, Kernel, Space};
use crate::pass::{blend, cse, dce, simplify};
use crate::size::{Size, SizeVar};

/// How the threads of a kernel are given to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// As is best: the threads neither meet nor see their blocks.
    Free,
    /// Blocks of that many threads.
    Blocks([u32; 3]),
}

/// Why a kernel cannot be woven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwoven {
    /// The threads of the kernel depend on blocks.
    #[error("the threads of kernel `{0}` see their block or meet in it; launch it with a grid and a block")]
    SeesBlocks(String),
}

/// Size variables of a template: blocks first, then threads.
fn threads() -> [Size; 3] {
    [3, 4, 5].map(|k| Size::Var(SizeVar(k)))
}

/// Runs the pass on the kernel of a [`Template`](crate::launch::Template), with subgroups of that many threads.
pub fn run(kernel: &Kernel, form: Form, subgroup: u32) -> Result<Kernel, Unwoven> {
    let _ = subgroup;
    let mut kernel = kernel.clone();
    kernel.body = tidied(kernel.body);
    let woven = match form {
        Form::Free if sees_blocks(&kernel) => return Err(Unwoven::SeesBlocks(kernel.name)),
        Form::Free => free::run(kernel, threads()),
        Form::Blocks(_) => return Err(Unwoven::SeesBlocks(kernel.name)),
    };
    Ok(only_written(woven))
}

/// Scalar passes bring conditions and positions into the forms that are looked for.
fn tidied(body: Body) -> Body {
    dce::root(cse::root(blend::root(simplify::root(body))))
}

fn any_op(body: &Body, test: &dyn Fn(&Op) -> bool) -> bool {
    body.stmts.iter().any(|s| test(&s.op) || s.op.bodies().into_iter().any(|b| any_op(b, test)))
}

fn sees_blocks(kernel: &Kernel) -> bool {
    let sees = |op: &Op| match op {
        Op::Place(place, _) => *place != Place::Global,
        Op::Barrier(_) | Op::Subgroup(..) | Op::Lanes { .. } => true,
        _ => false,
    };
    any_op(&kernel.body, &sees) || kernel.memories.iter().any(|m| matches!(m.space, Space::Shared | Space::Scratch))
}

/// Says so where a memory is never read, so that its stores may go past the caches. (What nobody stores stays as it was.)
fn only_written(mut kernel: Kernel) -> Kernel {
    for k in 0..kernel.memories.len() {
        let id = MemId(k as u32);
        let touches = |op: &Op| match op {
            Op::Load { memory, .. } | Op::Atomic { memory, .. } | Op::Check { memory, .. } => *memory == id,
            _ => false,
        };
        if kernel.memories[k].space == Space::Global(Access::ReadWrite) && !any_op(&kernel.body, &touches) {
            kernel.memories[k].space = Space::Global(Access::Write);
        }
    }
    kernel
}
