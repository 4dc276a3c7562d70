//! Clocks: how long launches take, and how fast memory is.
//!
//! [`profile`] listens to the launches of its thread. Devices ask [`listening`], which is all that a call pays when nobody
//! does.

use crate::Error;
use slyz_sir::explain;
use slyz_sir::kernel::{Access, BufferId, Kernel, Plan};
use slyz_sir::size::SizeVar;
use std::cell::RefCell;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Whose clock measured a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The device's own: the kernel and nothing else.
    Device,
    /// The host's: with what it takes to start the kernel and to hear of its end.
    Host,
}

/// A launch that was measured.
#[derive(Clone, Debug)]
pub struct LaunchTime {
    /// The name of the kernel.
    pub kernel: String,
    /// The name of the device.
    pub device: String,
    /// How long it took.
    pub seconds: f64,
    /// Whose seconds they are.
    pub clock: Clock,
    /// Bytes that it reads at least.
    pub read: u64,
    /// Bytes that it writes at least.
    pub written: u64,
}

thread_local! {
    static HEARD: RefCell<Option<Vec<LaunchTime>>> = const { RefCell::new(None) };
}

/// Runs something and gives the launches that it made on this thread, in order. Devices that work on their own are waited
/// for at each call, so that the whole takes longer than usual.
///
/// ```
/// use slyz_run::{Argument, Device, profile};
/// use slyz_sir::{text::parse_program, types::Ty};
/// let program = parse_program("program double<N>(%x: f32[N]) -> f32[N] {
///     %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
///     return %y
/// }")?;
/// let f = slyz_run::device(None)?.compile(&program)?;
/// let (result, launches) = profile(|| f.run(&[Some(2)], &[Argument::host(Ty::F32, &[2], &[1.0f32, 2.0])]));
/// assert!(result.is_ok());
/// for launch in launches {
///     println!("{}: {} s, {} bytes", launch.kernel, launch.seconds, launch.read + launch.written);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn profile<R>(act: impl FnOnce() -> R) -> (R, Vec<LaunchTime>) {
    /// Also when `act` panics.
    struct Restore(Option<Vec<LaunchTime>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            HEARD.set(self.0.take());
        }
    }
    let _outer = Restore(HEARD.replace(Some(vec![])));
    let result = act();
    (result, HEARD.take().unwrap_or_default())
}

/// Does somebody want to hear of launches?
pub(crate) fn listening() -> bool {
    HEARD.with_borrow(Option::is_some)
}

pub(crate) fn tell(launch: LaunchTime) {
    HEARD.with_borrow_mut(|heard| {
        if let Some(heard) = heard {
            heard.push(launch);
        }
    });
}

/// Bytes that a launch reads and writes at least, each array once.
pub(crate) fn traffic(plan: &Plan, kernel: &Kernel, buffers: &[BufferId], sizes: &[Option<u64>]) -> (u64, u64) {
    let value = |var: SizeVar| sizes.get(var.0 as usize).copied().flatten();
    let (mut read, mut written) = (0u64, 0u64);
    for touch in explain::touches(plan, kernel, buffers) {
        let bytes = touch.bytes.at(&value).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        match touch.access {
            Access::Read => read = read.saturating_add(bytes),
            Access::Write => written = written.saturating_add(bytes),
            Access::ReadWrite => {
                read = read.saturating_add(bytes);
                written = written.saturating_add(bytes);
            }
        }
    }
    (read, written)
}

/// Bytes that the host reads and writes in a second when all its threads copy; measured once.
pub(crate) fn host_bandwidth() -> Result<f64, Error> {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    if let Some(&known) = MEASURED.get() {
        return Ok(known);
    }
    const BYTES: usize = 128 << 20;
    const TURNS: usize = 5;
    let what = &"a measurement of the memory";
    let from = crate::Pool::global().take(BYTES, what)?;
    let mut to = crate::Pool::global().take(BYTES, what)?;
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let piece = BYTES.div_ceil(threads);
    let mut best = f64::MAX;
    for _ in 0..TURNS {
        let pieces = Mutex::new(to.bytes_mut()[..BYTES].chunks_mut(piece).zip(from.bytes()[..BYTES].chunks(piece)));
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let copy = || {
            while let Some((to, from)) = next() {
                to.copy_from_slice(from);
            }
        };
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // A thread that cannot be had leaves its piece to the others.
                let _ = std::thread::Builder::new().spawn_scoped(scope, copy);
            }
            copy();
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(*MEASURED.get_or_init(|| 2.0 * BYTES as f64 / best.max(1e-9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(name: &str) -> LaunchTime {
        let kernel = name.to_string();
        let device = "test".to_string();
        LaunchTime { kernel, device, seconds: 0.0, clock: Clock::Host, read: 1, written: 2 }
    }

    #[test]
    fn who_listens_hears() {
        assert!(!listening());
        tell(launch("nobody"));
        let ((), heard) = profile(|| {
            tell(launch("outer"));
            let ((), inner) = profile(|| tell(launch("inner")));
            assert_eq!(inner.len(), 1);
            assert!(listening());
        });
        assert_eq!(heard.len(), 1);
        assert!(std::panic::catch_unwind(|| profile(|| panic!("on purpose"))).is_err());
        assert!(!listening());
    }

    #[test]
    fn memory_has_a_speed() {
        assert!(host_bandwidth().unwrap() > 1e6);
    }
}
