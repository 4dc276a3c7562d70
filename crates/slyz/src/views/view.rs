//! Views: shape, strides and layout over the memory of a tensor, or over none.

use super::partition::PartitionView;
use crate::arr::Arr;
use crate::below::{Below, Known};
use crate::elem::{Elem, parts_of};
use crate::error::{Error, TensorError};
use crate::feed::{Fed, Feed};
use crate::geometry::{Geometry, MemoryLayout};
use crate::lying::Lying;
use crate::receive::{Receive, Receiver};
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorShape, element_at};
use crate::view_error::ViewError;
use slyz_run::Buffer;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A shape with a stride for each axis: of the elements of a [`Tensor`], which it borrows, or of none.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::views::*;
/// axis!(N, M);
/// let x = Tensor::<f32, (N, M)>::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let sums = compile(|x: Arr<f32, (N, M)>| x.axis::<1>().sum())?;
/// let columns: TensorView<f32, 2> = x.view()?.transpose(0, 1)?;
/// assert_eq!(columns.strides(), &[1, 3]);
/// assert_eq!(sums.call(&columns)?.to_vec()?, [5.0, 7.0, 9.0]); // nothing was copied
/// # Ok::<(), slyz::Error>(())
/// ```
///
/// It does not outlive its tensor:
///
/// ```compile_fail
/// use slyz::prelude::*;
/// use slyz::views::*;
/// let view: TensorView<f32, 1> = {
///     let x = Tensor::<f32>::from_vec([1], vec![1.0]).unwrap();
///     x.view().unwrap()
/// };
/// view.numel();
/// ```
pub struct TensorView<'a, T, const R: usize = 4> {
    geometry: Geometry<R>,
    data: Option<(&'a [Buffer], &'a Below)>,
    kind: PhantomData<fn() -> T>,
}

impl<T, const R: usize> Clone for TensorView<'_, T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const R: usize> Copy for TensorView<'_, T, R> {}

impl<T, const R: usize> fmt::Debug for TensorView<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Geometry { shape, strides, offset, tile } = self.geometry;
        let mut text = f.debug_struct("TensorView");
        text.field("shape", &shape).field("strides", &strides).field("offset", &offset);
        if let Some(tile) = tile {
            text.field("tile", &tile);
        }
        text.field("bound", &self.data.is_some()).finish()
    }
}

impl<const R: usize> TensorView<'static, f32, R> {
    /// The description of a row-major array of `f32`, without data. [`TensorView::of`] is for elements of any type.
    ///
    /// ```
    /// use slyz::views::*;
    /// let view: TensorView<f32> = TensorView::new([2, 3, 32, 32]);
    /// assert_eq!((view.strides(), view.numel()), (&[3072, 1024, 32, 1], 6144));
    /// ```
    pub fn new(shape: [usize; R]) -> Self {
        TensorView::of(shape)
    }
}

impl<T, const R: usize> TensorView<'static, T, R> {
    /// The description of a row-major array, without data.
    ///
    /// ```
    /// use slyz::views::*;
    /// assert_eq!(TensorView::<u8, 2>::of([2, 3]).strides(), &[3, 1]);
    /// ```
    pub fn of(shape: [usize; R]) -> Self {
        TensorView { geometry: Geometry::rows(shape), data: None, kind: PhantomData }
    }

    /// The description of an array with these strides, in elements, without data.
    ///
    /// ```
    /// use slyz::views::*;
    /// let turned = TensorView::<f32>::with_strides([32, 32, 3, 2], [1, 32, 1024, 3072]);
    /// assert!(!turned.is_contiguous());
    /// ```
    pub fn with_strides(shape: [usize; R], strides: [isize; R]) -> Self {
        TensorView { geometry: Geometry::strided(shape, strides), data: None, kind: PhantomData }
    }
}

