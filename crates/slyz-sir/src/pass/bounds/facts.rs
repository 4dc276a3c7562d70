//! What is known before the code is looked at: sizes, scalars, and where threads stand.

use crate::code::Place;
use crate::kernel::Kernel;
use crate::launch::{LAUNCH_SIZES, MOST_THREADS};
use crate::range::Range;
use crate::size::{Size, SizeVar};
use crate::types::Scalar;

/// What is known of a launch: what each size variable and each scalar parameter can be, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The size variables of the kernel, in order.
    pub sizes: Vec<(i128, i128)>,
    /// The parameters of the kernel's body, in order. What is said of floats is not looked at.
    pub scalars: Vec<(i128, i128)>,
}

impl Facts {
    /// For a launch with these sizes and scalars.
    pub fn exact(sizes: &[u64], scalars: &[Scalar]) -> Facts {
        let size = |&n: &u64| (i128::from(n), i128::from(n));
        let scalar = |s: &Scalar| (s.as_int(), s.as_int());
        Facts { sizes: sizes.iter().map(size).collect(), scalars: scalars.iter().map(scalar).collect() }
    }

    /// For any launch of a [template](crate::launch::Template).
    pub fn unknown(kernel: &Kernel) -> Facts {
        let most = |k: usize| if k < LAUNCH_SIZES { MOST_THREADS.into() } else { i64::MAX.into() };
        Facts {
            sizes: (0..kernel.sizes.len()).map(|k| (0, most(k))).collect(),
            scalars: vec![(i128::MIN, i128::MAX); kernel.body.params.len()],
        }
    }

    pub(super) fn scalar(&self, at: usize) -> Range {
        let (lo, hi) = self.scalars.get(at).copied().unwrap_or((i128::MIN, i128::MAX));
        Range::new(lo, hi)
    }

    /// The values of a size. One past the index type is an error of the launch, so nobody sees it.
    pub(super) fn size(&self, size: &Size) -> Range {
        let most = i64::MAX.into();
        let range = match size {
            Size::Const(n) => Range::new((*n).into(), (*n).into()),
            Size::Var(SizeVar(v)) => {
                let (lo, hi) = self.sizes.get(*v as usize).copied().unwrap_or((0, most));
                Range::new(lo, hi)
            }
            Size::Add(a, b) => {
                let (a, b) = (self.size(a), self.size(b));
                Range::new(a.lo + b.lo, a.hi + b.hi)
            }
            Size::Mul(a, b) => {
                let (a, b) = (self.size(a), self.size(b));
                Range::new(a.lo.saturating_mul(b.lo), a.hi.saturating_mul(b.hi))
            }
            Size::Min(a, b) => {
                let (a, b) = (self.size(a), self.size(b));
                Range::new(a.lo.min(b.lo), a.hi.min(b.hi))
            }
            Size::CeilDiv(a, n) => {
                let (a, n) = (self.size(a), i128::from((*n).max(1)));
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
        let grid = || self.size(&kernel.grid[d]);
        let below = |n: i128| Range::new(0, (n - 1).max(0));
        match place {
            Place::Global => below(grid().hi * block).or_full(),
            Place::Local => below(block),
            Place::Block => below(grid().hi),
            Place::BlockDim => Range::new(block, block),
            Place::GridDim => grid(),
            // No device has larger ones.
            Place::Lane => below(1024),
            Place::SubgroupSize => Range::new(1, 1024),
        }
    }
}
