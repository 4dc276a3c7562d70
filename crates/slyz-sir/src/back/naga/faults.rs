//! Faults are told by a function of the module, so that the kernel's own code stays short.

use super::EmitError;
use super::writer::{Author, Build, Code, Named, Value};
use crate::back::teller;
use crate::code::{Id, MemId};
use crate::types::Ty;
use naga::{BinaryOperator, Block, Expression, Function, FunctionResult, Handle, Literal, ScalarKind, Statement};

impl Code<'_, '_> {
    /// Leaves a mark where there is none, and numbers behind it. The value is what was there before.
    pub(super) fn claim(&mut self, memory: MemId, place: Value, args: &[Id]) -> Result<Value, EmitError> {
        let Expression::Literal(Literal::U32(first)) = self.function.expressions[place] else {
            return Err(self.build.form("claims of places that are not constants"));
        };
        let values: Vec<Named> = args.iter().map(|&arg| self.named(arg)).collect::<Result<_, _>>()?;
        let mut held = vec![];
        for value in &values {
            // A number that stands in the text fits, and where there are no 64-bit integers all do.
            let is_literal = matches!(self.function.expressions[value.value], Expression::Literal(_));
            let is_short = self.build.scalar(value.held)?.width == 4;
            held.push(if value.held == Ty::I64 && (is_literal || is_short) { Ty::I32 } else { value.held });
        }
        let types = teller::types(&held);
        let mut arguments = vec![];
        for (value, &ty) in values.iter().zip(&types) {
            arguments.push(self.resized(value.held, ty, value.value)?);
        }
        let function = self.build.teller(memory, first, &types)?;
        let found = self.call(function, arguments, true);
        found.ok_or_else(|| self.build.form("a function without a result"))
    }

    /// The low word of a number, and its high word: where it is held in 32 bits, its sign, or nothing of an unsigned one.
    fn words_of(&mut self, held: Ty, value: Value) -> Vec<Value> {
        match held {
            Ty::I64 => {
                let bits = self.bits(value, ScalarKind::Uint);
                let (low, high) = self.halves(bits);
                [low, high].map(|word| self.bits(word, ScalarKind::Sint)).to_vec()
            }
            Ty::U32 => vec![self.bits(value, ScalarKind::Sint)],
            _ => {
                let all = self.u32(31);
                vec![value, self.binary(BinaryOperator::ShiftRight, value, all)]
            }
        }
    }
}

impl Build<'_> {
    /// The function that tells faults in a memory, from a word of it on.
    fn teller(&mut self, memory: MemId, first: u32, types: &[Ty]) -> Result<Handle<Function>, EmitError> {
        let name = teller::name(types, &self.kernel.memories[memory.0 as usize].name, first.into());
        let parameters: Vec<(&str, Ty)> = teller::PARAMETERS.into_iter().zip(types.iter().copied()).collect();
        self.written_once(Author::Compiler, &name, &parameters, |code, values| {
            let [mark, numbers @ ..] = values else { return Err(code.build.form("a claim without a mark")) };
            let place = code.u32(first);
            let pointer = code.pointer(memory, place)?;
            let none = code.integer(Ty::I32, 0)?;
            let found = code.compare_exchange(pointer, naga::Scalar::I32, none, *mark)?;
            let condition = code.binary(BinaryOperator::Equal, found, none);
            let accept = code.block(|code| {
                for (k, (&number, &ty)) in numbers.iter().zip(&types[1..]).enumerate() {
                    let words = code.words_of(ty, number);
                    let place = code.u32(first + 1 + 2 * k as u32);
                    code.store_words(memory, place, &words)?;
                }
                Ok(())
            })?;
            code.push(Statement::If { condition, accept, reject: Block::new() });
            code.push(Statement::Return { value: Some(found) });
            let ty = code.build.scalar_ty(naga::Scalar::I32);
            code.function.result = Some(FunctionResult { ty, binding: None });
            Ok(())
        })
    }
}
