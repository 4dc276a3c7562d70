//! `confine`: keeps code that nobody vouches for inside its arrays.
//!
//! Front ends make positions that are inside by construction, and put a [`check`](Op::Check) before what is not. Text, and
//! whatever else comes from outside, says anything. Devices run this on it before they compile: a read or write that is
//! not plainly inside gets the test that a front end would have written. Outside nothing is written, and a read gives zero.
//!
//! In a program plainly inside are positions that a `tabulate` and its kin hand out for an axis that is no longer than the array's,
//! and constants; the position that is tested travels as an argument of the branch, so that nothing moves out of it:
//!
//! ```text
//! %v: f32 = at %x[%i]             %in: bool = …  0 <= %i < n
//!                            →    %v: f32 = if %in (%i) |%p: i64| { %w: f32 = at %x[%p]  yield %w }
//!                                           else |%q: i64| { %z: f32 = const 0  yield %z }
//! ```
//!
//! In a kernel it is what stands under a condition that its own check is part of, and constants. What is left is told as any other
//! fault is:
//!
//! ```text
//! store out[%i], %v          →    %in: bool = check out[%i]
//!                                 if %in { store out[%i], %v } else {}
//! ```
//!
//! It proves nothing: that is for the pass `bounds`, which finds most of what is added here to be needless.

use crate::class;
use crate::code::{Body, Id, MemId, Op, Stmt, Type, Var};
use crate::kernel::{Kernel, Memory};
use crate::meaning;
use crate::ops::Operator;
use crate::program::{Program, Require};
use crate::size::Size;
use crate::types::{Scalar, Ty};
use crate::write::{Arithmetic, Lines, Write};
use std::collections::HashMap;

/// Tests the positions of a verified program that are not plainly inside.
///
/// ```
/// use slyz_sir::{pass::confine, text::parse_program};
///
/// let program = parse_program("program g<N>(%x: f32[N], %i: i64) -> f32 { %v: f32 = at %x[%i]  return %v }")?;
/// assert!(confine::program(program).to_string().contains("if"));
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
///
/// A raw kernel is what it means: nobody has looked at its sources.
pub fn program(program: Program) -> Program {
    let mut program = meaning::without_sources(program);
    let lines = Lines::new(program.fresh_ids());
    let requires = std::mem::take(&mut program.requires);
    let known = Known { types: HashMap::new(), ends: HashMap::new(), requires: &requires };
    let mut writer = Positions { known, lines };
    program.functions.iter_mut().for_each(|function| writer.body(&mut function.body));
    writer.body(&mut program.body);
    program.requires = requires;
    program
}

/// What is known of the names of a program.
struct Known<'g> {
    types: HashMap<Id, Type>,
    /// Sizes that a name is below; it is not negative then.
    ends: HashMap<Id, Size>,
    requires: &'g [Require],
}

impl Known<'_> {
    fn bind(&mut self, vars: &[Var]) {
        self.types.extend(vars.iter().map(|var| (var.id, var.ty.clone())));
    }

    fn shape(&self, array: Id) -> Vec<Size> {
        self.types.get(&array).map_or(vec![], |ty| ty.shape().to_vec())
    }

    fn inside(&self, position: Id, extent: &Size) -> bool {
        self.ends.get(&position).is_some_and(|end| self.at_most(end, extent))
    }

    /// Is one size no larger than another in every call?
    fn at_most(&self, small: &Size, large: &Size) -> bool {
        let constants = || Some(small.constant()? <= large.constant()?);
        let required = |require: &Require| match require {
            Require::AtMost(a, b) => a == small && b == large,
            Require::Equal(a, b) => (a, b) == (small, large) || (b, a) == (small, large),
            Require::NonEmpty(a) => *small == Size::Const(1) && a == large,
        };
        let part = || match small {
            Size::Min(a, b) => self.at_most(a, large) || self.at_most(b, large),
            Size::Const(_) | Size::Var(_) | Size::Add(..) | Size::Mul(..) | Size::CeilDiv(..) | Size::Tri(_) => false,
        };
        small == large || constants() == Some(true) || self.requires.iter().any(required) || part()
    }

    /// Notes what the bodies of an operation are given.
    fn enter(&mut self, op: &Op) {
        let (shape, body) = match op {
            Op::Tabulate { shape, body }
            | Op::Fold { shape, body, .. }
            | Op::Scan { shape, body, .. }
            | Op::Scatter { shape, body, .. }
            | Op::Sort { shape, body, .. } => (&shape[..], body),
            Op::Filter { extent, body, .. } => (std::slice::from_ref(extent), body),
            Op::If { args, then, otherwise, .. } => {
                for (k, arg) in args.iter().enumerate() {
                    let Some(end) = self.ends.get(arg).cloned() else { continue };
                    let params = [then, otherwise].into_iter().filter_map(|side| side.params.get(k));
                    self.ends.extend(params.map(|param| (param.id, end.clone())));
                }
                return;
            }
            // Nothing is known of what loops are given; the others have no bodies, or none with positions of arrays.
            Op::For { .. } | Op::While { .. } | Op::At { .. } | Op::Raw(_) => return,
            class!(Scalar) | class!(Place) | class!(Call) | class!(Memory) | class!(Meeting) => return,
        };
        self.ends.extend(body.params.iter().map(|param| param.id).zip(shape.iter().cloned()));
    }

    /// Notes what a statement binds.
    fn leave(&mut self, stmt: &Stmt) {
        self.bind(&stmt.binds);
        if let (Op::Const(value), [bind]) = (&stmt.op, &stmt.binds[..])
            && value.ty == Ty::I64
            && let Ok(end) = u64::try_from(value.as_int() + 1)
            && end > 0
        {
            self.ends.insert(bind.id, Size::Const(end));
        }
    }
}

