//! Passes: functions from verified SIR to verified SIR that mean the same.
//!
//! A pass is a file; its name is the file's name. [`PROGRAM_PASSES`] is the order in which [`optimize`] runs them.
//! A pass never looks at another and keeps no state between runs. The interpreter gives the same results before and
//! after, bit for bit except for which NaN.
//!
//! The scalar passes (`simplify`, `blend`, `cse`, `hoist`) also have a `root` function over one [`Body`] that binds
//! all the names it uses, which is what a program, a kernel and a function have in common. `join`,
//! `spread` and `weave` work on kernels only; lowerings and launches run them. `confine` is for code from outside, before all others.

pub mod blend;
pub mod bounds;
pub mod confine;
pub mod cse;
pub mod dce;
pub mod fuse;
pub mod hoist;
pub mod join;
pub mod report;
mod shape;
pub mod simplify;
pub mod spread;
pub mod weave;
pub mod written;

use crate::code::Body;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::verify;

/// A rewriting of programs.
pub struct Pass {
    /// The name of its file, and of its command-line flag.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Program) -> Program,
}

/// One round of [`optimize`].
pub static PROGRAM_PASSES: &[Pass] = &[
    Pass { name: "simplify", run: simplify::run },
    Pass { name: "blend", run: blend::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "fuse", run: fuse::run },
    Pass { name: "simplify", run: simplify::run },
    Pass { name: "hoist", run: hoist::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "dce", run: dce::run },
];

/// A rewriting of kernels.
pub struct KernelPass {
    /// The name of its file, and of its command-line flag.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Kernel) -> Kernel,
}

/// One round of [`optimize_kernel`]. None of them moves a read or a write of memory, an atomic, a check or a barrier, or drops one
/// that somebody could notice.
pub static KERNEL_PASSES: &[KernelPass] = &[
    KernelPass { name: "simplify", run: |kernel| each_kernel_root(kernel, simplify::root) },
    KernelPass { name: "blend", run: |kernel| each_kernel_root(kernel, blend::root) },
    KernelPass { name: "cse", run: |kernel| each_kernel_root(kernel, cse::root) },
    KernelPass { name: "hoist", run: hoist::kernel },
    KernelPass { name: "cse", run: |kernel| each_kernel_root(kernel, cse::root) },
    KernelPass { name: "dce", run: dce::kernel },
];

/// Rounds after which [`optimize`] stops even if a pass still finds something.
const ROUNDS: usize = 8;

/// Runs the passes on a verified program until nothing changes.
///
/// ```
/// use slyz_sir::{pass::optimize, text::parse_program};
///
/// let program = parse_program("program g(%x: i32) -> i32 { %one: i32 = const 1  %y: i32 = mul %x, %one  return %y }")?;
/// assert_eq!(optimize(&program).to_string(), "program g(%0: i32) -> i32 {\n  return %0\n}\n");
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn optimize(program: &Program) -> Program {
    let mut program = program.clone();
    for _ in 0..ROUNDS {
        let before = program.clone();
        for pass in PROGRAM_PASSES {
            program = (pass.run)(program);
            debug_assert_eq!(verify::program(&program), Ok(()), "after the pass `{}`", pass.name);
        }
        if program == before {
            break;
        }
    }
    program
}

/// Runs the passes for kernels on a verified kernel until nothing changes.
///
/// What [`bounds`] can prove it proves by the conditions that people wrote, so that comes first: branches that guard
/// nothing but arithmetic are gone behind this.
///
/// ```
/// use slyz_sir::{pass::optimize_kernel, text::parse_kernel};
///
/// let kernel = parse_kernel(
///     "kernel k() grid [1, 1, 1] block [4, 1, 1] {
///        global write out: i64[4]
///        %i: i64 = global.x
///        %yes: bool = const true
///        if %yes { store out[%i], %i } else {} }",
/// )?;
/// let code = "  %0: i64 = global.x\n  store out[%0], %0\n";
/// assert!(optimize_kernel(kernel).to_string().contains(code));
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn optimize_kernel(kernel: Kernel) -> Kernel {
    optimize_kernel_with(kernel, &|_| true, &mut |_, _| {})
}

/// The same with those passes only that are `wanted` by name; `after` sees the kernel behind every one.
pub(crate) fn optimize_kernel_with(
    mut kernel: Kernel,
    wanted: &dyn Fn(&str) -> bool,
    after: &mut dyn FnMut(&'static str, &Kernel),
) -> Kernel {
    for _ in 0..ROUNDS {
        let before = kernel.clone();
        for pass in KERNEL_PASSES.iter().filter(|pass| wanted(pass.name)) {
            kernel = (pass.run)(kernel);
            debug_assert_eq!(verify::kernel(&kernel), Ok(()), "after the pass `{}`", pass.name);
            after(pass.name, &kernel);
        }
        if kernel == before {
            break;
        }
    }
    kernel
}

/// Rewrites the bodies of the functions and of the kernel, each by itself.
fn each_kernel_root(mut kernel: Kernel, mut rewrite: impl FnMut(Body) -> Body) -> Kernel {
    for function in &mut kernel.functions {
        function.body = rewrite(std::mem::take(&mut function.body));
    }
    kernel.body = rewrite(kernel.body);
    kernel
}

/// Rewrites the bodies of the functions and of the program, each by itself.
fn each_root(mut program: Program, mut rewrite: impl FnMut(Body) -> Body) -> Program {
    for function in &mut program.functions {
        function.body = rewrite(std::mem::take(&mut function.body));
    }
    program.body = rewrite(program.body);
    program
}
