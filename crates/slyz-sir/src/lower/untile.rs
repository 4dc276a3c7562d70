//! Arrays that are made tile by tile, and read as a whole by one tabulate only: the tiles are written to their places in the whole.
//!
//! ```text
//! %tiles = tabulate [⌈N/8⌉, ⌈M/8⌉] |I, J| { …  %tile = tabulate [8, 8] |p, q| { … }  yield %tile }
//! %whole = tabulate [N, M] |i, j| { … at %tiles[i / 8, j / 8, i % 8, j % 8] … }
//! ```
//!
//! Nobody else reads `%tiles`, so it need not be there: the block of a tile computes the elements of `%whole` whose places are in it,
//! as far as the whole goes. Nothing but scalars stands between the two, so that it does not matter which of them is computed where.
//!
//! What it does not do: find tiles that other code reads too, or whose places are computed otherwise.

use super::access::is_plain;
use super::reuse::Reuse;
use crate::code::{Body, Class, Id, Op, Stmt};
use crate::ops::Operator;
use crate::program::Program;
use crate::size::Size;
use std::collections::{HashMap, HashSet};

/// A tabulate of tiles, and the one that reads them.
#[derive(Clone, Copy)]
pub(super) struct Untiled<'g> {
    /// Gives the tiles.
    pub(super) tiles: &'g Stmt,
    /// How many there are.
    pub(super) grid: &'g [Size],
    /// What is done for each.
    pub(super) work: &'g Body,
    /// The last statement of that, which gives the elements of the tile.
    pub(super) tile: &'g Stmt,
    /// Its sides.
    pub(super) sides: &'g [Size],
    /// The elements of the tile.
    pub(super) elements: &'g Body,
    /// The extents of the whole.
    pub(super) shape: &'g [Size],
    /// What becomes of the elements.
    pub(super) body: &'g Body,
    /// Where tiles are read.
    pub(super) place: &'g [Id],
}

/// By the first name that either of the two binds; the first of them is left out of the plan.
pub(super) struct Untiles<'g> {
    wholes: HashMap<Id, Untiled<'g>>,
    tiles: HashSet<Id>,
}

impl<'g> Untiles<'g> {
    /// All of a program, in bodies whose statements are planned one by one.
    pub(super) fn of(program: &'g Program, reuse: &Reuse) -> Untiles<'g> {
        let mut found = Finder { reuse, constants: HashMap::new(), wholes: HashMap::new() };
        found.body(&program.body);
        let wholes = found.wholes;
        let tiles = wholes.values().filter_map(|untiled| first_name(untiled.tiles)).collect();
        Untiles { wholes, tiles }
    }

    /// The tiles that a statement puts together.
    pub(super) fn whole(&self, stmt: &Stmt) -> Option<Untiled<'g>> {
        self.wholes.get(&first_name(stmt)?).copied()
    }

    /// Does a statement make tiles that are written where they are put together?
    pub(super) fn makes_tiles(&self, stmt: &Stmt) -> bool {
        first_name(stmt).is_some_and(|name| self.tiles.contains(&name))
    }
}

fn first_name(stmt: &Stmt) -> Option<Id> {
    stmt.binds.first().map(|bind| bind.id)
}

struct Finder<'r, 'g> {
    reuse: &'r Reuse,
    /// Numbers in sight.
    constants: HashMap<Id, u64>,
    wholes: HashMap<Id, Untiled<'g>>,
}

