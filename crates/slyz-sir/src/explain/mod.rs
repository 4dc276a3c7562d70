//! A compiled program in words and as a picture: what was fused, what was kept and why, and what each launch reads,
//! writes and computes.
//!
//! Sizes are symbolic, since one compilation serves every call; [`Explanation::at`] adds the numbers of one call.
//! Bytes are what must move at least, each array of a launch once: what a cache does not keep may move again.
//! It looks at plans and predicts nothing: no machine is asked, and no time is promised.
//!
//! `count.rs` is the arithmetic of symbolic numbers, `work.rs` counts operators, `text.rs` and `svg.rs` write.

mod count;
mod svg;
mod text;
mod work;

pub use count::Count;
pub use work::Work;

use crate::code::{Body, Type};
use crate::kernel::{Access, Buffer, BufferId, BufferUse, Kernel, Loop, Plan, ScalarArg, Space, Step, Turns};
use crate::lower::reuse::{self, Update};
use crate::pass::{self, Selection, fuse, layout};
use crate::program::Program;
use crate::raw::Language;
use crate::road::ProgramRoad;
use crate::size::{Size, SizeDecl, SizeVar};
use crate::types::Ty;
use std::collections::HashMap;

/// What became of a program. `Display` gives the text, [`Explanation::svg`] the picture.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The name of the program.
    pub name: String,
    /// What `fuse` did.
    pub fusion: Fusion,
    /// Arrays that lie otherwise than they are written: how they lie now, and how many reads are for it and against.
    pub turned: Vec<(Vec<Size>, [usize; 2])>,
    /// What became of updates, and of arrays that loops carry.
    pub updates: Vec<Update>,
    /// What runs, in order.
    pub stages: Vec<Stage>,
    /// The arrays and scalars in memory, as the plan numbers them.
    pub buffers: Vec<Buffer>,
    params: Vec<Type>,
    results: Vec<BufferId>,
    sizes: Vec<SizeDecl>,
    values: Vec<Option<u64>>,
}

/// What `fuse` did to the arrays of a program.
#[derive(Clone, Debug)]
pub struct Fusion {
    /// Arrays that the program computes as it was written.
    pub written: usize,
    /// Arrays that it computes after fusion, those inside a block included.
    pub left: usize,
    /// The arrays that are gone: their type, and how many.
    pub gone: Vec<(Type, usize)>,
    /// Arrays that are stored though something reads them: their shape, and why.
    pub kept: Vec<(Vec<Size>, String)>,
}

/// One step of a plan.
#[derive(Clone, Debug)]
pub enum Stage {
    /// A kernel runs.
    Launch(Launch),
    /// The host reads a number that later sizes depend on.
    Count {
        /// The size that gets its value.
        size: SizeVar,
        /// Where the number is.
        from: BufferId,
    },
    /// A temporary is not used any more.
    Free(BufferId),
    /// A loop begins, or a choice between two ways: in words, and how many turns there are if that is known.
    Enter(String),
    /// The loop ends.
    Leave,
}

/// What a library makes a product of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Floats.
    Floats,
    /// Bytes, in sums of 32 bits.
    Bytes,
}

/// One run of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The name of the kernel.
    pub kernel: String,
    /// How often it runs, as far as that is known: the turns of the loops around it.
    pub times: Count,
    /// Pieces of work that threads share.
    pub blocks: Count,
    /// Global memory, each buffer once.
    pub touches: Vec<Touch>,
    /// Scalar arguments of the program that are passed to it.
    pub scalars: Vec<usize>,
    /// Memory of each thread that works on a block: name, type and shape.
    pub scratch: Vec<(String, Ty, Vec<Size>)>,
    /// What it computes.
    pub work: Work,
    /// It is a product of matrices that a library makes, where there is one.
    pub by_library: Option<Library>,
    /// What a person wrote it in: nobody knows what it computes.
    pub by_hand: Option<Language>,
}

