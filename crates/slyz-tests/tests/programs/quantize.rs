//! Functions over smaller numbers, held against themselves over `f32`, on every device.

use slyz::prelude::*;
use slyz::{Error, Quantize};

axis!(B, N, K, H, M);

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104729 + i / 7) % 2003) as f32 / 1000.0 - 1.0).collect()
}

fn tensor<S: slyz::Shape, const R: usize>(dims: [usize; R], seed: usize) -> Result<Tensor<f32, S>, Error> {
    Tensor::from_vec(dims, numbers(dims.iter().product(), seed))
}

fn is_near(exact: &[f32], found: &[f32], part: f32) -> bool {
    let largest = exact.iter().fold(0f32, |most, x| most.max(x.abs()));
    exact.len() == found.len() && exact.iter().zip(found).all(|(a, b)| (a - b).abs() <= part * largest)
}

fn layer(x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>, bias: Arr<f32, M>) -> Arr<f32, (N, M)> {
    let sums = x.maximum(0.0).matmul(w);
    stack(|i| (sums.row(i) + bias).maximum(0.0))
}

#[test]
fn products_in_bytes() -> Result<(), Error> {
    for device in slyz::devices() {
        let f = slyz::compile_on(&device, layer)?;
        let small = f.quantized(&Quantize::i8())?;
        // The last two are for libraries, which take columns by fours.
        let large = [[300, 1000, 260], [300, 1000, 261]];
        let large = if device.name() == "interpreter" { &[][..] } else { &large[..] };
        for &[n, k, m] in [[3, 0, 4], [1, 1, 1], [5, 7, 3], [20, 66, 70], [70, 513, 33]].iter().chain(large) {
            let x = tensor::<(N, K), _>([n, k], 1)?;
            let w = tensor::<(K, M), _>([k, m], 2)?;
            let bias = tensor::<M, _>([m], 3)?;
            let exact = f.call(&x, &w, &bias)?.to_vec()?;
            for _ in 0..2 {
                let found = small.call(&x, &w, &bias)?.to_vec()?;
                assert!(is_near(&exact, &found, 0.02), "{n}×{k}×{m} on {}", device.name());
            }
        }
    }
    Ok(())
}

#[test]
fn weights_are_packed_once() -> Result<(), Error> {
    let f = slyz::compile_on(&slyz::device("cpu")?, |x: Arr<f32, (B, N, K)>, w: Arr<f32, (K, M)>| {
        tabulate(|(b, i, j): (Idx<B>, Idx<N>, Idx<M>)| sum(|k: Idx<K>| x.at((b, i, k)) * w.at((k, j))))
    })?;
    let small = f.quantized(&Quantize::i8())?;
    let x = tensor::<(B, N, K), _>([2, 20, 40], 1)?;
    let mut w = tensor::<(K, M), _>([40, 30], 2)?;
    let launches = |w: &Tensor<f32, (K, M)>| -> Result<(Vec<f32>, usize), Error> {
        let (found, launches) = slyz_run::profile(|| small.call(&x, w));
        Ok((found?.to_vec()?, launches.len()))
    };
    let (first, with_packs) = launches(&w)?;
    let (second, without) = launches(&w)?;
    assert_eq!(first, second);
    assert!(without < with_packs, "{without} launches, {with_packs} at first");
    // Somebody changes the weights: what was packed is of the old ones.
    w = Tensor::from_vec([40, 30], numbers(1200, 5))?;
    let (third, again) = launches(&w)?;
    assert_eq!(again, with_packs);
    assert!(is_near(&f.call(&x, &w)?.to_vec()?, &third, 0.02));
    Ok(())
}

#[test]
fn what_is_no_number_shows() -> Result<(), Error> {
    let f = compile(|x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>| x.matmul(w))?;
    let small = f.quantized(&Quantize::i8())?;
    let mut rows = numbers(20 * 32, 1);
    rows[3] = f32::NAN;
    rows[32 + 5] = f32::INFINITY;
    let x = Tensor::<f32, (N, K)>::from_vec([20, 32], rows)?;
    let w = tensor::<(K, M), _>([32, 17], 2)?;
    let found = small.call(&x, &w)?.to_vec()?;
    assert!(found[..2 * 17].iter().all(|x| !x.is_finite()));
    assert!(found[2 * 17..].iter().all(|x| x.is_finite()));
    Ok(())
}

