//! The threads that share launches.
//!
//! A call from inside a thread pool of rayon's stays in that pool, which is the caller's business. All others share a pool of
//! ours: as many threads as cores, or as `RAYON_NUM_THREADS` says, within reason, or as the system gives. Where it gives none,
//! launches run on the calling thread.

use crate::warn;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// More threads than this for a core only wait for each other.
const PER_CORE: usize = 4;

/// How many threads share a launch of the caller.
pub(super) fn count() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => pool().map_or(1, ThreadPool::current_num_threads),
    }
}

/// Does it where `rayon` finds the threads that [`count`] counts.
pub(super) fn install<R: Send>(act: impl FnOnce() -> R + Send) -> R {
    let inside = rayon::current_thread_index().is_some();
    match pool() {
        Some(pool) if !inside => pool.install(act),
        Some(_) | None => act(),
    }
}

/// Our own pool; `None` where a single thread is all there is.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        build(wanted(std::env::var("RAYON_NUM_THREADS").ok().as_deref(), cores))
    })
    .as_ref()
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

/// That many threads, or half as many, and so on.
fn build(wanted: usize) -> Option<ThreadPool> {
    let mut threads = wanted;
    let mut why = None;
    while threads > 1 {
        match ThreadPoolBuilder::new().num_threads(threads).thread_name(|k| format!("slyz-{k}")).build() {
            Ok(pool) => {
                tell(why, wanted, threads);
                return Some(pool);
            }
            Err(error) => why = Some(error.to_string()),
        }
        threads /= 2;
    }
    tell(why, wanted, 1);
    None
}

fn tell(why: Option<String>, wanted: usize, had: usize) {
    if let Some(why) = why {
        let message = format!(
            "{wanted} threads cannot be had ({why}); calls run on {had}. Raise the limit of processes (ulimit -u) or of memory, \
             or set RAYON_NUM_THREADS to fewer"
        );
        warn::warn_once("threads", &message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| (count(), install(rayon::current_num_threads))), (3, 3));
        assert_eq!(install(rayon::current_num_threads).max(1), count());
    }
}
