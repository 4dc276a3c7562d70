//! Programs as libraries of C and C++ with a header, a program that validates and measures them, and a build file.
//!
//! | file | holds |
//! |---|---|
//! | `slyz_NAME.h` | a plain function for each program: arrays, scalars, sizes |
//! | `slyz_NAME.c`, `.cpp`, `.cu`, `.hip` | those functions: memory and launches |
//! | `kernels.c`, `.cl`, `.cu`, `.hip`, a `.spv` each | the kernels |
//! | `main.c`, `main.cpp`, `expected.h` | calls, and what the interpreter makes of them |
//! | `Makefile`, `CMakeLists.txt`, `README.md` | how it is built |
//!
//! One writer serves CPUs, OpenCL, CUDA, HIP and Vulkan: what a function does is the walk's, what differs are the words of a [`Platform`] and how
//! a launch is written. CUDA and HIP differ in the first letters of what their runtimes call things.

mod by_hand;
mod files;
mod function;
mod launch;
mod literal;
mod validation;

use super::{Emitted, Entry, File, HandKernel, Options, ProjectError, Target, cases, raw, simt};
use crate::back::c;
use crate::back::cuda::asked_shared_bytes;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::road::{Destination, KernelRoad, ProgramRoad};
use crate::size::Size;
use by_hand::Hand;
use function::Function;
use validation::Trial;

const ARGUMENT: &str = include_str!("argument.cpp");
const CALL: &str = include_str!("call.c");
const CPU: &str = include_str!("cpu.c");
const GPU: &str = include_str!("gpu.cpp");
const LAUNCH: &str = include_str!("launch.cpp");
const LARGE_LAUNCH: &str = include_str!("large_launch.cpp");
const OPENCL: &str = include_str!("opencl.cpp");
const RUNTIME: &str = include_str!("runtime.cpp");
const VULKAN_DEVICE: &str = include_str!("vulkan_device.cpp");
const VULKAN: &str = include_str!("vulkan.cpp");

/// Kernels where launches of some ask for shared memory.
const LARGE_KERNEL: &str = "/* A kernel, and the shared memory that a launch asks for. */\nstruct host_kernel {\n    const void *code;\n    size_t shared_bytes;\n    \
     host_kernel(const void *of, size_t bytes = 0) : code(of), shared_bytes(bytes) {}\n};\n";

/// The file of kernels that are ours.
const KERNELS_CL: &str = "kernels.cl";

/// What a host in C or C++ calls to run kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    /// Functions of C.
    Cores,
    OpenCl,
    Cuda,
    Hip,
    /// HIP, for GPUs with wavefronts of 32.
    HipRdna,
    Vulkan,
}

impl Api {
    /// That of a target whose hosts are in C or C++.
    pub(super) fn of(target: Target) -> Option<Api> {
        match target {
            Target::C => Some(Api::Cores),
            Target::OpenCl => Some(Api::OpenCl),
            Target::Cuda => Some(Api::Cuda),
            Target::Hip => Some(Api::Hip),
            Target::HipRdna => Some(Api::HipRdna),
            #[cfg(feature = "naga")]
            Target::Spirv => Some(Api::Vulkan),
            _ => None,
        }
    }
}

/// What a library is made of.
#[derive(Default)]
pub(super) struct Library {
    pub(super) entries: Vec<Entry>,
    /// The files of its kernels.
    pub(super) kernels: Vec<File>,
    /// Of each kernel of SPIR-V, the sizes that a launch tells it; empty for other hosts.
    pub(super) extents: Vec<Vec<Size>>,
    /// Of each kernel that a person wrote, what else is known; empty for programs.
    hands: Vec<Hand>,
}

impl Library {
    /// Of programs.
    pub(super) fn new(entries: Vec<Entry>, kernels: Vec<File>) -> Library {
        Library { entries, kernels, ..Library::default() }
    }
}

/// A host in C or C++.
struct Platform<'p> {
    api: Api,
    /// What its files and its library are called.
    stem: &'p str,
    /// Of each kernel of SPIR-V, the sizes that a launch tells it.
    extents: &'p [Vec<Size>],
    /// What people wrote in the language of the kernels: the file, and the function in it.
    sources: Vec<(String, String)>,
    /// Are there kernels whose launches ask for shared memory?
    is_large: bool,
}

