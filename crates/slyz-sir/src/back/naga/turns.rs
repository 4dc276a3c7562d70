//! Loops on drivers that count turns.
//!
//! Mesa's software GPUs end a loop, without a word, when all loops of a thread together have turned back 65,535 times, nested ones
//! and those behind each other alike: two levels of loops in place of one change nothing. What does: code that is there
//! several times in a turn. Where a kernel may turn more often than that, its loops are written so ([`Target::long_loops`]),
//! as often as their length allows.
//!
//! [`Target::long_loops`]: super::Target::long_loops

use super::ends::{find_constants, grows_to_an_end};
use crate::code::{Body, Id, Op};
use crate::kernel::Kernel;
use crate::ranges::{self, Facts, Range, Ranges};
use std::collections::HashMap;

/// Turns of all loops of a thread together, after which such a driver ends them.
pub const MOST_TURNS: u64 = 65_535;
/// The most copies of a loop's code.
const MOST_COPIES: u64 = 32;
/// The most statements that copies have together.
const STATEMENTS: u64 = 384;
/// Turns of a loop that doubles a number.
const DOUBLINGS: u64 = 64;

/// How often the code of a long loop is written.
pub(super) fn copies(body: &Body) -> u64 {
    (STATEMENTS / length(body).max(1)).clamp(1, MOST_COPIES)
}

/// Statements of the code, with copies in it.
fn length(body: &Body) -> u64 {
    body.stmts.iter().fold(0, |sum: u64, stmt| {
        let inner = stmt.op.bodies().into_iter().fold(0, |sum: u64, body| {
            let times = if matches!(stmt.op, Op::For { .. } | Op::While { .. }) { copies(body) } else { 1 };
            sum.saturating_add(times * length(body))
        });
        sum.saturating_add(1).saturating_add(inner)
    })
}

/// The most that all loops of a thread turn in a launch with these sizes, each end of a loop included; `None` where data decide.
pub fn most_turns(kernel: &Kernel, sizes: &[Option<u64>]) -> Option<u64> {
    count(kernel, sizes, Loops::All)
}

/// How often loops turn whose bounds the sizes give, in code that is written for [`Target::long_loops`].
///
/// [`Target::long_loops`]: super::Target::long_loops
pub fn certain_turns(kernel: &Kernel, sizes: &[Option<u64>]) -> Option<u64> {
    count(kernel, sizes, Loops::Known)
}

fn count(kernel: &Kernel, sizes: &[Option<u64>], loops: Loops) -> Option<u64> {
    let ranges = ranges::of_kernel(kernel, &Facts::of_call(sizes));
    let mut constants = HashMap::new();
    find_constants(&kernel.body, &mut constants);
    Count { kernel, ranges, constants, loops }.body(&kernel.body)
}

/// Which loops are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loops {
    /// All, as written.
    All,
    /// Those with known bounds, written several times in a turn.
    Known,
}

struct Count<'k> {
    kernel: &'k Kernel,
    ranges: Ranges,
    constants: HashMap<Id, i128>,
    loops: Loops,
}

impl Count<'_> {
    fn body(&self, body: &Body) -> Option<u64> {
        body.stmts.iter().try_fold(0, |sum: u64, stmt| Some(sum.saturating_add(self.op(&stmt.op)?)))
    }

    fn op(&self, op: &Op) -> Option<u64> {
        let known_only = self.loops == Loops::Known;
        match op {
            Op::For { lo, hi, step, body, .. } => {
                // What no thread comes to turns never.
                if body.params.first().is_some_and(|counter| !self.ranges.is_reached(counter.id)) {
                    return Some(1);
                }
                let [lo, hi] = [lo, hi].map(|id| self.ranges.get(*id));
                if known_only && [lo, hi].iter().any(|range| range.single().is_none()) {
                    return Some(0);
                }
                if [lo, hi].contains(&Range::FULL) {
                    return None;
                }
                let step = self.ranges.get(*step).lo.max(1);
                let span = (hi.hi - lo.lo).max(0);
                let turns = u64::try_from(span.checked_add(step - 1)? / step).ok()?;
                self.repeated(turns, self.body(body)?, body)
            }
            Op::While { .. } | Op::Call(..) if known_only => Some(0),
            Op::While { init, cond, body } => {
                grows_to_an_end(init, cond, body, &self.constants)?;
                self.repeated(DOUBLINGS, self.body(cond)?.saturating_add(self.body(body)?), body)
            }
            // Sizes and places are not known in functions.
            Op::Call(function, _) => {
                let body = &self.kernel.functions.get(function.0 as usize)?.body;
                has_no_loops(body).then_some(0)
            }
            // A thread goes one way.
            Op::If { then, otherwise, .. } => Some(self.body(then)?.max(self.body(otherwise)?)),
            // Some are made of a loop that tries until nobody else was there.
            Op::Atomic { .. } => Some(1),
            op => op.bodies().into_iter().try_fold(0, |sum: u64, body| Some(sum.saturating_add(self.body(body)?))),
        }
    }

    fn repeated(&self, turns: u64, each: u64, body: &Body) -> Option<u64> {
        let back = if self.loops == Loops::Known { turns / copies(body) } else { turns };
        Some(turns.saturating_mul(each).saturating_add(back).saturating_add(1))
    }
}

fn has_no_loops(body: &Body) -> bool {
    body.stmts.iter().all(|stmt| match &stmt.op {
        Op::For { .. } | Op::While { .. } | Op::Call(..) => false,
        op => op.bodies().into_iter().all(has_no_loops),
    })
}
