//! Programs from text, run by the interpreter and compared with the same written in plain Rust.

use crate::from_text::program;
use crate::reference::{Outside, Store};
use crate::run::{launched, lowered};
use slyz_lang::typed::{FunctionId, Program};
use slyz_sir::launch::Template;
use slyz_sir::pass::weave::{self, Blocking};
use slyz_sir::types::{Scalar, Ty};

/// A tensor of whole numbers.
fn tensor(name: &str, ty: Ty, shape: &[u64], value: impl Fn(i64) -> i64) -> Store {
    let count: u64 = shape.iter().product();
    let data = (0..count as i64).map(|k| Scalar::from_int(ty, value(k).into())).collect();
    Store { name: name.into(), ty, shape: shape.to_vec(), data }
}

fn numbers(store: &Store) -> Vec<f64> {
    store.data.iter().map(|x| x.as_f64()).collect()
}

struct Launch {
    program: Program,
    kernel: FunctionId,
}

impl Launch {
    fn of(text: &str, kernel: &str) -> Launch {
        let program = program("test.vex", text);
        let at = program.functions.iter().position(|function| function.name == kernel).unwrap();
        Launch { program, kernel: FunctionId(at as u32) }
    }

    /// Runs blocks; gives the last tensor and the first access outside.
    fn run(&self, shape: ([u64; 3], [u32; 3]), tensors: Vec<Store>, scalars: &[i64]) -> (Vec<f64>, Option<Outside>) {
        self.run_template(&lowered(&self.program, self.kernel), shape, tensors, scalars)
    }

    /// The same as CPUs do it.
    fn run_woven(
        &self,
        (grid, block): ([u64; 3], [u32; 3]),
        tensors: Vec<Store>,
        scalars: &[i64],
    ) -> (Vec<f64>, Option<Outside>) {
        let Template { kernel, constants } = lowered(&self.program, self.kernel);
        let kernel = weave::run(&kernel, Blocking::Blocks(block), 4).unwrap();
        self.run_template(&Template { kernel, constants }, (grid, [1; 3]), tensors, scalars)
    }

    fn run_template(
        &self,
        template: &Template,
        (grid, block): ([u64; 3], [u32; 3]),
        mut tensors: Vec<Store>,
        scalars: &[i64],
    ) -> (Vec<f64>, Option<Outside>) {
        let types = template.kernel.body.params.iter().map(|param| param.ty.elem());
        let scalars: Vec<Scalar> = types.zip(scalars).map(|(ty, &x)| Scalar::from_int(ty, x.into())).collect();
        let outside = launched(template, (grid, block), &mut tensors, &scalars);
        (numbers(tensors.last().unwrap()), outside)
    }
}

fn threads(count: u64) -> ([u64; 3], [u32; 3]) {
    ([count, 1, 1], [1; 3])
}

const EXITS: &str = include_str!("../lower/exits.vex");
const CALLS: &str = include_str!("../lower/calls.vex");
const VALUES: &str = include_str!("../lower/values.vex");
const ARRAYS: &str = include_str!("../lower/arrays.vex");

#[test]
fn loops_that_are_left() {
    let x = |f: fn(i64) -> i64| tensor("x", Ty::I32, &[10], f);
    let out = |ty| tensor("out", ty, &[1], |_| 100);
    let found = Launch::of(EXITS, "find").run(threads(1), vec![x(|k| k * k % 7), out(Ty::I64)], &[2]);
    assert_eq!(found, (vec![3.0], None));
    let found = Launch::of(EXITS, "find").run(threads(1), vec![x(|k| k * k % 7), out(Ty::I64)], &[5]);
    assert_eq!(found, (vec![-1.0], None));
    let found = Launch::of(EXITS, "skip").run(threads(1), vec![x(|k| k - 3), out(Ty::I32)], &[]);
    assert_eq!(found, (vec![21.0], None));
}

#[test]
fn loops_in_loops_that_are_left() {
    // Rows of 4, every second element: a 1 ends the row, a 0 ends all.
    let cases: [([i64; 12], f64); 3] = [
        ([2, 9, 3, 9, 1, 9, 8, 9, 4, 9, 0, 9], 2.0 + 3.0 + 4.0),
        ([2, 9, 3, 9, 1, 9, 0, 9, 4, 9, 5, 9], -1.0),
        ([0; 12], 0.0),
    ];
    for (x, expected) in cases {
        let mut x_tensor = tensor("x", Ty::I32, &[3, 4], |_| 0);
        x_tensor.data = x.iter().map(|&x| Scalar::from_int(Ty::I32, x.into())).collect();
        let out = tensor("out", Ty::I32, &[1], |_| 0);
        assert_eq!(Launch::of(EXITS, "inner").run(threads(1), vec![x_tensor, out], &[]), (vec![expected], None));
    }
}

