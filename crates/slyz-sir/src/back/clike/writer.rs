//! Statements, branches, loops and functions of one kernel.
//!
//! A value that is used once is written where it is used, unless that is inside a loop that it is not in; what reads memory that may change is
//! given a name before anything writes. Everything else gets a name after what it is.

use super::describe::{Description, UniformSource};
use super::expr::{Expr, Ops};
use super::helpers::unsigned;
use super::names::Names;
use super::variables::Variables;
use super::{Declared, Dialect, Dispatch, EmitError, File, PlaceName, is_taken};
use crate::back::c::prelude::identifiers;
use crate::back::tree::{Infix, Tree};
use crate::code::{Body, Function, Id, Op, Place, Type, Var};
use crate::kernel::{Kernel, Space};
use crate::ops::{Operator, Signature};
use crate::pass::weave::decisions;
use crate::ranges::{self, Facts, Range, Ranges};
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::collections::{HashMap, HashSet};

/// Longer expressions get a name for a part of them.
const LONG: usize = 100;

/// How a name is used.
#[derive(Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) count: usize,
    /// Inside a loop that does not hold its definition.
    pub(super) in_loop: bool,
}

pub(super) struct ClikeWriter<'f> {
    pub dialect: &'f dyn Dialect,
    pub helpers: &'f super::Helpers,
    pub description: &'f Description,
    pub kernel: &'f Kernel,
    pub facts: Facts,
    pub ranges: Ranges,
    pub types: HashMap<Id, Ty>,
    pub places: HashMap<Id, (Place, u8)>,
    /// The flat position of the thread, where it has a name, and the shape that it is in.
    pub own: Option<(Expr, Vec<Size>)>,
    /// The name of the one position that is read at the thread's coordinates in another order.
    pub swapped: Option<String>,
    /// Are loads at the thread's own position spelled out, as there is only one?
    pub spell_own: bool,
    /// Values on which branches and loops around barriers hang, the same in all threads of a block.
    pub decisions: HashSet<Id>,
    usage: HashMap<Id, Usage>,
    values: HashMap<Id, Expr>,
    /// Expressions that read memory and are not written yet.
    pending: Vec<Id>,
    pub(super) variables: Variables,
    names: Names,
    functions: Vec<String>,
    /// Memories of the thread: SIR name and name in the text.
    pub locals: Vec<(String, String)>,
    lines: Vec<Line>,
    depth: usize,
}

/// A line of the text.
#[derive(Clone)]
struct Line {
    depth: usize,
    text: String,
    /// A whole statement, which may also stand behind the head of a branch or loop.
    whole: bool,
    /// The text is that of a branch without another side, or where that is not a whole statement, its head.
    guard: Option<Guard>,
}

/// A branch without another side.
#[derive(Clone)]
struct Guard {
    condition: Expr,
    lines: Vec<Line>,
}

impl Line {
    fn new(depth: usize, text: impl Into<String>, whole: bool) -> Line {
        Line { depth, text: text.into(), whole, guard: None }
    }

    /// The same one level further out.
    fn outdented(mut self) -> Line {
        self.depth -= 1;
        if let Some(guard) = &mut self.guard {
            guard.lines = std::mem::take(&mut guard.lines).into_iter().map(Line::outdented).collect();
        }
        self
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let indent = "    ".repeat(self.depth);
        write!(f, "{indent}{}", self.text)?;
        match &self.guard {
            Some(guard) if !self.whole => write!(f, "\n{}\n{indent}}}", joined(&guard.lines)),
            _ => Ok(()),
        }
    }
}

fn joined(lines: &[Line]) -> String {
    lines.iter().map(Line::to_string).collect::<Vec<_>>().join("\n")
}

/// The text of a kernel. `names` are those its parameters have.
pub(super) fn kernel(file: &mut File, description: &Description, names: Names) -> Result<String, EmitError> {
    let dialect = file.dialect;
    let kernel = &description.kernel;
    check_memories(dialect, kernel)?;
    let functions = functions(file, description)?;
    let mut w = ClikeWriter::new(dialect, &file.helpers, description, names, functions);
    w.ranges = ranges::of_kernel(kernel, &w.facts);
    w.decisions = decisions(kernel);
    w.usage_of(&kernel.body, 0, &mut HashMap::new());
    for uniform in &description.uniforms {
        w.ops().ty(uniform.ty)?;
        if let UniformSource::Scalar(k) = uniform.source {
            let value = Expr::new(dialect.uniform(uniform), uniform.ty);
            w.values.insert(kernel.body.params[k].id, value);
        }
    }
    w.depth = 1;
    w.local_memories()?;
    w.name_own_position()?;
    w.body(&kernel.body)?;
    let body = joined(&w.lines);
    let mentions = |name: &str| identifiers(&body).any(|word| word == name);
    let prologue = dialect.prologue(description, &mentions);
    let prologue: String = prologue.into_iter().map(|line| format!("    {line}\n")).collect();
    Ok(format!("{} {{\n{prologue}{body}\n}}\n", dialect.signature(description)))
}

