//! Sizes of the program, and what is known of them.

use super::Unraised;
use super::lift::{Lift, SizeOf};
use super::poly::{Poly, Term};
use crate::size::{Size, SizeVar};

impl<'k> Lift<'k> {
    /// Is it so, as far as numbers are known? A launch that nobody knows fits.
    pub(super) fn holds(&self, known: Option<bool>) -> bool {
        known.unwrap_or(self.numbers.is_none())
    }

    pub(super) fn new_size(&mut self, name: &str, value: Option<i128>, quotient: Option<(u32, i128)>) -> Poly {
        let known = self.size_names.get(name).copied();
        let place = known.unwrap_or_else(|| {
            let place = self.sizes.len() as u32;
            self.sizes.push(SizeOf { name: name.to_string(), value, quotient });
            self.size_names.insert(name.to_string(), place);
            place
        });
        Poly::term(Term::Size(place))
    }

    /// A size of the kernel.
    pub(super) fn size_of(&mut self, size: &Size) -> Result<Poly, Unraised> {
        let large = || Unraised::Large;
        match size {
            Size::Const(n) => Ok(Poly::number((*n).into())),
            Size::Var(var) => {
                let name = self.kernel.size_name(*var);
                let value = self.numbers.and_then(|numbers| numbers.sizes.get(var.0 as usize).copied());
                Ok(self.new_size(&name, value.map(i128::from), None))
            }
            Size::Add(a, b) => self.size_of(a)?.plus(&self.size_of(b)?, 1).ok_or_else(large),
            Size::Mul(a, b) => self.size_of(a)?.times(&self.size_of(b)?).ok_or_else(large),
            Size::Min(..) | Size::CeilDiv(..) | Size::Tri(_) => Err(Unraised::Large),
        }
    }

    /// A number of the launch, which is an axis or the distance between rows; nothing where it is negative.
    pub(super) fn scalar_size(&mut self, param: usize) -> Option<Poly> {
        self.counted.insert(param);
        let value = self.numbers.and_then(|numbers| numbers.scalars.get(param)).map(|scalar| scalar.as_int());
        if value.is_some_and(|value| value < 0) || self.numbers.is_some() && value.is_none() {
            return None;
        }
        let id = self.kernel.body.params.get(param)?.id;
        let name = self.kernel.names.get(id).map_or_else(|| format!("number_{param}"), str::to_string);
        let name = if self.kernel.sizes.iter().any(|size| size.name == name) { format!("{name}_given") } else { name };
        Some(self.new_size(&name, value, None))
    }

    /// A polynomial of sizes as a size; one with negative numbers in front is a variable of its own.
    pub(super) fn as_size(&mut self, poly: &Poly) -> Option<Size> {
        if !poly.is_uniform() {
            return None;
        }
        let mut sum: Option<Size> = None;
        for (product, by) in poly.products() {
            let Ok(by) = u64::try_from(by) else { return self.as_variable(poly) };
            let sizes = product.iter().filter_map(|term| match term {
                Term::Size(var) => Some(Size::Var(SizeVar(*var))),
                Term::Atom(_) => None,
            });
            let sizes: Vec<Size> = sizes.collect();
            let sized = if sizes.is_empty() { Size::Const(by) } else { Size::product(&sizes) };
            let sized = if by == 1 || product.is_empty() { sized } else { sized * Size::Const(by) };
            sum = Some(match sum {
                Some(before) => before + sized,
                None => sized,
            });
        }
        Some(sum.unwrap_or(Size::Const(0)))
    }

    pub(super) fn as_variable(&mut self, poly: &Poly) -> Option<Size> {
        let value = self.value_of(poly);
        if value.is_some_and(|value| value < 0) {
            return None;
        }
        let name = format!("count_{}", self.sizes.len());
        match self.new_size(&name, value, None).as_shifted()? {
            (Term::Size(var), 0) => Some(Size::Var(SizeVar(var))),
            _ => None,
        }
    }

    /// A new size of that value.
    pub(super) fn fresh_size(&mut self, stem: &str, value: Option<i128>) -> Size {
        let name = format!("{stem}_{}", self.sizes.len());
        match self.new_size(&name, value, None).as_shifted() {
            Some((Term::Size(var), _)) => Size::Var(SizeVar(var)),
            _ => Size::Const(0),
        }
    }

    pub(super) fn size_value(&self, size: &Size) -> Option<i128> {
        let value = |SizeVar(var): SizeVar| {
            let known = self.sizes.get(var as usize)?.value?;
            u64::try_from(known).ok()
        };
        size.eval(&value).ok().map(i128::from)
    }

    /// The size that this one is a quotient of, and by what.
    pub(super) fn dividend(&self, size: &Size) -> Option<(Size, i128)> {
        let Size::Var(SizeVar(var)) = size else { return None };
        let (of, by) = self.sizes.get(*var as usize)?.quotient?;
        Some((Size::Var(SizeVar(of)), by))
    }

    /// The number that a polynomial of sizes is.
    pub(super) fn value_of(&self, poly: &Poly) -> Option<i128> {
        self.range(poly).filter(|(low, high)| low == high).map(|(low, _)| low)
    }

    /// The least and the most that a position can be.
    pub(super) fn range(&self, poly: &Poly) -> Option<(i128, i128)> {
        poly.range(&|term| match term {
            Term::Size(var) => self.sizes.get(var as usize)?.value.map(|value| (value, value)),
            Term::Atom(atom) => self.atoms.get(atom as usize)?.range,
        })
    }
}
