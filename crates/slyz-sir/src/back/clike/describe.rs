//! What a launch needs to know of a kernel: one description from which both the kernel's text and its host's are written.
//!
//! Buffers that are read come first, those that are written after them, then the uniforms (run-time sizes, scalars), so
//! that indices follow one rule. A kernel whose threads do not work together, and whose body is guarded by "is this
//! thread inside", is described by its exact number of threads, and the guard goes: the host launches no thread too many.

use crate::code::{Body, Id, MemId, Op, Place, Scope, Stmt, SubgroupOp};
use crate::kernel::{Access, Kernel, Memory, Space};
use crate::lower::gpu::Machine;
use crate::ops::Operator;
use crate::raw::RawCode;
use crate::size::{Size, SizeVar};
use crate::types::Ty;
use std::collections::{BTreeSet, HashMap};

/// A buffer that a launch binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSlot {
    /// In the kernel's text.
    pub name: String,
    /// Where it is bound.
    pub index: usize,
    /// Its place among the global and constant memories of the SIR kernel: that is the order of a launch's buffers.
    pub place: usize,
    /// In `Kernel::memories`.
    pub memory: MemId,
    /// Elements.
    pub ty: Ty,
    /// Extents.
    pub shape: Vec<Size>,
    /// Is it written?
    pub written: bool,
}

/// Where a uniform's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniformSource {
    /// A size variable.
    Size(SizeVar),
    /// The scalar at that place among the parameters of the kernel.
    Scalar(usize),
    /// The extent at that place among those of a raw kernel.
    Extent(usize),
}

/// A value that is the same in all threads of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// In the kernel's text.
    pub name: String,
    /// Where it is bound.
    pub index: usize,
    /// Its type.
    pub ty: Ty,
    /// Its value.
    pub source: UniformSource,
}

/// Memory of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSlot {
    /// In the kernel's text.
    pub name: String,
    /// Where it is bound, among memories of its kind.
    pub index: usize,
    /// In `Kernel::memories`.
    pub memory: MemId,
    /// Elements.
    pub ty: Ty,
    /// Extents; constant unless it is scratch.
    pub shape: Vec<Size>,
}

/// How many threads a launch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Exactly these, in x, y, z; the host chooses the blocks.
    Threads([Size; 3]),
    /// That many blocks in x, y, z, of the kernel's size.
    Blocks([Size; 3]),
}

/// What a launch needs to know of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The function's name.
    pub name: String,
    /// Buffers by index.
    pub buffers: Vec<BufferSlot>,
    /// Uniforms, their indices after those of the buffers.
    pub uniforms: Vec<Uniform>,
    /// Memories of a block.
    pub shared: Vec<SharedSlot>,
    /// How many threads.
    pub dispatch: Dispatch,
    /// Threads of a block in x, y, z, where the dispatch is by blocks.
    pub block: [u32; 3],
    /// Dimensions of positions, 1 to 3.
    pub rank: usize,
    /// Memories with atomics on them.
    pub atomics: BTreeSet<MemId>,
    /// Places that the code asks for.
    pub places: BTreeSet<PlaceName>,
    /// Does it count on the size of a subgroup?
    pub uses_subgroups: bool,
    /// Has the last subgroup of a block fewer threads than the others?
    pub last_subgroup_is_partial: bool,
    /// Do threads of a block wait for each other, or for lanes of their subgroup?
    pub meets: bool,
    /// Do its subgroups multiply fragments of matrices?
    pub multiplies: bool,
    /// The code, without the guard where there was one.
    pub kernel: Kernel,
}

/// A place whose value is handed to the kernel; block sizes are constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceName {
    /// Position in the grid.
    Global,
    /// Position in the block.
    Local,
    /// Position of the block.
    Block,
    /// Number of blocks.
    GridDim,
    /// Lane of the subgroup.
    Lane,
    /// Lanes of a subgroup.
    SubgroupSize,
}

impl PlaceName {
    /// The name of a place that is not a constant.
    pub fn of(place: Place) -> Option<PlaceName> {
        Some(match place {
            Place::Global => PlaceName::Global,
            Place::Local => PlaceName::Local,
            Place::Block => PlaceName::Block,
            Place::GridDim => PlaceName::GridDim,
            Place::Lane => PlaceName::Lane,
            Place::SubgroupSize => PlaceName::SubgroupSize,
            Place::BlockDim => return None,
        })
    }
}

