//! SIR to text.
//!
//! Prints whatever it is given, also code the verifier would turn down: a name nobody bound is `%unbound7`, and so on.
//! Such text does not parse, which is the point of printing it.

use super::literal::literal;
use crate::choices::Precision;
use crate::code::{AtomicOp, Body, FnId, Function, Id, MemId, Monoid, Op, Place, Scope, Stmt, SubgroupOp, Type, Var};
use crate::kernel::{Access, Activation, Factor, Kernel, MatrixProduct, Memory, Space};
use crate::program::{Module, Program, Require};
use crate::size::{Size, SizeDecl, SizeOrigin, SizeVar};
use crate::types::Ty;
use std::collections::HashMap;
use std::fmt;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let programs = self.programs.iter().map(|g| g as &dyn fmt::Display);
        let kernels = self.kernels.iter().map(|k| k as &dyn fmt::Display);
        for (k, item) in programs.chain(kernels).enumerate() {
            if k > 0 {
                f.write_str("\n")?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut writer = Printer::new(&self.sizes, &self.functions, &[]);
        let params = writer.binders(&self.body.params);
        writer.see_types(&self.body);
        let sizes = writer.size_decls();
        let results = writer.result_types(&self.body);
        let requires: Vec<String> = self.requires.iter().map(|r| writer.require(r)).collect();
        let requires = match requires.is_empty() {
            true => String::new(),
            false => format!("\n  requires {}", requires.join(", ")),
        };
        let precision = said(self.precision);
        writer.open(format!("program {}{sizes}({params}) -> {results}{requires}{precision}", self.name));
        writer.functions();
        writer.statements(&self.body);
        writer.results("return", &self.body);
        writer.close();
        f.write_str(&writer.out)
    }
}

/// The precision, where one was asked for.
fn said(precision: Option<Precision>) -> String {
    precision.map_or(String::new(), |precision| format!(" precision {precision}"))
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut writer = Printer::new(&self.sizes, &self.functions, &self.memories);
        let params = writer.binders(&self.body.params);
        let sizes = writer.size_decls();
        let grid = writer.shape(&self.grid);
        let block = self.block.map(|n| n.to_string()).join(", ");
        let precision = said(self.precision);
        let written = if self.as_written { " as_written" } else { "" };
        writer.open(format!("kernel {}{sizes}({params}) grid {grid} block [{block}]{precision}{written}", self.name));
        for memory in &self.memories {
            let shape = writer.shape(&memory.shape);
            writer.line(&format!("{} {}: {}{shape}", space(memory.space), memory.name, memory.ty));
        }
        if let Some(product) = &self.product {
            let text = writer.matrix_product(product);
            writer.line(&text);
        }
        if let Some(raw) = &self.raw {
            let extents = writer.shape(&raw.extents);
            writer.line(&format!("raw extents {extents} {}", raw_source(&raw.source)));
        }
        writer.functions();
        writer.statements(&self.body);
        if !self.body.results.is_empty() {
            writer.results("yield", &self.body);
        }
        writer.close();
        f.write_str(&writer.out)
    }
}

/// The word for a space, and for the access to a global one.
pub(super) fn space(space: Space) -> &'static str {
    match space {
        Space::Global(Access::Read) => "global read",
        Space::Global(Access::Write) => "global write",
        Space::Global(Access::ReadWrite) => "global readwrite",
        Space::Shared => "shared",
        Space::Scratch => "scratch",
        Space::Local => "local",
        Space::Constant => "constant",
    }
}

/// The text so far and the names in it.
pub(super) struct Printer<'a> {
    pub out: String,
    depth: usize,
    sizes: &'a [SizeDecl],
    functions: &'a [Function],
    memories: &'a [Memory],
    names: HashMap<Id, usize>,
    /// Names given so far; not the size of `names` when a broken program binds one twice.
    named: usize,
    /// What headings say about results, which are bound further down.
    types: HashMap<Id, &'a Type>,
}

