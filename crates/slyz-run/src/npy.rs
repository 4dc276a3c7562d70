//! `.npy` files: one array each, as NumPy saves them (feature `npy`).
//!
//! The header is read and written by `npyz`. What it does not know is here: which elements are ours, that an array comes out in row-major
//! order and in the byte order of the host, and that a header is believed only as far as there is data. NumPy has no `bf16`: its bits are
//! stored as `uint16`. Texts, times, records and pickled objects are refused.

use crate::{Buffer, Error};
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriterBuilder};
use slyz_sir::types::Ty;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of a header that is read. NumPy itself stops at 10,000.
const LONGEST_HEADER: usize = 1 << 16;
/// Axes that NumPy knows.
const MOST_AXES: usize = 64;
/// Memory that a header can ask for before there is data for it.
const PIECE: usize = 1 << 20;

/// An array of a file, in row-major order and the byte order of the host.
#[derive(Clone, Debug)]
pub struct Npy {
    /// Of an element, or of each part of a complex one; `u16` also where `bf16` was saved.
    pub ty: Ty,
    /// Are the elements complex? Then real and imaginary parts take turns.
    pub complex: bool,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// The elements.
    pub data: Buffer,
}

/// Why a file is no array for us, or cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}{why}", .file.as_ref().map_or(String::new(), |file| format!("{}: ", file.display())))]
pub struct NpyError {
    /// The file, where it has a name.
    pub file: Option<PathBuf>,
    /// What is wrong, and the cure.
    pub why: NpyProblem,
}

/// What is wrong with a `.npy` file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyProblem {
    /// The system does not let it be read or written.
    #[error("{0}")]
    Io(io::Error),
    /// It begins as no such file does.
    #[error("not a .npy file; save one with numpy.save")]
    Magic,
    /// A version of the format from the future.
    #[error("version {0} of the .npy format is not known; versions 1 to 3 are")]
    Version(u8),
    /// The header cannot be read.
    #[error("the header is damaged: {0}; save the array again with numpy.save")]
    Header(String),
    /// Elements that there are none of here.
    #[error(
        "elements of type {0} are not supported; convert with a.astype to one of bool, int8..int64, uint8..uint64, float16, float32, \
         float64, complex64, complex128"
    )]
    Elements(String),
    /// The file has other elements than are asked for.
    #[error("the elements are {found}, and {wanted} are asked for; read them as {found}, or save a.astype('{descr}')")]
    Type {
        /// Of the file.
        found: String,
        /// Of whoever reads it.
        wanted: String,
        /// The latter as NumPy spells it.
        descr: String,
    },
    /// Elements that NumPy has none of.
    #[error("NumPy has no elements of {0} parts but complex ones of two floats; write a tensor for each part")]
    Parts(usize),
    /// More axes than NumPy has.
    #[error("{0} axes, and NumPy knows at most 64; reshape the array first")]
    Axes(usize),
    /// More elements than any memory holds.
    #[error("the header claims more than 2^63 bytes of data; it is damaged, save the array again with numpy.save")]
    TooLarge,
    /// Less data than the header says.
    #[error(
        "shape {shape:?} needs {expected} bytes of data, the file has {found}; it may be cut off, save the array again"
    )]
    Length {
        /// The extents.
        shape: Vec<u64>,
        /// Bytes by the header.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A `bool` that is neither.
    #[error("a bool is stored as the byte {0}; only 0 and 1 are allowed")]
    Bool(u8),
    /// An archive of arrays that cannot be read or written.
    #[error(
        "the .npz archive is damaged, or compressed in another way than numpy does: {0}; save it again with numpy.savez"
    )]
    Archive(String),
    /// An archive has no array of that name.
    #[error("there is no array `{name}` in the archive; there are: {}", .known.join(", "))]
    Name {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No memory for the data.
    #[error(transparent)]
    Memory(Box<Error>),
}

impl From<io::Error> for NpyProblem {
    fn from(error: io::Error) -> NpyProblem {
        NpyProblem::Io(error)
    }
}

impl From<Error> for NpyProblem {
    fn from(error: Error) -> NpyProblem {
        NpyProblem::Memory(Box::new(error))
    }
}

impl From<NpyProblem> for NpyError {
    fn from(why: NpyProblem) -> NpyError {
        NpyError { file: None, why }
    }
}

