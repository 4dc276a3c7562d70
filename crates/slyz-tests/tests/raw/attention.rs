//! Attention by tensor cores and by what it means, held against sums in `f64`.

use super::{R, everywhere};
use slyz::prelude::*;
use slyz::{Attend, Fix, Options, Precision, Tensor, attention, bf16, causal_attention, f16};
use slyz_run::Device;
use std::sync::Arc;

axis!(B, H, N, M, D);

type Heads<T, L, W> = Arr<T, (B, H, L, W)>;

/// Numbers that a half holds, of no pattern.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 513) as f32 / 256.0 - 1.0).collect()
}

/// What attention is, of rows of `width` elements.
fn expected([q, k, v]: [&[f32]; 3], [heads, n, m, width]: [usize; 4], causal: bool) -> Vec<f64> {
    let mut all = vec![];
    for head in 0..heads {
        let row = |x: &[f32], length: usize, at: usize| -> Vec<f64> {
            let start = (head * length + at) * width;
            x[start..start + width].iter().map(|&x| x.into()).collect()
        };
        for i in 0..n {
            let query = row(q, n, i);
            let seen = if causal { m.min(i + 1) } else { m };
            let score = |j| row(k, m, j).iter().zip(&query).map(|(a, b)| a * b).sum::<f64>() / (width as f64).sqrt();
            let scores: Vec<f64> = (0..seen).map(score).collect();
            let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let powers: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
            let whole: f64 = powers.iter().sum();
            let weigh = |d: usize| (0..seen).map(|j| powers[j] / whole * row(v, m, j)[d]).sum::<f64>();
            all.extend((0..width).map(weigh));
        }
    }
    all
}

/// `near` is what a result may be off.
fn agrees<T, W>(device: &Arc<dyn Device>, shape: [usize; 5], of: fn(f32) -> T, to: fn(T) -> f64, near: f64) -> R
where
    T: Attend,
    W: slyz::Axis,
{
    let [batch, heads, n, m, width] = shape;
    let data = [n, m, m].map(|length| batch * heads * length * width);
    let data = [0, 1, 2].map(|seed| numbers(data[seed], seed));
    let tensor = |k: usize, length: usize| {
        let elements: Vec<T> = data[k].iter().map(|&x| of(x)).collect();
        Tensor::<T>::from_vec([batch, heads, length, width], elements)
    };
    let (q, k, v) = (tensor(0, n)?, tensor(1, m)?, tensor(2, m)?);
    let plain = |q: Heads<T, N, W>, k: Heads<T, M, W>, v: Heads<T, M, W>| attention(q, k, v);
    let causal = |q: Heads<T, N, W>, k: Heads<T, M, W>, v: Heads<T, M, W>| causal_attention(q, k, v);
    let found = [
        slyz::compile_on(device, plain)?.call(&q.rename()?, &k.rename()?, &v.rename()?)?.to_vec()?,
        slyz::compile_on(device, causal)?.call(&q.rename()?, &k.rename()?, &v.rename()?)?.to_vec()?,
    ];
    for (found, causal) in found.into_iter().zip([false, true]) {
        let [q, k, v] = &data;
        let expected = expected([q, k, v], [batch * heads, n, m, width], causal);
        assert_eq!(found.len(), expected.len());
        for (place, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            let found = to(found);
            let is_near = (found - expected).abs() <= near;
            assert!(is_near, "{}, {shape:?}, causal {causal}, {place}: {found}, {expected}", device.name());
        }
    }
    Ok(())
}

#[test]
fn attention_is_what_it_means() -> R {
    let halves = |x: f32| f16::from_f32(x);
    for device in everywhere() {
        for [n, m] in [[3, 5], [5, 0], [0, 3]] {
            agrees::<f16, Fix<64>>(&device, [1, 2, n, m, 64], halves, f64::from, 2e-3)?;
            agrees::<f32, D>(&device, [2, 2, n, m, 5], |x| x, f64::from, 1e-5)?;
        }
        if device.name() != "cuda" {
            continue;
        }
        // Past a block of queries and a tile of keys, at their ends, and few of both.
        for [n, m] in [[1, 1], [3, 70], [130, 64], [64, 33], [5, 0], [300, 500]] {
            agrees::<f16, Fix<64>>(&device, [1, 2, n, m, 64], halves, f64::from, 2e-3)?;
            agrees::<f16, Fix<128>>(&device, [2, 1, n, m, 128], halves, f64::from, 2e-3)?;
            agrees::<bf16, Fix<64>>(&device, [1, 2, n, m, 64], bf16::from_f32, f64::from, 1.6e-2)?;
        }
    }
    Ok(())
}

#[test]
fn an_exact_function_is_the_meaning() -> R {
    let attend = |q: Heads<f16, N, Fix<64>>, k: Heads<f16, M, Fix<64>>, v: Heads<f16, M, Fix<64>>| attention(q, k, v);
    let tensor = |seed| {
        let elements: Vec<f16> = numbers(40 * 64, seed).into_iter().map(f16::from_f32).collect();
        Tensor::<f16>::from_vec([1, 1, 40, 64], elements)
    };
    let (q, k, v) = (tensor(0)?.rename()?, tensor(1)?.rename()?, tensor(2)?.rename()?);
    for device in everywhere() {
        let exact = slyz::compile_with(attend, &Options::new().precision(Precision::Exact).device(&device))?;
        assert!(!exact.explain().to_string().contains("a raw kernel in"), "{}", device.name());
        exact.call(&q, &k, &v)?;
    }
    Ok(())
}
