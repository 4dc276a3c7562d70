//! Partitions: a view in tiles, those at the far edges smaller, with as much of their neighbours as is asked for.

use super::view::TensorView;
use crate::geometry::elements;
use crate::view_error::ViewError;
use std::fmt;
use std::ops::Range;

/// A view in tiles. With a halo each tile also sees some positions of its neighbours.
///
/// ```
/// use slyz::views::*;
/// let tensor: TensorView<f32> = TensorView::new([100, 100, 1, 1]);
/// let partition: PartitionView<f32> = PartitionView::new(tensor, [16, 16, 1, 1]);
/// assert_eq!((partition.tile_count(), partition.total_tiles()), ([7, 7, 1, 1], 49));
/// let corner = partition.get_tile([6, 6, 0, 0]).unwrap();
/// assert_eq!((corner.size, corner.is_edge), ([4, 4, 1, 1], true));
/// ```
pub struct PartitionView<'a, T, const R: usize = 4> {
    view: TensorView<'a, T, R>,
    tile: [usize; R],
    halo: [usize; R],
}

impl<T, const R: usize> Clone for PartitionView<'_, T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const R: usize> Copy for PartitionView<'_, T, R> {}

impl<T, const R: usize> fmt::Debug for PartitionView<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("PartitionView")
            .field("view", &self.view)
            .field("tile", &self.tile)
            .field("halo", &self.halo)
            .finish()
    }
}

/// One tile of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TileInfo<const R: usize = 4> {
    /// Which tile, along each axis.
    pub index: [usize; R],
    /// The position of its first element in the view.
    pub start: [usize; R],
    /// Its extents, which are smaller at the far edges.
    pub size: [usize; R],
    /// Is it smaller than the others?
    pub is_edge: bool,
    /// The first position that is seen with the halo, inside of the view.
    pub halo_start: [usize; R],
    /// The extents with the halo, inside of the view.
    pub halo_size: [usize; R],
}

impl<'a, T, const R: usize> PartitionView<'a, T, R> {
    /// The view in tiles of this shape. Where a tile has an extent of 0 there are none; [`PartitionView::try_new`] tells.
    ///
    /// ```
    /// use slyz::views::*;
    /// let partition = PartitionView::new(TensorView::new([64, 64, 1, 1]), [16, 16, 1, 1]);
    /// assert_eq!(partition.tile_count(), [4, 4, 1, 1]);
    /// assert_eq!(PartitionView::new(TensorView::new([8]), [0]).total_tiles(), 0);
    /// ```
    pub fn new(view: TensorView<'a, T, R>, tile: [usize; R]) -> Self {
        PartitionView { view, tile, halo: [0; R] }
    }

    /// The view in tiles of this shape.
    ///
    /// ```
    /// use slyz::views::*;
    /// assert_eq!(PartitionView::try_new(TensorView::new([8]), [0]).unwrap_err(), ViewError::ZeroTile { axis: 0 });
    /// ```
    pub fn try_new(view: TensorView<'a, T, R>, tile: [usize; R]) -> Result<Self, ViewError> {
        match tile.iter().position(|&extent| extent == 0) {
            Some(axis) => Err(ViewError::ZeroTile { axis }),
            None => Ok(PartitionView::new(view, tile)),
        }
    }

    /// Each tile with so many positions of its neighbours, on both sides of each axis.
    ///
    /// ```
    /// use slyz::views::*;
    /// let tiles = TensorView::new([64]).partition([16])?.with_halo([1]);
    /// let second = tiles.get_tile([1]).unwrap();
    /// assert_eq!((second.halo_start, second.halo_size), ([15], [18]));
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn with_halo(self, halo: [usize; R]) -> Self {
        PartitionView { halo, ..self }
    }

    /// What is in tiles.
    pub fn view(&self) -> &TensorView<'a, T, R> {
        &self.view
    }

    /// The extents of a tile that is not at an edge.
    pub fn tile_shape(&self) -> &[usize; R] {
        &self.tile
    }

    /// How many tiles there are along each axis.
    pub fn tile_count(&self) -> [usize; R] {
        let shape = self.view.shape();
        std::array::from_fn(|axis| match self.tile[axis] {
            0 => 0,
            tile => shape[axis].div_ceil(tile),
        })
    }

    /// How many tiles there are.
    pub fn total_tiles(&self) -> usize {
        elements(&self.tile_count())
    }

    /// A tile; nothing outside.
    pub fn get_tile(&self, index: [usize; R]) -> Option<TileInfo<R>> {
        let count = self.tile_count();
        if index.iter().zip(&count).any(|(at, count)| at >= count) {
            return None;
        }
        let shape = self.view.shape();
        // There is such a tile, so these are inside of the shape.
        let start: [usize; R] = std::array::from_fn(|axis| index[axis] * self.tile[axis]);
        let size: [usize; R] = std::array::from_fn(|axis| self.tile[axis].min(shape[axis] - start[axis]));
        let halo_start: [usize; R] = std::array::from_fn(|axis| start[axis].saturating_sub(self.halo[axis]));
        let halo_size = std::array::from_fn(|axis| {
            let end = (start[axis] + size[axis]).saturating_add(self.halo[axis]).min(shape[axis]);
            end - halo_start[axis]
        });
        Some(TileInfo { index, start, size, is_edge: size != self.tile, halo_start, halo_size })
    }

    /// All tiles, the last axis first. Block `k` of a launch with a block for each tile has the `k`th.
    ///
    /// ```
    /// use slyz::views::*;
    /// let tiles = TensorView::new([5, 5]).partition([4, 4])?;
    /// let sizes: Vec<[usize; 2]> = tiles.tiles().map(|tile| tile.size).collect();
    /// assert_eq!(sizes, [[4, 4], [4, 1], [1, 4], [1, 1]]);
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn tiles(&self) -> impl Iterator<Item = TileInfo<R>> {
        let partition = PartitionView { view: self.view, tile: self.tile, halo: self.halo };
        let count = self.tile_count();
        (0..self.total_tiles()).filter_map(move |number| {
            let mut rest = number;
            let mut index = [0; R];
            for axis in (0..R).rev() {
                index[axis] = rest % count[axis];
                rest /= count[axis];
            }
            partition.get_tile(index)
        })
    }

    /// The elements of a tile with its halo.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let x = Tensor::<i32>::from_vec([5], vec![1, 2, 3, 4, 5])?;
    /// let tiles = x.view::<1>()?.partition([2])?;
    /// assert_eq!(tiles.tile([2])?.to_vec()?, [5]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn tile(&self, index: [usize; R]) -> Result<TensorView<'a, T, R>, ViewError> {
        let Some(tile) = self.get_tile(index) else {
            let count = self.tile_count();
            let axis = index.iter().zip(&count).position(|(at, count)| at >= count).unwrap_or(0);
            let at = index[axis];
            return Err(ViewError::Range { axis, start: at, end: at.saturating_add(1), extent: count[axis] });
        };
        let mut view = self.view;
        for axis in 0..R {
            let start = tile.halo_start[axis];
            let range: Range<usize> = start..start + tile.halo_size[axis];
            view = view.slice(axis, range)?;
        }
        Ok(view)
    }
}
