//! How values of a kernel look in C: scalars where all lanes agree, vectors where they do not.

use crate::types::Ty;

/// What the lanes of a vector hold. Narrow types live in 32-bit lanes, half precision in `f32`, `bool` as a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
    Mask,
}

impl Lane {
    pub(super) fn of(ty: Ty) -> Lane {
        match ty {
            Ty::Bool => Lane::Mask,
            Ty::I8 | Ty::I16 | Ty::I32 => Lane::I32,
            Ty::U8 | Ty::U16 | Ty::U32 => Lane::U32,
            Ty::I64 => Lane::I64,
            Ty::U64 => Lane::U64,
            Ty::F16 | Ty::BF16 | Ty::F32 => Lane::F32,
            Ty::F64 => Lane::F64,
        }
    }

    /// The suffix of function names.
    pub(super) fn name(self) -> &'static str {
        match self {
            Lane::F32 => "f32",
            Lane::F64 => "f64",
            Lane::I32 => "i32",
            Lane::U32 => "u32",
            Lane::I64 => "i64",
            Lane::U64 => "u64",
            Lane::Mask => "bool",
        }
    }

    /// The C type of one lane.
    pub(super) fn scalar(self) -> &'static str {
        match self {
            Lane::Mask => "i32",
            lane => lane.name(),
        }
    }

    /// The C type of a vector.
    pub(super) fn vector(self) -> String {
        format!("v{}", self.scalar())
    }

    pub(super) fn is_wide(self) -> bool {
        matches!(self, Lane::F64 | Lane::I64 | Lane::U64)
    }
}

/// The C type of a scalar.
pub(super) fn scalar_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "int",
        Ty::F16 | Ty::BF16 => "f32",
        ty => ty.name(),
    }
}

/// The C type of an element in memory.
pub(super) fn memory_type(ty: Ty) -> &'static str {
    if ty == Ty::Bool { "u8" } else { ty.name() }
}

/// How tightly an expression binds; larger is looser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bind {
    Atom,
    Unary,
    Product,
    Sum,
    Compare,
    Bits,
    Choice,
}

/// A C expression.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) text: String,
    pub(super) bind: Bind,
}

impl Expr {
    pub(super) fn atom(text: impl Into<String>) -> Expr {
        Expr { text: text.into(), bind: Bind::Atom }
    }

    pub(super) fn new(text: String, bind: Bind) -> Expr {
        Expr { text, bind }
    }

    /// The text as an operand of something that binds as given; parentheses where needed.
    pub(super) fn under(&self, bind: Bind) -> String {
        if self.bind <= bind { self.text.clone() } else { format!("({})", self.text) }
    }

    /// As the right operand, where equal binding needs parentheses too.
    pub(super) fn right_of(&self, bind: Bind) -> String {
        if self.bind < bind { self.text.clone() } else { format!("({})", self.text) }
    }

    pub(super) fn tight(&self) -> String {
        self.under(Bind::Atom)
    }

    pub(super) fn infix(left: &Expr, symbol: &str, right: &Expr, bind: Bind) -> Expr {
        // `a + -1` is `a - 1`.
        if let ("+", Some(positive)) = (symbol, right.text.strip_prefix('-').filter(|t| is_number(t))) {
            return Expr::infix(left, "-", &Expr::atom(positive), bind);
        }
        // Compilers warn about mixed `&` and `|`, so operands of bit operators always get parentheses. `a != b < c` is
        // `a != (b < c)` in C, so comparisons of comparisons get them on both sides.
        let left = match bind {
            Bind::Bits => left.under(Bind::Unary),
            Bind::Compare => left.right_of(bind),
            Bind::Atom | Bind::Unary | Bind::Product | Bind::Sum | Bind::Choice => left.under(bind),
        };
        let right = if bind == Bind::Bits { right.under(Bind::Unary) } else { right.right_of(bind) };
        Expr::new(format!("{left} {symbol} {right}"), bind)
    }

    pub(super) fn call(function: &str, args: &[String]) -> Expr {
        Expr::atom(format!("{function}({})", args.join(", ")))
    }
}

/// A plain literal, without a sign.
pub(super) fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
}

/// Where a value is the same in all lanes, and where not.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// A scalar expression.
    Uniform(Expr),
    /// An `i64`: this plus the number of the lane.
    Affine(Expr),
    /// An `i64`: the first plus the number of the lane, moved to the nearest of second to third.
    Clamped(Expr, Expr, Expr),
    /// A vector.
    Vector(Lane, Expr),
}

/// A value of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) ty: Ty,
    pub(super) form: Form,
    /// For `i64`: bounds that are known. Positions are small unless the code is wide.
    pub(super) range: Option<(i128, i128)>,
}

impl Value {
    pub(super) fn uniform(ty: Ty, expr: Expr) -> Value {
        Value { ty, form: Form::Uniform(expr), range: None }
    }

    pub(super) fn vector(ty: Ty, lane: Lane, expr: Expr) -> Value {
        Value { ty, form: Form::Vector(lane, expr), range: None }
    }

    pub(super) fn within(mut self, range: Option<(i128, i128)>) -> Value {
        self.range = range;
        self
    }

    pub(super) fn is_uniform(&self) -> bool {
        matches!(self.form, Form::Uniform(_))
    }

    /// Can it be held in 32-bit lanes?
    pub(super) fn is_small(&self) -> bool {
        self.range.is_some_and(|(low, high)| low >= i32::MIN as i128 && high <= i32::MAX as i128)
    }
}
