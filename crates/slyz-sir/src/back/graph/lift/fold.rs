//! Folds and scans: reductions of axes where the monoid is an operator, else trees of the monoid itself.

use super::super::{GraphError, Reduction};
use super::Lift;
use super::plain_operators;
use super::value::{AxisId, Value};
use crate::code::{Body, Monoid, Op};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};

impl Lift<'_> {
    pub(super) fn fold(&mut self, shape: &[Size], body: &Body, monoid: &Monoid) -> Result<Vec<Value>, GraphError> {
        let axes = self.enter(shape, &body.params)?;
        let values = self.body(body)?;
        self.leave(&axes);
        if let Some(reductions) = self.reductions(monoid) {
            let parts = values.iter().zip(reductions);
            return parts.map(|(value, by)| self.reduced(value, by, &axes)).collect();
        }
        if let Some(largest) = best(&monoid.combine)
            && values.len() == 2
        {
            return self.best(&values, largest, &axes);
        }
        self.tree(&values, monoid, &axes)
    }

    /// The reductions of a monoid, part by part.
    fn reductions(&self, monoid: &Monoid) -> Option<Vec<Reduction>> {
        let operators = plain_operators(&monoid.combine)?;
        let parts = operators.iter().zip(&monoid.combine.params);
        parts.map(|(operator, param)| Reduction::of(*operator, param.ty.elem())).collect()
    }

    fn reduced(&mut self, value: &Value, by: Reduction, axes: &[AxisId]) -> Result<Value, GraphError> {
        if by == Reduction::Sum
            && self.maker.ty(value.node).is_float()
            && let Some((a, b)) = self.products.get(&value.key()).cloned()
        {
            for (read, weight) in [(&a, &b), (&b, &a)] {
                if let Some(sums) = self.convolution(read, weight, axes)? {
                    return Ok(sums);
                }
            }
            if let Some(product) = self.matrices(&a, &b, axes)? {
                return Ok(product);
            }
        }
        let whole = self.gathered(value, axes)?;
        let first = whole.axes.len();
        let node = self.maker.reduce(by, whole.node, (first..first + axes.len()).collect());
        Ok(Value { node, axes: whole.axes, rank: 0, place: None })
    }

    /// The best value and the least number that comes with it.
    fn best(&mut self, values: &[Value], largest: bool, axes: &[AxisId]) -> Result<Vec<Value>, GraphError> {
        let by = if largest { Reduction::Max } else { Reduction::Min };
        let best = self.reduced(&values[0], by, axes)?;
        let meets = self.operator(Operator::Eq, &[values[0].clone(), best.clone()])?;
        // A power of two, which those that compute integers as floats keep.
        let none = self.maker.i64(1 << 30);
        let none = Value::own(none, 0);
        let number = self.select(&meets, &values[1], &none)?;
        let first = self.reduced(&number, Reduction::Min, axes)?;
        Ok(vec![best, first])
    }

    pub(super) fn scan(&mut self, shape: &[Size], body: &Body, monoid: &Monoid) -> Result<Vec<Value>, GraphError> {
        let axes = self.enter(shape, &body.params)?;
        let values = self.body(body)?;
        self.leave(&axes);
        let sums = plain_operators(&monoid.combine)
            .is_some_and(|operators| operators.iter().all(|&operator| operator == Operator::Add));
        if !sums {
            return self.prefixes(&values, monoid, &axes);
        }
        let mut results = vec![];
        for value in &values {
            let whole = self.gathered(value, &axes)?;
            let last = whole.axes.len() + axes.len() - 1;
            let node = self.maker.prefixes(whole.node, last);
            results.push(Value { node, ..whole });
        }
        Ok(results)
    }
}

/// Does it keep the best of `(value, number)`, and of equal values the one with the smaller number? Whether the largest is best.
///
/// All it may do is compare, so that what it gives depends on nothing but the order of its operands, of which there are few.
fn best(combine: &Body) -> Option<bool> {
    let [a, i, b, j] = &combine.params[..] else { return None };
    let ty = a.ty.elem();
    if ty == Ty::Bool || b.ty.elem() != ty || i.ty.elem() != Ty::I64 || j.ty.elem() != Ty::I64 {
        return None;
    }
    let keeps = |largest: bool| {
        let orders = [(1, 2), (2, 1), (1, 1)];
        orders.iter().all(|&(x, y)| {
            [(1, 2), (2, 1)].iter().all(|&(m, n)| {
                let wins = if x == y { m < n } else { (x > y) == largest };
                let left = [Scalar::from_int(ty, x), Scalar::i64(m)];
                let right = [Scalar::from_int(ty, y), Scalar::i64(n)];
                let expected = if wins { left } else { right };
                compared(combine, [left, right].concat()).is_some_and(|found| found == expected)
            })
        })
    };
    [true, false].into_iter().find(|&largest| keeps(largest))
}

/// What a body that does nothing but compare gives.
fn compared(body: &Body, args: Vec<Scalar>) -> Option<Vec<Scalar>> {
    use Operator as O;
    let names = body.params.iter().map(|param| param.id);
    let mut values: std::collections::HashMap<_, _> = names.zip(args).collect();
    for stmt in &body.stmts {
        let value = match &stmt.op {
            Op::Apply(operator, operands) => {
                let order = matches!(operator, O::Lt | O::Le | O::Gt | O::Ge | O::Eq | O::Ne | O::IsNan);
                let logic = matches!(operator, O::And | O::Or | O::Not | O::Xor | O::Select);
                let operands: Option<Vec<Scalar>> = operands.iter().map(|id| values.get(id).copied()).collect();
                operator.eval(&operands.filter(|_| order || logic)?)?
            }
            Op::Const(scalar) if scalar.ty == Ty::Bool => *scalar,
            _ => return None,
        };
        values.insert(stmt.binds[0].id, value);
    }
    body.results.iter().map(|id| values.get(id).copied()).collect()
}
