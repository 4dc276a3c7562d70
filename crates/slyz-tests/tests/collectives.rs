//! The collective words (compaction, segments, searches, sorts, random numbers) against plain Rust, on every device, on random data
//! of sizes around those of vectors and blocks.

#[path = "programs/here.rs"]
mod here;

use here::devices;
use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(N, M, K, L);

/// Nothing, one, around a block of 32, and larger than whatever is done at once.
const SIZES: [usize; 7] = [0, 1, 31, 32, 33, 1000, 65_537];

/// Random numbers of the host: a counter, mixed.
struct Dice(u64);

impl Dice {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound
    }

    fn many<T>(&mut self, count: usize, one: impl Fn(&mut Dice) -> T) -> Vec<T> {
        (0..count).map(|_| one(self)).collect()
    }

    fn small(&mut self, count: usize, bound: u64) -> Vec<i32> {
        self.many(count, |dice| dice.below(bound) as i32)
    }

    /// Floats, among them those that compare in their own way.
    fn floats(&mut self, count: usize) -> Vec<f32> {
        let special = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];
        self.many(count, |dice| match dice.below(4) {
            0 => special[dice.below(special.len() as u64) as usize],
            _ => (dice.below(2001) as f32 - 1000.0) / 8.0,
        })
    }
}

/// Random integers, all equal, sorted, and reversed.
fn integers(dice: &mut Dice, count: usize) -> Vec<Vec<i32>> {
    let random = dice.small(count, 5);
    let up: Vec<i32> = (0..count as i32).map(|k| k / 3).collect();
    let down: Vec<i32> = up.iter().rev().copied().collect();
    vec![random, vec![7; count], up, down]
}

#[test]
fn kept_elements() -> R {
    let seeds: Vec<u64> = slyz_trials::trials("kept_elements", 1).collect();
    for device in devices() {
        let compact = compile_on(&device, |x: Arr<i32, N>, mask: Arr<bool, N>| x.compact::<K>(mask))?;
        let partition = compile_on(&device, |x: Arr<i32, N>, limit: Exp<i32>| {
            x.map_at(|i, v| (v, i.u32())).partition(|(v, _)| v.lt(limit))
        })?;
        let nothing = compile_on(&device, |x: Arr<i32, N>| {
            let kept = x.filter_at::<K>(|i, v| i.i64().lt(0) & v.lt(0));
            (kept, kept.sum(), kept.scan(Sum))
        })?;
        for &seed in &seeds {
            for n in SIZES {
                let dice = &mut Dice(seed);
                let mask = dice.many(n, |dice| dice.below(3) == 0);
                for x in integers(dice, n) {
                    let kept: Vec<i32> = x.iter().zip(&mask).filter(|(_, keep)| **keep).map(|(x, _)| *x).collect();
                    assert_eq!(compact.call(&x, &mask)?.to_vec()?, kept, "{n}");
                    for limit in [2, -1, i32::MAX] {
                        let numbered = x.iter().copied().zip(0u32..);
                        let (first, rest): (Vec<_>, Vec<_>) = numbered.partition(|(v, _)| *v < limit);
                        let count = first.len() as u32;
                        let (parted, found) = partition.call(&x, limit)?;
                        assert_eq!((parted.to_vec()?, found.value()?), ([first, rest].concat(), count), "{n}");
                    }
                }
                let (kept, sum, scanned) = nothing.call(&dice.small(n, 9))?;
                assert_eq!((kept.len(), sum.value()?, scanned.len()), (0, 0, 0));
            }
        }
    }
    Ok(())
}

