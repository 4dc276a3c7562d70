//! Complex numbers against `num-complex`.

use num_complex::Complex64;
use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;
type Z = Complex<f64>;
type Line = Arr<Z, N>;

axis!(N, M);

fn close(found: Z, expected: Complex64) -> bool {
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-12 * expected.norm().max(1.0);
    near(found.re, expected.re) && near(found.im, expected.im)
}

fn check(what: &str, found: &[Z], expected: impl Iterator<Item = Complex64>) {
    let expected: Vec<Complex64> = expected.collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
        assert!(close(found, expected), "{what}, number {k}: {found:?}, not {expected:?}");
    }
}

/// Numbers all around, on the axes too.
fn numbers() -> Vec<Complex64> {
    let parts = [-3.5, -1.0, 0.5, 2.0];
    let mut out: Vec<Complex64> = parts.iter().flat_map(|&a| parts.map(|b| Complex64::new(a, b))).collect();
    out.extend(parts.map(|a| Complex64::new(a, 0.25e-3)));
    out.extend([Complex64::new(2.0, 0.0), Complex64::new(0.0, 2.0), Complex64::new(0.0, -3.0)]);
    out
}

#[test]
fn arithmetic() -> R {
    fn ours(list: &[Complex64]) -> Vec<Z> {
        list.iter().map(|&z| z.into()).collect()
    }
    for device in crate::devices() {
        let a = numbers();
        let b: Vec<Complex64> = a.iter().rev().map(|z| z * 0.5 + 1.0 / 3.0).collect();
        let pairs = || a.iter().copied().zip(b.iter().copied());
        let two = compile_on(&device, |x: Line, y: Line| [x + y, x - y, x * y, x / y])?;
        let [sum, difference, product, quotient] = two.call(&ours(&a), &ours(&b))?;
        check("sum", &sum.to_vec()?, pairs().map(|(a, b)| a + b));
        check("difference", &difference.to_vec()?, pairs().map(|(a, b)| a - b));
        check("product", &product.to_vec()?, pairs().map(|(a, b)| a * b));
        check("quotient", &quotient.to_vec()?, pairs().map(|(a, b)| a / b));

        let w = Complex64::new(0.5, -2.0);
        let scalars = compile_on(&device, |x: Line, w: Complex<Exp<f64>>, r: Exp<f64>, gain: Arr<f64, N>| {
            let constant = Complex::new(1.0, 2.0);
            [x * w, x * r, r - x, 2.0 / x, x * 2.0 + constant, x * gain, x.map(|z| 3.0 - z * w / r + z), -x]
        })?;
        let gain: Vec<f64> = (0..a.len()).map(|k| k as f64).collect();
        let found = scalars.call(&ours(&a), Z::from(w), 1.5, &gain)?;
        let one = Complex64::new(1.0, 2.0);
        let each = |k: usize, f: &dyn Fn(usize, Complex64) -> Complex64| -> R {
            check(&format!("with scalars {k}"), &found[k].to_vec()?, a.iter().enumerate().map(|(i, &z)| f(i, z)));
            Ok(())
        };
        each(0, &|_, z| z * w)?;
        each(1, &|_, z| z * 1.5)?;
        each(2, &|_, z| 1.5 - z)?;
        each(3, &|_, z| 2.0 / z)?;
        each(4, &|_, z| z * 2.0 + one)?;
        each(5, &|i, z| z * i as f64)?;
        each(6, &|_, z| 3.0 - z * w / 1.5 + z)?;
        each(7, &|_, z| -z)?;

        // An aligned array, and sums.
        let rows = compile_on(&device, |x: Arr<Z, (N, M)>, y: Arr<Z, M>| ((x * y).over(M).sum(), x.sum()))?;
        let (found, all) = rows.call((&ours(&a[..6]), [3, 2]), &ours(&b[..2]))?;
        check("rows", &found.to_vec()?, (0..3).map(|i| a[i * 2] * b[0] + a[i * 2 + 1] * b[1]));
        check("sum of all", &[all.value()?], std::iter::once(a[..6].iter().sum()));
    }
    Ok(())
}

#[test]
fn functions() -> R {
    for device in crate::devices() {
        let a = numbers();
        let z: Vec<Z> = a.iter().map(|&z| z.into()).collect();
        let f = compile_on(&device, |x: Line, p: Exp<f64>| {
            let powers = x.map(|z| z.powf(p));
            let back = x.map(|z| Complex::from_polar(z.abs(), z.arg()));
            [x.conj(), x.exp(), x.ln(), x.sqrt(), powers, back, x.map(|z| z.recip())]
        })?;
        let found = f.call(&z, -0.75)?;
        type Reference = fn(Complex64) -> Complex64;
        let names: [(&str, Reference); 7] = [
            ("conj", |z| z.conj()),
            ("exp", |z| z.exp()),
            ("ln", |z| z.ln()),
            ("sqrt", |z| z.sqrt()),
            ("powf", |z| z.powf(-0.75)),
            ("polar", |z| z),
            ("recip", |z| z.inv()),
        ];
        for ((name, reference), found) in names.into_iter().zip(&found) {
            check(name, &found.to_vec()?, a.iter().map(|&z| reference(z)));
        }
        let real = compile_on(&device, |x: Line| [x.abs(), x.arg(), x.norm_sqr()])?;
        let [abs, arg, square] = real.call(&z)?;
        let complex = |x: Vec<f64>| x.into_iter().map(|re| Complex::new(re, 0.0)).collect::<Vec<Z>>();
        check("abs", &complex(abs.to_vec()?), a.iter().map(|z| z.norm().into()));
        check("arg", &complex(arg.to_vec()?), a.iter().map(|z| z.arg().into()));
        check("norm_sqr", &complex(square.to_vec()?), a.iter().map(|z| z.norm_sqr().into()));
        // The root of nothing is nothing, and of a negative number on the axis it is on the other axis.
        let edges = f.call(&[Complex::new(0.0, 0.0), Complex::new(-4.0, 0.0)], 1.0)?[3].to_vec()?;
        assert_eq!(edges, [Complex::new(0.0, 0.0), Complex::new(0.0, 2.0)]);
        assert_eq!(f.call(&[] as &[Z], 1.0)?[0].len(), 0);
        let single = compile_on(&device, |z: Complex<Exp<f32>>| z * z * 2.0 + 1.0)?;
        let found = single.call(Complex::new(1.0f32, 1.0))?;
        assert_eq!(found.value()?, Complex::new(1.0, 4.0));
    }
    Ok(())
}

/// Elements whose parts have all widths go to a tensor and come back, however many.
#[test]
fn elements_come_back() -> R {
    type Mixed = (i8, f64, [i16; 2], (bool, f32));
    let some = |i: usize| -> Mixed {
        let small = i as i16 - 300;
        (small as i8, i as f64 / 3.0, [small, -small], (i.is_multiple_of(3), -(i as f32)))
    };
    for count in [0, 1, 255, 256, 257, 700] {
        let data: Vec<Mixed> = (0..count).map(some).collect();
        let tensor = Tensor::<Mixed, N>::from_vec([count], data.clone())?;
        assert_eq!(tensor.to_vec()?, data);
    }
    Ok(())
}
