//! `.safetensors` files: named tensors, as the libraries of Hugging Face keep weights. The format is the crate `safetensors`'s.

use super::stored::Stored;
use super::{Tensor, TensorShape};
use crate::elem::Elem;
use crate::error::{Error, FileError};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo, View, serialize, serialize_to_file};
use slyz_run::Buffer;
use slyz_sir::types::Ty;
use std::borrow::Cow;
use std::fs;
use std::path::Path;

const WHAT: &str = "a .safetensors file";
/// Bytes in front of the header, which say how long it is.
const LENGTH: usize = size_of::<u64>();

/// The tensors of a `.safetensors` file (feature `safetensors`).
///
/// ```
/// use slyz::prelude::*;
/// use slyz::{SafeTensors, SafeTensorsWriter};
/// axis!(N, M);
/// let w = Tensor::<f32, (N, M)>::from_vec([1, 2], vec![1.0, 2.0])?;
/// let mut writer = SafeTensorsWriter::new();
/// writer.add("layer.w", &w)?;
/// let bytes = writer.to_bytes()?; // or writer.write("model.safetensors")?
///
/// let file = SafeTensors::from_bytes(bytes)?; // or SafeTensors::open("model.safetensors")?
/// assert_eq!(file.names(), ["layer.w"]);
/// assert_eq!(file.read::<f32, (N, M)>("layer.w")?, w);
/// # Ok::<(), slyz::Error>(())
/// ```
pub struct SafeTensors {
    bytes: Vec<u8>,
    /// Where the elements begin.
    start: usize,
    header: Metadata,
}

impl SafeTensors {
    /// Those of a file, which is read whole.
    pub fn open(path: impl AsRef<Path>) -> Result<SafeTensors, Error> {
        let file = path.as_ref().display().to_string();
        let bytes = fs::read(path).map_err(|error| FileError::System { file: file.clone(), why: error.to_string() })?;
        SafeTensors::of(file, bytes)
    }

    /// Those of the bytes of a file.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<SafeTensors, Error> {
        SafeTensors::of(String::new(), bytes)
    }

    fn of(file: String, bytes: Vec<u8>) -> Result<SafeTensors, Error> {
        let damaged = |why: String| FileError::Damaged { file: file.clone(), what: WHAT, why };
        check_numbers(&bytes).map_err(|why| damaged(why.to_string()))?;
        let parsed = safetensors::SafeTensors::read_metadata(&bytes);
        let (length, header) = parsed.map_err(|error| damaged(error.to_string()))?;
        Ok(SafeTensors { start: LENGTH + length, header, bytes })
    }

    /// Their names, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.header.tensors().into_keys().collect();
        names.sort();
        names
    }

    /// The tensor of a name. Its elements have to be those asked for, and its dimensions have to fit the shape.
    pub fn read<T: Elem, S: TensorShape>(&self, name: &str) -> Result<Tensor<T, S>, Error> {
        let unknown = || FileError::Name { name: name.to_string(), known: self.names() };
        let TensorInfo { dtype, shape, data_offsets: (start, end) } = self.header.info(name).ok_or_else(unknown)?;
        let own = stored::<T>()?;
        if dtype_of(own) != Some(*dtype) {
            let found = Ty::ALL.into_iter().map(|ty| Stored { ty, complex: false });
            let found = found.chain([Stored { ty: Ty::F32, complex: true }]).find(|&one| dtype_of(one) == Some(*dtype));
            let found = found.map_or_else(|| dtype.to_string(), |found| found.to_string());
            return Err(FileError::Type { name: name.to_string(), found, wanted: own.to_string() }.into());
        }
        let damaged =
            |why: &str| FileError::Damaged { file: String::new(), what: WHAT, why: format!("`{name}` {why}") };
        // The header was checked against the file.
        let data = self.bytes.get(self.start + start..self.start + end).ok_or_else(|| damaged("ends behind it"))?;
        if own.ty == Ty::Bool && data.iter().any(|&byte| byte > 1) {
            return Err(damaged("has a bool that is neither 0 nor 1").into());
        }
        Tensor::from_stored(shape.clone(), own, Buffer::copy_of(&in_file_order(own.ty, data.into()))?)
    }
}

