//! A child process with an end: what it says is read until it is over, or until its time is.
//!
//! The child leads a process group of its own, so that at the end of its time whatever it started (`cc1`, `as`, `ld`) ends
//! with it. One thread does all of it: threads may be what the machine lacks.

use std::io;
use std::process::{Command, Output};
use std::time::Duration;

/// How a child ended.
pub(super) enum Ending {
    /// By itself.
    Done(Output),
    /// It was killed when its time was over.
    Killed,
}

/// Starts the command, which gets no input, and waits for at most that long.
#[cfg(unix)]
pub(super) fn run(command: &mut Command, limit: Duration) -> io::Result<Ending> {
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;
    use std::time::Instant;

    let deadline = Instant::now().checked_add(limit);
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.process_group(0).spawn()?;
    let mut stdout = vec![];
    let mut stderr = vec![];
    let mut pipes = [
        child.stdout.take().map(|pipe| Pipe { file: Box::new(pipe), text: &mut stdout }),
        child.stderr.take().map(|pipe| Pipe { file: Box::new(pipe), text: &mut stderr }),
    ];
    let left = || deadline.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
    let in_time = read_all(&mut pipes, &left).and_then(|read| Ok(read && wait(&mut child, &left)?));
    if !matches!(in_time, Ok(true)) {
        end_group(child.id());
    }
    // Nobody survives that signal, so this does not take long.
    let status = child.wait()?;
    Ok(if in_time? { Ending::Done(Output { status, stdout, stderr }) } else { Ending::Killed })
}

/// Starts the command and waits. Where there are no process groups there is no limit either.
#[cfg(not(unix))]
pub(super) fn run(command: &mut Command, _limit: Duration) -> io::Result<Ending> {
    command.stdin(std::process::Stdio::null()).output().map(Ending::Done)
}

#[cfg(unix)]
trait Readable: io::Read + std::os::fd::AsRawFd {}
#[cfg(unix)]
impl<T: io::Read + std::os::fd::AsRawFd> Readable for T {}

/// One end of a pipe, and what came out of it.
#[cfg(unix)]
struct Pipe<'a> {
    file: Box<dyn Readable>,
    text: &'a mut Vec<u8>,
}

/// Reads pipes until they are closed; false when the time is over before.
#[cfg(unix)]
fn read_all(pipes: &mut [Option<Pipe>], left: &dyn Fn() -> Duration) -> io::Result<bool> {
    loop {
        let open = pipes.iter().flatten();
        let mut waiting: Vec<libc::pollfd> =
            open.map(|pipe| libc::pollfd { fd: pipe.file.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
        if waiting.is_empty() {
            return Ok(true);
        }
        let milliseconds = left().as_millis().saturating_add(1).min(i32::MAX as u128) as i32;
        // SAFETY: the list is ours and has as many entries as are said; the descriptors are open while `pipes` holds them.
        let ready = unsafe { libc::poll(waiting.as_mut_ptr(), waiting.len() as libc::nfds_t, milliseconds) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if ready == 0 && left().is_zero() {
            return Ok(false);
        }
        for place in pipes.iter_mut() {
            let Some(pipe) = place else { continue };
            let told = waiting.iter().any(|w| w.fd == pipe.file.as_raw_fd() && w.revents != 0);
            let mut part = [0; 4096];
            // What is ready does not block.
            if told {
                match pipe.file.read(&mut part)? {
                    0 => *place = None,
                    n => pipe.text.extend_from_slice(&part[..n]),
                }
            }
        }
    }
}

/// Waits for a child that has closed its output, and so is about to end; false when the time is over before.
#[cfg(unix)]
fn wait(child: &mut std::process::Child, left: &dyn Fn() -> Duration) -> io::Result<bool> {
    let mut pause = Duration::from_micros(50);
    while child.try_wait()?.is_none() {
        if left().is_zero() {
            return Ok(false);
        }
        std::thread::sleep(pause.min(left()));
        pause = (2 * pause).min(Duration::from_millis(20));
    }
    Ok(true)
}

/// Ends a process group at once.
#[cfg(unix)]
fn end_group(leader: u32) {
    // SAFETY: `kill` takes two numbers. The leader is a child that nobody has waited for, so the number is still its own.
    unsafe { libc::kill(-(leader as libc::pid_t), libc::SIGKILL) };
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ending {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn what_is_said_is_read() {
        let Ending::Done(output) = shell("head -c 300000 /dev/zero; echo no >&2; exit 3", Duration::MAX) else {
            panic!("killed")
        };
        assert_eq!((output.stdout.len(), &output.stderr[..]), (300_000, &b"no\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    /// The script waits for a child of its own, which holds the pipes; both are gone. A closed output helps nobody either.
    #[test]
    fn the_whole_group_ends() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > '{}'; wait", pid.display());
        assert!(matches!(shell(&script, Duration::from_millis(300)), Ending::Killed));
        let pid: i32 = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
        // SAFETY: signal 0 asks whether the process is there.
        let gone = || unsafe { libc::kill(pid, 0) } != 0 || is_zombie(pid);
        while !gone() {
            std::thread::yield_now();
        }
        let deaf = "exec >&- 2>&-; sleep 1000";
        assert!(matches!(shell(deaf, Duration::from_millis(100)), Ending::Killed));
    }

    fn is_zombie(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z"))
    }
}
