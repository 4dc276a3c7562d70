//! Code: bodies of statements, shared by both levels of SIR.
//!
//! A [`Body`] is a list of statements in an order where every name is bound before it is used, with parameters
//! in front and results behind. Each [`Stmt`] binds the results of one [`Op`]. Names ([`Id`]) are unique in a
//! whole program or kernel, so code can be moved between bodies without renaming; only copying needs fresh names.
//!
//! Some operations exist at the program level only (arrays as values), some at the kernel level only (memory,
//! threads); scalars, branches, loops and calls exist at both, so that every pass over them is written once.

use crate::ops::Operator;
use crate::raw::{Parameter, RawKernel};
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::sync::Arc;

/// A name, unique in its program or kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

/// A function in the `functions` of a program or kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FnId(pub u32);

/// A memory in the `memories` of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemId(pub u32);

/// The type of a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One value.
    Scalar(Ty),
    /// An array, outermost axis first. Rank 1 or more; only at the program level.
    Array(Ty, Vec<Size>),
}

impl Type {
    /// The element type of an array, or the type of a scalar.
    pub fn elem(&self) -> Ty {
        match self {
            Type::Scalar(ty) | Type::Array(ty, _) => *ty,
        }
    }

    /// The shape; empty for a scalar.
    pub fn shape(&self) -> &[Size] {
        match self {
            Type::Scalar(_) => &[],
            Type::Array(_, shape) => shape,
        }
    }

    /// An array type, or the scalar type when the shape is empty.
    pub fn of(ty: Ty, shape: Vec<Size>) -> Type {
        if shape.is_empty() { Type::Scalar(ty) } else { Type::Array(ty, shape) }
    }
}

/// A name with its type, where it is bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Var {
    /// The name.
    pub id: Id,
    /// Its type.
    pub ty: Type,
}

/// Parameters, statements, results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Body {
    /// Bound on entry.
    pub params: Vec<Var>,
    /// In order of evaluation.
    pub stmts: Vec<Stmt>,
    /// What the body gives back.
    pub results: Vec<Id>,
}

/// `binds = op`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stmt {
    /// One name per result of the operation.
    pub binds: Vec<Var>,
    /// What is computed.
    pub op: Op,
}

/// An associative operation with a neutral element, over tuples of scalars.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Monoid {
    /// The neutral element, one scalar per component; bound outside.
    pub neutral: Vec<Id>,
    /// `2k` parameters, left operand first, `k` results.
    pub combine: Body,
    /// Whether the order of operands may change. Without it only the grouping may.
    pub commutative: bool,
}

/// A scalar function that stays a function in generated code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// An identifier, unique in its program or kernel.
    pub name: String,
    /// Scalar parameters and results; refers to nothing outside.
    pub body: Body,
}

/// A call of a raw kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawCall {
    /// Which.
    pub kernel: Arc<RawKernel>,
    /// Arrays and scalars.
    pub args: Vec<Id>,
    /// How many threads there are in x, y, z, one to three numbers.
    pub threads: Vec<Size>,
    /// Extents that it is told, `i64` each (`u32` in WGSL).
    pub extents: Vec<Size>,
    /// The arrays that it gives.
    pub results: Vec<(Ty, Vec<Size>)>,
    /// What it computes, as code of the program: a parameter for each argument, a result for each array.
    pub meaning: Option<Body>,
}

impl RawCall {
    /// The same call of a kernel that nobody can look into.
    pub fn without_meaning(&self) -> RawCall {
        RawCall {
            kernel: self.kernel.clone(),
            args: self.args.clone(),
            threads: self.threads.clone(),
            extents: self.extents.clone(),
            results: self.results.clone(),
            meaning: None,
        }
    }

    /// What a source is passed, where arguments have these types.
    pub fn passed(&self, args: &[Type]) -> Vec<Parameter> {
        let is_array = |ty: &&Type| !ty.shape().is_empty();
        let arrays = args.iter().filter(is_array).map(|ty| Parameter::Array(ty.elem()));
        let results = self.results.iter().map(|(ty, _)| Parameter::Result(*ty));
        let scalars = args.iter().filter(|ty| !is_array(ty)).map(|ty| Parameter::Scalar(ty.elem()));
        let extents = self.extents.iter().map(|_| Parameter::Scalar(Ty::I64));
        arrays.chain(results).chain(scalars).chain(extents).collect()
    }

    /// The types of what it gives.
    pub fn result_types(&self) -> Vec<Type> {
        self.results.iter().map(|(ty, shape)| Type::Array(*ty, shape.clone())).collect()
    }

