//! Which threads come where: barriers and subgroup operations need all of them, and stores should not have all of them.
//!
//! Goes over the typed functions of a kernel with, for every value, who shares it ([`Spread`]), until nothing changes any more; then
//! once more to report. A function is looked at once for each way it is called.
//!
//! What it does not see: values that differ in theory and agree in fact (`thread.x - thread.x`), and what other threads write to memory;
//! an element that all threads read from the same place is taken for the same value.

use super::body::Marks;
use super::race;
use super::rules;
use super::spread::{Gate, Level, Spread};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::typed::inside::{any_stmt, each_expr, exprs_of};
use crate::typed::{Arg, Expr, ExprKind, Function, FunctionId, Home, LocalId, MemoryRef, ParamKind, Stmt};
use slyz_sir::code::{Place, Scope, SubgroupOp};
use std::collections::{HashMap, HashSet};

/// Times to go over a function before everything is taken for different. Each brings something new or is the last; people's code needs
/// three or four.
const MOST_PASSES: usize = 32;

/// What a memory is to the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shared {
    /// A tensor: all threads see it.
    Launch,
    /// A threadgroup array.
    Block,
    /// One per thread; whether threads may have put different things into it.
    Own(Spread),
}

/// How a function is called.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    function: FunctionId,
    values: Vec<(Spread, bool)>,
    memories: Vec<Option<Shared>>,
    /// Who calls it.
    flow: Spread,
    /// From a kernel for one thread.
    alone: bool,
}

/// What a call of a function comes to.
#[derive(Clone, Copy)]
struct Summary {
    result: Level,
    /// A barrier in it, or in what it calls.
    barrier: Option<Span>,
    /// A subgroup operation or barrier of a subgroup in it.
    subgroup: Option<Span>,
}

/// Looks at kernels.
pub(super) struct Uniform<'p> {
    functions: &'p [Function],
    marks: &'p [Marks],
    known: HashMap<Key, Summary>,
    /// Calls that were reported about.
    told: HashSet<Key>,
    /// No thread of the kernel can tell itself from others: it is meant for one.
    alone: bool,
    pub found: Vec<Diagnostic>,
}

impl<'p> Uniform<'p> {
    pub(super) fn new(functions: &'p [Function], marks: &'p [Marks]) -> Uniform<'p> {
        Uniform { functions, marks, known: HashMap::new(), told: HashSet::new(), alone: false, found: vec![] }
    }

    /// A function as a launch runs it. `parts` are the function and what it calls.
    pub(super) fn kernel(&mut self, function: FunctionId, parts: &[FunctionId]) {
        let functions = self.functions;
        self.alone = !parts.iter().any(|id| reads_thread(&functions[id.0 as usize].body));
        let params = &self.functions[function.0 as usize].params;
        let values = vec![Level::SAME; params.len()];
        let memories = params.iter().map(|p| matches!(p.kind, ParamKind::Tensor { .. }).then_some(Shared::Launch));
        let memories = memories.collect();
        self.call(function, &values, memories, (Gate::OPEN, None), true);
    }

    /// Looks at a function as it is called. Calls are reported about only where the caller's values are final.
    fn call(
        &mut self,
        id: FunctionId,
        values: &[Level],
        memories: Vec<Option<Shared>>,
        (flow, from): (Gate, Option<Span>),
        report: bool,
    ) -> Summary {
        let keys = values.iter().map(|l| (l.spread, l.data)).collect();
        let key = Key { function: id, values: keys, memories, flow: flow.spread(), alone: self.alone };
        if let Some(known) = self.known.get(&key)
            && (!report || self.told.contains(&key))
        {
            return *known;
        }
        let function = &self.functions[id.0 as usize];
        let mut locals = vec![None; function.locals.len()];
        for (param, level) in function.params.iter().zip(values) {
            if let ParamKind::Scalar(local, _) = param.kind {
                locals[local.0 as usize] = Some((*level, flow.spread()));
            }
        }
        let mut walk = Walk {
            outer: self,
            function,
            marks: id.0 as usize,
            memories: key.memories.clone(),
            caller: flow,
            called_from: from,
            locals,
            arrays: vec![Level::SAME; function.arrays.len()],
            gates: vec![],
            left: Gate::OPEN,
            skipped: Gate::OPEN,
            exits: vec![],
            open_loops: vec![],
            loops: 0,
            barriers: 0,
            changed: false,
            may_report: report,
            report: false,
            result: Level::SAME,
            barrier: None,
            subgroup: None,
        };
        walk.run();
        let summary = Summary { result: walk.result, barrier: walk.barrier, subgroup: walk.subgroup };
        if report {
            self.told.insert(key.clone());
        }
        self.known.insert(key, summary);
        summary
    }
}

