//! Branches on where one stands, as parts one behind the other: `if i < n { x[i] } else { y[i - n] }` is `x` and then `y`.
//!
//! A condition that bounds positions of axes cuts each axis into what is before, inside and behind. Where it is known that the cuts are in
//! this order, whatever the extents are, each part is computed by itself, without a mask, and reads in it are slices. Concatenations and
//! padding are such branches.

use super::super::GraphError;
use super::Lift;
use super::value::{AxisId, Value, joined};
use crate::code::{Body, Id};
use crate::ops::Operator;
use crate::raise::poly::{Poly, Term};
use crate::size::{Size, SizeVar};

/// Positions of an axis from one place to before another; nothing where there is no bound.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    axis: AxisId,
    low: Option<Poly>,
    high: Option<Poly>,
}

/// An axis that is cut: where it starts to hold, where it ends, and how long the axis is.
#[derive(Clone)]
struct Cut {
    axis: AxisId,
    low: Poly,
    high: Poly,
    end: Poly,
}

/// Axes that are cut at once; each makes two parts more.
const MOST_CUTS: usize = 3;

/// The two sides of a branch.
#[derive(Clone, Copy)]
pub(super) struct Sides<'b> {
    pub(super) then: &'b Body,
    pub(super) otherwise: &'b Body,
}

impl Lift<'_> {
    /// What a comparison of positions, or several of them, say about axes.
    pub(super) fn note_bounds(&mut self, operator: Operator, args: &[Value], value: &Value) {
        let [a, b] = args else { return };
        let compared = |less: &Value, more: &Value, distance: i128| {
            let room = more.place.clone()?.plus(less.place.as_ref()?, -1)?.plus(&Poly::number(distance), -1)?;
            bound(&room)
        };
        let bounds = match operator {
            Operator::Lt => compared(a, b, 1).map(|bound| vec![bound]),
            Operator::Le => compared(a, b, 0).map(|bound| vec![bound]),
            Operator::Gt => compared(b, a, 1).map(|bound| vec![bound]),
            Operator::Ge => compared(b, a, 0).map(|bound| vec![bound]),
            Operator::And => {
                let both = self.bounds.get(&a.key()).zip(self.bounds.get(&b.key()));
                both.map(|(a, b)| [&a[..], b].concat())
            }
            _ => None,
        };
        if let Some(bounds) = bounds {
            self.bounds.insert(value.key(), bounds);
        }
    }

    /// The branch in parts, where its condition cuts axes.
    pub(super) fn split(
        &mut self,
        cond: &Value,
        args: &[Value],
        sides: Sides<'_>,
    ) -> Result<Option<Vec<Value>>, GraphError> {
        let Some(cuts) = self.bounds.get(&cond.key()).cloned().and_then(|bounds| self.cuts(&bounds)) else {
            return Ok(None);
        };
        // Both sides bind the same arguments.
        self.bind(&sides.then.params, args);
        self.bind(&sides.otherwise.params, args);
        self.parts(&cuts, sides).map(Some)
    }

    /// Bounds axis by axis, where they are in order whatever the extents are.
    fn cuts(&self, bounds: &[Bound]) -> Option<Vec<Cut>> {
        let mut cuts: Vec<Cut> = vec![];
        for bound in bounds {
            if !self.around.contains(&bound.axis) {
                return None;
            }
            let end = self.poly(&self.axes[bound.axis.0 as usize])?;
            let known = cuts.iter().position(|cut| cut.axis == bound.axis);
            let place = known.unwrap_or(cuts.len());
            if known.is_none() {
                cuts.push(Cut { axis: bound.axis, low: Poly::default(), high: end.clone(), end: end.clone() });
            }
            let cut = &mut cuts[place];
            if let Some(low) = &bound.low
                && !is_at_most(low, &cut.low)
            {
                // The higher of two, and nothing where nobody knows.
                cut.low = if is_at_most(&cut.low, low) { low.clone() } else { return None };
            }
            if let Some(high) = &bound.high
                && !is_at_most(&cut.high, high)
            {
                cut.high = if is_at_most(high, &cut.high) { high.clone() } else { return None };
            }
        }
        let ordered = |cut: &Cut| {
            is_at_most(&Poly::default(), &cut.low) && is_at_most(&cut.low, &cut.high) && is_at_most(&cut.high, &cut.end)
        };
        (cuts.len() <= MOST_CUTS && cuts.iter().all(ordered)).then_some(cuts)
    }

    fn parts(&mut self, cuts: &[Cut], sides: Sides<'_>) -> Result<Vec<Value>, GraphError> {
        let Some((cut, rest)) = cuts.split_first() else { return self.body(sides.then) };
        let zero = Poly::default();
        let ranges = [(&zero, &cut.low, false), (&cut.low, &cut.high, true), (&cut.high, &cut.end, false)];
        let mut parts: Vec<(Size, Vec<Value>)> = vec![];
        for (from, to, inside) in ranges {
            let length = to.clone().plus(from, -1).unwrap_or_default();
            if length.as_number() == Some(0) {
                continue;
            }
            let length = size(&length);
            let part = AxisId(self.axes.len() as u32);
            self.axes.push(length.clone());
            let kept = self.cut(cut.axis, part, from, sides)?;
            let around = self.around.clone();
            self.around.iter_mut().filter(|axis| **axis == cut.axis).for_each(|axis| *axis = part);
            let values = if inside { self.parts(rest, sides)? } else { self.body(sides.otherwise)? };
            self.around = around;
            self.values.extend(kept);
            parts.push((length, values.iter().map(|value| self.renamed(value, part, cut.axis)).collect()));
        }
        self.one_behind_the_other(cut.axis, &parts)
    }

    /// Binds what both sides use of an axis to a part of it; what was bound before.
    fn cut(
        &mut self,
        axis: AxisId,
        part: AxisId,
        from: &Poly,
        sides: Sides<'_>,
    ) -> Result<Vec<(Id, Value)>, GraphError> {
        let mut used = vec![];
        for body in [sides.then, sides.otherwise] {
            used.extend(body.params.iter().map(|param| param.id));
            body.each_free(&mut |id| used.push(id));
        }
        used.sort_unstable();
        used.dedup();
        let held = used.into_iter().filter_map(|id| Some((id, self.values.get(&id)?.clone())));
        let kept: Vec<(Id, Value)> = held.filter(|(_, value)| value.axes.contains(&axis)).collect();
        for (id, value) in &kept {
            let place = value.axes.iter().position(|own| *own == axis).unwrap_or_default();
            let extent = self.axes[part.0 as usize].clone();
            let start = self.number(from)?;
            let length = self.extent(&extent)?;
            let end = self.maker.apply(Operator::Add, &[start, length]);
            let node = self.maker.slice(value.node, place, start, end, extent);
            let moved = Poly::term(Term::Atom(part.0)).plus(from, 1);
            let position = value.place.as_ref().zip(moved);
            let position = position.and_then(|(position, moved)| position.replaced(Term::Atom(axis.0), 1, &moved));
            let sliced = Value { node, place: position, ..value.clone() };
            let value = self.renamed(&sliced, axis, part);
            self.values.insert(*id, value);
        }
        Ok(kept)
    }

    /// A value with another name for an axis, which may put its axes into another order.
    fn renamed(&mut self, value: &Value, from: AxisId, to: AxisId) -> Value {
        let axes: Vec<AxisId> = value.axes.iter().map(|&axis| if axis == from { to } else { axis }).collect();
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        let mut order: Vec<usize> = sorted.iter().filter_map(|axis| axes.iter().position(|own| own == axis)).collect();
        order.extend(axes.len()..axes.len() + value.rank);
        Value { node: self.maker.transpose(value.node, order), axes: sorted, ..value.clone() }
    }

    /// The parts of an axis as the whole.
    fn one_behind_the_other(&mut self, axis: AxisId, parts: &[(Size, Vec<Value>)]) -> Result<Vec<Value>, GraphError> {
        let Some((_, first)) = parts.first() else { return Ok(vec![]) };
        let whole = self.axes[axis.0 as usize].clone();
        let mut results = vec![];
        for number in 0..first.len() {
            let mut axes = joined(parts.iter().map(|(_, values)| &values[number]));
            axes.push(axis);
            axes.sort_unstable();
            axes.dedup();
            let mut nodes = vec![];
            for (length, values) in parts {
                // As long as the part is.
                self.axes[axis.0 as usize] = length.clone();
                nodes.push(self.spread(&values[number], &axes)?);
            }
            self.axes[axis.0 as usize] = whole.clone();
            let place = axes.iter().position(|own| *own == axis).unwrap_or_default();
            let rank = first[number].rank;
            let node = if nodes.len() == 1 { nodes[0] } else { self.maker.concat_to(nodes, place, whole.clone()) };
            results.push(Value { node, axes, rank, place: None });
        }
        Ok(results)
    }
}

