//! The loaded code of a plan: a library for each of its C files.
//!
//! A plan with much code is several files ([`slyz_sir::back::c::files`]), which the C compiler gets side by side.

use super::engine::Cores;
use super::{Backend, threads};
use crate::cc::{KernelFn, Library, Origin};
use crate::cost;
use crate::{BuildTime, Error};
use slyz_sir::back::c;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::names::Names;
use slyz_sir::size::SizeVar;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What is built of a plan, when it is needed.
#[derive(Default)]
pub(super) struct PlanCode {
    /// Code for 32-bit indices.
    narrow: OnceLock<Built>,
    /// Code for any size.
    wide: OnceLock<Built>,
    /// Held by whoever builds one of them.
    building: Mutex<()>,
    /// The latest of each kernel, with its work: where sizes are counted, they are asked for in every call.
    estimates: Mutex<HashMap<usize, (Estimate, u64)>>,
}

/// What an estimate of the work of a launch hangs on.
#[derive(PartialEq, Eq)]
pub(super) struct Estimate {
    /// The kernel's place in the plan.
    pub(super) kernel: usize,
    pub(super) blocks: u64,
    /// The sizes.
    pub(super) words: Vec<i64>,
}

/// The code of the kernels of a plan.
pub(super) struct Built {
    /// By kernel. They may be called while the libraries live.
    kernels: Vec<Option<KernelFn>>,
    /// Own what `kernels` points to.
    _libraries: Vec<Library>,
    source: String,
    pub(super) time: BuildTime,
}

/// Which kernels are in a C file, and its text.
struct File {
    kernels: Vec<usize>,
    text: String,
}

impl PlanCode {
    /// The code of a plan, which is the same in all calls.
    pub(super) fn built(&self, plan: &Plan, wide: bool, cores: &Cores) -> Result<&Built, Error> {
        let place = if wide { &self.wide } else { &self.narrow };
        if let Some(built) = place.get() {
            return Ok(built);
        }
        let _one_at_a_time = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = place.get() {
            return Ok(built);
        }
        let built = Built::new(plan, wide, cores)?;
        Ok(place.get_or_init(|| built))
    }

    /// The text of narrow code.
    pub(super) fn source(&self, plan: &Plan, cores: &Cores) -> Result<String, Error> {
        match self.narrow.get() {
            Some(built) => Ok(built.source.clone()),
            None => Ok((cores.backend.emit)(plan, false).map_err(Error::Emit)?),
        }
    }

    /// Work that the memories of a launch do not show, from the code.
    pub(super) fn work(&self, estimate: Estimate, kernel: &Kernel) -> u64 {
        let mut estimates = self.estimates.lock().unwrap_or_else(PoisonError::into_inner);
        match estimates.get(&estimate.kernel) {
            Some((known, work)) if *known == estimate => *work,
            Some(_) | None => {
                let value = |SizeVar(k): SizeVar| estimate.words.get(k as usize).map(|&n| n as u64);
                let work = cost::work(kernel, estimate.blocks, &value);
                estimates.insert(estimate.kernel, (estimate, work));
                work
            }
        }
    }
}

impl Built {
    /// Writes C for the plan and builds it.
    fn new(plan: &Plan, wide: bool, cores: &Cores) -> Result<Built, Error> {
        let Cores { backend, toolchain } = cores;
        let start = Instant::now();
        let source = (backend.emit)(plan, wide).map_err(Error::Emit)?;
        let files = files(plan, wide, *backend, &source)?;
        let text = start.elapsed();
        let start = Instant::now();
        // SAFETY: the backend keeps the promise of `Cpu::with_backend`.
        let build = |file: &File| unsafe { toolchain.library(&file.text, file.kernels.len()) };
        let built: Vec<Result<(Library, Origin), Error>> = match &files[..] {
            [] => vec![],
            [file] => vec![build(file)],
            files => side_by_side(files, &build),
        };
        let mut kernels = vec![None; plan.kernels.len()];
        let mut libraries = vec![];
        let mut cached = 0;
        for (file, built) in files.iter().zip(built) {
            let (library, origin) = built?;
            for (place, &kernel) in file.kernels.iter().enumerate() {
                kernels[kernel] = library.kernel(place);
            }
            cached += usize::from(origin == Origin::Kept);
            libraries.push(library);
        }
        let compiler = start.elapsed();
        let files = libraries.len();
        let time = BuildTime { passes: Duration::ZERO, text, compiler, files, cached };
        Ok(Built { kernels, _libraries: libraries, source, time })
    }

    /// The function of a kernel. It may be called while the code lives.
    pub(super) fn kernel(&self, index: usize) -> Option<KernelFn> {
        self.kernels.get(index).copied().flatten()
    }
}

/// Does it with each of them, several at a time.
fn side_by_side<T: Sync, R: Send>(all: &[T], act: &(dyn Fn(&T) -> R + Sync)) -> Vec<R> {
    let done = Mutex::new(vec![]);
    threads::share(all.len() as u64, threads::count().min(all.len()), &|_, own| {
        for place in own {
            let result = act(&all[place as usize]);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The texts of the C files of a plan.
pub(super) fn texts(plan: &Plan, wide: bool, backend: Backend) -> Result<Vec<String>, Error> {
    let source = (backend.emit)(plan, wide).map_err(Error::Emit)?;
    Ok(files(plan, wide, backend, &source)?.into_iter().map(|file| file.text).collect())
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
    let params = vec![];
    let names = Names::default();
    let buffers = vec![];
    let results = vec![];
    let steps = vec![];
    let name = plan.name.clone();
    let sizes = plan.sizes.clone();
    let mut part = Plan { name, sizes, params, names, buffers, results, kernels: vec![], steps };
    let text = |kernels: Vec<usize>| {
        part.kernels = kernels.iter().map(|&k| plan.kernels[k].clone()).collect();
        Ok(File { text: (backend.emit)(&part, wide).map_err(Error::Emit)?, kernels })
    };
    dealt.into_iter().map(text).collect()
}
