//! `.npy` files: headers as they are written, and as they should not be.

use slyz_run::npy::{Npy, NpyProblem, read_from, write};
use slyz_sir::types::Ty;

const MAGIC: &[u8] = b"\x93NUMPY";

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn parse(bytes: &[u8]) -> Result<Npy, NpyProblem> {
    read_from(&mut &bytes[..], bytes.len() as u64)
}

fn why(bytes: &[u8]) -> String {
    parse(bytes).unwrap_err().to_string()
}

fn with(descr: &str, order: &str, shape: &str, data: &[u8]) -> Result<Npy, NpyProblem> {
    parse(&file(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"), data))
}

#[test]
fn round_trip() {
    let complex = [(Ty::F32, true), (Ty::F64, true)];
    for (ty, complex) in Ty::ALL.into_iter().map(|ty| (ty, false)).chain(complex) {
        for shape in [&[][..], &[3], &[2, 0], &[2, 3, 4]] {
            let count: u64 = shape.iter().product();
            let data = vec![1; count as usize * ty.bytes() * if complex { 2 } else { 1 }];
            let mut bytes = vec![];
            write(&mut bytes, ty, complex, shape, &data).unwrap();
            assert_eq!((bytes.len() - data.len()) % 64, 0);
            let read = parse(&bytes).unwrap();
            let stored = if ty == Ty::BF16 { Ty::U16 } else { ty };
            assert_eq!((read.ty, read.complex, &read.shape[..]), (stored, complex, shape));
            assert_eq!(read.data.bytes().unwrap(), data);
        }
    }
}

#[test]
fn headers_as_numpy_writes_them() {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }                                          \n";
    assert_eq!(parse(&file(text, &[0; 8])).unwrap().shape, [2]);
    let text = "{\"shape\": (2L, 1L), \"descr\": \"<i2\", \"fortran_order\": False}";
    let old = parse(&file(text, &[0; 4])).unwrap();
    assert_eq!((old.ty, &old.shape[..]), (Ty::I16, &[2, 1][..]));
}

#[test]
fn orders() {
    let turned = with("'>u2'", "True", "(2, 3)", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]).unwrap();
    assert_eq!(turned.data.as_slice::<u16>(), Some(&[1, 2, 3, 4, 5, 6][..]));
    let cube: Vec<u8> = (0..24).collect();
    let read = with("'|u1'", "True", "(2, 3, 4)", &cube).unwrap();
    let at = |i: u8, j: u8, k: u8| i + 2 * j + 6 * k;
    let expected: Vec<u8> = (0..24).map(|p| at(p / 12, p / 4 % 3, p % 4)).collect();
    assert_eq!(read.data.bytes().unwrap(), expected);
    assert!(with("'|u1'", "True", "(2, 0, 4)", &[]).unwrap().data.is_empty());
    let z = with("'>c8'", "False", "(1,)", &[0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]).unwrap();
    assert_eq!((z.complex, z.data.as_slice::<f32>()), (true, Some(&[1.0, 2.0][..])));
}

#[test]
fn refusals() {
    let told = |result: Result<Npy, NpyProblem>| result.unwrap_err().to_string();
    assert!(why(b"PK").contains("not a .npy file"));
    assert!(why(b"").contains("not a .npy file"));
    assert!(why(&MAGIC[..6]).contains("ends inside"));
    assert!(why(&[MAGIC, &[9, 0]].concat()).contains("version 9"));
    assert!(why(&[MAGIC, &[1, 0, 200, 0], b"{}"].concat()).contains("ends inside"));
    assert!(why(&file("{}", &[])).contains("missing key"));
    assert!(why(&file("1", &[])).contains("dict"));
    assert!(told(with("'<f12'", "False", "(2,)", &[0; 24])).contains("f12"));
    assert!(told(with("'|S2'", "False", "(2,)", &[0; 4])).contains("not supported"));
    assert!(told(with("'|O'", "False", "(2,)", &[0; 4])).contains("not supported"));
    assert!(told(with("[('x', '<f4')]", "False", "(2,)", &[0; 8])).contains("not supported"));
    assert!(told(with("'<f4'", "False", "(2,)", &[0; 7])).contains("needs 8 bytes of data, the file has 7"));
    assert!(told(with("'<f4'", "False", "(-1,)", &[0; 7])).contains("negative"));
    assert!(told(with("'<f4'", "No", "(1,)", &[0; 7])).contains("damaged"));
    assert!(told(with("'|b1'", "False", "(1,)", &[7])).contains("byte 7"));
}

/// What a header claims costs nothing before there is data.
#[test]
fn huge_headers() {
    let told = |result: Result<Npy, NpyProblem>| result.unwrap_err().to_string();
    let huge = with("'<f4'", "False", "(1152921504606846976,)", &[0; 4]);
    assert!(told(huge).contains("needs 4611686018427387904 bytes of data, the file has 4"));
    assert!(told(with("'<f4'", "False", "(4294967296, 4294967296)", &[])).contains("2^63"));
    assert!(told(with("'<f4'", "True", "(0, 4294967296, 4294967296)", &[])).contains("2^63"));
    assert!(told(with("'<f4'", "False", "(99999999999999999999999999,)", &[])).contains("2^63"));
    let long = [MAGIC, &[2, 0], &u32::MAX.to_le_bytes(), b"{"].concat();
    assert!(why(&long).contains("4294967295"));
    let deep = "(".repeat(60_000);
    assert!(why(&file(&deep, &[])).contains("brackets"));
    let wide = format!("({})", "1,".repeat(30_000));
    assert!(matches!(with("'|u1'", "False", &wide, &[5]), Err(NpyProblem::Axes(30_000))));
    let mut to = vec![];
    assert!(matches!(write(&mut to, Ty::U8, false, &[1; 65], &[0]), Err(NpyProblem::Axes(65))));
}

/// No file makes it panic.
#[test]
fn damaged_files() {
    let mut good = vec![];
    write(&mut good, Ty::F32, false, &[2, 3], &[0; 24]).unwrap();
    for cut in 0..good.len() {
        assert!(parse(&good[..cut]).is_err(), "{cut}");
    }
    for at in 0..80 {
        for byte in [0, b'(', b'9', b'\'', 0xff, b'{', b'-', b','] {
            let mut bad = good.clone();
            bad[at] = byte;
            let _ = parse(&bad);
        }
    }
}
