//! Plans for GPUs in the interpreter of kernels, which reports races, divergent barriers and undefined reads: random
//! programs on machines of different subgroups and limits, and sizes around every edge of the strategies.

mod random;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use random::{Case, agree, exact_case};
use slyz_sir::graph::Graph;
use slyz_sir::interp::Value;
use slyz_sir::interp::graph::{InterpError, Options, run_with};
use slyz_sir::interp::kernel::{LaunchOptions, run_plan_with};
use slyz_sir::lower::gpu::{Machine, lower};
use slyz_sir::pass::optimize;
use slyz_sir::pass::spread::Subgroup;
use slyz_sir::verify;

const LIMITS: Options = Options { turns: Some(20_000), elements: Some(5_000) };

/// A machine with limits that small programs reach.
fn small(max_threads: u32, subgroup: Option<u32>, max_blocks: u64) -> Machine {
    Machine {
        max_threads,
        subgroup: subgroup.map(|size| Subgroup { size, bits: 32 }),
        shared_bytes: 256,
        max_blocks: [max_blocks, 2, 1],
        atomic_bits: 64,
        max_positions: 1 << 20,
    }
}

fn machines() -> Vec<Machine> {
    vec![
        Machine::metal(),
        Machine::webgpu(),
        small(16, Some(32), 3),
        small(7, Some(4), 2),
        small(8, Some(8), 100),
        small(12, None, 1),
        small(1, None, 5),
    ]
}

fn run(graph: &Graph, case: &Case, machine: &Machine) -> Vec<Value> {
    let plan = lower(graph, machine);
    assert_eq!(verify::plan(&plan), Ok(()), "{machine:?}\n{graph}");
    let subgroup_size = machine.subgroup.map_or(1, |s| s.size);
    let options = LaunchOptions { subgroup_size, ..LaunchOptions::default() };
    run_plan_with(&plan, &case.sizes, &case.args, &options)
        .unwrap_or_else(|error| panic!("{error}\n{machine:?}\n{graph}\n{}", slyz_sir::text::print_plan(&plan)))
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(300),
        rng_seed: if default.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { default.rng_seed },
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_programs_mean_the_same(seed: u64, budget in 1u32..60) {
        let case = exact_case(seed, budget);
        let expected = match run_with(&case.graph, &case.sizes, &case.args, &LIMITS) {
            Ok(values) => values,
            Err(InterpError::Budget(_)) => return Ok(()),
            Err(error) => panic!("{error}\n{}", case.graph),
        };
        let optimized = optimize(&case.graph);
        for machine in machines() {
            for graph in [&case.graph, &optimized] {
                let found = run(graph, &case, &machine);
                prop_assert!(agree(&expected, &found), "{machine:?}: {expected:?} became {found:?}\n{graph}");
            }
        }
    }
}
