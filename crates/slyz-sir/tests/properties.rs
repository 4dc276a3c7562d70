//! What must hold for every program, tried on random ones.

mod random;

use proptest::prelude::*;
use random::{Case, agree, case};
use slyz_sir::graph::Graph;
use slyz_sir::interp::Value;
use slyz_sir::interp::graph::{InterpError, Options, run_with};
use slyz_sir::pass::{GRAPH_PASSES, optimize};
use slyz_sir::{text, verify};
use slyz_trials::property;

/// Some random program runs very long; those say nothing more than short ones.
const LIMITS: Options = Options { turns: Some(50_000), elements: Some(10_000) };

/// What the interpreter says; `None` if it takes too long.
fn outcome(graph: &Graph, case: &Case) -> Option<Vec<Value>> {
    match run_with(graph, &case.sizes, &case.args, &LIMITS) {
        Ok(values) => Some(values),
        Err(InterpError::Budget(_)) => None,
        Err(error) => panic!("{error}\n{graph}"),
    }
}

fn same_meaning(name: &str, case: &Case, rewritten: &Graph) {
    assert_eq!(verify::graph(rewritten), Ok(()), "after {name}");
    let Some(before) = outcome(&case.graph, case) else { return };
    let Some(after) = outcome(rewritten, case) else { panic!("{name} makes the program run longer") };
    assert!(agree(&before, &after), "{name}: {before:?} became {after:?}");
}

#[test]
fn random_graphs_verify() {
    property("random_graphs_verify", 1000, (any::<u64>(), 1u32..120), |(seed, budget)| {
        prop_assert_eq!(verify::graph(&case(seed, budget).graph), Ok(()));
        Ok(())
    });
}

#[test]
fn random_graphs_as_text() {
    property("random_graphs_as_text", 1000, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        let text = case.graph.to_string();
        let parsed = text::parse_graph(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(parsed.to_string(), text);
        same_meaning("printing and parsing", &case, &parsed);
        Ok(())
    });
}

/// What a test of devices writes about a program that fails can be read again.
#[test]
fn random_graphs_as_corpus_files() {
    property("random_graphs_as_corpus_files", 200, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        let Some(expected) = outcome(&case.graph, &case) else { return Ok(()) };
        let text = random::as_corpus_file(&case, &expected, "a program");
        let (module, cases) = text::parse_file(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(module.graphs[0].to_string(), case.graph.to_string());
        prop_assert_eq!(&cases[0].args, &case.args);
        let found: Vec<Value> = cases[0].expect.iter().map(|expect| expect.value.clone()).collect();
        prop_assert_eq!(found, expected);
        Ok(())
    });
}

#[test]
fn random_graphs_after_each_pass() {
    property("random_graphs_after_each_pass", 1000, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        for pass in GRAPH_PASSES {
            same_meaning(pass.name, &case, &(pass.run)(case.graph.clone()));
        }
        Ok(())
    });
}

#[test]
fn random_graphs_optimized() {
    property("random_graphs_optimized", 1000, (any::<u64>(), 1u32..120), |(seed, budget)| {
        let case = case(seed, budget);
        let optimized = optimize(&case.graph);
        same_meaning("optimize", &case, &optimized);
        prop_assert_eq!(optimize(&optimized), optimized, "a second time finds more");
        Ok(())
    });
}