/// A buffer in a launch.
#[derive(Clone, Debug)]
pub struct Touch {
    /// The name in the kernel.
    pub name: String,
    /// The buffer.
    pub buffer: BufferId,
    /// Whether it is read, written or both.
    pub access: Access,
    /// Its bytes.
    pub bytes: Count,
}

impl Launch {
    /// The bytes that move at least.
    pub fn bytes(&self) -> Count {
        self.touches.iter().fold(Count::default(), |sum, touch| sum + touch.bytes.clone())
    }
}

/// The stages of steps that are taken so many times.
fn add_stages(plan: &Plan, steps: &[Step], times: &Count, stages: &mut Vec<Stage>) {
    let size = |size: &Size| {
        let name = |SizeVar(v): SizeVar| plan.sizes.get(v as usize).map_or_else(String::new, |d| d.name.clone());
        size.display(&name).to_string()
    };
    for step in steps {
        match step {
            Step::Launch { kernel, buffers, scalars } => {
                let Some(kernel) = plan.kernels.get(*kernel) else { continue };
                let launch = launch(plan, kernel, buffers, scalars);
                stages.push(Stage::Launch(Launch { times: times.clone(), ..launch }));
            }
            Step::Count { size, from } => stages.push(Stage::Count { size: *size, from: *from }),
            Step::Free(buffer) => stages.push(Stage::Free(*buffer)),
            Step::Loop(Loop { turns, steps, swaps, .. }) => {
                let swapped = match swaps.len() {
                    0 => "its arrays are changed in place".to_string(),
                    n => format!("{n} of its arrays and numbers in two buffers each, which change places"),
                };
                let (words, inner) = match turns {
                    Turns::Size(n) => (format!("loop, {} turns", size(n)), times.clone() * Count::from(n)),
                    Turns::Read(_) => ("loop, as many turns as is computed".to_string(), times.clone()),
                    Turns::While { steps: test, done, .. } => {
                        add_stages(plan, test, times, stages);
                        let when = if done.is_some() { "after some turns" } else { "at each turn" };
                        (format!("loop, while that holds, which is read back {when}"), times.clone())
                    }
                };
                stages.push(Stage::Enter(format!("{words}; {swapped}")));
                add_stages(plan, steps, &inner, stages);
                stages.push(Stage::Leave);
            }
            Step::Choose { work, most, small, large } => {
                let kernel = small.iter().find_map(|step| match step {
                    Step::Launch { kernel, .. } => plan.kernels.get(*kernel),
                    Step::Count { .. } | Step::Free(_) | Step::Loop(_) | Step::Choose { .. } => None,
                });
                let name = kernel.map_or("", |kernel| &kernel.name);
                let words = format!("where {} is at most {most}, all of it is one launch, {name}; else", size(work));
                stages.push(Stage::Enter(words));
                add_stages(plan, large, times, stages);
                stages.push(Stage::Leave);
            }
        }
    }
}

/// Explains a program that goes a road.
///
/// ```
/// use slyz_sir::{explain::explain_on, road::{ProgramRoad, Strategy}, text::parse_program};
///
/// let program = parse_program("program double<N>(%x: f32[N]) -> f32[N] {
///     %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
///     return %y
/// }")?;
/// let explanation = explain_on(&program, &ProgramRoad::to(Strategy::Cores)).at(&[Some(1024)]);
/// assert!(explanation.to_string().contains("8·N bytes = 8 KiB"));
/// assert!(explanation.svg().starts_with("<svg"));
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn explain_on(program: &Program, road: &ProgramRoad) -> Explanation {
    let optimised = road.optimize(program);
    explain(program, &optimised, &road.lower(&optimised))
}