/// What the code of a kernel uses.
#[derive(Default)]
struct Uses {
    places: BTreeSet<PlaceName>,
    sizes: BTreeSet<SizeVar>,
    dims: usize,
    subgroups: bool,
    meets: bool,
    block_dim: bool,
    shuffles_down: bool,
    multiplies: bool,
    atomics: BTreeSet<MemId>,
}

impl Uses {
    fn of(kernel: &Kernel) -> Uses {
        let mut uses = Uses::default();
        kernel.functions.iter().for_each(|f| uses.body(&f.body, kernel));
        uses.body(&kernel.body, kernel);
        uses
    }

    fn body(&mut self, body: &Body, kernel: &Kernel) {
        for stmt in &body.stmts {
            if let Op::Atomic { memory, .. } = &stmt.op {
                self.atomics.insert(*memory);
            }
            match &stmt.op {
                Op::Place(place, d) => {
                    self.block_dim |= *place == Place::BlockDim;
                    self.subgroups |= matches!(place, Place::Lane | Place::SubgroupSize);
                    if let Some(name) = PlaceName::of(*place) {
                        self.places.insert(name);
                        self.dims = self.dims.max(*d as usize + 1);
                    }
                }
                Op::Extent(size) => size.each_var(&mut |var| self.sizes.extend([var])),
                Op::LoadFragment { .. } => (self.subgroups, self.meets) = (true, true),
                Op::Load { memory, .. } | Op::Store { memory, .. } | Op::Atomic { memory, .. } => {
                    // All extents but the outermost are strides.
                    let shape = kernel.memories.get(memory.0 as usize).map_or(&[][..], |m| &m.shape);
                    shape.iter().skip(1).for_each(|s| s.each_var(&mut |var| self.sizes.extend([var])));
                }
                Op::Subgroup(op, _) => {
                    (self.subgroups, self.meets) = (true, true);
                    self.shuffles_down |= *op == SubgroupOp::ShuffleDown;
                }
                Op::Mma(..) => (self.subgroups, self.meets, self.multiplies) = (true, true, true),
                Op::Barrier(Scope::Subgroup) => (self.subgroups, self.meets) = (true, true),
                Op::Barrier(_) | Op::Lanes { .. } | Op::Prefixes { .. } => self.meets = true,
                _ => {}
            }
            stmt.op.bodies().into_iter().for_each(|body| self.body(body, kernel));
        }
    }
}

fn is_block_memory(memory: &Memory) -> bool {
    matches!(memory.space, Space::Shared | Space::Scratch)
}

fn is_written(memory: &Memory) -> bool {
    matches!(memory.space, Space::Global(Access::Write | Access::ReadWrite))
}

impl BufferSlot {
    /// That of a memory, by its number, before anything else.
    fn of(memory: usize, declared: &Memory) -> BufferSlot {
        BufferSlot {
            name: declared.name.clone(),
            index: 0,
            place: 0,
            memory: MemId(memory as u32),
            ty: declared.ty,
            shape: declared.shape.clone(),
            written: is_written(declared),
        }
    }
}

