//! Programs for people: kernels of several programs in one file, and host text that runs them.
//!
//! A [`Project`] lowers its programs for a kind of device, gives kernels and buffers the names that a reader expects, and
//! keeps for each program the plan and the descriptions of its launches. Host text is written from those alone, so the two
//! files cannot disagree.

mod by_hand;
pub mod cases;
mod explicit;
mod models;
mod native;
mod raw;
pub mod rust;
mod simt;
#[cfg(feature = "naga")]
mod spirv;
pub mod swift;
mod walk;
pub mod web;
mod wgsl;

pub use by_hand::{ByHandLaunch, HandKernel};
pub use explicit::{Explicit, emit_kernels, project_kernels};

use super::EmitError;
use super::clike::Description;
use super::graph::GraphError;
use super::msl::{self, Msl};
use crate::choices::{Extension, Precision};
use crate::code::{Body, MemId, Op};
use crate::kernel::{BufferUse, Plan, ScalarArg, Step};
use crate::lower::gpu::{Expected, Machine};
use crate::names::Names;
use crate::program::Program;
use crate::road::{ProgramRoad, Selection, Strategy};
use crate::verify::VerifyError;
use crate::{pass, verify};
use std::collections::{BTreeMap, BTreeSet};

/// Why a project cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The name of a kernel is no name in the languages of the project.
    #[error(
        "`{0}` cannot be the name of a kernel: a name is letters, digits and `_`, with a letter in front; choose another"
    )]
    Name(String),
    /// The name of a kernel means something in a language of the project.
    #[error(
        "`{name}` cannot be the name of a kernel: it is a word of {language}; choose another, such as `{name}_kernel`"
    )]
    Reserved {
        /// The name.
        name: String,
        /// The language.
        language: &'static str,
    },
    /// Two kernels have one name.
    #[error("there are two kernels `{0}`; give one of them another name")]
    Twice(String),
    /// The program breaks a rule of the verifier.
    #[error("the kernel `{name}` is not valid: {why}")]
    Program {
        /// The kernel.
        name: String,
        /// The rule.
        why: VerifyError,
    },
    /// Nobody knows what it computes.
    #[error(
        "the raw kernel `{kernel}` has no meaning, and {target} takes no sources; give it one with `.meaning(..)`, or run it on a device"
    )]
    Raw {
        /// Its name.
        kernel: String,
        /// The target.
        target: &'static str,
    },
    /// The target cannot be that precise.
    #[error(
        "{language} cannot promise every bit: its arithmetic is the device's. Ask for the precision table or native, or build for the target c or spirv"
    )]
    Precision {
        /// The language.
        language: &'static str,
    },
    /// The language of the target cannot say it.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The program is no graph of whole arrays.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Some of several programs or kernels cannot be written.
    #[error("{}", told(.cannot, .can))]
    Several {
        /// Names, and why.
        cannot: Vec<(String, ProjectError)>,
        /// The names of the others.
        can: Vec<String>,
    },
    /// There is no host program for the target.
    #[error(
        "{target} has no host program: projects can be had for c, opencl, cuda, hip, hip-rdna, spirv, metal, web and rust. Without a project, the kernels alone are written"
    )]
    NoHost {
        /// The target.
        target: &'static str,
    },
    /// There are no kernels apart from a host.
    #[error("{target} is a whole crate: ask for a project (`slyz build --project`, `Module::write_project`)")]
    OnlyProject {
        /// The target.
        target: &'static str,
    },
    /// There is no host program for kernels by hand.
    #[error(
        "{target} has no host program for kernels by hand: projects of them can be had for c, opencl, cuda, hip, hip-rdna, spirv, metal, web and rust. Without a project, the kernels alone are written"
    )]
    NoHostByHand {
        /// The target.
        target: &'static str,
    },
    /// Nobody reads what a kernel reports.
    #[error(
        "the host of the kernel `{kernel}` reads no faults; leave `--checks report` away, or build a page: --target web"
    )]
    Report {
        /// The kernel.
        kernel: String,
    },
    /// The threads of a kernel cannot become loops.
    #[error(transparent)]
    Unwoven(#[from] pass::weave::Unwoven),
}

