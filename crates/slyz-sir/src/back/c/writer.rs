//! Writes bodies of kernels as C statements.
//!
//! Outside of lanes code is plain scalar C. Inside, a value is a vector unless all lanes agree on it. A body of
//! lanes becomes an inlined function of its first turn `i` and the number `n` of live lanes; called with `n == W` it
//! compiles to full vectors, and once more for the rest of the loop with as many lanes as are left.

use super::expr;
use super::lines::{Code, Line, line};
use super::value::{Lane, LaneForm, Value, memory_type, scalar_type};
use super::{EmitError, File};
use crate::back::tree::{Binding, Infix, Prefix, Tree};
use crate::code::{AtomicOp, Body, Id, MemId, Op, Place, Scope, Stmt, Type, Var};
use crate::kernel::{Access, Kernel, Space};
use crate::ranges::{self, Facts, Ranges};
use crate::size::Size;
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// The parameters of the function of a kernel.
pub(super) const PARAMETERS: &str =
    "void *const *memories, void *const *scratch, const u64 *scalars, const i64 *sizes, i64 begin, i64 end";

/// The number of the vector, where there are several.
const TURN: &str = "u";

/// Whether results should go past the caches.
const PAST: &str = "past";

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

/// Where elements of a memory begin.
pub(super) struct Address {
    pub(super) memory: Tree,
    pub(super) offset: Option<Tree>,
}

impl Address {
    pub(super) fn pointer(&self) -> Tree {
        self.offset.iter().fold(self.memory.clone(), Tree::sum_from)
    }

    /// The element that lies there.
    pub(super) fn element(&self) -> Tree {
        Tree::index(self.memory.clone(), self.offset.clone().unwrap_or(Tree::int(0)))
    }
}

/// A variable at the head of a function, which is dropped where nothing mentions it.
struct Declared {
    name: String,
    line: Line,
}

/// Writes one C function at a time.
pub(super) struct CWriter<'a> {
    pub(super) file: &'a mut File,
    pub(super) kernel: &'a Kernel,
    pub(super) wide: bool,
    pub(super) out: Code,
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
    pub(super) ways: Option<Tree>,
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

