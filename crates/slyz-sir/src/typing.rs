//! The types an operation gives its results, and what it asks of its operands.
//!
//! The builder asks this when it makes a statement, the verifier when it checks one. It looks at types only:
//! whether names are in scope, and which level an operation belongs to, is the verifier's business.

use crate::code::{AtomicOp, Body, Fragment, Function, Id, Monoid, Op, SubgroupOp, Type};
use crate::kernel::Memory;
use crate::ops::Operator;
use crate::raw;
use crate::size::Size;
use crate::types::Ty;

/// An operation that does not fit its operands; the text says how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TypeError(pub String);

/// What names mean around an operation.
pub struct Context<'a> {
    /// The type of any name bound in the program or kernel.
    pub types: &'a dyn Fn(Id) -> Option<Type>,
    /// Its functions.
    pub functions: &'a [Function],
    /// Its memories; none in a program.
    pub memories: &'a [Memory],
}

fn fail<T>(why: impl Into<String>) -> Result<T, TypeError> {
    Err(TypeError(why.into()))
}

impl Context<'_> {
    fn of(&self, id: Id) -> Result<Type, TypeError> {
        (self.types)(id).ok_or_else(|| TypeError(format!("%{} is not bound", id.0)))
    }

    fn scalar(&self, id: Id) -> Result<Ty, TypeError> {
        match self.of(id)? {
            Type::Scalar(ty) => Ok(ty),
            Type::Array(..) => fail(format!("%{} is an array where a scalar is needed", id.0)),
        }
    }

    fn scalars(&self, ids: &[Id]) -> Result<Vec<Ty>, TypeError> {
        ids.iter().map(|&id| self.scalar(id)).collect()
    }

    fn expect(&self, id: Id, ty: Ty, what: &str) -> Result<(), TypeError> {
        match self.scalar(id)? {
            found if found == ty => Ok(()),
            found => fail(format!("{what} must be {ty}, found {found}")),
        }
    }

    fn params(&self, body: &Body, want: &[Ty], what: &str) -> Result<(), TypeError> {
        self.takes(body, &scalars(want), what)
    }

    fn takes(&self, body: &Body, want: &[Type], what: &str) -> Result<(), TypeError> {
        let found: Vec<Type> = body.params.iter().map(|p| p.ty.clone()).collect();
        if found == want { Ok(()) } else { fail(format!("the {what} takes {found:?}, but {want:?} is needed")) }
    }

    fn gives(&self, body: &Body, want: &[Type], what: &str) -> Result<(), TypeError> {
        let found = self.all(&body.results)?;
        if found == want { Ok(()) } else { fail(format!("the {what} gives {found:?}, but {want:?} is needed")) }
    }

    fn all(&self, ids: &[Id]) -> Result<Vec<Type>, TypeError> {
        ids.iter().map(|&id| self.of(id)).collect()
    }

    fn results(&self, body: &Body, want: &[Ty], what: &str) -> Result<(), TypeError> {
        let found = self.scalars(&body.results)?;
        if found == want { Ok(()) } else { fail(format!("the {what} gives {found:?}, but {want:?} is needed")) }
    }

    fn positions(&self, body: &Body, rank: usize, what: &str) -> Result<(), TypeError> {
        if rank == 0 {
            return fail(format!("a {what} needs at least one axis"));
        }
        self.params(body, &vec![Ty::I64; rank], what)
    }

    fn monoid(&self, monoid: &Monoid, tys: &[Ty]) -> Result<(), TypeError> {
        let neutral = self.scalars(&monoid.neutral)?;
        if neutral != tys || tys.is_empty() {
            return fail(format!("the neutral element is {neutral:?}, but the values are {tys:?}"));
        }
        self.params(&monoid.combine, &[tys, tys].concat(), "combining body")?;
        self.results(&monoid.combine, tys, "combining body")
    }

    fn index(&self, index: &[Id], rank: usize, what: &str) -> Result<(), TypeError> {
        if index.len() != rank {
            return fail(format!("{what} has {rank} axes, but is read at {} positions", index.len()));
        }
        index.iter().try_for_each(|&i| self.expect(i, Ty::I64, "a position"))
    }

    fn memory(&self, id: crate::code::MemId) -> Result<&Memory, TypeError> {
        match self.memories.get(id.0 as usize) {
            Some(memory) => Ok(memory),
            None => fail(format!("there is no memory number {}", id.0)),
        }
    }
}

