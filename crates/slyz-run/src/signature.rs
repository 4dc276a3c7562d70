//! What a call must pass, and the check of a call against it.
//!
//! After the check the arguments fit their parameters exactly: element types, shapes, lengths of data, bools that are
//! 0 or 1. Sizes that are counted while the program runs come later, through [`Sizes::count`].
//!
//! Data that is in the device's own memory already is not looked at: kernels wrote it, or an upload whose bytes they
//! read as they must. All other data is on the host after the check.

use crate::{Argument, ArgumentProblem, ArrayData, Buffer, Error};
use slyz_sir::code::{Type, Var};
use slyz_sir::kernel::Kernel;
use slyz_sir::program::{Program, Require};
use slyz_sir::size::{Size, SizeDecl, SizeError, SizeOrigin, SizeVar};
pub(crate) use slyz_sir::threads::elements;
use slyz_sir::types::{Scalar, Ty};
use std::borrow::Cow;

/// The outside of a program.
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) sizes: Vec<SizeDecl>,
    pub(crate) params: Vec<Var>,
    requires: Vec<Require>,
}

/// An argument that fits its parameter.
#[derive(Clone, Copy)]
pub(crate) enum Bound<'a> {
    Scalar(Scalar),
    /// An array, or a scalar that the device has.
    Array(ArrayData<'a>),
}

/// The values of the size variables in one call.
pub(crate) struct Sizes<'s> {
    signature: &'s Signature,
    values: Cow<'s, [Option<u64>]>,
}

impl Signature {
    pub(crate) fn of(program: &Program) -> Signature {
        Signature {
            name: program.name.clone(),
            sizes: program.sizes.clone(),
            params: program.body.params.clone(),
            requires: program.requires.clone(),
        }
    }

    /// The outside of a kernel, whose sizes a launch knows.
    pub(crate) fn of_kernel(kernel: &Kernel) -> Signature {
        Signature { name: kernel.name.clone(), sizes: kernel.sizes.clone(), params: vec![], requires: vec![] }
    }

