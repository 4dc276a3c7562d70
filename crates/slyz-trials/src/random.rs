//! Numbers that a seed stands for.

/// SplitMix64, so that a seed means the same everywhere.
///
/// ```
/// let mut random = slyz_trials::Random(7);
/// assert!((0..100).all(|_| random.below(3) < 3));
/// assert!([2, 5].contains(&random.pick(&[2, 5])));
/// ```
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// One of some values, of which there is at least one.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
