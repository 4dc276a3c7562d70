//! What the host does for a program, as statements: it looks at sizes and arguments, makes buffers, takes the steps of the plan.
//!
//! A host language writes them ([`swift`](super::swift), `javascript`); what is done, and in which order, is decided here. Results
//! are read when all statements are done.

use crate::code::Type;
use crate::kernel::{BufferId, BufferUse, Loop, Plan, ScalarArg, Step, Turns};
use crate::program::Require;
use crate::size::{Size, SizeOrigin, SizeVar};
use std::collections::BTreeSet;

/// What the host does. Sizes are the plan's.
#[derive(Clone, Debug)]
pub(super) enum Statement<'p> {
    /// The length of an array argument is a size.
    Told { size: SizeVar, param: usize },
    /// A size that the caller gives must not be negative.
    Asked(SizeVar),
    /// A size must be one that kernels can count to.
    Axis(SizeVar),
    /// An array argument must have as many elements as its shape has positions.
    Expect { param: usize, shape: &'p [Size] },
    /// What the program asks of its sizes.
    Require(&'p Require),
    /// Launches begin.
    Begin,
    /// Makes a buffer of an argument.
    Upload { buffer: BufferId, param: usize },
    /// Makes a buffer; it may change places with another.
    Allocate { buffer: BufferId, swapped: bool },
    /// Runs a kernel of the plan.
    Launch { kernel: usize, buffers: &'p [BufferId], scalars: &'p [ScalarArg] },
    /// Waits, and reads a size from a buffer.
    Count { size: SizeVar, from: BufferId },
    /// Statements in turns, with so many loops around them.
    Loop { depth: u32, turns: Repeat<'p>, body: Vec<Statement<'p>>, swaps: &'p [(BufferId, BufferId)] },
    /// Two ways.
    Choose { work: &'p Size, most: u64, small: Vec<Statement<'p>>, large: Vec<Statement<'p>> },
}

/// How often statements are taken.
#[derive(Clone, Debug)]
pub(super) enum Repeat<'p> {
    /// As often as a size says.
    Size(&'p Size),
    /// As often as a buffer says.
    Read(BufferId),
    /// As long as a buffer says so after these.
    While { test: Vec<Statement<'p>>, holds: BufferId },
}

/// All that the host does before it reads the results.
pub(super) fn statements<'p>(requires: &'p [Require], plan: &'p Plan) -> Vec<Statement<'p>> {
    let mut walk = Walk { plan, made: BTreeSet::new(), out: vec![] };
    walk.check(requires);
    walk.out.push(Statement::Begin);
    for step in &plan.steps {
        if !matches!(step, Step::Free(_)) {
            step.buffers().iter().for_each(|id| walk.buffer(*id));
        }
        walk.out.extend(walk.step(step, 0));
    }
    for (id, _) in &plan.results {
        walk.buffer(*id);
    }
    walk.out
}

/// The parameter whose length is the size, if there is one.
pub(super) fn told_by(plan: &Plan, var: SizeVar) -> Option<usize> {
    plan.params.iter().position(|p| *p.ty.shape() == [Size::Var(var)])
}

/// Sizes that no array tells: the caller gives them.
pub(super) fn asked(plan: &Plan) -> Vec<usize> {
    let given = plan.sizes.iter().enumerate().filter(|(_, decl)| decl.origin == SizeOrigin::Given);
    given.map(|(k, _)| k).filter(|&k| told_by(plan, SizeVar(k as u32)).is_none()).collect()
}

struct Walk<'p> {
    plan: &'p Plan,
    made: BTreeSet<BufferId>,
    out: Vec<Statement<'p>>,
}

impl<'p> Walk<'p> {
    fn check(&mut self, requires: &'p [Require]) {
        for (k, decl) in self.plan.sizes.iter().enumerate() {
            if decl.origin == SizeOrigin::Given {
                let size = SizeVar(k as u32);
                self.out.push(match told_by(self.plan, size) {
                    Some(param) => Statement::Told { size, param },
                    None => Statement::Asked(size),
                });
                self.out.push(Statement::Axis(size));
            }
        }
        for (param, var) in self.plan.params.iter().enumerate() {
            if let Type::Array(_, shape) = &var.ty {
                self.out.push(Statement::Expect { param, shape });
            }
        }
        for rule in requires {
            // What is counted on the way is not known yet.
            let mut counted = false;
            let origin = |v: SizeVar| self.plan.sizes[v.0 as usize].origin;
            rule.sizes().for_each(|size| size.each_var(&mut |v| counted |= origin(v) == SizeOrigin::Counted));
            if !counted {
                self.out.push(Statement::Require(rule));
            }
        }
    }

    /// Makes a buffer when it is first needed: only then are the sizes known that were counted.
    fn buffer(&mut self, id: BufferId) {
        if !self.made.insert(id) {
            return;
        }
        self.out.push(match self.plan.buffers[id.0 as usize].role {
            BufferUse::Argument(param) => Statement::Upload { buffer: id, param },
            BufferUse::Result(_) | BufferUse::Temporary => {
                Statement::Allocate { buffer: id, swapped: self.is_swapped(id) }
            }
        });
    }

    /// Does a buffer change places with another?
    fn is_swapped(&self, id: BufferId) -> bool {
        let swaps = |step: &Step| match step {
            Step::Loop(Loop { swaps, .. }) => swaps.iter().any(|(a, b)| *a == id || *b == id),
            Step::Launch { .. } | Step::Count { .. } | Step::Free(_) | Step::Choose { .. } => false,
        };
        self.plan.all_steps().into_iter().any(swaps)
    }

    fn steps(&self, steps: &'p [Step], depth: u32) -> Vec<Statement<'p>> {
        steps.iter().filter_map(|step| self.step(step, depth)).collect()
    }

    /// One step, with so many loops around it.
    fn step(&self, step: &'p Step, depth: u32) -> Option<Statement<'p>> {
        Some(match step {
            Step::Launch { kernel, buffers, scalars } => Statement::Launch { kernel: *kernel, buffers, scalars },
            Step::Count { size, from } => Statement::Count { size: *size, from: *from },
            // The buffers of a call go when it ends.
            Step::Free(_) => return None,
            Step::Loop(Loop { turns, steps, swaps, .. }) => {
                let turns = match turns {
                    Turns::Size(size) => Repeat::Size(size),
                    Turns::Read(from) => Repeat::Read(*from),
                    Turns::While { steps, holds, .. } => {
                        Repeat::While { test: self.steps(steps, depth + 1), holds: *holds }
                    }
                };
                Statement::Loop { depth, turns, body: self.steps(steps, depth + 1), swaps }
            }
            Step::Choose { work, most, small, large } => Statement::Choose {
                work,
                most: *most,
                small: self.steps(small, depth),
                large: self.steps(large, depth),
            },
        })
    }
}

/// How a language spells arithmetic on sizes, where languages differ. Products are `times(a, b)` of the engine, which looks for
/// overflow.
pub(super) struct Arithmetic {
    /// What stands before functions of the engine.
    pub engine: &'static str,
    /// The function that gives the smaller of two.
    pub min: &'static str,
    /// `a / n`, rounded up.
    pub ceil_div: fn(&str, u64) -> String,
}

/// The name, or one like it that is not taken. Names with numbers behind them are taken together, so a number would not do.
pub(super) fn free(name: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let mut name = name.to_string();
    while taken(&name) {
        name.push('_');
    }
    name
}

/// The names of a program's parameters and sizes in a host language.
pub(super) struct Names {
    /// Of sizes.
    pub sizes: Vec<String>,
    /// Of parameters.
    pub params: Vec<String>,
    arithmetic: Arithmetic,
}

impl Names {
    /// Names for a plan. Nobody may be called what is `taken`.
    pub(super) fn new(plan: &Plan, arithmetic: Arithmetic, taken: &dyn Fn(&str) -> bool) -> Names {
        let arrays = plan.params.iter().filter(|p| matches!(p.ty, Type::Array(..))).count();
        let mut params: Vec<String> = vec![];
        for (k, param) in plan.params.iter().enumerate() {
            let name = match (plan.names.get(param.id), &param.ty) {
                (Some(name), _) => name.to_string(),
                (None, Type::Array(..)) if arrays == 1 => "input".to_string(),
                (None, Type::Array(..)) => format!("input{k}"),
                (None, Type::Scalar(_)) => format!("arg{k}"),
            };
            let name = free(&name, &|name| taken(name) || params.iter().any(|other| other == name));
            params.push(name);
        }
        let is_param = |name: &String| params.contains(name);
        let size = |name: &String| if is_param(name) || taken(name) { format!("{name}_size") } else { name.clone() };
        let sizes = plan.sizes.iter().map(|decl| size(&decl.name)).collect();
        Names { sizes, params, arithmetic }
    }

    /// A size as an expression.
    pub(super) fn size(&self, size: &Size) -> String {
        if let Some(n) = size.constant() {
            return n.to_string();
        }
        let engine = self.arithmetic.engine;
        match size {
            Size::Const(n) => n.to_string(),
            Size::Var(var) => self.sizes[var.0 as usize].clone(),
            Size::Add(a, b) => format!("({} + {})", self.size(a), self.size(b)),
            Size::Mul(a, b) => format!("{engine}times({}, {})", self.size(a), self.size(b)),
            Size::Min(a, b) => format!("{}({}, {})", self.arithmetic.min, self.size(a), self.size(b)),
            Size::CeilDiv(a, n) => (self.arithmetic.ceil_div)(&self.size(a), *n),
            Size::Tri(a) => format!("({engine}times({0}, {0} + 1) / 2)", self.size(a)),
        }
    }

    /// Sizes as a list in brackets.
    pub(super) fn list(&self, sizes: &[Size]) -> String {
        let spelled: Vec<String> = sizes.iter().map(|s| self.size(s)).collect();
        format!("[{}]", spelled.join(", "))
    }

    /// A rule as a condition.
    pub(super) fn rule(&self, rule: &Require, equal: &str) -> String {
        match rule {
            Require::NonEmpty(a) => format!("{} > 0", self.size(a)),
            Require::Equal(a, b) => format!("{} {equal} {}", self.size(a), self.size(b)),
            Require::AtMost(a, b) => format!("{} <= {}", self.size(a), self.size(b)),
        }
    }

    /// The number of positions of a shape; `positions(program, what, shape)` looks whether it is too large.
    pub(super) fn count(&self, shape: &[Size], what: &str, program: &str) -> String {
        match Size::product(shape).constant() {
            Some(n) => n.to_string(),
            None => format!("{}positions(\"{program}\", \"{what}\", {})", self.arithmetic.engine, self.list(shape)),
        }
    }
}

/// What a buffer is to somebody who reads that it is too large.
pub(super) fn what_is(role: BufferUse) -> &'static str {
    if role == BufferUse::Temporary { "a temporary array" } else { "the result" }
}
