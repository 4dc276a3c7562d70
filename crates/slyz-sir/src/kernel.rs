//! The kernel level: what one launch runs, and the plan that strings launches together.
//!
//! A kernel is code run by every thread of every block of a grid, over named memories. Code outside
//! [`Op::Lanes`] is written for one thread (SIMT); `Lanes` hands turns of a loop to the
//! threads of the block. A CPU kernel has blocks of one thread and all its parallelism inside a block in `Lanes`,
//! whose turns the C backend packs into vectors.

use crate::choices::Precision;
use crate::code::{Body, Function, Id, MemId, Op, Stmt, Var};
use crate::names::Names;
use crate::raw::RawCode;
use crate::size::{Size, SizeDecl, SizeVar};
use crate::types::{Scalar, Ty};

/// What may be done to a global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only loads.
    Read,
    /// Only stores; every element is written before the launch ends, or was never promised.
    Write,
    /// Anything, atomics included.
    ReadWrite,
}

/// What memories of a block begin at multiples of, where it has more of them than others beside it leave room for.
pub const SHARED_ALIGNMENT: u64 = 16;

/// Where a memory lives and who sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Passed by the launch; seen by all threads.
    Global(Access),
    /// One per block, of constant size; starts undefined.
    Shared,
    /// One per block, of any size: shared memory on a GPU when it fits, a slice of a worker's scratch on a CPU.
    Scratch,
    /// One per thread, of constant size; starts undefined.
    Local,
    /// Passed by the launch, read-only, the same address in all threads most of the time.
    Constant,
}

impl Space {
    /// Does a launch pass it?
    pub fn is_bound(self) -> bool {
        match self {
            Space::Global(_) | Space::Constant => true,
            Space::Shared | Space::Scratch | Space::Local => false,
        }
    }
}

/// A named piece of memory with a shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// An identifier, unique in the kernel.
    pub name: String,
    /// Element type.
    pub ty: Ty,
    /// Where it lives.
    pub space: Space,
    /// Row-major; empty for a single element.
    pub shape: Vec<Size>,
}

/// A product of matrices in global memories, as libraries of devices have it:
/// `result[.., i, j] = after(Σₖ left[.., i, k] · right[.., k, j])`. The extents are those of the memories; a factor of two axes is
/// the same for all matrices of a result with more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatrixProduct {
    /// What is written.
    pub result: MemId,
    /// Rows of it.
    pub left: Factor,
    /// Columns of it.
    pub right: Factor,
    /// What each sum is multiplied by, an `f64`.
    pub scale: Option<Scalar>,
    /// What is added then, one number for each column.
    pub bias: Option<MemId>,
    /// What becomes of it, last of all.
    pub activation: Option<Activation>,
    /// Elements of the factors, `i32`, are four bytes with signs each, one behind the other along `k`; the right one is turned, and the sums
    /// are those of products of bytes.
    pub bytes: bool,
}

/// What a library for products of matrices does with sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// What is below zero becomes zero.
    Rectified,
    /// `x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))`.
    Gelu,
}

impl Activation {
    /// Its word in the text of kernels.
    pub const WORDS: [(Activation, &str); 2] = [(Activation::Rectified, "rectified"), (Activation::Gelu, "gelu")];
}

/// A matrix, or matrices, of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    /// Where it is.
    pub memory: MemId,
    /// It stands in memory with its two axes exchanged.
    pub turned: bool,
}

/// Code for one launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// An identifier.
    pub name: String,
    /// Size variables; a launch gives each a value.
    pub sizes: Vec<SizeDecl>,
    /// Memories; a launch binds the global and constant ones, in order.
    pub memories: Vec<Memory>,
    /// Shared scalar functions.
    pub functions: Vec<Function>,
    /// Blocks in x, y, z.
    pub grid: [Size; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// How precise it was asked to be; where nothing was said, the device decides.
    pub precision: Option<Precision>,
    /// The product of matrices that the code is, up to the order of its sums: a device may have a library for that.
    pub product: Option<MatrixProduct>,
    /// What a person wrote in the language of a device, in place of a body.
    pub raw: Option<RawCode>,
    /// It is run thread by thread as a person wrote it, and never [raised](crate::raise).
    pub as_written: bool,
    /// What people called its values.
    pub names: Names,
    /// The parameters are scalars passed by the launch; no results.
    pub body: Body,
}

