//! Kernels that people write: templates, their shapes, and faults told by code as the interpreter tells them.

use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{KernelError, LaunchOptions, launch};
use slyz_sir::kernel::Kernel;
use slyz_sir::launch::{Fault, Template};
use slyz_sir::pass::{optimize_kernel, report};
use slyz_sir::text::parse_kernel;
use slyz_sir::threads::{Field, Nature, Threads};
use slyz_sir::types::{Scalar, Ty};
use slyz_sir::verify;

/// A template with these memories and this code; sizes of memories are `n` and `m`.
fn template(params: &str, memories: &str, code: &str) -> Template {
    let text = format!(
        "kernel k<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, n, m>({params})
           grid [grid_x, grid_y, grid_z] block [1, 1, 1] {{ {memories} {code} }}"
    );
    let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(verify::kernel(&kernel), Ok(()), "{text}");
    Template { kernel, constants: vec![] }
}

fn ints(len: u64) -> Array {
    Array { ty: Ty::I32, shape: vec![len], data: (0..len).collect() }
}

/// Runs it with checks, and again with code in their place; both must do and tell the same.
fn run(kernel: &Kernel, sizes: &[u64], memories: &mut Vec<Array>, scalars: &[Scalar]) -> Option<Fault> {
    let mut told = memories.clone();
    let found = match launch(kernel, sizes, memories, scalars, &LaunchOptions::default()) {
        Ok(()) => None,
        Err(KernelError::Fault(fault)) => Some(*fault),
        Err(error) => panic!("{error}\n{kernel}"),
    };
    for optimise in [false, true] {
        let reporting = report::run(kernel.clone());
        assert_eq!(verify::kernel(&reporting), Ok(()), "{reporting}");
        assert!(!report::has_checks(&reporting));
        let reporting = if optimise { optimize_kernel(reporting) } else { reporting };
        let mut bound = std::mem::take(&mut told);
        let before = bound.clone();
        bound.push(Array { ty: Ty::I32, shape: vec![16], data: vec![0; 16] });
        launch(&reporting, sizes, &mut bound, scalars, &LaunchOptions::default())
            .unwrap_or_else(|error| panic!("{error}\n{reporting}"));
        let words = bound.pop().unwrap().data;
        let words: [i32; report::WORDS] = std::array::from_fn(|k| words[k] as i32);
        assert_eq!(report::fault(&words, &reporting, sizes), found, "{reporting}");
        assert_eq!(&bound, memories, "{reporting}");
        told = before;
    }
    found
}

const DOUBLE: &str = "%i: i64 = global.x
  %ok: bool = check a[%i]
  %x: i32 = if %ok { %v: i32 = load a[%i]  yield %v } else { %z: i32 = const 0  yield %z }
  %ok2: bool = check out[%i]
  if %ok2 { %y: i32 = add %x, %x  store out[%i], %y } else {}";

#[test]
fn a_fault_is_told_by_code_as_by_the_interpreter() {
    let kernel = template("", "global read a: i32[n] global readwrite out: i32[m]", DOUBLE);
    let kernel = kernel.shaped([4, 1, 1], true, false);
    let mut fine = vec![ints(7), ints(7)];
    assert_eq!(run(&kernel, &[2, 1, 1, 7, 1, 1, 7, 7], &mut fine, &[]), None);
    assert_eq!(fine[1].data, [0, 2, 4, 6, 8, 10, 12]);
    let fault = run(&kernel, &[2, 1, 1, 7, 1, 1, 5, 7], &mut vec![ints(5), ints(7)], &[]).expect("a fault");
    assert_eq!(
        fault.to_string().split(". ").next().unwrap(),
        "kernel `k`: `a[5]` is out of bounds in thread (5, 0, 0): its shape is [5]"
    );
    // Nothing is written past the end; everything else is.
    let mut short = vec![ints(7), ints(3)];
    let fault = run(&kernel, &[2, 1, 1, 7, 1, 1, 7, 3], &mut short, &[]).expect("a fault");
    assert_eq!((fault.memory.as_str(), fault.index, fault.thread), ("out", vec![3], [3, 0, 0]));
    assert_eq!(short[1].data, [0, 2, 4]);
}

