//! The road of a kernel that a person wrote: from its template to code that a backend can write, pass by pass.
//!
//! ```text
//! template ── shape ── bounds ── report | trust ── written ──┬──────────── simplify … dce ──> threads (GPUs)
//!                                                            └── weave ── simplify … dce ──> cores (CPUs)
//! ```
//!
//! Devices and the command line go the same way, so what `--dump-after` prints is what runs. A pass that only makes code better
//! can be left out.

use crate::kernel::Kernel;
use crate::launch::Template;
use crate::pass::bounds::{self, Facts};
use crate::pass::weave::{self, Form, Unwoven};
use crate::pass::{KERNEL_PASSES, optimize_kernel_with, report, written};
use crate::verify;

/// Threads of a subgroup on a CPU.
pub const CPU_SUBGROUP: u32 = 32;

/// What the kernel is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Threads of a GPU; see [`Template::shaped`].
    Threads {
        /// Threads of a block.
        block: [u32; 3],
        /// Threads past those that were asked for do nothing.
        exact: bool,
        /// Blocks are counted over x and y of the grid.
        folded: bool,
    },
    /// Cores of a CPU.
    Cores(Form),
}

/// How a kernel goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Road {
    /// Where to.
    pub destination: Destination,
    /// Accesses are proven, or promised, to be inside: no check is left.
    pub trusted: bool,
    /// Passes to leave out, by name.
    pub disabled: Vec<String>,
}

impl Road {
    /// The road to a destination with nothing left out.
    pub fn to(destination: Destination) -> Road {
        Road { destination, trusted: false, disabled: vec![] }
    }

    /// The passes by name, in order, each once. The second is whether it can be left out.
    pub fn passes(&self) -> Vec<(&'static str, bool)> {
        let check = if self.trusted { "trust" } else { "report" };
        let mut passes = vec![("shape", false), ("bounds", true), (check, false), ("written", true)];
        if let Destination::Cores(_) = self.destination {
            passes.push(("weave", false));
        }
        for pass in KERNEL_PASSES {
            if !passes.iter().any(|(name, _)| *name == pass.name) {
                passes.push((pass.name, true));
            }
        }
        passes
    }

    /// Goes all the way. `after` sees the kernel behind every pass; a pass of several rounds is seen several times.
    pub fn travel(&self, template: &Template, after: &mut dyn FnMut(&'static str, &Kernel)) -> Result<Kernel, Unwoven> {
        let mut kernel = match self.destination {
            Destination::Threads { block, exact, folded } => template.shaped(block, exact, folded),
            Destination::Cores(Form::Blocks(block)) => template.shaped(block, false, false),
            Destination::Cores(Form::Free) => template.kernel.clone(),
        };
        let mut seen = |name: &'static str, kernel: &Kernel| {
            debug_assert_eq!(verify::kernel(kernel), Ok(()), "after `{name}`");
            after(name, kernel);
        };
        seen("shape", &kernel);
        if !self.leaves_out("bounds") {
            let facts = Facts::unknown(&kernel);
            kernel = bounds::run(kernel, &facts);
            seen("bounds", &kernel);
        }
        if self.trusted {
            kernel = bounds::trust(kernel);
            seen("trust", &kernel);
        } else {
            kernel = report::run(kernel);
            seen("report", &kernel);
        }
        if !self.leaves_out("written") {
            kernel = written::run(kernel);
            seen("written", &kernel);
        }
        if let Destination::Cores(form) = self.destination {
            kernel.block = [1; 3];
            kernel = weave::run(&kernel, form, CPU_SUBGROUP)?;
            seen("weave", &kernel);
        }
        Ok(optimize_kernel_with(kernel, &|pass| !self.leaves_out(pass), after))
    }

    /// The kernel at the end of the road.
    pub fn end(&self, template: &Template) -> Result<Kernel, Unwoven> {
        self.travel(template, &mut |_, _| {})
    }

    fn leaves_out(&self, pass: &str) -> bool {
        self.disabled.iter().any(|name| name == pass)
    }
}
