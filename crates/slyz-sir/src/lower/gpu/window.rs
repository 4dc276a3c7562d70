//! Launches in pieces, for arrays that are larger than what a kernel may see of a buffer at once.
//!
//! A [`Windowed`] kernel does what its original does for some blocks of the grid, and sees a window of each array. [`Windowed::pieces`]
//! cuts a launch into such pieces: the grid is halved, outermost dimension first, until what the blocks of a piece touch (`reach`)
//! fits. That covers whatever works on its arrays piece by piece: maps and stencils, rows, folds and scans of chunks.
//!
//! Where a kernel writes to computed places, as a filter does, all its pieces are run for each window of that array, and stores
//! outside of the window are dropped. What stays an error: reading anywhere in an array that is too large.

use super::reach::{reach, value};
use crate::code::{Body, Id, MemId, Op, Place, Stmt};
use crate::kernel::{Access, Kernel, Memory, Space};
use crate::ops::Operator;
use crate::pass::{cse, dce, simplify};
use crate::size::{Size, SizeDecl, SizeError, SizeOrigin, SizeVar};
use crate::write::{Arithmetic, Formula, Lines, Write as _};
use std::ops::Range;

/// The most pieces of a launch.
const MOST_PIECES: usize = 1 << 16;

/// What one launch may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that a kernel sees of a buffer.
    pub window_bytes: u64,
    /// Windows begin at multiples of so many bytes. At least 16, so that accesses to neighbours stay aligned.
    pub alignment: u64,
    /// Blocks in each direction.
    pub blocks: u64,
}

/// Why a launch cannot be cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Scattered {
    /// A block may touch more of the array than a kernel sees.
    #[error("a block may touch {bytes} bytes of the array {memory}")]
    Array {
        /// The memory's name.
        memory: String,
        /// What the array has.
        bytes: u64,
    },
    /// There are more pieces than anybody would wait for.
    #[error("it needs more than {MOST_PIECES} launches")]
    Pieces,
    /// A size has no value.
    #[error(transparent)]
    Size(#[from] SizeError),
}

/// A part of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Of the original's grid.
    pub blocks: [Range<u64>; 3],
    /// Flat positions of each global and constant memory, in order.
    pub windows: Vec<Range<u64>>,
}

/// A kernel that sees windows of its arrays.
///
/// ```
/// use slyz_sir::lower::gpu::{Limits, Machine, Windowed, lower};
/// let program = slyz_sir::text::parse_program(
///     "program twice<N>(%x: f32[N]) -> (f32[N]) {
///        %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]
///          %b: f32 = add %a, %a
///          yield %b }
///        return %y }",
/// )?;
/// let plan = lower(&program, &Machine::metal());
/// let windowed = Windowed::new(&plan.kernels[0]);
/// let limits = Limits { window_bytes: 1 << 20, alignment: 256, blocks: 65_535 };
/// let pieces = windowed.pieces(&[Some(1 << 20)], &limits)?;
/// assert_eq!(pieces.len(), 4);
/// assert_eq!(pieces[1].windows, [1 << 18..1 << 19, 1 << 18..1 << 19]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Windowed {
    /// What to launch, with more sizes than the original. Memories have one axis: the window.
    pub kernel: Kernel,
    original: Kernel,
    /// By bound memory: its stores may go anywhere.
    scattered: Vec<bool>,
}

impl Windowed {
    /// The kernel in windows.
    pub fn new(kernel: &Kernel) -> Windowed {
        // Whether an index is computed from data does not depend on sizes.
        let ones = vec![Some(1); kernel.sizes.len()];
        let touched = reach(kernel, &ones, &[0..1, 0..1, 0..1]).unwrap_or_default();
        let scattered = |(k, memory): (usize, &Memory)| {
            let anywhere = touched.get(k).is_some_and(|t| t.anywhere);
            memory.space.is_bound().then_some(anywhere && memory.space == Space::Global(Access::Write))
        };
        let scattered: Vec<bool> = kernel.memories.iter().enumerate().filter_map(scattered).collect();
        let lines = Lines::new(kernel.fresh_ids());
        let mut rewrite = Rewrite { original: kernel, scattered: &scattered, lines };
        let body = rewrite.body(&kernel.body);
        let mut windowed = kernel.clone();
        windowed.body = dce::root(cse::root(simplify::root(body)));
        let mut declare = |name: String| {
            let taken = |name: &str| windowed.sizes.iter().any(|s| s.name == name);
            let name = std::iter::successors(Some(name), |name| Some(format!("{name}_"))).find(|name| !taken(name));
            windowed.sizes.push(SizeDecl { name: name.unwrap_or_default(), origin: SizeOrigin::Given });
        };
        let axes = ["x", "y", "z"];
        axes.iter().for_each(|axis| declare(format!("first_{axis}")));
        axes.iter().for_each(|axis| declare(format!("blocks_{axis}")));
        for memory in kernel.bound_memories() {
            declare(format!("first_{}", memory.name));
            declare(format!("length_{}", memory.name));
        }
        windowed.grid = [0, 1, 2].map(|d| if is_one(&kernel.grid[d]) { Size::Const(1) } else { blocks(kernel, d) });
        for (k, memory) in windowed.memories.iter_mut().filter(|m| m.space.is_bound()).enumerate() {
            if !memory.shape.is_empty() {
                memory.shape = vec![length(kernel, k)];
            }
        }
        Windowed { kernel: windowed, original: kernel.clone(), scattered }
    }

