//! The order in which a reduction combines its elements.
//!
//! Floating-point addition is not associative, so "the sum" is one value only when the order is fixed. This is that
//! order: wide enough that a GPU block or a row of vectors can follow it, and the same on every device.
//!
//! * Up to `2^14` elements: 64 accumulators that start at the neutral element. A commutative monoid gives element `i`
//!   to accumulator `i mod 64`, then halves: `acc[j] = acc[j] ∘ acc[j + w]` for `w = 32, 16, …, 1`. Any other gives
//!   each accumulator a run of `ceil(n / 64)` neighbours, then combines neighbours: `acc[j] = acc[2j] ∘ acc[2j + 1]`.
//! * More: each `2^14` consecutive elements make one partial, and the partials are the elements of a fold again.

use crate::types::Scalar;

/// Accumulators of one chunk.
pub const ACCUMULATORS: u64 = 64;
/// The most elements that are folded at once.
pub const CHUNK: u64 = 1 << 14;

/// Folds `item(0) … item(n - 1)` in the canonical order.
pub fn fold_in_order<E>(
    n: u64,
    commutative: bool,
    item: &mut dyn FnMut(u64) -> Result<Vec<Scalar>, E>,
    combine: &mut dyn FnMut(&[Scalar], &[Scalar]) -> Result<Vec<Scalar>, E>,
    neutral: &[Scalar],
) -> Result<Vec<Scalar>, E> {
    if n == 0 {
        return Ok(neutral.to_vec());
    }
    if n <= CHUNK {
        return fold_chunk(0, n, commutative, item, combine, neutral);
    }
    // Partials are asked for once each and in order, so that nothing is kept of a level but its accumulators.
    let mut level = 0;
    while CHUNK.checked_pow(level + 1).is_some_and(|span| n > span) {
        level += 1;
    }
    fold_level(level, 0, n, commutative, item, combine, neutral)
}

/// Folds the `n` elements from `first` on, as partials of `CHUNK^level` elements each.
fn fold_level<E>(
    level: u32,
    first: u64,
    n: u64,
    commutative: bool,
    item: &mut dyn FnMut(u64) -> Result<Vec<Scalar>, E>,
    combine: &mut dyn FnMut(&[Scalar], &[Scalar]) -> Result<Vec<Scalar>, E>,
    neutral: &[Scalar],
) -> Result<Vec<Scalar>, E> {
    if level == 0 {
        return fold_chunk(first, n, commutative, item, combine, neutral);
    }
    let span = CHUNK.saturating_pow(level);
    let parts = n.div_ceil(span);
    gather(parts, commutative, neutral, combine, &mut |part, combine| {
        let start = part * span;
        fold_level(level - 1, first + start, span.min(n - start), commutative, item, combine, neutral)
    })
}

fn fold_chunk<E>(
    first: u64,
    n: u64,
    commutative: bool,
    item: &mut dyn FnMut(u64) -> Result<Vec<Scalar>, E>,
    combine: &mut dyn FnMut(&[Scalar], &[Scalar]) -> Result<Vec<Scalar>, E>,
    neutral: &[Scalar],
) -> Result<Vec<Scalar>, E> {
    gather(n, commutative, neutral, combine, &mut |i, _| item(first + i))
}

type Combine<'a, E> = dyn FnMut(&[Scalar], &[Scalar]) -> Result<Vec<Scalar>, E> + 'a;
type Element<'a, E> = dyn FnMut(u64, &mut Combine<E>) -> Result<Vec<Scalar>, E> + 'a;

/// At most `CHUNK` elements into accumulators, and those into one.
fn gather<E>(
    n: u64,
    commutative: bool,
    neutral: &[Scalar],
    combine: &mut Combine<E>,
    element: &mut Element<E>,
) -> Result<Vec<Scalar>, E> {
    let run = n.div_ceil(ACCUMULATORS).max(1);
    let mut acc = vec![neutral.to_vec(); ACCUMULATORS as usize];
    for i in 0..n {
        let j = (if commutative { i % ACCUMULATORS } else { i / run }) as usize;
        let value = element(i, combine)?;
        acc[j] = combine(&acc[j], &value)?;
    }
    let mut width = acc.len();
    while width > 1 {
        width /= 2;
        for j in 0..width {
            let (a, b) = if commutative { (j, j + width) } else { (2 * j, 2 * j + 1) };
            acc[j] = combine(&acc[a], &acc[b])?;
        }
    }
    Ok(acc.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Writes the order down: the fold of a tree's shape.
    fn sum(n: u64, commutative: bool) -> i128 {
        let mut item = |i: u64| Ok::<_, Infallible>(vec![Scalar::i64(i as i64)]);
        let mut combine = |a: &[Scalar], b: &[Scalar]| Ok(vec![Scalar::i64((a[0].as_int() + b[0].as_int()) as i64)]);
        let Ok(v) = fold_in_order(n, commutative, &mut item, &mut combine, &[Scalar::i64(0)]);
        v[0].as_int()
    }

    #[test]
    fn every_element_once() {
        for n in [0, 1, 2, 63, 64, 65, 1000, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            let want = (n as i128) * (n as i128 - 1) / 2;
            assert_eq!(sum(n, true), want, "{n}");
            assert_eq!(sum(n, false), want, "{n}");
        }
    }

    #[test]
    fn without_commutativity_the_order_is_kept() {
        // Combining checks that ranges `lo..hi` meet; an empty one is neutral.
        for n in [1u64, 5, 64, 100, 129, CHUNK + 77] {
            let mut item = |i: u64| Ok::<_, Infallible>(vec![Scalar::i64(i as i64), Scalar::i64(i as i64 + 1)]);
            let mut combine = |a: &[Scalar], b: &[Scalar]| {
                if a[0] == a[1] {
                    return Ok(b.to_vec());
                }
                if b[0] == b[1] {
                    return Ok(a.to_vec());
                }
                assert_eq!(a[1], b[0]);
                Ok(vec![a[0], b[1]])
            };
            let neutral = [Scalar::i64(0), Scalar::i64(0)];
            let Ok(v) = fold_in_order(n, false, &mut item, &mut combine, &neutral);
            assert_eq!(v, [Scalar::i64(0), Scalar::i64(n as i64)]);
        }
    }

    #[test]
    fn commutative_order_is_strided_then_halved() {
        // 2^24 swallows a 1 in f32, so the result tells who met whom.
        let values: Vec<f32> = (0..128).map(|i| if i % 64 == 0 { 16777216.0 } else { 1.0 }).collect();
        let mut item = |i: u64| Ok::<_, Infallible>(vec![Scalar::f32(values[i as usize])]);
        let mut combine = |a: &[Scalar], b: &[Scalar]| {
            Ok(vec![Scalar::from_f64(crate::types::Ty::F32, a[0].as_f64() + b[0].as_f64())])
        };
        let Ok(v) = fold_in_order(128, true, &mut item, &mut combine, &[Scalar::f32(-0.0)]);
        // acc[0] = 2^25; it meets 2 (w=32), 4, 8, 16, 32 and 64 (w=1): 2 is lost, 4 is exactly one unit.
        let mut want = 33554432f32;
        for w in [2f32, 4.0, 8.0, 16.0, 32.0, 64.0] {
            want += w;
        }
        assert_eq!(v, [Scalar::f32(want)]);
    }
}
