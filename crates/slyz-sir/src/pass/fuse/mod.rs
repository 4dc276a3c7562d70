//! `fuse`: composes array functions, so that intermediate arrays are never stored.
//!
//! `tabulate(f).at(p)` *is* `f(p)`: a read of a tabulate is replaced by its body, in maps, folds, scans and scatters alike.
//! A tabulate that is read at one place is moved there (`merge`). Another is copied to all places that read it only when the cost
//! model says that computing elements again is cheaper than storing and loading them (`copy`, and `Site` in `sites`).
//! Loops over segments of an array count as one read of each element (`segments`). A tabulate of tabulates becomes one over all axes, neighbours of one shape share one loop (`neighbours`), and sorts inside of a tabulate
//! become one sort of all lines (`lift`).
//!
//! ```text
//! %1: f32[N] = tabulate [N] |%2: i64| { %3: f32 = at %0[%2]; %4: f32 = mul %3, %3; yield %4 }
//! %5: f32 = fold [N] |%6: i64| { %7: f32 = at %1[%6]; yield %7 } with …
//!   ⇒
//! %5: f32 = fold [N] |%6: i64| { %3: f32 = at %0[%6]; %4: f32 = mul %3, %3; yield %4 } with …
//! ```
//!
//! What it does not do: remove what nobody reads any more (`dce` does), merge a producer with the fold that reads it
//! when the producer is also stored, or make kernels without end: past [`LONGEST`] an array is stored, and the next kernel begins.

mod copy;
mod cost;
mod lift;
mod merge;
mod neighbours;
mod segments;
mod sites;

pub(crate) use cost::cost;

use crate::code::{Body, Op};
use crate::program::Program;
use crate::size::Size;
use cost::{LOAD, stmt_cost};
use sites::Sites;

/// How long fusion makes the code of a kernel, in additions. Registers end before that; and a C compiler takes a quarter of a second.
pub const LONGEST: u64 = 1000;

/// Runs the pass.
pub fn run(mut program: Program) -> Program {
    flatten(&mut program.body);
    merge::run(&mut program.body);
    let mut fresh = program.fresh_ids();
    lift::run(&mut program.body, &mut fresh);
    copy::run(&mut program.body, &mut fresh);
    program = super::dce::run(program);
    neighbours::share(&mut program.body);
    program
}

/// An array that is stored though something reads its elements.
pub struct Kept {
    /// Its shape.
    pub shape: Vec<Size>,
    /// Why it was not fused into its readers.
    pub why: String,
}

/// The arrays of a fused program that are stored and read, with the reason.
pub fn kept(program: &Program) -> Vec<Kept> {
    fn walk(body: &Body, sites: &Sites, found: &mut Vec<Kept>) {
        for stmt in &body.stmts {
            stmt.op.bodies().iter().for_each(|b| walk(b, sites, found));
            let read = stmt.binds.iter().map(|b| sites.site(b.id)).find(|site| site.once > 0);
            let (Some(site), Some(first)) = (read, stmt.binds.first()) else { continue };
            let why = match &stmt.op {
                Op::Tabulate { shape, body } => site.why(cost(body), first.ty.shape().len() > shape.len()),
                Op::Scan { .. } => "a scan is made as a whole".into(),
                Op::Scatter { .. } => "a scatter is made as a whole".into(),
                Op::Sort { .. } => "a sort is made as a whole".into(),
                Op::Filter { .. } => "its length is known only when it is made".into(),
                _ => continue,
            };
            found.push(Kept { shape: first.ty.shape().to_vec(), why });
        }
    }
    let mut found = vec![];
    walk(&program.body, &Sites::of(&program.body), &mut found);
    found
}

/// `tabulate(|i| tabulate(|j| …))` is `tabulate(|(i, j)| …)`, when nothing dear is computed per `i` only; so it is with a sort.
fn flatten(body: &mut Body) {
    for stmt in &mut body.stmts {
        stmt.op.bodies_mut().into_iter().for_each(flatten);
        let Op::Tabulate { shape, body: outer } = &mut stmt.op else { continue };
        let Some((last, before)) = outer.stmts.split_last() else { continue };
        let (inner_shape, inner) = match &last.op {
            Op::Tabulate { shape, body } | Op::Sort { shape, body, .. } => (shape, body),
            _ => continue,
        };
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
        let whole = [&shape[..], &inner_shape[..]].concat();
        stmt.op = match &last.op {
            Op::Sort { widths, .. } => Op::Sort { shape: whole, widths: widths.clone(), body: joined },
            _ => Op::Tabulate { shape: whole, body: joined },
        };
    }
}
