//! Plans for GPUs in the interpreter of kernels, which reports races, divergent barriers and undefined reads: random
//! programs on machines of different subgroups and limits, and sizes around every edge of the strategies.

mod random;

use proptest::prelude::*;
use random::{Case, agree, case, exact_case};
use slyz_sir::code::{Body, Op};
use slyz_sir::interp::kernel::{LaunchOptions, run_plan_with};
use slyz_sir::interp::program::{InterpError, Options, run_with};
use slyz_sir::interp::{Array, Value};
use slyz_sir::kernel::{Memory, Plan, Space};
use slyz_sir::lower::gpu::{Expected, Machine, lower, lower_for};
use slyz_sir::pass::optimize;
use slyz_sir::pass::spread::Subgroup;
use slyz_sir::program::Program;
use slyz_sir::size::{Size, SizeOrigin};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::{text, verify};
use slyz_trials::property;

const LIMITS: Options =
    Options { turns: Some(20_000), loop_turns: None, elements: Some(5_000), refuse_denormals: false };

/// A machine with limits that small programs reach.
fn small(max_threads: u32, subgroup: Option<u32>, max_blocks: u64) -> Machine {
    Machine {
        max_threads,
        meeting_threads: max_threads,
        subgroup: subgroup.map(|size| Subgroup { size, bits: 32, float_extremes: false, reduces_few: false }),
        shared_bytes: 256,
        // Scratch has more room on some.
        more_shared_bytes: if max_threads == 16 { 1 << 10 } else { 0 },
        least_bytes: 1,
        max_blocks: [max_blocks, 2, 1],
        atomic_bits: 64,
        max_positions: 1 << 20,
        vector_bytes: 16,
        fused: true,
        splits: false,
        // Some turn loops by launches, whatever a turn is.
        turn_work: if max_threads.is_multiple_of(2) { 1 << 15 } else { 0 },
        runs_ahead: max_threads % 4 < 2,
        progresses: subgroup.is_some_and(|size| size <= max_threads),
        has_products: false,
        multiplies: false,
        busy_blocks: 2_048,
        choice: slyz_sir::lower::Choice::USUAL,
    }
}

fn machines() -> Vec<Machine> {
    vec![
        Machine::metal(),
        Machine::webgpu(),
        small(16, Some(32), 3),
        small(7, Some(4), 2),
        small(8, Some(8), 100),
        small(12, None, 1),
        small(1, None, 5),
        // Blocks tell each other what they have.
        Machine {
            shared_bytes: 4 << 10,
            max_blocks: [1 << 20; 3],
            subgroup: Some(Subgroup { size: 4, bits: 64, float_extremes: false, reduces_few: false }),
            ..small(8, Some(4), 1)
        },
    ]
}

fn run(program: &Program, case: &Case, machine: &Machine, expected: &Expected) -> Vec<Value> {
    let plan = lower_for(program, machine, expected);
    assert_eq!(verify::plan(&plan), Ok(()), "{machine:?}\n{program}");
    let subgroup_size = machine.subgroup.map_or(1, |s| s.size);
    let options = LaunchOptions { subgroup_size, ..LaunchOptions::default() };
    run_plan_with(&plan, &case.sizes, &case.args, &options)
        .unwrap_or_else(|error| panic!("{error}\n{machine:?}\n{expected:?}\n{program}\n{}", text::print_plan(&plan)))
}

/// An expectation of a program with these sizes, or none at all: another for every number.
fn expectation(sizes: &[Option<u64>], number: u64) -> Expected {
    const SIZES: [u64; 8] = [1, 5, 20, 200, 2_000, 10_000, 1 << 20, 1 << 27];
    let of = |(k, _): (usize, &Option<u64>)| Some(SIZES[((number >> (3 * (k % 8))) % 8) as usize]);
    if number.is_multiple_of(5) {
        Expected::default()
    } else {
        Expected::of(&sizes.iter().enumerate().map(of).collect::<Vec<_>>())
    }
}

/// What a kernel does, counted in its code.
#[derive(Default)]
struct Counts {
    loads: usize,
    stores: usize,
    /// Loads and stores of several elements.
    wide: usize,
    atomics: usize,
    barriers: usize,
    subgroups: usize,
    loops: usize,
    deepest: usize,
    branches: usize,
}

