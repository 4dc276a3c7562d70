//! How much a kernel computes: the operators it applies to data, over its whole loop nest.
//!
//! An operator counts with its cost in the operator table, so that an `exp` is some twenty additions and not one.
//! What finds positions (arithmetic on turns of loops and extents only) is not counted: it is folded into addresses.
//! Of two branches the dearer counts. A loop whose end only data know counts as one turn, and the sum is then marked
//! as a lower bound.

use super::count::Count;
use crate::class;
use crate::code::{Body, Fragment, Function, Id, Op, Stmt, Var};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::program::Program;
use crate::size::Size;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a piece of code computes.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// How often each operator is applied to data.
    pub operators: BTreeMap<Operator, Count>,
    /// A loop runs until data say otherwise; there may be more.
    pub at_least: bool,
    /// Some of the data are floats.
    pub floats: bool,
}

impl Work {
    /// All operators, each at its cost; an addition is 1.
    pub fn flops(&self) -> Count {
        let cost = |operator: &Operator| Count::from(u64::from(operator.row().cost));
        self.operators.iter().fold(Count::default(), |sum, (op, n)| sum + n.clone() * cost(op))
    }

    /// Both.
    pub(super) fn and(mut self, other: &Work) -> Work {
        for (&operator, count) in &other.operators {
            let entry = self.operators.entry(operator).or_default();
            *entry = std::mem::take(entry) + count.clone();
        }
        self.flags(other)
    }

    fn or(mut self, other: &Work) -> Work {
        for (&operator, count) in &other.operators {
            let entry = self.operators.entry(operator).or_default();
            *entry = std::mem::take(entry).max(count);
        }
        self.flags(other)
    }

    fn flags(mut self, other: &Work) -> Work {
        self.at_least |= other.at_least;
        self.floats |= other.floats;
        self
    }

    /// What is left when the other's work is done. Nobody can do less than nothing.
    pub(super) fn without(mut self, other: &Work) -> Work {
        for (operator, count) in &other.operators {
            if let Some(entry) = self.operators.get_mut(operator) {
                *entry = std::mem::take(entry).without(count);
            }
        }
        self.operators.retain(|_, count| !count.is_zero());
        self
    }

    pub(super) fn times(mut self, count: &Count) -> Work {
        for entry in self.operators.values_mut() {
            *entry = std::mem::take(entry) * count.clone();
        }
        self
    }
}

/// The work of a whole program, whatever its launches are.
pub(super) fn of_program(program: &Program) -> Work {
    let mut counter = Counter::default();
    for function in &program.functions {
        let work = counter.function(function);
        counter.calls.push(work);
    }
    counter.data.extend(program.body.params.iter().filter(|p| p.ty.shape().is_empty()).map(|p| p.id));
    counter.body(&program.body, &Count::from(1))
}

/// The work of one launch.
pub(super) fn of_kernel(kernel: &Kernel) -> Work {
    let mut counter = Counter::default();
    for function in &kernel.functions {
        let work = counter.function(function);
        counter.calls.push(work);
    }
    counter.data.extend(kernel.body.params.iter().map(|p| p.id));
    let threads = Count::elements(&kernel.block.map(|n| Size::Const(n.into())));
    counter.body(&kernel.body, &threads).times(&Count::elements(&kernel.grid))
}

/// What is known about an integer.
#[derive(Clone)]
enum Number {
    /// The same in all threads.
    Size(Size),
    /// Another name, and so many more.
    Past(Id, u64),
    /// The end of the piece of an axis that starts at that name.
    End { start: Id, length: u64, axis: Size },
}

#[derive(Default)]
struct Counter {
    numbers: HashMap<Id, Number>,
    /// Names that come from memory or from arguments.
    data: HashSet<Id>,
    /// Names that are floats.
    floats: HashSet<Id>,
    /// The work of each function, called once.
    calls: Vec<Work>,
}

impl Counter {
    fn function(&mut self, function: &Function) -> Work {
        self.data.extend(function.body.params.iter().map(|p| p.id));
        self.body(&function.body, &Count::from(1))
    }

    /// One run of a body by so many threads.
    fn body(&mut self, body: &Body, threads: &Count) -> Work {
        self.note_floats(&body.params);
        body.stmts.iter().fold(Work::default(), |work, stmt| work.and(&self.stmt(stmt, threads)))
    }

