//! NVIDIA's compiler as judge: NVRTC compiles everything that the corpus is exported to in CUDA, without a GPU.

mod exports;

use exports::{R, corpus, exported, here};
use libloading::{Library, Symbol};
use slyz_sir::back::cuda::{self, Cuda, Vendor};
use slyz_sir::back::harness::Target;
use slyz_sir::choices::Precision;
use slyz_sir::kernel::Kernel;
use slyz_sir::lower::gpu::{Expected, Machine, lower, lower_for};
use slyz_sir::pass;
use slyz_sir::text::parse_file;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

type Program = *mut c_void;

/// What is asked of kernels: NVIDIA's A100 and H100.
const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90"];

/// The compiler, with the library that it loads by name.
struct Nvrtc {
    library: Library,
    _builtins: Vec<Library>,
}

impl Nvrtc {
    fn open(folder: &Path) -> R<Nvrtc> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<R<_>>()?;
        paths.sort();
        let (builtins, own): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.into_iter().partition(|path| path.to_string_lossy().contains("builtins"));
        // SAFETY: the libraries are NVIDIA's own, whose initialisers do nothing to us.
        unsafe {
            let builtins = builtins.iter().map(|path| Library::new(path)).collect::<Result<_, _>>()?;
            Ok(Nvrtc { library: Library::new(own.first().ok_or("no libnvrtc")?)?, _builtins: builtins })
        }
    }

    /// Nothing, or what the compiler has to say.
    fn complaint(&self, text: &str, architecture: &str) -> R<Option<String>> {
        let (failed, said) = self.compiled(text, architecture, &[])?;
        Ok(failed.then_some(said))
    }

    /// Whether the compiler has failed, and what it says.
    fn compiled(&self, text: &str, architecture: &str, others: &[&str]) -> R<(bool, String)> {
        let source = CString::new(text)?;
        let architecture = format!("--gpu-architecture={architecture}");
        let options = [&architecture[..], "--std=c++17"].into_iter().chain(others.iter().copied());
        let options: Vec<CString> = options.map(CString::new).collect::<Result<_, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the functions have these types, and all pointers live during the calls.
        unsafe {
            type Create = unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int;
            type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
            type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
            type Log = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
            type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
            let create: Symbol<Create> = self.library.get(b"nvrtcCreateProgram\0")?;
            let compile: Symbol<Compile> = self.library.get(b"nvrtcCompileProgram\0")?;
            let size: Symbol<Size> = self.library.get(b"nvrtcGetProgramLogSize\0")?;
            let log: Symbol<Log> = self.library.get(b"nvrtcGetProgramLog\0")?;
            let destroy: Symbol<Destroy> = self.library.get(b"nvrtcDestroyProgram\0")?;
            let mut program = null_mut();
            assert_eq!(create(&mut program, source.as_ptr(), null(), 0, null(), null()), 0);
            let failed = compile(program, options.len() as c_int, options.as_ptr()) != 0;
            let mut length = 0;
            size(program, &mut length);
            let mut said = vec![0u8; length.max(1)];
            log(program, said.as_mut_ptr().cast());
            destroy(&mut program);
            Ok((failed, String::from_utf8_lossy(&said).trim_end_matches('\0').to_string()))
        }
    }
}

/// Two tests, for two cores.
#[test]
fn nvrtc_takes_every_second_file_of_the_corpus() -> R {
    takes_files(0)
}

#[test]
fn nvrtc_takes_the_files_between() -> R {
    takes_files(1)
}

