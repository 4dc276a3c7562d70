//! Programs as libraries of C and C++ with a header, a program that validates and measures them, and a build file.
//!
//! | file | holds |
//! |---|---|
//! | `slyz_NAME.h` | a plain function for each program: arrays, scalars, sizes |
//! | `slyz_NAME.c`, `.cpp`, `.cu`, `.hip` | those functions: memory and launches |
//! | `kernels.c`, `.cl`, `.cu`, `.hip` | the kernels |
//! | `main.c`, `main.cpp`, `expected.h` | calls, and what the interpreter makes of them |
//! | `Makefile`, `CMakeLists.txt`, `README.md` | how it is built |
//!
//! One writer serves CPUs, OpenCL, CUDA and HIP: what a function does is the walk's, what differs are the words of a [`Platform`] and how
//! a launch is written. CUDA and HIP differ in the first letters of what their runtimes call things.

mod files;
mod function;
mod literal;
mod validation;

use super::{Emitted, Entry, File, Options, ProjectError, Target, cases, simt};
use crate::program::Program;
use crate::road::ProgramRoad;
use function::Function;

const ARGUMENT: &str = include_str!("argument.cpp");
const CALL: &str = include_str!("call.c");
const CPU: &str = include_str!("cpu.c");
const GPU: &str = include_str!("gpu.cpp");
const OPENCL: &str = include_str!("opencl.cpp");
const RUNTIME: &str = include_str!("runtime.cpp");

/// A target with a host in C or C++.
pub(super) struct Platform<'p> {
    pub(super) target: Target,
    /// What its files and its library are called.
    stem: &'p str,
}

impl Platform<'_> {
    fn is_cpu(&self) -> bool {
        self.target == Target::C
    }

    /// What the names of the runtime begin with.
    fn runtime(&self) -> &'static str {
        if self.target == Target::Cuda { "cuda" } else { "hip" }
    }

    /// How the files of kernels and functions end.
    fn endings(&self) -> [&'static str; 2] {
        match self.target {
            Target::C => ["c", "c"],
            Target::OpenCl => ["cl", "cpp"],
            Target::Cuda => ["cu", "cu"],
            _ => ["hip", "hip"],
        }
    }

    /// The C function of a kernel. Libraries are linked together, so that numbers are not enough.
    pub(super) fn kernel_function(&self, number: usize) -> String {
        format!("slyz_{}_kernel_{number}", self.stem)
    }

    /// What a launch calls a kernel.
    pub(super) fn kernel_handle(&self, name: &str) -> String {
        if self.target == Target::OpenCl { format!("\"{name}\"") } else { format!("(const void *){name}") }
    }

    /// The most positions of an array, and the longest axis, that kernels count.
    fn limits(&self) -> [u64; 2] {
        if self.is_cpu() { [(1 << 31) - 1, (1 << 30) - 1] } else { [(1 << 31) - 1, (1 << 31) - 1] }
    }

    fn includes(&self) -> String {
        let own = match self.target {
            Target::C => "#ifdef _OPENMP\n#include <omp.h>\n#endif\n".to_string(),
            Target::OpenCl => {
                "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\n#include <initializer_list>\n#include <string>\n"
                    .to_string()
            }
            Target::Cuda => "#include <cuda_runtime.h>\n#include <initializer_list>\n#include \"kernels.cu\"\n".to_string(),
            _ => "#include <hip/hip_runtime.h>\n#include <initializer_list>\n#include \"kernels.hip\"\n".to_string(),
        };
        format!("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n{own}\n")
    }

    /// Types of the platform, and kernels as functions of C.
    fn types(&self, kernels: usize) -> String {
        let mut out = match self.target {
            Target::C => "typedef void *host_buffer;\ntypedef void host_kernel(\n    void *const *memories, void *const *scratch, \
                          const uint64_t *scalars, const int64_t *sizes, int64_t begin, int64_t end);\n"
                .to_string(),
            Target::OpenCl => "typedef cl_mem host_buffer;\ntypedef const char *host_kernel;\n".to_string(),
            _ => "typedef void *host_buffer;\ntypedef const void *host_kernel;\n".to_string(),
        };
        if self.is_cpu() {
            (0..kernels).for_each(|k| out += &format!("host_kernel {};\n", self.kernel_function(k)));
        }
        out.push('\n');
        out
    }

    /// What does not depend on the programs.
    fn engine(&self) -> String {
        let parts = match self.target {
            Target::C => vec![CALL, CPU],
            Target::OpenCl => vec![CALL, ARGUMENT, OPENCL, GPU],
            _ => vec![CALL, ARGUMENT, RUNTIME, GPU],
        };
        let text = parts.join("\n") + "\n";
        if self.target == Target::OpenCl { text } else { text.replace("gpu", self.runtime()) }
    }
}

