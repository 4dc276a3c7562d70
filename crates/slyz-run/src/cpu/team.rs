//! Threads that wait for work, and join whoever has some.
//!
//! A loop of arrays launches thousands of times a second, each launch as long as a thread needs to wake. So the caller
//! never hands its work over: it works, and whoever is awake joins. A worker that has nothing to do stays awake for a short
//! while, since work tends to come again at once, and only then goes to sleep.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a worker stays awake without work. It is longer than what a loop does between two launches that are shared, and
/// so short that nobody misses the core.
const AWAKE: Duration = Duration::from_micros(100);
/// Looks between two glances at the clock.
const LOOKS: u32 = 64;

/// The caller and its workers.
pub(super) struct Team {
    board: Arc<Board>,
    workers: Vec<Thread>,
}

/// Where work is announced.
struct Board {
    /// What may still be joined, oldest first.
    open: Mutex<Vec<Posted>>,
    /// The number of the newest job; workers look at it without the lock.
    newest: AtomicU64,
}

/// A job on the board.
#[derive(Clone, Copy)]
struct Posted {
    number: u64,
    job: *const Job<'static>,
}

// SAFETY: jobs are shared by design, and a job stays where it is until it is off the board and everybody has left it.
unsafe impl Send for Posted {}

/// Work that some seats do together.
struct Job<'a> {
    act: &'a (dyn Fn(usize) + Sync),
    seats: usize,
    /// Workers that joined and did not leave yet.
    inside: AtomicUsize,
    /// Where the caller waits.
    gate: Arc<Gate>,
    /// What a worker panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Where a caller waits for those who are inside. Not by parking: a wake-up that was meant for the caller's own code would be lost.
#[derive(Default)]
struct Gate {
    lock: Mutex<()>,
    left: Condvar,
}

thread_local! {
    static GATE: Arc<Gate> = Arc::default();
}

impl Gate {
    fn wait_until(&self, holds: &dyn Fn() -> bool) {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !holds() {
            guard = self.left.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn tell(&self) {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.left.notify_all();
    }
}

impl Team {
    /// A team of so many, the caller counted. Where the system gives fewer threads, the reason is told with them.
    pub(super) fn new(size: usize) -> (Team, Option<std::io::Error>) {
        let board = Arc::new(Board { open: Mutex::new(vec![]), newest: AtomicU64::new(0) });
        let mut workers = vec![];
        for seat in 1..size {
            let its_board = board.clone();
            let worker = move || its_board.serve(seat);
            match thread::Builder::new().name(format!("slyz-{seat}")).spawn(worker) {
                Ok(handle) => workers.push(handle.thread().clone()),
                Err(error) => return (Team { board, workers }, Some(error)),
            }
        }
        (Team { board, workers }, None)
    }

    /// How many can work at once.
    pub(super) fn size(&self) -> usize {
        self.workers.len() + 1
    }

    /// Does `act` on the caller's seat, which is 0, and on those of `1..seats` whose workers come before it ends. A worker always
    /// has the same seat, so that what it worked on before is in its cache.
    pub(super) fn together(&self, seats: usize, act: &(dyn Fn(usize) + Sync)) {
        let seats = seats.min(self.size());
        let gate = GATE.try_with(Arc::clone).unwrap_or_default();
        let job = Job { act, seats, inside: AtomicUsize::new(0), gate, panic: Mutex::new(None) };
        let posted = Ended { board: &self.board, number: self.board.post(&job), job: &job };
        self.workers.iter().take(seats.saturating_sub(1)).for_each(Thread::unpark);
        act(0);
        drop(posted);
        let panic = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

/// Takes a job off the board and waits until everybody has left it, also when the caller panics.
struct Ended<'b, 'j, 'a> {
    board: &'b Board,
    number: u64,
    job: &'j Job<'a>,
}

impl Drop for Ended<'_, '_, '_> {
    fn drop(&mut self) {
        self.board.jobs().retain(|posted| posted.number != self.number);
        let empty = || self.job.inside.load(Ordering::Acquire) == 0;
        if !awake_until(&empty) {
            self.job.gate.wait_until(&empty);
        }
    }
}

impl Board {
    fn jobs(&self) -> MutexGuard<'_, Vec<Posted>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a job, and gives its number.
    fn post(&self, job: &Job<'_>) -> u64 {
        let mut jobs = self.jobs();
        let number = self.newest.load(Ordering::Relaxed) + 1;
        jobs.push(Posted { number, job: std::ptr::from_ref(job).cast() });
        self.newest.store(number, Ordering::Release);
        number
    }

    /// The life of a worker.
    fn serve(&self, seat: usize) {
        let mut last = 0;
        loop {
            let fresh = || self.newest.load(Ordering::Acquire) != last;
            if !awake_until(&fresh) {
                while !fresh() {
                    thread::park();
                }
            }
            while let Some(posted) = self.join(seat, &mut last) {
                // SAFETY: this worker is inside: its caller stays until it has left.
                unsafe { work(posted.job, seat) };
            }
        }
    }

    /// Joins the oldest job on the board that is newer than the last one and has the seat.
    fn join(&self, seat: usize, last: &mut u64) -> Option<Posted> {
        let jobs = self.jobs();
        // SAFETY: what is on the board while its lock is held has not ended.
        let has_seat = |posted: &&Posted| posted.number > *last && seat < unsafe { (*posted.job).seats };
        let found = jobs.iter().find(has_seat).copied();
        match found {
            Some(posted) => {
                *last = posted.number;
                // SAFETY: as above.
                unsafe { (*posted.job).inside.fetch_add(1, Ordering::Relaxed) };
            }
            None => *last = self.newest.load(Ordering::Relaxed),
        }
        found
    }
}

/// A worker's part of a job, and its leaving.
///
/// # Safety
/// The worker was counted as inside.
unsafe fn work(job: *const Job<'static>, seat: usize) {
    // SAFETY: the job is there while somebody is inside.
    let job = unsafe { &*job };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (job.act)(seat))) {
        *job.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
    }
    let gate = job.gate.clone();
    // Behind this the job may be gone.
    if job.inside.fetch_sub(1, Ordering::AcqRel) == 1 {
        gate.tell();
    }
}

