//! Folds over lanes, in the canonical order.
//!
//! Element `i` of a chunk goes to accumulator `i mod 64`, or, where the order of operands counts, accumulator `j` takes
//! the `j`-th run of consecutive elements. A turn gives each accumulator one element. Turns are joined as a tree while they
//! come: `level[k]` has the fold of 2^k turns wherever bit `k` of the number of turns is set, as in a binary counter. At the
//! end the levels are joined, a tree joins the accumulators, and the results of chunks of 16,384 elements are joined by the
//! same rule. So the result depends neither on the width of vectors nor on the number of threads, and the error of a long
//! sum stays small. Places without an element hold the neutral one.

use super::lines::{Code, Line, line};
use super::value::{Lane, Value};
use super::writer::{CWriter, Live};
use super::{EmitError, expr};
use crate::back::tree::{Infix, Prefix, Tree};
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::types::Ty;

/// What every part of a fold is made of.
pub(super) struct Fold {
    /// The stem of the names of its C functions.
    pub(super) stem: String,
    lanes: Vec<Lane>,
    join: Join,
    neutral: Vec<Value>,
    /// The order of operands counts.
    ordered: bool,
    /// Turns that are joined in registers before they meet the levels; it leaves the tree as it is.
    at_once: usize,
}

/// The C functions that a fold is made of, innermost first.
struct Parts {
    value: Captured,
    carry: Captured,
    close: Captured,
}

enum Join {
    Operator(crate::ops::Operator, Ty),
    /// A function of `&a…, b…` that sets `a` to `a ∘ b`.
    Function(Captured),
}

impl Fold {
    /// What combines items in order, for code that goes along them itself.
    pub(super) fn in_order(w: &mut CWriter, part: &str, monoid: &Monoid, tys: &[Ty]) -> Result<Fold, EmitError> {
        let stem = w.file.function_name(&w.kernel.name, part);
        let lanes: Vec<Lane> = tys.iter().map(|&ty| Lane::of(ty)).collect();
        w.file.lanes_64 |= lanes.iter().any(|lane| lane.is_wide());
        let neutral: Vec<Value> = monoid.neutral.iter().map(|&id| w.get(id)).collect();
        let join = match monoid.operator() {
            Some(operator) => Join::Operator(operator, tys[0]),
            None => combine_function(w, &stem, monoid, &lanes, tys)?,
        };
        Ok(Fold { stem, lanes, join, neutral, ordered: false, at_once: 1 })
    }

    /// A statement for `a = a ∘ b`.
    pub(super) fn join(&self, a: &[Tree], b: &[Tree]) -> Line {
        match &self.join {
            Join::Operator(operator, ty) => {
                let [x, y] = [&a[0], &b[0]].map(|e| Value::vector(*ty, self.lanes[0], e.clone()));
                let joined = expr::apply(*operator, &[&x, &y], *ty, None, false);
                line![a[0], " = ", expr::spread(&joined, self.lanes[0]), ";"]
            }
            Join::Function(function) => {
                let rest = a.iter().map(address_of).chain(b.iter().cloned());
                line![function.call(rest), ";"]
            }
        }
    }

    pub(super) fn each<T>(&self, one: impl Fn(usize, Lane) -> T) -> Vec<T> {
        self.lanes.iter().enumerate().map(|(k, &lane)| one(k, lane)).collect()
    }

    /// One name per component: a stem and its number.
    pub(super) fn named(&self, stem: &str) -> Vec<Tree> {
        self.each(|k, _| Tree::name(format!("{stem}{k}")))
    }

    /// An element of one array per component.
    pub(super) fn elements(&self, stem: &str, at: &str) -> Vec<Tree> {
        self.named(stem).into_iter().map(|array| Tree::index(array, Tree::name(at))).collect()
    }

    pub(super) fn neutral(&self, k: usize) -> Tree {
        expr::spread(&self.neutral[k], self.lanes[k])
    }

