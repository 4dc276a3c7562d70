//! How an argument lies in memory: what a call says of a view.

use crate::error::Error;
use crate::geometry::Geometry;
use crate::view_error::ViewError;
use slyz_run::Argument;
use slyz_sir::types::Ty;
use slyz_sir::views::{Distance, Storage};
use std::borrow::Cow;

/// A view, as a call sees it.
pub(crate) struct Lying<'a> {
    pub(crate) storage: Storage,
    strides: &'a [isize],
    offset: usize,
    /// Its lowest and its highest place; none where it has no elements.
    reach: Option<(i128, i128)>,
    /// What is wrong with it, which its call tells.
    wrong: Option<ViewError>,
}

impl<'a> Lying<'a> {
    pub(crate) fn new<const R: usize>(geometry: &'a Geometry<R>, bound: bool) -> Lying<'a> {
        let Geometry { strides, offset, tile, .. } = geometry;
        let countable = geometry.within(usize::MAX).err();
        let no_data = (!bound).then_some(ViewError::NoData);
        let part_of_tiles = (tile.is_some() && *offset != 0).then_some(ViewError::Tiled);
        let wrong = no_data.or(part_of_tiles).or(countable);
        let reach = (geometry.len() > 0 && wrong.is_none()).then(|| geometry.reach());
        let storage = match (tile, geometry.dense_order()) {
            _ if reach.is_none() => Storage::Rows,
            (Some(tile), _) => Storage::Tiled(tile.iter().map(|&extent| extent as u64).collect()),
            (None, Some(_)) if *offset == 0 && geometry.is_contiguous() => Storage::Rows,
            (None, Some(order)) if *offset == 0 => Storage::Turned(order.to_vec()),
            _ => Storage::Strided((0..R).map(|axis| distance(geometry, axis)).collect()),
        };
        Lying { storage, strides, offset: *offset, reach, wrong }
    }

    /// The same, to be written: no two positions have one place.
    pub(crate) fn written<const R: usize>(mut self, geometry: &Geometry<R>) -> Lying<'a> {
        let tiled = geometry.tile.map(|_| ViewError::Tiled);
        self.wrong = self.wrong.or(tiled).or_else(|| geometry.without_overlap().err());
        self
    }

    /// Is it all of a memory of so many bytes, row by row?
    pub(crate) fn is_whole(&self, ty: Ty, len: usize) -> bool {
        self.wrong.is_none() && self.storage == Storage::Rows && self.bytes(ty) == Some(len)
    }

    /// The offset and each stride, if all of it is in a memory of so many bytes.
    pub(crate) fn places(&self, ty: Ty, len: usize) -> Result<impl Iterator<Item = i64> + use<'_>, Error> {
        self.hold(len / ty.bytes())?;
        Ok(std::iter::once(self.offset as i64).chain(self.strides.iter().map(|&stride| stride as i64)))
    }

    /// Is it a view of something?
    pub(crate) fn is_right(&self) -> Result<(), ViewError> {
        self.wrong.clone().map_or(Ok(()), Err)
    }

    /// Holds the view against a memory of so many elements.
    fn hold(&self, len: usize) -> Result<(), ViewError> {
        self.is_right()?;
        match self.reach {
            Some((first, last)) if first < 0 || last >= len as i128 => Err(ViewError::Outside { first, last, len }),
            Some(_) | None => Ok(()),
        }
    }

    /// The bytes that it has of its memory, where those are the first ones; none where it takes all of it.
    pub(crate) fn bytes(&self, ty: Ty) -> Option<usize> {
        match self.storage {
            Storage::Strided(_) => None,
            Storage::Rows | Storage::Turned(_) | Storage::Tiled(_) => {
                let elements = self.reach.map_or(0, |(_, last)| last + 1);
                usize::try_from(elements).ok()?.checked_mul(ty.bytes())
            }
        }
    }

    /// Gives an argument the shape of its memory, and tells the numbers that go with it. Here a view is held against the memory it is of,
    /// whoever made it: code that is compiled for it looks at nothing.
    ///
    /// The code may be for a `storage` that says less than this view's own.
    pub(crate) fn lay(&self, storage: &Storage, ty: Ty, argument: &mut Argument<'_>) -> Result<Vec<i64>, Error> {
        let Argument::Array { shape, data, .. } = argument else { return Ok(vec![]) };
        let len = data.len() / ty.bytes();
        self.hold(len)?;
        match storage {
            Storage::Rows => Ok(vec![]),
            Storage::Turned(order) => {
                *shape = Cow::Owned(order.iter().filter_map(|&axis| shape.get(axis).copied()).collect());
                Ok(vec![])
            }
            Storage::Tiled(tile) => {
                let tiles = shape.iter().zip(tile).map(|(extent, &tile)| extent.div_ceil(tile));
                *shape = Cow::Owned(tiles.chain(tile.iter().copied()).collect());
                Ok(vec![])
            }
            Storage::Strided(distances) => {
                *shape = Cow::Owned(vec![len as u64]);
                let strides = self.strides.iter().map(|&stride| stride as i64);
                Ok(numbers(self.offset as i64, strides, distances))
            }
        }
    }
}

/// The same for an array that lies row by row, and code that is told so.
pub(crate) fn lay_rows(storage: &Storage, ty: Ty, argument: &mut Argument<'_>) -> Vec<i64> {
    let (Storage::Strided(distances), Argument::Array { shape, data, .. }) = (storage, argument) else {
        return vec![];
    };
    let mut strides = vec![1i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        // Of an array without elements nothing is read.
        strides[axis - 1] = strides[axis].saturating_mul(i64::try_from(shape[axis]).unwrap_or(i64::MAX));
    }
    *shape = Cow::Owned(vec![(data.len() / ty.bytes()) as u64]);
    numbers(0, strides.into_iter(), distances)
}

/// What a call tells of an array that is strided: where it begins, and the distances that the code does not know.
fn numbers(offset: i64, strides: impl Iterator<Item = i64>, distances: &[Distance]) -> Vec<i64> {
    let told = strides.zip(distances).filter(|&(_, &distance)| distance == Distance::Any);
    std::iter::once(offset).chain(told.map(|(stride, _)| stride)).collect()
}

/// How far neighbours along an axis are apart. An axis of one position has none.
fn distance<const R: usize>(geometry: &Geometry<R>, axis: usize) -> Distance {
    match (geometry.shape[axis], geometry.strides[axis]) {
        (1, _) | (_, 0) => Distance::None,
        (_, 1) => Distance::One,
        _ => Distance::Any,
    }
}
