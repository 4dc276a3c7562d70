//! Folds over lanes, in the canonical order.
//!
//! Element `i` of a chunk goes to accumulator `i mod 64`, or, where the order of operands counts, accumulator `j` takes
//! the `j`-th run of consecutive elements; a tree joins the accumulators, and the results of chunks of 16,384 elements
//! are joined by the same rule. So the result depends neither on the width of vectors nor on the number of threads, and
//! the error of a long sum stays small.

use super::value::{Bind, Expr, Form, Lane, Value, scalar_type};
use super::writer::{Live, Writer};
use super::{EmitError, expr};
use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::types::Ty;

/// The pieces of C that every part of a fold is made of.
struct Fold {
    lanes: Vec<Lane>,
    /// Text that sets accumulators `a` to `a ∘ b`, given their C expressions.
    join: Join,
    neutral: Vec<Value>,
}

enum Join {
    Operator(crate::ops::Operator, Ty),
    /// A function `name(captured…, &a…, b…)`.
    Function(String, Vec<String>),
}

impl Fold {
    /// Statements for `a = a ∘ b`.
    fn join(&self, a: &[String], b: &[String]) -> String {
        match &self.join {
            Join::Operator(operator, ty) => {
                let [x, y] = [&a[0], &b[0]].map(|e| Value::vector(*ty, self.lanes[0], Expr::atom(e.clone())));
                let Form::Vector(_, e) = expr::apply(*operator, &[&x, &y], *ty).form else { return String::new() };
                format!("{} = {};", a[0], e.text)
            }
            Join::Function(name, captured) => {
                let pointers = a.iter().map(|a| format!("&{a}"));
                let args: Vec<String> = captured.iter().cloned().chain(pointers).chain(b.iter().cloned()).collect();
                format!("{name}({});", args.join(", "))
            }
        }
    }

    fn each(&self, text: impl Fn(usize, Lane) -> String) -> Vec<String> {
        self.lanes.iter().enumerate().map(|(k, &lane)| text(k, lane)).collect()
    }

    fn neutral(&self, k: usize) -> String {
        expr::spread(&self.neutral[k], self.lanes[k]).text
    }
}

/// The lane operations on memory are named by type, not by what a mask means.
fn memory_name(lane: Lane) -> &'static str {
    lane.scalar()
}

/// Writes the fold of the turns `lo..hi` and binds its results.
pub(super) fn write(
    w: &mut Writer,
    stmt: &Stmt,
    lo: Id,
    hi: Id,
    body: &Body,
    monoid: &Monoid,
) -> Result<(), EmitError> {
    let tys: Vec<Ty> = stmt.binds.iter().map(|b| b.ty.elem()).collect();
    let lanes: Vec<Lane> = tys.iter().map(|&ty| Lane::of(ty)).collect();
    w.file.lanes_64 |= lanes.iter().any(|l| l.is_wide());
    let neutral: Vec<Value> = monoid.neutral.iter().map(|&id| w.get(id)).collect();
    let stem = w.file.function_name(&w.kernel.name, "fold");
    let join = match monoid.operator() {
        Some(operator) => Join::Operator(operator, tys[0]),
        None => combine_function(w, &stem, monoid, &lanes, &tys)?,
    };
    let fold = Fold { lanes, join, neutral };
    let commutative = monoid.commutative;

    let value = value_function(w, &stem, body, &fold, &tys, commutative)?;
    let tree = tree_function(w, &stem, &fold, commutative);
    let chunk = chunk_function(w, &stem, &fold, &value, &tree, commutative);
    let short = is_short(w, lo, hi);
    let whole = if short { chunk } else { chunks_function(w, &stem, &fold, &chunk, &tree, commutative) };

    let (lo, hi) = (w.scalar(lo)?, w.scalar(hi)?);
    let names: Vec<String> = fold.lanes.iter().map(|_| w.fresh("f")).collect();
    for (name, lane) in names.iter().zip(&fold.lanes) {
        w.line(&format!("{} {name};", lane.scalar()));
    }
    let outs = names.iter().map(|n| format!("&{n}"));
    let args: Vec<String> = whole.1.iter().cloned().chain([lo.text, hi.text]).chain(outs).collect();
    w.line(&format!("{}({});", whole.0, args.join(", ")));
    for ((bind, name), lane) in stmt.binds.iter().zip(names).zip(&fold.lanes) {
        let ty = bind.ty.elem();
        w.declare(&name, format!("{} {name}", if *lane == Lane::Mask { "i32" } else { scalar_type(ty) }));
        let expr =
            if *lane == Lane::Mask { Expr::new(format!("{name} != 0"), Bind::Compare) } else { Expr::atom(name) };
        w.values.insert(bind.id, Value::uniform(ty, expr));
    }
    Ok(())
}