impl<T, const R: usize> TensorView<'_, T, R> {
    /// The same elements row by row, column by column or tile by tile. With data it is another array over the same memory.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::views::*;
    /// let x = Tensor::<i32>::from_vec([2, 2], vec![1, 2, 3, 4])?;
    /// let columns = x.view::<2>()?.with_layout(MemoryLayout::ColumnMajor);
    /// assert_eq!(columns.to_vec()?, [1, 3, 2, 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn with_layout(self, layout: MemoryLayout<R>) -> Self {
        TensorView { geometry: self.geometry.layout(layout), ..self }
    }

    /// The number of elements; the largest number for more than can be counted.
    ///
    /// ```
    /// use slyz::views::*;
    /// assert_eq!(TensorView::new([2, 3]).numel(), 6);
    /// ```
    pub fn numel(&self) -> usize {
        self.geometry.len()
    }

    /// Do the elements follow one another in row-major order?
    ///
    /// ```
    /// use slyz::views::*;
    /// let view = TensorView::new([4, 5]);
    /// assert!(view.is_contiguous() && !view.transpose(0, 1)?.is_contiguous());
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn is_contiguous(&self) -> bool {
        self.geometry.is_contiguous()
    }

    /// Does it see the elements of a tensor?
    pub fn is_bound(&self) -> bool {
        self.data.is_some()
    }

    /// The extents, outermost first.
    pub fn shape(&self) -> &[usize; R] {
        &self.geometry.shape
    }

    /// How many elements of the memory it is from one position to the next, for each axis.
    pub fn strides(&self) -> &[isize; R] {
        &self.geometry.strides
    }

    /// The place of the first element in the memory.
    pub fn offset(&self) -> usize {
        self.geometry.offset
    }

    /// The place of the element at a position; nothing outside of the shape.
    ///
    /// ```
    /// use slyz::views::*;
    /// assert_eq!(TensorView::new([2, 3]).place([1, 2]), Some(5));
    /// assert_eq!(TensorView::new([2, 3]).place([1, 3]), None);
    /// ```
    pub fn place(&self, position: [usize; R]) -> Option<usize> {
        self.geometry.place(position)
    }
}

/// What makes a view of a view, for those that read and those that write.
macro_rules! views {
    ($View:ident) => {
        impl<'a, T, const R: usize> $View<'a, T, R> {
            fn like<const Q: usize>(self, geometry: Geometry<Q>) -> $View<'a, T, Q> {
                $View { geometry, data: self.data, kind: PhantomData }
            }

            /// Some positions of an axis.
            pub fn slice(self, axis: usize, range: Range<usize>) -> Result<Self, ViewError> {
                let geometry = self.geometry.slice(axis, range)?;
                Ok(self.like(geometry))
            }

            /// Each `step`th position of an axis; backwards, from the last one on, where it is negative.
            pub fn step(self, axis: usize, step: isize) -> Result<Self, ViewError> {
                let geometry = self.geometry.step(axis, step)?;
                Ok(self.like(geometry))
            }

            /// The positions of an axis in reverse order.
            pub fn flip(self, axis: usize) -> Result<Self, ViewError> {
                self.step(axis, -1)
            }

            /// With two axes in each other's places.
            pub fn transpose(self, a: usize, b: usize) -> Result<Self, ViewError> {
                let geometry = self.geometry.transpose(a, b)?;
                Ok(self.like(geometry))
            }

            /// With the axes in this order.
            pub fn permute(self, order: [usize; R]) -> Result<Self, ViewError> {
                let geometry = self.geometry.permute(order)?;
                Ok(self.like(geometry))
            }

            /// Under another shape, with the elements in the same order, if strides can tell it.
            pub fn reshape<const Q: usize>(self, shape: [usize; Q]) -> Result<$View<'a, T, Q>, ViewError> {
                let geometry = self.geometry.reshape(shape)?;
                Ok(self.like(geometry))
            }

            /// At one position of an axis, which it has no more.
            pub fn select<const Q: usize>(self, axis: usize, position: usize) -> Result<$View<'a, T, Q>, ViewError> {
                let geometry = self.geometry.select(axis, position)?;
                Ok(self.like(geometry))
            }

            /// Without an axis of one position.
            pub fn squeeze<const Q: usize>(self, axis: usize) -> Result<$View<'a, T, Q>, ViewError> {
                let geometry = self.geometry.squeeze(axis)?;
                Ok(self.like(geometry))
            }

            /// With a new axis of one position.
            pub fn unsqueeze<const Q: usize>(self, axis: usize) -> Result<$View<'a, T, Q>, ViewError> {
                let geometry = self.geometry.unsqueeze(axis)?;
                Ok(self.like(geometry))
            }

            /// The positions where two axes are equal, as the last axis.
            pub fn diagonal<const Q: usize>(self, a: usize, b: usize) -> Result<$View<'a, T, Q>, ViewError> {
                let geometry = self.geometry.diagonal(a, b)?;
                Ok(self.like(geometry))
            }
        }
    };
}
views!(TensorView);
views!(TensorViewMut);