#[test]
fn runs() -> R {
    let seeds: Vec<u64> = slyz_trials::trials("runs", 1).collect();
    for device in devices() {
        let unique = compile_on(&device, |x: Arr<i32, N>| x.unique::<K>())?;
        let floats = compile_on(&device, |x: Arr<f32, N>| x.unique::<K>())?;
        let pairs = compile_on(&device, |x: Arr<(i32, bool), N>| x.run_length::<K>())?;
        for &seed in &seeds {
            for n in SIZES {
                let dice = &mut Dice(seed);
                for x in integers(dice, n) {
                    let mut once = x.clone();
                    once.dedup();
                    assert_eq!(unique.call(&x)?.to_vec()?, once, "{n}");
                    let x: Vec<(i32, bool)> = x.iter().map(|&x| (x / 2, x % 2 == 0)).collect();
                    let runs: Vec<&[(i32, bool)]> = x.chunk_by(|a, b| a == b).collect();
                    let (values, lengths) = pairs.call(&x)?;
                    assert_eq!(values.to_vec()?, runs.iter().map(|run| run[0]).collect::<Vec<_>>(), "{n}");
                    assert_eq!(lengths.to_vec()?, runs.iter().map(|run| run.len() as u32).collect::<Vec<_>>());
                }
                let x = dice.many(n, |dice| [f32::NAN, 0.0, -0.0, 1.0][dice.below(4) as usize]);
                let mut once = x.clone();
                once.dedup();
                let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(floats.call(&x)?.to_vec()?), bits(once), "{n}");
            }
        }
    }
    Ok(())
}

/// Maps of the integers modulo 2^32, `x -> a x + b`: associative, and the order matters.
fn compose((a, b): (u32, u32), (c, d): (u32, u32)) -> (u32, u32) {
    (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d))
}

fn prefixes(segment: &[(u32, u32)]) -> Vec<(u32, u32)> {
    segment
        .iter()
        .scan((1, 0), |sum, &x| {
            *sum = compose(*sum, x);
            Some(*sum)
        })
        .collect()
}

/// Cuts, of which some are at one place; never falling, from the start to the end.
fn cuts(dice: &mut Dice, count: usize, segments: usize) -> Vec<u32> {
    let mut cuts = dice.many(segments.saturating_sub(1), |dice| dice.below(count as u64 + 1) as u32);
    cuts.push(0);
    cuts.push(count as u32);
    cuts.sort();
    cuts
}

#[test]
fn segments() -> R {
    type Maps<A> = Arr<(u32, u32), A>;
    fn composing() -> impl Monoid<(u32, u32)> {
        monoid((1u32, 0u32), |(a, b), (c, d): (Exp<u32>, Exp<u32>)| (a * c, b * c + d))
    }
    fn by_flags(x: Maps<N>, heads: Arr<bool, N>) -> (Maps<N>, Maps<K>) {
        (x.segmented_scan(composing(), heads), x.segmented_fold(composing(), heads))
    }
    fn by_offsets(x: Maps<N>, offsets: Arr<u32, Either<M, Fix<1>>>) -> (Maps<N>, Maps<M>) {
        let segments = Segments::by_offsets(offsets);
        (x.segmented_scan(composing(), segments), x.segmented_fold(composing(), segments))
    }
    fn by_lengths(x: Maps<N>, lengths: Arr<i32, M>) -> (Maps<N>, Maps<M>) {
        let segments = Segments::by_lengths(lengths);
        (x.segmented_scan(composing(), segments), x.segmented_fold(composing(), segments))
    }
    let seeds: Vec<u64> = slyz_trials::trials("segments", 1).collect();
    for device in devices() {
        let by_flags = compile_on(&device, by_flags)?;
        let by_offsets = compile_on(&device, by_offsets)?;
        let by_lengths = compile_on(&device, by_lengths)?;
        for &seed in &seeds {
            let few = SIZES.into_iter().filter(|&n| n <= 1000).flat_map(|n| [(n, 1), (n, 7)]);
            for (n, segments) in few.chain(SIZES.into_iter().map(|n| (n, n / 3 + 1))) {
                let dice = &mut Dice(seed);
                let x = dice.many(n, |dice| (dice.word() as u32, dice.word() as u32));
                let cuts = cuts(dice, n, segments);
                let parts: Vec<Vec<_>> =
                    cuts.windows(2).map(|cut| prefixes(&x[cut[0] as usize..cut[1] as usize])).collect();
                let folds: Vec<_> = parts.iter().map(|part| part.last().copied().unwrap_or((1, 0))).collect();
                let (scanned, folded) = by_offsets.call(&x, &cuts)?;
                assert_eq!((scanned.to_vec()?, folded.to_vec()?), (parts.concat(), folds.clone()), "{n} by {cuts:?}");
                let lengths: Vec<i32> = parts.iter().map(|part| part.len() as i32).collect();
                let (scanned, folded) = by_lengths.call(&x, &lengths)?;
                assert_eq!((scanned.to_vec()?, folded.to_vec()?), (parts.concat(), folds), "{n} by {lengths:?}");
                let mut flags = vec![false; n];
                cuts[1..]
                    .iter()
                    .for_each(|&cut| flags.iter_mut().skip(cut as usize).take(1).for_each(|flag| *flag = true));
                let (scanned, folded) = by_flags.call(&x, &flags)?;
                let folds: Vec<_> = parts.iter().filter_map(|part| part.last().copied()).collect();
                assert_eq!((scanned.to_vec()?, folded.to_vec()?), (parts.concat(), folds), "{n}");
            }
        }
    }
    Ok(())
}

