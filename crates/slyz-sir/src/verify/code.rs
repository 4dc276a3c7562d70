//! The rules of both levels.
//!
//! * Every name is bound once in the whole program or kernel, its functions included, and used only where it is in
//!   scope: after its statement, in the same body or in bodies inside it. A function sees only its own names.
//! * The names a statement binds have the types [`result_types`] gives.
//! * Functions have unique names, scalar parameters and results, and call only functions before them.
//! * Arrays belong in programs, threads and memory in kernels; a function of a kernel has neither.
//! * A monoid has no effects.

use super::kernel::MAX_BLOCK;
use super::{Checked, MAX_ID, VerifyError, fail, size, unique};
use crate::code::{Body, Function, Id, Monoid, Op, RawCall, Scope, Stmt, Type, Var};
use crate::kernel::Memory;
use crate::nesting;
use crate::raw::RawKernel;
use crate::size::{SizeDecl, SizeOrigin, SizeVar};
use crate::types::Scalar;
use crate::typing::{Context, result_types};

/// Which code is being checked; it decides which operations may appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Program,
    Kernel,
    /// A function of a program: arrays may come and go inside it.
    ProgramFunction,
    /// A function of a kernel: scalars only.
    KernelFunction,
}

/// Where an operation may appear.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Anywhere,
    Programs,
    Kernels,
}

fn home(op: &Op) -> Home {
    match op {
        Op::Const(_)
        | Op::Extent(_)
        | Op::Apply(..)
        | Op::Cast(..)
        | Op::Bitcast(..)
        | Op::Call(..)
        | Op::If { .. }
        | Op::For { .. }
        | Op::While { .. } => Home::Anywhere,
        Op::At { .. }
        | Op::Tabulate { .. }
        | Op::Fold { .. }
        | Op::Scan { .. }
        | Op::Scatter { .. }
        | Op::Filter { .. }
        | Op::Sort { .. }
        | Op::Raw(_) => Home::Programs,
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
        | Op::Prefixes { .. } => Home::Kernels,
    }
}

/// What an operation is called in messages.
fn name(op: &Op) -> &'static str {
    match op {
        Op::Const(_) => "const",
        Op::Extent(_) => "extent",
        Op::Apply(operator, _) => operator.name(),
        Op::Cast(..) => "cast",
        Op::Bitcast(..) => "bitcast",
        Op::Call(..) => "call",
        Op::If { .. } => "if",
        Op::For { .. } => "for",
        Op::While { .. } => "while",
        Op::At { .. } => "at",
        Op::Tabulate { .. } => "tabulate",
        Op::Fold { .. } => "fold",
        Op::Scan { .. } => "scan",
        Op::Scatter { .. } => "scatter",
        Op::Filter { .. } => "filter",
        Op::Sort { .. } => "sort",
        Op::Raw(_) => "raw",
        Op::Place(..) => "place",
        Op::Load { .. } => "load",
        Op::LoadFragment { .. } => "load_fragment",
        Op::Store { .. } => "store",
        Op::Atomic { .. } => "atomic",
        Op::Check { .. } => "check",
        Op::Barrier(_) => "barrier",
        Op::Fence(_) => "fence",
        Op::Subgroup(..) => "subgroup",
        Op::Mma(..) => "mma",
        Op::Lanes { .. } => "lanes",
        Op::Prefixes { .. } => "prefixes",
    }
}

/// The statement in messages: its operation and the first name it binds.
fn place(stmt: &Stmt) -> String {
    match stmt.binds.first() {
        Some(var) => format!("{} %{}", name(&stmt.op), var.id.0),
        None => name(&stmt.op).into(),
    }
}

/// What is known while code is walked in order.
pub(super) struct Checker<'a> {
    functions: &'a [Function],
    memories: &'a [Memory],
    sizes: &'a [SizeDecl],
    level: Level,
    /// The type of every name bound so far, in scope or not.
    types: Vec<Option<Type>>,
    visible: Vec<bool>,
    /// Counted size variables whose filter has been passed.
    counted: Vec<bool>,
    /// Bodies around the statement, the outermost included.
    depth: usize,
    in_lanes: bool,
    /// Inside of something else than loops.
    in_elements: bool,
}

