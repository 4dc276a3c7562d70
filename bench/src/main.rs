//! Słyż against what else one could use: contestants and ours in one run, every result checked.
//!
//! ```text
//! cargo run --release -p bench                        the table, results/cpu.md and results/cpu.svg
//! cargo run --release -p bench -- --jobs saxpy,dot    some jobs only (no files are written)
//! cargo run --release -p bench -- --quick             small sizes, few repetitions: builds, and checks results
//! cargo run --release -p bench -- --growth            time per element against size, results/growth.svg
//! cargo run --release -p bench -- nikola              the figures of the Nikola paper, results/nikola_*.svg
//! cargo run --release -p bench -- nikola --device cuda --by-hand FILE   the first of them on a GPU, beside what kernels/cuda/by_hand.cu says
//! cargo run --release -p bench -- --cpu-time          one thread, time on the processor: ratios on a busy machine
//! cargo run --release -p bench -- --source softmax    the C that ours becomes, by job
//! cargo run --release -p bench -- --quick --python    Python's contestants too, which a whole run has anyway
//! cargo run --release -p bench --features candle      candle too
//! cargo run --release -p bench -- --gpu               on a GPU, beside WGSL by hand; SLYZ_ADAPTER chooses which
//! cargo run --release -p bench -- --gpu --device cuda the same with ours by CUDA
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `job.rs`, `jobs/` | what is measured |
//! | `contest.rs`, `timing.rs` | contestants of a job, their answers checked and their times taken in turns |
//! | `data.rs`, `native.rs` | deterministic inputs, and the C kernels of `kernels/` |
//! | `growth.rs`, `nikola.rs`, `latency.rs`, `gpu/` | measurements of other kinds |
//! | `candle.rs`, `python.rs` | contestants that are not always there |
//! | `table.rs`, `chart.rs`, `machine.rs` | what is printed and written |
//!
//! It is no test: nothing here fails because something is slow.

#[cfg(feature = "candle")]
mod candle;
mod chart;
mod contest;
mod data;
mod gpu;
mod growth;
mod job;
mod jobs;
mod latency;
mod machine;
mod native;
mod nikola;
mod python;
mod table;
mod timing;

use contest::Failure;
use job::{Bench, Job, Row};
use std::path::Path;
use std::time::Instant;

/// What the command line asks for.
#[derive(Default)]
struct Wishes {
    jobs: Vec<String>,
    quick: bool,
    growth: bool,
    nikola: bool,
    cpu_time: bool,
    source: Option<String>,
    seconds: Option<f64>,
    date: Option<String>,
    /// For the measurement of latency, which starts this program again.
    compile_once: bool,
    python: bool,
    gpu: bool,
    /// Which GPU device is ours.
    device: Option<String>,
    /// Times that another program took.
    by_hand: Option<std::path::PathBuf>,
    log: Option<u32>,
}

const USAGE: &str = "options: --jobs NAME,NAME  --quick  --growth  nikola  --cpu-time  --python  --source JOB  --seconds PER_JOB  --date YYYY-MM-DD  --gpu  --device NAME  --by-hand FILE  --log SIZE_AS_A_POWER_OF_TWO";

fn wishes(mut args: impl Iterator<Item = String>) -> Result<Wishes, Failure> {
    let mut wishes = Wishes::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value. {USAGE}"));
        match arg.as_str() {
            "--jobs" => wishes.jobs = value()?.split(',').map(String::from).collect(),
            "--quick" => wishes.quick = true,
            "--growth" => wishes.growth = true,
            "nikola" | "--nikola" => wishes.nikola = true,
            "--cpu-time" => wishes.cpu_time = true,
            "--gpu" => wishes.gpu = true,
            "--log" => wishes.log = Some(value()?.parse()?),
            "--python" => wishes.python = true,
            "--source" => wishes.source = Some(value()?),
            "--seconds" => wishes.seconds = Some(value()?.parse()?),
            "--date" => wishes.date = Some(value()?),
            "--by-hand" => wishes.by_hand = Some(value()?.into()),
            "--device" => wishes.device = Some(value()?),
            latency::FLAG => wishes.compile_once = true,
            _ => return Err(format!("{arg} is not an option. {USAGE}").into()),
        }
    }
    Ok(wishes)
}

/// A figure, and its numbers on the terminal.
fn draw(results: &Path, name: &str, title: &str, curves: &[growth::Curve]) -> Result<(), Failure> {
    std::fs::write(results.join(format!("{name}.svg")), chart::growth(title, curves))?;
    print!("{}", table::growth(curves));
    Ok(())
}

/// Names the device of what names none.
const DEVICE: &str = "SLYZ_DEVICE";

