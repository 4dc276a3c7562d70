//! `fuse`: composes array functions, so that intermediate arrays are never stored.
//!
//! `tabulate(f).at(p)` *is* `f(p)`: a read of a tabulate is replaced by its body, in maps, folds, scans and scatters alike.
//! Work is repeated only when the cost model says that it is cheaper than storing and loading (see `Site`).
//! A tabulate of tabulates becomes one over all axes, and neighbours of one shape share one loop.
//!
//! ```text
//! %1: f32[N] = tabulate [N] |%2: i64| { %3: f32 = at %0[%2]; %4: f32 = mul %3, %3; yield %4 }
//! %5: f32 = fold [N] |%6: i64| { %7: f32 = at %1[%6]; yield %7 } with …
//!   ⇒
//! %5: f32 = fold [N] |%6: i64| { %3: f32 = at %0[%6]; %4: f32 = mul %3, %3; yield %4 } with …
//! ```
//!
//! What it does not do: remove what nobody reads any more (`dce` does), or merge a producer with the fold that reads it
//! when the producer is also stored.

use crate::code::{Body, Id, Monoid, Op, Stmt};
use crate::graph::Graph;
use crate::size::Size;
use std::collections::{HashMap, HashSet};

/// Cost of reading an element that is stored; a store costs twice that.
const LOAD: u64 = 2;
/// The cost of something that runs an unknown number of times.
const MANY: u64 = 1 << 20;
/// A graph does not grow past this many statements by fusion.
const LARGEST: usize = 50_000;

/// Runs the pass.
pub fn run(mut graph: Graph) -> Graph {
    let mut fresh = graph.fresh_ids();
    flatten(&mut graph.body);
    let sites = Sites::of(&graph.body);
    let mut fuser = Fuser { fresh: &mut fresh, sites, producers: HashMap::new(), size: count(&graph.body) };
    fuser.body(&mut graph.body, &mut HashMap::new());
    graph = super::dce::run(graph);
    share_loops(&mut graph.body, &mut fresh);
    graph
}

/// An array that is stored though something reads its elements.
pub struct Kept {
    /// Its shape.
    pub shape: Vec<Size>,
    /// Why it was not fused into its readers.
    pub why: String,
}

/// The arrays of a fused graph that are stored and read, with the reason.
pub fn kept(graph: &Graph) -> Vec<Kept> {
    fn walk(body: &Body, sites: &Sites, found: &mut Vec<Kept>) {
        for stmt in &body.stmts {
            stmt.op.bodies().iter().for_each(|b| walk(b, sites, found));
            let read = stmt.binds.iter().filter_map(|b| sites.sites.get(&b.id)).find(|s| s.once > 0);
            let (Some(site), Some(first)) = (read, stmt.binds.first()) else { continue };
            let why = match &stmt.op {
                Op::Tabulate { body, .. } => site.why(cost(body)),
                Op::Scan { .. } => "a scan is made as a whole".into(),
                Op::Scatter { .. } => "a scatter is made as a whole".into(),
                Op::Filter { .. } => "its length is known only when it is made".into(),
                _ => continue,
            };
            found.push(Kept { shape: first.ty.shape().to_vec(), why });
        }
    }
    let mut found = vec![];
    walk(&graph.body, &Sites::of(&graph.body), &mut found);
    found
}

fn count(body: &Body) -> usize {
    body.stmts.iter().map(|s| 1 + s.op.bodies().iter().map(|b| count(b)).sum::<usize>()).sum()
}

// ---- the cost model

/// What one run of a body costs, in additions.
pub(crate) fn cost(body: &Body) -> u64 {
    body.stmts.iter().fold(0, |sum: u64, s| sum.saturating_add(stmt_cost(&s.op)))
}

