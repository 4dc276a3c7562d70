//! Whether code is right where `i64` is a number of 32 bits: it may count and make positions, but not work on 64-bit data.
//!
//! Every `i64` must be seen to fit a word, or only its low word may matter, as in an index into memory. One leniency: what is made of positions
//! alone (places of threads, counters, extents, scalars of a launch) may also be compared, divided and clamped on its way to an index: past 32 bits it
//! is outside of any array that such a target has. What comes from data, is carried by a loop, stored, or made a float has to fit.
//!
//! Programs and kernels are looked at alike. Of kernels more is known (`ranges`).

use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::kernel::Kernel;
use crate::ops::{Operator, Signature};
use crate::program::Program;
use crate::ranges::{self, Facts, Range, Ranges, low};
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// What makes numbers of 64 bits in a program, in words, where no array has more than `most` positions.
pub fn wide_in_program(program: &Program, most: u64) -> Option<String> {
    let mut small = Small::new(most, None);
    small.vars(&program.body);
    let given = program.body.params.iter().map(|p| p.id);
    let mut seen = given.chain(program.body.results.iter().copied());
    if let Some(ty) = seen.find_map(|id| small.types.get(&id).copied().filter(|&ty| is_wide(ty))) {
        return Some(format!("an array or scalar of {ty}"));
    }
    program.functions.iter().for_each(|function| small.body(&function.body));
    small.body(&program.body);
    small.found()
}

/// The same for a kernel, with what is known of its launches.
pub(in crate::back) fn wide_in_kernel(kernel: &Kernel, facts: &Facts, most: u64) -> Option<String> {
    let mut small = Small::new(most, Some(ranges::of_kernel(kernel, facts)));
    small.vars(&kernel.body);
    small.scalars.extend(kernel.body.params.iter().map(|p| p.id));
    kernel.functions.iter().for_each(|function| small.body(&function.body));
    small.body(&kernel.body);
    small.found()
}

fn is_wide(ty: Ty) -> bool {
    matches!(ty, Ty::I64 | Ty::U64)
}

/// What is known of an `i64`, or of the elements of an array.
#[derive(Clone, Copy)]
struct Known {
    range: Range,
    /// Made of positions, without a turn of a loop between.
    straight: bool,
}

impl Known {
    const ANYTHING: Known = Known { range: Range::FULL, straight: false };

    fn or(self, other: Known) -> Known {
        Known { range: self.range.union(other.range), straight: self.straight && other.straight }
    }
}

struct Small {
    most: Range,
    ranges: Option<Ranges>,
    types: HashMap<Id, Ty>,
    known: HashMap<Id, Known>,
    /// Scalars that the host passes to a launch.
    scalars: HashSet<Id>,
    /// What made a name.
    makers: Vec<(Id, &'static str)>,
    /// Names that are used whole.
    whole: Vec<Id>,
    /// Names that matter as far as the first does: its low word, if so it says.
    through: Vec<(Id, Id, bool)>,
}

impl Small {
    fn new(most: u64, ranges: Option<Ranges>) -> Small {
        let most = Range::new(0, most.into());
        Small {
            most,
            ranges,
            types: HashMap::new(),
            known: HashMap::new(),
            scalars: HashSet::new(),
            makers: vec![],
            whole: vec![],
            through: vec![],
        }
    }

    fn vars(&mut self, body: &Body) {
        self.types.extend(body.params.iter().map(|p| (p.id, p.ty.elem())));
        for stmt in &body.stmts {
            self.types.extend(stmt.binds.iter().map(|b| (b.id, b.ty.elem())));
            stmt.op.bodies().into_iter().for_each(|inner| self.vars(inner));
        }
    }

    /// The first name, in the order of the code, that need not fit.
    fn found(&self) -> Option<String> {
        let mut sources: HashMap<Id, Vec<Id>> = HashMap::new();
        for &(user, used, low) in &self.through {
            if low || self.get(used).straight {
                sources.entry(user).or_default().push(used);
            }
        }
        let direct = self.through.iter().filter(|(_, used, low)| !low && !self.get(*used).straight);
        let mut open: Vec<Id> = self.whole.iter().copied().chain(direct.map(|(_, used, _)| *used)).collect();
        let mut full = HashSet::new();
        while let Some(id) = open.pop() {
            if full.insert(id) {
                open.extend(sources.get(&id).into_iter().flatten());
            }
        }
        let wide = |id: Id| full.contains(&id) && self.get(id).range.ty() == Ty::I64;
        let (_, maker) = self.makers.iter().find(|(id, _)| wide(*id))?;
        Some(format!("`{maker}` of i64, whose result may not fit 32 bits"))
    }

