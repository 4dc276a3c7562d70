//! The corpus through CUDA and HIP, and kernels by hand: written as text, compiled against the shim, run, and compared.
#![cfg(feature = "cpu")]

mod devices;
mod shim;
mod texts;

use shim::Language;
use slyz_sir::back::clike::Description;
use slyz_sir::back::cuda::{self, Cuda, Vendor};
use slyz_sir::back::harness::{Entry, Target, road};
use slyz_sir::choices::Precision;
use slyz_sir::kernel::{Kernel, Plan};
use slyz_sir::lower::gpu::{Expected, Machine};
use slyz_sir::program::Program;
use slyz_sir::road::{ProgramRoad, Selection, Strategy};
use texts::{Emit, Subjects, Text, subjects};

/// The dialects. Mathematics is the C library's under the shim, but where every bit is asked for.
const DIALECTS: [Dialect; 3] = [
    Dialect { language: Language::Cuda, target: Target::Cuda, vendor: Vendor::Nvidia, precision: Precision::Table },
    Dialect {
        language: Language::Hip(64),
        target: Target::Hip,
        vendor: Vendor::Amd { wide_waves: true },
        precision: Precision::Exact,
    },
    Dialect {
        language: Language::Hip(32),
        target: Target::HipRdna,
        vendor: Vendor::Amd { wide_waves: false },
        precision: Precision::Table,
    },
];

#[derive(Clone, Copy)]
struct Dialect {
    language: Language,
    target: Target,
    vendor: Vendor,
    precision: Precision,
}

impl Dialect {
    fn cuda(&self) -> Cuda {
        Cuda { precision: self.precision, narrow: true, vendor: self.vendor }
    }

    fn emit(self) -> Box<Emit<'static>> {
        Box::new(move |kernels| cuda::emit_all(kernels, &self.cuda()))
    }

    /// The plan of a program, with names that no other has.
    fn plan(&self, subject: &Subjects) -> Plan {
        let precision = subject.program.precision.or(Some(self.precision));
        let mut plan = self.road().end(&Program { precision, ..subject.program.clone() });
        for (number, kernel) in plan.kernels.iter_mut().enumerate() {
            kernel.name = format!("{}_{number}", subject.program.name);
        }
        plan
    }

    /// Blocks of NVIDIA's GPUs have what those of the newest may have.
    fn road(&self) -> ProgramRoad {
        match self.vendor {
            Vendor::Nvidia => ProgramRoad::to(Strategy::Threads(Machine::cuda_of(90), Expected::default())),
            Vendor::Amd { .. } => road(self.target, &Selection::All),
        }
    }

    /// Runs the cases of programs.
    fn runs(&self, subjects: &[&Subjects]) {
        let plans: Vec<Plan> = subjects.iter().map(|subject| self.plan(subject)).collect();
        let kernels: Vec<&Kernel> = plans.iter().flat_map(|plan| &plan.kernels).collect();
        let (source, descriptions) =
            cuda::emit_all(&kernels, &self.cuda()).expect("they have all that the corpus asks for");
        let Some(library) = shim::build(self.language, &source, descriptions.iter()) else { return };
        println!("{:?}: {} programs", self.language, subjects.len());
        let mut descriptions = descriptions.into_iter();
        let entries = subjects.iter().zip(plans).map(|(subject, plan)| {
            let kernels: Vec<Description> = descriptions.by_ref().take(plan.kernels.len()).collect();
            Entry { program: subject.program.clone(), plan, kernels }
        });
        let entries: Vec<Entry> = entries.collect();
        texts::all_right(&library, subjects.iter().copied().zip(&entries), 2);
    }
}

/// All programs in CUDA, and each in HIP for one kind of GPU. There is nothing in them that the shim does not have.
#[test]
fn corpus_in_cuda() {
    let [cuda, ..] = DIALECTS;
    cuda.runs(&subjects().iter().collect::<Vec<_>>());
}

#[test]
fn corpus_in_hip() {
    let all = subjects();
    let [_, wide, narrow] = DIALECTS;
    let in_turn = |turn: usize| all.iter().skip(turn).step_by(2).collect::<Vec<_>>();
    wide.runs(&in_turn(0));
    narrow.runs(&in_turn(1));
}

fn each(runs: impl Fn(&Text)) {
    for dialect in DIALECTS {
        runs(&Text { language: dialect.language, emit: &*dialect.emit() });
    }
}

#[test]
fn subgroups() {
    each(|text| text.runs_subgroups(|_| true));
}

#[test]
fn atomics() {
    each(|text| text.runs_atomics());
}

#[test]
fn a_large_block() {
    let [cuda, ..] = DIALECTS;
    Text { language: cuda.language, emit: &*cuda.emit() }.runs_a_large_block();
}

#[test]
fn kernels_of_the_corpus() {
    each(|text| {
        let written_for_others = ["is written for 32 lanes"].into_iter().filter(|_| text.language.lanes() != 32);
        let known: Vec<&str> = written_for_others.chain(["holds a `lanes` loop"]).collect();
        text.runs_kernels_of_the_corpus(&known);
    });
}
