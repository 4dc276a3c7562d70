//! What a program asks of a GPU before it is lowered for it.

use super::narrow::Narrowing;
use super::small::wide_in_program;
use crate::back::EmitError;
use crate::code::{Body, Var};
use crate::kernel::{Kernel, Memory};
use crate::program::Program;
use crate::size::{Size, SizeVar};
use crate::types::Ty;

/// An error unless the program is right where `i64` is a 32-bit number (`naga::Target::int64`) and no array has more than `most`
/// positions: code may not make larger numbers out of positions, nor work on 64-bit data.
pub fn check_narrow(program: &Program, most: u64) -> Result<(), EmitError> {
    let lacks = |what: String| EmitError::Lacks {
        kernel: program.name.clone(),
        what: format!("64-bit integers ({what})"),
        interface: "wgpu feature",
        feature: "SHADER_INT64",
        remedy: "Use 32-bit integers",
    };
    wide_in_program(program, most).map_or(Ok(()), |what| Err(lacks(what)))
}

/// The same for a kernel of a [`Template`](crate::launch::Template), where no array, no size and no axis of the threads is past
/// `most`: whatever it computes in `i64` must be seen to fit 32 bits, or to matter in its low word only.
pub fn check_narrow_kernel(kernel: &Kernel, most: u64) -> Result<(), EmitError> {
    let lacks = |what: &str| EmitError::Lacks {
        kernel: kernel.name.clone(),
        what: what.into(),
        interface: "wgpu feature",
        feature: "SHADER_INT64",
        remedy: "Use 32-bit integers",
    };
    let wide = |var: &Var| matches!(var.ty.elem(), Ty::I64 | Ty::U64);
    fn mentions(body: &Body, wide: &dyn Fn(&Var) -> bool) -> bool {
        body.params.iter().chain(body.stmts.iter().flat_map(|s| &s.binds)).any(wide)
            || body.stmts.iter().flat_map(|s| s.op.bodies()).any(|body| mentions(body, wide))
    }
    let bound = |memory: &Memory| matches!(memory.ty, Ty::I64 | Ty::U64);
    if kernel.body.params.iter().any(wide) || kernel.memories.iter().any(bound) {
        return Err(lacks("64-bit integers (arrays or scalars of them)"));
    }
    if kernel.functions.iter().any(|function| mentions(&function.body, &wide)) {
        return Err(lacks("64-bit integers (in a function)"));
    }
    // Size variables of a template: blocks first, then threads.
    let threads = [3, 4, 5].map(|k| Size::Var(SizeVar(k)));
    if Narrowing::of_threads(kernel, &threads, most).fits_words(&kernel.body) {
        Ok(())
    } else {
        Err(lacks("64-bit integers (numbers that may not fit 32 bits)"))
    }
}