    /// The lanes that hold turns where each lane has its own.
    fn turns(&self, w: &CWriter) -> Lane {
        if w.wide { Lane::I64 } else { Lane::I32 }
    }

    /// A single component is returned, several go through pointers: the kind of a function and its last parameters.
    fn signature(&self, kind: &str, ty: impl Fn(Lane) -> String) -> (String, Vec<String>) {
        match self.lanes[..] {
            [lane] => (format!("{kind} {}", ty(lane)), vec![]),
            _ => (format!("{kind} void"), self.each(|k, lane| format!("{} *y{k}", ty(lane)))),
        }
    }

    /// The statement that gives back component `k`.
    fn give(&self, k: usize, value: Tree) -> Line {
        if self.lanes.len() == 1 { line!["return ", value, ";"] } else { line![format!("*y{k} = "), value, ";"] }
    }

    /// The statements that declare names and set them to what a function gives back.
    pub(super) fn call(
        &self,
        function: &Captured,
        args: &[Tree],
        names: &[Tree],
        ty: impl Fn(Lane) -> String,
    ) -> Vec<Line> {
        if let [lane] = self.lanes[..] {
            return vec![line![ty(lane), " ", names[0], " = ", function.call(args.iter().cloned()), ";"]];
        }
        let mut lines = self.each(|k, lane| line![ty(lane), " ", names[k], ";"]);
        let rest = args.iter().cloned().chain(names.iter().map(address_of));
        lines.push(line![function.call(rest), ";"]);
        lines
    }
}

pub(super) fn address_of(place: &Tree) -> Tree {
    Tree::prefix(Prefix::Address, place.clone())
}

/// A C function with the names of the block it captures; callers pass them on.
pub(super) struct Captured {
    name: String,
    arguments: Vec<Tree>,
}

impl Captured {
    pub(super) fn call(&self, rest: impl IntoIterator<Item = Tree>) -> Tree {
        Tree::call(&self.name, self.arguments.iter().cloned().chain(rest))
    }
}

/// Writes the fold of the turns `lo..hi` and binds its results.
pub(super) fn write(
    w: &mut CWriter,
    stmt: &Stmt,
    lo: Id,
    hi: Id,
    body: &Body,
    monoid: &Monoid,
) -> Result<(), EmitError> {
    let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
    let ordered = !monoid.commutative;
    let at_once = if ordered { 1 } else { turns_at_once(body, monoid) };
    let fold = Fold { ordered, at_once, ..Fold::in_order(w, "fold", monoid, &tys)? };

    let value = value_function(w, &fold, body, &tys)?;
    let carry = carry_function(w, &fold);
    let tree = tree_function(w, &fold);
    let close = close_function(w, &fold, &tree);
    let parts = Parts { value, carry, close };
    let chunk = chunk_function(w, &fold, &parts);
    let whole = if is_short(w, lo, hi) { chunk } else { chunks_function(w, &fold, &chunk, &parts) };

    let lo = w.scalar(lo)?;
    let hi = w.scalar(hi)?;
    let names: Vec<String> = fold.lanes.iter().map(|_| w.fresh("fold")).collect();
    let results: Vec<Tree> = names.iter().map(Tree::name).collect();
    let lines = fold.call(&whole, &[lo, hi], &results, |lane| lane.scalar().into());
    lines.into_iter().for_each(|line| w.line(line));
    for ((bind, name), lane) in stmt.binds.iter().zip(names).zip(&fold.lanes) {
        w.declare(&name, format!("{} {name}", lane.scalar()));
        let result = Tree::name(name);
        let is_mask = *lane == Lane::Mask;
        let tree = if is_mask { Tree::infix(Infix::Ne, result, Tree::int(0)) } else { result };
        w.values.insert(bind.id, Value::uniform(bind.ty.elem(), tree));
    }
    Ok(())
}

