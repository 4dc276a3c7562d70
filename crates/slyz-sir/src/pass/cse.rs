//! `cse`: computes equal statements once.
//!
//! A statement equal to one that is visible, in its own body before it or in a body around it, is dropped and the
//! names of the first are used. Statements with bodies are compared up to the names bound in them, and commutative
//! operators up to the order of operands.
//!
//! It does not share between sibling bodies, since one of two branches may not run. It does not see that different
//! expressions mean the same (`simplify` brings some of them to one form), nor share what depends on more than its
//! operands: reads of memory, `filter`, which counts a size, and everything with an effect, except for a `check`: the second of two
//! equal ones has nothing new to tell.
//!
//! ```text
//! %2: f32 = mul %0, %1                     %2: f32 = mul %0, %1
//! %3: f32 = mul %1, %0               →
//! %4: f32 = add %2, %3                     %4: f32 = add %2, %2
//! ```

use crate::code::{Body, Class, Id, Op, Type, Var};
use crate::ops::Operator;
use crate::program::Program;
use std::collections::HashMap;

/// Runs the pass on a program.
pub fn run(program: Program) -> Program {
    super::each_root(program, root)
}

/// Runs the pass on a body that binds all the names it uses.
pub fn root(body: Body) -> Body {
    Sharing::default().body(body)
}

#[derive(Default)]
struct Sharing {
    /// Statements seen in the bodies around this place, outermost first, by their canonical form.
    seen: Vec<HashMap<Op, Vec<Id>>>,
    /// Names that are replaced, and by what.
    same: HashMap<Id, Id>,
}

impl Sharing {
    fn body(&mut self, mut body: Body) -> Body {
        self.seen.push(HashMap::new());
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in body.stmts {
            stmt.op.each_operand_mut(&mut |id| *id = *self.same.get(id).unwrap_or(id));
            // Inner bodies first: what is equal after sharing inside is found equal here.
            for inner in stmt.op.bodies_mut() {
                *inner = self.body(std::mem::take(inner));
            }
            if !is_shareable(&stmt.op) {
                stmts.push(stmt);
                continue;
            }
            let key = canonical(&stmt.op, &stmt.binds);
            match self.seen.iter().find_map(|scope| scope.get(&key)) {
                Some(ids) => self.same.extend(stmt.binds.iter().map(|b| b.id).zip(ids.iter().copied())),
                None => {
                    let ids = stmt.binds.iter().map(|b| b.id).collect();
                    self.seen.last_mut().expect("the scope of this body is open").insert(key, ids);
                    stmts.push(stmt);
                }
            }
        }
        self.seen.pop();
        body.stmts = stmts;
        body.results.iter_mut().for_each(|id| *id = *self.same.get(id).unwrap_or(id));
        body
    }
}

/// Does the operation give the same results wherever its operands do?
fn is_shareable(op: &Op) -> bool {
    match (op, op.class()) {
        (Op::Check { .. }, _) => true,
        // It counts a size.
        (Op::Filter { .. }, _) => false,
        (_, Class::Scalar | Class::Place | Class::Call) => true,
        (_, Class::Control | Class::Array) => {
            op.bodies().iter().all(|body| body.stmts.iter().all(|stmt| is_shareable(&stmt.op)))
        }
        (_, Class::Memory | Class::Meeting) => false,
    }
}

/// The operation with bound names numbered in order of appearance and the operands of commutative operators sorted.
fn canonical(op: &Op, binds: &[Var]) -> Op {
    // Counted down from the top, where no name of the program is.
    let mut next = u32::MAX;
    let mut fresh = || {
        next -= 1;
        Id(next)
    };
    let mut op = op.with_bodies(&mut |body| body.freshened(&mut fresh));
    sort_operands(&mut op, binds);
    op
}

fn sort_operands(op: &mut Op, binds: &[Var]) {
    if let Op::Apply(operator, args) = op
        && is_commutative(*operator, binds)
    {
        args.sort();
    }
    for body in op.bodies_mut() {
        for stmt in &mut body.stmts {
            sort_operands(&mut stmt.op, &stmt.binds);
        }
    }
}

/// Of two float zeros, `min` and `max` give the second, so there the order can be seen.
fn is_commutative(operator: Operator, binds: &[Var]) -> bool {
    let float = binds.iter().any(|b| matches!(b.ty, Type::Scalar(ty) if ty.is_float()));
    operator.row().commutative && !(float && matches!(operator, Operator::Min | Operator::Max))
}
