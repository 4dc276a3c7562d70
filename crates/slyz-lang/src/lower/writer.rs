//! SIR under construction: bodies that are open, names, and the values of locals.
//!
//! A constant is not a name until somebody needs one. What is the same whenever it is computed (constants, extents, places,
//! operators, elements of memories that nobody writes) is named once and known by that name in all code that it dominates.

use super::memories::Memories;
use super::reach::Reached;
use super::{Excess, MAX_STATEMENTS, TooLarge};
use crate::span::Span;
use crate::typed::{FunctionId, LocalId, Program};
use slyz_sir::class;
use slyz_sir::code::{Body, FnId, Id, MemId, Op, Stmt, Var};
use slyz_sir::kernel::Space;
use slyz_sir::names::Names;
use slyz_sir::nesting::MAX_NESTING;
use slyz_sir::ops::Operator;
use slyz_sir::power;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::write::Write;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

pub(super) type Lowered<T> = Result<T, TooLarge>;

/// So many functions may be written into each other.
pub(crate) const DEEPEST_CALL: usize = 64;

/// So many expressions may stand inside each other, those of calls included; it is the stack that ends there.
const DEEPEST_EXPRESSION: usize = 1000;

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Const(Scalar),
    Name(Id),
}

/// The call that is being written.
pub(super) struct Frame<'p> {
    pub(super) function: FunctionId,
    /// The types of its locals.
    pub(super) types: &'p [Ty],
    /// Their values here.
    pub(super) locals: Vec<Option<Value>>,
    /// What was set, with the value before, so that it can be taken back: most code sets few of many locals.
    pub(super) log: Vec<(u32, Option<Value>)>,
    /// The memories that its parameters stand for; `None` for scalars.
    pub(super) tensors: Vec<Option<MemId>>,
}

/// A body that is not finished.
#[derive(Default)]
pub(super) struct Open {
    stmts: Vec<Stmt>,
    /// What has a name here.
    known: HashMap<Op, Id>,
}

pub(super) struct TemplateWriter<'p> {
    pub(super) program: &'p Program,
    pub(super) reached: &'p BTreeMap<FunctionId, Reached>,
    pub(super) memories: &'p Memories,
    /// The functions that stay functions.
    pub(super) functions: &'p HashMap<FunctionId, FnId>,
    /// Accesses are checked.
    pub(super) checked: bool,
    /// Calls, innermost last.
    frames: Vec<Frame<'p>>,
    /// Bodies, innermost last.
    open: Vec<Open>,
    /// The parameters of the outermost body.
    given: Range<u32>,
    depth: usize,
    next: u32,
    written: usize,
    /// The access that is being written, as it stands in the source.
    pub(super) at: Span,
    /// Those to memory of the block, in the order of the code.
    pub(super) accesses: Vec<Span>,
    /// What values are called in the source.
    pub(super) names: Names,
}

