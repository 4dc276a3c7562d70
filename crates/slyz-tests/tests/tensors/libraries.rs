//! Tensors and other crates: `safetensors`, `ndarray`, `serde`, `image`.

use crate::devices;
use ndarray::{Array, Array2, Array3, ArrayView1, ArrayView2, s};
use slyz::prelude::*;
use slyz::{Complex, Dyn, Error, FileError, SafeTensors, SafeTensorsWriter, TensorError};

axis!(N, M, H, W, Channel);

/// As the Python library writes `{"w": numpy.array([[1, 2.5]], "f4"), "n": numpy.array([-3], "i8")}`.
const WEIGHTS: &[u8] = b"p\x00\x00\x00\x00\x00\x00\x00{\"n\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[8,16]}}  \xfd\xff\xff\xff\xff\xff\xff\xff\x00\x00\x80?\x00\x00 @";

#[test]
fn safetensors_of_python() -> Result<(), Error> {
    let file = SafeTensors::from_bytes(WEIGHTS.to_vec())?;
    assert_eq!(file.names(), ["n", "w"]);
    assert_eq!(file.read::<f32, (N, M)>("w")?.to_vec()?, [1.0, 2.5]);
    assert_eq!(file.read::<i64, N>("n")?.to_vec()?, [-3]);
    let mut writer = SafeTensorsWriter::new();
    writer.add("w", &file.read::<f32, (N, M)>("w")?)?;
    writer.add("n", &file.read::<i64, N>("n")?)?;
    let again = SafeTensors::from_bytes(writer.to_bytes()?)?;
    assert_eq!(again.read::<f32, Dyn>("w")?.dims(), [1, 2]);
    Ok(())
}

#[test]
fn safetensors_of_all_types() -> Result<(), Error> {
    fn there_and_back<T: Elem + PartialEq>(data: [T; 4]) -> Result<(), Error> {
        for device in devices() {
            let x = Tensor::<T, (N, M)>::from_vec([2, 2], data.to_vec())?.to(&device)?;
            let mut writer = SafeTensorsWriter::new();
            writer.add("x", &Tensor::<u8, N>::from_vec([0], vec![])?)?;
            writer.add("x", &x)?;
            assert!(SafeTensors::from_bytes(writer.to_bytes()?)?.read::<T, (N, M)>("x")? == x);
        }
        Ok(())
    }
    there_and_back([1.5f32, -2.0, 0.0, 7.0])?;
    there_and_back([1.5f64, -2.0, 0.0, 7.0])?;
    there_and_back([1.5, -2.0, 0.0, 7.0].map(f16::from_f32))?;
    there_and_back([1.5, -2.0, 0.0, 7.0].map(bf16::from_f32))?;
    there_and_back([1i8, -2, 3, 4])?;
    there_and_back([1i16, -2, 3, 4])?;
    there_and_back([1i32, -2, 3, 4])?;
    there_and_back([1i64, -2, 3, 4])?;
    there_and_back([1u8, 2, 3, 4])?;
    there_and_back([1u16, 2, 3, 4])?;
    there_and_back([1u32, 2, 3, 4])?;
    there_and_back([1u64, 2, 3, 4])?;
    there_and_back([true, false, true, true])?;
    there_and_back([1.0f32, 2.0, 3.0, 4.0].map(|x| Complex::new(x, -x)))
}

#[test]
fn safetensors_that_do_not_fit() -> Result<(), Error> {
    let file = SafeTensors::from_bytes(WEIGHTS.to_vec())?;
    let told = |result: Result<Tensor<f32, N>, Error>| result.unwrap_err().to_string();
    assert_eq!(told(file.read("v")), "there is no tensor `v` in the file; there are: n, w");
    assert_eq!(told(file.read("n")), "the elements of `n` are i64, and f32 are asked for; read them as i64");
    assert!(told(file.read("w")).contains("2 dimensions, 1 axes"));
    let folder = tempfile::tempdir().unwrap();
    let missing = SafeTensors::open(folder.path().join("none")).map(|_| ()).unwrap_err();
    assert!(matches!(missing, Error::File(FileError::System { .. })), "{missing}");
    let mut writer = SafeTensorsWriter::new();
    let pairs = Tensor::<(f32, f32), N>::from_vec([1], vec![(1.0, 2.0)])?;
    assert!(writer.add("pairs", &pairs).unwrap_err().to_string().contains("2 parts"));
    writer.add("x", &Tensor::<u8, N>::from_vec([1], vec![7])?)?;
    let path = folder.path().join("x.safetensors");
    writer.write(&path)?;
    assert_eq!(SafeTensors::open(&path)?.read::<u8, N>("x")?.to_vec()?, [7]);
    assert!(writer.write(folder.path().join("no/such/folder")).is_err());
    Ok(())
}