fn combine_function(
    w: &mut CWriter,
    stem: &str,
    monoid: &Monoid,
    lanes: &[Lane],
    tys: &[Ty],
) -> Result<Join, EmitError> {
    let k = lanes.len();
    let value = |j: usize| {
        let name = if j < k { format!("a{j}") } else { format!("b{}", j - k) };
        Value::vector(tys[j % k], lanes[j % k], Tree::name(name))
    };
    w.set_values(&monoid.combine.params, &(0..2 * k).map(value).collect::<Vec<_>>());
    let code = w.aside(Live::All, |w| {
        for (j, lane) in lanes.iter().enumerate() {
            w.line(format!("{} a{j} = *left{j};", lane.vector()));
        }
        w.stmts(&monoid.combine)?;
        for (j, &id) in monoid.combine.results.iter().enumerate() {
            let joined = expr::spread(&w.get(id), lanes[j]);
            w.line(line![format!("*left{j} = "), joined, ";"]);
        }
        Ok(())
    })?;
    let left = lanes.iter().enumerate().map(|(j, l)| format!("{} *left{j}", l.vector()));
    let right = lanes.iter().enumerate().map(|(j, l)| format!("{} b{j}", l.vector()));
    let parameters: Vec<String> = left.chain(right).collect();
    Ok(Join::Function(add_function(w, "FN void", format!("{stem}_join"), &code, &parameters)))
}

pub(super) fn add_function(w: &mut CWriter, kind: &str, name: String, code: &Code, parameters: &[String]) -> Captured {
    let (declarations, arguments) = w.captured(code);
    let parameters = [&declarations[..], parameters].concat().join(", ");
    w.file.items.push(format!("{kind} {name}({parameters}) {{\n{code}}}\n"));
    Captured { name, arguments }
}

/// The values of the turns `i..i + n`, or of the turns in a vector `at` where lanes take runs of their own.
pub(super) fn value_function(w: &mut CWriter, fold: &Fold, body: &Body, tys: &[Ty]) -> Result<Captured, EmitError> {
    let at = fold.turns(w);
    let (turn, live) = if fold.ordered {
        w.file.lanes_64 |= at.is_wide();
        (Value::vector(Ty::I64, at, Tree::name("at")), Live::Mask("live".into()))
    } else {
        (w.first_turn(Tree::name("i")), Live::Count)
    };
    w.set_values(&body.params, &[turn]);
    let code = w.aside(live, |w| {
        w.stmts(body)?;
        for (j, &id) in body.results.iter().enumerate() {
            let value = expr::spread(&w.get(id), Lane::of(tys[j]));
            w.line(fold.give(j, value));
        }
        Ok(())
    })?;
    let turns = if fold.ordered {
        [format!("{} at", at.vector()), "vi32 live".into()]
    } else {
        ["i64 i".into(), "int n".into()]
    };
    let (kind, outs) = fold.signature("FN", |lane| lane.vector());
    Ok(add_function(w, &kind, format!("{}_value", fold.stem), &code, &[&turns[..], &outs[..]].concat()))
}

/// Joins 64 accumulators into the first.
fn tree_function(w: &mut CWriter, fold: &Fold) -> Captured {
    let load = |side: &str, from: &str, past: &str| {
        fold.each(|j, l| line![format!("{} {side}{j} = load_{}({from}{j} + {past}, m);", l.vector(), l.scalar())])
    };
    let mut text = Code::default();
    text.add(1, "for (int w = 32; w > 0; w /= 2) {");
    if fold.ordered {
        // Neighbours are joined, so that the order stays.
        text.all(2, fold.each(|j, lane| format!("{} next{j}[32];", lane.scalar()).into()));
        let split = |j: usize, _| format!("next{j}[j] = part{j}[2 * j + 1], part{j}[j] = part{j}[2 * j];");
        text.add(2, format!("for (int j = 0; j < w; j++) {{ {} }}", fold.each(split).join(" ")));
    }
    text.add(2, "for (int j = 0; j < w; j += W) {");
    text.add(3, "int m = w - j < W ? w - j : W;");
    text.all(3, load("p", "part", "j"));
    text.all(3, if fold.ordered { load("q", "next", "j") } else { load("q", "part", "w + j") });
    text.add(3, fold.join(&fold.named("p"), &fold.named("q")));
    text.all(3, fold.each(|j, l| format!("store_{}(part{j} + j, p{j}, m);", l.scalar()).into()));
    text.add(2, "}");
    text.add(1, "}");
    let parameters = fold.each(|j, lane| format!("{} *part{j}", lane.scalar()));
    add_function(w, "static inline void", format!("{}_tree", fold.stem), &text, &parameters)
}