/// Files of the corpus whose number is even or odd.
fn takes_files(turn: usize) -> R {
    if !slyz_trials::has_nvrtc() {
        return Ok(());
    }
    let nvrtc = Nvrtc::open(&here("../../target/nvrtc"))?;
    let paths = corpus()?;
    let mut complaints = vec![];
    for (number, path) in paths.iter().enumerate().skip(turn).step_by(2) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(path)?;
        // A precision and an architecture each, in turn; every bit takes the compiler long.
        let precision = match number % 64 {
            0 => Precision::Exact,
            even if even % 2 == 0 => Precision::Table,
            _ => Precision::Native,
        };
        let architecture = ARCHITECTURES[number / 2 % ARCHITECTURES.len()];
        let cuda = exported(&name, &text, Target::Cuda, precision).map_err(|error| format!("{name}: {error}"))?;
        complaints.extend(nvrtc.complaint(&cuda, architecture)?.map(|said| format!("{name}, {precision:?}: {said}")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    println!("every second of {} files", paths.len());
    Ok(())
}

/// Programs that count on their registers: rows that are kept, tiles of products, sorts and scans.
const IN_REGISTERS: &str = "
program softmax(%x: f32[16384, 16384]) -> f32[16384, 16384] {
  %zero: f32 = const 0.0
  %low: f32 = const -inf
  %y: f32[16384, 16384] = tabulate [16384] |%i: i64| {
    %m: f32 = fold [16384] |%k: i64| { %a: f32 = at %x[%i, %k]  yield %a }
      with commutative (%low) |%p: f32, %q: f32| { %r: f32 = max %p, %q  yield %r }
    %e: f32[16384] = tabulate [16384] |%k: i64| { %a: f32 = at %x[%i, %k]  %d: f32 = sub %a, %m  %f: f32 = exp %d  yield %f }
    %s: f32 = fold [16384] |%k: i64| { %a: f32 = at %e[%k]  yield %a }
      with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
    %z: f32[16384] = tabulate [16384] |%k: i64| { %a: f32 = at %e[%k]  %d: f32 = div %a, %s  yield %d }
    yield %z
  }
  return %y
}
program matmul(%a: f32[4096, 4096], %b: f32[4096, 4096]) -> f32[4096, 4096] {
  %zero: f32 = const 0.0
  %c: f32[4096, 4096] = tabulate [4096, 4096] |%i: i64, %j: i64| {
    %s: f32 = fold [4096] |%k: i64| { %x: f32 = at %a[%i, %k]  %y: f32 = at %b[%k, %j]  %z: f32 = mul %x, %y  yield %z }
      with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
    yield %s
  }
  return %c
}
program scan(%x: f32[1048576]) -> f32[1048576] {
  %zero: f32 = const 0.0
  %y: f32[1048576] = scan [1048576] |%i: i64| { %a: f32 = at %x[%i]  yield %a }
    with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
  return %y
}
program order(%x: u32[1048576]) -> u32[1048576] {
  %y: u32[1048576] = sort [1048576] by [32] |%i: i64| { %a: u32 = at %x[%i]  yield %a, %a }
  return %y
}
program turn(%x: f32[4096, 4096]) -> f32[4096, 4096] {
  %y: f32[4096, 4096] = tabulate [4096, 4096] |%i: i64, %j: i64| { %a: f32 = at %x[%j, %i]  yield %a }
  return %y
}";

#[test]
fn nothing_is_spilled() -> R {
    if !slyz_trials::has_nvrtc() {
        return Ok(());
    }
    let nvrtc = Nvrtc::open(&here("../../target/nvrtc"))?;
    for precision in [Precision::Native, Precision::Table] {
        let cuda = exported("registers.sir", IN_REGISTERS, Target::Cuda, precision)?;
        let (failed, said) = nvrtc.compiled(&cuda, "sm_90", &["--ptxas-options=-v"])?;
        assert!(!failed, "{said}");
        let spills: Vec<&str> = said.lines().filter(|line| line.contains("bytes spill stores")).collect();
        assert!(spills.len() >= 5, "the compiler says nothing of registers: {said}");
        assert!(spills.iter().all(|line| line.contains(" 0 bytes spill stores")), "{precision:?}: {said}");
    }
    Ok(())
}

#[test]
fn nvrtc_takes_blocks_with_more_memory() -> R {
    if !slyz_trials::has_nvrtc() {
        return Ok(());
    }
    let nvrtc = Nvrtc::open(&here("../../target/nvrtc"))?;
    let file = std::fs::read_to_string(here("../../tests/corpus/tiles_large.sir"))?;
    let program = pass::optimize(&parse_file(&file)?.0.programs[0]);
    for architecture in [80, 90] {
        let plan = lower(&program, &Machine::cuda_of(architecture));
        let dialect = Cuda { precision: Precision::Table, narrow: true, vendor: Vendor::Nvidia };
        let kernels: Vec<&Kernel> = plan.kernels.iter().collect();
        let (text, descriptions) = cuda::emit_all(&kernels, &dialect)?;
        assert!(descriptions.iter().any(|d| cuda::asked_shared_bytes(d) == 2 * 96 * 96 * 4), "{text}");
        let architecture = format!("sm_{architecture}");
        let (failed, said) = nvrtc.compiled(&text, &architecture, &["--ptxas-options=-v"])?;
        assert!(!failed && !said.contains("warning"), "{architecture}: {said}");
    }
    Ok(())
}

/// Products of halves, and of `f32` where the GPU's own ways are asked for, by tensor cores: large and small tiles.
#[test]
fn nvrtc_takes_fragments() -> R {
    if !slyz_trials::has_nvrtc() {
        return Ok(());
    }
    let nvrtc = Nvrtc::open(&here("../../target/nvrtc"))?;
    let file = std::fs::read_to_string(here("../../tests/corpus/products_of_halves.sir"))?;
    let other = std::fs::read_to_string(here("../../tests/corpus/matmul_transposed.sir"))?.replace("f64", "f32");
    let halves = parse_file(&file)?.0.programs.into_iter().map(|program| (program, Precision::Table));
    let floats = parse_file(&other)?.0.programs.into_iter().map(|program| (program, Precision::Native));
    for (program, precision) in halves.chain(floats) {
        let mut program = pass::optimize(&program);
        program.precision = Some(precision);
        for (architecture, about) in [(80, None), (90, None), (90, Some(4_000))] {
            let expected = Expected::of(&vec![about; program.sizes.len()]);
            let machine = Machine { has_products: false, ..Machine::cuda_of(architecture) };
            let plan = lower_for(&program, &machine, &expected);
            let kernels: Vec<&Kernel> = plan.kernels.iter().collect();
            let (text, _) = cuda::emit_all(&kernels, &Cuda { precision, narrow: true, vendor: Vendor::Nvidia })?;
            assert!(text.contains("mma.sync"), "{text}");
            let (failed, said) = nvrtc.compiled(&text, &format!("sm_{architecture}"), &["--ptxas-options=-v"])?;
            assert!(!failed && !said.contains("warning"), "{architecture}: {said}");
            let spills: Vec<u32> = said.lines().filter_map(spilled_bytes).collect();
            assert!(!spills.is_empty(), "the compiler says nothing of registers: {said}");
            // Two blocks of a core share its registers. Code around the tiles may have to wait in memory, the sums not.
            let most = if about.is_some() { 64 } else { 8 };
            assert!(spills.iter().all(|&bytes| bytes <= most), "{architecture}: {said}");
        }
    }
    Ok(())
}

/// What a line of the compiler says of registers that go to memory.
fn spilled_bytes(line: &str) -> Option<u32> {
    line.split_once(" bytes spill stores")?.0.rsplit(' ').next()?.parse().ok()
}

/// Attention in one kernel, with tensor cores and without.
const ATTENTION: &str = include_str!("../../slyz/src/attention.cu");

#[test]
fn nvrtc_takes_attention() -> R {
    if !slyz_trials::has_nvrtc() {
        return Ok(());
    }
    let nvrtc = Nvrtc::open(&here("../../target/nvrtc"))?;
    let each = ["sm_75", "sm_80", "sm_90", "sm_90a"].into_iter().flat_map(|name| [(64, name), (128, name)]);
    for (number, (width, architecture)) in each.enumerate() {
        for (ty, halves) in [("f16", 1), ("bf16", 0)] {
            let causal = number % 2;
            let choices = format!(
                "#define WIDTH {width}\n#define OF_TYPE \"{ty}\"\n#define HALVES {halves}\n#define CAUSAL {causal}\n"
            );
            let (failed, said) = nvrtc.compiled(&(choices + ATTENTION), architecture, &["--ptxas-options=-v"])?;
            assert!(!failed, "{ty}, {width}, {architecture}: {said}");
            let spilled =
                said.lines().any(|line| line.contains("spill stores") && !line.contains(" 0 bytes spill stores"));
            assert!(!spilled || architecture == "sm_75", "{ty}, {width}, {architecture}: {said}");
            assert!(!said.contains("serialized"), "{ty}, {width}, {architecture}: {said}");
        }
    }
    Ok(())
}