/// Segments of which some are most of the array, and segments of rows.
#[test]
fn long_segments() -> R {
    type Maps<A> = Arr<(u32, u32), A>;
    fn composed(x: Maps<N>, offsets: Arr<u32, Either<M, Fix<1>>>) -> Maps<M> {
        let composing = monoid((1u32, 0u32), |(a, b), (c, d): (Exp<u32>, Exp<u32>)| (a * c, b * c + d));
        x.segmented_fold(composing, Segments::by_offsets(offsets))
    }
    fn of_rows(x: Arr<i32, (K, N)>, offsets: Arr<u32, Either<M, Fix<1>>>) -> Arr<i32, (K, M)> {
        stack(|k| x.row(k).segmented_fold(MaxOf, Segments::by_offsets(offsets)))
    }
    let seeds: Vec<u64> = slyz_trials::trials("long segments", 1).collect();
    for device in devices() {
        let composed = compile_on(&device, composed)?;
        for &seed in &seeds {
            for (n, segments) in
                [(4096, 1), (8192, 1), (12_287, 2), (30_000, 3), (30_000, 40), (65_537, 1), (65_537, 5)]
            {
                let dice = &mut Dice(seed);
                let x = dice.many(n, |dice| (dice.word() as u32 | 1, dice.word() as u32));
                let cuts = cuts(dice, n, segments);
                let part = |cut: &[u32]| x[cut[0] as usize..cut[1] as usize].iter().fold((1, 0), |a, &b| compose(a, b));
                let folds: Vec<(u32, u32)> = cuts.windows(2).map(part).collect();
                assert_eq!(composed.call(&x, &cuts)?.to_vec()?, folds, "{n} by {cuts:?}");
            }
        }
        let f = compile_on(&device, of_rows)?;
        assert_eq!(f.call(&[[1, 5, 3], [7, 2, 9]], &[0, 2, 2, 3])?.to_vec()?, [5, i32::MIN, 3, 7, i32::MIN, 9]);
    }
    Ok(())
}

/// Segments that lie outside, overlap, or end before they start: what is outside is dropped, and nothing else is read.
#[test]
fn segments_outside() -> R {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<i32, N>, offsets: Arr<i64, Either<M, Fix<1>>>| {
            x.segmented_fold(Sum, Segments::by_offsets(offsets))
        })?;
        assert_eq!(f.call(&[1, 2, 4], &[-5, 2, 9, 12])?.to_vec()?, [3, 4, 0]);
        assert_eq!(f.call(&[1, 2, 4], &[1, 2])?.to_vec()?, [2]);
        assert_eq!(f.call(&[1, 2, 4], &[i64::MAX, i64::MIN])?.to_vec()?, [0]);
        assert_eq!(f.call(&[1, 2, 4], &[0])?.len(), 0);
        assert_eq!(f.call(&[] as &[i32], &[0, 0, 7])?.to_vec()?, [0, 0]);
        let wild = f.call(&[1, 2, 4], &[3, 1, 2, 0, 3])?.to_vec()?;
        assert_eq!((wild.len(), wild[0], wild[2]), (4, 0, 0));
        let wrong = compile_on(&device, |x: Arr<i32, N>, heads: Arr<bool, N>| {
            x.segmented_scan(monoid(1, |a, b: Exp<i32>| a - b * 2), heads)
        })?;
        assert_eq!(wrong.call(&[1; 1000], &[false; 1000])?.len(), 1000);
    }
    Ok(())
}

