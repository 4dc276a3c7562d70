//! Calls that repeat: where a call of a program has its arrays where an earlier one had them, a device that can runs again what it kept of
//! that one, and the plan is not walked.
//!
//! Arguments of such a call are on the device. Temporary arrays are kept with the launches; those that end as results are new at each
//! call, and mostly where the earlier ones were, which a pool gives out again.

use super::call::{Call, Slot, is_watched, length};
use super::engine::{Engine, Few};
use super::numbers::Prepared;
use crate::signature::{Bound, Sizes};
use crate::{ArrayData, Error};
use slyz_sir::kernel::{BufferId, BufferUse, Loop, Plan, ScalarArg, Step, Turns};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where fewer are launched, launches take no longer.
const FEWEST_LAUNCHES: u64 = 3;
/// What more is launched takes long to keep, and is bound by the device.
const MOST_LAUNCHES: u64 = 4096;
/// Calls on more memory are bound by it. All that are kept take no more together.
const MOST_BYTES: usize = 64 << 20;
/// Calls that are kept at most, and those that are known to have been there.
const KEPT: usize = 4;
const SEEN: usize = 8;
/// So many calls more than repeat are elsewhere, and it is no longer looked.
const MOST_MISSES: i32 = 32;

/// What a device kept of the calls of some sizes.
pub(super) struct Repeats<E: Engine> {
    wanted: AtomicBool,
    /// Calls that are kept at most.
    most: usize,
    state: Mutex<State<E>>,
}

struct State<E: Engine> {
    /// No call was made.
    is_first: bool,
    /// Where results end; known when a call was kept.
    ends: Option<Arc<Vec<End>>>,
    kept: Vec<(Vec<u64>, Arc<E::Recording>)>,
    seen: Vec<Vec<u64>>,
    misses: i32,
}

/// A result, and the buffer whose first array it ends in, when arrays have changed places.
#[derive(Clone, Copy)]
struct End {
    result: usize,
    origin: usize,
}

/// What is to be done with a call.
enum Way<E: Engine> {
    Walk,
    Keep,
    Replay(Arc<E::Recording>),
}

impl<E: Engine> Repeats<E> {
    pub(super) fn new(plan: &Plan, sizes: &Sizes, buffers: &[usize]) -> Repeats<E> {
        let bytes = buffers.iter().fold(0usize, |sum, &bytes| sum.saturating_add(bytes));
        let few = |launches: u64| (FEWEST_LAUNCHES..=MOST_LAUNCHES).contains(&launches);
        let is_small = !buffers.is_empty() && bytes <= MOST_BYTES;
        let wanted = E::RECORDS && is_small && launches(&plan.steps, sizes).is_some_and(few);
        let state = State { is_first: true, ends: None, kept: vec![], seen: vec![], misses: 0 };
        let most = (MOST_BYTES / bytes.max(1)).clamp(1, KEPT);
        Repeats { wanted: AtomicBool::new(wanted), most, state: Mutex::new(state) }
    }

    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn way(&self, state: &mut State<E>, places: &[u64]) -> Way<E> {
        if let Some((_, recording)) = state.kept.iter().find(|(known, _)| known == places) {
            state.misses = (state.misses - 1).max(-MOST_MISSES);
            return Way::Replay(recording.clone());
        }
        state.misses += 1;
        if state.misses > MOST_MISSES {
            self.wanted.store(false, Ordering::Relaxed);
            state.kept.clear();
            return Way::Walk;
        }
        if state.seen.iter().any(|known| known == places) {
            return Way::Keep;
        }
        if state.seen.len() == SEEN {
            state.seen.remove(0);
        }
        state.seen.push(places.to_vec());
        Way::Walk
    }
}

/// How often the plan launches, where the sizes tell.
fn launches(steps: &[Step], sizes: &Sizes) -> Option<u64> {
    steps.iter().try_fold(0u64, |sum, step| {
        let more = match step {
            Step::Launch { scalars, .. } if scalars.iter().any(|scalar| scalar.read().is_some()) => None,
            Step::Launch { .. } => Some(1),
            Step::Free(_) => Some(0),
            Step::Loop(Loop { turns: Turns::Size(turns), steps, .. }) => {
                launches(steps, sizes)?.checked_mul(sizes.eval(turns).ok()?)
            }
            Step::Loop(_) | Step::Count { .. } => None,
            Step::Choose { work, most, small, large } => {
                let is_small = sizes.eval(work).is_ok_and(|work| work <= *most);
                launches(if is_small { small } else { large }, sizes)
            }
        };
        sum.checked_add(more?)
    })
}

