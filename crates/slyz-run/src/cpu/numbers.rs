//! What the sizes of a call determine: the bytes of buffers, the launches in numbers, the shapes of results.
//!
//! Calls repeat their sizes, so the numbers are kept. A plan that counts sizes while it runs gets its numbers
//! step by step instead, by the same functions.

use super::check::scratch_memories;
use super::cost;
use super::launch::{self, Layout};
use crate::kernels::{bound_memories, extents};
use crate::signature::{Sizes, elements};
use crate::{Error, Found, Kept};
use slyz_sir::kernel::{Access, BufferId, Kernel, Plan, Space, Step};
use slyz_sir::size::Size;
use std::sync::{Mutex, PoisonError};

/// From this extent, and from twice as many elements, narrow code does not do.
pub(super) const WIDE_EXTENT: u64 = 1 << 30;
/// Results of this many bytes would only push other data out of the caches on their way to memory.
pub(super) const STREAMED: usize = 32 << 20;

/// The numbers of a call.
pub(super) struct Numbers {
    /// The sizes they hold for.
    sizes: Vec<Option<u64>>,
    /// Bytes, by buffer.
    pub(super) buffers: Vec<usize>,
    /// By step.
    pub(super) launches: Vec<Option<LaunchNumbers>>,
    /// Shape and bytes.
    pub(super) results: Vec<(Vec<u64>, usize)>,
}

/// A launch in numbers.
pub(super) struct LaunchNumbers {
    /// Bytes of the memories that are bound, in order.
    pub(super) memories: Vec<usize>,
    /// Of a block.
    pub(super) scratch: Layout,
    /// The sizes as generated code takes them; behind them stands whether results go past the caches.
    pub(super) words: Vec<i64>,
    pub(super) blocks: u64,
    /// An estimate, in elements streamed.
    pub(super) work: u64,
    /// Narrow code does not do.
    pub(super) wide: bool,
}

/// What is worth knowing about a kernel before it is launched.
struct KernelFacts {
    extents: Vec<Size>,
    /// The last estimate of the code's work, with the sizes and blocks it holds for.
    work: Mutex<Option<(Vec<i64>, u64, u64)>>,
}

/// Makes the numbers of a plan's calls, and keeps some.
pub(super) struct Arithmetic {
    /// By kernel.
    facts: Vec<KernelFacts>,
    kept: Kept<Numbers>,
    /// Sizes are counted while the plan runs.
    counts: bool,
}

impl Arithmetic {
    pub(super) fn new(plan: &Plan) -> Arithmetic {
        let facts = plan.kernels.iter().map(|k| KernelFacts { extents: extents(k), work: Mutex::default() }).collect();
        let counts = plan.steps.iter().any(|step| matches!(step, Step::Count { .. }));
        Arithmetic { facts, kept: Kept::default(), counts }
    }

    /// The numbers of a call; `None` when they are not known before it has run.
    pub(super) fn of_call(&self, plan: &Plan, sizes: &Sizes) -> Result<Option<Found<'_, Numbers>>, Error> {
        if self.counts {
            return Ok(None);
        }
        self.kept.get(|numbers| numbers.sizes == sizes.values(), || self.numbers(plan, sizes)).map(Some)
    }

    fn numbers(&self, plan: &Plan, sizes: &Sizes) -> Result<Numbers, Error> {
        let buffers = plan.buffers.iter().map(|buffer| Ok(sizes.extent(buffer.ty, &buffer.shape)?.1));
        let launches = plan.steps.iter().map(|step| match step {
            Step::Launch { kernel, .. } => self.of_launch(&plan.kernels[*kernel], *kernel, sizes).map(Some),
            Step::Count { .. } | Step::Free(_) => Ok(None),
        });
        let results = plan.results.iter().map(|(id, shape)| result(plan, sizes, *id, shape));
        Ok(Numbers {
            sizes: sizes.values().to_vec(),
            buffers: buffers.collect::<Result<_, Error>>()?,
            launches: launches.collect::<Result<_, Error>>()?,
            results: results.collect::<Result<_, Error>>()?,
        })
    }

    /// The numbers of one launch.
    pub(super) fn of_launch(&self, kernel: &Kernel, index: usize, sizes: &Sizes) -> Result<LaunchNumbers, Error> {
        let (mut memories, mut largest, mut written, mut wide) = (vec![], 0, 0usize, false);
        for memory in bound_memories(kernel) {
            let (count, bytes) = sizes.extent(memory.ty, &memory.shape)?;
            largest = largest.max(count);
            wide |= is_wide(sizes, count, &memory.shape)?;
            if memory.space == Space::Global(Access::Write) {
                written = written.saturating_add(bytes);
            }
            memories.push(bytes);
        }
        let mut scratch = vec![];
        for memory in scratch_memories(kernel) {
            let (count, bytes) = sizes.extent(memory.ty, &memory.shape)?;
            wide |= is_wide(sizes, count, &memory.shape)?;
            scratch.push(bytes);
        }
        for size in &self.facts[index].extents {
            wide |= sizes.eval(size)? >= WIDE_EXTENT;
        }
        let blocks = elements(&sizes.shape(&kernel.grid)?).filter(|&n| n <= i64::MAX as u64);
        let blocks = blocks.ok_or_else(|| Error::TooLarge {
            what: format!("the grid of {}", kernel.name),
            why: "it has more blocks than the index type, 2^63 - 1, can count".to_string(),
        })?;
        let mut words = sizes.words();
        let work = largest.max(self.code_work(kernel, index, blocks, largest, &words));
        words.push((written >= STREAMED) as i64);
        Ok(LaunchNumbers { memories, scratch: Layout::new(&scratch)?, words, blocks, work, wide })
    }

    /// Work that the memories do not show, from the code. Not asked when the memories alone keep all threads busy.
    fn code_work(&self, kernel: &Kernel, index: usize, blocks: u64, elements: u64, words: &[i64]) -> u64 {
        if blocks < 2 || elements >= launch::PLENTY {
            return 0;
        }
        let mut last = self.facts[index].work.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((sizes, grid, work)) if sizes == words && *grid == blocks => *work,
            Some(_) | None => {
                let value = |var: slyz_sir::size::SizeVar| words.get(var.0 as usize).map(|&n| n as u64);
                let work = cost::work(kernel, blocks, &value);
                *last = Some((words.to_vec(), blocks, work));
                work
            }
        }
    }
}

/// Shape and bytes of a result.
pub(super) fn result(plan: &Plan, sizes: &Sizes, id: BufferId, shape: &[Size]) -> Result<(Vec<u64>, usize), Error> {
    let (_, bytes) = sizes.extent(plan.buffers[id.0 as usize].ty, shape)?;
    Ok((sizes.shape(shape)?, bytes))
}

/// Is an array beyond what narrow code can index?
fn is_wide(sizes: &Sizes, elements: u64, shape: &[Size]) -> Result<bool, Error> {
    Ok(elements >= 2 * WIDE_EXTENT || sizes.shape(shape)?.iter().any(|&extent| extent >= WIDE_EXTENT))
}
