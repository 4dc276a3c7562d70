//! `.npy` files: one array each, as NumPy saves them.
//!
//! Reads versions 1 to 3, C order, little endian, and the element types that SIR has. What NumPy has and SIR has not
//! (complex numbers, texts, records, Fortran order, big endian) is refused with the NumPy call that converts it.
//! NumPy has no `bf16`: its bits are stored as `uint16`.

use crate::limits;
use slyz_sir::types::Ty;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The data start at a multiple of this, so that a file can be mapped.
const ALIGN: usize = 64;

/// An array in host memory: little endian, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Npy {
    /// Element type; `u16` also where `bf16` was saved.
    pub ty: Ty,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// The elements.
    pub data: Vec<u8>,
}

/// Why a file is not an array for us.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", .path.display())]
pub struct NpyError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("not a .npy file; save one with numpy.save")]
    Magic,
    #[error("version {0} of the .npy format is not known; versions 1 to 3 are")]
    Version(u8),
    #[error("the header is damaged: {0}; save the array again with numpy.save")]
    Header(String),
    #[error("the array is in Fortran order; save numpy.ascontiguousarray(a) instead")]
    Fortran,
    #[error("the elements are big endian ({0}); save a.astype(a.dtype.newbyteorder('<')) instead")]
    BigEndian(String),
    #[error(
        "elements of type {0} are not supported; convert with a.astype to one of bool, int8..int64, uint8..uint64, \
         float16, float32, float64"
    )]
    Elements(String),
    #[error("shape {shape:?} needs {expected} bytes of data, the file has {found}; it may be cut off")]
    Length { shape: Vec<u64>, expected: String, found: usize },
    #[error("a bool is stored as the byte {0}; only 0 and 1 are allowed")]
    Bool(u8),
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Npy, NpyError> {
    let file = fs::read(path).map_err(Why::Io);
    file.and_then(|bytes| parse(&bytes)).map_err(|why| NpyError { path: path.to_path_buf(), why })
}

/// Writes a file. The data are the bytes of the elements, in the byte order of the host.
pub fn write(path: &Path, ty: Ty, shape: &[u64], data: &[u8]) -> Result<(), NpyError> {
    let file = |file: &mut dyn Write| {
        file.write_all(&header(ty, shape))?;
        file.write_all(&swapped(ty, data))
    };
    limits::write_whole(path, file).map_err(|error| NpyError { path: path.to_path_buf(), why: error.into() })
}

/// Turns elements from the host's order to the file's, or back.
pub fn swapped(ty: Ty, data: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        return data.into();
    }
    data.chunks(ty.bytes()).flat_map(|element| element.iter().rev().copied()).collect::<Vec<u8>>().into()
}

fn header(ty: Ty, shape: &[u64]) -> Vec<u8> {
    let descr = match ty {
        Ty::Bool => "|b1",
        Ty::I8 => "|i1",
        Ty::I16 => "<i2",
        Ty::I32 => "<i4",
        Ty::I64 => "<i8",
        Ty::U8 => "|u1",
        Ty::U16 | Ty::BF16 => "<u2",
        Ty::U32 => "<u4",
        Ty::U64 => "<u8",
        Ty::F16 => "<f2",
        Ty::F32 => "<f4",
        Ty::F64 => "<f8",
    };
    // A tuple of one needs its comma, and more do no harm.
    let extents: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", extents.trim_end());
    let start = MAGIC.len() + 4;
    let padded = (start + text.len() + 1).next_multiple_of(ALIGN) - start;
    // Version 2 has room for headers past 64 KiB, which no shape that fits into memory needs.
    let mut bytes = [MAGIC, &[1, 0], &(padded as u16).to_le_bytes()].concat();
    bytes.extend(format!("{text:<width$}\n", width = padded - 1).bytes());
    bytes
}

fn parse(bytes: &[u8]) -> Result<Npy, Why> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(Why::Magic)?;
    let cut = || Why::Header("the file ends inside it".into());
    let (&version, rest) = rest.split_first().ok_or_else(cut)?;
    let (_, rest) = rest.split_first().ok_or_else(cut)?;
    let (length, rest) = match version {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
            (u16::from_le_bytes(*length) as usize, rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        other => return Err(Why::Version(other)),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| Why::Header("it is not text".into()))?;
    let ty = element(value(header, "descr")?)?;
    match value(header, "fortran_order")? {
        text if text.starts_with("False") => {}
        text if text.starts_with("True") => return Err(Why::Fortran),
        text => return Err(Why::Header(format!("fortran_order is {}", excerpt(text)))),
    }
    let shape = extents(value(header, "shape")?)?;
    let count = shape.iter().try_fold(1u64, |n, &m| n.checked_mul(m));
    let expected = count.and_then(|n| n.checked_mul(ty.bytes() as u64));
    if expected != Some(data.len() as u64) {
        let expected = expected.map_or_else(|| "more than 2^64".into(), |n| n.to_string());
        return Err(Why::Length { shape, expected, found: data.len() });
    }
    if let (Ty::Bool, Some(&byte)) = (ty, data.iter().find(|&&byte| byte > 1)) {
        return Err(Why::Bool(byte));
    }
    Ok(Npy { ty, shape, data: data.to_vec() })
}

