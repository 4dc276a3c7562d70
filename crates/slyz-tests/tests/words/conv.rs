//! Convolutions against plain Rust: one and two dimensions, channels, many at once, steps, and every length of weights.

use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(B, C, D, N, K, O, H, W, L, P);

/// Images and weights on the host, with their extents.
struct Case {
    images: usize,
    channels: usize,
    new_channels: usize,
    size: [usize; 2],
    reach: [usize; 2],
}

impl Case {
    fn images(&self) -> Vec<i32> {
        (0..self.images * self.channels * self.size[0] * self.size[1]).map(|k| k as i32 * 5 % 13 - 6).collect()
    }

    fn weights(&self) -> Vec<i32> {
        (0..self.new_channels * self.channels * self.reach[0] * self.reach[1]).map(|k| k as i32 * 3 % 7 - 3).collect()
    }

    /// The sum at a place, whose first weight is at `start`; zeros are outside.
    fn sum(&self, image: usize, new: usize, start: [i64; 2]) -> i32 {
        let images = self.images();
        let weights = self.weights();
        let mut sum = 0;
        for c in 0..self.channels {
            for k in 0..self.reach[0] {
                for l in 0..self.reach[1] {
                    let [i, j] = [start[0] + k as i64, start[1] + l as i64];
                    let inside = (0..self.size[0] as i64).contains(&i) && (0..self.size[1] as i64).contains(&j);
                    if inside {
                        let pixel =
                            ((image * self.channels + c) * self.size[0] + i as usize) * self.size[1] + j as usize;
                        let weight = ((new * self.channels + c) * self.reach[0] + k) * self.reach[1] + l;
                        sum += images[pixel] * weights[weight];
                    }
                }
            }
        }
        sum
    }

    /// All sums on a grid of places, `step` apart, from `first` on.
    fn grid(&self, places: [usize; 2], first: [i64; 2], step: i64) -> Vec<i32> {
        let mut out = vec![];
        for image in 0..self.images {
            for new in 0..self.new_channels {
                for i in 0..places[0] as i64 {
                    for j in 0..places[1] as i64 {
                        out.push(self.sum(image, new, [first[0] + i * step, first[1] + j * step]));
                    }
                }
            }
        }
        out
    }

    fn same(&self, step: usize) -> Vec<i32> {
        let first = self.reach.map(|reach| -((reach as i64 - 1) / 2));
        self.grid(self.size.map(|size| size.div_ceil(step)), first, step as i64)
    }

    /// Nothing where the weights are longer than the image and one.
    fn valid(&self) -> Option<Vec<i32>> {
        let places = [0, 1].map(|axis| (self.size[axis] + 1).checked_sub(self.reach[axis]));
        let [Some(rows), Some(columns)] = places else { return None };
        Some(self.grid([rows, columns], [0, 0], 1))
    }
}

#[test]
fn one_dimension() -> R {
    type Weights = Arr<i32, (D, C, K)>;
    type Lines = (Arr<i32, (D, N)>, Arr<i32, (D, Stride<N, 3>)>);
    fn same(x: Arr<i32, (C, N)>, w: Weights) -> Lines {
        (x.conv1d(w).same(), x.conv1d(w).same_by::<3>())
    }
    for device in crate::devices() {
        let same = compile_on(&device, same)?;
        let valid = compile_on(&device, |x: Arr<i32, (C, N)>, w: Weights| x.conv1d(w).valid::<O>())?;
        let many =
            compile_on(&device, |x: Arr<i32, (B, C, N)>, w: Weights| (x.conv1d(w).same(), x.conv1d(w).same_by::<2>()))?;
        for (channels, size, reach) in
            [(1usize, 0usize, 1usize), (2, 1, 1), (2, 5, 0), (1, 5, 2), (3, 9, 3), (2, 4, 5), (1, 2, 6)]
        {
            let one = Case { images: 1, channels, new_channels: 2, size: [1, size], reach: [1, reach] };
            let x = one.images();
            let w = one.weights();
            let (all, some) = same.call((&x, [channels, size]), (&w, [2, channels, reach]))?;
            assert_eq!((all.to_vec()?, some.to_vec()?), (one.same(1), one.same(3)), "{size} by {reach}");
            let result = valid.call((&x, [channels, size]), (&w, [2, channels, reach]));
            match one.valid() {
                Some(expected) => assert_eq!(result?.to_vec()?, expected, "{size} by {reach}"),
                None => assert!(result.is_err()),
            }
            let three = Case { images: 3, ..one };
            let (all, some) = many.call((&three.images(), [3, channels, size]), (&w, [2, channels, reach]))?;
            assert_eq!((all.to_vec()?, some.to_vec()?), (three.same(1), three.same(2)), "{size} by {reach}");
        }
    }
    Ok(())
}

#[test]
fn two_dimensions() -> R {
    type Image = Arr<i32, (C, H, W)>;
    type Weights = Arr<i32, (D, C, K, L)>;
    type Maps = (Arr<i32, (D, H, W)>, Arr<i32, (D, Stride<H, 2>, Stride<W, 2>)>);
    fn same(x: Image, w: Weights) -> Maps {
        (x.conv2d(w).same(), x.conv2d(w).same_by::<2>())
    }
    for device in crate::devices() {
        let same = compile_on(&device, same)?;
        let valid = compile_on(&device, |x: Image, w: Weights| x.conv2d(w).valid::<O, P>())?;
        let many = compile_on(&device, |x: Arr<i32, (B, C, H, W)>, w: Weights| {
            (x.conv2d(w).same(), x.conv2d(w).valid::<O, P>())
        })?;
        for (channels, size, reach) in
            [(1usize, [1, 1], [1, 1]), (2, [3, 0], [1, 1]), (2, [5, 4], [3, 3]), (3, [6, 7], [2, 5])]
        {
            let one = Case { images: 1, channels, new_channels: 2, size, reach };
            let dims = [channels, size[0], size[1]];
            let weights = [2, channels, reach[0], reach[1]];
            let x = one.images();
            let w = one.weights();
            let (all, some) = same.call((&x, dims), (&w, weights))?;
            assert_eq!((all.to_vec()?, some.to_vec()?), (one.same(1), one.same(2)), "{size:?} by {reach:?}");
            assert_eq!(Some(valid.call((&x, dims), (&w, weights))?.to_vec()?), one.valid(), "{size:?} by {reach:?}");
            let three = Case { images: 3, ..one };
            let (all, inner) = many.call((&three.images(), [3, channels, size[0], size[1]]), (&w, weights))?;
            assert_eq!((all.to_vec()?, Some(inner.to_vec()?)), (three.same(1), three.valid()), "{size:?} by {reach:?}");
        }
    }
    Ok(())
}
