//! A program that a device has compiled: its plans by classes of sizes, and the numbers of its latest calls.

use super::call::{Call, Slot};
use super::engine::Engine;
use super::numbers::Prepared;
use super::variant::Variant;
use super::waiting::{self, Callable};
use crate::device::Seal;
use crate::memo::Memo;
use crate::signature::{Signature, Sizes};
use crate::{Argument, Buffer, BuildTime, Error, Executable, Kept, Output, hash, tune};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Plan;
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::Expected;
use slyz_sir::meaning;
use slyz_sir::program::Program;
use std::sync::Arc;
use std::time::Instant;

/// Plans that are kept.
const KEPT_VARIANTS: usize = 16;

/// A program, and what it became for the sizes of its calls.
pub(crate) struct Compiled<E: Engine> {
    pub(super) engine: E,
    pub(super) signature: Signature,
    /// As it came, for calls that wait.
    pub(super) callable: Arc<Callable>,
    pub(super) program: Program,
    source: String,
    built: Option<BuildTime>,
    /// The plan that expects nothing.
    usual: Arc<Variant<E>>,
    variants: Memo<Variant<E>>,
    calls: Kept<Prepared<E>>,
    /// Those whose plans the clock has chosen.
    tuned: Kept<Prepared<E>>,
}

impl<E: Engine> Compiled<E> {
    /// What cannot be compiled for any sizes is an error now.
    ///
    /// # Safety
    /// Positions of the program are inside its arrays, by construction or because they are tested.
    pub(crate) unsafe fn new(engine: E, program: &Program) -> Result<Compiled<E>, Error> {
        let start = Instant::now();
        let signature = Signature::of(program);
        let callable = Arc::new(Callable::new(program.clone()));
        let program = match E::LANGUAGE {
            Some(language) => meaning::chosen(program, language),
            None => meaning::meant(program),
        };
        let program = engine.begin(&program)?;
        let plan = engine.lower(&program, &Expected::default(), false, Choice::USUAL);
        let usual = Arc::new(Variant::of_program(plan, &signature)?);
        let passes = start.elapsed();
        let built = engine.build(&usual)?.map(|time| BuildTime { passes, ..time });
        let source = engine.source(&usual)?;
        let variants = Memo::new(KEPT_VARIANTS);
        Ok(Compiled {
            engine,
            signature,
            callable,
            program,
            source,
            built,
            usual,
            variants,
            calls: Kept::default(),
            tuned: Kept::default(),
        })
    }

    /// The plan for some sizes.
    pub(super) fn variant(&self, sizes: &Sizes, choice: Choice) -> Result<Arc<Variant<E>>, Error> {
        let by_size = self.engine.plans_by_size();
        if !by_size && choice == Choice::USUAL {
            return Ok(self.usual.clone());
        }
        let expected = if by_size { Expected::of(sizes.values()) } else { Expected::default() };
        let in_pieces = self.has_large_arrays(sizes);
        self.variants.get(hash::of(&(&expected, in_pieces, choice)), || {
            let plan = self.engine.lower(&self.program, &expected, in_pieces, choice);
            if plan == self.usual.plan {
                return Ok(self.usual.clone());
            }
            Ok(Arc::new(Variant::of_program(plan, &self.signature)?))
        })
    }

    /// Has a call of these sizes arrays that are larger than what a kernel sees?
    fn has_large_arrays(&self, sizes: &Sizes) -> bool {
        let Some(limits) = self.engine.limits() else { return false };
        let is_large = |bytes: usize| bytes as u64 > limits.launch.window_bytes;
        let buffers = &self.usual.plan.buffers;
        buffers.iter().any(|buffer| sizes.extent(buffer.ty, &buffer.shape).is_ok_and(|(_, bytes)| is_large(bytes)))
    }

    /// Runs it now, whether or not calls of this thread wait.
    pub(super) fn run_now(
        &self,
        sizes: &[Option<u64>],
        args: &[Argument<'_>],
        into: &mut [Option<&mut Buffer>],
    ) -> Result<Vec<Output>, Error> {
        if tune::is_wanted() {
            return self.run_with(sizes, args, into, &|sizes| self.best(sizes, args), Some(&self.tuned));
        }
        self.run_with(sizes, args, into, &|_| Ok(Choice::USUAL), Some(&self.calls))
    }

    /// Runs it with the plan of a choice. What is worked out for its sizes is found where such is kept, if anywhere.
    pub(super) fn run_with(
        &self,
        sizes: &[Option<u64>],
        args: &[Argument<'_>],
        into: &mut [Option<&mut Buffer>],
        choice: &dyn Fn(&Sizes) -> Result<Choice, Error>,
        kept: Option<&Kept<Prepared<E>>>,
    ) -> Result<Vec<Output>, Error> {
        let engine = &self.engine;
        engine.alive()?;
        let (sizes, args) = self.signature.check(sizes, args, |buffer| engine.holds(buffer))?;
        let prepare = || Prepared::new(engine, self.variant(&sizes, choice(&sizes)?)?, &sizes, 0);
        let once;
        let found;
        let prepared = match kept {
            Some(kept) => {
                found = kept.get(|prepared| prepared.is_for(&sizes), prepare)?;
                &*found
            }
            None => {
                once = prepare()?;
                &once
            }
        };
        let slots = prepared.variant.plan.buffers.iter().map(|_| Slot::Empty).collect();
        let mut call = Call::new(engine, prepared, sizes, args, slots, E::Queue::default());
        for (number, buffer) in into.iter_mut().enumerate() {
            if let Some(buffer) = buffer {
                call.offer(number, buffer)?;
            }
        }
        // SAFETY: slots that are filled are memory that nobody else sees. Accesses are inside: the promise of `Compiled::new`.
        unsafe { call.run() }?;
        call.outputs()
    }
}

impl<E: Engine> Executable for Compiled<E> {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        self.run_into(sizes, args, &mut [])
    }

    fn run_into(
        &self,
        sizes: &[Option<u64>],
        args: &[Argument<'_>],
        into: &mut [Option<&mut Buffer>],
    ) -> Result<Vec<Output>, Error> {
        // SAFETY: the promise of `Compiled::new`.
        match unsafe { waiting::note(&self.engine, &self.callable, sizes, args) }? {
            Some(promised) => Ok(promised),
            None => self.run_now(sizes, args, into),
        }
    }

    fn precision(&self) -> Precision {
        self.engine.precision(self.program.precision)
    }

    fn build_time(&self) -> Option<BuildTime> {
        self.built
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.usual.plan)
    }

    fn device(&self) -> &str {
        E::NAME
    }

    fn copy_bandwidth(&self, _device: &str) -> Result<f64, Error> {
        self.engine.copy_bandwidth()
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}
