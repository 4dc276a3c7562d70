//! A machine that launches nothing: the host part of a file goes as far as it can without what kernels compute.
//!
//! Arguments, threads and blocks of launches are checked by the code that checks them when the program runs, so that what is said here is
//! what would be said there. Deliberately absent: what kernels do. Where the program asks for an element that one of them wrote, the
//! rehearsal is over, and nothing is said about the rest; printing is no reason to stop.

use super::interpreter::lay_out;
use super::{Failure, Kernel, Launch, Machine, run};
use crate::diagnostic::Diagnostic;
use crate::syntax::File;
use slyz_sir::types::Ty;

/// The most statements of the host that are run.
const STATEMENTS: u32 = 100_000;
/// The most elements that are made: a file is checked on machines that could not run it.
const BYTES: u64 = 1 << 28;

/// The first mistake that running the host part of a file would end with, as far as that is known without running its kernels.
///
/// ```
/// use slyz_lang::{check, host, parse};
///
/// let text = "
///     graph fn double(x: Tensor<f32>!) { x[thread.x] *= 2.0 }
///     let! x = Tensor.zeros<f64>(8)
///     launch double(&!x) with threads: 8
/// ";
/// let (file, _) = parse::parse(text);
/// let program = check::check(&file, check::Dialect::Vex).program;
/// let wrong = host::rehearse(&file, &host::kernels(&program)?).expect("the tensor has the wrong type");
/// assert_eq!(wrong.message, "parameter `x` of `double` is a tensor of f32, but this is a tensor of f64");
/// # Ok::<(), slyz_lang::lower::TooLarge>(())
/// ```
pub fn rehearse(file: &File, kernels: &[Kernel]) -> Option<Diagnostic> {
    let mut machine = Rehearsal { over: false, left: STATEMENTS, made: 0 };
    let done = run(file, kernels, &mut machine, &mut std::io::sink());
    done.err().filter(|_| !machine.over)
}

struct Rehearsal {
    /// The rest is not known.
    over: bool,
    left: u32,
    made: u64,
}

impl Rehearsal {
    fn stop<T>(&mut self) -> Result<T, Failure> {
        self.over = true;
        Err(Failure::Other("what follows is not known before the program runs".to_string()))
    }
}

impl Machine for Rehearsal {
    /// Nobody looks at the elements.
    type Tensor = ();

    fn upload(&mut self, _: Ty, _: &[u64], _: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    fn download(&mut self, _: Ty, _: &[u64], (): &()) -> Result<Vec<u8>, Failure> {
        self.stop()
    }

    fn launch(&mut self, kernel: &Kernel, launch: Launch<'_, ()>) -> Result<(), Failure> {
        lay_out(&kernel.template, &launch).map(drop).map_err(Failure::Other)
    }

    fn step(&mut self) -> Result<(), Failure> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.stop(),
        }
    }

    fn reserve(&mut self, bytes: u64) -> Result<(), Failure> {
        self.made = self.made.saturating_add(bytes);
        if self.made > BYTES { self.stop() } else { Ok(()) }
    }

    fn prints(&self) -> bool {
        false
    }

    fn resumes(&mut self) -> bool {
        let resumes = self.over && self.left > 0 && self.made <= BYTES;
        self.over &= !resumes;
        resumes
    }
}
