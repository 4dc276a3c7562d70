//! Tensors from and to `.npy` files. What the files hold is `slyz_run::npy`'s; here are types and shapes.

use super::stored::Stored;
use super::{Tensor, TensorShape};
use crate::elem::Elem;
use crate::error::Error;
use slyz_run::npy::{self, Npy, NpyError, NpyProblem};
use slyz_sir::types::Ty;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

impl<T: Elem, S: TensorShape> Tensor<T, S> {
    /// The array of a `.npy` file, in whichever order of axes and bytes it was saved (feature `npy`). Its elements have to be those of the tensor,
    /// and its dimensions have to fit the shape. `bf16` is read from `uint16`, [`Complex`](crate::Complex) from `complex64` and `complex128`.
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
        let own = Stored::of::<T>().map_err(parts)?;
        let found = Stored { ty, complex };
        // NumPy has no bf16: its bits travel as u16.
        let fits = own == found || (own.ty, ty, complex) == (Ty::BF16, Ty::U16, false);
        if !fits {
            let descr = npy::descr(own.ty, own.complex).to_string();
            let why = NpyProblem::Type { found: found.to_string(), wanted: own.to_string(), descr };
            return Err(NpyError::from(why).into());
        }
        let dims = shape.iter().map(|&extent| usize::try_from(extent).ok()).collect::<Option<Vec<usize>>>();
        let dims = dims.ok_or_else(|| NpyError::from(NpyProblem::TooLarge))?;
        Tensor::from_stored(dims, own, data)
    }
}

impl<T: Elem, S> Tensor<T, S> {
    /// Writes a `.npy` file, whole or not at all, in row-major order and little endian (feature `npy`). A device that still works on the elements is waited for.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".part");
        // Whoever reads meanwhile sees what was there before, and half an array is never seen.
        let part = path.with_file_name(name);
        let io = |error: io::Error| NpyProblem::Io(error).of(path);
        let file = File::create(&part).map_err(io)?;
        let written = self.write_npy_to(BufWriter::new(file)).and_then(|()| Ok(fs::rename(&part, path).map_err(io)?));
        if written.is_err() {
            // The failure is told already.
            let _ = fs::remove_file(&part);
        }
        match written {
            Err(Error::Npy(NpyError { file: None, why })) => Err(why.of(path).into()),
            other => other,
        }
    }

    /// The same to anything that can be written.
    pub fn write_npy_to(&self, mut to: impl Write) -> Result<(), Error> {
        let Stored { ty, complex } = Stored::of::<T>().map_err(parts)?;
        let shape: Vec<u64> = self.dims().iter().map(|&dim| dim as u64).collect();
        let written = npy::write(&mut to, ty, complex, &shape, &self.stored()?);
        let flushed = written.and_then(|()| Ok(to.flush()?));
        Ok(flushed.map_err(NpyError::from)?)
    }
}

fn parts(count: usize) -> NpyError {
    NpyProblem::Parts(count).into()
}
