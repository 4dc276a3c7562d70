//! Metal kernels as a library of C++: generated text, a C function for each kernel that launches it, and the compiler.
//!
//! `launch_NAME` takes what an encoder of Metal holds when threads are dispatched: buffers and uniforms by index, bytes of threadgroup
//! memories, threads or threadgroups, and the size of a threadgroup; without that, exactly so many threads run. It gives 0 unless
//! threads wait for others that never come.

use slyz_sir::back::clike::{Description, PlaceName};
use slyz_sir::types::Ty;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// A C function that launches a kernel.
fn glue(d: &Description) -> String {
    let mut args = vec![];
    for b in &d.buffers {
        args.push(format!("({}*)bound[{}]", cpp_type(b.ty), b.index));
    }
    for s in &d.shared {
        args.push(format!("({}*)t.shared[{}]", cpp_type(s.ty), s.index));
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
    let (name, shared, meets) = (&d.name, d.shared.len(), d.meets);
    format!(
        "static void thread_of_{name}(const void* arguments, const shim::Thread& t) {{
    void* const* bound = (void* const*)arguments;
    {name}({});
}}
extern \"C\" int launch_{name}(void* const* bound, const size_t* bytes, const uint* extent, const uint* block) {{
    return shim::run(thread_of_{name}, bound, extent, block, !block, {meets}, {shared}, bytes);
}}
",
        args.join(", ")
    )
}

/// Compiles a `.metal` file as C++ into a library in a folder.
pub fn compile<'d>(source: &str, kernels: impl Iterator<Item = &'d Description>, folder: &Path) -> PathBuf {
    let path = folder.join("kernels.cpp");
    let glue: String = kernels.map(glue).collect();
    // The qualifier is an empty macro; as an attribute it must stay a word.
    let source = source.replace("[[threadgroup(", "[[threadgroup_memory(");
    std::fs::write(&path, format!("{source}\n{glue}")).expect("the folder can be written");
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slyz-run/tests/metal");
    let library = folder.join("kernels.so");
    let done = Command::new(slyz_trials::cxx())
        .args(["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off"])
        // Otherwise gcc makes a negative zero of `0.0f - (float)n`, which Metal's compiler does not.
        .args(["-frounding-math", "-I"])
        .arg(&shim)
        .arg("-o")
        .args([&library, &path])
        .output()
        .expect("the compiler runs");
    if !done.status.success() {
        let kept = std::env::temp_dir().join("slyz_metal_failed.cpp");
        let _ = std::fs::copy(&path, &kept);
        let text = String::from_utf8_lossy(&done.stderr);
        let lines: Vec<&str> = text.lines().take(60).collect();
        panic!("the C++ compiler refuses {}:\n{}", kept.display(), lines.join("\n"));
    }
    library
}
