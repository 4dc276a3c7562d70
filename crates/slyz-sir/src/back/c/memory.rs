//! Memories in C: sizes and addresses, and how elements are read and written.

use super::expr;
use super::lines::line;
use super::value::{Lane, LaneForm, Value, scalar_type};
use super::writer::{CWriter, Live, PAST, TURN};
use crate::back::tree::{Infix, Prefix, Tree};
use crate::code::{Body, Id, MemId, Op};
use crate::kernel::{Access, Kernel, Space};
use crate::size::Size;
use crate::types::Ty;
use std::collections::HashSet;

/// Where elements of a memory begin.
pub(super) struct Address {
    pub(super) memory: Tree,
    pub(super) offset: Option<Tree>,
}

impl Address {
    pub(super) fn pointer(&self) -> Tree {
        self.offset.iter().fold(self.memory.clone(), Tree::sum_from)
    }

    /// The element that lies there.
    pub(super) fn element(&self) -> Tree {
        Tree::index(self.memory.clone(), self.offset.clone().unwrap_or(Tree::int(0)))
    }
}

impl CWriter<'_> {
    pub(super) fn size(&mut self, size: &Size) -> Tree {
        match size {
            Size::Const(n) => expr::count(*n),
            Size::Var(v) => Tree::name(super::size_name(&self.kernel.size_name(*v))),
            Size::Add(a, b) => Tree::infix(Infix::Add, self.size(a), self.size(b)),
            Size::Mul(a, b) => Tree::infix(Infix::Mul, self.size(a), self.size(b)),
            Size::Min(a, b) => Tree::call("s_min_i64", [self.size(a), self.size(b)]),
            Size::CeilDiv(a, n) => {
                let up = Tree::infix(Infix::Add, self.size(a), expr::count(n - 1));
                Tree::infix(Infix::Div, up, expr::count(*n))
            }
            Size::Tri(a) => {
                let n = self.size(a);
                let next = Tree::infix(Infix::Add, n.clone(), Tree::int(1));
                Tree::infix(Infix::Div, Tree::infix(Infix::Mul, n, next), Tree::int(2))
            }
        }
    }

    /// What one step along each axis of a memory moves, in elements.
    pub(super) fn strides(&mut self, memory: MemId) -> Vec<Tree> {
        let shape = &self.kernel.memories[memory.0 as usize].shape;
        let strides: Vec<Size> = (0..shape.len()).map(|k| Size::product(&shape[k + 1..])).collect();
        strides.iter().map(|s| self.size(s)).collect()
    }

    /// The C name of a memory.
    pub(super) fn memory_name(&self, memory: MemId) -> &str {
        &self.memories[memory.0 as usize]
    }

    pub(super) fn address(&mut self, memory: MemId, index: &[Id]) -> (Address, Option<Value>) {
        let strides = self.strides(memory);
        let (start, moving) = expr::linear(&self.all(index), &strides, self.wide);
        if self.kernel.memories[memory.0 as usize].space == Space::Local {
            return super::local::address(self, memory, start, moving);
        }
        let offset = match (start, &moving) {
            (Some(start), Some(Value { form: LaneForm::Affine(base), .. })) => {
                Some(Tree::infix(Infix::Add, start, base.clone()))
            }
            (None, Some(Value { form: LaneForm::Affine(base), .. })) => Some(base.clone()),
            (start, _) => start,
        };
        (Address { memory: Tree::name(self.memory_name(memory)), offset }, moving)
    }

    /// The offsets of lanes that are not neighbours, and what functions that take them end with.
    fn offsets(&mut self, form: LaneForm) -> (Tree, &'static str) {
        let at = if self.wide { Lane::I64 } else { Lane::I32 };
        self.file.lanes_64 |= at.is_wide();
        let offset = expr::spread(&Value { ty: Ty::I64, form, range: None }, at);
        (offset, if at.is_wide() { "_wide" } else { "" })
    }

    pub(super) fn load(&mut self, id: Id, memory: MemId, index: &[Id]) {
        if let Some(value) = super::tile::load(self, memory, index) {
            self.values.insert(id, value);
            return;
        }
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let (address, moving) = self.address(memory, index);
        let lane = Lane::of(ty);
        let value = match moving.map(|m| m.form) {
            None => {
                let tree = match ty {
                    Ty::F16 | Ty::BF16 => {
                        let one = Tree::call(format!("load_{ty}"), [address.pointer(), Tree::int(1)]);
                        expr::through_lanes(Lane::F32, one)
                    }
                    Ty::Bool => Tree::infix(Infix::Ne, address.element(), Tree::int(0)),
                    _ => address.element(),
                };
                Value::uniform(ty, tree)
            }
            Some(LaneForm::Affine(_)) => {
                let pointer = address.pointer();
                let tree = match &self.live {
                    _ if self.is_local(memory) => Tree::call(format!("load_{ty}"), [pointer, Tree::name("W")]),
                    Live::Mask(_) => Tree::call(format!("load_masked_{ty}"), [pointer, self.mask()]),
                    _ => Tree::call(format!("load_{ty}"), [pointer, self.count()]),
                };
                Value::vector(ty, lane, tree)
            }
            Some(LaneForm::Clamped(at, low, high)) if self.live == Live::Count && !self.wide => {
                let middle = index.iter().any(|id| self.inside.contains(id));
                let inside = if middle { Tree::name(super::inside::INSIDE) } else { Tree::int(0) };
                let args = [address.pointer(), at, low, high, self.count(), inside];
                Value::vector(ty, lane, Tree::call(format!("load_clamped_{ty}"), args))
            }
            Some(form @ (LaneForm::Clamped(..) | LaneForm::Vector(..))) => {
                let (offset, wide) = self.offsets(form);
                let args = [address.pointer(), offset, self.mask_of(id)];
                Value::vector(ty, lane, Tree::call(format!("gather_{ty}{wide}"), args))
            }
            Some(LaneForm::Uniform(_)) => unreachable!("a uniform index does not move"),
        };
        let value = if self.pinned.contains(&id) { pin(value) } else { value };
        // What nobody writes meanwhile may be read where it is used.
        let space = self.kernel.memories[memory.0 as usize].space;
        self.bind(id, value, !matches!(space, Space::Global(Access::Read) | Space::Constant));
    }

    /// The lanes whose read is looked at.
    fn mask_of(&self, read: Id) -> Tree {
        let live = self.mask();
        let Some((cond, holds)) = self.wanted.get(&read) else { return live };
        match self.values.get(cond) {
            Some(cond) if !cond.is_uniform() => {
                let test = expr::spread(cond, Lane::Mask);
                let test = if *holds { test } else { Tree::prefix(Prefix::Complement, test) };
                Tree::infix(Infix::And, live, test)
            }
            Some(_) | None => live,
        }
    }

    fn is_local(&self, memory: MemId) -> bool {
        self.kernel.memories[memory.0 as usize].space == Space::Local
    }

    pub(super) fn store(&mut self, memory: MemId, index: &[Id], value: Id) {
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let (address, moving) = self.address(memory, index);
        let value = self.get(value);
        let pointer = address.pointer();
        let spread = |w: &mut Self| {
            let lane = Lane::of(ty);
            w.file.lanes_64 |= lane.is_wide();
            expr::spread(&value, lane)
        };
        let stored = match moving.map(|m| m.form) {
            // One lane writes, and it need not be the first.
            None if matches!(self.live, Live::Mask(_)) && !value.is_uniform() => {
                let nowhere = Tree::call("all_i32", [Tree::int(0)]);
                Tree::call(format!("scatter_{ty}"), [pointer, nowhere, spread(self), self.mask()])
            }
            None => match (ty, &value.form) {
                (_, LaneForm::Uniform(e)) if !matches!(ty, Ty::F16 | Ty::BF16) => {
                    return self.act_or_line(line![address.element(), " = ", e, ";"]);
                }
                // All lanes meet in one element; the verifier's races aside, the first lane stands for them.
                (_, LaneForm::Uniform(_) | LaneForm::Affine(_) | LaneForm::Clamped(..) | LaneForm::Vector(..)) => {
                    Tree::call(format!("store_{ty}"), [pointer, spread(self), self.first_only()])
                }
            },
            Some(LaneForm::Affine(_)) => {
                let value = spread(self);
                let written = self.kernel.memories[memory.0 as usize].space == Space::Global(Access::Write);
                match &self.live {
                    _ if self.is_local(memory) => super::local::store(self, ty, pointer, value),
                    Live::Mask(_) => Tree::call(format!("store_masked_{ty}"), [pointer, value, self.mask()]),
                    _ if written && ty.bytes() >= 4 => {
                        Tree::call(format!("stream_{ty}"), [pointer, value, self.count(), Tree::name(PAST)])
                    }
                    _ => Tree::call(format!("store_{ty}"), [pointer, value, self.count()]),
                }
            }
            Some(form @ (LaneForm::Clamped(..) | LaneForm::Vector(..))) => {
                let (offset, wide) = self.offsets(form);
                Tree::call(format!("scatter_{ty}{wide}"), [pointer, offset, spread(self), self.mask()])
            }
            Some(LaneForm::Uniform(_)) => unreachable!("a uniform index does not move"),
        };
        self.act_or_line(line![stored, ";"]);
    }

    /// How many elements are stored where only the first lane stores: of several vectors only the first is sure to have a lane
    /// that is on.
    fn first_only(&self) -> Tree {
        match self.ways.is_some() && self.live != Live::Block {
            true => Tree::infix(Infix::Eq, Tree::name(TURN), Tree::int(0)),
            false => Tree::int(1),
        }
    }
}

