//! `dce`: removes what nobody uses.
//!
//! Statements without effect and without a used result go; so do single results of array operations, branches, loops
//! and monoids that are not used, arguments that no branch reads, and functions that are not called. A component of a
//! monoid or of a loop's state stays if a component that is used depends on it. A `filter` stays if one of its results
//! or the size it counts is used.
//!
//! It does not change parameters or results of the program, parameters or results of functions, nor the list of size
//! variables: their numbers are a contract with the caller. It does not see that a value is used only by itself
//! across statements; only components inside one loop or monoid.
//!
//! ```text
//! %5: f32, %6: f32 = for %1 to %2 step %3 (%0, %0) |%7: i32, %8: f32, %9: f32| {
//!   %10: f32 = mul %8, %0
//!   %11: f32 = add %8, %9
//!   yield %10, %11
//! }
//! return %5
//! ```
//! becomes
//! ```text
//! %5: f32 = for %1 to %2 step %3 (%0) |%7: i32, %8: f32| { %10: f32 = mul %8, %0; yield %10 }
//! return %5
//! ```

use crate::class;
use crate::code::{Body, FnId, Function, Id, Monoid, Op, Stmt, Var};
use crate::kernel::Kernel;
use crate::program::{Program, Require};
use crate::size::{Size, SizeVar};
use std::collections::{HashMap, HashSet};

/// Runs the pass on a program.
pub fn run(mut program: Program) -> Program {
    let mut live = Live::default();
    program.requires.iter().flat_map(Require::sizes).for_each(|size| live.size(size));
    live.body(&mut program.body);
    for function in &mut program.functions {
        live.body(&mut function.body);
    }
    drop_unused_functions(&mut program.functions, &mut program.body);
    program
}

/// Runs the pass on a kernel. Its memories stay: the launch binds them.
pub fn kernel(mut kernel: Kernel) -> Kernel {
    let mut live = Live::default();
    live.body(&mut kernel.body);
    for function in &mut kernel.functions {
        live.body(&mut function.body);
    }
    drop_unused_functions(&mut kernel.functions, &mut kernel.body);
    kernel
}

/// Removes dead code from a body that binds all the names it uses; its parameters and results stay.
pub fn root(mut body: Body) -> Body {
    Live::default().body(&mut body);
    body
}

/// What is used by the code seen so far, which is the code that comes later.
#[derive(Default)]
struct Live {
    names: HashSet<Id>,
    sizes: HashSet<SizeVar>,
}

impl Live {
    fn has(&self, var: &Var) -> bool {
        self.names.contains(&var.id)
    }

    fn size(&mut self, size: &Size) {
        size.each_var(&mut |var| {
            self.sizes.insert(var);
        });
    }

    fn vars(&mut self, vars: &[Var]) {
        vars.iter().flat_map(|v| v.ty.shape()).for_each(|size| self.size(size));
    }

    /// Cleans a body whose results are all wanted.
    fn body(&mut self, body: &mut Body) {
        self.names.extend(&body.results);
        self.vars(&body.params);
        let mut kept = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts).into_iter().rev() {
            if self.wants(&stmt) {
                self.stmt(&mut stmt);
                kept.push(stmt);
            }
        }
        kept.reverse();
        body.stmts = kept;
    }

    fn wants(&self, stmt: &Stmt) -> bool {
        let used = stmt.binds.iter().any(|b| self.has(b));
        used || match &stmt.op {
            // Its only effect is the count.
            Op::Filter { kept, .. } => self.sizes.contains(kept),
            op => op.has_effect(),
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        self.drop_results(stmt);
        for body in stmt.op.bodies_mut() {
            self.body(body);
        }
        self.drop_branch_args(&mut stmt.op);
        self.vars(&stmt.binds);
        stmt.op.sizes().into_iter().for_each(|size| self.size(size));
        stmt.op.each_operand(&mut |id| {
            self.names.insert(id);
        });
    }

    /// Drops the results that nobody uses from a statement that stays.
    fn drop_results(&self, stmt: &mut Stmt) {
        let used: Vec<bool> = stmt.binds.iter().map(|b| self.has(b)).collect();
        if used.iter().all(|&u| u) {
            return;
        }
        let keep = match &mut stmt.op {
            Op::If { then, otherwise, .. } => {
                retain(&mut then.results, &used);
                retain(&mut otherwise.results, &used);
                used
            }
            Op::Tabulate { body, .. } => {
                retain(&mut body.results, &used);
                used
            }
            Op::Filter { body, .. } => {
                // A filter gives at least one array, also when only the count is wanted.
                let keep = if used.contains(&true) { used } else { (0..used.len()).map(|k| k == 0).collect() };
                retain(&mut body.results, &[&[true], &keep[..]].concat());
                keep
            }
            Op::Sort { widths, body, .. } => {
                retain(&mut body.results, &[&vec![true; widths.len()], &used[..]].concat());
                used
            }
            Op::For { init, body, .. } => {
                let keep = closure(used, |keep| needed_params(body, keep)[1..].to_vec());
                retain(init, &keep);
                retain(&mut body.params, &[&[true], &keep[..]].concat());
                retain(&mut body.results, &keep);
                keep
            }
            Op::While { init, cond, body } => {
                let tested = needed_params(cond, &[true]);
                let keep = closure(or(used, &tested), |keep| needed_params(body, keep));
                retain(init, &keep);
                retain(&mut cond.params, &keep);
                retain(&mut body.params, &keep);
                retain(&mut body.results, &keep);
                keep
            }
            Op::Fold { body, monoid, .. } | Op::Scan { body, monoid, .. } => {
                let keep = drop_components(monoid, used);
                retain(&mut body.results, &keep);
                keep
            }
            Op::Scatter { body, monoid, target, onto, .. } => {
                let keep = drop_components(monoid, used);
                retain(onto, &keep);
                retain(&mut body.results, &[&vec![true; target.len()], &keep[..]].concat());
                keep
            }
            Op::Lanes { body, monoid: Some(monoid), .. } => {
                let keep = match used.contains(&true) {
                    true => drop_components(monoid, used),
                    false => return,
                };
                retain(&mut body.results, &keep);
                keep
            }
            // The others give all of their results or none.
            Op::At { .. } | Op::Raw(_) | Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) => return,
            Op::Lanes { monoid: None, .. } | Op::Prefixes { .. } => return,
            class!(Scalar) | class!(Place) | class!(Call) | class!(Memory) => return,
        };
        retain(&mut stmt.binds, &keep);
    }

    /// Drops the arguments of a cleaned branch that neither side uses.
    fn drop_branch_args(&self, op: &mut Op) {
        if let Op::If { args, then, otherwise, .. } = op {
            let sides = then.params.iter().zip(&otherwise.params);
            let keep: Vec<bool> = sides.map(|(a, b)| self.has(a) || self.has(b)).collect();
            retain(args, &keep);
            retain(&mut then.params, &keep);
            retain(&mut otherwise.params, &keep);
        }
    }
}

