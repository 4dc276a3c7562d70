//! Kernels for GPUs as a library of C++: generated text, a C function for each kernel that launches it, and the compiler.
//!
//! `launch_NAME` of a Metal kernel takes what an encoder of Metal holds when threads are dispatched: buffers and uniforms by index, bytes
//! of threadgroup memories, threads or threadgroups, and the size of a threadgroup; without that, exactly so many threads run. That of a
//! CUDA or HIP kernel takes what the driver does: pointers to all arguments, blocks, the size of a block. Both give 0 unless threads wait for
//! others that never come.
//!
//! Each test file uses its part of it.
#![allow(dead_code)]

use slyz_sir::back::clike::{Description, PlaceName};
use slyz_sir::back::cuda;
use slyz_sir::types::Ty;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Metal,
    Cuda,
    /// With wavefronts of so many lanes.
    Hip(u32),
}

impl Language {
    /// Lanes of a subgroup.
    pub fn lanes(self) -> u32 {
        if let Language::Hip(lanes) = self { lanes } else { 32 }
    }
}

/// The shims, as C++ compilers are told of them.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../slyz-run/tests/shim")
}

/// What NVIDIA's GPUs are told in PTX, in C++.
const PTX: [(&str, &str); 9] = [
    (r#"asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));"#, "x = shim::from_half(bits);"),
    (r#"asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));"#, "bits = shim::to_half(x);"),
    (r#"asm("mov.u32 %0, %%laneid;" : "=r"(lane));"#, "lane = shim::lane();"),
    (r#"asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));"#, "sum = shim::dot4(a, b, c);"),
    (
        r#"asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums.x), "+f"(sums.y), "+f"(sums.z), "+f"(sums.w) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));"#,
        "sums = shim::mma<2>(a, b, c, d, x, y, sums, shim::from_half);",
    ),
    (
        r#"asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums.x), "+f"(sums.y), "+f"(sums.z), "+f"(sums.w) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));"#,
        "sums = shim::mma<2>(a, b, c, d, x, y, sums, shim::from_bfloat);",
    ),
    (
        r#"asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums.x), "+f"(sums.y), "+f"(sums.z), "+f"(sums.w) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(x), "r"(y));"#,
        "sums = shim::mma<1>(a, b, c, d, x, y, sums, shim::from_tf32);",
    ),
    (
        r#"asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");"#,
        "x = shim::load_fragment(row);",
    ),
    (
        r#"asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");"#,
        "x = shim::load_turned(row);",
    ),
];

/// The text for a C++ compiler, with what launches its kernels.
fn translated<'d>(language: Language, source: &str, kernels: impl Iterator<Item = &'d Description>) -> String {
    let launched: String = match language {
        Language::Metal => kernels.map(glue).collect(),
        Language::Cuda | Language::Hip(_) => kernels.map(launched).collect(),
    };
    let (include, source) = match language {
        // The qualifier is an empty macro; as an attribute it must stay a word.
        Language::Metal => ("", source.replace("[[threadgroup(", "[[threadgroup_memory(")),
        Language::Cuda => {
            let text = source.replace("extern __shared__ ", "extern ");
            ("#include <cuda.h>\n", PTX.iter().fold(text, |text, (ptx, cpp)| text.replace(ptx, cpp)))
        }
        Language::Hip(_) => ("", source.to_string()),
    };
    format!("{include}{source}\n{launched}")
}

/// What launches a kernel of CUDA or HIP, with as much shared memory as the driver is asked for.
fn launched(d: &Description) -> String {
    match cuda::asked_shared_bytes(d) {
        0 => format!("SHIM_KERNEL({})\n", d.name),
        bytes => format!("SHIM_LARGE_KERNEL({}, {bytes})\n", d.name),
    }
}

fn cpp_type(ty: Ty) -> &'static str {
    match ty {
        Ty::Bool => "bool",
        Ty::I8 => "char",
        Ty::I16 => "short",
        Ty::I32 => "int",
        Ty::I64 => "long",
        Ty::U8 => "uchar",
        Ty::U16 => "ushort",
        Ty::U32 => "uint",
        Ty::U64 => "ulong",
        Ty::F16 => "half",
        Ty::BF16 => "bfloat",
        Ty::F32 => "float",
        Ty::F64 => "double",
    }
}

/// A C function that launches a kernel of Metal.
fn glue(d: &Description) -> String {
    let mut args = vec![];
    for b in &d.buffers {
        args.push(format!("({}*)bound[{}]", cpp_type(b.ty), b.index));
    }
    for s in &d.shared {
        args.push(format!("({}*)shared[{}]", cpp_type(s.ty), s.index));
    }
    for u in &d.uniforms {
        args.push(format!("*(const {}*)bound[{}]", cpp_type(u.ty), u.index));
    }
    let vector = |name: &str| match d.rank {
        1 => format!("t.{name}.x"),
        2 => format!("uint2{{t.{name}.x, t.{name}.y}}"),
        _ => format!("t.{name}"),
    };
    for place in &d.places {
        args.push(match place {
            PlaceName::Global => vector("tid"),
            PlaceName::Local => vector("lid"),
            PlaceName::Block => vector("gid"),
            PlaceName::GridDim => vector("groups"),
            PlaceName::Lane => "t.lane".into(),
            PlaceName::SubgroupSize => "32u".into(),
        });
    }
    launcher(&d.name, &args, d.shared.len(), d.meets)
}

fn launcher(name: &str, args: &[String], shared: usize, meets: bool) -> String {
    format!(
        "static void thread_of_{name}(const void* arguments) {{
    const shim::Thread& t = shim::here();
    void* const* bound = ((void* const* const*)arguments)[0];
    void* const* shared = ((void* const* const*)arguments)[1];
    ::{name}({});
}}
extern \"C\" __attribute__((visibility(\"default\"))) int launch_{name}(
    void* const* bound, const size_t* bytes, const uint* extent, const uint* block) {{
    return shim::dispatch(thread_of_{name}, bound, extent, block, {meets}, {shared}, bytes);
}}
",
        args.join(", ")
    )
}

