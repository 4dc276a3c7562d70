//! An opened GPU and what was compiled for it; opened at the first use, and again once it was lost.

use super::{Compiled, Engine, KernelLauncher};
use crate::memo::Memo;
use crate::{Error, Executable, Launcher, hash};
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use slyz_sir::verify;
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
