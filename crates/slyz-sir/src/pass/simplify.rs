//! `simplify`: replaces what can be known now by what it is.
//!
//! Folds constants with the meaning of the operator table, applies the laws of the table and a few that are not in
//! it, removes conversions that do nothing, and resolves branches, loops and folds whose course is known. Each law has
//! a name in a comment.
//!
//! It applies a law only if the interpreter cannot tell the difference, except by the payload of a NaN: `x + 0.0` is
//! not `x` (it turns `-0.0` into `0.0`), `x * 0.0` is not `0.0`, and float `min(x, inf)` is not `x` (a NaN gives way).
//! It does not reassociate, does not inline calls, does not look for equal statements (`cse`), and leaves behind the
//! statements it made useless (`dce`).
//!
//! ```text
//! %2: i64 = extent 3                       %2: i64 = const 3
//! %3: i64 = const 1                        %3: i64 = const 1
//! %4: i64 = add %2, %3               →     %4: i64 = const 4
//! %5: i64 = mul %0, %3
//! %6: i64 = add %5, %4                     %6: i64 = add %0, %4
//! ```

use crate::class;
use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::ops::{Operator, Unit};
use crate::program::Program;
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// Runs the pass on a program.
pub fn run(program: Program) -> Program {
    super::each_root(program, root)
}

/// Runs the pass on a body that binds all the names it uses.
pub fn root(body: Body) -> Body {
    Simplifier::default().body(body)
}

/// What a statement turns into.
#[expect(clippy::large_enum_variant, reason = "one at a time, on the stack")]
enum Rewrite {
    /// Another operation with the same results.
    Op(Op),
    /// Names that already hold the results.
    Same(Vec<Id>),
}

/// What is known about names. Names are unique, so nothing is ever forgotten.
#[derive(Default)]
struct Simplifier {
    /// The types of scalars.
    types: HashMap<Id, Ty>,
    /// How scalars are made, where that takes no body.
    made: HashMap<Id, Op>,
    /// Names that are replaced, and by what.
    same: HashMap<Id, Id>,
}

