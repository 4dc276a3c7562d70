//! `slyz dump`: the programs or kernels of a file as SIR, at a stop of their road: as they are, behind a pass, as a plan of launches.

use crate::passes::{Camera, Moment, Passes, known};
use crate::smaller::Smaller;
use crate::{ProgramChoice, load, usage, vex};
use anyhow::anyhow;
use slyz_sir::lower::gpu::{Expected, Machine};
use slyz_sir::program::{Module, Program};
use slyz_sir::road::{ProgramRoad, Seen, Strategy};
use slyz_sir::text;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Dump {
    /// A file of SIR text, or of graph functions.
    #[arg(value_name = "FILE.sir|FILE.vex")]
    file: PathBuf,
    /// Print what is left behind this pass; `cse:2` is the second time it runs.
    #[arg(long, value_name = "PASS")]
    after: Option<Moment>,
    /// Print the end of the road to a kind of machine: buffers, launches, kernels.
    #[arg(long, value_name = "MACHINE")]
    lower: Option<Kind>,
    #[command(flatten)]
    passes: Passes,
    #[command(flatten)]
    smaller: Smaller,
    #[command(flatten)]
    choice: ProgramChoice,
    /// Print kernels that are array programs as these, for launches that fit (.vex files); with `--lower` or `--after` on their road.
    #[arg(long)]
    raised: bool,
    #[command(flatten)]
    blocks: vex::Blocks,
}

/// The kind of machine that code is made for.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Few wide cores.
    Cpu,
    /// Apple GPUs.
    Metal,
    /// NVIDIA GPUs.
    Cuda,
    /// WebGPU with its default limits.
    Webgpu,
}

impl Kind {
    fn strategy(self) -> Strategy {
        match self {
            Kind::Cpu => Strategy::Cores,
            Kind::Metal => Strategy::Threads(Machine::metal(), Expected::default()),
            Kind::Cuda => Strategy::Threads(Machine::cuda(), Expected::default()),
            Kind::Webgpu => Strategy::Threads(Machine::webgpu(), Expected::default()),
        }
    }
}

impl Dump {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let kind = self.lower.or(self.after.is_some().then_some(Kind::Cpu));
        if vex::is_vex(&self.file) {
            self.smaller.not_for_kernels()?;
            if self.choice.program.is_some() {
                return usage("--program is for .sir files; all graph functions of a .vex file are printed");
            }
            if self.raised {
                let programs = vex::dump::raised(&self.file, &self.blocks)?;
                let module = Module { programs, kernels: vec![] };
                return match kind {
                    Some(kind) => self.travel(&module, kind, out),
                    None => self.print(module, out),
                };
            }
            let is_cpu = kind.map(|kind| kind == Kind::Cpu);
            return vex::dump::dump(&self.file, is_cpu, &self.passes, self.after.as_ref(), &self.blocks, out);
        }
        if self.blocks.any() || self.raised {
            return usage("--block, --checks and --raised are for .vex files");
        }
        let (module, _) = load::verified(&self.file)?;
        let (module, _) = self.smaller.apply(module)?;
        match kind {
            Some(kind) => self.travel(&module, kind, out),
            None => self.print(module, out),
        }
    }

    /// The file as it is.
    fn print(&self, module: Module, out: &mut dyn Write) -> anyhow::Result<()> {
        let module = match &self.choice.program {
            Some(name) => {
                let chosen = load::program(&self.file, &module, Some(name))?.clone();
                Module { programs: vec![chosen], kernels: vec![] }
            }
            None => module,
        };
        write!(out, "{}", text::print_module(&module))?;
        Ok(())
    }

    /// Programs on their way to a kind of machine.
    fn travel(&self, module: &Module, kind: Kind, out: &mut dyn Write) -> anyhow::Result<()> {
        let programs: Vec<&Program> = match &self.choice.program {
            Some(name) => vec![load::program(&self.file, module, Some(name))?],
            None => module.programs.iter().collect(),
        };
        if programs.is_empty() {
            return Err(anyhow!("{}: no program in the file; kernels have no plan", self.file.display()));
        }
        let road = ProgramRoad { passes: self.passes.selection(), ..ProgramRoad::to(kind.strategy()) };
        known(road.check(self.after.as_ref().map(|moment| &moment.pass[..])))?;
        for (k, program) in programs.into_iter().enumerate() {
            let gap = if k > 0 { "\n" } else { "" };
            let text = match &self.after {
                None => text::print_plan(&road.end(program)),
                Some(moment) => {
                    let mut camera = Camera::new(moment);
                    road.travel(program, &mut |pass: &str, seen: Seen<'_>| camera.see(pass, &seen));
                    camera.picture()?
                }
            };
            write!(out, "{gap}{text}")?;
        }
        Ok(())
    }
}
