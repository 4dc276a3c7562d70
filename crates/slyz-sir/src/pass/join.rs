//! Two lanes loops over the same turns become one, if each turn of the second reads only what the same turn of the first wrote.
//!
//! A row of exponentials that is kept and then summed is read back from memory for the sum; joined, the sum takes each
//! exponential from the register it was computed in. The first loop must not be a fold: the second could not start before its end.

use crate::code::{Body, Id, MemId, Op, Stmt};
use crate::kernel::Kernel;
use std::collections::HashMap;

/// Joins what can be joined, everywhere in the kernel.
pub fn run(mut kernel: Kernel) -> Kernel {
    body(&mut kernel.body, &mut HashMap::new());
    kernel
}

/// The constants and sizes in sight: bounds of loops are told apart by what they are, not by their names.
type Known = HashMap<Id, Op>;

fn body(code: &mut Body, known: &mut Known) {
    for stmt in &mut code.stmts {
        if let (Op::Const(_) | Op::Extent(_), [bind]) = (&stmt.op, &stmt.binds[..]) {
            known.insert(bind.id, stmt.op.clone());
        }
        if !matches!(stmt.op, Op::Lanes { .. }) {
            stmt.op.bodies_mut().into_iter().for_each(|b| body(b, known));
        }
    }
    let mut first = 0;
    while first < code.stmts.len() {
        match next_lanes(&code.stmts, first)
            .and_then(|second| Some((second, joined(&code.stmts, first, second, known)?)))
        {
            // The joined loop may be joined with the next one.
            Some((second, op)) => {
                code.stmts[second].op = op;
                code.stmts.remove(first);
            }
            None => first += 1,
        }
    }
}

/// The lanes loop behind this one, if nothing but arithmetic stands between them.
fn next_lanes(stmts: &[Stmt], first: usize) -> Option<usize> {
    let lanes = |at: &usize| matches!(stmts[*at].op, Op::Lanes { .. });
    let first = Some(first).filter(lanes)?;
    let behind = first + 1 + stmts[first + 1..].iter().position(|s| !is_arithmetic(&s.op))?;
    Some(behind).filter(lanes)
}

fn is_arithmetic(op: &Op) -> bool {
    matches!(op, Op::Const(_) | Op::Extent(_) | Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..) | Op::Place(..))
}

fn joined(stmts: &[Stmt], first: usize, second: usize, known: &Known) -> Option<Op> {
    let Op::Lanes { lo: lo1, hi: hi1, body: body1, monoid: None } = &stmts[first].op else { return None };
    let Op::Lanes { lo, hi, body: body2, monoid } = &stmts[second].op else { return None };
    let same = |a: &Id, b: &Id| a == b || known.get(a).is_some_and(|op| known.get(b) == Some(op));
    if !same(lo1, lo) || !same(hi1, hi) {
        return None;
    }
    let stored = stores(body1)?;
    let mut reads1 = vec![];
    let mut writes2 = vec![];
    touched(body1, &mut |memory, is_store| {
        if !is_store {
            reads1.push(memory)
        }
    });
    touched(body2, &mut |memory, is_store| {
        if is_store {
            writes2.push(memory)
        }
    });
    if stored.is_empty() || writes2.iter().any(|m| reads1.contains(m) || stored.iter().any(|s| s.memory == *m)) {
        return None;
    }
    let mut rename = HashMap::from([(body2.params.first()?.id, body1.params.first()?.id)]);
    let mut rest = body2.clone();
    take_from_registers(&mut rest, &stored, &mut rename)?;
    let mut stmts = body1.stmts.clone();
    stmts.extend(rest.stmts);
    let results = rest.results.iter().map(|id| rename.get(id).copied().unwrap_or(*id)).collect();
    let body = Body { params: body1.params.clone(), stmts, results };
    Some(Op::Lanes { lo: *lo, hi: *hi, body, monoid: monoid.clone() })
}

/// A value that every turn writes to its own place.
struct Stored {
    memory: MemId,
    index: Vec<Id>,
    value: Id,
}

