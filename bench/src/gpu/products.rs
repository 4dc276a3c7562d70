//! Products of matrices in all precisions, and other jobs that arithmetic bounds. Their yardsticks are in `kernels/cuda/by_hand.cu`.

use super::jobs::Make;
use super::{Answer, Job, Ours};
use crate::jobs::mandelbrot::{C, R, mandelbrot};
use crate::jobs::nbody::accelerations;
use slyz::prelude::*;
use slyz::{Device, Error, Options, Precision, Quantize, compile_on, compile_with};
use std::sync::Arc;

axis!(N, M, K, L);

/// Bodies that attract each other.
const BODIES: u64 = 65_536;
/// Rows and columns of the picture.
const PICTURE: u64 = 8_192;

pub fn all(side: u64) -> Vec<Job> {
    let flops = 2 * side * side * side;
    let square = (vec![side, side], (0.0, 1.0));
    let product = |name: &str, inputs, ours| Job {
        title: format!("{name}, {side}"),
        inputs,
        output: side * side,
        flops,
        hand: vec![],
        ours,
    };
    let two = vec![square.clone(), square.clone()];
    let three = vec![square.clone(), square, (vec![side], (-0.5 * side as f32, 0.0))];
    let bodies = |name: &str, precision| Job {
        title: format!("n-body, {name}, {BODIES}"),
        inputs: vec![(vec![BODIES], (-1.0, 1.0)); 4],
        output: 3 * BODIES,
        flops: 20 * BODIES * BODIES,
        hand: vec![],
        ours: attract(precision),
    };
    let picture = |name: &str, precision| Job {
        title: format!("mandelbrot, {name}, {PICTURE}"),
        inputs: vec![],
        output: PICTURE * PICTURE,
        flops: 0,
        hand: vec![],
        ours: draw(precision),
    };
    let rows = 4 * side;
    let matvec = |name: &str, ours| Job {
        title: format!("matrix · vector{name}, {rows}"),
        inputs: vec![(vec![rows, rows], (-1.0, 1.0)), (vec![rows], (-1.0, 1.0))],
        output: rows,
        flops: 2 * rows * rows,
        hand: vec![],
        ours,
    };
    vec![
        matvec("", weigh(None)),
        matvec(" of f16", weigh(Some(Quantize::f16().weights([1])))),
        product("matmul of bytes", two.clone(), multiply_bytes()),
        product("matmul native", two.clone(), multiply(Precision::Native)),
        product("matmul of bf16", two.clone(), multiply_halves(of_halves)),
        product("gelu(relu(a)·b) of bf16", two.clone(), multiply_halves(activated)),
        product("relu(a·b + bias)", three.clone(), layer(Precision::Table)),
        product("relu(a·b + bias) native", three, layer(Precision::Native)),
        bodies("table", Precision::Table),
        bodies("native", Precision::Native),
        attention(),
        picture("table", Precision::Table),
        picture("native", Precision::Native),
    ]
}

fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| slyz::sum(|k| a.at((i, k)) * b.at((k, j))))
}

fn of_halves(a: Arr<bf16, (N, K)>, b: Arr<bf16, (K, M)>) -> Arr<bf16, (N, M)> {
    tabulate(|(i, j)| {
        let sum: Exp<f32> = slyz::sum(|k| a.at((i, k)).cast::<f32>() * b.at((k, j)).cast::<f32>());
        sum.cast::<bf16>()
    })
}

/// More than the library's own bias and rectifier.
fn activated(a: Arr<bf16, (N, K)>, b: Arr<bf16, (K, M)>) -> Arr<bf16, (N, M)> {
    tabulate(|(i, j)| {
        let sum: Exp<f32> = slyz::sum(|k| a.at((i, k)).max(bf16::ZERO).cast::<f32>() * b.at((k, j)).cast::<f32>());
        sum.gelu().cast::<bf16>()
    })
}

fn rectified(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>, bias: Arr<f32, M>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| {
        let sum: Exp<f32> = slyz::sum(|k| a.at((i, k)) * b.at((k, j)));
        (sum + bias.at(j)).max(0.0)
    })
}

fn multiply(precision: Precision) -> Box<Make> {
    Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
        let f = compile_with(matmul, &Options::new().precision(precision).device(device))?;
        let (a, b) = (x[0].rename()?, x[1].rename()?);
        unseen(move || f.call(&a, &b))
    })
}