fn told(cannot: &[(String, ProjectError)], can: &[String]) -> String {
    let reasons: Vec<String> = cannot.iter().map(|(name, why)| format!("\n  `{name}`: {why}")).collect();
    let rest = match can {
        [] => String::new(),
        can => format!("\nLeave them out, and the rest can be written: {}", can.join(", ")),
    };
    format!("{} of {} cannot be written:{}{rest}", cannot.len(), cannot.len() + can.len(), reasons.concat())
}

/// All of `items` in one, or the reasons of everything that stands in the way.
fn all_or_reasons<T>(
    items: &[T],
    name: impl Fn(&T) -> String,
    emit: impl Fn(&[T]) -> Result<Emitted, ProjectError>,
) -> Result<Emitted, ProjectError> {
    let emitted = emit(items);
    let Err(error) = emitted else { return emitted };
    let mut cannot = vec![];
    let mut can = vec![];
    for item in items {
        match emit(std::slice::from_ref(item)) {
            Ok(_) => can.push(name(item)),
            Err(why) => cannot.push((name(item), why)),
        }
    }
    if items.len() < 2 || cannot.is_empty() { Err(error) } else { Err(ProjectError::Several { cannot, can }) }
}

/// What a project is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Apple's GPUs: `kernels.metal`, and `harness.swift` that runs, validates and measures its kernels.
    Metal,
    /// Apple's GPUs: one Swift file that holds the Metal source too, without a `main`, to be copied into an app.
    MetalSingleFile,
    /// CPUs: C with vectors, a function per kernel.
    C,
    /// GPUs of NVIDIA: `kernels.cu`, CUDA C++.
    Cuda,
    /// GPUs of AMD for computing, CDNA: `kernels.hip`, HIP with wavefronts of 64 lanes.
    Hip,
    /// GPUs of AMD for pictures, RDNA: the same with wavefronts of 32 lanes.
    HipRdna,
    /// Devices of OpenCL: `kernels.cl`, OpenCL C 1.2.
    OpenCl,
    /// WebGPU: a `.wgsl` file per kernel. Group 0 binds its arrays, then one struct of sizes and scalars, as the file says.
    Wgsl,
    /// Vulkan: the same kernels as SPIR-V 1.3, a `.spv` file per kernel.
    #[cfg(feature = "naga")]
    Spirv,
    /// Browsers: a page that runs and validates the kernels with WebGPU, a JavaScript module with a function for each program,
    /// and a `.wgsl` file per kernel.
    Web,
    /// Rust: a crate that carries the code of its kernels. There is no less than the [`project`].
    Rust,
    /// OpenVINO: a model per program, `.xml` and `.bin`.
    OpenVino,
    /// Core ML: a model per program, an ML Program in an `.mlpackage`.
    CoreMl,
}

impl Target {
    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Target::Metal => "metal",
            Target::MetalSingleFile => "metal-single-file",
            Target::C => "c",
            Target::Cuda => "cuda",
            Target::Hip => "hip",
            Target::HipRdna => "hip-rdna",
            Target::OpenCl => "opencl",
            Target::Wgsl => "wgsl",
            #[cfg(feature = "naga")]
            Target::Spirv => "spirv",
            Target::Web => "web",
            Target::Rust => "rust",
            Target::OpenVino => "openvino",
            Target::CoreMl => "coreml",
        }
    }

    /// Is there a host program for it?
    fn has_host(self) -> bool {
        matches!(self, Target::Metal | Target::Web | Target::Rust) || native::Api::of(self).is_some()
    }
}

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name; of a package, which is a folder, with the folders in it.
    pub name: String,
    /// What it holds.
    pub contents: Contents,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Source text.
    Text(String),
    /// Words of SPIR-V, little-endian; models and their constants.
    Binary(Vec<u8>),
}

impl File {
    /// A file of text.
    pub fn text(name: String, text: String) -> File {
        File { name, contents: Contents::Text(text) }
    }

    fn binary(name: String, bytes: Vec<u8>) -> File {
        File { name, contents: Contents::Binary(bytes) }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.contents {
            Contents::Text(text) => Some(text),
            Contents::Binary(_) => None,
        }
    }

    /// What is written to disk.
    pub fn bytes(&self) -> &[u8] {
        match &self.contents {
            Contents::Text(text) => text.as_bytes(),
            Contents::Binary(bytes) => bytes,
        }
    }
}

/// A project as files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The files.
    pub files: Vec<File>,
    /// The command that builds them, in their folder, or checks those that only a host can build.
    pub build: String,
}