impl<'e, E: Engine> Call<'e, '_, E> {
    /// Takes all steps of the plan, or runs again what the device kept of a call like this one.
    ///
    /// # Safety
    /// As [`Call::walk`].
    pub(super) unsafe fn run(&mut self) -> Result<(), Error> {
        let prepared: &'e Prepared<E> = self.prepared;
        let repeats = &prepared.repeats;
        if !repeats.is_wanted() || is_watched() || !self.is_resident() || !self.is_fixed(&self.plan().steps, 0, None) {
            // SAFETY: the caller's promise.
            return unsafe { self.walk() };
        }
        let mut state = repeats.state.lock().unwrap_or_else(PoisonError::into_inner);
        let way = match state.ends.clone() {
            Some(ends) => {
                let places = self.places(&ends)?;
                repeats.way(&mut state, &places)
            }
            None if state.is_first => Way::Walk,
            None => Way::Keep,
        };
        state.is_first = false;
        match way {
            Way::Walk => {
                drop(state);
                // SAFETY: the caller's promise.
                unsafe { self.walk() }
            }
            // SAFETY: the same.
            Way::Keep => unsafe { self.keep(&mut state) },
            Way::Replay(recording) => {
                let ends = state.ends.clone().unwrap_or_default();
                drop(state);
                // SAFETY: arrays are where they were when the launches were kept; the others are kept with them.
                unsafe { self.engine.replay(&mut self.queue, &recording) }?;
                self.settle(&ends);
                self.submit()
            }
        }
    }

    /// Runs the call so that the device keeps it; or runs it, where the device cannot.
    ///
    /// # Safety
    /// As [`Call::walk`].
    unsafe fn keep(&mut self, state: &mut State<E>) -> Result<(), Error> {
        let plan = self.plan();
        for number in 0..plan.buffers.len() {
            self.fill(BufferId(number as u32))?;
        }
        let before: Vec<u64> = (0..plan.buffers.len()).map(|slot| self.place(slot)).collect();
        if !self.engine.begin_recording(&mut self.queue, false)? {
            self.prepared.repeats.wanted.store(false, Ordering::Relaxed);
            // SAFETY: the caller's promise.
            return unsafe { self.walk() };
        }
        self.recorded = Some(vec![]);
        // SAFETY: the caller's promise.
        unsafe { self.steps(&plan.steps, 0) }?;
        let mut kept = self.recorded.take().unwrap_or_default();
        let ends = self.ends(&before);
        let is_argument = |slot: usize| matches!(plan.buffers[slot].role, BufferUse::Argument(_));
        for slot in (0..plan.buffers.len()).filter(|&slot| !is_argument(slot)) {
            let is_end = ends.iter().flatten().any(|end| end.result == slot);
            if !is_end && let Slot::Here(array, _) = std::mem::replace(&mut self.slots[slot], Slot::Freed) {
                kept.push(array);
            }
        }
        let recording = self.engine.end_recording(&mut self.queue, None, kept)?;
        let Some(recording) = recording else {
            let why = "the device has kept nothing of a call".to_string();
            return Err(Error::Plan { name: plan.name.clone(), why });
        };
        // SAFETY: the arrays are those of the call, or kept.
        unsafe { self.engine.replay(&mut self.queue, &recording) }?;
        // Memory of the caller's that is no result in the end is not ours to keep.
        let is_ours = |ends: &[End]| !self.offered || ends.iter().all(|end| end.result == end.origin);
        match ends.filter(|ends| is_ours(ends)) {
            Some(ends) => {
                let places = self.list(&ends, &before);
                state.ends = Some(Arc::new(ends));
                if state.kept.len() == self.prepared.repeats.most {
                    state.kept.remove(0);
                }
                state.kept.push((places, Arc::new(recording)));
            }
            None => self.prepared.repeats.wanted.store(false, Ordering::Relaxed),
        }
        self.submit()
    }

    /// Where the results have ended, given where arrays were before the first step. `None` where one is not found.
    fn ends(&self, before: &[u64]) -> Option<Vec<End>> {
        let mut ends: Vec<End> = vec![];
        for (id, _) in &self.plan().results {
            let result = id.0 as usize;
            let is_argument = matches!(self.plan().buffers[result].role, BufferUse::Argument(_));
            if is_argument || ends.iter().any(|end| end.result == result) {
                continue;
            }
            let place = self.place(result);
            let origin = before.iter().position(|&other| other == place)?;
            ends.push(End { result, origin });
        }
        Some(ends)
    }

    /// Makes the arrays that become results, and says where everything is that a call is about.
    fn places(&mut self, ends: &[End]) -> Result<Vec<u64>, Error> {
        let plan = self.plan();
        for (number, buffer) in plan.buffers.iter().enumerate() {
            let is_end = ends.iter().any(|end| end.origin == number);
            if is_end || matches!(buffer.role, BufferUse::Argument(_)) {
                self.fill(BufferId(number as u32))?;
            }
        }
        let places: Vec<u64> = (0..plan.buffers.len()).map(|slot| self.place(slot)).collect();
        Ok(self.list(ends, &places))
    }

    /// What tells calls apart: the places of arguments and of arrays that become results, and the scalars.
    fn list(&self, ends: &[End], places: &[u64]) -> Vec<u64> {
        let is_argument = |slot: &usize| matches!(self.plan().buffers[*slot].role, BufferUse::Argument(_));
        let arguments = (0..places.len()).filter(is_argument).map(|slot| places[slot]);
        let ends = ends.iter().map(|end| places[end.origin]);
        let scalars = self.args.iter().filter_map(|argument| match argument {
            Bound::Scalar(scalar) => Some(scalar.bits),
            Bound::Array(_) => None,
        });
        arguments.chain(ends).chain(scalars).collect()
    }

    /// Puts the arrays that became results where those are looked for.
    fn settle(&mut self, ends: &[End]) {
        let mut take = |end: &End| std::mem::replace(&mut self.slots[end.origin], Slot::Freed);
        let arrays: Few<Slot<'_, E>> = ends.iter().map(&mut take).collect();
        for (end, array) in ends.iter().zip(arrays) {
            self.slots[end.result] = array;
        }
    }

    /// Where the array behind a buffer is; 0 for none.
    fn place(&self, slot: usize) -> u64 {
        match &self.slots[slot] {
            Slot::Here(array, _) => self.engine.place(array),
            Slot::Empty | Slot::Given(_) | Slot::Freed => 0,
        }
    }

    /// Are all arguments on the device already?
    fn is_resident(&self) -> bool {
        self.args.iter().all(|argument| match argument {
            Bound::Scalar(_) => true,
            Bound::Array(ArrayData::Buffer(buffer)) => self.engine.holds(buffer),
            Bound::Array(ArrayData::Host(_)) => false,
        })
    }

    /// Do the steps launch the same each time, without the host having to know anything? Inside of a loop, at each of its turns.
    pub(super) fn is_fixed(&self, steps: &[Step], mut place: usize, depth: Option<u32>) -> bool {
        for step in steps {
            let is_fixed = match step {
                Step::Launch { scalars, .. } => {
                    self.prepared.launches[place].is_some() && scalars.iter().all(|scalar| self.is_known(scalar, depth))
                }
                // The arrays of a loop are made once.
                Step::Free(_) => depth.is_none(),
                Step::Count { .. } => false,
                Step::Loop(Loop { turns, steps, .. }) => {
                    matches!(turns, Turns::Size(_)) && self.is_fixed(steps, place + 1, depth)
                }
                Step::Choose { work, most, small, large } => {
                    let is_small = self.sizes.eval(work).is_ok_and(|work| work <= *most);
                    match is_small {
                        true => self.is_fixed(small, place + 1, depth),
                        false => self.is_fixed(large, place + 1 + length(small), depth),
                    }
                }
            };
            if !is_fixed {
                return false;
            }
            place += step.len();
        }
        true
    }

    fn is_known(&self, scalar: &ScalarArg, depth: Option<u32>) -> bool {
        match *scalar {
            ScalarArg::Const(_) => true,
            ScalarArg::Turn(of) => Some(of) != depth,
            ScalarArg::Argument(place) => matches!(self.args.get(place), Some(Bound::Scalar(_))),
            ScalarArg::Read(_) => false,
        }
    }
}