/// What is known of every launch. GPUs count threads in words.
fn facts(dialect: &dyn Dialect, description: &Description) -> Facts {
    let facts = Facts::with_axes(&description.kernel, dialect.machine().max_positions);
    facts.with_places(u32::MAX.into()).with_threads(&description.threads())
}

fn check_memories(dialect: &dyn Dialect, kernel: &Kernel) -> Result<(), EmitError> {
    let mut bytes = 0u64;
    for memory in &kernel.memories {
        if dialect.scalar(memory.ty).is_none() {
            let language = dialect.language();
            let ty = memory.ty;
            return Err(EmitError::Type { kernel: kernel.name.clone(), language, ty, remedy: dialect.remedy(ty) });
        }
        let block = matches!(memory.space, Space::Shared | Space::Scratch);
        if let Some(elements) = Size::product(&memory.shape).constant().filter(|_| block) {
            bytes = bytes.saturating_add(elements.saturating_mul(memory.ty.bytes() as u64));
        }
    }
    let limit = dialect.machine().shared_bytes;
    if bytes > limit {
        return Err(EmitError::SharedMemory {
            kernel: kernel.name.clone(),
            language: dialect.language(),
            bytes,
            limit,
        });
    }
    Ok(())
}

/// Writes the functions of a kernel that the file does not have, and gives the names of all.
fn functions(file: &mut File, description: &Description) -> Result<Vec<String>, EmitError> {
    let mut names: Vec<String> = vec![];
    for function in &description.kernel.functions {
        let written = Written::new(file.dialect, &file.helpers, description, function, names.clone())?;
        // It does not call itself, so what it is does not depend on its name.
        let key = written.text(file.dialect, "");
        let known = file.functions.iter().find(|(known, _)| *known == key).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let dialect = file.dialect;
            let name = file.taken.free(&function.name, &|n| is_taken(dialect, n));
            file.items.push(written.text(dialect, &name));
            file.functions.push((key, name.clone()));
            name
        });
        names.push(name);
    }
    Ok(names)
}

/// The name of the type that a function of several results gives back.
fn record_of(function: &str) -> String {
    format!("{function}_results")
}

/// A function that still has no name.
struct Written {
    /// Types and names.
    parameters: Vec<(String, String)>,
    body: String,
    /// Types and values.
    results: Vec<(&'static str, String)>,
}

impl Written {
    fn new(
        dialect: &dyn Dialect,
        helpers: &super::Helpers,
        description: &Description,
        function: &Function,
        callees: Vec<String>,
    ) -> Result<Written, EmitError> {
        let mut w = ClikeWriter::new(dialect, helpers, description, Names::default(), callees);
        let body = &function.body;
        w.usage_of(body, 0, &mut HashMap::new());
        let mut parameters = vec![];
        for param in &body.params {
            let ty = param.ty.elem();
            let name = w.fresh("x");
            parameters.push((w.ops().ty(ty)?.to_string(), name.clone()));
            w.values.insert(param.id, Expr::name(name, ty));
        }
        w.depth = 1;
        w.body(body)?;
        let mut results = vec![];
        for id in &body.results {
            let ty = w.types[id];
            let value = w.get(*id);
            results.push((w.ops().ty(ty)?, w.ops().to(&value, ty)?.tree.to_string()));
        }
        let body = w.lines.iter().map(|line| format!("{line}\n")).collect();
        Ok(Written { parameters, body, results })
    }

    fn text(&self, dialect: &dyn Dialect, name: &str) -> String {
        let (head, ty, value) = match &self.results[..] {
            [(ty, value)] => (String::new(), ty.to_string(), value.clone()),
            results => {
                let record = record_of(name);
                let fields: Vec<(String, String)> =
                    results.iter().enumerate().map(|(k, (ty, _))| (ty.to_string(), format!("r{k}"))).collect();
                let values: Vec<String> = results.iter().map(|(_, value)| value.clone()).collect();
                let value = dialect.record_value(&record, &values);
                (dialect.record(&record, &fields) + "\n", record, value)
            }
        };
        let function = dialect.function_head(name, &self.parameters, &ty);
        format!("{head}{function} {{\n{}    return {value};\n}}\n", self.body)
    }
}

impl<'f> ClikeWriter<'f> {
    fn new(
        dialect: &'f dyn Dialect,
        helpers: &'f super::Helpers,
        description: &'f Description,
        names: Names,
        functions: Vec<String>,
    ) -> ClikeWriter<'f> {
        let kernel = &description.kernel;
        let mut types = HashMap::new();
        let mut places = HashMap::new();
        kernel.functions.iter().map(|f| &f.body).chain([&kernel.body]).for_each(|b| survey(b, &mut types, &mut places));
        ClikeWriter {
            dialect,
            helpers,
            description,
            kernel,
            facts: facts(dialect, description),
            ranges: Ranges::default(),
            types,
            places,
            own: None,
            swapped: None,
            spell_own: false,
            decisions: HashSet::new(),
            usage: HashMap::new(),
            values: HashMap::new(),
            pending: vec![],
            variables: Variables::default(),
            names,
            functions,
            locals: vec![],
            lines: vec![],
            depth: 0,
        }
    }

