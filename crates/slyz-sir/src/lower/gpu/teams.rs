//! The launch of a fold: how the threads of a team share the elements of a result, and how they join what they have.

use super::plan::Gpu;
use super::threads::{ceil_div, each_position};
use crate::code::{Id, MemId, Monoid, Op};
use crate::lower::planning::{piece, unflatten};
use crate::lower::writer::{KernelWriter, is_exact, levels};
use crate::lower::{FAN, RUN};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Write as _};

/// Levels of pieces of a long fold in a thread.
const MOST_LEVELS: u32 = 2;
/// Neighbouring results that a block of columns works on.
pub(super) const COLUMNS: u64 = 32;
/// Partial results that one thread joins.
const FEW_PARTS: u64 = 8;

/// Writes something at a result: its position, and its number.
pub(super) type AtResult<'a, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>, &[Id], Id) + 'a;
/// Elements of a result that are neighbours: the result's position and number, the first element and how many.
pub(super) type Elements<'a, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>, (&[Id], Id), Id, u64) -> Vec<Vec<Id>> + 'a;
/// What is done with the value of a result, or of a piece of one.
pub(super) type Finish<'a, 'g> = dyn Fn(&mut KernelWriter<'_, 'g>, (&[Id], Id), Id, &[Id]) + 'a;

/// Something to fold.
pub(super) struct Folding<'a, 'g> {
    pub(super) name: &'a str,
    pub(super) monoid: &'g Monoid,
    pub(super) tys: &'a [Ty],
    /// The axes of the results; none for a single one.
    pub(super) shape: &'a [Size],
    /// Elements of a result.
    pub(super) extent: Size,
    /// Are the elements of a result neighbours, rather than the results?
    pub(super) along: bool,
    /// Elements that one access reads.
    pub(super) width: u64,
    /// Are they elements of rows? Then one access reads them only where rows have a multiple of so many.
    pub(super) in_rows: bool,
    /// Statements for an element, unless it takes long.
    pub(super) length: Option<u64>,
    /// Binds what is read.
    pub(super) bind: &'a dyn Fn(&mut KernelWriter<'_, 'g>),
    /// Computes what the elements of a result share.
    pub(super) prepare: &'a AtResult<'a, 'g>,
    pub(super) elements: &'a Elements<'a, 'g>,
}

/// Who works on a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Team {
    /// One thread.
    Thread,
    /// So many threads of a block.
    Threads(u32),
    /// All threads of a block.
    Block,
    /// The threads above each other in a block of neighbouring results.
    Columns,
}

/// What a thread has under way at once.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// Elements of an access, and accesses.
    pub(super) width: u64,
    pub(super) copies: u64,
}

impl Pace {
    pub(super) fn at_once(self) -> u64 {
        self.width * self.copies
    }
}

/// The paces of a fold: with wide accesses, and with single ones where these cannot be.
#[derive(Clone, Copy)]
struct Paces {
    wide: Pace,
    single: Option<Pace>,
}

/// The threads of a result, as the code of one of them sees it.
#[derive(Clone, Copy)]
struct Lanes {
    /// Which one it is, and how many there are.
    lane: Id,
    count: Id,
    /// The same, where it is known before the launch.
    known: Option<u64>,
}

