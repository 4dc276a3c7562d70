//! `weave`: makes code for a block out of code for one thread.
//!
//! Before, a kernel is code for one thread (SIMT), as people write it. After, it is code for a block: uniform code, with the work
//! of the threads in `lanes`, which the C backend packs into vectors. The inverse of `spread`; no thread of the machine
//! ever stands for a thread of the kernel.
//!
//! * [`Blocking::Free`]: threads that neither meet nor see their block are cut into pieces of the axis x, and rows of it.
//! * [`Blocking::Blocks`]: a block is a block. `split` cuts the code where threads meet.
//!
//! In both, guards around the code become bounds of the loops (`trim`), and memory that is only written is said to be so.
//!
//! ```text
//! %i: i64 = global.x                               %b: i64 = block.x
//! %n: i64 = extent out_len                         …
//! %c: bool = lt %i, %n                        →    %h: i64 = min %hi, %n
//! if %c { … store out[%i] = %v }                   lanes %lo to %h |%i: i64| { … store out[%i] = %v }
//! ```

mod free;
mod group;
mod jam;
mod shape;
mod split;
mod trim;
mod uniform;
mod write;

pub use uniform::decisions;

use crate::code::{Body, Id, MemId, Op, Place, Stmt, SubgroupOp, Type, Var};
use crate::kernel::{Kernel, Memory, Space};
use crate::ops::Operator;
use crate::pass::{blend, cse, dce, simplify, written};
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// How the threads of a kernel are given to blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocking {
    /// As is best: the threads neither meet nor see their blocks.
    Free,
    /// Blocks of that many threads.
    Blocks([u32; 3]),
}

/// Why a kernel cannot be woven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwoven {
    /// The threads of the kernel depend on blocks.
    #[error("the threads of kernel `{0}` see their block or meet in it; launch it with a grid and a block")]
    SeesBlocks(String),
    /// Threads meet where not all of them may come.
    #[error(
        "kernel `{kernel}`: {what} stands in {place} that the threads of a block may take differently; move it out, or let \
         the condition hang only on what is the same in all threads of a block"
    )]
    Divergent {
        /// Name of the kernel.
        kernel: String,
        /// What threads meet at.
        what: &'static str,
        /// What stands around it.
        place: &'static str,
    },
    /// A ballot of more threads than there are bits.
    #[error("kernel `{0}`: a ballot has 64 bits, and the subgroup more threads")]
    Ballot(String),
    /// Fragments of matrices, which lanes of a GPU multiply together.
    #[error(
        "kernel `{0}` multiplies fragments of matrices (`mma`), for which a CPU has nothing; run it on a GPU that has"
    )]
    Fragments(String),
}

/// Size variables of a template: blocks first, then threads.
fn threads() -> [Size; 3] {
    [3, 4, 5].map(|k| Size::Var(SizeVar(k)))
}

/// Runs the pass on the kernel of a [`Template`](crate::launch::Template), with subgroups of that many threads.
///
/// ```
/// use slyz_sir::pass::weave::{self, Blocking};
/// let kernel = slyz_sir::text::parse_kernel(
///     "kernel iota<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, out_len>() grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
///        global readwrite out: i64[out_len]
///        %i: i64 = global.x
///        store out[%i], %i
///      }",
/// )?;
/// let woven = weave::run(&kernel, Blocking::Free, 16)?;
/// assert!(woven.to_string().contains("lanes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(kernel: &Kernel, form: Blocking, subgroup: u32) -> Result<Kernel, Unwoven> {
    let mut kernel = kernel.clone();
    kernel.body = tidied(kernel.body);
    let ballot = |op: &Op| matches!(op, Op::Subgroup(SubgroupOp::Ballot, _));
    if subgroup > 64 && any_op(&kernel.body, &ballot) {
        return Err(Unwoven::Ballot(kernel.name));
    }
    if any_op(&kernel.body, &|op| matches!(op, Op::Mma(..) | Op::LoadFragment { .. })) {
        return Err(Unwoven::Fragments(kernel.name));
    }
    let woven = match form {
        Blocking::Free if sees_blocks(&kernel) => return Err(Unwoven::SeesBlocks(kernel.name)),
        Blocking::Free => free::run(kernel, threads()),
        Blocking::Blocks(block) => {
            let kernel = settled(kernel, block, subgroup);
            // Blocks that nobody sees need not be kept. A block of one thread along an axis is a thread of that axis.
            let mut free = kernel.clone();
            swap_places(&mut free.body, Place::Block, Place::Global, &block);
            if sees_blocks(&free) {
                let mut kernel = kernel;
                swap_places(&mut kernel.body, Place::Global, Place::Block, &block);
                split::run(kernel, block, subgroup)?
            } else {
                let threads = [0, 1, 2].map(|d| free.grid[d].clone() * Size::Const(block[d].into()));
                free::run(free, threads)
            }
        }
    };
    Ok(written::run(woven))
}

