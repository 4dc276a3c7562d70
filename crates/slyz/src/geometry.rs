//! Where the elements of a view are: an extent and a stride for each axis, an offset, and tiles for those that lie in tiles.

use crate::error::Error;
use crate::view_error::ViewError;
use slyz_run::Buffer;
use std::cmp::Reverse;
use std::ops::Range;

/// The order of elements in memory.
///
/// ```
/// use slyz::views::*;
/// let columns = TensorView::new([4, 4, 1, 1]).with_layout(MemoryLayout::ColumnMajor);
/// assert_eq!(columns.strides(), &[1, 4, 16, 16]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MemoryLayout<const R: usize = 4> {
    /// Row by row: the last axis is the fastest.
    #[default]
    RowMajor,
    /// Column by column: the first axis is the fastest.
    ColumnMajor,
    /// Tile by tile, each row by row; those at the far edges are as large as the others.
    Tiled([usize; R]),
}

/// Where the elements of a view are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Geometry<const R: usize> {
    pub(crate) shape: [usize; R],
    pub(crate) strides: [isize; R],
    /// The place of the first element.
    pub(crate) offset: usize,
    /// The extents of a tile, where it lies in tiles. Strides are those of a row-major array then, and not asked.
    pub(crate) tile: Option<[usize; R]>,
}

/// A number of elements, or the largest number.
pub(crate) fn elements(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |count: usize, &extent| count.saturating_mul(extent))
}

/// The strides of elements that follow one another, the axes from the slowest to the fastest in this order.
fn dense<const R: usize>(shape: &[usize; R], slowest_first: impl DoubleEndedIterator<Item = usize>) -> [isize; R] {
    let mut strides = [0; R];
    let mut next = 1isize;
    for axis in slowest_first.rev() {
        strides[axis] = next;
        next = next.saturating_mul(isize::try_from(shape[axis].max(1)).unwrap_or(isize::MAX));
    }
    strides
}

/// Rank `Q` must be one that follows from rank `R`; a mistake does not compile.
macro_rules! ranks {
    ($holds:expr) => {
        const { assert!($holds, "the view that is asked for has another number of axes") }
    };
}

impl<const R: usize> Geometry<R> {
    pub(crate) fn rows(shape: [usize; R]) -> Geometry<R> {
        Geometry { strides: dense(&shape, 0..R), shape, offset: 0, tile: None }
    }

    pub(crate) fn strided(shape: [usize; R], strides: [isize; R]) -> Geometry<R> {
        Geometry { shape, strides, offset: 0, tile: None }
    }

    pub(crate) fn layout(self, layout: MemoryLayout<R>) -> Geometry<R> {
        let Geometry { shape, offset, .. } = self;
        let rows = dense(&shape, 0..R);
        match layout {
            MemoryLayout::RowMajor => Geometry { strides: rows, tile: None, shape, offset },
            MemoryLayout::ColumnMajor => Geometry { strides: dense(&shape, (0..R).rev()), tile: None, shape, offset },
            MemoryLayout::Tiled(tile) => Geometry { strides: rows, tile: Some(tile), shape, offset },
        }
    }

    pub(crate) fn len(&self) -> usize {
        elements(&self.shape)
    }

    /// Do the elements follow one another in row-major order?
    pub(crate) fn is_contiguous(&self) -> bool {
        self.tile.is_none() && self.is_dense(0..R)
    }

    /// Do the elements follow one another, the axes from the slowest to the fastest in this order? Axes of one position are everywhere.
    fn is_dense(&self, slowest_first: impl DoubleEndedIterator<Item = usize> + Clone) -> bool {
        let dense = dense(&self.shape, slowest_first);
        self.len() == 0 || (0..R).all(|axis| self.shape[axis] == 1 || self.strides[axis] == dense[axis])
    }

    /// The axes from the slowest to the fastest, where the elements follow one another in that order.
    pub(crate) fn dense_order(&self) -> Option<[usize; R]> {
        let mut order: [usize; R] = std::array::from_fn(|axis| axis);
        order.sort_by_key(|&axis| (self.shape[axis] == 1, Reverse(self.strides[axis])));
        (self.tile.is_none() && self.is_dense(order.into_iter())).then_some(order)
    }