impl<'p> TemplateWriter<'p> {
    pub(super) fn new(
        program: &'p Program,
        reached: &'p BTreeMap<FunctionId, Reached>,
        memories: &'p Memories,
        functions: &'p HashMap<FunctionId, FnId>,
        checked: bool,
    ) -> TemplateWriter<'p> {
        let frames = vec![];
        let open = vec![];
        TemplateWriter {
            program,
            reached,
            memories,
            functions,
            checked,
            frames,
            open,
            given: 0..0,
            depth: 0,
            next: 0,
            written: 0,
            at: Span::default(),
            accesses: vec![],
            names: Names::default(),
        }
    }

    // ---- calls and locals

    pub(super) fn frame(&self) -> &Frame<'p> {
        self.frames.last().expect("code is written for a call")
    }

    fn frame_mut(&mut self) -> &mut Frame<'p> {
        self.frames.last_mut().expect("code is written for a call")
    }

    /// Writes code inside a call.
    pub(super) fn enter<T>(&mut self, frame: Frame<'p>, write: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        self.frames.push(frame);
        let written = if self.frames.len() > DEEPEST_CALL { Err(self.too(Excess::Nesting)) } else { write(self) };
        self.frames.pop();
        written
    }

    pub(super) fn local_ty(&self, LocalId(id): LocalId) -> Ty {
        self.frame().types[id as usize]
    }

    /// The value of a local; zero if none was set on the way here, in which case nobody looks at it.
    pub(super) fn get(&self, local: LocalId) -> Value {
        let zero = Value::Const(Scalar::from_bits(self.local_ty(local), 0));
        self.frame().locals[local.0 as usize].unwrap_or(zero)
    }

    pub(super) fn set(&mut self, LocalId(id): LocalId, value: Value) {
        let function = &self.program.functions[self.frame().function.0 as usize];
        if let (Value::Name(value), Some(local)) = (value, function.locals.get(id as usize)) {
            self.names.note(value, &local.name);
        }
        let frame = self.frame_mut();
        let before = frame.locals[id as usize].replace(value);
        frame.log.push((id, before));
    }

    /// Writes code whose assignments are seen inside it only.
    pub(super) fn apart<T>(&mut self, write: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        let mark = self.frame().log.len();
        let written = write(self)?;
        let frame = self.frame_mut();
        for (id, before) in frame.log.drain(mark..).rev() {
            frame.locals[id as usize] = before;
        }
        Ok(written)
    }

    /// Enters an expression; there is an end to how many stand inside each other, calls included.
    pub(super) fn deeper(&mut self) -> Lowered<()> {
        self.depth += 1;
        if self.depth > DEEPEST_EXPRESSION { Err(self.too(Excess::Nesting)) } else { Ok(()) }
    }

    /// Leaves it.
    pub(super) fn shallower(&mut self) {
        self.depth -= 1;
    }

    // ---- names and statements

    fn top(&mut self) -> &mut Open {
        self.open.last_mut().expect("code is written into a body")
    }

    pub(super) fn too(&self, what: Excess) -> TooLarge {
        let function = self.frames.last().and_then(|frame| self.program.functions.get(frame.function.0 as usize));
        TooLarge { function: function.map_or_else(String::new, |function| function.name.clone()), what }
    }

    /// Adds a statement with results of these types.
    pub(super) fn emit(&mut self, op: Op, tys: &[Ty]) -> Lowered<Vec<Id>> {
        self.written += 1;
        if self.written > MAX_STATEMENTS {
            return Err(self.too(Excess::Statements));
        }
        if accessed(&op).is_some_and(|MemId(memory)| self.memories.memories[memory as usize].space == Space::Shared) {
            self.accesses.push(self.at);
        }
        Ok(self.bind(op, tys))
    }

    /// The name of something that is the same wherever it is computed.
    pub(super) fn pure(&mut self, op: Op, ty: Ty) -> Lowered<Id> {
        if let Some(id) = self.known(&op) {
            return Ok(id);
        }
        // What is the same in the whole launch, or for the whole thread, stands in front of all code around it, once.
        let free = match op {
            Op::Const(_) | Op::Extent(_) | Op::Place(..) => true,
            Op::Cast(_, Id(arg)) => self.given.contains(&arg),
            Op::Apply(..) | Op::Bitcast(..) | class!(Call) | class!(Control) => false,
            class!(Array) | class!(Memory) | class!(Meeting) => false,
        };
        let inner = if free { self.open.split_off(1) } else { vec![] };
        let emitted = self.emit(op.clone(), &[ty]);
        if let Ok(ids) = &emitted {
            self.remember(op, ids[0]);
        }
        self.open.extend(inner);
        emitted.map(|ids| ids[0])
    }

    /// The name that something has here.
    pub(super) fn known(&self, op: &Op) -> Option<Id> {
        self.open.iter().rev().find_map(|body| body.known.get(op)).copied()
    }

    /// From here on, in this body, it has that name.
    pub(super) fn remember(&mut self, op: Op, id: Id) {
        self.top().known.insert(op, id);
    }

    pub(super) fn name(&mut self, value: Value) -> Lowered<Id> {
        match value {
            Value::Name(id) => Ok(id),
            Value::Const(scalar) => self.pure(Op::Const(scalar), scalar.ty),
        }
    }

    pub(super) fn names(&mut self, values: &[Value]) -> Lowered<Vec<Id>> {
        values.iter().map(|&value| self.name(value)).collect()
    }

    /// An operator. What is known already, and the same on every device, is computed here.
    pub(super) fn apply(&mut self, operator: Operator, args: &[Value], ty: Ty) -> Lowered<Value> {
        let constants: Option<Vec<Scalar>> = args.iter().map(|arg| constant(*arg)).collect();
        let folded = constants.filter(|_| operator.row().ulp == 0).and_then(|constants| operator.eval(&constants));
        if let Some(value) = folded {
            return Ok(Value::Const(value));
        }
        if let (Operator::Pow | Operator::Powi, &[x, Value::Const(exponent)]) = (operator, args)
            && let Some(power) = power::write(self, operator, x, ty, exponent)?
        {
            return Ok(power);
        }
        let args = self.names(args)?;
        self.pure(Op::Apply(operator, args), ty).map(Value::Name)
    }

    // ---- bodies

    /// Goes on with a body, writes into it and closes it.
    fn within<T>(&mut self, body: Open, write: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<(Open, T)> {
        if self.open.len() == MAX_NESTING {
            return Err(self.too(Excess::Nesting));
        }
        self.open.push(body);
        let written = write(self);
        let body = self.open.pop().expect("opened above");
        Ok((body, written?))
    }

    /// The outermost body: that of a function or of the kernel.
    pub(super) fn root(
        &mut self,
        params: Vec<Var>,
        write: impl FnOnce(&mut Self) -> Lowered<Vec<Value>>,
    ) -> Lowered<Body> {
        self.given = self.next - params.len() as u32..self.next;
        self.body(params, write)
    }

    /// A body of its own, with parameters; `write` gives the results.
    pub(super) fn body(
        &mut self,
        params: Vec<Var>,
        write: impl FnOnce(&mut Self) -> Lowered<Vec<Value>>,
    ) -> Lowered<Body> {
        let (open, results) = self.within(Open::default(), |w| {
            let values = write(w)?;
            w.names(&values)
        })?;
        Ok(Body { params, stmts: open.stmts, results })
    }

    /// One of two. Each side gives values of the types; those that do not depend on the side need no result.
    pub(super) fn choose(
        &mut self,
        cond: Value,
        tys: &[Ty],
        then: impl FnOnce(&mut Self) -> Lowered<Vec<Value>>,
        otherwise: impl FnOnce(&mut Self) -> Lowered<Vec<Value>>,
    ) -> Lowered<Vec<Value>> {
        let cond = match cond {
            Value::Const(cond) if cond.is_true() => return then(self),
            Value::Const(_) => return otherwise(self),
            Value::Name(cond) => cond,
        };
        let (then, mut yes) = self.within(Open::default(), |w| w.apart(then))?;
        let (otherwise, mut no) = self.within(Open::default(), |w| w.apart(otherwise))?;
        let mut merged = vec![];
        for (&yes, &no) in yes.iter().zip(&no) {
            merged.push(match (yes, no) {
                (yes, no) if yes == no => Some(yes),
                (Value::Const(yes), Value::Const(no)) if (yes, no) == (Scalar::bool(true), Scalar::bool(false)) => {
                    Some(Value::Name(cond))
                }
                (Value::Const(yes), Value::Const(no)) if (yes, no) == (Scalar::bool(false), Scalar::bool(true)) => {
                    Some(self.apply(Operator::Not, &[Value::Name(cond)], Ty::Bool)?)
                }
                _ => None,
            });
        }
        let differs = |values: &mut Vec<Value>| {
            let mut decided = merged.iter().map(Option::is_none);
            values.retain(|_| decided.next() == Some(true));
        };
        differs(&mut yes);
        differs(&mut no);
        if then.stmts.is_empty() && otherwise.stmts.is_empty() && yes.is_empty() {
            return Ok(merged.into_iter().flatten().collect());
        }
        let (then, yes) = self.within(then, |w| w.names(&yes))?;
        let (otherwise, no) = self.within(otherwise, |w| w.names(&no))?;
        let body = |open: Open, results| Body { params: vec![], stmts: open.stmts, results };
        let op = Op::If { cond, args: vec![], then: body(then, yes), otherwise: body(otherwise, no) };
        let open: Vec<Ty> = tys.iter().zip(&merged).filter(|(_, merged)| merged.is_none()).map(|(&ty, _)| ty).collect();
        let mut results = self.emit(op, &open)?.into_iter().map(Value::Name);
        Ok(merged.into_iter().filter_map(|merged| merged.or_else(|| results.next())).collect())
    }
}