/// Looks again and again for a short while; whether it came true.
fn awake_until(holds: &dyn Fn() -> bool) -> bool {
    let mut since = None;
    loop {
        for _ in 0..LOOKS {
            if holds() {
                return true;
            }
            std::hint::spin_loop();
        }
        if since.get_or_insert_with(Instant::now).elapsed() > AWAKE {
            return false;
        }
        // Somebody else may need the core.
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_seat_works_once_at_most_and_the_caller_always() {
        let (team, _) = Team::new(4);
        for round in 0..200 {
            let seats = round % 6;
            let sat: Vec<AtomicUsize> = (0..6).map(|_| AtomicUsize::new(0)).collect();
            team.together(seats, &|seat| {
                sat[seat].fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(sat[0].load(Ordering::Relaxed), 1);
            let limit = |seat: usize| usize::from(seat < seats.clamp(1, 4));
            assert!((0..6).all(|seat| sat[seat].load(Ordering::Relaxed) <= limit(seat)), "{seats} seats");
        }
    }

    #[test]
    fn workers_come_to_a_job_that_waits_for_them_and_to_callers_at_once() {
        let (team, _) = Team::new(3);
        let call = || {
            for _ in 0..50 {
                let came = AtomicBool::new(false);
                team.together(3, &|seat| match seat {
                    0 => {
                        while !came.load(Ordering::Acquire) {
                            thread::yield_now();
                        }
                    }
                    _ => came.store(true, Ordering::Release),
                });
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(call)));
    }

    /// The caller waits long enough to fall asleep, and what was meant for its own code is still there afterwards.
    #[test]
    fn the_callers_own_wake_up_is_not_taken() {
        let (team, _) = Team::new(2);
        thread::current().unpark();
        let came = AtomicBool::new(false);
        team.together(2, &|seat| match seat {
            0 => {
                while !came.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            }
            _ => {
                came.store(true, Ordering::Release);
                thread::sleep(20 * AWAKE);
            }
        });
        let long = Duration::from_secs(60);
        let start = Instant::now();
        thread::park_timeout(long);
        assert!(start.elapsed() < long, "the wake-up is gone");
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_works_on() {
        let (team, _) = Team::new(2);
        let came = AtomicBool::new(false);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            team.together(2, &|seat| match seat {
                0 => {
                    while !came.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                }
                _ => {
                    came.store(true, Ordering::Release);
                    panic!("of a worker")
                }
            });
        }));
        assert!(caught.is_err());
        team.together(2, &|_| ());
    }
}
