//! Attention: means of values, weighed by how well their keys fit a query.

use crate::arr::{Arr, tabulate};
use crate::elem::{Float, Num as _, Seal};
use crate::extent::{Axis, Extent};
use crate::fold::sum;
use crate::position::Idx;

use crate::raw::Raw;
use half::{bf16, f16};

/// Elements of attention: sums and weights of the halves are `f32`, those of the others what they are themselves.
pub trait Attend: Float {
    /// What sums are made in.
    type Sum: Float;

    /// The type's name in PTX, if the tensor cores of NVIDIA's GPUs multiply it and sum up `f32`.
    #[doc(hidden)]
    const HALVES: Option<&'static str>;

    #[doc(hidden)]
    fn attend_seal() -> Seal;
}

macro_rules! attend {
    ($($T:ty, $Sum:ty, $halves:expr;)*) => {$(
        impl Attend for $T {
            type Sum = $Sum;
            const HALVES: Option<&'static str> = $halves;
            fn attend_seal() -> Seal { Seal::THIS }
        }
    )*};
}
attend! {
    f16, f32, Some("f16");
    bf16, f32, Some("bf16");
    f32, f32, None;
    f64, f64, None;
}

/// Queries, keys or values: of a batch `B`, of `H` heads, at `L` places, `D` elements each.
type Heads<T, B, H, L, D> = Arr<T, (B, H, L, D)>;
type Attention<T, B, H, N, M, D> =
    fn(Heads<T, B, H, N, D>, Heads<T, B, H, M, D>, Heads<T, B, H, M, D>, crate::Exp<f32>) -> Heads<T, B, H, N, D>;

/// Scaled dot-product attention: `softmax(q · kᵀ / √D) · v` for each head, as the libraries for learning define it.
///
/// On NVIDIA's GPUs heads of `f16` and `bf16` that are `Fix<64>` or `Fix<128>` wide run in one kernel on the tensor cores, which does not
/// store the scores; everywhere else, and at [`Precision::Exact`](crate::Precision), it is what the formula says. Where there are no keys
/// the result is 0.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::attention;
/// axis!(B, H, N, M, D);
/// fn attend(q: Arr<f32, (B, H, N, D)>, k: Arr<f32, (B, H, M, D)>, v: Arr<f32, (B, H, M, D)>) -> Arr<f32, (B, H, N, D)> {
///     attention(q, k, v)
/// }
/// let q = Tensor::<f32>::from_vec([1, 1, 1, 2], vec![0.0, 1.0])?.rename()?;
/// let k = Tensor::<f32>::from_vec([1, 1, 2, 2], vec![1.0, 0.0, 2.0, 0.0])?.rename()?;
/// let v = Tensor::<f32>::from_vec([1, 1, 2, 2], vec![1.0, 2.0, 3.0, 4.0])?.rename()?;
/// // Both keys fit the query equally: the mean of the values.
/// assert_eq!(compile(attend)?.call(&q, &k, &v)?.to_vec()?, [2.0, 3.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn attention<T: Attend, B: Axis, H: Axis, N: Axis, M: Axis, D: Axis>(
    q: Heads<T, B, H, N, D>,
    k: Heads<T, B, H, M, D>,
    v: Heads<T, B, H, M, D>,
) -> Heads<T, B, H, N, D> {
    attend::<T, B, H, N, M, D, false>(q, k, v)
}

/// The same, and a query at place `i` sees the keys at places up to `i` only.
///
/// ```
/// use slyz::prelude::*;
/// use slyz::causal_attention;
/// axis!(B, H, N, D);
/// fn attend(x: Arr<f32, (B, H, N, D)>) -> Arr<f32, (B, H, N, D)> { causal_attention(x, x, x) }
/// let x = Tensor::<f32>::from_vec([1, 1, 2, 1], vec![3.0, 3.0])?.rename()?;
/// // The first sees itself alone.
/// assert_eq!(compile(attend)?.call(&x)?.to_vec()?, [3.0, 3.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn causal_attention<T: Attend, B: Axis, H: Axis, N: Axis, M: Axis, D: Axis>(
    q: Heads<T, B, H, N, D>,
    k: Heads<T, B, H, M, D>,
    v: Heads<T, B, H, M, D>,
) -> Heads<T, B, H, N, D> {
    attend::<T, B, H, N, M, D, true>(q, k, v)
}

