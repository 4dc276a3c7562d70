//! Operations, as they are recorded in the trace. One copy each: nothing here is generic over user types.
//!
//! Every function takes the place of the user's call, checks its operands, and gives poisoned handles when
//! something is wrong with them; the mistake is then noted in the trace.

use crate::extent::Extent;
use crate::trace::{Handle, Key, Loc, Out, Part, State, Trace, here, with};
use slyz_sir::build::Region;
use slyz_sir::code::{Body, Id, Monoid, Op, RawCall, Type};
use slyz_sir::ops::Operator;
use slyz_sir::power;
use slyz_sir::program::Require;
use slyz_sir::raw::RawKernel;
use slyz_sir::types::{Scalar, Ty};
use std::sync::Arc;

/// A traced body: parameters in, results out.
pub(crate) type BodyFn<'a> = &'a mut dyn FnMut(&[Handle]) -> Vec<Handle>;

/// A monoid, taken apart.
pub(crate) struct MonoidParts<'a> {
    pub neutral: Vec<Handle>,
    pub tys: Vec<Ty>,
    pub combine: BodyFn<'a>,
    pub commutative: bool,
}

fn poison(count: usize) -> Vec<Handle> {
    vec![Handle::POISON; count]
}

/// Records operations that give one scalar.
fn scalar(at: Loc, f: impl FnOnce(&mut Trace, Loc) -> Option<Op>) -> Handle {
    let at = here(at);
    let made = with(|trace| {
        let op = f(trace, at)?;
        let ids = trace.make(at, op)?;
        ids.first().map(|&id| trace.scalar(id))
    });
    made.flatten().unwrap_or(Handle::POISON)
}

fn scalars(at: Loc, count: usize, f: impl FnOnce(&mut Trace) -> Option<Op>) -> Vec<Handle> {
    let made = with(|trace| {
        let op = f(trace)?;
        let ids = trace.make(at, op)?;
        Some(ids.into_iter().map(|id| trace.scalar(id)).collect())
    });
    made.flatten().unwrap_or_else(|| poison(count))
}

fn array(at: Loc, f: impl FnOnce(&mut Trace) -> Option<Op>) -> Handle {
    let made = with(|trace| {
        let op = f(trace)?;
        let ids = trace.make(at, op)?;
        Some(trace.array(ids))
    });
    made.flatten().unwrap_or(Handle::POISON)
}

pub(crate) fn constant(at: Loc, value: Scalar) -> Handle {
    scalar(at, |_, _| Some(Op::Const(value)))
}

pub(crate) fn apply(at: Loc, operator: Operator, args: &[Handle]) -> Handle {
    if matches!(operator, Operator::Pow | Operator::Powi)
        && let Some(power) = constant_power(at, operator, args)
    {
        return power;
    }
    scalar(at, |trace, at| Some(Op::Apply(operator, trace.ids(args, at)?)))
}

/// A power whose exponent is a constant: products and roots, where those do.
fn constant_power(at: Loc, operator: Operator, args: &[Handle]) -> Option<Handle> {
    struct Here(Loc);
    impl power::Pen for Here {
        type Value = Handle;
        type Error = std::convert::Infallible;
        fn constant(&mut self, value: Scalar) -> Result<Handle, Self::Error> {
            Ok(constant(self.0, value))
        }
        fn apply(&mut self, operator: Operator, args: &[Handle], _: Ty) -> Result<Handle, Self::Error> {
            Ok(apply(self.0, operator, args))
        }
        fn cast(&mut self, value: Handle, _: Ty, to: Ty) -> Result<Handle, Self::Error> {
            Ok(cast(self.0, to, value))
        }
    }
    let at = here(at);
    let &[x, _] = args else { return None };
    // What is wrong with a handle is noted here, and once.
    let Some(ids) = with(|trace| trace.ids(args, at)).flatten() else { return Some(Handle::POISON) };
    let (ty, exponent) = with(|trace| {
        let Some(&Type::Scalar(ty)) = trace.builder.ty(ids[0]) else { return None };
        Some((ty, trace.builder.constant_of(ids[1])?))
    })
    .flatten()?;
    let Ok(power) = power::write(&mut Here(at), operator, x, ty, exponent);
    power
}