    /// Every size that the call is told.
    pub fn sizes(&self) -> Vec<&Size> {
        let shapes = self.results.iter().flat_map(|(_, shape)| shape);
        self.threads.iter().chain(&self.extents).chain(shapes).collect()
    }

    /// The same, to change.
    pub fn sizes_mut(&mut self) -> Vec<&mut Size> {
        let shapes = self.results.iter_mut().flat_map(|(_, shape)| shape);
        self.threads.iter_mut().chain(&mut self.extents).chain(shapes).collect()
    }
}

/// Where a thread stands. All are `i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Index in the whole grid: `block * block_dim + local`.
    Global,
    /// Index inside the block.
    Local,
    /// Index of the block in the grid.
    Block,
    /// Threads of a block.
    BlockDim,
    /// Blocks of the grid.
    GridDim,
    /// Index inside the subgroup; the dimension is 0.
    Lane,
    /// Threads of a subgroup; the dimension is 0.
    SubgroupSize,
}

/// A read-modify-write on memory that cannot be torn; gives the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// `add min max and or xor` of the operator table.
    Update(Operator),
    /// Replace.
    Exchange,
    /// Arguments `(expected, new)`: replace when equal.
    CompareExchange,
    /// Read, no argument; pairs with device-wide fences in look-back protocols.
    Load,
    /// Write; gives the old value like the rest.
    Store,
    /// On `i32`, arguments `(mark, numbers…)`: where the element is 0 it becomes the mark, and the elements behind it the `i64`
    /// numbers, low word first. Whoever comes later finds the place taken. Faults are told so.
    Claim,
}

/// What the threads of a subgroup do together. Threads must be converged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubgroupOp {
    /// Every thread gets the reduction of all active threads.
    Reduce(Operator),
    /// Every thread gets the reduction of the active threads up to itself.
    Scan(Operator),
    /// Arguments `(value, lane)`: the value of that lane.
    Shuffle,
    /// Arguments `(value, mask)`: the value of lane `self ^ mask`.
    ShuffleXor,
    /// Arguments `(value, delta)`: the value of lane `self - delta`; own value where there is none.
    ShuffleUp,
    /// Arguments `(value, delta)`: the value of lane `self + delta`; own value where there is none.
    ShuffleDown,
    /// The value of the first active lane.
    Broadcast,
    /// `bool` argument: a `u64` with one bit per lane.
    Ballot,
    /// `bool`: does it hold for some active lane?
    Any,
    /// `bool`: does it hold for every active lane?
    All,
}

/// What the words of the factors hold that a subgroup multiplies ([`Op::Mma`]).
///
/// With `p` elements in a word, `a` has 16 rows and `8 p` columns, `b` has `8 p` rows and 8 columns, `c` and `d` have 16 rows and 8 columns, and
/// their elements are `f32`. The words are `u32`, with the element that comes first in their low bits. Lane `l` holds, where `g = l / 4` and
/// `t = l % 4`,
///
/// | | row | column |
/// |---|---|---|
/// | word `i` of `a` | `g + 8 (i % 2)` | `p (t + 4 (i / 2))` and the next |
/// | word `i` of `b` | `p (t + 4 i)` and the next | `g` |
/// | element `i` of `c` and `d` | `g + 8 (i / 2)` | `2 t + i % 2` |
///
/// Products are exact. In which order they are added, and how sums on the way are rounded, is the machine's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fragment {
    /// Two `f16`.
    F16,
    /// Two `bf16`.
    BF16,
    /// An `f32`, of whose mantissa ten bits count and the others are left out.
    TF32,
}

impl Fragment {
    /// All of them.
    pub const ALL: [Fragment; 3] = [Fragment::F16, Fragment::BF16, Fragment::TF32];
    /// Words of `a`, words of `b`, and elements of `c` that a lane holds.
    pub const HELD: [usize; 3] = [4, 2, 4];

    /// Its word in the text of kernels.
    pub fn name(self) -> &'static str {
        match self {
            Fragment::F16 => "f16",
            Fragment::BF16 => "bf16",
            Fragment::TF32 => "tf32",
        }
    }

    /// The type of an element.
    pub fn ty(self) -> Ty {
        match self {
            Fragment::F16 => Ty::F16,
            Fragment::BF16 => Ty::BF16,
            Fragment::TF32 => Ty::F32,
        }
    }

    /// Elements of a word.
    pub fn in_word(self) -> usize {
        4 / self.ty().bytes()
    }
}

