//! Tells what a function became, for people.

use slyz_run::Executable;
use slyz_sir::graph::Graph;
use slyz_sir::kernel::{Plan, Step};
use slyz_sir::size::{Size, SizeVar};
use std::fmt::Write;

/// The SIR that the passes left, and the plan's launches with the bytes each touches per size.
pub(crate) fn explain(graph: &Graph, code: &dyn Executable) -> String {
    let optimized = slyz_sir::pass::optimize(graph);
    let mut out = format!("{} on {}\n\n{optimized}", graph.name, code.device());
    match code.plan() {
        Some(plan) => launches(&mut out, plan),
        None => out.push_str("\nThe device runs the graph as it is, without launches.\n"),
    }
    out
}

fn launches(out: &mut String, plan: &Plan) {
    let name = |var: SizeVar| plan.sizes.get(var.0 as usize).map_or(String::new(), |decl| decl.name.clone());
    let number = plan.steps.iter().filter(|step| matches!(step, Step::Launch { .. })).count();
    let _ = writeln!(out, "\n{number} {}:", if number == 1 { "launch" } else { "launches" });
    for step in &plan.steps {
        match step {
            Step::Launch { kernel, buffers, .. } => {
                let kernel = plan.kernels.get(*kernel);
                let _ = writeln!(out, "  {}", kernel.map_or("?", |kernel| &kernel.name));
                for buffer in buffers.iter().filter_map(|id| plan.buffers.get(id.0 as usize)) {
                    let size = Size::product(&buffer.shape);
                    let (bytes, role) = (buffer.ty.bytes(), buffer.role);
                    let _ = writeln!(out, "    {} × {} B of {}, {role:?}", size.display(&name), bytes, buffer.ty);
                }
            }
            Step::Count { size, .. } => {
                let _ = writeln!(out, "  count {}", name(*size));
            }
            Step::Free(_) => {}
        }
    }
}
