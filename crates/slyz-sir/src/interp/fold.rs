//! The canonical order of a fold: which values meet which, in what grouping.
//!
//! Floating-point addition is not associative, so "the sum of an array" has as many answers as there are
//! groupings. This file picks one that a GPU block, a vector unit and a plain loop can all follow at full speed;
//! the interpreter uses it for both levels, and a device that is asked to be bit-reproducible follows it too.
//!
//! # Definition
//!
//! * Up to [`CHUNK`] elements are shared by [`WIDTH`] accumulators.
//!   * Commutative: accumulator `j` gets the elements `j, j + WIDTH, j + 2 WIDTH, …`.
//!   * Otherwise: with `run = ceil(n / WIDTH)`, it gets the elements `j*run .. min((j+1)*run, n)`.
//!   * What an accumulator gets is joined as a tree: the first with the second, the third with the fourth, and so on, then
//!     neighbouring pairs, then neighbouring fours. One without a neighbour goes up a level as it is.
//!   * The accumulators are joined by halves if the monoid is commutative: for `w = WIDTH/2, …, 2, 1`,
//!     `acc[j] = acc[j] ∘ acc[j + w]` for `j < w`; by neighbours otherwise: `acc[j] = acc[2j] ∘ acc[2j + 1]`. What is
//!     missing is left out.
//!   * The value is `neutral ∘ acc[0]`.
//! * More elements: the values of consecutive chunks of `CHUNK` elements are themselves the elements of a fold.
//! * No elements: the neutral element.
//!
//! So no value goes through more than 14 additions in a chunk, and equal numbers are added without an error where their number is a
//! power of two. Where the neutral element changes nothing, places without an element may as well hold it.
//!
//! Elements are asked for once each, in increasing order, and only a few values per accumulator are held.

use crate::types::Scalar;

/// How many elements are folded without cutting them into chunks.
pub const CHUNK: u64 = 1 << 14;

/// How many accumulators a chunk has.
pub const WIDTH: usize = 64;

/// Gives the element at a place.
pub type Item<'a, E> = &'a mut dyn FnMut(u64) -> Result<Vec<Scalar>, E>;

/// Combines two values, the left one first.
pub type Combine<'a, E> = &'a mut dyn FnMut(&[Scalar], &[Scalar]) -> Result<Vec<Scalar>, E>;

/// Folds `item(0) … item(n - 1)` in the canonical order; the first error of `item` or `combine` ends it.
///
/// ```
/// use slyz_sir::{interp::fold::fold_in_order, ops::Operator, types::Scalar};
///
/// let sum = fold_in_order::<()>(
///     100_000,
///     true,
///     &mut |i| Ok(vec![Scalar::i64(i as i64)]),
///     &mut |a, b| Ok(vec![Operator::Add.eval(&[a[0], b[0]]).ok_or(())?]),
///     &[Scalar::i64(0)],
/// );
/// assert_eq!(sum, Ok(vec![Scalar::i64(4_999_950_000)]));
/// ```
pub fn fold_in_order<E>(
    n: u64,
    commutative: bool,
    item: Item<E>,
    combine: Combine<E>,
    neutral: &[Scalar],
) -> Result<Vec<Scalar>, E> {
    if n <= CHUNK {
        return fold_chunk(n, commutative, item, combine, neutral);
    }
    // The level below combines inside the item of the level above, and the two never overlap; `RefCell` says so.
    let combine = std::cell::RefCell::new(combine);
    let mut chunk = |c: u64| {
        let first = c * CHUNK;
        let count = CHUNK.min(n - first);
        fold_chunk(count, commutative, &mut |i| item(first + i), &mut |a, b| (combine.borrow_mut())(a, b), neutral)
    };
    fold_in_order(n.div_ceil(CHUNK), commutative, &mut chunk, &mut |a, b| (combine.borrow_mut())(a, b), neutral)
}

/// The fold of at most [`CHUNK`] elements.
fn fold_chunk<E>(
    n: u64,
    commutative: bool,
    item: Item<E>,
    combine: Combine<E>,
    neutral: &[Scalar],
) -> Result<Vec<Scalar>, E> {
    if n == 0 {
        return Ok(neutral.to_vec());
    }
    let run = n.div_ceil(WIDTH as u64);
    let mut trees: Vec<Tree> = (0..WIDTH).map(|_| Tree::default()).collect();
    for i in 0..n {
        let j = if commutative { i % WIDTH as u64 } else { i / run } as usize;
        trees[j].push(item(i)?, combine)?;
    }
    let mut acc = trees.into_iter().map(|tree| tree.finish(combine)).collect::<Result<Vec<_>, E>>()?;
    let mut w = WIDTH / 2;
    while w > 0 {
        for j in 0..w {
            let (left, right) = if commutative { (j, j + w) } else { (2 * j, 2 * j + 1) };
            let left = acc[left].take();
            let right = acc[right].take();
            acc[j] = match (left, right) {
                (Some(left), Some(right)) => Some(combine(&left, &right)?),
                (one, None) | (None, one) => one,
            };
        }
        w /= 2;
    }
    acc[0].take().map_or_else(|| Ok(neutral.to_vec()), |value| combine(neutral, &value))
}

/// Values that are joined as a tree while they come. Place `k` has the fold of 2^k neighbours, or nothing.
#[derive(Default)]
struct Tree(Vec<Option<Vec<Scalar>>>);

impl Tree {
    fn push<E>(&mut self, mut value: Vec<Scalar>, combine: Combine<E>) -> Result<(), E> {
        for part in &mut self.0 {
            match part.take() {
                Some(left) => value = combine(&left, &value)?,
                None => {
                    *part = Some(value);
                    return Ok(());
                }
            }
        }
        self.0.push(Some(value));
        Ok(())
    }

