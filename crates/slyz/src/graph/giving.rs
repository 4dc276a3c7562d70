//! Launches whose threads give something.

use super::launch::{Counts, Launch};
use crate::elem::Scalar;
use crate::error::Error;
use crate::tensor::{Dyn, Tensor};
use slyz_run::Device;
use std::marker::PhantomData;
use std::sync::Arc;

/// A launch of a `#[graph]` function that returns a number: [`GivingLaunch::run`] gives the tensor of what each thread returns, with as many axes as
/// the function reads coordinates of its thread. The last axis is x.
///
/// ```
/// use slyz::prelude::*;
///
/// #[graph]
/// fn distance(x: &Tensor<f32>, y: &Tensor<f32>) -> f32 {
///     abs(x[thread.x] - y[thread.y])
/// }
///
/// let table = distance(&[1.0, 2.0, 4.0], &[0.0, 3.0]).threads((3, 2)).run()?;
/// assert_eq!((table.dims(), table.to_vec()?), (&[2, 3][..], vec![1.0, 2.0, 4.0, 2.0, 1.0, 1.0]));
/// # Ok::<(), slyz::Error>(())
/// ```
#[must_use = "a launch does nothing before `.run()`"]
pub struct GivingLaunch<'a, T, const AXES: usize> {
    launch: Launch<'a>,
    gives: PhantomData<T>,
}

impl<'a> Launch<'a> {
    /// The same launch, of a kernel whose last tensor is what its threads give.
    pub fn giving<T, const AXES: usize>(self) -> GivingLaunch<'a, T, AXES> {
        GivingLaunch { launch: self, gives: PhantomData }
    }
}

impl<'a, T: Scalar, const AXES: usize> GivingLaunch<'a, T, AXES> {
    /// How many threads, in x, or in x and y, or in x, y and z: as many elements the result has.
    pub fn threads(mut self, threads: impl Counts) -> Self {
        self.launch = self.launch.threads(threads);
        self
    }

    /// How many threads a block has.
    pub fn block(mut self, threads: impl Counts) -> Self {
        self.launch = self.launch.block(threads);
        self
    }

    /// Where to run. Without it the device is the one that [`compile`](crate::compile) takes.
    pub fn on(mut self, device: &Arc<dyn Device>) -> Self {
        self.launch = self.launch.on(device);
        self
    }

    /// Runs it, as [`Launch::run`] does.
    pub fn run(self) -> Result<Tensor<T>, Error> {
        let Some(threads) = self.launch.threads else {
            let kernel = self.launch.kernel().name().to_string();
            let why = "it gives an element for each thread; say how many there are with `.threads(..)`".to_string();
            return Err(slyz_run::Error::Threads { kernel, why }.into());
        };
        let dims: [usize; AXES] =
            std::array::from_fn(|axis| usize::try_from(threads[AXES - 1 - axis]).unwrap_or(usize::MAX));
        let mut given = Tensor::<T, Dyn>::zeroed(dims)?;
        self.launch.write::<T, AXES>(&mut given).run()?;
        Ok(given)
    }
}
