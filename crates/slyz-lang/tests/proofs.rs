//! Kernels as people write them: with the sizes of a launch known, all accesses are seen to be inside, from the text on.

use slyz_lang::check::{Dialect, check};
use slyz_lang::lower::lower;
use slyz_lang::parse::parse;
use slyz_lang::typed::FunctionId;
use slyz_sir::launch::Template;
use slyz_sir::pass::bounds::{self, Facts};
use slyz_sir::types::{Scalar, Ty};

fn template(text: &str, name: &str) -> Template {
    let (file, errors) = parse(text);
    assert!(errors.is_empty(), "{errors:?}");
    let checked = check(&file, Dialect::Vex);
    let functions = &checked.program.functions;
    let at = functions.iter().position(|f| f.name == name);
    let at = at.unwrap_or_else(|| panic!("no `{name}`: {:?}", checked.diagnostics));
    lower(&checked.program, FunctionId(at as u32)).expect("a kernel of some size")
}

/// The checks that are left at a launch.
fn left(template: &Template, grid: [u64; 3], block: [u32; 3], extents: &[u64], scalars: &[i32]) -> Vec<String> {
    let kernel = template.shaped(block, false, false);
    let threads = [0, 1, 2].map(|d| grid[d] * u64::from(block[d]));
    let sizes = [&grid[..], &threads, extents].concat();
    assert_eq!(sizes.len(), kernel.sizes.len(), "{kernel}");
    let scalars: Vec<Scalar> = scalars.iter().map(|&n| Scalar::from_int(Ty::I32, n.into())).collect();
    let facts = Facts::exact(&sizes, &scalars);
    let text = bounds::run(kernel.clone(), &facts).to_string();
    let left: Vec<String> =
        text.split("check ").skip(1).map(|rest| rest[..rest.find('[').unwrap()].to_string()).collect();
    assert_eq!(left.is_empty(), bounds::proves(&kernel, &facts));
    left
}

fn page(file: &str, name: &str) -> Template {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page").join(file);
    template(&std::fs::read_to_string(path).expect("a file of the page"), name)
}

const NONE: [&str; 0] = [];

#[test]
fn the_page() {
    let line = [4, 1, 1];
    assert_eq!(left(&page("vectorAdd.vex", "vectorAdd"), line, [256, 1, 1], &[1000; 3], &[]), NONE);
    assert_eq!(left(&page("vectorAdd.vex", "vectorAdd"), line, [256, 1, 1], &[999, 1000, 1000], &[]), ["a"]);
    assert_eq!(left(&page("compute.vex", "compute"), line, [256, 1, 1], &[1000; 3], &[]), NONE);
    assert_eq!(left(&page("relu.vex", "relu"), line, [256, 1, 1], &[1000; 2], &[]), NONE);
    assert_eq!(left(&page("withConstantMem.vex", "withConstantMem"), line, [256, 1, 1], &[1000; 2], &[]), NONE);
    let sizes = |m: u64, n: u64, k: u64| [m * k, k * n, m * n];
    let matmul = page("matmulKernel.vex", "matmulKernel");
    assert_eq!(left(&matmul, [3, 3, 1], [16, 16, 1], &sizes(33, 40, 7), &[33, 40, 7]), NONE);
    let tiled = page("tiledMatmul.vex", "tiledMatmul");
    assert_eq!(left(&tiled, [4, 2, 1], [16, 16, 1], &sizes(32, 64, 48), &[32, 64, 48]), NONE);
    assert_eq!(left(&tiled, [4, 3, 1], [16, 16, 1], &sizes(32, 64, 48), &[32, 64, 48]), ["A"]);
}

#[test]
fn saxpy_with_an_early_return() {
    let text = "graph fn saxpy(a: f32, x: Tensor<f32>, y: Tensor<f32>!) {
        let i = thread.x
        if i >= y.len() { return }
        y[i] = a * x[i] + y[i]
    }";
    assert_eq!(left(&template(text, "saxpy"), [4, 1, 1], [64, 1, 1], &[200, 200], &[0]), NONE);
}