impl NpyProblem {
    /// What is wrong with a certain file.
    pub fn of(self, file: &Path) -> NpyError {
        NpyError { file: Some(file.to_path_buf()), why: self }
    }
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Npy, NpyError> {
    let file = || -> Result<Npy, NpyProblem> {
        let file = File::open(path)?;
        // What is there at once need not be made room for piece by piece.
        let there = file.metadata().map_or(0, |about| about.len());
        read_from(&mut io::BufReader::new(file), there)
    };
    file().map_err(|why| why.of(path))
}

/// Reads an array, and nothing behind it. Room for so many bytes is made at once, for more when they come.
pub fn read_from(from: &mut dyn Read, there: u64) -> Result<Npy, NpyProblem> {
    let header = read_header(from)?;
    let Elements { ty, complex, order } = elements(&header.dtype())?;
    let shape = header.shape().to_vec();
    if shape.len() > MOST_AXES {
        return Err(NpyProblem::Axes(shape.len()));
    }
    let width = ty.bytes() * if complex { 2 } else { 1 };
    // The numbers of the header were looked at before.
    let count = shape.iter().try_fold(1u64, |count, &extent| count.checked_mul(extent)).ok_or(NpyProblem::TooLarge)?;
    let expected = count.checked_mul(width as u64).ok_or(NpyProblem::TooLarge)?;
    let bytes = usize::try_from(expected).map_err(|_| NpyProblem::TooLarge)?;
    let (mut words, found) = read_words(from, bytes, there)?;
    if found != bytes {
        return Err(NpyProblem::Length { shape, expected, found: found as u64 });
    }
    let data = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes];
    let is_foreign = match order {
        Endianness::Little => cfg!(target_endian = "big"),
        Endianness::Big => cfg!(target_endian = "little"),
        Endianness::Irrelevant => false,
    };
    if is_foreign {
        data.chunks_exact_mut(ty.bytes()).for_each(<[u8]>::reverse);
    }
    if let (Ty::Bool, Some(&byte)) = (ty, data.iter().find(|&&byte| byte > 1)) {
        return Err(NpyProblem::Bool(byte));
    }
    let data = match header.order() {
        Order::Fortran if shape.len() > 1 => Buffer::copy_of(&in_rows(data, &shape, width)?)?,
        Order::Fortran | Order::C => Buffer::from_vec(words)?.prefix(bytes),
    };
    Ok(Npy { ty, complex, shape, data })
}

/// Writes an array: the bytes of its elements, in row-major order and the byte order of the host.
pub fn write(to: &mut dyn Write, ty: Ty, complex: bool, shape: &[u64], data: &[u8]) -> Result<(), NpyProblem> {
    if shape.len() > MOST_AXES {
        return Err(NpyProblem::Axes(shape.len()));
    }
    let descr = descr(ty, complex).parse::<TypeStr>();
    let dtype = DType::new_scalar(descr.map_err(|error| NpyProblem::Elements(error.to_string()))?);
    let header = npyz::WriteOptions::new_header_only().dtype(dtype).shape(shape);
    header.writer(&mut *to).write_header_only()?;
    if cfg!(target_endian = "little") {
        return Ok(to.write_all(data)?);
    }
    for piece in data.chunks(PIECE) {
        let mut piece = piece.to_vec();
        piece.chunks_exact_mut(ty.bytes()).for_each(<[u8]>::reverse);
        to.write_all(&piece)?;
    }
    Ok(())
}

/// How NumPy spells elements.
pub fn descr(ty: Ty, complex: bool) -> &'static str {
    match (ty, complex) {
        (Ty::F32, true) => "<c8",
        (Ty::F64, true) => "<c16",
        (Ty::Bool, _) => "|b1",
        (Ty::I8, _) => "|i1",
        (Ty::I16, _) => "<i2",
        (Ty::I32, _) => "<i4",
        (Ty::I64, _) => "<i8",
        (Ty::U8, _) => "|u1",
        (Ty::U16 | Ty::BF16, _) => "<u2",
        (Ty::U32, _) => "<u4",
        (Ty::U64, _) => "<u8",
        (Ty::F16, _) => "<f2",
        (Ty::F32, false) => "<f4",
        (Ty::F64, false) => "<f8",
    }
}

/// What stands in a file.
struct Elements {
    ty: Ty,
    complex: bool,
    order: Endianness,
}

fn elements(dtype: &DType) -> Result<Elements, NpyProblem> {
    let DType::Plain(text) = dtype else { return Err(NpyProblem::Elements(excerpt(&dtype.descr()))) };
    let (ty, complex) = match (text.type_char(), text.size_field()) {
        (TypeChar::Bool, 1) => (Ty::Bool, false),
        (TypeChar::Int, 1) => (Ty::I8, false),
        (TypeChar::Int, 2) => (Ty::I16, false),
        (TypeChar::Int, 4) => (Ty::I32, false),
        (TypeChar::Int, 8) => (Ty::I64, false),
        (TypeChar::Uint, 1) => (Ty::U8, false),
        // Raw pairs of bytes are how some libraries save bf16.
        (TypeChar::Uint | TypeChar::RawData, 2) => (Ty::U16, false),
        (TypeChar::Uint, 4) => (Ty::U32, false),
        (TypeChar::Uint, 8) => (Ty::U64, false),
        (TypeChar::Float, 2) => (Ty::F16, false),
        (TypeChar::Float, 4) => (Ty::F32, false),
        (TypeChar::Float, 8) => (Ty::F64, false),
        (TypeChar::Complex, 8) => (Ty::F32, true),
        (TypeChar::Complex, 16) => (Ty::F64, true),
        _ => return Err(NpyProblem::Elements(excerpt(&text.to_string()))),
    };
    Ok(Elements { ty, complex, order: text.endianness() })
}

