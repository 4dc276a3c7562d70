//! Which launches are known to stay inside their arrays, before they run.

use super::{Fitted, Outline};
use slyz_sir::kernel::Kernel;
use slyz_sir::pass::bounds::{self, Facts};
use slyz_sir::pass::report;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Launches whose answer is kept.
const KEPT: usize = 16;

/// Answers for the latest launches of a kernel, latest last: launches repeat.
#[derive(Default)]
pub(crate) struct Proofs(Mutex<VecDeque<(Case, bool)>>);

/// What an answer depends on: sizes, integer scalars, and the block where the kernel sees it.
type Case = (Vec<u64>, Vec<i128>, [u32; 3]);

impl Proofs {
    /// Do all accesses of the launch stay inside?
    pub(crate) fn hold(&self, outline: &Outline, fitted: &Fitted) -> bool {
        let block = if outline.nature.free { [1; 3] } else { fitted.field.block };
        let scalars = fitted.scalars.iter().filter(|s| s.ty.is_int()).map(|s| s.as_int()).collect();
        let mut sizes = fitted.sizes.clone();
        if outline.nature.free {
            // Blocks of one thread each, as many as threads: whatever the layout is, no other threads do anything.
            sizes[..3].copy_from_slice(&fitted.field.threads);
        }
        let case = (sizes, scalars, block);
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = lock().iter().find(|(known, _)| *known == case) {
            return *answer;
        }
        let facts = Facts::exact(&case.0, &fitted.scalars);
        let kernel = &outline.template.kernel;
        let answer = match block {
            [1, 1, 1] => bounds::proves(kernel, &facts),
            block => bounds::proves(&outline.template.shaped(block, false, false), &facts),
        };
        let mut kept = lock();
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((case, answer));
        answer
    }
}

/// A kernel in a shape, without the checks that hold in any launch, or without any.
pub(crate) fn proven(kernel: Kernel, trusted: bool) -> Kernel {
    let facts = Facts::unknown(&kernel);
    let kernel = bounds::run(kernel, &facts);
    if trusted { bounds::trust(kernel) } else { kernel }
}

/// The same with checks that tell what goes wrong. The second is whether there are any.
pub(crate) fn telling(kernel: Kernel) -> (Kernel, bool) {
    let tells = report::has_checks(&kernel);
    (report::run(kernel), tells)
}

/// All of it for a template, for blocks of a size or for any: its blocks are still of one thread.
#[cfg(feature = "cpu")]
pub(crate) fn unshaped(
    template: &slyz_sir::launch::Template,
    block: Option<[u32; 3]>,
    trusted: bool,
) -> (Kernel, bool) {
    let kernel = match block {
        None => template.kernel.clone(),
        Some(block) => template.shaped(block, false, false),
    };
    let (mut kernel, tells) = telling(proven(kernel, trusted));
    kernel.block = [1; 3];
    (kernel, tells)
}