/// What the body stores, if it does so once per memory, element by element and in every turn.
fn stores(body: &Body) -> Option<Vec<Stored>> {
    let mut found: Vec<Stored> = vec![];
    for stmt in &body.stmts {
        let mut inside = false;
        stmt.op.bodies().iter().for_each(|b| touched(b, &mut |_, is_store| inside |= is_store));
        match &stmt.op {
            _ if inside => return None,
            Op::Store { memory, index, values } if values.len() == 1 => {
                if found.iter().any(|s| s.memory == *memory) {
                    return None;
                }
                found.push(Stored { memory: *memory, index: index.clone(), value: values[0] });
            }
            Op::Store { .. } | Op::Atomic { .. } | Op::Barrier(_) => return None,
            Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) => return None,
            _ => {}
        }
    }
    // Each turn has a place of its own only if the turn is the index.
    let turn = body.params.first()?.id;
    found.iter().all(|s| s.index.contains(&turn)).then_some(found)
}

/// The memories that code loads from and stores to. What else touches memory counts as both.
fn touched(body: &Body, see: &mut dyn FnMut(MemId, bool)) {
    for stmt in &body.stmts {
        match &stmt.op {
            Op::Load { memory, .. } => see(*memory, false),
            Op::Store { memory, .. } => see(*memory, true),
            Op::Atomic { memory, .. } => {
                see(*memory, false);
                see(*memory, true);
            }
            _ => {}
        }
        stmt.op.bodies().iter().for_each(|b| touched(b, see));
    }
}

/// Replaces loads of what the same turn stored. `None` if some load is of another turn's.
fn take_from_registers(body: &mut Body, stored: &[Stored], rename: &mut HashMap<Id, Id>) -> Option<()> {
    let mut kept = vec![];
    for mut stmt in std::mem::take(&mut body.stmts) {
        stmt.op.each_operand_mut(&mut |id| *id = rename.get(id).copied().unwrap_or(*id));
        if let Op::Load { memory, index } = &stmt.op
            && let Some(own) = stored.iter().find(|s| s.memory == *memory)
        {
            let [bind] = &stmt.binds[..] else { return None };
            if own.index != *index {
                return None;
            }
            rename.insert(bind.id, own.value);
            continue;
        }
        if matches!(stmt.op, Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..)) {
            return None;
        }
        for inner in stmt.op.bodies_mut() {
            take_from_registers(inner, stored, rename)?;
        }
        kept.push(stmt);
    }
    body.stmts = kept;
    body.results.iter_mut().for_each(|id| *id = rename.get(id).copied().unwrap_or(*id));
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::text::parse_kernel;

    /// A row is squared and kept, and then summed: how many lanes loops are left?
    fn loops(index: &str, end: &str) -> usize {
        let text = format!(
            "kernel k<N, M>() grid [1, 1, 1] block [1, 1, 1] {{
  global read x: f32[N]
  global write y: f32[1]
  scratch row: f32[N]
  %zero: i64 = const 0
  %n: i64 = extent N
  lanes %zero to %n |%i: i64| {{ %a: f32 = load x[%i]  %b: f32 = mul %a, %a  store row[%i], %b }}
  %none: f32 = const 0.0
  %m: i64 = extent {end}
  %s: f32 = lanes %zero to %m |%j: i64| {{ %c: f32 = load row[{index}]  yield %c }}
    with commutative (%none) |%p: f32, %q: f32| {{ %r: f32 = add %p, %q  yield %r }}
  store y[%zero], %s
}}"
        );
        let kernel = super::run(parse_kernel(&text).expect("a kernel"));
        crate::verify::kernel(&kernel).expect("joined code is right");
        kernel.body.stmts.iter().filter(|s| matches!(s.op, crate::code::Op::Lanes { .. })).count()
    }

    #[test]
    fn what_a_turn_wrote_is_taken_from_its_register() {
        assert_eq!(loops("%j", "N"), 1);
    }

    #[test]
    fn other_turns_and_other_bounds_are_left_alone() {
        assert_eq!(loops("%zero", "N"), 2);
        assert_eq!(loops("%j", "M"), 2);
    }
}
