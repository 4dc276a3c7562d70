//! The macros of Słyż: `#[function]`, `#[graph]`, `vex!`, `einsum!`, `#[derive(Axis)]`, `#[derive(Elem)]`,
//! `#[derive(Arrays)]` and `#[derive(Naperian)]`.
//!
//! Apart from `#[graph]` and `vex!`, whose checker and compiler are those of `slyz-lang`, this crate only rewrites syntax; it knows no types and does no tracing. What the output calls lives in
//! `::slyz::__private`, and `README.md` beside this crate's manifest is the contract between the two.
//! Use the macros through crate `slyz`, which exports them.
//!
//! | file | what it does |
//! |---|---|
//! | `options.rs` | what stands in the parentheses of `#[function]` and `#[graph]` |
//! | `function.rs` | reads `#[function]`, wraps the rewritten body |
//! | `returns.rs` | turns guard and tail `return`s into values |
//! | `assigned.rs` | finds the outer locals that a branch assigns |
//! | `rewrite.rs` | rewrites `if`, comparisons, `&&`, `||`; rejects what cannot be carried |
//! | `graph/` | reads `#[graph]` into the tree of `slyz-lang`, and writes the launcher |
//! | `einsum.rs` | reads the letters of `einsum!`, and writes the function over the axes that they name |
//! | `vex.rs` | reads a `.vex` file, and writes the launchers of its kernels |
//! | `axis.rs`, `elem.rs`, `arrays.rs`, `naperian.rs` | the derives |
//! | `fields.rs` | what derives do with each field of a struct |
#![forbid(unsafe_code)]

mod arrays;
mod assigned;
mod axis;
mod einsum;
mod elem;
mod fields;
mod function;
#[cfg(test)]
mod golden;
#[cfg(feature = "graph")]
mod graph;
mod host;
mod naperian;
mod options;
mod quantize;
mod returns;
mod rewrite;
#[cfg(feature = "graph")]
mod vex;

use proc_macro::TokenStream;

/// Lets a function over traced values use plain Rust control flow, and keeps it a function in the generated code.
///
/// ```text
/// #[slyz::function]
/// fn normalise(x: Exp<f32>) -> Exp<f32> {
///     if x < 0.0 && x > -1.0 { return 0.0; }
///     let mut y = x;
///     if y > 10.0 { y = 10.0; }
///     y / 10.0
/// }
/// ```
///
/// **What works on traced values**: `if`/`else if`/`else` as statement and as value, `< <= > >= == !=`, `&&`, `||`,
/// `!`, assignments to outer locals in branches (also through fields and indices), `return` at the end of a branch
/// when the other branch or what follows the `if` is the rest of the function. The same `if` over a host `bool` runs
/// one branch, so helper code needs no second form.
///
/// **What is decided while tracing**: `for`, `while`, `loop`, `match` and `if let` are the host's; loops are unrolled.
/// `#[host] if c { .. } else if d { .. }` says that `c` and `d` are plain `bool`s; `break`, `continue`, `return` and
/// `panic!` may stand in its branches.
///
/// **What is rejected**, at the token: `break`, `continue`, `?`, `panic!` and its family in a branch of a traced `if`;
/// a `return` that cannot become a value; `.await`, `async`, `unsafe`. Mutation through a method (`v.swap(0, 1)`) or a
/// reference in such a branch is an error of rustc's, because a branch is an `Fn` closure. Recursion is reported when
/// the function is traced.
///
/// Arguments are traced values, arrays and host numbers; the function is specialised on the latter.
/// `#[function(inline)]` rewrites the body in the same way but leaves an ordinary function: it may take any argument,
/// `self` too, and its code appears at every call. `#[function(precision = "exact")]`: programs that call the function are at least as precise
/// on a GPU (`native`, `table`, `exact`), unless the compilation says how precise they are.
///
/// The arguments of other macros (`vec![..]`, `println!(..)`) and nested items are left as they are.
#[proc_macro_attribute]
pub fn function(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(options.into(), item.into()).into()
}

/// Programs that call the function are over smaller numbers: `#[quantize(i8)]`, `#[quantize(f16)]`, `#[quantize(bf16)]`. Nothing is measured;
/// `Compiled::quantize` measures, and keeps to a bound.
#[proc_macro_attribute]
pub fn quantize(options: TokenStream, item: TokenStream) -> TokenStream {
    quantize::expand(options.into(), item.into()).into()
}

/// A kernel by hand: a function that every thread of a launch runs. On a module, every function of it is a kernel or a helper.
///
/// ```text
/// #[graph]
/// fn relu(input: &Tensor<f32>, output: &mut Tensor<f32>) {
///     let idx = thread.x;
///     if idx < output.len() {
///         output[idx] = max(0.0, input[idx]);
///     }
/// }
///
/// relu(&x, &mut y).threads(x.len()).run()?;
/// relu(&x, &mut y).grid(64).block(256).on(&device).run()?;
/// ```
///
/// The body is the language of kernels, not Rust: `thread`, `threadgroup`, `atomic` and the operators of Słyż are known there,
/// and whatever a kernel cannot do is an error at its token. Parameters are tensors (`&Tensor<f32>`, `&mut Tensor<f32, 2>`) and numbers; calling the
/// function gives a `slyz::graph::Launch`. Accesses are checked where they are not proven; `#[graph(unchecked)]` leaves that out and makes `run` unsafe.
/// A kernel whose threads each write an element of their own is run as the array program that it is; `#[graph(as_written)]` leaves its threads as they are.
/// `#[graph(precision = "native")]` says how precise the kernel is on a GPU: `native`, `table`, `exact`.
/// The book's chapter "Kernels by hand" has all of it.
#[cfg(feature = "graph")]
#[proc_macro_attribute]
pub fn graph(options: TokenStream, item: TokenStream) -> TokenStream {
    graph::expand(options.into(), item.into()).into()
}

