//! What must hold for every program, tried on random ones.

mod random;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use random::{Case, agree, case};
use slyz_sir::code::{Body, Id, Op, Stmt, Type, Var};
use slyz_sir::graph::Graph;
use slyz_sir::interp::Value;
use slyz_sir::interp::graph::{InterpError, Options, run_with};
use slyz_sir::interp::kernel::{LaunchOptions, run_plan_with};
use slyz_sir::lower::cpu;
use slyz_sir::ops::Operator;
use slyz_sir::pass::{GRAPH_PASSES, confine, optimize};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{text, verify};

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

/// The same with all positions moved, most of them outside.
fn displaced(mut graph: Graph, by: i64) -> Graph {
    fn in_body(body: &mut Body, by: i64, fresh: &mut dyn FnMut() -> Id) {
        let mut out = vec![];
        for mut stmt in std::mem::take(&mut body.stmts) {
            stmt.op.bodies_mut().into_iter().for_each(|inner| in_body(inner, by, fresh));
            if let Op::At { index, .. } = &mut stmt.op {
                for at in index {
                    let (step, moved) = (fresh(), fresh());
                    let bind = |id| vec![Var { id, ty: Type::Scalar(Ty::I64) }];
                    out.push(Stmt { binds: bind(step), op: Op::Const(Scalar::i64(by)) });
                    out.push(Stmt { binds: bind(moved), op: Op::Apply(Operator::Add, vec![*at, step]) });
                    *at = moved;
                }
            }
            out.push(stmt);
        }
        body.stmts = out;
    }
    let mut fresh = graph.fresh_ids();
    graph.functions.iter_mut().for_each(|function| in_body(&mut function.body, by, &mut fresh));
    in_body(&mut graph.body, by, &mut fresh);
    graph
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(1000),
        rng_seed: if default.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { default.rng_seed },
        failure_persistence: None,
        ..default
    }
}

proptest! {
    // The same programs in every run. `PROPTEST_RNG_SEED` and `PROPTEST_CASES` try others.
    #![proptest_config(config())]

    #[test]
    fn built_graphs_verify(seed: u64, budget in 1u32..120) {
        prop_assert_eq!(verify::graph(&case(seed, budget).graph), Ok(()));
    }

    #[test]
    fn text_says_it_all(seed: u64, budget in 1u32..60) {
        let case = case(seed, budget);
        let text = case.graph.to_string();
        let parsed = text::parse_graph(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(parsed.to_string(), text);
        same_meaning("printing and parsing", &case, &parsed);
    }

    #[test]
    fn every_pass_keeps_the_meaning(seed: u64, budget in 1u32..60) {
        let case = case(seed, budget);
        for pass in GRAPH_PASSES {
            same_meaning(pass.name, &case, &(pass.run)(case.graph.clone()));
        }
    }

    #[test]
    fn confine_keeps_the_meaning(seed: u64, budget in 1u32..60) {
        let case = case(seed, budget);
        same_meaning("confine", &case, &confine::graph(case.graph.clone()));
    }

    #[test]
    fn confined_graphs_stay_inside(seed: u64, budget in 1u32..60, by in prop::sample::select(&[-1, 1, 2, 1 << 32, i64::MAX][..])) {
        let mut case = case(seed, budget);
        case.graph = confine::graph(displaced(case.graph.clone(), by));
        // `outcome` panics on a read outside.
        let Some(expected) = outcome(&case.graph, &case) else { return Ok(()) };
        let optimized = optimize(&case.graph);
        same_meaning("optimize", &case, &optimized);
        let plan = cpu::lower(&optimized);
        match run_plan_with(&plan, &case.sizes, &case.args, &LaunchOptions::default()) {
            Ok(found) => prop_assert_eq!(found.len(), expected.len()),
            Err(error) => panic!("{error}\n{plan:?}"),
        }
    }

    #[test]
    fn optimize_keeps_the_meaning(seed: u64, budget in 1u32..120) {
        let case = case(seed, budget);
        let optimized = optimize(&case.graph);
        same_meaning("optimize", &case, &optimized);
        prop_assert_eq!(optimize(&optimized), optimized, "a second time finds more");
    }
}