/// The order of `sort`, on the host.
fn sorted(x: &[f32]) -> Vec<f32> {
    let mut sorted = x.to_vec();
    sorted.sort_by(f32::total_cmp);
    sorted
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn places_in_sorted_arrays() -> R {
    fn places(sorted: Arr<f32, N>, values: Arr<f32, M>) -> [Arr<i64, M>; 2] {
        [Side::Left, Side::Right].map(|side| values.map(|v| sorted.search_sorted(v, side).number()))
    }
    let seeds: Vec<u64> = slyz_trials::trials("places_in_sorted_arrays", 1).collect();
    for device in devices() {
        let places = compile_on(&device, places)?;
        let merge_floats = compile_on(&device, |x: Arr<f32, N>, y: Arr<f32, M>| merge(x, y))?;
        let merge_pairs = compile_on(&device, |x: Arr<(i16, u64), N>, y: Arr<(i16, u64), M>| merge(x, y))?;
        for &seed in &seeds {
            for (n, m) in SIZES.into_iter().zip([5, 0, 1, 31, 1000, 33, 4000]) {
                let dice = &mut Dice(seed);
                let x = sorted(&dice.floats(n));
                let unsorted = dice.floats(m);
                let [left, right] = places.call(&x, &unsorted)?;
                let expected = |less: fn(std::cmp::Ordering) -> bool| {
                    unsorted.iter().map(|v| x.partition_point(|x| less(x.total_cmp(v))) as i64).collect::<Vec<_>>()
                };
                assert_eq!(left.to_vec()?, expected(|order| order.is_lt()), "{m} in {n}");
                assert_eq!(right.to_vec()?, expected(|order| order.is_le()), "{m} in {n}");

                let y = sorted(&unsorted);
                let together = sorted(&[&x[..], &y].concat());
                assert_eq!(bits(&merge_floats.call(&x, &y)?.to_vec()?), bits(&together), "{n} and {m}");
                // What is not sorted gives something.
                assert_eq!(merge_floats.call(&unsorted, &unsorted)?.len(), 2 * m);
                let n = n.min(1000);
                let pair = |dice: &mut Dice| (dice.below(9) as i16 - 4, dice.word() | 1 << 63);
                let mut x = dice.many(n, pair);
                let mut y = dice.many(m, pair);
                x.sort();
                y.sort();
                let mut together = [&x[..], &y].concat();
                together.sort();
                assert_eq!(merge_pairs.call(&x, &y)?.to_vec()?, together, "{n} and {m}");
            }
        }
    }
    Ok(())
}

#[test]
fn shifts() -> R {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<i32, (M, N, K)>, by: Exp<i64>| {
            [x.over(N).shift(by, -1), x.over(N).shift(2, -1), x.over(N).shift(u64::MAX, -1)]
        })?;
        let row =
            compile_on(&device, |x: Arr<i32, N>, by: Exp<i64>| (x.shift(by, -1), x.shift(-1, x.len().cast::<i32>())))?;
        for len in [0i64, 1, 3, 33] {
            for by in [0, 1, -1, 3, -40, i64::MAX, i64::MIN] {
                let x: Vec<i32> = (0..len as i32 * 4).collect();
                let shifted = |by: i64| {
                    let place = |k: i64| (k / 2 / len.max(1), k / 2 % len.max(1), k % 2);
                    let from = |(a, p, c): (i64, i64, i64)| match p.checked_sub(by).filter(|p| (0..len).contains(p)) {
                        Some(p) => x[((a * len + p) * 2 + c) as usize],
                        None => -1,
                    };
                    (0..len * 4).map(place).map(from).collect::<Vec<i32>>()
                };
                let [computed, two, far] = f.call((&x, [2, len as usize, 2]), by)?;
                assert_eq!((computed.to_vec()?, two.to_vec()?), (shifted(by), shifted(2)), "{len} by {by}");
                assert_eq!(far.to_vec()?, vec![-1; x.len()]);
                let (computed, back) = row.call(&x, by)?;
                let from = |p: i64| p.checked_sub(by).and_then(|p| x.get(usize::try_from(p).ok()?)).copied();
                assert_eq!(computed.to_vec()?, (0..len * 4).map(|p| from(p).unwrap_or(-1)).collect::<Vec<_>>());
                let behind = x.iter().skip(1).copied().chain(x.first().map(|_| x.len() as i32));
                assert_eq!(back.to_vec()?, behind.collect::<Vec<_>>());
            }
        }
    }
    Ok(())
}

