//! Modules of every plan of the corpus: naga's validator and `spirv-val` accept them.
#![cfg(feature = "naga")]

use slyz_sir::back::EmitError;
use slyz_sir::back::naga::{self, FloatControls, Interface, Target, emit, read, spirv, wgsl};
use slyz_sir::choices::Precision;
use slyz_sir::lower::gpu::{Machine, lower};
use slyz_sir::pass::optimize;
use slyz_sir::pass::spread::Subgroup;
use slyz_sir::text::parse_file;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::process::{Command, Stdio};

/// One module in so many is made once more, for as much of its target as its kernel hangs on. It has no factor in common with the number
/// of targets, so that all of them have their turn.
const COMPARED: usize = 7;

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// What `spirv-val` has against a module: nothing, where there is none.
fn refused(words: &[u32]) -> Option<String> {
    if !slyz_trials::has_spirv_val() {
        return None;
    }
    let mut child = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.1", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("spirv-val, of the package spirv-tools");
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    child.stdin.take().expect("its input").write_all(&bytes).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = [output.stdout, output.stderr].concat();
    (!output.status.success()).then(|| String::from_utf8_lossy(&text).into_owned())
}

/// A core for each half of the files.
#[test]
fn modules_of_the_corpus() {
    modules_of_half_the_corpus(0);
}

#[test]
fn modules_of_the_rest_of_the_corpus() {
    modules_of_half_the_corpus(1);
}

