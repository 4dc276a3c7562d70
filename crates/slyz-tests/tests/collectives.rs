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