impl<'a, T, const R: usize> TensorView<'a, T, R> {
    /// Repeated along axes of one position, and along new ones in front.
    ///
    /// ```
    /// use slyz::views::*;
    /// assert_eq!(TensorView::new([3, 1]).broadcast([2, 3, 4])?.strides(), &[0, 1, 0]);
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn broadcast<const Q: usize>(self, shape: [usize; Q]) -> Result<TensorView<'a, T, Q>, ViewError> {
        Ok(self.like(self.geometry.broadcast(shape)?))
    }

    /// The windows of `size` positions along an axis, each `step` behind the one before; their positions are the last axis.
    ///
    /// ```
    /// use slyz::views::*;
    /// let windows: TensorView<f32, 2> = TensorView::new([10]).windows(0, 4, 2)?;
    /// assert_eq!((windows.shape(), windows.strides()), (&[4, 4], &[2, 1]));
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn windows<const Q: usize>(
        self,
        axis: usize,
        size: usize,
        step: usize,
    ) -> Result<TensorView<'a, T, Q>, ViewError> {
        Ok(self.like(self.geometry.windows(axis, size, step)?))
    }

    /// The positions of an axis before `at`, and the others.
    ///
    /// ```
    /// use slyz::views::*;
    /// let (head, tail) = TensorView::new([10, 2]).split(0, 3)?;
    /// assert_eq!((head.shape(), tail.shape()), (&[3, 2], &[7, 2]));
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn split(self, axis: usize, at: usize) -> Result<(Self, Self), ViewError> {
        let extent = self.geometry.shape.get(axis).copied().unwrap_or(0);
        Ok((self.slice(axis, 0..at)?, self.slice(axis, at..extent)?))
    }

    /// In tiles of this shape.
    ///
    /// ```
    /// use slyz::views::*;
    /// assert_eq!(TensorView::new([100, 100]).partition([16, 16])?.tile_count(), [7, 7]);
    /// # Ok::<(), ViewError>(())
    /// ```
    pub fn partition(self, tile: [usize; R]) -> Result<PartitionView<'a, T, R>, ViewError> {
        PartitionView::try_new(self, tile)
    }
}

