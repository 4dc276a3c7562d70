//! Memories: where elements are, and how they get in and out.

use super::EmitError;
use super::writer::{Build, Code, Value};
use crate::code::{AtomicOp, Body, Id, MemId, Op};
use crate::kernel::{Access, Kernel, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use naga::{
    AddressSpace, ArraySize, AtomicFunction, BinaryOperator, Expression, GlobalVariable, Handle, LocalVariable,
    PredeclaredType, Span, Statement, StorageAccess, TypeInner, UnaryOperator, VectorSize,
};
use std::num::NonZeroU32;

/// Where a memory is.
#[derive(Clone, Copy)]
pub(super) struct Home {
    /// `None` for memories of one thread, which are variables of the entry point.
    variable: Option<Handle<GlobalVariable>>,
    form: Form,
}

/// How an element lies in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is in registers.
    Plain(naga::Scalar),
    /// The same, every access atomic.
    Atomic(naga::Scalar),
    /// Several elements of so many bits to a word.
    Packed { bits: u32, atomic: bool },
    /// The low word of an `i64` and its sign.
    Pair,
    /// A `bool` in a word of its own.
    Word,
}

impl Build<'_> {
    /// Binds global and shared memories.
    pub(super) fn declare_memories(&mut self) -> Result<(), EmitError> {
        let kernel = self.kernel;
        let mut binding = 0;
        for (k, memory) in kernel.memories.iter().enumerate() {
            let (stored, updated) = uses(kernel, MemId(k as u32));
            let form = self.form_of(memory.ty, memory.space, stored, updated)?;
            let name = &memory.name;
            let variable = match memory.space {
                Space::Global(_) | Space::Constant => {
                    let access = match memory.space {
                        Space::Global(Access::Write | Access::ReadWrite) => StorageAccess::LOAD | StorageAccess::STORE,
                        _ => StorageAccess::LOAD,
                    };
                    let ty = self.array_ty(form, ArraySize::Dynamic);
                    binding += 1;
                    Some(self.global(name, AddressSpace::Storage { access }, Some(binding - 1), ty))
                }
                Space::Shared => {
                    let size = self.constant_size(&memory.shape)?;
                    let ty = self.array_ty(form, size);
                    Some(self.global(name, AddressSpace::WorkGroup, None, ty))
                }
                Space::Local => None,
                Space::Scratch => return Err(self.form("scratch memory")),
            };
            self.homes.push(Home { variable, form });
        }
        Ok(())
    }

    fn form_of(&self, ty: Ty, space: Space, stored: bool, updated: bool) -> Result<Form, EmitError> {
        let scalar = self.scalar(ty)?;
        let outside = matches!(space, Space::Global(_) | Space::Constant);
        Ok(match ty {
            _ if updated && !matches!(ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => {
                return Err(self.form(&format!("atomics on {ty}")));
            }
            Ty::Bool | Ty::I8 | Ty::U8 | Ty::I16 | Ty::U16 | Ty::F16 | Ty::BF16 if outside => {
                Form::Packed { bits: ty.bytes() as u32 * 8, atomic: stored }
            }
            Ty::I64 if outside && scalar.width == 4 => Form::Pair,
            Ty::I64 | Ty::U64 if updated && !self.target.atomic64 => {
                return Err(self.lacks("64-bit atomics", "SHADER_INT64_ATOMIC_ALL_OPS", "Scatter 32-bit integers"));
            }
            Ty::Bool => Form::Word,
            _ if updated => Form::Atomic(scalar),
            _ => Form::Plain(scalar),
        })
    }

    fn array_ty(&mut self, form: Form, size: ArraySize) -> Handle<naga::Type> {
        let (base, stride) = match form {
            Form::Plain(scalar) => (TypeInner::Scalar(scalar), scalar.width.max(4)),
            Form::Atomic(scalar) => (TypeInner::Atomic(scalar), scalar.width),
            Form::Packed { atomic: true, .. } => (TypeInner::Atomic(naga::Scalar::U32), 4),
            Form::Packed { atomic: false, .. } | Form::Word => (TypeInner::Scalar(naga::Scalar::U32), 4),
            Form::Pair => (TypeInner::Vector { size: VectorSize::Bi, scalar: naga::Scalar::I32 }, 8),
        };
        let base = self.ty(base);
        self.ty(TypeInner::Array { base, size, stride: stride.into() })
    }

    fn constant_size(&self, shape: &[Size]) -> Result<ArraySize, EmitError> {
        let count = Size::product(shape).constant().and_then(|n| u32::try_from(n.max(1)).ok());
        let count = count.and_then(NonZeroU32::new);
        count.map(ArraySize::Constant).ok_or_else(|| self.form("memory of a block whose size is not a constant"))
    }
}