fn excerpt(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}

/// The header, when it is short enough and its numbers are those of an array that could be.
fn read_header(from: &mut dyn Read) -> Result<NpyHeader, NpyProblem> {
    let cut = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => NpyProblem::Header("the file ends inside it".to_string()),
        _ => NpyProblem::Io(error),
    };
    let mut start = [0; 8];
    let mut found = 0;
    while found < start.len() {
        match from.read(&mut start[found..])? {
            0 => break,
            count => found += count,
        }
    }
    if !start[..found].starts_with(MAGIC) {
        return Err(NpyProblem::Magic);
    }
    if found < start.len() {
        return Err(NpyProblem::Header("the file ends inside it".to_string()));
    }
    let mut head = start.to_vec();
    let length = match start[6] {
        1 => {
            let mut length = [0; 2];
            from.read_exact(&mut length).map_err(cut)?;
            head.extend(length);
            usize::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0; 4];
            from.read_exact(&mut length).map_err(cut)?;
            head.extend(length);
            u32::from_le_bytes(length) as usize
        }
        other => return Err(NpyProblem::Version(other)),
    };
    if length > LONGEST_HEADER {
        return Err(NpyProblem::Header(format!("it claims {length} bytes, and the longest has {LONGEST_HEADER}")));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).map_err(cut)?;
    without_long_integers(&mut text);
    check_numbers(&text)?;
    check_depth(&text)?;
    let header = NpyHeader::from_reader(head.chain(&text[..]));
    header.map_err(|error| NpyProblem::Header(excerpt(&error.to_string())))
}

/// Files of Python 2 have `2L` for some numbers, which is no number any more.
fn without_long_integers(text: &mut [u8]) {
    for k in 1..text.len() {
        if text[k] == b'L' && text[k - 1].is_ascii_digit() {
            text[k] = b' ';
        }
    }
}

/// The numbers of a header are extents, and the bytes of an element: their product is how much data there is. `npyz` multiplies them without
/// a look at what comes of it.
fn check_numbers(text: &[u8]) -> Result<(), NpyProblem> {
    let numbers = text.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let mut product = 1u64;
    for digits in numbers {
        let value = digits.iter().try_fold(0u64, |value, digit| {
            value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')))
        });
        let bytes = value.and_then(|value| product.checked_mul(value.max(1)));
        product = bytes.filter(|&bytes| bytes <= i64::MAX as u64).ok_or(NpyProblem::TooLarge)?;
    }
    Ok(())
}

/// A header is a dictionary with a tuple in it, or a list of a few tuples; a parser need not be led deeper.
fn check_depth(text: &[u8]) -> Result<(), NpyProblem> {
    const DEEPEST: usize = 32;
    let mut depth = 0usize;
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(NpyProblem::Header("it has too many brackets inside of each other".to_string()));
        }
    }
    Ok(())
}

/// As many bytes as there are, up to a count: in words, so that elements of every type can start there.
fn read_words(from: &mut dyn Read, bytes: usize, there: u64) -> Result<(Vec<u64>, usize), NpyProblem> {
    const WORD: usize = size_of::<u64>();
    let memory = |bytes: usize| Error::OutOfMemory { what: "the array of a file".to_string(), bytes: bytes as u64 };
    let mut words: Vec<u64> = vec![];
    let at_once = usize::try_from(there).unwrap_or(usize::MAX).min(bytes);
    words.try_reserve_exact(at_once.div_ceil(WORD)).map_err(|_| memory(at_once))?;
    let mut found = 0;
    while found < bytes {
        let end = (found + PIECE).min(bytes);
        let count = end.div_ceil(WORD);
        words.try_reserve(count - words.len()).map_err(|_| memory(end))?;
        words.resize(count, 0);
        let piece = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[found..end];
        match from.read(piece) {
            Ok(0) => break,
            Ok(count) => found += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((words, found))
}

/// Elements whose first position runs fastest, as elements whose last one does.
fn in_rows(data: &[u8], shape: &[u64], width: usize) -> Result<Vec<u8>, NpyProblem> {
    let mut rows = vec![];
    rows.try_reserve_exact(data.len())
        .map_err(|_| Error::OutOfMemory { what: "the array of a file".to_string(), bytes: data.len() as u64 })?;
    let mut strides = vec![];
    let mut stride = width;
    for &extent in shape {
        strides.push(stride);
        // None is larger than the data, unless that is empty.
        stride = stride.saturating_mul(extent as usize);
    }
    let mut position = vec![0; shape.len()];
    let mut place = 0;
    while rows.len() < data.len() {
        rows.extend_from_slice(&data[place..place + width]);
        for axis in (0..shape.len()).rev() {
            position[axis] += 1;
            place += strides[axis];
            if position[axis] < shape[axis] {
                break;
            }
            place -= strides[axis] * shape[axis] as usize;
            position[axis] = 0;
        }
    }
    Ok(rows)
}
