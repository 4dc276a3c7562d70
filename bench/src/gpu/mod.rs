//! On a GPU: ours, by wgpu or by CUDA, beside kernels written by hand in WGSL, and beside the device's own copy.
//!
//! Arguments are on the GPU before the clock starts and results stay there. Every contestant is called several times before
//! it is waited for, as programs do, so that the cost of a call hides behind the work of the call before.

mod hand;
mod host;
mod jobs;
mod page;
mod products;

use crate::contest::Failure;
use crate::timing::{Timing, seconds};
use hand::{Gpu, Launch, Ready};
use rayon::prelude::*;
use slyz::{Device, Error, Tensor};
use std::sync::Arc;
use std::time::Instant;

/// Calls whose launches are clocked one by one.
const PROFILED: usize = 5;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Elements of the large arrays, as a power of two.
    pub log: u32,
    /// Seconds for each job.
    pub seconds: f64,
    /// Parts of the titles of the jobs that are wanted; all without one.
    pub only: Vec<String>,
    /// The device that ours runs on.
    pub device: String,
    /// The day.
    pub date: Option<String>,
    /// Write the page to `results/`.
    pub write: bool,
}

/// One job.
pub struct Job {
    /// For people.
    title: String,
    /// Shapes of the inputs, and between what their numbers are.
    inputs: Vec<(Vec<u64>, (f32, f32))>,
    /// Elements of the result.
    output: u64,
    /// Operations, where they and not bytes are the bound.
    flops: u64,
    /// Contestants by hand: launches over the inputs, the result, and a buffer for what is in between.
    hand: Vec<(&'static str, Vec<Launch>)>,
    /// Ours.
    ours: Box<jobs::Make>,
}

/// Ours, compiled and bound to arguments.
pub struct Ours {
    launches: usize,
    run: Box<dyn FnMut() -> Result<Answer, Error>>,
}

/// A result that stays on the GPU.
pub enum Answer {
    Floats(Tensor<f32>),
    Counts(Tensor<u32>),
    /// Nobody looks at it: the same function is tested elsewhere.
    Unseen,
}

impl From<Tensor<f32>> for Answer {
    fn from(floats: Tensor<f32>) -> Answer {
        Answer::Floats(floats)
    }
}

impl From<Tensor<u32>> for Answer {
    fn from(counts: Tensor<u32>) -> Answer {
        Answer::Counts(counts)
    }
}

impl Answer {
    /// Its numbers, and those of the result by hand, whose words were read as floats.
    fn beside(&self, hand: Vec<f32>) -> Result<[Vec<f32>; 2], Error> {
        Ok(match self {
            Answer::Floats(floats) => [floats.to_vec()?, hand],
            Answer::Counts(counts) => {
                let ours = counts.to_vec()?.into_iter().map(|count| count as f32).collect();
                [ours, hand.into_iter().map(|word| word.to_bits() as f32).collect()]
            }
            Answer::Unseen => [vec![], vec![]],
        })
    }
}

/// What came out of a job.
pub struct Row {
    title: String,
    bytes: u64,
    flops: u64,
    launches: usize,
    ours: Timing,
    hand: Vec<Timing>,
    /// The launches of ours, with the seconds of the fastest of a few calls.
    parts: Vec<(String, f64)>,
}

impl Job {
    fn bytes(&self) -> u64 {
        4 * (self.inputs.iter().map(|(shape, _)| shape.iter().product::<u64>()).sum::<u64>() + self.output)
    }
}

/// Numbers that look random and are the same in every run.
pub fn numbers(len: u64, (low, high): (f32, f32), seed: u32) -> impl IndexedParallelIterator<Item = f32> {
    let number = move |k: u64| {
        let mixed = (k as u32 ^ seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
        let mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35);
        low + (high - low) * ((mixed >> 8) as f32 / (1 << 24) as f32)
    };
    (0..len as usize).into_par_iter().map(move |k| number(k as u64))
}

/// A name, and so many calls that are waited for together.
type Contestant<'a> = (String, Box<dyn FnMut(usize) -> Result<(), Failure> + 'a>);

