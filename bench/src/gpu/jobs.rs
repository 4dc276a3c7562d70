//! What is measured on a GPU: ours as a user writes it, and the same by hand.

use super::hand::Launch;
use super::{Job, Ours};
use crate::jobs::black_scholes::black_scholes;
use crate::jobs::graph;
use rayon::iter::ParallelIterator as _;
use slyz::prelude::*;
use slyz::{Device, Error, Options, Precision, compile_on, compile_with};
use std::sync::Arc;

axis!(N, M, K);

/// The most blocks of a launch by hand.
const BLOCKS: u64 = 32_768;

macro_rules! wgsl {
    ($name:literal) => {
        include_str!(concat!("../../kernels/wgsl/", $name, ".wgsl"))
    };
}

fn blocks(threads: u64) -> [u32; 3] {
    [threads.div_ceil(256).clamp(1, BLOCKS) as u32, 1, 1]
}

fn stride(source: &'static str, entry: &'static str, n: u64, per_thread: u64, arrays: usize) -> Launch {
    let grid = blocks(n / per_thread);
    Launch { source, entry, constants: vec![("N", n as f64)], buffers: (0..arrays).collect(), grid }
}

/// Ours with arguments that stay on the GPU.
macro_rules! ours {
    ($f:expr, |$call:ident, $x:ident| $body:expr) => {
        ours!($f, Options::new(), |$call, $x| $body)
    };
    ($f:expr, $options:expr, |$call:ident, $x:ident| $body:expr) => {
        Box::new(move |device: &Arc<dyn Device>, $x: &[Tensor<f32>]| {
            let $call = compile_with($f, &$options.device(device))?;
            let $x = $x.to_vec();
            Ok(Ours {
                launches: $call.explain().details().launches().count(),
                run: Box::new(move || Ok($body?.into_dyn().into())),
            })
        })
    };
}

/// All jobs with about `n` elements, and products of matrices with `side` rows.
pub fn all(n: u64, side: u64) -> Vec<Job> {
    let root = n.isqrt() / 64 * 64;
    let tall = n / 16;
    let unit = (0.0, 1.0);
    let mut jobs = vec![
        Job {
            title: format!("saxpy, {n}"),
            inputs: vec![(vec![n], unit), (vec![n], unit)],
            output: n,
            flops: 0,
            hand: vec![
                ("plain", vec![stride(wgsl!("saxpy"), "plain", n, 1, 3)]),
                ("by four", vec![stride(wgsl!("saxpy4"), "four", n, 4, 3)]),
            ],
            ours: ours!(|x: Arr<f32, N>, y: Arr<f32, N>| x * 2.5 + y, |f, x| f
                .call(&x[0].rename::<N>()?, &x[1].rename::<N>()?)),
        },
        sum(n),
        dot(n),
        scan(n),
        filter(n),
        histogram(n),
        sort(n),
        sort_words(n),
        sums_of_groups::<256>(n),
        sums_of_groups::<2000>(n),
        row_sums(root, root, true),
        column_sums(root, root),
        Job {
            title: format!("transpose, {root} × {root}"),
            inputs: vec![(vec![root, root], unit)],
            output: root * root,
            flops: 0,
            hand: vec![(
                "tiles",
                vec![Launch {
                    source: wgsl!("transpose"),
                    entry: "tiles",
                    constants: vec![("ROWS", root as f64), ("COLUMNS", root as f64)],
                    buffers: vec![0, 1],
                    grid: [root.div_ceil(32) as u32, root.div_ceil(32) as u32, 1],
                }],
            )],
            ours: ours!(|x: Arr<f32, (N, M)>| x.transpose(), |f, x| f.call(&x[0].rename::<(N, M)>()?)),
        },
        Job {
            title: format!("matmul, {side}"),
            inputs: vec![(vec![side, side], unit), (vec![side, side], unit)],
            output: side * side,
            flops: 2 * side * side * side,
            hand: vec![(
                "tiles",
                vec![Launch {
                    source: wgsl!("matmul"),
                    entry: "tiles",
                    constants: vec![("N", side as f64)],
                    buffers: vec![0, 1, 2],
                    grid: [side as u32 / 64, side as u32 / 64, 1],
                }],
            )],
            ours: ours!(matmul, |f, x| f.call(&x[0].rename()?, &x[1].rename()?)),
        },
    ];
    for (name, precision) in Precision::NAMES {
        jobs.push(prices(n, name, precision));
        jobs.push(soft_rows(root, name, precision));
    }
    jobs.extend(by_threads(n, side));
    for (rows, columns) in [(16, tall), (tall, 16)] {
        jobs.push(row_sums(rows, columns, false));
        jobs.push(column_sums(rows, columns));
    }
    jobs
}

