//! The corpus through Metal, and kernels by hand: every program optimized, lowered, written as MSL, compiled against the shim, run, and compared.
#![cfg(feature = "cpu")]

mod devices;
mod shim;
mod texts;

use shim::Language;
use slyz_sir::back::harness::{Project, ProjectError};
use slyz_sir::back::msl::{self, Msl};
use slyz_sir::program::Program;
use slyz_sir::types::Ty;
use texts::{Text, subjects};

const METAL: Text = Text { language: Language::Metal, emit: &|kernels| msl::emit(kernels, &Msl::default()) };

#[test]
fn corpus() {
    let (mut kept, mut lacking) = (vec![], vec![]);
    for subject in subjects() {
        match Project::metal(std::slice::from_ref(&subject.program)) {
            Ok(_) => kept.push(subject),
            // Metal has no f64; the error says so, and the file runs elsewhere.
            Err(ProjectError::Emit(error)) if error.to_string().contains("no f64") => lacking.push(subject.from),
            Err(error) => panic!("{}: {error}", subject.from),
        }
    }
    let programs: Vec<Program> = kept.iter().map(|s| s.program.clone()).collect();
    let project = Project::metal(&programs).expect("programs that go one by one go together");
    let kernels = project.entries.iter().flat_map(|entry| &entry.kernels);
    let Some(library) = shim::build(Language::Metal, &project.source, kernels) else { return };
    println!("without f64 in Metal: {}", lacking.join(", "));
    texts::all_right(&library, kept.iter().zip(&project.entries), usize::MAX);
}

#[test]
fn subgroups() {
    METAL.runs_subgroups(|ty| ty != Ty::F64);
}

#[test]
fn atomics() {
    METAL.runs_atomics();
}

#[test]
fn kernels_of_the_corpus() {
    let known = ["no atomic `add` on i64", "no atomic `exchange` on i64", "holds a `lanes` loop", "no f64"];
    METAL.runs_kernels_of_the_corpus(&known);
}
