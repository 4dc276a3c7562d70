//! A module under construction, and the code of one function in it.

use super::ends::all_loops_end;
use super::memory::Home;
use super::{EmitError, Interface, Target};
use crate::back::words::Narrowing;
use crate::code::{Function, Id, Op, Stmt};
use crate::kernel::{Kernel, Space};
use crate::size::Size;
use crate::types::{Scalar, Ty};
use naga::{
    AddressSpace, ArraySize, BinaryOperator, Block, BuiltIn, Expression, GlobalVariable, Handle, Literal,
    LocalVariable, MathFunction, Range, ResourceBinding, ScalarKind, Span, Statement, TypeInner, UnaryOperator,
    VectorSize,
};
use std::collections::HashMap;
use std::num::NonZeroU32;

pub(super) type Value = Handle<Expression>;

/// Values that hang on each other, after which one gets a name.
const CHAIN: u32 = 16;
/// Bytes of a piece of the uniform buffer: two words.
const PIECE: u64 = 16;

/// What is passed to the module of a kernel.
pub(super) fn interface(kernel: &Kernel) -> Interface {
    let extents = extents(kernel);
    let words = extents.len() + kernel.body.params.len();
    // One more, which is 0.
    let uniform_bytes = (words as u64 + 1).div_ceil(2) * PIECE;
    Interface { extents, uniform_bytes, ends: all_loops_end(kernel), raw: false }
}

/// The module.
pub(super) fn write(kernel: &Kernel, interface: &Interface, target: &Target) -> Result<naga::Module, EmitError> {
    let mut build = Build {
        module: naga::Module::default(),
        kernel,
        target: *target,
        functions: HashMap::new(),
        homes: vec![],
        extents: interface.extents.clone(),
        uniform: None,
    };
    build.declare_memories()?;
    build.declare_uniform((interface.uniform_bytes / PIECE) as u32);
    let mut code = Code::new(&mut build);
    code.narrowing = Narrowing::of(kernel, if target.narrow { i32::MAX as u64 } else { i64::MAX as u64 });
    code.declare_locals()?;
    let first = code.build.extents.len();
    for (k, param) in kernel.body.params.iter().enumerate() {
        let value = code.scalar_argument(first + k, param.ty.elem())?;
        code.bind(param.id, param.ty.elem(), value);
    }
    code.statements(&kernel.body)?;
    let function = code.finish();
    build.module.entry_points.push(naga::EntryPoint {
        name: "main".into(),
        stage: naga::ShaderStage::Compute,
        early_depth_test: None,
        workgroup_size: kernel.block,
        workgroup_size_overrides: None,
        function,
        mesh_info: None,
        task_payload: None,
        incoming_ray_payload: None,
    });
    Ok(build.module)
}

/// Every size that the code counts with and that is not a number already.
fn extents(kernel: &Kernel) -> Vec<Size> {
    let mut found = kernel.extents();
    // The outermost extent of a memory is not part of where its elements are.
    found.extend(kernel.memories.iter().flat_map(|m| m.shape.iter().skip(1).cloned()));
    found.retain(|size| size.constant().is_none());
    found.sort();
    found.dedup();
    found
}

/// A module under construction.
pub(super) struct Build<'k> {
    pub(super) module: naga::Module,
    pub(super) kernel: &'k Kernel,
    pub(super) target: Target,
    /// Functions that are written, by name. A program may have one that is called as one of ours.
    functions: HashMap<(Author, String), Handle<naga::Function>>,
    /// By memory.
    pub(super) homes: Vec<Home>,
    extents: Vec<Size>,
    uniform: Option<Handle<GlobalVariable>>,
}

/// Who wrote a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Author {
    Program,
    Compiler,
}

/// Where a function comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Somebody wrote it.
    Program,
    /// It is an operator made of simpler ones.
    Expansion,
    /// The same, made of the target's own quotients and roots.
    Estimate,
}

