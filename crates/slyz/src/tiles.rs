//! Tiles in traced functions: a part of a matrix with some of its neighbours, worked on where it is near, and put back.

use crate::arr::{Arr, tabulate_at};
use crate::axis::{Fix, Padded, Stride};
use crate::elem::{Elem, Lift, handles, tys_of, value_of};
use crate::extent::{Axis, Extent};
use crate::position::Idx;
use crate::record;
use crate::shape::Shape;
use crate::stencil::Border;
use crate::trace::{self, Handle, Loc};
use slyz_sir::ops::Operator;
use slyz_sir::types::Scalar;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;

/// A side of a tile: `H` positions, and `K` of the neighbours before and behind them.
pub type Haloed<const H: usize, const K: usize> = Padded<Fix<K>, Fix<H>, Fix<K>>;

/// A matrix in tiles of `H` × `W`, each with `K` positions of its neighbours on every side: what [`Arr::partition`] gives.
pub struct Tiles<T: Elem, A: Axis, B: Axis, const H: usize, const W: usize, const K: usize = 0> {
    whole: Arr<T, (A, B)>,
    border: Border<T>,
}

/// A tile of a matrix with its halo, in a function that [`for_tiles`] calls.
pub struct Tile<T: Elem, A, B, const H: usize, const W: usize, const K: usize> {
    elements: Arr<T, (Haloed<H, K>, Haloed<W, K>)>,
    /// The positions in the matrix of its first element, halo included.
    start: [Handle; 2],
    border: Border<T>,
    /// How much of the halo is old.
    used: usize,
    of: PhantomData<fn() -> (A, B)>,
}

impl<T: Elem, A, B, const H: usize, const W: usize, const K: usize> Clone for Tile<T, A, B, H, W, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Elem, A, B, const H: usize, const W: usize, const K: usize> Copy for Tile<T, A, B, H, W, K> {}

impl<T: Elem + Lift<T>, A: Axis, B: Axis> Arr<T, (A, B)> {
    /// The matrix in tiles of `H` × `W`, for [`for_tiles`].
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// fn doubled(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    ///     for_tiles(x.partition::<2, 2>(), |tile| tile.stencil(|x| x((0, 0)) * 2.0))
    /// }
    /// assert_eq!(compile(doubled)?.call(&[[1.0f32, 2.0, 3.0]])?.to_vec()?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn partition<const H: usize, const W: usize>(self) -> Tiles<T, A, B, H, W> {
        const { assert!(H > 0 && W > 0, "a tile of 0 holds nothing") };
        Tiles { whole: self, border: Border::Clamp }
    }
}

impl<T: Elem, A: Axis, B: Axis, const H: usize, const W: usize> Tiles<T, A, B, H, W> {
    /// Each tile with `K` positions of its neighbours on every side; outside of the matrix there is what the border says.
    pub fn halo<const K: usize>(self, border: Border<T>) -> Tiles<T, A, B, H, W, K> {
        Tiles { whole: self.whole, border }
    }
}

