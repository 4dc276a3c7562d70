//! The CPU as the driver sees it: memory of the host, code in loaded libraries, launches that run at once.

use super::code::{Estimate, PlanCode};
use super::launch::{self, Layout};
use super::{Backend, Cpu, interpreter_takes_over};
use crate::cc::{KernelFn, Toolchain};
use crate::cost;
use crate::driver::{Engine, Few, Launch, Limits, Narrow, Piece, Trouble, Unrecorded, Variant};
use crate::signature::elements;
use crate::{ArrayData, Block, Buffer, BuildTime, Error, Pool, warn};
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::Expected;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::size::SizeVar;
use slyz_sir::types::{Scalar, Ty};
use std::ffi::c_void;
use std::fmt::Display;
use std::sync::Arc;

/// Results of this many bytes would only push other data out of the caches on their way to memory.
const STREAMED: usize = 32 << 20;

/// The cores of this machine, and the compiler for them.
#[derive(Clone)]
pub(super) struct Cores {
    pub(super) backend: Backend,
    pub(super) toolchain: Arc<Toolchain>,
}

/// Memory of the host.
pub(super) enum Array<'a> {
    /// The caller's; never written.
    Lent(&'a [u8]),
    /// A copy of the caller's; never written. It is rare, and not to make the others larger.
    Copied(Box<Buffer>, *const u8),
    /// A call's own.
    Owned(Block),
    /// The caller's, to be written.
    Written(&'a mut Buffer, *mut u8),
}

/// A launch in numbers.
pub(super) struct Numbers {
    /// It may be called while the variant lives.
    function: KernelFn,
    /// Of a block.
    scratch: Layout,
    /// The sizes as generated code takes them; behind them stands whether results go past the caches.
    words: Vec<i64>,
    blocks: u64,
    work: Work,
}

/// How much a launch is, in elements streamed.
enum Work {
    Known(u64),
    /// At least so much, and else what the threads of the kernel do, which hangs on its scalars.
    OfThreads {
        kernel: Arc<Template>,
        threads: u64,
        least: u64,
    },
}

impl Array<'_> {
    #[inline]
    fn start(&self) -> *mut u8 {
        match self {
            Array::Lent(bytes) => bytes.as_ptr().cast_mut(),
            Array::Copied(_, start) => start.cast_mut(),
            Array::Owned(block) => block.start(),
            Array::Written(_, start) => *start,
        }
    }
}

impl Engine for Cores {
    const NAME: &'static str = Cpu::NAME;
    const PLACE: &'static str = "";
    const NARROW: Narrow = Narrow { elements: 1 << 31, extent: 1 << 30 };
    const PLANS_BY_SIZE: bool = false;
    const LANGUAGE: Option<Language> = Some(Language::C);

    type Array<'a> = Array<'a>;
    /// Launches run at once.
    type Queue = ();
    type Code = PlanCode;
    type Numbers = Numbers;
    type Recording = Unrecorded;

    fn address(&self) -> usize {
        Arc::as_ptr(&self.toolchain).addr()
    }

