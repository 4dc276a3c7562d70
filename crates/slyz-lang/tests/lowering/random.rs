//! Random programs: the lowered kernel does what the typed tree says.
//!
//! A program is made from a list of bytes: each decision takes the next one, and zeros (which also follow after the last byte)
//! decide for the simplest. So a failing program shrinks as its bytes do.

use crate::reference::{Outside, Reference, Store};
use crate::run::{lowered, sizes, try_launched};
use crate::tree::*;
use proptest::prelude::*;
use slyz_lang::span::Span;
use slyz_lang::typed::*;
use slyz_sir::code::{AtomicOp, Place};
use slyz_sir::kernel::Kernel;
use slyz_sir::launch::Template;
use slyz_sir::ops::Operator;
use slyz_sir::pass::bounds::{self, Facts};
use slyz_sir::pass::optimize_kernel;
use slyz_sir::pass::weave::{self, Blocking};
use slyz_sir::types::{Scalar, Ty};
use slyz_trials::property;

/// Operators on whole numbers.
const INT_OPERATORS: [Operator; 8] = [
    Operator::Add,
    Operator::Sub,
    Operator::Mul,
    Operator::Div,
    Operator::Rem,
    Operator::Min,
    Operator::Max,
    Operator::Xor,
];

/// Makes one function.
struct Maker<'b> {
    bytes: std::slice::Iter<'b, u8>,
    /// Functions that may be called.
    before: &'b [Function],
    locals: Vec<Ty>,
    /// Locals that can be read and set here.
    seen: Vec<LocalId>,
    /// Memories that can be read, with their axes; and whether they can be written.
    memories: Vec<(MemoryRef, usize, bool)>,
    result: Option<Ty>,
    in_loop: bool,
    depth: usize,
}

