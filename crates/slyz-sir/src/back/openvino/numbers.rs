//! Whole numbers of a call that OpenVINO has no room for.
//!
//! Its CPU computes `i64` in 32 bits, and compares, reduces and multiplies matrices of all whole numbers as `f32`, which holds 24. What the
//! nodes of a graph can be is worked out from the arguments and sizes of a call: ranges, never too small. Two leniencies: what
//! becomes a whole number of a float is taken to fit 32 bits, and constants at the ends of `i64`, with which smallest and largest ones
//! begin, are the ends of 32 bits there.

use super::super::graph::{Graph, GraphError, NodeId, Op, Reduction, Region};
use super::FORMAT;
use crate::ops::Operator;
use crate::ranges::{Range, counts_width, exact};
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

/// Rounds of a loop before what grows is taken for anything.
const ROUNDS: usize = 2;

/// What OpenVINO computes in.
const WORD: Range = Range { lo: i32::MIN as i128, hi: i32::MAX as i128 };
/// Whole numbers that are `f32`s, and so are their neighbours.
const ROUNDED: Range = Range { lo: -(1 << 24) + 1, hi: (1 << 24) - 1 };

/// The smallest and the largest number of an argument.
pub type Ends = (i64, i64);

/// An error where a call may come to whole numbers past what OpenVINO computes in. `inputs` has the ends of arguments of whole numbers, in
/// order; `value` tells sizes.
///
/// ```
/// use slyz_sir::back::{graph, openvino};
/// use slyz_sir::pass::Selection;
/// let program = slyz_sir::text::parse_program("program squares<N>(%x: i64[N]) -> i64[N] {
///     %y: i64[N] = tabulate [N] |%i: i64| { %a: i64 = at %x[%i]  %b: i64 = mul %a, %a  yield %b }
///     return %y
/// }")?;
/// let graph = graph::of_program(&program, &[], &Selection::All, &openvino::FORMAT)?;
/// let check = |most| openvino::check_numbers(&graph, &|_| Some(3), &[Some((0, most))]);
/// assert!(check(1_000).is_ok());
/// assert!(check(100_000).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_numbers(
    graph: &Graph,
    value: &dyn Fn(SizeVar) -> Option<u64>,
    inputs: &[Option<Ends>],
) -> Result<(), GraphError> {
    let mut numbers = Numbers { graph, value, inputs, counted: HashMap::new(), ranges: HashMap::new() };
    numbers.count();
    numbers.nodes(0, graph.nodes.len() as u32);
    match numbers.past() {
        Some(most) => Err(GraphError::Wide { program: graph.name.clone(), format: FORMAT.name, most }),
        None => Ok(()),
    }
}

struct Numbers<'g> {
    graph: &'g Graph,
    value: &'g dyn Fn(SizeVar) -> Option<u64>,
    inputs: &'g [Option<Ends>],
    /// The most of sizes that are counted.
    counted: HashMap<SizeVar, u64>,
    /// Of whole numbers.
    ranges: HashMap<NodeId, Range>,
}

fn times(range: Range, count: i128) -> Range {
    Range::new(range.lo.saturating_mul(count), range.hi.saturating_mul(count))
}

/// What fits a type, or else anything: of `i32` it wraps around, of `i64` it is told.
fn of(ty: Ty, range: Range) -> Range {
    let room = Range::of(ty);
    if range.within(room) { range } else { room }
}

