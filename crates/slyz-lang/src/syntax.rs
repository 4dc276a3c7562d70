//! The surface tree: what was written, before anybody asked what it means.
//!
//! The parser of `.vex` files and the Rust attribute `#[graph]` both make this tree; the checker reads it, and the host
//! part of a file is run from it. What only one of the two syntaxes can say is in the tree all the same, so that what
//! is forbidden can be refused where it stands.

use crate::span::Span;
use slyz_sir::ops::Operator;
use slyz_sir::types::Ty;

/// A name where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A file, or what `#[graph]` stands on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// In the order they are written.
    pub items: Vec<Item>,
}

/// Something at the top of a file.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // A file has few items.
pub enum Item {
    /// `graph fn` or `fn`.
    Function(Function),
    /// A function that is not written in this language: calling one from a kernel is refused by name.
    Foreign(Name),
    /// A statement of the host; those of a file run in order, before its `main`.
    Stmt(Stmt),
}

/// Where a function may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// `graph fn`: can be launched, and called from other graph functions.
    Graph,
    /// `fn`: runs on the host; one that graph functions call also becomes code of the kernel.
    Plain,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Where it may run.
    pub role: Role,
    /// `#[graph(unchecked)]`: nobody checks its accesses, and its launch is unsafe.
    pub unchecked: bool,
    /// `as_written graph fn`: its threads do what is written, and nobody makes an array program of it.
    pub as_written: bool,
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// What it gives, if anything.
    pub result: Option<TypeExpr>,
    /// Its code.
    pub body: Block,
    /// From the first word to the name or the end of the signature.
    pub span: Span,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: TypeExpr,
}

/// A type as written. `Tensor<f32>!` and `&mut Tensor<f32>` are mutable.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// May it be written through?
    pub mutable: bool,
    /// Where.
    pub span: Span,
}

/// The kinds of types.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// A number or `bool`.
    Scalar(Ty),
    /// `Tensor<T>` or `Tensor<T, RANK>`.
    Tensor {
        /// The element type; any other than a scalar is refused by the checker.
        elem: Box<TypeExpr>,
        /// The number of axes, if it is said: a number from 1 to 4.
        rank: Option<Box<Expr>>,
    },
    /// `[T; N]`; nested for several axes.
    Array {
        /// The element type.
        elem: Box<TypeExpr>,
        /// A constant.
        len: Box<Expr>,
    },
    /// `(A, B)`: what stands behind a tuple of names, and nowhere else.
    Tuple(Vec<TypeExpr>),
    /// Anything else: `String`, `Box<f32>`, a misspelt name.
    Other(String),
    /// The parser complained already.
    Wrong,
}

impl TypeExpr {
    /// The types of the parts of a tuple, as far as they are said; nothing where this is no tuple of so many.
    pub fn parts(&self, count: usize) -> Option<Vec<Option<&TypeExpr>>> {
        match &self.kind {
            TypeKind::Tuple(parts) if parts.len() == count => Some(parts.iter().map(TypeExpr::said).collect()),
            _ => None,
        }
    }

    /// `_` says nothing.
    pub fn said(&self) -> Option<&TypeExpr> {
        let silent = matches!(&self.kind, TypeKind::Other(text) if text == "_");
        (!silent).then_some(self)
    }
}

/// What `let` gives values to.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// A name.
    Name {
        /// The name.
        name: Name,
        /// May it change?
        mutable: bool,
    },
    /// `_`: the value is computed and forgotten.
    Ignored(Span),
    /// `(a, b)`.
    Tuple(Vec<Pattern>, Span),
}

impl Pattern {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Pattern::Name { name, .. } => name.span,
            Pattern::Ignored(span) | Pattern::Tuple(_, span) => *span,
        }
    }

    /// The names in it, in order, and whether they may change.
    pub fn names(&self) -> Vec<(&Name, bool)> {
        match self {
            Pattern::Name { name, mutable } => vec![(name, *mutable)],
            Pattern::Ignored(_) => vec![],
            Pattern::Tuple(parts, _) => parts.iter().flat_map(Pattern::names).collect(),
        }
    }
}

