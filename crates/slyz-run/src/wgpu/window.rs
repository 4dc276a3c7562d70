//! Arrays that are larger than what a kernel may see of a buffer: launches in pieces, each with windows of its arrays.
//!
//! How a launch is cut is decided in `slyz_sir::lower::gpu`; here are the limits of the GPU, and the numbers of each piece.
//! Plans for such calls have no loops over what a grid does not reach: more blocks are more pieces.

use super::adapter::Opened;
use super::variant::{Geometry, Variant};
use crate::Error;
use crate::kernels::bound_memories;
use crate::signature::Sizes;
use slyz_sir::kernel::Plan;
use slyz_sir::lower::gpu::{Limits, Scattered};

/// The limits of one launch.
fn limits(opened: &Opened) -> Limits {
    Limits {
        window_bytes: opened.window_bytes / 16 * 16,
        alignment: u64::from(opened.limits.min_storage_buffer_offset_alignment).max(16),
        blocks: opened.limits.max_compute_workgroups_per_dimension.into(),
    }
}

/// Has a call of these sizes arrays that are larger than a window?
pub(super) fn is_large(opened: &Opened, plan: &Plan, sizes: &Sizes) -> bool {
    let large = |bytes: usize| bytes as u64 > opened.window_bytes;
    plan.buffers.iter().any(|buffer| sizes.extent(buffer.ty, &buffer.shape).is_ok_and(|(_, bytes)| large(bytes)))
}

/// The launch of a kernel in pieces.
pub(super) fn pieces(
    opened: &Opened,
    variant: &Variant,
    sizes: &Sizes,
    index: usize,
    narrow: bool,
) -> Result<Vec<Geometry>, Error> {
    let (windowed, hash) = variant.windowed(index);
    let (name, limit) = (&variant.plan.kernels[index].name, opened.window_bytes);
    let pieces = windowed.pieces(sizes.values(), &limits(opened)).map_err(|why| match why {
        Scattered::Array { memory, bytes } => Error::TooLarge {
            what: format!("the array {memory} of {name}"),
            why: format!(
                "{bytes} bytes, a kernel of this GPU sees at most {limit} at once, and this one may go anywhere in it"
            ),
        },
        Scattered::Pieces | Scattered::Size(_) => {
            Error::TooLarge { what: format!("the launch of {name}"), why: why.to_string() }
        }
    })?;
    pieces
        .iter()
        .map(|piece| {
            let windows = bound_memories(&windowed.kernel).zip(&piece.windows);
            let bound = windows.map(|(memory, window)| {
                let each = memory.ty.bytes() as u64;
                let bytes = (window.end - window.start) * each;
                // An empty window is anywhere.
                let offset = if bytes == 0 { 0 } else { window.start * each };
                (offset, bytes.max(16).next_multiple_of(16))
            });
            let bound = bound.collect();
            let sizes = sizes.with_values(windowed.sizes(sizes.values(), piece));
            Geometry::numbers(opened, (&windowed.kernel, hash), &sizes, narrow, bound)
        })
        .collect()
}