    /// Checks a whole call. `resident` tells which buffers the device works on where they are.
    pub(crate) fn check<'s, 'a>(
        &'s self,
        sizes: &'s [Option<u64>],
        args: &[Argument<'a>],
        resident: impl Fn(&Buffer) -> bool,
    ) -> Result<(Sizes<'s>, Vec<Bound<'a>>), Error> {
        let sizes = self.check_sizes(sizes)?;
        if args.len() != self.params.len() {
            let name = self.name.clone();
            let expected = self.params.len();
            let found = args.len();
            return Err(Error::ArgumentCount { name, expected, found });
        }
        let mut bound = Vec::with_capacity(args.len());
        for (index, (param, arg)) in self.params.iter().zip(args).enumerate() {
            bound.push(bind(&sizes, param, arg, &resident).map_err(|problem| match problem {
                Mismatch::Argument(problem) => Error::Argument { name: self.name.clone(), index, problem },
                Mismatch::Other(error) => error,
            })?);
        }
        sizes.check_requires()?;
        Ok((sizes, bound))
    }

    fn check_sizes<'s>(&'s self, sizes: &'s [Option<u64>]) -> Result<Sizes<'s>, Error> {
        let fail = |why: String| Error::Sizes { name: self.name.clone(), why };
        if sizes.len() != self.sizes.len() {
            let expected = self.sizes.len();
            let found = sizes.len();
            return Err(fail(format!(
                "the program has {expected} size variables, the call gives {found}; give one each"
            )));
        }
        let mut values = Cow::Borrowed(sizes);
        for (place, (decl, &value)) in self.sizes.iter().zip(sizes).enumerate() {
            match (decl.origin, value) {
                // What the call says about a counted size is not asked.
                (SizeOrigin::Counted, Some(_)) => values.to_mut()[place] = None,
                (SizeOrigin::Counted, None) => {}
                (SizeOrigin::Given, Some(n)) if n <= i64::MAX as u64 => {}
                (SizeOrigin::Given, Some(n)) => {
                    return Err(fail(format!(
                        "{} is {n}, past the index type, 2^63 - 1; use a smaller one",
                        decl.name
                    )));
                }
                (SizeOrigin::Given, None) => {
                    return Err(fail(format!("{} is not known; no argument tells it, so give its value", decl.name)));
                }
            }
        }
        Ok(Sizes { signature: self, values })
    }
}

enum Mismatch {
    Argument(ArgumentProblem),
    Other(Error),
}

impl From<ArgumentProblem> for Mismatch {
    fn from(problem: ArgumentProblem) -> Mismatch {
        Mismatch::Argument(problem)
    }
}

fn bind<'a>(
    sizes: &Sizes,
    param: &Var,
    arg: &Argument<'a>,
    resident: &impl Fn(&Buffer) -> bool,
) -> Result<Bound<'a>, Mismatch> {
    let expected = param.ty.elem();
    match (&param.ty, arg) {
        (Type::Scalar(_), Argument::Scalar(scalar)) => {
            same_type(expected, scalar.ty)?;
            // The fields are public; bits past the width would be read by generated code.
            Ok(Bound::Scalar(Scalar::from_bits(expected, scalar.bits)))
        }
        (Type::Array(..), Argument::Scalar(_)) => Err(ArgumentProblem::NotArray(expected).into()),
        (Type::Scalar(_), Argument::Array { ty, shape, data }) if shape.is_empty() => {
            same_type(expected, *ty)?;
            // A device takes words from where they are. Of less than a word it has no copy.
            if matches!(data, ArrayData::Buffer(buffer) if expected.bytes() >= 4 && resident(buffer)) {
                check_len(expected, shape, data.len())?;
                return Ok(Bound::Array(*data));
            }
            let bytes = data.bytes().map_err(Mismatch::Other)?;
            check_len(expected, shape, bytes.len())?;
            check_bools(expected, bytes)?;
            let scalar = read_scalars(expected, bytes).next();
            scalar.map(Bound::Scalar).ok_or_else(|| ArgumentProblem::NotScalar(expected).into())
        }
        (Type::Scalar(_), Argument::Array { .. }) => Err(ArgumentProblem::NotScalar(expected).into()),
        (Type::Array(_, extents), Argument::Array { ty, shape, data }) => {
            same_type(expected, *ty)?;
            if extents.len() != shape.len() {
                return Err(ArgumentProblem::Rank { expected: extents.len(), found: shape.len() }.into());
            }
            for (axis, (size, &found)) in extents.iter().zip(shape.iter()).enumerate() {
                let expected = sizes.eval(size).map_err(Mismatch::Other)?;
                if expected != found {
                    let size = sizes.spell(size);
                    return Err(ArgumentProblem::Extent { axis, size, expected, found }.into());
                }
            }
            check_len(expected, shape, data.len())?;
            let here = matches!(data, ArrayData::Buffer(buffer) if resident(buffer));
            if !here {
                check_bools(expected, data.bytes().map_err(Mismatch::Other)?)?;
            }
            Ok(Bound::Array(*data))
        }
    }
}

pub(crate) fn same_type(expected: Ty, found: Ty) -> Result<(), ArgumentProblem> {
    if expected == found { Ok(()) } else { Err(ArgumentProblem::Type { expected, found }) }
}

pub(crate) fn check_len(ty: Ty, shape: &[u64], len: usize) -> Result<(), ArgumentProblem> {
    let found = len as u64;
    let expected = elements(shape).and_then(|n| n.checked_mul(ty.bytes() as u64)).unwrap_or(u64::MAX);
    if expected == found { Ok(()) } else { Err(ArgumentProblem::Bytes { expected, found }) }
}

pub(crate) fn check_bools(ty: Ty, bytes: &[u8]) -> Result<(), ArgumentProblem> {
    // Generated code makes masks and positions of bools; any other byte would lead it astray.
    if ty == Ty::Bool && bytes.iter().fold(0, |all, b| all | b) > 1 {
        let at = bytes.iter().position(|&b| b > 1).unwrap_or(0);
        return Err(ArgumentProblem::Bool { at, byte: bytes[at] });
    }
    Ok(())
}

/// The elements that bytes in memory stand for.
pub(crate) fn read_scalars(ty: Ty, bytes: &[u8]) -> impl Iterator<Item = Scalar> + '_ {
    bytes.chunks_exact(ty.bytes()).map(move |chunk| {
        let mut word = [0; 8];
        let place = if cfg!(target_endian = "little") { 0 } else { 8 - chunk.len() };
        word[place..place + chunk.len()].copy_from_slice(chunk);
        Scalar::from_bits(ty, u64::from_ne_bytes(word))
    })
}