#[test]
fn safetensors_that_are_damaged() {
    for cut in 0..WEIGHTS.len() {
        assert!(SafeTensors::from_bytes(WEIGHTS[..cut].to_vec()).is_err(), "{cut}");
    }
    for at in 0..WEIGHTS.len() {
        for byte in [0, 0xff, b'9', b'[', b'"'] {
            let mut bad = WEIGHTS.to_vec();
            bad[at] = byte;
            if let Ok(file) = SafeTensors::from_bytes(bad) {
                for name in file.names() {
                    let _ = file.read::<f32, Dyn>(&name);
                }
            }
        }
    }
    let header = r#"{"x":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615]}}"#;
    let lie = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    let error = SafeTensors::from_bytes(lie).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("more data than any memory"), "{error}");
}

#[test]
fn views_of_ndarray() -> Result<(), Error> {
    let x = Tensor::<f32, (N, M)>::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let view = ArrayView2::try_from(&x)?;
    assert_eq!(view.as_ptr(), x.as_slice()?.as_ptr(), "no element moved");
    assert_eq!(view.column(1).to_vec(), [2.0, 5.0]);
    assert_eq!(x.as_ndarray()?.shape(), [2, 3]);
    let rank = ArrayView1::<f32>::try_from(&x).unwrap_err();
    assert!(matches!(rank, Error::Tensor(TensorError::Shape { .. })), "{rank}");
    let pairs = Tensor::<(f32, f32), N>::from_vec([1], vec![(1.0, 2.0)])?;
    assert!(pairs.as_ndarray().unwrap_err().to_string().contains("to_vec"));
    Ok(())
}

#[test]
fn arrays_of_ndarray() -> Result<(), Error> {
    let array = Array::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as i32);
    let start = array.as_ptr();
    let x = Tensor::<i32, (N, M)>::try_from(array.clone())?;
    assert_eq!(x.to_vec()?, (0..12).collect::<Vec<i32>>());
    let taken = Tensor::<i32, (N, M)>::try_from(array)?;
    assert_eq!(taken.as_slice()?.as_ptr(), start, "no element moved");
    // Turned, cut and stepped.
    let array = Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as i32);
    let turned = Tensor::<i32, (M, N)>::try_from(array.t().to_owned())?;
    assert_eq!(turned.to_vec()?, array.t().iter().copied().collect::<Vec<_>>());
    let cut = array.clone().slice_move(s![1.., ..]);
    assert_eq!(Tensor::<i32, (N, M)>::try_from(cut)?.to_vec()?, (4..12).collect::<Vec<i32>>());
    let stepped = array.slice(s![..;-1, ..;2]);
    assert_eq!(Tensor::<i32, (N, M)>::try_from(stepped)?.to_vec()?, [8, 10, 4, 6, 0, 2]);
    assert!(Tensor::<i32, N>::try_from(array.clone()).is_err());
    assert!(Tensor::<i32, (N, Fix<5>)>::try_from(array.clone()).is_err());
    assert_eq!(Tensor::<i32, Dyn>::try_from(Array3::<i32>::zeros((2, 0, 3)))?.dims(), [2, 0, 3]);
    for device in devices() {
        let f = compile_on(&device, |x: Arr<i32, (N, M)>| x.transpose())?;
        assert_eq!(f.call(&array)?, turned, "{}", device.name());
        assert_eq!(f.call(&array.view())?.to_vec()?, turned.to_vec()?);
        let y = f.call(&array.slice(s![..;-1, ..;2]))?;
        assert_eq!((y.dims(), y.to_vec()?), (&[2, 3][..], vec![8, 4, 0, 10, 6, 2]), "{}", device.name());
    }
    Ok(())
}

