//! Pages for browsers as their users meet them: `slyz build --target web`, and a headless browser that opens what was written.
#![cfg(feature = "wgpu")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Files of the corpus, and one of their programs where not all can run in a browser. Among them are sizes that are counted, loops of
/// launches, sorts, small integers, several results, kernels by hand, and a raw kernel in WGSL.
const PAGES: [(&str, Option<&str>); 11] = [
    ("matmul.sir", None),
    ("softmax_rows.sir", None),
    ("filter.sir", Some("twice_filtered")),
    ("loops_of_arrays.sir", Some("smooth")),
    ("sort.sir", Some("long")),
    ("fold_types.sir", Some("sum_bf16")),
    ("scalar_program.sir", Some("comparisons")),
    ("page_relu.vex", None),
    ("saxpy.vex", None),
    ("page_matmul.vex", None),
    ("../../crates/slyz-sir/tests/raw/between.sir", None),
];

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(name)
}

/// Writes the page of a file of the corpus.
fn build(file: &str, program: Option<&str>, out: &Path) -> R {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slyz"));
    command.arg("build").arg(corpus(file)).args(["--target", "web", "--out"]).arg(out);
    command.args(program.iter().flat_map(|name| ["--program", name]));
    let done = command.output()?;
    assert!(done.status.success(), "{file}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}

/// What pages say, a line each.
fn open(options: &[&str], folders: &[PathBuf]) -> R<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slyz-tests/browser/page.mjs");
    Ok(Command::new("node").arg(script).args(options).args(folders).output()?)
}

#[test]
fn cases_pass_in_a_browser() -> R {
    if !slyz_trials::has_browser() {
        return Ok(());
    }
    let place = tempfile::tempdir()?;
    let mut folders = vec![];
    for (file, program) in PAGES {
        let folder = place.path().join(Path::new(file).file_name().ok_or("a file")?);
        build(file, program, &folder)?;
        folders.push(folder);
    }
    let said = open(&[], &folders)?;
    let text = String::from_utf8(said.stdout)?;
    assert_eq!(text.lines().count(), PAGES.len(), "{}", String::from_utf8_lossy(&said.stderr));
    for line in text.lines() {
        let right =
            line.contains("\"result\":\"passed\"") && line.contains("\"right\"") && line.contains("\"messages\":[]");
        assert!(right, "{line}");
    }
    Ok(())
}

#[test]
fn mistakes_are_told() -> R {
    if !slyz_trials::has_browser() {
        return Ok(());
    }
    let place = tempfile::tempdir()?;
    build("softmax_rows.sir", None, place.path())?;
    let page = [place.path().to_path_buf()];
    let tries = [
        (
            "kernels.softmax(new Float32Array(3), { N: 2, M: 2 })",
            "KernelError: softmax: input has 3 elements, its shape needs 4",
        ),
        ("kernels.softmax([1, 2], { N: 1, M: 2 })", "KernelError: softmax: input must be a Float32Array, but is Array"),
        (
            "kernels.softmax(new Float32Array(3))",
            "KernelError: softmax: the size N must be a whole number and not negative, but is undefined",
        ),
        ("kernels.softmax(Float32Array.of(1, 1), { N: 1, M: 2 })", "0.5,0.5"),
    ];
    // One call of all, since a browser takes longer to start.
    let list: Vec<String> = tries.iter().map(|(call, _)| format!("{call}.catch(String).then(String)")).collect();
    let said = open(&["--call", &format!("Promise.all([{}]).then((all) => all.join(\"|\"))", list.join(", "))], &page)?;
    let text = String::from_utf8(said.stdout)?;
    let expected: Vec<&str> = tries.iter().map(|(_, told)| *told).collect();
    assert!(text.contains(&expected.join("|")), "{text}");
    let said = String::from_utf8(open(&["--without-webgpu"], &page)?.stdout)?;
    assert!(
        said.contains("\"result\":\"unsupported\",\"verdict\":\"This browser has no WebGPU. Use a recent"),
        "{said}"
    );
    Ok(())
}
