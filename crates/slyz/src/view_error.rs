//! What can be wrong with a view, a partition or a tiled reduction.

/// Why there is no such view.
///
/// ```
/// use slyz::views::*;
/// let view: TensorView<f32> = TensorView::new([2, 3, 32, 32]);
/// assert!(matches!(view.slice(1, 0..4), Err(ViewError::Range { axis: 1, end: 4, extent: 3, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// An axis that the view does not have.
    #[error("there is no axis {axis} in a view of {rank} axes; count them from 0")]
    Axis {
        /// The axis.
        axis: usize,
        /// How many there are.
        rank: usize,
    },
    /// The number of axes is another one.
    #[error("the tensor has {found} dimensions, the view {expected} axes; write `TensorView<_, {found}>`")]
    Rank {
        /// Axes of the view.
        expected: usize,
        /// Dimensions of the tensor.
        found: usize,
    },
    /// A slice that is not inside its axis.
    #[error("{start}..{end} is not a range inside of axis {axis}, which has {extent} positions")]
    Range {
        /// The axis.
        axis: usize,
        /// The first position.
        start: usize,
        /// The one behind the last.
        end: usize,
        /// Positions of the axis.
        extent: usize,
    },
    /// A step of zero.
    #[error("a step of 0 along axis {axis} never arrives; use 1 or more, or a negative one to go backwards")]
    ZeroStep {
        /// The axis.
        axis: usize,
    },
    /// Axes that are not each of them once.
    #[error("{order:?} does not name each axis once; for two axes write [1, 0]")]
    Order {
        /// What was given.
        order: Vec<usize>,
    },
    /// A shape that the view cannot be repeated to.
    #[error("{from:?} cannot be repeated to {to:?}: only axes of one position, and new ones in front, can")]
    Broadcast {
        /// The shape of the view.
        from: Vec<usize>,
        /// The shape that was asked for.
        to: Vec<usize>,
    },
    /// A shape that the view has only in a copy.
    #[error("a view of the shape {from:?} and the strides {strides:?} is not one of the shape {to:?}: {why}")]
    Reshape {
        /// The shape of the view.
        from: Vec<usize>,
        /// Its strides.
        strides: Vec<isize>,
        /// The shape that was asked for.
        to: Vec<usize>,
        /// What is in the way.
        why: String,
    },
    /// Elements outside of the memory.
    #[error("the view reaches from element {first} to element {last} of a memory of {len}; take other strides")]
    Outside {
        /// Its lowest place.
        first: i128,
        /// Its highest place.
        last: i128,
        /// Elements of the memory.
        len: usize,
    },
    /// Positions that would be written through one another.
    #[error(
        "the strides {strides:?} of the shape {shape:?} lead to one element from several positions, so it cannot be written to"
    )]
    Overlap {
        /// The shape.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
    },
    /// A tile, a window or a step of tiles without elements.
    #[error("a tile of 0 along axis {axis} holds nothing; use 1 or more")]
    ZeroTile {
        /// The axis.
        axis: usize,
    },
    /// A tiled layout that is looked at in parts.
    #[error(
        "a view that lies in tiles is seen as a whole; copy it with `to_tensor`, or take the part before `with_layout`"
    )]
    Tiled,
    /// A description that has no data.
    #[error("the view describes a shape without data; make one of a tensor: `tensor.view()?`")]
    NoData,
    /// More elements than can be counted, or than there is memory for a copy of.
    #[error("a view of the shape {shape:?} has more elements than can be counted or copied; take a part of it")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// The elements do not make the shape.
    #[error("{found} elements do not make a matrix {width} wide and {height} high; pass {expected}")]
    Length {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
        /// Their product.
        expected: u128,
        /// Elements passed.
        found: usize,
    },
}