impl Simplifier {
    fn body(&mut self, body: Body) -> Body {
        self.bind(&body.params);
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for stmt in body.stmts {
            self.stmt(stmt, &mut stmts);
        }
        let results = body.results.iter().map(|&id| self.now(id)).collect();
        Body { params: body.params, stmts, results }
    }

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        stmt.op.each_operand_mut(&mut |id| *id = *self.same.get(id).unwrap_or(id));
        let Some(mut stmt) = self.resolve(stmt, out) else { return };
        self.pass_constants_into_branches(&stmt.op);
        for body in stmt.op.bodies_mut() {
            *body = self.body(std::mem::take(body));
        }
        while let Some(rewrite) = self.rewrite(&stmt.op) {
            match rewrite {
                Rewrite::Op(op) => stmt.op = op,
                Rewrite::Same(ids) => return self.replace(&stmt.binds, &ids),
            }
        }
        self.bind(&stmt.binds);
        if let (Op::Const(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..), [bind]) = (&stmt.op, &stmt.binds[..]) {
            self.made.insert(bind.id, stmt.op.clone());
        }
        out.push(stmt);
    }

    fn bind(&mut self, vars: &[Var]) {
        for var in vars {
            if let Type::Scalar(ty) = var.ty {
                self.types.insert(var.id, ty);
            }
        }
    }

    fn now(&self, id: Id) -> Id {
        *self.same.get(&id).unwrap_or(&id)
    }

    fn replace(&mut self, binds: &[Var], ids: &[Id]) {
        self.same.extend(binds.iter().map(|b| b.id).zip(ids.iter().copied()));
    }

    fn constant(&self, id: Id) -> Option<Scalar> {
        match self.made.get(&id) {
            Some(Op::Const(value)) => Some(*value),
            _ => None,
        }
    }

    /// The operand of the operator that made the name, if that one did.
    fn operand_of(&self, operator: Operator, id: Id) -> Option<Id> {
        match self.made.get(&id) {
            Some(Op::Apply(found, args)) if *found == operator => args.first().copied(),
            _ => None,
        }
    }

    /// Puts the statements of a body that is known to run, once, in place of the statement that held it.
    fn inline(&mut self, body: Body, args: &[Id], binds: &[Var], out: &mut Vec<Stmt>) {
        self.replace(&body.params, args);
        for stmt in body.stmts {
            self.stmt(stmt, out);
        }
        let results: Vec<Id> = body.results.iter().map(|&id| self.now(id)).collect();
        self.replace(binds, &results);
    }

    /// Branches and loops whose course is known; gives the statement back if it is not one of them.
    fn resolve(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) -> Option<Stmt> {
        match stmt {
            // if-constant
            Stmt { binds, op: Op::If { cond, args, then, otherwise } } => match self.constant(cond) {
                Some(cond) => self.inline(if cond.is_true() { then } else { otherwise }, &args, &binds, out),
                None => return Some(Stmt { binds, op: Op::If { cond, args, then, otherwise } }),
            },
            Stmt { binds, op: Op::For { lo, hi, step, init, body } } => match self.turns(lo, hi, step) {
                // for-never
                Some(0) => self.replace(&binds, &init),
                // for-once
                Some(1) => self.inline(body, &[&[lo], &init[..]].concat(), &binds, out),
                _ => return Some(Stmt { binds, op: Op::For { lo, hi, step, init, body } }),
            },
            other => return Some(other),
        }
        None
    }

    /// How often a loop with constant bounds turns.
    fn turns(&self, lo: Id, hi: Id, step: Id) -> Option<i128> {
        let [lo, hi, step] = [lo, hi, step].map(|id| self.constant(id));
        let lo = lo?.as_int();
        let hi = hi?.as_int();
        let step = step?.as_int();
        (step > 0).then(|| if lo < hi { (hi - lo + step - 1) / step } else { 0 })
    }

    /// A constant that is passed into a branch is as good as one made in it.
    fn pass_constants_into_branches(&mut self, op: &Op) {
        let Op::If { args, then, otherwise, .. } = op else { return };
        for branch in [then, otherwise] {
            for (param, &arg) in branch.params.iter().zip(args) {
                if let Some(value) = self.constant(arg) {
                    self.made.insert(param.id, Op::Const(value));
                }
            }
        }
    }

    fn rewrite(&self, op: &Op) -> Option<Rewrite> {
        match op {
            // extent-constant
            Op::Extent(size) => Some(Rewrite::Op(Op::Const(Scalar::i64(i64::try_from(size.constant()?).ok()?)))),
            Op::Apply(operator, args) => self.apply(*operator, args),
            Op::Cast(to, arg) => self.cast(*to, *arg),
            Op::Bitcast(to, arg) => self.bitcast(*to, *arg),
            // while-never: unless it is felt that the condition is asked
            Op::While { init, cond, .. } => {
                let holds = self.constant(*cond.results.first()?)?;
                let felt = cond.stmts.iter().any(|stmt| stmt.op.has_effect());
                (!holds.is_true() && !felt).then(|| Rewrite::Same(init.clone()))
            }
            // fold-empty
            Op::Fold { shape, monoid, .. } => {
                let empty = shape.iter().any(|size| size.constant() == Some(0));
                empty.then(|| Rewrite::Same(monoid.neutral.clone()))
            }
            // The others have no laws.
            Op::Const(_) | Op::If { .. } | Op::For { .. } => None,
            Op::At { .. } | Op::Tabulate { .. } | Op::Scan { .. } => None,
            Op::Scatter { .. } | Op::Filter { .. } | Op::Sort { .. } | Op::Raw(_) => None,
            class!(Place) | class!(Call) | class!(Memory) | class!(Meeting) => None,
        }
    }

    fn apply(&self, operator: Operator, args: &[Id]) -> Option<Rewrite> {
        // constant-folding
        let values: Option<Vec<Scalar>> = args.iter().map(|&id| self.constant(id)).collect();
        if let Some(value) = values.and_then(|values| operator.eval(&values)) {
            return Some(Rewrite::Op(Op::Const(value)));
        }
        match *args {
            [x] => self.unary(operator, x),
            [a, b] => self.table_laws(operator, a, b).or_else(|| self.binary(operator, a, b)),
            [cond, a, b] if operator == Operator::Select => self.select(cond, a, b),
            _ => None,
        }
    }

    /// The laws that the table states.
    fn table_laws(&self, operator: Operator, a: Id, b: Id) -> Option<Rewrite> {
        let row = operator.row();
        let ty = *self.types.get(&a)?;
        let is = |id: Id, unit: Unit| unit.at(ty).is_some() && self.constant(id) == unit.at(ty);
        // add-identity, mul-identity, div-identity, min-identity, max-identity, and-identity, or-identity, xor-identity
        if identity_is_exact(operator, ty) {
            if is(b, row.identity) {
                return Some(Rewrite::Same(vec![a]));
            }
            if row.commutative && is(a, row.identity) {
                return Some(Rewrite::Same(vec![b]));
            }
        }
        // mul-absorbing, min-absorbing, max-absorbing, and-absorbing, or-absorbing
        if !ty.is_float() {
            if is(b, row.absorbing) {
                return Some(Rewrite::Same(vec![b]));
            }
            if row.commutative && is(a, row.absorbing) {
                return Some(Rewrite::Same(vec![a]));
            }
        }
        None
    }

    fn binary(&self, operator: Operator, a: Id, b: Id) -> Option<Rewrite> {
        use Operator::{And, Eq, Ge, Gt, Le, Lt, Max, Min, Ne, Or, Rem, Shl, Shr, Sub, Xor};
        let ty = *self.types.get(&a)?;
        let exact = !ty.is_float();
        let right = self.constant(b);
        let whole = |value: i128| Some(Rewrite::Op(Op::Const(Scalar::from_int(ty, value))));
        let truth = |value: bool| Some(Rewrite::Op(Op::Const(Scalar::bool(value))));
        match operator {
            // sub-zero: the zero is positive, x - -0.0 turns -0.0 into 0.0
            Sub if right == Some(Scalar::from_int(ty, 0)) => Some(Rewrite::Same(vec![a])),
            // sub-self, xor-self
            Sub | Xor if exact && a == b => whole(0),
            // rem-one, rem-self: also by zero, `0 % 0` is 0
            Rem if exact && (a == b || right == Some(Scalar::from_int(ty, 1))) => whole(0),
            // shift-nothing
            Shl | Shr if right.is_some_and(|n| n.as_int().rem_euclid(ty.bits() as i128) == 0) => {
                Some(Rewrite::Same(vec![a]))
            }
            // and-self, or-self, min-self, max-self
            And | Or | Min | Max if a == b => Some(Rewrite::Same(vec![a])),
            // compare-self: a NaN differs from itself
            Eq | Le | Ge if exact && a == b => truth(true),
            Ne | Lt | Gt if exact && a == b => truth(false),
            // eq-true, ne-false
            Eq if right == Some(Scalar::bool(true)) => Some(Rewrite::Same(vec![a])),
            Ne if right == Some(Scalar::bool(false)) => Some(Rewrite::Same(vec![a])),
            _ => None,
        }
    }

    fn unary(&self, operator: Operator, x: Id) -> Option<Rewrite> {
        use Operator::{Abs, Eq, Ge, Gt, Le, Lt, Ne, Neg, Not};
        match operator {
            // neg-neg, not-not
            Neg | Not if self.operand_of(operator, x).is_some() => {
                Some(Rewrite::Same(vec![self.operand_of(operator, x)?]))
            }
            // abs-abs
            Abs if self.operand_of(Abs, x).is_some() => Some(Rewrite::Same(vec![x])),
            // not-compare: for floats only equality has an opposite, the others are all false on NaN
            Not => {
                let Some(Op::Apply(compare, args)) = self.made.get(&x) else { return None };
                let exact = args.first().and_then(|a| self.types.get(a)).is_some_and(|ty| !ty.is_float());
                let opposite = match compare {
                    Eq => Ne,
                    Ne => Eq,
                    Lt if exact => Ge,
                    Ge if exact => Lt,
                    Gt if exact => Le,
                    Le if exact => Gt,
                    _ => return None,
                };
                Some(Rewrite::Op(Op::Apply(opposite, args.clone())))
            }
            _ => None,
        }
    }

    fn select(&self, cond: Id, a: Id, b: Id) -> Option<Rewrite> {
        // select-constant
        if let Some(cond) = self.constant(cond) {
            return Some(Rewrite::Same(vec![if cond.is_true() { a } else { b }]));
        }
        // select-self
        if a == b {
            return Some(Rewrite::Same(vec![a]));
        }
        // select-not
        if let Some(cond) = self.operand_of(Operator::Not, cond) {
            return Some(Rewrite::Op(Op::Apply(Operator::Select, vec![cond, b, a])));
        }
        // select-bool
        let yes = Some(Scalar::bool(true));
        let no = Some(Scalar::bool(false));
        match (self.constant(a), self.constant(b)) {
            (a, b) if a == yes && b == no => Some(Rewrite::Same(vec![cond])),
            (a, b) if a == no && b == yes => Some(Rewrite::Op(Op::Apply(Operator::Not, vec![cond]))),
            _ => None,
        }
    }

    fn cast(&self, to: Ty, arg: Id) -> Option<Rewrite> {
        // cast-constant
        if let Some(value) = self.constant(arg) {
            return Some(Rewrite::Op(Op::Const(value.cast(to))));
        }
        let through = *self.types.get(&arg)?;
        // cast-same
        if through == to {
            return Some(Rewrite::Same(vec![arg]));
        }
        // cast-cast
        let Some(Op::Cast(_, inner)) = self.made.get(&arg) else { return None };
        let from = *self.types.get(inner)?;
        casts_compose(from, through, to).then_some(Rewrite::Op(Op::Cast(to, *inner)))
    }

    fn bitcast(&self, to: Ty, arg: Id) -> Option<Rewrite> {
        // bitcast-constant
        if let Some(value) = self.constant(arg) {
            return Some(Rewrite::Op(Op::Const(Scalar::from_bits(to, value.bits))));
        }
        // bitcast-same
        if self.types.get(&arg) == Some(&to) {
            return Some(Rewrite::Same(vec![arg]));
        }
        // bitcast-bitcast
        let Some(Op::Bitcast(_, inner)) = self.made.get(&arg) else { return None };
        Some(Rewrite::Op(Op::Bitcast(to, *inner)))
    }
}

