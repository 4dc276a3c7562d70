//! Numbers that depend on sizes, as sums of products: `4·R·C + 8·R`.
//!
//! [`Size`] is made for evaluating; a [`Count`] is made for adding up and for reading. It knows one law more than
//! arithmetic does: as many pieces as there are, times the length of a piece, is the whole axis, though the last
//! piece may be shorter.

use crate::size::{Size, SizeVar};
use std::collections::BTreeMap;
use std::fmt;

/// Sums that would have more terms than this are kept as one factor.
const MOST_TERMS: usize = 32;

/// A number that depends on sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// What each product of factors is multiplied by; the factors are sorted.
    terms: BTreeMap<Vec<Factor>, u128>,
}

/// A factor that is not a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Factor {
    /// Neither a constant nor a product.
    Size(Size),
    /// The length of a piece of an axis that is cut every so many elements.
    Piece(Size, u64),
}

impl Factor {
    /// For large sizes it grows like `coefficient · n^degree`.
    fn growth(&self) -> (f64, u32) {
        match self {
            Factor::Piece(_, length) => (*length as f64, 0),
            Factor::Size(size) => growth(size),
        }
    }
}

fn growth(size: &Size) -> (f64, u32) {
    match size {
        Size::Const(n) => (*n as f64, 0),
        Size::Var(_) => (1.0, 1),
        Size::Add(a, b) => match (growth(a), growth(b)) {
            ((a, i), (b, j)) if i == j => (a + b, i),
            (a, b) => {
                if a.1 > b.1 {
                    a
                } else {
                    b
                }
            }
        },
        Size::Mul(a, b) => {
            let ((a, i), (b, j)) = (growth(a), growth(b));
            (a * b, i + j)
        }
        Size::Min(a, b) => match (growth(a), growth(b)) {
            ((a, i), (b, j)) if i == j => (a.min(b), i),
            (a, b) => {
                if a.1 < b.1 {
                    a
                } else {
                    b
                }
            }
        },
        Size::CeilDiv(a, n) => {
            let (a, i) = growth(a);
            (a / (*n).max(1) as f64, i)
        }
        Size::Tri(a) => {
            let (a, i) = growth(a);
            (a * a / 2.0, 2 * i)
        }
    }
}

impl From<u64> for Count {
    fn from(n: u64) -> Count {
        let mut count = Count::default();
        count.put(vec![], n.into());
        count
    }
}

impl From<&Size> for Count {
    fn from(size: &Size) -> Count {
        match size {
            Size::Const(n) => Count::from(*n),
            Size::Add(a, b) => Count::from(&**a) + Count::from(&**b),
            Size::Mul(a, b) => Count::from(&**a) * Count::from(&**b),
            Size::Var(_) | Size::Min(..) | Size::CeilDiv(..) | Size::Tri(_) => match size.constant() {
                Some(n) => Count::from(n),
                None => Count::of(Factor::Size(size.clone())),
            },
        }
    }
}

impl Count {
    fn of(factor: Factor) -> Count {
        let mut count = Count::default();
        count.put(vec![factor], 1);
        count
    }

    /// The length of a piece of the axis, which is cut every `length` elements.
    pub(super) fn piece(axis: &Size, length: u64) -> Count {
        match axis.constant() {
            Some(n) if n <= length => Count::from(n),
            Some(_) | None => Count::of(Factor::Piece(axis.clone(), length)),
        }
    }

    /// The elements of an array, or 1.
    pub(super) fn elements(shape: &[Size]) -> Count {
        shape.iter().fold(Count::from(1), |all, size| all * Count::from(size))
    }

    fn put(&mut self, factors: Vec<Factor>, times: u128) {
        if times > 0 {
            let entry = self.terms.entry(factors).or_insert(0);
            *entry = entry.saturating_add(times);
        }
    }

    /// Is it nothing at all?
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value at these sizes, `None` where one is missing. Past the largest number it is the largest number.
    pub fn at(&self, sizes: &dyn Fn(SizeVar) -> Option<u64>) -> Option<u128> {
        let mut sum = 0u128;
        for (factors, &times) in &self.terms {
            let mut product = times;
            for factor in factors {
                let value = match factor {
                    Factor::Size(size) => size.eval(sizes).ok()?,
                    Factor::Piece(axis, length) => axis.eval(sizes).ok()?.min(*length),
                };
                product = product.saturating_mul(value.into());
            }
            sum = sum.saturating_add(product);
        }
        Some(sum)
    }