/// Two layers; the second has one number that is far larger than the others of its column.
#[test]
fn bounds_are_held_or_told() -> Result<(), Error> {
    let f = compile(|x: Arr<f32, (N, K)>, v: Arr<f32, (K, H)>, w: Arr<f32, (H, M)>| {
        let inner = x.matmul(v);
        let tame = stack(|i| inner.row(i).tanh());
        (inner.maximum(0.0), tame.matmul(w))
    })?;
    let x = tensor::<(N, K), _>([32, 64], 1)?;
    let v = tensor::<(K, H), _>([64, 48], 2)?;
    let mut outer = numbers(48 * 40, 3);
    (0..40).for_each(|j| outer[j] *= 1e4);
    let w = Tensor::<f32, (H, M)>::from_vec([48, 40], outer)?;
    let within = |bound: f64| f.quantize(&Quantize::i8().within(bound), |f| f.call(&x, &v, &w));
    let loose = within(0.5)?;
    assert_eq!(loose.explain().to_string().matches("is i8").count(), 2, "{}", loose.explain());
    let none = within(1e-9);
    let Err(Error::Quantize { found, bound, .. }) = none else { panic!("a bound that cannot be held") };
    assert!(found > bound);
    assert!(none.unwrap_err().to_string().contains("i8, result"));
    let never = f.quantize(&Quantize::i8().within(0.5), |_| Ok(()));
    assert!(matches!(never, Err(Error::NoExamples)));
    // Between what both make together and what the better one makes alone, one stays.
    let one = |f: &str| f.matches("stays f32: alone it makes").count();
    let held = (1..400).map(|k| 0.5 * 0.97f64.powi(k)).find_map(|bound| match within(bound) {
        Ok(small) if one(&small.explain().to_string()) == 1 => Some(true),
        Ok(_) => None,
        Err(_) => Some(false),
    });
    assert_eq!(held, Some(true));
    Ok(())
}

/// What is proven holds for other numbers in the ranges, and what cannot be followed is told.
#[test]
fn what_is_proven_is_told() -> Result<(), Error> {
    let f = compile(layer)?;
    let x = tensor::<(N, K), _>([20, 30], 1)?;
    let w = tensor::<(K, M), _>([30, 25], 2)?;
    let bias = tensor::<M, _>([25], 3)?;
    let how = Quantize::i8().range(1, -1.0, 1.0).range(2, -1.0, 1.0);
    let loose = f.quantize(&how.clone().within(0.5), |f| f.call(&x, &w, &bias))?.explain().to_string();
    assert!(loose.contains("is i8; proven: alone it makes results at most"), "{loose}");
    assert!(loose.contains("off is proven for numbers in their ranges, within 50.00 %"), "{loose}");
    // A bound that is held by what is measured, and is more than can be proven.
    let strict = f.quantize(&how.clone().within(0.02), |f| f.call(&x, &w, &bias))?;
    let told = strict.explain().to_string();
    assert!(told.contains("% off in the examples") && told.contains("more than 2.00 %"), "{told}");
    let part = told.split("at most ").nth(1).and_then(|rest| rest.split(' ').next()).and_then(|part| part.parse().ok());
    let part: f32 = part.expect("a number");
    let exact = f.call(&x, &w, &bias)?.to_vec()?;
    let largest = exact.iter().fold(0f32, |most, x| most.max(x.abs()));
    for seed in 4..9 {
        let other = tensor::<(N, K), _>([20, 30], seed)?;
        let pairs = [f.call(&other, &w, &bias)?.to_vec()?, strict.call(&other, &w, &bias)?.to_vec()?];
        let off = pairs[0].iter().zip(&pairs[1]).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(off <= part / 100.0 * largest, "{off}, {part} % of {largest}");
    }
    // Nothing is measured without a bound, but what is proven is.
    let told = f.quantize(&how, |f| f.call(&x, &w, &bias))?.explain().to_string();
    assert!(told.contains("together: at most") && !told.contains("in the examples"), "{told}");
    let wild = compile(|x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>| x.matmul(w) % 0.5)?;
    let told = wild.quantize(&Quantize::i8().within(9.0), |f| f.call(&x, &w))?.explain().to_string();
    assert!(told.contains("not proven, only measured: `rem` is not followed"), "{told}");
    Ok(())
}

#[test]
fn arrays_in_sixteen_bits() -> Result<(), Error> {
    for device in slyz::devices() {
        // What is kept is read many times: `inner` is stored.
        let f = slyz::compile_on(&device, |x: Arr<f32, (N, K)>, w: Arr<f32, (K, M)>| {
            let inner = x.exp();
            inner.matmul(w)
        })?;
        let x = tensor::<(N, K), _>([9, 33], 1)?;
        let w = tensor::<(K, M), _>([33, 21], 2)?;
        let exact = f.call(&x, &w)?.to_vec()?;
        for how in [Quantize::f16(), Quantize::bf16()] {
            let small = f.quantize(&how.weights([2]).within(0.02), |f| f.call(&x, &w))?;
            let found = small.call(&x, &w)?.to_vec()?;
            assert!(is_near(&exact, &found, 0.02), "{}", device.name());
            assert_ne!(exact, found);
        }
        // Numbers that f16 has not.
        let large = Tensor::<f32, (K, M)>::from_vec([33, 21], numbers(33 * 21, 2).iter().map(|x| x * 1e6).collect())?;
        let small = f.quantize(&Quantize::f16().weights([2]).within(0.02), |f| f.call(&x, &large))?;
        assert!(small.explain().to_string().contains("stays f32: it holds numbers up to"), "{}", small.explain());
        assert!(f.quantized(&Quantize::bf16().weights([2]))?.call(&x, &large).is_ok());
    }
    Ok(())
}
