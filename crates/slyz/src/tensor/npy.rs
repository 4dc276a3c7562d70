//! Tensors from and to `.npy` files. What the files hold is `slyz_run::npy`'s; here are types and shapes.

use super::{Leaves, Tensor, TensorShape};
use crate::complex::Complex;
use crate::elem::{Elem, tys_of};
use crate::error::{Error, TensorError};
use slyz_run::Buffer;
use slyz_run::npy::{self, Npy, NpyError, NpyProblem};
use slyz_sir::types::Ty;
use smallvec::smallvec;
use std::any::TypeId;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;

impl<T: Elem, S: TensorShape> Tensor<T, S> {
    /// The array of a `.npy` file, in whichever order of axes and bytes it was saved (feature `npy`). Its elements have to be those of the tensor,
    /// and its dimensions have to fit the shape. `bf16` is read from `uint16`, [`Complex`] from `complex64` and `complex128`.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N, M);
    /// # let folder = std::env::temp_dir().join(format!("slyz-npy-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("x.npy");
    /// let x = Tensor::<f32, (N, M)>::from_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// x.write_npy(&path)?; // numpy.load(path)
    /// assert_eq!(Tensor::<f32, (N, M)>::read_npy(&path)?, x);
    /// let error = Tensor::<f64, (N, M)>::read_npy(&path).unwrap_err();
    /// assert!(error.to_string().contains("the elements are f32"));
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn read_npy(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        match Tensor::from_npy(npy::read(path)?) {
            Err(Error::Npy(NpyError { file: None, why })) => Err(why.of(path).into()),
            other => other,
        }
    }

    /// The same from anything that can be read; what stands behind the array is left there.
    ///
    /// ```
    /// use slyz::prelude::*;
    /// axis!(N);
    /// let mut bytes = vec![];
    /// Tensor::<u8, N>::from_vec([2], vec![3, 4])?.write_npy_to(&mut bytes)?;
    /// assert_eq!(Tensor::<u8, N>::read_npy_from(&bytes[..])?.to_vec()?, [3, 4]);
    /// # Ok::<(), slyz::Error>(())
    /// ```
    pub fn read_npy_from(mut from: impl Read) -> Result<Self, Error> {
        Tensor::from_npy(npy::read_from(&mut from, 0).map_err(NpyError::from)?)
    }

    fn from_npy(Npy { ty, complex, shape, data }: Npy) -> Result<Self, Error> {
        let (own, own_complex) = kind::<T>()?;
        // NumPy has no bf16: its bits travel as u16.
        let fits = own == ty || (own, ty) == (Ty::BF16, Ty::U16);
        if !fits || own_complex != complex {
            let found = spelled(ty, complex);
            let wanted = spelled(own, own_complex);
            let descr = npy::descr(own, own_complex).to_string();
            return Err(NpyError::from(NpyProblem::Type { found, wanted, descr }).into());
        }
        let too_large = || TensorError::TooLarge { dims: vec![usize::MAX; shape.len()] };
        let dims = shape.iter().map(|&extent| usize::try_from(extent).ok()).collect::<Option<Vec<usize>>>();
        let dims = dims.ok_or_else(too_large)?;
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
    /// Writes a `.npy` file, in row-major order and little endian (feature `npy`). A device that still works on the elements is waited for.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|error| NpyProblem::Io(error).of(path))?;
        let written = self.write_npy_to(BufWriter::new(file));
        if written.is_err() {
            // Half an array would be taken for a damaged one. The failure is told already.
            let _ = fs::remove_file(path);
        }
        match written {
            Err(Error::Npy(NpyError { file: None, why })) => Err(why.of(path).into()),
            other => other,
        }
    }

    /// The same to anything that can be written.
    pub fn write_npy_to(&self, mut to: impl Write) -> Result<(), Error> {
        let (ty, complex) = kind::<T>()?;
        let shape: Vec<u64> = self.dims().iter().map(|&dim| dim as u64).collect();
        let written = match &self.leaves[..] {
            [re, im] => npy::write(&mut to, ty, complex, &shape, &in_turn(re.bytes()?, im.bytes()?, ty)),
            leaves => npy::write(&mut to, ty, complex, &shape, leaves.first().map_or(Ok(&[][..]), Buffer::bytes)?),
        };
        let flushed = written.and_then(|()| Ok(to.flush()?));
        Ok(flushed.map_err(NpyError::from)?)
    }
}

/// What NumPy would store of such elements, and whether they are complex.
fn kind<T: Elem>() -> Result<(Ty, bool), NpyError> {
    let is_complex = [TypeId::of::<Complex<f32>>(), TypeId::of::<Complex<f64>>()].contains(&TypeId::of::<T>());
    match tys_of::<T>()[..] {
        [ty] => Ok((ty, false)),
        [ty, _] if is_complex => Ok((ty, true)),
        ref parts => Err(NpyProblem::Parts(parts.len()).into()),
    }
}

fn spelled(ty: Ty, complex: bool) -> String {
    if complex { format!("Complex<{ty}>") } else { ty.to_string() }
}

/// One part of complex numbers.
fn part(bytes: &[u8], which: usize, ty: Ty) -> Vec<u8> {
    bytes.chunks_exact(ty.bytes()).skip(which).step_by(2).flatten().copied().collect()
}

/// Complex numbers of their parts.
fn in_turn(re: &[u8], im: &[u8], ty: Ty) -> Vec<u8> {
    let pairs = re.chunks_exact(ty.bytes()).zip(im.chunks_exact(ty.bytes()));
    pairs.flat_map(|(re, im)| [re, im]).flatten().copied().collect()
}
