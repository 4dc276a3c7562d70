//! Header, build file and README of a project.

use super::function::Function;
use super::{Api, Entry, Options, Platform};
use crate::choices::Precision;

/// The header, for C and C++.
pub(super) fn header(stem: &str, functions: &[Function]) -> String {
    let guard = format!("SLYZ_{}_H", stem.to_uppercase());
    let mut out = format!("#ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>\n\n");
    out += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    out += "/* What functions return. Several headers may be included together. */\n";
    out += "#ifndef SLYZ_ERRORS\n#define SLYZ_ERRORS\nenum {\n    SLYZ_OK = 0,\n    SLYZ_OUT_OF_MEMORY = 1,\n    \
        SLYZ_TOO_LARGE = 2,\n    SLYZ_REQUIREMENT = 3, /* sizes that do not belong together */\n    \
        SLYZ_ROOM = 4, /* results are larger than their room */\n    SLYZ_DEVICE = 5\n};\n#endif\n\n";
    out += "/* Arrays are row-major, sizes are in elements, and results go to memory of the caller's, apart from all arguments. */\n\n";
    for function in functions {
        out += &function.comment();
        out += &format!("{};\n\n", function.signature());
    }
    out += "/* How long the kernels of this thread's last call took. */\n";
    out + &format!("double slyz_{stem}_seconds(void);\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n")
}

/// What OpenCL's compiler may do, as the device of Słyż lets it.
pub(super) fn opencl_options(precision: Precision) -> &'static str {
    match precision {
        Precision::Native => " -cl-mad-enable -cl-denorms-are-zero",
        Precision::Table => "",
        Precision::Exact => " -cl-fp32-correctly-rounded-divide-sqrt",
    }
}

const CMAKE_BUILD: &str = "cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build && ./build/validate";

/// The name of the build file, its text, and the command that builds and validates.
pub(super) fn build_file(platform: &Platform, options: &Options) -> (&'static str, String, &'static str) {
    match platform.api {
        Api::Cores => ("Makefile", makefile(platform), "make && ./validate"),
        _ => ("CMakeLists.txt", cmake(platform, options), CMAKE_BUILD),
    }
}

fn makefile(platform: &Platform) -> String {
    let stem = platform.stem;
    let raw: String = platform.sources.iter().map(|(file, _)| format!(" {}", file.replace(".c", ".o"))).collect();
    format!(
        "# Vectors are as wide as the processor's. For threads: make OPENMP=-fopenmp
CFLAGS ?= -O3 -march=native
OPENMP ?=
# The code counts on these: integers wrap, and floats keep their order.
ALWAYS = -std=gnu11 -fwrapv -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi -fPIC

validate: main.o libslyz_{stem}.a
\t$(CC) $(CFLAGS) $(OPENMP) main.o libslyz_{stem}.a -lm -o $@

libslyz_{stem}.a: slyz_{stem}.o kernels.o{raw}
\trm -f $@
\t$(AR) rcs $@ slyz_{stem}.o kernels.o{raw}

%.o: %.c
\t$(CC) $(CFLAGS) $(ALWAYS) $(OPENMP) -c $< -o $@

main.o slyz_{stem}.o: slyz_{stem}.h
main.o: expected.h

clean:
\trm -f validate libslyz_{stem}.a *.o

.PHONY: clean
"
    )
}

