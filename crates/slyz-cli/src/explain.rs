//! `slyz explain`: what becomes of the programs of a file, in words and as a picture.

use crate::smaller::Smaller;
use crate::{ProgramChoice, SizeValue, load, usage, vex};
use anyhow::Context;
use slyz_sir::explain::explain_on;
use slyz_sir::program::Program;
use slyz_sir::road::{ProgramRoad, Strategy};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Explain {
    /// A file of SIR text, or of graph functions.
    #[arg(value_name = "FILE.sir|FILE.vex")]
    file: PathBuf,
    #[command(flatten)]
    choice: ProgramChoice,
    /// A size, to see numbers: may be given for each size of the program.
    #[arg(long, short, value_name = "NAME=NUMBER")]
    size: Vec<SizeValue>,
    /// Draw the launches and the memory between them to a file.
    #[arg(long, value_name = "OUT.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    smaller: Smaller,
    #[command(flatten)]
    blocks: vex::Blocks,
}

impl Explain {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if vex::is_vex(&self.file) {
            self.smaller.not_for_kernels()?;
            if self.choice.program.is_some() || self.svg.is_some() || !self.size.is_empty() {
                return usage("--program, --size and --svg are for .sir files");
            }
            return vex::explain::explain(&self.file, &self.blocks, out);
        }
        if self.blocks.any() {
            return usage("--block and --checks are for .vex files");
        }
        let (module, _) = load::verified(&self.file)?;
        let (module, looked_at) = self.smaller.apply(module)?;
        // Sizes and pictures belong to one program.
        let one =
            self.choice.program.is_some() || self.svg.is_some() || !self.size.is_empty() || module.programs.is_empty();
        let programs: Vec<&Program> = match one {
            true => vec![load::program(&self.file, &module, self.choice.program.as_deref())?],
            false => module.programs.iter().collect(),
        };
        for (k, program) in programs.into_iter().enumerate() {
            let explanation =
                explain_on(program, &ProgramRoad::to(Strategy::Cores)).at(&load::sizes(program, &self.size)?);
            write!(out, "{}", if k > 0 { "\n" } else { "" })?;
            let place = module.programs.iter().position(|known| std::ptr::eq(known, program));
            for candidate in place.and_then(|place| looked_at.get(place)).into_iter().flatten() {
                let small = if candidate.left.is_none() { " is smaller" } else { "" };
                writeln!(out, "{candidate}{small}")?;
            }
            write!(out, "{explanation}")?;
            if let Some(path) = &self.svg {
                fs::write(path, explanation.svg()).with_context(|| format!("cannot write {}", path.display()))?;
                writeln!(out, "\npicture: {}", path.display())?;
            }
        }
        Ok(())
    }
}