impl<'a> Printer<'a> {
    pub fn new(sizes: &'a [SizeDecl], functions: &'a [Function], memories: &'a [Memory]) -> Printer<'a> {
        Printer {
            out: String::new(),
            depth: 0,
            sizes,
            functions,
            memories,
            names: HashMap::new(),
            named: 0,
            types: HashMap::new(),
        }
    }

    // ---- lines

    fn indent(&mut self) {
        self.out.push_str(&"  ".repeat(self.depth));
    }

    pub fn line(&mut self, text: &str) {
        self.indent();
        self.out.push_str(text);
        self.out.push('\n');
    }

    pub fn open(&mut self, heading: String) {
        self.line(&format!("{heading} {{"));
        self.depth += 1;
    }

    pub fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    // ---- sizes and types

    pub fn size(&self, size: &Size) -> String {
        let name = |var: SizeVar| self.size_var(var);
        size.display(&name).to_string()
    }

    pub fn size_var(&self, var: SizeVar) -> String {
        self.sizes.get(var.0 as usize).map_or_else(|| format!("size{}", var.0), |decl| decl.name.clone())
    }

    pub fn shape(&self, shape: &[Size]) -> String {
        let sizes: Vec<String> = shape.iter().map(|size| self.size(size)).collect();
        format!("[{}]", sizes.join(", "))
    }

    pub fn size_decls(&self) -> String {
        let decl = |decl: &SizeDecl| match decl.origin {
            SizeOrigin::Given => decl.name.clone(),
            SizeOrigin::Counted => format!("counted {}", decl.name),
        };
        let decls: Vec<String> = self.sizes.iter().map(decl).collect();
        if decls.is_empty() { String::new() } else { format!("<{}>", decls.join(", ")) }
    }

    fn require(&self, require: &Require) -> String {
        match require {
            Require::NonEmpty(size) => format!("nonempty {}", self.size(size)),
            Require::Equal(a, b) => format!("{} == {}", self.size(a), self.size(b)),
            Require::AtMost(a, b) => format!("{} <= {}", self.size(a), self.size(b)),
        }
    }

    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Scalar(ty) => ty.to_string(),
            Type::Array(ty, shape) => format!("{ty}{}", self.shape(shape)),
        }
    }

    fn see_types(&mut self, body: &'a Body) {
        let bound = body.params.iter().chain(body.stmts.iter().flat_map(|stmt| &stmt.binds));
        self.types.extend(bound.map(|var| (var.id, &var.ty)));
    }

    fn result_types(&self, body: &Body) -> String {
        let ty = |id: &Id| self.types.get(id).map_or_else(|| format!("unbound{}", id.0), |ty| self.ty(ty));
        let types: Vec<String> = body.results.iter().map(ty).collect();
        if types.len() == 1 { types.concat() } else { format!("({})", types.join(", ")) }
    }

    // ---- names

    pub fn binders(&mut self, vars: &[Var]) -> String {
        let mut binder = |var: &Var| {
            let number = self.named;
            self.names.insert(var.id, number);
            self.named += 1;
            format!("%{number}: {}", self.ty(&var.ty))
        };
        let binders: Vec<String> = vars.iter().map(&mut binder).collect();
        binders.join(", ")
    }

    fn name(&self, id: Id) -> String {
        self.names.get(&id).map_or_else(|| format!("%unbound{}", id.0), |number| format!("%{number}"))
    }

    fn list(&self, ids: &[Id]) -> String {
        let names: Vec<String> = ids.iter().map(|&id| self.name(id)).collect();
        names.join(", ")
    }

    /// ` (a, b)`, or nothing.
    fn args(&self, ids: &[Id]) -> String {
        if ids.is_empty() { String::new() } else { format!(" ({})", self.list(ids)) }
    }

    fn matrix_product(&self, product: &MatrixProduct) -> String {
        let MatrixProduct { result, left, right, scale, bias, activation, bytes } = product;
        let factor = |factor: &Factor| {
            let turned = if factor.turned { "turned " } else { "" };
            format!("{turned}{}", self.memory(factor.memory))
        };
        let mut text = format!("product {} of {}, {}", self.memory(*result), factor(left), factor(right));
        if let Some(scale) = scale {
            text += &format!(" scaled {}", literal(*scale));
        }
        if let Some(bias) = bias {
            text += &format!(" plus {}", self.memory(*bias));
        }
        for (_, word) in Activation::WORDS.iter().filter(|(known, _)| Some(*known) == *activation) {
            text += &format!(" {word}");
        }
        if *bytes {
            text += " in bytes";
        }
        text
    }

    fn memory(&self, memory: MemId) -> String {
        self.memories.get(memory.0 as usize).map_or_else(|| format!("memory{}", memory.0), |m| m.name.clone())
    }

    fn function(&self, function: FnId) -> String {
        self.functions.get(function.0 as usize).map_or_else(|| format!("fn{}", function.0), |f| f.name.clone())
    }

    // ---- bodies

    fn functions(&mut self) {
        for function in self.functions {
            let params = self.binders(&function.body.params);
            self.see_types(&function.body);
            let results = self.result_types(&function.body);
            self.open(format!("fn {}({params}) -> {results}", function.name));
            self.statements(&function.body);
            self.results("return", &function.body);
            self.close();
        }
    }

    fn statements(&mut self, body: &Body) {
        for stmt in &body.stmts {
            self.indent();
            self.statement(stmt);
            self.out.push('\n');
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        if !stmt.binds.is_empty() {
            let binders = self.binders(&stmt.binds);
            self.out.push_str(&binders);
            self.out.push_str(" = ");
        }
        self.op(stmt);
    }

    fn results(&mut self, word: &str, body: &Body) {
        let names = self.list(&body.results);
        self.line(format!("{word} {names}").trim_end());
    }

    /// ` |params| { … }`. Short bodies stay on the line.
    fn body(&mut self, body: &Body) {
        if !body.params.is_empty() {
            let params = self.binders(&body.params);
            self.out.push_str(&format!(" |{params}|"));
        }
        match &body.stmts[..] {
            [] if body.results.is_empty() => self.out.push_str(" {}"),
            [] => self.out.push_str(&format!(" {{ yield {} }}", self.list(&body.results))),
            [stmt] if stmt.op.bodies().is_empty() => {
                self.out.push_str(" { ");
                self.statement(stmt);
                if !body.results.is_empty() {
                    self.out.push_str(&format!("; yield {}", self.list(&body.results)));
                }
                self.out.push_str(" }");
            }
            _ => {
                self.out.push_str(" {\n");
                self.depth += 1;
                self.statements(body);
                if !body.results.is_empty() {
                    self.results("yield", body);
                }
                self.depth -= 1;
                self.indent();
                self.out.push('}');
            }
        }
    }

    fn monoid(&mut self, monoid: &Monoid) {
        let commutative = if monoid.commutative { " commutative" } else { "" };
        let neutral = self.args(&monoid.neutral);
        self.out.push_str(&format!(" with{commutative}{neutral}"));
        self.body(&monoid.combine);
    }

    // ---- operations

    fn op(&mut self, stmt: &Stmt) {
        let head = self.head(stmt);
        self.out.push_str(&head);
        match &stmt.op {
            Op::If { then, otherwise, .. } => {
                self.body(then);
                self.out.push_str(" else");
                self.body(otherwise);
            }
            Op::While { cond, body, .. } => {
                self.body(cond);
                self.out.push_str(" do");
                self.body(body);
            }
            Op::For { body, .. } | Op::Tabulate { body, .. } | Op::Filter { body, .. } => self.body(body),
            Op::Sort { body, .. } => self.body(body),
            Op::Raw(call) => {
                for source in &call.kernel.sources {
                    self.out.push(' ');
                    self.out.push_str(&raw_source(source));
                }
                if let Some(meaning) = &call.meaning {
                    self.out.push_str(" meaning");
                    self.body(meaning);
                }
            }
            Op::Fold { body, monoid, .. } | Op::Scan { body, monoid, .. } | Op::Scatter { body, monoid, .. } => {
                self.body(body);
                self.monoid(monoid);
            }
            Op::Lanes { body, monoid, .. } => {
                self.body(body);
                if let Some(monoid) = monoid {
                    self.monoid(monoid);
                }
            }
            Op::Prefixes { body, monoid, put, .. } => {
                self.body(body);
                self.monoid(monoid);
                self.out.push_str(" put");
                self.body(put);
            }
            Op::Const(_)
            | Op::Extent(_)
            | Op::Apply(..)
            | Op::Cast(..)
            | Op::Bitcast(..)
            | Op::Call(..)
            | Op::At { .. }
            | Op::Place(..)
            | Op::Load { .. }
            | Op::LoadFragment { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::Check { .. }
            | Op::Barrier(_)
            | Op::Fence(_)
            | Op::Subgroup(..)
            | Op::Mma(..) => {}
        }
    }

    /// The operation up to its first body.
    fn head(&self, stmt: &Stmt) -> String {
        match &stmt.op {
            Op::Const(scalar) => format!("const {}{}", explicit(stmt, scalar.ty), literal(*scalar)),
            Op::Extent(size) => format!("extent {}", self.size(size)),
            Op::Apply(operator, args) => spaced(operator.name(), self.list(args)),
            Op::Cast(ty, arg) => format!("cast {}{}", explicit(stmt, *ty), self.name(*arg)),
            Op::Bitcast(ty, arg) => format!("bitcast {}{}", explicit(stmt, *ty), self.name(*arg)),
            Op::Call(function, args) => format!("call {}({})", self.function(*function), self.list(args)),
            Op::If { cond, args, .. } => format!("if {}{}", self.name(*cond), self.args(args)),
            Op::For { lo, hi, step, init, .. } => {
                let lo = self.name(*lo);
                let hi = self.name(*hi);
                let step = self.name(*step);
                format!("for {lo} to {hi} step {step}{}", self.args(init))
            }
            Op::While { init, .. } => format!("while{}", self.args(init)),
            Op::At { array, index } => format!("at {}[{}]", self.name(*array), self.list(index)),
            Op::Tabulate { shape, .. } => format!("tabulate {}", self.shape(shape)),
            Op::Fold { shape, .. } => format!("fold {}", self.shape(shape)),
            Op::Scan { shape, .. } => format!("scan {}", self.shape(shape)),
            Op::Scatter { shape, target, onto, .. } => {
                let start = if onto.is_empty() { String::new() } else { format!(" onto{}", self.args(onto)) };
                format!("scatter {} into {}{start}", self.shape(shape), self.shape(target))
            }
            Op::Filter { extent, kept, .. } => format!("filter {} as {}", self.size(extent), self.size_var(*kept)),
            Op::Sort { shape, widths, .. } => {
                let widths: Vec<String> = widths.iter().map(u32::to_string).collect();
                format!("sort {} by [{}]", self.shape(shape), widths.join(", "))
            }
            Op::Raw(call) => {
                let block = call.kernel.block.map(|n| n.to_string()).join(", ");
                let threads = self.shape(&call.threads);
                let extents = self.shape(&call.extents);
                let args = self.list(&call.args);
                format!("raw {}({args}) threads {threads} block [{block}] extents {extents}", call.kernel.name)
            }
            Op::Place(place, dimension) => place_name(*place, *dimension),
            Op::Load { memory, index } => format!("load {}[{}]", self.memory(*memory), self.list(index)),
            Op::LoadFragment { memory, index, turned } => {
                let turned = if *turned { "turned " } else { "" };
                format!("load_fragment {turned}{}[{}]", self.memory(*memory), self.list(index))
            }
            Op::Store { memory, index, values } => {
                format!("store {}[{}]{}", self.memory(*memory), self.list(index), self.tail(values))
            }
            Op::Atomic { op, memory, index, args } => {
                let memory = self.memory(*memory);
                let index = self.list(index);
                format!("atomic {} {memory}[{index}]{}", atomic_name(*op), self.tail(args))
            }
            Op::Check { memory, index } => format!("check {}[{}]", self.memory(*memory), self.list(index)),
            Op::Barrier(scope) => format!("barrier {}", scope_name(*scope)),
            Op::Fence(scope) => format!("fence {}", scope_name(*scope)),
            Op::Mma(fragment, args) => format!("mma {} {}", fragment.name(), self.list(args)),
            Op::Subgroup(op, args) => spaced(&format!("subgroup {}", subgroup_name(*op)), self.list(args)),
            Op::Lanes { lo, hi, .. } => format!("lanes {} to {}", self.name(*lo), self.name(*hi)),
            Op::Prefixes { lo, hi, from, .. } => {
                format!("prefixes {} to {} from ({})", self.name(*lo), self.name(*hi), self.list(from))
            }
        }
    }

    /// `, a, b`, or nothing.
    fn tail(&self, ids: &[Id]) -> String {
        ids.iter().map(|&id| format!(", {}", self.name(id))).collect()
    }
}

/// A source, a text for each of its lines.
fn raw_source(source: &crate::raw::Source) -> String {
    let lines: Vec<String> = source.text.split('\n').map(super::literal::quoted).collect();
    format!("{} {} {}", source.language.word(), source.entry, lines.join(" "))
}

/// The type of a constant or conversion, where the binder does not tell it.
fn explicit(stmt: &Stmt, ty: Ty) -> String {
    match &stmt.binds[..] {
        [Var { ty: Type::Scalar(bound), .. }] if *bound == ty => String::new(),
        _ => format!("{ty} "),
    }
}

fn spaced(head: &str, rest: String) -> String {
    if rest.is_empty() { head.to_string() } else { format!("{head} {rest}") }
}

fn place_name(place: Place, dimension: u8) -> String {
    let axis = match dimension {
        0 => "x".to_string(),
        1 => "y".to_string(),
        2 => "z".to_string(),
        beyond => format!("axis{beyond}"),
    };
    match place {
        Place::Global => format!("global.{axis}"),
        Place::Local => format!("local.{axis}"),
        Place::Block => format!("block.{axis}"),
        Place::BlockDim => format!("block_dim.{axis}"),
        Place::GridDim => format!("grid_dim.{axis}"),
        Place::Lane => "lane".to_string(),
        Place::SubgroupSize => "subgroup_size".to_string(),
    }
}

fn atomic_name(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Update(operator) => operator.name(),
        AtomicOp::Exchange => "exchange",
        AtomicOp::CompareExchange => "compare_exchange",
        AtomicOp::Claim => "claim",
        AtomicOp::Load => "load",
        AtomicOp::Store => "store",
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Subgroup => "subgroup",
        Scope::Block => "block",
        Scope::Device => "device",
    }
}

fn subgroup_name(op: SubgroupOp) -> String {
    let name = match op {
        SubgroupOp::Reduce(operator) => return format!("reduce {}", operator.name()),
        SubgroupOp::Scan(operator) => return format!("scan {}", operator.name()),
        SubgroupOp::Shuffle => "shuffle",
        SubgroupOp::ShuffleXor => "shuffle_xor",
        SubgroupOp::ShuffleUp => "shuffle_up",
        SubgroupOp::ShuffleDown => "shuffle_down",
        SubgroupOp::Broadcast => "broadcast",
        SubgroupOp::Ballot => "ballot",
        SubgroupOp::Any => "any",
        SubgroupOp::All => "all",
    };
    name.to_string()
}