    pub fn ops(&mut self) -> Ops<'_> {
        Ops { dialect: self.dialect, helpers: self.helpers, kernel: &self.kernel.name }
    }

    /// A statement.
    pub fn line(&mut self, text: impl Into<String>) {
        self.lines.push(Line::new(self.depth, text, true));
    }

    /// The head or the end of a block.
    fn edge(&mut self, text: impl Into<String>) {
        self.lines.push(Line::new(self.depth, text, false));
    }

    pub fn fresh(&mut self, stem: &str) -> String {
        let dialect = self.dialect;
        self.names.free(stem, &|name| is_taken(dialect, name))
    }

    /// What people called one of the values, or else a name with that stem.
    fn called(&mut self, ids: &[Id], stem: &str) -> String {
        let given = ids.iter().find_map(|&id| self.kernel.names.get(id)).map(String::from);
        self.fresh(given.as_deref().unwrap_or(stem))
    }

    fn fresh_counter(&mut self, id: Id) -> String {
        if self.kernel.names.get(id).is_some() {
            return self.called(&[id], "i");
        }
        let free = ["i", "j", "k", "l"].into_iter().find(|n| !self.names.has(n));
        self.fresh(free.unwrap_or("i"))
    }

    /// The type of the language in which a name is held.
    fn rep(&self, id: Id) -> Ty {
        match self.types.get(&id) {
            Some(Ty::I64) | None => match self.range(id).ty() {
                Ty::I64 => self.dialect.positions(),
                ty => ty,
            },
            Some(ty) => *ty,
        }
    }

    pub fn range(&self, id: Id) -> Range {
        self.ranges.known(id).unwrap_or(Range::FULL)
    }

    fn usage_of(&mut self, body: &Body, loops: usize, defined: &mut HashMap<Id, usize>) {
        defined.extend(body.params.iter().map(|p| (p.id, loops)));
        let used = |usage: &mut HashMap<Id, Usage>, defined: &HashMap<Id, usize>, id: Id| {
            let entry = usage.entry(id).or_default();
            entry.count += 1;
            entry.in_loop |= defined.get(&id).is_some_and(|&depth| depth < loops);
        };
        for stmt in &body.stmts {
            stmt.op.each_operand(&mut |id| used(&mut self.usage, defined, id));
            let inner = loops + matches!(stmt.op, Op::For { .. } | Op::While { .. }) as usize;
            for body in stmt.op.bodies() {
                self.usage_of(body, inner, defined);
            }
            defined.extend(stmt.binds.iter().map(|b| (b.id, loops)));
        }
        body.results.iter().for_each(|&id| used(&mut self.usage, defined, id));
    }

    pub(super) fn usage_now(&self, id: Id) -> Usage {
        self.usage.get(&id).copied().unwrap_or_default()
    }

    /// The value of a name, which is not written for it.
    pub(super) fn value_now(&self, id: Id) -> Option<&Expr> {
        self.values.get(&id)
    }

    /// The value of a name.
    pub fn get(&mut self, id: Id) -> Expr {
        self.pending.retain(|p| *p != id);
        let unbound = || Expr::name(format!("v{}", id.0), self.rep(id));
        self.values.get(&id).cloned().unwrap_or_else(unbound)
    }

    /// The value of a name as something that may be written more than once.
    pub fn atom(&mut self, id: Id, stem: &str) -> Result<Expr, EmitError> {
        let value = self.get(id);
        if is_simple(&value) {
            return Ok(value);
        }
        self.declare(id, &value, stem)?;
        Ok(self.get(id))
    }

    fn declare(&mut self, id: Id, value: &Expr, stem: &str) -> Result<(), EmitError> {
        let rep = self.rep(id);
        let name = self.called(&[id], stem);
        self.declare_as(&name, rep, value)?;
        self.values.insert(id, Expr::name(name, rep));
        Ok(())
    }

    pub fn declare_as(&mut self, name: &str, rep: Ty, value: &Expr) -> Result<(), EmitError> {
        self.declare_so(Declared::Once, name, rep, value)
    }

    fn declare_so(&mut self, declared: Declared, name: &str, rep: Ty, value: &Expr) -> Result<(), EmitError> {
        let ty = self.ops().ty(rep)?;
        let value = self.ops().assigned(value, rep)?;
        self.line(self.dialect.declare(declared, ty, name, Some(&value)));
        Ok(())
    }

    /// Binds a value: written where it is used if that is once and near, with a name otherwise.
    pub fn bind(&mut self, id: Id, value: Expr, stem: &str) -> Result<(), EmitError> {
        let usage = self.usage.get(&id).copied().unwrap_or_default();
        if is_simple(&value) || usage.count == 0 {
            self.values.insert(id, value);
        } else if usage.count == 1 && !usage.in_loop && value.tree.width() <= LONG {
            if value.reads {
                self.pending.push(id);
            }
            self.values.insert(id, value);
        } else {
            self.declare(id, &value, stem)?;
        }
        Ok(())
    }

    pub fn is_used(&self, id: Id) -> bool {
        self.usage.get(&id).is_some_and(|u| u.count > 0)
    }

    /// Binds a value that must be computed here and now.
    pub fn name_now(&mut self, id: Id, value: Expr, stem: &str) -> Result<(), EmitError> {
        self.declare(id, &value, stem)
    }

    /// Gives names to what reads memory, before something writes.
    pub fn settle(&mut self) -> Result<(), EmitError> {
        for id in std::mem::take(&mut self.pending) {
            let value = self.get(id);
            self.declare(id, &value, "x")?;
        }
        Ok(())
    }

    fn body(&mut self, body: &Body) -> Result<(), EmitError> {
        for stmt in &body.stmts {
            self.stmt(stmt)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &crate::code::Stmt) -> Result<(), EmitError> {
        let ids: Vec<Id> = stmt.binds.iter().map(|b| b.id).collect();
        let level = || EmitError::Level(self.kernel.name.clone());
        match &stmt.op {
            Op::Const(value) => {
                self.ops().ty(value.ty)?;
                self.fits_positions(*value)?;
                let value = self.ops().literal(*value);
                self.bind(ids[0], value, "c")
            }
            Op::Extent(size) => {
                let value = self.size(size)?;
                self.bind(ids[0], value, "n")
            }
            Op::Apply(operator, args) => self.apply(ids[0], *operator, args),
            Op::Cast(to, arg) => self.cast(ids[0], *to, *arg),
            Op::Bitcast(to, arg) => {
                let value = self.get(*arg);
                let from = self.types[arg];
                let value = self.ops().bitcast(&value, from, *to)?;
                self.bind(ids[0], value, "bits")
            }
            Op::Call(function, args) => self.call(&ids, function.0 as usize, args),
            Op::If { cond, args, then, otherwise } => self.branch(&ids, *cond, args, [then, otherwise], &stmt.op),
            Op::For { lo, hi, step, init, body } => {
                if stmt.op.has_effect() {
                    self.settle()?;
                }
                self.count(&ids, [*lo, *hi, *step], init, body)
            }
            Op::While { init, cond, body } => {
                if stmt.op.has_effect() {
                    self.settle()?;
                }
                self.repeat(&ids, init, cond, body)
            }
            Op::Place(place, d) => {
                let value = self.place(*place, *d);
                self.bind(ids[0], value, "at")
            }
            Op::Load { memory, index } => self.load(&ids, *memory, index),
            Op::Store { memory, index, values } => self.store(*memory, index, values),
            Op::Atomic { op, memory, index, args } => self.atomic(ids.first().copied(), *op, *memory, index, args),
            Op::Barrier(scope) => {
                self.settle()?;
                let global = self
                    .kernel
                    .memories
                    .iter()
                    .any(|m| matches!(m.space, Space::Global(crate::kernel::Access::ReadWrite)));
                self.dialect.barrier(*scope, global).into_iter().for_each(|line| self.line(line));
                Ok(())
            }
            Op::Fence(scope) => {
                self.settle()?;
                let text = self.dialect.fence(*scope);
                self.line(text);
                Ok(())
            }
            Op::Subgroup(op, args) => self.subgroup(ids[0], *op, args),
            Op::Lanes { .. } | Op::Prefixes { .. } => Err(EmitError::Lanes(self.kernel.name.clone())),
            Op::Check { .. } => Err(EmitError::Check(self.kernel.name.clone())),
            Op::At { .. }
            | Op::Tabulate { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::Scatter { .. }
            | Op::Filter { .. }
            | Op::Sort { .. }
            | Op::Raw(_) => Err(level()),
        }
    }

    /// An error for a number that is past those that `i64` is held in.
    fn fits_positions(&self, value: Scalar) -> Result<(), EmitError> {
        let held = Range::of(self.dialect.positions());
        let number = Range::new(value.as_int(), value.as_int());
        let fits = value.ty != Ty::I64 || number.within(Range::of(Ty::U32).union(held));
        let error = || EmitError::Extension {
            kernel: self.kernel.name.clone(),
            language: self.dialect.language(),
            what: format!("64-bit integers (the number {})", value.as_int()),
            extension: "int64",
        };
        if fits { Ok(()) } else { Err(error()) }
    }

    fn apply(&mut self, id: Id, operator: Operator, args: &[Id]) -> Result<(), EmitError> {
        let values: Vec<Expr> = args.iter().map(|&a| self.get(a)).collect();
        let ranges: Vec<Range> = args.iter().map(|&a| self.range(a)).collect();
        let typed = if operator.row().signature == Signature::Select { args.last() } else { args.first() };
        let ty = typed.map_or(Ty::F32, |a| self.types[a]);
        // Values that wrapped around are brought back, except where wrapping around again is all that happens.
        let wrapping =
            matches!(operator, Operator::Add | Operator::Sub | Operator::Mul | Operator::Neg | Operator::Fma);
        let mut fixed = vec![];
        for (value, arg) in values.iter().zip(args) {
            let ty = self.types[arg];
            let wrapped = value.rep != ty && value.rep == unsigned(ty) && ty.is_int();
            fixed.push(if wrapped && !wrapping { self.ops().to(value, ty)? } else { value.clone() });
        }
        let value = self.ops().apply(operator, &fixed, ty, &ranges)?;
        let stem = match self.types.get(&id) {
            Some(Ty::Bool) => "is",
            Some(Ty::I64) => "at",
            Some(_) | None => "v",
        };
        self.bind(id, value, stem)
    }

    fn cast(&mut self, id: Id, to: Ty, arg: Id) -> Result<(), EmitError> {
        let own_place = self.places.get(&arg) == Some(&(Place::Global, 0)) && self.description.rank == 1;
        if let (Some((own, _)), true, true) = (self.own.clone(), own_place, to.is_float()) {
            let value = self.ops().cast(&own, Ty::I64, to)?;
            return self.declare(id, &value, "v_pos");
        }
        let value = self.get(arg);
        let from = self.types[&arg];
        let value = self.ops().cast(&value, from, to)?;
        self.bind(id, value, "v")
    }

    fn call(&mut self, ids: &[Id], function: usize, args: &[Id]) -> Result<(), EmitError> {
        let mut values = vec![];
        for arg in args {
            let value = self.get(*arg);
            let ty = self.types[arg];
            values.push(self.ops().to(&value, ty)?);
        }
        let name = self.functions.get(function).cloned().unwrap_or_default();
        if let [id] = ids {
            let value = Expr::call(&name, &values, self.types[id]);
            return self.bind(*id, value, "v");
        }
        let value = Expr::call(&name, &values, Ty::Bool);
        let all = self.fresh("r");
        self.line(self.dialect.declare(Declared::Once, &record_of(&name), &all, Some(&value.tree)));
        for (k, &id) in ids.iter().enumerate() {
            let field = Tree::member(Tree::name(&all), format!("r{k}"));
            self.values.insert(id, Expr::new(field, self.types[&id]));
        }
        Ok(())
    }

    fn place(&mut self, place: Place, d: u8) -> Expr {
        match PlaceName::of(place) {
            Some(name) => Expr::new(self.dialect.place(name, d, self.description.rank), Ty::U32),
            None => {
                let n = self.description.block.get(d as usize).copied().unwrap_or(1);
                self.ops().literal(Scalar::i64(n.into()))
            }
        }
    }

    /// The value of a size; sizes never overflow.
    pub fn size(&mut self, size: &Size) -> Result<Expr, EmitError> {
        let number = |w: &mut Self, n: u64| w.ops().literal(Scalar::i64(n as i64));
        if let Some(n) = size.constant() {
            return Ok(number(self, n));
        }
        let (operator, a, b) = match size {
            Size::Const(n) => return Ok(number(self, *n)),
            Size::Var(var) => {
                let known = |u: &&super::Uniform| u.source == UniformSource::Size(*var);
                let uniform = self.description.uniforms.iter().find(known);
                let unknown = || Expr::name(self.kernel.size_name(*var), Ty::I64);
                return Ok(uniform.map_or_else(unknown, |u| Expr::new(self.dialect.uniform(u), u.ty)));
            }
            Size::Add(a, b) => (Operator::Add, &**a, (**b).clone()),
            Size::Mul(a, b) => (Operator::Mul, &**a, (**b).clone()),
            Size::Min(a, b) => (Operator::Min, &**a, (**b).clone()),
            Size::CeilDiv(a, n) => {
                let up = Size::Add(a.clone(), Size::Const(n - 1).into());
                return self.operate(Operator::Div, &up, &Size::Const(*n));
            }
            Size::Tri(a) => {
                let next = Size::Add(a.clone(), Size::Const(1).into());
                let twice = Size::Mul(a.clone(), next.into());
                return self.operate(Operator::Div, &twice, &Size::Const(2));
            }
        };
        self.operate(operator, a, &b)
    }

    fn operate(&mut self, operator: Operator, a: &Size, b: &Size) -> Result<Expr, EmitError> {
        let args = [self.size(a)?, self.size(b)?];
        let ranges = [self.facts.size(a), self.facts.size(b)];
        let value = self.ops().apply(operator, &args, Ty::I64, &ranges)?;
        // What might be past 64 bits is not: sizes never are.
        if value.rep == Ty::U64 { self.ops().to(&value, Ty::I64) } else { Ok(value) }
    }

    /// Runs `f` one level deeper and gives the lines that it wrote.
    fn inside(&mut self, f: impl FnOnce(&mut Self) -> Result<(), EmitError>) -> Result<Vec<Line>, EmitError> {
        let outer = std::mem::take(&mut self.lines);
        self.depth += 1;
        let done = f(self);
        self.depth -= 1;
        let lines = std::mem::replace(&mut self.lines, outer);
        done.map(|()| lines)
    }

    fn branch(&mut self, ids: &[Id], cond: Id, args: &[Id], bodies: [&Body; 2], op: &Op) -> Result<(), EmitError> {
        let condition = self.get(cond);
        if op.has_effect() {
            self.settle()?;
        }
        for (k, &arg) in args.iter().enumerate() {
            let value = self.atom(arg, "at")?;
            bodies.iter().for_each(|b| drop(self.values.insert(b.params[k].id, value.clone())));
        }
        let reps: Vec<Ty> = ids.iter().map(|&id| self.rep(id)).collect();
        let heirs = self.heirs(bodies, &reps);
        let mut written = vec![];
        for body in bodies {
            let mut results = vec![];
            self.enter_side(body, &heirs);
            let lines = self.inside(|w| {
                w.body(body)?;
                results = body.results.iter().map(|&r| w.get(r)).collect();
                Ok(())
            })?;
            self.leave_side(&heirs);
            written.push((lines, results));
        }
        let [(then, mut yes), (otherwise, mut no)]: [(Vec<Line>, Vec<Expr>); 2] =
            written.try_into().unwrap_or_default();
        for (k, &rep) in reps.iter().enumerate() {
            (yes[k], no[k]) = (self.ops().to(&yes[k], rep)?, self.ops().to(&no[k], rep)?);
        }
        if let ([id], true) = (ids, then.is_empty() && otherwise.is_empty()) {
            let value = self.ops().choice(&condition, &yes[0], &no[0]);
            if value.tree.width() <= LONG {
                return self.bind(*id, value, "v");
            }
        }
        let mut state = vec![];
        for ((&id, &rep), heir) in ids.iter().zip(&reps).zip(heirs) {
            let name = match heir {
                Some((_, name)) => name,
                None => {
                    let name = self.called(&[id], "v");
                    let ty = self.ops().ty(rep)?;
                    self.line(self.dialect.declare(Declared::Changing, ty, &name, None));
                    name
                }
            };
            self.values.insert(id, Expr::name(name.clone(), rep));
            self.variables.own(id);
            state.push((name, rep));
        }
        let trees = |values: Vec<Expr>| values.into_iter().map(|value| value.tree).collect();
        let ends = [trees(yes), trees(no)].map(|values| self.inside(|w| w.assign(&state, values)));
        let [then_end, otherwise_end] = ends;
        let then = [then, then_end?].concat();
        let otherwise = [otherwise, otherwise_end?].concat();
        let not = self.ops().apply(Operator::Not, std::slice::from_ref(&condition), Ty::Bool, &[])?;
        match (then.is_empty(), otherwise.is_empty()) {
            (true, true) => {}
            (false, true) => self.guard(condition, then)?,
            (true, false) => self.guard(not, otherwise)?,
            (false, false) => {
                self.edge(format!("{} {{", self.dialect.if_head(&condition.tree)));
                self.lines.extend(then);
                self.edge("} else {");
                self.lines.extend(otherwise);
                self.edge("}");
            }
        }
        Ok(())
    }

    /// A branch without another side. One inside of one, with nothing around it, is one with both conditions.
    fn guard(&mut self, condition: Expr, lines: Vec<Line>) -> Result<(), EmitError> {
        let (mut condition, mut lines) = (condition, lines);
        if let [Line { guard: Some(inner), .. }] = &lines[..] {
            let both = [condition.clone(), inner.condition.clone()];
            let both = self.ops().apply(Operator::And, &both, Ty::Bool, &[])?;
            if both.tree.width() <= LONG {
                condition = both;
                lines = inner.lines.iter().cloned().map(Line::outdented).collect();
            }
        }
        let head = self.dialect.if_head(&condition.tree);
        let short = self.behind(&head, &lines);
        let text = short.clone().unwrap_or_else(|| format!("{head} {{"));
        let mut line = Line::new(self.depth, text, short.is_some());
        line.guard = Some(Guard { condition, lines });
        self.lines.push(line);
        Ok(())
    }

    /// A head with its only statement behind it, where the language has such.
    fn behind(&self, head: &str, lines: &[Line]) -> Option<String> {
        match lines {
            [only] if self.dialect.goes_without_braces() && only.whole && head.len() + only.text.len() < 90 => {
                Some(format!("{head} {}", only.text))
            }
            _ => None,
        }
    }

    fn block(&mut self, head: &str, lines: Vec<Line>) {
        match self.behind(head, &lines) {
            Some(text) => self.line(text),
            None => self.braced(head, lines),
        }
    }

    fn braced(&mut self, head: &str, lines: Vec<Line>) {
        self.edge(format!("{head} {{"));
        self.lines.extend(lines);
        self.edge("}");
    }

    /// Declares the state of a loop, which is `params` in a turn; gives names and types.
    fn state(&mut self, ids: &[Id], init: &[Id], params: &[Var], stem: &str) -> Result<Vec<(String, Ty)>, EmitError> {
        let mut state = vec![];
        for ((&id, &from), param) in ids.iter().zip(init).zip(params) {
            let rep = match self.types[&id] {
                Ty::I64 => self.range(id).union(self.range(from)).union(self.range(param.id)).ty(),
                ty => ty,
            };
            let rep = self.ops().held(rep);
            let name = match self.taken_over(from, rep) {
                Some(name) => name,
                None => {
                    let value = self.get(from);
                    let name = self.called(&[param.id, id], stem);
                    self.declare_so(Declared::Changing, &name, rep, &value)?;
                    name
                }
            };
            state.push((name, rep));
        }
        Ok(state)
    }

    /// Assigns the next state; all of it is computed before any of it changes.
    fn advance(&mut self, state: &[(String, Ty)], results: &[Id]) -> Result<(), EmitError> {
        let mut values: Vec<Tree> = vec![];
        for (&id, (_, rep)) in results.iter().zip(state) {
            let value = self.get(id);
            values.push(self.ops().assigned(&value, *rep)?);
        }
        self.assign(state, values)
    }

    /// Assigns values to variables, as if all at once.
    fn assign(&mut self, state: &[(String, Ty)], mut values: Vec<Tree>) -> Result<(), EmitError> {
        let stays = |name: &str, value: &Tree| value.as_name() == Some(name);
        for k in 0..values.len() {
            let mut before = state[..k].iter().zip(&values);
            if before.any(|((name, _), to)| !stays(name, to) && values[k].mentions(name)) {
                let next = self.fresh("next");
                let ty = self.ops().ty(state[k].1)?;
                // Declared before the first assignment, which is further down.
                self.line(self.dialect.declare(Declared::Once, ty, &next, Some(&values[k])));
                values[k] = Tree::name(next);
            }
        }
        for ((name, _), value) in state.iter().zip(&values).filter(|((name, _), value)| !stays(name, value)) {
            self.line(Tree::name(name).assignment(value));
        }
        Ok(())
    }

    fn enter(&mut self, body: &Body, from: usize, state: &[(String, Ty)]) {
        for (param, (name, rep)) in body.params[from..].iter().zip(state) {
            self.values.insert(param.id, Expr::name(name.clone(), *rep));
            self.variables.own(param.id);
        }
    }

    /// Behind a loop its results are what the state was last.
    fn leave(&mut self, ids: &[Id], state: &[(String, Ty)]) {
        for (&id, (name, rep)) in ids.iter().zip(state) {
            self.values.insert(id, Expr::name(name.clone(), *rep));
            self.variables.own(id);
        }
    }

    /// What the counter of a loop is held in. It is compared with the end, where that may be below zero it must not be unsigned, and it
    /// goes one step past it.
    fn counter(&self, bounds: [Id; 3]) -> Ty {
        let [lo, hi, step] = bounds.map(|id| self.range(id));
        let inside = Range::new(lo.lo, (hi.hi - 1).max(lo.lo));
        let past = Range::new(lo.lo, (hi.hi - 1 + step.hi).max(lo.hi)).or_full();
        let counted = if past.ty() == inside.ty() { inside } else { past };
        counted.union(lo).union(hi).ty()
    }

    fn count(&mut self, ids: &[Id], bounds: [Id; 3], init: &[Id], body: &Body) -> Result<(), EmitError> {
        let counter = &body.params[0];
        let [lo, hi, step] = bounds;
        let rep = match counter.ty {
            Type::Scalar(Ty::I64) => self.counter(bounds),
            _ => self.rep(counter.id),
        };
        let rep = self.ops().held(rep);
        let state = self.state(ids, init, &body.params[1..], "acc")?;
        let lo = self.get(lo);
        let end = self.atom(hi, "end")?;
        let by = self.atom(step, "stride")?;
        let ty = self.ops().ty(rep)?;
        let name = self.fresh_counter(counter.id);
        self.values.insert(counter.id, Expr::name(name.clone(), rep));
        self.enter(body, 1, &state);
        let first = self.ops().assigned(&lo, rep)?;
        let one = by.literal.is_some_and(|n| n.as_int() == 1);
        // Stepping past the end must not wrap around: by one it cannot, and ranges of positions leave room.
        let past = match counter.ty {
            Type::Scalar(Ty::I64) => {
                let hi = self.range(hi_of(bounds));
                let step = self.range(bounds[2]);
                Some(hi.hi - 1 + step.hi)
            }
            _ => end.literal.zip(by.literal).map(|(end, by)| end.as_int() - 1 + by.as_int()),
        };
        let plain = one || past.is_some_and(|past| past <= Range::of(rep).hi);
        let lines = self.inside(|w| {
            w.body(body)?;
            w.advance(&state, &body.results)?;
            if !plain {
                let end = w.ops().to(&end, rep)?;
                let by = w.ops().to(&by, rep)?;
                let [end, at, by] = w.unsigned([end, Expr::name(&name, rep), by])?;
                let left = Expr { rep, ..Expr::new(Tree::infix(Infix::Sub, end, at), rep) };
                let [left] = w.unsigned([left])?;
                let last = Tree::infix(Infix::Le, left, by);
                let leave = Line::new(w.depth + 1, "break;", true);
                w.block(&w.dialect.if_head(&last), vec![leave]);
            }
            Ok(())
        })?;
        let as_it_is = rep == Ty::I64 && end.literal.is_none() && self.dialect.converts();
        let end = self.ops().to(&end, if as_it_is { end.rep } else { rep })?;
        let compared = Tree::infix(Infix::Lt, Tree::name(&name), end.tree);
        let as_it_is = by.literal.is_none() && self.dialect.converts();
        let by = self.ops().to(&by, if as_it_is { by.rep } else { rep })?.tree;
        let by = if one { None } else { Some(&by) };
        let head = self.dialect.for_head([ty, &name], &first, &compared, by);
        if plain {
            self.block(&head, lines);
        } else {
            self.braced(&head, lines);
        }
        self.names.release(&name);
        self.leave(ids, &state);
        Ok(())
    }

    fn repeat(&mut self, ids: &[Id], init: &[Id], cond: &Body, body: &Body) -> Result<(), EmitError> {
        let state = self.state(ids, init, &cond.params, "s")?;
        self.enter(cond, 0, &state);
        self.enter(body, 0, &state);
        let mut test = Expr::name("true", Ty::Bool);
        let before = self.inside(|w| {
            w.body(cond)?;
            test = w.get(cond.results[0]);
            Ok(())
        })?;
        let lines = self.inside(|w| {
            w.body(body)?;
            w.advance(&state, &body.results)
        })?;
        if before.is_empty() {
            self.edge(format!("{} {{", self.dialect.while_head(Some(&test.tree))));
        } else {
            let not = self.ops().apply(Operator::Not, &[test], Ty::Bool, &[])?;
            self.edge(format!("{} {{", self.dialect.while_head(None)));
            self.lines.extend(before);
            self.depth += 1;
            let leave = Line::new(self.depth + 1, "break;", true);
            self.block(&self.dialect.if_head(&not.tree), vec![leave]);
            self.depth -= 1;
        }
        self.lines.extend(lines);
        self.edge("}");
        self.leave(ids, &state);
        Ok(())
    }

    /// The same bits as unsigned numbers.
    fn unsigned<const N: usize>(&mut self, values: [Expr; N]) -> Result<[Tree; N], EmitError> {
        let mut trees = vec![];
        for value in values {
            let ty = unsigned(value.rep);
            let value = Expr { literal: None, ..value };
            let same = value.rep == ty && !self.dialect.converts();
            let tree = if same { value.tree } else { self.dialect.cast(value.rep, ty, value.tree, self.helpers) };
            trees.push(tree);
        }
        let unknown = || std::array::from_fn(|_| Tree::int(0));
        Ok(trees.try_into().unwrap_or_else(|_| unknown()))
    }

    /// `uint idx = …`, where a kernel of one thread per element stores at its own position; and, as people write
    /// transposes, `oidx` and `iidx` where it reads at its coordinates in another order.
    fn name_own_position(&mut self) -> Result<(), EmitError> {
        if !matches!(self.description.dispatch, Dispatch::Threads(_)) {
            return Ok(());
        }
        let (mut own, mut own_loads, mut other_loads) = (None, 0, 0);
        for stmt in &self.kernel.body.stmts {
            match &stmt.op {
                Op::Store { memory, index, values } if values.len() == 1 && self.is_own(index) => {
                    own = own.or(Some((*memory, index.clone())));
                }
                Op::Load { index, .. } if self.is_own(index) => own_loads += 1,
                Op::Load { index, .. } if !index.is_empty() && index.iter().all(|i| self.places.contains_key(i)) => {
                    other_loads += 1
                }
                _ => {}
            }
        }
        let Some((memory, index)) = own else { return Ok(()) };
        let swaps = other_loads == 1 && index.len() > 1;
        for id in &index {
            let (place, d) = self.places[id];
            let value = self.place(place, d);
            self.values.insert(*id, value);
        }
        let flat = self.flat(memory, &index)?;
        let name = if swaps { "oidx" } else { "idx" };
        let rep = if flat.rep == Ty::U32 { Ty::U32 } else { Ty::I64 };
        self.declare_as(name, rep, &flat)?;
        self.own = Some((Expr::name(name, rep), self.kernel.memories[memory.0 as usize].shape.clone()));
        self.swapped = swaps.then(|| "iidx".to_string());
        self.spell_own = own_loads == 1;
        Ok(())
    }

    /// Is it the thread's position, the innermost axis in x?
    pub fn is_own(&self, index: &[Id]) -> bool {
        let rank = self.description.rank;
        let place = |k: usize| self.places.get(&index[k]) == Some(&(Place::Global, (rank - 1 - k) as u8));
        index.len() == rank && (0..rank).all(place)
    }
}

fn hi_of([_, hi, _]: [Id; 3]) -> Id {
    hi
}

/// Types of names, and which of them are places.
fn survey(body: &Body, types: &mut HashMap<Id, Ty>, places: &mut HashMap<Id, (Place, u8)>) {
    types.extend(body.params.iter().map(|p| (p.id, p.ty.elem())));
    for stmt in &body.stmts {
        types.extend(stmt.binds.iter().map(|b| (b.id, b.ty.elem())));
        if let (Op::Place(place, d), [bind]) = (&stmt.op, &stmt.binds[..]) {
            places.insert(bind.id, (*place, *d));
        }
        stmt.op.bodies().into_iter().for_each(|b| survey(b, types, places));
    }
}

/// A name, a literal, or a field of one: as short as a name could be.
fn is_simple(value: &Expr) -> bool {
    value.literal.is_some() || value.tree.is_simple()
}