/// Writes tests around reads of arrays.
struct Positions<'g> {
    known: Known<'g>,
    lines: Lines,
}

impl Write for Positions<'_> {
    fn fresh(&mut self) -> Id {
        self.lines.fresh()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        self.lines.out()
    }
}

impl Positions<'_> {
    fn body(&mut self, body: &mut Body) {
        self.known.bind(&body.params);
        self.rewrite(body, |w, mut stmt| {
            w.known.enter(&stmt.op);
            stmt.op.bodies_mut().into_iter().for_each(|inner| w.body(inner));
            w.known.leave(&stmt);
            match stmt {
                Stmt { binds, op: Op::At { array, index } } => w.read(binds, array, index),
                stmt => w.out().push(stmt),
            }
        });
    }

    fn read(&mut self, binds: Vec<Var>, array: Id, index: Vec<Id>) {
        let shape = self.known.shape(array);
        let open = |(at, extent): &(&Id, &Size)| !self.known.inside(**at, extent);
        let tested: Vec<(Id, Size)> = index.iter().zip(&shape).filter(open).map(|(at, s)| (*at, s.clone())).collect();
        let (false, [bind]) = (tested.is_empty(), &binds[..]) else {
            return self.out().push(Stmt { binds, op: Op::At { array, index } });
        };
        let zero = self.number(0);
        let mut inside = None;
        for (at, size) in tested {
            let extent = self.extent(&size);
            let both = self.value(at.not_below(zero).and(at.below(extent)));
            inside = Some(inside.map_or(both, |all: Id| self.value(all.and(both))));
        }
        let Some(cond) = inside else { return };
        let ty = bind.ty.elem();
        let positions = vec![Ty::I64; index.len()];
        let then = self.nested(&positions, |w, index| vec![w.push(Op::At { array, index: index.to_vec() }, ty)]);
        let otherwise = self.nested(&positions, |w, _| vec![w.constant(Scalar::from_bits(ty, 0))]);
        self.out().push(Stmt { binds, op: Op::If { cond, args: index, then, otherwise } });
    }
}

/// Checks the accesses of a verified kernel that have no check; those of several elements at once it leaves alone
/// ([`has_wide_accesses`]).
///
/// ```
/// use slyz_sir::{pass::confine, text::parse_kernel};
///
/// let kernel = parse_kernel("kernel k<n>() grid [n, 1, 1] block [1, 1, 1] {
///     global readwrite x: i64[n]
///     %i: i64 = global.x
///     store x[%i], %i }")?;
/// assert!(confine::kernel(kernel).to_string().contains("check x[%0]"));
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn kernel(mut kernel: Kernel) -> Kernel {
    let lines = Lines::new(kernel.fresh_ids());
    let mut body = std::mem::take(&mut kernel.body);
    let defs = HashMap::new();
    let held = vec![];
    Accesses { memories: &kernel.memories, defs, held, lines }.body(&mut body);
    kernel.body = body;
    kernel
}