#[test]
fn serde() -> Result<(), Box<dyn std::error::Error>> {
    let x = Tensor::<f32, (N, M)>::from_vec([2, 1], vec![1.5, -2.0])?;
    for device in devices() {
        let text = serde_json::to_string(&x.to(&device)?)?;
        assert_eq!(text, r#"{"shape":[2,1],"elements":[1.5,-2.0]}"#, "{}", device.name());
        assert_eq!(serde_json::from_str::<Tensor<f32, (N, M)>>(&text)?, x);
    }
    let z = Tensor::<Complex<f64>, ()>::from_value(Complex::new(1.0, -2.0))?;
    assert_eq!(serde_json::to_string(&z)?, r#"{"shape":[],"elements":[[1.0,-2.0]]}"#);
    assert_eq!(
        serde_json::from_str::<Tensor<Complex<f64>, ()>>(r#"{"elements":[[1.0,-2.0]],"more":{},"shape":[]}"#)?,
        z
    );
    let halves = Tensor::<f16, N>::from_vec([1], vec![f16::from_f32(0.5)])?;
    assert_eq!(serde_json::from_str::<Tensor<f16, N>>(&serde_json::to_string(&halves)?)?, halves);
    assert_eq!(serde_json::from_str::<Tensor<u8, N>>("[[2],[3,4]]")?.to_vec()?, [3, 4]);
    let refused = |text: &str| serde_json::from_str::<Tensor<u8, N>>(text).unwrap_err().to_string();
    assert!(refused(r#"{"shape":[3],"elements":[1]}"#).contains("pass 3"));
    assert!(refused(r#"{"shape":[1,1],"elements":[1]}"#).contains("2 dimensions, 1 axes"));
    assert!(refused(r#"{"shape":[4611686018427387904,16],"elements":[1]}"#).contains("too large"));
    assert!(refused(r#"{"shape":[1]}"#).contains("missing field `elements`"));
    assert!(refused(r#"{"shape":[1],"shape":[1],"elements":[1]}"#).contains("duplicate field `shape`"));
    assert!(refused(r#"{"shape":[1],"elements":[256]}"#).contains("256"));
    Ok(())
}

#[test]
fn images() -> Result<(), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.png");
    for channels in 1..=4 {
        let data: Vec<u8> = (0..2 * 3 * channels).map(|k| (k * 10) as u8).collect();
        let x = Tensor::<u8, (H, W, Channel)>::from_vec([2, 3, channels], data)?;
        x.write_image(&path)?;
        assert_eq!(Tensor::<u8, (H, W, Channel)>::read_image(&path)?, x, "{channels}");
        assert_eq!(Tensor::<u8, (H, W, Fix<4>)>::read_image(&path)?.dims(), [2, 3, 4]);
        assert_eq!(Tensor::<u8, (H, W, Fix<3>)>::read_image(&path)?.dims(), [2, 3, 3]);
        assert_eq!(Tensor::<u8, (H, W)>::read_image(&path)?.dims(), [2, 3]);
        assert_eq!(Tensor::<u8>::read_image(&path)?.dims(), [2, 3, channels]);
        assert_eq!(Tensor::<u8, (H, W, Channel)>::try_from(x.to_image()?)?, x);
    }
    let gray = Tensor::<u8, (H, W)>::filled([8, 8], 100)?;
    let jpeg = folder.path().join("x.jpg");
    gray.write_image(&jpeg)?;
    assert_eq!(Tensor::<u8, (H, W)>::read_image(&jpeg)?, gray);
    Ok(())
}

#[test]
fn images_that_are_none() -> Result<(), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.png");
    let refused = |result: Result<(), Error>| match result {
        Err(Error::File(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let five = Tensor::<u8, (H, W, Channel)>::filled([1, 1, 5], 0)?;
    assert!(refused(five.write_image(&path)).contains("1 to 4 channels"));
    assert!(refused(Tensor::<u8, N>::filled([4], 0)?.write_image(&path)).contains("[4]"));
    let x = Tensor::<u8, (H, W)>::filled([4, 4], 7)?;
    assert!(refused(x.write_image(folder.path().join("x.tga"))).contains(".png or .jpg"));
    assert!(refused(Tensor::<u8, (H, W)>::read_image(&path).map(|_| ())).contains("x.png: "));
    x.write_image(&path)?;
    let good = std::fs::read(&path).unwrap();
    for cut in 0..good.len() - 12 {
        std::fs::write(&path, &good[..cut]).unwrap();
        let _ = Tensor::<u8, (H, W)>::read_image(&path);
    }
    // Of 2^31 rows and columns.
    let mut huge = good.clone();
    huge[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    std::fs::write(&path, &huge).unwrap();
    assert!(refused(Tensor::<u8, (H, W)>::read_image(&path).map(|_| ())).contains("an image cannot be read"));
    std::fs::write(&path, &good).unwrap();
    let shape = Tensor::<u8, (H, Fix<5>)>::read_image(&path).unwrap_err().to_string();
    assert!(shape.contains('5'), "{shape}");
    Ok(())
}