/// Who waits at a barrier, or sees the writes before a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The threads of a subgroup.
    Subgroup,
    /// The threads of a block.
    Block,
    /// All threads of the launch. A fence only: nobody can wait for another block.
    Device,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    // ---- both levels: scalars and control
    /// A constant.
    Const(Scalar),
    /// The value of a size, `i64`.
    Extent(Size),
    /// An operator of the table.
    Apply(Operator, Vec<Id>),
    /// Conversion to a type ([`Scalar::cast`]).
    Cast(Ty, Id),
    /// The same bits as another type of the same width.
    Bitcast(Ty, Id),
    /// A shared function.
    Call(FnId, Vec<Id>),
    /// One of two bodies; both take `args` as parameters and give scalars (or nothing, in a kernel) of the same types.
    If {
        /// `bool`.
        cond: Id,
        /// Passed to whichever body runs. Positions that are inside only on one side travel this way, so that
        /// nothing that depends on them can be moved out of that side.
        args: Vec<Id>,
        /// When `cond` holds.
        then: Body,
        /// When not.
        otherwise: Body,
    },
    /// `for i in (lo..hi).step_by(step)`, carrying scalars and, at the program level, arrays. `lo`, `hi`, `step` share an integer
    /// type; `step` is positive.
    For {
        /// First value of the counter.
        lo: Id,
        /// Past the last.
        hi: Id,
        /// Added each turn.
        step: Id,
        /// State before the first turn.
        init: Vec<Id>,
        /// Parameters: counter, then state. Results: the next state.
        body: Body,
    },
    /// `while cond(state) { state = body(state) }`, carrying the same.
    While {
        /// State before the first turn.
        init: Vec<Id>,
        /// Parameters: state. Result: one `bool`.
        cond: Body,
        /// Parameters: state. Results: the next state.
        body: Body,
    },

    // ---- program level: arrays as values
    /// The element at a position, one `i64` per axis; always inside.
    At {
        /// The array.
        array: Id,
        /// The position.
        index: Vec<Id>,
    },
    /// The array whose element at `p` is `body(p)`. The body gives scalars, or arrays of one shape, which is appended.
    Tabulate {
        /// Rank 1 or more.
        shape: Vec<Size>,
        /// One `i64` parameter per axis.
        body: Body,
    },
    /// `body(p)` for all positions, combined. Row-major order counts unless the monoid is commutative.
    Fold {
        /// Rank 1 or more.
        shape: Vec<Size>,
        /// One `i64` parameter per axis; scalar results.
        body: Body,
        /// How to combine.
        monoid: Monoid,
    },
    /// Inclusive prefixes along the last axis of `shape`.
    Scan {
        /// Rank 1 or more.
        shape: Vec<Size>,
        /// One `i64` parameter per axis; scalar results.
        body: Body,
        /// How to combine.
        monoid: Monoid,
    },
    /// An array of `target` shape: the neutral element, or the elements of `onto`, with `body(p)`'s values combined into
    /// `body(p)`'s position in row-major order of `p`. What falls outside is dropped.
    Scatter {
        /// Positions to visit.
        shape: Vec<Size>,
        /// Results: one `i64` per target axis, then the values.
        body: Body,
        /// Shape of the result.
        target: Vec<Size>,
        /// The arrays it starts from, one per value; none where it starts from the neutral element.
        onto: Vec<Id>,
        /// How values that meet combine.
        monoid: Monoid,
    },
    /// The values at the positions that are kept, in order. Counts them into the size variable `kept`.
    Filter {
        /// The axis to go over.
        extent: Size,
        /// One `i64` parameter. Results: `bool`, then the values.
        body: Body,
        /// A `Counted` variable: the axis of the results.
        kept: crate::size::SizeVar,
    },

    /// The values of every line along the last axis of `shape` in the order of their keys, which are unsigned words, compared one
    /// after another; where keys are equal, in the order of positions.
    Sort {
        /// Rank 1 or more.
        shape: Vec<Size>,
        /// How many of the low bits of each word count, 1 to 32.
        widths: Vec<u32>,
        /// One `i64` parameter per axis. Results: a `u32` per width, the most significant first, then the values.
        body: Body,
    },

    /// A kernel that a person wrote in the language of a device, over whole arrays. It stands among the statements of the program,
    /// or in a loop of it, not inside of arrays.
    Raw(Box<RawCall>),

    // ---- kernel level: threads and memory
    /// Where this thread stands.
    Place(Place, u8),
    /// Reads `binds.len()` consecutive elements (1, 2, 4, 8 or 16) starting at the index.
    Load {
        /// From where.
        memory: MemId,
        /// One `i64` per axis of the memory.
        index: Vec<Id>,
    },
    /// The threads of a subgroup of 32 read four matrices, of eight rows of four words each. Lane `8 i + r` names where row `r` of matrix `i`
    /// begins. Results: a word of each matrix, for lane `l` word `l % 4` of row `l / 4`. Turned, words are two elements of 16 bits, and lane `l`
    /// gets those of column `l / 4` in the rows `2 (l % 4)` and the next: what [`Op::Mma`] wants of a factor that lies across.
    LoadFragment {
        /// From where, a memory of `u32` that the block shares.
        memory: MemId,
        /// One `i64` per axis of the memory; of the last, a multiple of four.
        index: Vec<Id>,
        /// Do lanes get columns?
        turned: bool,
    },
    /// Writes consecutive elements starting at the index.
    Store {
        /// To where.
        memory: MemId,
        /// One `i64` per axis of the memory.
        index: Vec<Id>,
        /// 1, 2, 4, 8 or 16 of them.
        values: Vec<Id>,
    },
    /// A read-modify-write; binds the old value.
    Atomic {
        /// What to do.
        op: AtomicOp,
        /// Where.
        memory: MemId,
        /// One `i64` per axis of the memory.
        index: Vec<Id>,
        /// Operands.
        args: Vec<Id>,
    },
    /// Is the element at the index inside the memory? `bool`. If it is not, the launch is told: it goes on, and fails at its
    /// end with the kernel, the memory, the index and the thread of one such fault. Guards the accesses of kernels that people write.
    Check {
        /// Which memory.
        memory: MemId,
        /// One `i64` per axis of the memory.
        index: Vec<Id>,
    },
    /// All threads of the scope wait here, and see each other's writes.
    Barrier(Scope),
    /// Writes before it are seen before writes after it.
    Fence(Scope),
    /// What the threads of a subgroup do together.
    Subgroup(SubgroupOp, Vec<Id>),
    /// The threads of a subgroup of 32 multiply two small matrices and add a third, `d = a · b + c`; see [`Fragment`]. Arguments of each
    /// lane: four words of `a`, two of `b`, four elements of `c`. Results: four elements of `d`.
    Mma(Fragment, Vec<Id>),
    /// The threads of the block share the turns `lo..hi`, each turn run once, and meet at the end (a barrier).
    /// With a monoid the results of the turns are folded, in order unless commutative, and every thread gets the value.
    ///
    /// This is the form block-wide work has before it is spread over threads: a strided loop on a GPU, vectors on a CPU.
    Lanes {
        /// First turn, the same in every thread.
        lo: Id,
        /// Past the last, the same in every thread.
        hi: Id,
        /// Parameter: the turn, `i64`. Results: what is folded.
        body: Body,
        /// How to fold, if anything.
        monoid: Option<Monoid>,
    },
    /// The turns `lo..hi` bring items, and each turn is told the fold of all items up to its own, behind `from`; the result is
    /// what is behind the last. For one thread, whose turns are vectors.
    ///
    /// Items are combined in order, in rows of [`PREFIX_ROW`] turns: within a row an item meets the one before it, what came
    /// of that meets what came of two before, then 4 and 8, where there is nothing the neutral element; last, what is before
    /// the row meets all of it.
    Prefixes {
        /// First turn.
        lo: Id,
        /// Past the last.
        hi: Id,
        /// What is before the first turn.
        from: Vec<Id>,
        /// Parameter: the turn, `i64`. Results: the item.
        body: Body,
        /// How items are combined.
        monoid: Monoid,
        /// Parameters: the turn, and the fold of all up to it. It has no results.
        put: Body,
    },
}

