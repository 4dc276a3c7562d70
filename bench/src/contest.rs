//! A contest: the contestants of one job, their answers checked, their times taken in turns.
//!
//! In each repetition every contestant runs twice and the second run counts, so that nobody is timed on caches that
//! another one filled; and since they alternate, whatever else the machine does hits all alike.

use crate::data::Slab;
use crate::job::{Bench, Job, OURS, Row};
use crate::timing::{self, Timing};

/// Whatever goes wrong ends the program with its message.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What the answer must be.
pub struct Expected {
    values: Vec<f32>,
    relative: f32,
    absolute: f32,
    /// How many elements may be otherwise, as a share.
    others: f64,
}

impl Expected {
    /// The values, up to `relative` of themselves.
    pub fn near(values: Vec<f32>, relative: f32) -> Expected {
        Expected { values, relative, absolute: 0.0, others: 0.0 }
    }

    /// Lets each value also differ by `absolute`.
    pub fn or_within(mut self, absolute: f32) -> Expected {
        self.absolute = absolute;
        self
    }

    /// Lets a share of the elements be anything: points on a border that rounding decides.
    pub fn except(mut self, others: f64) -> Expected {
        self.others = others;
        self
    }

    fn check(&self, found: &[f32]) -> Result<(), String> {
        if found.len() != self.values.len() {
            return Err(format!("{} elements instead of {}", found.len(), self.values.len()));
        }
        // A NaN is near nothing.
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= self.absolute + self.relative * b.abs();
        let wrong = found.iter().zip(&self.values).filter(|&pair| !near(pair)).count();
        if wrong as f64 <= self.others * found.len() as f64 {
            return Ok(());
        }
        let first = found.iter().zip(&self.values).position(|pair| !near(pair)).unwrap_or(0);
        Err(format!("{wrong} wrong elements; at {first} {} instead of {}", found[first], self.values[first]))
    }
}

trait Contestant {
    fn run(&mut self);
    fn answer(&self) -> Result<Vec<f32>, Failure>;
}

/// A contestant that keeps its output from run to run.
struct Entry<O, R, A> {
    output: O,
    run: R,
    answer: A,
}

impl<O, R: FnMut(&mut O), A: Fn(&O) -> Result<Vec<f32>, Failure>> Contestant for Entry<O, R, A> {
    fn run(&mut self) {
        (self.run)(&mut self.output)
    }
    fn answer(&self) -> Result<Vec<f32>, Failure> {
        (self.answer)(&self.output)
    }
}

/// The contestants of a job.
pub struct Contest<'a> {
    bench: &'a Bench,
    job: &'static Job,
    expected: Expected,
    entries: Vec<(String, Box<dyn Contestant + 'a>)>,
}

impl<'a> Contest<'a> {
    /// A contest without contestants.
    pub fn new(bench: &'a Bench, job: &'static Job, expected: Expected) -> Contest<'a> {
        Contest { bench, job, expected, entries: vec![] }
    }

    /// A contestant with an output of its own making.
    pub fn entry<O: 'a>(
        &mut self,
        name: &str,
        output: O,
        run: impl FnMut(&mut O) + 'a,
        answer: impl Fn(&O) -> Result<Vec<f32>, Failure> + 'a,
    ) {
        self.entries.push((name.to_string(), Box::new(Entry { output, run, answer })));
    }

    /// A contestant that fills an output which is there already.
    pub fn fills(&mut self, name: &str, len: usize, mut run: impl FnMut(&mut [f32]) + 'a) {
        let output = Slab::zeros(&self.bench.native, len);
        self.entry(name, output, move |out| run(out), |out| Ok(out.to_vec()));
    }

    /// A contestant that gives a number.
    pub fn gives(&mut self, name: &str, mut run: impl FnMut() -> f32 + 'a) {
        self.entry(name, 0.0, move |out| *out = run(), |out| Ok(vec![*out]));
    }

    /// Ours: a call, whose result is dropped before the next, so that the pool can use its memory again.
    pub fn ours<H: 'a>(
        &mut self,
        call: impl FnMut() -> Result<H, slyz::Error> + 'a,
        answer: impl Fn(&H) -> Result<Vec<f32>, slyz::Error> + 'a,
    ) {
        self.ours_as(OURS, call, answer);
    }

    /// Ours in another way, under a name of its own.
    pub fn ours_as<H: 'a>(
        &mut self,
        name: &str,
        mut call: impl FnMut() -> Result<H, slyz::Error> + 'a,
        answer: impl Fn(&H) -> Result<Vec<f32>, slyz::Error> + 'a,
    ) {
        let run = move |out: &mut Option<Result<H, slyz::Error>>| {
            *out = None;
            *out = Some(call());
        };
        self.entry(name, None, run, move |out| match out {
            Some(Ok(out)) => Ok(answer(out)?),
            Some(Err(error)) => Err(error.to_string().into()),
            None => Err("it has not run".into()),
        });
    }

    /// Times everybody, and checks what they say before and after.
    pub fn measure(mut self) -> Result<Row, Failure> {
        let mut once = 0.0;
        for (_, entry) in &mut self.entries {
            entry.run();
            let start = self.bench.now();
            entry.run();
            once += 2.0 * (self.bench.now() - start);
        }
        let first = self.wrongs()?;
        let repetitions = timing::repetitions(self.bench.seconds, once);
        let mut times = vec![vec![]; self.entries.len()];
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        for round in 0..repetitions {
            shuffle(&mut order, round as u64);
            for &k in &order {
                let entry = &mut self.entries[k].1;
                entry.run();
                let start = self.bench.now();
                entry.run();
                times[k].push(self.bench.now() - start);
            }
        }
        let wrongs = first.into_iter().zip(self.wrongs()?).map(|(first, last)| first.or(last));
        let named = self.entries.iter().map(|(name, _)| name).zip(times).zip(wrongs);
        let timings = named.map(|((name, times), wrong)| Timing { wrong, ..Timing::of(name, times) }).collect();
        Ok(Row { job: self.job, timings, repetitions })
    }

    /// What is wrong with the answer of each.
    fn wrongs(&self) -> Result<Vec<Option<String>>, Failure> {
        self.entries.iter().map(|(_, entry)| Ok(self.expected.check(&entry.answer()?).err())).collect()
    }
}

/// Another order each round: who comes behind a contestant that uses one core finds the other asleep.
fn shuffle(order: &mut [usize], round: u64) {
    let mut state = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for k in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(k, (state >> 33) as usize % (k + 1));
    }
}
