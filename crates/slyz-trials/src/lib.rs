//! How every random test of Słyż runs: which seeds it tries, how many, for how long, and what it says when one fails. And what
//! tests do where a machine lacks what they need ([`Need`]).
//!
//! A run draws new seeds and prints the first, so that each run looks where none looked before and any run can be
//! repeated. Seeds that failed once stand in `tests/seeds.txt` and are tried first in every run.
//!
//! | variable | meaning |
//! |---|---|
//! | `SLYZ_RANDOM_SEED` | the first seed; else one nobody has chosen |
//! | `SLYZ_RANDOM_CASES` | how many cases each test tries; else what the test thinks usual |
//! | `SLYZ_RANDOM_MINUTES` | for how long each test tries; counts no cases then |
//!
//! ```
//! for seed in slyz_trials::trials("sums_commute", 100) {
//!     let (a, b) = (seed, seed.rotate_left(7));
//!     assert_eq!(a.wrapping_add(b), b.wrapping_add(a));
//! }
//! ```

#![forbid(unsafe_code)]

mod needs;
mod random;

pub use needs::{
    Need, asan, cxx, has_browser, has_cxx, has_hip, has_nvrtc, has_sanitizer, has_spirv_val, hip, models, swift,
};
pub use random::Random;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};
use std::time::{Duration, Instant};

/// Seeds that failed once: the name of a test and the seed, line by line.
const KNOWN: &str = include_str!("../../../tests/seeds.txt");

/// Cases of one proptest runner when a test runs for a time: the clock is looked at between two runners.
const ROUND: u32 = 50;

/// When a test has tried enough.
#[derive(Clone, Copy, Debug)]
enum End {
    Cases(u64),
    Time(Instant),
}

/// The seeds that a test tries; see [`trials`].
#[derive(Debug)]
pub struct Trials {
    name: &'static str,
    /// Seeds that failed once, the next one last.
    known: Vec<u64>,
    next: u64,
    end: End,
    tried: u64,
    current: Option<u64>,
}

/// The seeds that the test of that name tries: those that failed once, then new ones, `usual` of them unless the
/// environment wants something else. When the test panics, the seed it was at is told.
pub fn trials(name: &'static str, usual: u64) -> Trials {
    let count = number("SLYZ_RANDOM_CASES");
    let end = match number("SLYZ_RANDOM_MINUTES") {
        Some(minutes) => End::Time(Instant::now() + Duration::from_secs(60 * minutes)),
        None => End::Cases(count.unwrap_or(usual)),
    };
    let wish = number("SLYZ_RANDOM_SEED");
    let next = wish.unwrap_or_else(drawn);
    println!("{name}: seeds from {next}");
    // Whoever names a seed and a count wants these and no other.
    let known = if wish.is_some() && count.is_some() { vec![] } else { known(KNOWN, name) };
    Trials { name, known, next, end, tried: 0, current: None }
}

/// Tries a property on `usual` values of a strategy, or as many as the environment wants. A value that fails is made
/// smaller first.
pub fn property<S: Strategy>(name: &'static str, usual: u32, strategy: S, test: impl Fn(S::Value) -> TestCaseResult) {
    let mut rounds = trials(name, 1);
    let cases = match rounds.end {
        End::Time(_) => ROUND,
        // One runner for all of them.
        End::Cases(_) => number("SLYZ_RANDOM_CASES").and_then(|n| u32::try_from(n).ok()).unwrap_or(usual),
    };
    if let End::Cases(count) = &mut rounds.end {
        *count = 1;
    }
    for seed in &mut rounds {
        let rng_seed = RngSeed::Fixed(seed);
        let config =
            Config { cases, rng_seed, failure_persistence: None, max_shrink_time: 20_000, ..Config::default() };
        if let Err(error) = TestRunner::new(config).run(&strategy, &test) {
            panic!("{error}");
        }
    }
}

impl Iterator for Trials {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.current = self.known.pop();
        if self.current.is_none() {
            let more = match self.end {
                End::Cases(count) => self.tried < count,
                End::Time(end) => Instant::now() < end,
            };
            if more {
                self.current = Some(self.next);
                self.next = self.next.wrapping_add(1);
                self.tried += 1;
            }
        }
        self.current
    }
}

impl Drop for Trials {
    fn drop(&mut self) {
        match (std::thread::panicking(), self.current) {
            (true, Some(seed)) => {
                // A property tries many values from one seed.
                let cases = number("SLYZ_RANDOM_CASES").map_or(String::new(), |n| format!("SLYZ_RANDOM_CASES={n} "));
                eprintln!(
                    "{name}: seed {seed} failed. {cases}SLYZ_RANDOM_SEED={seed} repeats it; once mended, the line \
                     `{name} {seed}` in tests/seeds.txt (or, better, the program in tests/corpus) keeps it so.",
                    name = self.name
                )
            }
            (true, None) | (false, _) => {
                if matches!(self.end, End::Time(_)) {
                    println!("{}: tried {} seeds", self.name, self.tried);
                }
            }
        }
    }
}

/// A number that the environment gives.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.trim().parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, not a whole number")))
}

/// A seed that nobody has chosen, short enough to be typed.
fn drawn() -> u64 {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
    let mixed = (clock ^ u64::from(std::process::id()) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 24
}

/// The seeds of a test in the list of those that failed once, the first one last.
fn known(list: &str, name: &str) -> Vec<u64> {
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let seeds = lines.filter(|line| !line.is_empty()).filter_map(|line| {
        let (test, seed) =
            line.split_once(' ').unwrap_or_else(|| panic!("tests/seeds.txt: `{line}` is no test and seed"));
        let seed = seed.trim().parse().unwrap_or_else(|_| panic!("tests/seeds.txt: `{line}` has no number"));
        (test == name).then_some(seed)
    });
    let mut seeds: Vec<u64> = seeds.collect();
    seeds.reverse();
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_that_failed_come_first() {
        let list = "# comment\nother 1\nmine 7 # why\n\nmine 9\n";
        assert_eq!(known(list, "mine"), [9, 7]);
        let end = End::Cases(2);
        let trials = Trials { name: "mine", known: known(list, "mine"), next: 100, end, tried: 0, current: None };
        assert_eq!(trials.collect::<Vec<_>>(), [7, 9, 100, 101]);
    }

    #[test]
    fn drawn_seeds_differ() {
        assert_ne!(drawn(), drawn());
    }
}