/// Statements in braces. In Rust the last may be an expression that is the block's value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// In order.
    pub stmts: Vec<Stmt>,
    /// The value, where the last expression has no semicolon (Rust), or nothing.
    pub value: Option<Box<Expr>>,
    /// The braces and what is between.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// Where a local array or value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// One per thread.
    Thread,
    /// `threadgroup`, in Rust `#[threadgroup]`: one per block.
    Threadgroup,
    /// `constant`, in Rust `#[constant]`: one for all, read only.
    Constant,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `let`, `let!`, `let mut`, `threadgroup let!`, `constant let`.
    Let {
        /// Where it lives.
        space: Space,
        /// May it change?
        mutable: bool,
        /// Its name.
        name: Name,
        /// Its type, if written.
        ty: Option<TypeExpr>,
        /// Its value, if written.
        value: Option<Expr>,
    },
    /// `let (a, b) = (x, y)`. All values are computed before a name is declared.
    LetTuple {
        /// The names.
        pattern: Pattern,
        /// Their types, if written: a tuple of as many.
        ty: Option<TypeExpr>,
        /// The values.
        value: Expr,
    },
    /// `target = value`, `target += value`.
    Assign {
        /// A name, an element, or a tuple of them.
        target: Expr,
        /// The operator of `+=` and its like.
        operator: Option<BinaryOp>,
        /// The value.
        value: Expr,
    },
    /// An expression for what it does. `if` as a statement is this, too.
    Expr(Expr),
    /// `for name in lo..hi`, `step n`.
    For {
        /// The counter.
        name: Name,
        /// The first value.
        lo: Expr,
        /// Past the last, or the last if `inclusive`.
        hi: Expr,
        /// `..=`.
        inclusive: bool,
        /// What is added each turn; 1 if it is not said.
        step: Option<Expr>,
        /// What is repeated.
        body: Block,
    },
    /// `while cond`. Rust's `loop` and Vex's are `while true`.
    While {
        /// The condition.
        cond: Expr,
        /// What is repeated.
        body: Block,
    },
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the next turn of the innermost loop.
    Continue,
    /// Leaves the function.
    Return(Option<Expr>),
    /// `print(..)`; the host's only.
    Print(Vec<Expr>),
    /// The parser complained already.
    Wrong,
}

/// What stands after `with`. One to three numbers each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchConfig {
    /// `threads: N` or `threads: (X, Y)`.
    pub threads: Option<Vec<Expr>>,
    /// `grid: (X, Y)`: blocks.
    pub grid: Option<Vec<Expr>>,
    /// `block: (X, Y)`: threads of a block.
    pub block: Option<Vec<Expr>>,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Operators between two operands. `&&` and `||` do not look at the second if the first decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// One of the table: `+ - * / % & | ^ << >> < <= > >= == !=`.
    Table(Operator),
    /// `&&`.
    AndThen,
    /// `||`.
    OrElse,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`.
    Neg,
    /// `!x`.
    Not,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `17`, `0xffu8`. A `-` in front is an operator of its own.
    Int(u128, Option<Ty>),
    /// `1.5`, `1e-3f32`. The digits, so that they are read with the precision of their type.
    Float(String, Option<Ty>),
    /// `true`, `false`.
    Bool(bool),
    /// `"text"`: for `print`, and to be refused in kernels.
    Text(String),
    /// A name.
    Name(String),
    /// `-x`, `!x`.
    Unary(UnaryOp, Box<Expr>),
    /// `x + y`. The span is that of the operator.
    Binary(BinaryOp, Span, Box<Expr>, Box<Expr>),
    /// `a *+ b + c`: rounds once.
    Fma(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `f(x)`, `f<T>(x)`.
    Call {
        /// Its name. A Rust path keeps its `::`.
        function: Name,
        /// A type argument.
        ty: Option<TypeExpr>,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `x.f(y)`; `Tensor.zeros<f32>(n)`, `threadgroup.barrier()` and `atomic.add(x[i], 1)` too, with a name in front.
    Method {
        /// What stands in front of the dot.
        receiver: Box<Expr>,
        /// The name.
        name: Name,
        /// A type argument.
        ty: Option<TypeExpr>,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `thread.x`.
    Field(Box<Expr>, Name),
    /// `x[i]`, `x[i, j]`, in Rust `x[(i, j)]`. `x[i][j]` is an index of an index.
    Index(Box<Expr>, Vec<Expr>),
    /// `x as f32`.
    Cast(Box<Expr>, TypeExpr),
    /// `if c { .. } else { .. }`. Without braces behind `else` there is another `if` as the block's value.
    If {
        /// The condition.
        cond: Box<Expr>,
        /// When it holds.
        then: Block,
        /// When not.
        otherwise: Option<Block>,
    },
    /// `[a, b, c]`.
    Array(Vec<Expr>),
    /// `[a; n]`.
    Repeat(Box<Expr>, Box<Expr>),
    /// `(a, b)`.
    Tuple(Vec<Expr>),
    /// `&!x`, `&mut x` (true) or `&x`.
    Borrow(bool, Box<Expr>),
    /// `launch f(..) with ..`, which is what the function gives; the host's only.
    Launch {
        /// The graph function.
        function: Name,
        /// Its arguments.
        args: Vec<Expr>,
        /// With how many threads.
        config: Box<LaunchConfig>,
    },
    /// What kernels have no room for, and what it is called: `go`, `await`, a closure, `match`, `?`, `unsafe`, a macro such as `panic!`.
    Foreign {
        /// What it is.
        what: Forbidden,
        /// How it is written, for the message.
        text: String,
    },
    /// The parser complained already.
    Wrong,
}

/// Constructs that are recognised so that they can be refused with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forbidden {
    /// `go { .. }`.
    Go,
    /// `await x`, `x.await`, `async`.
    Await,
    /// `panic!`, `assert!`, `unreachable!`, `todo!`, `throw`.
    Panic,
    /// `vec![..]`, `format!(..)`: makes something on the heap.
    Heap,
    /// `let [a, b] = ..`: patterns other than names and tuples of them.
    Pattern,
    /// Anything else of Rust or Vex that is no part of the language: closures, `match`, `?`, `unsafe`, other macros.
    Unsupported,
}
