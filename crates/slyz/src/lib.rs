//! Słyż: typed array functions in Rust, fused and compiled for every kind of silicon.
//!
//! An array is a function from its positions. You write functions over arrays, `compile` traces them once, and what
//! comes back is called with slices, vectors or tensors of any size.
//!
//! ```
//! use slyz::prelude::*;
//!
//! axis!(N, M, K); // named axes: different names are different types
//!
//! fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
//!     tabulate(|(i, j)| sum(|k| a.at((i, k)) * b.at((k, j)))) // swap an index: a compile error
//! }
//!
//! let f = slyz::compile(matmul)?;
//! let c = f.call(&[[1.0f32, 2.0], [3.0, 4.0]], &[[1.0f32, 0.0], [0.0, 1.0]])?;
//! assert_eq!(c.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), slyz::Error>(())
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `elem.rs`, `exp.rs`, `complex.rs` | what arrays hold, scalars in traced code, and operators on them |
//! | `extent.rs`, `position.rs`, `axis.rs`, `shape.rs` | what an axis is, positions, the axes that there are, and shapes |
//! | `arr.rs`, `elementwise.rs`, `stencil.rs`, `loops.rs` | arrays and combinators |
//! | `layout.rs`, `view.rs`, `diagonal.rs`, `lookup.rs` | other views: shapes, parts, triangles, elements by number |
//! | `monoid.rs`, `fold.rs`, `along.rs`, `scatter.rs` | many elements combined: of functions, of arrays, along an axis, at computed places |
//! | `compact.rs`, `segment.rs` | elements that are kept: partitions, compaction, runs; scans and folds of segments |
//! | `key.rs`, `sort.rs`, `search.rs` | what elements are sorted by; sorts; places in sorted arrays, and two of them as one |
//! | `random.rs` | random numbers, made from their place |
//! | `linalg.rs`, `conv.rs`, `prefix.rs` | products of vectors and matrices; convolutions; running sums, and differences, which undo them |
//! | `trace.rs`, `record.rs`, `lines.rs`, `moment.rs` | the function being traced, and what operations record; nothing there is generic |
//! | `compile.rs`, `feed.rs`, `lazy.rs`, `tensor/`, `explain.rs`, `profile.rs` | compiling, calling now or later, data, and where the time goes |
//! | `graph/` | kernels by hand, and their launches |
//! | `module.rs`, `bundle.rs` | kernels as source files for other programs; functions whose code the program carries |
//! | `naperian/` | the Naperian classes for arrays and structs on the host; no tracing |
//! | `private.rs` | what `#[slyz::function]` expands to |
// There are three exceptions: a function that is `unsafe` to call, the one that vouches for what was traced, and that of bundles.
#![deny(unsafe_code)]

// The derives and doc examples say `::slyz`, and are used in this crate too.
extern crate self as slyz;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod activation;
mod along;
mod arr;
mod attention;
mod axis;
mod below;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "wgpu"))]
mod bundle;
mod calibrate;
mod compact;
mod compile;
mod complex;
mod conv;
mod diagonal;
mod elem;
mod elementwise;
mod error;
mod exp;
mod explain;
mod extent;
mod feed;
mod fold;
mod geometry;
pub mod graph;
mod key;
mod layout;
mod lazy;
mod linalg;
mod lines;
mod lookup;
mod loops;
mod lying;
mod module;
mod moment;
mod monoid;
pub mod naperian;
mod operators;
mod output;
mod param;
mod position;
mod prefix;
pub mod prelude;
mod profile;
mod quantize;
pub mod random;
mod raw;
mod receive;
mod record;
mod scatter;
mod search;
mod segment;
mod shape;
mod sort;
mod state;
mod stencil;
mod tensor;
mod tiles;
mod trace;
mod update;
mod view;
mod view_error;
pub mod views;
mod weights;

