//! Generated text as a reader sees it: goldens of programs and of kernels by hand in C, WGSL, Metal and CUDA, and sharing in Black-Scholes.
//!
//! `BLESS=1` rewrites the goldens. They hold the kernels only; the prelude in front of them is tested by itself.

use slyz::Checks;
use slyz::prelude::*;
use slyz_sir::back::harness::{self, Explicit};
use slyz_sir::road::KernelRoad;
use std::path::PathBuf;

axis!(N, M, K);

#[slyz::function]
fn normcdf(x: Exp<f32>) -> Exp<f32> {
    let l = x.abs();
    let k = 1.0 / (1.0 + 0.2316419 * l);
    let w = 1.0
        - 0.398_942_3
            * (-l * l / 2.0).exp()
            * horner(k, [0.0, 0.319_381_53, -0.356_563_78, 1.781_477_9, -1.821_256, 1.330_274_5]);
    if x < 0.0 { 1.0 - w } else { w }
}

#[slyz::function]
fn black_scholes(s: Arr<f32, N>, x: Arr<f32, N>, t: Arr<f32, N>) -> Arr<f32, N> {
    zip((s, x, t)).map(|(s, x, t)| {
        let (r, v) = (0.02, 0.30);
        let d1 = ((s / x).ln() + (r + v * v / 2.0) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        s * normcdf(d1) - x * (-r * t).exp() * normcdf(d2)
    })
}

#[slyz::function]
fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| sum(|k| a.at((i, k)) * b.at((k, j))))
}

#[slyz::function]
fn softmax(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    stack(|r| {
        let w = x.row(r);
        let e = (w - w.max()).exp();
        e / e.sum()
    })
}

fn heat(u: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    u.stencil(Border::Clamp, |u| u((0, 0)) + 0.1 * (u((-1, 0)) + u((1, 0)) + u((0, -1)) + u((0, 1)) - 4.0 * u((0, 0))))
}

fn moments(x: Arr<f32, N>) -> (Exp<f32>, Exp<f32>) {
    let chan = monoid((0f32, 0f32, 0f32), |(n, a, s), (m, b, t)| {
        let (k, d) = (n + m, b - a);
        let w = k.gt(0.0).select(m / k, 0.0);
        (k, a + d * w, s + t + d * d * n * w)
    });
    let (n, mean, s) = x.map(|x| (1f32, x, 0f32)).fold(chan);
    (mean, s / n)
}

/// The part of the file that is the program's own.
fn kernels(source: &str, first: &str) -> String {
    let start = source.find(&format!(" {first}")).and_then(|at| source[..at].rfind("\n\n"));
    source[start.expect("the first function of the program")..].trim_start().to_string()
}

fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{} differs; BLESS=1 rewrites it. Now it is\n{text}", path.display());
}

#[test]
fn programs_read_well() -> Result<(), slyz::Error> {
    golden("black_scholes.c", &kernels(compile(black_scholes)?.source(), "normcdf("));
    golden("matmul.c", &kernels(compile(matmul)?.source(), "matmul_product_lanes("));
    golden("softmax.c", &kernels(compile(softmax)?.source(), "softmax_rows_fold_value("));
    golden("heat.c", &kernels(compile(heat)?.source(), "heat_map_lanes("));
    golden("total.c", &kernels(compile(total)?.source(), "total_fold_fold_value("));
    golden("moments.c", &kernels(compile(moments)?.source(), "moments_fold_fold_join("));
    Ok(())
}

/// A sum, and what people call the layer of a network.
#[slyz::function]
fn total(x: Arr<f32, N>) -> Exp<f32> {
    x.sum()
}

#[slyz::function]
fn relu(x: Arr<f32, N>) -> Arr<f32, N> {
    x.map(|x| x.max(0.0))
}

/// The kernels of a module as WGSL, Metal, CUDA and OpenCL.
fn exported(name: &str, module: &Module) -> Result<(), slyz::Error> {
    let targets = [(Target::Wgsl, "wgsl"), (Target::Metal, "metal"), (Target::Cuda, "cu"), (Target::OpenCl, "cl")];
    for (target, ending) in targets {
        let emitted = module.emit(target)?;
        let files = emitted.files().iter().filter(|file| file.name.ends_with(ending));
        let texts: Vec<&str> = files.filter_map(|file| file.as_text()).collect();
        golden(&format!("{name}.{ending}"), &texts.join("\n"));
    }
    Ok(())
}

#[test]
fn programs_read_well_on_gpus() -> Result<(), slyz::Error> {
    let mut module = Module::new();
    module.kernel("black_scholes", black_scholes)?;
    exported("black_scholes", &module)?;
    let mut module = Module::new();
    module.kernel("softmax", softmax)?;
    exported("softmax", &module)?;
    let mut module = Module::new();
    module.kernel("total", total)?;
    exported("total", &module)?;
    let mut module = Module::new();
    module.kernel("relu", relu)?;
    exported("relu", &module)?;
    let mut module = Module::new();
    module.kernel("matmul", matmul)?;
    exported("matmul", &module)
}