impl Maker<'_> {
    fn pick(&mut self, of: usize) -> usize {
        *self.bytes.next().unwrap_or(&0) as usize % of
    }

    fn local(&mut self, ty: Ty) -> LocalId {
        self.locals.push(ty);
        LocalId(self.locals.len() as u32 - 1)
    }

    fn constant(&mut self, ty: Ty) -> Expr {
        let value = [0, 1, 2, 3, -1, 5, 7][self.pick(7)];
        made(ty, ExprKind::Const(Scalar::from_int(ty, if ty == Ty::Bool { value & 1 } else { value })))
    }

    fn seen_of(&mut self, ty: Ty) -> Option<LocalId> {
        let fit: Vec<LocalId> = self.seen.iter().copied().filter(|id| self.locals[id.0 as usize] == ty).collect();
        if fit.is_empty() { None } else { Some(fit[self.pick(fit.len())]) }
    }

    /// A scoped part: what it declares is not seen outside.
    fn scoped<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        let seen = self.seen.len();
        self.depth += 1;
        let made = part(self);
        self.depth -= 1;
        self.seen.truncate(seen);
        made
    }

    fn expr(&mut self, ty: Ty) -> Expr {
        self.scoped(|m| m.open_expr(ty))
    }

    fn open_expr(&mut self, ty: Ty) -> Expr {
        // The deeper, the simpler.
        let choice = self.pick(if self.depth > 7 { 2 } else { 12 + 3 * self.depth });
        let kind = match choice {
            0 => return self.constant(ty),
            1 | 2 | 12.. => match self.seen_of(ty) {
                Some(local) => ExprKind::Local(local),
                None => return self.constant(ty),
            },
            3 => {
                let from = [Ty::I64, Ty::I32, Ty::U8, Ty::Bool][self.pick(4)];
                ExprKind::Cast(self.expr(from).into())
            }
            4 => {
                let (then, value) = self.valued(ty);
                let (otherwise, other) = self.valued(ty);
                let cond = self.expr(Ty::Bool).into();
                ExprKind::If { cond, then: (then, value.into()), otherwise: (otherwise, other.into()) }
            }
            5 => return self.called(ty),
            _ if ty == Ty::Bool => match self.pick(4) {
                0 => ExprKind::AndThen(self.expr(ty).into(), self.second().into()),
                1 => ExprKind::OrElse(self.expr(ty).into(), self.second().into()),
                2 => ExprKind::Apply(Operator::Not, vec![self.expr(ty)]),
                _ => {
                    let of = [Ty::I64, Ty::I32, Ty::U8][self.pick(3)];
                    let operator = [Operator::Lt, Operator::Eq, Operator::Ge, Operator::Ne][self.pick(4)];
                    ExprKind::Apply(operator, vec![self.expr(of), self.expr(of)])
                }
            },
            6 if ty == Ty::I64 && !self.memories.is_empty() => {
                let (memory, axes, _) = self.memory();
                let axis = (axes > 1).then_some(1);
                ExprKind::Extent(memory, axis)
            }
            7 if ty == Ty::I64 && !self.memories.is_empty() => ExprKind::Place(Place::Global, 1),
            8 | 9 if ty == Ty::I64 && !self.memories.is_empty() => {
                let (memory, axes, _) = self.memory();
                ExprKind::Load(memory, self.index(axes))
            }
            10 if ty == Ty::I64 && self.memories.iter().any(|memory| memory.2) => {
                let (memory, axes) = self.writable();
                let index = self.index(axes);
                let (op, count) = [
                    (AtomicOp::Update(Operator::Add), 1),
                    (AtomicOp::Exchange, 1),
                    (AtomicOp::CompareExchange, 2),
                    (AtomicOp::Load, 0),
                    (AtomicOp::Store, 1),
                ][self.pick(5)];
                ExprKind::Atomic { op, memory, index, args: (0..count).map(|_| self.expr(ty)).collect() }
            }
            11 => {
                let cond = self.expr(Ty::Bool);
                ExprKind::Apply(Operator::Select, vec![cond, self.expr(ty), self.expr(ty)])
            }
            _ => {
                let operator = INT_OPERATORS[self.pick(INT_OPERATORS.len())];
                ExprKind::Apply(operator, vec![self.expr(ty), self.expr(ty)])
            }
        };
        made(ty, kind)
    }

    /// The second part of `&&` and `||`: often one that it can be told from whether it was evaluated.
    fn second(&mut self) -> Expr {
        if self.pick(2) == 0 || !self.memories.iter().any(|memory| memory.2) {
            return self.expr(Ty::Bool);
        }
        let (memory, axes) = self.writable();
        let (op, index, args) = (AtomicOp::Update(Operator::Add), self.index(axes), vec![int(3)]);
        lt(made(Ty::I64, ExprKind::Atomic { op, memory, index, args }), self.expr(Ty::I64))
    }

    fn memory(&mut self) -> (MemoryRef, usize, bool) {
        let at = self.pick(self.memories.len());
        self.memories[at]
    }

    fn writable(&mut self) -> (MemoryRef, usize) {
        let fit: Vec<_> = self.memories.iter().filter(|memory| memory.2).copied().collect();
        let (memory, axes, _) = fit[self.pick(fit.len())];
        (memory, axes)
    }

    /// Mostly inside: memories have a few elements along each axis.
    fn index(&mut self, axes: usize) -> Vec<Expr> {
        let one = |m: &mut Self| match m.pick(4) {
            0 => int(m.pick(3) as i64),
            1 => m.expr(Ty::I64),
            _ => {
                let clamped = vec![m.expr(Ty::I64), int(0), int(1)];
                apply(Operator::Clamp, clamped)
            }
        };
        (0..axes).map(|_| one(self)).collect()
    }

    /// Statements, then a value that may look at what they declare.
    fn valued(&mut self, ty: Ty) -> (Vec<Stmt>, Expr) {
        self.scoped(|m| {
            let stmts = match m.pick(3) {
                0 => m.stmts(),
                _ => vec![],
            };
            (stmts, m.open_expr(ty))
        })
    }

    fn called(&mut self, ty: Ty) -> Expr {
        let fit: Vec<usize> = (0..self.before.len()).filter(|&k| self.before[k].result == Some(ty)).collect();
        if fit.is_empty() {
            return self.constant(ty);
        }
        let at = fit[self.pick(fit.len())];
        made(ty, ExprKind::Call(FunctionId(at as u32), self.args(at)))
    }

    fn args(&mut self, function: usize) -> Vec<Arg> {
        let before = self.before;
        let arg = |param: &Param| match param.kind {
            ParamKind::Scalar(_, ty) => Arg::Value(self.expr(ty)),
            // Any memory of several axes does for a flat tensor.
            ParamKind::Tensor { .. } => Arg::Memory(self.writable().0),
        };
        before[function].params.iter().map(arg).collect()
    }

    fn stmts(&mut self) -> Vec<Stmt> {
        let count = self.pick(5);
        (0..count).flat_map(|_| self.stmt()).collect()
    }

    fn block(&mut self) -> Vec<Stmt> {
        self.scoped(Self::stmts)
    }

    fn looped(&mut self) -> Vec<Stmt> {
        let around = std::mem::replace(&mut self.in_loop, true);
        let body = self.block();
        self.in_loop = around;
        body
    }

    fn stmt(&mut self) -> Vec<Stmt> {
        let ty = [Ty::I64, Ty::I32, Ty::U8, Ty::Bool][self.pick(4)];
        let simple = self.depth > 4;
        match self.pick(if simple { 6 } else { 14 }) {
            0 | 1 => {
                let value = self.expr(ty);
                self.seen_of(ty).map(|local| Stmt::Set(local, value)).into_iter().collect()
            }
            2 if self.memories.iter().any(|memory| memory.2) => {
                let (memory, axes) = self.writable();
                let (index, value) = (self.index(axes), self.expr(Ty::I64));
                vec![Stmt::Store { memory, index, value, span: Span::default() }]
            }
            3 => {
                let value = self.expr(ty);
                let local = self.local(ty);
                self.seen.push(local);
                vec![Stmt::Set(local, value)]
            }
            4 if self.in_loop => vec![if self.pick(2) == 0 { Stmt::Break } else { Stmt::Continue }],
            4 | 5 if !simple => vec![Stmt::Expr(self.expr(Ty::I64))],
            4 | 5 => {
                let value = self.result.map(|ty| self.expr(ty));
                vec![Stmt::Return(value)]
            }
            6 | 7 => {
                let cond = self.expr(Ty::Bool);
                vec![Stmt::If { cond, then: self.block(), otherwise: self.block() }]
            }
            8 => {
                // The usual early exit.
                let value = self.result.map(|ty| self.expr(ty));
                let exit = match self.pick(3) {
                    1 if self.in_loop => Stmt::Break,
                    2 if self.in_loop => Stmt::Continue,
                    _ => Stmt::Return(value),
                };
                vec![when(self.expr(Ty::Bool), vec![exit])]
            }
            9 => {
                // Declared first, set on both sides.
                let cond = self.expr(Ty::Bool);
                let [mut then, mut otherwise] = [self.block(), self.block()];
                let local = self.local(ty);
                then.push(Stmt::Set(local, self.expr(ty)));
                otherwise.push(Stmt::Set(local, self.expr(ty)));
                self.seen.push(local);
                vec![Stmt::If { cond, then, otherwise }]
            }
            10 | 11 => {
                let counter_ty = [Ty::I64, Ty::I32, Ty::U8][self.pick(3)];
                let near = |m: &mut Self, low: i128, span: usize| {
                    let value = low + m.pick(span) as i128;
                    made(counter_ty, ExprKind::Const(Scalar::from_int(counter_ty, value)))
                };
                let ends = slyz_sir::types::int_range(counter_ty);
                let (lo, hi, step) = match self.pick(3) {
                    // Up to the end of the type, in steps that go past it.
                    0 => (near(self, ends.1 - 9, 5), near(self, ends.1 - 3, 4), near(self, 1, 5)),
                    1 => (near(self, 0, 2), near(self, 0, 5), near(self, 0, 3)),
                    _ => {
                        let end = vec![self.expr(counter_ty), near(self, 0, 1), near(self, 0, 6)];
                        (near(self, 0, 2), apply(Operator::Clamp, end), self.expr(counter_ty))
                    }
                };
                let counter = self.local(counter_ty);
                let body = self.scoped(|m| {
                    m.seen.push(counter);
                    m.looped()
                });
                vec![Stmt::For { counter, lo, hi, step, body }]
            }
            12 => {
                // Ends by a count that nothing else touches.
                let turns = self.local(Ty::I64);
                let limit = int(self.pick(5) as i64);
                let below = lt(var(turns.0), limit);
                let next = set(turns.0, add(var(turns.0), int(1)));
                let (cond, first) = match self.pick(3) {
                    0 => (truth(true), vec![next, when(apply(Operator::Not, vec![below]), vec![Stmt::Break])]),
                    1 => (below, vec![next]),
                    _ => {
                        let more = self.expr(Ty::Bool);
                        (made(Ty::Bool, ExprKind::AndThen(below.into(), more.into())), vec![next])
                    }
                };
                let body = [first, self.looped()].concat();
                vec![set(turns.0, int(-1)), Stmt::While { cond, body }]
            }
            _ => {
                let unit: Vec<usize> = (0..self.before.len()).filter(|&k| self.before[k].result.is_none()).collect();
                match unit.first() {
                    Some(&at) => {
                        let call = ExprKind::Call(FunctionId(at as u32), self.args(at));
                        vec![Stmt::Expr(made(Ty::Bool, call))]
                    }
                    None => vec![],
                }
            }
        }
    }
}

