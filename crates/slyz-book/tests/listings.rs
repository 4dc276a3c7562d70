//! What the book and ARCHITECTURE.md quote is what the compilers print.
//!
//! A listing in a chapter is a comment that names it, and a block of text: `<!-- sir: norm -->`. This test makes the text
//! again and compares; `BLESS=1` rewrites the chapters. It does not run the code blocks: those are doctests. The gallery
//! quotes the examples, and that is checked too.

use slyz::prelude::*;
use slyz_lang::check::{Dialect, check};
use slyz_lang::diagnostic::Diagnostic;
use slyz_lang::host;
use slyz_lang::parse::parse;
use slyz_lang::render::render;
use slyz_sir::back::harness;
use slyz_sir::choices::Checks;
use slyz_sir::pass::weave::Blocking;
use slyz_sir::pass::{PROGRAM_PASSES, optimize};
use slyz_sir::road::{Destination, KernelRoad, ProgramRoad, Strategy};
use slyz_sir::text::{self, parse_program};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

axis!(N, M);

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
}

fn fails() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../slyz-messages/tests/fails")
}

fn norm(x: Arr<f32, N>) -> Exp<f32> {
    (x * x).sum().sqrt()
}

fn scaled(x: Arr<f32, N>, a: Exp<f32>) -> Arr<f32, N> {
    x * a + 1.0
}

fn smooth(x: Arr<f32, N>) -> Arr<f32, N> {
    let y = x.map(|v| v.exp().sin());
    tabulate(|i: Idx<N>| y.at((i - 1).clamp()) + y.at(i) + y.at((i + 1).clamp()))
}

fn softmax(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    stack(|i| {
        let row = x.row(i);
        let e = (row - row.max()).exp();
        e / e.sum()
    })
}

#[graph]
fn relu(input: &Tensor<f32>, output: &mut Tensor<f32>) {
    let idx = thread.x;
    if idx < output.len() {
        output[idx] = max(0.0, input[idx]);
    }
}

/// The kernel above: as `#[graph]` leaves it in the program, or the C of a launch that is proven.
fn by_hand(what: &str) -> Result<String> {
    let (input, mut output) = ([0.0f32], [0.0f32]);
    let launch = relu(&input, &mut output);
    let kernel = launch.kernel();
    if what == "graph" {
        return Ok(kernel.sir().to_string());
    }
    let road = KernelRoad { checks: Checks::Trust, ..KernelRoad::to(Destination::Cores(Blocking::Free)) };
    Ok(kernels(&slyz_sir::back::c::emit_kernels(&[road.end(kernel.template()?)?], false)?, "relu"))
}

/// The rules of kernels, a line each.
fn rules() -> String {
    let line = |rule: &slyz_lang::check::rules::Rule| {
        let severity = format!("{:?}", rule.severity).to_lowercase();
        format!("{:<20} {severity:<8} {}\n", rule.name, rule.meaning)
    };
    slyz_lang::check::rules::RULES.iter().map(line).collect()
}

/// One of the functions above, as it stands there.
fn quoted(name: &str) -> Result<String> {
    let (_, rest) =
        include_str!("listings.rs").split_once(&format!("fn {name}(")).ok_or(format!("no function {name}"))?;
    let (body, _) = rest.split_once("\n}\n").ok_or("a function without an end")?;
    Ok(format!("fn {name}({body}\n}}"))
}

/// One of the programs above, as the chapter's readers see it: `what` is `sir`, `optimized`, `plan`, `explain`, `metal`, `web`, `c`, or `c-end`, its
/// last two functions.
fn program(what: &str, name: &str) -> Result<String> {
    let cpu = slyz::device("cpu")?;
    let (program, explain, source) = match name {
        "norm" => parts(&compile_on(&cpu, norm)?),
        "scaled" => parts(&compile_on(&cpu, scaled)?),
        "smooth" => parts(&compile_on(&cpu, smooth)?),
        "softmax" => parts(&compile_on(&cpu, softmax)?),
        other => return Err(format!("there is no program {other}").into()),
    };
    Ok(match what {
        "sir" => program.to_string(),
        "optimized" => optimize(&program).to_string(),
        "metal" => metal(&program)?,
        "web" => javascript(&program)?,
        "explain" => explain,
        "plan" => text::print_plan(&ProgramRoad::to(Strategy::Cores).end(&program)),
        "c-end" => last_functions(&source, 2),
        _ => kernels(&source, name),
    })
}

fn parts<Sig>(f: &Compiled<Sig>) -> (slyz_sir::program::Program, String, String) {
    // How long it took is different every time.
    let explained = f.explain().to_string();
    let lasting = explained.split_inclusive('\n').filter(|line| !line.starts_with("built in ")).collect();
    (f.program().clone(), lasting, f.source().to_string())
}

/// The code of the function alone: the prelude before it is long, and much the same for all.
fn kernels(source: &str, name: &str) -> String {
    let start = source.find(&format!("\nFN void {name}_")).map_or(0, |newline| newline + 1);
    source[start..].to_string()
}