/// Black-Scholes at a precision.
fn prices(n: u64, name: &str, precision: Precision) -> Job {
    let options = Options::new().precision(precision);
    Job {
        title: format!("Black-Scholes, {name}, {n}"),
        inputs: vec![(vec![n], (10.0, 100.0)), (vec![n], (10.0, 100.0)), (vec![n], (0.2, 2.0))],
        output: n,
        flops: 0,
        hand: vec![("plain", vec![stride(wgsl!("black_scholes"), "prices", n, 1, 4)])],
        ours: ours!(black_scholes, options.clone(), |f, x| f.call(&x[0].rename()?, &x[1].rename()?, &x[2].rename()?)),
    }
}

/// Softmax at a precision.
fn soft_rows(root: u64, name: &str, precision: Precision) -> Job {
    let options = Options::new().precision(precision);
    Job {
        title: format!("softmax of rows, {name}, {root} × {root}"),
        inputs: vec![(vec![root, root], (0.0, 1.0))],
        output: root * root,
        flops: 0,
        hand: vec![],
        ours: ours!(softmax, options.clone(), |f, x| f.call(&x[0].rename()?)),
    }
}

/// Kernels by hand (`#[graph]`), beside the same in WGSL.
fn by_threads(n: u64, side: u64) -> [Job; 7] {
    let unit = (0.0, 1.0);
    let blocks = n.div_ceil(256);
    let rows = blocks.div_ceil(BLOCKS);
    let grid = [blocks.div_ceil(rows) as u32, rows as u32, 1];
    let each = |source, entry, arrays: usize| Launch { grid, ..stride(source, entry, n, 1, arrays) };
    let zeros = |device: &Arc<dyn Device>, n: u64| Tensor::<f32>::zeros([n as usize])?.to(device);
    let blocks_of_16 = side as usize / 16;
    let root = n.isqrt() / 64 * 64;
    [
        Job {
            title: format!("#[graph] saxpy, {n}"),
            inputs: vec![(vec![n], unit), (vec![n], unit)],
            output: n,
            flops: 0,
            hand: vec![("threads", vec![each(wgsl!("saxpy_threads"), "threads", 3)])],
            ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
                let (device, x, mut out) = (device.clone(), x.to_vec(), zeros(device, n)?);
                let run = move || {
                    graph::saxpy(2.5, &x[0], &x[1], &mut out).threads(n as usize).on(&device).run()?;
                    Ok(out.clone().into())
                };
                Ok(Ours { launches: 1, run: Box::new(run) })
            }),
        },
        Job {
            title: format!("#[graph] relu, {n}"),
            inputs: vec![(vec![n], (-1.0, 1.0))],
            output: n,
            flops: 0,
            hand: vec![("threads", vec![each(wgsl!("relu"), "plain", 2)])],
            ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
                let (device, x, mut out) = (device.clone(), x.to_vec(), zeros(device, n)?);
                let run = move || {
                    graph::relu(&x[0], &mut out).threads(n as usize).on(&device).run()?;
                    Ok(out.clone().into())
                };
                Ok(Ours { launches: 1, run: Box::new(run) })
            }),
        },
        Job {
            title: format!("#[graph] five launches that wait, {n}"),
            inputs: vec![(vec![n], unit), (vec![n], unit)],
            output: n,
            flops: 0,
            hand: vec![],
            ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
                let (device, x) = (device.clone(), x.to_vec());
                let run = move || {
                    let out = slyz::lazy(|| graph::five(&x[0], &x[1], &device))?;
                    Ok(out.into())
                };
                Ok(Ours { launches: 1, run: Box::new(run) })
            }),
        },
        Job {
            title: format!("#[graph] naive matmul, {side}"),
            inputs: vec![(vec![side, side], unit), (vec![side, side], unit)],
            output: side * side,
            flops: 2 * side * side * side,
            hand: vec![],
            ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
                let (device, x, mut out) = (device.clone(), x.to_vec(), zeros(device, side * side)?);
                let extent = side as i32;
                let run = move || {
                    let launch = graph::naive_matmul(&x[0], &x[1], &mut out, extent, extent, extent);
                    launch.threads((side as usize, side as usize)).on(&device).run()?;
                    Ok(out.clone().into())
                };
                Ok(Ours { launches: 1, run: Box::new(run) })
            }),
        },
        Job {
            title: format!("#[graph] naive softmax of rows, {root} × {root}"),
            inputs: vec![(vec![root, root], (-10.0, 10.0))],
            output: root * root,
            flops: 0,
            hand: vec![],
            ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
                let (device, x, mut out) = (device.clone(), x.to_vec(), zeros(device, root * root)?);
                let run = move || {
                    let launch = graph::naive_softmax(&x[0], &mut out, root as i32, root as i32);
                    launch.threads(root as usize).on(&device).run()?;
                    Ok(out.clone().into())
                };
                Ok(Ours { launches: 1, run: Box::new(run) })
            }),
        },
        Job {
            title: format!("#[graph] tiled matmul, {side}"),
            inputs: vec![(vec![side, side], unit), (vec![side, side], unit)],
            output: side * side,
            flops: 2 * side * side * side,
            hand: vec![(
                "tiles of 16",
                vec![Launch {
                    source: wgsl!("tiled_matmul"),
                    entry: "tiles",
                    constants: vec![("N", side as f64)],
                    buffers: vec![0, 1, 2],
                    grid: [side as u32 / 16, side as u32 / 16, 1],
                }],
            )],
            ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
                let (device, x, mut out) = (device.clone(), x.to_vec(), zeros(device, side * side)?);
                let extent = side as i32;
                let run = move || {
                    let launch = graph::tiled_matmul(&x[0], &x[1], &mut out, extent, extent, extent);
                    launch.grid((blocks_of_16, blocks_of_16)).block((16, 16)).on(&device).run()?;
                    Ok(out.clone().into())
                };
                Ok(Ours { launches: 1, run: Box::new(run) })
            }),
        },
        Job {
            title: format!("#[graph] tiled matmul with fma, {side}"),
            inputs: vec![(vec![side, side], unit), (vec![side, side], unit)],
            output: side * side,
            flops: 2 * side * side * side,
            hand: vec![(
                "tiles of 16",
                vec![Launch {
                    source: wgsl!("tiled_matmul"),
                    entry: "fused",
                    constants: vec![("N", side as f64)],
                    buffers: vec![0, 1, 2],
                    grid: [side as u32 / 16, side as u32 / 16, 1],
                }],
            )],
            ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
                let (device, x, mut out) = (device.clone(), x.to_vec(), zeros(device, side * side)?);
                let extent = side as i32;
                let run = move || {
                    let launch = graph::fused_matmul(&x[0], &x[1], &mut out, extent, extent, extent);
                    launch.grid((blocks_of_16, blocks_of_16)).block((16, 16)).on(&device).run()?;
                    Ok(out.clone().into())
                };
                Ok(Ours { launches: 1, run: Box::new(run) })
            }),
        },
    ]
}