/// A matrix worked on tile by tile: each tile is loaded with its halo to memory that is near (of a block, or of a core), `f` works on it, and what it
/// gives is stored. Neighbours within the halo are computed again in each tile, so that several turns of a stencil go over memory once.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// /// Four turns at once.
/// fn smooth(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
///     for_tiles(u.partition::<64, 64>().halo::<4>(Border::Clamp), |mut tile| {
///         for _ in 0..4 {
///             tile = tile.stencil(|u| 0.25 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1))));
///         }
///         tile
///     })
/// }
/// assert_eq!(compile(smooth)?.call(&[[1.0f32, 1.0], [1.0, 1.0]])?.to_vec()?, [1.0; 4]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn for_tiles<T, U, A, B, const H: usize, const W: usize, const K: usize>(
    tiles: Tiles<T, A, B, H, W, K>,
    f: impl Fn(Tile<T, A, B, H, W, K>) -> Tile<U, A, B, H, W, K>,
) -> Arr<U, (A, B)>
where
    T: Elem + Lift<T>,
    U: Elem,
    A: Axis,
    B: Axis,
{
    let at: Loc = Location::caller();
    let count = tys_of::<U>().len();
    let tiles_of = [Extent::of::<Stride<A, H>>(), Extent::of::<Stride<B, W>>()];
    let done = record::stack(at, &tiles_of, &mut |number| {
        let tile = f(tiles.tile(at, [number[0], number[1]]));
        let halo = record::constant(at, Scalar::i64(K as i64));
        let inner = |p: Handle| record::apply(at, Operator::Add, &[p, halo]);
        let stored: Arr<U, (Fix<H>, Fix<W>)> = tabulate_at(at, |(p, q): (Idx<Fix<H>>, Idx<Fix<W>>)| {
            let place = [inner(p.handle()), inner(q.handle())];
            value_of::<U::Exp>(&record::read(at, tile.elements.handle(), count, &place))
        });
        stored.handle()
    });
    tabulate_at(at, |(i, j): (Idx<A>, Idx<B>)| {
        let part = |operator: Operator, p: Handle, side: usize| {
            record::apply(at, operator, &[p, record::constant(at, Scalar::i64(side as i64))])
        };
        let (i, j) = (i.handle(), j.handle());
        let (tiles, inside) = (Operator::Div, Operator::Rem);
        let place = [part(tiles, i, H), part(tiles, j, W), part(inside, i, H), part(inside, j, W)];
        value_of::<U::Exp>(&record::read(at, done, count, &place))
    })
}

impl<T: Elem + Lift<T>, A: Axis, B: Axis, const H: usize, const W: usize, const K: usize> Tiles<T, A, B, H, W, K> {
    /// The tile with these numbers, loaded.
    fn tile(&self, at: Loc, tile: [Handle; 2]) -> Tile<T, A, B, H, W, K> {
        let number = |n: usize| record::constant(at, Scalar::i64(n as i64));
        let start = |tile: Handle, side: usize| {
            let first = record::apply(at, Operator::Mul, &[tile, number(side)]);
            record::apply(at, Operator::Sub, &[first, number(K)])
        };
        let start = [start(tile[0], H), start(tile[1], W)];
        let axes = [Extent::of::<A>(), Extent::of::<B>()];
        let count = tys_of::<T>().len();
        let elements = tabulate_at(at, |(p, q): (Idx<Haloed<H, K>>, Idx<Haloed<W, K>>)| {
            let local = [p.handle(), q.handle()];
            let near = [0, 1].map(|axis| record::apply(at, Operator::Add, &[start[axis], local[axis]]));
            let place = [0, 1].map(|axis| match self.border {
                Border::Wrap => record::wrap(at, &axes[axis], near[axis]),
                Border::Clamp | Border::Value(_) => record::clamp(at, &axes[axis], near[axis]),
            });
            let element = record::read(at, self.whole.handle(), count, &place);
            let Border::Value(outside) = self.border else { return value_of::<T::Exp>(&element) };
            let inside = [0, 1].map(|axis| record::inside(at, &axes[axis], near[axis]));
            let inside = record::apply(at, Operator::And, &inside);
            let outside = trace::on_behalf(at, || handles(outside.lift()));
            value_of::<T::Exp>(&record::select(at, inside, &element, &outside))
        });
        Tile { elements, start, border: self.border, used: 0, of: PhantomData }
    }
}

impl<T: Elem + Lift<T>, A: Axis, B: Axis, const H: usize, const W: usize, const K: usize> Tile<T, A, B, H, W, K> {
    /// The elements, those of the halo included. Of the halo as much is old as stencils have reached so far.
    pub fn elements(self) -> Arr<T, (Haloed<H, K>, Haloed<W, K>)> {
        self.elements
    }

