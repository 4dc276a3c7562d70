//! The meaning of the kernel level: one launch, thread by thread, with every mistake of the trade reported.
//!
//! All threads of a block run each statement together, under a mask that branches and loops narrow (lockstep SIMT);
//! blocks run one after the other, x fastest, so a block may wait for flags of the blocks before it. The turns of
//! `Lanes` run in batches of agents of their own. Instead of going wrong silently, as devices do, a launch stops at
//! accesses out of bounds, reads of undefined memory, data races (`race` says what counts), barriers that not all
//! threads reach, and loops that do not end.
//!
//! Parts: `error` names what goes wrong, `memory` holds elements, `race` orders accesses, `wave` holds values of
//! agents in step, `run` executes statements, `access` those on memory, `together` those that threads do together, `prefixes` goes along turns, `plan` strings launches.
//!
//! What this does not model: threads that run ahead of each other (a spin on a flag of the same block never ends and
//! is reported as too many turns), and weak memory beyond the rules of `race`.

mod access;
mod error;
mod fragments;
mod memory;
mod plan;
mod prefixes;
mod race;
mod run;
mod together;
mod wave;

pub use error::{Agent, DivergentBarrier, KernelError, OutOfBounds, Position, Race, Touch};
pub use plan::{run_plan, run_plan_in_windows, run_plan_with};

use super::Array;
use crate::code::Type;
use crate::kernel::{Kernel, Memory, Space};
use crate::size::{Size, SizeVar};
use crate::types::Scalar;
use memory::Bank;
use race::Order;
use run::Machine;
use wave::malformed;

/// The most threads a block may have here; more than any device allows.
const MAX_THREADS: u64 = 1 << 16;

/// How a launch is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchOptions {
    /// Threads of a subgroup.
    pub subgroup_size: u32,
    /// Bound on the turns of all loops, turns of `Lanes` and blocks together. A turn that many threads make in step
    /// counts once.
    pub max_turns: u64,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        LaunchOptions { subgroup_size: 32, max_turns: 1 << 30 }
    }
}

/// Runs a kernel. `memories` are its global and constant memories in order, `scalars` the parameters of its body.
///
/// After an error the memories hold what was written before the statement that failed.
///
/// ```
/// use slyz_sir::{code::*, interp::{kernel::{launch, LaunchOptions}, Array}, kernel::*, size::*, types::*};
///
/// // out[thread] = thread
/// let index = Var { id: Id(0), ty: Type::Scalar(Ty::I64) };
/// let kernel = Kernel {
///     name: "iota".into(),
///     sizes: vec![],
///     memories: vec![Memory { name: "out".into(), ty: Ty::I64, space: Space::Global(Access::Write), shape: vec![Size::Const(4)] }],
///     functions: vec![],
///     grid: [Size::Const(1), Size::Const(1), Size::Const(1)],
///     block: [4, 1, 1],
///     precision: None,
///     product: None,
///     raw: None,
///     as_written: false,
///     names: Default::default(),
///     body: Body {
///         params: vec![],
///         stmts: vec![
///             Stmt { binds: vec![index], op: Op::Place(Place::Global, 0) },
///             Stmt { binds: vec![], op: Op::Store { memory: MemId(0), index: vec![Id(0)], values: vec![Id(0)] } },
///         ],
///         results: vec![],
///     },
/// };
/// let mut memories = [Array { ty: Ty::I64, shape: vec![4], data: vec![0; 4] }];
/// launch(&kernel, &[], &mut memories, &[], &LaunchOptions::default())?;
/// assert_eq!(memories[0].data, [0, 1, 2, 3]);
/// # Ok::<(), slyz_sir::interp::kernel::KernelError>(())
/// ```
pub fn launch(
    kernel: &Kernel,
    sizes: &[u64],
    memories: &mut [Array],
    scalars: &[Scalar],
    options: &LaunchOptions,
) -> Result<(), KernelError> {
    let sizes: Vec<Option<u64>> = sizes.iter().copied().map(Some).collect();
    let declared: Vec<&Memory> = kernel.bound_memories().collect();
    if sizes.len() != kernel.sizes.len() {
        return Err(argument(kernel, format!("{} sizes are passed, {} are declared", sizes.len(), kernel.sizes.len())));
    }
    if memories.len() != declared.len() {
        let what = format!("{} memories are passed, {} are declared", memories.len(), declared.len());
        return Err(argument(kernel, what));
    }
    for (memory, array) in declared.iter().zip(&*memories) {
        let shape = shape(&kernel.name, &memory.shape, &sizes)?;
        let fits =
            (array.ty, &array.shape) == (memory.ty, &shape) && count(&shape).is_some_and(|len| len == array.data.len());
        if !fits {
            return Err(argument(
                kernel,
                format!(
                    "`{}` is {} of shape {shape:?}; passed are {} elements, {} of shape {:?}",
                    memory.name,
                    memory.ty,
                    array.data.len(),
                    array.ty,
                    array.shape
                ),
            ));
        }
    }
    let mut data: Vec<Vec<u64>> = memories.iter_mut().map(|a| std::mem::take(&mut a.data)).collect();
    let done = launch_on(kernel, &sizes, &mut data, scalars, options);
    memories.iter_mut().zip(data).for_each(|(array, data)| array.data = data);
    done
}