// Devices that launch use all of it; the interpreter alone does not.
#[cfg_attr(not(any(feature = "cpu", feature = "wgpu")), allow(dead_code))]
impl<'s> Sizes<'s> {
    /// The sizes of a launch.
    pub(crate) fn all_known(signature: &'s Signature, values: &[u64]) -> Sizes<'s> {
        Sizes { signature, values: values.iter().copied().map(Some).collect() }
    }

    /// The same with other values, for code that has more sizes than the program.
    pub(crate) fn with_values(&self, values: Vec<Option<u64>>) -> Sizes<'_> {
        Sizes { signature: self.signature, values: values.into() }
    }

    /// The value of a size.
    pub(crate) fn eval(&self, size: &Size) -> Result<u64, Error> {
        size.eval(&|var| self.value(var)).map_err(|error| self.explain(size, error))
    }

    /// The values of a shape.
    pub(crate) fn shape(&self, shape: &[Size]) -> Result<Vec<u64>, Error> {
        shape.iter().map(|size| self.eval(size)).collect()
    }

    /// Elements and bytes of an array of that shape; both fit the address space.
    pub(crate) fn extent(&self, ty: Ty, shape: &[Size]) -> Result<(u64, usize), Error> {
        let values = self.shape(shape)?;
        let count = elements(&values);
        let bytes = count.and_then(|n| n.checked_mul(ty.bytes() as u64)).filter(|&n| n <= isize::MAX as u64);
        count.zip(bytes).map(|(n, bytes)| (n, bytes as usize)).ok_or_else(|| Error::TooLarge {
            what: format!("an array of {ty} of shape {values:?} in \"{}\"", self.signature.name),
            why: "it has more bytes than the address space".to_string(),
        })
    }

    /// The values, `None` where nothing is counted yet.
    pub(crate) fn values(&self) -> &[Option<u64>] {
        &self.values
    }

    /// The values as generated code takes them, 0 where nothing is counted yet; with room for one more.
    pub(crate) fn words(&self) -> Vec<i64> {
        let mut words = Vec::with_capacity(self.values.len() + 1);
        words.extend(self.values.iter().map(|value| value.unwrap_or(0) as i64));
        words
    }

    /// Gives a counted size its value, and checks what was waiting for it.
    pub(crate) fn count(&mut self, var: SizeVar, value: u64) -> Result<(), Error> {
        if let Some(slot) = self.values.to_mut().get_mut(var.0 as usize) {
            *slot = Some(value);
        }
        self.check_requires()
    }

    /// Everything required that can be decided with the sizes known so far.
    fn check_requires(&self) -> Result<(), Error> {
        for require in &self.signature.requires {
            self.check_require(require)?;
        }
        Ok(())
    }

    fn check_require(&self, require: &Require) -> Result<(), Error> {
        let value = |size: &Size| size.eval(&|var| self.value(var)).map_err(|error| (size.clone(), error));
        match require.holds(value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.unmet(require)),
            // It is looked at again when it is counted.
            Err((_, SizeError::Unknown(_))) => Ok(()),
            Err((size, error @ SizeError::Overflow)) => Err(self.explain(&size, error)),
        }
    }

    /// The error of a requirement that the values of its sizes do not meet.
    fn unmet(&self, require: &Require) -> Error {
        let condition = match require {
            Require::NonEmpty(a) => format!("{} to be at least 1", self.spell(a)),
            Require::Equal(a, b) => format!("{} = {}", self.spell(a), self.spell(b)),
            Require::AtMost(a, b) => format!("{} <= {}", self.spell(a), self.spell(b)),
        };
        let valued = |size: &Size| {
            let value = size.eval(&|var| self.value(var)).unwrap_or_default();
            format!("{} is {value}", self.spell(size))
        };
        let values = require.sizes().map(valued).collect::<Vec<String>>().join(" and ");
        Error::Requirement { name: self.signature.name.clone(), condition, values }
    }

    /// The size as the program writes it.
    pub(crate) fn spell(&self, size: &Size) -> String {
        let name = |var: SizeVar| {
            self.signature.sizes.get(var.0 as usize).map_or_else(|| format!("size{}", var.0), |decl| decl.name.clone())
        };
        size.display(&name).to_string()
    }

    fn value(&self, var: SizeVar) -> Option<u64> {
        self.values.get(var.0 as usize).copied().flatten()
    }

    fn explain(&self, size: &Size, error: SizeError) -> Error {
        let name = self.signature.name.clone();
        match error {
            SizeError::Unknown(_) => {
                Error::Plan { name, why: format!("the size {} is used before it is counted", self.spell(size)) }
            }
            SizeError::Overflow => Error::TooLarge {
                what: format!("the size {} of \"{name}\"", self.spell(size)),
                why: "it is past the index type, 2^63 - 1".to_string(),
            },
        }
    }
}