/// Is there an access of several elements at once? One check does not do for those.
pub fn has_wide_accesses(kernel: &Kernel) -> bool {
    fn in_body(body: &Body) -> bool {
        body.stmts.iter().any(|stmt| is_wide(stmt) || stmt.op.bodies().into_iter().any(in_body))
    }
    in_body(&kernel.body)
}

fn is_wide(stmt: &Stmt) -> bool {
    match &stmt.op {
        Op::Load { .. } => stmt.binds.len() > 1,
        Op::LoadFragment { .. } => true,
        Op::Store { values, .. } => values.len() > 1,
        Op::Atomic { .. } | Op::Check { .. } => false,
        class!(Scalar) | class!(Place) | class!(Call) | class!(Control) | class!(Array) | class!(Meeting) => false,
    }
}

/// Writes checks around accesses to memories.
struct Accesses<'k> {
    memories: &'k [Memory],
    /// What binds the names that matter here: checks, conjunctions, constants.
    defs: HashMap<Id, Op>,
    /// Elements that are inside here, by the conditions around.
    held: Vec<(MemId, Vec<Id>)>,
    lines: Lines,
}

impl Write for Accesses<'_> {
    fn fresh(&mut self) -> Id {
        self.lines.fresh()
    }

    fn out(&mut self) -> &mut Vec<Stmt> {
        self.lines.out()
    }
}

impl Accesses<'_> {
    fn body(&mut self, body: &mut Body) {
        self.rewrite(body, |w, mut stmt| {
            w.inner(&mut stmt.op);
            if let ([bind], Op::Check { .. } | Op::Const(_) | Op::Apply(Operator::And, _)) = (&stmt.binds[..], &stmt.op)
            {
                w.defs.insert(bind.id, stmt.op.clone());
            }
            match access(&stmt.op) {
                Some((memory, index)) if !is_wide(&stmt) && !w.is_inside(memory, index) => w.guard(stmt),
                Some(_) | None => w.out().push(stmt),
            }
        });
    }

    fn inner(&mut self, op: &mut Op) {
        let before = self.held.len();
        if let Op::If { cond, then, otherwise, .. } = op {
            self.hold(*cond);
            self.body(then);
            self.held.truncate(before);
            self.body(otherwise);
        } else {
            op.bodies_mut().into_iter().for_each(|inner| self.body(inner));
        }
    }

    /// Notes what a condition says when it holds.
    fn hold(&mut self, cond: Id) {
        let mut open = vec![cond];
        while let Some(id) = open.pop() {
            match self.defs.get(&id) {
                Some(Op::Check { memory, index }) => self.held.push((*memory, index.clone())),
                Some(Op::Apply(Operator::And, args)) => open.extend(args),
                Some(_) | None => {}
            }
        }
    }

    fn is_inside(&self, memory: MemId, index: &[Id]) -> bool {
        let constant = |(at, extent): (&Id, &Size)| match (self.defs.get(at), extent.constant()) {
            (Some(Op::Const(at)), Some(extent)) => (0..i128::from(extent)).contains(&at.as_int()),
            (Some(_) | None, _) => false,
        };
        let shape = &self.memories[memory.0 as usize].shape;
        index.iter().zip(shape).all(constant) || self.held.iter().any(|(m, at)| (*m, &at[..]) == (memory, index))
    }

    /// The access, where it is inside; what it would have given is zero elsewhere.
    fn guard(&mut self, stmt: Stmt) {
        let Some((memory, index)) = access(&stmt.op) else { return self.out().push(stmt) };
        let cond = self.push(Op::Check { memory, index: index.to_vec() }, Ty::Bool);
        let tys: Vec<Ty> = stmt.binds.iter().map(|bind| bind.ty.elem()).collect();
        let then = self.nested(&[], |w, _| w.bind(stmt.op, &tys));
        let zeros = |w: &mut Self| tys.iter().map(|&ty| w.constant(Scalar::from_bits(ty, 0))).collect();
        let otherwise = self.nested(&[], |w, _| zeros(w));
        self.out().push(Stmt { binds: stmt.binds, op: Op::If { cond, args: vec![], then, otherwise } });
    }
}

/// The memory and the index that an operation touches.
fn access(op: &Op) -> Option<(MemId, &[Id])> {
    op.access().filter(|_| !matches!(op, Op::Check { .. }))
}
