//! What a launch must pass, and the check of a launch against it.
//!
//! After the check arrays have the parameters' element types and ranks, their data the length of their shapes, and bools are 0 or
//! 1. Data in the device's own memory is not looked at, as in calls of programs.

use super::field::unlaid;
use super::{Launch, LaunchArray};
use crate::signature::{Signature, check_bools, check_len, elements, same_type};
use crate::{ArgumentProblem, ArrayData, Buffer, Error};
use slyz_sir::kernel::{Access, Memory, Space};
use slyz_sir::launch::{LAUNCH_SIZES, Template};
use slyz_sir::pass::confine;
use slyz_sir::size::{Size, SizeVar};
use slyz_sir::threads::{Field, Nature};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;
use std::sync::Arc;

/// The outside of a kernel.
pub(crate) struct Outline {
    pub(crate) template: Arc<Template>,
    pub(crate) nature: Nature,
    pub(crate) signature: Signature,
    /// The memories that stand for parameters.
    params: Vec<Param>,
    scalars: Vec<Ty>,
}

/// A tensor among the parameters.
struct Param {
    name: String,
    ty: Ty,
    shape: Vec<Size>,
    written: bool,
}

/// A launch that fits its kernel.
pub(crate) struct Fitted<'a> {
    pub(crate) field: Field,
    /// Values of the size variables.
    pub(crate) sizes: Vec<u64>,
    /// For the parameters, in order. What the kernel writes is a `Write`, all else a `Read`.
    pub(crate) arrays: Vec<LaunchArray<'a>>,
    pub(crate) scalars: Vec<Scalar>,
}

impl Outline {
    /// Checks the template, so that everything after can trust it. Accesses that have no check get one: the text of a kernel may
    /// come from anywhere.
    pub(crate) fn new(template: &Arc<Template>) -> Result<Outline, Error> {
        let kernel = &template.kernel;
        verify::kernel(kernel).map_err(Error::Kernel)?;
        let broken = |why: &str| Error::Plan { name: kernel.name.clone(), why: why.to_string() };
        if confine::has_wide_accesses(kernel) {
            return Err(broken("an access of a kernel to be launched is of one element; write one for each"));
        }
        // Anybody can write a kernel as text.
        if kernel.raw.is_some() {
            return Err(broken("a source in the language of a device is called from programs; see `slyz::Raw`"));
        }
        if kernel.sizes.len() < LAUNCH_SIZES {
            return Err(broken("a kernel to be launched has the sizes of its grid and of its threads in front"));
        }
        let mut params = vec![];
        let mut constants = vec![];
        for memory in &kernel.memories {
            match memory.space {
                Space::Global(access) if constants.is_empty() => {
                    let written = access != Access::Read;
                    let Memory { name, ty, shape, .. } = memory.clone();
                    params.push(Param { name, ty, shape, written });
                }
                Space::Global(_) => return Err(broken("constants stand behind the parameters")),
                Space::Constant => constants.push(memory),
                Space::Shared | Space::Scratch | Space::Local => {}
            }
        }
        // Each extent of a parameter has a variable of its own, so that an array can tell its value and nobody another.
        let mut told = vec![false; kernel.sizes.len()];
        told[..LAUNCH_SIZES].fill(true);
        for size in params.iter().flat_map(|param| &param.shape) {
            match size {
                Size::Var(SizeVar(k)) if told.get(*k as usize) == Some(&false) => told[*k as usize] = true,
                size if size.constant().is_some() => {}
                _ => return Err(broken("an extent of a parameter is a number or a size of its own")),
            }
        }
        if told.contains(&false) {
            return Err(broken("it has a size that no parameter tells"));
        }
        let length = |memory: &Memory| Size::product(&memory.shape).constant();
        let told = |(memory, data): (&&Memory, &Vec<u64>)| length(memory) == Some(data.len() as u64);
        if constants.len() != template.constants.len() || !constants.iter().zip(&template.constants).all(told) {
            return Err(broken("its constants do not have the lengths of their memories"));
        }
        let fits = |(memory, data): (&&Memory, &Vec<u64>)| {
            data.iter().all(|&word| Scalar::from_bits(memory.ty, word).bits == word)
        };
        if !constants.iter().zip(&template.constants).all(fits) {
            return Err(broken("a constant is wider than its memory's type"));
        }
        let nature = template.nature();
        let scalars = kernel.body.params.iter().map(|param| param.ty.elem()).collect();
        let confined = confine::kernel(kernel.clone());
        let template = if confined == *kernel {
            template.clone()
        } else {
            Arc::new(Template { kernel: confined, constants: template.constants.clone() })
        };
        let signature = Signature::of_kernel(&template.kernel);
        Ok(Outline { template, nature, signature, params, scalars })
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.template.kernel.name
    }

