//! Runs a kernel without its data.

use super::Touch;
use super::log::{Found, Index, Log, Mark};
use super::value::{Fact, Here, Value, position};
use crate::lower::accessed;
use slyz_sir::class;
use slyz_sir::code::{Body, Id, MemId, Op, Place, Stmt};
use slyz_sir::kernel::{Kernel, Space};
use slyz_sir::launch::LAUNCH_SIZES;
use slyz_sir::types::{Scalar, Ty};
use std::collections::HashMap;

/// Threads of a subgroup.
const SUBGROUP: u32 = 32;
/// The most turns of a loop whose condition is known.
const TURNS: usize = 80;
/// Turns of a loop whose condition is not known: one, and one that follows it.
const UNKNOWN_TURNS: usize = 2;
/// The most statements that are run, those of all turns together.
const STATEMENTS: usize = 40_000;

/// Enough was run.
struct Enough;

type Ran<T> = Result<T, Enough>;

/// The races of a kernel in one block of that shape, in launches that pass that number for all integers and extents.
pub(super) fn run(kernel: &Kernel, block: [u32; 3], passed: u32) -> Found {
    let mut numbers = HashMap::new();
    number(&kernel.body, kernel, &mut numbers);
    let threads = block.iter().product::<u32>() as usize;
    let mut run = Run {
        kernel,
        block,
        threads,
        passed,
        numbers,
        values: HashMap::new(),
        here: vec![Here::Yes; threads],
        log: Log::default(),
        found: Found::new(),
        left: STATEMENTS,
    };
    for param in &kernel.body.params {
        let value = (param.ty.elem().is_int()).then(|| Scalar::from_int(param.ty.elem(), passed.into()));
        run.values.insert(param.id, Value::Same(Fact { value, passed: true, subgroup: false }));
    }
    // What was found before it took too long is found.
    let (Ok(()) | Err(Enough)) = run.stmts(&kernel.body);
    run.found
}

/// Numbers the accesses to memory of the block, in the order of the code.
fn number(body: &Body, kernel: &Kernel, numbers: &mut HashMap<*const Stmt, usize>) {
    for stmt in &body.stmts {
        if accessed(&stmt.op).is_some_and(|memory| is_shared(kernel, memory)) {
            numbers.insert(stmt, numbers.len());
        }
        stmt.op.bodies().into_iter().for_each(|body| number(body, kernel, numbers));
    }
}

fn is_shared(kernel: &Kernel, MemId(memory): MemId) -> bool {
    kernel.memories[memory as usize].space == Space::Shared
}

struct Run<'k> {
    kernel: &'k Kernel,
    block: [u32; 3],
    threads: usize,
    passed: u32,
    numbers: HashMap<*const Stmt, usize>,
    values: HashMap<Id, Value>,
    /// Who comes by the code that is run.
    here: Vec<Here>,
    log: Log,
    found: Found,
    left: usize,
}

impl<'k> Run<'k> {
    fn value(&self, id: Id) -> Value {
        self.values.get(&id).cloned().unwrap_or_else(|| Value::unknown(self.threads))
    }

    fn values_of(&self, ids: &[Id]) -> Vec<Value> {
        ids.iter().map(|&id| self.value(id)).collect()
    }