/// Turns of a row of [`Op::Prefixes`].
pub const PREFIX_ROW: usize = 16;

/// Operations that most code treats alike. A new one is put into its class here, and passes that look at classes know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Scalars of scalars, wherever and however often they are computed: `const`, `extent`, operators, conversions.
    Scalar,
    /// Where a thread stands.
    Place,
    /// A function.
    Call,
    /// Branches and loops.
    Control,
    /// Arrays as values, at the program level.
    Array,
    /// Memory, read, written or asked about.
    Memory,
    /// What threads do together.
    Meeting,
}

/// The operations of a [`Class`], as a pattern, for a match that treats them alike. One that names every operation of the classes it tells
/// apart, and takes the others as a whole, does not compile when there is an operation that it has no answer for.
///
/// ```
/// use slyz_sir::{class, code::Op};
///
/// fn is_element(op: &Op) -> bool {
///     match op {
///         Op::Load { .. } | Op::LoadFragment { .. } => true,
///         Op::Store { .. } | Op::Atomic { .. } | Op::Check { .. } => false,
///         class!(Scalar) | class!(Place) | class!(Call) | class!(Control) | class!(Array) | class!(Meeting) => false,
///     }
/// }
/// ```
#[macro_export]
macro_rules! class {
    (Scalar) => {
        $crate::code::Op::Const(_)
            | $crate::code::Op::Extent(_)
            | $crate::code::Op::Apply(..)
            | $crate::code::Op::Cast(..)
            | $crate::code::Op::Bitcast(..)
    };
    (Place) => {
        $crate::code::Op::Place(..)
    };
    (Call) => {
        $crate::code::Op::Call(..)
    };
    (Control) => {
        $crate::code::Op::If { .. } | $crate::code::Op::For { .. } | $crate::code::Op::While { .. }
    };
    (Array) => {
        $crate::code::Op::At { .. }
            | $crate::code::Op::Tabulate { .. }
            | $crate::code::Op::Fold { .. }
            | $crate::code::Op::Scan { .. }
            | $crate::code::Op::Scatter { .. }
            | $crate::code::Op::Filter { .. }
            | $crate::code::Op::Sort { .. }
            | $crate::code::Op::Raw(_)
    };
    (Memory) => {
        $crate::code::Op::Load { .. }
            | $crate::code::Op::LoadFragment { .. }
            | $crate::code::Op::Store { .. }
            | $crate::code::Op::Atomic { .. }
            | $crate::code::Op::Check { .. }
    };
    (Meeting) => {
        $crate::code::Op::Barrier(_)
            | $crate::code::Op::Fence(_)
            | $crate::code::Op::Subgroup(..)
            | $crate::code::Op::Mma(..)
            | $crate::code::Op::Lanes { .. }
            | $crate::code::Op::Prefixes { .. }
    };
}