impl Counts {
    fn add(&mut self, body: &Body, depth: usize) {
        for stmt in &body.stmts {
            let mut inner = depth;
            match &stmt.op {
                Op::Load { .. } => {
                    self.loads += 1;
                    self.wide += usize::from(stmt.binds.len() > 1);
                }
                Op::Store { values, .. } => {
                    self.stores += 1;
                    self.wide += usize::from(values.len() > 1);
                }
                Op::Atomic { .. } => self.atomics += 1,
                Op::Barrier(_) => self.barriers += 1,
                Op::Subgroup(..) => self.subgroups += 1,
                Op::If { .. } => self.branches += 1,
                Op::For { .. } | Op::While { .. } => {
                    self.loops += 1;
                    inner += 1;
                    self.deepest = self.deepest.max(inner);
                }
                _ => {}
            }
            stmt.op.bodies().into_iter().for_each(|body| self.add(body, inner));
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Counts { loads, stores, wide, atomics, barriers, subgroups, loops, deepest, branches } = self;
        write!(
            f,
            "  {loads} loads, {stores} stores, {wide} of them wide; {loops} loops, {deepest} deep; {branches} branches"
        )?;
        write!(f, "; {barriers} barriers; {subgroups} subgroup operations; {atomics} atomics")
    }
}

/// What a plan launches: buffers, launches, the threads and memories of each kernel, and what stands in its code.
fn summary(plan: &Plan) -> String {
    let mut out = String::new();
    let mut kernels = plan.kernels.iter();
    let memories = ["global ", "shared ", "scratch ", "local ", "constant "];
    let mut in_kernel = false;
    for line in text::print_plan(plan).lines() {
        let is_memory = line.strip_prefix("  ").is_some_and(|line| memories.iter().any(|word| line.starts_with(word)));
        let is_head = line.starts_with("kernel ");
        in_kernel |= is_head;
        if is_head || is_memory || !in_kernel && !line.is_empty() && line != "}" {
            out += &format!("{}\n", line.trim_end_matches(" {"));
        }
        if let ("}", Some(kernel)) = (line, kernels.clone().next().filter(|_| in_kernel)) {
            kernels.next();
            let mut counts = Counts::default();
            counts.add(&kernel.body, 0);
            out += &format!("{counts}\n");
        }
    }
    out
}

/// `gpu_plans/NAME.sir` is a program, `gpu_plans/NAME.launches` what is launched of it: for Metal, for a machine that likes wide
/// accesses, and for one without subgroups at sizes of about 10,000. Any difference fails; `BLESS=1` rewrites.
#[test]
fn launches_are_golden() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu_plans");
    let entries = std::fs::read_dir(&folder).expect("the folder gpu_plans");
    let paths = entries.map(|entry| entry.expect("an entry of gpu_plans").path());
    let mut programs: Vec<std::path::PathBuf> = paths.filter(|p| p.extension().is_some_and(|e| e == "sir")).collect();
    programs.sort();
    let mut wrong = vec![];
    for path in programs {
        let text = std::fs::read_to_string(&path).expect("a program");
        let program = text::parse_program(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(verify::program(&program), Ok(()), "{}", path.display());
        let optimized = optimize(&program);
        for machine in machines().into_iter().chain([Machine::cuda()]) {
            for number in 0..6 {
                let expected = expectation(&vec![None; program.sizes.len()], number * 37);
                keeps_limits(&lower_for(&optimized, &machine, &expected), &machine);
            }
        }
        let large = Expected::of(&vec![Some(10_000); program.sizes.len()]);
        let nothing = Expected::default();
        let targets = [
            ("Metal", Machine::metal(), &nothing),
            ("CUDA", Machine::cuda(), &nothing),
            ("WebGPU, about 10,000", Machine::webgpu(), &large),
        ];
        let mut found = String::new();
        for (name, machine, expected) in targets {
            let plan = lower_for(&optimized, &machine, expected);
            assert_eq!(verify::plan(&plan), Ok(()), "{}", path.display());
            found += &format!("--- {name}\n{}", summary(&plan));
        }
        let golden = path.with_extension("launches");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, found).expect("a golden");
        } else if std::fs::read_to_string(&golden).ok().as_ref() != Some(&found) {
            wrong.push(format!("{} differs; BLESS=1 rewrites it. Now it is\n{found}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The launches of a plan keep the limits of the machine, for every size that the machine promises.
fn keeps_limits(plan: &Plan, machine: &Machine) {
    let axes = plan.sizes.iter().filter(|s| s.origin == SizeOrigin::Given).count() as u32;
    for kernel in &plan.kernels {
        assert!(kernel.block.iter().product::<u32>() <= machine.max_threads, "{kernel}");
        let bytes = |m: &Memory| Size::product(&m.shape).constant().map(|n| n * m.ty.bytes() as u64);
        let shared = kernel.memories.iter().filter(|m| m.space == Space::Shared);
        assert!(
            shared.map(|m| bytes(m).expect("a constant size")).sum::<u64>() <= machine.most_shared_bytes(),
            "{kernel}"
        );
        for n in [0u64, 1, 7, 1 << 10, 1 << 20, (1 << 31) + 5, machine.max_positions] {
            // All axes that long may be more than the machine promises to hold.
            if n.checked_pow(axes.max(1)).is_none_or(|all| all > machine.max_positions) {
                continue;
            }
            let grid: Vec<u64> = kernel.grid.iter().map(|g| g.eval(&|_| Some(n)).expect("a size")).collect();
            let legal = grid.iter().zip(machine.max_blocks).all(|(&blocks, most)| blocks <= most);
            assert!(legal || grid.contains(&0), "{n}: {grid:?}\n{kernel}");
        }
    }
}

/// Folds, scans and filters of every length around the edges: of a subgroup, a block, a chunk, and many chunks.
#[test]
fn lengths() {
    let text = "program g<N, counted K>(%x: f32[N]) -> (i64, i32, i32, f32, i64[N], f32[K]) {
  %zero: i64 = const 0
  %z: i32 = const 0
  %one: i32 = const 1
  %nil: f32 = const 0.0
  %s: i64 = fold [N] |%i: i64| { yield %i } with commutative (%zero) |%a: i64, %b: i64| { %c: i64 = add %a, %b  yield %c }
  %f: i32, %g: i32 = fold [N] |%i: i64| {
    %a: i32 = cast %i
    %b: i32 = or %a, %one
    yield %b, %a
  } with (%one, %z) |%a: i32, %b: i32, %c: i32, %d: i32| {
    %e: i32 = mul %a, %c
    %h: i32 = mul %b, %c
    %j: i32 = add %h, %d
    yield %e, %j
  }
  %t: f32 = fold [N] |%i: i64| { %a: f32 = at %x[%i]  yield %a } with commutative (%nil) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
  %r: i64[N] = scan [N] |%i: i64| { yield %i } with commutative (%zero) |%a: i64, %b: i64| { %c: i64 = add %a, %b  yield %c }
  %k: f32[K] = filter N as K |%i: i64| { %a: f32 = at %x[%i]  %p: bool = gt %a, %nil  yield %p, %a }
  return %s, %f, %g, %t, %r, %k
}";
    let program = text::parse_program(text).unwrap_or_else(|error| panic!("{error}"));
    for machine in machines().into_iter().chain([Machine::cuda()]) {
        let plan = lower(&program, &machine);
        keeps_limits(&plan, &machine);
        let chunk = 64 * u64::from(machine.max_threads.min(256));
        let lengths = [0, 1, 3, 31, 32, 33, 255, 257, chunk - 1, chunk, chunk + 1, 3 * chunk + 17];
        // Enough tiles for clusters of groups, where blocks tell each other what they have.
        let far = (machine.progresses && chunk <= 512).then_some(11 * chunk + 5);
        for n in lengths.into_iter().chain(far) {
            let data: Vec<f32> = (0..n).map(|i| if i % 3 == 0 { -0.0 } else { 0.1 }).collect();
            let bits = data.iter().map(|x| u64::from(x.to_bits())).collect();
            let case = Case {
                program: program.clone(),
                sizes: vec![Some(n), None],
                args: vec![Value::Array(Array { ty: Ty::F32, shape: vec![n], data: bits })],
            };
            let expected =
                if far == Some(n) { Expected::of(&[Some(1 << 27), None]) } else { expectation(&case.sizes, n) };
            let found = run(&program, &case, &machine, &expected);
            let (mut factor, mut offset) = (1i32, 0i32);
            for i in 0..n as i32 {
                (factor, offset) = (factor.wrapping_mul(i | 1), offset.wrapping_mul(i | 1).wrapping_add(i));
            }
            let sum = (n * n.saturating_sub(1) / 2) as i128;
            let scalar = |k: usize| match &found[k] {
                Value::Scalar(value) => *value,
                Value::Array(_) => panic!("result {k} is an array"),
            };
            let wanted = [sum, factor.into(), offset.into()];
            assert_eq!([scalar(0), scalar(1), scalar(2)].map(Scalar::as_int), wanted, "{n} on {machine:?}");
            let exact: f64 = data.iter().map(|&x| f64::from(x)).sum();
            let error = (scalar(3).as_f64() - exact).abs();
            assert!(error <= exact * 2e-6, "{n} on {machine:?}: {} instead of {exact}", scalar(3).as_f64());
            let Value::Array(running) = &found[4] else { panic!("a scan gives an array") };
            assert!(running.data.iter().zip(0..).all(|(&s, i)| s == i * (i + 1) / 2), "{n} on {machine:?}");
            let Value::Array(kept) = &found[5] else { panic!("a filter gives an array") };
            assert_eq!(kept.data.len(), data.iter().filter(|&&x| x > 0.0).count(), "{n} on {machine:?}");
        }
    }
}

/// Several elements are read at once only where all of them are, and from where an access may begin.
#[test]
fn wide_reads_stay_inside() {
    let text = "program g<N, M>(%x: i32[M], %y: i32[N, M]) -> (i32[N], i32, i32[N]) {
  %zero: i32 = const 0
  %m: i64 = extent M
  %padded: i32[N] = tabulate [N] |%i: i64| {
    %is: bool = lt %i, %m
    %a: i32 = if %is { %b: i32 = at %x[%i]  yield %b } else { yield %zero }
    yield %a
  }
  %sum: i32 = fold [N] |%i: i64| {
    %is: bool = lt %i, %m
    %a: i32 = if %is { %b: i32 = at %x[%i]  yield %b } else { yield %zero }
    yield %a
  } with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
  %rows: i32[N] = tabulate [N] |%i: i64| {
    %s: i32 = fold [M] |%k: i64| { %a: i32 = at %y[%i, %k]  %b: i32 = at %x[%k]  %c: i32 = mul %a, %b  yield %c }
      with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
    yield %s
  }
  return %padded, %sum, %rows
}";
    let program = text::parse_program(text).unwrap_or_else(|error| panic!("{error}"));
    for machine in machines().into_iter().chain([Machine::cuda()]) {
        for (number, (n, m)) in [(1, 1), (9, 4), (40, 5), (3, 300), (1_000, 8), (2, 1_030)].into_iter().enumerate() {
            let array = |shape: Vec<u64>| {
                let data = (0..shape.iter().product()).map(|i: u64| i % 7).collect();
                Value::Array(Array { ty: Ty::I32, shape, data })
            };
            let args = vec![array(vec![m]), array(vec![n, m])];
            let case = Case { program: program.clone(), sizes: vec![Some(n), Some(m)], args };
            let found = run(&program, &case, &machine, &expectation(&case.sizes, number as u64 * 9 + n));
            let x = |i: u64| if i < m { i % 7 } else { 0 };
            let row = |i: u64| (0..m).map(|k| (i * m + k) % 7 * x(k)).sum::<u64>();
            let sum = Value::Scalar(Scalar::from_int(Ty::I32, (0..n).map(x).sum::<u64>().into()));
            let wanted = |element: &dyn Fn(u64) -> u64| {
                Value::Array(Array { ty: Ty::I32, shape: vec![n], data: (0..n).map(element).collect() })
            };
            assert_eq!(found, [wanted(&x), sum, wanted(&row)], "{n}, {m} on {machine:?}");
        }
    }
}

/// Subgroups of NVIDIA's GPUs count whole digits of a tile, and tiles ask those before them where they go.
#[test]
fn sorts_by_lanes_that_meet() {
    let sort = |keys: &str, words: &str| {
        let text = format!(
            "program order<N>(%x: u32[N]) -> (u32[N], i64[N]) {{
  %few: u32 = const 8
  %y: u32[N], %p: i64[N] = sort [N] by [{keys}] |%i: i64| {{
    %a: u32 = at %x[%i]
    %b: u32 = shr %a, %few
    yield {words}, %a, %i
  }}
  return %y, %p
}}"
        );
        text::parse_program(&text).unwrap_or_else(|error| panic!("{error}"))
    };
    // Of one word, and of two: eight bits and then all others.
    let of_one = (sort("32", "%a"), (|key| key) as fn(u64) -> u64);
    let of_two = (sort("8, 24", "%a, %b"), (|key| (key & 255) << 24 | key >> 8) as fn(u64) -> u64);
    for (program, key) in [of_one, of_two] {
        for n in [8_192 + 1_000, 4 * 8_192] {
            let keys: Vec<u64> = (0..n).map(|i: u64| i.wrapping_mul(2_654_435_761) >> 7 & 0x0fff_00ff).collect();
            let mut wanted: Vec<(u64, u64)> = keys.iter().copied().zip(0..).collect();
            wanted.sort_by_key(|(word, place)| (key(*word), *place));
            let args = vec![Value::Array(Array { ty: Ty::U32, shape: vec![n], data: keys })];
            let case = Case { program: program.clone(), sizes: vec![Some(n)], args };
            let found = run(&program, &case, &Machine::cuda(), &Expected::of(&[Some(1 << 27)]));
            let [Value::Array(keys), Value::Array(places)] = &found[..] else { panic!("two arrays") };
            let found: Vec<(u64, u64)> = keys.data.iter().copied().zip(places.data.iter().copied()).collect();
            assert_eq!(found, wanted, "{n} elements of\n{program}");
        }
    }
}

