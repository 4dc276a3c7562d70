//! Swift harnesses where no Mac is: compiled and linked by Swift's own compiler against a stand-in for Metal, and run on kernels that are C++.

#![allow(dead_code)] // Each test file uses its part of it.

use super::glue;
use slyz_sir::back::harness::{Emitted, Entry};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a project, and a stand-in for Metal beside it.
pub struct Harness {
    folder: PathBuf,
    compiler: PathBuf,
    /// The command that people are told, up to the program that it makes.
    build: String,
}

impl Harness {
    /// Writes the files into a folder; nothing where there is no Swift or no C++, which is told.
    pub fn new(emitted: &Emitted, folder: &Path) -> Option<Harness> {
        std::fs::create_dir_all(folder).expect("a folder");
        for file in &emitted.files {
            std::fs::write(folder.join(&file.name), file.bytes()).expect("the folder can be written");
        }
        Harness::of_folder(&emitted.build, folder)
    }

    /// The same of a folder that has the files, and the command that builds them.
    pub fn of_folder(build: &str, folder: &Path) -> Option<Harness> {
        let compiler = slyz_trials::swift().filter(|_| slyz_trials::has_cxx())?;
        let build = build.split(" && ").next().unwrap_or_default();
        let build = build.replacen("swiftc", "\"$SWIFTC\" -warnings-as-errors -I . Metal.o", 1);
        let harness = Harness { folder: folder.to_path_buf(), compiler, build };
        let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slyz-run/tests/shim/swift/Metal.swift");
        let module = "\"$SWIFTC\" -parse-as-library -c -emit-module -module-name Metal \"$STAND_IN\" -o Metal.o";
        succeeded(&harness.shell(module).env("STAND_IN", stand_in).output().expect("a shell"));
        Some(harness)
    }

    /// Compiles and links; it must succeed, without a warning.
    pub fn build(&self) {
        succeeded(&self.shell(&self.build).output().expect("a shell"));
    }

    /// All results of the programs are compared and right. Without a device it exits with 1.
    pub fn validates(&self, entries: &[Entry]) {
        let kernels = entries.iter().flat_map(|entry| &entry.kernels);
        let compile = || glue::compile(glue::Language::Metal, &self.text("kernels.metal"), kernels, &self.folder);
        let results: usize = entries.iter().map(|entry| entry.plan.results.len()).sum();
        self.says_right(compile, results);
    }

    /// The same of kernels of which their text alone is known. What it says.
    pub fn validates_text(&self, results: usize) -> String {
        self.says_right(|| glue::compile_metal(&self.kernels(), &self.folder), results)
    }

    fn says_right(&self, compile: impl FnOnce() -> PathBuf, results: usize) -> String {
        self.build();
        fails_with(&self.run(), "no Metal device");
        compile();
        let right = self.run();
        succeeded(&right);
        assert_eq!(said(&right).matches("max error").count(), results, "{}", said(&right));
        said(&right)
    }

    /// With a wrong expectation it exits with 1.
    pub fn finds_a_mistake(&self) {
        let text = self.text("harness.swift");
        let expected = "expected0: [Float] = [";
        let wrong = text.replacen(expected, &format!("{expected}77.0 + "), 1);
        assert_ne!(text, wrong);
        std::fs::write(self.folder.join("harness.swift"), wrong).expect("the folder can be written");
        self.build();
        fails_with(&self.run(), "WRONG");
    }

    /// The kernels of the project, and those that people wrote behind them.
    fn kernels(&self) -> String {
        let files = std::fs::read_dir(&self.folder).expect("the folder can be read");
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".metal")).collect();
        names.sort();
        names.iter().map(|name| self.text(name)).collect()
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file)).expect("a file of the project")
    }

    fn run(&self) -> Output {
        self.shell("./harness").output().expect("a shell")
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("SWIFTC", &self.compiler).current_dir(&self.folder);
        shell
    }
}

/// Everything that was printed.
fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}: {}", output.status, said(output));
}

fn fails_with(output: &Output, word: &str) {
    assert!(output.status.code() == Some(1) && said(output).contains(word), "{}: {}", output.status, said(output));
}
