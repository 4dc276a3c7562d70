//! What all ways to sort share: which columns of elements are moved, and by which digits of their keys.
//!
//! A sort by digits goes from the least significant one to the most significant, and keeps the order of elements whose digits are equal.

use super::writer::KernelWriter;
use crate::code::{Body, Id, Op, Type};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::Write as _;

/// A sort of a program.
#[derive(Clone, Copy)]
pub(super) struct Sort<'g> {
    pub(super) shape: &'g [Size],
    pub(super) widths: &'g [u32],
    pub(super) body: &'g Body,
}

impl<'g> Sort<'g> {
    pub(super) fn of(op: &'g Op) -> Sort<'g> {
        let Op::Sort { shape, widths, body } = op else { unreachable!("asked for a sort") };
        Sort { shape, widths, body }
    }

    /// The axis it goes along.
    pub(super) fn extent(&self) -> &'g Size {
        self.shape.last().expect("a sort has an axis")
    }
}

/// Some bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digit {
    pub(super) word: usize,
    pub(super) shift: u32,
    pub(super) bits: u32,
}

impl Digit {
    /// How many values it has.
    pub(super) fn values(self) -> u64 {
        1 << self.bits
    }
}

/// All digits of a key, of at most so many bits each, the least significant first. The digits of a word have as many; the last of them may
/// reach past the bits that count.
pub(super) fn digits(widths: &[u32], most: u32) -> Vec<Digit> {
    let mut digits = vec![];
    for (word, &width) in widths.iter().enumerate().rev() {
        // A word of which nothing counts has none.
        let count = width.div_ceil(most);
        let bits = width.div_ceil(count.max(1));
        let of = |k: u32| Digit { word, shift: k * bits, bits };
        digits.extend((0..count).map(of));
    }
    digits
}

/// What is moved: the values, and behind them the words that no value is equal to.
#[derive(Clone)]
pub(super) struct Columns {
    /// Which result of the body each of them is.
    results: Vec<usize>,
    pub(super) tys: Vec<Ty>,
    values: usize,
    of_word: Vec<usize>,
}

impl Columns {
    pub(super) fn of(sort: &Sort, type_of: impl Fn(Id) -> Type) -> Columns {
        let all = &sort.body.results;
        let (words, values) = all.split_at(sort.widths.len());
        let mut results: Vec<usize> = (words.len()..all.len()).collect();
        let mut of_word = vec![];
        for (number, word) in words.iter().enumerate() {
            let column = results.iter().position(|&result| all[result] == *word);
            of_word.push(column.unwrap_or(results.len()));
            if column.is_none() {
                results.push(number);
            }
        }
        let tys = results.iter().map(|&result| type_of(all[result]).elem()).collect();
        Columns { results, tys, values: values.len(), of_word }
    }

    /// Places with the words of their elements behind them.
    pub(super) fn of_places(words: usize) -> Columns {
        let mut tys = vec![Ty::I64];
        tys.resize(1 + words, Ty::U32);
        Columns { results: (0..=words).collect(), tys, values: 1, of_word: (1..=words).collect() }
    }

    pub(super) fn count(&self) -> usize {
        self.results.len()
    }

    /// How many of them, the first ones, are values.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// The column of a word.
    pub(super) fn of_word(&self, word: usize) -> usize {
        self.of_word[word]
    }

    /// Must a column be moved by the pass that comes before these? Words that no later pass looks at are left behind.
    pub(super) fn is_wanted(&self, column: usize, later: &[Digit]) -> bool {
        column < self.values || later.iter().any(|digit| self.of_word[digit.word] == column)
    }

    /// Those of all results of the body.
    pub(super) fn pick(&self, results: &[Id]) -> Vec<Id> {
        self.results.iter().map(|&result| results[result]).collect()
    }
}

impl KernelWriter<'_, '_> {
    /// The low bits of a word behind a shift, as a position.
    pub(super) fn digit(&mut self, word: Id, shift: Id, bits: u32) -> Id {
        let shifted = self.apply(Operator::Shr, &[word, shift], Ty::U32);
        let low = self.low_bits(shifted, bits);
        self.push(Op::Cast(Ty::I64, low), Ty::I64)
    }

    /// The low bits of a word.
    pub(super) fn low_bits(&mut self, word: Id, bits: u32) -> Id {
        if bits >= 32 {
            return word;
        }
        let mask = self.constant(Scalar::from_int(Ty::U32, (1 << bits) - 1));
        self.apply(Operator::And, &[word, mask], Ty::U32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_cover_all_bits_once() {
        for widths in [vec![32], vec![1], vec![0], vec![11, 12], vec![0, 32], vec![32, 32, 7]] {
            for most in [4, 8, 11] {
                let mut seen: Vec<u64> = vec![0; widths.len()];
                for digit in digits(&widths, most) {
                    assert!((1..=most).contains(&digit.bits));
                    seen[digit.word] += (digit.values() - 1) << digit.shift;
                }
                let all: Vec<u64> = widths.iter().map(|&width| (1 << width) - 1).collect();
                let counting: Vec<u64> = seen.iter().zip(&all).map(|(seen, all)| seen & all).collect();
                assert_eq!(counting, all, "{widths:?} by {most}");
            }
        }
    }
}