/// Starts again with the device that all contestants have: on a machine with a GPU `auto` may take that.
fn on_the_cpu() -> Result<(), Failure> {
    let again = std::process::Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(DEVICE, "cpu")
        .status()?;
    if again.success() { Ok(()) } else { Err(format!("it ended with {again}").into()) }
}

fn main() -> Result<(), Failure> {
    let wishes = wishes(std::env::args().skip(1))?;
    if wishes.compile_once {
        return latency::compile_once();
    }
    if wishes.gpu {
        return gpu::run(&gpu::Wishes {
            log: wishes.log.unwrap_or(if wishes.quick { 16 } else { 24 }),
            seconds: wishes.seconds.unwrap_or(if wishes.quick { 0.0 } else { 2.0 }),
            write: wishes.jobs.is_empty() && !wishes.quick,
            only: wishes.jobs,
            device: wishes.device.unwrap_or_else(|| "wgpu".to_string()),
            date: wishes.date,
        });
    }
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    if wishes.device.is_none() && std::env::var_os(DEVICE).is_none() {
        return on_the_cpu();
    }
    if let (true, Some(name)) = (wishes.nikola, &wishes.device) {
        let title = format!("Black-Scholes on {name}: time per option against their number");
        let curves = nikola::options_on(wishes.quick, &slyz::device(name)?, wishes.by_hand.as_deref())?;
        let folder = std::env::var_os("OUT").map_or(results, std::path::PathBuf::from);
        return draw(&folder, &format!("nikola_black_scholes_{name}"), &title, &curves);
    }
    if let Some(unknown) = wishes.jobs.iter().chain(&wishes.source).find(|name| jobs::find(name).is_none()) {
        let names: Vec<&str> = jobs::all().map(|job| job.name).collect();
        return Err(format!("there is no job {unknown}; there are {}", names.join(", ")).into());
    }
    if let Some(name) = &wishes.source {
        for job in jobs::all().filter(|job| job.name == *name) {
            println!("{}", (job.source)()?);
        }
        return Ok(());
    }
    let native = native::Native::build()?;
    let seconds = wishes.seconds.unwrap_or(if wishes.quick { 0.0 } else { 2.0 });
    let bench = Bench { native, quick: wishes.quick, seconds, cpu_time: wishes.cpu_time, start: Instant::now() };
    if wishes.growth {
        let title = "Time per element against the number of elements";
        return draw(&results, "growth", title, &growth::measure(&bench)?);
    }
    if wishes.nikola {
        let title = "Black-Scholes: time per option against their number";
        draw(&results, "nikola_black_scholes", title, &nikola::options(&bench)?)?;
        let title = "Radix sort of u32: time per element against their number";
        return draw(&results, "nikola_radix_sort", title, &nikola::sort(&bench)?);
    }
    let mut rows = if wishes.cpu_time {
        // Inside the only thread of a pool, whose work is then all on this thread.
        rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(|| rows(&bench, &wishes.jobs))?
    } else {
        rows(&bench, &wishes.jobs)?
    };
    let in_part = wishes.quick || wishes.cpu_time || !wishes.jobs.is_empty();
    let no_python = if in_part && !wishes.python { None } else { python::join(&mut rows, wishes.quick) };
    if in_part {
        if wishes.python {
            rows.iter().for_each(|row| print!("{}", table::row_text(row)));
            no_python.iter().for_each(|why| println!("Python: {why}"));
        }
        return verdict(&rows);
    }
    let latencies = latency::measure()?;
    let machine = machine::describe(wishes.date, &bench.native);
    let page = table::page(&machine, &rows, &latencies, no_python.as_deref());
    println!("\n{page}");
    std::fs::write(results.join("cpu.md"), &page)?;
    std::fs::write(results.join("cpu.svg"), chart::bars(&rows))?;
    verdict(&rows)
}

/// Measures the jobs of these names, or all, and prints each when it is done.
fn rows(bench: &Bench, names: &[String]) -> Result<Vec<Row>, Failure> {
    let wanted = |job: &&Job| names.is_empty() || names.iter().any(|name| name == job.name);
    let row = |job: &'static Job| {
        let row = (job.run)(bench, job)?;
        print!("{}", table::row_text(&row));
        Ok(row)
    };
    jobs::all().filter(wanted).map(row).collect()
}

/// A wrong answer fails the program, after everything has been measured. candle's sum has one `f32` accumulator and drifts
/// past what the others keep to: the table says so, and it is not ours to repair.
fn verdict(rows: &[Row]) -> Result<(), Failure> {
    let wrong = |row: &Row| row.timings.iter().any(|timing| timing.wrong.is_some() && timing.name != "candle");
    let names: Vec<&str> = rows.iter().filter(|row| wrong(row)).map(|row| row.job.name).collect();
    if names.is_empty() { Ok(()) } else { Err(format!("wrong answers in {}", names.join(", ")).into()) }
}
