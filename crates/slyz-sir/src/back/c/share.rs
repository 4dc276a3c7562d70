//! Kernels that do the same: equal but for names, and for which sizes of the plan they go by.
//!
//! A function of eighteen products has eighteen kernels, and the C compiler would take as long over the last as over the
//! first. So code is written for the first of a kind, and the others call it with the sizes it expects. [`files`] deals kernels
//! out to several C files where one would keep the compiler busy for long.
//!
//! What it does not do: find kernels that are equal after some rewriting (memories in another order, say).

use super::kernel::PARAMETERS;
use crate::code::{Body, Function, Id, Op};
use crate::kernel::{Kernel, Memory};
use crate::names::Names;
use crate::size::{SizeDecl, SizeOrigin, SizeVar};
use std::collections::HashMap;

/// What a kernel shares with those before it.
pub(super) struct Alike {
    /// The first kernel of its kind; itself, if it is that.
    pub(super) first: usize,
    /// For each size variable of the first kernel, which one stands for it here. `None` for those that its code does not use.
    pub(super) sizes: Vec<Option<SizeVar>>,
}

/// For each kernel the first one that does the same.
pub(super) fn alike(kernels: &[Kernel]) -> Vec<Alike> {
    let mut kinds: HashMap<Kernel, usize> = HashMap::new();
    let mut orders: Vec<Vec<SizeVar>> = vec![];
    let mut found = vec![];
    for (number, kernel) in kernels.iter().enumerate() {
        let (nameless, order) = nameless(kernel);
        let first = *kinds.entry(nameless).or_insert(number);
        orders.push(order);
        let mut sizes = vec![None; kernels[first].sizes.len()];
        for (theirs, own) in orders[first].iter().zip(&orders[number]) {
            if let Some(size) = sizes.get_mut(theirs.0 as usize) {
                *size = Some(*own);
            }
        }
        found.push(Alike { first, sizes });
    }
    found
}

/// The exported function of a kernel whose code is that of a function `shared`.
pub(super) fn call(kernel: &Kernel, exported: &str, shared: &str, alike: &Alike, first: &Kernel) -> String {
    let past = kernel.sizes.len();
    let same = |(place, size): (usize, &Option<SizeVar>)| size.is_none_or(|var| var.0 as usize == place);
    let as_they_are = past == first.sizes.len() && alike.sizes.iter().enumerate().all(same);
    let size = |size: &Option<SizeVar>| size.map_or("0".to_string(), |var| format!("sizes[{}]", var.0));
    let (declared, sizes) = if as_they_are {
        (String::new(), "sizes")
    } else {
        let all: Vec<String> = alike.sizes.iter().map(size).chain([format!("sizes[{past}]")]).collect();
        (format!("    const i64 own[] = {{{}}};\n", all.join(", ")), "own")
    };
    let arguments = format!("memories, scratch, scalars, {sizes}, begin, end");
    format!("// {}\n{exported}({PARAMETERS}) {{\n{declared}    {shared}({arguments});\n}}\n", kernel.name)
}

/// The kernel without names, its sizes numbered as they appear, and which sizes those were.
fn nameless(kernel: &Kernel) -> (Kernel, Vec<SizeVar>) {
    let mut order: Vec<SizeVar> = vec![];
    let mut number = |var: SizeVar| {
        let place = order.iter().position(|&seen| seen == var).unwrap_or_else(|| {
            order.push(var);
            order.len() - 1
        });
        SizeVar(place as u32)
    };
    let mut next = 0;
    let mut fresh = || {
        next += 1;
        Id(next)
    };
    let memories = kernel.memories.iter().map(|memory| Memory {
        name: String::new(),
        shape: memory.shape.iter().map(|size| size.renamed(&mut number)).collect(),
        ..memory.clone()
    });
    let memories = memories.collect();
    let grid = kernel.grid.each_ref().map(|size| size.renamed(&mut number));
    let mut plain = |body: &Body| {
        let mut body = body.freshened(&mut fresh);
        body.each_size_mut(&mut |size| *size = size.renamed(&mut number));
        body
    };
    let functions = kernel.functions.iter().map(|f| Function { name: String::new(), body: plain(&f.body) }).collect();
    let body = plain(&kernel.body);
    let unnamed = SizeDecl { name: String::new(), origin: SizeOrigin::Given };
    let sizes = vec![unnamed; order.len()];
    (
        Kernel {
            // What a person wrote is like nothing else.
            name: if kernel.raw.is_some() { kernel.name.clone() } else { String::new() },
            sizes,
            memories,
            functions,
            grid,
            block: kernel.block,
            precision: None,
            product: None,
            raw: kernel.raw.clone(),
            as_written: false,
            names: Names::default(),
            body,
        },
        order,
    )
}

/// Statements that are worth a C file of their own: the compiler takes as long over them as over the start of a second file.
const FILE: usize = 160;
/// More files are not made of one plan.
const MOST_FILES: usize = 16;

/// Which kernels of a plan go into which C file, for files that are compiled side by side. A small plan is one file; kernels
/// that share code stay together. What a person wrote is a file by itself. It depends on the kernels only, so that files are found in caches again.
pub fn files(kernels: &[Kernel]) -> Vec<Vec<usize>> {
    let alike = alike(kernels);
    let (own, ours): (Vec<usize>, Vec<usize>) = (0..kernels.len()).partition(|&k| kernels[k].raw.is_some());
    let mut kinds: Vec<(usize, Vec<usize>)> = vec![];
    for first in ours.into_iter().filter(|&k| alike[k].first == k) {
        let same = (first..kernels.len()).filter(|&k| alike[k].first == first).collect();
        let bodies = kernels[first].functions.iter().map(|f| &f.body).chain([&kernels[first].body]);
        kinds.push((bodies.map(statements).sum(), same));
    }
    let whole: usize = kinds.iter().map(|(weight, _)| weight).sum();
    let count = (whole / FILE).clamp(1, MOST_FILES).min(kinds.len().max(1));
    // The heaviest first, each to the lightest file.
    kinds.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    let mut files = vec![(0, vec![]); if kinds.is_empty() { 0 } else { count }];
    for (weight, same) in kinds {
        if let Some(lightest) = files.iter_mut().min_by_key(|(weight, _)| *weight) {
            lightest.0 += weight;
            lightest.1.extend(same);
        }
    }
    let sorted = |(_, mut kernels): (usize, Vec<usize>)| {
        kernels.sort();
        kernels
    };
    files.into_iter().map(sorted).chain(own.into_iter().map(|k| vec![k])).collect()
}

fn statements(body: &Body) -> usize {
    let inner = |op: &Op| op.bodies().into_iter().map(statements).sum::<usize>();
    body.stmts.iter().map(|stmt| 1 + inner(&stmt.op)).sum()
}
