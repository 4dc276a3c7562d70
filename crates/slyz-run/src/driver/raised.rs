//! Launches of kernels that are array programs: found out at the launch, with its numbers, and run as the program.

use super::compiled::Compiled;
use super::engine::Engine;
use super::variant::Variant;
use super::waiting::{self, Callable};
use crate::launch::{Fitted, Outline};
use crate::memo::Memo;
use crate::signature::Signature;
use crate::{Argument, ArrayData, Buffer, Error, Kept, LaunchArray, Output, precision};
use slyz_sir::choices::Precision;
use slyz_sir::code::Type;
use slyz_sir::kernel::Space;
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::Expected;
use slyz_sir::raise::{Candidate, Numbers, Passed, Raised};
use slyz_sir::size::{Size, SizeVar};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Programs of one kernel that are kept.
const KEPT_PROGRAMS: usize = 16;

/// A kernel, as far as it is an array program.
pub(crate) struct RaisedKernel<E: Engine> {
    candidate: Option<Candidate>,
    /// Sums of floats may be taken in another order.
    reassociates: bool,
    launches: Kept<Case<E>>,
    programs: Memo<Compiled<E>>,
}

/// What is known of launches with the same numbers.
struct Case<E: Engine> {
    numbers: CaseNumbers,
    /// None where they run as written.
    ready: Option<Ready<E>>,
}

/// Sizes, scalars that count, by their places, and the block where the kernel sees it.
struct CaseNumbers {
    sizes: Vec<u64>,
    scalars: Vec<(usize, i128)>,
    block: [u32; 3],
}

/// The program of a launch, and how it is called.
struct Ready<E: Engine> {
    callable: Arc<Callable>,
    /// Made when it is first run by itself; nothing where that fails, and launches run as written.
    compiled: OnceLock<Option<Arc<Compiled<E>>>>,
    sizes: Vec<Option<u64>>,
    /// What is passed, and the extents of arrays.
    params: Vec<(Passed, Vec<u64>)>,
    results: Vec<usize>,
}

impl<E: Engine> RaisedKernel<E> {
    pub(crate) fn new(outline: &Outline) -> RaisedKernel<E> {
        let asked = outline.template.kernel.precision.map_or_else(precision::from_environment, Ok);
        let wanted = std::env::var("SLYZ_RAISE").map_or(true, |value| value != "0");
        RaisedKernel {
            candidate: wanted.then(|| Candidate::new(&outline.template).ok()).flatten(),
            // A setting that nobody understands is told when the kernel is compiled.
            reassociates: asked.is_ok_and(|asked| asked != Precision::Exact),
            launches: Kept::default(),
            programs: Memo::new(KEPT_PROGRAMS),
        }
    }

    /// Runs a launch whose accesses are inside, if it is an array program; false where it is to be run as written, and nothing has happened.
    pub(crate) fn run(
        &self,
        engine: &E,
        outline: &Outline,
        fitted: &mut Fitted<'_>,
        constants: &[Buffer],
    ) -> Result<bool, Error> {
        let Some(candidate) = &self.candidate else { return Ok(false) };
        let case = CaseNumbers::of(outline, fitted);
        let make = |mut numbers: CaseNumbers| {
            let raised = self.raised(candidate, fitted, &numbers);
            if let Some(raised) = &raised {
                numbers.scalars.retain(|(place, _)| raised.counted.contains(place));
            }
            let ready = raised.filter(|raised| raised.pays).and_then(|raised| ready(engine, outline, raised));
            Ok::<_, Error>(Case { numbers, ready })
        };
        let found = {
            let fits = |known: &Case<E>| known.numbers.is(outline, fitted);
            self.launches.get(fits, || make(case))?
        };
        match &found.ready {
            // What was to be written is as it was, or is written once more.
            Some(ready) => Ok(ready.run(engine, &self.programs, outline, fitted, constants).is_ok()),
            None => Ok(false),
        }
    }

    fn raised(&self, candidate: &Candidate, fitted: &Fitted<'_>, case: &CaseNumbers) -> Option<Raised> {
        let numbers = Numbers { sizes: &case.sizes, scalars: &fitted.scalars };
        candidate.raise(case.block, Some(numbers), self.reassociates).ok()
    }
}

fn ready<E: Engine>(engine: &E, outline: &Outline, raised: Raised) -> Option<Ready<E>> {
    let Raised { program, sizes, params, results, .. } = raised;
    // A call that waits has no way back to its threads, so what has no plan is found out now.
    let plan = engine.lower(&engine.begin(&program).ok()?, &Expected::default(), false, Choice::USUAL);
    Variant::<E>::of_program(plan, &Signature::of(&program)).ok()?;
    let value = |SizeVar(var): SizeVar| sizes.get(var as usize).copied().flatten();
    let extents = |ty: &Type| ty.shape().iter().map(|size: &Size| size.eval(&value).ok()).collect::<Option<Vec<u64>>>();
    let shapes = program.body.params.iter().map(|param| extents(&param.ty)).collect::<Option<Vec<_>>>()?;
    let global = |memory: &usize| {
        let before = &outline.template.kernel.memories[..*memory];
        before.iter().filter(|memory| matches!(memory.space, Space::Global(_))).count()
    };
    let params = params.into_iter().map(|passed| match passed {
        Passed::Memory(memory) => Passed::Memory(global(&memory)),
        Passed::Constant(_) | Passed::Scalar(_) => passed,
    });
    Some(Ready {
        callable: Arc::new(Callable::new(program)),
        compiled: OnceLock::new(),
        params: params.zip(shapes).collect(),
        results: results.iter().map(global).collect(),
        sizes,
    })
}

