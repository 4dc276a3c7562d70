//! `.npz` files: archives of `.npy` files, one for each array, by name.

use super::{Tensor, TensorShape};
use crate::elem::Elem;
use crate::error::Error;
use slyz_run::npy::{NpyError, NpyProblem};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// What the names of arrays end with in an archive.
const NPY: &str = ".npy";

/// The arrays of a `.npz` file (feature `npz`), as `numpy.savez` and `numpy.savez_compressed` write it. Arrays are read when they are asked for.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::{NpzReader, NpzWriter};
/// axis!(N, M);
/// let mut file = std::io::Cursor::new(vec![]); // or NpzWriter::create("weights.npz")?
/// let mut writer = NpzWriter::new(&mut file);
/// writer.write("w", &Tensor::<f32, (N, M)>::from_vec([1, 2], vec![1.0, 2.0])?)?;
/// writer.write("bias", &Tensor::<f32, M>::zeros([2])?)?;
/// writer.finish()?;
///
/// let mut reader = NpzReader::new(file)?; // or NpzReader::open("weights.npz")?
/// assert_eq!(reader.names(), ["bias", "w"]);
/// let w: Tensor<f32, (N, M)> = reader.read("w")?;
/// assert_eq!(w.to_vec()?, [1.0, 2.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct NpzReader<R> {
    archive: ZipArchive<R>,
}

impl NpzReader<BufReader<File>> {
    /// The arrays of a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| NpyProblem::Io(error).of(path))?;
        let archive = ZipArchive::new(BufReader::new(file)).map_err(|error| problem(error).of(path))?;
        Ok(NpzReader { archive })
    }
}

impl<R: Read + Seek> NpzReader<R> {
    /// The arrays of anything that can be read.
    pub fn new(from: R) -> Result<Self, Error> {
        let archive = ZipArchive::new(from).map_err(|error| NpyError::from(problem(error)))?;
        Ok(NpzReader { archive })
    }

    /// Their names, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let names = self.archive.file_names().filter_map(|name| name.strip_suffix(NPY));
        let mut names: Vec<String> = names.map(str::to_string).collect();
        names.sort();
        names
    }

    /// The array of a name, as [`Tensor::read_npy`] reads it.
    pub fn read<T: Elem, S: TensorShape>(&mut self, name: &str) -> Result<Tensor<T, S>, Error> {
        let known = self.names();
        let file = self.archive.by_name(&format!("{name}{NPY}")).map_err(|error| match error {
            ZipError::FileNotFound => NpyProblem::Name { name: name.to_string(), known },
            other => problem(other),
        });
        match Tensor::read_npy_from(file.map_err(NpyError::from)?) {
            // Which array it is says more than which file.
            Err(Error::Npy(NpyError { file: None, why })) => Err(why.of(Path::new(name)).into()),
            other => other,
        }
    }
}

/// Writes a `.npz` file (feature `npz`), which `numpy.load` reads. See [`NpzReader`].
pub struct NpzWriter<W: Write + Seek> {
    archive: ZipWriter<W>,
    method: CompressionMethod,
}

impl NpzWriter<BufWriter<File>> {
    /// A new file.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|error| NpyProblem::Io(error).of(path))?;
        Ok(NpzWriter::new(BufWriter::new(file)))
    }
}

impl<W: Write + Seek> NpzWriter<W> {
    /// To anything that can be written.
    pub fn new(to: W) -> Self {
        NpzWriter { archive: ZipWriter::new(to), method: CompressionMethod::Stored }
    }

    /// Compresses the arrays that follow, as `numpy.savez_compressed` does.
    #[must_use]
    pub fn compressed(mut self) -> Self {
        self.method = CompressionMethod::Deflated;
        self
    }

    /// Adds an array. A name can be given once.
    pub fn write<T: Elem, S>(&mut self, name: &str, tensor: &Tensor<T, S>) -> Result<(), Error> {
        let large = tensor.leaves.iter().map(|leaf| leaf.len() as u64).sum::<u64>() >= u64::from(u32::MAX) / 2;
        let options = SimpleFileOptions::default().compression_method(self.method).large_file(large);
        let started = self.archive.start_file(format!("{name}{NPY}"), options);
        started.map_err(|error| NpyError::from(problem(error)))?;
        tensor.write_npy_to(&mut self.archive)
    }

    /// Writes the list of arrays, without which none is found.
    pub fn finish(self) -> Result<(), Error> {
        let mut to = self.archive.finish().map_err(|error| NpyError::from(problem(error)))?;
        Ok(to.flush().map_err(|error| NpyError::from(NpyProblem::Io(error)))?)
    }
}

fn problem(error: ZipError) -> NpyProblem {
    match error {
        ZipError::Io(error) => NpyProblem::Io(error),
        other => NpyProblem::Archive(other.to_string()),
    }
}