pub(crate) fn cast(at: Loc, to: Ty, arg: Handle) -> Handle {
    let at = here(at);
    let same = with(|trace| {
        let id = trace.id(arg, at)?;
        Some(trace.builder.ty(id) == Some(&Type::Scalar(to)))
    });
    match same.flatten() {
        Some(true) => arg,
        Some(false) => scalar(at, |trace, at| Some(Op::Cast(to, trace.id(arg, at)?))),
        None => Handle::POISON,
    }
}

pub(crate) fn bitcast(at: Loc, to: Ty, arg: Handle) -> Handle {
    scalar(at, |trace, at| Some(Op::Bitcast(to, trace.id(arg, at)?)))
}

/// The number of positions of an axis, `i64`.
pub(crate) fn extent(at: Loc, extent: &Extent) -> Handle {
    scalar(at, |trace, _| {
        let size = trace.size(extent);
        Some(match size.constant() {
            Some(n) => Op::Const(Scalar::i64(n as i64)),
            None => Op::Extent(size),
        })
    })
}

/// How many positions all axes have together.
pub(crate) fn count(at: Loc, axes: &[Extent]) -> Handle {
    let extents = axes.iter().map(|axis| extent(at, axis));
    extents.reduce(|a, b| apply(at, Operator::Mul, &[a, b])).unwrap_or_else(|| constant(at, Scalar::i64(1)))
}

pub(crate) fn select(at: Loc, cond: Handle, yes: &[Handle], no: &[Handle]) -> Vec<Handle> {
    yes.iter().zip(no).map(|(&yes, &no)| apply(at, Operator::Select, &[cond, yes, no])).collect()
}

/// The element of an array at a position: one scalar per leaf.
pub(crate) fn read(at: Loc, array: Handle, count: usize, position: &[Handle]) -> Vec<Handle> {
    let at = here(at);
    let read = with(|trace| {
        let leaves = trace.leaves(array, at);
        let index = trace.ids(position, at);
        let leaves = leaves?;
        let index = index?;
        let one = |trace: &mut Trace, leaf: Id| match index.is_empty() {
            true => Some(leaf),
            false => trace.make(at, Op::At { array: leaf, index: index.clone() })?.first().copied(),
        };
        let ids: Option<Vec<Id>> = leaves.into_iter().map(|leaf| one(trace, leaf)).collect();
        Some(ids?.into_iter().map(|id| trace.scalar(id)).collect())
    });
    read.flatten().unwrap_or_else(|| poison(count))
}

fn body(
    at: Loc,
    what: &'static str,
    region: Region,
    params: &[Ty],
    f: &mut dyn FnMut(&[Handle]) -> Vec<Out>,
) -> Option<Body> {
    let params: Vec<Type> = params.iter().map(|&ty| Type::Scalar(ty)).collect();
    body_of(at, what, region, &params, &mut |ids| {
        let handles = with(|trace| ids.iter().map(|&id| trace.scalar(id)).collect::<Vec<_>>());
        f(&handles.unwrap_or_default())
    })
}

/// Opens a body, runs `f` in it, and closes it. The body is thrown away when `f` panics or its results are wrong.
fn body_of(
    at: Loc,
    what: &'static str,
    region: Region,
    params: &[Type],
    f: &mut dyn FnMut(&[Id]) -> Vec<Out>,
) -> Option<Body> {
    struct Unwind(usize);
    impl Drop for Unwind {
        fn drop(&mut self) {
            let depth = self.0;
            with(|trace| trace.builder.unwind(depth));
        }
    }
    let (depth, params) = with(|trace| {
        let depth = trace.builder.depth();
        trace.note_body(what, at);
        let ids = trace.builder.open(region, params);
        trace.note(&ids, at);
        (depth, ids)
    })?;
    let unwind = Unwind(depth);
    let results = f(&params);
    let closed = with(|trace| {
        let ids: Vec<Option<Vec<Id>>> = results.iter().map(|out| trace.out(out, at)).collect();
        let ids: Option<Vec<Vec<Id>>> = ids.into_iter().collect();
        trace.builder.close(&ids?.concat()).map_err(|error| trace.refuse(at, error)).ok()
    });
    drop(unwind);
    closed.flatten()
}

