//! `slyz dump`: a module at a stage of its road: parsed, after a pass, as a plan, as C.

use crate::{ProgramChoice, load, usage};
use anyhow::{Context, anyhow};
use slyz_sir::kernel::Plan;
use slyz_sir::lower::gpu::Machine;
use slyz_sir::pass::{self, PROGRAM_PASSES};
use slyz_sir::program::{Module, Program};
use slyz_sir::{back, lower, text, verify};
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Dump {
    /// A file of SIR text.
    #[arg(value_name = "FILE.sir")]
    file: PathBuf,
    /// Run the passes up to this one; `cse:2` is the second time it runs, `all` runs everything until nothing changes.
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
    /// Print the plan for the CPU instead: buffers, launches, kernels. Runs all passes unless --after says otherwise.
    #[arg(long)]
    plan: bool,
    /// Print the plan for another kind of machine.
    #[arg(long, value_name = "MACHINE")]
    lower: Option<Target>,
    /// Print the generated C instead. Runs all passes unless --after says otherwise.
    #[arg(long, conflicts_with_all = ["plan", "lower"])]
    c: bool,
    #[command(flatten)]
    choice: ProgramChoice,
}

/// The machine that a plan is for.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Target {
    /// Few wide cores.
    Cpu,
    /// Apple GPUs.
    Metal,
    /// NVIDIA GPUs.
    Cuda,
    /// WebGPU with its default limits.
    Webgpu,
}

impl Target {
    fn lower(self, program: &Program) -> Plan {
        match self {
            Target::Cpu => lower::cpu::lower(program),
            Target::Metal => lower::gpu::lower(program, &Machine::metal()),
            Target::Cuda => lower::gpu::lower(program, &Machine::cuda()),
            Target::Webgpu => lower::gpu::lower(program, &Machine::webgpu()),
        }
    }
}

impl Dump {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (module, _) = load::verified(&self.file)?;
        let lowered = self.plan || self.c || self.lower.is_some();
        let stage = match &self.after {
            Some(name) => Stage::named(name)?,
            None if lowered => Stage::All,
            None => Stage::Passes(0),
        };
        let chosen: Vec<&Program> = match &self.choice.program {
            Some(name) => vec![load::program(&self.file, &module, Some(name))?],
            None => module.programs.iter().collect(),
        };
        let programs =
            chosen.into_iter().map(|program| stage.run(program)).collect::<anyhow::Result<Vec<Program>>>()?;
        if !lowered {
            let kernels = if self.choice.program.is_some() { vec![] } else { module.kernels };
            write!(out, "{}", text::print_module(&Module { programs, kernels }))?;
            return Ok(());
        }
        if programs.is_empty() {
            return Err(anyhow!("{}: no program in the file; kernels have no plan", self.file.display()));
        }
        for (k, program) in programs.iter().enumerate() {
            let plan = self.lower.unwrap_or(Target::Cpu).lower(program);
            let text = if self.c { back::c::emit(&plan, false)? } else { text::print_plan(&plan) };
            let gap = if k > 0 { "\n" } else { "" };
            write!(out, "{gap}{text}")?;
        }
        Ok(())
    }
}

/// How far a program goes.
#[derive(Clone, Copy)]
enum Stage {
    /// So many passes of the first round.
    Passes(usize),
    /// Until nothing changes.
    All,
}

impl Stage {
    /// `fuse`, `cse:2`, `all`.
    fn named(text: &str) -> anyhow::Result<Stage> {
        if text == "all" {
            return Ok(Stage::All);
        }
        let (name, time) = match text.split_once(':') {
            Some((name, time)) => (name, time.parse().ok().filter(|&n| n > 0)),
            None => (text, Some(1)),
        };
        let places = PROGRAM_PASSES.iter().enumerate().filter(|(_, pass)| pass.name == name).map(|(k, _)| k + 1);
        match time.and_then(|time: usize| places.clone().nth(time - 1)) {
            Some(count) => Ok(Stage::Passes(count)),
            None => usage(format!("there is no pass `{text}`; the passes are, in order: {}, all", listed())),
        }
    }

    fn run(self, program: &Program) -> anyhow::Result<Program> {
        let count = match self {
            Stage::Passes(count) => count,
            Stage::All => return Ok(pass::optimize(program)),
        };
        let mut program = program.clone();
        for pass in &PROGRAM_PASSES[..count] {
            program = (pass.run)(program);
            verify::program(&program)
                .with_context(|| format!("after the pass `{}`; this is a bug in Słyż", pass.name))?;
        }
        Ok(program)
    }
}

/// The passes in order, as `--after` takes them.
fn listed() -> String {
    let name = |k: usize| {
        let name = PROGRAM_PASSES[k].name;
        let earlier = PROGRAM_PASSES[..k].iter().filter(|pass| pass.name == name).count();
        if earlier == 0 { name.to_string() } else { format!("{name}:{}", earlier + 1) }
    };
    (0..PROGRAM_PASSES.len()).map(name).collect::<Vec<_>>().join(", ")
}
