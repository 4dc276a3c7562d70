//! The memories of a launch: their elements, bounds, and what was written.
//!
//! Nothing here knows about threads that run in step; an access is one element by one agent.

use super::error::{KernelError, Touch};
use super::race::Shadow;
use crate::kernel::{Access, Space};
use crate::types::Ty;

/// Whose copy of a memory an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The thread at that place in the block.
    Thread(usize),
    /// The turn at that place in its batch; the batch starts after that many lines.
    Turn(usize),
}

/// One memory of the kernel.
#[derive(Debug)]
pub(super) struct Bank {
    pub(super) name: String,
    pub(super) ty: Ty,
    pub(super) space: Space,
    pub(super) shape: Vec<u64>,
    /// Elements of one copy.
    pub(super) len: usize,
    /// Global and constant: the bound data. Shared and scratch: one copy. Local: a copy per thread, then one per turn
    /// of a batch.
    pub(super) data: Vec<u64>,
    /// For memory that starts undefined: in which life each element was written last.
    written: Vec<u64>,
    /// The current life of the copies of the threads or of the block. A new block is a new life.
    life: u64,
    /// The same for the copies of turns.
    turn_life: u64,
    /// The last life that was begun.
    newest_life: u64,
    /// A turn wrote its copy, so a thread that takes turns does not find its own again.
    clobbered: bool,
    pub(super) shadow: Shadow,
}

impl Bank {
    /// A memory over data that the launch passes, which is put into `data`.
    pub(super) fn bound(name: &str, ty: Ty, space: Space, shape: Vec<u64>, len: usize) -> Bank {
        Bank {
            name: name.to_string(),
            ty,
            space,
            shape,
            len,
            data: vec![],
            written: vec![],
            life: 0,
            turn_life: 0,
            newest_life: 0,
            clobbered: false,
            shadow: Shadow::default(),
        }
    }

    /// A memory of the block or thread with that many copies, or `None` when it does not fit.
    pub(super) fn undefined(
        name: &str,
        ty: Ty,
        space: Space,
        shape: Vec<u64>,
        len: usize,
        copies: usize,
    ) -> Option<Bank> {
        let mut bank = Bank::bound(name, ty, space, shape, len);
        bank.make_room(copies).then_some(bank)
    }

    /// Makes room for that many copies; false when they do not fit.
    pub(super) fn make_room(&mut self, copies: usize) -> bool {
        let Some(total) = self.len.checked_mul(copies) else { return false };
        for words in [&mut self.data, &mut self.written] {
            if words.try_reserve_exact(total.saturating_sub(words.len())).is_err() {
                return false;
            }
            if words.len() < total {
                words.resize(total, 0);
            }
        }
        true
    }

    /// Every copy is undefined again.
    pub(super) fn enter_block(&mut self) {
        self.newest_life += 1;
        self.life = self.newest_life;
    }

    /// The copies of turns are undefined again.
    pub(super) fn enter_turns(&mut self) {
        self.newest_life += 1;
        self.turn_life = self.newest_life;
    }

    /// After the turns: what they wrote over is undefined in the threads.
    pub(super) fn leave_turns(&mut self) {
        if std::mem::take(&mut self.clobbered) {
            self.enter_block();
        }
    }

    /// Seen by more than one agent?
    pub(super) fn is_shared(&self) -> bool {
        match self.space {
            Space::Global(_) | Space::Shared | Space::Scratch => true,
            Space::Local | Space::Constant => false,
        }
    }

    /// Seen by all blocks?
    pub(super) fn is_global(&self) -> bool {
        match self.space {
            Space::Global(_) | Space::Constant => true,
            Space::Shared | Space::Scratch | Space::Local => false,
        }
    }

    /// Can an access to it race at all? Nobody writes what is read-only.
    pub(super) fn can_race(&self) -> bool {
        self.is_shared() && self.space != Space::Global(Access::Read)
    }

    /// May it be touched that way?
    pub(super) fn permit(&self, kernel: &str, touch: Touch) -> Result<(), KernelError> {
        let declared = match (self.space, touch) {
            (Space::Shared | Space::Scratch | Space::Local | Space::Global(Access::ReadWrite), _) => return Ok(()),
            (Space::Global(Access::Read) | Space::Constant, Touch::Read) => return Ok(()),
            (Space::Global(Access::Write), Touch::Write) => return Ok(()),
            (Space::Global(Access::Read), Touch::Write | Touch::AtomicRead | Touch::AtomicWrite) => "read-only",
            (Space::Constant, Touch::Write | Touch::AtomicRead | Touch::AtomicWrite) => "constant",
            (Space::Global(Access::Write), Touch::Read | Touch::AtomicRead | Touch::AtomicWrite) => "write-only",
        };
        Err(KernelError::Forbidden { kernel: kernel.to_string(), memory: self.name.clone(), touch, declared })
    }

    /// The place of an index in row-major order, if it and the `width - 1` elements after it are inside.
    pub(super) fn place(&self, index: &[i64], width: usize) -> Option<usize> {
        let mut place = 0usize;
        for (&i, &extent) in index.iter().zip(&self.shape) {
            let i = u64::try_from(i).ok().filter(|&i| i < extent)?;
            place = place.checked_mul(extent as usize)?.checked_add(i as usize)?;
        }
        (place.checked_add(width)? <= self.len).then_some(place)
    }

    /// The index of a place.
    pub(super) fn index(&self, mut place: usize) -> Vec<u64> {
        let mut index = vec![0; self.shape.len()];
        for (i, &extent) in index.iter_mut().zip(&self.shape).rev() {
            *i = place as u64 % extent.max(1);
            place /= extent.max(1) as usize;
        }
        index
    }

    fn slot(&self, owner: Owner, place: usize) -> usize {
        match (self.space, owner) {
            (Space::Local, Owner::Thread(line) | Owner::Turn(line)) => line * self.len + place,
            (Space::Global(_) | Space::Shared | Space::Scratch | Space::Constant, _) => place,
        }
    }

    fn life(&self, owner: Owner) -> u64 {
        match (self.space, owner) {
            (Space::Local, Owner::Turn(_)) => self.turn_life,
            (Space::Local, Owner::Thread(_)) => self.life,
            (Space::Global(_) | Space::Shared | Space::Scratch | Space::Constant, _) => self.life,
        }
    }

    /// The bits of an element, or `None` when nobody wrote it.
    pub(super) fn read(&self, owner: Owner, place: usize) -> Option<u64> {
        let slot = self.slot(owner, place);
        let defined = self.is_global() || self.written[slot] == self.life(owner);
        defined.then(|| self.data[slot])
    }

    /// Replaces an element.
    pub(super) fn write(&mut self, owner: Owner, place: usize, bits: u64) {
        let slot = self.slot(owner, place);
        self.data[slot] = bits;
        if !self.is_global() {
            self.written[slot] = self.life(owner);
        }
        if self.space == Space::Local && matches!(owner, Owner::Turn(_)) {
            self.clobbered = true;
        }
    }
}