/// Writes programs as files for a target.
///
/// ```
/// use slyz_sir::{back::harness::{Target, emit}, text::parse_program};
/// let program = parse_program("program ones() -> f32[8] {
///     %y: f32[8] = tabulate [8] |%i: i64| { %a: f32 = const 1.0  yield %a }
///     return %y
/// }")?;
/// let emitted = emit(&[program], Target::Metal)?;
/// assert_eq!(emitted.files.iter().map(|f| &f.name[..]).collect::<Vec<_>>(), ["kernels.metal", "harness.swift"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn emit(programs: &[Program], target: Target) -> Result<Emitted, ProjectError> {
    emit_with(programs, target, &Options::default())
}

/// The road of programs to a target.
pub fn road(target: Target, passes: &Selection) -> ProgramRoad {
    let threads = |machine: Machine| Strategy::Threads(machine, Expected::default());
    let strategy = match target {
        Target::C | Target::Rust | Target::OpenVino | Target::CoreMl => Strategy::Cores,
        Target::Metal | Target::MetalSingleFile => threads(Machine::metal()),
        Target::Cuda => threads(Machine::cuda()),
        Target::Hip => threads(Machine::hip(64)),
        Target::HipRdna => threads(Machine::hip(32)),
        Target::OpenCl => threads(Machine::opencl()),
        Target::Wgsl | Target::Web => threads(super::wgsl::MACHINE),
        #[cfg(feature = "naga")]
        Target::Spirv => threads(spirv::MACHINE),
    };
    ProgramRoad { passes: passes.clone(), ..ProgramRoad::to(strategy) }
}

/// What people choose about the files.
#[derive(Clone, Debug)]
pub struct Options {
    /// The passes that run.
    pub passes: Selection,
    /// How close results are to the operator table: the target's own mathematics where nothing else is said.
    pub precision: Precision,
    /// What the language's standard does not have.
    pub extensions: Vec<Extension>,
    /// Size variables that are numbers in a model, by name.
    pub sizes: Vec<(String, u64)>,
}

impl Default for Options {
    fn default() -> Options {
        Options { passes: Selection::All, precision: Precision::Native, extensions: vec![], sizes: vec![] }
    }
}

impl Options {
    /// The road of programs to the files of a target.
    fn road(&self, target: Target) -> ProgramRoad {
        ProgramRoad { precision: Some(self.precision), ..road(target, &self.passes) }
    }

    fn msl(&self) -> Result<Msl, ProjectError> {
        match self.precision {
            Precision::Exact => Err(ProjectError::Precision { language: "Metal" }),
            precision => Ok(Msl { precision }),
        }
    }

    fn wgsl(&self) -> Result<super::wgsl::Wgsl, ProjectError> {
        if self.precision == Precision::Exact {
            return Err(ProjectError::Precision { language: "WGSL" });
        }
        let has = |extension| self.extensions.contains(&extension);
        let int64 = has(Extension::Int64);
        let float64 = has(Extension::Float64);
        Ok(super::wgsl::Wgsl { precision: self.precision, int64, float64 })
    }
}

/// The same as [`emit`] with choices.
pub fn emit_with(programs: &[Program], target: Target, options: &Options) -> Result<Emitted, ProjectError> {
    models::check_sizes(programs, &options.sizes)?;
    raw::check(programs, target)?;
    all_or_reasons(programs, |program| program.name.clone(), |programs| emit_all(programs, target, options))
}