impl Monoid {
    /// A copy whose operation is what `f` makes of it.
    fn with_combine(&self, f: &mut dyn FnMut(&Body) -> Body) -> Monoid {
        Monoid { neutral: self.neutral.clone(), combine: f(&self.combine), commutative: self.commutative }
    }

    /// The operator, when the monoid is a single one of the table with its operands in order.
    pub fn operator(&self) -> Option<Operator> {
        match (&self.combine.params[..], &self.combine.stmts[..], &self.combine.results[..]) {
            ([a, b], [Stmt { binds, op: Op::Apply(operator, args) }], [result])
                if binds.len() == 1 && binds[0].id == *result && args[..] == [a.id, b.id] =>
            {
                Some(*operator)
            }
            _ => None,
        }
    }
}

/// Calls `f` for every operand: one list of fields for reading (`iter`) and for renaming (`iter_mut`).
macro_rules! operands {
    ($op:expr, $f:ident, $iter:ident) => {
        match $op {
            Op::Const(_) | Op::Extent(_) | Op::Place(..) | Op::Barrier(_) | Op::Fence(_) => {}
            Op::Tabulate { .. } | Op::Filter { .. } | Op::Sort { .. } => {}
            Op::Apply(_, args) | Op::Call(_, args) => args.$iter().for_each($f),
            Op::Subgroup(_, args) | Op::Mma(_, args) => args.$iter().for_each($f),
            Op::Cast(_, arg) | Op::Bitcast(_, arg) => $f(arg),
            Op::If { cond, args, .. } => {
                $f(cond);
                args.$iter().for_each($f);
            }
            Op::For { lo, hi, step, init, .. } => {
                [lo, hi, step].into_iter().for_each(&mut *$f);
                init.$iter().for_each($f);
            }
            Op::While { init, .. } => init.$iter().for_each($f),
            Op::At { array, index } => {
                $f(array);
                index.$iter().for_each($f);
            }
            Op::Fold { monoid, .. } | Op::Scan { monoid, .. } => monoid.neutral.$iter().for_each($f),
            Op::Scatter { monoid, onto, .. } => monoid.neutral.$iter().chain(onto).for_each($f),
            Op::Raw(call) => call.args.$iter().for_each($f),
            Op::Load { index, .. } | Op::LoadFragment { index, .. } | Op::Check { index, .. } => {
                index.$iter().for_each($f)
            }
            Op::Store { index, values, .. } => index.$iter().chain(values).for_each($f),
            Op::Atomic { index, args, .. } => index.$iter().chain(args).for_each($f),
            Op::Lanes { lo, hi, monoid, .. } => {
                $f(lo);
                $f(hi);
                monoid.$iter().flat_map(|monoid| monoid.neutral.$iter()).for_each($f);
            }
            Op::Prefixes { lo, hi, from, monoid, .. } => {
                $f(lo);
                $f(hi);
                from.$iter().chain(monoid.neutral.$iter()).for_each($f);
            }
        }
    };
}