fn stmt_cost(op: &Op) -> u64 {
    let times = |shape: &[Size], each: u64| match Size::product(shape).constant() {
        Some(n) => each.saturating_mul(n),
        None => each.max(1).saturating_mul(MANY),
    };
    match op {
        Op::Const(_) | Op::Extent(_) | Op::Cast(..) | Op::Bitcast(..) => 0,
        Op::Apply(operator, _) => operator.row().cost as u64,
        Op::At { .. } => LOAD,
        Op::Call(..) => 40,
        Op::If { then, otherwise, .. } => cost(then).max(cost(otherwise)) + 1,
        Op::For { body, .. } => (cost(body) + 1).saturating_mul(16),
        Op::While { cond: c, body, .. } => (cost(c) + cost(body) + 1).saturating_mul(64),
        Op::Tabulate { shape, body } => times(shape, cost(body) + 2 * LOAD),
        Op::Fold { shape, body, monoid }
        | Op::Scan { shape, body, monoid }
        | Op::Scatter { shape, body, monoid, .. } => times(shape, cost(body) + cost(&monoid.combine)),
        _ => MANY,
    }
}

/// How often the reads of one array happen, for each of its elements.
#[derive(Clone, Copy, Default)]
struct Site {
    /// Reads that happen about once per element.
    once: u64,
    /// A read happens many times per element.
    many: bool,
    /// The array is used other than by reading elements: it is stored anyway.
    whole: bool,
}

impl Site {
    fn why(self, cost: u64) -> String {
        let dear = if cost >= MANY { "a loop".to_string() } else { format!("about {cost} additions") };
        match self {
            Site { many: true, .. } => format!("each element is read many times, and costs {dear}"),
            Site { whole: true, .. } => format!("it is stored anyway; computing an element again costs {dear}"),
            Site { once, .. } => format!("each element is read {once} times, and costs {dear}"),
        }
    }

    /// Is computing elements where they are read cheaper than storing them?
    fn is_cheaper_inline(self, cost: u64) -> bool {
        if self.many {
            // Layout changes and casts: no dearer than the load they replace.
            return cost <= LOAD + 1;
        }
        let again = cost.saturating_mul(self.once);
        let stored = if self.whole { 0 } else { cost + 2 * LOAD };
        again <= stored + LOAD * self.once
    }
}

/// The reads of every tabulate.
struct Sites {
    sites: HashMap<Id, Site>,
    /// The extents of the loops around the definition are the first so many of those around a read.
    defined: HashMap<Id, (usize, Vec<Size>)>,
}

impl Sites {
    fn of(body: &Body) -> Sites {
        let mut sites = Sites { sites: HashMap::new(), defined: HashMap::new() };
        sites.walk(body, &mut vec![]);
        sites
    }

    fn walk(&mut self, body: &Body, loops: &mut Vec<Option<Size>>) {
        for stmt in &body.stmts {
            if let Op::Tabulate { shape, .. } = &stmt.op {
                self.defined.extend(stmt.binds.iter().map(|b| (b.id, (loops.len(), shape.clone()))));
            }
            match &stmt.op {
                Op::At { array, .. } => self.read(*array, loops),
                op => op.each_operand(&mut |id| self.sites.entry(id).or_default().whole = true),
            }
            let depth = loops.len();
            match &stmt.op {
                Op::Tabulate { shape, .. }
                | Op::Fold { shape, .. }
                | Op::Scan { shape, .. }
                | Op::Scatter { shape, .. } => loops.extend(shape.iter().cloned().map(Some)),
                Op::Filter { extent, .. } => loops.push(Some(extent.clone())),
                Op::For { .. } | Op::While { .. } => loops.push(None),
                _ => {}
            }
            for inner in stmt.op.bodies() {
                self.walk(inner, loops);
            }
            loops.truncate(depth);
        }
        for &id in &body.results {
            self.sites.entry(id).or_default().whole = true;
        }
    }

    fn read(&mut self, array: Id, loops: &[Option<Size>]) {
        let site = self.sites.entry(array).or_default();
        let Some((depth, shape)) = self.defined.get(&array) else { return };
        // Loops over the array's own axes visit each element once; what is left repeats the read.
        let mut own = shape.clone();
        let mut repeats = 1u64;
        for extent in &loops[*depth..] {
            let place = extent.as_ref().and_then(|e| own.iter().position(|s| s == e));
            match (place, extent.as_ref().and_then(Size::constant)) {
                (Some(k), _) => {
                    own.swap_remove(k);
                }
                (None, Some(n)) => repeats = repeats.saturating_mul(n),
                (None, None) => repeats = MANY,
            }
        }
        site.once += repeats.min(MANY);
        site.many |= repeats >= 64;
    }
}

