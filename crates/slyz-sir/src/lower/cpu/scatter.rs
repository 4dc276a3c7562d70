//! Scatters of many values into few places, as histograms are: runs of turns have a table each, and tables are combined in order.
//!
//! ```text
//! launch histogram_scatter_runs    a block fills the tables of four runs, a turn of each after the other
//! launch histogram_scatter         each place: what it starts from, then what the tables have for it, in the order of the runs
//! ```
//!
//! Runs are consecutive turns, so values at one place meet in the order they have anyway: it is enough that the monoid is associative.
//! How many runs there are does not depend on the number of threads. Four at once, so that equal places in a row do not wait for each
//! other. What is sent is computed by lanes, a batch at a time; a value that falls outside goes to a place behind the table.

use super::{RUN, sparse};
use crate::code::{Body, Id, MemId, Monoid, Op, Place, Stmt};
use crate::kernel::{Access, BufferId, BufferUse};
use crate::lower::access::{is_flat, last_one_stays};
use crate::lower::planning::{Lowering, piece};
use crate::lower::writer::{KernelWriter, Mode};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use crate::write::{Arithmetic, Write as _};

/// Runs that all turns are cut into.
const RUNS: u64 = 64;
/// Runs that a block works on at once.
const AT_ONCE: u64 = 4;
/// Turns of a run that are computed before they are sent.
const BATCH: u64 = 256;
/// Places that fill a cache line, or several.
const IN_A_LINE: u64 = 16;
/// The fewest turns that are worth all cores.
const FEWEST: u64 = 1 << 15;
/// Turns for each place of each table, so that filling and combining tables is little of the work.
const TURNS_A_PLACE: u64 = 4;
/// The most places that tables are made for: known ones, and those of a target whose size only a call tells.
const MOST_PLACES: u64 = 1 << 16;
const MOST_OPEN_PLACES: u64 = 1 << 10;

/// A scatter of the top level.
pub(super) struct Scatter<'g> {
    pub(super) body: &'g Body,
    pub(super) onto: &'g [Id],
    pub(super) monoid: &'g Monoid,
    pub(super) shape: &'g [Size],
    pub(super) target: &'g [Size],
    pub(super) tys: Vec<Ty>,
    pub(super) outputs: Vec<BufferId>,
    /// All turns, and all places of the target.
    pub(super) turns: Size,
    places: Size,
}

/// A value that a turn sends.
enum Sent {
    /// The same each turn.
    Same(Id),
    /// Computed for a batch.
    Kept(MemId),
}

impl<'g> Lowering<'g> {
    pub(super) fn scatter(&mut self, stmt: &'g Stmt) {
        let Op::Scatter { shape, body, target, onto, monoid } = &stmt.op else { unreachable!("asked for a scatter") };
        let outputs: Vec<BufferId> = self.outputs(stmt).into_iter().map(|(buffer, _)| buffer).collect();
        let tys: Vec<Ty> = stmt.binds.iter().map(|bind| bind.ty.elem()).collect();
        let turns = Size::product(shape);
        let places = Size::product(target);
        let scatter = Scatter { body, onto, monoid, shape, target, tys, outputs, turns, places };
        let is_line = shape.len() == 1 || self.is_flat_scatter(&scatter);
        let in_lanes = !self.needs_block(body);
        if !is_line || !in_lanes || last_one_stays(monoid) {
            return self.in_one_block(stmt, &scatter.outputs);
        }
        let enough = |places: u64| (TURNS_A_PLACE * RUNS * places).max(FEWEST);
        let turns = || scatter.turns.clone();
        let whole = |l: &mut Self| l.in_one_block(stmt, &scatter.outputs);
        let by_one = |l: &mut Self| match l.is_sparse(&scatter) {
            true => l.choose(turns(), sparse::FEWEST, whole, |l| l.scatter_sparse(stmt, &scatter)),
            false => whole(l),
        };
        match scatter.places.constant() {
            Some(known) if known > MOST_PLACES => by_one(self),
            Some(known) => self.choose(turns(), enough(known), by_one, |l| l.scatter_runs(&scatter)),
            None => {
                let most = MOST_OPEN_PLACES;
                let places = scatter.places.clone();
                let many = |l: &mut Self| l.choose(places, most, |l| l.scatter_runs(&scatter), by_one);
                self.choose(turns(), enough(most), by_one, many);
            }
        }
    }

    fn is_flat_scatter(&self, scatter: &Scatter<'g>) -> bool {
        let positions: Vec<Id> = scatter.body.params.iter().map(|p| p.id).collect();
        is_flat(scatter.body, &positions, &|array| self.types.get(&array).is_some_and(|ty| ty.shape() == scatter.shape))
    }

