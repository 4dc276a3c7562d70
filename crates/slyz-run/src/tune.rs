//! Plans that the clock chooses: the few that a model finds good are measured once, and the winner is kept.
//!
//! `SLYZ_TUNE=1` wants it of every call, [`tuned`] of the calls of a function. What was chosen is on disk, by program, machine and class of sizes,
//! and the next process takes it from there. All plans mean the same; sums of floats may be taken in another order.

use std::cell::Cell;
use std::sync::{Mutex, OnceLock, PoisonError};

/// How a plan was chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The program.
    pub program: String,
    /// The device.
    pub device: String,
    /// The values of its size variables, by name.
    pub sizes: Vec<(String, u64)>,
    /// What was tried, and the seconds of a call; nothing where an earlier decision was found on disk.
    pub tried: Vec<(String, f64)>,
    /// What was chosen.
    pub chosen: String,
}

thread_local! {
    static WANTED: Cell<bool> = const { Cell::new(false) };
}

/// Decisions that nobody has asked for yet, the latest last.
static MADE: Mutex<Vec<Decision>> = Mutex::new(vec![]);
/// No more than so many are remembered.
const REMEMBERED: usize = 1_000;

/// Has the calls of a function choose their plans by the clock. The first call for about the same sizes takes longer: it is run several times.
///
/// ```
/// use slyz_run::{Argument, tune};
/// use slyz_sir::{text::parse_program, types::Ty};
/// let program = parse_program("program double<N>(%x: f32[N]) -> f32[N] {
///     %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
///     return %y
/// }")?;
/// let f = slyz_run::device(None)?.compile(&program)?;
/// let y = tune::tuned(|| f.run(&[Some(2)], &[Argument::host(Ty::F32, &[2], &[1.0f32, 2.0])]))?;
/// assert_eq!(y[0].data.as_slice::<f32>(), Some(&[2.0, 4.0][..]));
/// for decision in tune::decisions() {
///     println!("{}: {}", decision.program, decision.chosen);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tuned<R>(act: impl FnOnce() -> R) -> R {
    /// Also when `act` panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            WANTED.set(self.0);
        }
    }
    let _before = Restore(WANTED.replace(true));
    act()
}

/// The decisions since this was asked last.
pub fn decisions() -> Vec<Decision> {
    std::mem::take(&mut MADE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Are plans to be chosen by the clock?
#[cfg_attr(
    not(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")),
    allow(dead_code)
)]
pub(crate) fn is_wanted() -> bool {
    static EVERYWHERE: OnceLock<bool> = OnceLock::new();
    let asked = || std::env::var("SLYZ_TUNE").is_ok_and(|value| !["", "0"].contains(&value.trim()));
    WANTED.get() || *EVERYWHERE.get_or_init(asked)
}

/// Remembers a decision.
#[cfg_attr(
    not(any(feature = "cpu", feature = "cuda", feature = "hip", feature = "opencl", feature = "wgpu")),
    allow(dead_code)
)]
pub(crate) fn tell(decision: Decision) {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if made.len() < REMEMBERED {
        made.push(decision);
    }
}
