//! Writes bodies of kernels as C statements.
//!
//! Outside of lanes code is plain scalar C. Inside, a value is a vector unless all lanes agree on it. A body of
//! lanes becomes an inlined function of its first turn `i` and the number `n` of live lanes; called with `n == W` it
//! compiles to full vectors, and once more for the rest of the loop with as many lanes as are left.

use super::expr;
use super::value::{Bind, Expr, Form, Lane, Value, memory_type, scalar_type};
use super::{EmitError, File};
use crate::code::{AtomicOp, Body, Id, MemId, Op, Place, Scope, Stmt, Type, Var};
use crate::kernel::{Access, Kernel, Space};
use crate::ranges::{self, Facts, Ranges};
use crate::size::Size;
use crate::types::Ty;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// The parameters of the function of a kernel.
pub(super) const PARAMETERS: &str =
    "void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end";

/// Which lanes take part.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Live {
    /// No lanes: the code of the block.
    Block,
    /// The first `n`.
    Count,
    /// Those of a mask variable.
    Mask(String),
    /// All that matter; reading memory is not possible. For functions without control flow.
    All,
}

/// The uses of a name, to decide whether it needs a variable.
#[derive(Clone, Copy, Default)]
pub(super) struct Uses {
    count: usize,
    nested: bool,
}

