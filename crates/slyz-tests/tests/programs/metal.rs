//! Metal and Swift as users get them: the essay's files, its kernels and others run under the shim, Swift's syntax, errors.
//!
//! `BLESS=1` rewrites the goldens.

#[path = "../../../slyz/examples/essay.rs"]
#[allow(dead_code)]
mod essay;
#[path = "../../../slyz-run/tests/shim/mod.rs"]
mod shim;

use slyz::prelude::*;
use slyz::{Error, ProjectError};
use slyz_sir::back::harness::{self, Project, cases};
use slyz_sir::interp::{Array, Value, program::run};
use slyz_sir::types::{Scalar as Bits, Ty};
use std::path::PathBuf;

axis!(N, M, Kept);

fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/essay").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "{} differs; look at it, then BLESS=1", path.display());
}

#[test]
fn essay_is_golden() {
    let program = essay::program().unwrap();
    for file in program.emit(Target::Metal).unwrap().files() {
        golden(&file.name, file.as_text().unwrap());
    }
}

fn library(project: &Project) -> Option<shim::Library> {
    shim::build(shim::Language::Metal, &project.source, project.entries.iter().flat_map(|e| &e.kernels))
}

fn array(value: &Value) -> Array {
    match value {
        Value::Array(array) => array.clone(),
        Value::Scalar(Bits { ty, bits }) => Array { ty: *ty, shape: vec![], data: vec![*bits] },
    }
}

/// As far off as three steps of the last place.
fn close(a: &Array, b: &Array) -> bool {
    let near = |(&a, &b): (&u64, &u64)| a == b || a.abs_diff(b) <= 3 && a > 8;
    (a.ty, &a.shape) == (b.ty, &b.shape) && a.data.iter().zip(&b.data).all(near)
}

/// Every kernel of a module on the inputs of its harness.
fn runs(module: &Module) {
    let project = Project::metal(module.programs()).unwrap();
    let Some(library) = library(&project) else { return };
    for entry in &project.entries {
        let case = cases::case(&entry.program);
        let args: Vec<Value> = entry
            .program
            .body
            .params
            .iter()
            .enumerate()
            .map(|(k, param)| {
                let shape = cases::extents(param.ty.shape(), &case.sizes).unwrap();
                let count: u64 = shape.iter().product();
                let element = |i| cases::element(param.ty.elem(), case.fill, k, i);
                if let slyz_sir::code::Type::Scalar(_) = param.ty {
                    return Value::Scalar(element(0));
                }
                let data = (0..count).map(|i| element(i).bits).collect();
                Value::Array(Array { ty: param.ty.elem(), shape, data })
            })
            .collect();
        let found = library.run(entry, &case.sizes, &args).unwrap();
        let expected = case.expected.expect("kernels that are small enough to be interpreted");
        assert!(found.iter().map(array).zip(&expected).all(|(a, b)| close(&a, b)), "{}", entry.program.name);
    }
}

#[test]
fn essay_runs() {
    runs(&essay::program().unwrap());
}

#[slyz::function]
fn normcdf(x: Exp<f32>) -> Exp<f32> {
    let l = x.abs();
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let w = 1.0 - 0.398_942_3 * (-l * l / 2.0).exp() * horner(k, [0.0, 0.319_381_53, -0.356_563_78, 1.781_477_9]);
    if x < 0.0 { 1.0 - w } else { w }
}

