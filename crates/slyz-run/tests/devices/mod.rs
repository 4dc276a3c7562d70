//! Running programs on devices in tests: values in and out, and how far two results are apart.
//!
//! Each test file uses its part of it.
#![allow(dead_code)]

pub mod sanitizer;

use slyz_run::cpu::{Backend, Cpu, CpuConfig};
use slyz_run::{Argument, ArrayData, Buffer, Device, Error, Executable, Launch, LaunchArray, Output};
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::{Access, Kernel, Plan, Space};
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use slyz_sir::threads::Threads;
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{back, lower, pass};
use std::sync::Arc;

fn config() -> CpuConfig {
    CpuConfig { cache_dir: None, ..CpuConfig::from_env() }
}

/// The CPU as users have it: positions in 32-bit lanes where the sizes allow.
pub fn narrow() -> Cpu {
    Cpu::new(config())
}

/// The CPU with the code for huge sizes at every size.
pub fn wide() -> Cpu {
    let lower = |program: &Program, _| lower::cpu::lower(&pass::optimize(program));
    let emit = |plan: &Plan, _| back::c::emit(plan, true);
    // SAFETY: the real backend, which keeps the promise of `Cpu::new`; wide code is right for every size.
    unsafe { Cpu::with_backend(config(), Backend { lower, emit }) }
}

/// A device of OpenCL.
pub const OPENCL: &str = "opencl";

/// A GPU without optional features.
pub const PLAIN: &str = "wgpu without features";

/// A GPU under test.
pub struct Gpu {
    pub name: &'static str,
    /// Features of wgpu that it does not have.
    pub lacks: Vec<&'static str>,
    pub device: Box<dyn Device>,
}

/// Is there a GPU? Else the test has nothing to do.
#[cfg(feature = "wgpu")]
pub fn has_gpu() -> bool {
    use slyz_run::wgpu::adapters;
    static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    slyz_trials::Need::Vulkan.is_met(*FOUND.get_or_init(|| !adapters().is_empty()))
}

/// The GPUs of this build: none where the machine has none. One that does not open fails the tests that use it. A sanitizer watches
/// the CPU only.
pub fn gpus() -> Vec<Gpu> {
    if sanitizer::is_on() {
        return vec![];
    }
    // OpenCL on a CPU compiles slowly: beside the corpus it is tried where `SLYZ_ROAD` asks for it.
    let asked = std::env::var("SLYZ_ROAD").is_ok_and(|road| !road.is_empty() && OPENCL.contains(&road));
    let opencl = if asked { by_opencl() } else { vec![] };
    [by_cuda(), by_hip(), by_wgpu(), opencl].into_iter().flatten().collect()
}

/// The same and OpenCL.
pub fn gpus_and_opencl() -> Vec<Gpu> {
    let mut gpus = gpus();
    let wanted = std::env::var("SLYZ_ROAD").map_or(true, |road| OPENCL.contains(&road));
    if wanted && !sanitizer::is_on() && gpus.iter().all(|gpu| gpu.name != OPENCL) {
        gpus.extend(by_opencl());
    }
    gpus
}

/// Is there a platform of OpenCL? Else the test has nothing to do.
#[cfg(feature = "opencl")]
pub fn has_opencl() -> bool {
    slyz_trials::Need::OpenCl.is_met(slyz_run::opencl::found().is_ok())
}

#[cfg(feature = "opencl")]
fn by_opencl() -> Vec<Gpu> {
    use slyz_run::opencl::OpenCl;
    use slyz_sir::choices::Precision;
    // `SLYZ_ADAPTER` may name an adapter of wgpu.
    let wish = std::env::var("SLYZ_ADAPTER").ok();
    let fits = |name: &str| wish.as_ref().is_none_or(|wish| name.to_lowercase().contains(&wish.to_lowercase()));
    if !has_opencl() {
        return vec![];
    }
    let found = slyz_run::opencl::found().unwrap_or_default();
    if !found.iter().any(|device| fits(&device.name) || fits(&device.platform)) {
        return vec![];
    }
    // Every bit is compared.
    let device = Box::new(OpenCl::new(wish.as_deref()).with_precision(Precision::Exact));
    vec![Gpu { name: OPENCL, lacks: vec!["cl_khr_subgroup_shuffle"], device }]
}

#[cfg(not(feature = "opencl"))]
fn by_opencl() -> Vec<Gpu> {
    vec![]
}

#[cfg(feature = "cuda")]
fn by_cuda() -> Vec<Gpu> {
    use slyz_run::cuda::Cuda;
    use slyz_sir::choices::Precision;
    let wanted = std::env::var("SLYZ_ROAD").map_or(true, |road| "cuda".contains(&road));
    if !wanted || !Cuda::is_usable() {
        return vec![];
    }
    // Every bit is compared.
    let device = Box::new(Cuda::new(0).with_precision(Precision::Exact));
    vec![Gpu { name: "cuda", lacks: vec![], device }]
}