/// A C function with the names of the block it captures; callers pass them on.
type Captured = (String, Vec<String>);

fn add_function(w: &mut Writer, kind: &str, name: String, text: &str, parameters: &[String]) -> Captured {
    let (declarations, arguments) = w.captured(text);
    let parameters = [&declarations[..], parameters].concat().join(", ");
    w.file.items.push(format!("{kind} void {name}({parameters}) {{\n{text}}}\n"));
    (name, arguments)
}

fn combine_function(
    w: &mut Writer,
    stem: &str,
    monoid: &Monoid,
    lanes: &[Lane],
    tys: &[Ty],
) -> Result<Join, EmitError> {
    let k = lanes.len();
    let values: Vec<Value> = (0..2 * k)
        .map(|j| {
            let text = if j < k { format!("a{j}") } else { format!("b{}", j - k) };
            Value::vector(tys[j % k], lanes[j % k], Expr::atom(text))
        })
        .collect();
    w.set_values(&monoid.combine.params, &values);
    let text = w.aside(Live::All, |w| {
        for (j, lane) in lanes.iter().enumerate() {
            w.line(&format!("{} a{j} = *left{j};", lane.vector()));
        }
        w.stmts(&monoid.combine)?;
        for (j, &id) in monoid.combine.results.iter().enumerate() {
            let text = expr::spread(&w.get(id), lanes[j]).text;
            w.line(&format!("*left{j} = {text};"));
        }
        Ok(())
    })?;
    let left = lanes.iter().enumerate().map(|(j, l)| format!("{} *left{j}", l.vector()));
    let right = lanes.iter().enumerate().map(|(j, l)| format!("{} b{j}", l.vector()));
    let parameters: Vec<String> = left.chain(right).collect();
    let (name, captured) = add_function(w, "FN", format!("{stem}_join"), &text, &parameters);
    Ok(Join::Function(name, captured))
}

/// The values of the turns `i..i + n`, or of the turns in a vector `at` where lanes take runs of their own.
fn value_function(
    w: &mut Writer,
    stem: &str,
    body: &Body,
    fold: &Fold,
    tys: &[Ty],
    commutative: bool,
) -> Result<Captured, EmitError> {
    let at = if w.wide { Lane::I64 } else { Lane::I32 };
    let (turn, live) = if commutative {
        (w.first_turn("i"), Live::Count)
    } else {
        w.file.lanes_64 |= at.is_wide();
        let range = (!w.wide).then_some((0, 1 << 30));
        (Value::vector(Ty::I64, at, Expr::atom("at")).within(range), Live::Mask("live".into()))
    };
    w.set_values(&body.params, &[turn]);
    let text = w.aside(live, |w| {
        w.stmts(body)?;
        for (j, &id) in body.results.iter().enumerate() {
            let text = expr::spread(&w.get(id), Lane::of(tys[j])).text;
            w.line(&format!("*y{j} = {text};"));
        }
        Ok(())
    })?;
    let turns = if commutative {
        ["i64 i".into(), "int n".into()]
    } else {
        [format!("{} at", at.vector()), "vi32 live".into()]
    };
    let outs = fold.each(|j, lane| format!("{} *y{j}", lane.vector()));
    Ok(add_function(w, "FN", format!("{stem}_value"), &text, &[&turns[..], &outs[..]].concat()))
}