/// Every construct of the front end.
fn constructs() -> Result<Module, Error> {
    type Five = (Fix<2>, Fix<3>, N, Fix<2>, M);
    let mut program = programs()?;
    program.kernel("rank_five", |x: Arr<f32, Five>| x * 2.0)?;
    program.kernel("rank_four_sum", |x: Arr<f32, (N, Fix<2>, M, Fix<3>)>| x.axis::<3>().sum())?;
    program
        .kernel("shared", |x: Arr<f32, N>, y: Arr<f32, N>| zip((x, y)).map(|(x, y)| normcdf(x - 5.0) * normcdf(y)))?;
    program.kernel("looped", |x: Arr<f32, N>| x.map(|x| iterate(5u32, x, |_, s| (s + x / s) / 2.0)))?;
    program.kernel("collatz", |x: Arr<u32, N>| {
        x.map(|x| repeat_while((x, 0u32), |(x, _)| x.gt(1), |(x, n)| ((x & 1).eq(0).select(x / 2, x * 3 + 1), n + 1)).1)
    })?;
    program.kernel("turned", |x: Arr<f32, (N, M)>| x.transpose())?;
    program.kernel("gathered", |x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at(i.reversed()) + x.at_or(i - 1, 0.5)))?;
    program.kernel("bins", |x: Arr<u32, N>| {
        scatter(Sum, |i: Idx<N>| (Near::<Fix<7>>::new(x.at(i).cast::<i32>() % 9), 1u32))
    })?;
    program.kernel("product", |a: Arr<f32, (N, M)>, b: Arr<f32, (M, Fix<3>)>| {
        tabulate(|(i, j): Pos<(N, Fix<3>)>| sum(|k: Idx<M>| a.at((i, k)) * b.at((k, j))))
    })?;
    program.kernel("softmax", |x: Arr<f32, (N, M)>| {
        stack(|r| {
            let w = x.row(r);
            let e = (w - w.max()).exp();
            e / e.sum()
        })
    })?;
    Ok(program)
}

#[test]
fn constructs_run() {
    runs(&constructs().unwrap());
}

/// Programs over run-time sizes: folds of every kind, filter, scan, scatter, and elements of all types.
fn programs() -> Result<Module, Error> {
    let mut program = Module::new();
    program.kernel("total", |x: Arr<f32, N>| x.sum())?;
    program.kernel("largest", |x: Arr<f32, N>| x.max())?;
    program.kernel("ints", |x: Arr<i32, N>| (x.sum(), x.max(), x.min()))?;
    program.kernel("longs", |x: Arr<i64, N>| (x.sum(), x.max()))?;
    program.kernel("sum_and_last", |x: Arr<i32, N>| {
        x.map(|x| (x, x)).fold(monoid((0i32, 0i32), |(a, c), (b, d)| (a + b, d.ne(0).select(d, c))))
    })?;
    program.kernel("kept", |x: Arr<i32, N>| x.filter::<Kept>(|x| x.gt(3)))?;
    program.kernel("running", |x: Arr<i32, N>| x.scan(Sum))?;
    program.kernel("row_sums", |x: Arr<f32, (N, M)>| x.axis::<1>().sum())?;
    program.kernel("halves", |x: Arr<f16, N>, y: Arr<bf16, N>, p: Arr<bool, N>| {
        zip((x, y, p)).map(|(x, y, p)| (p.select(x + x, x), y * y, !p))
    })?;
    program.kernel("scaled", |a: Exp<f32>, x: Arr<f32, (N, M)>| x * a)?;
    Ok(program)
}

#[test]
fn sums_of_every_length() {
    let project = Project::metal(programs().unwrap().programs()).unwrap();
    let Some(library) = library(&project) else { return };
    for entry in &project.entries[..7] {
        let ty = entry.program.body.params[0].ty.elem();
        for n in [0u64, 1, 31, 32, 33, 255, 256, 257, 1000, 65_537, 1_000_000] {
            // The interpreter of a scan or filter over so many is slow, and nothing new.
            if n > 100_000 && ty == Ty::I32 {
                continue;
            }
            let data: Vec<u64> = (0..n).map(|i| Bits::from_int(ty, (i * 5 % 7) as i128).bits).collect();
            let args = [Value::Array(Array { ty, shape: vec![n], data })];
            let sizes: Vec<Option<u64>> = entry
                .program
                .sizes
                .iter()
                .map(|d| (d.origin == slyz_sir::size::SizeOrigin::Given).then_some(n))
                .collect();
            let expected = run(&entry.program, &sizes, &args).unwrap();
            let found = library.run(entry, &sizes, &args).unwrap();
            let same = found.iter().map(array).eq(expected.iter().map(array));
            assert!(same, "{} of {n}", entry.program.name);
        }
    }
}

/// Every complaint of a Swift parser.
fn syntax_errors(text: &str) -> Vec<String> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_swift::LANGUAGE.into()).unwrap();
    let tree = parser.parse(text, None).unwrap();
    let (mut wrong, mut nodes) = (vec![], vec![tree.root_node()]);
    while let Some(node) = nodes.pop() {
        if node.is_error() || node.is_missing() {
            let line = node.start_position().row;
            wrong.push(format!("line {}: {}", line + 1, text.lines().nth(line).unwrap_or_default()));
        }
        nodes.extend((0..node.child_count()).filter_map(|k| node.child(k as u32)));
    }
    wrong
}

