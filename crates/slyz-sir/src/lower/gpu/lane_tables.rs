//! Scatters of what machines have no atomics for into few places, as float sums of groups are: tables for each subgroup, and turns of its lanes.
//!
//! Lanes that send to one place at once see each other in a mask of lanes for it, and add one after the other, in the order of lanes. So the
//! order of floats is decided by sizes alone. What the subgroups of a block have is joined place by place, then what all blocks have.
//!
//! ```text
//! lane      0  1  2  3  4  5         masks of lanes        turn 1: lanes 0, 1, 3
//! place     a  b  a  c  a  b         a: 0 2 4              turn 2: lanes 2, 5
//!                                    b: 1 5    c: 3        turn 3: lane 4
//! ```

use super::Machine;
use super::plan::Gpu;
use super::tables::Sender;
use super::teams::{Folding, flatten};
use super::threads::ceil_div;
use crate::code::{AtomicOp, Id, MemId, Monoid, Op, Scope, Stmt, SubgroupOp};
use crate::kernel::{Access, BufferId, BufferUse, Space};
use crate::lower::access::is_plain;
use crate::lower::writer::KernelWriter;
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::Write as _;

/// Threads of a block: the more, the fewer places.
const THREADS: [u64; 3] = [256, 128, 64];
/// The most bytes of a block's tables, so that several blocks share a core.
const MOST_BYTES: u64 = 32 << 10;
/// Positions that a thread has under way.
const AT_ONCE: u64 = 8;
/// Lanes that a mask has room for.
const LANES: u64 = 32;

/// Are so few places sent to that the lanes of subgroups can take turns?
pub(super) fn sends_by_turns(machine: &Machine, op: &Op) -> bool {
    threads_of(machine, op).is_some()
}

fn threads_of(machine: &Machine, op: &Op) -> Option<u64> {
    let Op::Scatter { body, target, monoid, .. } = op else { return None };
    let meets = machine.subgroup.is_some_and(|subgroup| machine.progresses && u64::from(subgroup.size) == LANES);
    let simple = monoid.commutative && is_plain(&monoid.combine) && !body.has_array_loop() && !target.is_empty();
    let places = Size::product(target).constant().filter(|&places| meets && simple && places > 0)?;
    let bytes = machine.shared_size(&tys_of(monoid)) + machine.shared_size(&[Ty::U32]);
    let fits = |threads: &u64| {
        let tables = (threads / LANES).saturating_mul(places).saturating_mul(bytes);
        *threads <= machine.max_threads.into() && tables <= MOST_BYTES.min(machine.shared_bytes)
    };
    THREADS.into_iter().find(fits)
}

fn tys_of(monoid: &Monoid) -> Vec<Ty> {
    let half = monoid.combine.params.len() / 2;
    monoid.combine.params[..half].iter().map(|param| param.ty.elem()).collect()
}

/// The tables of a block.
struct Tables<'a, 'g> {
    target: &'g [Size],
    monoid: &'g Monoid,
    tys: &'a [Ty],
    /// Of each subgroup.
    places: u64,
    subgroups: u64,
    /// For each place of each subgroup, and which lanes send there now.
    memories: Vec<MemId>,
    masks: MemId,
    neutral: Vec<Id>,
    /// The first place of the thread's subgroup, and the thread's bit in masks.
    first: Id,
    own_bit: Id,
}

impl<'g> Gpu<'g> {
    /// Writes a scatter for which [`sends_by_turns`].
    pub(super) fn scatter_by_turns(&mut self, name: &str, stmt: &'g Stmt, outputs: &[BufferId]) {
        let Op::Scatter { shape, body, target, onto, monoid } = &stmt.op else { return };
        let threads = threads_of(&self.machine, &stmt.op).unwrap_or(LANES);
        let places = Size::product(target).constant().unwrap_or(1);
        let turns = Size::product(shape);
        let tys = tys_of(monoid);
        let bytes = self.machine.vector_bytes;
        let pace = self.pace_of(shape, body, places, threads, AT_ONCE);
        let blocks = ceil_div(&turns, pace.run);
        let of_blocks = [blocks.clone(), Size::Const(places)];
        let part = |&ty: &Ty| self.base.buffer(ty, of_blocks.to_vec(), BufferUse::Temporary);
        let parts: Vec<BufferId> = tys.iter().map(part).collect();
        self.by_threads(name, &blocks, threads as u32, &|w, items| {
            w.bind_globals(&stmt.op);
            let bind = |&buffer: &BufferId| w.global(buffer, Access::Write, of_blocks.to_vec());
            let homes: Vec<MemId> = parts.iter().map(bind).collect();
            let subgroups = threads / LANES;
            let mut table = |what: &str, ty: Ty| w.near_memory(what, ty, Space::Shared, &[subgroups * places]);
            let memories = tys.iter().map(|&ty| table("table", ty)).collect();
            let masks = table("masks", Ty::U32);
            let sender = Sender::new(w, shape, body, pace, &turns, bytes);
            let neutral = w.all_scalars(&monoid.neutral);
            let lanes = w.number(LANES as i64);
            let subgroup = w.value(sender.thread / lanes);
            let first = w.scaled(subgroup, places);
            let lane = w.value(sender.thread % lanes);
            let lane = w.push(Op::Cast(Ty::U32, lane), Ty::U32);
            let one = w.constant(Scalar::from_int(Ty::U32, 1));
            let own_bit = w.apply(Operator::Shl, &[one, lane], Ty::U32);
            #[rustfmt::skip]
            let tables = Tables {
                target, monoid, tys: &tys, places, subgroups, memories, masks, neutral, first, own_bit,
            };
            items.each(w, |w, item| tables.write(w, &sender, item, &homes));
        });
        let bind_homes = |w: &mut KernelWriter<'_, 'g>| -> Vec<MemId> {
            let access = if onto.is_empty() { Access::Write } else { Access::ReadWrite };
            outputs.iter().map(|&buffer| w.global(buffer, access, target.to_vec())).collect()
        };
        let name = self.base.kernel_name("join");
        let folding = Folding {
            name: &name,
            monoid,
            tys: &tys,
            shape: target,
            extent: blocks,
            along: false,
            width: 1,
            in_rows: false,
            length: Some(tys.len() as u64),
            bind: &|_| {},
            prepare: &|_, _, _| {},
            elements: &|_, _, _, _| vec![],
        };
        self.fold_rest(&folding, &parts, &|w| drop(bind_homes(w)), &|w, (at, _), _, values| {
            let homes = bind_homes(w);
            let mut values = values.to_vec();
            if !onto.is_empty() {
                let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: at.to_vec() }, ty);
                let old: Vec<Id> = homes.iter().zip(&tys).map(load).collect();
                values = w.combine(monoid, &old, &values);
            }
            homes.iter().zip(values).for_each(|(&memory, value)| w.store(memory, at.to_vec(), value));
        });
    }
}

