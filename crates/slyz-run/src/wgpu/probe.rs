//! How an adapter computes: what Vulkan leaves to the driver, and results depend on.
//!
//! A tiny kernel is run on telling operands when the adapter is opened, and its results are compared with those of the CPU,
//! which rounds as the standard says. What fails it is not used: the code that needs no trust is only longer.

use super::adapter::Opened;
use super::once::once;
use crate::Error;
use slyz_sir::back::naga::Target;
use slyz_sir::choices::Precision;
use slyz_sir::text::parse_kernel;
use slyz_sir::types::{Scalar, Ty};

const KERNEL: &str = "kernel probe<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {
  global read a: f32[n]
  global read b: f32[n]
  global read c: f32[n]
  global write sum: f32[n]
  global write quotient: f32[n]
  global write root: f32[n]
  %i: i64 = global.x
  %n: i64 = extent n
  %inside: bool = lt %i, %n
  if %inside {
    %a: f32 = load a[%i]
    %b: f32 = load b[%i]
    %c: f32 = load c[%i]
    %s: f32 = fma %a, %b, %c
    store sum[%i], %s
    %q: f32 = div %a, %b
    store quotient[%i], %q
    %p: f32 = abs %a
    %r: f32 = sqrt %p
    store root[%i], %r
  } else {}
}";

/// Triples of operands.
const COUNT: usize = 4096;

/// The target, with what the adapter is found to do well.
pub(super) fn probed(opened: &Opened) -> Target {
    let target = opened.target;
    // Where arithmetic is not taken at its word, a probe tells nothing about other kernels.
    if target.reassociates {
        return target;
    }
    let trusting = Target { fused: true, exact_division: true, exact_root: true, ..target };
    let (a, b, c) = operands();
    let bytes = |x: &[f32]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let none = vec![0; 4 * COUNT];
    let memories = [bytes(&a), bytes(&b), bytes(&c), none.clone(), none.clone(), none];
    // A driver that cannot run this will say why when it is asked for something that matters.
    let Ok(kernel) = parse_kernel(KERNEL) else { return target };
    let Ok(found) = once(opened, &kernel, &trusting, &[COUNT as u64], &memories) else { return target };
    // A driver that flushes denormals does so whatever the code: nothing is won by writing more of it.
    let ordinary = |x: f32| !x.is_subnormal();
    let same = |found: &[u8], given: &dyn Fn(usize) -> Vec<f32>, expected: &dyn Fn(usize) -> f32| {
        let found = found.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]));
        found.enumerate().all(|(k, found)| {
            let expected = expected(k);
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            same || !ordinary(expected) || !given(k).into_iter().all(ordinary)
        })
    };
    Target {
        fused: same(&found[3], &|k| vec![a[k], b[k], c[k]], &|k| a[k].mul_add(b[k], c[k])),
        exact_division: same(&found[4], &|k| vec![a[k], b[k]], &|k| a[k] / b[k]),
        exact_root: same(&found[5], &|k| vec![a[k]], &|k| a[k].abs().sqrt()),
        ..target
    }
}

const HALVES: &str = "kernel halves<n>() grid [ceil(n / 64), 1, 1] block [64, 1, 1] {
  global read half: f16[n]
  global read number: f32[n]
  global write widened: f32[n]
  global write stored: f16[n]
  global write rounded: f32[n]
  %i: i64 = global.x
  %n: i64 = extent n
  %inside: bool = lt %i, %n
  if %inside {
    %h: f16 = load half[%i]
    %w: f32 = cast f32 %h
    store widened[%i], %w
    %x: f32 = load number[%i]
    %s: f16 = cast f16 %x
    store stored[%i], %s
    %r: f32 = cast f32 %s
    store rounded[%i], %r
  } else {}
}";

/// Does the adapter convert between `f32` and `f16` as the table says? Vulkan leaves subnormal numbers and the rounding to drivers.
pub(super) fn has_exact_halves(opened: &Opened) -> bool {
    !opened.target.reassociates
        && first_wrong_half(opened, (0..=u16::MAX).step_by(3)).is_ok_and(|wrong| wrong.is_none())
}