impl Platform<'_> {
    fn is_cpu(&self) -> bool {
        self.api == Api::Cores
    }

    /// How the file of the functions ends.
    fn ending(&self) -> &'static str {
        match self.api {
            Api::Cores => "c",
            Api::OpenCl | Api::Vulkan => "cpp",
            Api::Cuda => "cu",
            Api::Hip | Api::HipRdna => "hip",
        }
    }

    /// The C function of a kernel. Libraries are linked together, so that numbers are not enough.
    fn kernel_function(&self, number: usize) -> String {
        kernel_function(self.stem, number)
    }

    /// What a launch calls a kernel.
    fn kernel_handle(&self, name: &str, kernel: &Kernel) -> String {
        match self.api {
            Api::Vulkan => format!("\"{name}.spv\""),
            Api::OpenCl => {
                let own = kernel.raw.as_ref().map_or(KERNELS_CL.to_string(), |code| raw::file_name(&code.source));
                let place = self.opencl_files().iter().position(|file| *file == own).unwrap_or(0);
                format!("{{{place}, \"{name}\"}}")
            }
            _ => format!("(const void *){name}"),
        }
    }

    /// The most positions of an array, and the longest axis, that kernels count.
    fn limits(&self) -> [u64; 2] {
        match self.api {
            Api::Cores => [(1 << 31) - 1, (1 << 30) - 1],
            Api::Vulkan => [1 << 30, 1 << 30],
            _ => [(1 << 31) - 1, (1 << 31) - 1],
        }
    }

    /// The files that OpenCL's compiler gets, each by itself.
    fn opencl_files(&self) -> Vec<&str> {
        std::iter::once(KERNELS_CL).chain(self.sources.iter().map(|(file, _)| &file[..])).collect()
    }

    fn includes(&self) -> String {
        let own = match self.api {
            Api::Cores => "#ifdef _OPENMP\n#include <omp.h>\n#endif\n",
            Api::OpenCl => {
                "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include <initializer_list>\n#include <string>\n"
            }
            Api::Cuda => "#include <cuda_runtime.h>\n#include <initializer_list>\n#include \"kernels.cu\"\n",
            Api::Hip | Api::HipRdna => {
                "#include <hip/hip_runtime.h>\n#include <initializer_list>\n#include \"kernels.hip\"\n"
            }
            Api::Vulkan => {
                "#include <initializer_list>\n#include <map>\n#include <mutex>\n#include <string>\n#include <vector>\n\
                 #include <vulkan/vulkan.h>\n"
            }
        };
        format!("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n{own}\n")
    }

    /// Types of the platform, and kernels as functions of C.
    fn types(&self, kernels: usize) -> String {
        let mut out = match self.api {
            Api::Cores => "typedef void *host_buffer;\ntypedef void host_kernel(\n    void *const *memories, void *const *scratch, \
                          const uint64_t *scalars, const int64_t *sizes, int64_t begin, int64_t end);\n"
                .to_string(),
            Api::OpenCl => {
                let files: Vec<String> = self.opencl_files().iter().map(|file| format!("\"{file}\"")).collect();
                format!(
                    "typedef cl_mem host_buffer;\n/* The number of its file, and its name. */\nstruct host_kernel {{\n    int file;\n    const char *name;\n}};\n\
                     static const char *const host_files[] = {{{}}};\n",
                    files.join(", ")
                )
            }
            Api::Vulkan => "typedef struct host_memory *host_buffer;\ntypedef const char *host_kernel;\n".to_string(),
            _ => {
                // Their parameters are the sources' own.
                let declare = |(_, entry): &(String, String)| format!("extern \"C\" __global__ void {entry}();\n");
                let sources: String = self.sources.iter().map(declare).collect();
                let kernel = if self.is_large { LARGE_KERNEL } else { "typedef const void *host_kernel;\n" };
                format!("typedef void *host_buffer;\n{kernel}{sources}")
            }
        };
        if self.is_cpu() {
            (0..kernels).for_each(|k| out += &format!("host_kernel {};\n", self.kernel_function(k)));
        }
        out.push('\n');
        out
    }

    /// Where the kernels are that are read when the program runs, and how they are compiled.
    fn places(&self, options: &Options) -> String {
        let place = |default: &str| format!("#ifndef SLYZ_KERNELS\n#define SLYZ_KERNELS \"{default}\"\n#endif\n");
        match self.api {
            Api::OpenCl => {
                let how = files::opencl_options(options.precision);
                let folder = place(".");
                format!("/* The folder of the kernels. */\n{folder}#define SLYZ_OPTIONS \"-cl-std=CL1.2{how}\"\n\n")
            }
            Api::Vulkan => format!("/* The folder of the kernels. */\n{}\n", place(".")),
            _ => String::new(),
        }
    }

    /// What does not depend on the programs.
    fn engine(&self) -> String {
        match self.api {
            Api::Cores => [CALL, CPU].join("\n"),
            Api::OpenCl => [CALL, ARGUMENT, OPENCL, GPU].join("\n"),
            Api::Vulkan => [CALL, VULKAN_DEVICE, VULKAN, GPU].join("\n"),
            Api::Cuda if self.is_large => {
                [CALL, ARGUMENT, RUNTIME, LARGE_LAUNCH, GPU].join("\n").replace("gpu", "cuda")
            }
            Api::Cuda => [CALL, ARGUMENT, RUNTIME, LAUNCH, GPU].join("\n").replace("gpu", "cuda"),
            Api::Hip | Api::HipRdna => [CALL, ARGUMENT, RUNTIME, LAUNCH, GPU].join("\n").replace("gpu", "hip"),
        }
    }
}