fn matmul(a: Arr<f32, (N, K)>, b: Arr<f32, (K, M)>) -> Arr<f32, (N, M)> {
    tabulate(|(i, j)| slyz::sum(|k| a.at((i, k)) * b.at((k, j))))
}

fn softmax(x: Arr<f32, (N, M)>) -> Arr<f32, (N, M)> {
    stack(|r| {
        let w = x.row(r);
        let e = (w - w.max()).exp();
        e / e.sum()
    })
}

fn sum(n: u64) -> Job {
    let grid = blocks(n / 16);
    let parts = stride(wgsl!("sum"), "parts", n, 16, 0);
    let all = Launch {
        source: wgsl!("sum_parts"),
        entry: "all",
        constants: vec![("N", grid[0].into())],
        buffers: vec![2, 1],
        grid: [1, 1, 1],
    };
    Job {
        title: format!("sum, {n}"),
        inputs: vec![(vec![n], (0.0, 1.0))],
        output: 1,
        flops: 0,
        hand: vec![("two launches", vec![Launch { buffers: vec![0, 2], grid, ..parts }, all])],
        ours: ours!(|x: Arr<f32, N>| x.sum(), |f, x| f.call(&x[0].rename::<N>()?)),
    }
}

fn dot(n: u64) -> Job {
    Job {
        title: format!("dot, {n}"),
        inputs: vec![(vec![n], (0.0, 1.0)), (vec![n], (0.0, 1.0))],
        output: 1,
        flops: 0,
        hand: vec![],
        ours: ours!(|x: Arr<f32, N>, y: Arr<f32, N>| x.dot(y), |f, x| f
            .call(&x[0].rename::<N>()?, &x[1].rename::<N>()?)),
    }
}