#[cfg(not(feature = "cuda"))]
fn by_cuda() -> Vec<Gpu> {
    vec![]
}

#[cfg(feature = "hip")]
fn by_hip() -> Vec<Gpu> {
    use slyz_run::hip::Hip;
    use slyz_sir::choices::Precision;
    let wanted = std::env::var("SLYZ_ROAD").map_or(true, |road| "hip".contains(&road));
    if !wanted || !Hip::is_usable() {
        return vec![];
    }
    // Every bit is compared.
    let device = Box::new(Hip::new(0).with_precision(Precision::Exact));
    vec![Gpu { name: "hip", lacks: vec![], device }]
}

#[cfg(not(feature = "hip"))]
fn by_hip() -> Vec<Gpu> {
    vec![]
}

#[cfg(feature = "wgpu")]
fn by_wgpu() -> Vec<Gpu> {
    if !has_gpu() {
        return vec![];
    }
    use slyz_run::wgpu::{Wgpu, adapters};
    use slyz_sir::choices::Precision;
    let wish = std::env::var("SLYZ_ADAPTER").ok();
    let named = |name: &str| wish.as_ref().is_none_or(|wish| name.to_lowercase().contains(&wish.to_lowercase()));
    let chosen = adapters().into_iter().find(|adapter| named(&adapter.name));
    let has = chosen.unwrap_or_else(|| panic!("no adapter has the name that SLYZ_ADAPTER wants: {wish:?}")).types;
    let lacks = |has: &[&str]| {
        let all = [("i64", "SHADER_INT64"), ("f64", "SHADER_F64"), ("f16", "SHADER_F16")];
        all.into_iter().filter(|(name, _)| !has.contains(name)).map(|(_, feature)| feature).collect()
    };
    // Every bit is compared.
    let exact = |device: Wgpu| Box::new(device.with_precision(Precision::Exact));
    vec![
        Gpu { name: "wgpu", lacks: lacks(&has), device: exact(Wgpu::new(wish.as_deref())) },
        Gpu { name: PLAIN, lacks: lacks(&[]), device: exact(Wgpu::plain(wish.as_deref())) },
    ]
}

#[cfg(not(feature = "wgpu"))]
fn by_wgpu() -> Vec<Gpu> {
    vec![]
}

/// A program that a device has compiled.
pub struct Compiled {
    executable: Arc<dyn Executable>,
    /// For whoever reads about a fault.
    text: String,
}

/// Compiles a program for a device, which must run it itself.
pub fn compile(device: &dyn Device, program: &Program) -> Result<Compiled, String> {
    // SAFETY: the corpus and random programs read inside their arrays, which the interpreter has seen.
    let executable = unsafe { device.compile_trusted(program) }.map_err(|error| error.to_string())?;
    if executable.device() != device.name() {
        return Err(format!("runs on the {} instead; a C compiler is needed", executable.device()));
    }
    Ok(Compiled { executable, text: if sanitizer::is_on() { program.to_string() } else { String::new() } })
}

impl Compiled {
    /// Runs it; a scalar comes back as an array of no axes.
    pub fn run(&self, sizes: &[Option<u64>], args: &[Value]) -> Result<Vec<Value>, String> {
        sanitizer::note(|| format!("sizes {sizes:?}\n{}", self.text));
        // Memory that ends with the elements, for a sanitizer to see.
        let data = args.iter().map(|a| if let Value::Array(a) = a { bytes(a) } else { vec![] }.into_boxed_slice());
        let data: Vec<Box<[u8]>> = data.collect();
        let args: Vec<Argument> = args
            .iter()
            .zip(&data)
            .map(|(arg, data)| match arg {
                Value::Scalar(scalar) => Argument::Scalar(*scalar),
                Value::Array(a) => Argument::Array { ty: a.ty, shape: (&a.shape).into(), data: ArrayData::Host(data) },
            })
            .collect();
        let results = self.executable.run(sizes, &args).map_err(|error| error.to_string())?;
        results.iter().map(value).collect()
    }
}

/// Compiles and runs a program.
pub fn run(
    device: &dyn Device,
    program: &Program,
    sizes: &[Option<u64>],
    args: &[Value],
) -> Result<Vec<Value>, String> {
    compile(device, program)?.run(sizes, args)
}

/// A kernel that leaves its threads open, with the constants of a case, and the other arguments of that: arrays, then scalars.
pub fn launched(kernel: &Kernel, args: &[Value]) -> (Template, Vec<Array>, Vec<Scalar>) {
    let bound = kernel.memories.iter().filter(|memory| memory.space.is_bound());
    let mut arrays = vec![];
    let mut constants = vec![];
    for (memory, arg) in bound.zip(args) {
        match memory.space {
            Space::Constant => constants.push(as_array(arg).data),
            Space::Global(_) | Space::Shared | Space::Scratch | Space::Local => arrays.push(as_array(arg)),
        }
    }
    let scalars = args.iter().filter_map(|arg| if let Value::Scalar(scalar) = arg { Some(*scalar) } else { None });
    (Template { kernel: kernel.clone(), constants }, arrays, scalars.collect())
}

