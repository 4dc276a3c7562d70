//! Data races: which accesses are ordered, and which pairs conflict.
//!
//! Two accesses to one element conflict when different agents (threads, or turns of `Lanes`) make them, at least one
//! writes, and at least one is not atomic. A conflict is a race unless the first access is ordered before the second:
//!
//! * In one block: a block barrier lies between them, or a subgroup barrier and both are in that subgroup.
//!   Fences alone order nothing inside a block.
//! * Across blocks of a launch (global memory only): the first block *released* after the access and the second agent
//!   *acquired* before its own. A block releases by `Fence(Device)`; the fence covers earlier accesses of the same
//!   agent, and those of all agents before the last block barrier. An agent acquires by `Fence(Device)` or an atomic
//!   load of its own, or of any agent of its block before the last block barrier.
//!
//! # What this does not find
//!
//! Blocks run one after the other here, so the rule across blocks checks that both sides of a look-back protocol have
//! their fences, not that the acquire truly saw the flag the release was followed by: a block that fences for another
//! reason counts as having acquired everything that was released. Of the readers (and of the atomics) of an element, only the last
//! one, the last by another agent of that block, and the last of another block are remembered. That finds every
//! race between two agents of one block, and across blocks whenever the blocks run the same code.

use super::error::Touch;
use std::collections::{HashMap, HashSet};

/// One access: who and when. `moment` counts barriers and device fences in the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// Number of the block, x fastest.
    pub(super) block: u32,
    /// A thread of the block, or, from the number of threads on, a turn.
    pub(super) agent: u32,
    moment: u64,
}

impl Mark {
    const NONE: Mark = Mark { block: u32::MAX, agent: 0, moment: 0 };

    fn is_some(self) -> bool {
        self.block != u32::MAX
    }
}

/// The last access, the last of another agent in the same block, the last of another block.
#[derive(Clone, Copy, Debug)]
struct Recent([Mark; 3]);

impl Recent {
    const NONE: Recent = Recent([Mark::NONE; 3]);

    fn add(&mut self, mark: Mark) {
        let [last, same_block, other_block] = &mut self.0;
        if last.is_some() && last.block != mark.block {
            (*same_block, *other_block) = (Mark::NONE, *last);
        } else if last.is_some() && last.agent != mark.agent {
            *same_block = *last;
        }
        *last = mark;
    }
}

/// The accesses to the elements of one memory that may still race. Each kind of access pays for its record only
/// when it happens.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    writes: Vec<Mark>,
    reads: Vec<Recent>,
    /// Loads and updates.
    atomics: HashMap<usize, [Recent; 2]>,
}

impl Shadow {
    /// Looks for an earlier access that conflicts with this one, then remembers it. `shared` is true for memory that
    /// all blocks see; `len` is the number of elements.
    pub(super) fn touch(
        &mut self,
        order: &Order,
        (element, len, shared): (usize, usize, bool),
        agent: u32,
        touch: Touch,
    ) -> Result<(), (Touch, Mark)> {
        let races = |m: Mark| m.is_some() && (shared || m.block == order.block) && !order.ordered(m, agent);
        let clash =
            |kind: Touch, recent: &[Mark]| recent.iter().find(|&&m| races(m)).map_or(Ok(()), |&m| Err((kind, m)));
        let atomics = self.atomics.get(&element);
        if let Some(last) = self.writes.get(element) {
            clash(Touch::Write, &[*last])?;
        }
        if let (Some(reads), Touch::Write | Touch::AtomicWrite) = (self.reads.get(element), touch) {
            clash(Touch::Read, &reads.0)?;
        }
        if let (Some([loads, _]), Touch::Write) = (atomics, touch) {
            clash(Touch::AtomicRead, &loads.0)?;
        }
        if let (Some([_, updates]), Touch::Read | Touch::Write) = (atomics, touch) {
            clash(Touch::AtomicWrite, &updates.0)?;
        }
        let mark = Mark { block: order.block, agent, moment: order.moment };
        match touch {
            Touch::Write => {
                self.writes.resize(len, Mark::NONE);
                self.writes[element] = mark;
            }
            Touch::Read => {
                self.reads.resize(len, Recent::NONE);
                self.reads[element].add(mark);
            }
            Touch::AtomicRead => self.atomics.entry(element).or_insert([Recent::NONE; 2])[0].add(mark),
            Touch::AtomicWrite => self.atomics.entry(element).or_insert([Recent::NONE; 2])[1].add(mark),
        }
        Ok(())
    }
}

