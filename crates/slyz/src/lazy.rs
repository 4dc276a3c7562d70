//! Calls and launches that wait until somebody reads what they give.

/// Runs something in which calls of compiled functions and launches of kernels wait: they are noted, and computed when somebody reads a result,
/// or at the end. Those that need one another are compiled and run as one function: they fuse, and a result that only they read is
/// not stored.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let twice = compile(|x: Arr<f32, N>| x * 2.0)?;
/// let shifted = compile(|x: Arr<f32, N>, by: Exp<f32>| x + by)?;
/// let x = Tensor::from_vec([3], vec![1.0, 2.0, 3.0])?;
/// let y = slyz::lazy(|| {
///     let doubled = twice.call(&x)?;
///     shifted.call(&doubled, 1.0) // one loop over `x`, and no memory for `doubled`
/// })?;
/// assert_eq!(y.to_vec()?, [3.0, 5.0, 7.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
///
/// Kernels by hand take part where they are array programs, which their `explain()` tells; others run at once, and so do functions
/// that count what they give (`filter`). Data of the host that a kernel writes (`&mut Vec<f32>`) is read at the end of its launch; pass tensors.
/// An error of a call that waited is told to whoever reads its result. It is about calls of this thread; results may be read by any.
///
/// What is noted is compiled once for each way in which calls follow one another. A loop of many turns is cut into pieces;
/// [`iterate`](crate::iterate) inside a function is one loop however many turns it has.
pub fn lazy<R>(act: impl FnOnce() -> R) -> R {
    slyz_run::lazily(act)
}