fn scalars(tys: &[Ty]) -> Vec<Type> {
    tys.iter().map(|&ty| Type::Scalar(ty)).collect()
}

fn arrays(tys: &[Ty], shape: &[Size]) -> Vec<Type> {
    tys.iter().map(|&ty| Type::of(ty, shape.to_vec())).collect()
}

/// Numbers of a claim: three of a thread, four of a position.
const MOST_NUMBERS: usize = 7;

/// What a lane brings to a product of fragments.
const MMA_ARGUMENTS: [Ty; 10] =
    [Ty::U32, Ty::U32, Ty::U32, Ty::U32, Ty::U32, Ty::U32, Ty::F32, Ty::F32, Ty::F32, Ty::F32];

/// The types of the results. `width` is the number of names the statement binds: only `load` needs to know.
pub fn result_types(op: &Op, width: usize, cx: &Context) -> Result<Vec<Type>, TypeError> {
    Ok(match op {
        Op::Const(value) => scalars(&[value.ty]),
        Op::Extent(_) => scalars(&[Ty::I64]),
        Op::Apply(operator, args) => {
            let tys = cx.scalars(args)?;
            match operator.result(&tys) {
                Some(ty) => scalars(&[ty]),
                None => return fail(format!("`{}` is not defined on {tys:?}", operator.name())),
            }
        }
        Op::Cast(to, arg) => {
            cx.scalar(*arg)?;
            scalars(&[*to])
        }
        Op::Bitcast(to, arg) => match cx.scalar(*arg)? {
            from if from.bits() == to.bits() && from != Ty::Bool => scalars(&[*to]),
            from => return fail(format!("the bits of {from} do not make a {to}: the widths differ")),
        },
        Op::Call(function, args) => {
            let Some(function) = cx.functions.get(function.0 as usize) else {
                return fail("there is no such function");
            };
            cx.params(&function.body, &cx.scalars(args)?, "function")?;
            scalars(&cx.scalars(&function.body.results)?)
        }
        Op::If { cond, args, then, otherwise } => {
            cx.expect(*cond, Ty::Bool, "a condition")?;
            let args = cx.scalars(args)?;
            cx.params(then, &args, "first branch")?;
            cx.params(otherwise, &args, "second branch")?;
            let tys = cx.scalars(&then.results)?;
            cx.results(otherwise, &tys, "second branch")?;
            scalars(&tys)
        }
        Op::For { lo, hi, step, init, body } => {
            let counter = cx.scalar(*lo)?;
            if !counter.is_int() {
                return fail(format!("a loop counter must be an integer, found {counter}"));
            }
            cx.expect(*hi, counter, "the end of a loop")?;
            cx.expect(*step, counter, "the step of a loop")?;
            let state = cx.all(init)?;
            cx.takes(body, &[&[Type::Scalar(counter)], &state[..]].concat(), "loop body")?;
            cx.gives(body, &state, "loop body")?;
            state
        }
        Op::While { init, cond, body } => {
            let state = cx.all(init)?;
            cx.takes(cond, &state, "loop condition")?;
            cx.results(cond, &[Ty::Bool], "loop condition")?;
            cx.takes(body, &state, "loop body")?;
            cx.gives(body, &state, "loop body")?;
            state
        }
        Op::At { array, index } => {
            let Type::Array(ty, shape) = cx.of(*array)? else {
                return fail(format!("%{} is a scalar and cannot be read at a position", array.0));
            };
            cx.index(index, shape.len(), &format!("%{}", array.0))?;
            scalars(&[ty])
        }
        Op::Tabulate { shape, body } => {
            cx.positions(body, shape.len(), "tabulate")?;
            let tys: Vec<Type> = body.results.iter().map(|&id| cx.of(id)).collect::<Result<_, _>>()?;
            let Some(first) = tys.first() else { return fail("a tabulate gives no value") };
            if tys.iter().any(|t| t.shape() != first.shape()) {
                return fail("a tabulate gives arrays of different shapes");
            }
            tys.iter().map(|t| Type::Array(t.elem(), [shape, t.shape()].concat())).collect()
        }
        Op::Fold { shape, body, monoid } => {
            cx.positions(body, shape.len(), "fold")?;
            let tys = cx.scalars(&body.results)?;
            cx.monoid(monoid, &tys)?;
            scalars(&tys)
        }
        Op::Scan { shape, body, monoid } => {
            cx.positions(body, shape.len(), "scan")?;
            let tys = cx.scalars(&body.results)?;
            cx.monoid(monoid, &tys)?;
            arrays(&tys, shape)
        }
        Op::Scatter { shape, body, target, onto, monoid } => {
            cx.positions(body, shape.len(), "scatter")?;
            let tys = cx.scalars(&body.results)?;
            let rank = target.len();
            if rank == 0 || tys.len() <= rank || tys[..rank].iter().any(|&ty| ty != Ty::I64) {
                return fail(format!("a scatter into {rank} axes must give that many i64 positions, then values"));
            }
            let values = arrays(&tys[rank..], target);
            cx.monoid(monoid, &tys[rank..])?;
            let start = cx.all(onto)?;
            if !start.is_empty() && start != values {
                return fail(format!("a scatter onto {start:?} gives {values:?}"));
            }
            values
        }
        Op::Filter { body, kept, .. } => {
            cx.positions(body, 1, "filter")?;
            let tys = cx.scalars(&body.results)?;
            if tys.len() < 2 || tys[0] != Ty::Bool {
                return fail("a filter must give a bool, then values");
            }
            arrays(&tys[1..], &[Size::Var(*kept)])
        }
        Op::Sort { shape, widths, body } => {
            cx.positions(body, shape.len(), "sort")?;
            let tys = cx.scalars(&body.results)?;
            let words = widths.len();
            if words == 0 || widths.iter().any(|width| !(1..=32).contains(width)) {
                return fail("a sort goes by one word or more, of 1 to 32 bits each");
            }
            if tys.len() <= words || tys[..words].iter().any(|&ty| ty != Ty::U32) {
                return fail(format!("a sort by {words} words must give that many u32, then values"));
            }
            arrays(&tys[words..], shape)
        }
        Op::Raw(call) => {
            let gives = call.result_types();
            if gives.is_empty() || gives.iter().any(|ty| ty.shape().is_empty()) {
                return fail("a raw kernel gives one array or more");
            }
            let takes = cx.all(&call.args)?;
            if let Some(meaning) = &call.meaning {
                cx.takes(meaning, &takes, "meaning")?;
                cx.gives(meaning, &gives, "meaning")?;
            }
            let passed = call.passed(&takes);
            for source in &call.kernel.sources {
                raw::check(source, &passed)
                    .map_err(|why| TypeError(format!("raw kernel `{}`: {why}", call.kernel.name)))?;
            }
            gives
        }
        Op::Place(..) => scalars(&[Ty::I64]),
        Op::Load { memory, index } => {
            let memory = cx.memory(*memory)?;
            cx.index(index, memory.shape.len(), &memory.name)?;
            if !matches!(width, 1 | 2 | 4 | 8 | 16) {
                return fail("a load gives 1, 2, 4, 8 or 16 elements");
            }
            scalars(&vec![memory.ty; width])
        }
        Op::LoadFragment { memory, index, .. } => {
            let memory = cx.memory(*memory)?;
            cx.index(index, memory.shape.len(), &memory.name)?;
            if memory.ty != Ty::U32 {
                return fail(format!("fragments are read as words (u32), and `{}` is of {}", memory.name, memory.ty));
            }
            scalars(&[Ty::U32; 4])
        }
        Op::Store { memory, index, values } => {
            let memory = cx.memory(*memory)?;
            cx.index(index, memory.shape.len(), &memory.name)?;
            if !matches!(values.len(), 1 | 2 | 4 | 8 | 16) {
                return fail("a store takes 1, 2, 4, 8 or 16 elements");
            }
            values.iter().try_for_each(|&v| cx.expect(v, memory.ty, "a stored value"))?;
            vec![]
        }
        Op::Atomic { op, memory, index, args } => {
            let memory = cx.memory(*memory)?;
            cx.index(index, memory.shape.len(), &memory.name)?;
            let arity = match op {
                AtomicOp::Update(operator) => {
                    use Operator::{Add, And, Max, Min, Or, Xor};
                    if !matches!(operator, Add | Min | Max | And | Or | Xor)
                        || operator.result(&[memory.ty, memory.ty]).is_none()
                    {
                        return fail(format!("there is no atomic `{}` on {}", operator.name(), memory.ty));
                    }
                    1
                }
                AtomicOp::Exchange | AtomicOp::Store => 1,
                AtomicOp::CompareExchange => 2,
                AtomicOp::Load => 0,
                AtomicOp::Claim => {
                    let [mark, numbers @ ..] = &args[..] else { return fail("a claim takes a mark".to_string()) };
                    if memory.ty != Ty::I32 || memory.shape.len() != 1 {
                        return fail("claims are made in memories of i32 with one axis".to_string());
                    }
                    if numbers.len() > MOST_NUMBERS {
                        return fail(format!("a claim has at most {MOST_NUMBERS} numbers, found {}", numbers.len()));
                    }
                    cx.expect(*mark, Ty::I32, "the mark of a claim")?;
                    numbers.iter().try_for_each(|&n| cx.expect(n, Ty::I64, "a number of a claim"))?;
                    return Ok(scalars(&[Ty::I32]));
                }
            };
            if args.len() != arity {
                return fail(format!("this atomic takes {arity} operands, found {}", args.len()));
            }
            args.iter().try_for_each(|&a| cx.expect(a, memory.ty, "an atomic operand"))?;
            scalars(&[memory.ty])
        }
        Op::Check { memory, index } => {
            let memory = cx.memory(*memory)?;
            cx.index(index, memory.shape.len(), &memory.name)?;
            scalars(&[Ty::Bool])
        }
        Op::Barrier(_) | Op::Fence(_) => vec![],
        Op::Subgroup(op, args) => {
            let tys = cx.scalars(args)?;
            let ty = match (op, &tys[..]) {
                (SubgroupOp::Reduce(operator) | SubgroupOp::Scan(operator), &[ty])
                    if operator.row().associative && operator.result(&[ty, ty]) == Some(ty) =>
                {
                    ty
                }
                (
                    SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown,
                    &[ty, Ty::I64],
                ) => ty,
                (SubgroupOp::Broadcast, &[ty]) => ty,
                (SubgroupOp::Ballot, &[Ty::Bool]) => Ty::U64,
                (SubgroupOp::Any | SubgroupOp::All, &[Ty::Bool]) => Ty::Bool,
                _ => return fail(format!("the subgroup operation {op:?} is not defined on {tys:?}")),
            };
            scalars(&[ty])
        }
        Op::Mma(fragment, args) => {
            let tys = cx.scalars(args)?;
            if tys != MMA_ARGUMENTS {
                return fail(format!("`mma {}` takes six words (u32) and four f32, not {tys:?}", fragment.name()));
            }
            scalars(&[Ty::F32; Fragment::HELD[2]])
        }
        Op::Lanes { lo, hi, body, monoid } => {
            cx.expect(*lo, Ty::I64, "the first turn")?;
            cx.expect(*hi, Ty::I64, "the last turn")?;
            cx.positions(body, 1, "lanes loop")?;
            let tys = cx.scalars(&body.results)?;
            match monoid {
                Some(monoid) => cx.monoid(monoid, &tys)?,
                None if tys.is_empty() => {}
                None => return fail("a lanes loop without a monoid gives nothing"),
            }
            scalars(&tys)
        }
        Op::Prefixes { lo, hi, from, body, monoid, put } => {
            cx.expect(*lo, Ty::I64, "the first turn")?;
            cx.expect(*hi, Ty::I64, "the last turn")?;
            cx.positions(body, 1, "prefixes loop")?;
            let tys = cx.scalars(&body.results)?;
            cx.monoid(monoid, &tys)?;
            let before = cx.scalars(from)?;
            let told: Vec<Type> = put.params.iter().map(|p| p.ty.clone()).collect();
            let turn = std::iter::once(&Ty::I64);
            let wanted: Vec<Type> = turn.chain(&tys).map(|&ty| Type::Scalar(ty)).collect();
            if before != tys {
                return fail(format!("prefixes of {tys:?} start from {before:?}"));
            }
            if told != wanted || !put.results.is_empty() {
                return fail("what is done with a prefix takes the turn and the prefix, and gives nothing");
            }
            scalars(&tys)
        }
    })
}
