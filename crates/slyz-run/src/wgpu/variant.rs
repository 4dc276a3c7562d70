//! The forms that a program has: a plan for each kind of sizes, and its launches with numbers for a call's sizes.
//!
//! Plans differ by what sizes are expected, kernels by whether positions fit 32 bits. Both are made when a call first needs
//! them. Kernels that come out equal share a pipeline, and calls of equal sizes the numbers of their launches.

use super::adapter::Opened;
use super::memory::Lent;
use super::pipeline::{Pipeline, pipeline};
use super::window;
use crate::kernels::{bound_memories, extents};
use crate::signature::Sizes;
use crate::{Error, hash};
use slyz_sir::back::naga;
use slyz_sir::kernel::{BufferId, Kernel, Plan};
use slyz_sir::lower::gpu::{Expected, Machine, Windowed, lower_for};
use slyz_sir::program::Program;
use slyz_sir::size::Size;
use slyz_sir::verify;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Calls whose numbers an executable keeps.
const KEPT_CALLS: usize = 16;
/// Sets of scalars that a launch keeps.
const KEPT_SCALARS: usize = 8;
/// From so many elements or turns on positions do not fit 32 bits.
/// Threads of the last blocks stand a little past the end.
pub(super) const WIDE: u64 = (1 << 31) - (1 << 22);

/// A pipeline and its number, which no other has.
pub(super) struct Built {
    pub(super) number: u64,
    pub(super) pipeline: Pipeline,
}

/// A plan for some expectation of sizes.
pub(super) struct Variant {
    pub(super) plan: Plan,
    /// By kernel.
    extents: Vec<Vec<Size>>,
    /// Structural, by kernel.
    hashes: Vec<[u8; 32]>,
    /// Kernels that see windows of their arrays, with their hashes.
    windowed: Vec<OnceLock<(Windowed, [u8; 32])>>,
}

impl Variant {
    pub(super) fn new(program: &Program, machine: &Machine, expected: &Expected) -> Result<Variant, Error> {
        let plan = lower_for(program, machine, expected);
        verify::plan(&plan).map_err(|error| Error::Plan { name: program.name.clone(), why: error.to_string() })?;
        let extents = plan.kernels.iter().map(extents).collect();
        let hashes = plan.kernels.iter().map(hash::of).collect();
        let windowed = plan.kernels.iter().map(|_| OnceLock::new()).collect();
        Ok(Variant { plan, extents, hashes, windowed })
    }

    /// A kernel that sees windows of its arrays, and its hash.
    pub(super) fn windowed(&self, index: usize) -> &(Windowed, [u8; 32]) {
        self.windowed[index].get_or_init(|| {
            let windowed = Windowed::new(&self.plan.kernels[index]);
            let hash = hash::of(&windowed.kernel);
            (windowed, hash)
        })
    }
}

/// What a launch needs of its code, besides that it runs on the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Needs {
    /// Positions of 32 bits.
    pub(super) narrow: bool,
    /// Loops may turn more often than the driver lets them.
    pub(super) long: bool,
}

impl Needs {
    /// Of a launch with these sizes.
    pub(super) fn new(opened: &Opened, kernel: &Kernel, sizes: &[Option<u64>], narrow: bool) -> Result<Needs, Error> {
        let is_past = |turns: u64| turns > naga::MOST_TURNS;
        let long = opened.ends_loops && naga::most_turns(kernel, sizes).is_none_or(is_past);
        // A single thread turns as often as the sizes say; others perhaps less.
        let alone = kernel.block == [1; 3] && kernel.grid.iter().all(|blocks| blocks.constant() == Some(1));
        if long && alone && naga::certain_turns(kernel, sizes).is_some_and(is_past) {
            return Err(Error::TooLarge {
                what: format!("the launch of {}", kernel.name),
                why: "one thread does all of it, and this driver (Mesa's llvmpipe) ends loops that turn so often; \
                      run it on the device \"cpu\""
                    .to_string(),
            });
        }
        Ok(Needs { narrow, long })
    }
}

/// The kernel as a module.
pub(super) fn module(opened: &Opened, kernel: &Kernel, needs: Needs) -> Result<naga::Module, Error> {
    // Without 64-bit integers all code is narrow; what is too large for it is refused.
    let narrow = needs.narrow || !opened.target.int64;
    let target = naga::Target { narrow, long_loops: needs.long, ..opened.target };
    Ok(naga::emit(kernel, &target)?)
}

pub(super) fn built(opened: &Opened, kernel: &Kernel, hash: &[u8; 32], needs: Needs) -> Result<Arc<Built>, Error> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    opened.pipelines.get(hash::of(&(hash, needs)), || {
        let pipeline = pipeline(opened, kernel, module(opened, kernel, needs)?)?;
        Ok(Arc::new(Built { number: NUMBERS.fetch_add(1, Ordering::Relaxed), pipeline }))
    })
}

/// A launch with numbers for its sizes.
pub(super) struct Geometry {
    pub(super) built: Arc<Built>,
    pub(super) grid: [u32; 3],
    /// Where what is bound of each array begins, and its bytes.
    pub(super) bound: Vec<(u64, u64)>,
    /// What kernels are told about sizes.
    pub(super) words: Vec<u64>,
    uniforms: Mutex<VecDeque<(Vec<u64>, Arc<Lent>)>>,
}

