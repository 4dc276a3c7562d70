//! Memory of a device that nobody uses now, kept for reuse up to a bound.
//!
//! What it does not do: ask a driver for memory, or know when a device is done with it.

use crate::PoolStats;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pieces of memory `M`, each for some use `U`.
pub(crate) struct Stock<U, M> {
    limit: u64,
    /// What the driver is taken to have.
    most: AtomicU64,
    state: Mutex<State<U, M>>,
}

struct State<U, M> {
    /// By use and bytes.
    kept: HashMap<(U, u64), Shelf<M>>,
    clock: u64,
    stats: PoolStats,
    made: u64,
}

/// Pieces with the times they were given back, the first in front.
type Shelf<M> = VecDeque<(u64, Numbered<M>)>;

/// A piece of memory and its number, which no other has; what was made for it is found by the number.
#[derive(Clone)]
pub(crate) struct Numbered<M> {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) memory: M,
}

impl<U: Copy + Eq + Hash, M> Stock<U, M> {
    /// Keeps at most `limit` bytes, of a driver that has at most `most`.
    pub(crate) fn new(limit: u64, most: u64) -> Stock<U, M> {
        let state = State { kept: HashMap::new(), clock: 0, stats: PoolStats::default(), made: 0 };
        Stock { limit, most: AtomicU64::new(most), state: Mutex::new(state) }
    }

    /// Makes as if the driver had so many bytes only.
    pub(crate) fn pretend(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Can the driver be asked for so many bytes more?
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        let stats = self.lock().stats;
        (stats.live_bytes + stats.kept_bytes) as u64 + bytes <= self.most.load(Ordering::Relaxed)
    }

    pub(crate) fn stats(&self) -> PoolStats {
        self.lock().stats
    }

    fn lock(&self) -> MutexGuard<'_, State<U, M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a piece, and gives out those that there is no room for any more.
    pub(crate) fn keep(&self, role: U, piece: Numbered<M>) -> Vec<Numbered<M>> {
        let bytes = piece.bytes;
        let mut state = self.lock();
        state.stats.live_bytes -= bytes as usize;
        if bytes > self.limit {
            return vec![piece];
        }
        let released = state.shrink_to(self.limit - bytes);
        state.clock += 1;
        let now = state.clock;
        state.stats.kept_bytes += bytes as usize;
        state.stats.kept_blocks += 1;
        state.kept.entry((role, bytes)).or_default().push_back((now, piece));
        released
    }

    /// The latest piece of that many bytes.
    pub(crate) fn find(&self, role: U, bytes: u64) -> Option<Numbered<M>> {
        let mut state = self.lock();
        let (_, found) = state.kept.get_mut(&(role, bytes)).and_then(VecDeque::pop_back)?;
        state.stats.kept_bytes -= bytes as usize;
        state.stats.kept_blocks -= 1;
        state.stats.live_bytes += bytes as usize;
        state.stats.reused += 1;
        Some(found)
    }

    /// Memory that the driver has just given.
    pub(crate) fn number(&self, bytes: u64, memory: M) -> Numbered<M> {
        let mut state = self.lock();
        state.made += 1;
        state.stats.fresh += 1;
        state.stats.live_bytes += bytes as usize;
        Numbered { number: state.made, bytes, memory }
    }

    /// Gives everything that is kept back to the driver.
    pub(crate) fn trim(&self) {
        let released = self.lock().shrink_to(0);
        drop(released);
    }
}

impl<U: Copy + Eq + Hash, M> State<U, M> {
    /// Takes out the pieces that were not used for longest until no more than `limit` bytes are kept.
    fn shrink_to(&mut self, limit: u64) -> Vec<Numbered<M>> {
        let mut released = vec![];
        while self.stats.kept_bytes as u64 > limit {
            let age = |list: &Shelf<M>| list.front().map_or(u64::MAX, |(time, _)| *time);
            let Some((&key, list)) = self.kept.iter_mut().min_by_key(|(_, list)| age(list)) else { break };
            released.extend(list.pop_front().map(|(_, piece)| piece));
            if list.is_empty() {
                self.kept.remove(&key);
            }
            self.stats.kept_bytes -= key.1 as usize;
            self.stats.kept_blocks -= 1;
        }
        released
    }
}

/// Few sizes, so that pieces fit again: powers of two, then quarters between them.
pub(crate) fn rounded(bytes: u64) -> u64 {
    let bytes = bytes.max(256);
    let step = (bytes.next_power_of_two() / 8).max(256);
    bytes.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!([0, 1, 256, 257, 1000, 1025].map(rounded), [256, 256, 256, 512, 1024, 1280]);
        assert_eq!(rounded((1 << 20) + 1), (1 << 20) + (1 << 18));
    }

    #[test]
    fn the_least_used_goes_first() {
        let stock = Stock::<u8, &str>::new(512, 1024);
        let [a, b, c] = ["a", "b", "c"].map(|name| stock.number(256, name));
        assert!(stock.has_room(256) && !stock.has_room(257));
        assert!(stock.keep(0, a).is_empty() && stock.keep(0, b).is_empty());
        let released: Vec<&str> = stock.keep(1, c).into_iter().map(|piece| piece.memory).collect();
        assert_eq!(released, ["a"]);
        assert_eq!(stock.find(0, 256).map(|piece| piece.memory), Some("b"));
        assert!(stock.find(0, 256).is_none(), "the other is for something else");
        stock.trim();
        assert_eq!((stock.stats().kept_bytes, stock.stats().live_bytes), (0, 256));
    }
}
