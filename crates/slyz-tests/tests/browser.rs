//! A browser as judge: its compiler, Tint, reads every WGSL file that the corpus is exported to.
//!
//! What it refuses stands in `golden/tint.txt`; `BLESS=1` rewrites the list, which should only ever become shorter.

use slyz_lang::kernels;
use slyz_sir::back::harness::{self, Explicit, File, Options, ProjectError, Target};
use slyz_sir::choices::Checks;
use slyz_sir::road::KernelRoad;
use slyz_sir::text::parse_file;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Of this crate.
fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a script of the folder `browser`.
fn script(name: &str, args: &[&std::ffi::OsStr]) -> R<Output> {
    Ok(Command::new("node").arg(here("browser").join(name)).args(args).output()?)
}

/// The files of the corpus with an ending.
fn corpus(ending: &str) -> R<Vec<PathBuf>> {
    let mut files = vec![];
    for entry in std::fs::read_dir(here("../../tests/corpus"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The programs of a `.sir` file as WGSL, each by itself, so that one that cannot be written hides no other.
fn of_programs(text: &str) -> R<Vec<Result<Vec<File>, ProjectError>>> {
    let (module, _) = parse_file(text)?;
    let emit = |program| harness::emit(std::slice::from_ref(program), Target::Wgsl).map(|emitted| emitted.files);
    Ok(module.programs.iter().map(emit).collect())
}

/// The kernels of a `.vex` file as WGSL, each by itself.
fn of_kernels(text: &str) -> R<Vec<Result<Vec<File>, ProjectError>>> {
    let source = kernels::read(text)?;
    let emit = |kernel: &kernels::Kernel| {
        let block = match kernel.template.axes() {
            0 | 1 => [256, 1, 1],
            2 => [16, 16, 1],
            _ => [8, 8, 4],
        };
        let explicit = Explicit { template: &kernel.template, block };
        let road = |destination| KernelRoad { checks: Checks::Guard, ..KernelRoad::to(destination) };
        harness::emit_kernels(&[explicit], Target::Wgsl, &road, &Options::default()).map(|emitted| emitted.files)
    };
    Ok(source.kernels.iter().map(emit).collect())
}

/// Writes every file of the corpus and the tiled sum as WGSL below a folder; gives the paths, and a line for each that cannot be written.
fn export(folder: &Path) -> R<(Vec<PathBuf>, Vec<String>)> {
    let (mut paths, mut lines) = (vec![], vec![]);
    for path in [corpus("sir")?, corpus("vex")?].concat() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path)?;
        let parts = if name.ends_with(".sir") { of_programs(&text) } else { of_kernels(&text) };
        for part in parts.map_err(|error| format!("{name}: {error}"))? {
            let files = match part {
                Ok(files) => files,
                Err(error) => {
                    lines.push(format!("{name} is not written: {error}"));
                    continue;
                }
            };
            std::fs::create_dir_all(folder.join(&name))?;
            for file in files {
                let path = folder.join(&name).join(&file.name);
                std::fs::write(&path, file.bytes())?;
                paths.push(path);
            }
        }
    }
    let tiled = folder.join("tiled_sum.wgsl");
    std::fs::write(&tiled, slyz::views::tiled_source::<slyz::views::SumOp>(Target::Wgsl)?)?;
    paths.push(tiled);
    Ok((paths, lines))
}

#[test]
fn tint_takes_the_corpus() -> R {
    if !slyz_trials::has_browser() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let (paths, mut lines) = export(folder.path())?;
    let list = folder.path().join("list");
    std::fs::write(&list, paths.iter().map(|path| format!("{}\n", path.display())).collect::<String>())?;
    let said = script("tint.mjs", &["--list".as_ref(), list.as_os_str()])?;
    let text = String::from_utf8(said.stdout)?;
    assert_eq!(text.lines().count(), paths.len(), "{}", String::from_utf8_lossy(&said.stderr));
    for line in text.lines().filter(|line| !line.ends_with("\"errors\":[]}")) {
        let (_, rest) = line.split_once(&format!("{}/", folder.path().display())).ok_or("a file of ours")?;
        let name = rest.split('"').next().unwrap_or_default();
        // Only the first message, and not its place: lines move with every change of what stands above them.
        let messages = rest.split("\"message\":\"").nth(1).unwrap_or_default();
        let message = messages.split("\"}").next().unwrap_or_default();
        lines.push(format!("{name} is refused: {}", message.split("\\n").next().unwrap_or_default()));
    }
    lines.sort();
    println!("{} files, {} lines of complaint", paths.len(), lines.len());
    let found = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let golden = here("tests/golden/tint.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &found)?;
    }
    assert_eq!(found, std::fs::read_to_string(&golden).unwrap_or_default(), "BLESS=1 accepts");
    Ok(())
}
