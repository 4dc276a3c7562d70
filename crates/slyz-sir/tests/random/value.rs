//! Random numbers and values, and when two results are the same.

use slyz_sir::interp::{Array, Value};
use slyz_sir::types::{Scalar, Ty, int_range};

/// A small generator of random numbers (SplitMix64), so that a seed means the same everywhere.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence with that seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// True that many times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len() as u64) as usize) }
    }

    /// An element type.
    pub fn ty(&mut self) -> Ty {
        // The common ones more often, so that code of one type meets.
        let common = [Ty::F32, Ty::I64, Ty::Bool, Ty::I32];
        if self.chance(60) { common[self.below(4) as usize] } else { Ty::ALL[self.below(13) as usize] }
    }

    /// Moves to a part of the sequence that a copy made before does not reach soon.
    pub fn skip(&mut self) {
        self.0 = self.next() ^ 0x5851_f42d_4c95_7f2d;
    }
}

/// A constant of a program: mostly one with a law of its own.
pub fn constant(rng: &mut Rng, ty: Ty) -> Scalar {
    if ty == Ty::Bool {
        return Scalar::bool(rng.chance(50));
    }
    if ty.is_float() {
        let edges = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        return Scalar::from_f64(ty, edges[rng.below(edges.len() as u64) as usize]);
    }
    let (low, high) = int_range(ty);
    let edges = [0, 0, 1, 1, 2, 3, 7, -1, low, high];
    Scalar::from_int(ty, edges[rng.below(edges.len() as u64) as usize])
}

/// An argument: an edge, a small number or any bits.
pub fn scalar_value(rng: &mut Rng, ty: Ty) -> Scalar {
    match rng.below(4) {
        0 => constant(rng, ty),
        1 => Scalar::from_int(ty, rng.below(10) as i128),
        2 if ty.is_float() => Scalar::from_f64(ty, rng.below(2000) as f64 / 300.0 - 3.0),
        _ => Scalar::from_bits(ty, rng.next()),
    }
}

/// An argument of that shape.
pub fn array_value(rng: &mut Rng, ty: Ty, shape: &[u64]) -> Array {
    let count = shape.iter().product();
    Array { ty, shape: shape.to_vec(), data: (0..count).map(|_| scalar_value(rng, ty).bits).collect() }
}

/// Are the results the same, bit for bit, except for which NaN?
pub fn agree(a: &[Value], b: &[Value]) -> bool {
    let same = |ty: Ty, a: u64, b: u64| {
        let nan = |bits| ty.is_float() && Scalar { ty, bits }.as_f64().is_nan();
        a == b || nan(a) && nan(b)
    };
    let values = |(a, b): (&Value, &Value)| match (a, b) {
        (Value::Scalar(a), Value::Scalar(b)) => a.ty == b.ty && same(a.ty, a.bits, b.bits),
        (Value::Array(a), Value::Array(b)) => {
            let elements = || a.data.iter().zip(&b.data).all(|(&x, &y)| same(a.ty, x, y));
            a.ty == b.ty && a.shape == b.shape && a.data.len() == b.data.len() && elements()
        }
        (Value::Scalar(_), Value::Array(_)) | (Value::Array(_), Value::Scalar(_)) => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(values)
}