fn emit_all(programs: &[Program], target: Target, options: &Options) -> Result<Emitted, ProjectError> {
    let road = options.road(target);
    let file = |name: &str, text: String| File::text(name.to_string(), text);
    Ok(match target {
        Target::Metal => {
            let project = Project::on_road(programs, &road, &options.msl()?)?;
            let harness = swift::emit(&project, swift::Source::File("kernels.metal"));
            two_files(project, harness)
        }
        Target::MetalSingleFile => Emitted {
            files: vec![file(
                "kernels.swift",
                swift::emit(&Project::on_road(programs, &road, &options.msl()?)?, swift::Source::Embedded),
            )],
            build: SINGLE_FILE.into(),
        },
        Target::C => {
            checked_names(programs)?;
            let mut files = vec![];
            let mut list = vec![];
            for program in programs {
                let name = &program.name;
                let plan = cores_plan(program, &road)?;
                list.push(name.clone());
                files.push(file(&format!("{name}.c"), super::c::emit_ours(&plan.kernels, false)?));
                // Functions of one program are one library.
                raw::sources(&plan.kernels)?;
                let sources = super::c::raw_files(&plan.kernels).into_iter();
                files.extend(sources.map(|(entry, text)| file(&format!("{name}.raw_{entry}.c"), text)));
            }
            let list = list.join(" ");
            Emitted { files, build: format!("for f in {list}; do cc {C_FLAGS} \"$f\".*c -o \"$f.so\"; done") }
        }
        Target::Cuda | Target::Hip | Target::HipRdna | Target::OpenCl => simt::emit(programs, target, &road, options)?,
        Target::Wgsl => wgsl::emit(programs, &road, options)?,
        #[cfg(feature = "naga")]
        Target::Spirv => spirv::emit(programs, &road, options)?,
        Target::Web => web::emit(programs, &road, options)?,
        Target::Rust => return Err(ProjectError::OnlyProject { target: target.name() }),
        Target::OpenVino => models::emit(programs, models::Kind::OpenVino, options)?,
        Target::CoreMl => models::emit(programs, models::Kind::CoreMl, options)?,
    })
}

/// The files of a host in Swift.
fn two_files(project: Project, harness: String) -> Emitted {
    let mut files =
        vec![File::text("kernels.metal".to_string(), project.source), File::text("harness.swift".to_string(), harness)];
    files.extend(project.raw);
    Emitted { files, build: "swiftc -O -parse-as-library harness.swift -o harness && ./harness".into() }
}

/// Writes programs as a project of a target: kernels, a host program in the platform's language that validates and measures them, expected
/// values, a build file and a README.
///
/// ```
/// use slyz_sir::{back::harness::{Options, Target, project}, text::parse_program};
/// let program = parse_program("program ones() -> f32[8] {
///     %y: f32[8] = tabulate [8] |%i: i64| { %a: f32 = const 1.0  yield %a }
///     return %y
/// }")?;
/// let emitted = project(&[program], Target::C, &Options::default())?;
/// let header = emitted.files.iter().find(|file| file.name == "slyz_ones.h").and_then(|file| file.as_text());
/// assert!(header.is_some_and(|text| text.contains("int slyz_ones(float *output);")));
/// assert_eq!(emitted.build, "make && ./validate");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn project(programs: &[Program], target: Target, options: &Options) -> Result<Emitted, ProjectError> {
    if !target.has_host() {
        return Err(ProjectError::NoHost { target: target.name() });
    }
    raw::check(programs, target)?;
    all_or_reasons(programs, |program| program.name.clone(), |programs| project_of_all(programs, target, options))
}

fn project_of_all(programs: &[Program], target: Target, options: &Options) -> Result<Emitted, ProjectError> {
    if native::Api::of(target).is_some() {
        return native::emit(programs, target, &options.road(target), options);
    }
    if target == Target::Rust {
        return rust::emit(programs, &options.road(target));
    }
    let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
    Ok(with_readme(emit_all(programs, target, options)?, target, &names))
}

/// The files for Metal or the web, with what else makes a project of them.
fn with_readme(mut emitted: Emitted, target: Target, names: &[String]) -> Emitted {
    emitted.files.push(File::text("README.md".to_string(), readme(target, names, &emitted.build)));
    if target == Target::Metal {
        emitted.files.push(package(&emitted.files));
    }
    emitted
}

/// A package of the files of [`Target::Metal`], for `swift run`, which is told that sources of kernels are none of Swift.
fn package(files: &[File]) -> File {
    let kernels = files.iter().filter(|file| file.name.ends_with(".metal"));
    let kernels: Vec<String> = kernels.map(|file| format!("\"{}\"", file.name)).collect();
    let text = include_str!("swift/Package.swift").replace("\"kernels.metal\"", &kernels.join(", "));
    File::text("Package.swift".to_string(), text)
}

/// Some lines for whoever finds the folder of a project for Metal or the web.
fn readme(target: Target, names: &[String], build: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    let (name, files) = match target {
        Target::Metal => (
            "Metal",
            "`harness.swift` has a function `run_NAME` for each, compares them with what is expected and exits with 1 where a result is \
             wrong;\n`./harness --bench 10` measures. `swift run -c release` builds it as a package.",
        ),
        _ => (
            "WebGPU",
            "The page compares each with what is expected, and says so in a table.\nApplications need `kernels.js`, `engine.js` and the \
             `.wgsl` files; `cases.js` holds the calls and expected values.",
        ),
    };
    format!("# Kernels for {name}\n\nWritten by Słyż: {names}. In this folder:\n\n```sh\n{build}\n```\n\n{files}\n")
}

