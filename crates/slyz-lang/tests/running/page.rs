//! The programs of the page that describes `graph fn`, verbatim and with what they need around them, and their results.

use crate::program::{run, run_on};
use crate::watched::Watched;
use slyz_sir::interp::Array;
use slyz_sir::types::Ty;

#[track_caller]
fn prints(text: &str, expected: &str) {
    let ran = run(text);
    assert_eq!(ran.diagnostics, [], "{text}");
    assert_eq!(ran.printed, expected);
}

#[test]
fn vector_add_with_its_main() {
    let mut machine = Watched::default();
    let ran = run_on(include_str!("../page/vectorAdd.vex"), &mut machine);
    assert_eq!(ran.diagnostics, []);
    let three = u64::from(3.0f32.to_bits());
    assert_eq!(machine.written, [Array { ty: Ty::F32, shape: vec![1024], data: vec![three; 1024] }]);
}

/// A with the elements 0, 1, 2, .., B with 0, 1, -1, 0, ..; and the product by the host.
const MATRICES: &str = "
    let! A = Tensor.zeros<f32>(M * K)
    for i in 0..M * K { A[i] = i as f32 }
    let! B = Tensor.zeros<f32>(K * N)
    for i in 0..K * N { B[i] = (i % 3 - 1) as f32 }
    let! C = Tensor.zeros<f32>(M, N)
";
const COMPARED: &str = "
    let! wrong = 0
    for i in 0..M { for j in 0..N {
        let! sum = 0.0f32
        for k in 0..K { sum = A[i * K + k] *+ B[k * N + j] + sum }
        if C[i, j] != sum { wrong += 1 }
    } }
    print(\"wrong:\", wrong, \"last:\", C[M - 1, N - 1])
";

#[test]
fn matmul() {
    let page = include_str!("../page/matmulKernel.vex");
    let sizes = "let M: i32 = 5\nlet N: i32 = 7\nlet K: i32 = 6";
    let launch = "launch matmulKernel(A, B, &!C, M, N, K) with threads: (N, M)";
    prints(&[page, sizes, MATRICES, launch, COMPARED].join("\n"), "wrong: 0 last: 4.0\n");
    let launch = "launch matmulKernel(A, B, &!C, M, N, K) with grid: (1, 1), block: (16, 16)";
    prints(&[page, sizes, MATRICES, launch, COMPARED].join("\n"), "wrong: 0 last: 4.0\n");
}

#[test]
fn tiled_matmul() {
    let page = include_str!("../page/tiledMatmul.vex");
    let sizes = "let M: i32 = 32\nlet N: i32 = 48\nlet K: i32 = 32";
    let launch = "launch tiledMatmul(A, B, &!C, M, N, K) with grid: (N / 16, M / 16), block: (16, 16)";
    let ran = run(&[page, sizes, MATRICES, launch, COMPARED].join("\n"));
    assert_eq!(ran.diagnostics, []);
    assert!(ran.printed.starts_with("wrong: 0 "), "{}", ran.printed);
}

#[test]
fn constant_memory() {
    let page = include_str!("../page/withConstantMem.vex");
    let caller = "let! r = Tensor.zeros<f32>(3)\nwithConstantMem(Tensor.from([1.0, -2.0, 0.5]), &!r)\nprint(r)";
    prints(&[page, caller].join("\n"), "[2.0, -4.0, 1.0]\n");
}

#[test]
fn compute_and_its_caller() {
    let before = "let a = Tensor.filled(1.5f32, 1024)\nlet b = Tensor.filled(2.0f32, 1024)";
    let page = include_str!("../page/compute.vex");
    prints(&[before, page, "print(output.sum(), output[1023])"].join("\n"), "3584.0 3.5\n");
}

#[test]
fn relu_and_its_caller() {
    let page = include_str!("../page/relu.vex");
    prints(&[page, "print(applyRelu(Tensor.from([1.0, -2.0, 0.0, 3.5])))"].join("\n"), "[1.0, 0.0, 0.0, 3.5]\n");
}

#[test]
fn two_dimensional_launch() {
    let before = "
        graph fn myKernel(a: Tensor<i32>, b: Tensor<i32>, c: Tensor<i32, 2>!) {
            let i = global.y
            let j = global.x
            c[i, j] = a[i] + b[j]
        }
        let! a = Tensor.zeros<i32>(1024)
        let! b = Tensor.zeros<i32>(1024)
        for i in 0..1024 { a[i] = (i * 10000) as i32; b[i] = i as i32 }
        let! c = Tensor.zeros<i32>(1024, 1024)";
    let page = include_str!("../page/launch2d.vex");
    prints(&[before, page, "print(c[3, 5], c[1023, 1023])"].join("\n"), "30005 10231023\n");
}

#[test]
fn fused_multiply_add() {
    prints("let a = 3.0\nlet b = 4.0\nlet c = 0.5\nprint(a *+ b + c)", "12.5\n");
    // One rounding: the product of these is not an f32.
    let text = "
        graph fn f(x: Tensor<f32>!) { x[thread.x] = x[thread.x] *+ x[thread.x] + -1.0 }
        let! x = Tensor.filled(1.0001f32, 1)
        f(&!x)
        print(x[0] == 1.0001f32 *+ 1.0001f32 - 1.0, x[0] == 1.0001f32 * 1.0001f32 - 1.0)";
    prints(text, "true false\n");
}
