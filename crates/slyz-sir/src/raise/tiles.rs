//! What threads share: tiles that each stores an element of, seen through to the memory behind them.
//!
//! After the barrier an element of a tile is what some thread of the block has stored there. Which one follows from the position, and
//! what it has stored is its code, written with its place in the block instead of one's own.

use super::lift::{Lift, Value};
use super::poly::{Poly, Term};
use super::{Unraised, does};
use crate::code::{Body, Id, MemId, Op, Place, Stmt};
use crate::kernel::{Kernel, Space};
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// What a thread stores to a tile.
#[derive(Clone, Debug)]
enum Put {
    Value(Id),
    /// One thing where a condition holds, another one where it does not.
    Either(Id, Box<Put>, Box<Put>),
}

/// An element of a tile.
#[derive(Clone, Debug)]
struct Stored {
    position: Vec<Poly>,
    put: Put,
    /// Threads have met since.
    seen: bool,
}

/// What threads have stored to the tiles of their block.
#[derive(Clone, Debug, Default)]
pub(super) struct Tiles(HashMap<MemId, Stored>);

impl Tiles {
    /// Threads meet.
    pub(super) fn meet(&mut self) {
        self.0.values_mut().for_each(|stored| stored.seen = true);
    }

    /// Before the first turn of a loop that stores to tiles, nothing is known of them.
    pub(super) fn enter(&mut self, kernel: &Kernel, body: &Body) {
        for memory in shared_in(kernel, body, true) {
            self.0.remove(&memory);
        }
    }

    /// Behind it neither. Between the last time that a turn reads a tile and the next turn's store threads have to meet.
    pub(super) fn leave(&mut self, kernel: &Kernel, body: &Body) -> Result<(), Unraised> {
        for memory in shared_in(kernel, body, true) {
            self.0.remove(&memory);
            let about = |stmt: &Stmt| {
                let inside = |op: &Op| op.access().is_some_and(|(found, _)| found == memory);
                inside(&stmt.op) || stmt.op.bodies().iter().any(|inner| holds(inner, &inside))
            };
            let last = body.stmts.iter().rposition(about).unwrap_or(0);
            let meets = |stmt: &Stmt| matches!(stmt.op, Op::Barrier(_));
            if !body.stmts[last..].iter().any(meets) {
                return Err(Unraised::Shared(kernel.memories[memory.0 as usize].name.clone()));
            }
        }
        Ok(())
    }
}

fn holds(body: &Body, wanted: &dyn Fn(&Op) -> bool) -> bool {
    body.stmts.iter().any(|stmt| wanted(&stmt.op) || stmt.op.bodies().into_iter().any(|inner| holds(inner, wanted)))
}

/// The tiles that are accessed in there, or stored to.
fn shared_in(kernel: &Kernel, body: &Body, stored: bool) -> Vec<MemId> {
    let is_shared = |place: &usize| kernel.memories[*place].space == Space::Shared;
    let accessed = |op: &Op, memory: MemId| match op {
        Op::Store { memory: found, .. } => *found == memory,
        Op::Load { memory: found, .. } => *found == memory && !stored,
        _ => false,
    };
    let memories = (0..kernel.memories.len()).filter(is_shared).map(|place| MemId(place as u32));
    memories.filter(|&memory| holds(body, &|op| accessed(op, memory))).collect()
}

impl<'k> Lift<'k> {
    fn shared(&self, memory: MemId) -> Unraised {
        Unraised::Shared(self.kernel.memories[memory.0 as usize].name.clone())
    }

    pub(super) fn store_shared(&mut self, memory: MemId, index: &[Id], value: Id) -> Result<(), Unraised> {
        let position = self.local_polys(index).ok_or_else(|| self.shared(memory))?;
        self.tiles.0.insert(memory, Stored { position, put: Put::Value(value), seen: false });
        Ok(())
    }