    fn memory(&self) -> Option<&'static str> {
        None
    }

    fn limits(&self) -> Option<Limits> {
        None
    }

    /// All data comes to the host before it is looked at.
    #[inline]
    fn holds(&self, _: &Buffer) -> bool {
        false
    }

    /// A result that would be slower there goes into memory of the pool, which takes the place of what was offered: only whole
    /// vectors on their own addresses go past the caches.
    fn writes(&self, buffer: &Buffer) -> bool {
        buffer.suits_results()
    }

    #[inline]
    fn allocate<'a>(&self, (): &mut (), bytes: usize, what: &dyn Display) -> Result<Array<'a>, Error> {
        Pool::global().take(bytes, what).map(Array::Owned)
    }

    #[inline]
    fn upload<'a>(&self, ty: Ty, data: ArrayData<'a>, _: &dyn Display) -> Result<Array<'a>, Error> {
        let bytes = data.bytes()?;
        // C wants elements on their natural addresses.
        if bytes.as_ptr().addr() % ty.bytes() != 0 {
            let copy = Buffer::copy_of(bytes)?;
            let start = copy.bytes()?.as_ptr();
            return Ok(Array::Copied(Box::new(copy), start));
        }
        Ok(Array::Lent(bytes))
    }

    fn own<'a>(
        &self,
        (): &mut (),
        data: &'a mut Buffer,
        _: &dyn Display,
    ) -> Result<(Array<'a>, Option<Buffer>), Error> {
        let start = data.bytes_mut()?.as_mut_ptr();
        Ok((Array::Written(data, start), None))
    }

    fn download(&self, from: &Array<'_>, into: &mut [u8]) -> Result<(), Error> {
        let bytes = match from {
            Array::Lent(bytes) => bytes,
            Array::Copied(buffer, _) => buffer.bytes()?,
            Array::Owned(block) => block.bytes(),
            Array::Written(buffer, _) => buffer.bytes()?,
        };
        into.copy_from_slice(&bytes[..into.len()]);
        Ok(())
    }

    #[inline]
    fn free(&self, (): &mut (), array: Array<'_>) {
        drop(array);
    }

    #[inline]
    fn buffer(&self, array: Array<'_>, bytes: usize) -> Result<Buffer, Error> {
        match array {
            Array::Lent(bytes) => Buffer::copy_of(bytes),
            Array::Copied(buffer, _) => Ok(*buffer),
            Array::Owned(block) => Ok(Buffer::new(block, bytes)),
            Array::Written(buffer, _) => Ok(buffer.clone()),
        }
    }

    #[inline]
    fn share(&self, argument: &Buffer) -> Result<Buffer, Error> {
        argument.to_host()
    }

    fn begin(&self, program: &Program) -> Result<Program, Error> {
        Ok(program.clone())
    }

    fn lower(&self, program: &Program, _: &Expected, _: bool, choice: Choice) -> Plan {
        (self.backend.lower)(program, choice)
    }

    fn machine(&self) -> String {
        format!("{} {}", super::threads::count(), self.toolchain.describe())
    }

    fn build(&self, variant: &Variant<Cores>) -> Result<Option<BuildTime>, Error> {
        variant.code.built(&variant.plan, false, self).map(|built| Some(built.time))
    }

    fn source(&self, variant: &Variant<Cores>) -> Result<String, Error> {
        variant.code.source(&variant.plan, self)
    }

    fn number(&self, piece: &Piece<'_, Cores>) -> Result<Numbers, Error> {
        let (variant, kernel, measures) = (piece.variant, piece.kernel, piece.measures);
        let blocks = elements(&piece.grid).filter(|&n| n <= i64::MAX as u64);
        let blocks = blocks.ok_or_else(|| Error::TooLarge {
            what: format!("the grid of {}", kernel.name),
            why: "it has more blocks than the index type, 2^63 - 1, can count".to_string(),
        })?;
        let mut words = piece.sizes.words();
        let work = match &variant.template {
            Some(template) => {
                // The threads that were asked for stand behind the grid.
                let threads = elements(&[3, 4, 5].map(|place| words[place] as u64)).unwrap_or(u64::MAX);
                Work::OfThreads { kernel: template.clone(), threads, least: measures.largest.min(threads) }
            }
            None if blocks < 2 || measures.largest >= launch::PLENTY => Work::Known(measures.largest),
            None => {
                let code = variant.code.work(Estimate { kernel: piece.index, blocks, words: words.clone() }, kernel);
                Work::Known(measures.largest.max(code))
            }
        };
        words.push((measures.written >= STREAMED) as i64);
        let code = variant.code.built(&variant.plan, measures.wide, self)?;
        let function = code.kernel(piece.index);
        let function = function.ok_or_else(|| variant.broken(format!("no code for {}", kernel.name)))?;
        Ok(Numbers { function, scratch: Layout::new(&measures.scratch)?, words, blocks, work })
    }

    #[inline]
    unsafe fn launch(&self, (): &mut (), launch: &Launch<'_, '_, Cores>) -> Result<(), Error> {
        let memories: Few<*mut c_void> = launch.arrays.iter().map(|array| array.start().cast()).collect();
        for numbers in launch.pieces {
            let run = launch::Launch {
                kernel: numbers.function,
                memories: &memories,
                scratch: &numbers.scratch,
                scalars: launch.scalars,
                sizes: &numbers.words,
                blocks: numbers.blocks,
                work: numbers.work.with(launch.scalars, &numbers.words),
            };
            // SAFETY: the caller's promise: the code lives, and memories are as the kernel needs them. The scratch sizes are those of
            // the kernel, and blocks do not race: the promise of `Cpu::with_backend`.
            unsafe { run.run(Pool::global()) }?;
        }
        Ok(())
    }

    #[inline]
    fn submit(&self, (): &mut (), _: &dyn Display) -> Result<(), Error> {
        Ok(())
    }

    fn interprets(&self, kernel: &str, trouble: &Trouble) -> bool {
        match trouble {
            Trouble::Unwoven(why) => {
                let message = format!("{why}. `{kernel}` runs in the interpreter, slowly");
                warn::warn_once(&format!("unwoven {kernel}"), &message);
                true
            }
            Trouble::Other(error) => interpreter_takes_over(error),
        }
    }
}

impl Work {
    /// With the values of scalars and sizes.
    #[inline]
    fn with(&self, scalars: &[u64], words: &[i64]) -> u64 {
        match self {
            Work::Known(work) => *work,
            Work::OfThreads { kernel, threads, least } => {
                let params = kernel.kernel.body.params.iter().zip(scalars);
                let scalars: Few<Scalar> = params.map(|(p, &bits)| Scalar::from_bits(p.ty.elem(), bits)).collect();
                let value = |SizeVar(k): SizeVar| words.get(k as usize).map(|&n| n as u64);
                let each = cost::of_thread(&kernel.kernel, &value, &scalars);
                let work = each * *threads as f64 / cost::PER_ELEMENT;
                (work as u64).max(*least)
            }
        }
    }
}
