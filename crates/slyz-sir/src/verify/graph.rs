//! The rules of graphs: requirements, and sizes that are counted while the graph runs.
//!
//! A `Counted` variable is counted by at most one filter of the graph's own body and used only after it. A requirement
//! may mention it all the same: it is checked as soon as the filter is done. A variable that nothing mentions needs no
//! filter, so that a filter nobody uses can go while the numbers of the variables stay.

use super::code::{Checker, Level};
use super::{Checked, fail, identifier, size};
use crate::graph::{Graph, Require};
use crate::size::{Size, SizeVar};

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
    match checker.uncounted().find(|var| graph.requires.iter().any(|require| mentions(require, *var))) {
        Some(var) => {
            fail(format!("a requirement mentions the size `{}`, which no filter counts", graph.size_name(var)))
        }
        None => Ok(()),
    }
}

fn mentions(require: &Require, var: SizeVar) -> bool {
    let mut found = false;
    let mut look = |size: &Size| size.each_var(&mut |v| found |= v == var);
    match require {
        Require::NonEmpty(a) => look(a),
        Require::Equal(a, b) | Require::AtMost(a, b) => [a, b].into_iter().for_each(look),
    }
    found
}