/// Every size of an operation: one list of fields for reading (`iter`) and for changing (`iter_mut`).
macro_rules! sizes {
    ($op:expr, $iter:ident, $raw:ident) => {
        match $op {
            Op::Raw(call) => call.$raw(),
            Op::Extent(size) | Op::Filter { extent: size, .. } => vec![size],
            Op::Tabulate { shape, .. } | Op::Fold { shape, .. } | Op::Scan { shape, .. } => shape.$iter().collect(),
            Op::Sort { shape, .. } => shape.$iter().collect(),
            Op::Scatter { shape, target, .. } => shape.$iter().chain(target).collect(),
            Op::Const(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::At { .. } => vec![],
            class!(Place) | class!(Call) | class!(Control) | class!(Memory) | class!(Meeting) => vec![],
        }
    };
}

impl Op {
    /// What it is treated as.
    pub fn class(&self) -> Class {
        match self {
            class!(Scalar) => Class::Scalar,
            class!(Place) => Class::Place,
            class!(Call) => Class::Call,
            class!(Control) => Class::Control,
            class!(Array) => Class::Array,
            class!(Memory) => Class::Memory,
            class!(Meeting) => Class::Meeting,
        }
    }

    /// The memory it is about, and where in it.
    pub fn access(&self) -> Option<(MemId, &[Id])> {
        match self {
            Op::Load { memory, index }
            | Op::LoadFragment { memory, index, .. }
            | Op::Store { memory, index, .. }
            | Op::Atomic { memory, index, .. }
            | Op::Check { memory, index } => Some((*memory, index)),
            class!(Scalar) | class!(Place) | class!(Call) | class!(Control) | class!(Array) | class!(Meeting) => None,
        }
    }

    /// Every size written in the operation itself, not those inside its bodies.
    pub fn sizes(&self) -> Vec<&Size> {
        sizes!(self, iter, sizes)
    }

    /// The same, to change.
    pub fn sizes_mut(&mut self) -> Vec<&mut Size> {
        sizes!(self, iter_mut, sizes_mut)
    }

    /// A copy whose bodies are what `f` makes of them, in the order they are written. Nothing inside them is copied before.
    pub fn with_bodies(&self, f: &mut dyn FnMut(&Body) -> Body) -> Op {
        match self {
            Op::If { cond, args, then, otherwise } => {
                Op::If { cond: *cond, args: args.clone(), then: f(then), otherwise: f(otherwise) }
            }
            Op::For { lo, hi, step, init, body } => {
                Op::For { lo: *lo, hi: *hi, step: *step, init: init.clone(), body: f(body) }
            }
            Op::While { init, cond, body } => Op::While { init: init.clone(), cond: f(cond), body: f(body) },
            Op::Tabulate { shape, body } => Op::Tabulate { shape: shape.clone(), body: f(body) },
            Op::Fold { shape, body, monoid } => {
                Op::Fold { shape: shape.clone(), body: f(body), monoid: monoid.with_combine(f) }
            }
            Op::Scan { shape, body, monoid } => {
                Op::Scan { shape: shape.clone(), body: f(body), monoid: monoid.with_combine(f) }
            }
            Op::Scatter { shape, body, target, onto, monoid } => {
                let shape = shape.clone();
                let target = target.clone();
                let onto = onto.clone();
                Op::Scatter { shape, body: f(body), target, onto, monoid: monoid.with_combine(f) }
            }
            Op::Filter { extent, body, kept } => Op::Filter { extent: extent.clone(), body: f(body), kept: *kept },
            Op::Sort { shape, widths, body } => {
                Op::Sort { shape: shape.clone(), widths: widths.clone(), body: f(body) }
            }
            Op::Raw(call) => {
                let meaning = call.meaning.as_ref().map(f);
                Op::Raw(Box::new(RawCall { meaning, ..call.without_meaning() }))
            }
            Op::Lanes { lo, hi, body, monoid } => {
                let body = f(body);
                let monoid = monoid.as_ref().map(|monoid| monoid.with_combine(f));
                Op::Lanes { lo: *lo, hi: *hi, body, monoid }
            }
            Op::Prefixes { lo, hi, from, body, monoid, put } => {
                let body = f(body);
                let monoid = monoid.with_combine(f);
                Op::Prefixes { lo: *lo, hi: *hi, from: from.clone(), body, monoid, put: f(put) }
            }
            class!(Scalar) | class!(Place) | class!(Call) | class!(Memory) => self.clone(),
            Op::At { .. } | Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) => self.clone(),
        }
    }

    /// Every name the operation uses directly, not those inside its bodies.
    pub fn each_operand(&self, f: &mut dyn FnMut(Id)) {
        let f: &mut dyn FnMut(&Id) = &mut |id| f(*id);
        operands!(self, f, iter)
    }

    /// The same, to rename.
    pub fn each_operand_mut(&mut self, f: &mut dyn FnMut(&mut Id)) {
        operands!(self, f, iter_mut)
    }

    /// The bodies of the operation, in the order they are written.
    pub fn bodies(&self) -> Vec<&Body> {
        match self {
            Op::If { then, otherwise, .. } => vec![then, otherwise],
            Op::While { cond, body, .. } => vec![cond, body],
            Op::For { body, .. } | Op::Tabulate { body, .. } | Op::Filter { body, .. } => vec![body],
            Op::Sort { body, .. } => vec![body],
            Op::Raw(call) => call.meaning.iter().collect(),
            Op::Fold { body, monoid, .. } | Op::Scan { body, monoid, .. } | Op::Scatter { body, monoid, .. } => {
                vec![body, &monoid.combine]
            }
            Op::Lanes { body, monoid, .. } => {
                std::iter::once(body).chain(monoid.as_ref().map(|m| &m.combine)).collect()
            }
            Op::Prefixes { body, monoid, put, .. } => vec![body, &monoid.combine, put],
            class!(Scalar) | class!(Place) | class!(Call) | class!(Memory) => vec![],
            Op::At { .. } | Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) => vec![],
        }
    }

    /// The same, to change.
    pub fn bodies_mut(&mut self) -> Vec<&mut Body> {
        match self {
            Op::If { then, otherwise, .. } => vec![then, otherwise],
            Op::While { cond, body, .. } => vec![cond, body],
            Op::For { body, .. } | Op::Tabulate { body, .. } | Op::Filter { body, .. } => vec![body],
            Op::Sort { body, .. } => vec![body],
            Op::Raw(call) => call.meaning.iter_mut().collect(),
            Op::Fold { body, monoid, .. } | Op::Scan { body, monoid, .. } | Op::Scatter { body, monoid, .. } => {
                vec![body, &mut monoid.combine]
            }
            Op::Lanes { body, monoid, .. } => {
                std::iter::once(body).chain(monoid.as_mut().map(|m| &mut m.combine)).collect()
            }
            Op::Prefixes { body, monoid, put, .. } => vec![body, &mut monoid.combine, put],
            class!(Scalar) | class!(Place) | class!(Call) | class!(Memory) => vec![],
            Op::At { .. } | Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) => vec![],
        }
    }

    /// Does it do more than give its results: write memory, synchronise, or count a size?
    pub fn has_effect(&self) -> bool {
        match self {
            Op::Store { .. } | Op::Atomic { .. } | Op::Check { .. } | Op::LoadFragment { .. } => true,
            Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) => true,
            Op::Filter { .. } | Op::Lanes { monoid: None, .. } | Op::Prefixes { .. } => true,
            _ => self.bodies().iter().any(|b| b.stmts.iter().any(|s| s.op.has_effect())),
        }
    }
}