impl Geometry {
    /// A launch, in pieces where its arrays are larger than what a kernel sees; none for a launch without blocks.
    pub(super) fn all(
        opened: &Opened,
        variant: &Variant,
        sizes: &Sizes,
        index: usize,
        buffers: &[BufferId],
    ) -> Result<Vec<Geometry>, Error> {
        let kernel = &variant.plan.kernels[index];
        let grid = sizes.shape(&kernel.grid)?;
        let (mut bound, mut narrow, mut large) = (vec![], true, false);
        for (memory, id) in bound_memories(kernel).zip(buffers) {
            let (count, bytes) = sizes.extent(memory.ty, &memory.shape)?;
            let most = opened.limits.max_buffer_size;
            if bytes as u64 > most {
                return Err(Error::TooLarge {
                    what: format!("the array {} of {}", memory.name, kernel.name),
                    why: format!("{bytes} bytes, and a buffer of this GPU has at most {most}"),
                });
            }
            narrow &= count < WIDE && sizes.shape(&memory.shape)?.iter().all(|&extent| extent < WIDE);
            large |= bytes as u64 > opened.window_bytes;
            // What is bound is the array: kernels take its length for theirs, and the buffer may be larger than a binding.
            let whole = &variant.plan.buffers[id.0 as usize];
            let bytes = sizes.extent(whole.ty, &whole.shape)?.1 as u64;
            bound.push((0, bytes.max(16).next_multiple_of(16).min(opened.limits.max_storage_buffer_binding_size)));
        }
        for size in &variant.extents[index] {
            narrow &= sizes.eval(size)? < WIDE;
        }
        if grid.contains(&0) {
            return Ok(vec![]);
        }
        let most = u64::from(opened.limits.max_compute_workgroups_per_dimension);
        if large || grid.iter().any(|&blocks| blocks > most) {
            return window::pieces(opened, variant, sizes, index, narrow);
        }
        Ok(vec![Geometry::numbers(opened, (kernel, &variant.hashes[index]), sizes, narrow, bound)?])
    }

    /// A launch whose sizes and bindings are known to be within limits.
    pub(super) fn numbers(
        opened: &Opened,
        (kernel, hash): (&Kernel, &[u8; 32]),
        sizes: &Sizes,
        narrow: bool,
        bound: Vec<(u64, u64)>,
    ) -> Result<Geometry, Error> {
        let mut grid = [1; 3];
        for (blocks, size) in grid.iter_mut().zip(sizes.shape(&kernel.grid)?) {
            *blocks = size as u32;
        }
        let built = built(opened, kernel, hash, Needs::new(opened, kernel, sizes.values(), narrow)?)?;
        let mut words = vec![];
        for size in &built.pipeline.extents {
            let value = sizes.eval(size)?;
            if value > opened.machine.max_positions {
                return Err(Error::TooLarge {
                    what: format!("an axis of {}", kernel.name),
                    why: format!("it has {value} positions, and this GPU counts to {}", opened.machine.max_positions),
                });
            }
            words.push(value);
        }
        Ok(Geometry::new(built, grid, bound, words))
    }

    pub(super) fn new(built: Arc<Built>, grid: [u32; 3], bound: Vec<(u64, u64)>, words: Vec<u64>) -> Geometry {
        Geometry { built, grid, bound, words, uniforms: Mutex::default() }
    }

    /// The uniform buffer with these scalars behind the sizes, or else what `make` makes. It is never written again.
    pub(super) fn uniform(
        &self,
        scalars: &[u64],
        make: impl FnOnce() -> Result<Lent, Error>,
    ) -> Result<Arc<Lent>, Error> {
        let kept = || self.uniforms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, uniform)) = kept().iter().find(|(known, _)| known == scalars) {
            return Ok(uniform.clone());
        }
        let uniform = Arc::new(make()?);
        let mut kept = kept();
        if kept.len() >= KEPT_SCALARS {
            kept.pop_front();
        }
        kept.push_back((scalars.to_vec(), uniform.clone()));
        Ok(uniform)
    }
}

/// Everything about calls of some sizes.
pub(super) struct Prepared {
    sizes: Vec<Option<u64>>,
    pub(super) variant: Arc<Variant>,
    /// By step. Steps behind a count do not belong here.
    launches: Vec<OnceLock<Vec<Arc<Geometry>>>>,
}

impl Prepared {
    /// The launch of a step in its pieces, or else what `make` makes.
    pub(super) fn launch(
        &self,
        step: usize,
        make: impl FnOnce() -> Result<Vec<Arc<Geometry>>, Error>,
    ) -> Result<&[Arc<Geometry>], Error> {
        match self.launches[step].get() {
            Some(known) => Ok(known),
            None => {
                let made = make()?;
                Ok(self.launches[step].get_or_init(|| made))
            }
        }
    }
}

/// The latest calls of an executable, latest first.
#[derive(Default)]
pub(super) struct Calls(Mutex<VecDeque<Arc<Prepared>>>);

impl Calls {
    /// What is known about calls of these sizes; `choose` finds their variant when nothing is.
    pub(super) fn of(
        &self,
        sizes: &[Option<u64>],
        choose: impl FnOnce() -> Result<Arc<Variant>, Error>,
    ) -> Result<Arc<Prepared>, Error> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut calls = lock();
        if let Some(place) = calls.iter().position(|call| call.sizes == sizes) {
            if place > 0 {
                calls.swap(place, place - 1);
            }
            return Ok(calls[place.saturating_sub(1)].clone());
        }
        drop(calls);
        let variant = choose()?;
        let launches = variant.plan.steps.iter().map(|_| OnceLock::new()).collect();
        let prepared = Arc::new(Prepared { sizes: sizes.to_vec(), variant, launches });
        let mut calls = lock();
        calls.truncate(KEPT_CALLS - 1);
        calls.push_front(prepared.clone());
        Ok(prepared)
    }
}
