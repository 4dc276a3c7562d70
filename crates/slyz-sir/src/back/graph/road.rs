//! The road of a program to its graph: the sizes that are given, the passes, [`lift`].
//!
//! All passes run but `fuse`: whole-array operations are what is looked for, and fusing is what graph compilers do themselves.

use super::{Format, Graph, GraphError, lift, with_sizes};
use crate::pass::{Selection, optimize_with};
use crate::program::Program;

/// A program that the verifier has seen as a graph, with numbers for the sizes that are given.
///
/// ```
/// use slyz_sir::back::{graph, openvino};
/// use slyz_sir::pass::Selection;
/// let program = slyz_sir::text::parse_program("program numbers<N>() -> i64[N] {
///     %y: i64[N] = tabulate [N] |%i: i64| { yield %i }
///     return %y
/// }")?;
/// let graph = graph::of_program(&program, &[("N".to_string(), 3)], &Selection::All, &openvino::FORMAT)?;
/// assert_eq!(graph.inputs.len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn of_program(
    program: &Program,
    given: &[(String, u64)],
    passes: &Selection,
    format: &Format,
) -> Result<Graph, GraphError> {
    let sized = with_sizes(program, given);
    lift(&optimize_with(&sized, &without_fusion(passes), &mut |_, _| {}), format)
}

fn without_fusion(passes: &Selection) -> Selection {
    match passes {
        Selection::All => Selection::Without(vec!["fuse".to_string()]),
        Selection::Only(names) => Selection::Only(names.iter().filter(|name| *name != "fuse").cloned().collect()),
        Selection::Without(names) => Selection::Without([&names[..], &["fuse".to_string()]].concat()),
    }
}