/// The last functions of a C file.
fn last_functions(source: &str, count: usize) -> String {
    let functions: Vec<&str> = source.trim_end().split("\n}\n").collect();
    functions[functions.len().saturating_sub(count)..].join("\n}\n").trim_start().to_string()
}

/// The kernels for Metal, without the first lines of the file.
fn metal(program: &slyz_sir::program::Program) -> Result<String> {
    let project = harness::Project::metal(std::slice::from_ref(program))?;
    let start = project.source.find("kernel void").unwrap_or(0);
    Ok(project.source[start..].to_string())
}

/// The function of JavaScript, without what is the same for every kernel.
fn javascript(program: &slyz_sir::program::Program) -> Result<String> {
    let emitted = harness::emit(std::slice::from_ref(program), harness::Target::Web)?;
    let file = emitted.files.iter().find(|file| file.name == "kernels.js").and_then(harness::File::as_text);
    let text = file.unwrap_or_default();
    Ok(text[text.find("/**\n").unwrap_or(0)..].to_string())
}

/// What a pass makes of the SIR in the listing before it.
fn passed(name: &str, before: &str) -> Result<String> {
    let pass = PROGRAM_PASSES.iter().find(|pass| pass.name == name).ok_or(format!("there is no pass {name}"))?;
    let program = parse_program(before).map_err(|error| error.to_string())?;
    Ok((pass.run)(program).to_string())
}

/// Some lines of what rustc says to a program that must fail: `a01_swapped 0 7` is the first error, 7 lines of it.
fn message(words: &[&str]) -> Result<String> {
    let [file, number, lines] = words else { return Err("a message has a file, a number and a count of lines".into()) };
    let text = fs::read_to_string(fails().join(format!("{file}.stderr")))?;
    let error = text.split("\n\n").nth(number.parse()?).ok_or(format!("{file} has no error {number}"))?;
    let lines: Vec<&str> = error.lines().take(lines.parse()?).collect();
    Ok(lines.join("\n").trim_end_matches([' ', '|', '\n']).to_string())
}

/// The chapter with every listing made again.
fn renewed(chapter: &str) -> Result<String> {
    let mut out = String::new();
    let mut lines = chapter.lines();
    let mut last = String::new();
    while let Some(line) = lines.next() {
        out += line;
        out += "\n";
        let Some(words) = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) else { continue };
        let (what, words) = words.split_once(": ").ok_or(format!("what is {line}?"))?;
        let words: Vec<&str> = words.split(' ').collect();
        let fence = lines.next().unwrap_or_default();
        if !["```text", "```c", "```js", "```rust,ignore"].contains(&fence) {
            return Err(format!("no block of text after {line}").into());
        }
        let old: String = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
        let new = match what {
            "before" => old,
            "after" => passed(words[0], &last)?,
            "message" => message(&words)?,
            "graph" | "graph-c" => by_hand(what)?,
            "rules" => rules(),
            "source" => quoted(words[0])?,
            "sir" | "optimized" | "plan" | "explain" | "c" | "c-end" | "metal" | "web" => program(what, words[0])?,
            other => return Err(format!("there is no listing {other}").into()),
        };
        out += &format!("{fence}\n{}\n```\n", new.trim_end());
        last = new;
    }
    Ok(out)
}

#[test]
fn listings_are_what_is_printed() -> Result {
    let chapters = fs::read_dir(docs())?.map(|entry| entry.map(|entry| entry.path()));
    for path in chapters.chain([Ok(docs().join("../../ARCHITECTURE.md"))]) {
        let path = path?;
        let chapter = fs::read_to_string(&path)?;
        let renewed = renewed(&chapter).map_err(|error| format!("{}: {error}", path.display()))?;
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, renewed)?;
            continue;
        }
        let old = chapter.lines().zip(renewed.lines()).enumerate().find(|(_, (old, new))| old != new);
        if let Some((number, (old, new))) = old {
            let place = format!("{}:{}", path.display(), number + 1);
            return Err(format!("{place} is out of date (BLESS=1 rewrites)\n  book: {old}\n  now:  {new}").into());
        }
        assert_eq!(chapter.lines().count(), renewed.lines().count(), "{} is out of date", path.display());
    }
    Ok(())
}