/// Does the identity of the table leave a NaN alone, too? That of float `min` and `max` does not.
fn identity_is_exact(operator: Operator, ty: Ty) -> bool {
    let Some(unit) = operator.row().identity.at(ty) else { return false };
    let nan = Scalar::from_f64(ty, f64::NAN);
    !ty.is_float() || operator.eval(&[nan, unit]).is_some_and(|value| value.as_f64().is_nan())
}

/// Is `from → through → to` the same as `from → to` for every value?
fn casts_compose(from: Ty, through: Ty, to: Ty) -> bool {
    let kept = lossless(from, through);
    if from.is_float() == through.is_float() {
        // Low bits of low bits are low bits. A conversion to `bool` is not about bits.
        let narrowing = through.is_int() && to.is_int() && from != Ty::Bool && to.bits() <= through.bits();
        kept || narrowing
    } else {
        // An integer that travelled as a float comes back as itself where it fits; where not, floats saturate
        // and integers wrap.
        kept && (to == Ty::Bool || !to.is_float() && lossless(from, to))
    }
}

/// Does every value of `from` have an equal one of `to`?
fn lossless(from: Ty, to: Ty) -> bool {
    // Bits of a significand, and largest exponent.
    let float = |ty: Ty| match ty {
        Ty::F16 => (11, 15),
        Ty::BF16 => (8, 127),
        Ty::F32 => (24, 127),
        _ => (53, 1023),
    };
    match (from.is_float(), to.is_float()) {
        (true, true) => float(from).0 <= float(to).0 && float(from).1 <= float(to).1,
        (true, false) => false,
        (false, true) => from.bits() - from.is_signed() as u32 <= float(to).0,
        (false, false) => {
            let ((low, high), (to_low, to_high)) = (crate::types::int_range(from), crate::types::int_range(to));
            to_low <= low && high <= to_high
        }
    }
}
