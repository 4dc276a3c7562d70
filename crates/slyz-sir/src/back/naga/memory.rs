//! Memories: where elements are, and how they get in and out.

use super::EmitError;
use super::writer::{Build, Code, Value};
use crate::code::{AtomicOp, Body, Id, MemId, Op};
use crate::kernel::{Access, Kernel, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::Ty;
use naga::{
    AddressSpace, ArraySize, AtomicFunction, BinaryOperator, Expression, GlobalVariable, Handle, Literal,
    LocalVariable, PredeclaredType, Span, Statement, StorageAccess, TypeInner, UnaryOperator, VectorSize,
};
use std::num::NonZeroU32;

/// Where a memory is.
#[derive(Clone, Copy)]
pub(super) struct Home {
    /// `None` for memories of one thread, which are variables of the entry point.
    variable: Option<Handle<GlobalVariable>>,
    form: AccessForm,
    /// Scalars or words that one access can move: the memory is an array of vectors of so many, unless this is 1.
    lanes: u32,
}

/// How an element lies in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessForm {
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
            let uses = Uses::of(kernel, MemId(k as u32));
            let form = self.form_of(memory.ty, memory.space, &uses)?;
            let lanes = if memory.space == Space::Local { 1 } else { form.lanes(&uses) };
            let name = &memory.name;
            let variable = match memory.space {
                Space::Global(_) | Space::Constant => {
                    let access = match memory.space {
                        Space::Global(Access::Write | Access::ReadWrite) => StorageAccess::LOAD | StorageAccess::STORE,
                        _ => StorageAccess::LOAD,
                    };
                    let ty = self.array_ty(form, lanes, ArraySize::Dynamic);
                    binding += 1;
                    Some(self.global(name, AddressSpace::Storage { access }, Some(binding - 1), ty))
                }
                Space::Shared => {
                    let size = self.constant_size(&memory.shape, lanes)?;
                    let ty = self.array_ty(form, lanes, size);
                    Some(self.global(name, AddressSpace::WorkGroup, None, ty))
                }
                Space::Local => None,
                Space::Scratch => return Err(self.form("scratch memory")),
            };
            self.homes.push(Home { variable, form, lanes });
        }
        Ok(())
    }

    fn form_of(&self, ty: Ty, space: Space, uses: &Uses) -> Result<AccessForm, EmitError> {
        let scalar = self.scalar(ty)?;
        let outside = matches!(space, Space::Global(_) | Space::Constant);
        let updated = uses.updated;
        Ok(match ty {
            _ if updated && !matches!(ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => {
                return Err(self.form(&format!("atomics on {ty}")));
            }
            Ty::Bool | Ty::I8 | Ty::U8 | Ty::I16 | Ty::U16 | Ty::F16 | Ty::BF16 if outside => {
                let bits = ty.bytes() as u32 * 8;
                // Whole words are nobody else's.
                AccessForm::Packed {
                    bits,
                    atomic: uses.stores.iter().any(|&count| !(count as u32 * bits).is_multiple_of(32)),
                }
            }
            Ty::I64 if outside && scalar.width == 4 => AccessForm::Pair,
            Ty::I64 | Ty::U64 if updated && !self.target.atomic64 => {
                return Err(self.lacks("64-bit atomics", "SHADER_INT64_ATOMIC_ALL_OPS", "Scatter 32-bit integers"));
            }
            Ty::Bool => AccessForm::Word,
            _ if updated => AccessForm::Atomic(scalar),
            _ => AccessForm::Plain(scalar),
        })
    }

    fn array_ty(&mut self, form: AccessForm, lanes: u32, size: ArraySize) -> Handle<naga::Type> {
        let (base, stride) = match form {
            AccessForm::Atomic(scalar) => (TypeInner::Atomic(scalar), u32::from(scalar.width)),
            AccessForm::Packed { atomic: true, .. } => (TypeInner::Atomic(naga::Scalar::U32), 4),
            AccessForm::Pair => (TypeInner::Vector { size: VectorSize::Bi, scalar: naga::Scalar::I32 }, 8),
            AccessForm::Plain(_) | AccessForm::Packed { atomic: false, .. } | AccessForm::Word => {
                let scalar = form.moved();
                let base = vector_size(lanes).map(|size| TypeInner::Vector { size, scalar });
                (base.unwrap_or(TypeInner::Scalar(scalar)), u32::from(scalar.width).max(4) * lanes)
            }
        };
        let base = self.ty(base);
        self.ty(TypeInner::Array { base, size, stride })
    }

    fn constant_size(&self, shape: &[Size], lanes: u32) -> Result<ArraySize, EmitError> {
        let count = Size::product(shape).constant().and_then(|n| u32::try_from(n.max(1)).ok());
        let count = count.and_then(|n| NonZeroU32::new(n.div_ceil(lanes)));
        count.map(ArraySize::Constant).ok_or_else(|| self.form("memory of a block whose size is not a constant"))
    }
}