/// Folds along rows, columns and middle axes, with code around them, for all kinds of teams and all kinds of sizes.
#[test]
fn axes() {
    let text = "program g<N, M>(%x: i32[N, M], %y: i32[N, 3, M], %s: i32[N]) -> (i32[N], i32[M], i32[N, M], i32[M], i64[M], i32) {
  %zero: i32 = const 0
  %none: i64 = const -1
  %least: i32 = const -1000000
  %rows: i32[N] = tabulate [N] |%i: i64| {
    %w: i32 = at %s[%i]
    %f: i32 = fold [M] |%k: i64| { %a: i32 = at %x[%i, %k]  %b: i32 = mul %a, %w  yield %b }
      with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
    %g: i32 = add %f, %w
    yield %g
  }
  %columns: i32[M] = tabulate [M] |%j: i64| {
    %f: i32 = fold [N] |%k: i64| { %a: i32 = at %x[%k, %j]  yield %a }
      with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
    %p: i32 = cast %j
    %g: i32 = sub %f, %p
    yield %g
  }
  %middle: i32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
    %f: i32 = fold [3] |%k: i64| { %a: i32 = at %y[%i, %k, %j]  yield %a }
      with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
    yield %f
  }
  %best: i32[M], %where: i64[M] = tabulate [M] |%j: i64| {
    %f: i32, %g: i64 = fold [N, 3] |%k: i64, %l: i64| { %a: i32 = at %y[%k, %l, %j]  yield %a, %k }
      with commutative (%least, %none) |%a: i32, %p: i64, %b: i32, %q: i64| {
        %m: bool = gt %b, %a
        %e: bool = eq %b, %a
        %o: bool = gt %q, %p
        %u: bool = and %e, %o
        %t: bool = or %m, %u
        %c: i32 = select %t, %b, %a
        %r: i64 = select %t, %q, %p
        yield %c, %r
      }
    yield %f, %g
  }
  %all: i32 = fold [N, M] |%i: i64, %j: i64| { %a: i32 = at %x[%i, %j]  %b: i32 = mul %a, %a  yield %b }
    with commutative (%zero) |%a: i32, %b: i32| { %c: i32 = add %a, %b  yield %c }
  return %rows, %columns, %middle, %best, %where, %all
}";
    let program = text::parse_program(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify::program(&program), Ok(()));
    let expected = [
        (10, 10_000_000),
        (10_000_000, 10),
        (16_384, 16_384),
        (5, 2_000_000),
        (200_000, 100),
        (100, 1_500),
        (4_000_000, 3),
    ];
    let all: Vec<Expected> = expected.iter().map(|&(n, m)| Expected::of(&[Some(n), Some(m)])).collect();
    let array = |shape: &[u64]| {
        let data = (0..shape.iter().product()).map(|i: u64| i.wrapping_mul(2_654_435_761) >> 7 & 63).collect();
        Value::Array(Array { ty: Ty::I32, shape: shape.to_vec(), data })
    };
    for (n, m) in [(0, 3), (4, 0), (1, 1), (9, 37), (2, 300), (70, 9)] {
        let case = Case {
            program: program.clone(),
            sizes: vec![Some(n), Some(m)],
            args: vec![array(&[n, m]), array(&[n, 3, m]), array(&[n])],
        };
        let wanted = run_with(&program, &case.sizes, &case.args, &Options::default()).expect("results");
        for machine in machines().into_iter().chain([Machine::cuda()]).filter(|m| m.vector_bytes > 0) {
            for expected in all.iter().chain([&Expected::default()]) {
                let found = run(&program, &case, &machine, expected);
                assert!(agree(&wanted, &found), "{n} x {m} on {machine:?}, {expected:?}");
            }
        }
    }
}

