//! A compiled graph in words: what was fused, what is kept and why, what each launch reads, writes and computes.
//!
//! Sizes are symbolic, since one compilation serves every call. Bytes are what must move at least: each memory once.

use crate::code::{Body, Op};
use crate::graph::Graph;
use crate::kernel::{Access, BufferUse, Kernel, Plan, Space, Step};
use crate::pass::fuse;
use crate::size::Size;
use std::fmt::Write;

/// The explanation of an optimised graph and its plan.
pub fn explain(graph: &Graph, optimised: &Graph, plan: &Plan) -> String {
    let mut out = String::new();
    let launches = plan.steps.iter().filter(|s| matches!(s, Step::Launch { .. })).count();
    let _ = writeln!(
        out,
        "{}: {}, {}, {}",
        graph.name,
        counted(graph.body.params.len(), "argument"),
        counted(graph.body.results.len(), "result"),
        counted(launches, "launch")
    );
    fused(&mut out, graph, optimised);
    for step in &plan.steps {
        match step {
            Step::Launch { kernel, .. } => launch(&mut out, &plan.kernels[*kernel]),
            Step::Count { size, .. } => {
                let name = &plan.sizes[size.0 as usize].name;
                let _ = writeln!(out, "\n  then {name} is read back: later sizes depend on it");
            }
            Step::Free(_) => {}
        }
    }
    temporaries(&mut out, plan);
    out
}

fn counted(n: usize, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{n} {what}{}", if n == 1 { "" } else { plural })
}

fn arrays(body: &Body) -> usize {
    let own = body.stmts.iter().flat_map(|s| &s.binds).filter(|b| !b.ty.shape().is_empty()).count();
    own + body.stmts.iter().flat_map(|s| s.op.bodies()).map(arrays).sum::<usize>()
}

fn fused(out: &mut String, graph: &Graph, optimised: &Graph) {
    let (before, after) = (arrays(&graph.body), arrays(&optimised.body));
    let _ = writeln!(out, "  {} written, {} left after fusion", counted(before, "array"), after);
    for kept in fuse::kept(optimised) {
        let _ = writeln!(out, "  kept: an array over {}: {}", shape(&kept.shape, &|s| name(graph, s)), kept.why);
    }
}

fn name(graph: &Graph, size: &Size) -> String {
    size.display(&|v| graph.size_name(v)).to_string()
}

fn shape(shape: &[Size], name: &dyn Fn(&Size) -> String) -> String {
    format!("[{}]", shape.iter().map(name).collect::<Vec<_>>().join(", "))
}

fn launch(out: &mut String, kernel: &Kernel) {
    let show = |size: &Size| size.display(&|v| kernel.size_name(v)).to_string();
    let _ = writeln!(out, "\n  launch {}: blocks {}", kernel.name, show(&kernel.grid[0]));
    for (verb, wanted) in [("reads", true), ("writes", false)] {
        let list: Vec<String> = kernel
            .memories
            .iter()
            .filter(|m| match m.space {
                Space::Global(access) => (access == Access::Read) == wanted,
                Space::Constant => wanted,
                Space::Shared | Space::Scratch | Space::Local => false,
            })
            .map(|m| format!("{} ({} bytes)", m.name, bytes(m.ty.bytes(), &m.shape, &show)))
            .collect();
        if !list.is_empty() {
            let _ = writeln!(out, "    {verb} {}", list.join(", "));
        }
    }
    for memory in kernel.memories.iter().filter(|m| m.space == Space::Scratch) {
        let size = bytes(memory.ty.bytes(), &memory.shape, &show);
        let _ = writeln!(out, "    scratch {}: {size} bytes per thread", memory.name);
    }
    let operations = inner_operations(&kernel.body);
    let _ = writeln!(out, "    {} per element in its inner loops", counted(operations, "operation"));
}

fn bytes(each: usize, shape: &[Size], show: &dyn Fn(&Size) -> String) -> String {
    let total = Size::Const(each as u64) * Size::product(shape);
    show(&total).trim_start_matches('(').trim_end_matches(')').to_string()
}

/// Operators in the bodies that run once per element.
fn inner_operations(body: &Body) -> usize {
    fn all(body: &Body) -> usize {
        let own = body.stmts.iter().filter(|s| matches!(s.op, Op::Apply(..) | Op::Call(..))).count();
        own + body.stmts.iter().flat_map(|s| s.op.bodies()).map(all).sum::<usize>()
    }
    let inner = |op: &Op| match op {
        Op::Lanes { .. } => op.bodies().into_iter().map(all).sum(),
        _ => op.bodies().into_iter().map(inner_operations).sum::<usize>(),
    };
    body.stmts.iter().map(|s| inner(&s.op)).sum()
}

fn temporaries(out: &mut String, plan: &Plan) {
    let show = |size: &Size| size.display(&|v| plan.sizes[v.0 as usize].name.clone()).to_string();
    let list: Vec<String> = plan
        .buffers
        .iter()
        .filter(|b| b.role == BufferUse::Temporary)
        .map(|b| bytes(b.ty.bytes(), &b.shape, &show))
        .collect();
    let text = if list.is_empty() { "none".to_string() } else { format!("{} bytes", list.join(" + ")) };
    let _ = writeln!(out, "\n  temporaries: {text}");
}