/// Names and statements, without their bounds: code is written by [`TemplateWriter::emit`], and bodies by [`TemplateWriter::body`],
/// which knows what has a name in them.
impl Write for TemplateWriter<'_> {
    fn fresh(&mut self) -> Id {
        self.next += 1;
        Id(self.next - 1)
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        &mut self.top().stmts
    }
}

impl power::Pen for TemplateWriter<'_> {
    type Value = Value;
    type Error = TooLarge;

    fn constant(&mut self, value: Scalar) -> Lowered<Value> {
        Ok(Value::Const(value))
    }

    fn apply(&mut self, operator: Operator, args: &[Value], ty: Ty) -> Lowered<Value> {
        TemplateWriter::apply(self, operator, args, ty)
    }

    fn cast(&mut self, value: Value, from: Ty, to: Ty) -> Lowered<Value> {
        TemplateWriter::cast(self, value, from, to)
    }
}

pub(super) fn constant(value: Value) -> Option<Scalar> {
    match value {
        Value::Const(scalar) => Some(scalar),
        Value::Name(_) => None,
    }
}

/// The memory that an operation reads or writes.
pub(crate) fn accessed(op: &Op) -> Option<MemId> {
    if let Op::Load { memory, .. } | Op::Store { memory, .. } | Op::Atomic { memory, .. } = op {
        return Some(*memory);
    }
    None
}
