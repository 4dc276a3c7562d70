//! `bounds`: proves that accesses are inside.
//!
//! Every access of a kernel that people write has a [`check`](Op::Check) in front of it. This pass finds those that hold in every
//! thread of every launch that the [`Facts`] allow: before a launch is known, those that a condition guards (`if i < out.len()`);
//! at a launch, with all sizes and scalars known, nearly all but those at positions that come out of memory.
//!
//! It knows the ranges of places, extents, constants, scalars, counters and states of loops and of arithmetic on them, what
//! conditions say on the way to an access, and relations between names that conditions and loops establish. Numbers that
//! might wrap around count as anything. It does not know what memory holds, nor products of two unknowns.
//!
//! ```text
//! %0: i64 = global.x                       %0: i64 = global.x
//! %1: i64 = extent n                       %1: i64 = extent n
//! %2: bool = lt %0, %1                     %2: bool = lt %0, %1
//! if %2 {                             →    if %2 {
//!   %3: bool = check out[%0]                 %3: bool = const true
//!   …                                        …
//! ```
//!
//! Parts: `facts` is what is known before, `walk` goes through the code, `guard` takes conditions apart, `form` proves sums.

mod facts;
mod form;
mod guard;
mod walk;

pub use facts::Facts;

use crate::code::{Body, Id, Op};
use crate::kernel::Kernel;
use crate::range::Range;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::collections::HashSet;
use walk::{Question, Stop, Walk};

/// Turns the checks that always hold into `const true`. Those that never hold stay: somebody has to tell.
pub fn run(mut kernel: Kernel, facts: &Facts) -> Kernel {
    let mut walk = Walk::new(&kernel, facts, Question::Which);
    match walk.run() {
        Ok(()) => {
            let failed: HashSet<Id> = walk.failed.into_iter().collect();
            hold(&mut kernel.body, &|id| !failed.contains(&id));
        }
        Err(Stop::Tired | Stop::Answered) => {}
    }
    kernel
}

/// Do all checks of the kernel hold?
pub fn proves(kernel: &Kernel, facts: &Facts) -> bool {
    Walk::new(kernel, facts, Question::Whether).run().is_ok()
}

/// Does every `i64` of the kernel, and every position in its memories, fit 32 bits? Then code that computes them in 32 bits is
/// right, too.
pub fn fits(kernel: &Kernel, facts: &Facts) -> bool {
    let narrow = Range::of(Ty::I32);
    let small = |sizes: &[Size]| facts.size(&Size::product(sizes)).within(narrow);
    let memories =
        kernel.memories.iter().all(|m| small(&m.shape) && m.shape.iter().all(|s| small(std::slice::from_ref(s))));
    let mut walk = Walk::new(kernel, facts, Question::Wide);
    memories && walk.run().is_ok() && !walk.wide
}

/// Takes every check to hold: for launches that are proven, and for people who ask for it.
pub fn trust(mut kernel: Kernel) -> Kernel {
    hold(&mut kernel.body, &|_| true);
    kernel
}

/// Replaces the checks that hold.
fn hold(body: &mut Body, holds: &dyn Fn(Id) -> bool) {
    for stmt in &mut body.stmts {
        if let Op::Check { .. } = stmt.op
            && stmt.binds.iter().all(|b| holds(b.id))
        {
            stmt.op = Op::Const(Scalar::bool(true));
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| hold(inner, holds));
    }
}
