//! `raise`: the array program that a kernel by hand is.
//!
//! Most kernels that people write are array programs in disguise: each thread computes one element and stores it. Where that can be
//! shown, the program is made, and goes the road of all programs: wide accesses, tiles, products of matrices, vectors on CPUs.
//!
//! ```text
//! kernel: threads x, y                             program
//!   if y < M && x < N {                              tabulate [M, N] |y, x| {
//!     for k in 0..K { s += A[y*K + k] * B[k*N + x] }   fold [K] |k| { A[y, k] * B[k, x] } with add
//!     C[y*N + x] = s                            →    }
//!   }
//! ```
//!
//! What has to hold, of one launch with its numbers:
//!
//! - every tensor that is written is written at one position for each thread, and at another one for each other thread;
//!   what is read of it is that element;
//! - positions do not wrap around, and none is read outside of its tensor (the launch has been proven, or is checked here);
//! - threads meet only to share a tile: each stores one element, and what is read of it after the barrier is what that thread has stored.
//!
//! Anything else stays as written, and [`Unraised`] says why. Sums of floats get another order, unless the caller forbids it.
//!
//! | file | what |
//! |---|---|
//! | `poly` | positions as polynomials |
//! | `space` | which threads do something: guards that all stores stand behind |
//! | `layout` | flat tensors with rows and columns, and which thread writes what |
//! | `lift` | the code of a thread as the code of a position |
//! | `places`, `numbers` | positions and sizes in it |
//! | `memory` | what it loads and stores |
//! | `assemble` | the program of all positions |
//! | `control` | branches and loops in it, with what they store |
//! | `rows` | loops that write the row of a thread, and loops over more positions than there are threads |
//! | `sums` | loops that accumulate, as folds |
//! | `tiles` | what threads share |
//! | `summary` | what came of it, in words |

mod assemble;
mod control;
mod layout;
mod lift;
mod memory;
mod numbers;
mod places;
pub(crate) mod poly;
mod rows;
mod space;
mod summary;
mod sums;
mod tiles;

pub use summary::explain;

use crate::code::{Body, MemId, Op, Scope};
use crate::kernel::{Kernel, Space};
use crate::launch::Template;
use crate::pass::{bounds, optimize_kernel};
use crate::program::Program;
use crate::size::SizeVar;
use crate::types::Scalar;
use crate::verify;
use layout::Layouts;
use lift::Lift;
use std::collections::HashSet;

/// A kernel that may be an array program.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Without checks, and simplified.
    kernel: Kernel,
}

/// The numbers of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'l> {
    /// Of the size variables of the kernel.
    pub sizes: &'l [u64],
    /// Of its parameters.
    pub scalars: &'l [Scalar],
}

/// What is passed for a parameter of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passed {
    /// A global memory of the kernel, by its place among the memories; its extents are those of the parameter.
    Memory(usize),
    /// A constant memory, by its place among those.
    Constant(usize),
    /// A parameter of the kernel.
    Scalar(usize),
}

/// The array program that a launch of a kernel is.
#[derive(Clone, Debug)]
pub struct Raised {
    /// The program.
    pub program: Program,
    /// The values of its size variables; nothing where the launch is not known.
    pub sizes: Vec<Option<u64>>,
    /// What is passed for its parameters.
    pub params: Vec<Passed>,
    /// Which memories of the kernel its results are the new contents of.
    pub results: Vec<usize>,
    /// The parameters of the kernel whose numbers it depends on; with other numbers for the others it is the same.
    pub counted: Vec<usize>,
    /// Is it likely to be faster than the threads? It has folds or rows, or is a map over all elements without a look where it reads.
    pub pays: bool,
}

/// Why a kernel stays as it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unraised {
    /// It does something that array programs do not have.
    #[error("{0}")]
    Does(String),
    /// Threads that nobody can tell apart by what they write.
    #[error("`{0}` is not written at one position for each thread")]
    Position(String),
    /// It reads what other threads write.
    #[error("it reads `{0}`, which it writes, at another position than its own")]
    Neighbours(String),
    /// It writes a tensor nowhere.
    #[error("it writes no tensor")]
    Nothing,
    /// A position that may be outside of its tensor, wrap around or be negative.
    #[error("it is not known that positions in `{0}` stay inside")]
    Unproven(String),
    /// Threads read what is not stored for them.
    #[error("what threads share in `{0}` is not a tile that each loads an element of")]
    Shared(String),
    /// It is too large to think about.
    #[error("it is too large")]
    Large,
}