    /// Checks a launch. `resident` tells which buffers the device works on where they are.
    pub(crate) fn fit<'a>(&self, launch: Launch<'a>, resident: impl Fn(&Buffer) -> bool) -> Result<Fitted<'a>, Error> {
        let Launch { threads, memories, scalars } = launch;
        let count = |expected: usize, found: usize, what: &str| {
            let name = format!("{} ({what})", self.name());
            if expected == found { Ok(()) } else { Err(Error::ArgumentCount { name, expected, found }) }
        };
        count(self.params.len(), memories.len(), "tensors")?;
        count(self.scalars.len(), scalars.len(), "scalars")?;
        let mut sizes = vec![0; self.template.kernel.sizes.len()];
        let mut arrays = vec![];
        for (param, array) in self.params.iter().zip(memories) {
            let wrong =
                |problem| Error::Parameter { kernel: self.name().to_string(), parameter: param.name.clone(), problem };
            param.check(&array, &mut sizes).map_err(wrong)?;
            let here = matches!(array.data(), ArrayData::Buffer(buffer) if resident(buffer));
            if param.ty == Ty::Bool && !here {
                check_bools(param.ty, array.data().bytes()?).map_err(wrong)?;
            }
            arrays.push(match (param.written, array) {
                (false, LaunchArray::Write { ty, shape, data }) => {
                    LaunchArray::Read { ty, shape, data: ArrayData::Buffer(data) }
                }
                (true, LaunchArray::Read { .. }) => return Err(wrong(ArgumentProblem::ReadOnly)),
                (_, array) => array,
            });
        }
        let mut bits = vec![];
        for (k, (&expected, scalar)) in self.scalars.iter().zip(scalars).enumerate() {
            let wrong = |problem| Error::Parameter {
                kernel: self.name().to_string(),
                parameter: format!("scalar {}", k + 1),
                problem,
            };
            same_type(expected, scalar.ty).map_err(wrong)?;
            // The fields are public; bits past the width would be read by generated code.
            bits.push(Scalar::from_bits(expected, scalar.bits));
        }
        let written = self.params.iter().zip(&arrays).find(|(param, _)| param.written);
        let written = written.map(|(param, array)| (&param.name[..], array.shape()));
        let field = Field::new(self.name(), self.nature, threads, written).map_err(unlaid)?;
        let mut fitted = Fitted { field, sizes, arrays, scalars: bits };
        fitted.lay_out(field);
        Ok(fitted)
    }
}

#[cfg(feature = "cpu")]
impl Outline {
    /// Operators of a launch, weighed by their costs; nothing for one that does not fit.
    pub(crate) fn operators(&self, launch: &Launch) -> f64 {
        let mut sizes = vec![0; self.template.kernel.sizes.len()];
        let fits =
            self.params.iter().zip(&launch.memories).all(|(param, array)| param.check(array, &mut sizes).is_ok());
        let written = self.params.iter().zip(&launch.memories).find(|(param, _)| param.written);
        let written = written.map(|(param, array)| (&param.name[..], array.shape()));
        let Ok(field) = Field::new(self.name(), self.nature, launch.threads, written) else { return 0.0 };
        if !fits || field.is_empty() {
            return 0.0;
        }
        let value = |SizeVar(k): SizeVar| sizes.get(k as usize).copied();
        let each = crate::cost::of_thread(&self.template.kernel, &value, &launch.scalars);
        each * field.threads.map(|n| n as f64).iter().product::<f64>()
    }
}

impl Param {
    /// Checks an array, and notes its extents.
    fn check(&self, array: &LaunchArray, sizes: &mut [u64]) -> Result<(), ArgumentProblem> {
        let shape = array.shape();
        same_type(self.ty, array.ty())?;
        check_len(self.ty, shape, array.data().len())?;
        // A parameter of one axis goes over all elements, whatever the shape.
        let flat = [elements(shape).unwrap_or(u64::MAX)];
        let extents = if self.shape.len() == 1 { &flat[..] } else { shape };
        if extents.len() != self.shape.len() {
            return Err(ArgumentProblem::Rank { expected: self.shape.len(), found: shape.len() });
        }
        for (axis, (size, &found)) in self.shape.iter().zip(extents).enumerate() {
            match *size {
                Size::Var(SizeVar(k)) if sizes.get(k as usize).is_some() => sizes[k as usize] = found,
                ref size => {
                    let expected = size.constant().unwrap_or(u64::MAX);
                    if expected != found {
                        let size = expected.to_string();
                        return Err(ArgumentProblem::Extent { axis, size, expected, found });
                    }
                }
            }
        }
        Ok(())
    }
}

impl Fitted<'_> {
    /// Takes the launch's threads in these blocks.
    pub(crate) fn lay_out(&mut self, field: Field) {
        self.field = field;
        self.sizes[..3].copy_from_slice(&field.grid);
        self.sizes[3..LAUNCH_SIZES].copy_from_slice(&field.threads);
    }

    /// Bytes of the arrays that are read and written, each taken whole.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        let bytes = |written: bool| {
            let arrays = self.arrays.iter().filter(|array| written == matches!(array, LaunchArray::Write { .. }));
            arrays.map(|array| array.data().len() as u64).sum()
        };
        (bytes(false), bytes(true))
    }

    /// The value of a size.
    pub(crate) fn size(&self, size: &Size) -> Option<u64> {
        size.eval(&|SizeVar(k)| self.sizes.get(k as usize).copied()).ok()
    }
}

/// A constant memory as it lies in the host's memory.
pub(crate) fn constant_bytes(ty: Ty, words: &[u64]) -> Vec<u8> {
    let place = if cfg!(target_endian = "little") { 0 } else { 8 - ty.bytes() };
    words.iter().flat_map(|word| word.to_ne_bytes().into_iter().skip(place).take(ty.bytes())).collect()
}