/// Everything that runs over axes, where extents are known before the call: around the edges of blocks, of what a thread takes,
/// of tiles and of grids. What is known must not lead to threads that nobody stops.
#[test]
fn known_extents() {
    let shapes: [&[u64]; 22] = [
        &[0],
        &[1],
        &[3],
        &[4],
        &[255],
        &[257],
        &[1000],
        &[1023],
        &[2000],
        &[4112],
        &[0, 3],
        &[1, 2000],
        &[3, 257],
        &[257, 3],
        &[31, 33],
        &[5, 6, 7],
        &[3, 2, 257],
        &[65, 3, 2],
        &[2, 3, 5, 7],
        // So many that a thread takes several that are apart, on every dimension.
        &[70_000],
        &[132, 500],
        &[4, 70, 252],
    ];
    for (shape, ty) in shapes.into_iter().zip([Ty::U8, Ty::I32, Ty::I64].into_iter().cycle()) {
        let program = text::parse_program(&over_all_axes(ty, shape)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(verify::program(&program), Ok(()));
        let data = |count: u64| (0..count).map(|i| i.wrapping_mul(2_654_435_761) >> 7 & 63).collect();
        let last = shape.last().copied().unwrap_or(0);
        let args: Vec<Value> = [shape.to_vec(), vec![last]]
            .map(|shape| Value::Array(Array { ty, data: data(shape.iter().product()), shape }))
            .into();
        let sizes = vec![None; program.sizes.len()];
        let wanted = run_with(&program, &sizes, &args, &Options::default()).expect("results");
        let case = Case { program: program.clone(), sizes, args };
        let many = shape.iter().product::<u64>() >= MANY;
        for machine in if many { vec![Machine::webgpu()] } else { machines() } {
            let found = run(&optimize(&program), &case, &machine, &Expected::default());
            assert!(agree(&wanted, &found), "{shape:?} of {ty} on {machine:?}");
            keeps_limits(&lower(&program, &machine), &machine);
        }
    }
}

/// Positions from which on a thread may take several that are apart.
const MANY: u64 = 1 << 16;

/// A program with maps and a transpose over axes of these extents and, unless there are many positions, with folds, a scan, a scatter
/// and a filter.
fn over_all_axes(ty: Ty, shape: &[u64]) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let extents = |shape: &[u64]| list(shape.iter().map(u64::to_string).collect());
    let names: Vec<String> = (0..shape.len()).map(|k| format!("%i{k}")).collect();
    let params = |names: &[String]| list(names.iter().map(|name| format!("{name}: i64")).collect());
    let (inner, last) = (&names[shape.len() - 1], shape[shape.len() - 1]);
    let (axes, all, at) = (extents(shape), params(&names), list(names.clone()));
    let turned = extents(&shape.iter().rev().copied().collect::<Vec<u64>>());
    let across = list(names.iter().rev().cloned().collect());
    let sum = format!("with commutative (%nil) |%p: {ty}, %q: {ty}| {{ %r: {ty} = add %p, %q  yield %r }}");
    let read = format!("%a: {ty} = at %x[{at}]");
    let array = format!("{ty}[{axes}]");
    let map = |code: &str| (array.clone(), format!("tabulate [{axes}] |{all}| {{ {code}  yield %b }}"));
    let mut made = vec![
        map(&format!("{read}  %b: {ty} = add %a, %a")),
        map(&format!("%b: {ty} = cast {inner}")),
        map(&format!("{read}  %w: {ty} = at %v[{inner}]  %b: {ty} = mul %a, %w")),
        (
            format!("{ty}[{turned}]"),
            format!("tabulate [{turned}] |{all}| {{ %a: {ty} = at %x[{across}]  %b: {ty} = add %a, %one  yield %b }}"),
        ),
    ];
    if shape.iter().product::<u64>() < MANY {
        let send = format!("%m: i64 = mul {inner}, %seven  %t: i64 = rem %m, %hundred  {read}  yield %t, %a");
        made.extend([
            (format!("{ty}"), format!("fold [{axes}] |{all}| {{ {read}  yield %a }} {sum}")),
            (array, format!("scan [{axes}] |{all}| {{ {read}  yield %a }} {sum}")),
            (format!("{ty}[90]"), format!("scatter [{axes}] into [90] |{all}| {{ {send} }} {sum}")),
        ]);
        made.extend(match shape.split_last() {
            Some((last, outer @ [_, ..])) => {
                let (outer, around) = (extents(outer), params(&names[..outer.len()]));
                let rows = format!("%s: {ty} = fold [{last}] |{inner}: i64| {{ {read}  yield %a }} {sum}  yield %s");
                let columns = format!("%s: {ty} = fold [{outer}] |{around}| {{ {read}  yield %a }} {sum}  yield %s");
                vec![
                    (format!("{ty}[{outer}]"), format!("tabulate [{outer}] |{around}| {{ {rows} }}")),
                    (format!("{ty}[{last}]"), format!("tabulate [{last}] |{inner}: i64| {{ {columns} }}")),
                ]
            }
            _ => {
                let keep = format!("{read}  %k: bool = gt %a, %one  yield %k, %a");
                vec![(format!("{ty}[K]"), format!("filter {axes} as K |{all}| {{ {keep} }}"))]
            }
        });
    }
    let code: String = made.iter().enumerate().map(|(k, (of, text))| format!("  %r{k}: {of} = {text}\n")).collect();
    let counts = if code.contains("filter") { "<counted K>" } else { "" };
    let (returns, results) = made.iter().enumerate().map(|(k, (of, _))| (of.clone(), format!("%r{k}"))).unzip();
    format!(
        "program g{counts}(%x: {ty}[{axes}], %v: {ty}[{last}]) -> ({}) {{
  %nil: {ty} = const 0
  %one: {ty} = const 1
  %seven: i64 = const 7
  %hundred: i64 = const 100
{code}  return {}
}}",
        list(returns),
        list(results)
    )
}