/// Launches a kernel; gives what came of it, and its global memories by name afterwards.
pub fn launch(
    device: &dyn Device,
    kernel: &Kernel,
    threads: Threads,
    args: &[Value],
    unchecked: bool,
) -> (Result<(), Error>, Vec<(String, Array)>) {
    sanitizer::note(|| format!("{threads:?}\n{kernel}"));
    let (template, arrays, scalars) = launched(kernel, args);
    let globals: Vec<_> = kernel.memories.iter().filter(|memory| matches!(memory.space, Space::Global(_))).collect();
    let mut buffers: Vec<Buffer> = arrays.iter().map(|a| Buffer::copy_of(&bytes(a)).expect("memory")).collect();
    let passed = globals.iter().zip(&mut buffers).zip(&arrays).map(|((memory, data), array)| {
        let ty = array.ty;
        let shape = array.shape.clone();
        match memory.space == Space::Global(Access::Read) {
            true => LaunchArray::Read { ty, shape, data: ArrayData::Buffer(data) },
            false => LaunchArray::Write { ty, shape, data },
        }
    });
    let launch = Launch { threads, memories: passed.collect(), scalars };
    let done = device.prepare(&Arc::new(template)).and_then(|launcher| match unchecked {
        false => launcher.launch(launch),
        // SAFETY: kernels of the corpus stay inside their memories, but for cases that fail, which are not launched like this.
        true => unsafe { launcher.launch_unchecked(launch) },
    });
    let after = buffers.iter().zip(arrays).map(|(buffer, array)| {
        let data = elements(array.ty, buffer.bytes().expect("the data"));
        Array { data, ..array }
    });
    (done, globals.iter().map(|memory| memory.name.clone()).zip(after).collect())
}

fn elements(ty: Ty, bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |bits, &b| bits << 8 | b as u64);
    bytes.chunks(ty.bytes()).map(word).collect()
}

fn bytes(array: &Array) -> Vec<u8> {
    let width = array.ty.bytes();
    array.data.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
}

fn value(output: &Output) -> Result<Value, String> {
    let data = elements(output.ty, output.data.bytes().map_err(|error| error.to_string())?);
    Ok(Value::Array(Array { ty: output.ty, shape: output.shape.clone(), data }))
}

/// A scalar is an array of no axes on a device.
pub fn as_array(value: &Value) -> Array {
    match value {
        Value::Scalar(Scalar { ty, bits }) => Array { ty: *ty, shape: vec![], data: vec![*bits] },
        Value::Array(array) => array.clone(),
    }
}

/// How many values lie between two of one type: 0 for the same bits and for two NaNs, no number where only one is a NaN
/// or where integers differ. The two zeros are neighbours, and an infinity is the neighbour of the largest number.
pub fn distance(ty: Ty, a: u64, b: u64) -> u64 {
    let nan = |bits| ty.is_float() && Scalar { ty, bits }.as_f64().is_nan();
    // The order of the bits is that of the numbers once negative ones are turned around.
    let place = |bits: u64| {
        let sign = 1u64 << (ty.bits() - 1);
        if bits & sign != 0 { -i128::from(bits & !sign) - 1 } else { i128::from(bits) }
    };
    if a == b || nan(a) && nan(b) {
        0
    } else if !ty.is_float() || nan(a) || nan(b) {
        u64::MAX
    } else {
        place(a).abs_diff(place(b)) as u64
    }
}

/// The first place where a result is further than `ulp` from what is expected, in words.
pub fn difference(expected: &Value, found: &Value, ulp: u32) -> Option<String> {
    let (expected, found) = (as_array(expected), as_array(found));
    if (expected.ty, &expected.shape) != (found.ty, &found.shape) {
        let describe = |a: &Array| format!("{} of shape {:?}", a.ty, a.shape);
        return Some(format!("expected {}, found {}", describe(&expected), describe(&found)));
    }
    let ty = expected.ty;
    let pairs = || expected.data.iter().zip(&found.data).enumerate();
    let wrong = |(a, b): (&u64, &u64)| distance(ty, *a, *b) > u64::from(ulp);
    let (at, (a, b)) = pairs().find(|(_, pair)| wrong(*pair))?;
    let count = pairs().filter(|(_, pair)| wrong(*pair)).count();
    let [a, b] = [*a, *b].map(|bits| Scalar { ty, bits });
    Some(format!("element {at}: expected {a:?}, found {b:?}; {count} of {} elements differ", expected.data.len()))
}
