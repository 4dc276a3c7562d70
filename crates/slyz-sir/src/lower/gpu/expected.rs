//! How large the sizes of a call are about to be, where that decides between strategies.

use crate::size::{Size, SizeVar};

/// Sizes up to each of these are taken for it; larger ones for the last.
const CLASSES: [u64; 13] = [1, 8, 32, 256, 1_024, 4_096, 16_384, 131_072, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28];

/// Sizes that calls are taken to have before there are any.
const AHEAD: [u64; 3] = [8, 1_024, 1 << 20];

/// What the size variables of a program are taken to be. It is never a promise: code that was written for one expectation is
/// right for all sizes, only slower than it could be. Values are classes, so that few plans serve all calls.
///
/// ```
/// use slyz_sir::lower::gpu::Expected;
/// assert_eq!(Expected::of(&[Some(2000), None]), Expected::of(&[Some(4000), None]));
/// assert_ne!(Expected::of(&[Some(10)]), Expected::of(&[Some(10_000_000)]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Expected {
    sizes: Vec<Option<u64>>,
}

impl Expected {
    /// From the sizes of a call, `None` for those that are not known yet.
    pub fn of(sizes: &[Option<u64>]) -> Expected {
        let class = |n: u64| CLASSES.into_iter().find(|&most| n <= most).unwrap_or(CLASSES[CLASSES.len() - 1]);
        Expected { sizes: sizes.iter().map(|size| size.map(class)).collect() }
    }

    /// For code that is made ahead of the calls of a program with so many size variables: nothing, and that all of them are about as large as one
    /// of a few numbers.
    pub fn ahead(sizes: usize) -> Vec<Expected> {
        let about = |size: u64| Expected::of(&vec![Some(size); sizes]);
        [Expected::default()].into_iter().chain(AHEAD.map(about)).collect()
    }

    /// About how large the size is, if anything is known: the largest of its class.
    pub(crate) fn about(&self, size: &Size) -> Option<u64> {
        size.eval(&|var| self.of_var(var)).ok()
    }

    /// The smallest of its class.
    pub(crate) fn at_least(&self, size: &Size) -> Option<u64> {
        let smallest = |class: u64| CLASSES.into_iter().rev().find(|&below| below < class).map_or(1, |below| below + 1);
        size.eval(&|var| self.of_var(var).map(smallest)).ok()
    }

    fn of_var(&self, SizeVar(k): SizeVar) -> Option<u64> {
        self.sizes.get(k as usize).copied().flatten()
    }
}