impl Build<'_> {
    pub(super) fn ty(&mut self, inner: TypeInner) -> Handle<naga::Type> {
        self.module.types.insert(naga::Type { name: None, inner }, Span::UNDEFINED)
    }

    pub(super) fn scalar_ty(&mut self, scalar: naga::Scalar) -> Handle<naga::Type> {
        self.ty(TypeInner::Scalar(scalar))
    }

    pub(super) fn lacks(&self, what: &str, feature: &'static str, remedy: &'static str) -> EmitError {
        EmitError::Lacks {
            kernel: self.kernel.name.clone(),
            what: what.into(),
            interface: "wgpu feature",
            feature,
            remedy,
        }
    }

    pub(super) fn lacks_int64(&self, what: &str) -> EmitError {
        self.lacks(what, "SHADER_INT64", "Use 32-bit integers")
    }

    pub(super) fn form(&self, what: &str) -> EmitError {
        EmitError::Form { kernel: self.kernel.name.clone(), what: what.into() }
    }

    /// What a type is in registers.
    pub(super) fn scalar(&self, ty: Ty) -> Result<naga::Scalar, EmitError> {
        Ok(match ty {
            Ty::Bool => naga::Scalar::BOOL,
            Ty::I8 | Ty::I16 | Ty::I32 => naga::Scalar::I32,
            Ty::U8 | Ty::U16 | Ty::U32 => naga::Scalar::U32,
            Ty::I64 if self.target.int64 => naga::Scalar::I64,
            Ty::I64 => naga::Scalar::I32,
            Ty::U64 if self.target.int64 => naga::Scalar::U64,
            Ty::U64 => return Err(self.lacks_int64("64-bit integers (u64)")),
            Ty::F16 | Ty::BF16 | Ty::F32 => naga::Scalar::F32,
            Ty::F64 if self.target.float64 => naga::Scalar::F64,
            Ty::F64 => return Err(self.lacks("double precision (f64)", "SHADER_F64", "Use f32")),
        })
    }

    /// Sizes and scalars as 64-bit words, two to a vector: uniform arrays have strides of 16 bytes.
    fn declare_uniform(&mut self, pieces: u32) {
        let four = self.ty(TypeInner::Vector { size: VectorSize::Quad, scalar: naga::Scalar::U32 });
        let size = ArraySize::Constant(NonZeroU32::new(pieces).unwrap_or(NonZeroU32::MIN));
        let ty = self.ty(TypeInner::Array { base: four, size, stride: 16 });
        let bound = |space: &Space| matches!(space, Space::Global(_) | Space::Constant);
        let binding = self.kernel.memories.iter().filter(|m| bound(&m.space)).count() as u32;
        self.uniform = Some(self.global("slyz_call", AddressSpace::Uniform, Some(binding), ty));
    }

    pub(super) fn global(
        &mut self,
        name: &str,
        space: AddressSpace,
        binding: Option<u32>,
        ty: Handle<naga::Type>,
    ) -> Handle<GlobalVariable> {
        let variable = GlobalVariable {
            name: Some(name.into()),
            space,
            binding: binding.map(|binding| ResourceBinding { group: 0, binding }),
            ty,
            init: None,
            memory_decorations: naga::MemoryDecorations::empty(),
        };
        self.module.global_variables.append(variable, Span::UNDEFINED)
    }

    /// A scalar function of SIR, written once.
    pub(super) fn function(&mut self, function: &Function) -> Result<Handle<naga::Function>, EmitError> {
        self.function_of(function, Origin::Program)
    }

    /// The same, from elsewhere.
    pub(super) fn function_of(
        &mut self,
        function: &Function,
        origin: Origin,
    ) -> Result<Handle<naga::Function>, EmitError> {
        let names: Vec<String> = (0..function.body.params.len()).map(|k| format!("x{k}")).collect();
        let params = function.body.params.iter().map(|param| param.ty.elem());
        let parameters: Vec<(&str, Ty)> = names.iter().map(|name| &name[..]).zip(params).collect();
        let author = if origin == Origin::Program { Author::Program } else { Author::Compiler };
        self.written_once(author, &function.name, &parameters, |code, values| {
            code.estimates = origin == Origin::Estimate;
            code.expanded = origin != Origin::Program;
            for (param, &value) in function.body.params.iter().zip(values) {
                code.bind(param.id, param.ty.elem(), value);
            }
            code.statements(&function.body)?;
            let results: Vec<(Ty, Value)> = code.all(&function.body.results)?;
            let tys: Vec<Ty> = results.iter().map(|r| r.0).collect();
            let ty = code.build.result_ty(&function.name, &tys)?;
            let value = match (&results[..], ty) {
                ([], _) | (_, None) => None,
                ([(_, only)], _) => Some(*only),
                (many, Some(ty)) => {
                    let components = many.iter().map(|r| r.1).collect();
                    Some(code.expr(Expression::Compose { ty, components }))
                }
            };
            code.push(Statement::Return { value });
            code.function.result = ty.map(|ty| naga::FunctionResult { ty, binding: None });
            Ok(())
        })
    }

    /// The function of a name and parameters; the first who asks for it has its code written.
    pub(super) fn written_once(
        &mut self,
        author: Author,
        name: &str,
        parameters: &[(&str, Ty)],
        write: impl FnOnce(&mut Code, &[Value]) -> Result<(), EmitError>,
    ) -> Result<Handle<naga::Function>, EmitError> {
        let key = (author, name.to_string());
        if let Some(&known) = self.functions.get(&key) {
            return Ok(known);
        }
        let mut arguments = vec![];
        for &(name, ty) in parameters {
            let scalar = self.scalar(ty)?;
            let ty = self.scalar_ty(scalar);
            arguments.push(naga::FunctionArgument { name: Some(name.to_string()), ty, binding: None });
        }
        let mut code = Code::new(self);
        code.function.name = Some(name.to_string());
        code.function.arguments = arguments;
        let count = parameters.len() as u32;
        let values: Vec<Value> = (0..count).map(|k| code.append(Expression::FunctionArgument(k))).collect();
        write(&mut code, &values)?;
        let written = code.finish();
        let handle = self.module.functions.append(written, Span::UNDEFINED);
        self.functions.insert(key, handle);
        Ok(handle)
    }

    /// One scalar, or a struct of several.
    fn result_ty(&mut self, name: &str, tys: &[Ty]) -> Result<Option<Handle<naga::Type>>, EmitError> {
        let mut scalars = vec![];
        for &ty in tys {
            scalars.push(self.scalar(ty)?);
        }
        Ok(match scalars[..] {
            [] => None,
            [only] => Some(self.scalar_ty(only)),
            _ => {
                let mut members = vec![];
                let mut span = 0u32;
                for (k, &scalar) in scalars.iter().enumerate() {
                    let width = u32::from(scalar.width).max(4);
                    span = span.next_multiple_of(width);
                    let ty = self.scalar_ty(scalar);
                    members.push(naga::StructMember { name: Some(format!("r{k}")), ty, binding: None, offset: span });
                    span += width;
                }
                let inner = TypeInner::Struct { members, span: span.next_multiple_of(8) };
                let ty = naga::Type { name: Some(format!("{name}_results")), inner };
                Some(self.module.types.insert(ty, Span::UNDEFINED))
            }
        })
    }
}

