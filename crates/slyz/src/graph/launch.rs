//! A launch under construction.

use super::argument::{InOut, Input, Reading, Writing};
use super::kernel::{EmbeddedKernel, Launched};
use crate::elem::Scalar;
use crate::error::Error;
use slyz_run::{Device, Launcher, Threads};
use slyz_sir::types::Scalar as Constant;
use std::sync::Arc;

/// Numbers of threads or blocks: `n`, `(x, y)` or `(x, y, z)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of threads or blocks",
    note = "write `n`, `(x, y)` or `(x, y, z)`, each a `usize`"
)]
pub trait Counts {
    /// In x, y, z.
    #[doc(hidden)]
    fn counts(self) -> [u64; 3];
}

impl Counts for usize {
    fn counts(self) -> [u64; 3] {
        [self as u64, 1, 1]
    }
}

impl Counts for (usize, usize) {
    fn counts(self) -> [u64; 3] {
        [self.0 as u64, self.1 as u64, 1]
    }
}

impl Counts for (usize, usize, usize) {
    fn counts(self) -> [u64; 3] {
        [self.0 as u64, self.1 as u64, self.2 as u64]
    }
}

/// How a launcher is told to begin.
type Start<'s> = &'s dyn Fn(&dyn Launcher, slyz_run::Launch<'_>) -> Result<(), slyz_run::Error>;

/// A tensor for the kernel.
pub(super) enum Argument<'a> {
    Read(Reading<'a>),
    Write(Writing<'a>),
}

/// A launch of a kernel: what calling a `#[graph]` function gives. Nothing happens before [`Launch::run`].
#[must_use = "a launch does nothing before `.run()`"]
pub struct Launch<'a, K = EmbeddedKernel> {
    kernel: &'a K,
    arguments: Vec<Argument<'a>>,
    scalars: Vec<Constant>,
    pub(super) threads: Option<[u64; 3]>,
    grid: Option<[u64; 3]>,
    block: Option<[u64; 3]>,
    device: Option<Arc<dyn Device>>,
    /// How many arguments came.
    given: usize,
    /// The first that does not fit.
    wrong: Option<Error>,
}

/// A launch of a `#[graph(unchecked)]` function, whose accesses nobody looks at.
#[must_use = "a launch does nothing before `.run()`"]
pub struct UncheckedLaunch<'a>(Launch<'a>);

impl<'a> Launch<'a> {
    /// A launch without arguments. Tensors and scalars follow in the order of the parameters.
    pub fn new(kernel: &'static EmbeddedKernel) -> Launch<'a> {
        Launch::of(kernel)
    }

    /// Passes a tensor that is read.
    pub fn read<T: Scalar, const RANK: usize>(self, tensor: impl Input<'a, T, RANK>) -> Self {
        self.push(Argument::Read(tensor.input()))
    }

    /// Passes a tensor that is written.
    pub fn write<T: Scalar, const RANK: usize>(self, tensor: impl InOut<'a, T, RANK>) -> Self {
        self.push(Argument::Write(tensor.in_out()))
    }

    /// Passes a scalar.
    pub fn scalar<T: Scalar>(self, value: T) -> Self {
        self.push_scalar(value.scalar())
    }

    /// The same, without looking at accesses.
    pub fn unchecked(self) -> UncheckedLaunch<'a> {
        UncheckedLaunch(self)
    }
}

/// Arguments, from whoever knows that they fit.
impl<'a, K> Launch<'a, K> {
    pub(super) fn of(kernel: &'a K) -> Launch<'a, K> {
        let arguments = vec![];
        let scalars = vec![];
        Launch {
            kernel,
            arguments,
            scalars,
            threads: None,
            grid: None,
            block: None,
            device: None,
            given: 0,
            wrong: None,
        }
    }

    pub(super) fn push(mut self, tensor: Argument<'a>) -> Self {
        self.given += 1;
        self.arguments.push(tensor);
        self
    }

    pub(super) fn push_scalar(mut self, value: Constant) -> Self {
        self.given += 1;
        self.scalars.push(value);
        self
    }
}

/// Arguments of kernels that are known while the program runs.
#[cfg(feature = "vex")]
impl<K> Launch<'_, K> {
    /// How many arguments came so far.
    pub(super) fn given(&self) -> usize {
        self.given
    }

    /// An argument that does not fit. The first is told.
    pub(super) fn refuse(mut self, why: Error) -> Self {
        self.given += 1;
        self.wrong.get_or_insert(why);
        self
    }
}