/// Elements in the order of keys, on the host.
fn by<T: Clone>(x: &[T], order: impl Fn(&T, &T) -> std::cmp::Ordering) -> Vec<T> {
    let mut sorted = x.to_vec();
    sorted.sort_by(order);
    sorted
}

#[test]
fn sorted_arrays() -> R {
    let seeds: Vec<u64> = slyz_trials::trials("sorted_arrays", 1).collect();
    for device in devices() {
        let ascending = compile_on(&device, |x: Arr<i32, N>| x.sort())?;
        let descending = compile_on(&device, |x: Arr<f32, N>| x.sort_by_key(|v| v.descending()))?;
        let stable = compile_on(&device, |x: Arr<u8, N>| x.argsort_by_key(|v| v >> 1))?;
        for &seed in &seeds {
            for n in SIZES {
                let dice = &mut Dice(seed);
                for x in integers(dice, n.min(1000)) {
                    assert_eq!(ascending.call(&x)?.to_vec()?, by(&x, i32::cmp), "{n}");
                }
                let x = dice.many(n, |dice| dice.word() as i32);
                assert_eq!(ascending.call(&x)?.to_vec()?, by(&x, i32::cmp), "{n}");
                let x = dice.floats(n);
                let expected = by(&x, |a, b| b.total_cmp(a));
                assert_eq!(bits(&descending.call(&x)?.to_vec()?), bits(&expected), "{n}");
                let x = dice.many(n, |dice| dice.word() as u8);
                let order =
                    by(&(0..n as u64).collect::<Vec<_>>(), |a, b| (x[*a as usize] >> 1).cmp(&(x[*b as usize] >> 1)));
                let found: Vec<u64> = stable.call(&x)?.to_vec()?.iter().map(|i| i.get()).collect();
                assert_eq!(found, order, "{n}");
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, slyz::Elem)]
struct Record<T, U> {
    group: T,
    weight: U,
}

/// Every kind of key, on a few elements.
#[test]
fn keys() -> R {
    use std::cmp::Ordering;
    macro_rules! kinds {
        ($device:ident, $dice:ident: $($t:ident $cmp:expr, |$d:ident| $one:expr;)*) => {$(
            let f = compile_on(&$device, |x: Arr<$t, N>| (x.sort(), x.argsort_by_key(|v| v.descending())))?;
            let x: Vec<$t> = $dice.many(100, |$d| $one);
            let compare: fn(&$t, &$t) -> Ordering = $cmp;
            let (up, down) = f.call(&x)?;
            let equal = |found: Vec<$t>, expected: Vec<$t>| {
                found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| compare(a, b).is_eq())
            };
            assert!(equal(up.to_vec()?, by(&x, compare)), "{}", stringify!($t));
            let numbers: Vec<usize> = (0..x.len()).collect();
            let expected = by(&numbers, |&a, &b| compare(&x[b], &x[a]));
            let found: Vec<usize> = down.to_vec()?.iter().map(|i| i.get() as usize).collect();
            assert_eq!(found, expected, "{}", stringify!($t));
        )*};
    }
    let seeds: Vec<u64> = slyz_trials::trials("keys", 1).collect();
    for (device, &seed) in devices().iter().flat_map(|device| seeds.iter().map(move |seed| (device, seed))) {
        let device = device.clone();
        let dice = &mut Dice(seed);
        kinds! { device, dice:
            i8 Ord::cmp, |d| d.word() as i8;
            i16 Ord::cmp, |d| d.word() as i16;
            i64 Ord::cmp, |d| d.word() as i64;
            u16 Ord::cmp, |d| d.word() as u16;
            u32 Ord::cmp, |d| d.word() as u32;
            u64 Ord::cmp, |d| d.word() << d.below(64);
            bool Ord::cmp, |d| d.below(2) == 0;
            f16 f16::total_cmp, |d| f16::from_f32(d.floats(1)[0]);
            bf16 bf16::total_cmp, |d| bf16::from_f32(d.floats(1)[0]);
            f64 f64::total_cmp, |d| f64::from(d.floats(1)[0]);
        }
        type Records = Arr<Record<i8, f32>, N>;
        let structs =
            compile_on(&device, |x: Records| (x.sort(), x.sort_by_key(|r| r.weight.descending().then(r.group))))?;
        let x = dice.many(100, |d| Record { group: d.below(3) as i8 - 1, weight: d.below(9) as f32 });
        let (parts, turned) = structs.call(&x)?;
        let order = |a: &Record<i8, f32>, b: &Record<i8, f32>| a.partial_cmp(b).unwrap();
        assert_eq!(parts.to_vec()?, by(&x, order));
        assert_eq!(turned.to_vec()?, by(&x, |a, b| b.weight.total_cmp(&a.weight).then(a.group.cmp(&b.group))));

        let lexical = compile_on(&device, |x: Arr<i32, N>, y: Arr<bool, N>| lexsort((x, y)))?;
        let x = dice.small(100, 4);
        let y = dice.many(100, |d| d.below(2) == 0);
        let numbers: Vec<u64> = (0..100).collect();
        let expected = by(&numbers, |&a, &b| (x[a as usize], y[a as usize]).cmp(&(x[b as usize], y[b as usize])));
        assert_eq!(lexical.call(&x, &y)?.to_vec()?, expected.into_iter().map(At::new).collect::<Vec<_>>());

        let best = compile_on(&device, |x: Arr<i32, N>| x.top_k::<Fix<3>>())?;
        let (values, places) = best.call(&[4, 9, 1, 9, 5])?;
        assert_eq!((values.to_vec()?, places.to_vec()?), (vec![9, 9, 5], [1, 3, 4].map(At::new).to_vec()));
        assert!(best.call(&[4, 9]).is_err());
    }
    Ok(())
}

/// The published answers, and the generator written for the host.
mod philox {
    pub fn block(mut c: [u32; 4], mut k: [u32; 2]) -> [u32; 4] {
        for _ in 0..10 {
            let first = u64::from(c[0]) * 0xd251_1f53;
            let second = u64::from(c[2]) * 0xcd9e_8d57;
            c = [(second >> 32) as u32 ^ c[1] ^ k[0], second as u32, (first >> 32) as u32 ^ c[3] ^ k[1], first as u32];
            k = [k[0].wrapping_add(0x9e37_79b9), k[1].wrapping_add(0xbb67_ae85)];
        }
        c
    }

    pub fn words(key: u64, count: usize) -> Vec<u32> {
        let blocks = (0..count.div_ceil(4) as u32).map(|b| block([b, 0, 0, 0], [key as u32, (key >> 32) as u32]));
        blocks.flatten().take(count).collect()
    }

    pub const KNOWN: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];
}

