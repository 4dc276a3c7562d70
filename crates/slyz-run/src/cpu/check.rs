//! What running a plan relies on, checked once when it is compiled.
//!
//! The `SAFETY` lines of `run.rs` lean on the verifier's rules for plans: indices are inside, types agree, arguments are
//! never written, and a memory that is written has no second name in its launch. What remains, whether buffers are large
//! enough for the sizes of a call, is checked at each launch.

use crate::Error;
use crate::signature::Signature;
use slyz_sir::code::Type;
use slyz_sir::kernel::{Kernel, Memory, Plan, Space};
use slyz_sir::verify;

/// Checks a plan against its rules and against the program it was made from.
pub(super) fn check(plan: &Plan, signature: &Signature) -> Result<(), Error> {
    let broken = |why: String| Error::Plan { name: signature.name.clone(), why };
    verify::plan(plan).map_err(|error| broken(error.to_string()))?;
    if plan.sizes != signature.sizes {
        return Err(broken("its size variables are not the program's".to_string()));
    }
    let types = |params: &[slyz_sir::code::Var]| params.iter().map(|p| p.ty.clone()).collect::<Vec<Type>>();
    if types(&plan.params) != types(&signature.params) {
        return Err(broken("its parameters are not the program's".to_string()));
    }
    Ok(())
}

/// The scratch memories of a kernel, in order.
pub(super) fn scratch_memories(kernel: &Kernel) -> impl Iterator<Item = &Memory> {
    kernel.memories.iter().filter(|memory| memory.space == Space::Scratch)
}