impl<'g> Tables<'_, 'g> {
    fn write(&self, w: &mut KernelWriter<'_, 'g>, sender: &Sender<'_, 'g>, item: Id, homes: &[MemId]) {
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        sender.each_place(w, self.subgroups * self.places, |w, place| {
            self.store(w, place, &self.neutral);
            w.store(self.masks, vec![place], none);
        });
        w.barrier();
        let outside = w.number(-1);
        let nothing = [&vec![outside; self.target.len()][..], &self.neutral].concat();
        let tys = [&vec![Ty::I64; self.target.len()][..], self.tys].concat();
        sender.send(w, item, Some((&nothing, &tys)), &|w, sent| self.put(w, sent));
        w.barrier();
        sender.each_place(w, self.places, |w, place| {
            let mut values = self.load(w, place);
            for subgroup in 1..self.subgroups {
                let there = w.offset(place, (subgroup * self.places) as i64);
                let others = self.load(w, there);
                values = w.combine(self.monoid, &values, &others);
            }
            homes.iter().zip(values).for_each(|(&memory, value)| w.store(memory, vec![item, place], value));
        });
        // The next tables are cleared where somebody may still read.
        w.barrier();
    }

    /// The lanes of a subgroup add what they send, each when it is its turn.
    fn put(&self, w: &mut KernelWriter<'_, 'g>, sent: &[Id]) {
        let (to, values) = sent.split_at(self.target.len());
        let inside = w.within(to, self.target);
        let none = w.constant(Scalar::from_int(Ty::U32, 0));
        let one = w.constant(Scalar::from_int(Ty::U32, 1));
        let place = flatten(w, to, self.target);
        let place = w.value(self.first + place);
        let place = w.apply(Operator::Select, &[inside, place, self.first], Ty::I64);
        let op = AtomicOp::Update(Operator::Or);
        w.when(inside, |w| {
            w.push(Op::Atomic { op, memory: self.masks, index: vec![place], args: vec![self.own_bit] }, Ty::U32);
        });
        self.meet(w);
        let mask = w.push(Op::Load { memory: self.masks, index: vec![place] }, Ty::U32);
        let lower = w.apply(Operator::Sub, &[self.own_bit, one], Ty::U32);
        let lower = w.apply(Operator::And, &[mask, lower], Ty::U32);
        let own_turn = w.apply(Operator::Popcount, &[lower], Ty::U32);
        self.meet(w);
        let at_turn = |w: &mut KernelWriter<'_, 'g>, turn: Id, then: &dyn Fn(&mut KernelWriter<'_, 'g>)| {
            let is_now = w.apply(Operator::Eq, &[own_turn, turn], Ty::Bool);
            let is_now = w.apply(Operator::And, &[inside, is_now], Ty::Bool);
            w.when(is_now, |w| {
                let old = self.load(w, place);
                let new = w.combine(self.monoid, &old, values);
                self.store(w, place, &new);
                then(w);
            });
            self.meet(w);
        };
        at_turn(w, none, &|w| w.store(self.masks, vec![place], none));
        let state = [Ty::U32];
        let cond = w.nested(&state, |w, ids| {
            let waits = w.apply(Operator::Ge, &[own_turn, ids[0]], Ty::Bool);
            let waits = w.apply(Operator::And, &[inside, waits], Ty::Bool);
            vec![w.push(Op::Subgroup(SubgroupOp::Any, vec![waits]), Ty::Bool)]
        });
        let body = w.nested(&state, |w, ids| {
            at_turn(w, ids[0], &|_| {});
            vec![w.apply(Operator::Add, &[ids[0], one], Ty::U32)]
        });
        w.bind(Op::While { init: vec![one], cond, body }, &state);
    }

    /// The lanes of the subgroup wait for each other.
    fn meet(&self, w: &mut KernelWriter<'_, 'g>) {
        w.act(Op::Barrier(Scope::Subgroup));
    }

    fn load(&self, w: &mut KernelWriter<'_, 'g>, place: Id) -> Vec<Id> {
        let load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: vec![place] }, ty);
        self.memories.iter().zip(self.tys).map(load).collect()
    }

    fn store(&self, w: &mut KernelWriter<'_, 'g>, place: Id, values: &[Id]) {
        self.memories.iter().zip(values).for_each(|(&memory, &value)| w.store(memory, vec![place], value));
    }
}
