//! Which threads do something: as many as were launched, and behind the guards that all stores stand behind.

use super::Unraised;
use super::lift::{Axis, Lift, Value};
use super::poly::{Poly, Term};
use crate::code::{Body, Id, Op, Stmt};
use crate::ops::Operator;
use crate::size::{Size, SizeVar};

/// Is something stored to a tensor of the launch in there?
pub(super) fn stores(lift: &Lift<'_>, body: &Body) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::Store { memory, .. } => lift.is_bound(*memory),
        op => op.bodies().into_iter().any(|inner| stores(lift, inner)),
    })
}

/// A comparison that holds: the smaller one is below the larger one.
struct Below {
    name: Id,
    small: Id,
    large: Id,
    /// It may be equal.
    or_equal: bool,
}

impl<'k> Lift<'k> {
    /// The threads of the launch, as far as guards let them through. What the guards say is known then.
    pub(super) fn find_space(&mut self) -> Result<(), Unraised> {
        for axis in 0..3 {
            // Sizes 3 to 5 of a kernel are the threads that were asked for.
            let threads = self.size_of(&Size::Var(SizeVar(3 + axis as u32)))?;
            let extent = self.as_size(&threads).ok_or(Unraised::Large)?;
            let value = self.value_of(&threads);
            self.axes[axis] = Axis { extent, value };
        }
        let kernel = self.kernel;
        self.guards(&kernel.body)
    }

    fn guards(&mut self, body: &'k Body) -> Result<(), Unraised> {
        let mut storing = body.stmts.iter().filter(|stmt| stmt.op.bodies().iter().any(|inner| stores(self, inner)));
        let (Some(stmt), None) = (storing.next(), storing.next()) else { return Ok(()) };
        let direct = |stmt: &Stmt| matches!(stmt.op, Op::Store { memory, .. } if self.is_bound(memory));
        if body.stmts.iter().any(direct) {
            return Ok(());
        }
        if self.strided.is_none() {
            self.find_stride(stmt);
        }
        let Op::If { cond, then, otherwise, args } = &stmt.op else { return Ok(()) };
        if !args.is_empty() {
            return Ok(());
        }
        let (holds, side) = match (stores(self, then), stores(self, otherwise)) {
            (true, false) => (true, then),
            (false, true) => (false, otherwise),
            _ => return Ok(()),
        };
        // What the condition is made of has to be known; it is written again when its turn comes.
        let mut comparisons = vec![];
        self.conjuncts(*cond, holds, &mut comparisons);
        for Below { name, small, large, or_equal } in comparisons {
            let Some(Value::Poly(thread)) = self.peek(small) else { continue };
            let Some(Value::Poly(bound)) = self.peek(large) else { continue };
            let Some((Term::Atom(axis @ 0..3), shift)) = self.normal(&thread).as_shifted() else { continue };
            if !bound.is_uniform() {
                continue;
            }
            let more = i128::from(or_equal) - shift;
            let Some(bound) = bound.plus(&Poly::number(more), 1) else { continue };
            let value = self.value_of(&bound);
            if self.numbers.is_some() && value.is_none_or(|value| value < 0) {
                continue;
            }
            let Some(extent) = self.as_size(&bound) else { continue };
            let own = &mut self.axes[axis as usize];
            if own.value.is_none() || value.is_some_and(|value| own.value.is_some_and(|own| value <= own)) {
                *own = Axis { extent, value };
            }
            self.settled.insert(name, holds);
        }
        self.guards(side)
    }

    /// The comparisons that hold where the condition does, or does not.
    fn conjuncts(&self, cond: Id, holds: bool, out: &mut Vec<Below>) {
        let Some(Op::Apply(operator, args)) = self.definition(cond) else { return };
        let (operator, &[a, b]) = (operator, &args[..]) else { return };
        let mut below = |small, large, or_equal| out.push(Below { name: cond, small, large, or_equal });
        match (operator, holds) {
            (Operator::And, true) | (Operator::Or, false) => {
                self.conjuncts(a, holds, out);
                self.conjuncts(b, holds, out);
            }
            (Operator::Lt, true) | (Operator::Ge, false) => below(a, b, false),
            (Operator::Le, true) | (Operator::Gt, false) => below(a, b, true),
            (Operator::Gt, true) | (Operator::Le, false) => below(b, a, false),
            (Operator::Ge, true) | (Operator::Lt, false) => below(b, a, true),
            _ => {}
        }
    }
}
