//! Calls that wait until somebody reads what they give.
//!
//! ```text
//! lazily(|| {
//!     t = f(x)      noted: t is a promise ([`Later`])
//!     y = g(t)      noted
//!     y.bytes()     asked: f and g are compiled and run as one program, in which t is nobody's
//! })
//! ```
//!
//! Who may wait, and how it is run, is the driver's business ([`Settle`]); here is what buffers and threads know of it.

use crate::{Buffer, Error, profile};
use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// A result that is computed when somebody asks for it.
pub(crate) struct Later {
    settled: OnceLock<Result<Buffer, Arc<Error>>>,
    /// The calls that it is the result of one of.
    calls: Arc<dyn Settle>,
    /// Its place among their results.
    pub(crate) number: Promised,
    /// The name of the device, unless its memory is the host's.
    pub(crate) device: Option<&'static str>,
}

/// A result of a call that waits: the call, and which of its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Promised {
    pub(crate) call: u64,
    pub(crate) result: usize,
}

/// Calls that wait.
pub(crate) trait Settle: Any + Send + Sync {
    /// Runs what that result needs; everything that somebody may still ask for where none is named. What comes of it, errors included, is
    /// with the promises afterwards.
    fn settle(&self, asked: Option<Promised>);
}

impl Later {
    pub(crate) fn new(calls: Arc<dyn Settle>, number: Promised, device: Option<&'static str>) -> Later {
        Later { settled: OnceLock::new(), calls, number, device }
    }

    /// What it has become, if it has.
    pub(crate) fn now(&self) -> Option<&Buffer> {
        self.settled.get()?.as_ref().ok()
    }

    /// Is nothing known yet?
    pub(crate) fn waits(&self) -> bool {
        self.settled.get().is_none()
    }

    /// Keeps what it has become.
    pub(crate) fn keep(&self, result: Result<Buffer, Arc<Error>>) {
        // Whoever was first has the same.
        let _ = self.settled.set(result);
    }

    /// Does it wait for one of these calls?
    pub(crate) fn is_of<C: Settle>(&self, calls: &C) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.calls), calls)
    }

    /// The data, computed now if it has not been.
    pub(crate) fn get(&self) -> Result<&Buffer, Error> {
        if self.waits() {
            self.calls.settle(Some(self.number));
        }
        match self.settled.get() {
            Some(Ok(buffer)) => Ok(buffer),
            Some(Err(error)) => Err(Error::Later { why: error.clone() }),
            None => Err(Error::Plan {
                name: "a call that waits".to_string(),
                why: "nobody has computed its result".to_string(),
            }),
        }
    }
}

/// What waits on this thread.
struct Waiting {
    /// Scopes inside one another.
    depth: usize,
    /// Was somebody listening to launches when it began?
    listening: bool,
    calls: Vec<Arc<dyn Settle>>,
}

thread_local! {
    static WAITING: RefCell<Option<Waiting>> = const { RefCell::new(None) };
}

/// Runs something whose calls and launches on this thread wait until their results are read, by whomever. Those that wait for one another are
/// compiled and run as one program: they fuse, and what only they read is not stored. What can still be read when it ends is computed then.
///
/// An error of a call that waited is told to whoever reads its result. Launches that are not [raised](slyz_sir::raise), and programs that count
/// sizes, run at once.
///
/// ```
/// use slyz_run::{Argument, lazily};
/// use slyz_sir::{text::parse_program, types::Ty};
/// let program = parse_program("program double<N>(%x: f32[N]) -> f32[N] {
///     %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
///     return %y
/// }")?;
/// let f = slyz_run::device(None)?.compile(&program)?;
/// let y = lazily(|| {
///     let twice = f.run(&[Some(2)], &[Argument::host(Ty::F32, &[2], &[1.0f32, 2.0])])?;
///     f.run(&[Some(2)], &[twice[0].as_argument()])
/// })?;
/// assert_eq!(y[0].data.as_slice::<f32>(), Some(&[4.0, 8.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lazily<R>(act: impl FnOnce() -> R) -> R {
    /// Also when `act` panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            let ended = WAITING.with_borrow_mut(|waiting| {
                let scope = waiting.as_mut()?;
                scope.depth -= 1;
                if scope.depth == 0 { waiting.take() } else { None }
            });
            if let Some(ended) = ended
                && !std::thread::panicking()
            {
                ended.calls.iter().for_each(|calls| calls.settle(None));
            }
        }
    }
    WAITING.with_borrow_mut(|waiting| {
        let listening = profile::listening();
        waiting.get_or_insert(Waiting { depth: 0, listening, calls: vec![] }).depth += 1;
    });
    let _end = End;
    act()
}

/// Do calls of this thread wait? Not those that somebody listens to, who has come later.
pub(crate) fn is_lazy() -> bool {
    WAITING.with_borrow(|waiting| waiting.as_ref().is_some_and(|scope| scope.listening == profile::listening()))
}

/// Computes all that can still be asked for, before something is done that cannot wait.
pub(crate) fn settle() {
    let calls = WAITING.with_borrow(|waiting| waiting.as_ref().map(|scope| scope.calls.clone()));
    calls.iter().flatten().for_each(|calls| calls.settle(None));
}

/// The calls of this thread that fit, or those that are made now.
pub(crate) fn calls<C: Settle>(fits: impl Fn(&C) -> bool, make: impl FnOnce() -> C) -> Option<Arc<C>> {
    WAITING.with_borrow_mut(|waiting| {
        let calls = &mut waiting.as_mut()?.calls;
        let known = calls.iter().find_map(|known| {
            let any: Arc<dyn Any + Send + Sync> = known.clone();
            any.downcast::<C>().ok().filter(|known| fits(known))
        });
        Some(known.unwrap_or_else(|| {
            let made = Arc::new(make());
            calls.push(made.clone());
            made
        }))
    })
}