fn scalar_body(at: Loc, what: &'static str, region: Region, params: &[Ty], f: BodyFn) -> Option<Body> {
    body(at, what, region, params, &mut |params| f(params).into_iter().map(Out::Scalar).collect())
}

fn position_body(at: Loc, what: &'static str, rank: usize, f: BodyFn) -> Option<Body> {
    scalar_body(at, what, Region::Loop, &vec![Ty::I64; rank], f)
}

fn monoid(at: Loc, parts: MonoidParts) -> Option<Monoid> {
    let two = [&parts.tys[..], &parts.tys[..]].concat();
    let combine = scalar_body(at, "monoid", Region::Loop, &two, parts.combine)?;
    let neutral = with(|trace| trace.ids(&parts.neutral, at))??;
    Some(Monoid { neutral, combine, commutative: parts.commutative })
}

/// The array whose element at `p` is `f(p)`. An array without axes is its one element.
pub(crate) fn tabulate(at: Loc, axes: &[Extent], f: BodyFn) -> Handle {
    let at = here(at);
    if axes.is_empty() {
        let leaves = f(&[]);
        return crate::trace::array_of(at, &leaves);
    }
    let Some(body) = position_body(at, "tabulate", axes.len(), f) else { return Handle::POISON };
    array(at, |trace| Some(Op::Tabulate { shape: trace.shape(axes), body }))
}

/// One operand of an operator on arrays.
pub enum Operand {
    /// An array, which sees the inner end of a position: as many places as its rank. An element has `count` leaves.
    Array { array: Handle, count: usize, rank: usize },
    /// The same scalar everywhere.
    Scalar(Handle),
    /// The same constant everywhere.
    Constant(Scalar),
}

/// An operator on all elements of arrays, leaf by leaf; an operand of one leaf meets all leaves of the others.
pub(crate) fn elementwise(at: Loc, operator: Operator, axes: &[Extent], count: usize, operands: &[Operand]) -> Handle {
    let at = here(at);
    tabulate(at, axes, &mut |position| {
        let element = |operand: &Operand| match *operand {
            Operand::Array { array, count, rank } => read(at, array, count, &position[position.len() - rank..]),
            Operand::Scalar(scalar) => vec![scalar],
            Operand::Constant(value) => vec![constant(at, value)],
        };
        let elements: Vec<Vec<Handle>> = operands.iter().map(element).collect();
        let leaf = |k: usize| elements.iter().map(move |leaves| leaves[if leaves.len() == 1 { 0 } else { k }]);
        (0..count).map(|k| apply(at, operator, &leaf(k).collect::<Vec<_>>())).collect()
    })
}

/// All elements converted.
pub(crate) fn cast_array(at: Loc, to: Ty, axes: &[Extent], array: Handle) -> Handle {
    let at = here(at);
    tabulate(at, axes, &mut |position| {
        read(at, array, 1, position).into_iter().map(|element| cast(at, to, element)).collect()
    })
}

/// One array per position of some axes, stacked.
pub(crate) fn stack(at: Loc, axes: &[Extent], f: &mut dyn FnMut(&[Handle]) -> Handle) -> Handle {
    let at = here(at);
    let tys = vec![Ty::I64; axes.len()];
    let body = body(at, "stack", Region::Loop, &tys, &mut |params| vec![Out::Array(f(params))]);
    let Some(body) = body else { return Handle::POISON };
    array(at, |trace| Some(Op::Tabulate { shape: trace.shape(axes), body }))
}

/// `f(p)` for all positions, combined.
pub(crate) fn fold(at: Loc, axes: &[Extent], f: BodyFn, parts: MonoidParts) -> Vec<Handle> {
    let at = here(at);
    if axes.is_empty() {
        return f(&[]);
    }
    let count = parts.tys.len();
    let body = position_body(at, "fold", axes.len(), f);
    let (Some(body), Some(monoid)) = (body, monoid(at, parts)) else { return poison(count) };
    scalars(at, count, |trace| Some(Op::Fold { shape: trace.shape(axes), body, monoid }))
}

