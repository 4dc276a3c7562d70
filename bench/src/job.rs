//! What a job is: a piece of work with a size that several contestants do.

use crate::contest::Failure;
use crate::native::Native;
use crate::timing::Timing;
use std::time::Instant;

/// What all jobs share.
pub struct Bench {
    /// The C kernels.
    pub native: Native,
    /// Small sizes and few repetitions: only the answers matter.
    pub quick: bool,
    /// How long one job may take, about.
    pub seconds: f64,
    /// Measure the time of the thread on the processor instead of the time on the wall; there is one thread then.
    pub cpu_time: bool,
    /// When the program started.
    pub start: Instant,
}

impl Bench {
    /// The time, in seconds since some moment.
    pub fn now(&self) -> f64 {
        if self.cpu_time { self.native.thread_seconds() } else { self.start.elapsed().as_secs_f64() }
    }

    /// The extent of a vector: `n`, or a small power of two.
    pub fn length(&self, n: usize) -> usize {
        if self.quick { n >> 6 } else { n }
    }

    /// The extent of one side of a matrix; multiples of 256 stay multiples of 64.
    pub fn side(&self, n: usize) -> usize {
        if self.quick { n >> 2 } else { n }
    }
}

/// A piece of work.
pub struct Job {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name and size in the table.
    pub title: &'static str,
    /// The share of the best contestant's speed that ours is to reach; `None` where nothing is promised yet.
    pub target: Option<f64>,
    /// Measures it.
    pub run: fn(&Bench, &'static Job) -> Result<Row, Failure>,
    /// The C that ours becomes.
    pub source: fn() -> Result<String, Failure>,
}

/// The times of a job.
pub struct Row {
    /// Of which job.
    pub job: &'static Job,
    /// By contestant; ours is called [`OURS`].
    pub timings: Vec<Timing>,
    /// How often each was timed.
    pub repetitions: usize,
}

/// Our name among the contestants.
pub const OURS: &str = "ours";

impl Row {
    /// Ours.
    pub fn ours(&self) -> Option<&Timing> {
        self.timings.iter().find(|timing| timing.name == OURS)
    }

    /// The fastest of the others that are right, by `measure`.
    pub fn best(&self, measure: fn(&Timing) -> f64) -> Option<&Timing> {
        let others = self.timings.iter().filter(|timing| timing.name != OURS && timing.wrong.is_none());
        others.min_by(|a, b| measure(a).total_cmp(&measure(b)))
    }

    /// Our share of the best one's speed by `measure`; above 1 we are faster. None when we are wrong.
    pub fn share(&self, measure: fn(&Timing) -> f64) -> Option<f64> {
        let ours = self.ours().filter(|ours| ours.wrong.is_none())?;
        Some(measure(self.best(measure)?) / measure(ours))
    }
}