pub use along::Along;
pub use arr::{Arr, InBrackets, Zip, fill, iota, lift2, stack, tabulate, zip, zip_min};
pub use attention::{Attend, attention, causal_attention};
pub use axis::{Either, EnumAxis, Fix, Flat, Min, Padded, Stride, Tri, fix};
pub use compile::{
    Compiled, Function, Options, Signature, Tune, Types, auto, compile, compile_on, compile_with, device, devices,
};
pub use complex::{BesideComplex, BesideComplexes, Complex};
pub use conv::Conv;
pub use elem::{Additive, BesideExp, Bits, Elem, ElemOf, Exp, Float, Int, Lift, Num, Scalar, Traced, Value, lit};
pub use elementwise::Beside;
#[cfg(any(feature = "image", feature = "safetensors"))]
pub use error::FileError;
pub use error::{CallError, Error, TensorError, TraceError};
pub use exp::horner;
pub use explain::Explanation;
pub use extent::{Axis, Extent};
pub use feed::{Fed, Feed};
pub use fold::{all, any, argmax, argmin, count, fold, max, min, product, sum};
pub use half::{bf16, f16};
pub use key::{Descending, Key, Then, Word};
pub use layout::{Permute2, Permute3, Permute4, concat};
pub use lazy::lazy;
pub use linalg::{MatMul, dot, matmul, outer};
pub use lookup::Lookup;
pub use loops::{Stacking, for_each, iterate, repeat_while, scan_over};
pub use module::{Emitted, Module};
pub use monoid::{All, Any, MaxOf, MinOf, Monoid, Product, Sum, UserMonoid, monoid};
pub use output::Output;
pub use param::{Arrays, HostOf, Param};
pub use position::{Around, At, Idx, Near, Offset};
pub use profile::{KernelProfile, Profile};
pub use quantize::{Quantize, Small};
pub use raw::{Raw, RawResult};
pub use receive::Receive;
pub use scatter::{ScatterTo, scatter, scatter_checked};
pub use search::{Side, merge};
pub use segment::{Heads, Segmented, Segments};
pub use shape::{
    Align, AxisNamed, AxisNo, Cube, Flatten, HasAxis, Inner, Innermost, Insert, Matrix, No, OneAxis, Pos, Position,
    Shape, Stack, Vector,
};
/// Makes a struct of arrays a parameter and a result of compiled functions, and the state of loops. On the host it is a struct of
/// tensors of the same fields, which the derive makes: `NetTensors` for `Net`, or the name in `#[arrays(host = "Name")]`.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M);
/// #[derive(Clone, Copy, slyz::Arrays)]
/// struct Layer { w: Arr<f32, (N, M)>, b: Arr<f32, M> }
/// #[derive(Clone, Copy, slyz::Arrays)]
/// #[arrays(host = "Trained")]
/// struct Net { first: Layer, rate: Exp<f32> }
///
/// fn step(net: Net, x: Arr<f32, N>) -> Net {
///     let Layer { w, b } = net.first;
///     let y: Arr<f32, M> = w.transpose().matmul(x) + b;
///     Net { first: Layer { w: w - outer(x, y) * net.rate, b: b - y * net.rate }, ..net }
/// }
/// let f = compile(step)?;
/// let first = LayerTensors { w: Tensor::zeros([2, 1])?, b: Tensor::from_vec([1], vec![2.0])? };
/// let net = Trained { first, rate: Tensor::from_value(0.5)? };
/// let next: Trained = f.call(&net, &[1.0f32, 3.0])?; // tensors go in and come out
/// assert_eq!(next.first.w.to_vec()?, [-1.0, -3.0]);
/// assert_eq!(f.call(&next, &[0.0f32, 0.0])?.first.b.to_vec()?, [0.5]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub use slyz_macros::Arrays;
/// Makes a field-less enum an axis.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// #[derive(Clone, Copy, slyz::Axis)]
/// enum Side { Left, Right }
/// let f = compile(|x: Arr<f32, (N, Side)>| x.column(Side::Right.pos()))?;
/// assert_eq!(f.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.to_vec()?, [2.0, 4.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub use slyz_macros::Axis;
/// Makes a struct an element of arrays.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// #[derive(Clone, Copy, slyz::Elem)]
/// struct Point<T> { x: T, y: T }
/// let f = compile(|p: Arr<Point<f32>, N>| p.map(|p| p.x.hypot(p.y)))?;
/// assert_eq!(f.call(&[Point { x: 3.0f32, y: 4.0 }])?.to_vec()?, [5.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub use slyz_macros::Elem;
/// Makes a struct a container of the host's Naperian classes.
///
/// ```
/// use slyz::naperian::*;
/// #[derive(Clone, Debug, PartialEq, Naperian)]
/// struct Pixel<T> { r: T, g: T, b: T }
/// assert_eq!([Pixel { r: 1, g: 2, b: 3 }].transpose(), Pixel { r: [1], g: [2], b: [3] });
/// ```
pub use slyz_macros::Naperian;
/// Einstein's sums: a letter for each axis of each array, and of the result. Letters that the result does not have are summed over.
///
/// A letter is an axis, so the letters are checked as axes are: where one stands for two different ones, the call does not compile.
/// Without `->` the result has the letters that occur once, in alphabetical order.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, M, K);
/// fn product(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> { einsum!("ij,jk->ik", a, b) }
/// assert_eq!(compile(product)?.call(&[[1.0f32, 2.0]], &[[3.0f32], [4.0]])?.to_vec()?, [11.0]);
/// let trace = compile(|x: Arr<f32, (N, N)>| einsum!("ii->", x))?;
/// assert_eq!(trace.call(&[[1.0f32, 2.0], [3.0, 4.0]])?.value()?, 5.0);
/// # Ok::<(), slyz::Error>(())
/// ```
///
/// ```compile_fail
/// use slyz::prelude::*;
/// axis!(N, M, K);
/// fn swapped(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> { einsum!("ij,kj->ik", a, b) }
/// ```
pub use slyz_macros::einsum;
/// Plain Rust control flow over traced values, and a function that stays one.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// #[slyz::function]
/// fn relu(x: Exp<f32>) -> Exp<f32> {
///     if x > 0.0 { x } else { 0.0 }
/// }
/// let f = compile(|x: Arr<f32, N>| x.map(relu))?;
/// assert_eq!(f.call(&[-1.0f32, 2.0])?.to_vec()?, [0.0, 2.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub use slyz_macros::function;

