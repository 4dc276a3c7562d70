//! The Naperian classes on the host: containers of every shape as functions from their positions.
//!
//! This module needs no tracing and no device; only its files `axis.rs` and `tensor.rs` know of them. It is the idea behind the rest of the crate in its plainest form: the Słyż
//! essay's tower of type classes, after Gibbons, *APLicative Programming with Naperian Functors* (2017), for ordinary
//! Rust arrays and structs. Names do not clash with those of [`prelude`](crate::prelude): both can be imported whole.
//!
//! ```
//! use slyz::naperian::*;
//!
//! #[derive(Clone, Debug, PartialEq, Naperian)]
//! struct Rgb<T> { r: T, g: T, b: T }
//!
//! let pixels = [Rgb { r: 1, g: 2, b: 3 }, Rgb { r: 4, g: 5, b: 6 }];
//! assert_eq!(pixels.clone().transpose(), Rgb { r: [1, 4], g: [2, 5], b: [3, 6] }); // pixels to planes
//! assert_eq!(innerp(pixels[0].clone(), pixels[1].clone()), 32);
//! assert_eq!(matrixp([[1, 2], [3, 4]], [[0, 1], [1, 0]]), [[2, 1], [4, 3]]);
//! ```
//!
//! # The story
//!
//! A machine with many threads does not deal in arrays. It has a grid of threads, each at a position, and asks for a
//! function to run at each. What a container must offer for that is less than being an array, so we take the array apart.
//!
//! *Elements.* To map a function over a container it must be a [`Functor`]; to fill one with a value, or to zip two, an
//! [`Applicative`]; to sum it up, [`Foldable`]; to walk through it with an effect, [`Traverse`]. These classes speak of
//! elements and never of where they are, so two operations are out of reach: `tabulate`, which makes each element from
//! its position, and `transpose`, which exchanges coordinates.
//!
//! *Positions.* A functor `f` is [`Naperian`] when it has a type `Log f` of positions and
//!
//! ```text
//! f a  ≅  Log f → a
//! ```
//!
//! from right to left by [`tabulate`](Naperian::tabulate), from left to right by [`index`](Naperian::index). An array of
//! three, `[T; 3]`, is a function from three positions; so is `Rgb<T>`. The name is John Napier's, for `Log` behaves like
//! a logarithm: `f a` has as many values as `a` to the power of `Log f`, a [`Pair`] of containers has the sum of their
//! positions, a [`Compose`]d container the product. Transposition is then a swap of arguments,
//!
//! ```text
//! f (g a)  ≅  Log f → Log g → a  ≅  Log g → Log f → a  ≅  g (f a)
//! ```
//!
//! and [`transpose`] works for arrays of structs, structs of arrays, and all else.
//!
//! *Dimensions.* A functor that is all of this is a [`Dimension`]: what one axis of data-parallel code requires. A list of
//! dimensions makes a [`Hyper`], an array of any rank, whose operations work at every rank: [`Hyper::map`],
//! [`Hyper::lift2`], which aligns the dimensions of two values from the innermost outwards, and [`Hyper::reduce_by`]. A
//! `Hyper` goes to a device as a [`Tensor`](crate::Tensor) and comes back from it.
//!
//! *Devices.* A dimension is an [`Axis`](crate::Axis): `Arr<f32, (N, RgbFamily)>` has a thread for each pixel and channel, and
//! [`Idx::cases`](crate::Idx::cases) and [`Idx::of`](crate::Idx::of) go between positions of the device and the `Log` of the host.
//!
//! ```text
//!            Family     Of<T>
//!           /      \
//!     Functor      Foldable     map                    foldr, to_list
//!     /  |   \      /
//!    /   |   Traverse           traverse
//!   /    |      |
//! Applicative   |               pure, lift_a2
//!  \  Naperian  |               Log, tabulate, index, positions
//!   \    |     /
//!    Dimension                  SIZE
//! ```
//!
//! # Spelling
//!
//! Haskell's `f` is a type that takes a type; Rust spells that as a [`Family`], a type without values that names it.
//! Functions of a family are called on its name, `Array::<3>::tabulate(..)`, and generic code is written
//! `fn f<F: Dimension>(x: Of<F, f32>)`. A value knows its family, too ([`Container`]), so most operations are also
//! methods: `x.zip_with(y, f)`.
//!
//! | family | members | positions |
//! |---|---|---|
//! | [`Array<N>`](Array) | `[T; N]` | [`Fin<N>`](Fin) |
//! | [`Array2<M, N>`](Array2), [`Array3<D, M, N>`](Array3) | nested arrays, as one dimension | tuples of `Fin` |
//! | `RgbFamily` | `Rgb<T>`, with `#[derive(Naperian)]` | the enum `RgbLog` |
//! | [`Pair<F, G>`](Pair) | `(f, g)` | [`Which`] |
//! | [`Compose<F, G>`](Compose) | `f` of `g` | `(Log f, Log g)` |
//! | [`Id`] | `T` itself | `()` |
//! | [`Options`], [`Results<E>`](Results) | `Option<T>`, `Result<T, E>`: effects for [`Traverse`] | none |

mod array;
pub(crate) mod axis;
mod combine;
mod dimension;
mod effect;
mod family;
mod foldable;
mod functor;
mod hyper;
mod position;
mod tensor;

pub use crate::dims;
pub use array::{Array, Array2, Array3};
pub use combine::{Compose, Id, Pair};
pub use dimension::{Dimension, MatrixProduct, Transposed, innerp, matrixp, transpose};
pub use effect::{Options, Results};
pub use family::{Container, Family, Of};
pub use foldable::{Foldable, Traverse};
pub use functor::{Applicative, Functor};
pub use hyper::{Alignable, Hyper, Nested, Shapely, hyper};
pub use position::{Fin, Naperian, Which, fin};
pub use slyz_macros::Naperian;