impl Description {
    /// Describes a kernel. `exact` says that a host can launch any number of threads; `free_name` makes names that the target has
    /// not taken.
    pub(super) fn new(
        kernel: &Kernel,
        machine: &Machine,
        exact: bool,
        free_name: &mut dyn FnMut(&str) -> String,
    ) -> Description {
        let unguarded = if exact { exact_threads(kernel) } else { None };
        let (kernel, dispatch) = match unguarded {
            Some((kernel, threads)) => (kernel, Dispatch::Threads(threads)),
            None => (kernel.clone(), Dispatch::Blocks(kernel.grid.clone())),
        };
        let mut uses = Uses::of(&kernel);
        let lanes = machine.subgroup.map_or(1, |s| s.size).max(1);
        let last_subgroup_is_partial = kernel.block.iter().product::<u32>() % lanes != 0;
        if uses.shuffles_down && last_subgroup_is_partial {
            uses.places.insert(PlaceName::Local);
        }
        let bound: Vec<(usize, &Memory)> =
            kernel.memories.iter().enumerate().filter(|(_, m)| m.space.is_bound()).collect();
        let mut order: Vec<usize> = (0..bound.len()).collect();
        order.sort_by_key(|&place| is_written(bound[place].1));
        let buffers: Vec<BufferSlot> = order
            .into_iter()
            .enumerate()
            .map(|(index, place)| {
                let (memory, declared) = bound[place];
                BufferSlot { index, place, name: free_name(&declared.name), ..BufferSlot::of(memory, declared) }
            })
            .collect();
        let size_ty = if machine.max_positions <= u32::MAX.into() { Ty::U32 } else { Ty::I64 };
        let sizes = uses.sizes.iter().map(|&var| (kernel.size_name(var), size_ty, UniformSource::Size(var)));
        let scalars = kernel.body.params.iter().enumerate();
        let named = |k: usize, id: Id| kernel.names.get(id).map_or_else(|| format!("arg{k}"), String::from);
        let scalars = scalars.map(|(k, p)| (named(k, p.id), p.ty.elem(), UniformSource::Scalar(k)));
        let uniforms = sizes
            .chain(scalars)
            .enumerate()
            .map(|(k, (name, ty, source))| Uniform { name: free_name(&name), index: buffers.len() + k, ty, source })
            .collect();
        let shared = kernel.memories.iter().enumerate().filter(|(_, m)| is_block_memory(m));
        let shared: Vec<SharedSlot> = shared
            .enumerate()
            .map(|(index, (memory, declared))| SharedSlot {
                name: free_name(&declared.name),
                index,
                memory: MemId(memory as u32),
                ty: declared.ty,
                shape: declared.shape.clone(),
            })
            .collect();
        let (Dispatch::Threads(extents) | Dispatch::Blocks(extents)) = &dispatch;
        let wide = |d: usize| {
            let blocks = matches!(dispatch, Dispatch::Blocks(_));
            extents[d].constant() != Some(1) || blocks && kernel.block[d] != 1
        };
        let rank = (0..3).filter(|&d| wide(d)).map(|d| d + 1).max().unwrap_or(1).max(uses.dims);
        Description {
            name: kernel.name.clone(),
            buffers,
            uniforms,
            rank,
            places: uses.places,
            atomics: uses.atomics,
            uses_subgroups: uses.subgroups,
            last_subgroup_is_partial,
            meets: uses.meets || !shared.is_empty(),
            shared,
            block: kernel.block,
            multiplies: uses.multiplies,
            dispatch,
            kernel,
        }
    }

    /// Describes a kernel that a person wrote: arrays, scalars and extents as they stand, in that order.
    pub fn of_raw(kernel: &Kernel, code: &RawCode) -> Description {
        let bound = kernel.memories.iter().enumerate().filter(|(_, memory)| memory.space.is_bound());
        let buffers: Vec<BufferSlot> = bound
            .enumerate()
            .map(|(place, (memory, declared))| BufferSlot { index: place, place, ..BufferSlot::of(memory, declared) })
            .collect();
        let scalars = kernel.body.params.iter().enumerate().map(|(k, p)| (p.ty.elem(), UniformSource::Scalar(k)));
        let extents = code.extents.iter().enumerate().map(|(k, _)| (Ty::I64, UniformSource::Extent(k)));
        let uniforms = scalars.chain(extents).enumerate().map(|(k, (ty, source))| {
            let name = format!("arg{k}");
            Uniform { name, index: buffers.len() + k, ty, source }
        });
        Description {
            name: code.source.entry.clone(),
            uniforms: uniforms.collect(),
            buffers,
            shared: vec![],
            dispatch: Dispatch::Blocks(kernel.grid.clone()),
            block: kernel.block,
            rank: 3,
            atomics: BTreeSet::new(),
            places: BTreeSet::new(),
            uses_subgroups: false,
            last_subgroup_is_partial: false,
            meets: true,
            multiplies: false,
            kernel: kernel.clone(),
        }
    }

    /// How many threads there are in x, y, z: more than are inside where the launch is by blocks.
    pub(super) fn threads(&self) -> [Size; 3] {
        match &self.dispatch {
            Dispatch::Threads(threads) => threads.clone(),
            Dispatch::Blocks(grid) => {
                let mut d = 0;
                grid.clone().map(|blocks| {
                    d += 1;
                    blocks * Size::Const(self.block[d - 1].into())
                })
            }
        }
    }
}