/// Inclusive prefixes of an array along its last axis.
pub(crate) fn scan(at: Loc, axes: &[Extent], f: BodyFn, parts: MonoidParts) -> Handle {
    let at = here(at);
    let body = position_body(at, "scan", axes.len(), f);
    let (Some(body), Some(monoid)) = (body, monoid(at, parts)) else { return Handle::POISON };
    array(at, |trace| Some(Op::Scan { shape: trace.shape(axes), body, monoid }))
}

/// Values combined into computed positions. `f` gives one position per target axis, then the values.
pub(crate) fn scatter(at: Loc, axes: &[Extent], target: &[Extent], f: BodyFn, parts: MonoidParts) -> Handle {
    let at = here(at);
    if axes.is_empty() || target.is_empty() {
        crate::trace::error(at, "a scatter without axes", "go over at least one axis, and write to at least one");
        return Handle::POISON;
    }
    let body = position_body(at, "scatter", axes.len(), f);
    let (Some(body), Some(monoid)) = (body, monoid(at, parts)) else { return Handle::POISON };
    array(at, |trace| {
        Some(Op::Scatter { shape: trace.shape(axes), body, target: trace.shape(target), onto: vec![], monoid })
    })
}

/// The same, starting from an array.
pub(crate) fn scatter_onto(at: Loc, axes: &[Extent], onto: Handle, f: BodyFn, parts: MonoidParts) -> Handle {
    let at = here(at);
    if axes.is_empty() {
        crate::trace::error(at, "a scatter without axes", "go over at least one axis");
        return Handle::POISON;
    }
    let body = position_body(at, "scatter", axes.len(), f);
    let (Some(body), Some(monoid)) = (body, monoid(at, parts)) else { return Handle::POISON };
    array(at, |trace| {
        let onto = trace.leaves(onto, at)?;
        let target = onto.first().and_then(|&id| trace.builder.ty(id)).map_or(vec![], |ty| ty.shape().to_vec());
        Some(Op::Scatter { shape: trace.shape(axes), body, target, onto, monoid })
    })
}

/// The values at the positions that are kept. `f` gives a `bool`, then the values.
pub(crate) fn filter(at: Loc, axis: &Extent, kept: &Extent, f: BodyFn) -> Handle {
    let at = here(at);
    let Some(kept) = with(|trace| trace.count(at, kept)).flatten() else { return Handle::POISON };
    let Some(body) = position_body(at, "filter", 1, f) else { return Handle::POISON };
    array(at, |trace| Some(Op::Filter { extent: trace.size(axis), body, kept }))
}

/// What the elements of a line are sorted by: words, with the number of bits that count; and what is put in that order.
pub(crate) type Sorted = (Vec<(Handle, u32)>, Vec<Handle>);

/// The values at all positions, each line along the last axis in the order of its words.
pub(crate) fn sort(at: Loc, axes: &[Extent], f: &mut dyn FnMut(&[Handle]) -> Sorted) -> Handle {
    let at = here(at);
    let mut widths = vec![];
    let body = position_body(at, "sort", axes.len(), &mut |position| {
        let (mut words, values) = f(position);
        if words.is_empty() {
            // Without a key all elements are equal.
            words.push((constant(at, Scalar::from_int(Ty::U32, 0)), 1));
        }
        widths = words.iter().map(|(_, width)| *width).collect();
        words.into_iter().map(|(word, _)| word).chain(values).collect()
    });
    let Some(body) = body else { return Handle::POISON };
    array(at, |trace| Some(Op::Sort { shape: trace.shape(axes), widths, body }))
}

/// How often a counted loop turns.
pub(crate) enum Turns {
    /// So many times, `u32`.
    Count(Handle),
    /// Once for each position.
    Axis(Extent),
}

/// A traced turn: the parts of the state in and out.
pub(crate) type StateFn<'a> = &'a mut dyn FnMut(&[Part]) -> Vec<Part>;

