//! Times and what is made of them.

use std::time::Instant;

/// The times of one contestant, in seconds.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Whose.
    pub name: String,
    /// Half of the runs were faster.
    pub median: f64,
    /// The fastest run: what the machine can do when nothing else is in the way.
    pub least: f64,
    /// What is wrong with the answer; such a time counts for nothing.
    pub wrong: Option<String>,
}

impl Timing {
    /// What the runs of a contestant amount to.
    pub fn of(name: &str, mut seconds: Vec<f64>) -> Timing {
        seconds.sort_by(f64::total_cmp);
        let at = |k: usize| seconds.get(k).copied().unwrap_or(f64::NAN);
        Timing { name: name.to_string(), median: at(seconds.len() / 2), least: at(0), wrong: None }
    }
}

/// How long `f` takes, in seconds.
pub fn seconds<R>(f: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = f();
    (start.elapsed().as_secs_f64(), result)
}

/// How many repetitions fill the time, when one takes `once`.
pub fn repetitions(budget: f64, once: f64) -> usize {
    let (least, most) = (5, 101);
    if budget <= 0.0 { 1 } else { ((budget / once.max(1e-9)) as usize).clamp(least, most) }
}