// ---- inlining

struct Producer {
    rank: usize,
    body: Body,
    result: Id,
}

struct Fuser<'a> {
    fresh: &'a mut dyn FnMut() -> Id,
    sites: Sites,
    /// Tabulates whose elements are computed where they are read.
    producers: HashMap<Id, Producer>,
    size: usize,
}

impl Fuser<'_> {
    fn body(&mut self, body: &mut Body, renamed: &mut HashMap<Id, Id>) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            stmt.op.each_operand_mut(&mut |id| *id = *renamed.get(id).unwrap_or(id));
            for inner in stmt.op.bodies_mut() {
                self.body(inner, renamed);
            }
            if let Op::At { array, index } = &stmt.op
                && let Some(producer) = self.producers.get(array)
                && producer.rank == index.len()
            {
                let Body { stmts: code, results, .. } = producer.body.instantiate(index, self.fresh);
                let place = producer.body.results.iter().position(|r| *r == producer.result).unwrap_or(0);
                self.size += count_stmts(&code);
                stmts.extend(code);
                renamed.insert(stmt.binds[0].id, results[place]);
                continue;
            }
            self.note(&stmt);
            stmts.push(stmt);
        }
        body.stmts = stmts;
        body.results.iter_mut().for_each(|id| *id = *renamed.get(id).unwrap_or(id));
    }

    /// Decides what becomes of a tabulate's reads.
    fn note(&mut self, stmt: &Stmt) {
        let Op::Tabulate { shape, body } = &stmt.op else { return };
        let gives_scalars = stmt.binds.iter().all(|b| b.ty.shape().len() == shape.len());
        if !gives_scalars || self.size > LARGEST {
            return;
        }
        for (bind, &result) in stmt.binds.iter().zip(&body.results) {
            // Only what this result needs is copied, and only that is paid for.
            let slice = super::dce::root(Body { results: vec![result], ..body.clone() });
            let site = self.sites.sites.get(&bind.id).copied().unwrap_or_default();
            if site.is_cheaper_inline(cost(&slice)) {
                self.producers.insert(bind.id, Producer { rank: shape.len(), body: slice, result });
            }
        }
    }
}

fn count_stmts(stmts: &[Stmt]) -> usize {
    stmts.iter().map(|s| 1 + s.op.bodies().iter().map(|b| count(b)).sum::<usize>()).sum()
}

// ---- nests

/// `tabulate(|i| tabulate(|j| …))` is `tabulate(|(i, j)| …)`, when nothing dear is computed per `i` only.
fn flatten(body: &mut Body) {
    for stmt in &mut body.stmts {
        stmt.op.bodies_mut().into_iter().for_each(flatten);
        let Op::Tabulate { shape, body: outer } = &mut stmt.op else { continue };
        let Some((last, before)) = outer.stmts.split_last() else { continue };
        let Op::Tabulate { shape: inner_shape, body: inner } = &last.op else { continue };
        let whole = last.binds.iter().map(|b| b.id).eq(outer.results.iter().copied());
        let mut reads_itself = false;
        inner.each_free(&mut |id| reads_itself |= last.binds.iter().any(|b| b.id == id));
        let cheap = before.iter().map(|s| stmt_cost(&s.op)).sum::<u64>() <= LOAD;
        let arrays = before.iter().any(|s| s.binds.iter().any(|b| !b.ty.shape().is_empty()));
        if !whole || !cheap || arrays || reads_itself {
            continue;
        }
        let joined = Body {
            params: [&outer.params[..], &inner.params[..]].concat(),
            stmts: [before, &inner.stmts[..]].concat(),
            results: inner.results.clone(),
        };
        *shape = [&shape[..], &inner_shape[..]].concat();
        *outer = joined;
    }
}

// ---- neighbours

