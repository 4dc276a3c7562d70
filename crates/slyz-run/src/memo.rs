//! Compiled things kept in memory: one compile per key however many threads ask, and a bound on how many are kept.
//!
//! Failures are not kept: whoever waited for one tries again.

use crate::Error;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

type Key = [u8; 32];

/// A bounded map from hashes to shared things.
pub(crate) struct Memo<T: ?Sized> {
    limit: usize,
    entries: Mutex<Entries<T>>,
}

struct Entries<T: ?Sized> {
    clock: u64,
    map: HashMap<Key, (u64, Arc<Slot<T>>)>,
}

/// Locked while it is being filled; that is what the others wait for.
type Slot<T> = Mutex<Option<Arc<T>>>;

impl<T: ?Sized> Memo<T> {
    pub(crate) fn new(limit: usize) -> Memo<T> {
        Memo { limit, entries: Mutex::new(Entries { clock: 0, map: HashMap::new() }) }
    }

    /// What is kept for the key, or else what `make` makes.
    pub(crate) fn get(&self, key: Key, make: impl FnOnce() -> Result<Arc<T>, Error>) -> Result<Arc<T>, Error> {
        let slot = self.slot(key);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*slot {
            return Ok(kept.clone());
        }
        let made = make()?;
        *slot = Some(made.clone());
        Ok(made)
    }

    fn slot(&self, key: Key) -> Arc<Slot<T>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clock += 1;
        let now = entries.clock;
        if !entries.map.contains_key(&key) && entries.map.len() >= self.limit {
            let oldest = entries.map.iter().min_by_key(|(_, (time, _))| *time).map(|(key, _)| *key);
            oldest.map(|oldest| entries.map.remove(&oldest));
        }
        let entry = entries.map.entry(key).or_insert_with(|| (now, Arc::default()));
        entry.0 = now;
        entry.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn many_threads_make_one() {
        let memo = Memo::<usize>::new(4);
        let made = AtomicUsize::new(0);
        let start = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let got = memo.get([1; 32], || Ok(Arc::new(made.fetch_add(1, Ordering::SeqCst))));
                    assert_eq!(*got.unwrap(), 0);
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn the_least_used_goes_first() {
        let memo = Memo::<u8>::new(2);
        let made = |key: u8| {
            let mut fresh = false;
            let make = || {
                fresh = true;
                Ok(Arc::new(key))
            };
            assert_eq!(*memo.get([key; 32], make).unwrap(), key);
            fresh
        };
        assert!(made(1) && made(2) && !made(1));
        assert!(made(3), "the third");
        assert!(!made(1), "used lately, kept");
        assert!(made(2), "not used for longest, gone");
    }

    #[test]
    fn failures_are_not_kept() {
        let memo = Memo::<u8>::new(2);
        assert!(memo.get([0; 32], || Err(Error::Load { why: String::new() })).is_err());
        assert_eq!(*memo.get([0; 32], || Ok(Arc::new(5))).unwrap(), 5);
    }
}
