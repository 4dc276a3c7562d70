//! The operator table: each scalar operator declared once.
//!
//! One row gives an operator's name, the types it is defined on, its meaning on integers and on floats, its laws,
//! how far a device may be from the interpreter, and what it costs. Constant folding, the laws used by `simplify`,
//! monoid neutrals, the interpreter, the text backends and the conformance tests all read this table.
//!
//! # One meaning on every device
//!
//! * Integer arithmetic wraps around at the width of the type. `i64::MIN / -1` is `i64::MIN`, its remainder 0.
//! * Integer division by zero: `x / 0` is `x`, `x % 0` is `0`.
//! * Shifts take the amount modulo the width of the type. `>>` on signed integers keeps the sign.
//! * Float to integer saturates; NaN becomes 0. Integer to narrower integer keeps the low bits. A number becomes
//!   `true` when it is not zero. Every conversion to a float rounds to nearest, ties to even.
//! * `min` and `max` of a NaN and a number are the number; of two zeros, the second operand.
//! * `sign` of a zero or NaN is that zero or NaN. `round` takes ties away from zero.
//! * Comparisons with NaN are false, except `ne`, which is true.
//! * `%` on floats has the sign of the dividend, as in C and Rust.
//! * `f16` and `bf16` are computed in `f32` and rounded after every operator.
//!
//! # Precision
//!
//! Rows with `ulp 0` give the same bits everywhere, except for which NaN. For the others, a device may be off by that
//! many units in the last place from the interpreter, which computes in `f64` (`f32` and below) or with the platform's
//! own mathematics (`f64`). A row with a `floor` promises an absolute error below it: so many units in the last place of the floor. Results that overflow, underflow, are zero, infinite or NaN agree exactly up to the same slack.

use crate::special;
use crate::types::{Scalar, Ty};

/// On which types an operator is defined; `T` is the type of its first operand unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Integers and floats.
    Number,
    /// Floats.
    Float,
    /// Integers.
    Int,
    /// Integers and `bool`.
    Bits,
    /// `i32`, for the four bytes in it.
    Word,
    /// Everything.
    Any,
}

impl Domain {
    /// Does the domain hold that type?
    pub fn has(self, ty: Ty) -> bool {
        match self {
            Domain::Number => ty.is_int() || ty.is_float(),
            Domain::Float => ty.is_float(),
            Domain::Int => ty.is_int(),
            Domain::Bits => ty.is_int() || ty == Ty::Bool,
            Domain::Word => ty == Ty::I32,
            Domain::Any => true,
        }
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Domain::Number => "numbers",
            Domain::Float => "floats",
            Domain::Int => "integers",
            Domain::Bits => "integers and bool",
            Domain::Word => "i32",
            Domain::Any => "everything",
        })
    }
}

/// The types of operands and result, for an operator on `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// `(T, …) -> T`
    Same,
    /// `(T, …) -> bool`
    Test,
    /// `(T, i32) -> T`
    IntPower,
    /// `(bool, T, T) -> T`
    Select,
}

/// A constant that depends on the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// There is none.
    None,
    /// 0, or `false`; for floats `-0.0`, the only zero that leaves `-0.0` alone under addition.
    Zero,
    /// 1, or `true`.
    One,
    /// All bits set, or `true`.
    Ones,
    /// The smallest value: `-inf` for floats.
    Lowest,
    /// The largest value: `inf` for floats.
    Highest,
}

impl Unit {
    /// The constant at a type.
    pub fn at(self, ty: Ty) -> Option<Scalar> {
        let float = ty.is_float();
        let (low, high) = if float { (0, 0) } else { crate::types::int_range(ty) };
        Some(match self {
            Unit::None => return None,
            Unit::Zero if float => Scalar::from_f64(ty, -0.0),
            Unit::Zero => Scalar::from_int(ty, 0),
            Unit::One => Scalar::from_int(ty, 1),
            Unit::Ones => Scalar::from_bits(ty, u64::MAX),
            Unit::Lowest if float => Scalar::from_f64(ty, f64::NEG_INFINITY),
            Unit::Highest if float => Scalar::from_f64(ty, f64::INFINITY),
            Unit::Lowest => Scalar::from_int(ty, low),
            Unit::Highest => Scalar::from_int(ty, high),
        })
    }
}