/// Writes one C function at a time.
pub(super) struct Writer<'a> {
    pub(super) file: &'a mut File,
    pub(super) kernel: &'a Kernel,
    pub(super) wide: bool,
    pub(super) out: String,
    depth: usize,
    pub(super) live: Live,
    pub(super) values: HashMap<Id, Value>,
    ranges: Ranges,
    pub(super) uses: HashMap<Id, Uses>,
    /// Uniform names of the C function around, with their C declarations, in order.
    names: Vec<(String, String)>,
    /// The first place of each of them there.
    places: HashMap<String, usize>,
    counter: usize,
    /// How many vectors the code of lanes works on at once, if not one: each value is an array of them indexed by `u`.
    pub(super) ways: Option<&'static str>,
    /// Set while the lanes of a tile are written.
    pub(super) tile: Option<super::tile::Tile>,
    /// The C names of the memories.
    memories: Vec<String>,
    /// Positions of which only the low word matters.
    low: HashSet<Id>,
    /// Reads that must be made once.
    pinned: HashSet<Id>,
    /// By function of the kernel: is it inlined where it is called?
    pub(super) inlined: Vec<bool>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(file: &'a mut File, kernel: &'a Kernel, wide: bool) -> Self {
        let mut uses = HashMap::new();
        count_uses(&kernel.body, &mut uses);
        kernel.functions.iter().for_each(|f| count_uses(&f.body, &mut uses));
        let memories = file.memory_names(kernel);
        Writer {
            file,
            kernel,
            wide,
            out: String::new(),
            depth: 1,
            live: Live::Block,
            values: HashMap::new(),
            ranges: ranges::of_kernel(kernel, &facts(kernel, wide)),
            uses,
            names: vec![],
            places: HashMap::new(),
            counter: 0,
            ways: None,
            tile: None,
            memories,
            low: if wide { HashSet::new() } else { low(kernel) },
            pinned: pinned(kernel),
            inlined: super::function::inlined(kernel),
        }
    }

    // ---- lines and names

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = self.depth * 4);
    }

    pub(super) fn block(
        &mut self,
        head: &str,
        write: impl FnOnce(&mut Self) -> Result<(), EmitError>,
    ) -> Result<(), EmitError> {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        let result = write(self);
        self.depth -= 1;
        self.line("}");
        result
    }

    pub(super) fn fresh(&mut self, stem: &str) -> String {
        self.counter += 1;
        format!("{stem}{}", self.counter)
    }

    /// The name of a vector variable, where one vector is meant.
    pub(super) fn each(&self, name: &str) -> String {
        if self.ways.is_some() { format!("{name}[u]") } else { name.to_string() }
    }

    /// A statement on one vector, for all of them.
    pub(super) fn act(&mut self, text: &str) {
        match self.ways {
            Some(ways) => self.line(&format!("WAYS(u, {ways}) {text}")),
            None => self.line(text),
        }
    }

    /// Declares a vector variable.
    pub(super) fn set(&mut self, ty: &str, name: &str, text: &str) {
        if let Some(ways) = self.ways {
            self.line(&format!("{ty} {name}[{ways}];"));
            self.act(&format!("{name}[u] = {text};"));
        } else {
            self.line(&format!("{ty} {name} = {text};"));
        }
    }

    /// Is a lane of any vector on?
    pub(super) fn any(&self, mask: &str) -> String {
        match self.ways {
            Some(ways) => format!("any_of({mask}, {ways})"),
            None => format!("any({mask})"),
        }
    }

    /// The number of live lanes.
    fn count(&self) -> String {
        if self.ways.is_some() { "lanes_left(n, u)".into() } else { "n".into() }
    }

    pub(super) fn vector_type(&mut self, lane: Lane) -> String {
        self.file.lanes_64 |= lane.is_wide();
        lane.vector()
    }

    /// Notes a name that code of lanes may need as a parameter.
    pub(super) fn declare(&mut self, name: &str, declaration: String) {
        self.places.entry(name.into()).or_insert(self.names.len());
        self.names.push((name.into(), declaration));
    }

    /// Names that `inner` declares for the block are seen by `inner` only.
    pub(super) fn with_own_names<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let count = self.names.len();
        let result = inner(self);
        for (name, _) in self.names.drain(count..) {
            if self.places.get(&name).is_some_and(|&place| place >= count) {
                self.places.remove(&name);
            }
        }
        result
    }

    /// Gives a value a variable, unless it is used once, right here, and short.
    pub(super) fn bind(&mut self, id: Id, value: Value, load: bool) {
        let uses = self.uses.get(&id).copied().unwrap_or_default();
        let value = self.kept(value.within(self.range(id)), uses, load);
        self.values.insert(id, value);
    }

    /// What an `i64` can be, where that is less than anything.
    pub(super) fn range(&self, id: Id) -> Option<(i128, i128)> {
        self.ranges.known(id).map(|range| (range.lo, range.hi))
    }

    fn kept(&mut self, mut value: Value, uses: Uses, load: bool) -> Value {
        let once = uses.count <= 1 && !uses.nested && !load;
        let expr = match &value.form {
            Form::Uniform(e) | Form::Affine(e) | Form::Vector(_, e) => e.clone(),
            Form::Clamped(..) => return value,
        };
        let literal = matches!(value.form, Form::Uniform(_)) && is_literal(&expr.text);
        let name_already = expr.bind == Bind::Atom && !expr.text.trim_end_matches("[u]").contains(['(', ' ', '[']);
        if literal || name_already || (once && expr.text.len() <= 80) {
            if let Form::Vector(lane, _) = value.form {
                self.file.lanes_64 |= lane.is_wide();
            }
            return value;
        }
        let name = self.fresh("v");
        let ty = match &value.form {
            Form::Uniform(_) => scalar_type(value.ty).to_string(),
            Form::Affine(_) | Form::Clamped(..) => "i64".to_string(),
            Form::Vector(lane, _) => self.vector_type(*lane),
        };
        if matches!(value.form, Form::Uniform(_)) {
            self.line(&format!("{ty} {name} = {};", expr.text));
        } else {
            self.set(&ty, &name, &expr.text);
        }
        if !matches!(value.form, Form::Vector(..)) && self.live == Live::Block {
            self.declare(&name, format!("{ty} {name}"));
        }
        let atom = if matches!(value.form, Form::Uniform(_)) { Expr::atom(name) } else { Expr::atom(self.each(&name)) };
        value.form = match value.form {
            Form::Uniform(_) => Form::Uniform(atom),
            Form::Affine(_) | Form::Clamped(..) => Form::Affine(atom),
            Form::Vector(lane, _) => Form::Vector(lane, atom),
        };
        value
    }

    pub(super) fn get(&self, id: Id) -> Value {
        self.values[&id].clone()
    }

    pub(super) fn all(&self, ids: &[Id]) -> Vec<Value> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    /// The text of a uniform value.
    pub(super) fn scalar(&self, id: Id) -> Result<Expr, EmitError> {
        match &self.values[&id].form {
            Form::Uniform(e) => Ok(e.clone()),
            Form::Affine(_) | Form::Clamped(..) | Form::Vector(..) => Err(EmitError::Varying(id)),
        }
    }

    // ---- sizes and memories

    pub(super) fn size(&mut self, size: &Size) -> Expr {
        match size {
            Size::Const(n) => Expr::atom(n.to_string()),
            Size::Var(v) => Expr::atom(super::size_name(&self.kernel.size_name(*v))),
            Size::Add(a, b) => Expr::infix(&self.size(a), "+", &self.size(b), Bind::Sum),
            Size::Mul(a, b) => Expr::infix(&self.size(a), "*", &self.size(b), Bind::Product),
            Size::Min(a, b) => Expr::call("s_min_i64", &[self.size(a).text, self.size(b).text]),
            Size::CeilDiv(a, n) => {
                let text = format!("({} + {}) / {n}", self.size(a).under(Bind::Sum), n - 1);
                Expr::new(text, Bind::Product)
            }
            Size::Tri(a) => {
                let n = self.size(a);
                Expr::new(format!("{0} * ({0} + 1) / 2", n.tight()), Bind::Product)
            }
        }
    }

    /// What one step along each axis of a memory moves, in elements.
    pub(super) fn strides(&mut self, memory: MemId) -> Vec<Expr> {
        let shape = &self.kernel.memories[memory.0 as usize].shape;
        let strides: Vec<Size> = (0..shape.len()).map(|k| Size::product(&shape[k + 1..])).collect();
        strides.iter().map(|s| self.size(s)).collect()
    }

    pub(super) fn mask(&self) -> String {
        match &self.live {
            Live::Count => format!("first_lanes({})", self.count()),
            Live::Mask(name) => self.each(name),
            Live::Block | Live::All => "first_lanes(W)".into(),
        }
    }

    /// The C name of a memory.
    pub(super) fn memory_name(&self, memory: MemId) -> &str {
        &self.memories[memory.0 as usize]
    }

    pub(super) fn address(&mut self, memory: MemId, index: &[Id]) -> (String, Option<Value>) {
        let strides = self.strides(memory);
        let (start, moving) = expr::linear(&self.all(index), &strides, self.wide);
        if self.kernel.memories[memory.0 as usize].space == Space::Local {
            return super::local::address(self, memory, start, moving);
        }
        let name = self.memory_name(memory);
        let address = match (&start, &moving) {
            (start, Some(Value { form: Form::Affine(base), .. })) => {
                let at = start.iter().fold(base.clone(), |b, s| Expr::infix(s, "+", &b, Bind::Sum));
                format!("{name} + {}", at.under(Bind::Sum))
            }
            (Some(start), _) => format!("{name} + {}", start.under(Bind::Sum)),
            (None, _) => name.to_string(),
        };
        (address, moving)
    }

    fn load(&mut self, id: Id, memory: MemId, index: &[Id]) {
        if let Some(value) = super::tile::load(self, memory, index) {
            self.values.insert(id, value);
            return;
        }
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let (address, moving) = self.address(memory, index);
        let lane = Lane::of(ty);
        let value = match moving.map(|m| m.form) {
            None => {
                let expr = match ty {
                    Ty::F16 | Ty::BF16 => Expr::atom(format!("lane_f32(load_{ty}({address}, 1), 0)")),
                    Ty::Bool => Expr::new(format!("{} != 0", element(&address)), Bind::Compare),
                    _ => Expr::atom(element(&address)),
                };
                Value::uniform(ty, expr)
            }
            Some(Form::Affine(_)) => {
                let expr = match &self.live {
                    _ if self.is_local(memory) => Expr::call(&format!("load_{ty}"), &[address, "W".into()]),
                    Live::Mask(_) => Expr::call(&format!("load_masked_{ty}"), &[address, self.mask()]),
                    _ => Expr::call(&format!("load_{ty}"), &[address, self.count()]),
                };
                Value::vector(ty, lane, expr)
            }
            Some(Form::Clamped(at, low, high)) if self.live == Live::Count && !self.wide => {
                let args = [address, at.text, low.text, high.text, self.count()];
                Value::vector(ty, lane, Expr::call(&format!("load_clamped_{ty}"), &args))
            }
            Some(form @ (Form::Clamped(..) | Form::Vector(..))) => {
                let at = if self.wide { Lane::I64 } else { Lane::I32 };
                let offset = expr::spread(&Value { ty: Ty::I64, form, range: None }, at);
                self.file.lanes_64 |= at.is_wide();
                let wide = if at.is_wide() { "_wide" } else { "" };
                let args = [address, offset.text, self.mask()];
                Value::vector(ty, lane, Expr::call(&format!("gather_{ty}{wide}"), &args))
            }
            Some(Form::Uniform(_)) => unreachable!("a uniform index does not move"),
        };
        let value = if self.pinned.contains(&id) { pin(value) } else { value };
        // What nobody writes meanwhile may be read where it is used.
        let space = self.kernel.memories[memory.0 as usize].space;
        self.bind(id, value, !matches!(space, Space::Global(Access::Read) | Space::Constant));
    }

    fn is_local(&self, memory: MemId) -> bool {
        self.kernel.memories[memory.0 as usize].space == Space::Local
    }

    fn store(&mut self, memory: MemId, index: &[Id], value: Id) {
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let (address, moving) = self.address(memory, index);
        let value = self.get(value);
        let spread = |w: &mut Self| {
            let lane = Lane::of(ty);
            w.file.lanes_64 |= lane.is_wide();
            expr::spread(&value, lane).text
        };
        // Of several vectors only the first is sure to have a lane that is on.
        let first = if self.ways.is_some() && self.live != Live::Block { "u == 0" } else { "1" };
        let text = match moving.map(|m| m.form) {
            // One lane writes, and it need not be the first.
            None if matches!(self.live, Live::Mask(_)) && !value.is_uniform() => {
                format!("scatter_{ty}({address}, all_i32(0), {}, {});", spread(self), self.mask())
            }
            None => match (ty, &value.form) {
                (Ty::F16 | Ty::BF16, _) => format!("store_{ty}({address}, {}, {first});", spread(self)),
                (_, Form::Uniform(e)) => format!("{} = {};", element(&address), e.text),
                // All lanes meet in one element; the verifier's races aside, the first lane stands for them.
                (_, Form::Affine(_) | Form::Clamped(..) | Form::Vector(..)) => {
                    format!("store_{ty}({address}, {}, {first});", spread(self))
                }
            },
            Some(Form::Affine(_)) => {
                let value = spread(self);
                let written = self.kernel.memories[memory.0 as usize].space == Space::Global(Access::Write);
                match &self.live {
                    _ if self.is_local(memory) => super::local::store(self, ty, &address, &value),
                    Live::Mask(_) => format!("store_masked_{ty}({address}, {value}, {});", self.mask()),
                    _ if written && ty.bytes() >= 4 => {
                        format!("stream_{ty}({address}, {value}, {}, past);", self.count())
                    }
                    _ => format!("store_{ty}({address}, {value}, {});", self.count()),
                }
            }
            Some(form @ (Form::Clamped(..) | Form::Vector(..))) => {
                let at = if self.wide { Lane::I64 } else { Lane::I32 };
                let offset = expr::spread(&Value { ty: Ty::I64, form, range: None }, at);
                self.file.lanes_64 |= at.is_wide();
                let wide = if at.is_wide() { "_wide" } else { "" };
                format!("scatter_{ty}{wide}({address}, {}, {}, {});", offset.text, spread(self), self.mask())
            }
            Some(Form::Uniform(_)) => unreachable!("a uniform index does not move"),
        };
        if self.live == Live::Block { self.line(&text) } else { self.act(&text) }
    }

    // ---- statements

    pub(super) fn stmts(&mut self, body: &Body) -> Result<(), EmitError> {
        body.stmts.iter().try_for_each(|s| self.stmt(s))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), EmitError> {
        let unused = stmt.binds.iter().all(|b| !self.uses.contains_key(&b.id));
        if unused && !stmt.op.has_effect() {
            return Ok(());
        }
        match &stmt.op {
            Op::Const(value) => self.bind(stmt.binds[0].id, expr::constant(*value), false),
            Op::Extent(size) => {
                let expr = self.size(size);
                self.bind(stmt.binds[0].id, Value::uniform(Ty::I64, expr), false)
            }
            Op::Apply(operator, args) => {
                let args = self.all(args);
                let refs: Vec<&Value> = args.iter().collect();
                let low = self.low.contains(&stmt.binds[0].id);
                let range = self.range(stmt.binds[0].id);
                let value = expr::apply(*operator, &refs, stmt.binds[0].ty.elem(), range, low);
                self.bind(stmt.binds[0].id, value, false);
            }
            Op::Cast(to, arg) => {
                let value = expr::cast(*to, &self.get(*arg), self.range(stmt.binds[0].id));
                self.bind(stmt.binds[0].id, value, false);
            }
            Op::Bitcast(to, arg) => {
                let value = expr::bitcast(*to, &self.get(*arg));
                self.bind(stmt.binds[0].id, value, false);
            }
            Op::Place(Place::Block, d) => {
                let name = self.block_names()[usize::from(*d).min(2)].clone();
                self.bind(stmt.binds[0].id, Value::uniform(Ty::I64, Expr::atom(name)), false)
            }
            Op::Atomic { op, memory, index, args } if self.live != Live::Block => {
                super::atomic::write(self, &stmt.binds[0], *op, *memory, index, args)
            }
            Op::Atomic { op: AtomicOp::CompareExchange, memory, index, args }
                if self.kernel.memories[memory.0 as usize].ty == Ty::I32 =>
            {
                super::atomic::write_one(self, &stmt.binds[0], *memory, index, args)?
            }
            // Threads of a block share a core, which sees its own writes in order.
            Op::Fence(Scope::Device) => self.line("__atomic_thread_fence(__ATOMIC_SEQ_CST);"),
            Op::Fence(Scope::Block | Scope::Subgroup) => {}
            Op::Load { memory, index } if stmt.binds.len() == 1 => self.load(stmt.binds[0].id, *memory, index),
            Op::Store { memory, index, values } if values.len() == 1 => self.store(*memory, index, values[0]),
            Op::Call(function, args) => self.call(stmt, function.0 as usize, args)?,
            Op::If { cond, args, then, otherwise } => self.branch(stmt, *cond, args, then, otherwise)?,
            Op::For { lo, hi, step, init, body } => self.count_loop(stmt, [*lo, *hi, *step], init, body)?,
            Op::While { init, cond, body } => self.while_loop(stmt, init, cond, body)?,
            Op::Lanes { lo, hi, body, monoid } if self.live == Live::Block => match monoid {
                None => self.lanes(*lo, *hi, body)?,
                Some(monoid) => super::fold::write(self, stmt, *lo, *hi, body, monoid)?,
            },
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Place(..)
            | Op::Lanes { .. }
            | Op::Atomic { .. }
            | Op::Check { .. }
            | Op::Barrier(_)
            | Op::Subgroup(..) => return Err(EmitError::Threads(self.kernel.name.clone())),
            Op::At { .. }
            | Op::Tabulate { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::Scatter { .. }
            | Op::Filter { .. } => return Err(EmitError::Level(self.kernel.name.clone())),
        }
        Ok(())
    }

    // ---- functions

    fn call(&mut self, stmt: &Stmt, number: usize, args: &[Id]) -> Result<(), EmitError> {
        let name = super::function::write(self, number)?;
        let kernel = self.kernel;
        let function = &kernel.functions[number];
        let lane = |ty: &Type| Lane::of(ty.elem());
        let mut texts: Vec<String> = args
            .iter()
            .zip(&function.body.params)
            .map(|(&a, p)| expr::spread(&self.get(a), lane(&p.ty)).text)
            .collect();
        if super::function::needs_mask(&function.body) {
            texts.push(self.mask());
        }
        if let [bind] = &stmt.binds[..] {
            let expr = Expr::call(&name, &texts);
            let value = self.called(bind.ty.elem(), expr);
            self.bind(bind.id, value, false);
            return Ok(());
        }
        let mut names = vec![];
        for bind in &stmt.binds {
            let (result, ty) = (self.fresh("r"), self.vector_type(lane(&bind.ty)));
            let many = self.ways.map_or(String::new(), |ways| format!("[{ways}]"));
            self.line(&format!("{ty} {result}{many};"));
            let result = self.each(&result);
            texts.push(format!("&{result}"));
            names.push(result);
        }
        let text = format!("{name}({});", texts.join(", "));
        if self.live == Live::Block {
            self.line(&text)
        } else {
            self.act(&text)
        }
        for (bind, result) in stmt.binds.iter().zip(names) {
            let value = self.called(bind.ty.elem(), Expr::atom(result));
            self.bind(bind.id, value, false);
        }
        Ok(())
    }

    /// What a function of vectors gave, for whoever called it.
    fn called(&mut self, ty: Ty, expr: Expr) -> Value {
        let lane = Lane::of(ty);
        self.file.lanes_64 |= lane.is_wide();
        if self.live != Live::Block {
            return Value::vector(ty, lane, expr);
        }
        let taken = format!("lane_{}({}, 0)", lane.scalar(), expr.text);
        let expr = if lane == Lane::Mask { Expr::new(format!("-{taken}"), Bind::Unary) } else { Expr::atom(taken) };
        Value::uniform(ty, expr)
    }

    /// Writes code of lanes into a text of its own, with only the uniform names of the block in sight.
    pub(super) fn aside(
        &mut self,
        live: Live,
        write: impl FnOnce(&mut Self) -> Result<(), EmitError>,
    ) -> Result<String, EmitError> {
        let out = std::mem::take(&mut self.out);
        let depth = std::mem::replace(&mut self.depth, 1);
        let before = std::mem::replace(&mut self.live, live);
        let result = write(self);
        self.live = before;
        self.depth = depth;
        let text = std::mem::replace(&mut self.out, out);
        result.map(|()| text)
    }

    /// The names of the block that a text mentions: declarations and arguments.
    pub(super) fn captured(&self, text: &str) -> (Vec<String>, Vec<String>) {
        let mut mentioned: Vec<usize> = tokens(text).filter_map(|name| self.places.get(name).copied()).collect();
        mentioned.sort();
        mentioned.dedup();
        mentioned
            .into_iter()
            .map(|place| self.names[place].clone())
            .map(|(name, declaration)| (declaration, name))
            .unzip()
    }

    /// A position of lanes: `i`, `i + 1`, ….
    pub(super) fn first_turn(&self, name: &str) -> Value {
        let bind = if name.contains(' ') { Bind::Sum } else { Bind::Atom };
        Value { ty: Ty::I64, form: Form::Affine(Expr::new(name.into(), bind)), range: None }
    }

    fn lanes(&mut self, lo: Id, hi: Id, body: &Body) -> Result<(), EmitError> {
        let name = self.file.function_name(&self.kernel.name, "lanes");
        let locals = super::local::used(self.kernel, body);
        let turns = |id| self.values[&id].range.filter(|(low, high)| low == high).map(|(low, _)| low);
        let short = turns(lo).zip(turns(hi)).is_some_and(|(lo, hi)| hi - lo <= 16);
        self.ways = if locals.is_empty() && !short { ways(body) } else { None };
        let turn = self.first_turn(if self.ways.is_some() { "i + u * W" } else { "i" });
        let text = self.aside(Live::Count, |w| {
            w.enter(body, &[turn]);
            w.stmts(body)
        })?;
        let text = super::local::declarations(self, &locals) + &text;
        let step = self.ways.take().map_or("W".into(), |ways| format!("{ways} * W"));
        let (declarations, arguments) = self.captured(&text);
        let parameters = [&declarations[..], &["i64 i".to_string(), "int n".to_string()]].concat().join(", ");
        self.file.items.push(format!("FN void {name}({parameters}) {{\n{text}}}\n"));
        let lo = self.scalar(lo)?;
        let hi = self.bound(hi)?;
        let i = self.fresh("j");
        let call = |n: &str| format!("{name}({});", [&arguments[..], &[i.clone(), n.to_string()]].concat().join(", "));
        self.line(&format!("i64 {i} = {};", lo.text));
        self.line(&format!("for (; {i} + {step} <= {}; {i} += {step}) {}", hi.right_of(Bind::Compare), call(&step)));
        let rest = format!("(int)({} - {i})", hi.under(Bind::Sum));
        self.line(&format!("if ({i} < {}) {}", hi.right_of(Bind::Compare), call(&rest)));
        Ok(())
    }

    /// The end of a loop, in a variable if it would be computed again each turn.
    pub(super) fn bound(&mut self, id: Id) -> Result<Expr, EmitError> {
        let end = self.scalar(id)?;
        if end.bind == Bind::Atom && !end.text.contains('(') {
            return Ok(end);
        }
        let name = self.fresh("end");
        let ty = scalar_type(self.values[&id].ty);
        self.line(&format!("{ty} {name} = {};", end.text));
        if self.live == Live::Block {
            self.declare(&name, format!("{ty} {name}"));
        }
        Ok(Expr::atom(name))
    }

    /// Binds names to values that are there already.
    pub(super) fn set_values(&mut self, names: &[Var], values: &[Value]) {
        for (name, value) in names.iter().zip(values) {
            self.values.insert(name.id, value.clone().within(self.range(name.id)));
        }
    }

    // ---- the kernel

    /// Do the blocks lie along one axis?
    fn is_row(&self) -> bool {
        self.kernel.grid[1..].iter().all(|size| *size == Size::Const(1))
    }

    /// The place of the block along each axis.
    fn block_names(&self) -> [String; 3] {
        let names = if self.is_row() { ["block", "0", "0"] } else { ["block_x", "block_y", "block_z"] };
        names.map(String::from)
    }

    /// The function of the kernel, with that beginning.
    pub(super) fn kernel(mut self, function: &str) -> Result<(), EmitError> {
        let kernel = self.kernel;
        let mut head = String::new();
        let mut add = |text: String| {
            let _ = writeln!(head, "    {text}");
        };
        let (mut globals, mut scratches) = (0, 0);
        for (k, memory) in kernel.memories.iter().enumerate() {
            let (ty, name) = (memory_type(memory.ty), self.memories[k].clone());
            let (pointer, from) = match memory.space {
                Space::Global(Access::Read) | Space::Constant => {
                    globals += 1;
                    (format!("const {ty} *restrict {name}"), format!("memories[{}]", globals - 1))
                }
                Space::Global(_) => {
                    globals += 1;
                    (format!("{ty} *restrict {name}"), format!("memories[{}]", globals - 1))
                }
                Space::Scratch => {
                    scratches += 1;
                    (format!("{ty} *restrict {name}"), format!("scratch[{}]", scratches - 1))
                }
                // An array of each lane, where it is used.
                Space::Local => continue,
                Space::Shared => return Err(EmitError::Threads(kernel.name.clone())),
            };
            add(format!("{pointer} = {from};"));
            self.declare(&name, pointer);
        }
        for (k, size) in kernel.sizes.iter().enumerate() {
            let name = super::size_name(&size.name);
            add(format!("i64 {name} = sizes[{k}];"));
            self.declare(&name, format!("i64 {name}"));
        }
        for (k, param) in kernel.body.params.iter().enumerate() {
            let (name, ty) = (format!("arg{k}"), param.ty.elem());
            let bits = format!("scalars[{k}]");
            let text = match ty {
                Ty::F32 => format!("lane_f32(bits_u32_f32(all_u32((u32){bits})), 0)"),
                Ty::F64 => format!("*(const f64 *)&{bits}"),
                Ty::F16 | Ty::BF16 => format!("lane_f32(load_{ty}((const {ty} *)&{bits}, 1), 0)"),
                ty => format!("({}){bits}", scalar_type(ty)),
            };
            add(format!("{} {name} = {text};", scalar_type(ty)));
            self.declare(&name, format!("{} {name}", scalar_type(ty)));
            self.values.insert(param.id, Value::uniform(ty, Expr::atom(name)));
        }
        add(format!("int past = (int)sizes[{}];", kernel.sizes.len()));
        self.declare("past", "int past".into());
        let places = self.block_names();
        for place in places.iter().filter(|place| *place != "0") {
            self.declare(place, format!("i64 {place}"));
        }
        if kernel.block != [1, 1, 1] {
            return Err(EmitError::Threads(kernel.name.clone()));
        }
        let mut sides = String::new();
        if !self.is_row() {
            let [x, y, _] = kernel.grid.each_ref().map(|size| self.size(size).text);
            add(format!("i64 grid_x = {x};"));
            add(format!("i64 grid_y = {y};"));
            let texts = ["block % grid_x", "block / grid_x % grid_y", "block / grid_x / grid_y"];
            for (place, text) in places.iter().zip(texts) {
                let _ = writeln!(sides, "        i64 {place} = {text};");
            }
        }
        self.depth = 2;
        self.stmts(&kernel.body)?;
        let sides = head_without_unused(&sides, &self.out);
        let unused = head_without_unused(&head, &(sides.clone() + &self.out));
        let mut text = format!("// {}\n{function}({PARAMETERS}) {{\n", kernel.name);
        text += "    (void)memories, (void)scratch, (void)scalars, (void)sizes;\n";
        text += &unused;
        text += "    for (i64 block = begin; block < end; block++) {\n";
        text += &sides;
        text += &self.out;
        text += "    }\n";
        if tokens(&self.out).any(|t| t == "past") {
            text += "    stream_end(past);\n";
        }
        text += "}\n";
        self.file.items.push(text);
        Ok(())
    }
}