impl AccessForm {
    /// What an access moves one or several of.
    fn moved(self) -> naga::Scalar {
        match self {
            AccessForm::Plain(scalar) | AccessForm::Atomic(scalar) => scalar,
            AccessForm::Packed { .. } | AccessForm::Word => naga::Scalar::U32,
            AccessForm::Pair => naga::Scalar::I32,
        }
    }

    /// How many of these the largest access moves at once.
    fn lanes(self, uses: &Uses) -> u32 {
        let counts = uses.loads.iter().chain(&uses.stores).map(|&count| count as u32);
        let moved = match self {
            AccessForm::Plain(scalar) => {
                let most = 16 / u32::from(scalar.width).max(4);
                counts.map(|count| count.min(most)).max()
            }
            AccessForm::Packed { bits, atomic: false } => counts.map(|count| (count * bits / 32).min(4)).max(),
            AccessForm::Packed { atomic: true, .. } | AccessForm::Atomic(_) | AccessForm::Pair | AccessForm::Word => {
                None
            }
        };
        moved.filter(|&lanes| vector_size(lanes).is_some()).unwrap_or(1)
    }
}

fn vector_size(lanes: u32) -> Option<VectorSize> {
    match lanes {
        2 => Some(VectorSize::Bi),
        4 => Some(VectorSize::Quad),
        _ => None,
    }
}

/// What code does to a memory.
#[derive(Default)]
struct Uses {
    /// How many elements loads move, and how many stores do.
    loads: Vec<usize>,
    stores: Vec<usize>,
    /// There are atomics.
    updated: bool,
}

impl Uses {
    fn of(kernel: &Kernel, id: MemId) -> Uses {
        let mut uses = Uses::default();
        uses.walk(&kernel.body, id);
        uses
    }

    fn walk(&mut self, body: &Body, id: MemId) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::Load { memory, .. } if *memory == id => self.loads.push(stmt.binds.len()),
                Op::Store { memory, values, .. } if *memory == id => self.stores.push(values.len()),
                Op::Atomic { memory, .. } if *memory == id => self.updated = true,
                _ => {}
            }
            stmt.op.bodies().into_iter().for_each(|body| self.walk(body, id));
        }
    }
}

impl Code<'_, '_> {
    /// Variables for the memories of a thread.
    pub(super) fn declare_locals(&mut self) -> Result<(), EmitError> {
        let kernel = self.build.kernel;
        for (k, memory) in kernel.memories.iter().enumerate().filter(|(_, m)| m.space == Space::Local) {
            let size = self.build.constant_size(&memory.shape, 1)?;
            let ty = self.build.array_ty(self.build.homes[k].form, 1, size);
            let variable = LocalVariable { name: Some(memory.name.clone()), ty, init: None };
            let handle = self.function.local_variables.append(variable, Span::UNDEFINED);
            self.locals.insert(k, handle);
        }
        Ok(())
    }

    fn home(&self, memory: MemId) -> Result<(Ty, Home), EmitError> {
        let kernel = self.build.kernel;
        let k = memory.0 as usize;
        match (kernel.memories.get(k), self.build.homes.get(k)) {
            (Some(memory), Some(home)) => Ok((memory.ty, *home)),
            _ => Err(self.build.form("an access to no memory")),
        }
    }