/// A counted loop; the body gets the turn, then the state.
pub(crate) fn count_turns(
    at: Loc,
    what: &'static str,
    turns: Turns,
    init: &[Part],
    step: &mut dyn FnMut(Handle, &[Part]) -> Vec<Part>,
) -> Vec<Part> {
    let at = here(at);
    let (counter, hi) = match turns {
        Turns::Count(count) => (Ty::U32, count),
        Turns::Axis(axis) => (Ty::I64, extent(at, &axis)),
    };
    let lo = constant(at, Scalar::from_int(counter, 0));
    let one = constant(at, Scalar::from_int(counter, 1));
    let body = state_body(at, what, Some(counter), init, init, &mut |turn, state| step(turn, state));
    let Some(body) = body else { return poisoned(init) };
    let made = with(|trace| {
        let bounds = trace.ids(&[lo, hi, one], at);
        let init = trace.parts(init, at);
        let bounds = bounds?;
        trace.make(at, Op::For { lo: bounds[0], hi: bounds[1], step: bounds[2], init: init?, body })
    });
    given(made.flatten(), init)
}

/// Turns while `cond` holds of the state.
pub(crate) fn repeat_while(at: Loc, init: &[Part], cond: StateFn, step: StateFn) -> Vec<Part> {
    let at = here(at);
    let one = [Part::scalar(Handle::NUMBER)];
    let cond = state_body(at, "repeat_while", None, init, &one, &mut |_, state| cond(state));
    let body = state_body(at, "repeat_while", None, init, init, &mut |_, state| step(state));
    let (Some(cond), Some(body)) = (cond, body) else { return poisoned(init) };
    let made = with(|trace| {
        let init = trace.parts(init, at)?;
        trace.make(at, Op::While { init, cond, body })
    });
    given(made.flatten(), init)
}

fn poisoned(parts: &[Part]) -> Vec<Part> {
    parts.iter().map(|part| part.like(Handle::POISON)).collect()
}

/// The parts that a loop gives, by the names of its results.
fn given(made: Option<Vec<Id>>, init: &[Part]) -> Vec<Part> {
    let parts = made.and_then(|ids| with(|trace| trace.parts_of(&ids, init)));
    parts.unwrap_or_else(|| poisoned(init))
}

/// A body of a loop: perhaps the turn, then the state; what it gives must be like `results`.
fn state_body(
    at: Loc,
    what: &'static str,
    counter: Option<Ty>,
    state: &[Part],
    results: &[Part],
    f: &mut dyn FnMut(Handle, &[Part]) -> Vec<Part>,
) -> Option<Body> {
    let params = with(|trace| {
        let ids = trace.parts(state, at)?;
        let types: Option<Vec<Type>> = ids.iter().map(|&id| trace.builder.ty(id).cloned()).collect();
        Some(counter.map(Type::Scalar).into_iter().chain(types?).collect::<Vec<Type>>())
    })??;
    let mut like = true;
    let body = body_of(at, what, Region::Loop, &params, &mut |ids| {
        let turn = with(|trace| counter.and(ids.first()).map(|&id| trace.scalar(id))).flatten();
        let ids = &ids[usize::from(counter.is_some())..];
        let state = with(|trace| trace.parts_of(ids, state)).unwrap_or_default();
        let given = f(turn.unwrap_or(Handle::POISON), &state);
        like = given.len() == results.len() && given.iter().zip(results).all(|(part, result)| part.is_like(*result));
        given.iter().map(|part| part.out()).collect()
    });
    if !like {
        let help = "derive the struct's traits instead of implementing `State` by hand";
        crate::trace::error(at, "a turn gives a state of other types than it gets", help);
        return None;
    }
    body
}

/// What a raw kernel means: arguments in, arrays out.
pub(crate) type MeaningFn<'a> = &'a mut dyn FnMut(&[Part]) -> Vec<Handle>;

/// A call of a raw kernel. `results` are the arrays that it gives, with the types of their leaves; `meaning` is given the arguments.
pub(crate) fn raw(
    at: Loc,
    kernel: &Arc<RawKernel>,
    args: &[Part],
    [threads, extents]: [&[Extent]; 2],
    results: &[(Vec<Ty>, Vec<Extent>)],
    meaning: Option<MeaningFn>,
) -> Vec<Handle> {
    let at = here(at);
    let meaning = match meaning {
        None => None,
        Some(f) => match raw_meaning(at, args, f) {
            Some(body) => Some(body),
            None => return poison(results.len()),
        },
    };
    let made = with(|trace| {
        let args = trace.parts(args, at)?;
        let threads = trace.shape(threads);
        let extents = trace.shape(extents);
        let mut leaves = vec![];
        for (tys, axes) in results {
            let shape = trace.shape(axes);
            leaves.extend(tys.iter().map(|&ty| (ty, shape.clone())));
        }
        let call = RawCall { kernel: kernel.clone(), args, threads, extents, results: leaves, meaning };
        let mut ids = trace.make(at, Op::Raw(Box::new(call)))?.into_iter();
        let arrays = results.iter().map(|(tys, _)| trace.array(ids.by_ref().take(tys.len()).collect()));
        Some(arrays.collect())
    });
    made.flatten().unwrap_or_else(|| poison(results.len()))
}