/// Explains a program, what the passes made of it, and the plan that runs.
pub fn explain(program: &Program, optimised: &Program, plan: &Plan) -> Explanation {
    // Arrays that only lie otherwise are not new.
    let without = Selection::Without(vec!["layout".to_string()]);
    let unturned = pass::optimize_with(program, &without, &mut |_, _| {});
    let mut stages = vec![];
    add_stages(plan, &plan.steps, &Count::from(1), &mut stages);
    complete(&mut stages, optimised);
    Explanation {
        name: program.name.clone(),
        fusion: fusion(program, &unturned),
        turned: layout::turned(&unturned).into_iter().map(|turned| (turned.shape, turned.votes)).collect(),
        updates: reuse::updates(optimised),
        stages,
        buffers: plan.buffers.clone(),
        params: plan.params.iter().map(|p| p.ty.clone()).collect(),
        results: plan.results.iter().map(|(buffer, _)| *buffer).collect(),
        sizes: plan.sizes.clone(),
        values: vec![None; plan.sizes.len()],
    }
}

/// The loops of a tiled product do not tell how long they are together. If there is one such launch, its work is what the
/// others leave of the program's.
fn complete(stages: &mut [Stage], program: &Program) {
    let mut unknown = None;
    let mut rest = work::of_program(program);
    if rest.at_least {
        return;
    }
    for stage in stages {
        match stage {
            Stage::Launch(launch) if !launch.work.at_least => rest = rest.without(&launch.work),
            Stage::Launch(launch) => match unknown {
                None => unknown = Some(launch),
                Some(_) => return,
            },
            Stage::Count { .. } | Stage::Free(_) => {}
            // What loops do is not told by what is left.
            Stage::Enter(_) | Stage::Leave => return,
        }
    }
    if let Some(launch) = unknown {
        launch.work = rest;
    }
}

/// The global memory that a launch works with, each buffer once.
pub fn touches(plan: &Plan, kernel: &Kernel, buffers: &[BufferId]) -> Vec<Touch> {
    let mut touches: Vec<Touch> = vec![];
    let bound = kernel.memories.iter().filter_map(|memory| match memory.space {
        Space::Global(access) => Some((memory, access)),
        Space::Constant => Some((memory, Access::Read)),
        Space::Scratch | Space::Shared | Space::Local => None,
    });
    for ((memory, access), &buffer) in bound.zip(buffers) {
        if let Some(twice) = touches.iter_mut().find(|t| t.buffer == buffer) {
            twice.access = if twice.access == access { access } else { Access::ReadWrite };
            continue;
        }
        let shape = plan.buffers.get(buffer.0 as usize).map_or(&memory.shape, |b| &b.shape);
        touches.push(Touch { name: memory.name.clone(), buffer, access, bytes: bytes(memory.ty, shape) });
    }
    touches
}

fn launch(plan: &Plan, kernel: &Kernel, buffers: &[BufferId], scalars: &[ScalarArg]) -> Launch {
    let scratch = kernel.memories.iter().filter(|memory| match memory.space {
        Space::Global(_) | Space::Constant => false,
        Space::Scratch | Space::Shared | Space::Local => true,
    });
    let scratch = scratch.map(|memory| (memory.name.clone(), memory.ty, memory.shape.clone())).collect();
    let argument = |scalar: &ScalarArg| match scalar {
        ScalarArg::Argument(k) => Some(*k),
        ScalarArg::Turn(_) | ScalarArg::Const(_) | ScalarArg::Read(_) => None,
    };
    Launch {
        kernel: kernel.name.clone(),
        times: Count::from(1),
        blocks: Count::elements(&kernel.grid),
        touches: touches(plan, kernel, buffers),
        scalars: scalars.iter().filter_map(argument).collect(),
        scratch,
        work: work::of_kernel(kernel),
        by_library: kernel.product.as_ref().map(|found| if found.bytes { Library::Bytes } else { Library::Floats }),
        by_hand: kernel.raw.as_ref().map(|raw| raw.source.language),
    }
}

fn bytes(ty: Ty, shape: &[Size]) -> Count {
    Count::from(ty.bytes() as u64) * Count::elements(shape)
}