/// Reads that positions in memory hang on, of memory that other cores may write meanwhile. A compiler that read it twice, once for
/// the check of a position and once for the access, would let a data race out of bounds.
fn pinned(kernel: &Kernel) -> HashSet<Id> {
    let shared = |memory: &MemId| kernel.memories[memory.0 as usize].space == Space::Global(Access::ReadWrite);
    fn look(body: &Body, shared: &dyn Fn(&MemId) -> bool, places: &mut Vec<Id>, reads: &mut Vec<Id>) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::Load { memory, index } => {
                    places.extend(index);
                    if shared(memory) {
                        reads.extend(stmt.binds.iter().map(|b| b.id));
                    }
                }
                Op::Store { index, .. } | Op::Atomic { index, .. } => places.extend(index),
                op => op.bodies().into_iter().for_each(|inner| look(inner, shared, places, reads)),
            }
        }
    }
    let (mut places, mut reads) = (vec![], vec![]);
    look(&kernel.body, &shared, &mut places, &mut reads);
    if reads.is_empty() {
        return HashSet::new();
    }
    let sources = kernel.body.sources(&places);
    reads.into_iter().filter(|id| sources.contains(id)).collect()
}

/// The value, opaque to the compiler.
fn pin(mut value: Value) -> Value {
    value.form = match value.form {
        Form::Uniform(e) => Form::Uniform(Expr::call(&format!("s_pin_{}", scalar_type(value.ty)), &[e.text])),
        Form::Vector(lane, e) => Form::Vector(lane, Expr::call(&format!("pin_{}", lane.scalar()), &[e.text])),
        form @ (Form::Affine(_) | Form::Clamped(..)) => form,
    };
    value
}

