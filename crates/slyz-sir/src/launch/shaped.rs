//! A kernel without its launch, for blocks of a shape: guards in front of threads that nobody asked for, blocks counted over two axes.

use super::{MOST_FOLDED, Template};
use crate::code::{Body, Id, Op, Place, Stmt, Type, Var};
use crate::kernel::Kernel;
use crate::ops::Operator;
use crate::pass::cse;
use crate::size::{Size, SizeVar};
use crate::types::{Scalar, Ty};
use std::collections::HashMap;

impl Template {
    /// The kernel for blocks of that shape.
    ///
    /// Where the threads of a launch are `exact`, the last blocks reach past them; what is past them does nothing. Threads that meet
    /// have to come in whole blocks instead, so there this changes nothing. Where the blocks are `folded`, which only kernels
    /// that [fold](Template::folds) can be, the number of a block is `block.y * grid_dim.x + block.x`, each at most [`MOST_FOLDED`],
    /// and the grid may have more blocks than the threads need.
    ///
    /// ```
    /// use slyz_sir::{launch::Template, text::parse_kernel};
    ///
    /// let kernel = parse_kernel(
    ///     "kernel k<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z>() grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
    ///        global readwrite out: i64[100]
    ///        %i: i64 = global.x
    ///        %ok: bool = check out[%i]
    ///        if %ok { store out[%i], %i } else {} }",
    /// )?;
    /// let kernel = Template { kernel, constants: vec![] }.shaped([64, 1, 1], true, false);
    /// assert!(kernel.to_string().contains("%1: i64 = extent threads_x\n  %2: bool = lt %0, %1\n  if %2 {\n    %3: bool = check out[%0]"));
    /// # Ok::<(), slyz_sir::text::ParseError>(())
    /// ```
    pub fn shaped(&self, block: [u32; 3], exact: bool, folded: bool) -> Kernel {
        let mut kernel = Kernel { block, ..self.kernel.clone() };
        let mut fresh = kernel.fresh_ids();
        let mut front = Front { stmts: vec![], fresh: &mut fresh };
        let folded = folded && self.folds();
        let folds = folded.then(|| front.folded_index(block[0]));
        if let Some(index) = folds {
            replace_index(&mut kernel.body, index);
        }
        let mut inside = None;
        // Along an axis where blocks have one thread, there are as many blocks as threads.
        let overhangs = |d: usize| block[d] > 1 || folded && d == 0;
        for d in (0..3).filter(|&d| overhangs(d) && (exact && !self.meets() || folded)) {
            let index = match folds {
                Some(index) if d == 0 => index,
                _ => front.make(Ty::I64, Op::Place(Place::Global, d as u8)),
            };
            let threads = front.make(Ty::I64, Op::Extent(Size::Var(SizeVar(3 + d as u32))));
            let below = front.apply(Ty::Bool, Operator::Lt, &[index, threads]);
            inside = Some(match inside {
                Some(before) => front.apply(Ty::Bool, Operator::And, &[before, below]),
                None => below,
            });
        }
        if let Some(cond) = inside {
            let then = Body { stmts: std::mem::take(&mut kernel.body.stmts), ..Body::default() };
            let op = Op::If { cond, args: vec![], then, otherwise: Body::default() };
            front.stmts.push(Stmt { binds: vec![], op });
            kernel.body.stmts = front.stmts;
            // The index that the guard asks about has to be the one that the code uses.
            kernel.body = cse::root(kernel.body);
        }
        kernel
    }
}

/// Statements that go in front of a body.
struct Front<'f> {
    stmts: Vec<Stmt>,
    fresh: &'f mut dyn FnMut() -> Id,
}

impl Front<'_> {
    fn make(&mut self, ty: Ty, op: Op) -> Id {
        let id = (self.fresh)();
        self.stmts.push(Stmt { binds: vec![Var { id, ty: Type::Scalar(ty) }], op });
        id
    }

    fn apply(&mut self, ty: Ty, operator: Operator, args: &[Id]) -> Id {
        self.make(ty, Op::Apply(operator, args.to_vec()))
    }

    /// The index of a thread whose block is counted over x and y. The smaller of two numbers changes nothing, but
    /// shows everybody that 32 bits hold what is computed here wherever they hold the number of threads.
    fn folded_index(&mut self, block: u32) -> Id {
        let most = self.make(Ty::I64, Op::Const(Scalar::i64(MOST_FOLDED as i64)));
        let mut place = |place: Place, d: u8| {
            let place = self.make(Ty::I64, Op::Place(place, d));
            self.apply(Ty::I64, Operator::Min, &[place, most])
        };
        let (y, width, x) = (place(Place::Block, 1), place(Place::GridDim, 0), place(Place::Block, 0));
        let row = self.apply(Ty::I64, Operator::Mul, &[y, width]);
        let number = self.apply(Ty::I64, Operator::Add, &[row, x]);
        let threads = Size::Var(SizeVar(3));
        let needed = self.make(Ty::I64, Op::Extent(Size::CeilDiv(threads.into(), u64::from(block.max(1)))));
        let number = self.apply(Ty::I64, Operator::Min, &[number, needed]);
        let width = self.make(Ty::I64, Op::Const(Scalar::i64(block.into())));
        let first = self.apply(Ty::I64, Operator::Mul, &[number, width]);
        let local = self.make(Ty::I64, Op::Place(Place::Local, 0));
        self.apply(Ty::I64, Operator::Add, &[first, local])
    }
}

/// Makes `index` the index of the thread in x.
fn replace_index(body: &mut Body, index: Id) {
    let mut same: HashMap<Id, Id> = HashMap::new();
    drop_index(body, index, &mut same);
    body.each_use_mut(&mut |id| *id = *same.get(id).unwrap_or(id));
}

fn drop_index(body: &mut Body, index: Id, same: &mut HashMap<Id, Id>) {
    body.stmts.retain_mut(|stmt| {
        stmt.op.bodies_mut().into_iter().for_each(|inner| drop_index(inner, index, same));
        let is_index = matches!(stmt.op, Op::Place(Place::Global, 0));
        if is_index {
            same.extend(stmt.binds.iter().map(|b| (b.id, index)));
        }
        !is_index
    });
}