#[test]
fn swift_parses() {
    for program in [essay::program().unwrap(), constructs().unwrap()] {
        for target in [Target::Metal, Target::MetalSingleFile] {
            let emitted = program.emit(target).unwrap();
            for file in emitted.files().iter().filter(|f| f.name.ends_with(".swift")) {
                let text = file.as_text().unwrap();
                let wrong = syntax_errors(text);
                assert!(wrong.is_empty(), "{}:\n{}", file.name, wrong.join("\n"));
                // The parser is awake.
                let broken = text.replacen("func validate() throws", "func validate( throws", 1);
                assert!(!syntax_errors(&broken).is_empty());
            }
        }
    }
}

/// Swift's compiler takes what it is told to, and the program finds its kernels right.
fn swift_validates(module: &Module) {
    let folder = tempfile::tempdir().unwrap();
    let emitted = harness::emit(module.programs(), Target::Metal).unwrap();
    if let Some(harness) = shim::swift::Harness::new(&emitted, folder.path()) {
        harness.validates(&Project::metal(module.programs()).unwrap().entries);
    }
}

#[test]
fn swift_runs_the_essay() {
    swift_validates(&essay::program().unwrap());
}

#[test]
fn swift_runs_every_construct() {
    swift_validates(&constructs().unwrap());
}

#[test]
fn swift_takes_a_single_file() {
    let folder = tempfile::tempdir().unwrap();
    let emitted = harness::emit(constructs().unwrap().programs(), Target::MetalSingleFile).unwrap();
    if let Some(harness) = shim::swift::Harness::new(&emitted, folder.path()) {
        harness.build();
    }
}

#[test]
fn single_file_holds_the_kernels() {
    let program = essay::program().unwrap();
    let emitted = program.emit(Target::MetalSingleFile).unwrap();
    let [file] = emitted.files() else { panic!("one file") };
    let metal = program.emit(Target::Metal).unwrap();
    let text = file.as_text().unwrap();
    assert!(text.contains(metal.file("kernels.metal").unwrap()));
    assert!(!text.contains("@main"));
}

#[test]
fn mistakes_have_names() {
    let one = || fill::<f32, Vector<8>>(1.0);
    let refused = |name: &str| Module::new().kernel(name, one).unwrap_err();
    for name in ["", "2nd", "vec-map", "a b", "Słyż", "_hidden"] {
        assert!(matches!(refused(name), Error::Project(ProjectError::Name(_))), "{name}");
    }
    for name in ["kernel", "float", "uint3", "device", "main", "func", "guard"] {
        let mut program = Module::new();
        program.kernel(name, one).unwrap();
        let error = program.emit(Target::Metal).unwrap_err();
        assert!(matches!(error, Error::Project(ProjectError::Reserved { .. })), "{name}: {error}");
    }
    let mut program = Module::new();
    program.kernel("twice", one).unwrap();
    assert!(matches!(program.kernel("twice", one), Err(Error::Project(ProjectError::Twice(_)))));
    let mut program = Module::new();
    program.kernel("precise", |x: Arr<f64, N>| x * 2.0).unwrap();
    let error = program.emit(Target::Metal).unwrap_err().to_string();
    assert!(error.contains("kernel `precise`: Metal has no f64; use f32"), "{error}");
}

#[test]
fn folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let emitted = essay::program().unwrap().emit(Target::Metal).unwrap();
    assert!(matches!(emitted.write_to(file.join("out")), Err(Error::Write(_))));
    std::fs::create_dir_all(folder.path().join("out/harness.swift")).unwrap();
    let error = emitted.write_to(folder.path().join("out")).unwrap_err().to_string();
    assert!(error.contains("harness.swift") && error.contains("Nothing was written"), "{error}");
    assert!(!folder.path().join("out/kernels.metal").exists());
    emitted.write_to(folder.path().join("new/deep")).unwrap();
    assert!(folder.path().join("new/deep/kernels.metal").exists());
}