/// Joins 64 accumulators into the first.
fn tree_function(w: &mut Writer, stem: &str, fold: &Fold, commutative: bool) -> Captured {
    let mut text = String::new();
    let load = |side: &str, offset: &str| {
        fold.each(|j, l| {
            format!("{} {side}{j} = load_{}({offset}, m);", l.vector(), memory_name(l))
                .replace("PART", &format!("part{j}"))
        })
        .join(" ")
    };
    let a = fold.each(|j, _| format!("p{j}"));
    let b = fold.each(|j, _| format!("q{j}"));
    let store = fold.each(|j, l| format!("store_{}(part{j} + j, p{j}, m);", memory_name(l))).join(" ");
    text += "    for (int w = 32; w > 0; w /= 2) {\n";
    if commutative {
        text += "        for (int j = 0; j < w; j += W) {\n            int m = w - j < W ? w - j : W;\n";
        text += &format!("            {}\n", load("p", "PART + j"));
        text += &format!("            {}\n", load("q", "PART + w + j"));
        text += &format!("            {}\n            {store}\n        }}\n", fold.join(&a, &b));
    } else {
        // Neighbours are joined, so that the order stays.
        for (j, lane) in fold.lanes.iter().enumerate() {
            text += &format!("        {} right{j}[32];\n", lane.scalar());
            text += &format!(
                "        for (int j = 0; j < w; j++) right{j}[j] = part{j}[2 * j + 1], part{j}[j] = part{j}[2 * j];\n"
            );
        }
        text += "        for (int j = 0; j < w; j += W) {\n            int m = w - j < W ? w - j : W;\n";
        text += &format!("            {}\n", load("p", "PART + j"));
        text += &format!("            {}\n", load("q", "PART + j").replace("(part", "(right"));
        text += &format!("            {}\n            {store}\n        }}\n", fold.join(&a, &b));
    }
    text += "    }\n";
    let parameters = fold.each(|j, lane| format!("{} *part{j}", lane.scalar()));
    add_function(w, "static inline", format!("{stem}_tree"), &text, &parameters)
}

/// The turns `lo..hi`, at most a chunk.
fn chunk_function(
    w: &mut Writer,
    stem: &str,
    fold: &Fold,
    value: &Captured,
    tree: &Captured,
    commutative: bool,
) -> Captured {
    let mut text = String::new();
    let mut line = |indent: usize, t: String| text += &format!("{:width$}{t}\n", "", width = indent * 4);
    for (j, lane) in fold.lanes.iter().enumerate() {
        line(1, format!("{} acc{j}[64 / W];", lane.vector()));
        line(1, format!("for (int u = 0; u < 64 / W; u++) acc{j}[u] = {};", fold.neutral(j)));
    }
    let declare = fold.each(|j, lane| format!("{} x{j};", lane.vector())).join(" ");
    let outs = fold.each(|j, _| format!("&x{j}"));
    let accs = fold.each(|j, _| format!("acc{j}[u]"));
    let xs = fold.each(|j, _| format!("x{j}"));
    let call = |turns: &[String]| format!("{}({});", value.0, [&value.1[..], turns, &outs[..]].concat().join(", "));
    // A lane past the end keeps its accumulator.
    let old = fold.each(|j, l| format!("{} old{j} = acc{j}[u];", l.vector())).join(" ");
    let keep =
        |mask: &str| fold.each(|j, l| format!("acc{j}[u] = select_{}({mask}, acc{j}[u], old{j});", l.name())).join(" ");
    if commutative {
        line(1, "i64 i = lo;".into());
        line(1, "for (; i + 64 <= hi; i += 64)".into());
        line(
            2,
            format!(
                "for (int u = 0; u < 64 / W; u++) {{ {declare} {} {} }}",
                call(&["i + u * W".into(), "W".into()]),
                fold.join(&accs, &xs)
            ),
        );
        line(1, "for (int u = 0; i < hi; u++, i += W) {".into());
        line(2, "int n = hi - i < W ? (int)(hi - i) : W;".into());
        line(2, format!("{declare} {old}"));
        line(2, call(&["i".into(), "n".into()]));
        line(2, fold.join(&accs, &xs));
        line(2, keep("first_lanes(n)"));
        line(1, "}".into());
    } else {
        let at = if w.wide { Lane::I64 } else { Lane::I32 };
        let (v, name) = (at.vector(), at.name());
        line(1, "i64 run = (hi - lo + 63) / 64;".into());
        line(1, "for (int u = 0; u < 64 / W; u++) {".into());
        line(2, format!("{v} at = all_{name}(({name})lo) + (iota_{name}() + ({name})(u * W)) * ({name})run;"));
        line(2, format!("{v} end = min_{name}(at + ({name})run, all_{name}(({name})hi));"));
        line(2, "for (i64 s = 0; s < run; s++) {".into());
        line(3, format!("vi32 live = lt_{name}(at, end);"));
        line(3, format!("{declare} {old}"));
        line(3, call(&["at".into(), "live".into()]));
        line(3, fold.join(&accs, &xs));
        line(3, keep("live"));
        line(3, "at += 1;".into());
        line(2, "}".into());
        line(1, "}".into());
    }
    for (j, lane) in fold.lanes.iter().enumerate() {
        line(1, format!("{} part{j}[64];", lane.scalar()));
        line(
            1,
            format!("for (int u = 0; u < 64 / W; u++) store_{}(part{j} + u * W, acc{j}[u], W);", memory_name(*lane)),
        );
    }
    let parts = fold.each(|j, _| format!("part{j}"));
    line(1, format!("{}({});", tree.0, [&tree.1[..], &parts[..]].concat().join(", ")));
    for j in 0..fold.lanes.len() {
        line(1, format!("*y{j} = part{j}[0];"));
    }
    let outs = fold.each(|j, lane| format!("{} *y{j}", lane.scalar()));
    add_function(
        w,
        "static inline",
        format!("{stem}_chunk"),
        &text,
        &[&["i64 lo".into(), "i64 hi".into()], &outs[..]].concat(),
    )
}