/// Programs in the language of kernels run, and print what their comments say behind `//>`.
#[test]
fn vex_programs_run() -> Result {
    let mut count = 0;
    for entry in fs::read_dir(docs())? {
        let path = entry?.path();
        for block in fs::read_to_string(&path)?.split("```vex\n").skip(1) {
            let text = block.split("\n```").next().unwrap_or_default();
            let (file, mut diagnostics) = parse(text);
            let checked = check(&file, Dialect::Vex);
            diagnostics.extend(checked.diagnostics);
            diagnostics.retain(Diagnostic::is_error);
            assert!(diagnostics.is_empty(), "{}:\n{}", path.display(), render("block", text, &diagnostics));
            let mut out = vec![];
            let done = host::run(&file, &host::kernels(&checked.program)?, &mut host::Interpreter::default(), &mut out);
            done.map_err(|diagnostic| render("block", text, &[diagnostic]))?;
            let told: String =
                text.lines().filter_map(|l| Some(format!("{}\n", l.split_once("//>")?.1.trim()))).collect();
            assert_eq!(String::from_utf8(out)?, told, "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 0, "the book has no program");
    Ok(())
}

/// A chapter that is not in the summary is not in the book; one that is not in `src/lib.rs` is not tested.
#[test]
fn chapters_are_listed() -> Result {
    let summary = fs::read_to_string(docs().join("SUMMARY.md"))?;
    let library = include_str!("../src/lib.rs");
    let tested = library.split_once("chapters!(").and_then(|(_, rest)| rest.split_once(')')).ok_or("no chapters")?.0;
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(docs())? {
        files.insert(entry?.file_name().into_string().map_err(|_| "an odd name")?);
    }
    files.remove("SUMMARY.md");
    let listed: BTreeSet<String> =
        summary.split("](").skip(1).filter_map(|link| Some(link.split_once(')')?.0.to_string())).collect();
    let tested: BTreeSet<String> = tested.split_whitespace().map(|name| format!("{name}.md")).collect();
    assert_eq!(files, listed, "docs/src and SUMMARY.md");
    assert_eq!(files, tested, "docs/src and crates/slyz-book/src/lib.rs");
    Ok(())
}

/// What the tables of equivalents call ours stands, as it is, in a code block of the chapter, and so compiles.
#[test]
fn equivalents_compile() -> Result {
    let chapter = fs::read_to_string(docs().join("coming.md"))?;
    let (mut code, mut rows, mut block) = (String::new(), vec![], "");
    for line in chapter.lines() {
        match line.strip_prefix("```") {
            Some(fence) if block.is_empty() => block = if fence.is_empty() { "text" } else { fence },
            Some(_) => block = "",
            None if block == "rust" => code += &format!("{line}\n"),
            None if line.starts_with('|') => rows.push(line),
            None => {}
        }
    }
    for row in rows {
        // `\|` is how a table says `|`.
        let row = row.replace("\\|", "\u{1}");
        let ours = row.trim_matches('|').split('|').next_back().unwrap_or_default();
        for snippet in ours.split('`').skip(1).step_by(2) {
            let snippet = snippet.replace('\u{1}', "|");
            assert!(code.contains(&snippet), "no code block has `{snippet}`");
        }
    }
    Ok(())
}

/// The gallery quotes the examples: each piece of a quotation, between blank lines, stands as it is in the example that
/// the section links to.
#[test]
fn gallery_quotes_the_examples() -> Result {
    let root = docs().join("../..");
    let gallery = fs::read_to_string(root.join("docs/gallery.md"))?;
    let mut examples = BTreeSet::new();
    for section in gallery.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap_or_default();
        let link = section.split_once("](../crates/slyz").and_then(|(_, rest)| rest.split_once(')'));
        let (file, _) = link.ok_or(format!("{title}: no link to an example"))?;
        let file = format!("crates/slyz{file}");
        let source = fs::read_to_string(root.join(&file))?;
        for quotation in section.split("```rust,ignore\n").skip(1) {
            let quotation = quotation.split("\n```").next().unwrap_or_default();
            for piece in quotation.split("\n\n") {
                assert!(source.contains(piece), "gallery, {title}: {file} does not have\n{piece}");
            }
        }
        examples.insert(file);
    }
    for folder in ["crates/slyz/examples", "crates/slyz-gallery/examples"] {
        for entry in fs::read_dir(root.join(folder))? {
            let name = entry?.file_name().to_string_lossy().to_string();
            let shown = examples.contains(&format!("{folder}/{name}"));
            assert!(shown || !name.ends_with(".rs"), "the gallery does not show {name}");
        }
    }
    Ok(())
}

/// The README asks for the Rust that Cargo.toml asks for, which is not newer than the one at work here. (Clippy looks for what is
/// younger than that in std; `./check` tells whether its Rust is the oldest allowed.)
#[test]
fn rust_version_is_what_is_needed() -> Result {
    let root = docs().join("../..");
    let needed = env!("CARGO_PKG_RUST_VERSION");
    let readme = fs::read_to_string(root.join("README.md"))?;
    assert!(readme.contains(&format!("Rust ({needed} or newer)")), "README.md does not ask for Rust {needed}");
    let minor = |version: &str| version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    let here = std::process::Command::new("rustc").arg("--version").output()?;
    let here = String::from_utf8(here.stdout)?;
    let here = here.split_whitespace().nth(1).ok_or("no version")?;
    assert!(minor(needed) <= minor(here), "Cargo.toml asks for Rust {needed}, and this is {here}");
    Ok(())
}
