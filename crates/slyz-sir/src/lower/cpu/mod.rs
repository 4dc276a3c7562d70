//! Program → kernels for a machine with few, wide cores.
//!
//! A block is a piece of work for one core: a run of elements, a row, or a chunk of a fold. Code of a block is
//! uniform; its parallelism is in `lanes` loops, which the C backend packs into vectors. Blocks never wait for
//! each other, so they may run on any thread in any order, and results do not depend on how many there are.
//!
//! | construct | block | lanes |
//! |---|---|---|
//! | tabulate | 8,192 elements, or as many of one row | positions of the innermost axis |
//! | tabulate whose folds read along their own axis, or whose elements are arrays | one position | the fold's, or the inner array's, positions |
//! | tabulate whose folds have at most 64 elements | 8,192 elements | positions of the innermost axis, with a fold each |
//! | tabulate with reads far apart for neighbouring lanes (transpose) | a tile of 512 × 32 | positions of the innermost axis |
//! | tabulate of folds down columns | a strip of 1,024 columns, accumulators in scratch | columns |
//! | tabulate of sums of products (matrices) | a tile of 252 × 512, factors packed in scratch | columns |
//! | fold | a chunk of 16,384 elements, or one row; then one block over the partial results | positions |
//! | filter | a chunk of 16,384 elements, counted, then written; everything where there is little | positions |
//! | scan of one axis | a chunk of 16,384 elements, folded, then scanned by rows of 16; everything where there is little | a row |
//! | scatter of many values into few places | four runs of turns, with a table each; then one block or more over the places | positions |
//! | scatter many of whose turns send nothing | a chunk of 16,384 turns, to find those that do; then these, one after the other | turns |
//! | sort of which a few first elements are read | 65,536 elements, or a line; then what these found | positions |
//! | sort of one axis | one of 64 runs, counted by digits, then moved; everything where there is little | – |
//! | sort of several axes | one line; everything where there is little | – |
//! | scan of several axes | one line; everything where there is little | – |
//! | other scatters | everything (a plain right form) | – |
//!
//! Scalars at the top level that cost nothing are computed again in every kernel that wants them.
//!
//! What it does not do: fuse (the `fuse` pass has done that).

mod filter;
mod panels;
mod plan;
mod product;
mod scan;
mod scatter;
mod sort;
mod sparse;

pub use panels::{PANEL, Panels, in_panels};
pub use plan::{keeps_order, lower, lower_with};

/// The work of a turn, in additions, that more cores than one are not worth being woken for.
const MOST_IN_ONE_KERNEL: u64 = 1 << 16;
/// Elements of a run of a flat tabulate.
const RUN: u64 = 1 << 13;
/// Elements of a chunk of a fold; part of the canonical order of folds.
const CHUNK: u64 = 1 << 14;
/// Elements of a fold that is short work for one lane; in the canonical order each is an accumulator.
const SHORT: u64 = 1 << 6;
/// Columns of a strip whose accumulators stay in the first-level cache.
const STRIP: u64 = 1 << 10;
/// Rows of a strip that are added one group after the other, and levels of sums of such runs: more than any memory has.
const STRIP_RUN: i64 = 16;
const STRIP_LEVELS: u64 = 40;
/// Rows of a tile: how far its reads run along memory.
const TILE_ROWS: u64 = 512;
/// Columns of a tile: the places in memory that its reads run along at once, few enough for the prefetcher.
const TILE_COLUMNS: u64 = 32;
/// Rows that a strip takes in one pass over its accumulators.
const ROWS_AT_ONCE: i64 = 4;
