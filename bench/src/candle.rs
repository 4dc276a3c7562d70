//! candle on the CPU as a contestant, where it has the operations. Its results are allocated in every run, as they are
//! for its users.

use crate::contest::{Contest, Failure};
use candle_core::{D, Device, Result, Tensor};

/// Numbers and the extents of the tensor they are.
type Input<'i> = (&'i [f32], &'i [usize]);

/// Enters what `f` does with the inputs, which are tensors already when the clock starts.
fn enter<'a, const N: usize>(
    contest: &mut Contest<'a>,
    inputs: [Input<'_>; N],
    f: impl Fn(&[Tensor; N]) -> Result<Tensor> + 'a,
) -> std::result::Result<(), Failure> {
    let tensor = |(data, extents): Input| Tensor::from_slice(data, extents, &Device::Cpu);
    let tensors: Result<Vec<Tensor>> = inputs.into_iter().map(tensor).collect();
    let tensors: [Tensor; N] = tensors?.try_into().map_err(|_| "as many tensors as inputs")?;
    let run = move |out: &mut Option<Result<Tensor>>| {
        *out = None;
        *out = Some(f(&tensors));
    };
    contest.entry("candle", None, run, |out| match out {
        Some(Ok(out)) => Ok(out.flatten_all()?.to_vec1()?),
        Some(Err(error)) => Err(error.to_string().into()),
        None => Err("it has not run".into()),
    });
    Ok(())
}

type Entered = std::result::Result<(), Failure>;

pub fn copy(contest: &mut Contest<'_>, x: &[f32]) -> Entered {
    enter(contest, [(x, &[x.len()])], |[x]| x.copy())
}

pub fn saxpy(contest: &mut Contest<'_>, a: f32, x: &[f32], y: &[f32]) -> Entered {
    enter(contest, [(x, &[x.len()]), (y, &[y.len()])], move |[x, y]| x.affine(f64::from(a), 0.0)? + y)
}

pub fn sum(contest: &mut Contest<'_>, x: &[f32]) -> Entered {
    enter(contest, [(x, &[x.len()])], |[x]| x.sum_all())
}

pub fn dot(contest: &mut Contest<'_>, x: &[f32], y: &[f32]) -> Entered {
    enter(contest, [(x, &[1, x.len()]), (y, &[y.len(), 1])], |[x, y]| x.matmul(y))
}

/// Sums of a square matrix along an axis.
pub fn sums(contest: &mut Contest<'_>, x: &[f32], n: usize, axis: usize) -> Entered {
    enter(contest, [(x, &[n, n])], move |[x]| x.sum(axis))
}

pub fn softmax(contest: &mut Contest<'_>, x: &[f32], n: usize) -> Entered {
    enter(contest, [(x, &[n, n])], |[x]| {
        let e = x.broadcast_sub(&x.max_keepdim(D::Minus1)?)?.exp()?;
        e.broadcast_div(&e.sum_keepdim(D::Minus1)?)
    })
}

pub fn black_scholes(
    contest: &mut Contest<'_>,
    s: &[f32],
    x: &[f32],
    t: &[f32],
    rate: f32,
    volatility: f32,
) -> Entered {
    let (r, v) = (f64::from(rate), f64::from(volatility));
    let normcdf = |d: &Tensor| -> Result<Tensor> {
        let l = d.abs()?;
        let k = l.affine(0.2316419, 1.0)?.recip()?;
        let mut q = k.affine(1.330274429, -1.821255978)?;
        for c in [1.781477937, -0.356563782, 0.31938153] {
            q = ((q * &k)? + c)?;
        }
        let w = ((l.sqr()? * -0.5)?.exp()? * (q * k)?)?.affine(-0.39894228, 1.0)?;
        d.lt(0.0)?.where_cond(&w.affine(-1.0, 1.0)?, &w)
    };
    let extents = [s.len()];
    enter(contest, [(s, &extents), (x, &extents), (t, &extents)], move |[s, x, t]| {
        let spread = (t.sqrt()? * v)?;
        let d1 = (((s / x)?.log()? + (t * (r + v * v / 2.0))?)? / &spread)?;
        let d2 = (&d1 - spread)?;
        (s * normcdf(&d1)?)? - ((x * (t * -r)?.exp()?)? * normcdf(&d2)?)?
    })
}

pub fn transpose(contest: &mut Contest<'_>, x: &[f32], n: usize) -> Entered {
    enter(contest, [(x, &[n, n])], |[x]| x.t()?.contiguous())
}

pub fn heat(contest: &mut Contest<'_>, x: &[f32], n: usize) -> Entered {
    enter(contest, [(x, &[n, n])], move |[u]| {
        let (rows, columns) = (u.pad_with_same(0, 1, 1)?, u.pad_with_same(1, 1, 1)?);
        let around = ((rows.narrow(0, 0, n)? + rows.narrow(0, 2, n)?)?
            + (columns.narrow(1, 0, n)? + columns.narrow(1, 2, n)?)?)?;
        u + ((around - (u * 4.0)?)? * 0.1)?
    })
}

/// `a·b`, or `aᵀ·b`.
pub fn matmul(contest: &mut Contest<'_>, a: &[f32], b: &[f32], n: usize, transposed: bool) -> Entered {
    enter(contest, [(a, &[n, n]), (b, &[n, n])], move |[a, b]| if transposed { a.t()?.matmul(b) } else { a.matmul(b) })
}

pub fn matmul_batched(contest: &mut Contest<'_>, a: &[f32], b: &[f32], count: usize, n: usize) -> Entered {
    enter(contest, [(a, &[count, n, n]), (b, &[count, n, n])], |[a, b]| a.matmul(b))
}

pub fn matmul_relu(contest: &mut Contest<'_>, a: &[f32], b: &[f32], bias: &[f32], n: usize) -> Entered {
    enter(contest, [(a, &[n, n]), (b, &[n, n]), (bias, &[n])], |[a, b, bias]| a.matmul(b)?.broadcast_add(bias)?.relu())
}
