//! The forms of a kernel that launches in blocks of one shape ask for, when nobody has launched it yet.

use super::variant::plan_of_kernel;
use crate::Error;
use crate::launch::Outline;
use slyz_sir::choices::Checks;
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::pass::weave::Blocking;
use slyz_sir::road::{Destination, KernelRoad};
use slyz_sir::threads::Field;
use std::sync::Arc;

/// The block as a raised kernel sees it, and the plans of all forms: with checks and without, and on a GPU for launches that fill their blocks and for
/// others.
pub(crate) fn forms_of_kernel(
    template: &Arc<Template>,
    block: Option<[u32; 3]>,
    on_gpu: bool,
) -> Result<([u32; 3], Vec<Plan>), Error> {
    let outline = Outline::new(template)?;
    let free = outline.nature.free;
    let block = block.unwrap_or_else(|| Field::usual_block(outline.nature));
    let destinations = match (on_gpu, free) {
        (true, _) => [true, false].map(|exact| Destination::Threads { block, exact, folded: false }).to_vec(),
        (false, true) => vec![Destination::Cores(Blocking::Free)],
        (false, false) => vec![Destination::Cores(Blocking::Blocks(block))],
    };
    let mut plans = vec![];
    for destination in destinations {
        for checks in [Checks::Trust, Checks::Report] {
            let road = KernelRoad { checks, ..KernelRoad::to(destination) };
            let why = |error: slyz_sir::pass::weave::Unwoven| Error::Plan {
                name: outline.name().to_string(),
                why: error.to_string(),
            };
            plans.push(plan_of_kernel(road.end(template).map_err(why)?));
        }
    }
    Ok((if free { [1; 3] } else { block }, plans))
}