impl Kernel {
    /// The name of a size variable.
    pub fn size_name(&self, var: SizeVar) -> String {
        self.sizes.get(var.0 as usize).map_or_else(|| format!("size{}", var.0), |s| s.name.clone())
    }

    /// Every extent that the code counts with, apart from the shapes of memories.
    pub fn extents(&self) -> Vec<Size> {
        fn walk(body: &Body, found: &mut Vec<Size>) {
            for stmt in &body.stmts {
                if let Op::Extent(size) = &stmt.op {
                    found.push(size.clone());
                }
                stmt.op.bodies().into_iter().for_each(|body| walk(body, found));
            }
        }
        let mut found = self.grid.to_vec();
        found.extend(self.raw.iter().flat_map(|raw| raw.extents.iter().cloned()));
        self.functions.iter().map(|function| &function.body).chain([&self.body]).for_each(|b| walk(b, &mut found));
        found.sort();
        found.dedup();
        found
    }

    /// Does it work on numbers of that type?
    pub fn mentions(&self, ty: Ty) -> bool {
        fn in_body(body: &Body, ty: Ty) -> bool {
            let bound = |var: &Var| var.ty.elem() == ty;
            let in_stmt = |stmt: &Stmt| {
                stmt.binds.iter().any(bound) || stmt.op.bodies().into_iter().any(|inner| in_body(inner, ty))
            };
            body.params.iter().any(bound) || body.stmts.iter().any(in_stmt)
        }
        let mut bodies = self.functions.iter().map(|function| &function.body).chain([&self.body]);
        self.memories.iter().any(|memory| memory.ty == ty) || bodies.any(|body| in_body(body, ty))
    }

    /// The memories that a launch passes, in order.
    pub fn bound_memories(&self) -> impl Iterator<Item = &Memory> + Clone {
        self.memories.iter().filter(|memory| memory.space.is_bound())
    }

    /// A source of names that no code of the kernel uses.
    pub fn fresh_ids(&self) -> impl FnMut() -> Id + use<> {
        let bodies = self.functions.iter().map(|f| &f.body).chain([&self.body]);
        let mut next = bodies.map(crate::code::largest_id).max().unwrap_or(0);
        move || {
            next += 1;
            Id(next)
        }
    }
}

/// A buffer of a [`Plan`], in `Plan::buffers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// Who owns a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferUse {
    /// The array argument at that place among the parameters of the program.
    Argument(usize),
    /// The result at that place.
    Result(usize),
    /// Alive inside the plan only.
    Temporary,
}

/// A buffer that the plan reads or writes. A scalar that is computed on the device is a buffer of shape `[]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Element type.
    pub ty: Ty,
    /// Extents when it is allocated. A filter's output is allocated for the case that everything is kept.
    pub shape: Vec<Size>,
    /// Who owns it.
    pub role: BufferUse,
}

/// What a launch passes for a scalar parameter of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarArg {
    /// The scalar argument at that place among the parameters of the program.
    Argument(usize),
    /// The number of the turn, `i64`, of the loop around the launch with so many loops around it.
    Turn(u32),
    /// That number. Of raw kernels only: others have it in their code.
    Const(Scalar),
    /// What is in a buffer of shape `[]`, which is read back before the launch. Of raw kernels only: others read it themselves.
    Read(BufferId),
}

impl ScalarArg {
    /// The buffer that it is read from.
    pub fn read(&self) -> Option<BufferId> {
        match self {
            ScalarArg::Read(buffer) => Some(*buffer),
            ScalarArg::Argument(_) | ScalarArg::Turn(_) | ScalarArg::Const(_) => None,
        }
    }
}

/// How often the steps of a loop are taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Turns {
    /// As often as a size says.
    Size(Size),
    /// As often as an `i64` of shape `[]` says, which is read back before the first turn.
    Read(BufferId),
    /// While it holds: steps before each turn write a `bool` of shape `[]`, which is read back, at each turn or later.
    While {
        /// The steps.
        steps: Vec<Step>,
        /// What they write.
        holds: BufferId,
        /// An `i64` of shape `[]` with the number of turns for which it held. Where there is one, the launches of a turn
        /// for which it does not hold do nothing, nor does it hold again: turns may be taken before that is known.
        done: Option<BufferId>,
    },
}