/// What stands behind a key of the header, which is a Python dictionary.
fn value<'h>(header: &'h str, key: &str) -> Result<&'h str, Why> {
    let quoted = |quote: char| header.split_once(&format!("{quote}{key}{quote}"));
    let (_, rest) = quoted('\'').or_else(|| quoted('"')).ok_or_else(|| Why::Header(format!("no {key}")))?;
    let rest = rest.trim_start().strip_prefix(':').ok_or_else(|| Why::Header(format!("no value of {key}")))?;
    Ok(rest.trim_start())
}

fn excerpt(text: &str) -> String {
    text.chars().take(24).collect()
}

fn element(text: &str) -> Result<Ty, Why> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    // Records have a list here.
    let descr = quote.and_then(|quote| text[1..].split(quote).next());
    let Some(descr) = descr else { return Err(Why::Elements(excerpt(text))) };
    let (order, kind) = match descr.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &descr[1..]),
        Some(_) | None => ('|', descr),
    };
    let ty = match kind {
        "b1" | "?" => Ty::Bool,
        "i1" => Ty::I8,
        "i2" => Ty::I16,
        "i4" => Ty::I32,
        "i8" => Ty::I64,
        "u1" => Ty::U8,
        // Raw pairs of bytes are how some libraries save bf16.
        "u2" | "V2" => Ty::U16,
        "u4" => Ty::U32,
        "u8" => Ty::U64,
        "f2" => Ty::F16,
        "f4" => Ty::F32,
        "f8" => Ty::F64,
        _ => return Err(Why::Elements(excerpt(descr))),
    };
    let big = order == '>' || order == '=' && cfg!(target_endian = "big");
    if big && ty.bytes() > 1 { Err(Why::BigEndian(excerpt(descr))) } else { Ok(ty) }
}

fn extents(text: &str) -> Result<Vec<u64>, Why> {
    let wrong = || Why::Header(format!("the shape is {}", excerpt(text)));
    let (inside, _) = text.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(wrong)?;
    let words = inside.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.trim_end_matches('L').parse().map_err(|_| wrong())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
    }

    fn why(bytes: &[u8]) -> String {
        parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn round_trip() {
        for ty in Ty::ALL {
            for shape in [&[][..], &[3], &[2, 0], &[2, 3, 4]] {
                let count: u64 = shape.iter().product();
                let data = vec![1; count as usize * ty.bytes()];
                let bytes = [header(ty, shape), data.clone()].concat();
                assert_eq!((bytes.len() - data.len()) % ALIGN, 0);
                let read = parse(&bytes).unwrap();
                let stored = if ty == Ty::BF16 { Ty::U16 } else { ty };
                assert_eq!(read, Npy { ty: stored, shape: shape.to_vec(), data });
            }
        }
    }

    #[test]
    fn headers_as_numpy_writes_them() {
        let text =
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }                                          \n";
        assert_eq!(parse(&file(text, &[0; 8])).unwrap().shape, [2]);
        let text = "{\"shape\": (2L, 1L), \"descr\": \"<i2\", \"fortran_order\": False}";
        assert_eq!(parse(&file(text, &[0; 4])).unwrap(), Npy { ty: Ty::I16, shape: vec![2, 1], data: vec![0; 4] });
    }

    #[test]
    fn refusals() {
        let with = |descr: &str, order: &str, shape: &str, data: &[u8]| {
            why(&file(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"), data))
        };
        assert!(why(b"PK").contains("not a .npy file"));
        assert!(why(&[MAGIC, &[9, 0]].concat()).contains("version 9"));
        assert!(why(&[MAGIC, &[1, 0, 200, 0], b"{}"].concat()).contains("ends inside"));
        assert!(why(&file("{}", &[])).contains("no descr"));
        assert!(with("'<f4'", "True", "(2,)", &[0; 8]).contains("ascontiguousarray"));
        assert!(with("'>f4'", "False", "(2,)", &[0; 8]).contains("big endian"));
        assert!(with("'<c8'", "False", "(2,)", &[0; 16]).contains("c8"));
        assert!(with("[('x', '<f4')]", "False", "(2,)", &[0; 8]).contains("not supported"));
        assert!(with("'<f4'", "False", "(2,)", &[0; 7]).contains("needs 8 bytes"));
        assert!(with("'<f4'", "False", "(4294967296, 4294967296)", &[0; 7]).contains("2^64"));
        assert!(with("'<f4'", "False", "(-1,)", &[0; 7]).contains("the shape"));
        assert!(with("'|b1'", "False", "(1,)", &[7]).contains("byte 7"));
    }
}
