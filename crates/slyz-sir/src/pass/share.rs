//! Scratch memories of a block with one type and shape, of which one is done with before the other begins, become one (liveness).
//!
//! Ten turns over a tile make ten arrays. Each is read by the next turn only, so two memories do, and they stay in the cache, or fit
//! the shared memory of a block.
//!
//! ```text
//! lanes … { load a  store b }              lanes … { load a  store b }
//! lanes … { load b  store c }        →     lanes … { load b  store a }
//! lanes … { load c  store out }            lanes … { load a  store out }
//! ```
//!
//! A memory lives from the first statement that touches it to the last, in the innermost body that holds all of them. In a loop that is
//! so only if a turn begins by writing every element: otherwise it may read what the turn before left, and lives as long as the loop.
//! Statements between which memories change hands are two, so that threads meet in between: `spread` sees one memory there, and waits.
//! Memories that code for threads shares with barriers of its own (`shared`) are left alone.

use crate::code::{Body, Id, MemId, Op, Stmt};
use crate::kernel::{Kernel, Memory, Space};
use crate::size::Size;
use std::collections::HashMap;

/// Lets scratch memories share.
pub fn run(mut kernel: Kernel) -> Kernel {
    let scratch: Vec<usize> = (0..kernel.memories.len()).filter(|&k| is_scratch(&kernel.memories[k])).collect();
    let alike = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|k| &kernel.memories[k]);
        a.ty == b.ty && a.shape == b.shape
    };
    if !scratch.iter().any(|&a| scratch.iter().any(|&b| a < b && alike(a, b))) {
        return kernel;
    }
    let mut known = HashMap::new();
    numbers(&kernel.body, &mut known);
    // Memories that hold one or more of the arrays, with the lives of these.
    let mut holders: Vec<(usize, Vec<Life>)> = vec![];
    let mut holder_of: Vec<usize> = (0..kernel.memories.len()).collect();
    for &own in &scratch {
        let Some(life) = life(&kernel.body, MemId(own as u32), &kernel.memories[own].shape, &known) else { continue };
        let free =
            |(holder, lives): &&mut (usize, Vec<Life>)| alike(*holder, own) && lives.iter().all(|l| l.apart(&life));
        match holders.iter_mut().find(free) {
            Some((holder, lives)) => {
                holder_of[own] = *holder;
                lives.push(life);
            }
            None => holders.push((own, vec![life])),
        }
    }
    let stays = |k: &usize| holder_of[*k] == *k;
    let mut place = vec![0; kernel.memories.len()];
    for (new, old) in (0..kernel.memories.len()).filter(stays).enumerate() {
        place[old] = new as u32;
    }
    let renamed: Vec<MemId> = holder_of.iter().map(|&holder| MemId(place[holder])).collect();
    kernel.body.stmts.iter_mut().for_each(|stmt| rename(&mut stmt.op, &renamed));
    let mut old = 0..;
    kernel.memories.retain(|_| old.next().is_some_and(|k| stays(&k)));
    kernel
}

fn is_scratch(memory: &Memory) -> bool {
    memory.space == Space::Scratch
}

/// Constants and extents, by name.
type Known = HashMap<Id, Size>;

fn numbers(body: &Body, known: &mut Known) {
    for stmt in &body.stmts {
        let size = match &stmt.op {
            Op::Extent(size) => Some(size.clone()),
            Op::Const(value) if !value.ty.is_float() => u64::try_from(value.as_int()).ok().map(Size::Const),
            _ => None,
        };
        known.extend(stmt.binds.first().map(|bind| bind.id).zip(size));
        stmt.op.bodies().into_iter().for_each(|inner| numbers(inner, known));
    }
}

/// When a memory holds something.
struct Life {
    /// The way to the body: which statement, and which of its bodies.
    path: Vec<(usize, usize)>,
    /// The first and the last statement there.
    first: usize,
    last: usize,
}

impl Life {
    /// Is one over before the other begins?
    fn apart(&self, other: &Life) -> bool {
        let common = self.path.iter().zip(&other.path).take_while(|(a, b)| a == b).count();
        let [a, b] = [self, other].map(|life| match life.path.get(common) {
            Some(&(stmt, _)) => [stmt, stmt],
            None => [life.first, life.last],
        });
        a[1] < b[0] || b[1] < a[0]
    }
}

fn life(body: &Body, memory: MemId, shape: &[Size], known: &Known) -> Option<Life> {
    let mut touching = (0..body.stmts.len()).filter(|&k| touches(&body.stmts[k].op, memory));
    let first = touching.next()?;
    let last = touching.next_back().unwrap_or(first);
    let whole = Some(Life { path: vec![], first, last });
    if first != last {
        return whole;
    }
    let op = &body.stmts[first].op;
    let mut inside = op.bodies().into_iter().enumerate().filter(|(_, inner)| touched_in(inner, memory));
    let (Some((which, inner)), None) = (inside.next(), inside.next()) else { return whole };
    let anew = match op {
        Op::If { .. } => true,
        Op::For { .. } | Op::While { .. } => begins_whole(inner, memory, shape, known),
        _ => false,
    };
    if !anew {
        return whole;
    }
    let mut life = life(inner, memory, shape, known)?;
    life.path.insert(0, (first, which));
    Some(life)
}