/// Keeps the elements whose flag is set.
fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut flags = keep.iter();
    items.retain(|_| flags.next().copied().unwrap_or(true));
}

fn or(mut flags: Vec<bool>, others: &[bool]) -> Vec<bool> {
    flags.iter_mut().zip(others).for_each(|(flag, other)| *flag |= other);
    flags
}

/// Adds what `needs` asks for until it asks for nothing new.
fn closure(mut keep: Vec<bool>, needs: impl Fn(&[bool]) -> Vec<bool>) -> Vec<bool> {
    loop {
        let more = or(keep.clone(), &needs(&keep));
        if more == keep {
            return keep;
        }
        keep = more;
    }
}

/// Which parameters the wanted results depend on, or an effect in the body.
fn needed_params(body: &Body, wanted: &[bool]) -> Vec<bool> {
    let results = body.results.iter().zip(wanted).filter(|(_, wanted)| **wanted);
    let mut needed: HashSet<Id> = results.map(|(&id, _)| id).collect();
    for stmt in body.stmts.iter().rev() {
        if stmt.op.has_effect() || stmt.binds.iter().any(|b| needed.contains(&b.id)) {
            stmt.op.each_operand(&mut |id| {
                needed.insert(id);
            });
            for inner in stmt.op.bodies() {
                inner.each_free(&mut |id| {
                    needed.insert(id);
                });
            }
        }
    }
    body.params.iter().map(|p| needed.contains(&p.id)).collect()
}

/// Drops the components of a monoid on which no used one depends; says which are left.
fn drop_components(monoid: &mut Monoid, used: Vec<bool>) -> Vec<bool> {
    let keep = closure(used, |keep| {
        let needed = needed_params(&monoid.combine, keep);
        let (left, right) = needed.split_at(needed.len() / 2);
        or(left.to_vec(), right)
    });
    retain(&mut monoid.neutral, &keep);
    retain(&mut monoid.combine.params, &[&keep[..], &keep[..]].concat());
    retain(&mut monoid.combine.results, &keep);
    keep
}

fn drop_unused_functions(functions: &mut Vec<Function>, body: &mut Body) {
    let mut called = HashSet::new();
    each_call(body, &mut |callee| {
        called.insert(*callee);
    });
    // A function calls only functions before it, so one way backwards finds all.
    for k in (0..functions.len()).rev() {
        if called.contains(&FnId(k as u32)) {
            each_call(&mut functions[k].body, &mut |callee| {
                called.insert(*callee);
            });
        }
    }
    let kept = (0..functions.len() as u32).map(FnId).filter(|id| called.contains(id));
    let numbers: HashMap<FnId, FnId> = kept.zip((0..).map(FnId)).collect();
    let all = std::mem::take(functions).into_iter().zip((0..).map(FnId));
    *functions = all.filter(|(_, id)| called.contains(id)).map(|(function, _)| function).collect();
    let mut renumber = |callee: &mut FnId| *callee = *numbers.get(callee).unwrap_or(callee);
    functions.iter_mut().for_each(|f| each_call(&mut f.body, &mut renumber));
    each_call(body, &mut renumber);
}

fn each_call(body: &mut Body, f: &mut dyn FnMut(&mut FnId)) {
    for stmt in &mut body.stmts {
        if let Op::Call(callee, _) = &mut stmt.op {
            f(callee);
        }
        stmt.op.bodies_mut().into_iter().for_each(|inner| each_call(inner, f));
    }
}
