//! What is known before the code is looked at: sizes, scalars, and where threads stand.

use super::range::Range;
use crate::code::Place;
use crate::kernel::Kernel;
use crate::launch::{LARGEST_SUBGROUP, LAUNCH_SIZES, MOST_THREADS};
use crate::size::{Size, SizeVar};
use crate::types::Scalar;

/// What is known of a launch: what each size variable and each scalar parameter can be, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The size variables of the kernel, in order.
    pub sizes: Vec<(i128, i128)>,
    /// The parameters of the kernel's body, in order. What is said of floats is not looked at.
    pub scalars: Vec<(i128, i128)>,
    /// What no size that code mentions exceeds, products of axes included.
    most_extent: i128,
    /// What no place of a thread exceeds, and no number of them.
    most_place: i128,
    /// Threads along each axis, where that is not what the blocks have.
    threads: Option<[Size; 3]>,
    /// The blocks in question, where they are not all.
    blocks: Option<[std::ops::Range<u64>; 3]>,
    /// Do conditions say something about the names in them, or only which of their sides is taken?
    pub(super) guards: bool,
}

const UNKNOWN: (i128, i128) = (i128::MIN, i128::MAX);

impl Facts {
    fn new(sizes: Vec<(i128, i128)>, scalars: Vec<(i128, i128)>) -> Facts {
        let most = i64::MAX.into();
        Facts { sizes, scalars, most_extent: most, most_place: most, threads: None, blocks: None, guards: true }
    }

    /// For a launch with these sizes and scalars.
    pub fn exact(sizes: &[u64], scalars: &[Scalar]) -> Facts {
        let size = |&n: &u64| (i128::from(n), i128::from(n));
        let scalar = |s: &Scalar| (s.as_int(), s.as_int());
        Facts::new(sizes.iter().map(size).collect(), scalars.iter().map(scalar).collect())
    }

    /// For any launch of a [template](crate::launch::Template).
    pub fn unknown(kernel: &Kernel) -> Facts {
        let most = |k: usize| if k < LAUNCH_SIZES { MOST_THREADS.into() } else { i64::MAX.into() };
        let sizes = (0..kernel.sizes.len()).map(|k| (0, most(k))).collect();
        Facts::new(sizes, vec![UNKNOWN; kernel.body.params.len()])
    }

    /// For a call with the sizes that are known of it.
    pub(crate) fn of_call(sizes: &[Option<u64>]) -> Facts {
        let size = |n: &Option<u64>| n.map_or((0, i64::MAX.into()), |n| (n.into(), n.into()));
        Facts::new(sizes.iter().map(size).collect(), vec![])
    }

    /// For calls whose axes have at most so many positions.
    pub(crate) fn with_axes(kernel: &Kernel, most: u64) -> Facts {
        Facts::new(vec![(0, most.into()); kernel.sizes.len()], vec![])
    }

    /// No size that code mentions is larger.
    pub(crate) fn with_extents(mut self, most: u64) -> Facts {
        self.most_extent = most.min(i64::MAX as u64).into();
        self
    }

    /// No place of a thread is further.
    pub(crate) fn with_places(mut self, most: u64) -> Facts {
        self.most_place = most.into();
        self
    }

    /// So many threads, whatever the blocks have.
    pub(crate) fn with_threads(mut self, threads: &[Size; 3]) -> Facts {
        self.threads = Some(threads.clone());
        self
    }

    /// In these blocks of the launch alone, and without what conditions say about positions: what comes out of memory stays
    /// anything, however it is tested.
    pub(crate) fn in_blocks(mut self, blocks: &[std::ops::Range<u64>; 3]) -> Facts {
        self.blocks = Some(blocks.clone());
        self.guards = false;
        self
    }

    pub(super) fn scalar(&self, at: usize) -> Range {
        let (lo, hi) = self.scalars.get(at).copied().unwrap_or(UNKNOWN);
        Range::new(lo, hi)
    }

    /// The values of a size that code mentions.
    pub(super) fn extent(&self, size: &Size) -> Range {
        let range = self.size(size);
        match size.constant() {
            Some(_) => range,
            None => Range::new(range.lo.min(self.most_extent), range.hi.min(self.most_extent)),
        }
    }

    /// The values of a size. One past the index type is an error of the launch, so nobody sees it.
    pub(crate) fn size(&self, size: &Size) -> Range {
        let most = i64::MAX.into();
        let range = match size {
            Size::Const(n) => Range::new((*n).into(), (*n).into()),
            Size::Var(SizeVar(v)) => {
                let (lo, hi) = self.sizes.get(*v as usize).copied().unwrap_or((0, most));
                Range::new(lo, hi)
            }
            Size::Add(a, b) => {
                let a = self.size(a);
                let b = self.size(b);
                Range::new(a.lo + b.lo, a.hi + b.hi)
            }
            Size::Mul(a, b) => {
                let a = self.size(a);
                let b = self.size(b);
                Range::new(a.lo.saturating_mul(b.lo), a.hi.saturating_mul(b.hi))
            }
            Size::Min(a, b) => {
                let a = self.size(a);
                let b = self.size(b);
                Range::new(a.lo.min(b.lo), a.hi.min(b.hi))
            }
            Size::CeilDiv(a, n) => {
                let a = self.size(a);
                let n = i128::from((*n).max(1));
                Range::new((a.lo + n - 1) / n, (a.hi + n - 1) / n)
            }
            Size::Tri(a) => {
                let a = self.size(a);
                let cells = |n: i128| n.saturating_mul(n + 1) / 2;
                Range::new(cells(a.lo), cells(a.hi))
            }
        };
        Range::new(range.lo.clamp(0, most), range.hi.clamp(0, most))
    }

    /// Where a thread can stand.
    pub(super) fn place(&self, kernel: &Kernel, place: Place, dimension: u8) -> Range {
        let d = usize::from(dimension).min(2);
        let block = i128::from(kernel.block[d]);
        let below = |n: i128| Range::new(0, (n - 1).max(0));
        let largest = i128::from(LARGEST_SUBGROUP);
        let range = match place {
            Place::Global => match &self.threads {
                Some(threads) => below(self.size(&threads[d]).hi),
                None => {
                    let Range { lo, hi } = self.blocks(kernel, d);
                    Range::new(lo * block, hi * block + (block - 1).max(0))
                }
            },
            Place::Local => return below(block),
            Place::Block => self.blocks(kernel, d),
            Place::BlockDim => return Range::new(block, block),
            Place::GridDim => self.size(&kernel.grid[d]),
            Place::Lane => return below(largest),
            Place::SubgroupSize => return Range::new(1, largest),
        };
        Range::new(range.lo.min(self.most_place), range.hi.min(self.most_place))
    }

    fn blocks(&self, kernel: &Kernel, d: usize) -> Range {
        match &self.blocks {
            Some(blocks) => {
                Range::new(blocks[d].start.into(), (i128::from(blocks[d].end) - 1).max(blocks[d].start.into()))
            }
            None => Range::new(0, (self.size(&kernel.grid[d]).hi - 1).max(0)),
        }
    }
}