/// Reads that positions in memory hang on, of memory that other cores may write meanwhile. A compiler that read it twice, once for
/// the check of a position and once for the access, would let a data race out of bounds.
pub(super) fn pinned(kernel: &Kernel) -> HashSet<Id> {
    let shared = |memory: &MemId| kernel.memories[memory.0 as usize].space == Space::Global(Access::ReadWrite);
    fn look(body: &Body, shared: &dyn Fn(&MemId) -> bool, places: &mut Vec<Id>, reads: &mut Vec<Id>) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::Load { memory, index } => {
                    places.extend(index);
                    if shared(memory) {
                        reads.extend(stmt.binds.iter().map(|b| b.id));
                    }
                }
                Op::Store { index, .. } | Op::Atomic { index, .. } => places.extend(index),
                op => op.bodies().into_iter().for_each(|inner| look(inner, shared, places, reads)),
            }
        }
    }
    let mut places = vec![];
    let mut reads = vec![];
    look(&kernel.body, &shared, &mut places, &mut reads);
    if reads.is_empty() {
        return HashSet::new();
    }
    let sources = kernel.body.sources(&places);
    reads.into_iter().filter(|id| sources.contains(id)).collect()
}

/// The value, opaque to the compiler.
fn pin(mut value: Value) -> Value {
    value.form = match value.form {
        LaneForm::Uniform(e) => LaneForm::Uniform(Tree::call(format!("s_pin_{}", scalar_type(value.ty)), [e])),
        LaneForm::Vector(lane, e) => LaneForm::Vector(lane, Tree::call(format!("pin_{}", lane.scalar()), [e])),
        form @ (LaneForm::Affine(_) | LaneForm::Clamped(..)) => form,
    };
    value
}
