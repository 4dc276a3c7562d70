//! How much work a launch is, roughly, to decide how many threads share it.
//!
//! The unit is an element streamed through memory. A small array can still mean much work (n bodies, n² pairs), so
//! beside the memories the code counts: the operators' costs from the table, times the turns of the loops around
//! them. Bounds of loops are followed through sizes and simple arithmetic, for the first block and the first turn of
//! each loop around; what cannot be followed is guessed. Nothing but speed depends on it.

use slyz_sir::class;
use slyz_sir::code::{Body, Id, Op};
use slyz_sir::kernel::Kernel;
use slyz_sir::ops::Operator;
use slyz_sir::size::SizeVar;
use slyz_sir::types::Scalar;
use std::collections::HashMap;

/// Operations that take as long as one element streamed.
pub(crate) const PER_ELEMENT: f64 = 16.0;
/// Turns of a loop whose bounds depend on data.
const UNKNOWN_TURNS: f64 = 16.0;

/// The work of a launch with these sizes.
pub(crate) fn work(kernel: &Kernel, blocks: u64, sizes: &dyn Fn(SizeVar) -> Option<u64>) -> u64 {
    let functions = functions(kernel, sizes);
    let threads: f64 = kernel.block.iter().map(|&n| f64::from(n.max(1))).product();
    let mut walk = Walk { sizes, functions: &functions, known: HashMap::new() };
    let cost = walk.body(&kernel.body) * threads * blocks as f64 / PER_ELEMENT;
    cost as u64
}

/// What one thread of a kernel computes, the first, with these scalars for its parameters; an addition is 1.
pub(crate) fn of_thread(kernel: &Kernel, sizes: &dyn Fn(SizeVar) -> Option<u64>, scalars: &[Scalar]) -> f64 {
    let functions = functions(kernel, sizes);
    let whole = |scalar: &Scalar| scalar.ty.is_int().then(|| i64::try_from(scalar.as_int()).ok()).flatten();
    let known = kernel.body.params.iter().zip(scalars).filter_map(|(param, scalar)| Some((param.id, whole(scalar)?)));
    Walk { sizes, functions: &functions, known: known.collect() }.body(&kernel.body)
}

/// The costs of the functions.
fn functions(kernel: &Kernel, sizes: &dyn Fn(SizeVar) -> Option<u64>) -> Vec<f64> {
    kernel.functions.iter().fold(vec![], |mut costs, function| {
        let cost = Walk { sizes, functions: &costs, known: HashMap::new() }.body(&function.body);
        costs.push(cost);
        costs
    })
}

struct Walk<'a> {
    sizes: &'a dyn Fn(SizeVar) -> Option<u64>,
    /// Costs of the functions so far; a function calls only functions before it.
    functions: &'a [f64],
    /// Integers that are known for the first block.
    known: HashMap<Id, i64>,
}