/// Writes `.safetensors` files (feature `safetensors`). See [`SafeTensors`].
#[derive(Default)]
pub struct SafeTensorsWriter {
    entries: Vec<(String, Entry)>,
}

/// A tensor that is to be written.
struct Entry {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Buffer,
}

impl View for &Entry {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        // It was brought to the host when it was added.
        self.data.bytes().unwrap_or_default().into()
    }

    fn data_len(&self) -> usize {
        self.data.len()
    }
}

impl SafeTensorsWriter {
    /// Of no tensors.
    pub fn new() -> SafeTensorsWriter {
        SafeTensorsWriter::default()
    }

    /// Adds a tensor, or puts it in the place of another of that name. A device that still works on it is waited for; what is on the host is not copied.
    pub fn add<T: Elem, S>(&mut self, name: &str, tensor: &Tensor<T, S>) -> Result<(), Error> {
        let own = stored::<T>()?;
        let dtype = dtype_of(own).ok_or_else(|| FileError::Elements { wanted: own.to_string() })?;
        let data = match &tensor.leaves[..] {
            [leaf] if cfg!(target_endian = "little") => leaf.to_host()?,
            _ => Buffer::copy_of(&in_file_order(own.ty, tensor.stored()?))?,
        };
        self.entries.retain(|(other, _)| other != name);
        self.entries.push((name.to_string(), Entry { dtype, shape: tensor.dims().to_vec(), data }));
        Ok(())
    }

    fn views(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (&name[..], entry))
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let unwritable = |why: String| FileError::Unwritable { file: String::new(), what: WHAT, why };
        Ok(serialize(self.views(), None).map_err(|error| unwritable(error.to_string()))?)
    }

    /// Writes a file, whole or not at all.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let unwritable = |why: String| FileError::Unwritable { file: path.display().to_string(), what: WHAT, why };
        Ok(serialize_to_file(self.views(), None, path).map_err(|error| unwritable(error.to_string()))?)
    }
}

fn stored<T: Elem>() -> Result<Stored, FileError> {
    Stored::of::<T>().map_err(|parts| FileError::Elements { wanted: format!("{parts} parts") })
}

fn dtype_of(Stored { ty, complex }: Stored) -> Option<Dtype> {
    Some(match (ty, complex) {
        (Ty::F32, true) => Dtype::C64,
        (_, true) => return None,
        (Ty::Bool, false) => Dtype::BOOL,
        (Ty::I8, false) => Dtype::I8,
        (Ty::I16, false) => Dtype::I16,
        (Ty::I32, false) => Dtype::I32,
        (Ty::I64, false) => Dtype::I64,
        (Ty::U8, false) => Dtype::U8,
        (Ty::U16, false) => Dtype::U16,
        (Ty::U32, false) => Dtype::U32,
        (Ty::U64, false) => Dtype::U64,
        (Ty::F16, false) => Dtype::F16,
        (Ty::BF16, false) => Dtype::BF16,
        (Ty::F32, false) => Dtype::F32,
        (Ty::F64, false) => Dtype::F64,
    })
}

/// Turns elements from the host's order to the file's, which is little endian, or back.
fn in_file_order(ty: Ty, data: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        return data;
    }
    let mut data = data.into_owned();
    data.chunks_exact_mut(ty.bytes()).for_each(<[u8]>::reverse);
    data.into()
}

/// Offsets near the end of all numbers are added up by the parser without a look at what comes of it.
fn check_numbers(bytes: &[u8]) -> Result<(), &'static str> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else { return Ok(()) };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let header = &rest[..length.min(rest.len())];
    let mut in_text = false;
    let mut escaped = false;
    let mut number = 0u64;
    for &byte in header {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        in_text = byte == b'"';
        number =
            if byte.is_ascii_digit() { number.saturating_mul(10).saturating_add(u64::from(byte - b'0')) } else { 0 };
        if number > u64::MAX / 4 {
            return Err("it claims more data than any memory has");
        }
    }
    Ok(())
}
