//! What a device asks of a kernel before it launches it.

use slyz_sir::kernel::Kernel;
use slyz_sir::size::Size;

/// Every extent that the code of a kernel counts with, apart from the shapes of its memories, and every variable in them.
pub(crate) fn extents(kernel: &Kernel) -> Vec<Size> {
    let mut found = kernel.extents();
    for size in found.clone() {
        size.each_var(&mut |var| found.push(Size::Var(var)));
    }
    found.sort();
    found.dedup();
    found
}
