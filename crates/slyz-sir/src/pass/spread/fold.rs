//! Folds of `lanes`: a partial result per thread, then one for the block that every thread knows.

use super::order::Accesses;
use super::{Spreader, Subgroup, contains};
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Scope, SubgroupOp};
use crate::kernel::{Memory, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// Partial results that each thread joins by itself; more are joined in a tree.
const FEW: u32 = 8;

/// How the partial results of a subgroup, or of single threads, come together.
enum Joining {
    /// By an operation of the subgroup.
    Reduce(Operator),
    /// By a tree of shuffles.
    Shuffle,
    /// Only in shared memory.
    Memory,
}

impl Spreader<'_> {
    fn joining(&self, monoid: &Monoid, tys: &[Ty]) -> Joining {
        let Some(subgroup) = self.subgroup.filter(|s| s.size > 1) else { return Joining::Memory };
        if tys.iter().any(|ty| ty.bits() > subgroup.bits) {
            return Joining::Memory;
        }
        match (monoid.operator(), tys) {
            (Some(operator), [ty]) if has_reduction(subgroup, operator, *ty) && monoid.commutative => {
                Joining::Reduce(operator)
            }
            _ => Joining::Shuffle,
        }
    }

    /// Partial results that meet in shared memory.
    fn partials_of(&self, joining: &Joining) -> u32 {
        match (joining, self.subgroup) {
            (Joining::Reduce(_) | Joining::Shuffle, Some(subgroup)) => self.threads.div_ceil(subgroup.size),
            (Joining::Reduce(_) | Joining::Shuffle | Joining::Memory, _) => self.threads,
        }
    }

    /// Declares the shared memory for the folds of a body.
    pub(super) fn fold_memories(&mut self, body: &Body) {
        for stmt in &body.stmts {
            if let Op::Lanes { monoid: Some(monoid), .. } = &stmt.op {
                let tys = types_of(monoid);
                let count = self.partials_of(&self.joining(monoid, &tys));
                if count > 1 {
                    tys.iter().enumerate().for_each(|(k, &ty)| self.partial(ty, k, count));
                }
            }
            stmt.op.bodies().into_iter().for_each(|b| self.fold_memories(b));
        }
    }

    fn partial(&mut self, ty: Ty, component: usize, count: u32) {
        let next = MemId(self.memories.len() as u32);
        let memory = *self.partials.entry((ty, component)).or_insert(next);
        if memory == next {
            let taken = |name: &str| self.memories.iter().any(|m| m.name == name);
            let numbered = (2..).map(|k| format!("parts{k}"));
            let name = std::iter::once("parts".to_string()).chain(numbered).find(|name| !taken(name));
            let name = name.expect("there are more names than memories");
            self.memories.push(Memory { name, ty, space: Space::Shared, shape: vec![Size::Const(0)] });
        }
        let shape = &mut self.memories[memory.0 as usize].shape;
        let larger = shape[0].constant().unwrap_or(0).max(count.into());
        *shape = vec![Size::Const(larger)];
    }

    pub(super) fn fold_turns(&mut self, [lo, hi]: [Id; 2], turns: Option<i64>, body: Body, monoid: &Monoid) -> Vec<Id> {
        let tys = types_of(monoid);
        let own = if monoid.commutative || self.threads == 1 || turns.is_some_and(|n| n <= i64::from(self.threads)) {
            self.strided([lo, hi], turns, body, monoid, &tys)
        } else {
            self.neighbouring([lo, hi], body, monoid)
        };
        self.joined(own, monoid)
    }

    /// What all threads have, joined.
    pub(super) fn joined(&mut self, own: Vec<Id>, monoid: &Monoid) -> Vec<Id> {
        if self.threads == 1 {
            return own;
        }
        let tys = types_of(monoid);
        let joining = self.joining(monoid, &tys);
        match (&joining, self.subgroup) {
            (Joining::Memory, _) | (_, None) => self.tree_in_memory(own, self.threads, monoid, &tys),
            (Joining::Reduce(operator), Some(subgroup)) => {
                let joined = self.push(Op::Subgroup(SubgroupOp::Reduce(*operator), own), tys[0]);
                if self.threads <= subgroup.size {
                    return vec![joined];
                }
                self.between_subgroups(vec![joined], subgroup.size, monoid, &tys, &joining)
            }
            (Joining::Shuffle, Some(subgroup)) => {
                let joined = self.tree_of_shuffles(own, subgroup.size, monoid, &tys);
                self.between_subgroups(joined, subgroup.size, monoid, &tys, &joining)
            }
        }
    }

    pub(super) fn combine(&mut self, monoid: &Monoid, left: &[Id], right: &[Id]) -> Vec<Id> {
        let body = monoid.combine.instantiate(&[left, right].concat(), &mut self.fresh);
        self.inline(body)
    }

    /// Every `threads`-th turn, from the one with the thread's number on.
    fn strided(&mut self, [lo, hi]: [Id; 2], turns: Option<i64>, body: Body, monoid: &Monoid, tys: &[Ty]) -> Vec<Id> {
        let turn = self.first_turn(lo);
        let param = body.params[0].id;
        // The neutral element joins even where there is a single turn: a sum may make another zero out of its zero, which nobody
        // looks at who writes plain sums.
        let as_it_is = self.plain_sums && monoid.operator() == Some(Operator::Add);
        let once = |s: &mut Self, body: Body| {
            let item = s.renamed_inline(body, param, turn);
            if as_it_is { item } else { s.combine(monoid, &monoid.neutral, &item) }
        };
        if turns == Some(self.threads.into()) {
            return once(self, body);
        }
        if self.threads > 1 && turns.is_some_and(|n| n <= i64::from(self.threads)) {
            let cond = self.value(turn.below(hi));
            let then = self.nested(&[], |s, _| once(s, body));
            let otherwise = Body { results: monoid.neutral.clone(), ..Body::default() };
            return self.bind(Op::If { cond, args: vec![], then, otherwise }, tys);
        }
        self.accumulate([turn, hi], turns, self.threads, body, monoid)
    }

    /// A run of turns without gaps, so that the order is kept.
    fn neighbouring(&mut self, [lo, hi]: [Id; 2], body: Body, monoid: &Monoid) -> Vec<Id> {
        let count = self.value(hi - lo);
        let most = self.number(i64::from(self.threads) - 1);
        let threads = self.number(self.threads.into());
        let up = self.value(count + most);
        let run = self.value(up / threads);
        let skipped = self.value(self.thread * run);
        let start = self.value(lo + skipped);
        let end = self.value(start + run);
        let end = self.value(end.least(hi));
        self.accumulate([start, end], None, 1, body, monoid)
    }

    /// Lane 0 of each subgroup ends with the fold of its lanes, in order: after the step of distance `d` lane `i` holds
    /// the fold of lanes `i .. i + 2d`.
    fn tree_of_shuffles(&mut self, own: Vec<Id>, size: u32, monoid: &Monoid, tys: &[Ty]) -> Vec<Id> {
        let lanes = size.min(self.threads);
        // Where all subgroups are full, what lanes read past the end never reaches lane 0.
        let full = lanes.is_power_of_two() && self.threads.is_multiple_of(lanes);
        let lane = self.push(Op::Place(Place::Lane, 0), Ty::I64);
        let count = if full { None } else { Some(self.lanes_here(size)) };
        let one = self.number(1);
        let two = self.number(2);
        let end = self.number(lanes.into());
        let state = [&[Ty::I64], tys].concat();
        let cond = self.nested(&state, |s, ids| vec![s.value(ids[0].below(end))]);
        let body = self.nested(&state, |s, ids| {
            let distance = ids[0];
            let mine = &ids[1..];
            let take = |s: &mut Self, (&value, &ty): (&Id, &Ty)| {
                s.push(Op::Subgroup(SubgroupOp::ShuffleDown, vec![value, distance]), ty)
            };
            let theirs: Vec<Id> = mine.iter().zip(tys).map(|pair| take(s, pair)).collect();
            let mut joined = s.combine(monoid, mine, &theirs);
            if let Some(count) = count {
                let from = s.value(lane + distance);
                let there = s.value(from.below(count));
                for (k, &ty) in tys.iter().enumerate() {
                    joined[k] = s.push(Op::Apply(Operator::Select, vec![there, joined[k], mine[k]]), ty);
                }
            }
            let next = s.value(distance * two);
            [vec![next], joined].concat()
        });
        let ids = self.bind(Op::While { init: [vec![one], own].concat(), cond, body }, &state);
        ids[1..].to_vec()
    }

    /// How many lanes the subgroup of this thread has.
    fn lanes_here(&mut self, size: u32) -> Id {
        let size = self.number(size.into());
        let group = self.value(self.thread / size);
        let before = self.value(group * size);
        let threads = self.number(self.threads.into());
        let rest = self.value(threads - before);
        self.value(rest.least(size))
    }

    /// The first lane of each subgroup brings its value; everybody gets the fold of them.
    fn between_subgroups(
        &mut self,
        joined: Vec<Id>,
        size: u32,
        monoid: &Monoid,
        tys: &[Ty],
        joining: &Joining,
    ) -> Vec<Id> {
        let groups = self.threads.div_ceil(size);
        if groups == 1 {
            let give = |(value, &ty): (Id, &Ty)| self.push(Op::Subgroup(SubgroupOp::Broadcast, vec![value]), ty);
            return joined.into_iter().zip(tys).map(give).collect();
        }
        let memories = self.partial_memories(tys);
        let width = self.number(size.into());
        let lane = self.value(self.thread % width);
        let group = self.value(self.thread / width);
        let zero = self.number(0);
        let brings = self.value(lane.equals(zero));
        self.access(Accesses::write(&memories));
        self.when(brings, |s| s.store_all(&memories, group, &joined));
        let reduces_few = matches!(joining, Joining::Reduce(_)) && self.subgroup.is_some_and(|s| s.reduces_few);
        let few = if reduces_few { 1 } else { FEW };
        if groups > few && groups <= size && groups.is_power_of_two() && self.threads.is_multiple_of(size) {
            return self.by_one_subgroup(&memories, groups, lane, monoid, tys, joining);
        }
        if groups > FEW {
            self.tree_over(groups, &memories, monoid, tys);
            return self.read_first(&memories, tys);
        }
        self.access(Accesses::read(&memories));
        let parts = (0..groups).map(|group| {
            let place = self.number(group.into());
            self.load_all(&memories, place, tys)
        });
        let parts = parts.collect();
        self.neighbours_joined(parts, monoid)
    }

    /// What the subgroups brought, a lane each, is joined once more by each of them.
    fn by_one_subgroup(
        &mut self,
        memories: &[MemId],
        groups: u32,
        lane: Id,
        monoid: &Monoid,
        tys: &[Ty],
        joining: &Joining,
    ) -> Vec<Id> {
        self.access(Accesses::read(memories));
        let end = self.number(groups.into());
        let cond = self.value(lane.below(end));
        let then = self.nested(&[], |s, _| s.load_all(memories, lane, tys));
        let otherwise = Body { results: monoid.neutral.clone(), ..Body::default() };
        let parts = match groups == self.subgroup.map_or(0, |subgroup| subgroup.size) {
            true => self.inline(then),
            false => self.bind(Op::If { cond, args: vec![], then, otherwise }, tys),
        };
        if let Joining::Reduce(operator) = joining {
            return vec![self.push(Op::Subgroup(SubgroupOp::Reduce(*operator), parts), tys[0])];
        }
        let joined = self.tree_of_shuffles(parts, groups, monoid, tys);
        let give = |(value, &ty): (Id, &Ty)| self.push(Op::Subgroup(SubgroupOp::Broadcast, vec![value]), ty);
        joined.into_iter().zip(tys).map(give).collect()
    }

    /// Every thread brings a value; neighbours are joined, then neighbouring pairs, and so on.
    fn tree_in_memory(&mut self, own: Vec<Id>, count: u32, monoid: &Monoid, tys: &[Ty]) -> Vec<Id> {
        let memories = self.partial_memories(tys);
        self.access(Accesses::write(&memories));
        let thread = self.thread;
        self.store_all(&memories, thread, &own);
        self.tree_over(count, &memories, monoid, tys);
        self.read_first(&memories, tys)
    }

    /// After the step of distance `d`, place `i`, a multiple of `2d`, holds the fold of places `i .. i + 2d`.
    fn tree_over(&mut self, count: u32, memories: &[MemId], monoid: &Monoid, tys: &[Ty]) {
        let one = self.number(1);
        let two = self.number(2);
        let end = self.number(count.into());
        let zero = self.number(0);
        let cond = self.nested(&[Ty::I64], |s, ids| vec![s.value(ids[0].below(end))]);
        let body = self.nested(&[Ty::I64], |s, ids| {
            let distance = ids[0];
            s.out.push(crate::code::Stmt { binds: vec![], op: Op::Barrier(Scope::Block) });
            let next = s.value(distance * two);
            let rest = s.value(s.thread % next);
            let joins = s.value(rest.equals(zero));
            let from = s.value(s.thread + distance);
            let there = s.value(from.below(end));
            let both = s.value(joins.and(there));
            s.when(both, |s| {
                let thread = s.thread;
                let left = s.load_all(memories, thread, tys);
                let right = s.load_all(memories, from, tys);
                let joined = s.combine(monoid, &left, &right);
                s.store_all(memories, thread, &joined);
            });
            vec![next]
        });
        self.bind(Op::While { init: vec![one], cond, body }, &[Ty::I64]);
        self.pending.extend(Accesses::write(memories));
    }

    fn read_first(&mut self, memories: &[MemId], tys: &[Ty]) -> Vec<Id> {
        self.access(Accesses::read(memories));
        let zero = self.number(0);
        self.load_all(memories, zero, tys)
    }

    /// The memories that the fold of the monoid goes through.
    pub(super) fn memories_of(&self, monoid: &Monoid) -> Vec<MemId> {
        let found = types_of(monoid).into_iter().enumerate().map(|(k, ty)| self.partials.get(&(ty, k)).copied());
        found.flatten().collect()
    }

    fn partial_memories(&self, tys: &[Ty]) -> Vec<MemId> {
        tys.iter().enumerate().map(|(k, &ty)| self.partials[&(ty, k)]).collect()
    }

    fn load_all(&mut self, memories: &[MemId], at: Id, tys: &[Ty]) -> Vec<Id> {
        let load = |(&memory, &ty): (&MemId, &Ty)| self.push(Op::Load { memory, index: vec![at] }, ty);
        memories.iter().zip(tys).map(load).collect()
    }

    fn store_all(&mut self, memories: &[MemId], at: Id, values: &[Id]) {
        for (&memory, &value) in memories.iter().zip(values) {
            self.bind(Op::Store { memory, index: vec![at], values: vec![value] }, &[]);
        }
    }
}

/// Reductions that subgroups have. The smallest and largest of floats are seldom among them: devices differ about NaN, and the
/// operator table does not.
fn has_reduction(subgroup: Subgroup, operator: Operator, ty: Ty) -> bool {
    match operator {
        Operator::Add | Operator::Mul => ty.is_int() || matches!(ty, Ty::F32 | Ty::F16 | Ty::F64),
        Operator::Min | Operator::Max if matches!(ty, Ty::F32 | Ty::F16) => subgroup.float_extremes,
        Operator::Min | Operator::Max | Operator::And | Operator::Or | Operator::Xor => ty.is_int(),
        _ => false,
    }
}

pub(super) fn types_of(monoid: &Monoid) -> Vec<Ty> {
    let params = &monoid.combine.params;
    params[..params.len() / 2].iter().map(|p| p.ty.elem()).collect()
}

/// Is there block-wide work in the code?
pub fn has_lanes(body: &Body) -> bool {
    body.stmts.iter().any(|s| contains(&s.op, &|op| matches!(op, Op::Lanes { .. })))
}
