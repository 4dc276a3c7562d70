//! Launches in the interpreter: slow, exact, and with every mistake of the trade named.

use super::{Interpreter, room};
use crate::launch::{Fitted, Outline, check_block};
use crate::signature::read_scalars;
use crate::{Error, Launch, LaunchArray, Launcher};
use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{KernelError, LaunchOptions, launch};
use slyz_sir::kernel::Kernel;
use slyz_sir::launch::Template;
use std::sync::Arc;

/// The most threads of a block, those of the verifier.
const MOST: u32 = 1024;

/// A kernel, run as it is written.
pub(crate) struct InterpretedKernel {
    outline: Outline,
}

impl InterpretedKernel {
    pub(crate) fn new(template: &Arc<Template>) -> Result<InterpretedKernel, Error> {
        Ok(InterpretedKernel { outline: Outline::new(template)? })
    }

    /// The bound memories as the interpreter has them.
    fn arrays(&self, fitted: &Fitted) -> Result<Vec<Array>, Error> {
        let template = &self.outline.template;
        let mut given = fitted.arrays.iter();
        let mut constants = template.constants.iter();
        let mut arrays = vec![];
        for memory in template.kernel.memories.iter().filter(|memory| memory.space.is_bound()) {
            let shape = memory.shape.iter().map(|size| fitted.size(size).unwrap_or(0)).collect();
            let data = match memory.space {
                slyz_sir::kernel::Space::Constant => constants.next().cloned().unwrap_or_default(),
                _ => {
                    let bytes = given.next().map(|array| array.data()).map_or(Ok(&[][..]), |data| data.bytes())?;
                    let mut words = room::<u64>(bytes.len() / memory.ty.bytes())?;
                    words.extend(read_scalars(memory.ty, bytes).map(|scalar| scalar.bits));
                    words
                }
            };
            arrays.push(Array { ty: memory.ty, shape, data });
        }
        Ok(arrays)
    }
}

impl Launcher for InterpretedKernel {
    fn launch(&self, asked: Launch<'_>) -> Result<(), Error> {
        let mut fitted = self.outline.fit(asked, |_| false)?;
        check_block(&fitted.field, self.outline.name(), [MOST; 3], MOST)?;
        if fitted.field.is_empty() {
            return Ok(());
        }
        let mut arrays = self.arrays(&fitted)?;
        let kernel = self.outline.template.shaped(fitted.field.block, !fitted.field.is_whole(), false);
        let done = launch(&kernel, &fitted.sizes, &mut arrays, &fitted.scalars, &LaunchOptions::default());
        // Whatever went wrong, what was written before stays.
        for (array, result) in fitted.arrays.iter_mut().zip(arrays) {
            if let LaunchArray::Write { data, .. } = array {
                let bytes = data.bytes_mut()?.chunks_exact_mut(result.ty.bytes());
                let place = if cfg!(target_endian = "little") { 0 } else { 8 - result.ty.bytes() };
                for (bytes, word) in bytes.zip(result.data) {
                    bytes.copy_from_slice(&word.to_ne_bytes()[place..place + bytes.len()]);
                }
            }
        }
        done.map_err(|error| match error {
            KernelError::Fault(fault) => Error::Fault(fault),
            other => Error::Stopped(Box::new(other)),
        })
    }

    fn source(&self) -> Result<String, Error> {
        Ok(self.outline.template.kernel.to_string())
    }

    fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        Ok(vec![self.outline.template.kernel.clone()])
    }

    fn device(&self) -> &str {
        Interpreter::NAME
    }
}