const TYPES: [Ty; 4] = [Ty::I64, Ty::I32, Ty::U8, Ty::Bool];

fn function(
    bytes: &[u8],
    before: &[Function],
    name: &str,
    params: Vec<Param>,
    arrays: Vec<Array>,
    result: Option<Ty>,
) -> Function {
    let mut memories = vec![];
    let mut locals: Vec<Ty> = vec![];
    for (param, at) in params.iter().zip(0..) {
        match param.kind {
            ParamKind::Scalar(_, ty) => locals.push(ty),
            ParamKind::Tensor { rank, mutable, .. } => memories.push((MemoryRef::Param(at), rank, mutable)),
        }
    }
    for (array, at) in arrays.iter().zip(0..) {
        let mutable = !matches!(array.home, Home::Constant(_));
        memories.push((MemoryRef::Array(ArrayId(at)), array.shape.len(), mutable));
    }
    let fill = |(array, at): (&Array, u32)| {
        let thread = array.home == Home::Thread;
        thread.then(|| Stmt::Fill(ArrayId(at), int(10 + i64::from(at))))
    };
    let mut body: Vec<Stmt> = arrays.iter().zip(0..).filter_map(fill).collect();
    for ty in TYPES {
        body.push(Stmt::Set(LocalId(locals.len() as u32), made(ty, ExprKind::Const(Scalar::from_int(ty, 1)))));
        locals.push(ty);
    }
    let seen = (0..locals.len() as u32).map(LocalId).collect();
    let bytes = bytes.iter();
    let mut maker = Maker { bytes, before, locals, seen, memories, result, in_loop: false, depth: 0 };
    for _ in 0..2 + maker.pick(6) {
        body.extend(maker.stmt());
    }
    if let Some(ty) = result {
        body.push(Stmt::Return(Some(maker.expr(ty))));
    } else if let Some((memory, axes)) = (!maker.memories.is_empty()).then(|| maker.writable()) {
        // What is left in the locals is seen.
        for (k, ty) in TYPES.into_iter().enumerate() {
            let local = maker.seen_of(ty).unwrap();
            let value = made(Ty::I64, ExprKind::Cast(made(ty, ExprKind::Local(local)).into()));
            let index = (0..axes).map(|axis| int(if axis == 0 { k as i64 % 2 } else { k as i64 / 2 })).collect();
            body.push(Stmt::Store { memory, index, value, span: Span::default() });
        }
    }
    let locals = locals_of(&maker.locals);
    let (name, launches) = (name.into(), result.is_none());
    Function { name, launches, unchecked: false, as_written: false, params, result, locals, arrays, body }
}