/// A kernel by hand: a function that every thread of a launch runs, checked while the program is compiled.
///
/// ```
/// use slyz::prelude::*;
/// #[graph]
/// fn relu(input: &Tensor<f32>, output: &mut Tensor<f32>) {
///     let idx = thread.x;
///     if idx < output.len() {
///         output[idx] = max(0.0, input[idx]);
///     }
/// }
/// let mut y = vec![0.0; 3];
/// relu(&[-1.0, 2.0, -3.0], &mut y).threads(3).run()?;
/// assert_eq!(y, [0.0, 2.0, 0.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[cfg(feature = "graph")]
pub use slyz_macros::graph;
/// Programs that call the function are over smaller numbers, with nothing measured ([`Compiled::quantized`]).
///
/// ```
/// use slyz::prelude::*;
/// axis!(N, K, M);
/// #[slyz::quantize(i8)]
/// fn layer(x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> { x.matmul(w) }
/// let f = compile(layer)?;
/// assert!(f.explain().to_string().contains("the product [N, M] over K is i8"));
/// # Ok::<(), slyz::Error>(())
/// ```
pub use slyz_macros::quantize;
/// The kernels of a `.vex` file as functions, checked while the program is compiled.
///
/// ```
/// use slyz::prelude::*;
/// slyz::vex!("examples/kernels/relu.vex"); // beside this crate's Cargo.toml
///
/// let mut y = vec![0.0; 3];
/// relu(&[-1.0, 2.0, -3.0], &mut y).threads(3).run()?;
/// assert_eq!(y, [0.0, 2.0, 0.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[cfg(feature = "graph")]
pub use slyz_macros::vex;
#[cfg(feature = "cudarc")]
pub use slyz_run::cuda::slices::LentSlice;
/// The crate `cudarc`, in the version whose slices tensors are made of (feature `cudarc`).
#[cfg(feature = "cudarc")]
pub use slyz_run::cudarc;
#[cfg(feature = "npy")]
pub use slyz_run::npy::{NpyError, NpyProblem};
pub use slyz_run::{BuildTime, Device, WriteError, dlpack, progress};
pub use slyz_sir::back::harness::{Contents, File, ProjectError, Target};
pub use slyz_sir::choices::{Checks, Precision};
pub use sort::lexsort;
pub use state::{LoopState, State};
pub use stencil::Border;
pub use tensor::{Dyn, Tensor, TensorShape};
#[cfg(feature = "npz")]
pub use tensor::{NpzReader, NpzWriter};
#[cfg(feature = "safetensors")]
pub use tensor::{SafeTensors, SafeTensorsWriter};
pub use tiles::{Haloed, Tile, Tiles, for_tiles};
pub use trace::{Handle, Leaf, Ty};