impl<T: Elem, const R: usize> TensorView<'_, T, R> {
    /// The elements in row-major order of the view.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let x = Tensor::<i32>::from_vec([2, 2], vec![1, 2, 3, 4])?;
    /// assert_eq!(x.view::<2>()?.flip(1)?.to_vec()?, [2, 1, 4, 3]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.to_tensor::<crate::tensor::Dyn>()?.to_vec()
    }

    /// The element at a position, outermost first. Of a large tensor in memory of a device nothing else is read.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let x = Tensor::<i32>::from_vec([2, 2], vec![1, 2, 3, 4])?;
    /// assert_eq!(x.view::<2>()?.transpose(0, 1)?.get([0, 1])?, 3);
    /// assert!(x.view::<2>()?.get([0, 2]).is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn get(&self, position: [usize; R]) -> Result<T, Error> {
        let (leaves, _) = self.data.ok_or(ViewError::NoData)?;
        let outside = || TensorError::Outside { position: position.to_vec(), dims: self.geometry.shape.to_vec() };
        let place = self.geometry.place(position).ok_or_else(outside)?;
        Ok(element_at(leaves, place)?.ok_or_else(outside)?)
    }

    /// The elements as a tensor of their own, row by row, in the memory of the host. A shape with names is checked.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let x = Tensor::<i32>::from_vec([2, 2], vec![1, 2, 3, 4])?;
    /// let turned: Tensor<i32, (N, Fix<2>)> = x.view::<2>()?.transpose(0, 1)?.to_tensor()?;
    /// assert_eq!(turned.to_vec()?, [1, 3, 2, 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn to_tensor<S: TensorShape>(&self) -> Result<Tensor<T, S>, Error> {
        let (leaves, _) = self.data.ok_or(ViewError::NoData)?;
        let shape = self.geometry.shape;
        S::check(&shape)?;
        let mut copies = crate::tensor::Leaves::new();
        for (part, leaf) in parts_of::<T>().iter().zip(leaves) {
            copies.push(self.geometry.gathered(leaf, part.ty.bytes())?);
        }
        Ok(Tensor::from_leaves(shape.to_vec(), copies, vec![]))
    }

    /// The memory, and how many bytes of it are the elements, one behind the other from the first on; nothing where they lie otherwise.
    pub(crate) fn rows(&self) -> Result<(&Buffer, Option<usize>), ViewError> {
        let leaf = self.data.and_then(|(leaves, _)| leaves.first()).ok_or(ViewError::NoData)?;
        let width = parts_of::<T>().first().map_or(1, |part| part.ty.bytes());
        self.geometry.within(leaf.len() / width)?;
        let in_rows = self.geometry.offset == 0 && self.geometry.is_contiguous();
        Ok((leaf, in_rows.then(|| self.numel() * width)))
    }

    /// How it lies, for a call.
    pub(crate) fn lying(&self) -> Lying<'_> {
        Lying::new(&self.geometry, self.data.is_some())
    }
}

impl<T: Elem, S: Shape, const R: usize> Feed<Arr<T, S>> for TensorView<'_, T, R> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        let (leaves, below) = self.data.unwrap_or((&[], &NOTHING));
        let count = leaves.len();
        let known = (0..count).map(move |leaf| Known { below, leaf, leaves: count });
        out.view::<T>(&self.geometry.shape, self.numel(), self.lying(), leaves.iter().zip(known))
    }
}

impl<T: Elem, S: Shape, const R: usize> Feed<Arr<T, S>> for &TensorView<'_, T, R> {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        Feed::<Arr<T, S>>::feed(*self, out)
    }
}

/// Of what has no data.
static NOTHING: Below = Below::nothing();

/// A view through which elements are written: of the memory of a [`Tensor`] that nobody else sees meanwhile.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::views::*;
/// axis!(N);
/// let mut x = Tensor::<f32>::from_vec([2, 3], vec![0.0; 6])?;
/// let double = compile(|x: Arr<f32, N>| x * 2.0)?;
/// let mut column: TensorViewMut<f32, 1> = x.view_mut::<2>()?.select(1, 1)?;
/// double.call_into(&mut column, &[1.0f32, 2.0])?;
/// assert_eq!(x.to_vec()?, [0.0, 2.0, 0.0, 0.0, 4.0, 0.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
///
/// ```compile_fail
/// use slyz::prelude::*;
/// let mut x = Tensor::<f32>::from_vec([2], vec![0.0; 2]).unwrap();
/// let writes = x.view_mut::<1>().unwrap();
/// let reads = x.view::<1>().unwrap(); // while it is written
/// drop(writes);
/// ```
pub struct TensorViewMut<'a, T, const R: usize = 4> {
    geometry: Geometry<R>,
    data: &'a mut [Buffer],
    kind: PhantomData<fn() -> T>,
}

