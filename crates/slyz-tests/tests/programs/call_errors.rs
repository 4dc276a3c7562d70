//! What can go wrong at a call gives an error that says so, or a defined result; never a panic.

use slyz::prelude::*;
use std::sync::Arc;

type R<T = ()> = Result<T, slyz::Error>;
axis!(N, M);

fn text<T>(result: R<T>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn sizes_past_the_index_type_and_past_memory() -> R {
    let f = compile(|x: Exp<f32>| -> Arr<f32, (N, M)> { fill(x) })?;
    let huge = f.clone().size::<N>(1 << 40).size::<M>(1 << 40);
    let message = text(huge.call(1.0));
    assert!(message.contains("too large") || message.contains("larger than"), "{message}");
    let big = f.clone().size::<N>(1 << 30).size::<M>(1 << 20);
    let message = text(big.call(1.0));
    assert!(message.contains("memory") || message.contains("too large"), "{message}");
    // The device is as good as before.
    assert_eq!(f.size::<N>(2).size::<M>(1).call(7.0)?.to_vec()?, [7.0, 7.0]);
    Ok(())
}

#[test]
fn nothing_at_all() -> R {
    let e: [f32; 0] = [];
    let f = compile(|x: Arr<f32, N>| (x.map(|v| v.exp()), x.sum(), x.max(), x.scan(Sum), x.fold(Product)))?;
    let (y, sum, max, scan, product) = f.call(&e)?;
    assert!(y.to_vec()?.is_empty() && scan.to_vec()?.is_empty());
    assert_eq!((sum.value()?, max.value()?, product.value()?), (0.0, f32::NEG_INFINITY, 1.0));
    assert!(sum.value()?.is_sign_positive(), "an empty sum is +0");
    let rows = compile(|x: Arr<f32, (N, M)>| x.axis::<1>().sum())?;
    assert_eq!(rows.call((&e, [3, 0]))?.to_vec()?, [0.0; 3]);
    assert!(rows.call((&e, [0, 3]))?.to_vec()?.is_empty());
    let heat = compile(|u: Arr<f32, (N, M)>| u.stencil(Border::Clamp, |u| u((0, -1)) + u((1, 0))))?;
    assert!(heat.call((&e, [0, 5]))?.to_vec()?.is_empty());
    Ok(())
}

#[test]
fn numbers_that_are_none() -> R {
    let f = compile(|x: Arr<f32, N>| (x.max(), x.min(), x.sum(), x.map(|v| v.cast::<i32>())))?;
    let (max, min, sum, ints) = f.call(&[1.0, f32::NAN, f32::INFINITY, -3e9])?;
    assert_eq!((max.value()?, min.value()?), (f32::INFINITY, -3e9));
    assert!(sum.value()?.is_nan());
    assert_eq!(ints.to_vec()?, [1, 0, i32::MAX, i32::MIN]);
    Ok(())
}

#[test]
fn many_threads_at_once() -> R {
    let shared = Arc::new(compile(|x: Arr<f32, N>, a: Exp<f32>| (x * a, x.sum()))?);
    let workers: Vec<_> = (0..8)
        .map(|k| {
            let f = shared.clone();
            std::thread::spawn(move || -> R<bool> {
                let mut right = true;
                for n in [1usize, 17, 1000, 100_000] {
                    let x = vec![k as f32; n];
                    let (y, s) = f.call(&x, 2.0)?;
                    right &= y.to_vec()? == vec![2.0 * k as f32; n] && s.value()? == (k * n) as f32;
                    // Compiling the same and another function meanwhile disturbs nobody.
                    right &= compile(move |x: Arr<f32, N>| x + k as f32)?.call(&[1.0])?.to_vec()? == [1.0 + k as f32];
                }
                Ok(right)
            })
        })
        .collect();
    for worker in workers {
        assert!(worker.join().expect("no panic")?);
    }
    Ok(())
}

#[test]
fn long_sums_stay_precise_and_do_not_depend_on_threads() -> R {
    let x: Vec<f32> = (0..3_000_000).map(|i| 0.1 + (i % 7) as f32 * 1e-3).collect();
    let exact: f64 = x.iter().map(|&v| v as f64).sum();
    let f = compile(|x: Arr<f32, N>| x.sum())?;
    let first = f.call(&x)?.value()?;
    assert!(((first as f64 - exact) / exact).abs() < 1e-6, "{first} is not {exact}");
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let again = alone.install(|| f.call(&x).and_then(|s| s.value()))?;
    assert_eq!(first.to_bits(), again.to_bits());
    Ok(())
}

/// Results of 32 MiB and more are written past the caches, whole vectors at a time.
#[test]
fn large_results_of_every_width() -> R {
    let n = (9 << 20) + 5;
    let f = compile(|x: Arr<u8, N>| {
        (x.map(|v| v.cast::<i32>() - 7), x.map(|v| v.cast::<u32>() * 3), x.map(|v| v.cast::<f32>() * 0.5))
    })?;
    let x: Vec<u8> = (0..n).map(|i| (i % 251) as u8).collect();
    let (a, b, c) = f.call(&x)?;
    let (a, b, c) = (a.to_vec()?, b.to_vec()?, c.to_vec()?);
    assert!((0..n).all(|i| a[i] == x[i] as i32 - 7 && b[i] == x[i] as u32 * 3 && c[i] == x[i] as f32 * 0.5));
    let f = compile(|x: Arr<u8, N>| {
        (x.map(|v| v.cast::<i64>() - 7), x.map(|v| v.cast::<u64>() << 40), x.map(|v| v.cast::<f64>() * 0.1))
    })?;
    let (a, b, c) = f.call(&x)?;
    let (a, b, c) = (a.to_vec()?, b.to_vec()?, c.to_vec()?);
    assert!((0..n).all(|i| a[i] == x[i] as i64 - 7 && b[i] == (x[i] as u64) << 40 && c[i] == x[i] as f64 * 0.1));
    Ok(())
}

#[test]
fn wrong_lengths_name_argument_and_sizes() -> R {
    let f = compile(|x: Arr<f32, N>, y: Arr<f32, N>| x + y)?;
    let message = text(f.call(&[1.0, 2.0], &[1.0, 2.0, 3.0]));
    assert!(message.contains('2') && message.contains('3') && message.contains('N'), "{message}");
    Ok(())
}
