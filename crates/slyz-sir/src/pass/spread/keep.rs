//! Rows whose elements stay in registers: loops of a block over the same turns share what the turns of a thread have in common.
//!
//! A row that is folded, folded again and then written is read three times by three loops. Where it is expected to be short
//! enough, the turns of each thread are written out instead, and what a turn of one loop has read or computed is at hand for the
//! same turn of the next. A row that is longer than expected is right too: its last turns are loops, as they would be otherwise.
//!
//! Where rows of memory are read along, a thread has four neighbours and then four others, which it reads and writes at once. That takes rows
//! of a multiple of four elements. Where nobody knows, the code is there twice: in other rows turns of a thread are apart, and neighbouring
//! threads read neighbours.
//!
//! ```text
//! if %whole { %a, %b, %c, %d = load x[%row, 4 t] … } else { %a = load x[%row, t]  %b = load x[%row, t + threads] … }
//! ```

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
/// Neighbours that are read at once.
pub(super) const NEIGHBOURS: usize = 4;

/// A row of the body being written.
pub(super) struct Row {
    extent: Size,
    /// Turns that a thread keeps.
    turns: usize,
    /// For each of them: its number, and whether it is one, unless it surely is.
    places: Vec<(Id, Option<Id>)>,
    together: Together,
    /// There may be more.
    longer: bool,
    /// What was computed: by turn, or for all of them.
    known: HashMap<(Option<usize>, Op), Id>,
}

/// Are four turns that follow each other neighbours?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Together {
    Never,
    /// Where the row has a multiple of four elements, which nobody knows.
    Perhaps,
    Always,
}

impl Row {
    pub(super) fn extent(&self) -> &Size {
        &self.extent
    }

    pub(super) fn together(&self) -> Together {
        self.together
    }

    /// The same for code that runs where the row has a multiple of four elements.
    pub(super) fn of_fours(self) -> Row {
        Row { together: Together::Always, ..self }
    }
}

