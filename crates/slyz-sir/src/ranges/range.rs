//! Ranges of integers: everything between two numbers, what operators make of them, and what comparisons say.

use crate::ops::Operator;
use crate::types::{Ty, int_range};

/// Everything between two numbers, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub lo: i128,
    pub hi: i128,
}

impl Range {
    pub const FULL: Range = Range { lo: i64::MIN as i128, hi: i64::MAX as i128 };

    pub fn new(lo: i128, hi: i128) -> Range {
        Range { lo, hi }
    }

    pub fn of(ty: Ty) -> Range {
        let (lo, hi) = if ty == Ty::Bool { (0, 1) } else { int_range(ty) };
        Range { lo, hi }
    }

    pub fn within(self, outer: Range) -> bool {
        outer.lo <= self.lo && self.hi <= outer.hi
    }

    pub fn union(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// What is in both, if anything is.
    pub fn meet(self, other: Range) -> Option<Range> {
        let both = Range { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        (both.lo <= both.hi).then_some(both)
    }

    /// The narrowest type that holds it.
    pub fn ty(self) -> Ty {
        [Ty::U32, Ty::I32].into_iter().find(|&ty| self.within(Range::of(ty))).unwrap_or(Ty::I64)
    }

    /// The range itself, unless it is past 64 bits: the value has wrapped around then.
    pub fn or_full(self) -> Range {
        if self.within(Range::FULL) { self } else { Range::FULL }
    }

    /// The number, if it is only one.
    pub fn single(self) -> Option<i128> {
        (self.lo == self.hi).then_some(self.lo)
    }

    fn corners(self, other: Range, f: impl Fn(i128, i128) -> i128) -> Range {
        let at = [f(self.lo, other.lo), f(self.lo, other.hi), f(self.hi, other.lo), f(self.hi, other.hi)];
        Range { lo: at.into_iter().fold(at[0], i128::min), hi: at.into_iter().fold(at[0], i128::max) }
    }
}

/// Does an operator on `i64` give another result in 32 bits, although operands and result fit there? Bits are counted in the
/// whole width, and amounts of shifts modulo it.
pub(crate) fn counts_width(operator: Operator, args: &[Range]) -> bool {
    match operator {
        Operator::Shl | Operator::Shr => !args.get(1).is_some_and(|by| by.within(Range::new(0, 31))),
        other => other.sees_width(),
    }
}

/// The exact range of an operator's result, before it wraps around. `None` where nothing is known. Amounts of shifts are those of
/// `i64`.
pub(crate) fn exact(operator: Operator, args: &[Range]) -> Option<Range> {
    Some(match (operator, args) {
        (Operator::Add, [a, b]) => Range::new(a.lo + b.lo, a.hi + b.hi),
        (Operator::Sub, [a, b]) => Range::new(a.lo - b.hi, a.hi - b.lo),
        (Operator::Mul, [a, b]) => a.corners(*b, i128::saturating_mul),
        (Operator::Neg, [a]) => Range::new(-a.hi, -a.lo),
        (Operator::Fma, [a, b, c]) => {
            let product = a.corners(*b, i128::saturating_mul);
            Range::new(product.lo.saturating_add(c.lo), product.hi.saturating_add(c.hi))
        }
        (Operator::Min, [a, b]) => Range::new(a.lo.min(b.lo), a.hi.min(b.hi)),
        (Operator::Max, [a, b]) => Range::new(a.lo.max(b.lo), a.hi.max(b.hi)),
        (Operator::Clamp, [x, low, high]) => Range::new(x.lo.max(low.lo).min(high.lo), x.hi.max(low.hi).min(high.hi)),
        // By zero it is the dividend, by anything else it is no further from zero.
        (Operator::Div, [a, b]) if b.lo > 0 => a.corners(*b, |a, b| a / b),
        (Operator::Div, [a, b]) => {
            let most = a.lo.abs().max(a.hi.abs());
            Range::new(if a.lo < 0 || b.lo < 0 { -most } else { 0 }, most)
        }
        // Between two multiples of a number remainders only grow.
        (Operator::Rem, [a, b]) if a.lo >= 0 && b.lo > 0 && b.lo == b.hi && a.lo / b.lo == a.hi / b.lo => {
            Range::new(a.lo % b.lo, a.hi % b.lo)
        }
        // It has the sign of the dividend, and is smaller than the divisor.
        (Operator::Rem, [a, b]) => {
            let most = (b.lo.abs().max(b.hi.abs()) - 1).max(0);
            Range::new(a.lo.min(0).max(-most), a.hi.max(0).min(most))
        }
        (Operator::Select, [_, a, b]) => a.union(*b),
        (Operator::Abs, [a]) if a.lo >= 0 => *a,
        (Operator::Abs, [a]) => Range::new((-a.hi).max(0), a.hi.max(-a.lo)),
        (Operator::Sign, [a]) => Range::new(a.lo.signum(), a.hi.signum()),
        // Of truth values both ends are known.
        (Operator::And, [a, b]) if a.within(TRUTH) && b.within(TRUTH) => Range::new(a.lo * b.lo, a.hi * b.hi),
        // What is not negative has no sign bit to leave.
        (Operator::And, [a, b]) if a.lo >= 0 && b.lo >= 0 => Range::new(0, a.hi.min(b.hi)),
        (Operator::And, [a, b]) if a.lo >= 0 || b.lo >= 0 => Range::new(0, if a.lo >= 0 { a.hi } else { b.hi }),
        (Operator::Or, [a, b]) if a.lo >= 0 && b.lo >= 0 => Range::new(a.lo.max(b.lo), ones(a.hi.max(b.hi))),
        (Operator::Xor, [a, b]) if a.lo >= 0 && b.lo >= 0 => Range::new(0, ones(a.hi.max(b.hi))),
        (Operator::Shr, [a, b]) if b.within(Range::new(0, 63)) => a.corners(*b, |a, b| a >> b),
        (Operator::Shl, [a, b]) if b.within(Range::new(0, 63)) => a.corners(*b, |a, b| a << b),
        (counting, _) if counting.counts_bits() => Range::new(0, 64),
        _ => return None,
    })
}

/// Is a comparison decided? 0 is no, 1 is yes.
pub(crate) fn compared(operator: Operator, args: &[Range]) -> Range {
    let [a, b] = args else { return TRUTH };
    let below = a.hi < b.lo;
    let not_above = a.hi <= b.lo;
    let above = a.lo > b.hi;
    let not_below = a.lo >= b.hi;
    let same = a.lo == a.hi && a == b;
    let (yes, no) = match operator {
        Operator::Lt => (below, not_below),
        Operator::Le => (not_above, above),
        Operator::Gt => (above, not_above),
        Operator::Ge => (not_below, below),
        Operator::Eq => (same, below || above),
        Operator::Ne => (below || above, same),
        _ => (false, false),
    };
    Range::new(yes.into(), (!no).into())
}

/// Everything of a type; for a float, which nobody asks about, whatever.
pub(crate) fn of_type(ty: Ty) -> Range {
    if ty.is_float() { Range::FULL } else { Range::of(ty) }
}

/// No or yes.
const TRUTH: Range = Range { lo: 0, hi: 1 };

/// The largest number with as many bits.
fn ones(n: i128) -> i128 {
    (1 << (128 - n.leading_zeros())) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Scalar;

    /// Every operator on every pair of ranges between small numbers, against its meaning in the table.
    #[test]
    fn ranges_hold_what_operators_give() {
        use Operator::*;
        let ends = [-9, -4, -1, 0, 1, 2, 3, 7, 8];
        let ranges: Vec<Range> = ends
            .iter()
            .flat_map(|&lo| ends.iter().filter(move |&&hi| hi >= lo).map(move |&hi| Range::new(lo, hi)))
            .collect();
        let operators = [
            Add,
            Sub,
            Mul,
            Div,
            Rem,
            Min,
            Max,
            And,
            Or,
            Xor,
            Shl,
            Shr,
            Neg,
            Abs,
            Sign,
            Popcount,
            LeadingZeros,
            TrailingZeros,
        ];
        for operator in operators {
            let pairs = ranges.iter().flat_map(|a| ranges.iter().map(move |b| [*a, *b]));
            let pairs = pairs.map(|pair| pair[..operator.row().arity].to_vec());
            for args in pairs {
                let Some(range) = exact(operator, &args) else { continue };
                let mut values: Vec<Vec<i128>> = vec![vec![]];
                for arg in &args {
                    values = values
                        .into_iter()
                        .flat_map(|v| (arg.lo..=arg.hi).map(move |x| [&v[..], &[x]].concat()))
                        .collect();
                }
                for values in values {
                    let scalars: Vec<Scalar> = values.iter().map(|&v| Scalar::i64(v as i64)).collect();
                    let value = operator.eval(&scalars).unwrap().as_int();
                    assert!(
                        range.lo <= value && value <= range.hi,
                        "{operator:?} {values:?} = {value}, not in {range:?}"
                    );
                }
            }
        }
    }
}
