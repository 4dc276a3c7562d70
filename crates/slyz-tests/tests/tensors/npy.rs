//! `.npy` and `.npz` files: those of NumPy, our own, and damaged ones.

use crate::devices;
use crate::numpy_files::*;
use slyz::prelude::*;
use slyz::{Complex, Error, NpyProblem, NpzReader, NpzWriter, TensorError};
use std::io::Cursor;

axis!(N, M);

fn problem<T: Elem, S>(result: Result<Tensor<T, S>, Error>) -> NpyProblem {
    match result {
        Err(Error::Npy(error)) => error.why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a tensor"),
    }
}

#[test]
fn files_of_numpy() -> Result<(), Error> {
    let rows = Tensor::<f32, (N, M)>::read_npy_from(ROWS)?;
    assert_eq!((rows.dims(), rows.as_slice()?), (&[2, 3][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5][..]));
    let columns = Tensor::<f64, (N, M)>::read_npy_from(COLUMNS)?;
    assert_eq!((columns.dims(), columns.as_slice()?), (&[2, 3][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5][..]));
    let complex = Tensor::<Complex<f64>, N>::read_npy_from(COMPLEX)?;
    assert_eq!(complex.to_vec()?, [Complex::new(1.0, 2.0), Complex::new(-0.0, -0.5)]);
    assert_eq!(Tensor::<bool>::read_npy_from(FLAGS)?.to_vec()?, [true, false]);
    assert_eq!(Tensor::<u16, ()>::read_npy_from(SCALAR)?.value()?, 7);
    assert_eq!(Tensor::<i64, (N, Fix<3>)>::read_npy_from(EMPTY)?.dims(), [0, 3]);
    let halves = Tensor::<f16, N>::read_npy_from(HALVES)?;
    assert_eq!(halves.to_vec()?, [f16::from_f32(1.5), f16::from_f32(-2.0)]);
    Ok(())
}

/// What we write is what NumPy writes, byte for byte but for how it spells tuples.
#[test]
fn files_for_numpy() -> Result<(), Error> {
    let mut bytes = vec![];
    Tensor::<f32, (N, M)>::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5])?.write_npy_to(&mut bytes)?;
    assert_eq!(bytes.len(), ROWS.len());
    assert_eq!((&bytes[..10], &bytes[128..]), (&ROWS[..10], &ROWS[128..]));
    let header = String::from_utf8_lossy(&bytes[10..128]).to_string();
    assert!(header.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }"), "{header}");
    Ok(())
}

