//! Elements of memories: loads, stores, atomics, and the checks in front of them.

use super::writer::{Lowered, TemplateWriter, Value, constant};
use crate::typed::{ArrayId, Expr, MemoryRef};
use slyz_sir::code::{AtomicOp, MemId, Op};
use slyz_sir::kernel::{Access, Memory, Space};
use slyz_sir::ops::Operator;
use slyz_sir::size::Size;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::write::Write as _;

/// Arrays of more elements are filled by a loop.
const FILLED_ONE_BY_ONE: u64 = 4;

impl TemplateWriter<'_> {
    pub(super) fn memory(&self, memory: MemoryRef) -> MemId {
        let frame = self.frame();
        let found = match memory {
            MemoryRef::Param(at) => frame.tensors.get(at as usize).copied().flatten(),
            MemoryRef::Array(array) => self.memories.arrays.get(&(frame.function, array)).copied(),
        };
        found.expect("the checker names memories that exist")
    }

    fn of(&self, MemId(memory): MemId) -> &Memory {
        &self.memories.memories[memory as usize]
    }

    /// The number of elements, or the extent of an axis.
    pub(super) fn extent(&mut self, memory: MemoryRef, axis: Option<u8>) -> Lowered<Value> {
        let shape = &self.of(self.memory(memory)).shape;
        let axis = axis.map(usize::from).filter(|_| shape.len() > 1);
        let size = axis.and_then(|axis| shape.get(axis)).cloned().unwrap_or_else(|| Size::product(shape));
        self.size(size)
    }

    fn size(&mut self, size: Size) -> Lowered<Value> {
        match size.constant() {
            Some(size) => Ok(Value::Const(Scalar::i64(size as i64))),
            None => self.pure(Op::Extent(size), Ty::I64).map(Value::Name),
        }
    }

    /// Evaluates an index. One number into a memory of several axes counts its elements in row-major order.
    pub(super) fn index(&mut self, memory: MemId, index: &[Expr]) -> Lowered<Vec<Value>> {
        let index = self.exprs(index)?;
        match index[..] {
            [flat] if self.of(memory).shape.len() > 1 => self.by_axes(memory, flat),
            _ => Ok(index),
        }
    }

    fn by_axes(&mut self, memory: MemId, flat: Value) -> Lowered<Vec<Value>> {
        let shape = self.of(memory).shape.clone();
        let mut rest = flat;
        let mut axes = vec![];
        for extent in shape[1..].iter().rev() {
            let extent = self.size(extent.clone())?;
            axes.push(self.apply(Operator::Rem, &[rest, extent], Ty::I64)?);
            rest = self.apply(Operator::Div, &[rest, extent], Ty::I64)?;
        }
        axes.push(rest);
        axes.reverse();
        Ok(axes)
    }

    /// Does the access happen? `true` where it is known to be inside, or nobody asks.
    fn inside(&mut self, memory: MemId, index: &[Value]) -> Lowered<Value> {
        let within = |(at, extent): (&Value, &Size)| match (constant(*at), extent.constant()) {
            (Some(at), Some(extent)) => (0..i128::from(extent)).contains(&at.as_int()),
            _ => false,
        };
        if !self.checked || index.iter().zip(&self.of(memory).shape).all(within) {
            return Ok(Value::Const(Scalar::bool(true)));
        }
        let index = self.names(index)?;
        self.pure(Op::Check { memory, index }, Ty::Bool).map(Value::Name)
    }

    /// Reads an element; outside it is zero.
    pub(super) fn load(&mut self, memory: MemId, index: &[Value]) -> Lowered<Value> {
        let Memory { ty, space, .. } = *self.of(memory);
        let inside = self.inside(memory, index)?;
        let op = Op::Load { memory, index: self.names(index)? };
        if let Some(id) = self.known(&op) {
            return Ok(Value::Name(id));
        }
        let zero = self.zero(inside, ty)?;
        let again = op.clone();
        let load = |w: &mut Self| Ok(vec![Value::Name(w.emit(op, &[ty])?[0])]);
        let value = self.choose(inside, &[ty], load, |_| Ok(vec![zero]))?[0];
        if let (Space::Global(Access::Read) | Space::Constant, Value::Name(id)) = (space, value) {
            // Nobody writes it while the kernel runs.
            self.remember(again, id);
        }
        Ok(value)
    }

    /// What an access gives where it does not happen; named in front of the branch, for all that follow.
    fn zero(&mut self, inside: Value, ty: Ty) -> Lowered<Value> {
        let zero = Value::Const(Scalar::from_bits(ty, 0));
        match inside {
            Value::Const(_) => Ok(zero),
            Value::Name(_) => self.name(zero).map(Value::Name),
        }
    }

    /// Writes an element; outside it does nothing.
    pub(super) fn store(&mut self, memory: MemId, index: &[Value], value: Value) -> Lowered<()> {
        let inside = self.inside(memory, index)?;
        let index = self.names(index)?;
        let values = self.names(&[value])?;
        let store = |w: &mut Self| {
            w.emit(Op::Store { memory, index, values }, &[])?;
            Ok(vec![])
        };
        self.choose(inside, &[], store, |_| Ok(vec![])).map(drop)
    }

    /// Changes an element at once. The old value is given if it is asked for; outside it is zero, and nothing happens.
    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        memory: MemId,
        index: &[Value],
        args: &[Value],
        asked: bool,
    ) -> Lowered<Value> {
        let Memory { ty, space, .. } = *self.of(memory);
        let inside = self.inside(memory, index)?;
        let ids = self.names(index)?;
        let zero = if asked { self.zero(inside, ty)? } else { Value::Const(Scalar::from_bits(ty, 0)) };
        let tys: &[Ty] = if asked { &[ty] } else { &[] };
        let act = |w: &mut Self| {
            let old = match space {
                // Nobody else sees it.
                Space::Local => w.alone(op, memory, index, args, ty)?,
                _ => {
                    let args = w.names(args)?;
                    Value::Name(w.emit(Op::Atomic { op, memory, index: ids, args }, &[ty])?[0])
                }
            };
            Ok(if asked { vec![old] } else { vec![] })
        };
        let old = self.choose(inside, tys, act, |_| Ok(if asked { vec![zero] } else { vec![] }))?;
        Ok(old.first().copied().unwrap_or(zero))
    }

    /// The same on an element that is inside and belongs to the thread.
    fn alone(&mut self, op: AtomicOp, memory: MemId, index: &[Value], args: &[Value], ty: Ty) -> Lowered<Value> {
        let index = self.names(index)?;
        let old = Value::Name(self.emit(Op::Load { memory, index: index.clone() }, &[ty])?[0]);
        let new = match (op, args) {
            (AtomicOp::Update(operator), &[by]) => self.apply(operator, &[old, by], ty)?,
            (AtomicOp::Exchange | AtomicOp::Store, &[new]) => new,
            (AtomicOp::CompareExchange, &[expected, new]) => {
                // Atomics compare bits: a NaN is equal to itself, and the two zeros differ.
                let bits = [old, expected].map(|value| self.bits(value, ty));
                let [old_bits, expected_bits] = bits;
                let equal = self.apply(Operator::Eq, &[old_bits?, expected_bits?], Ty::Bool)?;
                self.apply(Operator::Select, &[equal, new, old], ty)?
            }
            _ => old,
        };
        let values = self.names(&[new])?;
        if values[..] != self.names(&[old])?[..] {
            self.emit(Op::Store { memory, index, values }, &[])?;
        }
        Ok(old)
    }

    fn bits(&mut self, value: Value, ty: Ty) -> Lowered<Value> {
        let bits = match ty {
            Ty::F16 | Ty::BF16 => Ty::U16,
            Ty::F32 => Ty::U32,
            Ty::F64 => Ty::U64,
            _ => return Ok(value),
        };
        self.bitcast(value, bits)
    }

    /// Sets all elements of an array of the thread.
    pub(super) fn fill(&mut self, array: ArrayId, value: &Expr) -> Lowered<()> {
        let value = self.expr(value)?;
        let memory = self.memory(MemoryRef::Array(array));
        let shape: Vec<u64> = self.of(memory).shape.iter().filter_map(Size::constant).collect();
        let elements = shape.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
        if elements <= FILLED_ONE_BY_ONE {
            return (0..elements).try_for_each(|k| {
                let mut rest = k;
                let mut index: Vec<Value> = vec![];
                for extent in shape.iter().rev() {
                    index.push(Value::Const(Scalar::i64((rest % extent) as i64)));
                    rest /= extent;
                }
                index.reverse();
                self.put(memory, &index, value)
            });
        }
        // Outside the loops, so that it is named once.
        let value = Value::Name(self.name(value)?);
        self.fill_axes(memory, &shape, &mut vec![], value)
    }

    fn fill_axes(&mut self, memory: MemId, shape: &[u64], index: &mut Vec<Value>, value: Value) -> Lowered<()> {
        let Some((&extent, inner)) = shape.split_first() else { return self.put(memory, index, value) };
        let [lo, hi, step] = [0, extent as i64, 1].map(|bound| self.name(Value::Const(Scalar::i64(bound))));
        let lo = lo?;
        let hi = hi?;
        let step = step?;
        let counter = self.var(Ty::I64);
        index.push(Value::Name(counter.id));
        let body = self.body(vec![counter], |w| {
            w.fill_axes(memory, inner, index, value)?;
            Ok(vec![])
        })?;
        index.pop();
        self.emit(Op::For { lo, hi, step, init: vec![], body }, &[]).map(drop)
    }

    /// A store that is known to be inside.
    fn put(&mut self, memory: MemId, index: &[Value], value: Value) -> Lowered<()> {
        let index = self.names(index)?;
        let values = self.names(&[value])?;
        self.emit(Op::Store { memory, index, values }, &[]).map(drop)
    }
}
