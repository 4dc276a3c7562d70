//! The threads of a launch within the limits of a device, and the form of code that takes.

use super::engine::Limits;
use crate::Error;
use crate::launch::{Fitted, Outline, check_block};
use slyz_sir::launch::MOST_FOLDED;
use slyz_sir::pass::weave;
use slyz_sir::road::Destination;
use slyz_sir::threads::Field;

/// Threads of a block on cores, as many as the verifier lets through.
const MOST: u32 = 1024;

/// Other blocks, for grids that are too long in one dimension.
const OTHERS: [[u32; 3]; 5] = [[256, 1, 1], [1, 256, 1], [4, 64, 1], [1, 4, 64], [4, 1, 64]];

/// The form for launches with any number of threads; of those that want blocks, with the usual ones.
pub(super) fn usual(outline: &Outline, limits: Option<&Limits>) -> Destination {
    let block = Field::usual_block(outline.nature);
    let free = outline.nature.free;
    match limits {
        Some(_) => Destination::Threads { block, exact: free, folded: false },
        None if free => Destination::Cores(weave::Blocking::Free),
        None => Destination::Cores(weave::Blocking::Blocks(block)),
    }
}

/// Lays out the threads of a launch.
pub(super) fn lay_out(outline: &Outline, fitted: &mut Fitted, limits: Option<&Limits>) -> Result<Destination, Error> {
    let (most, together) = limits.map_or(([MOST; 3], MOST), |limits| (limits.block, limits.threads));
    check_block(&fitted.field, outline.name(), most, together)?;
    let Some(limits) = limits else {
        let block = fitted.field.block;
        let form = if outline.nature.free { weave::Blocking::Free } else { weave::Blocking::Blocks(block) };
        return Ok(Destination::Cores(form));
    };
    let folded = fold(outline, fitted, limits.launch.blocks)?;
    let exact = folded || !fitted.field.is_whole();
    Ok(Destination::Threads { block: fitted.field.block, exact, folded })
}

/// Finds a grid with no more blocks in a dimension. Says whether blocks are folded.
fn fold(outline: &Outline, fitted: &mut Fitted, most: u64) -> Result<bool, Error> {
    let reaches = |field: &Field| field.grid.iter().all(|&blocks| blocks <= most);
    let field = fitted.field;
    if reaches(&field) {
        return Ok(false);
    }
    let folded = most.min(MOST_FOLDED);
    if outline.template.folds() && field.grid[1..] == [1, 1] && field.grid[0] <= folded * folded {
        let rows = field.grid[0].div_ceil(folded);
        fitted.lay_out(Field { grid: [field.grid[0].div_ceil(rows), rows, 1], ..field });
        return Ok(true);
    }
    // Threads may be laid out in other blocks where nobody asked for these.
    let fits =
        |other: &Field| other.block.iter().zip(&field.block).all(|(new, old)| *new == 1 || *old > 1) && reaches(other);
    let mut others = OTHERS.iter().map(|&block| field.with_block(block));
    if let Some(other) = others.find(fits).filter(|_| outline.nature.free && !field.chosen) {
        fitted.lay_out(other);
        return Ok(false);
    }
    Err(Error::TooLarge {
        what: format!("the grid {:?} of kernel `{}`", field.grid, outline.name()),
        why: format!("this GPU has at most {most} blocks in each dimension; use larger blocks, or launch over parts"),
    })
}

/// How far threads of a GPU stand: past the last block where blocks are folded, and else in the longest dimension.
pub(super) fn reach(fitted: &Fitted, destination: Destination) -> u64 {
    let field = &fitted.field;
    match destination {
        Destination::Cores(_) => 0,
        Destination::Threads { folded: false, .. } => field.threads.into_iter().fold(0, u64::max),
        Destination::Threads { folded: true, .. } => {
            let axes = field.grid.iter().zip(field.block).map(|(&grid, block)| grid.saturating_mul(block.into()));
            axes.fold(1, u64::saturating_mul)
        }
    }
}
