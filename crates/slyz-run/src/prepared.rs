//! Programs in parts: what is made of one argument alone is made once, for as long as the argument stays the same.

use crate::device::Seal;
use crate::{Argument, ArrayData, Buffer, Device, Error, Executable, Output};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Plan;
use slyz_sir::prepare::{self, Source};
use std::sync::{Arc, Mutex, PoisonError};

/// What is kept of each part.
const KEPT: usize = 4;

/// A program in parts, compiled.
pub struct Prepared {
    packs: Vec<Pack>,
    main: Arc<dyn Executable>,
    sources: Vec<Source>,
}

struct Pack {
    argument: usize,
    code: Arc<dyn Executable>,
    /// What was made, the latest last.
    kept: Mutex<Vec<Made>>,
}

/// What was made of an argument. The argument is held too: whoever writes to it gets a copy, so that what was made stays right.
#[derive(Clone)]
struct Made {
    of: Buffer,
    sizes: Vec<Option<u64>>,
    shape: Vec<u64>,
    outputs: Vec<Output>,
}

impl Prepared {
    /// Compiles the parts.
    ///
    /// # Safety
    /// As [`Device::compile_trusted`], for each part.
    pub unsafe fn new(device: &dyn Device, parts: prepare::Prepared) -> Result<Prepared, Error> {
        // SAFETY: the caller's promise.
        let compiled = |program: &slyz_sir::program::Program| unsafe { device.compile_trusted(program) };
        let mut packs = vec![];
        for prepare::Pack { argument, program } in parts.packs {
            packs.push(Pack { argument, code: compiled(&program)?, kept: Mutex::default() });
        }
        Ok(Prepared { packs, main: compiled(&parts.main)?, sources: parts.sources })
    }
}

impl Pack {
    fn made(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        let given = args.get(self.argument).into_iter().cloned();
        let (of, shape) = match args.get(self.argument) {
            Some(Argument::Array { data: ArrayData::Buffer(buffer), shape, .. }) => (buffer, shape),
            // Nobody can say whether that is the same as before.
            _ => return self.code.run(sizes, &given.collect::<Vec<Argument>>()),
        };
        let is_same = |made: &Made| made.of.shares(of) && made.shape == **shape && made.sizes == sizes;
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = kept().iter().find(|made| is_same(made)) {
            return Ok(made.outputs.clone());
        }
        let outputs = self.code.run(sizes, &given.collect::<Vec<Argument>>())?;
        let made =
            Made { of: Buffer::clone(of), sizes: sizes.to_vec(), shape: shape.to_vec(), outputs: outputs.clone() };
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(made);
        Ok(outputs)
    }
}

impl Executable for Prepared {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        self.run_into(sizes, args, &mut [])
    }

    fn run_into(
        &self,
        sizes: &[Option<u64>],
        args: &[Argument<'_>],
        into: &mut [Option<&mut Buffer>],
    ) -> Result<Vec<Output>, Error> {
        let packed: Vec<Vec<Output>> =
            self.packs.iter().map(|pack| pack.made(sizes, args)).collect::<Result<_, Error>>()?;
        let source = |source: &Source| match *source {
            Source::Argument(place) => args.get(place).cloned(),
            Source::Packed { pack, result } => packed.get(pack)?.get(result).map(Output::as_argument),
        };
        let args: Vec<Argument> = self.sources.iter().filter_map(source).collect();
        self.main.run_into(sizes, &args, into)
    }

    fn source(&self) -> &str {
        self.main.source()
    }

    fn plan(&self) -> Option<&Plan> {
        self.main.plan()
    }

    fn device(&self) -> &str {
        self.main.device()
    }

    fn copy_bandwidth(&self, device: &str) -> Result<f64, Error> {
        self.main.copy_bandwidth(device)
    }

    fn precision(&self) -> Precision {
        self.main.precision()
    }

    fn build_time(&self) -> Option<crate::BuildTime> {
        self.main.build_time()
    }

    fn choice(&self, sizes: &[Option<u64>]) -> Option<String> {
        self.main.choice(sizes)
    }

    fn is_own(&self, seal: Seal) -> bool {
        self.main.is_own(seal)
    }
}