fn locals_of(tys: &[Ty]) -> Vec<Local> {
    locals(tys)
}

fn scalar(name: &str, local: u32, ty: Ty) -> Param {
    Param { name: name.into(), kind: ParamKind::Scalar(LocalId(local), ty) }
}

fn array(name: &str, shape: &[u64], home: Home) -> Array {
    Array { name: name.into(), elem: Ty::I64, shape: shape.to_vec(), home }
}

fn program(bytes: &[Vec<u8>; 5]) -> Program {
    let [a, b, c, d, e] = bytes;
    let table = (0..3).map(|k| Scalar::i64(100 + k)).collect();
    let mut functions = vec![];
    let two = || vec![scalar("x", 0, Ty::I64), scalar("y", 1, Ty::I32)];
    functions.push(function(a, &[], "number", two(), vec![], Some(Ty::I64)));
    functions.push(function(b, &functions, "test", two(), vec![], Some(Ty::Bool)));
    let with = vec![tensor("t", true), scalar("x", 0, Ty::I64)];
    let own = vec![array("own", &[5], Home::Thread)];
    functions.push(function(c, &functions, "touch", with, own, Some(Ty::I64)));
    let with = vec![scalar("x", 0, Ty::I64), tensor("t", true)];
    functions.push(function(d, &functions, "change", with, vec![], None));
    let square = ParamKind::Tensor { elem: Ty::I64, rank: 2, flat: false, mutable: true };
    let square = Param { name: "square".into(), kind: square };
    let params =
        vec![tensor("a", false), tensor("out", true), square, scalar("n", 0, Ty::I64), scalar("m", 1, Ty::I32)];
    let arrays = vec![
        array("table", &[3], Home::Constant(table)),
        array("mine", &[2, 3], Home::Thread),
        array("few", &[2], Home::Thread),
    ];
    functions.push(function(e, &functions, "kernel", params, arrays, None));
    Program { functions }
}

