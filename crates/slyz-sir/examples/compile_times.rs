//! How long each stage of the compiler takes on long programs.
//!
//! ```text
//! cargo run --release -p slyz-sir --example compile_times [OPERATIONS,…] [KIND,…]
//! ```
//!
//! A row per kind of program and number of operations: milliseconds of each stage on the processor (where the system tells: other
//! programs do not count), then the launches of the CPU's plan, the statements
//! of its longest kernel, and the bytes of its C. With `SLYZ_C=FOLDER` the C goes to files, for a C compiler to be timed on.

#[path = "../tests/chains/programs.rs"]
mod programs;

use programs::CHAINS;
use slyz_sir::code::Body;
use slyz_sir::kernel::Step;
use slyz_sir::lower::gpu::Machine;
use slyz_sir::{back, explain, lower, pass, text, verify};
use std::collections::BTreeMap;
use std::time::Instant;

/// The stages that are not passes, in the order of the columns.
const STAGES: [&str; 8] = ["build", "verify", "optimize", "lower", "check", "C", "gpu", "explain"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let sizes = args.next().unwrap_or("1000,4000,10000".into());
    let wanted: Option<Vec<String>> = args.next().map(|names| names.split(',').map(String::from).collect());
    let mut passes: Vec<&str> = pass::PROGRAM_PASSES.iter().map(|pass| pass.name).collect();
    passes.sort();
    passes.dedup();
    let columns: Vec<&str> = STAGES.iter().chain(&passes).copied().collect();
    let heads: String = columns.iter().map(|name| format!("{name:>9}")).collect();
    println!("{:10}{:>7}{heads}{:>9}{:>9}{:>10}", "ms", "n", "launches", "longest", "bytes");
    for chain in CHAINS.iter().filter(|chain| wanted.as_ref().is_none_or(|names| names.iter().any(|n| n == chain.name)))
    {
        for size in sizes.split(',') {
            let operations: usize = size.parse()?;
            let mut times = Times::default();
            let program = times.of("build", || (chain.make)(operations))?;
            times.of("verify", || verify::program(&program))?;
            let optimised = times.of("optimize", || pass::optimize(&program));
            let mut by_pass = program.clone();
            for pass in pass::PROGRAM_PASSES {
                by_pass = times.of(pass.name, || (pass.run)(by_pass));
            }
            let plan = times.of("lower", || lower::cpu::lower(&optimised));
            times.of("check", || verify::plan(&plan))?;
            let code = times.of("C", || back::c::emit(&plan, false))?;
            times.of("gpu", || lower::gpu::lower(&optimised, &Machine::metal()));
            times.of("explain", || {
                let explanation = explain::explain(&program, &optimised, &plan);
                text::print_plan(&plan).len() + explanation.to_string().len() + program.to_string().len()
            });
            let launches = plan.steps.iter().filter(|step| matches!(step, Step::Launch { .. })).count();
            let longest = plan.kernels.iter().map(|kernel| statements(&kernel.body)).max().unwrap_or(0);
            let row: String =
                columns.iter().map(|name| format!("{:>9.1}", times.0.get(name).unwrap_or(&0.0))).collect();
            println!("{:10}{operations:>7}{row}{launches:>9}{longest:>9}{:>10}", chain.name, code.len());
            if let Some(folder) = std::env::var_os("SLYZ_C") {
                std::fs::write(std::path::Path::new(&folder).join(format!("{}_{operations}.c", chain.name)), code)?;
            }
        }
    }
    Ok(())
}

/// Milliseconds by name.
#[derive(Default)]
struct Times(BTreeMap<&'static str, f64>);

impl Times {
    fn of<R>(&mut self, name: &'static str, work: impl FnOnce() -> R) -> R {
        let (start, before) = (Instant::now(), on_processor());
        let result = work();
        let whole = start.elapsed().as_secs_f64();
        let own = on_processor().zip(before).map(|(after, before)| after - before);
        *self.0.entry(name).or_default() += own.unwrap_or(whole) * 1e3;
        result
    }
}

/// Seconds that this thread has had a processor, on Linux.
fn on_processor() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

fn statements(body: &Body) -> usize {
    body.stmts.iter().map(|stmt| 1 + stmt.op.bodies().into_iter().map(statements).sum::<usize>()).sum()
}
