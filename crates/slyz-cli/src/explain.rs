//! `slyz explain`: what becomes of the graphs of a file, in words and as a picture.

use crate::{GraphChoice, SizeValue, load};
use anyhow::Context;
use slyz_sir::explain::explain;
use slyz_sir::graph::Graph;
use slyz_sir::{lower, pass};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Explain {
    /// A file of SIR text.
    #[arg(value_name = "FILE.sir")]
    file: PathBuf,
    #[command(flatten)]
    choice: GraphChoice,
    /// A size, to see numbers: may be given for each size of the graph.
    #[arg(long, short, value_name = "NAME=NUMBER")]
    size: Vec<SizeValue>,
    /// Draw the launches and the memory between them to a file.
    #[arg(long, value_name = "OUT.svg")]
    svg: Option<PathBuf>,
}

impl Explain {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (module, _) = load::verified(&self.file)?;
        // Sizes and pictures belong to one graph.
        let one =
            self.choice.graph.is_some() || self.svg.is_some() || !self.size.is_empty() || module.graphs.is_empty();
        let graphs: Vec<&Graph> = match one {
            true => vec![load::graph(&self.file, &module, self.choice.graph.as_deref())?],
            false => module.graphs.iter().collect(),
        };
        for (k, graph) in graphs.into_iter().enumerate() {
            let optimised = pass::optimize(graph);
            let plan = lower::cpu::lower(&optimised);
            let explanation = explain(graph, &optimised, &plan).at(&load::sizes(graph, &self.size)?);
            write!(out, "{}{explanation}", if k > 0 { "\n" } else { "" })?;
            if let Some(path) = &self.svg {
                fs::write(path, explanation.svg()).with_context(|| format!("cannot write {}", path.display()))?;
                writeln!(out, "\npicture: {}", path.display())?;
            }
        }
        Ok(())
    }
}