/// One function, called in one way.
pub(super) struct Walk<'u, 'p> {
    outer: &'u mut Uniform<'p>,
    pub function: &'p Function,
    marks: usize,
    memories: Vec<Option<Shared>>,
    /// Who calls the function; barriers inside are the caller's business then.
    caller: Gate,
    /// Where it is called.
    pub called_from: Option<Span>,
    /// The level of each local, and who came by its declaration.
    locals: Vec<Option<(Level, Spread)>>,
    arrays: Vec<Level>,
    /// Conditions and loops around the code that is looked at.
    gates: Vec<Gate>,
    /// Threads that have returned.
    left: Gate,
    /// Threads that have gone on to the next turn.
    skipped: Gate,
    /// Threads that leave each loop early, by number of the loop.
    exits: Vec<Gate>,
    /// Loops around: their number, and how many gates were there before.
    open_loops: Vec<(usize, usize)>,
    loops: usize,
    barriers: usize,
    changed: bool,
    may_report: bool,
    report: bool,
    result: Level,
    barrier: Option<Span>,
    subgroup: Option<Span>,
}

impl<'p> Walk<'_, 'p> {
    fn run(&mut self) {
        let function = self.function;
        for pass in 0..2 * MOST_PASSES {
            if pass == MOST_PASSES {
                self.give_up();
            }
            let last = !self.changed && pass > 0;
            self.report = last && self.may_report;
            self.changed = false;
            (self.left, self.skipped, self.loops, self.barriers) = (Gate::OPEN, Gate::OPEN, 0, 0);
            self.stmts(&function.body);
            if last {
                return;
            }
        }
    }

    /// Takes every value for another one in each thread; what is left to find out then is found in a pass or two.
    fn give_up(&mut self) {
        let different = Level { spread: Spread::Thread, from: None, data: true };
        self.locals.iter_mut().flatten().for_each(|(level, _)| *level = level.join(different));
        self.arrays.iter_mut().for_each(|level| *level = level.join(different));
    }

    pub(super) fn say(&mut self, diagnostic: Diagnostic) {
        let told = |d: &Diagnostic| d.rule == diagnostic.rule && d.span == diagnostic.span;
        if self.report && !self.outer.found.iter().any(told) {
            self.outer.found.push(diagnostic);
        }
    }

    /// Who comes by here, of the threads that entered the function.
    fn flow(&self) -> Gate {
        self.gates.iter().fold(self.left.join(self.skipped), |all, &gate| all.join(gate))
    }

    /// Who comes by here, of all threads.
    pub(super) fn whole_flow(&self) -> Gate {
        self.caller.join(self.flow())
    }

    /// Is there but one thread?
    pub(super) fn alone(&self) -> bool {
        self.outer.alone
    }

    pub(super) fn shared(&self, memory: MemoryRef) -> Shared {
        match memory {
            MemoryRef::Param(k) => self.memories.get(k as usize).copied().flatten().unwrap_or(Shared::Launch),
            MemoryRef::Array(id) => match self.function.arrays[id.0 as usize].home {
                Home::Thread => Shared::Own(self.arrays[id.0 as usize].spread),
                Home::Threadgroup => Shared::Block,
                Home::Constant(_) => Shared::Launch,
            },
        }
    }

    /// The name of a memory.
    pub(super) fn name(&self, memory: MemoryRef) -> &'p str {
        match memory {
            MemoryRef::Param(k) => &self.function.params[k as usize].name,
            MemoryRef::Array(id) => &self.function.arrays[id.0 as usize].name,
        }
    }

    fn stmts(&mut self, stmts: &'p [Stmt]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'p Stmt) {
        match stmt {
            Stmt::Set(local, value) => {
                let level = self.expr(value);
                self.set(*local, level);
            }
            Stmt::Store { memory, index, value, span } => {
                let at = self.all(index);
                let level = self.expr(value);
                race::store(self, *memory, index, at, value, *span);
                self.fill(*memory, at.join(level));
            }
            Stmt::Fill(id, value) => {
                let level = self.expr(value);
                self.fill(MemoryRef::Array(*id), level);
            }
            Stmt::Expr(expr) => drop(self.expr(expr)),
            Stmt::If { cond, then, otherwise } => {
                let level = self.expr(cond);
                let gate = Gate { level, span: cond.span, remark: "not all threads agree on this condition" };
                self.behind(gate, |walk| {
                    walk.stmts(then);
                    walk.stmts(otherwise);
                });
            }
            Stmt::For { counter, lo, hi, step, body } => {
                let [lo_level, hi_level, step_level] = [lo, hi, step].map(|e| self.expr(e));
                self.set(*counter, lo_level.join(step_level));
                let level = lo_level.join(hi_level).join(step_level);
                let gate = Gate { level, span: lo.span.to(hi.span), remark: "not all threads make as many turns" };
                self.turns(gate, |walk| walk.stmts(body));
            }
            Stmt::While { cond, body } => {
                // The condition is looked at behind the gate as well: threads that are done do not come to it again.
                let start = (self.loops, self.barriers);
                let level = self.expr(cond);
                let gate = Gate { level, span: cond.span, remark: "not all threads make as many turns" };
                self.turns(gate, |walk| {
                    // It is the same code, so that what is counted in it has the same numbers.
                    let after = (walk.loops, walk.barriers);
                    (walk.loops, walk.barriers) = start;
                    walk.expr(cond);
                    (walk.loops, walk.barriers) = after;
                    walk.stmts(body);
                });
            }
            Stmt::Break => {
                if let Some(&(number, gates)) = self.open_loops.last() {
                    let inside = self.gates[gates..].iter().fold(self.skipped, |all, &gate| all.join(gate));
                    self.exit(number, Gate { remark: "some threads leave the loop here", ..inside });
                }
            }
            Stmt::Continue => {
                let gates = self.open_loops.last().map_or(0, |l| l.1);
                let inside = self.gates[gates..].iter().fold(Gate::OPEN, |all, &gate| all.join(gate));
                self.skipped = self.skipped.join(Gate { remark: "some threads go on to the next turn here", ..inside });
            }
            Stmt::Return(value) => {
                let flow = self.flow();
                if let Some(value) = value {
                    let level = self.expr(value);
                    self.result = self.result.join(level).join(flow.level);
                }
                let gate = Gate { remark: "some threads return here", ..flow };
                self.left = self.left.join(gate);
                let open = self.open_loops.clone();
                open.iter().for_each(|l| self.exit(l.0, gate));
            }
            Stmt::Barrier(scope) => self.barrier(*scope),
            Stmt::Fence(_) => {}
        }
    }

    /// Threads leave a loop before its end; the turns after that are without them.
    fn exit(&mut self, number: usize, gate: Gate) {
        let now = self.exits[number].join(gate);
        if now.spread() != self.exits[number].spread() {
            self.exits[number] = now;
            self.changed = true;
        }
    }

    fn behind(&mut self, gate: Gate, inside: impl FnOnce(&mut Self)) {
        self.gates.push(gate);
        inside(self);
        self.gates.pop();
    }

    fn turns(&mut self, gate: Gate, inside: impl FnOnce(&mut Self)) {
        let number = self.loops;
        self.loops += 1;
        if self.exits.len() <= number {
            self.exits.push(Gate::OPEN);
        }
        // Leaving early explains more than a condition that became different by it.
        let gate = self.exits[number].join(gate);
        let skipped = std::mem::replace(&mut self.skipped, Gate::OPEN);
        // Threads that skip the rest of an outer turn are not here either.
        let outer = [skipped, gate];
        self.gates.extend(outer);
        self.open_loops.push((number, self.gates.len()));
        inside(self);
        self.open_loops.pop();
        self.gates.truncate(self.gates.len() - outer.len());
        self.skipped = skipped;
    }

    fn set(&mut self, local: LocalId, level: Level) {
        let flow = self.flow();
        let slot = &mut self.locals[local.0 as usize];
        let now = match *slot {
            None => (level, flow.spread()),
            // Threads that do not come by here keep what they had.
            Some((old, declared)) if flow.spread() > declared => (old.join(level).join(flow.level), declared),
            Some((old, declared)) => (old.join(level), declared),
        };
        let same = slot.is_some_and(|(old, _)| old.spread == now.0.spread && old.data == now.0.data);
        *slot = Some(now);
        self.changed |= !same;
    }

    /// Something is put into an array of the thread.
    fn fill(&mut self, memory: MemoryRef, level: Level) {
        let MemoryRef::Array(id) = memory else { return };
        let level = level.join(self.flow().level);
        let slot = &mut self.arrays[id.0 as usize];
        let now = slot.join(level);
        self.changed |= now.spread != slot.spread || now.data != slot.data;
        *slot = now;
    }

    fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Level
    where
        'p: 'e,
        'e: 'p,
    {
        exprs.into_iter().fold(Level::SAME, |all, e| all.join(self.expr(e)))
    }

    fn expr(&mut self, expr: &'p Expr) -> Level {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Extent(..) => Level::SAME,
            ExprKind::Local(local) => self.locals[local.0 as usize].map_or(Level::SAME, |l| l.0),
            ExprKind::Place(place, _) => match place {
                Place::Global | Place::Local => {
                    Level::new(Spread::Thread, span, "the index of the thread comes in here")
                }
                Place::Lane => Level::new(Spread::Thread, span, "the lane comes in here"),
                Place::Block => Level::new(Spread::Block, span, "the index of the block comes in here"),
                Place::BlockDim | Place::GridDim | Place::SubgroupSize => Level::SAME,
            },
            ExprKind::Apply(..) | ExprKind::Cast(_) | ExprKind::Bitcast(_) => self.operators(expr),
            ExprKind::AndThen(x, y) | ExprKind::OrElse(x, y) => {
                let first = self.expr(x);
                let gate = Gate { level: first, span: x.span, remark: "not all threads come past this condition" };
                let mut second = Level::SAME;
                self.behind(gate, |walk| second = walk.expr(y));
                first.join(second)
            }
            ExprKind::Load(memory, index) => {
                let at = self.all(index);
                let held = match (self.shared(*memory), memory) {
                    (Shared::Own(_), MemoryRef::Array(id)) => self.arrays[id.0 as usize],
                    (Shared::Own(spread), MemoryRef::Param(_)) => Level { spread, ..Level::SAME },
                    (Shared::Block, _) => Level { spread: Spread::Block, ..Level::SAME },
                    (Shared::Launch, _) => Level::SAME,
                };
                let constant = matches!(memory, MemoryRef::Array(id)
                    if matches!(self.function.arrays[id.0 as usize].home, Home::Constant(_) | Home::Thread));
                let read = at.join(held);
                Level { data: read.data || !constant, ..read }
            }
            ExprKind::Atomic { index, args, .. } => {
                self.all(index);
                self.all(args);
                Level::new(Spread::Thread, span, "atomics give every thread another value")
            }
            ExprKind::Subgroup(op, args) => self.subgroup(*op, args, span),
            ExprKind::Call(id, args) => self.called(*id, args, span),
            ExprKind::If { cond, then, otherwise } => {
                let level = self.expr(cond);
                let gate = Gate { level, span: cond.span, remark: "not all threads agree on this condition" };
                let mut value = level;
                self.behind(gate, |walk| {
                    for (stmts, last) in [then, otherwise] {
                        walk.stmts(stmts);
                        value = value.join(walk.expr(last));
                    }
                });
                value
            }
        }
    }

    /// Operators on operators, without a stack.
    fn operators(&mut self, expr: &'p Expr) -> Level {
        let mut level = Level::SAME;
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            match &expr.kind {
                ExprKind::Apply(_, args) => open.extend(args.iter().rev()),
                ExprKind::Cast(x) | ExprKind::Bitcast(x) => open.push(x),
                _ => level = level.join(self.expr(expr)),
            }
        }
        level
    }

    fn subgroup(&mut self, op: SubgroupOp, args: &'p [Expr], span: Span) -> Level {
        let value = args.first().map_or(Level::SAME, |a| self.expr(a));
        let lane = args.get(1).map_or(Level::SAME, |a| self.expr(a));
        self.subgroup = self.subgroup.or(Some(span));
        self.meets(Spread::Subgroup, span, "a subgroup operation");
        let differs = |spread| Level::new(spread, span, "subgroups of a block get different values here");
        match op {
            SubgroupOp::Broadcast | SubgroupOp::Any | SubgroupOp::All => value.shared(),
            SubgroupOp::Reduce(_) | SubgroupOp::Ballot => differs(Spread::Subgroup),
            SubgroupOp::Scan(_) => differs(Spread::Thread),
            SubgroupOp::Shuffle if lane.spread < Spread::Thread => value.shared().join(lane),
            SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown => {
                value.join(lane)
            }
        }
    }

    fn called(&mut self, id: FunctionId, args: &'p [Arg], span: Span) -> Level {
        let mut values = vec![];
        let mut memories = vec![];
        for arg in args {
            match arg {
                Arg::Value(value) => {
                    let level = self.expr(value);
                    values.push(level);
                    memories.push(None);
                }
                Arg::Memory(memory) => {
                    values.push(Level::SAME);
                    memories.push(Some(self.shared(*memory)));
                }
            }
        }
        let flow = self.whole_flow();
        let summary = self.outer.call(id, &values, memories, (flow, Some(span)), self.report);
        let params = &self.outer.functions[id.0 as usize].params;
        for (arg, param) in args.iter().zip(params) {
            if let (Arg::Memory(memory), ParamKind::Tensor { mutable: true, .. }) = (arg, &param.kind) {
                self.fill(*memory, Level::new(Spread::Thread, span, "filled by this call"));
            }
        }
        if let Some(barrier) = summary.barrier {
            self.barrier = self.barrier.or(Some(barrier));
            self.meets_in_call(Spread::Block, span, barrier);
        }
        if let Some(subgroup) = summary.subgroup {
            self.subgroup = self.subgroup.or(Some(subgroup));
            self.meets_in_call(Spread::Subgroup, span, subgroup);
        }
        summary.result
    }

    fn barrier(&mut self, scope: Scope) {
        let span = self.outer.marks[self.marks].barriers.get(self.barriers).copied().unwrap_or_default();
        self.barriers += 1;
        match scope {
            Scope::Subgroup => {
                self.subgroup = self.subgroup.or(Some(span));
                self.meets(Spread::Subgroup, span, "a subgroup barrier");
            }
            Scope::Block | Scope::Device => {
                self.barrier = self.barrier.or(Some(span));
                self.meets(Spread::Block, span, "a barrier");
            }
        }
    }

    /// Threads meet here; all that should come do so, or it is said.
    fn meets(&mut self, who: Spread, span: Span, what: &str) {
        let flow = self.flow();
        if flow.spread() > who {
            self.say(divergent(who, span, format!("{what} that not all threads come to"), flow));
        }
    }

    fn meets_in_call(&mut self, who: Spread, span: Span, inside: Span) {
        let flow = self.flow();
        if flow.spread() > who {
            let what = if who == Spread::Block { "a barrier" } else { "a subgroup operation" };
            let message = format!("this call comes to {what}, but not all threads make it");
            self.say(divergent(who, span, message, flow).related(inside, "here it is"));
        }
    }
}

/// Is the index of the thread, or its lane, used anywhere?
fn reads_thread(stmts: &[Stmt]) -> bool {
    any_stmt(stmts, &mut |stmt| {
        let mut found = false;
        for expr in exprs_of(stmt) {
            each_expr(expr, &mut |e| {
                found |= matches!(e.kind, ExprKind::Place(Place::Global | Place::Local | Place::Lane, _));
            });
        }
        found
    })
}

fn divergent(who: Spread, span: Span, message: String, flow: Gate) -> Diagnostic {
    let (rule, whole) = match who {
        Spread::Subgroup => (rules::SUBGROUP, "subgroup"),
        Spread::Grid | Spread::Block | Spread::Thread => (rules::BARRIER, "block"),
    };
    let mut diagnostic = Diagnostic::error(rule, span, message).related(flow.span, flow.remark);
    if let Some((from, remark)) = flow.level.from
        && from != flow.span
    {
        diagnostic = diagnostic.related(from, remark);
    }
    diagnostic.help(format!(
        "move it to where every thread of the {whole} comes by, and guard only the reads and writes with the condition"
    ))
}