/// A value with its name's type, and the type that holds it: an `i64` may be in 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Named {
    pub(super) ty: Ty,
    pub(super) held: Ty,
    pub(super) value: Value,
}

/// The code of one function.
pub(super) struct Code<'b, 'k> {
    pub(super) build: &'b mut Build<'k>,
    pub(super) function: naga::Function,
    /// Open blocks, the innermost last.
    blocks: Vec<Block>,
    values: HashMap<Id, Named>,
    /// Of the entry point; other functions narrow nothing.
    pub(super) narrowing: Narrowing,
    /// Quotients and roots are the target's own.
    pub(super) estimates: bool,
    /// It is an algorithm of ours, which counts on every rounding.
    pub(super) expanded: bool,
    /// How many values without a name a value hangs on, one on the other.
    depths: HashMap<Value, u32>,
    /// Arguments of the entry point.
    builtins: HashMap<BuiltIn, Value>,
    /// Memories of this thread.
    pub(super) locals: HashMap<usize, Handle<LocalVariable>>,
}

impl<'b, 'k> Code<'b, 'k> {
    fn new(build: &'b mut Build<'k>) -> Code<'b, 'k> {
        Code {
            build,
            function: naga::Function::default(),
            blocks: vec![Block::new()],
            values: HashMap::new(),
            narrowing: Narrowing::default(),
            estimates: false,
            expanded: false,
            depths: HashMap::new(),
            builtins: HashMap::new(),
            locals: HashMap::new(),
        }
    }

    fn finish(mut self) -> naga::Function {
        self.function.body = self.blocks.pop().unwrap_or_default();
        self.function
    }

    // ---- names

    pub(super) fn bind(&mut self, id: Id, ty: Ty, value: Value) {
        self.bind_named(id, Named { ty, held: ty, value });
    }

    pub(super) fn bind_named(&mut self, id: Id, named: Named) {
        self.values.insert(id, named);
    }

