//! Of which `i64`s nobody asks for more than the low word.
//!
//! An index into memory is such a number where no memory has more elements than a word counts, and so is what it is made of by
//! products, sums and differences, which carry only upwards.

use crate::code::{Body, Id, Op, Type, Var};
use crate::ops::Operator;
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// Does the low word of the result depend on low words of the operands only?
pub(crate) fn is_closed(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Add
            | Operator::Sub
            | Operator::Mul
            | Operator::Fma
            | Operator::Neg
            | Operator::And
            | Operator::Or
            | Operator::Xor
            | Operator::Not
            | Operator::Select
    )
}

/// Who uses what for what.
#[derive(Default)]
pub(crate) struct Uses {
    pub(crate) types: HashMap<Id, Ty>,
    /// Used whole.
    whole: Vec<Id>,
    /// Used as far as the first name is.
    through: Vec<(Id, Id)>,
}

impl Uses {
    /// Notes the types of names.
    pub(crate) fn vars(&mut self, vars: &[Var]) {
        for var in vars {
            if let Type::Scalar(ty) = var.ty {
                self.types.insert(var.id, ty);
            }
        }
    }

    /// Notes who uses what in a body.
    pub(crate) fn body(&mut self, body: &Body) {
        for stmt in &body.stmts {
            self.vars(&stmt.binds);
            match &stmt.op {
                Op::Apply(operator, args) if is_closed(*operator) => {
                    self.through.extend(stmt.binds.iter().flat_map(|bind| args.iter().map(|&arg| (bind.id, arg))));
                }
                Op::Apply(Operator::Shl, args) => {
                    self.through.extend(stmt.binds.iter().map(|bind| (bind.id, args[0])));
                    self.whole.push(args[1]);
                }
                Op::Cast(Ty::I64, arg) => self.through.extend(stmt.binds.iter().map(|bind| (bind.id, *arg))),
                Op::Cast(to, _) if to.is_int() && to.bits() <= 32 => {}
                Op::If { args, then, otherwise, .. } => {
                    for side in [then, otherwise] {
                        self.vars(&side.params);
                        self.through.extend(side.params.iter().map(|p| p.id).zip(args.iter().copied()));
                        self.through.extend(stmt.binds.iter().map(|b| b.id).zip(side.results.iter().copied()));
                        self.body(side);
                    }
                }
                // Of an index the low word is enough: no buffer has more elements than that counts.
                Op::Load { .. } => {}
                Op::Store { values, .. } => self.whole.extend(values),
                Op::Atomic { args, .. } => self.whole.extend(args),
                op => {
                    op.each_operand(&mut |id| self.whole.push(id));
                    for body in op.bodies() {
                        self.vars(&body.params);
                        self.whole.extend(&body.results);
                        self.body(body);
                    }
                }
            }
        }
    }

    /// Names that are used whole, directly or through others.
    pub(crate) fn full(&self) -> HashSet<Id> {
        let mut sources: HashMap<Id, Vec<Id>> = HashMap::new();
        for &(user, used) in &self.through {
            sources.entry(user).or_default().push(used);
        }
        let mut full = HashSet::new();
        let mut left = self.whole.clone();
        while let Some(id) = left.pop() {
            if full.insert(id) {
                left.extend(sources.get(&id).into_iter().flatten());
            }
        }
        full
    }
}
