//! What can go wrong in a launch, and how it is named.

use crate::code::Scope;
use crate::size::SizeError;
use std::fmt;

/// Who ran a statement: a thread of the block, or a turn of a [`Lanes`](crate::code::Op::Lanes) loop, which stands
/// for whichever thread takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// The thread at that place in its block.
    Thread([u32; 3]),
    /// The turn, counted from the first.
    Turn(u32),
}

/// Who, in which block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The block in the grid.
    pub block: [u64; 3],
    /// Who in the block.
    pub agent: Agent,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [bx, by, bz] = self.block;
        match self.agent {
            Agent::Thread([x, y, z]) => write!(f, "thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})"),
            Agent::Turn(k) => write!(f, "turn {k} of block ({bx}, {by}, {bz})"),
        }
    }
}

/// How an element of a memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic load.
    AtomicRead,
    /// Any other atomic.
    AtomicWrite,
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Touch::Read => "read",
            Touch::Write => "write",
            Touch::AtomicRead => "atomic read",
            Touch::AtomicWrite => "atomic update",
        })
    }
}

/// An access outside a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfBounds {
    /// Name of the kernel.
    pub kernel: String,
    /// Name of the memory.
    pub memory: String,
    /// The index of the first element of the access.
    pub index: Vec<i64>,
    /// How many consecutive elements the access has.
    pub width: usize,
    /// The shape of the memory.
    pub shape: Vec<u64>,
    /// Load or store.
    pub touch: Touch,
    /// Who.
    pub at: Position,
}

/// Two accesses to one element that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// Name of the kernel.
    pub kernel: String,
    /// Name of the memory.
    pub memory: String,
    /// The element.
    pub index: Vec<u64>,
    /// The access that ran first here.
    pub first: (Touch, Position),
    /// The access that ran second here.
    pub second: (Touch, Position),
}

/// A barrier that some threads do not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DivergentBarrier {
    /// Name of the kernel.
    pub kernel: String,
    /// Whose barrier.
    pub scope: Scope,
    /// The block.
    pub block: [u64; 3],
    /// Threads that arrived.
    pub arrived: Vec<[u32; 3]>,
    /// Threads of the scope that did not.
    pub missing: Vec<[u32; 3]>,
}

/// Why a launch or a plan stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// What was passed does not fit the kernel or plan.
    #[error("{name}: {what}")]
    Argument {
        /// Name of the kernel or plan.
        name: String,
        /// What does not fit, and what would.
        what: String,
    },
    /// A size has no value.
    #[error("{name}: {cause}; pass a value for it")]
    Size {
        /// Name of the kernel or plan.
        name: String,
        /// Why.
        cause: SizeError,
    },
    /// A memory does not fit this machine.
    #[error("{name}: `{memory}` of shape {shape:?} does not fit the memory of this machine")]
    TooLarge {
        /// Name of the kernel or plan.
        name: String,
        /// Name of the memory or buffer.
        memory: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// A launch cannot be cut into pieces.
    #[error("{name} in windows: {why}")]
    Scattered {
        /// Name of the kernel.
        name: String,
        /// What is in the way.
        why: crate::lower::gpu::Scattered,
    },
    /// An access outside a memory. The statement wrote nothing.
    #[error(
        "{}: {} of {} element(s) of `{}` at {:?}, outside its shape {:?}, by {}",
        .0.kernel, .0.touch, .0.width, .0.memory, .0.index, .0.shape, .0.at
    )]
    OutOfBounds(Box<OutOfBounds>),
    /// An access that a check refused. Nothing was read or written by it; everything else was done.
    #[error(transparent)]
    Fault(Box<crate::launch::Fault>),
    /// A read of an element that nobody wrote.
    #[error(
        "{kernel}: `{memory}` is read at {index:?} by {at}, but nothing was written there; memory of a block or thread starts undefined"
    )]
    Uninitialised {
        /// Name of the kernel.
        kernel: String,
        /// Name of the memory.
        memory: String,
        /// The element.
        index: Vec<u64>,
        /// Who.
        at: Box<Position>,
    },
    /// An access that the memory does not allow.
    #[error("{kernel}: {touch} of `{memory}`, which is declared {declared}; declare it read-write")]
    Forbidden {
        /// Name of the kernel.
        kernel: String,
        /// Name of the memory.
        memory: String,
        /// What was tried.
        touch: Touch,
        /// What the memory is.
        declared: &'static str,
    },
    /// Two accesses to one element that nothing orders.
    #[error(
        "{}: race on `{}` at {:?}: {} by {}, then {} by {}, with no barrier between them; put one, or use atomics",
        .0.kernel, .0.memory, .0.index, .0.first.0, .0.first.1, .0.second.0, .0.second.1
    )]
    Race(Box<Race>),
    /// A barrier that some threads do not reach.
    #[error(
        "{}: barrier ({:?}) in block {:?} reached by {} but not by {}; move it out of the branch or loop that splits them",
        .0.kernel, .0.scope, .0.block, few(&.0.arrived), few(&.0.missing)
    )]
    DivergentBarrier(Box<DivergentBarrier>),
    /// A loop over lanes that is not the same in every thread.
    #[error("{kernel}: lanes in block {block:?}: {what}")]
    DivergentLanes {
        /// Name of the kernel.
        kernel: String,
        /// The block.
        block: [u64; 3],
        /// What differs.
        what: String,
    },
    /// A shuffle from a lane that does not take part.
    #[error("{kernel}: shuffle from lane {lane}, which is not active, by {at}; the value would be undefined")]
    InactiveLane {
        /// Name of the kernel.
        kernel: String,
        /// The lane.
        lane: i128,
        /// Who asks.
        at: Box<Position>,
    },
    /// The launch takes too long.
    #[error(
        "{kernel}: more than {limit} turns of loops and blocks; a loop that waits for ever? raise `max_turns` if not"
    )]
    Turns {
        /// Name of the kernel.
        kernel: String,
        /// The limit.
        limit: u64,
    },
    /// Code that the verifier does not let through.
    #[error("malformed SIR: {0}")]
    Malformed(String),
}

/// A list of threads, cut short for people.
fn few(threads: &[[u32; 3]]) -> String {
    let shown: Vec<String> = threads.iter().take(4).map(|[x, y, z]| format!("({x}, {y}, {z})")).collect();
    let more = threads.len().saturating_sub(shown.len());
    let list = shown.join(", ");
    let noun = if threads.len() == 1 { "thread" } else { "threads" };
    if more > 0 { format!("{noun} {list} and {more} more") } else { format!("{noun} {list}") }
}