/// The meaning on integers: operands exactly, result taken modulo the width. `ty` is `T`.
type OnInts = fn(ty: Ty, x: &[i128]) -> i128;
/// The meaning on floats, in `f64`; the result is rounded to `T`.
type OnFloats = fn(ty: Ty, x: &[f64]) -> f64;

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// The operator.
    pub operator: Operator,
    /// The name in SIR text and the stem of its name in generated code.
    pub name: &'static str,
    /// The name in C and in the languages of shaders.
    pub c: &'static str,
    /// The name of Rust's own method.
    pub rust: &'static str,
    /// Number of operands.
    pub arity: usize,
    /// Types it is defined on.
    pub domain: Domain,
    /// Operand and result types.
    pub signature: Signature,
    /// `a ∘ b = b ∘ a`.
    pub commutative: bool,
    /// `(a ∘ b) ∘ c = a ∘ (b ∘ c)`; for floats up to rounding.
    pub associative: bool,
    /// `a ∘ unit = a`, and `unit ∘ a = a` when commutative. A NaN gives way to the unit of `min` and `max`.
    pub identity: Unit,
    /// `a ∘ zero = zero`; on integers and `bool` only, floats have NaN.
    pub absorbing: Unit,
    /// Infix spelling shared by the C family, where its meaning there is ours for all types of the domain.
    pub infix: Option<&'static str>,
    /// How far a device may be off, in units in the last place, on floats.
    pub ulp: u32,
    /// How much further off the own operation of a GPU may be, which is taken at [`Precision::Table`](crate::choices::Precision::Table).
    pub own: u32,
    /// Results smaller than this power of two may be off as far as it may: where they are the difference of larger numbers, near a
    /// root, few digits are left. 0 where all digits count.
    pub floor: f64,
    /// Rough cost; an addition is 1.
    pub cost: u32,
    /// On integers and `bool`.
    pub on_ints: Option<OnInts>,
    /// On floats.
    pub on_floats: Option<OnFloats>,
    /// One line for people.
    pub doc: &'static str,
}

impl Row {
    /// How far a result is off, in units in the last place of the floor, where the floor is what counts.
    pub fn units_of_floor(&self, expected: Scalar, found: Scalar) -> Option<u64> {
        let last = match expected.ty {
            Ty::F64 => f64::EPSILON,
            Ty::F32 => f32::EPSILON.into(),
            Ty::F16 => 2f64.powi(-10),
            Ty::BF16 => 2f64.powi(-7),
            _ => return None,
        };
        let off = (expected.as_f64() - found.as_f64()).abs();
        let counts = expected.as_f64().abs() < self.floor && off.is_finite();
        counts.then(|| (off / (self.floor * last)).ceil() as u64)
    }
}

