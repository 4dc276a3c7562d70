//! Writing code: statements one after the other, bodies inside each other, and positions as arithmetic.
//!
//! Whoever writes SIR by hand (lowerings, passes, expansions) says where its statements go and which names are free ([`Write`]),
//! and gets the rest. Positions and tests of them are written as people write them:
//!
//! ```
//! use slyz_sir::code::{Id, Stmt};
//! use slyz_sir::write::{Arithmetic, Lines, Write};
//!
//! let mut lines = Lines::above(2);
//! let (row, column) = (Id(1), Id(2));
//! let place = lines.value(row * 64 + column);
//! let inside = lines.value(place.below(4096));
//! assert_eq!(lines.out().len(), 5); // two numbers, a product, a sum, a comparison
//! # let _ = inside;
//! ```
//!
//! What it does not do: check types, share what is equal, or count statements. Programs of users are built by `build`, which does.

use crate::code::{Body, Id, Op, Place, Stmt, Type, Var};
use crate::ops::{Operator, Signature};
use crate::size::Size;
use crate::types::{Scalar, Ty};

/// A writer of code.
pub trait Write {
    /// A name that nobody has.
    fn fresh(&mut self) -> Id;

    /// The body being written.
    fn out(&mut self) -> &mut Vec<Stmt>;

    /// A new name of a type.
    fn var(&mut self, ty: Ty) -> Var {
        Var { id: self.fresh(), ty: Type::Scalar(ty) }
    }

    /// An operation with so many results.
    fn bind(&mut self, op: Op, tys: &[Ty]) -> Vec<Id> {
        let binds: Vec<Var> = tys.iter().map(|&ty| self.var(ty)).collect();
        let ids = binds.iter().map(|bind| bind.id).collect();
        self.out().push(Stmt { binds, op });
        ids
    }

    /// An operation with one result.
    fn push(&mut self, op: Op, ty: Ty) -> Id {
        self.bind(op, &[ty])[0]
    }

    /// An operation without a result.
    fn act(&mut self, op: Op) {
        self.bind(op, &[]);
    }

    /// A constant.
    fn constant(&mut self, value: Scalar) -> Id {
        self.push(Op::Const(value), value.ty)
    }

    /// A number that positions are computed with.
    fn number(&mut self, value: i64) -> Id {
        self.constant(Scalar::i64(value))
    }

    /// An extent.
    fn extent(&mut self, size: &Size) -> Id {
        self.push(Op::Extent(size.clone()), Ty::I64)
    }

    /// An operator whose result has that type.
    fn apply(&mut self, operator: Operator, args: &[Id], ty: Ty) -> Id {
        self.push(Op::Apply(operator, args.to_vec()), ty)
    }

    /// Is the position inside of the shape?
    fn within(&mut self, position: &[Id], shape: &[Size]) -> Id {
        let zero = self.number(0);
        let mut inside = self.constant(Scalar::bool(true));
        for (&place, size) in position.iter().zip(shape) {
            let extent = self.extent(size);
            for (operator, bound) in [(Operator::Ge, zero), (Operator::Lt, extent)] {
                let holds = self.apply(operator, &[place, bound], Ty::Bool);
                inside = self.apply(Operator::And, &[inside, holds], Ty::Bool);
            }
        }
        inside
    }

    /// What a formula says, operands first, from left to right.
    fn value(&mut self, formula: impl Into<Formula>) -> Id
    where
        Self: Sized,
    {
        match formula.into() {
            Formula::Name(id) => id,
            Formula::Number(number) => self.number(number),
            Formula::Extent(size) => self.push(Op::Extent(size), Ty::I64),
            Formula::Place(place, axis) => self.push(Op::Place(place, axis), Ty::I64),
            Formula::Apply(operator, operands) => {
                let [a, b] = *operands;
                let args = [self.value(a), self.value(b)];
                let is_test = operator.row().signature == Signature::Test || operator == Operator::And;
                self.apply(operator, &args, if is_test { Ty::Bool } else { Ty::I64 })
            }
        }
    }

    /// Begins a body: what was written so far waits until it ends. [`Write::nested`] does both, where a closure can.
    fn begin(&mut self) -> Around {
        Around(std::mem::take(self.out()))
    }

    /// The statements since then; from here on code goes where it went before.
    fn end(&mut self, Around(outer): Around) -> Vec<Stmt> {
        std::mem::replace(self.out(), outer)
    }

    /// A body with parameters of these types.
    fn nested(&mut self, params: &[Ty], write: impl FnOnce(&mut Self, &[Id]) -> Vec<Id>) -> Body
    where
        Self: Sized,
    {
        let params: Vec<Var> = params.iter().map(|&ty| self.var(ty)).collect();
        let ids: Vec<Id> = params.iter().map(|param| param.id).collect();
        let around = self.begin();
        let results = write(self, &ids);
        Body { params, stmts: self.end(around), results }
    }

    /// The statements of a body once more, each as `write` says.
    fn rewrite(&mut self, body: &mut Body, mut write: impl FnMut(&mut Self, Stmt))
    where
        Self: Sized,
    {
        let around = self.begin();
        for stmt in std::mem::take(&mut body.stmts) {
            write(self, stmt);
        }
        body.stmts = self.end(around);
    }

    /// Statements that run where the condition holds.
    fn when(&mut self, cond: Id, write: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let then = self.nested(&[], |w, _| {
            write(w);
            vec![]
        });
        self.act(Op::If { cond, args: vec![], then, otherwise: Body::default() });
    }