/// How many turns the code of one can be repeated for.
fn turns_at_once(body: &Body, monoid: &Monoid) -> usize {
    fn length(body: &Body) -> Option<u32> {
        let each = |stmt: &Stmt| match &stmt.op {
            Op::Const(_) | Op::Extent(_) => Some(0),
            Op::Apply(operator, _) => Some(operator.row().cost),
            Op::Cast(..) | Op::Bitcast(..) | Op::Load { .. } | Op::Store { .. } => Some(1),
            _ => None,
        };
        body.stmts.iter().map(each).sum()
    }
    match length(body).zip(length(&monoid.combine)).map(|(value, join)| value + join) {
        Some(..=8) => 8,
        Some(..=16) => 4,
        Some(_) | None => 1,
    }
}

impl Fold {
    fn levels(&self) -> Vec<Line> {
        self.each(|j, lane| format!("{} level{j}[9][64 / W];", lane.vector()).into())
    }

    /// Parameters of a function that works on the levels.
    fn level_parameters(&self) -> Vec<String> {
        self.each(|j, lane| format!("{} (*level{j})[64 / W]", lane.vector()))
    }

    /// The statements for `x[u] = level[l][u] ∘ x[u]`.
    fn join_level(&self) -> Vec<Line> {
        let mut lines = self.each(|j, lane| format!("{} p{j} = level{j}[l][u];", lane.vector()).into());
        lines.push(self.join(&self.named("p"), &self.elements("x", "u")));
        lines.extend(self.each(|j, _| format!("x{j}[u] = p{j};").into()));
        lines
    }

    /// A turn, vector by vector.
    fn turn(&self) -> Vec<Line> {
        self.each(|j, lane| format!("{} x{j}[64 / W];", lane.vector()).into())
    }

    fn set_neutral(&self) -> Vec<Line> {
        self.each(|j, _| line![format!("x{j}[u] = "), self.neutral(j), ";"])
    }

    /// The call that brings a turn, or what 2^`level` of them gave, to the levels.
    fn carry(&self, parts: &Parts, level: u32) -> Line {
        let given = [self.named("level"), vec![Tree::name("turns"), Tree::int(level.into())], self.named("x")];
        line![parts.carry.call(given.concat()), ";"]
    }

    /// The statement that gives back what the levels hold.
    fn give_all(&self, parts: &Parts) -> Line {
        let given = [self.named("level"), vec![Tree::name("turns")]].concat();
        if self.lanes.len() == 1 {
            return line!["return ", parts.close.call(given), ";"];
        }
        line![parts.close.call([given, self.named("y")].concat()), ";"]
    }

    /// The fold of some turns from `i` on, for the vector `u`: their tree, in registers, ends in `x[u]`.
    fn whole_turns(&self, parts: &Parts, count: usize) -> Vec<Line> {
        let mut lines = vec![];
        let named = |t: usize| self.each(|j, _| Tree::name(format!("x{j}_{t}")));
        let width = Tree::name("W");
        let vector = Tree::infix(Infix::Mul, Tree::name("u"), width.clone());
        for t in 0..count {
            let from = match t {
                0 => Tree::name("i"),
                _ => Tree::infix(Infix::Add, Tree::name("i"), Tree::int(64 * t as i64)),
            };
            let at = Tree::infix(Infix::Add, from, vector.clone());
            lines.extend(self.call(&parts.value, &[at, width.clone()], &named(t), |lane| lane.vector()));
            // Whatever has a neighbour now is joined with it.
            for level in 0..(t + 1).trailing_zeros() {
                lines.push(self.join(&named(t + 1 - (2 << level)), &named(t + 1 - (1 << level))));
            }
        }
        lines.extend(self.each(|j, _| format!("x{j}[u] = x{j}_0;").into()));
        lines
    }
}