/// Three launches by hand over blocks of some tiles of 4096 elements: of more where there are enough blocks.
fn in_blocks(source: &'static str, entries: [&'static str; 3], n: u64) -> Vec<Launch> {
    let tiles = if n >= 1 << 26 { 8 } else { 1 };
    let blocks = n.div_ceil(4_096 * tiles);
    let rows = blocks.div_ceil(BLOCKS);
    let grid = [blocks.div_ceil(rows) as u32, rows as u32, 1];
    let constants = vec![("BLOCKS", blocks as f64), ("TILES", tiles as f64)];
    let launch = |(entry, buffers, grid)| Launch { source, entry, constants: constants.clone(), buffers, grid };
    let [first, second, third] = entries;
    [(first, vec![0, 2], grid), (second, vec![2], [1, 1, 1]), (third, vec![0, 1, 2], grid)].map(launch).into()
}

fn scan(n: u64) -> Job {
    Job {
        title: format!("scan, {n}"),
        inputs: vec![(vec![n], (0.0, 1.0))],
        output: n,
        flops: 0,
        hand: vec![("three launches", in_blocks(wgsl!("prefix"), ["sums", "before", "scan"], n))],
        ours: ours!(|x: Arr<f32, N>| x.scan(Sum), |f, x| f.call(&x[0].rename::<N>()?)),
    }
}

fn filter(n: u64) -> Job {
    Job {
        title: format!("filter, {n}"),
        inputs: vec![(vec![n], (0.0, 1.0))],
        output: super::numbers(n, (0.0, 1.0), 1).filter(|&x| x > 0.5).count() as u64,
        flops: 0,
        hand: vec![("three launches", in_blocks(wgsl!("filter"), ["counts", "before", "write"], n))],
        ours: ours!(|x: Arr<f32, N>| x.filter::<M>(|v| v.gt(0.5)), |f, x| f.call(&x[0].rename::<N>()?)),
    }
}

fn histogram(n: u64) -> Job {
    let launch = |entry, buffers, grid| Launch { buffers, grid, ..stride(wgsl!("histogram"), entry, n, 4, 0) };
    let zero = launch("zero", vec![1], [1, 1, 1]);
    let count = launch("count", vec![0, 1], blocks((n / 4).min(1 << 19)));
    Job {
        title: format!("histogram of 256, {n}"),
        inputs: vec![(vec![n], (0.0, 256.0))],
        output: 256,
        flops: 0,
        hand: vec![("shared tables", vec![zero, count])],
        ours: ours!(
            |x: Arr<f32, N>| -> Arr<u32, Fix<256>> {
                scatter(Sum, |i: Idx<N>| (Near::<Fix<256>>::new(x.at(i).cast::<i32>()), 1u32))
            },
            |f, x| f.call(&x[0].rename::<N>()?)
        ),
    }
}

/// By all 32 bits of a total order, so as integers are sorted.
fn sort(n: u64) -> Job {
    Job {
        title: format!("sort, {n}"),
        inputs: vec![(vec![n], (-1.0, 1.0))],
        output: n,
        flops: 0,
        hand: vec![],
        ours: ours!(|x: Arr<f32, N>| x.sort(), |f, x| f.call(&x[0].rename::<N>()?)),
    }
}

