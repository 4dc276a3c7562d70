//! Launches of kernels that people write: what a launch passes, and what runs it.
//!
//! [`Device::prepare`](crate::Device::prepare) makes a [`Launcher`] of a [`Template`](slyz_sir::launch::Template), which is launched
//! with arrays, scalars and threads. Arguments are checked against the template (`fit`), threads laid out in blocks (`field`),
//! and what a launch writes is copied first where somebody else sees it.

// The interpreter needs a part of it.
#[cfg_attr(not(all(feature = "cpu", feature = "wgpu")), allow(dead_code))]
mod field;
#[cfg_attr(not(all(feature = "cpu", feature = "wgpu")), allow(dead_code))]
mod fit;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
mod proof;

pub(crate) use field::check_block;
pub(crate) use fit::{Fitted, Outline};
#[cfg(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
pub(crate) use proof::tells;
#[cfg(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
pub(crate) use {fit::constant_bytes, proof::Proofs};

use crate::{ArrayData, Buffer, Error};
use slyz_sir::kernel::Kernel;
pub use slyz_sir::threads::Threads;
use slyz_sir::types::{Scalar, Ty};

/// An array that a launch passes.
#[derive(Debug)]
pub enum LaunchArray<'a> {
    /// It is read.
    Read {
        /// Element type.
        ty: Ty,
        /// Extents, outermost first.
        shape: Vec<u64>,
        /// The elements, row-major.
        data: ArrayData<'a>,
    },
    /// It is read and written. After the launch the data may be in the memory of the device that ran it.
    Write {
        /// Element type.
        ty: Ty,
        /// Extents, outermost first.
        shape: Vec<u64>,
        /// The elements, row-major.
        data: &'a mut Buffer,
    },
}

impl LaunchArray<'_> {
    /// The element type.
    pub fn ty(&self) -> Ty {
        match self {
            LaunchArray::Read { ty, .. } | LaunchArray::Write { ty, .. } => *ty,
        }
    }

    /// The extents, outermost first.
    pub fn shape(&self) -> &[u64] {
        match self {
            LaunchArray::Read { shape, .. } | LaunchArray::Write { shape, .. } => shape,
        }
    }

    /// The elements.
    pub fn data(&self) -> ArrayData<'_> {
        match self {
            LaunchArray::Read { data, .. } => *data,
            LaunchArray::Write { data, .. } => ArrayData::Buffer(data),
        }
    }
}

/// What a launch passes to a kernel.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Its threads.
    pub threads: Threads,
    /// For the tensors among the parameters, in order.
    pub memories: Vec<LaunchArray<'a>>,
    /// For the scalars among the parameters, in order.
    pub scalars: Vec<Scalar>,
}

impl Launch<'_> {
    /// The same launch, to be made by somebody while this one is kept.
    pub fn again(&mut self) -> Launch<'_> {
        let memories = self.memories.iter_mut().map(|array| match array {
            LaunchArray::Read { ty, shape, data } => LaunchArray::Read { ty: *ty, shape: shape.clone(), data: *data },
            LaunchArray::Write { ty, shape, data } => LaunchArray::Write { ty: *ty, shape: shape.clone(), data },
        });
        Launch { threads: self.threads, memories: memories.collect(), scalars: self.scalars.clone() }
    }
}

/// A kernel made ready to be launched, from many threads at a time.
///
/// ```
/// use slyz_run::{ArrayData, Buffer, Device, Launch, LaunchArray, Threads};
/// use slyz_sir::{launch::Template, text::parse_kernel, types::Ty};
/// use std::sync::Arc;
/// let kernel = parse_kernel("kernel double<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, x_len>()
///   grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
///     global readwrite x: f32[x_len]
///     %i: i64 = global.x
///     %inside: bool = check x[%i]
///     if %inside { %a: f32 = load x[%i]  %b: f32 = add %a, %a  store x[%i], %b } else {}
///   }")?;
/// let template = Arc::new(Template { kernel, constants: vec![] });
/// let mut x = Buffer::copy_of(bytemuck::cast_slice(&[1.0f32, 2.0]))?;
/// let memories = vec![LaunchArray::Write { ty: Ty::F32, shape: vec![2], data: &mut x }];
/// let launch = Launch { threads: Threads::Inferred, memories, scalars: vec![] };
/// slyz_run::device(Some("interpreter"))?.prepare(&template)?.launch(launch)?;
/// assert_eq!(x.as_slice::<f32>(), Some(&[2.0, 4.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Launcher: Send + Sync {
    /// Runs the kernel. A device with memory of its own may come back while it still works; reading what it wrote waits. An access
    /// outside an array does nothing, and the launch, all others done, gives [`Error::Fault`].
    fn launch(&self, launch: Launch<'_>) -> Result<(), Error>;

    /// The same without a look at accesses, where the device has such code.
    ///
    /// # Safety
    /// No access of any thread of this launch is outside its memory.
    unsafe fn launch_unchecked(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.launch(launch)
    }

    /// What is generated for launches with any number of threads, to read.
    fn source(&self) -> Result<String, Error>;

    /// The kernels that it is generated from.
    fn kernels(&self) -> Result<Vec<Kernel>, Error>;

    /// The name of the device. It is `interpreter` where the `cpu` device found no compiler.
    fn device(&self) -> &str;
}
