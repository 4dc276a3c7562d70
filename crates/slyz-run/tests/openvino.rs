//! The OpenVINO device: the corpus against what it expects, many callers at once, and what is refused.
#![cfg(all(feature = "cpu", feature = "openvino"))]

mod devices;

use slyz_run::openvino::OpenVino;
use slyz_run::{Argument, ArgumentProblem, Device, Error, Interpreter};
use slyz_sir::interp::{Array, Value, program::solve_sizes};
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use slyz_sir::text::{Case, Subject, parse_file, parse_kernel, parse_program};
use slyz_sir::types::{Scalar, Ty};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type R = Result<(), Box<dyn std::error::Error>>;

/// Elements of a case that is run; larger ones take long and show nothing more.
const MOST: usize = 4_000;

/// The device with the library of `.ci/models`. Without it the test has nothing to do.
fn device() -> Option<OpenVino> {
    let python = slyz_trials::models()?;
    let folder = python.parent()?.parent()?;
    Some(OpenVino::new(None).with_library(folder))
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

/// Is a result what is expected? As near as the models of `crates/slyz-sir/tests/models` are.
fn agree(expected: &Array, found: &Array) -> Result<(), String> {
    if (expected.ty, &expected.shape) != (found.ty, &found.shape) {
        return Err(format!("{} of shape {:?}, not {} of {:?}", found.ty, found.shape, expected.ty, expected.shape));
    }
    let ty = expected.ty;
    let near = if ty == Ty::F16 { 2e-3 } else { 2e-5 };
    for (at, (&a, &b)) in expected.data.iter().zip(&found.data).enumerate() {
        let [x, y] = [a, b].map(|bits| Scalar { ty, bits });
        let (fx, fy) = (x.as_f64(), y.as_f64());
        let same = a == b || ty.is_float() && (fx.is_nan() && fy.is_nan() || fx == fy);
        let close = ty.is_float() && fx.is_finite() && (fx - fy).abs() <= near + near * fx.abs();
        if !same && !close {
            return Err(format!("element {at} is {y:?}, not {x:?}"));
        }
    }
    Ok(())
}

fn elements(case: &Case) -> usize {
    let count = |value: &Value| devices::as_array(value).data.len();
    case.args.iter().map(count).sum()
}

#[test]
fn corpus() {
    let Some(device) = device() else { return };
    let mut ran = 0;
    let mut refused = BTreeSet::new();
    let mut wrong = vec![];
    for path in files() {
        let file = path.file_name().unwrap_or_default().to_string_lossy().to_string();
        let (module, cases) = parse_file(&std::fs::read_to_string(&path).expect("a file")).expect("its text");
        for case in cases.iter().filter(|case| elements(case) <= MOST) {
            let Subject::Program(name) = &case.subject else { continue };
            let Some(program) = module.programs.iter().find(|program| program.name == *name) else { continue };
            let given = |name: &str| case.sizes.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
            let given: Vec<Option<u64>> = program.sizes.iter().map(|decl| given(&decl.name)).collect();
            let Ok(sizes) = solve_sizes(program, &given, &case.args) else { continue };
            let before = std::time::Instant::now();
            let found = devices::run(&device, program, &sizes, &case.args);
            let took = before.elapsed().as_millis();
            if took > 300 { println!("SLOW {file} {} {took}", case.name); }
            match found {
                Err(error) => {
                    refused.insert(format!("{file} {name}: {error}"));
                }
                Ok(found) => {
                    ran += 1;
                    for (expect, found) in case.expect.iter().zip(&found) {
                        let told = agree(&devices::as_array(&expect.value), &devices::as_array(found));
                        wrong.extend(told.err().map(|why| format!("{file}, {name}, \"{}\": {why}", case.name)));
                    }
                }
            }
        }
    }
    println!("{ran} ran");
    for line in &refused { println!("REFUSED {line}"); }
    for line in &wrong { println!("WRONG {line}"); }
}