impl<T, const R: usize> TensorViewMut<'_, T, R> {
    /// The extents, outermost first.
    pub fn shape(&self) -> &[usize; R] {
        &self.geometry.shape
    }

    /// How many elements of the memory it is from one position to the next, for each axis.
    pub fn strides(&self) -> &[isize; R] {
        &self.geometry.strides
    }
}

impl<T: Elem, S: Shape, const R: usize> Receive<Arr<T, S>> for &mut TensorViewMut<'_, T, R> {
    fn receive<'a>(&'a mut self, out: &mut Vec<Receiver<'a>>) {
        let geometry = &self.geometry;
        for (part, buffer) in parts_of::<T>().iter().zip(self.data.iter_mut()) {
            let lying = Lying::new(geometry, true).written(geometry);
            out.push(Receiver::new(part.ty, &geometry.shape, buffer, lying));
        }
    }
}

fn rank<const R: usize>(dims: &[usize]) -> Result<[usize; R], ViewError> {
    dims.try_into().map_err(|_| ViewError::Rank { expected: R, found: dims.len() })
}

impl<T: Elem, S> Tensor<T, S> {
    /// A view of all its elements, of as many axes as it has.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let x = Tensor::<f32>::from_vec([2, 3], vec![0.0; 6])?;
    /// assert_eq!(x.view::<2>()?.slice(1, 0..2)?.shape(), &[2, 2]);
    /// assert!(x.view::<3>().is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn view<const R: usize>(&self) -> Result<TensorView<'_, T, R>, Error> {
        let geometry = Geometry::rows(rank(self.dims())?);
        Ok(TensorView { geometry, data: Some(self.held()), kind: PhantomData })
    }

    /// A view of its memory with another shape and strides, from an offset on. What would reach outside is refused.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let x = Tensor::<f32>::from_vec([2, 3], vec![0.0; 6])?;
    /// assert!(x.view_strided([3, 3], [1, 1], 1).is_ok()); // windows that overlap
    /// assert!(x.view_strided([3, 3], [1, 1], 2).is_err());
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn view_strided<const R: usize>(
        &self,
        shape: [usize; R],
        strides: [isize; R],
        offset: usize,
    ) -> Result<TensorView<'_, T, R>, Error> {
        let geometry = Geometry { offset, ..Geometry::strided(shape, strides) }.within(self.len())?;
        Ok(TensorView { geometry, data: Some(self.held()), kind: PhantomData })
    }

    /// A view of its memory as the layout has it. In tiles that do not divide the shape it needs more elements than the shape has.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// use slyz::views::*;
    /// let x = Tensor::<i32>::from_vec([8], vec![0, 1, 2, 3, 4, 5, 6, 7])?;
    /// let tiled = x.view_as([2, 4], MemoryLayout::Tiled([2, 2]))?;
    /// assert_eq!(tiled.to_vec()?, [0, 1, 4, 5, 2, 3, 6, 7]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn view_as<const R: usize>(
        &self,
        shape: [usize; R],
        layout: MemoryLayout<R>,
    ) -> Result<TensorView<'_, T, R>, Error> {
        let geometry = Geometry::rows(shape).layout(layout).within(self.len())?;
        Ok(TensorView { geometry, data: Some(self.held()), kind: PhantomData })
    }

    /// A view through which all its elements can be written.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// let mut x = Tensor::<f32>::from_vec([2, 3], vec![0.0; 6])?;
    /// assert_eq!(x.view_mut::<2>()?.slice(0, 0..1)?.shape(), &[1, 3]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn view_mut<const R: usize>(&mut self) -> Result<TensorViewMut<'_, T, R>, Error> {
        let geometry = Geometry::rows(rank(self.dims())?);
        Ok(TensorViewMut { geometry, data: self.buffers_mut(), kind: PhantomData })
    }
}