impl<'a> CWriter<'a> {
    pub(super) fn new(file: &'a mut File, kernel: &'a Kernel, wide: bool) -> Self {
        let mut uses = HashMap::new();
        count_uses(&kernel.body, &mut uses);
        kernel.functions.iter().for_each(|f| count_uses(&f.body, &mut uses));
        let memories = file.memory_names(kernel);
        CWriter {
            file,
            kernel,
            wide,
            out: Code::default(),
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

    pub(super) fn line(&mut self, line: impl Into<Line>) {
        self.out.add(self.depth, line);
    }

    pub(super) fn block(
        &mut self,
        head: impl Into<Line>,
        write: impl FnOnce(&mut Self) -> Result<(), EmitError>,
    ) -> Result<(), EmitError> {
        self.line(line![head.into(), " {"]);
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

    /// A vector variable, where one vector is meant.
    pub(super) fn each(&self, name: &str) -> Tree {
        let variable = Tree::name(name);
        if self.ways.is_some() { Tree::index(variable, Tree::name(TURN)) } else { variable }
    }

    /// A statement on one vector, for all of them.
    pub(super) fn act(&mut self, statement: impl Into<Line>) {
        match &self.ways {
            Some(ways) => self.line(line!["WAYS(u, ", ways, ") ", statement.into()]),
            None => self.line(statement),
        }
    }

    /// Declares a vector variable.
    pub(super) fn set(&mut self, ty: &str, name: &str, value: impl Into<Line>) {
        if let Some(ways) = &self.ways {
            self.line(line![ty, " ", name, "[", ways, "];"]);
            self.act(line![self.each(name), " = ", value.into(), ";"]);
        } else {
            self.line(line![ty, " ", name, " = ", value.into(), ";"]);
        }
    }

    /// Is a lane of any vector on?
    pub(super) fn any(&self, mask: &str) -> Tree {
        match &self.ways {
            Some(ways) => Tree::call("any_of", [Tree::name(mask), ways.clone()]),
            None => Tree::call("any", [Tree::name(mask)]),
        }
    }

    /// The number of live lanes.
    fn count(&self) -> Tree {
        let live = Tree::name("n");
        if self.ways.is_some() { Tree::call("lanes_left", [live, Tree::name(TURN)]) } else { live }
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
        let tree = match &value.form {
            LaneForm::Uniform(e) | LaneForm::Affine(e) | LaneForm::Vector(_, e) => e.clone(),
            LaneForm::Clamped(..) => return value,
        };
        let literal = matches!(value.form, LaneForm::Uniform(_)) && tree.value().is_some();
        if literal || is_named(&tree) || (once && tree.width() <= 80) {
            if let LaneForm::Vector(lane, _) = value.form {
                self.file.lanes_64 |= lane.is_wide();
            }
            return value;
        }
        let name = self.fresh("v");
        let ty = match &value.form {
            LaneForm::Uniform(_) => scalar_type(value.ty).to_string(),
            LaneForm::Affine(_) | LaneForm::Clamped(..) => "i64".to_string(),
            LaneForm::Vector(lane, _) => self.vector_type(*lane),
        };
        if matches!(value.form, LaneForm::Uniform(_)) {
            self.line(line![ty, " ", name, " = ", tree, ";"]);
        } else {
            self.set(&ty, &name, tree);
        }
        if !matches!(value.form, LaneForm::Vector(..)) && self.live == Live::Block {
            self.declare(&name, format!("{ty} {name}"));
        }
        value.form = match value.form {
            LaneForm::Uniform(_) => LaneForm::Uniform(Tree::name(name)),
            LaneForm::Affine(_) | LaneForm::Clamped(..) => LaneForm::Affine(self.each(&name)),
            LaneForm::Vector(lane, _) => LaneForm::Vector(lane, self.each(&name)),
        };
        value
    }

    pub(super) fn get(&self, id: Id) -> Value {
        self.values[&id].clone()
    }

    pub(super) fn all(&self, ids: &[Id]) -> Vec<Value> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    /// A uniform value.
    pub(super) fn scalar(&self, id: Id) -> Result<Tree, EmitError> {
        match &self.values[&id].form {
            LaneForm::Uniform(e) => Ok(e.clone()),
            LaneForm::Affine(_) | LaneForm::Clamped(..) | LaneForm::Vector(..) => Err(EmitError::Varying(id)),
        }
    }

    // ---- sizes and memories

    pub(super) fn size(&mut self, size: &Size) -> Tree {
        match size {
            Size::Const(n) => expr::count(*n),
            Size::Var(v) => Tree::name(super::size_name(&self.kernel.size_name(*v))),
            Size::Add(a, b) => Tree::infix(Infix::Add, self.size(a), self.size(b)),
            Size::Mul(a, b) => Tree::infix(Infix::Mul, self.size(a), self.size(b)),
            Size::Min(a, b) => Tree::call("s_min_i64", [self.size(a), self.size(b)]),
            Size::CeilDiv(a, n) => {
                let up = Tree::infix(Infix::Add, self.size(a), expr::count(n - 1));
                Tree::infix(Infix::Div, up, expr::count(*n))
            }
            Size::Tri(a) => {
                let n = self.size(a);
                let next = Tree::infix(Infix::Add, n.clone(), Tree::int(1));
                Tree::infix(Infix::Div, Tree::infix(Infix::Mul, n, next), Tree::int(2))
            }
        }
    }

    /// What one step along each axis of a memory moves, in elements.
    pub(super) fn strides(&mut self, memory: MemId) -> Vec<Tree> {
        let shape = &self.kernel.memories[memory.0 as usize].shape;
        let strides: Vec<Size> = (0..shape.len()).map(|k| Size::product(&shape[k + 1..])).collect();
        strides.iter().map(|s| self.size(s)).collect()
    }

    pub(super) fn mask(&self) -> Tree {
        match &self.live {
            Live::Count => Tree::call("first_lanes", [self.count()]),
            Live::Mask(name) => self.each(name),
            Live::Block | Live::All => Tree::call("first_lanes", [Tree::name("W")]),
        }
    }

    /// The C name of a memory.
    pub(super) fn memory_name(&self, memory: MemId) -> &str {
        &self.memories[memory.0 as usize]
    }

    pub(super) fn address(&mut self, memory: MemId, index: &[Id]) -> (Address, Option<Value>) {
        let strides = self.strides(memory);
        let (start, moving) = expr::linear(&self.all(index), &strides, self.wide);
        if self.kernel.memories[memory.0 as usize].space == Space::Local {
            return super::local::address(self, memory, start, moving);
        }
        let offset = match (start, &moving) {
            (Some(start), Some(Value { form: LaneForm::Affine(base), .. })) => {
                Some(Tree::infix(Infix::Add, start, base.clone()))
            }
            (None, Some(Value { form: LaneForm::Affine(base), .. })) => Some(base.clone()),
            (start, _) => start,
        };
        (Address { memory: Tree::name(self.memory_name(memory)), offset }, moving)
    }

    /// The offsets of lanes that are not neighbours, and what functions that take them end with.
    fn offsets(&mut self, form: LaneForm) -> (Tree, &'static str) {
        let at = if self.wide { Lane::I64 } else { Lane::I32 };
        self.file.lanes_64 |= at.is_wide();
        let offset = expr::spread(&Value { ty: Ty::I64, form, range: None }, at);
        (offset, if at.is_wide() { "_wide" } else { "" })
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
                let tree = match ty {
                    Ty::F16 | Ty::BF16 => {
                        let one = Tree::call(format!("load_{ty}"), [address.pointer(), Tree::int(1)]);
                        expr::through_lanes(Lane::F32, one)
                    }
                    Ty::Bool => Tree::infix(Infix::Ne, address.element(), Tree::int(0)),
                    _ => address.element(),
                };
                Value::uniform(ty, tree)
            }
            Some(LaneForm::Affine(_)) => {
                let pointer = address.pointer();
                let tree = match &self.live {
                    _ if self.is_local(memory) => Tree::call(format!("load_{ty}"), [pointer, Tree::name("W")]),
                    Live::Mask(_) => Tree::call(format!("load_masked_{ty}"), [pointer, self.mask()]),
                    _ => Tree::call(format!("load_{ty}"), [pointer, self.count()]),
                };
                Value::vector(ty, lane, tree)
            }
            Some(LaneForm::Clamped(at, low, high)) if self.live == Live::Count && !self.wide => {
                let args = [address.pointer(), at, low, high, self.count()];
                Value::vector(ty, lane, Tree::call(format!("load_clamped_{ty}"), args))
            }
            Some(form @ (LaneForm::Clamped(..) | LaneForm::Vector(..))) => {
                let (offset, wide) = self.offsets(form);
                let args = [address.pointer(), offset, self.mask()];
                Value::vector(ty, lane, Tree::call(format!("gather_{ty}{wide}"), args))
            }
            Some(LaneForm::Uniform(_)) => unreachable!("a uniform index does not move"),
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
        let pointer = address.pointer();
        let spread = |w: &mut Self| {
            let lane = Lane::of(ty);
            w.file.lanes_64 |= lane.is_wide();
            expr::spread(&value, lane)
        };
        let stored = match moving.map(|m| m.form) {
            // One lane writes, and it need not be the first.
            None if matches!(self.live, Live::Mask(_)) && !value.is_uniform() => {
                let nowhere = Tree::call("all_i32", [Tree::int(0)]);
                Tree::call(format!("scatter_{ty}"), [pointer, nowhere, spread(self), self.mask()])
            }
            None => match (ty, &value.form) {
                (_, LaneForm::Uniform(e)) if !matches!(ty, Ty::F16 | Ty::BF16) => {
                    return self.act_or_line(line![address.element(), " = ", e, ";"]);
                }
                // All lanes meet in one element; the verifier's races aside, the first lane stands for them.
                (_, LaneForm::Uniform(_) | LaneForm::Affine(_) | LaneForm::Clamped(..) | LaneForm::Vector(..)) => {
                    Tree::call(format!("store_{ty}"), [pointer, spread(self), self.first_only()])
                }
            },
            Some(LaneForm::Affine(_)) => {
                let value = spread(self);
                let written = self.kernel.memories[memory.0 as usize].space == Space::Global(Access::Write);
                match &self.live {
                    _ if self.is_local(memory) => super::local::store(self, ty, pointer, value),
                    Live::Mask(_) => Tree::call(format!("store_masked_{ty}"), [pointer, value, self.mask()]),
                    _ if written && ty.bytes() >= 4 => {
                        Tree::call(format!("stream_{ty}"), [pointer, value, self.count(), Tree::name(PAST)])
                    }
                    _ => Tree::call(format!("store_{ty}"), [pointer, value, self.count()]),
                }
            }
            Some(form @ (LaneForm::Clamped(..) | LaneForm::Vector(..))) => {
                let (offset, wide) = self.offsets(form);
                Tree::call(format!("scatter_{ty}{wide}"), [pointer, offset, spread(self), self.mask()])
            }
            Some(LaneForm::Uniform(_)) => unreachable!("a uniform index does not move"),
        };
        self.act_or_line(line![stored, ";"]);
    }

    /// How many elements are stored where only the first lane stores: of several vectors only the first is sure to have a lane
    /// that is on.
    fn first_only(&self) -> Tree {
        match self.ways.is_some() && self.live != Live::Block {
            true => Tree::infix(Infix::Eq, Tree::name(TURN), Tree::int(0)),
            false => Tree::int(1),
        }
    }

    /// A statement of the block, or of each vector.
    fn act_or_line(&mut self, statement: Line) {
        if self.live == Live::Block { self.line(statement) } else { self.act(statement) }
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
                let place = self.block_names()[usize::from(*d).min(2)].clone();
                self.bind(stmt.binds[0].id, Value::uniform(Ty::I64, place), false)
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
        let mut passed: Vec<Tree> =
            args.iter().zip(&function.body.params).map(|(&a, p)| expr::spread(&self.get(a), lane(&p.ty))).collect();
        if super::function::needs_mask(&function.body) {
            passed.push(self.mask());
        }
        if let [bind] = &stmt.binds[..] {
            let value = self.called(bind.ty.elem(), Tree::call(name, passed));
            self.bind(bind.id, value, false);
            return Ok(());
        }
        let mut names = vec![];
        for bind in &stmt.binds {
            let result = self.fresh("r");
            let ty = self.vector_type(lane(&bind.ty));
            let many = self.ways.as_ref().map_or(Line::default(), |ways| line!["[", ways, "]"]);
            self.line(line![ty, " ", result, many, ";"]);
            let result = self.each(&result);
            passed.push(Tree::prefix(Prefix::Address, result.clone()));
            names.push(result);
        }
        self.act_or_line(line![Tree::call(name, passed), ";"]);
        for (bind, result) in stmt.binds.iter().zip(names) {
            let value = self.called(bind.ty.elem(), result);
            self.bind(bind.id, value, false);
        }
        Ok(())
    }

    /// What a function of vectors gave, for whoever called it.
    fn called(&mut self, ty: Ty, result: Tree) -> Value {
        let lane = Lane::of(ty);
        self.file.lanes_64 |= lane.is_wide();
        if self.live != Live::Block {
            return Value::vector(ty, lane, result);
        }
        Value::uniform(ty, expr::through_lanes(lane, result))
    }

    /// Writes code of lanes into a text of its own, with only the uniform names of the block in sight.
    pub(super) fn aside(
        &mut self,
        live: Live,
        write: impl FnOnce(&mut Self) -> Result<(), EmitError>,
    ) -> Result<Code, EmitError> {
        let out = std::mem::take(&mut self.out);
        let depth = std::mem::replace(&mut self.depth, 1);
        let before = std::mem::replace(&mut self.live, live);
        let result = write(self);
        self.live = before;
        self.depth = depth;
        let code = std::mem::replace(&mut self.out, out);
        result.map(|()| code)
    }

    /// The names of the block that code mentions: declarations and arguments.
    pub(super) fn captured(&self, code: &Code) -> (Vec<String>, Vec<Tree>) {
        let mut mentioned: Vec<usize> = code.names().filter_map(|name| self.places.get(name).copied()).collect();
        mentioned.sort();
        mentioned.dedup();
        mentioned
            .into_iter()
            .map(|place| self.names[place].clone())
            .map(|(name, declaration)| (declaration, Tree::name(name)))
            .unzip()
    }

    /// A position of lanes: `i`, `i + 1`, ….
    pub(super) fn first_turn(&self, first: Tree) -> Value {
        Value { ty: Ty::I64, form: LaneForm::Affine(first), range: None }
    }

    fn lanes(&mut self, lo: Id, hi: Id, body: &Body) -> Result<(), EmitError> {
        let name = self.file.function_name(&self.kernel.name, "lanes");
        let locals = super::local::used(self.kernel, body);
        let turns = |id| self.values[&id].range.filter(|(low, high)| low == high).map(|(low, _)| low);
        let count = turns(lo).zip(turns(hi)).map(|(lo, hi)| hi - lo);
        let short = count.is_some_and(|count| count <= 16);
        let many = count.is_some_and(|count| count >= 128);
        self.ways = match locals.is_empty() && !short {
            true if many && streams(self.kernel, body) => Some(Tree::int(8)),
            true => ways(body),
            false => None,
        };
        let i = Tree::name("i");
        let width = Tree::name("W");
        let further = Tree::infix(Infix::Mul, Tree::name(TURN), width.clone());
        let turn = self.first_turn(if self.ways.is_some() { Tree::infix(Infix::Add, i, further) } else { i });
        let inside = self.aside(Live::Count, |w| {
            w.enter(body, &[turn]);
            w.stmts(body)
        })?;
        let mut code = super::local::declarations(self, &locals);
        code.append(&inside);
        let step = match self.ways.take() {
            Some(ways) => Tree::infix(Infix::Mul, ways, width),
            None => width,
        };
        let (declarations, arguments) = self.captured(&code);
        let parameters = [&declarations[..], &["i64 i".to_string(), "int n".to_string()]].concat().join(", ");
        self.file.items.push(format!("FN void {name}({parameters}) {{\n{code}}}\n"));
        let lo = self.scalar(lo)?;
        let hi = self.bound(hi)?;
        let at = self.fresh("j");
        let i = Tree::name(&at);
        let call = |n: Tree| Tree::call(&name, arguments.iter().cloned().chain([i.clone(), n]));
        self.line(line!["i64 ", at, " = ", lo, ";"]);
        let whole = Tree::infix(Infix::Le, Tree::infix(Infix::Add, i.clone(), step.clone()), hi.clone());
        self.line(line!["for (; ", whole, "; ", at, " += ", step, ") ", call(step.clone()), ";"]);
        let rest = Tree::cast("int", Tree::infix(Infix::Sub, hi.clone(), i.clone()));
        let left = Tree::infix(Infix::Lt, i.clone(), hi);
        self.line(line!["if (", left, ") ", call(rest), ";"]);
        Ok(())
    }

    /// The end of a loop, in a variable if it would be computed again each turn.
    pub(super) fn bound(&mut self, id: Id) -> Result<Tree, EmitError> {
        let end = self.scalar(id)?;
        if end.binding() == Binding::Atom && end.is_flat() {
            return Ok(end);
        }
        let name = self.fresh("end");
        let ty = scalar_type(self.values[&id].ty);
        self.line(line![ty, " ", name, " = ", end, ";"]);
        if self.live == Live::Block {
            self.declare(&name, format!("{ty} {name}"));
        }
        Ok(Tree::name(name))
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
    fn block_names(&self) -> [Tree; 3] {
        if self.is_row() {
            [Tree::name("block"), Tree::int(0), Tree::int(0)]
        } else {
            ["block_x", "block_y", "block_z"].map(Tree::name)
        }
    }

    /// The pointers to the memories of the kernel.
    fn pointers(&mut self, head: &mut Vec<Declared>) -> Result<(), EmitError> {
        let kernel = self.kernel;
        let (mut globals, mut scratches) = (0, 0);
        for (k, memory) in kernel.memories.iter().enumerate() {
            let ty = memory_type(memory.ty);
            let name = self.memories[k].clone();
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
            self.declare_at_head(head, name, pointer, from);
        }
        Ok(())
    }

    /// A variable at the head of the function: the line and the name, for code of lanes.
    fn declare_at_head(&mut self, head: &mut Vec<Declared>, name: String, declaration: String, value: impl Into<Line>) {
        self.declare(&name, declaration.clone());
        head.push(Declared { name, line: line![declaration, " = ", value.into(), ";"] });
    }

    /// The sizes and scalars of the kernel.
    fn parameters(&mut self, head: &mut Vec<Declared>) {
        let kernel = self.kernel;
        for (k, size) in kernel.sizes.iter().enumerate() {
            let name = super::size_name(&size.name);
            let declaration = format!("i64 {name}");
            self.declare_at_head(head, name, declaration, format!("sizes[{k}]"));
        }
        for (k, param) in kernel.body.params.iter().enumerate() {
            let name = format!("arg{k}");
            let ty = param.ty.elem();
            let bits = format!("scalars[{k}]");
            let value = match ty {
                Ty::F32 => format!("lane_f32(bits_u32_f32(all_u32((u32){bits})), 0)"),
                Ty::F64 => format!("*(const f64 *)&{bits}"),
                Ty::F16 | Ty::BF16 => format!("lane_f32(load_{ty}((const {ty} *)&{bits}, 1), 0)"),
                ty => format!("({}){bits}", scalar_type(ty)),
            };
            self.values.insert(param.id, Value::uniform(ty, Tree::name(&name)));
            let declaration = format!("{} {name}", scalar_type(ty));
            self.declare_at_head(head, name, declaration, value);
        }
        self.declare_at_head(head, PAST.into(), format!("int {PAST}"), format!("(int)sizes[{}]", kernel.sizes.len()));
    }

    /// The function of the kernel, with that beginning.
    pub(super) fn kernel(mut self, function: &str) -> Result<(), EmitError> {
        let kernel = self.kernel;
        let mut head = vec![];
        self.pointers(&mut head)?;
        self.parameters(&mut head);
        let places = self.block_names();
        for place in places.iter().filter_map(Tree::as_name) {
            self.declare(place, format!("i64 {place}"));
        }
        if kernel.block != [1, 1, 1] {
            return Err(EmitError::Threads(kernel.name.clone()));
        }
        let mut sides = vec![];
        if !self.is_row() {
            let [x, y, _] = kernel.grid.each_ref().map(|size| self.size(size));
            head.push(Declared { name: "grid_x".into(), line: line!["i64 grid_x = ", x, ";"] });
            head.push(Declared { name: "grid_y".into(), line: line!["i64 grid_y = ", y, ";"] });
            let [block, x, y] = ["block", "grid_x", "grid_y"].map(Tree::name);
            let rows = Tree::infix(Infix::Div, block.clone(), x.clone());
            let along = [
                Tree::infix(Infix::Rem, block, x),
                Tree::infix(Infix::Rem, rows.clone(), y.clone()),
                Tree::infix(Infix::Div, rows, y),
            ];
            for (place, value) in places.iter().filter_map(Tree::as_name).zip(along) {
                sides.push(Declared { name: place.into(), line: line!["i64 ", place, " = ", value, ";"] });
            }
        }
        self.depth = 2;
        self.stmts(&kernel.body)?;
        let mut mentioned: HashSet<String> = self.out.names().map(String::from).collect();
        let sides = mentioned_lines(2, sides, &mut mentioned);
        let head = mentioned_lines(1, head, &mut mentioned);
        let mut text = format!("// {}\n{function}({PARAMETERS}) {{\n", kernel.name);
        text += "    (void)memories, (void)scratch, (void)scalars, (void)sizes;\n";
        text += &format!("{head}    for (i64 block = begin; block < end; block++) {{\n{sides}{}    }}\n", self.out);
        if self.out.mentions(PAST) {
            text += "    stream_end(past);\n";
        }
        text += "}\n";
        self.file.items.push(text);
        Ok(())
    }
}

/// The variables that something mentions, or the line of another that is mentioned.
fn mentioned_lines(depth: usize, declared: Vec<Declared>, mentioned: &mut HashSet<String>) -> Code {
    let mut kept = vec![];
    for Declared { name, line } in declared.into_iter().rev() {
        if mentioned.contains(&name) {
            line.each_name(&mut |name| _ = mentioned.insert(name.to_string()));
            kept.push(line);
        }
    }
    let mut code = Code::default();
    code.all(depth, kept.into_iter().rev());
    code
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
    let mut places = vec![];
    let mut reads = vec![];
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
        LaneForm::Uniform(e) => LaneForm::Uniform(Tree::call(format!("s_pin_{}", scalar_type(value.ty)), [e])),
        LaneForm::Vector(lane, e) => LaneForm::Vector(lane, Tree::call(format!("pin_{}", lane.scalar()), [e])),
        form @ (LaneForm::Affine(_) | LaneForm::Clamped(..)) => form,
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
fn ways(body: &Body) -> Option<Tree> {
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
        (Loops { open: false, state: 6.., wide: false, .. }, 0..120) => Some(Tree::name("ROOM")),
        (Loops { open: false, state: 6.., wide: true, .. }, 0..120) => {
            Some(Tree::infix(Infix::Div, Tree::name("ROOM"), Tree::int(2)))
        }
        (Loops { open: false, .. }, 0..24) => Some(Tree::int(4)),
        (_, 0..80) => Some(Tree::int(2)),
        _ => None,
    }
}

/// Does a short open loop go through global memory, as loops over a grid do? Threads lie side by side there and turns far apart, so
/// that a turn should read as much as it can before it goes on: with one or two vectors it is a line here and there.
fn streams(kernel: &Kernel, body: &Body) -> bool {
    fn reads(kernel: &Kernel, body: &Body) -> bool {
        body.stmts.iter().any(|stmt| match &stmt.op {
            Op::Load { memory, .. } => matches!(kernel.memories[memory.0 as usize].space, Space::Global(_)),
            op => op.bodies().into_iter().any(|inner| reads(kernel, inner)),
        })
    }
    fn open(kernel: &Kernel, body: &Body) -> bool {
        body.stmts.iter().any(|stmt| match &stmt.op {
            op @ Op::While { .. } => op.bodies().into_iter().any(|inner| reads(kernel, inner)),
            op => op.bodies().into_iter().any(|inner| open(kernel, inner)),
        })
    }
    count_all(body) < 80 && open(kernel, body)
}

fn count_all(body: &Body) -> usize {
    body.stmts.iter().map(|s| 1 + s.op.bodies().into_iter().map(count_all).sum::<usize>()).sum()
}

/// Is it a variable, one vector of several, or a literal without a sign?
fn is_named(tree: &Tree) -> bool {
    let one_of_several = |(of, at): (&Tree, &Tree)| of.as_name().is_some() && at.as_name() == Some(TURN);
    match tree.value() {
        Some(_) => tree.binding() == Binding::Atom,
        None => tree.as_name().is_some() || tree.as_element().is_some_and(one_of_several),
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