    fn stmt(&mut self, stmt: &Stmt, threads: &Count) -> Work {
        let work = self.op(stmt, threads);
        let mut from_data = false;
        stmt.op.each_operand(&mut |id| from_data |= self.data.contains(&id));
        for body in stmt.op.bodies() {
            from_data |= body.results.iter().any(|id| self.data.contains(id));
        }
        let is_read = matches!(
            stmt.op,
            Op::At { .. } | Op::Load { .. } | Op::Atomic { .. } | Op::Subgroup(..) | Op::Mma(..) | Op::Call(..)
        );
        if is_read || from_data {
            self.data.extend(stmt.binds.iter().map(|b| b.id));
        }
        self.note_floats(&stmt.binds);
        work
    }

    /// What is a float is data, whatever it was made of.
    fn note_floats(&mut self, vars: &[Var]) {
        let floats = vars.iter().filter(|v| v.ty.elem().is_float()).map(|v| v.id);
        self.floats.extend(floats.clone());
        self.data.extend(floats);
    }

    fn op(&mut self, stmt: &Stmt, threads: &Count) -> Work {
        match &stmt.op {
            Op::Const(value) if value.ty.is_int() => {
                if let Ok(n) = u64::try_from(value.as_int()) {
                    self.learn(stmt, Number::Size(Size::Const(n)));
                }
                Work::default()
            }
            Op::Extent(size) => {
                self.learn(stmt, Number::Size(size.clone()));
                Work::default()
            }
            Op::Apply(operator, args) => self.apply(stmt, *operator, args, threads),
            Op::Call(function, _) => self.calls.get(function.0 as usize).cloned().unwrap_or_default().times(threads),
            Op::If { cond: _, args, then, otherwise } => {
                for body in [then, otherwise] {
                    self.pass(args, body.params.iter().map(|p| p.id));
                }
                let then = self.body(then, threads);
                then.or(&self.body(otherwise, threads))
            }
            Op::For { lo, hi, step, init, body } => {
                self.pass(init, body.params.iter().skip(1).map(|p| p.id));
                let turns = self.turns(*lo, *hi, Some(*step));
                self.repeated(&[body], threads, turns)
            }
            Op::While { init, cond, body } => {
                self.pass(init, cond.params.iter().map(|p| p.id));
                self.pass(init, body.params.iter().map(|p| p.id));
                self.repeated(&[cond, body], threads, None)
            }
            Op::Lanes { lo, hi, body, monoid } => {
                let turns = self.turns(*lo, *hi, None);
                let mut bodies = vec![body];
                bodies.extend(monoid.as_ref().map(|m| &m.combine));
                let sides = monoid.as_ref().map(|m| &m.combine.params[..]).unwrap_or_default();
                let results = body.results.iter().cycle();
                // The threads of the block share the turns.
                let once = Count::from(1);
                let first = self.body(body, &once);
                let pairs: Vec<(Id, Id)> = results.zip(sides).map(|(&from, to)| (from, to.id)).collect();
                self.pass_pairs(&pairs);
                let rest = self.repeated(&bodies[1..], &once, turns.clone());
                scaled(first, turns).and(&rest)
            }
            Op::Prefixes { lo, hi, body, monoid, put, .. } => {
                let turns = self.turns(*lo, *hi, None);
                let sides = monoid.combine.params.iter().map(|p| p.id);
                self.pass(&body.results.repeat(2), sides);
                self.pass(&body.results, put.params.iter().skip(1).map(|p| p.id));
                self.repeated(&[body, &monoid.combine, put], threads, turns)
            }
            Op::Tabulate { shape, body } => self.body(body, threads).times(&Count::elements(shape)),
            Op::Fold { shape, body, monoid }
            | Op::Scan { shape, body, monoid }
            | Op::Scatter { shape, body, monoid, .. } => {
                let values = &body.results[body.results.len() - monoid.neutral.len()..];
                let sides = monoid.combine.params.iter().map(|p| p.id);
                self.pass(&values.repeat(2), sides);
                self.repeated(&[body, &monoid.combine], threads, Some(Count::elements(shape)))
            }
            Op::Sort { shape, body, .. } => self.body(body, threads).times(&Count::elements(shape)),
            Op::Filter { extent, body, .. } => self.body(body, threads).times(&Count::from(extent)),
            // Numbers that no loop is counted by, and conversions, which cost nothing.
            Op::Const(_) | Op::Cast(..) | Op::Bitcast(..) | class!(Place) => Work::default(),
            // Nobody knows what it does.
            Op::Raw(_) => Work::default(),
            // Reads, writes and meetings are counted elsewhere.
            Op::At { .. } | Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | class!(Memory) => Work::default(),
            Op::Mma(fragment, _) => fragment_work(*fragment, threads),
        }
    }