/// A program, what it is run with, and what it does.
struct Case {
    program: Program,
    kernel: FunctionId,
    tensors: Vec<Store>,
    scalars: [Scalar; 2],
    after: Vec<Store>,
    outside: Option<Outside>,
}

/// `None` where the program runs for too long.
fn case(bytes: &[Vec<u8>; 5], n: i64, m: i32) -> Option<Case> {
    let program = program(bytes);
    let kernel = FunctionId(program.functions.len() as u32 - 1);
    let filled = |name: &str, shape: &[u64], from: i64| {
        let count: u64 = shape.iter().product();
        let data = (0..count as i64).map(|k| Scalar::i64(from + k)).collect();
        Store { name: name.into(), ty: Ty::I64, shape: shape.to_vec(), data }
    };
    let tensors = vec![filled("a", &[4], 1), filled("out", &[6], 20), filled("square", &[2, 3], 30)];
    let scalars = [Scalar::i64(n), Scalar::from_int(Ty::I32, m.into())];
    let done = Reference::thread(&program, kernel, tensors.clone(), &scalars, [0; 3])?;
    let (after, outside) = (done.stores, done.outside);
    Some(Case { program, kernel, tensors, scalars, after, outside })
}

impl Case {
    fn agrees(&self, template: &Template, what: &str) {
        let source = || self.program.functions.iter().map(shown).collect::<String>();
        let text = || format!("{what}\n{}\n{}", source(), template.kernel);
        let mut tensors = self.tensors.clone();
        let outside = try_launched(template, ([1; 3], [1; 3]), &mut tensors, &self.scalars);
        let outside = outside.unwrap_or_else(|error| panic!("{error}\n{}", text()));
        // A flat index into several axes is reported by axes; which access it was is seen by the name.
        let shown = |outside: &Option<Outside>| outside.as_ref().map(|outside| outside.0.clone());
        assert_eq!(shown(&outside), shown(&self.outside), "{}", text());
        assert_eq!(tensors, self.after, "{}", text());
    }

    /// The same after passes on kernels.
    fn agrees_after(&self, template: &Template, what: &str, pass: impl Fn(Kernel) -> Kernel) {
        let kernel = pass(template.kernel.clone());
        assert_eq!(slyz_sir::verify::kernel(&kernel), Ok(()), "{what}: {kernel}");
        self.agrees(&Template { kernel, constants: template.constants.clone() }, what);
    }
}

#[test]
fn random_programs_lowered() {
    property(
        "random_programs_lowered",
        800,
        (proptest::array::uniform5(proptest::collection::vec(any::<u8>(), 0..600)), -2i64..6, -2i32..6),
        |(bytes, n, m)| {
            if let Some(case) = case(&bytes, n, m) {
                case.agrees(&lowered(&case.program, case.kernel), "lowered");
            }
            Ok(())
        },
    );
}

#[test]
fn random_programs_after_passes() {
    property(
        "random_programs_after_passes",
        200,
        (proptest::array::uniform5(proptest::collection::vec(any::<u8>(), 0..400)), -2i64..6, -2i32..6),
        |(bytes, n, m)| {
            if let Some(case) = case(&bytes, n, m) {
                let template = lowered(&case.program, case.kernel);
                let sizes = sizes(&template, ([1; 3], [1; 3]), &case.tensors);
                let exact = Facts::exact(&sizes, &case.scalars);
                let unknown = Facts::unknown(&template.kernel);
                case.agrees_after(&template, "optimized", optimize_kernel);
                case.agrees_after(&template, "bounds", |kernel| optimize_kernel(bounds::run(kernel, &unknown)));
                case.agrees_after(&template, "exact bounds", |kernel| optimize_kernel(bounds::run(kernel, &exact)));
                if bounds::proves(&template.kernel, &exact) {
                    case.agrees_after(&template, "trusted", bounds::trust);
                }
                case.agrees_after(&template, "woven", |kernel| weave::run(&kernel, Blocking::Free, 8).unwrap());
            }
            Ok(())
        },
    );
}