    /// The sizes of the kernel for a piece, given those of the original.
    pub fn sizes(&self, given: &[Option<u64>], piece: &Piece) -> Vec<Option<u64>> {
        let first = piece.blocks.iter().map(|b| b.start);
        let counts = piece.blocks.iter().map(|b| b.end - b.start);
        let windows = piece.windows.iter().flat_map(|w| [w.start, w.end - w.start]);
        let more = first.chain(counts).chain(windows).map(Some);
        given[..self.original.sizes.len()].iter().copied().chain(more).collect()
    }

    /// Cuts a launch of the original into pieces within limits.
    pub fn pieces(&self, sizes: &[Option<u64>], limits: &Limits) -> Result<Vec<Piece>, Scattered> {
        let mut grid = [0..0, 0..0, 0..0];
        for (blocks, size) in grid.iter_mut().zip(&self.original.grid) {
            blocks.end = value(size, sizes)?;
        }
        if grid.iter().any(Range::is_empty) {
            return Ok(vec![]);
        }
        let turns = self.turns(sizes, limits)?;
        // An array that is read anywhere is found at once.
        let first = grid.clone().map(|blocks| blocks.start..blocks.start + 1);
        self.windows(sizes, limits, &first)??;
        let mut pieces = vec![];
        let mut left = vec![grid];
        while let Some(blocks) = left.pop() {
            if pieces.len() + left.len() > MOST_PIECES {
                return Err(Scattered::Pieces);
            }
            let too_many = (0..3).find(|&d| blocks[d].end - blocks[d].start > limits.blocks);
            let cut = match too_many {
                Some(d) => d,
                None => match self.windows(sizes, limits, &blocks)? {
                    Ok(windows) => {
                        pieces.extend(turns.iter().map(|turn| self.in_turn(&blocks, &windows, turn)));
                        continue;
                    }
                    // Outermost first: that is how arrays lie.
                    Err(wide) => (0..3).rev().find(|&d| blocks[d].end - blocks[d].start > 1).ok_or(wide)?,
                },
            };
            let middle = blocks[cut].start + (blocks[cut].end - blocks[cut].start) / 2;
            let mut before = blocks.clone();
            let mut behind = blocks;
            (before[cut].end, behind[cut].start) = (middle, middle);
            left.extend([behind, before]);
        }
        Ok(pieces)
    }

    /// The windows of the arrays that stores go anywhere in, one turn after the other.
    fn turns(&self, sizes: &[Option<u64>], limits: &Limits) -> Result<Vec<Range<u64>>, Scattered> {
        let (mut longest, mut span) = (0, u64::MAX);
        let mut large = None;
        for (memory, _) in self.original.bound_memories().zip(&self.scattered).filter(|(_, scattered)| **scattered) {
            let length = value(&Size::product(&memory.shape), sizes)?;
            let each = memory.ty.bytes() as u64;
            if length.saturating_mul(each) > limits.window_bytes {
                large = Some((memory, length.saturating_mul(each)));
            }
            longest = longest.max(length);
            span = span.min(limits.window_bytes / limits.alignment * limits.alignment / each);
        }
        match large {
            None => Ok(std::iter::once(0..longest).collect()),
            // Whatever has been updated once must not be updated again.
            Some((memory, bytes)) if !is_repeatable(&self.original) || span == 0 => {
                Err(Scattered::Array { memory: memory.name.clone(), bytes })
            }
            Some(_) => {
                let starts = (0..longest).step_by(usize::try_from(span).unwrap_or(usize::MAX));
                Ok(starts.map(|start| start..(start + span).min(longest)).collect())
            }
        }
    }

    fn in_turn(&self, blocks: &[Range<u64>; 3], windows: &[(Range<u64>, u64)], turn: &Range<u64>) -> Piece {
        let window = |((window, length), &scattered): (&(Range<u64>, u64), &bool)| {
            if scattered { turn.start.min(*length)..turn.end.min(*length) } else { window.clone() }
        };
        Piece { blocks: blocks.clone(), windows: windows.iter().zip(&self.scattered).map(window).collect() }
    }