    fn get(&self, id: Id) -> Known {
        self.known.get(&id).copied().unwrap_or(match self.types.get(&id) {
            Some(Ty::I64) | None => Known::ANYTHING,
            Some(ty) => Known { range: ranges::of_type(*ty), straight: false },
        })
    }

    fn set(&mut self, id: Id, known: Known, maker: &'static str) {
        if self.types.get(&id) != Some(&Ty::I64) {
            return;
        }
        let told = self.ranges.as_ref().map_or(Range::FULL, |ranges| ranges.get(id));
        let range = known.range.or_full().meet(told).unwrap_or(told);
        self.known.insert(id, Known { range, ..known });
        self.makers.push((id, maker));
    }

    /// Positions of arrays.
    fn positions(&mut self, body: &Body) {
        let inside = Range::new(0, (self.most.hi - 1).max(0));
        body.params.iter().for_each(|p| self.set(p.id, Known { range: inside, straight: true }, "position"));
    }

    fn body(&mut self, body: &Body) {
        body.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let straight = |range: Range| Known { range, straight: true };
        let ids: Vec<Id> = stmt.binds.iter().map(|b| b.id).collect();
        match &stmt.op {
            Op::Const(value) if value.ty == Ty::I64 => {
                self.set(ids[0], straight(Range::new(value.as_int(), value.as_int())), "const")
            }
            Op::Extent(size) => {
                let range = size.constant().map_or(self.most, |n| Range::new(n.into(), n.into()));
                self.set(ids[0], straight(range), "extent")
            }
            Op::Place(..) => self.set(ids[0], straight(Range::of(Ty::U32)), "place"),
            Op::Apply(operator, args) => self.apply(ids[0], *operator, args),
            Op::Cast(to, arg) => self.cast(ids[0], *to, *arg),
            Op::If { args, then, otherwise, .. } => self.branch(&ids, args, [then, otherwise]),
            Op::For { lo, hi, step, init, body } => {
                let counted = self.get(*lo).or(self.get(*hi));
                self.set(body.params[0].id, counted, "for");
                self.whole.extend([lo, hi, step]);
                self.turns(&ids, init, &[body], body);
            }
            Op::While { init, cond, body } => self.turns(&ids, init, &[cond, body], body),
            // Of an index, here and below, the low word is enough.
            Op::At { array, .. } => {
                let element = self.get(*array);
                self.set(ids[0], element, "at");
            }
            Op::Tabulate { body, .. } => {
                self.positions(body);
                self.body(body);
                self.elements(&ids, &body.results, "tabulate");
            }
            Op::Fold { body, monoid, .. } => self.folded(&ids, body, monoid, "fold"),
            Op::Scan { body, monoid, .. } => self.folded(&ids, body, monoid, "scan"),
            Op::Scatter { body, monoid, target, onto, .. } => {
                let values = Body { results: body.results[target.len()..].to_vec(), ..body.clone() };
                self.folded(&ids, &values, monoid, "scatter");
                self.whole.extend(onto);
                self.compared(&body.results[..target.len()]);
            }
            Op::Filter { body, .. } => {
                self.positions(body);
                self.body(body);
                self.elements(&ids, &body.results[1..], "filter");
            }
            Op::Sort { body, widths, .. } => {
                self.positions(body);
                self.body(body);
                self.elements(&ids, &body.results[widths.len()..], "sort");
            }
            Op::Load { .. } => ids.iter().for_each(|&id| self.set(id, Known::ANYTHING, "load")),
            Op::Store { values, .. } => self.whole.extend(values),
            Op::Atomic { args, .. } => {
                self.whole.extend(args);
                ids.iter().for_each(|&id| self.set(id, Known::ANYTHING, "atomic"));
            }
            op => {
                op.each_operand(&mut |id| self.whole.push(id));
                op.bodies().into_iter().for_each(|inner| self.body(inner));
                ids.iter().for_each(|&id| self.set(id, Known::ANYTHING, "call"));
            }
        }
    }

    /// Compared with the ends of an array.
    fn compared(&mut self, ids: &[Id]) {
        let wide = ids.iter().filter(|id| !self.get(**id).straight);
        self.whole.extend(wide.copied().collect::<Vec<_>>());
    }

    fn apply(&mut self, id: Id, operator: Operator, args: &[Id]) {
        let known: Vec<Known> = args.iter().map(|&arg| self.get(arg)).collect();
        if operator.row().signature == Signature::Test {
            return self.compared(args);
        }
        let ranges: Vec<Range> = known.iter().map(|k| k.range).collect();
        let range = ranges::exact(operator, &ranges).unwrap_or(Range::FULL);
        let values = if operator.row().signature == Signature::Select { &known[1..] } else { &known[..] };
        let straight = values.iter().all(|k| k.straight) && !ranges::counts_width(operator, &ranges);
        let low = low::is_closed(operator);
        self.through.extend(args.iter().map(|&arg| (id, arg, low)));
        self.set(id, Known { range, straight }, operator.name());
    }