/// Programs as a project of a target that has a host in C or C++.
pub(super) fn emit(
    programs: &[Program],
    target: Target,
    road: &ProgramRoad,
    options: &Options,
) -> Result<Emitted, ProjectError> {
    let stem = match programs {
        [one] => one.name.clone(),
        _ => "kernels".to_string(),
    };
    let platform = Platform { target, stem: &stem };
    let (entries, kernels) = if platform.is_cpu() {
        cores(programs, road, &platform)?
    } else {
        simt::entries(programs, target, road, options)?
    };
    let mut first = 0;
    let mut functions = vec![];
    for entry in &entries {
        functions.push(Function::new(entry, &platform, first));
        first += entry.plan.kernels.len();
    }
    let cases: Vec<_> = programs.iter().map(cases::case).collect();
    let [kernels_end, functions_end] = platform.endings();
    let header = format!("slyz_{stem}.h");
    let main_end = if platform.is_cpu() { "c" } else { "cpp" };
    let seconds = format!("slyz_{stem}_seconds");
    let mut files = vec![
        File::text(format!("kernels.{kernels_end}"), kernels),
        File::text(header.clone(), files::header(&stem, &functions)),
        File::text("expected.h".to_string(), validation::expected(&functions, &cases)),
        File::text(format!("main.{main_end}"), validation::main(&header, &seconds, &functions, &cases)),
    ];
    files.push(File::text(format!("slyz_{stem}.{functions_end}"), implementation(&platform, options, functions)));
    let (name, text, build) = files::build_file(&platform, options);
    files.push(File::text(name.to_string(), text));
    files.push(File::text("README.md".to_string(), files::readme(&platform, &entries, build)));
    Ok(Emitted { files, build: build.to_string() })
}

/// Plans for cores, and their kernels as C.
fn cores(programs: &[Program], road: &ProgramRoad, platform: &Platform) -> Result<(Vec<Entry>, String), ProjectError> {
    super::checked_names(programs)?;
    let mut entries = vec![];
    for program in programs {
        entries.push(Entry { program: program.clone(), plan: super::cores_plan(program, road)?, kernels: vec![] });
    }
    let kernels: Vec<_> = entries.iter().flat_map(|entry| entry.plan.kernels.clone()).collect();
    let rename = |k: usize| format!("#define slyz_kernel_{k} {}\n", platform.kernel_function(k));
    let names: String = (0..kernels.len()).map(rename).collect();
    Ok((entries, format!("{names}\n{}", crate::back::c::emit_kernels(&kernels, false)?)))
}

/// The file of the functions.
fn implementation(platform: &Platform, options: &Options, functions: Vec<Function>) -> String {
    let stem = platform.stem;
    let most = |count: &dyn Fn(&Entry) -> usize| functions.iter().map(|f| count(f.entry)).max().unwrap_or(0).max(1);
    let scratches = |entry: &Entry| {
        let of = |kernel: &crate::kernel::Kernel| {
            kernel.memories.iter().filter(|memory| memory.space == crate::kernel::Space::Scratch).count()
        };
        entry.plan.kernels.iter().map(of).max().unwrap_or(0)
    };
    let arguments = |entry: &Entry| entry.kernels.iter().map(|d| d.buffers.len() + d.uniforms.len()).max().unwrap_or(0);
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
    if platform.target == Target::OpenCl {
        out += "#ifndef SLYZ_KERNELS\n#define SLYZ_KERNELS \"kernels.cl\"\n#endif\n";
        out += &format!("#define SLYZ_OPTIONS \"-cl-std=CL1.2{}\"\n\n", files::opencl_options(options.precision));
    }
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
