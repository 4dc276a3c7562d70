//! Which tabulates are products: folds of values made from those of a row and those of a column.
//!
//! In `tabulate (i, j) { fold k { f(i, k) * g(k, j) } }` every `f` is wanted by all columns and every `g` by all rows, so a
//! machine does well to make a tile of results at once and to keep the `f`s and `g`s of the tile near. What `f`, `g`, the
//! product and the sum are does not matter: distances are such folds too, and shortest paths. How a tile is made is the
//! machine's business (`cpu/product.rs`, `gpu/product.rs`).

use super::access::{is_plain, is_plain_stmt};
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::pass::fuse::cost;
use crate::size::Size;
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// The most values that are packed.
const MOST_PACKED: usize = 4;

/// What a statement depends on, of the three positions.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Depends {
    row: bool,
    column: bool,
    inner: bool,
}

impl Depends {
    fn or(self, other: Depends) -> Depends {
        Depends { row: self.row || other.row, column: self.column || other.column, inner: self.inner || other.inner }
    }

    fn is_mixed(self) -> bool {
        self.row && self.column
    }

    fn is_uniform(self) -> bool {
        self == Depends::default()
    }
}

/// A tabulate that is one fold of values made from those of a row and those of a column.
pub(crate) struct Product<'g> {
    pub(crate) body: &'g Body,
    pub(crate) extent: &'g Size,
    pub(crate) inner: Id,
    pub(crate) fold: &'g Stmt,
    pub(crate) item: &'g Body,
    pub(crate) monoid: &'g Monoid,
    /// Statements in front of the fold and in it.
    before: Vec<&'g Stmt>,
    /// Statements behind it.
    pub(crate) after: &'g [Stmt],
    /// Values of a row, and of a column, that are packed.
    pub(crate) left: Vec<(Id, Ty)>,
    pub(crate) right: Vec<(Id, Ty)>,
}

impl<'g> Product<'g> {
    /// Reads a tabulate as a product, if it is one.
    pub(crate) fn of(body: &'g Body) -> Option<Product<'g>> {
        let [.., row, column] = &body.params[..] else { return None };
        let place = body.stmts.iter().position(|s| matches!(s.op, Op::Fold { .. }))?;
        let before = &body.stmts[..place];
        let after = &body.stmts[place + 1..];
        let fold = &body.stmts[place];
        let Op::Fold { shape: axes, body: item, monoid } = &fold.op else { return None };
        let ([extent], [inner]) = (&axes[..], &item.params[..]) else { return None };
        let plain = |stmts: &[Stmt]| stmts.iter().all(is_plain_stmt);
        if !plain(before) || !plain(after) || !is_plain(item) {
            return None;
        }
        // A monoid that reads positions would have to be written for each of them.
        let mut outside = monoid.neutral.clone();
        monoid.combine.each_free(&mut |id| outside.push(id));
        let own: HashSet<Id> = before.iter().flat_map(|s| &s.binds).map(|b| b.id).chain([row.id, column.id]).collect();
        if outside.iter().any(|id| own.contains(id)) {
            return None;
        }
        let before: Vec<&Stmt> = before.iter().chain(&item.stmts).collect();
        let mut product =
            Product { body, extent, inner: inner.id, fold, item, monoid, before, after, left: vec![], right: vec![] };
        product.split([row.id, column.id]).then_some(product)
    }

    /// Finds what is packed; `false` if packing would not pay.
    fn split(&mut self, [row, column]: [Id; 2]) -> bool {
        let mut depends = HashMap::from([
            (row, Depends { row: true, ..Depends::default() }),
            (column, Depends { column: true, ..Depends::default() }),
            (self.inner, Depends { inner: true, ..Depends::default() }),
        ]);
        let types: HashMap<Id, Ty> = self.before.iter().flat_map(|s| &s.binds).map(|b| (b.id, b.ty.elem())).collect();
        let mut wanted: Vec<Id> = self.item.results.clone();
        let mut price = cost(&self.monoid.combine);
        for stmt in &self.before {
            let uses = operands(stmt);
            let all = uses.iter().filter_map(|id| depends.get(id)).fold(Depends::default(), |a, b| a.or(*b));
            if all.is_mixed() {
                price = price.saturating_add(cost(&Body { stmts: vec![(*stmt).clone()], ..Body::default() }));
                if reads(stmt) {
                    return false;
                }
                wanted.extend(uses);
            }
            depends.extend(stmt.binds.iter().map(|b| (b.id, all)));
        }
        for id in wanted {
            let (Some(&all), Some(&ty)) = (depends.get(&id), types.get(&id)) else { continue };
            if all.is_mixed() || all.is_uniform() {
                continue;
            }
            let side = if all.column { &mut self.right } else { &mut self.left };
            if !side.contains(&(id, ty)) {
                side.push((id, ty));
            }
            if self.left.len() + self.right.len() > MOST_PACKED {
                return false;
            }
        }
        let both = |side: &[(Id, Ty)], test: fn(Depends) -> bool| side.iter().any(|(id, _)| test(depends[id]));
        let pays = both(&self.left, |d| d.row && d.inner) && both(&self.right, |d| d.column && d.inner);
        pays && price <= 12
    }

    /// Is the fold all there is?
    pub(crate) fn is_bare(&self) -> bool {
        let binds: Vec<Id> = self.fold.binds.iter().map(|b| b.id).collect();
        self.body.results == binds
    }

    /// The statement in front of the fold, or in it, that gives a name.
    pub(crate) fn made(&self, id: Id) -> Option<&'g Stmt> {
        self.before.iter().find(|stmt| stmt.binds.iter().any(|bind| bind.id == id)).copied()
    }

    /// The statements that give the ids, in order, without going behind what is packed.
    pub(crate) fn slice(&self, ids: &[Id], packed: bool) -> Vec<&'g Stmt> {
        let mut wanted: HashSet<Id> = ids.iter().copied().collect();
        let stops: HashSet<Id> = self.left.iter().chain(&self.right).map(|(id, _)| *id).collect();
        let mut found = vec![];
        for stmt in self.before.iter().rev() {
            let stop = packed && stmt.binds.iter().any(|b| stops.contains(&b.id));
            if stmt.binds.iter().any(|b| wanted.contains(&b.id)) && !stop {
                wanted.extend(operands(stmt));
                found.push(*stmt);
            }
        }
        found.reverse();
        found
    }

    /// The statements in front of the fold that the code behind it wants.
    pub(crate) fn before_results(&self) -> Vec<&'g Stmt> {
        let mut wanted = self.body.results.clone();
        self.after.iter().for_each(|s| wanted.extend(operands(s)));
        self.slice(&wanted, false)
    }
}

/// The names outside that a statement mentions.
fn operands(stmt: &Stmt) -> Vec<Id> {
    let mut found = vec![];
    stmt.op.each_operand(&mut |id| found.push(id));
    stmt.op.bodies().iter().for_each(|b| b.each_free(&mut |id| found.push(id)));
    found
}

fn reads(stmt: &Stmt) -> bool {
    fn inside(op: &Op) -> bool {
        matches!(op, Op::At { .. }) || op.bodies().iter().any(|b| b.stmts.iter().any(|s| inside(&s.op)))
    }
    inside(&stmt.op)
}
