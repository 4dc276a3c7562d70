//! The choice among the plans of a program, by the clock.

use super::compiled::Compiled;
use super::engine::Engine;
use crate::progress::Meter;
use crate::signature::Sizes;
use crate::tune::{self, Decision};
use crate::{Argument, CacheConfig, Error, hash};
use slyz_sir::lower::Choice;
use slyz_sir::lower::gpu::Expected;
use std::time::Instant;

/// Calls that are measured of each plan, behind one that is not.
const CALLS: usize = 5;
/// A plan has to be so much faster than the usual one to be chosen: what the clock says is never exact.
const WORTH: f64 = 0.97;
/// Seconds behind which no further plan is tried.
const LONGEST: f64 = 10.0;

impl<E: Engine> Compiled<E> {
    /// The best choice for about these sizes: found on disk, or measured with these arguments.
    pub(super) fn best(&self, sizes: &Sizes, args: &[Argument<'_>]) -> Result<Choice, Error> {
        let candidates = Choice::candidates(self.engine.limits().is_some());
        let class = Expected::of(sizes.values());
        let precision = self.engine.precision(self.program.precision);
        let parts = (self.engine.machine(), precision, format!("{class:?}"), self.callable.program.to_string());
        let key = hash::of_pieces(&[
            b"tuning 1",
            E::NAME.as_bytes(),
            parts.0.as_bytes(),
            parts.1.to_string().as_bytes(),
            parts.2.as_bytes(),
            parts.3.as_bytes(),
        ]);
        let disk = CacheConfig::from_env().open();
        let known = disk.as_ref().and_then(|disk| disk.load(&key));
        let named = |name: &[u8]| candidates.iter().find(|choice| choice.to_string().as_bytes() == name).copied();
        let (tried, choice) = match known.as_deref().and_then(named) {
            Some(choice) => (vec![], choice),
            None => {
                let (tried, choice) = self.measured(sizes, args, &candidates)?;
                if let Some(disk) = &disk {
                    disk.store(&key, choice.to_string().as_bytes());
                }
                (tried, choice)
            }
        };
        let values = self.signature.sizes.iter().zip(sizes.values());
        tune::tell(Decision {
            program: self.signature.name.clone(),
            device: E::NAME.to_string(),
            sizes: values.filter_map(|(size, value)| Some((size.name.clone(), (*value)?))).collect(),
            tried,
            chosen: choice.to_string(),
        });
        Ok(choice)
    }

    /// What a call takes with each choice that gives another plan, and the best.
    fn measured(
        &self,
        sizes: &Sizes,
        args: &[Argument<'_>],
        candidates: &[Choice],
    ) -> Result<(Vec<(String, f64)>, Choice), Error> {
        let began = Instant::now();
        let mut meter =
            Meter::start(E::NAME, || format!("tuning {}", self.signature.name), Some(candidates.len() as u64));
        let mut plans = vec![];
        let mut tried: Vec<(String, f64)> = vec![];
        let mut best = (Choice::USUAL, f64::INFINITY);
        for (done, choice) in candidates.iter().enumerate() {
            if let Some(meter) = &mut meter {
                meter.turns(done as u64);
            }
            if began.elapsed().as_secs_f64() > LONGEST {
                break;
            }
            let variant = self.variant(sizes, *choice)?;
            if plans.contains(&variant.plan) {
                continue;
            }
            plans.push(variant.plan.clone());
            // A plan that cannot be run is not chosen; an error of the usual one is the call's.
            let seconds = match self.seconds(sizes.values(), args, *choice) {
                Ok(seconds) => seconds,
                Err(error) if tried.is_empty() => return Err(error),
                Err(_) => continue,
            };
            let bound = if tried.is_empty() { f64::INFINITY } else { tried[0].1 * WORTH };
            if seconds < best.1 && seconds < bound {
                best = (*choice, seconds);
            }
            tried.push((choice.to_string(), seconds));
        }
        Ok((tried, best.0))
    }

    /// Seconds of a call, the fastest of a few.
    fn seconds(&self, sizes: &[Option<u64>], args: &[Argument<'_>], choice: Choice) -> Result<f64, Error> {
        let call = || {
            let outputs = self.run_with(sizes, args, &mut [], &|_| Ok(choice), None)?;
            // Whoever reads waits for the device.
            outputs.last().map_or(Ok(()), |output| output.data.read_at(0, &mut [0]))
        };
        call()?;
        let mut least = f64::INFINITY;
        for _ in 0..CALLS {
            let start = Instant::now();
            call()?;
            least = least.min(start.elapsed().as_secs_f64());
        }
        Ok(least)
    }
}