    /// For each product what is left of it, or nothing.
    pub(super) fn without(mut self, other: &Count) -> Count {
        for (factors, &times) in &other.terms {
            if let Some(entry) = self.terms.get_mut(factors) {
                *entry = entry.saturating_sub(times);
            }
        }
        self.terms.retain(|_, times| *times > 0);
        self
    }

    /// For each product the larger of the two; no smaller than either.
    pub(super) fn max(mut self, other: &Count) -> Count {
        for (factors, &times) in &other.terms {
            let entry = self.terms.entry(factors.clone()).or_insert(0);
            *entry = times.max(*entry);
        }
        self
    }

    /// What `self / other` comes to when all sizes are large and alike.
    pub(super) fn ratio(&self, other: &Count) -> Ratio {
        match (self.growth(), other.growth()) {
            (_, (0.0, _)) => Ratio::None,
            ((_, i), (_, j)) if i > j => Ratio::Grows,
            ((_, i), (_, j)) if i < j => Ratio::Constant(0.0),
            ((a, _), (b, _)) => Ratio::Constant(a / b),
        }
    }

    fn growth(&self) -> (f64, u32) {
        let term = |(factors, times): (&Vec<Factor>, &u128)| {
            let each = factors.iter().map(Factor::growth);
            each.fold((*times as f64, 0), |(a, i), (b, j)| (a * b, i + j))
        };
        let add = |sum: (f64, u32), (a, i): (f64, u32)| match i.cmp(&sum.1) {
            std::cmp::Ordering::Less => sum,
            std::cmp::Ordering::Equal => (sum.0 + a, i),
            std::cmp::Ordering::Greater => (a, i),
        };
        self.terms.iter().map(term).fold((0.0, 0), add)
    }

    /// One size that is the same, pieces taken as whole.
    fn as_size(&self) -> Size {
        let small = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        let term = |(factors, times): (&Vec<Factor>, &u128)| {
            factors.iter().fold(Size::Const(small(*times)), |product, factor| match factor {
                Factor::Size(size) => product * size.clone(),
                Factor::Piece(_, length) => product * Size::Const(*length),
            })
        };
        self.terms.iter().map(term).reduce(|a, b| a + b).unwrap_or(Size::Const(0))
    }

    /// The terms, the fastest growing first, each as a count of its own: the product, and how often.
    pub(super) fn parts(&self) -> Vec<(Count, u128)> {
        let mut parts: Vec<(Count, u128)> = self.terms.iter().map(|(f, &n)| (one(f.clone()), n)).collect();
        parts.sort_by_key(|(product, _)| std::cmp::Reverse(product.growth().1));
        parts
    }

    /// The text, with variables spelled by `name`.
    pub fn display<'a>(&'a self, name: &'a dyn Fn(SizeVar) -> String) -> impl fmt::Display + 'a {
        Shown { count: self, name }
    }
}

fn one(factors: Vec<Factor>) -> Count {
    Count { terms: BTreeMap::from([(factors, 1)]) }
}

/// What a quotient of counts comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ratio {
    /// There is nothing to divide by.
    None,
    /// It comes close to a number.
    Constant(f64),
    /// It has no bound.
    Grows,
}

impl std::ops::Add for Count {
    type Output = Count;
    fn add(mut self, other: Count) -> Count {
        for (factors, times) in other.terms {
            self.put(factors, times);
        }
        if self.terms.len() > MOST_TERMS { Count::of(Factor::Size(self.as_size())) } else { self }
    }
}

impl std::ops::Mul for Count {
    type Output = Count;
    fn mul(self, other: Count) -> Count {
        if self.terms.len() * other.terms.len() > MOST_TERMS {
            return Count::of(Factor::Size(self.as_size() * other.as_size()));
        }
        let mut product = Count::default();
        for (left, &m) in &self.terms {
            for (right, &n) in &other.terms {
                let (factors, axes) = joined([&left[..], &right[..]].concat());
                let mut term = one(factors);
                term.terms.values_mut().for_each(|times| *times = m.saturating_mul(n));
                product = product + axes.iter().fold(term, |term, axis| term * Count::from(axis));
            }
        }
        product
    }
}