    /// The writer of WGSL goes down into whatever has no name: a long chain of values gets one now and then, or the stack would
    /// end before the chain.
    pub(super) fn name_in_chain(&mut self, Stmt { binds, op }: &Stmt) {
        let ([bind], Op::Apply(..) | Op::Cast(..) | Op::Bitcast(..)) = (&binds[..], op) else { return };
        let Some(value) = self.values.get(&bind.id).map(|named| named.value) else { return };
        let mut depth = 0;
        op.each_operand(&mut |id| {
            let below = self.values.get(&id).and_then(|named| self.depths.get(&named.value));
            depth = depth.max(below.map_or(1, |below| below + 1));
        });
        if depth >= CHAIN {
            self.function.named_expressions.insert(value, format!("v{}", bind.id.0));
            depth = 0;
        }
        self.depths.insert(value, depth);
    }

    /// A value as it is held.
    pub(super) fn named(&self, id: Id) -> Result<Named, EmitError> {
        let found = self.values.get(&id).copied();
        found.ok_or_else(|| self.build.form(&format!("%{} before it is bound", id.0)))
    }

    /// A value in its type.
    pub(super) fn get(&mut self, id: Id) -> Result<(Ty, Value), EmitError> {
        let Named { ty, held, value } = self.named(id)?;
        Ok((ty, self.resized(held, ty, value)?))
    }

    pub(super) fn all(&mut self, ids: &[Id]) -> Result<Vec<(Ty, Value)>, EmitError> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    // ---- statements and expressions

