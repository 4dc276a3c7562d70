//! `slyz build`: the graphs of a file as source files for a target.

use crate::{GraphChoice, load};
use anyhow::{Context, anyhow};
use slyz_sir::back::harness::{self, Target};
use slyz_sir::graph::Graph;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Build {
    /// A file of SIR text.
    #[arg(value_name = "FILE.sir")]
    file: PathBuf,
    /// What to write for.
    #[arg(long, value_enum)]
    target: Name,
    /// The folder that the files go to; it is made where there is none.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    choice: GraphChoice,
}

/// Targets as the command line names them.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Name {
    /// kernels.metal, and harness.swift that runs it.
    Metal,
    /// One Swift file with the Metal source in it.
    MetalSingleFile,
}

impl Build {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (module, _) = load::verified(&self.file)?;
        let graphs: Vec<Graph> = match &self.choice.graph {
            Some(name) => vec![load::graph(&self.file, &module, Some(name))?.clone()],
            None => module.graphs,
        };
        if graphs.is_empty() {
            return Err(anyhow!("{}: no graph in the file; there is nothing to build", self.file.display()));
        }
        let target = match self.target {
            Name::Metal => Target::Metal,
            Name::MetalSingleFile => Target::MetalSingleFile,
        };
        let emitted = harness::emit(&graphs, target).with_context(|| self.file.display().to_string())?;
        let files: Vec<(&str, &str)> = emitted.files.iter().map(|f| (&f.name[..], &f.text[..])).collect();
        slyz_run::write_files(&self.out, &files)?;
        for file in &emitted.files {
            writeln!(out, "{}", self.out.join(&file.name).display())?;
        }
        writeln!(out, "cd {} && {}", self.out.display(), emitted.build)?;
        Ok(())
    }
}
