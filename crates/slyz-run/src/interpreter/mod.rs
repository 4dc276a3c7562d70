//! The interpreter as a device: slow, exact, and there on every machine.

mod launch;

#[cfg(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu"))]
pub(crate) use launch::InterpretedKernel;

use crate::device::Seal;
use crate::progress::Meter;
use crate::signature::{Bound, Signature, read_scalars};
use crate::turns::most_turns;
use crate::{Argument, Buffer, Device, Error, Executable, Launcher, Output};
use slyz_sir::interp::program::{InterpError, Options, Taken};
use slyz_sir::interp::{self, Array, Value};
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;
use std::sync::{Arc, OnceLock};

/// Runs the meaning of SIR.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interpreter;

impl Interpreter {
    /// The device's name.
    pub const NAME: &'static str = "interpreter";
}

impl Device for Interpreter {
    fn name(&self) -> &str {
        Interpreter::NAME
    }

    fn describe(&self) -> String {
        "interpreter: the meaning of SIR, run one element at a time".to_string()
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Executable>, Error> {
        verify::program(program)?;
        let signature = Signature::of(program);
        Ok(Arc::new(Interpreted { program: program.clone(), signature, text: OnceLock::new() }))
    }

    fn prepare(&self, kernel: &Arc<Template>) -> Result<Arc<dyn Launcher>, Error> {
        Ok(Arc::new(launch::InterpretedKernel::new(kernel)?))
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}

struct Interpreted {
    program: Program,
    signature: Signature,
    text: OnceLock<String>,
}

impl Executable for Interpreted {
    fn run(&self, sizes: &[Option<u64>], args: &[Argument<'_>]) -> Result<Vec<Output>, Error> {
        let (sizes, bound) = self.signature.check(sizes, args, |_| false)?;
        let mut values = vec![];
        for (bound, arg) in bound.iter().zip(args) {
            values.push(value(bound, arg)?);
        }
        let most = most_turns();
        let options = Options { loop_turns: most, ..Options::default() };
        let mut meter = None;
        let mut watch = |Taken { done, of }: Taken| {
            if done == 0 {
                meter = Meter::start(Interpreter::NAME, || format!("{}_turns", self.program.name), of);
            } else if let Some(meter) = &mut meter {
                meter.turns(done);
            }
        };
        let results = interp::program::run_watched(&self.program, sizes.values(), &values, &options, &mut watch);
        drop(meter);
        let results = results.map_err(|error| match error {
            InterpError::Endless(most) => Error::Turns { name: format!("{}_turns", self.program.name), most },
            other => other.into(),
        })?;
        results.into_iter().map(output).collect()
    }

    fn source(&self) -> &str {
        self.text.get_or_init(|| self.program.to_string())
    }

    fn plan(&self) -> Option<&Plan> {
        None
    }

    fn device(&self) -> &str {
        Interpreter::NAME
    }

    fn is_own(&self, _: Seal) -> bool {
        true
    }
}

fn value(bound: &Bound, arg: &Argument) -> Result<Value, Error> {
    let (ty, shape, data) = match (bound, arg) {
        (Bound::Array(data), Argument::Array { ty, shape, .. }) => (*ty, shape.to_vec(), data.bytes()?),
        (Bound::Scalar(scalar), _) | (_, Argument::Scalar(scalar)) => return Ok(Value::Scalar(*scalar)),
    };
    let mut words = room::<u64>(data.len() / ty.bytes())?;
    words.extend(read_scalars(ty, data).map(|scalar| scalar.bits));
    Ok(Value::Array(Array { ty, shape, data: words }))
}

fn output(value: Value) -> Result<Output, Error> {
    match value {
        Value::Scalar(Scalar { ty, bits }) => write(ty, vec![], &[bits]),
        Value::Array(Array { ty, shape, data }) => write(ty, shape, &data),
    }
}

fn write(ty: Ty, shape: Vec<u64>, words: &[u64]) -> Result<Output, Error> {
    let mut bytes = room(words.len().saturating_mul(ty.bytes()))?;
    for word in words {
        let word = word.to_ne_bytes();
        let place = if cfg!(target_endian = "little") { 0 } else { 8 - ty.bytes() };
        bytes.extend_from_slice(&word[place..place + ty.bytes()]);
    }
    Ok(Output { ty, shape, data: Buffer::copy_of(&bytes)? })
}

/// An empty list with room for that many, or an error where `Vec` would abort.
fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = vec![];
    let bytes = count.saturating_mul(size_of::<T>()) as u64;
    let what = || "an array in the interpreter".to_string();
    list.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { what: what(), bytes })?;
    Ok(list)
}
