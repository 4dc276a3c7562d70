//! Raw kernels in programs: their text, what the verifier refuses, which form is chosen, and the launches that come of it.

use slyz_sir::back::harness::{Emitted, Options, Target, emit_with};
use slyz_sir::choices::Precision;
use slyz_sir::interp::{Array, Value, program};
use slyz_sir::kernel::{Plan, ScalarArg, Step};
use slyz_sir::lower::gpu::Machine;
use slyz_sir::meaning::{chosen, meant};
use slyz_sir::pass::confine;
use slyz_sir::program::Program;
use slyz_sir::raw::Language;
use slyz_sir::road::{ProgramRoad, Strategy};
use slyz_sir::text::{parse_kernel, parse_program};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;

/// Twice through a kernel that scales, with a map in front, between and behind, and a fold of what comes.
fn text(sources: &str, meaning: &str) -> String {
    format!(
        r#"program between<N>(%x: f32[N], %a: f32) -> (f32[N], f32) {{
  %zero: f32 = const 0.0
  %two: f32 = const 2.0
  %y: f32[N] = tabulate [N] |%i: i64| {{ %v: f32 = at %x[%i]  %w: f32 = add %v, %two  yield %w }}
  %first: f32[N] = raw scaled(%y, %a) threads [N] block [64, 1, 1] extents [N] {sources} {}
  %sum: f32 = fold [N] |%k: i64| {{ %e: f32 = at %first[%k]  yield %e }} with commutative (%zero) |%l: f32, %r: f32| {{ %s: f32 = add %l, %r  yield %s }}
  %second: f32[N] = raw scaled(%first, %sum) threads [N] block [64, 1, 1] extents [N] {sources} {}
  %third: f32[N] = raw scaled(%second, %two) threads [N] block [64, 1, 1] extents [N] {sources} {}
  %last: f32[N] = tabulate [N] |%j: i64| {{ %t: f32 = at %third[%j]  %u: f32 = neg %t  yield %u }}
  return %last, %sum
}}"#,
        meaning.replace('@', "1"),
        meaning.replace('@', "2"),
        meaning.replace('@', "3"),
    )
}

const SOURCES: &str = r#"c scaled "// It says \"scaled\"." "void scaled(const float *x, float *y, float a, long long n, long long begin, long long end) {" "\tfor (long long i = begin; i < end; i++) y[i] = a * x[i];" "}" cuda scaled "extern \"C\" __global__ void scaled(const float *x, float *y, float a, long long n) {" "}""#;
const MEANING: &str = "meaning |%p@: f32[N], %q@: f32| { %m@: f32[N] = tabulate [N] |%n@: i64| { %c@: f32 = at %p@[%n@]  %d@: f32 = mul %c@, %q@  yield %d@ }  yield %m@ }";

fn parsed(sources: &str, meaning: &str) -> Program {
    parse_program(&text(sources, meaning)).expect("it is SIR")
}

fn launches(plan: &Plan) -> Vec<(String, Vec<ScalarArg>)> {
    let launch = |step: &&Step| match step {
        Step::Launch { kernel, scalars, .. } => Some((plan.kernels[*kernel].name.clone(), scalars.clone())),
        _ => None,
    };
    plan.all_steps().iter().filter_map(launch).collect()
}