    pub(super) fn push(&mut self, statement: Statement) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(statement, Span::UNDEFINED);
        }
    }

    /// What is written by `write`, as a block of its own.
    pub(super) fn block(&mut self, write: impl FnOnce(&mut Self) -> Result<(), EmitError>) -> Result<Block, EmitError> {
        self.blocks.push(Block::new());
        let done = write(self);
        let block = self.blocks.pop().unwrap_or_default();
        done.map(|()| block)
    }

    /// An expression that naga evaluates where it stands: literals, variables, arguments, results of statements.
    pub(super) fn append(&mut self, expression: Expression) -> Value {
        self.function.expressions.append(expression, Span::UNDEFINED)
    }

    /// An expression that is evaluated here.
    pub(super) fn expr(&mut self, expression: Expression) -> Value {
        let value = self.append(expression);
        self.push(Statement::Emit(Range::new_from_bounds(value, value)));
        value
    }

    pub(super) fn literal(&mut self, literal: Literal) -> Value {
        self.append(Expression::Literal(literal))
    }

    pub(super) fn u32(&mut self, value: u32) -> Value {
        self.literal(Literal::U32(value))
    }

    pub(super) fn binary(&mut self, op: BinaryOperator, left: Value, right: Value) -> Value {
        self.expr(Expression::Binary { op, left, right })
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, expr: Value) -> Value {
        self.expr(Expression::Unary { op, expr })
    }

    pub(super) fn select(&mut self, condition: Value, accept: Value, reject: Value) -> Value {
        self.expr(Expression::Select { condition, accept, reject })
    }

    pub(super) fn convert(&mut self, expr: Value, to: naga::Scalar) -> Value {
        self.expr(Expression::As { expr, kind: to.kind, convert: Some(to.width) })
    }

    pub(super) fn bits(&mut self, expr: Value, kind: ScalarKind) -> Value {
        self.expr(Expression::As { expr, kind, convert: None })
    }

    pub(super) fn math(&mut self, fun: MathFunction, args: &[Value]) -> Value {
        let arg = |k: usize| args.get(k).copied();
        self.expr(Expression::Math { fun, arg: args[0], arg1: arg(1), arg2: arg(2), arg3: arg(3) })
    }

    pub(super) fn call(
        &mut self,
        function: Handle<naga::Function>,
        arguments: Vec<Value>,
        gives: bool,
    ) -> Option<Value> {
        let result = gives.then(|| self.append(Expression::CallResult(function)));
        self.push(Statement::Call { function, arguments, result });
        result
    }

    // ---- variables

    pub(super) fn variable(&mut self, scalar: naga::Scalar) -> Value {
        let ty = self.build.scalar_ty(scalar);
        let variable = LocalVariable { name: None, ty, init: None };
        let handle = self.function.local_variables.append(variable, Span::UNDEFINED);
        self.append(Expression::LocalVariable(handle))
    }

    pub(super) fn store(&mut self, pointer: Value, value: Value) {
        self.push(Statement::Store { pointer, value });
    }

    pub(super) fn load(&mut self, pointer: Value) -> Value {
        self.expr(Expression::Load { pointer })
    }

    // ---- what a launch passes

    /// One of the two halves of a word of the uniform buffer.
    fn word(&mut self, number: usize, half: u32) -> Value {
        let Some(uniform) = self.build.uniform else { return self.u32(0) };
        let base = self.append(Expression::GlobalVariable(uniform));
        let base = self.expr(Expression::AccessIndex { base, index: number as u32 / 2 });
        let pointer = self.expr(Expression::AccessIndex { base, index: number as u32 % 2 * 2 + half });
        self.load(pointer)
    }

    /// A 0 that compilers do not know: the word behind everything that a launch passes.
    pub(super) fn unknown_zero(&mut self) -> Value {
        let behind = self.build.extents.len() + self.build.kernel.body.params.len();
        self.word(behind, 0)
    }

    /// A word of the uniform buffer as 64 bits.
    fn long_word(&mut self, number: usize) -> Value {
        let low = self.word(number, 0);
        let high = self.word(number, 1);
        self.join(low, high)
    }

    /// A `u64` of its halves.
    pub(super) fn join(&mut self, low: Value, high: Value) -> Value {
        let low = self.convert(low, naga::Scalar::U64);
        let high = self.convert(high, naga::Scalar::U64);
        let by = self.u32(32);
        let high = self.binary(BinaryOperator::ShiftLeft, high, by);
        self.binary(BinaryOperator::InclusiveOr, high, low)
    }

    fn scalar_argument(&mut self, number: usize, ty: Ty) -> Result<Value, EmitError> {
        let scalar = self.build.scalar(ty)?;
        Ok(match ty {
            Ty::Bool => {
                let word = self.word(number, 0);
                let zero = self.u32(0);
                self.binary(BinaryOperator::NotEqual, word, zero)
            }
            Ty::I8 | Ty::I16 | Ty::U8 | Ty::U16 | Ty::F16 | Ty::BF16 => {
                let word = self.word(number, 0);
                self.unpacked(ty, word)?
            }
            Ty::I32 | Ty::U32 | Ty::F32 => {
                let word = self.word(number, 0);
                self.bits(word, scalar.kind)
            }
            Ty::I64 if scalar.width == 4 => {
                return Err(self.build.lacks_int64("64-bit integers (an i64 argument)"));
            }
            Ty::F64 if !self.build.target.int64 => {
                return Err(self.build.lacks_int64("64-bit integers (the bits of an f64)"));
            }
            Ty::I64 | Ty::U64 | Ty::F64 => {
                let word = self.long_word(number);
                self.bits(word, scalar.kind)
            }
        })
    }

    /// The value of a size in `u32`, `i32` or `i64`.
    pub(super) fn extent(&mut self, size: &Size, held: Ty) -> Result<Value, EmitError> {
        if let Some(n) = size.constant() {
            return self.constant(Scalar::from_int(held, n.into()));
        }
        let number = self.extent_number(size)?;
        let scalar = self.build.scalar(held)?;
        let word = if scalar.width == 8 { self.long_word(number) } else { self.word(number, 0) };
        Ok(if scalar.kind == ScalarKind::Uint { word } else { self.bits(word, scalar.kind) })
    }

    /// The low 32 bits of a size: places in buffers need no more.
    pub(super) fn short_extent(&mut self, size: &Size) -> Result<Value, EmitError> {
        if let Some(n) = size.constant() {
            return Ok(self.u32(n as u32));
        }
        let number = self.extent_number(size)?;
        Ok(self.word(number, 0))
    }

    fn extent_number(&self, size: &Size) -> Result<usize, EmitError> {
        let number = self.build.extents.binary_search(size).ok();
        number.ok_or_else(|| self.build.form("a size that no code mentions"))
    }

    /// A built-in value of the entry point, `u32` or a vector of three.
    pub(super) fn builtin(&mut self, builtin: BuiltIn) -> Value {
        if let Some(&known) = self.builtins.get(&builtin) {
            return known;
        }
        let vector = matches!(builtin, BuiltIn::GlobalInvocationId | BuiltIn::LocalInvocationId | BuiltIn::WorkGroupId);
        let scalar = naga::Scalar::U32;
        let inner =
            if vector { TypeInner::Vector { size: VectorSize::Tri, scalar } } else { TypeInner::Scalar(scalar) };
        let ty = self.build.ty(inner);
        let number = self.function.arguments.len() as u32;
        let binding = Some(naga::Binding::BuiltIn(builtin));
        self.function.arguments.push(naga::FunctionArgument { name: None, ty, binding });
        let value = self.append(Expression::FunctionArgument(number));
        self.builtins.insert(builtin, value);
        value
    }
}