#[test]
fn an_index_is_told_whole() {
    let plane = || Array { shape: vec![2, 3], ..ints(6) };
    let code = "%zero: i64 = const 0  %ok: bool = check out[%zero, %j]  if %ok { %v: i32 = const 1  store out[%zero, %j], %v } else {}";
    let kernel = template("%j: i64", "global readwrite out: i32[n, m]", code).shaped([1, 1, 1], true, false);
    for j in [-1, 3, i64::MIN, i64::MAX, 1 << 32, -(1 << 32), (1 << 31) - 1, 1 << 31, -(1 << 31), -(1 << 31) - 1] {
        let sizes = [1, 1, 1, 1, 1, 1, 2, 3];
        let fault = run(&kernel, &sizes, &mut vec![plane()], &[Scalar::i64(j)]).expect("a fault");
        assert_eq!((fault.index, fault.shape), (vec![0, j], vec![2, 3]));
    }
    assert_eq!(run(&kernel, &[1, 1, 1, 1, 1, 1, 2, 3], &mut vec![plane()], &[Scalar::i64(2)]), None);
}

#[test]
fn blocks_folded_over_y_reach_every_thread_once() {
    let code = "%i: i64 = global.x  %one: i32 = const 1  %ok: bool = check out[%i]  if %ok { %old: i32 = atomic add out[%i], %one } else {}";
    let template = template("", "global readwrite out: i32[n]", code);
    assert!(template.folds());
    let kernel = template.shaped([4, 1, 1], true, true);
    assert_eq!(verify::kernel(&kernel), Ok(()), "{kernel}");
    for (threads, grid) in [(23, [3, 2]), (23, [2, 4]), (1, [1, 1]), (24, [6, 1]), (0, [2, 2])] {
        let mut out = vec![Array { ty: Ty::I32, shape: vec![threads], data: vec![0; threads as usize] }];
        assert_eq!(run(&kernel, &[grid[0], grid[1], 1, threads, 1, 1, threads, 0], &mut out, &[]), None);
        assert!(out[0].data.iter().all(|&n| n == 1), "{threads} threads in {grid:?}: {:?}", out[0].data);
    }
}

#[test]
fn what_templates_say_of_themselves() {
    let memory = "global readwrite out: i64[n, m]";
    let plain = template("", memory, "%y: i64 = global.y  %x: i64 = global.x  store out[%y, %x], %x");
    assert_eq!((plain.meets(), plain.sees_blocks(), plain.axes(), plain.folds()), (false, false, 2, false));
    let local = template("", memory, "%b: i64 = block.x");
    assert_eq!((local.meets(), local.sees_blocks(), local.axes(), local.folds()), (false, true, 1, false));
    let waits = template("", memory, "barrier block");
    assert_eq!((waits.meets(), waits.sees_blocks(), waits.axes(), waits.folds()), (true, false, 0, false));
    // Threads that meet come in whole blocks.
    assert!(!waits.shaped([4, 1, 1], true, true).to_string().contains("threads_x\n"));
    let shared = template("", "shared s: f32[4]", "%x: i64 = global.x");
    assert!(shared.sees_blocks());
    // An axis that is not read has threads, too.
    let guarded = plain.shaped([2, 2, 2], true, false).to_string();
    assert!(["extent threads_x", "extent threads_y", "extent threads_z"].iter().all(|t| guarded.contains(t)));
    assert!(!plain.shaped([2, 2, 2], false, false).to_string().contains("extent"));
}

#[test]
fn what_a_kernel_asks_of_its_threads() {
    let plane = "global readwrite out: i32[n, m]";
    let nature = |code: &str| template("", plane, code).nature();
    assert_eq!(nature(""), Nature { axes: 0, free: true });
    assert_eq!(nature("%x: i64 = global.x"), Nature { axes: 1, free: true });
    assert_eq!(nature("%y: i64 = global.y"), Nature { axes: 2, free: true });
    assert_eq!(nature("%x: i64 = local.x"), Nature { axes: 1, free: false });
    let deep = nature("%z: i64 = global.z");
    let deep = Field::new("k", deep, Threads::Inferred, Some(("out", &[7, 9]))).unwrap_err().to_string();
    assert_eq!(
        deep,
        "kernel `k` reads x, y and z of its thread, but `out` has 2 axes; say `threads: (X, Y, Z)` at the launch"
    );
}

#[test]
fn reports_are_code_for_metal() {
    let kernel =
        template("", "global read a: i32[n] global readwrite out: i32[m]", DOUBLE).shaped([64, 1, 1], true, false);
    let reporting = optimize_kernel(report::run(kernel));
    let (text, _) = slyz_sir::back::msl::emit(&[&reporting], &Default::default()).expect("MSL");
    assert!(text.contains("atomic_compare_exchange"), "{text}");
}
