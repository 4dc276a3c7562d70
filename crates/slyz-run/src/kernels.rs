//! What a device asks of a kernel before it launches it.

use slyz_sir::code::{Body, Op};
use slyz_sir::kernel::Kernel;
use slyz_sir::size::Size;

/// Every extent that the code of a kernel counts with, apart from the shapes of its memories, and every variable in them.
pub(crate) fn extents(kernel: &Kernel) -> Vec<Size> {
    fn walk(body: &Body, found: &mut Vec<Size>) {
        for stmt in &body.stmts {
            if let Op::Extent(size) = &stmt.op {
                found.push(size.clone());
            }
            stmt.op.bodies().into_iter().for_each(|body| walk(body, found));
        }
    }
    let mut found = kernel.grid.to_vec();
    kernel.functions.iter().map(|function| &function.body).chain([&kernel.body]).for_each(|b| walk(b, &mut found));
    for size in found.clone() {
        size.each_var(&mut |var| found.push(Size::Var(var)));
    }
    found.sort();
    found.dedup();
    found
}