fn fusion(program: &Program, optimised: &Program) -> Fusion {
    let mut before = vec![];
    let mut after = vec![];
    arrays(&program.body, &mut before);
    arrays(&optimised.body, &mut after);
    let written = before.len();
    let left = after.len();
    let mut still: HashMap<&Type, usize> = HashMap::new();
    after.into_iter().for_each(|ty| *still.entry(ty).or_default() += 1);
    let (mut gone, mut places): (Vec<(Type, usize)>, HashMap<&Type, usize>) = (vec![], HashMap::new());
    for ty in before {
        if let Some(same) = still.get_mut(ty).filter(|same| **same > 0) {
            *same -= 1;
            continue;
        }
        let place = *places.entry(ty).or_insert_with(|| {
            gone.push((ty.clone(), 0));
            gone.len() - 1
        });
        gone[place].1 += 1;
    }
    let kept = fuse::kept(optimised).into_iter().map(|kept| (kept.shape, kept.why)).collect();
    Fusion { written, left, gone, kept }
}

/// The types of all arrays that a body computes.
fn arrays<'g>(body: &'g Body, found: &mut Vec<&'g Type>) {
    for stmt in &body.stmts {
        stmt.op.bodies().into_iter().for_each(|inner| arrays(inner, found));
        found.extend(stmt.binds.iter().map(|b| &b.ty).filter(|ty| !ty.shape().is_empty()));
    }
}

impl Explanation {
    /// The same with the numbers of a call: one value per size variable of the program, `None` where it is not known.
    pub fn at(mut self, sizes: &[Option<u64>]) -> Explanation {
        self.values.iter_mut().zip(sizes).for_each(|(value, size)| *value = *size);
        self
    }

    /// The launches, in order.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.stages.iter().filter_map(|stage| match stage {
            Stage::Launch(launch) => Some(launch),
            Stage::Count { .. } | Stage::Free(_) | Stage::Enter(_) | Stage::Leave => None,
        })
    }

    /// All work.
    pub fn work(&self) -> Work {
        self.launches().fold(Work::default(), |all, launch| all.and(&launch.work.clone().times(&launch.times)))
    }

    /// The bytes that all launches move at least.
    pub fn bytes(&self) -> Count {
        self.launches().fold(Count::default(), |sum, launch| sum + launch.bytes() * launch.times.clone())
    }

    /// Memory that a call needs beside its arguments and results.
    pub fn temporaries(&self) -> impl Iterator<Item = (BufferId, &Buffer)> {
        let numbered = self.buffers.iter().enumerate().map(|(k, b)| (BufferId(k as u32), b));
        numbered.filter(|(_, buffer)| buffer.role == BufferUse::Temporary)
    }

    /// The most bytes of temporaries that are alive at a time, where the sizes are known.
    pub fn peak(&self) -> Option<u128> {
        let size = |id: &BufferId| {
            let buffer = self.buffers.get(id.0 as usize).filter(|b| b.role == BufferUse::Temporary);
            buffer.map_or(Some(0), |b| self.value(&bytes(b.ty, &b.shape)))
        };
        let mut alive = std::collections::HashSet::new();
        let mut now = 0u128;
        let mut peak = 0;
        for stage in &self.stages {
            match stage {
                Stage::Launch(launch) => {
                    for touch in launch.touches.iter().filter(|t| alive.insert(t.buffer)) {
                        now = now.saturating_add(size(&touch.buffer)?);
                    }
                    peak = now.max(peak);
                }
                Stage::Free(buffer) => now = now.saturating_sub(size(buffer)?),
                Stage::Count { .. } | Stage::Enter(_) | Stage::Leave => {}
            }
        }
        Some(peak)
    }

    fn value(&self, count: &Count) -> Option<u128> {
        count.at(&|var| self.values.get(var.0 as usize).copied().flatten())
    }

    fn size_name(&self, var: SizeVar) -> String {
        self.sizes.get(var.0 as usize).map_or_else(|| format!("size{}", var.0), |decl| decl.name.clone())
    }
}
