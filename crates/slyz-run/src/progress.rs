//! How far long calls are: turns of loops, told to whoever watches and, where `SLYZ_PROGRESS` is set, on standard error.
//!
//! `SLYZ_PROGRESS=1` shows a line that changes, on a terminal and from the second second on; `SLYZ_PROGRESS=always` writes lines where there is no
//! terminal, too. A loop asks once whether anybody listens, which is all it pays when nobody does. A GPU is given turns before it has taken the
//! earlier ones, so what is told of it runs a little ahead.

use crate::warn;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Nothing is told of loops that end sooner.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is told.
const PAUSE: Duration = Duration::from_millis(250);

/// How far a loop is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The name of the loop, which begins with that of its function.
    pub name: String,
    /// The device that runs it.
    pub device: String,
    /// Turns that are taken.
    pub done: u64,
    /// Turns there are, where that is known before.
    pub of: Option<u64>,
    /// Since it began.
    pub elapsed: Duration,
    /// Is this the last that is told of it?
    pub finished: bool,
}

/// ```
/// # fn show(p: &slyz_run::progress::Progress) {
/// println!("{p}"); // heat_turns on cpu: 250 of 1000 turns (25 %), 1.3 s
/// # }
/// ```
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Progress { name, device, done, of, elapsed, .. } = self;
        write!(f, "{name} on {device}: {done}")?;
        match of {
            Some(of) => write!(f, " of {of} turns ({} %)", u128::from(*done) * 100 / u128::from((*of).max(1)))?,
            None => write!(f, " turns")?,
        }
        write!(f, ", {:.1} s", elapsed.as_secs_f64())
    }
}

type Tell = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Somebody who wants to know.
#[derive(Clone)]
struct Listener {
    number: usize,
    patience: Duration,
    pause: Duration,
    tell: Tell,
}

static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(vec![]);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Somebody watches until this is dropped.
#[must_use = "nothing is told once it is dropped"]
#[derive(Debug)]
pub struct Watching(usize);

/// Has a function called with the progress of all loops of this process: from their second second on, four times a second, and at their end.
/// It is called by the thread that runs the loop, which waits for it.
///
/// ```
/// let watching = slyz_run::progress::watch(|progress| eprintln!("{progress}"));
/// // … calls …
/// drop(watching);
/// ```
pub fn watch(tell: impl Fn(&Progress) + Send + Sync + 'static) -> Watching {
    listen(PATIENCE, PAUSE, Arc::new(tell))
}

/// The same from the first turn on, and no oftener than that.
///
/// ```
/// use std::time::Duration;
/// let watching = slyz_run::progress::watch_every(Duration::ZERO, |progress| println!("{}", progress.done));
/// # drop(watching);
/// ```
pub fn watch_every(pause: Duration, tell: impl Fn(&Progress) + Send + Sync + 'static) -> Watching {
    listen(Duration::ZERO, pause, Arc::new(tell))
}

fn listen(patience: Duration, pause: Duration, tell: Tell) -> Watching {
    let mut listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
    let number = listeners.iter().map(|listener| listener.number + 1).max().unwrap_or(0);
    COUNT.fetch_add(1, Ordering::SeqCst);
    listeners.push(Listener { number, patience, pause, tell });
    Watching(number)
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.number != self.0);
        COUNT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does somebody want to know?
pub(crate) fn is_watched() -> bool {
    COUNT.load(Ordering::Relaxed) > 0 || shown().is_some()
}

/// Who writes on standard error, if anybody.
fn shown() -> Option<&'static Listener> {
    static SHOWN: OnceLock<Option<Listener>> = OnceLock::new();
    let shown = SHOWN.get_or_init(|| {
        let is_terminal = io::stderr().is_terminal();
        let wanted = match std::env::var("SLYZ_PROGRESS").ok()?.trim() {
            "" | "0" => false,
            "1" => is_terminal,
            "always" => true,
            other => {
                let message = format!("SLYZ_PROGRESS={other} is not known; write 1, always or 0");
                warn::warn_once("progress", &message);
                false
            }
        };
        let tell: Tell =
            if is_terminal { Arc::new(rewrite) } else { Arc::new(|progress| eprintln!("slyz: {progress}")) };
        wanted.then(|| Listener { number: 0, patience: PATIENCE, pause: PAUSE, tell })
    });
    shown.as_ref()
}

/// Writes over the line of the terminal.
fn rewrite(progress: &Progress) {
    let end = if progress.finished { "\n" } else { "" };
    let mut out = io::stderr().lock();
    // Whoever has no terminal any more sees nothing.
    let _ = write!(out, "\r\x1b[Kslyz: {progress}{end}");
    let _ = out.flush();
}

/// Counts the turns of a loop.
pub(crate) struct Meter {
    started: Instant,
    progress: Progress,
    /// Who listens, and when each was told last.
    listeners: Vec<(Listener, Option<Instant>)>,
}

impl Meter {
    /// For a loop that begins, where somebody wants to know.
    #[inline]
    pub(crate) fn start(device: &str, name: impl FnOnce() -> String, of: Option<u64>) -> Option<Meter> {
        is_watched().then(|| Meter::new(device, name(), of))
    }

    #[cold]
    fn new(device: &str, name: String, of: Option<u64>) -> Meter {
        let listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let listeners = listeners.into_iter().chain(shown().cloned()).map(|listener| (listener, None)).collect();
        let device = device.to_string();
        let progress = Progress { name, device, done: 0, of, elapsed: Duration::ZERO, finished: false };
        Meter { started: Instant::now(), progress, listeners }
    }

    /// So many turns are taken.
    pub(crate) fn turns(&mut self, done: u64) {
        self.progress.done = done;
        let now = Instant::now();
        self.progress.elapsed = now - self.started;
        for (listener, last) in &mut self.listeners {
            let due = match *last {
                Some(last) => now - last >= listener.pause,
                None => self.progress.elapsed >= listener.patience,
            };
            if due {
                *last = Some(now);
                (listener.tell)(&self.progress);
            }
        }
    }
}

/// A loop that ended, with its last turn or an error: whoever heard of it hears so.
impl Drop for Meter {
    fn drop(&mut self) {
        self.progress.elapsed = self.started.elapsed();
        self.progress.finished = true;
        for (listener, last) in &self.listeners {
            if last.is_some() {
                (listener.tell)(&self.progress);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let name = "heat_turns".to_string();
        let device = "cpu".to_string();
        let elapsed = Duration::from_millis(1340);
        let mut progress = Progress { name, device, done: 250, of: Some(1000), elapsed, finished: false };
        assert_eq!(progress.to_string(), "heat_turns on cpu: 250 of 1000 turns (25 %), 1.3 s");
        progress.of = None;
        assert_eq!(progress.to_string(), "heat_turns on cpu: 250 turns, 1.3 s");
    }
}