impl Unraised {
    /// The memory that it is about, if it is about one.
    pub fn memory(&self) -> Option<String> {
        match self {
            Unraised::Position(name) | Unraised::Neighbours(name) => Some(name.clone()),
            Unraised::Unproven(name) | Unraised::Shared(name) => Some(name.clone()),
            Unraised::Does(what) => what.split('`').nth(1).map(str::to_string),
            Unraised::Nothing | Unraised::Large => None,
        }
    }
}

fn does<T>(what: &str) -> Result<T, Unraised> {
    Err(Unraised::Does(what.to_string()))
}

/// Statements of a kernel that is looked at.
const MOST_STATEMENTS: usize = 2_000;

impl Candidate {
    /// A kernel that does nothing which array programs do not have.
    pub fn new(template: &Template) -> Result<Candidate, Unraised> {
        if template.kernel.as_written {
            return does("it says `as_written`");
        }
        let written = template.kernel.memories.iter().filter(|memory| memory.space.is_bound());
        if written.clone().any(|memory| memory.shape.is_empty()) {
            return does("it has a memory of a single element");
        }
        supported(&template.kernel, &template.kernel.body)?;
        if count(&template.kernel.body) > MOST_STATEMENTS {
            return Err(Unraised::Large);
        }
        let kernel = optimize_kernel(bounds::trust(template.kernel.clone()));
        Ok(Candidate { kernel })
    }

    /// The program of a launch in blocks of that shape, whose accesses are known to be inside. Without numbers it is the program of a launch that
    /// fits.
    pub fn raise(&self, block: [u32; 3], numbers: Option<Numbers<'_>>, reassociates: bool) -> Result<Raised, Unraised> {
        let kernel = &Kernel { block, ..self.kernel.clone() };
        // The first time through tells where tensors are accessed, the second one knows how they lie.
        let mut first = Lift::new(kernel, numbers, reassociates);
        first.look()?;
        let layouts = Layouts::of(&first)?;
        first.again(layouts).program()
    }
}

fn supported(kernel: &Kernel, body: &Body) -> Result<(), Unraised> {
    let name = |memory: MemId| kernel.memories.get(memory.0 as usize).map_or("", |memory| &memory.name[..]);
    for stmt in &body.stmts {
        match &stmt.op {
            Op::Atomic { memory, .. } => return does(&format!("it updates `{}` atomically", name(*memory))),
            Op::Subgroup(..) | Op::Mma(..) | Op::LoadFragment { .. } => return does("its subgroups work together"),
            Op::Fence(_) | Op::Lanes { .. } | Op::Prefixes { .. } => return does("its threads work together"),
            Op::Barrier(scope) if *scope != Scope::Block => return does("its threads work together"),
            Op::Load { memory, .. } | Op::Store { memory, .. } => {
                let space = kernel.memories.get(memory.0 as usize).map(|memory| memory.space);
                if let Some(Space::Local | Space::Scratch) = space {
                    return does(&format!("`{}` is memory of a thread", name(*memory)));
                }
            }
            _ => {}
        }
        stmt.op.bodies().into_iter().try_for_each(|inner| supported(kernel, inner))?;
    }
    Ok(())
}

/// Without the numbers and sizes that nobody mentions. A program that is not right, which would be a mistake of ours, is none.
fn tidy(mut raised: Raised) -> Result<Raised, Unraised> {
    let body = &mut raised.program.body;
    let inner = Body { params: vec![], ..body.clone() };
    let mut asked = HashSet::new();
    inner.each_free(&mut |id| {
        asked.insert(id);
    });
    let is_asked: Vec<bool> = body.params.iter().map(|param| asked.contains(&param.id)).collect();
    let mut kept = is_asked.iter();
    body.params.retain(|_| kept.next() == Some(&true));
    let mut kept = is_asked.iter();
    raised.params.retain(|_| kept.next() == Some(&true));
    let mut used = vec![false; raised.sizes.len()];
    body.each_size_mut(&mut |size| size.each_var(&mut |SizeVar(var)| used[var as usize] = true));
    let places: Vec<u32> =
        used.iter().scan(0, |next, &used| Some(std::mem::replace(next, *next + u32::from(used)))).collect();
    body.each_size_mut(&mut |size| *size = size.renamed(&mut |SizeVar(var)| SizeVar(places[var as usize])));
    let mut kept = used.iter();
    raised.program.sizes.retain(|_| kept.next() == Some(&true));
    let mut kept = used.iter();
    raised.sizes.retain(|_| kept.next() == Some(&true));
    let verified = verify::program(&raised.program);
    debug_assert_eq!(verified, Ok(()), "{}", raised.program);
    verified.map_or(Err(Unraised::Large), |()| Ok(raised))
}

fn count(body: &Body) -> usize {
    let inside = |op: &Op| op.bodies().into_iter().map(count).sum::<usize>();
    body.stmts.iter().map(|stmt| 1 + inside(&stmt.op)).sum()
}