    /// Where a vector of a memory is, or a scalar, where the memory has no vectors.
    fn cell(&mut self, memory: MemId, index: Value) -> Result<Value, EmitError> {
        let k = memory.0 as usize;
        let base = match (self.build.homes[k].variable, self.locals.get(&k)) {
            (Some(global), _) => self.append(Expression::GlobalVariable(global)),
            (None, Some(&local)) => self.append(Expression::LocalVariable(local)),
            (None, None) => return Err(self.build.form("an access to a memory of another function")),
        };
        Ok(self.expr(Expression::Access { base, index }))
    }

    /// Where the scalar or word with a number is.
    pub(super) fn pointer(&mut self, memory: MemId, number: Value) -> Result<Value, EmitError> {
        let lanes = self.build.homes[memory.0 as usize].lanes;
        if lanes == 1 {
            return self.cell(memory, number);
        }
        let log = self.u32(lanes.ilog2());
        let last = self.u32(lanes - 1);
        let whole = self.binary(BinaryOperator::ShiftRight, number, log);
        let base = self.cell(memory, whole)?;
        let index = self.binary(BinaryOperator::And, number, last);
        Ok(self.expr(Expression::Access { base, index }))
    }

    /// The number of the vector that starts with the scalar of a number. What was multiplied need not be divided: numbers of
    /// elements never wrap around.
    fn vector_number(&mut self, number: Value, lanes: u32) -> Value {
        if let Expression::Binary { op: BinaryOperator::Multiply, left, right } = self.function.expressions[number]
            && let Expression::Literal(Literal::U32(by)) = self.function.expressions[right]
            && by.is_multiple_of(lanes)
        {
            if by == lanes {
                return left;
            }
            let by = self.u32(by / lanes);
            return self.binary(BinaryOperator::Multiply, left, by);
        }
        let log = self.u32(lanes.ilog2());
        self.binary(BinaryOperator::ShiftRight, number, log)
    }

    /// So many scalars or words from one with a number on, which is a multiple of their count.
    fn load_words(&mut self, memory: MemId, number: Value, count: u32) -> Result<Vec<Value>, EmitError> {
        let lanes = self.build.homes[memory.0 as usize].lanes;
        let mut words = vec![];
        if lanes == 1 || !count.is_multiple_of(lanes) {
            for k in 0..count {
                let number = self.further(number, k);
                let pointer = self.pointer(memory, number)?;
                words.push(self.load(pointer));
            }
            return Ok(words);
        }
        let first = self.vector_number(number, lanes);
        for k in 0..count / lanes {
            let number = self.further(first, k);
            let pointer = self.cell(memory, number)?;
            let base = self.load(pointer);
            words.extend((0..lanes).map(|index| self.expr(Expression::AccessIndex { base, index })));
        }
        Ok(words)
    }

