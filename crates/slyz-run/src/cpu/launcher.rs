//! Kernels that people write, on the CPU: threads woven into vectors, a library for each form that launches need.
//!
//! ```text
//! template ── bounds, trust or report ──> weave ──> optimize ──> C ── toolchain (disk cache) ──> library
//! ```
//!
//! Launches that are proven to stay inside their arrays run code without checks; others tell faults in a few words of memory.

use super::launch::{Launch as Run, Layout};
use super::library::Library;
use super::numbers::{STREAMED, WIDE_EXTENT};
use super::toolchain::Toolchain;
use super::{Backend, Cpu, cost, interpreter_takes_over};
use crate::kernels::{bound_memories, extents};
use crate::launch::{Fitted, Interpreted, Outline, Proofs, constant_bytes, tells};
use crate::memo::Memo;
use crate::signature::elements;
use crate::{ArrayData, Buffer, Clock, Error, Launch, LaunchArray, LaunchTime, Launcher, Pool, hash, profile, warn};
use slyz_sir::kernel::{Access, Kernel, Memory, Plan, Space};
use slyz_sir::launch::Template;
use slyz_sir::pass::report;
use slyz_sir::pass::weave::{self, Unwoven};
use slyz_sir::road::{Destination, Road};
use slyz_sir::size::{Size, SizeVar};
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Forms of a kernel that are kept.
const KEPT_FORMS: usize = 32;
/// Threads of a block, as many as the verifier lets through.
const MOST: u32 = 1024;

/// What distinguishes the code of two launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    /// For kernels that see their blocks.
    block: Option<[u32; 3]>,
    /// Accesses are not looked at.
    trusted: bool,
}

/// A kernel in a form.
struct Woven {
    kernel: Kernel,
    extents: Vec<Size>,
    /// Its last memory is for faults.
    tells: bool,
}

/// A kernel, ready for the CPU.
pub(super) struct CpuLauncher {
    outline: Outline,
    backend: Backend,
    toolchain: Arc<Toolchain>,
    proofs: Proofs,
    woven: Memo<Woven>,
    libraries: Memo<Library>,
    constants: Vec<Buffer>,
    /// For what cannot be woven.
    interpreted: OnceLock<Interpreted>,
}

impl CpuLauncher {
    pub(super) fn new(
        template: &Arc<Template>,
        backend: Backend,
        toolchain: Arc<Toolchain>,
    ) -> Result<CpuLauncher, Error> {
        let outline = Outline::new(template)?;
        let memories = template.kernel.memories.iter().filter(|memory| memory.space == Space::Constant);
        let copy = |(memory, words): (&Memory, &Vec<u64>)| Buffer::copy_of(&constant_bytes(memory.ty, words));
        let constants = memories.zip(&template.constants).map(copy).collect::<Result<_, _>>()?;
        let (woven, libraries) = (Memo::new(KEPT_FORMS), Memo::new(KEPT_FORMS));
        let (proofs, interpreted) = (Proofs::default(), OnceLock::new());
        Ok(CpuLauncher { outline, backend, toolchain, proofs, woven, libraries, constants, interpreted })
    }

    /// The kernel in a form, or why it has none.
    fn woven(&self, form: Form) -> Result<Result<Arc<Woven>, Unwoven>, Error> {
        let mut why = None;
        let made = self.woven.get(hash::of(&form), || {
            let how = form.block.map_or(weave::Form::Free, weave::Form::Blocks);
            let road = Road { trusted: form.trusted, ..Road::to(Destination::Cores(how)) };
            let template = &self.outline.template;
            let kernel = road.end(template).map_err(|unwoven| {
                let error = self.broken(unwoven.to_string());
                why = Some(unwoven);
                error
            })?;
            let tells = tells(&kernel, template);
            let extents = extents(&kernel);
            Ok(Arc::new(Woven { kernel, extents, tells }))
        });
        match why {
            Some(unwoven) => Ok(Err(unwoven)),
            None => made.map(Ok),
        }
    }