macro_rules! operators {
    ($($(#[doc = $doc:literal])* $op:ident $name:literal $arity:literal $domain:ident $sig:ident
        [$($law:ident $(= $unit:ident)?),*] $(infix $infix:literal)? $(c $c:literal)? $(rust $rust:literal)? ulp $ulp:literal $(own $own:literal)? $(floor $floor:literal)? cost $cost:literal
        { $(int $int:expr;)? $(float $float:expr;)? })*) => {
        /// A scalar operator; [`TABLE`] says what it means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operator { $($(#[doc = $doc])* $op),* }

        /// Every operator, in the order of the enum.
        pub static TABLE: &[Row] = &[$({
            #[allow(unused_mut)]
            let mut row = Row {
                operator: Operator::$op, name: $name, c: $name, rust: $name, arity: $arity, domain: Domain::$domain,
                signature: Signature::$sig, commutative: false, associative: false, identity: Unit::None,
                absorbing: Unit::None, infix: None, ulp: $ulp, own: 0, floor: 0.0, cost: $cost, on_ints: None, on_floats: None,
                doc: concat!($($doc),*),
            };
            $(operators!(@law row $law $($unit)?);)*
            $(row.infix = Some($infix);)?
            $(row.own = $own;)?
            $(row.floor = $floor;)?
            $(row.c = $c;)?
            $(row.rust = $rust;)?
            $(row.on_ints = Some($int);)?
            $(row.on_floats = Some($float);)?
            row
        }),*];
    };
    (@law $row:ident commutative) => { $row.commutative = true; };
    (@law $row:ident associative) => { $row.associative = true; };
    (@law $row:ident identity $unit:ident) => { $row.identity = Unit::$unit; };
    (@law $row:ident absorbing $unit:ident) => { $row.absorbing = Unit::$unit; };
}

operators! {
    /// Sum.
    Add "add" 2 Number Same [commutative, associative, identity = Zero] infix "+" ulp 0 cost 1 {
        int |_, x| x[0] + x[1]; float |_, x| x[0] + x[1];
    }
    /// Difference.
    Sub "sub" 2 Number Same [] infix "-" ulp 0 cost 1 {
        int |_, x| x[0] - x[1]; float |_, x| x[0] - x[1];
    }
    /// Product.
    Mul "mul" 2 Number Same [commutative, associative, identity = One, absorbing = Zero] infix "*" ulp 0 cost 1 {
        int |_, x| x[0].wrapping_mul(x[1]); float |_, x| x[0] * x[1];
    }
    /// Quotient; integers truncate toward zero, and `x / 0` is `x`.
    Div "div" 2 Number Same [identity = One] ulp 0 own 4 cost 6 {
        int |_, x| if x[1] == 0 { x[0] } else { x[0] / x[1] }; float |_, x| x[0] / x[1];
    }
    /// Remainder with the sign of the dividend; `x % 0` is `0` on integers.
    Rem "rem" 2 Number Same [] ulp 0 cost 10 {
        int |_, x| if x[1] == 0 { 0 } else { x[0] % x[1] }; float |_, x| x[0] % x[1];
    }
    /// Negation.
    Neg "neg" 1 Number Same [] ulp 0 cost 1 {
        int |_, x| -x[0]; float |_, x| -x[0];
    }
    /// Absolute value; that of the smallest integer is itself.
    Abs "abs" 1 Number Same [] ulp 0 cost 1 {
        int |_, x| x[0].abs(); float |_, x| x[0].abs();
    }
    /// -1, 0 or 1; a zero or NaN is itself.
    Sign "sign" 1 Number Same [] rust "signum" ulp 0 cost 2 {
        int |_, x| x[0].signum(); float |_, x| if x[0] > 0.0 { 1.0 } else if x[0] < 0.0 { -1.0 } else { x[0] };
    }
    /// The smaller; a NaN loses.
    Min "min" 2 Number Same [commutative, associative, identity = Highest, absorbing = Lowest] ulp 0 cost 1 {
        int |_, x| x[0].min(x[1]); float |_, x| if x[0] < x[1] || x[1].is_nan() { x[0] } else { x[1] };
    }
    /// The larger; a NaN loses.
    Max "max" 2 Number Same [commutative, associative, identity = Lowest, absorbing = Highest] ulp 0 cost 1 {
        int |_, x| x[0].max(x[1]); float |_, x| if x[0] > x[1] || x[1].is_nan() { x[0] } else { x[1] };
    }
    /// `a * b + c` with one rounding.
    Fma "fma" 3 Number Same [] rust "mul_add" ulp 0 cost 1 {
        int |_, x| x[0].wrapping_mul(x[1]).wrapping_add(x[2]);
        float |ty, x| if ty == Ty::F64 { x[0].mul_add(x[1], x[2]) } else { (x[0] as f32).mul_add(x[1] as f32, x[2] as f32) as f64 };
    }
    /// `c` and the sum of four products of bytes: those of `a` without a sign, those of `b` with one. Machines have it for products of small numbers.
    Dot4 "dot4" 3 Word Same [] ulp 0 cost 2 {
        int |_, x| x[2] + (0..4).map(|k| (x[0] >> (8 * k) & 0xff) * i128::from((x[1] >> (8 * k)) as i8)).sum::<i128>();
    }
    /// `min(max(x, low), high)`.
    Clamp "clamp" 3 Number Same [] ulp 0 cost 2 {
        int |_, x| x[0].max(x[1]).min(x[2]);
        float |_, x| {
            let low = if x[0] > x[1] || x[1].is_nan() { x[0] } else { x[1] };
            if low < x[2] || x[2].is_nan() { low } else { x[2] }
        };
    }
    /// The largest whole number not above.
    Floor "floor" 1 Float Same [] ulp 0 cost 2 {
        float |_, x| x[0].floor();
    }
    /// The smallest whole number not below.
    Ceil "ceil" 1 Float Same [] ulp 0 cost 2 {
        float |_, x| x[0].ceil();
    }
    /// The nearest whole number, ties away from zero.
    Round "round" 1 Float Same [] ulp 0 cost 3 {
        float |_, x| x[0].round();
    }
    /// The whole part.
    Trunc "trunc" 1 Float Same [] ulp 0 cost 2 {
        float |_, x| x[0].trunc();
    }
    /// Square root.
    Sqrt "sqrt" 1 Float Same [] ulp 0 own 4 cost 8 {
        float |_, x| x[0].sqrt();
    }
    /// `1 / sqrt(x)`.
    Rsqrt "rsqrt" 1 Float Same [] ulp 2 own 4 cost 8 {
        float |_, x| 1.0 / x[0].sqrt();
    }
    /// Cube root.
    Cbrt "cbrt" 1 Float Same [] ulp 2 cost 20 {
        float |_, x| x[0].cbrt();
    }
    /// `1 / x`.
    Recip "recip" 1 Float Same [] ulp 0 own 4 cost 6 {
        float |_, x| 1.0 / x[0];
    }
    /// e to the power.
    Exp "exp" 1 Float Same [] ulp 2 cost 16 {
        float |_, x| x[0].exp();
    }
    /// 2 to the power.
    Exp2 "exp2" 1 Float Same [] ulp 2 cost 14 {
        float |_, x| x[0].exp2();
    }
    /// `e^x - 1`, precise near 0.
    Expm1 "expm1" 1 Float Same [] rust "exp_m1" ulp 3 cost 20 {
        float |_, x| x[0].exp_m1();
    }
    /// Natural logarithm.
    Ln "ln" 1 Float Same [] c "log" ulp 2 cost 18 {
        float |_, x| x[0].ln();
    }
    /// Logarithm to base 2.
    Log2 "log2" 1 Float Same [] ulp 3 cost 18 {
        float |_, x| x[0].log2();
    }
    /// Logarithm to base 10.
    Log10 "log10" 1 Float Same [] ulp 3 cost 20 {
        float |_, x| x[0].log10();
    }
    /// `ln(1 + x)`, precise near 0.
    Ln1p "ln_1p" 1 Float Same [] c "log1p" ulp 3 cost 20 {
        float |_, x| x[0].ln_1p();
    }
    /// A power; negative bases need whole exponents.
    Pow "pow" 2 Float Same [] rust "powf" ulp 3 cost 50 {
        float |_, x| x[0].powf(x[1]);
    }
    /// A power with an `i32` exponent, by squaring, as in Rust: `powi(x, 2)` is `x * x`; negative exponents divide 1 by it.
    Powi "powi" 2 Float IntPower [] ulp 0 cost 24 {
        float |ty, x| if ty == Ty::F64 { x[0].by_squaring(x[1] as i32) } else { (x[0] as f32).by_squaring(x[1] as i32) as f64 };
    }
    /// `sqrt(a² + b²)` without early overflow.
    Hypot "hypot" 2 Float Same [commutative] ulp 2 cost 16 {
        float |_, x| x[0].hypot(x[1]);
    }
    /// Sine of radians.
    Sin "sin" 1 Float Same [] ulp 3 cost 20 {
        float |_, x| x[0].sin();
    }
    /// Cosine of radians.
    Cos "cos" 1 Float Same [] ulp 3 cost 20 {
        float |_, x| x[0].cos();
    }
    /// Tangent of radians.
    Tan "tan" 1 Float Same [] ulp 4 cost 28 {
        float |_, x| x[0].tan();
    }
    /// Arc sine.
    Asin "asin" 1 Float Same [] ulp 4 cost 22 {
        float |_, x| x[0].asin();
    }
    /// Arc cosine.
    Acos "acos" 1 Float Same [] ulp 4 cost 22 {
        float |_, x| x[0].acos();
    }
    /// Arc tangent.
    Atan "atan" 1 Float Same [] ulp 4 cost 22 {
        float |_, x| x[0].atan();
    }
    /// Angle of the point `(x, y)`; operands are `y, x`.
    Atan2 "atan2" 2 Float Same [] ulp 4 cost 30 {
        float |_, x| x[0].atan2(x[1]);
    }
    /// Hyperbolic sine.
    Sinh "sinh" 1 Float Same [] ulp 4 cost 24 {
        float |_, x| x[0].sinh();
    }
    /// Hyperbolic cosine.
    Cosh "cosh" 1 Float Same [] ulp 4 cost 24 {
        float |_, x| x[0].cosh();
    }
    /// Hyperbolic tangent.
    Tanh "tanh" 1 Float Same [] ulp 4 cost 24 {
        float |_, x| x[0].tanh();
    }
    /// Error function.
    Erf "erf" 1 Float Same [] ulp 4 cost 24 {
        float |_, x| libm::erf(x[0]);
    }
    /// `1 - erf(x)`, precise where that is small.
    Erfc "erfc" 1 Float Same [] ulp 6 cost 50 {
        float |_, x| libm::erfc(x[0]);
    }
    /// The number whose error function it is.
    Erfinv "erfinv" 1 Float Same [] ulp 8 cost 60 {
        float |_, x| special::erfinv(x[0]);
    }
    /// The logarithm of the size of the gamma function. Near its negative roots only the absolute error is small.
    Lgamma "lgamma" 1 Float Same [] ulp 6 floor 16.0 cost 120 {
        float |_, x| libm::lgamma(x[0]);
    }
    /// `sin(pi x)`, precise for large numbers and zeros.
    Sinpi "sinpi" 1 Float Same [] ulp 4 cost 20 {
        float |_, x| special::sinpi(x[0]);
    }
    /// `cos(pi x)`, precise for large numbers and zeros.
    Cospi "cospi" 1 Float Same [] ulp 4 cost 20 {
        float |_, x| special::cospi(x[0]);
    }
    /// Is it less?
    Lt "lt" 2 Any Test [] infix "<" ulp 0 cost 1 {
        int |_, x| (x[0] < x[1]) as i128; float |_, x| (x[0] < x[1]) as u8 as f64;
    }
    /// Is it less or equal?
    Le "le" 2 Any Test [] infix "<=" ulp 0 cost 1 {
        int |_, x| (x[0] <= x[1]) as i128; float |_, x| (x[0] <= x[1]) as u8 as f64;
    }
    /// Is it greater?
    Gt "gt" 2 Any Test [] infix ">" ulp 0 cost 1 {
        int |_, x| (x[0] > x[1]) as i128; float |_, x| (x[0] > x[1]) as u8 as f64;
    }
    /// Is it greater or equal?
    Ge "ge" 2 Any Test [] infix ">=" ulp 0 cost 1 {
        int |_, x| (x[0] >= x[1]) as i128; float |_, x| (x[0] >= x[1]) as u8 as f64;
    }
    /// Are they equal?
    Eq "eq" 2 Any Test [commutative] infix "==" ulp 0 cost 1 {
        int |_, x| (x[0] == x[1]) as i128; float |_, x| (x[0] == x[1]) as u8 as f64;
    }
    /// Do they differ?
    Ne "ne" 2 Any Test [commutative] infix "!=" ulp 0 cost 1 {
        int |_, x| (x[0] != x[1]) as i128; float |_, x| (x[0] != x[1]) as u8 as f64;
    }
    /// Both, bit by bit.
    And "and" 2 Bits Same [commutative, associative, identity = Ones, absorbing = Zero] infix "&" ulp 0 cost 1 {
        int |_, x| x[0] & x[1];
    }
    /// Either, bit by bit.
    Or "or" 2 Bits Same [commutative, associative, identity = Zero, absorbing = Ones] infix "|" ulp 0 cost 1 {
        int |_, x| x[0] | x[1];
    }
    /// One of the two, bit by bit.
    Xor "xor" 2 Bits Same [commutative, associative, identity = Zero] infix "^" ulp 0 cost 1 {
        int |_, x| x[0] ^ x[1];
    }
    /// The opposite, bit by bit.
    Not "not" 1 Bits Same [] ulp 0 cost 1 {
        int |_, x| !x[0];
    }
    /// Bits moved up; the amount is taken modulo the width.
    Shl "shl" 2 Int Same [] ulp 0 cost 1 {
        int |ty, x| x[0] << x[1].rem_euclid(ty.bits() as i128);
    }
    /// Bits moved down, keeping the sign; the amount is taken modulo the width.
    Shr "shr" 2 Int Same [] ulp 0 cost 1 {
        int |ty, x| x[0] >> x[1].rem_euclid(ty.bits() as i128);
    }
    /// Number of bits set.
    Popcount "popcount" 1 Int Same [] rust "count_ones" ulp 0 cost 4 {
        int |ty, x| Scalar::from_int(ty, x[0]).bits.count_ones() as i128;
    }
    /// Zero bits above the highest set bit; the width for 0.
    LeadingZeros "leading_zeros" 1 Int Same [] ulp 0 cost 6 {
        int |ty, x| Scalar::from_int(ty, x[0]).bits.leading_zeros() as i128 - (64 - ty.bits() as i128);
    }
    /// Zero bits below the lowest set bit; the width for 0.
    TrailingZeros "trailing_zeros" 1 Int Same [] ulp 0 cost 6 {
        int |ty, x| (Scalar::from_int(ty, x[0]).bits.trailing_zeros() as i128).min(ty.bits() as i128);
    }
    /// The same bits in the opposite order.
    ReverseBits "reverse_bits" 1 Int Same [] ulp 0 cost 6 {
        int |ty, x| (Scalar::from_int(ty, x[0]).bits.reverse_bits() >> (64 - ty.bits())) as i128;
    }
    /// The second operand where the first holds, else the third.
    Select "select" 3 Any Select [] ulp 0 cost 1 {
        int |_, x| if x[0] != 0 { x[1] } else { x[2] }; float |_, x| if x[0] != 0.0 { x[1] } else { x[2] };
    }
    /// Is it not a number?
    IsNan "is_nan" 1 Float Test [] c "isnan" ulp 0 cost 1 {
        float |_, x| x[0].is_nan() as u8 as f64;
    }
    /// Is it neither NaN nor infinite?
    IsFinite "is_finite" 1 Float Test [] c "isfinite" ulp 0 cost 2 {
        float |_, x| x[0].is_finite() as u8 as f64;
    }
}

impl Operator {
    /// The operator's row.
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The name in SIR text.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Is the result a number of bits?
    pub fn counts_bits(self) -> bool {
        matches!(self, Operator::Popcount | Operator::LeadingZeros | Operator::TrailingZeros)
    }

    /// Does it look at every bit of its type, so that it means something else in another width?
    pub fn sees_width(self) -> bool {
        self.counts_bits() || self == Operator::ReverseBits
    }

    /// The operator with that name.
    pub fn from_name(name: &str) -> Option<Operator> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.operator)
    }

    /// The operator with that name here, in C or in Rust.
    pub fn known_as(name: &str) -> Option<Operator> {
        let known = |row: &&Row| [row.name, row.c, row.rust].contains(&name);
        Operator::from_name(name).or_else(|| TABLE.iter().find(known).map(|row| row.operator))
    }

    /// The type of the result for operands of these types, or `None` when it is not defined on them.
    pub fn result(self, args: &[Ty]) -> Option<Ty> {
        let row = self.row();
        let (&first, &last) = (args.first()?, args.last()?);
        let ty = if row.signature == Signature::Select { last } else { first };
        let same = |args: &[Ty]| args.iter().all(|&a| a == ty);
        let fits = args.len() == row.arity
            && row.domain.has(ty)
            && match row.signature {
                Signature::Same | Signature::Test => same(args),
                Signature::IntPower => last == Ty::I32,
                Signature::Select => first == Ty::Bool && same(&args[1..]),
            };
        let result = if row.signature == Signature::Test { Ty::Bool } else { ty };
        fits.then_some(result)
    }

    /// The meaning: the value for these operands, or `None` when it is not defined on their types.
    pub fn eval(self, args: &[Scalar]) -> Option<Scalar> {
        let row = self.row();
        let tys: Vec<Ty> = args.iter().map(|a| a.ty).collect();
        let result = self.result(&tys)?;
        let operand = if row.signature == Signature::Select { *tys.last()? } else { tys[0] };
        if row.signature == Signature::Select {
            // Moves bits, so that a NaN keeps its payload.
            return Some(if args[0].is_true() { args[1] } else { args[2] });
        }
        Some(if operand.is_float() {
            let x: Vec<f64> = args.iter().map(|a| a.as_f64()).collect();
            Scalar::from_f64(result, row.on_floats?(operand, &x))
        } else {
            let x: Vec<i128> = args.iter().map(|a| a.as_int()).collect();
            Scalar::from_int(result, row.on_ints?(operand, &x))
        })
    }
}