#[test]
fn random_streams() -> R {
    for device in devices() {
        let block = compile_on(&device, |c: [Exp<u32>; 4], k: [Exp<u32>; 2]| random::philox(c, k))?;
        for (counter, key, expected) in philox::KNOWN {
            assert_eq!(philox::block(counter, key), expected);
            let words = block.call(counter, key)?;
            let words: Vec<u32> = words.iter().map(|word| word.value()).collect::<Result<_, _>>()?;
            assert_eq!(words, expected);
        }
        let words = compile_on(&device, |key: Exp<u64>| random::bits::<(Fix<3>, N)>(key))?;
        let singles = compile_on(&device, |key: Exp<u64>| random::uniform::<f32, N>(key))?;
        let doubles = compile_on(&device, |key: Exp<u64>| random::uniform::<f64, N>(key))?;
        let small =
            compile_on(&device, |key: Exp<u64>, high: Exp<i8>| random::integers::<i8, N>(key, lit(-100)..high))?;
        let large = compile_on(&device, |key: Exp<u64>| random::integers::<u64, N>(key, 5..u64::MAX - 1))?;
        for key in [0, 0x0123_4567_89ab_cdef, u64::MAX] {
            for n in SIZES.into_iter().filter(|&n| n <= 1000 || key == 0) {
                let stream = philox::words(key, 3 * n);
                assert_eq!(words.clone().size::<N>(n).call(key)?.to_vec()?, stream, "{n}");
                let expected: Vec<f32> = stream[..n].iter().map(|w| (w >> 8) as f32 / (1u64 << 24) as f32).collect();
                assert_eq!(singles.clone().size::<N>(n).call(key)?.to_vec()?, expected, "{n}");
                let n = n.min(1000);
                let stream = philox::words(key, 2 * n);
                let pairs: Vec<u64> = stream.chunks(2).map(|w| u64::from(w[0]) << 32 | u64::from(w[1])).collect();
                let expected: Vec<f64> = pairs.iter().map(|w| (w >> 11) as f64 / (1u64 << 53) as f64).collect();
                assert_eq!(doubles.clone().size::<N>(n).call(key)?.to_vec()?, expected, "{n}");
                let within = |w: u64, length: u64| ((u128::from(w) * u128::from(length)) >> 64) as u64;
                for high in [100i8, -99, -100, -128] {
                    let length = (i64::from(high) + 100).max(0) as u64;
                    let expected: Vec<i8> = pairs.iter().map(|&w| (-100 + within(w, length) as i64) as i8).collect();
                    assert_eq!(small.clone().size::<N>(n).call(key, high)?.to_vec()?, expected, "{n}");
                }
                let expected: Vec<u64> = pairs.iter().map(|&w| 5 + within(w, u64::MAX - 6)).collect();
                assert_eq!(large.clone().size::<N>(n).call(key)?.to_vec()?, expected, "{n}");
            }
        }
    }
    Ok(())
}