/// Parameters whose names mean something to somebody, and parts of a tuple.
#[slyz::function]
fn scaled(device: Exp<f32>, r#let: Arr<f32, N>, kernel: (Arr<f32, N>, Arr<f32, N>)) -> Arr<f32, N> {
    (r#let + kernel.0) * device - r#let * kernel.1
}

#[test]
fn names_that_mean_something_are_changed() -> Result<(), slyz::Error> {
    let mut module = Module::new();
    module.kernel("scaled", scaled)?;
    let mut text = String::new();
    for target in [Target::Wgsl, Target::Metal, Target::Cuda, Target::OpenCl, Target::C] {
        let emitted = module.emit(target)?;
        let files = emitted.files().iter().filter_map(|file| Some((&file.name, file.as_text()?)));
        for (name, file) in files.filter(|(name, _)| !name.ends_with(".swift")) {
            // What stands in front of the kernels of a C file is not about them.
            let own = file.find("// scaled").map_or(file, |at| &file[at..]);
            let declares = |line: &&str| ["let", "device", "kernel", "output"].iter().any(|word| line.contains(word));
            let lines = own.lines().filter(declares).collect::<Vec<_>>().join("\n");
            text += &format!("{name}\n{lines}\n\n");
        }
    }
    let host = module.emit(Target::Web)?;
    let function = host.file("kernels.js").and_then(|text| text.lines().find(|line| line.contains("function scaled(")));
    golden("names.txt", &format!("{text}{}\n", function.unwrap_or_default()));
    Ok(())
}

/// The kernels of a file of the corpus, guarded, as a file of a target.
fn by_hand(name: &str, target: harness::Target) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").join(format!("{name}.vex"));
    let source = slyz_lang::kernels::read(&std::fs::read_to_string(path).unwrap()).unwrap();
    let block = |axes: usize| if axes < 2 { [256, 1, 1] } else { [16, 16, 1] };
    let kernels: Vec<Explicit> =
        source.kernels.iter().map(|k| Explicit { template: &k.template, block: block(k.template.axes()) }).collect();
    let road = |destination| KernelRoad { checks: Checks::Guard, ..KernelRoad::to(destination) };
    let emitted = harness::emit_kernels(&kernels, target, &road, &harness::Options::default()).unwrap();
    emitted.files.iter().filter_map(harness::File::as_text).collect::<Vec<_>>().join("\n")
}

#[test]
fn kernels_of_the_page_read_well() {
    let kernels_of_the_page = [
        ("page_relu", "relu"),
        ("page_vector_add", "vectorAdd"),
        ("page_matmul", "matmulKernel"),
        ("page_tiled_matmul", "tiledMatmul"),
        ("saxpy", "saxpy"),
    ];
    for (name, kernel) in kernels_of_the_page {
        golden(&format!("{name}.wgsl"), &by_hand(name, harness::Target::Wgsl));
        golden(&format!("{name}.metal"), &by_hand(name, harness::Target::Metal));
        golden(&format!("{name}.cu"), &by_hand(name, harness::Target::Cuda));
        golden(&format!("{name}.cl"), &by_hand(name, harness::Target::OpenCl));
        golden(&format!("{name}.c"), &kernels(&by_hand(name, harness::Target::C), &format!("{kernel}_lanes(")));
    }
    assert!(by_hand("page_relu", harness::Target::Wgsl).lines().count() <= 15);
}

/// The chapter's reduction: a tile that the block shares, the tree of its rows, that of its first column.
#[test]
fn tiled_reductions_read_well() -> Result<(), slyz::Error> {
    use slyz::views::{SumOp, tiled_source};
    golden("tiled_sum.wgsl", &tiled_source::<SumOp>(Target::Wgsl)?);
    golden("tiled_sum.metal", &tiled_source::<SumOp>(Target::Metal)?);
    golden("tiled_sum.cu", &tiled_source::<SumOp>(Target::Cuda)?);
    Ok(())
}

/// Every parenthesised group with something computed in it.
fn groups(text: &str) -> Vec<&str> {
    let (mut open, mut found) = (vec![], vec![]);
    for (at, c) in text.char_indices() {
        match c {
            '(' => open.push(at),
            ')' => {
                let start = open.pop().expect("balanced parentheses");
                let name = text[..start].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |k| k + 1);
                found.push(&text[name..=at]);
            }
            _ => {}
        }
    }
    found
}

#[test]
fn black_scholes_shares() -> Result<(), slyz::Error> {
    let compiled = compile(black_scholes)?;
    let text = kernels(compiled.source(), "normcdf(");
    assert_eq!(text.matches("vf32 normcdf(").count(), 1, "one definition");
    assert_eq!(text.matches("normcdf(").count(), 3, "and two calls");
    // Within each function nothing is computed twice.
    for function in text.split("\n}\n").filter(|f| f.starts_with("FN")) {
        let body = function.split_once('\n').map_or("", |(_, body)| body);
        let mut seen = std::collections::HashSet::new();
        for group in groups(body).into_iter().filter(|g| !g.starts_with("load_") && g.contains([' ', '_'])) {
            assert!(seen.insert(group), "{group} stands twice in\n{function}");
        }
    }
    Ok(())
}