    /// Positions in a tile, by places in the block.
    fn local_polys(&self, index: &[Id]) -> Option<Vec<Poly>> {
        let poly = |id: &Id| match self.env.get(id) {
            Some(Value::Poly(poly)) => Some(poly.clone()),
            _ => None,
        };
        index.iter().map(poly).collect()
    }

    /// An error where a branch that some threads do not take stores to tiles.
    pub(super) fn stores_no_tiles(&self, sides: [&Body; 2]) -> Result<(), Unraised> {
        let stored = sides.iter().flat_map(|side| shared_in(self.kernel, side, true)).next();
        stored.map_or(Ok(()), |memory| Err(self.shared(memory)))
    }

    /// A branch that stores to tiles on both sides, at the same position. Nothing where it has no business with tiles.
    pub(super) fn shared_branch(&mut self, cond: Id, sides: [&'k Body; 2]) -> Option<Result<(), Unraised>> {
        let meets = |op: &Op| matches!(op, Op::Barrier(_));
        if sides.iter().any(|side| holds(side, &meets)) {
            return Some(does("its threads meet in a branch that not all of them take"));
        }
        let memories: Vec<Vec<MemId>> = sides.iter().map(|side| shared_in(self.kernel, side, true)).collect();
        if memories.iter().all(Vec::is_empty) {
            return None;
        }
        Some(self.store_either(cond, sides, &memories))
    }

    fn store_either(&mut self, cond: Id, sides: [&'k Body; 2], memories: &[Vec<MemId>]) -> Result<(), Unraised> {
        let Some(&first) = memories.iter().flatten().next() else { return Ok(()) };
        let plain = |stmt: &Stmt| {
            let stores_elsewhere = matches!(&stmt.op, Op::Store { memory, .. } if self.is_bound(*memory));
            stmt.op.bodies().is_empty() && !stores_elsewhere
        };
        let alike = memories[0] == memories[1];
        let has_params = sides.iter().any(|side| !side.params.is_empty() || !side.results.is_empty());
        if !alike || has_params || !sides.iter().all(|side| side.stmts.iter().all(plain)) {
            return Err(self.shared(first));
        }
        let mut found: Vec<HashMap<MemId, Stored>> = vec![];
        for side in sides {
            // What is read here is read again where the tile is read. Nobody needs what is written now.
            let around = crate::write::Write::begin(&mut self.lines);
            let env = self.env.clone();
            let before = self.tiles.clone();
            let certain = self.certain;
            let done = self.stmts(&side.stmts);
            self.certain = certain;
            crate::write::Write::end(&mut self.lines, around);
            self.env = env;
            found.push(std::mem::replace(&mut self.tiles, before).0);
            done?;
        }
        for &memory in &memories[0] {
            let (Some(then), Some(otherwise)) = (found[0].remove(&memory), found[1].remove(&memory)) else {
                return Err(self.shared(memory));
            };
            if then.position != otherwise.position {
                return Err(self.shared(memory));
            }
            let put = Put::Either(cond, Box::new(then.put), Box::new(otherwise.put));
            self.tiles.0.insert(memory, Stored { put, ..then });
        }
        Ok(())
    }

    pub(super) fn load_shared(&mut self, stmt: &'k Stmt, memory: MemId, index: &[Id]) -> Result<(), Unraised> {
        let wrong = || self.shared(memory);
        let position = self.local_polys(index).ok_or_else(wrong)?;
        let Stored { position: own, put, seen } = self.tiles.0.get(&memory).cloned().ok_or_else(wrong)?;
        if !seen {
            return Err(wrong());
        }
        let thread = self.storing_thread(&own, &position).ok_or_else(wrong)?;
        let env = self.env.clone();
        let elsewhere = std::mem::replace(&mut self.elsewhere, thread);
        let value = self.put_again(&put, stmt.binds[0].ty.elem());
        self.elsewhere = elsewhere;
        self.env = env;
        self.bind(stmt, &[Value::Code(value?)]);
        Ok(())
    }

    /// The place in the block of the thread that stores at a position of a tile, where every thread stores at `own`.
    fn storing_thread(&self, own: &[Poly], position: &[Poly]) -> Option<[Option<Poly>; 3]> {
        let mut thread = [None, None, None];
        let mut found: Vec<(usize, Poly)> = vec![];
        for (own, wanted) in own.iter().zip(position) {
            // `16 * y + x`: the largest number in front first.
            let mut parts: Vec<(usize, i128)> = vec![];
            let mut constant = 0;
            for (product, by) in own.products() {
                match product {
                    [] => constant = by,
                    [Term::Atom(local @ 3..6)] if by > 0 => parts.push((*local as usize - 3, by)),
                    _ => return None,
                }
            }
            parts.sort_by_key(|&(_, by)| std::cmp::Reverse(by));
            // Where rows of threads overlap, several store to one element.
            let apart = |pair: &[(usize, i128)]| pair[0].1 >= pair[1].1 * i128::from(self.kernel.block[pair[1].0]);
            if !parts.windows(2).all(apart) {
                return None;
            }
            let mut rest = wanted.clone().plus(&Poly::number(constant), -1)?;
            for &(axis, by) in &parts {
                let (quotient, below) = if by == 1 { (rest.clone(), Poly::default()) } else { rest.over_number(by) };
                let (low, high) = self.range(&below)?;
                if low < 0 || high >= by {
                    return None;
                }
                found.push((axis, quotient));
                rest = below;
            }
            if rest != Poly::default() {
                return None;
            }
        }
        for (axis, quotient) in found {
            let (low, high) = self.range(&quotient)?;
            let block = i128::from(self.kernel.block[axis]);
            if thread[axis].is_some() || low < 0 || high >= block {
                return None;
            }
            thread[axis] = Some(quotient);
        }
        // Every thread stores somewhere else.
        let told = (0..3).all(|axis| thread[axis].is_some() || self.kernel.block[axis] == 1);
        told.then_some(thread)
    }

    fn put_again(&mut self, put: &Put, ty: Ty) -> Result<Id, Unraised> {
        match put {
            Put::Value(id) => self.code_elsewhere(*id),
            Put::Either(cond, then, otherwise) => {
                let cond = self.code_elsewhere(*cond)?;
                let made =
                    self.branches(cond, &[ty], &[], &mut |lift| Ok(vec![lift.put_again(then, ty)?]), &mut |lift| {
                        Ok(vec![lift.put_again(otherwise, ty)?])
                    })?;
                made.first().copied().ok_or(Unraised::Large)
            }
        }
    }

    /// What a name is in the thread whose place in the block is `elsewhere`: all that depends on the place once more.
    fn code_elsewhere(&mut self, id: Id) -> Result<Id, Unraised> {
        let mut needed = vec![];
        self.depending(id, &mut HashSet::new(), &mut needed);
        for stmt in needed {
            self.stmt(stmt)?;
        }
        self.code(id)
    }

    /// The statements that a name depends on, and that depend on where the thread stands in its block, in order. Says whether the name does.
    fn depending(&self, id: Id, known: &mut HashSet<Id>, needed: &mut Vec<&'k Stmt>) -> bool {
        if known.contains(&id) {
            return needed.iter().any(|stmt| stmt.binds.iter().any(|bind| bind.id == id));
        }
        known.insert(id);
        let Some(stmt) = self.defining(id) else { return false };
        let is_place = |op: &Op| matches!(op, Op::Place(Place::Local | Place::Global, _));
        let mut depends = is_place(&stmt.op) || stmt.op.bodies().iter().any(|inner| holds(inner, &is_place));
        // What is written in a branch is not there outside of it.
        depends |= !self.env.contains_key(&id);
        let mut operands = vec![];
        stmt.op.each_operand(&mut |id| operands.push(id));
        stmt.op.bodies().iter().for_each(|body| body.each_free(&mut |id| operands.push(id)));
        for operand in operands {
            depends |= self.depending(operand, known, needed);
        }
        if depends && !needed.iter().any(|known| std::ptr::eq(*known, stmt)) {
            needed.push(stmt);
        }
        depends
    }
}