/// A turn meets the levels, from `l` on.
fn carry_function(w: &mut CWriter, fold: &Fold) -> Captured {
    let mut text = Code::default();
    text.add(1, "for (; turns >> l & 1; l++) {");
    text.add(2, "WAYS(u, 64 / W) {");
    text.all(3, fold.join_level());
    text.add(2, "}");
    text.add(1, "}");
    text.all(1, fold.each(|j, _| format!("WAYS(u, 64 / W) level{j}[l][u] = x{j}[u];").into()));
    let counters = ["int turns".into(), "int l".into()];
    let values = fold.each(|j, lane| format!("{} *x{j}", lane.vector()));
    let parameters = [&fold.level_parameters()[..], &counters, &values].concat();
    add_function(w, "FN void", format!("{}_carry", fold.stem), &text, &parameters)
}

/// The fold of all levels and accumulators.
fn close_function(w: &mut CWriter, fold: &Fold, tree: &Captured) -> Captured {
    let mut text = Code::default();
    text.all(1, fold.turn());
    text.add(1, "WAYS(u, 64 / W) {");
    text.all(2, fold.set_neutral());
    text.add(1, "}");
    text.add(1, "for (int l = 0; turns >> l; l++) {");
    text.add(2, "if (!(turns >> l & 1)) continue;");
    text.add(2, "WAYS(u, 64 / W) {");
    text.all(3, fold.join_level());
    text.add(2, "}");
    text.add(1, "}");
    for (j, lane) in fold.lanes.iter().enumerate() {
        text.add(1, format!("{} part{j}[64];", lane.scalar()));
        text.add(1, format!("WAYS(u, 64 / W) store_{}(part{j} + u * W, x{j}[u], W);", lane.scalar()));
    }
    text.add(1, line![tree.call(fold.named("part")), ";"]);
    let first = |part: Tree| Tree::index(part, Tree::int(0));
    text.all(1, fold.named("part").into_iter().enumerate().map(|(j, part)| fold.give(j, first(part))));
    let (kind, outs) = fold.signature("static inline", |lane| lane.scalar().into());
    let parameters = [&fold.level_parameters()[..], &["int turns".into()], &outs].concat();
    add_function(w, &kind, format!("{}_close", fold.stem), &text, &parameters)
}