fn modules_of_half_the_corpus(half: usize) {
    let full = Target {
        int64: true,
        atomic64: true,
        float64: true,
        subgroups: true,
        fused: true,
        exact_division: false,
        exact_root: false,
        exact_halves: true,
        reassociates: true,
        narrow: false,
        long_loops: false,
        floats: FloatControls { denormals: [true; 2], specials: [true; 2], nearest: [true; 2] },
        precision: Precision::Exact,
    };
    let rich = Machine {
        subgroup: Some(Subgroup { size: 32, bits: 32, float_extremes: false, reduces_few: false }),
        atomic_bits: 64,
        ..Machine::webgpu()
    };
    let plain = Target { int64: true, float64: true, precision: Precision::Native, ..Target::default() };
    let narrow = Target { narrow: true, reassociates: false, precision: Precision::Table, ..full };
    let machines = [(rich, [full, narrow]), (Machine::webgpu(), [plain, Target::default()])];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let (mut wrong, mut count) = (vec![], 0);
    let mut seen = HashSet::new();
    let files = std::fs::read_dir(folder).expect("the folder tests/corpus");
    let mut paths: Vec<_> = files.map(|entry| entry.expect("an entry of tests/corpus").path()).collect();
    paths.sort();
    for path in paths.iter().skip(half).step_by(2) {
        let Ok((module, _)) = parse_file(&std::fs::read_to_string(path).unwrap_or_default()) else { continue };
        for program in module.programs.iter().map(optimize) {
            for (machine, targets) in &machines {
                let plan = lower(&program, machine);
                for (kernel, target) in plan.kernels.iter().flat_map(|kernel| targets.map(|target| (kernel, target))) {
                    let made = match emit(kernel, &target) {
                        Ok(made) => made,
                        // What a target lacks, and what has no form, are answers.
                        Err(EmitError::Lacks { .. } | EmitError::Operator { .. }) => continue,
                        Err(error) => {
                            wrong.push(format!("{}: {error}", path.display()));
                            continue;
                        }
                    };
                    count += 1;
                    assert_eq!(made.interface, Interface::of(kernel));
                    let words = spirv(&made).map_err(|e| e.to_string());
                    if count % COMPARED == 0 {
                        // What the kernel does not hang on changes no word.
                        let same = emit(kernel, &target.of_kernel(kernel)).and_then(|made| spirv(&made));
                        assert!(words == same.map_err(|e| e.to_string()), "{}: {}", path.display(), kernel.name);
                    }
                    // Many kernels are made for several targets alike.
                    if words.is_ok() && !seen.insert(hash(&words)) {
                        continue;
                    }
                    let text = match wgsl(&made) {
                        // Conversions of constants to and from 64 bits are more than naga reads.
                        Ok(text) => read(&text).err().filter(|why| !why.contains("Cannot cast scalar components")),
                        Err(error) => Some(error.to_string()),
                    };
                    let refused = match &words {
                        Ok(words) => refused(words),
                        Err(error) => Some(error.clone()),
                    };
                    wrong.extend(text.or(refused).map(|why| format!("{}, {}: {why}", path.display(), kernel.name)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} modules:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "only {count} modules were made");
}

#[test]
fn what_a_target_lacks_is_named() {
    let text = "program g<N>(%x: f64[N]) -> f64[N] {
      %y: f64[N] = tabulate [N] |%i: i64| { %a: f64 = at %x[%i]  %b: f64 = add %a, %a  yield %b }
      return %y }";
    let program = slyz_sir::text::parse_program(text).expect("text of a program");
    let plan = lower(&program, &Machine::webgpu());
    let error = emit(&plan.kernels[0], &Target::default()).expect_err("f64 is not there").to_string();
    assert!(error.contains("SHADER_F64") && error.contains("f32") && error.contains("cpu"), "{error}");
}

/// Four elements of a type from one array to another, through the memory of the block.
fn quads(ty: &str) -> String {
    let text = format!(
        "kernel quads<n>() grid [ceil(n / 256), 1, 1] block [64, 1, 1] {{
          global read x: {ty}[n]
          global write y: {ty}[n]
          shared tile: {ty}[256]
          %g: i64 = global.x
          %l: i64 = local.x
          %four: i64 = const 4
          %i: i64 = mul %g, %four
          %t: i64 = mul %l, %four
          %a: {ty}, %b: {ty}, %c: {ty}, %d: {ty} = load x[%i]
          store tile[%t], %a, %b, %c, %d
          barrier block
          %e: {ty}, %f: {ty}, %h: {ty}, %k: {ty} = load tile[%t]
          store y[%i], %k, %h, %f, %e
        }}"
    );
    let kernel = slyz_sir::text::parse_kernel(&text).expect("text of a kernel");
    let module = emit(&kernel, &Target { narrow: true, ..Target::default() }).expect("a module");
    assert_eq!(refused(&spirv(&module).expect("words")), None);
    wgsl(&module).expect("text")
}

#[test]
fn neighbours_move_together() {
    let text = quads("f32");
    assert_eq!(text.matches("array<vec4<f32>").count(), 3, "{text}");
    // The number of a thread is that of its vector, and nothing is counted in 64 bits.
    assert!(!text.contains(">> 2u") && !text.contains("i64"), "{text}");
    let text = quads("f16");
    assert_eq!(text.matches("array<vec2<u32>>").count(), 2, "{text}");
    let text = quads("u8");
    assert!(text.contains("array<u32>") && !text.contains("atomic"), "{text}");
}

/// A kernel as people write them, with the sizes of its launch in front.
fn written(params: &str, memories: &str, code: &str) -> slyz_sir::kernel::Kernel {
    let text = format!(
        "kernel k<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, n>({params})
           grid [grid_x, grid_y, grid_z] block [64, 1, 1] {{ {memories} {code} }}"
    );
    let kernel = slyz_sir::text::parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(slyz_sir::verify::kernel(&kernel), Ok(()), "{text}");
    kernel
}

#[test]
fn numbers_past_32_bits_are_computed_in_64() {
    let target = Target { int64: true, narrow: true, ..Target::default() };
    let text = |code: &str, memory: &str| {
        let kernel = written("%p: i32", &format!("global readwrite out: {memory}[n]"), code);
        let module = emit(&kernel, &target).expect("a module");
        assert_eq!(refused(&spirv(&module).expect("words")), None);
        wgsl(&module).expect("text")
    };
    let hash = "%i: i64 = global.x  %a: i64 = const 1103515245  %c: i64 = const 12345  %x: i64 = mul %i, %a  %y: i64 = add %x, %c";
    // A remainder asks for all of it, a store of an i64 as well.
    let rest =
        text(&format!("{hash}  %n: i64 = extent n  %j: i64 = rem %y, %n  %v: i32 = cast %j  store out[%i], %v"), "i32");
    let whole = text(&format!("{hash}  store out[%i], %y"), "i64");
    for text in [rest, whole] {
        let wide = text.contains("bitcast<i64>") && text.contains("1103515245u") && !text.contains("param.x *");
        assert!(wide, "{text}");
    }
    // Of a store of an i32 only the low word is seen, whatever came before.
    let low = text(&format!("{hash}  %v: i32 = cast %y  store out[%i], %v"), "i32");
    assert!(!low.contains("i64") && low.contains("1103515245u"), "{low}");
    // Scalars may be anything that their type holds.
    let scaled = text(
        "%i: i64 = global.x  %q: i64 = cast %p  %x: i64 = mul %i, %q  %h: i64 = const 10  %y: i64 = shr %x, %h  %v: i32 = cast %y  store out[%i], %v",
        "i32",
    );
    assert!(scaled.contains("i64"), "{scaled}");
}

#[test]
fn reports_are_valid_modules() {
    let kernel = written(
        "%j: i64",
        "global read a: f32[n] global readwrite out: f32[n, 4]",
        "%i: i64 = global.x  %ok: bool = check a[%i]
         %v: f32 = if %ok { %l: f32 = load a[%i]  yield %l } else { %z: f32 = const 0.0  yield %z }
         %in: bool = check out[%j, %i]
         if %in { store out[%j, %i], %v } else {}",
    );
    let reporting = slyz_sir::pass::optimize_kernel(slyz_sir::pass::report::run(kernel));
    for narrow in [false, true] {
        let module = emit(&reporting, &Target { int64: true, narrow, ..Target::default() }).expect("a module");
        assert_eq!(refused(&spirv(&module).expect("words")), None);
        assert!(wgsl(&module).expect("text").contains("atomicCompareExchangeWeak"));
    }
    // Where there are no 64-bit integers, an index is a 32-bit number, and so it is told.
    let kernel = written(
        "",
        "global readwrite out: f32[n]",
        "%i: i64 = global.x  %ok: bool = check out[%i]  if %ok { %v: f32 = const 1.0  store out[%i], %v } else {}",
    );
    let reporting = slyz_sir::pass::optimize_kernel(slyz_sir::pass::report::run(kernel));
    let module = emit(&reporting, &Target { narrow: true, ..Target::default() }).expect("a module");
    assert_eq!(refused(&spirv(&module).expect("words")), None);
}

#[test]
fn atomics_on_floats_are_exchanges_of_bits() {
    let kernel = written(
        "",
        "global readwrite out: f32[n] shared part: f32[4]",
        "%i: i64 = global.x  %zero: i64 = const 0  %x: f32 = const 1.5
         store part[%zero], %x
         barrier block
         %a: f32 = atomic add out[%i], %x  %b: f32 = atomic min out[%zero], %a  %c: f32 = atomic max part[%zero], %b
         %d: f32 = atomic exchange out[%zero], %c  %e: f32 = atomic compare_exchange out[%i], %d, %x
         %f: f32 = atomic load out[%i]  %g: f32 = atomic store out[%i], %f",
    );
    let module = emit(&kernel, &Target { int64: true, narrow: true, ..Target::default() }).expect("a module");
    assert_eq!(refused(&spirv(&module).expect("words")), None);
    assert!(wgsl(&module).expect("text").contains("out: array<atomic<u32>>"));
}

/// Values that hang on each other, one used once after the other: the writer of WGSL must not go down all of them.
#[test]
fn long_chains_of_values_fit_the_stack() {
    for first in [true, false] {
        let mut code = "%v0: f32 = const 1.0 ".to_string();
        for k in 0..4_000 {
            let (load, add) = (format!("%x{k}: f32 = load x[%i] "), format!("%v{}: f32 = add %v{k}, %v0 ", k + 1));
            code += &if first { load + &add } else { add + &load };
        }
        let text = format!(
            "kernel k<n>() grid [1, 1, 1] block [64, 1, 1] {{ global read x: f32[n] global write out: f32[n]
               %i: i64 = global.x {code} store out[%i], %v4000 }}"
        );
        let kernel = slyz_sir::text::parse_kernel(&text).expect("a kernel");
        let module = emit(
            &kernel,
            &Target { int64: true, reassociates: true, precision: Precision::Exact, ..Target::default() },
        )
        .expect("a module");
        assert!(wgsl(&module).expect("WGSL").contains("let v"));
    }
}