    /// Stores scalars or words from one with a number on, which is a multiple of their count.
    pub(super) fn store_words(&mut self, memory: MemId, number: Value, words: &[Value]) -> Result<(), EmitError> {
        let Home { form, lanes, .. } = self.build.homes[memory.0 as usize];
        let vectors = vector_size(lanes).filter(|_| words.len().is_multiple_of(lanes as usize));
        let Some(size) = vectors else {
            for (k, &word) in words.iter().enumerate() {
                let number = self.further(number, k as u32);
                let pointer = self.pointer(memory, number)?;
                self.store(pointer, word);
            }
            return Ok(());
        };
        let ty = self.build.ty(TypeInner::Vector { size, scalar: form.moved() });
        let first = self.vector_number(number, lanes);
        for (k, words) in words.chunks(lanes as usize).enumerate() {
            let number = self.further(first, k as u32);
            let pointer = self.cell(memory, number)?;
            let vector = self.expr(Expression::Compose { ty, components: words.to_vec() });
            self.store(pointer, vector);
        }
        Ok(())
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
    pub(super) fn further(&mut self, place: Value, k: u32) -> Value {
        if k == 0 {
            return place;
        }
        let k = self.u32(k);
        self.binary(BinaryOperator::Add, place, k)
    }

    pub(super) fn load_elements(&mut self, memory: MemId, index: &[Id], count: usize) -> Result<Vec<Value>, EmitError> {
        let (ty, Home { form, .. }) = self.home(memory)?;
        let place = self.place_of(memory, index)?;
        let count = count as u32;
        match form {
            AccessForm::Plain(_) | AccessForm::Atomic(_) => self.load_words(memory, place, count),
            AccessForm::Word => {
                let words = self.load_words(memory, place, count)?;
                let zero = self.u32(0);
                Ok(words.into_iter().map(|word| self.binary(BinaryOperator::NotEqual, word, zero)).collect())
            }
            AccessForm::Pair => {
                let mut values = vec![];
                for k in 0..count {
                    let place = self.further(place, k);
                    let base = self.cell(memory, place)?;
                    let low = self.expr(Expression::AccessIndex { base, index: 0 });
                    values.push(self.load(low));
                }
                Ok(values)
            }
            AccessForm::Packed { bits, .. } => {
                let (number, shift) = self.word_of(bits, place);
                if (count * bits).is_multiple_of(32) {
                    let words = self.load_words(memory, number, count * bits / 32)?;
                    return words.into_iter().try_fold(vec![], |mut all, word| {
                        all.extend(self.elements(ty, bits, word, 32 / bits)?);
                        Ok(all)
                    });
                }
                let pointer = self.pointer(memory, number)?;
                let word = self.load(pointer);
                let word = self.binary(BinaryOperator::ShiftRight, word, shift);
                self.elements(ty, bits, word, count)
            }
        }
    }

    /// The first elements of a word.
    fn elements(&mut self, ty: Ty, bits: u32, word: Value, count: u32) -> Result<Vec<Value>, EmitError> {
        if ty == Ty::F16 && count == 2 && self.has_own_halves() {
            return Ok(self.own_halves(word).to_vec());
        }
        let element = |k: u32| {
            let mut word = word;
            if k > 0 {
                let by = self.u32(k * bits);
                word = self.binary(BinaryOperator::ShiftRight, word, by);
            }
            self.unpacked(ty, word)
        };
        (0..count).map(element).collect()
    }

    /// The number of a packed element's word, and how far up the element is in it.
    fn word_of(&mut self, bits: u32, place: Value) -> (Value, Value) {
        let per_word = 32 / bits;
        let log = self.u32(per_word.ilog2());
        let last = self.u32(per_word - 1);
        let width = self.u32(bits.ilog2());
        let number = self.binary(BinaryOperator::ShiftRight, place, log);
        let inside = self.binary(BinaryOperator::And, place, last);
        (number, self.binary(BinaryOperator::ShiftLeft, inside, width))
    }

    pub(super) fn store_elements(&mut self, memory: MemId, index: &[Id], values: &[Id]) -> Result<(), EmitError> {
        let (ty, Home { form, .. }) = self.home(memory)?;
        let place = self.place_of(memory, index)?;
        let values: Vec<Value> = self.all(values)?.into_iter().map(|(_, value)| value).collect();
        match form {
            AccessForm::Plain(_) | AccessForm::Atomic(_) => self.store_words(memory, place, &values),
            AccessForm::Word => {
                let one = self.u32(1);
                let zero = self.u32(0);
                let words: Vec<Value> = values.into_iter().map(|value| self.select(value, one, zero)).collect();
                self.store_words(memory, place, &words)
            }
            AccessForm::Pair => {
                let scalar = naga::Scalar::I32;
                let ty = self.build.ty(TypeInner::Vector { size: VectorSize::Bi, scalar });
                for (k, value) in values.into_iter().enumerate() {
                    let place = self.further(place, k as u32);
                    let pointer = self.cell(memory, place)?;
                    let all = self.u32(31);
                    let sign = self.binary(BinaryOperator::ShiftRight, value, all);
                    let pair = self.expr(Expression::Compose { ty, components: vec![value, sign] });
                    self.store(pointer, pair);
                }
                Ok(())
            }
            AccessForm::Packed { bits, .. } if (values.len() as u32 * bits).is_multiple_of(32) => {
                let mut words = vec![];
                for elements in values.chunks(32 / bits as usize) {
                    words.push(self.word_from(ty, bits, elements)?);
                }
                let (number, _) = self.word_of(bits, place);
                self.store_words(memory, number, &words)
            }
            AccessForm::Packed { bits, .. } => {
                let (number, shift) = self.word_of(bits, place);
                let word = self.word_from(ty, bits, &values)?;
                let word = self.binary(BinaryOperator::ShiftLeft, word, shift);
                let mask = self.u32(u32::MAX >> (32 - bits * values.len() as u32));
                let mask = self.binary(BinaryOperator::ShiftLeft, mask, shift);
                let others = self.unary(UnaryOperator::BitwiseNot, mask);
                let pointer = self.pointer(memory, number)?;
                // Neighbours in the word are somebody else's: nobody may write the whole of it.
                self.push(Statement::Atomic { pointer, fun: AtomicFunction::And, value: others, result: None });
                self.push(Statement::Atomic { pointer, fun: AtomicFunction::InclusiveOr, value: word, result: None });
                Ok(())
            }
        }
    }

    /// A word of packed elements, the first lowest, and nothing above them.
    fn word_from(&mut self, ty: Ty, bits: u32, elements: &[Value]) -> Result<Value, EmitError> {
        if ty == Ty::F16 && self.has_own_halves() {
            return Ok(self.own_word(elements));
        }
        let mask = self.u32(u32::MAX >> (32 - bits));
        let mut whole: Option<Value> = None;
        for (&element, k) in elements.iter().zip(0..) {
            let word = self.packed(ty, element)?;
            // The last one of a whole word is cut off by the shift.
            let last = (k + 1) * bits == 32;
            let mut word = if last { word } else { self.binary(BinaryOperator::And, word, mask) };
            if k > 0 {
                let by = self.u32(k * bits);
                word = self.binary(BinaryOperator::ShiftLeft, word, by);
            }
            whole = Some(whole.map_or(word, |before| self.binary(BinaryOperator::InclusiveOr, before, word)));
        }
        Ok(whole.unwrap_or(mask))
    }

    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        memory: MemId,
        index: &[Id],
        args: &[Id],
    ) -> Result<Value, EmitError> {
        let (ty, Home { form, .. }) = self.home(memory)?;
        let scalar = match form {
            AccessForm::Atomic(scalar) => scalar,
            AccessForm::Plain(_) | AccessForm::Packed { .. } | AccessForm::Pair | AccessForm::Word => {
                return Err(self.build.form(&format!("atomics on {ty}")));
            }
        };
        let place = self.place_of(memory, index)?;
        if op == AtomicOp::Claim {
            return self.claim(memory, place, args);
        }
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
                return self.compare_exchange(pointer, scalar, *expected, *new);
            }
            (AtomicOp::CompareExchange | AtomicOp::Claim, _) => {
                return Err(self.build.form("an exchange without operands"));
            }
        };
        let Some(&value) = args.first() else { return Err(self.build.form("an atomic without an operand")) };
        let result = self.append(Expression::AtomicResult { ty: result_ty, comparison: false });
        self.push(Statement::Atomic { pointer, fun, value, result: Some(result) });
        Ok(result)
    }

    /// Exchanges that may fail for no reason, as those of naga may, are tried again: who sees what was expected has exchanged it.
    pub(super) fn compare_exchange(
        &mut self,
        pointer: Value,
        scalar: naga::Scalar,
        expected: Value,
        new: Value,
    ) -> Result<Value, EmitError> {
        let found = self.variable(scalar);
        let ty = self.build.module.generate_predeclared_type(PredeclaredType::AtomicCompareExchangeWeakResult(scalar));
        let body = self.block(|code| {
            let base = code.append(Expression::AtomicResult { ty, comparison: true });
            let fun = AtomicFunction::Exchange { compare: Some(expected) };
            code.push(Statement::Atomic { pointer, fun, value: new, result: Some(base) });
            let old = code.expr(Expression::AccessIndex { base, index: 0 });
            let exchanged = code.expr(Expression::AccessIndex { base, index: 1 });
            code.store(found, old);
            let differs = code.binary(BinaryOperator::NotEqual, old, expected);
            let done = code.binary(BinaryOperator::LogicalOr, exchanged, differs);
            code.break_if(done)
        })?;
        self.push(Statement::Loop { body, continuing: naga::Block::new(), break_if: None });
        Ok(self.load(found))
    }
}
