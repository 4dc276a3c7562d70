//! Program → kernels for a machine of many threads: SIMT code and a plan of launches, for every GPU device.
//!
//! | construct | block | thread |
//! |---|---|---|
//! | tabulate | 256 threads: 256, 32 × 8, or what fits the shape | one position; the innermost axis is x, then y, the others together z |
//! | tabulate with a short body, on machines that like wide accesses | 256 threads | four neighbours by wide accesses or, where reads are not at the position itself, four positions that are far apart |
//! | tabulate that reads across the order in which it writes (transpose) | a square of 32 × 32 positions, of large arrays 64 × 64, what is read in shared memory | 4 or 16 positions |
//! | tabulate of folds of rows with columns (products of matrices) | 64 × 64 positions, or 128 × 128 of many, slabs of up to 16 turns in shared memory | 4 × 4 or 8 × 8 positions |
//! | the same of halves, where subgroups multiply fragments of matrices (`fragments`) | 128 × 128 positions, or 64 × 64 of few, two slabs of 16 words in shared memory | eight by eight, held as fragments |
//! | tabulate whose folds read along their own axis, or whose elements are arrays | one position | every 256th turn of the fold, or element of the inner array |
//! | fold, whole, or along axes inside of a tabulate, on those machines | what `folds` chooses for about these sizes, perhaps in two launches | several elements at a time, every so-many-th |
//! | fold, whole, on other machines or where the order counts | 16,384 elements; then one block over the partial results | every 256th element, or neighbours |
//! | scan, filter | 16,384 elements of a line, tile by tile, or a whole line; before that, what comes before each chunk | some neighbours in each row of a tile |
//! | the same of one long line, where blocks may wait for others | a tile, that asks those before it | some neighbours in each row of it |
//! | scatter by an operator on integers that has an atomic | 256 positions | one position |
//! | the same of many positions into few places | a table in shared memory, for a run of positions | some neighbours at a time |
//! | other scatters of many values | a sort by places, a scan, and for each place a search (`sends`) | |
//! | other scatters of few values | one, of one thread | everything, in order |
//! | sort of lines that fit a tile | one line | 8 or 16 neighbouring elements |
//! | sort of longer lines, by digits | a tile of 2,048 or 4,096 elements: counted, then moved | 8 or 16 neighbouring elements |
//! | sort of one long line, where blocks may wait for others | all digits counted; then, for each, a tile of 8,192 that asks those before it | 32 elements, by subgroups |
//! | scalars that a fold is part of | one | the fold's turns |
//!
//! Block-wide work is written as `lanes` and scratch memory, as for the CPU; the pass `spread` then turns it into code for
//! one thread. Grids keep the machine's limits: where sizes that are known at the call only might exceed one, blocks loop
//! over what is left. A grid may have no blocks at all (an empty array); such a launch is to be skipped.
//!
//! What it does not do: fuse (the `fuse` pass has done that).

mod across;
mod apart;
mod expected;
mod folds;
mod fragments;
mod handed;
mod lane_tables;
mod lines;
mod machine;
mod maps;
mod plan;
mod prefix;
mod product;
mod reach;
mod scatter;
mod sends;
mod sort;
mod tables;
mod tally;
mod teams;
mod threads;
mod tiles;
mod turn;
mod window;

pub use expected::Expected;
pub use machine::{MOST_SHARED, Machine};
pub use plan::{lower, lower_for, lower_with};
pub use window::{Limits, Piece, Scattered, Windowed};

/// Turns of one thread of a block that folds a chunk.
const TURNS: u64 = 64;
/// The most blocks that have memory of their own in a global buffer.
const SPILLING_BLOCKS: u64 = 512;
/// Turns that a thread makes in a fold rather than to hand them to a block.
const FEW_TURNS: u64 = 32;