/// Takes turns, `batch` calls each time; gives seconds per call.
fn contest(budget: f64, contestants: &mut [Contestant]) -> Result<Vec<Timing>, Failure> {
    let mut batches = vec![];
    let mut round = 0.0;
    for (_, run) in contestants.iter_mut() {
        run(1)?;
        let (once, done) = seconds(|| run(1));
        done?;
        let batch = ((0.02 / once.max(1e-7)) as usize).clamp(1, 200);
        round += once * batch as f64;
        batches.push(batch);
    }
    // Clocks rise with work: nobody is timed before they have.
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < budget / 2.0 {
        for (k, (_, run)) in contestants.iter_mut().enumerate() {
            run(batches[k])?;
        }
    }
    let rounds = ((budget / round.max(1e-9)) as usize).clamp(5, 51);
    let mut times = vec![vec![]; contestants.len()];
    for _ in 0..rounds {
        for (k, (_, run)) in contestants.iter_mut().enumerate() {
            let (time, done) = seconds(|| run(batches[k]));
            done?;
            times[k].push(time / batches[k] as f64);
        }
    }
    Ok(contestants.iter().zip(times).map(|((name, _), times)| Timing::of(name, times)).collect())
}

/// What differs between two results.
fn compare(ours: &[f32], hand: &[f32]) -> Option<String> {
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-3 + 2e-4 * b.abs();
    let wrong = ours.par_iter().zip(hand).filter(|&pair| !near(pair)).count();
    (wrong > 0 || ours.len() != hand.len()).then(|| {
        let first = ours.iter().zip(hand).position(|pair| !near(pair)).unwrap_or(0);
        format!("{wrong} elements differ; at {first} {:?} instead of {:?}", ours.get(first), hand.get(first))
    })
}

fn measure(job: &Job, gpu: &Gpu, device: &Arc<dyn Device>, budget: f64) -> Result<Row, Failure> {
    let (mut buffers, mut tensors) = (vec![], vec![]);
    for (k, (shape, range)) in job.inputs.iter().enumerate() {
        let data: Vec<f32> = numbers(shape.iter().product(), *range, k as u32 + 1).collect();
        if !job.hand.is_empty() {
            buffers.push(gpu.upload(&data)?);
        }
        let dims = shape.iter().map(|&n| n as usize).collect::<Vec<_>>();
        let tensor = match dims[..] {
            [n] => Tensor::<f32>::from_vec([n], data)?,
            [n, m] => Tensor::<f32>::from_vec([n, m], data)?,
            [b, h, n, d] => Tensor::<f32>::from_vec([b, h, n, d], data)?,
            _ => return Err("only vectors, matrices and stacks of heads".into()),
        };
        tensors.push(tensor.to(device)?);
    }
    if !job.hand.is_empty() {
        buffers.push(gpu.buffer(job.output as usize));
        buffers.push(gpu.buffer((job.output as usize * 256).clamp(1 << 16, 1 << 22)));
    }
    let mut ours = (job.ours)(device, &tensors)?;
    let launches = ours.launches;
    let ready: Vec<(&str, Ready)> =
        job.hand.iter().map(|(name, launches)| (*name, gpu.ready(launches, &buffers))).collect();
    // Answers first.
    let mut wrong = None;
    if let Some((_, ready)) = ready.last() {
        gpu.launch(ready);
        let hand = gpu.download(&buffers[job.inputs.len()], job.output as usize)?;
        let [answer, hand] = (ours.run)()?.beside(hand)?;
        wrong = compare(&answer, &hand);
    }
    let mut contestants: Vec<Contestant> = vec![(
        crate::job::OURS.to_string(),
        Box::new(|batch| {
            for _ in 0..batch {
                (ours.run)()?;
            }
            Ok(device.synchronize()?)
        }),
    )];
    for (name, ready) in &ready {
        contestants.push((
            name.to_string(),
            Box::new(|batch| {
                (0..batch).for_each(|_| gpu.launch(ready));
                gpu.wait()
            }),
        ));
    }
    let mut timings = contest(budget, &mut contestants)?.into_iter();
    drop(contestants);
    let timed = timings.next().ok_or("ours was not measured")?;
    let (title, hand) = (job.title.clone(), timings.collect());
    let parts = parts(&mut ours)?;
    Ok(Row { title, bytes: job.bytes(), flops: job.flops, launches, ours: Timing { wrong, ..timed }, hand, parts })
}

/// What each launch of ours takes, by the device's clock where it has one.
fn parts(ours: &mut Ours) -> Result<Vec<(String, f64)>, Failure> {
    let mut fastest: Vec<(String, f64)> = vec![];
    for _ in 0..PROFILED {
        let (done, launches) = slyz_run::profile(|| (ours.run)());
        done?;
        if fastest.is_empty() {
            fastest = launches.iter().map(|launch| (launch.kernel.clone(), launch.seconds)).collect();
        }
        fastest.iter_mut().zip(&launches).for_each(|(part, launch)| part.1 = part.1.min(launch.seconds));
    }
    Ok(fastest)
}

