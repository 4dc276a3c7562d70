//! Prefixes: rows of 16 turns in registers, which lanes move up to meet those behind them.
//!
//! A row is one vector, or as many as it takes. That it always has 16 turns makes sums of floats come out the same whatever the
//! width of vectors.

use super::EmitError;
use super::expr;
use super::fold::{Captured, Fold, add_function, address_of, value_function};
use super::lines::{Code, Line, line};
use super::value::{Lane, Value};
use super::writer::{CWriter, Live};
use crate::back::tree::{Infix, Tree};
use crate::code::{Body, Monoid, Op, PREFIX_ROW, Stmt};
use crate::types::Ty;

/// Writes the loop, and binds what is behind its last turn.
pub(super) fn write(w: &mut CWriter, stmt: &Stmt) -> Result<(), EmitError> {
    let Op::Prefixes { lo, hi, from, body, monoid, put } = &stmt.op else {
        unreachable!("asked for prefixes");
    };
    let tys: Vec<Ty> = stmt.binds.iter().map(|bind| bind.ty.elem()).collect();
    let row = row_function(w, &tys, body, monoid, put)?;

    let lo = w.scalar(*lo)?;
    let hi = w.bound(*hi)?;
    let turn = w.fresh("j");
    let i = Tree::name(&turn);
    let length = Tree::int(PREFIX_ROW as i64);
    let carries: Vec<String> = tys.iter().map(|_| w.fresh("before")).collect();
    for ((name, &id), &ty) in carries.iter().zip(from).zip(&tys) {
        let lane = Lane::of(ty);
        let all = expr::spread(&w.get(id), lane);
        w.line(line![lane.vector(), " ", name, " = ", all, ";"]);
    }
    let places: Vec<Tree> = carries.iter().map(|name| address_of(&Tree::name(name))).collect();
    let call = |n: Tree| line![row.call(places.iter().cloned().chain([i.clone(), n])), ";"];
    w.line(line!["i64 ", turn, " = ", lo, ";"]);
    let whole = Tree::infix(Infix::Le, Tree::infix(Infix::Add, i.clone(), length.clone()), hi.clone());
    w.line(line!["for (; ", whole, "; ", turn, " += ", length, ") ", call(length.clone())]);
    let rest = Tree::cast("int", Tree::infix(Infix::Sub, hi.clone(), i.clone()));
    w.line(line!["if (", Tree::infix(Infix::Lt, i.clone(), hi), ") ", call(rest)]);
    for ((bind, carry), &ty) in stmt.binds.iter().zip(&carries).zip(&tys) {
        let lane = Lane::of(ty);
        let one = Tree::call(format!("lane_{}", lane.scalar()), [Tree::name(carry), Tree::int(0)]);
        let is_mask = lane == Lane::Mask;
        let one = if is_mask { Tree::infix(Infix::Ne, one, Tree::int(0)) } else { one };
        w.bind(bind.id, Value::uniform(ty, one), true);
    }
    Ok(())
}

/// A C function for the first `n` turns of a row from `i` on. What is before it is given, and set to what is behind it.
fn row_function(w: &mut CWriter, tys: &[Ty], body: &Body, monoid: &Monoid, put: &Body) -> Result<Captured, EmitError> {
    let fold = Fold::in_order(w, "prefixes", monoid, tys)?;
    let value = value_function(w, &fold, body, tys)?;
    let put = put_function(w, &fold, put, tys)?;
    let vectors = format!("{PREFIX_ROW} / W");
    let mut text = Code::default();
    text.all(1, fold.each(|k, lane| format!("{} x{k}[{vectors}];", lane.vector()).into()));
    text.add(1, format!("WAYS(u, {vectors}) {{"));
    let at = Tree::infix(Infix::Add, Tree::name("i"), Tree::infix(Infix::Mul, Tree::name("u"), Tree::name("W")));
    let live = Tree::call("lanes_left", ["n", "u"].map(Tree::name));
    text.all(2, fold.call(&value, &[at.clone(), live.clone()], &fold.named("z"), |lane| lane.vector()));
    text.all(2, fold.each(|k, _| format!("x{k}[u] = z{k};").into()));
    text.add(1, "}");
    let steps = std::iter::successors(Some(1), |by| Some(by * 2)).take_while(|&by| by < PREFIX_ROW);
    for by in steps {
        // From the last vector on, so that those before it are still what they were.
        text.add(1, format!("WAYS(back, {vectors}) {{"));
        text.add(2, format!("int u = {vectors} - 1 - back;"));
        text.all(2, fold.each(|k, lane| moved_up(&fold, k, lane, by)));
        text.add(2, fold.join(&fold.named("p"), &fold.elements("x", "u")));
        text.all(2, fold.each(|k, _| format!("x{k}[u] = p{k};").into()));
        text.add(1, "}");
    }
    text.add(1, format!("WAYS(u, {vectors}) {{"));
    text.all(2, fold.each(|k, lane| format!("{} p{k} = *before{k};", lane.vector()).into()));
    text.add(2, fold.join(&fold.named("p"), &fold.elements("x", "u")));
    let given = fold.named("p").into_iter().chain([at, live]);
    text.add(2, line![put.call(given), ";"]);
    text.add(1, "}");
    text.add(1, "int last = n - 1;");
    let last = |k: usize, lane: Lane| {
        let of = lane.scalar();
        format!("{} q{k} = all_{of}(lane_{of}(x{k}[last / W], last % W));", lane.vector()).into()
    };
    text.all(1, fold.each(last));
    text.all(1, fold.each(|k, lane| format!("{} p{k} = *before{k};", lane.vector()).into()));
    text.add(1, fold.join(&fold.named("p"), &fold.named("q")));
    text.all(1, fold.each(|k, _| format!("*before{k} = p{k};").into()));
    let before = fold.each(|k, lane| format!("{} *before{k}", lane.vector()));
    let parameters = [&before[..], &["i64 i".into(), "int n".into()]].concat();
    Ok(add_function(w, "FN void", format!("{}_row", fold.stem), &text, &parameters))
}

/// Declares `p`: vector `u` of a row moved up by so many turns; the neutral element comes in from below.
fn moved_up(fold: &Fold, k: usize, lane: Lane, by: usize) -> Line {
    let of = lane.scalar();
    let vector = lane.vector();
    let neutral = fold.neutral(k);
    let before = |back: &str| line![format!("(u >= {back} ? x{k}[u - {back}] : "), neutral.clone(), ")"];
    let whole = format!("({by} / W)");
    let next = format!("({by} / W + 1)");
    let here = before(&whole);
    let below = before(&next);
    line![format!("{vector} p{k} = up_{of}("), below, ", ", here, format!(", {by} % W);")]
}

/// A C function that does what is to be done with the prefixes of the turns `i..i + n`.
fn put_function(w: &mut CWriter, fold: &Fold, put: &Body, tys: &[Ty]) -> Result<Captured, EmitError> {
    let prefixes = fold.each(|k, lane| Value::vector(tys[k], lane, Tree::name(format!("p{k}"))));
    let turn = w.first_turn(Tree::name("i"));
    let code = w.aside(Live::Count, |w| {
        w.enter(put, &[&[turn][..], &prefixes].concat());
        w.stmts(put)
    })?;
    let own = fold.each(|k, lane| format!("{} p{k}", lane.vector()));
    let parameters = [&own[..], &["i64 i".into(), "int n".into()]].concat();
    Ok(add_function(w, "FN void", format!("{}_put", fold.stem), &code, &parameters))
}
