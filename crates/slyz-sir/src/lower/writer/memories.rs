//! The memories of a kernel, and accesses to them.

use super::KernelWriter;
use crate::code::{Id, MemId, Op};
use crate::kernel::{Access, BufferId, Memory, Space};
use crate::size::Size;
use crate::types::Ty;
use crate::write::Write;

impl KernelWriter<'_, '_> {
    pub(in crate::lower) fn store(&mut self, memory: MemId, index: Vec<Id>, value: Id) {
        self.bind(Op::Store { memory, index, values: vec![value] }, &[]);
    }

    /// Elements that are neighbours, the first of which has a number that is a multiple of their count, with accesses of at most
    /// that many bytes.
    pub(in crate::lower) fn load_neighbours(
        &mut self,
        memory: MemId,
        first: Vec<Id>,
        count: u64,
        bytes: u32,
    ) -> Vec<Id> {
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let width = width(ty, count, bytes);
        let mut values = vec![];
        while values.len() < count as usize {
            let mut index = first.clone();
            if let Some(last) = index.last_mut() {
                *last = self.offset(*last, values.len() as i64);
            }
            values.extend(self.bind(Op::Load { memory, index }, &vec![ty; width]));
        }
        values
    }

    /// The same, written along one axis.
    pub(in crate::lower) fn store_neighbours(&mut self, memory: MemId, first: Id, values: &[Id], bytes: u32) {
        let width = width(self.kernel.memories[memory.0 as usize].ty, values.len() as u64, bytes);
        for (k, values) in values.chunks(width).enumerate() {
            let index = vec![self.offset(first, (k * width) as i64)];
            self.bind(Op::Store { memory, index, values: values.to_vec() }, &[]);
        }
    }

    /// A position that far behind another.
    pub(in crate::lower) fn offset(&mut self, position: Id, by: i64) -> Id {
        let by = self.number(by);
        self.value(position + by)
    }

    /// A value of each memory of one axis.
    pub(in crate::lower) fn load_all(&mut self, memories: &[MemId], at: Id, tys: &[Ty]) -> Vec<Id> {
        let load = |(&memory, &ty): (&MemId, &Ty)| self.push(Op::Load { memory, index: vec![at] }, ty);
        memories.iter().zip(tys).map(load).collect()
    }

    /// The same, written.
    pub(in crate::lower) fn store_each(&mut self, memories: &[MemId], at: Id, values: &[Id]) {
        memories.iter().zip(values).for_each(|(&memory, &value)| self.store(memory, vec![at], value));
    }

    /// The memory bound to a buffer of the plan.
    pub(in crate::lower) fn global(&mut self, buffer: BufferId, access: Access, shape: Vec<Size>) -> MemId {
        if let Some(k) = self.buffers.iter().position(|&b| b == buffer) {
            // What is written over is read and written.
            let space = &mut self.kernel.memories[k].space;
            if *space != Space::Global(access) {
                *space = Space::Global(Access::ReadWrite);
            }
            return MemId(k as u32);
        }
        // Globals stand in front of scratch memories, so that their numbers are the launch's.
        let at = self.buffers.len();
        assert_eq!(at, self.kernel.memories.len(), "globals are bound before scratch is made");
        let decl = &self.lowering.plan.buffers[buffer.0 as usize];
        let name = self.lowering.buffer_name(buffer);
        self.kernel.memories.push(Memory { name, ty: decl.ty, space: Space::Global(access), shape });
        self.buffers.push(buffer);
        MemId(at as u32)
    }

    pub(in crate::lower) fn scratch(&mut self, what: &str, ty: Ty, shape: Vec<Size>) -> MemId {
        self.own_memory(what, ty, Space::Scratch, shape)
    }

    /// Memory of a block, or of a thread, of constant size.
    pub(in crate::lower) fn near_memory(&mut self, what: &str, ty: Ty, space: Space, shape: &[u64]) -> MemId {
        self.own_memory(what, ty, space, shape.iter().map(|&n| Size::Const(n)).collect())
    }

    fn own_memory(&mut self, what: &str, ty: Ty, space: Space, shape: Vec<Size>) -> MemId {
        let taken = |name: &str| self.kernel.memories.iter().any(|memory| memory.name == name);
        let numbered = || format!("{what}{}", self.kernel.memories.len());
        let name = if taken(what) { numbered() } else { what.to_string() };
        self.kernel.memories.push(Memory { name, ty, space, shape });
        MemId(self.kernel.memories.len() as u32 - 1)
    }
}

/// The most elements of an access.
const WIDEST: u64 = 4;

/// How many of `count` neighbours fit one access.
fn width(ty: Ty, count: u64, bytes: u32) -> usize {
    (bytes as usize / ty.bytes()).clamp(1, count.min(WIDEST) as usize)
}