#[test]
fn a_loop_without_condition() {
    let steps = |mut n: i64| {
        let mut steps = 0;
        while n > 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps as f64
    };
    let tensors = vec![tensor("x", Ty::I64, &[30], |k| k), tensor("out", Ty::I64, &[30], |_| 0)];
    let expected: Vec<f64> = (0..30).map(steps).collect();
    // More threads than elements, in blocks whose threads leave their loops at different times.
    let found = Launch::of(EXITS, "collatz").run(([5, 1, 1], [8, 1, 1]), tensors, &[]);
    assert_eq!(found, (expected, None));
}

#[test]
fn guards_and_faults() {
    let tensors = || vec![tensor("x", Ty::I32, &[4], |k| 8 * k), tensor("out", Ty::I32, &[6], |_| -7)];
    let (out, outside) = Launch::of(EXITS, "mixed").run(threads(4), tensors(), &[]);
    assert_eq!((out, outside), (vec![0.0, 8.0, 10.0, -7.0, -7.0, -7.0], None));
    let (out, outside) = Launch::of(EXITS, "mixed").run(threads(7), tensors(), &[]);
    // An element outside reads as zero; a store outside does nothing.
    assert_eq!(out, [0.0, 8.0, 10.0, -7.0, 0.0, 0.0]);
    assert_eq!(outside, Some(("x".into(), vec![4])));
    let tensors = || vec![tensor("x", Ty::I32, &[2], |_| 1), tensor("out", Ty::I32, &[4], |_| 0)];
    // `n` says 4, but `x` has 2: the third thread asks for x[2] in its condition.
    let (out, outside) = Launch::of(VALUES, "short").run(threads(4), tensors(), &[4]);
    assert_eq!((out, outside), (vec![0.0, 1.0, 1.0, 0.0], Some(("x".into(), vec![2]))));
    let (out, outside) = Launch::of(VALUES, "short").run(threads(4), tensors(), &[1]);
    assert_eq!((out, outside), (vec![0.0; 4], None));
}

#[test]
fn calls() {
    let x = || tensor("x", Ty::F32, &[5], |k| k * k);
    let y = tensor("y", Ty::F32, &[2], |_| 1);
    let out = tensor("out", Ty::I64, &[2], |_| 7);
    assert_eq!(Launch::of(CALLS, "twice").run(threads(3), vec![x(), y, out], &[3]), (vec![2.0, -1.0], None));
    let out = tensor("out", Ty::I64, &[5], |_| 7);
    // mine = [1, x, 3]: x = 0, 1, 4, 9, 16.
    let expected = vec![2.0, 2.0, 1.0, 1.0, 1.0];
    assert_eq!(Launch::of(CALLS, "onArray").run(threads(5), vec![x(), out], &[]), (expected, None));
    let out = tensor("out", Ty::F32, &[5], |_| 7);
    let expected = vec![0.0, 2.0, 2.0, 2.0, 2.0];
    assert_eq!(Launch::of(CALLS, "pure").run(threads(5), vec![x(), out], &[]), (expected, None));
}

#[test]
fn arrays_of_all_homes() {
    let tensors = vec![tensor("x", Ty::F32, &[6], |k| 4 * k * k), tensor("out", Ty::F32, &[6], |_| 0)];
    let x = |k: i64| if (0..6).contains(&k) { (4 * k * k) as f64 } else { 0.0 };
    let expected: Vec<f64> = (0..6).map(|k| 0.25 * x(k - 1) + 0.5 * x(k) + 0.25 * x(k + 1)).collect();
    assert_eq!(Launch::of(ARRAYS, "constants").run(threads(6), tensors, &[]), (expected, None));
    let tensors = vec![tensor("x", Ty::I32, &[9], |k| k * 3), tensor("out", Ty::I32, &[1], |_| 0)];
    let threes = (0..9).filter(|k| k * 3 % 8 == 3).count() as f64;
    assert_eq!(Launch::of(ARRAYS, "locals").run(threads(1), tensors, &[]), (vec![threes + 2.0], None));
    let tensors = vec![tensor("x", Ty::F32, &[128], |k| k), tensor("out", Ty::F32, &[2], |_| 0)];
    let sums = vec![(0..64).sum::<i64>() as f64, (64..128).sum::<i64>() as f64];
    assert_eq!(Launch::of(ARRAYS, "blockSum").run(([2, 1, 1], [64, 1, 1]), tensors, &[]), (sums, None));
}