#[track_caller]
fn attend<T: Attend, B: Axis, H: Axis, N: Axis, M: Axis, D: Axis, const CAUSAL: bool>(
    q: Heads<T, B, H, N, D>,
    k: Heads<T, B, H, M, D>,
    v: Heads<T, B, H, M, D>,
) -> Heads<T, B, H, N, D> {
    let width = [64u64, 128].into_iter().find(|&width| Extent::of::<D>() == Extent::fixed(width));
    match (T::HALVES, width) {
        (Some(ty), Some(width)) => {
            let kernel = on_tensor_cores::<T, B, H, N, M, D, CAUSAL>(ty, width);
            kernel.call(q, k, v, 1.0 / (width as f32).sqrt())
        }
        _ => meaning::<T, B, H, N, M, D, CAUSAL>(q, k, v),
    }
}

/// Threads of a block of the kernel.
const THREADS: u32 = 128;

fn on_tensor_cores<T: Attend, B: Axis, H: Axis, N: Axis, M: Axis, D: Axis, const CAUSAL: bool>(
    ty: &str,
    width: u64,
) -> Raw<Attention<T, B, H, N, M, D>> {
    let rows = if width <= 64 { 128 } else { 64 };
    let blocks = Extent::of::<B>() * Extent::of::<H>() * Extent::of::<N>().ceil_div(rows);
    let (halves, causal) = (u32::from(ty == "f16"), u32::from(CAUSAL));
    let choices = format!(
        "#define WIDTH {width}\n#define OF_TYPE \"{ty}\"\n#define HALVES {halves}\n#define CAUSAL {causal}\n#line 1\n"
    );
    let kernel: Raw<Attention<T, B, H, N, M, D>> = Raw::new("attention")
        .threads_in([blocks * Extent::fixed(THREADS.into())])
        .block([THREADS, 1, 1])
        .extent::<N>()
        .extent::<M>()
        .meaning(|q: Heads<T, B, H, N, D>, k: Heads<T, B, H, M, D>, v: Heads<T, B, H, M, D>, _: crate::Exp<f32>| {
            meaning::<T, B, H, N, M, D, CAUSAL>(q, k, v)
        });
    // SAFETY: rows are read below `n` and `m`, and each of the `n` rows of each head is written by one block.
    #[allow(unsafe_code)]
    unsafe {
        kernel.cuda(choices + include_str!("attention.cu"))
    }
}

/// What attention is.
#[track_caller]
fn meaning<T: Attend, B: Axis, H: Axis, N: Axis, M: Axis, D: Axis, const CAUSAL: bool>(
    q: Heads<T, B, H, N, D>,
    k: Heads<T, B, H, M, D>,
    v: Heads<T, B, H, M, D>,
) -> Heads<T, B, H, N, D> {
    let width = Idx::<D>::extent().cast::<T::Sum>().sqrt();
    let scores: Arr<T::Sum, (B, H, N, M)> = tabulate(|(b, h, i, j)| {
        let product = sum(|d| q.at((b, h, i, d)).cast::<T::Sum>() * k.at((b, h, j, d)).cast::<T::Sum>()) / width;
        match CAUSAL {
            true => j.i64().le(i.i64()).select(product, crate::lit(T::Sum::LOWEST)),
            false => product,
        }
    });
    let highest = scores.innermost().max();
    let powers: Arr<T::Sum, (B, H, N, M)> =
        tabulate(|(b, h, i, j)| (scores.at((b, h, i, j)) - highest.at((b, h, i))).exp());
    let all = powers.innermost().sum();
    let weights: Arr<T::Sum, (B, H, N, M)> = tabulate(|(b, h, i, j)| powers.at((b, h, i, j)) / all.at((b, h, i)));
    tabulate(|(b, h, i, d)| sum(|j| weights.at((b, h, i, j)) * v.at((b, h, j, d)).cast::<T::Sum>()).cast::<T>())
}