/// The plan of a program for cores, with names for readers.
fn cores_plan(program: &Program, road: &ProgramRoad) -> Result<Plan, ProjectError> {
    verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
    let mut plan = road.end(&raw::chosen(program, Target::C));
    name_arguments(&mut plan);
    Ok(plan)
}

/// How the one file of [`Target::MetalSingleFile`] is compiled.
const SINGLE_FILE: &str = "swiftc -O -parse-as-library -emit-library kernels.swift";

/// How C is compiled; the code counts on wrapping integers.
const C_FLAGS: &str = "-O3 -march=native -fwrapv -ffp-contract=off -fno-math-errno -Wno-psabi -fPIC -shared";

/// A program of a project.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The program, under the name that the user gave it.
    pub program: Program,
    /// Its launches.
    pub plan: Plan,
    /// Its kernels, one per kernel of the plan.
    pub kernels: Vec<Description>,
}

/// Kernels of several programs in one file.
#[derive(Clone, Debug)]
pub struct Project {
    /// The programs, in the order they were given.
    pub entries: Vec<Entry>,
    /// The text of all kernels but those that people wrote in Metal.
    pub source: String,
    /// The files of those.
    pub raw: Vec<File>,
    /// How close results are to the table.
    pub precision: Precision,
}

/// A program that says no more than its name: a kernel that a person wrote is no array program.
fn named_program(name: &str) -> Program {
    Program {
        name: name.to_string(),
        sizes: vec![],
        functions: vec![],
        requires: vec![],
        precision: None,
        names: Names::default(),
        body: Body::default(),
    }
}

/// Is it a name in the languages that projects are written in: letters, digits and `_`, a letter in front?
pub fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Checks the name of a kernel for Metal and Swift.
pub fn check_name(name: &str) -> Result<(), ProjectError> {
    use super::clike::Dialect;
    let reserved = |language| Err(ProjectError::Reserved { name: name.to_string(), language });
    match name {
        name if !is_name(name) => Err(ProjectError::Name(name.to_string())),
        name if msl::Msl::default().is_reserved(name) => reserved("Metal"),
        name if swift::is_reserved(name) => reserved("Swift"),
        _ => Ok(()),
    }
}

/// The names of the programs, which are names and all different.
fn checked_names(programs: &[Program]) -> Result<BTreeSet<String>, ProjectError> {
    let mut names = BTreeSet::new();
    for program in programs {
        if !is_name(&program.name) {
            return Err(ProjectError::Name(program.name.clone()));
        }
        if !names.insert(program.name.clone()) {
            return Err(ProjectError::Twice(program.name.clone()));
        }
    }
    Ok(names)
}

impl Project {
    /// The programs as kernels for Metal. Programs are optimized here; their names must be unique.
    ///
    /// ```
    /// use slyz_sir::{back::harness::Project, text::parse_program};
    /// let program = parse_program("program twice(%x: f32[8]) -> f32[8] {
    ///     %y: f32[8] = tabulate [8] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
    ///     return %y
    /// }")?;
    /// let project = Project::metal(&[program])?;
    /// assert!(project.source.contains("output[idx] = x + x;"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metal(programs: &[Program]) -> Result<Project, ProjectError> {
        Project::on_road(programs, &Options::default().road(Target::Metal), &Msl::default())
    }

    fn on_road(programs: &[Program], road: &ProgramRoad, dialect: &Msl) -> Result<Project, ProjectError> {
        raw::check(programs, Target::Metal)?;
        programs.iter().try_for_each(|program| check_name(&program.name))?;
        let mut names = checked_names(programs)?;
        let mut plans = vec![];
        for program in programs {
            verify::program(program).map_err(|why| ProjectError::Program { name: program.name.clone(), why })?;
            let mut plan = road.end(&raw::chosen(program, Target::Metal));
            rename(&mut plan, &mut names);
            plans.push(plan);
        }
        let kernels: Vec<_> = plans.iter().flat_map(|p| &p.kernels).collect();
        let raw = raw::files(&raw::sources(kernels.iter().copied())?);
        let (source, descriptions) = raw::described(&kernels, |kernels| msl::emit(kernels, dialect))?;
        let mut descriptions = descriptions.into_iter();
        let entries = programs.iter().zip(plans).map(|(program, plan)| {
            let kernels = descriptions.by_ref().take(plan.kernels.len()).collect();
            Entry { program: program.clone(), plan, kernels }
        });
        Ok(Project { entries: entries.collect(), source, raw, precision: dialect.precision })
    }
}