/// No axis, no size that the code mentions and no place of a block is larger where code is narrow.
const NARROW: u64 = 1 << 30;

/// What is known of every call that the code is for.
fn facts(kernel: &Kernel, wide: bool) -> Facts {
    if wide {
        return Facts::with_axes(kernel, i64::MAX as u64);
    }
    Facts::with_axes(kernel, NARROW).with_extents(NARROW).with_places(NARROW)
}

/// The `i64`s of which only the low word matters: memories of narrow code have fewer elements than that counts.
fn low(kernel: &Kernel) -> HashSet<Id> {
    let mut uses = ranges::low::Uses::default();
    uses.body(&kernel.body);
    let full = uses.full();
    uses.types.iter().filter(|(id, ty)| **ty == Ty::I64 && !full.contains(id)).map(|(id, _)| *id).collect()
}

/// How many vectors to work on at once, if more than one. A loop waits for its own results each turn; with several vectors
/// there is something to do meanwhile. Straight code has enough of that, and more vectors would only need more
/// registers. A loop with much state is a square of sums, made to fill the registers.
fn ways(body: &Body) -> Option<&'static str> {
    #[derive(Default)]
    struct Loops {
        counted: bool,
        open: bool,
        state: usize,
        wide: bool,
    }
    fn find(body: &Body, found: &mut Loops) {
        for stmt in &body.stmts {
            match &stmt.op {
                Op::While { .. } => found.open = true,
                Op::For { init, .. } => {
                    found.counted = true;
                    found.state = found.state.max(init.len());
                    found.wide |= stmt.binds.iter().any(|b| b.ty.elem().bits() == 64);
                }
                _ => {}
            }
            stmt.op.bodies().into_iter().for_each(|b| find(b, found));
        }
    }
    let mut loops = Loops::default();
    find(body, &mut loops);
    match (loops, count_all(body)) {
        (Loops { counted: false, open: false, .. }, _) => None,
        (Loops { open: false, state: 6.., wide: false, .. }, 0..120) => Some("ROOM"),
        (Loops { open: false, state: 6.., wide: true, .. }, 0..120) => Some("ROOM / 2"),
        (Loops { open: false, .. }, 0..24) => Some("4"),
        (_, 0..80) => Some("2"),
        _ => None,
    }
}

