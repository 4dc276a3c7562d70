//! Which launches are known to stay inside their arrays, before they run.

use super::{Fitted, Outline};
use slyz_sir::kernel::Kernel;
use slyz_sir::launch::Template;
use slyz_sir::pass::bounds::{self, Facts};
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

/// Has the kernel at the end of a road one memory more than the template: does it tell faults?
pub(crate) fn tells(kernel: &Kernel, template: &Template) -> bool {
    kernel.bound_memories().count() > template.kernel.bound_memories().count()
}