impl Walk<'_> {
    fn body(&mut self, body: &Body) -> f64 {
        let mut cost = 0.0;
        for stmt in &body.stmts {
            cost += self.op(&stmt.op);
            if let ([bind], Some(value)) = (&stmt.binds[..], self.value(&stmt.op)) {
                self.known.insert(bind.id, value);
            }
        }
        cost
    }

    fn op(&mut self, op: &Op) -> f64 {
        match op {
            Op::Const(_) | Op::Extent(_) | Op::Place(..) => 0.0,
            Op::Apply(operator, _) => f64::from(operator.row().cost),
            Op::Call(function, _) => self.functions.get(function.0 as usize).copied().unwrap_or(1.0),
            Op::For { lo, hi, step, body, .. } => {
                self.first_turn(*lo, body);
                self.turns(*lo, *hi, Some(*step)) * (1.0 + self.body(body))
            }
            Op::Lanes { lo, hi, body, monoid } => {
                self.first_turn(*lo, body);
                let combine = monoid.as_ref().map_or(0.0, |monoid| self.body(&monoid.combine));
                self.turns(*lo, *hi, None) * (self.body(body) + combine)
            }
            Op::Prefixes { lo, hi, body, monoid, put, .. } => {
                self.first_turn(*lo, body);
                let each = self.body(body) + self.body(&monoid.combine) + self.body(put);
                self.turns(*lo, *hi, None) * each
            }
            Op::While { cond, body, .. } => UNKNOWN_TURNS * (self.body(cond) + self.body(body)),
            Op::If { then, otherwise, .. } => self.body(then).max(self.body(otherwise)),
            Op::Cast(..) | Op::Bitcast(..) => 1.0,
            Op::Barrier(_) | Op::Fence(_) | Op::Subgroup(..) | Op::Mma(..) | class!(Memory) => 1.0,
            // Arrays as values do not occur in kernels.
            class!(Array) => 1.0,
        }
    }

    /// Inside a loop its counter is what it is in the first turn.
    fn first_turn(&mut self, lo: Id, body: &Body) {
        if let (Some(&lo), Some(counter)) = (self.known.get(&lo), body.params.first()) {
            self.known.insert(counter.id, lo);
        }
    }

    fn turns(&self, lo: Id, hi: Id, step: Option<Id>) -> f64 {
        let step = step.map_or(Some(1), |step| self.known.get(&step).copied());
        match (self.known.get(&lo), self.known.get(&hi), step) {
            (Some(&lo), Some(&hi), Some(step)) => ((hi as f64 - lo as f64) / step.max(1) as f64).max(0.0),
            _ => UNKNOWN_TURNS,
        }
    }

    /// The value for the first block, of what loop bounds are usually made of.
    fn value(&self, op: &Op) -> Option<i64> {
        match op {
            Op::Const(scalar) => i64::try_from(scalar.as_int()).ok(),
            Op::Extent(size) => size.eval(self.sizes).ok().and_then(|n| i64::try_from(n).ok()),
            Op::Place(..) => Some(0),
            Op::Cast(_, arg) => self.known.get(arg).copied(),
            Op::Apply(operator, args) => {
                let &[a, b] = &args[..] else { return None };
                let a = *self.known.get(&a)?;
                let b = *self.known.get(&b)?;
                if *operator == Operator::Add {
                    a.checked_add(b)
                } else if *operator == Operator::Sub {
                    a.checked_sub(b)
                } else if *operator == Operator::Mul {
                    a.checked_mul(b)
                } else if *operator == Operator::Div {
                    a.checked_div(b)
                } else if *operator == Operator::Min {
                    Some(a.min(b))
                } else if *operator == Operator::Max {
                    Some(a.max(b))
                } else {
                    None
                }
            }
            Op::Bitcast(..) | class!(Call) | class!(Control) | class!(Array) | class!(Memory) | class!(Meeting) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slyz_sir::code::{Stmt, Type, Var};
    use slyz_sir::size::{Size, SizeDecl, SizeOrigin};
    use slyz_sir::types::Ty;

    fn stmt(id: u32, op: Op) -> Stmt {
        Stmt { binds: vec![Var { id: Id(id), ty: Type::Scalar(Ty::I64) }], op }
    }

    /// A block of 64 positions, each of which goes over all `n`.
    fn pairs() -> Kernel {
        let n = Size::Var(SizeVar(0));
        let constant = |id, value| stmt(id, Op::Const(Scalar::i64(value)));
        let work = |id| stmt(id, Op::Apply(Operator::Mul, vec![Id(5), Id(5)]));
        let inner = Body { stmts: vec![work(10), work(11), work(12)], ..Body::default() };
        let turns = Op::For { lo: Id(1), hi: Id(4), step: Id(2), init: vec![], body: inner };
        let outer = Body { stmts: vec![Stmt { binds: vec![], op: turns }], ..Body::default() };
        let lanes = Op::Lanes { lo: Id(7), hi: Id(9), body: outer, monoid: None };
        let body = vec![
            constant(1, 0),
            constant(2, 1),
            constant(3, 64),
            stmt(4, Op::Extent(n.clone())),
            stmt(6, Op::Place(slyz_sir::code::Place::Block, 0)),
            stmt(7, Op::Apply(Operator::Mul, vec![Id(6), Id(3)])),
            stmt(8, Op::Apply(Operator::Add, vec![Id(7), Id(3)])),
            stmt(9, Op::Apply(Operator::Min, vec![Id(8), Id(4)])),
            Stmt { binds: vec![], op: lanes },
        ];
        Kernel {
            name: "pairs".into(),
            sizes: vec![SizeDecl { name: "N".into(), origin: SizeOrigin::Given }],
            memories: vec![],
            functions: vec![],
            grid: [Size::CeilDiv(n.into(), 64), Size::Const(1), Size::Const(1)],
            block: [1, 1, 1],
            precision: None,
            product: None,
            raw: None,
            as_written: false,
            names: Default::default(),
            body: Body { stmts: body, ..Body::default() },
        }
    }

    #[test]
    fn loops_are_followed_through_their_bounds() {
        let of = |n: u64| work(&pairs(), n.div_ceil(64), &|_| Some(n));
        // Four units a pair: three operators and the turn.
        let near = |work: u64, pairs: u64| work.abs_diff(pairs * 4 / 16) <= work / 10;
        assert!(near(of(4096), 4096 * 4096), "{}", of(4096));
        assert!(near(of(64), 64 * 64), "{}", of(64));
        assert!(of(16) < 100, "{}", of(16));
    }

    /// Small arrays with much work between them, as the lowering writes them.
    #[test]
    fn pairs_of_a_lowered_program_are_seen() {
        let text = "program pairs<N>(%x: f32[N]) -> f32[N] {
            %zero: f32 = const 0.0
            %y: f32[N] = tabulate [N] |%i: i64| {
                %a: f32 = at %x[%i]
                %s: f32 = fold [N] |%j: i64| { %b: f32 = at %x[%j]  %d: f32 = sub %a, %b  %e: f32 = mul %d, %d  yield %e }
                    with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
                yield %s
            }
            return %y
        }";
        let plan = slyz_sir::lower::cpu::lower(&slyz_sir::text::parse_program(text).unwrap());
        let of = |n: u64| {
            let blocks = |k: &Kernel| Size::product(&k.grid).eval(&|_| Some(n)).unwrap();
            plan.kernels.iter().map(|k| work(k, blocks(k), &|_| Some(n))).max().unwrap()
        };
        assert!(of(16) < 1 << 15, "{}", of(16));
        assert!(of(4096) > 1 << 20, "{}", of(4096));
    }
}
