//! Evaluates statements.
//!
//! Names are unique in a program, so the environment is one flat list: a body that runs again overwrites what its last
//! run bound, and nothing is copied. It checks what it needs not to panic, and no more.

use super::{InterpError, Options, Taken, copied};
use crate::code::{Body, FnId, Id, Monoid, Op, RawCall, Stmt, Var, largest_id};
use crate::interp::fold::fold_in_order;
use crate::interp::{Array, Value};
use crate::nesting::{MAX_NESTING, TooDeep};
use crate::ops::Operator;
use crate::program::Program;
use crate::size::{Size, SizeOrigin, SizeVar};
use crate::types::{Scalar, Ty};
use std::cell::RefCell;
use std::rc::Rc;

type Ran<T> = Result<T, InterpError>;

/// What a name is bound to.
#[derive(Clone)]
enum Bound {
    Scalar(Scalar),
    Array(Rc<Array>),
}

/// A program that runs.
pub(super) struct Machine<'g> {
    pub(super) program: &'g Program,
    pub(super) sizes: Vec<Option<u64>>,
    /// Requirements that are not checked yet.
    pub(super) waiting: Vec<usize>,
    slots: Vec<Option<Bound>>,
    depth: usize,
    turns: u64,
    /// Is told of turns of the program's own loops.
    watch: &'g mut dyn FnMut(Taken),
    options: Options,
}

fn malformed<T>(why: impl Into<String>) -> Ran<T> {
    Err(InterpError::Malformed(why.into()))
}

/// Room for the elements of an array.
pub(super) fn reserve(id: Id, elements: u64, limit: Option<u64>) -> Ran<Vec<u64>> {
    let mut data = vec![];
    let fits = usize::try_from(elements).is_ok_and(|n| data.try_reserve_exact(n).is_ok());
    if fits && limit.is_none_or(|limit| elements <= limit) {
        Ok(data)
    } else {
        Err(InterpError::OutOfMemory { id, elements })
    }
}

/// The number of positions of a shape, if it can be counted.
fn positions(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |n, &m| n.checked_mul(m)) }
}

/// The number of a position in row-major order, if it is inside.
fn offset(shape: &[u64], index: impl Iterator<Item = i64>) -> Option<usize> {
    let mut at = 0u64;
    for (&extent, i) in shape.iter().zip(index) {
        let i = u64::try_from(i).ok().filter(|&i| i < extent)?;
        // An array without elements may have axes whose product is past counting.
        at = at.checked_mul(extent)?.checked_add(i)?;
    }
    usize::try_from(at).ok()
}

