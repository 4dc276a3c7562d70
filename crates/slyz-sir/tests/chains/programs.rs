//! Long programs of a few kinds, as a front end records them: one array operation after another.

use slyz_sir::build::{BuildError, Builder, Region};
use slyz_sir::code::{Id, Monoid, Type};
use slyz_sir::ops::Operator;
use slyz_sir::program::Program;
use slyz_sir::size::{Size, SizeOrigin};
use slyz_sir::types::{Scalar, Ty};

/// A kind of program.
pub struct Chain {
    /// What it is called in tables.
    pub name: &'static str,
    /// The program with about so many operations.
    pub make: fn(usize) -> Result<Program, BuildError>,
}

/// All kinds. Numbers are `i32`, so that results are exact however often they are computed.
pub const CHAINS: &[Chain] = &[
    Chain { name: "affine", make: affine },
    Chain { name: "shared", make: shared },
    Chain { name: "zipped", make: zipped },
    Chain { name: "parallel", make: parallel },
    Chain { name: "turned", make: turned },
    Chain { name: "stencil", make: stencil },
    Chain { name: "means", make: means },
    Chain { name: "totals", make: totals },
    Chain { name: "rows", make: rows },
    Chain { name: "deep", make: deep },
    Chain { name: "scalars", make: scalars },
    Chain { name: "wide", make: wide },
    Chain { name: "sums", make: sums },
];

type Made<T> = Result<T, BuildError>;

struct Draft {
    builder: Builder,
    n: Size,
}

impl Draft {
    fn new(name: &str) -> Draft {
        let mut builder = Builder::new(name);
        let n = Size::Var(builder.add_size("N", SizeOrigin::Given));
        Draft { builder, n }
    }

    fn array(&mut self) -> Id {
        self.builder.param(Type::Array(Ty::I32, vec![self.n.clone()]))
    }

    fn number(&mut self, value: i128) -> Made<Id> {
        self.builder.constant(Scalar::from_int(Ty::I32, value))
    }

    /// An array over these axes whose elements are made at each position.
    fn map(&mut self, axes: usize, element: impl FnOnce(&mut Self, &[Id]) -> Made<Vec<Id>>) -> Made<Vec<Id>> {
        let at = self.builder.open(Region::Loop, &vec![Type::Scalar(Ty::I64); axes]);
        let elements = element(self, &at)?;
        let body = self.builder.close(&elements)?;
        self.builder.tabulate(vec![self.n.clone(); axes], body)
    }

    /// An operator on two arrays, element by element.
    fn zip(&mut self, operator: Operator, a: Id, b: Id) -> Made<Id> {
        let made = self.map(1, |p, at| {
            let args = [p.builder.at(a, at)?, p.builder.at(b, at)?];
            Ok(vec![p.builder.apply(operator, &args)?])
        });
        Ok(made?[0])
    }

    /// An operator on the elements of an array and a scalar.
    fn with(&mut self, operator: Operator, a: Id, b: Id) -> Made<Id> {
        let made = self.map(1, |p, at| {
            let a = p.builder.at(a, at)?;
            Ok(vec![p.builder.apply(operator, &[a, b])?])
        });
        Ok(made?[0])
    }

    fn sum(&mut self, array: Id) -> Made<Id> {
        let zero = self.number(0)?;
        let sides = self.builder.open(Region::Loop, &[Type::Scalar(Ty::I32), Type::Scalar(Ty::I32)]);
        let both = self.builder.apply(Operator::Add, &sides)?;
        let combine = self.builder.close(&[both])?;
        let at = self.builder.open(Region::Loop, &[Type::Scalar(Ty::I64)]);
        let element = self.builder.at(array, &at)?;
        let body = self.builder.close(&[element])?;
        let monoid = Monoid { neutral: vec![zero], combine, commutative: true };
        Ok(self.builder.fold(vec![self.n.clone()], body, monoid)?[0])
    }
}

/// `y = y * a + b`, again and again.
fn affine(operations: usize) -> Made<Program> {
    let mut p = Draft::new("affine");
    let mut y = p.array();
    let (a, b) = (p.builder.param(Type::Scalar(Ty::I32)), p.builder.param(Type::Scalar(Ty::I32)));
    for _ in 0..operations / 2 {
        y = p.with(Operator::Mul, y, a)?;
        y = p.with(Operator::Add, y, b)?;
    }
    p.builder.finish(&[y])
}

/// `y = y * y + y`: everything is used twice.
fn shared(operations: usize) -> Made<Program> {
    let mut p = Draft::new("shared");
    let mut y = p.array();
    for _ in 0..operations / 2 {
        let square = p.zip(Operator::Mul, y, y)?;
        y = p.zip(Operator::Add, square, y)?;
    }
    p.builder.finish(&[y])
}

/// The sum of many arrays.
fn zipped(operations: usize) -> Made<Program> {
    let mut p = Draft::new("zipped");
    let mut y = p.array();
    for _ in 0..operations {
        let x = p.array();
        y = p.zip(Operator::Add, y, x)?;
    }
    p.builder.finish(&[y])
}