    /// The same tile with other elements, computed from those that are at most `reach` positions away. As many positions of the halo are
    /// no longer what the neighbouring tiles have there.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// /// Each row of a tile summed up from its left end on.
    /// fn running(x: Arr<i32, (N, M)>) -> Arr<i64, (N, M)> {
    ///     for_tiles(x.partition::<8, 4>(), |tile| {
    ///         let sums = tile.elements().cast::<i64>().axis::<1>().scan(Sum);
    ///         tile.with_elements(sums, Border::Clamp, 0)
    ///     })
    /// }
    /// assert_eq!(compile(running)?.call(&[[1, 1, 1, 1, 1]])?.to_vec()?, [1, 2, 3, 4, 1]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    #[track_caller]
    pub fn with_elements<U: Elem>(
        self,
        elements: Arr<U, (Haloed<H, K>, Haloed<W, K>)>,
        border: Border<U>,
        reach: usize,
    ) -> Tile<U, A, B, H, W, K> {
        let used = self.used.saturating_add(reach);
        check_halo::<K>(Location::caller(), used);
        Tile { elements, start: self.start, border, used, of: PhantomData }
    }

    /// Each element from the elements around it, as [`Arr::stencil`] with the border of the matrix. All stencils of a tile reach as far
    /// as its halo, and no farther.
    #[track_caller]
    pub fn stencil<V: Lift<T>>(self, f: impl Fn(&dyn Fn((i32, i32)) -> T::Exp) -> V) -> Self {
        let at: Loc = Location::caller();
        let sides = <(Haloed<H, K>, Haloed<W, K>)>::axes();
        let axes = [Extent::of::<A>(), Extent::of::<B>()];
        let count = tys_of::<T>().len();
        let number = |n: i64| record::constant(at, Scalar::i64(n));
        // Where the matrix begins and ends, as positions of the tile.
        let before = self.start.map(|start| record::apply(at, Operator::Sub, &[number(0), start]));
        let end = [0, 1].map(|axis| {
            let extent = record::extent(at, &axes[axis]);
            record::apply(at, Operator::Sub, &[extent, self.start[axis]])
        });
        let low = before.map(|before| record::apply(at, Operator::Max, &[number(0), before]));
        let high = [0, 1].map(|axis| {
            let last = record::apply(at, Operator::Sub, &[end[axis], number(1)]);
            let side = record::apply(at, Operator::Sub, &[record::extent(at, &sides[axis]), number(1)]);
            record::apply(at, Operator::Min, &[last, side])
        });
        let reach = Cell::new(0u32);
        let elements = tabulate_at(at, |(p, q): (Idx<Haloed<H, K>>, Idx<Haloed<W, K>>)| {
            let position = [p.handle(), q.handle()];
            f(&|(down, right): (i32, i32)| {
                let by = [i64::from(down), i64::from(right)];
                reach.set(reach.get().max(down.unsigned_abs()).max(right.unsigned_abs()));
                let near = [0, 1].map(|axis| record::shift(at, position[axis], by[axis]));
                let place = [0, 1].map(|axis| match self.border {
                    _ if by[axis] == 0 => near[axis],
                    Border::Clamp => record::apply(at, Operator::Clamp, &[near[axis], low[axis], high[axis]]),
                    Border::Wrap | Border::Value(_) => record::clamp(at, &sides[axis], near[axis]),
                });
                let element = record::read(at, self.elements.handle(), count, &place);
                let Border::Value(outside) = self.border else { return value_of::<T::Exp>(&element) };
                let inside = [0, 1].map(|axis| {
                    let behind = record::apply(at, Operator::Ge, &[near[axis], before[axis]]);
                    let ahead = record::apply(at, Operator::Lt, &[near[axis], end[axis]]);
                    record::apply(at, Operator::And, &[behind, ahead])
                });
                let inside = record::apply(at, Operator::And, &inside);
                let outside = trace::on_behalf(at, || handles(outside.lift()));
                value_of::<T::Exp>(&record::select(at, inside, &element, &outside))
            })
        });
        let used = self.used.saturating_add(reach.get() as usize);
        check_halo::<K>(at, used);
        Tile { elements, used, ..self }
    }
}

fn check_halo<const K: usize>(at: Loc, used: usize) {
    if used > K {
        let what = format!("stencils of a tile reach {used} positions far, its halo is {K}");
        trace::error(at, &what, &format!("write `.halo::<{used}>(..)`, or take fewer turns at once"));
    }
}