    fn emit(&self, woven: &Woven, wide: bool) -> Result<String, Error> {
        let kernel = woven.kernel.clone();
        let (name, sizes, kernels) = (kernel.name.clone(), kernel.sizes.clone(), vec![kernel]);
        let (params, buffers, results, steps) = (vec![], vec![], vec![], vec![]);
        Ok((self.backend.emit)(&Plan { name, sizes, params, buffers, results, kernels, steps }, wide)?)
    }

    fn library(&self, form: Form, woven: &Woven, wide: bool) -> Result<Arc<Library>, Error> {
        self.libraries.get(hash::of(&(form, wide)), || {
            let source = self.emit(woven, wide)?;
            // SAFETY: the backend keeps the promise of `Cpu::with_backend`.
            let (library, _) = unsafe { self.toolchain.library(&source, 1) }?;
            Ok(Arc::new(library))
        })
    }

    /// The form for launches with any number of threads; of those that want blocks, with the usual ones.
    fn usual(&self) -> Result<Arc<Woven>, Error> {
        let nature = self.outline.nature;
        let block = if nature.free { None } else { Some(crate::launch::Field::usual_block(nature)) };
        self.woven(Form { block, trusted: false })?.map_err(|unwoven| self.broken(unwoven.to_string()))
    }

    fn broken(&self, why: String) -> Error {
        Error::Plan { name: self.outline.name().to_string(), why }
    }

    /// Runs it in the interpreter, since it cannot be compiled.
    fn interpret(&self, launch: Launch) -> Result<(), Error> {
        if self.interpreted.get().is_none() {
            let made = Interpreted::new(&self.outline.template)?;
            let _ = self.interpreted.set(made);
        }
        self.interpreted.get().map_or(Ok(()), |interpreted| interpreted.launch(launch))
    }

    fn run(&self, form: Form, woven: &Woven, fitted: &mut Fitted) -> Result<(), Error> {
        let Woven { kernel, extents, tells } = woven;
        let value = |size: &Size| {
            let too_large = || Error::TooLarge {
                what: format!("a size of kernel `{}`", kernel.name),
                why: "it is past the index type, 2^63 - 1".to_string(),
            };
            fitted.size(size).ok_or_else(too_large)
        };
        let values = |shape: &[Size]| shape.iter().map(value).collect::<Result<Vec<u64>, Error>>();
        let (mut wide, mut largest, mut streamed, mut scratch) = (false, 0, 0usize, vec![]);
        for memory in &kernel.memories {
            let shape = values(&memory.shape)?;
            let count = elements(&shape).unwrap_or(u64::MAX);
            wide |= count >= 2 * WIDE_EXTENT || shape.iter().any(|&extent| extent >= WIDE_EXTENT);
            let bytes = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(memory.ty.bytes());
            match memory.space {
                Space::Global(access) => {
                    largest = largest.max(count);
                    streamed = if access == Access::Write { streamed.saturating_add(bytes) } else { streamed };
                }
                Space::Scratch => scratch.push(bytes),
                Space::Constant | Space::Shared | Space::Local => {}
            }
        }
        for size in extents {
            wide |= value(size)? >= WIDE_EXTENT;
        }
        let blocks = elements(&values(&kernel.grid)?).filter(|&n| n <= i64::MAX as u64);
        let blocks = blocks.ok_or_else(|| Error::TooLarge {
            what: format!("the grid of kernel `{}`", kernel.name),
            why: "it has more blocks than the index type, 2^63 - 1, can count".to_string(),
        })?;
        let mut words: Vec<i64> = fitted.sizes.iter().map(|&n| n as i64).collect();
        // Behind the sizes stands whether results go past the caches.
        words.push((streamed >= STREAMED) as i64);
        let scalars: Vec<u64> = fitted.scalars.iter().map(|scalar| scalar.bits).collect();
        let work = self.work(fitted).max(largest.min(fitted.threads()));
        let library = self.library(form, woven, wide)?;
        let code = library.kernel(0).ok_or_else(|| self.broken("it has no code".to_string()))?;

        let mut faults = [0i32; report::WORDS];
        let sizes = fitted.sizes.clone();
        let (mut memories, mut held) = (vec![], vec![]);
        for array in &mut fitted.arrays {
            memories.push(start(array, &mut held)?);
        }
        for constant in &self.constants {
            memories.push(constant.bytes()?.as_ptr().cast_mut().cast::<c_void>());
        }
        if *tells {
            memories.push((&raw mut faults).cast());
        }
        if memories.len() != bound_memories(kernel).count() {
            return Err(self.broken("its code has other memories".to_string()));
        }
        let scratch = &Layout::new(&scratch)?;
        let (memories, scalars, words) = (&memories[..], &scalars[..], &words[..]);
        let run = Run { kernel: code, memories, scratch, scalars, sizes: words, blocks, work };
        let start = Instant::now();
        // SAFETY: `library`, `held`, `faults` and the launch's arrays live until the end of this function. Each array has the
        // bytes of its shape (`Outline::fit`), whose extents are the sizes. What is written is the launch's alone: `bytes_mut` has
        // copied what others see. Accesses are inside: they are proven, looked at by the code, or the caller's promise.
        unsafe { run.run(Pool::global()) }?;
        drop(held);
        if profile::listening() {
            let (seconds, clock) = (start.elapsed().as_secs_f64(), Clock::Host);
            let ((read, written), kernel, device) = (fitted.traffic(), kernel.name.clone(), Cpu::NAME.to_string());
            profile::tell(LaunchTime { kernel, device, seconds, clock, read, written });
        }
        match report::fault(&faults, kernel, &sizes) {
            Some(fault) => Err(Error::Fault(Box::new(fault))),
            None => Ok(()),
        }
    }

