//! Inputs, the same in every run, in memory as good as it gets: on a page, huge pages where the system gives them.

use crate::native::Native;
use std::ops::{Deref, DerefMut};

/// Huge pages start here.
const ALIGN: usize = 2 << 20;

/// Numbers in memory that starts on a huge page.
pub struct Slab {
    memory: Vec<f32>,
    start: usize,
    len: usize,
}

impl Slab {
    /// Zeros, every page touched.
    pub fn zeros(native: &Native, len: usize) -> Slab {
        Slab::tabulate(native, len, |_| 0.0)
    }

    /// `f` of each position.
    pub fn tabulate(native: &Native, len: usize, mut f: impl FnMut(usize) -> f32) -> Slab {
        let mut memory: Vec<f32> = Vec::with_capacity(len + ALIGN / size_of::<f32>());
        native.ask_for_huge_pages(&mut memory);
        let start = memory.as_ptr().align_offset(ALIGN).min(ALIGN / size_of::<f32>());
        memory.resize(start, 0.0);
        memory.extend((0..len).map(&mut f));
        Slab { memory, start, len }
    }

    /// Numbers between `low` and `high`, which look random and are not.
    pub fn random(native: &Native, len: usize, low: f32, high: f32, seed: u32) -> Slab {
        let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
        Slab::tabulate(native, len, |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            low + (high - low) * ((state >> 8) as f32 / (1 << 24) as f32)
        })
    }
}

impl Deref for Slab {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for Slab {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.start..self.start + self.len]
    }
}