#[test]
fn round_trips() -> Result<(), Error> {
    fn there_and_back<T: Elem + PartialEq>(data: [T; 6]) -> Result<(), Error> {
        for device in devices() {
            let x = Tensor::<T, (N, M)>::from_vec([2, 3], data.to_vec())?.to(&device)?;
            let mut bytes = vec![];
            x.write_npy_to(&mut bytes)?;
            assert!(Tensor::<T, (N, M)>::read_npy_from(&bytes[..])? == x);
            let mut file = Cursor::new(vec![]);
            let mut writer = NpzWriter::new(&mut file);
            writer.write("x", &x)?;
            writer = writer.compressed();
            writer.write("folder/y", &x)?;
            writer.finish()?;
            let mut reader = NpzReader::new(file)?;
            assert_eq!(reader.names(), ["folder/y", "x"]);
            assert!(reader.read::<T, (N, M)>("x")? == x && reader.read::<T, (N, M)>("folder/y")? == x);
        }
        Ok(())
    }
    there_and_back([1.5f32, -2.0, 0.0, f32::INFINITY, 1e-40, 7.0])?;
    there_and_back([1.5f64, -2.0, 0.0, 5.0, 6.0, 7.0])?;
    there_and_back([1.5, -2.0, 0.0, 5.0, 6.0, 7.0].map(f16::from_f32))?;
    there_and_back([1.5, -2.0, 0.0, 5.0, 6.0, 7.0].map(bf16::from_f32))?;
    there_and_back([1i8, -2, 3, 4, 5, 6])?;
    there_and_back([1i16, -2, 3, 4, 5, 6])?;
    there_and_back([1i32, -2, 3, 4, 5, 6])?;
    there_and_back([1i64, -2, 3, 4, 5, 6])?;
    there_and_back([1u8, 2, 3, 4, 5, 6])?;
    there_and_back([1u16, 2, 3, 4, 5, 6])?;
    there_and_back([1u32, 2, 3, 4, 5, 6])?;
    there_and_back([1u64, 2, 3, 4, 5, u64::MAX])?;
    there_and_back([true, false, true, true, false, false])?;
    there_and_back([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(|x| Complex::new(x, -x)))
}

/// One file may hold several arrays, as `numpy.save` to an open file leaves them.
#[test]
fn arrays_behind_each_other() -> Result<(), Error> {
    let both = [ROWS, SCALAR].concat();
    let mut from = &both[..];
    assert_eq!(Tensor::<f32, (N, M)>::read_npy_from(&mut from)?.len(), 6);
    assert_eq!(Tensor::<u16, ()>::read_npy_from(&mut from)?.value()?, 7);
    assert!(matches!(problem(Tensor::<u16, ()>::read_npy_from(&mut from)), NpyProblem::Magic));
    Ok(())
}

#[test]
fn archives_of_numpy() -> Result<(), Error> {
    let mut stored = NpzReader::new(Cursor::new(STORED))?;
    assert_eq!(stored.names(), ["bias", "w"]);
    assert_eq!(stored.read::<f32, (N, M)>("w")?.to_vec()?, [1.0, 2.0]);
    assert_eq!(stored.read::<i16, N>("bias")?.to_vec()?, [-1]);
    let unknown = stored.read::<f32, N>("v").unwrap_err().to_string();
    assert_eq!(unknown, "there is no array `v` in the archive; there are: bias, w");
    let wrong = stored.read::<f32, N>("bias").unwrap_err().to_string();
    assert_eq!(wrong, "bias: the elements are i16, and f32 are asked for; read them as i16, or save a.astype('<f4')");
    let mut compressed = NpzReader::new(Cursor::new(COMPRESSED))?;
    assert_eq!(compressed.read::<u32, slyz::Dyn>("w")?.dims(), [2, 3]);
    Ok(())
}

#[test]
fn refusals() -> Result<(), Error> {
    assert!(matches!(problem(Tensor::<f64, (N, M)>::read_npy_from(ROWS)), NpyProblem::Type { .. }));
    assert!(matches!(problem(Tensor::<f64, N>::read_npy_from(COMPLEX)), NpyProblem::Type { .. }));
    assert!(matches!(problem(Tensor::<Complex<f64>>::read_npy_from(ROWS)), NpyProblem::Type { .. }));
    assert!(matches!(problem(Tensor::<(f64, f64)>::read_npy_from(COMPLEX)), NpyProblem::Parts(2)));
    assert!(matches!(problem(Tensor::<u16, ()>::read_npy_from(&b"PK"[..])), NpyProblem::Magic));
    let rank = Tensor::<f32, N>::read_npy_from(ROWS).unwrap_err();
    assert!(matches!(rank, Error::Tensor(TensorError::Shape { .. })), "{rank}");
    let size = Tensor::<f32, (N, Fix<4>)>::read_npy_from(ROWS).unwrap_err().to_string();
    assert!(size.contains("[2, 3]") && size.contains('4'), "{size}");
    let cut = problem(Tensor::<f32, (N, M)>::read_npy_from(&ROWS[..ROWS.len() - 1]));
    assert!(matches!(cut, NpyProblem::Length { expected: 24, found: 23, .. }));
    let folder = tempfile::tempdir().unwrap();
    let missing = Tensor::<f32>::read_npy(folder.path().join("none.npy")).unwrap_err().to_string();
    assert!(missing.contains("none.npy: "), "{missing}");
    let path = folder.path().join("x.npy");
    std::fs::write(&path, ROWS).unwrap();
    let named = Tensor::<u8>::read_npy(&path).unwrap_err().to_string();
    assert!(named.contains("x.npy: the elements are f32, and u8 are asked for"), "{named}");
    assert_eq!(Tensor::<f32>::read_npy(&path)?.len(), 6);
    let pairs = Tensor::<(f32, u8), N>::from_vec([1], vec![(1.0, 2)])?;
    assert!(
        pairs.write_npy(folder.path().join("pairs.npy")).unwrap_err().to_string().contains("a tensor for each part")
    );
    assert!(!folder.path().join("pairs.npy").exists());
    assert!(pairs.write_npy(&path).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), ROWS, "what was there before stays");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    Ok(())
}

/// A header that claims far more than there is costs nothing.
#[test]
fn headers_that_lie() {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,), }";
    let claims = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &[0; 8]].concat();
    let lie = problem(Tensor::<f32>::read_npy_from(&claims[..]));
    assert!(matches!(lie, NpyProblem::Length { expected: 4611686018427387904, found: 8, .. }));
}

#[test]
fn damaged_archives() {
    for cut in 0..STORED.len() {
        assert!(NpzReader::new(Cursor::new(&STORED[..cut])).is_err(), "{cut}");
    }
    for at in 0..STORED.len() {
        for byte in [0, 0xff, b'('] {
            let mut bad = STORED.to_vec();
            bad[at] = byte;
            if let Ok(mut reader) = NpzReader::new(Cursor::new(&bad[..])) {
                for name in reader.names() {
                    let _ = reader.read::<f32, (N, M)>(&name);
                }
            }
        }
    }
}
