//! Views, partitions and tiled reductions.
//!
//! A [`TensorView`] is a shape with strides: a description, or the elements of a [`Tensor`](crate::Tensor) seen in another way, which nothing
//! is copied for. Every compiled function takes it for an array; the strides are arguments of its kernels. A [`PartitionView`] is a view in tiles.
//!
//! ```
//! use slyz::prelude::*;
//! use slyz::views::*;
//! axis!(N, M);
//! let x = Tensor::<f32, (N, M)>::from_vec([4, 4], (0..16).map(|k| k as f32).collect())?;
//! let sum = compile(|x: Arr<f32, (N, M)>| x.sum())?;
//! let corner = x.view::<2>()?.slice(0, 0..2)?.slice(1, 2..4)?;
//! assert_eq!(sum.call(&corner)?.value()?, 2.0 + 3.0 + 6.0 + 7.0);
//! assert_eq!(tiled_sum_2d(&x.to_vec()?, 4, 4), 120.0);
//! # Ok::<(), slyz::Error>(())
//! ```

mod partition;
mod reduce;
mod tiled;
mod view;

pub use crate::geometry::MemoryLayout;
pub use crate::view_error::ViewError;
pub use partition::{PartitionView, TileInfo};
pub use reduce::{
    MaxOp, MinOp, ReduceOp, SumOp, TILE_SIZE, tiled_max_2d, tiled_min_2d, tiled_reduce_2d, tiled_sum_2d,
    try_tiled_max_2d, try_tiled_min_2d, try_tiled_reduce_2d, try_tiled_sum_2d,
};
pub use tiled::{Strategy, reduce_2d_by, tiled_source};
pub use view::{TensorView, TensorViewMut};
