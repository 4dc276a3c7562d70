//! Shared memory past what blocks have beside each other: scratch that has room there is no global memory, and all else stays as it is.

use slyz_sir::back::EmitError;
use slyz_sir::back::cuda::{self, Cuda, Vendor};
use slyz_sir::back::harness::{self, HandKernel, Options, Target};
use slyz_sir::choices::Precision;
use slyz_sir::interp::kernel::{LaunchOptions, run_plan_with};
use slyz_sir::kernel::{Buffer, BufferUse, Kernel, Memory, Plan, Space};
use slyz_sir::launch::Template;
use slyz_sir::lower::gpu::{Machine, lower};
use slyz_sir::pass::optimize;
use slyz_sir::road::KernelRoad;
use slyz_sir::size::Size;
use slyz_sir::{text, verify};

/// Turns over tiles, of which a block has two at a time: 72 KB.
const TILES: &str = include_str!("../../../tests/corpus/tiles_large.sir");

/// A block whose threads have each other's elements, of which it holds so many.
fn reversed(elements: u64) -> Kernel {
    let text = format!(
        "kernel reversed() grid [1, 1, 1] block [64, 1, 1] {{
           global read x: f32[{elements}]  global write y: f32[{elements}]
           shared small: u8[3]  shared tile: f32[{elements}]
           %t: i64 = local.x  %n: i64 = const {elements}  %one: i64 = const 1  %all: i64 = const 64  %zero: i64 = const 0
           for %t to %n step %all |%k: i64| {{ %v: f32 = load x[%k]  store tile[%k], %v }}
           %first: bool = eq %t, %zero
           if %first {{ %seven: u8 = const 7  store small[%zero], %seven }} else {{}}
           barrier block
           %s: u8 = load small[%zero]  %c: f32 = cast %s
           for %t to %n step %all |%k: i64| {{
             %l0: i64 = sub %n, %k  %l: i64 = sub %l0, %one
             %v: f32 = load tile[%l]  %w: f32 = mul %v, %c  store y[%k], %w
           }}
         }}"
    );
    text::parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn cuda(vendor: Vendor) -> Cuda {
    Cuda { precision: Precision::Table, narrow: true, vendor }
}

fn is_shared(memory: &&Memory) -> bool {
    memory.space == Space::Shared
}

fn shared_bytes(kernel: &Kernel) -> u64 {
    let bytes = |memory: &Memory| Size::product(&memory.shape).constant().unwrap_or(0) * memory.ty.bytes() as u64;
    kernel.memories.iter().filter(is_shared).map(bytes).sum()
}

/// Is it a tile for each block?
fn is_of_blocks(buffer: &Buffer) -> bool {
    matches!(&buffer.shape[..], [_, Size::Const(96), Size::Const(96)])
}

fn temporaries(plan: &Plan) -> usize {
    plan.buffers.iter().filter(|buffer| buffer.role == BufferUse::Temporary).count()
}

#[test]
fn scratch_is_shared_where_blocks_may_have_more() {
    let (module, cases) = text::parse_file(TILES).expect("a file of the corpus");
    let program = optimize(&module.programs[0]);
    // Two tiles take 72 KB.
    let (turing, ada, hopper) = (Machine::cuda_of(75), Machine::cuda_of(89), Machine::cuda_of(90));
    for (machine, spilled) in
        [(Machine::cuda(), true), (turing, true), (ada, false), (hopper, false), (Machine::hip(64), true)]
    {
        let plan = lower(&program, &machine);
        assert_eq!(verify::plan(&plan), Ok(()), "{machine:?}");
        let is_spilled = plan.buffers.iter().any(|buffer| buffer.role == BufferUse::Temporary && is_of_blocks(buffer));
        assert_eq!(is_spilled, spilled, "{machine:?}\n{}", text::print_plan(&plan));
        assert_eq!(plan.kernels.iter().any(|kernel| shared_bytes(kernel) > machine.shared_bytes), !spilled);
        let options =
            LaunchOptions { subgroup_size: machine.subgroup.map_or(1, |s| s.size), ..LaunchOptions::default() };
        for case in &cases {
            let found = run_plan_with(&plan, &[], &case.args, &options).expect("a right plan");
            assert_eq!(found[0], case.expect[0].value, "{machine:?}");
        }
    }
}