impl CaseNumbers {
    fn of(outline: &Outline, fitted: &Fitted<'_>) -> CaseNumbers {
        let mut sizes = fitted.sizes.clone();
        let block = if outline.nature.free { [1; 3] } else { fitted.field.block };
        if outline.nature.free {
            // Whatever the layout is, no other threads do anything.
            sizes[..3].copy_from_slice(&fitted.field.threads);
        }
        CaseNumbers { sizes, scalars: counts(fitted).collect(), block }
    }

    /// Are these the numbers of the launch?
    fn is(&self, outline: &Outline, fitted: &Fitted<'_>) -> bool {
        let same_blocks = outline.nature.free || self.block == fitted.field.block;
        let front = if outline.nature.free { &fitted.field.threads } else { &fitted.field.grid };
        same_blocks
            && self.sizes[..3] == front[..]
            && self.sizes[3..] == fitted.sizes[3..]
            && self
                .scalars
                .iter()
                .all(|&(place, number)| fitted.scalars.get(place).map(|scalar| scalar.as_int()) == Some(number))
    }
}

fn counts(fitted: &Fitted<'_>) -> impl Iterator<Item = (usize, i128)> {
    let scalars = fitted.scalars.iter().enumerate().filter(|(_, scalar)| scalar.ty.is_int());
    scalars.map(|(place, scalar)| (place, scalar.as_int()))
}

impl<E: Engine> Ready<E> {
    /// Notes the call, if calls of this thread wait, or runs it.
    fn call(
        &self,
        engine: &E,
        programs: &Memo<Compiled<E>>,
        args: &[Argument<'_>],
        into: &mut [Option<&mut Buffer>],
    ) -> Result<Vec<Output>, Error> {
        // SAFETY: accesses of the launch are inside, and the program is for it.
        if let Some(promised) = unsafe { waiting::note(engine, &self.callable, &self.sizes, args) }? {
            return Ok(promised);
        }
        let compiled = self.compiled.get_or_init(|| {
            let compiled = programs.get(self.callable.hash, || {
                // SAFETY: the same; launches with other numbers were raised by themselves.
                Ok(Arc::new(unsafe { Compiled::new(engine.clone(), &self.callable.program) }?))
            });
            compiled.ok()
        });
        let Some(compiled) = compiled else {
            let name = self.callable.program.name.clone();
            return Err(Error::Plan { name, why: "it cannot be compiled as a program".to_string() });
        };
        compiled.run_now(&self.sizes, args, into)
    }

    fn run(
        &self,
        engine: &E,
        programs: &Memo<Compiled<E>>,
        outline: &Outline,
        fitted: &mut Fitted<'_>,
        constants: &[Buffer],
    ) -> Result<(), Error> {
        let is_passed = |array: usize| self.params.iter().any(|(passed, _)| *passed == Passed::Memory(array));
        // What is read and written at once is read as it was.
        let old: Vec<Option<Buffer>> = fitted
            .arrays
            .iter()
            .enumerate()
            .map(|(place, array)| match array {
                LaunchArray::Write { data, .. } if is_passed(place) => Some((*data).clone()),
                LaunchArray::Write { .. } | LaunchArray::Read { .. } => None,
            })
            .collect();
        let kernel = &outline.template.kernel;
        let globals: Vec<_> =
            kernel.memories.iter().filter(|memory| matches!(memory.space, Space::Global(_))).collect();
        let constant_types: Vec<_> =
            kernel.memories.iter().filter(|memory| memory.space == Space::Constant).map(|memory| memory.ty).collect();
        let broken = || Error::Plan { name: kernel.name.clone(), why: "its program has other arguments".to_string() };
        let mut taken: Vec<(usize, &mut Buffer)> = vec![];
        let mut read = vec![None; fitted.arrays.len()];
        for (place, array) in fitted.arrays.iter_mut().enumerate() {
            match array {
                LaunchArray::Read { data, .. } => read[place] = Some(*data),
                LaunchArray::Write { data, .. } => {
                    read[place] = old[place].as_ref().map(ArrayData::Buffer);
                    taken.push((place, data));
                }
            }
        }
        let mut args = vec![];
        for (passed, shape) in &self.params {
            let array = |ty, data| Argument::Array { ty, shape: Cow::Borrowed(&shape[..]), data };
            args.push(match *passed {
                Passed::Scalar(place) => Argument::Scalar(*fitted.scalars.get(place).ok_or_else(broken)?),
                Passed::Memory(place) => {
                    let data = read.get(place).copied().flatten().ok_or_else(broken)?;
                    array(globals.get(place).ok_or_else(broken)?.ty, data)
                }
                Passed::Constant(place) => {
                    let data = ArrayData::Buffer(constants.get(place).ok_or_else(broken)?);
                    array(*constant_types.get(place).ok_or_else(broken)?, data)
                }
            });
        }
        let mut into: Vec<Option<&mut Buffer>> = vec![];
        for result in &self.results {
            let found = taken.iter().position(|(place, _)| place == result && old[*place].is_none());
            into.push(found.map(|found| taken.swap_remove(found).1));
        }
        let outputs = self.call(engine, programs, &args, &mut into)?;
        drop(into);
        drop(args);
        for (result, output) in self.results.iter().zip(outputs) {
            if let Some(LaunchArray::Write { data, .. }) = fitted.arrays.get_mut(*result) {
                **data = output.data;
            }
        }
        Ok(())
    }
}