/// The kernel with what blocks of that shape settle: places stand at its head, one name for each; how many threads and blocks there are
/// are numbers; and a place in the grid is known for one, however it is spelled.
fn settled(mut kernel: Kernel, block: [u32; 3], subgroup: u32) -> Kernel {
    let mut places: HashMap<(Place, u8), Id> = HashMap::new();
    let mut names = HashMap::new();
    take_places(&mut kernel.body, &mut places, &mut names);
    kernel.body.each_use_mut(&mut |id| *id = *names.get(id).unwrap_or(id));
    let size = |d: u8| i64::from(block[usize::from(d).min(2)]);
    let mut head: Vec<Stmt> = vec![];
    for (&(place, d), &id) in &places {
        let op = match place {
            Place::BlockDim => Op::Const(Scalar::i64(size(d))),
            Place::SubgroupSize => Op::Const(Scalar::i64(subgroup.into())),
            Place::GridDim => Op::Extent(kernel.grid[usize::from(d).min(2)].clone()),
            Place::Local if size(d) == 1 => Op::Const(Scalar::i64(0)),
            Place::Global | Place::Local | Place::Block | Place::Lane => Op::Place(place, d),
        };
        head.push(Stmt { binds: vec![Var { id, ty: Type::Scalar(Ty::I64) }], op });
    }
    head.sort_by_key(|s| s.binds[0].id);
    kernel.body.stmts.splice(0..0, head);
    kernel.body = tidied(kernel.body);
    let mut known = HashMap::new();
    collect(&kernel.body, &mut known);
    name_globals(&mut kernel.body, &known, &size);
    kernel.body = tidied(kernel.body);
    kernel
}

/// Says one place for another along axes where a block has one thread.
fn swap_places(body: &mut Body, from: Place, to: Place, block: &[u32; 3]) {
    for stmt in &mut body.stmts {
        if let Op::Place(place, d) = &mut stmt.op
            && *place == from
            && block[usize::from(*d).min(2)] == 1
        {
            *place = to;
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| swap_places(inner, from, to, block));
    }
}

/// Takes the places out of a body; all but the first name of each is replaced.
fn take_places(body: &mut Body, places: &mut HashMap<(Place, u8), Id>, names: &mut HashMap<Id, Id>) {
    for mut stmt in std::mem::take(&mut body.stmts) {
        if let Op::Place(place, d) = stmt.op {
            let id = stmt.binds[0].id;
            names.insert(id, *places.entry((place, d)).or_insert(id));
            continue;
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| take_places(inner, places, names));
        body.stmts.push(stmt);
    }
}

fn collect(body: &Body, known: &mut HashMap<Id, Op>) {
    for stmt in &body.stmts {
        if let ([bind], Op::Place(..) | Op::Apply(..) | Op::Const(_)) = (&stmt.binds[..], &stmt.op) {
            known.insert(bind.id, stmt.op.clone());
        }
        stmt.op.bodies().into_iter().for_each(|inner| collect(inner, known));
    }
}

