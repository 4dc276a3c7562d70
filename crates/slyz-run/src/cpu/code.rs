//! The loaded code of a plan: a library for each of its C files.
//!
//! A plan with much code is several files ([`slyz_sir::back::c::files`]), which the C compiler gets side by side.

use super::library::{KernelFn, Library};
use super::toolchain::{Origin, Toolchain};
use super::{Backend, threads};
use crate::{BuildTime, Error};
use rayon::prelude::*;
use slyz_sir::back::c;
use slyz_sir::kernel::Plan;
use std::time::{Duration, Instant};

/// The code of the kernels of a plan.
pub(super) struct Code {
    /// By kernel. They may be called while the libraries live.
    kernels: Vec<Option<KernelFn>>,
    /// Own what `kernels` points to.
    _libraries: Vec<Library>,
}

/// Which kernels are in a C file, and its text.
struct File {
    kernels: Vec<usize>,
    text: String,
}

impl Code {
    /// Writes C for the plan and builds it. Gives the text of the whole, and how long it took.
    pub(super) fn build(
        plan: &Plan,
        wide: bool,
        backend: Backend,
        toolchain: &Toolchain,
    ) -> Result<(Code, String, BuildTime), Error> {
        let start = Instant::now();
        let source = (backend.emit)(plan, wide)?;
        let files = files(plan, wide, backend, &source)?;
        let text = start.elapsed();
        let start = Instant::now();
        // SAFETY: the backend keeps the promise of `Cpu::with_backend`.
        let build = |file: &File| unsafe { toolchain.library(&file.text, file.kernels.len()) };
        let built: Vec<Result<(Library, Origin), Error>> = match &files[..] {
            [] => vec![],
            [file] => vec![build(file)],
            files => threads::install(|| files.par_iter().with_max_len(1).map(build).collect()),
        };
        let mut kernels = vec![None; plan.kernels.len()];
        let (mut libraries, mut cached) = (vec![], 0);
        for (file, built) in files.iter().zip(built) {
            let (library, origin) = built?;
            for (place, &kernel) in file.kernels.iter().enumerate() {
                kernels[kernel] = library.kernel(place);
            }
            cached += usize::from(origin == Origin::Cache);
            libraries.push(library);
        }
        let (compiler, files) = (start.elapsed(), libraries.len());
        let time = BuildTime { passes: Duration::ZERO, text, compiler, files, cached };
        Ok((Code { kernels, _libraries: libraries }, source, time))
    }

    /// The function of a kernel. It may be called while the code lives.
    pub(super) fn kernel(&self, index: usize) -> Option<KernelFn> {
        self.kernels.get(index).copied().flatten()
    }
}

/// The C files of a plan; none for a plan without kernels.
fn files(plan: &Plan, wide: bool, backend: Backend, source: &str) -> Result<Vec<File>, Error> {
    if plan.kernels.is_empty() {
        return Ok(vec![]);
    }
    let dealt = c::files(&plan.kernels);
    if let [kernels] = &dealt[..] {
        return Ok(vec![File { kernels: kernels.clone(), text: source.to_string() }]);
    }
    // Texts are written from the kernels of a plan and its name.
    let (params, buffers, results, steps) = (vec![], vec![], vec![], vec![]);
    let (name, sizes) = (plan.name.clone(), plan.sizes.clone());
    let mut part = Plan { name, sizes, params, buffers, results, kernels: vec![], steps };
    let text = |kernels: Vec<usize>| {
        part.kernels = kernels.iter().map(|&k| plan.kernels[k].clone()).collect();
        Ok(File { text: (backend.emit)(&part, wide)?, kernels })
    };
    dealt.into_iter().map(text).collect()
}
