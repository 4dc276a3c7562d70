//! What the functions of `kernels.rs` have in common.

use slyz_run::{Argument, ArrayData, Executable, Output};
use slyz_sir::code::Type;
use slyz_sir::size::{SizeOrigin, SizeVar};
use slyz_sir::types::Scalar;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Why a call failed.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A program that was compiled when this crate was built; it is loaded when it is first called.
pub struct Kernel(OnceLock<Loaded>);

struct Loaded {
    program: slyz_sir::program::Program,
    executable: Arc<dyn Executable>,
}

impl Kernel {
    pub const fn new() -> Kernel {
        Kernel(OnceLock::new())
    }

    /// Runs it, with values for the sizes that the caller knows and the bytes of each argument. `carry` brings its code.
    pub fn run(
        &self,
        text: &str,
        carry: impl FnOnce() -> Result<(), slyz::Error>,
        sizes: &[usize],
        arguments: &[&[u8]],
    ) -> Result<Vec<Output>, Error> {
        let Loaded { program, executable } = match self.0.get() {
            Some(loaded) => loaded,
            None => {
                carry()?;
                let program = slyz_sir::text::parse_program(text)?;
                let executable = slyz_run::device(None)?.compile(&program)?;
                self.0.get_or_init(|| Loaded { program, executable })
            }
        };
        let mut told = sizes.iter();
        let value = |origin: SizeOrigin| match origin {
            SizeOrigin::Given => told.next().map(|&size| size as u64),
            SizeOrigin::Counted => None,
        };
        let sizes: Vec<Option<u64>> = program.sizes.iter().map(|size| size.origin).map(value).collect();
        let known = |var: SizeVar| sizes.get(var.0 as usize).copied().flatten();
        let mut passed = vec![];
        for (param, &bytes) in program.body.params.iter().zip(arguments) {
            passed.push(match &param.ty {
                Type::Scalar(ty) => {
                    let mut bits = [0; 8];
                    bits[..bytes.len()].copy_from_slice(bytes);
                    Argument::Scalar(Scalar::from_bits(*ty, u64::from_le_bytes(bits)))
                }
                Type::Array(ty, shape) => {
                    let shape = shape.iter().map(|size| size.eval(&known)).collect::<Result<Vec<u64>, _>>()?;
                    Argument::Array { ty: *ty, shape: Cow::Owned(shape), data: ArrayData::Host(bytes) }
                }
            });
        }
        Ok(executable.run(&sizes, &passed)?)
    }
}

/// Elements of arrays.
pub trait Element: Sized {
    fn all(bytes: &[u8]) -> Vec<Self>;
}

impl Element for bool {
    fn all(bytes: &[u8]) -> Vec<bool> {
        bytes.iter().map(|&byte| byte != 0).collect()
    }
}

macro_rules! numbers {
    ($($ty:ty)*) => {
        $(impl Element for $ty {
            fn all(bytes: &[u8]) -> Vec<$ty> {
                bytemuck::pod_collect_to_vec(bytes)
            }
        })*
    };
}

numbers!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

/// The elements of result `k`.
pub fn elements<T: Element>(outputs: &[Output], k: usize) -> Result<Vec<T>, Error> {
    let output = outputs.get(k).ok_or("the program gives fewer results")?;
    Ok(T::all(output.data.bytes()?))
}

/// The one element of result `k`.
#[allow(dead_code)] // Programs may give arrays alone.
pub fn element<T: Element>(outputs: &[Output], k: usize) -> Result<T, Error> {
    elements(outputs, k)?.pop().ok_or_else(|| "the result is empty".into())
}
