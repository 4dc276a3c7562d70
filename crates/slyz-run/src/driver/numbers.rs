//! What the sizes of a call determine: the bytes of buffers, the launches in numbers and in pieces, the shapes of results.
//!
//! Calls repeat their sizes, so whoever makes [`Prepared`] keeps it. What hangs on a size that is counted while the plan
//! runs is worked out in the call, by the same functions.

use super::engine::{Engine, Limits, Measures, Piece};
use super::repeats::Repeats;
use super::variant::Variant;
use crate::Error;
use crate::signature::Sizes;
use slyz_sir::kernel::{Access, BufferId, Kernel, Plan, Space, Step};
use slyz_sir::lower::gpu::Scattered;
use slyz_sir::size::Size;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Everything about calls of some sizes.
pub(super) struct Prepared<E: Engine> {
    /// The sizes it holds for.
    sizes: Vec<Option<u64>>,
    pub(super) variant: Arc<Variant<E>>,
    /// Bytes, by buffer; nothing where sizes are counted.
    pub(super) buffers: Vec<usize>,
    /// By step, those inside of others behind them; `None` behind a count.
    pub(super) launches: Vec<Option<LaunchNumbers<E>>>,
    /// Shapes and bytes; nothing where sizes are counted.
    pub(super) results: Vec<(Vec<u64>, usize)>,
    /// Calls that the device has kept.
    pub(super) repeats: Repeats<E>,
}

/// A launch in numbers.
pub(super) struct LaunchNumbers<E: Engine> {
    /// Bytes of the memories that are bound, in order.
    pub(super) memories: Vec<usize>,
    /// None for a grid without blocks.
    pub(super) pieces: SmallVec<[E::Numbers; 1]>,
}

impl<E: Engine> Prepared<E> {
    /// `reach` is how far threads stand, where the sizes of the kernel do not tell.
    pub(super) fn new(engine: &E, variant: Arc<Variant<E>>, sizes: &Sizes, reach: u64) -> Result<Prepared<E>, Error> {
        let plan = &variant.plan;
        let mut buffers = vec![];
        let mut results = vec![];
        if !variant.counts {
            for buffer in &plan.buffers {
                buffers.push(sizes.extent(buffer.ty, &buffer.shape)?.1);
            }
            for (id, shape) in &plan.results {
                results.push(result(plan, sizes, *id, shape)?);
            }
        }
        let mut launches = vec![];
        let mut counted = false;
        for step in plan.all_steps() {
            counted |= matches!(step, Step::Count { .. });
            launches.push(match step {
                Step::Launch { kernel, buffers, .. } if !counted => {
                    Some(LaunchNumbers::new(engine, &variant, *kernel, buffers, sizes, reach)?)
                }
                Step::Launch { .. } | Step::Count { .. } | Step::Free(_) => None,
                Step::Loop(_) | Step::Choose { .. } => None,
            });
        }
        let repeats = Repeats::new(plan, sizes, &buffers);
        let sizes = sizes.values().to_vec();
        Ok(Prepared { sizes, buffers, launches, results, repeats, variant })
    }

    pub(super) fn is_for(&self, sizes: &Sizes) -> bool {
        self.sizes == sizes.values()
    }
}

impl<E: Engine> LaunchNumbers<E> {
    pub(super) fn new(
        engine: &E,
        variant: &Variant<E>,
        index: usize,
        buffers: &[BufferId],
        sizes: &Sizes,
        reach: u64,
    ) -> Result<LaunchNumbers<E>, Error> {
        let kernel = &variant.plan.kernels[index];
        let measures = measures(variant, index, sizes, reach)?;
        let limits = engine.limits();
        if let Some(limits) = &limits {
            check_arrays(variant, kernel, &measures, limits)?;
        }
        let grid = grid(kernel, sizes)?;
        let is_large = |limits: &Limits| {
            let window = limits.launch.window_bytes;
            measures.memories.iter().any(|&bytes| bytes as u64 > window)
                || grid.iter().any(|&blocks| blocks > limits.launch.blocks)
        };
        let pieces = match limits {
            _ if grid.contains(&0) => smallvec![],
            Some(limits) if is_large(&limits) => in_windows(engine, variant, index, sizes, &measures, &limits)?,
            Some(_) | None => {
                // What is bound is the array: kernels take its length for theirs, and its memory may be larger.
                let whole = |id: &BufferId| {
                    let buffer = &variant.plan.buffers[id.0 as usize];
                    Ok((0, sizes.extent(buffer.ty, &buffer.shape)?.1 as u64))
                };
                let bound = buffers.iter().map(whole).collect::<Result<_, Error>>()?;
                let piece = Piece { variant, index, kernel, windowed: false, sizes, grid, bound, measures: &measures };
                smallvec![engine.number(&piece)?]
            }
        };
        Ok(LaunchNumbers { memories: measures.memories, pieces })
    }
}

