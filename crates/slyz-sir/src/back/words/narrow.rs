//! Which `i64`s of a kernel are computed in 32 bits.
//!
//! There are two reasons to. What a number can be fits (`ranges`): places of threads, counters, extents where the target says
//! that arrays are small. Or nobody asks for more than the low word: a sum of products that is an index into memory, where the
//! higher words never matter, since products, sums and differences carry only upwards.
//!
//! What it does not do: narrow parameters or data.

use crate::code::{Body, Id, Op, Type, Var};
use crate::kernel::Kernel;
use crate::ops::{Operator, Signature};
use crate::ranges::low::{Uses, is_closed};
use crate::ranges::{self, Facts, Range, Ranges};
use crate::size::Size;
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// The register types of a kernel's `i64`s.
#[derive(Default)]
pub(in crate::back) struct Narrowing {
    ranges: Ranges,
    types: HashMap<Id, Ty>,
    /// Names whose higher words somebody asks for.
    full: HashSet<Id>,
}

impl Narrowing {
    /// For the body of a kernel. `most` is what sizes do not exceed.
    pub(in crate::back) fn of(kernel: &Kernel, most: u64) -> Narrowing {
        Narrowing::by(kernel, &Narrowing::facts(kernel, most))
    }

    /// The same for so many threads.
    pub(in crate::back) fn of_threads(kernel: &Kernel, threads: &[Size; 3], most: u64) -> Narrowing {
        Narrowing::by(kernel, &Narrowing::facts(kernel, most).with_threads(threads))
    }

    /// GPUs count threads in words.
    fn facts(kernel: &Kernel, most: u64) -> Facts {
        Facts::with_axes(kernel, most).with_extents(most).with_places(u32::MAX.into())
    }

    fn by(kernel: &Kernel, facts: &Facts) -> Narrowing {
        let mut uses = Uses::default();
        uses.vars(&kernel.body.params);
        uses.body(&kernel.body);
        let full = uses.full();
        Narrowing { ranges: ranges::of_kernel(kernel, facts), types: uses.types, full }
    }

    /// What a name of type `i64` is held in: `u32`, `i32` or `i64`.
    pub(in crate::back) fn held(&self, id: Id, op: &Op) -> Ty {
        match self.range(id).ty() {
            Ty::I64 if self.is_low(id) && self.keeps_low(op) => Ty::U32,
            ty => ty,
        }
    }

    /// What an operator on `i64` is computed in.
    pub(in crate::back) fn computed(&self, operator: Operator, id: Id, args: &[Id]) -> Ty {
        if self.is_low(id) && self.is_closed(operator, args) {
            return Ty::U32;
        }
        let values = if operator.row().signature == Signature::Select { &args[1..] } else { args };
        let ranges: Vec<Range> = values.iter().map(|&arg| self.range(arg)).collect();
        let operands = ranges.iter().copied().reduce(Range::union).unwrap_or(Range::FULL);
        let all = match operator.row().signature {
            Signature::Test | Signature::Select => operands,
            _ => ranges::exact(operator, &ranges).map_or(Range::FULL, |exact| exact.union(operands)),
        };
        if ranges::counts_width(operator, &ranges) { Ty::I64 } else { all.ty() }
    }

    /// What the state of a loop is held in, by all of its names: what it starts as, is in a turn, and is behind the loop.
    pub(in crate::back) fn carried(&self, names: &[Id]) -> Ty {
        names.iter().map(|&id| self.range(id)).reduce(Range::union).unwrap_or(Range::FULL).ty()
    }

    /// What the bounds of a loop are compared in.
    pub(in crate::back) fn counted(&self, bounds: &[Id; 3]) -> Ty {
        self.carried(bounds)
    }

    /// Does a type hold the counter of a loop one step past its end?
    pub(in crate::back) fn holds_past(&self, [_, hi, step]: &[Id; 3], held: Ty) -> bool {
        let hi = self.range(*hi);
        let step = self.range(*step);
        Range::new(hi.lo.min(step.lo), hi.hi - 1 + step.hi).within(Range::of(held))
    }

    /// Is every `i64` that the body binds a number of 32 bits, or one of which only the low word counts?
    pub(in crate::back) fn fits_words(&self, body: &Body) -> bool {
        let wide = |var: &&Var| var.ty == Type::Scalar(Ty::I64);
        let fits = |id: Id| !self.ranges.is_reached(id) || self.range(id).within(Range::of(Ty::I32));
        body.params.iter().filter(wide).all(|param| fits(param.id))
            && body.stmts.iter().all(|stmt| {
                let low = |id: Id| self.is_low(id) && self.keeps_low(&stmt.op);
                stmt.binds.iter().filter(wide).all(|bind| fits(bind.id) || low(bind.id))
                    && stmt.op.bodies().into_iter().all(|body| self.fits_words(body))
            })
    }

    fn range(&self, id: Id) -> Range {
        self.ranges.get(id)
    }

    fn is_low(&self, id: Id) -> bool {
        self.types.get(&id) == Some(&Ty::I64) && !self.full.contains(&id)
    }

    /// Does the low word of the result depend on low words of the operands only?
    fn is_closed(&self, operator: Operator, args: &[Id]) -> bool {
        match operator {
            Operator::Shl => self.range(args[1]).within(Range::new(0, 31)),
            operator => is_closed(operator),
        }
    }

    fn keeps_low(&self, op: &Op) -> bool {
        match op {
            Op::Apply(operator, args) => self.is_closed(*operator, args),
            Op::Cast(_, arg) => self.types.get(arg).is_some_and(|ty| !ty.is_float()),
            Op::If { .. } => true,
            _ => false,
        }
    }
}
