//! How long a run may take, how much memory it may have, and what is left behind when it is ended.
//!
//! Code on devices cannot be asked to stop, so a run that is ended early ends with its process: temporary folders stand in one of ours, which is
//! removed first, and files that are not finished are removed, too. Exit codes are those of `timeout` and of shells: 124 and 130.

use crate::usage;
use anyhow::Context;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

/// The run took too long.
const TOO_LONG: i32 = 124;
/// Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Bounds of a run, from the command line.
#[derive(clap::Args)]
pub struct Limits {
    /// End the run after so many seconds, with exit code 124.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Let the run have so many megabytes of memory (Linux): tensors that do not fit are refused, and whatever else does not fit ends it.
    #[arg(long, value_name = "MB")]
    memory: Option<u64>,
}

/// What the process does, and what it has not finished.
#[derive(Default)]
struct Present {
    folder: PathBuf,
    doing: String,
    unfinished: Vec<PathBuf>,
}

fn present() -> &'static Mutex<Present> {
    static PRESENT: OnceLock<Mutex<Present>> = OnceLock::new();
    PRESENT.get_or_init(Mutex::default)
}

fn with<T>(change: impl FnOnce(&mut Present) -> T) -> T {
    // What is written there is written at once, so that a panic leaves it whole.
    change(&mut present().lock().unwrap_or_else(PoisonError::into_inner))
}

/// Says what the run does from here on, for whoever ends it.
pub fn doing(what: impl Into<String>) {
    with(|present| present.doing = what.into());
}

/// Writes a file whole or not at all.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    with(|present| present.unfinished.push(part.clone()));
    let file = || {
        let mut file = io::BufWriter::new(fs::File::create(&part)?);
        write(&mut file)?;
        file.flush()?;
        fs::rename(&part, path)
    };
    let done = file();
    if done.is_err() {
        let _ = fs::remove_file(&part);
    }
    with(|present| present.unfinished.retain(|other| *other != part));
    done
}

/// A run that is bounded until this is dropped.
pub struct Bounded {
    _folder: tempfile::TempDir,
    /// Closed when the run is over.
    _over: mpsc::Sender<()>,
}

impl Limits {
    /// Should each line be seen as soon as it is printed? What is still held back when a run is ended is lost.
    pub fn are_set(&self) -> bool {
        self.timeout.is_some() || self.memory.is_some()
    }

    /// Bounds what follows.
    pub fn bound(&self, file: &Path) -> anyhow::Result<Bounded> {
        let timeout = match self.timeout {
            None => None,
            Some(seconds) => match Duration::try_from_secs_f64(seconds) {
                Ok(time) if !time.is_zero() => Some(time),
                Ok(_) | Err(_) => return usage(format!("--timeout {seconds} is no time to run; write `--timeout 10`")),
            },
        };
        let folder =
            tempfile::Builder::new().prefix("slyz-run-").tempdir().context("cannot make a temporary folder")?;
        with(|present| {
            present.folder = folder.path().to_path_buf();
            present.doing = format!("reading {}", file.display());
        });
        // Whatever makes temporary files makes them there. Once in a process is often enough.
        let _ = tempfile::env::override_temp_dir(folder.path());
        let name = file.display().to_string();
        let interrupted = format!("{name} was interrupted");
        ctrlc::set_handler(move || end(INTERRUPTED, &interrupted)).context("cannot wait for Ctrl-C")?;
        if let Some(megabytes) = self.memory {
            limit_memory(megabytes)?;
        }
        let (over, ended) = mpsc::channel::<()>();
        if let Some(time) = timeout {
            let message = format!("{name} has run for {} s, which is what --timeout allows", time.as_secs_f64());
            let watch = move || {
                if ended.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout) {
                    end(TOO_LONG, &message);
                }
            };
            std::thread::Builder::new().spawn(watch).context("no thread to watch the time")?;
        }
        Ok(Bounded { _folder: folder, _over: over })
    }
}

/// Ends the process, and leaves nothing behind.
fn end(code: i32, message: &str) -> ! {
    let doing = with(|present| {
        for path in present.unfinished.drain(..) {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir_all(&present.folder);
        present.doing.clone()
    });
    let _ = writeln!(io::stderr(), "slyz: {message}; it was {doing}");
    std::process::exit(code)
}

#[cfg(target_os = "linux")]
fn limit_memory(megabytes: u64) -> anyhow::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // What is allocated, not what is mapped: drivers of GPUs map far more than they use.
    let wanted = megabytes.saturating_mul(1 << 20);
    let maximum = getrlimit(Resource::Data).maximum;
    let limit = Rlimit { current: Some(maximum.map_or(wanted, |most| most.min(wanted))), maximum };
    setrlimit(Resource::Data, limit).context("the system does not let --memory limit the process")
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: u64) -> anyhow::Result<()> {
    usage("--memory is for Linux; here the system has to limit the process")
}