/// The kernel without its guard, and its exact number of threads, where that says the same.
fn exact_threads(kernel: &Kernel) -> Option<(Kernel, [Size; 3])> {
    let uses = Uses::of(kernel);
    let alone = !uses.meets && !uses.block_dim && uses.places.iter().all(|p| *p == PlaceName::Global);
    if !alone || kernel.memories.iter().any(is_block_memory) {
        return None;
    }
    let (Stmt { op: Op::If { cond, args, then, otherwise }, .. }, before) = kernel.body.stmts.split_last()? else {
        return unguarded_threads(kernel).map(|threads| (kernel.clone(), threads));
    };
    let guards =
        if otherwise.stmts.is_empty() && before.iter().all(|s| is_plain(&s.op)) { guards(before, *cond) } else { None };
    let Some(guards) = guards else { return unguarded_threads(kernel).map(|threads| (kernel.clone(), threads)) };
    let mut threads = [Size::Const(1), Size::Const(1), Size::Const(1)];
    for (d, slot) in threads.iter_mut().enumerate() {
        let mine: Vec<&Size> = guards.iter().filter(|(dim, _)| *dim == d).map(|(_, size)| size).collect();
        *slot = match mine[..] {
            [size] if covers(&kernel.grid[d], size, kernel.block[d]) => size.clone(),
            [] => exactly(&kernel.grid[d], kernel.block[d])?,
            _ => return None,
        };
    }
    let names: HashMap<Id, Id> = then.params.iter().map(|p| p.id).zip(args.iter().copied()).collect();
    let mut inner = then.clone();
    inner.each_use_mut(&mut |id| *id = *names.get(id).unwrap_or(id));
    let mut kernel = kernel.clone();
    kernel.body.stmts = before.iter().cloned().chain(inner.stmts).collect();
    remove_unused(&mut kernel.body);
    Some((kernel, threads))
}

fn unguarded_threads(kernel: &Kernel) -> Option<[Size; 3]> {
    let [x, y, z] = &kernel.grid;
    Some([exactly(x, kernel.block[0])?, exactly(y, kernel.block[1])?, exactly(z, kernel.block[2])?])
}

/// As many threads as the blocks have, where that is no more than a number of threads can be.
fn exactly(grid: &Size, block: u32) -> Option<Size> {
    match grid.constant() {
        Some(n) => n.checked_mul(block.into()).map(Size::Const),
        None => Some(grid.clone() * Size::Const(block.into())),
    }
}

/// Are there blocks enough for every thread below `size`?
fn covers(grid: &Size, size: &Size, block: u32) -> bool {
    match (grid.constant(), size.constant()) {
        (Some(grid), Some(size)) => grid.checked_mul(block.into()).is_some_and(|threads| threads >= size),
        _ => *grid == Size::CeilDiv(Box::new(size.clone()), block.into()) || block == 1 && grid == size,
    }
}

/// Scalars without effect: they may stand before the guard, or without it.
fn is_plain(op: &Op) -> bool {
    matches!(op, Op::Const(_) | Op::Extent(_) | Op::Place(..) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..))
}

/// `global.d < size` and such, joined by `and`.
fn guards(before: &[Stmt], cond: Id) -> Option<Vec<(usize, Size)>> {
    let op = |id: Id| before.iter().find(|s| s.binds.iter().any(|b| b.id == id)).map(|s| &s.op);
    match op(cond)? {
        Op::Apply(Operator::And, args) => Some([guards(before, args[0])?, guards(before, args[1])?].concat()),
        Op::Apply(Operator::Lt, args) => match (op(args[0])?, op(args[1])?) {
            (Op::Place(Place::Global, d), Op::Extent(size)) => Some(vec![(*d as usize, size.clone())]),
            (Op::Place(Place::Global, d), Op::Const(n)) => {
                Some(vec![(*d as usize, Size::Const(u64::try_from(n.as_int()).ok()?))])
            }
            _ => None,
        },
        _ => None,
    }
}

/// Drops statements at the top of the body that only the guard needed.
fn remove_unused(body: &mut Body) {
    let mut used: BTreeSet<Id> = body.results.iter().copied().collect();
    let mut kept = vec![];
    for stmt in std::mem::take(&mut body.stmts).into_iter().rev() {
        if is_plain(&stmt.op) && !stmt.binds.iter().any(|b| used.contains(&b.id)) {
            continue;
        }
        stmt.op.each_operand(&mut |id| used.extend([id]));
        stmt.op.bodies().into_iter().for_each(|b| b.each_free(&mut |id| used.extend([id])));
        kept.push(stmt);
    }
    kept.reverse();
    body.stmts = kept;
}
