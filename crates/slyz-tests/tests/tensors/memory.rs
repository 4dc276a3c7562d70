//! Elements that are borrowed, read one by one, and taken over.

use crate::devices;
use slyz::prelude::*;
use slyz::{Complex, Error, TensorError};

axis!(N, M);

#[test]
fn lists_are_taken_over() -> Result<(), Error> {
    let data: Vec<f32> = (0..1000).map(|k| k as f32).collect();
    let start = data.as_ptr();
    let x = Tensor::<f32, (N, M)>::from_vec([10, 100], data)?;
    assert_eq!(x.as_slice()?.as_ptr(), start, "no element moved");
    assert_eq!(x.as_slice()?[999], 999.0);
    let flags = Tensor::<bool>::from_vec([2], vec![true, false])?;
    assert_eq!(flags.as_slice()?, [true, false]);
    for device in devices() {
        let f = compile_on(&device, |x: Arr<f32, (N, M)>| x.sum())?;
        assert_eq!(f.call(&x)?.value()?, 499_500.0, "{}", device.name());
        let turned = compile_on(&device, |x: Arr<f32, (N, M)>| x.transpose())?.call(&x)?;
        assert_eq!(turned.get([99, 9])?, 999.0);
    }
    Ok(())
}

/// Lists of any length and start: what stands before and behind them is nobody's business.
#[test]
fn kernels_take_lists_of_any_length() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<u8, N>, y: Arr<f64, N>| y + x.map(|x| x.cast::<f64>()) * 2.0)?;
        for n in (0..70).chain([1023, 4097]) {
            let x = Tensor::<u8, N>::from_vec([n], (0..n).map(|k| k as u8).collect())?;
            let y = Tensor::<f64, N>::from_vec([n], (0..n).map(|k| k as f64).collect())?;
            let expected: Vec<f64> = (0..n).map(|k| k as f64 + f64::from(k as u8) * 2.0).collect();
            match f.call(&x, &y) {
                Ok(z) => assert_eq!(z.to_vec()?, expected, "{} {n}", device.name()),
                // Not every GPU has f64.
                Err(error) => {
                    println!("skipped: f64 on {}: {error}", device.name());
                    break;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_list_that_is_taken_over_is_written_in_place_and_shared_by_copies() -> Result<(), Error> {
    #[graph]
    fn twice(x: &mut Tensor<f32>) {
        let i = thread.x;
        if i < x.len() {
            x[i] = x[i] * 2.0;
        }
    }
    let mut x = Tensor::<f32>::from_vec([3], vec![1.0, 2.0, 3.0])?;
    let before = x.clone();
    twice(&mut x).threads(3).run()?;
    assert_eq!((x.to_vec()?, before.to_vec()?), (vec![2.0, 4.0, 6.0], vec![1.0, 2.0, 3.0]));
    Ok(())
}

/// Zeros that nobody has written to and lists are slow to write: a result that is written from nothing takes memory of the pool, and
/// stays there.
#[test]
fn results_lie_where_vectors_start() -> Result<(), Error> {
    #[graph]
    fn next(x: &Tensor<f32>, out: &mut Tensor<f32>) {
        let i = thread.x;
        if i < out.len() {
            out[i] = x[i] + 1.0;
        }
    }
    let cpu = slyz::device("cpu")?;
    let f = compile_on(&cpu, |x: Arr<f32, N>| x + 1.0)?;
    let start = |x: &[f32]| x.as_ptr().addr();
    for n in [1000, 1 << 20] {
        let x = vec![1.0f32; n];
        let list = || Tensor::<f32, N>::from_vec([n], vec![0.0; n]);
        for mut out in [Tensor::zeros([n])?, list()?, f.call(&x)?] {
            f.call_into(&mut out, &x)?;
            let first = start(out.as_slice()?);
            f.call_into(&mut out, &x)?;
            assert_eq!((start(out.as_slice()?), first % 64), (first, 0));
            assert_eq!(out.as_slice()?, vec![2.0; n]);
        }
        for mut out in [Tensor::<f32>::zeros([n])?, list()?.into_dyn()] {
            next(&x, &mut out).threads(n).on(&cpu).run()?;
            let first = start(out.as_slice()?);
            next(&x, &mut out).threads(n).on(&cpu).run()?;
            assert_eq!((start(out.as_slice()?), first % 64), (first, 0));
            assert_eq!(out.as_slice()?, vec![2.0; n]);
        }
    }
    Ok(())
}

#[test]
fn one_element() -> Result<(), Error> {
    // Large enough that a device reads parts of it.
    let x = Tensor::<u8, (N, M)>::from_vec([100, 101], (0..10_100u32).map(|k| k as u8).collect())?;
    let pairs = Tensor::<(f32, u16), N>::from_vec([3], vec![(0.5, 1), (1.5, 2), (2.5, 3)])?;
    for device in devices() {
        let x = x.to(&device)?;
        for (i, j) in [(0, 0), (0, 1), (0, 2), (0, 3), (57, 100), (99, 97), (99, 100)] {
            assert_eq!(x.get([i, j])?, (i * 101 + j) as u8, "{} {i} {j}", device.name());
        }
        assert_eq!(pairs.to(&device)?.get([1])?, (1.5, 2));
    }
    assert_eq!(Tensor::from_value(7)?.get([])?, 7);
    let outside = |result: Result<u8, Error>| matches!(result, Err(Error::Tensor(TensorError::Outside { .. })));
    assert!(outside(x.get([100, 0])) && outside(x.get([0, 101])) && outside(x.get([0])) && outside(x.get([0, 0, 0])));
    assert!(outside(Tensor::<u8, N>::from_vec([0], vec![])?.get([0])));
    assert_eq!(
        x.get([5, 200]).unwrap_err().to_string(),
        "there is no position [5, 200] in a tensor of the dimensions [100, 101]; give a number below each of them"
    );
    Ok(())
}

#[test]
fn slices() -> Result<(), Error> {
    let x = Tensor::<i64, N>::from_vec([2], vec![-1, 2])?;
    for device in devices() {
        let moved = x.to(&device)?;
        match (moved.device(), moved.as_slice()) {
            ("host", slice) => assert_eq!(slice?, [-1, 2]),
            (name, Err(Error::Tensor(error @ TensorError::NoSlice { .. }))) => {
                let text = error.to_string();
                assert!(text.contains(name) && text.contains("`to_vec`"), "{text}");
            }
            (name, other) => panic!("{name}: {other:?}"),
        }
    }
    let apart = Tensor::<Complex<f32>, N>::from_vec([1], vec![Complex::new(1.0, 2.0)])?;
    assert!(apart.as_slice().unwrap_err().to_string().contains("several parts"));
    assert!(Tensor::<f32, N>::from_vec([0], vec![])?.as_slice()?.is_empty());
    Ok(())
}
