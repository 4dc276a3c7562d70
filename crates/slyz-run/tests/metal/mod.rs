//! Metal on a CPU: generated kernels compiled as C++ against the shim of the standard library, and plans run on them.
#![allow(dead_code)]

#[path = "../plans/mod.rs"]
mod plans;

#[allow(unused_imports)]
pub use plans::{from_bytes, to_bytes};

use plans::value;
use slyz_sir::back::clike::{Description, Dispatch, PlaceName, UniformSource};
use slyz_sir::back::harness::Entry;
use slyz_sir::interp::Value;
use slyz_sir::kernel::BufferId;
use slyz_sir::size::Size;
use slyz_sir::types::{Scalar, Ty};
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;

type Launch = unsafe extern "C" fn(
    buffers: *const *mut c_void,
    uniforms: *const *const c_void,
    extent: *const u32,
    shared_bytes: *const usize,
) -> i32;

/// Kernels that were compiled.
pub struct Library {
    library: libloading::Library,
    _folder: tempfile::TempDir,
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

/// A C function that launches a kernel.
fn glue(d: &Description) -> String {
    let mut args = vec![];
    for b in &d.buffers {
        args.push(format!("({}*)a.buffers[{}]", cpp_type(b.ty), b.index));
    }
    for s in &d.shared {
        args.push(format!("({}*)t.shared[{}]", cpp_type(s.ty), s.index));
    }
    for (k, u) in d.uniforms.iter().enumerate() {
        args.push(format!("*(const {}*)a.uniforms[{k}]", cpp_type(u.ty)));
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
    let [x, y, z] = d.block;
    let exact = matches!(d.dispatch, Dispatch::Threads(_));
    let (name, shared, meets) = (&d.name, d.shared.len(), d.meets);
    format!(
        "static void thread_of_{name}(const void* arguments, const shim::Thread& t) {{
    const Arguments& a = *(const Arguments*)arguments;
    {name}({});
}}
extern \"C\" int launch_{name}(void* const* buffers, const void* const* uniforms, const uint* extent, const size_t* shared) {{
    Arguments a = {{buffers, uniforms}};
    const uint block[3] = {{{x}, {y}, {z}}};
    return shim::run(thread_of_{name}, &a, extent, block, {exact}, {meets}, {shared}, shared);
}}
",
        args.join(", ")
    )
}

/// Compiles a `.metal` file as C++; nothing where no compiler does, which is told.
pub fn build<'d>(source: &str, kernels: impl Iterator<Item = &'d Description>) -> Option<Library> {
    if !slyz_trials::has_cxx() {
        return None;
    }
    let compiler = slyz_trials::cxx();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kernels.cpp");
    let glue: String = kernels.map(glue).collect();
    // The qualifier is an empty macro; as an attribute it must stay a word.
    let source = source.replace("[[threadgroup(", "[[threadgroup_memory(");
    let head = "struct Arguments { void* const* buffers; const void* const* uniforms; };\n";
    std::fs::write(&path, format!("{source}\n{head}{glue}")).expect("the temporary folder can be written");
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("../slyz-run/tests/metal");
    let library = folder.path().join("kernels.so");
    let done = Command::new(&compiler)
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
    // SAFETY: it was just built from generated code; loading runs nothing.
    let library = unsafe { libloading::Library::new(&library) }.expect("the library loads");
    Some(Library { library, _folder: folder })
}

impl Library {
    /// Launches a kernel. `buffers` are those of the SIR kernel, in its order.
    pub fn launch(
        &self,
        d: &Description,
        sizes: &[Option<u64>],
        buffers: &[*mut c_void],
        scalars: &[Scalar],
    ) -> Result<(), String> {
        let (Dispatch::Threads(extent) | Dispatch::Blocks(extent)) = &d.dispatch;
        let extent: Vec<u64> = extent.iter().map(|s| value(s, sizes)).collect::<Result<_, _>>()?;
        if extent.contains(&0) {
            return Ok(());
        }
        let extent: Vec<u32> =
            extent.into_iter().map(u32::try_from).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        let mut words: Vec<u64> = vec![];
        for uniform in &d.uniforms {
            words.push(match uniform.source {
                UniformSource::Size(var) => value(&Size::Var(var), sizes)?,
                UniformSource::Scalar(k) => scalars[k].bits,
            });
        }
        let uniforms: Vec<*const c_void> = words.iter().map(|w| std::ptr::from_ref(w).cast()).collect();
        let bound: Vec<*mut c_void> = d.buffers.iter().map(|b| buffers[b.place]).collect();
        let mut shared = vec![];
        for memory in &d.shared {
            shared.push(value(&Size::product(&memory.shape), sizes)? as usize * memory.ty.bytes());
        }
        // SAFETY: the function has that type; see `glue`. Buffers are as large as the plan says, and kernels of a right
        // plan stay inside.
        let failed = unsafe {
            let name = format!("launch_{}", d.name);
            let launch: libloading::Symbol<Launch> = self.library.get(name.as_bytes()).map_err(|e| e.to_string())?;
            launch(bound.as_ptr(), uniforms.as_ptr(), extent.as_ptr(), shared.as_ptr())
        };
        if failed != 0 { Err(format!("kernel {}: not all threads reach a barrier", d.name)) } else { Ok(()) }
    }

    /// Runs the plan of a program, as the Swift harness does.
    pub fn run(&self, entry: &Entry, sizes: &[Option<u64>], args: &[Value]) -> Result<Vec<Value>, String> {
        plans::run(entry, sizes, args, &mut |launch, memory| {
            let pointer = |id: &BufferId| {
                memory[id.0 as usize].as_mut().map_or(std::ptr::null_mut(), |words| words.as_mut_ptr().cast())
            };
            let pointers: Vec<*mut c_void> = launch.buffers.iter().map(pointer).collect();
            self.launch(launch.kernel, launch.sizes, &pointers, &launch.scalars)
        })
    }
}