    /// An estimate of the work, in elements streamed.
    fn work(&self, fitted: &Fitted) -> u64 {
        let value = |SizeVar(k): SizeVar| fitted.sizes.get(k as usize).copied();
        let each = cost::of_thread(&self.outline.template.kernel, &value, &fitted.scalars);
        (each * fitted.threads() as f64 / cost::PER_ELEMENT) as u64
    }
}

/// Where an array begins. What is written becomes memory of the host that nobody else sees.
fn start(array: &mut LaunchArray, held: &mut Vec<Buffer>) -> Result<*mut c_void, Error> {
    Ok(match array {
        LaunchArray::Write { data, .. } => data.bytes_mut()?.as_mut_ptr().cast(),
        LaunchArray::Read { ty, data, .. } => match data {
            // C wants elements on their natural addresses.
            ArrayData::Host(bytes) if bytes.as_ptr().addr() % ty.bytes() != 0 => {
                let copy = Buffer::copy_of(bytes)?;
                let start = copy.bytes()?.as_ptr();
                held.push(copy);
                start.cast_mut().cast()
            }
            data => data.bytes()?.as_ptr().cast_mut().cast(),
        },
    })
}

impl CpuLauncher {
    /// Runs a launch. Whoever says `unchecked` has promised that no access is outside.
    fn start(&self, mut launch: Launch<'_>, unchecked: bool) -> Result<(), Error> {
        let mut fitted = self.outline.fit(launch.again(), |_| false)?;
        fitted.field.check_block(self.outline.name(), [MOST; 3], MOST)?;
        if fitted.field.is_empty() {
            return Ok(());
        }
        let trusted = unchecked || self.proofs.hold(&self.outline, &fitted);
        let block = if self.outline.nature.free { None } else { Some(fitted.field.block) };
        let form = Form { block, trusted };
        match self.woven(form)? {
            Ok(woven) => match self.run(form, &woven, &mut fitted) {
                Err(error) if interpreter_takes_over(&error) => {}
                done => return done,
            },
            Err(why) => {
                let name = self.outline.name();
                warn::warn_once(
                    &format!("unwoven {name}"),
                    &format!("{why}. `{name}` runs in the interpreter, slowly"),
                );
            }
        }
        drop(fitted);
        self.interpret(launch)
    }
}

impl Launcher for CpuLauncher {
    fn launch(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.start(launch, false)
    }

    unsafe fn launch_unchecked(&self, launch: Launch<'_>) -> Result<(), Error> {
        self.start(launch, true)
    }

    fn source(&self) -> Result<String, Error> {
        self.emit(&*self.usual()?, false)
    }

    fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        Ok(vec![self.usual()?.kernel.clone()])
    }

    fn device(&self) -> &str {
        Cpu::NAME
    }
}
