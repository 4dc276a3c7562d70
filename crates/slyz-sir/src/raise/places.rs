//! Positions: what operations make of them, and how they are written.

use super::lift::{BLOCK, LOCAL, Lift, SizeOf, THREAD, Value};
use super::poly::{Poly, Term};
use super::{Unraised, does};
use crate::code::{Id, Op, Place, Stmt};
use crate::ops::Operator;
use crate::size::{Size, SizeVar};
use crate::types::Ty;

impl<'k> Lift<'k> {
    /// With the index of the thread in the grid wherever that of its block and its place in it make it.
    pub(super) fn normal(&self, poly: &Poly) -> Poly {
        let mut poly = poly.clone();
        for axis in 0..3u32 {
            let block = i128::from(self.kernel.block[axis as usize].max(1));
            let local = Poly::term(Term::Atom(LOCAL + axis));
            let Some(start) = Poly::term(Term::Atom(THREAD + axis)).plus(&local, -1) else { continue };
            if let Some(instead) = poly.replaced(Term::Atom(BLOCK + axis), block, &start) {
                poly = instead;
            }
        }
        poly
    }

    pub(super) fn place(&mut self, place: Place, axis: u8) -> Result<Poly, Unraised> {
        let d = usize::from(axis).min(2);
        let block = i128::from(self.kernel.block[d].max(1));
        let term = |first: u32| Poly::term(Term::Atom(first + d as u32));
        let local =
            || self.elsewhere[d].clone().unwrap_or_else(|| if block == 1 { Poly::number(0) } else { term(LOCAL) });
        let number = || if block == 1 { term(THREAD) } else { term(BLOCK) };
        let whole = || number().times(&Poly::number(block))?.plus(&local(), 1);
        match place {
            Place::Global if self.elsewhere[d].is_none() => Ok(term(THREAD)),
            Place::Global => whole().ok_or(Unraised::Large),
            Place::Local => Ok(local()),
            Place::Block => Ok(number()),
            Place::BlockDim => Ok(Poly::number(block)),
            Place::GridDim => self.size_of(&Size::Var(SizeVar(d as u32))),
            Place::Lane | Place::SubgroupSize => does("its threads know their subgroup"),
        }
    }

    /// The position that an operation makes of positions; nothing where it is no polynomial.
    pub(super) fn position(
        &mut self,
        op: &Op,
        of: &mut dyn FnMut(&mut Self, Id) -> Option<Value>,
    ) -> Result<Option<Poly>, Unraised> {
        let made = match op {
            Op::Const(value) if value.ty == Ty::I64 => Some(Poly::number(value.as_int())),
            Op::Extent(size) => Some(self.size_of(size)?),
            Op::Place(place, axis) => Some(self.place(*place, *axis)?),
            Op::Cast(Ty::I64, arg) => match self.kernel.body.params.iter().position(|param| param.id == *arg) {
                Some(param) if self.kernel.body.params[param].ty.elem().is_int() => self.scalar_size(param),
                _ => match of(self, *arg) {
                    Some(Value::Poly(poly)) => Some(poly),
                    _ => None,
                },
            },
            Op::Apply(operator, args) => {
                let mut polys = vec![];
                for &arg in args {
                    match of(self, arg) {
                        Some(Value::Poly(poly)) => polys.push(poly),
                        _ => return Ok(None),
                    }
                }
                self.applied(*operator, &polys)
            }
            _ => None,
        };
        // A position that wraps around is another one.
        let fits = |poly: &Poly| {
            let known = self.range(poly).map(|(low, high)| low >= i64::MIN.into() && high <= i64::MAX.into());
            self.holds(known)
        };
        Ok(made.filter(fits))
    }

    pub(super) fn applied(&mut self, operator: Operator, polys: &[Poly]) -> Option<Poly> {
        match (operator, polys) {
            (Operator::Add, [a, b]) => a.clone().plus(b, 1),
            (Operator::Sub, [a, b]) => a.clone().plus(b, -1),
            (Operator::Mul, [a, b]) => a.times(b),
            (Operator::Neg, [a]) => Poly::default().plus(a, -1),
            (Operator::Fma, [a, b, c]) => a.times(b)?.plus(c, 1),
            (Operator::Max, [a, b]) => self.larger(a, b),
            (Operator::Min, [a, b]) => self.larger(a, b).map(|larger| if larger == *a { b.clone() } else { a.clone() }),
            (Operator::Div, [a, b]) => {
                let (Term::Size(var), 0) = a.as_shifted()? else { return None };
                let by = b.as_number().filter(|&by| by > 0)?;
                let SizeOf { name, value, .. } = self.sizes.get(var as usize)?.clone();
                Some(self.new_size(&format!("{name}_over_{by}"), value.map(|value| value / by), Some((var, by))))
            }
            _ => None,
        }
    }

    /// The larger of two, where it always is the same one. Sizes that nobody knows are not zero.
    pub(super) fn larger(&self, a: &Poly, b: &Poly) -> Option<Poly> {
        if self.numbers.is_none() {
            return b.as_number().filter(|&b| b <= 1 && a.is_uniform()).map(|_| a.clone());
        }
        let ((low_a, high_a), (low_b, high_b)) = self.range(a).zip(self.range(b))?;
        match (low_a >= high_b, low_b >= high_a) {
            (true, _) => Some(a.clone()),
            (_, true) => Some(b.clone()),
            _ => None,
        }
    }

    /// The position of a name that is not written yet.
    pub(super) fn peek(&mut self, id: Id) -> Option<Value> {
        self.peek_within(id, 64)
    }

    pub(super) fn peek_within(&mut self, id: Id, depth: u32) -> Option<Value> {
        if let Some(value) = self.env.get(&id) {
            return Some(value.clone());
        }
        let depth = depth.checked_sub(1)?;
        let op = self.definition(id)?;
        let made = self.position(op, &mut |lift, id| lift.peek_within(id, depth)).ok()?;
        made.map(Value::Poly)
    }

    pub(super) fn definition(&self, id: Id) -> Option<&'k Op> {
        self.definitions.get(&id).map(|stmt| &stmt.op)
    }

    /// Is it a number that may be a position?
    pub(super) fn counts(&self, id: Id) -> bool {
        self.types.get(&id) == Some(&Ty::I64)
    }

    pub(super) fn defining(&self, id: Id) -> Option<&'k Stmt> {
        self.definitions.get(&id).copied()
    }
}
