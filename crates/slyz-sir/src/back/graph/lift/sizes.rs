//! Extents: numbers where they are known, else what the shapes of the arguments tell.

use super::super::{GraphError, NodeId, Port};
use super::Lift;
use crate::ops::Operator;
use crate::raise::poly::{Poly, Term};
use crate::size::Size;

impl Lift<'_> {
    /// Finds for every size variable an axis that tells it.
    pub(super) fn learn_sizes(&mut self, inputs: &[Port]) {
        // Those that are alone first; sums and products are solved for what is left.
        for alone in [true, false] {
            for input in inputs {
                let shape = self.maker.shape(input.node).to_vec();
                for (axis, size) in shape.iter().enumerate() {
                    if matches!(size, Size::Var(_)) == alone && size.constant().is_none() {
                        let told = self.maker.dim(input.node, axis);
                        self.solve(size, told);
                    }
                }
            }
        }
    }

    fn solve(&mut self, size: &Size, told: NodeId) {
        match size {
            Size::Var(var) => drop(self.sizes.entry(*var).or_insert(told)),
            Size::Add(a, b) => self.solve_one(a, b, told, Operator::Sub),
            Size::Mul(a, b) => self.solve_one(a, b, told, Operator::Div),
            Size::Const(_) | Size::Min(..) | Size::CeilDiv(..) | Size::Tri(_) => {}
        }
    }

    fn solve_one(&mut self, a: &Size, b: &Size, told: NodeId, inverse: Operator) {
        let known = (self.extent(a), self.extent(b));
        let (known, unknown) = match known {
            (Ok(known), Err(_)) => (known, b),
            (Err(_), Ok(known)) => (known, a),
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => return,
        };
        let rest = self.maker.apply(inverse, &[told, known]);
        self.solve(unknown, rest);
    }

    /// The size as a number, where it is one.
    pub(super) fn known(&self, size: &Size) -> Size {
        size.constant().map_or_else(|| size.clone(), Size::Const)
    }

    /// The value of a size, an `i64`.
    pub(super) fn extent(&mut self, size: &Size) -> Result<NodeId, GraphError> {
        if let Some(number) = size.constant() {
            return Ok(self.maker.i64(number as i64));
        }
        let mut both = |a: &Size, b: &Size, operator: Operator| -> Result<NodeId, GraphError> {
            let operands = [self.extent(a)?, self.extent(b)?];
            Ok(self.maker.apply(operator, &operands))
        };
        match size {
            Size::Const(number) => Ok(self.maker.i64(*number as i64)),
            Size::Var(var) => self.sizes.get(var).copied().ok_or_else(|| GraphError::Untold {
                program: self.program.name.clone(),
                size: self.program.size_name(*var),
            }),
            Size::Add(a, b) => both(a, b, Operator::Add),
            Size::Mul(a, b) => both(a, b, Operator::Mul),
            Size::Min(a, b) => both(a, b, Operator::Min),
            Size::CeilDiv(a, n) => {
                let more = both(a, &Size::Const(n - 1), Operator::Add)?;
                let parts = self.maker.i64(*n as i64);
                Ok(self.maker.apply(Operator::Div, &[more, parts]))
            }
            Size::Tri(a) => {
                let next = Size::clone(a) + Size::Const(1);
                let square = both(a, &next, Operator::Mul)?;
                let two = self.maker.i64(2);
                Ok(self.maker.apply(Operator::Div, &[square, two]))
            }
        }
    }

    pub(super) fn extents_of(&mut self, shape: &[Size]) -> Result<Vec<NodeId>, GraphError> {
        shape.iter().map(|size| self.extent(size)).collect()
    }

    /// A size as a polynomial, where it is one.
    pub(super) fn poly(&self, size: &Size) -> Option<Poly> {
        if let Some(number) = size.constant() {
            return Some(Poly::number(number.into()));
        }
        match size {
            Size::Var(var) => Some(Poly::term(Term::Size(var.0))),
            Size::Add(a, b) => self.poly(a)?.plus(&self.poly(b)?, 1),
            Size::Mul(a, b) => self.poly(a)?.times(&self.poly(b)?),
            Size::Const(_) | Size::Min(..) | Size::CeilDiv(..) | Size::Tri(_) => None,
        }
    }

    /// Are they the same, whatever the sizes are?
    pub(super) fn is_same(&self, a: &Size, b: &Size) -> bool {
        a == b || self.poly(a).zip(self.poly(b)).is_some_and(|(a, b)| a == b)
    }

    /// Some size variable of these, for messages.
    pub(super) fn some_variable(&self, shape: &[Size]) -> String {
        fn first(size: &Size) -> Option<crate::size::SizeVar> {
            match size {
                Size::Const(_) => None,
                Size::Var(var) => Some(*var),
                Size::Add(a, b) | Size::Mul(a, b) | Size::Min(a, b) => first(a).or_else(|| first(b)),
                Size::CeilDiv(a, _) | Size::Tri(a) => first(a),
            }
        }
        shape.iter().find_map(first).map_or_else(|| "N".to_string(), |var| self.program.size_name(var))
    }
}