fn kernel_function(stem: &str, number: usize) -> String {
    format!("slyz_{stem}_kernel_{number}")
}

/// Programs as a project of a target that has a host in C or C++.
pub(super) fn emit(
    programs: &[Program],
    target: Target,
    road: &ProgramRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let stem = stem(programs.iter().map(|program| &program.name[..]));
    let Some(api) = Api::of(target) else { return Err(ProjectError::NoHost { target: target.name() }) };
    let library = match api {
        Api::Cores => cores(programs, road, &stem)?,
        #[cfg(feature = "naga")]
        Api::Vulkan => super::spirv::library(programs, road, options)?,
        _ => simt::library(programs, target, road, options)?,
    };
    let cases: Vec<_> = programs.iter().map(cases::case).collect();
    Ok(written(library, api, &stem, options, &|k, function, seconds| validation::trial(function, &cases[k], seconds)))
}

/// Kernels that people wrote as such a project.
pub(super) fn emit_kernels(
    kernels: &[HandKernel],
    target: Target,
    road: &dyn Fn(Destination) -> KernelRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let stem = stem(kernels.iter().map(|hand| &hand.template.kernel.name[..]));
    let Some(api) = Api::of(target) else { return Err(ProjectError::NoHost { target: target.name() }) };
    let library = by_hand::library(kernels, target, api, &stem, road, options)?;
    let hands = library.hands.clone();
    Ok(written(library, api, &stem, options, &|k, function, seconds| by_hand::trial(function, &hands[k], seconds)))
}

/// What files and the library are called.
fn stem<'n>(mut names: impl Iterator<Item = &'n str>) -> String {
    match (names.next(), names.next()) {
        (Some(one), None) => one.to_string(),
        _ => "kernels".to_string(),
    }
}

/// All files; `trial` says what is called of a function, by number.
fn written(
    library: Library,
    api: Api,
    stem: &str,
    options: &Options,
    trial: &dyn Fn(usize, &Function, &str) -> Trial,
) -> Emitted {
    let Library { entries, kernels, extents, hands } = library;
    let sources = sources(&entries);
    let mut descriptions = entries.iter().flat_map(|entry| &entry.kernels);
    let is_large = api == Api::Cuda && descriptions.any(|d| asked_shared_bytes(d) > 0);
    let platform = Platform { api, stem, extents: &extents, sources, is_large };
    let mut first = 0;
    let mut functions = vec![];
    for (k, entry) in entries.iter().enumerate() {
        functions.push(Function::new(entry, &platform, first, hands.get(k)));
        first += entry.plan.kernels.len();
    }
    let header = format!("slyz_{stem}.h");
    let main_end = if platform.is_cpu() { "c" } else { "cpp" };
    let seconds = format!("slyz_{stem}_seconds");
    let trials: Vec<Trial> = functions.iter().enumerate().map(|(k, function)| trial(k, function, &seconds)).collect();
    let mut files = kernels;
    files.extend([
        File::text(header.clone(), files::header(stem, &functions)),
        File::text("expected.h".to_string(), validation::expected(&trials)),
        File::text(format!("main.{main_end}"), validation::main(&header, &trials)),
    ]);
    let text = implementation(&platform, options, functions);
    files.push(File::text(format!("slyz_{stem}.{}", platform.ending()), text));
    let (name, text, build) = files::build_file(&platform, options);
    files.push(File::text(name.to_string(), text));
    files.push(File::text("README.md".to_string(), files::readme(&platform, &entries, build)));
    Emitted { files, build: build.to_string() }
}