fn raw_meaning(at: Loc, args: &[Part], f: MeaningFn) -> Option<Body> {
    let params = with(|trace| {
        let ids = trace.parts(args, at)?;
        ids.iter().map(|&id| trace.builder.ty(id).cloned()).collect::<Option<Vec<Type>>>()
    })??;
    body_of(at, "meaning", Region::Branch, &params, &mut |ids| {
        let args = with(|trace| trace.parts_of(ids, args)).unwrap_or_default();
        f(&args).into_iter().map(Out::Array).collect()
    })
}

/// One of two bodies. Both get `args`; each gives `count` scalars.
pub(crate) fn branch(
    at: Loc,
    cond: Handle,
    args: &[Handle],
    arg_tys: &[Ty],
    count: usize,
    then: BodyFn,
    otherwise: BodyFn,
) -> Vec<Handle> {
    let at = here(at);
    let then = scalar_body(at, "if", Region::Branch, arg_tys, then);
    let otherwise = scalar_body(at, "if", Region::Branch, arg_tys, otherwise);
    let (Some(then), Some(otherwise)) = (then, otherwise) else { return poison(count) };
    if count == 0 {
        return vec![];
    }
    scalars(at, count, |trace| {
        let cond = trace.id(cond, at);
        let args = trace.ids(args, at);
        Some(Op::If { cond: cond?, args: args?, then, otherwise })
    })
}

/// A call of a shared function, which is traced at its first call. A body that is more than scalar code cannot be
/// a function of the program; it is traced in place, at every call.
pub(crate) fn call(at: Loc, name: &str, key: Key, args: &[Handle], count: usize, body: BodyFn) -> Vec<Handle> {
    let at = here(at);
    if args.iter().any(|arg| arg.is_array()) {
        return body(args);
    }
    let tys = with(|trace| {
        let ids = trace.ids(args, at)?;
        ids.into_iter().map(|id| trace.builder.ty(id).map(Type::elem)).collect::<Option<Vec<Ty>>>()
    });
    let Some(tys) = tys.flatten() else { return poison(count) };
    let state = match with(|trace| trace.functions.get(&key).copied()) {
        Some(Some(state)) => state,
        Some(None) => {
            let state = shared_body(at, name, &key, &tys, body);
            with(|trace| trace.functions.insert(key, state));
            state
        }
        None => return poison(count),
    };
    match state {
        State::Shared(function) => scalars(at, count, |trace| Some(Op::Call(function, trace.ids(args, at)?))),
        State::Inline => body(args),
        State::Failed => poison(count),
        State::Open => {
            let help = "a traced function cannot be recursive; use `iterate` or `repeat_while`";
            with(|trace| trace.error(at, format!("`{name}` calls itself"), help));
            poison(count)
        }
    }
}

/// Traces the body of a shared function.
fn shared_body(at: Loc, name: &str, key: &Key, tys: &[Ty], body: BodyFn) -> State {
    /// Throws the body away and marks the function as failed, also when the user's code panics.
    struct Close<'a>(usize, &'a Key);
    impl Drop for Close<'_> {
        fn drop(&mut self) {
            let (depth, key) = (self.0, self.1);
            with(|trace| {
                trace.builder.unwind(depth);
                trace.open_functions.pop();
                trace.functions.insert(key.clone(), State::Failed);
            });
        }
    }
    let opened = with(|trace| {
        let depth = trace.builder.depth();
        let tys: Vec<Type> = tys.iter().map(|&ty| Type::Scalar(ty)).collect();
        trace.functions.insert(key.clone(), State::Open);
        trace.open_functions.push(false);
        trace.note_body("shared function", at);
        let ids = trace.builder.open_function(name, &tys);
        trace.note(&ids, at);
        (depth, ids.into_iter().map(|id| trace.scalar(id)).collect::<Vec<_>>())
    });
    let Some((depth, params)) = opened else { return State::Failed };
    let close = Close(depth, key);
    let before = with(|trace| trace.has_errors());
    let results = body(&params);
    let state = with(|trace| {
        let Some(ids) = trace.ids(&results, at) else { return State::Failed };
        match trace.open_functions.last() {
            Some(true) if before == Some(false) && trace.has_errors() => State::Failed,
            Some(true) => State::Inline,
            Some(false) | None => match trace.builder.close_function(&ids) {
                Ok(function) => State::Shared(function),
                Err(error) => {
                    trace.refuse(at, error);
                    State::Failed
                }
            },
        }
    });
    drop(close);
    state.unwrap_or(State::Failed)
}

