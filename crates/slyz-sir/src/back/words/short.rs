//! Memories of `i64` that nobody else sees, as memories of `i32`: for targets without wider integers.

use crate::code::{Body, Id, MemId, Op, Stmt};
use crate::kernel::{BufferUse, Kernel, Plan, Space, Step};
use crate::types::Ty;
use crate::write::{Lines, Write};

/// Temporaries of a plan, and memories of blocks and threads, hold positions and counts: where those have 32 bits, their memories do.
pub fn shorten(plan: &mut Plan) {
    let mut seen = vec![vec![]; plan.kernels.len()];
    for step in plan.all_steps() {
        if let Step::Launch { kernel, buffers, .. } = step {
            seen[*kernel].push(buffers.clone());
        }
    }
    let temporary = |buffer: usize| matches!(plan.buffers[buffer].role, BufferUse::Temporary);
    for (kernel, launches) in plan.kernels.iter_mut().zip(&seen) {
        let mut bound = 0;
        let mut short = vec![];
        for memory in &kernel.memories {
            let own = match memory.space {
                Space::Shared | Space::Scratch | Space::Local => true,
                Space::Global(_) | Space::Constant => {
                    bound += 1;
                    launches.iter().all(|buffers| buffers.get(bound - 1).is_some_and(|b| temporary(b.0 as usize)))
                }
            };
            short.push(own && memory.ty == Ty::I64);
        }
        if short.contains(&true) {
            *kernel = shortened(kernel, short);
        }
    }
    for buffer in plan.buffers.iter_mut().filter(|buffer| matches!(buffer.role, BufferUse::Temporary)) {
        if buffer.ty == Ty::I64 {
            buffer.ty = Ty::I32;
        }
    }
}

fn shortened(kernel: &Kernel, short: Vec<bool>) -> Kernel {
    let mut kernel = kernel.clone();
    for (memory, _) in kernel.memories.iter_mut().zip(&short).filter(|(_, short)| **short) {
        memory.ty = Ty::I32;
    }
    let mut shortener = Shortener { short, lines: Lines::new(kernel.fresh_ids()) };
    shortener.body(&mut kernel.body);
    kernel
}

struct Shortener {
    short: Vec<bool>,
    lines: Lines,
}

impl Write for Shortener {
    fn fresh(&mut self) -> Id {
        self.lines.fresh()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        self.lines.out()
    }
}

impl Shortener {
    fn is_short(&self, memory: MemId) -> bool {
        self.short.get(memory.0 as usize) == Some(&true)
    }

    fn body(&mut self, body: &mut Body) {
        self.rewrite(body, |w, mut stmt| {
            stmt.op.bodies_mut().into_iter().for_each(|inner| w.body(inner));
            w.stmt(stmt);
        });
    }

    fn stmt(&mut self, Stmt { binds, op }: Stmt) {
        match op {
            Op::Load { memory, index } if self.is_short(memory) => {
                let words = self.bind(Op::Load { memory, index }, &vec![Ty::I32; binds.len()]);
                let wide = binds.into_iter().zip(words);
                self.out().extend(wide.map(|(bind, word)| Stmt { binds: vec![bind], op: Op::Cast(Ty::I64, word) }));
            }
            Op::Store { memory, index, values } if self.is_short(memory) => {
                let values = self.words(values);
                self.act(Op::Store { memory, index, values });
            }
            Op::Atomic { op, memory, index, args } if self.is_short(memory) => {
                let args = self.words(args);
                let old = self.push(Op::Atomic { op, memory, index, args }, Ty::I32);
                self.out().push(Stmt { binds, op: Op::Cast(Ty::I64, old) });
            }
            op => self.out().push(Stmt { binds, op }),
        }
    }

    fn words(&mut self, values: Vec<Id>) -> Vec<Id> {
        values.into_iter().map(|value| self.push(Op::Cast(Ty::I32, value), Ty::I32)).collect()
    }
}