fn count_all(body: &Body) -> usize {
    body.stmts.iter().map(|s| 1 + s.op.bodies().into_iter().map(count_all).sum::<usize>()).sum()
}

/// Drops declarations that nothing mentions.
fn head_without_unused(head: &str, body: &str) -> String {
    let mut kept: Vec<&str> = vec![];
    let mut mentioned: HashSet<&str> = tokens(body).collect();
    for line in head.lines().rev() {
        let name = line.split(" = ").next().and_then(|left| left.rsplit([' ', '*']).next()).unwrap_or_default();
        if mentioned.contains(name) {
            mentioned.extend(tokens(line));
            kept.push(line);
        }
    }
    kept.iter().rev().map(|l| format!("{l}\n")).collect()
}

/// The identifiers and numbers of a C text.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|t| !t.is_empty())
}

fn is_literal(text: &str) -> bool {
    let digits = text.trim_start_matches('-');
    digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.contains([' ', '('])
        || digits.starts_with("__builtin_")
        || text.starts_with("(-") && text.ends_with(" - 1)")
}

fn element(address: &str) -> String {
    match address.split_once(" + ") {
        Some((name, index)) => format!("{name}[{index}]"),
        None => format!("{address}[0]"),
    }
}

fn count_uses(body: &Body, uses: &mut HashMap<Id, Uses>) {
    let mut own: std::collections::HashSet<Id> = body.params.iter().map(|p| p.id).collect();
    own.extend(body.stmts.iter().flat_map(|s| &s.binds).map(|b| b.id));
    let mut hit = |id: Id| {
        let entry = uses.entry(id).or_default();
        entry.count += 1;
        entry.nested |= !own.contains(&id);
    };
    for stmt in &body.stmts {
        stmt.op.each_operand(&mut hit);
    }
    body.results.iter().copied().for_each(&mut hit);
    for stmt in &body.stmts {
        stmt.op.bodies().iter().for_each(|b| count_uses(b, uses));
    }
}
