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
//! All of that is the analysis `ranges`; this pass asks it at every check.

pub use crate::ranges::Facts;

use crate::code::{Body, Id, Op, Stmt};
use crate::kernel::Kernel;
use crate::ranges::{self, Ask, Walk};
use crate::types::Scalar;
use std::collections::HashSet;

/// The names of the checks that may fail.
#[derive(Default)]
struct Failing(HashSet<Id>);

impl Ask for Failing {
    fn at(&mut self, walk: &Walk, stmt: &Stmt) {
        if let Op::Check { memory, index } = &stmt.op
            && !walk.inside(*memory, index)
        {
            self.0.extend(stmt.binds.iter().map(|bind| bind.id));
        }
    }
}

fn failing(kernel: &Kernel, facts: &Facts) -> HashSet<Id> {
    let mut failing = Failing::default();
    ranges::walk(kernel, facts, &mut failing);
    failing.0
}

/// Turns the checks that always hold into `const true`. Those that never hold stay: somebody has to tell.
pub fn run(mut kernel: Kernel, facts: &Facts) -> Kernel {
    let failing = failing(&kernel, facts);
    hold(&mut kernel.body, &|id| !failing.contains(&id));
    kernel
}

/// Do all checks of the kernel hold?
pub fn proves(kernel: &Kernel, facts: &Facts) -> bool {
    failing(kernel, facts).is_empty()
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