/// The first of these `f16`s which, or next to which a number, is not converted as the table says, in words.
///
/// Rounding steps where a number is in the middle of two `f16`s, so the middle and the numbers beside it are tried.
fn first_wrong_half(opened: &Opened, halves: impl Iterator<Item = u16>) -> Result<Option<String>, Error> {
    let value = |bits: u16| Scalar::from_bits(Ty::F16, bits.into()).as_f64() as f32;
    let nearest = |x: f32| Scalar::f32(x).cast(Ty::F16).bits as u16;
    let mut bits = vec![];
    let mut numbers = vec![];
    for half in halves {
        // The next one is further from zero; behind the largest is what would be next if there were no end.
        let next = if half & 0x7fff == 0x7bff { value(half) * (2048.0 / 2047.0) } else { value(half.wrapping_add(1)) };
        let middle = ((f64::from(value(half)) + f64::from(next)) / 2.0) as f32;
        let around = [middle.to_bits().wrapping_sub(1), middle.to_bits(), middle.to_bits().wrapping_add(1)];
        numbers.extend(around.map(f32::from_bits));
        bits.extend([half; 3]);
    }
    let n = bits.len().next_multiple_of(2);
    bits.resize(n, 0);
    numbers.resize(n, 0.0);
    let kernel = parse_kernel(HALVES).map_err(|error| Error::Plan { name: "halves".into(), why: error.to_string() })?;
    let target = Target { precision: Precision::Table, exact_halves: true, ..opened.target };
    let given = bits.iter().flat_map(|half| half.to_le_bytes()).collect();
    let words = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let memories = [given, words, vec![0; 4 * n], vec![0; 2 * n], vec![0; 4 * n]];
    let found = once(opened, &kernel, &target, &[n as u64], &memories)?;
    let float = |k: usize, i: usize| {
        let bytes = &found[k][4 * i..];
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    let wrong = |&i: &usize| {
        let stored = u16::from_le_bytes([found[3][2 * i], found[3][2 * i + 1]]);
        let expected = value(nearest(numbers[i]));
        let right = same(float(2, i), value(bits[i])) && same(value(stored), expected) && same(float(4, i), expected);
        !right
    };
    Ok((0..n).find(wrong).map(|i| {
        let stored = u16::from_le_bytes([found[3][2 * i], found[3][2 * i + 1]]);
        format!("{:#x} is {:e}, and {:e} is {stored:#x}, {:e} rounded", bits[i], float(2, i), numbers[i], float(4, i))
    }))
}

/// Numbers of all sizes, and sums that all but cancel, where a second rounding shows.
fn operands() -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let edges = [0.0, 1.0, 3.0, f32::MAX, f32::MIN_POSITIVE, 1e-42, f32::INFINITY, f32::NAN, 1e-30, 1e30];
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32
    };
    let mut all_a = vec![];
    let mut all_b = vec![];
    let mut all_c = vec![];
    for k in 0..COUNT {
        let mut ordinary = || {
            let bits = random();
            f32::from_bits((bits & 0x807f_ffff) | ((97 + (bits >> 23) % 60) << 23))
        };
        let mut a = ordinary();
        let mut b = ordinary();
        let other = ordinary();
        if k < edges.len() * edges.len() {
            (a, b) = (edges[k / edges.len()], edges[k % edges.len()]);
        } else if k % 7 == 0 {
            // A quotient next to the middle between two numbers.
            b = f32::from_bits(b.to_bits() | 0x7f_ffff);
        }
        let product = a * b;
        all_c.push(match k % 4 {
            0 => -product,
            1 => -f32::from_bits(product.to_bits().wrapping_add(1)),
            2 => product * 5.960_464_5e-8,
            _ => other,
        });
        all_a.push(a);
        all_b.push(b);
    }
    (all_a, all_b, all_c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers of tests convert every `f16`, and every number around the middle of two, as the table says; rounding is monotone, so
    /// that nothing is left to try. The probe finds them out.
    #[test]
    fn halves_are_exact() {
        let opened = Opened::new(std::env::var("SLYZ_ADAPTER").ok().as_deref(), false).expect("an adapter");
        let wrong = first_wrong_half(&opened, 0..=u16::MAX).expect("a result");
        println!("{}: {wrong:?}", opened.describe());
        assert_eq!(has_exact_halves(&opened), wrong.is_none() && !opened.target.reassociates);
    }

    /// What the probe finds, the mended operators must give: quotients and roots of the probe's operands are exact.
    #[test]
    fn mended_quotients_and_roots_are_exact() {
        let opened = Opened::new(std::env::var("SLYZ_ADAPTER").ok().as_deref(), false).expect("an adapter");
        let (a, b, c) = operands();
        let bytes = |x: &[f32]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let none = vec![0; 4 * COUNT];
        let memories = [bytes(&a), bytes(&b), bytes(&c), none.clone(), none.clone(), none];
        let kernel = parse_kernel(KERNEL).expect("text of a kernel");
        // As if neither were exact; `fma` is the driver's if it may be.
        let target = Target { exact_division: false, exact_root: false, ..opened.target };
        let found = once(&opened, &kernel, &target, &[COUNT as u64], &memories).expect("a result");
        let found: Vec<Vec<f32>> = found
            .iter()
            .map(|bytes| bytes.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect())
            .collect();
        let same = |x: f32, y: f32| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
        for k in 0..COUNT {
            let q = a[k] / b[k];
            let r = a[k].abs().sqrt();
            assert!(same(found[4][k], q), "{} / {} = {q}, not {}", a[k], b[k], found[4][k]);
            assert!(same(found[5][k], r), "root of {} = {r}, not {}", a[k].abs(), found[5][k]);
        }
    }
}