impl<'a> Checker<'a> {
    pub(super) fn new(functions: &'a [Function], memories: &'a [Memory], sizes: &'a [SizeDecl]) -> Checker<'a> {
        Checker {
            functions,
            memories,
            sizes,
            level: Level::Program,
            types: vec![],
            visible: vec![],
            counted: vec![false; sizes.len()],
            depth: 0,
            in_lanes: false,
            in_elements: false,
        }
    }

    /// Checks the size declarations, the functions, then the body.
    pub(super) fn run(&mut self, body: &Body, level: Level) -> Checked {
        nesting::check(self.functions, body)?;
        unique("size", self.sizes.iter().map(|s| &s.name[..]))?;
        unique("function", self.functions.iter().map(|f| &f.name[..]))?;
        let all = self.functions;
        self.level = if level == Level::Program { Level::ProgramFunction } else { Level::KernelFunction };
        for (k, function) in all.iter().enumerate() {
            // Only what is before it can be called.
            self.functions = &all[..k];
            self.function(function).map_err(|e| e.within(format!("function `{}`", function.name)))?;
        }
        self.functions = all;
        self.level = level;
        self.body(body)
    }

    /// The counted variables that no filter has counted.
    pub(super) fn uncounted(&self) -> impl Iterator<Item = SizeVar> {
        let decls = self.sizes.iter().zip(&self.counted).zip(0..);
        decls.filter(|((s, done), _)| s.origin == SizeOrigin::Counted && !**done).map(|(_, k)| SizeVar(k))
    }

    fn function(&mut self, function: &Function) -> Checked {
        if let Some(var) = function.body.params.iter().find(|p| matches!(p.ty, Type::Array(..))) {
            return fail(format!("the parameter %{} is an array; functions take scalars", var.id.0));
        }
        if function.body.has_array_loop() {
            return fail("a loop carries arrays, which belongs in the program: functions work on scalars");
        }
        self.body(&function.body)?;
        let array = |id: &&Id| matches!(self.ty(**id), Some(Type::Array(..)));
        match function.body.results.iter().find(array) {
            Some(id) => fail(format!("the result %{} is an array; functions give scalars", id.0)),
            None => Ok(()),
        }
    }

    fn ty(&self, id: Id) -> Option<&Type> {
        self.types.get(id.0 as usize)?.as_ref()
    }

    fn bind(&mut self, var: &Var) -> Checked {
        if var.id.0 > MAX_ID {
            return fail(format!("%{} is past the largest name, %{MAX_ID}; number names densely", var.id.0));
        }
        let at = var.id.0 as usize;
        if at >= self.types.len() {
            self.types.resize(at + 1, None);
            self.visible.resize(at + 1, false);
        }
        if self.types[at].is_some() {
            return fail(format!("%{at} is bound twice"));
        }
        if let Type::Array(_, shape) = &var.ty {
            if shape.is_empty() {
                return fail(format!("%{at} is an array without axes; that is a scalar"));
            }
            shape.iter().try_for_each(|s| self.size(s))?;
        }
        self.types[at] = Some(var.ty.clone());
        self.visible[at] = true;
        Ok(())
    }

    fn used(&self, id: Id) -> Checked {
        if self.visible.get(id.0 as usize) == Some(&true) {
            return Ok(());
        }
        match self.ty(id) {
            Some(_) => fail(format!("%{} is used outside the body that binds it", id.0)),
            None => fail(format!("%{} is used before it is bound", id.0)),
        }
    }

    /// A size that is known here: counted variables only after their filter, and never in functions, which may be
    /// called before it. A launch tells a kernel all its sizes.
    fn size(&self, s: &crate::size::Size) -> Checked {
        size(s, self.sizes)?;
        let mut early = None;
        s.each_var(&mut |v| {
            let waits = self.sizes[v.0 as usize].origin == SizeOrigin::Counted && !self.counted[v.0 as usize];
            if waits && matches!(self.level, Level::Program | Level::ProgramFunction) {
                early = Some(v);
            }
        });
        match early {
            Some(v) => fail(format!("the size `{}` is used before a filter counts it", self.sizes[v.0 as usize].name)),
            None => Ok(()),
        }
    }

    fn body(&mut self, body: &Body) -> Checked {
        self.depth += 1;
        body.params.iter().try_for_each(|p| self.bind(p))?;
        for stmt in &body.stmts {
            self.stmt(stmt).map_err(|e| e.within(place(stmt)))?;
        }
        for &id in &body.results {
            self.used(id).map_err(|e| VerifyError::new(format!("a result: {}", e.message)))?;
        }
        for var in body.params.iter().chain(body.stmts.iter().flat_map(|s| &s.binds)) {
            self.visible[var.id.0 as usize] = false;
        }
        self.depth -= 1;
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Checked {
        let op = &stmt.op;
        self.belongs(op)?;
        let mut operands = Ok(());
        op.each_operand(&mut |id| {
            if operands.is_ok() {
                operands = self.used(id);
            }
        });
        operands?;
        op.sizes().into_iter().try_for_each(|size| self.size(size))?;
        self.constant_or_call(op)?;
        self.kernel_rules(op)?;
        if let Op::Raw(call) = op {
            self.raw(call)?;
        }
        let outer = self.in_lanes;
        let outside = self.in_elements;
        self.in_elements |= !matches!(op, Op::For { .. } | Op::While { .. });
        self.in_lanes |= matches!(op, Op::Lanes { .. } | Op::Prefixes { .. });
        op.bodies().into_iter().try_for_each(|body| self.body(body))?;
        self.in_lanes = outer;
        self.in_elements = outside;
        if let Some(monoid) = monoid(op)
            && monoid.combine.stmts.iter().any(|s| s.op.has_effect())
        {
            return fail("the combining body of a monoid has an effect");
        }
        if monoid(op).is_some_and(|monoid| monoid.combine.has_array_loop()) {
            return fail("the combining body of a monoid has a loop that carries arrays");
        }
        if let Op::Filter { kept, .. } = op {
            self.count(*kept)?;
        }
        self.binders(stmt)
    }

    fn belongs(&self, op: &Op) -> Checked {
        match (home(op), self.level) {
            (Home::Anywhere, _) => Ok(()),
            (Home::Programs, Level::Program | Level::ProgramFunction) | (Home::Kernels, Level::Kernel) => Ok(()),
            (Home::Programs, Level::Kernel | Level::KernelFunction) => {
                fail("works on arrays as values, which kernels do not have")
            }
            (Home::Kernels, Level::Program | Level::ProgramFunction) => fail("belongs in kernels, not in programs"),
            (Home::Kernels, Level::KernelFunction) => fail("belongs in the body of a kernel, not in its functions"),
        }
    }

    fn constant_or_call(&self, op: &Op) -> Checked {
        match op {
            Op::Const(value) if Scalar::from_bits(value.ty, value.bits) != *value => {
                fail(format!("the bits {:#x} are wider than a {}", value.bits, value.ty))
            }
            Op::Call(function, _) if function.0 as usize >= self.functions.len() => {
                fail(format!("calls function number {}, which is not before it", function.0))
            }
            _ => Ok(()),
        }
    }

    fn binders(&mut self, stmt: &Stmt) -> Checked {
        let types = |id: Id| self.ty(id).cloned();
        let cx = Context { types: &types, functions: self.functions, memories: self.memories };
        let want = result_types(&stmt.op, stmt.binds.len(), &cx).map_err(|e| VerifyError::new(e.0))?;
        if want.len() != stmt.binds.len() {
            return fail(format!("gives {} values, but binds {} names", want.len(), stmt.binds.len()));
        }
        for (var, want) in stmt.binds.iter().zip(&want) {
            if var.ty != *want {
                return fail(format!("%{} is declared {:?}, but is {want:?}", var.id.0, var.ty));
            }
        }
        stmt.binds.iter().try_for_each(|var| self.bind(var))
    }

    fn count(&mut self, kept: SizeVar) -> Checked {
        let Some(decl) = self.sizes.get(kept.0 as usize) else {
            return fail(format!("the size variable number {} is not declared", kept.0));
        };
        let name = &decl.name;
        if decl.origin != SizeOrigin::Counted {
            return fail(format!("counts `{name}`, which is given by the call"));
        }
        if self.level != Level::Program || self.depth != 1 {
            return fail("counts a size of the program, so it belongs in the program's own body");
        }
        if std::mem::replace(&mut self.counted[kept.0 as usize], true) {
            return fail(format!("counts `{name}`, which another filter has counted"));
        }
        Ok(())
    }

    /// A raw kernel is launched by the host.
    fn raw(&self, call: &RawCall) -> Checked {
        let RawKernel { name, block, sources } = &*call.kernel;
        super::identifier("raw kernel", name)?;
        if self.level != Level::Program || self.in_elements {
            return fail(format!(
                "the raw kernel `{name}` is launched by the host, so it belongs in the program's own body, or in a loop of it"
            ));
        }
        if sources.is_empty() && call.meaning.is_none() {
            return fail(format!("the raw kernel `{name}` has no meaning, and no source that may run here"));
        }
        unique("source", sources.iter().map(|source| source.language.word()))?;
        let threads: u64 = block.iter().fold(1, |n, &d| n.saturating_mul(d as u64));
        if !(1..=MAX_BLOCK).contains(&threads) {
            return fail(format!("blocks of `{name}` have {threads} threads; they must have 1 to {MAX_BLOCK}"));
        }
        if !(1..=3).contains(&call.threads.len()) {
            return fail(format!("threads of `{name}` have {} numbers; there are one to three", call.threads.len()));
        }
        Ok(())
    }

    fn kernel_rules(&self, op: &Op) -> Checked {
        match op {
            Op::Barrier(Scope::Device) => fail("waits for the whole device; blocks cannot wait for each other"),
            Op::Barrier(_) | Op::Subgroup(..) | Op::Mma(..) | Op::LoadFragment { .. } if self.in_lanes => {
                fail("needs converged threads, but the turns of a lanes loop are spread over them")
            }
            Op::Lanes { .. } | Op::Prefixes { .. } if self.in_lanes => {
                fail("stands inside another lanes loop, whose turns already use the threads of the block")
            }
            op => super::kernel::access(op, self.memories),
        }
    }
}

fn monoid(op: &Op) -> Option<&Monoid> {
    match op {
        Op::Fold { monoid, .. } | Op::Scan { monoid, .. } | Op::Scatter { monoid, .. } => Some(monoid),
        Op::Prefixes { monoid, .. } => Some(monoid),
        Op::Lanes { monoid, .. } => monoid.as_ref(),
        Op::Const(_)
        | Op::Extent(_)
        | Op::Apply(..)
        | Op::Cast(..)
        | Op::Bitcast(..)
        | Op::Call(..)
        | Op::If { .. }
        | Op::For { .. }
        | Op::While { .. }
        | Op::At { .. }
        | Op::Tabulate { .. }
        | Op::Filter { .. }
        | Op::Sort { .. }
        | Op::Raw(_)
        | Op::Place(..)
        | Op::Load { .. }
        | Op::LoadFragment { .. }
        | Op::Store { .. }
        | Op::Atomic { .. }
        | Op::Check { .. }
        | Op::Barrier(_)
        | Op::Fence(_)
        | Op::Subgroup(..)
        | Op::Mma(..) => None,
    }
}
