//! Powers with constant exponents are products and roots, with the same bits on every device.

use slyz::prelude::*;

axis!(N);

type Result<T = ()> = std::result::Result<T, slyz::Error>;

/// Ten thousand numbers of both signs, and what is special.
fn numbers() -> Vec<f32> {
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // An exponent near that of 1, and any sign and fraction.
        f32::from_bits(seed & 0x807f_ffff | (120 + (seed >> 23) % 14) << 23)
    };
    let special = [0.0, -0.0, 1.0, -1.0, 2.0, 1e-20, 1e20, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    (0..10_000).map(|_| next()).chain(special).collect()
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// How many numbers lie between two, if both are of one sign.
fn apart(a: f32, b: f32) -> u32 {
    if same(a, b) { 0 } else { a.to_bits().abs_diff(b.to_bits()) }
}

#[test]
fn whole_powers_are_those_of_rust() -> Result {
    let x = numbers();
    for device in crate::devices() {
        let literal = compile_on(&device, |x: Arr<f32, N>| {
            (x.powi(2), x.powi(3), x.powi(7), x.powi(48), x.powi(-1), x.powi(-3), x.powi(0))
        })?;
        let exponents = [2, 3, 7, 48, -1, -3, 0];
        let (a, b, c, d, e, f, g) = literal.call(&x)?;
        let any = compile_on(&device, |x: Arr<f32, N>, n: Exp<i32>| x.map(|x| x.powi(n)))?;
        for (found, n) in [a, b, c, d, e, f, g].iter().zip(exponents) {
            let (found, computed) = (found.to_vec()?, any.call(&x, n)?.to_vec()?);
            for ((&x, found), computed) in x.iter().zip(found).zip(computed) {
                let expected = x.powi(n);
                assert!(same(found, expected), "{}: {x:e}.powi({n}) is {found:e}, not {expected:e}", device.name());
                assert!(same(computed, expected), "{}: {x:e} to {n} computed is {computed:e}", device.name());
            }
        }
    }
    Ok(())
}

#[test]
fn squares_are_products_in_every_type() -> Result {
    let x = numbers();
    for device in crate::devices() {
        let f = compile_on(&device, |x: Arr<f32, N>| {
            let (h, b) = (x.cast::<f16>(), x.cast::<bf16>());
            let whole = h.powi(2).eq(h * h) & b.powf(bf16::from_f32(2.0)).eq(b * b) & x.powf(2.0).eq(x * x);
            (whole | x.ne(x), x.map(|x| x.powf(3.0).eq(x * x * x) | x.ne(x)))
        });
        // Halves may be missing on a GPU.
        let Ok((squares, cubes)) = f.and_then(|f| f.call(&x)) else {
            assert_ne!(device.name(), "cpu");
            continue;
        };
        assert!(squares.to_vec()?.into_iter().all(|equal| equal), "{}", device.name());
        assert!(cubes.to_vec()?.into_iter().all(|equal| equal), "{}", device.name());
    }
    let wide = compile(|x: Arr<f64, N>| (x.powi(3), x.powf(2.0), x.powf(-1.0)))?;
    let x: Vec<f64> = x.iter().map(|&x| f64::from(x) / 3.0).collect();
    let (cubes, squares, inverse) = wide.call(&x)?;
    let (cubes, squares, inverse) = (cubes.to_vec()?, squares.to_vec()?, inverse.to_vec()?);
    for (k, &x) in x.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
        let found = [cubes[k], squares[k], inverse[k]];
        assert_eq!(found.map(f64::to_bits), [x.powi(3), x * x, 1.0 / x].map(f64::to_bits), "{x}");
    }
    Ok(())
}

/// Within the table's three units in the last place, and right where numbers end.
#[test]
fn other_powers_are_near() -> Result {
    let x = numbers();
    for device in crate::devices() {
        let f = compile_on(&device, |x: Arr<f32, N>| {
            (x.powf(0.5), x.powf(1.5), x.powf(2.5), x.powf(-0.5), x.powf(4.0), x.powf(-2.0), x.powf(0.75), x.powf(5.0))
        })?;
        let exponents = [0.5, 1.5, 2.5, -0.5, 4.0, -2.0, 0.75, 5.0];
        let (a, b, c, d, e, f, g, h) = f.call(&x)?;
        for (found, y) in [a, b, c, d, e, f, g, h].iter().zip(exponents) {
            for (&x, found) in x.iter().zip(found.to_vec()?) {
                let expected = f64::from(x).powf(y) as f32;
                let far = apart(found, expected);
                assert!(far <= 3, "{}: {x:e} to {y} is {found:e}, not {expected:e}", device.name());
            }
        }
    }
    Ok(())
}

#[graph]
fn powers(x: &Tensor<f32>, cubes: &mut Tensor<f32>, roots: &mut Tensor<f32>) {
    let i = thread.x;
    if i < x.len() {
        cubes[i] = x[i].powi(3);
        roots[i] = powf(x[i], 1.5);
    }
}

#[test]
fn kernels_have_the_same_powers() -> Result {
    let x = numbers();
    let tensor = Tensor::<f32>::from_vec([x.len()], x.clone())?;
    let expected = compile(|x: Arr<f32, N>| (x.powi(3), x.powf(1.5)))?.call(&x)?;
    let (cubes, roots) = (expected.0.to_vec()?, expected.1.to_vec()?);
    for device in crate::devices() {
        let (mut a, mut b) = (Tensor::<f32>::zeros([x.len()])?, Tensor::<f32>::zeros([x.len()])?);
        powers(&tensor, &mut a, &mut b).threads(x.len()).on(&device).run()?;
        let equal = |found: Vec<f32>, expected: &[f32]| found.iter().zip(expected).all(|(&a, &b)| same(a, b));
        assert!(equal(a.to_vec()?, &cubes) && equal(b.to_vec()?, &roots), "{}", device.name());
    }
    Ok(())
}
