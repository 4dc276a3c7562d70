//! `shape`: gives a kernel by hand the blocks of its launch.

use super::cse;
use crate::code::{Body, Id, Op, Place};
use crate::kernel::Kernel;
use crate::launch::{MOST_FOLDED, Template};
use crate::size::{Size, SizeVar};
use crate::write::{Arithmetic, Formula, Lines, Write as _};
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
        let mut front = Lines::new(kernel.fresh_ids());
        let folded = folded && self.folds();
        let folds = folded.then(|| folded_index(&mut front, block[0]));
        if let Some(index) = folds {
            replace_index(&mut kernel.body, index);
        }
        let mut inside = None;
        // Along an axis where blocks have one thread, there are as many blocks as threads.
        let overhangs = |d: usize| block[d] > 1 || folded && d == 0;
        for d in (0..3).filter(|&d| overhangs(d) && (exact && !self.meets() || folded)) {
            let index = match folds {
                Some(index) if d == 0 => index,
                _ => front.value(Formula::Place(Place::Global, d as u8)),
            };
            let below = front.value(index.below(&Size::Var(SizeVar(3 + d as u32))));
            inside = Some(match inside {
                Some(before) => front.value(Id::and(before, below)),
                None => below,
            });
        }
        if let Some(cond) = inside {
            let then = Body { stmts: std::mem::take(&mut kernel.body.stmts), ..Body::default() };
            let op = Op::If { cond, args: vec![], then, otherwise: Body::default() };
            front.act(op);
            kernel.body.stmts = front.take();
            // The index that the guard asks about has to be the one that the code uses.
            kernel.body = cse::root(kernel.body);
        }
        kernel
    }
}

/// The index of a thread whose block is counted over x and y. The smaller of two numbers changes nothing, but
/// shows everybody that 32 bits hold what is computed here wherever they hold the number of threads.
fn folded_index(front: &mut Lines, block: u32) -> Id {
    let most = front.number(MOST_FOLDED as i64);
    let [y, width, x] = [(Place::Block, 1), (Place::GridDim, 0), (Place::Block, 0)]
        .map(|(place, axis)| front.value(Formula::Place(place, axis).least(most)));
    let needed = Size::CeilDiv(Size::Var(SizeVar(3)).into(), u64::from(block.max(1)));
    let number = front.value((y * width + x).least(&needed));
    front.value(number * i64::from(block) + Formula::Place(Place::Local, 0))
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
