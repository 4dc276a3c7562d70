//! A machine that watches launches: the interpreter, and what went into each launch and came out of it.
//!
//! Whoever writes kernels for a place where their host part does not run has its launches as examples.

use super::{Argument, Failure, Interpreter, Kernel, Launch, Machine, arrange, run};
use crate::syntax::File;
use crate::typed::ParamKind;
use slyz_sir::interp::kernel::LaunchOptions;
use slyz_sir::interp::{Array, Value};
use slyz_sir::launch::LAUNCH_SIZES;
use slyz_sir::types::Ty;
use std::rc::Rc;

/// More launches of a kernel are not kept.
const MOST_LAUNCHES: usize = 2;

/// Launches with more elements are not kept.
const MOST_ELEMENTS: usize = 1 << 14;

/// After so many statements nobody watches any more.
const MOST_STEPS: u32 = 1 << 16;

/// Turns of a launch, past which it is given up.
const MOST_TURNS: u64 = 1 << 20;

/// A launch that was watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The name of the kernel.
    pub kernel: String,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Threads.
    pub threads: [u64; 3],
    /// The size variables of the kernel.
    pub sizes: Vec<u64>,
    /// What its parameters were before, in order.
    pub arguments: Vec<Value>,
    /// What the tensors that it writes were afterwards, in order.
    pub results: Vec<Array>,
}

/// Small launches of the host part of a file that was checked, up to the first mistake.
///
/// ```
/// let text = "
///     graph fn double(x: Tensor<f32>!) {
///         if thread.x < x.len() { x[thread.x] *= 2.0 }
///     }
///     let! x = Tensor.from([1.0, 2.5])
///     launch double(&!x) with threads: x.len()
/// ";
/// let source = slyz_lang::kernels::read(text)?;
/// let watched = slyz_lang::host::watch(&source.file, &source.kernels);
/// assert_eq!((&watched[0].kernel[..], watched[0].threads), ("double", [2, 1, 1]));
/// # Ok::<(), slyz_lang::lower::TooLarge>(())
/// ```
pub fn watch(file: &File, kernels: &[Kernel]) -> Vec<Watched> {
    let options = LaunchOptions { max_turns: MOST_TURNS, ..LaunchOptions::default() };
    let mut watcher = Watcher { interpreter: Interpreter { options }, steps: 0, seen: vec![] };
    // What was seen before a mistake was right.
    let _ = run(file, kernels, &mut watcher, &mut std::io::sink());
    watcher.seen
}

struct Watcher {
    interpreter: Interpreter,
    steps: u32,
    seen: Vec<Watched>,
}

impl Watcher {
    /// The launch without its results, where it is worth keeping.
    fn before(&self, kernel: &Kernel, asked: &Launch<'_, Rc<Array>>) -> Result<Option<Watched>, Failure> {
        let known = self.seen.iter().filter(|seen| seen.kernel == kernel.name).count();
        let array = |argument: &Argument<'_, Rc<Array>>| match argument {
            Argument::Read { tensor, shape, .. } => Array { shape: shape.to_vec(), ..(***tensor).clone() },
            Argument::Write { tensor, shape, .. } => Array { shape: shape.to_vec(), ..(***tensor).clone() },
        };
        let elements: usize = asked.tensors.iter().map(|argument| array(argument).data.len()).sum();
        if known >= MOST_LAUNCHES || elements > MOST_ELEMENTS {
            return Ok(None);
        }
        let Some(arranged) = arrange(kernel, asked)? else { return Ok(None) };
        let mut tensors = asked.tensors.iter().map(array);
        let mut scalars = asked.scalars.iter();
        let argument = |kind: &ParamKind| match kind {
            ParamKind::Scalar(..) => scalars.next().map(|&value| Value::Scalar(value)),
            ParamKind::Tensor { .. } => tensors.next().map(Value::Array),
        };
        let arguments = kernel.params.iter().map(|param| &param.kind).filter_map(argument).collect();
        let threads = [3, 4, 5].map(|k| arranged.sizes.get(k).copied().unwrap_or(1));
        debug_assert!(arranged.sizes.len() >= LAUNCH_SIZES, "sizes of the launch come first");
        let (kernel, block, sizes) = (kernel.name.clone(), arranged.block, arranged.sizes);
        Ok(Some(Watched { kernel, block, threads, sizes, arguments, results: vec![] }))
    }
}

impl Machine for Watcher {
    type Tensor = Rc<Array>;

    fn upload(&mut self, ty: Ty, shape: &[u64], bytes: &[u8]) -> Result<Rc<Array>, Failure> {
        self.interpreter.upload(ty, shape, bytes)
    }

    fn download(&mut self, ty: Ty, shape: &[u64], tensor: &Rc<Array>) -> Result<Vec<u8>, Failure> {
        self.interpreter.download(ty, shape, tensor)
    }

    fn launch(&mut self, kernel: &Kernel, mut asked: Launch<'_, Rc<Array>>) -> Result<(), Failure> {
        let watched = self.before(kernel, &asked)?;
        let tensors = asked.tensors.iter_mut().map(|argument| match argument {
            Argument::Read { ty, shape, tensor } => Argument::Read { ty: *ty, shape, tensor: &**tensor },
            Argument::Write { ty, shape, tensor } => Argument::Write { ty: *ty, shape, tensor: &mut **tensor },
        });
        let inner = Launch { threads: asked.threads, tensors: tensors.collect(), scalars: asked.scalars.clone() };
        self.interpreter.launch(kernel, inner)?;
        if let Some(watched) = watched {
            let written = asked.tensors.iter().filter_map(|argument| match argument {
                Argument::Write { tensor, .. } => Some(Array::clone(tensor)),
                Argument::Read { .. } => None,
            });
            self.seen.push(Watched { results: written.collect(), ..watched });
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Failure> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(Failure::Other("enough was seen".to_string()));
        }
        Ok(())
    }

    fn prints(&self) -> bool {
        false
    }
}
