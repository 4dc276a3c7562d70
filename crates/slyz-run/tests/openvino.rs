//! The OpenVINO device: the corpus, many callers at once, and what is refused.
#![cfg(all(feature = "cpu", feature = "openvino"))]

mod devices;

use slyz_run::openvino::OpenVino;
use slyz_run::{Argument, ArgumentProblem, Device, Error, Executable, Output};
use slyz_sir::back::graph::GraphError;
use slyz_sir::choices::Precision;
use slyz_sir::interp::{Array, program::solve_sizes};
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use slyz_sir::text::{Case, Subject, parse_file, parse_kernel, parse_program};
use slyz_sir::types::{Scalar, Ty};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type R = Result<(), Box<dyn std::error::Error>>;

/// Elements of a case that is run; larger ones take long and show nothing more.
const MOST: usize = 4_000;
/// So many cases of the corpus run; it only grows.
const LEAST: usize = 252;

/// The device with the library of `.ci/models`. Without that the test has nothing to do.
fn device() -> Option<OpenVino> {
    let python = slyz_trials::models()?;
    Some(OpenVino::new(None).with_library(python.parent()?.parent()?))
}

fn files() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("../../tests/corpus"), here.join("../slyz-sir/tests/models")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder of programs"));
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "sir")).collect();
    files.sort();
    files
}

/// What is different, as near as the models of `crates/slyz-sir/tests/models` have to be.
fn difference(expected: &Array, found: &Array) -> Option<String> {
    let ty = expected.ty;
    if (ty, &expected.shape) != (found.ty, &found.shape) {
        return Some(format!("{} of shape {:?}, not {ty} of {:?}", found.ty, found.shape, expected.shape));
    }
    let near = if ty == Ty::F16 { 2e-3 } else { 2e-5 };
    let agree = |a: u64, b: u64| {
        let [x, y] = [a, b].map(|bits| Scalar { ty, bits }.as_f64());
        let close = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= near + near * x.abs() && x.is_finite();
        a == b || ty.is_float() && close
    };
    let wrong = expected.data.iter().zip(&found.data).enumerate().find(|(_, (a, b))| !agree(**a, **b));
    wrong
        .map(|(at, (&a, &b))| format!("element {at} is {:?}, not {:?}", Scalar { ty, bits: b }, Scalar { ty, bits: a }))
}

fn elements(case: &Case) -> usize {
    case.args.iter().map(|value| devices::as_array(value).data.len()).sum()
}

/// What is said about a program that has no model, or a call with numbers that are too large.
fn is_told(error: &str) -> bool {
    let parts = ["OpenVINO has no ", "OpenVINO computes with f32", "whole numbers of up to"];
    parts.iter().any(|part| error.contains(part))
}

/// Every case of the corpus runs and gives what it should, or it is told why it does not.
#[test]
fn corpus() {
    let Some(device) = device() else { return };
    let mut ran = 0;
    let mut wrong = vec![];
    for path in files() {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, cases) = parse_file(&text).expect("a file of the corpus");
        for case in cases.iter().filter(|case| elements(case) <= MOST) {
            let Subject::Program(name) = &case.subject else { continue };
            let Some(program) = module.programs.iter().find(|program| program.name == *name) else { continue };
            let value = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
            let given: Vec<Option<u64>> = program.sizes.iter().map(|decl| value(&decl.name)).collect();
            let sizes = solve_sizes(program, &given, &case.args).expect("the sizes of a case");
            let found = match devices::run(&device, program, &sizes, &case.args) {
                Ok(found) => found,
                Err(error) if is_told(&error) => continue,
                Err(error) => {
                    wrong.push(format!("{file}, \"{}\": {error}", case.name));
                    continue;
                }
            };
            ran += 1;
            assert_eq!(found.len(), case.expect.len(), "{file}, {}", case.name);
            for (expect, found) in case.expect.iter().zip(&found) {
                let told = difference(&devices::as_array(&expect.value), &devices::as_array(found));
                wrong.extend(told.map(|why| format!("{file}, \"{}\": {why}", case.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{ran} cases");
    assert!(ran >= LEAST, "{ran} cases ran");
}

fn compiled(device: &OpenVino, text: &str) -> Result<Arc<dyn Executable>, Error> {
    device.compile(&parse_program(text).expect("the text of a program"))
}

fn floats(output: &Output) -> Vec<f32> {
    let bytes = output.data.bytes().expect("data of the host");
    bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().expect("four bytes"))).collect()
}

const SCALED: &str = "program scaled<N>(%x: f32[N], %a: f32) -> (f32[N], f32) {
    %zero: f32 = const 0.0
    %y: f32[N] = tabulate [N] |%i: i64| { %b: f32 = at %x[%i]  %c: f32 = mul %a, %b  yield %c }
    %sum: f32 = fold [N] |%j: i64| { %d: f32 = at %y[%j]  yield %d }
      with commutative (%zero) |%l: f32, %r: f32| { %s: f32 = add %l, %r  yield %s }
    return %y, %sum }";

#[test]
fn many_callers_at_once() -> R {
    let Some(device) = device() else { return Ok(()) };
    let code = compiled(&device, SCALED)?;
    let call = |thread: usize| {
        for turn in 1..30 {
            let x: Vec<f32> = (0..thread * 7 + turn).map(|n| (n % 16) as f32).collect();
            let length = x.len() as u64;
            let args = [Argument::host(Ty::F32, &[length], &x), Argument::Scalar(Scalar::f32(thread as f32))];
            let results = code.run(&[Some(length)], &args).expect("a call");
            let expected: Vec<f32> = x.iter().map(|x| x * thread as f32).collect();
            assert_eq!(floats(&results[0]), expected);
            assert_eq!(floats(&results[1]), [expected.iter().sum::<f32>()]);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || call(thread));
        }
    });
    Ok(())
}