/// Eight chains side by side, which meet at the end.
fn parallel(operations: usize) -> Made<Program> {
    let mut p = Draft::new("parallel");
    let x = p.array();
    let mut strands = vec![x; 8];
    for round in 0..operations / 8 {
        for (k, strand) in strands.iter_mut().enumerate() {
            let by = p.number((round + k) as i128)?;
            *strand = p.with(if round % 2 == 0 { Operator::Mul } else { Operator::Add }, *strand, by)?;
        }
    }
    let mut y = x;
    for strand in strands {
        y = p.zip(Operator::Xor, y, strand)?;
    }
    p.builder.finish(&[y])
}

/// A matrix that is transposed and changed in turns.
fn turned(operations: usize) -> Made<Program> {
    let mut p = Draft::new("turned");
    let mut y = p.builder.param(Type::Array(Ty::I32, vec![p.n.clone(), p.n.clone()]));
    let one = p.number(1)?;
    for k in 0..operations {
        y = p.map(2, |p, at| {
            if k % 2 == 0 {
                return Ok(vec![p.builder.at(y, &[at[1], at[0]])?]);
            }
            let element = p.builder.at(y, at)?;
            Ok(vec![p.builder.apply(Operator::Add, &[element, one])?])
        })?[0];
    }
    p.builder.finish(&[y])
}

/// Each element and the one half way: two reads that differ.
fn stencil(operations: usize) -> Made<Program> {
    let mut p = Draft::new("stencil");
    let mut y = p.array();
    let two = p.builder.constant(Scalar::i64(2))?;
    for _ in 0..operations {
        y = p.map(1, |p, at| {
            let half = p.builder.apply(Operator::Div, &[at[0], two])?;
            let pair = [p.builder.at(y, at)?, p.builder.at(y, &[half])?];
            Ok(vec![p.builder.apply(Operator::Add, &pair)?])
        })?[0];
    }
    p.builder.finish(&[y])
}

/// The mean is subtracted, again and again.
fn means(operations: usize) -> Made<Program> {
    let mut p = Draft::new("means");
    let mut y = p.array();
    for _ in 0..operations / 2 {
        let sum = p.sum(y)?;
        let count = p.builder.extent(p.n.clone())?;
        let count = p.builder.cast(Ty::I32, count)?;
        let mean = p.builder.apply(Operator::Div, &[sum, count])?;
        y = p.with(Operator::Sub, y, mean)?;
    }
    p.builder.finish(&[y])
}

/// A scalar that grows by the sum of every array, and goes into the next.
fn totals(operations: usize) -> Made<Program> {
    let mut p = Draft::new("totals");
    let mut y = p.array();
    let mut total = p.number(1)?;
    for _ in 0..operations / 2 {
        let sum = p.sum(y)?;
        total = p.builder.apply(Operator::Add, &[total, sum])?;
        y = p.with(Operator::Xor, y, total)?;
    }
    p.builder.finish(&[y])
}

/// Rows of a matrix, each with its own sum in between: a long body with arrays of its own.
fn rows(operations: usize) -> Made<Program> {
    let mut p = Draft::new("rows");
    let x = p.builder.param(Type::Array(Ty::I32, vec![p.n.clone(), p.n.clone()]));
    let y = p.map(1, |p, row| {
        let mut y = p.map(1, |p, at| Ok(vec![p.builder.at(x, &[row[0], at[0]])?]))?[0];
        for _ in 0..operations / 2 {
            let sum = p.sum(y)?;
            y = p.with(Operator::Xor, y, sum)?;
        }
        Ok(vec![y])
    })?;
    p.builder.finish(&y)
}

/// One body of very many operators.
fn deep(operations: usize) -> Made<Program> {
    let mut p = Draft::new("deep");
    let x = p.array();
    let y = p.map(1, |p, at| {
        let x = p.builder.at(x, at)?;
        let mut y = x;
        for k in 0..operations {
            let operator = [Operator::Mul, Operator::Add, Operator::Xor][k % 3];
            y = p.builder.apply(operator, &[y, x])?;
        }
        Ok(vec![y])
    })?;
    p.builder.finish(&y)
}

/// Scalars only, without arrays.
fn scalars(operations: usize) -> Made<Program> {
    let mut p = Draft::new("scalars");
    let mut y = p.builder.param(Type::Scalar(Ty::I32));
    for _ in 0..operations / 2 {
        let square = p.builder.apply(Operator::Mul, &[y, y])?;
        y = p.builder.apply(Operator::Add, &[square, y])?;
    }
    p.builder.finish(&[y])
}

/// Very many results, each an array.
fn wide(operations: usize) -> Made<Program> {
    let mut p = Draft::new("wide");
    let x = p.array();
    let mut results = vec![];
    for k in 0..operations {
        let by = p.number(k as i128 + 2)?;
        results.push(p.with(Operator::Mul, x, by)?);
    }
    p.builder.finish(&results)
}

/// Very many results, each a sum.
fn sums(operations: usize) -> Made<Program> {
    let mut p = Draft::new("sums");
    let x = p.array();
    let mut results = vec![];
    for k in 0..operations / 2 {
        let by = p.number(k as i128 + 2)?;
        let scaled = p.with(Operator::Mul, x, by)?;
        results.push(p.sum(scaled)?);
    }
    p.builder.finish(&results)
}