#[test]
fn text_is_the_same_after_a_round_trip() {
    let program = parsed(SOURCES, MEANING);
    assert_eq!(verify::program(&program), Ok(()));
    let printed = program.to_string();
    assert!(printed.contains(r#""// It says \"scaled\".""#), "{printed}");
    let again = parse_program(&printed).expect("what is printed is SIR");
    assert_eq!(again.to_string(), printed);
    let plan = ProgramRoad::to(Strategy::Cores).end(&chosen(&program, Language::C));
    let kernel = plan.kernels.iter().find(|kernel| kernel.raw.is_some()).expect("a source was chosen");
    let printed = kernel.to_string();
    assert_eq!(parse_kernel(&printed).expect("what is printed is SIR").to_string(), printed);
}

/// The interpreter runs the meaning, and so does everything where there is no source.
#[test]
fn what_it_means() {
    let program = parsed(SOURCES, MEANING);
    let x =
        Value::Array(Array { ty: Ty::F32, shape: vec![2], data: [1.0f32, 2.0].map(|v| v.to_bits().into()).to_vec() });
    let args = [x, Value::Scalar(Scalar::f32(3.0))];
    let run = |program: &Program| program::run(program, &[None], &args).map_err(|error| error.to_string());
    // (1 + 2) 3 = 9 and (2 + 2) 3 = 12, their sum 21, twice that each, negated.
    let bits = |values: &[f32]| values.iter().map(|v| u64::from(v.to_bits())).collect::<Vec<_>>();
    let wanted = vec![
        Value::Array(Array { ty: Ty::F32, shape: vec![2], data: bits(&[-378.0, -504.0]) }),
        Value::Scalar(Scalar::f32(21.0)),
    ];
    assert_eq!(run(&program), Ok(wanted.clone()));
    let meant = meant(&program);
    assert_eq!(verify::program(&meant), Ok(()));
    assert!(!meant.to_string().contains("raw"), "{meant}");
    assert_eq!(run(&meant), Ok(wanted.clone()));
    let confined = confine::program(program.clone());
    assert_eq!(run(&confined), Ok(wanted));
    let error = run(&parsed(SOURCES, "")).expect_err("nobody knows what it computes");
    assert!(error.contains("the raw kernel `scaled` has no meaning"), "{error}");
}

/// Where every bit counts, the meaning says which; a kernel without one runs all the same.
#[test]
fn exact_programs_are_what_is_meant() {
    let exact = |meaning| Program { precision: Some(Precision::Exact), ..parsed(SOURCES, meaning) };
    let has_raw = |program: &Program| chosen(program, Language::C).to_string().contains("raw scaled");
    assert!(has_raw(&parsed(SOURCES, MEANING)));
    assert!(!has_raw(&exact(MEANING)));
    assert!(has_raw(&exact("")));
}

/// What the host knows is passed, and what the device computes is read back.
#[test]
fn launches_of_sources() {
    let program = parsed(SOURCES, MEANING);
    let by_cores = ProgramRoad::to(Strategy::Cores).end(&chosen(&program, Language::C));
    let threads = Strategy::Threads(Machine::webgpu(), Default::default());
    let by_threads = ProgramRoad::to(threads).end(&chosen(&program, Language::Cuda));
    for (plan, language) in [(&by_cores, Language::C), (&by_threads, Language::Cuda)] {
        assert_eq!(verify::plan(plan), Ok(()));
        let raw: Vec<ScalarArg> = launches(plan)
            .into_iter()
            .filter(|(name, _)| name.starts_with("between_scaled"))
            .flat_map(|(_, scalars)| scalars)
            .collect();
        assert!(
            matches!(raw[..], [ScalarArg::Argument(1), ScalarArg::Read(_), ScalarArg::Const(two)] if two == Scalar::f32(2.0)),
            "{raw:?}"
        );
        let sources = plan.kernels.iter().filter_map(|kernel| kernel.raw.as_ref()).map(|raw| raw.source.language);
        assert_eq!(sources.collect::<Vec<_>>(), [language; 3]);
    }
    // Its meaning is fused with what is around it.
    let without = ProgramRoad::to(Strategy::Cores).end(&chosen(&program, Language::Wgsl));
    assert!(launches(&without).len() < launches(&by_cores).len(), "{:?}", launches(&without));
}

#[test]
fn what_the_verifier_refuses() {
    let refused = |text: &str| {
        let program = parse_program(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        verify::program(&program).expect_err(text).to_string()
    };
    let says = |error: String, wanted: &str| assert!(error.contains(wanted), "`{wanted}` is not in: {error}");
    says(refused(&text("", "")), "has no meaning, and no source");
    says(refused(&text(&SOURCES.replace("float a,", ""), "")), "takes 5 parameters, and is passed 6");
    says(refused(&text(&format!("{SOURCES} {SOURCES}"), "")), "source");
    says(refused(&text(SOURCES, &MEANING.replace("%q@: f32|", "%q@: f32, %o@: f32|"))), "the meaning takes");
    says(refused(&text(SOURCES, "").replace("block [64, 1, 1]", "block [64, 64, 1]")), "4096 threads");
    let inside = r#"program inside<N>(%x: f32[N]) -> f32[N, N] {
        %y: f32[N, N] = tabulate [N] |%i: i64| { %z: f32[N] = raw k(%x) threads [N] block [1, 1, 1] extents [] c k "void k(const float *x, float *y, long b, long e) {}"  yield %z }
        return %y }"#;
    says(refused(inside), "launched by the host");
}

/// Nobody has looked at the sources of a program that comes from elsewhere.
#[test]
fn sources_of_others_do_not_run() {
    let confined = confine::program(parsed(SOURCES, ""));
    let error = verify::program(&confined).expect_err("there is nothing to run").to_string();
    assert!(error.contains("no source that may run here"), "{error}");
    // Files are not run here: they have the source for their target, and else what it means.
    let written = |meaning, target| {
        let emitted = emit_with(&[parsed(SOURCES, meaning)], target, &Options::default());
        let texts = |emitted: Emitted| emitted.files.iter().filter_map(|file| file.as_text()).collect::<String>();
        emitted.map(texts).map_err(|error| error.to_string())
    };
    let has_source = |text: String| text.contains("for (long long i = begin; i < end; i++) y[i] = a * x[i];");
    assert!(written("", Target::C).is_ok_and(has_source));
    assert!(written(MEANING, Target::C).is_ok_and(has_source));
    assert!(written(MEANING, Target::Metal).is_ok_and(|text| !text.contains("scaled")));
    let error = written("", Target::Metal).expect_err("neither a source nor a meaning");
    assert!(error.contains("the raw kernel `scaled` is not written in Metal, and has no meaning"), "{error}");
}
