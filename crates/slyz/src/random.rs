//! Random numbers, made from their place: element `n` of the stream of a key is a function of `n` and the key, Philox 4x32-10 of
//! Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as easy as 1, 2, 3").
//!
//! So they need no state, are the same on every device, and cost no memory: what reads them computes them. Other keys give other
//! streams, and one key gives the same numbers each time: use it once.

use crate::arr::{Arr, tabulate_at};
use crate::elem::{Elem, Exp, Float, Int, Lift, handles};
use crate::extent::Axis;
use crate::position::At;
use crate::record;
use crate::shape::{Pos, Shape};
use crate::trace::{Loc, Ty, on_behalf};
use std::f64::consts::TAU;
use std::ops::Range;
use std::panic::Location;

/// The block of four random words of a counter, by ten rounds of Philox.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|counter: Exp<u32>| random::philox([counter; 4], [counter; 2]))?;
/// let block: Vec<u32> = f.call(0)?.iter().map(|word| word.value()).collect::<Result<_, _>>()?;
/// assert_eq!(block, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn philox(counter: [Exp<u32>; 4], key: [Exp<u32>; 2]) -> [Exp<u32>; 4] {
    on_behalf(Location::caller(), || {
        let round = |([a, b, c, d], [k, l]): ([Exp<u32>; 4], [Exp<u32>; 2]), _| {
            let (high, low) = product(a, 0xd251_1f53);
            let (other_high, other_low) = product(c, 0xcd9e_8d57);
            let block = [other_high ^ b ^ k, other_low, high ^ d ^ l, low];
            (block, [k + 0x9e37_79b9, l + 0xbb67_ae85])
        };
        (0..10).fold((counter, key), round).0
    })
}

/// Both halves of a product.
fn product(a: Exp<u32>, b: u64) -> (Exp<u32>, Exp<u32>) {
    let whole = a.cast::<u64>() * b;
    ((whole >> 32).cast(), whole.cast())
}

/// The upper half of a product: a fraction of `b`, where `a` is one of 2⁶⁴.
fn high_product(a: Exp<u64>, b: Exp<u64>) -> Exp<u64> {
    let low = |x: Exp<u64>| x & 0xffff_ffff;
    let middle = low(a) * (b >> 32) + ((low(a) * low(b)) >> 32);
    let other = (a >> 32) * low(b) + low(middle);
    (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32)
}

/// Block `number` of the stream of a key.
fn block(key: Exp<u64>, number: Exp<u64>) -> [Exp<u32>; 4] {
    let zero = Exp::from(0u32);
    philox([number.cast(), (number >> 32).cast(), zero, zero], [key.cast(), (key >> 32).cast()])
}

/// Word `number` of the stream of a key.
fn word(key: Exp<u64>, number: Exp<u64>) -> Exp<u32> {
    let [a, b, c, d] = block(key, number >> 2);
    let odd = (number & 1).ne(0);
    (number & 2).ne(0).select(odd.select(d, c), odd.select(b, a))
}

/// Words `2 number` and the next one of the stream of a key, as one.
fn double_word(key: Exp<u64>, number: Exp<u64>) -> Exp<u64> {
    let [a, b, c, d] = block(key, number >> 1);
    let odd = (number & 1).ne(0);
    joined(odd.select(c, a), odd.select(d, b))
}

fn joined(high: Exp<u32>, low: Exp<u32>) -> Exp<u64> {
    high.cast::<u64>() << 32 | low.cast::<u64>()
}

/// An array whose elements are made from a key and their number, row by row.
fn made<T: Elem, S: Shape>(at: Loc, key: Exp<u64>, f: impl Fn(Exp<u64>, Exp<u64>) -> T::Exp) -> Arr<T, S> {
    tabulate_at(at, |p: Pos<S>| {
        on_behalf(at, || {
            let number = Exp::<i64>::new(record::ravel(at, &S::axes(), &handles(p)));
            f(key, number.cast())
        })
    })
}

/// Random words: the stream of the key itself.
///
/// ```
/// use slyz::prelude::*;
/// let f = compile(|key: Exp<u64>| random::bits::<Fix<3>>(key))?;
/// assert_eq!(f.call(0)?.to_vec()?, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn bits<S: Shape>(key: impl Lift<u64>) -> Arr<u32, S> {
    made(Location::caller(), key.lift(), word)
}