/// The kernels of a `.vex` file as functions, each with the launcher that `#[graph]` gives.
///
/// ```text
/// slyz::vex!("kernels/relu.vex");                  // fn relu(..), for this module
/// slyz::vex!(pub "kernels/relu.vex");              // pub fn relu(..)
/// slyz::vex!(pub mod relu = "kernels/relu.vex");   // pub mod relu { pub fn relu(..) }
///
/// relu(&x, &mut y).threads(x.len()).run()?;
/// ```
///
/// Names of files begin in the directory of the package's `Cargo.toml`. Every `graph fn` without a result becomes a function; the
/// comment above it becomes its documentation. Plain functions are there for the kernels that call them, and the host part of the
/// file is left alone. Mistakes in the file are errors of rustc's that show its lines, and cargo builds anew when it changes.
#[cfg(feature = "graph")]
#[proc_macro]
pub fn vex(input: TokenStream) -> TokenStream {
    vex::expand(input.into()).into()
}

/// Makes a field-less enum an axis: its variants, in order, are the positions.
///
/// ```text
/// #[derive(Clone, Copy, Axis)]
/// enum Channel { R, G, B }
///
/// let red = img.at((i, Channel::R.pos()));
/// let weight = c.cases(|c| match c { Channel::R => 0.3, Channel::G => 0.6, Channel::B => 0.1 });
/// ```
#[proc_macro_derive(Axis)]
pub fn axis(item: TokenStream) -> TokenStream {
    axis::expand(item.into()).into()
}

/// Makes a struct an element of arrays; the arrays store its fields in separate buffers.
///
/// The struct is generic in its field types, because its traced form has other fields than its host form:
/// `Rgb<f32>` on the host is `Rgb<Exp<f32>>` in a traced function.
///
/// ```text
/// #[derive(Clone, Copy, Elem)]
/// struct Rgb<T> { r: T, g: T, b: T }
///
/// fn gray(img: Arr<Rgb<f32>, (N, M)>) -> Arr<f32, (N, M)> {
///     img.map(|c| 0.3 * c.r + 0.6 * c.g + 0.1 * c.b)
/// }
/// ```
#[proc_macro_derive(Elem)]
pub fn elem(item: TokenStream) -> TokenStream {
    elem::expand(item.into()).into()
}

/// Makes a struct of arrays a parameter and a result of compiled functions, and the state of loops.
///
/// Fields are `Arr`, `Exp`, `Idx`, tuples and `[_; N]` of them, structs with `#[derive(Elem)]` of `Exp`s, and other structs of arrays.
/// A struct of tensors is made beside it, as visible, with the same fields and their comments: `NetTensors` for `Net`, or the name in
/// `#[arrays(host = "Name")]`. It is what a call takes, owned or borrowed, and what it gives.
///
/// ```text
/// #[derive(Clone, Copy, Arrays)]
/// struct Layer { w: Arr<f32, (N, M)>, b: Arr<f32, M> }     // struct LayerTensors { w: Tensor<f32, (N, M)>, b: Tensor<f32, M> }
///
/// let f = compile(|layer: Layer, x: Arr<f32, N>| -> Layer { .. })?;
/// let next: LayerTensors = f.call(&layer, &x)?;
/// ```
#[proc_macro_derive(Arrays, attributes(arrays))]
pub fn arrays(item: TokenStream) -> TokenStream {
    arrays::expand(item.into()).into()
}

/// Makes a struct of elements a container, with the whole tower of classes of `slyz::naperian`, up to `Dimension`.
///
/// The struct has one type parameter, its elements. A field is an element or a container of elements: `[T; 3]`, `(T, T)`,
/// another such struct. Two enums are made beside it, as visible as the struct: `RgbFamily`, without values, is the name
/// of the family; `RgbLog` is the type of its positions, with one variant per field, in order. A field that is a container
/// has its positions in the variant; the fields of a tuple struct are at `At0`, `At1`, and so on.
///
/// ```text
/// #[derive(Naperian)]
/// struct Rgb<T> { r: T, g: T, b: T }               // enum RgbLog { R, G, B }
///
/// #[derive(Naperian)]
/// struct Body<T> { position: [T; 3], mass: T }     // enum BodyLog { Position(Fin<3>), Mass }
///
/// let gray = RgbFamily::pure(0.5);
/// let green = *Rgb { r: 0.1, g: 0.2, b: 0.3 }.index(RgbLog::G);
/// ```
#[proc_macro_derive(Naperian)]
pub fn naperian(item: TokenStream) -> TokenStream {
    naperian::expand(item.into()).into()
}

/// Einstein's sums over arrays, by the letters of their axes.
///
/// ```text
/// let c = einsum!("ij,jk->ik", a, b);
/// ```
#[proc_macro]
pub fn einsum(item: TokenStream) -> TokenStream {
    einsum::expand(item.into()).into()
}
