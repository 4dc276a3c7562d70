//! Passes: functions from verified SIR to verified SIR that mean the same.
//!
//! A pass is a file; its name is the file's name. [`PROGRAM_PASSES`] is the order in which [`optimize`] runs them.
//! A pass never looks at another and keeps no state between runs. The interpreter gives the same results before and
//! after, bit for bit except for which NaN.
//!
//! The scalar passes (`simplify`, `blend`, `cse`, `hoist`) also have a `root` function over one [`Body`] that binds
//! all the names it uses, which is what a program, a kernel and a function have in common. `join`,
//! `share`, `spread`, `unswitch` and `weave` work on kernels only; lowerings and launches run them. `confine` is for code from outside, before all others.

pub mod blend;
pub mod bounds;
pub mod confine;
pub mod cse;
pub mod dce;
pub mod fuse;
pub mod hoist;
pub mod join;
pub mod layout;
pub mod report;
mod shape;
pub mod share;
pub mod simplify;
pub mod spread;
pub mod unswitch;
pub mod weave;
pub mod written;

use crate::code::Body;
use crate::kernel::{Kernel, Plan};
use crate::meaning;
use crate::program::Program;
use crate::verify;

/// A rewriting of programs or of kernels.
pub struct Pass<C> {
    /// The name of its file, and its name on the command line.
    pub name: &'static str,
    /// What it does.
    pub run: fn(C) -> C,
}

/// One round of [`optimize`].
pub static PROGRAM_PASSES: &[Pass<Program>] = &[
    Pass { name: "simplify", run: simplify::run },
    Pass { name: "blend", run: blend::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "fuse", run: fuse::run },
    Pass { name: "simplify", run: simplify::run },
    Pass { name: "hoist", run: hoist::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "dce", run: dce::run },
    Pass { name: "layout", run: layout::run },
];

/// One round of [`optimize_kernel`]. None of them moves a read or a write of memory, an atomic, a check or a barrier, or drops one
/// that somebody could notice.
pub static KERNEL_PASSES: &[Pass<Kernel>] = &[
    Pass { name: "simplify", run: |kernel| each_kernel_root(kernel, simplify::root) },
    Pass { name: "blend", run: |kernel| each_kernel_root(kernel, blend::root) },
    Pass { name: "cse", run: |kernel| each_kernel_root(kernel, cse::root) },
    Pass { name: "hoist", run: hoist::kernel },
    Pass { name: "cse", run: |kernel| each_kernel_root(kernel, cse::root) },
    Pass { name: "dce", run: dce::kernel },
];

/// What kernels of a program go through for a CPU, once.
pub static CPU_PASSES: &[Pass<Kernel>] = &[
    Pass { name: "join", run: join::run },
    Pass { name: "share", run: share::run },
    Pass { name: "unswitch", run: unswitch::run },
];

/// One round of what kernels of a program go through for a GPU.
pub static GPU_PASSES: &[Pass<Kernel>] = &[
    Pass { name: "simplify", run: |kernel| Kernel { body: simplify::root(kernel.body), ..kernel } },
    Pass { name: "cse", run: |kernel| Kernel { body: cse::root(kernel.body), ..kernel } },
    Pass { name: "dce", run: |kernel| Kernel { body: dce::root(kernel.body), ..kernel } },
];

/// Rounds after which [`optimize`] stops even if a pass still finds something.
const ROUNDS: usize = 8;

/// Which passes run. Those that later ones build on run anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Every one.
    #[default]
    All,
    /// These, by name.
    Only(Vec<String>),
    /// All but these, by name.
    Without(Vec<String>),
}

/// Names that people know passes by, and the passes that do what they say.
pub const KNOWN_AS: [(&str, &[&str]); 2] = [("fusion", &["fuse", "join"]), ("memory", &["memory", "share"])];

/// Does a name mean a pass?
pub fn means(name: &str, pass: &str) -> bool {
    name == pass || KNOWN_AS.iter().any(|(known, passes)| *known == name && passes.contains(&pass))
}

impl Selection {
    /// Does a pass run that need not?
    pub fn has(&self, pass: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|name| means(name, pass));
        match self {
            Selection::All => true,
            Selection::Only(names) => named(names),
            Selection::Without(names) => !named(names),
        }
    }

    /// The passes that are named.
    pub fn names(&self) -> &[String] {
        match self {
            Selection::All => &[],
            Selection::Only(names) | Selection::Without(names) => names,
        }
    }
}

/// Sees what a pass leaves.
pub type After<'w, C> = &'w mut dyn FnMut(&'static str, &C);

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
    optimize_with(program, &Selection::All, &mut |_, _| {})
}

/// The same with selected passes; `after` sees the program behind every one.
pub fn optimize_with(program: &Program, selection: &Selection, after: After<'_, Program>) -> Program {
    let verified = &mut |name: &'static str, program: &Program| {
        debug_assert_eq!(verify::program(program), Ok(()), "after the pass `{name}`");
        after(name, program);
    };
    rounds(meaning::meant(program).into_owned(), PROGRAM_PASSES, ROUNDS, selection, verified)
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
    optimize_kernel_with(kernel, &Selection::All, &mut |_, _| {})
}

/// The same with selected passes; `after` sees the kernel behind every one.
pub fn optimize_kernel_with(kernel: Kernel, selection: &Selection, after: After<'_, Kernel>) -> Kernel {
    let verified = &mut |name: &'static str, kernel: &Kernel| {
        debug_assert_eq!(verify::kernel(kernel), Ok(()), "after the pass `{name}`");
        after(name, kernel);
    };
    rounds(kernel, KERNEL_PASSES, ROUNDS, selection, verified)
}

/// Runs passes round by round, until nothing changes or there have been so many rounds.
fn rounds<C: Clone + PartialEq>(
    mut code: C,
    passes: &[Pass<C>],
    most: usize,
    selection: &Selection,
    after: After<'_, C>,
) -> C {
    for _ in 0..most {
        let before = code.clone();
        for pass in passes.iter().filter(|pass| selection.has(pass.name)) {
            code = (pass.run)(code);
            after(pass.name, &code);
        }
        if code == before {
            break;
        }
    }
    code
}

/// Runs passes on every kernel of a plan, pass by pass; `after` sees the plan behind every one.
pub(crate) fn on_plan(
    plan: &mut Plan,
    passes: &[Pass<Kernel>],
    rounds: usize,
    selection: &Selection,
    after: After<'_, Plan>,
) {
    for _ in 0..rounds {
        for pass in passes.iter().filter(|pass| selection.has(pass.name)) {
            plan.kernels = std::mem::take(&mut plan.kernels).into_iter().map(pass.run).collect();
            after(pass.name, plan);
        }
    }
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
