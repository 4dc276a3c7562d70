//! Loops over lanes in C: a function of one step, called for whole vectors and once more for the rest.

use super::EmitError;
use super::inside::{INSIDE, Middle};
use super::lines::line;
use super::value::{LaneForm, Value, scalar_type};
use super::writer::{CWriter, Live, TURN};
use crate::back::tree::{Binding, Infix, Tree};
use crate::code::{Body, Id, Op};
use crate::kernel::{Kernel, Space};
use crate::ops::Operator;
use crate::types::Ty;

/// Statements of a body that is worth being compiled for the middle of rows as well as for their ends.
const LONGEST_TWICE: usize = 200;

impl CWriter<'_> {
    pub(super) fn lanes(&mut self, lo: Id, hi: Id, body: &Body) -> Result<(), EmitError> {
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
        let middle = if short || count_all(body) > LONGEST_TWICE { Middle::default() } else { self.middle(body) };
        let middles = std::mem::replace(&mut self.inside, middle.clamped.clone());
        let i = Tree::name("i");
        let width = Tree::name("W");
        let further = Tree::infix(Infix::Mul, Tree::name(TURN), width.clone());
        let turn = self.first_turn(if self.ways.is_some() { Tree::infix(Infix::Add, i, further) } else { i });
        let written = self.aside(Live::Count, |w| {
            w.enter(body, &[turn]);
            w.stmts(body)
        });
        self.inside = middles;
        let mut code = super::local::declarations(self, &locals);
        code.append(&written?);
        let step = match self.ways.take() {
            Some(ways) => Tree::infix(Infix::Mul, ways, width),
            None => width,
        };
        let (declarations, arguments) = self.captured(&code);
        let middle = middle.begin().filter(|_| code.names().any(|name| name == INSIDE)).zip(Some(middle));
        let mut own = vec!["i64 i".to_string(), "int n".to_string()];
        own.extend(middle.as_ref().map(|_| format!("int {INSIDE}")));
        let parameters = [declarations, own].concat().join(", ");
        self.file.items.push(format!("FN void {name}({parameters}) {{\n{code}}}\n"));
        let anywhere = starts_anywhere(&self.kernel.body, lo);
        let lo = self.scalar(lo)?;
        let hi = self.bound(hi)?;
        let at = self.fresh("j");
        let i = Tree::name(&at);
        let is_cut = middle.is_some();
        let call_in = |n: Tree, inside: i64| {
            let inside = is_cut.then(|| Tree::int(inside));
            Tree::call(&name, arguments.iter().cloned().chain([i.clone(), n]).chain(inside))
        };
        let call = |n: Tree| call_in(n, 0);
        self.line(line!["i64 ", at, " = ", lo, ";"]);
        if anywhere {
            let head = self.fresh("head");
            let lanes = Tree::call("lanes_to_edge", [i.clone(), hi.clone()]);
            self.line(line!["int ", head, " = ", lanes, ";"]);
            self.line(line!["if (", head, ") ", call(Tree::name(&head)), ";"]);
            self.line(line![at, " += ", head, ";"]);
        }
        let whole = Tree::infix(Infix::Le, Tree::infix(Infix::Add, i.clone(), step.clone()), hi.clone());
        if let Some((begin, middle)) = middle {
            let from = self.fresh("from");
            let to = self.fresh("to");
            self.line(line!["i64 ", from, " = ", begin, ";"]);
            let before = Tree::infix(Infix::Lt, i.clone(), Tree::name(&from));
            let before = Tree::infix(Infix::Both, whole.clone(), before);
            self.line(line!["for (; ", before, "; ", at, " += ", step, ") ", call(step.clone()), ";"]);
            let end = middle.end(hi.clone()).unwrap_or_else(|| hi.clone());
            self.line(line!["i64 ", to, " = ", end, ";"]);
            let within = Tree::infix(Infix::Le, Tree::infix(Infix::Add, i.clone(), step.clone()), Tree::name(&to));
            self.line(line!["for (; ", within, "; ", at, " += ", step, ") ", call_in(step.clone(), 1), ";"]);
        }
        self.line(line!["for (; ", whole, "; ", at, " += ", step, ") ", call(step.clone()), ";"]);
        let rest = Tree::cast("int", Tree::infix(Infix::Sub, hi.clone(), i.clone()));
        let left = Tree::infix(Infix::Lt, i.clone(), hi);
        self.line(line!["if (", left, ") ", call(rest), ";"]);
        Ok(())
    }

    /// A position of lanes: `i`, `i + 1`, ….
    pub(super) fn first_turn(&self, first: Tree) -> Value {
        Value { ty: Ty::I64, form: LaneForm::Affine(first), range: None }
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
}

/// Does a loop start where a row was cut off? Whole vectors from there on would all lie across the lines of the cache, so that a first
/// short one goes up to where they lie within.
fn starts_anywhere(body: &Body, lo: Id) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.op {
        Op::Apply(Operator::Min | Operator::Max, _) => stmt.binds.iter().any(|bind| bind.id == lo),
        op => op.bodies().into_iter().any(|inner| starts_anywhere(inner, lo)),
    })
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