fn product(m: i64, n: i64, k: i64) -> (Vec<Store>, Vec<f64>) {
    let a = |i: i64| i % 7 - 3;
    let b = |i: i64| i % 5 - 2;
    let at = |row: i64, col: i64| (0..k).map(|x| a(row * k + x) * b(x * n + col)).sum::<i64>() as f64;
    let expected = (0..m * n).map(|i| at(i / n, i % n)).collect();
    let tensors = vec![
        tensor("A", Ty::F32, &[(m * k) as u64], a),
        tensor("B", Ty::F32, &[(k * n) as u64], b),
        tensor("C", Ty::F32, &[(m * n) as u64], |_| 9),
    ];
    (tensors, expected)
}

#[test]
fn products_of_the_page() {
    let plain = Launch::of(include_str!("../page/matmulKernel.vex"), "matmulKernel");
    let (tensors, expected) = product(3, 5, 4);
    assert_eq!(plain.run(([2, 2, 1], [4, 4, 1]), tensors, &[3, 5, 4]), (expected, None));
    let tiled = Launch::of(include_str!("../page/tiledMatmul.vex"), "tiledMatmul");
    let (tensors, expected) = product(32, 16, 48);
    assert_eq!(tiled.run(([1, 2, 1], [16, 16, 1]), tensors, &[32, 16, 48]), (expected, None));
    // A matrix that is smaller than said: faults, but no harm.
    let (mut tensors, _) = product(16, 16, 16);
    tensors[0].data.truncate(200);
    let (_, outside) = tiled.run(([1, 1, 1], [16, 16, 1]), tensors, &[16, 16, 16]);
    assert_eq!(outside.map(|outside| outside.0), Some("A".into()));
}

/// What `steps` does, for one block.
fn steps(x: &[i64], limit: i64) -> Option<Vec<i64>> {
    if limit < 0 {
        return None;
    }
    let mut work = x.to_vec();
    for k in (0..4).take_while(|&k| k != limit) {
        work = (0..8).map(|t| work[(t + 1) % 8] + k).collect();
    }
    for turns in (1..=limit).filter(|&turns| turns != 2) {
        let old = work.clone();
        (0..4).for_each(|t| work[t] = old[7 - t] - 1);
        if turns > 3 {
            return None;
        }
    }
    Some(work)
}

#[test]
fn meetings() {
    let text = include_str!("../lower/meetings.vex");
    let tensors = || vec![tensor("x", Ty::I32, &[16], |k| 3 * k % 11), tensor("out", Ty::I32, &[16], |_| -1)];
    let x: Vec<i64> = (0..16).map(|k| 3 * k % 11).collect();
    let blocks = ([2, 1, 1], [8, 1, 1]);
    let launch = Launch::of(text, "steps");
    for limit in -1..6 {
        let both: Option<Vec<i64>> =
            Some([steps(&x[..8], limit), steps(&x[8..], limit)].into_iter().flatten().flatten().collect());
        let expected = both.filter(|both| both.len() == 16).unwrap_or(vec![-1; 16]);
        let expected: Vec<f64> = expected.into_iter().map(|x| x as f64).collect();
        assert_eq!(launch.run(blocks, tensors(), &[limit]), (expected.clone(), None), "{limit}");
        assert_eq!(launch.run_woven(blocks, tensors(), &[limit]), (expected, None), "{limit}");
    }
    let launch = Launch::of(text, "called");
    let expected: Vec<f64> = (0..16)
        .map(|i| {
            let at = |by: usize| x[i / 8 * 8 + (i + by) % 8];
            (100 * at(1) + at(3)) as f64
        })
        .collect();
    assert_eq!(launch.run(blocks, tensors(), &[]), (expected.clone(), None));
    assert_eq!(launch.run_woven(blocks, tensors(), &[]), (expected, None));
}
