//! Statements of one kernel; branches and loops are in `control`.
//!
//! A value that is used once is written where it is used, unless that is inside a loop that it is not in; what reads memory that may change is
//! given a name before anything writes. Everything else gets a name after what it is.

use super::describe::{Description, UniformSource};
use super::expr::{Expr, Ops};
use super::functions::{functions, record_of};
use super::helpers::unsigned;
use super::lines::{Line, joined};
use super::names::Names;
use super::roles::{self, roles};
use super::variables::Variables;
use super::{Declared, Dialect, Dispatch, EmitError, File, PlaceName, is_taken};
use crate::back::c::prelude::identifiers;
use crate::back::tree::Tree;
use crate::code::{Body, Id, Op, Place};
use crate::kernel::{Kernel, Space};
use crate::ops::{Operator, Signature};
use crate::pass::weave::decisions;
use crate::ranges::{self, Facts, Range, Ranges};
use crate::size::Size;
use crate::types::{Scalar, Ty};
use std::collections::{HashMap, HashSet};

/// Longer expressions get a name for a part of them.
pub(super) const LONG: usize = 100;

/// How often an expression that is read as quickly as a name is written again.
const REPEATED: usize = 4;

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
    pub(super) usage: HashMap<Id, Usage>,
    /// What people would call values.
    pub(super) roles: HashMap<Id, String>,
    pub(super) values: HashMap<Id, Expr>,
    /// Expressions that read memory and are not written yet.
    pub(super) pending: Vec<Id>,
    pub(super) variables: Variables,
    pub(super) names: Names,
    pub(super) functions: Vec<String>,
    /// Memories of the thread: SIR name and name in the text.
    pub locals: Vec<(String, String)>,
    pub(super) lines: Vec<Line>,
    pub(super) depth: usize,
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
    let limit = dialect.machine().most_shared_bytes();
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

impl<'f> ClikeWriter<'f> {
    pub(super) fn new(
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
            roles: roles(kernel),
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
    pub(super) fn edge(&mut self, text: impl Into<String>) {
        self.lines.push(Line::new(self.depth, text, false));
    }

    pub fn fresh(&mut self, stem: &str) -> String {
        let dialect = self.dialect;
        self.names.free(stem, &|name| is_taken(dialect, name))
    }

    /// What people called one of the values, or else what it is for, or else a name with that stem.
    pub(super) fn called(&mut self, ids: &[Id], stem: &str) -> String {
        let given = ids.iter().find_map(|&id| self.kernel.names.get(id)).map(String::from);
        let role = ids.iter().find_map(|id| self.roles.get(id)).cloned();
        self.fresh(given.or(role).as_deref().unwrap_or(stem))
    }

    pub(super) fn fresh_counter(&mut self, id: Id) -> String {
        if self.kernel.names.get(id).is_some() {
            return self.called(&[id], "i");
        }
        let free = ["i", "j", "k", "l"].into_iter().find(|n| !self.names.has(n));
        self.fresh(free.unwrap_or("i"))
    }

    /// The type of the language in which a name is held.
    pub(super) fn rep(&self, id: Id) -> Ty {
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

    pub(super) fn usage_of(&mut self, body: &Body, loops: usize, defined: &mut HashMap<Id, usize>) {
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

    pub(super) fn declare(&mut self, id: Id, value: &Expr, stem: &str) -> Result<(), EmitError> {
        let rep = self.rep(id);
        let name = self.called(&[id], stem);
        self.declare_as(&name, rep, value)?;
        self.values.insert(id, Expr::name(name, rep));
        Ok(())
    }

    pub fn declare_as(&mut self, name: &str, rep: Ty, value: &Expr) -> Result<(), EmitError> {
        self.declare_so(Declared::Once, name, rep, value)
    }

    pub(super) fn declare_so(
        &mut self,
        declared: Declared,
        name: &str,
        rep: Ty,
        value: &Expr,
    ) -> Result<(), EmitError> {
        let ty = self.ops().ty(rep)?;
        let value = self.ops().assigned(value, rep)?;
        self.line(self.dialect.declare(declared, ty, name, Some(&value)));
        Ok(())
    }

    /// Binds a value: written where it is used if that is once and near, with a name otherwise.
    pub fn bind(&mut self, id: Id, value: Expr, stem: &str) -> Result<(), EmitError> {
        let usage = self.usage.get(&id).copied().unwrap_or_default();
        let brief = !value.reads && usage.count <= REPEATED && value.tree.is_brief();
        if is_simple(&value) || usage.count == 0 || brief && self.kernel.names.get(id).is_none() {
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

    pub(super) fn body(&mut self, body: &Body) -> Result<(), EmitError> {
        for stmt in &body.stmts {
            self.stmt(stmt)?;
        }
        Ok(())
    }

    pub(super) fn stmt(&mut self, stmt: &crate::code::Stmt) -> Result<(), EmitError> {
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
            Op::LoadFragment { memory, index, turned } => self.load_fragment(&ids, *memory, index, *turned),
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
            Op::Mma(fragment, args) => self.mma(&ids, *fragment, args),
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
    pub(super) fn fits_positions(&self, value: Scalar) -> Result<(), EmitError> {
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

    pub(super) fn apply(&mut self, id: Id, operator: Operator, args: &[Id]) -> Result<(), EmitError> {
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
            Some(Ty::Bool) => roles::test(operator, values.get(1)),
            Some(Ty::I64) => self.position_stem(operator, args),
            Some(_) | None => "v",
        };
        self.bind(id, value, stem)
    }

    /// What a computed position is called: by where in its block a thread stands, or by how it is made.
    fn position_stem(&self, operator: Operator, args: &[Id]) -> &'static str {
        let of_thread = args.first().and_then(|arg| self.places.get(arg)) == Some(&(Place::Local, 0));
        let by = args.get(1).and_then(|&arg| self.value_now(arg)).and_then(|value| value.literal);
        let subgroup = self.dialect.machine().subgroup.map(|subgroup| subgroup.size.into());
        let of_subgroup = by.is_some_and(|by| Some(by.as_int()) == subgroup);
        match (operator, of_thread, by) {
            (Operator::Div, true, _) if of_subgroup => "group",
            (Operator::Rem, true, _) if of_subgroup => "lane",
            (Operator::Div, true, _) => "row",
            (Operator::Rem, true, _) => "column",
            (Operator::Mul, _, Some(_)) => "start",
            (Operator::Sub, _, Some(one)) if one.as_int() == 1 => "last",
            _ => "at",
        }
    }

    pub(super) fn cast(&mut self, id: Id, to: Ty, arg: Id) -> Result<(), EmitError> {
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

    pub(super) fn call(&mut self, ids: &[Id], function: usize, args: &[Id]) -> Result<(), EmitError> {
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

    pub(super) fn place(&mut self, place: Place, d: u8) -> Expr {
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

    pub(super) fn operate(&mut self, operator: Operator, a: &Size, b: &Size) -> Result<Expr, EmitError> {
        let args = [self.size(a)?, self.size(b)?];
        let ranges = [self.facts.size(a), self.facts.size(b)];
        let value = self.ops().apply(operator, &args, Ty::I64, &ranges)?;
        // What might be past 64 bits is not: sizes never are.
        if value.rep == Ty::U64 { self.ops().to(&value, Ty::I64) } else { Ok(value) }
    }

    /// `uint idx = …`, where a kernel of one thread per element stores at its own position; and, as people write
    /// transposes, `oidx` and `iidx` where it reads at its coordinates in another order.
    pub(super) fn name_own_position(&mut self) -> Result<(), EmitError> {
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