/// Results are arguments of the next call, of this device and of others.
#[test]
fn results_go_on() -> R {
    let Some(device) = device() else { return Ok(()) };
    let code = compiled(&device, SCALED)?;
    let first =
        code.run(&[Some(2)], &[Argument::host(Ty::F32, &[2], &[1.0f32, 2.0]), Argument::Scalar(Scalar::f32(2.0))])?;
    let again = code.run(&[Some(2)], &[first[0].as_argument(), first[1].as_argument()])?;
    assert_eq!(floats(&again[0]), [12.0, 24.0]);
    let elsewhere = devices::narrow().compile(&parse_program(SCALED)?)?;
    let last = elsewhere.run(&[Some(2)], &[again[0].as_argument(), again[1].as_argument()])?;
    assert_eq!(floats(&last[1]), [36.0 * 36.0]);
    Ok(())
}

/// Nothing to compute with is no error.
#[test]
fn arrays_without_elements() -> R {
    let Some(device) = device() else { return Ok(()) };
    let code = compiled(&device, SCALED)?;
    let none: [f32; 0] = [];
    let results = code.run(&[Some(0)], &[Argument::host(Ty::F32, &[0], &none), Argument::Scalar(Scalar::f32(2.0))])?;
    assert_eq!((floats(&results[0]), floats(&results[1])), (vec![], vec![0.0]));
    Ok(())
}

#[test]
fn arguments_that_do_not_fit() -> R {
    let Some(device) = device() else { return Ok(()) };
    let code = compiled(&device, SCALED)?;
    let two = Argument::Scalar(Scalar::f32(2.0));
    let x = Argument::host(Ty::F32, &[2], &[1.0f32, 2.0]);
    let run = |args: &[Argument<'_>]| code.run(&[Some(2)], args).map(drop);
    assert!(matches!(run(std::slice::from_ref(&x)), Err(Error::ArgumentCount { .. })));
    let whole = Argument::host(Ty::I32, &[2], &[1i32, 2]);
    let error = run(&[whole, two.clone()]).expect_err("other elements");
    assert!(matches!(error, Error::Argument { problem: ArgumentProblem::Type { .. }, .. }), "{error}");
    let short = Argument::host(Ty::F32, &[1], &[1.0f32]);
    let error = run(&[short, two.clone()]).expect_err("another extent");
    assert!(matches!(error, Error::Argument { problem: ArgumentProblem::Extent { .. }, .. }), "{error}");
    run(&[x, two])?;
    Ok(())
}

#[test]
fn programs_and_kernels_that_are_no_models() -> R {
    let Some(device) = device() else { return Ok(()) };
    let bits = "program bits(%x: f32) -> i32 { %y: i32 = bitcast %x  return %y }";
    let error = compiled(&device, bits).map(drop).expect_err("no counterpart");
    assert!(matches!(&error, Error::Model(why) if matches!(**why, GraphError::Operation { .. })), "{error}");
    assert!(error.to_string().contains("`bitcast`") && error.to_string().contains("\"cpu\""), "{error}");
    let bytes = "program bytes(%x: u8) -> u8 { %y: u8 = add %x, %x  return %y }";
    assert!(matches!(compiled(&device, bytes), Err(Error::Model(why)) if matches!(*why, GraphError::Type { .. })));
    let exact = Program { precision: Some(Precision::Exact), ..parse_program(SCALED)? };
    assert!(matches!(device.compile(&exact), Err(Error::OpenVino { .. })));
    let kernel = parse_kernel(
        "kernel k<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z>() grid [grid_x, grid_y, grid_z] block [1, 1, 1] {}",
    )?;
    let error = device.prepare(&Arc::new(Template { kernel, constants: vec![] })).map(drop).expect_err("no threads");
    assert!(matches!(&error, Error::Model(why) if matches!(**why, GraphError::Kernel { .. })), "{error}");
    Ok(())
}

/// OpenVINO has 32 bits for whole numbers: a call that may need more is refused, others are right.
#[test]
fn whole_numbers_past_32_bits() -> R {
    let Some(device) = device() else { return Ok(()) };
    let squares = "program squares<N>(%x: i64[N]) -> i64[N] {
        %y: i64[N] = tabulate [N] |%i: i64| { %a: i64 = at %x[%i]  %b: i64 = mul %a, %a  yield %b }
        return %y }";
    let code = compiled(&device, squares)?;
    let run = |x: &[i64]| code.run(&[Some(2)], &[Argument::host(Ty::I64, &[2], x)]);
    let results = run(&[30_000, -5])?;
    assert_eq!(results[0].data.as_slice::<i64>(), Some(&[900_000_000, 25][..]));
    let error = run(&[1 << 20, 1]).expect_err("a square past 32 bits");
    assert!(matches!(&error, Error::Model(why) if matches!(**why, GraphError::Wide { .. })), "{error}");
    Ok(())
}