/// Says that the call must bring at least one position on the axis, unless every call does.
pub(crate) fn require_positions(at: Loc, axis: &Extent) {
    with(|trace| {
        let size = trace.size(axis);
        trace.require(here(at), Require::NonEmpty(size));
    });
}

/// Says that a call must be able to number the positions of the axis.
pub(crate) fn require_countable(axis: &Extent) {
    with(|trace| {
        let size = trace.size(axis);
        trace.require_countable(size);
    });
}

/// Says that `start + length` must not be past the end of the axis.
pub(crate) fn require_inside(at: Loc, start: u64, length: &Extent, axis: &Extent) {
    with(|trace| {
        let end = slyz_sir::size::Size::Const(start) + trace.size(length);
        let size = trace.size(axis);
        trace.require(here(at), Require::AtMost(end, size));
    });
}

/// Says that two extents must be equal. A named axis that no argument tells gets its extent from it.
pub(crate) fn require_equal(at: Loc, one: &Extent, other: &Extent) {
    with(|trace| {
        let one = trace.size(one);
        let other = trace.size(other);
        trace.require(here(at), Require::Equal(one, other));
    });
}

/// Says that `length` places, each `step` after the one before, must lie on the axis, from `start` on.
pub(crate) fn require_strided(at: Loc, start: u64, step: u64, length: &Extent, axis: &Extent) {
    use slyz_sir::size::Size;
    if step == 0 {
        crate::trace::error(at, "a slice with a step of 0", "step by at least 1, or `repeat` an element");
    }
    with(|trace| {
        // The last place is `step - 1` before the end of the last step.
        let end = Size::Const(start) + trace.size(length) * Size::Const(step);
        let size = trace.size(axis) + Size::Const(step.saturating_sub(1));
        trace.require(here(at), Require::AtMost(end, size));
    });
}

fn integer(at: Loc, operator: Operator, a: Handle, b: Handle) -> Handle {
    apply(at, operator, &[a, b])
}

/// A position anywhere, moved to the nearest one on the axis.
pub(crate) fn clamp(at: Loc, axis: &Extent, position: Handle) -> Handle {
    let zero = constant(at, Scalar::i64(0));
    let one = constant(at, Scalar::i64(1));
    let last = integer(at, Operator::Sub, extent(at, axis), one);
    apply(at, Operator::Clamp, &[position, zero, last])
}

/// A position anywhere, counted around the axis.
pub(crate) fn wrap(at: Loc, axis: &Extent, position: Handle) -> Handle {
    let extent = extent(at, axis);
    let rest = integer(at, Operator::Rem, position, extent);
    let shifted = integer(at, Operator::Add, rest, extent);
    integer(at, Operator::Rem, shifted, extent)
}

/// Is a position anywhere on the axis?
pub(crate) fn inside(at: Loc, axis: &Extent, position: Handle) -> Handle {
    let low = integer(at, Operator::Ge, position, constant(at, Scalar::i64(0)));
    let high = integer(at, Operator::Lt, position, extent(at, axis));
    integer(at, Operator::And, low, high)
}

/// A place around one axis.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Spot {
    pub(crate) number: Handle,
    /// The axis has a position.
    pub(crate) reached: bool,
    /// It is a position of the axis.
    pub(crate) inside: bool,
}

impl Spot {
    /// A position of the axis.
    pub(crate) fn inside(number: Handle) -> Spot {
        Spot { number, reached: true, inside: true }
    }