    /// The same where it does not hold.
    fn unless(&mut self, cond: Id, write: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let otherwise = self.nested(&[], |w, _| {
            write(w);
            vec![]
        });
        self.act(Op::If { cond, args: vec![], then: Body::default(), otherwise });
    }

    /// One of two pieces of code, which give values of these types.
    fn branch(
        &mut self,
        cond: Id,
        tys: &[Ty],
        then: impl FnOnce(&mut Self) -> Vec<Id>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Id>,
    ) -> Vec<Id>
    where
        Self: Sized,
    {
        let then = self.nested(&[], |w, _| then(w));
        let otherwise = self.nested(&[], |w, _| otherwise(w));
        self.bind(Op::If { cond, args: vec![], then, otherwise }, tys)
    }

    /// `for i in lo..hi` by a step, carrying state.
    fn for_steps(
        &mut self,
        [lo, hi, step]: [Id; 3],
        init: (Vec<Id>, &[Ty]),
        write: impl FnOnce(&mut Self, Id, &[Id]) -> Vec<Id>,
    ) -> Vec<Id>
    where
        Self: Sized,
    {
        let (init, tys) = init;
        let params = [&[Ty::I64], tys].concat();
        let body = self.nested(&params, |w, ids| write(w, ids[0], &ids[1..]));
        self.bind(Op::For { lo, hi, step, init, body }, tys)
    }
}

/// What stands around a body that is being written.
#[must_use = "the body has to end"]
pub struct Around(Vec<Stmt>);

/// Statements on their own, for whoever needs no more state than that.
pub struct Lines {
    out: Vec<Stmt>,
    fresh: Box<dyn FnMut() -> Id>,
}

impl Lines {
    /// With names from a source of them.
    pub fn new(fresh: impl FnMut() -> Id + 'static) -> Lines {
        Lines { out: vec![], fresh: Box::new(fresh) }
    }

    /// With names above a number.
    pub fn above(largest: u32) -> Lines {
        Lines::from(largest + 1)
    }

    /// With names from a number on.
    pub fn from(first: u32) -> Lines {
        let mut names = (first..).map(Id);
        Lines::new(move || names.next().expect("fewer names than numbers"))
    }

    /// What was written.
    pub fn take(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.out)
    }
}

impl Write for Lines {
    fn fresh(&mut self) -> Id {
        (self.fresh)()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        &mut self.out
    }
}

/// A position, or a test of positions, that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// What has a name.
    Name(Id),
    /// A number.
    Number(i64),
    /// An extent.
    Extent(Size),
    /// Where the thread stands.
    Place(Place, u8),
    /// An operator on two formulas.
    Apply(Operator, Box<[Formula; 2]>),
}

impl From<Id> for Formula {
    fn from(id: Id) -> Formula {
        Formula::Name(id)
    }
}

impl From<i64> for Formula {
    fn from(number: i64) -> Formula {
        Formula::Number(number)
    }
}

impl From<&Size> for Formula {
    fn from(size: &Size) -> Formula {
        Formula::Extent(size.clone())
    }
}

/// Operators that have no sign in Rust's arithmetic, or give something else there.
pub trait Arithmetic: Into<Formula> {
    /// An operator of the table.
    fn with(self, operator: Operator, other: impl Into<Formula>) -> Formula {
        Formula::Apply(operator, Box::new([self.into(), other.into()]))
    }

    /// The smaller one.
    fn least(self, other: impl Into<Formula>) -> Formula {
        self.with(Operator::Min, other)
    }

    /// The larger one.
    fn most(self, other: impl Into<Formula>) -> Formula {
        self.with(Operator::Max, other)
    }

    /// Is it smaller?
    fn below(self, other: impl Into<Formula>) -> Formula {
        self.with(Operator::Lt, other)
    }

    /// Is it not smaller?
    fn not_below(self, other: impl Into<Formula>) -> Formula {
        self.with(Operator::Ge, other)
    }

    /// Is it the same?
    fn equals(self, other: impl Into<Formula>) -> Formula {
        self.with(Operator::Eq, other)
    }

    /// Do both tests hold?
    fn and(self, other: impl Into<Formula>) -> Formula {
        self.with(Operator::And, other)
    }
}

impl Arithmetic for Id {}
impl Arithmetic for Formula {}

macro_rules! infix {
    ($($ty:ty: $($trait:ident $method:ident $operator:ident),*;)*) => { $($(
        impl<T: Into<Formula>> std::ops::$trait<T> for $ty {
            type Output = Formula;
            fn $method(self, other: T) -> Formula {
                self.with(Operator::$operator, other)
            }
        }
    )*)* };
}

infix! {
    Id: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    Formula: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_come_first_from_left_to_right() {
        let mut lines = Lines::above(9);
        let lo = Id(1);
        let lane = Id(2);
        let end = lines.value((lo + lane * 4).least(&Size::Const(7)));
        let ops: Vec<Op> = lines.take().into_iter().map(|stmt| stmt.op).collect();
        let apply = |operator, a, b| Op::Apply(operator, vec![a, b]);
        assert_eq!(end, Id(14));
        assert_eq!(
            ops,
            [
                Op::Const(Scalar::i64(4)),
                apply(Operator::Mul, lane, Id(10)),
                apply(Operator::Add, lo, Id(11)),
                Op::Extent(Size::Const(7)),
                apply(Operator::Min, Id(12), Id(13)),
            ]
        );
    }
}