impl Stmt {
    /// Does the operation carry arrays from turn to turn?
    pub fn carries_arrays(&self) -> bool {
        matches!(self.op, Op::For { .. } | Op::While { .. }) && self.binds.iter().any(|b| !b.ty.shape().is_empty())
    }
}

impl Body {
    /// Is there a loop in the body, or in one inside it, that carries arrays?
    pub fn has_array_loop(&self) -> bool {
        self.stmts.iter().any(|s| s.carries_arrays() || s.op.bodies().into_iter().any(Body::has_array_loop))
    }

    /// Calls `f` for every name used in the body and bound outside it.
    pub fn each_free(&self, f: &mut dyn FnMut(Id)) {
        let mut bound = std::collections::HashSet::new();
        self.walk_free(&mut bound, f);
    }

    fn walk_free(&self, bound: &mut std::collections::HashSet<Id>, f: &mut dyn FnMut(Id)) {
        bound.extend(self.params.iter().map(|p| p.id));
        for stmt in &self.stmts {
            stmt.op.each_operand(&mut |id| {
                if !bound.contains(&id) {
                    f(id)
                }
            });
            for body in stmt.op.bodies() {
                body.walk_free(bound, f);
            }
            bound.extend(stmt.binds.iter().map(|b| b.id));
        }
        for id in &self.results {
            if !bound.contains(id) {
                f(*id)
            }
        }
    }

    /// The names that the body itself binds, without those of the bodies inside it.
    pub fn names(&self) -> impl Iterator<Item = Id> {
        self.params.iter().chain(self.stmts.iter().flat_map(|s| &s.binds)).map(|var| var.id)
    }

    /// Calls `f` for every operand in the body and the bodies inside it, to rename. Binders are left alone.
    pub fn each_use_mut(&mut self, f: &mut dyn FnMut(&mut Id)) {
        for stmt in &mut self.stmts {
            stmt.op.each_operand_mut(f);
            for body in stmt.op.bodies_mut() {
                body.each_use_mut(f);
            }
        }
        self.results.iter_mut().for_each(f);
    }