    fn cast(&mut self, id: Id, to: Ty, arg: Id) {
        let from = self.types.get(&arg).copied().unwrap_or(Ty::I64);
        match (from, to) {
            (Ty::I64, Ty::I64) => {
                self.through.push((id, arg, true));
                let same = self.get(arg);
                self.set(id, same, "cast");
            }
            // The low word is all that is left of it.
            (Ty::I64, to) if to.is_int() && to.bits() <= 32 => {}
            (Ty::I64, _) => self.whole.push(arg),
            (from, Ty::I64) => {
                let straight = self.scalars.contains(&arg);
                self.set(id, Known { range: ranges::of_type(from), straight }, "cast")
            }
            _ => {}
        }
    }

    fn branch(&mut self, ids: &[Id], args: &[Id], sides: [&Body; 2]) {
        for side in sides {
            for (param, &arg) in side.params.iter().zip(args) {
                let known = self.get(arg);
                self.through.push((param.id, arg, true));
                self.set(param.id, known, "if");
            }
            self.body(side);
        }
        let [then, otherwise] = sides;
        for (&id, (&a, &b)) in ids.iter().zip(then.results.iter().zip(&otherwise.results)) {
            self.through.extend([(id, a, true), (id, b, true)]);
            let known = self.get(a).or(self.get(b));
            self.set(id, known, "if");
        }
    }

    /// What a loop carries has to fit in every turn.
    fn turns(&mut self, ids: &[Id], init: &[Id], bodies: &[&Body], last: &Body) {
        self.whole.extend(init);
        for body in bodies {
            let state = &body.params[body.params.len() - init.len()..];
            state.iter().for_each(|param| self.set(param.id, Known::ANYTHING, "loop"));
            self.body(body);
        }
        self.whole.extend(&last.results);
        ids.iter().for_each(|&id| self.set(id, Known::ANYTHING, "loop"));
        self.whole.extend(ids);
    }

    /// Arrays of what a body gives. Elements are kept in memory.
    fn elements(&mut self, ids: &[Id], results: &[Id], maker: &'static str) {
        self.whole.extend(results);
        for (&id, &result) in ids.iter().zip(results) {
            let known = self.get(result);
            self.set(id, known, maker);
        }
    }

    fn folded(&mut self, ids: &[Id], body: &Body, monoid: &Monoid, maker: &'static str) {
        self.positions(body);
        self.body(body);
        self.whole.extend(&body.results);
        self.body(&monoid.combine);
        for (k, &id) in ids.iter().enumerate() {
            let (Some(&result), Some(&neutral)) = (body.results.get(k), monoid.neutral.get(k)) else { continue };
            let both = self.get(result).or(self.get(neutral)).range;
            let range = match chosen(&monoid.combine, k) {
                Combined::Chosen => both,
                Combined::Added => ranges::exact(Operator::Mul, &[both, self.most]).map_or(Range::FULL, |all| all),
                Combined::Otherwise => Range::FULL,
            };
            self.set(id, Known { range, straight: false }, maker);
            self.whole.push(id);
        }
    }
}

/// How a component of a fold is made of two.
enum Combined {
    /// It is one of them.
    Chosen,
    /// Their sum.
    Added,
    /// Something else.
    Otherwise,
}

fn chosen(combine: &Body, component: usize) -> Combined {
    let Some(&result) = combine.results.get(component) else { return Combined::Otherwise };
    let made = combine.stmts.iter().find(|stmt| stmt.binds.iter().any(|b| b.id == result));
    let is_param = |id: &Id| combine.params.iter().any(|p| p.id == *id);
    match made.map(|stmt| &stmt.op) {
        Some(Op::Apply(Operator::Min | Operator::Max, args)) if args.iter().all(is_param) => Combined::Chosen,
        Some(Op::Apply(Operator::Select, args)) if args[1..].iter().all(is_param) => Combined::Chosen,
        Some(Op::If { then, otherwise, args, .. }) => {
            let passed =
                |side: &Body, id: Id| side.params.iter().position(|p| p.id == id).map(|k| args[k]).unwrap_or(id);
            let index = made.and_then(|stmt| stmt.binds.iter().position(|b| b.id == result)).unwrap_or_default();
            let ends = [then, otherwise].map(|side| side.results.get(index).map(|&id| passed(side, id)));
            if ends.iter().flatten().all(is_param) { Combined::Chosen } else { Combined::Otherwise }
        }
        Some(Op::Apply(Operator::Add, args)) if args.iter().all(is_param) => Combined::Added,
        None if is_param(&result) => Combined::Chosen,
        _ => Combined::Otherwise,
    }
}