    fn scatter_runs(&mut self, scatter: &Scatter<'g>) {
        // Not more than are ever asked for, so that buffers of large targets stay small.
        let places = match scatter.places.constant() {
            Some(known) => Size::Const(known),
            None => Size::Min(scatter.places.clone().into(), Size::Const(MOST_OPEN_PLACES).into()),
        };
        // Whole cache lines for each, so that cores do not wait for each other's.
        let row = Size::CeilDiv((places.clone() + Size::Const(1)).into(), IN_A_LINE) * Size::Const(IN_A_LINE);
        let table = vec![Size::Const(RUNS), row];
        let tables: Vec<BufferId> =
            scatter.tys.iter().map(|&ty| self.buffer(ty, table.clone(), BufferUse::Temporary)).collect();

        let name = self.kernel_name("scatter_runs");
        let mut w = KernelWriter::new(self, name, Size::Const(RUNS / AT_ONCE));
        let homes: Vec<MemId> = tables.iter().map(|&b| w.global(b, Access::ReadWrite, table.clone())).collect();
        w.bind_monoid(scatter.monoid);
        w.bind_stmts(&scatter.body.stmts.iter().collect::<Vec<_>>(), scatter.body);
        w.regroups(scatter.monoid, &scatter.tys);
        if scatter.shape.len() > 1 {
            w.flatten_memories(scatter.shape, &scatter.turns);
        }
        write_runs(&mut w, scatter, &places, &homes);
        let kernel = w.finish();
        self.launch(kernel);

        let line = scatter.places.clone();
        let name = self.kernel_name("scatter");
        let mut w = KernelWriter::new(self, name, Size::CeilDiv(line.clone().into(), RUN));
        let outputs = scatter.outputs.iter();
        let homes: Vec<MemId> = outputs.map(|&b| w.global(b, Access::Write, scatter.target.to_vec())).collect();
        let tables: Vec<MemId> = tables.iter().map(|&b| w.global(b, Access::Read, table.clone())).collect();
        scatter.onto.iter().for_each(|&old| w.bind_array(old));
        w.bind_monoid(scatter.monoid);
        if scatter.target.len() > 1 {
            w.flatten_memories(scatter.target, &line);
        }
        combine_tables(&mut w, scatter, &homes, &tables);
        let kernel = w.finish();
        self.launch(kernel);
    }
}

/// The tables of a block, and the batch that is sent to them next.
struct Runs<'a, 'g> {
    scatter: &'a Scatter<'g>,
    tables: &'a [MemId],
    /// Where the turns of the batch send.
    places: MemId,
    /// What they send.
    sent: Vec<Sent>,
    neutral: Vec<Id>,
    /// The first run of the block, the length of a run, and the end of all.
    first: Id,
    length: Id,
    end: Id,
    /// The place of what falls outside.
    outside: Id,
}

/// Fills the tables of the runs of a block.
fn write_runs<'g>(w: &mut KernelWriter<'_, 'g>, scatter: &Scatter<'g>, places: &Size, tables: &[MemId]) {
    let batch = vec![Size::Const(AT_ONCE), Size::Const(BATCH)];
    let kept_places = w.scratch("places", Ty::I32, batch.clone());
    let values = &scatter.body.results[scatter.target.len()..];
    let sent: Vec<Sent> = values.iter().zip(&scatter.tys).map(|(&id, &ty)| sent(w, scatter, id, ty, &batch)).collect();
    let neutral = w.all_scalars(&scatter.monoid.neutral);
    let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
    let first = w.scaled(block, AT_ONCE);
    let outside = w.extent(places);
    let length = w.extent(&Size::CeilDiv(scatter.turns.clone().into(), RUNS));
    let end = w.extent(&scatter.turns);
    let runs = Runs { scatter, tables, places: kept_places, sent, neutral, first, length, end, outside };
    let zero = w.number(0);
    let at_once = w.number(AT_ONCE as i64);
    let full = w.number(BATCH as i64);
    w.for_each(zero, at_once, 1, (vec![], &[]), |w, k, _| {
        runs.clear(w, k);
        vec![]
    });
    w.for_each(zero, length, BATCH as i64, (vec![], &[]), |w, turn, _| {
        w.for_each(zero, at_once, 1, (vec![], &[]), |w, k, _| {
            runs.compute(w, k, turn);
            vec![]
        });
        w.for_each(zero, full, 1, (vec![], &[]), |w, turn, _| {
            (0..AT_ONCE as i64).for_each(|k| runs.send(w, k, turn));
            vec![]
        });
        vec![]
    });
}

