//! Accesses since the last barrier, and which of them meet.

use super::Touch;
use slyz_sir::code::MemId;
use std::collections::{BTreeMap, HashMap};

/// An element; axes that a memory does not have are 0.
pub(super) type Index = [i64; MOST_AXES];

/// The most axes of a memory.
const MOST_AXES: usize = 4;

/// One access of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub touch: Touch,
    pub thread: u32,
    /// Its number among the accesses of the kernel.
    pub access: usize,
    /// It surely happens, and there.
    pub sure: bool,
}

/// Two accesses of different threads to one element.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub memory: MemId,
    pub index: Option<Index>,
    pub first: (Touch, u32, usize),
    pub second: (Touch, u32, usize),
    pub sure: bool,
}

/// So many accesses of one kind are kept for an element: whoever comes next is another thread than one of two.
const KEPT: usize = 2;

/// What was touched since the last barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    elements: HashMap<(MemId, Index), Vec<Mark>>,
    /// Accesses at an index that is not known.
    anywhere: HashMap<MemId, Vec<Mark>>,
}

/// The races found so far, by the access that comes second.
pub(super) type Found = BTreeMap<usize, Touched>;

fn conflict(a: Touch, b: Touch) -> bool {
    match (a, b) {
        (Touch::Read, Touch::Read) | (Touch::Atomic, Touch::Atomic) => false,
        (Touch::Write, _) | (_, Touch::Write) => true,
        (Touch::Atomic, Touch::Read) | (Touch::Read, Touch::Atomic) => true,
    }
}

fn keep(marks: &mut Vec<Mark>, mark: Mark) {
    let alike = |m: &&Mark| m.touch == mark.touch && m.sure >= mark.sure;
    let known = marks.iter().filter(alike).any(|m| m.thread == mark.thread);
    if !known && marks.iter().filter(alike).count() < KEPT {
        marks.push(mark);
    }
}

impl Log {
    /// All threads have met.
    pub(super) fn clear(&mut self) {
        self.elements.clear();
        self.anywhere.clear();
    }

    /// What was touched on one of two roads.
    pub(super) fn join(&mut self, other: Log) {
        for (element, marks) in other.elements {
            let here = self.elements.entry(element).or_default();
            marks.into_iter().for_each(|mark| keep(here, mark));
        }
        for (memory, marks) in other.anywhere {
            let here = self.anywhere.entry(memory).or_default();
            marks.into_iter().for_each(|mark| keep(here, mark));
        }
    }

    /// Notes an access, and what it meets.
    pub(super) fn touch(&mut self, memory: MemId, index: Option<Index>, mark: Mark, found: &mut Found) {
        let meets = |other: &&Mark| other.thread != mark.thread && conflict(other.touch, mark.touch);
        let mut met: Vec<(Mark, bool)> = vec![];
        match index {
            Some(at) => {
                let there = self.elements.get(&(memory, at)).into_iter().flatten();
                met.extend(there.filter(meets).map(|other| (*other, true)));
            }
            None => {
                let there = self.elements.iter().filter(|((m, _), _)| *m == memory).flat_map(|(_, marks)| marks);
                // Of equal ones the first in the code: maps have no order.
                let first = there.filter(meets).min_by_key(|other| (other.access, other.thread));
                met.extend(first.map(|other| (*other, false)));
            }
        }
        let anywhere = self.anywhere.get(&memory).into_iter().flatten();
        met.extend(anywhere.filter(meets).map(|other| (*other, false)));
        for (other, there) in met {
            let sure = there && other.sure && mark.sure;
            if found.get(&mark.access).is_none_or(|known| sure && !known.sure) {
                let side = |mark: Mark| (mark.touch, mark.thread, mark.access);
                let touched = Touched { memory, index, first: side(other), second: side(mark), sure };
                found.insert(mark.access, touched);
            }
        }
        match index {
            Some(at) => keep(self.elements.entry((memory, at)).or_default(), mark),
            None => keep(self.anywhere.entry(memory).or_default(), mark),
        }
    }
}