/// Unsigned integers.
fn sort_words(n: u64) -> Job {
    Job {
        title: format!("sort of u32, {n}"),
        inputs: vec![(vec![n], (0.0, 1.0))],
        output: n,
        flops: 0,
        hand: vec![],
        ours: Box::new(move |device: &Arc<dyn Device>, x: &[Tensor<f32>]| {
            // All bits count.
            let mix = |x: Arr<f32, N>| {
                x.map(|v| {
                    let word = (v * 16_777_216.0).cast::<u32>() * 2_654_435_761;
                    word ^ (word >> 15)
                })
            };
            let words = compile_on(device, mix)?.call(&x[0].rename::<N>()?)?;
            let f = compile_on(device, |x: Arr<u32, N>| x.sort())?;
            Ok(Ours {
                launches: f.explain().details().launches().count(),
                run: Box::new(move || Ok(f.call(&words)?.into_dyn().into())),
            })
        }),
    }
}

/// A histogram whose sums are floats, for which there are no atomics.
fn sums_of_groups<const GROUPS: usize>(n: u64) -> Job {
    Job {
        title: format!("float sums of {GROUPS} groups, {n}"),
        inputs: vec![(vec![n], (0.0, GROUPS as f32))],
        output: GROUPS as u64,
        flops: 0,
        hand: vec![],
        ours: ours!(
            |x: Arr<f32, N>| -> Arr<f32, Fix<GROUPS>> {
                scatter(Sum, |i: Idx<N>| (Near::<Fix<GROUPS>>::new(x.at(i).cast::<i32>()), x.at(i)))
            },
            |f, x| f.call(&x[0].rename::<N>()?)
        ),
    }
}

fn row_sums(rows: u64, columns: u64, by_hand: bool) -> Job {
    let launch = Launch {
        source: wgsl!("row_sums"),
        entry: "rows",
        constants: vec![("ROWS", rows as f64), ("COLUMNS", columns as f64)],
        buffers: vec![0, 1],
        grid: [rows as u32, 1, 1],
    };
    Job {
        title: format!("row sums, {rows} × {columns}"),
        inputs: vec![(vec![rows, columns], (0.0, 1.0))],
        output: rows,
        flops: 0,
        hand: if by_hand { vec![("block a row", vec![launch])] } else { vec![] },
        ours: ours!(|x: Arr<f32, (N, M)>| x.axis::<1>().sum(), |f, x| f.call(&x[0].rename::<(N, M)>()?)),
    }
}

fn column_sums(rows: u64, columns: u64) -> Job {
    let chunk = (rows / 128).max(64);
    let chunks = rows.div_ceil(chunk);
    let launch = |rows: u64, chunk: u64, buffers: Vec<usize>| Launch {
        source: wgsl!("column_sums"),
        entry: "chunks",
        constants: vec![("ROWS", rows as f64), ("COLUMNS", columns as f64), ("CHUNK", chunk as f64)],
        buffers,
        grid: [columns.div_ceil(256) as u32, rows.div_ceil(chunk) as u32, 1],
    };
    let by_hand = columns >= 256 && chunks > 1;
    Job {
        title: format!("column sums, {rows} × {columns}"),
        inputs: vec![(vec![rows, columns], (0.0, 1.0))],
        output: columns,
        flops: 0,
        hand: if by_hand {
            vec![("chunks", vec![launch(rows, chunk, vec![0, 2]), launch(chunks, chunks, vec![2, 1])])]
        } else {
            vec![]
        },
        ours: ours!(|x: Arr<f32, (N, M)>| x.axis::<0>().sum(), |f, x| f.call(&x[0].rename::<(N, M)>()?)),
    }
}

/// A copy by hand.
pub fn copy(n: u64) -> Launch {
    stride(wgsl!("copy"), "four", n, 4, 2)
}

/// A call on 16 elements, and what it costs to launch as much by hand.
pub fn small() -> (Job, Launch) {
    let job = Job {
        title: "a call on 16 elements".into(),
        inputs: vec![(vec![16], (0.0, 1.0))],
        output: 16,
        flops: 0,
        hand: vec![],
        ours: ours!(|x: Arr<f32, N>| x * 2.5, |f, x| f.call(&x[0].rename::<N>()?)),
    };
    (job, stride(wgsl!("saxpy"), "plain", 16, 1, 3))
}

/// The type of what makes ours.
pub type Make = dyn Fn(&Arc<dyn Device>, &[Tensor<f32>]) -> Result<Ours, Error>;