/// The turns `lo..hi` of the loop, at most a chunk.
fn chunk_function(w: &mut CWriter, fold: &Fold, parts: &Parts) -> Captured {
    let mut text = Code::default();
    text.all(1, fold.levels());
    text.all(1, fold.turn());
    text.add(1, "int turns = 0;");
    let values =
        |args: [&str; 2]| fold.call(&parts.value, &args.map(Tree::name), &fold.named("z"), |lane| lane.vector());
    // A lane past the end has the neutral element.
    let keep = |mask: &str| fold.each(|j, l| format!("x{j}[u] = select_{}({mask}, z{j}, x{j}[u]);", l.name()).into());
    if fold.ordered {
        let at = fold.turns(w);
        let v = at.vector();
        let t = at.name();
        text.add(1, "i64 run = (hi - lo + 63) / 64;");
        text.add(1, "for (; turns < run; turns++) {");
        text.add(2, "for (int u = 0; u < 64 / W; u++) {");
        text.add(3, format!("{v} first = all_{t}(({t})lo) + (iota_{t}() + ({t})(u * W)) * ({t})run;"));
        text.add(3, format!("{v} at = first + ({t})turns, end = min_{t}(first + ({t})run, all_{t}(({t})hi));"));
        text.add(3, format!("vi32 live = lt_{t}(at, end);"));
        text.all(3, values(["at", "live"]));
        text.all(3, fold.set_neutral());
        text.all(3, keep("live"));
        text.add(2, "}");
        text.add(2, fold.carry(parts, 0));
        text.add(1, "}");
    } else {
        text.add(1, "i64 i = lo;");
        let mut count = fold.at_once;
        let whole = |text: &mut Code, count: usize| {
            text.add(2, "WAYS(u, 64 / W) {");
            text.all(3, fold.whole_turns(parts, count));
            text.add(2, "}");
            text.add(2, fold.carry(parts, count.trailing_zeros()));
            text.add(1, "}");
        };
        text.add(1, format!("for (; i + {0} <= hi; i += {0}, turns += {count}) {{", 64 * count));
        whole(&mut text, count);
        // What is left is less, so these levels are free.
        while count > 1 {
            count /= 2;
            text.add(1, format!("if (i + {} <= hi) {{", 64 * count));
            text.add(2, "WAYS(u, 64 / W) {");
            text.all(3, fold.whole_turns(parts, count));
            text.all(3, fold.each(|j, _| format!("level{j}[{}][u] = x{j}[u];", count.trailing_zeros()).into()));
            text.add(2, "}");
            text.add(2, format!("turns += {count};"));
            text.add(2, format!("i += {};", 64 * count));
            text.add(1, "}");
        }
        text.add(1, "if (i < hi) {");
        text.add(2, "for (int u = 0; u < 64 / W; u++, i += W) {");
        text.all(3, fold.set_neutral());
        text.add(3, "if (i >= hi) continue;");
        text.add(3, "int n = hi - i < W ? (int)(hi - i) : W;");
        text.all(3, values(["i", "n"]));
        text.all(3, keep("first_lanes(n)"));
        text.add(2, "}");
        text.add(2, fold.carry(parts, 0));
        text.add(2, "turns++;");
        text.add(1, "}");
    }
    text.add(1, fold.give_all(parts));
    let (kind, outs) = fold.signature("static inline", |lane| lane.scalar().into());
    let parameters = [&["i64 lo".into(), "i64 hi".into()], &outs[..]].concat();
    add_function(w, &kind, format!("{}_chunk", fold.stem), &text, &parameters)
}

/// Any number of turns: the results of chunks are folded as elements are, and if these are too many for a chunk, so are
/// the results of chunks of chunks. `unit` elements make one result.
fn chunks_function(w: &mut CWriter, fold: &Fold, chunk: &Captured, parts: &Parts) -> Captured {
    // It calls itself with what it captures, which is what all the rest of it mentions.
    let (_, arguments) = w.captured(&chunks_body(fold, chunk, parts, &Tree::int(0)));
    let far = Captured { name: format!("{}_chunks", fold.stem), arguments };
    let unit = Tree::infix(Infix::Div, Tree::name("unit"), Tree::int(16384));
    let again = far.call([Tree::name("from"), Tree::name("to"), unit].into_iter().chain(places(fold)));
    let body = chunks_body(fold, chunk, parts, &again);
    let (kind, outs) = fold.signature("static", |lane| lane.scalar().into());
    let bounds = ["i64 lo".into(), "i64 hi".into(), "i64 unit".into()];
    let far = add_function(w, &kind, far.name, &body, &[&bounds[..], &outs].concat());

    let mut text = Code::default();
    let [lo, hi, unit] = ["lo", "hi", "unit"].map(Tree::name);
    let one = [lo.clone(), hi.clone()];
    let many = [lo, hi, unit];
    if fold.lanes.len() == 1 {
        text.add(1, line!["if (hi - lo <= 16384) return ", chunk.call(one), ";"]);
    } else {
        text.add(1, "if (hi - lo <= 16384) {");
        text.add(2, line![chunk.call(one.into_iter().chain(fold.named("y"))), ";"]);
        text.add(2, "return;");
        text.add(1, "}");
    }
    text.add(1, "i64 unit = 16384;");
    text.add(1, "while ((hi - lo - 1) / unit >= 16384) unit *= 16384;");
    if fold.lanes.len() == 1 {
        text.add(1, line!["return ", far.call(many), ";"]);
    } else {
        text.add(1, line![far.call(many.into_iter().chain(fold.named("y"))), ";"]);
    }
    let (kind, outs) = fold.signature("static inline", |lane| lane.scalar().into());
    add_function(w, &kind, fold.stem.clone(), &text, &[&["i64 lo".into(), "i64 hi".into()], &outs[..]].concat())
}