/// The same on bare elements: each list holds at least as many as the memory has, so that a buffer allocated for the
/// worst case can be bound to a memory of the size that was counted.
fn launch_on(
    kernel: &Kernel,
    sizes: &[Option<u64>],
    data: &mut [Vec<u64>],
    scalars: &[Scalar],
    options: &LaunchOptions,
) -> Result<(), KernelError> {
    let threads = kernel.block.iter().try_fold(1u64, |n, &b| n.checked_mul(b.into())).unwrap_or(u64::MAX);
    if threads == 0 || threads > MAX_THREADS {
        return Err(malformed(format!("{}: a block has 1 to {MAX_THREADS} threads, not {threads}", kernel.name)));
    }
    if options.subgroup_size == 0 {
        return Err(argument(kernel, "a subgroup has at least one thread".into()));
    }
    let grid = shape(&kernel.name, &kernel.grid, sizes)?;
    let blocks = count(&grid).filter(|&n| n < u32::MAX as usize && n as u64 <= options.max_turns);
    let Some(blocks) = blocks else {
        return Err(KernelError::Turns { kernel: kernel.name.clone(), limit: options.max_turns });
    };
    let passed: Vec<Type> = scalars.iter().map(|s| Type::Scalar(s.ty)).collect();
    if !kernel.body.params.iter().map(|p| &p.ty).eq(&passed) {
        return Err(argument(kernel, format!("scalars {scalars:?} do not fit the parameters of the kernel")));
    }
    let mut banks = make_banks(kernel, sizes, threads as usize, data)?;
    // Data is moved in here and back out below, whatever happens between.
    let bound = banks.iter_mut().filter(|b| b.is_global());
    bound.zip(data.iter_mut()).for_each(|(bank, data)| bank.data = std::mem::take(data));
    let mut machine = Machine {
        kernel,
        sizes,
        options: *options,
        turns: 0,
        banks,
        order: Order::new(threads as u32, options.subgroup_size),
        grid: [grid[0], grid[1], grid[2]],
        block: [0; 3],
        threads: threads as usize,
        depth: 0,
        fault: None,
    };
    let done = (0..blocks as u32).try_for_each(|block| machine.run_block(block, scalars));
    let done = done.and_then(|()| match machine.fault.take() {
        Some(fault) => Err(KernelError::Fault(Box::new(fault))),
        None => Ok(()),
    });
    let banks = machine.banks.into_iter().filter(|b| b.is_global());
    data.iter_mut().zip(banks).for_each(|(data, bank)| *data = bank.data);
    done
}

/// A bank for every memory of the kernel; the bound ones are still without their `data`.
fn make_banks(
    kernel: &Kernel,
    sizes: &[Option<u64>],
    threads: usize,
    data: &[Vec<u64>],
) -> Result<Vec<Bank>, KernelError> {
    let mut lengths = data.iter().map(Vec::len);
    let make = |memory: &Memory| {
        let Memory { name, ty, space, .. } = memory;
        let shape = shape(&kernel.name, &memory.shape, sizes)?;
        let too_large =
            || KernelError::TooLarge { name: kernel.name.clone(), memory: name.clone(), shape: shape.clone() };
        let len = count(&shape).ok_or_else(too_large)?;
        let copies = match space {
            Space::Global(_) | Space::Constant => {
                if lengths.next().is_none_or(|given| given < len) {
                    return Err(argument(kernel, format!("`{name}` needs {len} elements")));
                }
                return Ok(Bank::bound(name, *ty, *space, shape, len));
            }
            Space::Shared | Space::Scratch => 1,
            Space::Local => threads,
        };
        Bank::undefined(name, *ty, *space, shape.clone(), len, copies).ok_or_else(too_large)
    };
    kernel.memories.iter().map(make).collect()
}

/// The values of sizes.
fn shape(name: &str, shape: &[Size], sizes: &[Option<u64>]) -> Result<Vec<u64>, KernelError> {
    let value = |var: SizeVar| sizes.get(var.0 as usize).copied().flatten();
    let eval = |s: &Size| s.eval(&value).map_err(|cause| KernelError::Size { name: name.to_string(), cause });
    shape.iter().map(eval).collect()
}

/// The number of elements of a shape, if it fits the address space.
fn count(shape: &[u64]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let total = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent))?;
    usize::try_from(total).ok()
}

fn argument(kernel: &Kernel, what: String) -> KernelError {
    KernelError::Argument { name: kernel.name.clone(), what }
}