#[test]
fn what_fits_stays_as_it_is() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus");
    let mut changed = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry of the corpus").path();
        if path.extension().is_none_or(|ending| ending != "sir") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, _) = text::parse_file(&text).expect("a file of the corpus");
        for program in module.programs {
            let program = optimize(&program);
            let newest = Machine { multiplies: false, ..Machine::cuda_of(90) };
            let [usual, more] = [Machine::cuda(), newest].map(|machine| lower(&program, &machine));
            if usual == more {
                continue;
            }
            changed += 1;
            assert!(temporaries(&usual) > temporaries(&more), "{}: {}", path.display(), program.name);
            assert!(more.kernels.iter().any(|kernel| shared_bytes(kernel) > Machine::cuda().shared_bytes));
        }
    }
    println!("{changed} programs have scratch of more than 48 KB");
}

#[test]
fn launches_ask_for_what_files_cannot_declare() {
    let nvidia = cuda(Vendor::Nvidia);
    let (text, description) = cuda::emit(&reversed(12_000), &nvidia).expect("CUDA can say it");
    assert_eq!(cuda::asked_shared_bytes(&description), 0);
    assert!(text.contains("__shared__ float tile[12000];") && !text.contains("extern __shared__"), "{text}");

    let (text, description) = cuda::emit(&reversed(20_000), &nvidia).expect("CUDA can say it");
    // What comes behind begins where wide accesses may.
    assert_eq!(cuda::asked_shared_bytes(&description), 16 + 80_000);
    let lines = [
        "    extern __shared__ __align__(16) unsigned char shared_memory[];",
        "    unsigned char* const small = (unsigned char*)shared_memory;",
        "    float* const tile = (float*)(shared_memory + 16);",
    ];
    assert!(text.contains(&lines.join("\n")), "{text}");

    let most = |elements: u64, vendor: Vendor| match cuda::emit(&reversed(elements), &cuda(vendor)) {
        Err(EmitError::SharedMemory { limit, .. }) => Some(limit),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    };
    assert_eq!(most(58_000, Vendor::Nvidia), None);
    assert_eq!(most(60_000, Vendor::Nvidia), Some(227 << 10));
    assert_eq!(most(20_000, Vendor::Amd { wide_waves: true }), Some(48 << 10));
}

#[test]
fn hosts_ask_for_it() {
    let text = "kernel mirror<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, x_len, y_len>()
      grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
        global read x: f32[x_len]  global readwrite y: f32[y_len]  shared tile: f32[20000]
        %t: i64 = local.x  %seven: i64 = const 7  %l: i64 = sub %seven, %t
        %v: f32 = load x[%t]  store tile[%t], %v
        barrier block
        %w: f32 = load tile[%l]  store y[%t], %w
      }";
    let kernel = text::parse_kernel(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let template = Template { kernel, constants: vec![] };
    let hands = [HandKernel { template: &template, block: [8, 1, 1], params: vec![], launches: vec![] }];
    let project = |target| harness::project_kernels(&hands, target, &KernelRoad::to, &Options::default());
    let emitted = project(Target::Cuda).unwrap_or_else(|error| panic!("{error}"));
    let file = |name: &str| emitted.files.iter().find(|file| file.name == name).and_then(|file| file.as_text());
    let host = file("slyz_mirror.cu").expect("the host");
    for part in [
        "host_kernel((const void *)mirror_kernel, 80000)",
        "cudaFuncSetAttribute(kernel.code, most,",
        "struct host_kernel {",
    ] {
        assert!(host.contains(part), "{part}\n{host}");
    }
    let told = project(Target::Hip).map(drop).map_err(|error| error.to_string());
    assert!(told.clone().is_err_and(|told| told.contains("80000 bytes of shared memory, HIP has 49152")), "{told:?}");
}