impl Spreader<'_> {
    /// The row that several loops of the body share reads of; with turns beside each other, where it may.
    pub(super) fn row_of(&self, body: &Body, may_be_together: bool) -> Option<Row> {
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
            let fits = |turns: u64| {
                shared > 0 && turns <= MOST_TURNS && turns.saturating_mul(shared) <= self.kept_values.into()
            };
            let along = |read: &Read| self.is_along(read.0, extent) && matches!(read.1[..], [.., None]);
            let is_along =
                loops.iter().flatten().any(|read| along(read) && !read.1[..read.1.len() - 1].contains(&None));
            let fours = turns.next_multiple_of(NEIGHBOURS as u64);
            let together = match extent.constant() {
                _ if !may_be_together
                    || self.turns_at_once < NEIGHBOURS as u32
                    || !is_along
                    || turns + 1 < fours
                    || !fits(fours) =>
                {
                    Together::Never
                }
                None => Together::Perhaps,
                Some(length) if length.is_multiple_of(NEIGHBOURS as u64) => Together::Always,
                Some(_) => Together::Never,
            };
            let turns = if together == Together::Never { turns } else { fours };
            let longer = extent.constant().is_none();
            let (extent, known) = (extent.clone(), HashMap::new());
            let row = Row { extent, turns: turns as usize, places: vec![], together, longer, known };
            fits(turns).then_some(row)
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

    /// Are rows of the memory as long as the row, and may their elements be read at once?
    fn is_along(&self, memory: MemId, extent: &Size) -> bool {
        let memory = &self.memories[memory.0 as usize];
        let reaches = matches!(memory.space, Space::Global(_)) && memory.shape.last() == Some(extent);
        reaches && memory.ty.bytes() <= 4 && memory.ty != Ty::Bool
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
                self.write_turns(row, &body, stores);
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
        let threads = u64::from(self.threads);
        let together = if row.together == Together::Always { NEIGHBOURS as u64 } else { 1 };
        let first = if together == 1 { thread } else { self.value(thread * together as i64) };
        let mut places = vec![];
        for group in 0..row.turns as u64 / together {
            let before = group * together * threads;
            let place = if group == 0 { first } else { self.value(first + before as i64) };
            let surely = length.is_some_and(|length| before + together * threads <= length);
            // Neighbours are all there, or none of them is.
            let inside = if surely { None } else { Some(self.value(place.below(hi))) };
            places.push((place, inside));
            places.extend((1..together).map(|k| (self.value(place + k as i64), inside)));
        }
        places
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
            if self.is_together(row, &stmt.op, turn) {
                let ops: Vec<Op> = names.iter().map(|names| renamed(&stmt.op, names)).collect();
                let values = self.loaded_together(row, stmt, &ops);
                for (names, value) in names.iter_mut().zip(values) {
                    names.insert(stmt.binds[0].id, value);
                }
                continue;
            }
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

    /// Is it an access along the row, whose turns are neighbours at times?
    fn is_together(&self, row: &Row, op: &Op, turn: Id) -> bool {
        let (Op::Load { memory, index } | Op::Store { memory, index, .. }) = op else { return false };
        let along = matches!(&index[..], [others @ .., last] if *last == turn && !others.contains(&turn));
        let constant = matches!(op, Op::Store { .. }) || self.is_constant(*memory);
        row.together == Together::Always && along && constant && self.is_along(*memory, &row.extent)
    }

    /// What is loaded in all turns, four neighbours at once where they are.
    fn loaded_together(&mut self, row: &mut Row, stmt: &Stmt, ops: &[Op]) -> Vec<Id> {
        let ty = stmt.binds[0].ty.elem();
        let tys = [ty; NEIGHBOURS];
        let mut values = vec![];
        for (group, ops) in ops.chunks(NEIGHBOURS).enumerate() {
            let first = group * NEIGHBOURS;
            let key = |k: usize| (Some(first + k), ops[k].clone());
            if let Some(&known) = row.known.get(&key(0)) {
                values.push(known);
                values.extend((1..NEIGHBOURS).map(|k| row.known[&key(k)]));
                continue;
            }
            let inside = row.places[first].1;
            let found = self.where_inside(inside, &tys, |s| s.bind(ops[0].clone(), &tys));
            row.known.extend((0..NEIGHBOURS).map(|k| (key(k), found[k])));
            values.extend(found);
        }
        values
    }

    /// Values that are computed where there is a turn, and zeros where there is none.
    fn where_inside(&mut self, inside: Option<Id>, tys: &[Ty], write: impl FnOnce(&mut Self) -> Vec<Id>) -> Vec<Id> {
        let Some(cond) = inside else { return write(self) };
        let then = self.nested(&[], |s, _| write(s));
        let otherwise = self.nested(&[], |s, _| tys.iter().map(|&ty| s.constant(Scalar { ty, bits: 0 })).collect());
        self.bind(Op::If { cond, args: vec![], then, otherwise }, tys)
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
        let value = self.where_inside(inside, &[ty], |s| vec![s.push(op, ty)])[0];
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

    /// What all turns store: neighbours at once, where everything goes along the row.
    fn write_turns(&mut self, row: &Row, body: &Body, stores: Vec<Vec<Op>>) {
        let turn = body.params[0].id;
        let mut written = body.stmts.iter().filter(|stmt| matches!(stmt.op, Op::Store { .. }));
        if !written.all(|stmt| self.is_together(row, &stmt.op, turn)) {
            return self.store_turns(stores.into_iter().zip(&row.places));
        }
        for (stores, places) in stores.chunks(NEIGHBOURS).zip(row.places.chunks(NEIGHBOURS)) {
            let write = |s: &mut Self| {
                for (k, store) in stores[0].iter().enumerate() {
                    let Op::Store { memory, index, .. } = store else { continue };
                    let values = stores.iter().flat_map(|stores| stored(&stores[k])).collect();
                    s.act(Op::Store { memory: *memory, index: index.clone(), values });
                }
            };
            match places[0].1 {
                Some(inside) => self.when(inside, write),
                None => write(self),
            }
        }
    }

    fn store_turns<'p>(&mut self, stores: impl Iterator<Item = (Vec<Op>, &'p (Id, Option<Id>))>) {
        for (stores, (_, inside)) in stores {
            let write = |s: &mut Self| stores.into_iter().for_each(|store| s.act(store));
            match inside {
                Some(inside) => self.when(*inside, write),
                None => write(self),
            }
        }
    }
}

/// The values of a store.
fn stored(op: &Op) -> Vec<Id> {
    if let Op::Store { values, .. } = op { values.clone() } else { vec![] }
}

/// A memory and where it is read; the turn itself has no name.
type Read = (MemId, Vec<Option<Id>>);
