//! What must hold for every program, tried on random ones.

mod random;

use proptest::prelude::*;
use random::{Case, agree, case};
use slyz_sir::code::{Body, Id, Op, Stmt, Type, Var};
use slyz_sir::interp::Value;
use slyz_sir::interp::kernel::{LaunchOptions, run_plan_with};
use slyz_sir::interp::program::{InterpError, Options, run_with};
use slyz_sir::lower::cpu;
use slyz_sir::ops::Operator;
use slyz_sir::pass::{PROGRAM_PASSES, confine, optimize};
use slyz_sir::prepare::{Source, for_arguments};
use slyz_sir::program::Program;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{text, verify};
use slyz_trials::property;

/// Some random program runs very long; those say nothing more than short ones.
const LIMITS: Options =
    Options { turns: Some(50_000), loop_turns: None, elements: Some(10_000), refuse_denormals: false };

/// What the interpreter says; `None` if it takes too long.
fn outcome(program: &Program, case: &Case) -> Option<Vec<Value>> {
    outcome_within(&LIMITS, program, case)
}

fn outcome_within(limits: &Options, program: &Program, case: &Case) -> Option<Vec<Value>> {
    match run_with(program, &case.sizes, &case.args, limits) {
        Ok(values) => Some(values),
        Err(InterpError::Budget(_)) => None,
        Err(error) => panic!("{error}\n{program}"),
    }
}

fn same_meaning(name: &str, case: &Case, rewritten: &Program) {
    same_meaning_within(&LIMITS, name, case, rewritten);
}

/// The limits are those of the rewritten program.
fn same_meaning_within(limits: &Options, name: &str, case: &Case, rewritten: &Program) {
    assert_eq!(verify::program(rewritten), Ok(()), "after {name}");
    let Some(before) = outcome(&case.program, case) else { return };
    let Some(after) = outcome_within(limits, rewritten, case) else { panic!("{name} makes the program run longer") };
    assert!(agree(&before, &after), "{name}: {before:?} became {after:?}");
}

/// The same with all positions moved, most of them outside.
fn displaced(mut program: Program, by: i64) -> Program {
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
    let mut fresh = program.fresh_ids();
    program.functions.iter_mut().for_each(|function| in_body(&mut function.body, by, &mut fresh));
    in_body(&mut program.body, by, &mut fresh);
    program
}

#[test]
fn random_programs_verify() {
    property("random_programs_verify", 1000, (any::<u64>(), 1u32..120), |(seed, budget)| {
        prop_assert_eq!(verify::program(&case(seed, budget).program), Ok(()));
        Ok(())
    });
}

#[test]
fn random_programs_as_text() {
    property("random_programs_as_text", 1000, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        let text = case.program.to_string();
        let parsed = text::parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(parsed.to_string(), text);
        same_meaning("printing and parsing", &case, &parsed);
        Ok(())
    });
}

/// What a test of devices writes about a program that fails can be read again.
#[test]
fn random_programs_as_corpus_files() {
    property("random_programs_as_corpus_files", 200, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        let Some(expected) = outcome(&case.program, &case) else { return Ok(()) };
        let text = random::as_corpus_file(&case, &expected, "a program");
        let (module, cases) = text::parse_file(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(module.programs[0].to_string(), case.program.to_string());
        prop_assert_eq!(&cases[0].args, &case.args);
        let found: Vec<Value> = cases[0].expect.iter().map(|expect| expect.value.clone()).collect();
        prop_assert_eq!(found, expected);
        Ok(())
    });
}

/// What is made of single arguments, and the rest, are the whole.
#[test]
fn random_programs_in_parts() {
    property("random_programs_in_parts", 600, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        let arguments: Vec<usize> = (0..case.program.body.params.len()).collect();
        let (parts, _) = for_arguments(&case.program, &arguments, seed % 2 == 0);
        let run = |program: &Program, args: Vec<Value>| {
            prop_assert_eq!(verify::program(program), Ok(()), "{}", program);
            Ok(outcome(program, &Case { program: program.clone(), args, ..case.clone() }))
        };
        let mut packed = vec![];
        for pack in &parts.packs {
            let Some(made) = run(&pack.program, vec![case.args[pack.argument].clone()])? else { return Ok(()) };
            packed.push(made);
        }
        let source = |source: &Source| match *source {
            Source::Argument(place) => case.args[place].clone(),
            Source::Packed { pack, result } => packed[pack][result].clone(),
        };
        let args = parts.sources.iter().map(source).collect();
        let (Some(after), Some(before)) = (run(&parts.main, args)?, outcome(&case.program, &case)) else {
            return Ok(());
        };
        prop_assert!(agree(&before, &after), "{:?} became {:?}:\n{}", before, after, parts.main);
        Ok(())
    });
}

#[test]
fn random_programs_after_each_pass() {
    property("random_programs_after_each_pass", 1000, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        for pass in PROGRAM_PASSES {
            same_meaning(pass.name, &case, &(pass.run)(case.program.clone()));
        }
        Ok(())
    });
}

#[test]
fn random_programs_confined() {
    property("random_programs_confined", 1000, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        // An access gets branches around it, which are turns to the interpreter.
        let limits = Options { turns: LIMITS.turns.map(|turns| 10 * turns), ..LIMITS };
        same_meaning_within(&limits, "confine", &case, &confine::program(case.program.clone()));
        Ok(())
    });
}

#[test]
fn random_programs_confined_stay_inside() {
    let steps = prop::sample::select(&[-1, 1, 2, 1 << 32, i64::MAX][..]);
    property("random_programs_confined_stay_inside", 1000, (any::<u64>(), 1u32..60, steps), |(seed, budget, by)| {
        let mut case = case(seed, budget);
        case.program = confine::program(displaced(case.program.clone(), by));
        // `outcome` panics on a read outside.
        let Some(expected) = outcome(&case.program, &case) else { return Ok(()) };
        let optimized = optimize(&case.program);
        same_meaning("optimize", &case, &optimized);
        let plan = cpu::lower(&optimized);
        match run_plan_with(&plan, &case.sizes, &case.args, &LaunchOptions::default()) {
            Ok(found) => prop_assert_eq!(found.len(), expected.len()),
            Err(error) => panic!("{error}\n{plan:?}"),
        }
        Ok(())
    });
}

#[test]
fn random_programs_optimized() {
    property("random_programs_optimized", 1000, (any::<u64>(), 1u32..120), |(seed, budget)| {
        let case = case(seed, budget);
        let optimized = optimize(&case.program);
        same_meaning("optimize", &case, &optimized);
        prop_assert_eq!(optimize(&optimized), optimized, "a second time finds more");
        Ok(())
    });
}