/// The moments of the normal distribution, and what rounding to narrow floats leaves inside.
#[test]
fn random_floats() -> R {
    for device in devices() {
        let normal =
            compile_on(&device, |key: Exp<u64>| (random::normal::<f32, N>(key), random::normal::<f64, N>(key)))?;
        let (single, double) = normal.size::<N>(20_000).call(11)?;
        let single: Vec<f64> = single.to_vec()?.into_iter().map(f64::from).collect();
        for x in [single, double.to_vec()?] {
            let moment = |power: i32| x.iter().map(|x| x.powi(power)).sum::<f64>() / x.len() as f64;
            assert!(x.iter().all(|x| x.is_finite()));
            let moments = [1, 2, 3, 4].map(moment);
            let near =
                moments.iter().zip([0.0, 1.0, 0.0, 3.0]).all(|(found, expected)| (found - expected).abs() < 0.15);
            assert!(near, "{moments:?}");
        }
        let narrow =
            compile_on(&device, |key: Exp<u64>| (random::uniform::<f16, N>(key), random::uniform::<bf16, N>(key)))?;
        let (half, brief) = narrow.size::<N>(1000).call(11)?;
        assert!(half.to_vec()?.iter().all(|x| (0.0..1.0).contains(&x.to_f32())));
        assert!(brief.to_vec()?.iter().all(|x| (0.0..1.0).contains(&x.to_f32())));
    }
    Ok(())
}

#[test]
fn random_orders() -> R {
    let mut orders: Vec<Vec<i32>> = vec![];
    for device in devices() {
        let shuffle = compile_on(&device, |x: Arr<i32, N>, key: Exp<u64>| random::shuffle(x, key))?;
        for n in [0, 1, 2, 33, 1000] {
            let x: Vec<i32> = (0..n).collect();
            let shuffled = shuffle.call(&x, 3)?.to_vec()?;
            assert_eq!(by(&shuffled, i32::cmp), x);
            assert!(n < 33 || shuffled != x && shuffle.call(&x, 4)?.to_vec()? != shuffled);
            orders.push(shuffled);
        }
    }
    // The same on every device.
    assert!(orders.chunks(5).all(|device| device == &orders[..5]));
    Ok(())
}

/// The same in bodies: each row on its own.
#[test]
fn rows() -> R {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<f32, (M, N)>| {
            let sorted = stack(|i: Idx<M>| x.row(i).sort());
            let parted = stack(|i: Idx<M>| x.row(i).partition(|v| v.lt(0.0)).0);
            (sorted, parted)
        })?;
        for n in [0, 1, 33, 1500] {
            let x = Dice(n as u64).many(3 * n, |dice| dice.below(100) as f32 - 50.0);
            let (rows, parts) = f.call((&x, [3, n]))?;
            let lines = || x.chunks(n.max(1));
            assert_eq!(rows.to_vec()?, lines().flat_map(sorted).collect::<Vec<_>>(), "{n}");
            let parted = |row: &[f32]| {
                let (first, rest): (Vec<f32>, Vec<f32>) = row.iter().partition(|v| **v < 0.0);
                [first, rest].concat()
            };
            assert_eq!(parts.to_vec()?, lines().flat_map(parted).collect::<Vec<_>>(), "{n}");
        }
    }
    Ok(())
}