impl<'g> Folding<'_, 'g> {
    /// The fold of the elements `lo..hi` that are this thread's.
    fn own(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        result: (&[Id], Id),
        [lo, hi]: [Id; 2],
        lanes: Lanes,
        cut: Option<u64>,
        paces: Paces,
    ) -> Vec<Id> {
        let Some(single) = paces.single else { return self.own_at(w, result, [lo, hi], lanes, cut, paces.wide) };
        let extent = w.extent(&self.extent);
        let width = w.number(paces.wide.width as i64);
        let left = w.value(extent % width);
        let zero = w.number(0);
        let whole = w.value(left.equals(zero));
        w.branch(
            whole,
            self.tys,
            |w| self.own_at(w, result, [lo, hi], lanes, cut, paces.wide),
            |w| self.own_at(w, result, [lo, hi], lanes, cut, single),
        )
    }

    fn own_at(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        result: (&[Id], Id),
        [lo, hi]: [Id; 2],
        lanes: Lanes,
        cut: Option<u64>,
        pace: Pace,
    ) -> Vec<Id> {
        let neutral = w.all_scalars(&self.monoid.neutral);
        let at_once = pace.at_once();
        let single = |w: &mut KernelWriter<'_, 'g>, start: Id, end: Id, state: Vec<Id>| {
            let first = w.value(start + lanes.lane);
            w.for_steps([first, end, lanes.count], (state, self.tys), |w, k, state| {
                let item = (self.elements)(w, result, k, 1).remove(0);
                w.combine(self.monoid, state, &item)
            })
        };
        // What is known about whole turns of the team.
        let whole = lanes.known.map(|n| n * at_once).filter(|_| cut.is_none()).zip(self.extent.constant());
        if whole.is_some_and(|(turn, n)| n < turn) {
            return single(w, lo, hi, neutral);
        }
        let together = |w: &mut KernelWriter<'_, 'g>, start: Id, state: &[Id]| {
            let skipped = w.scaled(lanes.lane, pace.width);
            let first = w.value(start + skipped);
            let stride = w.scaled(lanes.count, pace.width);
            let mut items = vec![];
            for copy in 0..pace.copies {
                let skipped = w.scaled(stride, copy);
                let k = w.value(first + skipped);
                items.extend((self.elements)(w, result, k, pace.width));
            }
            let joined = w.tree(self.monoid, items);
            w.combine(self.monoid, state, &joined)
        };
        let turn = w.scaled(lanes.count, at_once);
        let turns = |w: &mut KernelWriter<'_, 'g>, [lo, hi]: [Id; 2], init: Vec<Id>| {
            if at_once == 1 {
                return single(w, lo, hi, init);
            }
            if whole.is_some_and(|(turn, n)| n % turn == 0) {
                return w.for_steps([lo, hi, turn], (init, self.tys), |w, start, state| together(w, start, state));
            }
            // Whole turns, then what is left.
            let length = w.value(hi - lo);
            let zero = w.number(0);
            // It is not negative, which backends can see now.
            let length = w.value(length.most(zero));
            let count = w.value(length / turn);
            let covered = w.value(count * turn);
            let end = w.value(lo + covered);
            let end = w.value(end.least(hi));
            let sums = w.for_steps([lo, end, turn], (init, self.tys), |w, start, state| together(w, start, state));
            single(w, end, hi, sums)
        };
        // The error of a long sum grows with its longest chain: it is cut, and the parts are summed.
        let most = lanes.known.zip(cut.or(self.extent.constant())).map(|(lanes, n)| n.div_ceil(lanes * at_once));
        let levels = if is_exact(self.monoid, self.tys) { 0 } else { levels(most, MOST_LEVELS) };
        let run = w.scaled(turn, RUN as u64);
        w.fold_pieces([lo, hi], run, levels, self.monoid, self.tys, &mut |w, range| turns(w, range, neutral.clone()))
    }
}

