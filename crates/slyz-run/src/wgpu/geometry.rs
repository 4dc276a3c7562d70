//! A launch with numbers for its sizes, and its pipeline.
//!
//! Kernels differ by whether positions fit 32 bits, and are compiled when a call first needs them. Those that come out equal
//! share a pipeline.

use super::adapter::Opened;
use super::engine::Gpu;
use super::memory::Lent;
use super::pipeline::{Pipeline, Shader, pipeline};
use super::probe;
use crate::driver::Piece;
use crate::{Error, hash};
use slyz_sir::back::naga;
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Kernel;
use slyz_sir::types::Ty;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
        if long && naga::certain_turns(kernel, sizes).is_some_and(is_past) {
            return Err(Error::TooLarge {
                what: format!("the launch of {}", kernel.name),
                why: "a thread of it turns loops too often for this driver (Mesa's llvmpipe), which ends them without a word; \
                      run it on the device \"cpu\""
                    .to_string(),
            });
        }
        Ok(Needs { narrow, long })
    }
}

/// What the kernel is written for.
pub(super) fn target(opened: &Opened, kernel: &Kernel, needs: Needs) -> naga::Target {
    // Without 64-bit integers all code is narrow; what is too large for it is refused.
    let narrow = needs.narrow || !opened.target.int64;
    let precision = kernel.precision.unwrap_or(opened.target.precision);
    let asks = precision == Precision::Table && kernel.mentions(Ty::F16);
    let exact_halves = asks && *opened.exact_halves.get_or_init(|| probe::has_exact_halves(opened));
    naga::Target { narrow, long_loops: needs.long, exact_halves, ..opened.target }
}

fn built(opened: &Opened, kernel: &Kernel, hash: &[u8; 32], needs: Needs) -> Result<Arc<Built>, Error> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    opened.pipelines.get(hash::of(&(hash, needs)), || {
        let pipeline = pipeline(opened, kernel, Shader::new(opened, kernel, &target(opened, kernel, needs))?)?;
        Ok(Arc::new(Built { number: NUMBERS.fetch_add(1, Ordering::Relaxed), pipeline }))
    })
}

/// A launch with numbers for its sizes.
pub(crate) struct Geometry {
    pub(super) built: Arc<Built>,
    pub(super) grid: [u32; 3],
    /// Where what is bound of each array begins, and its bytes.
    pub(super) bound: Vec<(u64, u64)>,
    /// What kernels are told about sizes.
    pub(super) words: Vec<u64>,
    uniforms: Mutex<VecDeque<(Vec<u64>, Arc<Lent>)>>,
}

impl Geometry {
    /// Of a launch within the limits of the GPU.
    pub(super) fn new(opened: &Opened, piece: &Piece<Gpu>) -> Result<Geometry, Error> {
        let Piece { kernel, sizes, .. } = *piece;
        let needs = Needs::new(opened, kernel, sizes.values(), !piece.measures.wide)?;
        let built = built(opened, kernel, piece.hash(), needs)?;
        let mut words = vec![];
        for size in &built.pipeline.interface.extents {
            let value = sizes.eval(size)?;
            let most = opened.machine.max_positions;
            if value > most {
                return Err(Error::TooLarge {
                    what: format!("an axis of {}", kernel.name),
                    why: format!("it has {value} positions, and this GPU counts to {most}"),
                });
            }
            words.push(value);
        }
        let most = opened.limits.max_storage_buffer_binding_size;
        let rounded = |&(offset, bytes): &(u64, u64)| (offset, bytes.max(16).next_multiple_of(16).min(most));
        let bound = piece.bound.iter().map(rounded).collect();
        // Grids are within the limits, which are of 32 bits.
        let grid = piece.grid.map(|blocks| blocks as u32);
        Ok(Geometry { built, grid, bound, words, uniforms: Mutex::default() })
    }

    /// What the uniform buffer holds: sizes and scalars, a word of 64 bits each; a kernel that a person wrote has its scalars first, and words of
    /// 32 bits.
    pub(super) fn told(&self, scalars: &[u64]) -> Vec<u8> {
        if self.built.pipeline.interface.raw {
            return scalars.iter().chain(&self.words).flat_map(|word| (*word as u32).to_le_bytes()).collect();
        }
        self.words.iter().chain(scalars).flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Where a scalar stands in it.
    pub(super) fn place_of_scalar(&self, place: usize) -> u64 {
        if self.built.pipeline.interface.raw { 4 * place as u64 } else { 8 * (self.words.len() + place) as u64 }
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