/// Whether code stores to a memory, and whether it updates it atomically.
fn uses(kernel: &Kernel, id: MemId) -> (bool, bool) {
    fn walk(body: &Body, id: MemId, found: &mut (bool, bool)) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::Store { memory, .. } if *memory == id => found.0 = true,
                Op::Atomic { memory, .. } if *memory == id => found.1 = true,
                _ => {}
            }
            stmt.op.bodies().into_iter().for_each(|body| walk(body, id, found));
        }
    }
    let mut found = (false, false);
    walk(&kernel.body, id, &mut found);
    found
}

impl Code<'_, '_> {
    /// Variables for the memories of a thread.
    pub(super) fn declare_locals(&mut self) -> Result<(), EmitError> {
        let kernel = self.build.kernel;
        for (k, memory) in kernel.memories.iter().enumerate().filter(|(_, m)| m.space == Space::Local) {
            let size = self.build.constant_size(&memory.shape)?;
            let ty = self.build.array_ty(self.build.homes[k].form, size);
            let variable = LocalVariable { name: Some(memory.name.clone()), ty, init: None };
            let handle = self.function.local_variables.append(variable, Span::UNDEFINED);
            self.locals.insert(k, handle);
        }
        Ok(())
    }

    fn home(&self, memory: MemId) -> Result<(Ty, Form), EmitError> {
        let (kernel, k) = (self.build.kernel, memory.0 as usize);
        match (kernel.memories.get(k), self.build.homes.get(k)) {
            (Some(memory), Some(home)) => Ok((memory.ty, home.form)),
            _ => Err(self.build.form("an access to no memory")),
        }
    }

    fn pointer(&mut self, memory: MemId, index: Value) -> Result<Value, EmitError> {
        let k = memory.0 as usize;
        let base = match (self.build.homes[k].variable, self.locals.get(&k)) {
            (Some(global), _) => self.append(Expression::GlobalVariable(global)),
            (None, Some(&local)) => self.append(Expression::LocalVariable(local)),
            (None, None) => return Err(self.build.form("an access to a memory of another function")),
        };
        Ok(self.expr(Expression::Access { base, index }))
    }

    /// The place of an element, row-major.
    fn place_of(&mut self, memory: MemId, index: &[Id]) -> Result<Value, EmitError> {
        let kernel = self.build.kernel;
        let mut place: Option<Value> = None;
        for (axis, &id) in index.iter().enumerate() {
            let at = self.get_in(id, Ty::U32)?;
            place = Some(match place {
                None => at,
                Some(outer) => {
                    let extent = self.short_extent(&kernel.memories[memory.0 as usize].shape[axis])?;
                    let rows = self.binary(BinaryOperator::Multiply, outer, extent);
                    self.binary(BinaryOperator::Add, rows, at)
                }
            });
        }
        Ok(match place {
            Some(place) => place,
            None => self.u32(0),
        })
    }

    /// The place `k` elements further.
    fn further(&mut self, place: Value, k: usize) -> Value {
        if k == 0 {
            return place;
        }
        let k = self.u32(k as u32);
        self.binary(BinaryOperator::Add, place, k)
    }

    pub(super) fn load_elements(&mut self, memory: MemId, index: &[Id], count: usize) -> Result<Vec<Value>, EmitError> {
        let (ty, form) = self.home(memory)?;
        let place = self.place_of(memory, index)?;
        (0..count)
            .map(|k| {
                let place = self.further(place, k);
                self.load_element(memory, ty, form, place)
            })
            .collect()
    }

    fn load_element(&mut self, memory: MemId, ty: Ty, form: Form, place: Value) -> Result<Value, EmitError> {
        Ok(match form {
            Form::Plain(_) | Form::Atomic(_) => {
                let pointer = self.pointer(memory, place)?;
                self.load(pointer)
            }
            Form::Word => {
                let pointer = self.pointer(memory, place)?;
                let (word, zero) = (self.load(pointer), self.u32(0));
                self.binary(BinaryOperator::NotEqual, word, zero)
            }
            Form::Pair => {
                let base = self.pointer(memory, place)?;
                let low = self.expr(Expression::AccessIndex { base, index: 0 });
                self.load(low)
            }
            Form::Packed { bits, .. } => {
                let (pointer, shift) = self.word_of(memory, bits, place)?;
                let word = self.load(pointer);
                let bits = self.binary(BinaryOperator::ShiftRight, word, shift);
                self.unpacked(ty, bits)?
            }
        })
    }

    /// The word of a packed element, and how far up the element is in it.
    fn word_of(&mut self, memory: MemId, bits: u32, place: Value) -> Result<(Value, Value), EmitError> {
        let per_word = 32 / bits;
        let (log, last, width) = (self.u32(per_word.ilog2()), self.u32(per_word - 1), self.u32(bits.ilog2()));
        let number = self.binary(BinaryOperator::ShiftRight, place, log);
        let inside = self.binary(BinaryOperator::And, place, last);
        let shift = self.binary(BinaryOperator::ShiftLeft, inside, width);
        Ok((self.pointer(memory, number)?, shift))
    }