/// What it says about an axis that this is not negative.
fn bound(room: &Poly) -> Option<Bound> {
    let mut atoms = room.terms().filter_map(|term| match term {
        Term::Atom(axis) => Some(axis),
        Term::Size(_) => None,
    });
    let axis = atoms.next()?;
    let (factor, rest) = room.over(Term::Atom(axis));
    if !rest.is_uniform() {
        return None;
    }
    let bound = Bound { axis: AxisId(axis), low: None, high: None };
    match factor.as_number()? {
        // The position is at least what is missing.
        1 => Some(Bound { low: Poly::default().plus(&rest, -1), ..bound }),
        // The position is at most the rest.
        -1 => Some(Bound { high: rest.plus(&Poly::number(1), 1), ..bound }),
        _ => None,
    }
}

/// Is the first no larger than the second, whatever the sizes are?
fn is_at_most(first: &Poly, second: &Poly) -> bool {
    let room = second.clone().plus(first, -1);
    room.is_some_and(|room| room.products().all(|(_, by)| by >= 0))
}

/// A sum of sizes as a size.
fn size(sum: &Poly) -> Size {
    let product = |(terms, by): (&[Term], i128)| {
        let sizes = terms.iter().map(|term| match term {
            Term::Size(var) => Size::Var(SizeVar(*var)),
            Term::Atom(_) => Size::Const(1),
        });
        sizes.fold(Size::Const(u64::try_from(by).unwrap_or(0)), |all, size| all * size)
    };
    sum.products().map(product).reduce(|all, size| all + size).unwrap_or(Size::Const(0))
}