/// Where a chunk leaves its results, if they are several.
fn places(fold: &Fold) -> Vec<Tree> {
    if fold.lanes.len() == 1 { vec![] } else { fold.elements("part", "j").iter().map(address_of).collect() }
}

/// The body of the function of chunks, which calls itself so.
fn chunks_body(fold: &Fold, chunk: &Captured, parts: &Parts, again: &Tree) -> Code {
    let mut text = Code::default();
    text.all(1, fold.levels());
    text.all(1, fold.turn());
    text.all(1, fold.each(|j, lane| format!("{} part{j}[64];", lane.scalar()).into()));
    text.add(1, "i64 count = (hi - lo + unit - 1) / unit, run = (count + 63) / 64;");
    text.add(1, "int turns = 0;");
    text.add(1, "for (; turns < run; turns++) {");
    for (j, lane) in fold.lanes.iter().enumerate() {
        let store = format!("for (int u = 0; u < 64 / W; u++) store_{}(part{j} + u * W, ", lane.scalar());
        text.add(2, line![store, fold.neutral(j), ", W);"]);
    }
    text.add(2, "for (int j = 0; j < 64; j++) {");
    text.add(3, if fold.ordered { "i64 k = j * run + turns;" } else { "i64 k = turns * (i64)64 + j;" });
    text.add(3, "if (k >= count) break;");
    text.add(3, "i64 from = lo + k * unit, to = hi - from < unit ? hi : from + unit;");
    let one = chunk.call([Tree::name("from"), Tree::name("to")].into_iter().chain(places(fold)));
    if fold.lanes.len() == 1 {
        text.add(3, line!["part0[j] = unit == 16384 ? ", one, " : ", again, ";"]);
    } else {
        text.add(3, line!["if (unit == 16384) ", one, ";"]);
        text.add(3, line!["else ", again, ";"]);
    }
    text.add(2, "}");
    let load = |j: usize, lane: Lane| format!("x{j}[u] = load_{}(part{j} + u * W, W);", lane.scalar()).into();
    text.add(2, "for (int u = 0; u < 64 / W; u++) {");
    text.all(3, fold.each(load));
    text.add(2, "}");
    text.add(2, fold.carry(parts, 0));
    text.add(1, "}");
    text.add(1, fold.give_all(parts));
    text
}

/// Is the loop cut to a chunk already: `hi = min(lo + c, …)` with `c` at most a chunk?
fn is_short(w: &CWriter, lo: Id, hi: Id) -> bool {
    fn find(body: &Body, id: Id) -> Option<&Op> {
        body.stmts.iter().find(|s| s.binds.iter().any(|b| b.id == id)).map(|s| &s.op)
    }
    let body = &w.kernel.body;
    let Some(Op::Apply(crate::ops::Operator::Min, ends)) = find(body, hi) else { return false };
    ends.iter().any(|&end| match find(body, end) {
        Some(Op::Apply(crate::ops::Operator::Add, args)) if args[0] == lo => {
            matches!(find(body, args[1]), Some(Op::Const(c)) if c.as_int() <= 1 << 14)
        }
        _ => false,
    })
}