impl<'g> Gpu<'g> {
    /// One launch of a fold.
    pub(super) fn fold_launch(
        &mut self,
        folding: &Folding<'_, 'g>,
        team: Team,
        cut: Option<u64>,
        bind_homes: &dyn Fn(&mut KernelWriter<'_, 'g>),
        finish: &Finish<'_, 'g>,
    ) {
        let bytes = self.machine.shared_size(folding.tys);
        let room = (self.machine.shared_bytes / bytes.max(1)).clamp(1, self.machine.threads().into());
        let results = Size::product(folding.shape);
        let extent = &folding.extent;
        let most = match (team, self.expected.about(extent)) {
            (Team::Block, Some(turns)) => room.min(turns.max(1).next_power_of_two()),
            (Team::Block | Team::Columns | Team::Thread | Team::Threads(_), _) => room,
        };
        // Halves of a power of two are whole.
        let threads = 1 << most.ilog2();
        let bind = |w: &mut KernelWriter<'_, 'g>| {
            (folding.bind)(w);
            bind_homes(w);
        };
        let range = |w: &mut KernelWriter<'_, 'g>, part: Id| match cut {
            Some(length) => piece(w, part, length, extent).into(),
            None => [w.number(0), w.extent(extent)],
        };
        let per_block = match team {
            Team::Thread => return self.fold_by_threads(folding, &bind, finish),
            Team::Block => 1,
            Team::Threads(lanes) => u64::from((threads / lanes).max(1)),
            Team::Columns => COLUMNS.min(threads.into()),
        };
        let tiles = ceil_div(&results, per_block);
        let pieces = cut.map_or(Size::Const(1), |length| ceil_div(extent, length));
        // Neighbouring blocks read neighbouring elements.
        let grid = if folding.along { [tiles, pieces] } else { [pieces, tiles] };
        // Without subgroups the threads of a block join in shared memory like those of any team.
        let in_memory = self.machine.subgroup.is_none();
        // Where there are fewer results than columns, threads stand closer.
        let narrow = team == Team::Columns && self.expected.about(&results).is_none_or(|n| n <= COLUMNS);
        let paces = self.paces(folding, u64::from(threads) / per_block);
        self.blocks(folding.name, &Size::product(&grid), threads, &|w, items| {
            bind(w);
            let part = |&ty: &Ty| w.scratch("part", ty, vec![Size::Const(threads.into())]);
            let join = (team != Team::Block || in_memory).then(|| Join {
                folding,
                threads: threads.into(),
                per_block,
                narrow,
                paces,
                parts: folding.tys.iter().map(part).collect(),
            });
            items.each(w, |w, item| {
                let (tile, part) = match (cut.is_some(), folding.shape.is_empty()) {
                    (false, _) => (item, w.number(0)),
                    (true, true) => (w.number(0), item),
                    (true, false) => {
                        let at = unflatten(w, item, &grid);
                        if folding.along { (at[0], at[1]) } else { (at[1], at[0]) }
                    }
                };
                let range = range(w, part);
                match &join {
                    None => {
                        let at = position(w, tile, folding.shape);
                        (folding.prepare)(w, &at, tile);
                        let zero = w.number(0);
                        let count = w.number(threads.into());
                        let values = w.lanes_fold(zero, count, folding.monoid, folding.tys, |w, lane| {
                            let lanes = Lanes { lane, count, known: Some(threads.into()) };
                            folding.own(w, (&at, tile), range, lanes, cut, paces)
                        });
                        finish(w, (&at, tile), part, &values);
                    }
                    Some(join) => join.write(w, (tile, part), range, cut, finish),
                }
            });
        });
    }

    /// With wide accesses where rows are known to be whole, with single ones where they are known not to be, else both.
    fn paces(&self, folding: &Folding<'_, 'g>, lanes: u64) -> Paces {
        let [wide, single] = [folding.width, 1].map(|width| self.pace(folding, width, lanes));
        match folding.extent.constant().map(|n| n.is_multiple_of(folding.width)) {
            _ if !folding.in_rows || folding.width == 1 => Paces { wide, single: None },
            Some(true) => Paces { wide, single: None },
            Some(false) => Paces { wide: single, single: None },
            None => Paces { wide, single: Some(single) },
        }
    }

    /// A thread per result.
    fn fold_by_threads(
        &mut self,
        folding: &Folding<'_, 'g>,
        bind: &dyn Fn(&mut KernelWriter<'_, 'g>),
        finish: &Finish<'_, 'g>,
    ) {
        let paces = self.paces(folding, 1);
        let mut w = KernelWriter::new(&self.base, folding.name.into(), Size::Const(1));
        bind(&mut w);
        each_position(&mut w, &self.machine, folding.shape, &mut |w, at| {
            // Only pieces are found by the number of their result.
            let number = flatten(w, at, folding.shape);
            (folding.prepare)(w, at, number);
            let lo = w.number(0);
            let hi = w.extent(&folding.extent);
            let one = w.number(1);
            let lanes = Lanes { lane: lo, count: one, known: Some(1) };
            let values = folding.own(w, (at, number), [lo, hi], lanes, None, paces);
            finish(w, (at, number), lo, &values);
        });
        let kernel = w.finish();
        self.base.launch(kernel);
    }
}

/// Several results of a block: every thread folds for one of them, and what they have is joined in shared memory.
struct Join<'a, 'b, 'g> {
    folding: &'a Folding<'b, 'g>,
    threads: u64,
    /// The most results of a block.
    per_block: u64,
    /// Are there perhaps fewer results? Then more threads work on each.
    narrow: bool,
    paces: Paces,
    /// What each thread has: first what the first threads of all results have, then the second ones.
    parts: Vec<MemId>,
}

