//! The typed tree: what the checker understood, with every type, conversion and name settled.
//!
//! The checker makes it, the lowering reads it, and nothing in it can be wrong any more: operands have the types their
//! operators want (conversions are written out), positions are `i64`, names are numbers, `break` stands in loops.
//! What is left for the lowering: one assignment per name, calls of functions that touch memory, early exits.

pub(crate) mod inside;

use crate::span::Span;
use slyz_sir::code::{AtomicOp, Place, Scope, SubgroupOp};
use slyz_sir::ops::Operator;
use slyz_sir::types::{Scalar, Ty};

/// What a file's kernels need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Graph functions, and what they call. A function calls only functions before it.
    pub functions: Vec<Function>,
}

/// A function of [`Program::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A scalar of [`Function::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// An array of [`Function::arrays`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub u32);

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Can it be launched? Only `graph fn`s without a result can.
    pub launches: bool,
    /// Accesses are not checked.
    pub unchecked: bool,
    /// Its threads do what is written.
    pub as_written: bool,
    /// Parameters.
    pub params: Vec<Param>,
    /// What it gives.
    pub result: Option<Ty>,
    /// Scalars with a name, parameters among them.
    pub locals: Vec<Local>,
    /// Arrays of threads, blocks and constants.
    pub arrays: Vec<Array>,
    /// Code. If there is a result, every road through it ends in `Return` with a value.
    pub body: Vec<Stmt>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ParamKind,
}

/// The kinds of parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamKind {
    /// One value; the local holds it at the start.
    Scalar(LocalId, Ty),
    /// Memory that the launch binds.
    Tensor {
        /// Element type.
        elem: Ty,
        /// The number of axes, 1 to 4. A `Tensor<T>` has 1: all its elements in row-major order, whatever its shape.
        rank: usize,
        /// Was the rank left out? Then a tensor of any shape may be passed.
        flat: bool,
        /// May it be written?
        mutable: bool,
    },
}

/// A scalar with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The name, for messages and listings.
    pub name: String,
    /// Its type.
    pub ty: Ty,
}

/// An array that is not a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Element type.
    pub elem: Ty,
    /// Extents.
    pub shape: Vec<u64>,
    /// Where it lives.
    pub home: Home,
}

/// Where an array lives.
#[derive(Clone, Debug, PartialEq)]
pub enum Home {
    /// One per thread. The statement that declares it fills it (`Stmt::Fill`, `Stmt::Store`).
    Thread,
    /// One per block; starts undefined.
    Threadgroup,
    /// One for all, with these elements.
    Constant(Vec<Scalar>),
}

/// Memory by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryRef {
    /// The tensor at that place among the parameters.
    Param(u32),
    /// An array of the function.
    Array(ArrayId),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Gives a local a value, its first or another one.
    Set(LocalId, Expr),
    /// Writes an element.
    Store {
        /// Where.
        memory: MemoryRef,
        /// One `i64` per axis.
        index: Vec<Expr>,
        /// What.
        value: Expr,
        /// The access as written.
        span: Span,
    },
    /// Writes all elements of an array of the thread.
    Fill(ArrayId, Expr),
    /// For what it does: a call, an atomic.
    Expr(Expr),
    /// One of two.
    If {
        /// `bool`.
        cond: Expr,
        /// When it holds.
        then: Vec<Stmt>,
        /// When not.
        otherwise: Vec<Stmt>,
    },
    /// `for counter in (lo..hi).step_by(step)`. The bounds are evaluated once; a step below 1 counts as 1.
    For {
        /// Its type is an integer, and that of the bounds and the step.
        counter: LocalId,
        /// The first value.
        lo: Expr,
        /// Past the last.
        hi: Expr,
        /// What is added each turn.
        step: Expr,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// `while cond`.
    While {
        /// `bool`.
        cond: Expr,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the next turn.
    Continue,
    /// Leaves the function.
    Return(Option<Expr>),
    /// Waits. All threads of the scope come by here together: the checker has seen to it.
    Barrier(Scope),
    /// Orders writes.
    Fence(Scope),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its type.
    pub ty: Ty,
    /// What it is.
    pub kind: ExprKind,
    /// Where it is written.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Const(Scalar),
    /// The value of a local.
    Local(LocalId),
    /// Where the thread stands.
    Place(Place, u8),
    /// The elements of a memory, or the extent of one axis; `i64`.
    Extent(MemoryRef, Option<u8>),
    /// An operator of the table.
    Apply(Operator, Vec<Expr>),
    /// `&&`: the second only if the first holds.
    AndThen(Box<Expr>, Box<Expr>),
    /// `||`: the second only if the first does not hold.
    OrElse(Box<Expr>, Box<Expr>),
    /// Conversion.
    Cast(Box<Expr>),
    /// The same bits as another type.
    Bitcast(Box<Expr>),
    /// Reads an element.
    Load(MemoryRef, Vec<Expr>),
    /// Reads and writes an element at once; gives the old value.
    Atomic {
        /// How.
        op: AtomicOp,
        /// Where.
        memory: MemoryRef,
        /// One `i64` per axis.
        index: Vec<Expr>,
        /// With what.
        args: Vec<Expr>,
    },
    /// What the threads of a subgroup do together.
    Subgroup(SubgroupOp, Vec<Expr>),
    /// A function before this one. Without a result the type is `Bool` and nobody looks at the value.
    Call(FunctionId, Vec<Arg>),
    /// One of two, with statements in front of each value.
    If {
        /// `bool`.
        cond: Box<Expr>,
        /// When it holds.
        then: (Vec<Stmt>, Box<Expr>),
        /// When not.
        otherwise: (Vec<Stmt>, Box<Expr>),
    },
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// For a scalar.
    Value(Expr),
    /// For a tensor. An array does for one, too.
    Memory(MemoryRef),
}