/// Segments along either axis, and what a condition chooses of each row.
#[test]
fn segments_of_lines() -> R {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<i32, (M, N)>, starts: Arr<bool, (M, N)>| {
            let scans = [x.over(N).segmented_scan(Sum, starts), x.over(M).segmented_scan(Sum, starts)];
            (scans, x.over(N).partition(|v| v.lt(0)))
        })?;
        for [m, n] in [[3, 0], [0, 3], [1, 1], [3, 33], [1500, 2], [2, 20_000]] {
            let dice = &mut Dice((m + n) as u64);
            let x = dice.many(m * n, |dice| dice.below(100) as i32 - 50);
            let starts = dice.many(m * n, |dice| dice.below(9) == 0);
            let ([along, down], (parted, counts)) = f.call((&x, [m, n]), (&starts, [m, n]))?;
            let scanned = |step: usize, is_first: &dyn Fn(usize) -> bool| {
                let mut sums = x.clone();
                for k in (0..x.len()).filter(|&k| !is_first(k) && !starts[k]) {
                    sums[k] += sums[k - step];
                }
                sums
            };
            assert_eq!(along.to_vec()?, scanned(1, &|k| k % n == 0), "{m} {n}");
            assert_eq!(down.to_vec()?, scanned(n, &|k| k < n), "{m} {n}");
            let rows = (0..m).map(|i| x[i * n..(i + 1) * n].iter().partition::<Vec<i32>, _>(|v| **v < 0));
            let (first, rest): (Vec<_>, Vec<_>) = rows.unzip();
            let expected: Vec<i32> =
                first.iter().zip(&rest).flat_map(|(first, rest)| [&first[..], rest].concat()).collect();
            assert_eq!(parted.to_vec()?, expected, "{m} {n}");
            assert_eq!(counts.to_vec()?, first.iter().map(|first| first.len() as u32).collect::<Vec<_>>(), "{m} {n}");
        }
    }
    Ok(())
}

/// Along either axis: elements that are larger than what is moved with a key, positions, and lines that are longer than a block sorts.
#[test]
fn lines() -> R {
    type Large = (i32, i64, f32);
    for device in devices() {
        let f = compile_on(&device, |x: Arr<Large, (M, N)>| {
            (x.over(M).sort_by_key(|(a, _, _)| a), x.over(N).argsort_by_key(|(a, _, _)| a.descending()))
        })?;
        let positions = compile_on(&device, |x: Arr<At<N>, M>, y: Arr<u32, N>| x.sort().map(|i| y.at(i)))?;
        for n in [0, 1, 40, 5000] {
            let dice = &mut Dice(n as u64);
            let x: Vec<Large> = dice.many(3 * n, |dice| (dice.below(9) as i32, dice.word() as i64, 0.5));
            let (columns, order) = f.call((&x, [3, n]))?;
            let column = |j: usize| by(&[x[j], x[n + j], x[2 * n + j]], |a, b| a.0.cmp(&b.0));
            let expected: Vec<Large> = (0..3).flat_map(|i| (0..n).map(move |j| column(j)[i])).collect();
            assert_eq!(columns.to_vec()?, expected, "{n}");
            let numbers: Vec<usize> = (0..n).collect();
            let line = |row: &[Large]| by(&numbers, |&a, &b| row[b].0.cmp(&row[a].0));
            let expected: Vec<usize> = x.chunks(n.max(1)).flat_map(line).collect();
            let found: Vec<usize> = order.to_vec()?.iter().map(|i| i.get() as usize).collect();
            assert_eq!(found, expected, "{n}");
        }
        let places = [3, 0, 2].map(At::new);
        assert_eq!(positions.call(&places, &[10, 11, 12, 13])?.to_vec()?, [10, 12, 13]);
    }
    Ok(())
}