/// Random floats from 0, which may come, to 1, which does not: all multiples of the distance of floats below 1, equally likely.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|| random::uniform::<f32, N>(7).mean())?;
/// assert!((f.size::<N>(10_000).call()?.value()? - 0.5).abs() < 0.01);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn uniform<T: Float, S: Shape>(key: impl Lift<u64>) -> Arr<T, S> {
    made(Location::caller(), key.lift(), |key, number| match T::TY {
        Ty::F64 => fraction(double_word(key, number)),
        _ => fraction(word(key, number).cast::<u64>() << 32),
    })
}

/// The highest bits, as many as a float holds, as a fraction of one.
fn fraction<T: Float>(bits: Exp<u64>) -> Exp<T> {
    let digits = match T::TY {
        Ty::F64 => 53,
        Ty::F16 => 11,
        Ty::BF16 => 8,
        _ => 24,
    };
    (bits >> (64 - digits)).cast::<T>() * (-f64::from(digits as u32)).exp2()
}

/// Random floats of the normal distribution with mean 0 and deviation 1, by Box and Muller. Devices compute the logarithm and the cosine to the
/// last bits each in its way.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|| random::normal::<f32, N>(7).std())?;
/// assert!((f.size::<N>(10_000).call()?.value()? - 1.0).abs() < 0.02);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn normal<T: Float, S: Shape>(key: impl Lift<u64>) -> Arr<T, S> {
    made(Location::caller(), key.lift(), |key, number| match T::TY {
        Ty::F64 => {
            let [a, b, c, d] = block(key, number);
            bell::<f64>(joined(a, b), joined(c, d)).cast::<T>()
        }
        _ => {
            let both = double_word(key, number);
            bell::<f32>(both, both << 32).cast::<T>()
        }
    })
}

/// A point of the plane from its distance and its angle.
fn bell<T: Float>(distance: Exp<u64>, angle: Exp<u64>) -> Exp<T> {
    let above_zero = -fraction::<T>(distance) + 1.0;
    (above_zero.ln() * -2.0).sqrt() * (fraction::<T>(angle) * TAU).cos()
}

/// Random integers from the start of a range up to its end, which does not come; of an empty range all are its start. None is more
/// likely than another by more than the length of the range in 2⁶⁴.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let dice = compile(|key: Exp<u64>| random::integers::<u8, N>(key, 1..7))?.size::<N>(1000).call(7)?.to_vec()?;
/// assert!((1..7).all(|eyes| dice.contains(&eyes)) && dice.iter().all(|eyes| (1..7).contains(eyes)));
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn integers<T: Int, S: Shape>(key: impl Lift<u64>, range: Range<impl Lift<T>>) -> Arr<T, S> {
    let at: Loc = Location::caller();
    let start = range.start.lift();
    let end = range.end.lift();
    let length = on_behalf(at, || start.lt(end).select(end.cast::<u64>() - start.cast::<u64>(), 0));
    made(at, key.lift(), |key, number| start + high_product(double_word(key, number), length).cast::<T>())
}

/// The positions of an axis in random order. They are sorted by 64 random bits each.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let mut order = compile(|| random::permutation::<N>(7))?.size::<N>(5).call()?.to_vec()?;
/// order.sort_by_key(|i| i.get());
/// assert_eq!(order, [0, 1, 2, 3, 4].map(At::new));
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn permutation<A: Axis>(key: impl Lift<u64>) -> Arr<At<A>, A> {
    made::<u64, A>(Location::caller(), key.lift(), double_word).argsort()
}

/// The elements of an array in random order.
///
/// ```
/// use slyz::prelude::*;
/// axis!(N);
/// let f = compile(|x: Arr<f32, N>, key: Exp<u64>| random::shuffle(x, key).sort())?;
/// assert_eq!(f.call(&[1.0f32, 2.0, 3.0], 7)?.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), slyz::Error>(())
/// ```
#[track_caller]
pub fn shuffle<T: Elem, A: Axis>(x: Arr<T, A>, key: impl Lift<u64>) -> Arr<T, A> {
    let order = permutation::<A>(key);
    on_behalf(Location::caller(), || order.map(|i| x.at(i)))
}
