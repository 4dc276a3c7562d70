//! What is known about the positions in a tensor.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// For each leaf of a tensor a number that all its positions are below. Looking at positions takes time; what was seen is
/// remembered with the tensor, and holds as long as nobody writes to it.
#[derive(Default)]
pub(crate) struct Below(OnceLock<Box<[AtomicU64]>>);

impl Below {
    /// Of no leaf.
    pub(crate) const fn nothing() -> Below {
        Below(OnceLock::new())
    }

    /// Of each leaf, or of none.
    pub(crate) fn new(bounds: Vec<u64>) -> Below {
        let below = Below::default();
        if !bounds.is_empty() {
            below.0.get_or_init(|| bounds.into_iter().map(AtomicU64::new).collect());
        }
        below
    }

    /// The bound of a leaf; the largest number where nothing is known.
    fn of(&self, leaf: usize) -> u64 {
        let bound = self.0.get().and_then(|bounds| bounds.get(leaf));
        bound.map_or(u64::MAX, |bound| bound.load(Ordering::Relaxed))
    }
}

impl Clone for Below {
    fn clone(&self) -> Below {
        let bounds = self.0.get().map_or(&[][..], |bounds| bounds);
        Below::new(bounds.iter().map(|bound| bound.load(Ordering::Relaxed)).collect())
    }
}

/// What is known about one leaf of several.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) below: &'a Below,
    pub(crate) leaf: usize,
    pub(crate) leaves: usize,
}

impl Known<'_> {
    /// Its positions are below that.
    pub(crate) fn bound(&self) -> u64 {
        self.below.of(self.leaf)
    }

    /// They were seen to be below this.
    pub(crate) fn learn(&self, bound: u64) {
        let unknown = || (0..self.leaves).map(|_| AtomicU64::new(u64::MAX)).collect();
        if let Some(known) = self.below.0.get_or_init(unknown).get(self.leaf) {
            known.fetch_min(bound, Ordering::Relaxed);
        }
    }
}

/// The first of these positions that is not below the extent, and where it stands.
pub(crate) fn first_outside(positions: &[u8], extent: u64) -> Option<(usize, u64)> {
    const AT_ONCE: usize = 1 << 12;
    const WORD: usize = size_of::<u64>();
    let word = |bytes: &[u8]| bytes.try_into().map_or(u64::MAX, u64::from_ne_bytes);
    let place = positions.chunks(AT_ONCE * WORD).position(|chunk| {
        // A number is outside where it or its distance from the last inside has its highest bit: vectors need no comparison for that.
        // Extents are numbers of elements, which have none.
        let last = extent.wrapping_sub(1);
        let outside = chunk.chunks_exact(WORD).map(word).fold(0, |all, p| all | p | last.wrapping_sub(p));
        extent == 0 || outside >> 63 == 1
    })?;
    let first = place * AT_ONCE;
    let mut rest = positions[first * WORD..].chunks_exact(WORD).map(word).enumerate();
    rest.find(|(_, p)| *p >= extent).map(|(k, p)| (first + k, p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_outside() {
        let bytes = |positions: &[u64]| positions.iter().flat_map(|p| p.to_ne_bytes()).collect::<Vec<u8>>();
        let mut many: Vec<u64> = (0..10_000).map(|k| k % 7).collect();
        assert_eq!(first_outside(&bytes(&many), 7), None);
        assert_eq!(first_outside(&bytes(&many), 6), Some((6, 6)));
        for wrong in [7, 8, 1 << 40, 1 << 63, u64::MAX, (1 << 63) + 3] {
            many[8_191] = wrong;
            assert_eq!(first_outside(&bytes(&many), 7), Some((8_191, wrong)));
        }
        assert_eq!(first_outside(&bytes(&[0]), 0), Some((0, 0)));
        assert_eq!(first_outside(&[], 0), None);
    }

    #[test]
    fn what_was_seen_is_kept() {
        let below = Below::default();
        let known = Known { below: &below, leaf: 1, leaves: 2 };
        assert_eq!(known.bound(), u64::MAX);
        known.learn(9);
        known.learn(12);
        assert_eq!(known.bound(), 9);
        assert_eq!(Known { leaf: 0, ..known }.bound(), u64::MAX);
        assert_eq!(Known { below: &below.clone(), ..known }.bound(), 9);
    }
}
