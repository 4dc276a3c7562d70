//! An opened GPU and what was compiled for it; opened at the first use, and again once it was lost.

use super::{Compiled, Engine, KernelLauncher};
use crate::device::Seal;
use crate::memo::Memo;
use crate::{ArrayData, Buffer, Device, Error, Executable, Launcher, hash};
use slyz_sir::choices::Precision;
use slyz_sir::launch::Template;
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::types::Ty;
use slyz_sir::verify;
#[cfg(any(feature = "cuda", feature = "hip"))]
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Compiled programs that are kept when nobody uses them.
const KEPT_GRAPHS: usize = 256;

/// A GPU at work.
pub(crate) struct AtWork<E: Engine> {
    pub(crate) engine: E,
    memo: Memo<dyn Executable>,
    launchers: Memo<dyn Launcher>,
}

impl<E: Engine> AtWork<E> {
    /// # Safety
    /// As [`crate::Device::compile_trusted`].
    pub(crate) unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        self.memo.get(hash::structural(program), || {
            verify::program(program)?;
            // SAFETY: the caller's promise.
            Ok(Arc::new(unsafe { Compiled::new(self.engine.clone(), program) }?))
        })
    }

    pub(crate) fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        self.launchers.get(hash::of(&**kernel), || Ok(Arc::new(KernelLauncher::new(self.engine.clone(), kernel)?)))
    }
}

/// Where a device keeps its GPU.
pub(crate) struct Slot<E: Engine>(Mutex<Option<Arc<AtWork<E>>>>);

impl<E: Engine> Default for Slot<E> {
    fn default() -> Slot<E> {
        Slot(Mutex::default())
    }
}

impl<E: Engine> Slot<E> {
    /// The GPU, if somebody has used it.
    pub(crate) fn seen(&self) -> Option<Arc<AtWork<E>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The GPU, or else what `open` opens. A failure is not kept: a driver may be installed later.
    pub(crate) fn get(&self, open: impl FnOnce() -> Result<E, Error>) -> Result<Arc<AtWork<E>>, Error> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at_work) = &*slot
            && at_work.engine.alive().is_ok()
        {
            return Ok(at_work.clone());
        }
        let engine = open()?;
        let (memo, launchers) = (Memo::new(KEPT_GRAPHS), Memo::new(KEPT_GRAPHS));
        Ok(slot.insert(Arc::new(AtWork { engine, memo, launchers })).clone())
    }
}

/// The devices on GPUs that everybody shares, by number or what else tells them apart.
#[cfg(any(feature = "cuda", feature = "hip"))]
pub(crate) struct Shared<D, K = i32>(Mutex<BTreeMap<K, Arc<D>>>);

#[cfg(any(feature = "cuda", feature = "hip"))]
impl<D, K: Ord + Copy> Shared<D, K> {
    pub(crate) const fn new() -> Shared<D, K> {
        Shared(Mutex::new(BTreeMap::new()))
    }

    /// The device of that number, which `make` makes where there is none.
    pub(crate) fn get(&self, number: K, make: impl FnOnce(K) -> D) -> Arc<D> {
        let mut devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        devices.entry(number).or_insert_with(|| Arc::new(make(number))).clone()
    }
}

/// A device whose GPU is opened when it is first used.
pub(crate) trait OpensWhenUsed: Send + Sync {
    type Engine: Engine;

    fn slot(&self) -> &Slot<Self::Engine>;

    /// Opens the GPU, for programs and kernels that ask for no precision with that one.
    fn open(&self, precision: Precision) -> Result<Self::Engine, Error>;

    /// The precision that the device was made with, if any.
    fn precision(&self) -> Option<Precision>;

    fn describe(engine: &Self::Engine) -> String;

    fn synchronize(engine: &Self::Engine) -> Result<(), Error>;

    fn at_work(&self) -> Result<Arc<AtWork<Self::Engine>>, Error> {
        self.slot().get(|| {
            let precision = match self.precision() {
                Some(precision) => precision,
                None => crate::precision::from_environment()?,
            };
            self.open(precision)
        })
    }
}

impl<G: OpensWhenUsed> Device for G {
    fn name(&self) -> &str {
        G::Engine::NAME
    }

    fn describe(&self) -> String {
        let name = G::Engine::NAME;
        match self.at_work() {
            Ok(at_work) => format!("{name}: {}", G::describe(&at_work.engine)),
            Err(error) => format!("{name}: not usable here: {error}"),
        }
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        // SAFETY: what is left without a test is inside.
        unsafe { self.compile_trusted(&confine::program(program.clone())) }
    }

    unsafe fn compile_trusted(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.at_work()?.compile_trusted(program) }
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        self.at_work()?.prepare(kernel)
    }

    fn upload(&self, data: ArrayData<'_>) -> Result<Buffer, Error> {
        super::resident(&self.at_work()?.engine, Ty::U8, data)
    }

    fn synchronize(&self) -> Result<(), Error> {
        // A GPU that nobody has opened has nothing to do.
        self.slot().seen().map_or(Ok(()), |at_work| G::synchronize(&at_work.engine))
    }

    fn copy_bandwidth(&self) -> Result<f64, Error> {
        self.at_work()?.engine.copy_bandwidth()
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}