    /// A number, of which nothing is known.
    pub(crate) fn anywhere(number: Handle) -> Spot {
        Spot { number, reached: false, inside: false }
    }

    /// The position of the axis that `rule` makes of it. The axis must have one.
    pub(crate) fn moved(&self, at: Loc, axis: &Extent, rule: fn(Loc, &Extent, Handle) -> Handle) -> Handle {
        if self.inside {
            return self.number;
        }
        if !self.reached {
            require_positions(at, axis);
        }
        rule(at, axis, self.number)
    }
}

/// Are all places inside?
pub(crate) fn all_inside(at: Loc, axes: &[Extent], spots: &[Spot]) -> Option<Handle> {
    let uncertain = axes.iter().zip(spots).filter(|(_, spot)| !spot.inside);
    let tests = uncertain.map(|(axis, spot)| inside(at, axis, spot.number));
    tests.reduce(|a, b| integer(at, Operator::And, a, b))
}

/// The element at a place, or `default` outside.
pub(crate) fn read_or(at: Loc, array: Handle, axes: &[Extent], spots: &[Spot], default: &[Handle]) -> Vec<Handle> {
    let count = default.len();
    let numbers: Vec<Handle> = spots.iter().map(|spot| spot.number).collect();
    let Some(all_inside) = all_inside(at, axes, spots) else {
        return read(at, array, count, &numbers);
    };
    if spots.iter().all(|spot| spot.reached) {
        // The axes have positions, so there is something to read, and a selection is cheaper than a branch.
        let clamped = axes.iter().zip(spots).map(|(axis, spot)| match spot.inside {
            true => spot.number,
            false => clamp(at, axis, spot.number),
        });
        let element = read(at, array, count, &clamped.collect::<Vec<_>>());
        return select(at, all_inside, &element, default);
    }
    // The positions travel as arguments of the branch: they are inside only there.
    let tys = vec![Ty::I64; numbers.len()];
    let element = &mut |position: &[Handle]| read(at, array, count, position);
    branch(at, all_inside, &numbers, &tys, count, element, &mut |_| default.to_vec())
}

/// A position plus a constant.
pub(crate) fn shift(at: Loc, position: Handle, by: i64) -> Handle {
    if by == 0 { position } else { integer(at, Operator::Add, position, constant(at, Scalar::i64(by))) }
}

/// The row-major number of a position.
pub(crate) fn ravel(at: Loc, axes: &[Extent], position: &[Handle]) -> Handle {
    let mut pairs = axes.iter().zip(position);
    let Some((_, &first)) = pairs.next() else { return constant(at, Scalar::i64(0)) };
    pairs.fold(first, |number, (axis, &place)| {
        let scaled = integer(at, Operator::Mul, number, extent(at, axis));
        integer(at, Operator::Add, scaled, place)
    })
}

/// The position with a row-major number. The outermost axis needs no remainder: the number is inside.
pub(crate) fn unravel(at: Loc, axes: &[Extent], number: Handle) -> Vec<Handle> {
    let mut rest = number;
    let mut position: Vec<Handle> = vec![];
    for (place, axis) in axes.iter().enumerate().rev() {
        if place == 0 {
            position.push(rest);
        } else {
            let extent = extent(at, axis);
            position.push(integer(at, Operator::Rem, rest, extent));
            rest = integer(at, Operator::Div, rest, extent);
        }
    }
    position.reverse();
    position
}

/// An array with the same elements in row-major order and another shape of the same size.
pub(crate) fn reshape(at: Loc, array: Handle, count: usize, from: &[Extent], to: &[Extent]) -> Handle {
    let at = here(at);
    let before = Extent::product(from);
    let after = Extent::product(to);
    if before != after {
        with(|trace| {
            let sizes = (trace.size(&before), trace.size(&after));
            match sizes.0 == sizes.1 {
                true => trace.require_countable(sizes.0),
                false => trace.require(at, Require::Equal(sizes.0, sizes.1)),
            }
        });
    } else if to.len() > 1 {
        require_countable(&after);
    }
    tabulate(at, to, &mut |position| {
        let number = ravel(at, to, position);
        read(at, array, count, &unravel(at, from, number))
    })
}