    pub(super) fn store_elements(&mut self, memory: MemId, index: &[Id], values: &[Id]) -> Result<(), EmitError> {
        let (ty, form) = self.home(memory)?;
        let place = self.place_of(memory, index)?;
        for (k, &id) in values.iter().enumerate() {
            let (_, value) = self.get(id)?;
            let place = self.further(place, k);
            self.store_element(memory, ty, form, place, value)?;
        }
        Ok(())
    }

    fn store_element(
        &mut self,
        memory: MemId,
        ty: Ty,
        form: Form,
        place: Value,
        value: Value,
    ) -> Result<(), EmitError> {
        match form {
            Form::Plain(_) | Form::Atomic(_) => {
                let pointer = self.pointer(memory, place)?;
                self.store(pointer, value);
            }
            Form::Word => {
                let pointer = self.pointer(memory, place)?;
                let (one, zero) = (self.u32(1), self.u32(0));
                let word = self.select(value, one, zero);
                self.store(pointer, word);
            }
            Form::Pair => {
                let pointer = self.pointer(memory, place)?;
                let all = self.u32(31);
                let sign = self.binary(BinaryOperator::ShiftRight, value, all);
                let scalar = naga::Scalar::I32;
                let ty = self.build.ty(TypeInner::Vector { size: VectorSize::Bi, scalar });
                let pair = self.expr(Expression::Compose { ty, components: vec![value, sign] });
                self.store(pointer, pair);
            }
            Form::Packed { bits, .. } => {
                let (pointer, shift) = self.word_of(memory, bits, place)?;
                let word = self.packed(ty, value)?;
                let mask = self.u32((1 << bits) - 1);
                let word = self.binary(BinaryOperator::And, word, mask);
                let word = self.binary(BinaryOperator::ShiftLeft, word, shift);
                let mask = self.binary(BinaryOperator::ShiftLeft, mask, shift);
                let others = self.unary(UnaryOperator::BitwiseNot, mask);
                // Neighbours in the word are somebody else's: nobody may write the whole of it.
                self.push(Statement::Atomic { pointer, fun: AtomicFunction::And, value: others, result: None });
                self.push(Statement::Atomic { pointer, fun: AtomicFunction::InclusiveOr, value: word, result: None });
            }
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        memory: MemId,
        index: &[Id],
        args: &[Id],
    ) -> Result<Value, EmitError> {
        let (ty, form) = self.home(memory)?;
        let scalar = match form {
            Form::Atomic(scalar) => scalar,
            Form::Plain(_) | Form::Packed { .. } | Form::Pair | Form::Word => {
                return Err(self.build.form(&format!("atomics on {ty}")));
            }
        };
        let place = self.place_of(memory, index)?;
        let pointer = self.pointer(memory, place)?;
        let args: Vec<Value> = self.all(args)?.into_iter().map(|a| a.1).collect();
        let result_ty = self.build.scalar_ty(scalar);
        let fun = match (op, &args[..]) {
            (AtomicOp::Load, _) => return Ok(self.load(pointer)),
            (AtomicOp::Update(operator), _) => match operator {
                Operator::Add => AtomicFunction::Add,
                Operator::Min => AtomicFunction::Min,
                Operator::Max => AtomicFunction::Max,
                Operator::And => AtomicFunction::And,
                Operator::Or => AtomicFunction::InclusiveOr,
                Operator::Xor => AtomicFunction::ExclusiveOr,
                other => return Err(self.build.form(&format!("an atomic `{}`", other.name()))),
            },
            (AtomicOp::Exchange | AtomicOp::Store, _) => AtomicFunction::Exchange { compare: None },
            (AtomicOp::CompareExchange, [expected, new]) => {
                let (compare, value) = (Some(*expected), *new);
                let kind = PredeclaredType::AtomicCompareExchangeWeakResult(scalar);
                let ty = self.build.module.generate_predeclared_type(kind);
                let base = self.append(Expression::AtomicResult { ty, comparison: true });
                let fun = AtomicFunction::Exchange { compare };
                self.push(Statement::Atomic { pointer, fun, value, result: Some(base) });
                return Ok(self.expr(Expression::AccessIndex { base, index: 0 }));
            }
            (AtomicOp::CompareExchange, _) => return Err(self.build.form("an exchange without operands")),
        };
        let Some(&value) = args.first() else { return Err(self.build.form("an atomic without an operand")) };
        let result = self.append(Expression::AtomicResult { ty: result_ty, comparison: false });
        self.push(Statement::Atomic { pointer, fun, value, result: Some(result) });
        Ok(result)
    }
}