/// Where a driver counts turns, loops have their code several times in a turn, and the module is as valid.
#[test]
fn loops_of_many_turns() {
    let text = "kernel k<n>() grid [1, 1, 1] block [1, 1, 1] { global read x: f32[n] global readwrite out: f32[n]
       %zero: i64 = const 0
       %one: i64 = const 1
       %nil: f32 = const 0.0
       %end: i64 = extent n
       %limit: f32 = const 1000000.0
       %s: f32 = for %zero to %end step %one (%nil) |%k: i64, %a: f32| { %v: f32 = load x[%k]  %b: f32 = add %a, %v  yield %b }
       store out[%zero], %s
       %w: f32 = while (%nil) |%a: f32| { %m: bool = lt %a, %limit  yield %m } do |%a: f32| { %b: f32 = add %a, %s  yield %b }
       store out[%one], %w }";
    let kernel = slyz_sir::text::parse_kernel(text).expect("a kernel");
    let mut lengths = vec![];
    for long_loops in [false, true] {
        let target = Target { int64: true, long_loops, ..Target::default() };
        let module = emit(&kernel, &target).expect("a module");
        assert_eq!(refused(&spirv(&module).expect("SPIR-V")), None);
        let text = wgsl(&module).expect("WGSL");
        assert_eq!(text.matches("loop {").count(), 2);
        lengths.push(text.matches("break;").count());
    }
    assert_eq!(lengths, [2, 64]);
    // Data decide how often the second one turns.
    assert_eq!(naga::most_turns(&kernel, &[Some(1_000)]), None);
    let (before, _) = text.split_once("%w").expect("the second loop");
    let alone = slyz_sir::text::parse_kernel(&format!("{before} }}")).expect("a kernel");
    assert_eq!(naga::most_turns(&alone, &[Some(1_000)]), Some(1_001));
    assert_eq!(naga::certain_turns(&alone, &[Some(1_000)]), Some(1_000 / 32 + 1));
}