/// The files of what people wrote, and the functions in them.
fn sources(entries: &[Entry]) -> Vec<(String, String)> {
    let kernels = entries.iter().flat_map(|entry| &entry.plan.kernels);
    let mut found: Vec<(String, String)> = vec![];
    for code in kernels.filter_map(|kernel| kernel.raw.as_ref()) {
        let source = (raw::file_name(&code.source), code.source.entry.clone());
        if !found.contains(&source) {
            found.push(source);
        }
    }
    found
}

/// Plans for cores, and their kernels as C.
fn cores(programs: &[Program], road: &ProgramRoad, stem: &str) -> Result<Library, ProjectError> {
    super::checked_names(programs)?;
    let mut entries = vec![];
    for program in programs {
        entries.push(Entry { program: program.clone(), plan: super::cores_plan(program, road)?, kernels: vec![] });
    }
    let kernels: Vec<Kernel> = entries.iter().flat_map(|entry| entry.plan.kernels.clone()).collect();
    Ok(Library::new(entries, cores_files(&kernels, stem)?))
}

/// The files of kernels for cores.
fn cores_files(kernels: &[Kernel], stem: &str) -> Result<Vec<File>, ProjectError> {
    let rename = |k: usize| format!("#define slyz_kernel_{k} {}\n", kernel_function(stem, k));
    let names: String = (0..kernels.len()).map(rename).collect();
    let file = |name: String, text: String| File::text(name, format!("{names}\n{text}"));
    let sources = raw::sources(kernels)?.into_iter().map(raw::file_name);
    let mut files = vec![file("kernels.c".to_string(), c::emit_ours(kernels, false)?)];
    files.extend(sources.zip(c::raw_files(kernels)).map(|(name, (_, text))| file(name, text)));
    Ok(files)
}

/// The file of the functions.
fn implementation(platform: &Platform, options: &Options, functions: Vec<Function>) -> String {
    let stem = platform.stem;
    let most = |count: &dyn Fn(&Entry) -> usize| functions.iter().map(|f| count(f.entry)).max().unwrap_or(0).max(1);
    let scratches = |entry: &Entry| {
        let of = |kernel: &Kernel| {
            kernel.memories.iter().filter(|memory| memory.space == crate::kernel::Space::Scratch).count()
        };
        entry.plan.kernels.iter().map(of).max().unwrap_or(0)
    };
    let longest = platform.extents.iter().map(Vec::len).max().unwrap_or(0);
    let arguments = |entry: &Entry| {
        let of_shader = |kernel: &Kernel| kernel.bound_memories().count() + longest + kernel.body.params.len();
        let of_text = |d: &crate::back::clike::Description| d.buffers.len() + d.uniforms.len();
        let shaders = entry.plan.kernels.iter().map(of_shader).filter(|_| platform.api == Api::Vulkan);
        entry.kernels.iter().map(of_text).chain(shaders).max().unwrap_or(0)
    };
    let [positions, axis] = platform.limits();
    let mut out = format!("#include \"slyz_{stem}.h\"\n{}", platform.includes());
    out += "/* The most positions of an array that kernels count, and the longest axis. */\n";
    out += &format!("#define SLYZ_MOST INT64_C({positions})\n#define SLYZ_LONGEST INT64_C({axis})\n");
    out += "/* The most that a function or a launch has of each. */\n";
    out += &format!("#define SLYZ_BUFFERS {}\n", most(&|entry| entry.plan.buffers.len()));
    if platform.is_cpu() {
        out += &format!("#define SLYZ_SCRATCHES {}\n\n", most(&scratches));
    } else {
        out += &format!("#define SLYZ_ARGUMENTS {}\n\n", most(&arguments));
    }
    out += &platform.places(options);
    let kernels = functions.iter().map(|f| f.entry.plan.kernels.len()).sum();
    out += &platform.types(kernels);
    let local = if platform.is_cpu() { "_Thread_local" } else { "thread_local" };
    out += &format!("static {local} double host_last_seconds = 0.0;\n\n");
    out += &platform.engine();
    out += &format!("double slyz_{stem}_seconds(void) {{\n    return host_last_seconds;\n}}\n");
    for function in functions {
        out.push('\n');
        out += &function.text();
    }
    out
}