/// Seconds for a copy of so many bytes on the device, by the faster of two ways.
fn copy(gpu: &Gpu, bytes: u64, budget: f64) -> Result<Timing, Failure> {
    let buffers = [gpu.buffer(bytes as usize / 4), gpu.buffer(bytes as usize / 4)];
    let ready = gpu.ready(&[jobs::copy(bytes / 4)], &buffers);
    let [from, to] = &buffers;
    let by_driver = |batch| {
        (0..batch).for_each(|_| gpu.copy(from, to));
        gpu.wait()
    };
    let by_kernel = |batch| {
        (0..batch).for_each(|_| gpu.launch(&ready));
        gpu.wait()
    };
    let contestants: &mut [Contestant] =
        &mut [("driver".into(), Box::new(by_driver)), ("kernel".into(), Box::new(by_kernel))];
    let timings = contest(budget, contestants)?;
    timings.iter().for_each(|t| println!("copy by {}: {:.1} GB/s", t.name, 2.0 * bytes as f64 / t.median / 1e9));
    let best = timings.into_iter().min_by(|a, b| a.median.total_cmp(&b.median));
    best.ok_or_else(|| "the copy was not measured".into())
}

/// A launch by hand, then a call of ours, on 16 elements.
fn small(gpu: &Gpu, device: &Arc<dyn Device>, budget: f64) -> Result<[Timing; 2], Failure> {
    let (job, launch) = jobs::small();
    let tensor = Tensor::<f32>::from_vec([16], numbers(16, (0.0, 1.0), 1).collect())?.to(device)?;
    let mut ours = (job.ours)(device, &[tensor])?;
    let buffers: Vec<wgpu::Buffer> = (0..3).map(|_| gpu.buffer(16)).collect();
    let ready = gpu.ready(&[launch], &buffers);
    let by_hand = |batch| {
        (0..batch).for_each(|_| gpu.launch(&ready));
        gpu.wait()
    };
    let by_us = |batch| -> Result<(), Failure> {
        for _ in 0..batch {
            (ours.run)()?;
        }
        Ok(device.synchronize()?)
    };
    let contestants: &mut [Contestant] =
        &mut [("by hand".into(), Box::new(by_hand)), (crate::job::OURS.into(), Box::new(by_us))];
    let timings: Vec<Timing> = contest(budget, contestants)?;
    timings.try_into().map_err(|_| "two were measured".into())
}

/// Measures all jobs and prints the page.
pub fn run(wishes: &Wishes) -> Result<(), Failure> {
    // Ours takes the adapter that this names, too.
    let gpu = Gpu::open(&std::env::var("SLYZ_ADAPTER").unwrap_or_default())?;
    let device = slyz::device(&wishes.device)?;
    let n = 1u64 << wishes.log;
    let copied = copy(&gpu, (n * 4).min(gpu.binding_bytes / 16 * 16), wishes.seconds)?;
    let copy_rate = 2.0 * (n * 4).min(gpu.binding_bytes / 16 * 16) as f64 / copied.median;
    println!("{}: copy {:.1} GB/s", gpu.name, copy_rate / 1e9);
    let side = if wishes.log >= 26 { 4096 } else { 512 };
    let mut rows = vec![];
    for job in jobs::all(n, side)
        .into_iter()
        .chain(products::all(side))
        .filter(|job| wishes.only.is_empty() || wishes.only.iter().any(|part| job.title.contains(part)))
    {
        match measure(&job, &gpu, &device, wishes.seconds) {
            Ok(row) => {
                println!("{}", page::line(&row, copy_rate));
                rows.push(row);
            }
            Err(error) => println!("{}: {error}", job.title),
        }
    }
    let small = small(&gpu, &device, wishes.seconds)?;
    let page = page::page(&gpu, wishes, copy_rate, &rows, &small);
    let page = page + &host::page(&device, &wishes.device)?;
    println!("\n{page}");
    if wishes.write {
        let name = gpu.name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let name = name.split('-').filter(|word| !word.is_empty()).take(3).collect::<Vec<_>>().join("-");
        let folder = std::env::var_os("OUT")
            .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("results"), std::path::PathBuf::from);
        let name = if wishes.device == "wgpu" { name } else { format!("{name}-{}", wishes.device) };
        std::fs::write(folder.join(format!("{name}.md")), page)?;
    }
    Ok(())
}