#[test]
fn stencils_and_planes() {
    let blur = "graph fn blur(a: Tensor<f32, 2>, out: Tensor<f32, 2>!) {
        let y = thread.y
        let x = thread.x
        if y > 0 && y < a.dim(0) - 1 && x > 0 && x < a.dim(1) - 1 {
            let! sum = 0.0f32
            for dy in -1..=1 { for dx in -1..2 { sum += a[y + dy, x + dx] } }
            out[y, x] = sum / 9.0
        }
    }";
    assert_eq!(left(&template(blur, "blur"), [3, 3, 1], [16, 16, 1], &[40, 33, 40, 33], &[]), NONE);
    assert_eq!(left(&template(blur, "blur"), [3, 3, 1], [16, 16, 1], &[40, 33, 39, 33], &[]), NONE);
    assert_eq!(left(&template(blur, "blur"), [3, 3, 1], [16, 16, 1], &[40, 33, 38, 33], &[]), ["out"]);
    let flat = "graph fn heat(u: Tensor<f32>, out: Tensor<f32>!, w: i32, h: i32) {
        let i = thread.x
        if i < out.len() {
            let x = i % w
            let y = i / w
            let left = if x > 0 { u[y * w + x - 1] } else { 0.0f32 }
            let right = if x + 1 < w { u[i + 1] } else { 0.0f32 }
            let up = if y > 0 { u[(y - 1) * w + x] } else { 0.0f32 }
            let down = if y < h - 1 { u[i + w] } else { 0.0f32 }
            out[y * w + x] = left + right + up + down
        }
    }";
    let open = left(&template(flat, "heat"), [7, 1, 1], [64, 1, 1], &[400, 400], &[20, 20]);
    assert_eq!(open, NONE);
}

#[test]
fn loops_that_stride_halve_and_end_early() {
    let stride = "graph fn fill(out: Tensor<f32>!, n: i32) {
        let step = gridDim.x * blockDim.x
        for i in (block.x * blockDim.x + thread.x)..n step step { out[i] = 1.0 }
    }";
    assert_eq!(left(&template(stride, "fill"), [4, 1, 1], [64, 1, 1], &[1000], &[1000]), NONE);
    let sum = "graph fn sum(a: Tensor<f32>, out: Tensor<f32>!) {
        threadgroup let! part: [f32; 256]
        let t = local.x
        let! s = 0.0f32
        let! i = block.x * blockDim.x + t
        while i < a.len() { s += a[i]; i += gridDim.x * blockDim.x }
        part[t] = s
        threadgroup.barrier()
        let! half = 128
        while half > 0 {
            if t < half { part[t] += part[t + half] }
            threadgroup.barrier()
            half = half / 2
        }
        if t == 0 { out[block.x] = part[0] }
    }";
    assert_eq!(left(&template(sum, "sum"), [9, 1, 1], [256, 1, 1], &[100_000, 9], &[]), NONE);
    let find = "graph fn find(a: Tensor<f32, 2>, out: Tensor<i32>!) {
        let row = thread.x
        if row >= a.dim(0) { return }
        for k in 0..a.dim(1) {
            if a[row, k] > 0.5 { out[row] = k as i32; break }
            if a[row, k] < 0.0 { continue }
        }
    }";
    assert_eq!(left(&template(find, "find"), [2, 1, 1], [64, 1, 1], &[100, 7, 100], &[]), NONE);
    let keep = "graph fn keep(a: Tensor<f32>, out: Tensor<f32>!) {
        if global.x != 0 { return }
        let! n = 0
        for k in 0..a.len() {
            if a[k] > 0.0 { out[n] = a[k]; n += 1 }
        }
    }";
    assert_eq!(left(&template(keep, "keep"), [1, 1, 1], [1, 1, 1], &[77, 77], &[]), NONE);
    assert_eq!(left(&template(keep, "keep"), [1, 1, 1], [1, 1, 1], &[77, 76], &[]), ["out"]);
}

#[test]
fn gathers_stay_checked() {
    let text = "graph fn gather(x: Tensor<f32>, index: Tensor<i32>, out: Tensor<f32>!) {
        let i = thread.x
        if i < out.len() { out[i] = x[index[i]] }
    }";
    assert_eq!(left(&template(text, "gather"), [2, 1, 1], [64, 1, 1], &[9, 100, 100], &[]), ["x"]);
    // Unless somebody looks at what came.
    let text = "graph fn histogram(data: Tensor<u8>, bins: Tensor<i32>!) {
        let i = thread.x
        if i < data.len() { atomic.add(bins[data[i] as i64], 1) }
    }";
    assert_eq!(left(&template(text, "histogram"), [2, 1, 1], [64, 1, 1], &[100, 256], &[]), NONE);
}

#[test]
fn positions_by_helpers() {
    let text = "fn at(row: i64, col: i64, w: i64): i64 { return row * w + col }
    fn folded(i: i64, n: i64): i64 { if i < 0 { return 0 }; if i >= n { return n - 1 }; return i }
    graph fn fill(a: Tensor<f32>, out: Tensor<f32>!, w: i32, h: i32) {
        let x = thread.x
        let y = thread.y
        if y < h && x < w { out[at(y, x, w)] = a[at(y, folded(x - 3, w), w)] }
    }";
    let kernel = template(text, "fill");
    assert!(!kernel.kernel.functions.is_empty(), "{}", kernel.kernel);
    assert_eq!(left(&kernel, [2, 2, 1], [16, 16, 1], &[600, 600], &[20, 30]), NONE);
    assert_eq!(left(&kernel, [2, 2, 1], [16, 16, 1], &[600, 599], &[20, 30]), ["out"]);
}