/// Steps that are taken again and again. Its buffers are made once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// What it is called where somebody is told about it.
    pub name: String,
    /// How often.
    pub turns: Turns,
    /// One turn.
    pub steps: Vec<Step>,
    /// Buffers of one type and shape that change places after each turn: what it wrote is what the next one reads.
    pub swaps: Vec<(BufferId, BufferId)>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Runs a kernel. Its size variables are the plan's.
    Launch {
        /// Index in `Plan::kernels`.
        kernel: usize,
        /// For the global and constant memories of the kernel, in order.
        buffers: Vec<BufferId>,
        /// For the parameters of the kernel, in order.
        scalars: Vec<ScalarArg>,
    },
    /// Reads an `i64` of shape `[]` back and gives its value to a `Counted` size variable.
    Count {
        /// The variable.
        size: SizeVar,
        /// Where the count is.
        from: BufferId,
    },
    /// The temporary is not used any more. Not inside of loops and choices.
    Free(BufferId),
    /// Takes steps again and again.
    Loop(Loop),
    /// Two ways to the same results.
    Choose {
        /// The work that decides.
        work: Size,
        /// The most of it that the first way is taken for.
        most: u64,
        /// Taken when there is little.
        small: Vec<Step>,
        /// Taken when there is more.
        large: Vec<Step>,
    },
}

impl Step {
    /// Is it a loop whose turns data decide, or is one in it?
    pub fn is_open_loop(&self) -> bool {
        matches!(self, Step::Loop(Loop { turns: Turns::While { .. }, .. }))
            || self.inside().into_iter().flatten().any(Step::is_open_loop)
    }

    /// The lists of steps inside it, in order.
    pub fn inside(&self) -> Vec<&[Step]> {
        match self {
            Step::Launch { .. } | Step::Count { .. } | Step::Free(_) => vec![],
            Step::Loop(Loop { turns: Turns::While { steps: test, .. }, steps, .. }) => vec![test, steps],
            Step::Loop(Loop { steps, .. }) => vec![steps],
            Step::Choose { small, large, .. } => vec![small, large],
        }
    }

    /// The step and all steps inside it, as many as there are.
    pub fn len(&self) -> usize {
        1 + self.inside().into_iter().flatten().map(Step::len).sum::<usize>()
    }

    /// Never: for the sake of `len`.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Calls `f` for the step, and then for every step inside it, in order.
    pub fn each<'s>(&'s self, f: &mut dyn FnMut(&'s Step)) {
        f(self);
        self.inside().into_iter().flatten().for_each(|step| step.each(f));
    }

    /// Every buffer that it or a step inside it uses.
    pub fn buffers(&self) -> Vec<BufferId> {
        let mut found = vec![];
        self.each(&mut |step| match step {
            Step::Launch { buffers, scalars, .. } => {
                found.extend(buffers);
                found.extend(scalars.iter().filter_map(ScalarArg::read));
            }
            Step::Count { from, .. } => found.push(*from),
            Step::Free(id) => found.push(*id),
            Step::Loop(Loop { turns, swaps, .. }) => {
                found.extend(swaps.iter().flat_map(|&(a, b)| [a, b]));
                match turns {
                    Turns::Size(_) => {}
                    Turns::Read(from) => found.push(*from),
                    Turns::While { holds, done, .. } => found.extend([*holds].into_iter().chain(*done)),
                }
            }
            Step::Choose { .. } => {}
        });
        found
    }
}

impl Plan {
    /// All steps, those inside of others behind them.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut found = vec![];
        self.steps.iter().for_each(|step| step.each(&mut |step| found.push(step)));
        found
    }
}

/// A whole program as launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Name of the program.
    pub name: String,
    /// Size variables of the program.
    pub sizes: Vec<SizeDecl>,
    /// Parameters of the program, for messages and binding.
    pub params: Vec<Var>,
    /// What people called them.
    pub names: Names,
    /// Buffers.
    pub buffers: Vec<Buffer>,
    /// The true shape of each result, after `Counted` variables are known.
    pub results: Vec<(BufferId, Vec<Size>)>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// What to do, in order.
    pub steps: Vec<Step>,
}
