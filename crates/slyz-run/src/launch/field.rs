//! The threads of a launch, in blocks.

use super::Threads;
use crate::Error;
use crate::signature::elements;
use slyz_sir::launch::MOST_THREADS;

/// Threads of a block where nobody says, by the axes that the kernel looks at.
const BLOCKS: [[u32; 3]; 3] = [[256, 1, 1], [16, 16, 1], [8, 8, 4]];

/// What a kernel asks of its threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nature {
    /// It reads where its threads stand in so many dimensions.
    pub(crate) axes: usize,
    /// It is the same whatever the blocks are: its threads neither meet nor know where in a block they are.
    pub(crate) free: bool,
}

/// The threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Threads that were asked for.
    pub(crate) threads: [u64; 3],
    /// Blocks.
    pub(crate) grid: [u64; 3],
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// The caller chose the blocks.
    pub(crate) chosen: bool,
}

impl Field {
    /// Lays out the threads of a launch. `written` is the name and the shape of the first array that the kernel writes.
    pub(crate) fn new(
        kernel: &str,
        nature: Nature,
        threads: Threads,
        written: Option<(&str, &[u64])>,
    ) -> Result<Field, Error> {
        let wrong = |why: String| Error::Threads { kernel: kernel.to_string(), why };
        if let Threads::Blocks { block, .. } | Threads::InBlocks { block, .. } = threads
            && block.contains(&0)
        {
            return Err(wrong(format!(
                "a block of {} has no threads; ask for 1 or more in each dimension",
                list(&block)
            )));
        }
        let field = match threads {
            Threads::Exact(threads) => Field::of_threads(nature, threads),
            Threads::Inferred => Field::of_threads(nature, inferred(nature, written).map_err(wrong)?),
            Threads::InBlocks { threads, block } => Field { threads, grid: [0; 3], block, chosen: true }.laid_out(),
            Threads::Blocks { grid, block } => {
                let product = |d: usize| grid[d].checked_mul(block[d].into());
                let threads = [product(0), product(1), product(2)];
                let [Some(x), Some(y), Some(z)] = threads else { return Err(wrong(too_many(&grid))) };
                Field { threads: [x, y, z], grid, block, chosen: true }
            }
        };
        let counted = elements(&field.threads).is_some_and(|n| n <= i64::MAX as u64);
        if !counted || field.threads.iter().any(|&n| n > MOST_THREADS) {
            return Err(wrong(too_many(&field.threads)));
        }
        if !nature.free && !field.is_whole() {
            return Err(wrong(format!(
                "{} is not a whole number of blocks of {}, and the kernel has barriers, shared memory or reads its place in a \
                 block; say how many blocks of how many threads: `grid` and `block`",
                list(&field.threads),
                list(&field.block)
            )));
        }
        Ok(field)
    }

    fn of_threads(nature: Nature, threads: [u64; 3]) -> Field {
        Field { threads, grid: [0; 3], block: Field::usual_block(nature), chosen: false }.laid_out()
    }

    /// Threads of a block where nobody says.
    pub(crate) fn usual_block(nature: Nature) -> [u32; 3] {
        BLOCKS[nature.axes.clamp(1, 3) - 1]
    }

    fn laid_out(mut self) -> Field {
        self.grid = std::array::from_fn(|d| self.threads[d].div_ceil(self.block[d].into()));
        self
    }

    /// The same threads in other blocks.
    pub(crate) fn with_block(self, block: [u32; 3]) -> Field {
        Field { block, ..self }.laid_out()
    }

    /// Is every thread of every block one that was asked for?
    pub(crate) fn is_whole(&self) -> bool {
        (0..3).all(|d| self.grid[d].checked_mul(self.block[d].into()) == Some(self.threads[d]))
    }

    /// Is there nothing to run?
    pub(crate) fn is_empty(&self) -> bool {
        self.threads.contains(&0)
    }

    /// Threads of a block.
    pub(crate) fn block_threads(&self) -> u64 {
        elements(&self.block.map(u64::from)).unwrap_or(u64::MAX)
    }