impl<'a, K: Launched> Launch<'a, K> {
    /// The kernel: its text, and what devices make of it.
    pub fn kernel(&self) -> &'a K {
        self.kernel
    }

    /// The threads of a block, where somebody chose them.
    pub fn chosen_block(&self) -> Option<[u64; 3]> {
        self.block
    }

    /// How many threads, in x, or in x and y, or in x, y and z. Without it there is one for each element of the first tensor that
    /// is written; a kernel that reads several coordinates has its axes, the last of which is x.
    pub fn threads(mut self, threads: impl Counts) -> Self {
        self.threads = Some(threads.counts());
        self
    }

    /// How many blocks; with [`Launch::block`] instead of [`Launch::threads`].
    pub fn grid(mut self, blocks: impl Counts) -> Self {
        self.grid = Some(blocks.counts());
        self
    }

    /// How many threads a block has.
    pub fn block(mut self, threads: impl Counts) -> Self {
        self.block = Some(threads.counts());
        self
    }

    /// Where to run. Without it the device is the one that [`compile`](crate::compile) takes.
    pub fn on(mut self, device: &Arc<dyn Device>) -> Self {
        self.device = Some(device.clone());
        self
    }

    /// Runs it. Tensors stay on the device that ran the kernel; a GPU may still be at work when this comes back, unless accesses
    /// had to be watched. An access outside a tensor does nothing, and gives an error that [`Error::fault`] tells more about.
    pub fn run(self) -> Result<(), Error> {
        self.run_with(&|launcher, launch| launcher.launch(launch))
    }

    fn run_with(self, start: Start) -> Result<(), Error> {
        let gathers = |argument: &Argument<'_>| matches!(argument, Argument::Read(reading) if reading.is_gathered());
        if self.arguments.iter().any(gathers) {
            // The view and the kernel may be one program.
            return slyz_run::lazily(|| self.run_now(start));
        }
        self.run_now(start)
    }

    fn run_now(mut self, start: Start) -> Result<(), Error> {
        if let Some(wrong) = self.wrong.take().or_else(|| self.kernel.missing(self.given)) {
            return Err(wrong);
        }
        let threads = self.layout()?;
        let device = match &self.device {
            Some(device) => device.clone(),
            None => slyz_run::device(None)?,
        };
        let launcher = self.kernel.ready_on(&device)?;
        let mut reads = vec![];
        let mut writes = vec![];
        // Reads keep their places; what is written is copied here if it is the host's.
        for argument in self.arguments {
            match argument {
                Argument::Read(reading) => reads.push(Some(reading.begin(&device)?)),
                Argument::Write(writing) => {
                    reads.push(None);
                    writes.push(writing.begin()?);
                }
            }
        }
        let mut written = writes.iter_mut();
        let memories = reads.iter().filter_map(|read| match read {
            Some(reading) => Some(reading.array()),
            None => written.next().map(|written| Ok(written.array())),
        });
        let memories = memories.collect::<Result<Vec<_>, Error>>()?;
        let done = start(&*launcher, slyz_run::Launch { threads, memories, scalars: self.scalars });
        match &done {
            // All other accesses were done.
            Ok(()) | Err(slyz_run::Error::Fault(_)) => writes.into_iter().try_for_each(|written| written.end())?,
            Err(slyz_run::Error::Parameter { .. } | slyz_run::Error::Threads { .. }) => {}
            Err(_) => self.kernel.forget(),
        }
        Ok(done?)
    }

    fn layout(&self) -> Result<Threads, Error> {
        let wrong = |why: &str| {
            let kernel = self.kernel.name().to_string();
            let why = why.to_string();
            Err(slyz_run::Error::Threads { kernel, why }.into())
        };
        let block = match self.block.map(|block| block.map(u32::try_from)) {
            None => None,
            Some([Ok(x), Ok(y), Ok(z)]) => Some([x, y, z]),
            Some(_) => return wrong("a block of so many threads is past every device; ask for 1024 at most"),
        };
        match (self.threads, self.grid, block) {
            (None, None, None) => Ok(Threads::Inferred),
            (Some(threads), None, None) => Ok(Threads::Exact(threads)),
            (Some(threads), None, Some(block)) => Ok(Threads::InBlocks { threads, block }),
            (None, Some(grid), Some(block)) => Ok(Threads::Blocks { grid, block }),
            (None, Some(_), None) => {
                wrong("`.grid(..)` counts blocks; say how many threads each has with `.block(..)`")
            }
            (None, None, Some(_)) => wrong("`.block(..)` wants `.grid(..)` for how many blocks, or `.threads(..)`"),
            (Some(_), Some(_), _) => wrong("`.threads(..)` and `.grid(..)` say the same thing twice; leave one out"),
        }
    }
}

impl<'a> UncheckedLaunch<'a> {
    /// As [`Launch::threads`].
    pub fn threads(self, threads: impl Counts) -> Self {
        UncheckedLaunch(self.0.threads(threads))
    }

    /// As [`Launch::grid`].
    pub fn grid(self, blocks: impl Counts) -> Self {
        UncheckedLaunch(self.0.grid(blocks))
    }

    /// As [`Launch::block`].
    pub fn block(self, threads: impl Counts) -> Self {
        UncheckedLaunch(self.0.block(threads))
    }

    /// As [`Launch::on`].
    pub fn on(self, device: &Arc<dyn Device>) -> Self {
        UncheckedLaunch(self.0.on(device))
    }

    /// The same launch with its accesses watched.
    pub fn checked(self) -> Launch<'a> {
        self.0
    }

    /// Runs it, as [`Launch::run`] does, without a look at its accesses.
    ///
    /// # Safety
    /// No thread reads or writes outside a tensor or an array of the kernel.
    // The one thing in this crate that safe code cannot promise: it is handed on to the caller.
    #[allow(unsafe_code)]
    pub unsafe fn run(self) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        self.0.run_with(&|launcher, launch| unsafe { launcher.launch_unchecked(launch) })
    }
}
