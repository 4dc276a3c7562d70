//! The kernel level: what one launch runs, and the plan that strings launches together.
//!
//! A kernel is code run by every thread of every block of a grid, over named memories. Code outside
//! [`Op::Lanes`](crate::code::Op::Lanes) is written for one thread (SIMT); `Lanes` hands turns of a loop to the
//! threads of the block. A CPU kernel has blocks of one thread and all its parallelism inside a block in `Lanes`,
//! whose turns the C backend packs into vectors.

use crate::code::{Body, Function, Id, Var};
use crate::size::{Size, SizeDecl, SizeVar};
use crate::types::Ty;

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
    /// The parameters are scalars passed by the launch; no results.
    pub body: Body,
}

impl Kernel {
    /// The name of a size variable.
    pub fn size_name(&self, var: SizeVar) -> String {
        self.sizes.get(var.0 as usize).map_or_else(|| format!("size{}", var.0), |s| s.name.clone())
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
    /// The temporary is not used any more.
    Free(BufferId),
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
    /// Buffers.
    pub buffers: Vec<Buffer>,
    /// The true shape of each result, after `Counted` variables are known.
    pub results: Vec<(BufferId, Vec<Size>)>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// What to do, in order.
    pub steps: Vec<Step>,
}