fn cmake(platform: &Platform, options: &Options) -> String {
    let stem = platform.stem;
    let ending = platform.ending();
    let fused = options.precision == Precision::Native;
    let found = |package: &str, library: &str| {
        let here = "${CMAKE_CURRENT_SOURCE_DIR}";
        format!(
            "find_package({package} REQUIRED)\ntarget_link_libraries(slyz_{stem} PUBLIC {library})\n\
             target_compile_definitions(slyz_{stem} PRIVATE \"SLYZ_KERNELS=\\\"{here}\\\"\")\n"
        )
    };
    let (language, rest) = match platform.api {
        // C has a Makefile.
        Api::Cores => ("", String::new()),
        Api::OpenCl => ("", found("OpenCL", "OpenCL::OpenCL")),
        Api::Vulkan => ("", found("Vulkan", "Vulkan::Vulkan")),
        Api::Cuda => {
            let exact =
                format!("target_compile_options(slyz_{stem} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>)\n");
            (" CUDA", if fused { String::new() } else { exact })
        }
        Api::Hip | Api::HipRdna => {
            let contract = if fused { "fast" } else { "off" };
            let rest = format!("target_compile_options(slyz_{stem} PRIVATE -ffp-contract={contract})\n");
            (" HIP", rest)
        }
    };
    // Where the host is compiled with the kernels, what people wrote is, too.
    let raw: String = match language {
        "" => String::new(),
        _ => platform.sources.iter().map(|(file, _)| format!(" {file}")).collect(),
    };
    let least = if language.is_empty() { "3.12" } else { "3.21" };
    let architectures = match platform.api {
        Api::Cuda => "if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES 80)\nendif()\n",
        Api::Hip => "if(NOT DEFINED CMAKE_HIP_ARCHITECTURES)\n  set(CMAKE_HIP_ARCHITECTURES gfx90a gfx942)\nendif()\n",
        Api::HipRdna => "if(NOT DEFINED CMAKE_HIP_ARCHITECTURES)\n  set(CMAKE_HIP_ARCHITECTURES gfx1100)\nendif()\n",
        _ => "",
    };
    format!(
        "cmake_minimum_required(VERSION {least})\n{architectures}project(slyz_{stem} LANGUAGES CXX{language})\n\
         set(CMAKE_CXX_STANDARD 17)\n\n\
         add_library(slyz_{stem} STATIC slyz_{stem}.{ending}{raw})\n{rest}\n\
         add_executable(validate main.cpp)\ntarget_link_libraries(validate PRIVATE slyz_{stem})\n"
    )
}

/// Ten lines for whoever finds the folder.
pub(super) fn readme(platform: &Platform, entries: &[Entry], build: &str) -> String {
    let stem = platform.stem;
    let functions = platform.ending();
    let names: Vec<String> = entries.iter().map(|entry| format!("`slyz_{}`", entry.program.name)).collect();
    let (name, kernels, more) = match platform.api {
        Api::Cores => (
            "CPUs in C",
            "kernels.c",
            "For threads, build with `make OPENMP=-fopenmp`. The library needs nothing but libc.",
        ),
        Api::OpenCl => (
            "OpenCL 1.2",
            "kernels.cl",
            "The library reads the `.cl` files where it was built, and takes the first GPU, or else the first device.",
        ),
        Api::Cuda => {
            ("CUDA", "kernels.cu", "For another GPU than sm_80 or later, pass `-DCMAKE_CUDA_ARCHITECTURES=native`.")
        }
        Api::Hip | Api::HipRdna => {
            ("HIP", "kernels.hip", "For another GPU, pass `-DCMAKE_HIP_ARCHITECTURES=gfx942` with its name.")
        }
        Api::Vulkan => (
            "Vulkan 1.1",
            "*.spv",
            "The library reads the `.spv` files where it was built, and takes the best GPU; `VK_DRIVER_FILES` names another driver.",
        ),
    };
    let main = if platform.is_cpu() { "main.c" } else { "main.cpp" };
    let sources: Vec<String> = platform.sources.iter().map(|(file, _)| format!("`{file}`")).collect();
    let raw = match (platform.api, &sources[..]) {
        (Api::Vulkan, _) | (_, []) => String::new(),
        (_, sources) => format!("Kernels by hand: {}.\n", sources.join(", ")),
    };
    format!(
        "# slyz_{stem}: kernels for {name}\n\nWritten by Słyż. Build and validate in this folder:\n\n```sh\n{build}\n```\n\n\
         `validate` compares {} with `expected.h` and exits with 1 where a result is wrong; `validate --bench 10` measures.\n\
         Programs include `slyz_{stem}.h` and link `libslyz_{stem}.a`; `slyz_{stem}.{functions}` launches the kernels of `{kernels}`, `{main}` calls them.\n\
         {raw}{more}\n",
        names.join(", "),
    )
}
