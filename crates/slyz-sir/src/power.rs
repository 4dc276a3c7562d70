//! Powers with a constant exponent, as front ends write them: products and roots instead of logarithms.
//!
//! ```text
//! x.powi(3)     x * x * x, what the operator means
//! x.powi(-2)    1 / (x * x)
//! x.powf(2.0)   x * x
//! x.powf(1.5)   x * sqrt(x), and +inf for -inf
//! ```
//!
//! `powi` is defined by squaring, so its products have the operator's bits. `powf` is defined by logarithms: here it becomes
//! another program, within the operator's ULP and with its special values. So this happens while a program is written, and
//! never in a pass, which keeps all bits. Other exponents stay with the operator.

use crate::ops::Operator;
use crate::types::{Scalar, Ty};

/// The largest exponent of `powi` that is written out: at most 20 products.
const LARGEST: u32 = 1 << 10;

/// Writes the operations of one power.
pub trait Pen {
    /// What operations work on.
    type Value: Copy;
    /// Why one could not be written.
    type Error;

    /// A number.
    fn constant(&mut self, value: Scalar) -> Result<Self::Value, Self::Error>;
    /// An operator; its result has type `ty`.
    fn apply(&mut self, operator: Operator, args: &[Self::Value], ty: Ty) -> Result<Self::Value, Self::Error>;
    /// A conversion from one float type to another one.
    fn cast(&mut self, value: Self::Value, from: Ty, to: Ty) -> Result<Self::Value, Self::Error>;
}

/// What a power is made of.
enum Recipe {
    /// `powi`.
    Whole(i32),
    /// `x`, or its reciprocal, times itself so often.
    Times { count: u32, inverse: bool },
    /// `x` so often, times its square root.
    Root { count: u32 },
    /// `1 / sqrt(x)`.
    InverseRoot,
}

fn recipe(operator: Operator, exponent: Scalar) -> Option<Recipe> {
    match operator {
        Operator::Powi => {
            let n = i32::try_from(exponent.as_int()).ok()?;
            (n.unsigned_abs() <= LARGEST).then_some(Recipe::Whole(n))
        }
        // Three roundings at most: the table allows as many units in the last place.
        Operator::Pow => {
            let y = exponent.as_f64();
            Some(match y {
                1.0..=4.0 if y.fract() == 0.0 => Recipe::Times { count: y as u32, inverse: false },
                -2.0 | -1.0 => Recipe::Times { count: -y as u32, inverse: true },
                0.5 | 1.5 | 2.5 => Recipe::Root { count: y as u32 },
                -0.5 => Recipe::InverseRoot,
                _ => return None,
            })
        }
        _ => None,
    }
}

/// `x` to a constant power, if that is better written without the operator. `ty` is the type of `x`.
pub fn write<P: Pen>(
    pen: &mut P,
    operator: Operator,
    x: P::Value,
    ty: Ty,
    exponent: Scalar,
) -> Result<Option<P::Value>, P::Error> {
    let Some(recipe) = recipe(operator, exponent) else { return Ok(None) };
    // Like every operator on halves it computes in `f32` and rounds once.
    let narrow = matches!(ty, Ty::F16 | Ty::BF16);
    let wide = if narrow { Ty::F32 } else { ty };
    let x = if narrow { pen.cast(x, ty, wide)? } else { x };
    let mut power = Power { pen, ty: wide };
    let value = match recipe {
        Recipe::Whole(n) => {
            let product = power.product(x, n.unsigned_abs())?;
            if n < 0 { power.apply(Operator::Recip, &[product])? } else { product }
        }
        // The reciprocal comes first: its square neither overflows nor vanishes too early.
        Recipe::Times { count, inverse } => {
            let x = if inverse { power.apply(Operator::Recip, &[x])? } else { x };
            power.product(x, count)?
        }
        Recipe::Root { count } => {
            let (z, root) = power.root(x)?;
            let product = if count == 0 {
                root
            } else {
                let whole = power.product(z, count)?;
                power.apply(Operator::Mul, &[whole, root])?
            };
            power.unless_lowest(x, f64::INFINITY, product)?
        }
        Recipe::InverseRoot => {
            let (_, root) = power.root(x)?;
            let inverse = power.apply(Operator::Recip, &[root])?;
            power.unless_lowest(x, 0.0, inverse)?
        }
    };
    Ok(Some(if narrow { pen.cast(value, wide, ty)? } else { value }))
}

struct Power<'p, P> {
    pen: &'p mut P,
    ty: Ty,
}

impl<P: Pen> Power<'_, P> {
    fn apply(&mut self, operator: Operator, args: &[P::Value]) -> Result<P::Value, P::Error> {
        self.pen.apply(operator, args, self.ty)
    }

    fn number(&mut self, value: f64) -> Result<P::Value, P::Error> {
        self.pen.constant(Scalar::from_f64(self.ty, value))
    }

    /// By squaring, in the order of the operator `powi`.
    fn product(&mut self, x: P::Value, count: u32) -> Result<P::Value, P::Error> {
        let (mut product, mut square, mut left) = (None, x, count);
        while left != 0 {
            if left & 1 != 0 {
                product = Some(match product {
                    None => square,
                    Some(product) => self.apply(Operator::Mul, &[product, square])?,
                });
            }
            left >>= 1;
            if left != 0 {
                square = self.apply(Operator::Mul, &[square, square])?;
            }
        }
        product.map_or_else(|| self.number(1.0), Ok)
    }

    /// `x` without a negative zero, whose powers are positive, and its square root.
    fn root(&mut self, x: P::Value) -> Result<(P::Value, P::Value), P::Error> {
        // Adding a zero would do, too, but drivers of GPUs take such a sum for its other operand.
        let zero = self.number(0.0)?;
        let is_zero = self.pen.apply(Operator::Eq, &[x, zero], Ty::Bool)?;
        let z = self.apply(Operator::Select, &[is_zero, zero, x])?;
        Ok((z, self.apply(Operator::Sqrt, &[z])?))
    }

    /// The power of minus infinity is positive, too.
    fn unless_lowest(&mut self, x: P::Value, then: f64, otherwise: P::Value) -> Result<P::Value, P::Error> {
        let lowest = self.number(f64::NEG_INFINITY)?;
        let then = self.number(then)?;
        let is_lowest = self.pen.apply(Operator::Eq, &[x, lowest], Ty::Bool)?;
        self.apply(Operator::Select, &[is_lowest, then, otherwise])
    }
}
