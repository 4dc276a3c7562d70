//! `report` and `guard`: make code of the checks that are left.
//!
//! A [`check`](Op::Check) becomes comparisons, and a branch for the case that they fail, which tells the fault in one more memory
//! of the kernel, its last: `global readwrite faults: i32[16]`, all zeros before the launch. The first fault to get there is the one
//! that is told; the others see that the place is taken.
//!
//! | words | hold |
//! |---|---|
//! | 0 | the number of the memory, from 1; 0 if nothing was wrong |
//! | 1 to 6 | the thread: its index in x, y, z, low words first |
//! | 7 to 14 | the index in the first four axes, low words first |
//!
//! That is one operation, an [`AtomicOp::Claim`], which text makes a small function of. Where positions have 32 bits, the high words are
//! signs.
//!
//! `guard` makes the comparisons only, and tells nothing.
//!
//! `report` asks threads where they stand, so it runs before threads become turns of [`lanes`](Op::Lanes). Kernels without checks stay
//! as they are.
//!
//! ```text
//! %1: bool = check out[%0]               %1: i64 = const 0
//!                                        %2: i64 = extent n
//!                                   →    %3: bool = ge %0, %1
//!                                        %4: bool = lt %0, %2
//!                                        %5: bool = and %3, %4
//!                                        if %5 {} else { %6: i32 = atomic claim faults[%1], %mark, … }
//! ```

use crate::code::{AtomicOp, Body, Id, MemId, Op, Place, Stmt, Type, Var};
use crate::kernel::{Access, Kernel, Memory, Space};
use crate::launch::Fault;
use crate::ops::Operator;
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Formula, Lines, Write};

/// Words of the memory that faults are told in.
pub const WORDS: usize = 16;

/// Axes whose index is told.
const AXES: usize = 4;

/// Runs the pass on a kernel.
pub fn run(mut kernel: Kernel) -> Kernel {
    if !has_checks(&kernel) {
        return kernel;
    }
    let taken = |name: &str| kernel.memories.iter().any(|m| m.name == name);
    let numbered = (2..).map(|k| format!("faults_{k}"));
    let name = std::iter::once("faults".to_string()).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
    let faults = MemId(kernel.memories.len() as u32);
    let shape = vec![Size::Const(WORDS as u64)];
    kernel.memories.push(Memory { name, ty: Ty::I32, space: Space::Global(Access::ReadWrite), shape });
    let lines = Lines::new(kernel.fresh_ids());
    let mut body = std::mem::take(&mut kernel.body);
    Reporter { memories: &kernel.memories, faults: Some(faults), lines }.body(&mut body);
    kernel.body = body;
    kernel
}

/// Accesses outside read zero or write nothing, and nobody hears of them.
pub fn guard(mut kernel: Kernel) -> Kernel {
    if !has_checks(&kernel) {
        return kernel;
    }
    let lines = Lines::new(kernel.fresh_ids());
    let mut body = std::mem::take(&mut kernel.body);
    Reporter { memories: &kernel.memories, faults: None, lines }.body(&mut body);
    kernel.body = body;
    kernel
}

/// Is there a check left in the kernel?
pub fn has_checks(kernel: &Kernel) -> bool {
    fn in_body(body: &Body) -> bool {
        let checks = |stmt: &Stmt| matches!(stmt.op, Op::Check { .. }) || stmt.op.bodies().into_iter().any(in_body);
        body.stmts.iter().any(checks)
    }
    in_body(&kernel.body)
}

/// What the words say after a launch with these sizes.
pub fn fault(words: &[i32; WORDS], kernel: &Kernel, sizes: &[u64]) -> Option<Fault> {
    let memory = kernel.memories.get(usize::try_from(words[0]).ok()?.checked_sub(1)?)?;
    let wide = |low: i32, high: i32| i64::from(high) << 32 | i64::from(low as u32);
    let size = |size: &Size| size.eval(&|SizeVar(v)| sizes.get(v as usize).copied()).unwrap_or(0);
    let number = |k: usize| wide(words[1 + 2 * k], words[2 + 2 * k]);
    let axes = memory.shape.len().min(AXES);
    Some(Fault {
        kernel: kernel.name.clone(),
        memory: memory.name.clone(),
        index: (0..axes).map(|k| number(3 + k)).collect(),
        shape: memory.shape.iter().map(size).collect(),
        thread: std::array::from_fn(|d| number(d) as u64),
    })
}

struct Reporter<'a> {
    memories: &'a [Memory],
    /// Where faults are told, if they are.
    faults: Option<MemId>,
    lines: Lines,
}

impl Write for Reporter<'_> {
    fn fresh(&mut self) -> Id {
        self.lines.fresh()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        self.lines.out()
    }
}

impl Reporter<'_> {
    fn body(&mut self, body: &mut Body) {
        self.rewrite(body, |w, mut stmt| match (&stmt.op, &stmt.binds[..]) {
            (Op::Check { memory, index }, [inside]) => w.check(inside.id, *memory, index),
            _ => {
                stmt.op.bodies_mut().into_iter().for_each(|inner| w.body(inner));
                w.out().push(stmt);
            }
        });
    }

    /// Binds `inside`, and tells the fault where it does not hold.
    fn check(&mut self, inside: Id, memory: MemId, index: &[Id]) {
        let truth = Var { id: inside, ty: Type::Scalar(Ty::Bool) };
        let memories = self.memories;
        let shape = &memories[memory.0 as usize].shape;
        let zero = self.number(0);
        let mut parts = vec![];
        for (&at, extent) in index.iter().zip(shape) {
            let extent = self.extent(extent);
            parts.push(self.value(at.not_below(zero)));
            parts.push(self.value(at.below(extent)));
        }
        // The last conjunction takes the name of the check.
        let Some(last) = parts.pop() else {
            return self.out().push(Stmt { binds: vec![truth], op: Op::Const(Scalar::bool(true)) });
        };
        let first = parts.into_iter().reduce(|a, b| self.value(a.and(b))).unwrap_or(last);
        self.out().push(Stmt { binds: vec![truth], op: Op::Apply(Operator::And, vec![first, last]) });
        if let Some(faults) = self.faults {
            self.unless(inside, |w| w.tell(faults, memory, index));
        }
    }

    /// Writes the fault down, unless another is there.
    fn tell(&mut self, faults: MemId, memory: MemId, index: &[Id]) {
        let place = self.number(0);
        let mark = self.constant(Scalar::from_int(Ty::I32, i128::from(memory.0) + 1));
        let mut args = vec![mark];
        args.extend((0..3).map(|d| self.value(Formula::Place(Place::Global, d))));
        args.extend(index.iter().take(AXES));
        self.push(Op::Atomic { op: AtomicOp::Claim, memory: faults, index: vec![place], args }, Ty::I32);
    }
}