    /// The window that the blocks need of each memory, and the length of the memory; or the memory that needs too much.
    #[allow(clippy::type_complexity)]
    fn windows(
        &self,
        sizes: &[Option<u64>],
        limits: &Limits,
        blocks: &[Range<u64>; 3],
    ) -> Result<Result<Vec<(Range<u64>, u64)>, Scattered>, Scattered> {
        let touched = reach(&self.original, sizes, blocks)?;
        let touched = touched.iter().zip(&self.original.memories).filter(|(_, memory)| memory.space.is_bound());
        let mut windows = vec![];
        for ((touched, memory), &scattered) in touched.zip(&self.scattered) {
            let length = value(&Size::product(&memory.shape), sizes)?;
            let each = memory.ty.bytes() as u64;
            let bytes = length.saturating_mul(each);
            if bytes <= limits.window_bytes || scattered {
                windows.push((0..length, length));
                continue;
            }
            let Range { start, end } = touched.elements;
            let start = start.saturating_mul(each) / limits.alignment * limits.alignment / each;
            if end.saturating_sub(start).saturating_mul(each) > limits.window_bytes {
                return Ok(Err(Scattered::Array { memory: memory.name.clone(), bytes }));
            }
            windows.push((start..end, length));
        }
        Ok(Ok(windows))
    }
}

/// Does a second launch change nothing?
fn is_repeatable(kernel: &Kernel) -> bool {
    kernel.bound_memories().all(|memory| memory.space != Space::Global(Access::ReadWrite))
}

fn is_one(size: &Size) -> bool {
    size.constant() == Some(1)
}

// ---- the sizes that a windowed kernel has behind those of its original

fn more(kernel: &Kernel, number: usize) -> Size {
    Size::Var(SizeVar((kernel.sizes.len() + number) as u32))
}

/// The first block of a piece.
fn first_block(kernel: &Kernel, dimension: usize) -> Size {
    more(kernel, dimension)
}

/// The blocks of a piece.
fn blocks(kernel: &Kernel, dimension: usize) -> Size {
    more(kernel, 3 + dimension)
}

/// The first element of a window.
fn first(kernel: &Kernel, memory: usize) -> Size {
    more(kernel, 6 + 2 * memory)
}

/// The elements of a window.
fn length(kernel: &Kernel, memory: usize) -> Size {
    more(kernel, 7 + 2 * memory)
}

/// Writes the code of a windowed kernel.
struct Rewrite<'k> {
    original: &'k Kernel,
    scattered: &'k [bool],
    lines: Lines,
}

impl Rewrite<'_> {
    fn body(&mut self, body: &Body) -> Body {
        let outer = self.lines.take();
        for stmt in &body.stmts {
            let mut stmt = stmt.clone();
            match &mut stmt.op {
                Op::Place(place @ (Place::Block | Place::Global | Place::GridDim), d) => {
                    let (place, d) = (*place, *d);
                    stmt.op = self.place(place, d);
                }
                Op::Load { memory, index } | Op::Store { memory, index, .. } | Op::Atomic { memory, index, .. } => {
                    let memory = *memory;
                    if let Some(place) = self.in_window(memory, index) {
                        *index = vec![place];
                        stmt = self.masked(memory, place, stmt);
                    }
                }
                op => {
                    for body in op.bodies_mut() {
                        *body = self.body(body);
                    }
                }
            }
            self.lines.out().push(stmt);
        }
        let stmts = std::mem::replace(self.lines.out(), outer);
        Body { params: body.params.clone(), stmts, results: body.results.clone() }
    }

    /// Where the thread stands in the whole grid.
    fn place(&mut self, place: Place, dimension: u8) -> Op {
        let d = usize::from(dimension).min(2);
        let kernel = self.original;
        let first = match place {
            Place::GridDim => return Op::Extent(kernel.grid[d].clone()),
            _ if is_one(&kernel.grid[d]) => return Op::Place(place, dimension),
            Place::Global => first_block(kernel, d) * Size::Const(kernel.block[d].into()),
            _ => first_block(kernel, d),
        };
        let own = self.lines.value(Formula::Place(place, dimension));
        let first = self.lines.extent(&first);
        Op::Apply(Operator::Add, vec![own, first])
    }

    /// The number of a bound memory among its kind.
    fn number(&self, MemId(memory): MemId) -> usize {
        self.original.memories[..memory as usize].iter().filter(|m| m.space.is_bound()).count()
    }

    /// The flat position in the window, for a memory that has one.
    fn in_window(&mut self, memory: MemId, index: &[Id]) -> Option<Id> {
        let kernel = self.original;
        let declared = &kernel.memories[memory.0 as usize];
        let (&outermost, inner) = index.split_first()?;
        if !declared.space.is_bound() {
            return None;
        }
        let rows = inner.iter().zip(&declared.shape[1..]);
        let place = rows.fold(Formula::from(outermost), |place, (&at, extent)| place * extent + at);
        Some(self.lines.value(place - &first(kernel, self.number(memory))))
    }

    /// A store that may be meant for another window, under a condition.
    fn masked(&mut self, memory: MemId, place: Id, stmt: Stmt) -> Stmt {
        let number = self.number(memory);
        if !self.scattered[number] {
            return stmt;
        }
        let zero = self.lines.number(0);
        let length = self.lines.extent(&length(self.original, number));
        let cond = self.lines.value(place.not_below(zero).and(place.below(length)));
        let then = Body { stmts: vec![stmt], ..Body::default() };
        Stmt { binds: vec![], op: Op::If { cond, args: vec![], then, otherwise: Body::default() } }
    }
}
