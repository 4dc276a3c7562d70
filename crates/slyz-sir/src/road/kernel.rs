//! The road of a kernel that a person wrote: from its template to code that a backend can write, pass by pass.
//!
//! ```text
//! template ── shape ── bounds ── report | guard | trust ── written ──┬──────────── simplify … dce ──> threads (GPUs)
//!                                                            └── weave ── simplify … dce ──> cores (CPUs)
//! ```

use super::{RoadError, Stop};
use crate::choices::Checks;
use crate::kernel::Kernel;
use crate::launch::Template;
use crate::pass::bounds::{self, Facts};
use crate::pass::weave::{self, Blocking, Unwoven};
use crate::pass::{KERNEL_PASSES, Selection, optimize_kernel_with, report, written};
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
    Cores(Blocking),
}

impl Destination {
    /// Cores, for launches in blocks of a shape with any number of threads.
    pub fn cores(template: &Template, block: [u32; 3]) -> Destination {
        Destination::Cores(if is_free(template) { Blocking::Free } else { Blocking::Blocks(block) })
    }

    /// Threads, for such launches.
    pub fn threads(template: &Template, block: [u32; 3]) -> Destination {
        Destination::Threads { block, exact: is_free(template), folded: false }
    }
}

/// Does it not matter which threads form a block?
fn is_free(template: &Template) -> bool {
    !template.meets() && !template.sees_blocks()
}

/// How a kernel goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRoad {
    /// Where to.
    pub destination: Destination,
    /// What becomes of accesses that are not proven to be inside.
    pub checks: Checks,
    /// The passes that run.
    pub passes: Selection,
}

impl KernelRoad {
    /// The road to a destination with nothing left out.
    pub fn to(destination: Destination) -> KernelRoad {
        KernelRoad { destination, checks: Checks::Report, passes: Selection::All }
    }

    /// The passes in order, each once.
    pub fn stops(&self) -> Vec<Stop> {
        let checked = self.checked();
        let mut stops =
            vec![Stop::needed("shape"), Stop::optional("bounds"), Stop::needed(checked), Stop::optional("written")];
        if let Destination::Cores(_) = self.destination {
            stops.push(Stop::needed("weave"));
        }
        super::add(&mut stops, KERNEL_PASSES.iter().map(|pass| pass.name));
        stops
    }

    /// The pass that makes code of the checks that are left.
    fn checked(&self) -> &'static str {
        match self.checks {
            Checks::Report => "report",
            Checks::Guard => "guard",
            Checks::Trust => "trust",
        }
    }

    /// Are the passes that are selected, and this one, on the road?
    pub fn check(&self, named: Option<&str>) -> Result<(), RoadError> {
        let stops = self.stops();
        named.map_or(Ok(()), |name| super::find(&stops, name).map(drop))?;
        super::check(&stops, &self.passes)
    }

    /// Goes all the way. `after` sees the kernel behind every pass; a pass of several rounds is seen several times.
    pub fn travel(&self, template: &Template, after: &mut dyn FnMut(&'static str, &Kernel)) -> Result<Kernel, Unwoven> {
        let mut kernel = match self.destination {
            Destination::Threads { block, exact, folded } => template.shaped(block, exact, folded),
            Destination::Cores(Blocking::Blocks(block)) => template.shaped(block, false, false),
            Destination::Cores(Blocking::Free) => template.kernel.clone(),
        };
        let mut seen = |name: &'static str, kernel: &Kernel| {
            debug_assert_eq!(verify::kernel(kernel), Ok(()), "after `{name}`");
            after(name, kernel);
        };
        seen("shape", &kernel);
        if self.passes.has("bounds") {
            let facts = Facts::unknown(&kernel);
            kernel = bounds::run(kernel, &facts);
            seen("bounds", &kernel);
        }
        kernel = match self.checks {
            Checks::Report => report::run(kernel),
            Checks::Guard => report::guard(kernel),
            Checks::Trust => bounds::trust(kernel),
        };
        seen(self.checked(), &kernel);
        if self.passes.has("written") {
            kernel = written::run(kernel);
            seen("written", &kernel);
        }
        if let Destination::Cores(form) = self.destination {
            kernel.block = [1; 3];
            kernel = weave::run(&kernel, form, CPU_SUBGROUP)?;
            seen("weave", &kernel);
        }
        Ok(optimize_kernel_with(kernel, &self.passes, after))
    }

    /// The kernel at the end of the road.
    pub fn end(&self, template: &Template) -> Result<Kernel, Unwoven> {
        self.travel(template, &mut |_, _| {})
    }
}