impl<'g> Machine<'g> {
    pub(super) fn new(
        program: &'g Program,
        sizes: Vec<Option<u64>>,
        options: Options,
        watch: &'g mut dyn FnMut(Taken),
    ) -> Ran<Machine<'g>> {
        let bodies = program.functions.iter().map(|f| &f.body).chain([&program.body]);
        let names = bodies.map(largest_id).max().map_or(0, |id| id as usize + 1);
        let mut slots = vec![];
        if slots.try_reserve_exact(names).is_err() {
            return malformed("there are more names than fit in memory");
        }
        slots.resize_with(names, || None);
        let waiting = (0..program.requires.len()).collect();
        Ok(Machine { program, sizes, waiting, slots, depth: 0, turns: 0, watch, options })
    }

    pub(super) fn bind_argument(&mut self, id: Id, arg: &Value) -> Ran<()> {
        let bound = match arg {
            Value::Scalar(value) => Bound::Scalar(*value),
            Value::Array(array) => Bound::Array(Rc::new(copied(id, array)?)),
        };
        self.bind(id, bound)
    }

    pub(super) fn take_result(&mut self, id: Id) -> Ran<Value> {
        match self.bound(id)? {
            Bound::Scalar(value) => Ok(Value::Scalar(*value)),
            Bound::Array(array) => Ok(Value::Array(copied(id, array)?)),
        }
    }

    // ---- names

    fn bind(&mut self, id: Id, value: Bound) -> Ran<()> {
        if let Bound::Scalar(value) = value
            && self.options.refuse_denormals
            && value.is_denormal()
        {
            return Err(InterpError::Denormal { id, value });
        }
        match self.slots.get_mut(id.0 as usize) {
            Some(slot) => {
                *slot = Some(value);
                Ok(())
            }
            None => malformed(format!("%{} is not a name of the program", id.0)),
        }
    }

    fn bind_scalars(&mut self, vars: &[Var], values: impl ExactSizeIterator<Item = Scalar>) -> Ran<()> {
        if vars.len() != values.len() {
            return malformed(format!("{} names for {} values", vars.len(), values.len()));
        }
        vars.iter().zip(values).try_for_each(|(var, value)| self.bind(var.id, Bound::Scalar(value)))
    }

    fn bind_arrays(&mut self, vars: &[Var], shape: &[u64], columns: Vec<Vec<u64>>) -> Ran<()> {
        for (var, data) in vars.iter().zip(columns) {
            let array = Array { ty: var.ty.elem(), shape: shape.to_vec(), data };
            self.bind(var.id, Bound::Array(Rc::new(array)))?;
        }
        Ok(())
    }

    fn bound(&self, id: Id) -> Ran<&Bound> {
        match self.slots.get(id.0 as usize) {
            Some(Some(bound)) => Ok(bound),
            Some(None) | None => malformed(format!("%{} is used before it is bound", id.0)),
        }
    }

    fn scalar(&self, id: Id) -> Ran<Scalar> {
        match self.bound(id)? {
            Bound::Scalar(value) => Ok(*value),
            Bound::Array(_) => malformed(format!("%{} is an array where a scalar is needed", id.0)),
        }
    }

    fn scalars(&self, ids: &[Id]) -> Ran<Vec<Scalar>> {
        ids.iter().map(|&id| self.scalar(id)).collect()
    }

    fn position(&self, id: Id) -> Ran<i64> {
        match self.scalar(id)? {
            Scalar { ty: Ty::I64, bits } => Ok(bits as i64),
            Scalar { ty, .. } => malformed(format!("%{} is a position, but a {ty}", id.0)),
        }
    }

    fn truth(&self, id: Id) -> Ran<bool> {
        match self.scalar(id)? {
            Scalar { ty: Ty::Bool, bits } => Ok(bits != 0),
            Scalar { ty, .. } => malformed(format!("%{} is a condition, but a {ty}", id.0)),
        }
    }

    fn shape(&self, shape: &[Size]) -> Ran<Vec<u64>> {
        shape.iter().map(|size| self.size(size)).collect()
    }

    /// The extents of a shape and the number of its positions.
    fn space(&self, shape: &[Size], id: Id) -> Ran<(Vec<u64>, u64)> {
        let extents = self.shape(shape)?;
        match positions(&extents) {
            Some(n) => Ok((extents, n)),
            None => Err(InterpError::OutOfMemory { id, elements: u64::MAX }),
        }
    }

    // ---- bodies

    pub(super) fn run_body(&mut self, body: &Body) -> Ran<()> {
        if let Some(limit) = self.options.turns {
            if self.turns >= limit {
                return Err(InterpError::Budget(limit));
            }
            self.turns += 1;
        }
        if self.depth >= MAX_NESTING {
            return Err(TooDeep.into());
        }
        self.depth += 1;
        // On an error the whole run ends, so the depth need not be put back.
        body.stmts.iter().try_for_each(|stmt| self.step(stmt))?;
        self.depth -= 1;
        Ok(())
    }

    fn call(&mut self, body: &Body, args: impl ExactSizeIterator<Item = Scalar>) -> Ran<Vec<Scalar>> {
        self.bind_scalars(&body.params, args)?;
        self.run_body(body)?;
        self.scalars(&body.results)
    }

    /// Runs a body at the position with that number.
    fn run_at(&mut self, body: &Body, extents: &[u64], number: u64) -> Ran<()> {
        if body.params.len() != extents.len() {
            return malformed(format!("{} parameters for {} axes", body.params.len(), extents.len()));
        }
        let mut rest = number;
        for (param, &extent) in body.params.iter().zip(extents).rev() {
            self.bind(param.id, Bound::Scalar(Scalar::i64((rest % extent.max(1)) as i64)))?;
            rest /= extent.max(1);
        }
        self.run_body(body)
    }

    fn combine(&mut self, monoid: &Monoid, left: &[Scalar], right: &[Scalar]) -> Ran<Vec<Scalar>> {
        let values = self.call(&monoid.combine, Both(left, right).iter())?;
        if values.len() == left.len() { Ok(values) } else { malformed("a monoid changes the number of components") }
    }

    // ---- statements

    fn step(&mut self, stmt: &Stmt) -> Ran<()> {
        let values = match &stmt.op {
            Op::Const(value) => vec![*value],
            Op::Extent(size) => vec![Scalar::i64(self.size(size)? as i64)],
            Op::Apply(operator, args) => vec![self.apply(*operator, args)?],
            Op::Cast(to, arg) => vec![self.scalar(*arg)?.cast(*to)],
            Op::Bitcast(to, arg) => vec![self.bitcast(*to, *arg)?],
            Op::Call(function, args) => self.call_function(*function, args)?,
            Op::If { cond, args, then, otherwise } => {
                let taken = if self.truth(*cond)? { then } else { otherwise };
                let args = self.scalars(args)?;
                self.call(taken, args.into_iter())?
            }
            Op::For { lo, hi, step, init, body } => return self.count(&stmt.binds, [*lo, *hi, *step], init, body),
            Op::While { init, cond, body } => return self.repeat(&stmt.binds, init, cond, body),
            Op::At { array, index } => vec![self.at(*array, index)?],
            Op::Fold { shape, body, monoid } => self.fold(shape, body, monoid)?,
            Op::Tabulate { shape, body } => return self.tabulate(&stmt.binds, shape, body),
            Op::Scan { shape, body, monoid } => return self.scan(&stmt.binds, shape, body, monoid),
            Op::Scatter { .. } => return self.scatter(&stmt.binds, &stmt.op),
            Op::Filter { extent, body, kept } => return self.filter(&stmt.binds, extent, body, *kept),
            Op::Sort { shape, widths, body } => return self.sort(&stmt.binds, shape, widths, body),
            Op::Raw(call) => return self.raw(&stmt.binds, call),
            Op::Place(..)
            | Op::Load { .. }
            | Op::LoadFragment { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::Check { .. }
            | Op::Barrier(_)
            | Op::Fence(_)
            | Op::Subgroup(..)
            | Op::Mma(..)
            | Op::Lanes { .. }
            | Op::Prefixes { .. } => return malformed("memory and threads belong in kernels, not in programs"),
        };
        self.bind_scalars(&stmt.binds, values.into_iter())
    }

    /// A raw kernel is what it means.
    fn raw(&mut self, binds: &[Var], call: &RawCall) -> Ran<()> {
        let Some(meaning) = &call.meaning else { return Err(InterpError::Raw(call.kernel.name.clone())) };
        let args: Vec<Bound> = call.args.iter().map(|&id| self.bound(id).cloned()).collect::<Ran<_>>()?;
        meaning.params.iter().zip(args).try_for_each(|(param, arg)| self.bind(param.id, arg))?;
        self.run_body(meaning)?;
        let results: Vec<Bound> = meaning.results.iter().map(|&id| self.bound(id).cloned()).collect::<Ran<_>>()?;
        binds.iter().zip(results).try_for_each(|(bind, result)| self.bind(bind.id, result))
    }

    fn apply(&self, operator: Operator, args: &[Id]) -> Ran<Scalar> {
        let values = self.scalars(args)?;
        match operator.eval(&values) {
            Some(value) => Ok(value),
            None => malformed(format!("`{}` is not defined on {values:?}", operator.name())),
        }
    }

    fn bitcast(&self, to: Ty, arg: Id) -> Ran<Scalar> {
        let value = self.scalar(arg)?;
        if value.ty.bits() != to.bits() {
            return malformed(format!("the bits of a {} do not make a {to}", value.ty));
        }
        Ok(Scalar::from_bits(to, value.bits))
    }

    fn call_function(&mut self, function: FnId, args: &[Id]) -> Ran<Vec<Scalar>> {
        let program = self.program;
        let Some(function) = program.functions.get(function.0 as usize) else {
            return malformed(format!("there is no function number {}", function.0));
        };
        let args = self.scalars(args)?;
        self.call(&function.body, args.into_iter())
    }

    fn count(&mut self, binds: &[Var], [lo, hi, step]: [Id; 3], init: &[Id], body: &Body) -> Ran<()> {
        let lo = self.scalar(lo)?;
        let hi = self.scalar(hi)?;
        let step = self.scalar(step)?;
        if !lo.ty.is_int() || step.as_int() <= 0 {
            return malformed(format!("a loop counts from {lo:?} in steps of {step:?}"));
        }
        let Some((counter, params)) = body.params.split_first() else { return malformed("a loop without a counter") };
        let mut state = self.state(init)?;
        let mut turn = lo.as_int();
        let of = u64::try_from(((hi.as_int() - turn).max(0) + step.as_int() - 1) / step.as_int()).ok();
        let mut done = 0;
        self.tell(Taken { done, of });
        while turn < hi.as_int() {
            self.bind(counter.id, Bound::Scalar(Scalar::from_int(lo.ty, turn)))?;
            state = self.turn(body, params, state)?;
            turn += step.as_int();
            done += 1;
            self.tell(Taken { done, of });
        }
        self.bind_state(binds, state)
    }

    fn repeat(&mut self, binds: &[Var], init: &[Id], cond: &Body, body: &Body) -> Ran<()> {
        let &[condition] = &cond.results[..] else {
            return malformed("the condition of a loop gives one bool");
        };
        let mut state = self.state(init)?;
        let mut turns = 0;
        loop {
            self.tell(Taken { done: turns, of: None });
            self.bind_state(&cond.params, state.clone())?;
            self.run_body(cond)?;
            if !self.truth(condition)? {
                return self.bind_state(binds, state);
            }
            if let Some(most) = self.options.loop_turns.filter(|&most| turns >= most) {
                return Err(InterpError::Endless(most));
            }
            turns += 1;
            state = self.turn(body, &body.params, state)?;
        }
    }

    fn tell(&mut self, taken: Taken) {
        if self.depth == 1 {
            (self.watch)(taken);
        }
    }

    /// What a loop carries: scalars, and arrays, which are shared and not copied.
    fn state(&self, ids: &[Id]) -> Ran<Vec<Bound>> {
        ids.iter().map(|&id| self.bound(id).cloned()).collect()
    }

    fn bind_state(&mut self, vars: &[Var], state: Vec<Bound>) -> Ran<()> {
        if vars.len() != state.len() {
            return malformed(format!("{} names for a state of {}", vars.len(), state.len()));
        }
        vars.iter().zip(state).try_for_each(|(var, value)| self.bind(var.id, value))
    }

    fn turn(&mut self, body: &Body, params: &[Var], state: Vec<Bound>) -> Ran<Vec<Bound>> {
        self.bind_state(params, state)?;
        self.run_body(body)?;
        self.state(&body.results)
    }

    fn at(&self, id: Id, index: &[Id]) -> Ran<Scalar> {
        let Bound::Array(array) = self.bound(id)? else {
            return malformed(format!("%{} is a scalar and cannot be read at a position", id.0));
        };
        if index.len() != array.shape.len() {
            return malformed(format!("%{} has {} axes, not {}", id.0, array.shape.len(), index.len()));
        }
        let index = index.iter().map(|&i| self.position(i)).collect::<Ran<Vec<i64>>>()?;
        match offset(&array.shape, index.iter().copied()).and_then(|at| array.data.get(at)) {
            Some(&bits) => Ok(Scalar { ty: array.ty, bits }),
            None => Err(InterpError::OutOfBounds { array: id, index, shape: array.shape.clone() }),
        }
    }

    // ---- array operations

    /// One empty column of elements per bound array, with room for `n`.
    fn columns(&self, binds: &[Var], n: u64) -> Ran<Vec<Vec<u64>>> {
        binds.iter().map(|var| reserve(var.id, n, self.options.elements)).collect()
    }

    /// Scalars for the columns of the arrays being bound.
    fn push(binds: &[Var], columns: &mut [Vec<u64>], values: &[Scalar]) -> Ran<()> {
        if values.len() != binds.len() || values.iter().zip(binds).any(|(value, var)| value.ty != var.ty.elem()) {
            return malformed(format!("values {values:?} do not fit the arrays they are elements of"));
        }
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value.bits));
        Ok(())
    }

    fn tabulate(&mut self, binds: &[Var], shape: &[Size], body: &Body) -> Ran<()> {
        let Some(first) = binds.first() else { return malformed("a tabulate binds nothing") };
        if binds.len() != body.results.len() {
            return malformed(format!("a tabulate gives {} values for {} names", body.results.len(), binds.len()));
        }
        // The shape with that of the elements behind it; the type knows it also when there is no element.
        let (whole, elements) = self.space(first.ty.shape(), first.id)?;
        let outer = self.shape(shape)?;
        if !whole.starts_with(&outer) {
            return malformed(format!("%{} does not have the shape of its tabulate", first.id.0));
        }
        let mut columns = self.columns(binds, elements)?;
        // Positions whose elements are empty arrays are as good as none.
        let n = if elements == 0 { 0 } else { positions(&outer).unwrap_or(0) };
        for number in 0..n {
            self.run_at(body, &outer, number)?;
            for ((var, column), &id) in binds.iter().zip(&mut columns).zip(&body.results) {
                let (ty, inner, data) = match self.bound(id)? {
                    Bound::Scalar(value) => (value.ty, &[][..], &[value.bits][..]),
                    Bound::Array(array) => (array.ty, &array.shape[..], &array.data[..]),
                };
                if ty != var.ty.elem() || inner != &whole[outer.len()..] {
                    return malformed(format!("%{} is no element of %{}", id.0, var.id.0));
                }
                column.extend_from_slice(data);
            }
        }
        self.bind_arrays(binds, &whole, columns)
    }

    fn fold(&mut self, shape: &[Size], body: &Body, monoid: &Monoid) -> Ran<Vec<Scalar>> {
        let id = body.results.first().copied().unwrap_or(Id(0));
        let (extents, n) = self.space(shape, id)?;
        let neutral = self.scalars(&monoid.neutral)?;
        // The two closures take turns with the machine and never run inside each other.
        let machine = RefCell::new(self);
        let mut item = |number: u64| {
            let mut machine = machine.borrow_mut();
            machine.run_at(body, &extents, number)?;
            machine.scalars(&body.results)
        };
        let mut combine = |left: &[Scalar], right: &[Scalar]| machine.borrow_mut().combine(monoid, left, right);
        fold_in_order(n, monoid.commutative, &mut item, &mut combine, &neutral)
    }

    fn scan(&mut self, binds: &[Var], shape: &[Size], body: &Body, monoid: &Monoid) -> Ran<()> {
        let Some(first) = binds.first() else { return malformed("a scan binds nothing") };
        let (extents, n) = self.space(shape, first.id)?;
        let Some(&row) = extents.last() else { return malformed("a scan needs an axis") };
        let neutral = self.scalars(&monoid.neutral)?;
        let mut columns = self.columns(binds, n)?;
        let mut sum = neutral.clone();
        for number in 0..n {
            if number % row == 0 {
                sum.clone_from(&neutral);
            }
            self.run_at(body, &extents, number)?;
            let value = self.scalars(&body.results)?;
            sum = self.combine(monoid, &sum, &value)?;
            Self::push(binds, &mut columns, &sum)?;
        }
        self.bind_arrays(binds, &extents, columns)
    }

    fn scatter(&mut self, binds: &[Var], op: &Op) -> Ran<()> {
        let Op::Scatter { shape, body, target, onto, monoid } = op else { return malformed("not a scatter") };
        let Some(first) = binds.first() else { return malformed("a scatter binds nothing") };
        let (extents, n) = self.space(shape, first.id)?;
        let (goal, cells) = self.space(target, first.id)?;
        let neutral = self.scalars(&monoid.neutral)?;
        let mut columns = self.columns(binds, cells)?;
        for (column, &id) in columns.iter_mut().zip(onto) {
            match self.bound(id)? {
                Bound::Array(array) if array.shape == goal => column.extend_from_slice(&array.data),
                Bound::Array(_) | Bound::Scalar(_) => return malformed(format!("%{} is no array to start from", id.0)),
            }
        }
        for _ in 0..if onto.is_empty() { cells } else { 0 } {
            Self::push(binds, &mut columns, &neutral)?;
        }
        for number in 0..n {
            self.run_at(body, &extents, number)?;
            let Some((index, values)) = body.results.split_at_checked(goal.len()) else {
                return malformed("a scatter gives fewer positions than its target has axes");
            };
            let index = index.iter().map(|&i| self.position(i)).collect::<Ran<Vec<i64>>>()?;
            let Some(at) = offset(&goal, index.into_iter()) else { continue };
            let values = self.scalars(values)?;
            let found: Vec<Scalar> =
                neutral.iter().zip(&columns).map(|(v, column)| Scalar { ty: v.ty, bits: column[at] }).collect();
            let met = self.combine(monoid, &found, &values)?;
            columns.iter_mut().zip(met).for_each(|(column, value)| column[at] = value.bits);
        }
        self.bind_arrays(binds, &goal, columns)
    }

    fn sort(&mut self, binds: &[Var], shape: &[Size], widths: &[u32], body: &Body) -> Ran<()> {
        let Some(first) = binds.first() else { return malformed("a sort binds nothing") };
        let (extents, n) = self.space(shape, first.id)?;
        let Some(&row) = extents.last() else { return malformed("a sort needs an axis") };
        let Some((words, values)) = body.results.split_at_checked(widths.len()) else {
            return malformed("a sort gives fewer words than it goes by");
        };
        let mut columns = self.columns(binds, n)?;
        let mut line: Vec<(Vec<u64>, Vec<Scalar>)> = vec![];
        for number in 0..n {
            self.run_at(body, &extents, number)?;
            let words = self.scalars(words)?.into_iter().zip(widths);
            let key = words.map(|(word, &width)| word.bits & (u64::from(u32::MAX) >> (32 - width.clamp(1, 32))));
            line.push((key.collect(), self.scalars(values)?));
            if line.len() as u64 == row {
                line.sort_by(|(a, _), (b, _)| a.cmp(b));
                line.iter().try_for_each(|(_, values)| Self::push(binds, &mut columns, values))?;
                line.clear();
            }
        }
        self.bind_arrays(binds, &extents, columns)
    }

    fn filter(&mut self, binds: &[Var], extent: &Size, body: &Body, kept: SizeVar) -> Ran<()> {
        let counted = self.program.sizes.get(kept.0 as usize).map(|decl| decl.origin);
        let Some((&keep, values)) = body.results.split_first() else { return malformed("a filter gives nothing") };
        if counted != Some(SizeOrigin::Counted) || values.len() != binds.len() {
            return malformed("a filter counts a variable that is not declared so, or binds other than its values");
        }
        let n = self.size(extent)?;
        let mut columns = self.columns(binds, 0)?;
        let mut count = 0;
        for number in 0..n {
            self.run_at(body, &[n], number)?;
            if !self.truth(keep)? {
                continue;
            }
            count += 1;
            for (column, var) in columns.iter_mut().zip(binds) {
                let over = self.options.elements.is_some_and(|limit| count > limit);
                if over || column.try_reserve(1).is_err() {
                    return Err(InterpError::OutOfMemory { id: var.id, elements: count });
                }
            }
            let values = self.scalars(values)?;
            Self::push(binds, &mut columns, &values)?;
        }
        self.sizes[kept.0 as usize] = Some(count);
        self.bind_arrays(binds, &[count], columns)?;
        self.check_requires()
    }
}

/// Two lists as one, without copying either.
struct Both<'a>(&'a [Scalar], &'a [Scalar]);

impl<'a> Both<'a> {
    fn iter(&self) -> impl ExactSizeIterator<Item = Scalar> + use<'a> {
        let (left, right) = (self.0, self.1);
        (0..left.len() + right.len()).map(move |k| if k < left.len() { left[k] } else { right[k - left.len()] })
    }
}