/// A read outside gives zero, as on every device.
#[test]
fn reads_outside() -> R {
    let Some(device) = device() else { return Ok(()) };
    let text = "program read<N, K>(%x: f32[N], %at: i64[K]) -> f32[K] {
        %y: f32[K] = tabulate [K] |%i: i64| { %p: i64 = at %at[%i]  %a: f32 = at %x[%p]  yield %a }
        return %y }";
    let code = compiled(&device, text)?;
    let x = Argument::host(Ty::F32, &[2], &[5.0f32, 6.0]);
    let results = code.run(&[Some(2), Some(3)], &[x, Argument::host(Ty::I64, &[3], &[1i64, 7, -3])])?;
    assert_eq!(floats(&results[0]), [6.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn what_is_missing_is_told() {
    let nowhere = OpenVino::new(None).with_library("no such folder");
    let error = compiled(&nowhere, SCALED).map(drop).expect_err("there is nothing");
    assert!(matches!(error, Error::NoOpenVino { .. }), "{error}");
    assert!(error.to_string().contains("pip install openvino"), "{error}");
    assert!(nowhere.describe().contains("not usable here"));
    let Some(python) = slyz_trials::models() else { return };
    let folder = python.parent().and_then(Path::parent).expect("a Python environment");
    let error = OpenVino::new(Some("abacus")).with_library(folder).found().expect_err("no such device");
    assert!(error.to_string().contains("CPU") && error.to_string().contains("SLYZ_ADAPTER"), "{error}");
}

#[test]
fn it_tells_what_it_is() -> R {
    let Some(device) = device() else { return Ok(()) };
    let (version, found) = device.found()?;
    assert!(version.starts_with("20") && found.iter().any(|(name, _)| name == "CPU"), "{version} {found:?}");
    assert!(device.describe().starts_with("openvino: OpenVINO 20"), "{}", device.describe());
    assert!(slyz_run::devices().iter().all(|device| device.name() != OpenVino::NAME), "it runs some programs only");
    assert_eq!(slyz_run::device(Some("openvino"))?.name(), OpenVino::NAME);
    Ok(())
}

/// Scalars of every kind, in and out.
#[test]
fn scalars() -> R {
    let Some(device) = device() else { return Ok(()) };
    let text = "program all(%b: bool, %i: i32, %l: i64, %h: f16) -> (bool, i32, i64, f16) {
        %c: bool = not %b
        %j: i32 = add %i, %i
        %m: i64 = add %l, %l
        %k: f16 = add %h, %h
        return %c, %j, %m, %k }";
    let code = compiled(&device, text)?;
    let half = |value: f64| Scalar::from_f64(Ty::F16, value);
    let of = |ty: Ty, value: i128| Scalar::from_int(ty, value);
    let args = [of(Ty::Bool, 1), of(Ty::I32, -21), of(Ty::I64, 50_000), half(0.75)].map(Argument::Scalar);
    let results = code.run(&[], &args)?;
    let expected = [of(Ty::Bool, 0), of(Ty::I32, -42), of(Ty::I64, 100_000), half(1.5)];
    for (result, expected) in results.iter().zip(expected) {
        let bits = result.data.bytes()?.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        assert_eq!((result.ty, &result.shape[..], bits), (expected.ty, &[][..], expected.bits & mask(expected.ty)));
    }
    Ok(())
}

fn mask(ty: Ty) -> u64 {
    u64::MAX >> (64 - 8 * ty.bytes())
}
