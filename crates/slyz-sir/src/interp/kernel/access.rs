//! Loads, stores and atomics of all agents of a wave.
//!
//! A statement first finds the elements of all active agents, so that an access out of bounds writes nothing at all.

use super::error::{Agent, KernelError, OutOfBounds, Position, Race, Touch};
use super::memory::{Bank, Owner};
use super::run::{Columns, Machine};
use super::wave::{Column, Kind, Wave, malformed};
use crate::code::{AtomicOp, Id, MemId};
use crate::launch::Fault;
use crate::ops::Operator;
use crate::types::{Scalar, Ty};
use std::rc::Rc;

impl Machine<'_> {
    /// Loads `width` consecutive elements per agent, a column each.
    pub(super) fn load(
        &mut self,
        wave: &mut Wave,
        memory: MemId,
        index: &[Id],
        width: usize,
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        let m = self.bank(memory, Touch::Read)?;
        let places = self.places(wave, m, index, width, Touch::Read, mask)?;
        let ty = self.banks[m].ty;
        let mut columns = vec![Column { ty, bits: vec![0; wave.width] }; width];
        for (p, place) in places {
            for (k, column) in columns.iter_mut().enumerate() {
                self.touch(wave, m, p, place + k, Touch::Read)?;
                column.bits[p] = self.read(wave, m, p, place + k)?.bits;
            }
        }
        Ok(columns.into_iter().map(Rc::new).collect())
    }

    /// Stores consecutive elements, a column each.
    pub(super) fn store(
        &mut self,
        wave: &mut Wave,
        memory: MemId,
        index: &[Id],
        values: &[Id],
        mask: &[bool],
    ) -> Result<Columns, KernelError> {
        let m = self.bank(memory, Touch::Write)?;
        let values = wave.get_all(values)?;
        self.check_types(m, &values)?;
        let places = self.places(wave, m, index, values.len(), Touch::Write, mask)?;
        for (p, place) in places {
            for (k, column) in values.iter().enumerate() {
                self.touch(wave, m, p, place + k, Touch::Write)?;
                let owner = self.owner(wave, p);
                self.banks[m].write(owner, place + k, column.bits[p]);
            }
        }
        Ok(vec![])
    }

    /// Updates one element per agent, agents in order; gives the old values.
    pub(super) fn atomic(
        &mut self,
        wave: &mut Wave,
        op: AtomicOp,
        memory: MemId,
        index: &[Id],
        args: &[Id],
        mask: &[bool],
    ) -> Result<Rc<Column>, KernelError> {
        let touch = if op == AtomicOp::Load { Touch::AtomicRead } else { Touch::AtomicWrite };
        let m = self.bank(memory, touch)?;
        let args = wave.get_all(args)?;
        // The numbers of a claim are wider than what it is made in.
        let (args, numbers) = args.split_at(if op == AtomicOp::Claim { args.len().min(1) } else { args.len() });
        self.check_types(m, args)?;
        let arity = match op {
            AtomicOp::Update(
                Operator::Add | Operator::Min | Operator::Max | Operator::And | Operator::Or | Operator::Xor,
            ) => 1,
            AtomicOp::Update(other) => return Err(malformed(format!("there is no atomic {}", other.name()))),
            AtomicOp::Exchange | AtomicOp::Store | AtomicOp::Claim => 1,
            AtomicOp::CompareExchange => 2,
            AtomicOp::Load => 0,
        };
        if args.len() != arity {
            return Err(malformed(format!("{op:?} takes {arity} operands, not {}", args.len())));
        }
        let places = self.places(wave, m, index, 1 + 2 * numbers.len(), touch, mask)?;
        let ty = self.banks[m].ty;
        let mut old = Column { ty, bits: vec![0; wave.width] };
        for (p, place) in places {
            self.touch(wave, m, p, place, touch)?;
            let agent = self.agent(wave, p);
            let owner = self.owner(wave, p);
            // A store is how a flag gets its first value; only what it gives back is undefined then.
            let found = match op {
                AtomicOp::Store if self.banks[m].read(owner, place).is_none() => Scalar::from_bits(ty, 0),
                AtomicOp::Update(_)
                | AtomicOp::Exchange
                | AtomicOp::CompareExchange
                | AtomicOp::Claim
                | AtomicOp::Load
                | AtomicOp::Store => self.read(wave, m, p, place)?,
            };
            let new = match op {
                AtomicOp::Load => {
                    self.order.acquire(agent);
                    None
                }
                AtomicOp::Update(operator) => {
                    let value = operator.eval(&[found, args[0].at(p)]);
                    Some(value.ok_or_else(|| malformed(format!("atomic {} on {ty}", operator.name())))?)
                }
                AtomicOp::Exchange | AtomicOp::Store => Some(args[0].at(p)),
                AtomicOp::CompareExchange => (found == args[0].at(p)).then(|| args[1].at(p)),
                AtomicOp::Claim if found.bits == 0 => {
                    for (k, number) in numbers.iter().enumerate() {
                        let bits = number.at(p).bits;
                        for (half, word) in [bits & 0xffff_ffff, bits >> 32].into_iter().enumerate() {
                            self.banks[m].write(owner, place + 1 + 2 * k + half, word);
                        }
                    }
                    Some(args[0].at(p))
                }
                AtomicOp::Claim => None,
            };
            if let Some(new) = new {
                self.banks[m].write(owner, place, new.bits);
            }
            old.bits[p] = found.bits;
        }
        Ok(Rc::new(old))
    }

    /// Which agents' elements are inside. The first that is not is kept for the end of the launch.
    pub(super) fn check(
        &mut self,
        wave: &mut Wave,
        MemId(id): MemId,
        index: &[Id],
        mask: &[bool],
    ) -> Result<Rc<Column>, KernelError> {
        let index = wave.get_all(index)?;
        let bank = self.banks.get(id as usize).ok_or_else(|| malformed(format!("there is no memory {id}")))?;
        if index.len() != bank.shape.len() || index.iter().any(|i| i.ty != Ty::I64) {
            return Err(malformed(format!("`{}` is checked at {} values of i64", bank.name, bank.shape.len())));
        }
        let mut inside = Column { ty: Ty::Bool, bits: vec![0; wave.width] };
        for p in (0..wave.width).filter(|&p| mask[p]) {
            let at: Vec<i64> = index.iter().map(|column| column.bits[p] as i64).collect();
            inside.bits[p] = bank.place(&at, 1).is_some() as u64;
            if inside.bits[p] == 0 && self.fault.is_none() {
                let kernel = self.kernel.name.clone();
                let memory = bank.name.clone();
                let shape = bank.shape.clone();
                let thread = match self.here(wave, p) {
                    Position { block, agent: Agent::Thread(local) } => {
                        std::array::from_fn(|d| block[d] * self.kernel.block[d] as u64 + local[d] as u64)
                    }
                    // A turn stands for a thread only to whoever made turns of threads.
                    Position { block: _, agent: Agent::Turn(turn) } => [turn as u64, 0, 0],
                };
                self.fault = Some(Fault { kernel, memory, index: at, shape, thread });
            }
        }
        Ok(Rc::new(inside))
    }

    /// The number of a memory that may be touched that way.
    fn bank(&self, MemId(id): MemId, touch: Touch) -> Result<usize, KernelError> {
        let bank: Option<&Bank> = self.banks.get(id as usize);
        bank.ok_or_else(|| malformed(format!("there is no memory {id}")))?.permit(&self.kernel.name, touch)?;
        Ok(id as usize)
    }

    fn check_types(&self, m: usize, values: &[Rc<Column>]) -> Result<(), KernelError> {
        let bank = &self.banks[m];
        match values.iter().find(|v| v.ty != bank.ty) {
            None => Ok(()),
            Some(v) => Err(malformed(format!("`{}` holds {}, but is given {}", bank.name, bank.ty, v.ty))),
        }
    }

    /// Where each active agent's access starts; all are inside.
    fn places(
        &mut self,
        wave: &mut Wave,
        m: usize,
        index: &[Id],
        width: usize,
        touch: Touch,
        mask: &[bool],
    ) -> Result<Vec<(usize, usize)>, KernelError> {
        if let (crate::kernel::Space::Local, Kind::Turns { .. }) = (self.banks[m].space, wave.kind) {
            self.make_room_for_turns(m, wave.width)?;
        }
        let index = wave.get_all(index)?;
        let bank = &self.banks[m];
        // A claim may be as long as its numbers are many.
        if touch != Touch::AtomicWrite && !matches!(width, 1 | 2 | 4 | 8 | 16) {
            return Err(malformed(format!(
                "access to {width} elements of `{}`; 1, 2, 4, 8 or 16 are possible",
                bank.name
            )));
        }
        if index.len() != bank.shape.len() || index.iter().any(|i| i.ty != Ty::I64) {
            return Err(malformed(format!("`{}` is indexed by {} values of i64", bank.name, bank.shape.len())));
        }
        let mut places = Vec::with_capacity(wave.width);
        let mut at = vec![0; index.len()];
        for p in (0..wave.width).filter(|&p| mask[p]) {
            at.iter_mut().zip(&index).for_each(|(at, column)| *at = column.bits[p] as i64);
            let Some(place) = bank.place(&at, width) else {
                return Err(KernelError::OutOfBounds(Box::new(OutOfBounds {
                    kernel: self.kernel.name.clone(),
                    memory: bank.name.clone(),
                    index: at,
                    width,
                    shape: bank.shape.clone(),
                    touch,
                    at: self.here(wave, p),
                })));
            };
            places.push((p, place));
        }
        Ok(places)
    }

    /// Local memory of the turns of a batch lies behind that of the threads.
    fn make_room_for_turns(&mut self, m: usize, width: usize) -> Result<(), KernelError> {
        let bank = &mut self.banks[m];
        if bank.make_room(self.threads + width) {
            return Ok(());
        }
        let (name, memory, shape) = (self.kernel.name.clone(), bank.name.clone(), bank.shape.clone());
        Err(KernelError::TooLarge { name, memory, shape })
    }

    fn owner(&self, wave: &Wave, p: usize) -> Owner {
        match wave.kind {
            Kind::Threads | Kind::Pure => Owner::Thread(p),
            Kind::Turns { .. } => Owner::Turn(self.threads + p),
        }
    }

    fn read(&self, wave: &Wave, m: usize, p: usize, place: usize) -> Result<Scalar, KernelError> {
        let bank = &self.banks[m];
        let bits = bank.read(self.owner(wave, p), place);
        bits.map(|bits| Scalar::from_bits(bank.ty, bits)).ok_or_else(|| KernelError::Uninitialised {
            kernel: self.kernel.name.clone(),
            memory: bank.name.clone(),
            index: bank.index(place),
            at: Box::new(self.here(wave, p)),
        })
    }

    /// Notes the access, and reports the race if it makes one.
    fn touch(&mut self, wave: &Wave, m: usize, p: usize, place: usize, touch: Touch) -> Result<(), KernelError> {
        let agent = self.agent(wave, p);
        let bank = &mut self.banks[m];
        if !bank.can_race() {
            return Ok(());
        }
        let element = (place, bank.len, bank.is_global());
        let Err((kind, mark)) = bank.shadow.touch(&self.order, element, agent, touch) else { return Ok(()) };
        Err(KernelError::Race(Box::new(Race {
            kernel: self.kernel.name.clone(),
            memory: self.banks[m].name.clone(),
            index: self.banks[m].index(place),
            first: (kind, self.position(mark.block, mark.agent)),
            second: (touch, self.here(wave, p)),
        })))
    }
}
