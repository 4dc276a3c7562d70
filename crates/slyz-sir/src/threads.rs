//! The threads of a launch: how many are asked for, and how they are laid out in blocks.
//!
//! One layout serves devices and the interpreter of the language; what a device cannot do is checked there.

use crate::launch::{MOST_THREADS, Template};

/// Threads of a block where nobody says, by the axes that the kernel looks at.
const BLOCKS: [[u32; 3]; 3] = [[256, 1, 1], [16, 16, 1], [8, 8, 4]];

/// How many threads a launch has, in x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// So many; the device lays them out in blocks.
    Exact([u64; 3]),
    /// So many, in blocks of that size; the last ones may be cut short.
    InBlocks {
        /// Threads.
        threads: [u64; 3],
        /// Threads of a block.
        block: [u32; 3],
    },
    /// Whole blocks.
    Blocks {
        /// Blocks.
        grid: [u64; 3],
        /// Threads of a block.
        block: [u32; 3],
    },
    /// One for each element of the first array that is written.
    Inferred,
}

/// What a kernel asks of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// It reads where its threads stand in so many dimensions.
    pub axes: usize,
    /// It is the same whatever the blocks are: its threads neither meet nor know where in a block they are.
    pub free: bool,
}

/// The threads of a launch, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Threads that were asked for.
    pub threads: [u64; 3],
    /// Blocks.
    pub grid: [u64; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The caller chose the blocks.
    pub chosen: bool,
}

/// Why threads cannot be laid out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unlaid {
    /// Nobody said how many, and blocks mean something to the kernel.
    #[error(
        "kernel `{kernel}` works in blocks of threads, so nobody can guess how many; say `grid: (..), block: (..)` at the launch"
    )]
    Blocks {
        /// Its name.
        kernel: String,
    },
    /// Nobody said how many, and there is no tensor whose elements could be counted.
    #[error("kernel `{kernel}` writes no tensor whose elements could be counted; say `threads: ..` at the launch")]
    Nothing {
        /// Its name.
        kernel: String,
    },
    /// Nobody said how many, and the axes of the tensor are not the axes of the threads.
    #[error(
        "kernel `{kernel}` reads {} of its thread, but `{memory}` has {} axes; say `threads: ({})` at the launch",
        ["x", "x and y", "x, y and z"][(*axes).clamp(1, 3) - 1], shape.len(), ["X", "X, Y", "X, Y, Z"][(*axes).clamp(1, 3) - 1]
    )]
    Axes {
        /// Its name.
        kernel: String,
        /// The first tensor that it writes.
        memory: String,
        /// Its extents.
        shape: Vec<u64>,
        /// The number of axes of threads that the kernel reads.
        axes: usize,
    },
    /// More threads than an index counts.
    #[error("kernel `{kernel}`: more threads than can be counted; launch fewer")]
    TooMany {
        /// Its name.
        kernel: String,
        /// In each dimension, of what was asked for.
        numbers: Vec<u64>,
    },
    /// A block without threads.
    #[error("kernel `{kernel}`: a block of {block:?} has no threads; ask for 1 or more in each dimension")]
    EmptyBlock {
        /// Its name.
        kernel: String,
        /// Threads of a block.
        block: [u32; 3],
    },
    /// The last blocks would be cut short, and blocks mean something to the kernel.
    #[error(
        "kernel `{kernel}` works in blocks, and {threads:?} threads are no whole blocks of {block:?}; say `grid: (..), block: (..)`"
    )]
    Part {
        /// Its name.
        kernel: String,
        /// Threads.
        threads: [u64; 3],
        /// Threads of a block.
        block: [u32; 3],
    },
}

impl Template {
    /// What it asks of its threads.
    pub fn nature(&self) -> Nature {
        Nature { axes: self.axes(), free: !self.meets() && !self.sees_blocks() }
    }
}

impl Field {
    /// Lays out the threads of a launch. `written` is the name and the shape of the first array that the kernel writes: threads that
    /// nobody asked for are one for every element of it, or one for every position of its axes, the last of them x.
    ///
    /// ```
    /// use slyz_sir::threads::{Field, Nature, Threads};
    /// let nature = Nature { axes: 2, free: true };
    /// let field = Field::new("k", nature, Threads::Inferred, Some(("out", &[20, 30])))?;
    /// assert_eq!((field.threads, field.grid, field.block), ([30, 20, 1], [2, 2, 1], [16, 16, 1]));
    /// # Ok::<(), slyz_sir::threads::Unlaid>(())
    /// ```
    pub fn new(
        kernel: &str,
        nature: Nature,
        threads: Threads,
        written: Option<(&str, &[u64])>,
    ) -> Result<Field, Unlaid> {
        if let Threads::Blocks { block, .. } | Threads::InBlocks { block, .. } = threads
            && block.contains(&0)
        {
            return Err(Unlaid::EmptyBlock { kernel: kernel.to_string(), block });
        }
        let too_many = |numbers: &[u64]| Unlaid::TooMany { kernel: kernel.to_string(), numbers: numbers.to_vec() };
        let field = match threads {
            Threads::Exact(threads) => Field::of_threads(nature, threads),
            Threads::Inferred => Field::of_threads(nature, inferred(kernel, nature, written)?),
            Threads::InBlocks { threads, block } => Field { threads, grid: [0; 3], block, chosen: true }.laid_out(),
            Threads::Blocks { grid, block } => {
                let product = |d: usize| grid[d].checked_mul(block[d].into());
                let [Some(x), Some(y), Some(z)] = [product(0), product(1), product(2)] else {
                    return Err(too_many(&grid));
                };
                Field { threads: [x, y, z], grid, block, chosen: true }
            }
        };
        let counted = elements(&field.threads).is_some_and(|n| n <= i64::MAX as u64);
        if !counted || field.threads.iter().any(|&n| n > MOST_THREADS) {
            return Err(too_many(&field.threads));
        }
        if !nature.free && !field.is_whole() {
            let kernel = kernel.to_string();
            let threads = field.threads;
            let block = field.block;
            return Err(Unlaid::Part { kernel, threads, block });
        }
        Ok(field)
    }