/// Sorts factors, and takes out each piece that meets the number of such pieces: together they are that axis.
fn joined(mut factors: Vec<Factor>) -> (Vec<Factor>, Vec<Size>) {
    let mut axes = vec![];
    let mut k = 0;
    while k < factors.len() {
        let Factor::Piece(axis, length) = &factors[k] else {
            k += 1;
            continue;
        };
        let pieces = Factor::Size(Size::CeilDiv(axis.clone().into(), *length));
        let Some(found) = factors.iter().position(|f| *f == pieces) else {
            k += 1;
            continue;
        };
        axes.push(axis.clone());
        factors.remove(k.max(found));
        factors.remove(k.min(found));
        k = 0;
    }
    factors.sort();
    (factors, axes)
}

struct Shown<'a> {
    count: &'a Count,
    name: &'a dyn Fn(SizeVar) -> String,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parts = self.count.parts();
        if parts.is_empty() {
            return f.write_str("0");
        }
        for (k, (product, times)) in parts.iter().enumerate() {
            if k > 0 {
                f.write_str(" + ")?;
            }
            let factors = product.terms.keys().next().map_or(&[][..], |factors| factors);
            if *times != 1 || factors.is_empty() {
                write!(f, "{}", grouped(*times))?;
            }
            let mut dot = *times != 1;
            for same in factors.chunk_by(|a, b| a == b) {
                if std::mem::replace(&mut dot, true) {
                    f.write_str("·")?;
                }
                self.factor(f, &same[0])?;
                if same.len() > 1 {
                    f.write_str(&raised(same.len()))?;
                }
            }
        }
        Ok(())
    }
}

impl Shown<'_> {
    fn factor(&self, f: &mut fmt::Formatter, factor: &Factor) -> fmt::Result {
        let name = self.name;
        match factor {
            Factor::Size(Size::CeilDiv(axis, n)) => {
                write!(f, "⌈{}/{}⌉", Count::from(&**axis).display(name), grouped((*n).into()))
            }
            Factor::Size(size) => write!(f, "{}", size.display(name)),
            Factor::Piece(axis, length) => {
                write!(f, "min({}, {})", grouped((*length).into()), Count::from(axis).display(name))
            }
        }
    }
}

/// A power in small raised digits.
fn raised(power: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    power.to_string().bytes().map(|b| DIGITS[(b - b'0') as usize]).collect()
}

/// `8,192`.
pub(super) fn grouped(n: u128) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(count: &Count) -> String {
        count.display(&|v| ["N", "M"][v.0 as usize].to_string()).to_string()
    }

    fn var(k: u32) -> Size {
        Size::Var(SizeVar(k))
    }

    #[test]
    fn sums_and_products() {
        let n = Count::from(&var(0));
        let m = Count::from(&var(1));
        assert_eq!(text(&Count::default()), "0");
        assert_eq!(
            text(&(n.clone() * m.clone() * Count::from(4) + n.clone() * n.clone() + Count::from(12345))),
            "N² + 4·N·M + 12,345"
        );
        assert_eq!((n.clone() * m).at(&|v| Some(v.0 as u64 + 3)), Some(12));
        assert_eq!(n.at(&|_| None), None);
    }

    #[test]
    fn pieces_make_the_axis() {
        let axis = var(0) * var(1);
        let pieces = Count::from(&Size::CeilDiv(axis.clone().into(), 8192));
        assert_eq!(text(&pieces), "⌈N·M/8,192⌉");
        assert_eq!(text(&(pieces.clone() * Count::piece(&axis, 8192) * Count::from(2))), "2·N·M");
        assert_eq!(text(&(pieces * Count::piece(&axis, 100))), "⌈N·M/8,192⌉·min(100, N·M)");
    }

    #[test]
    fn ratios() {
        let n = Count::from(&var(0));
        let square = n.clone() * n.clone();
        assert_eq!(square.ratio(&n), Ratio::Grows);
        assert_eq!(
            (n.clone() + n.clone()).ratio(&(n.clone() * Count::from(8) + Count::from(9))),
            Ratio::Constant(0.25)
        );
        assert_eq!(n.ratio(&square), Ratio::Constant(0.0));
        assert_eq!(n.ratio(&Count::default()), Ratio::None);
    }

    #[test]
    fn sums_stay_small() {
        let sum = (0..12).fold(Count::from(1), |all, k| all * (Count::from(&var(k)) + Count::from(1)));
        assert!(sum.terms.len() <= MOST_TERMS);
        assert_eq!(sum.at(&|_| Some(1)), Some(1 << 12));
    }
}