    fn stmts(&mut self, body: &'k Body) -> Ran<()> {
        body.stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    /// A body with parameters; its results.
    fn body(&mut self, body: &'k Body, args: Vec<Value>) -> Ran<Vec<Value>> {
        self.values.extend(body.params.iter().map(|param| param.id).zip(args));
        self.stmts(body)?;
        Ok(self.values_of(&body.results))
    }

    fn stmt(&mut self, stmt: &'k Stmt) -> Ran<()> {
        self.left = self.left.checked_sub(1).ok_or(Enough)?;
        let results = self.op(stmt)?;
        self.values.extend(stmt.binds.iter().map(|bind| bind.id).zip(results));
        Ok(())
    }

    fn op(&mut self, stmt: &'k Stmt) -> Ran<Vec<Value>> {
        let threads = self.threads;
        Ok(match &stmt.op {
            Op::Const(value) => vec![Value::Same(Fact::known(*value))],
            Op::Extent(size) => {
                // A tensor of one axis often stands for a matrix.
                let flat = |v: usize| v >= LAUNCH_SIZES && self.kernel.sizes[v].name.ends_with("_len");
                let passed = u64::from(self.passed);
                let env = |v: slyz_sir::size::SizeVar| Some(if flat(v.0 as usize) { passed * passed } else { passed });
                let value = size.eval(&env).ok().map(|n| Scalar::i64(n as i64));
                vec![Value::Same(Fact { value, passed: true, subgroup: false })]
            }
            Op::Apply(operator, args) => vec![self.computed(args, |values| operator.eval(values))],
            Op::Cast(to, arg) => vec![self.computed(&[*arg], |values| Some(values[0].cast(*to)))],
            Op::Bitcast(to, arg) => {
                vec![self.computed(&[*arg], |values| Some(Scalar::from_bits(*to, values[0].bits)))]
            }
            Op::Call(id, args) => {
                let args = self.values_of(args);
                let kernel = self.kernel;
                self.body(&kernel.functions[id.0 as usize].body, args)?
            }
            Op::Place(place, d) => vec![self.place(*place, usize::from(*d))],
            Op::Check { memory, index } => vec![self.check(*memory, index)],
            Op::Load { memory, index } => {
                self.touch(stmt, *memory, index, Touch::Read);
                let same = index.iter().all(|&id| matches!(self.value(id), Value::Same(_)));
                let own = self.kernel.memories[memory.0 as usize].space == Space::Local;
                let value = if same && !own { Value::Same(Fact::UNKNOWN) } else { Value::unknown(threads) };
                vec![value; stmt.binds.len()]
            }
            Op::Store { memory, index, .. } => {
                self.touch(stmt, *memory, index, Touch::Write);
                vec![]
            }
            Op::Atomic { memory, index, .. } => {
                self.touch(stmt, *memory, index, Touch::Atomic);
                vec![Value::unknown(threads)]
            }
            // One of a subgroup orders its own threads only; which they are is the device's affair, and nothing is said about it.
            Op::Barrier(_) => {
                self.log.clear();
                vec![]
            }
            Op::If { cond, args, then, otherwise } => {
                let cond = self.value(*cond);
                let args = self.values_of(args);
                self.branch(&cond, args, then, otherwise)?
            }
            Op::For { lo, hi, step, init, body } => {
                let bounds = [*lo, *hi, *step].map(|id| self.value(id));
                let init = self.values_of(init);
                self.count(bounds, init, body)?
            }
            Op::While { init, cond, body } => {
                let init = self.values_of(init);
                self.repeat(init, cond, body)?
            }
            Op::Fence(_) => vec![],
            // The graph level, and what passes make of kernels.
            Op::Lanes { .. } | Op::Prefixes { .. } | class!(Array) => vec![Value::unknown(threads); stmt.binds.len()],
            Op::Subgroup(..) | Op::Mma(..) | Op::LoadFragment { .. } => vec![Value::unknown(threads); stmt.binds.len()],
        })
    }

    fn computed(&self, args: &[Id], f: impl Fn(&[Scalar]) -> Option<Scalar>) -> Value {
        let args = self.values_of(args);
        Value::from(&args.iter().collect::<Vec<&Value>>(), self.threads, f)
    }

    fn place(&self, place: Place, d: usize) -> Value {
        let same = |n: u32| Fact::known(Scalar::i64(n.into()));
        let each = |f: &dyn Fn(u32) -> Fact| Value::Each((0..self.threads as u32).map(f).collect());
        match place {
            // The block is the first one.
            Place::Global | Place::Local => each(&|thread| same(position(self.block, thread)[d])),
            Place::Block => Value::Same(Fact { passed: true, ..same(0) }),
            Place::BlockDim => Value::Same(same(self.block[d])),
            Place::GridDim => Value::Same(Fact { passed: true, ..same(self.passed) }),
            Place::Lane => each(&|thread| Fact { subgroup: true, ..same(thread % SUBGROUP) }),
            Place::SubgroupSize => Value::Same(Fact { subgroup: true, ..same(SUBGROUP) }),
        }
    }

    /// Inside, as far as is known; tensors are large enough.
    fn check(&self, MemId(memory): MemId, index: &[Id]) -> Value {
        let shape: Option<Vec<u64>> =
            self.kernel.memories[memory as usize].shape.iter().map(|size| size.constant()).collect();
        let Some(shape) = shape else { return Value::Same(Fact::known(Scalar::bool(true))) };
        let inside = |values: &[Scalar]| {
            let fits = values.iter().zip(&shape).all(|(at, &extent)| (0..i128::from(extent)).contains(&at.as_int()));
            Some(Scalar::bool(fits))
        };
        let known = |fact: Fact| if fact.value.is_none() { Fact::known(Scalar::bool(true)) } else { fact };
        match self.computed(index, inside) {
            Value::Same(fact) => Value::Same(known(fact)),
            Value::Each(facts) => Value::Each(facts.iter().copied().map(known).collect()),
        }
    }

    fn touch(&mut self, stmt: &Stmt, memory: MemId, index: &[Id], touch: Touch) {
        let Some(&access) = self.numbers.get(&(stmt as *const Stmt)) else { return };
        let index = self.values_of(index);
        for thread in 0..self.threads {
            if self.here[thread] == Here::No {
                continue;
            }
            let mut at = Some(Index::default());
            let mut sure = self.here[thread] == Here::Yes;
            for (axis, value) in index.iter().enumerate() {
                let fact = value.of(thread);
                sure &= !fact.passed && !fact.subgroup;
                match (&mut at, fact.value) {
                    (Some(at), Some(place)) => at[axis] = place.as_int() as i64,
                    (Some(_) | None, _) => at = None,
                }
            }
            let sure = sure && at.is_some();
            self.log.touch(memory, at, Mark { touch, thread: thread as u32, access, sure }, &mut self.found);
        }
    }

    /// Who goes on where a condition has that truth.
    fn narrowed(&self, cond: &Value, truth: bool) -> Vec<Here> {
        let passes = |(thread, &here): (usize, &Here)| {
            let fact = cond.of(thread);
            match fact.value {
                None => here.min(Here::Perhaps),
                Some(_) if fact.is(!truth) => Here::No,
                Some(_) if fact.subgroup => here.min(Here::Perhaps),
                Some(_) => here,
            }
        };
        self.here.iter().enumerate().map(passes).collect()
    }

    /// Runs something for some threads only.
    fn among<T>(&mut self, here: Vec<Here>, inside: impl FnOnce(&mut Self) -> Ran<T>) -> Ran<T> {
        let before = std::mem::replace(&mut self.here, here);
        let done = inside(self);
        self.here = before;
        done
    }

    fn branch(&mut self, cond: &Value, args: Vec<Value>, then: &'k Body, otherwise: &'k Body) -> Ran<Vec<Value>> {
        let mut sides = vec![];
        let together = matches!(cond, Value::Same(Fact { value: None, .. }));
        let before = together.then(|| self.log.clone());
        for (side, truth) in [(then, true), (otherwise, false)] {
            let here = self.narrowed(cond, truth);
            if here.iter().all(|&here| here == Here::No) {
                sides.push(None);
                continue;
            }
            let results = self.among(here, |run| run.body(side, args.clone()))?;
            // All threads of the block go the same way: what one side did, nobody of the other side meets.
            let log = before.clone().map(|before| std::mem::replace(&mut self.log, before));
            sides.push(Some((results, log)));
        }
        let [yes, no] = <[_; 2]>::try_from(sides).map_err(|_| Enough)?;
        let mut given = vec![];
        let mut logs = vec![];
        for side in [yes, no] {
            given.push(side.map(|(results, log)| {
                logs.extend(log);
                results
            }));
        }
        if together {
            self.log.clear();
            logs.into_iter().for_each(|log| self.log.join(log));
        }
        let threads = self.threads;
        Ok(match <[_; 2]>::try_from(given).map_err(|_| Enough)? {
            [Some(yes), Some(no)] => yes
                .iter()
                .zip(&no)
                .map(|(yes, no)| {
                    if let (true, Value::Same(yes), Value::Same(no)) = (together, yes, no) {
                        return Value::Same(yes.either(*no));
                    }
                    yes.merged(no, threads, |thread, yes, no| match cond.of(thread) {
                        cond if cond.is(true) => yes,
                        cond if cond.is(false) => no,
                        _ => yes.either(no),
                    })
                })
                .collect(),
            [Some(one), None] | [None, Some(one)] => one,
            // Nobody is here.
            [None, None] => vec![Value::unknown(threads); then.results.len()],
        })
    }

    /// The state after a turn that only some threads made.
    fn after_turn(&self, before: &[Value], after: Vec<Value>, made: &[Here]) -> Vec<Value> {
        let merged = |(before, after): (&Value, Value)| {
            if made.iter().all(|&here| here == Here::Yes) {
                return after;
            }
            before.merged(&after, self.threads, |thread, before, after| match made[thread] {
                Here::Yes => after,
                Here::Perhaps => before.either(after),
                Here::No => before,
            })
        };
        before.iter().zip(after).map(merged).collect()
    }

    fn count(&mut self, [lo, hi, step]: [Value; 3], init: Vec<Value>, body: &'k Body) -> Ran<Vec<Value>> {
        let threads = self.threads;
        let mut counter = lo;
        let mut state = init;
        self.turns(|run| {
            let cond = Value::from(&[&counter, &hi], threads, |v| Some(Scalar::bool(v[0].as_int() < v[1].as_int())));
            let here = run.narrowed(&cond, true);
            let mut args = vec![counter.clone()];
            args.extend(state.iter().cloned());
            counter = Value::from(&[&counter, &step], threads, |v| {
                let next = v[0].as_int().checked_add(v[1].as_int())?;
                fits(v[0].ty, next).then(|| Scalar::from_int(v[0].ty, next))
            });
            let Some(next) = run.turn(&cond, here.clone(), args, body)? else { return Ok(None) };
            state = run.after_turn(&state, next, &here);
            Ok(Some(cond))
        })
        .map(|ended| if ended { state } else { vec![Value::unknown(threads); body.results.len()] })
    }

    fn repeat(&mut self, init: Vec<Value>, cond: &'k Body, body: &'k Body) -> Ran<Vec<Value>> {
        let threads = self.threads;
        let mut state = init;
        // Threads that are done do not come back.
        let mut going = self.here.clone();
        self.turns(|run| {
            let asked = state.clone();
            let holds = run.among(going.clone(), |run| run.body(cond, asked))?;
            let holds = holds.into_iter().next().unwrap_or_else(|| Value::unknown(threads));
            let here = run.among(going.clone(), |run| Ok(run.narrowed(&holds, true)))?;
            going.clone_from(&here);
            let args = state.clone();
            let Some(next) = run.turn(&holds, here.clone(), args, body)? else { return Ok(None) };
            state = run.after_turn(&state, next, &here);
            Ok(Some(holds))
        })
        .map(|ended| if ended { state } else { vec![Value::unknown(threads); body.results.len()] })
    }

    /// Makes turns until nobody makes another; `false` where they were cut short.
    fn turns(&mut self, mut turn: impl FnMut(&mut Self) -> Ran<Option<Value>>) -> Ran<bool> {
        let mut unknown = 0;
        for _ in 0..TURNS {
            let Some(cond) = turn(self)? else { return Ok(true) };
            let known = (0..self.threads).all(|thread| cond.of(thread).value.is_some());
            unknown += usize::from(!known);
            if unknown >= UNKNOWN_TURNS {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// One turn; nothing where nobody makes it.
    fn turn(&mut self, cond: &Value, here: Vec<Here>, args: Vec<Value>, body: &'k Body) -> Ran<Option<Vec<Value>>> {
        if here.iter().all(|&here| here == Here::No) {
            return Ok(None);
        }
        // Whether there is a turn is not known: what follows meets what was there before it, too.
        let before = matches!(cond, Value::Same(Fact { value: None, .. })).then(|| self.log.clone());
        let next = self.among(here, |run| run.body(body, args))?;
        before.into_iter().for_each(|before| self.log.join(before));
        Ok(Some(next))
    }
}

fn fits(ty: Ty, value: i128) -> bool {
    let (low, high) = slyz_sir::types::int_range(ty);
    (low..=high).contains(&value)
}
