//! Writes bodies of kernels as C statements.
//!
//! Outside of lanes code is plain scalar C. Inside, a value is a vector unless all lanes agree on it. A body of
//! lanes becomes an inlined function of its first turn `i` and the number `n` of live lanes; called with `n == W` it
//! compiles to full vectors, and once more for the rest of the loop with as many lanes as are left.

use super::expr;
use super::lines::{Code, Line, line};
use super::value::{Lane, LaneForm, Value, scalar_type};
use super::{EmitError, File};
use crate::back::tree::{Binding, Tree};
use crate::code::{AtomicOp, Body, Id, Op, Place, Scope, Stmt, Var};
use crate::kernel::Kernel;
use crate::ranges::{self, Facts, Ranges};
use crate::types::Ty;
use std::collections::{HashMap, HashSet};

/// The number of the vector, where there are several.
pub(super) const TURN: &str = "u";

/// Whether results should go past the caches.
pub(super) const PAST: &str = "past";

/// Which lanes take part.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Live {
    /// No lanes: the code of the block.
    Block,
    /// The first `n`.
    Count,
    /// Those of a mask variable.
    Mask(String),
    /// All, whoever looks; reading memory is not possible. For functions without control flow, and for those that may run on
    /// any numbers.
    All,
}

/// The uses of a name, to decide whether it needs a variable.
#[derive(Clone, Copy, Default)]
pub(super) struct Uses {
    count: usize,
    nested: bool,
}

/// Writes one C function at a time.
pub(super) struct CWriter<'a> {
    pub(super) file: &'a mut File,
    pub(super) kernel: &'a Kernel,
    pub(super) wide: bool,
    pub(super) out: Code,
    pub(super) depth: usize,
    pub(super) live: Live,
    pub(super) values: HashMap<Id, Value>,
    ranges: Ranges,
    pub(super) uses: HashMap<Id, Uses>,
    /// Uniform names of the C function around, with their C declarations, in order.
    names: Vec<(String, String)>,
    /// The first place of each of them there.
    places: HashMap<String, usize>,
    counter: usize,
    /// Positions that are moved to a border only where the turn is not in the middle of a row.
    pub(super) inside: HashSet<Id>,
    /// How many vectors the code of lanes works on at once, if not one: each value is an array of them indexed by `u`.
    pub(super) ways: Option<Tree>,
    /// Set while the lanes of a tile are written.
    pub(super) tile: Option<super::tile::Tile>,
    /// The C names of the memories.
    pub(super) memories: Vec<String>,
    /// Positions of which only the low word matters.
    low: HashSet<Id>,
    /// Reads that must be made once.
    pub(super) pinned: HashSet<Id>,
    /// Reads that are looked at only where a condition is so.
    pub(super) wanted: HashMap<Id, (Id, bool)>,
    /// Do functions with control flow know which lanes are live? Those of mathematics do not ask.
    pub(super) masked: bool,
    /// Multiplications that are added, and may round twice where the machine rounds once at a price.
    pub(super) loose: HashSet<Id>,
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
            inside: HashSet::new(),
            ways: None,
            tile: None,
            memories,
            low: if wide { HashSet::new() } else { low(kernel) },
            pinned: super::memory::pinned(kernel),
            wanted: super::wanted::wanted(kernel),
            masked: true,
            loose: HashSet::new(),
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

    /// A name for a value: that of the source, if it has one, and a number, which keeps it apart from others.
    pub(super) fn fresh_for(&mut self, id: Id, stem: &str) -> String {
        let stem = self.kernel.names.letters(id).map_or(stem.to_string(), |name| format!("{name}_"));
        self.fresh(&stem)
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
    pub(super) fn count(&self) -> Tree {
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
        let value = self.kept(id, value.within(self.range(id)), uses, load);
        self.values.insert(id, value);
    }

    /// What an `i64` can be, where that is less than anything.
    pub(super) fn range(&self, id: Id) -> Option<(i128, i128)> {
        // Numbers of mathematics are not positions, and stay in lanes as wide as the floats beside them.
        self.ranges.known(id).filter(|_| self.masked).map(|range| (range.lo, range.hi))
    }

    fn kept(&mut self, id: Id, mut value: Value, uses: Uses, load: bool) -> Value {
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
        let name = self.fresh_for(id, "v");
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

    pub(super) fn mask(&self) -> Tree {
        match &self.live {
            Live::Count => Tree::call("first_lanes", [self.count()]),
            Live::Mask(name) => self.each(name),
            Live::Block | Live::All => Tree::call("first_lanes", [Tree::name("W")]),
        }
    }

    /// A statement of the block, or of each vector.
    pub(super) fn act_or_line(&mut self, statement: Line) {
        if self.live == Live::Block { self.line(statement) } else { self.act(statement) }
    }

    // ---- statements

    pub(super) fn stmts(&mut self, body: &Body) -> Result<(), EmitError> {
        body.stmts.iter().try_for_each(|s| self.stmt(s))
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Result<(), EmitError> {
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
                let ty = stmt.binds[0].ty.elem();
                let value = match self.loose.contains(&stmt.binds[0].id) {
                    true => expr::multiply_and_add(&refs, ty),
                    false => expr::apply(*operator, &refs, ty, range, low),
                };
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
                super::atomic::write(self, &stmt.binds[0], *op, *memory, index, args)?
            }
            Op::Atomic { op: op @ (AtomicOp::CompareExchange | AtomicOp::Claim), memory, index, args }
                if self.kernel.memories[memory.0 as usize].ty == Ty::I32 =>
            {
                super::atomic::write_one(self, &stmt.binds[0], *op, *memory, index, args)?
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
            Op::Prefixes { .. } if self.live == Live::Block => super::prefixes::write(self, stmt)?,
            Op::Load { .. }
            | Op::LoadFragment { .. }
            | Op::Store { .. }
            | Op::Place(..)
            | Op::Lanes { .. }
            | Op::Prefixes { .. }
            | Op::Atomic { .. }
            | Op::Check { .. }
            | Op::Barrier(_)
            | Op::Subgroup(..)
            | Op::Mma(..) => return Err(EmitError::Threads(self.kernel.name.clone())),
            Op::At { .. }
            | Op::Tabulate { .. }
            | Op::Fold { .. }
            | Op::Scan { .. }
            | Op::Scatter { .. }
            | Op::Filter { .. }
            | Op::Sort { .. }
            | Op::Raw(_) => return Err(EmitError::Level(self.kernel.name.clone())),
        }
        Ok(())
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

    /// Binds names to values that are there already.
    pub(super) fn set_values(&mut self, names: &[Var], values: &[Value]) {
        for (name, value) in names.iter().zip(values) {
            self.values.insert(name.id, value.clone().within(self.range(name.id)));
        }
    }
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