fn multiply_bytes() -> Box<Make> {
    Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
        let f = compile_on(device, matmul)?.quantized(&Quantize::i8())?;
        let (a, b) = (x[0].rename()?, x[1].rename()?);
        unseen(move || f.call(&a, &b))
    })
}

/// A matrix by a vector, perhaps in smaller numbers.
fn weigh(how: Option<Quantize>) -> Box<Make> {
    Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
        let rows = |w: Arr<f32, (N, K)>, x: Arr<f32, K>| -> Arr<f32, N> {
            tabulate(|i| slyz::sum(|k| w.at((i, k)) * x.at(k)))
        };
        let f = compile_on(device, rows)?;
        let f = how.as_ref().map_or(Ok(f.clone()), |how| f.quantized(how))?;
        let (w, x) = (x[0].rename()?, x[1].rename()?);
        unseen(move || f.call(&w, &x))
    })
}

type OfHalves = fn(Arr<bf16, (N, K)>, Arr<bf16, (K, M)>) -> Arr<bf16, (N, M)>;

fn multiply_halves(of_halves: OfHalves) -> Box<Make> {
    Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
        let halve = compile_on(device, |x: Arr<f32, (N, M)>| x.cast::<bf16>())?;
        let f = compile_on(device, of_halves)?;
        let (a, b) = (halve.call(&x[0].rename()?)?, halve.call(&x[1].rename()?)?);
        let (a, b) = (a.rename()?, b.rename()?);
        unseen(move || f.call(&a, &b))
    })
}

/// Batch, heads, places and width of a head.
const ATTENTION: [u64; 4] = [4, 16, 4096, 64];

/// Attention of halves; its yardstick is torch's, in `kernels/cuda/attention.py`.
fn attention() -> Job {
    let [batch, heads, places, width] = ATTENTION;
    Job {
        title: format!("attention of f16, {batch} × {heads} × {places} × {width}"),
        inputs: vec![(ATTENTION.to_vec(), (-1.0, 1.0)); 3],
        output: ATTENTION.iter().product(),
        flops: 4 * batch * heads * places * places * width,
        hand: vec![],
        ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
            let halve = compile_on(device, |x: Arr<f32, (N, M, K, Fix<64>)>| x.cast::<f16>())?;
            type Heads<L> = Arr<f16, (N, M, L, Fix<64>)>;
            let f = compile_on(device, |q: Heads<K>, k: Heads<L>, v: Heads<L>| slyz::attention(q, k, v))?;
            let halves = |x: &Tensor<f32>| halve.call(&x.rename::<(N, M, K, Fix<64>)>()?);
            let (q, k, v) = (halves(&x[0])?, halves(&x[1])?, halves(&x[2])?);
            let (k, v) = (k.rename()?, v.rename()?);
            unseen(move || f.call(&q, &k, &v))
        }),
    }
}

fn layer(precision: Precision) -> Box<Make> {
    Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
        let f = compile_with(rectified, &Options::new().precision(precision).device(device))?;
        let (a, b, bias) = (x[0].rename()?, x[1].rename()?, x[2].rename()?);
        unseen(move || f.call(&a, &b, &bias))
    })
}

fn attract(precision: Precision) -> Box<Make> {
    Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
        let f = compile_with(accelerations, &Options::new().precision(precision).device(device))?;
        let (a, b, c, mass) = (x[0].rename()?, x[1].rename()?, x[2].rename()?, x[3].rename()?);
        unseen(move || f.call(&a, &b, &c, &mass))
    })
}

fn draw(precision: Precision) -> Box<Make> {
    Box::new(move |device: &Arc<dyn Device>, _: &[Tensor<f32>]| {
        let f = compile_with(mandelbrot, &Options::new().precision(precision).device(device))?;
        let f = f.size::<R>(PICTURE as usize).size::<C>(PICTURE as usize);
        unseen(move || f.call())
    })
}

/// One launch, whose result is dropped when it has begun.
fn unseen<T>(mut call: impl FnMut() -> Result<T, Error> + 'static) -> Result<Ours, Error> {
    let run = move || {
        call()?;
        Ok(Answer::Unseen)
    };
    Ok(Ours { launches: 1, run: Box::new(run) })
}