/// The device fences of a block.
#[derive(Debug, Default)]
struct Fences {
    /// When the barrier interval of the last one began; accesses before that are covered for all agents.
    interval: Option<u64>,
    /// The moment of the last one of each agent.
    by_agent: HashMap<u32, u64>,
}

/// What is known about the order of accesses of the running block, and of the blocks before it.
#[derive(Debug)]
pub(super) struct Order {
    block: u32,
    threads: u32,
    subgroup: u32,
    moment: u64,
    /// When the last block barrier was.
    interval: u64,
    /// When the last barrier of each subgroup was.
    subgroups: Vec<u64>,
    fences: Fences,
    past: HashMap<u32, Fences>,
    /// The barrier interval of the first acquire, and who acquired.
    acquired: (Option<u64>, HashSet<u32>),
}

impl Order {
    /// Before the first block.
    pub(super) fn new(threads: u32, subgroup: u32) -> Order {
        Order {
            block: 0,
            threads,
            subgroup,
            moment: 1,
            interval: 0,
            subgroups: vec![0; threads.div_ceil(subgroup) as usize],
            fences: Fences::default(),
            past: HashMap::new(),
            acquired: (None, HashSet::new()),
        }
    }

    /// The number of the running block.
    pub(super) fn block(&self) -> u32 {
        self.block
    }

    /// A new block begins.
    pub(super) fn enter(&mut self, block: u32) {
        let fences = std::mem::take(&mut self.fences);
        if fences.interval.is_some() {
            self.past.insert(self.block, fences);
        }
        self.block = block;
        (self.moment, self.interval) = (1, 0);
        self.subgroups.fill(0);
        self.acquired.0 = None;
        self.acquired.1.clear();
    }

    /// All threads of the block meet.
    pub(super) fn barrier(&mut self) {
        self.moment += 1;
        self.interval = self.moment;
    }

    /// The threads of one subgroup meet.
    pub(super) fn subgroup_barrier(&mut self, subgroup: usize) {
        self.moment += 1;
        self.subgroups[subgroup] = self.moment;
    }

    /// These agents execute a device fence.
    pub(super) fn fence(&mut self, agents: impl Iterator<Item = u32>) {
        for agent in agents {
            self.fences.by_agent.insert(agent, self.moment);
            self.acquire(agent);
        }
        self.fences.interval = Some(self.interval);
        self.moment += 1;
    }

    /// The agent sees what other blocks released.
    pub(super) fn acquire(&mut self, agent: u32) {
        self.acquired.0.get_or_insert(self.interval);
        self.acquired.1.insert(agent);
    }

    fn ordered(&self, mark: Mark, agent: u32) -> bool {
        if mark.block == self.block {
            let subgroup = mark.agent / self.subgroup;
            let together = mark.agent < self.threads && agent < self.threads && subgroup == agent / self.subgroup;
            mark.agent == agent
                || mark.moment < self.interval
                || together && mark.moment < self.subgroups[subgroup as usize]
        } else {
            let released = self.past.get(&mark.block).is_some_and(|f| {
                f.interval.is_some_and(|start| mark.moment < start)
                    || f.by_agent.get(&mark.agent).is_some_and(|&fence| mark.moment <= fence)
            });
            released && (self.acquired.0.is_some_and(|first| first < self.interval) || self.acquired.1.contains(&agent))
        }
    }
}