    fn of_threads(nature: Nature, threads: [u64; 3]) -> Field {
        Field { threads, grid: [0; 3], block: Field::usual_block(nature), chosen: false }.laid_out()
    }

    /// Threads of a block where nobody says.
    pub fn usual_block(nature: Nature) -> [u32; 3] {
        BLOCKS[nature.axes.clamp(1, 3) - 1]
    }

    fn laid_out(mut self) -> Field {
        self.grid = std::array::from_fn(|d| self.threads[d].div_ceil(self.block[d].into()));
        self
    }

    /// The same threads in other blocks.
    pub fn with_block(self, block: [u32; 3]) -> Field {
        Field { block, ..self }.laid_out()
    }

    /// Is every thread of every block one that was asked for?
    pub fn is_whole(&self) -> bool {
        (0..3).all(|d| self.grid[d].checked_mul(self.block[d].into()) == Some(self.threads[d]))
    }

    /// Is there nothing to run?
    pub fn is_empty(&self) -> bool {
        self.threads.contains(&0)
    }

    /// Threads of a block.
    pub fn block_threads(&self) -> u64 {
        elements(&self.block.map(u64::from)).unwrap_or(u64::MAX)
    }
}

/// The number of elements of a shape, unless it is past `u64`.
pub fn elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)) }
}

/// The threads of a launch that does not say.
fn inferred(kernel: &str, nature: Nature, written: Option<(&str, &[u64])>) -> Result<[u64; 3], Unlaid> {
    let kernel = || kernel.to_string();
    if !nature.free {
        return Err(Unlaid::Blocks { kernel: kernel() });
    }
    // Whoever does not look where it stands does one thing.
    if nature.axes == 0 {
        return Ok([1; 3]);
    }
    let Some((name, shape)) = written else { return Err(Unlaid::Nothing { kernel: kernel() }) };
    match (nature.axes, shape) {
        (1, shape) => {
            let numbers = || shape.to_vec();
            let count = elements(shape).ok_or_else(|| Unlaid::TooMany { kernel: kernel(), numbers: numbers() })?;
            Ok([count, 1, 1])
        }
        (2, &[y, x]) => Ok([x, y, 1]),
        (3, &[z, y, x]) => Ok([x, y, z]),
        (axes, shape) => {
            let memory = name.to_string();
            let shape = shape.to_vec();
            Err(Unlaid::Axes { kernel: kernel(), memory, shape, axes })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(axes: usize, free: bool, threads: Threads, shape: &[u64]) -> Result<Field, Unlaid> {
        Field::new("k", Nature { axes, free }, threads, Some(("out", shape)))
    }

    #[test]
    fn threads_that_nobody_asked_for() {
        let threads = |axes, shape: &[u64]| field(axes, true, Threads::Inferred, shape).map(|field| field.threads);
        assert_eq!(threads(0, &[5]), Ok([1, 1, 1]));
        assert_eq!(threads(1, &[5]), Ok([5, 1, 1]));
        assert_eq!(threads(1, &[5, 3]), Ok([15, 1, 1]));
        assert_eq!(threads(1, &[5, 0]), Ok([0, 1, 1]));
        assert_eq!(threads(2, &[5, 3]), Ok([3, 5, 1]));
        assert_eq!(threads(3, &[5, 3, 2]), Ok([2, 3, 5]));
        assert!(matches!(threads(2, &[15]), Err(Unlaid::Axes { axes: 2, .. })));
        assert!(matches!(threads(1, &[1 << 40, 1 << 40]), Err(Unlaid::TooMany { .. })));
        assert!(matches!(field(1, false, Threads::Inferred, &[5]), Err(Unlaid::Blocks { .. })));
        let nothing = Field::new("k", Nature { axes: 1, free: true }, Threads::Inferred, None);
        assert!(matches!(nothing, Err(Unlaid::Nothing { .. })));
    }

    #[test]
    fn blocks() {
        let five = field(1, true, Threads::Exact([5, 1, 1]), &[]).unwrap();
        assert_eq!((five.grid, five.block, five.is_whole()), ([1, 1, 1], [256, 1, 1], false));
        assert!(field(1, false, Threads::Exact([512, 1, 1]), &[]).unwrap().is_whole());
        assert!(matches!(field(1, false, Threads::Exact([500, 1, 1]), &[]), Err(Unlaid::Part { .. })));
        let chosen = |grid, block| field(2, false, Threads::Blocks { grid, block }, &[]);
        assert_eq!(chosen([2, 3, 1], [16, 8, 1]).unwrap().threads, [32, 24, 1]);
        assert!(chosen([0, 1, 1], [16, 8, 1]).unwrap().is_empty());
        assert!(chosen([1, 1, 1], [16, 0, 1]).is_err());
        assert!(chosen([1 << 62, 1, 1], [16, 1, 1]).is_err());
        assert!(chosen([1 << 40, 1 << 40, 1], [1, 1, 1]).is_err());
    }
}