/// `block * block_dim + local` is the place in the grid.
fn name_globals(body: &mut Body, known: &HashMap<Id, Op>, size: &dyn Fn(u8) -> i64) {
    let place = |id: &Id| match known.get(id) {
        Some(Op::Place(place, d)) => Some((*place, *d)),
        _ => None,
    };
    let constant = |id: &Id| match known.get(id) {
        Some(Op::Const(c)) if c.ty == Ty::I64 => Some(c.as_int() as i64),
        _ => None,
    };
    let start = |id: &Id| match (known.get(id), place(id)) {
        (Some(Op::Apply(Operator::Mul, args)), _) => [(0, 1), (1, 0)].into_iter().find_map(|(a, b)| {
            let (block, d) = place(&args[a])?;
            (block == Place::Block && constant(&args[b])? == size(d)).then_some(d)
        }),
        (_, Some((Place::Block, d))) if size(d) == 1 => Some(d),
        _ => None,
    };
    for stmt in &mut body.stmts {
        let sum = match &stmt.op {
            Op::Apply(Operator::Add, args) => [(0, 1), (1, 0)].into_iter().find_map(|(a, b)| {
                let d = start(&args[a])?;
                (place(&args[b])? == (Place::Local, d)).then_some(d)
            }),
            _ => None,
        };
        if let Some(d) = sum {
            stmt.op = Op::Place(Place::Global, d);
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| name_globals(inner, known, size));
    }
}

/// Scalar passes bring conditions and positions into the forms that are looked for.
fn tidied(body: Body) -> Body {
    dce::root(cse::root(blend::root(simplify::root(body))))
}

fn any_op(body: &Body, test: &dyn Fn(&Op) -> bool) -> bool {
    body.stmts.iter().any(|s| test(&s.op) || s.op.bodies().into_iter().any(|b| any_op(b, test)))
}

/// Is the test true of the operation, or of one inside it?
fn any_in(op: &Op, test: &dyn Fn(&Op) -> bool) -> bool {
    test(op) || op.bodies().into_iter().any(|b| any_op(b, test))
}

/// Do threads wait for each other in it?
fn meets(op: &Op) -> bool {
    any_in(op, &|op| matches!(op, Op::Barrier(_) | Op::Subgroup(..)))
}

fn sees_blocks(kernel: &Kernel) -> bool {
    let sees = |op: &Op| match op {
        Op::Place(place, _) => *place != Place::Global,
        Op::Barrier(_) | Op::Subgroup(..) | Op::Lanes { .. } | Op::Prefixes { .. } => true,
        _ => false,
    };
    any_op(&kernel.body, &sees) || kernel.memories.iter().any(|m| matches!(m.space, Space::Shared | Space::Scratch))
}

/// Bytes of a thread's array past which it does not go on a stack, where it has as many of them as a vector has lanes.
const LARGE: u64 = 8 << 10;

/// Arrays of threads that are too large for a stack.
fn large_locals(memories: &[Memory]) -> Vec<MemId> {
    let large = |m: &Memory| {
        let elements = Size::product(&m.shape).constant().unwrap_or(u64::MAX);
        m.space == Space::Local && elements.saturating_mul(m.ty.bytes() as u64) > LARGE
    };
    (0..).map(MemId).zip(memories).filter(|(_, m)| large(m)).map(|(id, _)| id).collect()
}

/// Does the operation, or one inside it, touch the memory?
fn touches(op: &Op, id: MemId) -> bool {
    any_in(op, &move |op| match op {
        Op::Load { memory, .. } | Op::Store { memory, .. } | Op::Check { memory, .. } => *memory == id,
        _ => false,
    })
}

/// Adds a last axis to accesses of these memories.
fn spread_one(op: &mut Op, memories: &[MemId], place: Id) {
    if let Op::Load { memory, index } | Op::Store { memory, index, .. } | Op::Check { memory, index } = op
        && memories.contains(memory)
    {
        index.push(place);
    }
    op.bodies_mut().into_iter().for_each(|body| spread_over(body, memories, place));
}

fn spread_over(body: &mut Body, memories: &[MemId], place: Id) {
    body.stmts.iter_mut().for_each(|s| spread_one(&mut s.op, memories, place));
}