    /// Checks that a device has blocks of so many threads, each dimension and all together.
    pub(crate) fn check_block(&self, kernel: &str, most: [u32; 3], together: u32) -> Result<(), Error> {
        let fits = (0..3).all(|d| self.block[d] <= most[d]) && self.block_threads() <= u64::from(together);
        if fits {
            return Ok(());
        }
        Err(Error::TooLarge {
            what: format!("the block {} of kernel `{kernel}`", list(&self.block)),
            why: format!("a block has at most {together} threads here, and no more than {} in x, y, z", list(&most)),
        })
    }
}

/// The threads of a launch that does not say: the elements of what is written.
fn inferred(nature: Nature, written: Option<(&str, &[u64])>) -> Result<[u64; 3], String> {
    if !nature.free {
        return Err("the kernel has barriers, shared memory or reads its place in a block, so nobody can guess them; say how many \
                    blocks of how many threads: `grid` and `block`"
            .to_string());
    }
    let Some((name, shape)) = written else {
        return Err("the kernel writes to no tensor, so nothing tells how many; say it with `threads`".to_string());
    };
    let too_many = || too_many(shape);
    match (nature.axes, shape) {
        // Whoever does not look where it stands does one thing.
        (0, _) => Ok([1, 1, 1]),
        (1, shape) => Ok([elements(shape).ok_or_else(too_many)?, 1, 1]),
        (2, &[y, x]) => Ok([x, y, 1]),
        (3, &[z, y, x]) => Ok([x, y, z]),
        (axes, shape) => Err(format!(
            "the kernel reads {axes} coordinates, and `{name}`, which it writes, has the shape {}; say how many threads: `threads` with \
             {axes} numbers, or `grid` and `block`",
            list(shape)
        )),
    }
}

fn too_many(numbers: &[u64]) -> String {
    format!("{} are more than 2^48 in one dimension, or 2^63 - 1 together; ask for fewer", list(numbers))
}

fn list<T: std::fmt::Display>(numbers: &[T]) -> String {
    format!("({})", numbers.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(axes: usize, free: bool, threads: Threads, shape: &[u64]) -> Result<Field, String> {
        Field::new("k", Nature { axes, free }, threads, Some(("out", shape))).map_err(|error| error.to_string())
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
        assert!(threads(2, &[15]).unwrap_err().contains("`threads` with 2 numbers"));
        assert!(threads(1, &[1 << 40, 1 << 40]).unwrap_err().contains("2^63"));
    }

    #[test]
    fn blocks() {
        let five = field(1, true, Threads::Exact([5, 1, 1]), &[]).unwrap();
        assert_eq!((five.grid, five.block, five.is_whole()), ([1, 1, 1], [256, 1, 1], false));
        assert!(field(1, false, Threads::Exact([512, 1, 1]), &[]).unwrap().is_whole());
        let part = field(1, false, Threads::Exact([500, 1, 1]), &[]).unwrap_err();
        assert!(part.contains("`grid` and `block`"), "{part}");
        let chosen = |grid, block| field(2, false, Threads::Blocks { grid, block }, &[]);
        assert_eq!(chosen([2, 3, 1], [16, 8, 1]).unwrap().threads, [32, 24, 1]);
        assert!(chosen([0, 1, 1], [16, 8, 1]).unwrap().is_empty());
        assert!(chosen([1, 1, 1], [16, 0, 1]).is_err());
        assert!(chosen([1 << 62, 1, 1], [16, 1, 1]).is_err());
        assert!(chosen([1 << 40, 1 << 40, 1], [1, 1, 1]).is_err());
    }

    #[test]
    fn limits_of_devices() {
        let field = field(1, true, Threads::Blocks { grid: [1, 1, 1], block: [32, 32, 2] }, &[]).unwrap();
        assert!(field.check_block("k", [1024, 1024, 64], 2048).is_ok());
        assert!(field.check_block("k", [1024, 1024, 64], 1024).unwrap_err().to_string().contains("1024 threads here"));
        assert!(field.check_block("k", [1024, 1024, 1], 2048).is_err());
    }
}