fn touched_in(body: &Body, memory: MemId) -> bool {
    body.stmts.iter().any(|stmt| touches(&stmt.op, memory))
}

fn touches(op: &Op, memory: MemId) -> bool {
    op.access().is_some_and(|(touched, _)| touched == memory)
        || op.bodies().into_iter().any(|inner| touched_in(inner, memory))
}

/// Does the first statement that touches the memory write all of it, and read nothing?
fn begins_whole(body: &Body, memory: MemId, shape: &[Size], known: &Known) -> bool {
    let first = body.stmts.iter().find(|stmt| touches(&stmt.op, memory));
    first.is_some_and(|stmt| !loads(&stmt.op, memory) && fills(stmt, memory, shape, &mut vec![], known))
}

fn loads(op: &Op, memory: MemId) -> bool {
    let stores = matches!(op, Op::Store { .. });
    !stores && op.access().is_some_and(|(touched, _)| touched == memory)
        || op.bodies().into_iter().flat_map(|inner| &inner.stmts).any(|stmt| loads(&stmt.op, memory))
}

/// Loops over all positions, the last of them by lanes, with a store there that no branch is around.
fn fills(stmt: &Stmt, memory: MemId, shape: &[Size], at: &mut Vec<Id>, known: &Known) -> bool {
    let is = |id: &Id, size: &Size| known.get(id).is_some_and(|known| known == size);
    let (lo, hi, step, body) = match &stmt.op {
        Op::For { lo, hi, step, body, .. } => (lo, hi, Some(step), body),
        Op::Lanes { lo, hi, body, .. } => (lo, hi, None, body),
        Op::Store { memory: to, index, values } => {
            return *to == memory && index == at && values.len() == 1 && at.len() == shape.len();
        }
        _ => return false,
    };
    let axis = shape.get(at.len());
    let all = is(lo, &Size::Const(0)) && axis.is_some_and(|axis| is(hi, axis));
    let (true, Some(turn)) = (all && step.is_none_or(|step| is(step, &Size::Const(1))), body.params.first()) else {
        return false;
    };
    at.push(turn.id);
    let found = body.stmts.iter().any(|inner| fills(inner, memory, shape, at, known));
    at.pop();
    found
}

fn rename(op: &mut Op, renamed: &[MemId]) {
    match op {
        Op::Load { memory, .. }
        | Op::LoadFragment { memory, .. }
        | Op::Store { memory, .. }
        | Op::Atomic { memory, .. }
        | Op::Check { memory, .. } => *memory = renamed[memory.0 as usize],
        _ => {}
    }
    op.bodies_mut().into_iter().flat_map(|inner| &mut inner.stmts).for_each(|stmt| rename(&mut stmt.op, renamed));
}

#[cfg(test)]
mod tests {
    use crate::text::parse_kernel;

    /// Three rows one after the other, each made of the one before, for all of a few lines: how many memories are left, with the
    /// first row written over these lanes?
    fn memories(end: &str, reads: &str) -> usize {
        let text = format!(
            "kernel k<N, M>() grid [1, 1, 1] block [1, 1, 1] {{
  global read x: f32[N, M]
  global write y: f32[N, M]
  scratch a: f32[M]
  scratch b: f32[M]
  scratch c: f32[M]
  scratch whole: i32[M]
  %zero: i64 = const 0
  %one: i64 = const 1
  %n: i64 = extent N
  %m: i64 = extent M
  %end: i64 = extent {end}
  for %zero to %n step %one () |%l: i64| {{
    lanes %zero to %end |%i: i64| {{ %v: f32 = load x[%l, %i]  store a[%i], %v }}
    lanes %zero to %m |%i1: i64| {{ %v1: f32 = load a[%i1]  %w1: f32 = mul %v1, %v1  store b[%i1], %w1 }}
    lanes %zero to %m |%i2: i64| {{ %v2: f32 = load b[%zero]  %w2: f32 = mul %v2, %v2  store c[%i2], %w2 }}
    lanes %zero to %m |%i3: i64| {{ %v3: f32 = load {reads}[%zero]  store y[%l, %i3], %v3 }}
  }}
}}"
        );
        let kernel = super::run(parse_kernel(&text).expect("a kernel"));
        crate::verify::kernel(&kernel).expect("code with fewer memories is right");
        kernel.memories.iter().filter(|m| super::is_scratch(m)).count() - 1
    }

    #[test]
    fn what_is_done_with_makes_room() {
        assert_eq!(memories("M", "c"), 2);
    }

    #[test]
    fn what_is_read_later_or_by_the_next_turn_stays() {
        assert_eq!(memories("M", "a"), 3);
        assert_eq!(memories("N", "c"), 3, "elements past N are those of the turn before");
    }
}