/// Any number of turns: the results of the chunks are folded as elements are.
fn chunks_function(
    w: &mut Writer,
    stem: &str,
    fold: &Fold,
    chunk: &Captured,
    tree: &Captured,
    commutative: bool,
) -> Captured {
    let mut text = String::new();
    let mut line = |indent: usize, t: String| text += &format!("{:width$}{t}\n", "", width = indent * 4);
    let outs = fold.each(|j, _| format!("y{j}"));
    let all = |turns: [&str; 2], outs: &[String]| {
        let turns = turns.map(String::from);
        format!("{}({});", chunk.0, [&chunk.1[..], &turns[..], outs].concat().join(", "))
    };
    line(1, "i64 chunks = (hi - lo + 16383) / 16384;".into());
    line(1, "if (chunks <= 1) {".into());
    line(2, all(["lo", "hi"], &outs));
    line(2, "return;".into());
    line(1, "}".into());
    for (j, lane) in fold.lanes.iter().enumerate() {
        line(1, format!("{} part{j}[64], y{j}_[1];", lane.scalar()).replace(&format!(", y{j}_[1]"), ""));
        line(
            1,
            format!(
                "for (int j = 0; j < 64; j += W) store_{}(part{j} + j, {}, W);",
                memory_name(*lane),
                fold.neutral(j)
            ),
        );
    }
    line(1, "i64 run = (chunks + 63) / 64;".into());
    line(1, "for (i64 c = 0; c < chunks; c++) {".into());
    line(2, "i64 from = lo + c * 16384, to = from + 16384 < hi ? from + 16384 : hi;".into());
    line(2, if commutative { "i64 slot = c % 64;" } else { "i64 slot = c / run;" }.into());
    line(2, fold.each(|j, lane| format!("{} one{j};", lane.scalar())).join(" "));
    line(2, all(["from", "to"], &fold.each(|j, _| format!("&one{j}"))));
    line(2, fold.each(|j, l| format!("{} p{j} = load_{}(part{j} + slot, 1);", l.vector(), memory_name(l))).join(" "));
    line(2, fold.each(|j, l| format!("{} q{j} = load_{}(&one{j}, 1);", l.vector(), memory_name(l))).join(" "));
    line(2, fold.join(&fold.each(|j, _| format!("p{j}")), &fold.each(|j, _| format!("q{j}"))));
    line(2, fold.each(|j, l| format!("store_{}(part{j} + slot, p{j}, 1);", memory_name(l))).join(" "));
    line(1, "}".into());
    line(1, "(void)run;".into());
    let parts = fold.each(|j, _| format!("part{j}"));
    line(1, format!("{}({});", tree.0, [&tree.1[..], &parts[..]].concat().join(", ")));
    for j in 0..fold.lanes.len() {
        line(1, format!("*y{j} = part{j}[0];"));
    }
    let outs = fold.each(|j, lane| format!("{} *y{j}", lane.scalar()));
    add_function(
        w,
        "static inline",
        stem.to_string(),
        &text,
        &[&["i64 lo".into(), "i64 hi".into()], &outs[..]].concat(),
    )
}

/// Is the loop cut to a chunk already: `hi = min(lo + c, …)` with `c` at most a chunk?
fn is_short(w: &Writer, lo: Id, hi: Id) -> bool {
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
