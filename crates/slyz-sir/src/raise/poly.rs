//! Positions as polynomials: sums of products of sizes, threads and counters.
//!
//! `row * K + k` and `(16 * tile + k) * N + column` are what kernels compute by hand to find an element. As polynomials equal positions are equal
//! values, whatever way they were computed, and a flat position can be taken apart into those of rows and columns.

use std::collections::BTreeMap;

/// What is multiplied: something that is the same in all threads, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Term {
    /// A size variable of the program.
    Size(u32),
    /// A thread, or the counter of a loop.
    Atom(u32),
}

/// A sum of products of terms, each with a number in front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Poly(BTreeMap<Vec<Term>, i128>);

impl Poly {
    pub(crate) fn number(number: i128) -> Poly {
        Poly::default().plus_product(vec![], number).unwrap_or_default()
    }

    pub(crate) fn term(term: Term) -> Poly {
        Poly(BTreeMap::from([(vec![term], 1)]))
    }

    fn plus_product(mut self, product: Vec<Term>, times: i128) -> Option<Poly> {
        let sum = self.0.get(&product).copied().unwrap_or(0).checked_add(times)?;
        if sum == 0 {
            self.0.remove(&product);
        } else {
            self.0.insert(product, sum);
        }
        Some(self)
    }

    /// The sum with another, `times` times; nothing where numbers get too large to think about.
    pub(crate) fn plus(self, other: &Poly, times: i128) -> Option<Poly> {
        other.0.iter().try_fold(self, |sum, (product, by)| sum.plus_product(product.clone(), by.checked_mul(times)?))
    }

    pub(crate) fn times(&self, other: &Poly) -> Option<Poly> {
        let mut all = Poly::default();
        for (left, by) in &self.0 {
            for (right, more) in &other.0 {
                let mut product = [&left[..], right].concat();
                product.sort_unstable();
                all = all.plus_product(product, by.checked_mul(*more)?)?;
            }
        }
        Some(all)
    }

    /// Its products, each with the number in front, the plain number last.
    pub(crate) fn products(&self) -> impl Iterator<Item = (&[Term], i128)> {
        let plain = self.0.get(&vec![]).map(|&number| (&[][..], number));
        self.0.iter().filter(|(product, _)| !product.is_empty()).map(|(product, &by)| (&product[..], by)).chain(plain)
    }

    /// The number that it is.
    pub(crate) fn as_number(&self) -> Option<i128> {
        match self.0.iter().next() {
            None => Some(0),
            Some((product, &number)) if product.is_empty() && self.0.len() == 1 => Some(number),
            Some(_) => None,
        }
    }

    /// The term, and the number behind it, where it is such a sum.
    pub(crate) fn as_shifted(&self) -> Option<(Term, i128)> {
        let mut products = self.0.iter().filter(|(product, _)| !product.is_empty());
        let (product, &by) = products.next()?;
        let alone = products.next().is_none() && by == 1;
        match product[..] {
            [term] if alone => Some((term, self.0.get(&vec![]).copied().unwrap_or(0))),
            _ => None,
        }
    }

    /// The terms in it.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term> {
        self.0.keys().flatten().copied()
    }

    /// Is it the same in all threads and turns?
    pub(crate) fn is_uniform(&self) -> bool {
        self.terms().all(|term| matches!(term, Term::Size(_)))
    }

    /// The quotient and the rest where a term is divided by, once: `row * K + k` over `K` is `row` and `k`.
    pub(crate) fn over(&self, divisor: Term) -> (Poly, Poly) {
        let mut quotient = Poly::default();
        let mut rest = Poly::default();
        for (product, &by) in &self.0 {
            let mut product = product.clone();
            match product.iter().position(|&term| term == divisor) {
                Some(place) => {
                    product.remove(place);
                    quotient.0.insert(product, by);
                }
                None => {
                    rest.0.insert(product, by);
                }
            }
        }
        (quotient, rest)
    }

    /// The same over a number: all products that it divides make the quotient.
    pub(crate) fn over_number(&self, divisor: i128) -> (Poly, Poly) {
        let mut quotient = Poly::default();
        let mut rest = Poly::default();
        for (product, &by) in &self.0 {
            if !product.is_empty() && by % divisor == 0 {
                quotient.0.insert(product.clone(), by / divisor);
            } else {
                rest.0.insert(product.clone(), by);
            }
        }
        (quotient, rest)
    }

    /// With a sum in place of so many of a term; nothing where they come in other numbers.
    pub(crate) fn replaced(&self, term: Term, many: i128, by: &Poly) -> Option<Poly> {
        let (found, rest) = self.over(term);
        let (whole, other) = found.over_number(many);
        let numbers = other.as_number()?;
        let whole = if numbers % many == 0 { whole.plus(&Poly::number(numbers / many), 1)? } else { return None };
        rest.plus(&whole.times(by)?, 1)
    }

    /// The least and the most that it can be, by those of its terms; nothing where one is not known.
    pub(crate) fn range(&self, of: &dyn Fn(Term) -> Option<(i128, i128)>) -> Option<(i128, i128)> {
        let mut low = 0i128;
        let mut high = 0i128;
        for (product, &by) in &self.0 {
            let mut ends = (by, by);
            for &term in product {
                let (from, to) = of(term)?;
                let mut corners = [0; 4];
                for (corner, (a, b)) in
                    corners.iter_mut().zip([(ends.0, from), (ends.0, to), (ends.1, from), (ends.1, to)])
                {
                    *corner = a.checked_mul(b)?;
                }
                ends = (corners.into_iter().min()?, corners.into_iter().max()?);
            }
            low = low.checked_add(ends.0)?;
            high = high.checked_add(ends.1)?;
        }
        Some((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_taken_apart() {
        let [k, row, column] = [Term::Size(0), Term::Atom(0), Term::Atom(1)];
        let flat = Poly::term(row).times(&Poly::term(k)).and_then(|rows| rows.plus(&Poly::term(column), 1)).unwrap();
        assert_eq!(flat.over(k), (Poly::term(row), Poly::term(column)));
        let range = flat.range(&|term| Some(if term == k { (10, 10) } else { (0, 9) }));
        assert_eq!(range, Some((0, 99)));
        // The index of a block, 16 at a time, and of the thread in it.
        let block =
            Poly::default().plus(&Poly::term(row), 16).and_then(|all| all.plus(&Poly::term(column), 1)).unwrap();
        let thread = Poly::term(Term::Atom(2));
        let instead = thread.clone().plus(&Poly::term(column), -1).unwrap();
        assert_eq!(block.replaced(row, 16, &instead), Some(thread));
        assert_eq!(block.replaced(row, 32, &instead), None);
    }
}