/// Names for readers: a program of one launch gives its name to the kernel, arguments have the names that people gave them, and others
/// and results are `input` and `output`.
fn rename(plan: &mut Plan, taken: &mut BTreeSet<String>) {
    let alone = plan.kernels.len() == 1;
    for kernel in &mut plan.kernels {
        if alone {
            kernel.name = plan.name.clone();
            continue;
        }
        let numbered = (2..).map(|k| format!("{}_{k}", kernel.name));
        let free = std::iter::once(kernel.name.clone()).chain(numbered).find(|name| !taken.contains(name));
        kernel.name = free.unwrap_or_default();
        taken.insert(kernel.name.clone());
    }
    let of = |wanted: fn(&BufferUse) -> bool| plan.buffers.iter().filter(|b| wanted(&b.role)).count();
    let inputs = of(|role| matches!(role, BufferUse::Argument(_)));
    let outputs = of(|role| matches!(role, BufferUse::Result(_)));
    let numbered =
        |stem: &str, count: usize, k: usize| if count == 1 { stem.to_string() } else { format!("{stem}{k}") };
    name_memories(plan, &|role| match role {
        BufferUse::Argument(k) => Some(numbered("input", inputs, k)),
        BufferUse::Result(k) => Some(numbered("output", outputs, k)),
        BufferUse::Temporary => None,
    });
    name_arguments(plan);
}

/// Names memories by what the plan binds to them.
fn name_memories(plan: &mut Plan, name: &dyn Fn(BufferUse) -> Option<String>) {
    let steps: Vec<Step> = plan.all_steps().into_iter().cloned().collect();
    for step in &steps {
        let Step::Launch { kernel, buffers, .. } = step else { continue };
        let memories = plan.kernels[*kernel].memories.iter_mut().filter(|m| m.space.is_bound());
        for (memory, buffer) in memories.zip(buffers) {
            if let Some(name) = name(plan.buffers[buffer.0 as usize].role) {
                memory.name = name;
            }
        }
    }
}

/// Names what kernels are given as people named it, and an element of an array `x` that is kept `x_i`.
fn name_arguments(plan: &mut Plan) {
    let given: Vec<Option<String>> = plan.params.iter().map(|p| plan.names.get(p.id).map(String::from)).collect();
    let given = |k: usize| given.get(k).cloned().flatten();
    let of_argument = |role: BufferUse| match role {
        BufferUse::Argument(k) => given(k),
        BufferUse::Result(_) | BufferUse::Temporary => None,
    };
    name_memories(plan, &of_argument);
    let steps: Vec<Step> = plan.all_steps().into_iter().cloned().collect();
    for step in &steps {
        let Step::Launch { kernel, buffers, scalars } = step else { continue };
        let kernel = &mut plan.kernels[*kernel];
        for (param, scalar) in kernel.body.params.iter().zip(scalars) {
            if let ScalarArg::Argument(k) = scalar
                && let Some(name) = given(*k)
            {
                kernel.names.note(param.id, &name);
            }
        }
        let bound = kernel.memories.iter().enumerate().filter(|(_, memory)| memory.space.is_bound());
        let named = bound.zip(buffers).filter_map(|((memory, _), buffer)| {
            let name = of_argument(plan.buffers[buffer.0 as usize].role)?;
            Some((MemId(memory as u32), format!("{name}_i")))
        });
        let elements: BTreeMap<MemId, String> = named.collect();
        name_elements(&kernel.body, &elements, &mut kernel.names);
    }
}

/// Names what is read of some memories.
fn name_elements(body: &Body, elements: &BTreeMap<MemId, String>, names: &mut Names) {
    for stmt in &body.stmts {
        if let Op::Load { memory, .. } = &stmt.op
            && let Some(name) = elements.get(memory)
        {
            stmt.binds.iter().for_each(|bind| names.note(bind.id, name));
        }
        stmt.op.bodies().into_iter().for_each(|body| name_elements(body, elements, names));
    }
}