#[test]
fn random_programs_mean_the_same() {
    property("random_programs_mean_the_same", 120, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = exact_case(seed, budget);
        let expected = match run_with(&case.program, &case.sizes, &case.args, &LIMITS) {
            Ok(values) => values,
            Err(InterpError::Budget(_)) => return Ok(()),
            Err(error) => panic!("{error}\n{}", case.program),
        };
        let optimized = optimize(&case.program);
        for (k, machine) in machines().into_iter().enumerate() {
            for program in [&case.program, &optimized] {
                let found = run(program, &case, &machine, &expectation(&case.sizes, seed >> k));
                prop_assert!(agree(&expected, &found), "{machine:?}: {expected:?} became {found:?}\n{program}");
            }
        }
        Ok(())
    });
}

/// Sums of floats may differ in the last bits, and with them everything behind; but nothing races or is undefined.
#[test]
fn random_programs_run_clean() {
    property("random_programs_run_clean", 300, (any::<u64>(), 1u32..60), |(seed, budget)| {
        let case = case(seed, budget);
        if run_with(&case.program, &case.sizes, &case.args, &LIMITS).is_ok() {
            for (k, machine) in machines().into_iter().enumerate() {
                run(&optimize(&case.program), &case, &machine, &expectation(&case.sizes, seed >> k));
            }
        }
        Ok(())
    });
}