    fn finish<E>(self, combine: Combine<E>) -> Result<Option<Vec<Scalar>>, E> {
        let mut all: Option<Vec<Scalar>> = None;
        for left in self.0.into_iter().flatten() {
            all = Some(match all {
                Some(right) => combine(&left, &right)?,
                None => left,
            });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Operator;
    use crate::types::Ty;
    use std::convert::Infallible;

    const LENGTHS: [u64; 12] = [0, 1, 2, 63, 64, 65, 127, 1000, 4097, CHUNK, CHUNK + 3, 3 * CHUNK + 17];

    fn int(x: i64) -> Scalar {
        Scalar::i64(x)
    }

    fn run(
        n: u64,
        commutative: bool,
        neutral: &[Scalar],
        item: impl Fn(u64) -> Vec<Scalar>,
        combine: impl Fn(&[Scalar], &[Scalar]) -> Vec<Scalar>,
    ) -> Vec<Scalar> {
        let ok = |v| -> Result<_, Infallible> { Ok(v) };
        let Ok(value) = fold_in_order(n, commutative, &mut |i| ok(item(i)), &mut |a, b| ok(combine(a, b)), neutral);
        value
    }

    fn value(s: Scalar) -> i64 {
        s.as_int() as i64
    }

    #[test]
    fn integer_sums_do_not_depend_on_the_grouping() {
        for n in LENGTHS {
            for commutative in [false, true] {
                let sum = run(
                    n,
                    commutative,
                    &[int(0)],
                    |i| vec![int(i as i64)],
                    |a, b| vec![int(value(a[0]) + value(b[0]))],
                );
                assert_eq!(value(sum[0]), (0..n as i64).sum::<i64>(), "n = {n}, commutative {commutative}");
            }
        }
    }

    /// 2×2 matrices of wrapping integers: associative, not commutative.
    fn product(a: &[Scalar], b: &[Scalar]) -> Vec<Scalar> {
        let at = |m: &[Scalar], r: usize, c: usize| value(m[2 * r + c]);
        let cell = |r, c| at(a, r, 0).wrapping_mul(at(b, 0, c)).wrapping_add(at(a, r, 1).wrapping_mul(at(b, 1, c)));
        vec![int(cell(0, 0)), int(cell(0, 1)), int(cell(1, 0)), int(cell(1, 1))]
    }

    #[test]
    fn matrix_products_equal_the_sequential_fold() {
        let one = [int(1), int(0), int(0), int(1)];
        let item = |i: u64| [i as i64, 1, 3, i as i64 * i as i64 + 1].map(int).to_vec();
        for n in LENGTHS {
            let expected = (0..n).fold(one.to_vec(), |a, i| product(&a, &item(i)));
            assert_eq!(run(n, false, &one, item, product), expected, "n = {n}");
        }
    }

    #[test]
    fn first_and_last_survive() {
        // A value is (present, first, last).
        let join = |a: &[Scalar], b: &[Scalar]| match (a[0].is_true(), b[0].is_true()) {
            (true, true) => vec![a[0], a[1], b[2]],
            (true, false) => a.to_vec(),
            (false, _) => b.to_vec(),
        };
        let none = [Scalar::bool(false), int(0), int(0)];
        for n in LENGTHS.into_iter().filter(|&n| n > 0) {
            let ends = run(n, false, &none, |i| vec![Scalar::bool(true), int(i as i64), int(i as i64)], join);
            assert_eq!((value(ends[1]), value(ends[2])), (0, n as i64 - 1), "n = {n}");
        }
    }

    #[test]
    fn items_are_asked_for_once_in_order() {
        for n in LENGTHS {
            for commutative in [false, true] {
                let mut next = 0;
                let mut item = |i| {
                    assert_eq!(i, next);
                    next += 1;
                    Ok::<_, Infallible>(vec![])
                };
                let Ok(_) = fold_in_order(n, commutative, &mut item, &mut |_, _| Ok(vec![]), &[]);
                assert_eq!(next, n);
            }
        }
    }

    /// The definition written out a second time, for floats, where the grouping shows.
    #[test]
    fn float_sums_follow_the_documented_grouping() {
        let x = |i: u64| 1.0f32 / (1.0 + i as f32);
        let n = 1000u64;
        fn pairs(values: &[f32]) -> f32 {
            match values {
                [one] => *one,
                many => {
                    let (left, right) = many.split_at(many.len().next_power_of_two() / 2);
                    pairs(left) + pairs(right)
                }
            }
        }
        let own = |j: u64| (j..n).step_by(64).map(x).collect::<Vec<f32>>();
        let mut acc: Vec<f32> = (0..64).map(|j| pairs(&own(j))).collect();
        for w in [32, 16, 8, 4, 2, 1] {
            (0..w).for_each(|j| acc[j] += acc[j + w]);
        }
        let neutral = [Scalar::from_f64(Ty::F32, -0.0)];
        let add = |a: &[Scalar], b: &[Scalar]| vec![Operator::Add.eval(&[a[0], b[0]]).unwrap()];
        assert_eq!(run(n, true, &neutral, |i| vec![Scalar::f32(x(i))], add), [Scalar::f32(acc[0])]);
    }

    #[test]
    fn an_error_ends_the_fold() {
        let stop = fold_in_order(
            CHUNK * 2,
            true,
            &mut |i| if i == 20_000 { Err(i) } else { Ok(vec![]) },
            &mut |_, _| Ok(vec![]),
            &[],
        );
        assert_eq!(stop, Err(20_000));
    }
}