/// Tabulates, or folds, of one shape that do not depend on each other share one loop.
fn share_loops(body: &mut Body, fresh: &mut dyn FnMut() -> Id) {
    for stmt in &mut body.stmts {
        stmt.op.bodies_mut().into_iter().for_each(|b| share_loops(b, fresh));
    }
    let mut first = 0;
    while first < body.stmts.len() {
        let partner = (first + 1..body.stmts.len()).find(|&second| can_share(&body.stmts, first, second));
        match partner {
            Some(second) => {
                let stmt = body.stmts.remove(second);
                merge(&mut body.stmts[first], stmt, fresh);
                let merged = body.stmts.remove(first);
                // Everything the second needs stands before it, and nothing between reads the first.
                body.stmts.insert(second - 1, merged);
            }
            None => first += 1,
        }
    }
}

/// Elements that are computed without loops: joining such loops only saves work.
fn is_plain(body: &Body) -> bool {
    body.stmts.iter().all(|s| match &s.op {
        Op::If { then, otherwise, .. } => is_plain(then) && is_plain(otherwise),
        Op::Const(_)
        | Op::Extent(_)
        | Op::Apply(..)
        | Op::Cast(..)
        | Op::Bitcast(..)
        | Op::Call(..)
        | Op::At { .. } => true,
        _ => false,
    })
}

fn can_share(stmts: &[Stmt], first: usize, second: usize) -> bool {
    let alike = match (&stmts[first].op, &stmts[second].op) {
        (Op::Tabulate { shape: a, body: x }, Op::Tabulate { shape: b, body: y }) => {
            let scalars = |s: &Stmt| s.binds.iter().all(|v| v.ty.shape().len() == a.len());
            a == b && is_plain(x) && is_plain(y) && scalars(&stmts[first]) && scalars(&stmts[second])
        }
        (Op::Fold { shape: a, body: x, monoid: m }, Op::Fold { shape: b, body: y, monoid: n }) => {
            a == b && is_plain(x) && is_plain(y) && m.commutative == n.commutative
        }
        _ => false,
    };
    // The first moves down to the second: nothing up to and including the second may use it.
    let made: HashSet<Id> = stmts[first].binds.iter().map(|b| b.id).collect();
    alike && !stmts[first + 1..=second].iter().any(|s| uses(s, &made))
}

fn uses(stmt: &Stmt, ids: &HashSet<Id>) -> bool {
    let mut found = false;
    stmt.op.each_operand(&mut |id| found |= ids.contains(&id));
    stmt.op.bodies().iter().for_each(|b| b.each_free(&mut |id| found |= ids.contains(&id)));
    found
}

fn merge(first: &mut Stmt, second: Stmt, fresh: &mut dyn FnMut() -> Id) {
    match (&mut first.op, &second.op) {
        (Op::Tabulate { body, .. }, Op::Tabulate { body: other, .. }) => append(body, other, fresh),
        (Op::Fold { body, monoid, .. }, Op::Fold { body: other, monoid: second, .. }) => {
            append(body, other, fresh);
            *monoid = join_monoids(monoid, second);
        }
        _ => unreachable!("only loops of one kind are merged"),
    }
    first.binds.extend(second.binds);
}

/// Runs `other` after `body`, at the same position.
fn append(body: &mut Body, other: &Body, fresh: &mut dyn FnMut() -> Id) {
    let at: Vec<Id> = body.params.iter().map(|p| p.id).collect();
    let code = other.instantiate(&at, fresh);
    body.stmts.extend(code.stmts);
    body.results.extend(code.results);
}

/// The product of two monoids.
fn join_monoids(a: &Monoid, b: &Monoid) -> Monoid {
    let (k, n) = (a.neutral.len(), b.neutral.len());
    let (x, y) = (&a.combine, &b.combine);
    let combine = Body {
        params: [&x.params[..k], &y.params[..n], &x.params[k..], &y.params[n..]].concat(),
        stmts: [&x.stmts[..], &y.stmts[..]].concat(),
        results: [&x.results[..], &y.results[..]].concat(),
    };
    let neutral = [&a.neutral[..], &b.neutral[..]].concat();
    Monoid { neutral, combine, commutative: a.commutative && b.commutative }
}
