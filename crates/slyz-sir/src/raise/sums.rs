//! Loops that accumulate, as folds.

use super::lift::Lift;
use crate::code::{Body, Id, Monoid, Op, Stmt, Var};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::Write;
use std::collections::HashMap;

/// What a turn adds to a state.
struct Added {
    operator: Operator,
    item: Id,
    ty: Ty,
}

impl Lift<'_> {
    /// The loop over `0..extent` as a fold, if each of its states only accumulates. What the states are behind it.
    pub(super) fn fold(&mut self, extent: Size, init: &[Id], body: &Body, tys: &[Ty]) -> Option<Vec<Id>> {
        let (counter, state) = body.params.split_first()?;
        if state.is_empty() {
            return None;
        }
        let mut stmts = body.stmts.clone();
        let mut added = vec![];
        for ((own, &result), &ty) in state.iter().zip(&body.results).zip(tys) {
            added.push(self.added(&mut stmts, own.id, result, ty)?);
        }
        let mut left = Body { params: vec![], stmts, results: added.iter().map(|added| added.item).collect() };
        // What turns store is no concern of what they carry.
        let needed = left.sources(&left.results);
        left.stmts.retain(|stmt| stmt.binds.iter().any(|bind| needed.contains(&bind.id)));
        // A state that something else reads, before or after it is added to, would have to be there at each turn.
        let mut reads_state = false;
        left.each_free(&mut |id| {
            reads_state |= state.iter().any(|own| own.id == id) || body.results.contains(&id);
        });
        if reads_state {
            return None;
        }
        let item = Body { params: vec![counter.clone()], ..left };
        let (extent, item) = self.joined(extent, item, &added);
        let mut neutral = vec![];
        for Added { operator, ty, .. } in &added {
            neutral.push(self.lines.constant(unit(*operator, *ty)?));
        }
        let twice: Vec<Ty> = added.iter().chain(&added).map(|added| added.ty).collect();
        let combine = self.lines.nested(&twice, |lines, ids| {
            let (left, right) = ids.split_at(added.len());
            let each = added.iter().zip(left.iter().zip(right));
            each.map(|(added, (&a, &b))| lines.apply(added.operator, &[a, b], added.ty)).collect()
        });
        let monoid = Monoid { neutral, combine, commutative: true };
        let folded = self.lines.bind(Op::Fold { shape: vec![extent], body: item, monoid }, tys);
        let both = added.iter().zip(init.iter().zip(folded));
        Some(
            both.map(|(added, (&init, fold))| {
                if self.is_unit(init, added.operator, added.ty) {
                    fold
                } else {
                    self.lines.apply(added.operator, &[init, fold], added.ty)
                }
            })
            .collect(),
        )
    }

    /// What a turn adds to a state: `result = state ∘ item`. A product that is added with one rounding is one by itself.
    fn added(&mut self, stmts: &mut Vec<Stmt>, state: Id, result: Id, ty: Ty) -> Option<Added> {
        let place = stmts.iter().position(|stmt| stmt.binds.iter().any(|bind| bind.id == result))?;
        let Op::Apply(operator, args) = &stmts[place].op else { return None };
        let (operator, args) = (*operator, args.clone());
        if ty.is_float() && !self.reassociates {
            return None;
        }
        let added = match (operator, &args[..]) {
            (Operator::Fma, &[a, b, c]) if c == state && a != state && b != state => {
                let item = self.lines.fresh();
                let product = Stmt {
                    binds: vec![Var { id: item, ..stmts[place].binds[0].clone() }],
                    op: Op::Apply(Operator::Mul, vec![a, b]),
                };
                stmts[place] = product;
                return Some(Added { operator: Operator::Add, item, ty });
            }
            (_, &[a, b]) if a == state && b != state => Added { operator, item: b, ty },
            (_, &[a, b]) if b == state && a != state => Added { operator, item: a, ty },
            _ => return None,
        };
        let row = operator.row();
        unit(operator, ty)?;
        if !row.commutative || !row.associative {
            return None;
        }
        stmts.remove(place);
        Some(added)
    }

    /// Does the state begin with what changes nothing?
    pub(super) fn is_unit(&self, init: Id, operator: Operator, ty: Ty) -> bool {
        let Some(&value) = self.constants.get(&init) else { return false };
        let zeros = ty.is_float() && operator == Operator::Add && value.as_f64() == 0.0;
        zeros || Some(value) == unit(operator, ty)
    }

    /// One fold of a fold of so many: `16 * tile + k` as one position, where nothing else is asked of the two.
    fn joined(&mut self, extent: Size, item: Body, added: &[Added]) -> (Size, Body) {
        let whole = |lift: &mut Self| {
            let ([tile], [sum]) = (&item.params[..], added) else { return None };
            let place = item.stmts.iter().position(|stmt| matches!(stmt.op, Op::Fold { .. }))?;
            let fold = &item.stmts[place];
            let Op::Fold { shape, body, monoid } = &fold.op else { return None };
            let ([Size::Const(many)], [k]) = (&shape[..], &body.params[..]) else { return None };
            let gives = fold.binds.len() == 1 && item.results == [fold.binds[0].id];
            if !gives || monoid.operator() != Some(sum.operator) {
                return None;
            }
            let position = lift.lines.var(Ty::I64);
            let mut flat = item.stmts[..place].to_vec();
            flat.extend(body.stmts.iter().cloned());
            let mut all = Body { params: vec![position.clone()], stmts: flat, results: body.results.clone() };
            // What a thread loads for others it may not need itself.
            let needed = all.sources(&all.results);
            all.stmts.retain(|stmt| stmt.binds.iter().any(|bind| needed.contains(&bind.id)));
            lift.merge(&mut all, tile.id, k.id, *many, position.id).then_some(())?;
            let extent = lift.product_of(extent.clone(), *many);
            Some((extent, all))
        };
        match whole(self) {
            Some(joined) => joined,
            None => (extent, item),
        }
    }

    /// Puts one name for `many * tile + k`; false where one of the two is used otherwise.
    fn merge(&self, body: &mut Body, tile: Id, k: Id, many: u64, position: Id) -> bool {
        let mut constants: HashMap<Id, i128> = HashMap::new();
        let mut starts: Vec<Id> = vec![];
        let mut sums: Vec<Id> = vec![];
        find(&body.stmts, &mut |stmt| {
            let [bind] = &stmt.binds[..] else { return };
            match &stmt.op {
                Op::Const(value) if value.ty == Ty::I64 => {
                    constants.insert(bind.id, value.as_int());
                }
                Op::Apply(Operator::Mul, args) => {
                    if let &[a, b] = &args[..]
                        && a == tile
                        && constants.get(&b) == Some(&i128::from(many))
                    {
                        starts.push(bind.id);
                    }
                }
                Op::Apply(Operator::Add, args) => {
                    if let &[a, b] = &args[..]
                        && (starts.contains(&a) && b == k || starts.contains(&b) && a == k)
                    {
                        sums.push(bind.id);
                    }
                }
                _ => {}
            }
        });
        body.each_use_mut(&mut |id| {
            if sums.contains(id) {
                *id = position;
            }
        });
        // What made the sums goes; who else asks for their parts wants more than the sum.
        remove(body, &|id| starts.contains(&id) || sums.contains(&id));
        let mut asked = false;
        body.each_free(&mut |id| asked |= id == tile || id == k || starts.contains(&id));
        !asked
    }

    /// So many of a size; the size itself where it is what was divided by that number, without a rest.
    fn product_of(&self, size: Size, many: u64) -> Size {
        let whole = self.dividend(&size).filter(|(_, by)| *by == i128::from(many)).filter(|(whole, by)| {
            let known = self.size_value(whole).map(|value| value % by == 0);
            self.holds(known)
        });
        match whole {
            Some((whole, _)) => whole,
            None => size * Size::Const(many),
        }
    }
}

/// What changes nothing, of an operator that combines.
pub(super) fn unit(operator: Operator, ty: Ty) -> Option<Scalar> {
    match operator {
        Operator::Add if ty.is_float() => Some(Scalar::from_f64(ty, 0.0)),
        _ => operator.row().identity.at(ty),
    }
}

fn find(stmts: &[Stmt], f: &mut dyn FnMut(&Stmt)) {
    for stmt in stmts {
        f(stmt);
        stmt.op.bodies().into_iter().for_each(|inner| find(&inner.stmts, f));
    }
}

fn remove(body: &mut Body, goes: &dyn Fn(Id) -> bool) {
    body.stmts.retain(|stmt| !stmt.binds.iter().any(|bind| goes(bind.id)));
    for stmt in &mut body.stmts {
        stmt.op.bodies_mut().into_iter().for_each(|inner| remove(inner, goes));
    }
}
