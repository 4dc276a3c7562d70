//! Memories of `i64` that nobody else sees, as memories of `i32`: for targets without wider integers.

use crate::expand::{Held, held};
use crate::kernel::{BufferUse, Plan, Space, Step};
use crate::types::Ty;

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
        let mut ways = vec![];
        for memory in &kernel.memories {
            let own = match memory.space {
                Space::Shared | Space::Scratch | Space::Local => true,
                Space::Global(_) | Space::Constant => {
                    bound += 1;
                    launches.iter().all(|buffers| buffers.get(bound - 1).is_some_and(|b| temporary(b.0 as usize)))
                }
            };
            ways.push(if own && memory.ty == Ty::I64 { Held::Numbers(Ty::I32) } else { Held::Plainly });
        }
        if let Some(shorter) = held(kernel, ways) {
            *kernel = shorter;
        }
    }
    for buffer in plan.buffers.iter_mut().filter(|buffer| matches!(buffer.role, BufferUse::Temporary)) {
        if buffer.ty == Ty::I64 {
            buffer.ty = Ty::I32;
        }
    }
}