impl<'g> Join<'_, '_, 'g> {
    /// The results of a tile, over a range of elements that is piece `part`.
    fn write(
        &self,
        w: &mut KernelWriter<'_, 'g>,
        (tile, part): (Id, Id),
        range: [Id; 2],
        cut: Option<u64>,
        finish: &Finish<'_, 'g>,
    ) {
        let Join { folding, threads, per_block, narrow, paces, .. } = *self;
        let results = Size::product(folding.shape);
        let width = match narrow {
            true => w.extent(&Size::Min(results.clone().into(), Size::Const(per_block).into())),
            false => w.number(per_block as i64),
        };
        let zero = w.number(0);
        let all = w.number(threads as i64);
        let count = w.value(all / width);
        let known = (!narrow).then_some(threads / per_block);
        let number = |w: &mut KernelWriter<'_, 'g>, own: Id| {
            if per_block == 1 {
                return (tile, w.push(Op::Const(Scalar::bool(true)), Ty::Bool));
            }
            let before = w.scaled(tile, per_block);
            let result = w.value(before + own);
            let end = w.extent(&results);
            (result, w.push(Op::Apply(Operator::Lt, vec![result, end]), Ty::Bool))
        };
        w.lanes(zero, all, |w, thread| {
            let (own, lane) = if per_block == 1 {
                (zero, thread)
            } else if folding.along {
                (w.value(thread / count), w.value(thread % count))
            } else {
                (w.value(thread % width), w.value(thread / width))
            };
            let (result, there) = number(w, own);
            // Threads that are left over where the results do not divide them.
            let there = if !narrow {
                there
            } else {
                let used = w.push(Op::Apply(Operator::Lt, vec![lane, count]), Ty::Bool);
                w.push(Op::Apply(Operator::And, vec![there, used]), Ty::Bool)
            };
            let neutral = w.all_scalars(&folding.monoid.neutral);
            let values = w.branch(
                there,
                folding.tys,
                |w| {
                    let at = position(w, result, folding.shape);
                    (folding.prepare)(w, &at, result);
                    folding.own(w, (&at, result), range, Lanes { lane, count, known }, cut, paces)
                },
                |_| neutral,
            );
            let skipped = w.value(lane * width);
            let place = if folding.along { w.value(skipped + own) } else { thread };
            w.store_each(&self.parts, place, &values);
        });
        // Halves are joined until few are left for each result.
        let mut left = threads;
        while !narrow && left / per_block > FEW_PARTS {
            left /= 2;
            let half = w.number(left as i64);
            w.lanes(zero, half, |w, place| {
                let other = w.value(place + half);
                let here = w.load_all(&self.parts, place, folding.tys);
                let there = w.load_all(&self.parts, other, folding.tys);
                let joined = w.combine(folding.monoid, &here, &there);
                w.store_each(&self.parts, place, &joined);
            });
        }
        w.lanes(zero, width, |w, own| {
            let (result, there) = number(w, own);
            w.when(there, |w| {
                let values = if narrow {
                    let end = w.value(count * width);
                    let neutral = w.all_scalars(&folding.monoid.neutral);
                    let run = w.scaled(width, FAN as u64);
                    w.fold_pieces([own, end], run, 3, folding.monoid, folding.tys, &mut |w, [lo, hi]| {
                        w.for_steps([lo, hi, width], (neutral.clone(), folding.tys), |w, place, state| {
                            let part = w.load_all(&self.parts, place, folding.tys);
                            w.combine(folding.monoid, state, &part)
                        })
                    })
                } else {
                    let parts = (0..left / per_block).map(|k| {
                        let place = w.offset(own, (k * per_block) as i64);
                        w.load_all(&self.parts, place, folding.tys)
                    });
                    let parts = parts.collect();
                    w.tree(folding.monoid, parts)
                };
                let at = position(w, result, folding.shape);
                finish(w, (&at, result), part, &values);
            });
        });
    }
}

/// The position of a result with that number.
fn position(w: &mut KernelWriter, number: Id, shape: &[Size]) -> Vec<Id> {
    if shape.is_empty() { vec![] } else { unflatten(w, number, shape) }
}

/// The row-major number of a position.
pub(super) fn flatten(w: &mut KernelWriter, at: &[Id], shape: &[Size]) -> Id {
    let mut number = at[0];
    let rest = &shape[1..];
    for (&place, size) in at[1..].iter().zip(rest) {
        let extent = w.extent(size);
        let rows = w.value(number * extent);
        number = w.value(rows + place);
    }
    number
}