impl Numbers<'_> {
    /// No more is counted than there is to count.
    fn count(&mut self) {
        for node in &self.graph.nodes {
            if let (Op::Places(of), [Size::Var(var)]) = (&node.op, &node.shape[..]) {
                let most = self.extents(*of, 0..1);
                self.counted.insert(*var, u64::try_from(most).unwrap_or(u64::MAX));
            }
        }
    }

    fn size(&self, size: &Size) -> i128 {
        let value = |var: SizeVar| (self.value)(var).or_else(|| self.counted.get(&var).copied());
        size.eval(&value).map_or(WORD.hi, i128::from)
    }

    /// The product of some extents of a node.
    fn extents(&self, id: NodeId, axes: impl IntoIterator<Item = usize>) -> i128 {
        let shape = &self.graph.node(id).shape;
        axes.into_iter().map(|axis| self.size(&shape[axis])).fold(1, i128::saturating_mul)
    }

    fn all(&self, id: NodeId) -> i128 {
        self.extents(id, 0..self.graph.node(id).shape.len())
    }

    fn get(&self, id: NodeId) -> Range {
        let ty = self.graph.node(id).ty;
        self.ranges.get(&id).copied().unwrap_or(if ty.is_float() { WORD } else { Range::of(ty) })
    }

    fn nodes(&mut self, first: u32, end: u32) {
        for id in self.graph.needed(first, end) {
            if let Op::While { init, cond, body } = &self.graph.node(id).op {
                let state = self.turns(init, cond, body);
                let parts = self.graph.nodes.iter().enumerate();
                let parts = parts.filter_map(|(part, node)| match node.op {
                    Op::Part(of, number) if of == id => Some((NodeId(part as u32), state[number])),
                    _ => None,
                });
                self.ranges.extend(parts.collect::<Vec<_>>());
            } else if let Some(range) = self.range(id) {
                self.ranges.insert(id, of(self.graph.node(id).ty, range));
            }
        }
    }

    /// What a node can be; nothing where that is not for it to say, or where it is no whole number.
    fn range(&self, id: NodeId) -> Option<Range> {
        let node = self.graph.node(id);
        if node.ty.is_float() {
            return None;
        }
        Some(match &node.op {
            Op::Param | Op::Part(..) | Op::While { .. } => return None,
            Op::Input(number) => {
                let (lo, hi) = self.inputs.get(*number).copied().flatten()?;
                Range::new(lo.into(), hi.into())
            }
            Op::Const(all) => {
                let ends = all.iter().map(|&element| constant(element));
                ends.map(|n| Range::new(n, n)).reduce(Range::union)?
            }
            Op::Dim(x, axis) => Range::new(0, self.extents(*x, [*axis])),
            Op::Range(end) => Range::new(0, (self.get(*end).hi - 1).max(0)),
            Op::Places(x) => Range::new(0, (self.all(*x) - 1).max(0)),
            Op::Apply(operator, args) => {
                let args: Vec<Range> = args.iter().map(|&arg| self.get(arg)).collect();
                if node.ty == Ty::I64 && counts_width(*operator, &args) {
                    return Some(Range::FULL);
                }
                return exact(*operator, &args);
            }
            Op::Select(cond, a, b) => self.chosen(*cond, *a).union(self.get(*b)),
            Op::Cast(x) => self.get(*x),
            Op::Reshape(x, _) | Op::Unsqueeze(x, _) | Op::Broadcast(x, _) | Op::Transpose(x, _) => self.get(*x),
            Op::Slice { of, .. } | Op::Gather { of, .. } => self.get(*of),
            Op::Concat(all, _) => all.iter().map(|&part| self.get(part)).reduce(Range::union)?,
            Op::Reduce(by, x, axes) => reduced(*by, self.get(*x), self.extents(*x, axes.iter().copied())),
            Op::Prefixes(x, axis) => self.get(*x).union(times(self.get(*x), self.extents(*x, [*axis]))),
            Op::MatMul(a, b) => {
                let last = self.graph.node(*a).shape.len() - 1;
                times(exact(Operator::Mul, &[self.get(*a), self.get(*b)])?, self.extents(*a, [last]))
            }
            Op::Convolve(x, windows) => {
                let rank = self.graph.node(*windows).shape.len();
                times(exact(Operator::Mul, &[self.get(*x), self.get(*windows)])?, self.extents(*windows, 1..rank))
            }
            Op::Scatter { onto, values, by, .. } => match by {
                Reduction::Sum => {
                    let sums = times(self.get(*values), self.all(*values)).union(Range::new(0, 0));
                    exact(Operator::Add, &[self.get(*onto), of(node.ty, sums)])?
                }
                Reduction::Product => Range::of(node.ty),
                Reduction::Min | Reduction::Max | Reduction::All | Reduction::Any => {
                    self.get(*onto).union(self.get(*values))
                }
            },
        })
    }

    /// What is chosen where a condition holds: a counter goes on only below its bound.
    fn chosen(&self, cond: NodeId, then: NodeId) -> Range {
        let range = self.get(then);
        let counts = match (&self.graph.node(cond).op, &self.graph.node(then).op) {
            (Op::Apply(Operator::Lt, compared), Op::Apply(Operator::Add, added)) if compared[0] == added[0] => {
                self.get(compared[1]).hi - 1 + self.get(added[1]).hi
            }
            _ => range.hi,
        };
        Range::new(range.lo.min(counts), range.hi.min(counts))
    }

    /// What a loop carries: a few rounds, then what still grows is anything, but for counters; and once more, which is never too little.
    fn turns(&mut self, init: &[NodeId], cond: &Region, body: &Region) -> Vec<Range> {
        let first: Vec<Range> = init.iter().map(|&id| self.get(id)).collect();
        let mut state = first.clone();
        for round in 0.. {
            let next = self.turn(&state, &first, cond, body);
            let grows = |(old, new): (&Range, &Range)| !new.within(*old);
            if !state.iter().zip(&next).any(grows) {
                break;
            }
            let joined = state.iter().zip(&next).zip(init).map(|((old, new), &id)| match new.within(*old) {
                true => *old,
                false if round < ROUNDS => old.union(*new),
                false => Range::of(self.graph.node(id).ty),
            });
            state = joined.collect();
        }
        state = self.turn(&state, &first, cond, body);
        // What the nodes are, with the least that is known of the state.
        self.turn(&state, &first, cond, body);
        state
    }

    /// The state before or after one more turn.
    fn turn(&mut self, state: &[Range], first: &[Range], cond: &Region, body: &Region) -> Vec<Range> {
        self.ranges.extend(cond.params.iter().copied().zip(state.iter().copied()));
        self.nodes(cond.first, cond.end);
        let bound = self.bound(cond);
        let inside = state.iter().enumerate().map(|(number, range)| match bound {
            Some((counter, most)) if counter == number => Range::new(range.lo.min(most), range.hi.min(most)),
            _ => *range,
        });
        self.ranges.extend(body.params.iter().copied().zip(inside));
        self.nodes(body.first, body.end);
        let results = body.results.iter().map(|&id| self.get(id));
        results.zip(first).map(|(after, before)| after.union(*before)).collect()
    }

    /// The state that a loop without lanes counts by, and the most that it is while the loop goes on.
    fn bound(&self, cond: &Region) -> Option<(usize, i128)> {
        let Op::Apply(Operator::Lt, args) = &self.graph.node(*cond.results.first()?).op else { return None };
        let counter = cond.params.iter().position(|&param| param == args[0])?;
        Some((counter, self.get(args[1]).hi - 1))
    }

    /// Are they `f32`s, if not numbers of 24 bits then constants like those that stand where nothing was found?
    fn is_exact(&self, id: NodeId) -> bool {
        match &self.graph.node(id).op {
            Op::Const(all) => all.iter().all(|&element| constant(element) as f32 as i128 == constant(element)),
            Op::Select(_, a, b) => self.is_exact(*a) && self.is_exact(*b),
            Op::Reshape(x, _) | Op::Unsqueeze(x, _) | Op::Broadcast(x, _) | Op::Transpose(x, _) => self.is_exact(*x),
            _ => self.get(id).within(ROUNDED),
        }
    }

    /// The largest number, without its sign, that there is no room for.
    fn past(&self) -> Option<i128> {
        let size = |range: Range| range.lo.saturating_abs().max(range.hi.saturating_abs());
        let live = (0..self.graph.nodes.len()).filter(|&id| self.graph.live[id]).map(|id| NodeId(id as u32));
        let found = live.filter_map(|id| {
            let node = self.graph.node(id);
            let whole = |id: NodeId| !self.graph.node(id).ty.is_float();
            let fits = |id: NodeId| !whole(id) || self.get(id).within(ROUNDED);
            let stays = |id: NodeId| fits(id) || self.is_exact(id);
            let wide = node.ty == Ty::I64 && !self.get(id).within(WORD);
            let rounded = match &node.op {
                // What is compared with a number that is no more than 24 bits comes out right, whatever it is.
                Op::Apply(_, args) if node.ty == Ty::Bool => !args.iter().any(|&arg| fits(arg)),
                Op::Reduce(Reduction::Min | Reduction::Max, x, _) => !stays(*x),
                Op::Reduce(_, x, _) => !fits(*x) || !fits(id),
                Op::MatMul(a, b) | Op::Convolve(a, b) => ![*a, *b, id].into_iter().all(fits),
                _ => false,
            };
            let operands = if rounded { node.op.operands() } else { vec![] };
            let sizes = operands.into_iter().chain([id]).filter(|&id| whole(id)).map(|id| size(self.get(id)));
            (wide || rounded).then(|| sizes.max()).flatten()
        });
        found.max()
    }
}

fn constant(element: Scalar) -> i128 {
    let number = element.as_int();
    if [i64::MIN.into(), i64::MAX.into()].contains(&number) { number.clamp(WORD.lo, WORD.hi) } else { number }
}

fn reduced(by: Reduction, range: Range, count: i128) -> Range {
    match by {
        // Of some of them, too: it begins with one.
        Reduction::Sum => range.union(times(range, count)),
        Reduction::Product => {
            let most = range.lo.saturating_abs().max(range.hi.saturating_abs());
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let most = if most <= 1 { most } else { most.saturating_pow(count.min(128)) };
            Range::new(-most, most)
        }
        Reduction::Min | Reduction::Max | Reduction::All | Reduction::Any => range,
    }
}