    fn repeated(&mut self, bodies: &[&Body], threads: &Count, turns: Option<Count>) -> Work {
        let once = bodies.iter().fold(Work::default(), |work, body| work.and(&self.body(body, threads)));
        scaled(once, turns)
    }

    /// Parameters are data where what is passed for them is.
    fn pass(&mut self, from: &[Id], to: impl Iterator<Item = Id>) {
        let pairs: Vec<(Id, Id)> = from.iter().copied().zip(to).collect();
        self.pass_pairs(&pairs);
    }

    fn pass_pairs(&mut self, pairs: &[(Id, Id)]) {
        for (from, to) in pairs {
            if self.data.contains(from) {
                self.data.insert(*to);
            }
        }
    }

    fn learn(&mut self, stmt: &Stmt, number: Number) {
        self.numbers.extend(stmt.binds.first().map(|b| (b.id, number)));
    }

    fn apply(&mut self, stmt: &Stmt, operator: Operator, args: &[Id], threads: &Count) -> Work {
        if let [a, b] = args
            && let Some(number) = self.combine(operator, *a, *b)
        {
            self.learn(stmt, number);
        }
        let float = args.iter().any(|id| self.floats.contains(id));
        if !args.iter().any(|id| self.data.contains(id)) {
            return Work::default();
        }
        Work { operators: BTreeMap::from([(operator, threads.clone())]), at_least: false, floats: float }
    }

    /// Integer arithmetic, as far as the lowerings need it to say how long their loops are.
    fn combine(&self, operator: Operator, a: Id, b: Id) -> Option<Number> {
        let size = |id: Id| match self.numbers.get(&id) {
            Some(Number::Size(size)) => Some(size.clone()),
            Some(Number::Past(..) | Number::End { .. }) | None => None,
        };
        match (operator, size(a), size(b)) {
            (Operator::Add, Some(a), Some(b)) => Some(Number::Size(a + b)),
            (Operator::Mul, Some(a), Some(b)) => Some(Number::Size(a * b)),
            (Operator::Min, Some(a), Some(b)) => Some(Number::Size(Size::Min(a.into(), b.into()))),
            (Operator::Add, None, Some(n)) => n.constant().map(|n| Number::Past(a, n)),
            (Operator::Add, Some(n), None) => n.constant().map(|n| Number::Past(b, n)),
            (Operator::Min, None, Some(axis)) => self.end(a, axis),
            (Operator::Min, Some(axis), None) => self.end(b, axis),
            _ => None,
        }
    }

    fn end(&self, past: Id, axis: Size) -> Option<Number> {
        match self.numbers.get(&past)? {
            Number::Past(start, length) => Some(Number::End { start: *start, length: *length, axis }),
            Number::Size(_) | Number::End { .. } => None,
        }
    }

    /// How many turns a loop takes, if the sizes tell.
    fn turns(&self, lo: Id, hi: Id, step: Option<Id>) -> Option<Count> {
        let step = match step.map(|id| self.numbers.get(&id)) {
            None => 1,
            Some(Some(Number::Size(size))) => size.constant().filter(|&n| n > 0)?,
            Some(_) => return None,
        };
        match (self.numbers.get(&lo), self.numbers.get(&hi)?) {
            (_, Number::End { start, length, axis }) if *start == lo && step == 1 => Some(Count::piece(axis, *length)),
            (Some(Number::Size(Size::Const(0))), Number::Size(hi)) if step == 1 => Some(Count::from(hi)),
            (Some(Number::Size(Size::Const(0))), Number::Size(hi)) => {
                Some(Count::from(&Size::CeilDiv(hi.clone().into(), step)))
            }
            (Some(Number::Size(lo)), Number::Size(hi)) => {
                let lo = lo.constant()?;
                let hi = hi.constant()?;
                Some(Count::from(hi.saturating_sub(lo).div_ceil(step)))
            }
            _ => None,
        }
    }
}

fn scaled(work: Work, turns: Option<Count>) -> Work {
    match turns {
        Some(turns) => work.times(&turns),
        None => Work { at_least: true, ..work },
    }
}

/// What a lane has of a product of fragments.
fn fragment_work(fragment: Fragment, threads: &Count) -> Work {
    let products = Count::from(32 * fragment.in_word() as u64) * threads.clone();
    let operators = BTreeMap::from([(Operator::Mul, products.clone()), (Operator::Add, products)]);
    Work { operators, floats: true, ..Work::default() }
}