/// What the sizes of a launch come to.
fn measures<E: Engine>(variant: &Variant<E>, index: usize, sizes: &Sizes, reach: u64) -> Result<Measures, Error> {
    let mut measures =
        Measures { memories: vec![], scratch: vec![], largest: 0, written: 0, wide: reach >= E::NARROW.extent };
    for memory in &variant.plan.kernels[index].memories {
        let list = match memory.space {
            Space::Global(_) | Space::Constant => &mut measures.memories,
            Space::Scratch => &mut measures.scratch,
            Space::Shared | Space::Local => continue,
        };
        let (count, bytes) = sizes.extent(memory.ty, &memory.shape)?;
        list.push(bytes);
        if memory.space.is_bound() {
            measures.largest = measures.largest.max(count);
        }
        if memory.space == Space::Global(Access::Write) {
            measures.written = measures.written.saturating_add(bytes);
        }
        measures.wide |= count >= E::NARROW.elements;
        measures.wide |= sizes.shape(&memory.shape)?.iter().any(|&extent| extent >= E::NARROW.extent);
    }
    for size in variant.extents(index) {
        measures.wide |= sizes.eval(size)? >= E::NARROW.extent;
    }
    Ok(measures)
}

/// The arrays of a launch are within the limits. A kernel that somebody wrote sees its arrays whole.
fn check_arrays<E: Engine>(
    variant: &Variant<E>,
    kernel: &Kernel,
    measures: &Measures,
    limits: &Limits,
) -> Result<(), Error> {
    for (memory, &bytes) in kernel.bound_memories().zip(&measures.memories) {
        if (variant.template.is_some() || kernel.raw.is_some()) && bytes as u64 > limits.launch.window_bytes {
            let most = limits.launch.window_bytes;
            return Err(Error::TooLarge {
                what: format!("the array `{}` of kernel `{}`", memory.name, kernel.name),
                why: format!("{bytes} bytes, and a kernel of this GPU sees at most {most}; launch over parts of it"),
            });
        }
        if bytes as u64 > limits.buffer_bytes {
            let most = limits.buffer_bytes;
            return Err(Error::TooLarge {
                what: format!("the array {} of {}", memory.name, kernel.name),
                why: format!("{bytes} bytes, and a buffer of this GPU has at most {most}"),
            });
        }
    }
    Ok(())
}

fn grid(kernel: &Kernel, sizes: &Sizes) -> Result<[u64; 3], Error> {
    let [x, y, z] = &kernel.grid;
    Ok([sizes.eval(x)?, sizes.eval(y)?, sizes.eval(z)?])
}

/// A launch in pieces, each with windows of its arrays, since those are larger than what a kernel may see, or more blocks than a
/// grid has. How it is cut is decided in `slyz_sir::lower::gpu`.
fn in_windows<E: Engine>(
    engine: &E,
    variant: &Variant<E>,
    index: usize,
    sizes: &Sizes,
    measures: &Measures,
    limits: &Limits,
) -> Result<SmallVec<[E::Numbers; 1]>, Error> {
    let (windowed, _) = variant.windowed(index);
    let name = &variant.plan.kernels[index].name;
    let most = limits.launch.window_bytes;
    let pieces = windowed.pieces(sizes.values(), &limits.launch).map_err(|why| match why {
        Scattered::Array { memory, bytes } => Error::TooLarge {
            what: format!("the array {memory} of {name}"),
            why: format!(
                "{bytes} bytes, a kernel of this GPU sees at most {most} at once, and this one may go anywhere in it"
            ),
        },
        Scattered::Pieces | Scattered::Size(_) => {
            Error::TooLarge { what: format!("the launch of {name}"), why: why.to_string() }
        }
    })?;
    let kernel = &windowed.kernel;
    let mut numbers = SmallVec::with_capacity(pieces.len());
    for piece in &pieces {
        let windows = kernel.bound_memories().zip(&piece.windows);
        let bound = windows.map(|(memory, window)| {
            let each = memory.ty.bytes() as u64;
            let bytes = (window.end - window.start) * each;
            // An empty window is anywhere.
            let offset = if bytes == 0 { 0 } else { window.start * each };
            (offset, bytes)
        });
        let bound = bound.collect();
        let sizes = &sizes.with_values(windowed.sizes(sizes.values(), piece));
        let grid = grid(kernel, sizes)?;
        numbers.push(engine.number(&Piece { variant, index, kernel, windowed: true, sizes, grid, bound, measures })?);
    }
    Ok(numbers)
}

/// Shape and bytes of a result.
pub(super) fn result(plan: &Plan, sizes: &Sizes, id: BufferId, shape: &[Size]) -> Result<(Vec<u64>, usize), Error> {
    let (_, bytes) = sizes.extent(plan.buffers[id.0 as usize].ty, shape)?;
    Ok((sizes.shape(shape)?, bytes))
}
