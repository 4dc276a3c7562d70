//! The rules of graphs: requirements, and sizes that are counted while the graph runs.
//!
//! A `Counted` variable is counted by one filter of the graph's own body and used only after it. A requirement may
//! mention it all the same: it is checked as soon as the filter is done.

use super::code::{Checker, Level};
use super::{Checked, fail, identifier, size};
use crate::graph::{Graph, Require};

/// Checks a graph.
pub fn graph(graph: &Graph) -> Checked {
    check(graph).map_err(|e| e.within(format!("graph `{}`", graph.name)))
}

fn check(graph: &Graph) -> Checked {
    identifier("graph", &graph.name)?;
    for require in &graph.requires {
        match require {
            Require::NonEmpty(a) => size(a, &graph.sizes)?,
            Require::Equal(a, b) | Require::AtMost(a, b) => {
                size(a, &graph.sizes)?;
                size(b, &graph.sizes)?;
            }
        }
    }
    let mut checker = Checker::new(&graph.functions, &[], &graph.sizes);
    checker.run(&graph.body, Level::Graph)?;
    match checker.uncounted().next() {
        Some(decl) => fail(format!("no filter counts the size `{}`", decl.name)),
        None => Ok(()),
    }
}