impl<'g> Runs<'_, 'g> {
    /// Makes the table of run `k` of the block neutral.
    fn clear(&self, w: &mut KernelWriter<'_, 'g>, k: Id) {
        let run = w.value(self.first + k);
        let zero = w.number(0);
        let end = w.offset(self.outside, 1);
        w.lanes(zero, end, |w, place| {
            let tables = self.tables.iter().zip(&self.neutral);
            tables.for_each(|(&table, &value)| w.store(table, vec![run, place], value));
        });
    }

    /// Computes what run `k` sends from a turn on. Where it ends within the batch, the rest goes outside.
    fn compute(&self, w: &mut KernelWriter<'_, 'g>, k: Id, turn: Id) {
        let run = w.value(self.first + k);
        let from = w.value(run * self.length);
        let stop = w.value((from + self.length).least(self.end));
        let start = w.value(from + turn);
        let stop = w.value((start + BATCH as i64).least(stop));
        w.lanes(start, stop, |w, i| {
            let place = w.value(i - start);
            let (to, values) = item(w, self.scatter, i, self.outside);
            w.store(self.places, vec![k, place], to);
            keep(w, &self.sent, &[k, place], &values);
        });
        let zero = w.number(0);
        let count = w.value((stop - start).most(zero));
        let full = w.number(BATCH as i64);
        w.lanes(count, full, |w, place| {
            let nowhere = w.push(Op::Cast(Ty::I32, self.outside), Ty::I32);
            w.store(self.places, vec![k, place], nowhere);
            keep(w, &self.sent, &[k, place], &self.neutral);
        });
    }

    /// Sends one turn of run `k`.
    fn send(&self, w: &mut KernelWriter<'_, 'g>, k: i64, turn: Id) {
        let run = w.offset(self.first, k);
        let k = w.number(k);
        let batch = vec![k, turn];
        let place = w.push(Op::Load { memory: self.places, index: batch.clone() }, Ty::I32);
        let place = w.push(Op::Cast(Ty::I64, place), Ty::I64);
        let index = vec![run, place];
        let mut old = vec![];
        let mut new = vec![];
        for ((&table, sent), &ty) in self.tables.iter().zip(&self.sent).zip(&self.scatter.tys) {
            old.push(w.push(Op::Load { memory: table, index: index.clone() }, ty));
            new.push(match sent {
                Sent::Same(value) => *value,
                Sent::Kept(memory) => w.push(Op::Load { memory: *memory, index: batch.clone() }, ty),
            });
        }
        let joined = w.combine(self.scatter.monoid, &old, &new);
        self.tables.iter().zip(joined).for_each(|(&table, value)| w.store(table, index.clone(), value));
    }
}

/// Where the values of a batch are.
fn sent<'g>(w: &mut KernelWriter<'_, 'g>, scatter: &Scatter<'g>, id: Id, ty: Ty, batch: &[Size]) -> Sent {
    if !scatter.body.names().any(|name| name == id) {
        return Sent::Same(w.scalar(id));
    }
    let made = scatter.body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == id));
    match made.map(|stmt| &stmt.op) {
        Some(Op::Const(value)) => Sent::Same(w.constant(*value)),
        Some(_) | None => Sent::Kept(w.scratch("values", ty, batch.to_vec())),
    }
}

fn keep(w: &mut KernelWriter, sent: &[Sent], index: &[Id], values: &[Id]) {
    for (sent, &value) in sent.iter().zip(values) {
        if let Sent::Kept(memory) = sent {
            w.store(*memory, index.to_vec(), value);
        }
    }
}

/// What turn `i` sends: the place in a table, and the values.
fn item<'g>(w: &mut KernelWriter<'_, 'g>, scatter: &Scatter<'g>, i: Id, outside: Id) -> (Id, Vec<Id>) {
    let positions: Vec<Id> = scatter.body.params.iter().map(|p| p.id).collect();
    if positions.len() > 1 {
        w.set_flat(positions.clone(), i);
    }
    let results = w.run(scatter.body, &vec![i; positions.len()], Mode::Lane);
    let (to, values) = results.split_at(scatter.target.len());
    let inside = w.within(to, scatter.target);
    let mut place = to[0];
    for (&next, size) in to[1..].iter().zip(&scatter.target[1..]) {
        let extent = w.extent(size);
        place = w.value(place * extent + next);
    }
    let place = w.apply(Operator::Select, &[inside, place, outside], Ty::I64);
    (w.push(Op::Cast(Ty::I32, place), Ty::I32), values.to_vec())
}

/// What each place of the target gets, for the places of a block.
fn combine_tables<'g>(w: &mut KernelWriter<'_, 'g>, scatter: &Scatter<'g>, homes: &[MemId], tables: &[MemId]) {
    let block = w.push(Op::Place(Place::Block, 0), Ty::I64);
    let (lo, hi) = piece(w, block, RUN, &scatter.places);
    let zero = w.number(0);
    let runs = w.number(RUNS as i64);
    let neutral = w.all_scalars(&scatter.monoid.neutral);
    let tys = &scatter.tys;
    w.lanes(lo, hi, |w, place| {
        let start = match scatter.onto {
            [] => neutral,
            onto => onto.iter().zip(tys).map(|(&old, &ty)| w.read(old, vec![place], ty)).collect(),
        };
        let all = w.for_each(zero, runs, 1, (start, tys), |w, run, state| {
            let mut load = |(&memory, &ty): (&MemId, &Ty)| w.push(Op::Load { memory, index: vec![run, place] }, ty);
            let own: Vec<Id> = tables.iter().zip(tys).map(&mut load).collect();
            w.combine(scatter.monoid, state, &own)
        });
        w.store_each(homes, place, &all);
    });
}