/// Powers by squaring: Rust's `powi`, whose bits Rust itself does not promise.
trait Squaring: Copy + std::ops::Mul<Output = Self> + std::ops::Div<Output = Self> {
    const ONE: Self;

    fn by_squaring(self, exponent: i32) -> Self {
        let mut power = Self::ONE;
        let mut square = self;
        let mut left = exponent.unsigned_abs();
        while left != 0 {
            if left & 1 != 0 {
                power = power * square;
            }
            square = square * square;
            left >>= 1;
        }
        if exponent < 0 { Self::ONE / power } else { power }
    }
}

impl Squaring for f32 {
    const ONE: f32 = 1.0;
}

impl Squaring for f64 {
    const ONE: f64 = 1.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handful of values of a type that tend to break things.
    fn edges(ty: Ty) -> Vec<Scalar> {
        if ty.is_float() {
            let x = [0.0, -0.0, 1.0, -1.0, 0.5, 3.75, -2.5, 1e-30, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            return x.map(|x| Scalar::from_f64(ty, x)).to_vec();
        }
        let (low, high) = crate::types::int_range(ty);
        [0, 1, -1, 2, 7, low, high, high - 1].map(|x| Scalar::from_int(ty, x)).to_vec()
    }

    #[test]
    fn rows_are_in_enum_order_and_total() {
        for (k, row) in TABLE.iter().enumerate() {
            assert_eq!(row.operator as usize, k, "{}", row.name);
            assert_eq!(Operator::from_name(row.name), Some(row.operator));
            for ty in Ty::ALL.into_iter().filter(|&ty| row.domain.has(ty)) {
                let args: Vec<Ty> = match row.signature {
                    Signature::Same | Signature::Test => vec![ty; row.arity],
                    Signature::IntPower => vec![ty, Ty::I32],
                    Signature::Select => vec![Ty::Bool, ty, ty],
                };
                assert!(row.operator.result(&args).is_some(), "{} on {ty}", row.name);
                for x in edges(ty) {
                    let values: Vec<Scalar> = args.iter().map(|&a| if a == ty { x } else { x.cast(a) }).collect();
                    assert!(row.operator.eval(&values).is_some(), "{} on {values:?}", row.name);
                }
            }
        }
    }

    #[test]
    fn laws_hold_on_edge_values() {
        let same =
            |a: Scalar, b: Scalar| a == b || a.as_f64() == b.as_f64() || (a.as_f64().is_nan() && b.as_f64().is_nan());
        for row in TABLE {
            for ty in Ty::ALL.into_iter().filter(|&ty| row.domain.has(ty) && row.arity == 2) {
                let at = |a: Scalar, b: Scalar| row.operator.eval(&[a, b]).unwrap();
                for a in edges(ty) {
                    let gives_way = matches!(row.operator, Operator::Min | Operator::Max) && a.as_f64().is_nan();
                    if let (Some(unit), false) = (row.identity.at(ty), gives_way) {
                        assert!(same(at(a, unit), a), "{} {a:?} {unit:?}", row.name);
                        if row.commutative {
                            assert_eq!(
                                at(unit, a).as_f64().to_bits(),
                                a.as_f64().to_bits(),
                                "{} {unit:?} {a:?}",
                                row.name
                            );
                        }
                    }
                    if let (Some(zero), false) = (row.absorbing.at(ty), ty.is_float()) {
                        assert_eq!(at(a, zero), zero, "{} {a:?}", row.name);
                    }
                    for b in edges(ty) {
                        if row.commutative {
                            assert!(same(at(a, b), at(b, a)), "{} {a:?} {b:?}", row.name);
                        }
                        if row.associative && !ty.is_float() {
                            for c in edges(ty) {
                                assert_eq!(at(at(a, b), c), at(a, at(b, c)), "{} {a:?} {b:?} {c:?}", row.name);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn corner_meanings() {
        let i = |x: i128| Scalar::from_int(Ty::I32, x);
        let f = Scalar::f32;
        assert_eq!(Operator::Div.eval(&[i(7), i(0)]), Some(i(7)));
        assert_eq!(Operator::Rem.eval(&[i(7), i(0)]), Some(i(0)));
        assert_eq!(Operator::Div.eval(&[i(i32::MIN as i128), i(-1)]), Some(i(i32::MIN as i128)));
        assert_eq!(Operator::Shl.eval(&[i(1), i(33)]), Some(i(2)));
        assert_eq!(Operator::Shr.eval(&[i(-8), i(1)]), Some(i(-4)));
        assert_eq!(Operator::Max.eval(&[f(f32::NAN), f(1.0)]), Some(f(1.0)));
        assert_eq!(Operator::Max.eval(&[f(1.0), f(f32::NAN)]), Some(f(1.0)));
        assert_eq!(f(3e9).cast(Ty::I32), i(i32::MAX as i128));
        assert_eq!(f(f32::NAN).cast(Ty::U8), Scalar::from_int(Ty::U8, 0));
        assert_eq!(i(300).cast(Ty::U8), Scalar::from_int(Ty::U8, 44));
        assert_eq!(Operator::LeadingZeros.eval(&[Scalar::from_int(Ty::U8, 1)]), Some(Scalar::from_int(Ty::U8, 7)));
        let byte = |x: i128| Scalar::from_int(Ty::I8, x);
        assert_eq!(Operator::ReverseBits.eval(&[byte(3)]), Some(byte(-64)));
        assert_eq!(Operator::ReverseBits.eval(&[i(1)]), Some(i(i32::MIN as i128)));
        assert_eq!(Operator::Add.result(&[Ty::F32, Ty::I32]), None);
        assert_eq!(Operator::Add.result(&[Ty::Bool, Ty::Bool]), None);
    }
}
