//! Kernels by hand: what `#[graph]` makes of a function over threads, and how it is launched.
//!
//! A [`EmbeddedKernel`] is a `static` with the checked text of the kernel in it. Calling the function makes a [`Launch`], which is told how many
//! threads it has, and where to run; [`Launch::run`] runs it. [`vex!`](crate::vex) makes the same of a `.vex` file, and with the feature
//! `vex` there is `Kernels`, which reads one while the program runs.
//!
//! ```
//! use slyz::graph::{InOut, Input, EmbeddedKernel, Launch};
//! use slyz::prelude::*;
//!
//! // What the attribute writes for `fn axpy(a: f32, x: &Tensor<f32>, y: &mut Tensor<f32>)`.
//! static AXPY: EmbeddedKernel = EmbeddedKernel::new("axpy", "
//!     kernel axpy<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, x_len, y_len>(%a: f32)
//!     grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
//!       global read x: f32[x_len]
//!       global readwrite y: f32[y_len]
//!       %i: i64 = global.x
//!       %in_x: bool = check x[%i]
//!       %in_y: bool = check y[%i]
//!       %ok: bool = and %in_x, %in_y
//!       if %ok {
//!         %p: f32 = load x[%i]
//!         %q: f32 = load y[%i]
//!         %r: f32 = fma %a, %p, %q
//!         store y[%i], %r
//!       } else {}
//!     }", &[]);
//! fn axpy<'a>(a: f32, x: impl Input<'a, f32>, y: impl InOut<'a, f32>) -> Launch<'a> {
//!     Launch::new(&AXPY).scalar(a).read(x).write(y)
//! }
//!
//! let x = Tensor::<f32>::from_vec([3], vec![1.0, 2.0, 3.0])?;
//! let mut y = Tensor::<f32>::zeros([3])?;
//! axpy(2.0, &x, &mut y).threads(x.len()).run()?;
//! assert_eq!(y.to_vec()?, [2.0, 4.0, 6.0]);
//! let mut z = vec![1.0; 3]; // the host's data does as well
//! axpy(2.0, &x, &mut z).run()?; // as many threads as what is written has elements
//! assert_eq!(z, [3.0, 5.0, 7.0]);
//! let error = axpy(2.0, &x, &mut z).threads(4).run().unwrap_err(); // tells kernel, tensor, index, thread
//! assert_eq!(error.fault().map(|fault| fault.index[0]), Some(3));
//! # Ok::<(), slyz::Error>(())
//! ```

mod argument;
mod gathered;
#[cfg(feature = "vex")]
mod given;
mod giving;
mod kernel;
mod launch;
#[cfg(feature = "vex")]
mod loaded;

pub use argument::{InOut, Input, Reading, Writing};
pub use giving::GivingLaunch;
pub use kernel::EmbeddedKernel;
pub use launch::{Counts, Launch, UncheckedLaunch};
pub use slyz_sir::launch::{Fault, Template};
#[cfg(feature = "vex")]
pub use {
    crate::error::VexError,
    given::{Given, Passed},
    loaded::{Kernels, LoadedKernel},
};