    /// Calls `f` for every size in the body and the bodies inside it, those of types included, to change.
    pub fn each_size_mut(&mut self, f: &mut dyn FnMut(&mut Size)) {
        let of_type = |var: &mut Var, f: &mut dyn FnMut(&mut Size)| {
            if let Type::Array(_, shape) = &mut var.ty {
                shape.iter_mut().for_each(f);
            }
        };
        self.params.iter_mut().for_each(|param| of_type(param, f));
        for stmt in &mut self.stmts {
            stmt.binds.iter_mut().for_each(|bind| of_type(bind, f));
            stmt.op.sizes_mut().into_iter().for_each(&mut *f);
            stmt.op.bodies_mut().into_iter().for_each(|body| body.each_size_mut(f));
        }
    }

    /// Every name of the body that these names are computed from, or may not be computed without; themselves included.
    pub fn sources(&self, names: &[Id]) -> std::collections::HashSet<Id> {
        let mut direct = std::collections::HashMap::new();
        self.collect_sources(&mut direct);
        let mut found = std::collections::HashSet::new();
        let mut open = names.to_vec();
        while let Some(id) = open.pop() {
            if found.insert(id) {
                open.extend(direct.get(&id).into_iter().flatten());
            }
        }
        found
    }

    fn collect_sources(&self, direct: &mut std::collections::HashMap<Id, Vec<Id>>) {
        for stmt in &self.stmts {
            let mut operands = vec![];
            stmt.op.each_operand(&mut |id| operands.push(id));
            for inner in stmt.op.bodies() {
                // Everything inside hangs on what the statement is given, and the statement on what is inside.
                inner.names().for_each(|name| direct.entry(name).or_default().extend(&operands));
                operands.extend(&inner.results);
                inner.collect_sources(direct);
            }
            for bind in &stmt.binds {
                direct.entry(bind.id).or_default().extend(&operands);
            }
            if let Op::For { body, .. } | Op::While { body, .. } = &stmt.op {
                for param in stmt.op.bodies().into_iter().flat_map(|b| &b.params) {
                    direct.entry(param.id).or_default().extend(&body.results);
                }
            }
        }
    }

    /// A copy with every bound name replaced by a fresh one, and the parameters replaced by `args`.
    /// The copy has no parameters left.
    pub fn instantiate(&self, args: &[Id], fresh: &mut dyn FnMut() -> Id) -> Body {
        let mut names = std::collections::HashMap::new();
        names.extend(self.params.iter().map(|p| p.id).zip(args.iter().copied()));
        let mut copy = self.copied(&mut names, fresh);
        copy.params.clear();
        copy
    }

    /// A copy with every bound name, parameters included, replaced by a fresh one.
    pub fn freshened(&self, fresh: &mut dyn FnMut() -> Id) -> Body {
        let mut names = std::collections::HashMap::new();
        names.extend(self.params.iter().map(|p| (p.id, fresh())));
        self.copied(&mut names, fresh)
    }

    fn copied(&self, names: &mut std::collections::HashMap<Id, Id>, fresh: &mut dyn FnMut() -> Id) -> Body {
        let rename = |names: &std::collections::HashMap<Id, Id>, id: &mut Id| *id = *names.get(id).unwrap_or(id);
        let params = self.params.iter().map(|p| Var { id: names[&p.id], ty: p.ty.clone() }).collect();
        let mut stmts = Vec::with_capacity(self.stmts.len());
        for stmt in &self.stmts {
            let mut op = stmt.op.with_bodies(&mut |body| {
                names.extend(body.params.iter().map(|p| (p.id, fresh())));
                body.copied(names, fresh)
            });
            op.each_operand_mut(&mut |id| rename(names, id));
            names.extend(stmt.binds.iter().map(|b| (b.id, fresh())));
            let binds = stmt.binds.iter().map(|b| Var { id: names[&b.id], ty: b.ty.clone() }).collect();
            stmts.push(Stmt { binds, op });
        }
        let mut results = self.results.clone();
        results.iter_mut().for_each(|id| rename(names, id));
        Body { params, stmts, results }
    }
}

/// The largest number of any name bound in the body.
pub(crate) fn largest_id(body: &Body) -> u32 {
    let own = body.params.iter().chain(body.stmts.iter().flat_map(|s| &s.binds)).map(|v| v.id.0).max().unwrap_or(0);
    let inner = body.stmts.iter().flat_map(|s| s.op.bodies()).map(largest_id).max().unwrap_or(0);
    own.max(inner)
}
