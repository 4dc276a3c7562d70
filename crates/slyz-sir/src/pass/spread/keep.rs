//! Rows whose elements stay in registers: loops of a block over the same turns share what the turns of a thread have in common.
//!
//! A row that is folded, folded again and then written is read three times by three loops. Where it is expected to be short
//! enough, the turns of each thread are written out instead, and what a turn of one loop has read or computed is at hand for the
//! same turn of the next. A row that is longer than expected is right too: its last turns are loops, as they would be otherwise.

use super::unroll::stores_last;
use super::{Spreader, fold};
use crate::code::{Body, Id, MemId, Monoid, Op, Stmt};
use crate::kernel::{Access, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};
use std::collections::{HashMap, HashSet};

/// Turns of a thread that are written out.
const MOST_TURNS: u64 = 32;

/// A row of the body being written.
pub(super) struct Row {
    extent: Size,
    /// Turns that a thread keeps.
    turns: usize,
    /// For each of them: its number, and whether it is one, unless it surely is.
    places: Vec<(Id, Option<Id>)>,
    /// There may be more.
    longer: bool,
    /// What was computed: by turn, or for all of them.
    known: HashMap<(Option<usize>, Op), Id>,
}

impl Spreader<'_> {
    /// The row that several loops of the body share reads of.
    pub(super) fn row_of(&self, body: &Body) -> Option<Row> {
        let mut found: Vec<(&Size, Vec<HashSet<Read>>)> = vec![];
        for stmt in &body.stmts {
            let Op::Lanes { lo, hi, body, monoid } = &stmt.op else { continue };
            let Some(extent) = self.extents.get(hi).filter(|_| self.numbers.get(lo) == Some(&0)) else { continue };
            if !self.can_keep(body, monoid.as_ref()) {
                continue;
            }
            let reads = self.own_reads(body);
            match found.iter_mut().find(|(known, _)| *known == extent) {
                Some((_, all)) => all.push(reads),
                None => found.push((extent, vec![reads])),
            }
        }
        found.into_iter().find_map(|(extent, loops)| {
            let times = |read: &Read| loops.iter().filter(|reads| reads.contains(read)).count();
            let all: HashSet<&Read> = loops.iter().flatten().collect();
            let shared = all.into_iter().filter(|read| times(read) > 1).count() as u64;
            let length = extent.constant().or_else(|| (self.about)(extent))?;
            let turns = length.div_ceil(self.threads.into()).max(1);
            let fits = shared > 0 && turns <= MOST_TURNS && turns.saturating_mul(shared) <= self.kept_values.into();
            let longer = extent.constant().is_none();
            let row =
                Row { extent: extent.clone(), turns: turns as usize, places: vec![], longer, known: HashMap::new() };
            fits.then_some(row)
        })
    }

    /// Is the loop over the row?
    pub(super) fn is_of(&self, row: &Row, [lo, hi]: [Id; 2], body: &Body, monoid: Option<&Monoid>) -> bool {
        self.numbers.get(&lo) == Some(&0) && self.extents.get(&hi) == Some(&row.extent) && self.can_keep(body, monoid)
    }

    /// Can its turns be written side by side, in any order?
    fn can_keep(&self, body: &Body, monoid: Option<&Monoid>) -> bool {
        let simple = |stmt: &Stmt| match &stmt.op {
            Op::Load { .. } | Op::Store { .. } => stmt.binds.len() <= 1,
            Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Call(..) => true,
            _ => false,
        };
        let in_any_order = monoid.is_none_or(|monoid| monoid.commutative || self.threads == 1);
        in_any_order && body.stmts.iter().all(simple) && stores_last(body)
    }

    fn is_constant(&self, memory: MemId) -> bool {
        matches!(self.memories[memory.0 as usize].space, Space::Global(Access::Read) | Space::Constant)
    }

    /// What the turns of a loop read that nobody writes, where the place depends on nothing else that they compute.
    fn own_reads(&self, body: &Body) -> HashSet<Read> {
        let turn = body.params[0].id;
        let inner: HashSet<Id> = body.stmts.iter().flat_map(|s| &s.binds).map(|bind| bind.id).collect();
        let reads = body.stmts.iter().filter_map(|stmt| match &stmt.op {
            Op::Load { memory, index } if self.is_constant(*memory) && index.contains(&turn) => {
                let place = |id: &Id| (*id != turn).then_some(*id);
                let whole = !index.iter().any(|id| inner.contains(id));
                whole.then(|| (*memory, index.iter().map(place).collect()))
            }
            _ => None,
        });
        reads.collect()
    }

    /// A loop over a row.
    pub(super) fn kept(&mut self, row: &mut Row, hi: Id, body: Body, monoid: Option<&Monoid>) -> Vec<Id> {
        if row.places.is_empty() {
            row.places = self.places(row, hi);
        }
        let (items, stores) = self.turns_of(row, &body);
        let own = match monoid {
            None => {
                self.store_turns(row, stores);
                vec![]
            }
            Some(monoid) => {
                let items = self.those_inside(row, items, monoid);
                let joined = self.neighbours_joined(items, monoid);
                self.combine(monoid, &monoid.neutral, &joined)
            }
        };
        if !row.longer {
            return own;
        }
        let behind = self.number(row.turns as i64 * i64::from(self.threads));
        let first = self.first_turn(behind);
        self.one_by_one([first, hi], own, body, monoid)
    }

    fn places(&mut self, row: &Row, hi: Id) -> Vec<(Id, Option<Id>)> {
        let length = row.extent.constant();
        let zero = self.number(0);
        let thread = if self.threads == 1 { zero } else { self.thread };
        let place = |turn: usize| {
            let before = turn as u64 * u64::from(self.threads);
            let place = if turn == 0 { thread } else { self.value(thread + before as i64) };
            let surely = length.is_some_and(|length| before + u64::from(self.threads) <= length);
            (place, if surely { None } else { Some(self.value(place.below(hi))) })
        };
        (0..row.turns).map(place).collect()
    }

    /// What each turn gives, and what it stores.
    fn turns_of(&mut self, row: &mut Row, body: &Body) -> (Vec<Vec<Id>>, Vec<Vec<Op>>) {
        let turn = body.params[0].id;
        let mut names: Vec<HashMap<Id, Id>> =
            row.places.iter().map(|(place, _)| HashMap::from([(turn, *place)])).collect();
        let mut own = HashSet::from([turn]);
        let mut stores = vec![vec![]; row.turns];
        let renamed = |op: &Op, names: &HashMap<Id, Id>| {
            let mut op = op.clone();
            op.each_operand_mut(&mut |id| *id = *names.get(id).unwrap_or(id));
            op
        };
        // The same statement of all turns, then the next one: reads are under way together.
        for stmt in &body.stmts {
            let mut depends = matches!(stmt.op, Op::Load { .. } | Op::Store { .. });
            stmt.op.each_operand(&mut |id| depends |= own.contains(&id));
            if let Op::Store { .. } = stmt.op {
                stores.iter_mut().zip(&names).for_each(|(stores, names)| stores.push(renamed(&stmt.op, names)));
                continue;
            }
            own.extend(stmt.binds.iter().filter(|_| depends).map(|bind| bind.id));
            for k in 0..if depends { row.turns } else { 1 } {
                let op = renamed(&stmt.op, &names[k]);
                let ids = self.known(row, depends.then_some(k), stmt, op);
                let turns = if depends { &mut names[k..=k] } else { &mut names[..] };
                for names in turns {
                    names.extend(stmt.binds.iter().map(|bind| bind.id).zip(ids.iter().copied()));
                }
            }
        }
        let results = |names: &HashMap<Id, Id>| body.results.iter().map(|id| *names.get(id).unwrap_or(id)).collect();
        (names.iter().map(results).collect(), stores)
    }

    /// What an operation gives, which may have been computed before.
    fn known(&mut self, row: &mut Row, turn: Option<usize>, stmt: &Stmt, op: Op) -> Vec<Id> {
        let [bind] = &stmt.binds[..] else {
            let tys: Vec<Ty> = stmt.binds.iter().map(|bind| bind.ty.elem()).collect();
            return self.bind(op, &tys);
        };
        let key = (turn, op.clone());
        if let Some(&known) = row.known.get(&key) {
            return vec![known];
        }
        let ty = bind.ty.elem();
        let lasts = !matches!(op, Op::Load { memory, .. } if !self.is_constant(memory));
        let inside = turn.and_then(|turn| row.places[turn].1).filter(|_| matches!(op, Op::Load { .. }));
        let value = match inside {
            None => self.push(op, ty),
            Some(cond) => {
                let then = self.nested(&[], |s, _| vec![s.push(op, ty)]);
                let otherwise = self.nested(&[], |s, _| vec![s.constant(Scalar { ty, bits: 0 })]);
                self.bind(Op::If { cond, args: vec![], then, otherwise }, &[ty])[0]
            }
        };
        if lasts {
            row.known.insert(key, value);
        }
        vec![value]
    }

    /// The items of turns that are none do not count.
    fn those_inside(&mut self, row: &Row, items: Vec<Vec<Id>>, monoid: &Monoid) -> Vec<Vec<Id>> {
        let tys = fold::types_of(monoid);
        let mut counted = vec![];
        for (item, (_, inside)) in items.into_iter().zip(&row.places) {
            let Some(inside) = inside else {
                counted.push(item);
                continue;
            };
            let choose = |(k, ty): (usize, &Ty)| {
                self.push(Op::Apply(Operator::Select, vec![*inside, item[k], monoid.neutral[k]]), *ty)
            };
            counted.push(tys.iter().enumerate().map(choose).collect());
        }
        counted
    }

    fn store_turns(&mut self, row: &Row, stores: Vec<Vec<Op>>) {
        for (stores, (_, inside)) in stores.into_iter().zip(&row.places) {
            let write = |s: &mut Self| stores.into_iter().for_each(|store| s.act(store));
            match inside {
                Some(inside) => self.when(*inside, write),
                None => write(self),
            }
        }
    }
}

/// A memory and where it is read; the turn itself has no name.
type Read = (MemId, Vec<Option<Id>>);