    /// The lowest and the highest place of an element.
    pub(crate) fn reach(&self) -> (i128, i128) {
        if let Some(tile) = self.tile {
            let tiles = self.shape.iter().zip(tile).map(|(&extent, tile)| extent.div_ceil(tile.max(1)) as i128);
            let all = tiles.zip(tile).map(|(tiles, tile)| tiles.saturating_mul(tile as i128));
            let count = all.fold(1i128, i128::saturating_mul);
            return (self.offset as i128, (self.offset as i128).saturating_add(count - 1));
        }
        let mut lowest = self.offset as i128;
        let mut highest = lowest;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let far = (extent as i128 - 1).saturating_mul(stride as i128);
            if far < 0 {
                lowest = lowest.saturating_add(far);
            } else {
                highest = highest.saturating_add(far);
            }
        }
        (lowest, highest)
    }

    /// The same, if all its elements are among the first `len` of a memory.
    pub(crate) fn within(self, len: usize) -> Result<Geometry<R>, ViewError> {
        if self.tile.is_some_and(|tile| tile.contains(&0)) {
            let axis = self.tile.iter().flatten().position(|&extent| extent == 0).unwrap_or(0);
            return Err(ViewError::ZeroTile { axis });
        }
        if self.len() == 0 {
            return Ok(self);
        }
        if self.len() == usize::MAX {
            return Err(ViewError::TooLarge { shape: self.shape.to_vec() });
        }
        let (first, last) = self.reach();
        if first < 0 || last >= len as i128 {
            return Err(ViewError::Outside { first, last, len });
        }
        Ok(self)
    }

    /// The same, if no two positions have the same place. Every array that a slice, a permutation or a reversal of rows makes passes; so do
    /// all others in which each axis steps over what the faster ones fill.
    pub(crate) fn without_overlap(self) -> Result<Geometry<R>, ViewError> {
        let mut axes: Vec<(usize, i128)> = (0..R)
            .filter(|&axis| self.shape[axis] > 1)
            .map(|axis| (self.shape[axis], (self.strides[axis] as i128).abs()))
            .collect();
        axes.sort_by_key(|&(_, stride)| stride);
        let mut filled = 0i128;
        for (extent, stride) in axes {
            if stride <= filled && self.len() > 0 {
                return Err(ViewError::Overlap { shape: self.shape.to_vec(), strides: self.strides.to_vec() });
            }
            filled = filled.saturating_add((extent as i128 - 1).saturating_mul(stride));
        }
        Ok(self)
    }

    fn axis(&self, axis: usize) -> Result<usize, ViewError> {
        if axis < R { Ok(axis) } else { Err(ViewError::Axis { axis, rank: R }) }
    }

    /// Nothing that lies in tiles has a stride to change.
    fn untiled(&self) -> Result<(), ViewError> {
        if self.tile.is_none() { Ok(()) } else { Err(ViewError::Tiled) }
    }

    /// The place some steps along an axis.
    fn moved(&self, axis: usize, steps: usize) -> usize {
        // Inside of what was checked to be countable, or a description, whose places nobody reads.
        self.offset
            .saturating_add_signed(self.strides[axis].saturating_mul(isize::try_from(steps).unwrap_or(isize::MAX)))
    }

    pub(crate) fn slice(mut self, axis: usize, Range { start, end }: Range<usize>) -> Result<Self, ViewError> {
        self.untiled()?;
        let extent = self.shape[self.axis(axis)?];
        if start > end || end > extent {
            return Err(ViewError::Range { axis, start, end, extent });
        }
        if start < extent {
            self.offset = self.moved(axis, start);
        }
        self.shape[axis] = end - start;
        Ok(self)
    }

    /// Each `step`th position of an axis, from the first one on; from the last one backwards where it is negative.
    pub(crate) fn step(mut self, axis: usize, step: isize) -> Result<Self, ViewError> {
        self.untiled()?;
        let extent = self.shape[self.axis(axis)?];
        if step == 0 {
            return Err(ViewError::ZeroStep { axis });
        }
        if step < 0 && extent > 0 {
            self.offset = self.moved(axis, extent - 1);
        }
        self.shape[axis] = extent.div_ceil(step.unsigned_abs());
        self.strides[axis] = self.strides[axis].saturating_mul(step);
        Ok(self)
    }

    pub(crate) fn transpose(self, a: usize, b: usize) -> Result<Self, ViewError> {
        let mut order: [usize; R] = std::array::from_fn(|axis| axis);
        order.swap(self.axis(a)?, self.axis(b)?);
        self.permute(order)
    }

    pub(crate) fn permute(self, order: [usize; R]) -> Result<Self, ViewError> {
        self.untiled()?;
        let mut sorted = order;
        sorted.sort_unstable();
        if sorted.iter().enumerate().any(|(place, &axis)| place != axis) {
            return Err(ViewError::Order { order: order.to_vec() });
        }
        let shape = order.map(|axis| self.shape[axis]);
        let strides = order.map(|axis| self.strides[axis]);
        Ok(Geometry { shape, strides, ..self })
    }

    pub(crate) fn broadcast<const Q: usize>(self, to: [usize; Q]) -> Result<Geometry<Q>, ViewError> {
        ranks!(Q >= R);
        self.untiled()?;
        let mut strides = [0; Q];
        for axis in 0..R {
            let place = Q - R + axis;
            if self.shape[axis] == to[place] {
                strides[place] = self.strides[axis];
            } else if self.shape[axis] != 1 {
                return Err(ViewError::Broadcast { from: self.shape.to_vec(), to: to.to_vec() });
            }
        }
        Ok(Geometry { shape: to, strides, offset: self.offset, tile: None })
    }

    /// The same elements in the same order under another shape, if strides can say where they are.
    pub(crate) fn reshape<const Q: usize>(self, to: [usize; Q]) -> Result<Geometry<Q>, ViewError> {
        self.untiled()?;
        let wrong = |why: &str| {
            let (from, strides) = (self.shape.to_vec(), self.strides.to_vec());
            Err(ViewError::Reshape { from, strides, to: to.to_vec(), why: why.to_string() })
        };
        if self.len() == usize::MAX {
            return Err(ViewError::TooLarge { shape: self.shape.to_vec() });
        }
        if elements(&to) != self.len() {
            return wrong("they have different numbers of elements");
        }
        if self.len() == 0 {
            return Ok(Geometry { offset: self.offset, ..Geometry::rows(to) });
        }
        // Axes that follow one another as one: the extent, and the stride of its last part.
        let mut runs: Vec<(usize, isize)> = vec![];
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).filter(|&(&extent, _)| extent != 1) {
            match runs.last_mut() {
                Some((run, last)) if *last == stride.saturating_mul(extent as isize) => {
                    *run *= extent;
                    *last = stride;
                }
                _ => runs.push((extent, stride)),
            }
        }
        // Each run is cut into new axes, fastest first.
        let mut strides = [0; Q];
        let mut run = runs.pop();
        for axis in (0..Q).rev().filter(|&axis| to[axis] != 1) {
            let Some((left, stride)) = run else { return wrong("they have different numbers of elements") };
            if left % to[axis] != 0 {
                return wrong(
                    "an axis of the new shape goes across elements that do not follow one another; copy it first",
                );
            }
            strides[axis] = stride;
            let rest = left / to[axis];
            run = if rest == 1 { runs.pop() } else { Some((rest, stride.saturating_mul(to[axis] as isize))) };
        }
        Ok(Geometry { shape: to, strides, offset: self.offset, tile: None })
    }

    /// One position of an axis, which is gone then.
    pub(crate) fn select<const Q: usize>(self, axis: usize, position: usize) -> Result<Geometry<Q>, ViewError> {
        ranks!(Q + 1 == R);
        let one = self.slice(axis, position..position.saturating_add(1))?;
        Ok(one.mapped(|place| if place < axis { place } else { place + 1 }))
    }

    /// Axes taken from their places here.
    fn mapped<const Q: usize>(self, from: impl Fn(usize) -> usize) -> Geometry<Q> {
        let shape = std::array::from_fn(|place| self.shape[from(place)]);
        let strides = std::array::from_fn(|place| self.strides[from(place)]);
        Geometry { shape, strides, offset: self.offset, tile: None }
    }

    /// A new axis of one position.
    pub(crate) fn unsqueeze<const Q: usize>(self, axis: usize) -> Result<Geometry<Q>, ViewError> {
        ranks!(Q == R + 1);
        self.untiled()?;
        if axis > R {
            return Err(ViewError::Axis { axis, rank: R + 1 });
        }
        let old = |place: usize| if place < axis { Some(place) } else { place.checked_sub(1).filter(|_| place > axis) };
        let shape = std::array::from_fn(|place| old(place).map_or(1, |axis| self.shape[axis]));
        let strides = std::array::from_fn(|place| old(place).map_or(0, |axis| self.strides[axis]));
        Ok(Geometry { shape, strides, offset: self.offset, tile: None })
    }

    /// An axis of one position less.
    pub(crate) fn squeeze<const Q: usize>(self, axis: usize) -> Result<Geometry<Q>, ViewError> {
        ranks!(Q + 1 == R);
        let extent = self.shape[self.axis(axis)?];
        if extent != 1 {
            let (from, strides) = (self.shape.to_vec(), self.strides.to_vec());
            let mut to = from.clone();
            to.remove(axis);
            let why = format!("axis {axis} has {extent} positions");
            return Err(ViewError::Reshape { from, strides, to, why });
        }
        self.select(axis, 0)
    }

    /// The positions where two axes are equal, as the last axis.
    pub(crate) fn diagonal<const Q: usize>(self, a: usize, b: usize) -> Result<Geometry<Q>, ViewError> {
        ranks!(Q + 1 == R);
        self.untiled()?;
        let (a, b) = (self.axis(a)?, self.axis(b)?);
        if a == b {
            return Err(ViewError::Order { order: vec![a, b] });
        }
        let mut others = (0..R).filter(|&axis| axis != a && axis != b);
        let mut shape = [0; Q];
        let mut strides = [0; Q];
        for (extent, stride) in shape.iter_mut().zip(&mut strides) {
            (*extent, *stride) = match others.next() {
                Some(axis) => (self.shape[axis], self.strides[axis]),
                None => (self.shape[a].min(self.shape[b]), self.strides[a].saturating_add(self.strides[b])),
            };
        }
        Ok(Geometry { shape, strides, offset: self.offset, tile: None })
    }

    /// Windows of `size` positions along an axis, each `step` behind the one before; their positions are the last axis.
    pub(crate) fn windows<const Q: usize>(
        self,
        axis: usize,
        size: usize,
        step: usize,
    ) -> Result<Geometry<Q>, ViewError> {
        ranks!(Q == R + 1);
        self.untiled()?;
        let extent = self.shape[self.axis(axis)?];
        if size == 0 {
            return Err(ViewError::ZeroTile { axis });
        }
        if step == 0 {
            return Err(ViewError::ZeroStep { axis });
        }
        if size > extent {
            return Err(ViewError::Range { axis, start: 0, end: size, extent });
        }
        let one = self.strides[axis];
        let mut windows = self.unsqueeze::<Q>(R)?;
        windows.shape[axis] = (extent - size) / step + 1;
        windows.strides[axis] = one.saturating_mul(isize::try_from(step).unwrap_or(isize::MAX));
        windows.shape[R] = size;
        windows.strides[R] = one;
        Ok(windows)
    }

    /// The place of the element at a position; nothing outside, and nothing where places cannot be counted.
    pub(crate) fn place(&self, position: [usize; R]) -> Option<usize> {
        if position.iter().zip(&self.shape).any(|(at, extent)| at >= extent) {
            return None;
        }
        if let Some(tile) = self.tile {
            let mut place = 0usize;
            let mut step = |extent: usize, at: usize| {
                place = place.checked_mul(extent)?.checked_add(at)?;
                Some(())
            };
            for axis in 0..R {
                let number = position[axis].checked_div(tile[axis])?;
                step(self.shape[axis].div_ceil(tile[axis]), number)?;
            }
            for axis in 0..R {
                step(tile[axis], position[axis] % tile[axis])?;
            }
            return self.offset.checked_add(place);
        }
        let mut place = self.offset as i128;
        for (&at, &stride) in position.iter().zip(&self.strides) {
            place = place.checked_add((at as i128).checked_mul(stride as i128)?)?;
        }
        usize::try_from(place).ok()
    }

    /// The elements, of so many bytes each, in row-major order in memory of their own.
    pub(crate) fn gathered(&self, memory: &Buffer, width: usize) -> Result<Buffer, Error> {
        self.within(memory.len() / width.max(1))?;
        let bytes = memory.bytes()?;
        let mut gathered = vec![];
        let too_large = || ViewError::TooLarge { shape: self.shape.to_vec() };
        let len = self.len().checked_mul(width).ok_or_else(too_large)?;
        gathered.try_reserve_exact(len).map_err(|_| too_large())?;
        let mut position = [0; R];
        for _ in 0..self.len() {
            let place = self.place(position).unwrap_or(0) * width;
            gathered.extend_from_slice(bytes.get(place..place + width).unwrap_or_default());
            for axis in (0..R).rev() {
                position[axis] += 1;
                if position[axis] < self.shape[axis] {
                    break;
                }
                position[axis] = 0;
            }
        }
        Ok(Buffer::copy_of(&gathered)?)
    }
}
