//! `written`: says of tensors that a kernel never reads that they are only written.
//!
//! Stores to them may go past the caches, and threads that meet at a barrier need not wait for them. What nobody stores to stays
//! as it was.
//!
//! ```text
//! global readwrite out: f32[n]    →    global write out: f32[n]
//! ```

use crate::code::{Body, MemId, Op};
use crate::kernel::{Access, Kernel, Space};

/// Runs the pass on a kernel.
pub fn run(mut kernel: Kernel) -> Kernel {
    for k in 0..kernel.memories.len() {
        let alone = kernel.memories[k].space == Space::Global(Access::ReadWrite);
        if alone && !reads(&kernel.body, MemId(k as u32)) {
            kernel.memories[k].space = Space::Global(Access::Write);
        }
    }
    kernel
}

fn reads(body: &Body, id: MemId) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::Load { memory, .. } | Op::LoadFragment { memory, .. } => *memory == id,
        Op::Atomic { memory, .. } | Op::Check { memory, .. } => *memory == id,
        op => op.bodies().into_iter().any(|body| reads(body, id)),
    })
}

#[cfg(test)]
mod tests {
    use crate::text::parse_kernel;

    #[test]
    fn only_what_is_never_read() {
        let text = "kernel k() grid [1, 1, 1] block [4, 1, 1] {
            global readwrite out: i32[4]
            global readwrite both: i32[4]
            global readwrite count: i32[1]
            %i: i64 = global.x
            %zero: i64 = const 0
            %v: i32 = load both[%i]
            store out[%i], %v
            store both[%i], %v
            %old: i32 = atomic add count[%zero], %v
        }";
        let printed = super::run(parse_kernel(text).expect("a kernel")).to_string();
        for line in ["global write out", "global readwrite both", "global readwrite count"] {
            assert!(printed.contains(line), "{printed}");
        }
    }
}
