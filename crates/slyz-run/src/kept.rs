//! What calls work out once and later calls find again.
//!
//! Calls repeat themselves, so the first few values stay for good and are found without a lock. A function that is called in more
//! ways than that has the latest of the others kept.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const FIRST: usize = 4;
const LATEST: usize = 8;

/// Values that were made for calls; which one is a call's is for the caller to see.
pub struct Kept<V> {
    first: [OnceLock<Arc<V>>; FIRST],
    /// The latest in front.
    latest: Mutex<VecDeque<Arc<V>>>,
}

/// A value that is kept, or was when it was found.
pub enum Found<'k, V> {
    /// For as long as there are calls.
    First(&'k V),
    /// Others may take its place while it is used.
    Later(Arc<V>),
}

impl<V> Deref for Found<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        match self {
            Found::First(value) => value,
            Found::Later(value) => value,
        }
    }
}

impl<V> Default for Kept<V> {
    fn default() -> Kept<V> {
        Kept { first: Default::default(), latest: Mutex::default() }
    }
}

impl<V> Kept<V> {
    /// The value that fits, or else what `make` makes. Threads that ask at the same time may each make one.
    pub fn get<E>(&self, fits: impl Fn(&V) -> bool, make: impl FnOnce() -> Result<V, E>) -> Result<Found<'_, V>, E> {
        // They are filled in order, so behind an empty one there is nothing.
        for value in self.first.iter().map_while(OnceLock::get) {
            if fits(value) {
                return Ok(Found::First(value));
            }
        }
        if let Some(value) = self.later(fits) {
            return Ok(Found::Later(value));
        }
        let made = Arc::new(make()?);
        for place in &self.first {
            let kept = place.get_or_init(|| made.clone());
            if Arc::ptr_eq(kept, &made) {
                return Ok(Found::First(kept));
            }
        }
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.truncate(LATEST - 1);
        latest.push_front(made.clone());
        Ok(Found::Later(made))
    }

    fn later(&self, fits: impl Fn(&V) -> bool) -> Option<Arc<V>> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let place = latest.iter().position(|value| fits(value))?;
        latest.swap(0, place);
        latest.front().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(kept: &Kept<usize>, wanted: usize) -> (usize, bool) {
        let mut made = false;
        let make = || {
            made = true;
            Ok::<usize, ()>(wanted)
        };
        let found = *kept.get(|&value| value == wanted, make).unwrap();
        (found, made)
    }

    #[test]
    fn the_first_stay_and_the_latest_return() {
        let kept = Kept::default();
        let all = FIRST + LATEST + 1;
        assert!((0..all).all(|wanted| get(&kept, wanted) == (wanted, true)));
        assert!((0..FIRST).all(|wanted| get(&kept, wanted) == (wanted, false)), "the first stay");
        assert_eq!(get(&kept, FIRST), (FIRST, true), "the oldest of the others went");
        assert_eq!(get(&kept, all - 1), (all - 1, false));
    }

    #[test]
    fn failures_are_not_kept() {
        let kept = Kept::default();
        assert!(kept.get(|_| true, || Err::<usize, &str>("no")).is_err());
        assert_eq!(get(&kept, 3), (3, true));
    }
}