impl<'g> Finder<'_, 'g> {
    fn body(&mut self, body: &'g Body) {
        self.note_constants(body);
        for (place, stmt) in body.stmts.iter().enumerate() {
            if let Op::For { body, .. } | Op::While { body, .. } = &stmt.op {
                self.body(body);
            }
            let before = body.stmts[..place].iter().rev();
            let Some(tiles) = before.clone().find(|s| !matches!(s.op.class(), Class::Scalar | Class::Call)) else {
                continue;
            };
            if let Some(untiled) = self.untiled(tiles, stmt)
                && is_used_by(tiles, body, stmt)
            {
                self.wholes.extend(first_name(stmt).map(|name| (name, untiled)));
            }
        }
    }

    fn note_constants(&mut self, body: &Body) {
        for stmt in &body.stmts {
            if let (Op::Const(value), [bind]) = (&stmt.op, &stmt.binds[..])
                && !value.ty.is_float()
                && let Ok(number) = u64::try_from(value.as_int())
            {
                self.constants.insert(bind.id, number);
            }
            stmt.op.bodies().into_iter().for_each(|inner| self.note_constants(inner));
        }
    }

    fn untiled(&self, tiles: &'g Stmt, whole: &'g Stmt) -> Option<Untiled<'g>> {
        let Op::Tabulate { shape: grid, body: work } = &tiles.op else { return None };
        let tile = work.stmts.last()?;
        let Op::Tabulate { shape: sides, body: elements } = &tile.op else { return None };
        let Op::Tabulate { shape, body } = &whole.op else { return None };
        let given = |id: &Id| tile.binds.iter().any(|bind| bind.id == *id);
        let gives_scalars = |stmt: &Stmt, rank: usize| stmt.binds.iter().all(|bind| bind.ty.shape().len() == rank);
        let right = work.results.iter().all(given)
            && gives_scalars(tile, sides.len())
            && gives_scalars(whole, shape.len())
            && is_plain(elements)
            && is_plain(body)
            && whole.binds.iter().all(|bind| !self.reuse.contains_key(&bind.id));
        let place = place_of(tiles, body)?;
        let covered = covers(grid, sides, shape) && self.is_place(place, body, sides);
        (right && covered).then_some(Untiled { tiles, grid, work, tile, sides, elements, shape, body, place })
    }

    /// Is it the tile of each position, and the place in it?
    fn is_place(&self, place: &[Id], body: &Body, sides: &[Size]) -> bool {
        let rank = sides.len();
        let part = |k: usize| {
            let operator = if k < rank { Operator::Div } else { Operator::Rem };
            let made = body.stmts.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == place[k]));
            let Some(Op::Apply(own, args)) = made.map(|stmt| &stmt.op) else { return false };
            let [at, by] = args[..] else { return false };
            let side = self.constants.get(&by).copied();
            *own == operator && at == body.params[k % rank].id && side.is_some() && side == sides[k % rank].constant()
        };
        place.len() == 2 * rank && body.params.len() == rank && (0..place.len()).all(part)
    }
}

/// Are there tiles of these sides for all of the shape?
fn covers(grid: &[Size], sides: &[Size], shape: &[Size]) -> bool {
    let enough = |((count, side), extent): ((&Size, &Size), &Size)| {
        let Some(side) = side.constant().filter(|&side| side > 0) else { return false };
        let needed = Size::CeilDiv(extent.clone().into(), side);
        *count == needed || count.constant().is_some_and(|count| needed.constant() == Some(count))
    };
    grid.len() == shape.len() && sides.len() == shape.len() && grid.iter().zip(sides).zip(shape).all(enough)
}

/// Is what a statement binds used by one other statement only?
fn is_used_by(made: &Stmt, body: &Body, user: &Stmt) -> bool {
    let is_made = |id: Id| made.binds.iter().any(|bind| bind.id == id);
    let others = body.stmts.iter().filter(|stmt| !std::ptr::eq(*stmt, user));
    let mut used = body.results.iter().any(|&id| is_made(id));
    for stmt in others {
        stmt.op.each_operand(&mut |id| used |= is_made(id));
        stmt.op.bodies().into_iter().for_each(|inner| inner.each_free(&mut |id| used |= is_made(id)));
    }
    !used
}

/// The one place at which code reads tiles, and nothing else.
fn place_of<'g>(tiles: &Stmt, body: &'g Body) -> Option<&'g [Id]> {
    let mut reads = vec![];
    let whole = collect_reads(body, &|id| tiles.binds.iter().any(|bind| bind.id == id), &mut reads);
    let (_, place) = *reads.iter().find(|(is_tile, _)| *is_tile)?;
    let alone = reads.iter().all(|&(is_tile, at)| is_tile == (at == place));
    (alone && !whole).then_some(place)
}

/// All reads of a body, those of tiles marked. Are tiles used otherwise, too?
fn collect_reads<'g>(body: &'g Body, is_tile: &dyn Fn(Id) -> bool, reads: &mut Vec<(bool, &'g [Id])>) -> bool {
    let mut whole = body.results.iter().any(|&id| is_tile(id));
    for stmt in &body.stmts {
        match &stmt.op {
            Op::At { array, index } => reads.push((is_tile(*array), index)),
            op => op.each_operand(&mut |id| whole |= is_tile(id)),
        }
        for inner in stmt.op.bodies() {
            whole |= collect_reads(inner, is_tile, reads);
        }
    }
    whole
}
