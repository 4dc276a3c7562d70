//! Elements as files store them: one behind the other, the parts of complex ones side by side.

use super::{Leaves, Tensor, TensorShape};
use crate::complex::Complex;
use crate::elem::{Elem, tys_of};
use crate::error::Error;
use slyz_run::Buffer;
use slyz_sir::types::Ty;
use smallvec::smallvec;
use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;

/// What stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) ty: Ty,
    pub(super) complex: bool,
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.complex { write!(f, "Complex<{}>", self.ty) } else { write!(f, "{}", self.ty) }
    }
}

impl Stored {
    /// What a file would store of such elements, or how many parts they have.
    pub(super) fn of<T: Elem>() -> Result<Stored, usize> {
        let is_complex = [TypeId::of::<Complex<f32>>(), TypeId::of::<Complex<f64>>()].contains(&TypeId::of::<T>());
        match tys_of::<T>()[..] {
            [ty] => Ok(Stored { ty, complex: false }),
            [ty, _] if is_complex => Ok(Stored { ty, complex: true }),
            ref parts => Err(parts.len()),
        }
    }
}

impl<T: Elem, S: TensorShape> Tensor<T, S> {
    /// A tensor of what a file stores, which are its elements, in the byte order of the host.
    pub(super) fn from_stored(dims: Vec<usize>, Stored { ty, complex }: Stored, data: Buffer) -> Result<Self, Error> {
        S::check(&dims)?;
        let leaves: Leaves = if complex {
            let bytes = data.bytes()?;
            smallvec![Buffer::copy_of(&part(bytes, 0, ty))?, Buffer::copy_of(&part(bytes, 1, ty))?]
        } else {
            smallvec![data]
        };
        Ok(Tensor::from_leaves(dims, leaves, vec![]))
    }
}

impl<T: Elem, S> Tensor<T, S> {
    /// What a file stores of it, in the byte order of the host.
    pub(super) fn stored(&self) -> Result<Cow<'_, [u8]>, Error> {
        Ok(match &self.leaves[..] {
            [re, im] => {
                let ty = tys_of::<T>()[0];
                let pairs = re.bytes()?.chunks_exact(ty.bytes()).zip(im.bytes()?.chunks_exact(ty.bytes()));
                pairs.flat_map(|(re, im)| [re, im]).flatten().copied().collect()
            }
            leaves => leaves.first().map_or(Ok(&[][..]), Buffer::bytes)?.into(),
        })
    }
}

/// One part of complex numbers.
fn part(bytes: &[u8], which: usize, ty: Ty) -> Vec<u8> {
    bytes.chunks_exact(ty.bytes()).skip(which).step_by(2).flatten().copied().collect()
}
