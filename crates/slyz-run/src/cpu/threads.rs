//! The threads that share launches.
//!
//! A call from inside a thread pool of rayon's stays in that pool, which is the caller's business. All others share a team of
//! ours: as many threads as cores, or as `RAYON_NUM_THREADS` says, within reason, or as the system gives. Where it gives none,
//! launches run on the calling thread.

use super::team::Team;
use crate::warn;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// More threads than this for a core only wait for each other.
const PER_CORE: usize = 4;

/// How many threads share a launch of the caller.
pub(super) fn count() -> usize {
    foreign::count().unwrap_or_else(|| team().size())
}

/// Shares tasks among so many seats. Each seat that a thread takes gets its tasks one by one, and the caller waits until all are
/// done.
pub(super) fn share(tasks: u64, seats: usize, act: &(dyn Fn(usize, &mut dyn Iterator<Item = u64>) + Sync)) {
    let deal = Deal { taken: (0..seats).map(|_| Taken::default()).collect(), tasks };
    let sit = |seat: usize| act(seat, &mut deal.of(seat));
    if foreign::count().is_some() {
        foreign::together(seats, &sit);
    } else {
        team().together(seats, &sit);
    }
}

/// The pool of rayon's that the caller is in.
#[cfg(feature = "rayon")]
mod foreign {
    use rayon::prelude::*;

    pub(super) fn count() -> Option<usize> {
        rayon::current_thread_index().map(|_| rayon::current_num_threads())
    }

    pub(super) fn together(seats: usize, sit: &(dyn Fn(usize) + Sync)) {
        (0..seats).into_par_iter().with_max_len(1).for_each(sit);
    }
}

/// Without rayon nobody calls from inside its pools.
#[cfg(not(feature = "rayon"))]
mod foreign {
    pub(super) fn count() -> Option<usize> {
        None
    }

    pub(super) fn together(seats: usize, sit: &(dyn Fn(usize) + Sync)) {
        (0..seats).for_each(sit);
    }
}

/// Tasks that are dealt like cards. A seat takes its own first, always the same ones, whose data its cache may still have,
/// and then what others have not come to.
struct Deal {
    taken: Vec<Taken>,
    tasks: u64,
}

/// How many of a seat's tasks are taken, in a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Taken(AtomicU64);

impl Deal {
    fn of(&self, seat: usize) -> impl Iterator<Item = u64> {
        let seats = self.taken.len();
        let mut away = 0;
        std::iter::from_fn(move || {
            while away < seats {
                let whose = (seat + away) % seats;
                let round = self.taken[whose].0.fetch_add(1, Ordering::Relaxed);
                let task = whose as u64 + round * seats as u64;
                if task < self.tasks {
                    return Some(task);
                }
                away += 1;
            }
            None
        })
    }
}

/// Our own team.
fn team() -> &'static Team {
    static TEAM: OnceLock<Team> = OnceLock::new();
    TEAM.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        build(wanted(std::env::var("RAYON_NUM_THREADS").ok().as_deref(), cores))
    })
}

/// How many threads to ask for.
fn wanted(asked: Option<&str>, cores: usize) -> usize {
    let asked = asked.and_then(|text| text.trim().parse::<usize>().ok()).filter(|&n| n > 0);
    let asked = asked.unwrap_or(cores);
    let most = PER_CORE * cores;
    if asked > most {
        let message = format!(
            "RAYON_NUM_THREADS={asked} is more than {PER_CORE} threads for each of {cores} cores; {most} are used. Ask for fewer"
        );
        warn::warn_once("threads", &message);
    }
    asked.min(most)
}

/// A team of that many threads, or of as many as the system gives.
fn build(wanted: usize) -> Team {
    let (team, trouble) = Team::new(wanted);
    if let Some(why) = trouble {
        let had = team.size();
        let message = format!(
            "{wanted} threads cannot be had ({why}); calls run on {had}. Raise the limit of processes (ulimit -u) or of memory, \
             or set RAYON_NUM_THREADS to fewer"
        );
        warn::warn_once("threads", &message);
    }
    team
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn reason() {
        assert_eq!(wanted(None, 6), 6);
        assert_eq!(wanted(Some(" 3 "), 6), 3);
        assert_eq!(wanted(Some("24"), 6), 24);
        assert_eq!(wanted(Some("100000"), 6), 24);
        assert_eq!([wanted(Some("0"), 6), wanted(Some("many"), 6)], [6, 6]);
    }

    #[test]
    fn a_pool_of_the_caller_is_used() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let name = || std::thread::current().name().map(str::to_string);
        let outside = Mutex::new(vec![]);
        pool.install(|| share(3, count(), &|_, _| outside.lock().unwrap().push(name())));
        assert_eq!(*outside.lock().unwrap(), [None, None, None]);
    }

    #[test]
    fn every_task_is_done_once() {
        for (tasks, seats) in [(0, 1), (1, 1), (1, 7), (100, 3), (64, 64)] {
            let done: Vec<AtomicU64> = (0..tasks).map(|_| AtomicU64::new(0)).collect();
            share(tasks, seats, &|_, own| {
                own.for_each(|task| _ = done[task as usize].fetch_add(1, Ordering::Relaxed));
            });
            assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1), "{tasks} tasks, {seats} seats");
        }
    }
}
