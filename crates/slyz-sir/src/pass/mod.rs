//! Passes: functions from verified SIR to verified SIR that mean the same.
//!
//! A pass is a file; its name is the file's name. [`GRAPH_PASSES`] is the order in which [`optimize`] runs them.
//! A pass never looks at another and keeps no state between runs. The interpreter gives the same results before and
//! after, bit for bit except for which NaN.
//!
//! The scalar passes (`simplify`, `blend`, `cse`, `hoist`) also have a `root` function over one [`Body`] that binds
//! all the names it uses, which is what a graph, a kernel and a function have in common. `join`,
//! `spread` and `weave` work on kernels only; lowerings and launches run them.

pub mod blend;
pub mod cse;
pub mod dce;
pub mod fuse;
pub mod hoist;
pub mod join;
pub mod simplify;
pub mod spread;
pub mod weave;

use crate::code::Body;
use crate::graph::Graph;
use crate::verify;

/// A rewriting of graphs.
pub struct Pass {
    /// The name of its file, and of its command-line flag.
    pub name: &'static str,
    /// What it does.
    pub run: fn(Graph) -> Graph,
}

/// One round of [`optimize`].
pub static GRAPH_PASSES: &[Pass] = &[
    Pass { name: "simplify", run: simplify::run },
    Pass { name: "blend", run: blend::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "fuse", run: fuse::run },
    Pass { name: "simplify", run: simplify::run },
    Pass { name: "hoist", run: hoist::run },
    Pass { name: "cse", run: cse::run },
    Pass { name: "dce", run: dce::run },
];

/// Rounds after which [`optimize`] stops even if a pass still finds something.
const ROUNDS: usize = 4;

/// Runs the passes on a verified graph until nothing changes.
///
/// ```
/// use slyz_sir::{pass::optimize, text::parse_graph};
///
/// let graph = parse_graph("graph g(%x: i32) -> i32 { %one: i32 = const 1  %y: i32 = mul %x, %one  return %y }")?;
/// assert_eq!(optimize(&graph).to_string(), "graph g(%0: i32) -> i32 {\n  return %0\n}\n");
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn optimize(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    for _ in 0..ROUNDS {
        let before = graph.clone();
        for pass in GRAPH_PASSES {
            graph = (pass.run)(graph);
            debug_assert_eq!(verify::graph(&graph), Ok(()), "after the pass `{}`", pass.name);
        }
        if graph == before {
            break;
        }
    }
    graph
}

/// Rewrites the bodies of the functions and of the graph, each by itself.
fn each_root(mut graph: Graph, mut rewrite: impl FnMut(Body) -> Body) -> Graph {
    for function in &mut graph.functions {
        function.body = rewrite(std::mem::take(&mut function.body));
    }
    graph.body = rewrite(graph.body);
    graph
}