/// The same of all kernels of a Metal file, as their parameters are written. Threads meet in those that have memory of a block or say so themselves.
fn glue_of_text(source: &str) -> String {
    let kernels = source.split("kernel void ").skip(1);
    let glue = |text: &str| {
        let (name, rest) = text.split_once('(')?;
        let params = rest.split_once("{")?.0.trim_end().strip_suffix(')')?;
        let params: Vec<&str> = params.split(',').map(str::trim).collect();
        let args = params.iter().map(|param| argument(param)).collect::<Option<Vec<String>>>()?;
        let shared = params.iter().filter(|param| param.starts_with("threadgroup ")).count();
        let meets = shared > 0 || ["barrier(", "simd_"].iter().any(|word| rest.contains(word));
        Some(launcher(name, &args, shared, meets))
    };
    kernels.map(|text| glue(text).expect("a kernel of Metal")).collect()
}

/// What is passed for a parameter: `device const float* x [[buffer(0)]]`, `uint2 tid [[thread_position_in_grid]]`.
fn argument(param: &str) -> Option<String> {
    let (declared, attribute) = param.split_once("[[")?;
    let attribute = attribute.trim().strip_suffix("]]")?.trim();
    let number = attribute.split_once('(').and_then(|(_, number)| number.strip_suffix(')'));
    let mut words = declared.split(|c: char| c.is_whitespace() || "*&".contains(c)).filter(|word| !word.is_empty());
    let space = words.next()?;
    let ty = words.find(|word| *word != "const");
    let place = match attribute {
        "thread_position_in_grid" => "tid",
        "thread_position_in_threadgroup" => "lid",
        "threadgroup_position_in_grid" => "gid",
        "threadgroups_per_grid" => "groups",
        "thread_index_in_simdgroup" => return Some("t.lane".to_string()),
        "threads_per_simdgroup" => return Some("32u".to_string()),
        _ => {
            let (ty, number) = (ty?, number?);
            return Some(match space {
                "device" => format!("({ty}*)bound[{number}]"),
                "threadgroup" => format!("({ty}*)shared[{number}]"),
                _ => format!("*(const {ty}*)bound[{number}]"),
            });
        }
    };
    Some(match space {
        "uint" => format!("t.{place}.x"),
        "uint2" => format!("uint2{{t.{place}.x, t.{place}.y}}"),
        _ => format!("t.{place}"),
    })
}

/// Compiles the text of kernels as C++ into a library in a folder.
pub fn compile<'d>(
    language: Language,
    source: &str,
    kernels: impl Iterator<Item = &'d Description>,
    into: &Path,
) -> PathBuf {
    compile_cpp(language, &translated(language, source, kernels), into)
}

/// Compiles a Metal file, of which nothing else is known.
pub fn compile_metal(source: &str, into: &Path) -> PathBuf {
    let text = translated(Language::Metal, source, std::iter::empty());
    compile_cpp(Language::Metal, &(text + &glue_of_text(source)), into)
}

fn compile_cpp(language: Language, text: &str, into: &Path) -> PathBuf {
    let path = into.join("kernels.cpp");
    std::fs::write(&path, text).expect("the folder can be written");
    let library = into.join("kernels.so");
    let done = Command::new(slyz_trials::cxx())
        // Where threads meet is told by return addresses.
        .args(["-std=c++17", "-O0", "-fno-omit-frame-pointer", "-w", "-shared", "-fPIC", "-fvisibility=hidden"])
        // Otherwise gcc makes a negative zero of `0.0f - (float)n`, which Metal's compiler does not.
        .args(["-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-frounding-math"])
        .arg(format!("-DSHIM_LANES={}", language.lanes()))
        .arg("-I")
        .arg(folder())
        .arg("-o")
        .args([&library, &path])
        .output()
        .expect("the compiler runs");
    if !done.status.success() {
        let kept = std::env::temp_dir().join("slyz_shim_failed.cpp");
        let _ = std::fs::copy(&path, &kept);
        let text = String::from_utf8_lossy(&done.stderr);
        let lines: Vec<&str> = text.lines().take(60).collect();
        panic!("the C++ compiler refuses {}:\n{}", kept.display(), lines.join("\n"));
    }
    library
}
