//! The two traits every device implements.
//!
//! A device is made once per process and shared; both traits are used from many threads at a time.

use crate::profile::host_bandwidth;
use crate::{Argument, ArrayData, Buffer, BuildTime, Error, Launcher, Output};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use std::sync::Arc;

/// Something that compiles programs.
pub trait Device: Send + Sync {
    /// The name by which users ask for it.
    fn name(&self) -> &str;

    /// One line for people: what it is and what it works with.
    fn describe(&self) -> String;

    /// A program made ready to run, whoever wrote it: it is verified, and positions that are not plainly inside their arrays are tested
    /// while it runs ([`confine`](slyz_sir::pass::confine)). A read outside gives zero; the interpreter tells where it is.
    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error>;

    /// The same without the tests, for front ends whose positions are inside by construction. A device that does not care
    /// about the difference need not implement it.
    ///
    /// # Safety
    /// In every call that the program's signature and `requires` allow, with arguments that the caller lets through, the index of
    /// every `at` that is evaluated is inside its array. Generated code does not look.
    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        self.compile(program)
    }

    /// A kernel that somebody wrote, made ready to be launched. Accesses that have no `check` get one.
    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error>;

    /// Data in the memory that the device works in, from wherever it is. What is there already is shared.
    ///
    /// ```
    /// use slyz_run::ArrayData;
    /// let device = slyz_run::device(Some("interpreter"))?;
    /// let buffer = device.upload(ArrayData::Host(&[1, 2]))?;
    /// assert_eq!(buffer.bytes()?, [1, 2]);
    /// # Ok::<(), slyz_run::Error>(())
    /// ```
    fn upload(&self, data: ArrayData<'_>) -> Result<Buffer, Error> {
        match data {
            ArrayData::Host(bytes) => Buffer::copy_of(bytes),
            ArrayData::Buffer(buffer) => buffer.to_host(),
        }
    }

    /// Waits for everything that the device was given to do. Reading a result waits for what it needs; this is for
    /// clocks, and to hear of failures early.
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Bytes that a copy in the device's memory reads and writes in a second, measured once: what a launch can hope for.
    fn copy_bandwidth(&self) -> Result<f64, Error> {
        host_bandwidth()
    }

    /// Are right factors of products best off [in panels](slyz_sir::lower::cpu::in_panels), where they stay the same from call to call?
    fn wants_panels(&self) -> bool {
        false
    }

    #[doc(hidden)]
    fn is_own(&self, _: Seal) -> bool {
        false
    }
}

mod seal {
    /// An argument that only this crate can name: methods that take it are for its own devices to implement, and not to be
    /// called by others.
    #[derive(Clone, Copy, Debug)]
    pub struct Seal;
}
pub(crate) use seal::Seal;

/// Is it one of the devices of this crate? What those upload is what they were given.
pub fn is_own_device(device: &dyn Device) -> bool {
    device.is_own(Seal)
}

/// Did one of the devices of this crate compile it? Then its results have the types and shapes of the program, and are what the program
/// means. Whoever implements [`Executable`] elsewhere may return anything.
pub fn is_own_executable(executable: &dyn Executable) -> bool {
    executable.is_own(Seal)
}

/// A compiled program.
pub trait Executable: Send + Sync {
    /// Runs it. `sizes` has one value for each size variable of the program, `None` for those that are counted. A device
    /// with memory of its own may come back while it still works; reading the results waits.
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error>;

    /// Runs it, with memory of the caller's for results: one entry for each, `None` where the device takes memory of its own. Whether a
    /// result is in what was offered for it is the device's choice, so the caller takes the data of the output. After an error there may
    /// be anything in the buffer.
    fn run_into(
        &self,
        sizes: &[Option<u64>],
        args: &[Argument<'_>],
        into: &mut [Option<&mut Buffer>],
    ) -> Result<Vec<Output>, Error> {
        let _ = into;
        self.run(sizes, args)
    }

    /// What was generated, to read.
    fn source(&self) -> &str;

    /// The launches, where the device works by launches.
    fn plan(&self) -> Option<&Plan>;

    /// The name of the device that runs it. It is `interpreter` where the `cpu` device found no compiler.
    fn device(&self) -> &str;

    /// [`Device::copy_bandwidth`] of the device that runs it; of the one with that name where there are several.
    fn copy_bandwidth(&self, _device: &str) -> Result<f64, Error> {
        host_bandwidth()
    }

    /// How precise its floats are. CPUs and the interpreter keep every rounding.
    fn precision(&self) -> Precision {
        Precision::Exact
    }

    /// How long it took to compile, where the device knows.
    fn build_time(&self) -> Option<BuildTime> {
        None
    }

    /// Where a call with these sizes and arguments on the host would run and why, if the device chooses among others.
    fn choice(&self, _sizes: &[Option<u64>]) -> Option<String> {
        None
    }

    #[doc(hidden)]
    fn is_own(&self, _: Seal) -> bool {
        false
    }
}
