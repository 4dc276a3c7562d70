//! Loops of a plan, turn by turn.
//!
//! Where all turns launch the same, a device that can is told some of them once, and then only how often; where data decide how often, it
//! finds out by itself, if it can do that too.

use super::call::{Call, Slot, is_watched, length};
use super::engine::Engine;
use crate::Error;
use crate::progress::Meter;
use crate::turns::most_turns;
use slyz_sir::kernel::{BufferId, Loop, Turns};

/// Turns after which a device gets what there is to do.
const TURNS_AT_ONCE: u64 = 64;

/// The most turns that are taken before it is known whether they were to be taken.
const MOST_AHEAD: u64 = 32;

/// Turns that come first: they make the arrays, on either side of those that change places.
const FIRST: u64 = 2;

/// Where data decide how often, turns that come first: most such loops end before it pays to keep some.
const FIRST_OF_OPEN: u64 = 16;

/// Turns that a device keeps at once. They are as many each way, so that arrays that change places end where they were.
const KEPT: u64 = 16;

/// Where no more turns are left, it does not pay to keep some.
const FEWEST: u64 = 4 * KEPT;

impl<'e, E: Engine> Call<'e, '_, E> {
    /// Takes the steps of a loop, turn by turn.
    ///
    /// # Safety
    /// As [`Call::walk`].
    pub(super) unsafe fn turns(&mut self, around: &'e Loop, place: usize) -> Result<(), Error> {
        let Loop { name, turns, swaps, .. } = around;
        let known = match turns {
            Turns::Size(size) => Some(self.sizes.eval(size)?),
            Turns::Read(from) => Some(u64::try_from(i64::from_ne_bytes(self.read_back(*from)?)).unwrap_or(0)),
            Turns::While { .. } => None,
        };
        let mut turn = 0;
        let mut asked = 0;
        // Loops inside of others are parts of a turn.
        let is_outermost = self.turn.is_empty();
        let mut meter = if is_outermost { Meter::start(E::NAME, || name.clone(), known) } else { None };
        let mut may_record = self.may_record(around, place);
        let first = if known.is_some() { FIRST } else { FIRST_OF_OPEN };
        let mut kept: Option<E::Recording> = None;
        let left = |turn: u64| known.map_or(u64::MAX, |known| known.saturating_sub(turn));
        while left(turn) > 0 {
            let before = turn;
            if may_record && turn >= first && left(turn) >= FEWEST {
                may_record = false;
                if let Turns::While { holds, done: Some(done), .. } = turns {
                    // SAFETY: the caller's promise.
                    if let Some(all) = unsafe { self.record(around, place, 2, Some(*holds)) }? {
                        // SAFETY: the same.
                        unsafe { self.engine.replay(&mut self.queue, &all) }?;
                        let taken = u64::try_from(i64::from_ne_bytes(self.read_back(*done)?)).unwrap_or(0);
                        self.undo(swaps, taken.abs_diff(turn));
                        return Ok(());
                    }
                }
                // SAFETY: the caller's promise.
                kept = unsafe { self.record(around, place, KEPT, None) }?;
            }
            match &kept {
                Some(kept) if left(turn) >= KEPT => {
                    // SAFETY: the arrays are those of the call, which lives.
                    unsafe { self.engine.replay(&mut self.queue, kept) }?;
                    turn += KEPT;
                }
                _ => {
                    // SAFETY: the caller's promise.
                    if !unsafe { self.turn(around, place, turn) }? {
                        break;
                    }
                    turn += 1;
                }
            }
            if let Some(meter) = &mut meter {
                meter.turns(turn);
            }
            if let Turns::While { done, .. } = turns {
                // Twice as long as it took so far: it is asked seldom, and little is launched in vain.
                let asks =
                    turn >= asked + (asked / 2).clamp(1, MOST_AHEAD) || most_turns().is_some_and(|most| turn > most);
                if let Some(done) = done.filter(|_| asks) {
                    asked = turn;
                    let taken = u64::try_from(i64::from_ne_bytes(self.read_back(done)?)).unwrap_or(0);
                    if taken < turn {
                        self.undo(swaps, turn - taken);
                        break;
                    }
                }
                if let Some(most) = most_turns().filter(|&most| turn > most) {
                    return Err(Error::Turns { name: name.clone(), most });
                }
            }
            if turn / TURNS_AT_ONCE != before / TURNS_AT_ONCE {
                self.submit()?;
            }
        }
        Ok(())
    }

    /// Takes a turn; `false` where it is not to be taken.
    ///
    /// # Safety
    /// As [`Call::walk`].
    unsafe fn turn(&mut self, around: &'e Loop, place: usize, turn: u64) -> Result<bool, Error> {
        self.turn.push(turn as i64);
        let mut first = place;
        if let Turns::While { steps: test, holds, done } = &around.turns {
            // SAFETY: the caller's promise.
            unsafe { self.steps(test, first) }?;
            first += length(test);
            if done.is_none() && self.read_back::<1>(*holds)? == [0] {
                self.turn.pop();
                return Ok(false);
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.steps(&around.steps, first) }?;
        self.swap(&around.swaps);
        self.turn.pop();
        Ok(true)
    }

    /// Lets buffers change places.
    fn swap(&mut self, swaps: &[(BufferId, BufferId)]) {
        for (a, b) in swaps {
            self.slots.swap(a.0 as usize, b.0 as usize);
        }
    }

    /// Turns that did nothing have their buffers swapped all the same.
    fn undo(&mut self, swaps: &[(BufferId, BufferId)], turns: u64) {
        if turns % 2 == 1 {
            self.swap(swaps);
        }
    }

    /// May the device keep turns of a loop? It cannot where somebody watches them, or the host has to know something in between.
    fn may_record(&self, around: &Loop, place: usize) -> bool {
        if !E::RECORDS || self.recorded.is_some() || is_watched() {
            return false;
        }
        let depth = self.turn.len() as u32;
        match &around.turns {
            Turns::Size(_) | Turns::Read(_) => self.is_fixed(&around.steps, place, Some(depth)),
            Turns::While { steps: test, done, .. } => {
                done.is_some()
                    && self.is_fixed(test, place, Some(depth))
                    && self.is_fixed(&around.steps, place + length(test), Some(depth))
            }
        }
    }

    /// Turns of a loop, for the device to take again; `holds` where it is to take them until that no longer does. `None` where it cannot.
    ///
    /// # Safety
    /// As [`Call::walk`].
    unsafe fn record(
        &mut self,
        around: &'e Loop,
        place: usize,
        turns: u64,
        holds: Option<BufferId>,
    ) -> Result<Option<E::Recording>, Error> {
        let is_here = |id: BufferId| matches!(self.slots[id.0 as usize], Slot::Here(..));
        if !holds.is_none_or(is_here) || !self.engine.begin_recording(&mut self.queue, holds.is_some())? {
            return Ok(None);
        }
        self.recorded = Some(vec![]);
        for turn in 0..turns {
            // SAFETY: the caller's promise.
            unsafe { self.turn(around, place, turn) }?;
        }
        let kept = self.recorded.take().unwrap_or_default();
        let holds = holds.and_then(|id| match &self.slots[id.0 as usize] {
            Slot::Here(array, _) => Some(array),
            Slot::Empty | Slot::Given(_) | Slot::Freed => None,
        });
        self.engine.end_recording(&mut self.queue, holds, kept)
    }
}
